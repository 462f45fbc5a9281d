//! `tables import`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};
use table_runtime::transfer::{Line, RowWriter, TableRow, TransferError};

use crate::{
    arguments::{Format, Import},
    csv::Header,
    cursor::{CursorFile, Transfer},
    export::by_extension,
    failure::Failure,
    progress::{self, ProgressLine},
    store::{self, Store},
};

/// Number of lines after which the rows are flushed and the position is saved.
const LINES: u64 = 5_000;
/// Number of bytes of the input by which another file is noticed. `LINES` lines have more, so every file with a saved
/// position has as many.
const BEGIN: u64 = 4_096;

/// The position of an import.
#[derive(Serialize, Deserialize, Default)]
struct ImportPosition {
    bytes: u64,
    lines: u64,
    /// Number of rows that were read, including those that were not selected.
    rows: u64,
    /// Number of rows at which the last end of a dump was.
    ended: Option<u64>,
}

/// Writes the rows of a file.
pub(crate) async fn import(store: &Store, import: &Import) -> Result<(), Failure> {
    let is_standard = import.input == Path::new("-");
    let format = import.format.unwrap_or_else(|| by_extension(Some(&import.input)));
    if is_standard && import.cursor.is_some() {
        return Err(Failure::input("the standard input has no position to continue from; give a file"));
    }
    let cursor = CursorFile::new(import.cursor.as_deref(), transfer(store, import, format)?);
    let begun: ImportPosition = cursor.read()?.unwrap_or_default();
    let input: Box<dyn Read> = if is_standard { Box::new(io::stdin()) } else { Box::new(open(&import.input)?) };
    let mut target =
        Target { import, writer: RowWriter::new(&store.tables), progress: ProgressLine::new("imported"), cursor };
    match format {
        Format::Ndjson => {
            let mut input = BufReader::new(input);
            if begun.bytes > 0 {
                let mut file = open(&import.input)?;
                file.seek(SeekFrom::Start(begun.bytes))?;
                input = BufReader::new(Box::new(file));
            }
            target.ndjson(input, begun).await?;
        }
        Format::Csv => target.csv(input, begun).await?,
    }
    target.writer.flush().await?;
    target.cursor.remove()?;
    let rows = target.writer.rows();
    drop(target);
    progress::report(rows, "imported");
    Ok(())
}

/// Returns the arguments of an import, to which the first bytes of a file with a cursor belong: another file may have got
/// its name.
fn transfer(store: &Store, import: &Import, format: Format) -> Result<Transfer, Failure> {
    let (mut input, mut begin) = (String::new(), Vec::new());
    if import.cursor.is_some() {
        input = store::location(&import.input)?;
        open(&import.input)?.take(BEGIN).read_to_end(&mut begin)?;
    }
    Ok(Transfer::of(&[
        Some(b"import"),
        Some(store.identity.as_bytes()),
        import.table.as_deref().map(str::as_bytes),
        import.partition.as_deref().map(str::as_bytes),
        Some(format.name()),
        Some(input.as_bytes()),
        Some(&begin),
    ]))
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::missing(format!("there is no file {}", path.display())),
        _ => Failure::store(format!("{}: {error}", path.display())),
    })
}

struct Target<'a> {
    import: &'a Import,
    writer: RowWriter,
    progress: ProgressLine,
    cursor: CursorFile,
}

impl Target<'_> {
    fn is_table(&self, table: &str) -> bool {
        self.import.table.as_ref().is_none_or(|selected| selected.eq_ignore_ascii_case(table))
    }

    async fn write(&mut self, row: TableRow, number: u64) -> Result<(), Failure> {
        if !self.is_table(&row.table) || self.import.partition.as_ref().is_some_and(|key| *key != row.partition_key) {
            return Ok(());
        }
        let table = row.table.clone();
        self.writer.write(row).await.map_err(|error| at_line(error, number))?;
        if number.is_multiple_of(100) {
            self.progress.rows(self.writer.rows(), &table);
        }
        Ok(())
    }

    /// Writes what waits, and saves the position.
    async fn save(&mut self, position: &ImportPosition) -> Result<(), Failure> {
        if self.cursor.is_given() && position.lines.is_multiple_of(LINES) {
            self.writer.flush().await?;
            self.cursor.save(position)?;
        }
        Ok(())
    }

    async fn ndjson(&mut self, mut input: impl BufRead, mut position: ImportPosition) -> Result<(), Failure> {
        let mut line = String::new();
        loop {
            let read = input.read_line(&mut line).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => Failure::input(format!("line {}: not UTF-8", position.lines + 1)),
                _ => error.into(),
            })?;
            if read == 0 {
                break;
            }
            position.bytes += read as u64;
            position.lines += 1;
            let number = position.lines;
            if !line.trim().is_empty() {
                match line.parse().map_err(|problem| TransferError::Line { number, problem })? {
                    Line::Table(table) if self.is_table(&table) => self.writer.create_table(&table).await?,
                    Line::Table(_) => {}
                    Line::Row(row) => {
                        position.rows += 1;
                        self.write(row, number).await?;
                    }
                    Line::End(rows) => position.ended = Some(rows),
                }
            }
            line.clear();
            self.save(&position).await?;
        }
        if position.ended != Some(position.rows) && !self.import.partial {
            self.writer.flush().await?;
            return Err(TransferError::Incomplete { found: position.rows }.into());
        }
        Ok(())
    }

    async fn csv(&mut self, input: Box<dyn Read>, mut position: ImportPosition) -> Result<(), Failure> {
        let table = match (&self.import.table, self.import.input.file_stem().and_then(|name| name.to_str())) {
            (Some(table), _) => table.clone(),
            (None, Some(name)) if name != "-" => name.to_owned(),
            (None, _) => return Err(Failure::input("give the table of the CSV with --table")),
        };
        let mut reader = csv::ReaderBuilder::new().from_reader(input);
        let damaged = |error: csv::Error| Failure::input(format!("the CSV cannot be read: {error}"));
        let header = Header::parse(reader.headers().map_err(damaged)?)?;
        self.writer.create_table(&table).await?;
        let done = std::mem::take(&mut position.lines);
        for record in reader.records() {
            let record = record.map_err(damaged)?;
            position.lines += 1;
            if position.lines <= done {
                continue;
            }
            let number = record.position().map_or(0, csv::Position::line);
            let row = header.row(&table, &record).map_err(|problem| TransferError::Line { number, problem })?;
            self.write(row, number).await?;
            self.save(&position).await?;
        }
        Ok(())
    }
}

/// Names the line in an error that is about the input.
fn at_line(error: TransferError, number: u64) -> Failure {
    match error {
        TransferError::Store(table_runtime::Error::Limit(error)) => {
            Failure::input(format!("before or in line {number}: {error}"))
        }
        error => error.into(),
    }
}
