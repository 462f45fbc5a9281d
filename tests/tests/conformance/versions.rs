//! Versions of an entity: rows of older structs are converted, rows of newer ones are an error or skipped.

use anyhow::{Context, Result, ensure};
use table_runtime::{
    EntityGroup, Error, Projection, Stored, TableEntity,
    backend::{Action, BackendExt, IfMatch},
    error::{VersionError, VersionProblem},
    jobs::Finding,
    row::{Properties, ValueRef},
};
use tests::stores::Store;
use time::macros::datetime;

use crate::fixtures::findings;

crate::conformance! {
    a_chain_reads_rows_of_every_version
    every_write_writes_the_version
    an_update_writes_the_new_version_and_keeps_unknown_properties
    an_update_of_an_older_row_moves_its_index_rows
    a_transaction_updates_older_rows
    reads_of_a_newer_row_are_errors
    writes_never_replace_a_newer_row_that_they_read
    readers_skip_newer_rows_where_the_struct_says_so
    a_failed_conversion_names_the_row_and_the_reason
    a_conversion_must_keep_the_values_of_keys
    jobs_work_over_rows_of_mixed_versions
    an_index_is_built_over_rows_of_mixed_versions
    a_version_without_from_reads_no_older_row
    a_version_that_is_no_number_does_not_fit
    members_of_a_group_have_versions
    a_master_is_listed_beside_items_of_other_versions
    slices_have_versions
    generic_entities_have_versions
    a_layout_has_its_version
}

/// The first version, whose rating is a text.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", kind = "Book", write_id)]
struct BookV1 {
    #[partition_key]
    shelf: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition, unique)]
    #[index(titles, same_partition, list)]
    title: String,
    #[index(author, include(title))]
    #[index(copies, copy)]
    #[index(here, same_partition, copy)]
    author: String,
    #[index(isbn, unique)]
    isbn: Option<u32>,
    rating: String,
}

/// The second version, whose rating is a number.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", kind = "Book", write_id, version = 2, from = BookV1)]
struct BookV2 {
    #[partition_key]
    shelf: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition, unique)]
    #[index(titles, same_partition, list)]
    title: String,
    #[index(author, include(title))]
    #[index(copies, copy)]
    #[index(here, same_partition, copy)]
    author: String,
    #[index(isbn, unique)]
    isbn: Option<u32>,
    #[property(rename = "RatingNumber")]
    rating: u32,
}

/// The third version, which has another name for the rating, and one more index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", kind = "Book", write_id, version = 3, from = BookV2)]
struct Book {
    #[partition_key]
    shelf: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition, unique)]
    #[index(titles, same_partition, list)]
    title: String,
    #[index(author, include(title))]
    #[index(copies, copy)]
    #[index(here, same_partition, copy)]
    author: String,
    #[index(isbn, unique)]
    isbn: Option<u32>,
    stars: u32,
    language: Option<String>,
}

impl TryFrom<BookV1> for BookV2 {
    type Error = std::num::ParseIntError;

    fn try_from(BookV1 { shelf, id, title, author, isbn, rating }: BookV1) -> Result<Self, Self::Error> {
        Ok(Self { shelf, id, title, author, isbn, rating: rating.parse()? })
    }
}

impl From<BookV2> for Book {
    fn from(BookV2 { shelf, id, title, author, isbn, rating }: BookV2) -> Self {
        Self { shelf, id, title, author, isbn, stars: rating * 10, language: None }
    }
}

fn book_v1(id: u32) -> BookV1 {
    let (title, author) = (format!("Title {id}"), "Ann".into());
    BookV1 { shelf: "s".into(), id, title, author, isbn: Some(id), rating: id.to_string() }
}

fn book_v2(id: u32) -> BookV2 {
    book_v1(id).try_into().expect("a number")
}

fn book(id: u32) -> Book {
    book_v2(id).into()
}

/// Writes a book of each version, whose number is its id.
async fn books(store: &Store) -> Result<()> {
    store.tables.create::<Book>().await?;
    store.tables.insert(&book_v1(1)).await?;
    store.tables.insert(&book_v2(2)).await?;
    store.tables.insert(&book(3)).await?;
    Ok(())
}

/// Returns the version in the entity's row; `None` without one.
async fn version(store: &Store, id: u32) -> Result<Option<i32>> {
    let row = store.backend.get("Books", "s", &row_key(id), None).await?.context("the row")?;
    Ok(match row.properties.get("EntityVersion") {
        Some(ValueRef::Int32(version)) => Some(version),
        None => None,
        Some(other) => panic!("{other:?}"),
    })
}

fn row_key(id: u32) -> String {
    format!("id-{id:010}")
}

