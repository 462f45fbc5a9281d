//! The encodings, and the traits that state their guarantees.
//!
//! To add an encoding:
//!
//! 1. Write its type here, with the text that it writes, and seal it. Implement [`Encode`], and [`Decode`], [`Ordered`], [`Ranged`] and
//!    [`Prefixed`] if they hold, in the file of the kind of value. Name it in the notes of [`Encode`] and [`Fits`].
//! 2. Export it from `key.rs`, and from `__private` in `table-runtime/src/lib.rs` for generated code. Read and write its recorded text
//!    in `layout/encoding.rs` and `key/recorded.rs`.
//! 3. Add its option to `table-derive/src/encoding_option.rs`, what it excludes to `table-derive/src/encoding.rs`, and its example and
//!    its sentence to `expand/example.rs` and `expand/docs.rs` there.
//! 4. Test its laws in `tests/tests/laws/keys`, its rows in `tests/tests/laws/golden_rows.rs`, its misuse in `tests/ui/tests/ui/keys`.
//! 5. Add it to the tables in `table-derive/src/lib.rs`.

use std::{cmp::Ordering, marker::PhantomData};

use table_store::error::KeyProblem;

use super::{KeyBuffer, KeyPart, KeyReader, Kind, Unscaled, kind, write_part};
use crate::{
    layout::{Example, LayoutInfo, PartType},
    sealed::{Sealed, SealedSink, sealed},
};

/// The type's own encoding: text escaped, integers as wide as the type needs, GUIDs hyphenated in lower case, times as
/// ticks, dates as `2010-05-28`, bools as `0` and `1`, unit variants by name.
///
/// In text, `/ \ # ? % ~` and control characters become `~` and two upper-case hexadecimal digits, such as `~2F`. They
/// sort by this escape, after the letters.
pub struct Plain;
/// Text folded to lower case, character by character, then escaped like [`Plain`]. Such a key part is not read back.
pub struct Lowercase;
/// Text folded to upper case, character by character, then escaped like [`Plain`]. Such a key part is not read back.
pub struct Uppercase;
/// The first `N` characters of the text after folding, escaped.
pub struct First<const N: usize, Of = Plain>(PhantomData<Of>);
/// Text without escapes, for keys that other programs wrote. A character that keys cannot hold is an error.
pub struct Raw;
/// A decimal number without its point, which is before `PLACES` places, as the integer that `Of` writes: 29 digits, or as
/// many as [`Pad`] sets. A value with more places or more digits is an error.
pub struct Scale<const PLACES: u32, Of = Plain>(PhantomData<Of>);
/// An integer of `N` digits. A value that does not fit is an error.
pub struct Pad<const N: usize>;
/// Descending order. An unsigned integer is written as MAX − v, a signed one as `!v`, a date as the nine's
/// complement of each digit, and a GUID as 15 − d for each digit d.
pub struct Reverse<Of = Plain>(PhantomData<Of>);
/// 19 digits of .NET ticks, rounded down: oldest first.
pub struct Time;
/// 19 digits of `3155378975999999999` − ticks: newest first.
pub struct ReverseTime;
/// The number of one of `N` buckets, with as many digits as `N` − 1 has. It is the XXH3-64 hash (seed 0) of the UTF-8
/// text that `Of` writes, modulo `N`.
pub struct Hash<const N: usize, Of = Plain>(PhantomData<Of>);
/// The encoding `Of` in a key whose only delimiter is `SEPARATOR`, which text escapes as `~XX`.
pub struct Separated<Of, const SEPARATOR: char>(PhantomData<Of>);

sealed! {
    [] Plain Lowercase Uppercase Raw Time ReverseTime;
    [const N: usize] Pad<N>;
    [Of] Reverse<Of>;
    [const N: usize, Of] First<N, Of> Hash<N, Of>;
    [const PLACES: u32, Of] Scale<PLACES, Of>;
    [Of, const SEPARATOR: char] Separated<Of, SEPARATOR>;
}

