use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(title, same_partition)]
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key(prefix = "id-")]
    expense: u32,
    #[row_key]
    id: u32,
    #[index(title, same_table)]
    title: String,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn main() {}
