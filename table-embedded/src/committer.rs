//! The single thread that writes.
//!
//! The thread drains the queue into one transaction of `redb`. It validates each writer's transaction as a whole, against
//! the state that those before it left, and only then applies it. Transactions on different rows are [carried out
//! together](super::disjoint). One durable commit follows. The thread then publishes
//! the new snapshot, and answers the writers last, so that each writer reads what it wrote. While the disk is busy, the
//! next writers queue up and share the next commit.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use redb::{CommitError, Database, TableDefinition, WriteTransaction};
use table_store::{Result, Ticks};

use super::{
    disjoint::{self, Disjoint, OpenTables},
    failure::{Reason, StoreError, StoreFailure, engine},
    prepared::Prepared,
    snapshot::{Names, Published, Snapshot, rows},
};

/// The store's own table, whose name no table of rows can have.
pub(super) const STORE: TableDefinition<'_, &str, u64> = TableDefinition::new("$store");
/// Key of the row in [`STORE`] with the format of the file.
pub(super) const FORMAT: &str = "format";
/// Key of the row in [`STORE`] with a time stamp in ticks: none that was assigned is later.
pub(super) const LAST: &str = "last";

/// Target of spans and events. It begins with the name of the crate that programs use and filter for.
const TARGET: &str = "table_runtime::backend::embedded::committer";

/// Number of operations after which a commit leaves the remaining requests to the next one, so that no writer waits too
/// long.
const OPERATIONS: usize = 20_000;

/// Number of ticks, a second, by which [`LAST`] runs ahead of the clock, so that few commits write it. After a crash, the first time
/// stamps may be ahead of the clock by so much; when the store is closed, the last one is recorded.
const RESERVED: u64 = 10_000_000;
/// Time for which the committer, without blocking its thread, waits for the writers that it has just answered: they often
/// write again at once. One that is queued in this time needs no wake-up, and shares the commit of the others.
const BRIEFLY: Duration = Duration::from_micros(30);
/// Longest time for which a request waits in this way, if others arrive all the time.
const LONGEST: Duration = Duration::from_micros(300);

/// The work that a writer requests.
#[derive(Debug)]
pub(super) enum Task {
    /// A transaction, by table.
    Write(Vec<Prepared>),
    CreateTable(String),
    DeleteTable(String),
}

/// The result of a task.
#[derive(Debug)]
pub(super) enum TaskDone {
    /// The rows were written, with this time stamp.
    Written(Ticks),
    /// The table was created or deleted; `false` if there was nothing to do, because it existed already or did not
    /// exist.
    Table(bool),
}

pub(super) type TaskResult = Result<TaskDone, StoreFailure>;

#[derive(Debug)]
struct QueuedTask {
    task: Task,
    answer: oneshot::Sender<(TaskResult, Task)>,
}

/// A handle of the committer. Dropping it lets the committer complete the queued tasks, and waits until the committer
/// has closed the database.
pub(super) struct Committer {
    /// `None` once the handle is being dropped.
    queue: Option<Sender<QueuedTask>>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread, which owns the database from then on.
    pub(super) fn start(database: Database) -> Result<(Self, Arc<Published>)> {
        let state = CommitterState::read(database)?;
        let published = Arc::clone(&state.published);
        let (queue, requests) = channel();
        let thread = thread::Builder::new()
            .name("table-runtime committer".to_owned())
            .spawn(move || state.run(&requests))
            .map_err(|error| table_store::Error::Store(Box::new(error)))?;
        Ok((Self { queue: Some(queue), thread: Some(thread) }, published))
    }

    /// Queues the task and returns its answer. Once the future has been polled, the task is done even if nobody waits
    /// for it.
    pub(super) async fn ask(&self, task: Task) -> Result<TaskResult> {
        let (answer, answered) = oneshot::channel();
        let queued = self.queue.as_ref().is_some_and(|queue| queue.send(QueuedTask { task, answer }).is_ok());
        if !queued {
            return Err(StoreError::Stopped.into());
        }
        // The committer answers every request. If it could not, it may already have begun the commit.
        let lost = |_| Err(StoreFailure::Unknown(redb::Error::DatabaseClosed.into()));
        // The task comes back, so that its memory is freed by the thread that allocated it: then the committer does not
        // contend with its writers for memory.
        Ok(answered.await.map_or_else(lost, |(answer, _)| answer))
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return };
        // A waker may drop the last handle on the committer's own thread, which cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            // If the committer panicked, its writers already have an error.
            let _ = thread.join();
        }
    }
}

