//! Turns of the tasks that modify one row: what ends them, and what does not wait for them.

use std::task::Poll;

use anyhow::Result;
use futures_util::poll;
use table_runtime::{
    TableEntity, Tables,
    testing::{Request, Schedule, Scheduled},
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

/// Returns a handle with a row, and the schedule of its requests.
async fn visits() -> Result<(Tables, Schedule)> {
    let store = Plain::default();
    store.tables().create::<Visits>().await?;
    store.tables().insert(&Visits { page: "/".to_owned(), count: 0 }).await?;
    let (backend, schedule) = Scheduled::new(store);
    Ok((Tables::new(backend), schedule))
}

/// Runs the future to its end. Its requests are granted as they come, those of sleeps only if `time_passes`.
async fn run<T>(schedule: &Schedule, mut running: impl Future<Output = T> + Unpin, time_passes: bool) -> T {
    loop {
        if let Poll::Ready(done) = poll!(&mut running) {
            return done;
        }
        let is_due = |request: &Request| time_passes || !matches!(request, Request::Sleep(_));
        let waiting = schedule.waiting();
        let at = waiting.iter().rposition(|waiting| is_due(&waiting.request)).expect("a request waits");
        schedule.grant(at);
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
    assert_eq!(run(&schedule, second, false).await?.map(|visits| visits.count), Some(1));
    assert_eq!(run(&schedule, third, false).await?.map(|visits| visits.count), Some(2));
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
