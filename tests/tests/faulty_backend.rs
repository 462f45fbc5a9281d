//! The backend that fails at one request: every request fails, in every way, and does what it says.

use std::cell::RefCell;

use anyhow::{Result, ensure};
use table_runtime::{Error, RowNow, TableEntity, Tables};
use tests::{
    faulty::{Fault, Faulty, Run, for_each_fault},
    plain::Plain,
};

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

/// One request for each kind of call.
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
    // Of each way: at the read, at the write, at the scan, and at none.
    let expected = Fault::ALL.into_iter().flat_map(|fault| {
        let applied = matches!(fault, Fault::AnswerLost | Fault::GoneAfter);
        [(Some(fault), false, false), (Some(fault), false, applied), (Some(fault), false, true), (None, true, true)]
    });
    assert_eq!(*runs.borrow(), expected.collect::<Vec<_>>());
    Ok(())
}

/// Whether the store has the row that the program inserts.
trait Inserted {
    async fn inserted(&self) -> Result<bool>;
}

impl Inserted for Tables {
    async fn inserted(&self) -> Result<bool> {
        Ok(Counter::key("a", 1).exists(self).await?)
    }
}

#[tokio::test]
async fn the_writer_is_told_what_can_be_known() -> Result<()> {
    for fault in Fault::ALL {
        let (backend, faults) = Faulty::new(store().await?);
        let tables = Tables::new(backend);
        faults.arm(fault, 0);
        let error = tables.insert(&counter(1)).await.expect_err("it fails");
        let hit = faults.hit().expect("a request");
        assert_eq!(hit, "insert of Counter(PartitionKey='a',RowKey='0000000001')");
        let known = match error {
            Error::NoAnswer { .. } => "nothing was written",
            Error::OutcomeUnknown(error) => match error.now {
                RowNow::Present(_) => "it is there",
                RowNow::Absent => "it is not there",
                RowNow::Unread(_) => "it cannot be read",
            },
            other => return Err(other.into()),
        };
        let (expected, answers) = match fault {
            Fault::Refused => ("nothing was written", true),
            Fault::AnswerLost => ("it is there", true),
            Fault::RequestLost => ("it is not there", true),
            Fault::GoneBefore => ("nothing was written", false),
            Fault::GoneAfter => ("it cannot be read", false),
        };
        assert_eq!(known, expected, "{fault:?}");
        // Only those that last are there at later requests.
        assert_eq!(tables.inserted().await.is_ok(), answers, "{fault:?}");
        assert_eq!(tables.insert(&counter(2)).await.is_ok(), answers, "{fault:?}");
        faults.disarm();
        assert!(tables.inserted().await.is_ok());
        assert_eq!(faults.hit(), None);
    }
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_lost_like_any_answer() -> Result<()> {
    let (backend, faults) = Faulty::new(store().await?);
    let tables = Tables::new(backend);
    tables.insert(&counter(1)).await?;
    faults.arm(Fault::AnswerLost, 0);
    let error = tables.insert(&counter(1)).await.expect_err("it exists");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert_eq!(faults.requests(), 2);
    Ok(())
}

#[tokio::test]
async fn what_a_check_finds_names_the_request() -> Result<()> {
    let error = for_each_fault(store, read_and_write, async |run: Run<Plain, _>| {
        ensure!(run.fault.is_none() || !run.tables.inserted().await?, "it is there");
        Ok(())
    })
    .await
    .expect_err("the row is there after a fault");
    assert_eq!(format!("{error:#}"), "Refused at request 2, query of Counter: it is there");
    Ok(())
}
