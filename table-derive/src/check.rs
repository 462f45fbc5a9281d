//! The rules, one function each. They run on a model whose reading had no errors.

mod indexes;
mod slice;

use crate::{
    encoding::Encoding,
    errors::Errors,
    model::{Entity, Index, Key, Part, Source, Storage, Text},
};

/// Every rule, in the order of the attributes.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    let rules: [fn(&Entity, &mut Errors); 19] = [
        table_name,
        table_is_not_reserved,
        separator,
        partition_key_exists,
        row_key_exists,
        constant_excludes_parts,
        constants_are_legal,
        kind_is_not_empty,
        hash_is_last_in_partition,
        partition_follows_from_row,
        raw_is_last,
        prefix_is_first,
        prefix_is_legal,
        key_field_is_not_skipped,
        default_is_read,
        property_names_are_legal,
        property_names_are_free,
        property_names_differ,
        properties_fit,
    ];
    for rule in rules {
        rule(entity, errors);
    }
    indexes::check(entity, errors);
    slice::check(entity, errors);
}

/// The service's rule for tables.
fn table_name(entity: &Entity, errors: &mut Errors) {
    let Text { value, span } = &entity.table;
    // Of slices it is only the beginning of a name: how long it may be, their own rules say.
    let (is_legal, message) = if entity.slice.is_some() {
        (begins_table_name(value), "begins no table name: it needs ASCII letters and digits, a letter first")
    } else {
        let message =
            "is no table name: it needs 3 to 63 ASCII letters and digits, a letter first, and is not `tables`";
        (is_table_name(value), message)
    };
    if !is_legal {
        errors.at(*span, format_args!("`{value}` {message}\nhelp: write `#[table(name = \"…\")]` on the struct"));
    }
}

/// A table, or the beginning of its slices' names, is not that of the runtime itself, which is its own `crate`.
fn table_is_not_reserved(entity: &Entity, errors: &mut Errors) {
    if entity.runtime.is_ident("crate") {
        return;
    }
    let Text { value, span } = &entity.table;
    if let Some(what) = reserved(value) {
        let help = "help: write another `#[table(name = \"…\")]` on the struct";
        errors.at(*span, format_args!("`{value}` is {what}\n{help}"));
    }
}

/// Returns what a reserved table is for. Names of tables are the same in either case.
fn reserved(table: &str) -> Option<&'static str> {
    table.eq_ignore_ascii_case("TableLayouts").then_some("the table in which `create` records layouts")
}

fn is_table_name(name: &str) -> bool {
    begins_table_name(name) && (3..=63).contains(&name.len()) && !name.eq_ignore_ascii_case("tables")
}

fn begins_table_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|other| other.is_ascii_alphanumeric())
}

/// A joint is one character that keys may hold and that no encoding writes by itself.
fn separator(entity: &Entity, errors: &mut Errors) {
    let Some(Text { value, span }) = &entity.separator else { return };
    let mut characters = value.chars();
    let problem = match (characters.next(), characters.next()) {
        (Some('-'), None) => "`-` stands in GUIDs, dates and negative numbers".to_owned(),
        (Some('~'), None) => "`~` begins the escapes of a key".to_owned(),
        (Some('\''), None) => "`'` ends a text in the service's addresses".to_owned(),
        (Some(one), None) if refused_in_keys(one) => format!("a key cannot hold `{one}`"),
        (Some(one), None) if one.is_ascii_punctuation() => return,
        _ => "a separator is one ASCII punctuation character".to_owned(),
    };
    errors.at(*span, format_args!("{problem}; write `separator = \"_\"`"));
}

/// A row stands in a partition.
fn partition_key_exists(entity: &Entity, errors: &mut Errors) {
    if entity.partition.constant.is_none() && entity.partition.parts.is_empty() {
        let help = "put `#[partition_key]` on a field, or `#[table(partition = \"…\")]` on the struct";
        errors.on(&entity.ident, format_args!("`{}` has no partition key\nhelp: {help}", entity.ident));
    }
}

/// A row has a key in its partition.
fn row_key_exists(entity: &Entity, errors: &mut Errors) {
    if entity.row.constant.is_none() && entity.row.parts.is_empty() {
        let help = "put `#[row_key]` on a field, or `#[table(row = \"…\")]` on the struct";
        errors.on(&entity.ident, format_args!("`{}` has no row key\nhelp: {help}", entity.ident));
    }
}

