//! Every interleaving of writes of one index, or two: what readers may rely on holds in every state, and a repair of
//! every state leaves nothing wrong.
//!
//! A state in which a writer waits is also the one in which it has died, so the repair of every state is that of every
//! crash, and what the others do meanwhile is what they do beside a dead one.

use std::{cell::RefCell, collections::HashSet, future::poll_fn, pin::pin, task::Poll, time::Instant};

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use table_runtime::{BulkProgress, Error, Holds, LayoutInfo, Stored, Tables};
use tests::{
    explore::{Explored, Explorer, Op, Progress, Seen, op},
    items::{self, Fields, Item, Write, clashes, contents, fill, fixed, old_store, promised, ready, sound, store},
};

/// An operation. Items are written with the key and the value, and the other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Insert(u32, u32, u32),
    Update(u32, u32, u32),
    /// An update through a `Stored::new`, which has not loaded the item's rows.
    Made(u32, u32, u32),
    /// An update of the note alone.
    Note(u32, u32),
    /// An update of the note by a program whose struct has no index.
    Bare(u32, u32),
    Delete(u32),
    Patch(u32),
    /// A transaction.
    Both(Write, Write),
    InsertAll(Fields, Fields),
    UpsertAll(Fields, Fields),
    RemoveAll(u32, u32),
    Repair,
    /// A backfill of every index.
    Fill,
    /// An operation whose future is dropped when it has waited so often. What it has sent may arrive at any later time.
    Dropped(&'static Act, usize),
}

use Act::{
    Bare, Both, Delete, Dropped, Fill, Insert, InsertAll, Made, Note, Patch, RemoveAll, Repair, Update, UpsertAll,
};

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gave {
    Done,
    /// There was nothing to do it to, or nothing to do; of a backfill, two items share a value.
    Nothing,
    Exists,
    Violation,
    /// Another writer was faster, or took it for dead.
    Conflict,
    /// Of a bulk write, whether the first failed, and the second.
    Failed(bool, bool),
}

fn gave<T>(result: table_runtime::Result<T>) -> Gave {
    match result {
        Ok(_) => Gave::Done,
        Err(Error::AlreadyExists(_)) => Gave::Exists,
        Err(Error::UniqueViolation(_)) => Gave::Violation,
        Err(Error::ConditionNotMet(_) | Error::Aborted(_)) => Gave::Conflict,
        Err(Error::NotFound(_)) => Gave::Nothing,
        Err(error) => panic!("{error}"),
    }
}

fn gave_if(result: table_runtime::Result<bool>) -> Gave {
    match result {
        Ok(false) => Gave::Nothing,
        result => gave(result),
    }
}

fn gave_all(result: table_runtime::Result<BulkProgress>) -> Gave {
    match result {
        Err(Error::Bulk(error)) => {
            for failure in &error.failures {
                gave::<()>(Err(match &*failure.error {
                    Error::AlreadyExists(row) => Error::AlreadyExists(row.clone()),
                    Error::UniqueViolation(violation) => Error::UniqueViolation(violation.clone()),
                    Error::ConditionNotMet(row) => Error::ConditionNotMet(row.clone()),
                    Error::Aborted(row) => Error::Aborted(row.clone()),
                    error => panic!("{error}"),
                }));
            }
            let failed = |position| error.failures.iter().any(|failure| failure.position == position);
            Gave::Failed(failed(0), failed(1))
        }
        result => gave(result),
    }
}

/// Polls a future until it has waited so often, and drops it.
async fn dropped<T>(future: impl Future<Output = T>, waits: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut waited = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(gave) => Poll::Ready(Some(gave)),
        Poll::Pending if waited == waits => Poll::Ready(None),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await
}

