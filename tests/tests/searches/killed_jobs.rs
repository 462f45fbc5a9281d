//! Jobs that are killed at a request, or end with its error, and go on from the last cursor that they reported, with another
//! number of pages at the same time: in the end, the store has the rows that it has after a job that was not disturbed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use futures_util::future::LocalBoxFuture;
use table_runtime::{
    TableEntity, Tables, Ticks,
    backend::{Action, Backend, BackendExt, Group, IfMatch, KeyRange, Operation, Partitions, Reach, Scan},
    jobs::{Job, JobKind, Progress, Resumable, Swept},
    row::{Row, RowRef},
};
use tests::{depth::Depth, far::Far, plain::Plain};

/// Number of entities.
const COUNT: u32 = 24;
/// Largest number of rows of a page.
const PAGE: u32 = 4;

/// Entity before it had indexes.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Crates", entity = "Crate", expires = until)]
struct PlainCrate {
    #[partition_key]
    dock: u32,
    #[row_key(prefix = "id-")]
    number: u32,
    owner: String,
    label: String,
    until: SystemTime,
}

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Crates", entity = "Crate", expires = until)]
struct Crate {
    #[partition_key]
    dock: u32,
    #[row_key(prefix = "id-")]
    number: u32,
    #[index(owner, copy)]
    owner: String,
    #[index(label, unique)]
    label: String,
    until: SystemTime,
}

/// The entity at another key.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "CratesByNumber", row = "crate")]
struct Moved {
    #[partition_key]
    number: u32,
    #[index(owner)]
    owner: String,
}

impl From<PlainCrate> for Moved {
    fn from(PlainCrate { number, owner, .. }: PlainCrate) -> Self {
        Self { number, owner }
    }
}

/// Rows of a store without versions: properties by table and keys.
type Rows = BTreeMap<(String, String, String), BTreeMap<String, String>>;

/// Properties that differ from run to run.
const IDS: [&str; 2] = ["WriteId", "IndexPending"];

async fn rows(store: &Plain) -> Result<Rows> {
    let (mut rows, tables) = (Rows::new(), Tables::new(store.clone()));
    for table in tables.inventory().await?.tables.into_iter().filter(|table| table != "TableLayouts") {
        for row in table_rows(store, &table).await? {
            let properties = row.properties.iter().filter(|(name, _)| !IDS.contains(name));
            let properties = properties.map(|(name, value)| (name.to_owned(), value.to_string())).collect();
            rows.insert((table.clone(), row.partition_key, row.row_key), properties);
        }
    }
    Ok(rows)
}

async fn table_rows(store: &Plain, table: &str) -> Result<Vec<Row>> {
    let (partitions, rows) = (Partitions::ALL, KeyRange::ALL);
    let scan = Scan { table: table.to_owned().into(), partitions, rows, filter: None, select: None, page: 1000 };
    Ok(store.query(&scan, None).await?.rows.iter().map(RowRef::to_row).collect())
}

/// The last cursor that a job has reported, and the number of problems that it had found.
type Cursor = Arc<Mutex<(Option<String>, usize)>>;

/// Runs a job on a store from a cursor, if there is one, with so many pages at the same time. Returns what it has found.
type Run = fn(Tables, usize, Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>>;

/// Returns the job, which goes on from the cursor and reports its cursors there.
fn resumed<K: JobKind + Resumable>(
    job: Job<'static, K>,
    (pages, cursor): (usize, Cursor),
    of: fn(&K::Progress) -> (Option<String>, usize),
) -> Result<Job<'static, K>> {
    let saved = cursor.lock().expect("a lock").0.clone();
    let job = match saved {
        Some(saved) => job.resume_from(&saved)?,
        None => job,
    };
    Ok(job.side_by_side(pages).progress(move |progress| *cursor.lock().expect("a lock") = of(progress)))
}

const OF: fn(&Progress) -> (Option<String>, usize) = |progress| (progress.cursor.clone(), 0);
const OF_FINDINGS: fn(&Progress) -> (Option<String>, usize) = |progress| (progress.cursor.clone(), progress.findings);
const OF_SWEEP: fn(&Swept) -> (Option<String>, usize) = |swept| (swept.cursor.clone(), 0);

