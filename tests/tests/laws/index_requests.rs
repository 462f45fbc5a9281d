//! Numbers of requests of each write and read for each kind of index, compared with the table in the documentation of
//! `table_runtime::index`. `REQUESTS=overwrite` rewrites the table.

use std::{
    env,
    fmt::Write as _,
    fs,
    ops::RangeInclusive,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};
use table_runtime::{
    ETag, Stored, TableEntity, Tables,
    backend::{Action, Backend, BackendExt, BoxFuture, Group, IfMatch, InMemoryBackend, Operation},
    jobs::{Finding, Progress},
    testing::{Counting, Requests},
};
use tests::stores::{Kind, Store};

/// Entity with one kind of index, or several.
trait Indexed: TableEntity + Clone {
    /// Title in the table.
    const TITLE: &'static str;
    const UNIQUE: bool;
    fn new(id: u32, value: &str) -> Self;
    fn touch(&mut self);
    fn change(&mut self, value: Option<&str>);
    fn key_of(id: u32) -> table_runtime::Point<Self>;
    /// Returns a patch, if there is a property that it can set.
    fn patch(tables: &Tables) -> Option<BoxFuture<'static, table_runtime::Result<ETag>>>;
    /// Reads all entities of a value and returns their number.
    fn read_all<'t>(tables: &'t Tables, value: &'t str) -> BoxFuture<'t, Result<usize>>;
}

