//! Jobs over tables with events: what they check, keep, leave out and delete.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use futures_util::TryStreamExt as _;
use table_runtime::{
    Error, Guid, TableEntity, Tables,
    backend::{Action, IfMatch},
    jobs::Finding,
    transfer::Selection,
};
use tests::stores::Store;

use super::fixtures::{Entry, Order, Reading, events, marks};
use crate::{
    fixtures::findings,
    lifecycle::{clocked, start},
};

crate::conformance! {
    an_event_without_a_mark_is_found_and_repaired
    the_mark_of_a_failed_event_is_repaired
    the_marks_of_slices_are_repaired
    a_verification_of_some_partitions_reads_their_marks_alone
    slices_with_events_are_dropped_only_if_asked
    moved_entities_with_events_are_dropped_only_if_asked
    a_dump_and_a_copy_leave_out_events_unless_asked
    the_events_of_a_recorded_entity_need_no_type
    events_are_optional_again
}

/// `Reading` in another table.
#[derive(TableEntity, Clone)]
#[table(name = "Measurements", events)]
struct Measurement {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: String,
    value: i32,
}

impl From<Reading> for Measurement {
    fn from(Reading { sensor, number, value }: Reading) -> Self {
        Self { sensor, number, value }
    }
}

/// `Reading` in a program without events.
#[derive(TableEntity, Clone)]
#[table(name = "Readings", entity = "Reading")]
struct Unrecorded {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: String,
    value: i32,
}

fn day(number: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number)
}

fn entry(number: u64) -> Entry {
    Entry { service: "a b".into(), at: day(number), text: format!("{number}") }
}

/// Deletes all marks, as no program does.
async fn lose_marks(store: &Store) -> Result<Vec<(String, String)>> {
    let lost = marks(store).await?;
    for (partition_key, row_key) in &lost {
        store.write("TableEvents", (partition_key, row_key), Action::Delete(IfMatch::Any)).await?;
    }
    Ok(lost)
}

/// Returns the number of events that are delivered.
async fn delivered<E: table_runtime::types::HasEvents>(tables: &Tables) -> Result<usize> {
    Ok(tables.relay::<E>().deliver_once(async |_| Ok::<_, std::io::Error>(())).await?.delivered)
}

/// Puts the only event of the orders aside, and returns its id.
async fn put_aside(tables: &Tables) -> Result<Guid> {
    let relay = tables.relay::<Order>().attempts(1);
    assert_eq!(relay.deliver_once(async |_| Err::<(), _>("broken")).await?.failed, 1);
    let failed = tables.relay::<Order>().failed().await?;
    Ok(failed.first().context("a failed event")?.id())
}

async fn an_event_without_a_mark_is_found_and_repaired(store: &Store) -> Result<()> {
    let tables = store.again();
    tables.create::<Order>().and::<Reading>().await?;
    for (shop, number) in [("a/b", 1), ("a/b", 2), ("c", 3)] {
        tables.insert(&Order { shop: shop.into(), ..Order::new(number) }).await?;
    }
    tables.insert(&Reading::new(1)).await?;
    assert_eq!(findings::<Order>(store).await?, []);

    let lost = lose_marks(store).await?;
    assert_eq!(lost.len(), 3);
    let first = events(store, "Orders").await?;
    let found = findings::<Order>(store).await?;
    assert_eq!(found.len(), 2, "one for each partition: {found:?}");
    for (found, event) in found.iter().zip([&first[0], &first[2]]) {
        let Finding::UnmarkedEvent { event: row, mark } = found else { panic!("{found:?}") };
        assert_eq!((&*row.table, &*row.row_key), ("Orders", &*event.row.row_key));
        assert!(lost.contains(&(mark.partition_key.clone(), mark.row_key.clone())), "{mark}");
        assert_eq!((&*mark.table, &mark.row_key), ("TableEvents", &row.partition_key));
        assert_eq!((found.index(), found.entity()), (None, None));
        assert!(found.to_string().contains("no relay finds it"), "{found}");
    }
    assert_eq!(delivered::<Order>(&store.again()).await?, 0, "no relay finds them");

    let repaired = store.again().repair::<Order>().await?;
    assert_eq!((repaired.fixed, repaired.left), (found, vec![]));
    assert_eq!(findings::<Order>(store).await?, []);
    assert_eq!(findings::<Reading>(store).await?.len(), 1, "those of another entity");
    assert_eq!(store.again().repair::<Reading>().await?.fixed.len(), 1);
    let mut found = marks(store).await?;
    found.sort();
    assert_eq!(found, lost);
    assert_eq!(delivered::<Order>(&store.again()).await?, 3);
    assert_eq!(delivered::<Reading>(&store.again()).await?, 1);
    Ok(())
}

