//! The one transaction that readers see: entities, and the index rows that are written with them.
//!
//! These are the index rows in the entities' partition. If the transactions of the store span all partitions, they are
//! all index rows.
//!
//! A commit reads the rows on which its operations depend, groups the operations, checks them, and executes them. If an
//! index row turns out to be missing, or to belong to no entity, all is repeated with that knowledge.

use table_model::unstable::{layout::LayoutExt, lifecycle::Standing};
use table_store::{
    ETag, Error, Result,
    backend::{Action, FailedGroup, Group, IfMatch},
    unstable::RowKeys,
};

use super::{
    change::{Planned, ReadRow, ReadRows},
    entity_write::EntityWrite,
    groups::Grouped,
    leased::HeldLeases,
    list::ChangedLists,
    lost,
    write::{EntityState, WrittenRow},
};
use crate::client::pacing;

/// Who commits writes of several entities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The writes are one transaction of the user. A row in the way of an insert is read, and deleted if it is a pending
    /// insert.
    Transaction,
    /// The writes were packed. Their caller sends them again without those that fail, and looks at a row in the way itself.
    Bulk,
}

/// Executes the writes of entities of one partition, all or none. Returns the ETag of each entity; `None` if it was
/// deleted, or if a lost answer left its ETag unknown.
///
/// # Errors
/// Nothing was written, unless the error is [`Error::OutcomeUnknown`].
pub async fn commit(planned: &[Planned<'_>], caller: Caller) -> Result<Vec<Option<ETag>>> {
    let Some(first) = planned.first() else { return Ok(Vec::new()) };
    let mut read = ReadRows::default();
    let mut delays = pacing::delays();
    let lists = changed_lists(planned);
    for entity in planned.iter().filter(|entity| entity.looks) {
        read_own_elements(entity, &mut read).await?;
    }
    loop {
        read_unique_rows(planned, &mut read).await?;
        let mut grouped = grouped(planned, &read, lists.as_ref()).await?;
        if let Some(lists) = &lists {
            grouped.add_lists(planned, lists.operations().await?)?;
        }
        let (groups, positions) = grouped.checked()?;
        let mut leases = HeldLeases::of(planned).await?;
        let failed = match leases.execute(first, &groups).await {
            Ok(etags) => return Ok(left(planned, &positions, etags)),
            // A fence leaves nothing in the entity's row that could prove it.
            Err(FailedGroup { error: error @ Error::OutcomeUnknown(_), .. }) if first.fences => return Err(error),
            Err(FailedGroup { error: Error::OutcomeUnknown(error), .. }) => {
                leases.mark_again(first).await;
                return lost::resolve(first, planned, &groups, &leases, *error).await;
            }
            Err(failed) => failed,
        };
        if let Some(error) = examine(planned, &groups, failed, caller, &mut read).await? {
            first.write.pause(&mut delays, error).await?;
        }
    }
}

/// Checks a transaction before anything is written for it: its size, and that no two entities want one row.
pub(super) async fn check_planned(planned: &[Planned<'_>]) -> Result<()> {
    let mut read = ReadRows::default();
    read_unique_rows(planned, &mut read).await?;
    grouped(planned, &read, changed_lists(planned).as_ref()).await?.checked().map(drop)
}

/// Returns the operations of a transaction, without those on lists.
///
/// # Errors
/// Two entities want one row.
async fn grouped(planned: &[Planned<'_>], read: &ReadRows, lists: Option<&ChangedLists<'_>>) -> Result<Grouped> {
    let mut grouped = Grouped::of(planned, read, lists.map_or(0, ChangedLists::min_operations))?;
    match grouped.clash.take() {
        Some(clash) => Err(outdated(planned).await?.unwrap_or(clash)),
        None => Ok(grouped),
    }
}

/// Checks a transaction before anything is read for it: its size, and that each row has one write. Reads can only add
/// operations.
pub(super) fn check(planned: &[Planned<'_>]) -> Result<()> {
    let listed = changed_lists(planned).map_or(0, |lists| lists.min_operations());
    // If two entities want one value, only a read shows which of them had it.
    Grouped::of(planned, &ReadRows::default(), listed)?.checked().map(drop)
}

fn changed_lists<'a>(planned: &'a [Planned<'_>]) -> Option<ChangedLists<'a>> {
    let has_lists = planned.iter().any(|entity| entity.write.schema.lists().next().is_some());
    has_lists.then(|| ChangedLists::of(planned))
}

/// Returns the ETag of each entity that the transaction left.
fn left(planned: &[Planned<'_>], positions: &[usize], mut etags: Vec<Option<ETag>>) -> Vec<Option<ETag>> {
    if positions.iter().copied().eq(0..planned.len()) {
        etags.truncate(planned.len());
        return etags;
    }
    let etag = |(entity, at): (&Planned<'_>, &usize)| {
        // A row that is deleted and inserted again is one operation. Its ETag is that of the new entity.
        let is_deleted = matches!(entity.action, Action::Delete(_));
        etags.get_mut(*at).filter(|_| !is_deleted).and_then(Option::take)
    };
    planned.iter().zip(positions).map(etag).collect()
}

/// Finds out why a transaction was refused, for the next attempt. Returns the error if that attempt has to wait for another
/// writer.
///
/// # Errors
/// Returns the error if a repetition would not help, or if the caller decides about it.
async fn examine(
    planned: &[Planned<'_>],
    groups: &[Group],
    FailedGroup { group: at, error }: FailedGroup,
    caller: Caller,
    read: &mut ReadRows,
) -> Result<Option<Error>> {
    let (Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row)) = &error else {
        return Err(error);
    };
    let Some(Group { table, partition_key, .. }) = groups.get(at) else { return Err(error) };
    let keys = RowKeys { partition_key: partition_key.clone(), row_key: row.row_key.clone() };
    if at == 0
        && let Some(own) = planned.iter().find(|entity| *entity.keys == keys)
    {
        let looks = caller == Caller::Transaction && !own.defers;
        if looks
            && matches!(error, Error::AlreadyExists(_))
            && matches!(own.write.make_way(own.keys, None).await?, EntityState::None)
        {
            return Ok(Some(error));
        }
        return Err(error);
    }
    match &error {
        Error::NotFound(_) if !matches!(read.get(table, &keys), Some(ReadRow::Missing)) => {
            read_removed_elements(planned, table, &keys, read).await?;
            read.insert(table.clone(), keys, ReadRow::Missing);
        }
        Error::AlreadyExists(_) if let Some((entity, layout)) = new_owner(planned, table, &keys) => {
            let Some(etag) = entity.stale(layout, &keys, planned).await? else { return Ok(Some(error)) };
            read.insert(table.clone(), keys, ReadRow::Stale(etag));
            if entity.fences {
                read_own_elements(entity, read).await?;
            }
        }
        // Another writer changed a list or a stale row first.
        _ => {
            read.remove(table, &keys);
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// Looks which rows of elements exist that an entity had, if one of them is missing: none of them may exist yet, and each
/// would end an attempt.
async fn read_removed_elements(
    planned: &[Planned<'_>],
    table: &str,
    missing: &RowKeys,
    read: &mut ReadRows,
) -> Result<()> {
    for Planned { write, change, .. } in planned {
        for layout in write.schema.same_partition() {
            let info = &write.schema.layouts[layout];
            let removed: Vec<_> = change.removed(layout).map(|old| &old.keys).collect();
            if info.each().is_none() || info.table != table || !removed.contains(&missing) {
                continue;
            }
            for (keys, state) in removed.iter().zip(write.existing(&removed).await?) {
                if matches!(state, EntityState::None) {
                    read.insert(table.to_owned().into(), (*keys).clone(), ReadRow::Missing);
                }
            }
        }
    }
    Ok(())
}

/// Reads which unique rows of elements an entity has already, so that its reindex replaces them. Each would end an attempt.
async fn read_own_elements(entity: &Planned<'_>, read: &mut ReadRows) -> Result<()> {
    let Planned { write, change, keys, .. } = entity;
    for layout in write.in_transaction().filter(|layout| write.schema.is_unique(*layout)) {
        let table = &write.schema.layouts[layout].table;
        if change.added(layout).nth(1).is_none() {
            continue;
        }
        let unread = change.added(layout).map(|new| (layout, &new.keys));
        let unread: Vec<_> = unread.filter(|(_, keys)| read.get(table, keys).is_none()).collect();
        for WrittenRow { keys, etag, .. } in write.own_rows(&unread, keys).await? {
            read.insert(table.clone(), keys, ReadRow::Stale(etag));
        }
    }
    Ok(())
}

/// Returns the entity that comes to have this row, and the unique index. An entity that keeps the row is not its new
/// owner: whoever else wants the row violates the index.
fn new_owner<'p, 'a>(planned: &'p [Planned<'a>], table: &str, keys: &RowKeys) -> Option<(&'p Planned<'a>, usize)> {
    planned.iter().find_map(|entity| {
        let layout = entity.unique_layout(table, keys)?;
        entity.change.adds(layout, keys).then_some((entity, layout))
    })
}

/// Reads the rows of unique indexes that the transaction deletes or writes over, unless their indexes are ready. While
/// an index is built, such a row may be missing, or belong to another entity of the same value.
async fn read_unique_rows(planned: &[Planned<'_>], read: &mut ReadRows) -> Result<()> {
    for entity in planned.iter().filter(|entity| entity.write.schema.has_indexes()) {
        let schema = &entity.write.schema;
        for (layout, keys) in entity.change.unique_rows(entity.write) {
            let table = &schema.layouts[layout].table;
            if read.get(table, keys).is_some() || entity.write.is_ready(layout).await? {
                continue;
            }
            let row = match entity.write.get(table, keys).await? {
                None => ReadRow::Missing,
                Some(row) => ReadRow::Owned(row.etag.clone(), schema.owner(layout, row.as_ref())?),
            };
            read.insert(table.clone(), keys.clone(), row);
        }
    }
    Ok(())
}

/// Returns the error of the first entity that is not in the version in which it was read. Two entities that were read
/// at different times can both have had a value that only one of them has.
#[cold]
pub(super) async fn outdated(planned: &[Planned<'_>]) -> Result<Option<Error>> {
    for entity in planned {
        let Some(etag) = entity.version() else { continue };
        let row = entity.row_id();
        match entity.write.get(&row.table, entity.keys).await? {
            None => return Ok(Some(Error::NotFound(row.into()))),
            Some(found) if found.etag != *etag => return Ok(Some(Error::ConditionNotMet(row.into()))),
            Some(_) => {}
        }
    }
    Ok(None)
}

impl Planned<'_> {
    /// Returns the version that the entity's row must have.
    pub(super) fn version(&self) -> Option<&ETag> {
        match &self.action {
            Action::Replace(_, IfMatch::ETag(etag))
            | Action::Merge(_, IfMatch::ETag(etag))
            | Action::Delete(IfMatch::ETag(etag)) => Some(etag),
            _ => None,
        }
    }

    /// Returns the version of a row in the way if no committed entity has its value; `None` if the row is missing.
    async fn stale(&self, layout: usize, at: &RowKeys, planned: &[Planned<'_>]) -> Result<Option<ETag>> {
        let write = self.write;
        let Some(found) = write.get(&write.schema.layouts[layout].table, at).await? else { return Ok(None) };
        let owner = write.schema.owner(layout, found.as_ref())?;
        if owner != *self.keys
            && let Some(taken) = write.owner_of(layout, at, &owner).await?
        {
            let evicts = write.takes_over && planned.iter().all(|other| *other.keys != owner);
            return match taken.standing(&write.schema, write.backend().earliest())? {
                // Then the row is missing, or another writer was faster.
                Standing::Expired if evicts => write.expire(EntityWrite::expire(taken)).await.map(|_| None),
                standing => Err(write.violation(layout, at, self.keys, (&owner, standing))),
            };
        }
        Ok(Some(found.etag))
    }
}
