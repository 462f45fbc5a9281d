//! The backend that counts the requests and the rows of the operation that sends them.

use std::{fmt, sync::Arc, time::Duration};

use super::{Backend, BoxFuture, Continuation, FailedGroup, Group, Page, Reach, Reader, Scan};
use crate::{ETag, Result, Row, observe};

/// A backend that sends all requests to another one, and counts them.
pub(crate) struct Observed(pub(crate) Arc<dyn Backend>);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Backend for Observed {
    fn system(&self) -> &'static str {
        self.0.system()
    }

    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        observe::request();
        self.0.create_table(table)
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        observe::request();
        self.0.delete_table(table)
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        observe::request();
        self.0.list_tables(prefix)
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        let got = self.0.get(table, partition_key, row_key, select);
        if !observe::counts() {
            return got;
        }
        observe::request();
        Box::pin(async move {
            let row = got.await?;
            observe::read(usize::from(row.is_some()));
            Ok(row)
        })
    }

    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        let got = self.0.get_with(table, partition_key, row_key, select, read);
        if !observe::counts() {
            return got;
        }
        observe::request();
        Box::pin(async move {
            let found = got.await?;
            observe::read(usize::from(found));
            Ok(found)
        })
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        let page = self.0.query(scan, from);
        if !observe::counts() {
            return page;
        }
        observe::request();
        Box::pin(async move {
            let page = page.await?;
            observe::read(page.rows.len());
            Ok(page)
        })
    }

    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        if !observe::counts() {
            return self.0.query_with(scan, from, read);
        }
        observe::request();
        Box::pin(async move {
            let mut rows = 0;
            let mut counted = |row: crate::RowRef<'_>| {
                rows += 1;
                read(row)
            };
            let next = self.0.query_with(scan, from, &mut counted).await;
            observe::read(rows);
            next
        })
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        observe::request();
        self.0.execute(group)
    }

    fn reach(&self) -> Reach {
        self.0.reach()
    }

    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        observe::request();
        self.0.execute_all(groups)
    }

    fn secondary_reads(&self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(Self(self.0.secondary_reads()?)))
    }

    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.0.snapshot()?.map(|snapshot| -> Arc<dyn Backend> { Arc::new(Self(snapshot)) }))
    }

    fn overloads(&self) -> u64 {
        self.0.overloads()
    }

    fn side_by_side(&self) -> usize {
        self.0.side_by_side()
    }

    fn pause(&self, delay: Duration) -> BoxFuture<'_, ()> {
        observe::retry();
        self.0.pause(delay)
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.0.sleep(time)
    }

    fn deadline(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.0.deadline(time)
    }

    fn clock(&self) -> Duration {
        self.0.clock()
    }
}
