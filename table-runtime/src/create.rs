//! Creation of an entity's tables, and of the records of its layouts in the catalog.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    ETag, Error, Layout, LayoutInfo, Result, Row, RowRef, Stored, TableEntity, Tables, Ticks,
    backend::{BackendExt, BoxFuture},
    catalog::{CatalogChange, Comparison, Decision, Look, Looked, Options, RecordVersion, Relied, version},
    index::Schema,
    layout::KeyPattern,
    limits,
    maintenance::LayoutScan,
    observe::{Operation, observed},
    pacing,
    tables::{Catalog, Record, State},
};

/// The creation of the tables of one or several entities, which runs when it is awaited: see [`Tables::create`].
#[must_use = "nothing is created until it is awaited"]
pub struct Create {
    tables: Tables,
    schemas: Vec<Schema>,
    options: Options,
    running: Option<BoxFuture<'static, Result<()>>>,
}

impl Create {
    /// Creates the tables of one more entity, after those of the entities before it. An error ends the creation: the
    /// entities before it are created, and to create them again does no harm. So one call says which entities a program
    /// has:
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Customer { #[partition_key] tenant: String, #[row_key] id: u32 }
    /// # #[derive(TableEntity)]
    /// # struct Order { #[partition_key] tenant: String, #[row_key] id: u32 }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// tables.create::<Customer>().and::<Order>().await?;
    /// # Ok(()) }
    /// # futures::executor::block_on(example(Tables::in_memory()?))?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    pub fn and<E: TableEntity>(mut self) -> Self {
        self.schemas.push(Schema::of::<E>());
        self
    }

    /// Begins although a struct lacks an index that is ready: an emergency rollback to a program without the index.
    ///
    /// Such an index is taken back to the state in which it has to be built, because this program writes entities without
    /// rows in it. Queries of it return [`Error::IndexBuilding`] until a later [`backfill`](Tables::backfill) has built it
    /// again. The creation first waits until no running program relies on the index any more, for the length of a
    /// [lease](Tables::with_lease) and a tenth of it: 66 seconds by default.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// // The newer version of this program has `#[index(title)]`, and is rolled back.
    /// tables.create::<Post>().demote_missing_indexes().await?;
    /// # Ok(()) }
    /// ```
    pub fn demote_missing_indexes(mut self) -> Self {
        self.options.demote = true;
        self
    }

    /// Records the entity as the target of a migration.
    pub(crate) fn for_migration(mut self) -> Self {
        self.options.is_target = true;
        self
    }
}

impl Future for Create {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Self { tables, schemas, options, running } = &mut *self;
        let begin = || -> BoxFuture<'static, Result<()>> {
            let (tables, schemas, options) = (tables.clone(), schemas.clone(), *options);
            let running = tables.begin_operation(|| match &*schemas {
                [schema] => schema.operation("create"),
                _ => Operation { verb: "create", entity: "", table: "", cost: None },
            });
            Box::pin(observed(running, async move {
                for schema in schemas {
                    create(&tables, schema, options).await?;
                }
                Ok(())
            }))
        };
        running.get_or_insert_with(begin).as_mut().poll(context)
    }
}

impl fmt::Debug for Create {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables: Vec<_> = self.schemas.iter().map(Schema::table).collect();
        f.debug_struct("Create").field("tables", &tables).finish_non_exhaustive()
    }
}

impl Tables {
    /// Creates every table that the entity needs, and records in the catalog, the table `TableLayouts`, how the entity is
    /// stored. Existing tables stay as they are. Slices are created by the writes to them. Call it once for each entity
    /// when the program begins, or once for [several](Create::and). Await it.
    ///
    /// It compares the struct with the recorded keys, indexes and properties, and refuses a program that would not find
    /// stored rows, or would hide rows from other programs. Programs of several versions can run side by side, as long as
    /// their structs fit. If an index is new to an entity that was recorded before, it is recorded as building, and
    /// queries refuse it until [`backfill`](Self::backfill) has built it.
    ///
    /// An entity is recorded under its kind, or else under the struct's name. A renamed struct names the earlier name:
    /// `#[table(was = "Person")]`. Fields may be renamed if their properties keep their names. Records of a deleted table
    /// are removed when the table is created again.
    ///
    /// It takes a request for the catalog, one for its records, one for the creation of each table, and one that writes what
    /// is new or checks that nobody else has; one or two more, which read rows, if an index or a required property is new.
    /// To drop its future does no harm: what is recorded is recorded by one transaction.
    ///
    /// # Errors
    /// - [`Error::LayoutChanged`] if the primary key, an index or the type of a property is recorded differently; if the
    ///   first row lacks a property that the struct requires; if the entity is not recorded and its rows could not be
    ///   distinguished from those of a recorded one; and if an entity of its name is recorded in another table, or its
    ///   struct under another kind.
    /// - [`Error::RowsCollide`] if rows of an index could be taken for those of another entity.
    /// - [`Error::IndexMissing`] if the struct lacks an index that is ready, so that the program would write entities
    ///   without rows in it. See [`drop_index`](Self::drop_index) and
    ///   [`demote_missing_indexes`](Create::demote_missing_indexes).
    /// - [`Error::IndexDropped`] while an index of the struct is being dropped.
    /// - [`Error::EntityMoved`] and [`Error::EntityMigrating`] after and during a migration.
    /// - [`Error::Limit`], before anything is sent, if no table can have one of the names, including the handle's
    ///   [prefix](Self::with_prefix); [`Error::TableBeingDeleted`] if the table is being deleted, by the service or by
    ///   [`drop_moved`](Self::drop_moved); [`Error::NewerCatalog`]; and the errors of the store.
    pub fn create<E: TableEntity>(&self) -> Create {
        self.create_schema(Schema::of::<E>())
    }

