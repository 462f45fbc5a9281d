//! `Tables::load`: the rows of lines into a store.

use std::{fmt, io};

use table_store::unstable::observe::Running;

use super::{Line, RowWriter, TransferError};
use crate::{
    admin::jobs::{Job, JobKind, JobOptions, JobPosition, Progress, Rehearsable, Resumable, hash_described},
    client::{pacing, tables::Tables},
};

/// Number of lines after which the progress is reported, and other tasks run.
const LINES: u64 = 1000;

/// A load of lines: see [`Tables::load`].
pub struct Load<R> {
    tables: Tables,
    /// In a box, so that a job can be polled whatever the reader is.
    reader: Box<R>,
}

impl<R: io::BufRead + Send> Resumable for Load<R> {
    fn hash(&self) -> u64 {
        hash_described("load", "")
    }
}

impl<R: io::BufRead + Send> Rehearsable for Load<R> {}

impl<R: io::BufRead + Send> JobKind for Load<R> {
    type Done = Loaded;
    type Error = TransferError;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        None
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<Loaded, TransferError> {
        let job = self.hash();
        let Self { tables, mut reader } = self;
        let done = options.begin()?.map_or(0, |position| position.lines);
        let mut writer = RowWriter::new(&tables).options(options.side_by_side, options.dry_run);
        let (mut number, mut skipped, mut line, mut ended) = (0, 0, String::new(), None);
        loop {
            let has_line = reader.read_line(&mut line)? > 0;
            number += u64::from(has_line);
            let problem = |problem: String| TransferError::Line { number, problem };
            match line.trim() {
                "" => {}
                _ if ended.is_some() => return Err(problem("there are lines after the last one".to_owned())),
                text => match text.parse().map_err(problem)? {
                    Line::End(rows) => ended = Some(rows),
                    Line::Row(_) if number <= done => skipped += 1,
                    Line::Table(_) if number <= done => {}
                    Line::Table(table) => writer.create_table(&table).await?,
                    Line::Row(row) => writer.write(row).await?,
                },
            }
            line.clear();
            if has_line && number % LINES != 0 {
                continue;
            }
            if !has_line || options.on_progress.is_some() {
                // What is before a cursor is in the store.
                writer.flush().await?;
            }
            let rows = writer.rows();
            if number > done || !has_line {
                options.report(|| {
                    let position = JobPosition { lines: number, ..JobPosition::of(job, String::new(), Vec::new()) };
                    Progress {
                        rows: usize::try_from(rows).unwrap_or(usize::MAX),
                        cursor: position.text(),
                        ..Progress::default()
                    }
                });
            }
            if !has_line {
                let found = rows + skipped;
                return if ended == Some(found) {
                    Ok(Loaded { rows })
                } else {
                    Err(TransferError::Incomplete { found })
                };
            }
            pacing::yield_now().await;
        }
    }
}

/// What a load has written, or a dry run has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// Number of rows.
    pub rows: u64,
}

impl Tables {
    /// Writes the rows of [lines](crate::transfer) that [`dump`](Self::dump) or the command `tables export` wrote: with
    /// the same keys and properties, and with new ETags and time stamps. Creates their tables. Await it.
    ///
    /// Rows that the store has at the same keys are replaced, and its other rows stay. Index rows are rows like others,
    /// so load a whole dump into an empty store; in a store with other entities, [`verify`](Self::verify) the indexes
    /// afterwards. To load the same lines again does no harm. A transaction whose answer was lost is sent again, so no
    /// other program may write these rows meanwhile.
    ///
    /// Rows of one partition that follow each other are written in transactions of up to 100 rows, several of which are
    /// in flight: as many as are set as [pages](Job::side_by_side). The reader is read line by line, and the task waits
    /// for it meanwhile. With a function for the [progress](Job::progress), what waits is written before each report,
    /// after every 1000 lines. A load that [continues](Job::resume_from) gets the same lines again and writes those
    /// after its cursor; a [dry run](Job::dry_run) checks the lines, and the catalog of the store.
    ///
    /// # Errors
    /// Returns [`TransferError::Line`] for a line that is no row, and [`TransferError::Incomplete`] if the last line is
    /// missing or states another number of rows; the rows before it were written.
    /// Returns [`TransferError::CatalogDiffers`] if the store's catalog has other records, and the errors of the store.
    pub fn load<'a, R: io::BufRead + Send + 'a>(&self, reader: R) -> Job<'a, Load<R>> {
        Job::new(Load { tables: self.clone(), reader: Box::new(reader) })
    }
}

impl<R> fmt::Debug for Load<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").field("tables", &self.tables).finish_non_exhaustive()
    }
}
