//! Creation of an entity's tables, and of the records of its layouts in the catalog.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    ETag, Error, Layout, LayoutInfo, Result, Stored, TableEntity, Tables, Ticks,
    backend::BoxFuture,
    catalog::{CatalogChange, Comparison, Decision, Options, RecordVersion, further_tables, tables_of, version},
    index::Schema,
    limits,
    maintenance::LayoutScan,
    observe::{Operation, observed},
    pacing,
    tables::{CatalogPage, LayoutId, Record, State},
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
    /// It takes a request for the catalog, one for the records of each of the entity's tables, and one for the creation of
    /// each table; two or three more if something is recorded. To drop its future does no harm: what is recorded is
    /// recorded by one transaction.
    ///
    /// # Errors
    /// - [`Error::LayoutChanged`] if the primary key, an index or the type of a property is recorded differently, or if
    ///   the entity is not recorded and its rows could not be distinguished from those of a recorded one.
    /// - [`Error::RowsCollide`] if rows of an index could be taken for those of another entity.
    /// - [`Error::IndexMissing`] if the struct lacks an index that is ready, so that the program would write entities
    ///   without rows in it. See [`drop_index`](Self::drop_index) and
    ///   [`demote_missing_indexes`](Create::demote_missing_indexes).
    /// - [`Error::IndexDropped`] while an index of the struct is being dropped.
    /// - [`Error::EntityMoved`] and [`Error::EntityMigrating`] after and during a migration.
    /// - [`Error::Limit`], before anything is sent, if no table can have one of the names, including the handle's
    ///   [prefix](Self::with_prefix); [`Error::TableBeingDeleted`] if the table is being deleted;
    ///   [`Error::NewerCatalog`]; and the errors of the store.
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
    // If the catalog is new, it has no records to read.
    let mut is_empty = tables.create_catalog().await?;
    let mut created: Option<(Vec<&'static str>, Vec<RecordVersion>)> = None;
    let (mut waited, mut has_no_entity) = (Vec::new(), None);
    let mut delays = pacing::delays();
    loop {
        let began = tables.backend().clock();
        let pages = if mem::take(&mut is_empty) { Vec::new() } else { read_pages(tables, &schema, &entity).await? };
        if created.is_none() {
            Comparison { options, ..Comparison::new(&entity, schema.was, &pages) }.check_place()?;
            // The records are read before the tables are created: those that another program writes afterwards describe
            // rows that exist.
            let new = create_tables(tables, &entity).await?;
            let forgettable = forgettable(tables, &entity, &pages, &new).await?;
            created = Some((new, forgettable));
        }
        let (created, forgettable) = created.as_ref().map_or((&[][..], &[][..]), |(new, old)| (&new[..], &old[..]));
        let compared = Comparison {
            entity: &entity,
            was: schema.was,
            options,
            pages: &pages,
            created,
            forgettable,
            waited: &waited,
            has_no_entity,
        };
        let Decision::Change { change, ready, name, waits } = compared.decide()? else {
            has_no_entity = Some(self::has_no_entity(schema, tables).await?);
            continue;
        };
        let mut kept = ready;
        if !change.is_empty() {
            let written = change.inserted.iter().chain(change.updated.iter().map(|record| &**record));
            let written: Vec<_> = written.map(|record| (record.name.clone(), record.state)).collect();
            let Some(versions) = tables.change_catalog(&pages, change).await? else {
                tables.pause_catalog(schema.table(), &mut delays).await?;
                continue;
            };
            let ready = written.into_iter().zip(versions).filter(|((_, state), _)| *state == State::Ready);
            kept.extend(ready.filter_map(|((name, _), version)| {
                let layout = entity.layouts.iter().find(|layout| layout.name == name)?;
                Some((schema.id(layout), version?))
            }));
        }
        if waits {
            let pages = read_pages(tables, &schema, &entity).await?;
            let records = pages.iter().flat_map(|page| &page.records);
            waited = records.filter(|record| record.state == State::Leaving).map(version).collect();
            tables.wait_for_leases().await;
            continue;
        }
        let id = LayoutId::of(&entity, schema.was, &entity.layouts[0]);
        if let Some(primary) = pages.iter().find_map(|page| page.primary(&id)) {
            tables.leases().remember_indexes(&id, !primary.facts().indexes.is_empty());
        }
        for (id, version) in kept {
            tables.leases().remember_name(&id, &name);
            tables.leases().keep(id, version, began);
        }
        return Ok(());
    }
}

