//! Whether an index may be read: what the table `TableLayouts` says of it.
//!
//! There is a row for each index of an entity: its partition key is the entity's table, its row key the index's name.
//! `Layout` is the index's layout as JSON, `State` is `building` or `ready`.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use crate::{
    Error, LayoutChangedError, LayoutInfo, Properties, Result, Row, TableEntity, Tables, ValueRef,
    backend::{Action, Group, Operation},
    limits,
};

/// The table of layouts.
pub(crate) const LAYOUTS: &str = "TableLayouts";
const LAYOUT: &str = "Layout";
const STATE: &str = "State";
const BUILDING: &str = "building";
const READY: &str = "ready";

/// The indexes that are known to be ready. That changes only where one was read that nothing was recorded of.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<HashSet<(&'static str, &'static str)>>);

impl Ready {
    fn has(&self, table: &'static str, index: &'static str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&(table, index))
    }

    fn add(&self, table: &'static str, index: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((table, index));
    }

    fn remove(&self, table: &'static str, index: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(table, index));
    }
}

impl Tables {
    /// Whether every entity has its rows in the index of this layout, so that it may be read: asked before each query
    /// over an index. It costs a request where `create` was not called and while the index is built.
    pub(crate) async fn index_is_ready<E: TableEntity>(&self, layout: usize) -> Result<()> {
        let (table, index) = (E::LAYOUTS[0].table, E::LAYOUTS[layout].name);
        if self.ready().has(table, index) {
            return Ok(());
        }
        match self.record(table, index).await? {
            Some(record) if is(&record, BUILDING) => {
                Err(Error::IndexBuilding { table: table.to_owned(), index: index.to_owned() })
            }
            // Where nothing is recorded, nobody added an index to rows that were there.
            _ => {
                self.ready().add(table, index);
                Ok(())
            }
        }
    }

    async fn record(&self, table: &str, index: &str) -> Result<Option<Row>> {
        match self.backend().get(LAYOUTS, table, index, None).await {
            Err(Error::TableNotFound(_)) => Ok(None),
            record => record,
        }
    }

    /// Records the indexes of an entity that are not recorded yet: as ready where there is no entity, else as building.
    ///
    /// `is_new` says that the entity's table was made just now.
    pub(crate) async fn record_indexes<E: TableEntity>(&self, is_new: bool) -> Result<()> {
        let table = E::LAYOUTS[0].table;
        if E::LAYOUTS.len() > 1 {
            self.backend().create_table(LAYOUTS).await?;
        }
        for layout in E::LAYOUTS.iter().skip(1) {
            let recorded = self.record(table, layout.name).await?;
            let record = if recorded.is_some() { recorded } else { self.record_new::<E>(layout, is_new).await? };
            let Some(record) = record else { continue };
            check(table, layout, &record)?;
            self.note(table, layout.name, is(&record, READY));
        }
        Ok(())
    }

    /// Records an index for the first time; what others recorded meanwhile, if they did.
    async fn record_new<E: TableEntity>(&self, layout: &'static LayoutInfo, is_new: bool) -> Result<Option<Row>> {
        let table = E::LAYOUTS[0].table;
        let is_empty = is_new || self.is_empty::<E>().await?;
        let state = if is_empty { READY } else { BUILDING };
        match self.write_record(table, layout, state, Action::Insert).await {
            Ok(()) => {
                self.note(table, layout.name, is_empty);
                Ok(None)
            }
            Err(Error::AlreadyExists(_)) => self.record(table, layout.name).await,
            Err(error) => Err(error),
        }
    }

    fn note(&self, table: &'static str, index: &'static str, is_ready: bool) {
        if is_ready {
            self.ready().add(table, index);
        } else {
            self.ready().remove(table, index);
        }
    }

    /// Whether the table has no entity of this type: those of other kinds may share it.
    async fn is_empty<E: TableEntity>(&self) -> Result<bool> {
        let schema = super::Schema::of::<E>();
        // Without kinds, the first row says it.
        let page = if E::KIND.is_some() { limits::PAGE } else { 1 };
        let mut sweep = super::sweep::Sweep::new(self.backend().clone(), schema, [0]).of_pages(page);
        while let Some(swept) = sweep.next().await? {
            // What does not fit the struct is there all the same.
            if swept.rows.iter().any(|row| !matches!(schema.read(row.to_row()), Ok(None))) {
                return Ok(false);
            }
            super::breathe().await;
        }
        Ok(true)
    }

    /// Takes note that an index is being built, unless it is ready already.
    pub(crate) async fn begin_index(&self, table: &'static str, layout: &'static LayoutInfo) -> Result<()> {
        if let Some(record) = self.record(table, layout.name).await? {
            return check(table, layout, &record);
        }
        self.backend().create_table(LAYOUTS).await?;
        self.write_record(table, layout, BUILDING, Action::Upsert).await?;
        self.ready().remove(table, layout.name);
        Ok(())
    }

    /// Takes note that an index is ready.
    pub(crate) async fn complete_index(&self, table: &'static str, layout: &'static LayoutInfo) -> Result<()> {
        self.write_record(table, layout, READY, Action::Upsert).await?;
        self.ready().add(table, layout.name);
        Ok(())
    }

    async fn write_record(
        &self,
        table: &'static str,
        layout: &'static LayoutInfo,
        state: &str,
        action: fn(Properties) -> Action,
    ) -> Result<()> {
        let mut properties = Properties::default();
        properties.push(LAYOUT, ValueRef::String(&text(layout)));
        properties.push(STATE, ValueRef::String(state));
        let operations = vec![Operation { row_key: layout.name.to_owned(), action: action(properties) }];
        let group = Group { table: LAYOUTS.into(), partition_key: table.to_owned(), operations };
        limits::check_group(&group)?;
        self.backend().execute(&group).await.map(drop)
    }
}

fn is(record: &Row, state: &str) -> bool {
    record.properties.get(STATE) == Some(ValueRef::String(state))
}

fn text(layout: &LayoutInfo) -> String {
    // It holds text, numbers and bools only.
    serde_json::to_string(layout).unwrap_or_default()
}

/// A changed index does not find what is stored.
fn check(table: &'static str, layout: &'static LayoutInfo, record: &Row) -> Result<()> {
    let now = text(layout);
    match record.properties.get(LAYOUT) {
        Some(ValueRef::String(stored)) if stored != now => {
            let (table, stored) = (table.to_owned(), stored.to_owned());
            Err(Box::new(LayoutChangedError { table, layout: layout.name, stored, now }).into())
        }
        _ => Ok(()),
    }
}
