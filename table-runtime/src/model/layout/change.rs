//! Differences between what is recorded of an entity and a program's struct, as far as stored rows depend on them.

use std::{collections::BTreeSet, fmt};

use super::info::{Holds, IndexInfo, Layout, LayoutInfo, PartInfo, StoredField, WhenField};

/// A difference between what is recorded of an entity and what a program's struct says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChange {
    pub what: Aspect,
    /// What is recorded; `None` if it is new.
    pub was: Option<String>,
    /// What the program's struct says; `None` if it is gone.
    pub is: Option<String>,
}

/// What can differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The record: it is damaged, or has something that this version of the crate does not know.
    Record,
    Table,
    Prefix(Key),
    Part(Key, usize),
    PartField(Key, usize),
    PartProperty(Key, usize),
    PartKind(Key, usize),
    PartEncoding(Key, usize),
    PartEach(Key, usize),
    Separator,
    Kind,
    SliceUnit,
    SliceField,
    Scope,
    Unique,
    Holds,
    Predicate,
    /// A field that the predicate takes.
    Argument(usize),
    ArgumentProperty(usize),
    /// The field of a property of the pointer.
    PointerField(String),
    Pointer(usize),
    Included(String),
}

/// One of the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Partition,
    Row,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Partition => "partition key",
            Self::Row => "row key",
        })
    }
}

/// A place in a list, counted from 0, such as `second`.
struct Ordinal(usize);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ["first", "second", "third", "fourth", "fifth", "sixth"].get(self.0) {
            Some(word) => f.write_str(word),
            None => write!(f, "{}th", self.0 + 1),
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("the record"),
            Self::Table => f.write_str("the table"),
            Self::Prefix(key) => write!(f, "the prefix of the {key}"),
            Self::Part(key, at) => write!(f, "the {key}'s {} part", Ordinal(*at)),
            Self::PartField(key, at) => write!(f, "the field of the {key}'s {} part", Ordinal(*at)),
            Self::PartProperty(key, at) => write!(f, "the property of the {key}'s {} part", Ordinal(*at)),
            Self::PartKind(key, at) => write!(f, "the type of the {key}'s {} part", Ordinal(*at)),
            Self::PartEncoding(key, at) => write!(f, "the encoding of the {key}'s {} part", Ordinal(*at)),
            Self::PartEach(key, at) => write!(f, "`each` of the {key}'s {} part", Ordinal(*at)),
            Self::Separator => f.write_str("the separator"),
            Self::Kind => f.write_str("the kind"),
            Self::SliceUnit => f.write_str("the time of a slice"),
            Self::SliceField => f.write_str("the field that decides the slice"),
            Self::Scope => f.write_str("the place of the index rows"),
            Self::Unique => f.write_str("`unique`"),
            Self::Holds => f.write_str("the content of the index rows"),
            Self::Predicate => f.write_str("the predicate"),
            Self::Argument(at) => write!(f, "the {} field of the predicate", Ordinal(*at)),
            Self::ArgumentProperty(at) => write!(f, "the property of the predicate's {} field", Ordinal(*at)),
            Self::PointerField(name) => write!(f, "the field of the pointer's property `{name}`"),
            Self::Pointer(at) => write!(f, "the pointer's {} property", Ordinal(*at)),
            Self::Included(name) => write!(f, "the included property `{name}`"),
        }
    }
}

impl fmt::Display for LayoutChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, was, is } = self;
        match (was, is) {
            (Some(was), Some(is)) => write!(f, "{what} was {} and is {}", Shown(was), Shown(is)),
            (Some(was), None) => write!(f, "{what} was {} and is gone", Shown(was)),
            (None, Some(is)) => write!(f, "{what} is new: {}", Shown(is)),
            (None, None) => write!(f, "{what} is damaged, or a newer version of this crate wrote it"),
        }
    }
}

/// A value in a text.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("empty") } else { write!(f, "`{}`", self.0) }
    }
}

/// The fields of an entity and the recorded ones, by which a renamed field is distinguished from another one. Rows do not
/// store their names.
pub struct ComparedFields<'a> {
    pub present: &'a Layout,
    /// Recorded fields that were stored as properties, and not in the primary key.
    pub stored: &'a BTreeSet<String>,
}

