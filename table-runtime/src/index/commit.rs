//! The one transaction that readers see: entities, and the index rows that are written with them.
//!
//! These are the index rows in the entities' partition. If the transactions of the store span all partitions, they are
//! all index rows.
//!
//! The transaction has one operation for each row, whatever the number of changes to it. So two entities can swap the
//! values of a unique index, and an entity can be deleted and inserted again. If an index row turns out to be missing, or
//! to belong to no entity, the transaction is planned again with that knowledge.

use std::{borrow::Cow, collections::HashSet, hash::BuildHasher as _, pin::pin};

use futures_util::future::{Either, select};
use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

use super::change::{IndexOperation, Planned, ReadRow, ReadRows};
use crate::{
    ETag, Error, LimitError, MissingIndexError, OutcomeUnknownError, Properties, Result, RowId, RowNow, ValueRef,
    backend::{Action, BoxFuture, FailedGroup, Group, IfMatch, Operation},
    entity::WRITE_ID,
    limits, pacing,
    row::RowKeys,
    slice_tables,
    tables::{LayoutId, Lease},
};

/// The operations of a transaction, one for each row, in a group for each partition. The first group is that of the
/// entities.
#[derive(Default)]
struct Operations {
    groups: Vec<Group>,
    /// The position of each group, by the hash of its table and partition key.
    partitions: HashTable<usize>,
    /// The positions of each operation: that of its group, and its own in the group. The hash is that of the group's
    /// position and the row key.
    rows: HashTable<(usize, usize)>,
    hasher: DefaultHashBuilder,
}

impl Operations {
    /// Adds an operation, combined with an earlier one on the same row. Returns it if the two cannot be combined.
    fn add(
        &mut self,
        table: Cow<'static, str>,
        RowKeys { partition_key, row_key }: &RowKeys,
        action: Action,
    ) -> Result<usize, Action> {
        let group = self.group(table, partition_key);
        let Self { groups, rows, hasher, .. } = self;
        let hash = |(group, row_key): (usize, &str)| hasher.hash_one((group, row_key));
        let is_row =
            |(other, at): &(usize, usize)| *other == group && groups[group].operations[*at].row_key == *row_key;
        match rows.entry(hash((group, row_key)), is_row, |(group, at)| {
            hash((*group, &groups[*group].operations[*at].row_key))
        }) {
            Entry::Occupied(place) => {
                let at = place.get().1;
                let before = &mut groups[group].operations[at].action;
                *before = match (before.clone(), action) {
                    // Entities that share a row delete it once.
                    (Action::Delete(left), Action::Delete(right)) if left == right => Action::Delete(left),
                    (Action::Delete(condition), Action::Insert(properties))
                    | (Action::Insert(properties), Action::Delete(condition)) => Action::Replace(properties, condition),
                    (Action::Delete(_), Action::Upsert(properties))
                    | (Action::Upsert(properties), Action::Delete(_)) => Action::Upsert(properties),
                    (_, action) => return Err(action),
                };
                Ok(at)
            }
            Entry::Vacant(place) => {
                let at = groups[group].operations.len();
                place.insert((group, at));
                groups[group].operations.push(Operation { row_key: row_key.clone(), action });
                Ok(at)
            }
        }
    }

    /// Returns the position of a partition's group.
    fn group(&mut self, table: Cow<'static, str>, partition_key: &str) -> usize {
        let Self { groups, partitions, hasher, .. } = self;
        let hash = |group: &Group| hasher.hash_one((&*group.table, &*group.partition_key));
        let is_group = |at: &usize| groups[*at].table == table && groups[*at].partition_key == partition_key;
        match partitions.entry(hasher.hash_one((&*table, partition_key)), is_group, |at| hash(&groups[*at])) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                place.insert(groups.len());
                groups.push(Group { table, partition_key: partition_key.to_owned(), operations: Vec::new() });
                groups.len() - 1
            }
        }
    }

    /// Returns the operation on an entity's own row.
    fn of_entity(&self, row_key: &str) -> Option<&Action> {
        let operations = &self.groups.first()?.operations;
        let is_row = |(group, at): &(usize, usize)| *group == 0 && operations[*at].row_key == row_key;
        let (_, at) = self.rows.find(self.hasher.hash_one((0_usize, row_key)), is_row)?;
        Some(&operations[*at].action)
    }
}

/// What a commit does about a row in the way of an insert.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InTheWay {
    /// It reads the row, and deletes it if it is a pending insert.
    Look,
    /// It leaves that to its caller.
    Report,
}

