use table_runtime::{EntityGroup, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    expense: u32,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

async fn create(tables: &Tables) -> Result<()> {
    tables.create::<Report>().await
}

fn main() {}
