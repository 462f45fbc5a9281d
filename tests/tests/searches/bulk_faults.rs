//! Every bulk write of every kind of index, with a fault at every write, another fault after it, and another writer
//! between the two. What the other writer left is not overwritten by a repetition, and every error is true.

use std::{future::IntoFuture, pin::pin, task::Poll};

use anyhow::{Context, Result, ensure};
use futures_util::poll;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{BackendExt, Reach},
    testing::{Fault, Faults, Faulty, Request, Schedule, Scheduled},
    transfer::TransferError,
};
use tests::{
    depth::Depth,
    items::{self, Fields, ItemKind, fixed, promised, store},
    plain::Plain,
};

/// Items stored at the beginning.
const START: [Fields; 2] = [Fields::new(1, 1, 1), Fields::new(2, 2, 2)];

/// Largest number of turns of a run.
const TURNS: usize = 100_000;

/// Bulk write of two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bulk {
    Insert,
    Upsert,
    Remove,
    RemoveRead,
}

/// What the other writer does with the first item of the bulk write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// Adds a like, and moves the item to other values.
    Modify,
    /// Inserts the item, or removes it and inserts it again.
    Renew,
    Remove,
}

impl Bulk {
    const ALL: [Self; 4] = [Self::Insert, Self::Upsert, Self::Remove, Self::RemoveRead];

    /// Returns the key of the first item.
    const fn first(self) -> u32 {
        if matches!(self, Self::Insert) { 3 } else { 1 }
    }

    async fn run(self, kind: &dyn ItemKind, tables: &Tables) -> table_runtime::Result<()> {
        match self {
            Self::Insert => kind.insert_all(tables, [Fields::new(3, 3, 3), Fields::new(4, 4, 4)]).await.map(drop),
            Self::Upsert => kind.upsert_all(tables, [Fields::new(1, 3, 3), Fields::new(2, 4, 4)]).await.map(drop),
            Self::Remove => kind.remove_all(tables, [1, 2]).await,
            Self::RemoveRead => kind.remove_read(tables, [1, 2]).await,
        }
    }
}

impl Other {
    const ALL: [Self; 3] = [Self::Modify, Self::Renew, Self::Remove];

    /// Writes to the item. It may be refused: what counts is what it leaves.
    async fn run(self, kind: &dyn ItemKind, tables: &Tables, id: u32) {
        let _ = match self {
            Self::Modify => kind.modify(tables, id, Fields::change_to(5, 5)).await.map(drop),
            Self::Renew => {
                let _ = kind.remove(tables, id).await;
                kind.insert(tables, Fields { likes: 9, ..Fields::new(id, 6, 6) }).await
            }
            Self::Remove => kind.remove(tables, id).await.map(drop),
        };
    }
}

/// What readers see of an item before and after the other writer.
struct Between {
    before: Option<Fields>,
    after: Option<Fields>,
}

/// A run with its faults.
struct Run<'a> {
    kind: &'a dyn ItemKind,
    store: Plain,
    bulk: Bulk,
    other: Other,
    faults: [Faults; 2],
    schedule: Schedule,
}

impl Run<'_> {
    async fn seen(&self) -> Result<Option<Fields>> {
        let all = self.kind.all(&self.store.tables()).await?;
        Ok(all.into_iter().find(|fields| fields.id == self.bulk.first()))
    }

    /// Runs the bulk write request by request, and the other writer after the request that failed first.
    async fn run(&self, tables: &Tables) -> Result<(table_runtime::Result<()>, Option<Between>)> {
        let mut running = pin!(self.bulk.run(self.kind, tables));
        let mut between = None;
        for _ in 0..TURNS {
            if let Poll::Ready(result) = poll!(&mut running) {
                return Ok((result, between));
            }
            let waiting = self.schedule.waiting();
            let is_sent = |hit: &Request| !waiting.iter().any(|waiting| *waiting.request == *hit);
            if between.is_none() && self.faults[0].hit().is_some_and(|hit| is_sent(&hit)) {
                let before = self.seen().await?;
                self.other.run(self.kind, &self.store.tables(), self.bulk.first()).await;
                between = Some(Between { before, after: self.seen().await? });
            }
            self.schedule.grant(0);
        }
        anyhow::bail!("the bulk write does not end")
    }
}

/// Runs a bulk write with these faults. Returns false if the first was not reached.
async fn check(
    kind: &dyn ItemKind,
    start: &Plain,
    (bulk, other): (Bulk, Other),
    (first, n): (Fault, usize),
    second: Option<(Fault, usize)>,
) -> Result<bool> {
    let store = start.copy();
    let (scheduled, schedule) = Scheduled::new(store.clone());
    let (inner, later) = Faulty::new(scheduled);
    let (outer, sooner) = Faulty::new(inner);
    sooner.arm_write(first, n);
    if let Some((fault, after)) = second {
        // The inner backend does not see a write that the outer one loses on its way.
        later.arm_write(fault, n + usize::from(first == Fault::AnswerLost) + after);
    }
    let run = Run { kind, store, bulk, other, faults: [sooner, later], schedule };
    let (result, between) = run.run(&Tables::new(outer)).await?;
    let Some(between) = between else { return Ok(false) };
    let seen = promised(kind, &run.store.tables()).await?;
    let now = seen.iter().copied().find(|fields| fields.id == bulk.first());
    let had = START.iter().copied().find(|fields| fields.id == bulk.first());
    let context = || format!("{result:?}, {:?} and {:?}, then {now:?}", between.before, between.after);
    // An effect that readers have seen does not come back over what another writer wrote since.
    ensure!(between.before == had || now == between.after, "the effect came a second time: {}", context());
    let failures: Vec<_> = match &result {
        Ok(()) => Vec::new(),
        Err(Error::Bulk(bulk)) => bulk.failures.iter().map(|failure| (failure.position, &*failure.error)).collect(),
        Err(error) => vec![(0, error)],
    };
    for (position, error) in failures.iter().filter(|(position, _)| *position == 0) {
        // Any other error says that nothing was written.
        ensure!(
            matches!(error, Error::OutcomeUnknown(_)) || now == between.after && between.before == had,
            "item {position} failed with {error}: {}",
            context()
        );
    }
    fixed(kind, &run.store.tables(), &seen).await.with_context(context)?;
    Ok(true)
}