/// Reads the records that matter to an entity.
async fn read_pages(tables: &Tables, schema: &Schema, entity: &Layout) -> Result<Vec<CatalogPage>> {
    let mut pages = tables.catalog_pages(&tables_of(entity)).await?;
    let id = LayoutId::of(entity, schema.was, &entity.layouts[0]);
    let further = further_tables(&pages, &id);
    if !further.is_empty() {
        pages.extend(tables.catalog_pages(&further).await?);
    }
    Ok(pages)
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

/// Returns the records of tables that did not exist, and those of the entity if it is sliced and has no slice: the rows
/// that they describe are gone.
async fn forgettable(
    tables: &Tables,
    entity: &Layout,
    pages: &[CatalogPage],
    created: &[&'static str],
) -> Result<Vec<RecordVersion>> {
    let of_new = |record: &&Stored<Record>| created.iter().any(|table| table.eq_ignore_ascii_case(&record.table));
    let records = || pages.iter().flat_map(|page| &page.records);
    let mut forgettable: Vec<_> = records().filter(of_new).map(version).collect();
    if let Some(LayoutInfo { table, slice: Some(_), .. }) = entity.layouts.first() {
        let own: Vec<_> = records().filter(|record| record.entity_table.eq_ignore_ascii_case(table)).collect();
        let fits = own.iter().all(|record| record.entity == entity.entity && record.layout() == written(entity));
        if !own.is_empty() && !fits && has_no_slice(tables, table).await? {
            forgettable.extend(own.into_iter().map(version));
        }
    }
    Ok(forgettable)
}

fn written(entity: &Layout) -> serde_json::Value {
    crate::layout::written(entity, &entity.layouts[0])
}

/// Checks whether a sliced entity has no slice, of any unit.
async fn has_no_slice(tables: &Tables, table: &str) -> Result<bool> {
    let is_slice = |name: &String| {
        let digits = name.get(table.len()..).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    Ok(!tables.backend().list_tables(table).await?.iter().any(is_slice))
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
            let Some((pages, record)) = self.recorded_index(schema, layout).await? else {
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
                    if self.change_catalog(&pages, change).await?.is_none() {
                        self.pause_catalog(layout.table, &mut delays).await?;
                    }
                }
                State::Leaving => {
                    waited = Some(version(&record));
                    self.wait_for_leases().await;
                }
                State::Building | State::Ready => {
                    return Ok(RecordedIndex { version: Stored::etag(&record).clone() });
                }
            }
        }
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
            let (pages, mut record) = match recorded {
                Some((pages, record)) if *Stored::etag(&record) == begun.version => (pages, record),
                Some((_, record)) if record.state == State::Ready => return Ok(()),
                Some((_, record)) if record.state == State::Gone => return Err(index_dropped(schema, layout)),
                _ => return Err(index_building(schema, layout)),
            };
            if record.state == State::Ready {
                return Ok(());
            }
            record.state = State::Ready;
            let (id, name) = (schema.id(layout), record.entity.clone());
            let change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
            if let Some(versions) = self.change_catalog(&pages, change).await? {
                if let Some(version) = versions.into_iter().next().flatten() {
                    self.leases().remember_name(&id, &name);
                    self.leases().keep(id, version, read_at);
                }
                return Ok(());
            }
            self.pause_catalog(layout.table, &mut delays).await?;
        }
    }

    /// Reads the record of an index, with the records of its table; `None` if the index is not recorded.
    async fn recorded_index(
        &self,
        schema: Schema,
        layout: &'static LayoutInfo,
    ) -> Result<Option<(Vec<CatalogPage>, Stored<Record>)>> {
        let entity = schema.describe();
        let pages = read_pages(self, &schema, &entity).await?;
        let compared = Comparison::new(&entity, schema.was, &pages);
        let Some(record) = compared.recorded(layout) else { return Ok(None) };
        compared.check_index(layout, record)?;
        let record = record.clone();
        Ok(Some((pages, record)))
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
