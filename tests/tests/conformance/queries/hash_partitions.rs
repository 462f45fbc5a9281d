//! Hash partitions: read side by side and merged in the order of row keys.

use std::collections::BTreeSet;

use anyhow::Result;
use futures_util::TryStreamExt;
use table_runtime::{
    BoxedRows, Copied, Error, Query, TableEntity, Tables,
    backend::Backend as _,
    cost::{AtMost, FanOut},
    error::ParseCursorError,
};
use tests::stores::Store;

use crate::fixtures::at;

crate::conformance! {
    rows_of_all_partitions_come_in_one_order
    a_query_takes_the_parts_before_the_hash
    equal_row_keys_come_in_the_order_of_the_partitions
    pages_of_a_fan_out_continue_after_their_cursor
    a_fan_out_refuses_a_cursor_of_another_query
    an_index_may_have_hash_partitions
    lists_in_hash_partitions_are_read_in_pages
    a_fan_out_takes_one_request_for_each_partition
    explain_describes_a_fan_out
    a_folded_value_has_one_partition
    one_of_the_hash_partitions_is_read
    a_hash_partition_has_cursors_of_its_own
}

/// Entity whose partition is a hash of the row key's field.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Devices")]
#[index(owners, partition(owner(hash = 4)), row(owner))]
#[index(places, partition(color(hash = 8)), row(place), copy)]
struct Device {
    #[partition_key]
    tenant: String,
    #[partition_key(hash = 16)]
    #[row_key]
    id: u32,
    owner: String,
    place: u32,
    #[index(color, same_partition, list)]
    color: String,
}

impl Device {
    fn new(id: u32) -> Self {
        let color = if id.is_multiple_of(3) { "red" } else { "blue" }.to_owned();
        Self { tenant: "acme".to_owned(), id, owner: format!("owner {}", id % 7), place: 1_000 - id, color }
    }
}

/// Entity whose partition is a hash of another field, so that rows of several partitions may have the same row key.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Events")]
struct Event {
    #[partition_key(hash = 8)]
    source: u32,
    #[row_key(reverse_time)]
    at: std::time::SystemTime,
    level: u32,
}

async fn devices(tables: &Tables, count: u32) -> Result<()> {
    tables.create::<Device>().await?;
    for id in 0..count {
        tables.insert(&Device::new(id)).await?;
    }
    Ok(())
}

async fn events(tables: &Tables, sources: u32, times: u32) -> Result<()> {
    tables.create::<Event>().await?;
    let events = (0..times).flat_map(|time| {
        (0..sources).map(move |source| Event { source, at: at(time).into(), level: (source + time) % 5 })
    });
    tables.upsert_all(events).await?;
    Ok(())
}

async fn rows_of_all_partitions_come_in_one_order(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 40).await?;
    let all = Device::by_key("acme").all(tables).await?;
    assert_eq!(all.iter().map(|device| device.id).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    assert!(all.iter().zip(0..).all(|(device, id)| *device == Device::new(id)));
    let streamed: Vec<_> = Device::by_key("acme").stream(tables).map_ok(|device| device.id).try_collect().await?;
    assert_eq!(streamed, (0..40).collect::<Vec<_>>());
    assert_eq!(Device::by_key("acme").first(tables).await?.map(|device| device.id), Some(0));
    assert_eq!(Device::by_key("acme").count(tables).await?, 40);
    assert_eq!(Device::by_key("acme").take(7).count(tables).await?, 7);
    let ids = |devices: Vec<table_runtime::Stored<Device>>| devices.iter().map(|device| device.id).collect::<Vec<_>>();
    assert_eq!(ids(Device::by_key("acme").range(5..9).all(tables).await?), [5, 6, 7, 8]);
    assert_eq!(ids(Device::by_key("acme").range(5..).take(2).all(tables).await?), [5, 6]);
    let filtered = Device::by_key("acme").filter(|device| device.place.lt(965));
    assert_eq!(ids(filtered.all(tables).await?), [36, 37, 38, 39]);
    // A value determines its partition.
    let one = Device::by_key("acme").eq(17).get(tables).await?;
    assert_eq!(one.map(|device| device.id), Some(17));
    Ok(())
}

