//! Random programs of workers that share a queue: the program of the guide's page on work queues. Requests fail and overtake
//! each other, workers are stopped at any request, and time passes. No job is lost, and no two workers have a job at one time.
//! Where a lease begins after a lost race is random, so a seed may not repeat exactly.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{BoxFuture, Reach},
    testing::{Clocked, TestTime},
};
use tests::{
    driven::{Next, drive},
    plain::Plain,
    random::{Random, seeds},
    tasks::{Answers, RandomTask},
};

/// Steps after which a program must have ended. The longest of a deep search take some ten thousand.
const STEPS: usize = 200_000;
/// Time for which a worker has its jobs.
const LEASE: Duration = Duration::from_secs(30);
/// Number of attempts after which nobody tries a job again.
const ATTEMPTS: u32 = 3;

/// A job of the guide's page.
trait Work: TableEntity + Clone + std::fmt::Debug {
    /// The place of a job that has failed too often.
    type Dead: TableEntity;
    /// True if the rows of its index are in its partition.
    const IS_NEAR: bool;

    fn new(id: u32, due: SystemTime) -> Self;
    fn id(&self) -> u32;
    fn due(&mut self) -> &mut SystemTime;
    fn attempts(&self) -> u32;
    fn dead(&self) -> Self::Dead;

    /// Takes up to `count` jobs that are due. `number` chooses a part of the queue, or all of it.
    fn take(tables: &Tables, count: usize, number: usize) -> BoxFuture<'_, table_runtime::Result<Vec<Stored<Self>>>>;
    /// Reads the job of another.
    async fn read(&self, tables: &Tables) -> table_runtime::Result<Option<Stored<Self>>>;
    /// Reads all jobs.
    async fn all(tables: &Tables) -> table_runtime::Result<Vec<Stored<Self>>>;
    /// Returns the ids of the dead letters, and the attempts of each.
    async fn dead_letters(tables: &Tables) -> table_runtime::Result<BTreeMap<u32, u32>>;
}

fn held<T>(written: table_runtime::Result<T>) -> table_runtime::Result<bool> {
    match written {
        Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(false),
        written => written.map(|_| true),
    }
}

async fn finish<E: Work>(tables: &Tables, job: &Stored<E>) -> table_runtime::Result<bool> {
    held(tables.delete(job).await)
}

async fn extend<E: Work>(tables: &Tables, job: &mut Stored<E>) -> table_runtime::Result<bool> {
    *job.due() = tables.now() + LEASE;
    held(tables.update(job).await)
}

async fn fail<E: Work>(tables: &Tables, job: &mut Stored<E>) -> table_runtime::Result<bool> {
    if job.attempts() < ATTEMPTS {
        *job.due() = tables.now() + Duration::from_secs(10 << job.attempts());
        return held(tables.update(job).await);
    }
    let dead = job.dead();
    held(tables.transaction().delete(&*job).upsert(&dead).commit().await)
}

macro_rules! work {
    ($entity:ident, $dead:ident, $table:literal, $is_near:literal, [$($option:ident)?], $($index:ident)?, $take:expr $(; #[$attribute:meta])?) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = $table $(, $option)?)]
        $(#[$attribute])?
        struct $entity {
            #[partition_key]
            queue: u32,
            #[row_key(prefix = "job-")]
            id: u32,
            $(#[index(due, $index)])?
            due: SystemTime,
            attempts: u32,
        }

        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = $table)]
        struct $dead {
            #[partition_key]
            queue: u32,
            #[row_key(prefix = "dead-")]
            id: u32,
            attempts: u32,
        }

        impl Work for $entity {
            type Dead = $dead;

            const IS_NEAR: bool = $is_near;

            fn new(id: u32, due: SystemTime) -> Self {
                Self { queue: if $is_near { 1 } else { id % 3 }, id, due, attempts: 0 }
            }

            fn id(&self) -> u32 {
                self.id
            }

            fn due(&mut self) -> &mut SystemTime {
                &mut self.due
            }

            fn attempts(&self) -> u32 {
                self.attempts
            }

            fn dead(&self) -> $dead {
                $dead { queue: self.queue, id: self.id, attempts: self.attempts }
            }

            fn take(
                tables: &Tables,
                count: usize,
                number: usize,
            ) -> BoxFuture<'_, table_runtime::Result<Vec<Stored<Self>>>> {
                let take: Take<Self> = $take;
                take(tables, count, number)
            }

            async fn read(&self, tables: &Tables) -> table_runtime::Result<Option<Stored<Self>>> {
                Self::key(self.queue, self.id).get(tables).await
            }

            async fn all(tables: &Tables) -> table_runtime::Result<Vec<Stored<Self>>> {
                let mut jobs = Vec::new();
                for queue in 0..3 {
                    jobs.extend(Self::by_key(queue).all(tables).await?);
                }
                Ok(jobs)
            }

            async fn dead_letters(tables: &Tables) -> table_runtime::Result<BTreeMap<u32, u32>> {
                let mut letters = BTreeMap::new();
                for queue in 0..3 {
                    letters.extend($dead::by_key(queue).all(tables).await?.iter().map(|dead| (dead.id, dead.attempts)));
                }
                Ok(letters)
            }
        }
    };
}

