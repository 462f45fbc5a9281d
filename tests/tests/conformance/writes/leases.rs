//! Leases of entities that a query finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Action, IfMatch},
    row::{Properties, ValueRef},
};
use tests::{far::Far, stores::Store};
use tokio::{runtime::Handle, task::block_in_place};

use crate::{
    fixtures::findings,
    lifecycle::{at, clocked},
};

crate::conformance! {
    a_lease_takes_the_first_entities_as_they_are_stored
    a_lease_of_nothing_takes_one_request
    a_lease_may_need_several_transactions
    eight_workers_do_each_job_once
    eight_workers_do_each_job_of_other_partitions_once
    an_entity_that_cannot_be_read_does_not_block_others
    an_entity_that_cannot_be_written_does_not_block_others
    a_lease_takes_from_many_partitions
    a_lease_of_hash_partitions_is_complete
    a_lease_begins_again_if_another_writer_interferes
    a_lease_without_one_partition_returns_the_others
    a_lease_does_not_guess_after_a_lost_answer
    a_write_id_resolves_a_lost_answer
    a_lease_leaves_hidden_entities
}

/// A job of a queue.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Jobs")]
struct Job {
    #[partition_key]
    queue: u16,
    #[row_key]
    id: u32,
    #[index(due, same_partition)]
    due: SystemTime,
    text: String,
}

impl Job {
    /// Returns a job that is due so many seconds after the start.
    fn new(id: u32, due: u64) -> Self {
        Self { queue: 1, id, due: at(due), text: format!("job {id}") }
    }
}

/// A job whose writes can be proved.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Proved", write_id)]
struct Proved {
    #[partition_key]
    queue: u16,
    #[row_key]
    id: u32,
    #[index(due, same_partition)]
    due: SystemTime,
}

/// A job in the partition of its tenant.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tasks")]
#[index(due, partition(id(hash = 4)), row(due))]
struct Task {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    due: SystemTime,
}

impl Task {
    fn new(tenant: u32, id: u32, due: u64) -> Self {
        Self { tenant: format!("tenant {tenant}"), id, due: at(due) }
    }
}

/// A job in one of four partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Spread")]
struct Spread {
    #[partition_key(hash = 4)]
    #[row_key]
    id: u32,
    is_taken: bool,
}

/// A job that expires, or may be in the bin.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Hidden", expires = until, soft_delete = deleted)]
#[index(elsewhere, partition(queue), row(due))]
struct Hidden {
    #[partition_key]
    queue: u16,
    #[row_key]
    id: u32,
    #[index(due, same_partition)]
    due: SystemTime,
    until: Option<SystemTime>,
    deleted: Option<SystemTime>,
}

/// The end of each lease: no job is due again.
const LATER: u64 = 1_000_000;

async fn jobs(tables: &Tables, count: u32) -> Result<()> {
    tables.create::<Job>().await?;
    tables.insert_all((0..count).map(|id| Job::new(id, id.into()))).await?;
    Ok(())
}

/// Leases jobs that are due 1000 seconds after the start.
async fn take(tables: &Tables, count: usize) -> table_runtime::Result<Vec<Stored<Job>>> {
    Job::by_due(1).range(..at(1000)).lease(tables, count, |job| job.due = at(LATER)).await
}

fn ids(jobs: &[Stored<Job>]) -> Vec<u32> {
    jobs.iter().map(|job| job.id).collect()
}

/// Runs a write of another program while a lease runs.
fn meanwhile<T>(write: impl Future<Output = table_runtime::Result<T>>) {
    let written = block_in_place(|| Handle::current().block_on(write));
    assert!(written.is_ok(), "the other write failed");
}

async fn a_lease_takes_the_first_entities_as_they_are_stored(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 6).await?;
    store.probe.requests();
    let mut runs = BTreeMap::<u32, u32>::new();
    let change = |job: &mut Job| {
        *runs.entry(job.id).or_default() += 1;
        job.due = at(LATER);
        job.text.push_str(", taken");
    };
    let mut taken = Job::by_due(1).range(..at(1000)).lease(tables, 4, change).await?;
    assert_eq!(store.probe.requests(), 1 + 4 + 1, "the index, the entities, and a transaction");
    assert_eq!(runs, (0..4).map(|id| (id, 1)).collect());
    assert_eq!(ids(&taken), [0, 1, 2, 3]);
    for job in &taken {
        let stored = Job::key(1, job.id).get(tables).await?;
        assert_eq!(stored.as_ref(), Some(job));
        assert_eq!(**job, Job { text: format!("job {}, taken", job.id), ..Job::new(job.id, LATER) });
    }
    let due = Job::by_due(1).range(..at(1000)).all(tables).await?;
    assert_eq!(ids(&due), [4, 5]);
    // Each can be written at once.
    store.probe.requests();
    tables.delete(&taken[0]).await?;
    taken[1].text.clear();
    tables.update(&mut taken[1]).await?;
    taken[1].due = at(3);
    tables.update(&mut taken[1]).await?;
    tables.transaction().delete(&taken[2]).delete(&taken[3]).commit().await?;
    assert_eq!(store.probe.requests(), 4);
    assert_eq!(ids(&take(tables, 10).await?), [1, 4, 5]);
    // None is wanted.
    let none = Job::by_due(1).range(..at(1000)).take(0).lease(tables, 4, |_| panic!("none is wanted")).await?;
    assert!(none.is_empty());
    assert!(take(tables, 0).await?.is_empty());
    assert_eq!(findings::<Job>(store).await?, []);
    Ok(())
}

