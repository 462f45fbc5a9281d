//! Rows, which a backend stores and returns without knowing about entities.

use std::{fmt, str::FromStr};

use crate::{Properties, PropertiesRef, Ticks};

/// The version of a row. Every write of the row changes it, and a conditional write names it (`If-Match`).
///
/// An ETag is opaque: compare it, store it, send it back. `Display` writes it as the service sends it, and that text
/// can be parsed, for example by a web service that receives it in a client's `If-Match` header.
///
/// ```
/// use table_runtime::ETag;
/// let etag: ETag = "W/\"datetime'2010-05-28T00%3A00%3A00Z'\"".parse()?;
/// assert_eq!(etag.to_string(), "W/\"datetime'2010-05-28T00%3A00%3A00Z'\"");
/// // `*` means any version: a write with it would be unconditional.
/// assert!("*".parse::<ETag>().is_err());
/// # Ok::<(), table_runtime::error::ParseETagError>(())
/// ```
#[derive(Clone)]
pub struct ETag(Repr);

#[derive(Clone)]
enum Repr {
    /// ETag of the embedded store: the row's time stamp, which differs for every write.
    Ticks(Ticks),
    Text(Box<str>),
}

impl From<Ticks> for ETag {
    fn from(timestamp: Ticks) -> Self {
        Self(Repr::Ticks(timestamp))
    }
}

/// The error of a text that is not an [`ETag`]: visible ASCII in double quotes, with or without `W/` before them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an ETag: expected a text in double quotes, with or without `W/` before them")]
pub struct ParseETagError;

impl FromStr for ETag {
    type Err = ParseETagError;

    /// Parses an ETag that [`Display`](fmt::Display) wrote or a service sent: `"…"` or `W/"…"`. Refuses `*` and a list
    /// of ETags.
    fn from_str(text: &str) -> Result<Self, ParseETagError> {
        let quoted = text.strip_prefix("W/").unwrap_or(text);
        let opaque = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(ParseETagError)?;
        let fits = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"';
        if opaque.is_empty() || !opaque.bytes().all(fits) {
            return Err(ParseETagError);
        }
        Ok(Self(Repr::Text(text.into())))
    }
}

impl TryFrom<&str> for ETag {
    type Error = ParseETagError;

    fn try_from(text: &str) -> Result<Self, ParseETagError> {
        text.parse()
    }
}

impl TryFrom<String> for ETag {
    type Error = ParseETagError;

    fn try_from(text: String) -> Result<Self, ParseETagError> {
        text.parse()
    }
}

impl ETag {
    /// Returns the time stamp in the ETag, if the ETag has the form that the service uses.
    #[doc(hidden)]
    pub fn timestamp(&self) -> Option<Ticks> {
        match &self.0 {
            Repr::Ticks(ticks) => Some(*ticks),
            Repr::Text(text) => {
                text.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?.replace("%3A", ":").parse().ok()
            }
        }
    }
}

impl PartialEq for ETag {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Ticks(this), Repr::Ticks(other)) => this == other,
            (Repr::Text(this), Repr::Text(other)) => this == other,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl Eq for ETag {}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Ticks(ticks) => write!(f, "W/\"datetime'{}'\"", ticks.to_string().replace(':', "%3A")),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

/// Serializes the text that [`Display`](fmt::Display) writes.
impl serde::Serialize for ETag {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deserializes a text that [`FromStr`] parses.
impl<'de> serde::Deserialize<'de> for ETag {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The location of a row: its table and its two keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowId {
    /// The table's name.
    pub table: String,
    /// The partition key, as stored.
    pub partition_key: String,
    /// The row key, as stored.
    pub row_key: String,
}

/// The two keys of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKeys {
    /// The partition key.
    pub partition_key: String,
    /// The row key.
    pub row_key: String,
}

impl RowKeys {
    /// Checks whether they are the keys of this row.
    pub fn is(&self, (partition_key, row_key): (&str, &str)) -> bool {
        self.partition_key == partition_key && self.row_key == row_key
    }
}

impl RowId {
    /// Returns the location of the row with these keys.
    #[doc(hidden)]
    pub fn of(table: &str, RowKeys { partition_key, row_key }: &RowKeys) -> Self {
        Self { table: table.to_owned(), partition_key: partition_key.clone(), row_key: row_key.clone() }
    }
}

/// `Posts(PartitionKey='Marcus',RowKey='1')`, as the service's addresses write it.
impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, partition_key, row_key } = self;
        write!(
            f,
            "{table}(PartitionKey='{}',RowKey='{}')",
            partition_key.replace('\'', "''"),
            row_key.replace('\'', "''")
        )
    }
}

/// A row as the store holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The partition key, as stored.
    pub partition_key: String,
    /// The row key, as stored.
    pub row_key: String,
    /// The other properties.
    pub properties: Properties,
    /// The version.
    pub etag: ETag,
    /// Time at which the store wrote the row.
    pub timestamp: Ticks,
}

impl Row {
    /// Borrows the row.
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef {
            partition_key: &self.partition_key,
            row_key: &self.row_key,
            properties: self.properties.as_ref(),
            etag: &self.etag,
            timestamp: self.timestamp,
        }
    }
}

