//! `#[property(large)]`: text and bytes that may be longer than a property, up to what a row holds.
//!
//! A value that fits into a property is stored as without the attribute: `Body`. A longer one is stored in parts: `Body`,
//! `Body_2`, `Body_3`, and so on, and `Body_Parts` has their number. A patch writes `Body_Parts` always, because it removes
//! no property: readers ignore the parts beyond that number, and the next update removes them.

use table_store::{
    Properties, PropertyType, Result, Value, ValueRef,
    error::PropertyProblem,
    unstable::{PropertyName, limits},
};

use super::{
    AsJson, Json, Native, Opaque, Passed, Property, Single, Store, found, integer, json::json, nested, store::as_read,
};
use crate::{
    codec::{EntityReader, PropertyWriter},
    layout::{AsRead, Parts, PropertyInfo, TypeName},
    sealed::Sealed,
};

/// Number of UTF-16 units in a part of a text.
///
/// The embedded store keeps a row as one value, in a power of two of its pages. So the size of the parts makes no difference
/// to it: measured, a text of 65,000 ASCII characters takes 65,884 bytes of the file, and one of 65,500 to 130,000 takes
/// 131,747, in parts of 8,000, 16,000, 30,000, 32,000 and 32,768 units alike. On the service, fewer parts are fewer
/// properties. They are not the longest that fit, because it is disputed how much of 64 KiB the service accepts.
const UNITS: usize = 30_000;
/// Number of bytes in a part of a `Vec<u8>`.
const BYTES: usize = 2 * UNITS;
/// The most parts of a value. They take 960,000 bytes of the 1,048,576 that a row can have.
const MOST: usize = 16;
/// The most UTF-16 units of a text. The last part may be longer than the others: each of them ends one unit earlier if the
/// next character has two.
const MOST_UNITS: usize = MOST * UNITS;
const MOST_BYTES: usize = MOST * BYTES;

/// Relative names of the properties. The part `n` is number `n`, but the first part is number 0.
const NAMES: [&str; MOST + 1] =
    ["", "Parts", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];

/// A field that may be longer than a property, and is otherwise stored like `S`.
pub struct Large<S>(std::marker::PhantomData<S>);

impl<T, S> Sealed<T> for Large<S> {}

