use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Word {
    #[partition_key]
    language: String,
    #[row_key]
    id: u32,
    #[property(rename = "and")]
    and: String,
}

async fn find(tables: &Tables) -> table_runtime::Result<()> {
    Word::by_key("de").filter(|word| word.and.eq("x")).all(tables).await?;
    Ok(())
}

fn main() {}
