//! Rows in the service's JSON.
//!
//! A value's type is given by an annotation, `"Likes@odata.type":"Edm.Int64"`, or by its form: a text, `true`, a bare
//! whole number (`Edm.Int32`), or a number with a point or an exponent (`Edm.Double`). Requests ask for minimal
//! metadata, as Microsoft's own clients do. Minimal metadata annotates every value whose form does not determine its
//! type, and includes the `ETag`, but not the addresses that full metadata repeats in each row.
//!
//! A value that cannot be read becomes [`ValueRef::Unreadable`]. It is an error of a field that reads it, with the row and
//! the property, and not an error of the whole page.

use std::{borrow::Cow, collections::HashSet, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use table_store::{
    ETag, Properties, Row, RowSet, ValueRef,
    unstable::row_json::{self, JsonValue, MemberName, forms, parse, typed, unreadable},
};

/// Encoding of texts in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// UTF-8, which is short.
    Utf8,
    /// ASCII, with other characters as `\u20AC`. Azurite decodes a body piece by piece as it arrives, and so damages a
    /// character that is split between two pieces.
    Ascii,
}

/// Appends a row's JSON.
pub(super) fn write(json: &mut Vec<u8>, texts: Texts, partition_key: &str, row_key: &str, properties: &Properties) {
    let begin = json.len();
    json.push(b'{');
    row_json::write_members(json, partition_key, row_key, properties.as_ref());
    json.push(b'}');
    if texts == Texts::Ascii && !json[begin..].is_ascii() {
        let utf8 = json.split_off(begin);
        for character in String::from_utf8_lossy(&utf8).chars() {
            // Characters outside ASCII occur only within texts.
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => json.push(byte),
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        json.extend_from_slice(format!("\\u{unit:04X}").as_bytes());
                    }
                }
            }
        }
    }
}

/// Reads a row.
pub(super) fn read(json: &[u8]) -> serde_json::Result<Row> {
    parse::<Entity>(utf8(json)?).map(|entity| entity.0)
}

/// Reads a page of rows, `{"value":[…]}`.
pub(super) fn read_page(json: &[u8]) -> serde_json::Result<RowSet> {
    parse::<List<EntitiesJson>>(utf8(json)?).map(|list| list.0.0)
}

/// Reads a page of the list of tables, `{"value":[{"TableName":"Posts"}]}`: the names.
pub(super) fn read_tables(json: &[u8]) -> serde_json::Result<Vec<String>> {
    let List::<Vec<serde_json::Map<_, _>>>(tables) = parse(utf8(json)?)?;
    let name = |mut table: serde_json::Map<_, _>| match table.remove("TableName") {
        Some(serde_json::Value::String(name)) => Ok(name),
        _ => Err(serde_json::Error::custom("a table has no `TableName`")),
    };
    tables.into_iter().map(name).collect()
}

/// Checks once that the whole JSON is UTF-8, which is faster than checking each text.
fn utf8(json: &[u8]) -> serde_json::Result<&str> {
    std::str::from_utf8(json).map_err(serde_json::Error::custom)
}

/// The answer to a query, `{"value":…}`. An answer without a list is no empty list, and one with an error may lack a part.
struct List<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the list `value`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<List<T>, A::Error> {
                let mut list = None;
                while let Some(MemberName(name)) = members.next_key()? {
                    match &*name {
                        "value" if list.is_some() => return Err(A::Error::duplicate_field("value")),
                        "value" => list = Some(members.next_value()?),
                        "error" | ERROR => return Err(A::Error::custom(format_args!("it has an error, `{name}`"))),
                        _ => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
                list.map(List).ok_or_else(|| A::Error::custom("it has no list `value`"))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// Name of the member that holds an error.
const ERROR: &str = "odata.error";

struct EntitiesJson(RowSet);

impl<'de> Deserialize<'de> for EntitiesJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;

        impl<'de> Visitor<'de> for Rows {
            type Value = EntitiesJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entities: A) -> Result<EntitiesJson, A::Error> {
                let mut rows = RowSet::default();
                while let Some(Entity(row)) = entities.next_element()? {
                    rows.push(row.as_ref());
                }
                Ok(EntitiesJson(rows))
            }
        }

        deserializer.deserialize_seq(Rows)
    }
}

