//! Every interleaving of writers that record events and of relays that delete what they have found, as far as the marks
//! depend on it. In every state, each partition with events has a mark, and at the end each write has its event.
//!
//! There are two relays. The least one that deletes reads the mark, waits for a lease and more, reads the events, and deletes
//! them, or if there are none the mark, under the version that it has read. The other one is that of the crate. A commit arrives
//! before time passes: how late one may come is a part of the wait of real relays.

use std::{
    collections::BTreeSet,
    sync::Mutex,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use depth::Depth;
use explorer::{
    explore::{Crashes, Explorer, Op, Progress, Seen, Stage, side_by_side, staged},
    plain::Plain,
};
use futures_util::FutureExt as _;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, Backend, BackendExt as _, Group, IfMatch, KeyRange, Operation, Partitions, Reach, Scan},
    events::Event,
    row::{Row, RowRef, ValueRef},
    testing::{Clocked, Request},
    types::HasEvents,
};

/// The length of a lease, and the time for which a relay waits.
const LEASE: Duration = Duration::from_mins(1);
const WAIT: Duration = Duration::from_secs(66);

/// The table of the marks, and the text with which the keys of events begin.
const MARKS: &str = "TableEvents";
const EVENT: &str = "~~event-";

/// The partition of all items.
const PARTITION: &str = "000";

/// An item that is written in one request.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Plains", events(copy))]
struct PlainItem {
    #[partition_key]
    group: u8,
    #[row_key]
    id: u8,
    value: u32,
}

/// An item that is written in steps.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Claims", events(copy))]
#[index(value, table = "ClaimsByValue", unique)]
struct ClaimingItem {
    #[partition_key]
    group: u8,
    #[row_key]
    id: u8,
    value: u32,
}

/// An operation on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Insert(u8, u32),
    Upsert(u8, u32),
    /// A change of an item that is read first, and again after a lost race.
    Modify(u8, u32),
    Remove(u8),
    /// An insert of two items in one transaction.
    Both(u8, u8),
    /// An insert, and a lease later another one by the same program.
    Twice(u8, u8),
    /// The least relay of the entity.
    Relay,
    /// The relay of the crate, once.
    Deliver,
}

use Act::{Both, Deliver, Insert, Modify, Relay, Remove, Twice, Upsert};

/// What an operation has done: the least and the greatest number of events, and what a relay has delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Did {
    Wrote(usize),
    /// It may be written, or may still be.
    Unknown(usize),
    Delivered(Vec<u64>),
}

/// An entity whose items are written.
trait Kind: TableEntity + HasEvents {
    const TABLE: &'static str;

    fn new(id: u8, value: u32) -> Self;
    fn set(&mut self, value: u32);
    fn point(id: u8) -> table_runtime::Point<Self, table_runtime::types::Primary>;
}

macro_rules! kinds {
    ($($name:ident $table:literal)+) => {$(
        impl Kind for $name {
            const TABLE: &'static str = $table;

            fn new(id: u8, value: u32) -> Self {
                Self { group: 0, id, value }
            }

            fn set(&mut self, value: u32) {
                self.value = value;
            }

            fn point(id: u8) -> table_runtime::Point<Self, table_runtime::types::Primary> {
                Self::key(0, id)
            }
        }
    )+};
}

kinds! { PlainItem "Plains" ClaimingItem "Claims" }

/// Counts the events of a write.
fn wrote(events: usize, written: &table_runtime::Result<usize>) -> Did {
    match written {
        Ok(written) => Did::Wrote(*written),
        Err(Error::OutcomeUnknown(_)) => Did::Unknown(events),
        Err(_) => Did::Wrote(0),
    }
}