async fn the_mark_of_a_failed_event_is_repaired(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let id = put_aside(&tables).await?;
    assert_eq!(findings::<Order>(store).await?, []);
    lose_marks(store).await?;
    assert_eq!(tables.relay::<Order>().failed().await?.len(), 0, "its mark is lost");
    let found = findings::<Order>(store).await?;
    assert!(matches!(&*found, [Finding::UnmarkedEvent { mark, .. }] if mark.partition_key == "orders Order failed"));
    assert_eq!(tables.repair::<Order>().await?.fixed, found);
    // The first handle relies on a mark that is lost.
    let tables = store.again();
    assert!(tables.relay::<Order>().retry(id).await?);
    assert_eq!(delivered::<Order>(&tables).await?, 1);
    Ok(())
}

async fn the_marks_of_slices_are_repaired(store: &Store) -> Result<()> {
    let tables = store.again();
    tables.create::<Entry>().await?;
    for number in [0, 1, 40] {
        tables.insert(&entry(number)).await?;
    }
    let lost = lose_marks(store).await?;
    assert_eq!(lost.iter().map(|(_, row_key)| &**row_key).collect::<Vec<_>>(), ["197001 a b", "197002 a b"]);
    assert_eq!(findings::<Entry>(store).await?.len(), 2);
    assert_eq!(store.again().repair::<Entry>().await?.fixed.len(), 2);
    assert_eq!(marks(store).await?, lost);
    assert_eq!(delivered::<Entry>(&store.again()).await?, 3);
    Ok(())
}

async fn a_verification_of_some_partitions_reads_their_marks_alone(store: &Store) -> Result<()> {
    let tables = store.again();
    tables.create::<Order>().await?;
    for (shop, number) in [("a", 1), ("b", 2), ("c", 3)] {
        tables.insert(&Order { shop: shop.into(), ..Order::new(number) }).await?;
    }
    lose_marks(store).await?;
    let found = tables.verify::<Order>().partitions("b".."c").all().await?;
    assert!(matches!(&*found, [Finding::UnmarkedEvent { event, .. }] if event.partition_key == "b"), "{found:?}");
    assert_eq!(store.again().repair::<Order>().partitions("b"..).await?.fixed.len(), 2);
    assert_eq!(findings::<Order>(store).await?.len(), 1);
    Ok(())
}

async fn slices_with_events_are_dropped_only_if_asked(store: &Store) -> Result<()> {
    let tables = store.again();
    tables.create::<Entry>().await?;
    for number in [0, 40, 70] {
        tables.insert(&entry(number)).await?;
    }
    let error = tables.drop_slices::<Entry>(..day(365)).await.expect_err("the first slice has an event");
    let Error::Query(error) = &error else { panic!("{error}") };
    assert!(error.problem.contains("Log197001") && error.problem.contains(".discarding_events()"), "{error}");
    assert_eq!(tables.slices::<Entry>().await?.len(), 3);

    assert_eq!(delivered::<Entry>(&tables).await?, 3);
    tables.upsert(&entry(71)).await?;
    // The slices before the one with an event are dropped.
    let mut names = Vec::new();
    let dropping = tables.drop_slices::<Entry>(..day(365)).progress(|slice| names.push(slice.table.clone()));
    assert!(matches!(dropping.await, Err(Error::Query(error)) if error.problem.contains("Log197003")));
    assert_eq!(names, ["Log197001", "Log197002"]);
    let dropped = tables.drop_slices::<Entry>(..day(365)).discarding_events().await?;
    assert_eq!(dropped.iter().map(|slice| &*slice.table).collect::<Vec<_>>(), ["Log197003"]);
    // Relays find the mark, and no event.
    assert_eq!(delivered::<Entry>(&tables).await?, 0);
    assert_eq!(findings::<Entry>(store).await?, []);
    Ok(())
}

async fn moved_entities_with_events_are_dropped_only_if_asked(store: &Store) -> Result<()> {
    let tables = store.again().with_lease(Duration::from_millis(50));
    tables.create::<Reading>().and::<Order>().await?;
    for number in 1..=3 {
        tables.insert(&Reading::new(number)).await?;
    }
    tables.insert(&Order::new(1)).await?;
    tables.migrate::<Reading, Measurement>().await?;
    let new = store.again();
    new.create::<Measurement>().await?;
    // A migration changes no entity.
    assert_eq!(events(store, "Measurements").await?.len(), 0);
    let error = new.drop_moved::<Reading>().await.expect_err("it has events");
    assert!(matches!(&error, Error::Query(error) if error.problem.contains("~~event-Reading")), "{error}");
    assert_eq!(events(store, "Readings").await?.len(), 3);

    let dropped = new.drop_moved::<Reading>().discarding_events().await?;
    assert_eq!(dropped.tables, ["Readings"]);
    assert_eq!(dropped.rows, 3 + 3 + 1, "the entities, their events, and the mark of these");
    let left = marks(store).await?;
    assert!(matches!(&*left, [(bucket, _)] if bucket.starts_with("orders Order ")), "{left:?}");
    assert_eq!(new.drop_moved::<Reading>().await?.rows, 0);
    assert_eq!(delivered::<Order>(&new).await?, 1);
    Ok(())
}

