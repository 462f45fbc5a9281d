//! Turns and rounds of the tasks that modify one row: what ends them, and what does not wait for them.

use std::{task::Poll, time::Duration};

use anyhow::{Context, Result};
use futures_util::{
    FutureExt,
    future::{join, join_all, join3},
    poll,
};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Backend, BoxFuture},
    testing::{Answer, Fault, Faulty, Observer, Request, Schedule, Scheduled, Waiting},
};
use tests::plain::Plain;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visits")]
struct Visits {
    #[partition_key]
    #[row_key]
    page: String,
    count: u32,
}

/// Another struct of the same rows.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visits")]
struct OtherVisits {
    #[partition_key]
    #[row_key]
    page: String,
    count: u32,
}

/// Returns a store with a row.
async fn store() -> Result<Plain> {
    let store = Plain::default();
    store.tables().create::<Visits>().await?;
    store.tables().insert(&Visits { page: "/".to_owned(), count: 0 }).await?;
    Ok(store)
}

/// Returns a handle with a row, and the schedule of its requests.
async fn visits() -> Result<(Tables, Schedule)> {
    let (backend, schedule) = Scheduled::new(store().await?);
    Ok((Tables::new(backend), schedule))
}

/// Grants the only request that is no sleep.
fn grant_one(schedule: &Schedule) {
    let is_request = |waiting: &Waiting| !waiting.is_granted && !matches!(*waiting.request, Request::Sleep(_));
    let waiting = schedule.waiting();
    let requests: Vec<_> = (0..waiting.len()).filter(|at| is_request(&waiting[*at])).collect();
    assert_eq!(requests.len(), 1, "{waiting:?}");
    schedule.grant(requests[0]);
}

/// Begins the tasks of a round of `count` tasks, in order, and carries out its read.
fn begin(tables: &Tables, schedule: &Schedule, count: usize) -> Vec<Adding> {
    let mut tasks: Vec<_> = (0..count).map(|_| tables.modify(Visits::key("/"), |visits| visits.count += 1)).collect();
    for task in &mut tasks {
        assert!(task.now_or_never().is_none());
    }
    grant_one(schedule);
    tasks
}

/// Runs the future to its end, and returns the number of its requests besides sleeps. There is one at a time.
async fn run_counted<T>(schedule: &Schedule, mut running: impl Future<Output = T> + Unpin) -> (T, usize) {
    let mut requests = 0;
    loop {
        if let Poll::Ready(done) = poll!(&mut running) {
            return (done, requests);
        }
        let waiting = schedule.waiting();
        let is_request = |waiting: &Waiting| !waiting.is_granted && !matches!(*waiting.request, Request::Sleep(_));
        if let Some(at) = waiting.iter().position(is_request) {
            schedule.grant(at);
            requests += 1;
        }
    }
}

fn count(visits: table_runtime::Result<Option<Stored<Visits>>>) -> Option<u32> {
    visits.ok().flatten().map(|visits| visits.count)
}

type Adding = BoxFuture<'static, table_runtime::Result<Option<Stored<Visits>>>>;

/// Runs the future to its end. Its requests are granted as they come, those of sleeps only if `time_passes`.
async fn run<T>(schedule: &Schedule, mut running: impl Future<Output = T> + Unpin, time_passes: bool) -> T {
    let mut idle = 0;
    loop {
        if let Poll::Ready(done) = poll!(&mut running) {
            return done;
        }
        let waiting = schedule.waiting();
        let is_sleep = |waiting: &Waiting| matches!(*waiting.request, Request::Sleep(_));
        let next = |sleeps| waiting.iter().rposition(|waiting| !waiting.is_granted && is_sleep(waiting) == sleeps);
        match next(false).or_else(|| next(true).filter(|_| time_passes)) {
            Some(at) => drop(schedule.grant(at)),
            None => idle += 1,
        }
        assert!(idle < 10, "nothing goes on");
    }
}

#[tokio::test]
async fn a_turn_is_handed_on_by_its_end_and_by_its_drop() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let add = || tables.modify(Visits::key("/"), |visits| visits.count += 1);
    let (mut first, mut second, mut third) = (add(), add(), add());
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
    let reads = schedule.waiting().iter().filter(|waiting| !matches!(*waiting.request, Request::Sleep(_))).count();
    assert_eq!(reads, 1, "the others wait for their turns");
    drop(first);
    let both = run(&schedule, Box::pin(join(second, third)), false).await;
    let counts = [both.0?, both.1?].map(|visits| visits.map(|visits| visits.count));
    assert_eq!(counts, [Some(1), Some(2)]);
    Ok(())
}

#[tokio::test]
async fn a_task_that_is_not_polled_stops_no_other() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let add = || tables.modify(Visits::key("/"), |visits| visits.count += 1);
    let (mut first, mut second) = (add(), add());
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    // The first has the turn, and nobody polls it.
    assert_eq!(run(&schedule, second, true).await?.map(|visits| visits.count), Some(1));
    // It loses nothing.
    assert_eq!(run(&schedule, first, true).await?.map(|visits| visits.count), Some(2));
    Ok(())
}

