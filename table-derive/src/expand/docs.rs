//! What the generated items say of themselves: the fact first, then the stored layout.

use crate::{
    attributes::list,
    encoding::Encoding,
    model::{Entity, Holds, Index, Key, Layout, Part},
};

/// Of the struct of the columns.
pub(super) fn columns(entity: &Entity) -> String {
    format!("The columns of [`{}`], for filters and patches.", entity.ident)
}

/// Of a column whose field is in the key alone.
pub(super) fn key_column(entity: &Entity, field: usize) -> String {
    let partition = entity.partition.parts.iter().any(|part| part.field == field);
    let (key, name) = if partition { ("partition key", "PartitionKey") } else { ("row key", "RowKey") };
    format!("A part of the {key}, stored in `{name}` alone: a query narrows it, a filter does not.")
}

/// Of a column that is a property.
pub(super) fn property_column(name: &str) -> String {
    format!("The property `{name}`.")
}

/// Of `key`.
pub(super) fn key(entity: &Entity) -> String {
    let named = argument_names(entity, entity.partition.parts.iter().chain(&entity.row.parts));
    let fact = match named.as_str() {
        "" => format!("The one row of `{}`.", entity.ident),
        fields => format!("The row of {fields}."),
    };
    format!("{fact}\n\n{}", layout(entity, entity.primary()))
}

/// Of `by_key` and `by_NAME`; the parts are those that its arguments open.
pub(super) fn by(entity: &Entity, layout: Layout<'_>, opened: &[Part], way: Way) -> String {
    let row = layout.row.parts.as_slice();
    let fields = argument_names(entity, opened.iter());
    let fact = match (layout.index, way, row) {
        (None, Way::Opened, []) => "The same as [`key`](Self::key): a partition holds one row.".to_owned(),
        (Some(Index { unique: Some(_), copy, .. }), Way::Opened, []) => {
            let what = if copy.is_some() { "copy of the entity" } else { "entity" };
            format!("The one {what} of {fields}.")
        }
        _ => format!("{}{}.", opens(layout, &fields, way), orders(entity, row)),
    };
    let layout =
        self::layout(entity, layout) + &layout.index.map(|index| format!("\n\n{}", cost(index))).unwrap_or_default();
    format!("{fact}\n\n{layout}")
}

fn opens(layout: Layout<'_>, fields: &str, way: Way) -> String {
    let rows = match layout.index.map(Index::holds) {
        None => "the rows",
        Some(Holds::Copy) => "the index's copies",
        Some(_) => "the index's rows",
    };
    let of = layout.index.map_or_else(String::new, |index| format!(" of the index `{}`", index.name.value));
    match (way, fields) {
        (Way::Opened, "") => format!("Opens the one partition{of}"),
        (Way::Opened, fields) if of.is_empty() => format!("Opens the partition of {fields}"),
        (Way::Opened, fields) => format!("Opens {rows} of {fields}"),
        (Way::ByRow, "") => format!("Opens {rows}, whose partition follows from the row key"),
        (Way::ByRow, fields) => format!("Opens {rows} of {fields}, whose partition follows from the row key"),
        (Way::Spread(buckets), "") => {
            format!("Opens all {buckets} hash partitions{of}; the row key leads to one of them")
        }
        (Way::Spread(buckets), fields) => {
            format!("Opens the {buckets} hash partitions of {fields}; the row key leads to one of them")
        }
        (Way::FanOut(buckets), "") => format!("Opens all {buckets} hash partitions{of}"),
        (Way::FanOut(buckets), fields) => format!("Opens the {buckets} hash partitions of {fields}"),
    }
}

/// What an index's query costs.
fn cost(index: &Index) -> String {
    let (partition, lag) = if index.is_cross_partition() {
        ("elsewhere", ", and may lag behind the entity")
    } else {
        ("in the entity's partition", "")
    };
    match (index.holds(), index.unique) {
        (Holds::Copy, Some(_)) => format!("A unique index {partition}, of whole copies: a full key costs one request."),
        (Holds::Copy, None) => {
            format!("An index {partition}, of whole copies: a request reads up to 1000 of them{lag}.")
        }
        (Holds::List, _) => {
            format!("An index {partition}, of lists: a request reads the ids of a value, and one more each entity.")
        }
        (_, Some(_)) => {
            format!("A unique index {partition}: a full key costs one request, and one more for the entity.")
        }
        (_, None) => {
            format!("An index {partition}: a request reads up to 1000 of its rows, and one more each entity.")
        }
    }
}

/// How `by_NAME` reaches the rows; the numbers are those of hash partitions.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Opened,
    ByRow,
    Spread(usize),
    FanOut(usize),
}

/// Of `scan`.
pub(super) fn scan(entity: &Entity) -> String {
    let tables = match &entity.slice {
        Some(slice) => format!("all tables `{}{}`", entity.table.value, slice.pattern()),
        None => format!("the whole table `{}`", entity.table.value),
    };
    format!("Reads {tables}. It compiles under `#[table(allow_scan)]`.")
}

fn orders(entity: &Entity, row: &[Part]) -> String {
    let orders: Vec<_> = row.iter().map(|part| order(entity, part)).collect();
    if orders.is_empty() { String::new() } else { format!(", {}", orders.join(", then ")) }
}

fn order(entity: &Entity, part: &Part) -> String {
    let name = &entity.fields[part.field].name;
    match part.encoding {
        Encoding::ReverseTime => format!("newest `{name}` first"),
        Encoding::Time => format!("oldest `{name}` first"),
        Encoding::Reverse(_) => format!("highest `{name}` first"),
        _ => format!("by `{name}`"),
    }
}

fn argument_names<'a>(entity: &Entity, parts: impl Iterator<Item = &'a Part>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for part in parts {
        let name = entity.fields[part.field].name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(&names)
}

/// The table and its two keys.
fn layout(entity: &Entity, layout: Layout<'_>) -> String {
    let table = match &entity.slice {
        Some(slice) => format!("Tables `{}{}`", layout.table.value, slice.pattern()),
        None => format!("Table `{}`", layout.table.value),
    };
    format!(
        "{table}, `PartitionKey` {}, `RowKey` {}.",
        stored_key(entity, layout.partition),
        stored_key(entity, layout.row)
    )
}

fn stored_key(entity: &Entity, key: &Key) -> String {
    let part = |part: &Part| {
        let name = &entity.fields[part.field].name;
        match &part.encoding {
            Encoding::Plain => format!("{{{name}}}"),
            encoding => format!("{{{name}: {encoding}}}"),
        }
    };
    let parts: Vec<_> = key.parts.iter().map(part).collect();
    // Without a separator each part ends as its type does, which only the compiler knows.
    let between = entity.separator.as_ref().map_or(" ", |separator| &separator.value);
    match format!("{}{}", key.prefix(), parts.join(between)) {
        empty if empty.is_empty() => "empty".to_owned(),
        text => format!("`{text}`"),
    }
}