/// Runs an operation of a program whose clock shows this second, so that no two events have one time.
async fn run<K: Kind>(stage: Stage, act: Act, second: u64) -> Did {
    let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let (backend, time) = Clocked::new(stage.backend(), at(second));
    let tables = &Tables::new(backend);
    match act {
        Insert(id, value) => wrote(1, &tables.insert(&K::new(id, value)).await.map(|_| 1)),
        Upsert(id, value) => wrote(1, &tables.upsert(&K::new(id, value)).await.map(|_| 1)),
        Modify(id, value) => {
            let modified = tables.modify(K::point(id), |item| item.set(value)).await;
            wrote(1, &modified.map(|modified| modified.map_or(0, |_| 1)))
        }
        Remove(id) => wrote(1, &tables.remove(K::point(id)).await.map(usize::from)),
        Both(one, other) => {
            let (one, other) = (K::new(one, one.into()), K::new(other, other.into()));
            wrote(2, &tables.transaction().insert(&one).insert(&other).commit().await.map(|_| 2))
        }
        Twice(one, other) => {
            let first = wrote(1, &tables.insert(&K::new(one, one.into())).await.map(|_| 1));
            stage.wait(LEASE / 2).await;
            time.set(at(second + 1));
            let second = wrote(1, &tables.insert(&K::new(other, other.into())).await.map(|_| 1));
            match (first, second) {
                (Did::Wrote(first), Did::Wrote(second)) => Did::Wrote(first + second),
                _ => Did::Unknown(2),
            }
        }
        Relay => Did::Delivered(relay::<K>(&stage).await),
        Deliver => Did::Delivered(deliver::<K>(tables).await),
    }
}

fn operation(row_key: String, action: Action) -> Operation {
    Operation { row_key, action }
}

/// Runs the relay of the crate. Returns the times of the events that the consumer has got.
async fn deliver<K: Kind>(tables: &Tables) -> Vec<u64> {
    let delivered = Mutex::new(BTreeSet::new());
    let consumer = async |event: Event<K>| {
        delivered.lock().expect("no panic").insert(event.ticks().get());
        Ok::<_, std::io::Error>(())
    };
    // An error is that of a request that was not answered.
    let _ = tables.relay::<K>().deliver_once(consumer).await;
    delivered.into_inner().expect("no panic").into_iter().collect()
}

/// Delivers the events of the one partition, and deletes its mark if there is none. Returns the times of the events.
async fn relay<K: Kind>(stage: &Stage) -> Vec<u64> {
    let backend = stage.backend();
    let mut delivered = Vec::new();
    for _ in 0..2 {
        let Some(mark) = rows(&*backend, MARKS, None).await.into_iter().find(is_mark) else { return delivered };
        // Reads that begin earlier find the same events, or fewer.
        stage.wait(WAIT).await;
        let events = rows(&*backend, K::TABLE, Some(PARTITION)).await;
        let events: Vec<_> = events.into_iter().filter(|row| row.row_key.starts_with(EVENT)).collect();
        let group = |table: &'static str, partition_key: &str, operations| Group {
            table: table.into(),
            partition_key: partition_key.to_owned(),
            operations,
        };
        let deletions: Vec<_> = if events.is_empty() {
            vec![group(
                MARKS,
                &mark.partition_key,
                vec![operation(mark.row_key, Action::Delete(IfMatch::ETag(mark.etag)))],
            )]
        } else {
            let deletion =
                |event: &Row| operation(event.row_key.clone(), Action::Delete(IfMatch::ETag(event.etag.clone())));
            vec![group(K::TABLE, PARTITION, events.iter().map(deletion).collect())]
        };
        delivered.extend(events.iter().filter_map(|row| Some(event(row)?.0)));
        let is_done = backend.execute_group(&deletions[0]).await.is_ok();
        if is_done && deletions[0].table == MARKS {
            return delivered;
        }
    }
    delivered
}

async fn rows(backend: &dyn Backend, table: &'static str, partition: Option<&str>) -> Vec<Row> {
    let partitions = partition.map_or(Partitions::ALL, |key| Partitions::One(key.to_owned()));
    let scan = Scan { partitions, rows: KeyRange::ALL, ..Scan::all(table) };
    // The plain store has the rows on one page.
    let page = backend.query(&scan, None).await;
    page.map(|page| page.rows.iter().map(RowRef::to_row).collect()).unwrap_or_default()
}

/// Checks whether a row of the table of the marks is a mark, and no lease of a relay.
fn is_mark(row: &Row) -> bool {
    !row.partition_key.ends_with(" relays")
}

fn is_event(row: &Row) -> bool {
    row.row_key.starts_with(EVENT)
}

/// Returns the time of an event, and the id of its item.
fn event(row: &Row) -> Option<(u64, u8)> {
    let (at, _) = row.row_key.split_once(' ')?.1.split_once('_')?;
    let Some(ValueRef::Int32(id)) = row.properties.get("IndexedEntityId") else { return None };
    Some((at.parse().ok()?, id.try_into().ok()?))
}

