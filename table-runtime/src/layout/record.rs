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
    Error, Layout, LayoutChangedError, LayoutInfo, Property, Result, RowsCollideError, Stored, TableEntity, Tables,
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
        let primary = entity.layouts.first().map(|primary| written(entity, primary));
        let mut known = Known::Not;
        for record in records {
            let stored: Value = serde_json::from_str(&record.layout).unwrap_or_default();
            let of_this_table = record.entity_table.eq_ignore_ascii_case(self.entity_table);
            let is_own = of_this_table && record.entity == self.entity;
            // A struct that was renamed has the same primary key.
            let is_same =
                is_own || of_this_table && primary.as_ref().is_some_and(|primary| fields.are_of(&stored, primary));
            let (has_name, changes) = (record.name == self.name, fields.changes(&stored, &now));
            if is_same && has_name && changes.is_empty() {
                known = match known {
                    Known::Own(state) => Known::Own(state),
                    _ if is_own => Known::Own(record.state),
                    _ => Known::Renamed(record.state),
                };
            } else if has_name && of_this_table && (is_same || layout.index.is_none() && are_alike(&stored, &now)) {
                let (table, entity, layout) = (self.entity_table.to_owned(), record.entity.clone(), self.name);
                let changes = changes.join("; ");
                return Err(Box::new(LayoutChangedError { table, entity, layout, changes }).into());
            } else if !is_same && Standing::recorded(&stored).may_meet(Standing::recorded(&now)) {
                let (table, layout) = (self.table.to_owned(), self.name);
                let (entity, other_layout) = (record.entity.clone(), record.name.clone());
                return Err(Box::new(RowsCollideError { table, layout, entity, other_layout }).into());
            }
        }
        Ok(known)
    }
}

impl Record {
    fn new(entity: &Layout, layout: &'static LayoutInfo, state: State) -> Self {
        let Id { table, entity_table, entity: own, name } = Id::of(entity, layout);
        // The service takes no notice of case in the names of tables.
        let [table, entity_table] = [table, entity_table].map(str::to_ascii_lowercase);
        let (own, name) = (own.to_owned(), name.to_owned());
        Self { table, entity_table, entity: own, name, layout: written(entity, layout).to_string(), state }
    }
}

impl Tables {
    /// Whether every entity has its row in the index of this layout, so that it may be read: asked before each query
    /// over an index. It costs a request where `create` was not called and while the index is built.
    pub(crate) async fn index_is_ready<E: TableEntity>(&self, layout: usize) -> Result<()> {
        let id = Id::of(&E::layout(), &E::LAYOUTS[layout]);
        let (table, index) = (id.entity_table.to_owned(), id.name.to_owned());
        match self.index_state(id).await? {
            Some(State::Ready) => Ok(()),
            Some(State::Building) => Err(Error::IndexBuilding { table, index }),
            // Rows may have been there before the index.
            None => Err(Error::IndexNotRecorded { table, index }),
        }
    }

    /// Checks whether the index is recorded as ready. Costs a request unless this handle knows that it is.
    pub(crate) async fn has_ready_index(&self, entity: &Layout, layout: &'static LayoutInfo) -> Result<bool> {
        Ok(self.index_state(Id::of(entity, layout)).await? == Some(State::Ready))
    }

    /// Returns the recorded state of an index; `None` if nothing is recorded.
    async fn index_state(&self, id: Id) -> Result<Option<State>> {
        if self.ready().has(id) {
            return Ok(Some(State::Ready));
        }
        let [table, entity_table] = [id.table, id.entity_table].map(str::to_ascii_lowercase);
        let record = match Record::key(&*table, &*entity_table, id.entity, id.name).get(self).await {
            Err(Error::TableNotFound(_)) => None,
            record => record?,
        };
        let state = record.map(|record| record.state);
        if state == Some(State::Ready) {
            self.ready().note(id, State::Ready);
        }
        Ok(state)
    }

