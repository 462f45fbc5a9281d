//! The forms in which files of this command and of other programs have rows.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, BufReader, Cursor, Read},
};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};
use table_runtime::transfer::{Line, TableRow};

use crate::{arguments::Format, failure::Failure};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A row in each line, as `tables export` and others write it.
    Lines,
    /// Rows as a list, as the answer to a query, or one after the other, each in any number of lines.
    Document,
    Csv,
}

/// Files that are not read, by their first bytes: what they are, and what to do.
const OTHERS: [(&[u8], &str, &str); 9] = [
    (b"redb\x1A\x0A\xA9\x0D\x0A", "the file of an embedded store", "copy it with `tables copy FILE STORE`"),
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

/// An open file or the standard input, at its beginning.
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

    /// Reads the lines of a document. The table is that of rows that do not have it.
    pub(crate) fn document(mut self, table: Option<&str>, partial: bool) -> Result<Vec<InputLine>, Failure> {
        let mut text = String::new();
        self.bytes.read_to_string(&mut text).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Failure::input("it is not UTF-8; save it as UTF-8"),
            _ => error.into(),
        })?;
        let text = text.trim_start_matches(BOM);
        let damaged = |error: serde_json::Error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default();
            at_line(error.line() as u64, problem)
        };
        let (mut lines, mut number, mut counted) = (Vec::new(), 1, 0);
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            for row in listed(value.map_err(damaged)?, partial)? {
                // The row is a part of the text.
                let begin = row.get().as_ptr() as usize - text.as_ptr() as usize;
                number += text[counted..begin].matches('\n').count() as u64;
                counted = begin;
                lines.push(InputLine::parse(table, row.get(), number)?);
            }
        }
        Ok(lines)
    }
}

/// A line of `tables export`, or a row of another program.
pub(crate) struct InputLine {
    /// The number of the line in the file.
    pub(crate) number: u64,
    pub(crate) line: Line,
    /// True for `tables export`, whose lines have an end.
    pub(crate) is_of_export: bool,
}

impl InputLine {
    /// Reads a line. The table is that of a row that does not have it.
    pub(crate) fn parse(table: Option<&str>, json: &str, number: u64) -> Result<Self, Failure> {
        let is_of_export = is_of_export(json);
        let line = match table {
            _ if is_of_export => json.parse(),
            Some(table) => TableRow::from_json(table, &of_az(json)).map(Line::Row),
            None => Err("the row has no table; give it with --table".to_owned()),
        };
        let line = line.map_err(|problem| at_line(number, &problem))?;
        Ok(Self { number, line, is_of_export })
    }
}

/// A reader of CSV that notices an end within quotes, which the reader of the rows accepts: the file was cut.
pub(crate) struct Quotes<R> {
    reader: R,
    delimiter: u8,
    /// True at the beginning of a cell, where a quote opens it.
    begins: bool,
    /// True after a quote that closes a cell, unless another one follows.
    closed: bool,
    pub(crate) is_open: bool,
}