/// A way to store a field as a text or bytes, of any length.
pub trait Long<T>: Store<T> {
    /// Calls `write` with the value, if there is one.
    fn with_value(value: &T, write: impl FnOnce(ValueRef<'_>) -> WriteResult) -> WriteResult;

    /// Reads a value that was stored in parts.
    fn of_parts(value: Value) -> std::result::Result<T, PropertyProblem>;
}

type WriteResult = std::result::Result<(), PropertyProblem>;

// The compiler reports what is missing below these implementations: what `T` is not, with its own message.
impl<T: Property> Long<T> for Native {
    fn with_value(value: &T, write: impl FnOnce(ValueRef<'_>) -> WriteResult) -> WriteResult {
        value.to_value(&mut String::new())?.map_or(Ok(()), write)
    }

    fn of_parts(value: Value) -> std::result::Result<T, PropertyProblem> {
        T::from_owned(value)
    }
}

impl<T: AsJson> Long<T> for Json {
    fn with_value(value: &T, write: impl FnOnce(ValueRef<'_>) -> WriteResult) -> WriteResult {
        json(value)?.map_or(Ok(()), |text| write(ValueRef::String(&text)))
    }

    fn of_parts(value: Value) -> std::result::Result<T, PropertyProblem> {
        Self::read(Some(value.as_ref()))
    }
}

impl<T, S: Long<T>> Store<T> for Large<S> {
    type Arg = S::Arg;
    type Order = Opaque;
    // A patch sets the value as if it were one property.
    type Shape = Single;

    const TYPE: PropertyType = match S::TYPE {
        PropertyType::String if S::PARTS.is_empty() => PropertyType::LargeString,
        PropertyType::Json => PropertyType::LargeJson,
        PropertyType::Binary => PropertyType::LargeBinary,
        // The build of the program stops: see `check`.
        other => other,
    };
    const PARTS: Parts = &parts(PropertyInfo {
        edm: Some(Self::TYPE),
        // The first part is not the value.
        is_native: false,
        ty: TypeName::of::<T>(),
        as_read: AsRead::new(as_read::<T, Self>),
        is_always: !Self::IS_OPTIONAL,
        ..PropertyInfo::named("", "")
    });
    const IS_OPTIONAL: bool = S::IS_OPTIONAL;

    fn store_in(value: &T, name: &'static str, parts: Parts, properties: &mut PropertyWriter<'_>) -> Result<()> {
        properties.write(name_of(name, parts, 0), |properties| {
            S::with_value(value, |value| push(value, name, parts, properties))
        })
    }

    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> Result<T> {
        let read = match read(name, parts, Self::TYPE, row)? {
            Read::Whole(value) => S::read(value),
            Read::InParts(value) => S::of_parts(value),
        };
        read.map_err(|problem| row.misfit(name_of(name, parts, 0), problem))
    }

    fn write(_: &T, _: PropertyName<'_>, _: &mut Properties) -> WriteResult {
        nested::several()
    }

    fn read(_: Option<ValueRef<'_>>) -> std::result::Result<T, PropertyProblem> {
        nested::several()
    }

    fn arg_value(arg: Passed<'_, S::Arg>) -> std::result::Result<Option<Value>, PropertyProblem> {
        S::arg_value(arg)
    }
}

/// Stops the build if the type of a field with `large` is neither a text nor bytes.
///
/// # Panics
/// Panics in the program's constants, which stops the build.
pub const fn check(ty: PropertyType) {
    assert!(
        matches!(ty, PropertyType::LargeString | PropertyType::LargeJson | PropertyType::LargeBinary),
        "`large` is for text and bytes: a `String`, a `Vec<u8>`, an `Option` of one, or a field with `json`; values of other \
         types always fit into a property, so remove it"
    );
}

/// Stops the build if the path of an index leads to a field with `large`.
///
/// # Panics
/// Panics in the program's constants, which stops the build.
pub const fn check_path(column: PropertyInfo) {
    assert!(
        column.parts.len() < 2 || !column.parts[1].continues,
        "the path of an index leads to a field with `large`, which no key and no predicate can have; remove `large`, or the \
         field from the index"
    );
}

/// Returns the properties of a field, of which the first one holds short values.
const fn parts(first: PropertyInfo) -> [PropertyInfo; MOST + 1] {
    let mut parts = [first; MOST + 1];
    let mut at = 1;
    while at < parts.len() {
        parts[at] = PropertyInfo { continues: true, as_read: AsRead::NOTHING, ..PropertyInfo::named("", NAMES[at]) };
        at += 1;
    }
    parts
}

/// Returns the whole name of a property, by its number in [`NAMES`].
fn name_of(name: &'static str, parts: Parts, number: usize) -> PropertyName<'static> {
    PropertyName { outer: name, inner: parts.get(number).map_or("", |part| part.name) }
}

/// Writes a value.
fn push(value: ValueRef<'_>, name: &'static str, parts: Parts, properties: &mut Properties) -> WriteResult {
    let mut push = |number, value| properties.push_named(name_of(name, parts, number), value);
    match pieces(value)? {
        None => push(0, value),
        Some(pieces) => each(&pieces, push),
    }
    Ok(())
}

/// Sets a value in a patch, of the property `name`.
pub fn patch(patch: &mut Properties, name: &'static str, value: ValueRef<'_>) -> WriteResult {
    let pieces = pieces(value)?.unwrap_or_else(|| vec![value]);
    each(&pieces, |number, value| {
        patch.set(&PropertyName { outer: name, inner: NAMES[number] }.to_string(), value);
    });
    Ok(())
}

/// Calls `push` with the properties of a value: their numbers and values.
fn each<'a>(pieces: &[ValueRef<'a>], mut push: impl FnMut(usize, ValueRef<'a>)) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most `MOST`")]
    let count = pieces.len() as i32;
    push(0, pieces[0]);
    push(1, ValueRef::Int32(count));
    for (number, piece) in (2..).zip(&pieces[1..]) {
        push(number, *piece);
    }
}

/// Splits a value into parts; `None` if it fits into a property.
fn pieces(value: ValueRef<'_>) -> std::result::Result<Option<Vec<ValueRef<'_>>>, PropertyProblem> {
    let too_long = |most, found, unit| PropertyProblem {
        expected: format!("at most {most} {unit}").into(),
        found: format!("{found} {unit}"),
    };
    match value {
        ValueRef::String(text) if limits::longer(text, limits::STRING_UNITS) => match limits::units(text) {
            units if units > MOST_UNITS => Err(too_long(MOST_UNITS, units, "UTF-16 units")),
            _ => Ok(Some(texts(text).into_iter().map(ValueRef::String).collect())),
        },
        ValueRef::Binary(bytes) if bytes.len() > MOST_BYTES => Err(too_long(MOST_BYTES, bytes.len(), "bytes")),
        ValueRef::Binary(bytes) if bytes.len() > limits::BINARY_BYTES => {
            Ok(Some(bytes.chunks(BYTES).map(ValueRef::Binary).collect()))
        }
        _ => Ok(None),
    }
}

/// Splits a text between characters.
fn texts(mut rest: &str) -> Vec<&str> {
    let mut texts = Vec::with_capacity(MOST);
    while texts.len() + 1 < MOST
        && let Some(end) = end_of_part(rest)
    {
        let (part, others) = rest.split_at(end);
        texts.push(part);
        rest = others;
    }
    texts.push(rest);
    texts
}

/// Returns the position after the first part; `None` if the text is not longer than a part.
fn end_of_part(text: &str) -> Option<usize> {
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > UNITS
    });
    end.map(|(position, _)| position)
}

/// A value as a row has it.
enum Read<'a> {
    Whole(Option<ValueRef<'a>>),
    InParts(Value),
}

/// Reads the properties of a field of the type `ty`.
fn read<'a>(name: &'static str, parts: Parts, ty: PropertyType, row: &mut EntityReader<'a>) -> Result<Read<'a>> {
    let first = row.property(name_of(name, parts, 0), ty, Ok)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "16")]
    let range = PropertyType::Int32 { min: 1, max: MOST as i32 };
    let count = row.property(name_of(name, parts, 1), range, |count| {
        let Some(value) = count else { return Ok(1) };
        let number = integer(value).and_then(|number| usize::try_from(number).ok());
        number
            .filter(|number| (1..=MOST).contains(number))
            .ok_or_else(|| PropertyProblem { expected: range.to_string().into(), found: found(count) })
    })?;
    if count == 1 {
        return Ok(Read::Whole(first));
    }
    let other = |value| PropertyProblem { expected: ty.edm().into(), found: found(value) };
    let mut whole = match first {
        Some(first @ (ValueRef::String(_) | ValueRef::Binary(_))) => first.to_value(),
        first => return Err(row.misfit(name_of(name, parts, 0), other(first))),
    };
    // All parts but the last one are about as long as the first.
    match &mut whole {
        Value::String(text) => text.reserve_exact(text.len() * (count - 1)),
        Value::Binary(bytes) => bytes.reserve_exact(bytes.len() * (count - 1)),
        _ => {}
    }
    for number in 2..=count {
        row.property(name_of(name, parts, number), ty, |part| {
            match (&mut whole, part) {
                (Value::String(text), Some(ValueRef::String(part))) => text.push_str(part),
                (Value::Binary(bytes), Some(ValueRef::Binary(part))) => bytes.extend_from_slice(part),
                (_, part) => return Err(other(part)),
            }
            Ok(())
        })?;
    }
    Ok(Read::InParts(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_between_characters() {
        // The character of two units would be half in the first part.
        let text = format!("{}{}", "a".repeat(UNITS - 1), "\u{1F980}".repeat(UNITS));
        let parts = texts(&text);
        assert_eq!(parts.concat(), text);
        assert_eq!(parts.iter().map(|part| limits::units(part)).collect::<Vec<_>>(), [UNITS - 1, UNITS, UNITS]);
    }

    #[test]
    fn the_longest_text_fits_into_the_parts() {
        // Every part but the last one ends one unit earlier.
        let piece = format!("{}\u{1F980}", "a".repeat(UNITS - 1));
        let mut text = piece.repeat(MOST);
        text.truncate(text.len() - 4 - MOST);
        text.push_str(&"b".repeat(MOST_UNITS - limits::units(&text)));
        assert_eq!(limits::units(&text), MOST_UNITS);
        let parts = texts(&text);
        assert!(parts.len() == MOST && parts.concat() == text);
        assert!(parts.iter().all(|part| limits::units(part) <= limits::STRING_UNITS));
    }
}
