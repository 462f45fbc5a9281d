use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Title {
    title: String,
}

async fn run(tables: &Tables) -> Result<u32> {
    let titles = Post::by_key("Marcus").select::<Title>().map(|post| post.title).all(tables).await?;
    for title in titles {
        println!("{}", title.to_uppercase());
    }
    let likes: u32 = Post::by_key("Marcus").sum("likes").await?;
    Post::by_key("Marcus").order_by_desc("likes").take(3).for_each(tables, |post| println!("{}", post.title)).await?;
    let most = Post::by_key("Marcus").max(|post| post.likes).await?.unwrap();
    Ok(likes + most)
}

fn main() {}
