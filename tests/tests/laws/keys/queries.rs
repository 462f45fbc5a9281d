//! Laws of ranges and prefixes, checked on a store.

use std::{
    fmt,
    ops::{Bound, RangeBounds},
    time::{Duration, SystemTime},
};

use futures_util::future::try_join_all;
use proptest::{collection::vec, prelude::*, sample::select};
use rust_decimal::Decimal;
use table_runtime::{
    KeyPart, TableEntity, Tables,
    key::{Escape, Lowercase, Plain, Uppercase},
};
use tests::depth::check;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    expected::{LAST, escaped, folded, units},
    values::{
        character, chrono_date, civil, decimal, i16, i32, i128, jiff_date, nanoseconds, of_chrono, of_jiff, of_system,
        of_time, time_date, u32, u128, uuid,
    },
};

/// Forms of a range.
#[derive(Clone, Copy, Debug)]
enum Form {
    Half,
    Closed,
    From,
    To,
    ToClosed,
    Full,
    OpenClosed,
    Open,
    After,
}

fn form() -> impl Strategy<Value = Form> {
    use Form::{After, Closed, From, Full, Half, Open, OpenClosed, To, ToClosed};
    select(vec![Half, Closed, From, To, ToClosed, Full, OpenClosed, Open, After])
}

/// Narrows a query by the range of this form from `$a` to `$b`.
macro_rules! narrow {
    ($query:expr, $form:expr, $a:expr, $b:expr) => {
        match $form {
            Form::Half => $query.range($a..$b),
            Form::Closed => $query.range($a..=$b),
            Form::From => $query.range($a..),
            Form::To => $query.range(..$b),
            Form::ToClosed => $query.range(..=$b),
            Form::Full => $query.range(..),
            Form::OpenClosed => $query.range((Bound::Excluded($a), Bound::Included($b))),
            Form::Open => $query.range((Bound::Excluded($a), Bound::Excluded($b))),
            Form::After => $query.range((Bound::Excluded($a), Bound::Unbounded)),
        }
    };
}

fn bounds<K>(form: Form, from: K, to: K) -> (Bound<K>, Bound<K>) {
    use Bound::{Excluded, Included, Unbounded};
    match form {
        Form::Half => (Included(from), Excluded(to)),
        Form::Closed => (Included(from), Included(to)),
        Form::From => (Included(from), Unbounded),
        Form::To => (Unbounded, Excluded(to)),
        Form::ToClosed => (Unbounded, Included(to)),
        Form::Full => (Unbounded, Unbounded),
        Form::OpenClosed => (Excluded(from), Included(to)),
        Form::Open => (Excluded(from), Excluded(to)),
        Form::After => (Excluded(from), Unbounded),
    }
}

/// Returns values whose first two are the bounds, the number of values that are not stored, and the form of the range.
fn pool<T: fmt::Debug>(values: impl Strategy<Value = T>) -> impl Strategy<Value = (Vec<T>, usize, Form)> {
    (vec(values, 2..9), 0..=2_usize, form())
}

/// Parts before and after the tested one: beginnings of each other, delimiters, and high code points.
const NEIGHBOURS: &[&str] = &["", " ", "!", "a", "a ", "a!", "a\"", "a-", "a_", "aa", "a~", "a\u{E000}", "a\u{10000}"];

fn store() -> (tokio::runtime::Runtime, Tables) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    (runtime, Tables::in_memory().unwrap())
}

/// Returns texts that are often equal.
fn few() -> impl Strategy<Value = String> {
    let character = select(vec![' ', '!', '-', '/', '~', '_', 'a', 'A', 'ß', 'S', '\u{E000}', '\u{10000}']);
    vec(character, 0..3).prop_map(String::from_iter)
}

