//! Entities without their types.
//!
//! Code that handles entities is compiled once and not for each entity: a generic function only passes the entity as a
//! [`WriteEntity`], or its description, to a function that is not generic.

use std::ops::Deref;

use table_store::{Result, RowRef, error::KeyProblem, unstable::RowKeys};

use super::TableEntity;
use crate::{
    codec::{OwnerReader, PropertyWriter, owner_keys},
    key::KeyWriter,
    layout::{Layout, LayoutInfo, RowShape},
};

/// What is known of an entity's type. The derive writes it.
#[derive(Debug)]
pub struct EntityInfo {
    /// Description of how the entity is stored, which `create` records.
    pub layout: Layout,
    /// Name of the struct, or of `#[table(entity = "…")]`, without regard to a kind.
    pub struct_name: &'static str,
    /// Earlier name in the catalog.
    pub was: Option<&'static str>,
    /// `true` if readers skip rows of a newer version: `#[table(skip_newer)]`.
    pub skip_newer: bool,
    /// `true` if a row with properties that the struct does not know cannot be read: `#[table(deny_unknown)]`.
    pub deny_unknown: bool,
    /// The struct of `#[table(from = …)]`, which reads rows of older versions.
    pub older: Option<&'static Self>,
    /// Description of the rows of events, which lead to the entity as those of an index do, if writes record events.
    pub event_rows: Option<&'static LayoutInfo>,
    /// [`TableEntity::owner_part`].
    pub owner_part: fn(usize, &mut OwnerReader<'_>) -> Result<()>,
}

/// Calls [`TableEntity::owner_part`]. The derive names this function, because the compiler repeats the error of a struct that
/// cannot be shared for each function of the trait that is named.
pub fn owner_part<E: TableEntity>(part: usize, owner: &mut OwnerReader<'_>) -> Result<()> {
    E::owner_part(part, owner)
}

impl EntityInfo {
    /// Returns the description of a struct that the derive has refused.
    pub const fn fallback(struct_name: &'static str) -> Self {
        Self {
            layout: Layout::empty(struct_name),
            struct_name,
            was: None,
            skip_newer: false,
            deny_unknown: false,
            older: None,
            event_rows: None,
            owner_part: |_, _| Ok(()),
        }
    }

    /// Returns the shape of the entity's row keys, if the entity has no kind.
    pub const fn shape(&self) -> Option<RowShape> {
        if self.layout.kind().is_some() { None } else { RowShape::of(&self.layout.layouts[0]) }
    }

    /// Returns the two keys of the entity to which a row of an index belongs.
    pub fn owner(&self, layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
        let (primary, index) = (&self.layouts[0], &self.layouts[layout]);
        owner_keys(primary, index, self.owner_part, row)
    }

    /// Returns the two keys of the entity to which an event belongs; `None` if writes of the entity record none.
    pub fn owner_of_event(&self, row: RowRef<'_>) -> Result<Option<RowKeys>> {
        let owner = |rows: &'static LayoutInfo| {
            // The rest of the key has nothing of the entity's key.
            let row = RowRef { row_key: &rows.row_prefix, ..row };
            owner_keys(&self.layouts[0], rows, self.owner_part, row)
        };
        self.event_rows.map(owner).transpose()
    }
}

impl Deref for EntityInfo {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        &self.layout
    }
}

/// An entity whose rows are written. Its functions are those of [`TableEntity`].
pub trait WriteEntity {
    /// Returns the facts about the entity's type.
    fn info(&self) -> &'static EntityInfo;
    /// Calls [`TableEntity::encode_keys`].
    fn write_keys(&self, layout: usize, keys: &mut KeyWriter<'_>) -> Result<bool, KeyProblem>;
    /// Calls [`TableEntity::write`].
    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
    /// Calls [`TableEntity::write_index`].
    fn write_index_properties(&self, layout: usize, properties: &mut PropertyWriter<'_>) -> Result<()>;
}

impl<E: TableEntity> WriteEntity for E {
    fn info(&self) -> &'static EntityInfo {
        E::INFO
    }

    fn write_keys(&self, layout: usize, keys: &mut KeyWriter<'_>) -> Result<bool, KeyProblem> {
        self.encode_keys(layout, keys)
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.write(properties)
    }

    fn write_index_properties(&self, layout: usize, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.write_index(layout, properties)
    }
}
