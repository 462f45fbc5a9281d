//! Every write of every kind of index, with a fault at every request. After each, the guarantees for readers hold, and
//! a repair leaves no finding.

use std::{cell::RefCell, collections::BTreeMap};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, TableEntity, Tables, Value,
    backend::{Action, BackendExt, Group, IfMatch, Operation, Reach},
    jobs::Finding,
    layout::LayoutInfo,
    testing::Scheduled,
};
use tests::{
    depth::Depth,
    driven::{Next, drive},
    faulty::{Fault, Faulty, Run, for_each_fault},
    items::{self, Fields, ItemKind, Write, clashes, contents, fixed, having, promised, sound, store, takes},
    plain::Plain,
};

/// Write of an item, given by its key, its value and its other value.
#[derive(Clone, Copy, Debug)]
enum Act {
    Insert(u32, u32, u32),
    Upsert(u32, u32, u32),
    Update(u32, u32, u32),
    /// Update of the note alone.
    Note(u32),
    /// Update with a repetition, which adds a like.
    Modify(u32, u32, u32),
    /// The same, or an insert.
    ModifyOrInsert(u32, u32, u32),
    /// Insert, unless there is an item with its key.
    GetOrInsert(u32, u32, u32),
    Patch(u32),
    Delete(u32),
    Remove(u32),
    /// Transaction.
    Both(Write, Write),
    Repair,
}

/// The note of an item that a `get_or_insert` has inserted.
const GOT: u32 = 6;

/// Items stored at the beginning. The first one has two elements, the second one has one.
const START: [Fields; 2] = [Fields::new(1, 1, 4), Fields::new(2, 2, 2)];

/// All writes, including those that violate a unique index.
const ACTS: [Act; 34] = [
    Act::Insert(3, 3, 3),
    Act::Insert(3, 1, 3),
    Act::Insert(3, 3, 4),
    Act::Insert(3, 1, 2),
    Act::Insert(1, 3, 3),
    Act::Upsert(3, 3, 3),
    Act::Upsert(1, 3, 3),
    Act::Upsert(1, 1, 4),
    Act::Upsert(1, 3, 2),
    Act::Update(1, 3, 3),
    Act::Update(1, 3, 4),
    Act::Update(1, 2, 4),
    Act::Update(1, 3, 2),
    Act::Note(1),
    Act::Modify(1, 3, 3),
    Act::Modify(1, 2, 4),
    Act::ModifyOrInsert(1, 3, 3),
    Act::ModifyOrInsert(3, 3, 3),
    Act::GetOrInsert(3, 3, 3),
    Act::GetOrInsert(3, 3, 2),
    // The item is there, and another one has the values.
    Act::GetOrInsert(1, 1, 4),
    Act::GetOrInsert(1, 3, 3),
    Act::GetOrInsert(1, 2, 2),
    Act::Patch(1),
    Act::Delete(1),
    Act::Remove(1),
    Act::Remove(3),
    Act::Both(Write::Insert(Fields::new(3, 3, 3)), Write::Insert(Fields::new(4, 5, 5))),
    Act::Both(Write::Insert(Fields::new(3, 3, 3)), Write::Update(1, 5, 5)),
    Act::Both(Write::Update(1, 3, 3), Write::Delete(2)),
    Act::Both(Write::Delete(1), Write::Insert(Fields::new(1, 3, 4))),
    // A value passes from one item to the other, or belongs to a third one.
    Act::Both(Write::Update(1, 5, 5), Write::Insert(Fields::new(3, 1, 3))),
    Act::Both(Write::Insert(Fields::new(3, 3, 3)), Write::Insert(Fields::new(4, 2, 5))),
    Act::Repair,
];

/// Writes that leave the most rows behind when they fail.
const DAMAGING: [Act; 6] = [
    Act::Insert(3, 3, 3),
    Act::Update(1, 3, 3),
    Act::Update(1, 3, 2),
    Act::Note(1),
    Act::Delete(1),
    Act::Both(Write::Insert(Fields::new(3, 3, 3)), Write::Update(1, 5, 5)),
];

