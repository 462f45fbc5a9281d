//! Indexes with `each`: a row for each element of a field, in every scope and with every content.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    time::Duration,
};

use anyhow::{Context as _, Result};
use table_runtime::{
    BoxedRows, Copied, Error, Projection, Property, Stored, TableEntity, Tables, Value,
    backend::{Action, BackendExt as _, IfMatch},
    jobs::Finding,
    row::{Properties, ValueRef},
};
use tests::stores::Store;
use uuid::Uuid;

use crate::fixtures::findings;

crate::conformance! {
    each_element_has_the_documented_row
    a_query_returns_each_entity_once
    a_range_over_unique_rows_returns_each_entity_once
    included_and_copied_rows_return_each_entity_once
    hash_partitions_return_each_entity_once
    every_collection_has_elements
    an_update_writes_the_rows_of_elements_that_came_or_went
    a_unique_violation_names_the_element
    entities_swap_elements_in_a_transaction
    too_many_elements_are_refused_before_sending
    an_entity_never_gets_more_rows_than_one_transaction_deletes
    many_elements_in_another_partition_are_written
    rows_of_elements_that_the_entity_lacks_match_nothing
    jobs_compare_and_repair_the_rows_of_elements
    an_index_is_built_and_dropped
    an_entity_with_too_many_elements_is_not_indexed
    a_migration_moves_entities_with_elements
    create_refuses_each_added_or_removed
    bulk_writes_and_deletions_have_all_rows
    explain_says_that_an_entity_may_have_several_rows
    recorded_layouts_have_elements
    a_row_without_the_field_has_no_rows
    merge_and_upsert_change_the_rows
}

/// Entity with an index with `each` in every scope and with every content.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", allow_scan)]
#[index(board_tag(partition(board), row(each(tags, lowercase))))]
#[index(letter(partition(each(tags, first = 1, uppercase)), row(each(tags, uppercase))))]
#[index(spread(partition(each(tags, hash = 4)), row(each(tags))))]
#[index(fanned(partition(each(tags, hash = 3)), row(title)))]
#[index(title_tag(same_partition, row(title, each(tags))))]
#[index(nested(same_partition, row(each(about.places, lowercase)), include(title)))]
#[index(nested_copy(partition(board), row(each(about.places)), copy))]
struct Note {
    #[partition_key]
    board: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(tag, each, lowercase, same_partition)]
    #[index(with_title, each, same_partition, include(title))]
    #[index(copied, each, same_partition, copy)]
    #[index(everywhere, each, lowercase)]
    #[index(everywhere_copy, each, copy, table = "NoteCopies")]
    #[index(in_table, each, same_table, include(title))]
    #[property(json)]
    tags: Vec<String>,
    #[index(number, each, reverse, same_partition, unique)]
    #[property(json)]
    numbers: BTreeSet<u16>,
    #[index(email, each, lowercase, unique)]
    #[property(json, default)]
    emails: Vec<String>,
    about: Option<About>,
}

#[derive(Property, Clone, Debug, Default, PartialEq)]
struct About {
    #[property(json)]
    places: Vec<String>,
    rank: u8,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Note)]
struct Headline {
    id: u32,
    title: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Note)]
struct Number {
    id: u32,
}

fn note(id: u32, tags: &[&str]) -> Note {
    Note {
        board: "b".into(),
        id,
        title: format!("Note {id}"),
        tags: tags.iter().map(ToString::to_string).collect(),
        numbers: BTreeSet::from([u16::try_from(id).unwrap_or_default(), 1000 + u16::try_from(id).unwrap_or_default()]),
        emails: vec![format!("Ann{id}@x.org"), format!("bob{id}@x.org")],
        about: Some(About { places: tags.iter().map(|tag| format!("P{tag}")).collect(), rank: 1 }),
    }
}

/// Tags that fold to the same text, that continue others, and that need escapes.
const NOTES: [(u32, &[&str]); 7] = [
    (1, &["rust", "Rust", "azure"]),
    (2, &["ruby", "rust", "rustic"]),
    (3, &[]),
    (4, &["azure"]),
    (5, &["zebra", "rust-1", "a b"]),
    (6, &["ruby", "azure", "zebra", "rustic", "rust"]),
    (7, &["Äpfel", "ÄPFEL", "\u{1F980}"]),
];

/// Length of a lease.
const LEASE: Duration = Duration::from_millis(300);

fn program(store: &Store) -> Tables {
    store.again().with_lease(LEASE)
}

async fn filled(store: &Store) -> Result<Vec<Note>> {
    store.tables.create::<Note>().await?;
    let notes: Vec<_> = NOTES.iter().map(|(id, tags)| note(*id, tags)).collect();
    for note in &notes {
        store.tables.insert(note).await?;
    }
    Ok(notes)
}

/// Returns the ids of the notes with a tag for which `is_read` returns true, in the order of the first of these tags, as
/// `key` writes it.
fn in_order(notes: &[Note], key: impl Fn(&str) -> String, is_read: impl Fn(&str) -> bool) -> Vec<u32> {
    let first = |note: &Note| {
        let keys = note.tags.iter().map(|tag| key(tag)).filter(|tag| is_read(tag));
        keys.min_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()))
    };
    let mut found: Vec<_> = notes.iter().filter_map(|note| Some((first(note)?, note.id))).collect();
    found.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()).then(left.1.cmp(&right.1)));
    found.into_iter().map(|(_, id)| id).collect()
}

fn ids<N: Numbered>(found: &[N]) -> Vec<u32> {
    found.iter().map(Numbered::number).collect()
}

async fn keys(store: &Store, table: &str, prefix: &str) -> Result<Vec<(String, String)>> {
    let rows = store.rows(table).await?.into_iter().filter(|row| row.row_key.starts_with(prefix));
    Ok(rows.map(|row| (row.partition_key, row.row_key)).collect())
}

