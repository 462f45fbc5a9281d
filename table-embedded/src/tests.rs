//! Tests of the store through the interface of its callers.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use proptest::prelude::*;
use redb::ReadableTable;
use table_store::{
    Condition, Operator, Properties, PropertiesRef, Row, RowRef, Ticks, Value, ValueRef,
    backend::{BackendExt, IfMatch, KeyRange, Operation, Partitions, Scan},
};
use tempfile::TempDir;

use super::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn memory() -> InMemoryBackend {
    let store = InMemoryBackend::new().expect("memory");
    assert!(block_on(store.create_table("Posts")).expect("a table"));
    store
}

fn file() -> (TempDir, EmbeddedBackend) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    assert!(block_on(store.create_table("Posts")).expect("a table"));
    (folder, store)
}

fn open(folder: &Path) -> EmbeddedBackend {
    EmbeddedBackend::open(folder.join("blog.tables")).expect("the store's file")
}

fn likes(likes: i32) -> Properties {
    [("Likes", Value::Int32(likes))].into_iter().collect()
}

fn titled(title: &str) -> Properties {
    [("Title", Value::String(title.to_owned()))].into_iter().collect()
}

fn group(partition_key: &str, operations: impl IntoIterator<Item = (&'static str, Action)>) -> Group {
    let operation = |(row_key, action): (&str, Action)| Operation { row_key: row_key.to_owned(), action };
    Group {
        table: "Posts".into(),
        partition_key: partition_key.to_owned(),
        operations: operations.into_iter().map(operation).collect(),
    }
}

fn scan(partitions: Partitions, rows: KeyRange, page: u32) -> Scan {
    Scan { table: "Posts".into(), partitions, rows, filter: None, select: None, page }
}

/// Writes one row of the partition `Marcus`.
fn write(store: &dyn Backend, row_key: &'static str, action: Action) -> Result<Option<ETag>> {
    let etags = block_on(store.execute_group(&group("Marcus", [(row_key, action)])))?;
    assert_eq!(etags.len(), 1);
    Ok(etags.into_iter().next().flatten())
}

fn read(store: &dyn Backend, row_key: &str) -> Option<Row> {
    block_on(store.get("Posts", "Marcus", row_key, None)).expect("a read")
}

/// Returns all rows of a scan and the number of its pages.
fn all(store: &dyn Backend, scan: &Scan) -> (Vec<Row>, usize) {
    let (mut rows, mut pages, mut from) = (Vec::new(), 0, None);
    loop {
        let page = block_on(store.query(scan, from.as_ref())).expect("a page");
        assert!(page.rows.len() <= scan.page as usize);
        rows.extend(page.rows.iter().map(RowRef::to_row));
        pages += 1;
        match page.next {
            Some(next) => from = Some(next),
            None => return (rows, pages),
        }
    }
}

#[test]
fn an_etag_is_the_time_stamp_of_its_row() {
    let store = memory();
    let etag = write(&store, "1", Action::Insert(likes(1))).expect("a new row").expect("an ETag");
    assert_eq!(ETag::from(read(&store, "1").expect("the row").timestamp), etag);
}

#[test]
fn a_merge_whose_result_exceeds_a_limit_is_refused() {
    let store = memory();
    let many = |from: usize| -> Properties {
        let mut properties = Properties::default();
        (from..from + 200).for_each(|n| properties.push(&format!("P{n}"), ValueRef::Boolean(true)));
        properties
    };
    write(&store, "1", Action::Insert(many(0))).expect("a new row");
    let error = write(&store, "1", Action::Merge(many(200), IfMatch::Any)).expect_err("400 properties");
    assert!(matches!(error, Error::Limit(_)), "{error}");
    assert_eq!(read(&store, "1").expect("the row").properties, many(0));
}

/// Returns properties of which two have the same name.
fn duplicates() -> Properties {
    let (first, second) = (likes(1), likes(2));
    let both = [first.as_bytes(), second.as_bytes()].concat();
    PropertiesRef::from_bytes(&both).expect("two properties").to_properties()
}

#[test]
fn a_duplicate_property_is_an_error_that_names_it() {
    let mut properties = likes(1);
    properties.push("Likes", ValueRef::Int32(2));
    assert_eq!(properties, duplicates());
    let error = table_store::unstable::limits::check_row("Posts", "Marcus", "1", duplicates().as_ref())
        .expect_err("a duplicate property");
    let expected = "Posts(PartitionKey='Marcus',RowKey='1'): the property `Likes` is there 2 times; the limit is 1";
    assert!(error.to_string().starts_with(expected), "{error}");
    let many: Properties = (0..200).map(|n| (format!("P{n}"), n)).fold(Properties::default(), |mut all, (name, n)| {
        all.push(&name, ValueRef::Int32(n));
        all
    });
    assert!(table_store::unstable::limits::check_row("Posts", "Marcus", "1", many.as_ref()).is_ok());
    let many = [many.as_bytes(), duplicates().as_bytes()].concat();
    let many = PropertiesRef::from_bytes(&many).expect("properties");
    let error =
        table_store::unstable::limits::check_row("Posts", "Marcus", "1", many).expect_err("a duplicate property");
    assert!(error.to_string().starts_with(expected), "{error}");

    // The backend itself does not check the limits of an upsert, so a file of another program may contain such a row.
    let store = memory();
    write(&store, "1", Action::Upsert(duplicates())).expect("a row");
    let error = write(&store, "1", Action::Merge(titled("x"), IfMatch::Any)).expect_err("a duplicate property");
    assert!(error.to_string().starts_with(expected), "{error}");
    write(&store, "1", Action::Merge(likes(3), IfMatch::Any)).expect_err("a duplicate property");
    write(&store, "1", Action::Upsert(likes(3))).expect("a write after an error");
}

#[test]
fn tables_are_created_listed_and_deleted() {
    let (folder, store) = file();
    assert_eq!(block_on(store.create_table("posts")).ok(), Some(false));
    for table in ["PostsByTitle", "Authors", "log201007", "Log201006"] {
        assert_eq!(block_on(store.create_table(table)).ok(), Some(true));
    }
    write(&store, "1", Action::Insert(likes(1))).expect("a new row");
    assert!(block_on(store.get("POSTS", "Marcus", "1", None)).expect("a read").is_some());
    let list = |store: &EmbeddedBackend, prefix| block_on(store.list_tables(prefix)).expect("names");
    assert_eq!(list(&store, ""), ["Authors", "Log201006", "log201007", "Posts", "PostsByTitle"]);
    assert_eq!(list(&store, "log"), ["Log201006", "log201007"]);
    drop(store);

    let store = open(folder.path());
    assert_eq!(list(&store, "Posts"), ["Posts", "PostsByTitle"]);
    assert_eq!(block_on(store.delete_table("pOSTS")).ok(), Some(true));
    assert_eq!(block_on(store.delete_table("Posts")).ok(), Some(false));
    assert!(matches!(block_on(store.get("Posts", "Marcus", "1", None)), Err(Error::TableNotFound(_))));
    assert_eq!(block_on(store.create_table("POSTS")).ok(), Some(true));
    assert_eq!(read(&store, "1"), None);
    assert_eq!(list(&store, "Posts"), ["POSTS", "PostsByTitle"]);
}

#[test]
fn ranges_without_rows_give_one_empty_page() {
    let store = memory();
    write(&store, "b", Action::Insert(likes(1))).expect("a new row");
    let key = |key: &str| key.to_owned();
    for (from, to) in [
        (Bound::Included(key("c")), Bound::Included(key("a"))),
        (Bound::Excluded(key("b")), Bound::Excluded(key("b"))),
        (Bound::Included(key("b")), Bound::Excluded(key("b"))),
        (Bound::Excluded(key("b")), Bound::Unbounded),
    ] {
        let scan = scan(Partitions::One("Marcus".into()), KeyRange { from, to }, 10);
        assert_eq!(all(&store, &scan), (Vec::new(), 1));
        let past = Continuation { partition_key: "Marcus".into(), row_key: Some("d".into()) };
        assert!(block_on(store.query(&scan, Some(&past))).expect("a page").rows.is_empty());
    }
    assert_eq!(all(&store, &scan(Partitions::One("Paul".into()), KeyRange::ALL, 10)), (Vec::new(), 1));
}

#[test]
fn a_page_examines_a_limited_number_of_rows() {
    let store = memory();
    for hundred in 0..210 {
        let operation =
            |n: i32| Operation { row_key: format!("{hundred:03}{n:02}"), action: Action::Insert(likes(hundred)) };
        let group = Group { operations: (0..100).map(operation).collect(), ..group("Marcus", []) };
        block_on(store.execute_group(&group)).expect("new rows");
    }
    let mut scan = scan(Partitions::ALL, KeyRange::ALL, 1000);
    scan.filter =
        Some(Condition::Compare { property: "Likes".into(), operator: Operator::Eq, value: Value::Int32(205) });
    let page = block_on(store.query(&scan, None)).expect("a page");
    assert!(page.rows.is_empty() && page.next.is_some());
    let (rows, pages) = all(&store, &scan);
    assert_eq!((rows.len(), pages), (100, 2));
}

#[test]
fn a_file_keeps_its_rows_and_time_stamps() {
    let (folder, store) = file();
    let mut etags = Vec::new();
    let mut store = Some(store);
    for n in 0..5 {
        let opened = store.take().unwrap_or_else(|| open(folder.path()));
        for _ in 0..3 {
            write(&opened, "1", Action::Upsert(likes(n))).expect("a write");
            etags.push(read(&opened, "1").expect("the row").timestamp);
        }
        drop(opened);
        let row = read(&open(folder.path()), "1").expect("the row");
        assert_eq!((row.properties, Some(&row.timestamp)), (likes(n), etags.last()));
    }
    assert!(etags.is_sorted_by(|left, right| left < right));
}

#[test]
fn time_stamps_increase_if_the_clock_goes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("blog.tables");
    let future = Ticks::now().get() + 1_000_000_000;
    let database = super::file::open(&path).expect("a new file");
    let transaction = database.begin_write().expect("a transaction");
    transaction.open_table(committer::STORE).expect("the table").insert(committer::LAST, future).expect("a row");
    transaction.commit().expect("a commit");
    drop(database);
    for n in 1..4 {
        let store = open(folder.path());
        block_on(store.create_table("Posts")).expect("a table");
        write(&store, "1", Action::Upsert(likes(1))).expect("a write");
        assert_eq!(read(&store, "1").expect("the row").timestamp.get(), future + n);
    }
}

