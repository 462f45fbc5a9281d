//! `for_each`: rows are passed by reference, and the fields of a projection borrow from them.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use std::{borrow::Cow, sync::Arc};

use anyhow::Result;
use table_runtime::{
    EntityGroup, Error, Guid, Projection, Stored, TableEntity, Value,
    backend::{Action, BackendExt as _, Group, IfMatch, Operation},
};
use tests::stores::Store;

use crate::fixtures::{Article, Legacy, at};

crate::conformance! {
    every_kind_of_query_passes_its_rows
    fields_borrow_from_the_rows_of_any_page
    keys_are_borrowed_unless_they_have_escapes
    groups_and_limits_keep_their_order
    rows_before_a_damaged_one_are_passed
    rows_that_no_reader_sees_are_not_passed
}

/// Entity with texts and bytes of every type, and with indexes of every kind.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", allow_scan)]
#[index(covered, row(title), same_partition, include(subtitle, cover))]
#[index(pointer, row(title), same_partition)]
#[index(shelf, row(title), same_partition, copy)]
struct Book {
    #[partition_key]
    library: String,
    #[row_key]
    number: u32,
    #[row_key]
    author: String,
    #[index(isbn, unique)]
    isbn: String,
    title: String,
    subtitle: Option<String>,
    #[index(published, copy)]
    publisher: String,
    #[index(language, include(title))]
    language: String,
    editor: Box<str>,
    translator: Option<Arc<str>>,
    cover: Vec<u8>,
    sample: Option<Vec<u8>>,
    #[property(default)]
    notes: String,
}

impl Book {
    fn new(library: &str, number: u32) -> Self {
        let is_even = number.is_multiple_of(2);
        Self {
            library: library.to_owned(),
            number,
            author: format!("Ü/ {number}"),
            isbn: format!("{library} {number}"),
            title: format!("Title é {number}"),
            subtitle: is_even.then(|| format!("Subtitle {number}")),
            publisher: "P & C/1".to_owned(),
            language: if is_even { "de" } else { "fr" }.to_owned(),
            editor: "".into(),
            translator: is_even.then(|| "T\u{1F600}".into()),
            cover: number.to_be_bytes().to_vec(),
            sample: is_even.then(Vec::new),
            notes: String::new(),
        }
    }
}

/// Projection of all fields.
#[derive(Projection)]
#[projection(of = Book)]
struct Whole<'a> {
    library: Cow<'a, str>,
    number: u32,
    author: Cow<'a, str>,
    isbn: &'a str,
    title: &'a str,
    subtitle: Option<&'a str>,
    publisher: Cow<'a, str>,
    language: String,
    editor: &'a str,
    translator: Option<Cow<'a, str>>,
    cover: &'a [u8],
    sample: Option<&'a [u8]>,
    notes: &'a str,
}

impl Whole<'_> {
    fn book(self) -> Book {
        Book {
            library: self.library.into_owned(),
            number: self.number,
            author: self.author.into_owned(),
            isbn: self.isbn.to_owned(),
            title: self.title.to_owned(),
            subtitle: self.subtitle.map(str::to_owned),
            publisher: self.publisher.into_owned(),
            language: self.language,
            editor: self.editor.into(),
            translator: self.translator.map(Into::into),
            cover: self.cover.to_owned(),
            sample: self.sample.map(<[u8]>::to_owned),
            notes: self.notes.to_owned(),
        }
    }
}

/// Projection of the fields that the index `covered` holds.
#[derive(Projection)]
#[projection(of = Book)]
struct Covered<'a> {
    title: &'a str,
    subtitle: Option<&'a str>,
    cover: &'a [u8],
    number: u32,
    author: Cow<'a, str>,
    library: Cow<'a, str>,
}

/// Projection of the fields that the index `language` holds.
#[derive(Projection)]
#[projection(of = Book)]
struct Titled<'a> {
    title: &'a str,
    author: Cow<'a, str>,
}

