//! The documentation of generated items: first what the item does, then the stored layout.

use proc_macro2::Ident;

use super::example;
use crate::{
    encoding::Encoding,
    model::{Access, Content, Entity, Index, Key, Layout, Part},
    names::list,
};

/// Documents the struct of the columns.
pub(super) fn columns(entity: &Entity) -> String {
    format!("The columns of [`{}`], for filters and patches.", entity.ident)
}

/// Documents a column whose field is in the key alone.
pub(super) fn key_column(entity: &Entity, field: usize) -> String {
    let is_in_partition = entity.partition.parts.iter().any(|part| part.field == field);
    let (key, name) = if is_in_partition { ("partition key", "PartitionKey") } else { ("row key", "RowKey") };
    format!("A part of the {key}, stored only in `{name}`: queries can narrow it, filters cannot use it.")
}

/// Documents a column that is a property.
pub(super) fn property_column(name: &str) -> String {
    format!("The property `{name}`.")
}

/// Documents a column of a struct in a field, or of a variant.
pub(super) fn part_column(name: &str) -> String {
    format!("The property whose name ends with `{name}`, after that of the entity's field.")
}

/// Documents the columns of a variant.
pub(super) fn variant_column(of: &Ident, variant: &Ident) -> String {
    format!("The value of [`{of}::{variant}`]: rows of other variants do not match.")
}

/// Documents `key`.
pub(super) fn key(entity: &Entity) -> String {
    let arguments = field_names(entity, entity.partition.parts.iter().chain(&entity.row.parts));
    let fact = match arguments.as_str() {
        "" => format!("Returns a point query for the only row of `{}`.", entity.ident),
        fields => format!("Returns a point query for the row with the given {fields}."),
    };
    format!("{fact} It makes one request.\n\n{}", layout(entity, entity.primary()))
}

/// Documents `by_key` and `by_NAME`. The arguments are the values of `opened`.
pub(super) fn by(entity: &Entity, layout: Layout<'_>, opened: &[Part], access: Access) -> String {
    let row = layout.row.parts.as_slice();
    let fields = field_names(entity, opened.iter());
    let fact = match (layout.index, access, row) {
        (None, Access::Opened, []) => {
            "Returns the same query as [`key`](Self::key), because a partition has only one row.".to_owned()
        }
        (Some(Index { unique: Some(_), copy, .. }), Access::Opened, []) => {
            let what = if copy.is_some() { "copy of the entity" } else { "entity" };
            format!("Returns a point query for the {what} with the given {fields}.")
        }
        _ => opens(entity, layout, &fields, access),
    };
    let cost = match (layout.index, access, row) {
        (Some(index), ..) => cost(entity, index),
        (None, Access::Opened, []) => "It makes one request.".to_owned(),
        (None, Access::Spread(_) | Access::FanOut(_), _) => {
            "One request reads up to 1000 rows of a partition; the partitions are read at the same time.".to_owned()
        }
        (None, ..) => "One request reads up to 1000 rows.".to_owned(),
    };
    format!("{fact}\n\n{}\n\n{cost}", self::layout(entity, layout))
}

fn opens(entity: &Entity, layout: Layout<'_>, fields: &str, access: Access) -> String {
    let rows = match layout.index.map(Index::content) {
        None => "the rows",
        Some(Content::Copy) => "the copies",
        Some(_) => "the index rows",
    };
    let of_index = layout.index.map_or_else(String::new, |index| format!(" of the index `{}`", index.name.value));
    let opened = match (access, fields) {
        (Access::Opened, "") => format!("the only partition{of_index}"),
        (Access::Opened, fields) if of_index.is_empty() => format!("the partition of {fields}"),
        (Access::Derived, "") => rows.to_owned(),
        (Access::Opened | Access::Derived, fields) => format!("{rows} with the given {fields}"),
        (Access::Spread(buckets) | Access::FanOut(buckets), "") => format!("all {buckets} hash partitions{of_index}"),
        (Access::Spread(buckets) | Access::FanOut(buckets), fields) => {
            format!("the {buckets} hash partitions of {fields}")
        }
    };
    let note = match (access, layout.index, layout.row.parts.first()) {
        // The entity's partition is easily taken for the value of the index.
        (Access::Opened, Some(index), Some(part)) if !index.is_cross_partition() => {
            format!(" For one value of `{}`, narrow it with `eq`.", entity.fields[part.field].name)
        }
        (Access::Opened | Access::FanOut(_), ..) => String::new(),
        (Access::Derived, ..) => " The row key determines the partition.".to_owned(),
        (Access::Spread(_), ..) => " The row key determines one of the partitions.".to_owned(),
    };
    format!("Opens {opened}{}.{note}", orders(entity, &layout.row.parts))
}

/// Returns the number of requests that an index's query makes, and the rows that it reads besides those that it returns.
fn cost(entity: &Entity, index: &Index) -> String {
    let requests = requests(index);
    match index.each() {
        None => requests,
        Some(each) => {
            let name = &entity.fields[each.field].name;
            format!(
                "{requests}\n\nThere is a row for each element of `{name}`. A query returns an entity once, at its first \
                 matching element, and also reads the rows of its other matching elements."
            )
        }
    }
}