async fn run<I: Item>(tables: Tables, act: Act) -> Gave {
    match act {
        Insert(id, value, other) => gave(tables.insert(&I::new(Fields::new(id, value, other))).await),
        Update(id, value, other) => match I::get(&tables, id).await.expect("the store answers") {
            Some(mut stored) if (stored.fields().value, stored.fields().other) != (value, other) => {
                *stored = I::new(Fields { value, other, note: value, ..stored.fields() });
                gave(tables.update(&mut stored).await)
            }
            _ => Gave::Nothing,
        },
        Made(id, value, other) => match I::get(&tables, id).await.expect("the store answers") {
            Some(read) if (read.fields().value, read.fields().other) != (value, other) => {
                let etag = Stored::etag(&read).clone();
                let mut made = Stored::new(I::clone(&read), etag);
                *made = I::new(Fields { value, other, note: value, ..read.fields() });
                gave(tables.update(&mut made).await)
            }
            _ => Gave::Nothing,
        },
        Note(id, note) => match I::get(&tables, id).await.expect("the store answers") {
            Some(mut stored) => {
                *stored = I::new(Fields { note, ..stored.fields() });
                gave(tables.update(&mut stored).await)
            }
            None => Gave::Nothing,
        },
        Bare(id, note) => gave_if(I::note_bare(&tables, id, note).await),
        Delete(id) => match I::get(&tables, id).await.expect("the store answers") {
            Some(stored) => gave(tables.delete(&stored).await),
            None => Gave::Nothing,
        },
        Patch(id) => gave(I::patch(&tables, id, 4).await),
        Both(one, other) => gave_if(I::transact(&tables, [one, other]).await),
        InsertAll(one, other) => gave_all(tables.insert_all([one, other].map(I::new)).await),
        UpsertAll(one, other) => gave_all(tables.upsert_all([one, other].map(I::new)).await),
        RemoveAll(one, other) => gave(I::remove_all(&tables, [one, other]).await),
        Repair => gave(tables.repair::<I>().await),
        Fill => match fill::<I>(&tables).await {
            Ok(true) => Gave::Done,
            Ok(false) => Gave::Nothing,
            Err(error) => panic!("{error:#}"),
        },
        Dropped(act, waits) => dropped(Box::pin(run::<I>(tables, *act)), waits).await.unwrap_or(Gave::Nothing),
    }
}

impl Act {
    /// The items that it writes and that are there if it is done, the first one first.
    fn written(self) -> Vec<u32> {
        match self {
            Insert(id, ..) | Update(id, ..) | Made(id, ..) | Note(id, _) | Bare(id, _) => vec![id],
            Both(one, other) => {
                let id = |write| match write {
                    Write::Insert(fields) | Write::Upsert(fields) => Some(fields.id),
                    Write::Update(id, ..) | Write::Note(id, _) => Some(id),
                    Write::Delete(_) => None,
                };
                id(one).into_iter().chain(id(other)).collect()
            }
            InsertAll(one, other) | UpsertAll(one, other) => vec![one.id, other.id],
            // A patch may be of a pending insert, and is gone with it.
            Patch(_) | Delete(_) | RemoveAll(..) | Repair | Fill | Dropped(..) => Vec::new(),
        }
    }

    fn deletes(self, id: u32) -> bool {
        match self {
            Delete(deleted) => deleted == id,
            RemoveAll(one, other) => [one, other].contains(&id),
            Both(one, other) => [one, other].contains(&Write::Delete(id)),
            Dropped(act, _) => act.deletes(id),
            _ => false,
        }
    }

    /// Whether it may change an item, in whatever way.
    fn changes(self, id: u32) -> bool {
        match self {
            Dropped(act, _) => act.changes(id),
            Patch(patched) => patched == id,
            act => act.deletes(id) || act.written().contains(&id),
        }
    }

    /// What an item has once the operation is done.
    fn value(self, id: u32) -> Option<u32> {
        let of = |fields: Fields| (fields.id == id).then_some(fields.value);
        match self {
            Insert(own, value, _) | Update(own, value, _) | Made(own, value, _) if own == id => Some(value),
            InsertAll(one, other) | UpsertAll(one, other) => of(one).or(of(other)),
            Both(one, other) => [one, other].into_iter().find_map(|write| match write {
                Write::Insert(fields) | Write::Upsert(fields) => of(fields),
                Write::Update(own, value, _) if own == id => Some(value),
                _ => None,
            }),
            _ => None,
        }
    }
}

