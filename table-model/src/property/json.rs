//! Fields that are stored as JSON, and the check that a written value reads back unchanged.

use std::{any, cell::Cell};

use serde::{
    Serialize, Serializer,
    de::DeserializeOwned,
    ser::{self, Error as _, SerializeMap},
};
use serde_json::Error;
use table_store::{Properties, PropertyType, Value, ValueRef, error::PropertyProblem, unstable::PropertyName};

use super::{AsJson, ByValue, Json, Opaque, Single, Store, found};

/// The JSON of `None` and `()`, which are stored as no property.
const NULL: &str = "null";
/// Number of nested arrays and objects that `serde_json` reads.
const DEPTH: usize = 127;

impl<T: AsJson> Store<T> for Json {
    type Arg = ByValue<T>;
    // An `Option` writes no property for `None`.
    type Order = Opaque;
    type Shape = Single;

    const TYPE: PropertyType = PropertyType::Json;
    // An `Option` writes no property for `None`.
    const IS_OPTIONAL: bool = true;

    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        if let Some(text) = json(value)? {
            properties.push_named(name, ValueRef::String(&text));
        }
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        let expected = || format!("Edm.String of the JSON of a `{}`", any::type_name::<T>()).into();
        let text = match value {
            Some(ValueRef::String(text)) => text,
            None => NULL,
            other => return Err(PropertyProblem { expected: expected(), found: found(other) }),
        };
        serde_json::from_str(text).map_err(|error| PropertyProblem {
            expected: expected(),
            found: value.map_or_else(|| found(None), |_| format!("another text: {error}")),
        })
    }

    fn arg_value(arg: T) -> Result<Option<Value>, PropertyProblem> {
        Ok(json(&arg)?.map(Value::String))
    }
}

/// Returns the JSON of a value; `None` for `null`, which is stored as no property.
///
/// The text is read again, and what was read is compared with the value: by its text, and by the number of its `Some`s,
/// because JSON has `null` for `None` and for a `Some` of an empty value.
pub(super) fn json<T: Serialize + DeserializeOwned>(value: &T) -> Result<Option<String>, PropertyProblem> {
    let unfit = |found: String| PropertyProblem {
        expected: format!("a `{}` whose JSON reads back as the same value", any::type_name::<T>()).into(),
        found,
    };
    let failed = |error: Error| unfit(error.to_string());
    let (text, somes) = written(value).map_err(failed)?;
    let read: T =
        serde_json::from_str(&text).map_err(|error| unfit(format!("one whose JSON cannot be read back: {error}")))?;
    let (again, read_somes) = written(&read).map_err(failed)?;
    let is_same = again == text || sorted(&again).map_err(failed)? == sorted(&text).map_err(failed)?;
    if !is_same || read_somes != somes {
        return Err(unfit("one whose JSON is read back as another value".to_owned()));
    }
    Ok(Some(text).filter(|text| text != NULL))
}

/// Returns JSON as a value that does not depend on the order of entries and elements, in which two equal sets of another
/// crate may differ.
fn sorted(text: &str) -> Result<serde_json::Value, Error> {
    fn sort(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Array(elements) => {
                elements.iter_mut().for_each(sort);
                elements.sort_by_cached_key(ToString::to_string);
            }
            serde_json::Value::Object(entries) => entries.values_mut().for_each(sort),
            _ => {}
        }
    }

    let mut value = serde_json::from_str(text)?;
    sort(&mut value);
    Ok(value)
}

/// Returns the JSON of a value, and the number of `Some`s in it. Returns an error if JSON cannot express another part of it.
fn written<T: Serialize>(value: &T) -> Result<(String, usize), Error> {
    let somes = Cell::new(0);
    let text = value.serialize(Writer { depth: 0, somes: &somes })?;
    Ok((text, somes.get()))
}

/// A serializer of JSON as `serde_json` writes it, except that a `HashSet` or a `HashMap` is written in the order of its
/// texts, at any depth: two equal ones have different orders, and rows that hold them are compared. It refuses NaN and
/// infinities, which `serde_json` would write as `null`, and values that are nested too deeply.
#[derive(Clone, Copy)]
struct Writer<'a> {
    depth: usize,
    /// Number of `Some`s so far.
    somes: &'a Cell<usize>,
}

impl<'a> Writer<'a> {
    /// Returns the serializer of a value within more arrays and objects. The limit also bounds the depth of the stack.
    fn deeper(self, levels: usize) -> Result<Self, Error> {
        let depth = self.depth + levels;
        if depth > DEPTH {
            let problem = format_args!("one that is nested more than {DEPTH} deep, which cannot be read back");
            return Err(Error::custom(problem));
        }
        Ok(Self { depth, ..self })
    }

    /// Begins an array or an object, in an object with the name of a variant if there is one.
    fn begin(self, brackets: [char; 2], variant: Option<&'static str>) -> Result<Pieces<'a>, Error> {
        let inner = self.deeper(1 + usize::from(variant.is_some()))?;
        Ok(Pieces { inner, brackets, variant, is_sorted: false, is_raw: false, key: String::new(), texts: Vec::new() })
    }
}

/// The pieces of an array or an object.
struct Pieces<'a> {
    inner: Writer<'a>,
    brackets: [char; 2],
    variant: Option<&'static str>,
    /// True if the texts have no order of their own.
    is_sorted: bool,
    /// True if the only field is a text of JSON: that of a `RawValue`, or a number of many digits.
    is_raw: bool,
    key: String,
    texts: Vec<String>,
}

