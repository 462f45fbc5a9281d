//! The service's limits, and what their checks consist of.

use std::fmt::Display;

use crate::{Error, PropertiesRef, Result, RowId, Ticks, ValueRef, error::LimitError};

/// Maximum number of UTF-16 units in a partition key or a row key (1 KiB).
pub const KEY_UNITS: usize = 512;
/// Maximum number of properties in a row, in addition to its keys and its time stamp.
pub const PROPERTIES: usize = 252;
/// Maximum number of UTF-16 units in a property's name.
pub const NAME_UNITS: usize = 255;
/// Maximum number of UTF-16 units in an `Edm.String` (64 KiB).
pub const STRING_UNITS: usize = 32 * 1024;
/// Maximum number of bytes in an `Edm.Binary`.
pub const BINARY_BYTES: usize = 64 * 1024;
/// Maximum number of bytes in a row, as the service counts them.
pub const ROW_BYTES: usize = 1024 * 1024;
/// Maximum number of operations in an entity group transaction.
pub const OPERATIONS: usize = 100;
/// Maximum number of bytes in an entity group transaction's request, its lines and addresses included.
pub const TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of comparisons in a query's filter, those of the keys included.
pub const COMPARISONS: usize = 15;
/// Maximum number of bytes in a request's address, which contains a query's filter.
pub const ADDRESS_BYTES: usize = 8 * 1024;
/// Maximum number of rows in a page.
pub const PAGE: u32 = 1000;

pub(crate) fn broken(table: &str, what: impl Into<String>, found: impl Display, limit: &'static str) -> Error {
    Box::new(LimitError { table: table.to_owned(), row: None, what: what.into(), found: found.to_string(), limit })
        .into()
}

/// Returns the number of UTF-16 units in a text.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Returns true if a text has more than `limit` UTF-16 units. A text has at most as many units as bytes, so that most
/// texts need no count.
pub fn longer(text: &str, limit: usize) -> bool {
    text.len() > limit && units(text) > limit
}

/// Returns true if the service refuses the character in a key.
pub const fn forbidden_in_keys(character: char) -> bool {
    matches!(character, '/' | '\\' | '#' | '?' | '\0'..='\x1F' | '\x7F'..='\u{9F}')
}

/// Returns the first character of a key that the service refuses.
fn first_forbidden(key: &str) -> Option<char> {
    let fits = |byte: u8| matches!(byte, b' '..=b'~') & !matches!(byte, b'/' | b'\\' | b'#' | b'?');
    // Most keys are ASCII. A loop without an early end takes a fraction of the time.
    if key.bytes().fold(true, |all, byte| all & fits(byte)) {
        return None;
    }
    key.chars().find(|character| forbidden_in_keys(*character))
}

/// Checks a table's name: 3 to 63 ASCII letters and digits, a letter first, not `tables`.
pub fn check_table_name(table: &str) -> Result<()> {
    let letters = table.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let first = table.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if letters && first && (3..=63).contains(&table.len()) && !table.eq_ignore_ascii_case("tables") {
        return Ok(());
    }
    let limit = "3 to 63 ASCII letters and digits, a letter first, and not `tables`";
    Err(broken(table, "the table's name is", format_args!("`{table}`"), limit))
}

/// Name of the table in which `create` keeps its records.
const RECORDS: &str = "TableLayouts";
/// Name of the table with the marks of events.
pub const MARKS: &str = "TableEvents";

/// Checks the prefix of the names of tables: letters and then digits, once or several times.
pub(crate) fn check_prefix(prefix: &str) -> Result<()> {
    let mut rest = prefix;
    while let Some(end) = prefix_end(rest) {
        rest = &rest[end..];
        if rest.is_empty() {
            return Ok(());
        }
    }
    let limit = "ASCII letters and then digits, such as `tenant7`: then no prefix begins with another one";
    Err(broken(prefix, "the prefix of the tables is", format_args!("`{prefix}`"), limit))
}

/// Checks the whole name of a table, which consists of a prefix and of `table`.
pub(crate) fn check_prefixed_name(table: &str, name: &str) -> Result<()> {
    check_table_name(name)?;
    if !is_own_name(table) {
        let limit =
            "a name that does not begin with letters, digits and again a letter, as the tables of a longer prefix do";
        return Err(broken(name, "the table's name after the prefix is", format_args!("`{table}`"), limit));
    }
    Ok(())
}

