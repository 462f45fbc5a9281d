use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses", row = "details")]
struct Expense {
    #[partition_key]
    user: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    name: String,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn main() {}
