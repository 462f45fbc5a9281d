//! Every interleaving of a few operations on one store, step by step.
//!
//! A step is one request: the operations are polled by hand, on one thread, and each of their requests waits at a
//! [`Desk`] until the search grants it. The search goes depth first over all orders of grants, beginning each schedule
//! anew on a copy of the store, and checks the store after every step. It does not go on from a state that it has met.
//!
//! Two states are the same if their stores have the same rows, if each operation that runs has asked and been told the
//! same, in the same order, and if each that has ended gave the same; versions and write ids may have other names, as
//! long as those are equal that were equal. That is sound if
//!
//! - what an operation does follows from what it was told alone: it looks at no clock, no randomness but its write ids
//!   (`WriteId`, `IndexPending`), and at nothing that it shares with another one. Replays that go another way are found
//!   and reported;
//! - it compares versions and write ids for equality only;
//! - it spawns nothing. Requests side by side, by `join` and the like, are granted in every order.
//!
//! An operation that has neither ended nor a request waiting is polled again, as long as
//! [patience](Explorer::patience) lasts: it may wait for a timer that another thread drives. Time itself is no step.
//!
//! A request whose future the operation drops may have been sent already: if it is a write, it is granted at any later
//! time, or never.

use std::{
    any::Any,
    collections::HashSet,
    fmt::{self, Write},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use futures_util::{FutureExt, future::LocalBoxFuture};
use table_runtime::Tables;

use crate::{
    form::{Alike, Form, Seal},
    plain::Plain,
    scheduled::{Desk, Event, Scheduled},
};

/// How often a check may give others their turn.
const TURNS: usize = 10_000;

/// An operation, which can be begun again and again.
pub struct Op<T> {
    erased: Erased,
    gives: PhantomData<fn() -> T>,
}

/// An operation, whatever it gives: so that the search is compiled once, and optimised with this package.
struct Erased {
    name: String,
    begin: Box<dyn Fn(Tables) -> LocalBoxFuture<'static, Gave>>,
}

/// What an operation gave, and its `Debug`.
struct Gave {
    value: Box<dyn Any>,
    shown: String,
}

/// An operation; what it gives is shown by `Debug`, and two that show alike are the same. So say `"conflict"`, not an
/// ETag.
pub fn op<T, F>(name: impl Into<String>, begin: impl Fn(Tables) -> F + 'static) -> Op<T>
where
    T: fmt::Debug + 'static,
    F: Future<Output = T> + 'static,
{
    let begin = move |tables| {
        let gives = begin(tables);
        async move {
            let value = gives.await;
            Gave { shown: format!("{value:?}"), value: Box::new(value) }
        }
        .boxed_local()
    };
    Op { erased: Erased { name: name.into(), begin: Box::new(begin) }, gives: PhantomData }
}

/// Which operations may die.
///
/// An operation may also stand still for as long as any other runs, so the store is in no other state for its death.
/// But one that died has come to rest, and what is checked of stores at rest is then checked of what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// None.
    None,
    /// Any, and any number of them, between any two of its requests.
    Any,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Explorer {
    /// Which operations may die.
    pub crashes: Crashes,
    /// Whether states that were met are left alone. Without it, every schedule is run to its end.
    pub memoise: bool,
    /// The most states; more are an error.
    pub states: usize,
    /// The most steps of a schedule; more are an error, since operations that drive each other round do not end.
    pub steps: usize,
    /// How long an operation may wait for something other than the store.
    pub patience: Duration,
}

/// What was searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// States, each of which was checked.
    pub states: usize,
    /// Steps from one state to another.
    pub edges: usize,
    /// States in which every operation has ended or died.
    pub ends: usize,
    /// The steps of the longest schedule to a state that was new.
    pub longest: usize,
}

/// A state, as a check sees it.
pub struct Seen<'a, T> {
    /// A copy of the store: the check may write, for instance repair it.
    pub store: Plain,
    /// That copy, as users have it.
    pub tables: Tables,
    /// How far each operation is.
    pub ops: Vec<Progress<'a, T>>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a, T> {
    /// It waits.
    Running,
    /// It gave this.
    Ended(&'a T),
    /// It died.
    Crashed,
}

impl<T> Seen<'_, T> {
    /// Whether every operation has ended or died.
    pub fn is_at_rest(&self) -> bool {
        self.ops.iter().all(|op| !matches!(op, Progress::Running))
    }
}

