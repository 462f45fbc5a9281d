//! Structs and enums with data as properties: the constants and functions of which `derive(Property)` makes their
//! implementations.
//!
//! A *part* is one stored property of such a type. Its name is relative to the field that has the type: `City`, `Geo_Lat`.
//! The derive cannot see the parts of the fields' types, so they are joined here, in constants.

#![allow(clippy::missing_panics_doc, reason = "the panics of constants are errors of the compiler")]

use table_store::{
    Properties, PropertiesRef, Result, Value, ValueRef,
    error::PropertyProblem,
    unstable::{PropertyName, one_of},
};

use super::Property;
pub use crate::layout::is_always;
pub(crate) use crate::layout::part_name as name_of;
use crate::{
    codec::{EntityReader, PropertyWriter},
    layout::{AsRead, Parts, PropertyInfo, PropertyType, count_of_parts, same_names},
    message::{Message, stop},
};

/// Returns the number of parts of fields.
pub const fn count(fields: &[PropertyInfo]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while at < fields.len() {
        sum += count_of_parts(&fields[at]);
        at += 1;
    }
    sum
}

/// Returns the greatest number of properties that one row has for the fields of a struct.
pub const fn most(fields: &[PropertyInfo]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while at < fields.len() {
        sum += fields[at].most;
        at += 1;
    }
    sum
}

/// Returns the same for an enum. The first field is its tag; a row has the field of one variant at most.
pub const fn most_of_enum(fields: &[PropertyInfo]) -> usize {
    let (mut at, mut most) = (1, 0);
    while at < fields.len() {
        if fields[at].most > most {
            most = fields[at].most;
        }
        at += 1;
    }
    1 + most
}

/// Returns the number of bytes of two texts with a character between them; 0 if they need not be joined.
const fn length(outer: &str, inner: &str) -> usize {
    if outer.is_empty() || inner.is_empty() { 0 } else { outer.len() + 1 + inner.len() }
}

/// Returns the number of bytes of the texts that have to be joined.
pub const fn bytes(fields: &[PropertyInfo]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while at < fields.len() {
        let (field, mut part) = (&fields[at], 0);
        while part < field.parts.len() {
            sum += length(field.name, field.parts[part].name) + length(field.field, field.parts[part].field);
            part += 1;
        }
        at += 1;
    }
    sum
}

/// Returns the joined texts, one after the other: for each part its name and its path.
pub const fn join<const L: usize>(fields: &[PropertyInfo]) -> [u8; L] {
    let (mut text, mut to, mut at) = ([0; L], 0, 0);
    while at < fields.len() {
        let (field, mut part) = (&fields[at], 0);
        while part < field.parts.len() {
            to = put(&mut text, to, field.name, b'_', field.parts[part].name);
            to = put(&mut text, to, field.field, b'.', field.parts[part].field);
            part += 1;
        }
        at += 1;
    }
    text
}

const fn put(text: &mut [u8], mut to: usize, outer: &str, between: u8, inner: &str) -> usize {
    if length(outer, inner) == 0 {
        return to;
    }
    let (outer, inner) = (outer.as_bytes(), inner.as_bytes());
    let mut at = 0;
    while at < outer.len() {
        text[to] = outer[at];
        (to, at) = (to + 1, at + 1);
    }
    text[to] = between;
    to += 1;
    at = 0;
    while at < inner.len() {
        text[to] = inner[at];
        (to, at) = (to + 1, at + 1);
    }
    to
}