/// Declares a test for each type: its attribute, its values, how a query takes a value, and its rank in the row order.
macro_rules! ranges {
    ($(
        $name:ident: $type:ty, [$($encoding:tt)*], $values:expr, $arg:expr,
        |$value:ident| $rank:expr, $descending:literal;
    )*) => {$(
        mod $name {
            use super::*;

            #[derive(TableEntity)]
            struct Alone {
                #[partition_key]
                case: u32,
                #[row_key $($encoding)*]
                value: $type,
            }

            #[derive(TableEntity)]
            struct Before {
                #[partition_key]
                case: u32,
                #[row_key $($encoding)*]
                value: $type,
                #[row_key]
                other: String,
            }

            #[derive(TableEntity)]
            struct Between {
                #[partition_key]
                case: u32,
                #[row_key]
                other: String,
                #[row_key $($encoding)*]
                value: $type,
                #[row_key]
                last: u8,
            }

            #[allow(clippy::ptr_arg, reason = "a type like the others")]
            fn rank($value: &$type) -> impl Ord + Clone + fmt::Debug + use<> {
                $rank
            }

            /// Returns the rows in order, without repetitions.
            fn in_order<K: Ord>(mut rows: Vec<K>) -> Vec<K> {
                rows.sort();
                rows.dedup();
                rows
            }

            #[test]
            fn ranges() {
                let (runtime, tables) = store();
                runtime.block_on(async {
                    tables.create::<Alone>().await?;
                    tables.create::<Before>().await?;
                    tables.create::<Between>().await
                }).unwrap();
                let cases = std::cell::Cell::new(0);
                let arg: for<'a> fn(&'a $type) -> <$type as KeyPart>::Arg<'a> = $arg;
                check(40, pool($values), |(values, skip, form)| {
                    cases.set(cases.get() + 1);
                    let (case, from, to) = (cases.get(), &values[0], &values[1]);
                    let stored = &values[skip..];
                    let within = bounds(form, rank(from), rank(to));
                    let place = |value: &$type| {
                        let rank = rank(value);
                        if $descending { (None, Some(std::cmp::Reverse(rank))) } else { (Some(rank), None) }
                    };
                    let others = |n: usize| [5, 7].map(|step| NEIGHBOURS[n * step % NEIGHBOURS.len()].to_owned());
                    let alone: Vec<_> = stored.iter().map(|value| Alone { case, value: value.clone() }).collect();
                    let before = stored.iter().enumerate().flat_map(|(n, value)| {
                        others(n).map(|other| Before { case, value: value.clone(), other })
                    });
                    let before: Vec<_> = before.collect();
                    let between = stored.iter().flat_map(|value| {
                        NEIGHBOURS[2..9].iter().map(|other| {
                            Between { case, other: (*other).to_owned(), value: value.clone(), last: 7 }
                        })
                    });
                    let between: Vec<_> = between.collect();
                    let (of_alone, of_before, of_between) = runtime.block_on(async {
                        try_join_all(alone.iter().map(|row| tables.upsert(row))).await?;
                        try_join_all(before.iter().map(|row| tables.upsert(row))).await?;
                        try_join_all(between.iter().map(|row| tables.upsert(row))).await?;
                        Ok::<_, table_runtime::Error>((
                            narrow!(Alone::by_key(case), form, arg(from), arg(to)).all(&tables).await?,
                            narrow!(Before::by_key(case), form, arg(from), arg(to)).all(&tables).await?,
                            narrow!(Between::by_key(case).eq("a"), form, arg(from), arg(to)).all(&tables).await?,
                        ))
                    }).unwrap();
                    let holds = |value: &$type| within.contains(&rank(value));

                    let expected = alone.iter().filter(|row| holds(&row.value)).map(|row| place(&row.value));
                    let found: Vec<_> = of_alone.iter().map(|row| place(&row.value)).collect();
                    prop_assert_eq!(found, in_order(expected.collect()));

                    let place_before = |row: &Before| (place(&row.value), units(&row.other));
                    let expected = before.iter().filter(|row| holds(&row.value)).map(place_before);
                    let found: Vec<_> = of_before.iter().map(|row| place_before(row)).collect();
                    prop_assert_eq!(found, in_order(expected.collect()));

                    let expected = between.iter().filter(|row| row.other == "a" && holds(&row.value));
                    prop_assert!(of_between.iter().all(|row| row.other == "a" && row.last == 7));
                    let found: Vec<_> = of_between.iter().map(|row| place(&row.value)).collect();
                    prop_assert_eq!(found, in_order(expected.map(|row| place(&row.value)).collect()));
                    Ok(())
                });
            }
        }
    )*};
}