async fn each_element_has_the_documented_row(store: &Store) -> Result<()> {
    filled(store).await?;
    let of =
        |rows: &[(&str, &str)]| rows.iter().map(|(left, right)| ((*left).into(), (*right).into())).collect::<Vec<_>>();
    let tags = keys(store, "Notes", "tag-").await?;
    assert_eq!(
        tags[..3],
        of(&[("b", "tag-a!20b 0000000005"), ("b", "tag-azure 0000000001"), ("b", "tag-azure 0000000004"),])[..]
    );
    // `rust` and `Rust` fold to one text, and `Äpfel` and `ÄPFEL`.
    assert_eq!(tags.len(), 2 + 3 + 1 + 3 + 5 + 2);
    let rust: Vec<_> = tags.iter().filter(|(_, key)| key.starts_with("tag-rust ")).collect();
    assert_eq!(rust.len(), 3);
    let numbers = keys(store, "Notes", "number-").await?;
    assert_eq!(numbers.len(), 14);
    assert_eq!(numbers[0], ("b".into(), "number-64528".into()));
    let everywhere = keys(store, "NotesByEverywhere", "").await?;
    assert!(everywhere.contains(&("rust".into(), "b 0000000006".into())), "{everywhere:?}");
    let board = keys(store, "NotesByBoardTag", "").await?;
    assert!(board.contains(&("b".into(), "rust b 0000000006".into())), "{board:?}");
    let nested = keys(store, "Notes", "nested-").await?;
    assert!(nested.contains(&("b".into(), "nested-pazure 0000000004".into())), "{nested:?}");
    let emails = keys(store, "NotesByEmail", "").await?;
    assert_eq!(emails.len(), 14);
    // An index that includes a field also holds the elements, by which a query returns the entity once.
    let row = store.backend.get("Notes", "b", "with_title-rust 0000000001", None).await?.expect("a row");
    assert_eq!(row.properties.get("Title").map(ValueRef::to_text), Some("Note 1".into()));
    assert_eq!(row.properties.get("Tags").map(ValueRef::to_text), Some(r#"["rust","Rust","azure"]"#.into()));
    Ok(())
}

/// Checks what a query returns, in every way to run it.
macro_rules! check {
    ($store:expr, $query:expr, $expected:expr) => {{
        let expected: Vec<u32> = $expected;
        let what = $query.explain().to_string();
        let whole = check_query($store, $query.boxed(), &expected).await;
        whole.with_context(|| what.clone())?;
        check_query($store, $query.select::<Number>().boxed(), &expected).await.with_context(|| what.clone())?;
        check_query($store, $query.select::<Headline>().boxed(), &expected).await.with_context(|| what.clone())?;
        assert_eq!($query.select::<Headline>().count(&$store.tables).await?, expected.len(), "{what}");
        let first: Vec<_> = $query.take(2).all(&$store.tables).await?.iter().map(|found| found.id).collect();
        assert_eq!(first, expected[..expected.len().min(2)], "{what}");
    }};
}

trait Numbered {
    fn number(&self) -> u32;
}

macro_rules! numbered {
    ($($type:ty)*) => {$(
        impl Numbered for $type {
            fn number(&self) -> u32 {
                self.id
            }
        }
    )*};
}

numbered!(Stored<Note> Copied<Note> Headline Number);

async fn check_query<N: Numbered + Send + 'static>(store: &Store, query: BoxedRows<N>, expected: &[u32]) -> Result<()> {
    let tables = &store.tables;
    let ids = |found: &[N]| found.iter().map(Numbered::number).collect::<Vec<_>>();
    assert_eq!(ids(&query.clone().all(tables).await?), expected);
    assert_eq!(ids(&query.clone().stream(tables).try_collect::<Vec<_>>().await?), expected);
    assert_eq!(query.clone().count(tables).await?, expected.len());
    assert_eq!(query.clone().first(tables).await?.map(|found| found.number()), expected.first().copied());
    for size in [1, 3] {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = query.clone().page(tables, size, cursor.as_deref()).await?;
            assert!(page.entities.len() <= size);
            found.extend(ids(&page.entities));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "pages of {size}");
    }
    Ok(())
}

async fn a_query_returns_each_entity_once(store: &Store) -> Result<()> {
    let notes = filled(store).await?;
    let tables = &store.tables;
    let lower = |tag: &str| tag.to_lowercase();
    let tagged = |is_read: &dyn Fn(&str) -> bool| in_order(&notes, lower, is_read);
    check!(store, Note::by_tag("b"), tagged(&|_| true));
    check!(store, Note::by_tag("b").eq("RUST"), tagged(&|tag| tag == "rust"));
    check!(store, Note::by_tag("b").eq("none"), vec![]);
    for prefix in ["r", "ru", "rus", "rust", "Z", "a", ""] {
        let folded = prefix.to_lowercase();
        check!(store, Note::by_tag("b").starts_with(prefix), tagged(&|tag| tag.starts_with(&folded)));
        check!(store, Note::by_board_tag("b").starts_with(prefix), tagged(&|tag| tag.starts_with(&folded)));
    }
    for (from, to) in [("a", "s"), ("azure", "rust"), ("rust", "rusty"), ("ruby", "zz"), ("b", "c")] {
        check!(store, Note::by_tag("b").range(from..to), tagged(&|tag| from <= tag && tag < to));
        check!(store, Note::by_board_tag("b").range(from..=to), tagged(&|tag| from <= tag && tag <= to));
        check!(store, Note::by_tag("b").range(from..), tagged(&|tag| from <= tag));
    }
    check!(store, Note::by_everywhere("Rust"), tagged(&|tag| tag == "rust"));
    let upper = |tag: &str| tag.to_uppercase();
    for prefix in ["R", "ru", "RUST", "z"] {
        let folded = prefix.to_uppercase();
        let expected = in_order(&notes, upper, |tag| tag.starts_with(&folded));
        check!(store, Note::by_letter().starts_with(prefix), expected);
    }
    check!(store, Note::by_title_tag("b").eq("Note 6"), vec![6]);
    check!(store, Note::by_title_tag("b").eq("Note 6").eq("ruby"), vec![6]);
    check!(store, Note::by_title_tag("b"), vec![1, 2, 4, 5, 6, 7]);
    // Each row counts.
    assert_eq!(Note::by_tag("b").starts_with("r").count_unchecked(tables).await?, 8);
    assert_eq!(Note::by_tag("b").starts_with("r").count(tables).await?, 4);
    let filtered = Note::by_tag("b").starts_with("r").filter(|note| note.title.ne("Note 2")).all(tables).await?;
    assert_eq!(ids(&filtered), [6, 1, 5]);
    Ok(())
}

