//! The derives of `table-runtime`, which re-exports them.
//!
//! Each reads its attributes into a model, checks the model and expands it. Every mistake is reported, at its own
//! place; the code is written even so, as far as it can be, so that one mistake does not bring others.

mod attributes;
mod case;
mod check;
mod encoding;
mod errors;
mod expand;
mod fallback;
mod generics;
mod group;
mod key_part;
mod model;
mod projection;
mod property;
#[cfg(test)]
mod tests;
mod wrapper;

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::{errors::Errors, group::Group, model::Entity, projection::Projection, wrapper::Wrapper};

/// Makes a struct a table's row, and writes its queries.
///
/// Beside the trait there are associated functions: `key(…)`, the point of the full key; `by_key(…)`, the partition, or
/// where it follows from the row key, what leads to it; `by_NAME(…)`, the same of each index; and `scan()`, which
/// compiles under `#[table(allow_scan)]`. `{Struct}Columns` has a column for every stored field.
///
/// # On the struct
/// | attribute | meaning |
/// |---|---|
/// | `#[table(name = "Posts")]` | the table; the struct's name by default |
/// | `#[table(partition = "all")]`, `#[table(row = "details")]` | a constant key, where no field makes it |
/// | `#[table(rename_all = "PascalCase")]` | property names, in serde's styles; `PascalCase` by default |
/// | `#[table(kind)]`, `#[table(kind = "Expense")]` | writes a property `EntityType`, so that entities can share a table |
/// | `#[table(separator = "_")]` | for data that others wrote: one joint after every key part |
/// | `#[table(slice = month(posted))]` | one table for each `year`, `month` or `day` (UTC) of a time that is a key part: `Log201006`; without indexes |
/// | `#[table(write_id)]` | writes a property `WriteId`, so that a write whose answer was lost is told from another's |
/// | `#[table(allow_scan)]` | lets `scan()` compile |
/// | `#[table(crate = path)]` | where `table_runtime` is found |
/// | `#[index(NAME, partition(f, g(ENCODING)), row(h), …)]` | an index whose two keys are spelled out |
/// | `#[index(FIELD, …)]` | the same as on that field |
///
/// A kind tells rows apart, and not their keys: entities of two kinds with one partition key and one row key are one
/// row, which `insert` refuses and `upsert` writes over. Keys of different fields, numbers of parts or prefixes,
/// `#[row_key(prefix = "note-")]`, never meet; nor do random ids.
///
/// # On a field
/// | attribute | meaning |
/// |---|---|
/// | `#[partition_key]`, `#[partition_key(ENCODING)]` | a part of the partition key; several fields, in order, make a composite |
/// | `#[row_key]`, `#[row_key(ENCODING, prefix = "id-")]` | a part of the row key, likewise |
/// | `#[index(NAME, ENCODING, …)]` | an index over the field; there may be several |
/// | `#[property(rename = "…")]` | the property's name |
/// | `#[property(json)]` | any serde type, as the text of its JSON, which is parsed again when it is written |
/// | `#[property(text)]` | a `Display` and `FromStr` type, or an `Option` of one, as text |
/// | `#[property(default)]` | `Default` where a row has no such property |
/// | `#[property(skip)]` | not stored; `Default` when read |
/// | `#[property]` on a key field | stores it as a property too |
///
/// A key field is stored in its key alone, unless all its encodings lose something: `lowercase`, `uppercase`, `first`
/// and `hash`.
///
/// # Encodings
/// | option | of | writes |
/// |---|---|---|
/// | none | all | the type's own encoding |
/// | `lowercase`, `uppercase` | text | folded |
/// | `first = N` | text | the first characters, after folding |
/// | `raw` | text | as it is; last in its key, unless there is a separator |
/// | `pad = N` | integers | so many digits |
/// | `reverse` | integers and dates | descending |
/// | `time`, `reverse_time` | times | ticks: oldest or newest first |
/// | `hash = N` | all | one of so many partitions, of the value's plain or folded text; last in the partition key |
///
/// Where the last part of the partition key and the first of the row key are one field, its value leads to the
/// partition. So the partition is made of what the row key tells: beside `lowercase` it is `lowercase` too,
/// `hash = 16, lowercase` or `first = 2, lowercase`, and beside `first = N` it has no more characters. Of a row key that
/// holds the field whole any partition can be made.
///
/// # Indexes
/// An index is queried with `by_NAME`; a name is a Rust name, and not `key`. Its rows stand beside the entity's and
/// are kept by every write. A field of it may be an `Option`: an entity with `None` has no row in the index.
///
/// | option | meaning |
/// |---|---|
/// | `same_partition` | its rows stand in the entity's own partition, and are written in one transaction with it |
/// | `same_table` | in other partitions of the entity's own table |
/// | `table = "Logins"` | in this table |
/// | none of these | in a table of its own, `{Table}By{Name}` |
/// | `unique` | a value has one entity at most, and a full key is a point |
/// | `include(f, g)` | its rows hold these properties beside the way to the entity |
/// | `copy` | its rows hold every property: `by_NAME` gives `Copied`, with one request |
/// | `list` | one row holds the ids of all entities of a value; `same_partition` only |
/// | `when(f, g, path)` | an entity has a row only if the function says so: `fn(&F, &G) -> bool` |
/// | `prefix = "name-"` | what its row keys begin with; in the entity's own table `{NAME}-` by default |
/// | `rename(f = "…")` | the property that holds a key field of the entity; `IndexedEntity{Field}` by default |
///
/// In the entity's own partition the row key is the value, then, unless the index is unique, the entity's row key.
/// Elsewhere the value is the partition key, and the row key all parts of the entity's key, or empty. What
/// `partition(…)` and `row(…)` spell out stands in place of the value; with `same_partition`, `row(…)` alone.
///
/// A row that leads to its entity holds as properties the fields of the entity's key that its own key does not. So a time
/// there is, like any property, one of 1601-01-01 or later: an entity with an earlier one is refused when it is written.
///
/// A field of an index is a property of the entity as well. A type that is a part of keys and no property, as `char` and
/// `u64` are, takes `#[property(text)]` or `#[property(json)]`.
///
/// With `same_partition`, `unique` holds within a partition, which a query names. Nobody names a `hash` partition, so an
/// entity of such has no index of both, unless the hash is of the index's own value.
///
/// Clippy takes an option that two `#[index]` on one struct share for a duplicate: write them on fields, or allow
/// `clippy::duplicated_attributes`.
///
/// In one table no prefix may begin another, so that rows cannot meet: an entity with an index in its own table has one
/// too, `{field}-` of its first row key field, unless `#[row_key(prefix = "…")]` says another.
#[proc_macro_derive(TableEntity, attributes(table, partition_key, row_key, property, index))]
pub fn derive_table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    table_entity(&parse_macro_input!(input)).into()
}

