//! Random programs of several tasks on one store, request by request, with writes that are dropped midway, requests that
//! fail or whose answers are lost, and leases that end.
//!
//! A seed determines the programs and the order of all requests: `TABLE_TESTS_SEED=7` runs one again.
//! [`tests::history`] checks every state. In some states and at the end, every index has to agree with the entities.

use std::{
    cell::RefCell,
    collections::HashSet,
    fmt::Write as _,
    future::poll_fn,
    io::{self, Write as _},
    panic::AssertUnwindSafe,
    rc::Rc,
    task::Poll,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures_util::{FutureExt, future::LocalBoxFuture};
use table_runtime::{
    Tables,
    backend::{Backend, BackendExt},
    testing::{Clocked, TestTime},
};
use tests::{
    history::{History, State},
    programs::{Act, Kept, Writer, agrees, prepare, state},
    random::{Random, seeds},
    stores::{Kind, Store},
    subjects::{self, MOMENTS, Subject, moment},
    told::{Told, is_event, is_kept},
    turns::{Fate, Gate, Turns},
};

/// Maximal number of requests of a program, since operations that make each other retry may never end.
const REQUESTS: usize = 10_000;
/// Maximal time for which tasks may wait for something other than the store.
const PATIENCE: Duration = Duration::from_mins(1);
/// Length of a lease.
const LEASE: Duration = Duration::from_mins(1);
/// Number of the operation to which preparing reads belong.
const NONE: usize = usize::MAX;

/// Operation, with the request at which it is dropped.
type Line = (Act, Option<usize>);

/// State that the tasks and the driver share.
struct Shared {
    gate: Gate,
    history: RefCell<History>,
    log: RefCell<Vec<String>>,
}

impl Shared {
    fn log(&self, line: String) {
        self.log.borrow_mut().push(line);
    }
}

/// Runs the operations of one task.
async fn task<S: Subject>(number: usize, lines: Vec<Line>, tables: Tables, shared: Rc<Shared>) -> Result<()> {
    let mut kept = Kept::<S>::new();
    shared.gate.begin(number, NONE);
    // The handle gets leases.
    tables.create::<S>().await?;
    for (act, dropped_at) in lines {
        shared.gate.begin(number, NONE);
        let ready = prepare(&tables, &mut kept, &act).await;
        let Some(mut ready) = ready.with_context(|| format!("a read for {act:?}"))? else { continue };
        if let Act::Read(key) = act {
            kept.extend(S::point(key).get(&tables).await?.map(|stored| (key, stored)));
            continue;
        }
        let operation = shared.history.borrow_mut().begin(act, ready.effects());
        shared.gate.begin(number, operation);
        shared.log(format!("task {number} begins {operation}: {ready:?}"));
        let outcome = match dropped_at {
            None => Some(ready.run(&tables).await),
            Some(at) => shared.gate.run_until(number, at, ready.run(&tables)).await,
        };
        match outcome {
            Some(outcome) => {
                shared.log(format!("task {number} ends {operation}: {outcome:?}"));
                shared.history.borrow_mut().end(operation, &outcome)?;
            }
            None => shared.log(format!("task {number} drops {operation}")),
        }
        ready.keep(&mut kept);
    }
    Ok(())
}

/// Drives the tasks of a program.
struct Driver<'a, S> {
    store: &'a Store,
    direct: Tables,
    shared: Rc<Shared>,
    tasks: Vec<Option<LocalBoxFuture<'static, Result<()>>>>,
    random: Random,
    requests: usize,
    /// The times of day of all handles.
    times: Vec<TestTime>,
    told: Told,
    subject: std::marker::PhantomData<S>,
}