fn backfill(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let filled = resumed(tables.backfill::<Crate>("owner").memory(100), (pages, cursor), OF)?.await?;
        ensure!(filled.ready, "{filled:?}");
        Ok(BTreeSet::new())
    })
}

fn unique(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let filled = resumed(tables.backfill::<Crate>("label"), (pages, cursor), OF)?.await?;
        ensure!(filled.ready, "{filled:?}");
        Ok(BTreeSet::new())
    })
}

fn repair(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let repaired = resumed(tables.repair::<Crate>().memory(200), (pages, cursor), OF)?.await?;
        ensure!(repaired.left.is_empty(), "{repaired:?}");
        Ok(BTreeSet::new())
    })
}

fn verify(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let verified = resumed(tables.verify::<Crate>().memory(200), (pages, cursor), OF_FINDINGS)?.await?;
        Ok(verified.findings.iter().map(ToString::to_string).collect())
    })
}

fn sweep(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let swept = resumed(tables.sweep::<Crate>(), (pages, cursor), OF_SWEEP)?.await?;
        ensure!(swept.left == 0, "{swept:?}");
        // A deletion that was killed leaves rows of indexes, as each does.
        tables.repair::<Crate>().await?;
        Ok(BTreeSet::new())
    })
}

fn sweep_recorded(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let inventory = tables.inventory().await?;
        let job = inventory.sweep(&tables, &inventory.entities[0]);
        let swept = resumed(job, (pages, cursor), OF_SWEEP)?.await?;
        ensure!(swept.left == 0 && !swept.is_outdated, "{swept:?}");
        tables.repair::<Crate>().await?;
        Ok(BTreeSet::new())
    })
}

fn migrate(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let tables = tables.with_lease(Duration::from_millis(1));
        let moved = resumed(tables.migrate::<PlainCrate, Moved>().memory(100), (pages, cursor), OF)?.await?;
        ensure!(moved.switched, "{moved:?}");
        Ok(BTreeSet::new())
    })
}

fn drop_index(tables: Tables, pages: usize, _: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let tables = tables.with_lease(Duration::from_millis(1));
        match tables.drop_index::<PlainCrate>("owner").side_by_side(pages).await {
            // The run that was killed had ended.
            Err(table_runtime::Error::Query(_)) => {}
            dropped => {
                dropped?;
            }
        }
        Ok(BTreeSet::new())
    })
}

fn copy(tables: Tables, pages: usize, cursor: Cursor) -> LocalBoxFuture<'static, Result<BTreeSet<String>>> {
    Box::pin(async move {
        let [from, to] = ["from1", "to1"].map(|prefix| tables.with_prefix(prefix));
        resumed(from.copy_to(&to), (pages, cursor), OF)?.await?;
        Ok(BTreeSet::new())
    })
}

/// How a job is disturbed.
#[derive(Clone, Copy, Debug)]
enum End {
    /// No request is answered any more.
    Killed,
    /// One request fails.
    Refused,
}