async fn included_and_copied_rows_return_each_entity_once(store: &Store) -> Result<()> {
    let notes = filled(store).await?;
    let tables = &store.tables;
    let same = |tag: &str| tag.to_owned();
    let tagged = |is_read: &dyn Fn(&str) -> bool| in_order(&notes, same, is_read);
    for prefix in ["r", "rust", "z", ""] {
        let expected = || tagged(&|tag| tag.starts_with(prefix));
        check!(store, Note::by_with_title("b").starts_with(prefix), expected());
        check!(store, Note::by_copied("b").starts_with(prefix), expected());
        // The rows alone say which of them is the first.
        let gets = store.probe.requests();
        let found = Note::by_with_title("b").starts_with(prefix).select::<Headline>().all(tables).await?;
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), expected());
        assert_eq!(store.probe.requests(), 1, "after {gets}");
    }
    check!(store, Note::by_with_title("b").eq("rust"), tagged(&|tag| tag == "rust"));
    check!(store, Note::by_copied("b").eq("rust"), tagged(&|tag| tag == "rust"));
    check!(store, Note::by_everywhere_copy("rust"), tagged(&|tag| tag == "rust"));
    check!(store, Note::by_in_table("rust"), tagged(&|tag| tag == "rust"));
    let places = |prefix: &'static str| tagged(&move |tag| format!("P{tag}").starts_with(prefix));
    check!(store, Note::by_nested_copy("b").starts_with("Pr"), places("Pr"));
    let lower = in_order(&notes, str::to_lowercase, |tag| tag.starts_with('r'));
    check!(store, Note::by_nested("b").starts_with("PR"), lower);
    let unchecked = Note::by_in_table("rust").select_unchecked::<Headline>().all(tables).await?;
    assert_eq!(unchecked.iter().map(|found| found.id).collect::<Vec<_>>(), [1, 2, 6]);
    Ok(())
}

async fn a_range_over_unique_rows_returns_each_entity_once(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    check!(store, Note::by_number("b"), vec![7, 6, 5, 4, 3, 2, 1]);
    check!(store, Note::by_number("b").range(3..=6), vec![6, 5, 4, 3]);
    check!(store, Note::by_number("b").range(6..1003), vec![2, 1, 7, 6]);
    assert_eq!(Note::by_number("b").eq(1004).get(tables).await?.map(|note| note.id), Some(4));
    assert_eq!(Note::by_number("b").eq(999).get(tables).await?, None);
    assert_eq!(Note::by_email("ANN3@x.org").get(tables).await?.map(|note| note.id), Some(3));
    assert_eq!(Note::by_email("bob3@X.org").get(tables).await?.map(|note| note.id), Some(3));
    assert!(!Note::by_email("bob9@x.org").exists(tables).await?);
    Ok(())
}

async fn hash_partitions_return_each_entity_once(store: &Store) -> Result<()> {
    let notes = filled(store).await?;
    let same = |tag: &str| tag.to_owned();
    let tagged = |is_read: &dyn Fn(&str) -> bool| in_order(&notes, same, is_read);
    check!(store, Note::by_spread(), tagged(&|_| true));
    check!(store, Note::by_spread().starts_with("r"), tagged(&|tag| tag.starts_with('r')));
    check!(store, Note::by_spread().eq("rust"), tagged(&|tag| tag == "rust"));
    check!(store, Note::by_spread().range("azure"..="ruby"), tagged(&|tag| ("azure"..="ruby").contains(&tag)));
    // A partition for some of the elements, and the titles in order.
    check!(store, Note::by_fanned(), vec![1, 2, 4, 5, 6, 7]);
    check!(store, Note::by_fanned().range("Note 2".."Note 6"), vec![2, 4, 5]);
    // A partition alone returns an entity once, and another one may return it too.
    let mut found = BTreeSet::new();
    for number in 0..4 {
        let query = || Note::by_spread().hash_partition(number);
        let ids: Vec<_> = query().all(&store.tables).await?.iter().map(|note| note.id).collect();
        check!(store, query(), ids.clone());
        assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");
        found.extend(ids);
    }
    assert_eq!(found, tagged(&|_| true).into_iter().collect());
    Ok(())
}

/// Entity with a field of each collection.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Collections")]
#[index(named, same_partition, row(each(time)))]
struct Collections {
    #[partition_key]
    key: String,
    #[row_key]
    id: u8,
    #[index(deque, each, same_partition)]
    #[property(json)]
    deque: VecDeque<i32>,
    #[index(hash_set, each, same_partition, include(bytes))]
    #[index(set_copy, each, same_partition, copy)]
    #[property(json)]
    hash_set: HashSet<String>,
    #[index(array, each, same_partition)]
    #[property(json)]
    array: [char; 3],
    #[index(boxed, each, same_partition)]
    #[property(json)]
    boxed: Box<[Uuid]>,
    #[index(shared, each, same_partition)]
    #[property(json)]
    shared: Vec<bool>,
    #[index(maybe, each, same_partition)]
    #[property(json)]
    maybe: Option<BTreeSet<u64>>,
    #[index(byte, each, same_partition)]
    bytes: Vec<u8>,
    /// A field with the name of an encoding.
    #[property(json)]
    time: Vec<u32>,
}

