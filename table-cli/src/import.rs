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
    input::{self, Form, Input, InputLine, Quotes, at_line},
    progress::{self, ProgressLine, Skipped},
    store::{self, Store},
};

/// Number of lines after which the rows are flushed and the position is saved.
const LINES: u64 = 5_000;
/// Number of bytes of the input by which another file is noticed. `LINES` lines have more, so every file with a saved
/// position has as many.
const BEGIN: u64 = 4_096;

/// The position of an import.
#[derive(Clone, Serialize, Deserialize, Default)]
struct ImportPosition {
    bytes: u64,
    lines: u64,
    /// Number of rows that were read, including those that were not selected.
    rows: u64,
    /// Number of rows at which the last end of a dump was.
    ended: Option<u64>,
    /// True if the lines are those of `tables export`, which have an end.
    has_end: bool,
    skipped: Skipped,
    /// Number of rows of other tables and partitions.
    left_out: u64,
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
    store.check_begun(begun.lines > 0)?;
    let bytes: Box<dyn Read> = if is_standard { Box::new(io::stdin()) } else { Box::new(open(&import.input)?) };
    let mut input = Input::open(bytes, format).map_err(|failure| failure.about(&import.input))?;
    let (bytes, progress) = (begun.bytes, ProgressLine::new("rows imported"));
    let mut target = Target { import, writer: RowWriter::new(&store.tables), progress, cursor, position: begun };
    match input.form {
        Form::Lines => {
            if bytes > 0 {
                let mut file = open(&import.input)?;
                file.seek(SeekFrom::Start(bytes))?;
                input.bytes = Box::new(BufReader::new(file));
            }
            target.lines(input).await?;
        }
        Form::Document => target.document(input).await?,
        Form::Csv => target.csv(input).await?,
    }
    target.writer.flush().await?;
    target.cursor.remove()?;
    let Target { writer, progress, position, .. } = target;
    drop(progress);
    progress::report(writer.rows(), "imported");
    if position.left_out > 0 {
        progress::report(position.left_out, "of other tables or partitions left out");
    }
    position.skipped.report();
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
    position: ImportPosition,
}

impl Target<'_> {
    fn is_table(&self, table: &str) -> bool {
        self.import.table.as_ref().is_none_or(|selected| selected.eq_ignore_ascii_case(table))
    }

    async fn take(&mut self, InputLine { number, line, is_of_export }: InputLine) -> Result<(), Failure> {
        self.position.has_end |= is_of_export;
        match line {
            Line::Table(table) if self.is_table(&table) => {
                self.writer.create_table(&table).await.map_err(|error| in_line(error, number))
            }
            Line::Table(_) => Ok(()),
            Line::Row(row) => {
                self.position.rows += 1;
                self.write(row, number).await
            }
            Line::End(rows) => {
                self.position.ended = Some(rows);
                Ok(())
            }
        }
    }

    async fn write(&mut self, row: TableRow, number: u64) -> Result<(), Failure> {
        if !self.is_table(&row.table) || self.import.partition.as_ref().is_some_and(|key| *key != row.partition_key) {
            self.position.left_out += 1;
            return Ok(());
        }
        if let Err(error) = row.check() {
            if !self.import.skip {
                return Err(at_line(number, &error.to_string()));
            }
            self.position.skipped.add(format!("line {number}: {error}"));
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
    async fn save(&mut self) -> Result<(), Failure> {
        if self.cursor.is_given() && self.position.lines.is_multiple_of(LINES) {
            self.writer.flush().await?;
            self.cursor.save(&self.position)?;
        }
        Ok(())
    }

    async fn lines(&mut self, mut input: Input) -> Result<(), Failure> {
        let table = self.import.table.clone();
        let mut line = String::new();
        loop {
            let number = self.position.lines + 1;
            let read = input.bytes.read_line(&mut line).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => at_line(number, "it is not UTF-8; save the file as UTF-8"),
                _ => error.into(),
            })?;
            if read == 0 {
                break;
            }
            self.position.bytes += read as u64;
            self.position.lines = number;
            let text = input::without_mark(&line).trim();
            if !text.is_empty() {
                self.take(InputLine::parse(table.as_deref(), text, number)?).await?;
            }
            line.clear();
            self.save().await?;
        }
        // Input without a row may be an export that was cut.
        let is_nothing = self.position.rows == 0 && table.is_none();
        self.finish(is_nothing).await
    }

    async fn document(&mut self, input: Input) -> Result<(), Failure> {
        let lines = input.document(self.import.table.as_deref(), self.import.partial)?;
        if let Some(table) = &self.import.table {
            self.writer.create_table(table).await?;
        }
        let done = usize::try_from(self.position.lines).unwrap_or(usize::MAX);
        for line in lines.into_iter().skip(done) {
            self.position.lines += 1;
            self.take(line).await?;
            self.save().await?;
        }
        self.finish(false).await
    }

    /// Checks that the lines of `tables export` are complete.
    async fn finish(&mut self, is_nothing: bool) -> Result<(), Failure> {
        let ImportPosition { rows, ended, has_end, .. } = self.position;
        if (has_end || is_nothing) && ended != Some(rows) && !self.import.partial {
            self.writer.flush().await?;
            return Err(TransferError::Incomplete { found: rows }.into());
        }
        Ok(())
    }

    async fn csv(&mut self, mut input: Input) -> Result<(), Failure> {
        let table = match (&self.import.table, self.import.input.file_stem().and_then(|name| name.to_str())) {
            (Some(table), _) => table.clone(),
            // Storage Explorer adds `.typed`.
            (None, Some(name)) if name != "-" => name.strip_suffix(".typed").unwrap_or(name).to_owned(),
            (None, _) => return Err(Failure::input("give the table of the CSV with --table")),
        };
        let delimiter = Header::delimiter(&String::from_utf8_lossy(input.bytes.fill_buf()?));
        let bytes = Quotes::new(input.bytes, delimiter);
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
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
        let done = std::mem::take(&mut self.position.lines);
        for record in reader.records() {
            let record = record.map_err(damaged)?;
            self.position.lines += 1;
            if self.position.lines <= done {
                continue;
            }
            let number = record.position().map_or(0, csv::Position::line);
            let row = header.row(&table, &record).map_err(|problem| at_line(number, &problem))?;
            self.write(row, number).await?;
            self.save().await?;
        }
        if reader.get_ref().is_open {
            self.writer.flush().await?;
            return Err(Failure::input(
                "the last cell has no closing quote: the file was cut, or a quote is not doubled",
            ));
        }
        Ok(())
    }
}

/// Names the line in an error that is about a limit.
fn in_line(error: TransferError, number: u64) -> Failure {
    match error {
        TransferError::Store(Error::Limit(error)) => at_line(number, &error.to_string()),
        error => error.into(),
    }
}
