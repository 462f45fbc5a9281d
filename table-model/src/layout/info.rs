//! Descriptions of an entity's layouts, which the derive writes, and the catalog records.
//!
//! An option of an index has these places, besides the code that does what it says:
//!
//! 1. `table-derive/src/model/index.rs` reads it;
//! 2. `table-derive/src/check/indexes.rs` says with what it cannot be combined;
//! 3. `table-derive/src/expand/indexes.rs` writes it to [`IndexInfo`];
//! 4. [`IndexInfo`] has it, and `IndexInfo::UNKNOWN`;
//! 5. `change.rs` compares it, and `Aspect` names it;
//! 6. `tests/tests/searches/changes.rs` has two versions of a struct that differ in it;
//! 7. `table-cli/src/derive/recorded.rs` prints it.

use std::{any, borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use table_store::{Properties, PropertiesRef, PropertyType, Result};

use super::{
    const_str::{same, text},
    lifecycle::Lifecycle,
    slice::{SliceInfo, SliceUnit, is_table_of},
    stored::{Parts, shown},
    whole::Within,
};

/// Location of the rows of one layout of an entity: a table and the parts of the two keys. The derive writes it, and the
/// catalog records it, with some additions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutInfo {
    /// Name of the index, or `key` for the primary key.
    pub name: Cow<'static, str>,
    /// The table; with slices, the beginning of their names.
    pub table: Cow<'static, str>,
    /// Text with which every partition key begins; the whole key if there are no parts.
    #[serde(default)]
    pub partition_prefix: Cow<'static, str>,
    /// The parts of the partition key.
    #[serde(default)]
    pub partition: Cow<'static, [PartInfo]>,
    /// Text with which every row key begins; the whole key if there are no parts.
    #[serde(default)]
    pub row_prefix: Cow<'static, str>,
    /// The parts of the row key.
    #[serde(default)]
    pub row: Cow<'static, [PartInfo]>,
    /// The only delimiter of the keys, for data that other programs wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<char>,
    /// Value of the property `EntityType` of the entity's rows; `None` for an index, and if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'static, str>>,
    /// Description of the index; `None` for the primary key.
    #[serde(default)]
    pub index: Option<IndexInfo>,
    /// Rule that computes the table from a time, if there is a table for each year, month or day. The names of these
    /// tables begin with `table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceInfo>,
}

/// Description of an index: the contents of its rows and the way they are maintained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Location of the rows.
    pub scope: Scope,
    /// `true` if at most one entity can have a value.
    #[serde(default)]
    pub unique: bool,
    /// The predicate that decides which entities have a row; `None` if all of them have one.
    #[serde(default)]
    pub when: Option<WhenInfo>,
    /// Contents of the rows.
    pub holds: Holds,
    /// Fields of the primary key that cannot be read from the index's own keys, and the property that holds each.
    #[serde(default)]
    pub pointer: Cow<'static, [StoredField]>,
    /// Fields of the entity that the rows include, and the property that holds each. A field that is stored as several
    /// properties is one here, and several in the catalog.
    #[serde(default, serialize_with = "serialize_included")]
    pub included: Cow<'static, [StoredField]>,
    /// Properties of the entity that the index's own keys hold whole: the part, counted over both keys, and the name.
    #[serde(skip)]
    #[doc(hidden)]
    pub values: &'static [(usize, &'static str)],
}

/// A field, and the property that stores it in the rows of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredField {
    /// The field; of a field of a nested struct, its path, such as `address.city`.
    pub field: Cow<'static, str>,
    /// The property's name.
    pub name: Cow<'static, str>,
    /// The properties of a field that is stored as several, with names relative to this one.
    #[serde(skip)]
    #[doc(hidden)]
    pub parts: Parts,
}

impl StoredField {
    /// Returns the description of a field, with the properties of its type.
    #[doc(hidden)]
    pub const fn new(field: &'static str, name: &'static str, parts: Parts) -> Self {
        Self { field: Cow::Borrowed(field), name: Cow::Borrowed(name), parts }
    }

    /// Returns the stored properties of the field.
    pub(super) fn stored(&self) -> impl Iterator<Item = Self> {
        let single = self.parts.is_empty().then(|| self.clone());
        let joined = |outer: &str, between: &str, inner: &str| {
            let is_whole = outer.is_empty() || inner.is_empty();
            Cow::Owned([outer, if is_whole { "" } else { between }, inner].concat())
        };
        let part = move |part: &PropertyInfo| {
            let (field, name) = (joined(&self.field, ".", part.field), joined(&self.name, "_", part.name));
            Self { field, name, parts: &[] }
        };
        single.into_iter().chain(self.parts.iter().map(part))
    }
}