async fn a_lease_of_nothing_takes_one_request(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Job>().await?;
    tables.insert(&Job::new(1, 5000)).await?;
    store.probe.requests();
    assert!(take(tables, 32).await?.is_empty());
    assert_eq!(store.probe.requests(), 1);
    Ok(())
}

async fn a_lease_may_need_several_transactions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 80).await?;
    store.probe.requests();
    let taken = take(tables, 80).await?;
    // Each job is written with two rows of the index, and a transaction has 100 operations.
    assert_eq!(store.probe.requests(), 1 + 80 + 4);
    assert_eq!(ids(&taken), (0..80).collect::<Vec<_>>());
    assert!(take(tables, 80).await?.is_empty());
    tables.remove_all(&taken).await?;
    assert_eq!(store.rows("Jobs").await?, []);
    Ok(())
}

/// Leases jobs and deletes them until none is due. Returns the ids of those that it deleted, and of those that it could not.
async fn work(tables: Tables) -> Result<Vec<u32>> {
    let mut done = Vec::new();
    loop {
        let taken = take(&tables, 16).await?;
        if taken.is_empty() {
            return Ok(done);
        }
        for job in &taken {
            tables.delete(job).await?;
            done.push(job.id);
        }
    }
}

async fn eight_workers_do_each_job_once(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 200).await?;
    let mut done = Vec::new();
    for worker in (0..8).map(|_| tokio::spawn(work(tables.clone()))).collect::<Vec<_>>() {
        done.extend(worker.await??);
    }
    done.sort_unstable();
    assert_eq!(done, (0..200).collect::<Vec<_>>());
    assert_eq!(store.rows("Jobs").await?, []);
    Ok(())
}

/// Leases jobs of any partition until `until`, and deletes them, until none is due. Returns the ids of those that it deleted.
async fn work_elsewhere(tables: Tables, until: SystemTime) -> Result<Vec<u32>> {
    let mut done = Vec::new();
    loop {
        let taken = Task::by_due().range(..at(1000)).lease(&tables, 16, |task| task.due = until).await?;
        if taken.is_empty() {
            return Ok(done);
        }
        for mut task in taken {
            // A worker that was slower may give the job another version: it fences it when it rolls its rows back.
            while let Err(error) = tables.delete(&task).await {
                ensure!(matches!(error, Error::ConditionNotMet(_)), "{error}");
                let now = Task::key(&task.tenant, task.id).get(&tables).await?;
                task = now.filter(|now| **now == *task).context("another worker has changed it")?;
            }
            done.push(task.id);
        }
    }
}

async fn eight_workers_do_each_job_of_other_partitions_once(store: &Store) -> Result<()> {
    store.tables.create::<Task>().await?;
    store.tables.insert_all((0..100).map(|id| Task::new(id % 10, id, id.into()))).await?;
    // Requests take time, so that those of several workers alternate.
    let tables = Tables::new(Far::new(store.backend.clone()).after(Duration::from_millis(1)));
    let work = |worker| tokio::spawn(work_elsewhere(tables.clone(), at(LATER + worker)));
    let mut done = Vec::new();
    for worker in (0..8).map(work).collect::<Vec<_>>() {
        done.extend(worker.await??);
    }
    done.sort_unstable();
    assert_eq!(done, (0..100).collect::<Vec<_>>());
    assert_eq!(store.rows("Tasks").await?, []);
    assert_eq!(findings::<Task>(store).await?, []);
    Ok(())
}

/// Gives the text of a job a type that the struct does not know.
async fn damage(store: &Store, id: u32) -> Result<()> {
    let mut properties = Properties::default();
    properties.push("Text", ValueRef::Int32(7));
    let change = Action::Merge(properties, IfMatch::Any);
    Ok(store.write("Jobs", ("00001", &format!("id-{id:010}")), change).await?)
}