/// Writes that touch what a failed write left behind.
const AFTER_FAULT: [Act; 13] = [
    Act::Insert(3, 3, 3),
    Act::Insert(4, 3, 1),
    Act::Insert(4, 1, 3),
    Act::Upsert(1, 3, 3),
    Act::Update(2, 3, 4),
    Act::Update(1, 4, 4),
    Act::ModifyOrInsert(3, 3, 3),
    Act::GetOrInsert(3, 3, 3),
    Act::GetOrInsert(4, 3, 1),
    Act::Delete(1),
    // The claims that these want may be left with the other item.
    Act::Both(Write::Insert(Fields::new(3, 3, 3)), Write::Note(1, 7)),
    Act::Both(Write::Insert(Fields::new(3, 5, 5)), Write::Insert(Fields::new(4, 3, 3))),
    Act::Repair,
];

async fn run(kind: &dyn ItemKind, tables: &Tables, act: Act) -> table_runtime::Result<()> {
    match act {
        Act::Insert(id, value, other) => kind.insert(tables, Fields::new(id, value, other)).await,
        Act::Upsert(id, value, other) => kind.upsert(tables, Fields { note: 1, ..Fields::new(id, value, other) }).await,
        Act::Update(id, value, other) => {
            let Some(item) = kind.get(tables, id).await? else { return Ok(()) };
            let fields = Fields { value, other, note: 2, ..item.fields() };
            item.update(tables, fields).await
        }
        Act::Note(id) => {
            let Some(item) = kind.get(tables, id).await? else { return Ok(()) };
            let fields = Fields { note: 3, ..item.fields() };
            item.update(tables, fields).await
        }
        Act::Modify(id, value, other) => kind.modify(tables, id, Fields::change_to(value, other)).await.map(drop),
        Act::ModifyOrInsert(id, value, other) => {
            kind.modify_or_insert(tables, Fields::new(id, value, other), Fields::change_to(value, other)).await
        }
        Act::GetOrInsert(id, value, other) => {
            let new = Fields { note: GOT, ..Fields::new(id, value, other) };
            let (stored, is_new) = kind.get_or_insert(tables, new).await?;
            assert_eq!(is_new, stored.note == GOT, "{stored:?}");
            assert!(stored.id == id && (!is_new || stored == new), "{stored:?}");
            Ok(())
        }
        Act::Patch(id) => kind.patch(tables, id, 4).await,
        Act::Delete(id) => match kind.get(tables, id).await? {
            Some(item) => item.delete(tables).await,
            None => Ok(()),
        },
        Act::Remove(id) => kind.remove(tables, id).await.map(drop),
        Act::Both(one, other) => kind.transact(tables, [one, other]).await.map(drop),
        Act::Repair => kind.repair(tables).await.map(drop),
    }
}

/// Returns what readers see after a write without a fault; `None` if it is refused.
fn after(kind: &dyn ItemKind, before: &[Fields], act: Act) -> Option<Vec<Fields>> {
    let mut items: BTreeMap<_, _> = before.iter().map(|fields| (fields.id, *fields)).collect();
    let id = match act {
        Act::Insert(id, value, other) => {
            if items.insert(id, Fields::new(id, value, other)).is_some() {
                return None;
            }
            id
        }
        Act::Upsert(id, value, other) => {
            items.insert(id, Fields { note: 1, ..Fields::new(id, value, other) });
            id
        }
        Act::Update(id, value, other) => {
            items.entry(id).and_modify(|fields| *fields = Fields { value, other, note: 2, ..*fields });
            id
        }
        Act::Modify(id, value, other) | Act::ModifyOrInsert(id, value, other) => {
            let changed = |fields: &mut Fields| *fields = Fields { value, other, likes: fields.likes + 1, ..*fields };
            let entry = items.entry(id).and_modify(changed);
            if matches!(act, Act::ModifyOrInsert(..)) {
                entry.or_insert(Fields::new(id, value, other));
            }
            id
        }
        Act::GetOrInsert(id, value, other) => {
            if items.contains_key(&id) {
                return Some(before.to_vec());
            }
            items.insert(id, Fields { note: GOT, ..Fields::new(id, value, other) });
            id
        }
        Act::Note(id) => {
            items.entry(id).and_modify(|fields| fields.note = 3);
            id
        }
        Act::Patch(id) if kind.is_patched() => {
            items.entry(id).and_modify(|fields| fields.likes = 4);
            id
        }
        Act::Delete(id) | Act::Remove(id) => {
            items.remove(&id);
            id
        }
        Act::Patch(_) | Act::Repair => return Some(before.to_vec()),
        Act::Both(one, other) => return after_both(kind, before, [one, other]),
    };
    let clashes = |fields| items.values().any(|other| clashes(kind, fields, other));
    if items.get(&id).is_some_and(clashes) { None } else { Some(items.into_values().collect()) }
}

