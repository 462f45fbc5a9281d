//! Fields that are stored as JSON, and the check that a written value reads back unchanged.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
};

use serde::{
    Serialize, Serializer,
    de::DeserializeOwned,
    ser::{self, Error as _},
};
use serde_json::ser::{CompactFormatter, Formatter};

use super::{AsJson, Json, Opaque, PropertyProblem, Store, found};
use crate::{Properties, PropertyType, Value, ValueRef};

/// The JSON of `None` and `()`, which are stored as no property.
const NULL: &str = "null";
/// Number of nested arrays and objects that `serde_json` reads.
const DEPTH: usize = 127;

impl<T: AsJson> Store<T> for Json {
    type Arg<'a> = T;
    // An `Option` writes no property for `None`.
    type Order = Opaque;

    const TYPE: PropertyType = PropertyType::String;

    fn write(value: &T, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
        if let Some(text) = json(value)? {
            properties.push(name, ValueRef::String(&text));
        }
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        let expected = || format!("Edm.String of the JSON of a `{}`", std::any::type_name::<T>()).into();
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
/// The text is parsed and the parsed value compared with the given one, because JSON cannot express NaN, infinities and
/// `Some(None)`, and because a text may be nested more deeply than `serde_json` reads.
fn json<T: Serialize + DeserializeOwned>(value: &T) -> Result<Option<String>, PropertyProblem> {
    let unfit = |found: String| PropertyProblem {
        expected: format!("a `{}` whose JSON reads back as the same value", std::any::type_name::<T>()).into(),
        found,
    };
    let text = write(value).map_err(|error| unfit(error.to_string()))?;
    let of_value = value.serialize(Digest).map_err(|error| unfit(error.to_string()))?;
    let parsed: T =
        serde_json::from_str(&text).map_err(|error| unfit(format!("one whose JSON cannot be read back: {error}")))?;
    let of_parsed = parsed.serialize(Digest).map_err(|error| unfit(error.to_string()))?;
    if of_value != of_parsed {
        return Err(unfit("one whose JSON is read back as another value".to_owned()));
    }
    Ok(Some(text).filter(|text| text != NULL))
}

fn write<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(128);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Shallow::default()))?;
    String::from_utf8(text).map_err(serde_json::Error::custom)
}

/// A formatter of compact JSON that refuses values that are nested too deeply. This also bounds the depth of the stack.
#[derive(Default)]
struct Shallow {
    depth: usize,
}

impl Shallow {
    fn begin(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            let problem = format!("one that is nested more than {DEPTH} deep, which cannot be read back");
            return Err(io::Error::other(problem));
        }
        Ok(())
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin()?;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin()?;
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_object(writer)
    }
}

/// A serializer that computes a hash of the serialized value. The hash depends on more than JSON can express, so that
/// equal hashes mean equal values.
///
/// Elements of sequences and entries of maps are summed, because a `HashMap` and a `HashSet` yield theirs in any order.
/// Integers are compared by value, and so are floats: the type that an untagged enum has read makes no difference. NaN
/// and infinities are refused, because JSON cannot express them.
struct Digest;

type Hashed = Result<u64, serde_json::Error>;

/// A tag that distinguishes values whose parts are the same.
#[derive(Hash)]
enum Tag {
    Bool,
    Integer,
    Float,
    Text,
    None,
    Some,
    Unit,
    Sequence,
    Tuple,
    Map,
    Entry,
    Variant,
}

fn hash(tag: Tag, value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (tag, value).hash(&mut hasher);
    hasher.finish()
}

/// The parts of a compound value.
struct Parts {
    tag: Tag,
    /// Variant of an enum.
    variant: Option<&'static str>,
    count: u64,
    sum: u64,
    /// Hash of a map's key, while its value comes next.
    key: u64,
}

impl Parts {
    fn new(tag: Tag, variant: Option<&'static str>) -> Self {
        Self { tag, variant, count: 0, sum: 0, key: 0 }
    }

