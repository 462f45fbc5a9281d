//! Every interleaving of a few operations on one store, step by step.
//!
//! A step is one request. The search polls the operations by itself, on one thread, and each of their requests waits in a
//! [`Schedule`] until the search grants it. The search is depth first over all orders of grants. It begins each order
//! anew on a copy of the store and checks the store after every step. It does not continue from a state that it has
//! visited.
//!
//! Two states are the same if
//!
//! - their stores have the same rows, and their clocks show the same time,
//! - each running operation has sent the same requests, received the same answers and read the same times, in the same
//!   order,
//! - each operation that has ended gave the same result.
//!
//! Versions, write ids and attempts may differ from state to state, as long as two that are equal in one state are equal
//! in the other. The comparison is sound under these conditions:
//!
//! - An operation depends on its answers alone, and on the times that it reads from the store's simulated clock. It reads
//!   no other clock, no random numbers except its ids (`WriteId`, `IndexPending`), and no state that it shares with
//!   another operation. The search reports an operation that behaves differently when it is repeated.
//! - An operation compares versions, write ids and attempts for equality only.
//! - An operation spawns no task. Concurrent requests of one operation, as by `join`, are granted in every order.
//!
//! An operation that has neither ended nor a waiting request is polled again until its
//! [patience](Explorer::patience) is over: it may wait for a timer of another thread.
//!
//! A sleep is a request that advances the store's clock. Time passes in no other step, so every order of the end of a sleep
//! and of the requests of the other operations is explored. What expires does so at the end of somebody's sleep: add an
//! [operation that waits](Stage::wait) to a set in which something has to expire at other moments.
//!
//! If an operation drops the future of a request, the request may have been sent. If it is a write, it is granted at any
//! later time, or never. So is a write whose answer is [lost](Explorer::lost): the operation is told that the outcome is
//! unknown, at any moment, and goes on.

use std::{
    any::Any,
    collections::HashSet,
    fmt::{self, Write},
    marker::PhantomData,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, Result, anyhow, bail};
use futures_util::{FutureExt, future::LocalBoxFuture};
use table_runtime::{
    Tables,
    backend::{Backend, Clock, Sleep},
    testing::{Clocked, Faults, Faulty, Request, Schedule, Scheduled, Waiting},
};

use crate::{
    form::{Alike, Form},
    past::{Event, Learned, Past, request_form},
    plain::Plain,
};

/// Number of times that a check may yield.
const TURNS: usize = 10_000;

/// An operation that can be started any number of times.
pub struct Op<T> {
    entity_fns: EntityFns,
    gives: PhantomData<fn() -> T>,
}

/// An operation without the type of its result, so that the search is compiled once and optimised with this package.
struct EntityFns {
    name: String,
    /// What happens before the search, if anything.
    prepare: Option<Box<dyn Fn(Stage) -> LocalBoxFuture<'static, ()>>>,
    begin: Box<dyn Fn(Stage) -> LocalBoxFuture<'static, Gave>>,
}

/// What an operation acts on.
#[derive(Clone)]
pub struct Stage {
    /// The tables of the store. Each request to them is a step.
    pub tables: Tables,
    /// The faults of the requests to `tables`. A request that fails without being sent is no step.
    pub faults: Faults,
    backend: Arc<Scheduled<Plain, Past>>,
    store: Plain,
    past: Past,
}

impl Stage {
    fn new(store: &Plain) -> (Self, Schedule, Past) {
        let (store, past) = (store.clone(), Past::default());
        let (backend, schedule) = Scheduled::observed(store.clone(), past.clone());
        let backend = Arc::new(backend);
        let (failing, faults) = Faulty::new(Arc::clone(&backend));
        let tables = Tables::new(failing);
        (Self { tables, faults, backend, store, past: past.clone() }, schedule, past)
    }

    /// Returns the tables of the store for a program whose time of day is this one. Each request to them is a step.
    pub fn clocked(&self, time: SystemTime) -> Tables {
        Tables::new(Clocked::new(Arc::clone(&self.backend), time).0)
    }

    /// Returns the store without types. Each request to it is a step.
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    /// Waits for this time, in one step. No time at all is a step too: the operation goes on at any later moment.
    pub async fn wait(&self, time: Duration) {
        self.backend.sleep(time, Sleep::Whole).await;
    }

