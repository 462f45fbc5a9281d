use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let query = Post::by_key("Marcus");
    println!("{query} {}", query.to_sql());
    Ok(())
}

fn main() {}