#[test]
fn a_file_can_be_open_only_once() {
    let (folder, store) = file();
    let path = folder.path().join("blog.tables");
    let error = EmbeddedBackend::open(&path).expect_err("it is open");
    assert!(matches!(&error, Error::InUse(used) if *used == path), "{error}");
    assert!(format!("{store:?}").contains("blog.tables"));
    drop(store);
    EmbeddedBackend::open(&path).expect("it is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writes_are_all_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(open(folder.path()));
    store.create_table("Posts").await.expect("a table");
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut etags = Vec::new();
                for n in 0..20 {
                    let row_key = format!("{writer}-{n}");
                    let operations = vec![Operation { row_key: row_key.clone(), action: Action::Insert(likes(n)) }];
                    let etag =
                        store.execute_group(&Group { operations, ..group("Marcus", []) }).await.expect("a new row");
                    let row = store.get("Posts", "Marcus", &row_key, None).await.expect("a read");
                    let row = row.expect("a writer reads what it wrote");
                    assert_eq!((row.properties, Some(&Some(row.etag))), (likes(n), etag.first()));
                    etags.extend(etag.into_iter().flatten().map(|etag| etag.to_string()));
                }
                etags
            })
        })
        .collect();
    let mut etags = HashSet::new();
    for writer in writers {
        etags.extend(writer.await.expect("no panic"));
    }
    assert_eq!(etags.len(), 16 * 20, "no two writes share an ETag");
    drop(store);
    let store = open(folder.path());
    let page = store.query(&scan(Partitions::ALL, KeyRange::ALL, 1000), None).await.expect("a page");
    assert_eq!(page.rows.len(), 16 * 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_the_writers_with_the_same_etag_wins() {
    let store = InMemoryBackend::new().expect("memory");
    store.create_table("Posts").await.expect("a table");
    let mut etag =
        store.execute_group(&group("", [("", Action::Insert(likes(0)))])).await.expect("a new row").remove(0);
    for round in 1..20 {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (store, condition) = (store.clone(), IfMatch::ETag(etag.clone().expect("an ETag")));
                tokio::spawn(async move {
                    store.execute_group(&group("", [("", Action::Replace(likes(round), condition))])).await
                })
            })
            .collect();
        let mut won = Vec::new();
        for writer in writers {
            match writer.await.expect("no panic") {
                Ok(etags) => won.extend(etags),
                Err(error) => assert!(matches!(error, Error::ConditionNotMet(_)), "{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        etag = won.remove(0);
    }
}

#[tokio::test]
async fn a_dropped_future_does_not_stop_the_committer() {
    let store = InMemoryBackend::new().expect("memory");
    store.create_table("Posts").await.expect("a table");
    let insert = group("", [("", Action::Insert(likes(0)))]);
    drop(store.execute_group(&insert));
    assert_eq!(store.get("Posts", "", "", None).await.expect("a read"), None, "it was never polled");
    let mut started = Box::pin(store.execute_group(&insert));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = started.as_mut().poll(&mut context);
    drop(started);
    store.execute_group(&group("", [("1", Action::Insert(likes(1)))])).await.expect("another write");
    assert!(store.get("Posts", "", "", None).await.expect("a read").is_some(), "it was queued before");
}

#[test]
fn a_waker_that_panics_does_not_stop_writes() {
    struct Panics;

    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of a task");
        }
    }

    let store = memory();
    let waker = std::task::Waker::from(Arc::new(Panics));
    for row_key in ["1", "2", "3"] {
        let insert = group("Marcus", [(row_key, Action::Insert(likes(1)))]);
        let mut begun = Box::pin(store.execute_group(&insert));
        // Usually the committer wakes the task. If it is faster than the poll, it wakes nobody.
        let _ = begun.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        write(&store, "0", Action::Upsert(likes(0))).expect("a write of another task");
        assert!(read(&store, row_key).is_some(), "it was queued before");
    }
    block_on(store.create_table("Authors")).expect("a table");
}

