//! The rules of slices.

use crate::{
    errors::Errors,
    model::{Entity, Slice, Source, Text},
};

/// Every rule.
pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    let Some(slice) = &entity.slice else { return };
    time_is_in_the_key(entity, slice, errors);
    name_tells_its_end(entity, slice, errors);
    no_index_spans_slices(entity, errors);
}

/// A key leads to its slice.
fn time_is_in_the_key(entity: &Entity, slice: &Slice, errors: &mut Errors) {
    if !matches!(entity.source(slice.field), Source::Partition(_) | Source::Row(_)) {
        let name = &entity.fields[slice.field].name;
        let help = format_args!("help: put `#[row_key(time)]` or `#[row_key(reverse_time)]` on `{name}`");
        errors.at(slice.span, format_args!("no key holds `{name}` whole, so none would lead to its slice\n{help}"));
    }
}

/// `Log20` and a month would be named like `Log` and a day.
fn name_tells_its_end(entity: &Entity, slice: &Slice, errors: &mut Errors) {
    let Text { value, span } = &entity.table;
    let digits = slice.pattern().len();
    if value.ends_with(|last: char| last.is_ascii_digit()) {
        let help = "help: write `#[table(name = \"…\")]` on the struct";
        errors.at(*span, format_args!("a slice's name is `{value}` and {digits} digits; end it with a letter\n{help}"));
    } else if value.len() + digits > 63 {
        let most = 63 - digits;
        errors.at(*span, format_args!("with the {digits} digits of a slice, the name has at most {most} letters"));
    }
}

/// A row of an index would have to say in which slice its entity is, and would not go when that is dropped.
fn no_index_spans_slices(entity: &Entity, errors: &mut Errors) {
    for index in &entity.indexes {
        let help = format_args!(
            "help: remove `slice`, or put what `{0}` finds into an entity of its own, without slices",
            index.name.value
        );
        errors
            .at(index.name.span, format_args!("a sliced table has no indexes: they would outlive its slices\n{help}"));
    }
}
