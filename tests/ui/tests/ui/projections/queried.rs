use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Title {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Title::by_key("Marcus").all(tables).await?;
    Ok(())
}

fn main() {}
