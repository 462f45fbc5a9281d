//! A backend whose time of day a test sets.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use table_store::{
    Result, Ticks,
    backend::{
        Backend, BoxFuture, Clock, Continuation, Description, Group, ReadRequest, Reader, Sleep, StoreView,
        TableRequest, Written,
    },
};

/// A backend whose time of day a test sets. By it entities expire, and are put into the bin.
///
/// All other time passes as on the backend inside: that of leases, of pauses, and of the versions of rows. Two such backends
/// before one store are two programs whose clocks differ. [`skip_pauses`](Self::skip_pauses) lets pauses take no time.
#[derive(Clone, Debug)]
pub struct Clocked<B> {
    inner: B,
    time: TestTime,
    skips_pauses: bool,
}

/// The time of day of a [`Clocked`] backend. It stands still until the test moves it.
#[derive(Clone, Debug)]
pub struct TestTime {
    wall: Arc<AtomicU64>,
    pauses: Arc<Mutex<Pauses>>,
}

/// The pauses of a backend that skips them.
#[derive(Debug, Default)]
struct Pauses {
    /// The time that was skipped.
    passed: Duration,
    /// Number of requests that are not answered.
    in_flight: usize,
    /// The tasks that wait, by the time at which each goes on and the number of its pause.
    waiting: BTreeMap<(Duration, u64), Waker>,
    begun: u64,
}

impl Pauses {
    /// Wakes the task that goes on first, if no request is under way.
    fn wake_first(&self) {
        if let Some((_, waker)) = self.waiting.first_key_value().filter(|_| self.in_flight == 0) {
            waker.wake_by_ref();
        }
    }
}

impl TestTime {
    /// Returns the time.
    pub fn now(&self) -> SystemTime {
        self.ticks().to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Sets the time, rounded down to the tick of 100 ns. A time outside the years 0001 to 9999 is not set.
    pub fn set(&self, time: SystemTime) {
        if let Some(ticks) = Ticks::from_system(time) {
            self.wall.store(ticks.get(), Ordering::SeqCst);
        }
    }

    /// Lets this much time pass.
    pub fn advance(&self, time: Duration) {
        self.set(self.now() + time);
    }

    fn ticks(&self) -> Ticks {
        Ticks::new(self.wall.load(Ordering::SeqCst)).unwrap_or(Ticks::MAX)
    }

    fn pauses(&self) -> MutexGuard<'_, Pauses> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a pause that ends once every other task waits longer and no request is under way.
    fn pause(&self, time: Duration) -> Pause<'_> {
        let mut pauses = self.pauses();
        pauses.begun += 1;
        Pause { time: self, place: (pauses.passed.saturating_add(time), pauses.begun), is_first: false }
    }

    /// Runs a request. No pause ends before it is answered.
    async fn during<T>(&self, request: impl Future<Output = T>) -> T {
        self.pauses().in_flight += 1;
        let _answered = Answered(self);
        request.await
    }
}

/// A pause that takes no time.
struct Pause<'t> {
    time: &'t TestTime,
    place: (Duration, u64),
    /// True if it was the first one when it was polled before. What else the program does then comes first.
    is_first: bool,
}

impl Future for Pause<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let time = self.time;
        let mut pauses = time.pauses();
        pauses.waiting.insert(self.place, context.waker().clone());
        let is_first =
            pauses.in_flight == 0 && pauses.waiting.first_key_value().is_some_and(|(first, _)| *first == self.place);
        let left = self.place.0.saturating_sub(pauses.passed);
        if left.is_zero() || is_first && self.is_first {
            pauses.passed += left;
            time.advance(left);
            return Poll::Ready(());
        }
        self.is_first = is_first;
        if is_first {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut pauses = self.time.pauses();
        pauses.waiting.remove(&self.place);
        pauses.wake_first();
    }
}

/// A request that is under way until it is dropped.
struct Answered<'t>(&'t TestTime);

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        let mut pauses = self.0.pauses();
        pauses.in_flight -= 1;
        pauses.wake_first();
    }
}

impl<B: Backend> Clocked<B> {
    /// Returns a backend whose time of day is `time`, with the handle that moves it.
    pub fn new(inner: B, time: SystemTime) -> (Self, TestTime) {
        let wall = Arc::new(AtomicU64::new(Ticks::UNIX_EPOCH.get()));
        let handle = TestTime { wall, pauses: Arc::default() };
        handle.set(time);
        (Self { inner, time: handle.clone(), skips_pauses: false }, handle)
    }

    /// Lets pauses take no time: those between attempts, those of a relay, and the waits for leases. When no request is under way, the
    /// shortest pause ends, and the time is moved on by its length. So a test sees at once what a program does in hours, and when. Time
    /// does not pass otherwise: leases last until a pause ends them.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use table_runtime::{TableEntity, Tables, backend::InMemoryBackend, testing::Clocked};
    ///
    /// #[derive(TableEntity)]
    /// #[table(events)]
    /// struct Account {
    ///     #[partition_key]
    ///     #[row_key]
    ///     name: String,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let (backend, time) = Clocked::new(InMemoryBackend::new()?, SystemTime::now());
    /// let tables = Tables::new(backend.skip_pauses());
    /// tables.create::<Account>().await?;
    /// tables.insert(&Account { name: "ada".into() }).await?;
    ///
    /// let began = time.now();
    /// let done = tables.relay::<Account>().deliver_once(async |_| Err::<(), _>("no connection")).await?;
    /// assert_eq!(done.failed, 1);
    /// assert_eq!(time.now(), began + Duration::from_secs(127)); // 1, 2, 4 and up to 64 seconds
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn skip_pauses(self) -> Self {
        Self { skips_pauses: true, ..self }
    }
}

impl<B: Backend> Backend for Clocked<B> {
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(self.time.during(self.inner.tables(request)))
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(self.time.during(self.inner.read(request, reader)))
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(self.time.during(self.inner.execute(groups)))
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let (time, skips_pauses) = (self.time.clone(), self.skips_pauses);
        Ok(self.inner.view(view)?.map(|inner| Arc::new(Clocked { inner, time, skips_pauses }) as _))
    }
}

impl<B: Backend> Clock for Clocked<B> {
    fn is_of_store(&self) -> bool {
        false
    }

    fn monotonic(&self) -> Duration {
        if self.skips_pauses { self.time.pauses().passed } else { self.inner.describe().clock.monotonic() }
    }

    fn wall(&self) -> Ticks {
        self.time.ticks()
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        if !self.skips_pauses || purpose == Sleep::Answer {
            return self.inner.describe().clock.sleep(time, purpose);
        }
        Box::pin(self.time.pause(time))
    }
}
