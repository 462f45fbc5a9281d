//! The descriptions of an entity's layouts, which the derive writes.

use std::fmt;

use super::{const_str::same, slice::SliceInfo};
use crate::{KeyError, error::KeyProblem};

/// Where the rows of one layout of an entity stand: a table and the parts of the two keys.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayoutInfo {
    /// `key`, or the index's name.
    pub name: &'static str,
    /// The table.
    pub table: &'static str,
    /// What every partition key begins with; the whole of it where there are no parts.
    pub partition_prefix: &'static str,
    /// The parts of the partition key.
    pub partition: &'static [PartInfo],
    /// What every row key begins with; the whole of it where there are no parts.
    pub row_prefix: &'static str,
    /// The parts of the row key.
    pub row: &'static [PartInfo],
    /// What the rows of an index are; `None` for the primary key.
    pub index: Option<IndexInfo>,
    /// How the tables follow from a time, where there is one for each year, month or day; their names begin with
    /// `table`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceInfo>,
}

/// What the rows of an index are, and how they are kept.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct IndexInfo {
    /// Where they stand.
    pub scope: Scope,
    /// Whether a value has one entity at most.
    pub unique: bool,
    /// Whether a predicate says which entities have one.
    pub when: bool,
    /// What they hold.
    pub holds: Holds,
    /// The primary key's fields that the index's own keys do not imply, and the property that holds each.
    pub pointer: &'static [PropertyInfo],
    /// The properties of the entity that they include.
    pub included: &'static [PropertyInfo],
    /// The properties of the entity that its own keys hold whole: the part, counted over both keys, and the name.
    #[serde(skip)]
    pub values: &'static [(usize, &'static str)],
}

/// Where an index's rows stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Scope {
    /// In the entity's own partition: they are written in one transaction with it.
    SamePartition,
    /// In other partitions, of the entity's table or of another one: they are written by steps.
    CrossPartition,
}

/// What an index's rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Holds {
    /// The way to the entity.
    Pointer,
    /// The way to the entity, and some of its properties.
    Include,
    /// Every property of the entity.
    Copy,
    /// The ways to all entities of one value.
    List,
}

/// Whether the parts may be written as no text at all: one text alone, which no delimiter follows.
pub(crate) const fn may_be_empty(parts: &[PartInfo]) -> bool {
    match parts {
        [] => true,
        [only] => same(only.kind, "text"),
        _ => false,
    }
}

impl PartInfo {
    /// What stands between this part and the next: the key's separator, where it has one.
    pub(crate) fn delimiter(&self, separator: Option<char>) -> char {
        separator.unwrap_or(if self.self_delimiting { '_' } else { ' ' })
    }
}

impl LayoutInfo {
    /// Returns the error of a key part of this layout.
    #[cold]
    #[allow(clippy::unnecessary_box_returns, reason = "errors are boxed, so that results are small")]
    pub(crate) fn key_error(&self, field: &'static str, problem: KeyProblem) -> Box<KeyError> {
        Box::new(KeyError { table: self.table.to_owned(), row: None, layout: self.name, field, problem })
    }

    /// Checks whether the layout is that of an index with its rows in the entity's own partition.
    pub(crate) const fn is_same_partition(&self) -> bool {
        matches!(&self.index, Some(index) if matches!(index.scope, Scope::SamePartition))
    }

    /// Whether the layout is that of an index whose rows are written by steps before the entity is committed.
    pub(crate) const fn is_claimed(&self) -> bool {
        matches!(&self.index, Some(index) if matches!(index.scope, Scope::CrossPartition)) && self.is_lookup()
    }

    /// Whether the layout is that of an index whose rows lead to entities, which are read after them.
    pub(crate) const fn is_lookup(&self) -> bool {
        matches!(&self.index, Some(index) if !matches!(index.holds, Holds::Copy))
    }
}

/// A part of a key: a field and its encoding.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct PartInfo {
    /// The field.
    pub field: &'static str,
    /// What encodings it has: the type of an integer, or else `text`, `character`, `name`, `guid`, `time`, `date` or
    /// `bool`.
    pub kind: &'static str,
    /// The encoding, as its attribute says it, such as `first = 1, uppercase`; `plain` where it says none.
    pub encoding: &'static str,
    /// Whether what is written tells its own end, so that `_` follows it; a text ends with a space.
    pub self_delimiting: bool,
}

/// A stored property.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct PropertyInfo {
    /// The field.
    pub field: &'static str,
    /// The property's name.
    pub name: &'static str,
}

/// How an entity is stored: its layouts and its properties. `Display` draws it, and it serialises.
///
/// ```
/// use table_runtime::TableEntity;
///
/// #[derive(TableEntity)]
/// #[table(name = "Articles")]
/// struct Article {
///     #[partition_key(first = 1, uppercase)]
///     #[row_key(uppercase)]
///     title: String,
/// }
/// assert_eq!(
///     Article::layout().to_string(),
///     "Articles\n  key: PartitionKey {title: first = 1, uppercase} RowKey {title: uppercase}\n  properties: Title\n",
/// );
/// ```
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct Layout {
    /// The value of the property `EntityType`, or the struct's name where there is none.
    pub entity: &'static str,
    /// The primary key, then every index.
    pub layouts: &'static [LayoutInfo],
    /// The stored properties, in the order of the struct.
    pub properties: &'static [PropertyInfo],
    /// The value of the property `EntityType`, where there is one.
    pub kind: Option<&'static str>,
    /// Whether there is a property `WriteId`.
    pub write_id: bool,
    /// The one delimiter of every key, for data that others wrote.
    pub separator: Option<char>,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for layout in self.layouts {
            if layout.name == "key" {
                f.write_str(layout.table)?;
                if let Some(SliceInfo { field, unit, .. }) = &layout.slice {
                    write!(f, ", a table for each {unit} of {field}")?;
                }
                writeln!(f)?;
            }
            writeln!(
                f,
                "  {}: PartitionKey {}{} RowKey {}{}",
                layout.name,
                layout.partition_prefix,
                Parts(layout.partition, self.separator),
                layout.row_prefix,
                Parts(layout.row, self.separator),
            )?;
        }
        let own = self.kind.map(|_| "EntityType").into_iter().chain(self.write_id.then_some("WriteId"));
        let names: Vec<_> = self.properties.iter().map(|property| property.name).chain(own).collect();
        writeln!(f, "  properties: {}", names.join(", "))
    }
}

/// The parts of a key, and the separator between them; without one, each ends as its type does.
struct Parts(&'static [PartInfo], Option<char>);

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, part)| {
            match self.1 {
                _ if at == 0 => {}
                Some(separator) => write!(f, "{separator}")?,
                None => f.write_str(" ")?,
            }
            match part.encoding {
                "plain" => write!(f, "{{{}}}", part.field),
                encoding => write!(f, "{{{}: {encoding}}}", part.field),
            }
        })
    }
}
