use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(likes, same_partition, copy)]
    likes: u32,
    url: Option<String>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Title(String);

#[derive(Projection)]
#[projection(of = Post)]
struct Only<T> {
    title: T,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Ranked {
    title: String,
    #[projection(skip)]
    rank: u32,
}

#[derive(Projection)]
#[projection(of = (Post, Post))]
struct Both {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").select::<Title>().all(tables).await?;
    Post::by_key("Marcus").select::<Only<String>>().all(tables).await?;
    Ok(())
}

fn main() {}
