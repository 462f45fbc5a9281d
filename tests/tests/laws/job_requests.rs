//! Numbers of requests of backfills and repairs for each kind of index, compared with the table in
//! `docs/index-protocol.md`. `REQUESTS=overwrite` rewrites the table.

use std::{
    env, fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    TableEntity, Tables,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, Group, IfMatch, Operation, Reach, ReadRequest,
        ReadTarget, Reader, StoreView, TableRequest, Written,
    },
    layout::{Holds, IndexInfo, LayoutInfo},
    row::{Properties, Row, ValueRef},
};
use tests::stores::Store;

/// Entity with one kind of index.
trait Indexed: TableEntity + Clone {
    /// The entity without the index.
    type Plain: TableEntity;
    /// Title in the table.
    const TITLE: &'static str;
    fn new(team: u32, id: u32, value: &str) -> Self;
    fn plain(self) -> Self::Plain;
}

macro_rules! indexed {
    ($name:ident $plain:ident, $entity:literal, $title:literal, [$(#[$index:meta])*] [$(#[$each:meta])*]) => {
        #[derive(TableEntity, Clone, Debug)]
        #[table(name = $entity, entity = $entity)]
        struct $name {
            #[partition_key]
            team: u32,
            #[row_key(prefix = "id-")]
            id: u32,
            $(#[$index])*
            value: String,
            $(#[$each])*
            #[property(json)]
            values: Vec<String>,
            included: u32,
        }

        #[derive(TableEntity, Clone, Debug)]
        #[table(name = $entity, entity = $entity)]
        struct $plain {
            #[partition_key]
            team: u32,
            #[row_key(prefix = "id-")]
            id: u32,
            value: String,
            #[property(json)]
            values: Vec<String>,
            included: u32,
        }

        impl Indexed for $name {
            type Plain = $plain;

            const TITLE: &'static str = $title;

            fn new(team: u32, id: u32, value: &str) -> Self {
                let values = ["a", "b", "c"].map(|element| format!("{value}{element}")).to_vec();
                Self { team, id, value: value.to_owned(), values, included: 0 }
            }

            fn plain(self) -> $plain {
                let Self { team, id, value, values, included } = self;
                $plain { team, id, value, values, included }
            }
        }
    };
}

indexed!(Here PlainHere, "Here", "`same_partition`", [#[index(value, same_partition)]] []);
indexed!(UniqueHere PlainUniqueHere, "UniqueHere", "`same_partition, unique`", [#[index(value, same_partition, unique)]] []);
indexed!(IncludeHere PlainIncludeHere, "IncludeHere", "`same_partition, include(…)`",
    [#[index(value, same_partition, include(included))]] []);
indexed!(CopyHere PlainCopyHere, "CopyHere", "`same_partition, copy`", [#[index(value, same_partition, copy)]] []);
indexed!(ListHere PlainListHere, "ListHere", "`same_partition, list`", [#[index(value, same_partition, list)]] []);
indexed!(EachHere PlainEachHere, "EachHere", "`same_partition, each`", [] [#[index(values, each, same_partition)]]);
indexed!(UniqueEachHere PlainUniqueEachHere, "UniqueEachHere", "`same_partition, each, unique`",
    [] [#[index(values, each, same_partition, unique)]]);
indexed!(Cross PlainCross, "Cross", "cross-partition", [#[index(value)]] []);
indexed!(CrossUnique PlainCrossUnique, "CrossUnique", "cross-partition, `unique`", [#[index(value, unique)]] []);
indexed!(CrossInclude PlainCrossInclude, "CrossInclude", "cross-partition, `include(…)`",
    [#[index(value, include(included))]] []);
indexed!(CrossCopy PlainCrossCopy, "CrossCopy", "cross-partition, `copy`", [#[index(value, copy)]] []);
indexed!(CrossEach PlainCrossEach, "CrossEach", "cross-partition, `each`", [] [#[index(values, each)]]);
indexed!(CrossUniqueEach PlainCrossUniqueEach, "CrossUniqueEach", "cross-partition, `each, unique`",
    [] [#[index(values, each, unique)]]);
indexed!(CrossCopyEach PlainCrossCopyEach, "CrossCopyEach", "cross-partition, `each, copy`",
    [] [#[index(values, each, copy)]]);

const HEADER: &str = "\
| index | backfill: no rows | one row missing | two with one value | repair: row missing | outdated properties |
|---|---|---|---|---|---|
";

/// Number of partitions, and of entities in each.
const PARTITIONS: (u32, u32) = (3, 100);
const ENTITIES: usize = (PARTITIONS.0 * PARTITIONS.1) as usize;

fn index<E: Indexed>() -> (&'static LayoutInfo, &'static IndexInfo) {
    let layout = &E::INFO.layouts[1];
    (layout, layout.index.as_ref().expect("the second layout is that of the index"))
}

/// A backend that counts the requests to the tables of entities. Its writes take time.
#[derive(Debug)]
struct CountingEntities {
    inner: Arc<dyn Backend>,
    count: Arc<AtomicUsize>,
    /// What another writer does before the next write.
    before: Interference,
}

type Interference = Arc<Mutex<Option<Group>>>;

impl CountingEntities {
    fn note(&self, table: &str) {
        self.count.fetch_add(usize::from(table != "TableLayouts"), Ordering::Relaxed);
    }
}

impl Backend for CountingEntities {
    fn describe(&self) -> Description<'_> {
        self.inner.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.note(match &request.target {
            ReadTarget::Row { table, .. } => table,
            ReadTarget::Page { scan, .. } => &scan.table,
        });
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.note(&groups[0].table);
        // No two answers come at one time.
        let delay = Duration::from_millis(1 + self.count.load(Ordering::Relaxed) as u64 % 7);
        let is_of_entities = groups[0].table != "TableLayouts";
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            let before = if is_of_entities { self.before.lock().expect("a lock").take() } else { None };
            if let Some(before) = before {
                self.inner.execute(&[before]).await?;
            }
            self.inner.execute(groups).await
        })
    }

    fn view(&self, view: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        self.inner.view(view)
    }
}

/// A store with entities from before their index.
struct Old {
    store: Store,
    /// The store as the jobs have it.
    tables: Tables,
    count: Arc<AtomicUsize>,
    before: Interference,
}

impl Old {
    /// Opens a store with three partitions. Each value has a quarter of the entities, unless the index is unique.
    async fn open<E: Indexed>(reach: Reach, in_partition: u32, has_twins: bool) -> Result<Self> {
        let store = Store::plain(reach);
        store.tables.create::<E::Plain>().await?;
        let value = |team, id| match index::<E>().1.unique {
            true if has_twins && (team, id) == (0, 1) => "0 000 ".to_owned(),
            true => format!("{team} {id:03} "),
            false => format!("v{}", id % 4),
        };
        let teams = 0..PARTITIONS.0;
        let all = teams.flat_map(|team| (0..in_partition).map(move |id| (team, id)));
        let entities: Vec<_> = all.map(|(team, id)| E::new(team, id, &value(team, id)).plain()).collect();
        store.tables.insert_all(&entities).await?;
        let (count, before) = (Arc::new(AtomicUsize::new(0)), Interference::default());
        let inner = Arc::new(store.backend.clone());
        let tables = Tables::new(CountingEntities { inner, count: count.clone(), before: before.clone() });
        tables.create::<E>().await?;
        count.store(0, Ordering::Relaxed);
        Ok(Self { store, tables, count, before })
    }

    /// Returns the requests of a backfill, and the number of entities whose rows it wrote.
    async fn backfill<E: Indexed>(&self) -> Result<(usize, usize)> {
        self.count.store(0, Ordering::Relaxed);
        let filled = self.tables.backfill::<E>(&index::<E>().0.name).await?;
        ensure!(filled.ready == filled.conflicts.is_empty(), "{filled:?}");
        Ok((self.count.load(Ordering::Relaxed), filled.written))
    }

    /// Returns the requests of a repair.
    async fn repair<E: Indexed>(&self, finds: bool) -> Result<usize> {
        self.count.store(0, Ordering::Relaxed);
        let repaired = self.tables.repair::<E>().await?;
        ensure!(repaired.fixed.is_empty() != finds && repaired.left.is_empty(), "{repaired:?}");
        Ok(self.count.load(Ordering::Relaxed))
    }

    /// Writes to the first row of the index.
    async fn write<E: Indexed>(&self, action: Action) -> Result<()> {
        let table = &index::<E>().0.table;
        let rows = self.store.rows(table).await?;
        let is_of_index = |row: &Row| *table != E::INFO.layouts[0].table || !row.row_key.starts_with("id-");
        let Row { partition_key, row_key, .. } = rows.into_iter().find(is_of_index).context("a row of the index")?;
        Ok(self.store.write(table, (&partition_key, &row_key), action).await?)
    }
}

/// Returns the numbers of requests of a kind, in the order of the columns.
async fn requests<E: Indexed>(reach: Reach) -> Result<[Option<usize>; 5]> {
    let (LayoutInfo { name, .. }, index) = index::<E>();
    let all = Old::open::<E>(reach, PARTITIONS.1, false).await?;
    let missing = all.tables.backfill::<E>(name).dry_run().await?.written;
    let scans = all.count.load(Ordering::Relaxed);
    ensure!((missing, scans) == (ENTITIES, 2), "{}: {missing} missing, {scans} requests of a dry run", E::TITLE);
    let (first, written) = all.backfill::<E>().await?;
    ensure!(written == ENTITIES, "{}: {written}", E::TITLE);
    ensure!(first == expected::<E>(reach), "{}: {first} requests", E::TITLE);
    all.write::<E>(Action::Delete(IfMatch::Any)).await?;
    let (again, written) = all.backfill::<E>().await?;
    // A list has a quarter of the entities of its partition.
    let lost = if index.holds == Holds::List { PARTITIONS.1 as usize / 4 } else { 1 };
    ensure!(written == lost, "{}: {written}", E::TITLE);

    let mut with_twins = None;
    if index.unique {
        let (requests, written) = Old::open::<E>(reach, PARTITIONS.1, true).await?.backfill::<E>().await?;
        ensure!(written == ENTITIES - 1, "{}: {written}", E::TITLE);
        with_twins = Some(requests);
    }

    let few = Old::open::<E>(reach, 1, false).await?;
    few.backfill::<E>().await?;
    let healthy = few.repair::<E>(false).await?;
    few.write::<E>(Action::Delete(IfMatch::Any)).await?;
    let missing = few.repair::<E>(true).await? - healthy;
    let mut other = None;
    if matches!(index.holds, Holds::Include | Holds::Copy) {
        let mut properties = Properties::default();
        properties.push("Included", ValueRef::Int64(7));
        few.write::<E>(Action::Merge(properties, IfMatch::Any)).await?;
        other = Some(few.repair::<E>(true).await? - healthy);
    }
    let found = few.store.tables.verify::<E>().await?.findings;
    ensure!(found.is_empty(), "{}: {found:?}", E::TITLE);
    Ok([Some(first), Some(again), with_twins, Some(missing), other])
}

/// Returns the requests of a backfill of all entities: two scans; the rows of each index partition, in transactions of their
/// own; and a transaction for each hundred operations on entities and the rows in their partition.
fn expected<E: Indexed>(reach: Reach) -> usize {
    let (layout, index) = index::<E>();
    let elements = if E::TITLE.contains("each") { 3 } else { 1 };
    let is_apart = layout.table != E::INFO.layouts[0].table;
    let (values, of_partition) = (if index.unique { ENTITIES } else { 4 } * elements, PARTITIONS.1 as usize);
    let transactions = |operations: usize| PARTITIONS.0 as usize * operations.div_ceil(100);
    2 + match (reach, is_apart) {
        (Reach::Store, true) => transactions(of_partition),
        (_, true) => values + transactions(of_partition),
        // An entity counts as three operations, two of them on its list. So a partition takes three transactions of 33
        // entities, which read its four lists, and one of the last entity, which reads one.
        (_, false) if index.holds == Holds::List => PARTITIONS.0 as usize * (3 * (4 + 1) + (1 + 1)),
        (_, false) => transactions(of_partition * (1 + elements)),
    }
}

async fn line<E: Indexed>() -> Result<String> {
    let service = requests::<E>(Reach::Partition).await?;
    let embedded = requests::<E>(Reach::Store).await?;
    let column = |(service, embedded): (Option<usize>, Option<usize>)| match (service, embedded) {
        (Some(service), Some(embedded)) if service != embedded => format!("{service} ({embedded})"),
        (service, _) => service.map(|count| count.to_string()).unwrap_or_default(),
    };
    let columns: Vec<_> = service.into_iter().zip(embedded).map(column).collect();
    Ok(format!("| {} | {} |\n", E::TITLE, columns.join(" | ")))
}

#[tokio::test(start_paused = true)]
async fn the_documentation_has_the_measured_numbers_of_requests() -> Result<()> {
    let lines = [
        line::<Here>().await?,
        line::<UniqueHere>().await?,
        line::<IncludeHere>().await?,
        line::<CopyHere>().await?,
        line::<ListHere>().await?,
        line::<EachHere>().await?,
        line::<UniqueEachHere>().await?,
        line::<Cross>().await?,
        line::<CrossUnique>().await?,
        line::<CrossInclude>().await?,
        line::<CrossCopy>().await?,
        line::<CrossEach>().await?,
        line::<CrossUniqueEach>().await?,
        line::<CrossCopyEach>().await?,
    ];
    let table = format!("\n{HEADER}{}\n", lines.concat());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/index-protocol.md");
    let text = fs::read_to_string(&path)?;
    let (begin, end) = ("<!-- jobs: begin -->\n", "<!-- jobs: end -->\n");
    let (before, rest) = text.split_once(begin).context("the beginning of the table")?;
    let (stored, after) = rest.split_once(end).context("the end of the table")?;
    if env::var("REQUESTS").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, [before, begin, &table, end, after].concat())?;
        return Ok(());
    }
    assert_eq!(stored, table, "`REQUESTS=overwrite cargo test --test laws` rewrites the table");
    Ok(())
}

/// A transaction has the rows of the index, and not the entities.
#[tokio::test(start_paused = true)]
async fn large_entities_share_transactions() -> Result<()> {
    let old = Old::open::<Here>(Reach::Partition, 0, false).await?;
    let large = |id| PlainHere { values: vec!["x".repeat(32_000)], ..Here::new(0, id, "v").plain() };
    old.store.tables.insert_all((0..50).map(large)).await?;
    let (requests, written) = old.backfill::<Here>().await?;
    ensure!((requests, written) == (3, 50), "{requests} requests, {written} written");
    Ok(())
}

/// Entities that another writer has changed since they were read are read again, each once.
#[tokio::test(start_paused = true)]
async fn entities_that_changed_are_read_once_more() -> Result<()> {
    const CHANGED: usize = 10;
    let old = Old::open::<Here>(Reach::Partition, 40, false).await?;
    let mut note = Properties::default();
    note.push("Note", ValueRef::Int64(7));
    let operation =
        |id| Operation { row_key: format!("id-{id:010}"), action: Action::Merge(note.clone(), IfMatch::Any) };
    let operations = (0..CHANGED).map(operation).collect();
    let partition_key = "0000000000".to_owned();
    *old.before.lock().expect("a lock") = Some(Group { table: "Here".into(), partition_key, operations });
    let (requests, written) = old.backfill::<Here>().await?;
    // Two scans and three transactions; each change ends one, and is read; one more transaction has them all.
    ensure!((requests, written) == (2 + 3 + 2 * CHANGED + 1, 120), "{requests} requests, {written} written");
    Ok(())
}
