//! Every interleaving of writes of one or two indexes. In every state, the guarantees for readers hold, and a repair
//! leaves no finding.
//!
//! The store cannot distinguish a waiting writer from a crashed one. So the repair of every state covers every crash,
//! and the steps of the other writers are also those after a crash.

use std::{cell::RefCell, collections::HashSet, future::poll_fn, pin::pin, task::Poll, time::Instant};

use anyhow::{Context, Result, ensure};
use depth::Depth;
use explorer::{
    explore::{Crashes, Explored, Explorer, Op, Progress, Seen, Stage, op, staged},
    items::{
        self, Fields, ItemKind, Write, clashes, contents, fill, fixed, has_elements, is_in_one_partition, old_store,
        promised, ready, sound, store,
    },
};
use futures_util::FutureExt;
use table_runtime::{
    Error, Tables,
    backend::Reach,
    bulk::BulkProgress,
    jobs::Finding,
    layout::{Holds, LayoutInfo},
};

/// Operation. Items are given by their key, their value and their other value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Insert(u32, u32, u32),
    Update(u32, u32, u32),
    /// Update through a `Stored::new`, for which the stored values are unknown.
    Rewrapped(u32, u32, u32),
    /// Merge, which reads the item first.
    Merge(u32, u32, u32),
    /// Patch of a property that only another program knows.
    Extra(u32),
    /// Update of the note alone.
    Note(u32, u32),
    /// Update of the note by a program whose struct has no index.
    Bare(u32, u32),
    /// Update that is repeated if another writer interferes. It adds a like.
    Modify(u32, u32, u32),
    /// The same, or the insert of an item with one like.
    ModifyOrInsert(u32, u32, u32),
    /// Insert of an item with the [mark](mark) of this act, unless there is one with its key.
    GetOrInsert(u32, u32, u32),
    Delete(u32),
    Patch(u32),
    /// Patch of the version that is read first.
    PatchIf(u32),
    /// Transaction.
    Both(Write, Write),
    InsertAll(Fields, Fields),
    UpsertAll(Fields, Fields),
    RemoveAll(u32, u32),
    /// Removal of items as they were read.
    RemoveRead(u32, u32),
    Repair,
    /// Backfill of every index.
    Fill,
    /// Backfill of two pages at the same time, on a store whose pages have one row.
    FillSideBySide,
    /// Operation whose future is dropped after this many waits. Requests that it has sent may arrive at any later time.
    Dropped(&'static Act, usize),
    /// Operation whose leases end at its request of this number, and which cannot read the catalog from then on.
    Late(&'static Act, usize),
}

use Act::{
    Bare, Both, Delete, Dropped, Extra, Fill, FillSideBySide, GetOrInsert, Insert, InsertAll, Late, Merge, Modify,
    ModifyOrInsert, Note, Patch, PatchIf, RemoveAll, RemoveRead, Repair, Rewrapped, Update, UpsertAll,
};

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// There was this item already.
    Found(Fields),
    /// The item is missing or needs no change. For a backfill, two items share a value.
    Nothing,
    Exists,
    Violation,
    /// Another writer was faster, or aborted it.
    Conflict,
    /// Bulk write of which the first or the second item failed.
    Failed(bool, bool),
    /// It was dropped because it was repeated too often.
    Left,
    /// Its lease ended: nothing was written.
    Refused,
    /// Its lease ended, and it may have been applied.
    Unknown,
}

/// Number of waits after which a repeated operation is dropped, during its second or third attempt. Two operations may
/// make each other begin again without end, because the delays between attempts take no time here.
const REPEATED: usize = 12;

fn outcome<T>(result: table_runtime::Result<T>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(Error::AlreadyExists(_)) => Outcome::Exists,
        Err(Error::UniqueViolation(_)) => Outcome::Violation,
        Err(Error::ConditionNotMet(_) | Error::Aborted(_)) => Outcome::Conflict,
        Err(Error::NotFound(_)) => Outcome::Nothing,
        Err(Error::NoAnswer { .. }) => Outcome::Refused,
        Err(Error::OutcomeUnknown(_)) => Outcome::Unknown,
        Err(error) => panic!("{error}"),
    }
}

fn outcome_of_change(result: table_runtime::Result<bool>) -> Outcome {
    match result {
        Ok(false) => Outcome::Nothing,
        result => outcome(result),
    }
}

fn outcome_of_bulk(result: table_runtime::Result<BulkProgress>) -> Outcome {
    match result {
        Err(Error::Bulk(error))
            if error.failures.iter().any(|failure| matches!(*failure.error, Error::OutcomeUnknown(_))) =>
        {
            Outcome::Unknown
        }
        Err(Error::Bulk(error)) => {
            for failure in &error.failures {
                outcome::<()>(Err(match &*failure.error {
                    Error::AlreadyExists(row) => Error::AlreadyExists(row.clone()),
                    Error::UniqueViolation(violation) => Error::UniqueViolation(violation.clone()),
                    Error::ConditionNotMet(row) => Error::ConditionNotMet(row.clone()),
                    Error::Aborted(row) => Error::Aborted(row.clone()),
                    error => panic!("{error}"),
                }));
            }
            let failed = |position| error.failures.iter().any(|failure| failure.position == position);
            Outcome::Failed(failed(0), failed(1))
        }
        result => outcome(result),
    }
}

/// Returns the note that no item has but the one that the act at this position has inserted with `get_or_insert`.
fn mark(at: usize) -> u32 {
    10 + u32::try_from(at).expect("there are few acts")
}

/// Returns what became of a `get_or_insert` of this item.
fn outcome_of_get(new: Fields, result: table_runtime::Result<(Fields, bool)>) -> Outcome {
    match result {
        Ok((stored, true)) => {
            // A patch may have changed the likes while it was pending.
            assert_eq!(Fields { likes: new.likes, ..stored }, new, "it is new");
            Outcome::Done
        }
        Ok((stored, false)) => Outcome::Found(stored),
        Err(error) => outcome::<()>(Err(error)),
    }
}

/// Polls a future until it has waited this often, and drops it.
async fn dropped<T>(future: impl Future<Output = T>, waits: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut waited = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if waited == waits => Poll::Ready(None),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await
}