    /// Records the layouts of an entity that are not recorded yet; an index as ready where there is no entity, else as
    /// building. Those that are recorded have to fit: before that is known of all of them, none is recorded.
    ///
    /// `created` are the tables that were made just now.
    pub(crate) async fn record_layouts(&self, schema: Schema, created: &[&'static str]) -> Result<()> {
        let entity = schema.describe();
        // Where there was no table of records, there are none to read.
        let mut has_records = !self.backend().create_table(Record::LAYOUTS[0].table).await?;
        let mut is_empty = created.contains(&schema.table()).then_some(true);
        loop {
            let mut new = Vec::new();
            for (at, LayoutInfo { table, .. }) in entity.layouts.iter().enumerate() {
                if entity.layouts[..at].iter().any(|before| before.table == *table) {
                    continue;
                }
                let mut records = if has_records { self.records(table).await? } else { Vec::new() };
                self.forget_gone(schema, table, created.contains(table), &mut records).await?;
                new.push(self.unrecorded(schema, table, &records, &mut is_empty).await?);
            }
            if self.record(&new).await? {
                return Ok(());
            }
            has_records = true;
        }
    }

    /// Removes the records that do not fit the entity, where the rows are gone of which they told: those of a table that
    /// was deleted and made anew, or of slices that were dropped.
    async fn forget_gone(
        &self,
        schema: Schema,
        table: &'static str,
        is_new: bool,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let entity = schema.describe();
        let fits = |record: &Record| {
            let mut layouts = entity.layouts.iter().filter(|layout| layout.table == table);
            layouts.all(|layout| Id::of(&entity, layout).find(&entity, layout, std::slice::from_ref(record)).is_ok())
        };
        if records.iter().all(fits) || !(is_new || self.has_no_slice(&entity).await?) {
            return Ok(());
        }
        for record in records.extract_if(.., |record| !fits(record)) {
            self.remove(Record::key(&*record.table, &*record.entity_table, &*record.entity, &*record.name)).await?;
        }
        Ok(())
    }

    /// Whether the entity has slices, of which there are none, of whatever length.
    async fn has_no_slice(&self, entity: &Layout) -> Result<bool> {
        let Some(LayoutInfo { table, slice: Some(_), .. }) = entity.layouts.first() else { return Ok(false) };
        let is_slice = |name: &String| {
            let digits = name.get(table.len()..).unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        Ok(!self.backend().list_tables(table).await?.iter().any(is_slice))
    }

    /// The records that are missing of those layouts whose rows stand in one table.
    async fn unrecorded(
        &self,
        schema: Schema,
        table: &'static str,
        records: &[Record],
        is_empty: &mut Option<bool>,
    ) -> Result<Vec<(Id, Record)>> {
        let entity = schema.describe();
        let mut new = Vec::new();
        for layout in entity.layouts.iter().filter(|layout| layout.table == table) {
            let id = Id::of(&entity, layout);
            let state = match id.find(&entity, layout, records)? {
                // Nothing is left to build.
                Known::Own(State::Building) if *is_empty == Some(true) => {
                    self.note(schema, layout, State::Ready).await?;
                    continue;
                }
                Known::Own(state) => {
                    self.ready().note(id, state);
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
            new.push((id, Record::new(&entity, layout, state)));
        }
        Ok(new)
    }

    /// Records these, those of each table in a transaction; `false` if others recorded some of them meanwhile.
    async fn record(&self, new: &[Vec<(Id, Record)>]) -> Result<bool> {
        for of_table in new.iter().filter(|of_table| !of_table.is_empty()) {
            let begun = of_table.iter().fold(self.transaction(), |begun, (_, record)| begun.insert(record));
            match begun.commit().await {
                Err(Error::AlreadyExists(_)) => return Ok(false),
                Err(error) => return Err(error),
                Ok(_) => of_table.iter().for_each(|(id, record)| self.ready().note(*id, record.state)),
            }
        }
        Ok(true)
    }

    /// What is recorded of the layouts whose rows stand in a table.
    async fn records(&self, table: &str) -> Result<Vec<Record>> {
        let records = Record::by_key(&*table.to_ascii_lowercase()).all(self).await?;
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

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use super::*;

    /// An entity that the derive of another crate refuses.
    #[derive(TableEntity)]
    #[table(name = "tableLAYOUTS", crate = crate)]
    struct Reserved {
        #[partition_key]
        #[row_key]
        id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "TableLayouts", slice = year(at), crate = crate)]
    struct Sliced {
        #[partition_key]
        #[row_key(time)]
        at: std::time::SystemTime,
    }

    #[tokio::test]
    async fn no_entity_is_created_among_the_records() -> Result<()> {
        let tables = Tables::in_memory()?;
        for created in [tables.create::<Reserved>().await, tables.create::<Sliced>().await] {
            let error = created.expect_err("the name is reserved");
            assert!(matches!(&error, Error::Limit(limit) if limit.limit.contains("TableLayouts")), "{error}");
        }
        assert_eq!(tables.backend().list_tables("").await?, [""; 0]);
        Ok(())
    }
}
