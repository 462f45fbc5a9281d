//! The layouts that a store's rows are written by: the table `TableLayouts`.
//!
//! There is a row for each layout of an entity. Its partition key is the table in which the layout's rows stand, so that
//! all that could meet there is recorded side by side; its row key is the entity's table, its kind, or the struct's name
//! where it has none, and the layout's name. `Layout` is the layout as JSON, `State` says of an index whether it may be
//! read.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    change::{Fields, are_alike, written},
    meeting::Standing,
};
use crate::{
    Error, Layout, LayoutChangedError, LayoutInfo, Property, Result, RowsMeetError, Stored, TableEntity, Tables,
    index::Schema,
};

/// A layout that is recorded.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableLayouts", crate = crate)]
struct Record {
    #[partition_key]
    table: String,
    #[row_key]
    entity_table: String,
    #[row_key]
    entity: String,
    #[row_key]
    name: String,
    layout: String,
    state: State,
}

/// Whether every entity has its row in a layout.
#[derive(Property, Clone, Copy, Debug, PartialEq, Eq)]
#[table(crate = crate)]
enum State {
    Building,
    Ready,
}

/// What a record is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Id {
    table: &'static str,
    entity_table: &'static str,
    entity: &'static str,
    name: &'static str,
}

/// The indexes that are known to be ready: they stay so.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<HashSet<Id>>);

impl Ready {
    fn has(&self, id: Id) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    fn note(&self, id: Id, state: State) {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            State::Ready => ready.insert(id),
            State::Building => ready.remove(&id),
        };
    }
}

/// What is recorded of a layout.
enum Known {
    Own(State),
    /// The same layout of a struct by another name.
    Renamed(State),
    Not,
}

impl Id {
    fn of(entity: &Layout, layout: &'static LayoutInfo) -> Self {
        let entity_table = entity.layouts.first().map_or(layout.table, |primary| primary.table);
        Self { table: layout.table, entity_table, entity: entity.entity, name: layout.name }
    }

    /// Finds the layout among those of its table.
    ///
    /// # Errors
    /// By a changed layout, what is stored would not be found; and rows that meet others' would be taken for them.
    fn find(self, entity: &Layout, layout: &'static LayoutInfo, records: &[Record]) -> Result<Known> {
        let (fields, now) = (Fields::of(entity), written(entity, layout));
        let mut known = Known::Not;
        for record in records {
            let stored: Value = serde_json::from_str(&record.layout).unwrap_or_default();
            let of_this_table = record.entity_table == self.entity_table;
            let is_own = of_this_table && record.entity == self.entity;
            let has_name = of_this_table && record.name == self.name;
            let changes = fields.changes(&stored, &now);
            if has_name && changes.is_empty() {
                if is_own {
                    return Ok(Known::Own(record.state));
                }
                known = Known::Renamed(record.state);
            } else if has_name && (is_own || are_alike(&stored, &now)) {
                let (table, layout) = (self.entity_table.to_owned(), self.name);
                return Err(Box::new(LayoutChangedError { table, layout, changes: changes.join("; ") }).into());
            } else if !is_own && Standing::recorded(&stored).may_meet(Standing::recorded(&now)) {
                let (table, layout) = (self.table.to_owned(), self.name);
                let (entity, other_layout) = (record.entity.clone(), record.name.clone());
                return Err(Box::new(RowsMeetError { table, layout, entity, other_layout }).into());
            }
        }
        Ok(known)
    }
}

impl Record {
    fn new(entity: &Layout, layout: &'static LayoutInfo, state: State) -> Self {
        let Id { table, entity_table, entity: own, name } = Id::of(entity, layout);
        let [table, entity_table, own, name] = [table, entity_table, own, name].map(str::to_owned);
        Self { table, entity_table, entity: own, name, layout: written(entity, layout).to_string(), state }
    }
}

