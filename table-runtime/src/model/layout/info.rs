//! Descriptions of an entity's layouts, which the derive writes.

use std::{any, borrow::Cow, fmt};

use table_store::{
    Properties, PropertiesRef, PropertyType, Result,
    error::{KeyError, KeyProblem},
};

use super::{
    const_str::{same, same_names},
    lifecycle::Lifecycle,
    slice::SliceInfo,
    stored::{has_property, part_name, shown, stored},
    whole::Within,
};

/// Location of the rows of one layout of an entity: a table and the parts of the two keys.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayoutInfo {
    /// Name of the index, or `key` for the primary key.
    pub name: &'static str,
    /// The table.
    pub table: &'static str,
    /// Text with which every partition key begins; the whole key if there are no parts.
    pub partition_prefix: &'static str,
    /// The parts of the partition key.
    pub partition: &'static [PartInfo],
    /// Text with which every row key begins; the whole key if there are no parts.
    pub row_prefix: &'static str,
    /// The parts of the row key.
    pub row: &'static [PartInfo],
    /// Description of the index; `None` for the primary key.
    pub index: Option<IndexInfo>,
    /// Rule that computes the table from a time, if there is a table for each year, month or day. The names of these
    /// tables begin with `table`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceInfo>,
}

/// Description of an index: the contents of its rows and the way they are maintained.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct IndexInfo {
    /// Location of the rows.
    pub scope: Scope,
    /// `true` if at most one entity can have a value.
    pub unique: bool,
    /// The predicate that decides which entities have a row; `None` if all of them have one.
    pub when: Option<WhenInfo>,
    /// Contents of the rows.
    pub holds: Holds,
    /// Fields of the primary key that cannot be read from the index's own keys, and the property that holds each.
    pub pointer: &'static [PropertyInfo],
    /// Fields of the entity that the rows include.
    #[serde(rename = "included", serialize_with = "serialize_stored")]
    #[doc(hidden)]
    pub included_fields: &'static [PropertyInfo],
    /// Properties of the entity that the index's own keys hold whole: the part, counted over both keys, and the name.
    #[serde(skip)]
    pub values: &'static [(usize, &'static str)],
}

impl IndexInfo {
    /// Returns the properties of the entity that the rows include.
    pub fn included(&self) -> impl Iterator<Item = PropertyInfo> + Clone + use<> {
        stored(self.included_fields)
    }

    /// Checks whether the rows include the property.
    pub(crate) const fn includes(&self, name: &str) -> bool {
        has_property(self.included_fields, name)
    }
}

/// Predicate of an index: an entity has a row only if it returns true.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct WhenInfo {
    /// The fields that the predicate takes, in order.
    pub fields: &'static [&'static str],
    /// Path of the function as the attribute states it, such as `Post::is_open`. Another path is another predicate; a
    /// change inside of the function is not recorded.
    pub path: &'static str,
}

/// Location of an index's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Scope {
    /// The entity's own partition: the rows are written in one transaction with the entity.
    SamePartition,
    /// Other partitions, of the entity's table or of another table: the rows are written in several steps.
    CrossPartition,
}

/// Contents of an index's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// Checks whether the parts may be written as an empty text: there are none, or a single text, which no delimiter
/// follows.
pub const fn may_be_empty(parts: &[PartInfo]) -> bool {
    match parts {
        [] => true,
        [only] => same(only.kind, "text"),
        _ => false,
    }
}

impl PartInfo {
    /// Returns the delimiter between this part and the next: the key's separator if it has one, otherwise the delimiter
    /// of the part's type.
    pub(crate) fn delimiter(&self, separator: Option<char>) -> char {
        delimiter(separator, self.self_delimiting)
    }
}

/// Returns the delimiter after a part of a key: the key's separator if it has one, otherwise that of the part's type.
pub fn delimiter(separator: Option<char>, is_self_delimiting: bool) -> char {
    separator.unwrap_or(if is_self_delimiting { '_' } else { ' ' })
}

impl LayoutInfo {
    /// Returns the error of a key part of this layout.
    #[cold]
    #[allow(clippy::unnecessary_box_returns, reason = "errors are boxed, so that results are small")]
    pub(crate) fn key_error(&self, field: &'static str, problem: KeyProblem) -> Box<KeyError> {
        Box::new(KeyError::new(self.table.to_owned(), None, self.name, field, problem))
    }