struct Entity(Row);

impl<'de> Deserialize<'de> for Entity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Entity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Entity, A::Error> {
                let mut parts = JsonParts { types: Vec::with_capacity(8), values: Vec::with_capacity(16) };
                while let Some(MemberName(name)) = members.next_key()? {
                    if name == ERROR {
                        return Err(A::Error::custom(format_args!("it has an error, `{name}`")));
                    } else if let Some(property) = name.strip_suffix("@odata.type") {
                        let property = match name {
                            Cow::Borrowed(name) => Cow::Borrowed(&name[..property.len()]),
                            Cow::Owned(_) => Cow::Owned(property.to_owned()),
                        };
                        let edm_type = match members.next_value()? {
                            JsonValue::Text(edm_type) => edm_type,
                            _ => Cow::Borrowed("a type without a name"),
                        };
                        parts.types.push((property, edm_type));
                    } else if row_json::is_metadata(&name) {
                        members.next_value::<IgnoredAny>()?;
                    } else {
                        // Any other member is a property, which another program has written: also one whose name has
                        // `@`, or begins with `odata.`.
                        parts.values.push((name, members.next_value()?));
                    }
                }
                parts.row().map(Entity).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A row's members as they were read. Annotations and values may come in any order, and are matched afterwards.
struct JsonParts<'a> {
    types: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    values: Vec<(Cow<'a, str>, JsonValue<'a>)>,
}

impl JsonParts<'_> {
    fn row(self) -> Result<Row, String> {
        let (mut partition_key, mut row_key, mut etag, mut timestamp) = (None, None, None, None);
        let repeated = self.repeated();
        let mut properties = Properties::with_capacity(self.values.len() * 24);
        // Annotations are usually located beside their values, in the same order, so each search begins after the
        // annotation that was found last.
        let mut after = 0;
        for (name, value) in &self.values {
            match (name.as_ref(), value) {
                ("PartitionKey", JsonValue::Text(key)) => partition_key = partition_key.or(Some(key)),
                ("RowKey", JsonValue::Text(key)) => row_key = row_key.or(Some(key)),
                ("odata.etag", JsonValue::Text(text)) => etag = Some(text.as_ref()),
                ("Timestamp", JsonValue::Text(text)) => timestamp = Some(text),
                (_, JsonValue::Null) | ("PartitionKey" | "RowKey" | "Timestamp", _) => {}
                (name, _) if repeated.contains(name) => {
                    if properties.get(name).is_none() {
                        properties.push(name, ValueRef::Unreadable("more than one property of this name"));
                    }
                }
                (name, value) => {
                    let (before, rest) = self.types.split_at(after);
                    let found = rest.iter().chain(before).position(|(property, _)| property == name);
                    let edm_type = found.map(|n| {
                        let n = (after + n) % self.types.len();
                        after = n + 1;
                        self.types[n].1.as_ref()
                    });
                    push(&mut properties, name, value, edm_type);
                }
            }
        }
        let (Some(partition_key), Some(row_key)) = (partition_key, row_key) else {
            return Err(self.named("does not have both keys as texts"));
        };
        if let Some(name) = ["PartitionKey", "RowKey", "Timestamp"].into_iter().find(|name| repeated.contains(name)) {
            return Err(self.named(&format!("has more than one {name}")));
        }
        let Some(text) = timestamp else { return Err(self.named("has no Timestamp")) };
        let timestamp = forms::date_time(text).ok_or_else(|| self.named("has a Timestamp that is not a time"))?;
        // The ETag is the time stamp in another format; Microsoft's own clients rely on this as well.
        let etag = match etag {
            Some(etag) => etag.parse(),
            None => ETag::try_from(format!("W/\"datetime'{}'\"", text.replace(':', "%3A"))),
        };
        let etag = etag.map_err(|_| self.named("has a malformed ETag"))?;
        let (partition_key, row_key) = (partition_key.clone().into_owned(), row_key.clone().into_owned());
        Ok(Row { partition_key, row_key, properties, etag, timestamp })
    }

    /// Returns the names that occur more than once. A row that the service wrote has none.
    fn repeated(&self) -> HashSet<&str> {
        /// Number of names up to which comparing all of them takes less time than sorting them.
        const FEW: usize = 24;
        let names = || self.values.iter().map(|(name, _)| name.as_ref());
        if self.values.len() <= FEW {
            let repeated = names().enumerate().filter(|(at, name)| names().take(*at).any(|before| before == *name));
            return repeated.map(|(_, name)| name).collect();
        }
        let mut sorted: Vec<_> = names().collect();
        sorted.sort_unstable();
        sorted.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect()
    }

    /// Describes a problem together with the row, as far as the row's keys can be read.
    #[cold]
    fn named(&self, problem: &str) -> String {
        let key = |key: &str| {
            let found = self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value);
            match found {
                Some(JsonValue::Text(text)) => format!("{key}='{}'", text.replace('\'', "''")),
                Some(JsonValue::Other(what, text)) => format!("{key}='{}' ({what})", text.replace('\'', "''")),
                Some(_) => format!("{key}: not a text"),
                None => format!("{key}: missing"),
            }
        };
        format!("the row ({},{}) {problem}", key("PartitionKey"), key("RowKey"))
    }
}