async fn books(store: &Store) -> Result<()> {
    store.tables.create::<Book>().await?;
    for library in ["A", "B"] {
        for number in 0..4 {
            store.tables.insert(&Book::new(library, number)).await?;
        }
    }
    store.probe.requests();
    Ok(())
}

async fn every_kind_of_query_passes_its_rows(store: &Store) -> Result<()> {
    books(store).await?;
    let tables = &store.tables;
    let all = |library: &'static str| (0..4).map(move |number| Book::new(library, number));
    macro_rules! passes {
        ($query:expr, $expected:expr) => {
            let expected: Vec<Book> = $expected.collect();
            let (mut whole, mut borrowed) = (Vec::new(), Vec::new());
            $query.for_each(tables, |found| whole.push((*found).clone())).await?;
            assert_eq!(whole, expected, stringify!($query));
            $query.select::<Whole<'_>>().for_each(tables, |found| borrowed.push(found.book())).await?;
            assert_eq!(borrowed, expected, stringify!($query));
            assert_eq!($query.select::<Whole<'_>>().count(tables).await?, expected.len(), stringify!($query));
        };
    }
    passes!(Book::by_key("A"), all("A"));
    passes!(Book::by_key("C"), all("C").take(0));
    passes!(Book::by_key("A").range(1..3), all("A").skip(1).take(2));
    passes!(Book::by_key("A").range(1..).take(2), all("A").skip(1).take(2));
    passes!(Book::by_key("A").take(0), all("A").take(0));
    passes!(Book::by_key("A").filter(|book| book.title.ge("Title é 2")), all("A").skip(2));
    passes!(Book::by_key("A").filter(|book| book.title.ge("Title é 2")).take(1), all("A").skip(2).take(1));
    passes!(Book::by_key("A").eq(3).starts_with("Ü/"), all("A").skip(3));
    passes!(Book::scan(), all("A").chain(all("B")));
    passes!(Book::by_covered("B"), all("B"));
    passes!(Book::by_pointer("B").take(3), all("B").take(3));
    passes!(Book::by_shelf("B"), all("B"));
    passes!(Book::by_published("P & C/1").take(2), all("A").take(2));
    passes!(
        Book::by_language("de").filter(|book| book.title.eq("Title é 2")),
        ["A", "B"].map(|l| Book::new(l, 2)).into_iter()
    );

    // Fields that an index row holds are borrowed from the index row.
    let (probe, mut found) = (&store.probe, Vec::new());
    probe.requests();
    let covered = Book::by_covered("B").starts_with("Title").select::<Covered<'_>>();
    covered
        .for_each(tables, |Covered { title, subtitle, cover, number, author, library }| {
            let book = Book::new(&library, number);
            assert_eq!((title, subtitle, cover), (&*book.title, book.subtitle.as_deref(), &*book.cover));
            assert_eq!(author, book.author);
            found.push(number);
        })
        .await?;
    assert_eq!((found, probe.requests()), (vec![0, 1, 2, 3], 1));
    let mut titles = Vec::new();
    let unchecked = Book::by_language("fr").select_unchecked::<Titled<'_>>();
    unchecked.for_each(tables, |found| titles.push(format!("{}: {}", found.author, found.title))).await?;
    assert_eq!(titles, ["Ü/ 1: Title é 1", "Ü/ 3: Title é 3"].repeat(2));
    assert_eq!(probe.requests(), 1);
    let mut titles = 0;
    Book::by_language("fr").select::<Titled<'_>>().for_each(tables, |found| titles += found.title.len()).await?;
    assert_eq!((titles, probe.requests()), (4 * "Title é 1".len(), 1 + 4));
    Ok(())
}

/// Entity in hash partitions of monthly slices.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Chimes", slice = month(at), allow_scan)]
struct Chime {
    #[partition_key(hash = 4)]
    bell: u32,
    #[row_key(time)]
    at: time::OffsetDateTime,
    #[row_key]
    number: u32,
    text: String,
}

#[derive(Projection)]
#[projection(of = Chime)]
struct Sound<'a> {
    number: u32,
    text: &'a str,
}

