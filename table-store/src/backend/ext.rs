//! The requests to a backend as functions with arguments.

use std::slice;

use super::{Backend, Checks, Continuation, Group, Page, ReadRequest, ReadTarget, Reader, Scan, TableRequest};
use crate::{ETag, Result, Row, RowRef, RowSet};

/// The requests to a [`Backend`] as functions with arguments and owned answers. Every backend has them.
pub trait BackendExt: Backend {
    /// Creates the table, and returns `false` if it already existed.
    fn create_table<'a>(&'a self, table: &'a str) -> impl Future<Output = Result<bool>> + Send + 'a {
        async move { Ok(!self.tables(TableRequest::Create(table)).await?.is_empty()) }
    }

    /// Deletes the table with its rows, and returns `false` if it did not exist.
    fn delete_table<'a>(&'a self, table: &'a str) -> impl Future<Output = Result<bool>> + Send + 'a {
        async move { Ok(!self.tables(TableRequest::Delete(table)).await?.is_empty()) }
    }

    /// Returns the names of the tables that begin with `prefix`, in order.
    fn list_tables<'a>(&'a self, prefix: &'a str) -> impl Future<Output = Result<Vec<String>>> + Send + 'a {
        self.tables(TableRequest::List(prefix))
    }

    /// Returns the row with these keys. With `select`, the row has only these of its own properties.
    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> impl Future<Output = Result<Option<Row>>> + Send + 'a {
        async move {
            let target = ReadTarget::Row { table, partition_key, row_key, select };
            let mut found = None;
            let mut keep = |row: RowRef<'_>| {
                found = Some(row.to_row());
                Ok(())
            };
            self.read(ReadRequest { target, checks: Checks::Store }, &mut keep).await?;
            Ok(found)
        }
    }

    /// Calls `reader` with a reference to the row with these keys, whose bytes the reader [checks](Checks::Reader), and
    /// returns whether the row exists.
    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        reader: Reader<'a>,
    ) -> impl Future<Output = Result<bool>> + Send + 'a {
        async move {
            let target = ReadTarget::Row { table, partition_key, row_key, select };
            let mut exists = false;
            let mut note = |row: RowRef<'_>| {
                exists = true;
                reader(row)
            };
            self.read(ReadRequest { target, checks: Checks::Reader }, &mut note).await?;
            Ok(exists)
        }
    }

    /// Returns one page of a scan, either the first or the one at the continuation of the page before. A page may be
    /// empty and still have a continuation.
    fn query<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
    ) -> impl Future<Output = Result<Page>> + Send + 'a {
        async move {
            /// Number of rows for which a page has room from the beginning.
            const ROOM: u32 = 16;
            let mut rows = RowSet::default();
            let mut keep = |row: RowRef<'_>| {
                if rows.is_empty() {
                    rows.reserve(scan.page.min(ROOM) as usize, row);
                }
                rows.push(row);
                Ok(())
            };
            let request = ReadRequest { target: ReadTarget::Page { scan, from }, checks: Checks::Store };
            let next = self.read(request, &mut keep).await?;
            Ok(Page { rows, next })
        }
    }

    /// Calls `reader` for each row of one page of a scan, by reference, whose bytes the reader [checks](Checks::Reader),
    /// and returns the page's continuation.
    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        reader: Reader<'a>,
    ) -> impl Future<Output = Result<Option<Continuation>>> + Send + 'a {
        self.read(ReadRequest { target: ReadTarget::Page { scan, from }, checks: Checks::Reader }, reader)
    }

    /// Executes all of the operations of one group or none, and returns each row's new ETag; `None` for a deleted row.
    fn execute_group<'a>(&'a self, group: &'a Group) -> impl Future<Output = Result<Vec<Option<ETag>>>> + Send + 'a {
        async move { Ok(self.execute(slice::from_ref(group)).await?) }
    }
}

impl<B: Backend + ?Sized> BackendExt for B {}
