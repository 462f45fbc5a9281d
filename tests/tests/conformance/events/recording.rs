//! What writes record, and in which rows.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Action, IfMatch},
    error::RowNow,
    row::{Properties, ValueRef},
    testing::{Clocked, Counting, PartitionReach},
};
use tests::{far::Far, stores::Store};

use super::fixtures::{Entry, Order, Reading, event_at, events, marks, named, shown};
use crate::{
    fixtures::findings,
    lifecycle::{at, clocked},
};

crate::conformance! {
    the_rows_of_an_event_and_of_its_mark
    each_verb_records_what_it_did
    the_events_of_an_entity_are_in_the_order_of_its_writes
    an_entity_that_has_expired_is_deleted_before_another_takes_its_place
    a_deletion_and_an_insert_in_one_transaction_are_a_change
    entities_with_rows_in_other_partitions_record_events
    bulk_writes_record_events
    nothing_is_recorded_for_a_write_that_fails
    a_copy_that_does_not_fit_is_refused_and_that_of_a_deletion_left_out
    a_sliced_entity_has_its_events_in_the_slice
    jobs_record_no_events
    writes_take_these_requests
    the_marks_of_a_bucket_are_written_together
    a_lost_answer_is_proved_by_the_event
    a_commit_whose_answer_is_lost_is_fenced
    a_sweep_of_the_bin_records_deletions
    an_entity_that_was_changed_since_is_removed
    the_copies_of_many_deletions_are_left_out_if_they_do_not_fit
}

async fn the_rows_of_an_event_and_of_its_mark(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    time.set(at(60));
    tables.create::<Order>().and::<Reading>().await?;
    tables.insert(&Order::new(7)).await?;
    tables.insert(&Reading::new(1)).await?;

    let found = events(store, "Orders").await?;
    let [event] = &*found else { panic!("{found:?}") };
    assert_eq!(event.row.partition_key, "shop");
    assert_eq!(event.entity, "Order");
    assert_eq!(event.at.to_system(), Some(at(60)), "the time of the write");
    let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // The partition key is that of the entity, so the fields of the row key lead to it.
    let expected = [
        property("Customer", "'customer 7'"),
        property("EventChange", "'Inserted'"),
        property("EventKind", "'Order'"),
        property("IndexedEntityNumber", "7L"),
        property("Note", "'new'"),
    ];
    assert_eq!(named(&event.row.properties), expected);
    let rows = store.rows("Orders").await?;
    let own = rows.iter().find(|row| row.row_key == "number-0000000007").expect("the entity");
    assert_eq!(event_at(own), Some(event.at.get()));

    let found = events(store, "Readings").await?;
    let expected = [property("EventChange", "'Inserted'"), property("IndexedEntityNumber", "'1'")];
    assert_eq!(named(&found[0].row.properties), expected, "no copy");
    // XXH3-64 of "shop" and of "a", of 16.
    let expected = [("orders Order 09", "shop"), ("readings Reading 15", "a")];
    assert_eq!(marks(store).await?, expected.map(|(bucket, key)| (bucket.to_owned(), key.to_owned())));
    Ok(())
}

