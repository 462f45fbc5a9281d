//! The derives of `table-runtime`, which re-exports them.
//!
//! Each derive reads the attributes into a model, checks the model and expands it. All errors are reported at once, each at
//! its own span. The code after an error has unknown types, so that one mistake causes one error.
//!
//! No module uses one that is listed above it, except that `model` checks the names of the properties of a nested struct
//! with `check`:
//!
//! | module | content |
//! |---|---|
//! | `expand`, `fallback` | the code of `TableEntity`, and the code after an error |
//! | `check` | the rules of `TableEntity` |
//! | `model` | a struct with `TableEntity`; its fields, keys and indexes |
//! | `key_part`, `property` | the code of `KeyPart` and `Property` |
//! | `wrapper`, `group`, `projection` | the other derives: their models, and the code of a group and of a projection |
//! | `encoding`, `runtime` | the encodings of key parts, and the path of the runtime |
//! | `attributes`, `field_type` | the reader of attributes, and the type of a field |
//! | `case`, `encoding_option`, `hygiene`, `names`, `text`, `errors` | values without knowledge of attributes |

mod attributes;
mod case;
mod check;
mod encoding;
mod encoding_option;
mod errors;
mod expand;
mod fallback;
mod field_type;
mod group;
mod hygiene;
mod key_part;
mod model;
mod names;
mod projection;
mod property;
mod runtime;
#[cfg(test)]
mod tests;
mod text;
mod wrapper;

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::{
    errors::Errors,
    group::Group,
    model::{Entity, Nested},
    projection::Projection,
    wrapper::Wrapper,
};

