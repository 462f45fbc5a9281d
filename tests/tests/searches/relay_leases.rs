//! Relays of a store whose transactions span no partitions, while a renewal of their leases takes long, or a relay before them
//! has ended.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::Result;
use table_runtime::{
    TableEntity, Tables, Ticks,
    backend::{
        Backend, BoxFuture, Clock, Continuation, Description, Group, InMemoryBackend, ReadRequest, Reader, Sleep,
        StoreView, TableRequest, Written,
    },
    events::Event,
    testing::{Clocked, PartitionReach},
    transfer::{ReadPart, RowReader, Selection},
};
use tokio::{sync::Notify, time::timeout};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Orders", events(copy))]
struct Order {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
}

fn order(shop: &str, number: u32) -> Order {
    Order { shop: shop.into(), number }
}

/// Time after which a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The beginning of the names in a request that is answered only when the store is thawed.
const FROZEN: &str = "Frozen";

/// A store that keeps the answers to writes of leases back while it is shut, and whose clock jumps.
#[derive(Clone, Debug)]
struct Gate {
    inner: Arc<dyn Backend>,
    jumped: Arc<AtomicU64>,
    /// Number of looks at the clock.
    looks: Arc<AtomicU64>,
    shuts: Arc<AtomicBool>,
    reached: Arc<Notify>,
    opened: Arc<Notify>,
    thawed: Arc<Notify>,
}

impl Gate {
    fn new(inner: impl Backend) -> Self {
        let (reached, opened, thawed) = (Arc::default(), Arc::default(), Arc::default());
        Self {
            inner: Arc::new(inner),
            shuts: Arc::default(),
            jumped: Arc::default(),
            looks: Arc::default(),
            reached,
            opened,
            thawed,
        }
    }

    fn jump(&self, seconds: u64) {
        self.jumped.fetch_add(seconds, Ordering::SeqCst);
    }

    fn shut(&self) {
        self.shuts.store(true, Ordering::SeqCst);
    }

    fn open(&self) {
        self.shuts.store(false, Ordering::SeqCst);
        self.opened.notify_one();
    }
}

impl Backend for Gate {
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        Box::pin(async move {
            // While this request is under way, no time passes.
            if matches!(request, TableRequest::List(FROZEN)) {
                self.thawed.notified().await;
            }
            self.inner.tables(request).await
        })
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            let written = self.inner.execute(groups).await;
            let has_lease = groups[0].operations.iter().any(|operation| operation.row_key.len() == 2);
            if groups[0].partition_key.ends_with(" relays") && has_lease && self.shuts.load(Ordering::SeqCst) {
                self.reached.notify_one();
                self.opened.notified().await;
            }
            written
        })
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

impl Clock for Gate {
    fn monotonic(&self) -> Duration {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.describe().clock.monotonic() + Duration::from_secs(self.jumped.load(Ordering::SeqCst))
    }

    fn wall(&self) -> Ticks {
        self.inner.describe().clock.wall()
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        self.inner.describe().clock.sleep(time, purpose)
    }
}

/// Returns a store whose pauses take no time while no request is under way.
fn hurried() -> Result<(Tables, Arc<dyn Backend>, Gate)> {
    let gate = Gate::new(PartitionReach(InMemoryBackend::new()?));
    let (backend, _) = Clocked::new(gate.clone(), SystemTime::UNIX_EPOCH);
    let backend: Arc<dyn Backend> = Arc::new(backend.skip_pauses());
    Ok((Tables::new(Arc::clone(&backend)), backend, gate))
}

/// Returns the row keys of the leases and relays.
async fn leases(gate: &Gate) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    let mut reader = RowReader::new(&Tables::new(gate.clone()), Selection::table("TableEvents")).await?;
    while let Some(part) = reader.next().await? {
        if let ReadPart::Rows { rows, .. } = part {
            let rows = rows.iter().filter(|row| row.partition_key.ends_with(" relays"));
            keys.extend(rows.map(|row| row.row_key.to_owned()));
        }
    }
    Ok(keys)
}