/// Checks every state, each store's contents once.
struct Check<'a> {
    start: &'a [Fields],
    acts: &'a [Act],
    met: RefCell<HashSet<String>>,
}

impl Check<'_> {
    async fn check<I: Item>(&self, seen: &Seen<'_, Gave>) -> Result<()> {
        let is_ready = ready::<I>(&seen.tables).await?;
        if seen.is_at_rest() {
            let all = promised::<I>(&seen.tables).await?;
            self.acknowledged::<I>(seen, &all)?;
            let is_left = self.acts.iter().any(|act| matches!(act, Dropped(..)));
            if is_ready && !is_left {
                sound::<I>(&seen.tables, &all).await.context("at rest")?;
            }
        }
        if self.met.borrow_mut().insert(contents(&seen.store)) {
            let all = promised::<I>(&seen.tables).await?;
            if !is_ready && !fill::<I>(&seen.tables).await? {
                let shared = all.iter().any(|one| all.iter().any(|other| clashes::<I>(one, other)));
                ensure!(shared, "a backfill found a conflict where no two items share a value");
                return Ok(());
            }
            fixed::<I>(&seen.tables, &all).await?;
        }
        Ok(())
    }

    /// Checks that what was acknowledged is there, and what was there at first, unless it was deleted; and that one of
    /// several that want one value has it.
    fn acknowledged<I: Item>(&self, seen: &Seen<'_, Gave>, all: &[Fields]) -> Result<()> {
        let is_deleted = |id| self.acts.iter().any(|act| act.deletes(id));
        let there = |id| is_deleted(id) || all.iter().any(|fields| fields.id == id);
        ensure!(self.start.iter().all(|fields| there(fields.id)), "an item is gone");
        let mut inserted = Vec::new();
        for (at, (act, progress)) in self.acts.iter().zip(&seen.ops).enumerate() {
            let Progress::Ended(gave) = progress else { continue };
            for (position, id) in act.written().into_iter().enumerate() {
                let is_done = matches!(
                    (gave, position),
                    (Gave::Done, _) | (Gave::Failed(false, _), 0) | (Gave::Failed(_, false), 1)
                );
                ensure!(!is_done || there(id), "an item that was written is gone");
                let others = self.acts.iter().enumerate().filter(|(other, _)| *other != at);
                if is_done && !others.map(|(_, act)| act).any(|act| act.changes(id)) {
                    let found = all.iter().find(|fields| fields.id == id);
                    let is_so = found.zip(act.value(id)).is_none_or(|(fields, value)| fields.value == value);
                    ensure!(is_so, "{act:?} was acknowledged, and is not there");
                }
            }
            if let Insert(id, value, other) = *act {
                inserted.push((Fields::new(id, value, other), **gave));
            }
        }
        let clash = |(at, one): (usize, &(Fields, Gave))| {
            inserted[at + 1..].iter().all(|(other, _)| clashes::<I>(&one.0, other))
        };
        // Where nothing else is done, one of inserts that exclude each other wins.
        let are_alone = self.start.is_empty() && inserted.len() == self.acts.len();
        if are_alone && inserted.iter().enumerate().all(clash) {
            let winners = inserted.iter().filter(|(_, gave)| *gave == Gave::Done).count();
            // Two that meet crosswise in two indexes may each take the other for dead, and both are told so.
            let may_be_none = I::LAYOUTS.len() > 2 && inserted.iter().all(|(_, gave)| *gave == Gave::Conflict);
            ensure!(winners == 1 || winners == 0 && may_be_none, "{winners} inserts won");
        }
        Ok(())
    }
}