async fn every_collection_has_elements(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Collections>().await?;
    let entity = |id: u8, maybe: Option<BTreeSet<u64>>| Collections {
        key: "k".into(),
        id,
        deque: VecDeque::from([-1, 7, -1]),
        // Equal sets have different orders, and the rows hold the set.
        hash_set: ["y", "x", "v", "w", "u"].map(String::from).into(),
        array: ['a', 'b', 'a'],
        boxed: Box::from([Uuid::from_u128(1), Uuid::from_u128(2)]),
        shared: vec![true, false, true],
        maybe,
        bytes: vec![3, 1, 3],
        time: vec![9],
    };
    tables.insert(&entity(1, None)).await?;
    tables.insert(&entity(2, Some(BTreeSet::from([u64::MAX])))).await?;
    let rows =
        |prefix: &'static str| async move { Ok::<_, anyhow::Error>(keys(store, "Collections", prefix).await?.len()) };
    for (prefix, count) in [
        ("deque-", 4),
        ("hash_set-", 10),
        ("set_copy-", 10),
        ("array-", 4),
        ("boxed-", 4),
        ("shared-", 4),
        ("maybe-", 1),
        ("byte-", 4),
        ("named-", 2),
    ] {
        assert_eq!(rows(prefix).await?, count, "{prefix}");
    }
    assert_eq!(Collections::by_deque("k").range(-5..8).all(tables).await?.len(), 2);
    assert_eq!(Collections::by_hash_set("k").eq("y").count(tables).await?, 2);
    assert_eq!(Collections::by_array("k").eq('b').count(tables).await?, 2);
    assert_eq!(Collections::by_boxed("k").eq(Uuid::from_u128(2)).count(tables).await?, 2);
    assert_eq!(Collections::by_shared("k").eq(false).count(tables).await?, 2);
    assert_eq!(Collections::by_maybe("k").eq(u64::MAX).count(tables).await?, 1);
    assert_eq!(Collections::by_byte("k").range(1..=3).count(tables).await?, 2);
    assert_eq!(findings::<Collections>(store).await?, []);
    let verified = tables.inventory().await?.verify(tables, None).await?;
    assert!(verified.findings.is_empty() && verified.partly.is_empty(), "{verified:?}");
    assert_eq!(verified.index_rows, 43);
    Ok(())
}

async fn an_update_writes_the_rows_of_elements_that_came_or_went(store: &Store) -> Result<()> {
    /// Entity with one index for the elements of each field.
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Counted")]
    struct Counted {
        #[partition_key]
        key: String,
        #[row_key]
        id: u32,
        #[index(near, each, same_partition)]
        #[property(json)]
        near: Vec<u32>,
        #[index(far, each)]
        #[property(json)]
        far: Vec<u32>,
        #[index(own, each, unique)]
        #[property(json)]
        own: Vec<u32>,
    }
    let tables = &store.tables;
    tables.create::<Counted>().await?;
    let mut counted = Counted { key: "k".into(), id: 1, near: vec![1, 2, 3], far: vec![1, 2, 3], own: vec![1, 2, 3] };
    store.probe.requests();
    tables.insert(&counted).await?;
    let in_one = store.spans_partitions();
    // A pending insert, six rows in other partitions, and the commit.
    assert_eq!(store.probe.requests(), if in_one { 1 } else { 8 });
    let mut stored = Counted::key("k", 1).get(tables).await?.expect("the entity");
    store.probe.requests();
    let before = (store.rows("Counted").await?, store.rows("CountedByFar").await?, store.rows("CountedByOwn").await?);
    (stored.near, stored.far, stored.own) = (vec![3, 2, 4], vec![2, 5, 3], vec![3, 2]);
    tables.update(&mut stored).await?;
    // Three old rows are read, one new row is written, and after the commit two old rows are deleted.
    assert_eq!(store.probe.requests(), if in_one { 1 } else { 2 + 1 + 1 + 2 });
    let kept = |before: &[table_runtime::row::Row], after: &[table_runtime::row::Row]| {
        before
            .iter()
            .filter(|row| after.iter().any(|other| other.row_key == row.row_key && other.etag == row.etag))
            .count()
    };
    let kept_in = |before: &[table_runtime::row::Row], after: &[table_runtime::row::Row]| {
        let is_same = |row: &table_runtime::row::Row, other: &table_runtime::row::Row| {
            (&other.partition_key, &other.row_key, &other.etag) == (&row.partition_key, &row.row_key, &row.etag)
        };
        before.iter().filter(|row| after.iter().any(|other| is_same(row, other))).count()
    };
    assert_eq!(kept(&before.0, &store.rows("Counted").await?), 2);
    assert_eq!(kept_in(&before.1, &store.rows("CountedByFar").await?), 2);
    assert_eq!(kept_in(&before.2, &store.rows("CountedByOwn").await?), 2);
    counted.id = 2;
    counted.own = vec![1];
    tables.insert(&counted).await?;
    assert_eq!(findings::<Counted>(store).await?, []);
    // The same elements in another order and twice are no change of rows.
    stored.near = vec![4, 4, 3, 2];
    store.probe.requests();
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), 1);
    stored.far.clear();
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), if in_one { 1 } else { 3 + 1 + 3 });
    tables.delete(stored).await?;
    assert_eq!(findings::<Counted>(store).await?, []);
    Ok(())
}