/// Runs the act at this position of a set.
async fn run(kind: &'static dyn ItemKind, tables: Tables, act: Act, at: usize) -> Outcome {
    let tables = &tables;
    let read = async |id| kind.get(tables, id).await.expect("the store answers");
    match act {
        Merge(id, value, other) => outcome(kind.merge(tables, Fields::new(id, value, other)).await),
        Extra(id) => outcome(kind.set_extra(tables, id).await),
        Insert(id, value, other) => {
            let insert = kind.insert(tables, Fields::new(id, value, other)).map(outcome);
            dropped(Box::pin(insert), Depth::choose(8, 9, REPEATED)).await.unwrap_or(Outcome::Left)
        }
        Update(id, value, other) | Rewrapped(id, value, other) => match read(id).await {
            Some(item) if (item.fields().value, item.fields().other) != (value, other) => {
                let fields = Fields { value, other, note: value, ..item.fields() };
                outcome(match act {
                    Rewrapped(..) => item.update_rewrapped(tables, fields).await,
                    _ => item.update(tables, fields).await,
                })
            }
            _ => Outcome::Nothing,
        },
        Note(id, note) => match read(id).await {
            Some(item) => {
                let fields = Fields { note, ..item.fields() };
                outcome(item.update(tables, fields).await)
            }
            None => Outcome::Nothing,
        },
        Bare(id, note) => outcome_of_change(kind.note_bare(tables, id, note).await),
        Modify(id, value, other) => {
            let modify = kind.modify(tables, id, Fields::change_to(value, other));
            let modify = modify.map(outcome_of_change);
            dropped(Box::pin(modify), REPEATED).await.unwrap_or(Outcome::Left)
        }
        ModifyOrInsert(id, value, other) => {
            let new = Fields { likes: 1, ..Fields::new(id, value, other) };
            let modify = kind.modify_or_insert(tables, new, Fields::change_to(value, other)).map(outcome);
            dropped(Box::pin(modify), REPEATED).await.unwrap_or(Outcome::Left)
        }
        GetOrInsert(id, value, other) => {
            let new = Fields { note: mark(at), ..Fields::new(id, value, other) };
            let get = kind.get_or_insert(tables, new).map(|result| outcome_of_get(new, result));
            dropped(Box::pin(get), REPEATED).await.unwrap_or(Outcome::Left)
        }
        Delete(id) => match read(id).await {
            Some(item) => outcome(item.delete(tables).await),
            None => Outcome::Nothing,
        },
        Patch(id) => outcome(kind.patch(tables, id, 4).await),
        PatchIf(id) => match read(id).await {
            Some(item) => outcome(kind.patch_if(tables, id, item.etag(), 5).await),
            None => Outcome::Nothing,
        },
        Both(one, other) => {
            let transact = kind.transact(tables, [one, other]).map(outcome_of_change);
            // A patch begins nothing anew. Its commit may be repeated once.
            let is_patch = |write| matches!(write, Write::Patch(_));
            let most = if is_patch(one) || is_patch(other) { 16 } else { Depth::choose(8, 9, REPEATED) };
            dropped(Box::pin(transact), most).await.unwrap_or(Outcome::Left)
        }
        InsertAll(one, other) => {
            let insert = kind.insert_all(tables, [one, other]).map(outcome_of_bulk);
            dropped(Box::pin(insert), Depth::choose(8, 9, REPEATED)).await.unwrap_or(Outcome::Left)
        }
        UpsertAll(one, other) => outcome_of_bulk(kind.upsert_all(tables, [one, other]).await),
        RemoveAll(one, other) => outcome(kind.remove_all(tables, [one, other]).await),
        RemoveRead(one, other) => outcome(kind.remove_read(tables, [one, other]).await),
        Repair => outcome(kind.repair(tables).await),
        Fill | FillSideBySide => match fill(kind, tables, if act == FillSideBySide { 2 } else { 1 }).await {
            Ok(true) => Outcome::Done,
            Ok(false) => Outcome::Nothing,
            Err(error) => panic!("{error:#}"),
        },
        Dropped(act, waits) => {
            dropped(Box::pin(run(kind, tables.clone(), *act, at)), waits).await.unwrap_or(Outcome::Nothing)
        }
        Late(act, _) => Box::pin(run(kind, tables.clone(), *act, at)).await,
    }
}

impl Act {
    /// Returns the items that exist after it succeeded because it wrote them, in order.
    fn written(self) -> Vec<u32> {
        match self {
            Insert(id, ..)
            | Update(id, ..)
            | Rewrapped(id, ..)
            | Merge(id, ..)
            | Modify(id, ..)
            | ModifyOrInsert(id, ..)
            | GetOrInsert(id, ..)
            | Note(id, _)
            | Bare(id, _)
            // It changes no pending insert, because no reader returns the version of one.
            | PatchIf(id) => vec![id],
            Both(one, other) => {
                let id = |write| match write {
                    Write::Insert(fields) | Write::Upsert(fields) => Some(fields.id),
                    Write::Update(id, ..) | Write::Note(id, _) => Some(id),
                    Write::Delete(_) | Write::Patch(_) => None,
                };
                id(one).into_iter().chain(id(other)).collect()
            }
            InsertAll(one, other) | UpsertAll(one, other) => vec![one.id, other.id],
            // A patch may change a pending insert, and is lost if that is aborted.
            Patch(_) | Extra(_) | Delete(_) | RemoveAll(..) | RemoveRead(..) | Repair | Fill | FillSideBySide | Dropped(..) | Late(..) => Vec::new(),
        }
    }

    fn deletes(self, id: u32) -> bool {
        match self {
            Delete(deleted) => deleted == id,
            RemoveAll(one, other) | RemoveRead(one, other) => [one, other].contains(&id),
            Both(one, other) => [one, other].contains(&Write::Delete(id)),
            Dropped(act, _) | Late(act, _) => act.deletes(id),
            _ => false,
        }
    }

    /// Checks whether the operation may change an item in any way.
    fn changes(self, id: u32) -> bool {
        match self {
            Dropped(act, _) | Late(act, _) => act.changes(id),
            Patch(patched) | Extra(patched) => patched == id,
            Both(one, other) if [one, other].contains(&Write::Patch(id)) => true,
            act => act.deletes(id) || act.written().contains(&id),
        }
    }

    /// Checks whether the operation may remove the properties of an item that its struct does not know.
    fn replaces(self, id: u32) -> bool {
        match self {
            Insert(own, ..) => own == id,
            InsertAll(one, other) | UpsertAll(one, other) => [one.id, other.id].contains(&id),
            Both(one, other) => [one, other]
                .iter()
                .any(|write| matches!(write, Write::Insert(fields) | Write::Upsert(fields) if fields.id == id)),
            Dropped(act, _) | Late(act, _) => act.replaces(id),
            act => act.deletes(id),
        }
    }

    /// Returns the values that an item has after the operation.
    fn values(self, id: u32) -> Option<(u32, u32)> {
        let of = |fields: Fields| (fields.id == id).then_some((fields.value, fields.other));
        match self {
            Insert(own, value, other)
            | Update(own, value, other)
            | Rewrapped(own, value, other)
            | Merge(own, value, other)
            | Modify(own, value, other)
            | ModifyOrInsert(own, value, other)
            | GetOrInsert(own, value, other)
                if own == id =>
            {
                Some((value, other))
            }
            InsertAll(one, other) | UpsertAll(one, other) => of(one).or(of(other)),
            Both(one, other) => [one, other].into_iter().find_map(|write| match write {
                Write::Insert(fields) | Write::Upsert(fields) => of(fields),
                Write::Update(own, value, other) if own == id => Some((value, other)),
                _ => None,
            }),
            Dropped(act, _) | Late(act, _) => act.values(id),
            _ => None,
        }
    }

    /// Returns the item that it inserts unless there is one, without its mark.
    const fn gets(self) -> Option<Fields> {
        match self {
            GetOrInsert(id, value, other) => Some(Fields::new(id, value, other)),
            Dropped(act, _) | Late(act, _) => act.gets(),
            _ => None,
        }
    }
}

impl Act {
    /// Returns the number of likes that it adds to the item if it succeeds; `None` if it sets or loses the likes.
    fn likes(self, id: u32) -> Option<u32> {
        match self {
            Modify(own, ..) | ModifyOrInsert(own, ..) if own == id => Some(1),
            // A merge writes every field that the entity knows.
            Patch(own) | PatchIf(own) | Merge(own, ..) if own == id => None,
            UpsertAll(..) | Both(..) | InsertAll(..) | Dropped(..) | Late(..) => None,
            act if act.deletes(id) => None,
            _ => Some(0),
        }
    }
}

/// Checks of every state, with one repair for each distinct content of the store.
struct Check<'a> {
    kind: &'static dyn ItemKind,
    start: &'a [Fields],
    acts: &'a [Act],
    /// True if answers are lost.
    loses: bool,
    visited: RefCell<HashSet<Vec<u64>>>,
}