/// Returns what readers see after a transaction; `None` if it is refused.
fn after_both(kind: &dyn ItemKind, before: &[Fields], writes: [Write; 2]) -> Option<Vec<Fields>> {
    let mut items: BTreeMap<_, _> = before.iter().map(|fields| (fields.id, *fields)).collect();
    let mut written = Vec::new();
    for write in writes {
        let id = match write {
            Write::Insert(Fields { id, .. })
            | Write::Upsert(Fields { id, .. })
            | Write::Update(id, ..)
            | Write::Note(id, _)
            | Write::Patch(id)
            | Write::Delete(id) => id,
        };
        let new = match (write, items.remove(&id)) {
            (Write::Insert(_), Some(_)) => return None,
            (Write::Insert(fields) | Write::Upsert(fields), _) => Some(fields),
            (Write::Update(_, value, other), Some(old)) => Some(Fields { value, other, note: value, ..old }),
            (Write::Note(_, note), Some(old)) => Some(Fields { note, ..old }),
            (Write::Patch(_), Some(old)) if kind.is_patched() => Some(Fields { likes: 4, ..old }),
            (Write::Patch(_), Some(old)) => Some(old),
            (Write::Patch(_), None) => return kind.is_patched().then_some(before.to_vec()),
            (Write::Delete(_), Some(_)) => None,
            // Nothing is written.
            (_, None) => return Some(before.to_vec()),
        };
        items.extend(new.map(|new| (id, new)));
        written.push(id);
    }
    let passes = |new: &Fields| {
        let others = before.iter().filter(|old| old.id != new.id && written.contains(&old.id));
        written.contains(&new.id) && others.into_iter().any(|old| takes(kind, new, old))
    };
    let clashes = |new: &Fields| items.values().any(|other| clashes(kind, new, other));
    if items.values().any(|new| passes(new) || clashes(new)) { None } else { Some(items.into_values().collect()) }
}

/// A write, and what readers see before and after it; `None` if it is refused.
struct Written<'a> {
    kind: &'a dyn ItemKind,
    act: Act,
    before: Vec<Fields>,
    expected: Option<Vec<Fields>>,
}

impl<'a> Written<'a> {
    async fn of(kind: &'a dyn ItemKind, start: &Plain, act: Act) -> Result<Self> {
        let before = promised(kind, &start.tables()).await?;
        Ok(Self { kind, act, expected: after(kind, &before, act), before })
    }

    /// Checks what the write has left, with a fault or without.
    async fn check(&self, store: &Plain, result: &table_runtime::Result<()>, has_fault: bool) -> Result<Vec<Fields>> {
        let Self { kind, before, expected, .. } = self;
        let seen = promised(*kind, &store.tables()).await?;
        match result {
            Ok(()) => ensure!(Some(&seen) == expected.as_ref(), "the write succeeded, and readers see {seen:?}"),
            Err(Error::OutcomeUnknown(error)) => {
                ensure!(has_fault, "{error}");
                ensure!(seen == *before || Some(&seen) == expected.as_ref(), "{error}; readers see {seen:?}");
            }
            Err(error) => {
                let is_expected = matches!(error, Error::UniqueViolation(_) | Error::AlreadyExists(_));
                ensure!(has_fault || expected.is_none() && is_expected, "{error}");
                ensure!(seen == *before, "{error}; readers see {seen:?} instead of {before:?}");
            }
        }
        Ok(seen)
    }
}

/// Runs a write with every fault, each time on a copy of the store, and checks what it leaves. Returns the number of
/// faults.
async fn check(
    kind: &dyn ItemKind,
    start: &Plain,
    act: Act,
    left: impl Fn(&Plain),
    is_undamaged: bool,
) -> Result<usize> {
    let written = Written::of(kind, start, act).await?;
    let program = async |tables: Tables| run(kind, &tables, act).await;
    for_each_fault(
        async || Ok(start.copy()),
        program,
        async |run: Run<Plain, _>| {
            left(&run.store);
            let seen = written.check(&run.store, &run.result, run.fault.is_some()).await?;
            if run.fault.is_none() && is_undamaged {
                sound(kind, &run.tables, &seen).await.context("before a repair")?;
            }
            fixed(kind, &run.tables, &seen)
                .await
                .with_context(|| format!("the result is {:?}, the store has\n{}", run.result, run.store))
        },
    )
    .await
    .with_context(|| format!("{act:?} after\n{start}"))
}