type Take<E> = fn(&Tables, usize, usize) -> BoxFuture<'_, table_runtime::Result<Vec<Stored<E>>>>;

/// Gives a job to a worker, by the time at which it is written.
macro_rules! lease {
    ($query:expr, $tables:ident, $count:ident) => {
        $query.range(..=$tables.now()).lease($tables, $count, move |job| {
            job.due = $tables.now() + LEASE;
            job.attempts += 1;
        })
    };
}

work!(Near, DeadNear, "Near", true, [], same_partition, |tables, count, _| lease!(Near::by_due(1), tables, count));
work!(Proved, DeadProved, "Proved", true, [write_id], same_partition, |tables, count, _| {
    lease!(Proved::by_due(1), tables, count)
});
work!(Far, DeadFar, "Far", false, [], , |tables, count, number| match number {
    0 | 1 => lease!(Far::by_due().hash_partition(number), tables, count),
    _ => lease!(Far::by_due(), tables, count),
}; #[index(due, partition(id(hash = 2)), row(due))]);

/// What the workers have been told.
#[derive(Debug, Default)]
struct Told {
    /// The worker that has a job, and the end of its lease.
    holders: BTreeMap<u32, (usize, SystemTime)>,
    /// The times before which nobody may try a job again that has failed.
    pauses: BTreeMap<u32, SystemTime>,
    /// The number of attempts that a worker has seen last.
    attempts: BTreeMap<u32, u32>,
    /// Jobs whose work has failed, or was stopped.
    failed: BTreeSet<u32>,
    /// Jobs that were added, and those whose insert may not have been carried out.
    added: BTreeSet<u32>,
    doubtful: BTreeSet<u32>,
    finished: BTreeSet<u32>,
    /// Jobs that a worker wanted to finish.
    ending: BTreeSet<u32>,
    /// Number of writes that were refused because another worker has the job.
    refused: usize,
    /// Number of those that were refused though nobody has changed the job.
    fenced: usize,
    /// Number of jobs that were taken again after a lease.
    taken_again: usize,
    /// What is wrong.
    problem: Option<String>,
}

impl Told {
    fn ensure(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds && self.problem.is_none() {
            self.problem = Some(problem());
        }
    }

    /// Notes that the worker has the job until `due`.
    fn hold(&mut self, worker: usize, id: u32, due: SystemTime, now: SystemTime) {
        if due <= now {
            // It was told too late.
            self.holders.retain(|job, (holder, _)| (*job, *holder) != (id, worker));
            return;
        }
        if let Some((other, until)) = self.holders.insert(id, (worker, due)) {
            self.ensure(until <= now || other == worker, || format!("{other} and {worker} have the job {id}"));
        }
    }

    /// Checks that no other worker has the job that this one has changed, or finished.
    fn ensure_alone(&mut self, worker: usize, id: u32, now: SystemTime) {
        let other = self.holders.get(&id).filter(|(holder, until)| *holder != worker && *until > now).copied();
        self.ensure(other.is_none(), || format!("{worker} has ended {id}, which another worker has: {other:?}"));
    }

    fn release(&mut self, worker: usize, id: u32) {
        self.holders.retain(|job, (holder, _)| (*job, *holder) != (id, worker));
    }

    fn stopped(&mut self, worker: usize) {
        self.holders.retain(|_, (holder, _)| *holder != worker);
    }
}

/// What all tasks of a program share.
#[derive(Clone)]
struct World {
    told: Arc<Mutex<Told>>,
    time: TestTime,
    /// The store without faults, whose requests do not wait.
    store: Tables,
    is_faulty: bool,
}

impl World {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer; `None` after an error, which a fault must explain.
    fn answer<T>(&self, what: &str, answer: table_runtime::Result<T>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                let is_fault = matches!(error, Error::OutcomeUnknown(_) | Error::NoAnswer { .. } | Error::Aborted(_));
                self.told().ensure(is_fault && self.is_faulty, || format!("{what}: {error}"));
                None
            }
        }
    }
}

