//! Keys: the conversion of values to the two texts that identify a row, and back.
//!
//! A key is a sequence of *parts*. Each part is a value with its encoding, and the derive names both. The documentation
//! of an encoding's type describes the text that the encoding writes: [`Plain`], [`Lowercase`], [`Uppercase`],
//! [`First`], [`Raw`], [`Scale`], [`Pad`], [`Reverse`], [`Time`], [`ReverseTime`] and [`Hash`](struct@Hash). [`Separated`]
//! wraps another encoding.
//!
//! # Laws
//! - A lossless encoding ([`Decode`]) reads back the value that was written.
//! - Different sequences of values have different keys if their encodings are lossless: no value can forge a delimiter.
//! - If an encoding is [`Ordered`], keys sort by UTF-16 unit in the order of the values (texts: in the order of their
//!   encoded forms), or in its reverse. If it is also [`Ranged`], this holds in composite keys too.
//! - If an encoding is [`Prefixed`], a prefix of a text, in whole characters, is written as a prefix of the encoded
//!   text.
//!
//! # Delimiters
//! Every part but the last is followed by a delimiter. The delimiter of a self-delimiting part is `_`: the encoding of
//! such a part marks its own end (an integer, a decimal, a time, a date, a GUID, a bool). The delimiter of a text part is
//! a space. Inside a text part that is not the last, a space is written as `!20` and `!` as `!21`. The delimiter is
//! therefore the lowest character, and `Smith` sorts before `Smith Jr` and `Smith-Jones`, whatever parts follow.

mod date;
mod decimal;
pub(crate) mod encoding;
mod fold;
pub(crate) mod hash;
mod integer;
mod pointer;
pub(crate) mod reader;
pub(crate) mod recorded;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod writer;

use std::borrow::Cow;

#[doc(inline)]
pub use table_store::error::KeyProblem;

pub use date::DateParts;
pub use decimal::{DecimalParts, Unscaled};
pub(crate) use encoding::escape;
pub use encoding::{
    Decode, Encode, Escape, First, Fits, Hash, Lossless, Lossy, Lowercase, Ordered, Pad, PartSink, Plain, Prefixed,
    Ranged, Raw, Reverse, ReverseTime, Scale, Separated, Textual, Time, Uppercase,
};
pub use integer::IntegerType;
pub(crate) use reader::{KeyReader, RowContext};
#[doc(inline)]
pub use table_store::backend::KeyRange;
pub use time::{ToTick, UnixTime};
pub use writer::KeyBuffer;
pub(crate) use writer::{KeyWriter, copy_part, write_part};

use table_store::{Properties, ValueRef, error::PropertyProblem};

use crate::sealed::Sealed;

/// A type that can be part of a key.
///
/// Derive it on a newtype of such a type, or on an enum of unit variants, which keys hold as the name of its variant.
///
/// ```
/// use table_runtime::{KeyPart, TableEntity};
///
/// #[derive(KeyPart, Clone, Debug, PartialEq)]
/// struct Customer(String);
///
/// #[derive(TableEntity)]
/// struct Order {
///     #[partition_key]
///     customer: Customer,
///     #[row_key]
///     number: u32,
/// }
/// let customer = Customer("Müller".into());
/// assert_eq!(Order::key(&customer, 7).explain().row_key(), Some("0000000007"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "needs a derive, a feature of `table-runtime`, or another type",
    note = "a newtype or a unit enum: `#[derive(KeyPart)]` on it, and beside it `#[derive(Property)]` if an index is over \
            the field, which is a property too",
    note = "`time::OffsetDateTime`, `chrono::DateTime<Utc>`, `jiff::Timestamp`, the dates of these crates, and `uuid::Uuid` \
            need the feature of `table-runtime` with the crate's name, such as `features = [\"chrono\"]`, and \
            `rust_decimal::Decimal` the feature `decimal`; a time without a zone, such as `PrimitiveDateTime`, is none of \
            them",
    note = "a struct of several fields: put each of them into the entity, with `#[partition_key]` or `#[row_key]`; an index \
            names a field of it on the entity, `#[index(city, same_partition, row(address.city))]`, and of an enum with \
            data `row(payment.card.last4)`; an index over a collection needs `each`: `#[index(tag, each)]`, or \
            `row(each(tags))`",
    note = "parts of keys are text, integers, decimals, `bool`, `char`, ids, dates and times: write `String` for `&str`, \
            `u64` for `usize`, an integer such as cents for a float, and bytes as text, such as hex, or as a `Uuid` if \
            there are 16; an `Option` can be in an index, and not in the entity's own key"
)]
pub trait KeyPart: Sized {
    /// Kind of the type, which determines its encodings.
    type Kind: Kind;
    /// Type of a query's argument: text is borrowed, all other values are passed by value.
    type Arg<'a>;

