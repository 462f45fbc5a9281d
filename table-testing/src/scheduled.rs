//! A backend whose requests wait until a test grants them.

use std::{
    fmt, mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use table_store::{
    Error, Result, Ticks,
    backend::{
        Backend, BackendExt, BoxFuture, Clock, Continuation, Description, Group, Page, ReadRequest, ReadTarget, Reader,
        Sleep, StoreView, TableRequest, Written,
    },
    error::OutcomeUnknownError,
};

use super::{
    Observer, Request,
    request::{FailedAnswer, Reply, first_row, name},
};

/// A backend whose requests wait, each until the test grants it.
///
/// Give each task a `Scheduled` of its own before a store that they share. The order of the grants is then the order of
/// the requests at the store. A request waits from its first poll on; once granted, it is carried out as a whole when its
/// task is polled next. A [sleep](Sleep::Whole) waits in the same way, and the wait before a [retry](Sleep::Retry) takes
/// no time.
///
/// ```
/// # use futures::poll;
/// use table_runtime::{Error, TableEntity, Tables, backend::InMemoryBackend, testing::Scheduled};
///
/// #[derive(TableEntity)]
/// #[table(row = "newest")]
/// struct Post {
///     #[partition_key]
///     author: String,
///     title: String,
/// }
///
/// # impl Post {
/// #     fn titled(title: &str) -> Self {
/// #         Self { author: "Marcus".into(), title: title.into() }
/// #     }
/// # }
/// # futures::executor::block_on(async {
/// let store = InMemoryBackend::new()?;
/// Tables::new(store.clone()).create::<Post>().await?;
/// let (slow, slow_schedule) = Scheduled::new(store.clone());
/// let (fast, fast_schedule) = Scheduled::new(store.clone());
/// let (slow, fast) = (Tables::new(slow), Tables::new(fast));
///
/// let (one, two) = (Post::titled("One"), Post::titled("Two"));
/// let (mut first, mut second) = (Box::pin(slow.upsert(&one)), Box::pin(fast.upsert(&two)));
/// assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
///
/// // The second write arrives first.
/// fast_schedule.grant(0);
/// second.await?;
/// slow_schedule.grant(0);
/// first.await?;
/// let post = Post::key("Marcus").get(&Tables::new(store)).await?.expect("two were written");
/// assert_eq!(post.title, "One");
/// # Ok::<(), Error>(())
/// # }).unwrap();
/// ```
///
/// The [`Observer`] records the answers, except those of a snapshot or of the secondary region. `()` records nothing.
#[derive(Debug)]
pub struct Scheduled<B, O = ()> {
    inner: B,
    schedule: Schedule,
    observer: O,
}

/// The handle of a [`Scheduled`] backend, with which a test grants its requests. Its clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Schedule(Arc<Mutex<ScheduleState>>);

#[derive(Debug, Default)]
struct ScheduleState {
    queue: Vec<Queued>,
    /// Number of requests so far.
    requests: usize,
}

#[derive(Debug)]
struct Queued {
    id: usize,
    request: Arc<Request>,
    is_granted: bool,
    is_lost: bool,
    /// `None` once the task does not wait for the answer any more.
    waker: Option<Waker>,
}

/// A request that has not been carried out.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The request.
    pub request: Arc<Request>,
    /// True if the test has granted the request and its task has not been polled since.
    pub is_granted: bool,
    /// True if the task does not wait for the answer: it has dropped the request, or the test has
    /// [lost](Schedule::lose) the answer. Then it is a write: it may have been sent, so it may arrive at any later time.
    pub is_dropped: bool,
}

impl<B: Backend> Scheduled<B> {
    /// Returns a backend whose requests to `inner` wait, with its handle.
    pub fn new(inner: B) -> (Self, Schedule) {
        Self::observed(inner, ())
    }
}

impl<B: Backend, O: Observer<B>> Scheduled<B, O> {
    /// Returns a backend whose requests to `inner` wait and whose answers `observer` records, with its handle.
    pub fn observed(inner: B, observer: O) -> (Self, Schedule) {
        let schedule = Schedule::default();
        (Self { inner, schedule: schedule.clone(), observer }, schedule)
    }

    /// Returns a backend whose requests to `inner`, a copy of the store, wait in the same schedule. The observer does not
    /// record their answers, because it knows only the type of the store itself.
    fn reader(&self, inner: Arc<dyn Backend>) -> Arc<dyn Backend> {
        Arc::new(Scheduled { inner, schedule: self.schedule.clone(), observer: () })
    }

    async fn ask<T: Reply, E: FailedAnswer + From<Error>>(
        &self,
        request: Request,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let (request, is_lost) = Turn { schedule: &self.schedule, request: Some(request), id: None }.await;
        let answer = match &*request {
            Request::Execute(groups) if is_lost => {
                let lost = OutcomeUnknownError::new(name(groups), first_row(groups), "the test lost the answer");
                Err(Error::from(Box::new(lost)).into())
            }
            _ => answer.await,
        };
        request.observe(&self.inner, &self.observer, &answer);
        answer
    }
}

impl Schedule {
    /// Returns the requests that wait, in the order of their arrival.
    pub fn waiting(&self) -> Vec<Waiting> {
        let waiting = |queued: &Queued| Waiting {
            request: Arc::clone(&queued.request),
            is_granted: queued.is_granted,
            is_dropped: queued.waker.is_none(),
        };
        self.lock().queue.iter().map(waiting).collect()
    }

