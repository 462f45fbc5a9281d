//! Keys that users of other libraries write, and what to write here.

use crate::encoding_option::EncodingOption;

const KEYS: [&str; 3] = ["partition_key", "row_key", "index"];

/// The words for `partition(…)` and `row(…)`.
const PARTITION_OF_INDEX: &[&str] = &["pk", "hash_key", "partition_key", "gsi_pk"];
const ROW_OF_INDEX: &[&str] = &["sk", "row_key", "rk", "gsi_sk"];

/// For some attributes: names, and what to write instead of them.
const SYNONYMS: &[(&[&str], &[&str], &str)] = &[
    (&KEYS, &["desc", "descending", "reversed", "inverted", "invert"], "write `reverse`, or `reverse_time` for a time"),
    (&KEYS, &["asc", "ascending"], "remove it: keys are in ascending order"),
    (&KEYS, &["newest", "newest_first", "latest", "latest_first"], "write `reverse_time`"),
    (
        &KEYS,
        &["oldest", "oldest_first", "ticks", "timestamp", "datetime"],
        "write `time`, or `reverse_time` for newest first",
    ),
    (&KEYS, &["width", "digits", "padded", "padding", "zero_pad", "length", "len"], "write `pad = 8`"),
    (&KEYS, &["buckets", "bucket", "shards", "shard", "hashed", "partitions"], "write `hash = 16`"),
    (&KEYS, &["lower", "case_insensitive", "ignore_case", "nocase", "ci"], "write `lowercase`"),
    (&KEYS, &["upper"], "write `uppercase`"),
    (&KEYS, &["first_letter", "truncate", "substring"], "write `first = 1`"),
    (&["partition_key", "row_key"], &["starts_with"], "write `first = 1`"),
    (
        &["index"],
        &["starts_with", "prefix_search"],
        "remove it: with `same_partition`, each query has `.starts_with(\"…\")`; over all partitions, write \
         `#[index(name, partition(name(first = 1)), row(name))]` on the struct",
    ),
    (
        &["partition_key", "row_key"],
        &["each"],
        "an entity has one row; for a row of an index for each element of a field, write `#[index(name, each)]`",
    ),
    (
        &["index"],
        &["elements", "element", "multi", "multi_entry", "multi_value", "many", "every", "all_of"],
        "write `each`",
    ),
    (
        &["partition_key", "row_key"],
        &["const", "constant", "value", "fixed"],
        "a constant key is on the struct: `#[table(partition = \"all\")]` or `#[table(row = \"details\")]`",
    ),
    (
        &["partition_key", "row_key"],
        &["name", "rename", "column"],
        "a key has no name of its own: it is stored as `PartitionKey` or `RowKey`",
    ),
    (
        &["partition_key", "row_key"],
        &["order", "position", "sort"],
        "the parts of a key are in the order of the fields; for descending values, write `reverse`, or `reverse_time` \
         for a time",
    ),
    (
        &["index"],
        &["global", "gsi", "cross_partition", "other_table"],
        "remove it: the rows of an index are in a table of its own, unless `same_partition` or `same_table` is written",
    ),
    (&["index"], &["local", "lsi"], "write `same_partition`"),
    (&["index"], &["scope"], "write `same_partition`, `same_table` or `table = \"…\"`"),
    (
        &["index"],
        &["sort", "sort_key", "range_key", "order", "order_by", "fields", "columns", "on", "keys"],
        "list the fields of the index on the struct: `#[index(name, same_partition, row(field, other))]`, or with `partition(field)` in \
         place of `same_partition`; values are in ascending order, and with `reverse`, or `reverse_time` of a time, in descending order",
    ),
    (
        &["index"],
        &["projection", "project", "all", "covering"],
        "write `copy` for all properties, or `include(field, …)`",
    ),
    (&["index"], &["non_unique", "not_unique", "nonunique"], "remove it: an index without `unique` is not unique"),
    (&["index"], &["where", "filter", "condition", "if"], "write `when(field, path)`, with the path of a function"),
    (
        &["index"],
        &["limit", "top", "take", "max_rows"],
        "remove it: an index has a row of every entity, and a query reads the first of them with `take(10)`",
    ),
    (
        &["index"],
        &["sparse", "nullable", "optional"],
        "remove it: an entity with `None` in an indexed `Option` has no row",
    ),
    (&["table"], &["table_name", "tablename", "table"], "write `name = \"…\"`"),
    (
        &["table"],
        &[
            "primary_key",
            "key",
            "keys",
            "partition_key",
            "row_key",
            "sort_key",
            "id",
            "pk",
            "rk",
            "sk",
            "hash_key",
            "range_key",
        ],
        "keys are marked on the fields: `#[partition_key]` and `#[row_key]`; a constant key is `partition = \"…\"`, or `row = \"…\"`",
    ),
    (
        &["table"],
        &["index", "indexes", "unique", "gsi", "lsi", "global_index", "local_index"],
        "put `#[index(name, …)]` on the field",
    ),
    (
        &["table"],
        &[
            "ttl",
            "expiry",
            "expire",
            "expires_at",
            "expires_in",
            "retention",
            "time_to_live",
            "after",
            "expires_after",
            "expire_after_seconds",
            "lifetime",
            "max_age",
        ],
        "write `expires = field`, with a field that holds the time of the end, such as `created + 1 hour`; of logs, `slice = month(field)` drops whole tables",
    ),
    (
        &["table"],
        &["deleted", "deleted_at", "soft_deleted", "soft_deletes", "paranoid", "bin", "trash"],
        "write `soft_delete = field`, with a field that is an `Option` of a time",
    ),
    (
        &["table"],
        &[
            "event",
            "outbox",
            "changes",
            "change_feed",
            "changefeed",
            "stream",
            "streams",
            "trigger",
            "triggers",
            "notify",
        ],
        "write `events`: each committed write records an event, which a relay delivers",
    ),
    (
        &["table"],
        &["default", "defaults"],
        "put `#[property(default)]` on each field that rows of other programs or older ones may lack",
    ),
    (
        &["table"],
        &[
            "with",
            "convert",
            "using",
            "upgrade",
            "upgrades",
            "migrate",
            "migrates",
            "via",
            "try_from",
            "into",
            "previous",
            "upgrade_from",
        ],
        "write only `from = PostV1`, with the older struct, and implement `From` or `TryFrom` of it for this one",
    ),
    (
        &["table"],
        &["rename_all_fields"],
        "`rename_all` is the style of the names of the variants; a field of a variant has `#[property(rename = \"…\")]`",
    ),
    (
        &["table"],
        &["connection", "connection_string", "account", "database", "schema", "endpoint"],
        "remove it: the store is that of the `Tables` which runs a query",
    ),
    (
        &["table"],
        &["prefix", "table_prefix", "tenant", "namespace", "environment"],
        "the tables of an environment or a tenant are those of `tables.with_prefix(\"dev\")`; the beginning of a row key is \
         `#[row_key(prefix = \"…\")]`",
    ),
    (
        &["index"],
        &["ttl", "expire", "expires", "expire_after_seconds", "expires_after"],
        "an entity expires, and not an index: write `#[table(expires = until)]` on the struct",
    ),
    (
        &["property"],
        &["was", "old_name", "renamed_from", "previously", "former"],
        "a field that was renamed keeps the name of its property: write `rename = \"…\"` with the old one",
    ),
    (
        &["property"],
        &["precision", "decimal", "places", "digits", "round"],
        "write the amount as an integer, such as cents, or as a `rust_decimal::Decimal` with `scale = 2`",
    ),
    (
        &["property"],
        &["references", "foreign_key", "belongs_to", "has_many", "has_one", "relation"],
        "remove it: the service has no foreign keys; the field holds the key of the other entity",
    ),
    (
        &["partition_key", "row_key"],
        &["year", "month", "day", "date"],
        "a part of a key is a field: add one with the month or the day, or write `#[table(slice = month(field))]` for a table of \
         each month",
    ),
    (
        &["table"],
        &["etag", "concurrency", "optimistic_lock", "optimistic_concurrency"],
        "remove it: `update` always compares the ETag of the `Stored` that was read",
    ),
    (
        &["property"],
        &["etag", "concurrency", "rowversion"],
        "remove the field: the `Stored` that a query returns has the ETag, and `update` compares it",
    ),
    (&["property"], &["counter", "atomic"], "remove it: `tables.modify(key, |post| post.likes += 1)` loses no count"),
    (&["table"], &["renamed_from", "old_name", "previously", "former"], "write `was = \"…\"`"),
    (&["table"], &["crate_path", "crate_name"], "write `crate = some::path`"),
    (
        &["table"],
        &["audit", "timestamps", "created_at", "updated_at"],
        "remove it: the time of the last write is `Stored::timestamp`, and any other time is a field that the program sets",
    ),
    (
        &["partition_key", "row_key"],
        &["type", "tag", "discriminator"],
        "entities of several types in one table differ by `#[table(kind = \"…\")]` on the struct, or by \
         `#[row_key(prefix = \"post-\")]`",
    ),
    (
        &["property"],
        &[
            "ts_seconds",
            "ts_milliseconds",
            "timestamp",
            "unix",
            "unix_seconds",
            "epoch",
            "rfc3339",
            "iso8601",
            "time",
            "date",
            "utc",
        ],
        "remove it: a time is stored as a time of the service; for a number of seconds, write the field as an `i64`; the time of \
         the last write is `Stored::timestamp`",
    ),
    (
        &["projection"],
        &["skip", "ignore", "default"],
        "remove the field: a projection is what was read; compute the rest from it",
    ),
    (
        &["projection"],
        &["rename", "name", "column", "field", "alias"],
        "write `path = title`, with the name of the entity's field",
    ),
    (&["projection"], &["json", "text"], "remove it: the entity says how its fields are stored"),
    (
        &["index"],
        &["key", "field"],
        "an index on a field is over this field; over others, write it on the struct: `#[index(name, partition(field), row(other))]`",
    ),
    (&["index"], PARTITION_OF_INDEX, "write `partition(field)`"),
    (&["index"], ROW_OF_INDEX, "write `row(field)`"),
    (
        &["index"],
        &["primary", "primary_key"],
        "the primary key is marked on the fields: `#[partition_key]` and `#[row_key]`",
    ),
    (
        &["index"],
        &["name", "index_name"],
        "the name of the index is the first word in the parentheses: `#[index(title, …)]`",
    ),
    (
        &["index"],
        &["async", "eventual", "eventually", "consistent", "lazy", "background"],
        "remove it: rows in the partition are written in the entity's transaction, and others in steps between which readers see \
         no wrong entity",
    ),
    (&["table"], &["case", "naming"], "write `rename_all = \"…\"`"),
    (&["table"], &["deny_unknown_fields", "strict"], "write `deny_unknown`"),
    (
        &["partition_key", "row_key"],
        &["format", "template", "concat", "join", "composite", "fields"],
        "a key of several parts is several fields: put the attribute on each of them, in the order of the parts; the digits of a \
         number are `pad = 8`, and for a part of a time, add a field with it",
    ),
    (
        &["partition_key", "row_key"],
        &[
            "auto",
            "auto_increment",
            "autoincrement",
            "generated",
            "identity",
            "uuid",
            "guid",
            "random",
            "default",
            "unique",
        ],
        "remove it: the program sets every key, such as `id: Uuid::new_v4()`, and a key is unique as it is",
    ),
    (
        &["partition_key", "row_key"],
        &["text", "json", "string", "display", "to_string"],
        "a key part is written in its own encoding; store the text in a `String`, or in a newtype of it with \
         `#[derive(KeyPart)]`",
    ),
    (
        &KEYS,
        &["with", "map", "compute", "computed", "function", "using", "from", "expr", "by"],
        "keys are made of the values of fields; store the computed value in a field of its own, or write `first = 1` for \
         the beginning of a text, or `lowercase`",
    ),
    (
        &["partition_key", "row_key"],
        &["separator", "delimiter", "delim"],
        "the separator is that of both keys: write `#[table(separator = \"…\")]` on the struct",
    ),
    (&["property"], &["name", "column", "column_name", "key"], "write `rename = \"…\"`"),
    (
        &["property"],
        &["alias", "aliases"],
        "a property has one name: a field that was renamed keeps the old one with `rename = \"…\"`",
    ),
    (&["property"], &["ignore", "transient", "not_mapped", "skip_serializing", "exclude"], "write `skip`"),
    (
        &["property"],
        &["skip_serializing_if", "skip_if", "skip_none", "omit_empty"],
        "remove it: an `Option` with `None` is not stored",
    ),
    (&["property"], &["serde", "as_json", "jsonb"], "write `json`"),
    (
        &["property"],
        &["flatten", "embed", "embedded", "inline"],
        "remove it: a struct with `#[derive(Property)]` is stored as properties of its own, and `prefix = \"\"` leaves out the \
         field's name; of a map, write `json`",
    ),
    (
        &["property"],
        &["string", "as_text", "as_string", "display", "to_string", "from_str", "try_from", "into"],
        "write `text`",
    ),
    (&["property"], &["big", "long", "blob", "clob", "unbounded"], "write `large` for text or bytes over 64 KiB"),
    (&["property"], &["nullable", "optional", "null"], "write the type of the field as `Option<…>`"),
    (
        &["property"],
        &[
            "type",
            "as",
            "edm",
            "edm_type",
            "sql_type",
            "integer",
            "int",
            "int32",
            "int64",
            "i32",
            "i64",
            "number",
            "repr",
            "as_number",
            "double",
            "guid",
            "binary",
            "datetime",
            "boolean",
        ],
        "the type of the property follows from that of the field; an enum without data is stored as the names of its \
         variants, so for a number, write a field with the number",
    ),
    (
        &["property"],
        &["max_length", "max_len", "length", "max", "min", "range", "regex", "email", "validate", "check", "not_null"],
        "remove it: values are checked by the program, before it writes them; a text may have up to 32,768 UTF-16 units, and \
         with `large` up to 480,000",
    ),
    (
        &["property"],
        &["since", "version", "added", "removed", "deprecated", "until"],
        "versions are those of the struct: `#[table(version = 2, from = PostV1)]`; rows without the property need \
         `default` or an `Option`",
    ),
    (
        &["property"],
        &["tag", "content", "untagged"],
        "remove it: the name of an enum's variant is the property with the name of the field",
    ),
    (&["property"], &["transparent"], "remove it: a newtype is stored like its field"),
    (
        &["property"],
        &["auto", "auto_increment", "autoincrement", "generated", "identity", "auto_now"],
        "remove it: the program sets every value; a time of the last write comes with `Stored::timestamp`",
    ),
    (
        &["property"],
        &["with", "serialize_with", "deserialize_with", "convert", "using"],
        "write a newtype with `#[derive(Property)]`, or `text` for a type with `Display` and `FromStr`, or `json` for one of serde",
    ),
    (&["property"], &["index", "indexed", "unique"], "put `#[index(name, …)]` on the field"),
    (&["projection"], &["fields", "columns", "only"], "the projection has the fields of this struct"),
    (&["projection"], &["from", "entity", "table"], "write `of = Post`"),
];

