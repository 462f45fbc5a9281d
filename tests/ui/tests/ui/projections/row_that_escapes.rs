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
struct Title<'a> {
    title: &'a str,
}

async fn run(tables: &Tables) -> Result<()> {
    let mut titles: Vec<&str> = Vec::new();
    Post::by_key("Marcus").select::<Title>().for_each(tables, |post| titles.push(post.title)).await?;
    Ok(())
}

fn main() {}
