//! Which stored values a field reads.

use proptest::prelude::*;
use table_runtime::{
    Guid, Ticks, Value,
    layout::PropertyType,
    property::{Json, Property, Store},
    row::{Properties, ValueRef},
};
use table_store::unstable::{Reads, reads};

#[test]
fn a_value_whose_json_does_not_read_back_is_not_written() {
    let write = |value: f64| Json::write(&value, "Rank".into(), &mut Properties::default());
    assert_eq!(write(1.5), Ok(()));
    assert!(write(f64::NAN).is_err());
    let mut properties = Properties::default();
    assert_eq!(Json::write(&None::<f64>, "Rank".into(), &mut properties), Ok(()));
    assert!(properties.is_empty());
    assert_eq!(<Json as Store<Option<f64>>>::read(None), Ok(None));
}

/// Field type with its recorded type, and a function that checks whether it holds a stored value exactly.
struct Field {
    property: PropertyType,
    reads_exactly: fn(&Value) -> bool,
}

impl Field {
    fn of<T: Property>() -> Self {
        Self { property: T::TYPE, reads_exactly: reads_exactly::<T> }
    }
}

/// Checks whether a field reads a stored value, and would write the same value.
fn reads_exactly<T: Property>(stored: &Value) -> bool {
    let Ok(read) = T::from_value(Some(stored.as_ref())) else { return false };
    match read.to_value(&mut String::new()).ok().flatten() {
        Some(written) => is_same(written, stored.as_ref()),
        None => false,
    }
}

/// Checks whether two values are equal: numbers as numbers, and NaN as NaN.
fn is_same(one: ValueRef<'_>, other: ValueRef<'_>) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        _ => match (one, other) {
            (ValueRef::Double(one), ValueRef::Double(other)) => {
                one.total_cmp(&other).is_eq() || one.is_nan() && other.is_nan()
            }
            (one, other) => one == other,
        },
    }
}

/// Returns the sign and the size of a whole number; `None` for any other value.
fn whole(value: ValueRef<'_>) -> Option<(bool, u128)> {
    let number = |number: i128| (number < 0, number.unsigned_abs());
    match value {
        ValueRef::Int32(value) => Some(number(value.into())),
        ValueRef::Int64(value) => Some(number(value.into())),
        #[allow(clippy::cast_possible_truncation, reason = "whole, and far below 2^127")]
        ValueRef::Double(value) if value.fract() == 0.0 && value.abs() < 1e30 => Some(number(value as i128)),
        // In a key, a negative number is the nine's complement of what is missing to -1.
        ValueRef::String(text) if text.starts_with('-') && text.len() == 40 => {
            let complement: String = text[1..].bytes().map(|digit| char::from(b'0' + b'9' - digit)).collect();
            complement.parse::<u128>().ok().map(|missing| (true, missing + 1))
        }
        ValueRef::String(text) => {
            let unsigned = text.parse().ok().map(|size| (false, size));
            unsigned.or_else(|| text.parse().ok().map(number))
        }
        _ => None,
    }
}

/// Returns true if a field could read the other type's values, and would find other ones: ticks are no number of anything
/// else, and filters compare only texts of the same number of digits.
fn means_other_values(now: PropertyType, was: PropertyType) -> bool {
    let is_ticks = |property| property == PropertyType::Ticks;
    let digits = |property| match property {
        PropertyType::UInt64 => Some(20),
        PropertyType::UInt128 | PropertyType::Int128 => Some(39),
        // As many as it has.
        PropertyType::Decimal => Some(0),
        _ => None,
    };
    is_ticks(now) != is_ticks(was) || digits(now).zip(digits(was)).is_some_and(|(now, was)| now != was)
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::String((*text).to_owned())).collect()
}