/// Returns times that are often close together, also within a tick.
fn near() -> impl Strategy<Value = i128> {
    prop_oneof![-1_000..1_000_i128, nanoseconds()]
}

ranges! {
    range_u32: u32, [], u32(), |value| *value, |value| *value, false;
    range_u32_reverse: u32, [(reverse)], u32(), |value| *value, |value| *value, true;
    range_u16_reverse_pad: u16, [(reverse, pad = 3)], 0..1000_u16, |value| *value, |value| *value, true;
    range_i32: i32, [], i32(), |value| *value, |value| *value, false;
    range_i32_pad: i32, [(pad = 12)], i32(), |value| *value, |value| *value, false;
    range_i32_reverse: i32, [(reverse)], i32(), |value| *value, |value| *value, true;
    range_i128: i128, [], i128(), |value| *value, |value| *value, false;
    range_decimal: Decimal, [(scale = 2)], decimal(2, 29), |value| *value, |value| *value, false;
    range_decimal_reverse: Decimal, [(scale = 3, reverse, pad = 8)], decimal(3, 8), |value| *value, |value| *value, true;
    range_bool: bool, [], any::<bool>(), |value| *value, |value| *value, false;
    range_char: char, [], character(), |value| *value, |value| units(&escaped(&value.to_string(), LAST)), false;
    range_uuid: Uuid, [], uuid(), |value| *value, |value| *value, false;
    range_uuid_reverse: Uuid, [(reverse)], uuid(), |value| *value, |value| *value, true;
    range_date: time::Date, [], civil().prop_map(time_date), |value| *value, |value| *value, false;
    range_chrono_date: chrono::NaiveDate, [(reverse)], civil().prop_map(chrono_date), |value| *value,
        |value| *value, true;
    range_jiff_date: jiff::civil::Date, [], civil().prop_map(jiff_date), |value| *value, |value| *value, false;
    range_time: OffsetDateTime, [(time)], near().prop_map(of_time), |value| *value,
        |value| value.unix_timestamp_nanos().div_euclid(100), false;
    range_reverse_time: OffsetDateTime, [(reverse_time)], near().prop_map(of_time), |value| *value,
        |value| value.unix_timestamp_nanos().div_euclid(100), true;
    range_chrono_reverse_time: chrono::DateTime<chrono::Utc>, [(reverse_time)], near().prop_map(of_chrono),
        |value| *value,
        |value| (value.timestamp(), value.timestamp_subsec_nanos() / 100), true;
    range_jiff_reverse_time: jiff::Timestamp, [(reverse_time)], near().prop_map(of_jiff), |value| *value,
        |value| value.as_nanosecond().div_euclid(100), true;
    range_system_time: SystemTime, [], near().prop_map(of_system), |value| *value,
        |value| since_epoch(*value).div_euclid(100), false;
    range_text: String, [], few(), |value| value, |value| units(&escaped(value, LAST)), false;
    range_lowercase: String, [(lowercase)], few(), |value| value,
        |value| units(&escaped(&folded::<Lowercase>(value), LAST)), false;
    range_uppercase: String, [(uppercase)], few(), |value| value,
        |value| units(&escaped(&folded::<Uppercase>(value), LAST)), false;
}