/// The characters that a text part escapes in addition to those that keys cannot hold.
#[derive(Clone, Copy, Debug)]
pub struct Escape {
    /// True for the key's last part, which needs no delimiter.
    pub last: bool,
    /// Separator of the key, if it has one.
    pub separator: Option<u8>,
}

impl Escape {
    /// Returns the escapes of a part of a key without a separator.
    #[inline]
    pub const fn part(last: bool) -> Self {
        Self { last, separator: None }
    }
}

/// Returns the escapes of a part of a key in this layout.
pub fn escape(layout: &LayoutInfo, last: bool) -> Escape {
    // The derive accepts only ASCII punctuation.
    Escape { last, separator: layout.separator.and_then(|separator| u8::try_from(separator).ok()) }
}

/// An encoding of key parts of the kind `K`.
#[diagnostic::on_unimplemented(
    message = "the encoding `{Self}` does not fit this key part",
    label = "not an encoding of the field's type",
    note = "`lowercase`, `uppercase`, `first` and `raw` are for text, `scale` for decimals, `pad` for integers and \
            decimals, `reverse` for integers, decimals, dates and GUIDs, `time` and `reverse_time` for times, `hash` for \
            all of them",
    note = "a decimal in a key needs `scale = 2`, the number of places that the key holds, because 1.5 and 1.50 are equal \
            numbers"
)]
pub trait Encode<K: Kind>: Sealed {
    /// True if the encoded text marks its own end.
    const SELF_DELIMITING: bool;
    /// Delimiter between this part and the next.
    const DELIMITER: u8 = if Self::SELF_DELIMITING { b'_' } else { b' ' };
    /// True if different values have one text.
    const LOSSY: bool = false;

    /// Writes the value.
    ///
    /// # Errors
    /// Returns an error if the value has no encoding: it is out of range, or it contains a character that `raw` cannot
    /// hold. The contents of `out` are then unspecified.
    fn write(value: K::Value<'_>, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem>;

    /// Checks whether [`write`](Self::write) writes this text.
    #[inline]
    fn writes(value: K::Value<'_>, escape: Escape, text: &str) -> bool {
        KeyBuffer::with_scratch(|out| Self::write(value, escape, out).is_ok() && out.as_str() == text)
    }
}

/// A destination for the parts of a key: the keys of an entity, or a query. The last part of its key has no delimiter.
///
/// `last` is an argument and no parameter of the function, because the compiler checks a constant between `<` and `>` as a
/// function of its own.
pub trait PartSink: SealedSink {
    /// The result of adding a part.
    type Output;

