//! Relays on a store that no other process has open: a commit wakes them, and there are no leases to wait for.

use std::{sync::Mutex, time::Duration};

use anyhow::Result;
use table_runtime::{TableEntity, Tables, backend::InMemoryBackend, events::Event};
use tokio::{sync::Notify, time::timeout};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Orders", events(copy))]
struct Order {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
}

impl Order {
    fn new(number: u32) -> Self {
        Self { shop: format!("shop {}", number % 3), number }
    }
}

/// Time after which a test fails. No relay here waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A time between polls that no test waits for.
const NEVER: Duration = Duration::from_hours(1);

async fn deliver_after_commits(tables: &Tables) -> Result<()> {
    tables.create::<Order>().await?;
    let (delivered, end) = (Notify::new(), Notify::new());
    let delivery = tables.relay::<Order>().poll(NEVER).deliver(async |_| {
        delivered.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let writing = async {
        for number in 0..50 {
            tables.insert(&Order::new(number)).await?;
            timeout(PATIENCE, delivered.notified()).await?;
        }
        end.notify_one();
        Ok::<_, anyhow::Error>(())
    };
    let (done, written) = tokio::join!(delivery.until(end.notified()), writing);
    written?;
    assert_eq!(done?.delivered, 50);
    Ok(())
}

#[tokio::test]
async fn a_commit_wakes_the_relay_of_a_store_in_memory() -> Result<()> {
    let tables = Tables::in_memory()?;
    deliver_after_commits(&tables).await?;
    // A prefix is a part of the tables' names.
    deliver_after_commits(&tables.with_prefix("tenant7")).await
}

#[tokio::test]
async fn a_commit_wakes_the_relay_of_a_store_in_a_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    deliver_after_commits(&Tables::open(folder.path().join("orders.tables"))?).await
}

#[tokio::test]
async fn a_relay_that_delivers_once_does_not_wait_for_another_one() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let end = Notify::new();
    let delivery = tables.relay::<Order>().deliver(async |_| {
        let done = tables.relay::<Order>().deliver_once(async |_| Err::<(), _>("another relay has it")).await?;
        assert_eq!((done.delivered, done.failed, done.waiting), (0, 0, 1));
        end.notify_one();
        Ok::<_, anyhow::Error>(())
    });
    assert_eq!(timeout(PATIENCE, delivery.until(end.notified())).await??.delivered, 1);
    Ok(())
}

#[tokio::test]
async fn a_second_relay_goes_on_when_the_first_one_ends() -> Result<()> {
    let backend = InMemoryBackend::new()?;
    // Handles that were made apart are those of one process all the same.
    let (one, other) = (Tables::new(backend.clone()), Tables::new(backend));
    one.create::<Order>().await?;
    let (begun, end_one, end_other) = (Notify::new(), Notify::new(), Notify::new());
    let by_other = Mutex::new(Vec::new());
    let first = one.relay::<Order>().deliver(async |_| {
        begun.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let second = other.relay::<Order>().deliver(async |event: Event<Order>| {
        by_other.lock().expect("no panic").push(event.attempts());
        end_other.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let writing = async {
        one.insert(&Order::new(1)).await?;
        timeout(PATIENCE, begun.notified()).await?;
        end_one.notify_one();
        tokio::time::sleep(Duration::from_millis(20)).await;
        one.insert(&Order::new(2)).await?;
        Ok::<_, anyhow::Error>(())
    };
    let (first, second, written) =
        tokio::join!(first.until(end_one.notified()), second.until(end_other.notified()), writing);
    written?;
    assert_eq!((first?.delivered, second?.delivered), (1, 1));
    assert_eq!(by_other.into_inner()?, [0], "the buckets were given back");
    Ok(())
}

#[tokio::test]
async fn a_relay_takes_over_without_a_wait() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("orders.tables");
    let tables = Tables::open(&file)?;
    tables.create::<Order>().await?;
    tables.insert(&Order::new(1)).await?;
    let called = Notify::new();
    let delivery = tables.relay::<Order>().deliver(async |_| {
        called.notify_one();
        std::future::pending::<Result<(), std::io::Error>>().await
    });
    tokio::select! {
        done = delivery => panic!("{done:?}"),
        () = called.notified() => {}
    }
    drop(tables);

    let tables = Tables::open(&file)?;
    let delivery = tables.relay::<Order>().deliver_once(async |event| {
        assert_eq!(event.attempts(), 1, "the consumer may have ended the process");
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(timeout(PATIENCE, delivery).await??.delivered, 1);
    Ok(())
}