/// Returns true for a word for the list of an index's fields.
pub(super) fn is_list_of_index(name: &str) -> bool {
    name == "range_key" || PARTITION_OF_INDEX.contains(&name) || ROW_OF_INDEX.contains(&name)
}

/// Functions on the fields of a key, and the encodings that are meant.
const ENCODINGS: [(&str, &[&str]); 3] = [
    ("lowercase", &["lower", "to_lowercase", "lcase"]),
    ("uppercase", &["upper", "to_uppercase", "ucase"]),
    ("reverse", &["desc", "descending"]),
];

/// Returns the encoding that is meant by a function on a field.
pub(super) fn encoding(name: &str) -> Option<&'static str> {
    let named = EncodingOption::named(name).map(EncodingOption::name);
    named.or_else(|| ENCODINGS.iter().find(|(_, names)| names.contains(&name)).map(|(encoding, _)| *encoding))
}

/// Returns true for a function that computes a part of a time.
pub(super) fn is_part_of_time(name: &str) -> bool {
    matches!(name, "month" | "year" | "day" | "hour" | "week" | "date" | "trunc" | "date_trunc")
}

/// Keys of serde on types.
const OF_TYPES: [&str; 5] = ["tag", "content", "untagged", "transparent", "repr"];

/// Returns what to write instead of keys of serde in a `#[property(…)]` on a type.
pub(super) fn advice_on_type(keys: &str) -> Option<String> {
    OF_TYPES.iter().find(|key| keys.starts_with(**key)).and_then(|key| advice(key, "property"))
}