#[tokio::test]
async fn a_task_that_is_not_polled_is_left_out_and_keeps_its_place() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let mut tasks = begin(&tables, &schedule, 4);
    let (fourth, third, second, first) = (tasks.pop(), tasks.pop(), tasks.pop(), tasks.pop());
    let (Some(mut fourth), Some(third), Some(second), Some(first)) = (fourth, third, second, first) else { panic!() };
    // The second and the fourth are not polled.
    let (first, third) = run(&schedule, Box::pin(join(first, third)), true).await;
    assert_eq!([first, third].map(count), [Some(1), Some(2)]);
    assert!(poll!(&mut fourth).is_pending());
    let (fourth, second) = run(&schedule, Box::pin(join(fourth, second)), false).await;
    assert_eq!([second, fourth].map(count), [Some(3), Some(4)]);
    Ok(())
}

#[tokio::test]
async fn a_round_goes_on_without_a_task_that_is_dropped() -> Result<()> {
    for dropped in 0..4 {
        let (tables, schedule) = visits().await?;
        let mut tasks = begin(&tables, &schedule, 4);
        // The row is passed to the task that is dropped.
        for task in tasks.iter_mut().take(dropped) {
            assert!(poll!(task).is_pending());
        }
        drop(tasks.remove(dropped));
        let counts = run(&schedule, join_all(tasks), false).await.into_iter().map(count);
        assert_eq!(counts.collect::<Vec<_>>(), [Some(1), Some(2), Some(3)], "without {dropped}");
    }
    Ok(())
}