/// Returns the error about a version.
fn version_error<T: std::fmt::Debug>(result: table_runtime::Result<T>) -> VersionError {
    match result {
        Err(Error::Version(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn is_newer<T: std::fmt::Debug>(result: table_runtime::Result<T>, found: u32, known: u32) {
    let error = version_error(result);
    assert_eq!((error.found, error.known, &error.problem), (found, known, &VersionProblem::Newer), "{error}");
    assert_eq!(error.row.row_key, row_key(found), "{error}");
}

/// Returns the properties of the row as they are written by another program.
fn with(name: &str, value: ValueRef<'_>) -> Properties {
    let mut properties = Properties::default();
    properties.push(name, value);
    properties
}

async fn a_chain_reads_rows_of_every_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    assert_eq!(
        [version(store, 1).await?, version(store, 2).await?, version(store, 3).await?],
        [None, Some(2), Some(3)]
    );
    let expected = [book(1), book(2), book(3)];
    let plain = |found: &[Stored<Book>]| found.iter().map(|book| (**book).clone()).collect::<Vec<_>>();
    assert_eq!(plain(&Book::by_key("s").all(tables).await?), expected);
    assert_eq!(plain(&Book::by_key("s").stream(tables).try_collect::<Vec<_>>().await?), expected);
    assert_eq!(plain(&Book::by_title("s").all(tables).await?), expected);
    assert_eq!(plain(&Book::by_titles("s").all(tables).await?), expected);
    assert_eq!(plain(&Book::by_author("Ann").all(tables).await?), expected);
    let copies = |found: Vec<table_runtime::Copied<Book>>| {
        found.into_iter().map(table_runtime::Copied::into_inner).collect::<Vec<_>>()
    };
    assert_eq!(copies(Book::by_copies("Ann").all(tables).await?), expected);
    assert_eq!(copies(Book::by_here("s").eq("Ann").all(tables).await?), expected);
    let (mut paged, mut next) = (Vec::new(), None::<String>);
    loop {
        let page = Book::by_key("s").page(tables, 1, next.as_deref()).await?;
        paged.extend(plain(&page.entities));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(paged, expected);
    for (id, expected) in (1..).zip(&expected) {
        assert_eq!(Book::key("s", id).get(tables).await?.as_deref(), Some(expected));
        assert_eq!(Book::by_isbn(id).get(tables).await?.as_deref(), Some(expected));
        assert_eq!(Book::by_title("s").eq(&format!("TITLE {id}")).get(tables).await?.as_deref(), Some(expected));
    }
    assert_eq!(Book::by_key("s").count(tables).await?, 3);
    // The second version reads the first.
    assert_eq!(BookV2::key("s", 1).get(tables).await?.as_deref(), Some(&book_v2(1)));
    assert_eq!(findings::<Book>(store).await?, []);
    Ok(())
}

async fn every_write_writes_the_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Book>().await?;
    for id in 1..=5 {
        match id {
            1 => drop(tables.insert(&book(id)).await?),
            2 => drop(tables.upsert(&book(id)).await?),
            3 => drop(tables.merge(&book(id)).await?),
            4 => tables.insert_all([book(id)]).await.map(|_| ())?,
            _ => tables.upsert_all([book(id)]).await.map(|_| ())?,
        }
        assert_eq!(version(store, id).await?, Some(3), "{id}");
    }
    // Copies have it, other index rows do not.
    for table in ["BooksByCopies", "BooksByAuthor", "BooksByIsbn"] {
        for row in store.rows(table).await? {
            let found = row.properties.get("EntityVersion");
            assert_eq!(found, (table == "BooksByCopies").then_some(ValueRef::Int32(3)), "{table}");
        }
    }
    Ok(())
}

async fn an_update_writes_the_new_version_and_keeps_unknown_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    for id in 1..=3 {
        // One of the properties has the name of one that only a later version has.
        for (name, value) in [("Foreign", ValueRef::Int32(7)), ("Language", ValueRef::String("de"))] {
            store.write("Books", ("s", &row_key(id)), Action::Merge(with(name, value), IfMatch::Any)).await?;
        }
        let mut stored = Book::key("s", id).get(tables).await?.context("the book")?;
        stored.stars += 1;
        tables.update(&mut stored).await?;
        let row = store.backend.get("Books", "s", &row_key(id), None).await?.context("the row")?;
        let has = |name| row.properties.get(name);
        assert_eq!(has("EntityVersion"), Some(ValueRef::Int32(3)));
        assert_eq!(has("Foreign"), Some(ValueRef::Int32(7)));
        assert_eq!(has("Stars"), Some(ValueRef::Int64(i64::from(id) * 10 + 1)));
        assert_eq!((has("Rating"), has("RatingNumber")), (None, None));
        // The older structs did not know the language, so it was no part of the entity.
        assert_eq!(has("Language"), (id == 3).then_some(ValueRef::String("de")));
        tables.update(&mut stored).await?;
    }
    assert_eq!(findings::<Book>(store).await?, []);
    // Also where the row was not read by the caller.
    tables.upsert(&book_v1(4)).await?;
    let etag = store.backend.get("Books", "s", &row_key(4), None).await?.context("the row")?.etag;
    tables.update(&mut Stored::new(book(4), etag)).await?;
    tables.upsert(&book_v1(5)).await?;
    store.write("Books", ("s", &row_key(5)), Action::Merge(with("Foreign", ValueRef::Int32(7)), IfMatch::Any)).await?;
    tables.merge(&book(5)).await?;
    let row = store.backend.get("Books", "s", &row_key(5), None).await?.context("the row")?;
    assert_eq!(row.properties.get("Foreign"), Some(ValueRef::Int32(7)));
    assert_eq!((version(store, 4).await?, version(store, 5).await?), (Some(3), Some(3)));
    assert_eq!(findings::<Book>(store).await?, []);
    Ok(())
}

async fn an_update_of_an_older_row_moves_its_index_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    let mut stored = Book::key("s", 1).get(tables).await?.context("the book")?;
    (stored.title, stored.author, stored.isbn) = ("Other".into(), "Bob".into(), Some(100));
    tables.update(&mut stored).await?;
    assert_eq!(findings::<Book>(store).await?, []);
    assert_eq!(Book::by_isbn(1).get(tables).await?, None);
    assert_eq!(Book::by_copies("Bob").all(tables).await?.len(), 1);
    // The values of older rows are unique too.
    let error = tables.insert(&Book { isbn: Some(2), ..book(9) }).await.expect_err("the second book has it");
    assert!(matches!(&error, Error::UniqueViolation(error) if error.index == "isbn"), "{error}");
    let stored = Book::key("s", 2).get(tables).await?.context("the book")?;
    tables.delete(&stored).await?;
    assert!(tables.remove(Book::key("s", 1)).await?);
    assert_eq!(Book::by_title("s").count(tables).await?, 1);
    assert_eq!(findings::<Book>(store).await?, []);
    Ok(())
}

/// A note, without indexes in other partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "Note")]
struct NoteV1 {
    #[partition_key]
    of: String,
    #[row_key]
    id: u32,
    #[index(topic, same_partition, unique)]
    topic: String,
    text: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "Note", version = 2, from = NoteV1)]
