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
/// let (like_service, service_requests) = Counting::new(PartitionReach(InMemoryBackend::new()?));
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
#[derive(Clone, Debug)]
pub struct PartitionReach<B>(pub B);

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
