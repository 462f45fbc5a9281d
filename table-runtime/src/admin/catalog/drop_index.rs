//! Dropping an index: deleting its rows, and removing its record.

use table_model::{LayoutInfo, TableEntity, unstable::layout::KeyPattern};
use table_store::{Error, Result, RowRef, backend::Scan, unstable::observe::Running};

use super::{CatalogChange, Comparison, delete_rows, version};
use crate::{
    admin::{
        jobs::{Job, JobKind, JobOptions, Progress},
        scan::{Section, all_rows},
    },
    client::{
        pacing,
        stored::Stored,
        tables::{Catalog, Record, State, Tables},
    },
    write::index::Schema,
};

/// The drop of an index: see [`Tables::drop_index`].
#[derive(Debug)]
pub struct DropIndex {
    tables: Tables,
    schema: Schema,
    index: String,
}

/// The result of dropping an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedIndex {
    /// Number of index rows that were deleted.
    pub rows: usize,
}

impl JobKind for DropIndex {
    type Done = DroppedIndex;
    type Error = table_store::Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.tables.begin_operation(|| self.schema.operation("drop_index"))
    }

    async fn run(self, options: JobOptions<'_, Progress>) -> Result<DroppedIndex> {
        if self.schema.layouts.iter().skip(1).any(|layout| layout.name == self.index) {
            let problem =
                format!("the struct has the index `{0}`; remove it there before `drop_index(\"{0}\")`", self.index);
            return Err(self.schema.refused(problem));
        }
        let layout = self.end().await?;
        let rows = self.delete_rows(&layout, options).await?;
        self.forget().await?;
        Ok(DroppedIndex { rows })
    }
}

impl Tables {
    /// Drops an index that the struct does not have any more: records that it is dropped, deletes its rows in
    /// transactions, and forgets it. Await it.
    ///
    /// Call it when no running program has the index. It first waits until no program relies on the index, for the length
    /// of a [lease](Self::with_lease) and a tenth of it: 66 seconds by default. A program that still has the index gets
    /// [`Error::IndexDropped`] or [`Error::IndexNotRecorded`] from its queries, and its writes may leave rows; a table
    /// that only held the index is left empty, and not deleted, so that these writes succeed. After the drop, an index of
    /// this name can be added again, also with another layout. It then has to be built.
    ///
    /// The drop takes a request for each page of 1000 rows, and one for each 100 rows of a partition. A drop that was
    /// stopped is continued by another one.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// // The struct had `#[index(title)]` before.
    /// let dropped = tables.drop_index::<Post>("title").await?;
    /// println!("{} rows were deleted", dropped.rows);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Query`] if the struct has the index, or no index of this name is recorded, and the errors of the
    /// store.
    pub fn drop_index<'a, E: TableEntity>(&self, index: &str) -> Job<'a, DropIndex> {
        Job::new(DropIndex { tables: self.clone(), schema: Schema::of::<E>(), index: index.to_owned() })
    }
}

impl DropIndex {
    /// Records that the index is dropped, and waits until no handle relies on it. Returns its recorded layout.
    async fn end(&self) -> Result<LayoutInfo> {
        let (mut waited, mut delays) = (None, pacing::delays());
        loop {
            let (catalog, mut record) = self.read().await?;
            let damaged = || self.schema.refused(format!("the record of the index `{}` is damaged", self.index));
            let layout = record.layout().ok_or_else(damaged)?.layout;
            record.state = match record.state {
                State::Gone => return Ok(layout),
                State::Ready => State::Leaving,
                State::Leaving if waited.as_ref() == Some(&version(&record)) => State::Gone,
                State::Leaving => {
                    waited = Some(version(&record));
                    self.tables.wait_for_leases().await;
                    continue;
                }
                // No handle holds a lease of it.
                State::Building => State::Gone,
            };
            let mut change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
            change.updated.extend(self.without_index(&catalog, false));
            self.tables.change_catalog(&catalog, change, &mut delays).await?;
        }
    }

    /// Removes the record of the dropped index.
    async fn forget(&self) -> Result<()> {
        let mut delays = pacing::delays();
        loop {
            let (catalog, record) = match self.read().await {
                Ok((catalog, record)) if record.state == State::Gone => (catalog, record),
                // Another drop of the index has removed the record.
                Ok(_) | Err(Error::Query(_)) => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut change = CatalogChange { removed: vec![record], ..CatalogChange::default() };
            change.updated.extend(self.without_index(&catalog, true));
            if self.tables.change_catalog(&catalog, change, &mut delays).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Returns the record of the primary key for an entity whose writers need not know the index any more, or that does not
    /// have it; `None` if it is so recorded.
    fn without_index(&self, catalog: &Catalog, is_forgotten: bool) -> Option<Stored<Record>> {
        let mut primary = catalog.primary(&self.schema.own_id())?.to_stored();
        let recorded = primary.facts();
        let mut facts = recorded.clone();
        facts.required.remove(&self.index);
        if is_forgotten {
            facts.indexes.remove(&self.index);
            facts.defaults.remove(&self.index);
        }
        primary.set_facts(&facts);
        (facts != recorded).then_some(primary)
    }

    /// Reads the catalog, and the record of the index in it.
    async fn read(&self) -> Result<(Catalog, Stored<Record>)> {
        let catalog = self.tables.catalog().await?;
        let compared = Comparison::new(self.schema, &catalog);
        let primary = catalog.primary(&self.schema.own_id());
        if let Some(record) = primary.and_then(|primary| catalog.index(primary, &self.index)) {
            let record = record.to_stored();
            return Ok((catalog, record));
        }
        let known = compared.recorded_indexes();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(self.schema.refused(format!("no index `{}` is recorded; there is {known}", self.index)))
    }

    /// Deletes all rows of the index, and returns their number.
    async fn delete_rows(&self, layout: &LayoutInfo, mut options: JobOptions<'_, Progress>) -> Result<usize> {
        let pattern = KeyPattern::of(layout);
        let section = Section { layout: 0, scan: recorded_rows(layout), is_slice: true };
        let scan = options.scan(self.tables.backend(), vec![section]);
        let includes = |_, row: RowRef<'_>| pattern.includes(row.partition_key, row.row_key);
        let report = |rows| options.report(|| Progress { index_rows: rows, ..Progress::default() });
        delete_rows(&self.tables, scan, includes, report).await
    }
}

/// Returns a scan of the rows of a recorded layout. Rows of other layouts may be among them.
pub fn recorded_rows(layout: &LayoutInfo) -> Scan {
    let select = Some(std::borrow::Cow::Borrowed(&[][..]));
    Scan { select, ..all_rows(layout, layout.table.clone()) }
}
