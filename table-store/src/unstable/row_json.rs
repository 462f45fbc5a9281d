//! Rows as JSON objects, in the form that the service has for them.
//!
//! A value's type is given by an annotation, `"Likes@odata.type":"Edm.Int64"`, or by its form: a text, `true`, a bare
//! whole number (`Edm.Int32`), or a number with a point or an exponent (`Edm.Double`).
//!
//! Other writers, and emulators that keep values as they receive them, use other forms. Such values are read as far as
//! their meaning is clear ([`forms`]).

pub mod forms;
mod unrepresentable;

use std::{borrow::Cow, fmt};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{PropertiesRef, Value, ValueRef};

/// Appends the members of a row's object: its keys, and its properties with the annotations of their types.
pub fn write_members(json: &mut Vec<u8>, partition_key: &str, row_key: &str, properties: PropertiesRef<'_>) {
    json.extend_from_slice(b"\"PartitionKey\":");
    text(json, partition_key);
    json.extend_from_slice(b",\"RowKey\":");
    text(json, row_key);
    for (name, value) in properties {
        json.push(b',');
        if let Some(annotation) = annotation(value) {
            member(json, name, "@odata.type");
            text(json, annotation);
            json.push(b',');
        }
        member(json, name, "");
        write_value(json, value);
    }
}

/// Appends the name of a property's member, or of its annotation.
fn member(json: &mut Vec<u8>, name: &str, annotation: &str) {
    // Most names have only letters, digits and `_`, which need no escape.
    if name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
        json.push(b'"');
        json.extend_from_slice(name.as_bytes());
        json.extend_from_slice(annotation.as_bytes());
        json.push(b'"');
    } else {
        text(json, &[name, annotation].concat());
    }
    json.push(b':');
}

/// Checks whether JSON can have a property of this name. A name with `@` or `.` is that of an annotation.
pub fn can_carry(name: &str) -> bool {
    !name.contains(['@', '.'])
}

/// Checks whether a member of this name describes the row or one of its properties, and is no property.
pub fn is_metadata(name: &str) -> bool {
    let of_property = ["@odata.navigationLinkUrl", "@odata.associationLinkUrl", "@odata.bind"];
    matches!(name, "odata.metadata" | "odata.type" | "odata.id" | "odata.editLink" | "odata.readLink")
        || of_property.iter().any(|annotation| name.ends_with(annotation))
}

/// Returns the annotation of a value whose form does not determine its type.
///
/// A Double has an annotation too, because servers in JavaScript read `5.0` as the Int32 `5`.
fn annotation(value: ValueRef<'_>) -> Option<&'static str> {
    match value {
        ValueRef::String(_) | ValueRef::Boolean(_) | ValueRef::Int32(_) => None,
        value => Some(value.edm_type()),
    }
}

fn write_value(json: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(value) => text(json, value),
        ValueRef::Binary(value) => quoted(json, STANDARD.encode(value)),
        ValueRef::Boolean(value) => json.extend_from_slice(if value { b"true" } else { b"false" }),
        ValueRef::Int32(value) => json.extend_from_slice(value.to_string().as_bytes()),
        // Written as a text, because JavaScript rounds whole numbers above 2^53.
        ValueRef::Int64(value) => quoted(json, value),
        ValueRef::Double(value) if value.is_finite() => json.extend_from_slice(double(value).as_bytes()),
        ValueRef::Double(value) => quoted(json, double(value)),
        ValueRef::Guid(value) => quoted(json, value),
        ValueRef::DateTime(value) => quoted(json, value),
        // The limits, which are checked earlier, refuse such a value.
        ValueRef::Unreadable(_) => json.extend_from_slice(b"null"),
    }
}

/// Appends a text that has no character to escape.
fn quoted(json: &mut Vec<u8>, value: impl fmt::Display) {
    json.extend_from_slice(format!("\"{value}\"").as_bytes());
}

/// Appends a text in quotes, escaped.
pub fn text(json: &mut Vec<u8>, value: &str) {
    // Neither serializing a text nor writing to a `Vec` can fail.
    let _ = serde_json::to_writer(json, value);
}

/// Returns a double as a text: with a point or an exponent if it is finite, or else its name.
fn double(value: f64) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else if value.is_nan() {
        "NaN".to_owned()
    } else {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    }
}

impl ValueRef<'_> {
    /// Returns the value as a text, which [`Value::from_text`] reads: binary data as base64, a time as
    /// `2010-05-28T00:00:00.0000000Z`, a double with as many digits as distinguish it from all others.
    ///
    /// ```
    /// use table_runtime::{Value, row::ValueRef};
    ///
    /// assert_eq!(ValueRef::Binary(&[255]).to_text(), "/w==");
    /// assert_eq!(ValueRef::Double(-0.0).to_text(), "-0.0");
    /// assert_eq!(Value::from_text("Edm.Int64", "5"), Some(Value::Int64(5)));
    /// ```
    pub fn to_text(self) -> String {
        match self {
            Self::String(text) | Self::Unreadable(text) => text.to_owned(),
            Self::Binary(bytes) => STANDARD.encode(bytes),
            Self::Boolean(value) => value.to_string(),
            Self::Int32(value) => value.to_string(),
            Self::Int64(value) => value.to_string(),
            Self::Double(value) => double(value),
            Self::Guid(value) => value.to_string(),
            Self::DateTime(value) => value.to_string(),
        }
    }
}

impl Value {
    /// Reads a value of the service's type `edm_type`, such as `Edm.Int64`, from a text. Returns `None` if there is no
    /// such type, or the text is no value of it.
    pub fn from_text(edm_type: &str, text: &str) -> Option<Self> {
        typed(&JsonValue::Text(text.into()), Some(edm_type), &mut Vec::new()).map(ValueRef::to_value)
    }
}

