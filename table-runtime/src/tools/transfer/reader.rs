//! Reading of the rows of tables, page by page.

use std::{collections::VecDeque, ops::Bound, sync::Arc};

use serde::{Deserialize, Serialize};
use table_model::{
    TableEntity,
    unstable::{
        entity::{KIND, PENDING},
        event::{self, CHANGE, MARKS},
    },
};
use table_store::{
    Error, Result, RowRef, RowSet,
    backend::{BackendExt, Continuation, KeyRange, Page, Partitions, Scan},
    unstable::{ScanProgress, client::Client, limits},
};

use super::{TransferError, check, is_forbidden, is_own_catalog, is_record, may_be_catalog, prefix_of_catalog};
use crate::{
    client::tables::{Record, Tables},
    write::RowHasher,
};

/// The rows that a transfer reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// `None` for all tables.
    tables: Option<Vec<String>>,
    partition: Option<String>,
    from: Option<String>,
    to: Option<String>,
    page: Option<u32>,
    keys_only: bool,
    events: bool,
}

impl Selection {
    /// All rows of all tables, those of indexes and of the catalog included, and without [events](Self::with_events).
    pub fn all() -> Self {
        Self::default()
    }

    /// The rows of one table. Its name is taken as it is given if the credential may not list tables: a shared access
    /// signature for one table may not. So are the names of the tables that the service itself writes, such as
    /// `$MetricsHourPrimaryTransactionsBlob`, which it lists for nobody.
    pub fn table(table: impl Into<String>) -> Self {
        Self::tables([table])
    }

    /// The rows of these tables, in this order.
    pub fn tables(tables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tables: Some(tables.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// The rows of one partition of a table.
    pub fn partition(table: impl Into<String>, partition_key: impl Into<String>) -> Self {
        Self::table(table).in_partition(partition_key)
    }

    /// Keeps the rows of this partition.
    #[must_use]
    pub fn in_partition(mut self, partition_key: impl Into<String>) -> Self {
        self.partition = Some(partition_key.into());
        self
    }

    /// Keeps the rows whose row keys are between these, `to` included.
    #[must_use]
    pub fn row_keys(mut self, from: Option<String>, to: Option<String>) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// Sets the number of rows of a page, 1 to 1000, which is the default.
    #[must_use]
    pub fn page(mut self, rows: u32) -> Self {
        self.page = Some(rows.clamp(1, limits::PAGE));
        self
    }

    /// Reads also [events](crate::guide::events) that no relay has delivered, those that were put aside, and the rows of
    /// `TableEvents`, by which relays find them. Otherwise they are left out: a copy of a store is not the place to send its
    /// mails once more.
    #[must_use]
    pub fn with_events(mut self) -> Self {
        self.events = true;
        self
    }

    /// Checks whether the selection has a row of a table.
    pub(super) fn has(&self, row: RowRef<'_>) -> bool {
        self.events || !event::is_stored_event(row)
    }

    /// Reads the rows without their properties, except `EntityType` and `IndexPending`, which say whether a row is an
    /// entity: see [`Inventory::is_entity`](crate::inventory::Inventory::is_entity); and `EventChange` of an event.
    #[must_use]
    pub fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }

    /// Reads whole rows.
    pub(super) fn with_properties(self) -> Self {
        Self { keys_only: false, ..self }
    }
}

/// A reader of rows, table by table in the order of their names, the catalog last, and of each table in key order.
///
/// ```
/// use table_runtime::{Tables, transfer::{ReadPart, RowReader, RowWriter, Selection}};
///
/// # async fn example(from: Tables, to: Tables) -> Result<(), table_runtime::transfer::TransferError> {
/// let mut reader = RowReader::new(&from, Selection::all()).await?;
/// let mut writer = RowWriter::new(&to);
/// while let Some(part) = reader.next().await? {
///     writer.write_part(&part).await?;
/// }
/// writer.flush().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RowReader {
    /// A snapshot, if the store has them.
    pub(super) backend: Arc<Client>,
    pub(super) tables: VecDeque<String>,
    /// Tables that were not found in a list, so that they may not exist.
    pub(super) unlisted: Vec<String>,
    pub(super) selection: Selection,
    /// True if rows that cannot be copied are read too.
    as_stored: bool,
    /// True if the table at the front was begun.
    is_begun: bool,
    progress: ScanProgress,
    rows: u64,
    pub(super) catalogs: Vec<(String, u128)>,
}

/// A part of the rows that a [`RowReader`] reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadPart {
    /// A table begins.
    Table(String),
    /// A page of its rows.
    Rows {
        /// The table.
        table: String,
        /// The rows, in key order.
        rows: RowSet,
    },
}