/// Checks a state.
async fn check<K: Kind>(seen: &Seen<'_, Did>) -> Result<()> {
    let (events, items): (Vec<_>, Vec<_>) = rows(&seen.store, K::TABLE, None).await.into_iter().partition(is_event);
    let marks: Vec<_> = rows(&seen.store, MARKS, None).await.into_iter().filter(is_mark).collect();
    let (mut present, mut times) = (BTreeSet::new(), BTreeSet::new());
    for row in &events {
        ensure!(marks.iter().any(|mark| mark.row_key == row.partition_key), "the partition of {row:?} has no mark");
        let (at, id) = event(row).with_context(|| format!("{row:?}"))?;
        times.insert((at, id));
        present.insert(at);
    }
    // A relay deletes events.
    let has_relay = seen.ops.iter().any(|op| !matches!(op, Progress::Ended(Did::Wrote(_) | Did::Unknown(_))));
    for row in items.iter().filter(|row| row.properties.get("IndexPending").is_none() && !has_relay) {
        if let Some(ValueRef::Int64(at)) = row.properties.get("EventAt") {
            ensure!(times.contains(&(at.try_into()?, row.row_key.parse()?)), "{row:?} has not the time of an event");
        }
    }
    let (mut least, mut most, mut is_known) = (0, 0, true);
    for op in &seen.ops {
        match op {
            Progress::Ended(Did::Delivered(keys)) => present.extend(keys),
            Progress::Ended(Did::Wrote(count)) => (least, most) = (least + count, most + count),
            Progress::Ended(Did::Unknown(count)) => most += count,
            // It may be a relay, which alone knows what it has delivered.
            Progress::Running | Progress::Crashed => (most, is_known) = (most + 2, false),
        }
    }
    ensure!(present.len() <= most, "{} events of {most} writes", present.len());
    ensure!(!is_known || present.len() >= least, "{} events of {least} writes", present.len());
    Ok(())
}