impl Check<'_> {
    async fn check(&self, seen: &Seen<'_, Outcome>) -> Result<()> {
        let is_ready = ready(self.kind, &seen.tables).await?;
        for (act, progress) in self.acts.iter().zip(&seen.ops) {
            let is_lost = matches!(progress, Progress::Ended(Outcome::Refused | Outcome::Unknown));
            ensure!(!is_lost || self.loses || matches!(act, Late(..)), "{act:?} gave {progress:?}");
        }
        if seen.is_at_rest() {
            let all = promised(self.kind, &seen.tables).await?;
            self.acknowledged(seen, &all)?;
            self.is_marked(seen, &all)?;
            self.keeps_unknown(seen, &all).await?;
            let is_left = self.loses
                || self.acts.iter().any(|act| matches!(act, Dropped(..)))
                || seen.ops.iter().any(|progress| {
                    matches!(progress, Progress::Crashed | Progress::Ended(Outcome::Left | Outcome::Unknown))
                });
            if is_ready && !is_left {
                sound(self.kind, &seen.tables, &all).await.context("at rest")?;
            }
            // A backfill that ended with a conflict has left no rows of values that nobody has.
            if !is_ready && !is_left {
                let findings = self.kind.verify(&seen.tables).await?;
                let is_stale = |finding: &Finding| matches!(finding, Finding::StaleRow { .. });
                ensure!(!findings.iter().any(is_stale), "at rest: {findings:?}");
            }
        }
        if self.visited.borrow_mut().insert(contents(&seen.store)) {
            let all = promised(self.kind, &seen.tables).await?;
            self.is_marked(seen, &all)?;
            if !is_ready && !fill(self.kind, &seen.tables, 1).await? {
                let shared = all.iter().any(|one| all.iter().any(|other| clashes(self.kind, one, other)));
                ensure!(shared, "a backfill found a conflict where no two items share a value");
                return Ok(());
            }
            fixed(self.kind, &seen.tables, &all).await?;
        }
        Ok(())
    }

    /// Checks that properties that the struct does not know are kept.
    async fn keeps_unknown(&self, seen: &Seen<'_, Outcome>, all: &[Fields]) -> Result<()> {
        for (act, progress) in self.acts.iter().zip(&seen.ops) {
            let (Extra(id), Progress::Ended(Outcome::Done)) = (*act, progress) else { continue };
            // A merge may have inserted the item, whose insert another writer aborted.
            let is_new = !self.start.iter().any(|fields| fields.id == id);
            if is_new || self.acts.iter().any(|act| act.replaces(id)) || !all.iter().any(|fields| fields.id == id) {
                continue;
            }
            ensure!(self.kind.has_extra(&seen.tables, id).await?, "a property that only another program knows is lost");
        }
        Ok(())
    }

    /// Checks that acknowledged items and the items of the beginning exist unless they were deleted, and that one of
    /// several inserts of one value succeeded.
    fn acknowledged(&self, seen: &Seen<'_, Outcome>, all: &[Fields]) -> Result<()> {
        let is_deleted = |id| self.acts.iter().any(|act| act.deletes(id));
        let exists = |id| is_deleted(id) || all.iter().any(|fields| fields.id == id);
        ensure!(self.start.iter().all(|fields| exists(fields.id)), "an item is missing");
        let mut inserted = Vec::new();
        for (at, (act, progress)) in self.acts.iter().zip(&seen.ops).enumerate() {
            let Progress::Ended(outcome) = progress else { continue };
            for (position, id) in act.written().into_iter().enumerate() {
                let is_done = matches!(
                    (outcome, position),
                    (Outcome::Done, _) | (Outcome::Failed(false, _), 0) | (Outcome::Failed(_, false), 1)
                );
                ensure!(!is_done || exists(id), "an item that was written is missing");
                let others = self.acts.iter().enumerate().filter(|(other, _)| *other != at);
                if is_done && !others.map(|(_, act)| act).any(|act| act.changes(id)) {
                    let found = all.iter().find(|fields| fields.id == id);
                    let is_so = |(fields, values): (&Fields, _)| (fields.value, fields.other) == values;
                    let is_so = found.zip(act.values(id)).is_none_or(is_so);
                    ensure!(is_so, "{act:?} was acknowledged, and the item has other values");
                }
            }
            if let Insert(id, value, other) | GetOrInsert(id, value, other) = *act {
                inserted.push((Fields::new(id, value, other), **outcome));
            }
        }
        self.is_none_lost(seen, all)?;
        self.are_got(seen, all)?;
        let clash = |(at, one): (usize, &(Fields, Outcome))| {
            inserted[at + 1..].iter().all(|(other, _)| clashes(self.kind, &one.0, other))
        };
        // If there are no other operations, one of several inserts that exclude each other succeeds.
        let are_alone = self.start.is_empty() && inserted.len() == self.acts.len();
        if are_alone && inserted.iter().enumerate().all(clash) {
            let winners = inserted.iter().filter(|(_, outcome)| *outcome == Outcome::Done).count();
            let may_be_none = inserted.iter().any(|(_, outcome)| matches!(outcome, Outcome::Left | Outcome::Unknown));
            ensure!(winners == 1 || winners == 0 && may_be_none, "{winners} inserts succeeded");
        }
        Ok(())
    }
}

impl Check<'_> {
    /// Checks that no `modify` lost the like of another one.
    fn is_none_lost(&self, seen: &Seen<'_, Outcome>, all: &[Fields]) -> Result<()> {
        for fields in all {
            let added = self.acts.iter().zip(&seen.ops).map(|(act, progress)| match progress {
                Progress::Ended(Outcome::Done) => act.likes(fields.id),
                Progress::Ended(Outcome::Left) => None,
                Progress::Ended(_) => act.likes(fields.id).map(|_| 0),
                _ => None,
            });
            let likes = added.sum::<Option<u32>>();
            ensure!(likes.is_none_or(|likes| fields.likes == likes), "{fields:?} should have {likes:?} likes");
        }
        Ok(())
    }
}

impl Check<'_> {
    /// Checks that only a `get_or_insert` which has not said otherwise has inserted an item.
    fn is_marked(&self, seen: &Seen<'_, Outcome>, all: &[Fields]) -> Result<()> {
        for fields in all {
            let Some(at) = (0..self.acts.len()).find(|at| mark(*at) == fields.note) else { continue };
            ensure!(
                may_have_inserted(&seen.ops[at]),
                "{:?} gave {:?} and inserted {fields:?}",
                self.acts[at],
                seen.ops[at]
            );
        }
        Ok(())
    }

    /// Checks what each `get_or_insert` returned.
    fn are_got(&self, seen: &Seen<'_, Outcome>, all: &[Fields]) -> Result<()> {
        for (at, (act, progress)) in self.acts.iter().zip(&seen.ops).enumerate() {
            let (Some(new), Progress::Ended(outcome)) = (act.gets(), progress) else { continue };
            let is_true = match outcome {
                Outcome::Found(found) => self.is_found(seen, all, (at, new), found),
                // No item is of another kind, or in the bin, and none has a version that it requires.
                Outcome::Exists | Outcome::Conflict => false,
                Outcome::Violation => {
                    let written = |id| self.acts.iter().filter_map(move |act| Some((id, act.values(id)?)));
                    let written = (1..=5).flat_map(written);
                    let written = written.map(|(id, (value, other))| Fields::new(id, value, other));
                    self.start.iter().copied().chain(written).any(|other| clashes(self.kind, &new, &other))
                }
                _ => true,
            };
            ensure!(is_true, "{act:?} gave {outcome:?}, which was never true");
        }
        self.is_one_new(seen)
    }

    /// Checks whether an item that the act at this position found, instead of inserting `new`, may have been there.
    fn is_found(&self, seen: &Seen<'_, Outcome>, all: &[Fields], (at, new): (usize, Fields), found: &Fields) -> bool {
        let begun = self.start.iter().filter(|fields| fields.id == new.id).map(|fields| (fields.value, fields.other));
        let mut values = begun.chain(self.acts.iter().filter_map(|act| act.values(new.id)));
        // Whoever inserted it has not said otherwise.
        let by = (0..self.acts.len()).find(|at| mark(*at) == found.note);
        let is_marked = by.is_none_or(|by| by != at && may_have_inserted(&seen.ops[by]));
        // It was committed, so it is there if nothing changes or deletes it.
        let may_change = self.acts.iter().any(|act| act.gets().is_none() && act.changes(new.id));
        let is_there = may_change || all.contains(found);
        found.id == new.id && is_marked && is_there && values.any(|values| values == (found.value, found.other))
    }

    /// Checks that of several `get_or_insert` of one key, with nothing beside them, one inserts the item, and none is refused
    /// because of it.
    fn is_one_new(&self, seen: &Seen<'_, Outcome>) -> Result<()> {
        let Some(first) = self.acts.first().and_then(|act| act.gets()) else { return Ok(()) };
        if !self.acts.iter().all(|act| act.gets().is_some_and(|new| new.id == first.id)) {
            return Ok(());
        }
        let count = |is: fn(&Outcome) -> bool| {
            seen.ops.iter().filter(|progress| matches!(progress, Progress::Ended(outcome) if is(outcome))).count()
        };
        let (new, refused) =
            (count(|outcome| *outcome == Outcome::Done), count(|outcome| *outcome == Outcome::Violation));
        // One that was left may have inserted it.
        let may_be_none = count(|outcome| matches!(outcome, Outcome::Left | Outcome::Unknown | Outcome::Nothing)) > 0;
        let is_right = if self.start.iter().any(|fields| fields.id == first.id) {
            new == 0 && refused == 0
        } else {
            let may_be_refused = !self.start.is_empty();
            new <= 1 && (new == 1 || may_be_none || refused == self.acts.len()) && (refused == 0 || may_be_refused)
        };
        ensure!(is_right, "{new} are new, and {refused} were refused");
        Ok(())
    }
}

