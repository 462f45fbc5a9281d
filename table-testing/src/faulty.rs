//! A backend that fails at one request.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use table_store::{
    Error, Result, Ticks,
    backend::{
        Backend, BoxFuture, Clock, Continuation, Description, Group, ReadRequest, Reader, Sleep, StoreView,
        TableRequest, Written,
    },
    error::OutcomeUnknownError,
};

use super::{
    Request,
    request::{first_row, name},
};

/// A way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not applied, and its error says so.
    Refused,
    /// The request is carried out, and its answer is lost.
    AnswerLost,
    /// The request is lost on its way. The writer cannot distinguish this from [`AnswerLost`](Self::AnswerLost).
    RequestLost,
    /// The program stops before this request: neither this request nor a later one is applied.
    StopsBefore,
    /// The program stops after this request: it is carried out, its answer is lost, and no later one is applied.
    StopsAfter,
}

impl Fault {
    /// All faults of a request.
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::AnswerLost, Self::RequestLost, Self::StopsBefore, Self::StopsAfter];
}

/// Time that a late answer takes.
const LATE: Duration = Duration::from_hours(1);
/// The table of the catalog.
const CATALOG: &str = "TableLayouts";

/// A backend that passes requests on to another one until a test makes one fail.
#[derive(Debug)]
pub struct Faulty<B> {
    inner: B,
    faults: Faults,
}

/// The handle of a [`Faulty`] backend, with which a test chooses the request that fails. Its clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<FaultState>>);

#[derive(Debug, Default)]
struct FaultState {
    armed: Option<Armed>,
    hit: Option<Request>,
    /// Time that has passed for late answers.
    passed: Duration,
}

#[derive(Debug)]
struct Armed {
    kind: ArmedKind,
    /// Number of requests that succeed before the one that fails.
    before: usize,
    /// True if only writes are counted and fail.
    is_of_writes: bool,
}

#[derive(Clone, Copy, Debug)]
enum ArmedKind {
    Fault(Fault),
    /// A late answer. If true, no later read of the catalog is answered.
    Late(bool),
}

/// What the armed fault does to one request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    None,
    /// It is answered late.
    Late,
    /// It fails.
    Fails {
        /// True if it is carried out all the same.
        is_applied: bool,
        /// True if the writer does not know the outcome.
        is_doubtful: bool,
    },
}

impl Effect {
    /// Returns the effect on the chosen request.
    const fn of(kind: ArmedKind) -> Self {
        match kind {
            ArmedKind::Fault(Fault::Refused | Fault::StopsBefore) => {
                Self::Fails { is_applied: false, is_doubtful: false }
            }
            ArmedKind::Fault(Fault::RequestLost) => Self::Fails { is_applied: false, is_doubtful: true },
            ArmedKind::Fault(Fault::AnswerLost | Fault::StopsAfter) => {
                Self::Fails { is_applied: true, is_doubtful: true }
            }
            ArmedKind::Late(_) => Self::Late,
        }
    }

    /// Returns the effect on a request after the chosen one.
    const fn later(kind: ArmedKind, is_read_of_catalog: bool) -> Self {
        let fails = match kind {
            ArmedKind::Fault(fault) => matches!(fault, Fault::StopsBefore | Fault::StopsAfter),
            ArmedKind::Late(without_catalog) => without_catalog && is_read_of_catalog,
        };
        if fails { Self::Fails { is_applied: false, is_doubtful: false } } else { Self::None }
    }
}

impl Faults {
    /// Makes the `n`th request from now on fail, counted from 0.
    pub fn arm(&self, fault: Fault, n: usize) {
        self.set(Some(Armed { kind: ArmedKind::Fault(fault), before: n, is_of_writes: false }));
    }

    /// Makes the `n`th write from now on fail, counted from 0. Reads and requests for tables before it succeed.
    pub fn arm_write(&self, fault: Fault, n: usize) {
        self.set(Some(Armed { kind: ArmedKind::Fault(fault), before: n, is_of_writes: true }));
    }

    /// Makes the answer to the `n`th request from now on come an hour after the request, counted from 0: the request is
    /// carried out, and every lease that a handle holds has ended (see `Tables::with_lease`). If `without_catalog` is true,
    /// no later read of the catalog is answered.
    ///
    /// It has an effect on handles that hold leases, those that called `create` or queried an index.
    /// Nobody waits: the clock of the backend shows the hour.
    pub fn arm_late(&self, n: usize, without_catalog: bool) {
        self.set(Some(Armed { kind: ArmedKind::Late(without_catalog), before: n, is_of_writes: false }));
    }

