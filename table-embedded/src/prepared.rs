//! A transaction in the form that the writer sends to the committer: encoded, and sorted by table and key.

use std::{
    mem,
    ops::{Bound, Range},
};

use redb::{AccessGuard, Cursor, ReadableTable, Table};
use table_store::{
    ETag, Error, PropertiesRef, Ticks,
    backend::{Action, Group, IfMatch},
    unstable::limits,
};
use twox_hash::XxHash3_64;

use super::{
    failure::StoreRefusal,
    read::read_stored,
    store_key,
    stored_value::{self, StoredValue},
};

/// A table of rows, opened for writing.
pub(super) type WriteRows<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// The key and the value of a row, in the page that contains them.
type FoundRow<'r> = (AccessGuard<'r, &'static [u8]>, AccessGuard<'r, &'static [u8]>);

/// The operations of a transaction on the rows of one table. Their bytes are those of the file, except for the time
/// stamps and the rows that result from merges.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) table: String,
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Operations in the order of their keys.
    operations: Vec<PreparedOperation>,
}

#[derive(Debug)]
struct PreparedOperation {
    /// Position of the operation, in the order of the groups and their operations.
    at: usize,
    key: Range<usize>,
    /// Range in `values` of the row, or of the changes if the operation is a merge.
    value: Range<usize>,
    demand: Demand,
    write: PreparedAction,
    /// Place of the row, as [validation](Prepared::validate) found it.
    place: RowPlace,
}