    /// Returns the time of the store's clock.
    pub fn now(&self) -> Duration {
        self.backend.monotonic()
    }

    /// Looks at the store as it is between two steps, without a request: for what a test notes or compares, and no program
    /// could. `look` may also write to it. What it returns is an input of the operation.
    pub fn look<R: fmt::Debug>(&self, look: impl FnOnce(&Plain) -> R) -> R {
        let seen = look(&self.store);
        self.past.saw(format_args!("{seen:?}"));
        seen
    }
}

/// The result of an operation, with its `Debug` text.
struct Gave {
    value: Box<dyn Any>,
    shown: String,
}

/// Returns an operation with this name.
///
/// Two results with the same `Debug` text are the same result. So return `"conflict"`, not an ETag.
pub fn op<T, F>(name: impl Into<String>, begin: impl Fn(Tables) -> F + 'static) -> Op<T>
where
    T: fmt::Debug + 'static,
    F: Future<Output = T> + 'static,
{
    staged(name, move |stage| begin(stage.tables))
}

/// Returns an operation with this name, which can also wait, and look at the store without a request.
///
/// Two results with the same `Debug` text are the same result.
pub fn staged<T, F>(name: impl Into<String>, begin: impl Fn(Stage) -> F + 'static) -> Op<T>
where
    T: fmt::Debug + 'static,
    F: Future<Output = T> + 'static,
{
    let begin = move |stage| {
        let gives = begin(stage);
        async move {
            let value = gives.await;
            Gave { shown: format!("{value:?}"), value: Box::new(value) }
        }
        .boxed_local()
    };
    Op { entity_fns: EntityFns { name: name.into(), prepare: None, begin: Box::new(begin) }, gives: PhantomData }
}

impl<T> Op<T> {
    /// Returns the operation with something that it does before the search, such as to get leases. The preparations are
    /// run one after the other, in the order of the operations, and are no steps.
    pub fn prepared<F: Future<Output = ()> + 'static>(mut self, prepare: impl Fn(Stage) -> F + 'static) -> Self {
        self.entity_fns.prepare = Some(Box::new(move |stage| prepare(stage).boxed_local()));
        self
    }
}

/// The operations that may crash.
///
/// A crash leads to no new state of the store, because an operation may also wait for as long as any other runs. But a
/// crashed operation is at rest, so the checks of stores at rest also apply to what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// No operation.
    None,
    /// Any number of operations, each between any two of its requests.
    Any,
}

/// The options of a search.
#[derive(Clone, Copy, Debug)]
pub struct Explorer {
    /// The operations that may crash.
    pub crashes: Crashes,
    /// True if the search skips states that it has visited. If false, every order of grants is run to its end.
    pub memoise: bool,
    /// The largest number of states; more are an error.
    pub states: usize,
    /// The largest number of steps to a state; more are an error, because operations that retry because of each other do
    /// not end.
    pub steps: usize,
    /// The time that an operation may wait for something other than the store.
    pub patience: Duration,
    /// Checks whether a request arrives before time passes: as long as such a request of a running operation waits, no
    /// sleep ends later than now. By default, every request may take any time.
    pub is_prompt: fn(&Request) -> bool,
    /// True if such a request arrives before time passes also if its operation has dropped it, or its answer is lost.
    pub late_is_prompt: bool,
    /// True if a write that an operation has dropped may arrive later. If false, it never arrives.
    pub late_writes: bool,
    /// The largest number of writes of an order whose answers are lost. Each of them arrives at any later time, or never.
    pub lost: usize,
}

/// The size of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Number of states, each of which was checked.
    pub states: usize,
    /// Number of steps from one state to another.
    pub edges: usize,
    /// Number of states in which every operation has ended or crashed.
    pub ends: usize,
    /// Largest number of steps to a new state.
    pub longest: usize,
}

/// A state, as a check sees it.
pub struct Seen<'a, T> {
    /// A copy of the store. The check may write to it, for instance repair it.
    pub store: Plain,
    /// The tables of the copy.
    pub tables: Tables,
    /// The progress of each operation.
    pub ops: Vec<Progress<'a, T>>,
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a, T> {
    /// The operation waits.
    Running,
    /// The operation gave this result.
    Ended(&'a T),
    /// The operation has crashed.
    Crashed,
}

/// Calls `explore` with each of the sets, on as many threads as there are processors. Returns the results in any order.
///
/// # Errors
/// One of the errors. The other threads end with the set that they have begun.
///
/// # Panics
/// If `explore` panics.
pub fn side_by_side<S: Sync, T: Send>(sets: &[S], explore: impl Fn(&S) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut explored = Vec::new();
        while let Some(set) = sets.get(next.fetch_add(1, Ordering::Relaxed)) {
            explored.push(explore(set).inspect_err(|_| next.store(sets.len(), Ordering::Relaxed))?);
        }
        Ok(explored)
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let explored: Result<Vec<_>> =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
        Ok(explored?.into_iter().flatten().collect())
    })
}

