//! The rules of the times that hide an entity.

use super::properties::rename_help;
use crate::{
    errors::Errors,
    model::{Entity, FieldRef, Mode},
    text::Text,
};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    let lifecycle = &entity.lifecycle;
    if let (Some(expires), Some(deleted)) = (lifecycle.expires, lifecycle.soft_delete)
        && expires.field == deleted.field
    {
        errors.at(
            deleted.span,
            "an entity that is put into the bin does not expire by that; name another field, an `Option` of a time",
        );
    }
    for (option, time) in [("expires", lifecycle.expires), ("soft_delete", lifecycle.soft_delete)] {
        let Some(FieldRef { field, span }) = time else { continue };
        let name = &entity.fields[field].name;
        match entity.mode(field) {
            Mode::InKey => {
                let message = format_args!(
                    "`{name}` is only in the key; readers need a property: put `#[property]` on `{name}` as well"
                );
                errors.at(span, message);
            }
            Mode::Skipped => errors.at(span, format_args!("`{name}` is not stored; remove `skip`, or `{option}`")),
            Mode::Free | Mode::Indexed => {
                if let Some(property) = entity.property(field).filter(|property| property.is_filter_word()) {
                    let Text { value, span } = &property.name;
                    let message = format_args!(
                        "readers filter by `{option} = {name}`, and the service reads the name `{value}` as a word of its \
                         filters\n{}",
                        rename_help(&entity.fields[field])
                    );
                    errors.at(*span, message);
                }
                if let Some(default) = entity.property(field).and_then(|property| property.default) {
                    let message = format_args!(
                        "`{option} = {name}` needs to know what a row without the property means; write an `Option`, whose \
                         `None` hides nothing, and remove `default`"
                    );
                    errors.at(default, message);
                }
            }
        }
    }
}