/// Makes a struct a row of a table, and generates its queries.
///
/// The derive implements `TableEntity` and generates these associated functions:
///
/// - `key(…)` returns a point query for the full key.
/// - `by_key(…)` opens a partition. If the partition key is derived from the row key, it opens the rows whose row key then
///   determines the partition.
/// - `by_NAME(…)` does the same for each index.
/// - `by_partitions(range)` reads a range of partitions, if the first part of the partition key has an order.
/// - `scan()` reads the whole table, with `#[table(allow_scan)]`.
///
/// The documentation of each has the types of its arguments, the stored keys with an example, and the number of requests.
///
/// The struct `{Struct}Columns` has a column for every stored field. `From<Stored<{Struct}>>` takes the entity out of what a query
/// returned.
///
/// # On the struct
/// | attribute | meaning |
/// |---|---|
/// | `#[table(name = "Posts")]` | the table; the default is the name of the struct; not `TableLayouts`, where `create` keeps its records, and not `TableEvents` |
/// | `#[table(partition = "all")]`, `#[table(row = "details")]` | a constant key, if no field provides the key |
/// | `#[table(rename_all = "PascalCase")]` | the style of property names, one of serde's; the default is `PascalCase` |
/// | `#[table(kind)]`, `#[table(kind = "Expense")]` | writes a property `EntityType`, so that several entities can share a table; keys are kept apart by prefixes, see below |
/// | `#[table(entity = "Person")]` | the entity's name in `TableLayouts`, where `create` records its layouts; the default is the name of the struct; with a kind, the kind is the name |
/// | `#[table(was = "Person")]` | the entity's earlier name in `TableLayouts`, if it has another name now |
/// | `#[table(separator = "_")]` | for data that other programs wrote: this delimiter after every key part but the last, escaped inside text |
/// | `#[table(slice = month(posted))]` | one table for each `year`, `month` or `day` (UTC) of a time that is a key part: `Log201006`; without indexes |
/// | `#[table(write_id)]` | writes a property `WriteId`, which distinguishes a write whose answer was lost from another writer's write |
/// | `#[table(version = 2, from = PostV1)]` | writes the property `EntityVersion`; rows of an older version are read as `PostV1` and converted by `From` or `TryFrom` |
/// | `#[table(skip_newer)]` | readers skip rows of a newer version, which are an error otherwise |
/// | `#[table(deny_unknown)]` | a row with properties that the struct does not know is an error when it is read; without it, `update` and `merge` keep them |
/// | `#[table(expires = until)]` | from the time in this field on, the entity is absent for every read, and `insert` takes its place: see below |
/// | `#[table(soft_delete = deleted)]` | `Tables::soft_delete` puts the entity into a bin: it sets this field and hides the entity from reads; `remove` still deletes for good: see below |
/// | `#[table(events)]`, `#[table(events(copy))]` | each committed write of the entity records an event in the same transaction; with `copy`, the event has the entity as it was written: see the page *Events* of the guide |
/// | `#[table(allow_scan)]` | allows `scan()` to compile |
/// | `#[table(rename(key = "point"))]` | another name for `key`, `by_key`, `by_partitions` or `scan`, if the type has a function of that name already |
/// | `#[table(crate = path)]` | the path of `table_runtime` |
/// | `#[index(NAME, partition(f, g(ENCODING)), row(h), …)]` | an index with explicit keys; `address.city(ENCODING)` names a field of a nested struct |
/// | `#[index(FIELD, …)]` | the same index as with `#[index(FIELD, …)]` on that field |
///
/// A kind distinguishes rows, but not their keys. Two entities of different kinds with the same partition key and row key
/// are one row: `insert` refuses the second one, and `upsert` overwrites the first one. Keys with different fields, numbers
/// of parts or prefixes (`#[row_key(prefix = "note-")]`) never collide. Random ids do not collide either.
///
/// # On a field
/// | attribute | meaning |
/// |---|---|
/// | `#[partition_key]`, `#[partition_key(ENCODING)]` | a part of the partition key; several fields, in order, form a composite key |
/// | `#[row_key]`, `#[row_key(ENCODING, prefix = "id-")]` | a part of the row key; several fields form a composite key |
/// | `#[index(NAME, ENCODING, …)]` | an index over the field; a field can have several |
/// | `#[property(rename = "…")]` | the name of the property |
/// | `#[property(json)]` | stores any serde type as JSON text; when it is written, the text is parsed again, and refused if it does not read back as the same value |
/// | `#[property(text)]` | stores a type with `Display` and `FromStr`, or an `Option` of one, as text |
/// | `#[property(scale = N)]` | stores a `rust_decimal::Decimal`, or an `Option` of one, as an integer without its point, which is before `N` places; a number with more places is an error |
/// | `#[property(large)]` | text, bytes or `json` of up to 480,000 UTF-16 units or 960,000 bytes: a value that does not fit into a property, of 64 KiB, continues in `{Name}_2`, `{Name}_3`, and so on, with the number of the parts in `{Name}_Parts`; no key, no filter, and no key, `include` or `when` of an index can have it |
/// | `#[property(default)]` | reads `Default` if a row has no such property; a filter does not find such a row |
/// | `#[property(prefix = "Home")]` | the text with which the names of a nested struct's properties begin, instead of the field's own name; `""` for none |
/// | `#[property(skip)]` | does not store the field; it is read as `Default` |
/// | `#[property]` on a key field | stores the field as a property too |
///
/// The service sets the time of the last write and the ETag, and `Stored` has them, so a field called `timestamp` or `etag`
/// is an error.
///
/// A key field is stored only in its key, unless all its encodings are lossy. The lossy encodings are `lowercase`,
/// `uppercase`, `first` and `hash`. A row key of beginnings alone (`first`) is an error: entities with the same beginning would
/// be one row.
///
/// The row key of an index that is neither `unique` nor a `list` ends with the parts of the entity's own key, so an index that
/// names them at its end is an error too.
///
/// # Expiry and the bin
/// The field of `expires` is a time that is stored as one: `SystemTime`, or with features `time::OffsetDateTime`,
/// `chrono::DateTime<Utc>` or `jiff::Timestamp`, or an `Option` of it. `None` never expires. The service can leave expired rows
/// out of its answers only if the field is not an `Option`. The field of `soft_delete` is an `Option` of such a time: `None` if
/// the entity is not in the bin. `Tables::soft_delete` sets it, and `Tables::restore` clears it. If an entity has both, expiry
/// counts first.
///
/// Both are fields of the struct itself, and properties: a key field has `#[property]` as well. They have neither `skip` nor
/// `default`, and no `patch` can set them. Rows of indexes in the entity's partition contain them, except lists, as if
/// `include(…)` named them. A struct in `from` stores the same times under the same names of properties. `Tables::sweep`
/// deletes the rows.
///
/// # Encodings
/// | option | for | writes |
/// |---|---|---|
/// | none | text | the text, with `~2F` for characters that keys cannot hold (`/ \ # ? %`, `~` and control characters), and `!20` for a space before a further part |
/// | none | integers | as many digits as the type needs, negative ones in order |
/// | none | times, dates, `Uuid`, `bool` | ticks, `2010-05-28`, hyphenated lower case, `0` and `1` |
/// | none | `char`, unit enums | as text |
/// | `lowercase`, `uppercase` | text | the folded text |
/// | `first = N` | text | the first characters, after folding |
/// | `raw` | text | the text without escapes; the last part of its key, unless there is a separator |
/// | `scale = N` | decimals | the number without its point, which is before `N` places, as an integer of 29 digits; required, because 1.5 and 1.50 are equal numbers, which have one key; a number with more places is an error |
/// | `pad = N` | integers, decimals | this number of digits; a number with more digits is an error |
/// | `reverse` | integers, decimals, dates and `Uuid` | descending order |
/// | `time`, `reverse_time` | times | ticks: oldest or newest first |
/// | `hash = N` | all types | one of `N` partitions, computed from the plain or folded text of the value; the last part of the partition key |
///
/// Encodings combine where the combination has a meaning: `first = 1, uppercase` folds, then takes the first character,
/// then escapes; `scale = 2, pad = 10` writes the hundredths with ten digits. Newtypes and unit enums derive `KeyPart` to be
/// part of keys. Times are those of `std`, `time`, `chrono` and `jiff`, rounded down to a tick of 100 ns; the last three are
/// features, as is `uuid`. Decimals are `rust_decimal::Decimal`, with the feature `decimal`; they are read from a key with
/// `N` places. Declare a number that other programs wrote without padding as `String`.
///
/// The partition key is derived from the row key if the last part of the partition key and the first part of the row key
/// are the same field. The encoding of the partition must then be computable from the encoding in the row key. With
/// `lowercase` in the row key it has the same folding, such as `hash = 16, lowercase` or `first = 2, lowercase`. With
/// `first = N` in the row key it has at most as many characters. If the row key contains the whole value, any encoding of
/// the partition is possible.
///
/// # Properties
/// Properties are `bool`, integers, `f32` and `f64`, `String`, `Vec<u8>`, `Uuid`, times, dates, `std::time::Duration`, IP
/// addresses, and an `Option` of each. An `Option` with `None` is not stored. The service has no type for a date, a `u64`, a
/// `u128` or an `i128`: they are stored as the text that they have in a key, which filters compare in the order of the
/// values. `Property` has the table of stored types. Newtypes and unit enums derive `Property`.
///
/// # Indexes
/// The query of an index is `by_NAME`. The name is a Rust name other than `key`. Every write of an entity also maintains
/// its index rows. A field of an index may be an `Option`: an entity with `None` has no row in the index.
///
/// | option | meaning |
/// |---|---|
/// | `same_partition` | stores the rows in the entity's own partition, and writes them in one transaction with it |
/// | `same_table` | stores the rows in other partitions of the entity's own table |
/// | `table = "Logins"` | stores the rows in this table |
/// | none of these | stores the rows in a table of the index, `{Table}By{Name}` |
/// | `unique` | a value belongs to at most one entity, and a query with the full key is a point query |
/// | `include(f, g)` | the rows contain these properties and the pointer to the entity |
/// | `copy` | the rows contain every property: `by_NAME` returns `Copied`, with one request |
/// | `each` | the rows are those of the elements of the field, one for each: see below |
/// | `list` | one row contains the ids of all entities with a value; only with `same_partition` |
/// | `when(f, g, path)` | an entity has a row only if the function returns true: `fn(&F, &G) -> bool`. It decides by these values alone, never by the clock or a setting: the row is not moved when those change; for times, `expires` |
/// | `prefix = "name-"` | the text at the beginning of the row keys; the default in the entity's own table is `{NAME}-` |
/// | `rename(f = "…")` | the property that contains a key field of the entity; the default is `IndexedEntity{Field}` |
///
/// In the entity's own partition the row key is the value. If the index is not unique, the entity's row key comes after
/// it. In a cross-partition index the value is the partition key. Its row key is empty if the index is unique, and
/// otherwise contains all parts of the entity's key. `partition(…)` and `row(…)` replace the value. With `same_partition`
/// only `row(…)` is allowed.
///
/// With `each`, an entity has a row for each different element of a `Vec`, a `VecDeque`, a `BTreeSet`, a `HashSet`, an array,
/// a `Box<[T]>` or an `Arc<[T]>`, or an `Option` of one: `#[index(tag, each, lowercase, same_partition)]` on the field, or
/// `row(each(tags, lowercase))` and `partition(each(tags))` on the struct. A query returns an entity once, at its first
/// matching element. A write changes the rows of the elements that were added or removed. With `unique`, no two entities have an
/// element in common. An index has elements of one field, and `list` is not possible.
///
/// A pointer row has a property for each field of the entity's key that its own key does not contain. A time in a property
/// cannot be before 1601-01-01. Therefore an entity with an earlier time in such a field is refused when it is written.
///
/// A field of an index is also a property of the entity. A type that can be a key part but not a property, such as `char`,
/// needs `#[property(text)]`.
///
/// With `same_partition`, `unique` holds within a partition, which a query names. A query does not name a `hash`
/// partition. Therefore an entity with a `hash` cannot have an index with both options, unless the hash is computed from
/// the index's own value.
///
/// `#[index(NAME(…))]` is the same as `#[index(NAME, …)]`. Write it if two `#[index]` on one struct share an option, which
/// Clippy would report as a duplicate.
///
/// No prefix in a table may begin with another one, so that rows cannot collide. An entity with an index in its own table
/// has a prefix too: `{field}-` with its first row key field, or the text of `#[row_key(prefix = "…")]`.
#[proc_macro_derive(TableEntity, attributes(table, partition_key, row_key, primary_key, property, index))]
pub fn derive_table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    table_entity(&parse_macro_input!(input)).into()
}

