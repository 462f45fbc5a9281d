//! The ways to store a field: as its type defines, as text, as JSON, as the integer of a decimal, or with a default.

use std::{fmt::Display, marker::PhantomData, str::FromStr};

use serde::{Serialize, de::DeserializeOwned};
use table_store::{
    Properties, PropertiesRef, PropertyType, Value, ValueRef,
    error::PropertyProblem,
    unstable::{After, PropertyName},
};

use super::{
    ByEquality, ByValue, ColumnLoad, Passed, Passing, Property, found,
    nested::{self, name_of},
    shape::{Shape, Single},
};
use crate::{
    codec::{EntityReader, PropertyWriter},
    layout::{AsRead, Parts, PropertyInfo, TypeName},
    sealed::Sealed,
};

/// A way to store a field of the type `T`: as the type itself defines, as text or as JSON.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be stored this way",
    note = "`#[property(text)]` needs `Display` and `FromStr`, `#[property(json)]` serde's `Serialize` and \
            `DeserializeOwned`, `#[property(default)]` also `Default`, `#[property(scale = N)]` the feature `decimal` and \
            `rust_decimal::Decimal`"
)]
pub trait Store<T>: Sized + Sealed<T> {
    /// How filters and patches take a value.
    type Arg: Passing;
    /// Comparisons that a filter may make: [`ByOrder`](super::ByOrder), [`ByEquality`] or [`Opaque`](super::Opaque).
    type Order;
    /// Columns of the field's own properties.
    type Shape: Shape;

    /// Type of the property, which layouts record.
    const TYPE: PropertyType;

    #[doc(hidden)]
    const LOAD: ColumnLoad<T> = ColumnLoad::Property(Self::load_in, Self::PARTS);

    /// Properties of a field that is stored as several; empty for a single one.
    #[doc(hidden)]
    const PARTS: Parts = &[];
    /// Fields of the field's type; empty if it is no struct and no enum with data.
    #[doc(hidden)]
    const INNER: &'static [PropertyInfo] = &[];
    /// `true` if a row may be without any of them.
    #[doc(hidden)]
    const IS_OPTIONAL: bool = false;
    /// `true` if the field then has its default.
    #[doc(hidden)]
    const IS_DEFAULT: bool = false;

    /// Description of a property without its names.
    #[doc(hidden)]
    const INFO: PropertyInfo = PropertyInfo {
        edm: Some(Self::TYPE),
        ty: TypeName::of::<T>(),
        as_read: AsRead::new(as_read::<T, Self>),
        parts: Self::PARTS,
        fields: Self::INNER,
        is_optional: Self::IS_OPTIONAL,
        is_default: Self::IS_DEFAULT,
        is_always: !Self::IS_OPTIONAL,
        most: Self::MOST,
        ..PropertyInfo::named("", "")
    };
    /// The most properties that one row has for the field.
    #[doc(hidden)]
    const MOST: usize = 1;

    #[doc(hidden)]
    #[inline]
    fn store(value: &T, name: &'static str, properties: &mut PropertyWriter<'_>) -> table_store::Result<()> {
        Self::store_in(value, name, Self::PARTS, properties)
    }

    #[doc(hidden)]
    #[inline]
    fn load(name: &'static str, row: &mut EntityReader<'_>) -> table_store::Result<T> {
        Self::load_in(name, Self::PARTS, row)
    }

    #[doc(hidden)]
    #[inline]
    fn store_in(
        value: &T,
        name: &'static str,
        parts: Parts,
        properties: &mut PropertyWriter<'_>,
    ) -> table_store::Result<()> {
        let name = name_of(name, parts);
        properties.write(name, |properties| Self::write(value, name, properties))
    }

    #[doc(hidden)]
    #[inline]
    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> table_store::Result<T> {
        row.property(name_of(name, parts), Self::TYPE, |value| Self::read(value))
    }

    /// Writes the field.
    ///
    /// # Errors
    /// Returns an error if the field cannot be stored in this way.
    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem>;

    /// Reads the field.
    ///
    /// # Errors
    /// Returns an error if the property does not fit the field.
    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem>;