/// Writes the stored properties of fields.
fn serialize_included<S: serde::Serializer>(fields: &[StoredField], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(fields.iter().flat_map(StoredField::stored))
}

impl IndexInfo {
    /// An index of which nothing is known but its place.
    pub(super) const UNKNOWN: Self = Self {
        scope: Scope::CrossPartition,
        unique: false,
        when: None,
        holds: Holds::Pointer,
        pointer: Cow::Borrowed(&[]),
        included: Cow::Borrowed(&[]),
        values: &[],
    };
}

/// Predicate of an index: an entity has a row only if it returns true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhenInfo {
    /// The fields that the predicate takes, in order.
    #[serde(default)]
    pub fields: Cow<'static, [WhenField]>,
    /// Path of the function as the attribute states it, such as `Post::is_open`. Another path is another predicate; a
    /// change inside of the function is not recorded.
    pub path: Cow<'static, str>,
}

impl WhenField {
    /// Returns the description of a field, without its property.
    #[doc(hidden)]
    pub const fn new(field: &'static str) -> Self {
        Self { field: Cow::Borrowed(field), property: None }
    }
}

/// A field that a predicate takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredWhenField", into = "StoredWhenField")]
pub struct WhenField {
    /// The field.
    pub field: Cow<'static, str>,
    /// The property that stores it, where the catalog records it.
    pub property: Option<Cow<'static, str>>,
}

/// A field of a predicate as it is recorded: its name, or its name and its property.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredWhenField {
    Name(Cow<'static, str>),
    Stored {
        field: Cow<'static, str>,
        #[serde(default)]
        property: Option<Cow<'static, str>>,
    },
}

impl From<StoredWhenField> for WhenField {
    fn from(stored: StoredWhenField) -> Self {
        match stored {
            StoredWhenField::Name(field) => Self { field, property: None },
            StoredWhenField::Stored { field, property } => Self { field, property },
        }
    }
}

impl From<WhenField> for StoredWhenField {
    fn from(WhenField { field, property }: WhenField) -> Self {
        if property.is_none() { Self::Name(field) } else { Self::Stored { field, property } }
    }
}

/// Location of an index's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// The entity's own partition: the rows are written in one transaction with the entity.
    SamePartition,
    /// Other partitions, of the entity's table or of another table: the rows are written in several steps.
    CrossPartition,
}

/// Contents of an index's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holds {
    /// A pointer to the entity.
    Pointer,
    /// A pointer to the entity, and some of its properties.
    Include,
    /// Every property of the entity.
    Copy,
    /// Pointers to all entities that have one value.
    List,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SamePartition => "the entity's partition",
            Self::CrossPartition => "other partitions",
        })
    }
}

impl Holds {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Include => "include",
            Self::Copy => "copy",
            Self::List => "list",
        }
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Checks whether the parts may be written as an empty text: there are none, or a single text, which no delimiter
/// follows.
pub const fn may_be_empty(parts: &[PartInfo]) -> bool {
    match parts {
        [] => true,
        [only] => same(text(&only.kind), "text"),
        _ => false,
    }
}

impl LayoutInfo {
    /// Returns the beginning and the parts of both keys.
    pub fn keys(&self) -> [(&str, &[PartInfo]); 2] {
        [(&self.partition_prefix, &self.partition), (&self.row_prefix, &self.row)]
    }

    /// Returns the parts of both keys.
    pub fn parts(&self) -> impl Iterator<Item = &PartInfo> + Clone {
        self.partition.iter().chain(&*self.row)
    }

    /// Checks whether the table is the layout's, or one of its slices.
    pub fn has_table(&self, table: &str) -> bool {
        let digits = self.slice.as_ref().map_or(0, |slice| match slice.unit {
            SliceUnit::Year => 4,
            SliceUnit::Month => 6,
            SliceUnit::Day => 8,
        });
        is_table_of(table, &self.table, self.is_sliced()) && table.len() == self.table.len() + digits
    }

    /// Checks whether there is a table for each year, month or day.
    pub const fn is_sliced(&self) -> bool {
        self.slice.is_some()
    }
}

