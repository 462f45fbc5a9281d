//! Bulk writes on an overloaded store: fewer transactions in flight, nothing lost, nothing written twice.

use std::{
    collections::BTreeMap,
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use anyhow::{Result, ensure};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{
        Action, AzureBackend, Backend, BackendExt, BoxFuture, Continuation, Description, Group, KeyRange, Operation,
        Partitions, Reach, ReadRequest, Reader, Scan, StoreView, TableRequest, Written,
    },
    bulk::BulkProgress,
};
use tests::{
    plain::Plain,
    scripted::{Answer, Scripted},
};

use crate::protocol::{busy, written};

#[derive(TableEntity, Clone, Debug)]
struct Reading {
    #[partition_key]
    sensor: u32,
    #[row_key]
    number: u32,
    value: i32,
}

/// An entity that is written in steps, because each index row has a partition of its own.
#[derive(TableEntity, Clone, Debug)]
struct Account {
    #[partition_key]
    bank: u32,
    #[row_key]
    number: u32,
    #[index(email)]
    email: String,
}

/// Returns readings of different partitions, so that each takes a transaction of its own.
fn readings(count: u32) -> impl Iterator<Item = Reading> + Send {
    (0..count).map(|sensor| Reading { sensor, number: 0, value: 1 })
}

/// A store that answers its writes all at once, when the test ends a round.
#[derive(Clone, Debug)]
struct Rounds {
    inner: Plain,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    round: usize,
    /// Writes that wait for the end of the round.
    waiting: Vec<Waker>,
    overloads: u64,
    /// Number of times that each row was sent with an action.
    sent: BTreeMap<(String, &'static str), usize>,
}

impl Rounds {
    fn new(inner: Plain) -> Self {
        Self { inner, state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the writes that wait, after an overload if `is_overloaded` is true. Returns their number.
    fn end(&self, is_overloaded: bool) -> usize {
        let mut state = self.lock();
        state.round += 1;
        // Every write was refused at first.
        state.overloads += if is_overloaded { state.waiting.len() as u64 } else { 0 };
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.iter().for_each(Waker::wake_by_ref);
        waiting.len()
    }
}

impl Backend for Rounds {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, overloads: self.lock().overloads, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>, Error>> {
        Backend::tables(&self.inner, request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>, Error>> {
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            let round = {
                let mut state = self.lock();
                for group in groups {
                    for Operation { row_key, action } in &group.operations {
                        let row = format!("{}({},{row_key})", group.table, group.partition_key);
                        *state.sent.entry((row, action.name())).or_default() += 1;
                    }
                }
                state.round
            };
            poll_fn(|context| {
                let mut state = self.lock();
                if state.round > round {
                    return Poll::Ready(());
                }
                // The waker of a future that is polled again is replaced.
                state.waiting.retain(|waker| !waker.will_wake(context.waker()));
                state.waiting.push(context.waker().clone());
                Poll::Pending
            })
            .await;
            self.inner.execute(groups).await
        })
    }

    fn view(&self, _: StoreView) -> Result<Option<Arc<dyn Backend>>, Error> {
        Ok(None)
    }
}

/// Notes that the task was woken.
#[derive(Debug, Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs a bulk write, round after round. Returns the number of transactions in each.
fn run(
    store: &Rounds,
    load: impl IntoFuture<Output = Result<BulkProgress, Error>>,
    is_overloaded: impl Fn(usize) -> bool,
) -> Result<(BulkProgress, Vec<usize>)> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut load = pin!(load.into_future());
    let mut rounds = Vec::new();
    loop {
        // A round begins when the load waits for the store.
        loop {
            woken.0.store(false, Ordering::SeqCst);
            if let Poll::Ready(done) = load.as_mut().poll(&mut context) {
                return Ok((done?, rounds));
            }
            if !woken.0.load(Ordering::SeqCst) {
                break;
            }
        }
        let answered = store.end(is_overloaded(rounds.len()));
        ensure!(answered > 0, "the load waits for nothing after {rounds:?}");
        rounds.push(answered);
    }
}

async fn store<E: TableEntity>() -> Result<(Plain, Rounds)> {
    let plain = Plain::default();
    plain.tables().create::<E>().await?;
    Ok((plain.clone(), Rounds::new(plain)))
}

#[tokio::test]
async fn under_overload_the_transactions_in_flight_are_halved_and_then_recover_one_by_one() -> Result<()> {
    let (plain, store) = store::<Reading>().await?;
    let tables = Tables::new(store.clone());
    let load = tables.insert_all(readings(240));
    let (progress, rounds) = run(&store, load, |round| round == 1 || (8..14).contains(&round))?;
    let expected = [16, 16, 8, 9, 10, 11, 12, 13, 14, 7, 3, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    assert_eq!(rounds[..expected.len()], expected);
    assert_eq!((progress.written, rounds.iter().sum::<usize>()), (240, 240));
    assert!(store.lock().sent.values().all(|&times| times == 1), "no row was sent twice");
    let partitions = Partitions::ALL;
    let (table, rows) = ("Reading".into(), KeyRange::ALL);
    let scan = Scan { table, partitions, rows, filter: None, select: None, page: 1000 };
    assert_eq!(plain.query(&scan, None).await?.rows.len(), 240);
    Ok(())
}

#[tokio::test]
async fn the_transactions_in_flight_never_exceed_the_maximum_of_the_user() -> Result<()> {
    for (most, expected) in [(1, vec![1, 1, 1, 1]), (5, vec![5, 5, 2, 3, 4, 5, 5]), (50, vec![16, 32, 16, 17, 18])] {
        let (_, store) = store::<Reading>().await?;
        let tables = Tables::new(store.clone());
        let load = tables.insert_all(readings(200)).side_by_side(most);
        let (progress, rounds) = run(&store, load, |round| round == 1)?;
        assert_eq!((progress.written, &rounds[..expected.len()]), (200, &*expected), "at most {most}");
        assert!(rounds.iter().all(|&round| round <= most));
    }
    Ok(())
}

#[tokio::test]
async fn without_an_overload_a_larger_maximum_is_reached_by_doubling() -> Result<()> {
    let (_, store) = store::<Reading>().await?;
    let tables = Tables::new(store.clone());
    let (_, rounds) = run(&store, tables.insert_all(readings(1000)).side_by_side(200), |_| false)?;
    assert_eq!(rounds[..6], [16, 32, 64, 128, 200, 200]);
    Ok(())
}

#[tokio::test]
async fn the_steps_of_entities_with_index_rows_in_other_partitions_adapt_too() -> Result<()> {
    let (plain, store) = store::<Account>().await?;
    let tables = Tables::new(store.clone());
    let account = |number: u32| Account { bank: number % 3, number, email: format!("{number}@example.com") };
    let (progress, rounds) = run(&store, tables.insert_all((0..240).map(account)), |round| round == 1)?;
    // The entities of three partitions, and then the index rows, each in a partition of its own.
    assert_eq!(rounds[..6], [3, 16, 8, 9, 10, 11]);
    assert_eq!(progress.written, 240);
    assert!(store.lock().sent.values().all(|&times| times == 1), "no row was sent twice");
    for number in 0..240 {
        let found = Account::by_email(&*format!("{number}@example.com")).all(&plain.tables()).await?;
        assert_eq!(found.iter().map(|account| account.number).collect::<Vec<_>>(), [number]);
    }
    Ok(())
}

async fn scripted() -> Result<(Scripted, AzureBackend)> {
    let server = Scripted::start().await?;
    let builder = AzureBackend::builder("acc").access_key("a2V5").endpoint(server.endpoint());
    Ok((server, builder.slow_after(Duration::from_secs(2)).build()?))
}

#[tokio::test]
async fn refusals_and_slow_answers_of_the_service_are_overloads() -> Result<()> {
    let (server, service) = scripted().await?;
    let operations = vec![Operation { row_key: "r".to_owned(), action: Action::Upsert([].into_iter().collect()) }];
    let write = Group { table: "Posts".into(), partition_key: "p".to_owned(), operations };
    server.then(Answer::new(429)).then(busy()).then(written());
    service.execute_group(&write).await?;
    assert_eq!(service.describe().overloads, 2);

    server.then(Answer::new(500).json(r#"{"odata.error":{"code":"OperationTimedOut"}}"#));
    assert!(matches!(service.execute_group(&write).await, Err(Error::OutcomeUnknown(_))));
    assert_eq!(service.describe().overloads, 3);

    server.then(written().after(Duration::from_millis(2100)));
    service.execute_group(&write).await?;
    assert_eq!(service.describe().overloads, 4);
    // Clones share the count.
    assert_eq!(service.clone().describe().overloads, 4);

    for status in [400, 403, 404, 409, 412] {
        server.then(Answer::new(status));
        assert!(service.execute_group(&write).await.is_err());
    }
    // A query may take seconds although the service is not overloaded.
    server.then(Answer::new(200).json(r#"{"value":[]}"#).after(Duration::from_millis(2100)));
    let (table, partitions, rows) = ("Posts".into(), Partitions::ALL, KeyRange::ALL);
    service.query(&Scan { table, partitions, rows, filter: None, select: None, page: 1000 }, None).await?;
    assert_eq!(service.describe().overloads, 4);
    Ok(())
}

#[tokio::test]
async fn on_a_busy_service_every_entity_is_written_once() -> Result<()> {
    let (server, service) = scripted().await?;
    let tables = Tables::new(service.clone());
    for _ in 0..4 {
        server.then(busy().header("x-ms-retry-after-ms", "20"));
    }
    for _ in 0..12 {
        server.then(written());
    }
    let progress = tables.insert_all(readings(12)).side_by_side(4).await?;
    assert_eq!((progress.written, progress.failed, server.left(), service.describe().overloads), (12, 0, 0, 4));
    let mut bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 16);
    // The first four were refused, and were sent once more.
    let refused: Vec<_> = bodies.drain(..4).collect();
    assert!(refused.iter().all(|body| bodies.contains(body)));
    bodies.sort_unstable();
    bodies.dedup();
    assert_eq!(bodies.len(), 12);
    Ok(())
}
