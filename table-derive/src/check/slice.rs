//! The rules of table slices.

use crate::{
    errors::Errors,
    model::{Entity, Slice, Source},
    text::Text,
};

pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    let Some(slice) = &entity.slice else { return };
    time_is_in_the_key(entity, slice, errors);
    name_ends_with_a_letter(entity, slice, errors);
    entity_has_no_index(entity, errors);
}

/// Checks that a key determines its slice.
fn time_is_in_the_key(entity: &Entity, slice: &Slice, errors: &mut Errors) {
    if !matches!(entity.source(slice.field), Source::Partition(_) | Source::Row(_)) {
        let name = &entity.fields[slice.field].name;
        let help = format_args!("help: put `#[row_key(time)]` or `#[row_key(reverse_time)]` on `{name}`");
        let message = format_args!("no key contains the whole `{name}`, so a key does not determine its slice");
        errors.at(slice.span, format_args!("{message}\n{help}"));
    }
}

/// Checks that the names of slices are unambiguous: `Log20` with a month would have the name of `Log` with a day.
fn name_ends_with_a_letter(entity: &Entity, slice: &Slice, errors: &mut Errors) {
    let Text { value, span } = &entity.table;
    let digits = slice.digits().len();
    if value.ends_with(|last: char| last.is_ascii_digit()) {
        let help = "help: write `#[table(name = \"…\")]` on the struct";
        let message = format_args!("a slice has the name `{value}` and {digits} digits; end the name with a letter");
        errors.at(*span, format_args!("{message}\n{help}"));
    } else if value.len() + digits > 63 {
        let most = 63 - digits;
        let message = format_args!("a slice adds {digits} digits, so the name has at most {most} letters; shorten it");
        errors.at(*span, message);
    }
}

/// Checks that there is no index. An index row would have to name the slice of its entity, and it would remain when the
/// slice is dropped.
fn entity_has_no_index(entity: &Entity, errors: &mut Errors) {
    for index in &entity.indexes {
        let help = format_args!(
            "help: remove `slice`, or move the fields that `{0}` finds into another entity without slices",
            index.name.value
        );
        let message = "a sliced table cannot have indexes, because their rows would outlive its slices";
        errors.at(index.name.span, format_args!("{message}\n{help}"));
    }
}