/// Makes a newtype or an enum of unit variants a part of keys.
///
/// A newtype is written to keys like its field, and an enum as the name of its variant. `#[table(rename_all = "…")]` on
/// the enum and `#[property(rename = "…")]` on a variant set the names. `#[table(crate = path)]` sets the path of
/// `table_runtime`.
#[proc_macro_derive(KeyPart, attributes(table, property, partition_key, row_key, index))]
pub fn derive_key_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    key_part(&parse_macro_input!(input)).into()
}

/// Makes a type a property, or several properties.
///
/// | type | stored |
/// |---|---|
/// | a newtype, `struct Email(String)` | like its field |
/// | an enum of unit variants | the name of the variant |
/// | a struct with named fields | a property for each field: `city` of a field `address` is `Address_City` |
/// | an enum of which a variant has data | the name of the variant in `Payment`, and its fields: `Payment_Card_Last4`, or `Payment_Invoice` for a variant with one value without a name |
///
/// `#[table(rename_all = "…")]` on an enum and `#[property(rename = "…")]` on a variant set the names of variants. On a struct
/// they set the names of properties, and its fields take the same keys of `#[property(…)]` as those of an entity.
/// `#[property(other)]` on a variant with one `String` takes the names of variants that the program does not know, and
/// writes them back. `#[table(crate = path)]` sets the path of `table_runtime`.
///
/// The type `{Type}Columns` has the columns of the fields, for filters and patches of an entity with such a field:
/// `c.address.city`, `c.payment.is_card()`.
#[proc_macro_derive(Property, attributes(table, property, partition_key, row_key, index))]
pub fn derive_property(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    property(&parse_macro_input!(input)).into()
}

