//! The delivery of events by relays.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result};
use table_runtime::{
    Guid, Tables,
    backend::{Action, Backend as _, BackendExt as _, Group, IfMatch, Operation, Reach},
    events::{Event, EventChange},
    row::ValueRef,
    testing::{Clocked, Counting, PartitionReach, TestTime},
};
use tests::stores::Store;
use tokio::sync::Notify;

use super::fixtures::{Entry, Label, Order, Reading, Stop, Visit, events, marks, named};
use crate::lifecycle::{at, clocked, start};

crate::conformance! {
    events_are_delivered_and_deleted
    the_copy_of_an_event_is_the_entity_as_it_was
    a_failure_holds_the_later_events_of_its_entity_alone
    an_event_that_fails_too_often_is_put_aside
    a_panic_of_the_consumer_is_a_failed_attempt
    an_event_is_delivered_again_until_it_is_handled
    entities_of_one_partition_have_relays_of_their_own
    the_events_of_slices_are_delivered
    a_relay_ends_after_what_is_in_flight
    a_commit_is_delivered_while_the_relay_runs
    two_relays_share_the_buckets
    a_relay_takes_over_what_another_one_has_left
    a_relay_counts_what_another_one_holds
    a_mark_is_deleted_once_no_commit_relies_on_it
    a_relay_takes_these_requests
    a_relay_runs_in_a_task
    a_later_page_is_not_delivered_before_an_earlier_event
    an_event_without_room_for_its_attempts_is_put_aside
    an_entity_without_properties_has_copies
    an_event_that_ends_the_process_is_put_aside
}

/// A handle whose pauses take no time.
fn hurried(store: &Store) -> (Tables, TestTime) {
    let (backend, time) = Clocked::new(store.backend.clone(), start());
    (Tables::new(backend.skip_pauses()), time)
}

/// What a consumer has seen: the number of an order with what happened to it.
type Seen = Mutex<Vec<String>>;

fn seen(seen: &Seen) -> Vec<String> {
    std::mem::take(&mut seen.lock().expect("no panic"))
}

fn told(event: &Event<Order>) -> String {
    let order = event.entity().map_or_else(|| "-".to_owned(), |order| format!("{} {}", order.number, order.note));
    format!("{:?} {order}", event.change())
}

/// Keeps what is delivered.
fn note(told: String, into: &Seen) {
    into.lock().expect("no panic").push(told);
}

/// Returns the keys of the events and failed events in a table.
async fn left(store: &Store, table: &str) -> Result<Vec<String>> {
    let rows = store.rows(table).await?.into_iter().map(|row| row.row_key);
    Ok(rows.filter(|key| key.starts_with("~~")).collect())
}

async fn events_are_delivered_and_deleted(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Order>().await?;
    time.set(at(60));
    tables.insert(&Order::with_ticket(1, "a")).await?;
    tables.modify(Order::key("shop", 1), |order| order.note = "paid".into()).await?;
    tables.insert(&Order { shop: "other".into(), ..Order::new(2) }).await?;
    tables.remove(Order::key("shop", 1)).await?;

    let (noted, ids) = (Seen::default(), Mutex::new(Vec::new()));
    let done = tables.relay::<Order>().deliver_once(async |event| {
        if event.change() == EventChange::Inserted {
            assert_eq!(event.at(), at(60));
        }
        assert_eq!(event.attempts(), 0);
        ids.lock().expect("no panic").push(event.id());
        // The key is that of the entity, which may have changed since.
        let number = event.entity().map_or(0, |order| order.number);
        assert_eq!(event.key().exists(&tables).await?, number == 2);
        note(told(&event), &noted);
        Ok::<_, anyhow::Error>(())
    });
    let done = done.await?;
    assert_eq!((done.delivered, done.failed, done.waiting), (4, 0, 0));
    let mut noted = seen(&noted);
    noted.sort_by_key(|told| told.contains('2'));
    assert_eq!(noted, ["Inserted 1 new", "Updated 1 paid", "Deleted 1 paid", "Inserted 2 new"]);
    let ids = ids.into_inner()?;
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");

    assert_eq!(left(store, "Orders").await?, [""; 0]);
    let marks = marks(store).await?.len();
    assert_eq!(marks, if store.backend.describe().reach == Reach::Store { 0 } else { 2 }, "writers may rely on them");
    let done = tables.relay::<Order>().deliver_once(async |_| Err::<(), _>("none is left")).await?;
    assert_eq!((done.delivered, done.failed, done.waiting), (0, 0, 0));
    // The leases of the relays are given back.
    let rows = store.rows("TableEvents").await?;
    assert!(rows.iter().all(|row| !row.partition_key.ends_with("relays")), "{rows:?}");
    Ok(())
}