/// Checks whether a name after a prefix is that of a table of this prefix, and not of one that begins with it: `Posts`
/// after `a1`, but neither `2Posts`, which is `Posts` after `a12`, nor `b2Posts`, which is `Posts` after `a1b2`.
pub(crate) fn is_own_name(table: &str) -> bool {
    let is_letter = |at: usize| table.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic);
    is_letter(0) && prefix_end(table).is_none_or(|end| !is_letter(end))
}

/// Returns the end of the letters and then digits with which a text begins; `None` if it does not begin so.
fn prefix_end(text: &str) -> Option<usize> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let digits = text.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
    (letters > 0 && digits > 0).then_some(letters + digits)
}

/// Checks that the name of a table, or the prefix of its slices' names, is not that of the table in which
/// `create` keeps its records, or of the table of marks. Upper and lower case do not distinguish tables.
pub fn check_not_reserved(table: &str) -> Result<()> {
    let of = [
        (RECORDS, "a name other than `TableLayouts`, in which `create` records layouts"),
        (MARKS, "a name other than `TableEvents`, in which the marks of events are"),
    ];
    match of.into_iter().find(|(reserved, _)| table.eq_ignore_ascii_case(reserved)) {
        Some((_, limit)) => Err(broken(table, "the table's name is", format_args!("`{table}`"), limit)),
        None => Ok(()),
    }
}

/// Checks a key. `name` is `PartitionKey` or `RowKey`.
pub fn check_key(table: &str, name: &str, key: &str) -> Result<()> {
    if longer(key, KEY_UNITS) {
        let found = format_args!("{} UTF-16 units", units(key));
        return Err(broken(table, format!("the {name} has"), found, "512 UTF-16 units"));
    }
    match first_forbidden(key) {
        Some(character) => {
            let limit = "none of `/`, `\\`, `#`, `?` and the control characters";
            Err(broken(table, format!("the {name} {key:?} has"), format_args!("{character:?}"), limit))
        }
        None => Ok(()),
    }
}

/// Checks the properties of a row with these keys.
pub fn check_row(table: &str, partition_key: &str, row_key: &str, properties: PropertiesRef<'_>) -> Result<()> {
    check_properties(table, partition_key, row_key, properties).map_err(|error| match error {
        Error::Limit(mut error) => {
            let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
            error.row = Some(RowId { table: table.to_owned(), partition_key, row_key });
            error.into()
        }
        other => other,
    })
}

fn check_properties(table: &str, partition_key: &str, row_key: &str, properties: PropertiesRef<'_>) -> Result<()> {
    // Most rows have few properties, whose names need no allocation.
    let (mut few, mut count) = ([""; FEW], 0);
    for (name, value) in properties {
        if let Some(place) = few.get_mut(count) {
            *place = name;
        }
        count += 1;
        check_property(table, name, value)?;
    }
    if count > PROPERTIES {
        return Err(broken(table, "the row has", format_args!("{count} properties"), "252 properties"));
    }
    let repeated = match few.get(..count) {
        Some(names) => repeated(names),
        None => repeated(&properties.map(|(name, _)| name).collect::<Vec<_>>()),
    };
    if let Some((name, times)) = repeated {
        return Err(broken(table, format!("the property `{name}` is there"), format_args!("{times} times"), "1"));
    }
    // The service counts less than five bytes for each encoded one: at most 18 for the four of a short number with a
    // name of one letter. So most rows need no count.
    let keys = 4 + 2 * (partition_key.len() + row_key.len());
    if keys + 5 * properties.as_bytes().len() <= ROW_BYTES {
        return Ok(());
    }
    let each = properties.map(|(name, value)| 8 + 2 * units(name) + value_bytes(value));
    let bytes = 4 + 2 * (units(partition_key) + units(row_key)) + each.sum::<usize>();
    if bytes > ROW_BYTES {
        return Err(broken(table, "the row has about", format_args!("{bytes} bytes"), "1048576 bytes"));
    }
    Ok(())
}

/// Number of names up to which comparing all of them takes less time than sorting them.
const FEW: usize = 24;

/// Returns the first name that occurs more than once, and how often it occurs.
fn repeated<'a>(names: &[&'a str]) -> Option<(&'a str, usize)> {
    let found = if names.len() <= FEW {
        names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)).map(|(_, name)| *name)
    } else {
        let mut sorted = names.to_owned();
        sorted.sort_unstable();
        sorted.windows(2).find(|two| two[0] == two[1]).map(|two| two[0])
    };
    found.map(|found| (found, names.iter().filter(|name| **name == found).count()))
}