/// A worker, from its start to its end. `number` distinguishes it from those before it.
struct Worker {
    tables: Tables,
    world: World,
    random: Random,
    number: usize,
    rounds: usize,
}

impl Worker {
    async fn run<E: Work>(mut self) {
        for _ in 0..self.rounds {
            let (count, part) = (*self.random.pick(&[1, 2, 3, 32]), self.random.below(4));
            let (began, before) = (self.world.time.now(), E::all(&self.world.store).await);
            let Some(mut jobs) = self.world.answer("take", E::take(&self.tables, count, part).await) else { continue };
            if jobs.is_empty() && (E::IS_NEAR || part > 1) {
                self.nothing(began, before.unwrap_or_default()).await;
            }
            self.taken(&mut jobs, count);
            for job in &mut jobs {
                self.work().await;
                self.handle(job).await;
                self.world.told().release(self.number, job.id());
            }
        }
    }

    /// Lets others go on.
    async fn work(&mut self) {
        for _ in 0..self.random.below(10) {
            let mut has_waited = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }

    /// Checks that no job was due all the time in which the lease has found none.
    async fn nothing<E: Work>(&self, began: SystemTime, before: Vec<Stored<E>>) {
        let now = E::all(&self.world.store).await.unwrap_or_default();
        for mut job in before {
            let same = now.iter().any(|other| other.id() == job.id() && Stored::etag(other) == Stored::etag(&job));
            let is_due = *job.due() <= began;
            self.world.told().ensure(!same || !is_due, || format!("{} has not found {}", self.number, job.id()));
        }
    }

    fn taken<E: Work>(&self, jobs: &mut [Stored<E>], count: usize) {
        let (mut told, now) = (self.world.told(), self.world.time.now());
        let ids: BTreeSet<_> = jobs.iter().map(|job| job.id()).collect();
        told.ensure(jobs.len() <= count && ids.len() == jobs.len(), || format!("{ids:?} for {count}"));
        for job in jobs {
            let (id, due, attempts) = (job.id(), *job.due(), job.attempts());
            let is_known = told.holders.get(&id).is_some_and(|(holder, until)| *holder == self.number && *until > now);
            told.ensure(!is_known, || format!("{} got {id} again", self.number));
            let is_over = told.finished.contains(&id);
            told.ensure(!is_over || due <= now, || format!("{id} was taken after its end"));
            // A worker that is told after its lease has ended may be told after the next one.
            let last = told.attempts.entry(id).or_default();
            let (before, is_late) = (*last, due <= now);
            *last = before.max(attempts);
            told.ensure(attempts > before || is_late, || format!("{id} had {before} attempts, and has {attempts}"));
            if let Some(pause) = told.pauses.get(&id).copied().filter(|pause| due > *pause) {
                told.ensure(due - LEASE >= pause, || format!("{id} was taken in its pause"));
            }
            told.taken_again += usize::from(told.holders.contains_key(&id));
            told.hold(self.number, id, due, now);
        }
    }

    async fn handle<E: Work>(&mut self, job: &mut Stored<E>) {
        let (world, id) = (self.world.clone(), job.id());
        while self.random.chance(20) {
            let before = *job.due();
            match world.answer("extend", extend(&self.tables, job).await) {
                Some(true) => world.told().hold(self.number, id, *job.due(), world.time.now()),
                Some(false) => return self.refused(job, before).await,
                None => return,
            }
        }
        let before = *job.due();
        let does = if job.attempts() > ATTEMPTS { 4 } else { self.random.below(10) };
        match does {
            // It does nothing, and the lease ends.
            0 => {}
            1..=4 => {
                world.told().failed.insert(id);
                match world.answer("fail", fail(&self.tables, job).await) {
                    Some(true) => {
                        let mut told = world.told();
                        told.pauses.insert(id, *job.due());
                        told.ensure_alone(self.number, id, world.time.now());
                    }
                    Some(false) => self.refused(job, before).await,
                    None => {}
                }
            }
            _ => {
                world.told().ending.insert(id);
                match world.answer("finish", finish(&self.tables, job).await) {
                    Some(true) => {
                        let is_gone = matches!(job.read(&world.store).await, Ok(None));
                        let mut told = world.told();
                        let is_first = told.finished.insert(id);
                        told.ensure(is_gone && is_first, || format!("{id} is finished twice, or is still there"));
                        told.ensure_alone(self.number, id, world.time.now());
                    }
                    Some(false) => self.refused(job, before).await,
                    None => {}
                }
            }
        }
    }

    /// Checks that another worker has taken the job, or finished it.
    async fn refused<E: Work>(&self, job: &Stored<E>, due: SystemTime) {
        let now = job.read(&self.world.store).await;
        let mut told = self.world.told();
        told.refused += 1;
        if let Ok(Some(mut now)) = now
            && *now.due() == due
        {
            told.fenced += 1;
            // A write of index rows in other partitions that fails may give the entity another version.
            told.ensure(!E::IS_NEAR, || format!("{} has {}, and its write was refused", self.number, now.id()));
        }
    }
}

/// Adds jobs.
async fn add<E: Work>(tables: Tables, world: World, ids: std::ops::Range<u32>, mut random: Random) {
    for id in ids {
        let due = tables.now() + Duration::from_secs(random.bits() % 20);
        match world.answer("add", tables.insert(&E::new(id, due)).await) {
            Some(_) => world.told().added.insert(id),
            None => world.told().doubtful.insert(id),
        };
    }
}

struct Task {
    running: RandomTask<()>,
    /// The number of the worker; `None` if it adds jobs.
    worker: Option<usize>,
}

struct Program {
    random: Random,
    answers: Answers,
    /// Handles of two processes.
    processes: [Tables; 2],
    tasks: Vec<Task>,
    world: World,
    stops: bool,
    workers: usize,
}

impl Program {
    async fn new<E: Work>(seed: u64, reach: Reach) -> Result<Self> {
        let mut random = Random::new(seed);
        let plain = Plain::default().with_reach(reach);
        let start = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        let (clocked, time) = Clocked::new(plain.clone(), start);
        let store = Tables::new(clocked.clone());
        store.create_all::<(E, E::Dead)>().await?;
        let (mut answers, backend) = Answers::new(&plain, clocked);
        let processes = [(); 2].map(|()| Tables::new(Arc::clone(&backend)));
        for process in &processes {
            // Only then does the handle hold leases of indexes.
            if random.chance(50) {
                drive(&answers.schedule, process.create_all::<(E, E::Dead)>(), async |_| Next::Grant).await??;
            }
        }
        let (is_faulty, stops) = (random.chance(60), random.chance(60));
        answers.faulty = if is_faulty { 3 } else { 0 };
        let world = World { told: Arc::default(), time, store, is_faulty };
        let mut program = Self { random, answers, processes, tasks: Vec::new(), world, stops, workers: 0 };
        program.add_tasks::<E>().await?;
        Ok(program)
    }

