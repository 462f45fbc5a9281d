//! A backend whose time of day a test sets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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
/// before one store are two programs whose clocks differ.
#[derive(Clone, Debug)]
pub struct Clocked<B> {
    inner: B,
    time: TestTime,
}

/// The time of day of a [`Clocked`] backend. It stands still until the test moves it.
#[derive(Clone, Debug)]
pub struct TestTime(Arc<AtomicU64>);

impl TestTime {
    /// Returns the time.
    pub fn now(&self) -> SystemTime {
        self.ticks().to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Sets the time, rounded down to the tick of 100 ns. A time outside the years 0001 to 9999 is not set.
    pub fn set(&self, time: SystemTime) {
        if let Some(ticks) = Ticks::from_system(time) {
            self.0.store(ticks.get(), Ordering::SeqCst);
        }
    }

    /// Lets this much time pass.
    pub fn advance(&self, time: Duration) {
        self.set(self.now() + time);
    }

    fn ticks(&self) -> Ticks {
        Ticks::new(self.0.load(Ordering::SeqCst)).unwrap_or(Ticks::MAX)
    }
}

impl<B: Backend> Clocked<B> {
    /// Returns a backend whose time of day is `time`, with the handle that moves it.
    pub fn new(inner: B, time: SystemTime) -> (Self, TestTime) {
        let handle = TestTime(Arc::new(AtomicU64::new(Ticks::UNIX_EPOCH.get())));
        handle.set(time);
        (Self { inner, time: handle.clone() }, handle)
    }
}

impl<B: Backend> Backend for Clocked<B> {
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner.execute(groups)
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let time = self.time.clone();
        Ok(self.inner.view(view)?.map(|inner| Arc::new(Self::viewed(inner, time)) as _))
    }
}

impl<B> Clocked<B> {
    fn viewed(inner: Arc<dyn Backend>, time: TestTime) -> Clocked<Arc<dyn Backend>> {
        Clocked { inner, time }
    }
}

/// The clock of the inner backend, with another time of day.
impl<B: Backend> Clock for Clocked<B> {
    fn monotonic(&self) -> Duration {
        self.inner.describe().clock.monotonic()
    }

    fn wall(&self) -> Ticks {
        self.time.ticks()
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        self.inner.describe().clock.sleep(time, purpose)
    }
}