async fn a_unique_violation_names_the_element(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    let mut other = note(9, &[]);
    other.emails = vec!["new@x.org".into(), "BOB4@x.org".into()];
    for result in [
        tables.insert(&other).await.map(drop),
        tables.upsert(&other).await.map(drop),
        tables.insert_all([other.clone()]).await.map(drop),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("bob4@x.org") && error.contains("`email`"), "{error}");
    }
    // Nothing of the refused entity is left: another one may have its other address.
    assert_eq!(findings::<Note>(store).await?, []);
    other.emails = vec!["new@x.org".into(), "free@x.org".into(), "NEW@x.org".into()];
    tables.insert(&other).await?;
    let mut stored = Note::key("b", 9).get(tables).await?.expect("the note");
    stored.numbers = BTreeSet::from([5, 77]);
    let error = tables.update(&mut stored).await.unwrap_err();
    assert!(matches!(error, Error::UniqueViolation(_)) && error.to_string().contains("number"), "{error}");
    assert_eq!(Note::by_number("b").eq(77).get(tables).await?, None);
    assert_eq!(Note::by_number("b").eq(1009).get(tables).await?.map(|note| note.id), Some(9));
    assert_eq!(findings::<Note>(store).await?, []);
    Ok(())
}

async fn entities_swap_elements_in_a_transaction(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Owners")]
    struct Owner {
        #[partition_key]
        key: String,
        #[row_key]
        id: u32,
        #[index(name, each, lowercase, same_partition, unique)]
        #[property(json)]
        names: Vec<String>,
    }
    let tables = &store.tables;
    tables.create::<Owner>().await?;
    for (id, names) in [(1, ["a", "b"]), (2, ["c", "d"])] {
        tables.insert(&Owner { key: "k".into(), id, names: names.map(String::from).to_vec() }).await?;
    }
    let mut first = Owner::key("k", 1).get(tables).await?.expect("an owner");
    let mut second = Owner::key("k", 2).get(tables).await?.expect("an owner");
    first.names = vec!["a".into(), "C".into()];
    second.names = vec!["b".into(), "d".into()];
    tables.transaction().update(&mut first).update(&mut second).commit().await?;
    for (name, id) in [("a", 1), ("c", 1), ("b", 2), ("d", 2)] {
        assert_eq!(Owner::by_name("k").eq(name).get(tables).await?.map(|owner| owner.id), Some(id), "{name}");
    }
    first.names.push("d".into());
    let error = tables.transaction().update(&mut first).update(&mut second).commit().await.unwrap_err();
    assert!(matches!(error, Error::UniqueViolation(_)), "{error}");
    assert_eq!(findings::<Owner>(store).await?, []);
    Ok(())
}

/// Entity with as many rows as it has elements, in its partition and in one other.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Many")]
#[index(far, partition(key), row(each(far)))]
struct Many {
    #[partition_key]
    key: String,
    #[row_key]
    id: u32,
    #[index(near, each, same_partition)]
    #[property(json)]
    near: Vec<u32>,
    #[property(json)]
    far: Vec<u32>,
}

async fn too_many_elements_are_refused_before_sending(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Many>().await?;
    let many = |id, near: u32| Many { key: "k".into(), id, near: (0..near).collect(), far: vec![] };
    tables.insert(&many(1, 99)).await?;
    store.probe.requests();
    for result in [
        tables.insert(&many(2, 100)).await.map(drop),
        tables.upsert(&many(2, 100)).await.map(drop),
        tables.insert_all([many(2, 100)]).await.map(drop),
    ] {
        let error = result.unwrap_err().to_string();
        let expected =
            "the entity has 101 rows, with 100 elements of `near` in the index `near`; the limit is 100 rows";
        assert!(error.contains(expected) && error.contains("id-0000000002"), "{error}");
    }
    assert_eq!(store.probe.requests(), 0);
    // An update also deletes the rows of former elements.
    let mut stored = Many::key("k", 1).get(tables).await?.expect("the entity");
    stored.near = (50..149).collect();
    store.probe.requests();
    let error = tables.update(&mut stored).await.unwrap_err().to_string();
    let expected = "101 operations of 1 entity, with 50 elements of `near` and 50 former ones in the index `near`";
    assert!(error.contains(expected), "{error}");
    assert_eq!(store.probe.requests(), 0);
    // One element less fits.
    stored.near = (49..148).collect();
    tables.update(&mut stored).await?;
    assert_eq!(findings::<Many>(store).await?, []);
    tables.delete(stored).await?;
    assert_eq!(store.rows("Many").await?.len(), 0);
    Ok(())
}

/// Entity with two indexes whose rows share its transaction.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Pairs")]
struct Pair {
    #[partition_key]
    key: String,
    #[row_key]
    id: u32,
    #[index(left, each, same_partition)]
    #[property(json)]
    left: Vec<u32>,
    #[index(right, each, same_partition, unique)]
    #[property(json)]
    right: Vec<u32>,
}

async fn an_entity_never_gets_more_rows_than_one_transaction_deletes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Pair>().await?;
    tables.insert(&Pair { key: "k".into(), id: 1, left: (0..60).collect(), right: vec![] }).await?;
    let mut stored = Pair::key("k", 1).get(tables).await?.expect("the entity");
    stored.right = (0..40).collect();
    let error = tables.update(&mut stored).await.unwrap_err().to_string();
    let expected = "101 rows, with 60 elements of `left` in the index `left`, with 40 elements of `right`";
    assert!(error.contains(expected), "{error}");
    stored.right = (0..39).collect();
    tables.update(&mut stored).await?;
    tables.delete(stored).await?;
    assert_eq!(store.rows("Pairs").await?.len(), 0);
    Ok(())
}

