//! Lists: one row of an index that holds the row keys of all entities of a value.
//!
//! The property `IndexedEntities` is a JSON array of row keys, in key order; they stand in the row's own partition. More
//! than a property takes go on in further rows of the partition, at `~2~{row key of the first}`, `~3~…`, and the first
//! row then says in `IndexedRows` how many there are. No encoded key begins so: there, two hex digits follow a `~`.
//!
//! The first row is the lock of the others: whoever writes any of them writes it too, so that a reader who finds it
//! unchanged knows that the others were of one state.

use std::fmt::Write;

use crate::{
    Properties, PropertiesRef, Result, RowRef, ValueRef,
    entity::{damaged, id, misfit},
    key::order,
    limits,
    property::PropertyProblem,
};

/// The row keys of the entities.
pub(crate) const ENTITIES: &str = "IndexedEntities";
/// How many rows the list has, where it has more than one.
pub(crate) const ROWS: &str = "IndexedRows";

/// What one row of a list holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Row keys of entities, in order, each once.
    pub(crate) entities: Vec<String>,
    /// How many rows the list has, if this is its first.
    pub(crate) rows: usize,
}

/// Reads a row of a list in `table`.
pub(crate) fn read(table: &str, row: RowRef<'_>) -> Result<List> {
    let find = |name| {
        let mut properties: PropertiesRef<'_> = row.properties;
        properties.seek(name).map_err(|damage| damaged(table, row, damage))
    };
    let of_property = |name, problem| misfit(id(table, row), name, problem);
    let entities = parse(find(ENTITIES)?).map_err(|problem| of_property(ENTITIES, problem))?;
    let rows = rows_of(find(ROWS)?).map_err(|problem| of_property(ROWS, problem))?;
    Ok(List { entities, rows })
}

/// The properties of a list's rows, and the keys that they stand at: the first one at `row_key`. No entities have no
/// rows.
#[cfg_attr(not(test), expect(dead_code, reason = "the writes of lists call it"))]
pub(crate) fn rows(row_key: &str, entities: &[String]) -> Vec<(String, Properties)> {
    let texts = split(entities, limits::STRING_UNITS);
    let count = i32::try_from(texts.len()).unwrap_or(i32::MAX);
    let row = |(at, text): (usize, String)| {
        let mut properties = Properties::with_capacity(text.len() + 32);
        properties.push(ENTITIES, ValueRef::String(&text));
        if at == 0 && count > 1 {
            properties.push(ROWS, ValueRef::Int32(count));
        }
        (nth_key(row_key, at + 1), properties)
    };
    texts.into_iter().enumerate().map(row).collect()
}

/// Adds or takes away an entity, and says whether that changed the list.
#[cfg_attr(not(test), expect(dead_code, reason = "the writes of lists call it"))]
pub(crate) fn put(entities: &mut Vec<String>, row_key: &str, present: bool) -> bool {
    match (entities.binary_search_by(|entity| order::compare(entity, row_key)), present) {
        (Err(at), true) => entities.insert(at, row_key.to_owned()),
        (Ok(at), false) => drop(entities.remove(at)),
        _ => return false,
    }
    true
}

/// The row key of a list's `n`th row; the first one is the index's own.
pub(crate) fn nth_key(row_key: &str, n: usize) -> String {
    if n == 1 { row_key.to_owned() } else { format!("~{n}~{row_key}") }
}

/// Puts the row keys in order, each once.
pub(crate) fn sort(entities: &mut Vec<String>) {
    entities.sort_by(|left, right| order::compare(left, right));
    entities.dedup();
}

fn parse(value: Option<ValueRef<'_>>) -> Result<Vec<String>, PropertyProblem> {
    let problem = |found: String| PropertyProblem { expected: "a JSON array of row keys".into(), found };
    match value {
        Some(ValueRef::String(text)) => {
            let mut entities: Vec<String> = serde_json::from_str(text).map_err(|error| problem(error.to_string()))?;
            sort(&mut entities);
            Ok(entities)
        }
        other => Err(problem(other.map_or("nothing", |value| value.edm_type()).to_owned())),
    }
}

fn rows_of(value: Option<ValueRef<'_>>) -> Result<usize, PropertyProblem> {
    let rows = match value {
        None => Some(1),
        // They are written in one transaction.
        Some(ValueRef::Int32(rows)) => {
            usize::try_from(rows).ok().filter(|rows| (1..=limits::OPERATIONS).contains(rows))
        }
        Some(_) => None,
    };
    rows.ok_or_else(|| PropertyProblem {
        expected: "Edm.Int32 in 1..=100".into(),
        found: value.map_or_else(String::new, |value| value.to_string()),
    })
}