/// Runs the job whole, and then disturbed at each request, with each of these numbers of pages before and after.
async fn check(start: &Plain, run: Run, ends: &[End]) -> Result<usize> {
    let far = |store: &Plain| Far::new(store.clone()).with_pages(PAGE);
    let whole = start.copy();
    let found = run(Tables::new(far(&whole)), 1, Cursor::default()).await?;
    let expected = rows(&whole).await?;
    let mut disturbed = 0;
    let pages = [(1, 1), (4, 3), (1, 5), (5, 1)];
    for (end, (before, after)) in ends.iter().flat_map(|end| pages.map(|pages| (*end, pages))) {
        for number in (0..).step_by(Depth::choose(3, 1, 1)) {
            let (store, cursor) = (start.copy(), Cursor::default());
            let far_away = match end {
                End::Killed => far(&store).until(number),
                End::Refused => far(&store).refusing(number),
            };
            let job = run(Tables::new(far_away.clone()), before, cursor.clone());
            let context = || format!("{before} pages, {end:?} at request {number}, then {after}");
            let is_done = tokio::select! {
                biased;
                done = job => match (done, end) {
                    (Ok(_), _) => true,
                    (Err(_), End::Refused) => false,
                    (Err(error), End::Killed) => return Err(error.context(context())),
                },
                () = far_away.ended() => false,
            };
            if !is_done {
                let before = cursor.lock().expect("a lock").1;
                let rest = run(Tables::new(far(&store)), after, cursor.clone()).await.with_context(context)?;
                // None is found twice, and none is left out.
                ensure!(
                    rest.is_subset(&found) && before + rest.len() == found.len(),
                    "{}: {before}, {rest:?}",
                    context()
                );
                disturbed += 1;
            }
            let now = rows(&store).await?;
            ensure!(now == expected, "{}: {now:#?} instead of {expected:#?}", context());
            if far_away.requests() <= number {
                break;
            }
        }
    }
    Ok(disturbed)
}

fn plain(number: u32) -> PlainCrate {
    let until = SystemTime::UNIX_EPOCH + Duration::from_secs(number.into());
    PlainCrate { dock: number / 5, number, owner: format!("owner {}", number % 3), label: format!("l{number}"), until }
}

fn indexed(number: u32) -> Crate {
    let PlainCrate { dock, number, owner, label, until } = plain(number);
    Crate { dock, number, owner, label, until }
}

/// Returns a store with entities without indexes, one whose indexes are not built, and one with all index rows.
async fn stores() -> Result<(Plain, Plain, Plain)> {
    let without = Plain::since(Ticks::now()).with_reach(Reach::Partition);
    let tables = Tables::new(without.clone());
    tables.create::<PlainCrate>().await?;
    tables.insert_all((0..COUNT).map(plain)).await?;
    let (old, new) = (without.copy(), without.copy());
    Tables::new(old.clone()).create::<Crate>().await?;
    let tables = Tables::new(new.clone());
    tables.create::<Crate>().await?;
    tables.backfill::<Crate>("owner").await?;
    tables.backfill::<Crate>("label").await?;
    Ok((without, old, new))
}

/// Deletes every third row of the index, and every fifth entity without its rows.
async fn damage(store: &Plain) -> Result<()> {
    for (table, every) in [("CratesByOwner", 3), ("Crates", 5)] {
        for row in table_rows(store, table).await?.iter().step_by(every) {
            let row_key = row.row_key.clone();
            let operations = vec![Operation { row_key, action: Action::Delete(IfMatch::Any) }];
            let group = Group { table: table.into(), partition_key: row.partition_key.clone(), operations };
            store.execute(&[group]).await.map_err(|failed| failed.error)?;
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn every_job_that_is_killed_goes_on() -> Result<()> {
    let (plain, old, new) = stores().await?;
    let from = Plain::since(Ticks::now()).with_reach(Reach::Partition);
    let tables = Tables::new(from.clone()).with_prefix("from1");
    tables.create::<Crate>().await?;
    tables.insert_all((0..COUNT).map(indexed)).await?;
    let damaged = new.copy();
    damage(&damaged).await?;
    let both: &[End] = &[End::Killed, End::Refused];
    let jobs: [(&str, &Plain, Run, &[End]); 9] = [
        ("backfill", &old, backfill, both),
        ("backfill of a unique index", &old, unique, both),
        ("verify", &damaged, verify, both),
        // A row that could not be deleted is left to the next repair.
        ("repair", &damaged, repair, &[End::Killed]),
        ("sweep", &new, sweep, both),
        ("sweep by the catalog", &new, sweep_recorded, both),
        ("migrate", &plain, migrate, both),
        ("drop_index", &new, drop_index, both),
        ("copy", &from, copy, both),
    ];
    for (name, store, job, ends) in jobs {
        let disturbed = check(store, job, ends).await.context(name)?;
        ensure!(disturbed > 20, "{name}: {disturbed}");
    }
    Ok(())
}