async fn many_elements_in_another_partition_are_written(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Many>().await?;
    let many = |far: std::ops::Range<u32>| Many { key: "k".into(), id: 1, near: vec![], far: far.collect() };
    tables.insert(&many(0..150)).await?;
    assert_eq!(Many::by_far("k").count_unchecked(tables).await?, 150);
    assert_eq!(Many::by_far("k").count(tables).await?, 1);
    tables.upsert(&many(140..290)).await?;
    assert_eq!(Many::by_far("k").count_unchecked(tables).await?, 150);
    assert_eq!(findings::<Many>(store).await?, []);
    tables.remove(Many::key("k", 1)).await?;
    assert_eq!(Many::by_far("k").count_unchecked(tables).await?, 0);
    tables.insert_all([many(0..250)]).await?;
    assert_eq!(Many::by_far("k").count_unchecked(tables).await?, 250);
    assert_eq!(findings::<Many>(store).await?, []);
    Ok(())
}

async fn rows_of_elements_that_the_entity_lacks_match_nothing(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    let pointer = || Action::Upsert(Properties::default());
    // Rows of an element that the entity lacks: alone, before its first one, and between two of them.
    for tag in ["none", "aaa", "rub"] {
        store.write("Notes", ("b", &format!("tag-{tag} 0000000002")), pointer()).await?;
        store.write("NotesByBoardTag", ("b", &format!("{tag} b 0000000002")), pointer()).await?;
    }
    store.write("Notes", ("b", "tag-rust 0000000099"), pointer()).await?;
    for query in [Note::by_tag("b").boxed(), Note::by_board_tag("b").boxed()] {
        assert_eq!(ids(&query.all(tables).await?), [5, 1, 4, 6, 2, 7]);
    }
    assert_eq!(ids(&Note::by_tag("b").eq("none").all(tables).await?), [0; 0]);
    assert_eq!(ids(&Note::by_tag("b").starts_with("rub").all(tables).await?), [2, 6]);
    assert_eq!(Note::by_tag("b").starts_with("rub").count(tables).await?, 2);
    // A copy under the key of an element that it does not have is damaged.
    let copy = store.backend.get("Notes", "b", "copied-azure 0000000004", None).await?.expect("a copy");
    store.write("Notes", ("b", "copied-zzz 0000000004"), Action::Upsert(copy.properties)).await?;
    let error = Note::by_copied("b").starts_with("zzz").all(tables).await.unwrap_err();
    assert!(matches!(error, Error::Key(_)) && error.to_string().contains("an element of `tags`"), "{error}");
    let error = Note::by_copied("b").eq("zzz").select::<Headline>().all(tables).await.unwrap_err();
    assert!(matches!(error, Error::Key(_)), "{error}");
    let mut found = findings::<Note>(store).await?;
    found.retain(|finding| !matches!(finding, Finding::StaleRow { .. }));
    assert_eq!(found, []);
    tables.repair::<Note>().await?;
    assert_eq!(findings::<Note>(store).await?, []);
    assert_eq!(ids(&Note::by_copied("b").starts_with("z").all(tables).await?), [5, 6]);
    Ok(())
}

async fn jobs_compare_and_repair_the_rows_of_elements(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    let delete = || Action::Delete(IfMatch::Any);
    store.write("Notes", ("b", "tag-rustic 0000000006"), delete()).await?;
    store.write("NotesByEmail", ("bob6@x.org", ""), delete()).await?;
    store.write("NotesByEverywhere", ("azure", "b 0000000001"), delete()).await?;
    assert_eq!(findings::<Note>(store).await?.len(), 3);
    tables.repair::<Note>().await?;
    assert_eq!(findings::<Note>(store).await?, []);
    assert_eq!(Note::by_email("bob6@x.org").get(tables).await?.map(|note| note.id), Some(6));
    Ok(())
}

/// The entity without its indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", entity = "Book")]
struct PlainBook {
    #[partition_key]
    shelf: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[property(json)]
    tags: Vec<String>,
    #[property(json)]
    codes: Vec<u16>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books")]
struct Book {
    #[partition_key]
    shelf: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(tag, each, lowercase, same_partition)]
    #[index(shared_tag, each, lowercase)]
    #[property(json)]
    tags: Vec<String>,
    #[index(code, each, unique)]
    #[index(near_code, each, unique, same_partition)]
    #[property(json)]
    codes: Vec<u16>,
}

const BOOK_INDEXES: [&str; 4] = ["tag", "shared_tag", "code", "near_code"];