/// Requirement of an operation on the existing row.
#[derive(Debug)]
enum Demand {
    Absent,
    Nothing,
    Present(Option<ETag>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PreparedAction {
    Put,
    Merge,
    Remove,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RowPlace {
    /// A row exists.
    Row,
    /// No row exists. Its key is in the `n`th gap between rows: absent rows in one gap can be written in one run.
    Gap(u32),
}

impl Prepared {
    /// Returns the operations of these groups, by table.
    pub(super) fn of(groups: &[Group]) -> Vec<Self> {
        let mut prepared: Vec<Self> = Vec::with_capacity(1);
        let mut at = 0;
        for group in groups {
            let place = prepared.iter().position(|prepared| prepared.table.eq_ignore_ascii_case(&group.table));
            let place = place.unwrap_or_else(|| {
                prepared.push(Self::empty(&group.table));
                prepared.len() - 1
            });
            prepared[place].add(group, at);
            at += group.operations.len();
        }
        for Self { keys, operations, .. } in &mut prepared {
            operations.sort_by(|left, right| keys[left.key.clone()].cmp(&keys[right.key.clone()]));
        }
        prepared
    }

    fn empty(table: &str) -> Self {
        Self { table: table.to_owned(), keys: Vec::new(), values: Vec::new(), operations: Vec::new() }
    }

    /// Adds the operations of a group, of which the first one has this position.
    fn add(&mut self, group: &Group, first: usize) {
        let keys = group.operations.iter().map(|operation| group.partition_key.len() + 1 + operation.row_key.len());
        self.keys.reserve(keys.sum());
        let values = group.operations.iter().filter_map(|operation| operation.action.properties());
        self.values.reserve(values.map(|value| stored_value::OVERHEAD + value.as_bytes().len()).sum());
        self.operations.reserve(group.operations.len());
        for (at, operation) in group.operations.iter().enumerate() {
            let (key, value) = (self.keys.len(), self.values.len());
            store_key::encode_into(&mut self.keys, &group.partition_key, &operation.row_key);
            let present = |condition: &IfMatch| match condition {
                IfMatch::Any => Demand::Present(None),
                IfMatch::ETag(etag) => Demand::Present(Some(etag.clone())),
            };
            let (demand, write) = match &operation.action {
                Action::Insert(_) => (Demand::Absent, PreparedAction::Put),
                Action::Upsert(_) => (Demand::Nothing, PreparedAction::Put),
                Action::Replace(_, condition) => (present(condition), PreparedAction::Put),
                Action::Merge(_, condition) => (present(condition), PreparedAction::Merge),
                Action::Delete(condition) => (present(condition), PreparedAction::Remove),
            };
            match operation.action.properties() {
                Some(changes) if write == PreparedAction::Merge => self.values.extend_from_slice(changes.as_bytes()),
                Some(properties) => stored_value::encode_into(&mut self.values, properties),
                None => {}
            }
            self.operations.push(PreparedOperation {
                at: first + at,
                key: key..self.keys.len(),
                value: value..self.values.len(),
                demand,
                write,
                place: RowPlace::Row,
            });
        }
    }

    /// Returns the position of the first operation.
    pub(super) fn first(&self) -> usize {
        self.operations.iter().map(|operation| operation.at).min().unwrap_or_default()
    }

    /// Returns the number of operations.
    pub(super) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns a hash for each row that the operations concern.
    pub(super) fn row_hashes(&self) -> impl Iterator<Item = u64> {
        let table = XxHash3_64::oneshot(self.table.to_ascii_lowercase().as_bytes());
        self.operations
            .iter()
            .map(move |operation| XxHash3_64::oneshot_with_seed(table, &self.keys[operation.key.clone()]))
    }

    /// Returns the key of an operation's row.
    pub(super) fn key(&self, operation: usize) -> &[u8] {
        &self.keys[self.operations[operation].key.clone()]
    }

    /// Returns the position of an operation, in the order of the groups and their operations.
    pub(super) fn position(&self, operation: usize) -> usize {
        self.operations[operation].at
    }

    /// Returns the gap between rows in which the operation writes a new row, as validation found it.
    pub(super) fn gap(&self, operation: usize) -> Option<u32> {
        match self.operations[operation].place {
            RowPlace::Row => None,
            RowPlace::Gap(gap) => Some(gap),
        }
    }

    /// Returns the value that the operation writes; `None` if it removes the row.
    pub(super) fn value(&self, operation: usize) -> Option<&[u8]> {
        let PreparedOperation { value, write, .. } = &self.operations[operation];
        (*write != PreparedAction::Remove).then(|| &self.values[value.clone()])
    }

    /// Searches the existing row of an operation. Returns the reason if the operation cannot be done. Writes nothing.
    pub(super) fn validate(
        &mut self,
        operation: usize,
        existing: &mut Existing<'_, '_>,
    ) -> Result<Option<StoreRefusal>, redb::StorageError> {
        let Self { table, keys, values, operations } = self;
        let operation = &mut operations[operation];
        let key = &keys[operation.key.clone()];
        let found = existing.find(key)?;
        let refusal = match (&operation.demand, found) {
            (Demand::Absent, Some(_)) => Some(StoreRefusal::AlreadyExists),
            (Demand::Present(_), None) => Some(StoreRefusal::NotFound),
            (Demand::Present(Some(etag)), Some(value)) => match StoredValue::read(key, value) {
                Ok(stored) if ETag::from(stored.timestamp) == *etag => None,
                Ok(_) => Some(StoreRefusal::ConditionNotMet),
                Err(damage) => Some(StoreRefusal::Damaged(damage)),
            },
            _ => None,
        };
        let is_new = found.is_none();
        let refusal = match (refusal, found) {
            (None, Some(value)) if operation.write == PreparedAction::Merge => {
                merge(table, key, value, values, &mut operation.value).err()
            }
            (refusal, Some(_)) => refusal,
            // A damaged key may have led the search to a wrong place: a row that is written there may not be found.
            (refusal, None) => existing.damaged_neighbour(table).map(StoreRefusal::Row).or(refusal),
        };
        operation.place = if is_new { RowPlace::Gap(existing.gap) } else { RowPlace::Row };
        Ok(refusal)
    }

    /// Sets the time stamp of the row that an operation writes.
    pub(super) fn stamp(&mut self, operation: usize, timestamp: Ticks) {
        let Self { keys, values, operations, .. } = self;
        let PreparedOperation { key, value, write, .. } = &operations[operation];
        if *write != PreparedAction::Remove {
            stored_value::stamp(&keys[key.clone()], &mut values[value.clone()], timestamp);
        }
    }
}

/// Appends the row that results from a merge to `values`, which also contains the changes. Sets `changes` to the range
/// of that row.
fn merge(
    table: &str,
    key: &[u8],
    existing: &[u8],
    values: &mut Vec<u8>,
    changes: &mut Range<usize>,
) -> Result<(), StoreRefusal> {
    let stored = StoredValue::read(key, existing).and_then(StoredValue::properties).map_err(StoreRefusal::Damaged)?;
    let merged = stored.merge(PropertiesRef::trusted(&values[changes.clone()]));
    // Only the changes were checked earlier. Together with the row's other properties, they may exceed a limit.
    if let Some((partition_key, row_key)) = store_key::decode(key) {
        limits::check_row(table, &partition_key, &row_key, merged.as_ref())
            .map_err(|error| StoreRefusal::Row(Box::new(error)))?;
    }
    let begin = values.len();
    stored_value::encode_into(values, &merged);
    *changes = begin..values.len();
    Ok(())
}

/// Existing rows, searched by keys in ascending order. One seek finds all keys in one gap or in consecutive rows.
pub(super) struct Existing<'r, 't> {
    rows: &'r WriteRows<'t>,
    /// Position after `next`; `None` before the first search.
    ahead: Option<Cursor<'r, &'static [u8], &'static [u8]>>,
    /// Last row before `next`.
    before: Option<FoundRow<'r>>,
    /// First row at or after the key that was searched last.
    next: Option<FoundRow<'r>>,
    /// Number of gaps between rows that the search has passed.
    gap: u32,
}

impl<'r, 't> Existing<'r, 't> {
    pub(super) fn new(rows: &'r WriteRows<'t>) -> Self {
        Self { rows, ahead: None, before: None, next: None, gap: 0 }
    }

    /// Returns the value of the row at this key.
    fn find(&mut self, key: &[u8]) -> Result<Option<&[u8]>, redb::StorageError> {
        if self.ahead.is_none() {
            self.seek(key)?;
        } else if self.is_behind(key) {
            // Rows that are written together are often stored together, so the next row is tried before a seek.
            self.gap += 1;
            let next = self.ahead.as_mut().map(Cursor::next).transpose()?.flatten();
            self.before = mem::replace(&mut self.next, next);
            if self.is_behind(key) {
                self.seek(key)?;
            }
        }
        Ok(match &self.next {
            Some((found, value)) if found.value() == key => Some(value.value()),
            _ => None,
        })
    }

    fn is_behind(&self, key: &[u8]) -> bool {
        self.next.as_ref().is_some_and(|(found, _)| found.value() < key)
    }

    fn seek(&mut self, key: &[u8]) -> Result<(), redb::StorageError> {
        let ahead = self.ahead.insert(self.rows.lower_bound(Bound::Included(key))?);
        self.before = ahead.peek_prev()?;
        self.next = ahead.next()?;
        Ok(())
    }

    /// Returns the error for a row next to the gap that was found last, if that row is damaged.
    fn damaged_neighbour(&self, table: &str) -> Option<Box<Error>> {
        let mut neighbours = self.before.iter().chain(&self.next);
        neighbours.find_map(|(key, value)| read_stored(table, key.value(), value.value()).err().map(Box::new))
    }
}
