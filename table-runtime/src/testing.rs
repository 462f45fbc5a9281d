//! Backends for tests, and the contract of [`Backend`] as test cases (feature `testing`).
//!
//! # Testing an application
//!
//! Each backend here is placed before another one, mostly the store in memory:
//!
//! - [`Clocked`] has a time of day that the test sets, by which entities expire.
//! - [`Counting`] counts the requests.
//! - [`Faulty`] makes a request fail, and [`for_each_fault`] makes each request of a program fail once in each way.
//! - [`PartitionReach`] limits each transaction to one partition, as the service does. In the embedded store, an entity and
//!   its index rows in other partitions are written in one transaction. So a test of the states between the steps of a
//!   write needs this backend before the store.
//! - [`Scheduled`] makes each request wait until the test grants it, so that the test chooses the order in which the
//!   requests of several tasks arrive.
//!
//! ```
//! use table_runtime::{
//!     Error, TableEntity, Tables,
//!     backend::InMemoryBackend,
//!     testing::{Counting, Fault, Faulty},
//! };
//!
//! #[derive(TableEntity)]
//! struct Post {
//!     #[partition_key]
//!     author: String,
//!     #[row_key]
//!     id: u32,
//!     title: String,
//! }
//!
//! # futures::executor::block_on(async {
//! let (store, requests) = Counting::new(InMemoryBackend::new()?);
//! let (store, faults) = Faulty::new(store);
//! let tables = Tables::new(store);
//! tables.create::<Post>().await?;
//! requests.take();
//!
//! let post = Post { author: "Marcus".into(), id: 1, title: "Keys".into() };
//! tables.insert(&post).await?;
//! assert_eq!(requests.take().total(), 1);
//!
//! // The next write is applied, and the application does not receive the answer.
//! faults.arm_write(Fault::AnswerLost, 0);
//! let deleted = tables.remove(Post::key("Marcus", 1)).await;
//! assert!(matches!(deleted, Err(Error::OutcomeUnknown(_))));
//! faults.disarm();
//! assert!(!Post::key("Marcus", 1).exists(&tables).await?);
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! # Testing a backend
//!
//! [`conformance`] has a case for each rule of the trait. One test runs them all and reports each rule that the backend
//! breaks, with what was expected and what was found:
//!
//! ```
//! # use table_runtime::backend::InMemoryBackend as MyBackend;
//! use table_runtime::testing::conformance;
//!
//! // With `#[tokio::test]`, or with the executor of your choice.
//! async fn my_backend_keeps_the_contract() -> Result<(), conformance::Failures> {
//!     conformance::check(async || MyBackend::new().expect("a store")).await
//! }
//! # futures::executor::block_on(my_backend_keeps_the_contract()).unwrap();
//! ```

use std::{error, fmt};

use futures_core::future::LocalBoxFuture;
use table_store::{Result, backend::Backend};
#[doc(inline)]
pub use table_testing::{
    Answer, Clocked, Counting, Counts, Fault, Faults, Faulty, Observer, PartitionReach, Request, Requests, Schedule,
    Scheduled, TestTime, Waiting, conformance,
};

use crate::client::tables::Tables;

/// One run of a program on a store that failed at one request.
#[derive(Debug)]
pub struct Run<B, T> {
    /// The fault; `None` in the last run with each fault, which ended before the request that would have failed.
    pub fault: Option<Fault>,
    /// The result of the program.
    pub result: T,
    /// The store without the faults.
    pub store: B,
    /// The tables of the store without the faults.
    pub tables: Tables,
}

/// A run whose check failed.
#[derive(Debug)]
pub struct RunError<E> {
    /// The fault, the number of the request that failed, and the request; `None` if no request failed.
    pub hit: Option<(Fault, usize, Request)>,
    /// The error of the check.
    pub error: E,
}