async fn fields_borrow_from_the_rows_of_any_page(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Chime>().await?;
    let day = |number: u32| at(number * 86_400);
    let chimes: Vec<_> = (0..60)
        .map(|number| Chime { bell: number % 7, at: day(number), number, text: format!("chime {number}") })
        .collect();
    tables.upsert_all(chimes.clone()).await?;
    macro_rules! passes {
        ($query:expr, $numbers:expr) => {
            let mut found = Vec::new();
            let each = |Sound { number, text }: Sound<'_>| found.push((number, text.to_owned()));
            $query.select::<Sound<'_>>().for_each(tables, each).await?;
            let expected: Vec<_> = $numbers.map(|number: u32| (number, format!("chime {number}"))).collect();
            assert_eq!(found, expected, stringify!($query));
        };
    }
    passes!(Chime::by_key(), 0..60);
    passes!(Chime::by_key().range(day(10)..day(50)), 10..50);
    passes!(Chime::by_key().range(day(10)..day(50)).take(30), 10..40);
    passes!(Chime::by_key().filter(|chime| chime.text.ge("chime 55")), (6..10).chain(55..60));
    let (mut sum, mut whole) = (0, Vec::new());
    Chime::scan().select::<Sound<'_>>().for_each(tables, |sound| sum += sound.text.len()).await?;
    assert_eq!(sum, chimes.iter().map(|chime| chime.text.len()).sum::<usize>());
    Chime::by_key().for_each(tables, |chime| whole.push(Stored::into_inner(chime))).await?;
    assert_eq!(whole, chimes);
    Ok(())
}

#[derive(Projection)]
#[projection(of = Legacy)]
struct Parts<'a> {
    area: Cow<'a, str>,
    number: u16,
    name: Cow<'a, str>,
    note: Cow<'a, str>,
}

#[derive(Projection)]
#[projection(of = Article)]
struct Title<'a> {
    title: &'a str,
}

/// Returns the text, marked if it is borrowed.
#[allow(clippy::ptr_arg, reason = "it shows which of the two the text is")]
fn marked(text: &Cow<'_, str>) -> String {
    match text {
        Cow::Borrowed(text) => format!("&{text}"),
        Cow::Owned(text) => text.clone(),
    }
}

async fn keys_are_borrowed_unless_they_have_escapes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    books(store).await?;
    tables.insert(&Book { author: "Plain".to_owned(), ..Book::new("A/1", 5) }).await?;
    let keys = async |library: &str| {
        let mut keys = Vec::new();
        let each = |book: Whole<'_>| keys.push(format!("{} {}", marked(&book.library), marked(&book.author)));
        Book::by_key(library).take(1).select::<Whole<'_>>().for_each(tables, each).await?;
        anyhow::Ok(keys)
    };
    assert_eq!(keys("A").await?, ["&A Ü/ 0"]);
    assert_eq!(keys("A/1").await?, ["A/1 &Plain"]);

    // Keys with a separator of their own, in which texts have other escapes.
    tables.create::<Legacy>().await?;
    let legacy = |name: &str| Legacy { area: "a".into(), name: name.into(), number: 7, note: "x y".into() };
    let mut found = Vec::new();
    for name in ["n_/ 1", "plain"] {
        tables.insert(&legacy(name)).await?;
    }
    let each = |Parts { area, number, name, note }: Parts<'_>| {
        found.push(Legacy { area: area.into(), number, name: name.into(), note: note.into() });
    };
    Legacy::by_key("a").select::<Parts<'_>>().for_each(tables, each).await?;
    let expected: Vec<_> = Legacy::by_key("a").all(tables).await?.into_iter().map(Stored::into_inner).collect();
    assert_eq!((found.len(), found), (2, expected));

    // A folded key does not hold the text, so it is borrowed from the property.
    tables.create::<Article>().await?;
    tables.insert(&Article { title: "Metabolise".into(), words: 1 }).await?;
    let mut titles = Vec::new();
    let query = Article::by_key().starts_with("meta").select::<Title<'_>>();
    query.for_each(tables, |article| titles.push(article.title.to_owned())).await?;
    assert_eq!(titles, ["Metabolise"]);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tasks")]
