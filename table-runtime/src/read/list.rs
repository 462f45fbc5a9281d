//! Lists: index rows that hold the row keys of all entities that have the same value.
//!
//! The property `IndexedEntities` is a JSON array of row keys, in key order; the entities are stored in the row's own
//! partition. A list that is too long for one property continues in further rows of the partition, with the row keys
//! `~2~{row key of the first}`, `~3~…`, and the first row stores the number of rows in `IndexedRows`. No encoded key
//! begins so, because an encoded key has two hex digits after each `~`.
//!
//! The row in which an entity is listed has no meaning: readers sort the entities of all rows.
//!
//! The first row is the lock of the others: a write of any of them also writes the first row. A reader that finds the
//! first row unchanged therefore knows that it has read the others in one state.

use table_model::unstable::codec::{misfit, seek};
use table_store::{
    Properties, Result, RowRef, ValueRef,
    error::PropertyProblem,
    unstable::{limits, order},
};

/// Property of the row keys of the entities.
pub const ENTITIES: &str = "IndexedEntities";
/// Property of the number of rows of the list, if it has more than one.
pub const ROWS: &str = "IndexedRows";

/// Content of one row of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct List {
    /// Row keys of entities, in order, each once.
    pub entities: Vec<String>,
    /// Number of rows of the list, if this is its first row.
    pub rows: usize,
}

/// Reads a row of a list in `table`.
pub fn read(table: &str, row: RowRef<'_>) -> Result<List> {
    let find = |name| seek(table, row, name);
    let of_property = |name, problem| misfit(row.id(table), name, problem);
    let entities = parse(find(ENTITIES)?).map_err(|problem| of_property(ENTITIES, problem))?;
    let rows = rows_of(find(ROWS)?).map_err(|problem| of_property(ROWS, problem))?;
    Ok(List { entities, rows })
}

/// Returns the properties of a row of a list. For the first row, `rows` is the number of rows; for others it is 1.
pub fn properties(entities: &[String], rows: usize) -> Properties {
    let text = serde_json::Value::from(entities).to_string();
    let mut properties = Properties::with_capacity(text.len() + 32);
    properties.push(ENTITIES, ValueRef::String(&text));
    if rows > 1 {
        properties.push(ROWS, ValueRef::Int32(i32::try_from(rows).unwrap_or(i32::MAX)));
    }
    properties
}

/// Adds an entity to the rows of a list, or removes it, and returns whether the rows changed. `limit` is the greatest
/// number of UTF-16 units in a row's text.
pub fn set_member(rows: &mut Vec<Vec<String>>, entity: &str, present: bool, limit: usize) -> bool {
    let listed = rows.iter().position(|row| row.iter().any(|listed| listed == entity));
    match (listed, present) {
        (Some(at), false) => {
            rows[at].retain(|listed| listed != entity);
            if rows[at].is_empty() {
                rows.swap_remove(at);
            }
        }
        (None, true) => {
            let added = json_units(entity) + 1;
            let row = rows.iter_mut().find(|row| {
                // The text has two brackets, and a comma between each two row keys.
                1 + row.iter().map(|listed| json_units(listed) + 1).sum::<usize>() + added <= limit
            });
            match row {
                Some(row) => {
                    row.push(entity.to_owned());
                    sort(row);
                }
                None => rows.push(vec![entity.to_owned()]),
            }
        }
        _ => return false,
    }
    true
}

/// Returns the number of UTF-16 units that a text takes in JSON.
fn json_units(text: &str) -> usize {
    limits::units(&serde_json::Value::from(text).to_string())
}

/// Returns the row key of a list's `n`th row, from the row key of the first, which the index's layout defines.
pub fn nth_key(row_key: &str, n: usize) -> String {
    if n == 1 { row_key.to_owned() } else { format!("~{n}~{row_key}") }
}

