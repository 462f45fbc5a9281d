//! Moments and GUIDs.

use std::cmp::Ordering;

use table_store::{Guid, Ticks, error::KeyProblem};

use super::{
    Decode, Encode, Escape, KeyBuffer, Ordered, Plain, Reverse, ReverseTime, Time,
    integer::{read_u64, write_u64},
    kind,
};
use crate::{key::KeyPart, layout::SliceBy};

/// A moment of Unix time, in the form that crates for time return. Writing it fails if its year is outside 0001 to
/// 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnixTime {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds after the whole seconds.
    pub nanoseconds: u32,
}

/// Returns the tick that contains the moment.
#[inline]
pub fn tick_of(UnixTime { seconds, nanoseconds }: UnixTime) -> Result<Ticks, KeyProblem> {
    Ticks::from_unix(seconds, nanoseconds).ok_or(KeyProblem::Time { seconds })
}

/// A time that can be rounded to the tick of 100 ns, the unit in which times are stored.
///
/// The clocks of most systems are finer than a tick. A write rounds times down to the tick, so an entity with a time that
/// was just taken from a clock does not equal the entity that is read afterwards. If the time is rounded where it is
/// taken, both are equal:
///
/// ```
/// use std::time::SystemTime;
///
/// use table_runtime::{TableEntity, Tables, key::ToTick};
///
/// #[derive(TableEntity, Debug, PartialEq)]
/// struct Order {
///     #[partition_key]
///     tenant: String,
///     #[row_key(reverse_time)]
///     placed: SystemTime,
///     paid: Option<SystemTime>,
/// }
///
/// # futures::executor::block_on(async {
/// let tables = Tables::in_memory()?;
/// tables.create::<Order>().await?;
/// let now = SystemTime::now().to_tick();
/// let order = Order { tenant: "acme".into(), placed: now, paid: Some(now) };
/// tables.insert(&order).await?;
/// assert_eq!(Order::key("acme", now).get(&tables).await?.as_deref(), Some(&order));
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
pub trait ToTick {
    /// Returns the time, rounded down to the tick, as a write stores it. A time outside the years 0001 to 9999, which no
    /// row can hold, stays as it is.
    #[must_use]
    fn to_tick(self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart<Kind = kind::Instant>> ToTick for T {
    fn to_tick(self) -> Self {
        match tick_of(self.to_value()).and_then(T::from_key) {
            Ok(rounded) => rounded,
            Err(_) => self,
        }
    }
}

const DIGITS: usize = 19;

#[inline]
fn read(text: &str) -> Result<u64, KeyProblem> {
    let ticks = if text.len() == DIGITS { read_u64(text.as_bytes()) } else { None };
    match ticks {
        Some(ticks) if ticks <= Ticks::MAX.get() => Ok(ticks),
        _ => Err(unreadable(text)),
    }
}

#[cold]
fn unreadable(text: &str) -> KeyProblem {
    KeyProblem::malformed("19 digits of ticks, at most 3155378975999999999", text)
}

macro_rules! ticks {
    ($($encoding:ty, $ticks:ident => $written:expr, $descending:literal;)*) => {$(
        impl Encode<kind::Instant> for $encoding {
            const SELF_DELIMITING: bool = true;

            #[inline]
            fn write(value: UnixTime, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
                let $ticks = tick_of(value)?.get();
                write_u64::<DIGITS>($written, out);
                Ok(())
            }
        }

        impl Decode<kind::Instant> for $encoding {
            #[inline]
            fn read<'a>(text: &'a str, _: Escape) -> Result<Ticks, KeyProblem> {
                // Each conversion is its own inverse.
                let $ticks = read(text)?;
                Ok(Ticks::new($written).unwrap_or(Ticks::MAX))
            }
        }

        impl Ordered<kind::Instant> for $encoding {
            const DESCENDING: bool = $descending;

            fn outside(value: UnixTime) -> Option<Ordering> {
                tick_of(value).is_err().then(|| value.seconds.cmp(&0))
            }
        }
    )*};
}

ticks! {
    Plain, ticks => ticks, false;
    Time, ticks => ticks, false;
    ReverseTime, ticks => Ticks::MAX.get() - ticks, true;
}

impl Encode<kind::Id> for Plain {
    const SELF_DELIMITING: bool = true;

    #[inline]
    fn write(value: Guid, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        out.push_ascii(&value.encode());
        Ok(())
    }
}

impl Decode<kind::Id> for Plain {
    fn read<'a>(text: &'a str, _: Escape) -> Result<Guid, KeyProblem> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let guid = if lower { text.parse().ok() } else { None };
        guid.ok_or_else(|| KeyProblem::malformed("a GUID, hyphenated and in lower case", text))
    }
}

impl Ordered<kind::Id> for Plain {}

/// Returns the GUID with 15 − d for each digit d. The function is its own inverse.
fn complement(guid: Guid) -> Guid {
    Guid::from_bytes(guid.as_bytes().map(|byte| !byte))
}

impl Encode<kind::Id> for Reverse<Plain> {
    const SELF_DELIMITING: bool = true;

    #[inline]
    fn write(value: Guid, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        <Plain as Encode<kind::Id>>::write(complement(value), escape, out)
    }
}

impl Decode<kind::Id> for Reverse<Plain> {
    fn read<'a>(text: &'a str, escape: Escape) -> Result<Guid, KeyProblem> {
        <Plain as Decode<kind::Id>>::read(text, escape).map(complement)
    }
}

impl Ordered<kind::Id> for Reverse<Plain> {
    const DESCENDING: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T> SliceBy<T> for kind::Instant {}