/// Returns the number of requests that an index's query makes.
fn requests(index: &Index) -> String {
    let scope = if index.is_cross_partition() { "cross-partition" } else { "same-partition" };
    match (index.content(), index.unique) {
        (Content::Copy, Some(_)) => {
            format!("A unique {scope} index of whole copies: a query with the full key makes one request.")
        }
        (Content::Copy, None) => {
            let age = if index.is_cross_partition() { " A copy may be out of date." } else { "" };
            format!("A {scope} index of whole copies: one request reads up to 1000 copies.{age}")
        }
        (Content::List, _) => {
            format!("A {scope} index of lists: one request reads the ids of a value, and one more reads each entity.")
        }
        (_, Some(_)) => {
            format!("A unique {scope} index: a query with the full key makes one request, and one more for the entity.")
        }
        (_, None) => {
            format!("A {scope} index: one request reads up to 1000 index rows, and one more reads each entity.")
        }
    }
}

/// Documents `by_partitions`.
pub(super) fn by_partitions(entity: &Entity) -> String {
    let first = field_names(entity, entity.partition.parts.iter().take(1));
    format!(
        "Reads every row of the partitions whose {first} is in the range, in the order of their keys.\n\n{}\n\nOne request \
         reads up to 1000 rows.",
        layout(entity, entity.primary())
    )
}

/// Documents `scan`.
pub(super) fn scan(entity: &Entity) -> String {
    let tables = match &entity.slice {
        Some(slice) => format!("all tables `{}{}`", entity.table.value, slice.digits()),
        None => format!("the whole table `{}`", entity.table.value),
    };
    format!("Reads {tables}. One request reads up to 1000 rows.")
}

/// Describes the order of the rows: ", newest `posted` first, then by `id`".
fn orders(entity: &Entity, row: &[Part]) -> String {
    let orders: Vec<_> = row.iter().map(|part| order(entity, part)).collect();
    match orders.join(", then ") {
        none if none.is_empty() => String::new(),
        // Only the first order needs the verb.
        by if by.starts_with("by ") => format!(", sorted {by}"),
        orders => format!(", {orders}"),
    }
}

fn order(entity: &Entity, part: &Part) -> String {
    let name = &entity.fields[part.field].name;
    let encoding = if let Encoding::Scale(_, inner) = &part.encoding { inner } else { &part.encoding };
    match encoding {
        Encoding::ReverseTime => format!("newest `{name}` first"),
        Encoding::Time => format!("oldest `{name}` first"),
        Encoding::Reverse(_) => format!("highest `{name}` first"),
        _ if part.each.is_some() => format!("by each of `{name}`"),
        _ => format!("by `{name}`"),
    }
}

/// Returns the field of a part, or its elements.
fn name(entity: &Entity, part: &Part) -> String {
    let name = &entity.fields[part.field].name;
    if part.each.is_some() { format!("each({name})") } else { name.clone() }
}

/// Lists the fields of the parts with the types of their arguments, each once.
fn field_names<'a>(entity: &Entity, parts: impl Iterator<Item = &'a Part>) -> String {
    let mut fields: Vec<(usize, String)> = Vec::new();
    for part in parts {
        if fields.iter().all(|(field, _)| *field != part.field) {
            let name = name(entity, part);
            fields.push((part.field, format!("{name}: {}", example::argument_type(entity, part))));
        }
    }
    let texts: Vec<&str> = fields.iter().map(|(_, text)| text.as_str()).collect();
    list(&texts)
}

/// Describes the table and its two keys.
fn layout(entity: &Entity, layout: Layout<'_>) -> String {
    let table = match &entity.slice {
        Some(slice) => format!("Tables `{}{}`", layout.table.value, slice.digits()),
        None => format!("Table `{}`", layout.table.value),
    };
    let keys = format!(
        "{table}, `PartitionKey` {}, `RowKey` {}",
        stored_key(entity, layout.partition),
        stored_key(entity, layout.row)
    );
    match (example::key(entity, layout.partition), example::key(entity, layout.row)) {
        (Some(partition), Some(row)) if layout.partition.parts.len() + layout.row.parts.len() > 0 => {
            format!("{keys}: for example {} and {}.", shown(&partition), shown(&row))
        }
        _ => format!("{keys}."),
    }
}

/// Returns a key as documentation shows it.
fn shown(key: &str) -> String {
    if key.is_empty() { "an empty row key".to_owned() } else { format!("`{key}`") }
}

fn stored_key(entity: &Entity, key: &Key) -> String {
    let part = |part: &Part| {
        let name = name(entity, part);
        match &part.encoding {
            Encoding::Plain => format!("{{{name}}}"),
            encoding => format!("{{{name}: {encoding}}}"),
        }
    };
    let parts: Vec<_> = key.parts.iter().map(part).collect();
    // Without a separator, the delimiter depends on the type of the part, which only the compiler knows.
    let delimiter = entity.separator.as_ref().map_or(" ", |separator| &separator.value);
    match format!("{}{}", key.prefix(), parts.join(delimiter)) {
        empty if empty.is_empty() => "empty".to_owned(),
        text => format!("`{text}`"),
    }
}
