//! Rows that cannot be read: lists go on after them, if their reader wants that.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use anyhow::Result;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use table_runtime::{
    BoxedRows, EntityGroup, Error, Projection, Query, Stored, TableEntity, Tables,
    backend::{Action, BackendExt, IfMatch},
    row::{Properties, ValueRef},
};
use tests::stores::Store;
use time::OffsetDateTime;

use crate::fixtures::at;

crate::conformance! {
    a_list_survives_rows_that_cannot_be_read
    lists_of_many_partitions_survive_rows_that_cannot_be_read
    lists_through_indexes_survive_entities_that_cannot_be_read
    lists_survive_index_rows_that_cannot_be_read
    groups_survive_rows_that_cannot_be_read
    projections_survive_rows_that_cannot_be_read
    a_limit_counts_rows_that_can_be_read
    a_point_that_cannot_be_read_is_skipped
    partitions_are_listed_beside_rows_that_cannot_be_read
    a_row_after_the_last_one_of_a_page_is_not_read
    delete_all_leaves_rows_that_cannot_be_read
}

/// Five years later the program knows no `Waiting` any more.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
enum Status {
    Open,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tickets", allow_scan)]
#[index(newest, partition(tenant), row(number(reverse)), copy)]
#[index(spread, partition(number(hash = 4)), row(number), copy)]
struct Ticket {
    #[partition_key]
    tenant: String,
    #[row_key]
    number: u32,
    #[index(title)]
    #[index(name, same_partition, include(status))]
    #[index(listed, same_partition, list)]
    title: String,
    #[property(json)]
    status: Status,
}

/// A reading, in partitions by a hash.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Samples")]
struct Sample {
    #[partition_key(hash = 4)]
    #[row_key]
    number: u32,
    #[property(json)]
    status: Status,
}

/// A visit, in tables by the month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Calls", slice = day(at))]
struct Call {
    #[partition_key]
    tenant: String,
    #[row_key]
    at: OffsetDateTime,
    number: u32,
    #[property(json)]
    status: Status,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tickets")]
struct Comment {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "number-")]
    ticket: u32,
    #[row_key]
    number: u32,
    text: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Thread {
    Ticket(Ticket),
    Comment(Comment),
}

fn ticket(tenant: &str, number: u32) -> Ticket {
    // Three tickets have each title.
    Ticket { tenant: tenant.into(), number, title: format!("t{}", number / 3), status: Status::Open }
}

fn sample(number: u32) -> Sample {
    Sample { number, status: Status::Open }
}

/// Gives rows a status that the program does not know.
async fn damage(store: &Store, table: &str, is_damaged: impl Fn(&str, &str) -> bool) -> Result<()> {
    set_status(store, table, "Waiting", is_damaged).await
}

async fn set_status(store: &Store, table: &str, status: &str, is_changed: impl Fn(&str, &str) -> bool) -> Result<()> {
    let mut properties = Properties::default();
    properties.push("Status", ValueRef::String(&format!("{status:?}")));
    for row in store.rows(table).await? {
        if is_changed(&row.partition_key, &row.row_key) {
            let change = Action::Merge(properties.clone(), IfMatch::Any);
            store.write(table, (&row.partition_key, &row.row_key), change).await?;
        }
    }
    Ok(())
}

/// Checks that every way to read a list goes on after rows that cannot be read. `expected` has the numbers of the rows in
/// their order; `None` is a row that cannot be read.
async fn survives<T, F>(tables: &Tables, query: F, number: fn(&T) -> u32, expected: &[Option<u32>]) -> Result<()>
where
    T: Send + 'static,
    F: Fn() -> BoxedRows<T>,
{
    let readable: Vec<_> = expected.iter().copied().flatten().collect();
    let bad = expected.len() - readable.len();
    let numbers = |items: &[T]| items.iter().map(number).collect::<Vec<_>>();

    // Strict reads fail at the first such row.
    assert!(query().all(tables).await.is_err());
    assert!(query().for_each(tables, drop).await.is_err());
    assert!(query().stream(tables).try_collect::<Vec<_>>().await.is_err());

    let found: Vec<_> = query().stream(tables).map(|item| item.ok().as_ref().map(number)).collect().await;
    assert_eq!(found, expected);
    for size in 1..=expected.len() {
        assert_eq!(paged(tables, &query, number, size).await?, expected, "pages of {size}");
    }

    let mut errors = Vec::new();
    assert_eq!(numbers(&query().skip_unreadable(|error| errors.push(error)).all(tables).await?), readable);
    assert_eq!(errors.len(), bad);
    assert!(errors.iter().all(|error| error.cursor().is_none()), "{errors:?}");
    let first = query().skip_unreadable(drop).first(tables).await?;
    assert_eq!(first.as_ref().map(number), readable.first().copied());
    let skipped = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&skipped);
    let count = move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    let items: Vec<_> = query().skip_unreadable(count).stream(tables).try_collect().await?;
    assert_eq!((numbers(&items), skipped.load(Ordering::Relaxed) as usize), (readable.clone(), bad));
    let (mut each, mut errors) = (Vec::new(), 0);
    query().skip_unreadable(|_| errors += 1).for_each(tables, |item| each.push(number(&item))).await?;
    assert_eq!((each, errors), (readable.clone(), bad));
    for size in [1, 2, 100] {
        let (mut all, mut cursor, mut errors) = (Vec::new(), None, 0);
        loop {
            let page = query().skip_unreadable(|_| errors += 1).page(tables, size, cursor.as_deref()).await?;
            all.extend(numbers(&page.entities));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(all, readable, "pages of {size}");
        assert!(errors >= bad, "{errors} errors in pages of {size}");
    }
    Ok(())
}

/// Reads page by page, with the cursors of pages and of errors.
async fn paged<T: Send + 'static>(
    tables: &Tables,
    query: &impl Fn() -> BoxedRows<T>,
    number: fn(&T) -> u32,
    size: usize,
) -> Result<Vec<Option<u32>>> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        match query().page(tables, size, cursor.as_deref()).await {
            Ok(page) => {
                assert!(page.entities.len() <= size);
                found.extend(page.entities.iter().map(|item| Some(number(item))));
                cursor = page.next;
                if cursor.is_none() {
                    return Ok(found);
                }
            }
            Err(error) => {
                let next = error.cursor().map(str::to_owned);
                assert!(next.is_some() && next != cursor, "{error}");
                found.push(None);
                cursor = next;
            }
        }
    }
}