/// Returns the layout's table, in a constant.
pub const fn table(layout: &LayoutInfo) -> &str {
    text(&layout.table)
}

/// A part of a key: a field and its encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartInfo {
    /// The field.
    pub field: Cow<'static, str>,
    /// Kind of the field, which decides its possible encodings: the type of an integer, or else `text`, `character`,
    /// `name`, `decimal`, `guid`, `time`, `date` or `bool`.
    pub kind: Cow<'static, str>,
    /// Encoding as the attribute states it, such as `first = 1, uppercase`; `plain` if the attribute states none.
    pub encoding: Cow<'static, str>,
    /// Name of the property that stores the field, for a part of an index that is no part of the primary key, where the
    /// catalog records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<Cow<'static, str>>,
    /// `true` if the encoding never contains `_`, which therefore delimits the part. A text is delimited by a space.
    pub self_delimiting: bool,
    /// `true` if the part holds one element of the field: an index with `each` has a row for each element.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// The writer of an example.
    #[serde(skip)]
    #[doc(hidden)]
    pub example: Example,
}

/// What a type and its encoding decide about a part of a key.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct PartType {
    pub kind: &'static str,
    pub self_delimiting: bool,
    pub example: Example,
}

impl PartType {
    /// Returns the description of a part.
    pub const fn of(self, field: &'static str, encoding: &'static str, each: bool) -> PartInfo {
        let Self { kind, self_delimiting, example } = self;
        PartInfo {
            field: Cow::Borrowed(field),
            kind: Cow::Borrowed(kind),
            encoding: Cow::Borrowed(encoding),
            property: None,
            self_delimiting,
            each,
            example,
        }
    }
}

/// The function that writes an example of a key part, with the delimiter after it unless it is the last part of its key.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Example(fn(last: bool) -> String);

impl Example {
    pub const fn new(write: fn(last: bool) -> String) -> Self {
        Self(write)
    }
}

/// The catalog records no example.
impl Default for Example {
    fn default() -> Self {
        Self(|_| String::new())
    }
}

/// Layouts are compared by what they store.
impl PartialEq for Example {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Example {}

impl fmt::Debug for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0(true))
    }
}

/// A stored property.
#[allow(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyInfo {
    /// The field; of a field of a nested struct, its path, such as `address.city`.
    pub field: &'static str,
    /// The property's name.
    pub name: &'static str,
    /// The property's type, in [`Layout::properties`]; `None` for the properties of an index's rows, which have the
    /// types of the entity's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edm: Option<PropertyType>,
    /// `true` if the property holds the value in the form of the type itself, not as JSON or as its text.
    #[serde(skip)]
    #[doc(hidden)]
    pub is_native: bool,
    /// Type of the field, which reads and writes a property that is not native.
    #[serde(skip)]
    #[doc(hidden)]
    pub ty: TypeName,
    /// What the field is in a row, with its properties or without.
    #[serde(skip)]
    #[doc(hidden)]
    pub as_read: AsRead,
    /// The properties of a field that is stored as several, with names relative to this one; empty for any other field.
    #[serde(skip)]
    #[doc(hidden)]
    pub parts: &'static [Self],
    /// The fields of the struct, the enum or the variant that the field is; the first one of an enum is its tag.
    #[serde(skip)]
    #[doc(hidden)]
    pub fields: &'static [Self],
    /// The stored name of the variant that the field is.
    #[serde(skip)]
    #[doc(hidden)]
    pub variant: Option<&'static str>,
    /// What is around the field. Only the properties that a query selects have it.
    #[serde(skip)]
    #[doc(hidden)]
    pub within: Option<&'static Within>,
    /// `true` if a row may be without all parts of the field.
    #[serde(skip)]
    #[doc(hidden)]
    pub is_optional: bool,
    /// `true` if the field has its default in a row without them.
    #[serde(skip)]
    #[doc(hidden)]
    pub is_default: bool,
    /// The most properties that one row has for the field: of an enum, those of its largest variant.
    #[serde(skip)]
    #[doc(hidden)]
    pub most: usize,
    /// `true` if every row with the value has the property.
    #[serde(skip)]
    #[doc(hidden)]
    pub is_always: bool,
    /// `true` if the property holds a later part of a value, or the number of its parts. Layouts are recorded and shown
    /// without it.
    #[serde(skip)]
    #[doc(hidden)]
    pub continues: bool,
}

