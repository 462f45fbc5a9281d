use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key]
    pub number: u32,
    #[index(title, lowercase, same_partition)]
    pub title: String,
    pub likes: u32,
    pub published: bool,
    pub body: Option<String>,
}

async fn run(tables: &Tables, post: &Post) -> Result<()> {
    tables.save_all([post]).await?;
    Ok(())
}

fn main() {}
