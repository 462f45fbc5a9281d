//! Types of std and of other crates that can be fields: moments, dates, decimals and GUIDs.

use std::time::SystemTime;

use table_store::{
    PropertyType, Ticks, ValueRef,
    error::{KeyProblem, PropertyProblem},
    unstable,
};

use crate::{
    key::{KeyPart, Kind, UnixTime, kind, time::tick_of},
    property::{Always, ByOrder, Property, by_value, problem::misfit},
};

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use crate::property::texts::{texts, unread, write_as_key};

/// Implements the traits of a type of moments: a key part of ticks, and a property of the type `Edm.DateTime`.
macro_rules! moment {
    ($type:ty, $to:expr, $from:expr) => {
        #[diagnostic::do_not_recommend]
        impl KeyPart for $type {
            type Kind = kind::Instant;
            type Arg<'a> = $type;

            #[inline]
            fn to_value(&self) -> UnixTime {
                let to: fn($type) -> (i64, u32) = $to;
                let (seconds, nanoseconds) = to(*self);
                UnixTime { seconds, nanoseconds }
            }

            #[inline]
            fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
                KeyPart::to_value(&arg)
            }

            #[inline]
            fn from_key(key: Ticks) -> Result<Self, KeyProblem> {
                let from: fn(Ticks) -> Option<$type> = $from;
                from(key).ok_or_else(|| KeyProblem::malformed(concat!("a `", stringify!($type), "`"), &key.to_string()))
            }
        }

        by_value! {
            #[diagnostic::do_not_recommend]
            $type: ByOrder, PropertyType::DateTime, in concat!("the range of `", stringify!($type), "`"),
                |value| match tick_of(KeyPart::to_value(&value)) {
                    Ok(ticks) => Ok(ValueRef::DateTime(ticks)),
                    Err(problem) => {
                        Err(PropertyProblem { expected: "Edm.DateTime".into(), found: problem.to_string() })
                    }
                },
                |value| match value {
                    ValueRef::DateTime(ticks) => KeyPart::from_key(ticks).ok(),
                    _ => None,
                };
        }
    };
}

moment!(SystemTime, unstable::unix, Ticks::to_system);

#[cfg(feature = "time")]
moment!(time::OffsetDateTime, |moment| (moment.unix_timestamp(), moment.nanosecond()), |ticks| {
    let (seconds, nanoseconds) = ticks.to_unix();
    time::OffsetDateTime::from_unix_timestamp(seconds).ok()?.replace_nanosecond(nanoseconds).ok()
});

#[cfg(feature = "chrono")]
moment!(chrono::DateTime<chrono::Utc>, |moment| (moment.timestamp(), moment.timestamp_subsec_nanos()), |ticks| {
    let (seconds, nanoseconds) = ticks.to_unix();
    chrono::DateTime::from_timestamp(seconds, nanoseconds)
});

#[cfg(feature = "jiff")]
moment!(
    jiff::Timestamp,
    |moment| match (moment.as_second(), moment.subsec_nanosecond()) {
        // jiff rounds towards zero, so that the nanoseconds of times before 1970 are negative.
        (seconds, nanoseconds @ ..0) => (seconds - 1, (nanoseconds + 1_000_000_000).unsigned_abs()),
        (seconds, nanoseconds) => (seconds, nanoseconds.unsigned_abs()),
    },
    |ticks| {
        let (seconds, nanoseconds) = ticks.to_unix();
        jiff::Timestamp::new(seconds, nanoseconds.try_into().ok()?).ok()
    }
);

#[diagnostic::do_not_recommend]
impl KeyPart for Ticks {
    type Kind = kind::Instant;
    type Arg<'a> = Self;

    fn to_value(&self) -> UnixTime {
        let (seconds, nanoseconds) = self.to_unix();
        UnixTime { seconds, nanoseconds }
    }

    fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
        KeyPart::to_value(&arg)
    }

    fn from_key(key: Self) -> Result<Self, KeyProblem> {
        Ok(key)
    }
}