/// State that the committer's thread owns. The order of the fields matters: the readers' snapshots must end before the
/// database is closed.
struct CommitterState {
    published: Arc<Published>,
    names: Arc<Names>,
    /// Last time stamp that was assigned.
    last: u64,
    /// Time stamp in the file: that of no row is later.
    reserved: u64,
    /// True if a commit has begun and may have reached the disk.
    committing: bool,
    database: Database,
}

impl Drop for CommitterState {
    fn drop(&mut self) {
        if self.reserved != self.last && self.published.failure().is_none() {
            // If it fails, the time stamps of the next run begin later.
            let _ = engine(|| self.record_last());
        }
        self.published.close();
    }
}

impl CommitterState {
    fn read(database: Database) -> Result<Self> {
        let state = || -> Result<_, redb::Error> {
            let transaction = redb::ReadableDatabase::begin_read(&database)?;
            let last = transaction.open_table(STORE)?.get(LAST)?.map_or(0, |last| last.value());
            let names = Arc::new(Names::read(&transaction)?);
            let snapshot = Snapshot::new(&database, Arc::clone(&names))?;
            Ok((Arc::new(Published::new(snapshot)), names, last))
        };
        let (published, names, last) = state().map_err(super::failure::store)?;
        Ok(Self { published, names, last, reserved: last, committing: false, database })
    }

    fn record_last(&self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(STORE)?.insert(LAST, self.last)?;
        transaction.commit()?;
        Ok(())
    }

    fn run(mut self, requests: &Receiver<QueuedTask>) {
        let mut answered = 0;
        while let Some(batch) = next_batch(requests, answered) {
            answered = batch.len();
            self.commit(batch);
        }
    }

    /// Carries out a batch of requests in one transaction and answers them.
    fn commit(&mut self, batch: Vec<QueuedTask>) {
        let (mut tasks, senders): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.task, waiting.answer)).unzip();
        let done = match self.published.failure() {
            Some(reason) => Err(Stop::Before(reason)),
            None => engine(|| self.try_commit(&mut tasks)).unwrap_or_else(|reason| {
                self.published.publish(Err(reason.clone()));
                Err(if std::mem::take(&mut self.committing) { Stop::Within(reason) } else { Stop::Before(reason) })
            }),
        };
        let answers = match done {
            Ok(answers) => answers,
            Err(failure) => {
                let (reason, failure): (Reason, fn(Reason) -> StoreFailure) = match failure {
                    Stop::Before(reason) => (reason, StoreFailure::Failed),
                    Stop::Within(reason) => {
                        // The content of the disk is unknown until the store is opened again, so readers must not see a
                        // snapshot.
                        self.published.publish(Err(reason.clone()));
                        (reason, StoreFailure::Unknown)
                    }
                };
                tracing::error!(target: TARGET, %reason, groups = tasks.len(), "the embedded store could not commit");
                senders.iter().map(|_| Err(failure(reason.clone()))).collect()
            }
        };
        for ((sender, answer), task) in senders.into_iter().zip(answers).zip(tasks) {
            // A writer that stopped waiting needs no answer. Sending wakes the writer's task. The waker is the writer's
            // own code and may panic, which must not end all writes.
            if engine(|| drop(sender.send((answer, task)))).is_err() {
                tracing::error!(target: TARGET, "the waker of a task that writes to the embedded store panicked");
            }
        }
    }

    fn try_commit(&mut self, tasks: &mut [Task]) -> Result<Vec<TaskResult>, Stop> {
        let transaction = self.database.begin_write().map_err(Stop::before)?;
        let (last, reserved) = (self.last, self.reserved);
        let mut batch = TaskBatch { names: Arc::clone(&self.names), last, reserved, changed: false };
        // If there is an error, the transaction is dropped here, which aborts it.
        let answers = batch.apply(&transaction, tasks).map_err(Stop::before)?;
        self.last = batch.last;
        if !batch.changed {
            transaction.abort().map_err(Stop::before)?;
            return Ok(answers);
        }
        self.committing = true;
        let committed = transaction.commit();
        self.committing = false;
        committed.map_err(|error| match error {
            CommitError::TransactionPoisoned => Stop::before(error),
            error => Stop::Within(error.into()),
        })?;
        (self.names, self.reserved) = (batch.names, batch.reserved);
        let snapshot = Snapshot::new(&self.database, Arc::clone(&self.names));
        self.published.publish(snapshot.map_err(Reason::from));
        self.published
            .shared
            .committed(tasks.iter().filter_map(Task::as_write).flatten().map(|written| &*written.table));
        Ok(answers)
    }
}