/// Executes the writes of entities of one partition, all or none. Returns the ETag of each entity; `None` if it was
/// deleted, or if a lost answer left its ETag unknown.
///
/// # Errors
/// Nothing was written, unless the error is [`Error::OutcomeUnknown`].
pub(crate) async fn commit(planned: &[Planned<'_>], in_the_way: InTheWay) -> Result<Vec<Option<ETag>>> {
    let Some(first) = planned.first() else { return Ok(Vec::new()) };
    let mut read = ReadRows::default();
    let mut delays = pacing::delays();
    loop {
        read_unique_rows(planned, &mut read).await?;
        let (groups, places) = operations(planned, &read).await?;
        groups.iter().try_for_each(Group::check)?;
        let mut leases = write_leases(planned).await?;
        let FailedGroup { group, error } = match execute(first, &groups, &mut leases).await {
            Ok(etags) => {
                let left = |(planned, at): (&Planned<'_>, &usize)| {
                    // A row that is deleted and inserted again is one operation. Its ETag is that of the new entity.
                    let is_deleted = matches!(planned.action, Action::Delete(_));
                    etags.get(*at).filter(|_| !is_deleted).cloned().flatten()
                };
                return Ok(planned.iter().zip(&places).map(left).collect());
            }
            Err(FailedGroup { error: Error::OutcomeUnknown(error), .. }) => {
                return proven(first, planned, &groups, &leases, error.reason).await;
            }
            Err(failed) => failed,
        };
        let (Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row)) = &error else {
            return Err(error);
        };
        let Some(Group { table, partition_key, .. }) = groups.get(group) else { return Err(error) };
        let keys = RowKeys { partition_key: partition_key.clone(), row_key: row.row_key.clone() };
        if group == 0
            && let Some(own) = planned.iter().find(|planned| *planned.keys == keys)
        {
            // A program that does not know an index meets pending inserts of programs that do.
            if in_the_way == InTheWay::Look
                && matches!(&error, Error::AlreadyExists(_))
                && let Some(etag) = own.write.pending_version(own.keys).await?
            {
                own.write.clear_pending(own.keys, &etag).await?;
                continue;
            }
            return Err(error);
        }
        match &error {
            Error::NotFound(_) if !matches!(read.get(table, &keys), Some(ReadRow::Missing)) => {
                read.insert(table.clone(), keys, ReadRow::Missing);
            }
            Error::AlreadyExists(_) if let Some((planned, layout)) = writer(planned, table, &keys) => {
                if let Some(etag) = planned.stale(layout, &keys).await? {
                    read.insert(table.clone(), keys, ReadRow::Stale(etag));
                }
            }
            // Another writer changed a list or a stale row first.
            _ => {
                read.remove(table, &keys);
                pacing::wait(first.write.backend(), &mut delays, error).await?;
            }
        }
    }
}