/// Attributes with the keys that no other attribute has, and the places of the attributes.
const ELSEWHERE: &[(&str, &str, &[&str])] = &[
    (
        "table",
        "on the struct",
        &[
            "kind",
            "entity",
            "was",
            "separator",
            "slice",
            "write_id",
            "allow_scan",
            "deny_unknown",
            "version",
            "from",
            "skip_newer",
            "expires",
            "soft_delete",
            "events",
            "rename_all",
        ],
    ),
    (
        "index",
        "on the field or the struct",
        &["same_partition", "same_table", "each", "unique", "copy", "include", "list", "when"],
    ),
    ("property", "on a field", &["skip", "json", "text", "default", "large"]),
    ("row_key", "on a field", &["reverse_time", "reverse", "lowercase", "uppercase", "pad"]),
    ("partition_key", "on a field", &["hash"]),
];

/// Returns the attribute that has a key, and its place.
pub(super) fn elsewhere(name: &str, attribute: &str) -> Option<(&'static str, &'static str)> {
    let mut others = ELSEWHERE.iter().filter(|(other, ..)| *other != attribute);
    others.find_map(|(other, place, keys)| keys.contains(&name).then_some((*other, *place)))
}

/// Returns what to write instead of a key, for an attribute.
pub(super) fn advice(name: &str, attribute: &str) -> Option<String> {
    let applies =
        |(attributes, names, _): &&(&[&str], &[&str], &str)| attributes.contains(&attribute) && names.contains(&name);
    if let Some((_, _, advice)) = SYNONYMS.iter().find(applies) {
        return Some((*advice).to_owned());
    }
    EncodingOption::named(name)?;
    Some(if attribute == "index" {
        format!("an encoding belongs to a field of the index; write `partition(field({name}))` or `row(field({name}))`")
    } else {
        format!("an encoding belongs to a key part; write `#[row_key({name})]` or `#[partition_key({name})]`")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use quote::format_ident;
    use syn::{Attribute, DeriveInput, parse_quote};

    use super::{ELSEWHERE, SYNONYMS};

    /// The first entry counts, so a second one would never be read.
    #[test]
    fn no_name_has_two_entries() {
        let mut known = HashSet::new();
        for (attributes, names, _) in SYNONYMS {
            for pair in attributes.iter().flat_map(|attribute| names.iter().map(move |name| (*attribute, *name))) {
                assert!(known.insert(pair), "{pair:?}");
            }
        }
    }

    #[test]
    fn each_attribute_has_the_keys_that_messages_give_it() {
        for (attribute, place, keys) in ELSEWHERE {
            for key in *keys {
                let (name, key) = (format_ident!("{attribute}"), format_ident!("{key}"));
                let given: Attribute = if *attribute == "index" {
                    parse_quote!(#[index(title, #key)])
                } else {
                    parse_quote!(#[#name(#key)])
                };
                let (on_struct, on_field) =
                    if *place == "on the struct" { (Some(given), None) } else { (None, Some(given)) };
                let input: DeriveInput = parse_quote! {
                    #on_struct
                    struct Post {
                        #on_field
                        title: String,
                    }
                };
                let code = crate::table_entity(&input).to_string();
                assert!(!code.contains(&format!("unknown key `{key}`")), "{attribute}: {key}");
            }
        }
    }
}
