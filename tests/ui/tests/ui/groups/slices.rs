use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses", slice = month(at))]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key(time)]
    at: std::time::SystemTime,
}

#[derive(TableEntity)]
#[table(name = "Expenses", slice = month(at))]
struct Item {
    #[partition_key]
    user: String,
    #[row_key(time)]
    at: std::time::SystemTime,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn main() {}