impl<T> Seen<'_, T> {
    /// Checks whether every operation has ended or crashed.
    pub fn is_at_rest(&self) -> bool {
        self.ops.iter().all(|op| !matches!(op, Progress::Running))
    }
}

/// Searches all interleavings of the operations on copies of `start`.
///
/// # Errors
/// The error of a check or the panic of an operation, with the steps that led to it.
pub fn explore<T: 'static>(
    start: &Plain,
    ops: &[Op<T>],
    crashes: Crashes,
    check: impl AsyncFn(&Seen<'_, T>) -> Result<()>,
) -> Result<Explored> {
    Explorer { crashes, ..Explorer::default() }.explore(start, ops, check)
}

impl Default for Explorer {
    fn default() -> Self {
        Self {
            crashes: Crashes::None,
            memoise: true,
            states: 2_000_000,
            steps: 500,
            patience: Duration::from_secs(10),
            is_prompt: |_| false,
            late_is_prompt: false,
            late_writes: true,
            lost: 0,
        }
    }
}

impl Explorer {
    /// Searches as [`explore`] does, with these options.
    ///
    /// # Errors
    /// The errors of [`explore`].
    #[allow(clippy::needless_pass_by_value, reason = "a check is written where it is given")]
    pub fn explore<T: 'static>(
        self,
        start: &Plain,
        ops: &[Op<T>],
        check: impl AsyncFn(&Seen<'_, T>) -> Result<()>,
    ) -> Result<Explored> {
        let ops: Vec<_> = ops.iter().map(|op| &op.entity_fns).collect();
        let check = |run: &Run| run_check(run, &check);
        self.search(start, &ops, &check)
    }

    fn search(self, start: &Plain, ops: &[&EntityFns], check: &dyn Fn(&Run) -> Result<()>) -> Result<Explored> {
        let mut search = Search {
            how: self,
            start,
            ops,
            check,
            visited: HashSet::new(),
            foreseen: HashSet::new(),
            steps: Vec::new(),
            found: Explored::default(),
        };
        let run = Run::begin(start, ops, &self)?;
        search.visit(run)?;
        Ok(search.found)
    }
}

/// A step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Grant { op: usize, request: usize },
    Lose { op: usize, request: usize },
    Crash { op: usize },
}

/// The hash that distinguishes a state from others.
type Key = u128;

struct Search<'a> {
    how: Explorer,
    start: &'a Plain,
    ops: &'a [&'a EntityFns],
    check: &'a dyn Fn(&Run) -> Result<()>,
    visited: HashSet<Key>,
    /// The keys of states before the steps to them (see [`Run::key_after`]).
    foreseen: HashSet<Key>,
    /// The steps to the current state.
    steps: Vec<Step>,
    found: Explored,
}