struct Note {
    #[partition_key]
    of: String,
    #[row_key]
    id: u32,
    #[index(topic, same_partition, unique)]
    topic: String,
    lines: i32,
}

impl From<NoteV1> for Note {
    fn from(NoteV1 { of, id, topic, text }: NoteV1) -> Self {
        Self { of, id, topic, lines: text.lines().count().try_into().unwrap_or(i32::MAX) }
    }
}

fn note_v1(id: u32) -> NoteV1 {
    NoteV1 { of: "n".into(), id, topic: format!("t{id}"), text: "a\nb".into() }
}

async fn a_transaction_updates_older_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    for id in 1..=4 {
        tables.insert(&note_v1(id)).await?;
    }
    let mut notes = Note::by_key("n").all(tables).await?;
    let (first, rest) = notes.split_at_mut(1);
    let (second, rest) = rest.split_at_mut(1);
    (first[0].topic, second[0].topic) = ("t2".into(), "t1".into());
    let etag = Stored::etag(&rest[0]).clone();
    let mut made = Stored::new(Note::from(note_v1(3)), etag);
    let merged = Note { lines: 9, ..note_v1(4).into() };
    let transaction = tables.transaction().update(&mut first[0]).update(&mut second[0]);
    transaction.update(&mut made).merge(&merged).commit().await?;
    let rows = store.rows("Notes").await?;
    let versions: Vec<_> = rows.iter().filter_map(|row| row.properties.get("EntityVersion")).collect();
    assert_eq!(versions, [ValueRef::Int32(2); 4]);
    assert!(rows.iter().all(|row| row.properties.get("Text").is_none()));
    assert_eq!(Note::by_topic("n").eq("t1").get(tables).await?.context("the second")?.id, 2);
    assert_eq!(findings::<Note>(store).await?, []);
    // The old program cannot read them, nor update what it holds.
    for id in 1..=4 {
        let error = version_error(NoteV1::key("n", id).get(tables).await);
        assert_eq!((error.found, error.known), (2, 1));
    }
    Ok(())
}

#[derive(Projection, Debug)]
#[projection(of = BookV1)]
struct Titled {
    #[allow(dead_code, reason = "it is printed")]
    title: String,
}

#[derive(Projection, Debug)]
#[projection(of = BookV1)]
struct Rated {
    #[allow(dead_code, reason = "it is printed")]
    rating: String,
}

