//! The job that removes what has expired.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use table_runtime::{
    Error, KeyPart, TableEntity, Tables,
    backend::{Action, IfMatch},
    inventory::RecordedEntity,
    jobs::{Job, Sweep},
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use super::fixtures::{Session, at, check_found, clocked};
use crate::fixtures::findings;

crate::conformance! {
    a_sweep_removes_what_has_expired_and_nothing_else
    a_sweep_reads_an_index_on_the_time
    a_sweep_continues_at_its_cursor
    a_sweep_of_some_partitions_removes_no_others
    a_sweep_reads_each_slice
    a_sweep_follows_a_clock_that_is_set_back
    a_sweep_leaves_rows_that_it_cannot_read
    the_recorded_layouts_are_enough_for_a_sweep
    a_sweep_by_the_recorded_layouts_excludes_other_writers
    a_sweep_by_the_recorded_layouts_leaves_what_it_cannot_compute
    a_sweep_by_the_recorded_layouts_leaves_rows_that_are_converted
    an_entity_that_cannot_be_removed_does_not_stop_a_sweep
    a_job_treats_an_expired_entity_as_stored
    a_backfill_takes_no_value_from_an_expired_entity
}

async fn a_sweep_removes_what_has_expired_and_nothing_else(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    let session = |id: u32| Session { tenant: format!("t{}", id % 3), ..Session::new(id, Some(u64::from(id))) };
    tables.insert_all((0..60).map(session)).await?;
    tables.insert(&Session::new(99, None)).await?;
    time.set(at(39));
    let mut seen = 0;
    let dry = tables.sweep::<Session>().dry_run().await?;
    assert_eq!((dry.found, dry.removed), (40, 0));
    let swept = tables.sweep::<Session>().progress(|_| ()).await?;
    assert_eq!((swept.found, swept.removed, swept.unreadable), (40, 40, 0));
    for tenant in ["t0", "t1", "t2", "t"] {
        seen += Session::by_key(tenant).count(&tables).await?;
    }
    assert_eq!(seen, 21);
    // No row of an entity that was swept is left, in any table.
    assert_eq!(store.rows("SessionsByEmail").await?.len(), 21);
    assert_eq!(store.rows("SessionCopies").await?.len(), 21);
    assert_eq!(store.rows("SessionTags").await?.len(), 42);
    assert_eq!(findings::<Session>(store).await?, []);
    assert_eq!(tables.sweep::<Session>().await?.found, 0);
    Ok(())
}

/// Entity with an index by which the sweep finds what has expired.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Keys", expires = until, allow_scan)]
#[index(bucketed(partition(id(hash = 3)), row(until)))]
struct Key {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: Option<SystemTime>,
}

