//! Entities that share a table without kinds: the number of key parts distinguishes them.

use anyhow::Result;
use table_runtime::{
    Error, Projection, TableEntity, Tables,
    backend::Action,
    jobs::Finding,
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use crate::fixtures::findings;

crate::conformance! {
    each_entity_reads_its_own_rows
    pages_and_limits_skip_rows_of_others
    counts_and_projections_skip_rows_of_others
    a_key_that_fits_but_cannot_be_read_is_an_error
    a_repair_leaves_index_rows_of_another_entity
    an_index_is_built_in_a_table_with_other_entities
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Reports")]
struct Report {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Reports")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    report: u32,
    #[row_key]
    id: i32,
    title: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Reports")]
struct Note {
    #[partition_key]
    user: String,
    #[row_key]
    report: u32,
    #[row_key]
    item: i32,
    // May contain the delimiters of parts.
    #[row_key]
    name: String,
    title: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Item)]
struct Titled {
    title: String,
}

fn report(id: u32) -> Report {
    Report { user: "a".into(), id, title: format!("report {id}") }
}

fn item(report: u32, id: i32) -> Item {
    Item { user: "a".into(), report, id, title: format!("item {id}") }
}

fn note(report: u32, item: i32, name: &str) -> Note {
    Note { user: "a".into(), report, item, name: name.into(), title: name.into() }
}

/// Inserts three reports with two items each, and a note for each item.
async fn fill(tables: &Tables) -> Result<()> {
    tables.create::<Report>().await?;
    tables.create::<Item>().await?;
    tables.create::<Note>().await?;
    for number in 1..=3 {
        tables.insert(&report(number)).await?;
        for id in [-1, 1] {
            tables.insert(&item(number, id)).await?;
            tables.insert(&note(number, id, "x_y z_")).await?;
        }
    }
    Ok(())
}

fn items() -> Vec<Item> {
    (1..=3).flat_map(|number| [-1, 1].map(|id| item(number, id))).collect()
}

async fn each_entity_reads_its_own_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    assert_eq!(Report::by_key("a").all(tables).await?, [report(1), report(2), report(3)]);
    assert_eq!(Item::by_key("a").all(tables).await?, items());
    assert_eq!(Note::by_key("a").all(tables).await?.len(), 6);
    assert_eq!(Report::by_key("a").range(2..).all(tables).await?, [report(2), report(3)]);
    assert_eq!(Item::by_key("a").range(2..=2).all(tables).await?, [item(2, -1), item(2, 1)]);
    assert_eq!(Item::by_key("a").eq(2).all(tables).await?, [item(2, -1), item(2, 1)]);
    assert_eq!(Item::by_key("a").eq(2).range(0..).all(tables).await?, [item(2, 1)]);
    assert_eq!(Note::by_key("a").eq(2).eq(1).all(tables).await?, [note(2, 1, "x_y z_")]);
    let streamed: Vec<_> = Report::by_key("a").stream(tables).try_collect().await?;
    assert_eq!(streamed, [report(1), report(2), report(3)]);
    let filtered = Report::by_key("a").filter(|report| report.title.ge("report 2")).all(tables).await?;
    assert_eq!(filtered, [report(2), report(3)]);
    Ok(())
}

async fn pages_and_limits_skip_rows_of_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    assert_eq!(Report::by_key("a").take(2).all(tables).await?, [report(1), report(2)]);
    assert_eq!(Item::by_key("a").first(tables).await?.as_deref(), Some(&item(1, -1)));
    for size in 1..=4 {
        let (mut read, mut cursor) = (Vec::new(), None);
        loop {
            let page = Report::by_key("a").page(tables, size, cursor.as_deref()).await?;
            assert!(page.entities.len() <= size, "{size}");
            read.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(read, [report(1), report(2), report(3)], "{size}");
    }
    Ok(())
}

async fn counts_and_projections_skip_rows_of_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    assert_eq!(Report::by_key("a").count(tables).await?, 3);
    assert_eq!(Item::by_key("a").count(tables).await?, 6);
    assert_eq!(Item::by_key("a").eq(1).count(tables).await?, 2);
    assert_eq!(Report::by_key("a").take(2).count(tables).await?, 2);
    let titles = Item::by_key("a").eq(3).select::<Titled>().all(tables).await?;
    assert_eq!(titles, [Titled { title: "item -1".into() }, Titled { title: "item 1".into() }]);
    Ok(())
}

