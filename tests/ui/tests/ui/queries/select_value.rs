use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
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
    Post::by_key("a").select(Title).all(tables).await?;
    Ok(())
}

fn main() {}