/// Memory that fails, or panics, when a test requests it.
#[derive(Debug)]
struct Failing {
    memory: redb::backends::InMemoryBackend,
    fails: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
}

impl Failing {
    /// Creates a store on such memory, without a cache.
    fn store() -> (InMemoryBackend, Arc<AtomicBool>, Arc<AtomicBool>) {
        let (fails, panics) = (Arc::default(), Arc::default());
        let memory = redb::backends::InMemoryBackend::new();
        let failing = Self { memory, fails: Arc::clone(&fails), panics: Arc::clone(&panics) };
        let database = redb::Builder::new().set_cache_size(0).create_with_backend(failing).expect("a database");
        super::file::initialize(&database).expect("a store");
        let store = InMemoryBackend { store: Store::new(database).expect("a store") };
        block_on(store.create_table("Posts")).expect("a table");
        write(&store, "1", Action::Insert(likes(1))).expect("a new row");
        (store, fails, panics)
    }
}

impl redb::StorageBackend for Failing {
    fn len(&self) -> std::io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        assert!(!self.panics.load(Ordering::SeqCst), "an offset out of range");
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        assert!(!self.panics.load(Ordering::SeqCst), "an offset out of range");
        if self.fails.load(Ordering::SeqCst) { Err(std::io::Error::other("no disk")) } else { self.memory.sync_data() }
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.memory.write(offset, data)
    }
}

