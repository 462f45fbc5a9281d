//! Keys: how values become the two texts by which a row is found, and back.
//!
//! A key is a sequence of *parts*, each a value and its encoding. The derive names both; what an encoding writes is
//! said at its type: [`Plain`], [`Lowercase`], [`Uppercase`], [`First`], [`Raw`], [`Pad`], [`Reverse`], [`Time`],
//! [`ReverseTime`], [`Hash`](struct@Hash) and, around another one, [`Separated`].
//!
//! # Laws
//! - A lossless encoding reads back what was written: [`Decode`].
//! - Different sequences of values have different keys, as far as the encodings lose nothing: no value can forge a
//!   joint.
//! - Where an encoding is [`Ordered`], keys stand in the order of the values (of texts: of their encodings), by
//!   UTF-16 unit, through composites too.
//! - A prefix of a text, in characters, is written as a prefix of what the text is written as.
//!
//! # Joints
//! A part that tells its own end (an integer, a time, a date, a GUID, a bool) is followed by `_`. A text part that
//! another follows ends with a space, and inside it a space is `!20` and `!` is `!21`: so the joint is the lowest
//! character, and `Smith` stands before `Smith Jr` and `Smith-Jones` whatever follows.

mod buffer;
mod date;
mod encoding;
mod fold;
pub(crate) mod hash;
mod integer;
pub(crate) mod order;
mod pointer;
mod reader;
mod text;
mod time;
mod writer;

use std::borrow::Cow;

use crate::{Properties, ValueRef, property::PropertyProblem};

pub use buffer::KeyBuffer;
pub use date::Date;
pub use encoding::{
    Decode, Encode, Escape, First, Fits, Hash, Lossless, Lossy, Lowercase, Ordered, Pad, Plain, Prefixed, Ranged, Raw,
    Reverse, ReverseTime, Separated, Textual, Time, Uppercase,
};
pub use integer::Integer;
pub use reader::KeyReader;
pub(crate) use reader::Place;
pub use time::UnixTime;
pub use writer::KeyWriter;
pub(crate) use writer::{check_length, copy_part, write_part};

/// A type that can stand in a key.
///
/// Derive it on a newtype of one, or on an enum of unit variants, which stands in keys by its variant's name.
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
    label = "no ordered key encoding for this type",
    note = "keys are made of text, integers, `bool`, `char`, GUIDs, dates and times, the last three behind features of \
            `table-runtime`; derive `KeyPart` on a newtype or a unit enum"
)]
pub trait KeyPart: Sized {
    /// What encodings there are for it.
    type Kind: Kind;
    /// How a query takes it: text borrowed, the rest by value.
    type Arg<'a>;

    /// The value as encodings take it.
    fn to_value(&self) -> <Self::Kind as Kind>::Value<'_>;

    /// The value of a query's argument.
    fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a>;

    /// The value that was read from a key.
    ///
    /// # Errors
    /// The key is that of no value of this type, such as an unknown variant's name.
    fn from_key(key: <Self::Kind as Kind>::Owned<'_>) -> Result<Self, KeyProblem>;
}

/// What key parts have in common whose encodings are the same.
pub trait Kind {
    /// Its name, such as `text` or `u32`.
    const NAME: &'static str;
    /// A value as encodings take it.
    type Value<'a>: Copy;
    /// A value as it is read from a key.
    type Owned<'a>;
    /// How queries take a newtype `T` of it.
    type Pass<'a, T: 'a>;

