//! Random programs beside relays, request by request: whoever keeps the events that are delivered has the entities.
//!
//! Writers run random operations, and relays deliver the events, while requests fail, arrive late or have no answer, writes are
//! dropped midway, relays are killed, consumers fail, and time passes. At the end, each committed event was delivered, and the
//! events in the order of their first delivery lead to the entities that are stored.
//!
//! A seed determines the program and the order of all requests: `TABLE_TESTS_SEED=7` runs one again. On the store in memory,
//! other threads carry the requests out, so the order may differ.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};
use futures_util::{FutureExt, future::LocalBoxFuture, task::AtomicWaker};
use table_runtime::{
    Guid, Tables, Ticks,
    backend::{Action, Backend, Group, InMemoryBackend, Reach},
    events::{Event, EventChange},
    testing::{Clocked, TestTime},
    types::HasEvents,
};
use tests::{
    plain::Plain,
    programs::{Act, Kept, Writer, prepare, state},
    random::{Random, seeds},
    stores::rows,
    subjects::{self, Fields, Key, MOMENTS, Subject, moment},
    told::{Replay, event_of, is_event},
    turns::{Fate, Gate, Turns, Waiting},
};

/// Maximal number of requests of a program.
const REQUESTS: usize = 50_000;
/// Maximal time for which nothing may happen.
const PATIENCE: Duration = Duration::from_mins(1);
/// Time for which a request that has no answer may still arrive: a relay relies on it.
const LATE: Duration = Duration::from_mins(5);
/// Maximal number of relays that are killed in a program.
const KILLS: usize = 12;

/// Store of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A transaction spans one partition, as on the service.
    Partition,
    /// A transaction spans the store.
    Whole,
    /// The embedded store: its handles wake each other, and each request has an answer unless its program is killed.
    Embedded,
}

impl Kind {
    fn open(self, pages: usize) -> Result<Arc<dyn Backend>> {
        let plain = |reach| Arc::new(Plain::default().with_reach(reach).with_pages(pages));
        Ok(match self {
            Self::Partition => plain(Reach::Partition),
            Self::Whole => plain(Reach::Store),
            Self::Embedded => Arc::new(InMemoryBackend::new()?),
        })
    }
}

/// How a program is disturbed.
#[derive(Clone, Copy, Debug)]
struct Plan {
    kind: Kind,
    /// Number of rows of a page.
    pages: usize,
    writers: usize,
    relays: usize,
    /// Requests of 100 that fail.
    faults: usize,
    /// Steps of 100 in which time passes although requests wait.
    times: usize,
    /// Steps of 1000 in which a relay is killed.
    kills: usize,
    /// Calls of 100 in which the consumer fails.
    failures: usize,
    /// Number of attempts before an event is put aside.
    attempts: u32,
    /// Largest difference between two clocks, in seconds.
    spread: usize,
}

impl Plan {
    fn new(kind: Kind, random: &mut Random) -> Self {
        let is_undisturbed = random.chance(25);
        let mut unless = |of: &[usize]| if is_undisturbed { 0 } else { *random.pick(of) };
        let (faults, times) = (unless(&[0, 2, 10]), unless(&[3, 10, 25]));
        Self {
            kind,
            pages: *random.pick(&[2, 5, 1000]),
            writers: 2 + random.below(2),
            relays: 1 + random.below(3),
            faults,
            times,
            kills: *random.pick(&[0, 5, 20]),
            failures: *random.pick(&[0, 10, 40]),
            attempts: *random.pick(&[1000, 1000, 1000, 2]),
            spread: *random.pick(&[0, 0, 20, 300]),
        }
    }

    /// Checks whether a relay keeps its leases until it ends, so that no other one handles an event at the same time.
    fn keeps_leases(&self) -> bool {
        self.kind == Kind::Embedded || self.faults == 0 && self.times == 0
    }

    /// Checks whether an event may be put aside, and is then delivered after later ones of its entity.
    const fn puts_aside(&self) -> bool {
        self.attempts < 1000
    }
}

/// A delivered event.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Delivery {
    id: Guid,
    at: Ticks,
    change: EventChange,
    fields: Fields,
}

/// The events that consumers have seen, in the order of their first delivery.
#[derive(Debug, Default)]
struct Log {
    events: Vec<Delivery>,
    ids: BTreeMap<Guid, usize>,
    deliveries: usize,
}

