//! The one transaction that readers see: entities, and their index rows in the same partition.
//!
//! The transaction has one operation for each row, whatever the number of changes to it. So two entities can swap the
//! values of a unique index, and an entity can be deleted and inserted again. If an index row turns out to be missing, or
//! to belong to no entity, the transaction is planned again with that knowledge.

use std::collections::{HashMap, HashSet};

use super::change::{Planned, ReadRow, ReadRows};
use crate::{
    ETag, Error, LimitError, OutcomeUnknownError, Result, RowId, RowNow, ValueRef,
    backend::{Action, BoxFuture, Group, IfMatch, Operation},
    entity::WRITE_ID,
    limits, pacing,
    row::RowKeys,
    slice_tables,
    tables::{LayoutId, Lease},
};

/// The operations of a transaction, one for each row.
#[derive(Default)]
struct Operations {
    operations: Vec<Operation>,
    /// The position of each row's operation.
    places: HashMap<String, usize>,
}

impl Operations {
    /// Adds an operation, combined with an earlier one on the same row. Returns it if the two cannot be combined.
    fn add(&mut self, row_key: String, action: Action) -> Result<usize, Action> {
        if let Some(&at) = self.places.get(&row_key) {
            let before = &mut self.operations[at].action;
            *before = match (before.clone(), action) {
                // Entities that share a row delete it once.
                (Action::Delete(left), Action::Delete(right)) if left == right => Action::Delete(left),
                (Action::Delete(condition), Action::Insert(properties))
                | (Action::Insert(properties), Action::Delete(condition)) => Action::Replace(properties, condition),
                (Action::Delete(_), Action::Upsert(properties)) | (Action::Upsert(properties), Action::Delete(_)) => {
                    Action::Upsert(properties)
                }
                (_, action) => return Err(action),
            };
            return Ok(at);
        }
        let at = self.operations.len();
        self.places.insert(row_key.clone(), at);
        self.operations.push(Operation { row_key, action });
        Ok(at)
    }
}

