//! Reading of one page of a query.

use table_model::LayoutInfo;
use table_store::{Error, Result};

use super::{
    cursor::{Cursor, Position},
    found::{FoundRow, OnRow, OnUnreadable, Visit, skip_or_fail},
    source::Source,
};

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
        source.check_after(cursor.as_ref().map_or(&Position::default(), |cursor| &cursor.position))?;
        if let Some(cursor) = cursor {
            source.resume(cursor);
        }
        source.pages.remaining_in_run = source.pages.remaining_in_query.unwrap_or(usize::MAX).min(size);
        Ok(Self { source, query_hash })
    }

    /// Calls `read` for each row of the page, and returns the cursor of the next page. Rows that cannot be read are passed
    /// to `skip`. Without `skip`, the page ends before such a row; if it is the first one, its error has the cursor of the
    /// page after it.
    pub async fn read(self, read: OnRow<'_>, skip: Option<OnUnreadable<'_>>) -> Result<Option<String>> {
        let Self { mut source, query_hash } = self;
        let (is_sliced, remaining) = (source.is_sliced(), source.pages.remaining_in_query);
        let mut page = PageRows { read, skip, is_sliced, rows: 0, last: Position::default(), unreadable: None };
        while source.next(&mut page).await? {}
        let remaining = remaining.map(|remaining| remaining.saturating_sub(page.rows));
        let cursor = |position| Cursor { query_hash, remaining, position }.to_string();
        match page.unreadable {
            Some((error, position)) if page.rows == 0 => Err(error.with_cursor(cursor(position))),
            unreadable => Ok((page.rows > 0 && (unreadable.is_some() || source.has_more())).then(|| cursor(page.last))),
        }
    }
}

/// The rows of a page.
struct PageRows<'a> {
    read: OnRow<'a>,
    skip: Option<OnUnreadable<'a>>,
    is_sliced: bool,
    /// Number of rows that were a match.
    rows: usize,
    /// Position of the last one.
    last: Position,
    /// The row before which the page ends, because it cannot be read.
    unreadable: Option<(Error, Position)>,
}

impl Visit for PageRows<'_> {
    fn found(&mut self, row: &FoundRow<'_>) -> Result<bool> {
        // The rest of what was read belongs to the next page.
        let is_match = self.unreadable.is_none() && (self.read)(row)?;
        if is_match {
            self.rows += 1;
            row.position(self.is_sliced, &mut self.last);
        }
        Ok(is_match)
    }

    fn unreadable(&mut self, error: Error, position: Position) -> Result<()> {
        if let Err(error) = skip_or_fail(&mut self.skip, error) {
            self.unreadable.get_or_insert((error, position));
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.unreadable.is_some()
    }
}