/// Declares a test for each type: its attribute, the values that keys hold, the values of bounds, and its rank in the
/// row order.
macro_rules! open_ranges {
    ($(
        $name:ident: $type:ty, [$($encoding:tt)*], $values:expr, $bounds:expr, |$value:ident| $rank:expr,
        $descending:literal;
    )*) => {$(
        mod $name {
            use super::*;

            #[derive(TableEntity)]
            struct Alone {
                #[partition_key]
                case: u32,
                #[row_key $($encoding)*]
                value: $type,
            }

            #[derive(TableEntity)]
            struct Before {
                #[partition_key]
                case: u32,
                #[row_key]
                begin: String,
                #[row_key $($encoding)*]
                value: $type,
                #[row_key]
                other: u8,
            }

            fn rank($value: &$type) -> impl Ord + Clone + fmt::Debug + use<> {
                $rank
            }

            #[test]
            fn ranges() {
                let (runtime, tables) = store();
                runtime.block_on(async {
                    tables.create::<Alone>().await?;
                    tables.create::<Before>().await
                }).unwrap();
                let cases = std::cell::Cell::new(0);
                check(150, (vec($values, 0..6), $bounds, $bounds, form()), |(values, from, to, form)| {
                    cases.set(cases.get() + 1);
                    let case = cases.get();
                    let (alone, before) = runtime.block_on(async {
                        for value in &values {
                            tables.upsert(&Alone { case, value: *value }).await?;
                            for begin in ["a", "a ", "b"] {
                                tables.upsert(&Before { case, begin: begin.into(), value: *value, other: 7 }).await?;
                            }
                        }
                        Ok::<_, table_runtime::Error>((
                            narrow!(Alone::by_key(case), form, from, to).all(&tables).await?,
                            narrow!(Before::by_key(case).eq("a"), form, from, to).all(&tables).await?,
                        ))
                    }).unwrap();
                    let within = bounds(form, rank(&from), rank(&to));
                    let mut expected: Vec<_> = values.iter().map(rank).filter(|rank| within.contains(rank)).collect();
                    expected.sort();
                    expected.dedup();
                    if $descending {
                        expected.reverse();
                    }
                    prop_assert_eq!(alone.iter().map(|row| rank(&row.value)).collect::<Vec<_>>(), &expected[..]);
                    prop_assert!(before.iter().all(|row| row.begin == "a" && row.other == 7));
                    prop_assert_eq!(before.iter().map(|row| rank(&row.value)).collect::<Vec<_>>(), expected);
                    Ok(())
                });
            }
        }
    )*};
}

/// Returns times of chrono, most of which a key cannot hold.
fn any_chrono() -> impl Strategy<Value = chrono::DateTime<chrono::Utc>> {
    let (min, max) = (chrono::DateTime::<chrono::Utc>::MIN_UTC, chrono::DateTime::<chrono::Utc>::MAX_UTC);
    let last = of_chrono(253_402_300_799_999_999_999);
    let edges = select(vec![min, max, last, last + chrono::TimeDelta::nanoseconds(1)]);
    let seconds = min.timestamp()..=max.timestamp();
    prop_oneof![
        edges,
        seconds.prop_map(|seconds| chrono::DateTime::from_timestamp(seconds, 0).unwrap()),
        near().prop_map(of_chrono)
    ]
}

fn any_chrono_date() -> impl Strategy<Value = chrono::NaiveDate> {
    let edge = |year, month, day| chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap();
    let (first, last) = (edge(0, 12, 31), edge(10_000, 1, 1));
    prop_oneof![
        select(vec![chrono::NaiveDate::MIN, chrono::NaiveDate::MAX, first, last]),
        civil().prop_map(chrono_date)
    ]
}

fn any_jiff_date() -> impl Strategy<Value = jiff::civil::Date> {
    prop_oneof![select(vec![jiff::civil::Date::MIN, jiff::civil::Date::ZERO]), civil().prop_map(jiff_date)]
}