    /// Returns the table of the row with these keys.
    pub(crate) fn table_of(&self, partition_key: &str, row_key: &str) -> Result<Cow<'static, str>> {
        match &self.slice {
            None => Ok(self.table.into()),
            Some(slice) => self.slice_of(slice, partition_key, row_key).map(Cow::Owned),
        }
    }

    /// Returns the field whose elements have a row each, if the layout is that of an index with `each`.
    pub(crate) fn each(&self) -> Option<&'static str> {
        self.partition.iter().chain(self.row).find(|part| part.each).map(|part| part.field)
    }

    /// Checks whether each row of the index holds all elements of the field that has a row for each.
    pub(crate) fn holds_elements(&self) -> bool {
        let Some((index, path)) = self.index.as_ref().zip(self.each()) else { return false };
        let field = path.split_once('.').map_or(path, |(field, _)| field);
        match index.holds {
            Holds::Copy => true,
            Holds::Include => index.included_fields.iter().any(|included| included.field == field),
            Holds::Pointer | Holds::List => false,
        }
    }

    /// Checks whether the keys of the index hold a field whole, which is stored as one property.
    pub(crate) fn gives(&self, field: &PropertyInfo) -> bool {
        let values = self.index.as_ref().map_or([].as_slice(), |index| index.values);
        let is_single = field.parts.len() < 2;
        is_single && values.iter().any(|(_, value)| same_names((*value).into(), part_name(field.name, field.parts)))
    }

    /// Checks whether the rows have the property of the entity.
    pub(crate) fn holds(&self, name: &str) -> bool {
        match &self.index {
            None | Some(IndexInfo { holds: Holds::Copy, .. }) => true,
            Some(index) => index.includes(name),
        }
    }

    /// Checks whether the layout is that of an index with its rows in the entity's own partition.
    pub(crate) const fn is_same_partition(&self) -> bool {
        matches!(&self.index, Some(index) if matches!(index.scope, Scope::SamePartition))
    }

    /// Checks whether the layout is that of an index whose rows are copies of the entity.
    pub(crate) const fn is_copy(&self) -> bool {
        matches!(&self.index, Some(index) if matches!(index.holds, Holds::Copy))
    }

    /// Checks whether the layout is that of an index whose rows are written in separate steps before the entity is
    /// committed.
    pub(crate) const fn is_before_commit(&self) -> bool {
        matches!(&self.index, Some(index) if matches!(index.scope, Scope::CrossPartition)) && self.is_lookup()
    }

    /// Checks whether the layout is that of an index whose rows point to entities, which are read after them.
    pub(crate) const fn is_lookup(&self) -> bool {
        matches!(&self.index, Some(index) if !matches!(index.holds, Holds::Copy))
    }
}

/// A part of a key: a field and its encoding.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct PartInfo {
    /// The field.
    pub field: &'static str,
    /// Kind of the field, which decides its possible encodings: the type of an integer, or else `text`, `character`,
    /// `name`, `decimal`, `guid`, `time`, `date` or `bool`.
    pub kind: &'static str,
    /// Encoding as the attribute states it, such as `first = 1, uppercase`; `plain` if the attribute states none.
    pub encoding: &'static str,
    /// `true` if the encoding never contains `_`, which therefore delimits the part. A text is delimited by a space.
    pub self_delimiting: bool,
    /// `true` if the part holds one element of the field: an index with `each` has a row for each element.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// The writer of an example.
    #[serde(skip)]
    #[doc(hidden)]
    pub example: Example,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
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
    /// Returns the description of a property of an index's rows.
    #[doc(hidden)]
    pub const fn of_index(field: &'static str, name: &'static str) -> Self {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
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
    /// Value of the property `EntityType`, if there is one.
    pub kind: Option<&'static str>,
    /// `true` if there is a property `WriteId`.
    pub write_id: bool,
    /// Version of the rows that are written, in the property `EntityVersion` unless it is 1.
    #[serde(skip_serializing_if = "is_first")]
    pub version: u32,
    /// The only delimiter of every key, for data that other programs wrote.
    pub separator: Option<char>,
    /// The times that hide the entity from readers.
    #[serde(skip_serializing_if = "Lifecycle::is_none")]
    pub lifecycle: Lifecycle<'static>,
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
        Self { entity, layouts: &[], fields: &[], kind: None, write_id: false, version: 1, separator: None, lifecycle }
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
                JoinedParts(layout.partition, self.separator),
                layout.row_prefix,
                JoinedParts(layout.row, self.separator),
            )?;
            if let Some(index) = &layout.index {
                writeln!(f, "    {}", IndexSummary(layout, index))?;
            }
            writeln!(
                f,
                "    such as PartitionKey='{}{}' RowKey='{}{}'",
                layout.partition_prefix,
                example(layout.partition),
                layout.row_prefix,
                example(layout.row),
            )?;
        }
        let own = self.kind.map(|_| "EntityType").into_iter().chain(self.write_id.then_some("WriteId"));
        let own = own.chain((!is_first(&self.version)).then_some("EntityVersion"));
        let names: Vec<_> = self.properties().map(|property| property.name).chain(own).collect();
        writeln!(f, "  properties: {}", names.join(", "))?;
        let Lifecycle { expires, soft_delete } = self.lifecycle;
        if let Some(expires) = expires {
            writeln!(f, "  expires: from {expires} on")?;
        }
        soft_delete.map_or(Ok(()), |deleted| writeln!(f, "  in the bin: with {deleted}"))
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
                let names: Vec<_> = index.included().map(|property| property.name).collect();
                write!(f, ": pointers, with {}", names.join(", "))?;
            }
            Holds::Copy => f.write_str(": copies")?,
            Holds::List => f.write_str(": lists of pointers")?,
        }
        match when {
            Some(WhenInfo { fields, path }) => write!(f, ", when {path}({})", fields.join(", ")),
            None => Ok(()),
        }
    }
}

/// Parts of a key, with the separator between them. Without a separator, `Display` writes a space.
struct JoinedParts(&'static [PartInfo], Option<char>);

impl fmt::Display for JoinedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, part)| {
            match self.1 {
                _ if at == 0 => {}
                Some(separator) => write!(f, "{separator}")?,
                None => f.write_str(" ")?,
            }
            fmt_part(f, part.field, part.encoding, part.each)
        })
    }
}

/// Writes a part of a key as `{id: pad = 4}` or `{each(tags)}`.
pub fn fmt_part(f: &mut fmt::Formatter<'_>, field: &str, encoding: &str, each: bool) -> fmt::Result {
    let (begin, end) = if each { ("each(", ")") } else { ("", "") };
    write!(f, "{{{begin}{field}{end}")?;
    if encoding != "plain" {
        write!(f, ": {encoding}")?;
    }
    f.write_str("}")
}