    pub(crate) fn create_schema(&self, schema: Schema) -> Create {
        Create { tables: self.clone(), schemas: vec![schema], options: Options::default(), running: None }
    }
}

async fn create(tables: &Tables, schema: Schema, options: Options) -> Result<()> {
    let entity = schema.describe();
    entity.layouts.iter().try_for_each(|layout| check_name(tables, layout))?;
    tables.check_table_name(Record::LAYOUTS[0].table)?;
    // A new catalog has no records to read.
    let mut is_empty = !tables.leases().has_names() && tables.create_catalog().await?;
    let mut created: Option<(Vec<&'static str>, Vec<RecordVersion>)> = None;
    let (mut waited, mut looked) = (Vec::new(), Looked::NOTHING.clone());
    let mut delays = pacing::delays();
    'again: loop {
        let began = tables.backend().clock();
        let catalog = if mem::take(&mut is_empty) { Catalog::default() } else { tables.catalog().await? };
        let compared = Comparison { options, ..Comparison::new(schema, &entity, &catalog) };
        compared.check_place()?;
        if created.is_none() {
            // The records are read before the tables are created: those that another program writes afterwards describe
            // rows that exist.
            let new = create_tables(tables, &entity).await?;
            let forgettable = forgettable(tables, &compared, &new).await?;
            created = Some((new, forgettable));
        }
        let (created, forgettable) = created.as_ref().map_or((&[][..], &[][..]), |(new, old)| (&new[..], &old[..]));
        let (change, ready, name, waits) = loop {
            let (waited, looked_up) = (&waited[..], &looked);
            let catalog = &catalog;
            let compared = Comparison {
                schema,
                entity: &entity,
                options,
                catalog,
                created,
                forgettable,
                waited,
                looked: looked_up,
            };
            match compared.decide() {
                Ok(Decision::Look(look)) => looked.look(look, tables, schema, catalog).await?,
                Ok(Decision::Change { change, ready, name, waits }) => break (change, ready, name, waits),
                Err(refused) => {
                    let loss = compared.loss();
                    if !loss.is_empty() && tables.change_catalog(catalog, loss).await?.is_none() {
                        tables.pause_catalog(&mut delays).await?;
                        continue 'again;
                    }
                    return Err(refused);
                }
            }
        };
        let mut kept = ready;
        if !change.is_empty() {
            if catalog.head.is_none() && tables.leases().has_names() {
                // It was deleted since the handle has read it.
                tables.create_catalog().await?;
            }
            let records = change.inserted.iter().chain(change.updated.iter().map(|record| &**record));
            let records: Vec<_> = records.cloned().collect();
            let Some(versions) = tables.change_catalog(&catalog, change).await? else {
                tables.pause_catalog(&mut delays).await?;
                continue;
            };
            let written = records.into_iter().zip(versions).filter(|(record, _)| record.state == State::Ready);
            kept.extend(written.filter_map(|(record, version)| {
                let layout = entity.layouts.iter().find(|layout| layout.name == record.name)?;
                Some(Relied { id: schema.id(layout), record: Stored::new(record, version?) })
            }));
        } else if !waits && !tables.is_present(&catalog).await? {
            // Another program may have made a table anew, and recorded other layouts for it.
            tables.pause_catalog(&mut delays).await?;
            continue;
        }
        if waits {
            let records = tables.catalog().await?.records;
            waited = records.iter().filter(|record| record.state == State::Leaving).map(version).collect();
            tables.wait_for_leases().await;
            continue;
        }
        for layout in entity.layouts {
            let id = schema.id(layout);
            tables.leases().remember_name(&id, &name);
            match kept.iter().find(|relied| relied.id == id) {
                Some(Relied { record, .. }) => drop(tables.leases().keep(id, record, began)),
                None => tables.leases().forget(&id),
            }
        }
        return Ok(());
    }
}

