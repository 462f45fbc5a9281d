//! Rows as lines of JSON.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use crate::{
    Properties, PropertiesRef, Result as StoreResult, RowId, RowRef,
    unstable::{
        limits,
        row_json::{self, JsonValue, MemberName},
    },
};

const TABLE: &str = "@table";
const ROWS: &str = "@rows";
const TYPE: &str = "@odata.type";

/// A row of a table, without the ETag and the time stamp that a store assigns.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// The table.
    pub table: String,
    /// The partition key.
    pub partition_key: String,
    /// The row key.
    pub row_key: String,
    /// The properties, in order.
    pub properties: Properties,
}

impl TableRow {
    /// Returns a copy of a row of the table.
    pub fn of(table: &str, row: RowRef<'_>) -> Self {
        let (table, partition_key) = (table.to_owned(), row.partition_key.to_owned());
        Self { table, partition_key, row_key: row.row_key.to_owned(), properties: row.properties.to_properties() }
    }

    /// Returns the location of the row.
    pub fn id(&self) -> RowId {
        let Self { table, partition_key, row_key, .. } = self.clone();
        RowId { table, partition_key, row_key }
    }

    /// Reads a row of the table from the JSON that the service, and most of its clients, write: as in a [`Line`], but
    /// without the table. Members that describe the row, such as `odata.id` and `Timestamp`, are left out.
    ///
    /// ```
    /// use table_runtime::transfer::TableRow;
    ///
    /// let json = r#"{"odata.etag":"W/\"1\"","PartitionKey":"Marcus","RowKey":"1","Likes@odata.type":"Edm.Int64","Likes":"5"}"#;
    /// let row = TableRow::from_json("Posts", json)?;
    /// let names: Vec<_> = row.properties.iter().map(|(name, _)| name).collect();
    /// assert_eq!((row.table.as_str(), names), ("Posts", vec!["Likes"]));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// Returns a description of the problem, without the values of properties, which may be private.
    pub fn from_json(table: &str, json: &str) -> Result<Self, String> {
        match parse::<true>(json)? {
            Line::Row(row) => Ok(Self { table: table.to_owned(), ..row }),
            Line::Table(_) | Line::End(_) => Err("there is no `PartitionKey`".to_owned()),
        }
    }

    /// Checks that the service accepts the row.
    ///
    /// # Errors
    /// Returns [`Error::Limit`](crate::Error::Limit) if the table's name, a key, a property or the row exceeds a limit.
    pub fn check(&self) -> StoreResult<()> {
        let Self { table, partition_key, row_key, properties } = self;
        limits::check_table_name(table)?;
        limits::check_key(table, "PartitionKey", partition_key)?;
        limits::check_key(table, "RowKey", row_key)?;
        limits::check_row(table, partition_key, row_key, properties.as_ref())
    }
}

/// A line of a dump.
///
/// ```
/// use table_runtime::{Value, transfer::Line};
///
/// let line = r#"{"@table":"Posts","PartitionKey":"Marcus","RowKey":"1","Likes@odata.type":"Edm.Int64","Likes":"5"}"#;
/// let Ok(Line::Row(row)) = line.parse() else { panic!("a row") };
/// assert_eq!(row.properties.get("Likes").map(|likes| likes.to_value()), Some(Value::Int64(5)));
///
/// let mut written = Vec::new();
/// Line::Row(row).write(&mut written);
/// assert_eq!(String::from_utf8_lossy(&written), format!("{line}\n"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A table begins.
    Table(String),
    /// A row.
    Row(TableRow),
    /// The end, and the number of the rows before it.
    End(u64),
}

impl Line {
    /// Appends the line and its end. A value that is [unreadable](crate::ValueRef::Unreadable) becomes `null`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Table(table) => {
                begin(out, table);
                out.extend_from_slice(b"}\n");
            }
            Self::Row(row) => write_row(out, &row.table, &row.partition_key, &row.row_key, row.properties.as_ref()),
            Self::End(rows) => out.extend_from_slice(format!("{{\"{ROWS}\":{rows}}}\n").as_bytes()),
        }
    }
}

fn begin(out: &mut Vec<u8>, table: &str) {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(TABLE.as_bytes());
    out.extend_from_slice(b"\":");
    row_json::text(out, table);
}

/// Appends the line of a row.
pub fn write_row(out: &mut Vec<u8>, table: &str, partition_key: &str, row_key: &str, properties: PropertiesRef<'_>) {
    begin(out, table);
    out.push(b',');
    row_json::write_members(out, partition_key, row_key, properties);
    out.extend_from_slice(b"}\n");
}

impl std::str::FromStr for Line {
    type Err = String;