impl Tables {
    /// Whether every entity has its row in the index of this layout, so that it may be read: asked before each query
    /// over an index. It costs a request where `create` was not called and while the index is built.
    pub(crate) async fn index_is_ready<E: TableEntity>(&self, layout: usize) -> Result<()> {
        let id = Id::of(&E::layout(), &E::LAYOUTS[layout]);
        if self.ready().has(id) {
            return Ok(());
        }
        let record = match Record::key(id.table, id.entity_table, id.entity, id.name).get(self).await {
            Err(Error::TableNotFound(_)) => None,
            record => record?,
        };
        let (table, index) = (id.entity_table.to_owned(), id.name.to_owned());
        match record.map(|record| record.state) {
            Some(State::Ready) => self.ready().note(id, State::Ready),
            Some(State::Building) => return Err(Error::IndexBuilding { table, index }),
            // Rows may have been there before the index.
            None => return Err(Error::IndexNotRecorded { table, index }),
        }
        Ok(())
    }

    /// Records the layouts of an entity that are not recorded yet; an index as ready where there is no entity, else as
    /// building. Those that are recorded have to fit.
    ///
    /// `is_new` says that the entity's table was made just now.
    pub(crate) async fn record_layouts(&self, schema: Schema, is_new: bool) -> Result<()> {
        let entity = schema.describe();
        // Where there was no table of records, there are none to read.
        let has_records = !self.backend().create_table(Record::LAYOUTS[0].table).await?;
        let mut is_empty = is_new.then_some(true);
        for (at, LayoutInfo { table, .. }) in entity.layouts.iter().enumerate() {
            if !entity.layouts[..at].iter().any(|before| before.table == *table) {
                let records = if has_records { self.records(table).await? } else { Vec::new() };
                self.record_layouts_in(table, schema, records, &mut is_empty).await?;
            }
        }
        Ok(())
    }

    /// Records those whose rows stand in one table.
    async fn record_layouts_in(
        &self,
        table: &'static str,
        schema: Schema,
        mut records: Vec<Record>,
        is_empty: &mut Option<bool>,
    ) -> Result<()> {
        let entity = schema.describe();
        loop {
            let mut new = Vec::new();
            for layout in entity.layouts.iter().filter(|layout| layout.table == table) {
                let state = match Id::of(&entity, layout).find(&entity, layout, &records)? {
                    Known::Own(state) => {
                        self.ready().note(Id::of(&entity, layout), state);
                        continue;
                    }
                    Known::Renamed(state) => state,
                    Known::Not if layout.index.is_none() => State::Ready,
                    Known::Not => {
                        let no_entity = match *is_empty {
                            Some(is_empty) => is_empty,
                            None => schema.has_no_entity(self).await?,
                        };
                        *is_empty = Some(no_entity);
                        if no_entity { State::Ready } else { State::Building }
                    }
                };
                new.push((Id::of(&entity, layout), Record::new(&entity, layout, state)));
            }
            if new.is_empty() {
                return Ok(());
            }
            let begun = new.iter().fold(self.transaction(), |begun, (_, record)| begun.insert(record));
            match begun.commit().await {
                // Others recorded some of them meanwhile.
                Err(Error::AlreadyExists(_)) => records = self.records(table).await?,
                Err(error) => return Err(error),
                Ok(_) => {
                    for (id, record) in new {
                        self.ready().note(id, record.state);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// What is recorded of the layouts whose rows stand in a table.
    async fn records(&self, table: &str) -> Result<Vec<Record>> {
        let records = Record::by_key(table).all(self).await?;
        Ok(records.into_iter().map(Stored::into_inner).collect())
    }

    /// Takes note that an index is being built, unless something is recorded of it already.
    pub(crate) async fn begin_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<()> {
        let entity = schema.describe();
        self.backend().create_table(Record::LAYOUTS[0].table).await?;
        match Id::of(&entity, layout).find(&entity, layout, &self.records(layout.table).await?)? {
            Known::Own(_) => Ok(()),
            Known::Renamed(_) | Known::Not => self.note(schema, layout, State::Building).await,
        }
    }

    /// Takes note that an index is ready.
    pub(crate) async fn complete_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<()> {
        self.note(schema, layout, State::Ready).await
    }

    async fn note(&self, schema: Schema, layout: &'static LayoutInfo, state: State) -> Result<()> {
        let entity = schema.describe();
        self.upsert(&Record::new(&entity, layout, state)).await?;
        self.ready().note(Id::of(&entity, layout), state);
        Ok(())
    }
}
