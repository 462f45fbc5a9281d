//! The plain store of the tests, compared with the embedded one: both give the same answers and have the same rows.

use std::ops::Bound;

use anyhow::Result;
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
};
use table_runtime::{
    ETag, Error, Value,
    backend::{
        Action, Backend, BackendExt, Continuation, Group, IfMatch, InMemoryBackend, KeyRange, Operation, Partitions,
        Scan,
    },
    filter::{Condition, Operator},
    row::{Properties, Row, RowRef},
};
use tests::plain::Plain;

const TABLES: [&str; 3] = ["Words", "words", "Missing"];
const PARTITIONS: [&str; 2] = ["a", "b"];
/// Row keys. The last two have another order by code point.
const ROWS: [&str; 5] = ["", "1", "2", "\u{10000}", "\u{FF5E}"];
const NAMES: [&str; 3] = ["A", "B", "C"];

/// Group of operations that describes ETags by their state, since each store has its own ETags.
#[derive(Clone, Debug)]
struct Script {
    table: &'static str,
    partition_key: &'static str,
    operations: Vec<(&'static str, Request)>,
}

#[derive(Clone, Debug)]
enum Request {
    Insert(Properties),
    Upsert(Properties),
    Replace(Properties, Version),
    Merge(Properties, Version),
    Delete(Version),
}

#[derive(Clone, Copy, Debug)]
enum Version {
    Any,
    Current,
    Stale,
}

fn properties() -> impl Strategy<Value = Properties> {
    vec((select(&NAMES[..]), 0..3), 0..3)
        .prop_map(|pairs| pairs.into_iter().map(|(name, number)| (name, Value::Int32(number))).collect())
}

fn request() -> impl Strategy<Value = Request> {
    let version = || select(vec![Version::Any, Version::Current, Version::Current, Version::Stale]);
    prop_oneof![
        properties().prop_map(Request::Insert),
        properties().prop_map(Request::Upsert),
        (properties(), version()).prop_map(|(properties, version)| Request::Replace(properties, version)),
        (properties(), version()).prop_map(|(properties, version)| Request::Merge(properties, version)),
        version().prop_map(Request::Delete),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    // The table usually exists.
    let table = prop_oneof![8 => select(&TABLES[..2]), 1 => select(&TABLES[2..])];
    let operations =
        btree_map(select(&ROWS[..]), request(), 1..4).prop_map(|operations| operations.into_iter().collect());
    (table, select(&PARTITIONS[..]), operations).prop_map(|(table, partition_key, operations)| Script {
        table,
        partition_key,
        operations,
    })
}

fn scan() -> impl Strategy<Value = Scan> {
    let bound = || {
        let key = || select(&ROWS[..]).prop_map(str::to_owned);
        prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded)]
    };
    let partition_bound = || {
        let key = || select(&PARTITIONS[..]).prop_map(str::to_owned);
        prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded)]
    };
    let partitions = prop_oneof![
        Just(Partitions::ALL),
        select(&PARTITIONS[..]).prop_map(|key| Partitions::One(key.to_owned())),
        (partition_bound(), partition_bound()).prop_map(|(from, to)| Partitions::Range(KeyRange { from, to })),
    ];
    let filter = proptest::option::of((select(&NAMES[..]), 0..3).prop_map(|(property, number)| Condition::Compare {
        property: property.into(),
        operator: Operator::Ge,
        value: Value::Int32(number),
    }));
    let select = proptest::option::of(proptest::sample::subsequence(&NAMES[..], 0..=NAMES.len()));
    (partitions, bound(), bound(), filter, select, 1..5u32).prop_map(|(partitions, from, to, filter, select, page)| {
        Scan {
            table: "Words".into(),
            partitions,
            rows: KeyRange { from, to },
            filter,
            select: select.map(Into::into),
            page,
        }
    })
}

/// The group of a script on this store: the current ETags are those of its rows.
async fn group(script: &Script, backend: &dyn Backend, stale: &ETag) -> Group {
    let mut operations = Vec::new();
    for (row_key, request) in &script.operations {
        let row = backend.get(script.table, script.partition_key, row_key, None).await.ok().flatten();
        let condition = |version: &Version| match (version, &row) {
            (Version::Any, _) => IfMatch::Any,
            (Version::Current, Some(row)) => IfMatch::ETag(row.etag.clone()),
            _ => IfMatch::ETag(stale.clone()),
        };
        let action = match request {
            Request::Insert(properties) => Action::Insert(properties.clone()),
            Request::Upsert(properties) => Action::Upsert(properties.clone()),
            Request::Replace(properties, version) => Action::Replace(properties.clone(), condition(version)),
            Request::Merge(properties, version) => Action::Merge(properties.clone(), condition(version)),
            Request::Delete(version) => Action::Delete(condition(version)),
        };
        operations.push(Operation { row_key: (*row_key).to_owned(), action });
    }
    Group { table: script.table.into(), partition_key: script.partition_key.to_owned(), operations }
}

