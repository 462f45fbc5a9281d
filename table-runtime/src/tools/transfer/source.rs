//! The rows of a dump or of a copy, read side by side.

use std::ops::ControlFlow;

use table_store::{backend::BoxFuture, error::ParseCursorError};

use super::{RowReader, Selection, TransferError, check};
use crate::{
    admin::{
        jobs::{JobOptions, JobPosition, Progress, hash_described},
        scan::{RowRange, ScannedPage, Section, SideBySide},
    },
    client::tables::Tables,
};

/// The work on a page of rows.
pub(super) type PageWork<'w, T> = dyn Fn(ScannedPage) -> BoxFuture<'w, Result<T, TransferError>> + Send + Sync + 'w;

/// The rows of a store that a job reads: first the tables, together, and then each catalog by itself.
pub(super) struct Source<'o, 'a> {
    reader: RowReader,
    /// True if the work gets rows too that cannot be copied.
    pub(super) as_stored: bool,
    options: &'o mut JobOptions<'a, Progress>,
    /// The position at the end of the tables.
    end: JobPosition,
    resumed: Option<Vec<RowRange>>,
    progress: Progress,
    is_begun: bool,
}

impl<'o, 'a> Source<'o, 'a> {
    /// Takes a snapshot if the store has them, lists the tables and reads the catalogs.
    pub(super) async fn new(
        tables: &Tables,
        selection: Selection,
        job: u64,
        options: &'o mut JobOptions<'a, Progress>,
    ) -> Result<Self, TransferError> {
        let selection = selection.with_properties();
        let described = format!("{selection:?}");
        let reader = RowReader::new(tables, selection).await?;
        // A position counts the tables; and the rows before it are those of these records.
        let version = hash_described("source", &format!("{:?} {:?} {described}", reader.tables, reader.catalogs));
        let version = Some(format!("{version:x}"));
        let resumed = options.begin()?;
        if resumed.as_ref().is_some_and(|position| position.version != version) {
            return Err(table_store::Error::from(ParseCursorError::OtherQuery).into());
        }
        let end = JobPosition { version, ..JobPosition::of(job, options.asked(), Vec::new()) };
        let resumed = resumed.map(|position| position.left);
        Ok(Self { reader, as_stored: false, options, end, resumed, progress: Progress::default(), is_begun: false })
    }

    /// Returns the number of rows that were read.
    pub(super) fn rows(&self) -> usize {
        self.progress.rows
    }

    /// Begins to read: returns the tables that [`each`](Self::each) reads together; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<String>>, TransferError> {
        if !std::mem::replace(&mut self.is_begun, true) {
            let count = self.reader.tables.len() - self.reader.catalogs.len();
            return Ok(Some(self.reader.tables.drain(..count).collect()));
        }
        let Some(catalog) = self.reader.tables.pop_front() else { return Ok(None) };
        self.reader.check_catalog(&catalog).await?;
        Ok(Some(vec![catalog]))
    }

    /// Reads these tables, and does the work on each page. Calls `done` after it, and before the first page of a table
    /// and those behind with the tables that begin.
    pub(super) async fn each<'w, T: Send + 'w>(
        &mut self,
        tables: &[String],
        work: &'w PageWork<'w, T>,
        mut done: impl FnMut(&[String], Option<T>) -> Result<(), TransferError>,
    ) -> Result<(), TransferError> {
        let is_catalog = tables.iter().any(|table| self.reader.is_catalog(table));
        let section = |(layout, table): (usize, &String)| {
            // A table may be deleted after the tables were listed.
            Section { layout, scan: self.reader.scan(table), is_slice: !self.reader.unlisted.contains(table) }
        };
        let read = tables.iter().enumerate().filter(|(_, table)| !self.reader.leaves_out(table));
        let sections = read.map(section).collect();
        let mut scan = self.options.scan(&self.reader.backend, sections);
        if let (Some(left), false) = (&self.resumed, is_catalog) {
            scan = scan.within(left);
        }
        let as_stored = self.as_stored;
        let selection = self.reader.selection.clone();
        let checked = |mut page: ScannedPage| -> BoxFuture<'_, _> {
            page.retain(|row| selection.has(row));
            Box::pin(async move {
                let (layout, rows) = (page.layout, page.rows().count());
                let checked = page.rows().try_for_each(|row| check(&page.table, row));
                let output = match checked {
                    Err(error) if !as_stored => Err(error),
                    _ => work(page).await,
                };
                Ok((layout, rows, output))
            })
        };
        let (mut begun, mut failed) = (0, None);
        let Self { progress, options, end, .. } = self;
        let report = |scan: &SideBySide, (layout, rows, output): (usize, usize, Result<T, TransferError>)| {
            // What is reported after a failure would not have the page that failed.
            if failed.is_some() {
                return ControlFlow::Break(());
            }
            let begins = &tables[begun..begun.max(layout + 1)];
            begun += begins.len();
            if let Err(error) = output.and_then(|output| done(begins, Some(output))) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            progress.rows += rows;
            progress.rows_left = scan.rows_left();
            options.report(|| {
                // A catalog is always read, at the end.
                let left = if is_catalog { Vec::new() } else { scan.left() };
                Progress { cursor: JobPosition { left, ..end.clone() }.text(), ..progress.clone() }
            });
            ControlFlow::Continue(())
        };
        scan.each(&checked, report).await?;
        failed.map_or_else(|| done(&tables[begun..], None), Err)
    }
}
