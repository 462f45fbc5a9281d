//! `Tables::copy_to`: all rows of a store into another one.

use std::fmt;

use table_store::{backend::BoxFuture, unstable::observe::Running};

use super::{RowWriter, TableRow, TransferError, source::Source};
use crate::{
    admin::{
        jobs::{Job, JobKind, JobOptions, OfPartitions, Progress, Rehearsable, Resumable, Sharded, hash_described},
        scan::ScannedPage,
    },
    client::tables::Tables,
};

/// A copy of all rows: see [`Tables::copy_to`].
pub struct CopyRows {
    from: Tables,
    to: Tables,
}

/// What a copy has written, or a dry run has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopiedRows {
    /// Number of rows.
    pub rows: u64,
}

impl Resumable for CopyRows {}
impl Rehearsable for CopyRows {}
impl OfPartitions for CopyRows {}
impl Sharded for CopyRows {}

impl JobKind for CopyRows {
    type Done = CopiedRows;
    type Error = TransferError;
    type Progress = Progress;

    fn hash(&self) -> u64 {
        hash_described("copy_to", "")
    }

    fn begin(&self) -> Option<Box<Running>> {
        None
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<CopiedRows, TransferError> {
        let pages = options.pages(self.from.backend());
        let mut writer = RowWriter::new(&self.to).options(None, options.dry_run);
        let mut source = Source::new(&self.from, self.hash(), &mut options).await?;
        while let Some(tables) = source.next().await? {
            for table in &tables {
                writer.create_table(table).await?;
            }
            let writer = &writer;
            let work = |page: ScannedPage| -> BoxFuture<'_, _> {
                Box::pin(async move {
                    let mut writer = writer.beside(pages);
                    for row in page.rows() {
                        writer.write(TableRow::of(&page.table, row)).await?;
                    }
                    writer.flush().await
                })
            };
            source.each(&tables, &work, |_, _| Ok(())).await?;
        }
        Ok(CopiedRows { rows: source.rows() as u64 })
    }
}

impl fmt::Debug for CopyRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyRows").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl Tables {
    /// Writes all rows of all tables to another store, those of indexes and of the catalog included: as a
    /// [`dump`](Self::dump) that the store [loads](Self::load), without the lines. It reads as a
    /// dump does, and what a load does with the rows that a store has, it does with those of the target. Await it.
    ///
    /// Each page is written before the next one of its part is read, so what is before a cursor is in the target. A
    /// limit to [partitions](Job::partitions) or a [share](Job::shard) holds for the catalog too: copy the part that
    /// has its rows last. A [dry run](Job::dry_run) reads and checks the rows, and compares the catalogs.
    ///
    /// ```
    /// # use table_runtime::{Tables, transfer::TransferError};
    /// # async fn example(from: Tables, to: Tables) -> Result<(), TransferError> {
    /// let copied = from.copy_to(&to).progress(|progress| eprintln!("{} rows", progress.rows)).await?;
    /// println!("{} rows", copied.rows);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of a dump, [`TransferError::CatalogDiffers`] if the target's catalog has other records, and
    /// the errors of the target. What was written before stays.
    pub fn copy_to<'a>(&self, target: &Self) -> Job<'a, CopyRows> {
        Job::new(CopyRows { from: self.clone(), to: target.clone() })
    }
}
