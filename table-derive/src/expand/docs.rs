//! What the generated items say of themselves: the fact first, then the stored layout.

use crate::{
    attributes::list,
    encoding::Encoding,
    model::{Entity, Key, Part},
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
    format!("{fact}\n\n{}", layout(entity))
}

/// Of `by_key`; the parts are those that its arguments open.
pub(super) fn by_key(entity: &Entity, opened: &[Part], way: Way) -> String {
    if let (Way::Opened, []) = (way, entity.row.parts.as_slice()) {
        return format!("The same as [`key`](Self::key): a partition holds one row.\n\n{}", layout(entity));
    }
    let fields = argument_names(entity, opened.iter());
    let partition = match (way, fields.as_str()) {
        (Way::Opened, "") => "Opens the one partition".to_owned(),
        (Way::Opened, fields) => format!("Opens the partition of {fields}"),
        (Way::ByRow | Way::Spread, "") => "Opens the rows, whose partition follows from the row key".to_owned(),
        (Way::ByRow | Way::Spread, fields) => {
            format!("Opens the rows of {fields}, whose partition follows from the row key")
        }
        (Way::FanOut(buckets), "") => format!("Opens all {buckets} hash partitions"),
        (Way::FanOut(buckets), fields) => format!("Opens the {buckets} hash partitions of {fields}"),
    };
    let order = match entity.row.parts.as_slice() {
        [] => String::new(),
        [first, rest @ ..] => rest
            .iter()
            .fold(format!(", {}", order(entity, first)), |text, part| format!("{text}, then {}", order(entity, part))),
    };
    format!("{partition}{order}.\n\n{}", layout(entity))
}

/// How `by_key` reaches the rows.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Opened,
    ByRow,
    Spread,
    FanOut(usize),
}

/// Of `scan`.
pub(super) fn scan(entity: &Entity) -> String {
    format!("Reads the whole table `{}`. It compiles under `#[table(allow_scan)]`.", entity.table.value)
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
fn layout(entity: &Entity) -> String {
    format!(
        "Table `{}`, `PartitionKey` {}, `RowKey` {}.",
        entity.table.value,
        stored_key(entity, &entity.partition),
        stored_key(entity, &entity.row)
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