/// The row keys as JSON arrays, each of at most `limit` UTF-16 units, if no key alone is more.
fn split(entities: &[String], limit: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    // Of the last text, without its closing bracket.
    let mut length = 0;
    for entity in entities {
        let entity = serde_json::Value::from(entity.as_str()).to_string();
        let added = limits::units(&entity) + 1;
        match texts.last_mut() {
            Some(text) if length + added < limit => {
                // Writing into a `String` cannot fail.
                let _ = write!(text, ",{entity}");
                length += added;
            }
            _ => {
                texts.push(format!("[{entity}"));
                length = added;
            }
        }
    }
    for text in &mut texts {
        text.push(']');
    }
    texts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ETag, Row, Ticks};

    fn row((row_key, properties): (String, Properties)) -> Row {
        let (etag, timestamp) = (ETag::from("e"), Ticks::UNIX_EPOCH);
        Row { partition_key: "p".to_owned(), row_key, properties, etag, timestamp }
    }

    fn with(name: &str, value: ValueRef<'_>) -> Row {
        let mut properties = Properties::default();
        properties.push(name, value);
        if name != ENTITIES {
            properties.push(ENTITIES, ValueRef::String("[]"));
        }
        row(("r".to_owned(), properties))
    }

    #[test]
    fn a_list_is_one_json_array() {
        let written = rows("name-Smith", &["1".to_owned(), "a \"b\"".to_owned()]);
        let [(key, properties)] = written.as_slice() else { panic!("{written:?}") };
        assert_eq!((key.as_str(), properties.get(ROWS)), ("name-Smith", None));
        assert_eq!(properties.get(ENTITIES), Some(ValueRef::String(r#"["1","a \"b\""]"#)));
        assert_eq!(rows("name-Smith", &[]), []);
    }

    #[test]
    fn a_full_row_goes_on_in_a_next_one() {
        let entities: Vec<_> = (0..2_000).map(|n| format!("{n:038}")).collect();
        let written = rows("name-Smith", &entities);
        let keys: Vec<_> = written.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["name-Smith", "~2~name-Smith", "~3~name-Smith"]);
        let counts: Vec<_> = written.iter().map(|(_, properties)| properties.get(ROWS)).collect();
        assert_eq!(counts, [Some(ValueRef::Int32(3)), None, None]);
        // Each takes 41 units, so that 799 of them and the brackets fill a property.
        let lengths: Vec<_> = written
            .iter()
            .map(|row| read("T", self::row(row.clone()).as_ref()).map(|list| list.entities.len()))
            .collect();
        assert!(matches!(lengths[..], [Ok(799), Ok(799), Ok(402)]), "{lengths:?}");
    }

    #[test]
    fn entities_come_and_go_in_key_order() {
        let mut entities = Vec::new();
        for (entity, present, changed) in [
            ("b", true, true),
            ("\u{FFFF}", true, true),
            ("a", true, true),
            ("\u{10000}", true, true),
            ("a", true, false),
            ("b", false, true),
            ("b", false, false),
        ] {
            assert_eq!(put(&mut entities, entity, present), changed, "{entity}");
        }
        assert_eq!(entities, ["a", "\u{10000}", "\u{FFFF}"]);
    }

    #[test]
    fn what_is_no_list_is_told() {
        for (row, told) in [
            (
                row(("r".to_owned(), Properties::default())),
                "`IndexedEntities`: expected a JSON array of row keys, found nothing",
            ),
            (with(ENTITIES, ValueRef::Int32(1)), "found Edm.Int32"),
            (with(ENTITIES, ValueRef::String("[1]")), "expected a string"),
            (with(ENTITIES, ValueRef::String("[\"a\"")), "EOF"),
            (with(ROWS, ValueRef::Int32(0)), "expected Edm.Int32 in 1..=100, found 0"),
            (with(ROWS, ValueRef::Int32(101)), "found 101"),
            (with(ROWS, ValueRef::String("2")), "found '2'"),
        ] {
            let error = read("T", row.as_ref()).expect_err(told).to_string();
            assert!(error.contains(told) && error.contains("T(PartitionKey='p',RowKey='r')"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(mut entities: Vec<String>, limit in 30_usize..100) {
            sort(&mut entities);
            let texts = split(&entities, limit);
            let mut read = Vec::new();
            for text in &texts {
                let part = parse(Some(ValueRef::String(text))).expect("what was written");
                prop_assert!(limits::units(text) <= limit || part.len() == 1);
                prop_assert!(!part.is_empty());
                read.extend(part);
            }
            prop_assert_eq!(read, entities);
        }
    }
}