struct Task {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tasks")]
struct Step {
    #[partition_key]
    user: String,
    #[row_key]
    task: u32,
    #[row_key]
    number: u32,
}

#[derive(EntityGroup, Debug, PartialEq)]
enum Work {
    Task(Task),
    Step(Step),
}

async fn groups_and_limits_keep_their_order(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Task>().await?;
    tables.create::<Step>().await?;
    let (mut expected, user) = (Vec::new(), || "Marcus".to_owned());
    for id in 0..3 {
        tables.insert(&Task { user: user(), id }).await?;
        expected.push(Work::Task(Task { user: user(), id }));
        for number in 0..2 {
            tables.insert(&Step { user: user(), task: id, number }).await?;
            expected.push(Work::Step(Step { user: user(), task: id, number }));
        }
    }
    for take in [0, 1, 5, 9, 10] {
        let mut found = Vec::new();
        Work::by_key("Marcus").take(take).for_each(tables, |work| found.push(work)).await?;
        assert_eq!(found, expected[..take.min(9)]);
    }
    Ok(())
}

async fn rows_before_a_damaged_one_are_passed(store: &Store) -> Result<()> {
    books(store).await?;
    let tables = &store.tables;
    let rows = store.rows("Books").await?;
    let mut own = rows.iter().filter(|row| row.partition_key == "A" && row.row_key.starts_with("number-"));
    let third = own.nth(2).expect("a row");
    let action = Action::Merge([("Cover", Value::Int32(1))].into_iter().collect(), IfMatch::Any);
    let operations = vec![Operation { row_key: third.row_key.clone(), action }];
    let partition_key = "A".to_owned();
    store.backend.execute_group(&Group { table: "Books".into(), partition_key, operations }).await?;
    let mut numbers = Vec::new();
    let query = Book::by_key("A").select::<Whole<'_>>();
    let Err(Error::Property(error)) = query.for_each(tables, |book| numbers.push(book.number)).await else {
        anyhow::bail!("a number is not bytes");
    };
    assert_eq!((error.property.as_str(), error.row.row_key.as_str(), numbers), ("Cover", &*third.row_key, vec![0, 1]));
    Ok(())
}

async fn rows_that_no_reader_sees_are_not_passed(store: &Store) -> Result<()> {
    books(store).await?;
    let tables = &store.tables;
    let rows = store.rows("Books").await?;
    let is_own = |row: &&table_runtime::row::Row| row.partition_key == "A" && row.row_key.starts_with("number-");
    let first = rows.iter().find(is_own).expect("a row");
    let pending = [("IndexPending", Value::Guid(Guid::from_bytes([7; 16])))].into_iter().collect();
    let operations = vec![Operation { row_key: first.row_key.clone(), action: Action::Merge(pending, IfMatch::Any) }];
    let partition_key = "A".to_owned();
    store.backend.execute_group(&Group { table: "Books".into(), partition_key, operations }).await?;
    macro_rules! numbers {
        ($query:expr) => {{
            let (mut whole, mut borrowed) = (Vec::new(), Vec::new());
            $query.for_each(tables, |book| whole.push(book.number)).await?;
            $query.select::<Whole<'_>>().for_each(tables, |book| borrowed.push(book.number)).await?;
            assert_eq!(whole, borrowed, stringify!($query));
            whole
        }};
    }
    assert_eq!(numbers!(Book::by_key("A")), [1, 2, 3]);
    // The limit counts only the rows that are passed.
    assert_eq!(numbers!(Book::by_key("A").take(2)), [1, 2]);
    assert_eq!(numbers!(Book::by_pointer("A")), [1, 2, 3]);
    assert_eq!(numbers!(Book::by_language("de").take(2)), [2, 0]);
    Ok(())
}
