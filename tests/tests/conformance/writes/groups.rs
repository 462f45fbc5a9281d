//! Writes of groups: a master with its items is deleted, or changed.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use table_runtime::{
    EntityGroup, Error, Stored, TableEntity, Tables,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, Group, IfMatch, ReadRequest, ReadTarget, Reader, Scan,
        StoreView, TableRequest, Written,
    },
    row::{Properties, ValueRef},
};
use tests::{isolated::Isolated, probed::Probe, stores::Store};

use crate::fixtures::findings;

crate::conformance! {
    a_master_is_deleted_with_its_items_in_one_transaction
    a_large_group_is_deleted_in_several_transactions
    the_index_rows_of_all_members_are_deleted
    several_queries_are_deleted_at_once
    members_in_a_bin_stay
    a_group_is_changed_in_one_transaction
    a_change_inserts_and_deletes_members
    changes_of_one_group_are_not_lost
    a_group_that_is_not_there_is_not_changed
    a_change_that_cannot_be_written_leaves_the_group
    a_changed_group_can_be_updated
    a_member_takes_the_place_of_another_one
    a_group_that_is_read_in_pages_is_deleted_in_one_transaction
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", kind)]
struct Order {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    number: u32,
    #[index(customer, same_partition)]
    customer: String,
    total: i64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", kind)]
struct Line {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    order: u32,
    #[row_key]
    number: u32,
    cents: i64,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Sale {
    Order(Order),
    Line(Line),
}

#[derive(EntityGroup, Clone, Debug)]
enum StoredSale {
    Order(Stored<Order>),
    Line(Stored<Line>),
}

fn order(number: u32, total: i64) -> Order {
    Order { shop: "s".into(), number, customer: format!("c{number}"), total }
}

fn line(order: u32, number: u32) -> Line {
    Line { shop: "s".into(), order, number, cents: number.into() }
}

/// Inserts two orders, the first one with so many lines.
async fn orders(store: &Store, lines: u32) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().and::<Line>().await?;
    tables.insert(&order(1, 0)).await?;
    tables.insert_all((1..=lines).map(|number| line(1, number))).await?;
    tables.insert(&order(2, 0)).await?;
    tables.insert(&line(2, 1)).await?;
    store.probe.requests();
    Ok(())
}

async fn a_master_is_deleted_with_its_items_in_one_transaction(store: &Store) -> Result<()> {
    orders(store, 5).await?;
    let tables = &store.tables;
    let deleted = Sale::by_key("s").eq(1).delete_all(tables).await?;
    assert_eq!((deleted.written, deleted.missing, deleted.failed), (6, 0, 0));
    assert_eq!(store.probe.requests(), 1 + 1);
    assert_eq!(Sale::by_key("s").all(tables).await?, [Sale::Order(order(2, 0)), Sale::Line(line(2, 1))]);
    assert_eq!(Order::by_customer("s").count(tables).await?, 1);
    assert_eq!(store.rows("Orders").await?.len(), 3);
    assert_eq!(Sale::by_key("s").eq(1).delete_all(tables).await?.written, 0);
    // `take` limits it.
    assert_eq!(Sale::by_key("s").eq(2).take(1).delete_all(tables).await?.written, 1);
    assert_eq!(Sale::by_key("s").all(tables).await?, [Sale::Line(line(2, 1))]);
    Ok(())
}

async fn a_large_group_is_deleted_in_several_transactions(store: &Store) -> Result<()> {
    orders(store, 150).await?;
    let deleted = Sale::by_key("s").eq(1).delete_all(&store.tables).await?;
    assert_eq!(deleted.written, 151);
    assert_eq!(store.probe.requests(), 1 + 2);
    assert_eq!(Sale::by_key("s").count(&store.tables).await?, 2);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Albums", kind, soft_delete = deleted)]
struct Album {
    #[partition_key]
    artist: String,
    #[row_key(prefix = "n-")]
    number: u32,
    #[index(title, lowercase, same_partition, list)]
    title: String,
    deleted: Option<time::OffsetDateTime>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Albums", kind)]
struct Song {
    #[partition_key]
    artist: String,
    #[row_key(prefix = "n-")]
    album: u32,
    #[row_key]
    number: u32,
    #[index(isrc, unique)]
    isrc: String,
    #[index(mood, copy)]
    mood: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Disc {
    Album(Album),
    Song(Song),
}

async fn discs(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Album>().and::<Song>().await?;
    for number in 1..=2 {
        tables.insert(&Album { artist: "a".into(), number, title: "T".into(), deleted: None }).await?;
        let song = |at| {
            let (isrc, mood) = (format!("{number}-{at}"), "blue".to_owned());
            Song { artist: "a".into(), album: number, number: at, isrc, mood }
        };
        tables.insert_all((1..=3).map(song)).await?;
    }
    Ok(())
}

async fn the_index_rows_of_all_members_are_deleted(store: &Store) -> Result<()> {
    discs(store).await?;
    let tables = &store.tables;
    assert_eq!(Disc::by_key("a").eq(1).delete_all(tables).await?.written, 4);
    assert_eq!(Disc::by_key("a").count(tables).await?, 4);
    assert_eq!(Song::by_mood("blue").count(tables).await?, 3);
    assert_eq!(store.rows("AlbumsByIsrc").await?.len(), 3);
    assert_eq!(Album::by_title("a").count(tables).await?, 1);
    assert_eq!((findings::<Album>(store).await?, findings::<Song>(store).await?), (vec![], vec![]));
    Ok(())
}

async fn several_queries_are_deleted_at_once(store: &Store) -> Result<()> {
    orders(store, 3).await?;
    discs(store).await?;
    let tables = &store.tables;
    let mut last = 0;
    let queries = (Order::by_key("s"), Line::by_key("s").eq(1), (Disc::by_key("a").eq(2), Album::by_key("nobody")));
    let deleted = tables.delete_all(queries).progress(|so_far| last = so_far.written).await?;
    assert_eq!((deleted.written, last), (2 + 3 + 4, 9));
    assert_eq!(Sale::by_key("s").all(tables).await?, [Sale::Line(line(2, 1))]);
    assert_eq!(Disc::by_key("a").count(tables).await?, 4);
    assert_eq!((findings::<Album>(store).await?, findings::<Song>(store).await?), (vec![], vec![]));
    // An error of one query does not stop the others.
    let mut broken = Properties::default();
    broken.push("Total", ValueRef::String("none"));
    tables.insert(&order(3, 0)).await?;
    tables.insert(&order(4, 0)).await?;
    store.write("Orders", ("s", "n-0000000003"), Action::Merge(broken, IfMatch::Any)).await?;
    let error = tables.delete_all((Order::by_key("s"), Disc::by_key("a"))).await.expect_err("a row cannot be read");
    let Error::Bulk(error) = error else { panic!("{error}") };
    assert_eq!((error.progress.written, error.failures.len()), (1 + 4, 1));
    Ok(())
}

async fn members_in_a_bin_stay(store: &Store) -> Result<()> {
    discs(store).await?;
    let tables = &store.tables;
    assert!(tables.soft_delete(Album::key("a", 1)).await?);
    assert_eq!(Disc::by_key("a").eq(1).delete_all(tables).await?.written, 3);
    assert_eq!(Disc::by_key("a").eq(1).with_deleted().count(tables).await?, 1);
    assert_eq!(Disc::by_key("a").eq(1).only_deleted().delete_all(tables).await?.written, 1);
    assert_eq!(Disc::by_key("a").with_deleted().count(tables).await?, 4);
    Ok(())
}

fn lines(members: &[Sale]) -> Vec<u32> {
    let number = |member: &Sale| if let Sale::Line(line) = member { Some(line.number) } else { None };
    members.iter().filter_map(number).collect()
}

async fn a_group_is_changed_in_one_transaction(store: &Store) -> Result<()> {
    orders(store, 3).await?;
    let tables = &store.tables;
    // A property of another program stays.
    let mut foreign = Properties::default();
    foreign.push("Foreign", ValueRef::Int32(7));
    store.write("Orders", ("s", "n-0000000001"), Action::Merge(foreign, IfMatch::Any)).await?;
    store.probe.requests();
    let change = |members: &mut Vec<Sale>| {
        let cents = members.iter().map(|member| if let Sale::Line(line) = member { line.cents } else { 0 });
        let cents: i64 = cents.sum();
        for member in members {
            match member {
                Sale::Order(order) => (order.total, order.customer) = (cents, "new".to_owned()),
                Sale::Line(line) => line.cents *= 10,
            }
        }
    };
    let changed = Sale::by_key("s").eq(1).modify(tables, change).await?;
    assert_eq!(store.probe.requests(), 2);
    assert_eq!(Sale::by_key("s").eq(1).all(tables).await?, changed);
    assert_eq!(changed[0], Sale::Order(Order { total: 6, customer: "new".into(), ..order(1, 0) }));
    assert_eq!(changed[2], Sale::Line(Line { cents: 20, ..line(1, 2) }));
    assert_eq!(Order::by_customer("s").eq("new").count(tables).await?, 1);
    assert_eq!(findings::<Order>(store).await?, []);
    let rows = store.rows("Orders").await?;
    let row = rows.iter().find(|row| row.row_key == "n-0000000001").context("the order")?;
    assert_eq!(row.properties.get("Foreign"), Some(ValueRef::Int32(7)));
    Ok(())
}

async fn a_change_inserts_and_deletes_members(store: &Store) -> Result<()> {
    orders(store, 4).await?;
    let tables = &store.tables;
    let change = |members: &mut Vec<Sale>| {
        members.retain(|member| !matches!(member, Sale::Line(line) if line.number == 2));
        // A member with another key is deleted and inserted.
        for member in members.iter_mut() {
            if let Sale::Line(line) = member
                && line.number == 3
            {
                line.number = 30;
            }
        }
        members.push(Sale::Line(line(1, 9)));
    };
    let changed = Sale::by_key("s").eq(1).modify(tables, change).await?;
    assert_eq!(lines(&changed), [1, 30, 4, 9]);
    assert_eq!(lines(&Sale::by_key("s").eq(1).all(tables).await?), [1, 4, 9, 30]);
    // The master alone can go, and all of them.
    let without_order = |members: &mut Vec<Sale>| members.retain(|member| matches!(member, Sale::Line(_)));
    assert_eq!(Sale::by_key("s").eq(1).modify(tables, without_order).await?.len(), 4);
    assert_eq!(Sale::by_key("s").eq(1).modify(tables, Vec::clear).await?, []);
    assert_eq!(Sale::by_key("s").count(tables).await?, 2);
    assert_eq!(findings::<Order>(store).await?, []);
    Ok(())
}

async fn changes_of_one_group_are_not_lost(store: &Store) -> Result<()> {
    orders(store, 0).await?;
    let add = |cents: i64| {
        move |members: &mut Vec<Sale>| {
            let last = lines(members).into_iter().max().unwrap_or(0);
            if let Some(Sale::Order(order)) = members.first_mut() {
                order.total += cents;
            }
            members.push(Sale::Line(Line { cents, ..line(1, last + 1) }));
        }
    };
    let programs: Vec<_> = (0..6).map(|_| store.again()).collect();
    let changes = programs.iter().map(|tables| async move {
        for cents in 1..=3 {
            Sale::by_key("s").eq(1).modify(tables, add(cents)).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(changes).await?;
    let members = Sale::by_key("s").eq(1).all(&store.tables).await?;
    assert_eq!(members[0], Sale::Order(order(1, 6 * (1 + 2 + 3))));
    assert_eq!(lines(&members), (1..=18).collect::<Vec<_>>());
    Ok(())
}

async fn a_group_that_is_not_there_is_not_changed(store: &Store) -> Result<()> {
    orders(store, 1).await?;
    let changed = Sale::by_key("s").eq(7).modify(&store.tables, |_| panic!("there are no members")).await?;
    assert_eq!(changed, []);
    Ok(())
}

async fn a_change_that_cannot_be_written_leaves_the_group(store: &Store) -> Result<()> {
    orders(store, 2).await?;
    let tables = &store.tables;
    let before = store.rows("Orders").await?;
    let query = || Sale::by_key("s").eq(1);
    // A row that the query does not find is in the way of a new member.
    let error = query().modify(tables, |members| members.push(Sale::Line(line(2, 1)))).await;
    assert!(matches!(&error, Err(Error::AlreadyExists(row)) if row.row_key.starts_with("n-0000000002")), "{error:?}");
    let many = |members: &mut Vec<Sale>| members.extend((10..120).map(|number| Sale::Line(line(1, number))));
    let error = query().modify(tables, many).await;
    assert!(matches!(error, Err(Error::Limit(_))), "{error:?}");
    let twice = |members: &mut Vec<Sale>| members.extend([Sale::Line(line(1, 7)), Sale::Line(line(1, 7))]);
    let error = query().modify(tables, twice).await;
    assert!(matches!(error, Err(Error::Limit(_))), "{error:?}");
    let elsewhere = |members: &mut Vec<Sale>| members.push(Sale::Line(Line { shop: "t".into(), ..line(1, 7) }));
    let error = query().modify(tables, elsewhere).await;
    assert!(matches!(error, Err(Error::Limit(_))), "{error:?}");
    assert_eq!(store.rows("Orders").await?, before);
    Ok(())
}

async fn a_changed_group_can_be_updated(store: &Store) -> Result<()> {
    orders(store, 1).await?;
    let tables = &store.tables;
    let change = |members: &mut Vec<StoredSale>| {
        for member in members.iter_mut() {
            match member {
                StoredSale::Order(order) => order.customer = "x".into(),
                StoredSale::Line(line) => line.cents = 5,
            }
        }
    };
    let mut changed = StoredSale::by_key("s").eq(1).modify(tables, change).await?;
    for member in &mut changed {
        match member {
            StoredSale::Order(order) => {
                order.customer = "y".into();
                tables.update(order).await?;
            }
            StoredSale::Line(line) => tables.delete(&*line).await?,
        }
    }
    assert_eq!(Order::by_customer("s").eq("y").count(tables).await?, 1);
    assert_eq!(Line::by_key("s").eq(1).count(tables).await?, 0);
    assert_eq!(findings::<Order>(store).await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", kind)]
struct Discount {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    order: u32,
    #[row_key]
    number: u32,
    percent: u32,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Bill {
    Order(Order),
    Line(Line),
    Discount(Discount),
}

async fn a_member_takes_the_place_of_another_one(store: &Store) -> Result<()> {
    orders(store, 2).await?;
    let tables = &store.tables;
    let discount = Discount { shop: "s".into(), order: 1, number: 2, percent: 5 };
    let replace = |members: &mut Vec<Bill>| members[2] = Bill::Discount(discount.clone());
    let changed = Bill::by_key("s").eq(1).modify(tables, replace).await?;
    assert_eq!(changed[1..], [Bill::Line(line(1, 1)), Bill::Discount(discount)]);
    assert_eq!(Bill::by_key("s").eq(1).all(tables).await?, changed);
    Ok(())
}

/// A store whose pages have two rows, and take a while.
#[derive(Debug)]
struct Slow(Isolated);

impl Backend for Slow {
    fn describe(&self) -> Description<'_> {
        self.0.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.0.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let short;
            let target = match request.target {
                ReadTarget::Page { scan, from } => {
                    short = Scan { page: scan.page.min(2), ..scan.clone() };
                    ReadTarget::Page { scan: &short, from }
                }
                row @ ReadTarget::Row { .. } => row,
            };
            self.0.read(ReadRequest { target, ..request }, reader).await
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.0.execute(groups)
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

async fn a_group_that_is_read_in_pages_is_deleted_in_one_transaction(store: &Store) -> Result<()> {
    orders(store, 7).await?;
    let (slow, probe) = Probe::new(Slow(store.backend.clone()));
    let tables = Tables::new(slow);
    assert_eq!(Sale::by_key("s").eq(1).delete_all(&tables).await?.written, 8);
    // Pages of two rows, and one write.
    assert_eq!(probe.requests(), 4 + 1);
    // So are those of several queries.
    assert_eq!(tables.delete_all((Order::by_key("s"), Line::by_key("s"))).await?.written, 2);
    assert_eq!(probe.requests(), 2 + 1);
    assert_eq!(store.rows("Orders").await?.len(), 0);
    Ok(())
}