/// Checks whether a `get_or_insert` may have inserted its item.
const fn may_have_inserted(progress: &Progress<'_, Outcome>) -> bool {
    match progress {
        Progress::Running | Progress::Crashed => true,
        Progress::Ended(outcome) => {
            matches!(outcome, Outcome::Done | Outcome::Left | Outcome::Unknown | Outcome::Nothing)
        }
    }
}

/// Contents of the store when the operations begin.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// Items with complete index rows.
    New(&'static [Fields]),
    /// Items written before their indexes were added.
    Old(&'static [Fields]),
}

impl Start {
    const fn items(self) -> &'static [Fields] {
        match self {
            Self::New(items) | Self::Old(items) => items,
        }
    }
}

/// Explores operations that begin at the same time.
fn explore(kind: &'static dyn ItemKind, reach: Reach, start: Start, acts: &[Act]) -> Result<Explored> {
    explore_with(Explorer::default(), kind, reach, start, acts)
}

/// Returns the search in which so many answers to writes are lost. Each of these writes arrives at any later time, or never.
fn losing(lost: usize) -> Explorer {
    Explorer { lost, ..Explorer::default() }
}

/// Explores operations that begin at the same time by this search.
fn explore_with(
    search: Explorer,
    kind: &'static dyn ItemKind,
    reach: Reach,
    start: Start,
    acts: &[Act],
) -> Result<Explored> {
    let begun = Instant::now();
    let check = Check { kind, start: start.items(), acts, loses: search.lost > 0, visited: RefCell::default() };
    let plain = match start {
        Start::New(items) => store(kind, reach, items).now_or_never(),
        Start::Old(items) => old_store(kind, reach, items).now_or_never(),
    };
    let plain = plain.context("a plain store does not wait")??;
    let plain = if acts.contains(&FillSideBySide) { plain.with_pages(1) } else { plain };
    let operation = |(number, act): (usize, Act)| match act {
        // The handle gets leases, of which the store's own clock shows the end.
        Late(_, at) => staged(format!("{act:?}"), move |stage: Stage| {
            stage.faults.arm_late(at, true);
            run(kind, stage.tables, act, number)
        })
        .prepared(move |stage: Stage| async move { kind.create(&stage.tables).await.expect("the store answers") }),
        _ => op(format!("{act:?}"), move |tables| run(kind, tables, act, number)),
    };
    let ops: Vec<Op<_>> = acts.iter().copied().enumerate().map(operation).collect();
    let explored = search.explore(&plain, &ops, async |seen| check.check(seen).await);
    let explored = explored.with_context(|| format!("{acts:?} on {start:?}"))?;
    if Depth::Full.is_reached() {
        println!("{start:?} {acts:?} {explored:?} {} stores {:?}", check.visited.borrow().len(), begun.elapsed());
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
/// Items without index rows that share a value.
const OLD_TWINS: Start = Start::Old(&[ONE_ITEM, TWIN]);

/// Items of which each has two elements.
const PAIR: Fields = Fields::new(1, 1, 2);
const OTHER_PAIR: Fields = Fields::new(2, 3, 4);

const ONE_PAIR: Start = Start::New(&[PAIR]);
const TWO_PAIRS: Start = Start::New(&[PAIR, OTHER_PAIR]);
const PAIR_STARTS: [Start; 3] = [NONE, ONE_PAIR, TWO_PAIRS];

const OLD_PAIR: Start = Start::Old(&[PAIR]);
const OLD_TWO_PAIRS: Start = Start::Old(&[PAIR, OTHER_PAIR]);
/// Items without index rows that share an element.
const OLD_SHARED: Start = Start::Old(&[PAIR, Fields::new(2, 2, 3)]);

/// The first item with another note.
const NOTED_ITEM: Fields = Fields { note: 7, ..ONE_ITEM };

/// Operations on one item, with two keys and two values.
const SINGLE: [Act; 15] = [
    Insert(1, 1, 1),
    Insert(1, 2, 2),
    Insert(2, 1, 1),
    Insert(2, 2, 2),
    Update(1, 1, 1),
    Update(1, 2, 2),
    Update(2, 1, 1),
    Update(2, 2, 2),
    Rewrapped(1, 2, 2),
    Extra(1),
    Note(1, 7),
    Note(1, 8),
    Delete(1),
    Delete(2),
    Repair,
];

/// Operations on one item that change some of its elements, or take some of another item.
const ELEMENTS: [Act; 12] = [
    Insert(1, 1, 2),
    Insert(1, 2, 3),
    Insert(2, 2, 3),
    Update(1, 2, 3),
    Update(1, 1, 4),
    Update(1, 1, 1),
    Update(2, 3, 1),
    Rewrapped(1, 2, 3),
    Note(1, 7),
    Note(1, 8),
    Delete(1),
    Repair,
];

/// Some of these, for items whose rows are written in steps: of several rows of one item, every order is explored.
const FEW_ELEMENTS: [Act; 8] = [
    Insert(1, 2, 2),
    Insert(2, 2, 2),
    Update(1, 1, 1),
    Update(1, 2, 2),
    Update(2, 3, 1),
    Modify(1, 2, 2),
    Note(1, 7),
    Delete(1),
];

/// Operations that are repeated if another writer interferes.
const MODIFY: [Act; 4] = [Modify(1, 2, 2), Modify(2, 1, 1), ModifyOrInsert(1, 2, 2), GetOrInsert(1, 2, 2)];

/// Operations on two items.
const BULK: [Act; 4] = [InsertAll(ONE_ITEM, TWIN), UpsertAll(NOTED_ITEM, TWIN), RemoveAll(1, 2), RemoveRead(1, 2)];

/// Transactions of two items in one partition.
const TRANSACTIONS: [Act; 4] = [
    Both(Write::Note(1, 7), Write::Insert(TWIN)),
    Both(Write::Update(1, 2, 2), Write::Update(2, 1, 1)),
    Both(Write::Insert(TWIN), Write::Delete(1)),
    Both(Write::Upsert(TWIN), Write::Upsert(NOTED_ITEM)),
];

/// Operations that are dropped, each at another request.
const DROPPED: [Act; 7] = [
    Dropped(&Insert(1, 1, 1), 1),
    Dropped(&Insert(1, 1, 1), 2),
    Dropped(&Insert(1, 1, 1), 3),
    Dropped(&Update(1, 2, 2), 2),
    Dropped(&Update(1, 2, 2), 3),
    Dropped(&Update(1, 2, 2), 4),
    Dropped(&Delete(1), 2),
];

/// Returns the contents of the store before the operations on items of this kind.
fn starts(kind: &dyn ItemKind) -> &'static [Start] {
    if has_elements(kind) { &PAIR_STARTS } else { &STARTS }
}

/// Returns the operations on one item of this kind.
fn single_acts(kind: &dyn ItemKind) -> &'static [Act] {
    if has_elements(kind) { &ELEMENTS } else { &SINGLE }
}

