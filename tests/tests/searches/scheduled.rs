//! The backend whose requests wait: nothing arrives before its grant, and a dropped write may arrive after it.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures_util::{FutureExt, future::join, poll};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{AzureBackend, Backend, BackendExt, Clock, InMemoryBackend, Sleep, StoreView},
    error::RowNow,
    testing::{Request, Schedule, Scheduled},
};
use tests::plain::Plain;

#[derive(TableEntity, Debug)]
struct Counter {
    #[partition_key]
    name: String,
    #[row_key]
    number: u32,
}

fn counter(number: u32) -> Counter {
    Counter { name: "a".into(), number }
}

/// Returns a store, its tables behind a schedule, and the schedule.
async fn store() -> Result<(Plain, Tables, Schedule)> {
    let store = Plain::default();
    store.tables().create::<Counter>().await?;
    let (scheduled, schedule) = Scheduled::new(store.clone());
    Ok((store, Tables::new(scheduled), schedule))
}

async fn exists(store: &Plain, number: u32) -> Result<bool> {
    Ok(Counter::key("a", number).exists(&store.tables()).await?)
}

fn waiting(schedule: &Schedule) -> Vec<String> {
    schedule.waiting().iter().map(|waiting| waiting.request.to_string()).collect()
}

#[tokio::test]
async fn a_request_waits_until_it_is_granted() -> Result<()> {
    let (store, tables, schedule) = store().await?;
    let one = counter(1);
    let mut insert = Box::pin(tables.insert(&one));
    assert!(waiting(&schedule).is_empty(), "it was not polled");
    for _ in 0..3 {
        assert!(poll!(&mut insert).is_pending());
        assert_eq!(waiting(&schedule), ["insert of Counter(PartitionKey='a',RowKey='0000000001')"]);
    }
    assert!(schedule.grant(0).is_none());
    assert!(schedule.waiting()[0].is_granted);
    assert!(!exists(&store, 1).await?, "its task was not polled");
    insert.await?;
    assert!(waiting(&schedule).is_empty());
    assert!(exists(&store, 1).await?);
    assert!(schedule.grant(0).is_none(), "there is no request");
    Ok(())
}

#[tokio::test]
async fn requests_are_carried_out_in_the_order_of_their_grants() -> Result<()> {
    let (store, tables, schedule) = store().await?;
    let (one, two) = (counter(1), counter(2));
    let mut inserts = Box::pin(join(tables.insert(&one), tables.insert(&two)));
    assert!(poll!(&mut inserts).is_pending());
    schedule.grant(1);
    assert!(poll!(&mut inserts).is_pending());
    assert_eq!((exists(&store, 1).await?, exists(&store, 2).await?), (false, true));
    schedule.grant(0);
    let (one, two) = inserts.await;
    one.and(two)?;
    assert!(exists(&store, 1).await?);
    Ok(())
}

#[tokio::test]
async fn a_dropped_write_arrives_when_the_test_sends_it() -> Result<()> {
    let (store, tables, schedule) = store().await?;
    assert!(tables.insert(&counter(1)).now_or_never().is_none());
    assert!(tables.insert(&counter(2)).now_or_never().is_none());
    assert!(schedule.waiting().iter().all(|waiting| waiting.is_dropped));
    let first = schedule.grant(0).expect("a dropped write");
    assert!(!exists(&store, 1).await?);
    first.send(&store, &()).await;
    assert_eq!((exists(&store, 1).await?, exists(&store, 2).await?), (true, false));
    schedule.clear();
    assert!(waiting(&schedule).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_arrives_when_the_test_sends_it() -> Result<()> {
    let (store, tables, schedule) = store().await?;
    let counter = counter(1);
    let mut insert = Box::pin(tables.insert(&counter));
    assert!(poll!(&mut insert).is_pending());
    schedule.lose(0);
    assert!(poll!(&mut insert).is_pending(), "it looks at the row");
    assert_eq!(schedule.waiting().iter().map(|waiting| waiting.is_dropped).collect::<Vec<_>>(), [true, false]);
    // The answer to a read cannot be lost.
    schedule.lose(1);
    assert!(poll!(&mut insert).is_pending());
    schedule.grant(1);
    let error = insert.await.expect_err("the answer was lost");
    assert!(matches!(&error, Error::OutcomeUnknown(unknown) if unknown.now == RowNow::Absent), "{error}");
    schedule.grant(0).expect("the write").send(&store, &()).await;
    assert!(exists(&store, 1).await?);
    Ok(())
}

#[tokio::test]
async fn a_dropped_read_does_not_wait() -> Result<()> {
    let (_, tables, schedule) = store().await?;
    let mut read = Box::pin(Counter::key("a", 1).get(&tables));
    assert!(poll!(&mut read).is_pending());
    assert!(matches!(*schedule.waiting()[0].request, Request::Get { .. }));
    drop(read);
    assert!(waiting(&schedule).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_shared_backend_keeps_its_own_pause() -> Result<()> {
    let (scheduled, _) = Scheduled::new(Plain::default());
    let shared: Arc<dyn Backend> = Arc::new(scheduled);
    // The pause of a scheduled backend takes no time.
    assert!(shared.describe().clock.sleep(Duration::from_hours(1), Sleep::Retry).now_or_never().is_some());
    Ok(())
}

#[tokio::test]
async fn a_sleep_waits_until_it_is_granted() -> Result<()> {
    let store = Plain::default();
    let (scheduled, schedule) = Scheduled::new(store.clone());
    let [short, long] = [5, 20].map(Duration::from_secs);
    let (mut one, mut other) = (scheduled.sleep(short, Sleep::Whole), scheduled.sleep(long, Sleep::Whole));
    assert!(poll!(&mut one).is_pending() && poll!(&mut other).is_pending());
    assert_eq!(waiting(&schedule), ["sleep until 5s", "sleep until 20s"]);
    assert!(!schedule.waiting()[0].request.is_write());

    schedule.grant(1);
    other.await;
    assert_eq!((store.monotonic(), scheduled.monotonic()), (long, long));
    // It began before time passed, and so it has ended.
    schedule.grant(0);
    one.await;
    assert_eq!(store.monotonic(), long);
    Ok(())
}

#[tokio::test]
async fn reads_of_a_snapshot_and_of_the_secondary_region_wait_too() -> Result<()> {
    let store = Arc::new(InMemoryBackend::new()?);
    store.create_table("Posts").await?;
    let (scheduled, schedule) = Scheduled::new(store);
    let snapshot = scheduled.view(StoreView::Snapshot)?.context("a store in memory has snapshots")?;
    let mut get = Box::pin(snapshot.get("Posts", "a", "1", None));
    assert!(poll!(&mut get).is_pending());
    assert_eq!(waiting(&schedule), ["get of Posts(PartitionKey='a',RowKey='1')"]);
    schedule.grant(0);
    assert!(get.await?.is_none());

    let (scheduled, schedule) = Scheduled::new(AzureBackend::builder("acc").access_key("c2VjcmV0").build()?);
    let secondary = scheduled.view(StoreView::SecondaryReads)?.context("an account has a secondary region")?;
    let mut get = Box::pin(secondary.get("Posts", "a", "1", None));
    assert!(poll!(&mut get).is_pending());
    // It is not granted, so it is not sent.
    assert_eq!(waiting(&schedule), ["get of Posts(PartitionKey='a',RowKey='1')"]);
    Ok(())
}
