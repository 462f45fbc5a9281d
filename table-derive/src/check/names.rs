//! The service's rules about names and about the content of keys.

use crate::{
    errors::Errors,
    model::{Entity, Index},
    text::Text,
};

pub(super) const TABLE_NAME_RULE: &str = "is not a valid table name: a table name has 3 to 63 ASCII letters and digits, \
                                          begins with a letter and is not `tables`";

/// Returns true if a table can have the name.
pub(super) fn is_table_name(name: &str) -> bool {
    begins_table_name(name) && (3..=63).contains(&name.len()) && !name.eq_ignore_ascii_case("tables")
}

/// Returns true if the name of a table can begin with the text.
pub(super) fn begins_table_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|other| other.is_ascii_alphanumeric())
}

/// Reports the names of the runtime's own tables. The service ignores the case of table names.
pub(super) fn table_is_not_reserved(table: &Text, help: &str, errors: &mut Errors) {
    let Text { value, span } = table;
    let of = [("TableLayouts", "the layouts that `create` records"), ("TableEvents", "the marks of events")];
    if let Some((_, what)) = of.into_iter().find(|(name, _)| value.eq_ignore_ascii_case(name)) {
        errors.at(*span, format_args!("`{value}` is reserved for {what}\nhelp: {help}"));
    }
}

/// Returns true if a property can have the name: a letter or `_`, then letters, digits and `_`.
pub(crate) fn is_property_name(name: &str) -> bool {
    name.starts_with(|first: char| first == '_' || first.is_alphabetic())
        && name.chars().all(|other| other == '_' || other.is_alphanumeric())
}

/// Returns true if the name of a property is longer than the service allows.
pub(super) fn is_long_property_name(name: &str) -> bool {
    name.encode_utf16().count() > 255
}

/// Properties that rows have besides those of fields: the name, the entities whose rows have it, and what it is for.
pub(super) const RESERVED: [(&str, fn(&Entity) -> bool, &str); 12] = [
    ("PartitionKey", |_| true, "is the row's own key"),
    ("RowKey", |_| true, "is the row's own key"),
    ("Timestamp", |_| true, "is the time of the row's last write, which the service sets"),
    ("IndexPending", |_| true, "marks index rows that are being written"),
    ("EntityType", |entity| entity.kind.is_some(), "stores the `kind`"),
    ("EntityVersion", |entity| entity.version.is_some(), "stores the `version`"),
    ("WriteId", |entity| entity.write_id, "stores the `write_id`"),
    // Cross-partition index rows have it even if the entity does not.
    ("WriteId", |entity| entity.indexes.iter().any(Index::is_cross_partition), "identifies the writes of index rows"),
    ("EventAt", |entity| entity.events.is_some(), "is the time of the last event"),
    ("EventChange", |entity| entity.events.is_some(), "says what an event is about"),
    ("EventKind", |entity| entity.events.is_some(), "is the `kind` in an event"),
    ("EventAttempts", |entity| entity.events.is_some(), "counts the attempts to deliver an event"),
];

/// Reports a prefix that is empty or that keys cannot contain. A prefix is stored without escapes.
pub(super) fn prefix_is_legal(prefix: &Text, errors: &mut Errors) {
    if prefix.value.is_empty() {
        errors.at(prefix.span, "a prefix cannot be empty; remove it");
    }
    if prefix.value.contains(['{', '}']) {
        let message = "a prefix is the same text in every key, and `{…}` is not replaced; a value in a key is a field with \
                       `#[row_key]`";
        return errors.at(prefix.span, message);
    }
    key_text_is_legal(prefix, "a prefix", errors);
}

/// Reports a text that keys cannot contain. `~` is not allowed either, because the text must not look like an escape.
pub(super) fn key_text_is_legal(text: &Text, noun: &str, errors: &mut Errors) {
    if let Some(refused) = text.value.chars().find(|character| is_refused_in_keys(*character) || *character == '~') {
        errors.at(text.span, format_args!("{noun} cannot contain {refused:?}; write letters, digits, `-` and `_`"));
    } else if text.value.encode_utf16().count() > 512 {
        errors.at(text.span, format_args!("{noun} cannot be longer than 512 characters; shorten it"));
    }
}

/// Returns true for the characters that the service forbids in keys, and for `%`, which some of its clients decode
/// twice.
pub(super) fn is_refused_in_keys(character: char) -> bool {
    matches!(character, '/' | '\\' | '#' | '?' | '%') || character.is_control()
}