impl<S: Subject> Driver<'_, S> {
    /// Runs the program to its end.
    async fn run(&mut self) -> Result<()> {
        // Programs without faults reach their ends more often.
        let (faults, times) = (*self.random.pick(&[0, 0, 4, 12]), *self.random.pick(&[0, 0, 1, 5]));
        let sticky = *self.random.pick(&[0, 60, 90]);
        let mut last = 0;
        loop {
            self.settle().await?;
            let waiting = self.shared.gate.waiting();
            let running = self.tasks.iter().any(Option::is_some);
            // Dropped requests may arrive at any later time, or never.
            let stays = |task| waiting.iter().filter(move |waiting| waiting.task == task && !waiting.is_dropped());
            let same: Vec<_> = stays(last).collect();
            let next = match same.as_slice() {
                _ if waiting.is_empty() => return Ok(()),
                [_, ..] if self.random.chance(sticky) => *self.random.pick(&same),
                _ => self.random.pick(&waiting),
            };
            last = next.task;
            self.requests += 1;
            ensure!(self.requests < REQUESTS, "the program does not end");
            let operation = (next.operation != NONE).then_some(next.operation);
            let of = operation.map_or("a read before".to_owned(), |operation| operation.to_string());
            if S::EXPIRES && self.random.chance(3) && self.shared.history.borrow().now() < MOMENTS {
                self.pass();
            }
            if self.random.chance(times) {
                self.shared.log("  time passes, and all leases end".to_owned());
                self.shared.gate.pass(LEASE);
                // Whoever waits for the answer to a commit may give it up.
                self.settle().await?;
                continue;
            }
            let fate = match operation {
                Some(operation) if !next.is_dropped() && self.random.chance(faults) => {
                    self.shared.history.borrow_mut().disturb(operation);
                    let fates = [Fate::Refused, Fate::AnswerLost, Fate::RequestLost];
                    if next.write.is_some() { *self.random.pick(&fates) } else { Fate::Refused }
                }
                _ => Fate::Answered,
            };
            self.shared.gate.grant(next.id, fate);
            match &next.write {
                Some(_) if next.is_dropped() && (self.random.chance(20) || !running && self.random.chance(40)) => {
                    self.shared.log(format!("  {of} (dropped): {} never arrives", next.text));
                }
                Some(groups) if next.is_dropped() => {
                    let answer = self.store.backend.execute(groups).await;
                    let answer = if answer.is_ok() { "done" } else { "refused" };
                    self.shared.log(format!("  {of} (dropped): {} → {answer}", next.text));
                    self.look(operation).await?;
                }
                write => {
                    let failed = if fate == Fate::Answered { String::new() } else { format!(" → {fate:?}") };
                    self.shared.log(format!("  {of}: {}{failed}", next.text));
                    self.settle().await?;
                    if write.is_some() {
                        self.look(operation).await?;
                    }
                    self.shared.gate.acknowledge();
                }
            }
        }
    }

    /// Lets time pass to the next moment, so that entities expire.
    fn pass(&self) {
        let now = self.shared.history.borrow().now() + 1;
        self.shared.log(format!("  the moment {now} begins"));
        self.times.iter().for_each(|time| time.set(moment(now)));
        self.shared.history.borrow_mut().pass(now);
    }

    /// Polls all tasks until each has ended or waits for its turn, or until a write waits to be acknowledged. Timers
    /// are waited for, since passing time is no step.
    async fn settle(&mut self) -> Result<()> {
        let (tasks, gate) = (&mut self.tasks, &self.shared.gate);
        let settled = poll_fn(|context| {
            for task in tasks.iter_mut() {
                if let Some(Poll::Ready(ended)) = task.as_mut().map(|task| task.poll_unpin(context)) {
                    *task = None;
                    if let Err(error) = ended {
                        return Poll::Ready(Err(error));
                    }
                }
            }
            let mut running = tasks.iter().enumerate().filter(|(_, task)| task.is_some());
            let settled = gate.is_answered() || !gate.is_busy() && running.all(|(number, _)| gate.waits(number));
            if settled { Poll::Ready(Ok(())) } else { Poll::Pending }
        });
        tokio::time::timeout(PATIENCE, settled).await.context("a task waits for something other than the store")?
    }

    /// Checks the store after a write of this operation.
    async fn look(&mut self, operation: Option<usize>) -> Result<()> {
        let state = state::<S>(&self.direct).await?;
        self.told.look::<S>(self.store).await?;
        self.told.check(&state).context("what the events say")?;
        self.shared.history.borrow_mut().after(operation, state)?;
        let percent = if self.store.kind.is_azurite() { 2 } else { 10 };
        if self.random.chance(percent) {
            let (state, now) = (self.shared.history.borrow().state().clone(), self.shared.history.borrow().now());
            agrees::<S>(&self.direct, &state, now).await.context("between two requests")?;
        }
        Ok(())
    }
}

