use table_runtime::{EntityGroup, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Expenses", kind)]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(title)]
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses", kind)]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    expense: u32,
    #[row_key]
    number: u16,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

async fn clear(tables: &Tables) -> Result<()> {
    Report::by_key("Marcus").eq(1).modify(tables, |members| members.clear()).await?;
    Ok(())
}

fn main() {}