async fn a_query_takes_the_parts_before_the_hash(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 10).await?;
    // One name is the beginning of another, and one contains the delimiter of parts.
    for tenant in ["acme 0", "acm", ""] {
        tables.insert(&Device { tenant: tenant.to_owned(), ..Device::new(3) }).await?;
        assert_eq!(Device::by_key(tenant).count(tables).await?, 1, "{tenant:?}");
    }
    assert_eq!(Device::by_key("acme").count(tables).await?, 10);
    assert_eq!(Device::by_key("nobody").all(tables).await?.len(), 0);
    Ok(())
}

async fn equal_row_keys_come_in_the_order_of_the_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    // Sources in the same partition overwrite each other.
    events(tables, 20, 3).await?;
    let all = Event::by_key().all(tables).await?;
    let times: Vec<_> = all.iter().map(|event| event.at).collect();
    assert!(times.is_sorted_by(|earlier, later| earlier >= later), "newest first");
    let distinct: BTreeSet<_> = times.iter().collect();
    assert_eq!(distinct.len(), 3);
    let of_time: Vec<Vec<u32>> = all
        .chunk_by(|left, right| left.at == right.at)
        .map(|rows| rows.iter().map(|row| row.source).collect())
        .collect();
    assert!(of_time[0].len() > 1 && of_time.windows(2).all(|pair| pair[0] == pair[1]), "{of_time:?}");
    for size in 1..=all.len() {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Event::by_key().page(tables, size, cursor.as_deref()).await?;
            found.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "pages of {size}");
    }
    Ok(())
}

async fn pages_of_a_fan_out_continue_after_their_cursor(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 30).await?;
    let query = || Device::by_key("acme").range(2..);
    let first = query().page(tables, 5, None).await?;
    assert_eq!(first.entities.iter().map(|device| device.id).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    // The cursor's own row and rows before and after it are deleted; one is inserted.
    for id in [4, 6, 7, 9] {
        tables.remove(Device::key("acme", id)).await?;
    }
    tables.insert(&Device::new(100)).await?;
    let rest = query().page(tables, 100, first.next.as_deref()).await?;
    let expected: Vec<_> = [8].into_iter().chain(10..30).chain([100]).collect();
    assert_eq!(rest.entities.iter().map(|device| device.id).collect::<Vec<_>>(), expected);
    assert_eq!(rest.next, None);
    let limited = || Device::by_key("acme").take(7);
    let first = limited().page(tables, 5, None).await?;
    let second = limited().page(tables, 5, first.next.as_deref()).await?;
    assert_eq!((first.entities.len(), second.entities.len(), second.next), (5, 2, None));
    Ok(())
}

async fn a_fan_out_refuses_a_cursor_of_another_query(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 20).await?;
    let cursor = Device::by_key("acme").page(tables, 3, None).await?.next;
    assert!(cursor.as_ref().is_some_and(|cursor| cursor.len() < 120), "it does not grow with the partitions");
    store.probe.requests();
    let others = [Device::by_key("acm").range(0..), Device::by_key("acme").range(1..)];
    for other in others {
        let error = other.page(tables, 3, cursor.as_deref()).await.expect_err("another query");
        assert!(matches!(error, Error::Cursor(ParseCursorError::OtherQuery)), "{error}");
    }
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn an_index_may_have_hash_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 30).await?;
    // Pointers are merged, then their entities are read.
    let owned = Device::by_owners().all(tables).await?;
    assert_eq!(owned.len(), 30);
    assert!(owned.is_sorted_by(|left, right| left.owner <= right.owner));
    assert_eq!(Device::by_owners().count(tables).await?, 30);
    assert_eq!(Device::by_owners().eq("owner 3").count(tables).await?, 4);
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let page = Device::by_owners().page(tables, 4, cursor.as_deref()).await?;
        paged.extend(page.entities);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, owned);
    let filtered = Device::by_owners().filter(|device| device.place.gt(990)).all(tables).await?;
    assert_eq!(filtered.len(), 10);
    // Copies are merged.
    let copies = Device::by_places().take(3).all(tables).await?;
    assert_eq!(copies.iter().map(|copy: &Copied<Device>| copy.id).collect::<Vec<_>>(), [29, 28, 27]);
    Ok(())
}

async fn lists_in_hash_partitions_are_read_in_pages(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 48).await?;
    let red = Device::by_color("acme").eq("red").all(tables).await?;
    assert_eq!(red.len(), 16);
    assert!(red.iter().all(|device| device.color == "red"));
    for size in [1, 2, 3, 5] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Device::by_color("acme").eq("red").page(tables, size, cursor.as_deref()).await?;
            found.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, red, "pages of {size}");
    }
    Ok(())
}