#[test]
fn the_outcome_of_a_failed_commit_is_unknown() {
    let (store, fails, _) = Failing::store();
    fails.store(true, Ordering::SeqCst);
    let error = write(&store, "2", Action::Insert(likes(2))).expect_err("no disk");
    let Error::OutcomeUnknown(unknown) = &error else { panic!("{error}") };
    assert_eq!((unknown.operation, &*unknown.row.row_key), ("insert", "2"));
    assert!(unknown.reason.contains("no disk"), "{}", unknown.reason);
    assert!(matches!(unknown.now, RowNow::Unread(_)));

    // The store begins no more writes, so this one was certainly not written.
    fails.store(false, Ordering::SeqCst);
    let error = write(&store, "3", Action::Insert(likes(3))).expect_err("it has to be opened again");
    assert!(matches!(error, Error::Store(_)), "{error}");
    assert!(error.to_string().contains("no disk") && error.to_string().contains("open the store again"), "{error}");
    assert!(matches!(block_on(store.create_table("Authors")), Err(Error::Store(_))));
    // Reads fail as well, because the rows on the disk may differ.
    let error = block_on(store.get("Posts", "Marcus", "2", None)).expect_err("it has to be opened again").to_string();
    assert!(error.contains("until you open the store again") && error.contains("reads fail, too"), "{error}");
}