/// Waits for the requests of the next commit; `None` if there are no more writers. The commit before has answered so many
/// writers.
fn next_batch(requests: &Receiver<QueuedTask>, answered: usize) -> Option<Vec<QueuedTask>> {
    let (mut batch, mut operations) = (Vec::new(), 0);
    // While the commit before ran, other writers have queued up. Those that it answered may follow.
    let (mut expected, mut is_draining) = (answered, true);
    let mut begun = Instant::now();
    let mut first = None;
    while operations < OPERATIONS {
        let request = match requests.try_recv() {
            Ok(request) => request,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                is_draining = false;
                let is_over =
                    begun.elapsed() > BRIEFLY || first.is_some_and(|first: Instant| first.elapsed() > LONGEST);
                if batch.is_empty() && is_over {
                    expected = 0;
                    requests.recv().ok()?
                } else if !batch.is_empty() && (is_over || batch.len() >= expected) {
                    break;
                } else {
                    thread::yield_now();
                    continue;
                }
            }
        };
        expected += usize::from(is_draining);
        operations += request.task.operations();
        batch.push(request);
        begun = Instant::now();
        first.get_or_insert(begun);
    }
    Some(batch).filter(|batch| !batch.is_empty())
}

/// A failure before the commit, which did not happen, or within the commit, which may have happened.
enum Stop {
    Before(Reason),
    Within(Reason),
}

impl Stop {
    fn before(error: impl Into<redb::Error>) -> Self {
        Self::Before(error.into().into())
    }
}

impl Task {
    /// Returns the transaction; `None` if the task is another one.
    fn as_write(&self) -> Option<&[Prepared]> {
        if let Self::Write(tables) = self { Some(tables) } else { None }
    }

    fn as_write_mut(&mut self) -> Option<&mut [Prepared]> {
        if let Self::Write(tables) = self { Some(tables) } else { None }
    }

    fn operations(&self) -> usize {
        match self {
            Self::Write(tables) => tables.iter().map(Prepared::len).sum(),
            Self::CreateTable(_) | Self::DeleteTable(_) => 1,
        }
    }
}

/// Changes of a transaction so far.
struct TaskBatch {
    names: Arc<Names>,
    last: u64,
    reserved: u64,
    changed: bool,
}

impl TaskBatch {
    /// Carries out each task in turn. Returns an error only if it was not caused by a single task.
    fn apply(&mut self, transaction: &WriteTransaction, tasks: &mut [Task]) -> Result<Vec<TaskResult>, redb::Error> {
        let mut opened = OpenTables::new();
        let mut answers = Vec::with_capacity(tasks.len());
        let mut rest = tasks;
        while let Some(task) = rest.first_mut() {
            match task {
                Task::Write(_) => {
                    let count = disjoint::count(rest.iter().map_while(Task::as_write));
                    let (together, others) = rest.split_at_mut(count);
                    self.write(transaction, &mut opened, together, &mut answers)?;
                    rest = others;
                    continue;
                }
                Task::CreateTable(table) => {
                    let new = Arc::make_mut(&mut self.names).insert(table);
                    if new {
                        transaction.open_table(rows(table))?;
                        self.changed = true;
                    }
                    answers.push(Ok(TaskDone::Table(new)));
                }
                Task::DeleteTable(table) => {
                    let name = Arc::make_mut(&mut self.names).remove(table);
                    if let Some(name) = &name {
                        // `redb` does not delete a table that is open.
                        opened.remove(&**name);
                        transaction.delete_table(rows(name))?;
                        self.changed = true;
                    }
                    answers.push(Ok(TaskDone::Table(name.is_some())));
                }
            }
            rest = &mut rest[1..];
        }
        drop(opened);
        if self.last > self.reserved {
            // Time stamps that are ahead of the clock reserve none, so that a store that is never closed does not run further
            // ahead each time that it is opened.
            self.reserved = self.last.max((Ticks::now().get() + RESERVED).min(Ticks::MAX.get()));
            transaction.open_table(STORE)?.insert(LAST, self.reserved)?;
        }
        Ok(answers)
    }

