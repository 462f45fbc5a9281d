//! The rules of `#[table(…)]`, except those about keys.

use syn::ext::IdentExt as _;

use super::names::{TABLE_NAME_RULE, begins_table_name, is_refused_in_keys, is_table_name, table_is_not_reserved};
use crate::{case::Case, errors::Errors, model::Entity, text::Text};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    name_is_legal(entity, errors);
    name_is_not_reserved(entity, errors);
    separator_is_legal(entity, errors);
    catalog_name_is_legal(entity, errors);
    earlier_name_is_another(entity, errors);
}

/// Checks the service's rule about the names of tables.
fn name_is_legal(entity: &Entity, errors: &mut Errors) {
    let Text { value, span } = &entity.table;
    // The name of a sliced table is only the beginning of the slices' names. Another rule limits its length.
    let (is_legal, rule) = if entity.slice.is_some() {
        let rule = "is not a valid beginning of table names: it has ASCII letters and digits, and begins with a letter";
        (begins_table_name(value), rule)
    } else {
        (is_table_name(value), TABLE_NAME_RULE)
    };
    if !is_legal {
        // The name without its separators, `OrderLines` for `order_lines`.
        let near: String = Case::Pascal.field(&value.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let name = if begins_table_name(&near) && is_table_name(&near) { near.as_str() } else { "…" };
        errors.at(*span, format_args!("`{value}` {rule}\nhelp: write `#[table(name = \"{name}\")]` on the struct"));
    }
}

/// Checks that the table is not the runtime's own table, unless the entity belongs to the runtime.
fn name_is_not_reserved(entity: &Entity, errors: &mut Errors) {
    if !entity.runtime.is_own_crate() {
        let help = "write another `#[table(name = \"…\")]` on the struct";
        table_is_not_reserved(&entity.table, help, errors);
    }
}

/// Checks that the separator is one character that keys can contain and that no encoding writes by itself.
fn separator_is_legal(entity: &Entity, errors: &mut Errors) {
    let Some(Text { value, span }) = &entity.separator else { return };
    let mut characters = value.chars();
    let problem = match (characters.next(), characters.next()) {
        (Some('-'), None) => "`-` occurs in GUIDs, dates and negative numbers".to_owned(),
        (Some('~'), None) => "`~` begins the escapes in keys".to_owned(),
        (Some('\''), None) => "`'` ends a string in the service's URLs".to_owned(),
        (Some(one), None) if is_refused_in_keys(one) => format!("a key cannot contain `{one}`"),
        (Some(one), None) if one.is_ascii_punctuation() => return,
        _ => "a separator must be one ASCII punctuation character".to_owned(),
    };
    errors.at(*span, format_args!("{problem}; write `separator = \"_\"`"));
}

/// Checks that a name that the attribute sets is the entity's only name in the catalog, where a kind is the name.
fn catalog_name_is_legal(entity: &Entity, errors: &mut Errors) {
    let Some(Text { value, span }) = &entity.pinned_name else { return };
    if let Some(kind) = &entity.kind {
        let message = format_args!(
            "an entity with a kind is recorded by it, and rows contain it; remove `entity`, and write `kind = \"…\"` to \
             keep the kind `{kind}` if the struct is renamed"
        );
        errors.at(*span, message);
    } else if value.is_empty() {
        let name = entity.ident.unraw();
        errors.at(*span, format_args!("the entity's name cannot be empty; write `entity = \"{name}\"`"));
    }
}

/// Checks that the earlier name is a name, and not the present one.
fn earlier_name_is_another(entity: &Entity, errors: &mut Errors) {
    let Some(Text { value, span }) = &entity.was else { return };
    if value.is_empty() {
        errors.at(*span, "the entity's earlier name cannot be empty; write the struct's earlier name or kind");
    } else if *value == entity.kind.clone().unwrap_or_else(|| entity.name()) {
        errors
            .at(*span, format_args!("`{value}` is the entity's present name; write the earlier one, or remove `was`"));
    }
}