/// A row, borrowed from its container.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a> {
    /// The partition key, as stored.
    pub partition_key: &'a str,
    /// The row key, as stored.
    pub row_key: &'a str,
    /// The other properties.
    pub properties: PropertiesRef<'a>,
    /// The version.
    pub etag: &'a ETag,
    /// Time at which the store wrote the row.
    pub timestamp: Ticks,
}

impl RowRef<'_> {
    /// Returns the two keys, copied.
    #[doc(hidden)]
    pub fn keys(self) -> RowKeys {
        RowKeys { partition_key: self.partition_key.to_owned(), row_key: self.row_key.to_owned() }
    }

    /// Returns the keys of another row of the partition.
    #[doc(hidden)]
    pub fn with_row_key(self, row_key: &str) -> RowKeys {
        RowKeys { partition_key: self.partition_key.to_owned(), row_key: row_key.to_owned() }
    }

    /// Returns the location of the row in `table`.
    #[doc(hidden)]
    pub fn id(self, table: &str) -> RowId {
        let (partition_key, row_key) = (self.partition_key.to_owned(), self.row_key.to_owned());
        RowId { table: table.to_owned(), partition_key, row_key }
    }

    /// Returns a copy that owns its text and bytes.
    pub fn to_row(self) -> Row {
        Row {
            partition_key: self.partition_key.to_owned(),
            row_key: self.row_key.to_owned(),
            properties: self.properties.to_properties(),
            etag: self.etag.clone(),
            timestamp: self.timestamp,
        }
    }
}

/// Rows in the order of their keys, stored together, so that a page costs a few allocations and not several for each
/// row.
#[derive(Clone, Default)]
pub struct RowSet {
    /// Partition key and row key of each row, one after the other.
    keys: String,
    /// The encoded properties of each row, one after the other.
    properties: Vec<u8>,
    rows: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    partition_end: usize,
    row_end: usize,
    properties_end: usize,
    etag: ETag,
    timestamp: Ticks,
}

impl RowSet {
    /// Adds a row after the others.
    pub fn push(&mut self, row: RowRef<'_>) {
        self.keys.push_str(row.partition_key);
        let partition_end = self.keys.len();
        self.keys.push_str(row.row_key);
        self.properties.extend_from_slice(row.properties.as_bytes());
        self.rows.push(Entry {
            partition_end,
            row_end: self.keys.len(),
            properties_end: self.properties.len(),
            etag: row.etag.clone(),
            timestamp: row.timestamp,
        });
    }

    /// Makes room for so many rows of the size of this one. Large rows get no more room than for 64 KiB of properties.
    #[doc(hidden)]
    pub fn reserve(&mut self, rows: usize, row: RowRef<'_>) {
        self.keys.reserve(rows * (row.partition_key.len() + row.row_key.len()));
        self.properties.reserve((rows * row.properties.as_bytes().len()).min(1 << 16));
        self.rows.reserve(rows);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the row at the position `n`.
    #[inline]
    pub fn get(&self, n: usize) -> Option<RowRef<'_>> {
        let entry = self.rows.get(n)?;
        let (keys, properties) = match n.checked_sub(1).and_then(|before| self.rows.get(before)) {
            Some(before) => (before.row_end, before.properties_end),
            None => (0, 0),
        };
        Some(RowRef {
            partition_key: &self.keys[keys..entry.partition_end],
            row_key: &self.keys[entry.partition_end..entry.row_end],
            properties: PropertiesRef::trusted(&self.properties[properties..entry.properties_end]),
            etag: &entry.etag,
            timestamp: entry.timestamp,
        })
    }

    /// Returns the last row.
    pub fn last(&self) -> Option<RowRef<'_>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns an iterator of the rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = RowRef<'_>> {
        (0..self.len()).map_while(|n| self.get(n))
    }
}

impl<'a> Extend<RowRef<'a>> for RowSet {
    fn extend<I: IntoIterator<Item = RowRef<'a>>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl fmt::Debug for RowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_is_quoted_and_names_one_version() {
        for text in ["\"a\"", "W/\"a\"", "\"*\"", "W/\"datetime'2010-05-28T00%3A00%3A00.0000000Z'\"", "W/\"0x5B1\""] {
            assert_eq!(text.parse::<ETag>().map(|etag| etag.to_string()).as_deref(), Ok(text));
            assert_eq!(ETag::try_from(text.to_owned()), ETag::try_from(text));
        }
        for text in [
            "",
            " ",
            "*",
            "a",
            "\"",
            "\"\"",
            "W/",
            "W/*",
            "W/\"",
            "W/\"\"",
            "w/\"a\"",
            "W/ \"a\"",
            " \"a\"",
            "\"a\" ",
            "\"a",
            "a\"",
            "\"a\"b\"",
            "\"a\", \"b\"",
            "\"a\",*",
            "\"a\nb\"",
            "\"a\r\nPrefer: return-content\"",
            "\"a\u{7F}\"",
            "\"é\"",
        ] {
            assert_eq!(text.parse::<ETag>(), Err(ParseETagError), "{text:?}");
        }
    }

    #[test]
    fn etags_of_the_embedded_store_have_the_form_of_the_service() {
        for ticks in [Ticks::default(), Ticks::UNIX_EPOCH, Ticks::MAX] {
            let etag = ETag::from(ticks);
            assert_eq!(etag.to_string().parse(), Ok(etag.clone()));
            assert_eq!(etag.to_string().parse().map(|etag: ETag| etag.timestamp()), Ok(Some(ticks)));
        }
    }
}