async fn an_entity_that_cannot_be_read_does_not_block_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 5).await?;
    for id in [0, 1, 3] {
        damage(store, id).await?;
    }
    assert_eq!(ids(&take(tables, 1).await?), [2]);
    assert_eq!(ids(&take(tables, 2).await?), [4]);
    for _ in 0..2 {
        let error = take(tables, 2).await.expect_err("the others cannot be read");
        assert!(matches!(&error, Error::Property(error) if error.property == "Text"), "{error}");
        assert_eq!(error.cursor(), None);
    }
    tables.insert(&Job::new(7, 2)).await?;
    assert_eq!(ids(&take(tables, 2).await?), [7]);
    Ok(())
}

async fn an_entity_that_cannot_be_written_does_not_block_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 6).await?;
    // A text that is too long, and a time that no key can hold.
    let lengthen = |job: &mut Job| match job.id {
        1 => job.text = "x".repeat(40_000),
        _ => job.due = at(LATER),
    };
    let taken = Job::by_due(1).range(..at(1000)).lease(tables, 4, lengthen).await?;
    assert_eq!(ids(&taken), [0, 2, 3]);
    let postpone = |job: &mut Job| match job.id {
        1 => job.due = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 366 * 9000),
        _ => job.due = at(LATER),
    };
    let taken = Job::by_due(1).range(..at(1000)).lease(tables, 4, postpone).await?;
    assert_eq!(ids(&taken), [4, 5]);
    for change in [lengthen as fn(&mut Job), postpone] {
        let alone = Job::by_due(1).range(..at(1000)).lease(tables, 4, change).await;
        assert!(matches!(alone, Err(Error::Limit(_) | Error::Property(_))), "{alone:?}");
    }
    assert_eq!(ids(&take(tables, 4).await?), [1]);
    Ok(())
}

async fn a_lease_takes_from_many_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Task>().await?;
    tables.insert_all((0..12).map(|id| Task::new(id % 3, id, id.into()))).await?;
    let mut taken = Task::by_due().range(..at(1000)).lease(tables, 8, |task| task.due = at(LATER)).await?;
    let taken_ids: BTreeSet<_> = taken.iter().map(|task| task.id).collect();
    assert_eq!(taken_ids, (0..8).collect());
    for task in &taken {
        assert_eq!(Task::key(&task.tenant, task.id).get(tables).await?.as_ref(), Some(task));
    }
    taken[0].due = at(1);
    tables.update(&mut taken[0]).await?;
    for task in &taken[1..] {
        tables.delete(task).await?;
    }
    let left = Task::by_due().range(..at(1000)).all(tables).await?;
    assert_eq!(left.iter().map(|task| task.id).collect::<Vec<_>>(), [vec![taken[0].id], (8..12).collect()].concat());
    assert_eq!(findings::<Task>(store).await?, []);
    Ok(())
}

async fn a_lease_of_hash_partitions_is_complete(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Task>().await?;
    tables.create::<Spread>().await?;
    tables.insert_all((0..40).map(|id| Task::new(id % 3, id, id.into()))).await?;
    tables.insert_all((0..40).map(|id| Spread { id, is_taken: false })).await?;
    let (mut tasks, mut spread) = (Vec::new(), Vec::new());
    for number in 0..4 {
        let query = || Task::by_due().hash_partition(number).range(..at(1000));
        loop {
            let taken = query().lease(tables, 4, |task| task.due = at(LATER)).await?;
            if taken.is_empty() {
                break;
            }
            tasks.extend(taken.iter().map(|task| task.id));
        }
        let query = Spread::by_key().hash_partition(number).filter(|spread| spread.is_taken.eq(false));
        loop {
            let taken = query.clone().lease(tables, 4, |spread| spread.is_taken = true).await?;
            if taken.is_empty() {
                break;
            }
            assert!(taken.is_sorted_by(|left, right| left.id < right.id));
            spread.extend(taken.iter().map(|spread| spread.id));
        }
    }
    for mut ids in [tasks, spread] {
        ids.sort_unstable();
        assert_eq!(ids, (0..40).collect::<Vec<_>>());
    }
    store.probe.requests();
    let refused = Task::by_due().hash_partition(4).lease(tables, 4, |_| panic!("there is none")).await;
    assert!(matches!(refused, Err(Error::Query(_))), "{refused:?}");
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_lease_begins_again_if_another_writer_interferes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    for (round, count) in [3, 4, 100].into_iter().enumerate() {
        let (queue, other) = (u16::try_from(round)?, store.again());
        let job = |id| Job { queue, ..Job::new(id, u64::from(id)) };
        tables.create::<Job>().await?;
        tables.insert_all((0..5).map(job)).await?;
        let mut is_first = true;
        let mut change = |taken: &mut Job| {
            if std::mem::take(&mut is_first) {
                meanwhile(other.upsert(&Job { text: "changed".into(), ..job(1) }));
            }
            taken.due = at(LATER);
        };
        let due = || Job::by_due(queue).range(..at(1000));
        let mut taken = due().lease(tables, count, &mut change).await?;
        assert!((1..=count).contains(&taken.len()), "{}", taken.len());
        while taken.len() < 5 {
            let more = due().lease(tables, count, &mut change).await?;
            ensure!(!more.is_empty(), "one is lost");
            taken.extend(more);
        }
        taken.sort_unstable_by_key(|job| job.id);
        assert_eq!(ids(&taken), [0, 1, 2, 3, 4]);
        assert_eq!(taken[1].text, "changed");
        assert_eq!(due().count(tables).await?, 0);
        for job in taken {
            tables.delete(&job).await?;
        }
    }
    // It was deleted.
    let (mut is_first, other) = (true, store.again());
    jobs(tables, 2).await?;
    let change = |job: &mut Job| {
        if std::mem::take(&mut is_first) {
            meanwhile(other.remove(Job::key(1, 0)));
        }
        job.due = at(LATER);
    };
    let taken = Job::by_due(1).range(..at(1000)).lease(tables, 5, change).await?;
    assert_eq!(ids(&taken), [1]);
    assert_eq!(findings::<Job>(store).await?, []);
    Ok(())
}

