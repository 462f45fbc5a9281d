use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, serde::Serialize)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

struct StatusCode;

#[derive(Debug, Clone, PartialEq)]
enum AppError {
    Storage(Error),
}

trait Context {
    fn context(self, text: &str) -> Self;
}

impl<T> Context for Result<T> {
    fn context(self, text: &str) -> Self {
        self
    }
}

async fn handler(tables: &Tables) -> std::result::Result<(), StatusCode> {
    Post::by_key("Marcus").all(tables).await?;
    Ok(())
}

#[derive(serde::Serialize)]
struct Answer {
    error: Error,
}

async fn run(tables: &Tables, post: &Post) -> Result<()> {
    tables.insert(post).context("insert").await?;
    match tables.insert(post).await {
        Err(Error::ConditionNotMet { etag, .. }) => {}
        Err(Error::Bulk { failures, .. }) => {}
        Err(Error::UniqueViolation(index)) if index == "email" => {}
        other => println!("{}", other.unwrap_err().kind()),
    }
    tables.repair::<Post>().dry_run().await?;
    for table in tables.inventory().await? {
        println!("{table}");
    }
    Ok(())
}

fn main() {}
