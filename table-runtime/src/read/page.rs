//! One page of a query.

use super::{
    cursor::Cursor,
    found::FoundRow,
    source::{FoundReader, Source},
};
use crate::{LayoutInfo, Result};

/// One page of a query, where its cursor says.
pub(crate) struct OnePage {
    source: Source,
    /// What the cursors of this query are known by.
    query: u64,
}

impl OnePage {
    /// The first `size` that are found, or those after the cursor.
    pub(crate) fn new(
        layout: &'static LayoutInfo,
        mut source: Source,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<Self> {
        let query = source.query(layout);
        let cursor = cursor.map(|cursor| Cursor::parse(cursor, query)).transpose()?;
        // The query as it goes on after a row is checked before its first page, and with the cursor's keys again.
        let (partition_key, row_key) = (String::new(), String::new());
        let first = Cursor { query, left: source.pages.taken, partition_key, row_key, listed: None, slice: None };
        source.check_after(cursor.as_ref().unwrap_or(&first))?;
        if let Some(cursor) = cursor {
            source.resume(cursor);
        }
        source.pages.left = source.pages.taken.unwrap_or(usize::MAX).min(size);
        Ok(Self { source, query })
    }

    /// Lends what it has to `read`, and gives the cursor of the next one.
    pub(crate) async fn read(self, read: FoundReader<'_>) -> Result<Option<String>> {
        let Self { mut source, query } = self;
        let (mut partition_key, mut row_key, mut listed) = (String::new(), String::new(), None);
        let (is_sliced, mut slice) = (source.is_sliced(), None);
        let mut noted = |found: FoundRow<'_>| {
            let given = read(found)?;
            if given {
                let (partition, row) = found.position();
                partition.clone_into(&mut partition_key);
                row.clone_into(&mut row_key);
                listed = found.listed().map(str::to_owned);
                slice = is_sliced.then(|| found.table.to_owned());
            }
            Ok(given)
        };
        let mut any = false;
        while source.next(&mut noted).await? {
            any = true;
        }
        let left = source.pages.taken;
        let next = Cursor { query, left, partition_key, row_key, listed, slice };
        Ok((any && source.has_more()).then(|| next.to_string()))
    }
}