impl PropertyInfo {
    /// Returns the description of a property of which nothing but its names is known.
    #[doc(hidden)]
    pub const fn named(field: &'static str, name: &'static str) -> Self {
        Self {
            field,
            name,
            edm: None,
            is_native: false,
            ty: TypeName::UNKNOWN,
            as_read: AsRead::new(|_, _| None),
            parts: &[],
            fields: &[],
            variant: None,
            within: None,
            is_optional: false,
            is_default: false,
            most: 1,
            is_always: false,
            continues: false,
        }
    }
}

/// The name of a field's type. It is a function, because the compiler does not know the name in a constant.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct TypeName(fn() -> &'static str);

impl TypeName {
    const UNKNOWN: Self = Self(|| "");

    pub const fn of<T>() -> Self {
        Self(any::type_name::<T>)
    }

    pub fn get(self) -> &'static str {
        (self.0)()
    }
}

/// Layouts are compared by what they store.
impl PartialEq for TypeName {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TypeName {}

impl fmt::Debug for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The function that reads a field and writes it again.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct AsRead(fn(&'static str, PropertiesRef<'_>) -> Option<Properties>);

impl AsRead {
    /// A part of a value that need not be there.
    pub const NOTHING: Self = Self::new(|_, _| Some(Properties::default()));

    pub const fn new(read: fn(&'static str, PropertiesRef<'_>) -> Option<Properties>) -> Self {
        Self(read)
    }

    /// Returns the properties as which the field is written that is read from a row with these; `None` if it cannot be read.
    pub fn read(self, name: &'static str, row: PropertiesRef<'_>) -> Option<Properties> {
        (self.0)(name, row)
    }

    /// Returns the same for a row without properties, with relative names.
    pub fn absent(self) -> Option<Properties> {
        self.read("", PropertiesRef::default())
    }

    /// Checks whether a row without the field's properties cannot be read.
    pub fn is_refused(self) -> bool {
        self.absent().is_none()
    }
}

/// Layouts are compared by what they store.
impl PartialEq for AsRead {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AsRead {}

impl fmt::Debug for AsRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.absent().fmt(f)
    }
}

/// Description of how an entity is stored: its layouts and its properties. It implements `Serialize`, and `Display` for a
/// readable summary: the table, the keys and an example of them for each layout, and for an index its scope, its content,
/// and whether it is unique. The examples have the same value in every field of a type: `Ada`, 7, 2010-05-28.
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
///     "\
/// Articles
///   key: PartitionKey {title: first = 1, uppercase} RowKey {title: uppercase}
///     such as PartitionKey='A' RowKey='ADA'
///   properties: Title
/// "
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Name under which `create` records the entity: the value of the property `EntityType`, or if there is no such
    /// property, the name that `#[table(entity = "…")]` sets, or else the struct's name.
    pub entity: &'static str,
    /// The primary key, followed by every index.
    pub layouts: &'static [LayoutInfo],
    /// The fields that are stored as properties, in the order of the struct.
    #[serde(rename = "properties", serialize_with = "serialize_stored")]
    #[doc(hidden)]
    pub fields: &'static [PropertyInfo],
    /// `true` if there is a property `WriteId`.
    pub write_id: bool,
    /// Version of the rows that are written, in the property `EntityVersion` unless it is 1.
    #[serde(skip_serializing_if = "is_first")]
    pub version: u32,
    /// The times that hide the entity from readers.
    #[serde(skip_serializing_if = "Lifecycle::is_none")]
    pub lifecycle: Lifecycle<'static>,
    /// What the events of the entity hold; `None` if its writes record none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<EventContent>,
}

/// What an event holds besides the key of its entity: `#[table(events)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventContent {
    /// Nothing.
    Key,
    /// The entity as it was written, and of a deletion, as it was: `events(copy)`.
    Copy,
}

/// Writes the stored properties of fields.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn serialize_stored<S: serde::Serializer>(
    fields: &&'static [PropertyInfo],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(shown(fields))
}

impl Layout {
    /// Returns the stored properties, in the order of the struct. A field that is a struct or an enum with data has several.
    /// A field with `#[property(large)]` has one: those in which its value continues are left out.
    pub fn properties(&self) -> impl Iterator<Item = PropertyInfo> + Clone + use<> {
        shown(self.fields)
    }

    /// Returns the description of an entity without layouts.
    pub(crate) const fn empty(entity: &'static str) -> Self {
        let lifecycle = Lifecycle::NONE;
        Self { entity, layouts: &[], fields: &[], write_id: false, version: 1, lifecycle, events: None }
    }