/// Parses JSON, even if `serde_json` refuses it because of a value that no Rust type can hold.
pub fn parse<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match unrepresentable::mark(json) {
        Some(marked) => serde_json::from_str(&marked),
        None => Err(error),
    })
}

/// Parses JSON of any program, in which whole numbers of any length occur. One that a Double would round is
/// [`JsonValue::Other`].
pub fn parse_exactly<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    /// Number of digits that each `u64` has room for.
    const DIGITS: usize = 19;
    let is_long = json.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > DIGITS);
    match is_long.then(|| unrepresentable::mark(json)).flatten() {
        Some(marked) => serde_json::from_str(&marked),
        None => parse(json),
    }
}

/// A value in the form that it has in the JSON.
#[derive(Clone, Debug)]
pub enum JsonValue<'a> {
    Null,
    Boolean(bool),
    Whole(i64),
    Number(f64),
    Text(Cow<'a, str>),
    /// A value that no property can hold: a description, and its text if there is one.
    Other(&'static str, String),
}

impl<'de> Deserialize<'de> for JsonValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar)
    }
}

/// The reader of a value.
struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = JsonValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property's value")
    }

    fn visit_unit<E>(self) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Whole(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonValue<'de>, E> {
        let large = || double_of(value).map_or(JsonValue::Other(NO_DOUBLE, String::new()), JsonValue::Number);
        Ok(i64::try_from(value).map_or_else(|_| large(), JsonValue::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<JsonValue<'de>, E> {
        Ok(JsonValue::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<JsonValue<'de>, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonValue::Other("a list, which no property can hold", String::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonValue<'de>, A::Error> {
        let mut found = JsonValue::Other("an object, which no property can hold", String::new());
        while let Some(MemberName(name)) = members.next_key()? {
            match unrepresentable::marked(&name) {
                Some(what) => found = JsonValue::Other(what, members.next_value()?),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// A member's name, borrowed if possible.
pub struct MemberName<'a>(pub Cow<'a, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match JsonValue::deserialize(deserializer)? {
            JsonValue::Text(name) => Ok(Self(name)),
            _ => Err(D::Error::custom("a name that is not a text")),
        }
    }
}

/// Returns the value; `None` if it cannot be read. Binary data is decoded into `bytes`.
pub fn typed<'a>(value: &'a JsonValue<'_>, edm_type: Option<&str>, bytes: &'a mut Vec<u8>) -> Option<ValueRef<'a>> {
    Some(match (edm_type, value) {
        (None | Some("Edm.String"), JsonValue::Text(text)) => ValueRef::String(text),
        (None | Some("Edm.Boolean"), JsonValue::Boolean(value)) => ValueRef::Boolean(*value),
        (Some("Edm.Boolean"), JsonValue::Text(text)) => ValueRef::Boolean(forms::boolean(text)?),
        (None | Some("Edm.Int32"), JsonValue::Whole(number)) if i32::try_from(*number).is_ok() => {
            ValueRef::Int32(i32::try_from(*number).ok()?)
        }
        (Some("Edm.Int32"), JsonValue::Text(text)) => ValueRef::Int32(text.parse().ok()?),
        (Some("Edm.Int32"), JsonValue::Number(number)) => ValueRef::Int32(forms::whole(*number)?.try_into().ok()?),
        // A whole number outside the range of Int32, without the annotation of an Int64, can only be a Double in short
        // form.
        (None, JsonValue::Whole(number)) => ValueRef::Double(double_of(*number)?),
        #[allow(clippy::cast_precision_loss, reason = "the number was written as a Double")]
        (Some("Edm.Double"), JsonValue::Whole(number)) => ValueRef::Double(*number as f64),
        (None | Some("Edm.Double"), JsonValue::Number(number)) => ValueRef::Double(*number),
        (Some("Edm.Double"), JsonValue::Text(text)) => ValueRef::Double(forms::double(text)?),
        (Some("Edm.Int64"), JsonValue::Text(text)) => ValueRef::Int64(text.parse().ok()?),
        (Some("Edm.Int64"), JsonValue::Whole(number)) => ValueRef::Int64(*number),
        (Some("Edm.Int64"), JsonValue::Number(number)) => ValueRef::Int64(forms::whole(*number)?),
        (Some("Edm.Guid"), JsonValue::Text(text)) => ValueRef::Guid(forms::guid(text)?),
        (Some("Edm.DateTime"), JsonValue::Text(text)) => ValueRef::DateTime(forms::date_time(text)?),
        (Some("Edm.Binary"), JsonValue::Text(text)) => {
            *bytes = forms::binary(text)?;
            ValueRef::Binary(bytes)
        }
        _ => return None,
    })
}

/// Description of a number that a Double would round. JSON has no other type for it.
const NO_DOUBLE: &str = "a whole number that no Edm.Double holds, without the annotation of another type";

/// Returns the double that is this whole number, or has it as its short form; `None` if there is none.
fn double_of(number: impl fmt::Display) -> Option<f64> {
    let text = number.to_string();
    // Without a point, a double is written with all of its digits.
    text.parse().ok().filter(|double: &f64| double.to_string() == text || format!("{double:.0}") == text)
}

/// Describes, for errors, what was found instead of a value. Omits the value itself, which may be private.
#[cold]
pub fn unreadable(value: &JsonValue<'_>, edm_type: Option<&str>) -> String {
    match (value, edm_type) {
        (JsonValue::Other(what, _), _) => (*what).to_owned(),
        (_, Some(edm_type)) => format!("{edm_type} in a form that is not known"),
        (JsonValue::Whole(_), None) => NO_DOUBLE.to_owned(),
        (_, None) => "a value of no type".to_owned(),
    }
}