async fn reads_of_a_newer_row_are_errors(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    let ann = "Ann";
    is_newer(BookV1::key("s", 2).get(tables).await, 2, 1);
    is_newer(BookV1::key("s", 3).get(tables).await, 3, 1);
    is_newer(BookV2::key("s", 3).get(tables).await, 3, 2);
    is_newer(BookV1::by_key("s").all(tables).await, 2, 1);
    is_newer(BookV1::by_title("s").eq("title 3").get(tables).await, 3, 1);
    is_newer(BookV1::by_titles("s").all(tables).await, 2, 1);
    is_newer(BookV1::by_isbn(3).get(tables).await, 3, 1);
    is_newer(BookV1::by_author(ann).all(tables).await, 2, 1);
    is_newer(BookV2::by_copies(ann).all(tables).await.map(drop), 3, 2);
    is_newer(BookV1::by_here("s").eq(ann).all(tables).await.map(drop), 2, 1);
    is_newer(BookV1::by_copies(ann).all(tables).await.map(drop), 2, 1);
    is_newer(BookV1::key("s", 3).select::<Titled>().get(tables).await, 3, 1);
    // The newer row has no such property.
    is_newer(BookV1::key("s", 3).select::<Rated>().get(tables).await, 3, 1);
    is_newer(BookV1::by_key("s").select::<Titled>().all(tables).await, 2, 1);
    let error = version_error(BookV1::by_copies(ann).select::<Titled>().all(tables).await);
    assert_eq!((error.found, error.known, &*error.row.table), (2, 1, "BooksByCopies"));
    // An older row beside them is read.
    assert_eq!(BookV1::key("s", 1).get(tables).await?.as_deref(), Some(&book_v1(1)));
    assert_eq!(BookV1::by_key("s").count(tables).await?, 3);
    let error = BookV1::key("s", 3).get(tables).await.expect_err("a newer row").to_string();
    assert!(error.contains("Books(PartitionKey='s',RowKey='id-0000000003') has version 3"), "{error}");
    assert!(error.contains("versions up to 1") && error.contains("skip_newer"), "{error}");
    // A verification reports them, and a repair changes nothing.
    let found = tables.verify::<BookV1>().all().await?;
    ensure!(found.iter().filter(|found| matches!(found, Finding::Foreign { .. })).count() >= 2, "{found:?}");
    tables.repair::<BookV1>().await?;
    assert_eq!(Book::by_key("s").all(tables).await?.len(), 3);
    Ok(())
}

async fn writes_never_replace_a_newer_row_that_they_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    let before = store.rows("Books").await?;
    let etag = Stored::etag(&Book::key("s", 3).get(tables).await?.context("the book")?).clone();
    is_newer(tables.update(&mut Stored::new(book_v1(3), etag.clone())).await, 3, 1);
    is_newer(tables.update(&mut Stored::new(book_v2(3), etag.clone())).await, 3, 2);
    is_newer(tables.delete(Stored::new(book_v1(3), etag)).await, 3, 1);
    is_newer(tables.merge(&book_v1(3)).await, 3, 1);
    is_newer(tables.upsert(&book_v2(3)).await, 3, 2);
    is_newer(tables.remove(BookV1::key("s", 3)).await, 3, 1);
    let Err(Error::Bulk(error)) = tables.upsert_all([book_v1(1), book_v1(3)]).await else { panic!("the newer row") };
    assert!(!error.ended_early && error.failures.len() == 1, "{error}");
    assert!(matches!(*error.failures[0].error, Error::Version(_)), "{error}");
    let error = tables.insert(&BookV1 { title: "x".into(), isbn: None, ..book_v1(3) }).await.expect_err("it exists");
    assert!(matches!(error, Error::Version(_) | Error::AlreadyExists(_)), "{error}");
    // An outdated copy of a row that was upgraded meanwhile cannot be written.
    let mut old = BookV1::key("s", 1).get(tables).await?.context("the book")?;
    let mut new = Book::key("s", 1).get(tables).await?.context("the book")?;
    tables.update(&mut new).await?;
    assert!(matches!(tables.update(&mut old).await, Err(Error::ConditionNotMet(_))));
    let after = store.rows("Books").await?;
    let unchanged = |rows: &[table_runtime::row::Row]| {
        rows.iter().filter(|row| row.row_key == row_key(3)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(unchanged(&after), unchanged(&before));
    assert_eq!(findings::<Book>(store).await?, []);
    Ok(())
}

/// The first version in a program that skips newer rows.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", kind = "Book", skip_newer)]
struct OldBook {
    #[partition_key]
    shelf: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition, unique)]
    #[index(titles, same_partition, list)]
    title: String,
    #[index(author, include(title))]
    #[index(copies, copy)]
    #[index(here, same_partition, copy)]
    author: String,
    #[index(isbn, unique)]
    isbn: Option<u32>,
    rating: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = OldBook)]
struct OldRating {
    rating: String,
}

