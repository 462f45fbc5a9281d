//! Differences between what is recorded of an entity and a program's struct, as far as stored rows depend on them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use table_store::unstable::{Reads, cannot_read, lost_variants, reads, reads_first_part};

use super::{
    baseline::Baseline,
    default::{defaults, depends_on},
    info::{Holds, IndexInfo, Layout, LayoutInfo, PartInfo, StoredField, WhenField},
    recorded::recorded,
    required::{is_always_written, lacks_part},
    whole::{Leaf, leaves},
};

/// A difference between what is recorded of an entity and what a program's struct says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChange {
    /// Name of the index, `key` for the primary key, or empty for the entity.
    pub layout: String,
    /// What differs.
    pub what: Aspect,
    /// What is recorded; `None` if it is new.
    pub was: Option<String>,
    /// What the program's struct says; `None` if it is gone.
    pub is: Option<String>,
}

/// What can differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "most names say what they mean")]
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
    /// The index itself.
    Index,
    /// The value as which a row without the property is read.
    Default(String),
    Property(String),
    Type(String, TypeEffect),
    /// A required property that rows may lack.
    Required(String),
    /// A property that is required in a struct or a variant, at this path, that recorded programs write without it.
    RequiredInside(String, String),
    /// The version of the rows, of which no program is recorded.
    Version,
    /// An option of the lifecycle.
    Lifecycle,
    WriteId,
}

/// What another type of a property does to stored rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeEffect {
    /// Rows are read as before.
    ReadsAll,
    /// Rows with some values are not read.
    ReadsSome,
    /// No row is read.
    ReadsNothing,
    /// Rows with these variants are not read.
    LosesVariants(Vec<String>),
    /// The first part of a longer value would be read as the whole.
    ReadsFirstPart,
    /// Programs with the recorded type cannot read what this one writes.
    IsNotRead,
}

impl TypeEffect {
    /// Returns what the type `is` does to rows with the type `was`. Both are texts of `PropertyType`.
    fn of(was: &str, is: &str) -> Self {
        let lost = lost_variants(is, was);
        if !lost.is_empty() {
            return Self::LosesVariants(lost.into_iter().map(str::to_owned).collect());
        }
        match reads(is, was) {
            _ if reads_first_part(is, was) => Self::ReadsFirstPart,
            Reads::Nothing => Self::ReadsNothing,
            Reads::All | Reads::Some if cannot_read(was, is) => Self::IsNotRead,
            Reads::All => Self::ReadsAll,
            Reads::Some => Self::ReadsSome,
        }
    }
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
            Self::Index => f.write_str("the index"),
            Self::Default(name) => write!(f, "a row without the property `{name}`"),
            Self::Property(name) | Self::Type(name, _) => write!(f, "the property `{name}`"),
            Self::Required(name) => write!(f, "the required property `{name}`"),
            Self::RequiredInside(name, path) => write!(f, "the property `{name}`, which `{path}` requires,"),
            Self::Version => f.write_str("the version of the rows"),
            Self::Lifecycle => f.write_str("the lifecycle"),
            Self::WriteId => f.write_str("the property `WriteId`"),
        }
    }
}

