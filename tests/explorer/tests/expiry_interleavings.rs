//! Every interleaving of writes of entities that expire, by two programs whose clocks differ. In every state, the guarantees
//! for the stored rows hold whatever the clocks show, and no program reads an entity past its time by its own clock.
//!
//! The clock of the first program is before the time of the items, and that of the second one after it. So each order of a
//! renewal, an expiry and a take-over is explored.

use std::{cell::RefCell, collections::HashSet, future::poll_fn, pin::pin, task::Poll, time::SystemTime};

use anyhow::{Context, Result, ensure};
use depth::Depth;
use explorer::{
    explore::{Crashes, Explorer, Op, Progress, Seen, Stage, side_by_side, staged},
    items::contents,
    plain::Plain,
};
use futures_util::FutureExt;
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Backend, Reach},
    testing::Clocked,
};

/// The time from which on the items of the beginning are absent, and the moments of the two programs.
const UNTIL: u64 = 1_000;
const BEHIND: u64 = 500;
const AHEAD: u64 = 1_500;
/// The time of a renewed item, which no clock reaches.
const RENEWED: u64 = 9_000;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
}

/// Returns the tables of a store for a program whose clock shows this moment.
fn tables(store: impl Backend, seconds: u64) -> Tables {
    Tables::new(Clocked::new(store, at(seconds)).0)
}

/// The fields of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fields {
    id: u32,
    value: u32,
    until: u64,
}

/// Operations of the program whose clock is behind, or ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// An insert of a renewed item.
    Insert(u32, u32),
    InsertAll(u32, u32),
    /// A transaction that inserts two renewed items.
    InsertBoth((u32, u32), (u32, u32)),
    Upsert(u32, u32),
    /// An update to a value, of an item that is read first, which renews it.
    Renew(u32, u32),
    /// A change to a value that does not renew the item.
    Change(u32, u32),
    Modify(u32, u32),
    ModifyOrInsert(u32, u32),
    /// An insert of a renewed item, unless there is one with its key.
    GetOrInsert(u32, u32),
    Delete(u32),
    Patch(u32),
    Sweep,
    Repair,
}

use Act::{
    Change, Delete, GetOrInsert, Insert, InsertAll, InsertBoth, Modify, ModifyOrInsert, Patch, Renew, Repair, Sweep,
    Upsert,
};

impl Act {
    /// Returns the keys and values of the items that it writes as renewed ones.
    fn renewed(self) -> Vec<(u32, u32)> {
        match self {
            Insert(id, value)
            | InsertAll(id, value)
            | Upsert(id, value)
            | Renew(id, value)
            | Modify(id, value)
            | ModifyOrInsert(id, value)
            | GetOrInsert(id, value) => vec![(id, value)],
            InsertBoth(one, other) => vec![one, other],
            Change(..) | Delete(_) | Patch(_) | Sweep | Repair => Vec::new(),
        }
    }

    /// Checks whether it may write these fields of an item, which had some of these at the beginning.
    fn writes(self, begun: &[Fields], fields: Fields) -> bool {
        match self {
            Change(id, value) => {
                let is_renewed = |before: &Fields| before.id == id && before.until == fields.until;
                (id, value) == (fields.id, fields.value) && (fields.until == RENEWED || begun.iter().any(is_renewed))
            }
            act => fields.until == RENEWED && act.renewed().contains(&(fields.id, fields.value)),
        }
    }

    /// Checks whether it may change or delete an item, apart from its likes.
    fn changes(self, id: u32) -> bool {
        match self {
            Change(changed, _) | Delete(changed) => changed == id,
            act => act.renewed().iter().any(|(renewed, _)| *renewed == id),
        }
    }
}

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Behind,
    Ahead,
}

use By::{Ahead, Behind};