async fn a_key_that_fits_but_cannot_be_read_is_an_error(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    let mut properties = Properties::default();
    properties.push("Title", ValueRef::String("x"));
    store.write("Reports", ("b", "12"), Action::Insert(properties)).await?;
    assert!(matches!(Report::by_key("b").all(tables).await, Err(Error::Key(_))), "too short for a number");
    // The row key has as many parts as a report's, so no item is read.
    assert_eq!(Item::by_key("b").all(tables).await?.len(), 0);
    for stray in ["stray", "stray_1", "_", "0000000001_", "0000000001_x"] {
        store.write("Reports", (stray, stray), Action::Insert(Properties::default())).await?;
        let item = Item::by_key(stray).all(tables).await;
        assert!(matches!(item, Err(Error::Key(_))), "{stray}: {item:?}");
        let found = tables.verify::<Item>().all().await?;
        let is_stray = |finding: &Finding| matches!(finding, Finding::Foreign { row, .. } if row.row_key == stray);
        assert!(found.iter().any(is_stray), "{stray}: {found:?}");
    }
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders")]
struct Order {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(number, unique)]
    number: String,
    #[index(state)]
    state: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders")]
struct Line {
    #[partition_key]
    user: String,
    #[row_key]
    order: u32,
    #[row_key]
    id: u32,
    #[index(article)]
    article: String,
}

/// Order as declared before it had indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", entity = "Order")]
struct PlainOrder {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    number: String,
    state: String,
}

fn order(id: u32) -> Order {
    Order { user: "a".into(), id, number: format!("n{id}"), state: "open".into() }
}

fn line(order: u32, id: u32) -> Line {
    Line { user: "a".into(), order, id, article: "pen".into() }
}

async fn a_repair_leaves_index_rows_of_another_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    tables.create::<Line>().await?;
    for id in 1..=2 {
        tables.insert(&order(id)).await?;
        tables.insert(&line(id, 1)).await?;
    }
    assert_eq!(findings::<Order>(store).await?, []);
    assert_eq!(findings::<Line>(store).await?, []);
    // Delete the index rows, as a crash might leave them.
    for row in store.rows("OrdersByState").await?.iter().chain(&store.rows("OrdersByArticle").await?) {
        let table = if row.partition_key == "open" { "OrdersByState" } else { "OrdersByArticle" };
        store
            .write(table, (&row.partition_key, &row.row_key), Action::Delete(table_runtime::backend::IfMatch::Any))
            .await?;
    }
    assert_eq!(tables.repair::<Order>().await?.fixed.len(), 2);
    assert_eq!(tables.repair::<Line>().await?.fixed.len(), 2);
    assert_eq!(Order::by_state("open").all(tables).await?, [order(1), order(2)]);
    assert_eq!(Line::by_article("pen").all(tables).await?, [line(1, 1), line(2, 1)]);
    Ok(())
}

async fn an_index_is_built_in_a_table_with_other_entities(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Line>().await?;
    tables.insert(&line(1, 1)).await?;
    // The table has lines but no orders, so the index is ready at once.
    tables.create::<Order>().await?;
    assert_eq!(Order::by_number("n1").get(&store.again()).await?, None);
    store.clean().await?;

    tables.create::<PlainOrder>().await?;
    tables.create::<Line>().await?;
    for id in 1..=3 {
        let Order { user, id, number, state } = order(id);
        tables.insert(&PlainOrder { user, id, number, state }).await?;
        tables.insert(&line(id, 1)).await?;
    }
    let tables = store.again();
    tables.create::<Order>().await?;
    assert!(matches!(Order::by_number("n1").get(&tables).await, Err(Error::IndexBuilding { .. })));
    for index in ["number", "state"] {
        let filled = tables.backfill::<Order>(index).await?;
        assert_eq!((filled.entities, filled.written, filled.ready), (3, 3, true), "{index}");
    }
    assert_eq!(Order::by_number("n2").get(&tables).await?.as_deref(), Some(&order(2)));
    assert_eq!(Order::by_state("open").count(&tables).await?, 3);
    Ok(())
}