    async fn add_tasks<E: Work>(&mut self) -> Result<()> {
        let now = self.world.time.now();
        let first = 3 + u32::try_from(self.random.below(6))?;
        self.world.store.insert_all((0..first).map(|id| E::new(id, now))).await?;
        self.world.told().added.extend(0..first);
        let more = u32::try_from(self.random.below(6))?;
        let random = Random::new(self.random.bits());
        let adding = add::<E>(self.processes[0].clone(), self.world.clone(), first..first + more, random);
        let running = RandomTask::new(&mut self.random, adding);
        self.tasks.push(Task { running, worker: None });
        for _ in 0..2 + self.random.below(3) {
            let worker = self.start_worker::<E>();
            self.tasks.push(worker);
        }
        Ok(())
    }

    fn start_worker<E: Work>(&mut self) -> Task {
        self.workers += 1;
        let worker = Worker {
            tables: self.random.pick(&self.processes).clone(),
            world: self.world.clone(),
            random: Random::new(self.random.bits()),
            number: self.workers,
            rounds: 2 + self.random.below(6),
        };
        Task { running: RandomTask::new(&mut self.random, worker.run::<E>()), worker: Some(self.workers) }
    }

    async fn run<E: Work>(&mut self) -> Result<()> {
        for _ in 0..STEPS {
            if let Some(problem) = self.world.told().problem.take() {
                bail!(problem);
            }
            if !self.tasks.iter().any(|task| task.running.is_running()) {
                return Ok(());
            }
            if self.random.chance(3) {
                let seconds = *self.random.pick(&[1, 5, 10, 29, 30, 31, 100]);
                self.world.time.advance(Duration::from_secs(seconds));
            } else if self.stops && self.random.chance(1) {
                self.stop::<E>();
            } else {
                let tasks = self.tasks.iter_mut().map(|task| &mut task.running);
                self.answers.step(tasks, &mut self.random).await?;
            }
        }
        bail!("the tasks do not end")
    }

