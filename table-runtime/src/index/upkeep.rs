//! Keeping an entity's indexes true.

use std::{borrow::Cow, collections::HashSet, ops::Bound};

use backon::ExponentialBackoff;
use futures_util::future::join_all;

use super::{
    commit::{Planned, commit},
    schema::{Encoded, EncodedRow, Found, Schema},
    transaction::Change,
};
use crate::{
    ETag, Error, Guid, OutcomeUnknownError, Properties, Result, Row, RowId, RowRef, Tables, UniqueViolationError,
    ValueRef,
    backend::{Action, Backend, BoxFuture, Group, IfMatch, KeyRange, Operation, Partitions, Scan},
    entity::{self, LoadedRows, PENDING},
    key::order,
    limits, pacing,
    row::RowKeys,
};

/// How often a step is tried again whose answer was lost, or that another writer was faster at.
pub(super) const TRIES: usize = 100;

/// A write of one entity and of its index rows.
pub(crate) struct Upkeep {
    pub(super) tables: Tables,
    pub(super) schema: Schema,
    /// What tells this write from another's: in pending entities, in claims, and in entities that have a `WriteId`.
    pub(super) id: Guid,
}

/// A row of an index in another partition, as this write left it.
pub(super) struct Written {
    pub(super) layout: usize,
    pub(super) keys: RowKeys,
    pub(super) etag: ETag,
}

/// By what a writer knows that an entity is still the one that it works on.
#[derive(Clone, Copy)]
pub(super) enum Mine<'a> {
    /// It has this write's pending mark.
    Pending,
    /// It has the version that was read.
    Version(&'a ETag),
}

impl Upkeep {
    pub(crate) fn new(tables: Tables, schema: Schema) -> Result<Self> {
        Ok(Self { tables, schema, id: Guid::random()? })
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &**self.tables.backend()
    }