/// Implements the traits of a type of calendar dates: a key part and a property, of the same text.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! date {
    ($type:ty, $to:expr, $from:expr) => {
        #[diagnostic::do_not_recommend]
        impl KeyPart for $type {
            type Kind = kind::Date;
            type Arg<'a> = $type;

            #[inline]
            fn to_value(&self) -> crate::key::DateParts {
                let to: fn($type) -> (i32, u8, u8) = $to;
                let (year, month, day) = to(*self);
                crate::key::DateParts { year, month, day }
            }

            #[inline]
            fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
                KeyPart::to_value(&arg)
            }

            fn from_key(key: crate::key::DateParts) -> Result<Self, KeyProblem> {
                let crate::key::DateParts { year, month, day } = key;
                let from: fn(i32, u8, u8) -> Option<$type> = $from;
                let found = || format!("{year:04}-{month:02}-{day:02}");
                from(year, month, day).ok_or_else(|| KeyProblem::malformed("a date of the calendar", &found()))
            }
        }

        texts! {
            #[diagnostic::do_not_recommend]
            $type: ByOrder, PropertyType::Date, "a date such as 2026-12-24",
                |date, text| {
                    write_as_key::<kind::Date>(KeyPart::to_value(&date), "a date of the years 0001 to 9999", text)
                },
                // Also the JSON of a date.
                |value| KeyPart::from_key(<kind::Date as Kind>::load(value)?).ok();
        }
    };
}

#[cfg(feature = "time")]
date!(time::Date, |date| (date.year(), date.month().into(), date.day()), |year, month, day| {
    time::Date::from_calendar_date(year, month.try_into().ok()?, day).ok()
});

#[cfg(feature = "chrono")]
date!(
    chrono::NaiveDate,
    |date| {
        use chrono::Datelike;
        // Months and days are below 32.
        (date.year(), date.month().to_le_bytes()[0], date.day().to_le_bytes()[0])
    },
    |year, month, day| chrono::NaiveDate::from_ymd_opt(year, month.into(), day.into())
);

#[cfg(feature = "jiff")]
date!(
    jiff::civil::Date,
    |date| (date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs()),
    |year, month, day| {
        jiff::civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
    }
);

#[cfg(feature = "decimal")]
#[diagnostic::do_not_recommend]
impl KeyPart for rust_decimal::Decimal {
    type Kind = kind::Decimal;
    type Arg<'a> = Self;

    fn to_value(&self) -> crate::key::DecimalParts {
        crate::key::DecimalParts { mantissa: self.mantissa(), scale: self.scale() }
    }

    fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
        KeyPart::to_value(&arg)
    }

    fn from_key(key: crate::key::DecimalParts) -> Result<Self, KeyProblem> {
        // With all zeros at its end, a number may have more digits than the type holds.
        let held = key.shorter_forms().find_map(|form| Self::try_from_i128_with_scale(form.mantissa, form.scale).ok());
        held.ok_or_else(|| KeyProblem::malformed("a `Decimal`", &key.to_string()))
    }
}

#[cfg(feature = "uuid")]
#[diagnostic::do_not_recommend]
impl KeyPart for uuid::Uuid {
    type Kind = kind::Id;
    type Arg<'a> = Self;

    #[inline]
    fn to_value(&self) -> table_store::Guid {
        (*self).into()
    }

    #[inline]
    fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as Kind>::Value<'a> {
        arg.into()
    }

    #[inline]
    fn from_key(key: table_store::Guid) -> Result<Self, KeyProblem> {
        Ok(key.into())
    }
}

#[cfg(feature = "uuid")]
by_value! {
    #[diagnostic::do_not_recommend]
    uuid::Uuid: ByOrder, PropertyType::Guid, |value| Ok(ValueRef::Guid(value.into())), |value| match value {
        ValueRef::Guid(value) => Some(value.into()),
        _ => None,
    };
}