/// Checks whether an item is written in one transaction with all of its index rows.
fn is_one_transaction(kind: &dyn ItemKind, reach: Reach) -> bool {
    is_in_one_partition(kind) || matches!(reach, Reach::Store)
}

/// Returns every operation that is possible for items of this kind.
fn every_act(kind: &dyn ItemKind, reach: Reach) -> Vec<Act> {
    let holds = |layout: &LayoutInfo| layout.index.as_ref().map(|index| index.holds);
    let is_in_table = |layout: &LayoutInfo| layout.index.is_some() && layout.table == kind.layouts()[0].table;
    if has_elements(kind) && !is_one_transaction(kind, reach) && !Depth::Full.is_reached() {
        return FEW_ELEMENTS.to_vec();
    }
    let mut acts = [single_acts(kind), &MODIFY].concat();
    // The steps of an index do not depend on whether its rows are in a table of their own.
    if is_one_transaction(kind, reach) || !kind.layouts().iter().any(is_in_table) || Depth::Full.is_reached() {
        acts.extend(DROPPED);
    }
    // With cross-partition indexes, a bulk write is a sequence of single writes.
    if is_one_transaction(kind, reach) {
        acts.extend(BULK);
        acts.extend(TRANSACTIONS);
        // With cross-partition indexes, a merge and an insert can delete each other's pending rows without end.
        acts.push(Merge(1, 2, 2));
    }
    if kind.is_patched() {
        acts.extend([Patch(1), Patch(2), PatchIf(1)]);
    }
    // A program that does not know the index does not update properties in its rows.
    if kind.layouts().iter().all(|layout| !matches!(holds(layout), Some(Holds::Include | Holds::Copy))) {
        acts.push(Bare(1, 5));
    }
    acts
}

/// Operations that are explored beside a backfill if a transaction spans all rows, or if an item has several rows, unless
/// the search is a full one.
const BESIDE_FILL: [Act; 4] = [Delete(1), Insert(2, 1, 1), Update(1, 2, 2), Note(1, 7)];

/// Returns the contents of the store before a backfill.
fn old_starts(kind: &dyn ItemKind, reach: Reach) -> &'static [Start] {
    // A backfill of two items whose rows are written in steps takes longer than all else together. If the items share a
    // value, it ends early.
    let are_all = is_one_transaction(kind, reach) || Depth::Deep.is_reached();
    // Claims of two elements of two items, beside another writer, have more than two million states.
    let is_unique = kind.layouts().iter().any(|layout| layout.index.as_ref().is_some_and(|index| index.unique));
    match (has_elements(kind), are_all) {
        (false, true) => &[OLD_ONE, OLD_TWINS, OLD_TWO],
        (false, false) => &[OLD_ONE, OLD_TWINS],
        (true, _) if is_one_transaction(kind, reach) || Depth::Full.is_reached() && !is_unique => {
            &[OLD_PAIR, OLD_SHARED, OLD_TWO_PAIRS]
        }
        (true, _) => &[OLD_PAIR],
    }
}

/// Returns the operations that are explored beside a backfill.
fn beside_backfill(kind: &dyn ItemKind, reach: Reach) -> Vec<Act> {
    // A backfill takes the same steps whatever a transaction spans, and they are many.
    if (reach == Reach::Store || has_elements(kind)) && !Depth::Full.is_reached() {
        // With two indexes they take longer than all else together, so a backfill is explored alone.
        let count = if kind.layouts().len() > 2 { 0 } else { BESIDE_FILL.len() };
        return BESIDE_FILL[..count].to_vec();
    }
    every_act(kind, reach)
}

/// Operations that collide crosswise in two unique indexes.
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

/// Checks whether a set takes so long that it runs only in a full search. A repair fixes the rows of items one after the
/// other, and those in several partitions take several requests each. A backfill of a list writes it once for each
/// item.
fn is_long(kind: &dyn ItemKind, start: Start, acts: &[Act]) -> bool {
    let is_list = |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.holds == Holds::List);
    let is_of_two = |act: &Act| act.written().len() > 1 || matches!(act, RemoveAll(..) | RemoveRead(..) | Both(..));
    let repairs_apart = !is_in_one_partition(kind) && acts.contains(&Repair);
    let fills_lists = kind.layouts().iter().any(is_list) && acts.contains(&Fill) && acts.iter().any(is_of_two);
    start.items().len() > 1 && (repairs_apart || fills_lists) && !Depth::Full.is_reached()
}

/// Explores all combinations of `count` operations, with repetition, for each beginning.
fn combinations(kind: &'static dyn ItemKind, reach: Reach, starts: &[Start], acts: &[Act], count: usize) -> Result<()> {
    let sets = chosen(acts, count);
    let all = starts.iter().flat_map(|start| sets.iter().map(|set| (*start, &**set)));
    explore_sets(kind, reach, all.filter(|(start, set)| !is_long(kind, *start, set)))
}

/// Returns all combinations of `count` operations, with repetition.
fn chosen(acts: &[Act], count: usize) -> Vec<Vec<Act>> {
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
    sets
}

/// Explores a backfill beside each of the operations.
fn each_beside_backfill(kind: &'static dyn ItemKind, reach: Reach, acts: &[Act]) -> Result<()> {
    let beside = acts.iter().map(|act| vec![Fill, *act]);
    let sets: Vec<_> = if acts.is_empty() { vec![vec![Fill]] } else { beside.collect() };
    let all = old_starts(kind, reach).iter().flat_map(|start| sets.iter().map(move |set| (*start, &set[..])));
    explore_sets(kind, reach, all.filter(|(start, set)| !is_long(kind, *start, set)))
}

/// Explores each of these sets.
fn explore_sets<'a>(
    kind: &'static dyn ItemKind,
    reach: Reach,
    sets: impl IntoIterator<Item = (Start, &'a [Act])>,
) -> Result<()> {
    explore_sets_with(Explorer::default(), kind, reach, sets)
}

/// Explores each of these sets by this search.
fn explore_sets_with<'a>(
    search: Explorer,
    kind: &'static dyn ItemKind,
    reach: Reach,
    sets: impl IntoIterator<Item = (Start, &'a [Act])>,
) -> Result<()> {
    let (mut count, mut states, mut edges, begun) = (0, 0, 0, Instant::now());
    for (start, acts) in sets {
        let explored = explore_with(search, kind, reach, start, acts)?;
        count += 1;
        states += explored.states;
        edges += explored.edges;
    }
    println!("{count} sets, {states} states, {edges} edges in {:?}", begun.elapsed());
    Ok(())
}

/// Sets of operations, each with the contents of the store before them.
type Sets = &'static [(Start, &'static [Act])];

/// Sets in which a unique value changes its owner: an insert is aborted while it commits, an owner is deleted while
/// others want its value, or an item gets its value back.
const OWNERS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Insert(3, 1, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Delete(1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Further sets, which take long with cross-partition indexes.
const LONG_OWNERS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Insert(2, 2, 2)]),
];

/// Further sets, also with values that move between existing items.
const MORE_OWNERS: Sets = &[
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Patch(1), Insert(2, 2, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(2, 2, 2)]),
    (TWO, &[Update(1, 2, 2), Update(2, 1, 1), Delete(2)]),
    (TWO, &[Update(1, 2, 2), Delete(2), Insert(2, 1, 1)]),
];

/// Sets in which an index is built while values change their owners.
const BUILDING: Sets = &[
    (OLD_ONE, &[Fill, Insert(2, 1, 1), Update(1, 2, 2)]),
    (OLD_ONE, &[Fill, Insert(2, 1, 1), Delete(1)]),
    (OLD_TWO, &[Fill, Update(1, 3, 3), Update(2, 4, 4)]),
];

