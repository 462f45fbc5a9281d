use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, copy)]
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_title("Sums").delete_all(tables).await?;
    Ok(())
}

fn main() {}