/// Checks that a repair leaves no finding and does not change what readers see, that a sweep removes exactly what has
/// expired, and that removed entities leave no rows.
async fn is_sound_at_the_end<S: Subject>(store: &Store, state: &State, now: u8) -> Result<()> {
    let tables = Tables::new(Clocked::new(store.backend.clone(), moment(now)).0);
    agrees::<S>(&tables, state, now).await.context("at the end")?;
    let repaired = tables.repair::<S>().await.context("the repair")?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    let findings = tables.verify::<S>().all().await.context("the verification")?;
    ensure!(findings.is_empty(), "after the repair: {findings:?}");
    let after = self::state::<S>(&tables).await?;
    ensure!(after == *state, "the repair changed what readers see to {after:?}");
    agrees::<S>(&tables, state, now).await.context("after the repair")?;
    let expired = state.values().filter(|fields| fields.has_expired(now)).count();
    ensure!(S::sweep(&tables).await? == expired, "{expired} entities have expired");
    let findings = tables.verify::<S>().all().await.context("the verification after the sweep")?;
    ensure!(findings.is_empty(), "after the sweep: {findings:?}");
    let state: State = state.clone().into_iter().filter(|(_, fields)| !fields.has_expired(now)).collect();
    let after = self::state::<S>(&tables).await?;
    ensure!(after == state, "the sweep changed what readers see to {after:?}");
    for key in state.keys() {
        ensure!(tables.remove(S::point(*key)).await?, "{key:?} cannot be removed");
    }
    for table in store.backend.list_tables("").await?.into_iter().filter(|table| !is_kept(table)) {
        let mut rows = store.rows(&table).await?;
        rows.retain(|row| !is_event(row));
        ensure!(rows.is_empty(), "rows are left in {table}: {rows:?}");
    }
    Ok(())
}

/// Numbers of operations and requests of a program.
#[derive(Default)]
struct Counts {
    operations: usize,
    requests: usize,
}

/// Runs the program of a seed. Returns also its schedule as text.
async fn program<S: Subject>(kind: Kind, seed: u64) -> Result<(Counts, String)> {
    let mut random = Random::new(seed);
    let mut writer = Writer { random: &mut random, stamp: 0 };
    let start: Vec<_> = (0..writer.random.below(5)).map(|_| writer.key()).collect();
    let start: Vec<_> = start.into_iter().map(|key| writer.fields::<S>(key)).collect();
    let (tasks, lines) = (3 + writer.random.below(2), 3 + writer.random.below(6));
    let mut line = || {
        let act = writer.act::<S>();
        let is_dropped = writer.random.chance(30);
        (act, is_dropped.then(|| writer.random.below(6)))
    };
    let programs: Vec<Vec<Line>> = (0..tasks).map(|_| (0..lines).map(|_| line()).collect()).collect();

    let store = kind.open()?;
    let (backend, time) = Clocked::new(store.backend.clone(), moment(0));
    let (direct, mut times) = (Tables::new(backend), vec![time]);
    direct.create::<S>().await?;
    for fields in &start {
        // Entities that collide with others are left out.
        let _ = direct.insert(&S::new(fields)).await;
    }
    let mut told = Told::default();
    told.look::<S>(&store).await?;
    let history = History::new(S::INDEXES, state::<S>(&direct).await?);
    let shared = Rc::new(Shared { gate: Gate::default(), history: history.into(), log: RefCell::default() });
    let task = |(number, lines): (usize, &Vec<Line>)| {
        let turns = Turns::new(store.backend.clone(), shared.gate.clone(), number);
        let (backend, time) = Clocked::new(turns, moment(0));
        times.push(time);
        let tables = Tables::new(backend);
        Some(task::<S>(number, lines.clone(), tables, shared.clone()).boxed_local())
    };
    let tasks = programs.iter().enumerate().map(task).collect();
    let (requests, subject) = (0, std::marker::PhantomData);
    let mut driver =
        Driver::<S> { store: &store, direct, shared: shared.clone(), tasks, random, requests, times, told, subject };
    let ran = AssertUnwindSafe(async {
        driver.run().await?;
        let (state, now) = (shared.history.borrow().state().clone(), shared.history.borrow().now());
        is_sound_at_the_end::<S>(&store, &state, now).await
    });
    let ran = ran.catch_unwind().await.unwrap_or_else(|_| Err(anyhow!("a panic")));
    let log = shared.log.borrow().join("\n");
    let counts = Counts { operations: shared.history.borrow().operations(), requests: driver.requests };
    drop(driver);
    store.clean().await?;
    ran.map(|()| (counts, log.clone())).map_err(|error| {
        let mut text = format!("seed {seed} on {kind:?}: {error:#}\nat first: {start:?}\n");
        for (number, lines) in programs.iter().enumerate() {
            let _ = writeln!(text, "task {number}, with the request at which each operation is dropped:");
            for line in lines {
                let _ = writeln!(text, "    {line:?}");
            }
        }
        anyhow!("{text}the schedule:\n{log}\nTABLE_TESTS_SEED={seed} runs it again")
    })
}