/// Entity with an index whose partitions are the times, newest first.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Latches", expires = until, allow_scan)]
#[index(newest(partition(until(reverse_time)), row(id)))]
struct Latch {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

async fn a_sweep_reads_an_index_on_the_time(store: &Store) -> Result<()> {
    let (tables, time, requests) = clocked(store);
    tables.create::<Key>().and::<Latch>().await?;
    let until = |id: u32| at(u64::from(id));
    tables.insert_all((0..30).map(|id| Key { user: format!("u{id}"), id, until: Some(until(id)) })).await?;
    tables.insert(&Key { user: "u".into(), id: 99, until: None }).await?;
    tables.insert_all((0..30).map(|id| Latch { user: format!("u{id}"), id, until: until(id) })).await?;
    time.set(at(9));
    requests.take();
    let found = tables.sweep::<Key>().dry_run().await?;
    assert_eq!(found.found, 10);
    let counts = requests.take();
    assert_eq!((counts.queries, counts.gets), (3, 10), "one query for each bucket, and a read of each entity");
    let found = tables.sweep::<Latch>().dry_run().await?;
    assert_eq!(found.found, 10);
    let counts = requests.take();
    assert_eq!((counts.queries, counts.gets), (1, 10));
    assert_eq!(tables.sweep::<Key>().await?.removed, 10);
    assert_eq!(tables.sweep::<Latch>().await?.removed, 10);
    assert_eq!((Key::scan().count(&tables).await?, Latch::scan().count(&tables).await?), (21, 20));
    assert_eq!(findings::<Key>(store).await?, []);
    assert_eq!(findings::<Latch>(store).await?, []);
    Ok(())
}

async fn a_sweep_of_some_partitions_removes_no_others(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Latch>().and::<Session>().await?;
    // An index leads to the one, and a scan to the other.
    tables.insert_all((0..30).map(|id| Latch { user: format!("u{id:02}"), id, until: at(0) })).await?;
    let session = |id: u32| Session { tenant: format!("u{id:02}"), ..Session::new(id, Some(0)) };
    tables.insert_all((0..30).map(session)).await?;
    time.set(at(1));
    let inventory = tables.inventory().await?;
    let recorded = inventory.entities.iter().find(|entity| entity.name == "Session").expect("it is recorded");
    assert_eq!(tables.sweep::<Latch>().partitions("u10".."u20").await?.removed, 10);
    assert_eq!(tables.sweep::<Session>().partitions("u10"..="u14").await?.removed, 5);
    let swept = inventory.sweep(&tables, recorded).partitions("u15".."u20").await?;
    assert_eq!(swept.removed, 5);
    for table in [&*Latch::INFO.layouts[0].table, &*Session::INFO.layouts[0].table] {
        let partitions = store.rows(table).await?.into_iter().map(|row| row.partition_key);
        // Rows of an index in the table have other partitions.
        let left: BTreeSet<_> = partitions.filter(|key| key.starts_with('u')).collect();
        let expected = (0..10).chain(20..30).map(|id| format!("u{id:02}"));
        assert_eq!(left, expected.collect(), "{table}");
    }
    // Its cursor is that of no other partitions.
    let cursor = swept.cursor.expect("a row was read");
    let other = inventory.sweep(&tables, recorded).resume_from(&cursor)?.await;
    assert!(matches!(other, Err(Error::Cursor(_))), "{other:?}");
    // Each partition belongs to one of the machines.
    let (mut latches, mut sessions) = (0, 0);
    for machine in 0..3 {
        latches += tables.sweep::<Latch>().shard(machine, 3).dry_run().await?.found;
        sessions += tables.sweep::<Session>().shard(machine, 3).await?.removed;
    }
    assert_eq!((latches, sessions), (20, 20));
    Ok(())
}

async fn a_sweep_continues_at_its_cursor(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Latch>().and::<Key>().await?;
    tables.insert_all((0..5).map(|id| Latch { user: "u".into(), id, until: at(0) })).await?;
    time.set(at(1));
    let all = tables.sweep::<Latch>().dry_run().await?;
    let cursor = all.cursor.expect("a row was read");
    assert_eq!(tables.sweep::<Latch>().resume_from(&cursor)?.await?.found, 0);
    assert!(matches!(tables.sweep::<Key>().resume_from(&cursor), Err(Error::Cursor(_))));
    assert!(matches!(tables.sweep::<Latch>().resume_from("other"), Err(Error::Cursor(_))));
    assert_eq!(tables.sweep::<Latch>().await?.removed, 5);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Trace", expires = until, slice = month(at))]
struct Trace {
    #[partition_key]
    source: String,
    #[row_key(time)]
    at: SystemTime,
    until: SystemTime,
}

async fn a_sweep_reads_each_slice(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Trace>().await?;
    let month = Duration::from_hours(31 * 24);
    let traces = (0..4).map(|n| Trace { source: "s".into(), at: at(0) - n * month, until: at(0) + n * month });
    for trace in traces {
        tables.insert(&trace).await?;
    }
    time.set(at(0) + month);
    assert_eq!(Trace::by_key("s").count(&tables).await?, 2);
    assert_eq!(tables.sweep::<Trace>().await?.removed, 2);
    assert_eq!(Trace::by_key("s").count(&tables).await?, 2);
    Ok(())
}

async fn a_sweep_follows_a_clock_that_is_set_back(store: &Store) -> Result<()> {
    // It takes more than a page of rows.
    if store.kind.is_service() {
        return Ok(());
    }
    let (tables, time, _) = clocked(store);
    tables.create::<Latch>().await?;
    tables.insert_all((0..1100).map(|id| Latch { user: "u".into(), id, until: at(5) })).await?;
    time.set(at(10));
    // As the first answer of the service does, if the host's clock is ahead.
    let clock = time.clone();
    let swept = tables.sweep::<Latch>().side_by_side(1).progress(move |_| clock.set(at(0))).await?;
    assert_eq!((swept.found, swept.removed), (1000, 1000));
    assert_eq!(Latch::scan().count(&tables).await?, 100);
    Ok(())
}

async fn a_sweep_leaves_rows_that_it_cannot_read(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(1)), Session::new(2, Some(1))]).await?;
    let mut wrong = Properties::default();
    wrong.push("Note", ValueRef::Int32(1));
    store.write("Sessions", ("t", "id-0000000001"), Action::Merge(wrong, IfMatch::Any)).await?;
    time.set(at(1));
    let swept = tables.sweep::<Session>().await?;
    assert_eq!((swept.found, swept.removed, swept.unreadable), (1, 1, 1));
    Ok(())
}