/// What is in the store when the operations begin.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// These items.
    New(&'static [Fields]),
    /// These items, written before their indexes were added.
    Old(&'static [Fields]),
}

impl Start {
    const fn items(self) -> &'static [Fields] {
        match self {
            Self::New(items) | Self::Old(items) => items,
        }
    }
}

/// Explores these operations, begun at once.
fn explore<I: Item>(start: Start, acts: &[Act]) -> Result<Explored> {
    let begun = Instant::now();
    let check = Check { start: start.items(), acts, met: RefCell::default() };
    let plain = match start {
        Start::New(items) => store::<I>(items).now_or_never(),
        Start::Old(items) => old_store::<I>(items).now_or_never(),
    };
    let plain = plain.context("a plain store does not wait")??;
    let ops: Vec<Op<_>> =
        acts.iter().copied().map(|act| op(format!("{act:?}"), move |tables| run::<I>(tables, act))).collect();
    let explored = Explorer::default().explore(&plain, &ops, async |seen| check.check::<I>(seen).await);
    let explored = explored.with_context(|| format!("{acts:?} on {start:?}"))?;
    if std::env::var_os("TABLE_TESTS_INTERLEAVINGS").is_some() {
        println!("{start:?} {acts:?} {explored:?} {} stores {:?}", check.met.borrow().len(), begun.elapsed());
    }
    Ok(explored)
}

const ONE_ITEM: Fields = Fields::new(1, 1, 1);
const OTHER_ITEM: Fields = Fields::new(2, 2, 2);
const TWIN: Fields = Fields::new(2, 1, 1);

const NONE: Start = Start::New(&[]);
const ONE: Start = Start::New(&[ONE_ITEM]);
const TWO: Start = Start::New(&[ONE_ITEM, OTHER_ITEM]);
const STARTS: [Start; 3] = [NONE, ONE, TWO];

const OLD_ONE: Start = Start::Old(&[ONE_ITEM]);
const OLD_TWO: Start = Start::Old(&[ONE_ITEM, OTHER_ITEM]);
/// Two old items that share a value.
const OLD_TWINS: Start = Start::Old(&[ONE_ITEM, TWIN]);
const OLD_STARTS: [Start; 3] = [OLD_ONE, OLD_TWO, OLD_TWINS];

/// The first item with another note.
const NOTED_ITEM: Fields = Fields { note: 7, ..ONE_ITEM };

/// Operations of one item each, on two keys and two values.
const SINGLE: [Act; 14] = [
    Insert(1, 1, 1),
    Insert(1, 2, 2),
    Insert(2, 1, 1),
    Insert(2, 2, 2),
    Update(1, 1, 1),
    Update(1, 2, 2),
    Update(2, 1, 1),
    Update(2, 2, 2),
    Made(1, 2, 2),
    Note(1, 7),
    Note(1, 8),
    Delete(1),
    Delete(2),
    Repair,
];

/// Operations of two items.
const BULK: [Act; 3] = [InsertAll(ONE_ITEM, TWIN), UpsertAll(NOTED_ITEM, TWIN), RemoveAll(1, 2)];

/// Operations of two items in one partition.
const TRANSACTIONS: [Act; 4] = [
    Both(Write::Note(1, 7), Write::Insert(TWIN)),
    Both(Write::Update(1, 2, 2), Write::Update(2, 1, 1)),
    Both(Write::Insert(TWIN), Write::Delete(1)),
    Both(Write::Upsert(TWIN), Write::Upsert(NOTED_ITEM)),
];

/// Operations that are given up on, each at another of their requests.
const DROPPED: [Act; 7] = [
    Dropped(&Insert(1, 1, 1), 1),
    Dropped(&Insert(1, 1, 1), 2),
    Dropped(&Insert(1, 1, 1), 3),
    Dropped(&Update(1, 2, 2), 2),
    Dropped(&Update(1, 2, 2), 3),
    Dropped(&Update(1, 2, 2), 4),
    Dropped(&Delete(1), 2),
];

