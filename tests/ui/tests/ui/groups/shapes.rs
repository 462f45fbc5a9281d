use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
struct Struct {
    expense: Expense,
}

fn main() {}
