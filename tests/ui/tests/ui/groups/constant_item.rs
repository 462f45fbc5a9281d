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
#[table(name = "Expenses", row = "details")]
struct Details {
    #[partition_key]
    user: String,
    note: String,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Details(Details),
}

fn main() {}
