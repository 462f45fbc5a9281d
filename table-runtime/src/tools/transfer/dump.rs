//! `Tables::dump`: all rows of a store as lines.

use std::{fmt, io};

use futures_core::Stream;
use futures_util::stream;
use table_store::{
    backend::BoxFuture,
    unstable::{observe::Running, write_row},
};

use super::{Line, ReadPart, RowReader, Selection, TransferError, source::Source};
use crate::{
    admin::{
        jobs::{Job, JobKind, JobOptions, OfPartitions, Progress, Resumable, Sharded, hash_described},
        scan::ScannedPage,
    },
    client::tables::Tables,
};

/// A dump of all rows: see [`Tables::dump`].
pub struct Dump<W> {
    tables: Tables,
    selection: Selection,
    /// In a box, so that a job can be polled whatever the writer is.
    writer: Box<W>,
}

impl<W: io::Write + Send> Resumable for Dump<W> {
    fn hash(&self) -> u64 {
        hash_described("dump", "")
    }
}

impl<W: io::Write + Send> OfPartitions for Dump<W> {}
impl<W: io::Write + Send> Sharded for Dump<W> {}

impl<W: io::Write + Send> JobKind for Dump<W> {
    type Done = u64;
    type Error = TransferError;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        None
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<u64, TransferError> {
        let job = self.hash();
        let Self { tables, selection, mut writer } = self;
        // What is before a cursor is in the file.
        let flushes = options.on_progress.is_some();
        let mut source = Source::new(&tables, selection, job, &mut options).await?;
        let work = |page: ScannedPage| -> BoxFuture<'_, _> {
            let mut lines = Vec::new();
            for row in page.rows() {
                write_row(&mut lines, &page.table, row.partition_key, row.row_key, row.properties);
            }
            Box::pin(async { Ok(lines) })
        };
        while let Some(tables) = source.next().await? {
            let done = |begun: &[String], rows: Option<Vec<u8>>| {
                let mut lines = Vec::new();
                for table in begun {
                    Line::Table(table.clone()).write(&mut lines);
                }
                lines.extend(rows.unwrap_or_default());
                writer.write_all(&lines)?;
                if flushes { Ok(writer.flush()?) } else { Ok(()) }
            };
            source.each(&tables, &work, done).await?;
        }
        let (rows, mut line) = (source.rows() as u64, Vec::new());
        Line::End(rows).write(&mut line);
        writer.write_all(&line)?;
        writer.flush()?;
        Ok(rows)
    }
}

impl<W: io::Write + Send> Job<'_, Dump<W>> {
    /// Writes these rows, with all of their properties, instead of those of all tables. The catalog is one of the tables
    /// that a selection names or not: a dump without it has rows, and no entities. Events are among them only if the selection
    /// [says so](Selection::with_events).
    pub fn rows(self, selection: Selection) -> Self {
        self.with(|dump, _| dump.selection = selection)
    }
}

impl Tables {
    /// Writes all rows of all tables as [lines of JSON](crate::transfer), those of indexes and of the catalog included,
    /// while other tasks read and write. Returns the number of rows. [`load`](Self::load) reads the lines. Await it. It leaves
    /// out events, unless they are [selected](Selection::with_events).
    ///
    /// On the embedded store, the rows are those of one moment, the one at which it is awaited; until it has ended, the
    /// file cannot reuse the space of rows that are replaced meanwhile. The service has no such moment:
    /// [see there](crate::transfer#consistency). A handle [with a prefix](Self::with_prefix) writes its tables, with
    /// names without the prefix.
    ///
    /// It costs a request for each page of up to 1000 rows, one for each table that is empty, and two for the catalog.
    /// Pages that are read [side by side](Job::side_by_side) are written as they come: the rows of a table come after
    /// its line, in any order. A limit to [partitions](Job::partitions) or a [share](Job::shard) holds for the catalog
    /// too, so load the part that has its rows last. [`rows`](Job::rows) selects tables.
    ///
    /// A dump that [continues](Job::resume_from) writes the lines of all tables, the rows that are left and the
    /// catalog, and its last line counts these rows alone: it is a file of its own, to be loaded after what was written
    /// before, whose last line is missing. Its rows are those of another moment.
    ///
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
    /// tables.dump(&mut lines).progress(|progress| eprintln!("{} rows", progress.rows)).await?;
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
    /// Returns [`TransferError::Io`] if the writer fails, and the errors of [`RowReader::next`];
    /// [`Error::Cursor`](crate::Error::Cursor) in [`TransferError::Store`] for the cursor of a dump of other tables, or
    /// from before a change of the catalog.
    pub fn dump<'a, W: io::Write + Send + 'a>(&self, writer: W) -> Job<'a, Dump<W>> {
        Job::new(Dump { tables: self.clone(), selection: Selection::all(), writer: Box::new(writer) })
    }

    /// Returns all rows of all tables as a stream of chunks, each of which consists of whole lines, as
    /// [`dump`](Self::dump) writes them. A page is read when its chunk is polled, so a slow receiver slows the dump
    /// down. The stream ends after its first error.
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

impl<W> fmt::Debug for Dump<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dump").field("tables", &self.tables).finish_non_exhaustive()
    }
}