type RecordedSweep = Job<'static, Sweep<'static, RecordedEntity>>;

/// Sweeps by the recorded layouts. Returns the numbers of entities that were found and removed.
async fn sweep_recorded(
    tables: &Tables,
    entity: &str,
    with: impl FnOnce(RecordedSweep) -> RecordedSweep,
) -> Result<[usize; 2]> {
    let inventory = tables.inventory().await?;
    let entity = inventory.entities.iter().find(|recorded| recorded.name == entity).expect("it is recorded");
    let listed = Arc::new(AtomicUsize::new(0));
    let counter = listed.clone();
    let sweep = with(inventory.sweep(tables, entity)).found(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let swept = sweep.await?;
    assert_eq!(listed.load(Ordering::Relaxed), swept.found);
    assert!(!swept.is_outdated && swept.left == 0 && swept.unreadable == 0, "{swept:?}");
    Ok([swept.found, swept.removed])
}

async fn the_recorded_layouts_are_enough_for_a_sweep(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().and::<Trace>().and::<Key>().await?;
    let session = |id: u32| Session { tenant: format!("t{}", id % 3), ..Session::new(id, Some(u64::from(id))) };
    tables.insert_all((0..60).map(session)).await?;
    tables.insert_all([Session::new(98, None), Session::new(99, None)]).await?;
    assert!(tables.soft_delete(Session::key("t", 98)).await?);
    time.set(at(39));
    let options = |sweep| sweep;
    assert_eq!(sweep_recorded(&tables, "Session", Job::dry_run).await?, [40, 0]);
    assert_eq!(sweep_recorded(&tables, "Session", options).await?, [40, 40]);
    // No row of an entity that was swept is left, in any table.
    assert_eq!(store.rows("SessionsByEmail").await?.len(), 22);
    assert_eq!(store.rows("SessionCopies").await?.len(), 22);
    assert_eq!(store.rows("SessionTags").await?.len(), 44);
    assert_eq!(findings::<Session>(store).await?, []);
    assert_eq!(sweep_recorded(&tables, "Session", options).await?, [0, 0]);
    let emptied = |seconds| move |sweep: RecordedSweep| sweep.deleted_before(Duration::from_secs(seconds));
    assert_eq!(sweep_recorded(&tables, "Session", emptied(40)).await?, [0, 0]);
    assert_eq!(sweep_recorded(&tables, "Session", emptied(39)).await?, [1, 1]);
    assert_eq!(findings::<Session>(store).await?, []);
    // Slices, and an entity that is recorded without a time.
    let month = Duration::from_hours(31 * 24);
    for n in 0..4 {
        tables.insert(&Trace { source: "s".into(), at: at(0) - n * month, until: at(0) + n * month }).await?;
    }
    assert_eq!(sweep_recorded(&tables, "Trace", options).await?, [1, 1]);
    tables.insert(&Key { user: "u".into(), id: 1, until: Some(at(1)) }).await?;
    assert_eq!(sweep_recorded(&tables, "Key", emptied(0)).await?, [1, 1]);
    assert_eq!(findings::<Key>(store).await?, []);
    Ok(())
}

async fn a_sweep_by_the_recorded_layouts_excludes_other_writers(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(1)), Session::new(2, Some(1)), Session::new(3, Some(1))]).await?;
    let (behind, _, _) = clocked(store);
    let mut renewed = Session::key("t", 2).get(&behind).await?.expect("a program whose clock is behind sees it");
    renewed.until = Some(at(90));
    time.set(at(1));
    let inventory = tables.inventory().await?;
    let session = &inventory.entities[0];
    // Another program renews an entity after it was found. A request over the network needs this thread.
    let (mut renewals, is_service) = (0, store.kind.is_service());
    let renew = |_: &_| {
        if renewals == 0 && !is_service {
            let update = || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                runtime.block_on(behind.update(&mut renewed))
            };
            let updated = thread::scope(|scope| scope.spawn(update).join().expect("no panic"));
            updated.expect("it is still there");
            renewals = 1;
        }
    };
    let swept = inventory.sweep(&tables, session).found(renew).await?;
    assert_eq!((swept.found, swept.removed), (3, 3 - renewals), "{swept:?}");
    let left = if renewals == 0 { vec![] } else { vec![2] };
    check_found(&tables, 1..4, &left).await?;
    assert_eq!(findings::<Session>(store).await?, []);
    // The inventory is older than a change of the catalog.
    tables.insert(&Session::new(1, Some(0))).await?;
    let mut other = Properties::default();
    other.push("State", ValueRef::String("Building"));
    let copies = ("layouts", "sessioncopies sessions Session copies");
    store.write("TableLayouts", copies, Action::Merge(other, IfMatch::Any)).await?;
    let swept = inventory.sweep(&tables, session).await?;
    assert!(swept.is_outdated && swept.found == 0, "{swept:?}");
    Ok(())
}