fn check_property(table: &str, name: &str, value: ValueRef<'_>) -> Result<()> {
    if !is_name(name) {
        let limit = "a letter or `_`, then letters, digits and `_`";
        return Err(broken(table, "a property's name is", format_args!("`{name}`"), limit));
    }
    if longer(name, NAME_UNITS) {
        let found = format_args!("{} UTF-16 units", units(name));
        return Err(broken(table, "a property's name has", found, "255 UTF-16 units"));
    }
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        let limit = "a name other than `PartitionKey`, `RowKey` and `Timestamp`, which are the row's own";
        return Err(broken(table, "a property's name is", format_args!("`{name}`"), limit));
    }
    match value {
        ValueRef::String(text) if longer(text, STRING_UNITS) => {
            let found = format_args!("{} UTF-16 units", units(text));
            Err(broken(table, format!("the property `{name}` has"), found, "32768 UTF-16 units"))
        }
        ValueRef::Binary(data) if data.len() > BINARY_BYTES => {
            let found = format_args!("{} bytes", data.len());
            Err(broken(table, format!("the property `{name}` has"), found, "65536 bytes"))
        }
        ValueRef::DateTime(time) if time < Ticks::FIRST_PROPERTY => {
            Err(broken(table, format!("the property `{name}` is"), time, "1601-01-01 or later"))
        }
        ValueRef::Unreadable(found) => {
            Err(broken(table, format!("the property `{name}` is"), found, "a value of one of the service's types"))
        }
        _ => Ok(()),
    }
}

/// Returns true if the text is a letter or `_`, then letters, digits and `_`.
fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_');
    // Most names are ASCII. A loop without an early end takes a fraction of the time.
    if text.bytes().fold(true, |all, byte| all & is_of_name(byte)) {
        return text.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    }
    let mut characters = text.chars();
    let first = characters.next().is_some_and(|first| first == '_' || first.is_alphabetic());
    first && characters.all(|other| other == '_' || other.is_alphanumeric())
}

/// Returns true if the name is a word of OData's filters. The service refuses a comparison of a property of this name, or reads
/// it in another way.
pub fn is_filter_word(name: &str) -> bool {
    matches!(name, "and" | "or" | "not" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "true" | "false")
}

/// Returns the number of bytes that the service counts for a value.
fn value_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::String(text) => 4 + 2 * units(text),
        ValueRef::Binary(data) => 4 + data.len(),
        ValueRef::Boolean(_) => 1,
        ValueRef::Int32(_) => 4,
        ValueRef::Int64(_) | ValueRef::Double(_) | ValueRef::DateTime(_) => 8,
        ValueRef::Guid(_) => 16,
        ValueRef::Unreadable(_) => 0,
    }
}

pub(crate) const MOST_COMPARISONS: &str = "15 comparisons, those of its keys included";

/// Returns the error of a query whose filter alone has more comparisons than the service accepts.
pub fn too_many_comparisons(table: &str, comparisons: usize) -> Box<LimitError> {
    let (what, found) = ("the query's filter has".to_owned(), format!("{comparisons} comparisons"));
    Box::new(LimitError { table: table.to_owned(), row: None, what, found, limit: MOST_COMPARISONS })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Properties;

    depth::laws! {
        1024;

        fn ascii_keys_are_checked_like_others(key in "[ -~\\x00-\\x1F\\x7F-\\u{A0}é]{0,12}") {
            let expected = key.chars().find(|character| forbidden_in_keys(*character));
            prop_assert_eq!(first_forbidden(&key), expected);
            // The check that all characters are ASCII does not end this search.
            prop_assert_eq!(first_forbidden(&format!("é{key}")), expected);
        }

        fn ascii_names_are_checked_like_others(name in "[a-zA-Z0-9_ .é]{0,6}") {
            // A letter at the end that is not ASCII does not change whether a name is one, unless it is the first.
            prop_assert_eq!(is_name(&name), !name.is_empty() && is_name(&format!("{name}é")));
        }

        fn the_service_counts_less_than_five_bytes_for_each_encoded_one(
            name in "[a-zé]{1,3}", text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let values = [
                ValueRef::String(&text),
                ValueRef::Binary(&bytes),
                ValueRef::Boolean(true),
                ValueRef::Int32(0),
                ValueRef::Int64(0),
                ValueRef::Double(0.0),
                ValueRef::Guid(crate::Guid::default()),
                ValueRef::DateTime(Ticks::UNIX_EPOCH),
            ];
            for value in values {
                let mut properties = Properties::default();
                properties.push(&name, value);
                prop_assert!(8 + 2 * units(&name) + value_bytes(value) < 5 * properties.as_bytes().len(), "{value:?}");
            }
        }
    }
}
