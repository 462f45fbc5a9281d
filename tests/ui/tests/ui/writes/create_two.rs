use table_runtime::{Result, TableEntity, Tables};
use time::OffsetDateTime;

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

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Events")]
pub struct Event {
    #[partition_key]
    pub tenant: String,
    #[row_key(reverse_time)]
    pub at: OffsetDateTime,
    #[row_key]
    pub id: u32,
    pub text: String,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.create::<(Post, Event)>().await?;
    Ok(())
}

fn main() {}