async fn readers_skip_newer_rows_where_the_struct_says_so(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    let ids = |found: &[Stored<OldBook>]| found.iter().map(|book| book.id).collect::<Vec<_>>();
    assert_eq!(ids(&OldBook::by_key("s").all(tables).await?), [1]);
    assert_eq!(ids(&OldBook::by_key("s").take(1).all(tables).await?), [1]);
    assert_eq!(ids(&OldBook::by_key("s").filter(|book| book.rating.ge("")).all(tables).await?), [1]);
    assert_eq!(ids(&OldBook::by_title("s").all(tables).await?), [1]);
    assert_eq!(ids(&OldBook::by_titles("s").all(tables).await?), [1]);
    assert_eq!(ids(&OldBook::by_author("Ann").all(tables).await?), [1]);
    assert_eq!(OldBook::by_copies("Ann").all(tables).await?.len(), 1);
    assert_eq!(OldBook::by_copies("Ann").count(tables).await?, 1);
    assert_eq!(OldBook::by_copies("Ann").select::<OldRating>().all(tables).await?, [OldRating { rating: "1".into() }]);
    assert_eq!(OldBook::by_here("s").select::<OldRating>().all(tables).await?, [OldRating { rating: "1".into() }]);
    assert_eq!(OldBook::by_here("s").all(tables).await?.len(), 1);
    assert_eq!(OldBook::by_key("s").count(tables).await?, 1);
    assert_eq!(OldBook::by_key("s").select::<OldRating>().all(tables).await?, [OldRating { rating: "1".into() }]);
    for id in 2..=3 {
        assert_eq!(OldBook::key("s", id).get(tables).await?, None);
        assert!(!OldBook::key("s", id).exists(tables).await?);
        assert_eq!(OldBook::by_isbn(id).get(tables).await?, None);
        assert_eq!(OldBook::key("s", id).select::<OldRating>().get(tables).await?, None);
    }
    assert!(OldBook::key("s", 1).exists(tables).await?);
    // Writes do not skip them.
    is_newer(tables.remove(OldBook::key("s", 3)).await, 3, 1);
    assert!(matches!(tables.backfill::<OldBook>("isbn").await, Err(Error::Version(_))));
    assert_eq!(Book::by_key("s").count(tables).await?, 3);
    Ok(())
}

async fn a_failed_conversion_names_the_row_and_the_reason(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    tables.insert(&BookV1 { rating: "many".into(), ..book_v1(4) }).await?;
    for error in [
        version_error(BookV2::key("s", 4).get(tables).await),
        version_error(Book::key("s", 4).get(tables).await),
        version_error(Book::by_key("s").all(tables).await),
        version_error(tables.merge(&book(4)).await),
    ] {
        assert_eq!((error.row.row_key.as_str(), error.found), (&*row_key(4), 1));
        let VersionProblem::Failed(reason) = &error.problem else { panic!("{error}") };
        assert_eq!(reason, "invalid digit found in string");
        assert!(error.to_string().contains("has version 1, which could not be converted to version 2"), "{error}");
    }
    let found = findings::<Book>(store).await?;
    assert!(
        matches!(found.first(), Some(Finding::Foreign { problem, .. }) if problem.contains("converted")),
        "{found:?}"
    );
    assert_eq!(Book::key("s", 1).get(tables).await?.as_deref(), Some(&book(1)));
    // The old program corrects it.
    let mut stored = BookV1::key("s", 4).get(tables).await?.context("the book")?;
    stored.rating = "4".into();
    tables.update(&mut stored).await?;
    assert_eq!(Book::key("s", 4).get(tables).await?.as_deref(), Some(&book(4)));
    Ok(())
}

/// A version whose conversion changes what a key holds, depending on the text.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "Note", version = 2, from = NoteV1)]
struct Changed {
    #[partition_key]
    of: String,
    #[row_key]
    id: u32,
    #[index(topic, same_partition, unique)]
    topic: String,
}

impl From<NoteV1> for Changed {
    fn from(NoteV1 { of, id, topic, text }: NoteV1) -> Self {
        match &*text {
            "the topic" => Self { of, id, topic: topic.to_uppercase() },
            "the key" => Self { of, id: id + 1, topic },
            _ => Self { of, id, topic },
        }
    }
}

async fn a_conversion_must_keep_the_values_of_keys(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<NoteV1>().await?;
    for (id, text) in [(1, "nothing"), (2, "the topic"), (4, "the key")] {
        tables.insert(&NoteV1 { text: text.into(), ..note_v1(id) }).await?;
    }
    assert_eq!(Changed::key("n", 1).get(tables).await?.context("the note")?.topic, "t1");
    let error = version_error(Changed::key("n", 2).get(tables).await);
    assert_eq!(error.problem, VersionProblem::KeyChanged("topic"), "{error}");
    assert!(error.to_string().contains("the row in the index `topic`"), "{error}");
    let error = version_error(Changed::key("n", 4).get(tables).await);
    assert_eq!(error.problem, VersionProblem::KeyChanged("key"), "{error}");
    let changed = Changed { of: "n".into(), id: 2, topic: "T2".into() };
    assert_eq!(version_error(tables.upsert(&changed).await).problem, VersionProblem::KeyChanged("topic"));
    Ok(())
}