async fn tickets(store: &Store, tenants: &[&str], numbers: u32) -> Result<()> {
    store.tables.create::<Ticket>().await?;
    let tickets = tenants.iter().flat_map(|tenant| (0..numbers).map(move |number| ticket(tenant, number)));
    store.tables.insert_all(tickets).await?;
    Ok(())
}

fn number_of(ticket: &Stored<Ticket>) -> u32 {
    ticket.number
}

async fn a_list_survives_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    tickets(store, &["a"], 6).await?;
    let tables = &store.tables;
    for bad in [vec![0], vec![2], vec![2, 3], vec![5], vec![0, 1, 5], vec![0, 1, 2, 3, 4, 5]] {
        set_status(store, "Tickets", "Open", |_, row| row.starts_with("number-")).await?;
        damage(store, "Tickets", |_, row| bad.iter().any(|number| row == format!("number-{number:010}"))).await?;
        let expected: Vec<_> = (0..6).map(|number| (!bad.contains(&number)).then_some(number)).collect();
        survives(tables, || Ticket::by_key("a").boxed(), number_of, &expected).await?;
        // The index row holds all that decides whether the entity counts.
        assert_eq!(Ticket::by_key("a").skip_unreadable(drop).count(tables).await?, 6);
        assert_eq!(Ticket::by_key("a").count(tables).await?, 6);
    }
    let error = Ticket::by_key("a").all(tables).await.expect_err("a row cannot be read");
    assert!(matches!(&error, Error::Property(error) if error.property == "Status"), "{error}");
    Ok(())
}

async fn lists_of_many_partitions_survive_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a", "b"], 2).await?;
    damage(store, "Tickets", |tenant, row| (tenant == "a") == row.ends_with('1') && row.starts_with("number-")).await?;
    let expected = [Some(0), None, None, Some(1)];
    survives(tables, || Ticket::scan().boxed(), number_of, &expected).await?;
    survives(tables, || Ticket::by_partitions("a"..).boxed(), number_of, &expected).await?;

    tables.create::<Sample>().await?;
    tables.insert_all((0..9).map(sample)).await?;
    damage(store, "Samples", |_, row| row.ends_with('3') || row.ends_with('4') || row.ends_with('8')).await?;
    let expected: Vec<_> = (0..9).map(|number| (![3, 4, 8].contains(&number)).then_some(number)).collect();
    survives(tables, || Sample::by_key().range(0..).boxed(), |sample| sample.number, &expected).await?;

    tables.create::<Call>().await?;
    let day = 24 * 60 * 60;
    let call = |number: u32| Call { tenant: "a".into(), at: at(number * day / 2), number, status: Status::Open };
    tables.insert_all((0..5).map(call)).await?;
    let slices: Vec<_> = store.backend.list_tables("Calls").await?;
    damage(store, &slices[1], |_, _| true).await?;
    let query = || Call::by_key("a").range(at(0)..at(9 * day)).boxed();
    let found: Vec<_> = query().stream(tables).map(|call| call.ok().map(|call| call.number)).collect().await;
    assert!(found.contains(&None) && found.contains(&Some(0)) && found.contains(&Some(4)), "{found:?}");
    survives(tables, query, |call| call.number, &found).await
}