/// Explores operations that begin at the same time, on a store with these items and without events.
fn explore<K: Kind>(search: Explorer, reach: Reach, items: &[u8], acts: &[Act]) -> Result<()> {
    let store = Plain::default().with_reach(reach);
    let begin = async {
        let tables = Tables::new(store.clone());
        tables.create::<K>().await?;
        for id in items {
            tables.insert(&K::new(*id, (*id).into())).await?;
        }
        for table in [K::TABLE, MARKS] {
            for row in rows(&store, table, None).await {
                if table == MARKS || row.row_key.starts_with(EVENT) {
                    let (partition_key, operations) =
                        (row.partition_key, vec![operation(row.row_key, Action::Delete(IfMatch::Any))]);
                    store.execute_group(&Group { table: table.into(), partition_key, operations }).await?;
                }
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    begin.now_or_never().context("a plain store does not wait")??;
    let ops: Vec<Op<_>> = acts
        .iter()
        .copied()
        .zip(1..)
        .map(|(act, n)| staged(format!("{act:?}"), move |stage| run::<K>(stage, act, 10 * n)))
        .collect();
    let explored = search.explore(&store, &ops, async |seen| check::<K>(seen).await);
    let explored = explored.with_context(|| format!("{acts:?} on {items:?}, {reach:?}"))?;
    if Depth::Full.is_reached() {
        println!("{acts:?} on {items:?}, {reach:?}: {explored:?}");
    }
    Ok(())
}

/// Checks whether a request commits items: it arrives before time passes.
fn commits(request: &Request) -> bool {
    matches!(request, Request::Execute(groups) if groups.iter().any(|group| group.table != MARKS))
}

const IN_TIME: fn() -> Explorer = || Explorer { is_prompt: commits, late_is_prompt: true, ..Explorer::default() };

/// Writers beside a relay.
const SETS: &[(&[u8], &[Act])] = &[
    (&[], &[Insert(1, 1), Relay]),
    (&[], &[Insert(1, 1), Insert(2, 2), Relay]),
    (&[1], &[Modify(1, 5), Insert(2, 2), Relay]),
    (&[1], &[Remove(1), Upsert(1, 7), Relay]),
    (&[], &[Both(1, 2), Relay]),
    (&[], &[Twice(1, 2), Relay]),
    (&[], &[Insert(1, 1), Relay, Relay]),
    (&[1], &[Modify(1, 5), Relay, Relay]),
];

/// Writers beside the relay of the crate.
const DELIVERING: &[(&[u8], &[Act])] = &[
    (&[], &[Insert(1, 1), Deliver]),
    (&[1], &[Modify(1, 5), Deliver]),
    (&[1], &[Remove(1), Deliver]),
    (&[], &[Insert(1, 1), Insert(2, 2), Deliver]),
    (&[], &[Both(1, 2), Deliver]),
];

/// Writers alone: the log of their events.
const WRITERS: &[(&[u8], &[Act])] = &[
    (&[], &[Insert(1, 1), Insert(1, 2)]),
    (&[1], &[Modify(1, 5), Modify(1, 6)]),
    (&[1], &[Upsert(1, 5), Remove(1)]),
    (&[1], &[Upsert(1, 5), Upsert(1, 6), Modify(1, 7)]),
    (&[], &[Both(1, 2), Insert(2, 3)]),
];

fn explore_all<K: Kind>(search: Explorer, reach: Reach, sets: &[(&[u8], &[Act])]) -> Result<()> {
    side_by_side(sets, |(items, acts)| explore::<K>(search, reach, items, acts)).map(drop)
}

#[test]
fn items_that_are_written_in_one_request() -> Result<()> {
    explore_all::<PlainItem>(IN_TIME(), Reach::Partition, SETS)?;
    explore_all::<PlainItem>(IN_TIME(), Reach::Partition, WRITERS)?;
    explore_all::<PlainItem>(Explorer { crashes: Crashes::Any, ..IN_TIME() }, Reach::Partition, &SETS[..3])
}

/// Writers that make each other begin again without end, if they write in steps.
fn is_fight(acts: &[Act]) -> bool {
    matches!(
        acts,
        [Insert(1, _), Insert(1, _)] | [Both(..), Insert(2, _)] | [Remove(1), Upsert(1, _), ..] | [Upsert(1, _), ..]
    )
}

#[test]
fn items_whose_events_the_relay_of_the_crate_delivers() -> Result<()> {
    let crashing = || Explorer { crashes: Crashes::Any, ..IN_TIME() };
    let losing = || Explorer { lost: 1, ..IN_TIME() };
    for reach in [Reach::Partition, Reach::Store] {
        explore_all::<PlainItem>(crashing(), reach, DELIVERING)?;
        explore_all::<PlainItem>(losing(), reach, &DELIVERING[..3])?;
        explore_all::<ClaimingItem>(IN_TIME(), reach, &DELIVERING[..3])?;
    }
    Ok(())
}

#[test]
fn items_that_are_written_in_steps() -> Result<()> {
    let sets = SETS.iter().chain(WRITERS).copied().filter(|(_, acts)| !is_fight(acts));
    let sets: Vec<_> = sets.filter(|(_, acts)| acts.len() < 3 || Depth::Deep.is_reached()).collect();
    explore_all::<ClaimingItem>(IN_TIME(), Reach::Partition, &sets)
}

/// Writers one of whose requests is not answered, beside a relay.
const UNANSWERED: &[(&[u8], &[Act])] = &[
    (&[], &[Insert(1, 1), Relay]),
    (&[1], &[Modify(1, 5), Relay]),
    (&[1], &[Remove(1), Relay]),
    (&[1], &[Upsert(1, 3), Relay]),
];

#[test]
fn items_of_which_a_request_is_not_answered() -> Result<()> {
    let losing = || Explorer { lost: 1, ..IN_TIME() };
    explore_all::<PlainItem>(losing(), Reach::Partition, UNANSWERED)?;
    let writers = WRITERS.iter().copied().filter(|(_, acts)| acts.len() < 3 || Depth::Deep.is_reached());
    explore_all::<PlainItem>(losing(), Reach::Partition, &writers.collect::<Vec<_>>())?;
    explore_all::<ClaimingItem>(losing(), Reach::Partition, &UNANSWERED[..3])
}

#[test]
fn items_on_a_store_whose_transactions_span_partitions() -> Result<()> {
    explore_all::<PlainItem>(Explorer::default(), Reach::Store, WRITERS)?;
    explore_all::<ClaimingItem>(Explorer::default(), Reach::Store, WRITERS)
}
