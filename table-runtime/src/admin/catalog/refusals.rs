//! The texts of all refusals of `create`. Each function has the name of its row in the table of `docs/catalog.md`. Errors that
//! writers return too, such as that of a struct without a recorded option, have their texts where those are made.

use table_model::{
    LayoutInfo,
    unstable::layout::{LayoutChange, Leaf, TypeEffect},
};
use table_store::{
    Error, Row,
    error::{LayoutChangedError, MissingIndexError, PropertyError, RowsCollideError},
};

use crate::{
    client::tables::{KEY, ReadRecord},
    write::index::{Schema, events_required, lifecycle_changed},
};

/// Name of the properties in an error, beside those of layouts.
const PROPERTIES: &str = "properties";

/// The advice for a record that cannot be read.
const UNREADABLE: &str = "use a program with that version of the crate, or, if the record was damaged, restore the table of \
                          the catalog from a backup";

fn changed(schema: Schema, layout: &'static str, entity: &str, changes: String, advice: impl Into<String>) -> Error {
    let (table, entity) = (schema.table().to_owned(), entity.to_owned());
    Box::new(LayoutChangedError::new(table, entity, layout, changes, advice.into())).into()
}

fn joined(changes: &[LayoutChange]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub fn moved(schema: Schema, record: &ReadRecord) -> Error {
    let to = record.facts.moved.as_ref().map(ToString::to_string).unwrap_or_default();
    Error::EntityMoved { table: schema.table().to_owned(), entity: schema.entity.to_owned(), to }
}

pub fn migrating(schema: Schema) -> Error {
    Error::EntityMigrating { table: schema.table().to_owned(), entity: schema.entity.to_owned() }
}

pub fn old_rows(schema: Schema) -> Error {
    let problem = format!(
        "`{}` was moved away from this place, and its old rows are still there; delete them with `drop_moved` before \
         entities are moved back",
        schema.entity
    );
    schema.refused(problem)
}

pub fn table_being_deleted(layout: &LayoutInfo) -> Error {
    Error::TableBeingDeleted(layout.table.to_string().into())
}

pub fn new_place(schema: Schema, row: &str) -> Error {
    let problem = format!(
        "the new place is not empty: it has {row}; delete the rows there, or give the new struct another table"
    );
    schema.refused(problem)
}

pub fn lacks_times(schema: Schema, record: &ReadRecord, option: &str) -> Error {
    lifecycle_changed(schema.table().to_owned(), record.entity.clone(), option)
}

pub fn lacks_events(schema: Schema, record: &ReadRecord) -> Error {
    events_required(schema.table().to_owned(), record.entity.clone())
}

pub fn unreadable_key(schema: Schema, record: &ReadRecord) -> Error {
    let changes = LayoutChange::unreadable(KEY).to_string();
    changed(schema, KEY, &record.entity, changes, UNREADABLE)
}

pub fn other_key(schema: Schema, record: &ReadRecord, changes: &[LayoutChange]) -> Error {
    let advice = "keep the layout (`#[row_key(prefix = \"…\")]` keeps the beginning of its row keys), or give the changed \
                  struct another table or name and move the rows with `tables.migrate::<Old, New>()`; an entity of another \
                  kind in the same table needs a kind or a prefix of its own";
    changed(schema, KEY, &record.entity, joined(changes), advice)
}

pub fn other_variants(schema: Schema, record: &ReadRecord, change: &LayoutChange, lost: &[String]) -> Error {
    let advice = "keep the variants; or write `#[property(other)]` on one that takes those that are not known; or store the \
                  enum as another property (`#[property(rename = \"…\")]`); or give the rows a version, with \
                  `#[table(version = …, from = …)]`";
    let changes = format!("the enum of {} has no variant `{}` any more", change.what, lost.join("`, `"));
    changed(schema, PROPERTIES, &record.entity, changes, advice)
}

pub fn other_type(schema: Schema, record: &ReadRecord, change: &LayoutChange, effect: &TypeEffect) -> Error {
    let effect = match effect {
        TypeEffect::ReadsFirstPart => "which would read the first part of a longer value as the whole",
        TypeEffect::IsNotRead => "which programs with the recorded type cannot read",
        _ => "which no stored row has",
    };
    let advice = "keep the type; or store the field as another property (`#[property(rename = \"…\")]`); or give the rows a \
                  version, with `#[table(version = …, from = …)]`";
    changed(schema, PROPERTIES, &record.entity, format!("{change}, {effect}"), advice)
}

pub fn not_told_apart(schema: Schema, record: &ReadRecord, changes: &[LayoutChange]) -> Error {
    let (other, entity) = (&record.entity, schema.entity);
    let mut all =
        vec![format!("`{entity}` is not recorded, and its rows could not be told apart from those of `{other}`")];
    all.extend(changes.iter().map(ToString::to_string));
    let advice = format!(
        "if `{entity}` is the entity that was called `{other}`, write `#[table(was = \"{other}\")]`; if both are in the \
         table, give each of them a kind, with `#[table(kind)]`, or a prefix of its own, with `#[row_key(prefix = \"…\")]`"
    );
    changed(schema, KEY, other, all.join("; "), advice)
}

pub fn other_table(schema: Schema, record: &ReadRecord) -> Error {
    let (other, from, entity) = (&record.entity, &record.entity_table, schema.entity);
    let changes = format!("`{other}` is recorded in the table `{from}`, and this struct is in `{}`", schema.table());
    let advice = format!(
        "keep the table, with `#[table(name = \"…\")]`; or move the rows with `tables.migrate::<Old, New>()`; if `{entity}` \
         is another entity than `{other}` in `{from}`, give it a name of its own with `#[table(entity = \"…\")]`, or with \
         `kind = \"…\"` if it has a kind"
    );
    changed(schema, KEY, other, changes, advice)
}

pub fn other_kind(schema: Schema, record: &ReadRecord) -> Error {
    let (other, name) = (&record.entity, schema.struct_name);
    let changes = format!("the struct `{name}` is recorded as `{other}`, and its kind is now `{}`", schema.entity);
    let advice = format!(
        "keep the kind, or that it has none; or move the rows with `tables.migrate::<Old, New>()`; if `{other}` is another \
         entity, give this struct another name"
    );
    changed(schema, KEY, other, changes, advice)
}

pub fn rows_collide(layout: &'static LayoutInfo, record: &ReadRecord, other: &str) -> Error {
    let (table, entity, other) = (layout.table.to_string(), record.entity.clone(), other.to_owned());
    Box::new(RowsCollideError::new(table, &layout.name, entity, other)).into()
}

pub fn required_inside(schema: Schema, entity: &str, leaf: &Leaf, path: &str) -> Error {
    let name = leaf.property.name;
    let changes = format!(
        "the property `{name}` is required in `{path}`, and programs are recorded that write it without the property"
    );
    changed(schema, PROPERTIES, entity, changes, advice_for(leaf.property.field))
}

pub fn other_version(schema: Schema, entity: &str, problem: &PropertyError) -> Error {
    let advice = "give the struct of that version, which `#[table(from = …)]` names, the properties that stored rows have, or \
                  move the rows with `tables.migrate::<Old, New>()`";
    changed(schema, PROPERTIES, entity, problem.to_string(), advice)
}

pub fn required(schema: Schema, entity: &str, leaf: &Leaf, row: &Row) -> Error {
    let changes = format!(
        "the property `{}` is required, and the row (PartitionKey='{}',RowKey='{}') has none",
        leaf.property.name, row.partition_key, row.row_key
    );
    changed(schema, PROPERTIES, entity, changes, advice_for(leaf.property.field))
}

/// Returns what to do about a required property that rows lack.
fn advice_for(field: &str) -> String {
    format!(
        "make the field `{field}` an `Option`, or give it `#[property(default)]`; if it was renamed, keep its property with \
         `#[property(rename = \"…\")]`; or give the rows a version, with `#[table(version = …, from = …)]`"
    )
}

pub fn unreadable_index(schema: Schema, layout: &'static LayoutInfo, record: &ReadRecord) -> Error {
    let changes = LayoutChange::unreadable(&layout.name).to_string();
    let advice = format!("{UNREADABLE}; or give the index another name");
    changed(schema, &layout.name, &record.entity, changes, advice)
}

pub fn other_index(
    schema: Schema,
    layout: &'static LayoutInfo,
    record: &ReadRecord,
    changes: &[LayoutChange],
) -> Error {
    let advice = "keep the layout (`rename(…)` keeps the names of a pointer's properties), or give the changed index another \
                  name, `backfill` it, and drop this one with `drop_index` when no program has it";
    changed(schema, &layout.name, &record.entity, joined(changes), advice)
}

pub fn other_default(schema: Schema, layout: &'static LayoutInfo, record: &ReadRecord, change: &LayoutChange) -> Error {
    let advice =
        "keep the default; or, when no program has the index, drop it with `drop_index`, and `backfill` it again";
    changed(schema, &layout.name, &record.entity, change.to_string(), advice)
}

pub fn index_dropped(schema: Schema, layout: &LayoutInfo) -> Error {
    Error::IndexDropped { table: schema.table().to_owned(), index: layout.name.to_string() }
}

pub fn lacks_ready(schema: Schema, index: &ReadRecord) -> Error {
    let (table, entity, index) = (schema.table().to_owned(), index.entity.clone(), index.name.clone());
    Box::new(MissingIndexError::new(table, entity, index)).into()
}