    /// Reads a line. The error describes the problem, without the values of properties, which may be private.
    fn from_str(line: &str) -> Result<Self, String> {
        parse::<false>(line)
    }
}

/// Reads the JSON of a line, or of a row without its table if `OF_TABLE`.
fn parse<const OF_TABLE: bool>(json: &str) -> Result<Line, String> {
    let parse = if OF_TABLE { row_json::parse_exactly } else { row_json::parse };
    parse(json).map(|Parsed::<OF_TABLE>(line)| line).map_err(|error: serde_json::Error| {
        // The position is that in the line, which has a number of its own.
        let text = error.to_string();
        text.split(" at line ").next().unwrap_or_default().to_owned()
    })
}

/// The members of a line, in order.
struct Members<'a>(Vec<(Cow<'a, str>, JsonValue<'a>)>);

struct Parsed<const OF_TABLE: bool>(Line);

impl<'de, const OF_TABLE: bool> Deserialize<'de> for Parsed<OF_TABLE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<const OF_TABLE: bool>;

        impl<'de, const OF_TABLE: bool> Visitor<'de> for Object<OF_TABLE> {
            type Value = Parsed<OF_TABLE>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the members of a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(16);
                while let Some(MemberName(name)) = map.next_key()? {
                    if members.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("`{name}` occurs twice")));
                    }
                    members.push((name, map.next_value()?));
                }
                Members(members).into_line(OF_TABLE).map(Parsed).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Object::<OF_TABLE>)
    }
}

impl Members<'_> {
    fn into_line(self, of_table: bool) -> Result<Line, String> {
        let (mut table, mut partition_key, mut row_key) = (of_table.then(String::new), None, None);
        let mut properties = Properties::with_capacity(self.0.len() * 24);
        for (name, value) in &self.0 {
            let key = match name.as_ref() {
                ROWS if !of_table => return Self::end(value, self.0.len()),
                TABLE if !of_table => &mut table,
                "PartitionKey" => &mut partition_key,
                "RowKey" => &mut row_key,
                // The store assigns them; a row of the service has them.
                "Timestamp" | "odata.etag" => continue,
                name if row_json::is_metadata(name) || of_table && name.starts_with("@odata.") => continue,
                name if name.ends_with(TYPE) => {
                    let property = name.trim_end_matches(TYPE);
                    if property != "Timestamp" && self.0.iter().all(|(other, _)| other != property) {
                        return Err(format!("`{property}` has a type and no value"));
                    }
                    continue;
                }
                name if !row_json::can_carry(name) => return Err(format!("`{name}` is not known")),
                name => {
                    self.push(&mut properties, name, value)?;
                    continue;
                }
            };
            match value {
                JsonValue::Text(text) => *key = Some(text.clone().into_owned()),
                JsonValue::Other(what, text) if !text.is_empty() => {
                    return Err(format!("`{name}` is {what}: {text:?}"));
                }
                _ => return Err(format!("`{name}` is not a text")),
            }
        }
        let table = table.ok_or_else(|| format!("there is no `{TABLE}`"))?;
        match (partition_key, row_key) {
            (Some(partition_key), Some(row_key)) => {
                Ok(Line::Row(TableRow { table, partition_key, row_key, properties }))
            }
            (None, None) if !of_table && self.0.len() == 1 => Ok(Line::Table(table)),
            (None, _) => Err("there is no `PartitionKey`".to_owned()),
            (_, None) => Err("there is no `RowKey`".to_owned()),
        }
    }

    fn end(value: &JsonValue<'_>, members: usize) -> Result<Line, String> {
        match value {
            JsonValue::Whole(rows) if members == 1 => u64::try_from(*rows).ok().map(Line::End),
            _ => None,
        }
        .ok_or_else(|| format!("`{ROWS}` is not the only member, or not a number of rows"))
    }

    /// Adds a property. A `null` is a property that is absent.
    fn push(&self, properties: &mut Properties, name: &str, value: &JsonValue<'_>) -> Result<(), String> {
        if matches!(value, JsonValue::Null) {
            return Ok(());
        }
        let is_type = |other: &str| other.strip_suffix(TYPE).is_some_and(|property| property == name);
        let edm_type = match self.0.iter().find(|(other, _)| is_type(other)) {
            Some((_, JsonValue::Text(edm_type))) => Some(edm_type.as_ref()),
            Some(_) => return Err(format!("the type of `{name}` is not a text")),
            None => None,
        };
        let mut bytes = Vec::new();
        match row_json::typed(value, edm_type, &mut bytes) {
            Some(value) => properties.push(name, value),
            None => return Err(format!("`{name}` is {}", row_json::unreadable(value, edm_type))),
        }
        Ok(())
    }
}
