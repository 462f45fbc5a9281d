use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Text(String),
}

fn main() {}
