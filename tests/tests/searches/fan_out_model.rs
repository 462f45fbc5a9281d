//! Merging of hash partitions: the rows are compared with a sorted model, and the requested pages are counted.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use proptest::prelude::*;
use table_runtime::{
    Result as TableResult, TableEntity, Tables, Value,
    backend::{
        Action, Backend, BackendExt, BoxFuture, Continuation, Description, Group, InMemoryBackend, Operation,
        Partitions, Reach, ReadRequest, ReadTarget, Reader, Scan, StoreView, TableRequest, Written,
    },
    row::RowRef,
};
use tests::depth::Depth;

/// Entity whose partitions have very different sizes, depending on the sources.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Lines")]
struct Line {
    #[partition_key(hash = 16)]
    source: u32,
    #[row_key]
    number: u32,
    #[property]
    text: String,
}

/// Requested page.
#[derive(Debug)]
struct Requested {
    partition_key: String,
    size: u32,
    rows: usize,
}

/// In-memory store that records every page. It can shorten pages and insert empty ones.
#[derive(Clone, Debug)]
struct Pages {
    inner: Arc<InMemoryBackend>,
    requested: Arc<Mutex<Vec<Requested>>>,
    most: u32,
    empty: bool,
    /// True if the store describes itself as one in this process.
    in_process: bool,
}

impl Pages {
    fn new(most: u32, empty: bool, in_process: bool) -> TableResult<(Self, Tables)> {
        let (inner, requested) = (Arc::new(InMemoryBackend::new()?), Arc::default());
        let pages = Self { inner, requested, most, empty, in_process };
        Ok((pages.clone(), Tables::new(pages)))
    }

    fn requested(&self) -> Vec<Requested> {
        std::mem::take(&mut *self.requested.lock().unwrap())
    }
}

impl Backend for Pages {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, may_lose_answers: !self.in_process, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, TableResult<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, TableResult<Option<Continuation>>> {
        Box::pin(async move {
            let ReadTarget::Page { scan, from } = request.target else { return self.inner.read(request, reader).await };
            let Partitions::One(partition_key) = &scan.partitions else {
                unreachable!("no query is over all partitions")
            };
            let mut requested = Requested { partition_key: partition_key.clone(), size: scan.page, rows: 0 };
            if let Some(from) = from
                && self.empty
                && self.requested.lock().unwrap().last().is_some_and(|before| before.rows > 0)
            {
                self.requested.lock().unwrap().push(requested);
                return Ok(Some(from.clone()));
            }
            let scan = Scan { page: scan.page.min(self.most), ..scan.clone() };
            let mut counted = |row: RowRef<'_>| {
                requested.rows += 1;
                reader(row)
            };
            let target = ReadTarget::Page { scan: &scan, from };
            let next = self.inner.read(ReadRequest { target, ..request }, &mut counted).await?;
            self.requested.lock().unwrap().push(requested);
            Ok(next)
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner.execute(groups)
    }