#[test]
fn a_panic_of_the_engine_closes_the_store() {
    fn closed<T: std::fmt::Debug>(result: Result<T>) {
        let error = result.expect_err("the store is closed");
        assert!(matches!(error, Error::Store(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("was closed because") && text.contains("an offset out of range"), "{text}");
    }

    fn is_closed(store: &InMemoryBackend) {
        closed(block_on(store.get("Posts", "Marcus", "1", None)));
        closed(block_on(store.query(&scan(Partitions::ALL, KeyRange::ALL, 10), None)));
        closed(block_on(store.list_tables("")));
        closed(write(store, "2", Action::Upsert(likes(2))));
        closed(block_on(store.create_table("Authors")));
    }

    // The panic occurs in a read of a row, in a read of a page, and in the committer, before or within its commit.
    let (store, _, panics) = Failing::store();
    panics.store(true, Ordering::SeqCst);
    closed(block_on(store.get("Posts", "Marcus", "1", None)));
    panics.store(false, Ordering::SeqCst);
    is_closed(&store);

    let (store, _, panics) = Failing::store();
    panics.store(true, Ordering::SeqCst);
    closed(block_on(store.query(&scan(Partitions::ALL, KeyRange::ALL, 10), None)));
    panics.store(false, Ordering::SeqCst);
    is_closed(&store);

    let (store, _, panics) = Failing::store();
    panics.store(true, Ordering::SeqCst);
    match write(&store, "2", Action::Upsert(likes(2))) {
        Err(Error::OutcomeUnknown(unknown)) => assert!(unknown.reason.contains("was closed because"), "{unknown}"),
        other => closed(other),
    }
    panics.store(false, Ordering::SeqCst);
    is_closed(&store);
}

#[test]
fn a_panic_of_a_reader_reaches_its_caller_and_leaves_the_store_open() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let store = memory();
    write(&store, "1", Action::Insert(likes(1))).expect("a new row");
    let scan = scan(Partitions::ALL, KeyRange::ALL, 10);
    let panicked = [
        catch_unwind(AssertUnwindSafe(|| {
            block_on(store.get_with("Posts", "Marcus", "1", None, &mut |_| panic!("a reader"))).map(drop)
        })),
        catch_unwind(AssertUnwindSafe(|| {
            block_on(store.query_with(&scan, None, &mut |_| panic!("a reader"))).map(drop)
        })),
    ];
    for panicked in panicked {
        let payload = panicked.expect_err("the panic is the caller's");
        assert_eq!(payload.downcast_ref(), Some(&"a reader"));
    }
    assert!(read(&store, "1").is_some(), "the store is open");
}

/// Returns a store with the rows `1` and `2`, whose file was changed while it was closed.
fn damaged(damage: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>)) -> (TempDir, EmbeddedBackend) {
    let (folder, store) = file();
    write(&store, "1", Action::Insert(titled("x"))).expect("a new row");
    write(&store, "2", Action::Insert(titled("x"))).expect("a new row");
    drop(store);
    let database = super::file::open(&folder.path().join("blog.tables")).expect("the file");
    let transaction = database.begin_write().expect("a transaction");
    damage(&mut transaction.open_table(snapshot::rows("Posts")).expect("the rows"));
    transaction.commit().expect("a commit");
    drop(database);
    let store = open(folder.path());
    (folder, store)
}