    /// Adds the next part of the partition key.
    fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output;
    /// Adds the next part of the row key.
    fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output;
}

/// An encoding for fields of the type `T`, whose kind is `K`. `L` is [`Lossless`] if the field must be read back from
/// the key, else [`Lossy`].
///
/// Generated code writes, reads and queries key parts only through this trait, so that the compiler has one message for
/// every encoding that does not fit its field.
#[diagnostic::on_unimplemented(
    message = "the encoding `{Self}` does not fit `{T}`",
    label = "not an encoding of `{T}`",
    note = "`lowercase`, `uppercase`, `first` and `raw` are for text, `scale` for decimals, `pad` for integers and \
            decimals, `reverse` for integers, decimals, dates and GUIDs, `time` and `reverse_time` for times, `hash` for \
            all of them",
    note = "a decimal in a key needs `scale = 2`, the number of places that the key holds, because 1.5 and 1.50 are equal \
            numbers"
)]
pub trait Fits<T, K: Kind, L> {
    /// Description of the part, but for its field and for the text of its attribute.
    #[doc(hidden)]
    const PART: PartType;
    /// Adds the next part of the partition key.
    fn push_partition<S: PartSink>(value: K::Value<'_>, sink: &mut S, last: bool) -> S::Output;
    /// Adds the next part of the row key.
    fn push_row<S: PartSink>(value: K::Value<'_>, sink: &mut S, last: bool) -> S::Output;
    /// Reads the field from the next part of a stored key.
    #[doc(hidden)]
    fn field(key: &mut KeyReader<'_>, last: bool) -> table_store::Result<T>
    where
        T: KeyPart<Kind = K>;
    /// Skips the next part of a stored key.
    #[doc(hidden)]
    fn skip(key: &mut KeyReader<'_>, last: bool) -> table_store::Result<()>;
}

/// Returns an example of a part, with the delimiter after it unless it is the last; empty if the encoding refuses the
/// example.
fn example<K: Kind, N: Encode<K>>(last: bool) -> String {
    let mut key = KeyBuffer::new();
    match write_part::<K, N>(K::example(), last, "key", &mut key) {
        Ok(()) => key.into_string(),
        Err(_) => String::new(),
    }
}

/// Marker: the field is read back from the key.
pub enum Lossless {}
/// Marker: the field is only written to the key.
pub enum Lossy {}

macro_rules! fits {
    ($($loss:ty, $encodes:ident, $key:ident, $last:ident => $field:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T, K: Kind, N: $encodes<K>> Fits<T, K, $loss> for N {
            const PART: PartType = PartType {
                kind: K::NAME,
                self_delimiting: <N as Encode<K>>::SELF_DELIMITING,
                example: Example::new(example::<K, N>),
            };

            #[inline]
            fn push_partition<S: PartSink>(value: K::Value<'_>, sink: &mut S, last: bool) -> S::Output {
                sink.push_partition::<K, N>(value, last)
            }

            #[inline]
            fn push_row<S: PartSink>(value: K::Value<'_>, sink: &mut S, last: bool) -> S::Output {
                sink.push_row::<K, N>(value, last)
            }

            #[inline]
            fn field($key: &mut KeyReader<'_>, $last: bool) -> table_store::Result<T>
            where
                T: KeyPart<Kind = K>,
            {
                $field
            }

            #[inline]
            fn skip(key: &mut KeyReader<'_>, last: bool) -> table_store::Result<()> {
                key.skip::<K, N>(last)
            }
        }
    )*};
}

fits! {
    Lossless, Decode, key, last => key.field::<T, N>(last);
    // The derive generates no code that reads such a part.
    Lossy, Encode, key, _last => key.unreadable();
}

/// A lossless encoding.
#[diagnostic::on_unimplemented(
    message = "the encoding `{Self}` loses something of this key part, so it cannot be read back",
    label = "cannot be read back"
)]
pub trait Decode<K: Kind>: Encode<K> {
    /// Reads the text that [`write`](Encode::write) wrote, without its delimiter.
    ///
    /// # Errors
    /// Returns an error if the encoding never writes this text.
    fn read<'a>(text: &'a str, escape: Escape) -> Result<K::Owned<'a>, KeyProblem>;
}

/// An encoding that keeps the order of the values or reverses it.
#[diagnostic::on_unimplemented(
    message = "the encoding `{Self}` does not keep the order of the values, so this key part has no `range`",
    label = "no `range` over this key part",
    note = "narrow it with `eq`",
    note = "an enum is stored as the names of its variants, which are not in the order of their declaration: for a range, the \
            key has a number"
)]
pub trait Ordered<K: Kind>: Encode<K> {
    /// True if the encoding reverses the order.
    const DESCENDING: bool = false;

    /// Returns the side on which a value is outside of the values that the encoding can write: `Less` if it is before
    /// all of them, `Greater` if it is after all of them. As a bound of a range, such a value means an open end on that
    /// side.
    fn outside(value: K::Value<'_>) -> Option<Ordering> {
        let _ = value;
        None
    }
}

/// An encoding that keeps the order of the values even if other parts follow.
#[diagnostic::on_unimplemented(
    message = "no `range` over this text part, which another key part follows",
    label = "in this key it does not decide alone which row comes first",
    note = "a text that other parts follow has a `range` only if it is whole, not `first = N`, and the table has no \
            `#[table(separator = \"…\")]`",
    note = "narrow it with `eq` or `starts_with`"
)]
pub trait Ranged<K: Kind>: Ordered<K> {}