/// Takes the next of the joined texts.
const fn take(text: &mut &'static [u8], outer: &'static str, inner: &'static str) -> &'static str {
    let length = length(outer, inner);
    if length == 0 {
        return if outer.is_empty() { inner } else { outer };
    }
    let (piece, rest) = text.split_at(length);
    *text = rest;
    match str::from_utf8(piece) {
        Ok(piece) => piece,
        Err(_) => panic!("two texts are joined to a text"),
    }
}

/// Returns the parts of a type, given its fields and [their joined texts](join). The parts of one field are neighbours.
pub const fn resolve<const N: usize>(fields: &[PropertyInfo], mut text: &'static [u8]) -> [PropertyInfo; N] {
    let mut parts = [PropertyInfo::named("", ""); N];
    let (mut to, mut at) = (0, 0);
    while at < fields.len() {
        let field = fields[at];
        if field.parts.is_empty() {
            parts[to] = field;
            to += 1;
        }
        let mut part = 0;
        while part < field.parts.len() {
            let mut info = field.parts[part];
            info.is_always &= !field.is_optional;
            info.name = take(&mut text, field.name, info.name);
            info.field = take(&mut text, field.field, info.field);
            parts[to] = info;
            (to, part) = (to + 1, part + 1);
        }
        at += 1;
    }
    parts
}

/// Returns where the parts of each field begin, and where those of the last one end.
pub const fn starts<const F: usize>(fields: &[PropertyInfo]) -> [usize; F] {
    let (mut starts, mut at, mut sum) = ([0; F], 0, 0);
    while at < F {
        starts[at] = sum;
        if at < fields.len() {
            sum += count_of_parts(&fields[at]);
        }
        at += 1;
    }
    starts
}

/// Returns the parts of one field.
#[inline]
pub const fn sub(parts: Parts, from: usize, to: usize) -> Parts {
    parts.split_at(to).0.split_at(from).1
}

/// Names that a row, or the runtime, uses.
const TAKEN: [&str; 7] =
    ["PartitionKey", "RowKey", "Timestamp", "IndexPending", "EntityType", "EntityVersion", "WriteId"];

/// Returns the fields of a struct, if their properties have different names. The derive has compared the names of the fields;
/// only the parts of fields are checked here, so that plain fields pay for one short loop.
#[track_caller]
pub const fn checked(fields: &'static [PropertyInfo]) -> &'static [PropertyInfo] {
    let mut at = 0;
    while at < fields.len() {
        let mut before = 0;
        while before < at {
            if !fields[at].parts.is_empty() || !fields[before].parts.is_empty() {
                check_differ(&fields[before], &fields[at]);
            }
            before += 1;
        }
        at += 1;
    }
    fields
}

/// Returns the fields of an entity, if rows can have their properties, together with `own` others.
#[track_caller]
pub const fn checked_in_row(fields: &'static [PropertyInfo], own: usize) -> &'static [PropertyInfo] {
    let most = most(fields) + own;
    if most > 252 {
        stop(
            "a row has at most 252 properties, but this one has up to {0}: store some fields with `#[property(json)]`",
            &[Message::number(most).as_str()],
        );
    }
    let mut at = 0;
    while at < fields.len() {
        check_names(&fields[at]);
        at += 1;
    }
    checked(fields)
}

/// Returns a part of a field; the field itself if it has none.
const fn part(field: &PropertyInfo, at: usize) -> (&'static str, &'static str) {
    if field.parts.is_empty() { ("", "") } else { (field.parts[at].field, field.parts[at].name) }
}

/// Returns two texts with a delimiter; one of them if the other is empty.
const fn pieces(outer: &str, delimiter: &str, inner: &str) -> Message {
    let delimiter = if outer.is_empty() || inner.is_empty() { "" } else { delimiter };
    Message::new("{0}{1}{2}", &[outer, delimiter, inner])
}

#[track_caller]
const fn check_names(field: &PropertyInfo) {
    let mut at = 0;
    // The derive has checked the name of a field without parts, unless it is empty.
    while at < field.parts.len() || at == 0 && field.name.is_empty() {
        let (path, inner) = part(field, at);
        let name = PropertyName { outer: field.name, inner };
        if name.length() == 0 {
            stop("`{0}` has no name: `prefix = \"\"` is for structs", &[pieces(field.field, ".", path).as_str()]);
        }
        if name.length() > 255 {
            stop(
                "`{0}` has a name of {1} characters, and a property's name has at most 255",
                &[pieces(field.field, ".", path).as_str(), Message::number(name.length()).as_str()],
            );
        }
        let mut taken = 0;
        while taken < TAKEN.len() {
            if same_names(PropertyName { outer: TAKEN[taken], inner: "" }, name) && field.name.is_empty() {
                stop(
                    "`{0}` would be stored as `{1}`, which rows use: write `#[property(rename = \"…\")]` on it",
                    &[pieces(field.field, ".", path).as_str(), TAKEN[taken]],
                );
            }
            taken += 1;
        }
        at += 1;
    }
}

#[track_caller]
const fn check_differ(one: &PropertyInfo, other: &PropertyInfo) {
    let mut left = 0;
    while left < count_of_parts(one) {
        let mut right = 0;
        while right < count_of_parts(other) {
            let ((path, inner), (other_path, other_inner)) = (part(one, left), part(other, right));
            let names =
                [PropertyName { outer: one.name, inner }, PropertyName { outer: other.name, inner: other_inner }];
            if same_names(names[0], names[1]) {
                stop(
                    "`{0}` and `{1}` are both stored as `{2}`: write `#[property(rename = \"…\")]` or \
                     `#[property(prefix = \"…\")]` on one of them",
                    &[
                        pieces(one.field, ".", path).as_str(),
                        pieces(other.field, ".", other_path).as_str(),
                        pieces(one.name, "_", inner).as_str(),
                    ],
                );
            }
            right += 1;
        }
        left += 1;
    }
}

/// Stops the build if the type of a field with `prefix` is stored as one property.
pub const fn check_prefix(parts: Parts) {
    assert!(
        !parts.is_empty(),
        "`prefix` is for a field whose type is a struct or an enum with data; write `#[property(rename = \"…\")]` for the name \
         of one property"
    );
}

/// Stops the build if a value has no property by which a row has it.
pub const fn check_decisive(parts: Parts) {
    let is_long = matches!(parts, [_, next, ..] if next.continues);
    assert!(parts.is_empty() || is_long || is_always(parts), "{}", ABSENT_DEFAULT);
}

const ABSENT_DEFAULT: &str = "`default` is for a value that always has a property: a row without any is read as the default. \
                              Remove it: this type is read from no property at all";

/// Stops the build if a row may be without all properties of a value of a field with `default`: then the value and a missing
/// one cannot be told apart.
pub const fn check_default<T: Property>() {
    assert!(!T::IS_OPTIONAL && (T::PARTS.is_empty() || is_always(T::PARTS)), "{}", ABSENT_DEFAULT);
}

/// The tag of an enum with data: the property that holds the name of the variant.
pub const fn tag(variants: &'static [&'static str], is_open: bool) -> PropertyInfo {
    let ty = PropertyType::Variants { names: variants, is_open };
    PropertyInfo { edm: Some(ty), is_native: true, is_always: true, ..PropertyInfo::named("", "") }
}

/// The field of a variant with data, given the fields in it. `name` is the variant in the names of their properties.
pub const fn variant(
    field: &'static str,
    name: &'static str,
    variant: &'static str,
    fields: &'static [PropertyInfo],
    parts: Parts,
) -> PropertyInfo {
    PropertyInfo {
        parts,
        fields,
        variant: Some(variant),
        most: most(fields),
        // A row of another variant is without it.
        is_optional: true,
        as_read: AsRead::NOTHING,
        ..PropertyInfo::named(field, name)
    }
}

/// The only value of a variant, which has the variant's name.
pub const fn variant_value(value: PropertyInfo) -> PropertyInfo {
    PropertyInfo { field: "", name: "", ..value }
}

/// Writes the tag of an enum.
#[inline]
pub fn store_tag(tag: &str, name: &'static str, parts: Parts, properties: &mut PropertyWriter<'_>) -> Result<()> {
    let name = name_of(name, parts);
    properties.write(name, |properties| {
        properties.push_named(name, ValueRef::String(tag));
        Ok(())
    })
}

/// Writes the tag of a variant that this program does not know: the text of `#[property(other)]`.
///
/// # Errors
/// The text is the name of a variant that the program knows. It would be read as that one.
pub fn store_other_tag(
    tag: &str,
    variants: &'static [&'static str],
    name: &'static str,
    parts: Parts,
    properties: &mut PropertyWriter<'_>,
) -> Result<()> {
    if variants.contains(&tag) {
        let expected = format!("the name of another variant than {}", one_of(variants)).into();
        return properties
            .write(name_of(name, parts), |_| Err(PropertyProblem { expected, found: format!("`{tag}`") }));
    }
    store_tag(tag, name, parts, properties)
}

/// Reads the tag of an enum, and returns the position of the variant among the names.
pub fn load_tag(
    variants: &'static [&'static str],
    name: &'static str,
    parts: Parts,
    row: &mut EntityReader<'_>,
) -> Result<usize> {
    row.property(name_of(name, parts), PropertyType::String, |value| super::problem::name_from_value(value, variants))
}

