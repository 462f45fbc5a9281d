//! Types of std and of other crates that can be fields: moments, dates, decimals and GUIDs.

use std::time::SystemTime;

use table_store::{
    PropertyType, Ticks, ValueRef,
    error::{KeyProblem, PropertyProblem},
    unstable,
};

use crate::{
    key::{KeyPart, UnixTime, key_parts, kind, time::tick_of},
    property::{Always, ByOrder, Property, by_value, problem::misfit},
};

#[cfg(feature = "decimal")]
use crate::key::DecimalParts;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use crate::{
    key::{DateParts, Kind},
    property::texts::{texts, unread, write_as_key},
};

/// Implements the traits of a type of moments: a key part of ticks, and a property of the type `Edm.DateTime`.
macro_rules! moment {
    ($type:ty, $to:expr, $from:expr) => {
        key_parts! {
            $type: kind::Instant, |moment| {
                let to: fn($type) -> (i64, u32) = $to;
                let (seconds, nanoseconds) = to(moment);
                UnixTime { seconds, nanoseconds }
            }, |ticks| {
                let from: fn(Ticks) -> Option<$type> = $from;
                let problem = || KeyProblem::malformed(concat!("a `", stringify!($type), "`"), &ticks.to_string());
                from(ticks).ok_or_else(problem)
            };
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

key_parts! {
    Ticks: kind::Instant, |ticks| {
        let (seconds, nanoseconds) = ticks.to_unix();
        UnixTime { seconds, nanoseconds }
    }, Ok;
}

/// Implements the traits of a type of calendar dates: a key part and a property, of the same text.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! date {
    ($type:ty, $to:expr, $from:expr) => {
        key_parts! {
            $type: kind::Date, |date| {
                let to: fn($type) -> (i32, u8, u8) = $to;
                let (year, month, day) = to(date);
                DateParts { year, month, day }
            }, |DateParts { year, month, day }| {
                let from: fn(i32, u8, u8) -> Option<$type> = $from;
                let found = || format!("{year:04}-{month:02}-{day:02}");
                from(year, month, day).ok_or_else(|| KeyProblem::malformed("a date of the calendar", &found()))
            };
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
key_parts! {
    rust_decimal::Decimal: kind::Decimal, |decimal| DecimalParts { mantissa: decimal.mantissa(), scale: decimal.scale() }, |key| {
        // With all zeros at its end, a number may have more digits than the type holds.
        let mut forms = key.shorter_forms();
        let held = forms.find_map(|form| rust_decimal::Decimal::try_from_i128_with_scale(form.mantissa, form.scale).ok());
        held.ok_or_else(|| KeyProblem::malformed("a `Decimal`", &key.to_string()))
    };
}

#[cfg(feature = "uuid")]
key_parts! {
    uuid::Uuid: kind::Id, Into::into, |guid| Ok(guid.into());
}

#[cfg(feature = "uuid")]
by_value! {
    #[diagnostic::do_not_recommend]
    uuid::Uuid: ByOrder, PropertyType::Guid, |value| Ok(ValueRef::Guid(value.into())), |value| match value {
        ValueRef::Guid(value) => Some(value.into()),
        _ => None,
    };
}
