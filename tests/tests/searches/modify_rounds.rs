//! Random programs of tasks that modify one row: they are polled seldom or not at all, dropped, panic and fail, requests fail
//! and overtake each other, and another process writes too. Each task gets what it gets if the tasks run one after another.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use table_runtime::{ETag, Error, Stored, TableEntity, Tables, backend::Reach};
use tests::{
    driven::{Next, drive},
    plain::Plain,
    random::{Random, seeds},
    tasks::{Answers, RandomTask},
};

/// The value of the unique index that another entity has.
const TAKEN: &str = "taken";
/// Steps after which a program must have ended.
const STEPS: usize = 20_000;

/// A row on which each change leaves the number of its task.
trait Hot: TableEntity + Clone + PartialEq + std::fmt::Debug {
    fn new(id: u32, log: &str, name: &str) -> Self;
    fn id(&mut self) -> &mut u32;
    fn log(&mut self) -> &mut String;
    fn name(&mut self) -> &mut String;
    /// Returns a property that rows of indexes include, and most tasks leave as it is.
    fn mark(&mut self) -> &mut u64;
    fn deleted(&mut self) -> &mut Option<SystemTime>;
    /// Returns what the task does.
    fn modify(tables: &Tables, verb: Verb, act: Act, task: usize) -> Running<Self>;
    /// Reads the entity, also in the bin.
    async fn stored(tables: &Tables) -> table_runtime::Result<Option<Stored<Self>>>;
}

type Running<E> = Pin<Box<dyn Future<Output = table_runtime::Result<Option<Stored<E>>>> + Send>>;

/// How a task changes the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Modify,
    ModifyOrInsert,
    /// `modify` of an entity that may be in the bin.
    ModifyInBin,
}

/// What the closure of a task does, besides writing the number of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    Mark,
    /// Gives the row a value that is its own in the unique index.
    Rename,
    /// Gives it the value of another entity.
    Take,
    /// Makes it larger than a row can be.
    Grow,
    ChangeKey,
    /// Puts the entity into the bin.
    Hide,
    Panic,
}

impl Act {
    const ALL: [Self; 11] = [
        Self::Nothing,
        Self::Nothing,
        Self::Nothing,
        Self::Nothing,
        Self::Mark,
        Self::Rename,
        Self::Take,
        Self::Grow,
        Self::ChangeKey,
        Self::Hide,
        Self::Panic,
    ];

    fn apply<E: Hot>(self, task: usize, entity: &mut E) {
        entity.log().push_str(&entry(task));
        match self {
            Self::Nothing => {}
            Self::Mark => *entity.mark() += 1,
            Self::Rename => *entity.name() = format!("name of {task}"),
            Self::Take => TAKEN.clone_into(entity.name()),
            Self::Grow => entity.log().push_str(&"long".repeat(20_000)),
            Self::ChangeKey => *entity.id() += 1,
            Self::Hide => *entity.deleted() = Some(SystemTime::UNIX_EPOCH + Duration::from_hours(1)),
            Self::Panic => panic!("the test wants it"),
        }
    }
}

fn entry(task: usize) -> String {
    format!("{task};")
}

