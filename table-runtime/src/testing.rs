//! Backends for tests, and the contract of [`Backend`] as test cases (feature `testing`).
//!
//! # Testing an application
//!
//! Each backend here is placed before another one, mostly the store in memory:
//!
//! - [`Clocked`] has a time of day that the test sets, by which entities expire.
//! - [`Counting`] counts the requests.
//! - [`Faulty`] makes a request fail. [`for_each_fault`] makes each request of a program fail once in each way, and lets
//!   another writer run between any two of them.
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

use std::{
    error, fmt,
    future::{IntoFuture, poll_fn},
    rc::Rc,
    task::Poll,
};

use futures_core::future::LocalBoxFuture;
use table_store::{Result, backend::Backend};
#[doc(inline)]
pub use table_testing::{
    Answer, Clocked, Counting, Counts, Fault, Faults, Faulty, Observer, PartitionReach, Request, Requests, Schedule,
    Scheduled, TestTime, Waiting, conformance,
};

use crate::client::tables::Tables;

/// One run of a program on a store that failed at one request, or on which another writer ran before one request.
#[derive(Debug)]
pub struct Run<B, T> {
    /// The fault; `None` in the last run with each fault, which ended before the request that would have failed, and in
    /// runs with another writer.
    pub fault: Option<Fault>,
    /// The result of the [other writer](ForEachFault::beside), if it ran before a request of the program.
    pub other: Option<T>,
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
    /// The request that failed, or before which the other writer ran; `None` if there was none.
    pub hit: Option<Hit>,
    /// The error of the check.
    pub error: E,
}

/// The request at which a run was disturbed.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The fault; `None` if the other writer ran before the request.
    pub fault: Option<Fault>,
    /// The number of the request, counted from 0.
    pub n: usize,
    /// The request.
    pub request: Request,
}

/// Such as `AnswerLost at request 2, insert of Posts(PartitionKey='Marcus',RowKey='1'): …`.
impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hit {
            Some(Hit { fault: Some(fault), n, request }) => write!(f, "{fault:?} at request {n}, {request}: ")?,
            Some(Hit { fault: None, n, request }) => write!(f, "another writer before request {n}, {request}: ")?,
            None => f.write_str("without a fault: ")?,
        }
        // In this form, an error that has causes shows them as well.
        write!(f, "{:#}", self.error)
    }
}

impl<E: fmt::Debug + fmt::Display> error::Error for RunError<E> {}

type Made<'a, T> = Box<dyn Fn() -> LocalBoxFuture<'a, T> + 'a>;
type Program<'a, T> = Box<dyn Fn(Tables) -> LocalBoxFuture<'a, T> + 'a>;
type Check<'a, B, T, E> = Box<dyn Fn(Run<B, T>) -> LocalBoxFuture<'a, Result<(), E>> + 'a>;

/// The runs of a program with a fault at each request: see [`for_each_fault`]. Await it.
#[must_use = "nothing runs until it is awaited"]
pub struct ForEachFault<'a, B, T, E> {
    make_store: Made<'a, Result<B, E>>,
    program: Program<'a, T>,
    other: Option<Program<'a, T>>,
    check: Check<'a, B, T, E>,
}

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
) -> ForEachFault<'a, B, T, E>
where
    B: Backend + Clone,
    T: 'a,
    E: 'a,
{
    let (make_store, check) = (Rc::new(make_store), Rc::new(check));
    ForEachFault {
        make_store: Box::new(move || {
            let make_store = Rc::clone(&make_store);
            Box::pin(async move { make_store().await })
        }),
        program: boxed(program),
        other: None,
        check: Box::new(move |run| {
            let check = Rc::clone(&check);
            Box::pin(async move { check(run).await })
        }),
    }
}