/// Returns the leases under which the entities may be written. There are none for entities for which the handle did not
/// call `create`.
///
/// # Errors
/// Returns an error if a migration has moved an entity, or if its struct lacks an index that another program builds or has
/// built.
async fn write_leases(planned: &[Planned<'_>]) -> Result<Vec<(LayoutId, Lease)>> {
    let mut leases: Vec<(LayoutId, Lease)> = Vec::new();
    for (at, one) in planned.iter().enumerate() {
        let schema = &one.write.schema;
        // Most transactions have entities of one type.
        if planned[..at].last().is_some_and(|before| std::ptr::eq(before.write.schema.layouts, schema.layouts)) {
            continue;
        }
        let id = schema.id(&schema.layouts[0]);
        let known = leases.iter().find(|(known, _)| *known == id).map(|(_, lease)| lease.clone());
        let is_new = known.is_none();
        let lease = match known {
            None => one.write.tables.write_lease(&id).await?,
            known => known,
        };
        let Some(lease) = lease else { continue };
        if let Some(index) = lease.lacks(|index| schema.layouts.iter().any(|layout| layout.name == index)) {
            let (table, entity, index) = (schema.table().to_owned(), schema.name().to_owned(), index.to_owned());
            return Err(Box::new(MissingIndexError { table, entity, index }).into());
        }
        if is_new {
            leases.push((id, lease));
        }
    }
    Ok(leases)
}

/// Executes the groups as one transaction, under the leases. Those that end meanwhile are renewed; if one cannot be, the
/// answer is lost.
///
/// # Errors
/// Returns [`Error::OutcomeUnknown`] if the transaction was applied and it is not known whether the entities were still in
/// their place: a migration may have read them before.
async fn execute(
    first: &Planned<'_>,
    groups: &[Group],
    leases: &mut Vec<(LayoutId, Lease)>,
) -> Result<Vec<Option<ETag>>, FailedGroup> {
    let backend = first.write.backend();
    let mut executed = pin!(async {
        match groups {
            [group] => slice_tables::execute(backend, &first.write.schema.layouts[0], group)
                .await
                .map_err(|error| FailedGroup { group: 0, error }),
            groups => backend.execute_all(groups).await,
        }
    });
    let lost = |reason| {
        let error = OutcomeUnknownError::new("transaction", first.row_id(), reason);
        FailedGroup { group: 0, error: Box::new(error).into() }
    };
    loop {
        let now = backend.clock();
        let Some(left) = leases.iter().map(|(_, lease)| lease.left(now)).min() else { return executed.await };
        let outcome = {
            // A deadline is not begun for a store that answers at once.
            let renewed = pin!(async {
                backend.deadline(left).await;
                renew(first, leases).await
            });
            match select(executed.as_mut(), renewed).await {
                Either::Left((answer, _)) => Either::Left(answer),
                Either::Right((renewed, _)) => Either::Right(renewed),
            }
        };
        match outcome {
            Either::Left(answer) => {
                let answer = answer?;
                renew(first, leases).await.map_err(|reason| lost(format!("it was applied, and {reason}")))?;
                return Ok(answer);
            }
            Either::Right(Ok(Some(renewed))) => *leases = renewed,
            Either::Right(Ok(None)) => {}
            Either::Right(Err(reason)) => return Err(lost(format!("it was not answered in time, and {reason}"))),
        }
    }
}

/// Renews the leases that have ended. Returns `None` if all are valid.
///
/// # Errors
/// Returns the reason why one cannot be renewed.
async fn renew(first: &Planned<'_>, leases: &[(LayoutId, Lease)]) -> Result<Option<Vec<(LayoutId, Lease)>>, String> {
    let tables = &first.write.tables;
    let now = tables.backend().clock();
    if leases.iter().all(|(_, lease)| lease.is_valid(now)) {
        return Ok(None);
    }
    let mut renewed = Vec::with_capacity(leases.len());
    for (id, lease) in leases {
        renewed.extend(tables.renewed(id, lease).await?.map(|lease| (*id, lease)));
    }
    Ok(Some(renewed))
}

/// Checks a transaction before anything is read for it: its size, and that each row has one write. Reads can only add
/// operations.
pub(crate) fn check(planned: &[Planned<'_>]) -> Result<()> {
    // If two entities want one value, only a read shows which of them had it.
    let (Operations { groups, .. }, _, _) = known(planned, &ReadRows::default())?;
    groups.iter().try_for_each(Group::check)
}

/// Returns the operations, and the position of each entity's own one in the first group.
async fn operations(planned: &[Planned<'_>], read: &ReadRows) -> Result<(Vec<Group>, Vec<usize>)> {
    let (mut operations, places, clash) = known(planned, read)?;
    if let Some(clash) = clash {
        return Err(outdated(planned).await?.unwrap_or(clash));
    }
    if let Some(first) = planned.first() {
        for Operation { row_key, action } in super::list::operations(planned).await? {
            let keys = RowKeys { partition_key: first.keys.partition_key.clone(), row_key };
            let _ = operations.add(first.write.schema.table().into(), &keys, action);
        }
    }
    check_count(planned, operations.groups.first().map_or(0, |group| group.operations.len()))?;
    Ok((operations.groups, places))
}

/// Returns the error of the first entity that is not in the version in which it was read. Two entities that were read
/// at different times can both have had a value that only one of them has.
#[cold]
async fn outdated(planned: &[Planned<'_>]) -> Result<Option<Error>> {
    for one in planned {
        let (Action::Replace(_, IfMatch::ETag(etag)) | Action::Delete(IfMatch::ETag(etag))) = &one.action else {
            continue;
        };
        let row = one.row_id();
        match one.write.get(&row.table, one.keys).await? {
            None => return Ok(Some(Error::NotFound(Box::new(row)))),
            Some(found) if found.etag != *etag => return Ok(Some(Error::ConditionNotMet(Box::new(row)))),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Returns the operations without those on lists, which have to be read. Also returns the error of two entities that
/// want one row, if there are any.
fn known(planned: &[Planned<'_>], read: &ReadRows) -> Result<(Operations, Vec<usize>, Option<Error>)> {
    let (mut operations, mut places) = (Operations::default(), Vec::with_capacity(planned.len()));
    let mut clash = None;
    for planned in planned {
        let before = operations.of_entity(&planned.keys.row_key);
        if !matches!((before, &planned.action), (None, _) | (Some(Action::Delete(_)), Action::Insert(_))) {
            return Err(planned.twice());
        }
        let table = planned.write.table_of(planned.keys)?;
        let place = operations.add(table, planned.keys, planned.action.clone());
        places.push(place.map_err(|_| planned.twice())?);
    }
    for one in planned {
        for IndexOperation { layout, keys, action } in one.change.operations(one.write, one.keys, read) {
            if operations.add(one.write.schema.layouts[layout].table.into(), keys, action).is_err() {
                clash.get_or_insert_with(|| one.clash(planned, layout, keys));
            }
        }
    }
    let own = operations.groups.first().map_or(0, |group| group.operations.len());
    check_count(planned, own + super::list::min_operations(planned))?;
    Ok((operations, places, clash))
}

/// Checks the number of operations in the entities' partition.
fn check_count(planned: &[Planned<'_>], operations: usize) -> Result<()> {
    if operations <= limits::OPERATIONS {
        return Ok(());
    }
    let entities = planned.iter().map(|planned| planned.keys).collect::<HashSet<_>>().len();
    let of = if entities == 1 { "entity" } else { "entities" };
    let table = planned.first().map_or_else(String::new, |first| first.row_id().table);
    let (what, found) = ("the transaction has".to_owned(), format!("{operations} operations of {entities} {of}"));
    let limit = "100 operations, those on index rows included";
    Err(Box::new(LimitError { table, row: None, what, found, limit }).into())
}

/// Returns the entity that comes to have this row, and the unique index. An entity that keeps the row is not its
/// writer: whoever else wants the row violates the index.
fn writer<'p, 'a>(planned: &'p [Planned<'a>], table: &str, keys: &RowKeys) -> Option<(&'p Planned<'a>, usize)> {
    planned.iter().find_map(|planned| {
        let layout = planned.unique_layout(table, keys)?;
        planned.change.moves(layout).then_some((planned, layout))
    })
}

/// Reads the rows of unique indexes that the transaction deletes or writes over, unless their indexes are ready. While
/// an index is built, such a row may be missing, or belong to another entity of the same value.
async fn read_unique_rows(planned: &[Planned<'_>], read: &mut ReadRows) -> Result<()> {
    for one in planned {
        let schema = &one.write.schema;
        for (layout, keys) in one.change.unique_rows(one.write) {
            let table = schema.layouts[layout].table;
            if read.get(table, keys).is_some() || one.write.is_ready(layout).await? {
                continue;
            }
            let row = one.write.get(table, keys).await?;
            let found = match row {
                None => ReadRow::Missing,
                Some(row) => ReadRow::Owned(row.etag.clone(), schema.owner(layout, &row)?),
            };
            read.insert(table.into(), keys.clone(), found);
        }
    }
    Ok(())
}

impl Planned<'_> {
    /// Returns the unique index in which the entity has this row after the transaction.
    fn unique_layout(&self, table: &str, at: &RowKeys) -> Option<usize> {
        let (schema, new) = (&self.write.schema, self.change.new?);
        let mut unique = self.write.in_transaction().filter(|layout| schema.is_unique(*layout));
        unique.find(|layout| schema.layouts[*layout].table == table && new.keys(*layout) == Some(at))
    }

    /// Returns the version of a row in the way if no committed entity has its value; `None` if the row is missing.
    async fn stale(&self, layout: usize, at: &RowKeys) -> Result<Option<ETag>> {
        let write = self.write;
        let Some(found) = write.get(write.schema.layouts[layout].table, at).await? else { return Ok(None) };
        let owner = write.schema.owner(layout, &found)?;
        if owner != *self.keys && write.is_taken(layout, at, &owner).await? {
            return Err(write.violation(layout, at, self.keys, &owner));
        }
        Ok(Some(found.etag))
    }

    /// Returns the error of two operations on the entity's row.
    #[cold]
    fn twice(&self) -> Error {
        let row = self.row_id();
        Box::new(LimitError {
            table: row.table.clone(),
            row: Some(row),
            what: "the transaction has".to_owned(),
            found: "more than one operation on this row".to_owned(),
            limit: "one, or a deletion and then an insertion",
        })
        .into()
    }

    /// Returns the error of two entities with one row in an index. The one that has the value already keeps it; of two
    /// that come to have it, the first does.
    #[cold]
    fn clash(&self, planned: &[Planned<'_>], layout: usize, at: &RowKeys) -> Error {
        let table = self.write.schema.layouts[layout].table;
        let others = planned.iter().filter(|other| other.keys != self.keys);
        let other = others.into_iter().find(|other| other.unique_layout(table, at).is_some());
        match (self.unique_layout(table, at), other) {
            (Some(layout), Some(other)) => {
                let (entity, owner) = if self.change.moves(layout) { (self, other) } else { (other, self) };
                self.write.violation(layout, at, entity.keys, owner.keys)
            }
            _ => self.twice(),
        }
    }
}

/// Resolves a lost answer. The write ids of the rows are the only proof that the transaction was applied, and one of them
/// proves it of all.
///
/// The ETag of a row is `None` if the row has no write id or that of another write, or if it has this write's id and not
/// what this write wrote: a program without the write id has patched it since. The caller then knows the content of an
/// earlier version.
async fn proven(
    first: &Planned<'_>,
    planned: &[Planned<'_>],
    groups: &[Group],
    leases: &[(LayoutId, Lease)],
    reason: String,
) -> Result<Vec<Option<ETag>>> {
    let now = first.now().await;
    let others = planned.get(1..).unwrap_or_default();
    let mut reads: Vec<BoxFuture<'_, Result<Proof>>> = Vec::with_capacity(others.len());
    for other in others {
        reads.push(Box::pin(async move {
            let now = if other.leaves_id() { Some(other.now().await) } else { None };
            Ok(now.map_or(Proof::None, |now| other.proof(&now)))
        }));
    }
    let mut proofs = vec![first.proof(&now)];
    proofs.extend(pacing::concurrently(reads).await?);
    if proofs.iter().all(|proof| matches!(proof, Proof::None)) {
        return Err(unknown(first, planned, groups, (reason, now)));
    }
    if let Err(reason) = renew(first, leases).await {
        return Err(unknown(first, planned, groups, (format!("it was applied, and {reason}"), now)));
    }
    let etag = |proof| if let Proof::Version(etag) = proof { Some(etag) } else { None };
    Ok(proofs.into_iter().map(etag).collect())
}

/// Returns the error of a transaction that may have been applied.
#[cold]
fn unknown(first: &Planned<'_>, planned: &[Planned<'_>], groups: &[Group], (reason, now): (String, RowNow)) -> Error {
    let row = first.row_id();
    let operation = match (planned, groups) {
        ([_], _) => first.action.name(),
        (_, [group]) => group.name(),
        _ => "transaction",
    };
    Box::new(OutcomeUnknownError { operation, row, reason, now }).into()
}

/// What a row proves about a write whose answer was lost.
enum Proof {
    None,
    /// The write was applied, and the row was changed since.
    Applied,
    /// The write was applied, and gave the row this version.
    Version(ETag),
}

impl Planned<'_> {
    /// Returns the identity of the entity's row.
    fn row_id(&self) -> RowId {
        self.write.row_id(self.keys)
    }

    async fn now(&self) -> RowNow {
        self.write.now(self.keys).await
    }

    /// Checks whether the row has the write id afterwards.
    fn leaves_id(&self) -> bool {
        self.write.schema.write_id && !matches!(self.action, Action::Delete(_))
    }

    /// Returns what the row, as it was read, proves about this write.
    fn proof(&self, now: &RowNow) -> Proof {
        let RowNow::Present(row) = now else { return Proof::None };
        let id = Some(ValueRef::Guid(self.write.id));
        let is_own = self.leaves_id() && row.properties.get(WRITE_ID) == id && super::schema::pending(row).is_none();
        let is_as_written = match &self.action {
            Action::Insert(written) | Action::Upsert(written) | Action::Replace(written, _) => {
                is_same(&row.properties, written)
            }
            // A merge does not know the other properties.
            Action::Merge(written, _) => has_all(&row.properties, written),
            Action::Delete(_) => false,
        };
        match (is_own, is_as_written) {
            (false, _) => Proof::None,
            (true, false) => Proof::Applied,
            (true, true) => Proof::Version(row.etag.clone()),
        }
    }
}

/// Checks whether a row has these properties and no others, in any order.
pub(super) fn is_same(stored: &Properties, written: &Properties) -> bool {
    has_all(stored, written) && stored.iter().count() == written.iter().count()
}

fn has_all(stored: &Properties, written: &Properties) -> bool {
    // NaN is not equal to itself, and a store may lose the sign of a zero.
    let is_same = |found: ValueRef<'_>, value: ValueRef<'_>| found == value || found.is_same(value);
    written.iter().all(|(name, value)| stored.get(name).is_some_and(|found| is_same(found, value)))
}