#[test]
fn a_value_under_another_key_is_damaged() {
    let (_folder, store) = damaged(|rows| {
        let (first, second) = (store_key::encode("Marcus", "1"), store_key::encode("Marcus", "2"));
        let value = rows.get(first.as_slice()).expect("a read").expect("the row").value().to_vec();
        rows.insert(second.as_slice(), value.as_slice()).expect("a write");
    });
    assert!(read(&store, "1").is_some());
    let is_damaged = |error: Error| matches!(error, Error::Damaged { row, .. } if row.row_key == "2");
    assert!(is_damaged(block_on(store.get("Posts", "Marcus", "2", None)).expect_err("the value of another row")));
    let all = scan(Partitions::ALL, KeyRange::ALL, 10);
    assert!(is_damaged(block_on(store.query(&all, None)).expect_err("the value of another row")));
    // The search for a missing row ends beside the damaged row, which may be the missing one.
    assert!(is_damaged(block_on(store.get("Posts", "Marcus", "3", None)).expect_err("the row before is damaged")));
}

#[test]
fn a_damaged_row_is_reported() {
    let (_folder, store) = damaged(|rows| {
        let key = store_key::encode("Marcus", "1");
        let mut value = rows.get(key.as_slice()).expect("a read").expect("the row").value().to_vec();
        value.pop();
        rows.insert(key.as_slice(), value.as_slice()).expect("a write");
    });
    let is_damaged = |error: Error| {
        assert_eq!(
            error.to_string(),
            "Posts(PartitionKey='Marcus',RowKey='1'): the bytes of a row's properties are damaged"
        );
    };
    is_damaged(block_on(store.get("Posts", "Marcus", "1", None)).expect_err("damage"));
    is_damaged(block_on(store.query(&scan(Partitions::ALL, KeyRange::ALL, 9), None)).expect_err("damage"));
    is_damaged(write(&store, "1", Action::Merge(likes(1), IfMatch::Any)).expect_err("damage"));
    assert!(read(&store, "2").is_some());
    write(&store, "1", Action::Upsert(likes(1))).expect("the whole row anew");
    assert!(read(&store, "1").is_some());
}

type ModelKey = (Vec<u16>, Vec<u16>);

#[derive(Clone, Debug)]
enum Step {
    Group(String, Vec<(String, u8, i32)>),
    Scan { partitions: Partitions, rows: KeyRange, page: u32 },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let key =
        || prop::sample::select(["", "!", "a", "a\u{10FFFF}", "a\u{E000}", "aa", "\u{D7FF}", "\u{FFFF}"].to_vec());
    let key = move || key().prop_map(str::to_owned);
    let bound =
        move || prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)];
    let operations = prop::collection::btree_map(key(), (0_u8..12, any::<i32>()), 1..7).shuffled();
    let group = (key(), operations).prop_map(|(partition, operations)| Step::Group(partition, operations));
    let range = move || (bound(), bound()).prop_map(|(from, to)| KeyRange { from, to });
    let in_one = (key(), range()).prop_map(|(partition, rows)| (Partitions::One(partition), rows));
    let in_many = range().prop_map(|partitions| (Partitions::Range(partitions), KeyRange::ALL));
    let scan = (prop_oneof![in_one, in_many], 1..5_u32).prop_map(|((partitions, rows), page)| Step::Scan {
        partitions,
        rows,
        page,
    });
    prop_oneof![8 => group, 3 => scan, 1 => Just(Step::Reopen)]
}

/// Operations on different rows, in any order.
trait Shuffled: Strategy<Value = BTreeMap<String, (u8, i32)>> + Sized + 'static {
    fn shuffled(self) -> BoxedStrategy<Vec<(String, u8, i32)>> {
        let list = |map: BTreeMap<String, (u8, i32)>| map.into_iter().map(|(key, (kind, value))| (key, kind, value));
        self.prop_map(move |map| list(map).collect::<Vec<_>>()).prop_shuffle().boxed()
    }
}

impl<S: Strategy<Value = BTreeMap<String, (u8, i32)>> + 'static> Shuffled for S {}

fn units(key: &str) -> Vec<u16> {
    key.encode_utf16().collect()
}

/// Returns an ETag that no row has.
fn none() -> ETag {
    "\"none\"".parse().expect("an ETag")
}