/// Serde writes its variants by names of their own.
#[derive(KeyPart, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum State {
    #[serde(rename = "l")]
    Lent,
}

/// Entity with an index whose keys cannot be computed without its type.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", expires = until)]
struct Book {
    #[partition_key]
    library: String,
    #[row_key]
    id: u32,
    #[index(state, each, same_partition)]
    #[property(json)]
    states: Vec<State>,
    until: SystemTime,
}

async fn a_sweep_by_the_recorded_layouts_leaves_what_it_cannot_compute(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Book>().await?;
    tables.insert(&Book { library: "l".into(), id: 1, states: vec![State::Lent], until: at(1) }).await?;
    time.set(at(1));
    let inventory = tables.inventory().await?;
    let swept = inventory.sweep(&tables, &inventory.entities[0]).await?;
    assert_eq!((swept.found, swept.removed), (1, 0));
    assert_eq!(swept.unknown.into_iter().collect::<Vec<_>>(), [("Book.state".to_owned(), 1)]);
    assert_eq!(store.rows("Books").await?.len(), 2);
    assert_eq!(tables.sweep::<Book>().await?.removed, 1);
    assert!(store.rows("Books").await?.is_empty());
    Ok(())
}

/// Entity whose first version has no shelf.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Volumes", expires = until)]
struct FirstVolume {
    #[partition_key]
    library: String,
    #[row_key(prefix = "id-")]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Volumes", was = "FirstVolume", version = 2, from = FirstVolume, expires = until)]
struct Volume {
    #[partition_key]
    library: String,
    #[row_key]
    id: u32,
    #[index(shelf, same_partition)]
    shelf: u32,
    #[index(state, same_partition)]
    #[property(default)]
    state: u32,
    until: SystemTime,
}

impl From<FirstVolume> for Volume {
    fn from(FirstVolume { library, id, until }: FirstVolume) -> Self {
        Self { library, id, shelf: id, state: 0, until }
    }
}

async fn a_sweep_by_the_recorded_layouts_leaves_rows_that_are_converted(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<FirstVolume>().await?;
    tables.insert(&FirstVolume { library: "l".into(), id: 1, until: at(1) }).await?;
    tables.create::<Volume>().await?;
    let volume = |id| Volume { library: "l".into(), id, shelf: 1, state: 1, until: at(1) };
    tables.insert_all([volume(2), volume(3)]).await?;
    for index in ["shelf", "state"] {
        tables.backfill::<Volume>(index).await?;
    }
    // A program that does not know the state has written this row.
    let row = store.rows("Volumes").await?.into_iter().find(|row| row.row_key == "id-0000000003").expect("a row");
    let mut without = Properties::default();
    row.properties.iter().filter(|(name, _)| *name != "State").for_each(|(name, value)| without.push(name, value));
    store.write("Volumes", ("l", "id-0000000003"), Action::Replace(without, IfMatch::Any)).await?;
    time.set(at(1));
    let inventory = tables.inventory().await?;
    let swept = inventory.sweep(&tables, &inventory.entities[0].clone()).await?;
    // The catalog records the state that a row without one has.
    assert_eq!((swept.found, swept.removed), (3, 2), "{swept:?}");
    assert_eq!((swept.left, swept.unknown.len()), (1, 1), "{swept:?}");
    assert_eq!(tables.sweep::<Volume>().await?.removed, 1);
    Ok(())
}

async fn an_entity_that_cannot_be_removed_does_not_stop_a_sweep(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(1)), Session { tags: vec![], ..Session::new(2, Some(1)) }]).await?;
    let mut damage = Properties::default();
    damage.push("IndexedEntities", ValueRef::String("[]x"));
    store.write("Sessions", ("t", "named-Name1"), Action::Merge(damage, IfMatch::Any)).await?;
    time.set(at(1));
    let recorded = tables.inventory().await?;
    let swept = recorded.sweep(&tables, &recorded.entities[0]).await?;
    assert_eq!((swept.found, swept.removed), (2, 1), "{swept:?}");
    assert_eq!(swept.unknown.into_iter().collect::<Vec<_>>(), [("Session".to_owned(), 1)]);
    tables.insert(&Session::new(3, Some(0))).await?;
    let swept = tables.sweep::<Session>().await?;
    assert_eq!((swept.found, swept.removed, swept.left), (2, 1, 1));
    Ok(())
}