#[tokio::test]
async fn a_round_keeps_the_change_of_a_task_that_is_dropped_after_it() -> Result<()> {
    for dropped in 0..3 {
        let (tables, schedule) = visits().await?;
        let mut tasks = begin(&tables, &schedule, 4);
        for task in tasks.iter_mut().take(dropped + 1) {
            assert!(poll!(task).is_pending());
        }
        drop(tasks.remove(dropped));
        let counts: Vec<_> = run(&schedule, join_all(tasks), false).await.into_iter().map(count).collect();
        let mut expected = vec![Some(1), Some(2), Some(3), Some(4)];
        expected.remove(dropped);
        assert_eq!(counts, expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_commit_goes_on_without_the_tasks_that_are_dropped() -> Result<()> {
    for left in 0..4 {
        let (tables, schedule) = visits().await?;
        let mut tasks = begin(&tables, &schedule, 4);
        for task in &mut tasks {
            assert!(poll!(task).is_pending());
        }
        // Only one of them waits for the commit, which is under way.
        let task = tasks.swap_remove(left);
        drop(tasks);
        assert_eq!(count(run(&schedule, task, false).await), Some(u32::try_from(left)? + 1));
        let next = tables.modify(Visits::key("/"), |visits| visits.count += 1);
        assert_eq!(count(run(&schedule, next, false).await), Some(5));
    }
    Ok(())
}

#[tokio::test]
async fn the_next_task_does_not_wait_for_a_commit_that_nobody_waits_for() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let mut tasks = begin(&tables, &schedule, 2);
    for task in &mut tasks {
        assert!(poll!(task).is_pending());
    }
    let mut next = tables.modify(Visits::key("/"), |visits| visits.count += 1);
    assert!(poll!(&mut next).is_pending());
    drop(tasks);
    schedule.clear();
    assert_eq!(count(run(&schedule, next, false).await), Some(1));
    Ok(())
}

/// Panics when a write is answered.
#[derive(Debug)]
struct Panics;

impl<B: ?Sized> Observer<B> for Panics {
    fn answered(&self, _: &B, request: &Request, _: Result<Answer<'_>, &Error>) {
        assert!(!request.is_write(), "the test wants it");
    }
}

#[tokio::test]
async fn the_outcome_of_a_commit_that_panics_is_unknown_to_all_tasks() -> Result<()> {
    let store = store().await?;
    let (backend, schedule) = Scheduled::observed(store.clone(), Panics);
    let tasks = begin(&Tables::new(backend), &schedule, 3);
    for result in run(&schedule, join_all(tasks), false).await {
        assert!(matches!(result, Err(Error::OutcomeUnknown(lost)) if lost.reason == "it panicked"));
    }
    assert_eq!(Visits::key("/").get(&store.tables()).await?.map(|visits| visits.count), Some(3));
    Ok(())
}

#[tokio::test]
async fn the_tasks_of_a_refused_commit_are_carried_out_one_by_one() -> Result<()> {
    let (backend, faults) = Faulty::new(store().await?);
    let (backend, schedule) = Scheduled::new(backend);
    let tables = Tables::new(backend);
    let tasks = Box::pin(join_all(begin(&tables, &schedule, 3)));
    faults.arm_write(Fault::Refused, 0);
    let (results, requests) = run_counted(&schedule, tasks).await;
    assert_eq!(results.into_iter().map(count).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    assert_eq!(1 + requests, 2 * (1 + 3));
    Ok(())
}

#[tokio::test]
async fn tasks_with_other_types_take_their_turns_alone() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let add = || tables.modify(Visits::key("/"), |visits| visits.count += 1);
    let other = tables.modify(OtherVisits::key("/"), |visits| visits.count += 1);
    let ((first, second, third), requests) = run_counted(&schedule, Box::pin(join3(add(), other, add()))).await;
    assert_eq!([count(first), count(third)], [Some(1), Some(3)]);
    assert_eq!(second?.map(|visits| visits.count), Some(2));
    assert_eq!(requests, 2 * 3);

    // The round ends with its tasks, and the other one does not wait for it.
    let mut tasks = begin(&tables, &schedule, 2);
    let mut other = tables.modify(OtherVisits::key("/"), |visits| visits.count += 1);
    assert!(poll!(&mut other).is_pending());
    assert!(poll!(&mut tasks[0]).is_pending());
    drop(tasks);
    assert_eq!(run(&schedule, other, false).await?.map(|visits| visits.count), Some(4));
    Ok(())
}

#[tokio::test]
async fn handles_with_and_without_a_lease_share_no_round() -> Result<()> {
    let (backend, schedule) = Scheduled::new(store().await?);
    let leased = Tables::new(backend);
    let other = leased.with_lease(Duration::from_mins(1));
    run(&schedule, Box::pin(leased.create::<Visits>()), false).await?;
    let add = |tables: &Tables| tables.modify(Visits::key("/"), |visits| visits.count += 1);
    let tasks = join_all([add(&leased), add(&other), add(&leased)]);
    let (results, requests) = run_counted(&schedule, Box::pin(tasks)).await;
    assert_eq!(results.into_iter().map(count).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    assert_eq!(requests, 2 * 3);
    Ok(())
}

#[tokio::test]
async fn a_task_that_is_called_after_a_long_time_has_to_come_soon() -> Result<()> {
    let store = store().await?;
    let (backend, schedule) = Scheduled::new(store.clone());
    let tables = Tables::new(backend);
    let add = || tables.modify(Visits::key("/"), |visits| visits.count += 1);
    let (mut first, mut second, mut third) = (add(), add(), add());
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    // The first does not get its row for three seconds.
    let now = || store.describe().clock.monotonic();
    while now() < Duration::from_secs(3) {
        assert!(poll!(&mut third).is_pending());
        let sleeps = schedule.waiting().iter().rposition(|waiting| matches!(*waiting.request, Request::Sleep(_)));
        schedule.grant(sleeps.context("the third looks")?);
    }
    drop(first);
    let before = now();
    assert_eq!(count(run(&schedule, third, true).await), Some(1));
    assert!(now() < before + Duration::from_millis(100), "the second was not polled");
    Ok(())
}

#[tokio::test]
async fn no_task_waits_for_more_rounds_than_the_tasks_before_it_need() -> Result<()> {
    const TASKS: usize = 250;
    let (tables, schedule) = visits().await?;
    let tasks = Box::pin(join_all(begin(&tables, &schedule, TASKS)));
    let (counts, requests) = run_counted(&schedule, tasks).await;
    assert!(counts.into_iter().map(count).eq((1..=250).map(Some)));
    assert_eq!(1 + requests, 2 * 3, "a read and a commit for each hundred");
    Ok(())
}

#[tokio::test]
async fn other_rows_have_turns_of_their_own() -> Result<()> {
    let (tables, schedule) = visits().await?;
    let add = |page: &str| {
        let new = Visits { page: page.to_owned(), count: 1 };
        tables.modify_or_insert(&new, |visits| visits.count += 1)
    };
    let (mut first, second) = (add("/"), add("/other"));
    assert!(poll!(&mut first).is_pending());
    assert_eq!(run(&schedule, second, false).await?.count, 1);
    assert_eq!(run(&schedule, first, false).await?.count, 1);
    Ok(())
}

#[tokio::test]
async fn handles_of_one_tenant_take_turns_and_other_tenants_do_not_wait() -> Result<()> {
    let store = Plain::default();
    for prefix in ["a1", "b2"] {
        store.tables().with_prefix(prefix).create::<Visits>().await?;
    }
    let (backend, schedule) = Scheduled::new(store);
    let account = Tables::new(backend);
    let new = Visits { page: "/".to_owned(), count: 1 };
    // A web service makes a handle for each request.
    let add = |prefix| account.with_prefix(prefix).modify_or_insert(&new, |visits| visits.count += 1);
    let (mut first, mut second, other) = (add("a1"), add("a1"), add("b2"));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    let reads = schedule.waiting().iter().filter(|waiting| !matches!(*waiting.request, Request::Sleep(_))).count();
    assert_eq!(reads, 1, "the second waits for its turn");
    assert_eq!(run(&schedule, other, false).await?.count, 1);
    assert_eq!(run(&schedule, first, false).await?.count, 1);
    assert_eq!(run(&schedule, second, false).await?.count, 2);
    Ok(())
}
