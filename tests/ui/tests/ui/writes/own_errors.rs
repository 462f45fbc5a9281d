use table_runtime::{Error, Result, Stored, TableEntity, Tables};

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

fn failed() -> Result<()> {
    Err("no title".into())
}

async fn found(tables: &Tables) -> Result<Stored<Post>> {
    let post = Post::key("Marcus", 1).get(tables).await?.ok_or(Error::NotFound)?;
    Ok(post)
}

fn compared(error: &Error) -> bool {
    *error == Error::AlreadyExists
}

fn asked(error: &Error) -> &str {
    let _ = error.code();
    &error.row_key
}

fn main() {}