/// The position of a reader, as the text of its cursor.
#[derive(Serialize, Deserialize)]
struct ReaderPosition {
    tables: VecDeque<String>,
    unlisted: Vec<String>,
    selection: Selection,
    is_begun: bool,
    from: Option<(String, Option<String>)>,
    rows: u64,
    catalogs: Vec<(String, String)>,
}

impl RowReader {
    /// Begins to read. Takes a snapshot if the store has them. Lists the tables, and for all of them reads the catalog.
    ///
    /// # Errors
    /// Returns [`Error::TableNotFound`] if a selected table does not exist, and the errors of the store.
    pub async fn new(tables: &Tables, selection: Selection) -> Result<Self, TransferError> {
        let backend = snapshot(tables)?;
        let selected = selection.tables.clone();
        let mut reader = Self {
            backend,
            tables: VecDeque::new(),
            unlisted: Vec::new(),
            selection,
            as_stored: false,
            is_begun: false,
            progress: ScanProgress::default(),
            rows: 0,
            catalogs: Vec::new(),
        };
        if let Some(selected) = selected {
            for table in selected {
                let listed = reader.listed(&table).await?;
                if listed.is_none() {
                    reader.unlisted.push(table.clone());
                }
                reader.tables.push_back(listed.unwrap_or(table));
            }
            return Ok(reader);
        }
        let mut names = reader.backend.list_tables("").await?;
        for name in names.iter().filter(|name| may_be_catalog(name)) {
            if is_own_catalog(name) || reader.has_records(name).await? {
                let hash = reader.hash(name).await?;
                reader.catalogs.push((name.clone(), hash));
            }
        }
        names.sort_by_cached_key(|name| (reader.is_catalog(name), name.to_ascii_lowercase()));
        reader.tables = names.into();
        Ok(reader)
    }

    /// Continues at the [cursor](Self::cursor) of another reader of the same store. Takes a new snapshot, so the rows
    /// after the cursor are read as of another moment than those before.
    ///
    /// # Errors
    /// Returns [`TransferError::Cursor`] if the text is no cursor, and the errors of the store.
    pub fn resume(tables: &Tables, cursor: &str) -> Result<Self, TransferError> {
        let position: ReaderPosition = serde_json::from_str(cursor).map_err(|_| TransferError::Cursor)?;
        let hash = |(table, hash): (String, String)| Some((table, u128::from_str_radix(&hash, 16).ok()?));
        let from = position.from.map(|(partition_key, row_key)| Continuation { partition_key, row_key });
        let catalogs = position.catalogs.into_iter().map(hash).collect::<Option<_>>();
        Ok(Self {
            backend: snapshot(tables)?,
            tables: position.tables,
            unlisted: position.unlisted,
            selection: position.selection,
            as_stored: false,
            is_begun: position.is_begun,
            progress: ScanProgress::at(from),
            rows: position.rows,
            catalogs: catalogs.ok_or(TransferError::Cursor)?,
        })
    }

    /// Returns the name of a table as the store lists it; `None` if it lists it for nobody, or not for this credential.
    async fn listed(&self, table: &str) -> Result<Option<String>> {
        if table.starts_with('$') {
            return Ok(None);
        }
        let is_named = |name: &String| name.eq_ignore_ascii_case(table);
        // The service ignores case, except in a list.
        for beginning in [table, ""] {
            let names = match self.backend.list_tables(beginning).await {
                Err(error) if is_forbidden(&error) => return Ok(None),
                names => names?,
            };
            if let Some(found) = names.into_iter().find(is_named) {
                return Ok(Some(found));
            }
        }
        Err(Error::TableNotFound(table.to_owned().into()))
    }

    /// Reads also rows with a property that cannot be copied, which are an error otherwise: [`TransferError::Unreadable`].
    /// [`TableRow::check`](crate::transfer::TableRow::check) finds them. A [cursor](Self::cursor) does not hold this.
    #[must_use]
    pub fn as_stored(mut self) -> Self {
        self.as_stored = true;
        self
    }

    /// Returns the position after the last part that was read, from which [`resume`](Self::resume) continues.
    pub fn cursor(&self) -> String {
        let position = ReaderPosition {
            tables: self.tables.clone(),
            unlisted: self.unlisted.clone(),
            selection: self.selection.clone(),
            is_begun: self.is_begun,
            from: self.progress.next().cloned().map(|from| (from.partition_key, from.row_key)),
            rows: self.rows,
            catalogs: self.catalogs.iter().map(|(table, hash)| (table.clone(), format!("{hash:x}"))).collect(),
        };
        // Cannot fail: texts and numbers.
        serde_json::to_string(&position).unwrap_or_default()
    }

