//! `#[property(large)]`: text and bytes that are stored as several properties if one does not hold them.

#![allow(clippy::range_plus_one, clippy::cast_possible_truncation, reason = "the numbers are below 256")]

use anyhow::Result;
use table_runtime::{
    Error, Point, Property, TableEntity, Tables, Value,
    backend::{Action, BackendExt, Group, Operation},
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use crate::fixtures::findings;

crate::conformance! {
    short_values_are_stored_as_without_the_attribute
    long_values_are_stored_in_parts
    parts_of_nested_fields_have_their_names
    rows_written_without_the_attribute_are_read
    a_patch_writes_the_number_of_parts
    an_update_removes_the_parts_that_a_patch_left
    a_value_that_is_too_long_is_not_sent
    a_row_with_other_parts_is_an_error
    the_attribute_can_be_added_and_not_removed
    a_copy_has_all_parts
    a_dump_has_all_parts
}

/// UTF-16 units of a property.
const UNITS: usize = 32 * 1024;
/// UTF-16 units, and half of the bytes, of a part.
const PART: usize = 30_000;
const MOST: usize = 16 * PART;

#[derive(TableEntity, Clone, Debug, Default, PartialEq)]
#[table(name = "Novels")]
struct Novel {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(large)]
    body: String,
    #[property(large)]
    cover: Option<Vec<u8>>,
    #[property(large, json)]
    words: Vec<String>,
    #[property(large, default)]
    note: Box<str>,
}

fn novel() -> Novel {
    Novel { author: "Marcus".to_owned(), id: 1, body: "short".to_owned(), ..Novel::default() }
}

fn key() -> Point<Novel> {
    Novel::key("Marcus", 1)
}

async fn read(tables: &Tables) -> Result<Novel> {
    Ok((*key().get(tables).await?.expect("it was written")).clone())
}

/// Returns the names of the stored properties, with the length of text and bytes, and other values as a text.
async fn stored(store: &Store, table: &str) -> Result<Vec<String>> {
    let rows = store.rows(table).await?;
    let shown = |(name, value): (&str, ValueRef<'_>)| match value {
        ValueRef::String(text) => format!("{name}: {} units", text.encode_utf16().count()),
        ValueRef::Binary(bytes) => format!("{name}: {} bytes", bytes.len()),
        other => format!("{name}: {}", other.to_text()),
    };
    let mut found: Vec<_> = rows.iter().flat_map(|row| row.properties.iter().map(shown)).collect();
    // Backends return properties in different orders.
    found.sort_unstable();
    Ok(found)
}

async fn short_values_are_stored_as_without_the_attribute(store: &Store) -> Result<()> {
    store.tables.create::<Novel>().await?;
    // Characters of one unit have three bytes here.
    let longest = Novel { body: "\u{4E16}".repeat(UNITS), cover: Some(vec![7; 2 * UNITS]), ..novel() };
    store.tables.insert(&longest).await?;
    assert_eq!(read(&store.tables).await?, longest);
    let expected = ["Body: 32768 units", "Cover: 65536 bytes", "Note: 0 units", "Words: 2 units"];
    assert_eq!(stored(store, "Novels").await?, expected);
    store.tables.upsert(&novel()).await?;
    assert_eq!(read(&store.tables).await?, novel());
    assert_eq!(stored(store, "Novels").await?, ["Body: 5 units", "Note: 0 units", "Words: 2 units"]);
    Ok(())
}