/// A key is made by a constant or by fields.
fn constant_excludes_parts(entity: &Entity, errors: &mut Errors) {
    let keys = [("partition", "partition_key", &entity.partition), ("row", "row_key", &entity.row)];
    for (constant, attribute, key) in keys {
        if let (Some(text), Some(part)) = (&key.constant, key.parts.first()) {
            let field = &entity.fields[part.field].name;
            let message = format_args!(
                "the {constant} key is `{}` and the field `{field}`; remove `{constant} = \"…\"` or `#[{attribute}]`",
                text.value
            );
            errors.at(text.span, message);
        }
    }
}

/// A constant is written as it is, so it must not look like an escape either.
fn constants_are_legal(entity: &Entity, errors: &mut Errors) {
    for constant in [&entity.partition.constant, &entity.row.constant].into_iter().flatten() {
        legal_in_keys(constant, "this key", errors);
    }
}

/// A kind tells entities apart, and an empty text is easily lost.
fn kind_is_not_empty(entity: &Entity, errors: &mut Errors) {
    if entity.kind.as_deref() == Some("") {
        errors.on(&entity.ident, "an empty kind tells nothing apart; write `kind`, or `kind = \"…\"` with a name");
    }
}

/// A hash spreads rows over partitions. Before other parts it would scatter what they group, and in a row key it would
/// shuffle the rows.
fn hash_is_last_in_partition(entity: &Entity, errors: &mut Errors) {
    let is_hash = |encoding: &Encoding| matches!(encoding, Encoding::Hash(..));
    for part in entity.row.parts.iter().filter(|part| is_hash(&part.encoding)) {
        errors.at(part.span, "`hash` spreads rows over partitions; write it in `#[partition_key(hash = …)]`");
    }
    if let [before @ .., _] = entity.partition.parts.as_slice() {
        for part in before.iter().filter(|part| is_hash(&part.encoding)) {
            errors
                .at(part.span, "`hash` must be the last part of the partition key; move this field behind the others");
        }
    }
}

/// Rows of one value stand in one partition, where the value leads to it, and where it is unique in all of them.
fn partition_follows_from_row(entity: &Entity, errors: &mut Errors) {
    for layout in entity.layouts() {
        let Some(partition) = layout.partition.parts.last() else { continue };
        let rows = match layout.leading() {
            Some(first) => vec![first],
            None => indexes::values_beyond_buckets(layout),
        };
        let follows = |row: &&Part| partition.encoding.following(&row.encoding) == partition.encoding;
        if let Some(row) = rows.first()
            && !rows.iter().any(follows)
        {
            let message = format_args!(
                "rows of one value (`{}`) would stand in several partitions (`{}`), of which a query reads one; write \
                 `{}` for the partition",
                row.encoding,
                partition.encoding,
                partition.encoding.following(&row.encoding)
            );
            let is_entitys = layout.index.is_some() && !partition.sparse;
            errors.at(if is_entitys { row.span } else { partition.span }, message);
        }
    }
}

/// Raw text cannot tell where it ends, unless a separator does.
fn raw_is_last(entity: &Entity, errors: &mut Errors) {
    if entity.separator.is_some() {
        return;
    }
    for Key { parts, .. } in [&entity.partition, &entity.row] {
        let Some(([before @ .., _], last)) = parts.split_last().map(|(last, _)| (parts.as_slice(), last)) else {
            continue;
        };
        for part in before.iter().filter(|part| part.encoding == Encoding::Raw) {
            let after = &entity.fields[last.field].name;
            let message = format_args!(
                "`raw` cannot tell where it ends before `{after}`; remove `raw`, or write `#[table(separator = \"_\")]`"
            );
            errors.at(part.span, message);
        }
    }
}

/// A prefix begins the row key.
fn prefix_is_first(entity: &Entity, errors: &mut Errors) {
    for prefix in &entity.row.misplaced {
        let first = &entity.fields[entity.row.parts[0].field].name;
        errors.at(prefix.span, format_args!("a prefix begins the row key; write it in the `#[row_key]` of `{first}`"));
    }
}

/// A prefix is written as it is.
fn prefix_is_legal(entity: &Entity, errors: &mut Errors) {
    for prefix in entity.row.prefix.iter().chain(&entity.row.misplaced) {
        legal_prefix(prefix, errors);
    }
}

fn legal_prefix(prefix: &Text, errors: &mut Errors) {
    if prefix.value.is_empty() {
        errors.at(prefix.span, "an empty prefix says nothing; remove it");
    }
    legal_in_keys(prefix, "a prefix", errors);
}

