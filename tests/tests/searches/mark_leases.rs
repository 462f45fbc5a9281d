//! The lease of a mark while a commit that records events is under way, request by request.

use std::{pin::Pin, time::Duration};

use anyhow::{Context as _, Result, ensure};
use futures_util::FutureExt as _;
use table_runtime::{ETag, Error, TableEntity, Tables};
use tests::{
    stores::Kind,
    turns::{Fate, Gate, Turns},
};

/// Half of a lease, and some more.
const HALF: Duration = Duration::from_secs(31);

#[derive(TableEntity, Clone)]
#[table(name = "Notes", events)]
struct Note {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

/// An insert whose requests the test grants.
struct Running {
    gate: Gate,
    future: Pin<Box<dyn Future<Output = table_runtime::Result<ETag>>>>,
    result: Option<table_runtime::Result<ETag>>,
}

impl Running {
    /// Begins an insert, up to its commit.
    async fn begin() -> Result<Self> {
        let (store, gate) = (Kind::Plain.open()?, Gate::default());
        Tables::new(store.backend.clone()).create::<Note>().await?;
        gate.begin(0, 0);
        let tables = Tables::new(Turns::new(store.backend, gate.clone(), 0));
        let insert = async move { tables.insert(&Note { author: "a".into(), id: 1 }).await };
        let mut running = Self { gate, future: Box::pin(insert), result: None };
        ensure!(running.waiting()[0].starts_with("TableEvents"), "the mark comes first: {:?}", running.waiting());
        running.grant("TableEvents", Fate::Answered)?;
        Ok(running)
    }

    fn go_on(&mut self) {
        if self.result.is_none() {
            self.result = (&mut self.future).now_or_never();
        }
    }

    /// Returns the requests that wait, without those that were given up.
    fn waiting(&mut self) -> Vec<String> {
        self.go_on();
        self.gate.waiting().iter().filter(|waiting| !waiting.is_dropped()).map(|waiting| waiting.text.clone()).collect()
    }

    /// Lets the request that begins so go on.
    fn grant(&mut self, begin: &str, fate: Fate) -> Result<()> {
        let waiting = self.gate.waiting();
        let found = waiting.iter().find(|waiting| !waiting.is_dropped() && waiting.text.starts_with(begin));
        self.gate.grant(found.with_context(|| format!("{begin} among {waiting:?}"))?.id, fate);
        self.go_on();
        self.gate.acknowledge();
        self.go_on();
        Ok(())
    }

    /// Lets time pass.
    fn pass(&mut self, time: Duration) {
        self.gate.pass(time);
        self.go_on();
    }
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_commit_is_under_way() -> Result<()> {
    let mut insert = Running::begin().await?;
    for _ in 0..3 {
        ensure!(insert.waiting().len() == 1 && insert.waiting()[0].starts_with("Notes"), "{:?}", insert.waiting());
        insert.pass(HALF);
        let waiting = insert.waiting();
        ensure!(waiting.len() == 2 && waiting[1].starts_with("TableEvents"), "half of the lease is over: {waiting:?}");
        insert.grant("TableEvents", Fate::Answered)?;
    }
    insert.grant("Notes", Fate::Answered)?;
    insert.result.context("it has ended")?.map(drop)?;
    Ok(())
}

#[tokio::test]
async fn a_commit_is_given_up_when_its_lease_ends() -> Result<()> {
    let mut insert = Running::begin().await?;
    insert.pass(HALF);
    insert.grant("TableEvents", Fate::Refused)?;
    ensure!(insert.waiting().len() == 1, "the lease goes on: {:?}", insert.waiting());
    insert.pass(HALF);
    // The commit may still be carried out, so the mark is written again, and the rows are read.
    ensure!(insert.waiting()[0].starts_with("TableEvents"), "the commit is given up: {:?}", insert.waiting());
    insert.grant("TableEvents", Fate::Answered)?;
    while insert.result.is_none() {
        insert.grant("get", Fate::Answered)?;
    }
    let lost = insert.result.context("it has ended")?;
    ensure!(matches!(&lost, Err(Error::OutcomeUnknown(lost)) if lost.reason.contains("mark")), "{lost:?}");
    Ok(())
}

#[tokio::test]
async fn a_mark_that_is_answered_after_the_lease_renews_nothing() -> Result<()> {
    let mut insert = Running::begin().await?;
    insert.pass(HALF);
    ensure!(insert.waiting().len() == 2, "{:?}", insert.waiting());
    insert.pass(HALF);
    let waiting = insert.waiting();
    ensure!(waiting.iter().all(|request| request.starts_with("TableEvents")), "the commit is given up: {waiting:?}");
    Ok(())
}