/// Such as `AnswerLost at request 2, insert of Posts(PartitionKey='Marcus',RowKey='1'): …`.
impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hit {
            Some((fault, n, request)) => write!(f, "{fault:?} at request {n}, {request}: ")?,
            None => f.write_str("without a fault: ")?,
        }
        // In this form, an error that has causes shows them as well.
        write!(f, "{:#}", self.error)
    }
}

impl<E: fmt::Debug + fmt::Display> error::Error for RunError<E> {}

/// Runs the program on a new store with a fault at its first request, then with one at its second request, and so on
/// until a run ends without a fault. Repeats this for each [`Fault`] and checks each run. Returns the number of requests
/// that failed.
///
/// The clones of a store share its rows. `make_store` also creates the tables, so that no request for them fails.
///
/// ```
/// use std::error::Error;
///
/// use table_runtime::{
///     ETag, Result, TableEntity, Tables,
///     backend::InMemoryBackend,
///     testing::{PartitionReach, Run, for_each_fault},
/// };
///
/// #[derive(TableEntity)]
/// #[table(name = "Accounts", row = "account")]
/// struct Account {
///     #[partition_key]
///     id: u32,
///     #[index(email, lowercase, unique)]
///     email: String,
/// }
///
/// /// A store with the steps of the service between the account and the row of its address.
/// type Store = PartitionReach<InMemoryBackend>;
/// type Checked<T> = std::result::Result<T, Box<dyn Error>>;
///
/// async fn empty() -> Checked<Store> {
///     let store = PartitionReach(InMemoryBackend::new()?);
///     Tables::new(store.clone()).create::<Account>().await?;
///     Ok(store)
/// }
///
/// /// The operation under test.
/// async fn sign_up(tables: Tables) -> Result<ETag> {
///     tables.insert(&Account { id: 1, email: "Ada@example.com".into() }).await
/// }
///
/// /// The invariant: the account and its address are found together, and a success is never lost.
/// async fn check(run: Run<Store, Result<ETag>>) -> Checked<()> {
///     let account = Account::key(1).exists(&run.tables).await?;
///     let address = Account::by_email("ada@example.com").exists(&run.tables).await?;
///     if account != address {
///         return Err(format!("account: {account}, address: {address}").into());
///     }
///     if run.result.is_ok() && !account {
///         return Err("a success without an account".into());
///     }
///     Ok(())
/// }
///
/// # futures::executor::block_on(async {
/// let failed = for_each_fault(empty, sign_up, check).await?;
/// assert_eq!(failed, 15); // the pending account, the row of its address and the commit, each with five faults
/// # Ok::<(), Box<dyn Error>>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// The error of `make_store` or `check`, with the request and its fault.
pub fn for_each_fault<'a, B, T, E>(
    make_store: impl AsyncFn() -> Result<B, E> + 'a,
    program: impl AsyncFn(Tables) -> T + 'a,
    check: impl AsyncFn(Run<B, T>) -> Result<(), E> + 'a,
) -> LocalBoxFuture<'a, Result<usize, RunError<E>>>
where
    B: Backend + Clone,
    T: 'a,
    E: 'a,
{
    // The type of an `async fn` has the bounds of its parameters, so the compiler would report a wrong function three times.
    Box::pin(async move {
        let mut failed = 0;
        for fault in Fault::ALL {
            for n in 0.. {
                let store = make_store().await.map_err(|error| RunError { hit: None, error })?;
                let (backend, faults) = Faulty::new(store.clone());
                faults.arm(fault, n);
                let result = program(Tables::new(backend)).await;
                let hit = faults.hit().map(|request| (fault, n, request));
                let tables = Tables::new(store.clone());
                let is_last = hit.is_none();
                let run = Run { fault: hit.is_some().then_some(fault), result, store, tables };
                check(run).await.map_err(|error| RunError { hit, error })?;
                if is_last {
                    break;
                }
                failed += 1;
            }
        }
        Ok(failed)
    })
}