async fn a_lease_without_one_partition_returns_the_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Task>().await?;
    tables.insert_all((0..6).map(|id| Task::new(id % 3, id, id.into()))).await?;
    let (mut runs, other) = (0, store.again());
    let change = |task: &mut Task| {
        runs += 1;
        if runs == 1 {
            meanwhile(other.upsert(&Task::new(1, 4, 500)));
        }
        task.due = at(LATER);
    };
    let due = || Task::by_due().range(..at(1000));
    let taken = due().lease(tables, 10, change).await?;
    assert_eq!(runs, 6);
    let ids: BTreeSet<_> = taken.iter().map(|task| task.id).collect();
    assert_eq!(ids, [0, 2, 3, 5].into());
    let left = due().lease(tables, 10, |task| task.due = at(LATER)).await?;
    assert_eq!(left.iter().map(|task| task.id).collect::<Vec<_>>(), [1, 4]);
    for task in taken.iter().chain(&left) {
        tables.delete(task).await?;
    }
    assert_eq!(findings::<Task>(store).await?, []);
    Ok(())
}

async fn a_lease_does_not_guess_after_a_lost_answer(store: &Store) -> Result<()> {
    let tables = &store.tables;
    jobs(tables, 4).await?;
    store.probe.lose();
    let lost = take(tables, 2).await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
    store.probe.apply_and_lose();
    let lost = take(tables, 2).await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
    // Nobody has the first ones.
    assert_eq!(ids(&take(tables, 4).await?), [2, 3]);
    Ok(())
}

async fn a_write_id_resolves_a_lost_answer(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Proved>().await?;
    tables.insert_all((0..4).map(|id| Proved { queue: 1, id, due: at(id.into()) })).await?;
    store.probe.apply_and_lose();
    let taken = Proved::by_due(1).range(..at(1000)).lease(tables, 3, |job| job.due = at(LATER)).await?;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), [0, 1, 2]);
    for job in &taken {
        assert_eq!(Proved::key(1, job.id).get(tables).await?.as_ref(), Some(job));
        tables.delete(job).await?;
    }
    assert_eq!(findings::<Proved>(store).await?, []);
    Ok(())
}

async fn a_lease_leaves_hidden_entities(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Hidden>().await?;
    let hidden = |id, until: Option<u64>| Hidden { queue: 1, id, due: at(1), until: until.map(at), deleted: None };
    let untils = [Some(20), None, Some(5), None, Some(30)];
    tables.insert_all(untils.into_iter().zip(0..).map(|(until, id)| hidden(id, until))).await?;
    time.set(at(10));
    tables.soft_delete(Hidden::key(1, 1)).await?;
    let due = || Hidden::by_due(1).range(..at(10));
    // Before the commit, the first one expires, and the fourth one is put into the bin.
    let (mut is_first, other) = (true, tables.clone());
    let change = |job: &mut Hidden| {
        if std::mem::take(&mut is_first) {
            time.set(at(25));
            meanwhile(other.soft_delete(Hidden::key(1, 3)));
        }
        job.due = at(LATER);
    };
    let taken = due().lease(&tables, 10, change).await?;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), [4]);
    assert!(due().lease(&tables, 10, |_| panic!("all are hidden")).await?.is_empty());
    let elsewhere = || Hidden::by_elsewhere(1).range(..at(10));
    assert!(elsewhere().lease(&tables, 10, |_| panic!("all are hidden")).await?.is_empty());
    let binned = elsewhere().only_deleted().lease(&tables, 10, |job| job.due = at(LATER)).await?;
    assert_eq!(binned.iter().map(|job| job.id).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(findings::<Hidden>(store).await?, []);
    Ok(())
}