/// Every operation that items of this kind have.
fn every_act<I: Item>() -> Vec<Act> {
    let holds = |layout: &LayoutInfo| layout.index.as_ref().map(|index| index.holds);
    let is_in_table = |layout: &LayoutInfo| layout.index.is_some() && layout.table == I::LAYOUTS[0].table;
    let mut acts = SINGLE.to_vec();
    // The steps of an index do not depend on whether its rows are in a table of their own.
    if I::HAS_TRANSACTIONS || !I::LAYOUTS.iter().any(is_in_table) || has_time() {
        acts.extend(DROPPED);
    }
    // Elsewhere, a bulk write is one write after the other.
    if I::HAS_TRANSACTIONS {
        acts.extend([&BULK[..], &TRANSACTIONS].concat());
    }
    if I::IS_PATCHED {
        acts.extend([Patch(1), Patch(2)]);
    }
    // Who does not know an index leaves behind what its rows hold.
    if I::LAYOUTS.iter().all(|layout| !matches!(holds(layout), Some(Holds::Include | Holds::Copy))) {
        acts.push(Bare(1, 5));
    }
    acts
}

/// Those that meet crosswise in two unique indexes.
const CROSSWISE: [Act; 9] = [
    Patch(1),
    Insert(1, 1, 1),
    Insert(2, 1, 1),
    Insert(2, 1, 2),
    Insert(2, 2, 1),
    Update(1, 2, 2),
    Update(1, 3, 2),
    Update(2, 1, 3),
    Delete(1),
];

/// Checks whether a set takes long and is left to those who have time. A repair reads every row of every item, where
/// the rows of one are in several partitions. A backfill of a list writes it once for each item.
fn is_long<I: Item>(start: Start, acts: &[Act]) -> bool {
    let is_list = |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.holds == Holds::List);
    let is_of_two = |act: &Act| act.written().len() > 1 || matches!(act, RemoveAll(..) | Both(..));
    let repairs_apart = !I::HAS_TRANSACTIONS && acts.contains(&Repair);
    let fills_lists = I::LAYOUTS.iter().any(is_list) && acts.contains(&Fill) && acts.iter().any(is_of_two);
    start.items().len() > 1 && (repairs_apart || fills_lists) && !has_time()
}

/// Every so many of the operations, also the same one again, on each start.
fn every<I: Item>(starts: &[Start], acts: &[Act], count: usize) -> Result<()> {
    fn choose(acts: &[Act], count: usize, chosen: &mut Vec<Act>, found: &mut Vec<Vec<Act>>) {
        if count == 0 {
            return found.push(chosen.clone());
        }
        for (at, act) in acts.iter().enumerate() {
            chosen.push(*act);
            choose(&acts[at..], count - 1, chosen, found);
            chosen.pop();
        }
    }
    let mut sets = Vec::new();
    choose(acts, count, &mut Vec::new(), &mut sets);
    let all = starts.iter().flat_map(|start| sets.iter().map(|set| (*start, &**set)));
    these::<I>(all.filter(|(start, set)| !is_long::<I>(*start, set)))
}

/// A backfill beside each of the operations.
fn every_beside_fill<I: Item>(acts: &[Act]) -> Result<()> {
    let sets: Vec<_> = acts.iter().map(|act| [Fill, *act]).collect();
    let all = OLD_STARTS.into_iter().flat_map(|start| sets.iter().map(move |set| (start, &set[..])));
    these::<I>(all.filter(|(start, set)| !is_long::<I>(*start, set)))
}

/// Explores each of these sets.
fn these<'a, I: Item>(sets: impl IntoIterator<Item = (Start, &'a [Act])>) -> Result<()> {
    let (mut count, mut states, mut edges, begun) = (0, 0, 0, Instant::now());
    for (start, acts) in sets {
        let explored = explore::<I>(start, acts)?;
        count += 1;
        states += explored.states;
        edges += explored.edges;
    }
    println!("{count} sets, {states} states, {edges} edges in {:?}", begun.elapsed());
    Ok(())
}