impl By {
    const fn seconds(self) -> u64 {
        match self {
            Behind => BEHIND,
            Ahead => AHEAD,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// There was this item already.
    Found(Fields),
    Nothing,
    Exists,
    Violation,
    Conflict,
    /// It was dropped because it was repeated too often.
    Left,
    /// An answer was lost.
    Unknown,
}

/// Returns the number of waits after which an operation is dropped. Two operations may make each other begin again without end, because
/// the delays between attempts take no time here.
fn repeated() -> usize {
    Depth::choose(18, 20, 24)
}

/// Polls an operation until it has waited this often, and drops it.
async fn unless(most: usize, operation: impl Future<Output = Outcome>) -> Outcome {
    let (mut operation, mut waited) = (pin!(operation), 0);
    poll_fn(|context| match operation.as_mut().poll(context) {
        Poll::Pending if waited == most => Poll::Ready(Outcome::Left),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
        ended @ Poll::Ready(_) => ended,
    })
    .await
}

fn outcome<T>(result: table_runtime::Result<T>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(Error::AlreadyExists(_)) => Outcome::Exists,
        Err(Error::UniqueViolation(_)) => Outcome::Violation,
        Err(Error::ConditionNotMet(_) | Error::Aborted(_)) => Outcome::Conflict,
        Err(Error::NotFound(_)) => Outcome::Nothing,
        Err(Error::OutcomeUnknown(_)) => Outcome::Unknown,
        Err(Error::Bulk(error)) => match &*error.failures[0].error {
            Error::AlreadyExists(_) => Outcome::Exists,
            Error::UniqueViolation(_) => Outcome::Violation,
            Error::ConditionNotMet(_) | Error::Aborted(_) => Outcome::Conflict,
            error => panic!("{error}"),
        },
        Err(error) => panic!("{error}"),
    }
}

/// An entity with a unique index and one that is not.
trait Kind: TableEntity + Clone + 'static {
    fn new(fields: Fields) -> Self;
    fn fields(&self) -> Fields;
    fn set(&mut self, fields: Fields);
    async fn all(tables: &Tables) -> table_runtime::Result<Vec<Fields>>;
    async fn get(tables: &Tables, id: u32) -> table_runtime::Result<Option<Stored<Self>>>;
    async fn patch(tables: &Tables, id: u32) -> table_runtime::Result<()>;
    async fn modify(tables: &Tables, id: u32, change: impl FnMut(&mut Self) + Send) -> table_runtime::Result<bool>;
    /// Returns the items that each index finds by a value.
    async fn found(tables: &Tables, value: u32) -> table_runtime::Result<Vec<Vec<Fields>>>;
    async fn sweep(tables: &Tables) -> table_runtime::Result<usize>;
}

