//! `Tables::copy_to`: all rows of a store into another one.

use std::fmt;

use table_store::{Error, backend::BoxFuture, unstable::observe::Running};

use super::{RowWriter, Selection, TableRow, TransferError, source::Source};
use crate::{
    admin::{
        jobs::{Job, JobKind, JobOptions, OfPartitions, Progress, Rehearsable, Resumable, Sharded, hash_described},
        scan::ScannedPage,
    },
    client::tables::Tables,
};

/// A copy of all rows: see [`Tables::copy_to`].
pub struct CopyRows<'a> {
    from: Tables,
    to: Tables,
    selection: Selection,
    on_invalid: Option<InvalidCallback<'a>>,
}

/// The function that receives the error of each row that is skipped.
type InvalidCallback<'a> = Box<dyn FnMut(&Error) + Send + 'a>;

/// What a copy has written, or a dry run has checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopiedRows {
    /// Number of rows.
    pub rows: u64,
}

impl Resumable for CopyRows<'_> {
    fn hash(&self) -> u64 {
        hash_described("copy_to", "")
    }
}

impl Rehearsable for CopyRows<'_> {}
impl OfPartitions for CopyRows<'_> {}
impl Sharded for CopyRows<'_> {}

impl JobKind for CopyRows<'_> {
    type Done = CopiedRows;
    type Error = TransferError;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        None
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<CopiedRows, TransferError> {
        let job = self.hash();
        let Self { from, to, selection, mut on_invalid } = self;
        let (pages, skips) = (options.pages(from.backend()), on_invalid.is_some());
        let mut writer = RowWriter::new(&to).options(None, options.dry_run);
        let mut source = Source::new(&from, selection, job, &mut options).await?;
        source.as_stored = skips;
        let mut skipped = 0;
        while let Some(tables) = source.next().await? {
            for table in &tables {
                writer.create_table(table).await?;
            }
            let writer = &writer;
            let work = |page: ScannedPage| -> BoxFuture<'_, _> {
                Box::pin(async move {
                    let (mut writer, mut invalid) = (writer.beside(pages), Vec::new());
                    for row in page.rows() {
                        let row = TableRow::of(&page.table, row);
                        match skips.then(|| row.check()) {
                            Some(Err(error)) => invalid.push(error),
                            _ => writer.write(row).await?,
                        }
                    }
                    writer.flush().await?;
                    Ok(invalid)
                })
            };
            let done = |_: &[String], invalid: Option<Vec<Error>>| {
                for error in invalid.unwrap_or_default() {
                    skipped += 1;
                    if let Some(report) = &mut on_invalid {
                        report(&error);
                    }
                }
                Ok(())
            };
            source.each(&tables, &work, done).await?;
        }
        Ok(CopiedRows { rows: source.rows() as u64 - skipped })
    }
}

impl<'a> Job<'a, CopyRows<'a>> {
    /// Copies these rows, with all of their properties, instead of those of all tables. The catalog is one of the tables
    /// that a selection names or not: a copy without it has rows, and no entities. Events are among them only if the selection
    /// [says so](Selection::with_events).
    pub fn rows(self, selection: Selection) -> Self {
        self.with(|copy, _| copy.selection = selection)
    }

    /// Skips each row that exceeds a limit of the service, and calls the function with its error, before the progress
    /// that counts its page is reported. Otherwise such a row ends the copy.
    pub fn skip_invalid(self, report: impl FnMut(&Error) + Send + 'a) -> Self {
        self.with(|copy, _| copy.on_invalid = Some(Box::new(report)))
    }
}

impl fmt::Debug for CopyRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyRows").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl Tables {
    /// Writes all rows of all tables to another store, those of indexes and of the catalog included, and events left out: as a
    /// [`dump`](Self::dump) that the store [loads](Self::load), without the lines. It reads as a
    /// dump does, and what a load does with the rows that a store has, it does with those of the target. Await it.
    ///
    /// Each page is written before the next one of its part is read, so what is before a cursor is in the target. A
    /// limit to [partitions](Job::partitions) or a [share](Job::shard) holds for the catalog too: copy the part that
    /// has its rows last. [`rows`](Job::rows) selects tables, and [`skip_invalid`](Job::skip_invalid) leaves out rows that
    /// the target cannot store. A [dry run](Job::dry_run) reads and checks the rows, and compares the catalogs.
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
    pub fn copy_to<'a>(&self, target: &Self) -> Job<'a, CopyRows<'a>> {
        Job::new(CopyRows { from: self.clone(), to: target.clone(), selection: Selection::all(), on_invalid: None })
    }
}