/// Makes a struct a projection of an entity, which contains some of the entity's fields: `#[projection(of = Post)]`.
///
/// Each field has the name and the type of a field of the entity. The entity determines how the field is stored. A query
/// with `select::<Headline>()` requests only these fields from the store. It returns plain `Headline`s, without `Stored`,
/// because a part of an entity cannot be written back.
///
/// A projection with one lifetime, `Headline<'a>`, borrows from the rows, and `for_each` passes it to a closure. A field of
/// type `String`, `Box<str>` or `Arc<str>` is a `&'a str` or a `Cow<'a, str>`, a `Vec<u8>` is a `&'a [u8]`, and an `Option`
/// of them is an `Option`. A text that only the key holds is a `Cow<'a, str>`, because a key may hold escapes. Any other
/// field has its own type, and so has a field with `#[property(large)]`, whose parts are not one text in the row.
///
/// A field with `#[projection(path = address.city)]` is a field of a nested struct or of a variant. It is an `Option` if a row
/// may be without it.
///
/// For an entity with parameters, write its type: `#[projection(of = Item<String>)]`. A projection with parameters must
/// declare their bounds. `#[projection(crate = path)]` sets the path of `table_runtime`.
#[proc_macro_derive(Projection, attributes(projection, table, partition_key, row_key, property, index))]
pub fn derive_projection(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    projection(&parse_macro_input!(input)).into()
}