impl Pieces<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let value = value.serialize(self.inner)?;
        let key = std::mem::take(&mut self.key);
        self.texts.push(if key.is_empty() { value } else { format!("{key}:{value}") });
        Ok(())
    }

    fn push_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        if self.is_raw {
            self.texts.push(serde_json::from_str(&value.serialize(self.inner)?)?);
            return Ok(());
        }
        self.key = serde_json::to_string(name)?;
        self.push(value)
    }

    fn finish(mut self) -> Result<String, Error> {
        if self.is_raw {
            return Ok(self.texts.concat());
        }
        if self.is_sorted {
            self.texts.sort_unstable();
        }
        let [open, close] = self.brackets;
        let text = format!("{open}{}{close}", self.texts.join(","));
        match self.variant {
            None => Ok(text),
            Some(variant) => Ok(format!("{{{}:{text}}}", serde_json::to_string(variant)?)),
        }
    }
}

/// Checks whether a type, or a reference to it, is a collection without an order.
fn is_unordered<I>() -> bool {
    // No trait distinguishes these types. A name that is another one in a later release of Rust only leaves them unordered,
    // which a test notices.
    let name = any::type_name::<I>().trim_start_matches('&');
    let path = name.split('<').next().unwrap_or_default();
    matches!(path.rsplit("::").next(), Some("HashSet" | "HashMap"))
}

/// An object of one entry, of which only the key matters.
struct OfKey<'a, K: ?Sized>(&'a K);

impl<K: Serialize + ?Sized> Serialize for OfKey<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, ())])
    }
}

/// Implements the functions of scalars.
macro_rules! scalars {
    ($($method:ident($type:ty);)*) => {$(
        fn $method(self, value: $type) -> Result<String, Error> {
            serde_json::to_string(&value)
        }
    )*};
}

impl<'a> Serializer for Writer<'a> {
    type Ok = String;
    type Error = Error;
    type SerializeSeq = Pieces<'a>;
    type SerializeTuple = Pieces<'a>;
    type SerializeTupleStruct = Pieces<'a>;
    type SerializeTupleVariant = Pieces<'a>;
    type SerializeMap = Pieces<'a>;
    type SerializeStruct = Pieces<'a>;
    type SerializeStructVariant = Pieces<'a>;

    scalars! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
    }

    fn serialize_f32(self, value: f32) -> Result<String, Error> {
        self.serialize_f64(value.into())?;
        serde_json::to_string(&value)
    }

    fn serialize_f64(self, value: f64) -> Result<String, Error> {
        if value.is_finite() {
            serde_json::to_string(&value)
        } else {
            Err(Error::custom(format_args!("one that holds {value}, for which JSON has no word")))
        }
    }

    fn serialize_none(self) -> Result<String, Error> {
        Ok(NULL.to_owned())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Error> {
        self.somes.set(self.somes.get() + 1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<String, Error> {
        Ok(NULL.to_owned())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, Error> {
        Ok(NULL.to_owned())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<String, Error> {
        serde_json::to_string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<String, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<String, Error> {
        let mut pieces = self.begin(OBJECT, None)?;
        pieces.push_field(variant, value)?;
        pieces.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Pieces<'a>, Error> {
        self.begin(ARRAY, None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Pieces<'a>, Error> {
        self.begin(ARRAY, None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Pieces<'a>, Error> {
        self.begin(ARRAY, None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Pieces<'a>, Error> {
        self.begin(ARRAY, Some(variant))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Pieces<'a>, Error> {
        // A struct with `#[serde(flatten)]` does not know its length. The flattened field may be a `HashMap`.
        Ok(Pieces { is_sorted: length.is_none(), ..self.begin(OBJECT, None)? })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Pieces<'a>, Error> {
        Ok(Pieces { is_raw: name.starts_with("$serde_json::private::"), ..self.begin(OBJECT, None)? })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Pieces<'a>, Error> {
        self.begin(OBJECT, Some(variant))
    }

    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, elements: I) -> Result<String, Error> {
        let mut pieces = Pieces { is_sorted: is_unordered::<I>(), ..self.begin(ARRAY, None)? };
        elements.into_iter().try_for_each(|element| pieces.push(&element))?;
        pieces.finish()
    }

    fn collect_map<K: Serialize, V: Serialize, I: IntoIterator<Item = (K, V)>>(
        self,
        entries: I,
    ) -> Result<String, Error> {
        let mut pieces = Pieces { is_sorted: is_unordered::<I>(), ..self.begin(OBJECT, None)? };
        entries.into_iter().try_for_each(|(key, value)| pieces.serialize_entry(&key, &value))?;
        pieces.finish()
    }
}

const ARRAY: [char; 2] = ['[', ']'];
const OBJECT: [char; 2] = ['{', '}'];

impl SerializeMap for Pieces<'_> {
    type Ok = String;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let text = serde_json::to_string(&OfKey(key))?;
        let key = text.strip_prefix('{').and_then(|text| text.strip_suffix(":null}"));
        key.unwrap_or_default().clone_into(&mut self.key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.push(value)
    }

    fn end(self) -> Result<String, Error> {
        self.finish()
    }
}

/// Implements the traits of the other compound values.
macro_rules! compounds {
    ($($trait:ident: $method:ident($($name:ident: $type:ty)?) = $push:ident;)*) => {$(
        impl ser::$trait for Pieces<'_> {
            type Ok = String;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($name: $type,)? part: &T) -> Result<(), Error> {
                self.$push($($name,)? part)
            }

            fn end(self) -> Result<String, Error> {
                self.finish()
            }
        }
    )*};
}

compounds! {
    SerializeSeq: serialize_element() = push;
    SerializeTuple: serialize_element() = push;
    SerializeTupleStruct: serialize_field() = push;
    SerializeTupleVariant: serialize_field() = push;
    SerializeStruct: serialize_field(name: &'static str) = push_field;
    SerializeStructVariant: serialize_field(name: &'static str) = push_field;
}