/// Whether there is time for every three operations.
fn has_time() -> bool {
    std::env::var_os("TABLE_TESTS_INTERLEAVINGS").is_some_and(|which| which == "all")
}

/// Sets of operations, each with what is in the store before.
type Sets = &'static [(Start, &'static [Act])];

/// Threes in which claims change hands: a pending item is taken for dead while it is committed, an owner leaves while
/// others want its value, one comes back.
const CLAIMS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Insert(3, 1, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Delete(1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Those that take long where the claims are in other partitions.
const LONG_CLAIMS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Insert(2, 2, 2)]),
];

/// Others, and those in which values change hands between items that stay.
const MORE_CLAIMS: Sets = &[
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Patch(1), Insert(2, 2, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(2, 2, 2)]),
    (TWO, &[Update(1, 2, 2), Update(2, 1, 1), Delete(2)]),
    (TWO, &[Update(1, 2, 2), Delete(2), Insert(2, 1, 1)]),
];

/// Threes in which an index is built while values change hands.
const BUILDING: Sets = &[
    (OLD_ONE, &[Fill, Insert(2, 1, 1), Update(1, 2, 2)]),
    (OLD_ONE, &[Fill, Insert(2, 1, 1), Delete(1)]),
    (OLD_TWO, &[Fill, Update(1, 3, 3), Update(2, 4, 4)]),
];

/// Others.
const MORE_BUILDING: Sets =
    &[(OLD_ONE, &[Fill, Fill, Update(1, 2, 2)]), (OLD_TWINS, &[Fill, Update(1, 2, 2), Note(2, 7)])];

/// Threes in which an item leaves a value, and comes back to it.
const POINTERS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Delete(1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Update(1, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 2, 2)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Patch(1), Repair]),
];

/// Twos in which they do.
const CROSSING_TWOS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Insert(2, 1, 1), Insert(2, 1, 2)]),
    (ONE, &[Insert(2, 1, 2), Insert(2, 2, 1)]),
    (ONE, &[Insert(2, 1, 1), Delete(1)]),
    (ONE, &[Insert(2, 2, 1), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1)]),
    (TWO, &[Update(1, 3, 2), Update(2, 1, 3)]),
    (ONE, &[Dropped(&Update(1, 3, 2), 5), Insert(2, 2, 1)]),
    (OLD_ONE, &[Fill, Update(1, 2, 2)]),
];

/// Threes in which writers of two unique indexes meet crosswise.
const CROSSINGS: Sets = &[
    (ONE, &[Update(1, 2, 1), Insert(2, 2, 2), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 3), Repair]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 2), Insert(3, 3, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Threes in which writers of one row's properties overtake each other.
const FOLLOWING: Sets = &[
    (ONE, &[Note(1, 7), Note(1, 8), Note(1, 9)]),
    // One of them may find the note as it writes it, and then writes no other row.
    (ONE, &[Note(1, 7), Note(1, 7), Note(1, 0)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 1, 1)]),
    (ONE, &[Note(1, 7), Delete(1), Insert(1, 1, 1)]),
];

/// A three in which an item leaves while its row's properties are written.
const LEAVING: Sets = &[(ONE, &[Note(1, 7), Delete(1), Insert(1, 1, 1)])];

/// Threes of those that take long.
const OVERTAKING: Sets = &[
    (ONE, &[Update(1, 2, 2), Update(1, 3, 3), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Note(1, 7), Repair]),
];

/// Threes in which transactions and bulk writes meet another writer.
const TOGETHER: Sets = &[
    (TWO, &[Both(Write::Update(1, 2, 2), Write::Update(2, 1, 1)), Note(1, 7), Delete(2)]),
    (ONE, &[Both(Write::Note(1, 7), Write::Insert(TWIN)), Update(1, 2, 2), Repair]),
    (ONE, &[UpsertAll(NOTED_ITEM, TWIN), Update(1, 2, 2), Insert(2, 2, 2)]),
    (OLD_TWINS, &[Fill, RemoveAll(1, 2), Insert(3, 1, 1)]),
];