    fn view(&self, _: StoreView) -> TableResult<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

const PARTITIONS: usize = 16;

/// Number of rows in each partition: several pages.
fn rows_of_each() -> u32 {
    Depth::choose(3_000, 100_000, 100_000)
}

/// Writes this number of rows into each partition with the backend.
async fn fill(backend: &Pages, rows: u32) -> Result<()> {
    backend.create_table("Lines").await?;
    // Groups are written side by side, so that they share commits.
    let partitions = (0..u32::try_from(PARTITIONS)?).map(|bucket| async move {
        // A row is in the partition of its source.
        let is_there = |source: &u32| self::bucket(*source) == format!("{bucket:02}");
        let source = (0..10_000).find(is_there).context("a source of each partition")?;
        for first in (0..rows).step_by(100) {
            let operations = (first..first + 100).map(|number| {
                let number = number * 16 + bucket;
                let properties = [("Source", Value::Int64(source.into())), ("Text", Value::String("text".to_owned()))];
                Operation { row_key: format!("{number:010}"), action: Action::Insert(properties.into_iter().collect()) }
            });
            let (table, partition_key) = ("Lines".into(), format!("{bucket:02}"));
            backend.execute_group(&Group { table, partition_key, operations: operations.collect() }).await?;
        }
        anyhow::Ok(())
    });
    futures_util::future::try_join_all(partitions).await.map(drop)
}

/// A store in the process is asked for the share of each partition, and again where a partition has more.
#[tokio::test]
async fn a_store_in_the_process_is_asked_for_shares() -> Result<()> {
    let (backend, tables) = Pages::new(1_000, false, true)?;
    fill(&backend, 100).await?;
    backend.requested();
    let numbers = |lines: Vec<table_runtime::Stored<Line>>| lines.iter().map(|line| line.number).collect::<Vec<_>>();

    // Each partition has two of the 32 rows.
    assert_eq!(numbers(Line::by_key().take(32).all(&tables).await?), (0..32).collect::<Vec<_>>());
    let requested = backend.requested();
    assert_eq!(requested.len(), PARTITIONS);
    assert!(requested.iter().all(|page| page.rows == 6), "{requested:?}");

    // One partition has all of these rows: it is asked again, each time for twice as many, up to those that are left.
    let alone = (1_000_000..1_000_100).map(|number| Line { source: 1, number, text: String::new() });
    tables.insert_all(alone).await?;
    backend.requested();
    let last = Line::by_key().range(1_000_000..).take(64).all(&tables).await?;
    assert_eq!(numbers(last), (1_000_000..1_000_064).collect::<Vec<_>>());
    let pages: Vec<_> = backend.requested().iter().filter(|page| page.rows > 0).map(|page| page.rows).collect();
    assert_eq!(pages, [10, 20, 34]);
    Ok(())
}

/// `take(10)` asks each of the 16 partitions of the service for 10 rows, however many rows there are.
#[tokio::test]
async fn take_limits_the_request_to_each_partition() -> Result<()> {
    let (backend, tables) = Pages::new(1_000, false, false)?;
    let rows = rows_of_each();
    fill(&backend, rows).await?;
    backend.requested();
    let numbers = |lines: Vec<table_runtime::Stored<Line>>| lines.iter().map(|line| line.number).collect::<Vec<_>>();

    assert_eq!(numbers(Line::by_key().take(10).all(&tables).await?), (0..10).collect::<Vec<_>>());
    let requested = backend.requested();
    assert_eq!(requested.len(), PARTITIONS);
    assert!(requested.iter().all(|page| (page.size, page.rows) == (10, 10)), "{requested:?}");
    let mut partitions: Vec<_> = requested.iter().map(|page| &page.partition_key).collect();
    partitions.sort();
    partitions.dedup();
    assert_eq!(partitions.len(), PARTITIONS);

    let page = Line::by_key().range(8_000..).page(&tables, 25, None).await?;
    assert_eq!(numbers(page.entities), (8_000..8_025).collect::<Vec<_>>());
    let requested = backend.requested();
    assert!(requested.len() == PARTITIONS && requested.iter().all(|page| page.rows == 25), "{requested:?}");

    let all = Line::by_key().all(&tables).await?;
    let rows = usize::try_from(rows)?;
    assert_eq!(all.len(), PARTITIONS * rows);
    assert!(all.iter().zip(0..).all(|(line, number)| line.number == number));
    let requested = backend.requested();
    // Every row is read once, in pages of the maximal size.
    assert_eq!(requested.iter().map(|page| page.rows).sum::<usize>(), PARTITIONS * rows);
    assert!(requested.len() <= PARTITIONS * (rows / 1_000 + 1), "{} requests", requested.len());
    assert_eq!(Line::by_key().count(&tables).await?, PARTITIONS * rows);
    Ok(())
}

/// Step of a random program.
#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u32),
    Remove(u32, u32),
    Page(usize),
}

/// Returns a source and a number. Most sources are the same, so one partition is by far the largest.
fn place() -> impl Strategy<Value = (u32, u32)> {
    (prop_oneof![4 => Just(0_u32), 1 => 0..40_u32], 0..60_u32)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => place().prop_map(|(source, number)| Step::Insert(source, number)),
        2 => place().prop_map(|(source, number)| Step::Remove(source, number)),
        3 => (1..8_usize).prop_map(Step::Page),
    ]
}

/// Sources by number and partition, the order in which the store returns the rows.
type Model = BTreeMap<(u32, String), u32>;

fn bucket(source: u32) -> String {
    let layout = Line::key(source, 0).explain();
    layout.partition_key().unwrap().to_owned()
}

async fn agrees_with_the_model(begin: Vec<(u32, u32)>, steps: Vec<Step>, pages: (u32, bool, bool)) -> Result<()> {
    let (most, empty, in_process) = pages;
    let (_, tables) = Pages::new(most, empty, in_process)?;
    tables.create::<Line>().await?;
    let mut model = Model::new();
    let (mut cursor, mut last): (Option<String>, Option<(u32, String)>) = (None, None);
    for (source, number) in begin {
        tables.upsert(&Line { source, number, text: String::new() }).await?;
        model.insert((number, bucket(source)), source);
    }
    for step in steps {
        match step {
            Step::Insert(source, number) => {
                tables.upsert(&Line { source, number, text: String::new() }).await?;
                model.insert((number, bucket(source)), source);
            }
            Step::Remove(source, number) => {
                let existed = model.remove(&(number, bucket(source))).is_some();
                assert_eq!(tables.remove(Line::key(source, number)).await?, existed);
            }
            Step::Page(size) => {
                let page = Line::by_key().page(&tables, size, cursor.as_deref()).await?;
                let after = |key: &&(u32, String)| last.as_ref().is_none_or(|last| *key > last);
                let expected: Vec<_> = model.keys().filter(after).take(size).cloned().collect();
                let found: Vec<_> = page.entities.iter().map(|line| (line.number, bucket(line.source))).collect();
                assert_eq!(found, expected);
                if page.next.is_none() {
                    assert_eq!(model.keys().filter(after).count(), found.len(), "nothing is left out");
                }
                last = page.next.as_ref().and(found.last().cloned().or(last));
                cursor = page.next;
            }
        }
        let all = Line::by_key().all(&tables).await?;
        let found: Vec<_> = all.iter().map(|line| ((line.number, bucket(line.source)), line.source)).collect();
        assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
    }
    Ok(())
}

tests::depth::laws! {
    60;

    fn merged_rows_agree_with_a_sorted_model(
        begin in prop::collection::vec(place(), 0..80),
        steps in prop::collection::vec(step(), 1..25),
        most in prop_oneof![1..4_u32, Just(1_000)],
        empty in any::<bool>(),
        in_process in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(agrees_with_the_model(begin, steps, (most, empty, in_process))).unwrap();
    }
}