/// Runs a write whose leases end at each of its requests, each time on a copy of the store, and checks what it leaves.
/// Returns the number of late answers.
async fn check_late(written: &Written<'_>, start: &Plain, without_catalog: bool) -> Result<usize> {
    let Written { kind, act, .. } = written;
    for n in 0.. {
        let store = start.copy();
        let (backend, faults) = Faulty::new(store.clone());
        let tables = Tables::new(backend);
        // The handle gets leases.
        kind.create(&tables).await?;
        faults.arm_late(n, without_catalog);
        let result = run(*kind, &tables, *act).await;
        let hit = faults.hit();
        let checked = async {
            // With the catalog, it is found that the entity is still in its place.
            let seen = written.check(&store, &result, hit.is_some() && without_catalog).await?;
            fixed(*kind, &store.tables(), &seen).await
        };
        checked
            .await
            .with_context(|| format!("{act:?}: {result:?} after a late answer to {hit:?}, the store has\n{store}"))?;
        if hit.is_none() {
            return Ok(n);
        }
    }
    Ok(0)
}

/// After the commit, nothing is rolled back: not because a lease has ended, and not because the catalog cannot be read.
async fn every_write_survives_leases_that_end(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let start = store(kind, reach, &START).await?;
    let mut late = 0;
    for act in ACTS {
        let written = Written::of(kind, &start, act).await?;
        for without_catalog in [false, true] {
            late += check_late(&written, &start, without_catalog).await?;
        }
    }
    println!("{late} late answers");
    Ok(())
}

async fn every_write_survives_every_fault(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let start = store(kind, reach, &START).await?;
    let mut failed = 0;
    for act in ACTS {
        failed += check(kind, &start, act, |_| {}, true).await?;
    }
    println!("{failed} faults");
    Ok(())
}

/// Returns the different stores that failed writes leave if a transaction spans one partition.
async fn damaged(kind: &dyn ItemKind) -> Result<Vec<Plain>> {
    let start = store(kind, Reach::Partition, &START).await?;
    let damaged = RefCell::new(BTreeMap::new());
    for act in DAMAGING {
        let left = |store: &Plain| drop(damaged.borrow_mut().insert(contents(store), store.copy()));
        check(kind, &start, act, left, true).await?;
    }
    Ok(damaged.into_inner().into_values().collect())
}

/// Writes of another writer, which want the key or a value of the others.
const OTHERS: [Act; 5] =
    [Act::Insert(3, 3, 3), Act::Insert(4, 3, 1), Act::Upsert(3, 4, 3), Act::Update(1, 3, 3), Act::Delete(1)];

/// What a program and another one have left, which ran between two of its requests.
struct Interrupted<T, O> {
    store: Plain,
    result: T,
    told: O,
}

/// Runs a program on a store, and another one before its request of this number. `refused` is the number of its request that
/// fails. Returns `None` if the program sends fewer requests.
async fn interrupted<T, O>(
    store: Plain,
    refused: Option<usize>,
    n: usize,
    program: impl AsyncFnOnce(&Tables) -> T,
    other: impl AsyncFn(&Tables) -> O,
) -> Result<Option<Interrupted<T, O>>> {
    let (backend, faults) = Faulty::new(store.clone());
    if let Some(refused) = refused {
        faults.arm(Fault::Refused, refused);
    }
    let (backend, schedule) = Scheduled::new(backend);
    let (tables, direct) = (Tables::new(backend), store.tables());
    let (mut requests, mut told) = (0, None);
    let result = drive(&schedule, program(&tables), async |_| {
        if requests == n {
            told = Some(other(&direct).await);
        }
        requests += 1;
        Next::Grant
    })
    .await?;
    Ok(told.map(|told| Interrupted { store, result, told }))
}

