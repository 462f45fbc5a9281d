//! Attributes that users of other libraries expect. The derive declares them, so that it can say what to write.

use syn::Attribute;

use crate::errors::Errors;

/// Names of attributes that mean a key, and what to write instead of them. `{name}` is the name.
const KEYS: &[(&[&str], &str)] = &[
    (
        &["key", "primary_key", "id"],
        "the key has two parts; write `#[partition_key]` on the field that entities are read together by, and `#[row_key]` on \
         the one that is different for each of them",
    ),
    (&["hash_key", "pk", "partition"], "write `#[partition_key]`"),
    (&["sort_key", "range_key", "sk", "row"], "write `#[row_key]`"),
];

/// Names of other attributes. An attribute that another derive on the same struct may have, such as `#[field]` of a form or
/// `#[belongs_to]`, is none of them.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["unique"], "a unique value has an index; write `#[index(email, unique)]`"),
    (&["secondary_index"], "an index is named on its field; write `#[index(city)]`"),
    (
        &["created_at", "updated_at"],
        "the program sets every field; remove `#[{name}]`; the time of the last write is `Stored::timestamp`",
    ),
    (&["indexes"], "each index has an attribute of its own; write `#[index(city, …)]`"),
    (
        &["reverse", "reverse_time", "lowercase", "hash"],
        "an encoding belongs to a key; write `#[row_key({name})]`, `#[partition_key({name})]` or `#[index(title, {name})]`",
    ),
    (
        &["expires", "ttl"],
        "the time of the end is named on the struct; write `#[table(expires = until)]`, with the name of this field",
    ),
    (
        &["soft_delete"],
        "the field of the bin is named on the struct; write `#[table(soft_delete = deleted)]`, with the name of this field, an \
         `Option` of a time",
    ),
    (
        &["etag", "version"],
        "every row has an ETag, and `update` writes if it is still that of the `Stored` that was read; remove the field; a \
         version of the struct is in `#[table(version = 2, from = PostV1)]`",
    ),
    (&["timestamp"], "the time of the last write is `Stored::timestamp`; remove the field"),
    (&["table_name", "entity"], "write `#[table(name = \"…\")]`"),
    (&["migrate", "migration"], "the struct before is named on this one; write `#[table(version = 2, from = PostV1)]`"),
    (&["auto"], "the program sets every field, such as `id: Uuid::new_v4()`; remove `#[auto]`"),
    (&["rename", "column"], "write `#[property(rename = \"…\")]`"),
    (
        &["foreign_key", "relation", "references"],
        "the service has no relations: the field is the key of the other entity, which `Author::key(…)` reads; remove the attribute",
    ),
];

/// Names of attributes that mean the way in which a property is stored.
const STORAGE: &[(&[&str], &str)] = &[
    (&["json", "text", "skip", "large"], "write `#[property({name})]`"),
    (&["not_mapped", "NotMapped"], "write `#[property(skip)]`"),
];

/// An attribute of the language, which is for tests.
const IGNORE: &[(&[&str], &str)] = &[(&["ignore"], "write `#[property(skip)]`")];

/// Reports attributes of other libraries. Returns true if one of them means the way in which a property is stored, which is then
/// missing: the same mistake.
pub(crate) fn refuse_foreign(attributes: &[Attribute], errors: &mut Errors) -> bool {
    let mut has_storage = false;
    for found in attributes {
        let Some(name) = found.path().get_ident().map(ToString::to_string) else { continue };
        for (table, is_storage) in [(KEYS, false), (STORAGE, true), (IGNORE, true), (OPTIONS, false)] {
            let Some((_, advice)) = table.iter().find(|(names, _)| names.contains(&name.as_str())) else { continue };
            errors.on(found.path(), advice.replace("{name}", &name));
            has_storage |= is_storage;
        }
    }
    has_storage
}

#[cfg(test)]
mod tests {
    use super::{KEYS, OPTIONS, STORAGE};

    /// The compiler rejects an attribute that the derive does not declare, without what to write.
    #[test]
    fn the_derive_declares_each_name() {
        let source = include_str!("../lib.rs");
        let (_, declared) = source.split_once("proc_macro_derive(\n    TableEntity,").expect("the derive");
        let (declared, _) = declared.split_once(")]").expect("the end of its attributes");
        let declared: Vec<_> = declared.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for name in [KEYS, STORAGE, OPTIONS].into_iter().flatten().flat_map(|(names, _)| *names) {
            assert!(declared.contains(name), "{name}");
        }
    }
}