    /// Lets every request succeed from now on.
    pub fn disarm(&self) {
        self.set(None);
    }

    /// Returns the request that failed first since the handle was armed.
    pub fn hit(&self) -> Option<Request> {
        self.lock().hit.clone()
    }

    fn set(&self, armed: Option<Armed>) {
        let mut state = self.lock();
        (state.armed, state.hit) = (armed, None);
    }

    /// Counts a request. Returns what happens to it.
    fn next(&self, table: &str, is_write: bool, request: impl FnOnce() -> Request) -> Effect {
        let mut state = self.lock();
        let has_failed = state.hit.is_some();
        let Some(armed) = state.armed.as_mut() else { return Effect::None };
        let kind = armed.kind;
        if has_failed {
            return Effect::later(kind, !is_write && table.ends_with(CATALOG));
        }
        if armed.is_of_writes && !is_write {
            return Effect::None;
        }
        if let Some(before) = armed.before.checked_sub(1) {
            armed.before = before;
            return Effect::None;
        }
        state.hit = Some(request());
        let effect = Effect::of(kind);
        if effect == Effect::Late {
            state.passed += LATE;
        }
        effect
    }

    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> Faulty<B> {
    /// Returns a backend that passes all requests on to `inner`, with its handle.
    pub fn new(inner: B) -> (Self, Faults) {
        let faults = Faults::default();
        (Self { inner, faults: faults.clone() }, faults)
    }
}

fn no_answer(table: &str, operation: &'static str) -> Error {
    Error::NoAnswer { table: table.to_owned(), operation, reason: "the test made it fail".to_owned(), request: None }
}

impl<B: Backend> Backend for Faulty<B> {
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let (table, is_read) = match request {
                TableRequest::Create(table) | TableRequest::Delete(table) => (table, false),
                TableRequest::List(_) => ("Tables", true),
            };
            let effect = self.faults.next(table, false, || Request::tables(request));
            let Effect::Fails { is_applied, .. } = effect else { return self.inner.tables(request).await };
            if is_applied && !is_read {
                // A refusal is an answer as well and is lost with it.
                let _ = self.inner.tables(request).await;
            }
            Err(no_answer(table, request.name()))
        })
    }

    /// Sends a read, unless it fails. A read that fails is not sent: its answer would be lost.
    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            let target = request.target;
            match self.faults.next(target.table(), false, || Request::read(target)) {
                Effect::Fails { .. } => Err(no_answer(target.table(), target.name())),
                Effect::None | Effect::Late => self.inner.read(request, reader).await,
            }
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            let row = first_row(groups);
            let effect = self.faults.next(&row.table, true, || Request::Execute(groups.to_vec()));
            let Effect::Fails { is_applied, is_doubtful } = effect else { return self.inner.execute(groups).await };
            if is_applied {
                let _ = self.inner.execute(groups).await;
            }
            let error = if is_doubtful {
                Box::new(OutcomeUnknownError::new(name(groups), row, "the test lost it")).into()
            } else {
                no_answer(&row.table, name(groups))
            };
            Err(error.into())
        })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let faults = self.faults.clone();
        Ok(self.inner.view(view)?.map(|inner| Arc::new(Faulty { inner, faults }) as _))
    }
}

impl<B: Backend> Faulty<B> {
    /// Adds the time of late answers.
    fn later(&self, time: Ticks) -> Ticks {
        // A tick is 100 ns.
        let ticks = u64::try_from(self.faults.lock().passed.as_nanos() / 100).unwrap_or(u64::MAX);
        Ticks::new(time.get().saturating_add(ticks)).unwrap_or(Ticks::MAX)
    }
}

/// The clock of the inner backend, on which the time of late answers has passed.
impl<B: Backend> Clock for Faulty<B> {
    fn is_of_store(&self) -> bool {
        self.inner.describe().clock.is_of_store()
    }

    fn monotonic(&self) -> Duration {
        self.inner.describe().clock.monotonic() + self.faults.lock().passed
    }

    fn wall(&self) -> Ticks {
        self.later(self.inner.describe().clock.wall())
    }

    fn earliest(&self) -> Ticks {
        self.later(self.inner.describe().clock.earliest())
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        self.inner.describe().clock.sleep(time, purpose)
    }
}
