//! Progress and cursors of `verify`, `repair` and `backfill`.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use futures_util::TryStreamExt;
use table_runtime::{
    Error, TableEntity,
    backend::{Action, BackendExt, Group, Operation},
    jobs::{Finding, VerifiedSample},
    row::{Properties, ValueRef},
};
use tests::stores::{Kind, Store};
use tokio::sync::mpsc;

use super::fixtures::{Chair, Person, entity};
use crate::fixtures::findings;

crate::conformance! {
    a_repair_resumes_from_its_cursor
    a_verification_resumes_from_its_cursor
    a_verification_reports_progress_after_each_page
    a_sample_reads_the_ranges_that_its_seed_draws
    a_job_stays_in_the_constant_partition_of_its_entity
    a_cursor_of_another_job_is_refused
    a_cursor_from_before_an_index_was_added_is_refused
}

/// Writes the rows of chairs in one hall and leaves out every third name's index row. Returns what `verify` has to
/// find.
async fn load_chairs(store: &Store, count: u32) -> Result<Vec<Finding>> {
    store.tables.create::<Chair>().await?;
    let mut missing = Vec::new();
    let numbers: Vec<_> = (0..count).collect();
    for chunk in numbers.chunks(50) {
        let mut operations = Vec::new();
        for number in chunk {
            let name = format!("{number:05}");
            let mut properties = Properties::default();
            properties.push("Name", ValueRef::String(&name));
            let own = format!("number-{number:010}");
            operations.push(Operation { row_key: own.clone(), action: Action::Insert(properties) });
            let row_key = format!("name-{name}");
            if number % 3 == 0 {
                let (row, entity) = (entity("Chairs", &row_key), entity("Chairs", &own));
                missing.push(Finding::MissingRow { index: "name".into(), row, entity });
            } else {
                let mut pointer = Properties::default();
                pointer.push("IndexedEntityNumber", ValueRef::Int64((*number).into()));
                operations.push(Operation { row_key, action: Action::Insert(pointer) });
            }
        }
        let group = Group { table: "Chairs".into(), partition_key: "Sales".into(), operations };
        store.backend.execute_group(&group).await?;
    }
    Ok(missing)
}

/// Number of chairs: more than two pages if a request is cheap.
fn pages(store: &Store) -> u32 {
    if matches!(store.kind, Kind::Memory | Kind::Disk) { 2500 } else { 1050 }
}

async fn a_repair_resumes_from_its_cursor(store: &Store) -> Result<()> {
    let missing = load_chairs(store, pages(store)).await?;
    // The repair is stopped after the first page with entities whose rows are missing. It has compared all rows before.
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let repair =
        store.tables.repair::<Chair>().side_by_side(1).progress(move |progress| drop(sender.send(progress.clone())));
    let fixed = async {
        while let Some(progress) = receiver.recv().await {
            if progress.fixed > 0 {
                return Ok(progress);
            }
        }
        anyhow::bail!("nothing was fixed")
    };
    let progress = tokio::select! {
        // The report stops it before it is polled again.
        biased;
        progress = fixed => progress?,
        repaired = repair => anyhow::bail!("it was not stopped: {repaired:?}"),
    };
    let cursor = progress.cursor.context("a report has a cursor")?;
    let count = pages(store) as usize;
    assert_eq!((progress.entities, progress.index_rows, progress.fixed), (count, count - missing.len(), 334));
    // It may have fixed a few more rows before it was stopped.
    let left = findings::<Chair>(store).await?;
    ensure!(left.len() > 10 && missing[334..].ends_with(&left), "{} are left", left.len());

    let repaired = store.tables.repair::<Chair>().resume_from(&cursor)?.await?;
    ensure!(repaired.fixed == left, "{} were fixed", repaired.fixed.len());
    // All of them were counted before.
    assert_eq!(repaired.entities, 0);
    assert_eq!(findings::<Chair>(store).await?, []);
    assert_eq!(Chair::by_name("Sales").count_unchecked(&store.tables).await?, pages(store) as usize);
    Ok(())
}