/// Sets in which an index is built while the item changes between two attempts: an update of what was read before them does
/// not know the row of the first.
const REBUILDING: Sets = &[(OLD_ONE, &[Fill, Patch(1), Update(1, 2, 2)])];

/// Sets in which two items are indexed at the same time.
const SIDE_BY_SIDE: Sets = &[
    (OLD_TWO, &[FillSideBySide]),
    (OLD_TWINS, &[FillSideBySide]),
    (OLD_TWO, &[FillSideBySide, Update(1, 2, 2)]),
    (OLD_TWINS, &[FillSideBySide, Delete(1)]),
];

/// Further sets of this kind.
const MORE_BUILDING: Sets =
    &[(OLD_ONE, &[Fill, Fill, Update(1, 2, 2)]), (OLD_TWINS, &[Fill, Update(1, 2, 2), Note(2, 7)])];

/// Sets in which a merge keeps what another program writes at the same time.
const MERGING: Sets = &[
    (ONE, &[Merge(1, 2, 2), Extra(1)]),
    (ONE, &[Merge(1, 2, 2), Extra(1), Note(1, 7)]),
    (ONE, &[Merge(1, 2, 2), Update(1, 3, 3)]),
    (OLD_ONE, &[Fill, Merge(1, 2, 2)]),
];

/// Sets in which an item loses a value and gets it back.
const POINTERS: Sets = &[
    (NONE, &[Insert(1, 1, 1), Delete(1), Repair]),
    (ONE, &[Update(1, 2, 2), Update(1, 2, 2), Update(1, 1, 1)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 2, 2)]),
    (ONE, &[Delete(1), Insert(1, 1, 1), Repair]),
    (ONE, &[Update(1, 2, 2), Patch(1), Repair]),
];

/// Sets in which changes are repeated.
const MODIFYING: Sets = &[
    (ONE, &[Modify(1, 2, 2), Modify(1, 3, 3), Modify(1, 1, 1)]),
    (ONE, &[Modify(1, 2, 2), ModifyOrInsert(1, 1, 1), Delete(1)]),
    (NONE, &[ModifyOrInsert(1, 1, 1), ModifyOrInsert(1, 2, 2), Insert(2, 1, 1)]),
];

/// Pairs of which one or both insert an item unless there is one.
const GETTING: Sets = &[
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 1, 1)]),
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 2, 2)]),
    (ONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 2, 2)]),
    (NONE, &[GetOrInsert(1, 1, 1), Insert(1, 1, 1)]),
    (NONE, &[GetOrInsert(1, 1, 1), Insert(2, 1, 1)]),
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(2, 1, 1)]),
    (NONE, &[GetOrInsert(1, 1, 1), Repair]),
    (ONE, &[GetOrInsert(1, 1, 1), Delete(1)]),
    (ONE, &[GetOrInsert(1, 2, 2), Update(1, 2, 2)]),
    // The value comes to another item, or is left by one.
    (ONE, &[GetOrInsert(2, 2, 2), Update(1, 2, 2)]),
    (ONE, &[GetOrInsert(2, 1, 1), Update(1, 2, 2)]),
    (ONE, &[GetOrInsert(2, 1, 1), Delete(1)]),
    (ONE, &[GetOrInsert(2, 1, 1), GetOrInsert(2, 2, 2)]),
    // Both the key and the value are taken.
    (TWO, &[GetOrInsert(1, 2, 2), Delete(2)]),
    (NONE, &[Dropped(&GetOrInsert(1, 1, 1), 1), GetOrInsert(1, 1, 1)]),
    (NONE, &[Dropped(&GetOrInsert(1, 1, 1), 2), GetOrInsert(1, 2, 2)]),
    (NONE, &[Dropped(&GetOrInsert(1, 1, 1), 3), GetOrInsert(1, 1, 1)]),
    (ONE, &[Dropped(&GetOrInsert(1, 1, 1), 2), Delete(1)]),
];

/// Further sets, which have three operations.
const MORE_GETTING: Sets = &[
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 1, 1), Delete(1)]),
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 2, 2), Insert(2, 1, 1)]),
    (ONE, &[GetOrInsert(1, 1, 1), Delete(1), Insert(2, 1, 1)]),
    (ONE, &[GetOrInsert(2, 1, 1), Update(1, 2, 2), Delete(1)]),
];

/// Further sets, which have millions of states if rows are written in steps.
const LONG_GETTING: Sets = &[
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 1, 1), GetOrInsert(1, 2, 2)]),
    (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 2, 2), Repair]),
];

/// Pairs of writers that collide crosswise in two unique indexes.
const CROSSING_PAIRS: Sets = &[
    (ONE, &[Insert(2, 1, 1), Insert(2, 1, 2)]),
    (ONE, &[Insert(2, 1, 2), Insert(2, 2, 1)]),
    (ONE, &[Insert(2, 2, 1), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Update(1, 3, 2)]),
    (ONE, &[Update(1, 2, 2), Delete(1)]),
    (TWO, &[Update(1, 3, 2), Update(2, 1, 3)]),
    (ONE, &[GetOrInsert(2, 1, 2), GetOrInsert(2, 2, 1)]),
    // These take longer.
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1)]),
    (ONE, &[Insert(2, 1, 1), Delete(1)]),
    (ONE, &[Dropped(&Update(1, 3, 2), 5), Insert(2, 2, 1)]),
    (OLD_ONE, &[Fill, Update(1, 2, 2)]),
];

/// Sets in which writers collide crosswise in two unique indexes.
const CROSSINGS: Sets = &[
    (ONE, &[Update(1, 2, 1), Insert(2, 2, 2), Delete(1)]),
    (ONE, &[Update(1, 2, 2), Insert(2, 1, 3), Repair]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 2), Insert(3, 3, 1)]),
    (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1), Repair]),
];

/// Sets in which writers of one row's properties overtake each other.
const PROPAGATING: Sets = &[
    (ONE, &[Note(1, 7), Note(1, 8), Note(1, 9)]),
    // An update that finds the note unchanged writes no other row.
    (ONE, &[Note(1, 7), Note(1, 7), Note(1, 0)]),
    (ONE, &[Update(1, 2, 2), Delete(1), Insert(1, 1, 1)]),
    (ONE, &[Note(1, 7), Delete(1), Insert(1, 1, 1)]),
];

/// Set in which an item loses its index row and gets it back.
const REINSERTING: Sets = &[(ONE, &[Delete(1), Insert(1, 1, 1), Repair])];

/// Set in which an item is deleted while properties are propagated to its rows.
const DELETING: Sets = &[(ONE, &[Note(1, 7), Delete(1), Insert(1, 1, 1)])];

/// Further sets, which take long.
const OVERTAKING: Sets = &[
    (ONE, &[Update(1, 2, 2), Update(1, 3, 3), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Update(1, 1, 1), Note(1, 7)]),
    (ONE, &[Update(1, 2, 2), Note(1, 7), Repair]),
];

/// Sets of transactions and bulk writes beside another writer.
const GROUPED: Sets = &[
    (TWO, &[Both(Write::Update(1, 2, 2), Write::Update(2, 1, 1)), Note(1, 7), Delete(2)]),
    (ONE, &[Both(Write::Note(1, 7), Write::Insert(TWIN)), Update(1, 2, 2), Repair]),
    (ONE, &[UpsertAll(NOTED_ITEM, TWIN), Update(1, 2, 2), Insert(2, 2, 2)]),
    (OLD_TWINS, &[Fill, RemoveAll(1, 2), Insert(3, 1, 1)]),
];

fn explore_lists(kind: &'static dyn ItemKind, reach: Reach, sets: &[Sets]) -> Result<()> {
    explore_sets(kind, reach, sets.iter().copied().flatten().copied())
}

