//! A backend with its own table names, so that tests can share a service.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use table_runtime::{
    ETag, Result, Row,
    backend::{Backend, BoxFuture, Continuation, FailedGroup, Group, Page, Reach, Reader, Scan},
};

/// Backend that puts a unique prefix before the name of each table.
#[derive(Clone, Debug)]
pub struct Isolated {
    inner: Arc<dyn Backend>,
    prefix: String,
}

impl Isolated {
    /// Returns a backend with its own tables. Clones share them.
    pub fn new(inner: impl Backend) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let (process, next) = (process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { inner: Arc::new(inner), prefix: format!("t{now:x}x{process:x}x{next:x}x") }
    }

    fn name(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }
}

impl Backend for Isolated {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.inner.create_table(&self.name(table)).await })
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.inner.delete_table(&self.name(table)).await })
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let names = self.inner.list_tables(&self.name(prefix)).await?;
            Ok(names.iter().map(|name| name[self.prefix.len()..].to_owned()).collect())
        })
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        Box::pin(async move { self.inner.get(&self.name(table), partition_key, row_key, select).await })
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let scan = Scan { table: self.name(&scan.table).into(), ..scan.clone() };
            self.inner.query(&scan, from).await
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
        Box::pin(async move { self.inner.get_with(&self.name(table), partition_key, row_key, select, read).await })
    }

    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            let scan = Scan { table: self.name(&scan.table).into(), ..scan.clone() };
            self.inner.query_with(&scan, from, read).await
        })
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            let group = Group { table: self.name(&group.table).into(), ..group.clone() };
            self.inner.execute(&group).await
        })
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        Box::pin(async move {
            let named = |group: &Group| Group { table: self.name(&group.table).into(), ..group.clone() };
            self.inner.execute_all(&groups.iter().map(named).collect::<Vec<_>>()).await
        })
    }

    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        let snapshot = self.inner.snapshot()?;
        Ok(snapshot.map(|inner| -> Arc<dyn Backend> { Arc::new(Self { inner, prefix: self.prefix.clone() }) }))
    }

    fn system(&self) -> &'static str {
        self.inner.system()
    }

    fn side_by_side(&self) -> usize {
        self.inner.side_by_side()
    }

    fn overloads(&self) -> u64 {
        self.inner.overloads()
    }
}
