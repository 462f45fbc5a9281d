//! Rows as CSV.
//!
//! What this command writes loses nothing. Each property has a column `Name:Type` for each type that it has. An empty
//! cell is a property that the row does not have. A text that is empty or begins with `\` has one more `\` before it, so
//! that it differs from an absent one.

use std::{
    collections::HashMap,
    io::{self, Write},
};

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

/// The meaning of the columns of a file: of this command, of Storage Explorer, or of any other program.
pub(crate) struct Header {
    partition: usize,
    row: usize,
    columns: Vec<InputColumn>,
}

struct InputColumn {
    at: usize,
    name: String,
    values: Values,
}

/// The types of a column's values.
enum Values {
    /// Texts as they are: another program's column without types.
    Texts,
    /// The type in the name, as this command writes it. Texts have a `\` before them if they need one.
    Of(&'static str),
    /// The types in another column, `Name@type`, as Storage Explorer writes them.
    By(usize),
}

impl Header {
    /// Returns the delimiter of the columns in the first line.
    pub(crate) fn delimiter(line: &str) -> u8 {
        let has_key = |delimiter: &u8| {
            let mut names = line.trim().split(char::from(*delimiter));
            names.any(|name| name.trim_matches(['"', '\u{FEFF}']) == PARTITION)
        };
        b",;\t|".iter().copied().find(has_key).unwrap_or(b',')
    }

    /// Reads the names of the columns. A name without a type is a text.
    pub(crate) fn parse(record: &StringRecord) -> Result<Self, Failure> {
        let mut first = HashMap::new();
        for (at, name) in record.iter().enumerate() {
            first.entry(name).or_insert(at);
        }
        let find = |name: &str| first.get(name).copied();
        let mut columns = Vec::new();
        for (at, name) in record.iter().enumerate() {
            if find(name) != Some(at) {
                return Err(Failure::input(format!("the first line has two columns `{name}`")));
            }
            let has_values = |name: &str| find(name).is_some();
            match name {
                PARTITION | ROW | "Timestamp" | "Timestamp:DateTime" => continue,
                types if types.strip_suffix(TYPE).is_some_and(has_values) => continue,
                types if types.ends_with(TYPE) => {
                    let problem = format!("the first line has a column `{types}`, and none with the values");
                    return Err(Failure::input(problem));
                }
                _ => {}
            }
            let (name, values) = match (find(&[name, TYPE].concat()), name.rsplit_once(':')) {
                (Some(types), _) => (name, Values::By(types)),
                (None, None) => (name, Values::Texts),
                (None, Some((name, edm_type))) => {
                    let known = known_type(edm_type);
                    let unknown = || Failure::input(format!("the column `{name}` has the unknown type {edm_type}"));
                    (name, Values::Of(known.ok_or_else(unknown)?))
                }
            };
            columns.push(InputColumn { at, name: name.to_owned(), values });
        }
        let found = |name: &str| {
            let missing = || match record.iter().find(|other| other.trim() == name) {
                None => Failure::input(format!("the first line has no column `{name}`")),
                Some(spaced) => {
                    Failure::input(format!("the first line has `{spaced}`: remove the spaces of all cells"))
                }
            };
            find(name).ok_or_else(missing)
        };
        Ok(Self { partition: found(PARTITION)?, row: found(ROW)?, columns })
    }

    /// Reads a row of the table. The error describes the problem.
    pub(crate) fn row(&self, table: &str, record: &StringRecord) -> Result<TableRow, String> {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let mut properties = Properties::default();
        for InputColumn { at, name, values } in &self.columns {
            let (text, edm_type) = match (cell(*at), values) {
                ("", Values::Texts | Values::Of(_)) => continue,
                (text, Values::Texts) => (text, TEXT),
                (text, Values::Of(edm_type)) => (text.strip_prefix('\\').unwrap_or(text), *edm_type),
                (text, Values::By(types)) => match (text, cell(*types)) {
                    ("", "") => continue,
                    (_, "") => {
                        return Err(format!(
                            "`{name}` has a value and no type; fill the column `{name}{TYPE}`, or remove it to read texts"
                        ));
                    }
                    (text, edm_type) => {
                        let known = known_type(edm_type);
                        (text, known.ok_or_else(|| format!("`{name}` has the unknown type {edm_type}"))?)
                    }
                },
            };
            let Some(value) = Value::from_text(edm_type, text) else {
                // Some versions of Storage Explorer write the type of a property that the row does not have.
                if text.is_empty() {
                    continue;
                }
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

/// End of the name of the column with the types of another one's values.
const TYPE: &str = "@type";

const TEXT: &str = "Edm.String";

/// Returns the service's name of a type that is written with or without `Edm.`, in upper or lower case.
fn known_type(name: &str) -> Option<&'static str> {
    let short = |known: &'static str| known.trim_start_matches("Edm.");
    TYPES.into_iter().find(|known| [known, short(known)].iter().any(|form| form.eq_ignore_ascii_case(name)))
}

const TYPES: [&str; 8] =
    [TEXT, "Edm.Binary", "Edm.Boolean", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Guid", "Edm.DateTime"];