async fn jobs_work_over_rows_of_mixed_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    assert_eq!(findings::<Book>(store).await?, []);
    let copies = || async {
        let rows = store.rows("BooksByCopies").await?;
        Ok::<_, anyhow::Error>(rows.iter().map(|row| row.properties.get("EntityVersion").is_some()).collect::<Vec<_>>())
    };
    assert_eq!(copies().await?, [false, true, true]);
    // A copy that differs from its entity is found in any version.
    let rows = store.rows("BooksByCopies").await?;
    let damage = with("Rating", ValueRef::String("77"));
    let at = (rows[0].partition_key.as_str(), rows[0].row_key.as_str());
    store.write("BooksByCopies", at, Action::Merge(damage, IfMatch::Any)).await?;
    let found = findings::<Book>(store).await?;
    assert!(matches!(&found[..], [Finding::StaleCopy { index, .. }] if index == "copies"), "{found:?}");
    assert!(tables.repair::<Book>().await?.left.is_empty());
    // Every index row is gone.
    for table in ["BooksByCopies", "BooksByAuthor", "BooksByIsbn"] {
        for row in store.rows(table).await? {
            store.write(table, (&row.partition_key, &row.row_key), Action::Delete(IfMatch::Any)).await?;
        }
    }
    for row in store.rows("Books").await?.iter().filter(|row| !row.row_key.starts_with("id-")) {
        store.write("Books", ("s", &row.row_key), Action::Delete(IfMatch::Any)).await?;
    }
    let repaired = tables.repair::<Book>().await?;
    assert!(repaired.left.is_empty() && repaired.entities == 3, "{repaired:?}");
    assert_eq!(findings::<Book>(store).await?, []);
    // The entities themselves have kept their versions.
    assert_eq!(
        [version(store, 1).await?, version(store, 2).await?, version(store, 3).await?],
        [None, Some(2), Some(3)]
    );
    assert_eq!(Book::by_copies("Ann").all(tables).await?.len(), 3);
    for id in 1..=3 {
        assert_eq!(Book::by_isbn(id).get(tables).await?.as_deref(), Some(&book(id)));
    }
    Ok(())
}

/// The second version of a note, with one more index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "Note", version = 2, from = NoteV1)]
struct Measured {
    #[partition_key]
    of: String,
    #[row_key]
    id: u32,
    #[index(topic, same_partition, unique)]
    topic: String,
    #[index(lines)]
    #[index(lines_here, same_partition, include(topic))]
    lines: i32,
}

impl From<NoteV1> for Measured {
    fn from(note: NoteV1) -> Self {
        let Note { of, id, topic, lines } = note.into();
        Self { of, id, topic, lines }
    }
}

async fn an_index_is_built_over_rows_of_mixed_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<NoteV1>().await?;
    for id in 1..=3 {
        tables.insert(&note_v1(id)).await?;
    }
    tables.insert(&Note { lines: 7, ..note_v1(4).into() }).await?;
    let tables = &store.again();
    tables.create::<Measured>().await?;
    for index in ["lines", "lines_here"] {
        let filled = tables.backfill::<Measured>(index).await?;
        assert!(filled.ready && filled.written == 4, "{filled:?}");
    }
    assert_eq!(Measured::by_lines(2).count(tables).await?, 3);
    assert_eq!(Measured::by_lines_here("n").eq(7).all(tables).await?.len(), 1);
    assert!(tables.repair::<Measured>().await?.fixed.is_empty());
    let mut stored = Measured::key("n", 1).get(tables).await?.context("the note")?;
    stored.lines = 3;
    tables.update(&mut stored).await?;
    assert_eq!(Measured::by_lines(2).count(tables).await?, 2);
    assert_eq!(findings::<Measured>(store).await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "Note", version = 2)]
struct OnlyNew {
    #[partition_key]
    of: String,
    #[row_key(prefix = "id-")]
    id: u32,
    topic: String,
    lines: i32,
}

#[derive(Projection, Debug)]
#[projection(of = OnlyNew)]
struct Topic {
    #[allow(dead_code, reason = "it is printed")]
    topic: String,
}

