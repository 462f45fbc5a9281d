//! Reading and writing of rows, property by property and key part by key part.

mod elements;
mod lossy;
mod owner;

pub use elements::ElementKeys;
pub use lossy::check_lossy_parts;
pub use owner::{OwnerReader, index_value, owner_keys, point};

use std::borrow::Cow;

use table_store::{
    DamagedProperties, ETag, Properties, PropertiesRef, PropertyType, Result, RowId, RowRef, Ticks, ValueRef,
    error::{PropertyError, PropertyProblem},
    unstable::{PropertyName, RowKeys},
};

use crate::{
    key::{KeyReader, RowContext},
    layout::{LayoutExt, LayoutInfo, PartInfo, Parts, PropertyInfo, Seen, Within, decisive},
};

/// Writer to which the derived code passes an entity's properties.
pub struct PropertyWriter<'a> {
    table: &'static str,
    keys: &'a RowKeys,
    properties: &'a mut Properties,
}

impl<'a> PropertyWriter<'a> {
    /// Creates a writer of the properties of the row with these keys.
    pub fn new(table: &'static str, keys: &'a RowKeys, properties: &'a mut Properties) -> Self {
        Self { table, keys, properties }
    }

    /// Calls `write` with a writer of properties that belong to no row yet.
    pub(crate) fn without_row<T>(properties: &mut Properties, write: impl FnOnce(&mut PropertyWriter<'_>) -> T) -> T {
        write(&mut PropertyWriter::new("", &RowKeys::default(), properties))
    }

    /// Returns the number of bytes written.
    pub(crate) fn length(&self) -> usize {
        self.properties.as_bytes().len()
    }

    /// Writes a field.
    #[inline]
    pub(crate) fn write(
        &mut self,
        name: PropertyName<'_>,
        write: impl FnOnce(&mut Properties) -> Result<(), PropertyProblem>,
    ) -> Result<()> {
        write(self.properties).map_err(|problem| unwritable(self.table, self.keys, &name.to_string(), problem))
    }
}

/// Returns the error for a value that no property can hold, in the row with these keys.
#[cold]
pub fn unwritable(
    table: &str,
    RowKeys { partition_key, row_key }: &RowKeys,
    name: &str,
    problem: PropertyProblem,
) -> table_store::Error {
    let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
    property_error(RowId { table: table.to_owned(), partition_key, row_key }, name, problem, false)
}

/// Returns the error for a stored property that does not fit its field.
#[cold]
pub fn misfit(row: RowId, name: &str, problem: PropertyProblem) -> table_store::Error {
    property_error(row, name, problem, true)
}

fn property_error(
    row: RowId,
    name: &str,
    PropertyProblem { expected, found }: PropertyProblem,
    stored: bool,
) -> table_store::Error {
    Box::new(PropertyError::new(row, name.to_owned(), expected.into_owned(), found, stored)).into()
}

/// Reader from which the derived code reads an entity.
pub struct EntityReader<'a> {
    context: RowContext<'a>,
    /// Properties after the one that was found last. Rows mostly store properties in the order of the fields.
    rest: PropertiesRef<'a>,
    /// Number of encoded bytes of the properties that were found. If these are all bytes of the row, the row has no
    /// other properties.
    found: usize,
    /// True if a property may be read more than once.
    repeats: bool,
    /// The index whose row it is, if it is not the entity's own.
    index: Option<&'static LayoutInfo>,
}

impl<'a> EntityReader<'a> {
    /// Creates a reader of a row.
    #[inline]
    pub fn new(table: &'a str, row: &'a RowRef<'a>) -> Self {
        Self { context: RowContext { table, row }, rest: row.properties, found: 0, repeats: false, index: None }
    }

