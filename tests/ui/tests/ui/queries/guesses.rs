//! Functions of queries that newcomers write.

use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(soft_delete = deleted)]
struct Note {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
    deleted: Option<std::time::SystemTime>,
}

async fn calls(tables: &Tables) -> Result<()> {
    let _ = Note::by_key("Ada").filter(|note| note.likes.ge(1)).or(Note::by_key("Bob"));
    let _ = Note::key("Ada", 1).or(Note::key("Ada", 2));
    let _ = Note::by_key("Ada").index("likes");
    let _ = Note::by_key("Ada").latest(tables).await?;
    let _ = Note::by_key("Ada").deleted();
    let _ = Note::by_key("Ada").soft_delete_all(tables).await?;
    let _: u32 = Note::by_key("Ada").max_by(|note| note.likes).await?;
    let _ = Note::by_key("Ada").page(tables, 10, None).await?.total();
    Ok(())
}

fn main() {}
