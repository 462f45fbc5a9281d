//! Cursors: the last row that was given out, as text, bound to its query.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::{Condition, LayoutInfo, backend::Scan, error::ParseCursorError};

/// Where a query goes on.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The hash of the query and its layout.
    pub query: u64,
    /// How many rows the query may still give out, if it has a limit.
    pub left: Option<usize>,
    /// The keys of the last row that was given out.
    pub partition_key: String,
    pub row_key: String,
    /// The row key of the last entity that was given out, where the row is a list of several.
    pub listed: Option<String>,
    /// The slice of the last row that was given out, where the table is sliced.
    pub slice: Option<String>,
}

/// Sets the hash of a cursor's bytes apart from other hashes.
const SEED: u64 = 0x6375_7273_6F72;
const HASH: usize = size_of::<u64>();

impl Cursor {
    /// What the cursors of a query are known by; `filter` is the one that the store does not see, `view` what is read of
    /// the rows.
    pub(crate) fn query(
        layout: &LayoutInfo,
        scan: &Scan,
        take: Option<usize>,
        filter: Option<&Condition>,
        view: &str,
    ) -> u64 {
        let parts = |parts: &[crate::PartInfo]| {
            let parts: Vec<_> = parts.iter().map(|part| format!("{}:{}", part.field, part.encoding)).collect();
            parts.join(";")
        };
        let slice = layout.slice.as_ref().map(|slice| format!("{} of {}", slice.unit, slice.field));
        let (partition, row) = (parts(layout.partition), parts(layout.row));
        let layout = [layout.table, layout.name, &partition, &row, &slice.unwrap_or_default()].join("\n");
        let select = scan.select.as_ref().map(|select| select.join(","));
        let filter = filter.map(Condition::to_string);
        let asked = format!("{}\n{}\n{filter:?}\n{select:?}\n{take:?}\n{view}", scan.table, scan.odata());
        XxHash3_64::oneshot(format!("{layout}\n{asked}").as_bytes())
    }

    /// Reads a cursor of the query.
    pub(crate) fn parse(text: &str, query: u64) -> Result<Self, ParseCursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ParseCursorError::Damaged)?;
        let (hash, body) = bytes.split_at_checked(HASH).ok_or(ParseCursorError::Damaged)?;
        if hash != XxHash3_64::oneshot_with_seed(SEED, body).to_le_bytes() {
            return Err(ParseCursorError::Damaged);
        }
        let cursor: Self = postcard::from_bytes(body).map_err(|_| ParseCursorError::Damaged)?;
        if cursor.query == query { Ok(cursor) } else { Err(ParseCursorError::OtherQuery) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = postcard::to_allocvec(self).map_err(|_| fmt::Error)?;
        let mut bytes = XxHash3_64::oneshot_with_seed(SEED, &body).to_le_bytes().to_vec();
        bytes.extend(body);
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}