/// Sorts the row keys in key order and removes duplicates.
pub fn sort(entities: &mut Vec<String>) {
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
        // One transaction writes all rows, and a transaction has at most so many operations.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use table_store::{ETag, Row, Ticks};

    use super::*;

    fn row((row_key, properties): (String, Properties)) -> Row {
        let (etag, timestamp) = (ETag::from(Ticks::UNIX_EPOCH), Ticks::UNIX_EPOCH);
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

    fn written(entities: &[&str]) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for entity in entities {
            assert!(set_member(&mut rows, entity, true, limits::STRING_UNITS), "{entity}");
        }
        rows
    }

    #[test]
    fn a_list_is_one_json_array() {
        let rows = written(&["a \"b\"", "1"]);
        assert_eq!(rows, [["1", "a \"b\""]]);
        let properties = properties(&rows[0], 1);
        assert_eq!(properties.get(ENTITIES), Some(ValueRef::String(r#"["1","a \"b\""]"#)));
        assert_eq!(properties.get(ROWS), None);
    }

    #[test]
    fn a_full_row_continues_in_the_next_row() {
        let entities: Vec<_> = (0..2_000).map(|n| format!("{n:038}")).collect();
        let mut rows = Vec::new();
        for entity in &entities {
            set_member(&mut rows, entity, true, limits::STRING_UNITS);
        }
        // Each row key takes 41 units, so 799 of them and the brackets fill a property.
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [799, 799, 402]);
        assert_eq!(properties(&rows[0], rows.len()).get(ROWS), Some(ValueRef::Int32(3)));
        assert_eq!((nth_key("name-Smith", 1), nth_key("name-Smith", 3)), ("name-Smith".into(), "~3~name-Smith".into()));
        // A removed row key leaves space for another, and the last row takes the place of a row that becomes empty.
        assert!(set_member(&mut rows, &entities[0], false, limits::STRING_UNITS));
        assert!(set_member(&mut rows, "new", true, limits::STRING_UNITS));
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [799, 799, 402]);
        for entity in entities[1..799].iter().map(String::as_str).chain(["new"]) {
            assert!(set_member(&mut rows, entity, false, limits::STRING_UNITS));
        }
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [402, 799]);
    }

    #[test]
    fn entities_are_added_and_removed_in_key_order() {
        let mut rows = Vec::new();
        for (entity, present, changed) in [
            ("b", true, true),
            ("\u{FFFF}", true, true),
            ("a", true, true),
            ("\u{10000}", true, true),
            ("a", true, false),
            ("b", false, true),
            ("b", false, false),
        ] {
            assert_eq!(set_member(&mut rows, entity, present, limits::STRING_UNITS), changed, "{entity}");
        }
        assert_eq!(rows, [["a", "\u{10000}", "\u{FFFF}"]]);
    }

    #[test]
    fn a_row_that_is_not_a_list_is_reported() {
        for (row, message) in [
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
            let error = read("T", row.as_ref()).expect_err(message).to_string();
            assert!(error.contains(message) && error.contains("T(PartitionKey='p',RowKey='r')"), "{error}");
        }
    }

    depth::laws! {
        256;

        fn a_written_list_is_read_unchanged(entities: std::collections::BTreeSet<String>, limit in 30_usize..100) {
            let mut rows = Vec::new();
            for entity in &entities {
                set_member(&mut rows, entity, true, limit);
            }
            let mut found = Vec::new();
            for entities in &rows {
                let properties = properties(entities, 1);
                let Some(ValueRef::String(text)) = properties.get(ENTITIES) else { panic!("no text") };
                prop_assert!(limits::units(text) <= limit || entities.len() == 1);
                let read = parse(Some(ValueRef::String(text))).expect("the list that was written");
                prop_assert!(!read.is_empty());
                found.extend(read);
            }
            prop_assert_eq!(found.into_iter().collect::<std::collections::BTreeSet<_>>(), entities);
        }
    }
}