    /// Returns the value of the property `EntityType`, if there is one.
    pub const fn kind(&self) -> Option<&'static str> {
        match self.layouts {
            [LayoutInfo { kind: Some(kind), .. }, ..] => Some(text(kind)),
            _ => None,
        }
    }

    /// Returns the only delimiter of every key, for data that other programs wrote.
    pub const fn separator(&self) -> Option<char> {
        match self.layouts {
            [first, ..] => first.separator,
            [] => None,
        }
    }
}

/// Checks whether the version is that of an entity without `#[table(version = …)]`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
const fn is_first(version: &u32) -> bool {
    *version == 1
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for layout in self.layouts {
            if layout.name == "key" {
                f.write_str(&layout.table)?;
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
                JoinedParts(&layout.partition, layout.separator),
                layout.row_prefix,
                JoinedParts(&layout.row, layout.separator),
            )?;
            if let Some(index) = &layout.index {
                writeln!(f, "    {}", IndexSummary(layout, index))?;
            }
            writeln!(
                f,
                "    such as PartitionKey='{}{}' RowKey='{}{}'",
                layout.partition_prefix,
                example(&layout.partition),
                layout.row_prefix,
                example(&layout.row),
            )?;
        }
        let own = self.kind().map(|_| "EntityType").into_iter().chain(self.write_id.then_some("WriteId"));
        let own = own.chain((!is_first(&self.version)).then_some("EntityVersion"));
        let own = own.chain(self.events.map(|_| "EventAt"));
        let names: Vec<_> = self.properties().map(|property| property.name).chain(own).collect();
        writeln!(f, "  properties: {}", names.join(", "))?;
        let Lifecycle { expires, soft_delete } = self.lifecycle;
        if let Some(expires) = expires {
            writeln!(f, "  expires: from {expires} on")?;
        }
        soft_delete.map_or(Ok(()), |deleted| writeln!(f, "  in the bin: with {deleted}"))?;
        match self.events {
            None => Ok(()),
            Some(EventContent::Key) => writeln!(f, "  events: keys"),
            Some(EventContent::Copy) => writeln!(f, "  events: copies"),
        }
    }
}

/// Returns an example of the parts of a key.
fn example(parts: &[PartInfo]) -> String {
    parts.iter().enumerate().map(|(at, part)| part.example.0(at + 1 == parts.len())).collect()
}

/// An index in one line: where its rows are, and what they hold.
struct IndexSummary<'a>(&'a LayoutInfo, &'a IndexInfo);

impl fmt::Display for IndexSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(layout, index) = self;
        let IndexInfo { scope, unique, when, holds, .. } = index;
        f.write_str(if *unique { "unique, " } else { "" })?;
        match scope {
            Scope::SamePartition => f.write_str("in the entity's partition")?,
            Scope::CrossPartition => write!(f, "in other partitions, of {}", layout.table)?,
        }
        match holds {
            Holds::Pointer => f.write_str(": pointers")?,
            Holds::Include => {
                let names: Vec<_> =
                    index.included.iter().flat_map(StoredField::stored).map(|field| field.name).collect();
                write!(f, ": pointers, with {}", names.join(", "))?;
            }
            Holds::Copy => f.write_str(": copies")?,
            Holds::List => f.write_str(": lists of pointers")?,
        }
        match when {
            Some(WhenInfo { fields, path }) => {
                let fields: Vec<_> = fields.iter().map(|field| &*field.field).collect();
                write!(f, ", when {path}({})", fields.join(", "))
            }
            None => Ok(()),
        }
    }
}

/// Parts of a key, with the separator between them. Without a separator, `Display` writes a space.
struct JoinedParts<'a>(&'a [PartInfo], Option<char>);

impl fmt::Display for JoinedParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, part)| {
            match self.1 {
                _ if at == 0 => {}
                Some(separator) => write!(f, "{separator}")?,
                None => f.write_str(" ")?,
            }
            part.fmt(f)
        })
    }
}

/// The part as `{id: pad = 4}`, or `{each(tags)}` for an element of a field.
impl fmt::Display for PartInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (begin, end) = if self.each { ("each(", ")") } else { ("", "") };
        write!(f, "{{{begin}{}{end}", self.field)?;
        if self.encoding != "plain" {
            write!(f, ": {}", self.encoding)?;
        }
        f.write_str("}")
    }
}