async fn the_copy_of_an_event_is_the_entity_as_it_was(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Order>().and::<Reading>().await?;
    let mut order = Order { until: Some(at(1_000_000)), ..Order::with_ticket(1, "a") };
    tables.insert(&order).await?;
    let inserted = order.clone();
    order.note = "changed".into();
    tables.upsert(&order).await?;
    tables.remove(Order::key("shop", 1)).await?;
    let copies = Mutex::new(Vec::new());
    let relay = tables.relay::<Order>();
    relay
        .deliver_once(async |event: Event<Order>| {
            copies.lock().expect("no panic").push((event.change(), event.into_entity()));
            Ok::<_, std::io::Error>(())
        })
        .await?;
    let expected = [
        (EventChange::Inserted, Some(inserted)),
        (EventChange::Updated, Some(order.clone())),
        (EventChange::Deleted, Some(order)),
    ];
    assert_eq!(copies.into_inner()?, expected);

    tables.insert(&Reading::new(1)).await?;
    let relay = tables.relay::<Reading>();
    let done = relay.deliver_once(async |event| {
        assert!(event.entity().is_none(), "its events have no copies");
        let reading = event.key().get(&tables).await?.context("the reading")?;
        assert_eq!(reading.number, "1");
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    Ok(())
}

async fn a_failure_holds_the_later_events_of_its_entity_alone(store: &Store) -> Result<()> {
    let (tables, time) = hurried(store);
    tables.create::<Order>().await?;
    for number in [1, 2] {
        time.advance(Duration::from_secs(1));
        tables.insert(&Order::new(number)).await?;
        tables.modify(Order::key("shop", number), |order| order.note = "paid".into()).await?;
    }
    let (noted, began) = (Seen::default(), time.now());
    let done = tables.relay::<Order>().deliver_once(async |event| {
        let is_first = event.change() == EventChange::Inserted && event.entity().is_some_and(|order| order.number == 1);
        if is_first && event.attempts() < 2 {
            note(format!("failed {}", event.attempts()), &noted);
            return Err("not now".into());
        }
        note(told(&event), &noted);
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    });
    assert_eq!(done.await?.delivered, 4);
    let expected = ["failed 0", "Inserted 2 new", "Updated 2 paid", "failed 1", "Inserted 1 new", "Updated 1 paid"];
    assert_eq!(seen(&noted), expected);
    assert!(time.now() >= began + Duration::from_secs(3), "a pause of a second, and one of two");
    assert_eq!(left(store, "Orders").await?, [""; 0]);
    Ok(())
}

async fn an_event_that_fails_too_often_is_put_aside(store: &Store) -> Result<()> {
    let (tables, time) = hurried(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::with_ticket(1, "a")).await?;
    tables.modify(Order::key("shop", 1), |order| order.note = "paid".into()).await?;
    tables.insert(&Order { shop: "other".into(), ..Order::new(2) }).await?;
    let relay = || tables.relay::<Order>().attempts(3);
    let noted = Seen::default();
    let fails = async |event: Event<Order>| {
        note(told(&event), &noted);
        anyhow::ensure!(event.change() != EventChange::Inserted, "refused");
        Ok(())
    };
    let began = time.now();
    let done = relay().deliver_once(&fails).await?;
    assert_eq!((done.delivered, done.failed, done.waiting), (1, 2, 0));
    assert!(time.now() >= began + Duration::from_secs(3));
    let calls = seen(&noted);
    assert_eq!(calls.iter().filter(|told| *told == "Inserted 1 new").count(), 3, "{calls:?}");
    assert_eq!(calls.iter().filter(|told| *told == "Updated 1 paid").count(), 1, "{calls:?}");

    // They are where no relay looks.
    let keys = left(store, "Orders").await?;
    assert!(keys.len() == 2 && keys.iter().all(|key| key.starts_with("~~failed-Order ")), "{keys:?}");
    let marks: Vec<_> = marks(store).await?.into_iter().filter(|(bucket, _)| bucket == "orders Order failed").collect();
    assert_eq!(marks.len(), 2, "{marks:?}");
    assert_eq!(relay().deliver_once(&fails).await?.delivered, 0);

    let failed = relay().failed().await?;
    let found: Vec<_> = failed.iter().map(|event| (told(event), event.attempts())).collect();
    assert_eq!(found, [("Inserted 2 new".to_owned(), 3), ("Inserted 1 new".to_owned(), 3)]);
    assert!(!relay().retry(Guid::random()?).await? && !relay().discard(Guid::random()?).await?);
    assert!(relay().discard(failed[0].id()).await?);
    assert!(!relay().discard(failed[0].id()).await?, "it is gone");
    assert!(relay().retry(failed[1].id()).await?);
    assert_eq!(relay().failed().await?.len(), 0);
    let done = relay().deliver_once(async |event| {
        assert_eq!((event.id(), event.attempts()), (failed[1].id(), 0));
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    assert_eq!(left(store, "Orders").await?, [""; 0]);
    Ok(())
}

async fn a_panic_of_the_consumer_is_a_failed_attempt(store: &Store) -> Result<()> {
    let (tables, _) = hurried(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let done = tables.relay::<Order>().attempts(2).deliver_once(async |event| {
        assert!(event.attempts() != 0, "the first attempt panics");
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    Ok(())
}

async fn an_event_is_delivered_again_until_it_is_handled(store: &Store) -> Result<()> {
    let (tables, _) = hurried(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let ids = Mutex::new(Vec::new());
    let take = async |event: Event<Order>| {
        ids.lock().expect("no panic").push(event.id());
        std::future::pending::<Result<(), std::io::Error>>().await
    };
    // The future of the relay is dropped while the consumer works.
    for _ in 0..2 {
        let begun = tokio::time::timeout(Duration::from_secs(5), async {
            let delivery = tables.relay::<Order>().deliver(take);
            let called = async {
                let before = ids.lock().expect("no panic").len();
                while ids.lock().expect("no panic").len() == before {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                done = delivery => panic!("{done:?}"),
                () = called => {}
            }
        });
        begun.await?;
        // A request of the relay may still be under way.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let attempts = AtomicUsize::new(0);
    let done = tables.relay::<Order>().deliver_once(async |event| {
        ids.lock().expect("no panic").push(event.id());
        attempts.store(event.attempts() as usize, Ordering::SeqCst);
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    // Nobody has given the buckets back, so each of the two relays counts as a failed attempt.
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
    let ids = ids.into_inner()?;
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    Ok(())
}

async fn entities_of_one_partition_have_relays_of_their_own(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Visit>().and::<Stop>().await?;
    tables.insert(&Visit { user: 1, id: 2, note: "visit".into() }).await?;
    tables.insert(&Stop { user: 1, id: 2, step: 3, note: "stop".into() }).await?;
    let done = tables.relay::<Visit>().deliver_once(async |event| {
        assert_eq!(event.key().get(&tables).await?.context("the visit")?.note, "visit");
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    let done = tables.relay::<Stop>().deliver_once(async |event| {
        let stop = event.entity().context("a copy")?;
        assert_eq!((stop.user, stop.id, stop.step, &*stop.note), (1, 2, 3, "stop"));
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    Ok(())
}

async fn the_events_of_slices_are_delivered(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Entry>().await?;
    let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number);
    for number in [0, 40, 41] {
        tables.insert(&Entry { service: "a".into(), at: day(number), text: format!("{number}") }).await?;
    }
    let noted = Seen::default();
    let done = tables.relay::<Entry>().deliver_once(async |event| {
        let entry = event.key().get(&tables).await?.context("the entry")?;
        note(entry.text.clone(), &noted);
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(done.await?.delivered, 3);
    let mut noted = seen(&noted);
    noted.sort();
    assert_eq!(noted, ["0", "40", "41"]);
    assert_eq!(left(store, "Log197001").await?, [""; 0]);
    assert_eq!(left(store, "Log197002").await?, [""; 0]);

    // A slice that is gone has no events.
    tables.insert(&Entry { service: "b".into(), at: day(1), text: "1".into() }).await?;
    store.backend.delete_table("Log197001").await?;
    let done = tables.relay::<Entry>().deliver_once(async |_| Err::<(), _>("it is gone")).await?;
    assert_eq!((done.delivered, done.failed, done.waiting), (0, 0, 0));
    Ok(())
}

async fn a_relay_ends_after_what_is_in_flight(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Order>().await?;
    for number in 1..=3 {
        tables.insert(&Order::new(number)).await?;
    }
    let (begun, end, may_go_on) = (Notify::new(), Notify::new(), Notify::new());
    let (noted, poll) = (Seen::default(), Duration::from_millis(20));
    let delivery = tables.relay::<Order>().poll(poll).deliver(async |event| {
        begun.notify_one();
        may_go_on.notified().await;
        note(told(&event), &noted);
        Ok::<_, std::io::Error>(())
    });
    let ending = async {
        begun.notified().await;
        end.notify_one();
        // The relay sees the end before the consumer goes on.
        tokio::time::sleep(Duration::from_millis(20)).await;
        may_go_on.notify_one();
    };
    let (done, ()) = tokio::join!(delivery.until(end.notified()), ending);
    let done = done?;
    assert_eq!((done.delivered, done.failed, done.waiting), (1, 0, 1), "what comes after it was not read");
    assert_eq!(seen(&noted), ["Inserted 1 new"]);
    assert_eq!(left(store, "Orders").await?.len(), 2);
    // What it held was given back, so the next one need not wait.
    let done = tables.relay::<Order>().deliver_once(async |event| {
        assert_eq!(event.attempts(), 0);
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(done.await?.delivered, 2);
    Ok(())
}

async fn a_commit_is_delivered_while_the_relay_runs(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Order>().await?;
    let poll = Duration::from_millis(20);
    let (delivered, end) = (Arc::new(Notify::new()), Notify::new());
    let told = Arc::clone(&delivered);
    let delivery = tables.relay::<Order>().poll(poll).deliver(async move |_| {
        told.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let writing = async {
        for number in 1..=3 {
            tables.insert(&Order::new(number)).await?;
            tokio::time::timeout(Duration::from_secs(20), delivered.notified()).await?;
        }
        end.notify_one();
        Ok::<_, anyhow::Error>(())
    };
    let (done, written) = tokio::join!(delivery.until(end.notified()), writing);
    written?;
    assert_eq!(done?.delivered, 3);
    Ok(())
}

/// Steps of a store between partitions, whose leases relays share.
fn in_partitions(store: &Store) -> (Tables, TestTime) {
    let (backend, time) = Clocked::new(PartitionReach(store.backend.clone()), start());
    (Tables::new(backend.skip_pauses()), time)
}

/// Returns the relays that hold buckets, with the number of each.
async fn shares(store: &Store) -> Result<Vec<usize>> {
    let mut shares: BTreeMap<String, usize> = BTreeMap::new();
    for row in store.rows("TableEvents").await? {
        if row.partition_key.ends_with(" relays") && row.row_key.len() == 2 {
            let relay = row.properties.get("Relay").context("the relay")?.to_string();
            *shares.entry(relay).or_default() += 1;
        }
    }
    Ok(shares.into_values().collect())
}

async fn two_relays_share_the_buckets(store: &Store) -> Result<()> {
    let (tables, _) = in_partitions(store);
    tables.create::<Order>().await?;
    let end = Arc::new(Notify::new());
    let relay = || {
        let delivery = tables.relay::<Order>().deliver(async |_| Ok::<_, std::io::Error>(()));
        let end = Arc::clone(&end);
        async move { delivery.until(end.notified()).await }
    };
    let watching = async {
        let mut seen = Vec::new();
        // Reads of the store take time, in which the relays renew their leases.
        for _ in 0..10_000 {
            seen = shares(store).await?;
            if seen == [8, 8] {
                break;
            }
            tokio::task::yield_now().await;
        }
        end.notify_waiters();
        assert_eq!(seen, [8, 8]);
        Ok::<_, anyhow::Error>(())
    };
    let (first, second, watched) = tokio::join!(relay(), relay(), watching);
    watched?;
    first?;
    second?;
    assert_eq!(shares(store).await?, [0; 0], "they gave them back");
    Ok(())
}

async fn a_relay_takes_over_what_another_one_has_left(store: &Store) -> Result<()> {
    let (tables, time) = in_partitions(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let called = Notify::new();
    let delivery = tables.relay::<Order>().deliver(async |_| {
        called.notify_one();
        std::future::pending::<Result<(), std::io::Error>>().await
    });
    // Another handler of this event may have ended its process.
    tokio::select! {
        done = delivery => panic!("{done:?}"),
        () = called.notified() => {}
    }
    // A request of the relay may still be under way.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(shares(store).await?, [16]);
    let began = time.now();
    let done = tables.relay::<Order>().deliver_once(async |event| {
        assert_eq!(event.attempts(), 1);
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    let waited = time.now().duration_since(began)?;
    assert!((66..70).contains(&waited.as_secs()), "a lease and a tenth: {waited:?}");
    Ok(())
}

async fn a_relay_counts_what_another_one_holds(store: &Store) -> Result<()> {
    let (tables, _) = in_partitions(store);
    tables.create::<Order>().await?;
    let (called, may_end, end) = (Notify::new(), Notify::new(), Notify::new());
    for number in [1, 2] {
        tables.insert(&Order::new(number)).await?;
    }
    let delivery = tables.relay::<Order>().deliver(async |_| {
        called.notify_one();
        may_end.notified().await;
        Ok::<_, std::io::Error>(())
    });
    let other = async {
        called.notified().await;
        let done = tables.relay::<Order>().deliver_once(async |_| Err::<(), _>("another relay has it")).await;
        end.notify_one();
        // The relay sees the end before the consumer goes on.
        tokio::time::sleep(Duration::from_millis(20)).await;
        may_end.notify_one();
        let done = done?;
        assert_eq!((done.delivered, done.failed, done.waiting), (0, 0, 2));
        Ok::<_, anyhow::Error>(())
    };
    let (done, other) = tokio::join!(delivery.until(end.notified()), other);
    other?;
    assert_eq!(done?.delivered, 1);
    Ok(())
}

async fn a_mark_is_deleted_once_no_commit_relies_on_it(store: &Store) -> Result<()> {
    // The age of a mark on the service is that by its own clock.
    if store.backend.describe().service.is_some() {
        return Ok(());
    }
    let (tables, time) = in_partitions(store);
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let began = time.now();
    let (end, delivered) = (Notify::new(), Notify::new());
    let delivery = tables.relay::<Order>().deliver(async |_| {
        delivered.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let watching = async {
        delivered.notified().await;
        while !marks(store).await?.is_empty() {
            assert!(time.now() < began + Duration::from_secs(500), "the mark is still there");
            tokio::task::yield_now().await;
        }
        // A lease of a minute, a tenth of it, and five minutes for a late commit.
        assert!(time.now() >= began + Duration::from_secs(366), "too early");
        end.notify_one();
        Ok::<_, anyhow::Error>(())
    };
    let (done, watched) = tokio::join!(delivery.until(end.notified()), watching);
    watched?;
    assert_eq!(done?.delivered, 1);
    Ok(())
}

async fn a_relay_takes_these_requests(store: &Store) -> Result<()> {
    let (backend, requests) = Counting::new(PartitionReach(store.backend.clone()));
    let tables = Tables::new(backend);
    tables.create::<Order>().await?;
    let relay = || tables.relay::<Order>().deliver_once(async |_| Ok::<_, std::io::Error>(()));
    relay().await?;
    requests.take();
    relay().await?;
    // The catalog; the leases are read, taken and given back; the marks of all buckets.
    assert_eq!(requests.take().total(), 5);
    for number in 0..150 {
        tables.insert(&Order::new(number)).await?;
    }
    requests.take();
    assert_eq!(relay().await?.delivered, 150);
    // The events in one page, and two transactions that delete them.
    assert_eq!(requests.take().total(), 5 + 3);
    Ok(())
}

async fn a_relay_runs_in_a_task(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Order>().await?;
    let (delivered, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, ended) = (Arc::clone(&delivered), Arc::clone(&end));
    let delivery = tables.relay::<Order>().poll(Duration::from_millis(20)).deliver(async move |event| {
        // What the consumer borrows may live as long as its call.
        let id = &event.id();
        tokio::task::yield_now().await;
        assert_eq!(*id, event.id());
        told.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let relay = tokio::spawn(delivery.until(async move { ended.notified().await }));
    tables.insert(&Order::new(1)).await?;
    tokio::time::timeout(Duration::from_secs(20), delivered.notified()).await?;
    end.notify_one();
    assert_eq!(relay.await??.delivered, 1);
    Ok(())
}

async fn a_later_page_is_not_delivered_before_an_earlier_event(store: &Store) -> Result<()> {
    // It takes a thousand requests, and the relay does the same on every store.
    if store.backend.describe().service.is_some() {
        return Ok(());
    }
    let (tables, time) = in_partitions(store);
    tables.create::<Order>().await?;
    time.set(at(100));
    tables.insert_all((0..1_010).map(Order::new)).await?;
    let (noted, is_written) = (Seen::default(), AtomicUsize::new(0));
    let done = tables.relay::<Order>().deliver_once(async |event| {
        if is_written.fetch_add(1, Ordering::SeqCst) == 0 {
            // The first page was read. A program whose clock is behind inserts an order, and another one changes it.
            time.set(at(50));
            tables.insert(&Order::new(5_000)).await?;
            time.set(at(200));
            tables.modify(Order::key("shop", 5_000), |order| order.note = "paid".into()).await?;
        }
        let order = event.entity().context("a copy")?;
        if order.number == 5_000 {
            note(told(&event), &noted);
        } else {
            anyhow::ensure!(event.attempts() > 0, "so that the events of the first page are left");
        }
        Ok(())
    });
    assert_eq!(done.await?.delivered, 1_012);
    assert_eq!(seen(&noted), ["Inserted 5000 new", "Updated 5000 paid"]);
    Ok(())
}

async fn an_event_without_room_for_its_attempts_is_put_aside(store: &Store) -> Result<()> {
    let (tables, _) = hurried(store);
    tables.create::<Order>().and::<Reading>().await?;
    // Properties that the struct does not know are kept, and are in the copy.
    tables.insert(&Order::new(1)).await?;
    let row =
        store.rows("Orders").await?.into_iter().find(|row| row.row_key == "number-0000000001").context("the order")?;
    let unknown = 252 - named(&row.properties).len() - 1;
    let mut properties = row.properties.clone();
    for number in 0..unknown {
        properties.push(&format!("Unknown{number}"), ValueRef::Int32(1));
    }
    let operation = Operation { row_key: row.row_key.clone(), action: Action::Replace(properties, IfMatch::Any) };
    let (table, partition_key) = ("Orders".into(), row.partition_key.clone());
    store.backend.execute_group(&Group { table, partition_key, operations: vec![operation] }).await?;
    tables.relay::<Order>().deliver_once(async |_| Ok::<_, std::io::Error>(())).await?;
    tables.modify(Order::key("shop", 1), |order| order.note = "paid".into()).await?;
    let found = events(store, "Orders").await?;
    let count = found[0].row.properties.iter().count();
    assert_eq!(count, 252, "with no room for another one");

    tables.insert(&Order::new(2)).await?;
    let calls = AtomicUsize::new(0);
    let done = tables.relay::<Order>().attempts(3).deliver_once(async |event| {
        let order = event.entity().context("a copy")?;
        calls.fetch_add(usize::from(order.number == 1), Ordering::SeqCst);
        anyhow::ensure!(order.number == 2);
        Ok(())
    });
    let done = done.await?;
    assert_eq!((done.delivered, done.failed, calls.into_inner()), (1, 1, 3));
    let failed = tables.relay::<Order>().failed().await?;
    assert_eq!(failed.iter().map(told).collect::<Vec<_>>(), ["Updated 1 paid"]);
    Ok(())
}

async fn an_entity_without_properties_has_copies(store: &Store) -> Result<()> {
    let tables = Tables::new(store.backend.clone());
    tables.create::<Label>().await?;
    tables.insert(&Label { tenant: "t".into(), name: "new".into(), note: None }).await?;
    let done = tables.relay::<Label>().deliver_once(async |event| {
        let label = event.entity().context("a copy")?;
        assert_eq!((&*label.name, &label.note), ("new", &None));
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(done.await?.delivered, 1);
    Ok(())
}

/// Such a process writes nothing more; its leases are left.
async fn an_event_that_ends_the_process_is_put_aside(store: &Store) -> Result<()> {
    let (tables, time) = in_partitions(store);
    tables.create::<Order>().await?;
    for number in 1..=3 {
        time.advance(Duration::from_secs(1));
        tables.insert(&Order::new(number)).await?;
    }
    let (noted, deaths) = (Seen::default(), AtomicUsize::new(0));
    loop {
        let ended = Notify::new();
        let delivery = tables.relay::<Order>().attempts(3).deliver_once(async |event: Event<Order>| {
            if event.entity().is_some_and(|order| order.number == 2) {
                ended.notify_one();
                std::future::pending::<()>().await;
            }
            note(told(&event), &noted);
            Ok::<_, std::io::Error>(())
        });
        tokio::select! {
            done = delivery => {
                assert_eq!(done?.failed, 1);
                break;
            }
            () = ended.notified() => drop(deaths.fetch_add(1, Ordering::SeqCst)),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(deaths.load(Ordering::SeqCst) < 6, "it is put aside after a few");
    }
    let failed = tables.relay::<Order>().failed().await?;
    assert_eq!(failed.iter().map(told).collect::<Vec<_>>(), ["Inserted 2 new"]);
    let mut noted = seen(&noted);
    noted.dedup();
    assert_eq!(noted.last().map(String::as_str), Some("Inserted 3 new"), "{noted:?}");
    assert_eq!(left(store, "Orders").await?.len(), 1);
    Ok(())
}
