//! Cursors: text that names the last row that a query returned, bound to that query.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use table_model::{LayoutInfo, PartInfo};
use table_store::{Condition, backend::Scan, error::ParseCursorError};
use twox_hash::XxHash3_64;

/// Position after which a query continues.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Hash of the query and its layout.
    pub query_hash: u64,
    /// Number of rows that the query may still return, if it has a limit.
    pub remaining: Option<usize>,
    /// Position of the last row that was returned.
    pub position: Position,
}

/// Position of a row in the order of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Keys of the row.
    pub partition_key: String,
    pub row_key: String,
    /// Row key of the entity, if the row is a list of several entities.
    pub listed: Option<String>,
    /// Slice of the row, if the table is sliced.
    pub slice: Option<String>,
}

/// Seed that makes the hash of a cursor's bytes differ from other hashes.
const SEED: u64 = 0x6375_7273_6F72;
const HASH: usize = size_of::<u64>();

impl Cursor {
    /// Returns the hash that binds cursors to a query: to what determines its rows and their order, and not to what it
    /// reads of each row. `filter` is the condition that the store does not evaluate; `entities` describes which entities
    /// the query reads.
    pub fn hash_query(
        layout: &LayoutInfo,
        scan: &Scan,
        take: Option<usize>,
        filter: Option<&Condition>,
        entities: &str,
    ) -> u64 {
        // Who evaluates the filter depends on the projection.
        let filter = scan.filter.as_ref().or(filter).map(Condition::to_string);
        let scan = Scan { filter: None, ..scan.clone() };
        let asked = format!("{}\n{}\n{filter:?}\n{take:?}\n{entities}", scan.table, scan.odata());
        XxHash3_64::oneshot(format!("{}\n{asked}", describe(layout)).as_bytes())
    }

    /// Parses a cursor. Fails if the text is damaged or belongs to a query with another hash.
    pub fn parse(text: &str, query_hash: u64) -> Result<Self, ParseCursorError> {
        let cursor: Self = unseal(text)?;
        if cursor.query_hash == query_hash { Ok(cursor) } else { Err(ParseCursorError::OtherQuery) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&seal(self).ok_or(fmt::Error)?)
    }
}

/// Returns a position as text that is safe in addresses, with a checksum.
pub fn seal(position: &impl Serialize) -> Option<String> {
    let body = postcard::to_allocvec(position).ok()?;
    let mut bytes = XxHash3_64::oneshot_with_seed(SEED, &body).to_le_bytes().to_vec();
    bytes.extend(body);
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// Reads a position that [`seal`] wrote.
pub fn unseal<P: DeserializeOwned>(text: &str) -> Result<P, ParseCursorError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ParseCursorError::Damaged)?;
    let (hash, body) = bytes.split_at_checked(HASH).ok_or(ParseCursorError::Damaged)?;
    if hash != XxHash3_64::oneshot_with_seed(SEED, body).to_le_bytes() {
        return Err(ParseCursorError::Damaged);
    }
    postcard::from_bytes(body).map_err(|_| ParseCursorError::Damaged)
}

/// Returns the parts of a layout on which the order of its rows depends.
fn describe(layout: &LayoutInfo) -> String {
    let parts = |parts: &[PartInfo]| {
        let parts: Vec<_> = parts.iter().map(|part| format!("{}:{}", part.field, part.encoding)).collect();
        parts.join(";")
    };
    let slice = layout.slice.as_ref().map(|slice| format!("{} of {}", slice.unit, slice.field));
    let (partition, row) = (parts(&layout.partition), parts(&layout.row));
    [&*layout.table, &*layout.name, &partition, &row, &slice.unwrap_or_default()].join("\n")
}