async fn each_verb_records_what_it_did(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Order>().await?;
    let key = || Order::key("shop", 1);
    let note = |note: &str| Order { note: note.to_owned(), ..Order::new(1) };
    tables.upsert(&note("upsert new")).await?;
    tables.upsert(&note("upsert")).await?;
    tables.merge(&note("merge")).await?;
    let mut stored = key().get(&tables).await?.expect("it was inserted");
    stored.note = "update".into();
    tables.update(&mut stored).await?;
    tables.modify(key(), |order| order.note = "modify".into()).await?;
    tables.modify_or_insert(&Order::new(1), |order| order.note = "modify or insert".into()).await?;
    // It is there, so nothing is written.
    assert!(!tables.get_or_insert(&note("get or insert")).await?.1);
    let etag = tables.patch(key(), |order| [order.note.set("patch")]).await?;
    tables.patch_if(key(), &etag, |order| [order.note.set("patch if")]).await?;
    time.set(at(5));
    assert!(tables.soft_delete(key()).await?);
    tables.restore(key()).await?;
    let stored = key().get(&tables).await?.expect("it is there");
    tables.delete(&stored).await?;
    time.set(at(6));
    tables.modify_or_insert(&note("inserted"), |_| {}).await?;
    assert!(tables.remove(key()).await?);
    assert!(!tables.remove(key()).await?, "there is none");
    time.set(at(7));
    let (_, is_new) = tables.get_or_insert(&note("got or inserted")).await?;
    assert!(is_new);
    let expected = [
        "Inserted upsert new",
        "Updated upsert",
        "Updated merge",
        "Updated update",
        "Updated modify",
        "Updated modify or insert",
        "Updated patch",
        "Updated patch if",
        "Updated patch if",
        "Updated patch if",
        "Deleted patch if",
        "Inserted inserted",
        "Deleted inserted",
        "Inserted got or inserted",
    ];
    assert_eq!(shown(store, "Orders", "Note").await?, expected);
    Ok(())
}

async fn the_events_of_an_entity_are_in_the_order_of_its_writes(store: &Store) -> Result<()> {
    // Two programs, one with a clock that is late by an hour.
    let program = |time| {
        let (backend, time) = Clocked::new(store.backend.clone(), time);
        (Tables::new(backend), time)
    };
    let ((early, _), (late, _)) = (program(at(3600)), program(at(0)));
    early.create::<Reading>().await?;
    late.create::<Reading>().await?;
    early.insert(&Reading::new(1)).await?;
    for value in 1..20 {
        let tables = if value % 2 == 0 { &early } else { &late };
        tables.modify(Reading::key("a", "1"), |reading| reading.value = value).await?;
    }
    let found = events(store, "Readings").await?;
    assert_eq!(found.len(), 20);
    assert!(found.is_sorted_by(|one, other| one.at < other.at));
    assert_eq!(found[1].at.get(), found[0].at.get() + 1, "the later clock shows an earlier time");
    // A program without events has written the row over: the time of that write counts.
    let keys = ("a", "1");
    let mut plain = Properties::default();
    plain.push("Value", ValueRef::Int32(-1));
    store.write("Readings", keys, Action::Replace(plain, IfMatch::Any)).await?;
    let rows = store.rows("Readings").await?;
    let written = rows.iter().find(|row| row.row_key == "1").expect("the row").timestamp;
    let (past, _) = program(SystemTime::UNIX_EPOCH);
    past.create::<Reading>().await?;
    past.patch(Reading::key("a", "1"), |reading| [reading.value.set(0)]).await?;
    let after = events(store, "Readings").await?;
    assert!(after.iter().any(|event| event.at.get() == written.get() + 1));
    assert_eq!(after.len(), 21);
    Ok(())
}

async fn an_entity_that_has_expired_is_deleted_before_another_takes_its_place(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Order>().await?;
    let until = |number, note: &str| Order { note: note.to_owned(), until: Some(at(10)), ..Order::new(number) };
    tables.insert_all((1..6).map(|number| until(number, "first"))).await?;
    tables.insert(&Order { ticket: Some("T".into()), ..until(6, "first") }).await?;
    time.set(at(11));
    tables.insert(&until(1, "inserted")).await?;
    tables.upsert(&until(2, "upserted")).await?;
    assert!(tables.remove(Order::key("shop", 3)).await?);
    let patched = tables.patch(Order::key("shop", 4), |order| [order.note.set("x")]).await;
    assert!(matches!(patched, Err(Error::NotFound(_))), "for readers there is none");
    let fleeting = Order { until: Some(at(12)), ticket: Some("U".into()), ..Order::new(8) };
    tables.insert(&fleeting).await?;
    time.set(at(13));
    // On the service, these two are one write over the row.
    let again = Order { ticket: Some("V".into()), ..until(8, "again") };
    let again = Order { until: None, ..again };
    tables.transaction().remove(Order::key("shop", 8)).insert(&again).commit().await?;
    // It wants the value of one that has expired.
    tables.insert(&Order::with_ticket(7, "T")).await?;
    tables.sweep::<Order>().await?;
    let found = events(store, "Orders").await?;
    let of = |number: i64| {
        let of = found
            .iter()
            .filter(move |event| event.row.properties.get("IndexedEntityNumber") == Some(ValueRef::Int64(number)));
        of.map(|event| event.shown("Note")).collect::<Vec<_>>()
    };
    assert_eq!(of(1), ["Inserted first", "Expired first", "Inserted inserted", "Expired inserted"]);
    assert_eq!(of(2), ["Inserted first", "Expired first", "Inserted upserted", "Expired upserted"]);
    assert_eq!(of(3), ["Inserted first", "Expired first"]);
    assert_eq!(of(4), ["Inserted first", "Expired first"]);
    assert_eq!(of(6), ["Inserted first", "Expired first"]);
    assert_eq!(of(7), ["Inserted new"]);
    assert_eq!(of(8), ["Inserted new", "Expired new", "Inserted again"]);
    assert_eq!(findings::<Order>(store).await?, []);
    Ok(())
}