/// A text encoding under which a prefix of the text is a prefix of the key.
#[diagnostic::on_unimplemented(
    message = "the encoding `{Self}` keeps no prefixes, so this key part has no `starts_with`",
    label = "no `starts_with` over this key part",
    note = "narrow it with `eq`"
)]
pub trait Prefixed: Encode<kind::Text> {}

/// A kind of key parts that has prefixes: text.
#[diagnostic::on_unimplemented(
    message = "`starts_with` needs a key part of text",
    label = "not text",
    note = "use `eq` or `range`"
)]
pub trait Textual: for<'a> Kind<Value<'a> = &'a str> {}

#[diagnostic::do_not_recommend]
impl Textual for kind::Text {}

impl<K: Kind, Of: Encode<K>, const SEPARATOR: char> Encode<K> for Separated<Of, SEPARATOR> {
    const SELF_DELIMITING: bool = Of::SELF_DELIMITING;
    // The derive accepts only ASCII punctuation.
    #[allow(clippy::cast_possible_truncation, reason = "ASCII")]
    const DELIMITER: u8 = SEPARATOR as u8;
    const LOSSY: bool = Of::LOSSY;

    #[inline]
    fn write(value: K::Value<'_>, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        Of::write(value, Escape { separator: Some(<Self as Encode<K>>::DELIMITER), ..escape }, out)
    }

    #[inline]
    fn writes(value: K::Value<'_>, escape: Escape, text: &str) -> bool {
        Of::writes(value, Escape { separator: Some(<Self as Encode<K>>::DELIMITER), ..escape }, text)
    }
}

impl<K: Kind, Of: Decode<K>, const SEPARATOR: char> Decode<K> for Separated<Of, SEPARATOR> {
    fn read<'a>(text: &'a str, escape: Escape) -> Result<K::Owned<'a>, KeyProblem> {
        Of::read(text, Escape { separator: Some(<Self as Encode<K>>::DELIMITER), ..escape })
    }
}

impl<K: Kind, Of: Ordered<K>, const SEPARATOR: char> Ordered<K> for Separated<Of, SEPARATOR> {
    const DESCENDING: bool = Of::DESCENDING;

    fn outside(value: K::Value<'_>) -> Option<Ordering> {
        Of::outside(value)
    }
}

impl<Of: Prefixed, const SEPARATOR: char> Prefixed for Separated<Of, SEPARATOR> {}

/// Implements [`Ranged`] for encodings of fixed width, which keep the order under any separator.
macro_rules! ranged_when_separated {
    ($($kind:ty, [$($t:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<Of: Ordered<$kind>, const SEPARATOR: char, $($t)*> Ranged<$kind> for Separated<Of, SEPARATOR> {}
    )*};
}

ranged_when_separated! {
    kind::Integer<T>, [T: super::IntegerType];
    kind::Decimal, [];
    kind::Id, [];
    kind::Instant, [];
    kind::Date, [];
    kind::Bool, [];
}

macro_rules! ranged {
    ($($encoding:ty: $kind:ty, [$($t:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($t)*> Ranged<$kind> for $encoding {}
    )*};
}

ranged! {
    Plain: kind::Text, [];
    Lowercase: kind::Text, [];
    Uppercase: kind::Text, [];
    Raw: kind::Text, [];
    Plain: kind::Character, [];
    Plain: kind::Integer<T>, [T: super::IntegerType];
    Pad<N>: kind::Integer<T>, [T: super::IntegerType, const N: usize];
    Reverse<Plain>: kind::Integer<T>, [T: super::IntegerType];
    Reverse<Pad<N>>: kind::Integer<T>, [T: super::IntegerType, const N: usize];
    Scale<PLACES, Of>: kind::Decimal, [const PLACES: u32, Of: Ordered<kind::Integer<Unscaled>>];
    Plain: kind::Id, [];
    Reverse<Plain>: kind::Id, [];
    Plain: kind::Instant, [];
    Time: kind::Instant, [];
    ReverseTime: kind::Instant, [];
    Plain: kind::Date, [];
    Reverse<Plain>: kind::Date, [];
    Plain: kind::Bool, [];
}
