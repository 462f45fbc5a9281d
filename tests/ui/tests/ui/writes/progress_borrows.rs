use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables) -> Result<usize> {
    let mut pages = 0;
    tables.repair::<Post>().progress(|_| pages += 1).await?;
    Ok(pages)
}

fn main() {}