macro_rules! kinds {
    ($($name:ident $(#[$index:meta])+ => $one:expr, $rows:expr;)+) => {$(
        mod $name {
            use std::time::SystemTime;

            use table_runtime::{Result, Stored, TableEntity, Tables};

            use super::{Fields, at};

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items", expires = until)]
            $(#[$index])+
            pub(super) struct Item {
                #[partition_key]
                group: String,
                #[row_key]
                id: u32,
                value: u32,
                kind: u32,
                likes: u32,
                until: Option<SystemTime>,
            }

            impl super::Kind for Item {
                fn new(Fields { id, value, until }: Fields) -> Self {
                    Self { group: "a".into(), id, value, kind: value % 2, likes: 0, until: Some(at(until)) }
                }

                fn fields(&self) -> Fields {
                    let until = self.until.map_or(0, |until| {
                        until.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs()
                    });
                    Fields { id: self.id, value: self.value, until }
                }

                fn set(&mut self, fields: Fields) {
                    *self = Self { likes: self.likes + 1, ..Self::new(fields) };
                }

                async fn all(tables: &Tables) -> Result<Vec<Fields>> {
                    Ok(Item::by_key("a").all(tables).await?.iter().map(|item| super::Kind::fields(&**item)).collect())
                }

                async fn get(tables: &Tables, id: u32) -> Result<Option<Stored<Self>>> {
                    Item::key("a", id).get(tables).await
                }

                async fn patch(tables: &Tables, id: u32) -> Result<()> {
                    tables.patch(Item::key("a", id), |item| [item.likes.set(9)]).await.map(drop)
                }

                async fn modify(tables: &Tables, id: u32, change: impl FnMut(&mut Self) + Send) -> Result<bool> {
                    tables.modify(Item::key("a", id), change).await.map(|item| item.is_some())
                }

                async fn found(tables: &Tables, value: u32) -> Result<Vec<Vec<Fields>>> {
                    let (one, rows) = ($one, $rows);
                    let one: Vec<_> = one(value).get(tables).await?.iter().map(|item| super::Kind::fields(&**item)).collect();
                    let mut rows: Vec<_> =
                        rows(value).all(tables).await?.iter().map(|item| super::Kind::fields(&**item)).collect();
                    rows.sort_unstable();
                    Ok(vec![one, rows])
                }

                async fn sweep(tables: &Tables) -> Result<usize> {
                    tables.sweep::<Item>().await.map(|swept| swept.removed)
                }
            }
        }
    )+};
}

kinds! {
    here #[index(value, same_partition, unique)] #[index(rows, same_partition, row(value))]
        => |value: u32| Item::by_value("a").eq(value), |value: u32| Item::by_rows("a").eq(value);
    elsewhere #[index(value, unique)] #[index(rows, partition(value))]
        => |value: u32| Item::by_value(value), |value: u32| Item::by_rows(value);
    mixed #[index(value, unique)] #[index(rows, same_partition, row(value), list)]
        => |value: u32| Item::by_value(value), |value: u32| Item::by_rows("a").eq(value);
}

async fn run<K: Kind>(tables: Tables, act: Act) -> Outcome {
    let tables = &tables;
    let renewed = |id, value| Fields { id, value, until: RENEWED };
    let read = async |id| K::get(tables, id).await.expect("the store answers");
    match act {
        Insert(id, value) => outcome(tables.insert(&K::new(renewed(id, value))).await),
        InsertAll(id, value) => outcome(tables.insert_all([K::new(renewed(id, value))]).await),
        InsertBoth((id, value), (other, other_value)) => {
            let (one, other) = (K::new(renewed(id, value)), K::new(renewed(other, other_value)));
            let transact = async { outcome(tables.transaction().insert(&one).insert(&other).commit().await) };
            unless(Depth::choose(8, 9, 12), Box::pin(transact)).await
        }
        Upsert(id, value) => outcome(tables.upsert(&K::new(renewed(id, value))).await),
        Renew(id, value) | Change(id, value) => match read(id).await {
            Some(mut item) => {
                let before = item.fields();
                let until = if matches!(act, Renew(..)) { RENEWED } else { before.until };
                item.set(Fields { value, until, ..before });
                outcome(tables.update(&mut item).await)
            }
            None => Outcome::Nothing,
        },
        Modify(id, value) => match K::modify(tables, id, |item| item.set(renewed(id, value))).await {
            Ok(false) => Outcome::Nothing,
            modified => outcome(modified),
        },
        ModifyOrInsert(id, value) => {
            let change = |item: &mut K| item.set(renewed(id, value));
            outcome(tables.modify_or_insert(&K::new(renewed(id, value)), change).await)
        }
        GetOrInsert(id, value) => {
            let new = renewed(id, value);
            match tables.get_or_insert(&K::new(new)).await {
                Ok((stored, true)) => {
                    assert_eq!(stored.fields(), new, "it is new");
                    Outcome::Done
                }
                Ok((stored, false)) => Outcome::Found(stored.fields()),
                Err(error) => outcome::<()>(Err(error)),
            }
        }
        Delete(id) => match read(id).await {
            Some(item) => outcome(tables.delete(&item).await),
            None => Outcome::Nothing,
        },
        Patch(id) => outcome(K::patch(tables, id).await),
        Sweep => outcome(K::sweep(tables).await),
        Repair => outcome(tables.repair::<K>().await),
    }
}

/// Checks what a program sees whose clock shows this moment: each index finds exactly the items that it sees.
async fn seen_at<K: Kind>(store: &Plain, seconds: u64) -> Result<Vec<Fields>> {
    let tables = tables(store.clone(), seconds);
    let all = K::all(&tables).await?;
    ensure!(all.iter().all(|item| item.until > seconds), "at {seconds}, it reads {all:?}");
    for value in 1..4 {
        let expected: Vec<_> = all.iter().copied().filter(|item| item.value == value).collect();
        // No two stored, committed items share a unique value, whatever the clock shows.
        ensure!(expected.len() < 2, "{expected:?} share a value");
        for found in K::found(&tables, value).await? {
            ensure!(found == expected, "at {seconds}, an index finds {found:?} of {value}, and not {expected:?}");
        }
    }
    Ok(all)
}

/// Checks every state.
async fn check<K: Kind>(
    seen: &Seen<'_, Outcome>,
    begun: &[Fields],
    acts: &[(By, Act)],
    loses: bool,
    visited: &RefCell<HashSet<Vec<u64>>>,
) -> Result<()> {
    // For the first moment, each committed item is visible.
    let is_new = visited.borrow_mut().insert(contents(&seen.store));
    if is_new || seen.is_at_rest() {
        let stored = seen_at::<K>(&seen.store, 0).await?;
        let behind = seen_at::<K>(&seen.store, BEHIND).await?;
        let ahead = seen_at::<K>(&seen.store, AHEAD).await?;
        ensure!(behind == stored, "{behind:?} of {stored:?}");
        let expected: Vec<_> = stored.iter().copied().filter(|item| item.until > AHEAD).collect();
        ensure!(ahead == expected, "{ahead:?} of {expected:?}");
        acknowledged(seen, begun, acts, &stored)?;
    }
    let ends_early =
        |progress: &Progress<'_, _>| matches!(progress, Progress::Ended(Outcome::Left) | Progress::Crashed);
    let is_left = loses || seen.ops.iter().any(ends_early);
    if seen.is_at_rest() && !is_left {
        let findings = tables(seen.store.clone(), 0).verify::<K>().all().await?;
        ensure!(findings.is_empty(), "at rest: {findings:?}");
    }
    if is_new {
        let kept: Vec<_> = K::all(&tables(seen.store.clone(), AHEAD)).await?;
        // From here, a sweep and a repair leave the renewed items and nothing else.
        let store = seen.store.copy();
        let tables = tables(store.clone(), AHEAD);
        K::sweep(&tables).await?;
        let repaired = tables.repair::<K>().await?;
        ensure!(repaired.left.is_empty(), "{:?}", repaired.left);
        K::sweep(&tables).await?;
        ensure!(tables.verify::<K>().all().await?.is_empty(), "a verification after the sweep");
        let left = seen_at::<K>(&store, 0).await.context("after a sweep")?;
        ensure!(left == kept, "the sweep left {left:?} of {kept:?}");
        ensure!(K::sweep(&tables).await? == 0, "nothing is left to sweep");
    }
    Ok(())
}

/// Checks that no take-over and no sweep has removed what was renewed, and that of two that want a value one has it.
fn acknowledged(seen: &Seen<'_, Outcome>, begun: &[Fields], acts: &[(By, Act)], stored: &[Fields]) -> Result<()> {
    for (at, ((by, act), progress)) in acts.iter().zip(&seen.ops).enumerate() {
        if let GetOrInsert(id, _) = *act {
            let is_true = match progress {
                Progress::Ended(Outcome::Found(found)) => {
                    let others = acts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, (_, act))| *act);
                    let was_there = begun.contains(found) || others.clone().any(|other| other.writes(begun, *found));
                    // If nothing else changes it, it is there.
                    let may_change = others.clone().any(|other| other.changes(id) && !matches!(other, GetOrInsert(..)));
                    // What has expired goes.
                    let is_there = may_change || found.until != RENEWED || stored.contains(found);
                    found.id == id && found.until > by.seconds() && was_there && is_there
                }
                // Nothing is in the bin, and it requires no version.
                Progress::Ended(Outcome::Exists | Outcome::Conflict | Outcome::Nothing) => false,
                _ => true,
            };
            ensure!(is_true, "{act:?} gave {progress:?}, which was never true");
        }
        let Progress::Ended(Outcome::Done) = progress else { continue };
        for (id, value) in act.renewed() {
            let others = acts.iter().enumerate().filter(|(other, _)| *other != at);
            if others.map(|(_, (_, act))| *act).any(|other| other.changes(id)) {
                continue;
            }
            let expected = Fields { id, value, until: RENEWED };
            ensure!(stored.contains(&expected), "{act:?} was acknowledged, and {stored:?} is stored");
        }
    }
    Ok(())
}

