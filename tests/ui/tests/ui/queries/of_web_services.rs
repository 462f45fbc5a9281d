use table_runtime::{Error, Projection, Result, Rows, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

struct Queue {
    posts: Rows,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Title {
    title: String,
}

fn name_of<T: TableEntity>() -> String {
    T::TABLE_NAME.to_owned()
}

async fn found(tables: &Tables) -> Result<()> {
    Post::key("Marcus", 1).get(tables).await?.map(drop).ok_or(Error::NotFound)
}

async fn empty(tables: &Tables) -> Result<()> {
    tables.remove_all(Post::by_key("Marcus")).await?;
    tables.create(&Post { author: "Marcus".into(), id: 1, title: "Keys".into(), likes: 0 }).await?;
    Ok(())
}

fn main() {}