impl fmt::Display for LayoutChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, was, is, .. } = self;
        match (was, is) {
            (Some(was), Some(is)) if matches!(what, Aspect::Default(_)) => {
                let value = |value: &str| if value.is_empty() { "nothing".to_owned() } else { format!("{value:?}") };
                write!(f, "{what} was read as {} and is read as {}", value(was), value(is))
            }
            // The text of a type has quotation marks of its own.
            (Some(was), Some(is)) if matches!(what, Aspect::Type(..)) => write!(f, "{what} was {was} and is {is}"),
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

/// Returns the differences between what is recorded of an entity and what the program's struct says.
pub fn diff(recorded: &Baseline, program: &Layout) -> Vec<LayoutChange> {
    let fields = ComparedFields { present: program, stored: &recorded.fields };
    let mut changes = Vec::new();
    for layout in program.layouts {
        let name = &*layout.name;
        let mut found = recorded.layouts.iter().filter(|(other, _)| other == name).map(|(_, found)| found);
        match found.next() {
            Some(Some(was)) => changes.extend(fields.changes(was, layout)),
            Some(None) => changes.push(LayoutChange::unreadable(name)),
            None => changes.push(LayoutChange::new(name, Aspect::Index, None, Some(name))),
        }
        let defaults = if recorded.defaults.contains_key(name) { defaults(program, layout) } else { BTreeMap::new() };
        for (place, is) in defaults {
            let Some(was) = recorded.defaults[name].get(&place).filter(|was| **was != is) else { continue };
            let property = place.split_once(' ').map_or(&*place, |(property, _)| property);
            // Index rows without the property are read with the new value, as the entities are.
            if !was.is_empty() || depends_on(program, layout, property) {
                changes.push(LayoutChange::new(name, Aspect::Default(place.clone()), Some(was), Some(&is)));
            }
        }
    }
    for (name, _) in &recorded.layouts {
        if program.layouts.iter().all(|layout| layout.name != **name) {
            changes.push(LayoutChange::new(name, Aspect::Index, Some(name), None));
        }
    }
    changes_of_properties(recorded, program, &mut changes);
    let own: Vec<_> = program.lifecycle.options().collect();
    for option in recorded.options.iter().filter(|option| !own.contains(option)) {
        changes.push(LayoutChange::new("", Aspect::Lifecycle, Some(option), None));
    }
    for option in own.iter().filter(|option| !recorded.options.contains(option)) {
        changes.push(LayoutChange::new("", Aspect::Lifecycle, None, Some(option)));
    }
    if let Some(was) = recorded.write_id.filter(|was| *was != program.write_id) {
        let set = |is_set: bool| is_set.then_some("WriteId");
        changes.push(LayoutChange::new("", Aspect::WriteId, set(was), set(program.write_id)));
    }
    changes
}

fn changes_of_properties(recorded: &Baseline, program: &Layout, changes: &mut Vec<LayoutChange>) {
    let none = BTreeMap::new();
    let types = recorded.types.as_ref().unwrap_or(&none);
    let mut add = |what, was: Option<&str>, is: Option<&str>| changes.push(LayoutChange::new("", what, was, is));
    let leaves = leaves(program.fields);
    for leaf in &leaves {
        let (name, was) = (leaf.property.name.to_owned(), types.get(leaf.property.name));
        let is = leaf.property.edm.map(|edm| edm.to_string()).unwrap_or_default();
        if let Some(was) = was.filter(|was| **was != is && leaf.property.edm.is_some()) {
            add(Aspect::Type(name.clone(), TypeEffect::of(was, &is)), Some(was), Some(&is));
        }
        if recorded.types.is_some()
            && let Some(path) = lacks_part(leaf, recorded)
        {
            add(Aspect::RequiredInside(name, path), None, Some(&is));
        } else if is_doubtful(leaf, recorded, program) {
            add(Aspect::Required(name), None, Some(&is));
        } else if was.is_none() {
            add(Aspect::Property(name), None, Some(&is));
        }
    }
    for (name, was) in types {
        if program.properties().all(|property| property.name != name) {
            add(Aspect::Property(name.clone()), Some(was), None);
        }
    }
    if recorded.types.is_none() {
        add(Aspect::Version, None, Some(&program.version.to_string()));
    }
}

/// Checks whether a property is required, and rows may lack it.
fn is_doubtful(leaf: &Leaf, recorded: &Baseline, program: &Layout) -> bool {
    // In an `Option` or a variant, the property is required in the rows that have the others.
    let is_unrecorded_part = leaf.required_in().is_some() && recorded.types.is_none();
    // A field of the key is read from the key.
    let is_read_from_key = || {
        let mut parts = program.layouts[0].parts();
        parts.any(|part| part.field == leaf.property.field && !part.is_lossy())
    };
    let may_be_missing = leaf.is_required() && !is_always_written(leaf.property.name, recorded);
    (may_be_missing || is_unrecorded_part) && !is_read_from_key()
}

/// Returns the names of what differs between a struct and one that another program has recorded: variants of `Aspect` and
/// of `TypeEffect`.
pub fn changed_aspects(recorded: &Layout, program: &Layout) -> BTreeSet<String> {
    let name = |shown: String| shown.split('(').next().unwrap_or_default().to_owned();
    let names = |change: LayoutChange| {
        let effect = match &change.what {
            Aspect::Type(_, effect) => Some(format!("{effect:?}")),
            _ => None,
        };
        [format!("{:?}", change.what)].into_iter().chain(effect).map(name)
    };
    diff(&Baseline::of(recorded), program).into_iter().flat_map(names).collect()
}

/// The fields of an entity and the recorded ones, by which a renamed field is distinguished from another one. Rows do not
/// store their names.
pub struct ComparedFields<'a> {
    /// The entity.
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
        let is = recorded(self.present, is);
        let mut changes = Changes { layout: &is.name, all: Vec::new() };
        // A new field has to be compared too.
        let LayoutInfo {
            name: _,
            table,
            partition_prefix: _,
            partition: _,
            row_prefix: _,
            row: _,
            separator,
            kind,
            index,
            slice,
        } = was;
        // The service ignores case in the names of tables.
        if !table.eq_ignore_ascii_case(&is.table) {
            changes.add(Aspect::Table, Some(table), Some(&is.table));
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
        changes.compare(Aspect::Separator, *separator, is.separator);
        changes.compare(Aspect::Kind, kind.as_ref(), is.kind.as_ref());
        let [slice, own_slice] = [slice, &is.slice].map(Option::as_ref);
        changes.compare(Aspect::SliceUnit, slice.map(|slice| slice.unit), own_slice.map(|slice| slice.unit));
        if let Some((was, is)) = slice.zip(own_slice).filter(|(was, is)| !self.are_same(&was.field, &is.field)) {
            changes.add(Aspect::SliceField, Some(&was.field), Some(&is.field));
        }
        match (index, &is.index) {
            (Some(was), Some(is)) => self.compare_indexes(was, is, &mut changes),
            (None, None) => {}
            // An index has the name of an index.
            _ => changes.all.push(LayoutChange::unreadable(&is.name)),
        }
        changes.all
    }

    /// Compares two parts. A field that is stored as a property is compared by the property's name, on which its index rows
    /// depend, and any other field by its own name.
    fn compare_parts(&self, (key, at): (Key, usize), was: &PartInfo, is: &PartInfo, changes: &mut Changes<'_>) {
        // A new field has to be compared too. What delimits a part follows from its type and its encoding.
        let PartInfo { field, kind, encoding, property, self_delimiting: _, each, example: _ } = was;
        match (property, &is.property) {
            (Some(was), Some(is)) => changes.compare(Aspect::PartProperty(key, at), Some(was), Some(is)),
            // A field of the primary key has no property here.
            _ if self.are_same(field, &is.field) => {}
            _ => changes.add(Aspect::PartField(key, at), Some(field), Some(&is.field)),
        }
        changes.compare(Aspect::PartKind(key, at), Some(kind), Some(&is.kind));
        changes.compare(Aspect::PartEncoding(key, at), Some(encoding), Some(&is.encoding));
        changes.compare(Aspect::PartEach(key, at), Some(*each), Some(is.each));
    }

    fn compare_indexes(&self, was: &IndexInfo, is: &IndexInfo, changes: &mut Changes<'_>) {
        // A new field has to be compared too.
        let IndexInfo { scope, unique, when: _, holds, pointer: _, included: _, values: _ } = was;
        changes.compare(Aspect::Scope, Some(*scope), Some(is.scope));
        changes.compare(Aspect::Unique, Some(*unique), Some(is.unique));
        changes.compare(Aspect::Holds, Some(*holds), Some(is.holds));
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
                        changes.add(
                            Aspect::Argument(at),
                            was.map(|field| &*field.field),
                            is.map(|field| &*field.field),
                        );
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

    fn new(layout: &str, what: Aspect, was: Option<&str>, is: Option<&str>) -> Self {
        let [was, is] = [was, is].map(|value| value.map(str::to_owned));
        Self { layout: layout.to_owned(), what, was, is }
    }

    /// The record of a layout cannot be read.
    pub fn unreadable(layout: &str) -> Self {
        Self::new(layout, Aspect::Record, None, None)
    }
}

/// The changes of one layout.
struct Changes<'a> {
    layout: &'a str,
    all: Vec<LayoutChange>,
}

impl Changes<'_> {
    fn add(&mut self, what: Aspect, was: Option<&str>, is: Option<&str>) {
        self.all.push(LayoutChange::new(self.layout, what, was, is));
    }

    /// Adds a change if the values differ.
    fn compare<T: PartialEq + ToString>(&mut self, what: Aspect, was: Option<T>, is: Option<T>) {
        if was != is {
            let [was, is] = [was, is].map(|value| value.map(|value| value.to_string()));
            self.add(what, was.as_deref(), is.as_deref());
        }
    }
}
