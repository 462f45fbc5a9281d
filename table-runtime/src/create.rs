//! Creation of tables, and the records of layouts in the table `TableLayouts`.
//!
//! The table has a row for each layout of an entity. Its partition key is the table that stores the layout's rows, so
//! that all layouts that could collide are recorded in one partition. Its row key consists of the entity's table, its
//! kind (or the struct's name if it has none) and the layout's name. `Layout` is the layout as JSON; `State` shows
//! whether an index may be read.

use serde_json::Value;

use crate::{
    Error, Layout, LayoutChangedError, LayoutInfo, Result, RowsCollideError, Stored, TableEntity, Tables, Ticks,
    index::Schema,
    layout::{Fields, KeyPattern, are_alike, written},
    limits,
    maintenance::LayoutScan,
    pacing,
    tables::{LayoutId, Record, State},
};

/// Result of the search for the record of a layout.
enum Recorded {
    Own(State),
    /// The same layout is recorded for a struct of another name.
    Renamed(State),
    No,
}

impl LayoutId {
    /// Finds the layout among the records of its table.
    ///
    /// # Errors
    /// Returns an error if the layout has changed, because stored rows would not be found, and if its rows could
    /// collide with other rows of the table, because they would be taken for each other.
    fn find(self, entity: &Layout, layout: &'static LayoutInfo, records: &[Record]) -> Result<Recorded> {
        let (fields, now) = (Fields::of(entity), written(entity, layout));
        let primary = entity.layouts.first().map(|primary| written(entity, primary));
        let mut recorded = Recorded::No;
        for record in records {
            let stored: Value = serde_json::from_str(&record.layout).unwrap_or_default();
            let of_this_table = record.entity_table.eq_ignore_ascii_case(self.entity_table);
            let is_own = of_this_table && record.entity == self.entity;
            // A renamed struct has the same primary key.
            let is_same =
                is_own || of_this_table && primary.as_ref().is_some_and(|primary| fields.are_of(&stored, primary));
            let (has_name, changes) = (record.name == self.name, fields.changes(&stored, &now));
            if is_same && has_name && changes.is_empty() {
                recorded = match recorded {
                    Recorded::Own(state) => Recorded::Own(state),
                    _ if is_own => Recorded::Own(record.state),
                    _ => Recorded::Renamed(record.state),
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
        Ok(recorded)
    }
}

impl Record {
    fn new(entity: &Layout, layout: &'static LayoutInfo, state: State) -> Self {
        let LayoutId { table, entity_table, entity: own, name } = LayoutId::of(entity, layout);
        // The service ignores case in the names of tables.
        let [table, entity_table] = [table, entity_table].map(str::to_ascii_lowercase);
        let (own, name) = (own.to_owned(), name.to_owned());
        Self { table, entity_table, entity: own, name, layout: written(entity, layout).to_string(), state }
    }
}

impl Tables {
    /// Creates every table that the entity needs. Existing tables stay as they are. Slices are created by the writes to
    /// them.
    ///
    /// Records the entity's keys and indexes in the table `TableLayouts`, and refuses layouts that would not find
    /// stored rows. If an index is new to a table with rows, it is recorded as building, and queries refuse it until
    /// [`backfill`](Self::backfill) has built it. An entity is identified there by its kind, or else by the struct's
    /// name or by the same primary key; fields may be renamed. Records of a deleted table are removed when the table is
    /// created again.
    ///
    /// # Errors
    /// Returns [`Error::LayoutChanged`] if keys or an index are recorded with another layout, [`Error::RowsCollide`] if
    /// rows of an index could be taken for those of another entity, [`Error::Limit`] before anything is sent if no table
    /// can have one of the names, including the handle's [prefix](Self::with_prefix), [`Error::TableBeingDeleted`] if
    /// the table is being deleted, and the errors of the store.
    pub async fn create<E: TableEntity>(&self) -> Result<()> {
        E::LAYOUTS.iter().try_for_each(|layout| check_name(self, layout))?;
        self.check_table_name(Record::LAYOUTS[0].table)?;
        let mut created = Vec::new();
        for (at, layout) in E::LAYOUTS.iter().enumerate() {
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

    /// Records the layouts of an entity that are not recorded yet. An index is recorded as ready if there is no entity,
    /// otherwise as building. All recorded layouts are checked before any new one is recorded.
    ///
    /// `created` are the tables that have just been created.
    pub(crate) async fn record_layouts(&self, schema: Schema, created: &[&'static str]) -> Result<()> {
        let entity = schema.describe();
        // If the table of records is new, it has no records to read.
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

    /// Removes the records that do not fit the entity, if the rows that they describe are gone because the table was
    /// deleted and created again, or its slices were dropped.
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

    /// Checks whether the entity is sliced and has no slice, of any unit.
    async fn has_no_slice(&self, entity: &Layout) -> Result<bool> {
        let Some(LayoutInfo { table, slice: Some(_), .. }) = entity.layouts.first() else { return Ok(false) };
        let is_slice = |name: &String| {
            let digits = name.get(table.len()..).unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        Ok(!self.backend().list_tables(table).await?.iter().any(is_slice))
    }

    /// Returns the missing records of the layouts whose rows are stored in one table.
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
                // There are no entities left to index.
                Recorded::Own(State::Building) if *is_empty == Some(true) => {
                    self.record_state(schema, layout, State::Ready).await?;
                    continue;
                }
                Recorded::Own(state) => {
                    self.ready().remember(id, state);
                    continue;
                }
                Recorded::Renamed(state) => state,
                Recorded::No if layout.index.is_none() => State::Ready,
                Recorded::No => {
                    let no_entity = match *is_empty {
                        Some(is_empty) => is_empty,
                        None => has_no_entity(schema, self).await?,
                    };
                    *is_empty = Some(no_entity);
                    if no_entity { State::Ready } else { State::Building }
                }
            };
            new.push((id, Record::new(&entity, layout, state)));
        }
        Ok(new)
    }

    /// Writes these records, those of each table in a transaction. Returns `false` if another writer recorded some of
    /// them meanwhile.
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

    /// Returns the records of the layouts whose rows are stored in a table.
    async fn records(&self, table: &str) -> Result<Vec<Record>> {
        let records = Record::by_key(&*table.to_ascii_lowercase()).all(self).await?;
        Ok(records.into_iter().map(Stored::into_inner).collect())
    }

    /// Records that an index is being built, unless the index is already recorded.
    pub(crate) async fn begin_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<()> {
        let entity = schema.describe();
        self.backend().create_table(Record::LAYOUTS[0].table).await?;
        match LayoutId::of(&entity, layout).find(&entity, layout, &self.records(layout.table).await?)? {
            Recorded::Own(_) => Ok(()),
            Recorded::Renamed(_) | Recorded::No => self.record_state(schema, layout, State::Building).await,
        }
    }

    /// Records that an index is ready.
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

/// Checks that a program may have this table, or tables with this name and the digits of a slice.
pub(crate) fn check_name(tables: &Tables, layout: &LayoutInfo) -> Result<()> {
    limits::check_not_reserved(layout.table)?;
    let name = layout.slice.as_ref().map(|slice| slice.at(layout.table, Ticks::UNIX_EPOCH).table);
    tables.check_table_name(name.as_deref().unwrap_or(layout.table))
}

/// Checks whether the entity's table has no entity of its kind. Entities of other kinds may share the table.
async fn has_no_entity(schema: Schema, tables: &Tables) -> Result<bool> {
    // Without a kind and a shape, every row is an entity.
    let page = if schema.kind.is_some() || schema.shape.is_some() { limits::PAGE } else { 1 };
    let mut scan = LayoutScan::new(tables.backend().clone(), schema, "create", [0]).with_page(page);
    while let Some(page) = scan.next().await? {
        // A row that does not fit the struct counts as an entity.
        if page.rows.iter().any(|row| !matches!(schema.read(row.to_row()), Ok(None))) {
            return Ok(false);
        }
        pacing::yield_now().await;
    }
    Ok(true)
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use super::*;

    /// An entity that the derive refuses in another crate.
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
    async fn entities_cannot_use_the_table_of_records() -> Result<()> {
        let tables = Tables::in_memory()?;
        for created in [tables.create::<Reserved>().await, tables.create::<Sliced>().await] {
            let error = created.expect_err("the name is reserved");
            assert!(matches!(&error, Error::Limit(limit) if limit.limit.contains("TableLayouts")), "{error}");
        }
        assert_eq!(tables.backend().list_tables("").await?, [""; 0]);
        Ok(())
    }
}