/// Explores operations that begin at the same time, on a store with these items.
fn explore<K: Kind>(reach: Reach, items: &[(u32, u32)], acts: &[(By, Act)]) -> Result<()> {
    explore_with::<K>(Explorer::default(), reach, items, acts)
}

fn explore_with<K: Kind>(search: Explorer, reach: Reach, items: &[(u32, u32)], acts: &[(By, Act)]) -> Result<()> {
    let store = Plain::default().with_reach(reach);
    let stored: Vec<_> = items.iter().map(|(id, value)| Fields { id: *id, value: *value, until: UNTIL }).collect();
    let begin = async {
        let tables = tables(store.clone(), BEHIND);
        tables.create::<K>().await?;
        for fields in &stored {
            tables.insert(&K::new(*fields)).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    begin.now_or_never().context("a plain store does not wait")??;
    let operation = |(by, act): (By, Act)| {
        staged(format!("{by:?} {act:?}"), move |stage: Stage| {
            unless(repeated(), run::<K>(stage.clocked(at(by.seconds())), act))
        })
    };
    let ops: Vec<Op<_>> = acts.iter().copied().map(operation).collect();
    let visited = RefCell::default();
    let loses = search.lost > 0;
    let explored = search.explore(&store, &ops, async |seen| check::<K>(seen, &stored, acts, loses, &visited).await);
    let explored = explored.with_context(|| format!("{acts:?} on {items:?}, {reach:?}"))?;
    if Depth::Full.is_reached() {
        println!("{acts:?} on {items:?}, {reach:?}: {explored:?}");
    }
    Ok(())
}

/// Operations of the program whose clock is ahead, which finds the item of the beginning expired.
const BY_AHEAD: [Act; 6] = [Insert(1, 2), Insert(1, 1), Insert(2, 1), Upsert(2, 1), Sweep, Repair];

/// Operations of the program that still sees it.
const BY_BEHIND: [Act; 6] = [Renew(1, 1), Renew(1, 2), Change(1, 2), Delete(1), Patch(1), Insert(2, 1)];

/// Operations that begin again, for items whose rows are written in one transaction: in steps, two of them may make each
/// other begin again without end.
const REPEATED_BY_AHEAD: [Act; 5] =
    [InsertAll(2, 1), ModifyOrInsert(1, 1), GetOrInsert(1, 2), GetOrInsert(2, 1), Renew(1, 3)];
const REPEATED_BY_BEHIND: [Act; 3] = [Modify(1, 1), Modify(1, 2), GetOrInsert(1, 3)];

/// Returns each operation of the one program beside each of the other, and beside each other.
fn pairs(behind: &[Act], ahead: &[Act]) -> Vec<[(By, Act); 2]> {
    let mut pairs = Vec::new();
    for (at, one) in ahead.iter().enumerate() {
        pairs.extend(behind.iter().map(|other| [(Behind, *other), (Ahead, *one)]));
        pairs.extend(ahead[at..].iter().map(|other| [(Ahead, *one), (Ahead, *other)]));
    }
    pairs
}

fn explore_pairs<K: Kind>(reach: Reach, items: &[(u32, u32)], behind: &[Act], ahead: &[Act]) -> Result<()> {
    explore_each::<K>(reach, items, &pairs(behind, ahead))
}

fn explore_each<K: Kind>(reach: Reach, items: &[(u32, u32)], pairs: &[[(By, Act); 2]]) -> Result<()> {
    side_by_side(pairs, |pair| explore::<K>(reach, items, pair)).map(drop)
}

/// Checks whether two operations make each other begin again, in steps, so that they have more than 100,000 states.
fn is_large(pair: [(By, Act); 2]) -> bool {
    let takes_over = |act| matches!(act, Insert(..) | Upsert(..) | Repair);
    match pair.map(|(_, act)| act) {
        [Change(..), Insert(1, 1)] => true,
        [Insert(1, 1 | 2), Insert(1, 1 | 2)] | [Insert(1, 2), Insert(2, 1) | Upsert(2, 1)] => false,
        [one, other] => takes_over(one) && takes_over(other),
    }
}

/// The items of the beginning: one that has expired for the program whose clock is ahead, and another one.
const STARTS: [&[(u32, u32)]; 2] = [&[(1, 1)], &[(1, 1), (3, 3)]];

#[test]
fn items_with_indexes_in_their_partition() -> Result<()> {
    let (behind, ahead) =
        ([&BY_BEHIND[..], &REPEATED_BY_BEHIND].concat(), [&BY_AHEAD[..], &REPEATED_BY_AHEAD].concat());
    for items in STARTS {
        explore_pairs::<here::Item>(Reach::Partition, items, &behind, &ahead)?;
    }
    Ok(())
}

#[test]
fn items_in_one_transaction() -> Result<()> {
    let (behind, ahead) =
        ([&BY_BEHIND[..], &REPEATED_BY_BEHIND].concat(), [&BY_AHEAD[..], &REPEATED_BY_AHEAD].concat());
    explore_pairs::<elsewhere::Item>(Reach::Store, STARTS[0], &behind, &ahead)?;
    explore_pairs::<mixed::Item>(Reach::Store, STARTS[0], &behind, &ahead)
}

#[test]
fn items_with_indexes_in_other_partitions() -> Result<()> {
    let ahead = Depth::choose(&[Insert(1, 2), Insert(2, 1), Sweep][..], &BY_AHEAD, &BY_AHEAD);
    let mut pairs = pairs(&BY_BEHIND, ahead);
    // Two inserts of one entity that take over one claim have millions of states. `items_with_a_list_and_a_claim` has them.
    let inserts_one = |(_, act): &(By, Act)| matches!(act, Insert(2, _) | Upsert(2, _));
    pairs.retain(|pair| !pair.iter().all(inserts_one) && (!is_large(*pair) || Depth::Full.is_reached()));
    explore_each::<elsewhere::Item>(Reach::Partition, STARTS[0], &pairs)
}

#[test]
fn items_with_a_list_and_a_claim() -> Result<()> {
    let ahead = Depth::choose(&BY_AHEAD[1..5], &BY_AHEAD[..], &BY_AHEAD[..]);
    explore_pairs::<mixed::Item>(Reach::Partition, STARTS[0], &BY_BEHIND[..5], ahead)
}

/// Inserts of items that may be there, whose rows are written in steps.
#[test]
fn items_that_are_got_or_inserted() -> Result<()> {
    let pairs = [
        [(Behind, GetOrInsert(1, 2)), (Ahead, Insert(2, 1))],
        [(Behind, GetOrInsert(1, 2)), (Ahead, Sweep)],
        [(Behind, GetOrInsert(1, 3)), (Ahead, GetOrInsert(1, 2))],
        [(Behind, GetOrInsert(1, 3)), (Ahead, GetOrInsert(2, 1))],
        [(Behind, Renew(1, 1)), (Ahead, GetOrInsert(1, 2))],
        [(Behind, Renew(1, 2)), (Ahead, GetOrInsert(2, 1))],
        [(Behind, Delete(1)), (Ahead, GetOrInsert(1, 2))],
        [(Behind, Patch(1)), (Ahead, GetOrInsert(1, 2))],
        [(Ahead, GetOrInsert(1, 1)), (Ahead, GetOrInsert(1, 2))],
        [(Ahead, GetOrInsert(1, 2)), (Ahead, Sweep)],
    ];
    explore_each::<elsewhere::Item>(Reach::Partition, STARTS[0], &pairs)?;
    explore_each::<mixed::Item>(Reach::Partition, STARTS[0], &pairs)
}

/// Three operations: a renewal, a take-over and a sweep.
#[test]
fn a_renewal_a_take_over_and_a_sweep() -> Result<()> {
    for behind in [Renew(1, 1), Renew(1, 2), Patch(1)] {
        for ahead in [Insert(2, 1), Insert(1, 1)] {
            for third in [(Ahead, Sweep), (Ahead, Insert(3, 1))] {
                let acts = [(Behind, behind), (Ahead, ahead), third];
                explore::<here::Item>(Reach::Partition, &[(1, 1)], &acts)?;
                if Depth::Full.is_reached() {
                    explore::<elsewhere::Item>(Reach::Partition, &[(1, 1)], &acts)?;
                }
            }
        }
    }
    Ok(())
}

/// A sweep, a take-over or an insert over an expired item that crashes between any two of its requests, alone and beside a
/// renewal.
#[test]
fn a_crash_at_any_request() -> Result<()> {
    let search = Explorer { crashes: Crashes::Any, ..Explorer::default() };
    for act in [Sweep, Insert(2, 1), Insert(1, 2), Insert(1, 1)] {
        for other in [None, Some((Behind, Renew(1, 2)))] {
            let acts: Vec<_> = [Some((Ahead, act)), other].into_iter().flatten().collect();
            for items in STARTS {
                explore_with::<here::Item>(search, Reach::Partition, items, &acts)?;
                if other.is_none() || Depth::Full.is_reached() {
                    explore_with::<elsewhere::Item>(search, Reach::Partition, items, &acts)?;
                    explore_with::<mixed::Item>(search, Reach::Partition, items, &acts)?;
                }
            }
        }
    }
    Ok(())
}

/// The same operations beside one that renews or changes the item. The answer to one write is lost: it arrives after any
/// later step, or never.
#[test]
fn a_write_that_is_not_answered() -> Result<()> {
    let search = Explorer { lost: 1, ..Explorer::default() };
    for ahead in [Sweep, Insert(2, 1), Insert(1, 2)] {
        for behind in [Renew(1, 1), Renew(1, 2), Patch(1)] {
            let acts = [(Behind, behind), (Ahead, ahead)];
            explore_with::<here::Item>(search, Reach::Partition, STARTS[0], &acts)?;
            // The others have millions of states.
            if (ahead, behind) == (Sweep, Renew(1, 1)) || Depth::Full.is_reached() {
                explore_with::<elsewhere::Item>(search, Reach::Partition, STARTS[0], &acts)?;
            }
        }
    }
    Ok(())
}

/// Transactions that insert over an expired item, take its value, or would pass it from one item to the other.
#[test]
fn a_transaction_over_what_has_expired() -> Result<()> {
    let others = [
        (Behind, Renew(1, 1)),
        (Behind, Patch(1)),
        // In steps, these take longer.
        (Behind, Renew(1, 2)),
        (Ahead, Sweep),
        (Ahead, Insert(2, 1)),
    ];
    for both in [InsertBoth((1, 2), (2, 3)), InsertBoth((4, 2), (2, 1)), InsertBoth((1, 2), (2, 1))] {
        let pairs = others.map(|other| [(Ahead, both), other]);
        explore_each::<here::Item>(Reach::Partition, STARTS[0], &pairs)?;
        explore_each::<elsewhere::Item>(Reach::Store, STARTS[0], &pairs)?;
        explore_each::<mixed::Item>(Reach::Partition, STARTS[0], &pairs)?;
        let in_steps = if both == InsertBoth((4, 2), (2, 1)) { Depth::choose(2, 2, 5) } else { Depth::choose(2, 4, 5) };
        explore_each::<elsewhere::Item>(Reach::Partition, STARTS[0], &pairs[..in_steps])?;
    }
    Ok(())
}
