//! Slices as tables: they are listed, dropped and verified, and one may be in deletion.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use futures_util::StreamExt;
use table_runtime::{
    Error, Result as TableResult, TableEntity, Tables,
    backend::{
        Action, Backend, BackendExt, BoxFuture, Continuation, Description, Group, Reach, ReadRequest, Reader,
        StoreView, TableRequest, Written,
    },
    jobs::Finding,
    row::Properties,
};
use tests::{isolated::Isolated, stores::Store};
use time::macros::datetime;

use super::fixtures::{AUGUST, JUNE, Line, MAY, line, lines, numbers, slices};
use crate::fixtures::findings;

crate::conformance! {
    drop_slices_deletes_slices_that_have_ended
    tables_with_similar_names_are_no_slices
    a_slice_in_deletion_is_empty_and_refuses_writes
    verify_and_repair_process_every_slice
}

async fn drop_slices_deletes_slices_that_have_ended(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    let starts: Vec<_> = tables.slices::<Line>().await?.iter().map(|slice| slice.start.to_string()).collect();
    assert_eq!(starts[..2], ["2010-05-01T00:00:00.0000000Z", "2010-06-01T00:00:00.0000000Z"]);
    assert_eq!(tables.drop_slices::<Line>(..MAY).await?, [], "it has not ended");
    // A slice ends when the next one begins.
    let dropped = tables.drop_slices::<Line>(..JUNE).await?;
    assert_eq!(dropped.iter().map(|slice| slice.table.as_str()).collect::<Vec<_>>(), ["Log201005"]);
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), [0, 1, 2, 3, 4, 5]);
    assert_eq!(Line::key("a", MAY, 6).get(tables).await?, None);
    let dropped = tables.drop_slices::<Line>(..std::time::SystemTime::from(datetime!(2010-12-31 23:00 UTC))).await?;
    assert_eq!(dropped.len(), 2);
    assert_eq!(slices::<Line>(tables).await?, ["Log201101"]);
    // A late write creates its slice again.
    tables.insert(&line(MAY, 8)).await?;
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), [0, 1, 8]);
    assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201101"]);
    Ok(())
}

async fn tables_with_similar_names_are_no_slices(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    for name in ["Log", "Log2010", "Log20101", "Log20100601", "Log201013", "Log000001", "LogX201006", "Log2010065"] {
        store.backend.create_table(name).await?;
    }
    let names = ["Log201005", "Log201006", "Log201008", "Log201101"];
    assert_eq!(slices::<Line>(tables).await?, names);
    assert_eq!(Line::by_key("a").count(tables).await?, 8);
    let dropped = tables.drop_slices::<Line>(..datetime!(9999-01-01 00:00 UTC)).await?;
    assert_eq!(dropped.into_iter().map(|slice| slice.table).collect::<Vec<_>>(), names);
    assert_eq!(store.backend.list_tables("Log").await?.len(), 8);
    Ok(())
}

/// Backend with one table that is being deleted.
#[derive(Clone, Debug)]
struct Deleting {
    inner: Isolated,
    table: Arc<Mutex<Option<&'static str>>>,
}

impl Deleting {
    fn refuse(&self, table: &str) -> TableResult<()> {
        match *self.table.lock().unwrap() {
            Some(deleting) if deleting == table => Err(Error::TableBeingDeleted(table.to_owned().into())),
            _ => Ok(()),
        }
    }
}

impl Backend for Deleting {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, TableResult<Vec<String>>> {
        Box::pin(async move {
            if let TableRequest::Create(table) | TableRequest::Delete(table) = request {
                self.refuse(table)?;
            }
            self.inner.tables(request).await
        })
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, TableResult<Option<Continuation>>> {
        Box::pin(async move {
            self.refuse(request.target.table())?;
            self.inner.read(request, reader).await
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            // The service answers a write as if the table were missing.
            match groups.iter().find(|group| self.refuse(&group.table).is_err()) {
                Some(group) => Err(Error::TableNotFound(group.table.to_string().into()).into()),
                None => self.inner.execute(groups).await,
            }
        })
    }