    fn add(&mut self, hash: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash);
    }

    fn add_in_order(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let part = value.serialize(Digest)?;
        self.add(hash(Tag::Entry, (self.count, part)));
        Ok(())
    }

    fn add_field(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let part = value.serialize(Digest)?;
        self.add(hash(Tag::Entry, (hash(Tag::Text, name), part)));
        Ok(())
    }

    fn finish(self) -> u64 {
        let whole = hash(self.tag, (self.count, self.sum));
        self.variant.map_or(whole, |variant| hash(Tag::Variant, (variant, whole)))
    }
}

impl Serializer for Digest {
    type Ok = u64;
    type Error = serde_json::Error;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    fn serialize_bool(self, value: bool) -> Hashed {
        Ok(hash(Tag::Bool, value))
    }

    fn serialize_i8(self, value: i8) -> Hashed {
        self.serialize_i128(value.into())
    }

    fn serialize_i16(self, value: i16) -> Hashed {
        self.serialize_i128(value.into())
    }

    fn serialize_i32(self, value: i32) -> Hashed {
        self.serialize_i128(value.into())
    }

    fn serialize_i64(self, value: i64) -> Hashed {
        self.serialize_i128(value.into())
    }

    fn serialize_i128(self, value: i128) -> Hashed {
        Ok(hash(Tag::Integer, (value < 0, value.unsigned_abs())))
    }

    fn serialize_u8(self, value: u8) -> Hashed {
        self.serialize_u128(value.into())
    }

    fn serialize_u16(self, value: u16) -> Hashed {
        self.serialize_u128(value.into())
    }

    fn serialize_u32(self, value: u32) -> Hashed {
        self.serialize_u128(value.into())
    }

    fn serialize_u64(self, value: u64) -> Hashed {
        self.serialize_u128(value.into())
    }

    fn serialize_u128(self, value: u128) -> Hashed {
        Ok(hash(Tag::Integer, (false, value)))
    }

    fn serialize_f32(self, value: f32) -> Hashed {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Hashed {
        if value.is_finite() {
            Ok(hash(Tag::Float, value.to_bits()))
        } else {
            Err(Self::Error::custom(format_args!("one that holds {value}, for which JSON has no word")))
        }
    }

    fn serialize_char(self, value: char) -> Hashed {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Hashed {
        Ok(hash(Tag::Text, value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Hashed {
        Ok(hash(Tag::Sequence, value))
    }

    fn serialize_none(self) -> Hashed {
        Ok(hash(Tag::None, ()))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Hashed {
        Ok(hash(Tag::Some, value.serialize(self)?))
    }

    fn serialize_unit(self) -> Hashed {
        Ok(hash(Tag::Unit, ()))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Hashed {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Hashed {
        Ok(hash(Tag::Variant, variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Hashed {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Hashed {
        Ok(hash(Tag::Variant, (variant, value.serialize(self)?)))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Sequence, None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Tuple, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Tuple, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Tuple, Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Map, None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Map, None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, Self::Error> {
        Ok(Parts::new(Tag::Map, Some(variant)))
    }
}

impl ser::SerializeSeq for Parts {
    type Ok = u64;
    type Error = serde_json::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        let part = value.serialize(Digest)?;
        self.add(part);
        Ok(())
    }

    fn end(self) -> Hashed {
        Ok(self.finish())
    }
}

impl ser::SerializeMap for Parts {
    type Ok = u64;
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Self::Error> {
        self.key = key.serialize(Digest)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        let value = value.serialize(Digest)?;
        self.add(hash(Tag::Entry, (self.key, value)));
        Ok(())
    }

    fn end(self) -> Hashed {
        Ok(self.finish())
    }
}

/// Implements the traits of compound values whose parts have a fixed order.
macro_rules! in_order {
    ($($trait:ident $method:ident;)*) => {$(
        impl ser::$trait for Parts {
            type Ok = u64;
            type Error = serde_json::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
                self.add_in_order(value)
            }

            fn end(self) -> Hashed {
                Ok(self.finish())
            }
        }
    )*};
}

in_order! {
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! named {
    ($($trait:ident)*) => {$(
        impl ser::$trait for Parts {
            type Ok = u64;
            type Error = serde_json::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Self::Error> {
                self.add_field(name, value)
            }

            fn end(self) -> Hashed {
                Ok(self.finish())
            }
        }
    )*};
}

named!(SerializeStruct SerializeStructVariant);