async fn a_dump_and_a_copy_leave_out_events_unless_asked(store: &Store) -> Result<()> {
    let tables = store.again().with_prefix("from1");
    tables.create::<Order>().and::<Entry>().await?;
    for number in 1..=2 {
        tables.insert(&Order::new(number)).await?;
    }
    tables.insert(&entry(0)).await?;
    let with_events = || Selection::all().with_events();
    let (mut without, mut all) = (Vec::new(), Vec::new());
    let rows = tables.dump(&mut without).await?;
    let all_rows = tables.dump(&mut all).rows(with_events()).await?;
    assert_eq!(all_rows, rows + 3 + 2, "three events in two partitions");
    let (text, all_text) = (String::from_utf8(without.clone())?, String::from_utf8(all.clone())?);
    assert!(!text.contains("~~event") && text.contains(r#""EventAt""#), "{text}");
    assert_eq!(all_text.matches("~~event").count(), 3);
    let streamed: Vec<Vec<u8>> = tables.dump_stream().try_collect().await?;
    assert!(streamed.concat().len() == without.len() && !String::from_utf8(streamed.concat())?.contains("~~event"));

    // Neither are they in the dump of all tenants.
    let mut of_tenants = Vec::new();
    assert_eq!(store.again().dump(&mut of_tenants).await?, rows);
    assert!(String::from_utf8(of_tenants)?.contains(r#"{"@table":"from1TableEvents"}"#));

    for (prefix, events, selection) in [("one1", 0, Selection::all()), ("two1", 3, with_events())] {
        let copied = store.again().with_prefix(prefix);
        assert_eq!(tables.copy_to(&copied).rows(selection).await?.rows, if events == 0 { rows } else { all_rows });
        copied.create::<Order>().and::<Entry>().await?;
        assert_eq!(Order::by_key("shop").count(&copied).await?, 2);
        assert_eq!(copied.verify::<Order>().all().await?, []);
        let counts = (delivered::<Order>(&copied).await?, delivered::<Entry>(&copied).await?);
        assert_eq!(counts.0 + counts.1, events);
        // It goes on to record events.
        copied.insert(&Order::new(7)).await?;
        assert_eq!(delivered::<Order>(&copied).await?, 1);
    }
    let loaded = store.again().with_prefix("three1");
    loaded.load(&without[..]).await?;
    loaded.create::<Order>().await?;
    loaded.insert(&Order::new(7)).await?;
    assert_eq!(delivered::<Order>(&loaded).await?, 1);
    loaded.load(&all[..]).await?;
    assert_eq!(delivered::<Order>(&loaded).await?, 2);
    Ok(())
}

async fn the_events_of_a_recorded_entity_need_no_type(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Order>().and::<Unrecorded>().await?;
    tables.insert(&Order::new(1)).await?;
    let id = put_aside(&tables).await?;
    tables.insert(&Order::new(2)).await?;
    let inventory = tables.inventory().await?;
    let entity = |name: &str| inventory.entities.iter().find(|entity| entity.name == name).expect("it is recorded");
    assert!(entity("Reading").events_in(&tables).is_none());
    let recorded = entity("Order").events_in(&tables).expect("it has events");
    assert_eq!(recorded.waiting().await?, 1);
    let failed = recorded.failed().await?;
    let [failed] = &*failed else { panic!("{failed:?}") };
    assert_eq!((failed.id, failed.attempts, &*failed.row.partition_key), (id, 1, "shop"));
    assert_eq!(failed.change, Some(table_runtime::events::EventChange::Inserted));
    assert!(failed.at.to_system().is_some_and(|at| at >= start()));
    assert!(recorded.retry(id).await? && !recorded.retry(id).await?);
    assert_eq!((recorded.waiting().await?, recorded.failed().await?.len()), (2, 0));
    assert_eq!(delivered::<Order>(&tables).await?, 2);

    tables.insert(&Order::new(3)).await?;
    let id = put_aside(&tables).await?;
    assert!(recorded.discard(id).await? && !recorded.discard(id).await?);
    assert_eq!((recorded.waiting().await?, recorded.failed().await?.len()), (0, 0));
    Ok(())
}

async fn events_are_optional_again(store: &Store) -> Result<()> {
    let tables = store.again().with_lease(Duration::from_millis(50));
    tables.create::<Reading>().await?;
    let inventory = tables.inventory().await?;
    let recorded = inventory.entities[0].events_in(&tables).expect("it has events");
    assert!(!recorded.make_optional().await?, "they were not required");
    tables.require_events::<Reading>().await?;
    assert!(tables.inventory().await?.entities[0].requires_events);
    assert!(store.again().create::<Unrecorded>().await.is_err());

    assert!(recorded.make_optional().await? && !recorded.make_optional().await?);
    assert!(!tables.inventory().await?.entities[0].requires_events);
    let plain = store.again();
    plain.create::<Unrecorded>().await?;
    plain.insert(&Unrecorded { sensor: "a".into(), number: "1".into(), value: 1 }).await?;
    tables.insert(&Reading::new(2)).await?;
    assert_eq!(events(store, "Readings").await?.len(), 1);
    // They can be required once more.
    tables.require_events::<Reading>().await?;
    assert!(store.again().create::<Unrecorded>().await.is_err());
    Ok(())
}