fn boxed<'a, T: 'a>(program: impl AsyncFn(Tables) -> T + 'a) -> Program<'a, T> {
    let program = Rc::new(program);
    Box::new(move |tables| {
        let program = Rc::clone(&program);
        Box::pin(async move { program(tables).await })
    })
}

impl<'a, B: Backend + Clone, T: 'a, E: 'a> ForEachFault<'a, B, T, E> {
    /// Adds runs with another writer: once before each request of the program, it runs from its beginning to its end. So a
    /// test sees what the program does if another one is faster at any moment. [`Run::other`] has its result. These runs
    /// have no fault, and count like those with one. The program may not spawn a task that uses its tables: a run would not
    /// see the requests of the task.
    ///
    /// ```
    /// # use std::error::Error as AnyError;
    /// # use table_runtime::{ETag, Error, Result, TableEntity, Tables, backend::InMemoryBackend};
    /// # use table_runtime::testing::{PartitionReach, Run, for_each_fault};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Accounts", row = "account")]
    /// # struct Account { #[partition_key] id: u32, #[index(email, lowercase, unique)] email: String }
    /// # type Store = PartitionReach<InMemoryBackend>;
    /// # type Checked<T> = std::result::Result<T, Box<dyn AnyError>>;
    /// # async fn empty() -> Checked<Store> {
    /// #     let store = PartitionReach(InMemoryBackend::new()?);
    /// #     Tables::new(store.clone()).create::<Account>().await?;
    /// #     Ok(store)
    /// # }
    /// async fn sign_up(tables: Tables, id: u32) -> Result<ETag> {
    ///     tables.insert(&Account { id, email: "Ada@example.com".into() }).await
    /// }
    ///
    /// /// One of two accounts gets the address, and the insert of the other one says why not.
    /// async fn check(run: Run<Store, Result<ETag>>) -> Checked<()> {
    ///     let Some(other) = run.other else { return Ok(()) };
    ///     match (run.result, other) {
    ///         (Ok(_), Err(Error::UniqueViolation(_))) | (Err(Error::UniqueViolation(_)), Ok(_)) => Ok(()),
    ///         results => Err(format!("{results:?}").into()),
    ///     }
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let first = async |tables| sign_up(tables, 1).await;
    /// let second = async |tables| sign_up(tables, 2).await;
    /// for_each_fault(empty, first, check).beside(second).await?;
    /// # Ok::<(), Box<dyn AnyError>>(())
    /// # }).unwrap();
    /// ```
    pub fn beside(mut self, other: impl AsyncFn(Tables) -> T + 'a) -> Self {
        self.other = Some(boxed(other));
        self
    }

    async fn run(self) -> Result<usize, RunError<E>> {
        let mut disturbed = 0;
        for fault in Fault::ALL {
            for n in 0.. {
                let store = self.store().await?;
                let (backend, faults) = Faulty::new(store.clone());
                faults.arm(fault, n);
                let result = (self.program)(Tables::new(backend)).await;
                let hit = faults.hit().map(|request| Hit { fault: Some(fault), n, request });
                let (fault, other) = (hit.as_ref().map(|_| fault), None);
                let tables = Tables::new(store.clone());
                if !self.was_disturbed(Run { fault, other, result, store, tables }, hit).await? {
                    break;
                }
                disturbed += 1;
            }
        }
        let Some(other) = &self.other else { return Ok(disturbed) };
        for n in 0.. {
            let store = self.store().await?;
            let (backend, schedule) = Scheduled::new(store.clone());
            let (program, tables) = ((self.program)(Tables::new(backend)), Tables::new(store.clone()));
            let (result, other) = interrupted(&schedule, n, program, other(tables.clone())).await;
            let (hit, other) = other.map(|(request, other)| (Hit { fault: None, n, request }, other)).unzip();
            if !self.was_disturbed(Run { fault: None, other, result, store, tables }, hit).await? {
                break;
            }
            disturbed += 1;
        }
        Ok(disturbed)
    }

    async fn store(&self) -> Result<B, RunError<E>> {
        (self.make_store)().await.map_err(|error| RunError { hit: None, error })
    }

    /// Checks a run. Returns false if nothing has disturbed it.
    async fn was_disturbed(&self, run: Run<B, T>, hit: Option<Hit>) -> Result<bool, RunError<E>> {
        let is_hit = hit.is_some();
        (self.check)(run).await.map_err(|error| RunError { hit, error })?;
        Ok(is_hit)
    }
}

/// Runs a program, and another one before its `n`th request. Returns that request and the result of the other one, unless
/// the program had fewer requests.
async fn interrupted<T>(
    schedule: &Schedule,
    n: usize,
    mut program: LocalBoxFuture<'_, T>,
    other: LocalBoxFuture<'_, T>,
) -> (T, Option<(Request, T)>) {
    let (mut granted, mut other, mut told) = (0, Some(other), None);
    let result = poll_fn(|context| {
        loop {
            if let Poll::Ready(result) = program.as_mut().poll(context) {
                return Poll::Ready(result);
            }
            let waiting = schedule.waiting();
            let next = waiting.iter().position(|waiting| !waiting.is_granted && !waiting.is_dropped);
            let Some(next) = next else { return Poll::Pending };
            if granted == n
                && let Some(running) = &mut other
            {
                let Poll::Ready(result) = running.as_mut().poll(context) else { return Poll::Pending };
                told = Some((Request::clone(&waiting[next].request), result));
                other = None;
            }
            granted += 1;
            schedule.grant(next);
        }
    })
    .await;
    (result, told)
}

impl<'a, B: Backend + Clone, T: 'a, E: 'a> IntoFuture for ForEachFault<'a, B, T, E> {
    type Output = Result<usize, RunError<E>>;
    type IntoFuture = LocalBoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<B, T, E> fmt::Debug for ForEachFault<'_, B, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForEachFault").field("beside", &self.other.is_some()).finish_non_exhaustive()
    }
}
