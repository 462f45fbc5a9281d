use table_runtime::{Error, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn fetch() -> String {
    "Keys".to_owned()
}

async fn parsed(tables: &Tables, text: &str) -> Result<()> {
    tables
        .modify(Post::key("Marcus", 1), |post| {
            post.likes = text.parse::<u32>()?;
        })
        .await?;
    Ok(())
}

async fn waits(tables: &Tables) -> Result<()> {
    tables.modify(Post::key("Marcus", 1), |post| post.title = fetch().await).await?;
    Ok(())
}

async fn stream(tables: &Tables, post: Post) -> Result<()> {
    tables.try_insert_all_from(futures_util::stream::iter([post])).await?;
    Ok(())
}

async fn unknown(tables: &Tables, post: &Post) {
    if let Err(Error::OutcomeUnknown(unknown)) = tables.insert(post).await {
        let now: Option<Post> = unknown.row;
        println!("{now:?}");
    }
}

async fn any<T>(tables: &Tables, value: &T) -> Result<()> {
    tables.insert(value).await?;
    Ok(())
}

async fn keyed(tables: &Tables, post: &Post) -> Result<()> {
    tables.insert::<Post>("Marcus", 1, post).await?;
    Ok(())
}

async fn each(tables: &Tables, posts: Vec<Stored<Post>>) -> Result<()> {
    for mut post in posts.iter() {
        tables.update(&mut post).await?;
    }
    Ok(())
}

fn main() {}
