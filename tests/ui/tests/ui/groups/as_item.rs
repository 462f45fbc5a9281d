use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    expense: u32,
    #[row_key]
    number: u16,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn item(report: &Report) -> Option<&Item> {
    report.as_item()
}

fn main() {}
