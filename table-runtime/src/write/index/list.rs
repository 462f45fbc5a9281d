//! Writing of lists: index rows that hold the row keys of all entities of a value.
//!
//! A list is read with its version, changed, and written under that version in the entity's own transaction. Of two
//! writers of one list, the slower one reads it again after a delay.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use table_model::Holds;
use table_store::{
    ETag, Result, RowId, RowRef,
    backend::{Action, BackendExt, IfMatch, Operation},
    error::LimitError,
    unstable::{RowKeys, client::Client, limits},
};

use super::{
    change::Planned,
    write::{Write, WriteAnswer},
};
use crate::{client::pacing, read::list};

/// A list that was read: the row keys in each of its rows.
struct StoredList {
    /// The version of the first row, which locks the others.
    etag: Option<ETag>,
    rows: Vec<Vec<String>>,
    /// Whether each of the rows exists. The next change writes again a row that others have deleted.
    exists: Vec<bool>,
}

/// An entity that a change adds to a list, or removes from it.
struct ListMember<'a> {
    entity: &'a RowKeys,
    is_added: bool,
}

/// The lists that a transaction adds entities to or removes entities from, by their keys.
#[derive(Default)]
pub(super) struct ChangedLists<'a>(BTreeMap<&'a RowKeys, (&'a Write, Vec<ListMember<'a>>)>);

impl<'a> ChangedLists<'a> {
    /// Returns the lists that the writes of these entities change.
    pub(super) fn of(planned: &'a [Planned<'_>]) -> Self {
        let mut lists = Self::default();
        for Planned { write, change, keys, .. } in planned {
            let schema = &write.schema;
            for layout in schema.same_partition().filter(|layout| schema.holds(*layout) == Holds::List) {
                let removed = change.removed(layout).map(|old| (&old.keys, false));
                let added = change.added(layout).map(|new| (&new.keys, true));
                for (list, is_added) in removed.chain(added) {
                    let (_, members) = lists.0.entry(list).or_insert_with(|| (write, Vec::new()));
                    members.push(ListMember { entity: keys, is_added });
                }
            }
        }
        lists
    }

    /// Returns the minimum number of operations on the lists: one that an entity is added to has its first row written.
    pub(super) fn min_operations(&self) -> usize {
        self.0.values().filter(|(_, members)| members.iter().any(|member| member.is_added)).count()
    }

    /// Reads each list once, and returns the operations that change it.
    pub(super) async fn operations(&self) -> Result<Vec<Operation>> {
        let mut operations = Vec::new();
        for (list, (write, members)) in &self.0 {
            operations.extend(write.lists().operations(list, members).await?);
        }
        Ok(operations)
    }
}

/// Returns the operations that remove an entity from a list in the same partition.
pub async fn operations_without(
    backend: &Client,
    table: &str,
    list: &RowKeys,
    entity: &RowKeys,
) -> Result<Vec<Operation>> {
    ListStore { backend, table }.operations(list, &[ListMember { entity, is_added: false }]).await
}

/// The table that has lists.
#[derive(Clone, Copy)]
pub struct ListStore<'a> {
    pub backend: &'a Client,
    pub table: &'a str,
}

