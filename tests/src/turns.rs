//! A backend whose requests wait for their turn, so that a driver orders the requests of several tasks.
//!
//! Each request waits at the [`Gate`] until it is granted, and its task then executes it completely. So the state of
//! the store between two grants is well defined on every backend, and the order of the grants decides what happens.

use std::{
    collections::BTreeMap,
    future::{poll_fn, ready},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use table_runtime::{
    Error, Result, Ticks,
    backend::{
        Backend, BoxFuture, Clock, Continuation, Description, Group, ReadRequest, ReadTarget, Reader, Sleep, StoreView,
        TableRequest, Written,
    },
    error::OutcomeUnknownError,
    row::RowId,
};

/// Backend of one task.
#[derive(Debug)]
pub struct Turns<B> {
    inner: B,
    gate: Gate,
    task: usize,
    is_whole: bool,
}

/// Gate at which the requests of all tasks wait. Clones share its state.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Request that was granted and has not been answered yet, with its task.
    granted: Option<(usize, usize)>,
    /// Waker of the task, if the request was a write that is executed and not acknowledged.
    answered: Option<Waker>,
    /// Number of requests so far.
    requests: usize,
    tasks: Vec<Task>,
    /// Fate of the request that was granted.
    fate: Fate,
    /// Time that has passed, besides that of the store's clock.
    passed: Duration,
    /// Waits for time to pass, by their ends and numbers.
    naps: BTreeMap<(Duration, usize), Waker>,
    begun_naps: usize,
}

/// What happens to a request that is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    #[default]
    Answered,
    /// It is refused.
    Refused,
    /// It is a write, which is carried out, and its answer is lost.
    AnswerLost,
    /// It is a write, whose answer is lost. It arrives at any later time, or never, like one that its task has dropped.
    RequestLost,
}

#[derive(Clone, Debug, Default)]
struct Task {
    operation: usize,
    /// Number of requests that the operation has begun.
    begun: usize,
}

/// Waiting request.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Number of the request.
    pub id: usize,
    /// Task that sent it.
    pub task: usize,
    /// Operation of the task at the time of the request.
    pub operation: usize,
    /// Request as text.
    pub text: String,
    /// Rows that it writes; `None` for a read.
    pub write: Option<Vec<Group>>,
    /// `None` once the task has dropped the request. It may have been sent, so it may yet arrive.
    waker: Option<Waker>,
}

impl Waiting {
    /// Returns whether the task has dropped the request.
    pub const fn is_dropped(&self) -> bool {
        self.waker.is_none()
    }
}

impl Gate {
    /// Records that the task begins an operation, or a part of it.
    pub fn begin(&self, task: usize, operation: usize) {
        let mut state = self.lock();
        if state.tasks.len() <= task {
            state.tasks.resize(task + 1, Task::default());
        }
        state.tasks[task] = Task { operation, begun: 0 };
    }

    /// Returns the number of requests that the task has begun since [`begin`](Self::begin); `None` while one is
    /// executed.
    pub fn begun(&self, task: usize) -> Option<usize> {
        let state = self.lock();
        let is_busy = state.granted.is_some_and(|(_, granted)| granted == task);
        (!is_busy).then(|| state.tasks.get(task).map_or(0, |task| task.begun))
    }

    /// Returns whether a request is being executed.
    pub fn is_busy(&self) -> bool {
        self.lock().granted.is_some()
    }

    /// Returns whether a write was executed and its task waits for [`acknowledge`](Self::acknowledge).
    pub fn is_answered(&self) -> bool {
        self.lock().answered.is_some()
    }

    /// Delivers the answer of an executed write to its task.
    pub fn acknowledge(&self) {
        let answered = self.lock().answered.take();
        if let Some(waker) = answered {
            waker.wake();
        }
    }

    /// Returns whether the task waits for a turn.
    pub fn waits(&self, task: usize) -> bool {
        self.lock().waiting.iter().any(|waiting| waiting.task == task && !waiting.is_dropped())
    }

