//! The rules of the primary key.

use super::names::{key_text_is_legal, prefix_is_legal};
use crate::{
    encoding::Encoding,
    errors::Errors,
    model::{Entity, Key, Layout, Part, Storage},
};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    let rules: [fn(&Entity, &mut Errors); 12] = [
        partition_key_exists,
        row_key_exists,
        constant_excludes_parts,
        constants_are_legal,
        kind_is_not_empty,
        hash_is_last_in_partition,
        partition_is_derived_from_row,
        key_has_a_whole_value,
        raw_is_last,
        prefix_is_first,
        prefixes_are_legal,
        key_field_is_not_skipped,
    ];
    for rule in rules {
        rule(entity, errors);
    }
}

fn partition_key_exists(entity: &Entity, errors: &mut Errors) {
    if entity.partition.constant.is_none() && entity.partition.parts.is_empty() {
        let help = "put `#[partition_key]` on a field, or `#[table(partition = \"…\")]` on the struct";
        errors.on(&entity.ident, format_args!("`{}` has no partition key\nhelp: {help}", entity.ident));
    }
}

fn row_key_exists(entity: &Entity, errors: &mut Errors) {
    if entity.row.constant.is_none() && entity.row.parts.is_empty() {
        let help = "put `#[row_key]` on a field, or `#[table(row = \"…\")]` on the struct";
        errors.on(&entity.ident, format_args!("`{}` has no row key\nhelp: {help}", entity.ident));
    }
}

/// Checks that a key is either a constant or made of fields.
fn constant_excludes_parts(entity: &Entity, errors: &mut Errors) {
    let mut check = |constant: &str, attribute: &str, key: &Key| {
        if let (Some(text), Some(part)) = (&key.constant, key.parts.first()) {
            let field = &entity.fields[part.field].name;
            let message = format_args!(
                "the {constant} key is both the constant `{}` and the field `{field}`; remove `{constant} = \"…\"` or \
                 `#[{attribute}]`",
                text.value
            );
            errors.at(text.span, message);
        }
    };
    check("partition", "partition_key", &entity.partition);
    check("row", "row_key", &entity.row);
}

/// Checks the constants, which are stored without escapes.
fn constants_are_legal(entity: &Entity, errors: &mut Errors) {
    for constant in [&entity.partition.constant, &entity.row.constant].into_iter().flatten() {
        key_text_is_legal(constant, "a key", errors);
    }
}

/// Checks that the kind is not empty, because an empty property is easily lost.
fn kind_is_not_empty(entity: &Entity, errors: &mut Errors) {
    if entity.kind.as_deref() == Some("") {
        errors.on(&entity.ident, "a kind cannot be empty; write `kind`, or `kind = \"…\"` with a name");
    }
}

/// Checks that a hash is the last part of the partition key. A hash distributes rows over partitions. Before other parts
/// it would separate the rows that those parts group. In a row key it would put the rows into a random order.
fn hash_is_last_in_partition(entity: &Entity, errors: &mut Errors) {
    let is_hash = |part: &&Part| matches!(part.encoding, Encoding::Hash(..));
    for part in entity.row.parts.iter().filter(is_hash) {
        errors.at(part.span, "`hash` is only for partition keys; write `#[partition_key(hash = …)]`");
    }
    if let [before @ .., _] = entity.partition.parts.as_slice() {
        for part in before.iter().filter(is_hash) {
            errors.at(part.span, "`hash` must be the last part of the partition key; move this field after the others");
        }
    }
}

