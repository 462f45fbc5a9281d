//! Creation of an entity's tables, and of the records of its layouts in the catalog.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use table_model::{
    LayoutInfo, TableEntity,
    unstable::{
        event::MARKS,
        layout::{LayoutExt, slice},
    },
};
use table_store::{
    ETag, Error, Result, Ticks,
    backend::{BackendExt, BoxFuture},
    unstable::{
        limits,
        observe::{ObservedOperation, observed},
    },
};

use crate::{
    admin::catalog::{
        AbsentTables, CatalogChange, ComparedEntity, Comparison, Decided, Looked, Options, RecordVersion, Relied,
        forgettable, index_dropped, version as version_of,
    },
    client::{
        pacing,
        stored::Stored,
        tables::{Catalog, ReadRecord, Record, State, Tables},
    },
    write::index::Schema,
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

    /// Begins although a struct lacks `expires` or `soft_delete`, which are recorded: a rollback to a program without them, or
    /// the end of a lifecycle. Entities that were hidden are visible again: [`sweep`](Tables::sweep) before it, with a program
    /// that has the option.
    ///
    /// End the programs that have the option. The indexes in the entity's partition have to be built again with
    /// [`backfill`](Tables::backfill), because their rows get no times from now on. The creation first waits until no running
    /// program relies on these rows any more, for the length of a [lease](Tables::with_lease) and a tenth of it.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Session { #[partition_key] user: String, #[row_key] token: String }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// // The newer version of this program has `#[table(expires = until)]`, and is rolled back.
    /// tables.create::<Session>().forget_lifecycle().await?;
    /// # Ok(()) }
    /// ```
    pub fn forget_lifecycle(mut self) -> Self {
        self.options.forget_lifecycle = true;
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
                _ => ObservedOperation { verb: "create", entity: "", table: "", cost: None },
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
    /// It cannot see the content of JSON, of `#[property(text)]` and of other types of yours: a variant or a field of one that
    /// is renamed makes stored rows unreadable, and nothing refuses the program. Keep the old name with serde's `alias`, and
    /// let lists [go on](crate::guide::paging#rows-that-cannot-be-read) after such rows.
    ///
    /// An entity is recorded under its kind, or else under the struct's name. A renamed struct names the earlier name:
    /// `#[table(was = "Person")]`. Fields may be renamed if their properties keep their names. Records of a deleted table
    /// are removed when the table is created again.
    ///
    /// It takes a request for the catalog, one for its records, one for each table, and one that writes what is new or checks
    /// that nobody else has; one or two more, which read rows, if an index or a required property is new; and a few more if
    /// a table was deleted.
    /// To drop its future does no harm: one transaction records, and only then a deleted table is made anew.
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
        self.create_schemas(vec![Schema::of::<E>()])
    }

    pub(crate) fn create_schemas(&self, schemas: Vec<Schema>) -> Create {
        Create { tables: self.clone(), schemas, options: Options::default(), running: None }
    }
}

async fn create(tables: &Tables, schema: Schema, options: Options) -> Result<()> {
    check_names(tables, schema)?;
    // A new catalog has no records to read.
    let mut is_empty = !tables.leases().has_names() && tables.create_catalog().await?;
    let (mut absent, mut waited, mut looked) = (AbsentTables::default(), Vec::new(), Looked::NOTHING.clone());
    let mut delays = pacing::delays();
    loop {
        let began = tables.backend().clock();
        let catalog = &if mem::take(&mut is_empty) { Catalog::default() } else { tables.catalog().await? };
        let compared = Comparison { options, waited: &waited, ..Comparison::new(schema, catalog) };
        compared.check_place()?;
        absent.find(tables, schema, catalog).await?;
        let compared = Comparison { absent: &absent, ..compared };
        let forgettable = &forgettable(tables, &compared).await?;
        let compared = Comparison { forgettable, ..compared };
        let Decided { change, ready: mut kept, name, waits } = match decide(tables, &compared, &mut looked).await? {
            Ok(decided) => decided,
            Err(refused) if tables.is_present(catalog.version()).await? => return Err(refused),
            // Another program may have made a table anew, and recorded another layout, since the catalog was read.
            Err(_) => {
                tables.pause_catalog(&mut delays).await?;
                continue;
            }
        };
        if !(absent.missing.is_empty() && forgettable.is_empty() || catalog.is_looking()) {
            let announced = CatalogChange { looking: Some(true), ..CatalogChange::default() };
            tables.change_catalog(catalog, announced, &mut delays).await?;
            continue;
        }
        tables.create_marks(schema, compared.recorded(&schema.layouts[0])).await?;
        let mut version = catalog.version().cloned();
        let is_changed = !change.is_empty() || !absent.missing.is_empty() || catalog.is_looking();
        if is_changed {
            let written = write_change(tables, schema, catalog, change, &mut delays).await?;
            let Some((head, written)) = written else { continue };
            version = head;
            kept.extend(written);
        }
        if waits {
            waited = leaving(&tables.catalog().await?);
            tables.wait_for_leases().await;
            continue;
        }
        // What is recorded is true of an empty table, also if this program ends here.
        for table in &absent.missing {
            tables.backend().create_table(table).await?;
        }
        let is_alone = is_changed && absent.missing.is_empty();
        if !is_alone && !tables.is_present(version.as_ref()).await? {
            // Another program may have found the table missing too, and recorded another layout for it.
            tables.pause_catalog(&mut delays).await?;
            continue;
        }
        keep_leases(tables, schema, &name, &kept, began);
        return Ok(());
    }
}