    /// Returns the requests that wait, in the order of their arrival.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.lock().waiting.clone()
    }

    /// Lets time pass, so that leases end.
    pub fn pass(&self, time: Duration) {
        let mut state = self.lock();
        state.passed += time;
        // One that has ended may be polled late, and is not the next one meanwhile.
        let later = (state.passed, usize::MAX);
        let waiting = state.naps.split_off(&later);
        let ended = std::mem::replace(&mut state.naps, waiting);
        drop(state);
        ended.into_values().for_each(Waker::wake);
    }

    /// Returns the time that has passed.
    pub fn passed(&self) -> Duration {
        self.lock().passed
    }

    /// Returns the time after which the first wait ends.
    pub fn until_next(&self) -> Option<Duration> {
        let state = self.lock();
        state.naps.first_key_value().map(|((until, _), _)| until.saturating_sub(state.passed))
    }

    /// Waits until the driver has let so much time pass.
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + use<> {
        self.nap(time, None)
    }

    fn nap(&self, time: Duration, task: Option<usize>) -> Nap {
        let mut state = self.lock();
        state.begun_naps += 1;
        Nap { gate: self.clone(), place: (state.passed.saturating_add(time), state.begun_naps), task }
    }

    /// Runs an operation of a task until more than this many of its requests have begun; `None` if it is dropped there.
    pub async fn run_until<T>(&self, task: usize, requests: usize, run: impl Future<Output = T>) -> Option<T> {
        let mut run = pin!(run);
        poll_fn(|context| match run.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if self.begun(task).is_some_and(|begun| begun > requests) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Grants a request that its task waits for. A request that its task has dropped is removed; the caller may execute
    /// its write or not.
    pub fn grant(&self, id: usize, fate: Fate) {
        let mut state = self.lock();
        state.fate = fate;
        let Some(at) = state.waiting.iter().position(|waiting| waiting.id == id) else { return };
        if let Some(waker) = state.waiting[at].waker.clone() {
            state.granted = Some((id, state.waiting[at].task));
            drop(state);
            waker.wake();
        } else {
            state.waiting.remove(at);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for time to pass.
struct Nap {
    gate: Gate,
    /// The end, and the number of the wait.
    place: (Duration, usize),
    /// The task that waits for an answer.
    task: Option<usize>,
}

impl Future for Nap {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.gate.lock();
        // A request that was granted is carried out and answered in one step.
        let is_granted = self.task.is_some_and(|own| state.granted.is_some_and(|(_, task)| task == own));
        if state.passed >= self.place.0 && !is_granted {
            return Poll::Ready(());
        }
        state.naps.insert(self.place, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        self.gate.lock().naps.remove(&self.place);
    }
}

/// Future that waits for a request's turn. Afterwards it marks the request as being executed until it is dropped.
struct Turn<'a> {
    gate: &'a Gate,
    task: usize,
    /// Text and rows of the request, until it reaches the gate.
    request: Option<(String, Option<Vec<Group>>)>,
    /// Number of the request once it has reached the gate.
    id: Option<usize>,
}

impl Future for Turn<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut state = this.gate.lock();
        let waker = Some(context.waker().clone());
        if let Some((text, write)) = this.request.take() {
            let (id, task) = (state.requests, this.task);
            state.requests += 1;
            let operation = state.tasks.get_mut(task).map_or(0, |task| {
                task.begun += 1;
                task.operation
            });
            state.waiting.push(Waiting { id, task, operation, text, write, waker });
            this.id = Some(id);
            return Poll::Pending;
        }
        let Some(at) = state.waiting.iter().position(|waiting| Some(waiting.id) == this.id) else {
            return Poll::Pending;
        };
        if state.granted.map(|(id, _)| id) == this.id {
            if state.fate == Fate::RequestLost {
                state.waiting[at].waker = None;
            } else {
                state.waiting.remove(at);
            }
            return Poll::Ready(());
        }
        state.waiting[at].waker = waker;
        Poll::Pending
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut state = self.gate.lock();
        if state.granted.is_some_and(|(granted, _)| granted == id) {
            state.granted = None;
        }
        // A dropped read has no effect.
        state.waiting.retain_mut(|waiting| {
            if waiting.id == id {
                waiting.waker = None;
            }
            waiting.id != id || waiting.write.is_some()
        });
    }
}

impl<B: Backend> Turns<B> {
    /// Returns the backend of this task, which forwards to `inner`.
    pub const fn new(inner: B, gate: Gate, task: usize) -> Self {
        Self { inner, gate, task, is_whole: false }
    }

    /// Has the reach of the store inside, and what its handles share. No time passes but that of the gate.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    async fn ask<'a, T, E: From<Error>>(
        &'a self,
        text: String,
        write: Option<Vec<Group>>,
        request: impl FnOnce(&'a B) -> BoxFuture<'a, Result<T, E>>,
    ) -> Result<T, E> {
        let (is_write, row) = (write.is_some(), write.as_deref().map(first_row));
        let mut turn = Turn { gate: &self.gate, task: self.task, request: Some((text, write)), id: None };
        (&mut turn).await;
        let fate = self.gate.lock().fate;
        let answer = match fate {
            Fate::Answered | Fate::AnswerLost => Some(request(&self.inner).await),
            Fate::Refused | Fate::RequestLost => None,
        };
        if is_write {
            // The driver checks the state after the write before the task gets the answer.
            let mut has_waited = false;
            poll_fn(|context| {
                let mut state = self.gate.lock();
                if has_waited && state.answered.is_none() {
                    return Poll::Ready(());
                }
                has_waited = true;
                state.answered = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        }
        drop(turn);
        let reason = "the test decided so".to_owned();
        match (fate, answer, row) {
            (Fate::Answered, Some(answer), _) => answer,
            (Fate::AnswerLost | Fate::RequestLost, _, Some(row)) => {
                Err(Error::from(Box::new(OutcomeUnknownError::new("transaction", row, reason))).into())
            }
            _ => Err(Error::NoAnswer { table: String::new(), operation: "request", reason, request: None }.into()),
        }
    }
}

fn first_row(groups: &[Group]) -> RowId {
    let first = groups.first();
    let (table, partition_key) =
        first.map(|group| (group.table.to_string(), group.partition_key.clone())).unwrap_or_default();
    let operation = first.and_then(|group| group.operations.first());
    let row_key = operation.map(|operation| operation.row_key.clone()).unwrap_or_default();
    RowId { table, partition_key, row_key }
}

fn text(target: ReadTarget<'_>) -> String {
    match target {
        ReadTarget::Row { table, partition_key, row_key, .. } => format!("get {table}('{partition_key}','{row_key}')"),
        ReadTarget::Page { scan, from } => {
            let on = if from.is_some() { " …" } else { "" };
            format!("query {} {} by {}{on}", scan.table, scan.odata(), scan.page)
        }
    }
}

fn written(group: &Group) -> String {
    let rows = group.operations.iter().map(|operation| format!("{} {}", operation.action.name(), operation.row_key));
    format!("{}('{}'): {}", group.table, group.partition_key, rows.collect::<Vec<_>>().join(", "))
}

impl<B: Backend> Backend for Turns<B> {
    fn describe(&self) -> Description<'_> {
        let inner = if self.is_whole { self.inner.describe() } else { Description::new("turns") };
        Description { clock: self, ..inner }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        let (TableRequest::Create(name) | TableRequest::Delete(name) | TableRequest::List(name)) = request;
        Box::pin(self.ask(format!("{} {name}", request.name()), None, move |inner| inner.tables(request)))
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(self.ask(text(request.target), None, move |inner| inner.read(request, reader)))
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            if !self.is_whole {
                Group::only(groups)?;
            }
            let text = groups.iter().map(written).collect::<Vec<_>>().join(" with ");
            self.ask(text, Some(groups.to_vec()), move |inner| inner.execute(groups)).await
        })
    }

    fn view(&self, _: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

impl<B: Backend> Clock for Turns<B> {
    fn monotonic(&self) -> Duration {
        let passed = self.gate.passed();
        if self.is_whole { passed } else { self.inner.describe().clock.monotonic() + passed }
    }

    fn wall(&self) -> Ticks {
        self.inner.describe().clock.wall()
    }

    /// A retry takes no time, since the following request waits for its turn anyway. The wait for an answer ends when the
    /// driver has let so much time pass; time of the store's own clock is no step.
    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        match purpose {
            Sleep::Retry => Box::pin(ready(())),
            Sleep::Whole if self.is_whole => Box::pin(self.gate.sleep(time)),
            Sleep::Whole => self.inner.describe().clock.sleep(time, purpose),
            Sleep::Answer => Box::pin(self.gate.nap(time, Some(self.task))),
        }
    }
}
