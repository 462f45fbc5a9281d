//! Fields that are stored as JSON, and the check that a written value reads back unchanged.

use std::{cell::Cell, collections::BTreeMap};

use serde::{
    Serialize, Serializer,
    de::DeserializeOwned,
    ser::{self, Error as _},
};
use serde_json::{Error, value::RawValue};
use table_store::{Properties, PropertyType, Value, ValueRef, error::PropertyProblem, unstable::PropertyName};

use super::{AsJson, Json, Opaque, Single, Store, found};

/// The JSON of `None` and `()`, which are stored as no property.
const NULL: &str = "null";
/// Number of nested arrays and objects that `serde_json` reads.
const DEPTH: usize = 127;

impl<T: AsJson> Store<T> for Json {
    type Arg<'a> = T;
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
/// The text is read again, and what was read is compared with the value: by its text, and by the number of its `Some`s,
/// because JSON has `null` for `None` and for a `Some` of an empty value.
pub(super) fn json<T: Serialize + DeserializeOwned>(value: &T) -> Result<Option<String>, PropertyProblem> {
    let unfit = |found: String| PropertyProblem {
        expected: format!("a `{}` whose JSON reads back as the same value", std::any::type_name::<T>()).into(),
        found,
    };
    let failed = |error: Error| unfit(error.to_string());
    let somes = count_somes(value).map_err(failed)?;
    let text = serde_json::to_string(value).map_err(failed)?;
    let read: T =
        serde_json::from_str(&text).map_err(|error| unfit(format!("one whose JSON cannot be read back: {error}")))?;
    let again = serde_json::to_string(&read).map_err(failed)?;
    let is_same = again == text || sorted(&again).map_err(failed)? == sorted(&text).map_err(failed)?;
    if !is_same || count_somes(&read).map_err(failed)? != somes {
        return Err(unfit("one whose JSON is read back as another value".to_owned()));
    }
    let text = in_order::<T>(text).map_err(failed)?;
    Ok(Some(text).filter(|text| text != NULL))
}

/// Returns the JSON of a `HashSet` or a `HashMap` in the order of its texts, and any other JSON as it is. Two equal sets
/// have different orders, and the rows of an index that hold a set are compared with the entity's.
fn in_order<T>(text: String) -> Result<String, Error> {
    // No trait distinguishes these types from others that serde reads. A name that is another one in a later release of
    // Rust only leaves them unordered, which a test notices.
    let name = std::any::type_name::<T>();
    let name = name.strip_prefix("core::option::Option<").unwrap_or(name);
    if text == NULL {
        Ok(text)
    } else if name.starts_with("std::collections::hash::set::HashSet<") {
        let mut elements: Vec<&RawValue> = serde_json::from_str(&text)?;
        elements.sort_by_key(|element| element.get());
        serde_json::to_string(&elements)
    } else if name.starts_with("std::collections::hash::map::HashMap<") {
        let entries: BTreeMap<String, &RawValue> = serde_json::from_str(&text)?;
        serde_json::to_string(&entries)
    } else {
        Ok(text)
    }
}

/// Returns JSON as a value that does not depend on the order of entries and elements, in which two equal `HashMap`s or
/// `HashSet`s differ.
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

/// Returns the number of `Some`s in the value. Returns an error if JSON cannot express another part of it.
fn count_somes<T: Serialize>(value: &T) -> Result<usize, Error> {
    let somes = Cell::new(0);
    value.serialize(Check { depth: 0, somes: &somes })?;
    Ok(somes.get())
}

/// A serializer that writes nothing and counts `Some`s. It refuses NaN and infinities, which `serde_json` would write as
/// `null`, and values that are nested too deeply.
#[derive(Clone, Copy)]
struct Check<'a> {
    depth: usize,
    /// Number of `Some`s so far.
    somes: &'a Cell<usize>,
}

impl Check<'_> {
    /// Returns the serializer of a value within more arrays and objects. The limit also bounds the depth of the stack.
    fn deeper(self, levels: usize) -> Result<Self, Error> {
        let depth = self.depth + levels;
        if depth > DEPTH {
            let problem = format_args!("one that is nested more than {DEPTH} deep, which cannot be read back");
            return Err(Error::custom(problem));
        }
        Ok(Self { depth, ..self })
    }
}

/// Implements the functions of scalars, which JSON can express.
macro_rules! scalars {
    ($($method:ident($($argument:ty),*);)*) => {$(
        fn $method(self $(, _: $argument)*) -> Result<(), Error> {
            Ok(())
        }
    )*};
}

/// Implements the functions that begin a compound value of one or two levels.
macro_rules! compounds {
    ($($method:ident($($argument:ty),+): $levels:literal;)*) => {$(
        fn $method(self, $(_: $argument),+) -> Result<Self, Error> {
            self.deeper($levels)
        }
    )*};
}

impl Serializer for Check<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

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
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    compounds! {
        serialize_seq(Option<usize>): 1;
        serialize_tuple(usize): 1;
        serialize_tuple_struct(&'static str, usize): 1;
        serialize_tuple_variant(&'static str, u32, &'static str, usize): 2;
        serialize_map(Option<usize>): 1;
        serialize_struct(&'static str, usize): 1;
        serialize_struct_variant(&'static str, u32, &'static str, usize): 2;
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if value.is_finite() {
            Ok(())
        } else {
            Err(Error::custom(format_args!("one that holds {value}, for which JSON has no word")))
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.somes.set(self.somes.get() + 1);
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self.deeper(1)?)
    }
}

/// Implements the traits of compound values, which check each part.
macro_rules! parts {
    ($($trait:ident: $($method:ident($($name:ty)?)),+;)*) => {$(
        impl ser::$trait for Check<'_> {
            type Ok = ();
            type Error = Error;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? part: &T) -> Result<(), Error> {
                part.serialize(*self)
            })+

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}