/// Searches all interleavings of the operations, begun on a copy of `start`.
///
/// # Errors
/// The check's, or an operation's panic, with the schedule that led to it.
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
        Self { crashes: Crashes::None, memoise: true, states: 2_000_000, steps: 500, patience: Duration::from_secs(10) }
    }
}

impl Explorer {
    /// As [`explore`], but in this way.
    ///
    /// # Errors
    /// Those of [`explore`].
    #[allow(clippy::needless_pass_by_value, reason = "a check is written where it is given")]
    pub fn explore<T: 'static>(
        self,
        start: &Plain,
        ops: &[Op<T>],
        check: impl AsyncFn(&Seen<'_, T>) -> Result<()>,
    ) -> Result<Explored> {
        let ops: Vec<_> = ops.iter().map(|op| &op.erased).collect();
        let check = |run: &Run| run_check(run, &check);
        self.search(start, &ops, &check)
    }

    fn search(self, start: &Plain, ops: &[&Erased], check: &dyn Fn(&Run) -> Result<()>) -> Result<Explored> {
        let mut search = Search {
            how: self,
            start,
            ops,
            check,
            met: HashSet::new(),
            foreseen: HashSet::new(),
            steps: Vec::new(),
            found: Explored::default(),
        };
        let run = Run::begin(start, ops, self.patience)?;
        search.visit(run)?;
        Ok(search.found)
    }
}

/// A step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Grant { op: usize, request: usize },
    Crash { op: usize },
}

/// A hash of what tells a state from others.
type Key = [u64; 2];

struct Search<'a> {
    how: Explorer,
    start: &'a Plain,
    ops: &'a [&'a Erased],
    check: &'a dyn Fn(&Run) -> Result<()>,
    met: HashSet<Key>,
    /// As they were told before the step to them.
    foreseen: HashSet<Key>,
    /// Those to the state that is looked at.
    steps: Vec<Step>,
    found: Explored,
}