impl Log {
    fn add(&mut self, delivery: Delivery) -> Result<()> {
        self.deliveries += 1;
        if let Some(at) = self.ids.get(&delivery.id) {
            ensure!(self.events[*at] == delivery, "{delivery:?} was {:?} before", self.events[*at]);
            return Ok(());
        }
        self.ids.insert(delivery.id, self.events.len());
        self.events.push(delivery);
        Ok(())
    }
}

/// State that the tasks and the driver share.
struct Shared {
    plan: Plan,
    gate: Gate,
    random: RefCell<Random>,
    log: RefCell<Log>,
    lines: RefCell<Vec<String>>,
    /// The entities whose events are being handled.
    handling: RefCell<BTreeSet<Key>>,
    /// A mistake that a consumer has found.
    wrong: RefCell<Option<anyhow::Error>>,
    /// Number of writers that have not ended.
    writing: Cell<usize>,
    /// True once nothing fails any more.
    is_calm: Cell<bool>,
}

impl Shared {
    fn line(&self, line: String) {
        self.lines.borrow_mut().push(line);
    }

    fn chance(&self, percent: usize) -> bool {
        !self.is_calm.get() && self.random.borrow_mut().chance(percent)
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        *self.random.borrow_mut().pick(from)
    }

    fn found(&self, error: anyhow::Error) {
        self.wrong.borrow_mut().get_or_insert(error);
    }

    /// Handles an event as a consumer.
    async fn consume<S: Subject>(&self, event: Event<S>) -> Result<(), &'static str> {
        let (fails, is_slow, acts_first) = (self.chance(self.plan.failures), self.chance(10), self.chance(50));
        let Some(entity) = event.entity() else {
            self.found(anyhow!("{event:?} has no copy"));
            return Err("no copy");
        };
        let delivery = Delivery { id: event.id(), at: event.ticks(), change: event.change(), fields: entity.fields() };
        let handled = Handled { shared: self, key: delivery.fields.key() };
        if !self.handling.borrow_mut().insert(handled.key) && self.plan.keeps_leases() {
            self.found(anyhow!("another event of the entity is being handled: {delivery:?}"));
        }
        let act = || {
            self.line(format!("    the consumer gets {delivery:?}"));
            if let Err(error) = self.log.borrow_mut().add(delivery.clone()) {
                self.found(error);
            }
        };
        // A consumer may act and fail all the same.
        if acts_first {
            act();
        }
        if is_slow {
            let time = self.pick(&[1, 10, 50, 100]);
            self.gate.sleep(Duration::from_secs(time)).await;
        }
        if fails {
            return Err("not now");
        }
        if !acts_first {
            act();
        }
        Ok(())
    }
}

/// An event that is being handled, until its consumer ends or is dropped.
struct Handled<'s> {
    shared: &'s Shared,
    key: Key,
}

impl Drop for Handled<'_> {
    fn drop(&mut self) {
        self.shared.handling.borrow_mut().remove(&self.key);
    }
}

/// Operation, with the request at which it is dropped.
type Line = (Act, Option<usize>);

/// Runs the operations of a writer.
async fn write<S: Subject>(number: usize, lines: Vec<Line>, tables: Tables, shared: Rc<Shared>) -> Result<()> {
    let mut kept = Kept::<S>::new();
    shared.gate.begin(number, 0);
    // The handle gets leases.
    while tables.create::<S>().await.is_err() {}
    for (act, dropped_at) in lines {
        shared.gate.begin(number, 0);
        let Ok(Some(mut ready)) = prepare(&tables, &mut kept, &act).await else { continue };
        if let Act::Read(key) = act {
            kept.extend(S::point(key).get(&tables).await.ok().flatten().map(|stored| (key, stored)));
            continue;
        }
        shared.gate.begin(number, 0);
        shared.line(format!("writer {number} begins {ready:?}"));
        let run = ready.run(&tables);
        let outcome = match dropped_at {
            None => Some(run.await),
            Some(at) => shared.gate.run_until(number, at, run).await,
        };
        shared.line(format!("writer {number} ends: {outcome:?}"));
        ready.keep(&mut kept);
    }
    shared.writing.set(shared.writing.get() - 1);
    Ok(())
}

