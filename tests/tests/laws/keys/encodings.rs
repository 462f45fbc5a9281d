//! Laws of one encoding.

use std::{fmt, time::SystemTime};

use proptest::{prelude::*, sample::Index};
use rust_decimal::Decimal;
use table_runtime::{
    Guid, KeyPart, Ticks,
    key::{
        Decode, Encode, First, Hash, KeyBuffer, KeyProblem, Lowercase, Pad, Plain, Prefixed, Raw, Reverse, ReverseTime,
        Scale, Separated, Time, Uppercase, kind,
    },
};
use tests::depth::check;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    expected::{LAST, delimiter, escape, escaped, folded, forbidden, read, try_write, write},
    values::{
        character, chrono_date, civil, decimal, i8, i16, i32, i64, i128, instant, jiff_date, nanoseconds, of_chrono,
        of_jiff, of_system, of_time, raw, text, time_date, u8, u16, u32, u64, u128, uuid,
    },
};

/// Checks that a value reads back, that its key is legal and has no delimiter, and that no other text is read.
fn reads_back<T: KeyPart + PartialEq + fmt::Debug, N: Decode<T::Kind>>(values: impl Strategy<Value = T>) {
    check(400, (values, escape(), any::<Index>(), 0..3_u8, character()), |(value, escape, at, edit, other)| {
        let key = write::<T, N>(&value, escape);
        prop_assert_eq!(&read::<T, N>(&key, escape).unwrap(), &value);
        prop_assert!(!key.contains(forbidden), "{:?}", key);
        prop_assert!(escape.last || !key.contains(delimiter::<T::Kind, N>(escape.separator)), "{:?}", key);

        let mut characters: Vec<_> = key.chars().collect();
        let at = at.index(characters.len() + 1);
        match edit {
            0 => characters.insert(at, other),
            _ if at == characters.len() => {}
            1 => characters[at] = other,
            _ => drop(characters.remove(at)),
        }
        let changed = String::from_iter(characters);
        if let Ok(value) = read::<T, N>(&changed, escape) {
            prop_assert_eq!(try_write::<T, N>(&value, escape), Ok(changed));
        }
        Ok(())
    });
}

#[test]
fn lossless_encodings_read_back() {
    reads_back::<String, Plain>(text());
    reads_back::<Box<str>, Plain>(text().prop_map(Box::from));
    reads_back::<char, Plain>(character());
    reads_back::<bool, Plain>(any::<bool>());
    reads_back::<Uuid, Plain>(uuid());
    reads_back::<Guid, Plain>(uuid().prop_map(Guid::from));
    reads_back::<Uuid, Reverse>(uuid());
    reads_back::<Guid, Reverse>(uuid().prop_map(Guid::from));
    reads_back::<time::Date, Plain>(civil().prop_map(time_date));
    reads_back::<chrono::NaiveDate, Reverse>(civil().prop_map(chrono_date));
    reads_back::<jiff::civil::Date, Plain>(civil().prop_map(jiff_date));
    reads_back::<jiff::civil::Date, Reverse>(civil().prop_map(jiff_date));
}

#[test]
fn integers_read_back() {
    macro_rules! each {
        ($($type:ident)*) => {$(
            reads_back::<$type, Plain>($type());
            reads_back::<$type, Reverse>($type());
            // The width of the widest integer, and one more.
            reads_back::<$type, Pad<39>>($type());
            reads_back::<$type, Pad<40>>($type());
            reads_back::<$type, Reverse<Pad<39>>>($type());
            reads_back::<$type, Reverse<Pad<40>>>($type());
            reads_back::<$type, Pad<2>>($type().prop_map(|value| value % 100));
            reads_back::<$type, Reverse<Pad<2>>>($type().prop_map(|value| value % 100));
        )*};
    }
    each!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
}