/// A map that does what a store should do.
#[derive(Default)]
struct Model {
    rows: BTreeMap<ModelKey, (Properties, ETag)>,
    /// ETags of rows that were written again or deleted since.
    stale: Vec<ETag>,
}

impl Model {
    fn operation(&self, partition_key: &str, (row_key, kind, value): &(String, u8, i32)) -> Operation {
        let current = self.rows.get(&(units(partition_key), units(row_key))).map(|(_, etag)| etag.clone());
        let condition = match kind % 3 {
            0 => IfMatch::Any,
            1 => IfMatch::ETag(current.unwrap_or_else(none)),
            _ => IfMatch::ETag(self.stale.last().cloned().unwrap_or_else(none)),
        };
        let properties = if value % 2 == 0 { likes(*value) } else { titled(&value.to_string()) };
        let action = match kind {
            0..2 => Action::Insert(properties),
            2..4 => Action::Upsert(properties),
            4..7 => Action::Replace(properties, condition),
            7..10 => Action::Merge(properties, condition),
            _ => Action::Delete(condition),
        };
        Operation { row_key: row_key.clone(), action }
    }

    /// Returns the error that a group causes, as a word, and its row key.
    fn refusal(&self, group: &Group) -> Option<(&'static str, String)> {
        group.operations.iter().find_map(|operation| {
            let row = self.rows.get(&(units(&group.partition_key), units(&operation.row_key)));
            let problem = match (&operation.action, row) {
                (Action::Insert(_), Some(_)) => "exists",
                (Action::Replace(..) | Action::Merge(..) | Action::Delete(_), None) => "missing",
                (
                    Action::Replace(_, IfMatch::ETag(etag))
                    | Action::Merge(_, IfMatch::ETag(etag))
                    | Action::Delete(IfMatch::ETag(etag)),
                    Some((_, current)),
                ) if etag != current => "changed",
                _ => return None,
            };
            Some((problem, operation.row_key.clone()))
        })
    }

    fn apply(&mut self, group: &Group, etags: &[Option<ETag>]) {
        for (operation, etag) in group.operations.iter().zip(etags) {
            let key = (units(&group.partition_key), units(&operation.row_key));
            let old = self.rows.remove(&key);
            let properties = match &operation.action {
                Action::Merge(changes, _) => {
                    let (old, _) = old.as_ref().expect("a merge was done");
                    Some(old.as_ref().merge(changes.as_ref()))
                }
                action => action.properties().cloned(),
            };
            self.stale.extend(old.map(|(_, etag)| etag));
            assert_eq!(properties.is_some(), etag.is_some());
            if let (Some(properties), Some(etag)) = (properties, etag) {
                assert!(!self.stale.contains(etag), "two writes have the same ETag");
                self.rows.insert(key, (properties, etag.clone()));
            }
        }
    }

    fn scan(&self, partitions: &Partitions, rows: &KeyRange) -> Vec<(ModelKey, Properties, ETag)> {
        let within = |range: &KeyRange, key: &Vec<u16>| {
            let above = match &range.from {
                Bound::Included(from) => *key >= units(from),
                Bound::Excluded(from) => *key > units(from),
                Bound::Unbounded => true,
            };
            let below = match &range.to {
                Bound::Included(to) => *key <= units(to),
                Bound::Excluded(to) => *key < units(to),
                Bound::Unbounded => true,
            };
            above && below
        };
        let partition = |key: &Vec<u16>| match partitions {
            Partitions::One(one) => *key == units(one),
            Partitions::Range(range) => within(range, key),
        };
        let holds = |((key, row), _): &(&ModelKey, _)| partition(key) && within(rows, row);
        let copy = |(key, (properties, etag)): (&ModelKey, &(Properties, ETag))| {
            (key.clone(), properties.clone(), etag.clone())
        };
        self.rows.iter().filter(holds).map(copy).collect()
    }
}

