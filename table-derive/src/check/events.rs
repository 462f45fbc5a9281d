//! The rules of events.

use crate::{
    encoding::Encoding,
    errors::Errors,
    model::{Entity, Part},
};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    let Some(events) = &entity.events else { return };
    if let Some(separator) = &entity.separator {
        let message = "the keys of events have delimiters of their own, which rows with a `separator` could have too; remove \
                       `separator`, or `events`";
        errors.at(separator.span, message);
    }
    if let (None, Some(Part { encoding: Encoding::Raw, span, .. })) = (&entity.row.prefix, entity.row.parts.first()) {
        let message = "a `raw` text could begin with `~~`, as the keys of events do; write a `prefix`, or remove `raw`";
        errors.at(*span, message);
    }
    if !events.copy {
        return;
    }
    let pointer = &events.rows.pointer;
    for pointer in pointer {
        if let Some((_, property)) = entity.properties().find(|(_, property)| property.name.value == pointer.name.value)
        {
            let message = format_args!(
                "`{}` is the key field `{}` in an event with a copy; give the property another name with `rename`",
                pointer.name.value, entity.fields[pointer.field].name
            );
            errors.at(property.name.span, message);
        }
    }
    // `EventChange`, `EventKind` and `EventAttempts`.
    let count = entity.properties().count() + usize::from(entity.version.is_some()) + pointer.len() + 3;
    if count > 252 {
        let message = format_args!(
            "a row has at most 252 properties, but an event with a copy would have {count}; write `events` without `copy`"
        );
        errors.at(events.span, message);
    }
}