    /// Stops a worker, and starts another one in its place or not.
    fn stop<E: Work>(&mut self) {
        let at = self.random.below(self.tasks.len());
        let Some(number) = self.tasks[at].worker else { return };
        self.tasks[at].running.stop();
        self.world.told().stopped(number);
        if self.workers < 12 && self.random.chance(80) {
            self.tasks[at] = self.start_worker::<E>();
        }
    }

    /// Lets workers without faults do what is left, and checks that no job is lost.
    async fn check<E: Work>(mut self) -> Result<Told> {
        self.answers.end(&mut self.random).await;
        let store = self.world.store.clone();
        let mut rounds = 0;
        while let left = E::all(&store).await?
            && !left.is_empty()
        {
            rounds += 1;
            ensure!(rounds < 100, "nobody gets {left:?}");
            self.world.time.advance(Duration::from_mins(1));
            let (random, world) = (Random::new(self.random.bits()), self.world.clone());
            self.workers += 1;
            Worker { tables: store.clone(), world, random, number: self.workers, rounds: 1 }.run::<E>().await;
        }
        let mut told = std::mem::take(&mut *self.world.told());
        if let Some(problem) = told.problem.take() {
            bail!(problem);
        }
        let dead = E::dead_letters(&store).await?;
        for id in &told.added {
            let is_ended = dead.contains_key(id) || told.ending.contains(id);
            ensure!(is_ended, "{id} is lost");
        }
        for (id, attempts) in &dead {
            ensure!(
                *attempts >= ATTEMPTS && told.failed.contains(id),
                "{id} is a dead letter after {attempts} attempts"
            );
            ensure!(!told.finished.contains(id), "{id} is finished, and a dead letter");
            ensure!(told.added.contains(id) || told.doubtful.contains(id), "nobody has added {id}");
        }
        if !E::IS_NEAR && (self.world.is_faulty || self.stops) {
            store.repair::<E>().await?;
        }
        let findings = store.verify::<E>().all().await?;
        ensure!(findings.is_empty(), "{findings:?}");
        Ok(told)
    }
}

async fn search<E: Work>(programs: u64) -> Result<()> {
    let (mut refused, mut fenced, mut taken_again) = (0, 0, 0);
    for seed in seeds(programs) {
        for reach in [Reach::Partition, Reach::Store] {
            let context = || format!("seed {seed}, {reach:?}");
            let mut program = Program::new::<E>(seed, reach).await?;
            program.run::<E>().await.with_context(context)?;
            let told = program.check::<E>().await.with_context(context)?;
            refused += told.refused;
            fenced += told.fenced;
            taken_again += told.taken_again;
        }
    }
    println!("{refused} writes were refused, {fenced} of them by fences; {taken_again} jobs were taken again");
    ensure!(refused > 0 && taken_again > 0, "no lease ended");
    Ok(())
}

#[tokio::test]
async fn workers_lose_no_job() -> Result<()> {
    search::<Near>(150).await
}

#[tokio::test]
async fn workers_lose_no_job_with_write_ids() -> Result<()> {
    search::<Proved>(100).await
}

#[tokio::test]
async fn workers_lose_no_job_of_other_partitions() -> Result<()> {
    search::<Far>(80).await
}