/// Does the same for an enum with `#[property(other)]`. Returns a text that is no variant as an error.
pub fn load_open_tag(
    variants: &'static [&'static str],
    name: &'static str,
    parts: Parts,
    row: &mut EntityReader<'_>,
) -> Result<std::result::Result<usize, String>> {
    row.property(name_of(name, parts), PropertyType::String, |value| match value {
        Some(ValueRef::String(text)) => {
            Ok(variants.iter().position(|name| *name == text).ok_or_else(|| text.to_owned()))
        }
        value => super::problem::name_from_value(value, variants).map(Ok),
    })
}

/// Reads an `Option` of a type: a value if the row has one of the parts that are always there. Others may be those of a newer
/// program, which an older one has carried.
pub(super) fn load_option<T: Property>(
    name: &'static str,
    parts: Parts,
    row: &mut EntityReader<'_>,
) -> Result<Option<T>> {
    if row.has_value(name, parts, T::PARTS)? { T::load_in(name, parts, row).map(Some) } else { Ok(None) }
}

/// The answer of a function for single properties, of a type that has several. Nobody calls it.
#[cold]
pub fn several<T>() -> std::result::Result<T, PropertyProblem> {
    Err(PropertyProblem { expected: "a single property".into(), found: "a type that is stored as several".to_owned() })
}

/// The argument of comparisons with a struct or an enum: there is none, because each of its fields is compared.
pub struct NoValue(());

impl NoValue {
    /// The answer of [`Property::arg_value`].
    pub fn arg_value(self) -> std::result::Result<Option<Value>, PropertyProblem> {
        let Self(()) = self;
        several()
    }
}

/// Returns the properties as which a field is written that is read from these; `None` if it cannot be read.
pub(super) fn as_read<T>(
    row: PropertiesRef<'_>,
    load: impl FnOnce(&mut EntityReader<'_>) -> Result<T>,
    store: impl FnOnce(&T, &mut PropertyWriter<'_>) -> Result<()>,
) -> Option<Properties> {
    let value = EntityReader::of_properties(row, load).ok()?;
    let mut properties = Properties::default();
    // A default that cannot be stored is read all the same.
    let _ = PropertyWriter::without_row(&mut properties, |writer| store(&value, writer));
    Some(properties)
}
