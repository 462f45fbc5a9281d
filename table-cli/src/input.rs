//! The forms in which files of this command and of other programs have rows.

use std::{
    borrow::Cow,
    io::{self, BufRead, BufReader, Cursor, Read},
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};
use table_runtime::transfer::TableRow;

use crate::{arguments::Format, failure::Failure};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The lines that `tables export` writes, with their tables.
    Dump,
    /// A row of a table in each line.
    Lines,
    /// Rows of a table as a list, as the answer to a query, or one after the other, each in any number of lines.
    Document,
    Csv,
}

/// Files that are not read, by their first bytes: what they are, and what to do.
const OTHERS: [(&[u8], &str, &str); 9] = [
    (b"redb", "the file of an embedded store", "copy it with `tables copy FILE STORE`"),
    (b"\x1F\x8B", "compressed by gzip", "decompress it"),
    (b"PK\x03\x04", "a ZIP archive or a workbook", "unpack it, or save the sheet as CSV in UTF-8"),
    (b"\xFF\xFE", "text in UTF-16", "save it as UTF-8; in PowerShell, with `Out-File -Encoding utf8`"),
    (b"\xFE\xFF", "text in UTF-16", "save it as UTF-8"),
    (b"PAR1", "a Parquet file", "convert it to CSV"),
    (b"Obj\x01", "an Avro file", "convert it to JSON"),
    (b"SQLite format 3", "a SQLite database", "export the rows as CSV"),
    (b"<", "XML", "request the rows with `Accept: application/json`"),
];

const BOM: &str = "\u{FEFF}";

/// An open file or the standard input, at its begin.
pub(crate) struct Input {
    pub(crate) form: Form,
    pub(crate) bytes: Box<dyn BufRead>,
}

impl Input {
    /// Recognizes the form by the given format and by the content. Refuses a file that cannot be read.
    pub(crate) fn open(input: Box<dyn Read>, format: Option<Format>) -> Result<Self, Failure> {
        let mut input = BufReader::new(input);
        let begin = input.fill_buf()?;
        let text = begin.strip_prefix(BOM.as_bytes()).unwrap_or(begin).trim_ascii_start();
        if let Some((_, what, advice)) = OTHERS.iter().find(|(bytes, ..)| text.starts_with(bytes)) {
            return Err(Failure::input(format!("it is {what}, which is not read; {advice}")));
        }
        let mut begin = Vec::new();
        while begin.trim_ascii().is_empty() && input.read_until(b'\n', &mut begin)? > 0 {}
        let form = form(&String::from_utf8_lossy(&begin), format)?;
        Ok(Self { form, bytes: Box::new(Cursor::new(begin).chain(input)) })
    }

    /// Reads the rows of a document.
    pub(crate) fn document(mut self, table: &str, partial: bool) -> Result<Vec<(u64, TableRow)>, Failure> {
        let mut text = String::new();
        self.bytes.read_to_string(&mut text).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Failure::input("it is not UTF-8; save it as UTF-8"),
            _ => error.into(),
        })?;
        let text = text.trim_start_matches(BOM);
        let damaged = |error: serde_json::Error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default();
            Failure::input(format!("line {}: {problem}", error.line()))
        };
        let (mut rows, mut line, mut counted) = (Vec::new(), 1, 0);
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            for row in listed(value.map_err(damaged)?, partial)? {
                // The row is a part of the text.
                let begin = row.get().as_ptr() as usize - text.as_ptr() as usize;
                line += text[counted..begin].matches('\n').count() as u64;
                counted = begin;
                let row = row_of(table, row.get()).map_err(|problem| at_line(line, &problem))?;
                rows.push((line, row));
            }
        }
        Ok(rows)
    }
}

/// Returns a failure in a line of the input.
pub(crate) fn at_line(line: u64, problem: &str) -> Failure {
    Failure::input(format!("line {line}: {problem}"))
}

/// Returns the first line without the mark that some programs write before UTF-8.
pub(crate) fn without_mark(line: &str) -> &str {
    line.trim_start_matches(BOM)
}

/// Recognizes the form by the first line.
fn form(line: &str, format: Option<Format>) -> Result<Form, Failure> {
    let line = without_mark(line).trim();
    let object = line.strip_prefix('{').map(str::trim_start);
    Ok(match format {
        Some(Format::Csv) => Form::Csv,
        None if line.contains("PartitionKey") && object.is_none() && !line.starts_with('[') => Form::Csv,
        _ if object.is_some_and(|members| members.starts_with("\"@")) || line.is_empty() => Form::Dump,
        _ if object.is_some() && row_of("", line).is_ok() => Form::Lines,
        _ if object.is_some() || line.starts_with('[') => Form::Document,
        _ => return Err(at_line(1, "it is neither JSON nor CSV with a column `PartitionKey`")),
    })
}

/// The answer to a query: of the service, or of `az storage entity query`.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, alias = "items")]
    value: Vec<&'a RawValue>,
    #[serde(default, rename = "nextMarker")]
    next_marker: Map<String, Value>,
    #[serde(default, rename = "odata.nextLink")]
    next_link: Option<IgnoredAny>,
}

/// Returns the rows of a value: those of a list or an answer, or the row that it is.
fn listed(value: &RawValue, partial: bool) -> Result<Vec<&RawValue>, Failure> {
    if let Ok(rows) = serde_json::from_str(value.get()) {
        return Ok(rows);
    }
    let Ok(Answer { value: rows, next_marker, next_link }) = serde_json::from_str(value.get()) else {
        return Ok(vec![value]);
    };
    if !partial && (next_link.is_some() || !next_marker.is_empty()) {
        return Err(Failure::input(
            "it has only the first rows of the table, and the marker of the next ones; request all of them, with `az \
             storage entity query --num-results '*'`, or give --partial",
        ));
    }
    Ok(rows)
}

/// Reads a row of the table. The error describes the problem.
pub(crate) fn row_of(table: &str, json: &str) -> Result<TableRow, String> {
    TableRow::from_json(table, &of_az(json))
}

/// Converts a row of `az`, which writes an ETag as `etag`, and a value with its type as an object, to that of the service.
fn of_az(json: &str) -> Cow<'_, str> {
    const ETAG: &str = "W/\"datetime'";
    if !json.contains("\"edm_type\"") && !json.contains("\"etag\"") {
        return Cow::Borrowed(json);
    }
    let Ok(members) = serde_json::from_str::<Map<String, Value>>(json) else { return Cow::Borrowed(json) };
    let mut row = Map::new();
    for (name, mut value) in members {
        match &mut value {
            Value::String(etag) if name == "etag" && etag.starts_with(ETAG) => continue,
            Value::Object(parts) if parts.len() == 2 => {
                if let (Some(edm_type), Some(inner)) = (parts.remove("edm_type"), parts.remove("value")) {
                    row.insert(format!("{name}@odata.type"), edm_type);
                    value = inner;
                }
            }
            _ => {}
        }
        row.insert(name, value);
    }
    Cow::Owned(Value::Object(row).to_string())
}
