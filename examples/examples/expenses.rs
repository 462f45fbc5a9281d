//! Expense reports: a master and its items, read by one query and written by one transaction.
//!
//! The row key of an item begins with that of its expense, so the items follow their expense directly. The times in the
//! keys count down from the year 9999, so the newest report comes first. Receipts are large and rarely read, so they
//! are in a table of their own, with the same keys.
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | Expenses | `Marcus` | `2521287647999999999_0198a2c4-…` | Title `Conference` |
//! | Expenses | `Marcus` | `2521287647999999999_0198a2c4-…_0001` | What `Train`, Cents `4250` |
//! | Receipts | `Marcus` | `2521287647999999999_0198a2c4-…_0001` | Image … |

use anyhow::{Context as _, Result};
use futures_util::TryStreamExt as _;
use table_runtime::{EntityGroup, KeyPart, Projection, TableEntity, Tables};
use time::{Duration, OffsetDateTime, macros::datetime};
use uuid::Uuid;

#[derive(KeyPart, Clone, Copy, Debug, PartialEq)]
struct ExpenseId(Uuid);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key(reverse_time)]
    filed: OffsetDateTime,
    #[row_key]
    id: ExpenseId,
    title: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Expenses")]
struct ExpenseItem {
    #[partition_key]
    user: String,
    #[row_key(reverse_time)]
    filed: OffsetDateTime,
    #[row_key]
    expense: ExpenseId,
    #[row_key(pad = 4)]
    number: u16,
    what: String,
    cents: i64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Receipts")]
struct Receipt {
    #[partition_key]
    user: String,
    #[row_key(reverse_time)]
    filed: OffsetDateTime,
    #[row_key]
    expense: ExpenseId,
    #[row_key(pad = 4)]
    number: u16,
    image: Vec<u8>,
}

/// Row of a partition: an expense or an item.
#[derive(EntityGroup, Debug)]
enum Row {
    Expense(Expense),
    Item(ExpenseItem),
}

/// Field of an item that a total needs.
#[derive(Projection)]
#[projection(of = ExpenseItem)]
struct Amount {
    cents: i64,
}

/// Expense with its items.
#[derive(Debug)]
struct Report {
    expense: Expense,
    items: Vec<ExpenseItem>,
}

impl Report {
    fn cents(&self) -> i64 {
        self.items.iter().map(|item| item.cents).sum()
    }

    /// Adds the next row. An expense begins a report, and its items follow.
    fn fold(mut reports: Vec<Self>, row: Row) -> Vec<Self> {
        match row {
            Row::Expense(expense) => reports.push(Self { expense, items: Vec::new() }),
            Row::Item(item) => {
                // Items whose expense was deleted belong to no report.
                let report = reports.last_mut().filter(|report| report.expense.id == item.expense);
                if let Some(report) = report {
                    report.items.push(item);
                }
            }
        }
        reports
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Expense>().await?;
    tables.create::<ExpenseItem>().await?;
    tables.create::<Receipt>().await?;

    let may = datetime!(2010-05-01 00:00 UTC);
    for (day, title, items) in [
        (10, "Conference", [("Train", 4_250), ("Hotel", 21_000)].as_slice()),
        (20, "Customer", &[("Taxi", 1_800), ("Lunch", 5_430), ("Parking", 600)]),
        (27, "Books", &[("Databases", 4_900)]),
    ] {
        file(&tables, may + Duration::days(day), title, items).await?;
    }

    // One request reads expenses and items of a range, the newest first.
    let window = Row::by_key("Marcus").range(may..may + Duration::days(25));
    println!("{}", window.explain());
    let reports = window
        .stream(&tables)
        .try_fold(Vec::new(), |reports, row| async move { Ok(Report::fold(reports, row)) })
        .await?;
    for report in &reports {
        println!("{}: {} items, {} cents", report.expense.title, report.items.len(), report.cents());
    }

    // A report is a range of rows: the expense and its items, and nothing else.
    let customer = &reports.first().context("a report")?.expense;
    let rows = Row::by_key(&customer.user).eq(customer.filed).eq(customer.id).all(&tables).await?;
    println!("{} has {} rows", customer.title, rows.len());

    // A query of the item entity reads the items alone, or a range of them. A total needs only one property.
    let items = || ExpenseItem::by_key("Marcus").eq(customer.filed).eq(customer.id);
    let second = items().range(2..).first(&tables).await?.context("an item")?;
    println!("from the second on: {}", second.what);
    let cents: i64 = items().select::<Amount>().all(&tables).await?.iter().map(|amount| amount.cents).sum();
    println!("total: {cents} cents");

    // Receipts are found by the same keys in their own table.
    let receipts = Receipt::by_key("Marcus").eq(customer.filed).eq(customer.id);
    println!("{}", receipts.explain().tables().collect::<Vec<_>>().join(", "));
    let receipts = receipts.all(&tables).await?;
    println!(
        "{} receipts, of {} bytes",
        receipts.len(),
        receipts.iter().map(|receipt| receipt.image.len()).sum::<usize>()
    );
    Ok(())
}

/// Writes an expense and its items in one transaction, all or nothing. The receipts are written before, because a
/// transaction is limited to one table.
async fn file(tables: &Tables, filed: OffsetDateTime, title: &str, items: &[(&str, i64)]) -> Result<()> {
    let (user, id) = ("Marcus".to_owned(), ExpenseId(Uuid::new_v4()));
    let expense = Expense { user: user.clone(), filed, id, title: title.to_owned() };
    let mut written = Vec::with_capacity(items.len());
    for (number, (what, cents)) in (1..).zip(items) {
        let image = what.as_bytes().repeat(10);
        tables.insert(&Receipt { user: user.clone(), filed, expense: id, number, image }).await?;
        let (user, what) = (user.clone(), (*what).to_owned());
        written.push(ExpenseItem { user, filed, expense: id, number, what, cents: *cents });
    }
    tables.transaction().insert(&expense).insert_all(&written).commit().await?;
    Ok(())
}
