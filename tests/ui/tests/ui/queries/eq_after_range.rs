use table_runtime::{Result, TableEntity, Tables};
use time::OffsetDateTime;

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

async fn run(tables: &Tables, from: OffsetDateTime) -> Result<()> {
    let events = Event::by_key("acme").range(from..).eq(7).all(tables).await?;
    Ok(())
}

fn main() {}
