//! Reading of one page of a query.

use table_store::Result;

use super::{
    cursor::Cursor,
    found::{FoundRow, OnRow},
    source::Source,
};
use crate::model::layout::LayoutInfo;

/// One page of a query: the first, or the one after a cursor.
pub struct OnePage {
    source: Source,
    /// Hash that binds cursors to this query.
    query_hash: u64,
}

impl OnePage {
    /// Returns the page of the first `size` rows that are found, or of those after the cursor.
    pub fn new(layout: &'static LayoutInfo, mut source: Source, size: usize, cursor: Option<&str>) -> Result<Self> {
        let query_hash = source.query_hash(layout);
        let cursor = cursor.map(|cursor| Cursor::parse(cursor, query_hash)).transpose()?;
        // The query is checked as it continues after a row: before its first page is read, and again with each cursor's
        // keys.
        let (remaining, partition_key, row_key) = (source.pages.remaining_in_query, String::new(), String::new());
        let first = Cursor { query_hash, remaining, partition_key, row_key, listed: None, slice: None };
        source.check_after(cursor.as_ref().unwrap_or(&first))?;
        if let Some(cursor) = cursor {
            source.resume(cursor);
        }
        source.pages.remaining_in_run = source.pages.remaining_in_query.unwrap_or(usize::MAX).min(size);
        Ok(Self { source, query_hash })
    }

    /// Calls `read` for each row of the page, and returns the cursor of the next page.
    pub async fn read(self, read: OnRow<'_>) -> Result<Option<String>> {
        let Self { mut source, query_hash } = self;
        let (mut partition_key, mut row_key, mut listed) = (String::new(), String::new(), None);
        let (is_sliced, mut slice) = (source.is_sliced(), None);
        let mut read_and_note = |found: &FoundRow<'_>| {
            let is_match = read(found)?;
            if is_match {
                let (partition, row) = found.position();
                partition.clone_into(&mut partition_key);
                row.clone_into(&mut row_key);
                listed = found.listed().map(str::to_owned);
                slice = is_sliced.then(|| found.table.to_owned());
            }
            Ok(is_match)
        };
        let mut any = false;
        while source.next(&mut read_and_note).await? {
            any = true;
        }
        let remaining = source.pages.remaining_in_query;
        let next = Cursor { query_hash, remaining, partition_key, row_key, listed, slice };
        Ok((any && source.has_more()).then(|| next.to_string()))
    }
}