/// Another writer runs between any two requests of a write. What both are told is what would happen if one began after the
/// other; a write of a version that the other one has changed is refused.
async fn every_write_is_told_the_truth_beside_another(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let start = store(kind, reach, &START).await?;
    let mut runs = 0;
    for (act, other) in ACTS.into_iter().flat_map(|act| OTHERS.map(|other| (act, other))) {
        for n in 0.. {
            let program = async |tables: &Tables| run(kind, tables, act).await;
            let interrupted =
                interrupted(start.copy(), None, n, program, async |tables| run(kind, tables, other).await);
            let Some(Interrupted { store, result, told }) = interrupted.await? else { break };
            runs += 1;
            let direct = store.tables();
            let checked = async {
                let seen = promised(kind, &direct).await?;
                let one_after = |first, second| {
                    let between = after(kind, &START, first);
                    let end = after(kind, between.as_deref().unwrap_or(&START), second);
                    let is_done = (between.is_some(), end.is_some());
                    (end.or(between).unwrap_or_else(|| START.to_vec()), is_done)
                };
                let is_done = (told.is_ok(), result.is_ok());
                let (now, (other_first, act_second)) = one_after(other, act);
                let is_after = seen == now && is_done == (other_first, act_second);
                let (now, (act_first, other_second)) = one_after(act, other);
                let is_before = seen == now && is_done == (other_second, act_first);
                // One that fails may have fenced the entity.
                let is_outdated = matches!(result, Err(Error::ConditionNotMet(_) | Error::NotFound(_)))
                    && seen == after(kind, &START, other).unwrap_or_else(|| START.to_vec());
                ensure!(is_after || is_before || is_outdated, "readers see {seen:?}");
                ensure!(!matches!(result, Err(Error::Aborted(_))), "it did not take long");
                fixed(kind, &direct, &seen).await
            };
            checked.await.with_context(|| {
                format!("{act:?} was told {result:?}; {other:?} before its request {n}: {told:?}\n{store}")
            })?;
        }
    }
    println!("{runs} runs");
    Ok(())
}

/// Number of damaged stores of which a quick search tries all.
const MANY_STORES: usize = 12;

async fn every_write_succeeds_after_a_fault(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let damaged = damaged(kind).await?;
    let mut failed = 0;
    // Kinds with several indexes leave many stores, most of which differ in one row.
    let step = if damaged.len() > MANY_STORES { Depth::choose(3, 1, 1) } else { 1 };
    for start in damaged.iter().step_by(step) {
        // A store whose transactions span all rows may have been copied from one whose transactions do not.
        let start = start.copy().with_reach(reach);
        for act in AFTER_FAULT {
            failed += check(kind, &start, act, |_| {}, false).await?;
        }
    }
    println!("{} damaged stores, {failed} faults", damaged.len().div_ceil(step));
    Ok(())
}

/// Deletes all index rows and the records of the indexes.
async fn strip(kind: &dyn ItemKind, store: &Plain) -> Result<()> {
    let LayoutInfo { table: entities, partition_prefix, row_prefix, .. } = &kind.layouts()[0];
    for (table, row) in store.rows() {
        let is_entity = table == *entities
            && row.partition_key.starts_with(&**partition_prefix)
            && row.row_key.starts_with(&**row_prefix);
        if !is_entity {
            let operations = vec![Operation { row_key: row.row_key, action: Action::Delete(IfMatch::Any) }];
            store.execute_group(&Group { table: table.into(), partition_key: row.partition_key, operations }).await?;
        }
    }
    kind.create(&store.tables()).await?;
    Ok(())
}

async fn fill(kind: &dyn ItemKind, tables: &Tables) -> table_runtime::Result<()> {
    for layout in &kind.layouts()[1..] {
        kind.backfill(tables, &layout.name, 1).await?;
    }
    Ok(())
}

async fn every_backfill_survives_every_fault(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let items = [START[0], START[1], Fields::new(3, 3, 3)];
    let start = store(kind, reach, &items).await?;
    strip(kind, &start).await?;
    // The store has the items, the records of the key and of each index, and their head.
    ensure!(start.rows().len() == items.len() + kind.layouts().len() + 1, "{start}");
    let program = async |tables: Tables| fill(kind, &tables).await;
    let failed = for_each_fault(
        async || Ok(start.copy()),
        program,
        async |run: Run<Plain, _>| {
            // An index cannot be read before it is complete.
            let is_refused = async |at| matches!(kind.find(&run.tables, at, 1).await, Err(Error::IndexBuilding { .. }));
            let mut refused = 0;
            for at in 1..kind.layouts().len() {
                if is_refused(at).await {
                    refused += 1;
                } else {
                    let layout = &kind.layouts()[at];
                    let found = kind.find(&run.tables, at, 1).await?;
                    ensure!(found == having(layout, &items, |value| value == 1), "the result of `{}`", layout.name);
                }
            }
            ensure!(run.result.is_err() || refused == 0, "the backfill succeeded, and {refused} indexes are not ready");
            ensure!(run.fault.is_some() || run.result.is_ok(), "{:?}", run.result);
            fill(kind, &run.tables).await.context("again")?;
            sound(kind, &run.tables, &items).await
        },
    )
    .await?;
    println!("{failed} faults");
    Ok(())
}