/// Values at the edges of all types, each in the form in which a field of the type stores it.
fn stored_as(property: PropertyType) -> Vec<Value> {
    let mut edges: Vec<i64> = Vec::new();
    for bits in [0, 7, 8, 15, 16, 24, 31, 32, 53, 62] {
        for near in [-1, 0, 1] {
            edges.extend([(1 << bits) + near, near - (1 << bits)]);
        }
    }
    edges.push(0);
    let range = match property {
        PropertyType::Int32 { min, max } => min.into()..=max.into(),
        PropertyType::Int64 { min, max } => min..=max,
        _ => i64::MIN..=i64::MAX,
    };
    edges.extend([*range.start(), *range.end()]);
    edges.retain(|edge| range.contains(edge));
    let doubles = [0.5, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let singles = [0.5, f32::MAX, f32::MIN_POSITIVE, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    #[allow(clippy::cast_precision_loss, reason = "the edges of other types are wanted, rounded or not")]
    match property {
        PropertyType::Boolean => vec![Value::Boolean(false), Value::Boolean(true)],
        PropertyType::Int32 { .. } => {
            edges.into_iter().filter_map(|edge| edge.try_into().ok()).map(Value::Int32).collect()
        }
        PropertyType::Int64 { .. } | PropertyType::Scaled { .. } => edges.into_iter().map(Value::Int64).collect(),
        PropertyType::Double => edges.into_iter().map(|edge| edge as f64).chain(doubles).map(Value::Double).collect(),
        PropertyType::Single => {
            edges.into_iter().map(|edge| edge as f32).chain(singles).map(|edge| Value::Double(edge.into())).collect()
        }
        PropertyType::String | PropertyType::LargeString => texts(&["", "1", "2026-12-24", "::1"]),
        PropertyType::Date => texts(&["0001-01-01", "2026-12-24", "9999-12-31"]),
        PropertyType::UInt64 => texts(&["00000000000000000000", "18446744073709551615"]),
        PropertyType::UInt128 => texts(&[
            "000000000000000000000000000000000000000",
            "000000000000000000018446744073709551615",
            "340282366920938463463374607431768211455",
        ]),
        PropertyType::Int128 => texts(&[
            "-829858816539530768268312696284115894272",
            "-999999999999999999999999999999999999999",
            "000000000000000000000000000000000000000",
            "170141183460469231731687303715884105727",
        ]),
        PropertyType::Decimal => texts(&["-79228162514264337593543950335", "0", "1.50"]),
        PropertyType::Variants { names, .. } => texts(names),
        PropertyType::Address => texts(&["192.0.2.1", "::1"]),
        PropertyType::Ticks => edges.into_iter().filter(|edge| *edge >= 0).map(Value::Int64).collect(),
        PropertyType::Json | PropertyType::LargeJson => texts(&["[]", "\"2026-12-24\"", "[2026,358]", "5"]),
        PropertyType::Binary | PropertyType::LargeBinary => vec![Value::Binary(Vec::new())],
        PropertyType::Guid => vec![Value::Guid(Guid::default())],
        PropertyType::DateTime => vec![Value::DateTime(Ticks::FIRST_PROPERTY), Value::DateTime(Ticks::MAX)],
    }
}

fn fields() -> Vec<Field> {
    vec![
        Field::of::<bool>(),
        Field::of::<i8>(),
        Field::of::<i16>(),
        Field::of::<i32>(),
        Field::of::<u8>(),
        Field::of::<u16>(),
        Field::of::<u32>(),
        Field::of::<i64>(),
        Field::of::<f32>(),
        Field::of::<f64>(),
        Field::of::<String>(),
        Field::of::<Vec<u8>>(),
        Field::of::<Guid>(),
        Field::of::<Ticks>(),
        Field::of::<std::time::SystemTime>(),
        Field::of::<std::time::Duration>(),
        Field::of::<std::net::IpAddr>(),
        Field::of::<u64>(),
        Field::of::<u128>(),
        Field::of::<i128>(),
        Field::of::<rust_decimal::Decimal>(),
        Field::of::<time::Date>(),
        Field::of::<chrono::NaiveDate>(),
        Field::of::<jiff::civil::Date>(),
        Field::of::<Option<u16>>(),
    ]
}

#[test]
fn recorded_types_say_what_fields_read() {
    for now in fields() {
        for was in fields() {
            let values = stored_as(was.property);
            let read = values.iter().filter(|value| (now.reads_exactly)(value)).count();
            let expected = match read {
                _ if means_other_values(now.property, was.property) => Reads::Nothing,
                0 => Reads::Nothing,
                _ if read == values.len() => Reads::All,
                _ => Reads::Some,
            };
            let (now, was) = (now.property.to_string(), was.property.to_string());
            assert_eq!(reads(&now, &was), expected, "{now} reads {was}: {values:?}");
        }
    }
}

tests::depth::laws! {
    256;

    /// Filters compare texts, and find what a comparison of the values finds.
    fn texts_have_the_order_of_their_values(
        one in any::<(u64, u128, i128)>(), other in any::<(u64, u128, i128)>(), days in any::<(u32, u32)>(),
    ) {
        prop_assert_eq!(text_of(&one.0).cmp(&text_of(&other.0)), one.0.cmp(&other.0));
        prop_assert_eq!(text_of(&one.1).cmp(&text_of(&other.1)), one.1.cmp(&other.1));
        prop_assert_eq!(text_of(&one.2).cmp(&text_of(&other.2)), one.2.cmp(&other.2));
        let [one, other] = [days.0, days.1].map(|day| {
            let first = time::Date::from_calendar_date(1, time::Month::January, 1).expect("a date");
            first + time::Duration::days(i64::from(day % 3_652_059))
        });
        prop_assert_eq!(text_of(&one).cmp(&text_of(&other)), one.cmp(&other));
    }

    fn texts_read_back(long in any::<u64>(), wide in any::<u128>(), signed in any::<i128>(), address in any::<[u8; 16]>()) {
        prop_assert_eq!(read(&text_of(&long)), Some(long));
        prop_assert_eq!(read(&text_of(&wide)), Some(wide));
        prop_assert_eq!(read(&text_of(&signed)), Some(signed));
        // Without padding too.
        prop_assert_eq!(read(&long.to_string()), Some(long));
        prop_assert_eq!(read(&signed.to_string()), Some(signed));
        let address = std::net::IpAddr::from(address);
        prop_assert_eq!(read(&text_of(&address)), Some(address));
    }
}

fn text_of<T: Property>(value: &T) -> String {
    let mut text = String::new();
    match value.to_value(&mut text) {
        Ok(Some(ValueRef::String(text))) => text.to_owned(),
        other => panic!("{other:?}"),
    }
}

fn read<T: Property>(text: &str) -> Option<T> {
    T::from_value(Some(ValueRef::String(text))).ok()
}