    /// Writes a value as the property of a pointer: of the type that `Property` has for it, text where there is none.
    ///
    /// # Errors
    /// No property holds it.
    fn store(value: Self::Value<'_>, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem>;

    /// The value of a pointer's property; `None` if it is of another type.
    fn load(value: ValueRef<'_>) -> Option<Self::Owned<'_>>;
}

/// The kinds of key parts.
pub mod kind {
    use std::{borrow::Cow, marker::PhantomData};

    use super::{Date as CivilDate, Kind, UnixTime, pointer};
    use crate::{Guid, Properties, Ticks, ValueRef, property::PropertyProblem};

    /// Text.
    pub struct Text;
    /// One character: a text without prefixes.
    pub struct Character;
    /// The name of a unit variant: a text of a closed list.
    pub struct Name;
    /// An integer of the type `T`.
    pub struct Integer<T>(PhantomData<T>);
    /// A GUID.
    pub struct Id;
    /// A moment.
    pub struct Instant;
    /// A date of the calendar.
    pub struct Date;
    /// `false` or `true`.
    pub struct Bool;

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

        pointed!(store_text load_text);
    }

    macro_rules! by_value {
        ($($kind:ty: $name:expr, $value:ty, $owned:ty, $store:ident $load:ident, [$($t:tt)*];)*) => {$(
            impl $($t)* Kind for $kind {
                const NAME: &'static str = $name;
                type Value<'a> = $value;
                type Owned<'a> = $owned;
                type Pass<'a, P: 'a> = P;

                pointed!($store $load);
            }
        )*};
    }

    by_value! {
        Character: "character", char, char, store_character load_character, [];
        Name: "name", &'static str, Cow<'a, str>, store_text load_text, [];
        Integer<T>: T::NAME, T, T, store_integer load_integer, [<T: super::Integer>];
        Id: "guid", Guid, Guid, store_id load_id, [];
        Instant: "time", UnixTime, Ticks, store_instant load_instant, [];
        Date: "date", CivilDate, CivilDate, store_date load_date, [];
        Bool: "bool", bool, bool, store_bool load_bool, [];
    }
}

/// Why a value cannot stand in a key, or a key cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// An integer does not fit its digits.
    #[error("{value} does not fit {digits} digits")]
    Digits {
        /// The value.
        value: String,
        /// The digits of `pad`.
        digits: usize,
    },
    /// A time is outside the years 0001 to 9999.
    #[error("the time {seconds} s of Unix time is outside the years 0001 to 9999")]
    Time {
        /// Whole seconds of Unix time.
        seconds: i64,
    },
    /// A date is outside the years 0001 to 9999.
    #[error("the date {year}-{month:02}-{day:02} is outside the years 0001 to 9999")]
    #[allow(missing_docs, reason = "they say themselves")]
    Date { year: i32, month: u8, day: u8 },
    /// A `raw` text holds a character that keys cannot hold, or the joint that ends it.
    #[error(
        "{value:?} holds {character:?}; a `raw` key part cannot hold `/`, `\\`, `#`, `?`, control characters, \
         or a separator that ends it"
    )]
    Character {
        /// The text.
        value: String,
        /// The first such character.
        character: char,
    },
    /// The key gets too long by this part.
    #[error("it makes the {key} {units} UTF-16 units long; the limit is 512")]
    TooLong {
        /// `PartitionKey` or `RowKey`.
        key: &'static str,
        /// The key's length with this part.
        units: usize,
    },
    /// A stored key is not one that the layout writes.
    #[error("expected {expected}, found {found:?}")]
    Malformed {
        /// What the part or key should be.
        expected: Cow<'static, str>,
        /// What stands there.
        found: String,
    },
}

impl KeyProblem {
    pub(crate) fn malformed(expected: impl Into<Cow<'static, str>>, found: &str) -> Self {
        Self::Malformed { expected: expected.into(), found: found.to_owned() }
    }

    /// A name that is none of an enum's.
    pub(crate) fn unknown_name(found: &str, names: &[&str]) -> Self {
        Self::malformed(one_of(names), found)
    }
}

/// ``one of `A`, `B` ``
pub(crate) fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
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
                Ok(key.into())
            }
        }
    )*};
}

texts!(String, Box<str>, std::sync::Arc<str>);

/// Key parts that are their own value, both ways.
macro_rules! by_value {
    ($($type:ty: $kind:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyPart for $type {
            type Kind = $kind;
            type Arg<'a> = $type;

            #[inline]
            fn to_value(&self) -> $type {
                *self
            }

            #[inline]
            fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
                arg
            }

            #[inline]
            fn from_key(key: $type) -> Result<Self, KeyProblem> {
                Ok(key)
            }
        }
    )*};
}

by_value! {
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
    crate::Guid: kind::Id;
}