async fn a_deletion_and_an_insert_in_one_transaction_are_a_change(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    for ticket in [None, Some("T".to_owned())] {
        tables.insert(&Order::new(1)).await?;
        let stored = Order::key("shop", 1).get(tables).await?.expect("it was inserted");
        let again = Order { note: "again".into(), ticket: ticket.clone(), ..Order::new(1) };
        let other = Order { ticket, ..Order::new(2) };
        let other = Order { ticket: other.ticket.map(|ticket| ticket + "2"), ..other };
        tables.transaction().delete(&stored).insert(&again).insert(&other).commit().await?;
        let found = events(store, "Orders").await?;
        let last: Vec<_> = found.iter().rev().take(2).map(|event| (event.shown("Note"), event.at.get())).collect();
        let [(second, second_at), (first, first_at)] = &*last else { panic!("{last:?}") };
        assert_eq!((&**first, &**second), ("Updated again", "Inserted new"));
        assert_eq!(*second_at, first_at + 1, "in the order of the verbs");
        tables.remove_all([Order::key("shop", 1), Order::key("shop", 2)]).await?;
    }
    assert_eq!(events(store, "Orders").await?.len(), 2 * 5);
    Ok(())
}

async fn entities_with_rows_in_other_partitions_record_events(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    tables.insert(&Order::with_ticket(1, "A")).await?;
    tables.modify(Order::key("shop", 1), |order| order.ticket = Some("B".into())).await?;
    let taken = tables.insert(&Order::with_ticket(2, "B")).await;
    assert!(matches!(taken, Err(Error::UniqueViolation(_))));
    tables.insert_all((3..6).map(|number| Order::with_ticket(number, &format!("T{number}")))).await?;
    tables.remove(Order::key("shop", 1)).await?;
    let expected = ["Inserted 'A'", "Updated 'B'", "Inserted 'T3'", "Inserted 'T4'", "Inserted 'T5'", "Deleted 'B'"];
    let mut found: Vec<_> = shown(store, "Orders", "Ticket").await?;
    found[2..5].sort();
    assert_eq!(found, expected.map(|shown| shown.replace('\'', "")));
    assert_eq!(marks(store).await?.len(), 1);
    assert_eq!(findings::<Order>(store).await?, []);
    Ok(())
}

async fn bulk_writes_record_events(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    let reading = |number: u32| Reading { sensor: format!("s{}", number % 30), ..Reading::new(number) };
    tables.insert_all((0..120).map(reading)).await?;
    tables.upsert_all((60..150).map(|number| Reading { value: 1, ..reading(number) })).await?;
    tables.remove_all((0..30).map(|number| Reading::key(&format!("s{number}"), &number.to_string()))).await?;
    Reading::by_key("s7").delete_all(tables).await?;
    let found = events(store, "Readings").await?;
    let count = |change: &str| found.iter().filter(|event| event.shown("") == format!("{change} -")).count();
    assert_eq!((count("Inserted"), count("Updated"), count("Deleted")), (150, 60, 30 + 4));
    assert_eq!(marks(store).await?.len(), 30, "one for each partition");
    let ids: std::collections::BTreeSet<_> = found.iter().map(|event| event.row.row_key.clone()).collect();
    assert_eq!(ids.len(), found.len());
    Ok(())
}

