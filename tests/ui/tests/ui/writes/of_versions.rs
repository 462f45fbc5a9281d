use table_runtime::{ETag, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn as_text(tables: &Tables, post: Post, stored: Stored<Post>, if_match: String) -> Result<()> {
    if Stored::etag(&stored) == if_match.as_str() {
        tables.update(&mut Stored::new(post, if_match)).await?;
    }
    Ok(())
}

async fn inserted(tables: &Tables, post: Post) -> Result<()> {
    let mut stored = tables.insert(&post).await?;
    stored.likes += 1;
    tables.update(&mut stored).await?;
    Ok(())
}

async fn returned(tables: &Tables, post: Post) -> Result<Stored<Post>> {
    let stored = tables.insert(&post).await?;
    Ok(stored)
}

async fn removed(tables: &Tables, post: Post) -> Result<Option<u32>> {
    tables.insert(&post).on_conflict_do_nothing().await?;
    match tables.remove(Post::key("Marcus", 1)).await? {
        Some(post) => Ok(Some(post.likes)),
        None => Ok(None),
    }
}

async fn not_read(tables: &Tables, post: Post, stored: Stored<Post>) -> Result<()> {
    tables.update(&post).await?;
    tables.update(post).await?;
    tables.update(&mut Post { likes: 5, ..stored }).await?;
    Ok(())
}

async fn of_request(tables: &Tables, post: Post, if_match: &str, stored: Stored<Post>) -> Result<()> {
    tables.update(&mut Stored::new(post, if_match)).await?;
    tables.patch_if(Post::key("Marcus", 1), stored.etag, |post| [post.likes.set(5)]).await?;
    Ok(())
}

fn main() {}