    /// Returns the value of an argument of a filter or a patch.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`write`](Self::write).
    fn arg_value(arg: Passed<'_, Self::Arg>) -> Result<Option<Value>, PropertyProblem>;
}

/// Returns the properties as which a field is written that is read from these; `None` if it cannot be read.
pub(super) fn as_read<T, S: Store<T>>(name: &'static str, row: PropertiesRef<'_>) -> Option<Properties> {
    nested::as_read(row, |row| S::load(name, row), |value, properties| S::store(value, name, properties))
}

/// Checks whether a value is stored as no property.
fn is_nothing<T, S: Store<T>>(value: &T) -> bool {
    let mut properties = Properties::default();
    PropertyWriter::without_row(&mut properties, |writer| S::store(value, "", writer)).is_ok() && properties.is_empty()
}

/// A field that is a [`Property`] itself.
pub struct Native;
/// A field stored as `Edm.String` through `Display` and `FromStr`.
pub struct DisplayText;
/// An `Option` of a field that [`DisplayText`] stores.
pub struct OptionText;
/// A field stored as `Edm.String` of JSON, through serde.
///
/// When a field is written, its JSON is parsed again and compared with the field. A value that does not read back
/// unchanged is refused: a value that contains NaN or an infinity, a value that is nested more than 127 levels deep,
/// and `Some(None)` of an `Option<Option<T>>`, which JSON writes as `null`, as it does `None`.
///
/// A `HashSet` or a `HashMap` is written in the order of its texts, at any depth, because equal ones have different orders: two
/// rows that hold equal values have one text. So are the fields of a struct with `#[serde(flatten)]`.
pub struct Json;
/// A field that gets its `Default` value if the row has no such property.
///
/// A value that is stored as no property, such as one whose JSON is `null`, is refused unless the default is stored as none too:
/// it would be read as the default.
pub struct Defaulted<S>(PhantomData<S>);
/// `#[property(scale = N)]`: a decimal number as the integer of its places, which filters compare in order.
pub struct Scaled<const PLACES: u32>;

// Without the bounds of `Store`, which the compiler would then check, and report, once more.
impl<T> Sealed<T> for Native {}
impl<T> Sealed<T> for DisplayText {}
impl<T> Sealed<T> for OptionText {}
impl<T> Sealed<T> for Json {}
impl<T, S> Sealed<T> for Defaulted<S> {}
impl<T, const PLACES: u32> Sealed<T> for Scaled<PLACES> {}

impl<T: Property> Store<T> for Native {
    type Arg = T::Arg;
    type Order = T::Order;
    type Shape = T::Shape;

    const TYPE: PropertyType = T::TYPE;
    const PARTS: Parts = T::PARTS;
    const INNER: &'static [PropertyInfo] = T::INNER;
    const IS_OPTIONAL: bool = T::IS_OPTIONAL;
    const MOST: usize = T::MOST;

    #[inline]
    fn store_in(
        value: &T,
        name: &'static str,
        parts: Parts,
        properties: &mut PropertyWriter<'_>,
    ) -> table_store::Result<()> {
        value.store_in(name, parts, properties)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the name and the type are constants: see `EntityReader::property`")]
    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> table_store::Result<T> {
        T::load_in(name, parts, row)
    }

    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        if let Some(value) = value.to_value(&mut String::new())? {
            properties.push_named(name, value);
        }
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        T::from_value(value)
    }

    fn arg_value(arg: Passed<'_, T::Arg>) -> Result<Option<Value>, PropertyProblem> {
        T::arg_value(arg)
    }
}

/// A field that [`DisplayText`] stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as text",
    label = "needs `Display` and `FromStr`, for `{Self}`",
    note = "`#[property(text)]` writes a field through `Display` and reads it through `FromStr`, whose error has to be \
            `Display` too: implement them for `{Self}`, or put `#[property(json)]` on the field to store it through serde",
    note = "a type that is a property itself, such as a time or a number, needs no attribute: remove `text`"
)]
pub trait AsText: Display + FromStr<Err: Display> {}

#[diagnostic::do_not_recommend]
impl<T: Display + FromStr<Err: Display>> AsText for T {}

