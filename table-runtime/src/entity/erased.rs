//! Entities without their types.
//!
//! Code that handles entities is compiled once and not for each entity: a generic function only passes the entity as a
//! [`WriteEntity`], or its description, to a function that is not generic.

use super::TableEntity;
use crate::{
    Layout, LayoutInfo, PropertyInfo, Result, RowRef,
    codec::{OwnerOf, OwnerReader, PropertyWriter},
    key::{KeyProblem, KeyWriter},
    row::RowKeys,
};

/// Constants of an entity's type.
#[derive(Debug)]
pub(crate) struct EntityInfo {
    /// Name in the catalog.
    pub(crate) name: &'static str,
    /// Name of the struct, or of `#[table(entity = "…")]`, without regard to a kind.
    pub(crate) struct_name: &'static str,
    /// Earlier name in the catalog.
    pub(crate) was: Option<&'static str>,
    pub(crate) layouts: &'static [LayoutInfo],
    pub(crate) properties: &'static [PropertyInfo],
    pub(crate) kind: Option<&'static str>,
    pub(crate) write_id: bool,
    pub(crate) separator: Option<char>,
    /// Version of the rows that are written.
    pub(crate) version: u32,
    pub(crate) deny_unknown: bool,
    owner_part: fn(usize, &mut OwnerReader<'_>) -> Result<()>,
}

impl EntityInfo {
    /// Returns the description that `create` records.
    pub(crate) const fn layout(&self) -> Layout {
        Layout {
            entity: self.name,
            layouts: self.layouts,
            properties: self.properties,
            kind: self.kind,
            write_id: self.write_id,
            version: self.version,
            separator: self.separator,
        }
    }

    /// Returns the two keys of the entity to which a row of an index belongs.
    pub(crate) fn owner(&self, layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
        let (primary, index) = (&self.layouts[0], &self.layouts[layout]);
        OwnerOf { primary, index, separator: self.separator, part: self.owner_part }.keys(row)
    }
}

/// An entity's type with its description. Every entity is one.
pub(crate) trait Described {
    const INFO: &'static EntityInfo;
}

impl<E: TableEntity> Described for E {
    const INFO: &'static EntityInfo = &EntityInfo {
        name: match E::KIND {
            Some(kind) => kind,
            None => E::NAME,
        },
        struct_name: E::NAME,
        was: E::WAS,
        layouts: E::LAYOUTS,
        properties: E::PROPERTIES,
        kind: E::KIND,
        write_id: E::WRITE_ID,
        separator: E::SEPARATOR,
        version: E::VERSION,
        deny_unknown: E::DENY_UNKNOWN,
        owner_part: E::owner_part,
    };
}

/// An entity whose rows are written. Its functions are those of [`TableEntity`].
pub(crate) trait WriteEntity {
    fn info(&self) -> &'static EntityInfo;
    fn write_keys(&self, layout: usize, keys: &mut KeyWriter<'_>) -> Result<bool, KeyProblem>;
    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
    fn write_index_properties(&self, layout: usize, properties: &mut PropertyWriter<'_>) -> Result<()>;
}

impl<E: TableEntity> WriteEntity for E {
    fn info(&self) -> &'static EntityInfo {
        E::INFO
    }

    fn write_keys(&self, layout: usize, keys: &mut KeyWriter<'_>) -> Result<bool, KeyProblem> {
        self.keys(layout, keys)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.write(properties)
    }

    fn write_index_properties(&self, layout: usize, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.write_index(layout, properties)
    }
}
