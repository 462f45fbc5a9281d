//! Writing of rows as they are, in transactions.

use std::{collections::HashSet, fmt, sync::Arc};

use futures_util::{StreamExt, TryStreamExt, stream};
use table_store::{
    Error, Result,
    backend::{Action, BackendExt, BoxFuture, Group, Operation},
    unstable::{client::Client, limits},
};

use super::{ReadPart, TableRow, TransferError, is_forbidden, is_own_catalog, is_record, may_be_catalog};
use crate::{client::tables::Tables, write::RowHasher};

/// Maximum number of transactions that wait to be written.
const GROUPS: usize = 64;
/// Number of bytes of properties after which a transaction is full. Their JSON may be several times as large.
const BYTES: usize = 512 * 1024;
/// Number of times that a write is tried whose answer was lost. Each writes the same rows, which no other program may
/// write meanwhile.
const ATTEMPTS: usize = 5;

/// A writer of rows, new or in place of those with the same keys. It writes no index rows: they are rows of their own.
///
/// Rows are packed into transactions, which are written concurrently. To write a row again does no harm, so a transfer
/// that was interrupted can be repeated from a cursor that it had after a [`flush`](Self::flush).
pub struct RowWriter {
    backend: Arc<Client>,
    /// Names of tables that exist, in lower case.
    tables: Arc<HashSet<String>>,
    /// Maximum number of transactions in flight.
    side_by_side: usize,
    is_dry: bool,
    groups: Vec<Group>,
    /// Hashes of the rows of `groups`. Writes of one row must not run concurrently.
    waiting: HashSet<u128>,
    hasher: RowHasher,
    /// Bytes of the last group.
    bytes: usize,
    rows: u64,
}

impl RowWriter {
    /// Creates a writer of rows to these tables.
    pub fn new(tables: &Tables) -> Self {
        Self::with(tables.backend(), Arc::default(), tables.backend().side_by_side(), false)
    }

    fn with(backend: &Arc<Client>, tables: Arc<HashSet<String>>, side_by_side: usize, is_dry: bool) -> Self {
        Self {
            backend: Arc::clone(backend),
            tables,
            side_by_side: side_by_side.max(1),
            is_dry,
            groups: Vec::new(),
            waiting: HashSet::new(),
            hasher: RowHasher::default(),
            bytes: 0,
            rows: 0,
        }
    }

    /// Sets the number of transactions in flight, and whether rows are only checked.
    pub(super) fn options(self, side_by_side: Option<usize>, is_dry: bool) -> Self {
        Self::with(&self.backend, self.tables, side_by_side.unwrap_or(self.side_by_side), is_dry)
    }

    /// Returns one of so many writers that write at the same time, to the tables that this one has created.
    pub(super) fn beside(&self, writers: usize) -> Self {
        Self::with(&self.backend, Arc::clone(&self.tables), self.side_by_side / writers, self.is_dry)
    }