impl Search<'_> {
    /// Checks the state and all that follow.
    fn visit(&mut self, run: Run) -> Result<()> {
        let key = run.key();
        if self.how.memoise && !self.met.insert(key) {
            return Ok(());
        }
        self.found.states += 1;
        self.found.longest = self.found.longest.max(self.steps.len());
        if self.found.states > self.how.states {
            return Err(self.failed(&run, &anyhow!("more than {} states", self.how.states)));
        }
        (self.check)(&run).map_err(|error| self.failed(&run, &error))?;
        let steps = run.steps(self.how.crashes);
        if run.is_at_rest() {
            self.found.ends += 1;
        } else if self.steps.len() == self.how.steps {
            return Err(self.failed(&run, &anyhow!("not at an end after {} steps", self.how.steps)));
        }
        // A replay is the dear part: steps to states that were met are found out before.
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

    /// The state to which the steps led before.
    fn replay(&self, key: Key) -> Result<Run> {
        let mut run = Run::begin(self.start, self.ops, self.how.patience)?;
        for step in &self.steps {
            run.take(*step).map_err(|error| self.failed(&run, &error))?;
        }
        if run.key() != key {
            return Err(self.failed(&run, &anyhow!("the operations did not repeat what they did before")));
        }
        Ok(run)
    }

    /// The error with the steps that led to it.
    fn failed(&self, run: &Run, error: &anyhow::Error) -> anyhow::Error {
        let mut text = format!("{error:#}\nafter these steps:\n");
        let name = |op: usize| self.ops.get(op).map_or("", |op| &*op.name);
        let mut past: Vec<_> = run.tasks.iter().map(|task| task.desk.past().into_iter()).collect();
        for (n, step) in self.steps.iter().enumerate() {
            let n = n + 1;
            // A text takes whatever is written to it.
            let _ = match *step {
                Step::Crash { op } => writeln!(text, "{n:4}. {}: crashes", name(op)),
                Step::Grant { op, .. } => match past.get_mut(op).and_then(Iterator::next) {
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
            for request in task.desk.requests(&run.store, false) {
                let _ = write!(text, " {request};");
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
    // A plain store answers at once; a check may still give others their turn now and then.
    for _ in 0..TURNS {
        if let Some(checked) = caught(|| check.as_mut().now_or_never())? {
            return checked;
        }
    }
    bail!("the check waits for something other than the store")
}

/// The operations on their way.
struct Run {
    store: Plain,
    tasks: Vec<Task>,
    patience: Duration,
}

struct Task {
    desk: Desk,
    state: State,
}

enum State {
    Running(LocalBoxFuture<'static, Gave>),
    Ended(Gave),
    Crashed,
}

impl Run {
    /// Every operation at its first request.
    fn begin(start: &Plain, ops: &[&Erased], patience: Duration) -> Result<Self> {
        let store = start.copy();
        let mut tasks = Vec::with_capacity(ops.len());
        for op in ops {
            let (scheduled, desk) = Scheduled::new(store.clone());
            let mut task = Task { desk, state: State::Running((op.begin)(Tables::new(scheduled))) };
            task.go_on(patience).map_err(|error| error.context(op.name.clone()))?;
            tasks.push(task);
        }
        Ok(Self { store, tasks, patience })
    }

    fn steps(&self, crashes: Crashes) -> Vec<Step> {
        let mut steps = Vec::new();
        for (op, task) in self.tasks.iter().enumerate() {
            steps.extend((0..task.desk.waiting()).map(|request| Step::Grant { op, request }));
        }
        if crashes == Crashes::Any {
            // One that has done nothing was not there.
            let may = |task: &Task| matches!(task.state, State::Running(_)) && task.desk.passed() > 0;
            let crashes = self.tasks.iter().enumerate().filter(|(_, task)| may(task));
            steps.extend(crashes.map(|(op, _)| Step::Crash { op }));
        }
        steps
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Grant { op, request } => {
                let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
                task.desk.grant(request, &self.store);
                task.go_on(self.patience)
            }
            Step::Crash { op } => {
                let Some(task) = self.tasks.get_mut(op) else { return Ok(()) };
                task.state = State::Crashed;
                // Those on their way when it died are granted before it dies.
                task.desk.clear();
                Ok(())
            }
        }
    }

    /// Whether nothing more can happen.
    fn is_at_rest(&self) -> bool {
        self.tasks.iter().all(|task| !matches!(task.state, State::Running(_)) && task.desk.waiting() == 0)
    }

    /// What tells the state from others.
    fn key(&self) -> Key {
        self.key_with(&self.store, None)
    }

    /// What tells the state that a step leads to, without taking it; `None` if it cannot be told. An operation that the
    /// step ends is told by what it was answered, not by what it gives.
    fn key_after(&self, step: Step) -> Option<Key> {
        match step {
            Step::Grant { op, request } => {
                let copy = self.store.copy();
                let event = self.tasks.get(op)?.desk.try_out(request, &copy)?;
                Some(self.key_with(&copy, Some(&(op, Change::Event(event)))))
            }
            Step::Crash { op } => Some(self.key_with(&self.store, Some(&(op, Change::Crash)))),
        }
    }

    fn key_with(&self, store: &Plain, change: Option<&(usize, Change)>) -> Key {
        let mut alike = Alike::default();
        let mut tables = Form::default();
        alike.seal(&tables.text(store.names().join(" ")).seal());
        let epoch = store.epoch().get();
        store.for_each_row(|table, row| {
            alike.number(ROW);
            alike.seal(&Seal::of_row(table, row, row.timestamp.get() - epoch));
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
                    let mut put = |event: &Event| event.seals.iter().for_each(|seal| alike.seal(seal));
                    task.desk.for_each_past(&mut put);
                    if let Some(Change::Event(event)) = change {
                        put(event);
                    }
                }
                (State::Ended(gave), _) => {
                    alike.number(ENDED);
                    let mut form = Form::default();
                    form.text(format_args!("{}", gave.shown));
                    alike.seal(&form.seal());
                }
            }
            for request in task.desk.requests(store, true) {
                alike.number(LEFT);
                alike.seal(&request.seal());
            }
        }
        alike.hash()
    }
}

// What stands next in a key.
const ROW: usize = 0;
const RUNNING: usize = 1;
const ENDED: usize = 2;
const CRASHED: usize = 3;
const LEFT: usize = 4;

/// What a step changes of an operation.
enum Change {
    Event(Event),
    Crash,
}

impl Task {
    /// Polls the operation until what was granted is done, and it has ended or waits at its desk.
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
            if !self.desk.is_granted() && self.desk.is_waited_for() {
                return Ok(());
            }
            // One that gave others their turn goes on at once.
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

/// Whether an operation asked to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs what may panic, so that the steps to the panic can be told.
fn caught<R>(run: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| anyhow!("panicked: {}", said(&*panic)))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of something that is no text")
}