impl Search<'_> {
    /// Checks the state and all states after it.
    fn visit(&mut self, run: Run) -> Result<()> {
        let key = run.key();
        if self.how.memoise && !self.visited.insert(key) {
            return Ok(());
        }
        self.found.states += 1;
        self.found.longest = self.found.longest.max(self.steps.len());
        if self.found.states > self.how.states {
            return Err(self.failed(&run, &anyhow!("more than {} states", self.how.states)));
        }
        (self.check)(&run).map_err(|error| self.failed(&run, &error))?;
        let steps = run.steps(&self.how);
        if run.is_at_rest() {
            self.found.ends += 1;
        } else if self.steps.len() == self.how.steps {
            return Err(self.failed(&run, &anyhow!("not at an end after {} steps", self.how.steps)));
        }
        // A replay is the expensive part, so the steps to states that were visited are recognised before it.
        let foreseen: Vec<_> = steps.iter().map(|step| run.key_after(*step)).collect();
        let mut run = Some(run);
        for (step, foreseen) in steps.into_iter().zip(foreseen) {
            if self.how.memoise
                && let Some(key) = foreseen
                && !self.foreseen.insert(key)
            {
                self.found.edges += 1;
                continue;
            }
            let mut next = match run.take() {
                Some(run) => run,
                None => self.replay(key)?,
            };
            self.found.edges += 1;
            self.steps.push(step);
            next.take(step).map_err(|error| self.failed(&next, &error))?;
            self.visit(next)?;
            self.steps.pop();
        }
        Ok(())
    }

    /// Repeats the steps to the current state.
    fn replay(&self, key: Key) -> Result<Run> {
        let mut run = Run::begin(self.start, self.ops, &self.how)?;
        for step in &self.steps {
            run.take(*step).map_err(|error| self.failed(&run, &error))?;
        }
        if run.key() != key {
            return Err(self.failed(&run, &anyhow!("the operations did not repeat what they did before")));
        }
        Ok(run)
    }

    /// Returns the error with the steps that led to it.
    fn failed(&self, run: &Run, error: &anyhow::Error) -> anyhow::Error {
        let mut text = format!("{error:#}\nafter these steps:\n");
        let name = |op: usize| self.ops.get(op).map_or("", |op| &*op.name);
        let mut past: Vec<_> = run.tasks.iter().map(|task| task.past.events().into_iter()).collect();
        for (n, step) in self.steps.iter().enumerate() {
            let n = n + 1;
            // A write to a text cannot fail.
            let _ = match *step {
                Step::Crash { op } => writeln!(text, "{n:4}. {}: crashes", name(op)),
                Step::Grant { op, .. } | Step::Lose { op, .. } => match past.get_mut(op).and_then(Iterator::next) {
                    Some(event) => writeln!(text, "{n:4}. {}: {} → {}", name(op), event.request, event.answer),
                    None => writeln!(text, "{n:4}. {}: goes on", name(op)),
                },
            };
        }
        for (op, task) in run.tasks.iter().enumerate() {
            let _ = match &task.state {
                State::Running(_) => write!(text, "{} waits for:", name(op)),
                State::Ended(gave) => write!(text, "{} gave {}", name(op), gave.shown),
                State::Crashed => write!(text, "{} crashed", name(op)),
            };
            for waiting in task.schedule.waiting() {
                let _ = write!(text, " {};", request_form(&run.store, &waiting.request));
            }
            text.push('\n');
        }
        let _ = write!(text, "the store:\n{}", run.store);
        anyhow!(text)
    }
}

/// Checks a state.
fn run_check<T: 'static>(run: &Run, check: &impl AsyncFn(&Seen<'_, T>) -> Result<()>) -> Result<()> {
    let store = run.store.copy();
    let mut ops = Vec::with_capacity(run.tasks.len());
    for task in &run.tasks {
        ops.push(match &task.state {
            State::Running(_) => Progress::Running,
            State::Ended(gave) => Progress::Ended(gave.value.downcast_ref().context("of another type")?),
            State::Crashed => Progress::Crashed,
        });
    }
    let seen = Seen { tables: store.tables(), store, ops };
    let mut check = pin!(check(&seen));
    // A plain store answers at once, but a check may still yield.
    for _ in 0..TURNS {
        if let Some(checked) = caught(|| check.as_mut().now_or_never())? {
            return checked;
        }
    }
    bail!("the check waits for something other than the store")
}

/// The operations on one copy of the store.
struct Run {
    store: Plain,
    tasks: Vec<Task>,
    patience: Duration,
    late_writes: bool,
    /// Number of answers that may yet be lost.
    lost: usize,
}

struct Task {
    schedule: Schedule,
    past: Past,
    state: State,
}

enum State {
    Running(LocalBoxFuture<'static, Gave>),
    Ended(Gave),
    Crashed,
}

impl Run {
    /// Starts the operations. Each waits at its first request.
    fn begin(start: &Plain, ops: &[&EntityFns], how: &Explorer) -> Result<Self> {
        let patience = how.patience;
        let store = start.copy();
        let mut stages = Vec::with_capacity(ops.len());
        for op in ops {
            let (stage, schedule, past) = Stage::new(&store);
            if let Some(prepare) = &op.prepare {
                run_alone(prepare(stage.clone()), &schedule, patience)
                    .map_err(|error| error.context(op.name.clone()))?;
            }
            stages.push((stage, schedule, past));
        }
        let mut tasks = Vec::with_capacity(ops.len());
        for (op, (stage, schedule, past)) in ops.iter().zip(stages) {
            past.forget();
            let state = State::Running((op.begin)(stage));
            let mut task = Task { schedule, past, state };
            task.go_on(patience).map_err(|error| error.context(op.name.clone()))?;
            tasks.push(task);
        }
        Ok(Self { store, tasks, patience, late_writes: how.late_writes, lost: how.lost })
    }