async fn lists_through_indexes_survive_entities_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 6).await?;
    damage(store, "Tickets", |_, row| ["number-0000000001", "number-0000000003"].contains(&row)).await?;
    let expected = [Some(0), None, Some(2), None, Some(4), Some(5)];
    survives(tables, || Ticket::by_name("a").boxed(), number_of, &expected).await?;
    survives(tables, || Ticket::by_listed("a").boxed(), number_of, &expected).await?;
    survives(tables, || Ticket::by_title("t0").boxed(), number_of, &expected[..3]).await?;
    survives(tables, || Ticket::by_listed("a").range("t1".."t9").boxed(), number_of, &expected[3..]).await
}

async fn lists_survive_index_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 6).await?;
    // Copies, in one partition and merged from four.
    damage(store, "TicketsByNewest", |_, row| row.ends_with('4')).await?;
    let found: Vec<_> =
        Ticket::by_newest("a").stream(tables).map(|item| item.ok().map(|item| item.number)).collect().await;
    assert_eq!(found.iter().filter(|number| number.is_none()).count(), 1);
    survives(tables, || Ticket::by_newest("a").boxed(), |copy| copy.number, &found).await?;
    damage(store, "TicketsBySpread", |_, row| row.starts_with("0000000002")).await?;
    let expected = [Some(0), Some(1), None, Some(3), Some(4), Some(5)];
    survives(tables, || Ticket::by_spread().range(0..).boxed(), |copy| copy.number, &expected).await?;

    // A list whose text is none, and a pointer whose key is none, among others.
    let mut broken = Properties::default();
    broken.push("IndexedEntities", ValueRef::String("none"));
    for row in store.rows("Tickets").await?.iter().filter(|row| row.row_key.starts_with("listed-t1")) {
        let change = Action::Merge(broken.clone(), IfMatch::Any);
        store.write("Tickets", (&row.partition_key, &row.row_key), change).await?;
    }
    let expected = [Some(0), Some(1), Some(2), None];
    survives(tables, || Ticket::by_listed("a").boxed(), number_of, &expected).await?;
    for row in store.rows("TicketsByTitle").await?.iter().filter(|row| row.partition_key.contains("t1")).take(1) {
        let keys = (row.partition_key.as_str(), "a!");
        store.write("TicketsByTitle", keys, Action::Insert(row.properties.clone())).await?;
    }
    let found: Vec<_> =
        Ticket::by_title("t1").stream(tables).map(|item| item.ok().map(|item| item.number)).collect().await;
    assert_eq!(found.iter().filter(|number| number.is_none()).count(), 1, "{found:?}");
    survives(tables, || Ticket::by_title("t1").boxed(), number_of, &found).await
}

async fn groups_survive_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 2).await?;
    tables.create::<Comment>().await?;
    let comment = |ticket, number| Comment { tenant: "a".into(), ticket, number, text: "t".into() };
    tables.insert_all([comment(0, 1), comment(0, 2), comment(1, 1)]).await?;
    damage(store, "Tickets", |_, row| row == "number-0000000001").await?;
    let number = |member: &Thread| match member {
        Thread::Ticket(ticket) => ticket.number,
        Thread::Comment(comment) => 10 * (1 + comment.ticket) + comment.number,
    };
    let expected = [Some(0), Some(11), Some(12), None, Some(21)];
    survives(tables, || Thread::by_key("a").boxed(), number, &expected).await?;
    survives(tables, || Thread::by_key("a").eq(1).boxed(), number, &expected[3..]).await
}

#[derive(Projection)]
#[projection(of = Ticket)]
struct State {
    number: u32,
    #[allow(dead_code)]
    status: Status,
}

#[derive(Projection)]
#[projection(of = Ticket)]
struct Borrowing<'a> {
    title: &'a str,
    number: u32,
    #[allow(dead_code)]
    status: Status,
}

async fn projections_survive_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 3).await?;
    damage(store, "Tickets", |_, row| row == "number-0000000001" || row.starts_with("name-") && row.ends_with('1'))
        .await?;
    let expected = [Some(0), None, Some(2)];
    survives(tables, || Ticket::by_key("a").select::<State>().boxed(), |state| state.number, &expected).await?;
    // The index rows hold all that is asked for.
    survives(tables, || Ticket::by_name("a").select::<State>().boxed(), |state| state.number, &expected).await?;
    let (mut titles, mut errors) = (Vec::new(), Vec::new());
    let borrowing = Ticket::by_key("a").select::<Borrowing<'_>>();
    let each = |row: Borrowing<'_>| titles.push((row.title.to_owned(), row.number));
    borrowing.for_each_readable(tables, each, |error| errors.push(error)).await?;
    assert_eq!(titles, [("t0".to_owned(), 0), ("t0".to_owned(), 2)]);
    assert_eq!(errors.len(), 1);
    Ok(())
}

