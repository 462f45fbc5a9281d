//! Observation of what users ask for: a span and an event of `tracing` for each operation.
//!
//! An operation is what a user calls: an insert, a query, a bulk write, a job. While it is polled, its counters are those
//! of the thread. So the code that sends a request counts it without a parameter, as a `tracing` event finds its span.

use std::{
    borrow::Cow,
    cell::Cell,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use pin_project_lite::pin_project;
use tracing::{Level, Span, debug, debug_span, enabled, field::Empty, info};

use crate::{Error, Result};

/// Time after which an operation is slow, unless the handle has another one.
pub const SLOW: Duration = Duration::from_secs(1);

/// Target of spans and events. It begins with the name of the crate that programs use and filter for.
const TARGET: &str = "table_runtime::observe";

thread_local! {
    /// The counters of the operation that this thread polls.
    static CURRENT: Cell<Option<Arc<Counters>>> = const { Cell::new(None) };
}

#[derive(Default)]
struct Counters {
    requests: AtomicU64,
    rows_read: AtomicU64,
    rows_returned: AtomicU64,
    rows_unreadable: AtomicU64,
    retries: AtomicU64,
}

impl Counters {
    /// Polls a part of what these counters count.
    fn poll<T>(self: &Arc<Self>, poll: impl FnOnce() -> T) -> T {
        /// Resets the counters of the thread, also after a panic.
        struct Reset(Option<Arc<Counters>>);

        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }

        let _reset = Reset(CURRENT.replace(Some(Arc::clone(self))));
        poll()
    }
}

/// Runs a part of an operation, and returns the number of requests that it sent beside its output.
pub async fn count_requests<T>(part: impl Future<Output = T>) -> (T, u64) {
    let own = Arc::<Counters>::default();
    let (mut part, mut requests) = (pin!(part), 0);
    poll_fn(|context| {
        let outer = CURRENT.take();
        CURRENT.set(outer.clone());
        let counters = outer.unwrap_or_else(|| Arc::clone(&own));
        let before = counters.requests.load(Ordering::Relaxed);
        let polled = counters.poll(|| part.as_mut().poll(context));
        requests += counters.requests.load(Ordering::Relaxed) - before;
        polled.map(|output| (output, requests))
    })
    .await
}

/// Counts a request to the store. The attempts after the first one are retries.
pub fn request() {
    count(|counters| &counters.requests, 1);
}

/// Counts rows that the store returned.
pub(crate) fn read(rows: usize) {
    count(|counters| &counters.rows_read, rows);
}

/// Counts rows that a query returns to the user.
#[inline]
pub fn returned(rows: usize) {
    count(|counters| &counters.rows_returned, rows);
}

/// Counts a row that cannot be read, and after which a query goes on.
pub fn unreadable() {
    count(|counters| &counters.rows_unreadable, 1);
}

/// Counts a request, or a step, that is tried again.
pub fn retry() {
    count(|counters| &counters.retries, 1);
}

/// Checks whether an operation of this thread counts.
#[inline]
pub fn counts() -> bool {
    let current = CURRENT.take();
    let counts = current.is_some();
    CURRENT.set(current);
    counts
}

fn count(counter: impl FnOnce(&Counters) -> &AtomicU64, number: usize) {
    let current = CURRENT.take();
    if let Some(counters) = &current {
        counter(counters).fetch_add(number as u64, Ordering::Relaxed);
    }
    CURRENT.set(current);
}

/// What a user asks for.
#[derive(Debug)]
pub struct ObservedOperation {
    /// The function that the user called.
    pub verb: &'static str,
    /// The entity's name in the catalog; empty if the operation concerns no single one.
    pub entity: &'static str,
    /// The table of the rows; empty as `entity`.
    pub table: &'static str,
    /// The cost class of a query.
    pub cost: Option<Cow<'static, str>>,
}

/// Properties of a store and of a handle, as far as operations name them.
#[derive(Clone, Copy, Debug)]
pub struct OperationObserver {
    /// Name of the kind of store.
    pub system: &'static str,
    /// Time after which an operation is slow.
    pub slow: Duration,
}

/// An operation that has begun.
pub struct Running {
    operation: ObservedOperation,
    observer: OperationObserver,
    counters: Arc<Counters>,
    span: Span,
    began: Instant,
}

/// Checks whether an operation is to be observed: somebody listens, and it is not a part of another one.
#[inline]
pub fn is_observed() -> bool {
    enabled!(target: TARGET, Level::INFO) && !counts()
}

impl OperationObserver {
    /// Begins an operation.
    pub fn begin(self, operation: ObservedOperation) -> Box<Running> {
        let ObservedOperation { verb, entity, table, cost } = &operation;
        let span = debug_span!(
            target: TARGET,
            "table operation",
            otel.name = format!("{verb} {table}").trim_end(),
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = self.system,
            db.operation.name = verb,
            db.collection.name = table,
            db.response.returned_rows = Empty,
            error.type = Empty,
            table.entity = entity,
            table.cost = cost.as_deref(),
            table.requests = Empty,
            table.rows_read = Empty,
            table.rows_unreadable = Empty,
            table.retries = Empty,
            table.outcome = Empty,
        );
        let (counters, began) = (Arc::default(), Instant::now());
        Box::new(Running { operation, observer: self, counters, span, began })
    }
}