    fn steps(&self, how: &Explorer) -> Vec<Step> {
        let mut steps = Vec::new();
        let waiting: Vec<_> = self.tasks.iter().map(|task| task.schedule.waiting()).collect();
        let is_urgent =
            |waiting: &Waiting| (how.late_is_prompt || !waiting.is_dropped) && (how.is_prompt)(&waiting.request);
        let is_urgent = waiting.iter().flatten().any(is_urgent);
        let now = self.store.monotonic();
        let must_wait = |request: &Request| is_urgent && matches!(request, Request::Sleep(until) if *until > now);
        for (op, waiting) in waiting.iter().enumerate() {
            let may = waiting.iter().enumerate().filter(|(_, waiting)| !must_wait(&waiting.request));
            steps.extend(may.map(|(request, _)| Step::Grant { op, request }));
            let may = |waiting: &Waiting| self.lost > 0 && !waiting.is_dropped && waiting.request.is_write();
            let may = waiting.iter().enumerate().filter(|(_, waiting)| may(waiting));
            steps.extend(may.map(|(request, _)| Step::Lose { op, request }));
        }
        if how.crashes == Crashes::Any {
            // The crash of an operation that has done nothing changes nothing.
            let may = |task: &Task| matches!(task.state, State::Running(_)) && !task.past.is_empty();
            let crashes = self.tasks.iter().enumerate().filter(|(_, task)| may(task));
            steps.extend(crashes.map(|(op, _)| Step::Crash { op }));
        }
        steps
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Grant { op, request } => {
                let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
                if let Some(dropped) = task.schedule.grant(request) {
                    task.past.missed(Event::of(&self.store, &dropped).context("a plain store waits")?);
                }
                self.go_on(op)
            }
            Step::Lose { op, request } => {
                self.lost -= 1;
                let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
                task.schedule.lose(request);
                self.go_on(op)
            }
            Step::Crash { op } => {
                let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
                task.state = State::Crashed;
                // A request that arrives all the same was granted before the crash.
                task.schedule.clear();
                Ok(())
            }
        }
    }

    fn go_on(&mut self, op: usize) -> Result<()> {
        let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
        task.go_on(self.patience)?;
        if !self.late_writes {
            task.forget_dropped();
        }
        Ok(())
    }

    /// Checks whether there are no more steps.
    fn is_at_rest(&self) -> bool {
        self.tasks.iter().all(|task| !matches!(task.state, State::Running(_)) && task.schedule.waiting().is_empty())
    }

    /// Returns the hash that distinguishes the state from others.
    fn key(&self) -> Key {
        self.key_with(&self.store, None)
    }

    /// Returns a hash that distinguishes the state after a step, without taking the step; `None` if there is none. For an
    /// operation that ends with the step, it has the answers, not the result.
    fn key_after(&self, step: Step) -> Option<Key> {
        match step {
            Step::Grant { op, request } => {
                let waiting = self.tasks.get(op)?.schedule.waiting().swap_remove(request);
                let copy = self.store.copy();
                let event = Event::of(&copy, &waiting.request)?;
                let change = if waiting.is_dropped { Change::Arrived(request) } else { Change::Event(event) };
                Some(self.key_with(&copy, Some(&(op, change))))
            }
            Step::Lose { op, request } => Some(self.key_with(&self.store, Some(&(op, Change::Lost(request))))),
            Step::Crash { op } => Some(self.key_with(&self.store, Some(&(op, Change::Crash)))),
        }
    }