    /// Carries out transactions of which no two concern the same row.
    fn write<'t>(
        &mut self,
        transaction: &'t WriteTransaction,
        opened: &mut OpenTables<'t>,
        tasks: &mut [Task],
        answers: &mut Vec<TaskResult>,
    ) -> Result<(), redb::Error> {
        let mut disjoint = Disjoint::new(tasks.iter_mut().filter_map(Task::as_write_mut).collect(), &self.names);
        disjoint.validate(transaction, opened)?;
        let now = Ticks::now().get();
        let next = || {
            // Each time stamp is later than all before it, even if the clock goes back, so that no two writes of a row
            // share an ETag.
            let ticks = now.max(self.last + 1);
            let past = || redb::Error::Corrupted("the last time stamp is past the year 9999".into());
            let timestamp = Ticks::new(ticks).ok_or_else(|| StoreFailure::Failed(past().into()))?;
            self.last = ticks;
            self.changed = true;
            Ok(timestamp)
        };
        let written = disjoint.apply(opened, next)?;
        answers.extend(written.into_iter().map(|written| written.map(TaskDone::Written)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use redb::ReadableTable as _;
    use table_store::{
        ETag, Properties, ValueRef,
        backend::{Action, Group, IfMatch, Operation},
    };

    use super::{
        super::{store_key, stored_value::StoredValue},
        *,
    };

    fn new_state() -> CommitterState {
        let memory = redb::backends::InMemoryBackend::new();
        let database = redb::Builder::new().create_with_backend(memory).expect("memory");
        super::super::file::initialize(&database).expect("a store");
        CommitterState::read(database).expect("the store")
    }

    fn write(row_key: &str, action: Action) -> Task {
        Task::Write(Prepared::of(&[Group {
            table: "posts".into(),
            partition_key: String::new(),
            operations: vec![Operation { row_key: row_key.to_owned(), action }],
        }]))
    }

    /// Returns one word for each kind of answer.
    fn word(answer: &TaskResult) -> &'static str {
        match answer {
            Ok(TaskDone::Written(_)) => "written",
            Ok(TaskDone::Table(true)) => "changed",
            Ok(TaskDone::Table(false)) => "unchanged",
            Err(StoreFailure::NoTable { .. }) => "no table",
            Err(StoreFailure::Refused { .. }) => "refused",
            Err(StoreFailure::Failed(_)) => "failed",
            Err(StoreFailure::Unknown(_)) => "unknown",
        }
    }

    #[test]
    fn each_task_of_a_commit_sees_the_tasks_before_it() {
        let mut state = new_state();
        let row = || Properties::default();
        let mut tasks = [
            write("1", Action::Insert(row())),
            Task::CreateTable("Posts".to_owned()),
            Task::CreateTable("POSTS".to_owned()),
            write("1", Action::Insert(row())),
            write("1", Action::Insert(row())),
            write("1", Action::Delete(IfMatch::Any)),
            write("1", Action::Merge(row(), IfMatch::Any)),
            write("1", Action::Insert(row())),
            Task::DeleteTable("posts".to_owned()),
            write("2", Action::Upsert(row())),
            Task::CreateTable("pOSTS".to_owned()),
            write("1", Action::Insert(row())),
        ];
        let answers = state.try_commit(&mut tasks).unwrap_or_default();
        let expected = [
            "no table",
            "changed",
            "unchanged",
            "written",
            "refused",
            "written",
            "refused",
            "written",
            "changed",
            "no table",
            "changed",
            "written",
        ];
        assert_eq!(answers.iter().map(word).collect::<Vec<_>>(), expected);
        let times: Vec<_> = answers
            .iter()
            .filter_map(|answer| if let Ok(TaskDone::Written(at)) = answer { Some(at) } else { None })
            .collect();
        assert!(times.is_sorted_by(|left, right| left < right));
        let snapshot = state.published.take().expect("a snapshot");
        assert_eq!(snapshot.names().beginning_with(""), ["pOSTS"]);

        // If there is nothing to write, nothing is committed.
        let answers = state.try_commit(&mut [write("1", Action::Insert(row()))]).unwrap_or_default();
        assert_eq!(answers.iter().map(word).collect::<Vec<_>>(), ["refused"]);
        assert!(Arc::ptr_eq(&snapshot, &state.published.take().expect("the same snapshot")));
    }

    #[test]
    fn no_time_stamp_is_later_than_the_recorded_one() {
        let mut state = new_state();
        let recorded = |state: &CommitterState| {
            let transaction = redb::ReadableDatabase::begin_read(&state.database).expect("a transaction");
            let store = transaction.open_table(STORE).expect("the table");
            store.get(LAST).expect("the row").expect("a time stamp").value()
        };
        let stamp = |answers: Vec<TaskResult>| match answers.as_slice() {
            [.., Ok(TaskDone::Written(at))] => at.get(),
            other => panic!("{other:?}"),
        };
        let write = |state: &mut CommitterState, row_key: &str| {
            let mut tasks =
                [Task::CreateTable("Posts".to_owned()), write(row_key, Action::Insert(Properties::default()))];
            stamp(state.try_commit(&mut tasks).unwrap_or_default())
        };
        let first = write(&mut state, "1");
        let ahead = recorded(&state);
        assert!(ahead >= first + RESERVED);
        // The record holds for the next commits, which do not write it.
        assert!(write(&mut state, "2") < ahead);
        assert_eq!(recorded(&state), ahead);
        // A time stamp that reaches it moves it on.
        state.last = ahead;
        assert_eq!(write(&mut state, "3"), ahead + 1);
        assert!(recorded(&state) > ahead);
        // Time stamps that are far ahead of the clock do not run further ahead.
        let far = ahead + 10 * RESERVED;
        state.last = far;
        assert_eq!(write(&mut state, "4"), far + 1);
        assert_eq!(recorded(&state), far + 1);
        assert_eq!(write(&mut state, "5"), far + 2);
        assert_eq!(recorded(&state), far + 2);
        // A store that is closed records the last time stamp.
        (state.last, state.reserved) = (first, ahead);
        state.record_last().expect("a commit");
        assert_eq!(recorded(&state), first);
    }

    /// A row of one of two tables: the number of the table, of the partition and of the row.
    type Place = (u8, u8, u8);

    /// A task, in a form that can be made twice.
    #[derive(Clone, Debug)]
    enum Given {
        Write(BTreeMap<Place, (u8, i32)>),
        CreateTable(u8),
        DeleteTable(u8),
    }

    fn given() -> impl Strategy<Value = Given> {
        let operation = ((0..2_u8, 0..2_u8, 0..6_u8), (0..6_u8, any::<i32>()));
        prop_oneof![
            12 => prop::collection::btree_map(operation.0, operation.1, 1..4).prop_map(Given::Write),
            1 => (0..2_u8).prop_map(Given::CreateTable),
            1 => (0..2_u8).prop_map(Given::DeleteTable),
        ]
    }

    fn table(number: u8) -> String {
        format!("table{number}")
    }

    fn task(given: &Given) -> Task {
        let operations = match given {
            Given::Write(operations) => operations,
            Given::CreateTable(number) => return Task::CreateTable(table(*number)),
            Given::DeleteTable(number) => return Task::DeleteTable(table(*number).to_uppercase()),
        };
        let groups: Vec<_> = operations
            .iter()
            .map(|((number, partition, row), (kind, value))| {
                let mut properties = Properties::default();
                properties.push(if value % 2 == 0 { "Even" } else { "Odd" }, ValueRef::Int32(*value));
                let action = match kind {
                    0 => Action::Insert(properties),
                    1 => Action::Upsert(properties),
                    2 => Action::Replace(properties, IfMatch::Any),
                    3 => Action::Merge(properties, IfMatch::Any),
                    4 => Action::Delete(IfMatch::ETag(ETag::from(Ticks::UNIX_EPOCH))),
                    _ => Action::Delete(IfMatch::Any),
                };
                let operation = Operation { row_key: row.to_string(), action };
                Group {
                    table: table(*number).into(),
                    partition_key: partition.to_string(),
                    operations: vec![operation],
                }
            })
            .collect();
        Task::Write(Prepared::of(&groups))
    }

    /// The time stamp and the properties of each row, by table and keys.
    type Rows = BTreeMap<(String, String, String), (Ticks, Properties)>;

    fn all_rows(state: &CommitterState) -> Rows {
        let snapshot = state.published.take().expect("a snapshot");
        let mut all = Rows::new();
        for table in snapshot.names().beginning_with("") {
            for row in snapshot.rows(&table).expect("a table").iter().expect("its rows") {
                let (key, value) = row.expect("a row");
                let (partition_key, row_key) = store_key::decode(key.value()).expect("a key");
                let stored = StoredValue::read(key.value(), value.value()).expect("a value");
                let properties = stored.properties().expect("properties").to_properties();
                let keys = (table.clone(), partition_key.into_owned(), row_key.into_owned());
                all.insert(keys, (stored.timestamp, properties));
            }
        }
        all
    }

    fn without_times(rows: Rows) -> Vec<((String, String, String), Properties)> {
        rows.into_iter().map(|(keys, (_, properties))| (keys, properties)).collect()
    }

    depth::laws! {
        256;

        fn tasks_of_one_commit_have_the_outcome_of_one_commit_each(
            given in prop::collection::vec(given(), 1..24),
        ) {
            let (mut together, mut alone) = (new_state(), new_state());
            for state in [&mut together, &mut alone] {
                prop_assert!(state.try_commit(&mut [Task::CreateTable(table(0)), Task::CreateTable(table(1))]).is_ok());
            }
            let mut tasks: Vec<_> = given.iter().map(task).collect();
            let answers = together.try_commit(&mut tasks).unwrap_or_default();
            let each = given.iter().flat_map(|given| alone.try_commit(&mut [task(given)]).unwrap_or_default());
            let outcome = |answer: &TaskResult| match answer {
                Err(StoreFailure::Refused { at, why }) => format!("operation {at}: {why:?}"),
                Err(StoreFailure::NoTable { at }) => format!("no table at {at}"),
                other => word(other).to_owned(),
            };
            prop_assert_eq!(
                answers.iter().map(outcome).collect::<Vec<_>>(),
                each.map(|answer| outcome(&answer)).collect::<Vec<_>>()
            );
            let times: Vec<_> = answers.iter().map(|answer| if let Ok(TaskDone::Written(at)) = answer { Some(*at) } else { None }).collect();
            prop_assert!(times.iter().flatten().is_sorted_by(|left, right| left < right));
            let rows = all_rows(&together);
            for ((table_name, partition_key, row_key), (timestamp, _)) in &rows {
                // The row has the time stamp of the last transaction that wrote it.
                let writes = |given: &Given| match given {
                    Given::Write(operations) => operations.iter().any(|((number, partition, row), _)| {
                        (table(*number), partition.to_string(), row.to_string())
                            == (table_name.clone(), partition_key.clone(), row_key.clone())
                    }),
                    _ => false,
                };
                let last = given.iter().zip(&times).rev().find_map(|(given, time)| time.filter(|_| writes(given)));
                prop_assert_eq!(Some(*timestamp), last);
            }
            prop_assert_eq!(without_times(rows), without_times(all_rows(&alone)));
        }
    }
}