/// Runs relays one after another until the writers have ended.
async fn relay<S: Subject + HasEvents>(number: usize, tables: Tables, shared: Rc<Shared>) -> Result<()> {
    let consumer = async |event: Event<S>| shared.consume(event).await;
    let seconds = |of: &[u64]| Duration::from_secs(shared.pick(of));
    loop {
        let is_last = shared.writing.get() == 0;
        let relay = tables.relay::<S>().attempts(shared.plan.attempts).poll(seconds(&[1, 10, 60]));
        let relay = relay.side_by_side(shared.pick(&[1, 2, 16]));
        let done = if shared.chance(50) {
            relay.deliver_once(&consumer).await
        } else {
            relay.deliver(&consumer).until(shared.gate.sleep(seconds(&[1, 30, 100, 400]))).await
        };
        shared.line(format!("relay {number} ends: {done:?}"));
        if is_last {
            return Ok(());
        }
        shared.gate.sleep(seconds(&[1, 5, 30])).await;
    }
}

/// Delivers what is left.
async fn finish<S: Subject + HasEvents>(tables: Tables, shared: Rc<Shared>) -> Result<()> {
    let consumer = async |event: Event<S>| shared.consume(event).await;
    let relay = || tables.relay::<S>().attempts(1000);
    for failed in relay().failed().await? {
        ensure!(relay().retry(failed.id()).await?, "{failed:?} is gone");
    }
    let done = relay().deliver_once(&consumer).await?;
    ensure!((done.failed, done.waiting) == (0, 0), "the last relay: {done:?}");
    let again = relay().deliver_once(&consumer).await?;
    ensure!((again.delivered, again.waiting) == (0, 0), "after the last relay: {again:?}");
    Ok(())
}

/// Notes whether a task is woken, and wakes the driver.
#[derive(Default)]
struct Woken {
    is_woken: AtomicBool,
    driver: AtomicWaker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.driver.wake();
    }
}

type Task = LocalBoxFuture<'static, Result<()>>;

/// Drives the tasks of a program.
struct Driver<S> {
    store: Arc<dyn Backend>,
    shared: Rc<Shared>,
    tasks: Vec<Option<Task>>,
    woken: Arc<Woken>,
    random: Random,
    requests: usize,
    /// The times of day of all handles, and that which passes.
    times: Vec<TestTime>,
    begun: TestTime,
    moments: u8,
    killed: usize,
    /// The time at which each request was given up.
    late: BTreeMap<usize, Duration>,
    /// The committed events by their ids, and the time of the last one of each entity.
    committed: BTreeSet<Guid>,
    last: BTreeMap<Key, Ticks>,
    subject: std::marker::PhantomData<S>,
}

impl<S: Subject + HasEvents> Driver<S> {
    fn new(plan: Plan, seed: u64, random: Random) -> Result<Self> {
        let store = plan.kind.open(plan.pages)?;
        let shared = Shared {
            plan,
            gate: Gate::default(),
            random: RefCell::new(Random::new(!seed)),
            log: RefCell::default(),
            lines: RefCell::default(),
            handling: RefCell::default(),
            wrong: RefCell::default(),
            writing: Cell::new(plan.writers),
            is_calm: Cell::new(false),
        };
        let (_, begun) = Clocked::new(Arc::clone(&store), moment(0));
        Ok(Self {
            store,
            shared: Rc::new(shared),
            tasks: Vec::new(),
            woken: Arc::default(),
            random,
            requests: 0,
            times: vec![begun.clone()],
            begun,
            moments: 0,
            killed: 0,
            late: BTreeMap::new(),
            committed: BTreeSet::new(),
            last: BTreeMap::new(),
            subject: std::marker::PhantomData,
        })
    }

    /// Returns the handle of a program with a clock of its own.
    fn handle(&mut self, task: usize) -> Tables {
        let turns = Turns::new(Arc::clone(&self.store), self.shared.gate.clone(), task).whole();
        let off = Duration::from_secs(self.random.below(self.shared.plan.spread + 1) as u64);
        let (backend, time) = Clocked::new(turns, self.begun.now() + off);
        self.times.push(time);
        Tables::new(backend)
    }