/// A key field is always in its row.
fn key_field_is_not_skipped(entity: &Entity, errors: &mut Errors) {
    for (at, field) in entity.fields.iter().enumerate() {
        if let (Storage::Skipped(skip), Some(_)) = (&field.storage, entity.parts_of(at).next()) {
            let message = "a key field is stored by its key alone unless `#[property]` asks for more; remove `skip`";
            errors.at(*skip, message);
        }
    }
}

/// A default stands in for a missing property; a key is never missing.
fn default_is_read(entity: &Entity, errors: &mut Errors) {
    for (at, field) in entity.fields.iter().enumerate() {
        if let Storage::Property { default: Some(default), .. } = &field.storage
            && matches!(entity.source(at), Source::Partition(_) | Source::Row(_))
        {
            let message =
                format_args!("`{}` is read from its key, which is always there; remove `default`", field.name);
            errors.at(*default, message);
        }
    }
}

/// The service's rule for properties.
fn property_names_are_legal(entity: &Entity, errors: &mut Errors) {
    for (field, Text { value, span }, ..) in entity.stored() {
        if !is_property_name(value) {
            let message = "is no property name: it needs a letter or `_`, then letters, digits and `_`";
            errors.at(
                *span,
                format_args!("`{value}` {message}\nhelp: write `#[property(rename = \"…\")]` on `{}`", field.name),
            );
        } else if value.encode_utf16().count() > 255 {
            errors.at(
                *span,
                "a property's name has at most 255 characters; write a shorter `#[property(rename = \"…\")]`",
            );
        }
    }
}

/// A letter or `_`, then letters, digits and `_`.
fn is_property_name(name: &str) -> bool {
    name.starts_with(|first: char| first == '_' || first.is_alphabetic())
        && name.chars().all(|other| other == '_' || other.is_alphanumeric())
}

/// Names that the row or the runtime uses.
fn property_names_are_free(entity: &Entity, errors: &mut Errors) {
    for (field, Text { value, span }, ..) in entity.stored() {
        let owner = match value.as_str() {
            "PartitionKey" | "RowKey" => "is the row's own key",
            "Timestamp" => "is the time of the row's last write, which the service sets",
            "IndexPending" => "marks index rows that are being written",
            "EntityType" if entity.kind.is_some() => "holds the `kind`",
            "WriteId" if entity.write_id => "holds the `write_id`",
            // Across partitions rows are told apart by it, whatever the attribute says.
            "WriteId" if entity.indexes.iter().any(Index::is_cross_partition) => "tells the writes of index rows apart",
            _ => continue,
        };
        let help = format_args!("help: write `#[property(rename = \"…\")]` on `{}`", field.name);
        errors.at(*span, format_args!("the property `{value}` {owner}\n{help}"));
    }
}

/// Two fields in one property would lose one of them.
fn property_names_differ(entity: &Entity, errors: &mut Errors) {
    let stored: Vec<_> = entity.stored().collect();
    for (at, (field, Text { value, span }, ..)) in stored.iter().enumerate() {
        if let Some((before, ..)) = stored[..at].iter().find(|(_, other, ..)| other.value == *value) {
            let help = format_args!("help: write `#[property(rename = \"…\")]` on `{}`", field.name);
            errors.at(*span, format_args!("`{}` is stored as the property `{value}` too\n{help}", before.name));
        }
    }
}

/// The service's limit of a row.
fn properties_fit(entity: &Entity, errors: &mut Errors) {
    let own = usize::from(entity.kind.is_some()) + usize::from(entity.write_id);
    let count = entity.stored().count() + own;
    if count > 252 {
        let help = "help: put some fields into a struct of their own, stored with `#[property(json)]`";
        errors.on(&entity.ident, format_args!("a row has at most 252 properties, and this one has {count}\n{help}"));
    }
}

fn legal_in_keys(text: &Text, what: &str, errors: &mut Errors) {
    if let Some(refused) = text.value.chars().find(|character| refused_in_keys(*character) || *character == '~') {
        errors.at(text.span, format_args!("{what} cannot hold {refused:?}; write letters, digits, `-` and `_`"));
    } else if text.value.encode_utf16().count() > 512 {
        errors.at(text.span, format_args!("{what} has more than 512 characters; write fewer"));
    }
}

/// What the service forbids in keys, and `%`, which some of its clients decode twice.
fn refused_in_keys(character: char) -> bool {
    matches!(character, '/' | '\\' | '#' | '?' | '%') || character.is_control()
}