/// Each width of digits, at the bounds of each type and of the width.
#[test]
fn integers_read_back_at_the_bounds_of_every_width() {
    fn at_bounds<T: KeyPart + PartialEq + fmt::Debug, N: Decode<T::Kind>>(values: &[T]) -> usize {
        let mut written = 0;
        for value in values {
            if let Ok(key) = try_write::<T, N>(value, LAST) {
                assert_eq!(read::<T, N>(&key, LAST).as_ref(), Ok(value), "{key}");
                written += 1;
            }
        }
        written
    }
    fn powers<T: TryFrom<i128> + TryFrom<u128>>() -> Vec<T> {
        let powers = (0..39).map(|digits| 10_u128.pow(digits));
        let unsigned = powers.clone().flat_map(|power| [power - 1, power, power + 1]).filter_map(|n| n.try_into().ok());
        let signed = (0..39).map(|digits| 10_i128.pow(digits)).flat_map(|power| [1 - power, -power, -power - 1]);
        unsigned.chain(signed.filter_map(|number| number.try_into().ok())).collect()
    }
    macro_rules! widths {
        ($type:ident, $values:ident: $($width:literal)*) => {$(
            let plain = at_bounds::<$type, Pad<$width>>(&$values);
            // A value fits a width if and only if its mirror does.
            assert_eq!(at_bounds::<$type, Reverse<Pad<$width>>>(&$values), plain, "{}", $width);
            assert!(plain > 1, "{}", $width);
        )*};
    }
    macro_rules! each {
        ($($type:ident)*) => {$({
            let mut values = powers::<$type>();
            values.extend([$type::MIN, $type::MIN + 1, $type::MAX - 1, $type::MAX]);
            assert_eq!(at_bounds::<$type, Plain>(&values), values.len());
            assert_eq!(at_bounds::<$type, Reverse>(&values), values.len());
            widths!($type, values: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
                34 35 36 37 38 39 40);
        })*};
    }
    each!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
}

#[test]
fn decimals_read_back() {
    reads_back::<Decimal, Scale<0>>(decimal(0, 29));
    reads_back::<Decimal, Scale<2>>(decimal(2, 29));
    reads_back::<Decimal, Scale<28>>(decimal(28, 29));
    reads_back::<Decimal, Scale<3, Reverse>>(decimal(3, 29));
    reads_back::<Decimal, Scale<2, Pad<4>>>(decimal(2, 4));
    reads_back::<Decimal, Scale<9, Pad<38>>>(decimal(9, 38));
    reads_back::<Decimal, Scale<1, Reverse<Pad<5>>>>(decimal(1, 5));
    reads_back::<Decimal, Scale<2, Pad<20>>>(decimal(2, 20));
    reads_back::<Decimal, Scale<2, Reverse<Pad<20>>>>(decimal(2, 20));
    reads_back::<Decimal, Scale<0, Reverse<Pad<20>>>>(decimal(0, 20));
}

/// A time reads back rounded down to its tick.
#[test]
fn times_read_back_to_the_tick() {
    fn tick(nanoseconds: i128) -> i128 {
        nanoseconds.div_euclid(100) * 100
    }
    fn read_back<N: Decode<kind::Instant>>() {
        reads_back::<Ticks, N>(instant());
        check(400, nanoseconds(), |moment| {
            let floor = tick(moment);
            let key = write::<OffsetDateTime, N>(&of_time(moment), LAST);
            prop_assert_eq!(read::<OffsetDateTime, N>(&key, LAST).unwrap(), of_time(floor));
            prop_assert_eq!(&write::<_, N>(&of_chrono(moment), LAST), &key);
            prop_assert_eq!(read::<chrono::DateTime<chrono::Utc>, N>(&key, LAST).unwrap(), of_chrono(floor));
            prop_assert_eq!(&write::<_, N>(&of_jiff(moment), LAST), &key);
            prop_assert_eq!(read::<jiff::Timestamp, N>(&key, LAST).unwrap(), of_jiff(floor));
            prop_assert_eq!(&write::<_, N>(&of_system(moment), LAST), &key);
            prop_assert_eq!(read::<SystemTime, N>(&key, LAST).unwrap(), of_system(floor));
            Ok(())
        });
    }
    read_back::<Plain>();
    read_back::<Time>();
    read_back::<ReverseTime>();
}

#[test]
fn text_is_escaped_character_by_character() {
    check(4_000, (text(), escape()), |(text, escape)| {
        prop_assert_eq!(write::<_, Plain>(&text, escape), escaped(&text, escape));
        prop_assert_eq!(write::<_, Lowercase>(&text, escape), escaped(&folded::<Lowercase>(&text), escape));
        prop_assert_eq!(write::<_, Uppercase>(&text, escape), escaped(&folded::<Uppercase>(&text), escape));
        Ok(())
    });
}

