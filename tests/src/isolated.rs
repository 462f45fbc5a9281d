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
    Result,
    backend::{
        Backend, BoxFuture, Continuation, Description, Group, ReadRequest, ReadTarget, Reader, Scan, StoreView,
        SystemClock, TableRequest, Written,
    },
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
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let (process, next) = (process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { inner: Arc::new(inner), prefix: format!("t{time:x}x{process:x}x{next:x}x") }
    }

    fn name(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }
}

impl Backend for Isolated {
    fn describe(&self) -> Description<'_> {
        // The store does not know the tables by the names that the test has for them.
        Description { clock: &SystemClock, in_process: None, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let (TableRequest::Create(name) | TableRequest::Delete(name) | TableRequest::List(name)) = request;
            let name = self.name(name);
            let names = self.inner.tables(match request {
                TableRequest::Create(_) => TableRequest::Create(&name),
                TableRequest::Delete(_) => TableRequest::Delete(&name),
                TableRequest::List(_) => TableRequest::List(&name),
            });
            Ok(names.await?.iter().map(|name| name[self.prefix.len()..].to_owned()).collect())
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            let table = self.name(request.target.table());
            let scan;
            let target = match request.target {
                ReadTarget::Row { partition_key, row_key, select, .. } => {
                    ReadTarget::Row { table: &table, partition_key, row_key, select }
                }
                ReadTarget::Page { scan: own, from } => {
                    // The service refuses what exceeds its limits. Azurite and the other stores do not.
                    own.check()?;
                    scan = Scan { table: table.into(), ..own.clone() };
                    ReadTarget::Page { scan: &scan, from }
                }
            };
            self.inner.read(ReadRequest { target, ..request }, reader).await
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            let named = |group: &Group| Group { table: self.name(&group.table).into(), ..group.clone() };
            self.inner.execute(&groups.iter().map(named).collect::<Vec<_>>()).await
        })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let prefix = self.prefix.clone();
        Ok(self.inner.view(view)?.map(|inner| Arc::new(Self { inner, prefix }) as _))
    }
}