async fn a_version_without_from_reads_no_older_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    tables.insert(&note_v1(1)).await?;
    tables.insert(&Note::from(note_v1(2))).await?;
    let etag = store.backend.get("Notes", "n", &row_key(1), None).await?.context("the row")?.etag;
    let entity = OnlyNew { of: "n".into(), id: 1, topic: "t1".into(), lines: 2 };
    for error in [
        version_error(OnlyNew::key("n", 1).get(tables).await),
        version_error(OnlyNew::by_key("n").all(tables).await),
        version_error(OnlyNew::key("n", 1).select::<Topic>().get(tables).await),
        version_error(tables.merge(&entity).await),
        version_error(tables.update(&mut Stored::new(entity.clone(), etag)).await),
    ] {
        assert_eq!((error.found, error.known, &error.problem), (1, 2, &VersionProblem::Older), "{error}");
        assert!(error.to_string().contains("from = …"), "{error}");
    }
    assert!(OnlyNew::key("n", 2).get(tables).await?.is_some());
    assert!(OnlyNew::key("n", 2).select::<Topic>().get(tables).await?.is_some());
    // Filters and patches are possible, because every row that it reads has its version.
    tables.patch(OnlyNew::key("n", 2), |note| [note.lines.set(5)]).await?;
    assert_eq!(OnlyNew::by_key("n").filter(|note| note.lines.eq(5)).all(tables).await?.len(), 1);
    Ok(())
}

