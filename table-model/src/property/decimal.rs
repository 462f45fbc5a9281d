//! Decimal numbers as properties: their text, or an integer of a fixed number of places.

use rust_decimal::Decimal;
use table_store::{Properties, PropertyType, Value, ValueRef, error::PropertyProblem, unstable::PropertyName};

use super::{
    Always, ByEquality, ByOrder, ByValue, Property, Scaled, Single, Store, found, integer,
    texts::{texts, unread},
};
use crate::key::KeyPart;

texts! {
    #[diagnostic::do_not_recommend]
    Decimal: ByEquality, PropertyType::Decimal, "a decimal such as 1.50", super::texts::write_shown, |value| match value {
        ValueRef::String(text) => Self::from_str_exact(text).ok(),
        ValueRef::Int32(value) => Some(value.into()),
        ValueRef::Int64(value) => Some(value.into()),
        _ => None,
    };
}

/// A type that [`Scaled`] stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no decimal places",
    label = "not a decimal number",
    note = "`#[property(scale = N)]` is for `rust_decimal::Decimal` and an `Option` of it, with the feature `decimal` of \
            `table-runtime`"
)]
pub trait AsDecimal: Sized {
    /// `true` for an `Option`.
    #[doc(hidden)]
    const IS_OPTIONAL: bool;

    #[doc(hidden)]
    fn decimal(&self) -> Option<Decimal>;

    #[doc(hidden)]
    fn of_decimal(decimal: Option<Decimal>) -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl AsDecimal for Decimal {
    const IS_OPTIONAL: bool = false;

    fn decimal(&self) -> Option<Decimal> {
        Some(*self)
    }

    fn of_decimal(decimal: Option<Decimal>) -> Option<Self> {
        decimal
    }
}

#[diagnostic::do_not_recommend]
impl AsDecimal for Option<Decimal> {
    const IS_OPTIONAL: bool = true;

    fn decimal(&self) -> Option<Decimal> {
        *self
    }

    fn of_decimal(decimal: Option<Decimal>) -> Option<Self> {
        Some(decimal)
    }
}

impl<T: AsDecimal, const PLACES: u32> Store<T> for Scaled<PLACES> {
    type Arg = ByValue<Decimal>;
    type Order = ByOrder;
    type Shape = Single;

    const TYPE: PropertyType = PropertyType::Scaled { places: PLACES };
    const IS_OPTIONAL: bool = T::IS_OPTIONAL;

    fn write(value: &T, name: PropertyName<'_>, properties: &mut Properties) -> Result<(), PropertyProblem> {
        if let Some(decimal) = value.decimal() {
            properties.push_named(name, ValueRef::Int64(places(decimal, PLACES)?));
        }
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        let decimal = value.map(|value| Decimal::try_from_i128_with_scale(integer(value)?.into(), PLACES).ok());
        let read = match decimal {
            Some(None) => None,
            decimal => T::of_decimal(decimal.flatten()),
        };
        read.ok_or_else(|| PropertyProblem { expected: expected(PLACES).into(), found: found(value) })
    }

    fn arg_value(arg: Decimal) -> Result<Option<Value>, PropertyProblem> {
        places(arg, PLACES).map(|number| Some(Value::Int64(number)))
    }
}

fn expected(places: u32) -> String {
    format!("a decimal with at most {places} places, and an Edm.Int64 without its point")
}

/// Returns a number without its point, which is before so many places.
fn places(decimal: Decimal, places: u32) -> Result<i64, PropertyProblem> {
    let number = KeyPart::to_value(&decimal).unscaled(places).ok().and_then(|number| i64::try_from(number).ok());
    number.ok_or_else(|| PropertyProblem { expected: expected(places).into(), found: decimal.to_string() })
}
