//! Every interleaving of programs of three versions on one store: a rolling deployment that adds an index, a rollback, a
//! dropped index, a backfill, with leases that expire at every moment.
//!
//! Version 1 has no index, version 2 has a unique one, and version 3 has the index and one more property. A query judges
//! itself: it looks at the entities that readers see when it begins and when it ends. As each write leaves another note,
//! an entity that is the same at both moments was the same between them.
//!
//! The store cannot distinguish a waiting program from a crashed one. So the recovery of every state covers every crash.

use std::{
    cell::RefCell,
    collections::HashSet,
    future::{IntoFuture, poll_fn},
    task::Poll,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, BackendExt, Group, Operation},
    row::{Properties, ValueRef},
};
use tests::{
    depth::Depth,
    explore::{Explored, Explorer, Op, Progress, Seen, Stage, side_by_side, staged},
    items::contents,
    plain::Plain,
};

/// Length of a lease, and half of it.
const LEASE: Duration = Duration::from_mins(1);
const HALF: Duration = Duration::from_secs(30);

/// Values that entities have in the tests.
const VALUES: std::ops::Range<u32> = 1..5;

/// An entity as a test sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fields {
    id: u32,
    value: u32,
    /// A number that each write changes.
    note: u32,
    /// The property that only version 3 knows.
    more: Option<u32>,
}

const fn fields(id: u32, value: u32, note: u32) -> Fields {
    Fields { id, value, note, more: None }
}

/// A version of the program.
trait Version: TableEntity + 'static {
    fn new(fields: Fields) -> Self;

    /// Writes, and returns whether the store has accepted it.
    fn apply(tables: &Tables, write: Write) -> impl Future<Output = table_runtime::Result<bool>>;
}

/// A version that has the index.
trait Indexed: Version {
    fn find(tables: &Tables, value: u32) -> impl Future<Output = table_runtime::Result<Option<Fields>>>;
}

/// A write with its note. Items are given by their key and their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Insert(u32, u32, u32),
    /// Update of an item that is read first.
    Update(u32, u32, u32),
    /// Deletion of an item that is read first.
    Delete(u32),
}

use Write::{Delete, Insert, Update};

impl Write {
    const fn id(self) -> u32 {
        let (Insert(id, ..) | Update(id, ..) | Delete(id)) = self;
        id
    }
}

macro_rules! version {
    ($version:ident [$($index:tt)*] [$($more:ident)?] $(|$value:ident| $query:expr)?) => {
        pub(super) mod $version {
            use table_runtime::{Result, TableEntity, Tables};

            use crate::deployments::{self, Fields, Write};

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items", entity = "Item")]
            $($index)*
            pub(crate) struct Item {
                #[partition_key]
                pub(crate) group: String,
                #[row_key(prefix = "id-")]
                pub(crate) id: u32,
                pub(crate) value: u32,
                pub(crate) note: u32,
                $(pub(crate) $more: Option<u32>,)?
            }

            impl deployments::Version for Item {
                fn new(fields: Fields) -> Self {
                    let Fields { id, value, note, .. } = fields;
                    Self { group: "a".to_owned(), id, value, note, $($more: fields.$more)? }
                }

                async fn apply(tables: &Tables, write: Write) -> Result<bool> {
                    if let Write::Insert(id, value, note) = write {
                        tables.insert(&Self::new(deployments::fields(id, value, note))).await?;
                        return Ok(true);
                    }
                    let Some(mut stored) = Item::key("a", write.id()).get(tables).await? else { return Ok(false) };
                    if let Write::Update(_, value, note) = write {
                        (stored.value, stored.note) = (value, note);
                        tables.update(&mut stored).await?;
                    } else {
                        tables.delete(&stored).await?;
                    }
                    Ok(true)
                }
            }

            $(impl deployments::Indexed for Item {
                async fn find(tables: &Tables, $value: u32) -> Result<Option<Fields>> {
                    let found = $query.get(tables).await?;
                    Ok(found.map(|found| deployments::fields(found.id, found.value, found.note)))
                }
            })?
        }
    };
}