/// Writes by which the values of the first item pass to another one. At no moment do two items have them.
const PASSING: [[Act; 2]; 2] = [[Act::Delete(1), Act::Insert(4, 1, 4)], [Act::Update(1, 5, 5), Act::Insert(4, 1, 4)]];

/// Values pass from one item to another between any two requests of a backfill. No conflict is reported.
async fn every_backfill_is_told_the_truth_beside_others(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let items = [START[0], START[1], Fields::new(3, 3, 3)];
    let start = store(kind, reach, &items).await?;
    strip(kind, &start).await?;
    let mut runs = 0;
    for acts in PASSING {
        for n in 0.. {
            let program = async |tables: &Tables| items::fill(kind, tables, 1).await;
            let others = async |tables: &Tables| {
                run(kind, tables, acts[0]).await?;
                run(kind, tables, acts[1]).await
            };
            let interrupted = interrupted(start.copy(), None, n, program, others).await?;
            let Some(Interrupted { store, result, told }) = interrupted else { break };
            runs += 1;
            let direct = store.tables();
            let checked = async {
                told?;
                ensure!(matches!(result, Ok(true)), "{result:?}");
                let seen = promised(kind, &direct).await?;
                sound(kind, &direct, &seen).await
            };
            checked.await.with_context(|| format!("{acts:?} before request {n} of the backfill\n{store}"))?;
        }
    }
    println!("{runs} runs");
    Ok(())
}

/// Items from before their indexes. They share a value, or an element.
const SHARING: [[Fields; 2]; 2] = [[Fields::new(1, 1, 1), Fields::new(2, 1, 1)], [START[0], Fields::new(2, 4, 3)]];

/// Writes by which one of these items loses its values.
const LOSING: [Act; 4] = [Act::Delete(1), Act::Update(1, 5, 5), Act::Delete(2), Act::Update(2, 5, 5)];

/// A backfill runs between any two requests of such a write. It leaves no row of a value that no item has, also if it could
/// not write all rows of the item.
async fn every_write_beside_a_backfill_leaves_no_stale_row(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let mut runs = 0;
    for (items, act) in SHARING.iter().flat_map(|items| LOSING.map(|act| (items, act))) {
        let start = items::old_store(kind, reach, items).await?;
        for n in 0.. {
            let program = async |tables: &Tables| run(kind, tables, act).await;
            let fill = async |tables: &Tables| items::fill(kind, tables, 1).await;
            let interrupted = interrupted(start.copy(), None, n, program, fill).await?;
            let Some(Interrupted { store, result, told }) = interrupted else { break };
            runs += 1;
            let checked = async {
                told?;
                let findings = kind.verify(&store.tables()).await?;
                let is_stale = |finding: &Finding| matches!(finding, Finding::StaleRow { .. });
                ensure!(!findings.iter().any(is_stale), "{findings:?}");
                anyhow::Ok(())
            };
            checked.await.with_context(|| format!("{act:?}: {result:?}, a backfill before request {n}\n{store}"))?;
        }
    }
    println!("{runs} runs");
    Ok(())
}

/// The note of an item changes between any two requests of a repair that writes its rows, and one request of the repair
/// fails. No row is left with the earlier note.
async fn every_repair_that_fails_leaves_no_earlier_row(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    const REQUESTS: usize = 1000;
    let start = store(kind, reach, &START[..1]).await?;
    strip(kind, &start).await?;
    let mut runs = 0;
    for refused in 0..REQUESTS {
        let mut was_interrupted = false;
        // Before that request, the repair is the one without a fault.
        for n in 0..=refused {
            let repair = async |tables: &Tables| kind.repair(tables).await;
            let note = async |tables: &Tables| run(kind, tables, Act::Note(1)).await;
            let interrupted = interrupted(start.copy(), Some(refused), n, repair, note).await?;
            let Some(Interrupted { store, result, told }) = interrupted else { break };
            (runs, was_interrupted) = (runs + 1, n == refused);
            let checked = async {
                told?;
                let findings = kind.verify(&store.tables()).await?;
                let is_earlier = |finding: &Finding| matches!(finding, Finding::StaleCopy { .. });
                ensure!(!findings.iter().any(is_earlier), "{result:?}, and {findings:?}");
                anyhow::Ok(())
            };
            checked.await.with_context(|| format!("note before request {n}, {refused} fails\n{store}"))?;
        }
        if !was_interrupted {
            break;
        }
    }
    println!("{runs} runs");
    Ok(())
}