async fn a_verification_resumes_from_its_cursor(store: &Store) -> Result<()> {
    let missing = load_chairs(store, pages(store)).await?;
    let mut verify = store.tables.verify::<Chair>().side_by_side(1);
    assert_eq!(verify.cursor(), None);
    for finding in &missing[..335] {
        assert_eq!(verify.try_next().await?.as_ref(), Some(finding));
    }
    // It has returned all findings of the first page that has any, and one of the second.
    let cursor = verify.cursor().context("it is past its first page")?.to_owned();
    drop(verify);
    let rest = store.tables.verify::<Chair>().side_by_side(1).resume_from(&cursor)?.all().await?;
    assert_eq!(rest, missing[334..]);
    Ok(())
}

async fn a_verification_reports_progress_after_each_page(store: &Store) -> Result<()> {
    let missing = load_chairs(store, pages(store)).await?;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let shared = reports.clone();
    let verify = store
        .tables
        .verify::<Chair>()
        .side_by_side(1)
        .progress(move |progress| shared.lock().unwrap().push(progress.clone()));
    assert_eq!(verify.all().await?, missing);
    let reports = std::mem::take(&mut *reports.lock().unwrap());
    let (begun, last) = reports.first().zip(reports.last()).context("there are pages")?;
    let count = pages(store) as usize;
    // The missing rows are known once all rows are read.
    assert_eq!((begun.entities, begun.index_rows, begun.findings), (1000, 0, 0));
    assert_eq!((begun.pass, begun.passes, last.pass, last.passes), (1, 1, 1, 1));
    let first = reports.iter().find(|progress| progress.findings > 0).context("there are findings")?;
    assert_eq!((last.entities, last.findings, last.fixed), (count, missing.len(), 0));
    assert_eq!(last.index_rows, count - missing.len());
    // The first page with findings is reported once all of them were returned, and none of the next page.
    assert_eq!((first.entities, first.index_rows, first.findings), (count, last.index_rows, 334));
    let cursor = first.cursor.as_deref().context("a report has a cursor")?;
    assert_eq!(store.tables.verify::<Chair>().side_by_side(1).resume_from(cursor)?.all().await?, missing[334..]);
    Ok(())
}

/// Entity of a single partition, in a table with other partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Flags", partition = "all")]
struct Flag {
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
}

/// Entity in other partitions of that table, with rows of the same form.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Flags")]
struct Neighbour {
    #[partition_key]
    hall: String,
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
}

async fn a_sample_reads_the_ranges_that_its_seed_draws(store: &Store) -> Result<()> {
    let missing = load_chairs(store, 350).await?;
    let verify = || store.tables.verify::<Chair>().sample(4).seed(7);
    let mut reports = Vec::new();
    let verified = verify().side_by_side(1).progress(|progress| reports.push(progress.clone())).await?;
    let sample = verified.sample.as_ref().context("a sample")?;
    // Two of the entities, each with problems, and two of the index rows, which are right.
    assert_eq!((sample.ranges, sample.damaged, sample.seed), (4, 2, 7));
    assert!((10..=200).contains(&verified.entities) && (10..=200).contains(&verified.index_rows), "{verified:?}");
    assert!(verified.findings.len() >= verified.entities / 4, "{verified:?}");
    assert!(verified.findings.iter().all(|found| missing.contains(found)));
    assert_eq!(reports.len(), 4);
    let last = reports.last().context("a report")?;
    assert_eq!((last.entities, last.index_rows), (verified.entities, verified.index_rows));
    assert_eq!((last.findings, last.fixed, &last.cursor), (verified.findings.len(), 0, &None));
    let again = verify().side_by_side(4).await?;
    let ranges = |sample: Option<VerifiedSample>| sample.map(|sample| (sample.ranges, sample.damaged, sample.seed));
    assert_eq!(ranges(again.sample), ranges(verified.sample));
    let repaired = store.tables.repair::<Chair>().await?;
    assert_eq!(repaired.fixed, missing);
    let verified = verify().all().await?;
    assert_eq!(verified, []);
    Ok(())
}

