//! Finding the layout that a stored row belongs to, and reading its keys.

use std::{cmp::Reverse, fmt};

use table_model::{
    LayoutInfo, PartInfo,
    unstable::{
        entity::{KIND, PENDING, attempt},
        event,
        key::escape,
        layout::{Encoding, LayoutExt, segments},
    },
};
use table_store::{PropertiesRef, RowRef, ValueRef};

use super::{Inventory, RecordedEntity};

/// A stored row whose keys fit a recorded layout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentifiedRow<'i> {
    /// The entity.
    pub entity: &'i RecordedEntity,
    /// The layout: the entity's primary key or one of its indexes.
    pub layout: &'i LayoutInfo,
    /// Parts of the partition key.
    pub partition: Vec<KeyValue>,
    /// Parts of the row key.
    pub row: Vec<KeyValue>,
}

/// A part of a stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyValue {
    /// The field.
    pub field: String,
    /// The value as a text.
    pub value: String,
    /// False if the key holds less than the value: folded text, its first characters, the number of a hash bucket, or one
    /// element of the field.
    pub is_whole: bool,
    /// The recorded encoding.
    pub(super) encoding: String,
    /// True if the part is the number of a hash bucket.
    pub(super) is_number: bool,
}

/// The key as `author=Marcus id=7`, or empty for a constant key. A part that holds less than the value is written as
/// `title~m`.
impl fmt::Display for IdentifiedRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = Vec::new();
        for KeyValue { field, value, is_whole, .. } in self.partition.iter().chain(&self.row) {
            // A field in both keys is written once.
            let text = format!("{field}{}{value}", if *is_whole { '=' } else { '~' });
            let is_known = self.partition.iter().chain(&self.row).any(|other| other.field == *field && other.is_whole);
            if (*is_whole || !is_known) && !texts.contains(&text) {
                texts.push(text);
            }
        }
        f.write_str(&texts.join(" "))
    }
}

impl Inventory {
    /// Returns the recorded entity or index that a row of the table belongs to, with the values in its keys; `None` if
    /// its keys fit no recorded layout, or its property `EntityType` no entity of these keys.
    ///
    /// If several layouts fit, which `create` refuses for entities without kinds, the one with the longest constant
    /// texts and the most parts is returned.
    pub fn identify(&self, table: &str, row: RowRef<'_>) -> Option<IdentifiedRow<'_>> {
        self.best(table, row.partition_key, row.row_key, Some(row.properties))
    }

    /// Returns the entity or index that a row with these keys would belong to, without its properties.
    pub fn identify_keys(&self, table: &str, partition_key: &str, row_key: &str) -> Option<IdentifiedRow<'_>> {
        self.best(table, partition_key, row_key, None)
    }

    /// Checks whether a row with this key is an event of one of the recorded entities of the table, or the mark of a partition
    /// with events.
    pub fn is_event(&self, table: &str, row_key: &str) -> bool {
        if table.eq_ignore_ascii_case(event::MARKS) {
            return self.entities.iter().any(|entity| entity.events.is_some());
        }
        let mut layouts = self.layouts_in(table).into_iter();
        let is_of = |(entity, layout): (&RecordedEntity, &LayoutInfo)| {
            entity.events.is_some() && layout.index.is_none() && event::is_event(layout, row_key)
        };
        layouts.any(is_of)
    }

    /// Checks whether a row of the table is an entity, recorded or not: neither a row of a recorded index, nor an event, nor
    /// an insert that is not committed. Entities in the bin, and those that have expired, count.
    ///
    /// The row may have no other properties than `EntityType` and `IndexPending`.
    pub fn is_entity(&self, table: &str, row: RowRef<'_>) -> bool {
        let is_index_row = self.identify(table, row).is_some_and(|found| found.layout.index.is_some());
        !is_index_row && !self.is_event(table, row.row_key) && row.properties.get(PENDING).and_then(attempt).is_none()
    }

    fn best(
        &self,
        table: &str,
        partition_key: &str,
        row_key: &str,
        properties: Option<PropertiesRef<'_>>,
    ) -> Option<IdentifiedRow<'_>> {
        let fits = |(entity, layout): (_, _)| identified(entity, layout, partition_key, row_key, properties);
        let found = self.layouts_in(table).into_iter().filter_map(fits);
        found.min_by_key(|row| {
            let constant = row.layout.partition_prefix.len() + row.layout.row_prefix.len();
            Reverse((constant, row.partition.len() + row.row.len()))
        })
    }
}

pub(super) fn identified<'i>(
    entity: &'i RecordedEntity,
    layout: &'i LayoutInfo,
    partition_key: &str,
    mut row_key: &str,
    properties: Option<PropertiesRef<'_>>,
) -> Option<IdentifiedRow<'i>> {
    if let (None, Some(kind), Some(properties)) = (&layout.index, &entity.kind, properties)
        && properties.get(KIND) != Some(ValueRef::String(kind))
    {
        return None;
    }
    if layout.is_list() {
        row_key = first_of_list(row_key);
    }
    let [partition, row] = layout.keys();
    let (partition, row) = (decode(layout, partition, partition_key)?, decode(layout, row, row_key)?);
    Some(IdentifiedRow { entity, layout, partition, row })
}

/// Returns the key of the first row of the list that a row belongs to: further rows have the key `~2~{first}`.
pub(super) fn first_of_list(row_key: &str) -> &str {
    let further = || {
        let (number, first) = row_key.strip_prefix('~')?.split_once('~')?;
        number.parse::<u32>().ok().map(|_| first)
    };
    further().unwrap_or(row_key)
}

/// Returns the parts of a key; `None` if it is no key of this layout.
fn decode(layout: &LayoutInfo, (prefix, parts): (&str, &[PartInfo]), key: &str) -> Option<Vec<KeyValue>> {
    let key = key.strip_prefix(prefix)?;
    if parts.is_empty() {
        return key.is_empty().then(Vec::new);
    }
    let mut values = Vec::with_capacity(parts.len());
    for (part, text, last) in segments::texts(layout, parts, key) {
        let encoding = Encoding::known(part)?;
        let value = encoding.decode(&part.kind, text.ok()?, escape(layout, last)).ok()?;
        // An element is not the whole field.
        let (field, is_whole) = (part.field.to_string(), !encoding.is_lossy() && !part.each);
        let is_number = encoding.hash.is_some();
        values.push(KeyValue { field, value, is_whole, encoding: part.encoding.to_string(), is_number });
    }
    Some(values)
}