async fn long_values_are_stored_in_parts(store: &Store) -> Result<()> {
    store.tables.create::<Novel>().await?;
    // The crab has two units, and the first part has room for one.
    let body = format!("{}\u{1F980}{}", "a".repeat(PART - 1), "b".repeat(PART - 2));
    let long = Novel {
        body: body.clone(),
        cover: Some((0..2 * UNITS + 1).map(|at| (at % 251) as u8).collect()),
        words: vec!["word".repeat(PART / 4); 2],
        note: "n".repeat(UNITS + 1).into(),
        ..novel()
    };
    store.tables.insert(&long).await?;
    assert_eq!(read(&store.tables).await?, long);
    assert_eq!(Novel::by_key("Marcus").all(&store.tables).await?.first().map(|read| &**read), Some(&long));
    let expected = [
        "Body: 29999 units",
        "Body_2: 30000 units",
        "Body_Parts: 2",
        "Cover: 60000 bytes",
        "Cover_2: 5537 bytes",
        "Cover_Parts: 2",
        "Note: 30000 units",
        "Note_2: 2769 units",
        "Note_Parts: 2",
        "Words: 30000 units",
        "Words_2: 30000 units",
        "Words_3: 7 units",
        "Words_Parts: 3",
    ];
    assert_eq!(stored(store, "Novels").await?, expected);
    let row = store.rows("Novels").await?.remove(0);
    assert_eq!(row.properties.get("Body_2"), Some(ValueRef::String(&body[PART - 1..])));
    assert_eq!(row.properties.get("Body_Parts"), Some(ValueRef::Int32(2)));
    // Azurite counts the bytes of the JSON, of which the crab takes twelve, and other characters of two units too.
    let mut longest = vec![Novel { body: "x".repeat(MOST), ..novel() }];
    if !store.kind.is_azurite() {
        longest.push(Novel { body: "\u{1F980}".repeat(MOST / 2), ..novel() });
        longest.push(Novel { cover: Some(vec![1; 2 * MOST]), ..novel() });
    }
    for novel in longest {
        store.tables.upsert(&novel).await?;
        assert!(read(&store.tables).await? == novel);
    }
    Ok(())
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Person {
    #[property(large)]
    notes: String,
    age: u8,
}

#[derive(Property, Clone, Debug, PartialEq)]
enum Text {
    Plain(#[property(large)] String),
    Scan {
        #[property(large)]
        image: Vec<u8>,
    },
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Reports", partition = "all")]
struct Report {
    #[row_key]
    id: u32,
    person: Person,
    other: Option<Person>,
    text: Text,
}

async fn parts_of_nested_fields_have_their_names(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Report>().await?;
    let person = Person { notes: "x".repeat(UNITS + 1), age: 50 };
    let mut report = Report { id: 1, person: person.clone(), other: None, text: Text::Plain("y".repeat(UNITS + 1)) };
    tables.insert(&report).await?;
    assert_eq!(Report::key(1).get(tables).await?.as_deref(), Some(&report));
    let expected = [
        "Person_Age: 50",
        "Person_Notes: 30000 units",
        "Person_Notes_2: 2769 units",
        "Person_Notes_Parts: 2",
        "Text: 5 units",
        "Text_Plain: 30000 units",
        "Text_Plain_2: 2769 units",
        "Text_Plain_Parts: 2",
    ];
    assert_eq!(stored(store, "Reports").await?, expected);
    // A row has no parts of another variant.
    report.other = Some(person);
    report.text = Text::Scan { image: vec![1; 2 * UNITS + 1] };
    let mut read = Report::key(1).get(tables).await?.expect("it was inserted");
    *read = report.clone();
    tables.update(&mut read).await?;
    assert_eq!(Report::key(1).get(tables).await?.as_deref(), Some(&report));
    let names = stored(store, "Reports").await?;
    assert_eq!(names.len(), 2 * 4 + 1 + 3, "{names:?}");
    assert!(names.iter().all(|name| !name.starts_with("Text_Plain")), "{names:?}");

    tables.patch(Report::key(1), |report| [report.person.notes.set("short"), report.person.age.set(51)]).await?;
    report.person = Person { notes: "short".to_owned(), age: 51 };
    assert_eq!(Report::key(1).get(tables).await?.as_deref(), Some(&report));
    assert!(stored(store, "Reports").await?.contains(&"Person_Notes_Parts: 1".to_owned()));
    Ok(())
}

/// The entity as it was declared before.
mod before {
    use super::TableEntity;

    #[derive(TableEntity, Clone, Debug, Default, PartialEq)]
    #[table(name = "Novels")]
    pub(super) struct Novel {
        #[partition_key]
        pub author: String,
        #[row_key]
        pub id: u32,
        pub body: String,
        pub cover: Option<Vec<u8>>,
        #[property(json)]
        pub words: Vec<String>,
        #[property(default)]
        pub note: Box<str>,
    }
}

async fn rows_written_without_the_attribute_are_read(store: &Store) -> Result<()> {
    store.tables.create::<before::Novel>().await?;
    let written = before::Novel {
        author: "Marcus".to_owned(),
        id: 1,
        body: "x".repeat(UNITS),
        cover: Some(vec![7; 2 * UNITS]),
        ..before::Novel::default()
    };
    store.tables.insert(&written).await?;
    let other = store.again();
    other.create::<Novel>().await?;
    let expected = Novel { body: written.body.clone(), cover: written.cover.clone(), ..novel() };
    assert_eq!(read(&other).await?, expected);
    Ok(())
}

async fn a_patch_writes_the_number_of_parts(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Novel>().await?;
    tables.insert(&novel()).await?;
    let (long, cover) = ("x".repeat(2 * PART + 1), vec![1; 3 * PART]);
    let words = vec!["w".repeat(UNITS)];
    tables
        .patch(key(), |novel| [novel.body.set(&long), novel.cover.set(&cover), novel.words.set(words.clone())])
        .await?;
    let patched = Novel { body: long, cover: Some(cover), words, ..novel() };
    assert_eq!(read(tables).await?, patched);

    tables.patch(key(), |novel| [novel.body.set("short"), novel.note.set("n")]).await?;
    assert_eq!(read(tables).await?, Novel { body: "short".to_owned(), note: "n".into(), ..patched });
    let found = stored(store, "Novels").await?;
    for expected in ["Body: 5 units", "Body_2: 30000 units", "Body_3: 1 units", "Body_Parts: 1", "Note_Parts: 1"] {
        assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
    }
    Ok(())
}

async fn an_update_removes_the_parts_that_a_patch_left(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Novel>().await?;
    tables.insert(&Novel { body: "x".repeat(3 * PART), ..novel() }).await?;
    tables.patch(key(), |novel| [novel.body.set("short")]).await?;
    let mut read = key().get(tables).await?.expect("it was inserted");
    read.note = "new".into();
    tables.update(&mut read).await?;
    assert_eq!(stored(store, "Novels").await?, ["Body: 5 units", "Note: 3 units", "Words: 2 units"]);
    // A value that becomes shorter leaves no part either.
    tables.upsert(&Novel { body: "x".repeat(3 * PART), ..novel() }).await?;
    tables.modify(key(), |novel| novel.body.truncate(PART)).await?;
    assert_eq!(stored(store, "Novels").await?, ["Body: 30000 units", "Note: 0 units", "Words: 2 units"]);
    Ok(())
}

async fn a_value_that_is_too_long_is_not_sent(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Novel>().await?;
    tables.insert(&novel()).await?;
    store.probe.requests();
    let refused = |error: Error, words: [&str; 3]| {
        let text = error.to_string();
        assert!(matches!(&error, Error::Property(error) if !error.stored), "{error:?}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert_eq!(store.probe.requests(), 0, "{text}");
    };
    let body = "x".repeat(MOST + 1);
    let of_text = ["`Body`", "at most 480000 UTF-16 units", "480001 UTF-16 units"];
    refused(tables.upsert(&Novel { body: body.clone(), ..novel() }).await.expect_err("too long"), of_text);
    refused(tables.patch(key(), |novel| [novel.body.set(&body)]).await.expect_err("too long"), of_text);
    let of_bytes = ["`Cover`", "at most 960000 bytes", "960001 bytes"];
    let cover = Some(vec![0; 2 * MOST + 1]);
    refused(tables.upsert(&Novel { cover, ..novel() }).await.expect_err("too long"), of_bytes);
    // Two values that fit, but not into one row.
    let both = Novel { body: "x".repeat(MOST), note: "x".repeat(MOST).into(), ..novel() };
    let error = tables.upsert(&both).await.expect_err("too long");
    assert!(matches!(error, Error::Limit(_)), "{error:?}");
    assert_eq!(store.probe.requests(), 0);
    assert_eq!(read(tables).await?, novel());
    Ok(())
}

/// Writes a row as another program may have written it.
async fn put(store: &Store, properties: &[(&str, Value)]) -> Result<()> {
    let mut row = Properties::default();
    row.push("Words", ValueRef::String("[]"));
    for (name, value) in properties {
        row.push(name, value.as_ref());
    }
    let (table, partition_key, row_key) = ("Novels".into(), "Marcus".to_owned(), "0000000001".to_owned());
    let operation = Operation { row_key, action: Action::Upsert(row) };
    store.backend.execute_group(&Group { table, partition_key, operations: vec![operation] }).await?;
    Ok(())
}

async fn a_row_with_other_parts_is_an_error(store: &Store) -> Result<()> {
    store.tables.create::<Novel>().await?;
    let text = |text: &str| Value::String(text.to_owned());
    // Another program may choose other parts.
    put(store, &[("Body", text("a")), ("Body_3", text("c")), ("Body_2", text("b")), ("Body_Parts", Value::Int64(3))])
        .await?;
    assert_eq!(read(&store.tables).await?.body, "abc");
    let wrong = [
        (vec![("Body", text("a")), ("Body_Parts", Value::Int32(2))], ["`Body_2`", "nothing"]),
        (vec![("Body", text("a")), ("Body_Parts", Value::Int32(0))], ["`Body_Parts`", "Edm.Int32 0"]),
        (vec![("Body", text("a")), ("Body_Parts", Value::Int32(17))], ["`Body_Parts`", "Edm.Int32 in 1..=16"]),
        (vec![("Body", text("a")), ("Body_Parts", text("1"))], ["`Body_Parts`", "Edm.String"]),
        (vec![("Body_2", text("a")), ("Body_Parts", Value::Int32(2))], ["`Body`", "nothing"]),
        (
            vec![("Body", text("a")), ("Body_2", Value::Binary(vec![1])), ("Body_Parts", Value::Int32(2))],
            ["`Body_2`", "Edm.Binary"],
        ),
        (vec![("Note", text("a"))], ["`Body`", "nothing"]),
        (vec![("Body", text("a")), ("Cover", text("a"))], ["`Cover`", "Edm.String"]),
        (vec![("Body", text("a")), ("Cover_Parts", Value::Int32(2))], ["`Cover`", "nothing"]),
    ];
    for (properties, words) in wrong {
        put(store, &properties).await?;
        let error = key().get(&store.tables).await.expect_err("not readable");
        let message = error.to_string();
        assert!(matches!(&error, Error::Property(error) if error.stored), "{properties:?}: {error:?}");
        assert!(words.iter().all(|word| message.contains(word)), "{properties:?}: {message}");
    }
    Ok(())
}

async fn the_attribute_can_be_added_and_not_removed(store: &Store) -> Result<()> {
    store.tables.create::<before::Novel>().await?;
    store.again().create::<Novel>().await?;
    let error = store.again().create::<before::Novel>().await.expect_err("it would read the first part");
    let text = error.to_string();
    assert!(matches!(error, Error::LayoutChanged(_)), "{error:?}");
    assert!(text.contains("was Edm.String in parts and is Edm.String, which would read the first part"), "{text}");
    store.again().create::<Novel>().await?;
    let layout = Novel::layout();
    let types = layout.properties().map(|property| format!("{}: {}", property.name, property.edm.expect("a type")));
    let expected = [
        "Body: Edm.String in parts",
        "Cover: Edm.Binary in parts",
        "Words: Edm.String of JSON in parts",
        "Note: Edm.String in parts",
    ];
    assert_eq!(types.collect::<Vec<_>>(), expected);
    assert!(layout.to_string().ends_with("properties: Body, Cover, Words, Note\n"), "{layout}");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Letters")]
struct Letter {
    #[partition_key]
    to: String,
    #[row_key]
    id: u32,
    #[index(topic, same_partition, copy)]
    topic: String,
    #[property(large)]
    text: String,
}

async fn a_copy_has_all_parts(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Letter>().await?;
    let mut letter = Letter { to: "Ada".to_owned(), id: 1, topic: "engines".to_owned(), text: "x".repeat(2 * UNITS) };
    tables.insert(&letter).await?;
    let copies = Letter::by_topic("Ada").eq("engines").all(tables).await?;
    assert!(copies.len() == 1 && *copies[0] == letter);
    letter.text.truncate(1);
    let mut read = Letter::key("Ada", 1).get(tables).await?.expect("it was inserted");
    *read = letter.clone();
    tables.update(&mut read).await?;
    let copies = Letter::by_topic("Ada").eq("engines").all(tables).await?;
    assert!(copies.len() == 1 && *copies[0] == letter);
    assert_eq!(findings::<Letter>(store).await?, []);
    Ok(())
}

async fn a_dump_has_all_parts(store: &Store) -> Result<()> {
    store.tables.create::<Novel>().await?;
    let long = Novel { body: "x".repeat(3 * PART), cover: Some(vec![1; 5 * PART]), ..novel() };
    store.tables.insert(&long).await?;
    let mut lines = Vec::new();
    store.tables.dump(&mut lines).await?;
    let copy = store.tables.with_prefix("copy1");
    copy.load(lines.as_slice()).await?;
    assert_eq!(read(&copy).await?, long);
    Ok(())
}
