//! The rules of properties.

use super::names::{RESERVED, is_long_property_name, is_property_name};
use crate::{
    errors::Errors,
    model::{Entity, Field, Property, Source, Storage},
    text::Text,
};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    default_is_used(entity, errors);
    names_are_legal(entity.properties(), errors);
    names_are_free(entity, errors);
    names_differ(entity.properties(), errors);
    properties_fit(entity, errors);
}

/// Checks that a field with a default is read from a property. A key is never missing.
fn default_is_used(entity: &Entity, errors: &mut Errors) {
    for (at, field) in entity.fields.iter().enumerate() {
        if let Storage::Property(property) = &field.storage
            && let Some(default) = property.default
            && matches!(entity.source(at), Source::Partition(_) | Source::Row(_))
        {
            let message =
                format_args!("`{}` is read from its key, which is never missing; remove `default`", field.name);
            errors.at(default, message);
        }
    }
}

/// Checks the service's rules about the names of properties.
pub(crate) fn names_are_legal<'a>(properties: impl Iterator<Item = (&'a Field, &'a Property)>, errors: &mut Errors) {
    for (field, property) in properties {
        let Text { value, span } = &property.name;
        // The runtime checks the names of the parts of a field.
        if property.prefix.is_some() && value.is_empty() {
            continue;
        }
        if !is_property_name(value) {
            let rule = "is not a valid property name: it begins with a letter or `_`, then has letters, digits and `_`";
            errors.at(*span, format_args!("`{value}` {rule}\n{}", rename_help(field)));
        } else if is_long_property_name(value) {
            let message = "a property name has at most 255 characters; write a shorter `#[property(rename = \"…\")]`";
            errors.at(*span, message);
        }
    }
}

/// Checks that no property has a name that the row or the runtime uses.
fn names_are_free(entity: &Entity, errors: &mut Errors) {
    // Without a key, such a field is probably the key, as another error says.
    let has_keys = [&entity.partition, &entity.row].iter().all(|key| key.constant.is_some() || !key.parts.is_empty());
    for (field, property) in entity.properties() {
        let Text { value, span } = &property.name;
        let owner = match value.as_str() {
            "PartitionKey" | "RowKey" if !has_keys => continue,
            // .NET's entities have such a property, which is never stored. A field of another name may have it.
            "Etag" | "ETag" | "etag" | "eTag" if matches!(field.name.as_str(), "etag" | "e_tag") => {
                "would be a text of its own, and not the row's ETag"
            }
            _ => match RESERVED.iter().find(|(name, is_used, _)| name == value && is_used(entity)) {
                Some((_, _, purpose)) => purpose,
                None => continue,
            },
        };
        let help = match value.as_str() {
            "Timestamp" => format!(
                "help: remove `{}`, and read the time with `Stored::timestamp`; for a time of your own, write \
                 `#[property(rename = \"…\")]`",
                field.name
            ),
            "Etag" | "ETag" | "etag" | "eTag" => format!(
                "help: remove `{}`: the `Stored` that a query returns has the ETag, and `update` compares it; for another \
                 ETag, call the field otherwise",
                field.name
            ),
            "PartitionKey" => format!("help: write `#[partition_key]` on `{}`", field.name),
            "RowKey" => format!("help: write `#[row_key]` on `{}`", field.name),
            _ => rename_help(field),
        };
        errors.at(*span, format_args!("the property `{value}` {owner}\n{help}"));
    }
}

/// Checks that no two fields have the same property.
pub(crate) fn names_differ<'a>(properties: impl Iterator<Item = (&'a Field, &'a Property)>, errors: &mut Errors) {
    let properties: Vec<_> = properties.filter(|(_, property)| !property.name.value.is_empty()).collect();
    for (at, (field, property)) in properties.iter().enumerate() {
        let Text { value, span } = &property.name;
        // The runtime compares the names of parts.
        let is_same =
            |other: &Property| other.name.value == *value && (other.prefix.is_none() || property.prefix.is_none());
        if let Some((before, _)) = properties[..at].iter().find(|(_, other)| is_same(other)) {
            let message = format_args!("`{}` is already stored as the property `{value}`", before.name);
            errors.at(*span, format_args!("{message}\n{}", rename_help(field)));
        }
    }
}

pub(super) fn rename_help(field: &Field) -> String {
    format!("help: write `#[property(rename = \"…\")]` on `{}`", field.name)
}

/// Checks the service's limit of properties in a row.
fn properties_fit(entity: &Entity, errors: &mut Errors) {
    let count = entity.properties().count() + entity.own_properties();
    if count > 252 {
        let help = "help: put some fields into another struct, and store it with `#[property(json)]`";
        errors.on(&entity.ident, format_args!("a row has at most 252 properties, but this one has {count}\n{help}"));
    }
}