/// Checks that entities of one partition differ in more than the beginnings or the hashes of values. Otherwise all entities
/// with the same beginning would be one row.
fn key_has_a_whole_value(entity: &Entity, errors: &mut Errors) {
    let Entity { partition, row, fields, .. } = entity;
    let is_cut = |part: &&Part| matches!(part.encoding, Encoding::First(..) | Encoding::Hash(..));
    let is_whole = |field: usize| {
        let mut parts = partition.parts.iter().chain(&row.parts);
        parts.any(|part| part.field == field && !is_cut(&part))
    };
    // Another rule reports a hash in the row key.
    let is_hash = |part: &Part| matches!(part.encoding, Encoding::Hash(..));
    if row.parts.iter().any(|part| !is_cut(&part) || is_hash(part)) {
        return;
    }
    let mut parts = row.parts.iter().chain(&partition.parts);
    if let Some(part) = parts.find(|part| is_cut(part) && !is_whole(part.field)) {
        let (name, encoding) = (&fields[part.field].name, &part.encoding);
        let help = match encoding.fold() {
            Encoding::Plain => "#[row_key]".to_owned(),
            fold => format!("#[row_key({fold})]"),
        };
        let message = format_args!(
            "entities whose `{name}` has the same `{encoding}` would be one row, because no key contains the rest\n\
             help: write `{help}` for the whole `{name}`, or put `#[row_key]` on one more field, such as an id"
        );
        errors.at(part.span, message);
    }
}

/// Checks that all rows of a value are in one partition, if the partition key is derived from the value, and if the
/// value is unique in all partitions.
fn partition_is_derived_from_row(entity: &Entity, errors: &mut Errors) {
    for layout in entity.layouts() {
        let Some(partition) = layout.partition.parts.last() else { continue };
        let rows = match layout.derivation() {
            Some(first) => vec![first],
            None => unique_values_with_hash(layout),
        };
        let is_derived = |row: &&Part| partition.encoding.derived_from(&row.encoding) == partition.encoding;
        if let Some(row) = rows.first()
            && !rows.iter().any(is_derived)
        {
            let message = format_args!(
                "rows with the same value (`{}`) would be in several partitions (`{}`), but a query reads one of them; \
                 write `{}` for the partition",
                row.encoding,
                partition.encoding,
                partition.encoding.derived_from(&row.encoding)
            );
            let is_own_partition = layout.index.is_some() && !partition.is_index_value;
            errors.at(if is_own_partition { row.span } else { partition.span }, message);
        }
    }
}

/// Returns the parts of a unique index's row key with the field that is hashed in the partition key. The index is unique
/// only if all rows of a value are in one of the hash partitions.
fn unique_values_with_hash(layout: Layout<'_>) -> Vec<&Part> {
    let is_unique = layout.index.is_some_and(|index| index.unique.is_some());
    let last = layout.partition.parts.last().filter(|last| is_unique && matches!(last.encoding, Encoding::Hash(..)));
    let values = layout.row.parts.iter().filter(|part| part.is_index_value);
    values.filter(|part| last.is_some_and(|last| last.field == part.field)).collect()
}

/// Checks that raw text is the last part of its key, unless there is a separator: raw text does not mark its own end.
fn raw_is_last(entity: &Entity, errors: &mut Errors) {
    if entity.separator.is_some() {
        return;
    }
    for Key { parts, .. } in [&entity.partition, &entity.row] {
        let [before @ .., last] = parts.as_slice() else { continue };
        for part in before.iter().filter(|part| part.encoding == Encoding::Raw) {
            let last = &entity.fields[last.field].name;
            let message = format_args!(
                "the end of a `raw` text is not marked, so `{last}` cannot come after it; remove `raw`, or write \
                 `#[table(separator = \"_\")]`"
            );
            errors.at(part.span, message);
        }
    }
}

/// Checks that a prefix is on the first part of the row key.
fn prefix_is_first(entity: &Entity, errors: &mut Errors) {
    for prefix in &entity.row.misplaced_prefixes {
        let first = &entity.fields[entity.row.parts[0].field].name;
        let message =
            format_args!("a prefix is the beginning of the row key; write it in the `#[row_key]` of `{first}`");
        errors.at(prefix.span, message);
    }
}

fn prefixes_are_legal(entity: &Entity, errors: &mut Errors) {
    for prefix in entity.row.prefix.iter().chain(&entity.row.misplaced_prefixes) {
        prefix_is_legal(prefix, errors);
    }
}

/// Checks that no key field is skipped, because the key always contains it.
fn key_field_is_not_skipped(entity: &Entity, errors: &mut Errors) {
    for (at, field) in entity.fields.iter().enumerate() {
        if let (Storage::Skipped(skip), true) = (&field.storage, entity.is_in_key(at)) {
            let message = "a key field is always stored in its key, and as a property only with `#[property]`; remove \
                           `skip`";
            errors.at(*skip, message);
        }
    }
}