/// Declares the versions of a program with this index.
macro_rules! programs {
    ($($name:ident [$($index:tt)+] |$value:ident| $query:expr;)+) => {$(
        pub(super) mod $name {
            version! { v1 [] [] }
            version! { v2 [#[index($($index)+)]] [] |$value| $query }
            version! { v3 [#[index($($index)+)]] [more] |$value| $query }

            pub(crate) struct Programs;

            impl crate::deployments::Programs for Programs {
                type V1 = v1::Item;
                type V2 = v2::Item;
                type V3 = v3::Item;
            }
        }
    )+};
}

mod programs {
    programs! {
        elsewhere [value, unique] |value| Item::by_value(value);
        in_partition [value, same_partition, unique] |value| Item::by_value("a").eq(value);
    }
}

/// The three versions of a program.
trait Programs {
    type V1: Version;
    type V2: Indexed;
    type V3: Indexed;
}

/// Returns the items that readers see, in the order of their keys.
fn visible(store: &Plain) -> Vec<Fields> {
    let mut items = Vec::new();
    store.for_each_row(|table, row| {
        if table != "Items" || !row.row_key.starts_with("id-") || row.properties.get("IndexPending").is_some() {
            return;
        }
        let number = |name: &str| match row.properties.get(name) {
            Some(ValueRef::Int64(value)) => u32::try_from(value).ok(),
            _ => None,
        };
        let id = row.row_key.trim_start_matches("id-").parse().ok();
        let item = id.zip(number("Value")).zip(number("Note"));
        let ((id, value), note) = item.expect("a row of an item");
        items.push(Fields { id, value, note, more: number("More") });
    });
    items
}

/// Returns the recorded state of the index.
fn state(store: &Plain) -> Option<String> {
    let mut state = None;
    store.for_each_row(|table, row| {
        if table == "TableLayouts" && row.row_key.ends_with(" value") {
            state = row.properties.get("State").map(|state| format!("{state}"));
        }
    });
    state
}

fn is_ready(store: &Plain) -> bool {
    state(store).is_some_and(|state| state.contains("Ready"))
}

/// Programs whose users have to keep others away.
#[derive(Clone, Copy, Debug)]
enum Running {
    /// Version 1. A backfill must not begin.
    V1,
    /// A version 2 that builds the index. A drop must not begin.
    Builder,
}

/// Notes in the store whether the program of an operation is running.
fn note_running(store: &Plain, program: Running, number: usize, is_running: bool) {
    let mut properties = Properties::default();
    properties.push("Running", ValueRef::Boolean(is_running));
    let operations = vec![Operation { row_key: number.to_string(), action: Action::Upsert(properties) }];
    let group = Group { table: "Running".into(), partition_key: format!("{program:?}"), operations };
    let noted = store.execute_group(&group).now_or_never().expect("a plain store does not wait");
    noted.expect("the table exists");
}

fn is_any_running(store: &Plain, program: Running) -> bool {
    let mut is_any = false;
    let program = format!("{program:?}");
    store.for_each_row(|table, row| {
        is_any |= table == "Running"
            && row.partition_key == program
            && row.properties.get("Running") == Some(ValueRef::Boolean(true));
    });
    is_any
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Version 2, which was started before, writes if there is something to write, and queries this value.
    V2(Option<Write>, u32),
    /// The same of version 3.
    V3(Option<Write>, u32),
    /// Version 2 starts, builds the index unless version 1 is running, and queries this value.
    Deploy(u32),
    /// Version 2 builds the index unless version 1 is running.
    Fill,
    /// Version 1, which was started before version 2, writes.
    V1(Write),
    /// Version 1 starts, and writes.
    Start(Option<Write>),
    /// Version 1 takes the index back, starts, and writes.
    Rollback(Option<Write>),
    /// Version 1 drops the index, starts, and writes.
    Drop(Option<Write>),
    /// Half of a lease passes, and then a whole one.
    Time,
}

/// Outcome of an operation. A part that the operation does not have, or did not come to, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// True if `create` or the job succeeded.
    began: Option<bool>,
    /// True if the write succeeded.
    written: Option<bool>,
    /// True if the query succeeded.
    answered: Option<bool>,
}

async fn write<V: Version>(stage: &Stage, wanted: Option<Write>) -> Option<bool> {
    Some(match V::apply(&stage.tables, wanted?).await {
        Ok(written) => written,
        Err(
            Error::AlreadyExists(_)
            | Error::UniqueViolation(_)
            | Error::ConditionNotMet(_)
            | Error::NotFound(_)
            | Error::Aborted(_),
        ) => false,
        Err(error) => panic!("{error}"),
    })
}

/// Queries a value, and judges the answer.
async fn query<V: Indexed>(stage: &Stage, value: u32) -> Option<bool> {
    let before = stage.look(visible);
    let found = V::find(&stage.tables, value).await;
    let after = stage.look(visible);
    let found = match found {
        Ok(found) => found,
        Err(Error::IndexBuilding { .. } | Error::IndexDropped { .. } | Error::IndexNotRecorded { .. }) => {
            return Some(false);
        }
        Err(error) => panic!("{error}"),
    };
    let kept: Vec<_> =
        before.iter().filter(|item| after.contains(item)).map(|item| fields(item.id, item.value, item.note)).collect();
    let having: Vec<_> = kept.iter().filter(|item| item.value == value).collect();
    assert!(having.len() < 2, "{having:?} share a unique value, and a query succeeds");
    if let Some(item) = having.first() {
        assert_eq!(found.as_ref(), Some(*item), "an item that had the value all the time");
    }
    if let Some(found) = found {
        assert_eq!(found.value, value, "{found:?} does not have the value");
        let is_of = |item: &&Fields| item.id == found.id;
        assert!(before.iter().chain(&after).any(|item| item.id == found.id), "{found:?} was not there");
        assert!(kept.iter().find(is_of).is_none_or(|item| *item == found), "{found:?} was another one all the time");
    }
    Some(true)
}

/// Starts version 1. Returns whether it was accepted.
async fn start<V: Version>(stage: &Stage, number: usize, demotes: bool) -> bool {
    let create = stage.tables.create::<V>();
    let created = if demotes { create.demote_missing_indexes().await } else { create.await };
    match created {
        Ok(()) => {
            let found = stage.look(|store| {
                note_running(store, Running::V1, number, true);
                state(store)
            });
            let found = found.unwrap_or_default();
            assert!(
                !found.contains("Ready") && !found.contains("Leaving"),
                "a program without the index was accepted: {found}"
            );
            true
        }
        Err(Error::IndexMissing(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Builds the index, unless version 1 is running when the backfill begins, which is when it reads the record.
async fn build<V: Version>(stage: &Stage) -> Option<bool> {
    let mut backfill = stage.tables.backfill::<V>("value").into_future();
    // The records of each table are read by one request.
    let tables: HashSet<_> = V::INFO.layouts.iter().map(|layout| &*layout.table).collect();
    let mut polls = 0;
    let filled = poll_fn(|context| {
        if (1..=tables.len()).contains(&polls) && stage.look(|store| is_any_running(store, Running::V1)) {
            return Poll::Ready(None);
        }
        polls += 1;
        backfill.as_mut().poll(context).map(Some)
    });
    Some(match filled.await? {
        Ok(filled) => filled.ready,
        Err(Error::IndexBuilding { .. } | Error::IndexDropped { .. }) => false,
        Err(error) => panic!("{error}"),
    })
}

/// Runs an operation. `is_known` is true if the index is recorded when the operations begin, and none of them drops it.
async fn run<P: Programs>(stage: Stage, act: Act, number: usize, is_known: bool) -> Outcome {
    // The operation begins at any moment.
    if act != Act::Time {
        stage.wait(Duration::ZERO).await;
    }
    let mut outcome = Outcome::default();
    match act {
        Act::V2(wanted, value) => {
            outcome.written = write::<P::V2>(&stage, wanted).await;
            outcome.answered = query::<P::V2>(&stage, value).await;
        }
        Act::V3(wanted, value) => {
            outcome.written = write::<P::V3>(&stage, wanted).await;
            outcome.answered = query::<P::V3>(&stage, value).await;
        }
        Act::Deploy(value) => {
            stage.look(|store| note_running(store, Running::Builder, number, true));
            match stage.tables.create::<P::V2>().await {
                Ok(()) => {
                    outcome.began = build::<P::V2>(&stage).await;
                    outcome.answered = query::<P::V2>(&stage, value).await;
                }
                Err(Error::IndexDropped { .. }) => outcome.began = Some(false),
                Err(error) => panic!("{error}"),
            }
            stage.look(|store| note_running(store, Running::Builder, number, false));
        }
        Act::Fill => {
            stage.look(|store| note_running(store, Running::Builder, number, true));
            outcome.began = build::<P::V2>(&stage).await;
            stage.look(|store| note_running(store, Running::Builder, number, false));
        }
        Act::V1(wanted) => {
            outcome.written = write::<P::V1>(&stage, Some(wanted)).await;
            stage.look(|store| note_running(store, Running::V1, number, false));
        }
        Act::Start(wanted) | Act::Rollback(wanted) | Act::Drop(wanted) => {
            if !is_known {
                // The index may come after its `create` has read the catalog. Then it counts as running since before.
                stage.look(|store| note_running(store, Running::V1, number, true));
            }
            if matches!(act, Act::Drop(_)) {
                if stage.look(|store| is_any_running(store, Running::Builder)) {
                    stage.look(|store| note_running(store, Running::V1, number, false));
                    return outcome;
                }
                match stage.tables.drop_index::<P::V1>("value").await {
                    // The index may not be recorded, or not any more.
                    Ok(_) | Err(Error::Query(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            let began = start::<P::V1>(&stage, number, matches!(act, Act::Rollback(_))).await;
            outcome.began = Some(began);
            if began {
                outcome.written = write::<P::V1>(&stage, wanted).await;
            }
            stage.look(|store| note_running(store, Running::V1, number, false));
        }
        Act::Time => {
            stage.wait(HALF).await;
            stage.wait(LEASE).await;
        }
    }
    outcome
}

impl Act {
    fn write(self) -> Option<Write> {
        match self {
            Self::V2(write, _)
            | Self::V3(write, _)
            | Self::Start(write)
            | Self::Rollback(write)
            | Self::Drop(write) => write,
            Self::V1(write) => Some(write),
            Self::Deploy(_) | Self::Fill | Self::Time => None,
        }
    }
}

/// Contents of the store when the operations begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// Version 1 has written nothing, or two items with different values. The index is not recorded.
    Empty,
    Old,
    /// Version 1 has written two items with one value, and version 2 has recorded the index.
    Twins,
    /// Version 1 has written two items, and version 2 has recorded the index.
    Building,
    /// Version 3 has written two items, and the index is ready.
    Ready,
}

const ONE: Fields = Fields { id: 1, value: 1, note: 0, more: Some(7) };
const TWO: Fields = Fields { id: 2, value: 2, note: 0, more: Some(8) };

impl Begin {
    /// Returns the items.
    fn items(self) -> Vec<Fields> {
        let old = |item: Fields| Fields { more: None, ..item };
        match self {
            Self::Empty => Vec::new(),
            Self::Old | Self::Building => vec![old(ONE), old(TWO)],
            Self::Twins => vec![old(ONE), Fields { value: 1, ..old(TWO) }],
            Self::Ready => vec![ONE, TWO],
        }
    }

    async fn store<P: Programs>(self) -> Result<Plain> {
        let store = Plain::default();
        let tables = store.tables();
        store.create_table("Running").await?;
        if self == Self::Ready {
            tables.create::<P::V3>().await?;
        } else {
            tables.create::<P::V1>().await?;
        }
        for item in self.items() {
            if self == Self::Ready {
                tables.insert(&P::V3::new(item)).await?;
            } else {
                tables.insert(&P::V1::new(item)).await?;
            }
        }
        if matches!(self, Self::Twins | Self::Building) {
            tables.create::<P::V2>().await?;
        }
        Ok(store)
    }
}

/// Checks of every state, with one recovery for each distinct content of the store.
struct Check<'a> {
    begin: Begin,
    acts: &'a [Act],
    visited: RefCell<HashSet<Vec<u64>>>,
}

impl Check<'_> {
    async fn check<P: Programs>(&self, seen: &Seen<'_, Outcome>) -> Result<()> {
        let items = visible(&seen.store);
        self.is_none_lost(seen, &items)?;
        if self.visited.borrow_mut().insert(contents(&seen.store)) {
            if is_ready(&seen.store) {
                exact::<P>(&seen.tables, &items).await.context("in a ready index")?;
            }
            recovered::<P>(seen, &items).await.context("recovery")?;
        }
        Ok(())
    }

    /// Checks that no item and no property is lost, and that acknowledged writes are stored.
    fn is_none_lost(&self, seen: &Seen<'_, Outcome>, items: &[Fields]) -> Result<()> {
        let writes = || self.acts.iter().filter_map(|act| act.write());
        for item in self.begin.items() {
            let found = items.iter().find(|found| found.id == item.id);
            ensure!(found.is_none_or(|found| found.more == item.more), "{item:?} lost a property: {found:?}");
            if writes().all(|write| write.id() != item.id) {
                ensure!(found == Some(&item), "{item:?} is lost: {found:?}");
            }
            if writes().all(|write| write != Delete(item.id)) {
                ensure!(found.is_some(), "{item:?} is lost");
            }
        }
        for (act, progress) in self.acts.iter().zip(&seen.ops) {
            let (Some(write), Progress::Ended(Outcome { written: Some(true), .. })) = (act.write(), progress) else {
                continue;
            };
            if writes().filter(|other| other.id() == write.id()).count() > 1 {
                continue;
            }
            let found = items.iter().find(|found| found.id == write.id());
            let is_stored = match write {
                Insert(_, value, note) | Update(_, value, note) => {
                    found.is_some_and(|found| (found.value, found.note) == (value, note))
                }
                Delete(_) => found.is_none(),
            };
            ensure!(is_stored, "{write:?} was acknowledged, and {found:?} is stored");
        }
        Ok(())
    }
}

/// Checks that the index finds exactly these items, by a program that starts now.
async fn exact<P: Programs>(tables: &Tables, items: &[Fields]) -> Result<()> {
    for value in VALUES {
        let having: Vec<_> = items.iter().filter(|item| item.value == value).collect();
        ensure!(having.len() < 2, "{having:?} share a unique value");
        let found = P::V2::find(tables, value).await?;
        let item = having.first().map(|item| fields(item.id, item.value, item.note));
        ensure!(found == item, "by value {value}: {found:?} instead of {item:?}");
    }
    Ok(())
}

/// Deploys version 2 after every program has crashed. Checks that the index is then ready and exact, and that the store has
/// no error.
async fn recovered<P: Programs>(seen: &Seen<'_, Outcome>, items: &[Fields]) -> Result<()> {
    let tables = seen.store.tables();
    let mut items = items.to_vec();
    match tables.create::<P::V2>().await {
        Err(Error::IndexDropped { .. }) => {
            tables.drop_index::<P::V1>("value").await?;
            tables.create::<P::V2>().await?;
        }
        created => created?,
    }
    let filled = tables.backfill::<P::V2>("value").await?;
    ensure!(filled.ready == filled.conflicts.is_empty(), "{filled:?}");
    if !filled.ready {
        let twin = |item: &Fields| items.iter().any(|other| other.id != item.id && other.value == item.value);
        let twins: Vec<_> = items.iter().filter(|item| twin(item)).map(|item| item.id).collect();
        ensure!(!twins.is_empty(), "a backfill found a conflict where no two items share a value");
        for id in &twins[1..] {
            ensure!(P::V2::apply(&tables, Update(*id, 100 + id, 100)).await?, "the item exists");
        }
        items = visible(&seen.store);
        let filled = tables.backfill::<P::V2>("value").await?;
        ensure!(filled.ready, "{filled:?}");
    }
    let repaired = tables.repair::<P::V2>().await?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    let findings = tables.verify::<P::V2>().all().await?;
    ensure!(findings.is_empty(), "{findings:?}");
    ensure!(visible(&seen.store) == items, "readers see {:?} instead of {items:?}", visible(&seen.store));
    exact::<P>(&seen.store.tables(), &items).await
}

/// Explores operations that begin at any time.
fn explore<P: Programs + 'static>(begin: Begin, acts: &[Act]) -> Result<Explored> {
    let timer = Instant::now();
    let store = begin.store::<P>().now_or_never().context("a plain store does not wait")??;
    let is_known = !matches!(begin, Begin::Empty | Begin::Old) && !acts.iter().any(|act| matches!(act, Act::Drop(_)));
    let operation = |(number, act): (usize, &Act)| -> Op<Outcome> {
        let act = *act;
        let op = staged(format!("{act:?}"), move |stage| run::<P>(stage, act, number, is_known));
        match act {
            Act::V1(_) => op.prepared(move |stage| async move {
                stage.tables.create::<P::V1>().await.expect("version 2 has not started");
                stage.look(|store| note_running(store, Running::V1, number, true));
            }),
            Act::V2(..) => op.prepared(|stage| async move { stage.tables.create::<P::V2>().await.expect("it fits") }),
            Act::V3(..) => op.prepared(|stage| async move { stage.tables.create::<P::V3>().await.expect("it fits") }),
            _ => op,
        }
    };
    let ops: Vec<_> = acts.iter().enumerate().map(operation).collect();
    let check = Check { begin, acts, visited: RefCell::default() };
    let explored = Explorer::default().explore(&store, &ops, async |seen| check.check::<P>(seen).await);
    let explored = explored.with_context(|| format!("{acts:?} on {begin:?}"))?;
    if Depth::Full.is_reached() {
        println!("{begin:?} {acts:?} {explored:?} {} stores {:?}", check.visited.borrow().len(), timer.elapsed());
    }
    Ok(explored)
}

/// Sets of operations, each with the contents of the store before them.
type Sets = &'static [(Begin, &'static [Act])];

const READ: Act = Act::V2(None, 1);
const INSERT: Act = Act::V2(Some(Insert(4, 3, 21)), 3);
const UPDATE: Act = Act::V3(Some(Update(1, 3, 31)), 1);
const DELETE: Act = Act::V2(Some(Delete(1)), 1);

/// Version 1 comes back while version 2 is running.
const ROLLBACKS: Sets = &[
    (Begin::Ready, &[READ, Act::Rollback(Some(Update(2, 1, 11)))]),
    (Begin::Ready, &[READ, Act::Rollback(Some(Insert(3, 1, 12))), Act::Time]),
    (Begin::Ready, &[INSERT, Act::Rollback(Some(Insert(3, 3, 14)))]),
    (Begin::Ready, &[UPDATE, Act::Rollback(Some(Insert(3, 1, 12)))]),
    (Begin::Ready, &[DELETE, Act::Rollback(Some(Insert(3, 1, 12)))]),
    (Begin::Ready, &[READ, Act::Start(Some(Insert(3, 1, 12))), Act::Rollback(None)]),
];

/// The same while the index is built again.
const ROLLBACKS_AND_BACKFILLS: Sets = &[
    (Begin::Ready, &[Act::Rollback(None), Act::Fill]),
    (Begin::Ready, &[Act::Rollback(Some(Update(1, 3, 13))), Act::Fill]),
    (Begin::Ready, &[READ, Act::Rollback(None), Act::Fill]),
    (Begin::Ready, &[READ, Act::Rollback(Some(Update(1, 3, 13))), Act::Fill]),
    (Begin::Ready, &[INSERT, Act::Rollback(Some(Insert(3, 3, 14))), Act::Fill]),
    (Begin::Ready, &[UPDATE, Act::Rollback(Some(Insert(3, 1, 12))), Act::Fill]),
    (Begin::Ready, &[DELETE, Act::Rollback(Some(Insert(3, 1, 12))), Act::Fill]),
];

/// Version 1 starts while the index is built.
const BUILDING: Sets = &[
    (Begin::Building, &[Act::Start(Some(Update(2, 1, 11))), Act::Fill]),
    (Begin::Building, &[Act::Start(Some(Insert(3, 1, 12))), Act::Fill]),
    (Begin::Building, &[Act::Start(Some(Delete(1))), Act::Fill]),
    (Begin::Twins, &[Act::Start(Some(Delete(1))), Act::Fill]),
];

/// The same beside version 2.
const BUILDING_AND_WRITES: Sets = &[
    (Begin::Building, &[READ, Act::Start(None), Act::Fill]),
    (Begin::Building, &[READ, Act::Start(Some(Update(2, 1, 11))), Act::Fill]),
    (Begin::Building, &[READ, Act::Start(Some(Insert(3, 1, 12))), Act::Fill]),
    (Begin::Building, &[INSERT, Act::Start(Some(Insert(3, 3, 14))), Act::Fill]),
    (Begin::Building, &[UPDATE, Act::Start(Some(Delete(1))), Act::Fill]),
    (Begin::Building, &[Act::Fill, Act::Fill, Act::Start(Some(Update(1, 4, 15)))]),
    (Begin::Twins, &[DELETE, Act::Start(Some(Insert(3, 3, 14))), Act::Fill]),
];

/// Version 2 comes to a store that version 1 uses.
const DEPLOYMENTS: Sets = &[
    (Begin::Empty, &[Act::V1(Insert(3, 3, 14)), Act::Deploy(3)]),
    (Begin::Old, &[Act::V1(Update(1, 4, 15)), Act::Deploy(4)]),
    (Begin::Old, &[Act::Start(Some(Insert(3, 1, 12))), Act::Deploy(1)]),
];

/// The index is dropped.
const DROPS: Sets = &[
    (Begin::Ready, &[READ, Act::Drop(Some(Update(2, 1, 11)))]),
    (Begin::Ready, &[INSERT, Act::Drop(Some(Insert(3, 3, 14)))]),
    (Begin::Ready, &[UPDATE, Act::Drop(Some(Delete(2)))]),
];

/// The index is dropped while time passes, while it is built, and comes back.
const MORE_DROPS: Sets = &[
    (Begin::Building, &[Act::Fill, Act::Drop(None)]),
    (Begin::Ready, &[READ, Act::Drop(Some(Insert(3, 1, 12))), Act::Time]),
    (Begin::Ready, &[Act::Drop(Some(Insert(3, 3, 14))), Act::Deploy(3)]),
    (Begin::Building, &[Act::Fill, Act::Drop(Some(Insert(3, 3, 14))), READ]),
];

fn explore_all<P: Programs + 'static>(sets: Sets) -> Result<()> {
    let began = Instant::now();
    let explored = side_by_side(sets, |(begin, acts)| explore::<P>(*begin, acts))?;
    let states: usize = explored.iter().map(|explored| explored.states).sum();
    let edges: usize = explored.iter().map(|explored| explored.edges).sum();
    println!("{} sets, {states} states, {edges} edges in {:?}", sets.len(), began.elapsed());
    Ok(())
}

/// Declares the tests of a kind of index. The tests in the second list explore their first set, and all sets in a full
/// search.
macro_rules! kinds {
    ($($kind:ident [$($test:ident: $sets:ident;)+] [$($long_test:ident: $long:ident;)*];)+) => {$(
        mod $kind {
            use super::*;
            use programs::$kind::Programs;

            $(#[test]
            fn $test() -> Result<()> {
                explore_all::<Programs>($sets)
            })+

            $(#[test]
            fn $long_test() -> Result<()> {
                explore_all::<Programs>(&$long[..Depth::choose(1, 1, $long.len())])
            })*
        }
    )+};
}

kinds! {
    in_partition [
        rollbacks: ROLLBACKS;
        building: BUILDING;
        building_and_writes: BUILDING_AND_WRITES;
        deployments: DEPLOYMENTS;
        drops: DROPS;
        more_drops: MORE_DROPS;
    ] [
        rollbacks_and_backfills: ROLLBACKS_AND_BACKFILLS;
    ];
    elsewhere [
        rollbacks: ROLLBACKS;
        building: BUILDING;
        deployments: DEPLOYMENTS;
        drops: DROPS;
    ] [
        rollbacks_and_backfills: ROLLBACKS_AND_BACKFILLS;
        building_and_writes: BUILDING_AND_WRITES;
        more_drops: MORE_DROPS;
    ];
}