    /// Runs the tasks to their ends.
    async fn run(&mut self) -> Result<()> {
        let Plan { faults, times, kills, .. } = self.shared.plan;
        let sticky = *self.random.pick(&[0, 60, 90]);
        let (mut last, mut idle) = (0, 0);
        loop {
            self.settle().await?;
            if let Some(wrong) = self.shared.wrong.take() {
                return Err(wrong);
            }
            let waiting = self.waiting();
            let is_calm = self.shared.is_calm.get();
            if self.tasks.iter().all(Option::is_none) {
                for request in waiting {
                    self.arrive(&request).await?;
                }
                return Ok(());
            }
            let gone = waiting.iter().find(|request| request.is_dropped() && self.is_due(request, Duration::ZERO));
            if let Some(gone) = gone {
                self.arrive(gone).await?;
                continue;
            }
            if waiting.iter().all(Waiting::is_dropped) || !is_calm && self.random.chance(times) {
                if self.pass(&waiting).await? {
                    idle = 0;
                } else {
                    // Another thread may wake a task.
                    idle += 1;
                    ensure!(idle < 1000, "no task goes on");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                continue;
            }
            if !is_calm && self.random.below(1000) < kills && self.kill() {
                continue;
            }
            let same: Vec<_> = waiting.iter().filter(|request| request.task == last && !request.is_dropped()).collect();
            let next = match same.as_slice() {
                [_, ..] if self.random.chance(sticky) => *self.random.pick(&same),
                _ => self.random.pick(&waiting),
            };
            last = next.task;
            self.requests += 1;
            ensure!(self.requests < REQUESTS, "the program does not end");
            // Time passes with each request.
            self.advance(Duration::from_micros(1));
            if next.is_dropped() {
                self.arrive(next).await?;
                continue;
            }
            let fate = match &next.write {
                Some(groups) if self.is_early(groups)? => Fate::Refused,
                _ if is_calm || !self.random.chance(faults) => Fate::Answered,
                Some(_) if self.shared.plan.kind != Kind::Embedded => {
                    *self.random.pick(&[Fate::Refused, Fate::AnswerLost, Fate::RequestLost])
                }
                _ => Fate::Refused,
            };
            self.shared.line(format!("  {}: {} → {fate:?}", next.task, next.text));
            self.shared.gate.grant(next.id, fate);
            self.settle().await?;
            if next.write.is_some() {
                self.look().await?;
            }
            self.shared.gate.acknowledge();
        }
    }

    /// Polls all tasks until none goes on without a turn, or until a write waits to be acknowledged.
    async fn settle(&mut self) -> Result<()> {
        let Self { tasks, shared, woken, .. } = self;
        let waker = Waker::from(Arc::clone(woken));
        let settled = poll_fn(|context| {
            woken.driver.register(context.waker());
            woken.is_woken.store(false, Ordering::SeqCst);
            let mut inner = Context::from_waker(&waker);
            for task in tasks.iter_mut() {
                if let Some(Poll::Ready(ended)) = task.as_mut().map(|task| task.poll_unpin(&mut inner)) {
                    *task = None;
                    if let Err(error) = ended {
                        return Poll::Ready(Err(error));
                    }
                }
            }
            let is_settled = !shared.gate.is_busy() && !woken.is_woken.load(Ordering::SeqCst);
            if shared.gate.is_answered() || is_settled { Poll::Ready(Ok(())) } else { Poll::Pending }
        });
        tokio::time::timeout(PATIENCE, settled).await.context("a task waits for something other than the store")?
    }

    /// Returns the requests that wait. Notes those that were given up.
    fn waiting(&mut self) -> Vec<Waiting> {
        let (waiting, now) = (self.shared.gate.waiting(), self.shared.gate.passed());
        for request in waiting.iter().filter(|request| request.is_dropped()) {
            self.late.entry(request.id).or_insert(now);
        }
        waiting
    }

    /// Checks whether a request that was given up arrives before so much time passes, or never.
    fn is_due(&self, request: &Waiting, time: Duration) -> bool {
        let given_up = self.late.get(&request.id).copied().unwrap_or_default();
        self.shared.plan.kind == Kind::Embedded || given_up + LATE < self.shared.gate.passed() + time
    }

    /// Lets a request that was given up arrive, or not.
    async fn arrive(&mut self, request: &Waiting) -> Result<()> {
        let Some(groups) = &request.write else { return Ok(()) };
        self.shared.gate.grant(request.id, Fate::Answered);
        let never = self.is_early(groups)? || self.random.chance(40);
        let answer = if never {
            "never arrives"
        } else if self.store.execute(groups).await.is_ok() {
            "done"
        } else {
            "refused"
        };
        self.shared.line(format!("  {} (given up): {} → {answer}", request.task, request.text));
        self.look().await
    }

    /// Lets time pass. Returns false if nothing waits for it.
    async fn pass(&mut self, waiting: &[Waiting]) -> Result<bool> {
        let Some(next) = self.shared.gate.until_next() else { return Ok(false) };
        let is_long = !self.shared.is_calm.get() && self.shared.plan.times > 0 && self.random.chance(10);
        let time = if is_long { Duration::from_secs(*self.random.pick(&[20, 40, 70, 400])) } else { next };
        for request in waiting.iter().filter(|request| request.is_dropped()) {
            if self.is_due(request, time) {
                self.arrive(request).await?;
            }
        }
        self.shared.line(format!("  {time:?} pass"));
        self.shared.gate.pass(time);
        self.advance(time);
        if S::EXPIRES && self.moments < MOMENTS && self.random.chance(5) {
            self.moments += 1;
            self.shared.line("  an hour passes by the times of day".to_owned());
            self.advance(Duration::from_hours(1));
        }
        Ok(true)
    }

    fn advance(&self, time: Duration) {
        self.times.iter().for_each(|of| of.advance(time));
    }

    /// Kills a relay, and starts another one.
    fn kill(&mut self) -> bool {
        let (writers, relays) = (self.shared.plan.writers, self.shared.plan.relays);
        let number = writers + self.random.below(relays);
        if self.killed >= KILLS || self.tasks[number].is_none() {
            return false;
        }
        self.killed += 1;
        self.shared.line(format!("  relay {number} is killed"));
        // Its requests are given up before the next one begins.
        self.tasks[number] = None;
        let tables = self.handle(number);
        self.tasks[number] = Some(relay::<S>(number, tables, Rc::clone(&self.shared)).boxed_local());
        true
    }

    /// Checks whether a request inserts an entity with an event that is not later than the last one of the entity. Only the
    /// clocks of the writers order a deletion and a new insert, and these are here farther apart than their clocks.
    fn is_early(&self, groups: &[Group]) -> Result<bool> {
        for group in groups {
            for operation in group.operations.iter().filter(|operation| operation.row_key.starts_with("~~event-")) {
                let (Action::Insert(properties) | Action::Upsert(properties)) = &operation.action else { continue };
                let (key, change) = event_of(&group.partition_key, properties.as_ref())?;
                let (at, id) = time_and_id(&operation.row_key)?;
                // An event that was put aside comes back.
                let is_new = !self.committed.contains(&id);
                if is_new && change == EventChange::Inserted && self.last.get(&key).is_some_and(|last| at <= *last) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Notes the events that a write has committed.
    async fn look(&mut self) -> Result<()> {
        let mut events = rows(&self.store, &S::layout().layouts[0].table).await?;
        events.retain(is_event);
        events.sort_by(|one, other| one.row_key.cmp(&other.row_key));
        for event in events {
            let (key, _) = event_of(&event.partition_key, event.properties.as_ref())?;
            let (at, id) = time_and_id(&event.row_key)?;
            if self.committed.insert(id) {
                let last = self.last.insert(key, at);
                ensure!(last.is_none_or(|last| last < at), "{event:?} is not later than the last event, of {last:?}");
            }
        }
        Ok(())
    }

    /// Checks the log when all events are delivered.
    async fn is_sound_at_the_end(&self) -> Result<()> {
        let rows = rows(&self.store, &S::layout().layouts[0].table).await?;
        let left: Vec<_> = rows.iter().filter(|row| row.row_key.starts_with("~~")).collect();
        ensure!(left.is_empty(), "events are left: {left:?}");
        let stored = state::<S>(&Tables::new(Arc::clone(&self.store))).await?;
        let stored: BTreeMap<_, _> = stored.into_iter().map(|(key, fields)| (key, fields.known())).collect();
        let log = self.shared.log.borrow();
        let delivered: BTreeSet<_> = log.ids.keys().copied().collect();
        let missing: Vec<_> = self.committed.difference(&delivered).collect();
        ensure!(missing.is_empty(), "events were lost: {missing:?}");
        let invented: Vec<_> = delivered.difference(&self.committed).collect();
        ensure!(invented.is_empty(), "events were not committed: {invented:?}");
        let mut events = log.events.clone();
        if self.shared.plan.puts_aside() {
            events.sort_by_key(|event| event.at);
        }
        let (mut replay, mut last) = (Replay::<Key, Fields>::default(), BTreeMap::new());
        for event in events {
            let key = event.fields.key();
            let before = last.insert(key, event.at);
            ensure!(before.is_none_or(|before| before < event.at), "{event:?} comes after one of {before:?}");
            replay.apply(key, event.change, event.fields).with_context(|| format!("{event:?}"))?;
        }
        ensure!(replay.0 == stored, "the events lead to {:?}, and there are {stored:?}", replay.0);
        Ok(())
    }
}

/// Returns the time and the id in the row key of an event.
fn time_and_id(row_key: &str) -> Result<(Ticks, Guid)> {
    let key = row_key.rsplit(' ').next().and_then(|key| key.split_once('_')).context("the key of an event")?;
    Ok((Ticks::new(key.0.parse()?).context("a time")?, key.1.parse()?))
}

/// What the programs have done.
#[derive(Debug, Default)]
struct Counts {
    requests: usize,
    events: usize,
    deliveries: usize,
    killed: usize,
}

async fn program<S: Subject + HasEvents>(kind: Kind, seed: u64, counts: &mut Counts) -> Result<()> {
    let mut random = Random::new(seed);
    let plan = Plan::new(kind, &mut random);
    let mut writer = Writer { random: &mut random, stamp: 0 };
    let lines = 8 + writer.random.below(24);
    let mut line = || {
        let act = loop {
            let key = writer.key();
            // Most random operations fail or change nothing, and relays need events.
            let act = match writer.random.below(10) {
                0..2 => Act::Upsert(writer.fields::<S>(key)),
                2..5 => Act::Patch(key, writer.stamp()),
                _ => writer.act::<S>(),
            };
            let is_read = matches!(act, Act::Verify | Act::Find(..) | Act::Pages(..) | Act::All(_));
            if !is_read && (!matches!(act, Act::Repair) || writer.random.chance(20)) {
                break act;
            }
        };
        (act, writer.random.chance(15).then(|| writer.random.below(6)))
    };
    let programs: Vec<Vec<Line>> = (0..plan.writers).map(|_| (0..lines).map(|_| line()).collect()).collect();
    let mut driver = Driver::<S>::new(plan, seed, random)?;
    let shared = Rc::clone(&driver.shared);
    Tables::new(Arc::clone(&driver.store)).create::<S>().await?;
    for (number, lines) in programs.iter().enumerate() {
        let tables = driver.handle(number);
        driver.tasks.push(Some(write::<S>(number, lines.clone(), tables, Rc::clone(&shared)).boxed_local()));
    }
    for number in plan.writers..plan.writers + plan.relays {
        let tables = driver.handle(number);
        driver.tasks.push(Some(relay::<S>(number, tables, Rc::clone(&shared)).boxed_local()));
    }
    let ran = AssertUnwindSafe(async {
        driver.run().await?;
        shared.is_calm.set(true);
        shared.line("the last relay begins".to_owned());
        let tables = driver.handle(0);
        driver.tasks.push(Some(finish::<S>(tables, Rc::clone(&shared)).boxed_local()));
        driver.run().await?;
        driver.is_sound_at_the_end().await
    });
    let ran = ran.catch_unwind().await.unwrap_or_else(|_| Err(anyhow!("a panic")));
    counts.requests += driver.requests;
    counts.events += driver.committed.len();
    counts.deliveries += shared.log.borrow().deliveries;
    counts.killed += driver.killed;
    ran.map_err(|error| {
        let lines = shared.lines.borrow().join("\n");
        anyhow!(
            "seed {seed}: {error:#}\n{plan:?}\n{lines}\nseed {seed}: {error:#}\nTABLE_TESTS_SEED={seed} runs it again"
        )
    })
}

async fn programs<S: Subject + HasEvents>(kind: Kind, quick: u64) -> Result<()> {
    let (begun, mut counts, seeds) = (Instant::now(), Counts::default(), seeds(quick));
    for seed in &seeds {
        program::<S>(kind, *seed, &mut counts).await?;
    }
    println!("{kind:?}: {} programs, {counts:?} in {:?}", seeds.len(), begun.elapsed());
    Ok(())
}

kinds! {
    logged { partition Partition 40; whole Whole 40; embedded Embedded 15; }
    told { partition Partition 40; whole Whole 40; embedded Embedded 15; }
}
