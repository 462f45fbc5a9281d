//! What a program looks up in the store, beside the catalog.

use table_model::{LayoutInfo, unstable::layout::KeyPattern};
use table_store::{Result, Row, RowRef, backend::BackendExt, unstable::limits};

use super::rows::{EntityRows, has_rows, has_table};
use crate::{
    admin::scan::{ScannedPage, SideBySide, sections},
    client::tables::{Catalog, Tables},
    write::index::Schema,
};

/// What a comparison may have to know about the rows of the entity.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Whether the table has no entity; `None` before it was looked up.
    pub has_no_entity: Option<bool>,
    /// The first entity of the table.
    pub first: Found<Row>,
    /// A row at the place to which a migration moves entities.
    pub in_the_way: Found<String>,
    /// The tables of unrecorded indexes that have rows; `None` before they were looked up.
    pub filled: Option<Vec<&'static str>>,
}

/// The result of a look.
#[derive(Clone, Debug)]
pub enum Found<T> {
    NotLooked,
    Nothing,
    One(T),
}

impl<T> From<Option<T>> for Found<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Nothing, Self::One)
    }
}

/// What a comparison has to know first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    ForEntities,
    AtFirst,
    AtPlace,
    AtIndexes,
}

impl Looked {
    /// Before anything was looked up.
    pub const NOTHING: &Self =
        &Self { has_no_entity: None, first: Found::NotLooked, in_the_way: Found::NotLooked, filled: None };

    /// Looks up what a comparison has to know. Missing tables have no rows.
    pub async fn look(
        &mut self,
        look: Look,
        tables: &Tables,
        (schema, catalog): (Schema, &Catalog),
        absent: &AbsentTables,
    ) -> Result<()> {
        match look {
            Look::ForEntities => self.has_no_entity = Some(has_no_entity(schema, tables).await?),
            Look::AtFirst => self.first = first_entity(schema, tables, catalog).await?.into(),
            Look::AtPlace => self.in_the_way = row_in_the_way(schema, tables, catalog, &absent.missing).await?.into(),
            Look::AtIndexes => {
                let mut filled = Vec::new();
                for layout in schema.layouts.iter().filter(|layout| absent.may_have_rows(schema, catalog, layout)) {
                    if !filled.contains(&&*layout.table) && has_rows(tables, &layout.table).await? {
                        filled.push(&layout.table);
                    }
                }
                self.filled = Some(filled);
            }
        }
        Ok(())
    }
}

/// The tables of an entity that a program has not found.
#[derive(Debug, Default)]
pub struct AbsentTables {
    /// Tables that no record named. The program has made them.
    pub made: Vec<&'static str>,
    /// Tables that a record names, and that are missing.
    pub missing: Vec<&'static str>,
}

impl AbsentTables {
    pub const NONE: &Self = &Self { made: Vec::new(), missing: Vec::new() };

    /// Looks for the tables of the entity that have no slices. Makes those that no record names.
    pub async fn find(&mut self, tables: &Tables, schema: Schema, catalog: &Catalog) -> Result<()> {
        self.missing.clear();
        for (at, layout) in schema.layouts.iter().enumerate() {
            let is_first = !schema.layouts[..at].iter().any(|before| before.table == layout.table);
            if layout.slice.is_some() || !is_first {
                continue;
            }
            let is_recorded = catalog
                .records
                .iter()
                .any(|record| record.table.eq_ignore_ascii_case(&layout.table) || record.is_of_table(&layout.table));
            if !is_recorded {
                if tables.backend().create_table(&layout.table).await? {
                    self.made.push(&layout.table);
                }
            } else if !has_table(tables, &layout.table).await? {
                self.missing.push(&layout.table);
            }
        }
        Ok(())
    }

    /// Checks whether the table of an index was there before this program, although no record names it: it may have rows
    /// that are older than all records.
    pub fn may_have_rows(&self, schema: Schema, catalog: &Catalog, index: &LayoutInfo) -> bool {
        !index.table.eq_ignore_ascii_case(schema.table())
            && !self.is_new(&index.table)
            && !catalog.records.iter().any(|record| record.table.eq_ignore_ascii_case(&index.table))
    }

    /// Checks whether the table did not exist before this program.
    pub fn is_new(&self, table: &str) -> bool {
        self.is_made(table) || self.is_missing(table)
    }

    fn is_made(&self, table: &str) -> bool {
        self.made.iter().any(|made| made.eq_ignore_ascii_case(table))
    }

    pub fn is_missing(&self, table: &str) -> bool {
        self.missing.iter().any(|missing| missing.eq_ignore_ascii_case(table))
    }
}

/// Returns a scan of these layouts, with pages of so many rows.
async fn scan(
    schema: Schema,
    tables: &Tables,
    layouts: impl IntoIterator<Item = usize>,
    page: u32,
) -> Result<SideBySide> {
    let mut sections = sections(tables.backend(), schema.layouts, layouts).await?;
    for section in &mut sections {
        section.scan.page = page;
    }
    Ok(SideBySide::new(tables.backend().clone(), sections, 1))
}

/// Checks whether the entity's table has no entity of its kind. Entities of other kinds may share the table.
async fn has_no_entity(schema: Schema, tables: &Tables) -> Result<bool> {
    // Without a kind and a shape, every row is an entity.
    let page = if schema.kind().is_some() || schema.shape().is_some() { limits::PAGE } else { 1 };
    // A row that does not fit the struct counts as an entity.
    let is_entity = |row: &RowRef<'_>| !matches!(schema.read(row.to_row()), Ok(None));
    let found = scan(schema, tables, [0], page).await?.find(|page| page.rows().find(is_entity).map(drop)).await?;
    Ok(found.is_none())
}

/// Returns the first entity of the table, among the first rows that a request returns.
async fn first_entity(schema: Schema, tables: &Tables, catalog: &Catalog) -> Result<Option<Row>> {
    let entities = EntityRows::of(schema, catalog);
    let first = |page: ScannedPage| Some(page.rows().find(|row| entities.has(*row)).map(RowRef::to_row));
    Ok(scan(schema, tables, [0], limits::PAGE).await?.find(first).await?.flatten())
}

/// Returns a row that is located where the rows of the entity would be.
async fn row_in_the_way(
    schema: Schema,
    tables: &Tables,
    catalog: &Catalog,
    missing: &[&'static str],
) -> Result<Option<String>> {
    let entities = EntityRows::of(schema, catalog);
    let existing = (0..schema.layouts.len()).filter(|layout| !missing.contains(&&*schema.layouts[*layout].table));
    let own = |page: ScannedPage| {
        let pattern = KeyPattern::of(&schema.layouts[page.layout]);
        let is_own = |row: &RowRef<'_>| {
            pattern.includes(row.partition_key, row.row_key) && (page.layout > 0 || entities.has(*row))
        };
        page.rows().find(is_own).map(|row| row.id(&page.table).to_string())
    };
    scan(schema, tables, existing, limits::PAGE).await?.find(own).await
}