/// Runs the steps on the store and on the model, and compares their results.
fn check_model<B: Backend>(mut store: B, reopen: impl Fn(B) -> B, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Group(partition_key, operations) => {
                let operations =
                    operations.iter().map(|operation| model.operation(&partition_key, operation)).collect();
                let group = Group { table: "Posts".into(), partition_key, operations };
                let problem = match block_on(store.execute_group(&group)) {
                    Ok(etags) => {
                        prop_assert_eq!(model.refusal(&group), None);
                        model.apply(&group, &etags);
                        continue;
                    }
                    Err(Error::AlreadyExists(row)) => ("exists", row),
                    Err(Error::NotFound(row)) => ("missing", row),
                    Err(Error::ConditionNotMet(row)) => ("changed", row),
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                };
                prop_assert_eq!(&problem.1.partition_key, &group.partition_key);
                prop_assert_eq!(Some((problem.0, problem.1.row_key.clone())), model.refusal(&group));
            }
            Step::Scan { partitions, rows, page } => {
                let expected = model.scan(&partitions, &rows);
                let (found, pages) = all(&store, &scan(partitions, rows, page));
                let found: Vec<_> = found
                    .into_iter()
                    .map(|row| ((units(&row.partition_key), units(&row.row_key)), row.properties, row.etag))
                    .collect();
                prop_assert_eq!(pages, found.len().div_ceil(page as usize).max(1));
                prop_assert_eq!(found, expected);
            }
            Step::Reopen => store = reopen(store),
        }
    }
    let found = all(&store, &scan(Partitions::ALL, KeyRange::ALL, 1000)).0.len();
    prop_assert_eq!(found, model.rows.len());
    Ok(())
}

depth::laws! {
    256;

    fn memory_behaves_like_a_map_in_utf16_order(steps in prop::collection::vec(step(), 1..60)) {
        check_model(memory(), |store| store, steps)?;
    }
}

depth::laws! {
    24;

    fn a_file_behaves_like_a_map_in_utf16_order(steps in prop::collection::vec(step(), 1..40)) {
        let (folder, store) = file();
        let reopen = |store| {
            drop(store);
            open(folder.path())
        };
        check_model(store, reopen, steps)?;
    }
}

#[test]
fn a_snapshot_sees_no_later_write_and_refuses_its_own() {
    let (folder, store) = file();
    write(&store, "1", Action::Insert(likes(1))).expect("a new row");
    let snapshot = store.view(StoreView::Snapshot).expect("a snapshot").expect("this store has them");
    write(&store, "2", Action::Insert(likes(2))).expect("a new row");
    block_on(store.delete_table("Posts")).expect("a deletion");
    let of = |snapshot: &Arc<dyn Backend>| {
        let rows = block_on(snapshot.query(&scan(Partitions::ALL, KeyRange::ALL, 10), None)).expect("a page").rows;
        rows.iter().map(|row| row.row_key.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&snapshot), ["1"]);
    assert_eq!(of(&snapshot.view(StoreView::Snapshot).expect("a snapshot").expect("of a snapshot")), ["1"]);
    for refused in [block_on(snapshot.create_table("Others")), block_on(snapshot.delete_table("Posts"))] {
        assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    }
    // It keeps the file open.
    drop(store);
    assert_eq!(of(&snapshot), ["1"]);
    assert!(matches!(EmbeddedBackend::open(folder.path().join("blog.tables")), Err(Error::InUse(_))));
    drop(snapshot);
    let store = open(folder.path());
    assert_eq!(block_on(store.list_tables("")).expect("the names"), [""; 0]);
}

#[test]
fn a_file_that_was_opened_for_reading_is_not_written() {
    let (folder, store) = file();
    write(&store, "1", Action::Insert(likes(1))).expect("a new row");
    drop(store);
    let path = folder.path().join("blog.tables");
    let before = std::fs::read(&path).expect("the file");
    let store = EmbeddedBackend::open_read_only(&path).expect("a reader");
    let other = EmbeddedBackend::open_read_only(&path).expect("another reader");
    assert!(read(&store, "1").is_some() && read(&other, "1").is_some());
    let refusal = write(&store, "2", Action::Insert(likes(2))).expect_err("a refusal").to_string();
    assert!(refusal.contains("was opened for reading, so nothing can be written"), "{refusal}");
    assert!(block_on(store.create_table("Others")).is_err() && block_on(store.delete_table("Posts")).is_err());
    assert!(read(&store, "2").is_none());
    drop((store, other));
    assert!(std::fs::read(&path).expect("the file") == before);
}
