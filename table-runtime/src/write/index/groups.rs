//! The operations of a transaction, one for each row, in a group for each partition.
//!
//! The transaction has one operation for each row, whatever the number of changes to it. So two entities can swap the
//! values of a unique index, and an entity can be deleted and inserted again.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    hash::BuildHasher as _,
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};
use table_model::unstable::{event::MARKS, layout::LayoutExt, lifecycle::Standing};
use table_store::{
    Error, Properties, Result, RowId,
    backend::{Action, Group, Operation, Reach},
    error::LimitError,
    unstable::{RowKeys, limits},
};

use super::change::{IndexOperation, Planned, ReadRows};

/// The number of writes that one row may have in a transaction.
const ONE_WRITE: &str = "one, or a deletion and then an insertion";

/// The operations of a transaction, without those on lists, which have to be read.
pub(super) struct Grouped {
    operations: Operations,
    positions: Vec<usize>,
    /// The error of two entities that want one row, if there are any.
    pub(super) clash: Option<Error>,
}

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
    /// The positions of the operations whose rows have to be checked against the service's limits. The others were checked
    /// when their entity was encoded.
    unchecked: Vec<(usize, usize)>,
    hasher: DefaultHashBuilder,
}

impl Operations {
    /// Adds an operation, combined with an earlier one on the same row. Returns it if the two cannot be combined.
    fn add(
        &mut self,
        table: Cow<'static, str>,
        RowKeys { partition_key, row_key }: &RowKeys,
        action: Action,
        is_checked: bool,
    ) -> Result<usize, Action> {
        let group = self.group(table, partition_key);
        let Self { groups, rows, unchecked, hasher, .. } = self;
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
                if !is_checked {
                    unchecked.push((group, at));
                }
                Ok(at)
            }
            Entry::Vacant(place) => {
                let at = groups[group].operations.len();
                place.insert((group, at));
                if !is_checked {
                    unchecked.push((group, at));
                }
                groups[group].operations.push(Operation { row_key: row_key.clone(), action });
                Ok(at)
            }
        }
    }

    /// Returns the position of a partition's group.
    fn group(&mut self, table: Cow<'static, str>, partition_key: &str) -> usize {
        let Self { groups, partitions, hasher, .. } = self;
        // Most operations concern the entities' partition.
        if let Some(Group { table: first, partition_key: of_entities, .. }) = groups.first()
            && *of_entities == partition_key
            && *first == table
        {
            return 0;
        }
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

impl Grouped {
    /// Returns the operations of the writes of these entities, of which at least `listed` more concern lists.
    ///
    /// # Errors
    /// Returns an error if two writes concern one entity, or if there are too many operations.
    pub(super) fn of(planned: &[Planned<'_>], read: &ReadRows, listed: usize) -> Result<Self> {
        let (mut operations, mut positions) = (Operations::default(), Vec::with_capacity(planned.len()));
        for planned in planned {
            let before = operations.of_entity(&planned.keys.row_key);
            if !matches!((before, &planned.action), (None, _) | (Some(Action::Delete(_)), Action::Insert(_))) {
                return Err(planned.twice(ONE_WRITE));
            }
            let table = planned.write.table_of(planned.keys)?;
            let position = operations.add(table, planned.keys, planned.action.clone(), planned.is_checked.0);
            positions.push(position.map_err(|_| planned.twice(ONE_WRITE))?);
        }
        for entity in planned {
            let Some(events) = entity.events.as_deref() else { continue };
            let table = entity.write.table_of(entity.keys)?;
            for event in &events.rows {
                let RowKeys { partition_key, .. } = entity.keys;
                let keys = RowKeys { partition_key: partition_key.clone(), row_key: event.row_key.clone() };
                let action = Action::Insert(event.properties(&entity.action));
                // No two events have one key.
                let _ = operations.add(table.clone(), &keys, action, false);
            }
            if entity.write.reach == Reach::Store {
                // Several entities may have one mark.
                let _ = operations.add(MARKS.into(), &events.mark, Action::Upsert(Properties::default()), true);
            }
        }
        let mut clash = None;
        for entity in planned.iter().filter(|entity| entity.write.schema.has_indexes()) {
            for IndexOperation { layout, keys, action } in entity.change.operations(entity.write, entity.keys, read) {
                let table = entity.write.schema.layouts[layout].table.clone();
                let is_checked = entity.is_checked.1 && !entity.write.marks(layout);
                if operations.add(table, keys, action, is_checked).is_err() {
                    clash.get_or_insert_with(|| entity.clash(planned, layout, keys));
                }
            }
        }
        let grouped = Self { operations, positions, clash };
        grouped.check_count(planned, listed)?;
        Ok(grouped)
    }

    /// Adds the operations on lists.
    pub(super) fn add_lists(&mut self, planned: &[Planned<'_>], lists: Vec<Operation>) -> Result<()> {
        if let Some(first) = planned.first() {
            for Operation { row_key, action } in lists {
                let keys = RowKeys { partition_key: first.keys.partition_key.clone(), row_key };
                let _ = self.operations.add(first.write.schema.table().into(), &keys, action, false);
            }
        }
        self.check_count(planned, 0)
    }

    /// Checks the size of the transaction. Returns its groups, and the position of each entity's own operation in the
    /// first one, which is that of the entities.
    ///
    /// An entity with many elements may have more rows in another partition than a group has room for. On a store whose
    /// transactions span partitions, they are several groups of one transaction.
    pub(super) fn checked(self) -> Result<(Vec<Group>, Vec<usize>)> {
        let Operations { groups, unchecked, .. } = self.operations;
        unchecked.iter().try_for_each(|(group, at)| groups[*group].check_row(&groups[*group].operations[*at]))?;
        let mut groups = groups.into_iter();
        let of_entities: Vec<_> = groups.next().into_iter().collect();
        let groups: Vec<_> = of_entities.into_iter().chain(groups.flat_map(parts)).collect();
        groups.iter().try_for_each(Group::check_size)?;
        Ok((groups, self.positions))
    }

    /// Checks the number of operations in the entities' partition.
    fn check_count(&self, planned: &[Planned<'_>], listed: usize) -> Result<()> {
        let operations = self.operations.groups.first().map_or(0, |group| group.operations.len()) + listed;
        if operations <= limits::OPERATIONS {
            return Ok(());
        }
        let entities = planned.iter().map(|planned| planned.keys).collect::<HashSet<_>>().len();
        let of = if entities == 1 { "entity" } else { "entities" };
        let row = planned.first().map(Planned::row_id);
        let table = row.as_ref().map_or_else(String::new, |row| row.table.clone());
        let row = row.filter(|_| entities == 1);
        let elements = elements(planned);
        let (what, found) =
            ("the transaction has".to_owned(), format!("{operations} operations of {entities} {of}{elements}"));
        let limit = "100 operations, those on index rows included";
        Err(Box::new(LimitError::new(table, row, what, found, limit)).into())
    }
}

/// Divides a group into as many as its operations need.
fn parts(Group { table, partition_key, operations }: Group) -> Vec<Group> {
    // In a request, a byte takes at most seven.
    let bytes = |operation: &Operation| {
        let properties = operation.action.properties().map_or(0, |properties| properties.as_bytes().len());
        2048 + 7 * (properties + operation.row_key.len() + partition_key.len())
    };
    let fits = |count, bytes| count <= limits::OPERATIONS && bytes <= limits::TRANSACTION_BYTES;
    let group = |operations| Group { table: table.clone(), partition_key: partition_key.clone(), operations };
    if fits(operations.len(), operations.iter().map(bytes).sum()) {
        return vec![group(operations)];
    }
    let (mut parts, mut filled) = (Vec::<Vec<Operation>>::new(), 0);
    for operation in operations {
        let more = bytes(&operation);
        match parts.last_mut() {
            Some(part) if fits(part.len() + 1, filled + more) => {
                filled += more;
                part.push(operation);
            }
            _ => {
                filled = more;
                parts.push(vec![operation]);
            }
        }
    }
    parts.into_iter().map(group).collect()
}

/// Returns the numbers of the elements whose rows are written and deleted, for a message.
#[cold]
fn elements(planned: &[Planned<'_>]) -> String {
    let mut counts: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for Planned { write, change, .. } in planned {
        for layout in write.schema.same_partition() {
            let info = &write.schema.layouts[layout];
            let Some(field) = info.each() else { continue };
            let (new, old) = counts.entry((&info.name, field)).or_default();
            *new += change.added(layout).chain(change.altered(&write.schema, layout)).count();
            *old += change.removed(layout).count();
        }
    }
    let counts = counts.into_iter().filter(|(_, (new, old))| new + old > 0);
    let text = |((index, field), (new, old)): ((&str, &str), (usize, usize))| {
        format!(", with {new} elements of `{field}` and {old} former ones in the index `{index}`")
    };
    counts.map(text).collect()
}

impl Planned<'_> {
    /// Returns the identity of the entity's row.
    pub(super) fn row_id(&self) -> RowId {
        self.write.row_id(self.keys)
    }

    /// Returns the unique index in which the entity has this row after the transaction.
    pub(super) fn unique_layout(&self, table: &str, at: &RowKeys) -> Option<usize> {
        let schema = &self.write.schema;
        let mut unique = self.write.in_transaction().filter(|layout| schema.is_unique(*layout));
        unique.find(|layout| schema.layouts[*layout].table == table && self.change.has(*layout, at))
    }

    /// Returns the error of two operations on the entity's row.
    #[cold]
    pub(super) fn twice(&self, limit: &'static str) -> Error {
        let row = self.row_id();
        Box::new(LimitError::new(
            row.table.clone(),
            Some(row),
            "the transaction has".to_owned(),
            "more than one operation on this row".to_owned(),
            limit,
        ))
        .into()
    }

    /// Returns the error of two entities with one row in an index. The one that has the value already keeps it; of two
    /// that come to have it, the first does.
    #[cold]
    fn clash(&self, planned: &[Planned<'_>], layout: usize, at: &RowKeys) -> Error {
        let table = &self.write.schema.layouts[layout].table;
        let others = planned.iter().filter(|other| other.keys != self.keys);
        let other = others.into_iter().find(|other| other.unique_layout(table, at).is_some());
        match (self.unique_layout(table, at), other) {
            (Some(layout), Some(other)) => {
                let (entity, owner) = if self.change.adds(layout, at) { (self, other) } else { (other, self) };
                self.write.violation(layout, at, entity.keys, (owner.keys, Standing::Visible))
            }
            _ => self.twice(ONE_WRITE),
        }
    }
}
