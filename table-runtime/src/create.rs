//! The layouts that a store's rows are written by: the table `TableLayouts`.
//!
//! There is a row for each layout of an entity. Its partition key is the table in which the layout's rows stand, so that
//! all that could meet there is recorded side by side; its row key is the entity's table, its kind, or the struct's name
//! where it has none, and the layout's name. `Layout` is the layout as JSON, `State` says of an index whether it may be
//! read.

use serde_json::Value;

use crate::{
    Error, Layout, LayoutChangedError, LayoutInfo, Result, RowsCollideError, Stored, TableEntity, Tables, Ticks,
    index::Schema,
    layout::{Fields, KeyPattern, are_alike, written},
    limits,
    tables::{LayoutId, Record, State},
};

/// What is recorded of a layout.
enum Known {
    Own(State),
    /// The same layout of a struct by another name.
    Renamed(State),
    Not,
}

impl LayoutId {
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
            } else if !is_same && KeyPattern::recorded(&stored).may_collide(KeyPattern::recorded(&now)) {
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
        let LayoutId { table, entity_table, entity: own, name } = LayoutId::of(entity, layout);
        // The service takes no notice of case in the names of tables.
        let [table, entity_table] = [table, entity_table].map(str::to_ascii_lowercase);
        let (own, name) = (own.to_owned(), name.to_owned());
        Self { table, entity_table, entity: own, name, layout: written(entity, layout).to_string(), state }
    }
}

impl Tables {
    /// Makes every table that the entity needs; those that exist stay as they are. Slices are made by the writes to them.
    ///
    /// The entity's keys and indexes are recorded in the table `TableLayouts`, and a program by whose layouts stored rows
    /// would not be found is refused. An index that is new to a table with rows is recorded as building, and refused by
    /// queries until [`backfill`](Self::backfill) has built it. An entity is known there by its kind, or else by the
    /// struct's name or the same primary key; fields may be renamed. Records of a table that was deleted are forgotten
    /// when it is made anew.
    ///
    /// # Errors
    /// [`Error::LayoutChanged`](crate::Error::LayoutChanged) for keys or an index that are recorded with another layout,
    /// [`Error::RowsCollide`](crate::Error::RowsCollide) for an index whose rows could be taken for those of another entity,
    /// [`Error::Limit`](crate::Error::Limit) for a name that no table can have,
    /// [`Error::TableBeingDeleted`](crate::Error::TableBeingDeleted), and what the store says.
    pub async fn create<E: TableEntity>(&self) -> Result<()> {
        let mut created = Vec::new();
        for (at, layout) in E::LAYOUTS.iter().enumerate() {
            check_name(layout)?;
            if layout.slice.is_some() {
                continue;
            }
            let made = E::LAYOUTS[..at].iter().any(|before| before.table == layout.table);
            if !made {
                created.extend(self.backend().create_table(layout.table).await?.then_some(layout.table));
            }
        }
        self.record_layouts(Schema::of::<E>(), &created).await
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
                self.forget_deleted(schema, table, created.contains(table), &mut records).await?;
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
    async fn forget_deleted(
        &self,
        schema: Schema,
        table: &'static str,
        is_new: bool,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let entity = schema.describe();
        let fits = |record: &Record| {
            let mut layouts = entity.layouts.iter().filter(|layout| layout.table == table);
            layouts
                .all(|layout| LayoutId::of(&entity, layout).find(&entity, layout, std::slice::from_ref(record)).is_ok())
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
    ) -> Result<Vec<(LayoutId, Record)>> {
        let entity = schema.describe();
        let mut new = Vec::new();
        for layout in entity.layouts.iter().filter(|layout| layout.table == table) {
            let id = LayoutId::of(&entity, layout);
            let state = match id.find(&entity, layout, records)? {
                // Nothing is left to build.
                Known::Own(State::Building) if *is_empty == Some(true) => {
                    self.record_state(schema, layout, State::Ready).await?;
                    continue;
                }
                Known::Own(state) => {
                    self.ready().remember(id, state);
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
    async fn record(&self, new: &[Vec<(LayoutId, Record)>]) -> Result<bool> {
        for of_table in new.iter().filter(|of_table| !of_table.is_empty()) {
            let begun = of_table.iter().fold(self.transaction(), |begun, (_, record)| begun.insert(record));
            match begun.commit().await {
                Err(Error::AlreadyExists(_)) => return Ok(false),
                Err(error) => return Err(error),
                Ok(_) => of_table.iter().for_each(|(id, record)| self.ready().remember(*id, record.state)),
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
        match LayoutId::of(&entity, layout).find(&entity, layout, &self.records(layout.table).await?)? {
            Known::Own(_) => Ok(()),
            Known::Renamed(_) | Known::Not => self.record_state(schema, layout, State::Building).await,
        }
    }

    /// Takes note that an index is ready.
    pub(crate) async fn complete_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<()> {
        self.record_state(schema, layout, State::Ready).await
    }

    async fn record_state(&self, schema: Schema, layout: &'static LayoutInfo, state: State) -> Result<()> {
        let entity = schema.describe();
        self.upsert(&Record::new(&entity, layout, state)).await?;
        self.ready().remember(LayoutId::of(&entity, layout), state);
        Ok(())
    }
}

/// Checks that a program may have this table, or tables of this name with the digits of a slice.
pub(crate) fn check_name(layout: &LayoutInfo) -> Result<()> {
    limits::check_not_reserved(layout.table)?;
    let name = layout.slice.as_ref().map(|slice| slice.at(layout.table, Ticks::UNIX_EPOCH).table);
    limits::check_table_name(name.as_deref().unwrap_or(layout.table))
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
