use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key(hash = 4)]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key(hash = 4)]
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