/// Returns the versions of the records that are leaving.
fn leaving(catalog: &Catalog) -> Vec<RecordVersion> {
    let records = catalog.records.iter().filter(|record| record.state == State::Leaving);
    records.map(|record| version_of(record)).collect()
}

/// Keeps leases of the records on which the program relies, and forgets those of the entity's other layouts.
fn keep_leases(tables: &Tables, schema: Schema, name: &str, relied: &[Relied], began: Duration) {
    for layout in schema.layouts {
        let id = schema.id(layout);
        tables.leases().remember_name(&id, name);
        match relied.iter().find(|relied| relied.id == id) {
            Some(Relied { record, .. }) => drop(tables.leases().keep(id, record, began)),
            None => tables.leases().forget(&id),
        }
    }
}

/// Writes the change. Returns the head's new version, and the written records of the entity that are ready; `None` if the
/// catalog has changed since it was read.
async fn write_change(
    tables: &Tables,
    schema: Schema,
    catalog: &Catalog,
    change: CatalogChange,
    delays: &mut pacing::Delays,
) -> Result<Option<(Option<ETag>, Vec<Relied>)>> {
    if catalog.head.is_none() && tables.leases().has_names() {
        // It was deleted since the handle has read it.
        tables.create_catalog().await?;
    }
    let records = change.inserted.iter().chain(change.updated.iter().map(|record| &**record));
    let records: Vec<_> = records.cloned().collect();
    let Some(changed) = tables.change_catalog(catalog, change, delays).await? else { return Ok(None) };
    let written = records.into_iter().zip(changed.records).filter(|(record, _)| record.state == State::Ready);
    let relied = written.filter_map(|(record, version)| {
        let layout = schema.layouts.iter().find(|layout| layout.name == record.name)?;
        Some(Relied { id: schema.id(layout), record: Stored::new(record, version?) })
    });
    Ok(Some((changed.head, relied.collect())))
}

/// Compares, and looks up what the comparison has to know. The inner error is that of a program that is refused.
async fn decide(tables: &Tables, compared: &Comparison<'_>, looked: &mut Looked) -> Result<Result<Decided>> {
    loop {
        match (Comparison { looked, ..*compared }).compare() {
            Ok(ComparedEntity::Look(look)) => {
                looked.look(look, tables, (compared.schema, compared.catalog), compared.absent).await?;
            }
            Ok(ComparedEntity::Change(decided)) => return Ok(Ok(decided)),
            Err(refused) => return Ok(Err(refused)),
        }
    }
}

impl Tables {
    /// Returns the version of the record of an index that a backfill builds. Records the entity first if necessary, and
    /// waits until no handle relies on an earlier state of the index.
    ///
    /// # Errors
    /// Returns [`Error::IndexBuilding`] if a program without the index has begun meanwhile, and [`Error::IndexDropped`] if
    /// the index was dropped.
    pub(crate) async fn begin_index(&self, schema: Schema, layout: &'static LayoutInfo) -> Result<ETag> {
        let mut delays = pacing::delays();
        let mut waited: Option<RecordVersion> = None;
        let (mut starts, mut has_waited) = (None, false);
        loop {
            let Some((catalog, record)) = self.recorded_index(schema, layout).await? else {
                if starts.is_some() {
                    return Err(index_dropped(schema, layout));
                }
                self.create_schemas(vec![schema]).await?;
                continue;
            };
            // A program without the index has begun while this backfill waited.
            if *starts.get_or_insert(record.starts) != record.starts {
                return Err(index_building(schema, layout));
            }
            match record.state {
                State::Gone => return Err(index_dropped(schema, layout)),
                State::Leaving if waited.as_ref() == Some(&version_of(&record)) => {
                    let mut record = record;
                    record.state = State::Building;
                    let change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
                    self.change_catalog(&catalog, change, &mut delays).await?;
                }
                State::Leaving => {
                    waited = Some(version_of(&record));
                    self.wait_for_leases().await;
                }
                State::Building | State::Ready => {
                    if !self.require_index(schema, layout, &catalog, &mut delays).await? {
                        continue;
                    }
                    // The index was recorded before, perhaps by a program without the times that its rows have now. Such a
                    // program writes rows without them until it is refused.
                    let has_times = layout.is_same_partition() && schema.lifecycle.options().next().is_some();
                    let may_lack_times = has_times && record.state == State::Building && record.starts > 0;
                    if has_waited || !may_lack_times {
                        return Ok(Stored::etag(&record).clone());
                    }
                    has_waited = true;
                    self.wait_for_leases().await;
                }
            }
        }
    }

