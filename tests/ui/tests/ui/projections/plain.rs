use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Title {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").select::<Title>().plain().all(tables).await?;
    Ok(())
}

fn main() {}