    /// The entity's table.
    pub(crate) fn table(&self) -> &'static str {
        self.schema.table()
    }

    /// The table of an entity's row: of several, its slice.
    pub(crate) fn table_of(&self, (partition_key, row_key): &RowKeys) -> Result<Cow<'static, str>> {
        self.schema.layouts[0].table_of(partition_key, row_key)
    }

    /// How many indexes have their rows in the entity's partition.
    pub(crate) fn same_partition_count(&self) -> usize {
        self.schema.same_partition().count()
    }

    /// How many of them are lists.
    pub(crate) fn list_count(&self) -> usize {
        self.schema.same_partition().filter(|layout| self.schema.holds(*layout) == crate::Holds::List).count()
    }

    /// Another write. No two may have one id, those of other entities and those that failed included: what has its id
    /// is taken by a write for its own, whose version nobody else has read yet.
    pub(super) fn another(&self) -> Result<Self> {
        Self::new(self.tables.clone(), self.schema)
    }

    /// Writes a new entity.
    pub(crate) async fn insert(&self, new: &Encoded) -> Result<ETag> {
        let change = Change { old: None, new: Some(new) };
        let claimed: Vec<_> = self.schema.claimed().filter(|layout| new.row(*layout).is_some()).collect();
        let etag = if claimed.is_empty() {
            self.insert_at_once(&change, new).await?
        } else {
            let begun = self.begin(new).await?;
            let written = match self.write_rows(new, &claimed, Mine::Pending).await {
                Ok(written) => written,
                Err((error, written)) => {
                    self.abort(new, written).await;
                    return Err(error);
                }
            };
            self.commit_pending(&change, new, begun, written).await?
        };
        self.follow(&change, &new.primary().keys, Some(&etag)).await;
        Ok(etag)
    }

    async fn insert_at_once(&self, change: &Change<'_>, new: &Encoded) -> Result<ETag> {
        loop {
            let inserted = self.commit(change, &new.primary().keys, Action::Insert(self.properties(new))).await;
            match inserted {
                Err(Error::AlreadyExists(row)) if row.row_key == new.primary().keys.1 => {
                    self.clear_pending(&new.primary().keys, row).await?;
                }
                other => return other?.ok_or_else(|| self.unknown("insert", &new.primary().keys)),
            }
        }
    }

    /// Makes way for an insert: what stands there may be pending, of a writer that is slow or dead.
    async fn clear_pending(&self, keys: &RowKeys, row: Box<RowId>) -> Result<()> {
        match self.stands(keys).await? {
            None => Ok(()),
            Some(Some(found)) if found.pending.is_some() => {
                self.delete_row(self.schema.table(), keys, &found.row.etag).await
            }
            // An entity, of this kind or another one.
            Some(_) => Err(Error::AlreadyExists(row)),
        }
    }

    /// What stands at these keys: nothing, an entity, or, `Some(None)`, one of another kind, in whose place this one
    /// cannot be written.
    pub(crate) async fn stands(&self, keys: &RowKeys) -> Result<Option<Option<Found>>> {
        let row = self.get(self.schema.table(), keys).await?;
        row.map(|row| self.schema.read(row)).transpose()
    }

    /// Writes the entity with the pending mark, which no reader sees.
    async fn begin(&self, new: &Encoded) -> Result<ETag> {
        let keys = &new.primary().keys;
        let mut properties = self.properties(new);
        properties.push(PENDING, ValueRef::Guid(self.id));
        let group = group(self.schema.table(), keys, Action::Insert(properties))?;
        let mut lost = 0;
        loop {
            match self.backend().execute(&group).await {
                Ok(etags) => return first(etags).ok_or_else(|| self.unknown("insert", keys)),
                Err(Error::AlreadyExists(row)) => match self.entity(keys).await? {
                    // The request before, whose answer was lost, was applied.
                    Some(found) if found.pending == Some(self.id) => return Ok(found.row.etag),
                    _ => self.clear_pending(keys, row).await?,
                },
                Err(Error::OutcomeUnknown(error)) => {
                    if let Some(found) = self.entity(keys).await?
                        && found.pending == Some(self.id)
                    {
                        return Ok(found.row.etag);
                    }
                    lost += 1;
                    if lost == TRIES {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the pending mark away: from here on readers see the entity.
    async fn commit_pending(
        &self,
        change: &Change<'_>,
        new: &Encoded,
        begun: ETag,
        written: Vec<Written>,
    ) -> Result<ETag> {
        let keys = &new.primary().keys;
        let (mut etag, mut properties) = (begun, self.properties(new));
        let mut doubt = None;
        let mut error = Error::Aborted(Box::new(RowId::of(self.schema.table(), keys)));
        for _ in 0..TRIES {
            let committed = Action::Replace(properties.clone(), IfMatch::ETag(etag.clone()));
            let found = match self.commit(change, keys, committed).await {
                Ok(etag) => return etag.ok_or_else(|| self.unknown("insert", keys)),
                Err(unknown @ Error::OutcomeUnknown(_)) => {
                    doubt = Some(unknown);
                    self.entity(keys).await
                }
                Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => self.entity(keys).await,
                Err(error) => Err(error),
            };
            match found {
                Ok(Some(found)) if self.is_own(&found) => return Ok(found.row.etag),
                // Another writer touched it: a fence, or a patch, which stays.
                Ok(Some(found)) if found.pending == Some(self.id) => {
                    // What was sent under the version before cannot be applied any more.
                    doubt = doubt.filter(|_| found.row.etag == etag);
                    etag = found.row.etag;
                    properties = committed_properties(&found.row.properties);
                }
                Ok(_) => break,
                Err(other) => {
                    error = other;
                    break;
                }
            }
        }
        // It may be this write that committed it, so its index rows stay.
        if let Some(unknown) = doubt {
            return Err(unknown);
        }
        self.abort(new, written).await;
        Err(error)
    }

    /// Whether an entity is as this very write committed it, which only a `WriteId` can prove.
    fn is_own(&self, found: &Found) -> bool {
        let id = Some(ValueRef::Guid(self.id));
        self.schema.write_id && found.pending.is_none() && found.row.properties.get(entity::WRITE_ID) == id
    }

    /// Clears away an insert that does not come to its commit. What it fails to clear, a repair does.
    async fn abort(&self, new: &Encoded, written: Vec<Written>) {
        let keys = &new.primary().keys;
        for _ in 0..TRIES {
            let deleted = match self.entity(keys).await {
                Ok(Some(found)) if found.pending == Some(self.id) => {
                    self.backend().execute(&deletion(self.schema.table(), keys, &found.row.etag)).await
                }
                _ => break,
            };
            if !matches!(deleted, Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_))) {
                break;
            }
        }
        let (claims, rows): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|written| self.schema.is_unique(written.layout));
        // Whoever took such a claim since has written it anew, so its version is another one.
        self.give_up(keys, claims, None).await;
        self.take_back(keys, rows, None).await;
    }

    /// Writes an entity over the one that was read.
    ///
    /// `etag` is what was read and becomes the entity's new version, also where a failed update had to touch it.
    pub(crate) async fn update(&self, old: &LoadedRows, etag: &mut ETag, new: &Encoded) -> Result<()> {
        let change = Change { old: Some(old), new: Some(new) };
        let keys = &new.primary().keys;
        let moved: Vec<_> = self.schema.claimed().filter(|layout| change.moves(*layout)).collect();
        let left = self.own_rows(&change, &moved, keys).await?;
        let written = match self.write_rows(new, &moved, Mine::Version(etag)).await {
            Ok(written) => written,
            Err((error, written)) => {
                self.take_back(keys, written, Some(etag)).await;
                return Err(error);
            }
        };
        let replaced = Action::Replace(self.properties(new), IfMatch::ETag(etag.clone()));
        match self.commit(&change, keys, replaced).await {
            Ok(Some(committed)) => *etag = committed,
            Ok(None) => return Err(self.unknown("update", keys)),
            Err(unknown @ Error::OutcomeUnknown(_)) => return Err(unknown),
            Err(error) => {
                self.take_back(keys, written, Some(etag)).await;
                return Err(error);
            }
        }
        self.give_up(keys, left, Some(etag)).await;
        self.follow(&change, keys, Some(etag)).await;
        Ok(())
    }

    /// Deletes the entity that was read.
    pub(crate) async fn delete(&self, keys: &RowKeys, old: &LoadedRows, etag: &ETag) -> Result<()> {
        let change = Change { old: Some(old), new: None };
        let claimed: Vec<_> = self.schema.claimed().collect();
        let left = self.own_rows(&change, &claimed, keys).await?;
        self.commit(&change, keys, Action::Delete(IfMatch::ETag(etag.clone()))).await?;
        self.give_up(keys, left, None).await;
        self.follow(&change, keys, None).await;
        Ok(())
    }

    /// Writes an entity, new or over the one that stands there.
    pub(crate) async fn upsert(&self, new: &Encoded) -> Result<ETag> {
        let keys = &new.primary().keys;
        let mut delays = pacing::delays();
        loop {
            let write = self.another()?;
            let written = match write.committed(keys).await? {
                None => write.insert(new).await,
                Some(found) => {
                    let (mut etag, mut old) = (found.row.etag, found.encoded.into_loaded());
                    // What a writer that died has left of these is fixed by doing it again.
                    for layout in self.schema.following() {
                        if let Some(Some(row)) = old.get_mut(layout) {
                            row.included = None;
                        }
                    }
                    write.update(&old, &mut etag, new).await.map(|()| etag)
                }
            };
            match written {
                Err(Error::AlreadyExists(row)) if matches!(write.stands(keys).await?, Some(None)) => {
                    return Err(Error::AlreadyExists(row));
                }
                Err(
                    error @ (Error::AlreadyExists(_)
                    | Error::NotFound(_)
                    | Error::ConditionNotMet(_)
                    | Error::Aborted(_)),
                ) => self.pause(&mut delays, error).await?,
                written => return written,
            }
        }
    }

    /// Deletes the entity that stands there, and says whether there was one.
    pub(crate) async fn remove(&self, keys: &RowKeys) -> Result<bool> {
        let mut delays = pacing::delays();
        loop {
            let Some(found) = self.committed(keys).await? else { return Ok(false) };
            match self.delete(keys, &found.encoded.into_loaded(), &found.row.etag).await {
                Err(Error::NotFound(_)) => return Ok(false),
                Err(error @ Error::ConditionNotMet(_)) => self.pause(&mut delays, error).await?,
                deleted => return deleted.map(|()| true),
            }
        }
    }

    /// The transaction of this one entity.
    pub(super) async fn commit(&self, change: &Change<'_>, keys: &RowKeys, action: Action) -> Result<Option<ETag>> {
        let planned = Planned { upkeep: self, change: *change, keys, action };
        Ok(commit(std::slice::from_ref(&planned)).await?.pop().flatten())
    }

    /// The entity's properties, with this write's id where the entity has one.
    pub(crate) fn properties(&self, encoded: &Encoded) -> Properties {
        self.with_id(encoded.primary().properties.clone())
    }

    pub(crate) fn with_id(&self, mut properties: Properties) -> Properties {
        if self.schema.write_id {
            properties.push(entity::WRITE_ID, ValueRef::Guid(self.id));
        }
        properties
    }

    pub(super) async fn get(&self, table: &str, (partition_key, row_key): &RowKeys) -> Result<Option<Row>> {
        self.backend().get(table, partition_key, row_key, None).await
    }

    /// Which of these rows of one partition there are: with one request if few others stand between them, and with one
    /// more for each that it does not tell of.
    pub(crate) async fn standing(&self, keys: &[&RowKeys]) -> Result<Vec<bool>> {
        let row_keys = || keys.iter().map(|keys| &keys.1);
        let by_order = |left: &&String, right: &&String| order::compare(left, right);
        let (Some(from), Some(to)) = (row_keys().min_by(by_order), row_keys().max_by(by_order)) else {
            return Ok(Vec::new());
        };
        let partitions = Partitions::One(keys[0].0.clone());
        let rows = KeyRange { from: Bound::Included(from.clone()), to: Bound::Included(to.clone()) };
        let (table, select) = (self.table_of(keys[0])?, Some(Cow::Borrowed(&[][..])));
        let scan = Scan { table, partitions, rows, filter: None, select, page: limits::PAGE };
        let (mut seen, mut all) = (HashSet::new(), false);
        // Keys that are too long for one address are looked for one by one.
        if scan.check().is_ok() {
            let mut note = |row: RowRef<'_>| {
                seen.insert(row.row_key.to_owned());
                Ok(())
            };
            match self.backend().query_with(&scan, None, &mut note).await {
                Err(Error::TableNotFound(_)) if self.schema.layouts[0].slice.is_some() => all = true,
                next => all = next?.is_none(),
            }
        }
        let mut looks: Vec<BoxFuture<'_, Result<bool>>> = Vec::with_capacity(keys.len());
        for keys in keys {
            let seen = seen.contains(&keys.1);
            looks.push(Box::pin(async move { Ok(seen || !all && self.exists(keys).await?) }));
        }
        pacing::concurrently(looks).await
    }

    async fn exists(&self, keys: &RowKeys) -> Result<bool> {
        let table = self.table_of(keys)?;
        match self.backend().get(&table, &keys.0, &keys.1, Some(&[])).await {
            Err(Error::TableNotFound(_)) if self.schema.layouts[0].slice.is_some() => Ok(false),
            row => Ok(row?.is_some()),
        }
    }

    /// The entity with these keys, pending or not.
    pub(super) async fn entity(&self, keys: &RowKeys) -> Result<Option<Found>> {
        Ok(self.stands(keys).await?.flatten())
    }

    /// Whether a row of a unique index is its owner's: an entity that has it and that readers see.
    pub(super) async fn is_taken(&self, layout: usize, at: &RowKeys, owner: &RowKeys) -> Result<bool> {
        Ok(self.committed(owner).await?.is_some_and(|found| found.encoded.keys(layout) == Some(at)))
    }

    /// The rows of an entity of which a writer knows the version alone.
    pub(crate) async fn loaded_rows(&self, keys: &RowKeys, etag: &ETag) -> Result<LoadedRows> {
        let row = || Box::new(RowId::of(self.schema.table(), keys));
        match self.committed(keys).await? {
            Some(found) if found.row.etag == *etag => Ok(found.encoded.into_loaded()),
            Some(_) => Err(Error::ConditionNotMet(row())),
            None => Err(Error::NotFound(row())),
        }
    }

    /// The entity with these keys that readers see.
    pub(crate) async fn committed(&self, keys: &RowKeys) -> Result<Option<Found>> {
        Ok(self.entity(keys).await?.filter(|found| found.pending.is_none()))
    }

    /// The rows that the entity has in these indexes, as they stand.
    async fn own_rows(&self, change: &Change<'_>, layouts: &[usize], owner: &RowKeys) -> Result<Vec<Written>> {
        let rows = layouts.iter().filter_map(|layout| Some((*layout, change.old_keys(*layout)?)));
        let reads = rows.map(|(layout, keys)| self.own_row(layout, keys, owner));
        let rows: Result<Vec<_>> = join_all(reads).await.into_iter().collect();
        Ok(rows?.into_iter().flatten().collect())
    }

    /// A row of an index as it stands, if it leads to this entity.
    pub(super) async fn own_row(&self, layout: usize, keys: &RowKeys, owner: &RowKeys) -> Result<Option<Written>> {
        let Some(row) = self.get(self.schema.layouts[layout].table, keys).await? else { return Ok(None) };
        let own = self.schema.owner(layout, &row)? == *owner;
        Ok(own.then_some(Written { layout, keys: keys.clone(), etag: row.etag }))
    }

    /// Writes the entity's rows in these indexes, side by side. An error comes with what was written all the same.
    pub(super) async fn write_rows(
        &self,
        new: &Encoded,
        layouts: &[usize],
        mine: Mine<'_>,
    ) -> Result<Vec<Written>, (Error, Vec<Written>)> {
        let owner = &new.primary().keys;
        let rows = layouts.iter().filter_map(|layout| Some((*layout, new.row(*layout)?)));
        let writes = rows.map(|(layout, row)| async move {
            let etag = if self.schema.is_unique(layout) {
                self.claim(layout, row, owner, mine).await?
            } else {
                self.upsert_row(layout, row).await?
            };
            Ok(Written { layout, keys: row.keys.clone(), etag })
        });
        let (mut written, mut failed) = (Vec::new(), None);
        for result in join_all(writes).await {
            match result {
                Ok(row) => written.push(row),
                // A violation says more than what else went wrong.
                Err(error @ Error::UniqueViolation(_)) => failed = Some(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => Ok(written),
            Some(error) => Err((error, written)),
        }
    }

    /// Writes a row of an index that is not unique. To write it twice does no harm.
    pub(super) async fn upsert_row(&self, layout: usize, row: &EncodedRow) -> Result<ETag> {
        let table = self.schema.layouts[layout].table;
        let group = group(table, &row.keys, Action::Upsert(row.properties.clone()))?;
        let mut lost = 0;
        loop {
            match self.backend().execute(&group).await {
                Ok(etags) => return first(etags).ok_or_else(|| self.unknown("upsert", &row.keys)),
                Err(Error::OutcomeUnknown(error)) => {
                    lost += 1;
                    if lost == TRIES {
                        return Err(self.no_answer(error.reason));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the error of `entity`, which wants the row at `at` that belongs to `owner`.
    pub(super) fn violation(&self, layout: usize, at: &RowKeys, entity: &RowKeys, owner: &RowKeys) -> Error {
        let (info, value) = (&self.schema.layouts[layout], self.schema.value(layout, at));
        let row = RowId::of(info.table, at);
        let [entity, owner] = [entity, owner].map(|keys| RowId::of(self.schema.table(), keys));
        Box::new(UniqueViolationError { index: info.name, value, row, entity, owner }).into()
    }

    /// Waits before the next attempt; returns the error if there was the last one.
    pub(crate) async fn pause(&self, delays: &mut ExponentialBackoff, error: Error) -> Result<()> {
        pacing::wait(self.backend(), delays, error).await
    }

    /// Checks whether the index is known to be ready: then the row of an entity that was loaded is its own. While an
    /// index is built, an entity may have no row, and the row of its value may belong to another entity.
    pub(super) async fn is_ready(&self, layout: usize) -> Result<bool> {
        self.tables.has_ready_index(&self.schema.describe(), &self.schema.layouts[layout]).await
    }

    /// A write that was answered without an ETag.
    fn unknown(&self, operation: &'static str, keys: &RowKeys) -> Error {
        let row = RowId::of(self.schema.table(), keys);
        Box::new(OutcomeUnknownError::new(operation, row, "the answer has no ETag")).into()
    }

    /// A transaction in a partition of the entity's table.
    pub(super) fn transaction(&self, partition_key: &str, operations: Vec<Operation>) -> Result<Group> {
        let (table, partition_key) = (self.schema.table().into(), partition_key.to_owned());
        let group = Group { table, partition_key, operations };
        group.check()?;
        Ok(group)
    }

    /// Deletes a row in this version, if it is still there.
    pub(super) async fn delete_row(&self, table: &'static str, keys: &RowKeys, etag: &ETag) -> Result<()> {
        match self.backend().execute(&deletion(table, keys, etag)).await {
            Ok(_) | Err(Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A group of one operation.
pub(super) fn group(table: &'static str, keys: &RowKeys, action: Action) -> Result<Group> {
    let operations = vec![Operation { row_key: keys.1.clone(), action }];
    let group = Group { table: table.into(), partition_key: keys.0.clone(), operations };
    group.check()?;
    Ok(group)
}

/// The deletion of a row in this version.
pub(super) fn deletion(table: &'static str, keys: &RowKeys, etag: &ETag) -> Group {
    let action = Action::Delete(IfMatch::ETag(etag.clone()));
    let operations = vec![Operation { row_key: keys.1.clone(), action }];
    Group { table: table.into(), partition_key: keys.0.clone(), operations }
}

pub(super) fn first(etags: Vec<Option<ETag>>) -> Option<ETag> {
    etags.into_iter().next().flatten()
}

/// A pending entity's properties without the mark.
fn committed_properties(pending: &Properties) -> Properties {
    let mut properties = Properties::with_capacity(pending.as_bytes().len());
    for (name, value) in pending.iter().filter(|(name, _)| *name != PENDING) {
        properties.push(name, value);
    }
    properties
}
