use table_runtime::{Result, TableEntity, Tables};
use time::{Duration, OffsetDateTime, macros::datetime};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key(reverse_time)] // the newest first
    pub posted: OffsetDateTime,
    #[row_key]
    pub id: u32, // a tie-break: two posts may share a tick
    pub title: String,
    pub likes: u32,
}

async fn run(tables: Tables) -> Result<()> {
    let monday = datetime!(2010-05-24 09:00 UTC);
    let post = Post { author: "Marcus".into(), posted: monday, id: 1, title: "Part 1".into(), likes: 0 };
    let later = monday + Duration::days(3);
    let oldest = Post::by_key("Marcus").last(&tables).await?;
    Ok(())
}

fn main() {}
