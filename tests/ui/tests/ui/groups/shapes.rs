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

#[derive(EntityGroup)]
enum One {
    Expense(Expense),
}

#[derive(EntityGroup)]
enum Fields {
    Expense(Expense),
    Two(Expense, Expense),
    Named { expense: Expense },
    None,
}

#[derive(EntityGroup)]
enum Generic<T> {
    Expense(Expense),
    Item(T),
}

#[derive(EntityGroup)]
#[table(name = "Expenses")]
enum Named {
    Expense(Expense),
    Item(Expense),
}

fn main() {}