fn any_system() -> impl Strategy<Value = SystemTime> {
    let far = Duration::from_secs(1 << 40);
    let edges = select(vec![SystemTime::UNIX_EPOCH - far, SystemTime::UNIX_EPOCH + far]);
    prop_oneof![edges, near().prop_map(of_system)]
}

open_ranges! {
    open_u32_pad: u32, [(pad = 3)], 0..1000_u32, prop_oneof![0..1100_u32, u32()], |value| *value, false;
    open_u32_reverse_pad: u32, [(reverse, pad = 3)], 0..1000_u32, prop_oneof![0..1100_u32, u32()], |value| *value, true;
    open_u128_pad: u128, [(pad = 20)], 0..1000_u128, u128(), |value| *value, false;
    open_i16_pad: i16, [(pad = 3)], -1000..1000_i16, prop_oneof![-1100..1100_i16, i16()], |value| *value, false;
    open_i16_reverse_pad: i16, [(reverse, pad = 3)], -1000..1000_i16, prop_oneof![-1100..1100_i16, i16()],
        |value| *value, true;
    open_decimal_pad: Decimal, [(scale = 1, pad = 3)], decimal(1, 3), decimal(1, 29), |value| *value, false;
    open_decimal_reverse: Decimal, [(scale = 20, reverse, pad = 22)], decimal(20, 22),
        prop_oneof![decimal(20, 29), select(vec![Decimal::MIN, Decimal::MAX])], |value| *value, true;
    open_time: chrono::DateTime<chrono::Utc>, [(time)], near().prop_map(of_chrono), any_chrono(),
        |value| (value.timestamp(), value.timestamp_subsec_nanos() / 100), false;
    open_reverse_time: chrono::DateTime<chrono::Utc>, [(reverse_time)], near().prop_map(of_chrono), any_chrono(),
        |value| (value.timestamp(), value.timestamp_subsec_nanos() / 100), true;
    open_system_time: SystemTime, [(reverse_time)], near().prop_map(of_system), any_system(),
        |value| since_epoch(*value).div_euclid(100), true;
    open_date: chrono::NaiveDate, [], civil().prop_map(chrono_date), any_chrono_date(), |value| *value, false;
    open_date_reverse: chrono::NaiveDate, [(reverse)], civil().prop_map(chrono_date), any_chrono_date(),
        |value| *value, true;
    open_jiff_date: jiff::civil::Date, [(reverse)], civil().prop_map(jiff_date), any_jiff_date(), |value| *value, true;
}

/// Returns nanoseconds of Unix time.
fn since_epoch(time: SystemTime) -> i128 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map(|after| after.as_nanos().cast_signed());
    since.unwrap_or_else(|before| -before.duration().as_nanos().cast_signed())
}

mod separated {
    use super::*;

    /// Entity with a separator: text has ranges in the last part only, other types in every part.
    #[derive(TableEntity)]
    #[table(separator = "_")]
    struct Row {
        #[partition_key]
        case: u32,
        #[row_key]
        number: i32,
        #[row_key]
        text: String,
    }