/// A relay whose renewal is carried out, but not yet answered: it has delivered an event of each of two partitions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_takes_long_does_not_stop_the_relay() -> Result<()> {
    let gate = Gate::new(PartitionReach(InMemoryBackend::new()?));
    let tables = Tables::new(gate.clone());
    tables.create::<Order>().await?;
    for number in 1..=2 {
        for shop in ["a", "b"] {
            tables.insert(&order(shop, number)).await?;
        }
    }
    let (shared, end) = (Arc::new((Mutex::new(Vec::new()), Notify::new(), Notify::new())), Arc::new(Notify::new()));
    let relay = tables.relay::<Order>();
    let running = tokio::spawn({
        let (shared, end) = (Arc::clone(&shared), Arc::clone(&end));
        let consumer = async move |event: Event<Order>| {
            let (seen, called, goes_on) = &*shared;
            let shop = event.into_entity().ok_or("a copy")?.shop;
            seen.lock().expect("no panic").push(shop);
            called.notify_one();
            goes_on.notified().await;
            Ok::<_, &str>(())
        };
        async move { relay.deliver(consumer).until(end.notified()).await }
    });
    let (seen, called, goes_on) = &*shared;
    let seen_are = async |count: usize| {
        while seen.lock().expect("no panic").len() < count {
            called.notified().await;
        }
    };
    timeout(PATIENCE, seen_are(2)).await?;
    // The leases are to be renewed before the next event.
    gate.shut();
    gate.jump(25);
    goes_on.notify_one();
    timeout(PATIENCE, gate.reached.notified()).await?;
    // It takes longer than the pause before the next attempt.
    gate.jump(6);
    goes_on.notify_one();
    gate.looks.store(0, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let looks = gate.looks.load(Ordering::SeqCst);
    assert!(looks < 1000, "it is busy with waiting: {looks}");
    gate.open();
    for count in 3..=4 {
        timeout(PATIENCE, seen_are(count)).await?;
        goes_on.notify_one();
    }
    end.notify_one();
    goes_on.notify_one();
    assert_eq!(timeout(PATIENCE, running).await???.delivered, 4);
    Ok(())
}

#[tokio::test]
async fn a_relay_gives_back_what_a_renewal_without_an_answer_has_changed() -> Result<()> {
    let (tables, _, gate) = hurried()?;
    tables.create::<Order>().await?;
    let end = Notify::new();
    let delivery = tables.relay::<Order>().deliver(async |_| Ok::<_, std::io::Error>(())).until(end.notified());
    let ending = async {
        while leases(&gate).await?.len() < 17 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        gate.shut();
        gate.reached.notified().await;
        gate.shuts.store(false, Ordering::SeqCst);
        end.notify_one();
        Ok::<_, anyhow::Error>(())
    };
    let (done, ended) = timeout(PATIENCE, async { tokio::join!(delivery, ending) }).await?;
    ended?;
    done?;
    assert_eq!(leases(&gate).await?, [""; 0]);
    Ok(())
}

/// A relay that is dropped leaves its buckets.
async fn leave_buckets(tables: &Tables, gate: &Gate) -> Result<()> {
    let delivery = tables.relay::<Order>().deliver(async |_| Ok::<_, std::io::Error>(()));
    tokio::select! {
        done = delivery => panic!("{done:?}"),
        held = async {
            while leases(gate).await?.len() < 17 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, anyhow::Error>(())
        } => held?,
    }
    Ok(())
}

#[tokio::test]
async fn an_event_after_a_relay_has_taken_over_has_not_failed() -> Result<()> {
    let (tables, backend, gate) = hurried()?;
    tables.create::<Order>().await?;
    tables.insert(&order("a", 1)).await?;
    let relay = tables.relay::<Order>();
    assert_eq!(relay.deliver_once(async |_| Ok::<_, std::io::Error>(())).await?.delivered, 1);
    leave_buckets(&tables, &gate).await?;
    let (end, attempts) = (Notify::new(), Mutex::new(Vec::new()));
    gate.shut();
    let delivery = tables.relay::<Order>().attempts(1).deliver(async |event: Event<Order>| {
        attempts.lock().expect("no panic").push(event.attempts());
        end.notify_one();
        Ok::<_, std::io::Error>(())
    });
    let writing = async {
        gate.reached.notified().await;
        let frozen = backend.tables(TableRequest::List(FROZEN));
        let meanwhile = async {
            // It takes over, and finds the mark of the partition, and no event.
            gate.open();
            tokio::time::sleep(Duration::from_millis(50)).await;
            tables.insert(&order("a", 2)).await?;
            gate.thawed.notify_one();
            Ok::<_, anyhow::Error>(())
        };
        let (thawed, done) = tokio::join!(frozen, meanwhile);
        thawed?;
        done
    };
    let (done, written) = timeout(PATIENCE, async { tokio::join!(delivery.until(end.notified()), writing) }).await?;
    written?;
    assert_eq!((done?.failed, attempts.into_inner()?), (0, vec![0]));
    Ok(())
}

#[tokio::test]
async fn a_relay_that_delivers_once_goes_on_after_its_lease_has_ended() -> Result<()> {
    let gate = Gate::new(PartitionReach(InMemoryBackend::new()?));
    let tables = Tables::new(gate.clone());
    tables.create::<Order>().await?;
    for shop in ["a", "b"] {
        tables.insert(&order(shop, 1)).await?;
    }
    let relay = tables.relay::<Order>().side_by_side(1);
    let done = relay.deliver_once(async |_| {
        gate.jump(61);
        Ok::<_, std::io::Error>(())
    });
    let done = timeout(PATIENCE, done).await??;
    assert_eq!((done.delivered, done.failed, done.waiting), (2, 0, 0));
    Ok(())
}