impl ComparedFields<'_> {
    fn has(&self, field: &str) -> bool {
        let parts = self.present.layouts.iter().flat_map(LayoutInfo::parts).map(|part| &*part.field);
        parts.chain(self.present.properties().map(|info| info.field)).any(|own| own == field)
    }

    /// Checks whether both names are of one field: it has only been renamed if no present field has its old name, and no
    /// recorded property was that of a field with the new one.
    fn are_same(&self, was: &str, is: &str) -> bool {
        was == is || !self.has(was) && !self.stored.contains(is)
    }

    /// Returns the differences between a recorded layout and one of the program's.
    pub fn changes(&self, was: &LayoutInfo, is: &LayoutInfo) -> Vec<LayoutChange> {
        let is = self.present.recorded(is);
        let mut changes = Changes(Vec::new());
        // The service ignores case in the names of tables.
        if !was.table.eq_ignore_ascii_case(&is.table) {
            changes.add(Aspect::Table, Some(&was.table), Some(&is.table));
        }
        let keys = was.keys().into_iter().zip(is.keys());
        for (key, ((was_prefix, was), (is_prefix, is))) in [Key::Partition, Key::Row].into_iter().zip(keys) {
            changes.compare(Aspect::Prefix(key), Some(was_prefix), Some(is_prefix));
            for at in 0..was.len().max(is.len()) {
                match (was.get(at), is.get(at)) {
                    (Some(was), Some(is)) => self.compare_parts((key, at), was, is, &mut changes),
                    (was, is) => changes.compare(Aspect::Part(key, at), was, is),
                }
            }
        }
        changes.compare(Aspect::Separator, was.separator, is.separator);
        changes.compare(Aspect::Kind, was.kind.as_ref(), is.kind.as_ref());
        let [slice, own_slice] = [&was.slice, &is.slice].map(Option::as_ref);
        changes.compare(Aspect::SliceUnit, slice.map(|slice| slice.unit), own_slice.map(|slice| slice.unit));
        if let Some((was, is)) = slice.zip(own_slice).filter(|(was, is)| !self.are_same(&was.field, &is.field)) {
            changes.add(Aspect::SliceField, Some(&was.field), Some(&is.field));
        }
        match (&was.index, &is.index) {
            (Some(was), Some(is)) => self.compare_indexes(was, is, &mut changes),
            (None, None) => {}
            // An index has the name of an index.
            _ => changes.0.push(LayoutChange::UNKNOWN),
        }
        changes.0
    }

    /// Compares two parts. A field that is stored as a property is compared by the property's name, on which its index rows
    /// depend, and any other field by its own name.
    fn compare_parts(&self, (key, at): (Key, usize), was: &PartInfo, is: &PartInfo, changes: &mut Changes) {
        match (&was.property, &is.property) {
            (Some(was), Some(is)) => changes.compare(Aspect::PartProperty(key, at), Some(was), Some(is)),
            // A field of the primary key has no property here.
            _ if self.are_same(&was.field, &is.field) => {}
            _ => changes.add(Aspect::PartField(key, at), Some(&was.field), Some(&is.field)),
        }
        changes.compare(Aspect::PartKind(key, at), Some(&was.kind), Some(&is.kind));
        changes.compare(Aspect::PartEncoding(key, at), Some(&was.encoding), Some(&is.encoding));
        changes.compare(Aspect::PartEach(key, at), Some(was.each), Some(is.each));
    }

    fn compare_indexes(&self, was: &IndexInfo, is: &IndexInfo, changes: &mut Changes) {
        changes.compare(Aspect::Scope, Some(was.scope), Some(is.scope));
        changes.compare(Aspect::Unique, Some(was.unique), Some(is.unique));
        changes.compare(Aspect::Holds, Some(was.holds), Some(is.holds));
        let path = |index: &'_ IndexInfo| index.when.as_ref().map(|when| when.path.clone());
        changes.compare(Aspect::Predicate, path(was), path(is));
        if let (Some(was), Some(is)) = (&was.when, &is.when) {
            for at in 0..was.fields.len().max(is.fields.len()) {
                match (was.fields.get(at), is.fields.get(at)) {
                    (Some(WhenField { property: Some(was), .. }), Some(WhenField { property: Some(is), .. })) => {
                        changes.compare(Aspect::ArgumentProperty(at), Some(was), Some(is));
                    }
                    (Some(was), Some(is)) if self.are_same(&was.field, &is.field) => {}
                    (was, is) => {
                        changes.add(Aspect::Argument(at), was.map(|field| &*field.field), is.map(|field| &*field.field))
                    }
                }
            }
        }
        for at in 0..was.pointer.len().max(is.pointer.len()) {
            let [was, is] = [was.pointer.get(at), is.pointer.get(at)];
            let name = |field: Option<&StoredField>| field.map(|field| field.name.clone());
            changes.compare(Aspect::Pointer(at), name(was), name(is));
            if let Some((was, is)) = was.zip(is).filter(|(was, is)| !self.are_same(&was.field, &is.field)) {
                changes.add(Aspect::PointerField(is.name.to_string()), Some(&was.field), Some(&is.field));
            }
        }
        let [was, is] = [was, is].map(|index| index.included.iter().map(|field| &*field.name).collect::<BTreeSet<_>>());
        for name in was.symmetric_difference(&is) {
            let field = |names: &BTreeSet<&str>| names.contains(name).then_some(*name);
            changes.add(Aspect::Included((*name).to_owned()), field(&was), field(&is));
        }
    }
}

impl LayoutChange {
    /// Checks whether index rows have some of these times, or have them no more.
    pub fn is_of_times(&self, times: &[&str]) -> bool {
        match &self.what {
            Aspect::Included(name) => times.contains(&&**name),
            // Rows that include nothing else are pointers without them.
            Aspect::Holds => [&self.was, &self.is].iter().all(|holds| {
                holds.as_deref().is_some_and(|holds| holds != Holds::Copy.word() && holds != Holds::List.word())
            }),
            _ => false,
        }
    }

    /// The record cannot be read.
    pub const UNKNOWN: Self = Self { what: Aspect::Record, was: None, is: None };
}

struct Changes(Vec<LayoutChange>);

impl Changes {
    fn add(&mut self, what: Aspect, was: Option<&str>, is: Option<&str>) {
        let [was, is] = [was, is].map(|value| value.map(str::to_owned));
        self.0.push(LayoutChange { what, was, is });
    }

    /// Adds a change if the values differ.
    fn compare<T: PartialEq + ToString>(&mut self, what: Aspect, was: Option<T>, is: Option<T>) {
        if was != is {
            let [was, is] = [was, is].map(|value| value.map(|value| value.to_string()));
            self.0.push(LayoutChange { what, was, is });
        }
    }
}