async fn nothing_is_recorded_for_a_write_that_fails(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    let etag = tables.insert(&Order::with_ticket(1, "A")).await?;
    assert!(tables.insert(&Order::new(1)).await.is_err());
    assert!(tables.insert(&Order::with_ticket(2, "A")).await.is_err());
    tables.modify(Order::key("shop", 1), |order| order.note = "changed".into()).await?;
    let patched = tables.patch_if(Order::key("shop", 1), &etag, |order| [order.note.set("x")]).await;
    assert!(matches!(patched, Err(Error::ConditionNotMet(_))));
    let patched = tables.patch(Order::key("shop", 9), |order| [order.note.set("x")]).await;
    assert!(matches!(patched, Err(Error::NotFound(_))));
    let both = tables.transaction().insert(&Order::new(3)).insert(&Order::new(1)).commit().await;
    assert!(matches!(both, Err(Error::AlreadyExists(_))));
    assert_eq!(shown(store, "Orders", "Note").await?, ["Inserted new", "Updated changed"]);
    Ok(())
}

/// An entity that may be as large as a row.
#[derive(TableEntity, Clone)]
#[table(name = "Longs", events(copy))]
struct Long {
    #[partition_key]
    group: u32,
    #[row_key]
    id: String,
    #[property(large)]
    text: String,
    #[property(large)]
    more: String,
}

/// The same in a program without events.
#[derive(TableEntity, Clone)]
#[table(name = "Longs", entity = "Long")]
struct PlainLong {
    #[partition_key]
    group: u32,
    #[row_key]
    id: String,
    #[property(large)]
    text: String,
    #[property(large)]
    more: String,
}

async fn a_copy_that_does_not_fit_is_refused_and_that_of_a_deletion_left_out(store: &Store) -> Result<()> {
    let (tables, plain) = (&store.tables, store.again());
    tables.create::<Long>().await?;
    let id = || "k".repeat(500);
    let [text, more] = [480_000, 46_000].map(|units| "x".repeat(units));
    // The largest entity that fits, to a few units.
    let (mut low, mut high) = (0, more.len());
    while high - low > 4 {
        let units = usize::midpoint(low, high);
        let long = PlainLong { group: 1, id: id(), text: text.clone(), more: more[..units].to_owned() };
        *if plain.upsert(&long).await.is_ok() { &mut low } else { &mut high } = units;
    }
    assert!(low > 40_000 && high < more.len());
    assert_eq!(events(store, "Longs").await?.len(), 0);
    // The entity with the time of its event fits, and the event does not: it has the key as a property too.
    let long = Long { group: 1, id: id(), text, more: more[..low - 30].to_owned() };
    let refused = tables.upsert(&long).await;
    assert!(matches!(&refused, Err(Error::Limit(limit)) if limit.to_string().contains("~~event-Long")), "{refused:?}");
    // The deletion is recorded without the copy.
    assert!(tables.remove(Long::key(1, &id())).await?);
    let found = events(store, "Longs").await?;
    let names: Vec<_> = found[0].row.properties.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["EventChange", "IndexedEntityId"]);
    tables.insert(&Long { text: String::new(), ..long }).await?;
    assert_eq!(events(store, "Longs").await?.len(), 2);
    Ok(())
}

async fn a_sliced_entity_has_its_events_in_the_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Entry>().await?;
    let time = |month: &str| format!("2010-{month}-03T00:00:00Z").parse::<table_runtime::Ticks>();
    for month in ["05", "06"] {
        let at = time(month)?.to_system().expect("a time");
        tables.insert(&Entry { service: "web".into(), at, text: month.to_owned() }).await?;
    }
    assert_eq!(events(store, "Log201005").await?.len(), 1);
    assert_eq!(events(store, "Log201006").await?.len(), 1);
    let marks = marks(store).await?;
    let keys: Vec<_> = marks.iter().map(|(_, row_key)| &**row_key).collect();
    assert_eq!(keys, ["201005 web", "201006 web"]);
    assert_eq!(marks[0].0, marks[1].0, "the bucket is that of the partition key");
    Ok(())
}