    /// Returns the number of rows that were read, by the readers before a cursor too.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the next part with one request, or begins the next table; `None` at the end. If the future is dropped, the
    /// part is read again by the next call.
    ///
    /// # Errors
    /// Returns [`TransferError::Unreadable`] for a value that cannot be copied, [`TransferError::CatalogChanged`] if
    /// the catalog was changed meanwhile, and the errors of the store. The next call tries again.
    pub async fn next(&mut self) -> Result<Option<ReadPart>, TransferError> {
        loop {
            let Some(table) = self.tables.front().cloned() else { return Ok(None) };
            if !self.is_begun {
                self.check_catalog(&table).await?;
                self.is_begun = true;
                return Ok(Some(ReadPart::Table(table)));
            }
            if self.leaves_out(&table) {
                self.end_table();
                continue;
            }
            let from = self.progress.next();
            let Page { mut rows, next } = match self.backend.query(&self.scan(&table), from).await {
                // The table was deleted after the tables were listed.
                Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_))
                    if from.is_none() && !self.unlisted.contains(&table) =>
                {
                    Page::default()
                }
                page => page?,
            };
            if !self.as_stored {
                rows.iter().try_for_each(|row| check(&table, row))?;
            }
            self.backend.advance(&table, &mut self.progress, next)?;
            if rows.iter().any(|row| !self.selection.has(row)) {
                let all = std::mem::take(&mut rows);
                rows.extend(all.iter().filter(|row| self.selection.has(*row)));
            }
            self.rows += rows.len() as u64;
            if self.progress.has_ended() {
                self.end_table();
            }
            if !rows.is_empty() {
                return Ok(Some(ReadPart::Rows { table, rows }));
            }
        }
    }

    fn end_table(&mut self) {
        self.tables.pop_front();
        (self.is_begun, self.progress) = (false, ScanProgress::default());
    }

    /// Checks whether the rows of a table are left out: they are marks, and only a selection of tables or of events has them.
    pub(super) fn leaves_out(&self, table: &str) -> bool {
        let Selection { tables, events, .. } = &self.selection;
        let prefixes = self.catalogs.iter().filter_map(|(catalog, _)| prefix_of_catalog(catalog));
        let is_marks = |prefix: &str| table.eq_ignore_ascii_case(&format!("{prefix}{MARKS}"));
        tables.is_none() && !events && prefixes.chain([""]).any(is_marks)
    }

    pub(super) fn is_catalog(&self, table: &str) -> bool {
        self.catalogs.iter().any(|(catalog, _)| catalog == table)
    }

    /// Checks that a table, if it is a catalog, was not changed since the tables were listed.
    pub(super) async fn check_catalog(&self, table: &str) -> Result<(), TransferError> {
        match self.catalogs.iter().find(|(catalog, _)| catalog == table) {
            Some((_, before)) if self.hash(table).await? != *before => {
                Err(TransferError::CatalogChanged(table.to_owned()))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn scan(&self, table: &str) -> Scan {
        let Selection { partition, from, to, page, keys_only, .. } = self.selection.clone();
        let partitions = partition.map_or(Partitions::ALL, Partitions::One);
        let bound = |key: Option<String>| key.map_or(Bound::Unbounded, Bound::Included);
        let rows = KeyRange { from: bound(from), to: bound(to) };
        let select = keys_only.then_some([KIND, PENDING, CHANGE].as_slice().into());
        let page = page.unwrap_or(limits::PAGE);
        Scan { partitions, rows, select, page, ..Scan::all(table.to_owned()) }
    }

    /// Checks whether a table with the name of a prefix's catalog is one, by its first rows.
    async fn has_records(&self, table: &str) -> Result<bool> {
        let partitions = Partitions::One(Record::INFO.layouts[0].partition_prefix.to_string());
        // Neither bounds nor the number of rows that the user has selected.
        let scan = Scan { partitions, ..Scan::all(table.to_owned()) };
        let mut progress = ScanProgress::default();
        while !progress.has_ended() {
            let rows = match self.backend.next_page(&scan, &mut progress).await {
                Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) => return Ok(false),
                rows => rows?,
            };
            if rows.iter().any(|row| is_record(row.partition_key, row.properties)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the hash of a catalog's rows.
    async fn hash(&self, table: &str) -> Result<u128> {
        let (mut hasher, mut all) = (RowHasher::default(), RowHasher::default());
        let read = |row: RowRef<'_>| {
            let hash = hasher.text(row.partition_key).text(row.row_key).properties(row.properties).finish();
            all.text(&format!("{hash:x}"));
            Ok(())
        };
        self.backend.read_all(&self.scan(table), read).await?;
        Ok(all.finish())
    }
}

/// Returns a snapshot of the tables' store, or the store itself if it has none.
fn snapshot(tables: &Tables) -> Result<Arc<Client>> {
    Ok(tables.backend().snapshot()?.unwrap_or_else(|| Arc::clone(tables.backend())))
}