impl Running {
    /// Polls a part of the operation.
    pub fn poll<T>(&self, poll: impl FnOnce() -> T) -> T {
        let _entered = self.span.enter();
        self.counters.poll(poll)
    }

    /// Ends the operation.
    pub fn end(self, error: Option<&Error>) {
        self.report(if error.is_some() { "error" } else { "ok" }, error);
    }

    /// Ends an operation whose future was dropped.
    fn cancel(self) {
        self.report("cancelled", None);
    }

    fn report(self, outcome: &'static str, error: Option<&Error>) {
        let Self { operation: ObservedOperation { verb, entity, table, cost }, observer, counters, span, began } = self;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (requests, retries) = (load(&counters.requests), load(&counters.retries));
        let (rows_read, returned) = (load(&counters.rows_read), load(&counters.rows_returned));
        let unreadable = load(&counters.rows_unreadable);
        let (duration, error_type) = (began.elapsed(), error.map(Error::name));
        span.record("db.response.returned_rows", returned);
        span.record("table.requests", requests);
        span.record("table.rows_read", rows_read);
        span.record("table.rows_unreadable", unreadable);
        span.record("table.retries", retries);
        span.record("table.outcome", outcome);
        if let Some(error_type) = error_type {
            span.record("error.type", error_type);
            span.record("otel.status_code", "ERROR");
        }
        macro_rules! report {
            ($level:ident) => {
                span.in_scope(|| {
                    $level!(
                        target: TARGET,
                        {
                            db.system.name = observer.system,
                            db.operation.name = verb,
                            db.collection.name = table,
                            db.response.returned_rows = returned,
                            error.type = error_type,
                            table.entity = entity,
                            table.cost = cost.as_deref(),
                            table.requests = requests,
                            table.rows_read = rows_read,
                            table.rows_unreadable = unreadable,
                            table.retries = retries,
                            table.outcome = outcome,
                            ?duration
                        },
                        "{verb} {table}"
                    );
                })
            };
        }
        if duration >= observer.slow || retries > 0 { report!(info) } else { report!(debug) }
    }
}

pin_project! {
    /// A future of an operation, which is reported when it ends.
    pub struct Observed<F> {
        #[pin]
        future: F,
        running: Option<Box<Running>>,
    }

    impl<F> PinnedDrop for Observed<F> {
        fn drop(this: Pin<&mut Self>) {
            if let Some(running) = this.project().running.take() {
                running.cancel();
            }
        }
    }
}

/// Returns the future of an operation.
pub fn observed<F>(running: Option<Box<Running>>, future: F) -> Observed<F> {
    Observed { future, running }
}

/// The error of an operation.
pub trait ObservedError {
    /// Returns the error of the store, if it is one.
    fn of_store(&self) -> Option<&Error>;
}

impl ObservedError for Error {
    fn of_store(&self) -> Option<&Error> {
        Some(self)
    }
}

impl<T, E: ObservedError, F: Future<Output = Result<T, E>>> Future for Observed<F> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        let this = self.project();
        let Some(running) = &*this.running else { return this.future.poll(context) };
        let polled = running.poll(|| this.future.poll(context));
        if let Poll::Ready(result) = &polled
            && let Some(running) = this.running.take()
        {
            running.end(result.as_ref().err().and_then(ObservedError::of_store));
        }
        polled
    }
}

/// The operation of a stream, which is reported when the stream ends or is dropped.
#[derive(Default)]
pub struct ObservedStream(Option<Box<Running>>);

impl ObservedStream {
    pub fn new(running: Option<Box<Running>>) -> Self {
        Self(running)
    }

    /// Returns the operation, for a stream that becomes a future.
    pub fn into_running(mut self) -> Option<Box<Running>> {
        self.0.take()
    }

    /// Polls the stream.
    pub fn poll<T>(
        &mut self,
        poll: impl FnOnce() -> Poll<Option<T>>,
        error: impl FnOnce(&T) -> Option<&Error>,
    ) -> Poll<Option<T>> {
        let Some(running) = &self.0 else { return poll() };
        let polled = running.poll(poll);
        let (ended, error) = match &polled {
            Poll::Ready(None) => (true, None),
            Poll::Ready(Some(item)) => {
                let error = error(item);
                (error.is_some(), error)
            }
            Poll::Pending => (false, None),
        };
        if ended && let Some(running) = self.0.take() {
            running.end(error);
        }
        polled
    }
}

/// A stream that is not read to its end has done all that its reader wanted.
impl Drop for ObservedStream {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.end(None);
        }
    }
}
