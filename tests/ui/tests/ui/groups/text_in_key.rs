use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    expense: String,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn main() {}
