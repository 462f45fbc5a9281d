//! A backend whose transactions span one partition, whatever those of the store span.

use std::{future::ready, sync::Arc};

use table_store::{
    Result,
    backend::{
        Backend, BoxFuture, Continuation, Description, Group, Reach, ReadRequest, Reader, StoreView, TableRequest,
        Written,
    },
};

/// A backend whose transactions span one partition, as those of the service do.
///
/// A transaction of the embedded store spans all of its rows, so an entity is written together with its index rows in
/// other partitions. On the service, such a write takes several requests. Place this backend before the store in
/// memory to test what an application does between these requests, or after the loss of one of them.
///
/// ```
/// use table_runtime::{
///     TableEntity, Tables,
///     backend::InMemoryBackend,
///     testing::{Counting, PartitionReach},
/// };
///
/// #[derive(TableEntity)]
/// struct Member {
///     #[partition_key]
///     club: String,
///     #[row_key]
///     id: u32,
///     #[index(email, lowercase, unique)]
///     email: String,
/// }
///
/// # futures::executor::block_on(async {
/// let (embedded, embedded_requests) = Counting::new(InMemoryBackend::new()?);
/// let (like_service, service_requests) = Counting::new(PartitionReach::new(InMemoryBackend::new()?));
/// let (embedded, like_service) = (Tables::new(embedded), Tables::new(like_service));
/// for tables in [&embedded, &like_service] {
///     tables.create::<Member>().await?;
/// }
/// embedded_requests.take();
/// service_requests.take();
///
/// let member = Member { club: "chess".into(), id: 1, email: "Ada@example.com".into() };
/// embedded.insert(&member).await?;
/// assert_eq!(embedded_requests.take().executes, 1);
/// like_service.insert(&member).await?; // the entity, its index row, and then the commit
/// assert_eq!(service_requests.take().executes, 3);
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
///
/// Each request behind it names the partition that it writes. With [`Scheduled`](super::Scheduled) before it, a test
/// asserts which partitions a function reaches:
///
/// ```
/// use std::{collections::BTreeSet, pin::pin, task::Poll};
///
/// use futures::poll;
/// use table_runtime::{
///     Result, TableEntity, Tables,
///     backend::{InMemoryBackend, Partitions},
///     testing::{PartitionReach, Request, Schedule, Scheduled},
/// };
///
/// #[derive(TableEntity)]
/// #[table(name = "Members")]
/// struct Member {
///     #[partition_key]
///     club: String,
///     #[row_key]
///     id: u32,
///     #[index(email, lowercase, unique)] // in a table of its own, `MembersByEmail`
///     email: String,
/// }
///
/// /// The function under test.
/// async fn change_email(tables: &Tables, club: &str, id: u32, email: &str) -> Result<bool> {
///     let changed = tables.modify(Member::key(club, id), |member| member.email = email.into()).await?;
///     Ok(changed.is_some())
/// }
///
/// /// Returns the partitions that a request names.
/// fn partitions(request: &Request) -> Vec<String> {
///     match request {
///         Request::Get { table, partition_key, .. } => vec![format!("{table}/{partition_key}")],
///         Request::Query { scan, .. } => match &scan.partitions {
///             Partitions::One(partition_key) => vec![format!("{}/{partition_key}", scan.table)],
///             Partitions::Range(_) => vec![format!("{}/*", scan.table)],
///         },
///         Request::Execute(groups) => {
///             groups.iter().map(|group| format!("{}/{}", group.table, group.partition_key)).collect()
///         }
///         _ => Vec::new(),
///     }
/// }
///
/// /// Runs a function whose requests wait in `schedule`. Returns its result and the partitions that it reaches.
/// async fn reached<T>(schedule: &Schedule, function: impl Future<Output = T>) -> (T, BTreeSet<String>) {
///     let (mut function, mut reached) = (pin!(function), BTreeSet::new());
///     loop {
///         if let Poll::Ready(result) = poll!(&mut function) {
///             return (result, reached);
///         }
///         for waiting in schedule.waiting() {
///             reached.extend(partitions(&waiting.request));
///         }
///         schedule.grant(0);
///     }
/// }
///
/// # futures::executor::block_on(async {
/// let store = PartitionReach(InMemoryBackend::new()?);
/// let tables = Tables::new(store.clone());
/// tables.create::<Member>().await?;
/// tables.insert(&Member { club: "chess".into(), id: 1, email: "ada@example.com".into() }).await?;
///
/// let (store, schedule) = Scheduled::new(store);
/// let tables = Tables::new(store);
/// let (changed, partitions) = reached(&schedule, change_email(&tables, "chess", 1, "ada@example.org")).await;
/// assert!(changed?);
/// let expected = ["Members/chess", "MembersByEmail/ada@example.com", "MembersByEmail/ada@example.org"];
/// assert!(partitions.iter().eq(expected));
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct PartitionReach<B>(pub B);

impl<B> PartitionReach<B> {
    /// Places the backend before another one.
    pub const fn new(inner: B) -> Self {
        Self(inner)
    }
}

impl<B: Backend> Backend for PartitionReach<B> {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.0.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        self.0.tables(request)
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        self.0.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        match Group::only(groups) {
            Ok(_) => self.0.execute(groups),
            Err(error) => Box::pin(ready(Err(error.into()))),
        }
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.0.view(view)?.map(|inner| Arc::new(PartitionReach(inner)) as _))
    }
}