fn those<I: Item>(sets: &[Sets]) -> Result<()> {
    these::<I>(sets.iter().copied().flatten().copied())
}

/// Every two operations of each kind of index, and the threes in these lists; the last ones where there is time.
macro_rules! kinds {
    ($($kind:ident [$($list:ident)*] [$($long:ident)*];)+) => {$(
        mod $kind {
            use super::*;
            use items::$kind::Item;

            #[test]
            fn every_two() -> Result<()> {
                every::<Item>(&STARTS, &every_act::<Item>(), 2)
            }

            #[test]
            fn every_one_beside_a_backfill() -> Result<()> {
                every_beside_fill::<Item>(&every_act::<Item>())
            }

            #[test]
            fn three() -> Result<()> {
                those::<Item>(&[$($list),*])?;
                if has_time() {
                    those::<Item>(&[$($long),*])?;
                    every::<Item>(&STARTS, &SINGLE, 3)?;
                }
                Ok(())
            }
        }
    )+};
}

kinds! {
    pointer_in_partition [POINTERS TOGETHER] [CLAIMS];
    unique_in_partition [CLAIMS MORE_CLAIMS BUILDING MORE_BUILDING TOGETHER] [LONG_CLAIMS];
    copy_in_partition [POINTERS TOGETHER] [CLAIMS];
    unique_copy_in_partition [CLAIMS BUILDING MORE_BUILDING TOGETHER] [MORE_CLAIMS];
    include_in_partition [POINTERS TOGETHER] [CLAIMS];
    unique_include_in_partition [CLAIMS BUILDING MORE_BUILDING TOGETHER] [MORE_CLAIMS];
    list_in_partition [POINTERS] [TOGETHER];
    pointer_in_table [] [POINTERS];
    unique_in_table [] [CLAIMS BUILDING];
    copy_in_table [] [FOLLOWING];
    include_in_table [] [FOLLOWING];
    unique_include_in_table [] [FOLLOWING];
    pointer_elsewhere [POINTERS] [CLAIMS];
    unique_elsewhere [CLAIMS MORE_CLAIMS BUILDING] [LONG_CLAIMS MORE_BUILDING];
    copy_elsewhere [FOLLOWING] [OVERTAKING];
    include_elsewhere [FOLLOWING] [OVERTAKING];
    unique_include_elsewhere [LEAVING] [FOLLOWING OVERTAKING];
}

mod two_elsewhere {
    use super::*;
    use items::two_elsewhere::Item;

    #[test]
    fn every_two() -> Result<()> {
        // Their claims go side by side, in every order, so that the others take long.
        if has_time() {
            every::<Item>(&STARTS, &CROSSWISE, 2)
        } else {
            these::<Item>(CROSSING_TWOS[..8].iter().copied())
        }
    }

    #[test]
    fn three() -> Result<()> {
        if has_time() { those::<Item>(&[CROSSINGS]) } else { these::<Item>(CROSSINGS[..1].iter().copied()) }
    }
}

mod mixed_three {
    use super::*;
    use items::mixed_three::Item;

    #[test]
    fn every_two() -> Result<()> {
        every::<Item>(&STARTS, &SINGLE, 2)
    }

    #[test]
    fn three() -> Result<()> {
        if has_time() {
            return those::<Item>(&[CROSSINGS]);
        }
        these::<Item>([CROSSINGS[0], CROSSINGS[2]])
    }
}

mod unique_in_partition_three {
    use super::*;
    use items::unique_in_partition::Item;

    #[test]
    fn every_three() -> Result<()> {
        let is_like_another = |act: &Act| matches!(act, Made(..) | Note(_, 8));
        let acts: Vec<_> = SINGLE.into_iter().filter(|act| !is_like_another(act) || has_time()).collect();
        every::<Item>(&STARTS, &acts, 3)
    }
}
