//! `tables import`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};
use table_runtime::{
    Error,
    transfer::{Line, RowWriter, TableRow, TransferError},
};

use crate::{
    arguments::{Format, Import},
    csv::Header,
    cursor::{CursorFile, Transfer},
    export::by_extension,
    failure::Failure,
    input::{self, Form, Input, at_line},
    progress::{self, ProgressLine, Skipped},
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
    let format = import.format.or_else(|| by_extension(&import.input));
    if is_standard && import.cursor.is_some() {
        return Err(Failure::input("the standard input has no position to continue from; give a file"));
    }
    let cursor = CursorFile::new(import.cursor.as_deref(), transfer(store, import, format)?);
    let begun: ImportPosition = cursor.read()?.unwrap_or_default();
    let bytes: Box<dyn Read> = if is_standard { Box::new(io::stdin()) } else { Box::new(open(&import.input)?) };
    let mut input = Input::open(bytes, format).map_err(|failure| failure.about(&import.input))?;
    let mut target = Target {
        import,
        writer: RowWriter::new(&store.tables),
        progress: ProgressLine::new("imported"),
        cursor,
        skipped: Skipped::default(),
    };
    match input.form {
        Form::Dump | Form::Lines => {
            if begun.bytes > 0 {
                let mut file = open(&import.input)?;
                file.seek(SeekFrom::Start(begun.bytes))?;
                input.bytes = Box::new(BufReader::new(file));
            }
            target.lines(input, begun).await?;
        }
        Form::Document => target.document(input, begun).await?,
        Form::Csv => target.csv(input, begun).await?,
    }
    target.writer.flush().await?;
    target.cursor.remove()?;
    let Target { writer, progress, skipped, .. } = target;
    drop(progress);
    progress::report(writer.rows(), "imported");
    skipped.report();
    Ok(())
}

/// Returns the arguments of an import, to which the first bytes of a file with a cursor belong: another file may have got
/// its name.
fn transfer(store: &Store, import: &Import, format: Option<Format>) -> Result<Transfer, Failure> {
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
        format.map(Format::name),
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
    skipped: Skipped,
}

impl Target<'_> {
    fn is_table(&self, table: &str) -> bool {
        self.import.table.as_ref().is_none_or(|selected| selected.eq_ignore_ascii_case(table))
    }

    async fn write(&mut self, row: TableRow, number: u64) -> Result<(), Failure> {
        if !self.is_table(&row.table) || self.import.partition.as_ref().is_some_and(|key| *key != row.partition_key) {
            return Ok(());
        }
        if let Err(error) = row.check() {
            if !self.import.skip {
                return Err(at_line(number, &error.to_string()));
            }
            self.skipped.add(format!("line {number}: {error}"));
            return Ok(());
        }
        let table = row.table.clone();
        self.writer.write(row).await?;
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

    /// Returns the table of rows that do not have it.
    fn table(&self) -> Result<&str, Failure> {
        self.import.table.as_deref().ok_or_else(|| Failure::input("the rows have no table; give it with --table"))
    }

    async fn lines(&mut self, mut input: Input, mut position: ImportPosition) -> Result<(), Failure> {
        let table = if input.form == Form::Lines { Some(self.table()?.to_owned()) } else { None };
        let mut line = String::new();
        loop {
            let read = input.bytes.read_line(&mut line).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => at_line(position.lines + 1, "it is not UTF-8; save the file as UTF-8"),
                _ => error.into(),
            })?;
            if read == 0 {
                break;
            }
            position.bytes += read as u64;
            position.lines += 1;
            let number = position.lines;
            if !line.trim().is_empty() {
                let text = input::without_mark(&line);
                let parsed = match &table {
                    None => text.parse(),
                    Some(table) => input::row_of(table, text).map(Line::Row),
                };
                match parsed.map_err(|problem| TransferError::Line { number, problem })? {
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
        if table.is_none() && position.ended != Some(position.rows) && !self.import.partial {
            self.writer.flush().await?;
            return Err(TransferError::Incomplete { found: position.rows }.into());
        }
        Ok(())
    }

    async fn document(&mut self, input: Input, mut position: ImportPosition) -> Result<(), Failure> {
        let table = self.table()?.to_owned();
        let rows = input.document(&table, self.import.partial)?;
        self.writer.create_table(&table).await?;
        let done = usize::try_from(position.lines).unwrap_or(usize::MAX);
        for (number, row) in rows.into_iter().skip(done) {
            position.lines += 1;
            self.write(row, number).await?;
            self.save(&position).await?;
        }
        Ok(())
    }

    async fn csv(&mut self, mut input: Input, mut position: ImportPosition) -> Result<(), Failure> {
        let table = match (&self.import.table, self.import.input.file_stem().and_then(|name| name.to_str())) {
            (Some(table), _) => table.clone(),
            // Storage Explorer adds `.typed`.
            (None, Some(name)) if name != "-" => name.strip_suffix(".typed").unwrap_or(name).to_owned(),
            (None, _) => return Err(Failure::input("give the table of the CSV with --table")),
        };
        let delimiter = Header::delimiter(&String::from_utf8_lossy(input.bytes.fill_buf()?));
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(input.bytes);
        let damaged = |error: csv::Error| match error.kind() {
            csv::ErrorKind::Utf8 { .. } => Failure::input(format!("{error}; save the file as UTF-8")),
            _ => Failure::input(format!("the CSV cannot be read: {error}")),
        };
        let header = Header::parse(reader.headers().map_err(damaged)?)?;
        self.writer.create_table(&table).await.map_err(|error| match error {
            TransferError::Store(Error::Limit(error)) => {
                Failure::input(format!("{error}; give the table with --table"))
            }
            error => error.into(),
        })?;
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