impl Looked {
    /// Looks up what a comparison has to know.
    async fn look(&mut self, look: Look, tables: &Tables, schema: Schema, catalog: &Catalog) -> Result<()> {
        match look {
            Look::ForEntities => self.has_no_entity = Some(has_no_entity(schema, tables).await?),
            Look::AtFirst => self.first = first_entity(schema, tables, catalog).await?.into(),
            Look::AtPlace => self.in_the_way = row_in_the_way(schema, tables, catalog).await?.into(),
        }
        Ok(())
    }
}

/// Creates the entity's tables, and returns those that did not exist.
async fn create_tables(tables: &Tables, entity: &Layout) -> Result<Vec<&'static str>> {
    let mut created = Vec::new();
    for (at, layout) in entity.layouts.iter().enumerate() {
        let is_first = !entity.layouts[..at].iter().any(|before| before.table == layout.table);
        if layout.slice.is_none() && is_first && tables.backend().create_table(layout.table).await? {
            created.push(layout.table);
        }
    }
    Ok(created)
}

/// Returns the records whose rows are gone, as far as they matter to the entity: those of tables that did not exist, and if
/// the entity is not recorded as it is, those of its table and of entities with its name.
async fn forgettable(
    tables: &Tables,
    compared: &Comparison<'_>,
    created: &[&'static str],
) -> Result<Vec<RecordVersion>> {
    let is_new = |table: &str| created.iter().any(|created| created.eq_ignore_ascii_case(table));
    let own = |table: &str| {
        let mut unsliced = compared.entity.layouts.iter().filter(|layout| layout.slice.is_none());
        unsliced.any(|layout| layout.table.eq_ignore_ascii_case(table))
    };
    let is_recorded = compared.recorded(&compared.entity.layouts[0]).is_some() && !compared.has_other_key();
    let elsewhere = compared.elsewhere();
    let mut forgettable = Vec::new();
    for record in &compared.catalog.records {
        let layout = record.layout();
        let (table, is_sliced) = (layout["table"].as_str().unwrap_or(&record.table), !layout["slice"].is_null());
        let is_gone = if !is_sliced && own(table) {
            is_new(table)
        } else if elsewhere.iter().any(|other| version(other) == version(record))
            || !is_recorded && record.is_of_table(compared.entity.layouts[0].table)
        {
            !has_table(tables, table, is_sliced).await?
        } else {
            false
        };
        if is_gone {
            forgettable.push(version(record));
        }
    }
    Ok(forgettable)
}

/// Checks whether the table of a recorded layout exists; of a sliced one, whether there is a slice of any unit.
async fn has_table(tables: &Tables, table: &str, is_sliced: bool) -> Result<bool> {
    let is_it = |name: &String| {
        let digits = name.get(table.len()..).unwrap_or_default();
        digits.is_empty() != is_sliced && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    Ok(tables.backend().list_tables(table).await?.iter().any(is_it))
}

/// An index that a backfill builds, with the version of its record.
pub(crate) struct RecordedIndex {
    pub(crate) version: ETag,
}

impl Tables {
    /// Returns the record of an index that a backfill builds. Records the entity first if necessary, and waits until no
    /// handle relies on an earlier state of the index.
    ///
    /// # Errors
    /// Returns [`Error::IndexBuilding`] if a program without the index has begun meanwhile, and [`Error::IndexDropped`] if
    /// the index was dropped.
    pub(crate) async fn begin_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<RecordedIndex> {
        let mut delays = pacing::delays();
        let mut waited: Option<RecordVersion> = None;
        let mut starts = None;
        loop {
            let Some((catalog, record)) = self.recorded_index(schema, layout).await? else {
                if starts.is_some() {
                    return Err(index_dropped(schema, layout));
                }
                self.create_schema(schema).await?;
                continue;
            };
            // A program without the index has begun while this backfill waited.
            if *starts.get_or_insert(record.starts) != record.starts {
                return Err(index_building(schema, layout));
            }
            match record.state {
                State::Gone => return Err(index_dropped(schema, layout)),
                State::Leaving if waited.as_ref() == Some(&version(&record)) => {
                    let mut record = record;
                    record.state = State::Building;
                    let change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
                    if self.change_catalog(&catalog, change).await?.is_none() {
                        self.pause_catalog(&mut delays).await?;
                    }
                }
                State::Leaving => {
                    waited = Some(version(&record));
                    self.wait_for_leases().await;
                }
                State::Building | State::Ready if self.require_index(schema, layout, &catalog).await? => {
                    return Ok(RecordedIndex { version: Stored::etag(&record).clone() });
                }
                State::Building | State::Ready => self.pause_catalog(&mut delays).await?,
            }
        }
    }

    /// Records that every writer of the entity has to know the index. A program that does not is refused when it renews its
    /// lease of the entity. Returns false if the catalog has changed since it was read.
    async fn require_index(&self, schema: Schema, layout: &'static LayoutInfo, catalog: &Catalog) -> Result<bool> {
        let Some(mut primary) = catalog.primary(&schema.id(&schema.layouts[0])).cloned() else { return Ok(true) };
        // A migration owns the version of the record of its target.
        if primary.state != State::Ready {
            return Ok(true);
        }
        let mut facts = primary.facts();
        if !facts.required.insert(layout.name.to_owned()) {
            return Ok(true);
        }
        primary.set_facts(&facts);
        let change = CatalogChange { updated: vec![primary], ..CatalogChange::default() };
        Ok(self.change_catalog(catalog, change).await?.is_some())
    }

    /// Records that an index is ready, if its record still has the version with which the backfill began.
    ///
    /// # Errors
    /// Returns [`Error::IndexBuilding`] if the record has changed: a program without the index has begun meanwhile, and
    /// may have written entities without a row. The backfill has to run again.
    pub(crate) async fn complete_index(
        &self,
        schema: Schema,
        layout: &'static LayoutInfo,
        begun: &RecordedIndex,
    ) -> Result<()> {
        let mut delays = pacing::delays();
        loop {
            let read_at = self.backend().clock();
            let recorded = self.recorded_index(schema, layout).await?;
            let (catalog, mut record) = match recorded {
                Some((catalog, record)) if *Stored::etag(&record) == begun.version => (catalog, record),
                Some((_, record)) if record.state == State::Ready => return Ok(()),
                Some((_, record)) if record.state == State::Gone => return Err(index_dropped(schema, layout)),
                _ => return Err(index_building(schema, layout)),
            };
            if record.state == State::Ready {
                return Ok(());
            }
            record.state = State::Ready;
            let (id, name) = (schema.id(layout), record.entity.clone());
            let change = CatalogChange { updated: vec![record.clone()], ..CatalogChange::default() };
            if let Some(versions) = self.change_catalog(&catalog, change).await? {
                if let Some(version) = versions.into_iter().next().flatten() {
                    self.leases().remember_name(&id, &name);
                    self.leases().keep(id, &Stored::new(Stored::into_inner(record), version), read_at);
                }
                return Ok(());
            }
            self.pause_catalog(&mut delays).await?;
        }
    }

    /// Reads the catalog and the record of an index in it; `None` if the index is not recorded.
    async fn recorded_index(
        &self,
        schema: Schema,
        layout: &'static LayoutInfo,
    ) -> Result<Option<(Catalog, Stored<Record>)>> {
        let (entity, catalog) = (schema.describe(), self.catalog().await?);
        let compared = Comparison::new(schema, &entity, &catalog);
        let Some(record) = compared.recorded(layout) else { return Ok(None) };
        compared.check_index(layout, record)?;
        let record = record.clone();
        Ok(Some((catalog, record)))
    }
}

fn index_building(schema: Schema, layout: &LayoutInfo) -> Error {
    Error::IndexBuilding { table: schema.table().to_owned(), index: layout.name.to_owned() }
}

fn index_dropped(schema: Schema, layout: &LayoutInfo) -> Error {
    Error::IndexDropped { table: schema.table().to_owned(), index: layout.name.to_owned() }
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

/// Returns the first entity of the table, among the first rows that a request returns.
async fn first_entity(schema: Schema, tables: &Tables, catalog: &Catalog) -> Result<Option<Row>> {
    let others = catalog.constant_partitions(&schema.id(&schema.layouts[0]), &schema.layouts[0]);
    let mut scan = LayoutScan::new(tables.backend().clone(), schema, "create", [0]);
    let page = scan.next().await?;
    Ok(page.and_then(|page| {
        page.rows.iter().find(|row| schema.has_entity(*row) && !others.contains(row.partition_key)).map(RowRef::to_row)
    }))
}

/// Returns a row that is located where the rows of the entity would be.
async fn row_in_the_way(schema: Schema, tables: &Tables, catalog: &Catalog) -> Result<Option<String>> {
    let others = catalog.constant_partitions(&schema.id(&schema.layouts[0]), &schema.layouts[0]);
    let mut scan = LayoutScan::new(tables.backend().clone(), schema, "create", 0..schema.layouts.len());
    while let Some(page) = scan.next().await? {
        let pattern = KeyPattern::of(&schema.layouts[page.layout]);
        let is_own = |row: &RowRef<'_>| {
            let is_entity = || schema.has_entity(*row) && !others.contains(row.partition_key);
            pattern.includes(row.partition_key, row.row_key) && (page.layout > 0 || is_entity())
        };
        if let Some(row) = page.rows.iter().find(is_own) {
            return Ok(Some(row.id(&page.table).to_string()));
        }
        pacing::yield_now().await;
    }
    Ok(None)
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