    fn key_with(&self, store: &Plain, change: Option<&(usize, Change)>) -> Key {
        let mut alike = Alike::default();
        let mut tables = Form::default();
        alike.seal(&tables.text(store.names().join(" ")).seal());
        alike.time(store.monotonic());
        let is_lost = matches!(change, Some((_, Change::Lost(_))));
        alike.number(self.lost - usize::from(is_lost));
        store.for_each_seal(|seal| {
            alike.number(ROW);
            alike.seal(seal);
        });
        for (op, task) in self.tasks.iter().enumerate() {
            let change = change.filter(|(changed, _)| *changed == op).map(|(_, change)| change);
            match (&task.state, change) {
                (State::Crashed, _) | (_, Some(Change::Crash)) => {
                    alike.number(CRASHED);
                    continue;
                }
                (State::Running(_), change) => {
                    alike.number(RUNNING);
                    task.past.for_each(|learned| match learned {
                        Learned::Event(event) => event.seals.iter().for_each(|seal| alike.seal(seal)),
                        Learned::Missed(_) => {}
                        Learned::Time(time) => {
                            alike.number(TIME);
                            alike.time(*time);
                        }
                        Learned::Sight(seal) => {
                            alike.number(SIGHT);
                            alike.seal(seal);
                        }
                    });
                    match change {
                        Some(Change::Event(event)) => event.seals.iter().for_each(|seal| alike.seal(seal)),
                        // Which of its requests was lost, is an answer.
                        Some(Change::Lost(request)) => alike.number(*request),
                        _ => {}
                    }
                }
                (State::Ended(gave), _) => {
                    alike.number(ENDED);
                    let mut form = Form::default();
                    form.text(format_args!("{}", gave.shown));
                    alike.seal(&form.seal());
                }
            }
            for (at, waiting) in task.schedule.waiting().iter().enumerate() {
                let is_left = match change {
                    Some(Change::Lost(lost)) if *lost == at => true,
                    Some(Change::Arrived(arrived)) if *arrived == at => false,
                    _ => waiting.is_dropped,
                };
                if is_left {
                    alike.number(LEFT);
                    alike.seal(&request_form(store, &waiting.request).seal());
                }
            }
        }
        alike.hash()
    }
}

// The kind of the next part of a key.
const ROW: usize = 0;
const RUNNING: usize = 1;
const ENDED: usize = 2;
const CRASHED: usize = 3;
const LEFT: usize = 4;
const TIME: usize = 5;
const SIGHT: usize = 6;

/// The change of an operation by a step.
enum Change {
    /// A request was answered.
    Event(Event),
    /// The answer to the request at this position was lost.
    Lost(usize),
    /// The request at this position, whose answer nobody awaits, has arrived.
    Arrived(usize),
    Crash,
}

impl Task {
    /// Forgets the writes that the operation has dropped.
    fn forget_dropped(&self) {
        while let Some(at) = self.schedule.waiting().iter().position(|waiting| waiting.is_dropped) {
            self.schedule.grant(at);
        }
    }

    /// Polls the operation until the granted request is carried out and the operation has ended or waits for a grant.
    fn go_on(&mut self, patience: Duration) -> Result<()> {
        let State::Running(future) = &mut self.state else { return Ok(()) };
        let begun = Instant::now();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        loop {
            let mut context = Context::from_waker(&waker);
            if let Poll::Ready(gave) = caught(|| future.poll_unpin(&mut context))? {
                self.state = State::Ended(gave);
                return Ok(());
            }
            let waiting = self.schedule.waiting();
            let is_granted = |waiting: &Waiting| waiting.is_granted;
            if !waiting.iter().any(is_granted) && waiting.iter().any(|waiting| !waiting.is_dropped) {
                return Ok(());
            }
            // An operation that yielded continues at once.
            if woken.0.swap(false, Ordering::Relaxed) {
                continue;
            }
            if begun.elapsed() > patience {
                bail!("an operation waits for something other than the store");
            }
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Runs a preparation, and grants its requests in the order of their arrival.
fn run_alone(preparation: LocalBoxFuture<'static, ()>, schedule: &Schedule, patience: Duration) -> Result<()> {
    let state = State::Running(
        async move {
            preparation.await;
            Gave { value: Box::new(()), shown: String::new() }
        }
        .boxed_local(),
    );
    let mut task = Task { schedule: schedule.clone(), past: Past::default(), state };
    task.go_on(patience)?;
    while matches!(task.state, State::Running(_)) {
        task.schedule.grant(0);
        task.go_on(patience)?;
    }
    Ok(())
}

/// A flag that is set when an operation asks to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs code that may panic, so that the error of the panic can name the steps to it.
fn caught<R>(run: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| anyhow!("panicked: {}", said(&*panic)))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of something that is no text")
}
