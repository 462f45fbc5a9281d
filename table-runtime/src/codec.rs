//! Reading and writing of rows, property by property and key part by key part.

mod owner;

pub(crate) use owner::{OwnerOf, index_value};
pub use owner::{OwnerReader, point};

use crate::{
    DamagedProperties, LayoutInfo, PartInfo, Properties, PropertiesRef, PropertyError, Result, RowId, RowRef, ValueRef,
    error::PropertyProblem,
    key::{KeyReader, RowContext},
    row::RowKeys,
};

/// Writer to which the derived code passes an entity's properties.
pub struct PropertyWriter<'a> {
    table: &'static str,
    keys: &'a RowKeys,
    properties: &'a mut Properties,
}

impl<'a> PropertyWriter<'a> {
    pub(crate) fn new(table: &'static str, keys: &'a RowKeys, properties: &'a mut Properties) -> Self {
        Self { table, keys, properties }
    }

    /// Writes a field.
    #[inline]
    pub(crate) fn write(
        &mut self,
        name: &'static str,
        write: impl FnOnce(&mut Properties) -> Result<(), PropertyProblem>,
    ) -> Result<()> {
        write(self.properties).map_err(|problem| unwritable(self.table, self.keys, name, problem))
    }
}

/// Returns the error for a value that no property can hold, in the row with these keys.
#[cold]
pub(crate) fn unwritable(
    table: &str,
    RowKeys { partition_key, row_key }: &RowKeys,
    name: &str,
    problem: PropertyProblem,
) -> crate::Error {
    let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
    misfit(RowId { table: table.to_owned(), partition_key, row_key }, name, problem)
}

/// Returns the error for a field and a property that do not fit each other.
#[cold]
pub(crate) fn misfit(row: RowId, name: &str, PropertyProblem { expected, found }: PropertyProblem) -> crate::Error {
    Box::new(PropertyError { row, property: name.to_owned(), expected: expected.into_owned(), found }).into()
}

/// Reader from which the derived code reads an entity.
pub struct RowReader<'a> {
    layout: &'static LayoutInfo,
    table: &'a str,
    row: RowRef<'a>,
    /// Properties after the one that was found last. Rows mostly store properties in the order of the fields.
    rest: PropertiesRef<'a>,
    /// Number of encoded bytes of the properties that were found. If these are all bytes of the row, the row has no
    /// other properties.
    found: usize,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(layout: &'static LayoutInfo, table: &'a str, row: RowRef<'a>) -> Self {
        Self { layout, table, row, rest: row.properties, found: 0 }
    }

    /// Returns the partition key, to be read part by part.
    #[inline]
    pub fn partition_key(&self) -> Result<KeyReader<'a>> {
        self.key(self.layout.partition_prefix, self.layout.partition, self.row.partition_key)
    }

    /// Returns the row key, to be read part by part.
    #[inline]
    pub fn row_key(&self) -> Result<KeyReader<'a>> {
        self.key(self.layout.row_prefix, self.layout.row, self.row.row_key)
    }

    #[inline]
    fn key(&self, prefix: &'static str, parts: &'static [PartInfo], key: &'a str) -> Result<KeyReader<'a>> {
        KeyReader::new(self.layout, prefix, parts, key, RowContext { table: self.table, row: self.row })
    }

    /// Reads a field.
    #[inline]
    pub(crate) fn property<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Option<ValueRef<'_>>) -> Result<T, PropertyProblem>,
    ) -> Result<T> {
        read(self.find(name)?).map_err(|problem| self.error(name, problem))
    }

    #[cold]
    fn error(&self, name: &str, problem: PropertyProblem) -> crate::Error {
        misfit(self.row.id(self.table), name, problem)
    }

    fn find(&mut self, name: &str) -> Result<Option<ValueRef<'a>>> {
        let found = match self.rest.seek_and_count(name, &mut self.found) {
            // Continues at the first property, up to where this search began.
            Ok(None) => self.row.properties.before(self.rest).seek_and_count(name, &mut self.found),
            found => found,
        };
        found.map_err(|damage| damaged(self.table, self.row, damage))
    }

    /// Checks the remaining properties for damage, because no field has read them.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.rest.skip_all().map_err(|damage| damaged(self.table, self.row, damage))
    }

    /// Marks a property as read.
    pub(crate) fn skip(&mut self, name: &str) -> Result<()> {
        self.find(name).map(drop)
    }

    /// Checks whether every property of the row was read.
    pub(crate) fn is_read_whole(&self) -> bool {
        self.found == self.row.properties.as_bytes().len()
    }

    /// Returns properties among which those that were not read are.
    pub(crate) fn unread(&self) -> PropertiesRef<'a> {
        let is_tail = self.found + self.rest.as_bytes().len() == self.row.properties.as_bytes().len();
        if is_tail { self.rest } else { self.row.properties }
    }

    /// Returns the properties that are not known.
    #[cold]
    pub(crate) fn unknown(&self, is_known: &dyn Fn(&str) -> bool) -> Result<Properties> {
        let (mut rest, mut unknown) = (self.row.properties, Properties::default());
        while let Some((name, value)) = rest.try_next().map_err(|damage| damaged(self.table, self.row, damage))? {
            if !is_known(name) {
                unknown.push(name, value);
            }
        }
        Ok(unknown)
    }
}

#[cold]
pub(crate) fn damaged(table: &str, row: RowRef<'_>, damage: DamagedProperties) -> crate::Error {
    crate::Error::Damaged { row: Box::new(row.id(table)), damage }
}