    /// Returns the value in the form that encodings take.
    fn to_value(&self) -> <Self::Kind as Kind>::Value<'_>;

    /// Converts a query's argument to the form that encodings take.
    fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a>;

    /// Converts a value that was read from a key.
    ///
    /// # Errors
    /// Returns an error if no value of this type has the key, for example if the name of a variant is unknown.
    fn from_key(key: <Self::Kind as Kind>::Owned<'_>) -> Result<Self, KeyProblem>;
}

/// A kind of key parts, which all have the same encodings.
pub trait Kind: Sealed {
    /// Name of the kind, such as `text` or `u32`.
    const NAME: &'static str;
    /// Value in the form that encodings take.
    type Value<'a>: Copy;
    /// Value in the form in which it is read from a key.
    type Owned<'a>;
    /// Type in which queries take a newtype `T` of this kind.
    type Pass<'a, T: 'a>;

    /// Returns a value that descriptions of layouts show, for every field of this kind.
    fn example() -> Self::Value<'static>;

    /// Writes a value as a property of a pointer. The property has the type that `Property` defines for the value, or
    /// is text if there is none. A wide integer is text without padding, and a decimal is text without zeros at its end.
    ///
    /// # Errors
    /// Returns an error if no property can hold the value.
    fn store(value: Self::Value<'_>, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem>;

    /// Reads the value of a pointer's property. Returns `None` if the property has another type.
    fn load(value: ValueRef<'_>) -> Option<Self::Owned<'_>>;
}

/// The kinds of key parts.
pub mod kind {
    use std::{borrow::Cow, marker::PhantomData};

    use table_store::{Guid, Properties, Ticks, ValueRef, error::PropertyProblem};

    use super::{DateParts, DecimalParts, Kind, UnixTime, pointer};
    use crate::sealed::sealed;

    /// Examples: 2010-05-28, and noon of that day.
    const DATE: DateParts = DateParts { year: 2010, month: 5, day: 28 };
    const NOON: UnixTime = UnixTime { seconds: 1_275_048_000, nanoseconds: 0 };
    const SEVEN: DecimalParts = DecimalParts { mantissa: 7, scale: 0 };
    /// An example of a random GUID.
    const GUID: Guid = Guid::from_bytes(0x3f25_04e0_4f89_41d3_9a0c_0305_e82c_3301_u128.to_be_bytes());

    /// Text.
    pub struct Text;
    /// One character: a text without prefixes.
    pub struct Character;
    /// The name of a unit variant: one text of a closed list.
    pub struct Name;
    /// An integer of the type `T`.
    pub struct Integer<T>(PhantomData<T>);
    /// A decimal number.
    pub struct Decimal;
    /// A GUID.
    pub struct Id;
    /// A moment.
    pub struct Instant;
    /// A date of the calendar.
    pub struct Date;
    /// `false` or `true`.
    pub struct Bool;

    sealed! {
        [] Text Character Name Decimal Id Instant Date Bool;
        [T] Integer<T>;
    }

    macro_rules! pointed {
        ($store:ident $load:ident) => {
            fn store(value: Self::Value<'_>, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
                pointer::$store(value, name, properties)
            }

            fn load(value: ValueRef<'_>) -> Option<Self::Owned<'_>> {
                pointer::$load(value)
            }
        };
    }

    impl Kind for Text {
        const NAME: &'static str = "text";
        type Value<'a> = &'a str;
        type Owned<'a> = Cow<'a, str>;
        type Pass<'a, T: 'a> = &'a T;

        fn example() -> &'static str {
            "Ada"
        }

        pointed!(store_text load_text);
    }

    macro_rules! by_value {
        ($($kind:ty: $name:expr, $value:ty, $owned:ty, $example:expr, $store:ident $load:ident, [$($t:tt)*];)*) => {$(
            impl $($t)* Kind for $kind {
                const NAME: &'static str = $name;
                type Value<'a> = $value;
                type Owned<'a> = $owned;
                type Pass<'a, P: 'a> = P;

                fn example() -> Self::Value<'static> {
                    $example
                }

                pointed!($store $load);
            }
        )*};
    }

    by_value! {
        Character: "character", char, char, 'a', store_character load_character, [];
        Name: "name", &'static str, Cow<'a, str>, "Name", store_text load_text, [];
        Integer<T>: T::NAME, T, T, T::SEVEN, store_integer load_integer, [<T: super::IntegerType>];
        Decimal: "decimal", DecimalParts, DecimalParts, SEVEN, store_decimal load_decimal, [];
        Id: "guid", Guid, Guid, GUID, store_id load_id, [];
        Instant: "time", UnixTime, Ticks, NOON, store_instant load_instant, [];
        Date: "date", DateParts, DateParts, DATE, store_date load_date, [];
        Bool: "bool", bool, bool, true, store_bool load_bool, [];
    }
}

macro_rules! texts {
    ($($text:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyPart for $text {
            type Kind = kind::Text;
            type Arg<'a> = &'a str;

            #[inline]
            fn to_value(&self) -> &str {
                self
            }

            #[inline]
            fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
                arg
            }

            fn from_key(key: Cow<'_, str>) -> Result<Self, KeyProblem> {
                Ok(key.into_owned().into())
            }
        }
    )*};
}

texts!(String, Box<str>, std::sync::Arc<str>, Cow<'static, str>);

/// Implements [`KeyPart`] for types that are passed by value, with their conversions to the form that encodings take, and from
/// the form in which a key is read. Without conversions, encodings take and return the type itself.
macro_rules! key_parts {
    ($($type:ty: $kind:ty;)*) => {
        $crate::key::key_parts! { $($type: $kind, |value| value, Ok;)* }
    };
    ($($type:ty: $kind:ty, $to:expr, $from:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl $crate::key::KeyPart for $type {
            type Kind = $kind;
            type Arg<'a> = $type;

            #[inline]
            fn to_value(&self) -> <$kind as $crate::key::Kind>::Value<'_> {
                <Self as $crate::key::KeyPart>::arg_value(*self)
            }

            #[inline]
            fn arg_value<'a>(arg: $type) -> <$kind as $crate::key::Kind>::Value<'a> {
                let to: fn($type) -> <$kind as $crate::key::Kind>::Value<'a> = $to;
                to(arg)
            }

            #[inline]
            fn from_key(key: <$kind as $crate::key::Kind>::Owned<'_>) -> Result<Self, $crate::key::KeyProblem> {
                let from: fn(<$kind as $crate::key::Kind>::Owned<'_>) -> Result<$type, $crate::key::KeyProblem> = $from;
                from(key)
            }
        }
    )*};
}

pub(crate) use key_parts;

key_parts! {
    u8: kind::Integer<u8>;
    u16: kind::Integer<u16>;
    u32: kind::Integer<u32>;
    u64: kind::Integer<u64>;
    u128: kind::Integer<u128>;
    i8: kind::Integer<i8>;
    i16: kind::Integer<i16>;
    i32: kind::Integer<i32>;
    i64: kind::Integer<i64>;
    i128: kind::Integer<i128>;
    char: kind::Character;
    bool: kind::Bool;
    table_store::Guid: kind::Id;
}