/// Sets of bulk writes of items whose index rows are written in steps. Both items take each step in one transaction.
const BATCHES: Sets = &[
    (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), Insert(3, 2, 2)]),
    // The second item waits for the first one, whose value it wants.
    (NONE, &[InsertAll(ONE_ITEM, TWIN), Insert(3, 1, 1)]),
    (ONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), Delete(1)]),
    (TWO, &[RemoveAll(1, 2), Insert(3, 1, 1)]),
    // One of the items may have changed since it was read.
    (TWO, &[RemoveRead(1, 2), Update(1, 3, 3)]),
];

/// Further sets of bulk writes, also two of them beside another writer.
const LONG_BATCHES: Sets = &[
    (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), Insert(1, 2, 2)]),
    (ONE, &[Dropped(&UpsertAll(NOTED_ITEM, OTHER_ITEM), REPEATED), Update(1, 2, 2)]),
    (ONE, &[Dropped(&UpsertAll(Fields::new(1, 2, 2), TWIN), REPEATED), Note(1, 7)]),
    (TWO, &[RemoveAll(1, 2), Update(1, 3, 3)]),
    // Two bulk writes that want one value of each other. Beside a third writer that wants one of their values, claims
    // and pointers take more than ten minutes.
    (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), InsertAll(Fields::new(3, 2, 2), Fields::new(4, 3, 3))]),
    (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), InsertAll(Fields::new(3, 2, 2), Fields::new(4, 3, 3)), Insert(5, 1, 1)]),
    (TWO, &[RemoveAll(1, 2), InsertAll(Fields::new(3, 1, 1), Fields::new(4, 3, 3)), Insert(5, 2, 2)]),
    // Two bulk writes of the same keys, which take as long.
    (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), InsertAll(Fields::new(2, 1, 1), Fields::new(1, 2, 2))]),
];

/// Declares the tests of each kind of index: all pairs of operations, and the sets in the first list. The sets in the
/// second list run in a deep search, those in the third list in a full one.
macro_rules! kinds {
    ($reach:ident: $($kind:ident [$($quick:ident)*] [$($deep:ident)*] [$($full:ident)*];)+) => {$(
        mod $kind {
            use super::*;
            use items::$kind::KIND;

            #[test]
            fn every_pair() -> Result<()> {
                combinations(KIND, Reach::$reach, starts(KIND), &every_act(KIND, Reach::$reach), 2)
            }

            #[test]
            fn each_beside_a_backfill() -> Result<()> {
                each_beside_backfill(KIND, Reach::$reach, &beside_backfill(KIND, Reach::$reach))
            }

            #[test]
            fn hard_sets() -> Result<()> {
                explore_lists(KIND, Reach::$reach, &[$($quick),*])?;
                if Depth::Deep.is_reached() {
                    explore_lists(KIND, Reach::$reach, &[$($deep),*])?;
                }
                if Depth::Full.is_reached() {
                    explore_lists(KIND, Reach::$reach, &[$($full),*])?;
                    combinations(KIND, Reach::$reach, starts(KIND), single_acts(KIND), 3)?;
                }
                Ok(())
            }
        }
    )+};
}

/// Sets in which writers change the elements of one item, or in which an element moves from one item to another.
const ELEMENTS_MOVING: Sets = &[
    (ONE_PAIR, &[Update(1, 2, 3), Delete(1)]),
    (ONE_PAIR, &[Update(1, 2, 3), Insert(2, 1, 1)]),
    (ONE_PAIR, &[Update(1, 1, 1), Insert(2, 2, 2)]),
    (ONE_PAIR, &[Update(1, 2, 2), Modify(1, 1, 3)]),
    (ONE_PAIR, &[Update(1, 2, 2), Merge(1, 2, 3)]),
    (TWO_PAIRS, &[Update(1, 1, 1), Update(2, 2, 3)]),
    (TWO_PAIRS, &[Update(1, 2, 4), Update(2, 3, 2)]),
    (NONE, &[Insert(1, 1, 2), Insert(2, 2, 3)]),
    (NONE, &[InsertAll(PAIR, Fields::new(2, 3, 3)), Insert(3, 2, 2)]),
    (OLD_SHARED, &[Fill]),
    (ONE_PAIR, &[Dropped(&Update(1, 2, 3), 2), Insert(2, 3, 3)]),
    (ONE_PAIR, &[Dropped(&Update(1, 2, 3), 3), Insert(2, 1, 1)]),
    (ONE_PAIR, &[Dropped(&Update(1, 2, 3), 4), Insert(2, 1, 3)]),
    (ONE_PAIR, &[Dropped(&Update(1, 2, 3), 5), Insert(2, 1, 3)]),
];

/// Further sets, in which both writers change several elements of one item.
const ELEMENTS_CHANGING: Sets =
    &[(ONE_PAIR, &[Update(1, 2, 3), Update(1, 1, 4)]), (ONE_PAIR, &[Update(1, 1, 1), Insert(2, 2, 2), Repair])];

/// Further sets, which take long.
const MORE_ELEMENTS: Sets = &[
    (ONE_PAIR, &[Update(1, 2, 3), Update(1, 1, 4), Insert(2, 2, 2)]),
    (ONE_PAIR, &[Update(1, 2, 2), Update(1, 1, 3), Insert(2, 1, 1)]),
    (NONE, &[Insert(1, 1, 2), Insert(2, 2, 3), Insert(3, 1, 3)]),
    (ONE_PAIR, &[UpsertAll(Fields::new(1, 2, 3), Fields::new(2, 1, 1)), Note(1, 7)]),
];

kinds! {
    Partition:
    elements_in_partition [ELEMENTS_MOVING ELEMENTS_CHANGING] [MORE_ELEMENTS] [];
    unique_elements_in_partition [ELEMENTS_MOVING ELEMENTS_CHANGING] [MORE_ELEMENTS] [];
    elements_elsewhere [ELEMENTS_MOVING ELEMENTS_CHANGING] [] [MORE_ELEMENTS];
    unique_elements_elsewhere [ELEMENTS_MOVING ELEMENTS_CHANGING] [] [MORE_ELEMENTS];
    include_elements_elsewhere [ELEMENTS_MOVING] [] [ELEMENTS_CHANGING MORE_ELEMENTS];
    copy_elements_elsewhere [ELEMENTS_MOVING] [] [ELEMENTS_CHANGING MORE_ELEMENTS];
    pointer_in_partition [POINTERS GROUPED MODIFYING GETTING MORE_GETTING LONG_GETTING] [] [OWNERS];
    unique_in_partition [OWNERS MORE_OWNERS BUILDING MORE_BUILDING GROUPED MODIFYING GETTING MORE_GETTING LONG_GETTING] [] [LONG_OWNERS];
    copy_in_partition [POINTERS GROUPED] [] [OWNERS];
    unique_copy_in_partition [OWNERS BUILDING MORE_BUILDING GROUPED] [] [MORE_OWNERS];
    include_in_partition [POINTERS GROUPED] [] [OWNERS];
    unique_include_in_partition [OWNERS BUILDING MORE_BUILDING GROUPED] [] [MORE_OWNERS];
    list_in_partition [POINTERS MODIFYING GETTING MORE_GETTING LONG_GETTING] [] [GROUPED];
    pointer_in_table [REINSERTING] [POINTERS] [];
    unique_in_table [REINSERTING] [OWNERS] [BUILDING];
    copy_in_table [DELETING] [PROPAGATING] [];
    include_in_table [DELETING] [PROPAGATING] [];
    unique_include_in_table [REINSERTING] [DELETING] [PROPAGATING];
    pointer_elsewhere [POINTERS MERGING REBUILDING SIDE_BY_SIDE GETTING MORE_GETTING] [] [OWNERS MODIFYING];
    unique_elsewhere [OWNERS MORE_OWNERS MERGING GETTING] [BUILDING REBUILDING SIDE_BY_SIDE MORE_GETTING] [LONG_OWNERS MORE_BUILDING MODIFYING];
    copy_elsewhere [PROPAGATING GETTING MORE_GETTING] [] [OVERTAKING MERGING];
    include_elsewhere [PROPAGATING MERGING] [REBUILDING] [OVERTAKING];
    unique_include_elsewhere [DELETING] [] [PROPAGATING OVERTAKING];
}