macro_rules! indexed {
    ($name:ident, $title:literal, [$(#[$index:meta])*], unique: $unique:literal, patch: $patch:ident,
     |$tables:ident, $value:ident| $read:expr) => {
        #[derive(TableEntity, Clone, Debug)]
        struct $name {
            #[partition_key]
            team: String,
            #[row_key]
            id: u32,
            $(#[$index])*
            value: String,
            included: u32,
            free: u32,
        }

        impl Indexed for $name {
            const TITLE: &'static str = $title;
            const UNIQUE: bool = $unique;

            fn new(id: u32, value: &str) -> Self {
                Self { team: "t".into(), id, value: value.into(), included: 0, free: 0 }
            }

            fn touch(&mut self) {
                self.free += 1;
            }

            fn change(&mut self, value: Option<&str>) {
                self.included += 1;
                self.value = value.map_or_else(|| self.value.clone(), Into::into);
            }

            fn key_of(id: u32) -> table_runtime::Point<Self> {
                Self::key("t", id)
            }

            fn patch(tables: &Tables) -> Option<BoxFuture<'static, table_runtime::Result<ETag>>> {
                indexed!(@$patch $name, tables)
            }

            fn read_all<'t>($tables: &'t Tables, $value: &'t str) -> BoxFuture<'t, Result<usize>> {
                Box::pin(async move { Ok($read) })
            }
        }
    };
    (@some $name:ident, $tables:ident) => {
        Some($tables.patch($name::key("t", 1), |row| [row.free.set(1)]))
    };
    // A copy holds every property, so none can be patched.
    (@none $name:ident, $tables:ident) => {{
        let _ = $tables;
        None
    }};
}

indexed!(Plain, "none", [], unique: true, patch: some, |tables, _value| usize::from(Plain::key("t", 1).get(tables).await?.is_some())
);
indexed!(Pointer, "`same_partition`", [#[index(value, same_partition)]], unique: false, patch: some, |tables, value| Pointer::by_value("t").eq(value).all(tables).await?.len());
indexed!(
    Include, "`same_partition, include(…)`", [#[index(value, same_partition, include(included))]],
    unique: false, patch: some,
    |tables, value| Include::by_value("t").eq(value).all(tables).await?.len()
);
indexed!(CopyHere, "`same_partition, copy`", [#[index(value, same_partition, copy)]], unique: false, patch: none, |tables, value| CopyHere::by_value("t").eq(value).all(tables).await?.len()
);
indexed!(List, "`same_partition, list`", [#[index(value, same_partition, list)]], unique: false, patch: some, |tables, value| List::by_value("t").eq(value).all(tables).await?.len());
indexed!(
    UniqueHere, "`same_partition, unique`", [#[index(value, same_partition, unique)]], unique: true, patch: some,
    |tables, value| usize::from(UniqueHere::by_value("t").eq(value).get(tables).await?.is_some())
);
indexed!(
    UniqueCopy, "`same_partition, unique, copy`", [#[index(value, same_partition, unique, copy)]],
    unique: true, patch: none,
    |tables, value| usize::from(UniqueCopy::by_value("t").eq(value).get(tables).await?.is_some())
);
indexed!(CrossPartition, "cross-partition", [#[index(value)]], unique: false, patch: some, |tables, value| CrossPartition::by_value(value).all(tables).await?.len()
);
indexed!(SameTable, "cross-partition", [#[index(value, same_table)]], unique: false, patch: some, |tables, value| SameTable::by_value(value).all(tables).await?.len());
indexed!(
    CrossPartitionInclude, "cross-partition, `include(…)`", [#[index(value, include(included))]], unique: false, patch: some,
    |tables, value| CrossPartitionInclude::by_value(value).all(tables).await?.len()
);
indexed!(CrossPartitionCopy, "cross-partition, `copy`", [#[index(value, copy)]], unique: false, patch: none, |tables, value| CrossPartitionCopy::by_value(value).all(tables).await?.len()
);
indexed!(CrossPartitionUnique, "cross-partition, `unique`", [#[index(value, unique)]], unique: true, patch: some, |tables, value| usize::from(CrossPartitionUnique::by_value(value).get(tables).await?.is_some()));
indexed!(
    Two, "cross-partition, two of them", [#[index(value, unique)] #[index(other)]], unique: true, patch: some,
    |tables, value| usize::from(Two::by_value(value).get(tables).await?.is_some())
);
indexed!(
    Three, "cross-partition, three of them", [#[index(value, unique)] #[index(other)] #[index(third, same_table)]],
    unique: true, patch: some,
    |tables, value| usize::from(Three::by_value(value).get(tables).await?.is_some())
);

const HEADER: &str = "\
| index | insert | update | update, included | update, moved | upsert, new | upsert, moved | patch | delete | remove | read one | read *n* |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// Returns the line of a kind in the table.
async fn line<E: Indexed>() -> Result<String> {
    // A transaction of this store spans one partition, as on the service.
    let store = Kind::Plain.open()?;
    let tables = &store.tables;
    tables.create::<E>().await?;
    let requests = || store.probe.requests();
    requests();

    let mut counts = Vec::new();
    tables.insert(&E::new(1, "a")).await?;
    counts.push(requests());
    let mut stored = E::key_of(1).get(tables).await?.context("it was inserted")?;
    requests();
    stored.touch();
    tables.update(&mut stored).await?;
    counts.push(requests());
    stored.change(None);
    tables.update(&mut stored).await?;
    counts.push(requests());
    stored.change(Some("b"));
    tables.update(&mut stored).await?;
    counts.push(requests());
    tables.upsert(&E::new(2, "c")).await?;
    counts.push(requests());
    tables.upsert(&E::new(2, "d")).await?;
    counts.push(requests());
    // The only difference of a merge is that it always reads the entity.
    tables.merge(&E::new(2, "e")).await?;
    let one_more = usize::from(E::INFO.layouts.len() == 1);
    assert_eq!(requests(), counts[5] + one_more, "{}: merge", E::TITLE);
    let mut made = Stored::new(E::clone(&stored), Stored::etag(&stored).clone());
    made.change(Some("f"));
    tables.update(&mut made).await?;
    assert_eq!(requests(), counts[3] + 1, "{}: update of an entity that was not read", E::TITLE);
    let patch = E::patch(tables);
    let mut columns: Vec<_> = counts.iter().map(ToString::to_string).collect();
    if !E::TITLE.contains("include") {
        columns[2].clear();
    }
    columns.push(match patch {
        Some(patch) => {
            patch.await?;
            requests().to_string()
        }
        None => String::new(),
    });
    let stored = E::key_of(1).get(tables).await?.context("it was inserted")?;
    requests();
    tables.delete(&stored).await?;
    columns.push(requests().to_string());
    assert!(tables.remove(E::key_of(2)).await?);
    columns.push(requests().to_string());
    columns.push(read::<E>(&store, 1..=1).await?.to_string());
    columns.push(if E::UNIQUE { String::new() } else { formula::<E>(&store).await?.to_owned() });
    assert_eq!(tables.verify::<E>().all().await?, []);
    Ok(format!("| {} | {} |\n", E::TITLE, columns.join(" | ")))
}

/// Inserts entities of one value and returns the number of requests to read them.
async fn read<E: Indexed>(store: &Store, ids: RangeInclusive<u32>) -> Result<usize> {
    let count = *ids.end() as usize;
    let inserts = stream::iter(ids).map(|id| store.tables.insert(&E::new(id, "all")));
    // Inserts run side by side, except into a list, where each has to wait for the one before.
    let side_by_side = if E::TITLE.contains("list") { 1 } else { 64 };
    inserts.buffer_unordered(side_by_side).try_for_each(|_| async { Ok(()) }).await?;
    store.probe.requests();
    assert_eq!(E::read_all(&store.tables, "all").await?, count);
    Ok(store.probe.requests())
}

/// Returns the formula for the requests to read any number of entities, which has to hold for few and for many.
async fn formula<E: Indexed>(store: &Store) -> Result<&'static str> {
    let (few, many) = (read::<E>(store, 2..=10).await?, read::<E>(store, 11..=1001).await?);
    Ok(match (few, many) {
        (1, 2) => "⌈*n* ÷ 1000⌉",
        (11, 1003) => "⌈*n* ÷ 1000⌉ + *n*",
        (11, 1002) => "1 + *n*",
        other => panic!("{}: {other:?}", E::TITLE),
    })
}

async fn table() -> Result<String> {
    let cross_partition = line::<CrossPartition>().await?;
    assert_eq!(cross_partition, line::<SameTable>().await?, "rows in other partitions cost the same in any table");
    let lines = [
        line::<Plain>().await?,
        line::<Pointer>().await?,
        line::<Include>().await?,
        line::<UniqueHere>().await?,
        line::<CopyHere>().await?,
        line::<UniqueCopy>().await?,
        line::<List>().await?,
        cross_partition,
        line::<CrossPartitionInclude>().await?,
        line::<CrossPartitionUnique>().await?,
        line::<Two>().await?,
        line::<Three>().await?,
        line::<CrossPartitionCopy>().await?,
    ];
    Ok(HEADER.to_owned() + &lines.concat())
}

/// Checks the numbers that the documentation states in other places too: the requests of a write of each kind.
fn check(table: &str) {
    let column = |title: &str, column: usize| -> usize {
        let line = table.lines().find(|line| line.starts_with(&format!("| {title} |"))).expect(title);
        line.split(" | ").nth(column).and_then(|count| count.trim_end_matches(" |").parse().ok()).expect(line)
    };
    for here in
        ["`same_partition`", "`same_partition, include(…)`", "`same_partition, unique`", "`same_partition, copy`"]
    {
        let writes = [1, 2, 4, 8].map(|at| column(here, at));
        assert_eq!(writes, [1, 1, 1, 1], "{here}");
        assert_eq!([5, 6, 9].map(|at| column(here, at)), [2, 2, 2], "{here}");
    }
    for (title, moved) in [
        ("cross-partition", 1),
        ("cross-partition, `include(…)`", 1),
        ("cross-partition, `unique`", 1),
        ("cross-partition, two of them", 2),
        ("cross-partition, three of them", 3),
    ] {
        let (insert, update, delete) = (2 + moved, 1 + 3 * moved, 1 + 2 * moved);
        let expected = [insert, 1, update, insert + 1, update + 1, delete, delete + 1];
        assert_eq!([1, 2, 4, 5, 6, 8, 9].map(|at| column(title, at)), expected, "{title}");
    }
    assert_eq!([3, 4].map(|at| column("cross-partition, `include(…)`", at)), [3, 4], "an included property");
    assert_eq!(column("`same_partition`", 7), 1, "a patch");
    assert_eq!([column("`same_partition, unique`", 10), column("cross-partition, `unique`", 10)], [2, 2], "a pointer");
    assert_eq!([column("`same_partition, unique, copy`", 10), column("cross-partition, `copy`", 10)], [1, 1], "a copy");
}

#[tokio::test]
async fn the_documentation_has_the_measured_numbers_of_requests() -> Result<()> {
    let table = table().await?;
    check(&table);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../table-runtime/src/write/index.rs");
    let source = fs::read_to_string(&path)?;
    let (begin, end) = ("//! <!-- requests: begin -->\n", "//! <!-- requests: end -->\n");
    let (before, rest) = source.split_once(begin).context("the beginning of the table")?;
    let (stored, after) = rest.split_once(end).context("the end of the table")?;
    let mut lines = String::from("//!\n");
    for line in table.lines() {
        writeln!(lines, "//! {line}")?;
    }
    lines.push_str("//!\n");
    if env::var("REQUESTS").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, [before, begin, &lines, end, after].concat())?;
        return Ok(());
    }
    assert_eq!(stored, lines, "`REQUESTS=overwrite cargo test --test laws` rewrites the table");
    Ok(())
}

/// The requests of a transaction in the documentation of `Transaction::commit`.
const OF_TRANSACTION: &str = "1 + p + a + 2r";

/// Numbers of entities that a transaction inserts, of which it moves the rows, which it deletes, and which it changes without
/// moving a row.
type Entities = [u32; 4];

/// Returns the requests of a transaction of these entities.
async fn of_transaction<E: Indexed>([inserted, moved, deleted, touched]: Entities) -> Result<usize> {
    let store = Kind::Plain.open()?;
    let tables = &store.tables;
    tables.create::<E>().await?;
    let mut stored = Vec::new();
    for id in 0..moved + deleted + touched {
        tables.insert(&E::new(id, &id.to_string())).await?;
        stored.extend(E::key_of(id).get(tables).await?);
    }
    let new: Vec<_> = (100..100 + inserted).map(|id| E::new(id, &id.to_string())).collect();
    store.probe.requests();
    let mut transaction = tables.transaction();
    for entity in &new {
        transaction = transaction.insert(entity);
    }
    for (at, stored) in (0..).zip(&mut stored) {
        transaction = if at < moved {
            stored.change(Some(&(200 + at).to_string()));
            transaction.update(stored)
        } else if at < moved + deleted {
            transaction.delete(&*stored)
        } else {
            stored.touch();
            transaction.update(stored)
        };
    }
    transaction.commit().await?;
    let requests = store.probe.requests();
    assert_eq!(tables.verify::<E>().all().await?, []);
    Ok(requests)
}

async fn has_documented_requests<E: Indexed>(elsewhere: usize) -> Result<()> {
    for entities in
        [[1, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 2, 0], [0, 0, 0, 2], [3, 2, 4, 1]]
    {
        let [inserted, moved, deleted, _] = entities.map(|count| count as usize * elsewhere);
        let pending = usize::from(inserted > 0);
        let (added, removed) = (inserted + moved, moved + deleted);
        let expected = 1 + pending + added + 2 * removed;
        assert_eq!(of_transaction::<E>(entities).await?, expected, "{}: {entities:?}", E::TITLE);
    }
    Ok(())
}

#[tokio::test]
async fn a_transaction_takes_the_documented_requests() -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../table-runtime/src/write/transaction.rs");
    assert!(fs::read_to_string(source)?.contains(&format!("`{OF_TRANSACTION}`")), "the formula of `commit`");
    has_documented_requests::<Plain>(0).await?;
    has_documented_requests::<UniqueHere>(0).await?;
    has_documented_requests::<CrossPartition>(1).await?;
    has_documented_requests::<CrossPartitionUnique>(1).await?;
    has_documented_requests::<SameTable>(1).await?;
    has_documented_requests::<Two>(2).await?;
    has_documented_requests::<Three>(3).await
}

/// A customer as declared before it had indexes.
#[derive(TableEntity)]
#[table(name = "Customers", entity = "Customer")]
struct OldCustomer {
    #[partition_key]
    group: u32,
    #[row_key(prefix = "id-")]
    id: u32,
    email: String,
    name: String,
    city: u32,
}

#[derive(TableEntity)]
#[table(name = "Customers")]
struct Customer {
    #[partition_key]
    group: u32,
    #[row_key]
    id: u32,
    #[index(email, unique)]
    email: String,
    #[index(name, same_partition)]
    name: String,
    #[index(city, copy)]
    city: u32,
}

/// Number of customers: two pages, and two pages of rows in each of their three indexes.
const CUSTOMERS: u32 = 2000;
const PAGES: usize = 2;
/// Maximum number of requests of a backfill to the catalog.
const CATALOG: usize = 8;

/// Number of reads and of writes since the last call.
fn reads_and_writes(requests: &Requests) -> (usize, usize) {
    let counts = requests.take();
    (counts.gets + counts.queries, counts.executes)
}

#[tokio::test]
async fn the_jobs_read_healthy_rows_in_pages() -> Result<()> {
    let store: Arc<dyn Backend> = Arc::new(InMemoryBackend::new()?);
    let (backend, requests) = Counting::new(store.clone());
    let tables = &Tables::new(backend);
    tables.create::<OldCustomer>().await?;
    let customers = (0..CUSTOMERS).map(|id| {
        let (email, name) = (format!("{id}@example.org"), format!("n{id}"));
        OldCustomer { group: id / 500, id, email, name, city: id % 7 }
    });
    tables.insert_all(customers).await?;
    tables.create::<Customer>().await?;
    requests.take();

    let all = CUSTOMERS as usize;
    // A claim for each email, and a new version for each entity, in transactions of 100; an entity and its row, in
    // transactions of 50 entities; copies of each city and page in a transaction, and new versions.
    for (index, writes) in [("email", all + 20), ("name", 40), ("city", 2 * 7 * PAGES + 20)] {
        let filled = tables.backfill::<Customer>(index).await?;
        assert_eq!((filled.written, filled.ready), (all, true), "{index}");
        let (read, wrote) = reads_and_writes(&requests);
        assert!(read <= PAGES + 1 + CATALOG && wrote <= writes + CATALOG, "{index}: {read} reads, {wrote} writes");
    }
    // Again, each claim gets a new version. Rows that no writer releases by their versions cost nothing.
    for (index, writes) in [("email", all), ("name", 0), ("city", 0)] {
        let filled = tables.backfill::<Customer>(index).await?;
        assert_eq!((filled.entities, filled.written, filled.ready), (all, 0, true), "{index}");
        let (read, wrote) = reads_and_writes(&requests);
        assert!(read <= 2 * PAGES + CATALOG && wrote <= writes + CATALOG, "{index}: {read} reads, {wrote} writes");
    }

    let pages = 4 * PAGES;
    assert!(pages <= all / 100, "at most 0.01 requests for each entity");
    assert_eq!(tables.verify::<Customer>().all().await?, []);
    assert_eq!(reads_and_writes(&requests), (pages, 0), "verify");
    let repaired = tables.repair::<Customer>().await?;
    assert_eq!((repaired.entities, repaired.fixed, repaired.left), (all, vec![], vec![]));
    assert_eq!(reads_and_writes(&requests), (pages, 0), "repair");

    // Each pass reads all rows.
    let passes = Arc::new(AtomicUsize::new(0));
    let counted = passes.clone();
    let count = move |progress: &Progress| counted.store(progress.pass, Ordering::Relaxed);
    assert_eq!(tables.verify::<Customer>().memory(all * 16).progress(count).all().await?, []);
    let passes = passes.load(Ordering::Relaxed);
    assert!((3..=6).contains(&passes), "{passes} passes for three times the memory");
    assert_eq!(reads_and_writes(&requests), (passes * pages, 0), "verify in {passes} passes");

    // A missing row is found by one more scan of the entities. It costs the steps of a fix.
    let (row_key, action) = ("name-n1999 0000001999".to_owned(), Action::Delete(IfMatch::Any));
    let operations = vec![Operation { row_key, action }];
    store.execute_group(&Group { table: "Customers".into(), partition_key: "0000000003".into(), operations }).await?;
    let repaired = tables.repair::<Customer>().await?;
    assert!(matches!(&*repaired.fixed, [Finding::MissingRow { index, .. }] if index == "name"), "{repaired:?}");
    let (read, wrote) = reads_and_writes(&requests);
    assert!(read <= pages + PAGES + 6 && wrote == 1, "{read} reads, {wrote} writes");
    assert_eq!(tables.verify::<Customer>().all().await?, []);
    Ok(())
}
