use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "OldPosts")]
struct OldPost {
    #[partition_key]
    author: String,
    #[row_key]
    id: String,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let convert = |old: OldPost| -> Result<Post> { Ok(Post { author: old.author, id: old.id.len() as u32 }) };
    tables.migrate_with(convert).await?;
    Ok(())
}

fn main() {}