    /// Returns the number of rows that were given to the writer.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Creates the table unless it exists. A credential that may not create tables is no error: the table may exist, and
    /// [`flush`](Self::flush) says so if it does not.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn create_table(&mut self, table: &str) -> Result<(), TransferError> {
        let name = table.to_ascii_lowercase();
        if !self.tables.contains(&name) {
            limits::check_table_name(table)?;
            if !self.is_dry {
                match self.backend.create_table(table).await {
                    Err(error) if is_forbidden(&error) => {}
                    created => drop(created?),
                }
            }
            Arc::make_mut(&mut self.tables).insert(name);
        }
        Ok(())
    }

    /// Writes a part that a reader read, now or later.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write).
    pub async fn write_part(&mut self, part: &ReadPart) -> Result<(), TransferError> {
        match part {
            ReadPart::Table(table) => self.create_table(table).await,
            ReadPart::Rows { table, rows } => {
                for row in rows.iter() {
                    self.write(TableRow::of(table, row)).await?;
                }
                Ok(())
            }
        }
    }

    /// Writes a row, now or later. Creates its table unless it exists. [`flush`](Self::flush) writes what waits.
    ///
    /// # Errors
    /// Returns [`TransferError::CatalogDiffers`] for a row of the catalog if the store has another one there. Returns
    /// the errors of the store, which may be about a row that was given earlier; [`Error::Limit`] if a row exceeds a
    /// limit of the service. Rows that were given since the last flush may have been written or not.
    pub async fn write(&mut self, row: TableRow) -> Result<(), TransferError> {
        self.create_table(&row.table).await?;
        let is_record = || may_be_catalog(&row.table) && is_record(&row.partition_key, row.properties.as_ref());
        if is_own_catalog(&row.table) || is_record() {
            // Nothing else may be recorded before its rows are written.
            self.flush_others(&row.table).await?;
            self.check_record(&row).await?;
        }
        if self.is_dry {
            row.check()?;
            self.rows += 1;
            return Ok(());
        }
        let (table, partition) = (&row.table, &row.partition_key);
        let hash = self.hasher.text(&table.to_ascii_lowercase()).text(partition).text(&row.row_key).finish();
        if self.waiting.contains(&hash) {
            self.flush().await?;
        }
        let bytes = row.properties.as_bytes().len() + row.row_key.len();
        let fits = self.groups.last().is_some_and(|group| {
            group.table == *table
                && group.partition_key == *partition
                && group.operations.len() < limits::OPERATIONS
                && self.bytes + bytes <= BYTES
        });
        if !fits && self.groups.len() >= GROUPS {
            self.flush().await?;
        }
        self.waiting.insert(hash);
        self.rows += 1;
        let operation = Operation { row_key: row.row_key, action: Action::Upsert(row.properties) };
        match self.groups.last_mut() {
            Some(group) if fits => {
                self.bytes += bytes;
                group.operations.push(operation);
            }
            _ => {
                self.bytes = bytes;
                let (table, partition_key) = (row.table.into(), row.partition_key);
                self.groups.push(Group { table, partition_key, operations: vec![operation] });
            }
        }
        Ok(())
    }

    /// Writes all rows that were given.
    ///
    /// # Errors
    /// Returns the errors of the store. The rows that wait are then kept, and written by the next flush.
    pub async fn flush(&mut self) -> Result<(), TransferError> {
        let mut writes: Vec<BoxFuture<'_, Result<()>>> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            writes.push(Box::pin(write_group(&self.backend, group.clone())));
        }
        stream::iter(writes).buffer_unordered(self.side_by_side).try_collect::<()>().await?;
        self.groups.clear();
        self.waiting.clear();
        Ok(())
    }

    async fn flush_others(&mut self, catalog: &str) -> Result<(), TransferError> {
        if self.groups.iter().any(|group| group.table != catalog) { self.flush().await } else { Ok(()) }
    }

    /// Checks that the store has no other row in place of a record of its catalog.
    async fn check_record(&self, row: &TableRow) -> Result<(), TransferError> {
        let stored = match self.backend.get(&row.table, &row.partition_key, &row.row_key, None).await {
            // A dry run does not create it.
            Err(Error::TableNotFound(_)) if self.is_dry => None,
            stored => stored?,
        };
        let hash = |properties: &table_store::Properties| RowHasher::default().properties(properties.iter()).finish();
        match stored {
            Some(stored) if hash(&stored.properties) != hash(&row.properties) => {
                Err(TransferError::CatalogDiffers { row: Box::new(row.id()) })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("backend", &self.backend).field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Writes a transaction, in parts if it is too large for one.
async fn write_group(backend: &Client, group: Group) -> Result<()> {
    let mut parts = vec![group];
    while let Some(mut part) = parts.pop() {
        let mut lost = Vec::new();
        let written = loop {
            let written = match part.check() {
                Ok(()) => backend.execute(&part).await,
                Err(error) => Err(error),
            };
            match (written, lost.len() + 1 < ATTEMPTS) {
                (Err(unknown @ Error::OutcomeUnknown(_)), true) => lost.push(unknown),
                // An earlier attempt may have been applied, whatever this one says.
                (Err(error), _) => break Err(lost.pop().unwrap_or(error)),
                (Ok(_), _) => break Ok(()),
            }
        };
        match written {
            Ok(()) => {}
            // A part is too large; or Azurite cannot read one of its keys in a transaction, or takes no transaction with a
            // shared access signature.
            Err(error) if part.operations.len() > 1 && (matches!(error, Error::Limit(_)) || is_forbidden(&error)) => {
                let operations = part.operations.split_off(part.operations.len() / 2);
                let rest = Group { table: part.table.clone(), partition_key: part.partition_key.clone(), operations };
                parts.extend([rest, part]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