async fn a_version_that_is_no_number_does_not_fit(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<NoteV1>().await?;
    tables.insert(&note_v1(1)).await?;
    for value in [ValueRef::String("two"), ValueRef::Int32(0), ValueRef::Int32(-1), ValueRef::Double(2.0)] {
        store.write("Notes", ("n", &row_key(1)), Action::Merge(with("EntityVersion", value), IfMatch::Any)).await?;
        let error = Note::key("n", 1).get(tables).await.expect_err("no version");
        assert!(matches!(&error, Error::Property(error) if error.property == "EntityVersion"), "{error}");
        // For a struct without a version it is a property of another program, which is kept.
        let mut old = NoteV1::key("n", 1).get(tables).await?.context("the note")?;
        old.text += "x";
        tables.update(&mut old).await?;
        let row = store.backend.get("Notes", "n", &row_key(1), None).await?.context("the row")?;
        assert_eq!(row.properties.get("EntityVersion"), Some(value));
    }
    // The first version may be written, in either type of a whole number.
    for value in [ValueRef::Int32(1), ValueRef::Int64(1)] {
        store.write("Notes", ("n", &row_key(1)), Action::Merge(with("EntityVersion", value), IfMatch::Any)).await?;
        let mut old = NoteV1::key("n", 1).get(tables).await?.context("the note")?;
        tables.update(&mut old).await?;
        let mut new = Note::key("n", 1).get(tables).await?.context("the note")?;
        new.lines = 1;
    }
    let mut new = Note::key("n", 1).get(tables).await?.context("the note")?;
    tables.update(&mut new).await?;
    let row = store.backend.get("Notes", "n", &row_key(1), None).await?.context("the row")?;
    assert_eq!(row.properties.get("EntityVersion"), Some(ValueRef::Int32(2)));
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders")]
struct OrderV1 {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    total: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", version = 2, from = OrderV1)]
struct Order {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    cents: i64,
}

impl TryFrom<OrderV1> for Order {
    type Error = String;

    fn try_from(OrderV1 { user, id, total }: OrderV1) -> Result<Self, String> {
        let cents = total.parse().map_err(|_| format!("{total:?} is no amount"))?;
        Ok(Self { user, id, cents })
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders")]
#[allow(clippy::struct_field_names, reason = "the property has this name")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    order: u32,
    #[row_key]
    item: u32,
}

#[derive(EntityGroup, Debug, PartialEq)]
enum Basket {
    Order(Stored<Order>),
    Item(Item),
}

async fn members_of_a_group_have_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.backend.create_table("Orders").await?;
    let user = || "u".to_owned();
    tables.insert(&OrderV1 { user: user(), id: 1, total: "250".into() }).await?;
    tables.insert(&Item { user: user(), order: 1, item: 1 }).await?;
    tables.insert(&Order { user: user(), id: 2, cents: 70 }).await?;
    let mut basket = Basket::by_key("u").all(tables).await?;
    let cents = |basket: &[Basket]| -> Vec<i64> {
        basket.iter().filter_map(|row| if let Basket::Order(order) = row { Some(order.cents) } else { None }).collect()
    };
    assert_eq!((cents(&basket), basket.len()), (vec![250, 70], 3));
    let Basket::Order(order) = &mut basket[0] else { panic!("{basket:?}") };
    order.cents += 1;
    tables.update(order).await?;
    assert_eq!(cents(&Basket::by_key("u").all(tables).await?), [251, 70]);
    tables.insert(&OrderV1 { user: user(), id: 3, total: "much".into() }).await?;
    let error = version_error(Basket::by_key("u").all(tables).await);
    assert_eq!(error.problem, VersionProblem::Failed("\"much\" is no amount".into()));
    assert_eq!(Basket::by_key("u").count(tables).await?, 4);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Events", slice = month(at))]
struct EventV1 {
    #[partition_key]
    of: String,
    #[row_key(time)]
    at: time::OffsetDateTime,
    text: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Events", slice = month(when), version = 2, from = EventV1, deny_unknown)]
struct Event {
    #[partition_key]
    of: String,
    #[row_key(time)]
    when: time::OffsetDateTime,
    words: Option<String>,
}

impl From<EventV1> for Event {
    fn from(EventV1 { of, at, text }: EventV1) -> Self {
        Self { of, when: at, words: Some(text) }
    }
}

async fn slices_have_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let at = datetime!(2010-05-28 09:00 UTC);
    tables.insert(&EventV1 { of: "a".into(), at, text: "x".into() }).await?;
    tables.insert(&Event { of: "a".into(), when: at + time::Duration::days(9), words: None }).await?;
    let found = Event::by_key("a").all(tables).await?;
    assert_eq!(found.iter().map(|event| event.words.as_deref()).collect::<Vec<_>>(), [Some("x"), None]);
    let mut made = Stored::new(Event { words: None, ..Event::clone(&found[0]) }, Stored::etag(&found[0]).clone());
    tables.update(&mut made).await?;
    tables.merge(&Event { words: Some("y".into()), ..Event::clone(&made) }).await?;
    let row = &store.rows("Events201005").await?[0];
    let properties: Vec<_> = row.properties.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(properties, ["EntityVersion", "Words"]);
    let error = version_error(EventV1::by_key("a").all(tables).await);
    assert!(error.row.table == "Events201005" && error.found == 2, "{error}");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Boxes", kind = "Box")]
struct BoxV1<T: table_runtime::Property + Clone + Send + Sync + 'static> {
    #[partition_key]
    shelf: u32,
    #[row_key]
    number: u32,
    content: T,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Boxes", kind = "Box", version = 2, from = BoxV1<T>)]
struct Boxed<T: table_runtime::Property + Clone + Send + Sync + 'static> {
    #[partition_key]
    shelf: u32,
    #[row_key]
    number: u32,
    first: T,
    second: Option<i32>,
}

impl<T: table_runtime::Property + Clone + Send + Sync + 'static> From<BoxV1<T>> for Boxed<T> {
    fn from(BoxV1 { shelf, number, content }: BoxV1<T>) -> Self {
        Self { shelf, number, first: content, second: None }
    }
}

async fn generic_entities_have_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.backend.create_table("Boxes").await?;
    tables.insert(&BoxV1 { shelf: 1, number: 1, content: "x".to_owned() }).await?;
    let mut stored = Boxed::<String>::key(1, 1).get(tables).await?.context("the box")?;
    assert_eq!(*stored, Boxed { shelf: 1, number: 1, first: "x".to_owned(), second: None });
    stored.second = Some(2);
    tables.update(&mut stored).await?;
    assert_eq!(version_error(BoxV1::<String>::key(1, 1).get(tables).await).found, 2);
    Ok(())
}

async fn a_layout_has_its_version(_: &Store) -> Result<()> {
    let layout = Book::layout();
    assert_eq!((BookV1::layout().version, layout.version), (1, 3));
    assert!(layout.to_string().ends_with(", EntityType, WriteId, EntityVersion\n"), "{layout}");
    let serialized = serde_json::to_value(layout)?;
    assert_eq!(serialized["version"], 3);
    // Files of earlier releases have none.
    assert_eq!(serde_json::to_value(BookV1::layout())?.get("version"), None);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Trips")]
struct Trip {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Trips", version = 2)]
struct Leg {
    #[partition_key]
    user: String,
    #[row_key]
    trip: u32,
    #[row_key]
    number: u32,
}

/// A master of a later version, whose items have none.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tours", version = 2)]
struct Tour {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tours")]
struct Stop {
    #[partition_key]
    user: String,
    #[row_key]
    tour: u32,
    #[row_key]
    number: u32,
}

async fn a_master_is_listed_beside_items_of_other_versions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Trip>().and::<Leg>().and::<Tour>().and::<Stop>().await?;
    for id in 1..=2 {
        tables.insert(&Trip { user: "u".into(), id, title: "T".into() }).await?;
        tables.insert(&Leg { user: "u".into(), trip: id, number: 1 }).await?;
        tables.insert(&Tour { user: "u".into(), id }).await?;
        tables.insert(&Stop { user: "u".into(), tour: id, number: 1 }).await?;
    }
    assert_eq!(Trip::by_key("u").all(tables).await?.len(), 2);
    assert_eq!(Tour::by_key("u").all(tables).await?.len(), 2);
    assert_eq!(Leg::by_key("u").all(tables).await?.len(), 2);
    let page = Tour::by_key("u").skip_unreadable(|error| panic!("{error}")).page(tables, 5, None).await?;
    assert_eq!((page.entities.len(), page.next), (2, None));
    assert_eq!(Trip::by_key("u").delete_all(tables).await?.written, 2);
    Ok(())
}
