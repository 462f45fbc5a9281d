use std::time::Duration;

use table_runtime::{Error, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

fn status(error: Error) -> u16 {
    match error {
        Error::Timeout => 504,
        Error::Service(503) => 503,
        other if other.is_timeout() => 504,
        other if other.is_not_found() => 404,
        other => other.status_code(),
    }
}

fn trace(error: Error, stored: Stored<Post>) {
    tracing::error!(error, "it failed");
    tracing::info!(post = stored, "it was read");
}

async fn run(tables: &Tables) -> Result<()> {
    tables.create::<Post>().create::<Post>().await?;
    tables.create::<Post>().unwrap();
    let verified = tables.verify::<Post>().await?;
    assert!(verified.is_ok());
    tables.repair::<Post>().every(Duration::from_secs(60)).await?;
    tables.delete_table("Posts").await?;
    let limited = tables.layer(Duration::from_secs(1));
    println!("{}", limited.metrics().requests);
    let made = Tables::builder().connection_string("UseDevelopmentStorage=true").build()?;
    made.with_lease(Duration::from_secs(3));
    if let Some(taken) = Post::key("Marcus", 1).sas(tables, 3, 4) {
        println!("{taken}");
    }
    Ok(())
}

fn main() {}