/// Adds a property. A value that cannot be read becomes [`ValueRef::Unreadable`].
fn push(properties: &mut Properties, name: &str, value: &JsonValue<'_>, edm_type: Option<&str>) {
    let mut bytes = Vec::new();
    match typed(value, edm_type, &mut bytes) {
        Some(value) => properties.push(name, value),
        None => properties.push(name, ValueRef::Unreadable(&unreadable(value, edm_type))),
    }
}

#[cfg(test)]
mod tests {
    use table_store::{Ticks, Value};

    use super::*;

    #[test]
    fn types_that_the_form_does_not_determine_are_annotated() {
        let properties: Properties = [
            ("Text", Value::String("\"\u{1}".to_owned())),
            ("Int32", Value::Int32(5)),
            ("Int64", Value::Int64(i64::MAX)),
            ("Double", Value::Double(5.0)),
            ("Nan", Value::Double(f64::NAN)),
            ("Minus", Value::Double(f64::NEG_INFINITY)),
            ("Binary", Value::Binary(vec![255])),
            ("Yes", Value::Boolean(true)),
            ("Guid", Value::Guid(table_store::Guid::default())),
            ("Time", Value::DateTime(Ticks::UNIX_EPOCH)),
        ]
        .into_iter()
        .collect();
        let mut json = Vec::new();
        write(&mut json, Texts::Utf8, "ä'", "", &properties);
        let expected = r#"{"PartitionKey":"ä'","RowKey":"","Text":"\"\u0001","Int32":5,"Int64@odata.type":"Edm.Int64","Int64":"9223372036854775807","Double@odata.type":"Edm.Double","Double":5.0,"Nan@odata.type":"Edm.Double","Nan":"NaN","Minus@odata.type":"Edm.Double","Minus":"-Infinity","Binary@odata.type":"Edm.Binary","Binary":"/w==","Yes":true,"Guid@odata.type":"Edm.Guid","Guid":"00000000-0000-0000-0000-000000000000","Time@odata.type":"Edm.DateTime","Time":"1970-01-01T00:00:00.0000000Z"}"#;
        assert_eq!(String::from_utf8_lossy(&json), expected);
    }