/// Makes an enum a group of entities that share a table and a partition, such as a master and its items. One query reads
/// all of them.
///
/// Each variant contains an entity, or `Stored<…>` of one. The first variant is the master. The row keys of the other
/// entities begin with the parts of the master's row key, as `{id}_{item}` begins with `{id}`. These parts must mark their
/// own end, so a text belongs to the partition key. The partition key has no `hash`. No prefix of the entities' indexes in
/// one table may begin with another one.
///
/// Rows are distinguished by `#[table(kind)]` on every entity, or else by the number of their key parts. With kinds, two
/// entities may have the same kinds of parts, such as `Note { expense, id }` and `Cost { expense, id }`. Their values must
/// then differ, as random ids do. Two entities with the same key are one row: `insert` refuses the second one, and
/// `upsert` overwrites the first one.
///
/// `by_key(…)` opens the partition. This derive does not see the fields of the entities. Therefore `by_key` takes the
/// parts of the partition key as one argument: the value of a single field, a tuple of several fields, or `()` for none.
///
/// ```text
/// Report::by_key("Marcus")            // #[partition_key] user: String
/// Report::by_key(("acme", "Marcus"))  // #[partition_key] tenant: String, #[partition_key] user: String
/// Report::by_key(())                  // #[table(partition = "all")]
/// ```
///
/// Narrowing applies to the master's row key: `by_key(user).eq(id)` reads the master `id` and its items, in key order.
///
/// `#[table(crate = path)]` sets the path of `table_runtime`.
#[proc_macro_derive(EntityGroup, attributes(table, partition_key, row_key, property, index))]
pub fn derive_entity_group(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    entity_group(&parse_macro_input!(input)).into()
}

fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    if let Some(found) = input.attrs.iter().find(|found| found.path().is_ident("projection")) {
        // The code of the other derive is enough for the uses.
        let message =
            "a struct is an entity or a projection of one; remove `TableEntity` or `Projection` from the derives";
        errors.on(found.path(), message);
        return errors.into_tokens();
    }
    let entity = Entity::read(input, &mut errors);
    if let Some(entity) = entity.as_ref().filter(|_| errors.is_empty()) {
        check::check(entity, &mut errors);
    }
    match &entity {
        Some(entity) if errors.is_empty() => expand::entity(entity),
        _ => fallback::table_entity(input, entity.as_ref(), errors),
    }
}

fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    match Wrapper::read(input, "KeyPart", &mut errors) {
        Some(wrapper) if errors.is_empty() => key_part::expand(&wrapper),
        _ => fallback::key_part(input, errors),
    }
}

fn property(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = if Nested::is(input) {
        Nested::read(input, &mut errors).map(|nested| expand::nested(&nested))
    } else {
        Wrapper::read(input, "Property", &mut errors).map(|wrapper| property::expand(&wrapper))
    };
    match code {
        Some(code) if errors.is_empty() => code,
        _ => fallback::property(input, errors),
    }
}

fn entity_group(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    match Group::read(input, &mut errors) {
        Some(group) if errors.is_empty() => group::expand(&group),
        _ => fallback::entity_group(input, errors),
    }
}

fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let projection = Projection::read(input, &mut errors);
    match &projection {
        Some(projection) if errors.is_empty() => projection::expand(projection),
        _ => fallback::projection(input, projection.as_ref().map(|projection| &projection.entity), errors),
    }
}