/// For all of Unicode, a text folds to the concatenation of its folded characters, without regard to context.
#[test]
fn folding_depends_on_one_character_only() {
    fn each<N: Encode<kind::Text>>() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for run in all.chunks(1000) {
            let text = String::from_iter(run);
            let (mut whole, mut parts) = (KeyBuffer::new(), KeyBuffer::new());
            N::write(&text, LAST, &mut whole).unwrap();
            for one in run {
                N::write(one.encode_utf8(&mut [0; 4]), LAST, &mut parts).unwrap();
            }
            assert_eq!(whole.as_str(), parts.as_str());
        }
    }
    each::<Plain>();
    each::<Lowercase>();
    each::<Uppercase>();
}

/// The tables have Unicode 17.0. They are compared if the compiler has that version too.
#[test]
fn folding_agrees_with_unicode() {
    if char::UNICODE_VERSION != (17, 0, 0) {
        return;
    }
    for character in ('\0'..=char::MAX).filter(|character| !forbidden(*character) && !matches!(character, '%' | '~')) {
        assert_eq!(write::<_, Lowercase>(&character, LAST), character.to_lowercase().to_string(), "{character:?}");
        assert_eq!(write::<_, Uppercase>(&character, LAST), character.to_uppercase().to_string(), "{character:?}");
    }
}

#[test]
fn a_prefix_is_written_as_a_prefix() {
    fn prefixes<N: Prefixed>(texts: impl Strategy<Value = String>) {
        check(1_000, (texts, any::<Index>(), escape()), |(text, at, escape)| {
            let count = at.index(text.chars().count() + 1);
            let prefix: String = text.chars().take(count).collect();
            let (key, begin) = (write::<_, N>(&text, escape), write::<_, N>(&prefix, escape));
            prop_assert!(key.starts_with(&begin), "{key:?} {begin:?}");
            Ok(())
        });
    }
    prefixes::<Plain>(text());
    prefixes::<Lowercase>(text());
    prefixes::<Uppercase>(text());
    prefixes::<Raw>(raw());
    prefixes::<Separated<Uppercase, '|'>>(text());
}

#[test]
fn first_folds_then_takes_then_escapes() {
    fn takes<const N: usize>() {
        check(500, (text(), escape()), |(text, escape)| {
            let first = |text: String| escaped(&text.chars().take(N).collect::<String>(), escape);
            prop_assert_eq!(write::<_, First<N>>(&text, escape), first(text.clone()));
            prop_assert_eq!(write::<_, First<N, Lowercase>>(&text, escape), first(folded::<Lowercase>(&text)));
            prop_assert_eq!(write::<_, First<N, Uppercase>>(&text, escape), first(folded::<Uppercase>(&text)));
            Ok(())
        });
    }
    takes::<1>();
    takes::<2>();
    takes::<5>();
}

#[test]
fn raw_gives_the_text_or_an_error() {
    check(4_000, (text(), escape()), |(text, escape)| {
        let ends = |character| !escape.last && character == delimiter::<kind::Text, Raw>(escape.separator);
        match text.chars().find(|character| forbidden(*character) || ends(*character)) {
            None => {
                let key = try_write::<_, Raw>(&text, escape);
                prop_assert_eq!(key.as_deref(), Ok(&*text));
                prop_assert_eq!(read::<String, Raw>(&text, escape), Ok(text));
            }
            Some(character) => {
                let problem = KeyProblem::Character { value: text.clone(), character };
                prop_assert_eq!(try_write::<_, Raw>(&text, escape), Err(problem));
            }
        }
        Ok(())
    });
}

/// The bucket is computed from the plain encoding, regardless of the position of the part.
#[test]
fn hash_gives_a_bucket() {
    check(1_000, (text(), escape()), |(text, escape)| {
        let key = write::<_, Hash<16>>(&text, escape);
        prop_assert!(key.len() == 2 && key.parse::<u8>().unwrap() < 16, "{key}");
        prop_assert_eq!(&write::<_, Hash<16>>(&text, LAST), &key);
        prop_assert_eq!(write::<_, Hash<1000>>(&text, escape).len(), 3);
        let lower = write::<_, Hash<16, Lowercase>>(&text, escape);
        prop_assert_eq!(lower, write::<_, Hash<16>>(&folded::<Lowercase>(&text), LAST));
        Ok(())
    });
}
