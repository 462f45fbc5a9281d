//! Every interleaving of writes of one index, or two: what readers may rely on holds in every state, and a repair of
//! every state leaves nothing wrong.
//!
//! A state in which a writer waits is also the one in which it has died, so the repair of every state is that of every
//! crash, and what the others do meanwhile is what they do beside a dead one.

use std::{cell::RefCell, collections::HashSet, time::Instant};

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use table_runtime::{Error, Tables};
use tests::{
    explore::{Explored, Explorer, Op, Progress, Seen, op},
    items::{self, Fields, Item, clashes, contents, mended, promised, sound, store},
};

/// An operation. Items are written with the key and the value, and the other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Insert(u32, u32, u32),
    Update(u32, u32, u32),
    /// An update of the note alone.
    Note(u32, u32),
    Delete(u32),
    Patch(u32),
    Repair,
}

use Act::{Delete, Insert, Note, Patch, Repair, Update};

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gave {
    Done,
    /// There was nothing to do it to, or nothing to do.
    Nothing,
    Exists,
    Violation,
    /// Another writer was faster, or took it for dead.
    Conflict,
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
        Note(id, note) => match I::get(&tables, id).await.expect("the store answers") {
            Some(mut stored) => {
                *stored = I::new(Fields { note, ..stored.fields() });
                gave(tables.update(&mut stored).await)
            }
            None => Gave::Nothing,
        },
        Delete(id) => match I::get(&tables, id).await.expect("the store answers") {
            Some(stored) => gave(tables.delete(&stored).await),
            None => Gave::Nothing,
        },
        Patch(id) => gave(I::patch(&tables, id, 4).await),
        Repair => gave(tables.repair::<I>().await),
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
        if seen.is_at_rest() {
            let all = promised::<I>(&seen.tables).await?;
            self.acknowledged::<I>(seen, &all)?;
            sound::<I>(&seen.tables, &all).await.context("at rest")?;
        }
        if self.met.borrow_mut().insert(contents(&seen.store)) {
            let all = promised::<I>(&seen.tables).await?;
            mended::<I>(&seen.tables, &all).await?;
        }
        Ok(())
    }

    /// Checks that what was acknowledged is there, and what was there at first, unless it was deleted; and that one of
    /// several that want one value has it.
    fn acknowledged<I: Item>(&self, seen: &Seen<'_, Gave>, all: &[Fields]) -> Result<()> {
        let is_deleted = |id| self.acts.contains(&Delete(id));
        let there = |id| is_deleted(id) || all.iter().any(|fields| fields.id == id);
        ensure!(self.start.iter().all(|fields| there(fields.id)), "an item is gone");
        let mut inserted = Vec::new();
        for (act, progress) in self.acts.iter().zip(&seen.ops) {
            if let (Insert(id, value, other), Progress::Ended(gave)) = (*act, progress) {
                inserted.push((Fields::new(id, value, other), **gave));
                ensure!(**gave != Gave::Done || there(id), "an inserted item is gone");
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

/// Explores these operations, begun at once on a store with these items.
fn explore<I: Item>(start: &[Fields], acts: &[Act]) -> Result<Explored> {
    let begun = Instant::now();
    let check = Check { start, acts, met: RefCell::default() };
    let plain = store::<I>(start).now_or_never().context("a plain store does not wait")??;
    let ops: Vec<Op<_>> =
        acts.iter().copied().map(|act| op(format!("{act:?}"), move |tables| run::<I>(tables, act))).collect();
    let explored = Explorer::default().explore(&plain, &ops, async |seen| check.check::<I>(seen).await);
    let explored = explored.with_context(|| format!("{acts:?} on {start:?}"))?;
    println!("{start:?} {acts:?} {explored:?} {} stores {:?}", check.met.borrow().len(), begun.elapsed());
    Ok(explored)
}

/// Nothing; one item; two.
const STARTS: [&[Fields]; 3] = [&[], &[Fields::new(1, 1, 1)], &[Fields::new(1, 1, 1), Fields::new(2, 2, 2)]];

/// Every operation on two keys and two values.
const ACTS: [Act; 13] = [
    Patch(1),
    Patch(2),
    Insert(1, 1, 1),
    Insert(1, 2, 2),
    Insert(2, 1, 1),
    Insert(2, 2, 2),
    Update(1, 1, 1),
    Update(1, 2, 2),
    Update(2, 1, 1),
    Update(2, 2, 2),
    Delete(1),
    Delete(2),
    Repair,
];

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

/// Those of one item whose index holds its note.
const NOTED: [Act; 7] =
    [Insert(1, 1, 1), Insert(1, 2, 2), Update(1, 1, 1), Update(1, 2, 2), Note(1, 7), Note(1, 8), Delete(1)];

/// Every so many of the operations, also the same one again, on each start.
fn every<I: Item>(starts: &[&[Fields]], acts: &[Act], count: usize) -> Result<()> {
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
    these::<I>(starts.iter().flat_map(|start| sets.iter().map(|set| (*start, &**set))))
}

/// Explores each of these sets.
fn these<'a, I: Item>(sets: impl IntoIterator<Item = (&'a [Fields], &'a [Act])>) -> Result<()> {
    let (mut states, mut edges, begun) = (0, 0, Instant::now());
    for (start, acts) in sets {
        let explored = explore::<I>(start, acts)?;
        states += explored.states;
        edges += explored.edges;
    }
    println!("{states} states, {edges} edges in {:?}", begun.elapsed());
    Ok(())
}

/// Whether there is time for every three operations.
fn has_time() -> bool {
    std::env::var_os("TABLE_TESTS_INTERLEAVINGS").is_some_and(|which| which == "all")
}

const NONE: &[Fields] = STARTS[0];
const ONE: &[Fields] = STARTS[1];
const TWO: &[Fields] = STARTS[2];

/// Threes in which claims change hands: a pending item is taken for dead while it is committed, an owner leaves while
/// others want its value, one comes back.
const CLAIMS: [(&[Fields], &[Act]); 3] = [
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Insert(3, 1, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Delete(1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Those that take long where the claims are in other partitions.
const LONG_CLAIMS: [(&[Fields], &[Act]); 2] = [
    (NONE, &[Insert(1, 1, 1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Insert(2, 2, 2)]),
];

/// Others, and those in which values change hands between items that stay.
const MORE_CLAIMS: [(&[Fields], &[Act]); 7] = [
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Patch(1), Insert(2, 2, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(2, 2, 2)]),
    (TWO, &[Update(1, 2, 2), Update(2, 1, 1), Delete(2)]),
    (TWO, &[Update(1, 2, 2), Delete(2), Insert(2, 1, 1)]),
];

/// Threes in which an item leaves a value, and comes back to it.
const POINTERS: [(&[Fields], &[Act]); 6] = [
    (NONE, &[Insert(1, 1, 1), Delete(1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Update(1, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 2, 2)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Patch(1), Repair]),
];

/// Twos in which they do.
const CROSSING_TWOS: [(&[Fields], &[Act]); 8] = [
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Insert(2, 1, 1), Insert(2, 1, 2)]),
    (ONE, &[Insert(2, 1, 2), Insert(2, 2, 1)]),
    (ONE, &[Insert(2, 1, 1), Delete(1)]),
    (ONE, &[Insert(2, 2, 1), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1)]),
    (TWO, &[Update(1, 3, 2), Update(2, 1, 3)]),
];

/// Threes in which writers of two unique indexes meet crosswise.
const CROSSINGS: [(&[Fields], &[Act]); 4] = [
    (ONE, &[Update(1, 2, 1), Insert(2, 2, 2), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 3), Repair]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 2), Insert(3, 3, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Threes in which writers of one row's properties overtake each other.
const FOLLOWING: [(&[Fields], &[Act]); 4] = [
    (ONE, &[Note(1, 7), Note(1, 8), Note(1, 9)]),
    // One of them may find the note as it writes it, and then writes no other row.
    (ONE, &[Note(1, 7), Note(1, 7), Note(1, 0)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 1, 1)]),
    (ONE, &[Note(1, 7), Delete(1), Insert(1, 1, 1)]),
];

/// Threes of those that take long.
const OVERTAKING: [(&[Fields], &[Act]); 3] = [
    (ONE, &[Update(1, 2, 2), Update(1, 3, 3), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Note(1, 7), Repair]),
];

mod unique_elsewhere {
    use super::{
        ACTS, CLAIMS, LONG_CLAIMS, MORE_CLAIMS, Result, STARTS, every, has_time, items::unique_elsewhere::Item, these,
    };

    #[test]
    fn every_two() -> Result<()> {
        every::<Item>(&STARTS, &ACTS, 2)
    }

    #[test]
    fn three() -> Result<()> {
        these::<Item>(CLAIMS.into_iter().chain(MORE_CLAIMS))?;
        if !has_time() {
            return Ok(());
        }
        these::<Item>(LONG_CLAIMS)?;
        every::<Item>(&STARTS, &ACTS, 3)
    }
}

mod two_elsewhere {
    use super::{
        CROSSING_TWOS, CROSSINGS, CROSSWISE, Result, STARTS, every, has_time, items::two_elsewhere::Item, these,
    };

    #[test]
    fn every_two() -> Result<()> {
        // Their claims go side by side, in every order, so that the others take long.
        if has_time() { every::<Item>(&STARTS, &CROSSWISE, 2) } else { these::<Item>(CROSSING_TWOS) }
    }

    #[test]
    fn three() -> Result<()> {
        let [first, others @ ..] = CROSSINGS;
        these::<Item>([first])?;
        if has_time() { these::<Item>(others) } else { Ok(()) }
    }
}

mod mixed_three {
    use super::{ACTS, CROSSINGS, Result, STARTS, every, has_time, items::mixed_three::Item, these};

    #[test]
    fn every_two() -> Result<()> {
        every::<Item>(&STARTS, &ACTS, 2)
    }

    #[test]
    fn three() -> Result<()> {
        let [first, second, third, fourth] = CROSSINGS;
        these::<Item>([first, third])?;
        if has_time() { these::<Item>([second, fourth]) } else { Ok(()) }
    }
}

mod pointer_elsewhere {
    use super::{ACTS, POINTERS, Result, STARTS, every, has_time, items::pointer_elsewhere::Item, these};

    #[test]
    fn every_two() -> Result<()> {
        every::<Item>(&STARTS, &ACTS, 2)
    }

    #[test]
    fn three() -> Result<()> {
        if has_time() { every::<Item>(&STARTS, &ACTS, 3) } else { these::<Item>(POINTERS) }
    }
}

mod unique_in_partition {
    use super::{ACTS, CLAIMS, Result, STARTS, every, items::unique_in_partition::Item, these};

    #[test]
    fn every_two() -> Result<()> {
        every::<Item>(&STARTS, &ACTS, 2)
    }

    #[test]
    fn every_three() -> Result<()> {
        these::<Item>(CLAIMS)?;
        every::<Item>(&STARTS, &ACTS, 3)
    }
}

macro_rules! following {
    ($($kind:ident)+) => {$(
        mod $kind {
            use super::{FOLLOWING, NONE, NOTED, ONE, OVERTAKING, Result, every, has_time, items::$kind::Item, these};

            #[test]
            fn every_two() -> Result<()> {
                every::<Item>(&[NONE, ONE], &NOTED, 2)
            }

            #[test]
            fn three() -> Result<()> {
                these::<Item>(FOLLOWING)?;
                if has_time() { these::<Item>(OVERTAKING) } else { Ok(()) }
            }
        }
    )+};
}

following! { copy_elsewhere include_elsewhere unique_include_elsewhere }