async fn a_job_treats_an_expired_entity_as_stored(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(1)), Session::new(2, None)]).await?;
    // Another program has given the visible entity the address of the other one, without the index.
    let mut email = Properties::default();
    email.push("Email", ValueRef::String("mail1@x.org"));
    store.write("Sessions", ("t", "id-0000000002"), Action::Merge(email, IfMatch::Any)).await?;
    let before = store.rows("Sessions").await?.len();
    time.set(at(1));
    let repaired = tables.repair::<Session>().await?;
    assert_eq!(repaired.left.len(), 1, "{:?}", repaired.left);
    assert!(repaired.left[0].to_string().contains("mail1@x.org"), "{}", repaired.left[0]);
    assert_eq!(store.rows("Sessions").await?.len(), before, "nothing was removed");
    tables.sweep::<Session>().await?;
    assert_eq!(tables.repair::<Session>().await?.left, []);
    assert!(Session::by_email("mail1@x.org").get(&tables).await?.is_some());
    Ok(())
}

/// Ticket before it had indexes.
#[derive(TableEntity)]
#[table(name = "Tickets", entity = "Ticket", expires = until)]
struct OldTicket {
    #[partition_key]
    hall: String,
    #[row_key(prefix = "id-")]
    id: u32,
    code: String,
    seat: u32,
    until: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(name = "Tickets", expires = until)]
struct Ticket {
    #[partition_key]
    hall: String,
    #[row_key]
    id: u32,
    #[index(code, unique)]
    code: String,
    #[index(seat, same_partition, unique)]
    seat: u32,
    until: Option<SystemTime>,
}

async fn a_backfill_takes_no_value_from_an_expired_entity(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<OldTicket>().await?;
    let ticket = |id, until| OldTicket { hall: "h".into(), id, code: "x".into(), seat: 7, until };
    tables.insert_all([ticket(1, Some(at(1))), ticket(2, None)]).await?;
    tables.create::<Ticket>().await?;
    time.set(at(1));
    for index in ["code", "seat"] {
        let filled = tables.backfill::<Ticket>(index).await?;
        assert_eq!((filled.written, filled.conflicts.len(), filled.ready), (1, 1, false), "{index}: {filled:?}");
        // A second one finds the row of the first.
        let again = tables.backfill::<Ticket>(index).await?;
        assert_eq!((again.written, again.conflicts.len()), (0, 1), "{index}: {again:?}");
    }
    let ids = store.rows("Tickets").await?.into_iter().filter(|row| row.row_key.starts_with("id-")).count();
    assert_eq!(ids, 2, "no ticket was removed");
    tables.sweep::<Ticket>().await?;
    for index in ["code", "seat"] {
        assert!(tables.backfill::<Ticket>(index).await?.ready, "{index}");
    }
    assert!(Ticket::by_code("x").exists(&tables).await? && Ticket::by_seat("h").eq(7_u32).exists(&tables).await?);
    Ok(())
}