    #[test]
    fn ranges() {
        let (runtime, tables) = store();
        runtime.block_on(tables.create::<Row>()).unwrap();
        let escape = Escape { last: true, separator: Some(b'_') };
        let rank = |text: &str| units(&escaped(text, escape));
        let cases = std::cell::Cell::new(0);
        check(60, (pool((-2..2_i32, few())), i32()), |((values, skip, form), other)| {
            cases.set(cases.get() + 1);
            let (case, (low, from), (high, to)) = (cases.get(), &values[0], &values[1]);
            let (by_number, by_text) = runtime
                .block_on(async {
                    let pairs = values[skip..].iter().flat_map(|(number, text)| [(*number, text), (other, text)]);
                    let rows: Vec<_> = pairs.map(|(number, text)| Row { case, number, text: text.clone() }).collect();
                    try_join_all(rows.iter().map(|row| tables.upsert(row))).await?;
                    let by_number = narrow!(Row::by_key(case), form, *low, *high).all(&tables).await?;
                    let by_text = narrow!(Row::by_key(case).eq(other), form, &**from, &**to).all(&tables).await?;
                    Ok::<_, table_runtime::Error>((by_number, by_text))
                })
                .unwrap();
            let mut rows: Vec<_> =
                values[skip..].iter().flat_map(|(number, text)| [(*number, rank(text)), (other, rank(text))]).collect();
            rows.sort();
            rows.dedup();
            let expected = rows.iter().filter(|(number, _)| bounds(form, *low, *high).contains(number)).cloned();
            prop_assert_eq!(
                by_number.iter().map(|row| (row.number, rank(&row.text))).collect::<Vec<_>>(),
                expected.collect::<Vec<_>>()
            );
            let within = bounds(form, rank(from), rank(to));
            let expected = rows.iter().filter(|(number, text)| *number == other && within.contains(text)).cloned();
            prop_assert_eq!(
                by_text.iter().map(|row| (row.number, rank(&row.text))).collect::<Vec<_>>(),
                expected.collect::<Vec<_>>()
            );
            Ok(())
        });
    }
}

/// Declares a test for each encoding of text: the entity's attribute and the expected folding and escapes.
macro_rules! prefixes {
    ($($name:ident: [$($table:tt)*], [$($encoding:tt)*], $fold:ty, $escape:expr;)*) => {$(
        mod $name {
            use super::*;

            #[derive(TableEntity)]
            $($table)*
            struct Last {
                #[partition_key]
                case: u32,
                #[row_key $($encoding)*]
                text: String,
            }

            #[derive(TableEntity)]
            $($table)*
            struct Before {
                #[partition_key]
                case: u32,
                #[row_key $($encoding)*]
                text: String,
                #[row_key]
                number: u8,
            }

            #[test]
            fn prefixes() {
                let (runtime, tables) = store();
                runtime.block_on(async {
                    tables.create::<Last>().await?;
                    tables.create::<Before>().await
                }).unwrap();
                let cases = std::cell::Cell::new(0);
                let rank = |text: &str| units(&escaped(&folded::<$fold>(text), $escape));
                check(60, (vec(few(), 0..8), few()), |(texts, prefix)| {
                    cases.set(cases.get() + 1);
                    let case = cases.get();
                    let (last, before) = runtime.block_on(async {
                        for text in &texts {
                            tables.upsert(&Last { case, text: text.clone() }).await?;
                            tables.upsert(&Before { case, text: text.clone(), number: 1 }).await?;
                        }
                        let last = Last::by_key(case).starts_with(&prefix).all(&tables).await?;
                        let before = Before::by_key(case).starts_with(&prefix).all(&tables).await?;
                        assert!(before.iter().all(|row| row.number == 1));
                        Ok::<_, table_runtime::Error>((
                            last.iter().map(|row| rank(&row.text)).collect::<Vec<_>>(),
                            before.iter().map(|row| rank(&row.text)).collect::<Vec<_>>(),
                        ))
                    }).unwrap();
                    let begin = rank(&prefix);
                    let ranks = texts.iter().map(|text| rank(text));
                    let mut expected: Vec<_> = ranks.filter(|rank| rank.starts_with(&begin)).collect();
                    expected.sort();
                    expected.dedup();
                    prop_assert_eq!(&last, &expected);
                    let mut before = before;
                    // Under a separator, a text before other parts has another order.
                    before.sort();
                    prop_assert_eq!(&before, &expected);
                    Ok(())
                });
            }
        }
    )*};
}

prefixes! {
    prefix_plain: [], [], Plain, LAST;
    prefix_lowercase: [], [(lowercase)], Lowercase, LAST;
    prefix_uppercase: [], [(uppercase)], Uppercase, LAST;
    prefix_separated: [#[table(separator = "_")]], [(lowercase)], Lowercase,
        Escape { last: true, separator: Some(b'_') };
}