    /// Grants the `n`th of the waiting requests.
    ///
    /// Returns the request if its task has dropped it. The test then decides whether the write arrives: it
    /// [sends](Request::send) the request, or forgets it.
    pub fn grant(&self, n: usize) -> Option<Arc<Request>> {
        let mut state = self.lock();
        let queued = state.queue.get_mut(n)?;
        let Some(waker) = queued.waker.clone() else { return Some(state.queue.remove(n).request) };
        queued.is_granted = true;
        drop(state);
        waker.wake();
        None
    }

    /// Loses the answer to the `n`th of the waiting requests, if it is a write: its task gets
    /// [`Error::OutcomeUnknown`]. From then on it waits like a write that its task has dropped: it may arrive at any later
    /// time, also after its repetition, or never.
    pub fn lose(&self, n: usize) {
        let mut state = self.lock();
        let Some(queued) = state.queue.get_mut(n).filter(|queued| queued.request.is_write()) else { return };
        let Some(waker) = queued.waker.clone() else { return };
        queued.is_lost = true;
        drop(state);
        waker.wake();
    }

    /// Forgets the requests that wait, such as those of a task that is not polled any more.
    pub fn clear(&self) {
        let mut state = self.lock();
        // Wakers that are dropped here may run code that locks the schedule.
        let queue = mem::take(&mut state.queue);
        drop(state);
        drop(queue);
    }

    fn lock(&self) -> MutexGuard<'_, ScheduleState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future that waits until a request is granted, or its answer lost. Returns the request, and true if it is lost.
struct Turn<'a> {
    schedule: &'a Schedule,
    /// The request, until it is queued.
    request: Option<Request>,
    /// The id of the request while it is queued.
    id: Option<usize>,
}

impl Future for Turn<'_> {
    type Output = (Arc<Request>, bool);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.schedule.lock();
        let waker = Some(context.waker().clone());
        if let Some(request) = this.request.take() {
            let id = state.requests;
            state.requests += 1;
            let (request, is_granted, is_lost) = (Arc::new(request), false, false);
            state.queue.push(Queued { id, request, is_granted, is_lost, waker });
            this.id = Some(id);
            return Poll::Pending;
        }
        let Some(at) = state.queue.iter().position(|queued| Some(queued.id) == this.id) else {
            return Poll::Pending;
        };
        let Queued { is_granted, is_lost, .. } = state.queue[at];
        if !is_granted && !is_lost {
            state.queue[at].waker = waker;
            return Poll::Pending;
        }
        this.id = None;
        let request = if is_lost { state.leave(at) } else { state.queue.remove(at).request };
        Poll::Ready((request, is_lost))
    }
}

impl ScheduleState {
    /// Ends the wait for the answer of a request, which a write may survive. Returns the request.
    fn leave(&mut self, at: usize) -> Arc<Request> {
        let queued = &mut self.queue[at];
        if queued.request.is_write() {
            (queued.waker, queued.is_granted, queued.is_lost) = (None, false, false);
            return Arc::clone(&queued.request);
        }
        // Nobody notices a read that is left.
        self.queue.remove(at).request
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut state = self.schedule.lock();
        if let Some(at) = state.queue.iter().position(|queued| queued.id == id) {
            state.leave(at);
        }
    }
}

impl<B, O> Backend for Scheduled<B, O>
where
    B: Backend,
    O: Observer<B> + fmt::Debug + Send + Sync + 'static,
{
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(self.ask(Request::tables(request), self.inner.tables(request)))
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        // The observer sees whole answers, so they are read before `reader` gets them.
        Box::pin(async move {
            let asked = Request::read(request.target);
            match request.target {
                ReadTarget::Row { table, partition_key, row_key, select } => {
                    let row = self.ask(asked, self.inner.get(table, partition_key, row_key, select)).await?;
                    row.iter().try_for_each(|row| reader(row.as_ref()))?;
                    Ok(None)
                }
                ReadTarget::Page { scan, from } => {
                    let Page { rows, next } = self.ask(asked, self.inner.query(scan, from)).await?;
                    rows.iter().try_for_each(reader)?;
                    Ok(next)
                }
            }
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(self.ask(Request::Execute(groups.to_vec()), self.inner.execute(groups)))
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.inner.view(view)?.map(|inner| self.reader(inner)))
    }
}

/// The clock of the inner backend, whose readings the observer records.
impl<B: Backend, O: Observer<B> + Send + Sync> Clock for Scheduled<B, O> {
    fn is_of_store(&self) -> bool {
        self.inner.describe().clock.is_of_store()
    }

    fn monotonic(&self) -> Duration {
        let time = self.inner.describe().clock.monotonic();
        self.observer.read_clock(time);
        time
    }

    fn wall(&self) -> Ticks {
        self.inner.describe().clock.wall()
    }

    fn earliest(&self) -> Ticks {
        self.inner.describe().clock.earliest()
    }

    /// A retry takes no time: the request that is tried again waits until the test grants it. The wait for an answer never
    /// ends: the test decides which request is answered.
    ///
    /// Any other wait ends when the test has granted it and the time has passed since its first poll. So if the clock of the
    /// inner backend is simulated, time passes only when a test grants it.
    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        match purpose {
            Sleep::Retry => Box::pin(std::future::ready(())),
            Sleep::Answer => Box::pin(std::future::pending()),
            Sleep::Whole => Box::pin(async move {
                let until = self.monotonic().saturating_add(time);
                let (request, _) =
                    Turn { schedule: &self.schedule, request: Some(Request::Sleep(until)), id: None }.await;
                request.send(&self.inner, &self.observer).await;
            }),
        }
    }
}
