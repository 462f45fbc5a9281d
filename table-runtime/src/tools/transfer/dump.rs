//! `Tables::dump`: all rows of a store as lines.

use std::{fmt, future::IntoFuture, io};

use futures_core::Stream;
use futures_util::stream;
use table_store::{backend::BoxFuture, unstable::write_row};

use super::{Line, ReadPart, RowReader, Selection, TransferError};
use crate::client::tables::Tables;

/// A dump of all rows, which runs when it is awaited: see [`Tables::dump`].
#[must_use = "nothing is written until it is awaited"]
pub struct Dump<'a, W> {
    tables: &'a Tables,
    writer: W,
    on_progress: Option<Box<dyn FnMut(u64) + Send + 'a>>,
}

impl Tables {
    /// Writes all rows of all tables as [lines of JSON](crate::transfer), those of indexes and of the catalog included,
    /// while other tasks read and write. Returns the number of rows. [`load`](Self::load) reads the lines. Await it.
    ///
    /// On the embedded store, the rows are those of one moment, the one at which it is awaited; until it has ended, the
    /// file cannot reuse the space of rows that are replaced meanwhile. The service has no such moment:
    /// [see there](crate::transfer#consistency). A handle [with a prefix](Self::with_prefix) writes its tables, with names
    /// without the prefix.
    ///
    /// It costs a request for each page of up to 1000 rows, one for each table that is empty, and two for the catalog.
    /// The writer receives each page at once, and the task waits for it meanwhile: give it a file or a buffer. For an
    /// asynchronous receiver, such as the body of an HTTP answer, take [`dump_stream`](Self::dump_stream). Dropping the
    /// future ends the dump, whose last line is then missing.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] id: u32, title: String }
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Post>().await?;
    /// tables.insert(&Post { author: "Marcus".into(), id: 1, title: "Hello".into() }).await?;
    /// let mut lines = Vec::new();
    /// tables.dump(&mut lines).progress(|rows| eprintln!("{rows} rows")).await?;
    /// assert!(String::from_utf8_lossy(&lines).contains(r#""RowKey":"0000000001","Title":"Hello"}"#));
    ///
    /// let copy = Tables::in_memory()?;
    /// copy.load(&lines[..]).await?;
    /// assert!(Post::key("Marcus", 1).exists(&copy).await?);
    /// # Ok::<(), table_runtime::transfer::TransferError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns [`TransferError::Io`] if the writer fails, and the errors of [`RowReader::next`].
    pub fn dump<W: io::Write + Send>(&self, writer: W) -> Dump<'_, W> {
        Dump { tables: self, writer, on_progress: None }
    }

    /// Returns all rows of all tables as a stream of chunks, each of which consists of whole lines, as
    /// [`dump`](Self::dump) writes them. A page is read when its chunk is polled, so a slow receiver slows the dump down.
    /// The stream ends after its first error.
    pub fn dump_stream(&self) -> impl Stream<Item = Result<Vec<u8>, TransferError>> + Send + 'static + use<> {
        stream::try_unfold(Chunks::Begin(self.clone()), |chunks| async move {
            let mut reader = match chunks {
                Chunks::Begin(tables) => Box::new(RowReader::new(&tables, Selection::all()).await?),
                Chunks::Reading(reader) => reader,
                Chunks::Ended => return Ok(None),
            };
            let mut chunk = Vec::new();
            let continues = write_next(&mut reader, &mut chunk).await?;
            let next = if continues { Chunks::Reading(reader) } else { Chunks::Ended };
            Ok(Some((chunk, next)))
        })
    }
}

/// The state of a stream of chunks.
enum Chunks {
    Begin(Tables),
    Reading(Box<RowReader>),
    Ended,
}

/// Appends the lines of the next part, or the last line. Returns false after the last line.
async fn write_next(reader: &mut RowReader, out: &mut Vec<u8>) -> Result<bool, TransferError> {
    match reader.next().await? {
        Some(ReadPart::Table(table)) => Line::Table(table).write(out),
        Some(ReadPart::Rows { table, rows }) => {
            for row in rows.iter() {
                write_row(out, &table, row.partition_key, row.row_key, row.properties);
            }
        }
        None => {
            Line::End(reader.rows()).write(out);
            return Ok(false);
        }
    }
    Ok(true)
}

impl<'a, W> Dump<'a, W> {
    /// Calls the function with the number of rows after each page.
    pub fn progress(mut self, on_progress: impl FnMut(u64) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }
}

impl<'a, W: io::Write + Send + 'a> IntoFuture for Dump<'a, W> {
    type Output = Result<u64, TransferError>;
    type IntoFuture = BoxFuture<'a, Result<u64, TransferError>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { tables, mut writer, mut on_progress } = self;
        Box::pin(async move {
            let mut reader = RowReader::new(tables, Selection::all()).await?;
            let mut chunk = Vec::new();
            loop {
                let continues = write_next(&mut reader, &mut chunk).await?;
                writer.write_all(&chunk)?;
                chunk.clear();
                if let Some(on_progress) = &mut on_progress {
                    on_progress(reader.rows());
                }
                if !continues {
                    writer.flush()?;
                    return Ok(reader.rows());
                }
                // A store in memory is always ready.
                crate::client::pacing::yield_now().await;
            }
        })
    }
}

impl<W> fmt::Debug for Dump<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dump").field("tables", &self.tables).finish_non_exhaustive()
    }
}