async fn a_fan_out_takes_one_request_for_each_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 30).await?;
    store.probe.requests();
    let expect = |what: &str, requests: usize| assert_eq!(store.probe.requests(), requests, "{what}");
    // A store in this process is asked for few rows of each partition, and again where a partition has more.
    let expect_shares = |what: &str| {
        if store.shared.describe().may_lose_answers {
            expect(what, 16);
        } else {
            assert!((16..32).contains(&store.probe.requests()), "{what}");
        }
    };
    Device::by_key("acme").take(10).all(tables).await?;
    expect_shares("take");
    Device::by_key("acme").all(tables).await?;
    expect("all", 16);
    Device::by_key("acme").first(tables).await?;
    expect_shares("first");
    Device::by_key("acme").count(tables).await?;
    expect("count", 16);
    Device::by_key("acme").take(0).all(tables).await?;
    expect("nothing", 0);
    Device::by_key("acme").page(tables, 5, None).await?;
    expect_shares("page");
    Device::by_key("acme").eq(7).get(tables).await?;
    expect("get", 1);
    Ok(())
}

async fn explain_describes_a_fan_out(_: &Store) -> Result<()> {
    fn bounded(query: &impl Query<Cost: AtMost<FanOut<16>>>) -> String {
        query.explain().to_string()
    }
    assert_eq!(
        bounded(&Device::by_key("acme").range(5..).take(10)),
        "fan-out over 16 of Devices, first 10, 16 requests at least: \
         PartitionKey eq 'acme {00..15}' and RowKey ge 'id-0000000005' and RowKey lt 'id.'"
    );
    assert_eq!(bounded(&Event::by_key()), "fan-out over 8 of Events, 8 requests at least: PartitionKey eq '{0..7}'");
    let one = Device::by_key("acme").eq(5).explain();
    assert_eq!((one.cost(), one.requests()), ("point", 1));
    Ok(())
}

/// Entity whose partition is a hash of the folded row key.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
#[index(city, partition(city(hash = 16, lowercase)), row(city(lowercase)))]
#[index(mail, partition(mail(hash = 16, lowercase)), row(mail(lowercase)), unique)]
struct Member {
    #[partition_key(hash = 16, lowercase)]
    #[row_key(lowercase)]
    name: String,
    city: String,
    mail: String,
}

async fn a_folded_value_has_one_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    let member =
        |name: &str, city: &str, mail: &str| Member { name: name.into(), city: city.into(), mail: mail.into() };
    for (number, city) in ["Bonn", "BONN", "bonn", "bOnN"].into_iter().enumerate() {
        tables.insert(&member(&format!("Member {number}"), city, &format!("{number}@x.org"))).await?;
    }
    for spelled in ["Bonn", "BONN", "bonn", "bONN"] {
        assert_eq!(Member::by_city().eq(spelled).count(tables).await?, 4, "{spelled}");
    }
    for spelled in ["member 1", "MEMBER 1", "Member 1"] {
        let by_eq = Member::by_key().eq(spelled).get(tables).await?;
        assert_eq!(by_eq, Member::key(spelled).get(tables).await?);
        assert_eq!(by_eq.map(|member| member.mail.clone()).as_deref(), Some("1@x.org"), "{spelled}");
    }
    for spelled in ["1@x.org", "1@X.ORG"] {
        let taken = tables.insert(&member("another", "Bern", spelled)).await;
        assert!(matches!(taken, Err(Error::UniqueViolation(_))), "{taken:?}");
        assert!(Member::by_mail().eq(spelled).exists(tables).await?);
    }
    Ok(())
}

/// Returns all results in pages.
async fn paged<T: Send + 'static>(tables: &Tables, query: impl Fn() -> BoxedRows<T>, size: usize) -> Result<Vec<T>> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = query().page(tables, size, cursor.as_deref()).await?;
        found.extend(page.entities);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Checks that the partitions have the results of the query, each one in the order of the query.