async fn nothing_is_sent_again_over_another_writer(kind: &dyn ItemKind, reach: Reach) -> Result<()> {
    let start = store(kind, reach, &START).await?;
    let mut runs = 0;
    for bulk in Bulk::ALL {
        for other in Other::ALL {
            for first in [Fault::AnswerLost, Fault::RequestLost] {
                for n in 0.. {
                    let mut is_reached = false;
                    let seconds = [Fault::Refused, Fault::AnswerLost, Fault::RequestLost];
                    let afters = 0..Depth::choose(1, 2, 4);
                    let seconds = seconds.into_iter().flat_map(|fault| afters.clone().map(move |n| (fault, n)));
                    for second in [None].into_iter().chain(seconds.map(Some)) {
                        let checked = check(kind, &start, (bulk, other), (first, n), second).await;
                        let described = || format!("{bulk:?} and {other:?}: {first:?} at write {n}, then {second:?}");
                        is_reached |= checked.with_context(described)?;
                        runs += 1;
                    }
                    if !is_reached {
                        break;
                    }
                }
            }
        }
    }
    println!("{runs} runs");
    Ok(())
}

macro_rules! each {
    ($reach:ident: $($kind:ident)+) => {$(
        #[tokio::test]
        async fn $kind() -> Result<()> {
            nothing_is_sent_again_over_another_writer(items::$kind::KIND, Reach::$reach).await
        }
    )+};
}

each! {
    Partition:
    pointer_in_partition unique_in_partition copy_in_partition include_in_partition list_in_partition two_in_partition
    mixed_two pointer_elsewhere unique_elsewhere include_elsewhere unique_elements_in_partition unique_elements_elsewhere
    include_elements_elsewhere
}

/// A transaction spans the whole store.
mod in_one_transaction {
    use super::*;

    each! {
        Store:
        mixed_one unique_elsewhere
    }
}

/// Entity without an index, which a bulk write does not read.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Stock")]
struct Stock {
    #[partition_key]
    shop: String,
    #[row_key]
    id: u32,
    count: u32,
}

fn stock(id: u32, count: u32) -> Stock {
    Stock { shop: "a".to_owned(), id, count }
}

#[tokio::test]
async fn a_row_without_an_index_is_not_overwritten_or_removed_by_a_repetition() -> Result<()> {
    for fault in [Fault::AnswerLost, Fault::RequestLost] {
        let store = Plain::default();
        let direct = store.tables();
        direct.create::<Stock>().await?;
        let (scheduled, schedule) = Scheduled::new(store.clone());
        let (backend, faults) = Faulty::new(scheduled);
        let tables = Tables::new(backend);
        for is_removal in [false, true] {
            faults.arm_write(fault, 0);
            let mut running = if is_removal {
                tables.remove_all([Stock::key("a", 1)]).into_future()
            } else {
                tables.upsert_all([stock(1, 10)]).into_future()
            };
            let (mut wrote, mut left) = (false, None);
            let result = loop {
                if let Poll::Ready(result) = poll!(&mut running) {
                    break result;
                }
                if faults.hit().is_some()
                    && schedule.waiting().iter().all(|waiting| !waiting.request.is_write())
                    && !wrote
                {
                    wrote = true;
                    let new = stock(1, 1);
                    let stored = direct.modify_or_insert(&new, |stock| stock.count += 1).await?;
                    left = Some(stored.count);
                }
                schedule.grant(0);
            };
            let Err(Error::Bulk(error)) = result else { panic!("{result:?}") };
            assert!(matches!(&*error.failures[0].error, Error::OutcomeUnknown(_)), "{error}");
            let now = Stock::key("a", 1).get(&direct).await?.map(|stock| stock.count);
            assert!(wrote && now == left, "{fault:?}, {is_removal}: {now:?} instead of {left:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_load_whose_answer_was_lost_is_not_said_to_have_failed() -> Result<()> {
    let (from, to) = (Plain::default(), Plain::default());
    from.create_table("Stock").await?;
    from.tables().insert(&stock(1, 10)).await?;
    let mut lines = Vec::new();
    from.tables().dump(&mut lines).await?;
    let (inner, later) = Faulty::new(to.clone());
    let (outer, sooner) = Faulty::new(inner);
    sooner.arm_write(Fault::AnswerLost, 0);
    // The repetition.
    later.arm_write(Fault::Refused, 1);
    let error = Tables::new(outer).load(&lines[..]).await.expect_err("the second attempt is refused");
    assert!(matches!(error, TransferError::Store(Error::OutcomeUnknown(_))), "{error}");
    assert!(Stock::key("a", 1).exists(&to.tables()).await?, "the first attempt was applied");
    Ok(())
}