/// Makes a newtype or an enum of unit variants a part of keys.
///
/// A newtype stands in keys as its field does, an enum by its variants' names: `#[table(rename_all = "…")]` on the enum
/// and `#[property(rename = "…")]` on a variant choose them. `#[table(crate = path)]` says where `table_runtime` is.
#[proc_macro_derive(KeyPart, attributes(table, property))]
pub fn derive_key_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    key_part(&parse_macro_input!(input)).into()
}

/// Makes a newtype or an enum of unit variants a property.
///
/// A newtype is stored as its field is, an enum as the text of its variants' names: `#[table(rename_all = "…")]` on the
/// enum and `#[property(rename = "…")]` on a variant choose them. `#[table(crate = path)]` says where `table_runtime`
/// is.
#[proc_macro_derive(Property, attributes(table, property))]
pub fn derive_property(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    property(&parse_macro_input!(input)).into()
}

/// Makes a struct of some of an entity's fields what a query can be asked for: `#[projection(of = Post)]`.
///
/// Each field is one of the entity's, by name, of the same type; how it is stored is the entity's to say. A query's
/// `select::<Headline>()` asks the store for these fields alone, and gives out `Headline`s: plain ones, since what is
/// not the whole entity cannot be written back.
///
/// Of an entity with parameters it says which: `#[projection(of = Item<String>)]`; one that has parameters itself
/// states their bounds. `#[projection(crate = path)]` says where `table_runtime` is found.
#[proc_macro_derive(Projection, attributes(projection, table, partition_key, row_key, property, index))]
pub fn derive_projection(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    projection(&parse_macro_input!(input)).into()
}

/// Makes an enum of entities that share a table and a partition what one query reads: a master and its items.
///
/// Each variant holds an entity, or `Stored<…>` of one. The first is the master: the row keys of the others begin with
/// its own, as `{id}_{item}` does with `{id}`, and those parts tell their own end (a text belongs into the partition
/// key, and that has no `hash`). Of their indexes in one table no prefix may begin another.
///
/// Rows are told apart by `#[table(kind)]` on every entity, or else by the number of their key parts. With kinds, two
/// entities may have parts alike, as `Note { expense, id }` and `Cost { expense, id }`; then it is for their values to
/// differ, such as random ids do: with one key they would be one row, which `insert` refuses and `upsert` writes over.
///
/// `by_key(…)` opens the partition. What the fields of an entity are, the enum's derive does not see, so it takes the
/// partition's parts as one argument: that of the one field, a tuple for several, `()` for none.
///
/// ```text
/// Report::by_key("Marcus")            // #[partition_key] user: String
/// Report::by_key(("acme", "Marcus"))  // #[partition_key] tenant: String, #[partition_key] user: String
/// Report::by_key(())                  // #[table(partition = "all")]
/// ```
///
/// Narrowing follows the master's row key; `by_key(user).eq(id)` is the master `id` and its items, in key order.
///
/// `#[table(crate = path)]` says where `table_runtime` is found.
#[proc_macro_derive(EntityGroup, attributes(table))]
pub fn derive_entity_group(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    entity_group(&parse_macro_input!(input)).into()
}

fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let entity = Entity::read(input, &mut errors);
    if let Some(entity) = entity.as_ref().filter(|_| errors.is_empty()) {
        check::check(entity, &mut errors);
    }
    let code = entity.map_or_else(|| fallback::table_entity(input), |entity| expand::entity(&entity));
    with_errors(errors, code)
}

fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = match Wrapper::read(input, "KeyPart", &mut errors) {
        Some(wrapper) => key_part::expand(&wrapper),
        None => fallback::key_part(input),
    };
    with_errors(errors, code)
}

fn property(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = match Wrapper::read(input, "Property", &mut errors) {
        Some(wrapper) => property::expand(&wrapper),
        None => fallback::property(input),
    };
    with_errors(errors, code)
}

fn entity_group(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = Group::read(input, &mut errors).map(|group| group::expand(&group));
    with_errors(errors, code.unwrap_or_default())
}

fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = Projection::read(input, &mut errors).map(|projection| projection::expand(&projection));
    with_errors(errors, code.unwrap_or_default())
}

fn with_errors(errors: Errors, code: TokenStream) -> TokenStream {
    let mut tokens = errors.into_tokens();
    tokens.extend(code);
    tokens
}
