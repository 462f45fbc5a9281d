use table_runtime::{Result, TableEntity, Tables};
use time::{Date, OffsetDateTime};

#[derive(TableEntity)]
struct Event {
    #[partition_key]
    room: String,
    #[row_key(reverse_time)]
    at: OffsetDateTime,
}

async fn run(tables: &Tables, today: Date) -> Result<()> {
    Event::by_key("a").eq(today).all(tables).await?;
    Ok(())
}

fn main() {}