async fn programs<S: Subject>(kind: Kind, quick: u64) -> Result<()> {
    if let Some(off) = kind.off() {
        // Writing directly bypasses the test harness, which would capture the message.
        let _ = writeln!(io::stderr(), "not tested: {off}");
        return Ok(());
    }
    let begun = Instant::now();
    let (mut ran, mut total) = (0, Counts::default());
    for seed in seeds(quick) {
        let (counts, _) = program::<S>(kind, seed).await?;
        ran += 1;
        total.operations += counts.operations;
        total.requests += counts.requests;
    }
    let Counts { operations, requests } = total;
    println!("{kind:?}: {ran} programs, {operations} operations, {requests} requests in {:?}", begun.elapsed());
    Ok(())
}

kinds! {
    mixed { plain Plain 200; memory Memory 40; disk Disk 10; azurite Azurite 3; }
    local { plain Plain 300; memory Memory 60; disk Disk 15; azurite Azurite 3; }
    fleeting { plain Plain 200; memory Memory 40; disk Disk 5; azurite Azurite 2; }
    logged { plain Plain 200; memory Memory 40; disk Disk 5; azurite Azurite 2; }
    told { plain Plain 200; memory Memory 40; disk Disk 5; azurite Azurite 2; }
    brief { plain Plain 200; memory Memory 40; disk Disk 5; azurite Azurite 2; }
}

/// Returns the requests of a program in order; `None` if the program fails, which the other tests report.
async fn schedule<S: Subject>(kind: Kind, seed: u64) -> Option<Vec<String>> {
    let (_, log) = program::<S>(kind, seed).await.ok()?;
    Some(log.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect())
}

async fn is_repeated<S: Subject>() -> Result<()> {
    let mut different = HashSet::new();
    for seed in 0..4 {
        let Some(first) = schedule::<S>(Kind::Plain, seed).await else { continue };
        for kind in [Kind::Plain, Kind::Memory] {
            let again = schedule::<S>(kind, seed).await.unwrap_or_default();
            if let Some(at) = (0..first.len().max(again.len())).find(|at| again.get(*at) != first.get(*at)) {
                let around = |lines: &[String]| lines.iter().take(at + 2).skip(at.saturating_sub(8)).cloned().collect();
                let [first, again]: [Vec<_>; 2] = [around(&first), around(&again)];
                bail!("seed {seed}: {first:#?}, and then on {kind:?} {again:#?}");
            }
        }
        ensure!(different.insert(first), "seed {seed} has the schedule of another one");
    }
    Ok(())
}

/// Checks that a seed gives the same schedule on every store, so that a failure can be repeated.
#[tokio::test]
async fn a_seed_repeats_its_schedule() -> Result<()> {
    is_repeated::<subjects::mixed::Entity>().await?;
    is_repeated::<subjects::fleeting::Entity>().await?;
    is_repeated::<subjects::local::Entity>().await
}