/// Returns which rows of a group have an ETag, after comparing it with the stored one, or the error.
async fn answer(backend: &dyn Backend, group: &Group) -> Result<Vec<bool>, String> {
    let etags = backend.execute_group(group).await.map_err(|error| {
        assert!(!matches!(error, Error::OutcomeUnknown(_)), "{error}");
        error.to_string()
    })?;
    let mut answer = Vec::new();
    for (operation, etag) in group.operations.iter().zip(etags) {
        let row = backend.get(&group.table, &group.partition_key, &operation.row_key, None).await;
        assert_eq!(row.expect("the table").map(|row| row.etag), etag);
        answer.push(etag.is_some());
    }
    Ok(answer)
}

/// Returns all rows of a scan, page by page. A store may end a page anywhere, but no page may be too long.
async fn pages(backend: &dyn Backend, scan: &Scan) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut from: Option<Continuation> = None;
    loop {
        let page = backend.query(scan, from.as_ref()).await.expect("the table");
        assert!(page.rows.len() <= usize::try_from(scan.page).expect("a few"));
        rows.extend(page.rows.iter().map(RowRef::to_row));
        from = page.next;
        if from.is_none() {
            return rows;
        }
    }
}

fn contents(rows: &[Row]) -> Vec<(&str, &str, &Properties)> {
    rows.iter().map(|row| (&*row.partition_key, &*row.row_key, &row.properties)).collect()
}

/// Returns the keys of the rows whose ETag has changed.
fn changed(before: &[Row], after: &[Row]) -> Vec<(String, String)> {
    let keys = |row: &Row| (row.partition_key.clone(), row.row_key.clone());
    let is_unchanged = |row: &Row| before.iter().any(|other| keys(other) == keys(row) && other.etag == row.etag);
    after.iter().filter(|row| !is_unchanged(row)).map(keys).collect()
}

tests::depth::laws! {
    256;

    fn both_stores_give_the_same_answers(scripts in vec(script(), 1..20), scans in vec(scan(), 3)) {
        let all = Scan {
            table: "Words".into(),
            partitions: Partitions::ALL,
            rows: KeyRange::ALL,
            filter: None,
            select: None,
            page: 1000,
        };
        let run = async {
            let embedded = InMemoryBackend::new()?;
            let plain = Plain::default();
            let stores: [&dyn Backend; 2] = [&embedded, &plain];
            for store in stores {
                assert!(store.create_table("Words").await?);
                assert!(!store.create_table("wordS").await?);
                assert_eq!(store.list_tables("wo").await?, ["Words"]);
            }
            let mut before = [Vec::new(), Vec::new()];
            for script in &scripts {
                let mut answers = Vec::new();
                let mut after = Vec::new();
                for store in stores {
                    let group = group(script, store, &"W/\"stale\"".parse().expect("an ETag")).await;
                    answers.push(answer(store, &group).await);
                    after.push(pages(store, &all).await);
                }
                assert_eq!(answers[0], answers[1], "{script:?}");
                assert_eq!(contents(&after[0]), contents(&after[1]), "{script:?}");
                assert_eq!(changed(&before[0], &after[0]), changed(&before[1], &after[1]), "{script:?}");
                let refused = answers[0].is_err();
                assert!(!refused || changed(&before[1], &after[1]).is_empty(), "{script:?}");
                before = [after.swap_remove(0), after.swap_remove(0)];
            }
            for scan in &scans {
                let (embedded, plain) = (pages(stores[0], scan).await, pages(stores[1], scan).await);
                assert_eq!(contents(&embedded), contents(&plain), "{scan:?}");
            }
            anyhow::Ok(())
        };
        tokio::runtime::Builder::new_current_thread().build()?.block_on(run).expect("both stores");
    }
}

#[tokio::test]
async fn a_copy_has_its_own_rows_and_a_clone_shares_them() -> Result<()> {
    let plain = Plain::default();
    plain.create_table("Words").await?;
    let insert = |row_key: &str| Group {
        table: "Words".into(),
        partition_key: "a".into(),
        operations: vec![Operation { row_key: row_key.to_owned(), action: Action::Insert(Properties::default()) }],
    };
    let etags = plain.execute_group(&insert("1")).await?;
    assert_eq!(etags[0].as_ref().and_then(|etag| plain.version(etag)), Some(1));
    let (copy, clone) = (plain.copy(), plain.clone());
    plain.execute_group(&insert("2")).await?;
    assert_eq!((copy.rows().len(), clone.rows().len()), (1, 2));
    assert_eq!(clone.to_string(), "Words('a','1') v1 {}\nWords('a','2') v2 {}\n");
    // A copy continues with the same version numbers.
    let etags = copy.execute_group(&insert("3")).await?;
    assert_eq!(etags[0].as_ref().and_then(|etag| copy.version(etag)), Some(2));
    Ok(())
}