impl ListStore<'_> {
    /// Returns the operations that change the members of a list.
    async fn operations(self, keys: &RowKeys, members: &[ListMember<'_>]) -> Result<Vec<Operation>> {
        let stored = self.read(keys).await?;
        let mut rows = stored.rows.clone();
        let mut writes = false;
        for ListMember { entity, is_added } in members {
            let differs = list::set_member(&mut rows, &entity.row_key, *is_added, limits::STRING_UNITS);
            // An entity that is in the list already is written again, so that a writer that is about to remove it fails.
            writes |= differs || *is_added;
        }
        if !writes {
            return Ok(Vec::new());
        }
        if rows.len() > limits::OPERATIONS {
            let row = RowId::of(self.table, keys);
            let found = format!("{} rows", rows.len());
            let (table, what) = (row.table.clone(), "a list has".to_owned());
            return Err(Box::new(LimitError::new(table, Some(row), what, found, "100 rows")).into());
        }
        let properties = |at: usize| list::properties(&rows[at], if at == 0 { rows.len() } else { 1 });
        let mut operations = Vec::new();
        for at in 0..rows.len().max(stored.rows.len()) {
            let exists = stored.exists.get(at) == Some(&true);
            let action = match (at, rows.get(at), &stored.etag) {
                (0, Some(_), None) => Action::Insert(properties(at)),
                (0, Some(_), Some(etag)) => Action::Replace(properties(at), IfMatch::ETag(etag.clone())),
                (0, None, Some(etag)) => Action::Delete(IfMatch::ETag(etag.clone())),
                (0, None, None) => continue,
                // The first row locks the others.
                (_, Some(row), _) if exists && stored.rows.get(at) == Some(row) => continue,
                (_, Some(_), _) => Action::Upsert(properties(at)),
                (_, None, _) if exists => Action::Delete(IfMatch::Any),
                (_, None, _) => continue,
            };
            operations.push(Operation { row_key: list::nth_key(&keys.row_key, at + 1), action });
        }
        Ok(operations)
    }

    /// Returns the row keys of the entities in a list whose first row was read. Reads the further rows.
    pub async fn members_from(self, first: RowRef<'_>) -> Result<Vec<String>> {
        let list::List { mut entities, rows } = list::read(self.table, first)?;
        let others = self.read_further_rows(first.partition_key, first.row_key, rows).await?;
        entities.extend(others.into_iter().flat_map(|(entities, _)| entities));
        Ok(entities)
    }

    /// Returns the row keys of the entities in the list with these keys.
    pub async fn members(self, keys: &RowKeys) -> Result<Vec<String>> {
        Ok(self.read(keys).await?.rows.into_iter().flatten().collect())
    }

    async fn read(self, RowKeys { partition_key, row_key }: &RowKeys) -> Result<StoredList> {
        let Self { backend, table } = self;
        let Some(first) = backend.get(table, partition_key, row_key, None).await? else {
            return Ok(StoredList { etag: None, rows: Vec::new(), exists: Vec::new() });
        };
        let begun = list::read(table, first.as_ref())?;
        let others = self.read_further_rows(partition_key, row_key, begun.rows).await?;
        let (rows, exists) = [(begun.entities, true)].into_iter().chain(others).unzip();
        Ok(StoredList { etag: Some(first.etag), rows, exists })
    }

    /// Reads the rows of a list after the first, and whether each of them exists.
    async fn read_further_rows(
        self,
        partition_key: &str,
        row_key: &str,
        rows: usize,
    ) -> Result<Vec<(Vec<String>, bool)>> {
        let Self { backend, table } = self;
        let others = (2..=rows).map(|n| async move {
            let key = list::nth_key(row_key, n);
            match backend.get(table, partition_key, &key, None).await? {
                Some(row) => Ok((list::read(table, row.as_ref())?.entities, true)),
                None => Ok((Vec::new(), false)),
            }
        });
        join_all(others).await.into_iter().collect()
    }
}

impl Write {
    fn lists(&self) -> ListStore<'_> {
        ListStore { backend: self.backend(), table: self.schema.table() }
    }

    /// Removes an entity from a list that it does not belong to.
    pub async fn remove_from_list(&self, layout: usize, entity: &RowKeys, row: &RowId) -> Result<()> {
        let keys = RowKeys { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() };
        let mut delays = pacing::delays();
        loop {
            let operations = operations_without(self.backend(), self.schema.table(), &keys, entity).await?;
            // A writer that gives the entity the value later writes the list again.
            if operations.is_empty() || self.is_taken(layout, &keys, entity).await? {
                return Ok(());
            }
            match self.send(&self.transaction(&keys.partition_key, operations)?).await? {
                WriteAnswer::Done(_) => return Ok(()),
                WriteAnswer::LostRace(error) => self.pause(&mut delays, error).await?,
                WriteAnswer::Lost(error) => self.pause(&mut delays, error.into()).await?,
            }
        }
    }
}
