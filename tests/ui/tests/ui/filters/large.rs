use table_runtime::{Projection, TableEntity, Tables};

#[derive(TableEntity)]
struct Novel {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(large)]
    body: String,
}

#[derive(Projection)]
#[projection(of = Novel)]
struct Body<'a> {
    body: &'a str,
}

async fn find(tables: &Tables) -> table_runtime::Result<()> {
    Novel::by_key("Marcus").filter(|novel| novel.body.eq("x")).all(tables).await?;
    Ok(())
}

fn main() {}