    /// Records that every writer of the entity has to know the index. A program that does not is refused when it renews its
    /// lease of the entity. Returns false if the catalog has changed since it was read.
    async fn require_index(
        &self,
        schema: Schema,
        layout: &'static LayoutInfo,
        catalog: &Catalog,
        delays: &mut pacing::Delays,
    ) -> Result<bool> {
        let Some(mut primary) = catalog.primary(&schema.own_id()).map(ReadRecord::to_stored) else {
            return Ok(true);
        };
        // A migration owns the version of the record of its target.
        if primary.state != State::Ready {
            return Ok(true);
        }
        let mut facts = primary.facts();
        // The rows of other partitions have no times.
        let options = schema.lifecycle.options().filter(|_| layout.is_same_partition());
        let before = facts.required.len();
        facts.required.extend([layout.name.to_string()].into_iter().chain(options));
        if facts.required.len() == before {
            return Ok(true);
        }
        primary.set_facts(&facts);
        let change = CatalogChange { updated: vec![primary], ..CatalogChange::default() };
        Ok(self.change_catalog(catalog, change, delays).await?.is_some())
    }

    /// Records that an index is ready, if its record still has the version with which the backfill began.
    ///
    /// # Errors
    /// Returns [`Error::IndexBuilding`] if the record has changed: a program without the index has begun meanwhile, and
    /// may have written entities without a row. The backfill has to run again.
    pub(crate) async fn complete_index(&self, schema: Schema, layout: &'static LayoutInfo, begun: &ETag) -> Result<()> {
        let mut delays = pacing::delays();
        loop {
            let read_at = self.backend().clock();
            let recorded = self.recorded_index(schema, layout).await?;
            let (catalog, mut record) = match recorded {
                Some((catalog, record)) if Stored::etag(&record) == begun => (catalog, record),
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
            if let Some(changed) = self.change_catalog(&catalog, change, &mut delays).await? {
                if let Some(version) = changed.records.into_iter().next().flatten() {
                    self.leases().remember_name(&id, &name);
                    self.leases().keep(id, &Stored::new(Stored::into_inner(record), version), read_at);
                }
                return Ok(());
            }
        }
    }

    /// Reads the catalog and the record of an index in it; `None` if the index is not recorded.
    async fn recorded_index(
        &self,
        schema: Schema,
        layout: &'static LayoutInfo,
    ) -> Result<Option<(Catalog, Stored<Record>)>> {
        let catalog = self.catalog().await?;
        let compared = Comparison::new(schema, &catalog);
        let Some(record) = compared.recorded(layout) else { return Ok(None) };
        compared.check_index(layout, record)?;
        let record = record.to_stored();
        Ok(Some((catalog, record)))
    }
}

fn index_building(schema: Schema, layout: &LayoutInfo) -> Error {
    Error::IndexBuilding { table: schema.table().to_owned(), index: layout.name.to_string() }
}

/// Checks that a program may have the tables of the entity, and the handle that of the catalog.
fn check_names(tables: &Tables, schema: Schema) -> Result<()> {
    schema.layouts.iter().try_for_each(|layout| check_name(tables, layout))?;
    tables.check_table_name(&Record::INFO.layouts[0].table)?;
    if schema.events.is_some() { tables.check_table_name(MARKS) } else { Ok(()) }
}

/// Checks that a program may have this table, or tables with this name and the digits of a slice.
pub fn check_name(tables: &Tables, layout: &LayoutInfo) -> Result<()> {
    limits::check_not_reserved(&layout.table)?;
    let name = layout.slice.as_ref().map(|slice| slice::at(slice, &layout.table, Ticks::UNIX_EPOCH).table);
    tables.check_table_name(name.as_deref().unwrap_or(&layout.table))
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use table_derive::TableEntity;

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