    fn view(&self, _: StoreView) -> TableResult<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

/// A slice that is being deleted has no rows; a write to it gets an error.
async fn a_slice_in_deletion_is_empty_and_refuses_writes(store: &Store) -> Result<()> {
    let backend = Deleting { inner: store.backend.clone(), table: Arc::default() };
    let tables = Tables::new(backend.clone());
    for at in [MAY, JUNE, AUGUST] {
        tables.insert(&line(at, 1)).await?;
    }
    *backend.table.lock().unwrap() = Some("Log201006");

    let found = Line::by_key("a").all(&tables).await?;
    assert_eq!(found.iter().map(|line| line.at).collect::<Vec<_>>(), [AUGUST, MAY]);
    assert_eq!(Line::key("a", JUNE, 1).get(&tables).await?, None);
    let is_deleting = |error: Error| {
        assert!(matches!(&error, Error::TableBeingDeleted(table) if table == "Log201006"), "{error}");
    };
    is_deleting(tables.insert(&line(JUNE, 2)).await.expect_err("the slice is being deleted"));
    is_deleting(tables.upsert(&line(JUNE, 1)).await.expect_err("the slice is being deleted"));
    is_deleting(tables.transaction().insert(&line(JUNE, 2)).commit().await.expect_err("the slice is being deleted"));
    let error = tables.insert_all([line(JUNE, 2), line(AUGUST, 2)]).await.expect_err("the slice is being deleted");
    let Error::Bulk(error) = error else { panic!("{error}") };
    assert!(matches!(*error.failures[0].error, Error::TableBeingDeleted(_)), "{error}");
    assert_eq!(error.failures[0].position, 0);

    // Earlier slices are dropped all the same, and no error is given for the one in deletion.
    let dropped = tables.drop_slices::<Line>(..AUGUST).await?;
    assert_eq!(dropped.iter().map(|slice| slice.table.as_str()).collect::<Vec<_>>(), ["Log201005"]);
    Ok(())
}

/// Log with a table for each month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(slice = month(at))]
struct Log {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
    text: String,
}

async fn verify_and_repair_process_every_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Log>().await?;
    assert_eq!(findings::<Log>(store).await?, []);
    let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number);
    for number in 0..90 {
        tables.insert(&Log { machine: "a".into(), at: day(number), text: String::new() }).await?;
    }
    assert_eq!(findings::<Log>(store).await?, []);
    let repaired = tables.repair::<Log>().await?;
    assert_eq!((repaired.entities, repaired.left), (90, vec![]));

    store.write("Log197002", ("a", "of another program"), Action::Insert(Properties::default())).await?;
    let found = findings::<Log>(store).await?;
    let [Finding::Foreign { index: None, row, .. }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((row.table.as_str(), row.row_key.as_str()), ("Log197002", "of another program"));
    // A cursor continues in its slice.
    let mut cursors = Vec::new();
    let mut verify = tables.verify::<Log>().side_by_side(1);
    while let Some(found) = verify.next().await {
        cursors.push((found?, verify.cursor().map(str::to_owned)));
    }
    let (_, Some(cursor)) = &cursors[0] else { panic!("{cursors:?}") };
    assert_eq!(tables.verify::<Log>().resume_from(cursor)?.all().await?.len(), 1);
    let last = verify.cursor().context("a cursor at the end")?;
    assert_eq!(tables.verify::<Log>().resume_from(last)?.all().await?, []);

    let (sender, receiver) = mpsc::channel();
    tables.repair::<Log>().side_by_side(1).progress(move |progress| drop(sender.send(progress.clone()))).await?;
    let cursor = receiver.recv()?.cursor.context("a report has a cursor")?;
    assert_eq!(tables.repair::<Log>().resume_from(&cursor)?.await?.entities, 90 - 31 + 1);
    Ok(())
}
