//! `tables export`.

use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use table_runtime::transfer::{Line, ReadPart, TableRow};

use crate::{
    arguments::{Export, Format},
    csv::{self, Column},
    cursor::{self, CursorFile},
    failure::Failure,
    progress::{self, ProgressLine},
    rows::{Choice, Of, Rows},
    store::{self, Store},
};

/// The position of an export.
#[derive(Serialize, Deserialize)]
struct ExportPosition {
    reader: String,
    rows: u64,
    /// Length of the output.
    bytes: u64,
    columns: Option<Vec<Column>>,
}

/// Writes rows to a file or to the standard output.
pub(crate) async fn export(store: &Store, export: &Export, out: &mut impl Write) -> Result<(), Failure> {
    let format = export.format.or_else(|| by_extension(export.output.as_deref()?)).unwrap_or(Format::Ndjson);
    if format == Format::Csv && export.table.is_none() {
        return Err(Failure::input("CSV has the rows of one table: give its name, or take NDJSON"));
    }
    let path = export.output.as_deref().filter(|path| *path != Path::new("-"));
    if path.is_none() && export.cursor.is_some() {
        return Err(Failure::input("the standard output has no position to continue from; give a file"));
    }
    let output = path.map(store::location).transpose()?;
    let transfer = cursor::Transfer::of(&[
        Some(b"export"),
        Some(store.identity.as_bytes()),
        export.table.as_deref().map(str::as_bytes),
        export.partition.as_deref().map(str::as_bytes),
        Some(format.name()),
        export.entities.then_some(b"entities"),
        export.events.then_some(b"events"),
        output.as_deref().map(str::as_bytes),
    ]);
    let cursor = CursorFile::new(export.cursor.as_deref(), transfer);
    let position: Option<ExportPosition> = cursor.read()?;
    let (name, partition) = (export.table.as_deref(), export.partition.as_deref());
    let (of, without_events) = (Of::entities(export.entities), !export.events);
    let choice = Choice { name, of, partition, without_events, ..Choice::default() };
    let mut reader = Rows::open(store, choice).await?;
    if format == Format::Csv && !reader.is_one_table {
        return Err(Failure::input("CSV has the rows of one table, and the entity has several; take NDJSON"));
    }
    let (mut columns, mut rows, mut begun) = (None, 0, 0);
    if let Some(position) = position {
        reader.resume(store, &position.reader)?;
        (columns, rows, begun) = (position.columns, position.rows, position.bytes);
    } else if format == Format::Csv {
        columns = Some(columns_of(Rows::open(store, choice).await?).await?);
    }
    let transfer = ExportedRows { reader, rows, columns, cursor, begun };
    match path {
        None => transfer.run(out).await.map(drop),
        Some(path) => {
            let mut file = open(path, transfer.begun, transfer.cursor.is_given())?;
            let rows = transfer.run(&mut file).await?;
            file.sync_all()?;
            progress::report(rows, "exported");
            Ok(())
        }
    }
}

/// Returns the format of a file with this name, if the name says it.
pub(crate) fn by_extension(path: &Path) -> Option<Format> {
    let is_csv = path.extension().is_some_and(|name| name.eq_ignore_ascii_case("csv"));
    is_csv.then_some(Format::Csv)
}

/// Opens the output at the position where an export continues. Refuses to replace a file.
fn open(path: &Path, begun: u64, may_exist: bool) -> Result<File, Failure> {
    let failed = |error| Failure::store(format!("{}: {error}", path.display()));
    if begun == 0 && !(may_exist && path.metadata().is_ok_and(|file| file.len() == 0)) {
        if path.exists() {
            return Err(Failure::input(format!("{} exists; delete it, or choose another name", path.display())));
        }
        return File::create_new(path).map_err(failed);
    }
    let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() < begun {
        return Err(Failure::input(format!("{} is shorter than when the cursor was saved", path.display())));
    }
    // What was written after the cursor was saved is written again.
    file.set_len(begun).map_err(failed)?;
    file.seek(SeekFrom::End(0)).map_err(failed)?;
    Ok(file)
}

/// Returns the columns of all properties of the rows, in the order in which they are found. Reads all rows.
async fn columns_of(mut reader: Rows) -> Result<Vec<Column>, Failure> {
    let mut columns = Vec::new();
    while let Some(part) = reader.next().await? {
        if let ReadPart::Rows { rows, .. } = part {
            for (name, value) in rows.iter().flat_map(|row| row.properties) {
                let column = csv::column(name, value);
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
    }
    Ok(columns)
}

struct ExportedRows {
    reader: Rows,
    /// Number of rows that were written, by earlier runs too.
    rows: u64,
    /// The columns of CSV; `None` for NDJSON.
    columns: Option<Vec<Column>>,
    cursor: CursorFile,
    /// Length of the output that an earlier run has written.
    begun: u64,
}

impl ExportedRows {
    /// Writes the rows, and returns their number.
    async fn run(mut self, out: &mut impl Write) -> Result<u64, Failure> {
        let progress = ProgressLine::new("rows exported");
        let mut written = self.begun;
        let mut chunk = Vec::new();
        if let (0, Some(columns)) = (written, &self.columns) {
            csv::write_header(columns, &mut chunk)?;
        }
        while let Some(part) = self.reader.next().await? {
            match (part, &self.columns) {
                (ReadPart::Table(table), None) => Line::Table(table).write(&mut chunk),
                (ReadPart::Rows { table, rows }, columns) => {
                    for row in rows.iter() {
                        let row = TableRow::of(&table, row);
                        match columns {
                            None => Line::Row(row).write(&mut chunk),
                            Some(columns) => {
                                check(&row, columns)?;
                                csv::write_row(&row, columns, &mut chunk)?;
                            }
                        }
                    }
                    self.rows += rows.len() as u64;
                    progress.rows(self.rows, &table);
                }
                _ => {}
            }
            out.write_all(&chunk)?;
            out.flush()?;
            written += chunk.len() as u64;
            chunk.clear();
            let (reader, columns) = (self.reader.cursor(), self.columns.clone());
            self.cursor.save(&ExportPosition { reader, rows: self.rows, bytes: written, columns })?;
        }
        if self.columns.is_none() {
            Line::End(self.rows).write(&mut chunk);
        }
        out.write_all(&chunk)?;
        out.flush()?;
        self.cursor.remove()?;
        Ok(self.rows)
    }
}

/// Checks that each property has a column. On the service, a row may have been written after the columns were found.
fn check(row: &TableRow, columns: &[Column]) -> Result<(), Failure> {
    match row.properties.iter().map(|(name, value)| csv::column(name, value)).find(|column| !columns.contains(column)) {
        None => Ok(()),
        Some((name, edm_type)) => {
            let row = row.id();
            Err(Failure::store(format!("{row} has got a property {name}:{edm_type} meanwhile; export again")))
        }
    }
}