    #[test]
    fn texts_in_ascii_read_back_unchanged() -> serde_json::Result<()> {
        let mut json = b"before ".to_vec();
        write(&mut json, Texts::Ascii, "ä\"", "𝄞", &Properties::default());
        assert_eq!(String::from_utf8_lossy(&json), r#"before {"PartitionKey":"\u00E4\"","RowKey":"\uD834\uDD1E"}"#);
        let read: serde_json::Value = serde_json::from_slice(&json["before ".len()..])?;
        assert_eq!((&read["PartitionKey"], &read["RowKey"]), (&"ä\"".into(), &"𝄞".into()));
        Ok(())
    }

    fn value(member: &str) -> Result<Option<Value>, String> {
        let json = format!(r#"{{"PartitionKey":"","RowKey":"","Timestamp":"2013-08-22T01:12:06.2608595Z",{member}}}"#);
        let row = read(json.as_bytes()).map_err(|problem| problem.to_string())?;
        Ok(row.properties.get("A").map(ValueRef::to_value))
    }

    #[test]
    fn values_are_read_by_annotation_and_form() {
        for (member, expected) in [
            (r#""A":5"#, Value::Int32(5)),
            (r#""A":5.0"#, Value::Double(5.0)),
            (r#""A":5e0"#, Value::Double(5.0)),
            (r#""A":2147483648"#, Value::Double(2_147_483_648.0)),
            (r#""A":100000000000000000000"#, Value::Double(1e20)),
            (r#""A@odata.type":"Edm.Double","A":5"#, Value::Double(5.0)),
            // The annotation may come after the value.
            (r#""A":5,"A@odata.type":"Edm.Double""#, Value::Double(5.0)),
            (r#""B":1,"B@odata.type":"Edm.Int32","A":"7","A@odata.type":"Edm.Int64""#, Value::Int64(7)),
            (r#""A":"7","A@odata.type":"Edm.Int64","B@odata.type":"Edm.Double","B":1"#, Value::Int64(7)),
            (r#""A@odata.type":"Edm.Double","A":"Infinity""#, Value::Double(f64::INFINITY)),
            (r#""A@odata.type":"Edm.Int64","A":"-9223372036854775808""#, Value::Int64(i64::MIN)),
            (r#""A@odata.type":"Edm.Int32","A":5"#, Value::Int32(5)),
            (r#""A@odata.type":"Edm.Boolean","A":true"#, Value::Boolean(true)),
            (r#""A@odata.type":"Edm.String","A":"5""#, Value::String("5".to_owned())),
            (r#""A":"2010-05-28T00:00:00Z""#, Value::String("2010-05-28T00:00:00Z".to_owned())),
            (r#""A":"\u00e4""#, Value::String("ä".to_owned())),
            (r#""A@odata.type":"Edm.Binary","A":"/w==""#, Value::Binary(vec![255])),
            (r#""odata.new":{"deep":[1]},"A@odata.navigationLinkUrl":"x","A":true"#, Value::Boolean(true)),
            (r#""A":0.1"#, Value::Double(0.1)),
            (r#""A":2.2250738585072014e-308"#, Value::Double(f64::MIN_POSITIVE)),
        ] {
            assert_eq!(value(member), Ok(Some(expected)), "{member}");
        }
        assert_eq!(value(r#""A":null"#), Ok(None));
        assert_eq!(value(r#""A@odata.type":"Edm.Int64","A":null"#), Ok(None));
    }

    #[test]
    fn values_that_are_not_of_their_type_are_unreadable() {
        for member in [
            r#""A@odata.type":"Edm.Int64","A":"x""#,
            r#""A@odata.type":"Edm.Int32","A":2147483648"#,
            r#""A@odata.type":"Edm.Guid","A":"x""#,
            r#""A@odata.type":"Edm.DateTime","A":5"#,
            r#""A@odata.type":"Edm.Binary","A":"!""#,
            r#""A@odata.type":"Edm.New","A":"x""#,
            r#""A":[1]"#,
            r#""A":{}"#,
            r#""A":{"a":"\ud800"}"#,
            r#""A":"\ud800""#,
            r#""A":-1e400"#,
            r#""A":1,"A":1"#,
        ] {
            assert!(matches!(value(member), Ok(Some(Value::Unreadable(_)))), "{member}: {:?}", value(member));
        }
        let many = (0..100).map(|n| format!(r#""B{n}":{n}"#)).collect::<Vec<_>>().join(",");
        for (more, repeated) in [("", false), (r#","B7":7"#, true)] {
            let members = format!(r#""A":1,{many}{more}"#);
            let json = format!(r#"{{"PartitionKey":"","RowKey":"","Timestamp":"2013-08-22T01:12:06Z",{members}}}"#);
            let row = read(json.as_bytes()).expect("a row");
            assert_eq!(row.properties.get("A"), Some(ValueRef::Int32(1)));
            assert_eq!(matches!(row.properties.get("B7"), Some(ValueRef::Unreadable(_))), repeated);
        }
    }
}