async fn jobs_record_no_events(store: &Store) -> Result<()> {
    let tables = store.tables.with_lease(Duration::from_millis(10));
    tables.create::<Order>().await?;
    tables.insert_all((0..20).map(|number| Order::with_ticket(number, &format!("T{number}")))).await?;
    let before = events(store, "Orders").await?.len();
    assert_eq!(before, 20);
    let verified = tables.verify::<Order>().await?;
    assert_eq!(verified.entities, 20, "an event is no entity");
    tables.repair::<Order>().await?;
    tables.backfill::<Order>("ticket").await?;
    assert_eq!(events(store, "Orders").await?.len(), before);
    Ok(())
}

async fn writes_take_these_requests(store: &Store) -> Result<()> {
    let (tables, _, requests) = {
        let (backend, time) = Clocked::new(store.backend.clone(), at(0));
        let (backend, requests) = Counting::new(PartitionReach(backend));
        (Tables::new(backend), time, requests)
    };
    tables.create::<Reading>().and::<Order>().await?;
    requests.take();
    let expect = |what: &str, count: usize| assert_eq!(requests.take().total(), count, "{what}");
    tables.insert(&Reading::new(1)).await?;
    expect("the first insert of a partition: the mark, and the commit", 2);
    tables.insert(&Reading::new(2)).await?;
    expect("insert", 1);
    tables.upsert(&Reading::new(2)).await?;
    expect("upsert: the row is read", 2);
    let mut stored = Reading::key("a", "2").get(&tables).await?.expect("it is there");
    requests.take();
    tables.update(&mut stored).await?;
    expect("update: the row is read", 2);
    tables.patch(Reading::key("a", "2"), |reading| [reading.value.set(3)]).await?;
    expect("patch: the row is read", 2);
    tables.remove(Reading::key("a", "2")).await?;
    expect("remove: the row is read", 2);
    tables.transaction().insert(&Reading::new(3)).insert(&Reading::new(4)).commit().await?;
    expect("a transaction of inserts", 1);
    tables.insert(&Order::with_ticket(1, "A")).await?;
    expect("the first insert in steps: the mark, and three steps", 4);
    tables.insert(&Order::with_ticket(2, "B")).await?;
    expect("an insert in steps", 3);
    Ok(())
}

async fn the_marks_of_a_bucket_are_written_together(store: &Store) -> Result<()> {
    let (backend, requests) = Counting::new(Far::new(PartitionReach(store.backend.clone())));
    let tables = Tables::new(backend);
    tables.create::<Reading>().await?;
    requests.take();
    let reading = |number: u32| Reading { sensor: format!("s{number}"), ..Reading::new(0) };
    tables.insert_all((0..100).map(reading)).side_by_side(100).await?;
    let total = requests.take().total();
    assert!(
        (100 + 16..=100 + 2 * 16).contains(&total),
        "a request for the first of a bucket, and one for the rest: {total}"
    );
    assert_eq!(marks(store).await?.len(), 100);
    Ok(())
}

async fn a_lost_answer_is_proved_by_the_event(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert(&Reading::new(1)).await?;
    store.probe.apply_and_lose();
    tables.insert(&Reading::new(2)).await?;
    store.probe.apply_and_lose();
    tables.patch(Reading::key("a", "1"), |reading| [reading.value.set(5)]).await?;
    store.probe.apply_and_lose();
    assert!(tables.remove(Reading::key("a", "1")).await?);
    store.probe.lose();
    let lost = tables.insert(&Reading::new(3)).await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
    let found = shown(store, "Readings", "").await?;
    assert_eq!(found, ["Inserted -", "Inserted -", "Updated -", "Deleted -"]);
    // The events of a sliced entity are in its slice.
    tables.create::<Entry>().await?;
    let entry = |text: &str| Entry { service: "web".into(), at: at(0), text: text.into() };
    tables.insert(&entry("first")).await?;
    store.probe.apply_and_lose();
    tables.upsert(&entry("second")).await?;
    Ok(())
}

