//! A row whose bytes are damaged is an error, whatever is read of it: never a row without the property.

use std::path::Path;

use anyhow::{Context, Result};
use futures_util::TryStreamExt;
use redb::ReadableTable;
use table_runtime::{Error, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
    url: Option<String>,
}

/// The same rows, of which the last property is not asked for.
#[derive(TableEntity, Debug)]
#[table(name = "Posts")]
struct Heading {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
}

/// Cuts the last byte off the row's value.
fn damage(file: &Path, key: &[u8]) -> Result<()> {
    const POSTS: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("Posts");
    let database = redb::Database::open(file)?;
    let transaction = database.begin_write()?;
    {
        let mut rows = transaction.open_table(POSTS)?;
        let mut value = rows.get(key)?.context("the row")?.value().to_vec();
        value.pop();
        rows.insert(key, value.as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

#[track_caller]
fn is_damaged<T: std::fmt::Debug>(read: Result<T, Error>) {
    let error = read.expect_err("the row is damaged");
    assert!(matches!(&error, Error::Damaged { row, .. } if row.row_key == "0000000002"), "{error}");
}

#[tokio::test]
async fn damage_is_an_error_of_every_read() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("blog.tables");
    let tables = Tables::open(&file)?;
    tables.create::<Post>().await?;
    for number in 1..=3 {
        let (title, url) = (format!("Part {number}"), Some("https://blog.example".to_owned()));
        tables.insert(&Post { author: "Marcus".to_owned(), number, title, url }).await?;
    }
    drop(tables);
    damage(&file, b"Marcus\x000000000002")?;

    let tables = Tables::open(&file)?;
    is_damaged(Post::key("Marcus", 2).get(&tables).await);
    is_damaged(Heading::key("Marcus", 2).get(&tables).await);
    is_damaged(Post::by_key("Marcus").all(&tables).await);
    is_damaged(Heading::by_key("Marcus").all(&tables).await);
    is_damaged(Post::by_key("Marcus").page(&tables, 2, None).await);
    is_damaged(Post::by_key("Marcus").filter(|post| post.url.eq("https://blog.example")).all(&tables).await);
    is_damaged(Post::by_key("Marcus").count(&tables).await);
    is_damaged(Post::key("Marcus", 2).exists(&tables).await);

    // What stands before it is given out first.
    let mut posts = Post::by_key("Marcus").stream(&tables);
    assert_eq!(posts.try_next().await?.context("the first row")?.number, 1);
    is_damaged(posts.try_next().await);
    assert!(posts.try_next().await?.is_none(), "an error ends the stream");
    assert!(Post::key("Marcus", 3).get(&tables).await?.is_some());
    Ok(())
}
