//! The rules of `#[property(large)]`.

use proc_macro2::Span;

use crate::{
    errors::Errors,
    model::{Entity, Index},
};

/// Checks that no key and no index needs a value that may be longer than a property.
pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    for (at, field) in entity.fields.iter().enumerate() {
        let Some(span) = field.stored().and_then(|property| property.large) else { continue };
        if entity.is_in_key(at) {
            let message =
                format_args!("`{}` is in the key, which has at most 512 UTF-16 units; remove `large`", field.name);
            errors.at(span, message);
        }
        for index in &entity.indexes {
            if let Some((span, place)) = use_of(index, at) {
                let message = format_args!(
                    "`{}` has `large`, so {place} cannot have it; remove it there, or remove `large`",
                    field.name
                );
                errors.at(span, message);
            }
        }
    }
}

/// Returns where an index names the field.
fn use_of(index: &Index, field: usize) -> Option<(Span, &'static str)> {
    let named =
        |fields: &[crate::model::FieldRef]| fields.iter().find(|named| named.field == field).map(|named| named.span);
    // An element is not the whole value.
    let mut whole = index.values().filter(|part| part.each.is_none());
    let value = whole.find(|part| part.field == field).map(|part| (part.span, "the key of an index"));
    let included = || named(index.included()).map(|span| (span, "`include`"));
    let condition = || named(index.conditions()).map(|span| (span, "`when`"));
    value.or_else(included).or_else(condition)
}