/// Entity with a write id, whose inserts take steps.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Signed", write_id)]
struct Signed {
    #[partition_key]
    #[row_key]
    id: u32,
    #[index(code, unique)]
    code: u32,
}

/// The commit is answered after its lease has ended, and by then a migration has begun. It may have read the rows while the
/// entity was pending, so even a write id does not prove that the entity is where readers look.
#[tokio::test]
async fn an_insert_that_a_migration_overtook_is_unknown() -> Result<()> {
    for has_begun in [false, true] {
        let store = Plain::default();
        let (backend, faults) = Faulty::new(store.clone());
        let tables = Tables::new(backend);
        tables.create::<Signed>().await?;
        if has_begun {
            let state = [("State", Value::String("Leaving".to_owned()))].into_iter().collect();
            let action = Action::Merge(state, IfMatch::Any);
            let operations = vec![Operation { row_key: "signed signed Signed key".to_owned(), action }];
            let (table, partition_key) = ("TableLayouts".into(), "layouts".to_owned());
            store.execute_group(&Group { table, partition_key, operations }).await?;
        }
        // After the pending insert and the claim.
        faults.arm_late(2, false);
        let inserted = tables.insert(&Signed { id: 1, code: 1 }).await;
        let hit = faults.hit().context("the commit")?.to_string();
        ensure!(hit.starts_with("update of Signed("), "{hit}");
        ensure!(matches!(inserted, Err(Error::OutcomeUnknown(_))) == has_begun, "{inserted:?}");
        ensure!(inserted.is_ok() != has_begun, "{inserted:?}");
        // Nothing is rolled back.
        ensure!(Signed::by_code(1).exists(&store.tables()).await?);
    }
    Ok(())
}

macro_rules! each {
    ($reach:ident: $($kind:ident)+) => {$(
        mod $kind {
            use super::{Reach, Result, items::$kind::KIND};

            #[tokio::test]
            async fn every_write_survives_every_fault() -> Result<()> {
                super::every_write_survives_every_fault(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_write_is_told_the_truth_beside_another() -> Result<()> {
                super::every_write_is_told_the_truth_beside_another(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_write_survives_leases_that_end() -> Result<()> {
                super::every_write_survives_leases_that_end(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_write_succeeds_after_a_fault() -> Result<()> {
                super::every_write_succeeds_after_a_fault(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_backfill_survives_every_fault() -> Result<()> {
                super::every_backfill_survives_every_fault(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_write_beside_a_backfill_leaves_no_stale_row() -> Result<()> {
                super::every_write_beside_a_backfill_leaves_no_stale_row(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_repair_that_fails_leaves_no_earlier_row() -> Result<()> {
                super::every_repair_that_fails_leaves_no_earlier_row(KIND, Reach::$reach).await
            }

            #[tokio::test]
            async fn every_backfill_is_told_the_truth_beside_others() -> Result<()> {
                super::every_backfill_is_told_the_truth_beside_others(KIND, Reach::$reach).await
            }
        }
    )+};
}

each! {
    Partition:
    pointer_in_partition unique_in_partition copy_in_partition unique_copy_in_partition include_in_partition
    list_in_partition two_in_partition mixed_one mixed_two
    pointer_in_table unique_in_table copy_in_table include_in_table unique_include_in_table two_in_table
    pointer_elsewhere unique_elsewhere copy_elsewhere include_elsewhere unique_include_elsewhere two_elsewhere
    elements_in_partition unique_elements_in_partition
    elements_elsewhere unique_elements_elsewhere include_elements_elsewhere copy_elements_elsewhere
}

/// A transaction spans the whole store.
mod in_one_transaction {
    use super::*;

    each! {
        Store:
        mixed_one unique_elsewhere copy_elsewhere unique_include_elsewhere unique_elements_elsewhere
    }
}
