//! The backend that fails at one request: every request can fail in every way, and each fault has its documented
//! effect.

use std::cell::RefCell;

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{AzureBackend, Backend, BackendExt, InMemoryBackend, StoreView},
    error::RowNow,
    testing::{Counting, Counts, Fault, Faulty, Run, for_each_fault},
};
use tests::plain::Plain;

#[derive(TableEntity, Debug, PartialEq)]
struct Counter {
    #[partition_key]
    name: String,
    #[row_key]
    number: u32,
    count: u32,
}

fn counter(number: u32) -> Counter {
    Counter { name: "a".into(), number, count: 0 }
}

async fn store() -> Result<Plain> {
    let store = Plain::default();
    store.tables().create::<Counter>().await?;
    Ok(store)
}

/// Sends one request of each kind of call.
async fn read_and_write(tables: Tables) -> table_runtime::Result<()> {
    Counter::key("a", 1).get(&tables).await?;
    tables.insert(&counter(1)).await?;
    Counter::by_key("a").all(&tables).await?;
    Ok(())
}

#[tokio::test]
async fn every_request_fails_in_every_way() -> Result<()> {
    let runs = RefCell::new(Vec::new());
    let failed = for_each_fault(store, read_and_write, async |run: Run<Plain, _>| {
        let inserted = run.tables.inserted().await?;
        runs.borrow_mut().push((run.fault, run.result.is_ok(), inserted));
        Ok(())
    })
    .await?;
    assert_eq!(failed, 3 * Fault::ALL.len());
    // Each fault comes at the read, at the write, at the scan, and never.
    let expected = Fault::ALL.into_iter().flat_map(|fault| {
        let applied = matches!(fault, Fault::AnswerLost | Fault::StopsAfter);
        [(Some(fault), false, false), (Some(fault), false, applied), (Some(fault), false, true), (None, true, true)]
    });
    assert_eq!(*runs.borrow(), expected.collect::<Vec<_>>());
    Ok(())
}

/// Check whether the store has the row that the program inserts.
trait Inserted {
    async fn inserted(&self) -> Result<bool>;
}

impl Inserted for Tables {
    async fn inserted(&self) -> Result<bool> {
        Ok(Counter::key("a", 1).exists(self).await?)
    }
}

#[tokio::test]
async fn an_error_says_as_much_as_can_be_known() -> Result<()> {
    for fault in Fault::ALL {
        let (backend, faults) = Faulty::new(store().await?);
        let tables = Tables::new(backend);
        faults.arm(fault, 0);
        let error = tables.insert(&counter(1)).await.expect_err("the fault");
        let hit = faults.hit().expect("a request");
        assert_eq!(hit.to_string(), "insert of Counter(PartitionKey='a',RowKey='0000000001')");
        let known = match error {
            Error::NoAnswer { .. } => "nothing was written",
            Error::OutcomeUnknown(error) => match error.now {
                RowNow::Present(_) => "the row exists",
                RowNow::Absent => "the row is missing",
                RowNow::Unread(_) => "the row cannot be read",
            },
            other => return Err(other.into()),
        };
        let (expected, answers) = match fault {
            Fault::Refused => ("nothing was written", true),
            Fault::AnswerLost => ("the row exists", true),
            Fault::RequestLost => ("the row is missing", true),
            Fault::StopsBefore => ("nothing was written", false),
            Fault::StopsAfter => ("the row cannot be read", false),
        };
        assert_eq!(known, expected, "{fault:?}");
        // Only a lasting fault affects later requests.
        assert_eq!(tables.inserted().await.is_ok(), answers, "{fault:?}");
        assert_eq!(tables.insert(&counter(2)).await.is_ok(), answers, "{fault:?}");
        faults.disarm();
        assert!(tables.inserted().await.is_ok());
        assert_eq!(faults.hit(), None);
    }
    Ok(())
}

