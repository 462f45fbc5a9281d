//! `Tables::load`: the rows of lines into a store.

use std::{fmt, future::IntoFuture, io};

use table_store::backend::BoxFuture;

use super::{Line, RowWriter, TransferError};
use crate::client::tables::Tables;

/// Number of lines after which other tasks run.
const LINES: u64 = 1000;

/// A load of lines, which runs when it is awaited: see [`Tables::load`].
#[must_use = "nothing is written until it is awaited"]
pub struct Load<'a, R> {
    tables: &'a Tables,
    reader: R,
    on_progress: Option<Box<dyn FnMut(u64) + Send + 'a>>,
}

/// What a load has written.
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
    /// Rows that the store has at the same keys are replaced, and its other rows stay. Index rows are rows like others, so
    /// load a whole dump into an empty store; in a store with other entities, [`verify`](Self::verify) the indexes
    /// afterwards. To load the same lines again does no harm.
    /// A transaction whose answer was lost is sent again, so no other program may write these rows meanwhile.
    ///
    /// Rows of one partition that follow each other are written in transactions of up to 100 rows, several of which are in
    /// flight. The reader is read line by line, and the task waits for it meanwhile.
    ///
    /// # Errors
    /// Returns [`TransferError::Line`] for a line that is no row, and [`TransferError::Incomplete`] if the last line is
    /// missing or states another number of rows; the rows before it were written.
    /// Returns [`TransferError::CatalogDiffers`] if the store's catalog has other records, and the errors of the store.
    pub fn load<R: io::BufRead + Send>(&self, reader: R) -> Load<'_, R> {
        Load { tables: self, reader, on_progress: None }
    }
}

impl<'a, R> Load<'a, R> {
    /// Calls the function with the number of rows now and then.
    pub fn progress(mut self, on_progress: impl FnMut(u64) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }
}

impl<'a, R: io::BufRead + Send + 'a> IntoFuture for Load<'a, R> {
    type Output = Result<Loaded, TransferError>;
    type IntoFuture = BoxFuture<'a, Result<Loaded, TransferError>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { tables, mut reader, mut on_progress } = self;
        Box::pin(async move {
            let mut writer = RowWriter::new(tables);
            let (mut number, mut line, mut ended) = (0, String::new(), None);
            while reader.read_line(&mut line)? > 0 {
                number += 1;
                let problem = |problem: String| TransferError::Line { number, problem };
                match line.trim() {
                    "" => {}
                    _ if ended.is_some() => return Err(problem("there are lines after the last one".to_owned())),
                    text => match text.parse().map_err(problem)? {
                        Line::Table(table) => writer.create_table(&table).await?,
                        Line::Row(row) => writer.write(row).await?,
                        Line::End(rows) => ended = Some(rows),
                    },
                }
                line.clear();
                if number % LINES == 0 {
                    if let Some(on_progress) = &mut on_progress {
                        on_progress(writer.rows());
                    }
                    crate::client::pacing::yield_now().await;
                }
            }
            writer.flush().await?;
            let rows = writer.rows();
            if let Some(on_progress) = &mut on_progress {
                on_progress(rows);
            }
            if ended == Some(rows) { Ok(Loaded { rows }) } else { Err(TransferError::Incomplete { found: rows }) }
        })
    }
}

impl<R> fmt::Debug for Load<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").field("tables", &self.tables).finish_non_exhaustive()
    }
}
