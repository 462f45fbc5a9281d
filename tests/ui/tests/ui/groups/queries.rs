use table_runtime::{EntityGroup, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    expense: u32,
    #[row_key]
    id: u32,
    cents: u32,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

async fn queries(tables: &Tables, report: &Report) {
    let _ = Report::by_key(5).all(tables).await;
    let _ = Report::by_key("Marcus").eq("x").all(tables).await;
    let _ = Report::by_key("Marcus").eq(5).eq(1);
    let _ = Report::by_key("Marcus").eq(5).get(tables).await;
    let _ = Report::by_key("Marcus").starts_with("x");
    let _ = tables.insert(report).await;
    let _ = Report::key("Marcus", 1).get(tables).await;
}

fn version(row: &Report) {
    if let Report::Item(item) = row {
        let _ = table_runtime::Stored::etag(&item);
    }
}

async fn filters(tables: &Tables) {
    let _ = Report::by_key("Marcus").filter(|item| item.cents.ge(1)).all(tables).await;
}

fn main() {}