async fn a_limit_counts_rows_that_can_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 6).await?;
    damage(store, "Tickets", |_, row| ["number-0000000001", "number-0000000003"].contains(&row)).await?;
    let numbers = |tickets: Vec<Stored<Ticket>>| tickets.iter().map(|ticket| ticket.number).collect::<Vec<_>>();
    let query = || Ticket::by_key("a");
    assert_eq!(numbers(query().take(3).skip_unreadable(drop).all(tables).await?), [0, 2, 4]);
    assert_eq!(numbers(query().skip_unreadable(drop).take(2).all(tables).await?), [0, 2]);
    // The cursor of an error counts the rows before it.
    let query = || query().take(3).boxed();
    for size in [1, 2, 3, 4] {
        let found = paged(tables, &query, number_of, size).await?;
        assert_eq!(found, [Some(0), None, Some(2), None, Some(4)], "pages of {size}");
    }
    Ok(())
}

async fn a_point_that_cannot_be_read_is_skipped(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 2).await?;
    damage(store, "Tickets", |_, row| row == "number-0000000001").await?;
    let mut errors = Vec::new();
    assert!(Ticket::key("a", 1).get(tables).await.is_err());
    let found = Ticket::key("a", 1).skip_unreadable(|error| errors.push(error)).all(tables).await?;
    assert_eq!((found.len(), errors.len()), (0, 1));
    assert_eq!(Ticket::key("a", 0).skip_unreadable(|error| errors.push(error)).all(tables).await?.len(), 1);
    assert_eq!(errors.len(), 1);
    let found: Vec<_> = Ticket::key("a", 1).stream(tables).collect().await;
    assert!(matches!(found[..], [Err(Error::Property(_))]), "{found:?}");
    // A key that no row can have is not the error of a row.
    let long = "x".repeat(600);
    let found = Ticket::key(&long, 1).skip_unreadable(|error| panic!("{error}")).all(tables).await;
    assert!(matches!(found, Err(Error::Key(_))), "{found:?}");
    let found = Ticket::key(&long, 1).skip_unreadable(|error| panic!("{error}")).count(tables).await;
    assert!(matches!(found, Err(Error::Key(_))), "{found:?}");
    // An error that is not that of a row ends the query.
    let gone = Sample::key(1).skip_unreadable(drop).all(tables).await;
    assert!(matches!(gone, Err(Error::TableNotFound(_))), "{gone:?}");
    let gone = Sample::by_key().range(0..).skip_unreadable(drop).all(tables).await;
    assert!(matches!(gone, Err(Error::TableNotFound(_))), "{gone:?}");
    Ok(())
}

async fn partitions_are_listed_beside_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a", "b", "c"], 2).await?;
    damage(store, "Tickets", |tenant, row| tenant == "b" && row == "number-0000000000").await?;
    damage(store, "Tickets", |tenant, row| tenant == "c" && row.starts_with("number-")).await?;
    let found: Vec<_> =
        tables.partitions::<Ticket>().map(|item| item.ok().map(|item| item.tenant.clone())).collect().await;
    // Of a partition with a row that can be read, that row is returned after the error.
    let expected = [Some("a"), None, Some("b"), None, None].map(|tenant| tenant.map(str::to_owned));
    assert_eq!(found, expected);
    Ok(())
}

async fn a_row_after_the_last_one_of_a_page_is_not_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 4).await?;
    damage(store, "Tickets", |_, row| row == "number-0000000002").await?;
    assert_eq!(Ticket::by_key("a").take(2).all(tables).await?.len(), 2);
    let page = Ticket::by_key("a").page(tables, 2, None).await?;
    assert_eq!(page.entities.len(), 2);
    assert!(page.next.is_some());
    Ok(())
}

async fn delete_all_leaves_rows_that_cannot_be_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tickets(store, &["a"], 5).await?;
    damage(store, "Tickets", |_, row| ["number-0000000001", "number-0000000002"].contains(&row)).await?;
    let error = Ticket::by_key("a").delete_all(tables).await.expect_err("two rows cannot be read");
    let Error::Bulk(error) = error else { panic!("{error}") };
    assert_eq!((error.progress.written, error.failures.len()), (3, 2));
    assert!(error.failures.iter().all(|failure| matches!(*failure.error, Error::Property(_))), "{error}");
    assert_eq!(Ticket::by_key("a").count(tables).await?, 2);
    Ok(())
}