    /// Calls `read` with a reader of properties that belong to no row.
    pub fn of_properties<T>(properties: PropertiesRef<'_>, read: impl FnOnce(&mut EntityReader<'_>) -> T) -> T {
        let etag = ETag::from(Ticks::UNIX_EPOCH);
        let row = RowRef { partition_key: "", row_key: "", etag: &etag, timestamp: Ticks::UNIX_EPOCH, properties };
        read(&mut EntityReader::new("", &row))
    }

    /// Returns a reader of a row of an index, which has the properties that its keys hold.
    pub fn of_index(self, index: &'static LayoutInfo) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Returns where the row has the properties of a field; `None` if it lacks what is around the field.
    pub fn seen(&self, field: PropertyInfo, within: &Within) -> Option<Seen<'a>> {
        let row = self.context.row.properties;
        // An entity has the row in the index only if it has the value that the keys hold.
        if self.index.is_some_and(|index| index.gives(&field)) {
            return Some(Seen::InRow(row));
        }
        within.seen(row)
    }

    /// Checks whether the row has a value of the type with the parts `own`, whose names in the entity are those of `parts`.
    pub(crate) fn has_value(&self, name: &str, parts: Parts, own: Parts) -> Result<bool> {
        for part in decisive(parts, own) {
            if self.context.has_part(name, part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the partition key in a layout, to be read part by part.
    #[inline]
    pub fn partition_key(&self, layout: &'static LayoutInfo) -> Result<KeyReader<'a>> {
        let key = self.context.row.partition_key;
        KeyReader::new(layout, &layout.partition_prefix, &layout.partition, key, self.context)
    }

    /// Returns the row key in a layout, to be read part by part.
    #[inline]
    pub fn row_key(&self, layout: &'static LayoutInfo) -> Result<KeyReader<'a>> {
        KeyReader::new(layout, &layout.row_prefix, &layout.row, self.context.row.row_key, self.context)
    }

    /// Returns a text field of an entity from the key that holds it whole. The text is borrowed unless it has escapes.
    pub fn key_text(&self, layout: &'static LayoutInfo, field: &str) -> Result<Cow<'a, str>> {
        let place = |parts: &[PartInfo]| parts.iter().position(|part| part.field == field && part.holds_text());
        let (mut key, before) = match place(&layout.row) {
            Some(before) => (self.row_key(layout)?, before),
            None => (self.partition_key(layout)?, place(&layout.partition).unwrap_or(layout.partition.len())),
        };
        key.skip_to(before)?;
        key.text()
    }

    /// Reads a field, which is mostly stored with the type `ty`. Most rows store the properties in the order of the
    /// fields, so the next one is tried first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(
        clippy::inline_always,
        reason = "then the name and the type are constants, and the value stays in registers"
    )]
    pub fn property<T>(
        &mut self,
        name: PropertyName<'static>,
        ty: PropertyType,
        read: impl FnOnce(Option<ValueRef<'a>>) -> Result<T, PropertyProblem>,
    ) -> Result<T> {
        let before = self.rest.as_bytes().len();
        let value = match self.rest.next_if(name, ty) {
            None => self.search(name)?,
            value => {
                self.found += before - self.rest.as_bytes().len();
                value
            }
        };
        match read(value) {
            Ok(value) => Ok(value),
            Err(problem) => Err(misread(self.context, name, problem)),
        }
    }

    /// Returns the error for a property that does not fit its field.
    #[cold]
    pub(crate) fn misfit(&self, name: PropertyName<'_>, problem: PropertyProblem) -> table_store::Error {
        misread(self.context, name, problem)
    }

    /// Returns the value of a property that is not the next one, or has another type.
    #[inline(never)]
    fn search(&mut self, name: PropertyName<'_>) -> Result<Option<ValueRef<'a>>> {
        let found = match self.rest.seek_and_count(name, &mut self.found) {
            // A property that is read again is not counted again.
            Ok(None) if self.repeats => {
                let mut all = self.context.row.properties;
                all.seek_and_count(name, &mut 0)
            }
            // Continues at the first property, up to where this search began, if a property before that was not read.
            Ok(None) if !self.is_read_up_to_rest() => {
                self.context.row.properties.before(self.rest).seek_and_count(name, &mut self.found)
            }
            found => found,
        };
        found.map_err(|damage| self.damaged(damage))
    }

    /// Lets fields be read that share properties, such as a struct and one of its fields.
    pub fn repeat(&mut self) {
        self.repeats = true;
    }

    #[cold]
    fn damaged(&self, damage: DamagedProperties) -> table_store::Error {
        damaged(self.context.table, *self.context.row, damage)
    }

    /// Checks the remaining properties for damage, because no field has read them.
    pub fn finish(&mut self) -> Result<()> {
        self.rest.skip_all().map_err(|damage| self.damaged(damage))
    }

    /// Marks a property as read.
    pub(crate) fn skip(&mut self, name: &str) -> Result<()> {
        self.search(name.into()).map(drop)
    }

    /// Checks whether every property of the row was read.
    pub(crate) fn is_read_whole(&self) -> bool {
        self.found == self.context.row.properties.as_bytes().len()
    }

    /// Returns properties among which those that were not read are.
    pub fn unread(&self) -> PropertiesRef<'a> {
        if self.is_read_up_to_rest() { self.rest } else { self.context.row.properties }
    }

    /// Checks whether all properties before `rest` were read.
    #[inline]
    fn is_read_up_to_rest(&self) -> bool {
        self.found + self.rest.as_bytes().len() == self.context.row.properties.as_bytes().len()
    }

    /// Returns the properties that are not known.
    #[cold]
    pub(crate) fn unknown(&self, is_known: &mut dyn FnMut(&str, ValueRef<'_>) -> bool) -> Result<Properties> {
        let (mut rest, mut unknown) = (self.context.row.properties, Properties::default());
        while let Some((name, value)) = rest.try_next().map_err(|damage| self.damaged(damage))? {
            if !is_known(name, value) {
                unknown.push(name, value);
            }
        }
        Ok(unknown)
    }
}

impl RowContext<'_> {
    fn has_part(self, name: &str, part: &PropertyInfo) -> Result<bool> {
        let mut properties = self.row.properties;
        let found = properties.seek_and_count(PropertyName { outer: name, inner: part.name }, &mut 0);
        found.map(|found| found.is_some()).map_err(|damage| damaged(self.table, *self.row, damage))
    }
}

#[cold]
fn misread(
    RowContext { table, row }: RowContext<'_>,
    name: PropertyName<'_>,
    problem: PropertyProblem,
) -> table_store::Error {
    misfit(row.id(table), &name.to_string(), problem)
}

/// Returns the error for a row with damaged properties.
#[cold]
pub fn damaged(table: &str, row: RowRef<'_>, damage: DamagedProperties) -> table_store::Error {
    table_store::Error::damaged(row.id(table), damage)
}

/// Returns the value of a property of a row.
///
/// # Errors
/// The properties are damaged.
#[inline]
pub fn seek<'a>(table: &str, row: RowRef<'a>, name: &str) -> Result<Option<ValueRef<'a>>> {
    let mut properties = row.properties;
    properties.seek(name).map_err(|damage| damaged(table, row, damage))
}

/// Checks whether the error is about the content of one row and says nothing about others.
pub const fn is_unreadable(error: &table_store::Error) -> bool {
    use table_store::Error;
    matches!(
        error,
        Error::Key(_) | Error::Property(_) | Error::UnknownProperties(_) | Error::Version(_) | Error::Damaged { .. }
    )
}