async fn check_partitions<T: Send + Clone + PartialEq + std::fmt::Debug + 'static>(
    store: &Store,
    all: &BoxedRows<T>,
    partitions: &[BoxedRows<T>],
) -> Result<()> {
    let tables = &store.tables;
    let mut left = all.clone().all(tables).await?;
    assert!(left.len() > 2 * partitions.len());
    for partition in partitions {
        let explain = partition.explain();
        assert_eq!((explain.partitions(), explain.requests()), (Some(1), 1), "{explain}");
        let found = partition.clone().all(tables).await?;
        assert!(!found.is_empty());
        assert_eq!(partition.clone().count(tables).await?, found.len());
        assert_eq!(partition.clone().take(2).all(tables).await?, found[..found.len().min(2)]);
        assert_eq!(partition.clone().first(tables).await?.as_ref(), found.first());
        for size in [1, 3, 100] {
            assert_eq!(paged(tables, || partition.clone(), size).await?, found, "pages of {size}");
        }
        let mut found = found.into_iter();
        let mut next = found.next();
        left.retain(|row| {
            let is_next = next.as_ref() == Some(row);
            if is_next {
                next = found.next();
            }
            !is_next
        });
        assert_eq!(next, None, "it is in no other partition, and in order");
    }
    assert_eq!(left, []);
    Ok(())
}

async fn one_of_the_hash_partitions_is_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 60).await?;
    let boxed = |count: usize, partition: &dyn Fn(usize) -> BoxedRows<_>| (0..count).map(partition).collect::<Vec<_>>();
    let key = || Device::by_key("acme");
    let keys = boxed(16, &|number| key().hash_partition(number).boxed());
    check_partitions(store, &key().boxed(), &keys).await?;
    let ranges = boxed(16, &|number| key().hash_partition(number).range(10..).boxed());
    check_partitions(store, &key().range(10..).boxed(), &ranges).await?;
    let ranges = boxed(16, &|number| key().range(10..).hash_partition(number).boxed());
    check_partitions(store, &key().range(10..).boxed(), &ranges).await?;
    let filtered = || key().filter(|device| device.place.lt(995));
    let partitions = boxed(16, &|number| filtered().hash_partition(number).boxed());
    check_partitions(store, &filtered().boxed(), &partitions).await?;
    // An index, whose rows point to the entities.
    let owners = || Device::by_owners().starts_with("owner");
    let partitions = boxed(4, &|number| owners().hash_partition(number).boxed());
    check_partitions(store, &Device::by_owners().boxed(), &partitions).await?;
    // Copies.
    let copies: Vec<_> = (0..8).map(|number| Device::by_places().hash_partition(number).count(tables)).collect();
    assert_eq!(futures_util::future::try_join_all(copies).await?.iter().sum::<usize>(), 60);

    // A full key is in one of them.
    let (mut found, expected) = (Vec::new(), key().eq(17).get(tables).await?);
    for number in 0..16 {
        found.extend(key().hash_partition(number).eq(17).all(tables).await?);
    }
    assert!(found.iter().eq(&expected), "{found:?}");

    store.probe.requests();
    assert_eq!(key().hash_partition(3).all(tables).await?.iter().filter(|device| device.tenant != "acme").count(), 0);
    assert_eq!(store.probe.requests(), 1);
    for number in [16, 17, usize::MAX] {
        let query = key().hash_partition(number);
        assert!(query.explain().problem().is_some(), "{}", query.explain());
        let error = query.all(tables).await.expect_err("there is no such partition");
        assert!(matches!(error, Error::Query(_)), "{error}");
        assert!(error.to_string().contains("from 0 to 15"), "{error}");
    }
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_hash_partition_has_cursors_of_its_own(store: &Store) -> Result<()> {
    let tables = &store.tables;
    devices(tables, 60).await?;
    let partition = |number| Device::by_owners().hash_partition(number).boxed();
    let mut queries: Vec<_> = (0..4).map(partition).collect();
    queries.push(Device::by_owners().boxed());
    for (from, query) in queries.iter().enumerate() {
        let cursor = query.clone().page(tables, 2, None).await?.next;
        assert!(cursor.is_some(), "{from}");
        for (to, query) in queries.iter().enumerate() {
            let page = query.clone().page(tables, 2, cursor.as_deref()).await;
            let is_refused = matches!(page, Err(Error::Cursor(ParseCursorError::OtherQuery)));
            assert_eq!(is_refused, from != to, "a cursor of query {from} for query {to}");
        }
    }
    Ok(())
}