/// Stores whose transactions span all rows: no index row is written in a step of its own.
mod in_one_transaction {
    use super::*;

    kinds! {
        Store:
        pointer_elsewhere [POINTERS MODIFYING] [] [OWNERS MERGING];
        unique_elsewhere [OWNERS MORE_OWNERS BUILDING MODIFYING GETTING MORE_GETTING LONG_GETTING] [] [LONG_OWNERS MORE_BUILDING MERGING];
        copy_elsewhere [PROPAGATING GETTING] [] [OVERTAKING MERGING];
        include_elsewhere [PROPAGATING] [] [OVERTAKING MERGING];
        unique_include_elsewhere [DELETING] [] [PROPAGATING OVERTAKING];
        two_elsewhere [CROSSINGS] [] [CROSSING_PAIRS];
    }
}

/// Declares a test for each of these kinds, which calls `explore` with the kind.
macro_rules! each_kind {
    ($($kind:ident)+) => {$(
        #[test]
        fn $kind() -> Result<()> {
            explore(items::$kind::KIND)
        }
    )+};
}

/// Bulk writes whose steps take one transaction for several items.
mod batches {
    use super::*;

    fn explore(kind: &'static dyn ItemKind) -> Result<()> {
        explore_lists(kind, Reach::Partition, &[BATCHES])?;
        if Depth::Full.is_reached() {
            explore_lists(kind, Reach::Partition, &[LONG_BATCHES])?;
        }
        Ok(())
    }

    each_kind! { pointer_elsewhere unique_elsewhere copy_elsewhere }
}

#[path = "index_interleavings/transactions.rs"]
mod transactions;

mod two_elsewhere {
    use super::*;
    use items::two_elsewhere::KIND;

    #[test]
    fn every_pair() -> Result<()> {
        // The rows of both indexes are written side by side, in every order, so all pairs take long.
        if Depth::Full.is_reached() {
            return combinations(KIND, Reach::Partition, &STARTS, &CROSSWISE, 2);
        }
        explore_sets(KIND, Reach::Partition, CROSSING_PAIRS[..Depth::choose(7, 9, 9)].iter().copied())
    }

    #[test]
    fn hard_sets() -> Result<()> {
        if Depth::Full.is_reached() {
            explore_lists(KIND, Reach::Partition, &[CROSSINGS])
        } else {
            explore_sets(KIND, Reach::Partition, CROSSINGS[..1].iter().copied())
        }
    }
}

mod mixed_three {
    use super::*;
    use items::mixed_three::KIND;

    #[test]
    fn every_pair() -> Result<()> {
        combinations(KIND, Reach::Partition, &STARTS, &SINGLE, 2)
    }

    #[test]
    fn hard_sets() -> Result<()> {
        if Depth::Full.is_reached() {
            return explore_lists(KIND, Reach::Partition, &[CROSSINGS]);
        }
        explore_sets(KIND, Reach::Partition, [CROSSINGS[0], CROSSINGS[2]])
    }
}

/// Leases that end at each request of a write, without a catalog from then on, beside a writer that wants the value.
mod late {
    use super::*;

    #[test]
    fn unique_elsewhere() -> Result<()> {
        let insert: [Act; 4] = [0, 1, 2, 3].map(|at| Late(&Insert(1, 1, 1), at));
        let update: [Act; 6] = [0, 1, 2, 3, 4, 5].map(|at| Late(&Update(1, 2, 2), at));
        let delete: [Act; 5] = [0, 1, 2, 3, 4].map(|at| Late(&Delete(1), at));
        for kind in [items::unique_elsewhere::KIND, items::unique_include_elsewhere::KIND] {
            for act in insert {
                explore(kind, Reach::Partition, NONE, &[act, Insert(2, 1, 1)])?;
                explore(kind, Reach::Partition, NONE, &[act, Insert(1, 2, 2)])?;
            }
            for act in update {
                explore(kind, Reach::Partition, ONE, &[act, Insert(2, 2, 2)])?;
                explore(kind, Reach::Partition, ONE, &[act, Insert(2, 1, 1)])?;
            }
            for act in delete {
                explore(kind, Reach::Partition, ONE, &[act, Insert(2, 1, 1)])?;
            }
        }
        Ok(())
    }
}

/// Writes of which one is not answered: it arrives at any later time, also after its repetition and after any step of
/// another writer, or never.
mod unanswered {
    use super::*;

    const SETS: Sets = &[
        (NONE, &[Insert(1, 1, 1), Insert(2, 1, 1)]),
        (NONE, &[Insert(1, 1, 1), Insert(1, 2, 2)]),
        (NONE, &[Insert(1, 1, 1), Repair]),
        (NONE, &[InsertAll(ONE_ITEM, OTHER_ITEM), Insert(3, 2, 2)]),
        (ONE, &[Insert(2, 2, 2), Delete(1)]),
        (ONE, &[Update(1, 2, 2), Insert(2, 2, 2)]),
        (ONE, &[Update(1, 2, 2), Insert(2, 1, 1)]),
        (ONE, &[Update(1, 2, 2), Update(1, 3, 3)]),
        (ONE, &[Update(1, 2, 2), Delete(1)]),
        (ONE, &[Note(1, 7), Update(1, 2, 2)]),
        (ONE, &[Delete(1), Insert(1, 1, 1)]),
        (ONE, &[Delete(1), Insert(2, 1, 1)]),
        (NONE, &[GetOrInsert(1, 1, 1), GetOrInsert(1, 1, 1)]),
        (NONE, &[GetOrInsert(1, 1, 1), Insert(2, 1, 1)]),
        (ONE, &[GetOrInsert(1, 2, 2), Delete(1)]),
        (TWO, &[Update(1, 3, 3), Update(2, 1, 1)]),
        (OLD_ONE, &[Fill]),
        (OLD_TWINS, &[Fill]),
    ];

    /// Further sets, which take longer.
    const MORE_SETS: Sets = &[(ONE, &[Update(1, 2, 2), Repair]), (OLD_ONE, &[Fill, Insert(2, 1, 1)])];

    /// Further sets, which take long.
    const LONG_SETS: Sets = &[(ONE, &[UpsertAll(NOTED_ITEM, TWIN), Delete(1)]), (OLD_ONE, &[Fill, Update(1, 2, 2)])];

    fn explore(kind: &'static dyn ItemKind) -> Result<()> {
        let explore =
            |sets: &[(Start, &[Act])]| explore_sets_with(losing(1), kind, Reach::Partition, sets.iter().copied());
        explore(SETS)?;
        if Depth::Deep.is_reached() {
            explore(MORE_SETS)?;
        }
        if Depth::Full.is_reached() {
            explore(LONG_SETS)?;
            let filling: Vec<_> = single_acts(kind).iter().map(|act| [Fill, *act]).collect();
            explore(&filling.iter().map(|set| (OLD_ONE, &set[..])).collect::<Vec<_>>())?;
            let pairs = chosen(single_acts(kind), 2);
            let all: Vec<_> = STARTS.iter().flat_map(|start| pairs.iter().map(|set| (*start, &**set))).collect();
            explore(&all)?;
        }
        Ok(())
    }

    each_kind! {
        list_in_partition unique_in_partition pointer_elsewhere unique_elsewhere unique_include_elsewhere copy_elsewhere
    }
}

mod unique_in_partition_three {
    use super::*;
    use items::unique_in_partition::KIND;

    #[test]
    fn every_set_of_three() -> Result<()> {
        let is_like_another = |act: &Act| matches!(act, Rewrapped(..) | Extra(_) | Note(_, 8));
        let acts: Vec<_> = SINGLE.into_iter().filter(|act| !is_like_another(act) || Depth::Full.is_reached()).collect();
        combinations(KIND, Reach::Partition, &STARTS, &acts, 3)
    }
}