macro_rules! hot {
    (@key Simple) => { Self::key("/", 1) };
    (@key $entity:ident) => { Self::key("/", 1).with_deleted() };
    ($entity:ident $(#[$attribute:meta])* ; $(#[$index:meta])*) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        $(#[$attribute])*
        struct $entity {
            #[partition_key]
            page: String,
            #[row_key]
            id: u32,
            $(#[$index])*
            name: String,
            mark: u64,
            log: String,
            deleted: Option<SystemTime>,
        }

        impl Hot for $entity {
            fn new(id: u32, log: &str, name: &str) -> Self {
                Self { page: "/".to_owned(), id, name: name.to_owned(), mark: 0, log: log.to_owned(), deleted: None }
            }

            fn id(&mut self) -> &mut u32 {
                &mut self.id
            }

            fn log(&mut self) -> &mut String {
                &mut self.log
            }

            fn name(&mut self) -> &mut String {
                &mut self.name
            }

            fn mark(&mut self) -> &mut u64 {
                &mut self.mark
            }

            fn deleted(&mut self) -> &mut Option<SystemTime> {
                &mut self.deleted
            }

            fn modify(tables: &Tables, verb: Verb, act: Act, task: usize) -> Running<Self> {
                let change = move |entity: &mut Self| act.apply(task, entity);
                match verb {
                    Verb::Modify => tables.modify(Self::key("/", 1), change),
                    Verb::ModifyInBin => tables.modify(hot!(@key $entity), change),
                    Verb::ModifyOrInsert => {
                        let new = Self::new(1, &entry(task), "first");
                        let running = tables.modify_or_insert(&new, change);
                        Box::pin(async move { Ok(Some(running.await?)) })
                    }
                }
            }

            async fn stored(tables: &Tables) -> table_runtime::Result<Option<Stored<Self>>> {
                hot!(@key $entity).get(tables).await
            }
        }
    };
}

hot!(Simple #[table(name = "Simple")] ;);
hot!(Proved #[table(name = "Proved", write_id, soft_delete = deleted)] ;);
hot!(Indexed #[table(name = "Indexed", write_id, soft_delete = deleted)] ; #[index(name, unique, same_partition, include(mark))]);
hot!(Stepped #[table(name = "Stepped", soft_delete = deleted)] ; #[index(name, unique, include(mark))]);
hot!(Recorded #[table(name = "Recorded", events, write_id, soft_delete = deleted)] ; #[index(name, unique, same_partition, copy)]);

struct Task<E> {
    running: RandomTask<table_runtime::Result<Option<Stored<E>>>>,
    verb: Verb,
    act: Act,
}

struct Program<E> {
    random: Random,
    answers: Answers,
    store: Plain,
    /// Handles of two processes. The tasks of one take turns, and do not wait for those of the other.
    processes: [Tables; 2],
    tasks: Vec<Task<E>>,
    /// The version of the row before the tasks.
    first: Option<ETag>,
    drops: bool,
}

impl<E: Hot> Program<E> {
    async fn new(seed: u64, reach: Reach) -> Result<Self> {
        let mut random = Random::new(seed);
        let store = Plain::default().with_reach(reach);
        let tables = store.tables();
        tables.create::<E>().await?;
        tables.insert(&E::new(2, "", TAKEN)).await?;
        let first = if random.chance(80) { Some(tables.insert(&E::new(1, "", "first")).await?) } else { None };
        let (mut answers, backend) = Answers::new(&store, store.clone());
        let processes = [(); 2].map(|()| Tables::new(Arc::clone(&backend)));
        for process in &processes {
            // Only then does the handle hold leases.
            if random.chance(50) {
                drive(&answers.schedule, process.create::<E>(), async |_| Next::Grant).await??;
            }
        }
        answers.faulty = if random.chance(50) { 5 } else { 0 };
        let drops = random.chance(40);
        Ok(Self { random, answers, store, processes, tasks: Vec::new(), first, drops })
    }

    fn add_tasks(&mut self) {
        let has_others = self.random.chance(40);
        for number in 0..self.random.below(12) + 2 {
            let act = if self.random.chance(60) { Act::Nothing } else { *self.random.pick(&Act::ALL) };
            let inserts = self.random.chance(if self.first.is_some() { 20 } else { 60 });
            let verb = match self.random.below(4) {
                _ if inserts => Verb::ModifyOrInsert,
                0 => Verb::ModifyInBin,
                _ => Verb::Modify,
            };
            let process = &self.processes[usize::from(has_others && self.random.chance(25))];
            let running = RandomTask::new(&mut self.random, E::modify(process, verb, act, number));
            self.tasks.push(Task { running, verb, act });
        }
    }

    async fn run(&mut self) -> Result<()> {
        self.add_tasks();
        for _ in 0..STEPS {
            if !self.tasks.iter().any(|task| task.running.is_running()) {
                return Ok(());
            }
            if self.drops && self.random.chance(1) {
                let at = self.random.below(self.tasks.len());
                self.tasks[at].running.stop();
            } else {
                let tasks = self.tasks.iter_mut().map(|task| &mut task.running);
                self.answers.step(tasks, &mut self.random).await?;
            }
        }
        bail!("the tasks do not end")
    }

    /// Checks that each task got what it gets if the tasks run one after another, in the order of the log. Returns how many commits
    /// the rounds have saved, if that is known.
    async fn check(mut self) -> Result<usize> {
        let inserted = 1 + usize::from(self.first.is_some());
        self.answers.end(&mut self.random).await;
        let tables = self.store.tables();
        let stored = E::stored(&tables).await?;
        let log = stored.clone().map(|mut stored| stored.log().clone()).unwrap_or_default();
        let order = log.split_terminator(';').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let mut after = BTreeMap::new();
        let hides = E::INFO.layout.lifecycle.soft_delete.is_some();
        let mut now = self.first.as_ref().map(|_| E::new(1, "", "first"));
        for task in &order {
            let verb = self.tasks[*task].verb;
            if let Some(now) = &mut now {
                let is_hidden = hides && now.deleted().is_some();
                ensure!(!is_hidden || verb == Verb::ModifyInBin, "{task} changed an entity in the bin: {order:?}");
                self.tasks[*task].act.apply(*task, now);
            } else {
                ensure!(verb == Verb::ModifyOrInsert, "{task} inserted an entity");
                now = Some(E::new(1, &entry(*task), "first"));
            }
            let is_taken = E::INFO.layouts.len() > 1 && now.as_mut().is_some_and(|now| now.name() == TAKEN);
            ensure!(!is_taken, "{task} got the value of another entity: {order:?}");
            ensure!(after.insert(*task, now.clone()).is_none(), "{task} was carried out twice");
        }
        ensure!(stored.as_deref() == now.as_ref(), "stored is {stored:?}, and not {now:?}");
        let is_hidden = hides && now.as_mut().is_some_and(|now| now.deleted().is_some());
        let mut versions = BTreeSet::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let context = || format!("task {number}, {:?}: {:?}, after {order:?}", task.act, task.running.result);
            let is_done = after.contains_key(&number);
            match &task.running.result {
                Some(Ok(Some(result))) => {
                    let expected = after.get(&number).with_context(context)?;
                    ensure!(expected.as_ref() == Some(&**result), context());
                    let same = stored.as_ref().filter(|stored| Stored::etag(stored) == Stored::etag(result));
                    ensure!(same.is_none_or(|stored| **stored == **result), context());
                    versions.insert(Stored::etag(result).to_string());
                }
                Some(Ok(None)) => {
                    let may_be_absent = self.first.is_none() || is_hidden && task.verb == Verb::Modify;
                    ensure!(may_be_absent && !is_done, context());
                }
                Some(Err(error)) => self.check_error(task, error, is_done, is_hidden).with_context(context)?,
                // It was dropped.
                None if !task.running.panicked => ensure!(self.drops, context()),
                None => ensure!(!is_done && task.act == Act::Panic, context()),
            }
        }
        let mut rounds = 0;
        if self.answers.faulty == 0 && !self.drops {
            let findings = tables.verify::<E>().all().await?;
            ensure!(findings.is_empty(), "{findings:?}");
            // The last task of each round has the version that the commit has given the row.
            versions.remove(&self.first.as_ref().map(ETag::to_string).unwrap_or_default());
            rounds = versions.len();
            let events = self.events();
            ensure!(E::INFO.events.is_none() || events == inserted + rounds, "{events} events of {rounds} commits");
        }
        self.update_again(&tables, &log).await?;
        Ok(if rounds == 0 { 0 } else { order.len() - rounds })
    }

    /// Returns the number of recorded events.
    fn events(&self) -> usize {
        let mut events = 0;
        self.store.for_each_row(|_, row| events += usize::from(row.row_key.starts_with("~~event-")));
        events
    }

    fn check_error(&self, task: &Task<E>, error: &Error, is_done: bool, is_hidden: bool) -> Result<()> {
        match (error, task.act) {
            (Error::OutcomeUnknown(_), _) => ensure!(self.answers.faulty > 0),
            _ if is_done => bail!("it was carried out"),
            (Error::UniqueViolation(_), Act::Take)
            | (Error::Limit(_), Act::Grow)
            | (Error::KeyChanged(_), Act::ChangeKey) => {}
            (Error::AlreadyExists(_), _) if is_hidden => ensure!(task.verb == Verb::ModifyOrInsert),
            (Error::NoAnswer { .. } | Error::Aborted(_), _) => ensure!(self.answers.faulty > 0),
            _ => bail!("no fault has this error"),
        }
        Ok(())
    }

    /// Checks that an update of what a task got overwrites nothing.
    async fn update_again(&mut self, tables: &Tables, log: &str) -> Result<()> {
        let results = self.tasks.iter_mut().filter_map(|task| task.running.result.as_mut()?.as_mut().ok()?.as_mut());
        for result in results {
            if result.log() != log {
                let updated = tables.update(result).await;
                ensure!(matches!(updated, Err(Error::ConditionNotMet(_))), "{result:?}: {updated:?}");
            }
        }
        Ok(())
    }
}

async fn search<E: Hot>() -> Result<()> {
    let mut saved = 0;
    let seeds = seeds(500);
    for seed in seeds.clone() {
        for reach in [Reach::Partition, Reach::Store] {
            let context = || format!("seed {seed}, {reach:?}");
            let mut program = Program::<E>::new(seed, reach).await?;
            program.run().await.with_context(context)?;
            saved += program.check().await.with_context(context)?;
        }
    }
    ensure!(saved > seeds.len() / 2, "the rounds saved {saved} commits");
    Ok(())
}

#[tokio::test]
async fn tasks_get_what_single_calls_get() -> Result<()> {
    search::<Simple>().await
}

#[tokio::test]
async fn tasks_get_what_single_calls_get_with_write_ids() -> Result<()> {
    search::<Proved>().await
}

#[tokio::test]
async fn tasks_get_what_single_calls_get_with_an_index() -> Result<()> {
    search::<Indexed>().await
}

#[tokio::test]
async fn tasks_get_what_single_calls_get_in_steps() -> Result<()> {
    search::<Stepped>().await
}

#[tokio::test]
async fn tasks_get_what_single_calls_get_with_events() -> Result<()> {
    search::<Recorded>().await
}