async fn a_job_stays_in_the_constant_partition_of_its_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Flag>().await?;
    for number in [1, 2] {
        tables.insert(&Flag { number, name: "a".into() }).await?;
        tables.insert(&Neighbour { hall: "beside".into(), number: number + 2, name: "a".into() }).await?;
    }
    let before = store.rows("Flags").await?;

    let (sender, mut receiver) = mpsc::unbounded_channel();
    tables.repair::<Flag>().progress(move |progress| drop(sender.send(progress.clone()))).await?;
    let mut cursors = 0;
    while let Some(progress) = receiver.recv().await {
        let cursor = progress.cursor.context("a report has a cursor")?;
        let repaired = tables.repair::<Flag>().resume_from(&cursor)?.await?;
        assert_eq!((repaired.entities, repaired.fixed, repaired.left), (0, vec![], vec![]));
        assert!(
            matches!(tables.verify::<Flag>().resume_from(&cursor), Err(Error::Cursor(_))),
            "the cursor is bound to its job"
        );
        cursors += 1;
    }
    assert_eq!(cursors, 2);
    assert_eq!(store.rows("Flags").await?, before);

    let (sender, mut receiver) = mpsc::unbounded_channel();
    tables.backfill::<Flag>("name").progress(move |progress| drop(sender.send(progress.clone()))).await?;
    let cursor = receiver.recv().await.and_then(|progress| progress.cursor).context("a report has a cursor")?;
    let filled = tables.backfill::<Flag>("name").resume_from(&cursor)?.await?;
    assert_eq!((filled.entities, filled.written, filled.ready), (0, 0, true));
    // A cursor of the other entity is refused.
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tables.repair::<Neighbour>().progress(move |progress| drop(sender.send(progress.clone()))).await?;
    let cursor = receiver.recv().await.and_then(|progress| progress.cursor).context("a report has a cursor")?;
    assert!(matches!(tables.repair::<Flag>().resume_from(&cursor), Err(Error::Cursor(_))));
    Ok(())
}

async fn a_cursor_of_another_job_is_refused(store: &Store) -> Result<()> {
    load_chairs(store, 3).await?;
    store.tables.create::<Person>().await?;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    store
        .tables
        .repair::<Chair>()
        .side_by_side(1)
        .progress(move |progress| drop(sender.send(progress.clone())))
        .await?;
    let mut cursors = Vec::new();
    while let Some(progress) = receiver.recv().await {
        cursors.extend(progress.cursor);
    }
    ensure!(!cursors.is_empty(), "no page was reported");
    for cursor in &cursors {
        store.probe.requests();
        assert!(matches!(store.tables.repair::<Person>().resume_from(cursor), Err(Error::Cursor(_))), "another entity");
        assert!(matches!(store.tables.verify::<Person>().resume_from(cursor), Err(Error::Cursor(_))), "another entity");
        let cut = &cursor[..cursor.len() - 2];
        assert!(matches!(store.tables.repair::<Chair>().resume_from(cut), Err(Error::Cursor(_))), "damaged");
        assert_eq!(store.probe.requests(), 0);
    }
    // A backfill reads entities only and refuses a cursor into index rows.
    let last = cursors.last().context("a page of an index")?;
    assert!(matches!(store.tables.backfill::<Chair>("name").resume_from(last), Err(Error::Cursor(_))));
    let repaired = store.tables.repair::<Chair>().resume_from(last)?.await?;
    assert_eq!((repaired.entities, repaired.fixed), (0, vec![]));
    Ok(())
}

/// The chair of a program that does not know the index yet.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Chairs")]
struct OldChair {
    #[partition_key]
    hall: String,
    #[row_key(prefix = "number-")]
    number: u32,
    name: String,
}

async fn a_cursor_from_before_an_index_was_added_is_refused(store: &Store) -> Result<()> {
    load_chairs(store, 5).await?;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    store.tables.repair::<OldChair>().progress(move |progress| drop(sender.send(progress.clone()))).await?;
    let cursor = receiver.recv().await.and_then(|progress| progress.cursor).context("a report has a cursor")?;
    assert!(store.tables.repair::<OldChair>().resume_from(&cursor).is_ok());
    // The repair with the index would skip the rows of the index.
    let resumed = store.tables.repair::<Chair>().resume_from(&cursor);
    assert!(matches!(resumed, Err(Error::Cursor(_))), "{resumed:?}");
    Ok(())
}