#[tokio::test]
async fn the_answer_to_a_refused_write_can_be_lost_too() -> Result<()> {
    let (backend, requests) = Counting::new(store().await?);
    let (backend, faults) = Faulty::new(backend);
    let tables = Tables::new(backend);
    tables.insert(&counter(1)).await?;
    requests.take();
    faults.arm(Fault::AnswerLost, 0);
    let error = tables.insert(&counter(1)).await.expect_err("the row exists");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    let expected = Counts { executes: 1, operations: 1, gets: 1, ..Counts::default() };
    assert_eq!(requests.counts(), expected);
    Ok(())
}

#[tokio::test]
async fn a_fault_of_a_write_leaves_reads_alone() -> Result<()> {
    let (backend, faults) = Faulty::new(store().await?);
    let tables = Tables::new(backend);
    faults.arm_write(Fault::Refused, 1);
    tables.insert(&counter(1)).await?;
    assert!(tables.inserted().await?);
    let error = tables.insert(&counter(2)).await.expect_err("the second write fails");
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
    tables.insert(&counter(2)).await?;
    Ok(())
}

#[tokio::test]
async fn the_error_of_a_check_names_the_faulty_request() -> Result<()> {
    let error = for_each_fault(store, read_and_write, async |run: Run<Plain, _>| {
        ensure!(run.fault.is_none() || !run.tables.inserted().await?, "the row exists");
        Ok(())
    })
    .await
    .expect_err("the row exists after a fault");
    assert_eq!(format!("{error:#}"), "Refused at request 2, query of Counter (PartitionKey eq 'a'): the row exists");
    Ok(())
}

#[tokio::test]
async fn another_writer_runs_before_each_request() -> Result<()> {
    let runs = RefCell::new(Vec::new());
    let insert = async |tables: Tables| tables.insert(&counter(1)).await.map(drop);
    let disturbed = for_each_fault(store, read_and_write, async |run: Run<Plain, _>| {
        if run.fault.is_none() {
            let told = |told: &table_runtime::Result<()>| match told {
                Ok(()) => "done",
                Err(Error::AlreadyExists(_)) => "exists",
                Err(error) => panic!("{error}"),
            };
            runs.borrow_mut().push((told(&run.result), run.other.as_ref().map(told)));
        }
        Ok(())
    })
    .beside(insert)
    .await?;
    assert_eq!(disturbed, 3 * (Fault::ALL.len() + 1));
    let without = [("done", None); Fault::ALL.len()];
    // Before the read, before the insert, before the scan, and never.
    let beside = [("exists", Some("done")), ("exists", Some("done")), ("done", Some("exists")), ("done", None)];
    assert_eq!(*runs.borrow(), [&without[..], &beside].concat());
    let error = for_each_fault(store, read_and_write, async |run: Run<Plain, _>| {
        ensure!(run.other.is_none_or(|other| other.is_ok()), "the other one was told so");
        Ok(())
    })
    .beside(insert)
    .await
    .expect_err("one of both is told so");
    let place = "another writer before request 2, query of Counter (PartitionKey eq 'a')";
    assert_eq!(format!("{error:#}"), format!("{place}: the other one was told so"));
    Ok(())
}

#[tokio::test]
async fn reads_of_a_snapshot_and_of_the_secondary_region_fail_too() -> Result<()> {
    let (store, faults) = Faulty::new(InMemoryBackend::new()?);
    store.create_table("Posts").await?;
    let snapshot = store.view(StoreView::Snapshot)?.context("a store in memory has snapshots")?;
    assert!(snapshot.get("Posts", "a", "1", None).await?.is_none());
    faults.arm(Fault::Refused, 0);
    let error = snapshot.get("Posts", "a", "1", None).await.expect_err("the fault");
    assert!(error.to_string().contains("the test made it fail"), "{error}");

    let (service, faults) = Faulty::new(AzureBackend::builder("acc").access_key("c2VjcmV0").build()?);
    let secondary = service.view(StoreView::SecondaryReads)?.context("an account has a secondary region")?;
    // The request is not sent.
    faults.arm(Fault::Refused, 0);
    let error = secondary.get("Posts", "a", "1", None).await.expect_err("the fault");
    assert!(error.to_string().contains("the test made it fail"), "{error}");
    Ok(())
}
