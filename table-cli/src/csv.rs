//! Rows as CSV, without a loss.
//!
//! Each property has a column `Name:Type` for each type that it has. An empty cell is a property that the row does not
//! have. A text that is empty or begins with `\` has one more `\` before it, so that it differs from an absent one.

use std::io::{self, Write};

use csv::StringRecord;
use table_runtime::{
    Value,
    row::{Properties, ValueRef},
    transfer::TableRow,
};

use crate::failure::Failure;

const PARTITION: &str = "PartitionKey";
const ROW: &str = "RowKey";

/// A property and its type, such as `Likes` and `Int64`.
pub(crate) type Column = (String, String);

/// Returns the column of a value.
pub(crate) fn column(name: &str, value: ValueRef<'_>) -> Column {
    (name.to_owned(), value.edm_type().trim_start_matches("Edm.").to_owned())
}

/// Writes the names of the columns.
pub(crate) fn write_header(columns: &[Column], out: &mut impl Write) -> io::Result<()> {
    let names = columns.iter().map(|(name, edm_type)| format!("{name}:{edm_type}"));
    write_record([PARTITION.to_owned(), ROW.to_owned()].into_iter().chain(names), out)
}

/// Writes a row.
pub(crate) fn write_row(row: &TableRow, columns: &[Column], out: &mut impl Write) -> io::Result<()> {
    let cell = |(name, edm_type): &Column| match row.properties.get(name) {
        Some(value) if column(name, value).1 == *edm_type => escaped(value.to_text()),
        _ => String::new(),
    };
    let keys = [row.partition_key.clone(), row.row_key.clone()];
    write_record(keys.into_iter().chain(columns.iter().map(cell)), out)
}

fn write_record(cells: impl Iterator<Item = String>, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(cells)?;
    let line = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(&line)
}

fn escaped(text: String) -> String {
    if text.is_empty() || text.starts_with('\\') { format!("\\{text}") } else { text }
}

/// The meaning of the columns of a file.
pub(crate) struct Header {
    partition: usize,
    row: usize,
    /// The positions of the other columns, with their names and the service's names of their types.
    columns: Vec<(usize, String, String)>,
}

impl Header {
    /// Reads the names of the columns. A name without a type is a text.
    pub(crate) fn parse(record: &StringRecord) -> Result<Self, Failure> {
        let (mut partition, mut row, mut columns) = (None, None, Vec::new());
        for (at, name) in record.iter().enumerate() {
            match name {
                PARTITION => partition = Some(at),
                ROW => row = Some(at),
                "Timestamp" | "Timestamp:DateTime" => {}
                name => {
                    let (name, edm_type) = name.rsplit_once(':').unwrap_or((name, "String"));
                    let edm_type = format!("Edm.{}", edm_type.trim_start_matches("Edm."));
                    if !TYPES.contains(&edm_type.as_str()) {
                        return Err(Failure::input(format!("the column `{name}` has the unknown type {edm_type}")));
                    }
                    columns.push((at, name.to_owned(), edm_type));
                }
            }
        }
        let missing = |name| Failure::input(format!("the first line has no column `{name}`"));
        let (partition, row) = (partition.ok_or_else(|| missing(PARTITION))?, row.ok_or_else(|| missing(ROW))?);
        Ok(Self { partition, row, columns })
    }

    /// Reads a row of the table. The error describes the problem.
    pub(crate) fn row(&self, table: &str, record: &StringRecord) -> Result<TableRow, String> {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let mut properties = Properties::default();
        for (at, name, edm_type) in &self.columns {
            let text = match cell(*at) {
                "" => continue,
                text => text.strip_prefix('\\').unwrap_or(text),
            };
            let Some(value) = Value::from_text(edm_type, text) else {
                return Err(format!("`{name}` is no {edm_type}"));
            };
            if properties.get(name).is_some() {
                return Err(format!("`{name}` has two values"));
            }
            properties.push(name, value.as_ref());
        }
        let (partition_key, row_key) = (cell(self.partition).to_owned(), cell(self.row).to_owned());
        Ok(TableRow { table: table.to_owned(), partition_key, row_key, properties })
    }
}

const TYPES: [&str; 8] =
    ["Edm.String", "Edm.Binary", "Edm.Boolean", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Guid", "Edm.DateTime"];
