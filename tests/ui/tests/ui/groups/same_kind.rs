use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses", kind)]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Expenses", kind = "Expense")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn main() {}