/// A field that [`Json`] stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as JSON",
    label = "needs serde's `Serialize` and `Deserialize`",
    note = "write `#[derive(serde::Serialize, serde::Deserialize)]` on your struct or enum: `{Self}`, or the one in it",
    note = "for a type of another crate, see whether that one has a feature `serde`"
)]
pub trait AsJson: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> AsJson for T {}

impl<T: AsText> Store<T> for DisplayText {
    type Arg = ByValue<T>;
    type Order = ByEquality;
    type Shape = Single;

    const TYPE: PropertyType = PropertyType::String;

    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        properties.push_named(name, ValueRef::String(&value.to_string()));
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        let expected = || format!("Edm.String of a `{}`", std::any::type_name::<T>()).into();
        match value {
            Some(ValueRef::String(text)) => text.parse().map_err(|error: T::Err| PropertyProblem {
                expected: expected(),
                found: format!("a text that is none{}", After(": ", &error.to_string())),
            }),
            other => Err(PropertyProblem { expected: expected(), found: found(other) }),
        }
    }

    fn arg_value(arg: T) -> Result<Option<Value>, PropertyProblem> {
        Ok(Some(Value::String(arg.to_string())))
    }
}

impl<T: AsText> Store<Option<T>> for OptionText {
    type Arg = ByValue<T>;
    type Order = ByEquality;
    type Shape = Single;

    const TYPE: PropertyType = PropertyType::String;
    const IS_OPTIONAL: bool = true;

    fn write(value: &Option<T>, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        value.as_ref().map_or(Ok(()), |value| DisplayText::write(value, name, properties))
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<Option<T>, PropertyProblem> {
        value.map(|value| DisplayText::read(Some(value))).transpose()
    }

    fn arg_value(arg: T) -> Result<Option<Value>, PropertyProblem> {
        <DisplayText as Store<T>>::arg_value(arg)
    }
}

/// A field with `#[property(default)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `Default`",
    label = "`#[property(default)]` needs it, for rows without the property",
    note = "write `#[derive(Default)]` on your type, and `#[default]` on a variant of an enum",
    note = "for a type of another crate, write an `Option`, or a newtype with its own `Default`"
)]
pub trait HasDefault: Default {}

#[diagnostic::do_not_recommend]
impl<T: Default> HasDefault for T {}

impl<T: HasDefault, S: Store<T>> Store<T> for Defaulted<S> {
    type Arg = S::Arg;
    type Order = S::Order;
    type Shape = <S::Shape as Shape>::Optional;

    const TYPE: PropertyType = S::TYPE;
    const PARTS: Parts = S::PARTS;
    const INNER: &'static [PropertyInfo] = S::INNER;
    const IS_OPTIONAL: bool = true;
    // The default of an `Option` is `None`, which is nothing.
    const IS_DEFAULT: bool = !S::IS_OPTIONAL;
    const MOST: usize = S::MOST;

    #[inline]
    fn store_in(
        value: &T,
        name: &'static str,
        parts: Parts,
        properties: &mut PropertyWriter<'_>,
    ) -> table_store::Result<()> {
        let before = properties.length();
        S::store_in(value, name, parts, properties)?;
        // What is written as nothing is read as the default.
        if S::IS_OPTIONAL && properties.length() == before && !is_nothing::<T, S>(&T::default()) {
            let expected = "a value that is stored, because a row without it is read as the default".into();
            return properties.write(name_of(name, parts), |_| Err(PropertyProblem { expected, found: found(None) }));
        }
        Ok(())
    }

    #[inline]
    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> table_store::Result<T> {
        if S::PARTS.is_empty() {
            return row.property(name_of(name, parts), Self::TYPE, |value| Self::read(value));
        }
        // The derive reports it for a struct that is not generic.
        const { nested::check_decisive(S::PARTS) };
        if row.has_value(name, parts, S::PARTS)? { S::load_in(name, parts, row) } else { Ok(T::default()) }
    }

    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        S::write(value, name, properties)
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        if value.is_none() { Ok(T::default()) } else { S::read(value) }
    }

    fn arg_value(arg: Passed<'_, S::Arg>) -> Result<Option<Value>, PropertyProblem> {
        S::arg_value(arg)
    }
}
