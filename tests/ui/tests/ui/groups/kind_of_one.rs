use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Expenses", kind)]
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

fn main() {}