async fn an_index_is_built_and_dropped(store: &Store) -> Result<()> {
    let (tables, before) = (&program(store), program(store));
    before.create::<PlainBook>().await?;
    let book = |id: u32, tags: &[&str], codes: &[u16]| PlainBook {
        shelf: "s".into(),
        id,
        tags: tags.iter().map(ToString::to_string).collect(),
        codes: codes.to_vec(),
    };
    for book in [book(1, &["a", "B", "b"], &[1, 2]), book(2, &["b"], &[3, 2]), book(3, &[], &[])] {
        before.insert(&book).await?;
    }
    tables.create::<Book>().await?;
    let filled = tables.backfill::<Book>("tag").await?;
    assert!(filled.ready && filled.conflicts.is_empty(), "{filled:?}");
    assert!(tables.backfill::<Book>("shared_tag").await?.ready);
    // The codes 2 belong to two books.
    for index in ["code", "near_code"] {
        let filled = tables.backfill::<Book>(index).await?;
        assert!(!filled.ready && filled.conflicts.len() == 1, "{filled:?}");
    }
    let mut second = Book::key("s", 2).get(tables).await?.expect("a book");
    second.codes = vec![3, 4];
    tables.update(&mut second).await?;
    for index in ["code", "near_code"] {
        assert!(tables.backfill::<Book>(index).await?.ready, "{index}");
    }
    assert_eq!(findings::<Book>(store).await?, []);
    assert_eq!(
        keys(store, "Books", "tag-").await?,
        [
            ("s".into(), "tag-a 0000000001".into()),
            ("s".into(), "tag-b 0000000001".into()),
            ("s".into(), "tag-b 0000000002".into()),
        ]
    );
    assert_eq!(keys(store, "BooksByCode", "").await?.len(), 4);
    let ids = |books: Vec<Stored<Book>>| books.iter().map(|book| book.id).collect::<Vec<_>>();
    assert_eq!(ids(Book::by_tag("s").starts_with("").all(tables).await?), [1, 2]);
    assert_eq!(ids(Book::by_shared_tag("b").all(tables).await?), [1, 2]);
    assert_eq!(Book::by_code(2).get(tables).await?.map(|book| book.id), Some(1));
    let again = program(store);
    for index in BOOK_INDEXES {
        again.drop_index::<PlainBook>(index).await?;
    }
    assert_eq!(store.rows("Books").await?.len(), 3);
    for table in ["BooksBySharedTag", "BooksByCode"] {
        assert_eq!(store.rows(table).await.map(|rows| rows.len()).unwrap_or_default(), 0);
    }
    Ok(())
}

async fn bulk_writes_and_deletions_have_all_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    let notes: Vec<_> = NOTES.iter().map(|(id, tags)| note(*id, tags)).collect();
    tables.insert_all(notes.clone()).await?;
    assert_eq!(findings::<Note>(store).await?, []);
    let changed = notes.iter().map(|note| Note { tags: vec!["new".into(), "rust".into()], ..note.clone() });
    tables.upsert_all(changed).await?;
    assert_eq!(findings::<Note>(store).await?, []);
    assert_eq!(ids(&Note::by_tag("b").starts_with("n").all(tables).await?), [1, 2, 3, 4, 5, 6, 7]);
    let mut other = note(8, &["rust"]);
    other.emails = vec![];
    tables.insert(&other).await?;
    let deleted = Note::by_tag("b").starts_with("ne").delete_all(tables).await?;
    assert_eq!(deleted.written, 7);
    assert_eq!(ids(&Note::by_tag("b").all(tables).await?), [8]);
    assert_eq!(findings::<Note>(store).await?, []);
    tables.remove_all([Note::key("b", 8)]).await?;
    for table in ["Notes", "NotesByEmail", "NotesByEverywhere", "NoteCopies", "NotesByBoardTag"] {
        assert_eq!(store.rows(table).await?.len(), 0, "{table}");
    }
    Ok(())
}

async fn explain_says_that_an_entity_may_have_several_rows(store: &Store) -> Result<()> {
    let _ = store;
    let explain = Note::by_tag("b").starts_with("r").explain();
    assert_eq!(explain.rows_for_each(), Some("tags"));
    assert!(explain.reads_more_than_it_returns());
    let text = explain.to_string();
    assert!(text.contains(", a row for each element of `tags` that an entity has in the range"), "{text}");
    for explain in [
        Note::by_tag("b").eq("rust").explain(),
        Note::by_everywhere("rust").explain(),
        Note::by_email("a").explain(),
        Note::by_spread().eq("rust").explain(),
        Note::by_key("b").explain(),
    ] {
        assert_eq!((explain.rows_for_each(), explain.reads_more_than_it_returns()), (None, false), "{explain}");
    }
    for explain in [
        Note::by_spread().explain(),
        Note::by_fanned().explain(),
        Note::by_title_tag("b").eq("x").explain(),
        Note::by_letter().starts_with("rust").explain(),
        Note::by_number("b").range(3..).explain(),
    ] {
        assert!(explain.rows_for_each().is_some(), "{explain}");
    }
    Ok(())
}

async fn recorded_layouts_have_elements(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    let verify = || async { anyhow::Ok(tables.inventory().await?.verify(tables, None).await?) };
    let verified = verify().await?;
    assert!(verified.findings.is_empty() && verified.partly.is_empty(), "{verified:?}");
    assert_eq!(verified.entities, 7);
    store.write("Notes", ("b", "tag-rustic 0000000006"), Action::Delete(IfMatch::Any)).await?;
    store.write("Notes", ("b", "tag-none 0000000006"), Action::Upsert(Properties::default())).await?;
    let found = verify().await?.findings;
    assert_eq!(found.len(), 2, "{found:?}");
    let inventory = tables.inventory().await?;
    let row = inventory.identify_keys("Notes", "b", "tag-rust 0000000001").expect("a row of the index");
    assert_eq!((&*row.layout.name, row.to_string().as_str()), ("tag", "board=b tags~rust id=1"));
    assert!(row.layout.row[0].each);
    Ok(())
}

async fn a_row_without_the_field_has_no_rows(store: &Store) -> Result<()> {
    filled(store).await?;
    let tables = &store.tables;
    // The field has a default: an older program wrote the row.
    let mut properties = Properties::default();
    for (name, value) in [("Title", "Old"), ("Tags", "[]"), ("Numbers", "[]")] {
        properties.push(name, Value::String(value.into()).as_ref());
    }
    store.write("Notes", ("b", "id-0000000050"), Action::Insert(properties)).await?;
    assert_eq!(findings::<Note>(store).await?, []);
    let mut stored = Note::key("b", 50).get(tables).await?.expect("the note");
    assert_eq!((stored.emails.len(), &stored.about), (0, &None));
    stored.emails.push("Old@x.org".into());
    tables.update(&mut stored).await?;
    assert_eq!(Note::by_email("old@x.org").get(tables).await?.map(|note| note.id), Some(50));
    assert_eq!(findings::<Note>(store).await?, []);
    Ok(())
}