/// A commit whose answer is lost is fenced, so that it cannot be carried out later than a relay waits. The caller has the new
/// version.
async fn a_commit_whose_answer_is_lost_is_fenced(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    let before = tables.insert(&Order::new(1)).await?;
    let key = || Order::key("shop", 1);
    let mut stored = key().get(tables).await?.expect("it was inserted");
    stored.note = "update".into();
    store.probe.lose();
    let Err(Error::OutcomeUnknown(lost)) = tables.update(&mut stored).await else { panic!("it was lost") };
    let RowNow::Present(now) = &lost.now else { panic!("the row is there") };
    assert_ne!(now.etag, before, "it has another version");
    assert_eq!(*Stored::etag(&stored), now.etag);
    tables.update(&mut stored).await?;
    store.probe.lose();
    let lost = tables.transaction().insert(&Order::new(2)).update(&mut stored).commit().await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))));
    stored.note = "again".into();
    tables.update(&mut stored).await?;
    store.probe.lose();
    assert!(matches!(tables.remove(key()).await, Err(Error::OutcomeUnknown(_))));
    // Of a bulk write too.
    store.probe.lose();
    let Err(Error::Bulk(bulk)) = tables.remove_all([key()]).await else { panic!("it was lost") };
    assert!(matches!(*bulk.failures[0].error, Error::OutcomeUnknown(_)));
    assert!(tables.remove(key()).await?);
    assert_eq!(
        shown(store, "Orders", "Note").await?,
        ["Inserted new", "Updated update", "Updated again", "Deleted again"]
    );
    assert_eq!(findings::<Order>(store).await?, []);
    Ok(())
}

async fn a_sweep_of_the_bin_records_deletions(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Order>().await?;
    tables.insert_all([Order::new(1), Order { until: Some(at(5)), ..Order::new(2) }]).await?;
    time.set(at(1));
    assert!(tables.soft_delete(Order::key("shop", 1)).await?);
    time.set(at(100));
    tables.sweep::<Order>().deleted_before(Duration::from_secs(50)).await?;
    let mut found = shown(store, "Orders", "Customer").await?;
    found.sort();
    let expected = [
        "Deleted customer 1",
        "Expired customer 2",
        "Inserted customer 1",
        "Inserted customer 2",
        "Updated customer 1",
    ];
    assert_eq!(found, expected);
    Ok(())
}

async fn an_entity_that_was_changed_since_is_removed(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Order>().await?;
    tables.insert_all((0..3).map(Order::new)).await?;
    let read = Order::by_key("shop").all(tables).await?;
    tables.patch(Order::key("shop", 1), |order| [order.note.set("changed")]).await?;
    let done = tables.remove_all(&read).await?;
    assert_eq!((done.written, done.missing), (3, 0));
    assert_eq!(Order::by_key("shop").count(tables).await?, 0);
    assert_eq!(shown(store, "Orders", "Note").await?.len(), 3 + 1 + 3);
    Ok(())
}

async fn the_copies_of_many_deletions_are_left_out_if_they_do_not_fit(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Long>().await?;
    let long = |id: u32| Long { group: 1, id: id.to_string(), text: "x".repeat(130_000), more: String::new() };
    for id in 0..40 {
        tables.insert(&long(id)).await?;
    }
    let mut transaction = tables.transaction();
    for id in 0..40 {
        transaction = transaction.remove(Long::key(1, &id.to_string()));
    }
    transaction.commit().await?;
    let found = events(store, "Longs").await?;
    let deleted = found.iter().filter(|event| event.shown("") == "Deleted -");
    let with_copy = deleted.clone().filter(|event| event.row.properties.get("Text").is_some()).count();
    assert_eq!((deleted.count(), with_copy), (40, 0));
    Ok(())
}