impl<R> Quotes<R> {
    pub(crate) const fn new(reader: R, delimiter: u8) -> Self {
        Self { reader, delimiter, begins: true, closed: false, is_open: false }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        for byte in &bytes[..read] {
            if *byte == b'"' {
                let opens = self.begins || self.closed;
                self.closed = self.is_open;
                self.is_open = !self.is_open && opens;
                self.begins = false;
            } else if !self.is_open {
                self.closed = false;
                // The mark before UTF-8 is no part of the first cell.
                self.begins = *byte == self.delimiter || matches!(byte, b'\n' | b'\r' | 0xEF | 0xBB | 0xBF);
            }
        }
        Ok(read)
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
        // A line of `tables export` is one even if it is damaged.
        _ if line.is_empty() || object.is_some_and(|members| members.starts_with("\"@")) && line.ends_with('}') => {
            Form::Lines
        }
        _ if object.is_some() && InputLine::parse(Some(""), line, 1).is_ok() => Form::Lines,
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
    next_marker: Value,
    #[serde(default, rename = "odata.nextLink")]
    next_link: Option<IgnoredAny>,
}

/// The answer of the service to a request that it refused.
#[derive(Deserialize)]
struct Refusal {
    #[serde(rename = "odata.error")]
    error: Value,
}

/// Returns the rows of a value: those of a list or an answer, or the row that it is.
fn listed(value: &RawValue, partial: bool) -> Result<Vec<&RawValue>, Failure> {
    if let Ok(rows) = serde_json::from_str(value.get()) {
        return Ok(rows);
    }
    if let Ok(Refusal { error }) = serde_json::from_str(value.get()) {
        return Err(Failure::input(format!("it is an error that the service answered: {error}")));
    }
    let Ok(Answer { value: rows, next_marker, next_link }) = serde_json::from_str(value.get()) else {
        return Ok(vec![value]);
    };
    let has_ended = next_marker.is_null() || next_marker == json!({}) || next_marker == json!("");
    if !partial && (next_link.is_some() || !has_ended) {
        return Err(Failure::input(
            "it has only the first rows of the table, and the marker of the next ones; request all of them, with `az \
             storage entity query --num-results '*'`, or give --partial",
        ));
    }
    Ok(rows)
}

/// Checks whether a line has its table, or ends the output of `tables export`: by its members, as any text may be `@table`.
fn is_of_export(json: &str) -> bool {
    let is_member = |name: &str| matches!(name, "@table" | "@rows");
    let begin = json.trim_start().strip_prefix('{').map(str::trim_start).unwrap_or_default();
    if begin.starts_with("\"@table\"") || begin.starts_with("\"@rows\"") {
        return true;
    }
    (json.contains("\"@table\"") || json.contains("\"@rows\""))
        && serde_json::from_str(json).is_ok_and(|Members(members)| members.iter().any(|(name, _)| is_member(name)))
}

/// Converts a row of `az`, which writes an ETag as `etag`, and a value with its type as an object, to that of the service.
fn of_az(json: &str) -> Cow<'_, str> {
    const ETAG: &str = "\"W/\\\"datetime'";
    if !json.contains("\"edm_type\"") && !json.contains("\"etag\"") {
        return Cow::Borrowed(json);
    }
    let Ok(Members(members)) = serde_json::from_str(json) else { return Cow::Borrowed(json) };
    let mut row = String::new();
    let mut add = |name: &str, value: &str| {
        row.push(if row.is_empty() { '{' } else { ',' });
        row.extend([&Value::from(name).to_string(), ":", value]);
    };
    for (name, value) in members {
        match serde_json::from_str::<Typed<'_>>(value.get()) {
            Ok(Typed { edm_type, value }) => {
                add(&format!("{name}@odata.type"), edm_type.get());
                add(&name, value.get());
            }
            Err(_) if name == "etag" && value.get().starts_with(ETAG) => {}
            Err(_) => add(&name, value.get()),
        }
    }
    Cow::Owned(row + "}")
}

/// A value with its type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed<'a> {
    #[serde(borrow)]
    edm_type: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// The members of an object, in order, also those that occur twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_within_quotes_is_noticed() -> io::Result<()> {
        for (text, is_open) in [
            ("a,b\n", false),
            ("\"a\",\"b\"\n", false),
            ("a,\"b", true),
            ("a,\"b\"\"c", true),
            ("a,\"b\"\"", true),
            ("\"\"\"a\"\"\",\"\"\n\"b\"\",\"\"c\"", false),
            ("5\" pipe,x\n", false),
            ("\u{FEFF}\"a\nb", true),
            ("\u{FEFF}\"a\nb\"\r\n\"c", true),
        ] {
            let mut quotes = Quotes::new(text.as_bytes(), b',');
            quotes.read_to_end(&mut Vec::new())?;
            assert_eq!(quotes.is_open, is_open, "{text}");
            // What a writer of CSV writes is complete, and without its last quote it is not.
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record([text, "\"", "\",\""])?;
            let written = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
            let end = written.iter().rposition(|byte| *byte == b'"').unwrap_or_default();
            for (bytes, is_open) in [(&written[..], false), (&written[..end], true)] {
                let mut quotes = Quotes::new(bytes, b',');
                quotes.read_to_end(&mut Vec::new())?;
                assert_eq!(quotes.is_open, is_open, "{}", String::from_utf8_lossy(bytes));
            }
        }
        Ok(())
    }
}