async fn merge_and_upsert_change_the_rows(store: &Store) -> Result<()> {
    let notes = filled(store).await?;
    let tables = &store.tables;
    tables.merge(&Note { tags: vec!["merged".into()], ..notes[5].clone() }).await?;
    tables.upsert(&Note { tags: vec!["upserted".into(), "rust".into()], ..notes[0].clone() }).await?;
    tables
        .modify(Note::key("b", 2), |note| {
            note.tags.retain(|tag| tag != "ruby");
        })
        .await?;
    assert_eq!(findings::<Note>(store).await?, []);
    assert_eq!(ids(&Note::by_tag("b").starts_with("ru").all(tables).await?), [1, 2, 5]);
    assert_eq!(ids(&Note::by_tag("b").eq("merged").all(tables).await?), [6]);
    let stored: Stored<Note> = Note::key("b", 1).get(tables).await?.expect("the note");
    tables.delete(stored).await?;
    assert_eq!(findings::<Note>(store).await?, []);
    Ok(())
}

async fn an_entity_with_too_many_elements_is_not_indexed(store: &Store) -> Result<()> {
    let (tables, before) = (&program(store), program(store));
    before.create::<PlainBook>().await?;
    let tags = |count: u32| (0..count).map(|tag| format!("t{tag:03}")).collect::<Vec<_>>();
    let book = |id: u32, count: u32| PlainBook { shelf: "s".into(), id, tags: tags(count), codes: vec![] };
    for (id, count) in [(1, 99), (2, 100), (3, 1), (4, 60), (5, 60)] {
        before.insert(&book(id, count)).await?;
    }
    tables.create::<Book>().await?;
    let error = tables.backfill::<Book>("tag").await.unwrap_err();
    assert!(matches!(error, Error::Limit(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("id-0000000002") && text.contains("100 elements of `tags`"), "{text}");
    // An index that is not built has no rows to delete.
    let many = Book::key("s", 2).get(tables).await?.expect("the book");
    let error = tables.delete(&many).await.unwrap_err().to_string();
    assert!(error.contains("100 former ones in the index `tag`"), "{error}");
    tables.modify(Book::key("s", 2), |book| book.tags.truncate(50)).await?;
    tables.remove(Book::key("s", 2)).await?;
    assert!(tables.backfill::<Book>("tag").await?.ready);
    assert!(tables.backfill::<Book>("shared_tag").await?.ready);
    assert!(tables.backfill::<Book>("code").await?.ready && tables.backfill::<Book>("near_code").await?.ready);
    assert_eq!(findings::<Book>(store).await?, []);
    assert_eq!(Book::by_tag("s").count_unchecked(tables).await?, 220);
    assert_eq!(Book::by_tag("s").starts_with("t").count(tables).await?, 4);
    Ok(())
}

/// The books in another place.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Volumes", entity = "Book")]
struct Volume {
    #[partition_key]
    id: u32,
    #[row_key(prefix = "shelf-")]
    shelf: String,
    #[index(tag, each, uppercase, same_partition)]
    #[property(json)]
    tags: Vec<String>,
    #[index(code, each, unique)]
    #[property(json)]
    codes: Vec<u16>,
}

impl From<Book> for Volume {
    fn from(Book { shelf, id, tags, codes }: Book) -> Self {
        Self { id, shelf, tags, codes }
    }
}

async fn a_migration_moves_entities_with_elements(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Book>().await?;
    let book = |id: u32, tags: &[&str], codes: &[u16]| Book {
        shelf: "s".into(),
        id,
        tags: tags.iter().map(ToString::to_string).collect(),
        codes: codes.to_vec(),
    };
    for book in [book(1, &["a", "B", "b"], &[1, 2]), book(2, &["b"], &[3]), book(3, &[], &[])] {
        tables.insert(&book).await?;
    }
    tables.migrate::<Book, Volume>().await?;
    let tables = program(store);
    tables.create::<Volume>().await?;
    assert_eq!(Volume::by_tag(1).starts_with("").count(&tables).await?, 1);
    assert_eq!(Volume::by_tag(1).count_unchecked(&tables).await?, 2);
    assert_eq!(Volume::by_code(2).get(&tables).await?.map(|volume| volume.id), Some(1));
    assert_eq!(tables.verify::<Volume>().all().await?, []);
    Ok(())
}

async fn create_refuses_each_added_or_removed(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Texts", entity = "Text")]
    struct One {
        #[partition_key]
        key: String,
        #[row_key(prefix = "id-")]
        id: u32,
        #[index(tag, same_partition)]
        #[property(json)]
        tag: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Texts", entity = "Text")]
    struct Several {
        #[partition_key]
        key: String,
        #[row_key(prefix = "id-")]
        id: u32,
        #[index(tag, each, same_partition)]
        #[property(json)]
        tag: Vec<String>,
    }

    let tables = &store.tables;
    tables.create::<One>().await?;
    tables.insert(&One { key: "k".into(), id: 1, tag: "rust".into() }).await?;
    let Err(Error::LayoutChanged(error)) = store.again().create::<Several>().await else { panic!("it is refused") };
    assert!(error.layout == "tag" && error.to_string().contains("each"), "{error}");
    store.backend.delete_table("Texts").await?;
    store.backend.delete_table("TableLayouts").await?;
    let tables = &store.again();
    tables.create::<Several>().await?;
    tables.insert(&Several { key: "k".into(), id: 1, tag: vec!["rust".into()] }).await?;
    let Err(Error::LayoutChanged(error)) = store.again().create::<One>().await else { panic!("it is refused") };
    assert!(error.layout == "tag" && error.to_string().contains("each"), "{error}");
    Ok(())
}