/// Executes the writes of entities of one partition, all or none. Returns the ETag of each entity; `None` if it was
/// deleted.
pub(crate) async fn commit(planned: &[Planned<'_>]) -> Result<Vec<Option<ETag>>> {
    let Some(first) = planned.first() else { return Ok(Vec::new()) };
    let leases = write_leases(planned).await?;
    let etags = commit_in_place(planned, first).await?;
    for (id, lease) in leases {
        first.write.tables.confirm_write(&id, &lease).await?;
    }
    Ok(etags)
}

/// Returns the leases under which the entities may be written. There are none for entities for which the handle did not
/// call `create`.
///
/// # Errors
/// Returns an error if a migration has moved an entity.
async fn write_leases(planned: &[Planned<'_>]) -> Result<Vec<(LayoutId, Lease)>> {
    let mut leases: Vec<(LayoutId, Lease)> = Vec::new();
    for (at, one) in planned.iter().enumerate() {
        let schema = &one.write.schema;
        // Most transactions have entities of one type.
        if planned[..at].last().is_some_and(|before| std::ptr::eq(before.write.schema.layouts, schema.layouts)) {
            continue;
        }
        let id = schema.id(&schema.layouts[0]);
        if leases.iter().any(|(known, _)| *known == id) {
            continue;
        }
        if let Some(lease) = one.write.tables.write_lease(&id).await? {
            leases.push((id, lease));
        }
    }
    Ok(leases)
}

async fn commit_in_place(planned: &[Planned<'_>], first: &Planned<'_>) -> Result<Vec<Option<ETag>>> {
    let (schema, table, partition_key) =
        (&first.write.schema, first.write.table_of(first.keys)?, &first.keys.partition_key);
    let mut read = ReadRows::new();
    let mut delays = pacing::delays();
    loop {
        read_unique_rows(planned, &mut read).await?;
        let (operations, places) = operations(planned, &read).await?;
        let group = Group { table: table.clone(), partition_key: partition_key.clone(), operations };
        group.check()?;
        let error = match slice_tables::execute(first.write.backend(), &schema.layouts[0], &group).await {
            Ok(etags) => {
                let left = |(planned, at): (&Planned<'_>, &usize)| {
                    // A row that is deleted and inserted again is one operation. Its ETag is that of the new entity.
                    let is_deleted = matches!(planned.action, Action::Delete(_));
                    etags.get(*at).filter(|_| !is_deleted).cloned().flatten()
                };
                return Ok(planned.iter().zip(&places).map(left).collect());
            }
            Err(Error::OutcomeUnknown(error)) => return proven(planned, &group, error.reason).await,
            Err(error) => error,
        };
        let own = |row: &RowId| planned.iter().any(|planned| planned.keys.row_key == row.row_key);
        match error {
            Error::NotFound(row) if !own(&row) && !matches!(read.get(&row.row_key), Some(ReadRow::Missing)) => {
                read.insert(row.row_key, ReadRow::Missing);
            }
            Error::AlreadyExists(row) if !own(&row) && writer(planned, &row).is_some() => {
                if let Some((planned, layout)) = writer(planned, &row)
                    && let Some(etag) = planned.stale(layout, &row).await?
                {
                    read.insert(row.row_key, ReadRow::Stale(etag));
                }
            }
            // Another writer changed a list or a stale row first.
            error @ (Error::ConditionNotMet(_) | Error::AlreadyExists(_) | Error::NotFound(_)) => {
                if let Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row) = &error {
                    if own(row) {
                        return Err(error);
                    }
                    read.remove(&row.row_key);
                }
                pacing::wait(first.write.backend(), &mut delays, error).await?;
            }
            error => return Err(error),
        }
    }
}

/// Checks a transaction before anything is read for it: its size, and that each row has one write. Reads can only add
/// operations.
pub(crate) fn check(planned: &[Planned<'_>]) -> Result<()> {
    let Some(first) = planned.first() else { return Ok(()) };
    // If two entities want one value, only a read shows which of them had it.
    let (Operations { operations, .. }, _, _) = known(planned, &ReadRows::new())?;
    let (table, partition_key) = (first.write.table_of(first.keys)?, first.keys.partition_key.clone());
    Group { table, partition_key, operations }.check()
}

/// Returns the operations, and the position of each entity's own one among them.
async fn operations(planned: &[Planned<'_>], read: &ReadRows) -> Result<(Vec<Operation>, Vec<usize>)> {
    let (mut operations, places, clash) = known(planned, read)?;
    if let Some(clash) = clash {
        return Err(outdated(planned).await?.unwrap_or(clash));
    }
    for Operation { row_key, action } in super::list::operations(planned).await? {
        let _ = operations.add(row_key, action);
    }
    check_count(planned, operations.operations.len())?;
    Ok((operations.operations, places))
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
        let before = operations.places.get(&planned.keys.row_key).map(|at| &operations.operations[*at].action);
        if !matches!((before, &planned.action), (None, _) | (Some(Action::Delete(_)), Action::Insert(_))) {
            return Err(planned.twice());
        }
        let place = operations.add(planned.keys.row_key.clone(), planned.action.clone());
        places.push(place.map_err(|_| planned.twice())?);
    }
    for one in planned {
        for Operation { row_key, action } in one.change.operations(&one.write.schema, &one.keys.row_key, read) {
            if operations.add(row_key.clone(), action).is_err() {
                clash.get_or_insert_with(|| one.clash(planned, &row_key));
            }
        }
    }
    check_count(planned, operations.operations.len() + super::list::min_operations(planned))?;
    Ok((operations, places, clash))
}

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
fn writer<'p, 'a>(planned: &'p [Planned<'a>], row: &RowId) -> Option<(&'p Planned<'a>, usize)> {
    planned.iter().find_map(|planned| {
        let layout = planned.unique_layout(&row.row_key)?;
        planned.change.moves(layout).then_some((planned, layout))
    })
}

/// Reads the rows of unique indexes that the transaction deletes or writes over, unless their indexes are ready. While
/// an index is built, such a row may be missing, or belong to another entity of the same value.
async fn read_unique_rows(planned: &[Planned<'_>], read: &mut ReadRows) -> Result<()> {
    for one in planned {
        let schema = &one.write.schema;
        for (layout, keys) in one.change.unique_rows(schema) {
            if read.contains_key(&keys.row_key) || one.write.is_ready(layout).await? {
                continue;
            }
            let row = one.write.get(schema.table(), keys).await?;
            let found = match row {
                None => ReadRow::Missing,
                Some(row) => ReadRow::Owned(row.etag.clone(), schema.owner(layout, &row)?.row_key),
            };
            read.insert(keys.row_key.clone(), found);
        }
    }
    Ok(())
}

impl Planned<'_> {
    /// Returns the unique index in which the entity has this row after the transaction.
    fn unique_layout(&self, row_key: &str) -> Option<usize> {
        let (schema, new) = (&self.write.schema, self.change.new?);
        let mut unique = schema.same_partition().filter(|layout| schema.is_unique(*layout));
        unique.find(|layout| new.keys(*layout).is_some_and(|keys| keys.row_key == row_key))
    }

    /// Returns the version of a row in the way if no committed entity has its value; `None` if the row is missing.
    async fn stale(&self, layout: usize, row: &RowId) -> Result<Option<ETag>> {
        let write = self.write;
        let at = RowKeys { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() };
        let Some(found) = write.get(write.schema.table(), &at).await? else { return Ok(None) };
        let owner = write.schema.owner(layout, &found)?;
        if owner != *self.keys && write.is_taken(layout, &at, &owner).await? {
            return Err(write.violation(layout, &at, self.keys, &owner));
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
    fn clash(&self, planned: &[Planned<'_>], row_key: &str) -> Error {
        let others = planned.iter().filter(|other| other.keys != self.keys);
        let other = others.into_iter().find(|other| other.unique_layout(row_key).is_some());
        match (self.unique_layout(row_key), other) {
            (Some(layout), Some(other)) => {
                let at = RowKeys { partition_key: self.keys.partition_key.clone(), row_key: row_key.to_owned() };
                let (entity, owner) = if self.change.moves(layout) { (self, other) } else { (other, self) };
                self.write.violation(layout, &at, entity.keys, owner.keys)
            }
            _ => self.twice(),
        }
    }
}

/// Resolves a lost answer. The write ids of the rows are the only proof that the transaction was applied, and one of them
/// proves it of all.
///
/// A row without a write id, or with that of another write, may have been written again since, so its ETag is `None`.
async fn proven(planned: &[Planned<'_>], group: &Group, reason: String) -> Result<Vec<Option<ETag>>> {
    let Some((first, others)) = planned.split_first() else { return Ok(Vec::new()) };
    let now = first.now().await;
    let mut reads: Vec<BoxFuture<'_, Result<Option<ETag>>>> = Vec::with_capacity(others.len());
    for other in others {
        reads.push(Box::pin(async move {
            let now = if other.leaves_id() { Some(other.now().await) } else { None };
            Ok(now.and_then(|now| other.own_version(&now)))
        }));
    }
    let mut etags = vec![first.own_version(&now)];
    etags.extend(pacing::concurrently(reads).await?);
    if etags.iter().any(Option::is_some) {
        return Ok(etags);
    }
    let (operation, row) = (group.name(), first.row_id());
    let operation = if planned.len() == 1 { first.action.name() } else { operation };
    Err(Box::new(OutcomeUnknownError { operation, row, reason, now }).into())
}

impl Planned<'_> {
    /// Returns the identity of the entity's row.
    fn row_id(&self) -> RowId {
        self.write.row_id(self.keys)
    }

    async fn now(&self) -> RowNow {
        match self.write.get(&self.row_id().table, self.keys).await {
            Ok(Some(row)) => RowNow::Present(Box::new(row)),
            Ok(None) => RowNow::Absent,
            Err(error) => RowNow::Unread(error.to_string()),
        }
    }

    /// Checks whether the row has the write id afterwards.
    fn leaves_id(&self) -> bool {
        self.write.schema.has_write_id && !matches!(self.action, Action::Delete(_))
    }

    /// Returns the row's version if this write was the last one.
    fn own_version(&self, now: &RowNow) -> Option<ETag> {
        let RowNow::Present(row) = now else { return None };
        let id = Some(ValueRef::Guid(self.write.id));
        let is_own = self.leaves_id() && row.properties.get(WRITE_ID) == id && super::schema::pending(row).is_none();
        is_own.then(|| row.etag.clone())
    }
}
