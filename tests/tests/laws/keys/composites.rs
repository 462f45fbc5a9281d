//! Laws of keys with several parts.

use std::{cmp::Ordering, fmt, sync::Arc};

use proptest::{collection::vec, prelude::*, strategy::Union};
use rust_decimal::Decimal;
use table_runtime::{
    KeyPart, Ticks,
    key::{
        Encode, Escape, First, Hash, Lowercase, Ordered, Pad, Plain, Ranged, Raw, Reverse, ReverseTime, Scale,
        Separated, Time, Uppercase, kind,
    },
};
use tests::depth::check;
use uuid::Uuid;

use super::{
    expected::{LAST, by_key, escaped, folded, forbidden, read, separator, units, write},
    values::{
        character, chrono_date, civil, decimal, i8, i16, i32, i64, i128, instant, raw, text, time_date, u8, u16, u32,
        u64, u128, uuid,
    },
};

/// Two values of a key part with their expected order.
struct Pair {
    encoding: &'static str,
    keys: Keys,
    /// Order of their keys, if the encoding has one.
    order: Option<Ordering>,
    /// True if the order also holds before other parts under a separator.
    fixed: bool,
    delimiter: u8,
}

/// Writes the left or the right value.
type Keys = Arc<dyn Fn(bool, Escape) -> String>;

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?} {:?}", self.encoding, (self.keys)(false, LAST), (self.keys)(true, LAST), self.order)
    }
}

/// Returns two values, which are often equal.
fn twice<T: Clone + fmt::Debug + 'static>(values: impl Strategy<Value = T> + 'static) -> BoxedStrategy<(T, T)> {
    let values = Arc::new(values);
    (values.clone(), values, any::<bool>())
        .prop_map(|(left, right, same)| (left.clone(), if same { left } else { right }))
        .boxed()
}

/// Returns two texts, which are often equal, or one is the beginning of the other.
fn texts(texts: impl Strategy<Value = String> + 'static) -> BoxedStrategy<(String, String)> {
    let texts = Arc::new(texts);
    let pair = (texts.clone(), texts, 0..4_u8).prop_map(|(left, right, how)| match how {
        0 => (left.clone(), left),
        1 => (left.clone(), left + &right),
        2 => (left.clone() + &right, left),
        _ => (left, right),
    });
    pair.boxed()
}

fn part<T: KeyPart + fmt::Debug + 'static, N: Encode<T::Kind>>(values: BoxedStrategy<(T, T)>) -> BoxedStrategy<Pair> {
    pair::<T, N>(values, |_, _| None, false)
}

/// Returns a part that orders rows regardless of the following parts.
fn ranged<T: KeyPart + fmt::Debug + 'static, N: Ranged<T::Kind>>(
    values: BoxedStrategy<(T, T)>,
    compare: fn(&T, &T) -> Ordering,
) -> BoxedStrategy<Pair> {
    let descending = <N as Ordered<T::Kind>>::DESCENDING;
    let turn = move |order: Ordering| if descending { order.reverse() } else { order };
    pair::<T, N>(values, move |left, right| Some(turn(compare(left, right))), false)
}

/// Returns a part that orders rows also under any separator.
fn fixed<T: KeyPart + Ord + Clone + fmt::Debug + 'static, N: Ranged<T::Kind>>(
    values: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Pair>
where
    Separated<N, '_'>: Ranged<T::Kind>,
{
    let descending = <Separated<N, '_'> as Ordered<T::Kind>>::DESCENDING;
    let turn = move |order: Ordering| if descending { order.reverse() } else { order };
    pair::<T, N>(twice(values), move |left, right| Some(turn(left.cmp(right))), true)
}

fn pair<T: KeyPart + fmt::Debug + 'static, N: Encode<T::Kind>>(
    values: BoxedStrategy<(T, T)>,
    compare: impl Fn(&T, &T) -> Option<Ordering> + 'static,
    fixed: bool,
) -> BoxedStrategy<Pair> {
    let pair = values.prop_map(move |(left, right)| Pair {
        encoding: std::any::type_name::<N>(),
        order: compare(&left, &right),
        keys: Arc::new(move |is_right, escape| write::<T, N>(if is_right { &right } else { &left }, escape)),
        fixed,
        delimiter: N::DELIMITER,
    });
    pair.boxed()
}

fn ordered_parts() -> Vec<BoxedStrategy<Pair>> {
    let lower = |left: &String, right: &String| by_key(&folded::<Lowercase>(left), &folded::<Lowercase>(right));
    let upper = |left: &String, right: &String| by_key(&folded::<Uppercase>(left), &folded::<Uppercase>(right));
    let character = |left: &char, right: &char| by_key(&left.to_string(), &right.to_string());
    vec![
        ranged::<String, Plain>(texts(text()), |left, right| by_key(left, right)),
        ranged::<String, Lowercase>(texts(text()), lower),
        ranged::<String, Uppercase>(texts(text()), upper),
        ranged::<String, Raw>(texts(raw()), |left, right| units(left).cmp(&units(right))),
        ranged::<char, Plain>(twice(self::character()), character),
        fixed::<bool, Plain>(any::<bool>()),
        fixed::<u8, Plain>(u8()),
        fixed::<u32, Pad<12>>(u32()),
        fixed::<u64, Reverse>(u64()),
        fixed::<u128, Plain>(u128()),
        fixed::<u16, Reverse<Pad<3>>>(u16().prop_map(|value| value % 1000)),
        fixed::<i8, Pad<39>>(i8()),
        fixed::<i16, Pad<3>>(i16().prop_map(|value| value % 1000)),
        fixed::<i16, Pad<40>>(i16()),
        fixed::<i32, Plain>(i32()),
        fixed::<i32, Reverse>(i32()),
        fixed::<i64, Reverse<Pad<20>>>(i64()),
        fixed::<i128, Reverse>(i128()),
        fixed::<Decimal, Scale<2>>(decimal(2, 29)),
        fixed::<Decimal, Scale<28, Reverse>>(decimal(28, 29)),
        fixed::<Decimal, Scale<1, Reverse<Pad<5>>>>(decimal(1, 5)),
        fixed::<Uuid, Plain>(uuid()),
        fixed::<Uuid, Reverse>(uuid()),
        fixed::<Ticks, Plain>(instant()),
        fixed::<Ticks, Time>(instant()),
        fixed::<Ticks, ReverseTime>(instant()),
        fixed::<time::Date, Plain>(civil().prop_map(time_date)),
        fixed::<chrono::NaiveDate, Reverse>(civil().prop_map(chrono_date)),
    ]
}

fn other_parts() -> Vec<BoxedStrategy<Pair>> {
    vec![
        part::<String, First<2>>(texts(text())),
        part::<String, First<3, Uppercase>>(texts(text())),
        part::<String, Hash<10>>(texts(text())),
        part::<char, Lowercase>(twice(character())),
        part::<char, Uppercase>(twice(character())),
        part::<u32, Hash<1000>>(twice(u32())),
        part::<Decimal, Hash<1000, Scale<2>>>(twice(decimal(2, 29))),
    ]
}

struct Composite {
    keys: [String; 2],
    parts: [Vec<(String, char)>; 2],
    order: Option<Ordering>,
}

fn composite(parts: &[Pair], separator: Option<u8>) -> Composite {
    let sides = [false, true].map(|right| {
        let written = parts.iter().enumerate().map(|(at, part)| {
            let last = at + 1 == parts.len();
            (part.keys.as_ref()(right, Escape { last, separator }), separator.unwrap_or(part.delimiter).into())
        });
        written.collect::<Vec<(String, char)>>()
    });
    let key = |side: &Vec<(String, char)>| {
        let mut key: String = side.iter().flat_map(|(part, delimiter)| part.chars().chain([*delimiter])).collect();
        key.pop();
        key
    };
    // A separator inside a text is escaped, and its escape has another order.
    let is_escaped = |at: usize| {
        let escape = separator.map(|separator| format!("~{separator:02X}"));
        escape.is_some_and(|escape| sides.iter().any(|side| side[at].0.contains(&escape)))
    };
    let sorted =
        |(at, part): (usize, &Pair)| separator.is_none() || part.fixed || at + 1 == parts.len() && !is_escaped(at);
    let order = parts.iter().enumerate().try_fold(Ordering::Equal, |order, (at, part)| {
        let next = part.order.filter(|_| sorted((at, part)))?;
        Some(order.then(next))
    });
    Composite { keys: [key(&sides[0]), key(&sides[1])], parts: sides, order }
}

#[test]
fn keys_are_in_the_order_of_their_values() {
    let parts = vec(Union::new(ordered_parts()), 1..=3);
    check(6_000, (parts, prop_oneof![3 => Just(None), 1 => separator()]), |(parts, separator)| {
        let Composite { keys: [left, right], order, .. } = composite(&parts, separator);
        if separator.is_none() {
            prop_assert!(order.is_some());
        }
        // Under a separator, a text before other parts has no order.
        if let Some(order) = order {
            prop_assert_eq!(units(&left).cmp(&units(&right)), order, "{:?} {:?}", left, right);
        }
        Ok(())
    });
}

#[test]
fn no_part_contains_its_delimiter() {
    let parts = vec(Union::new(ordered_parts().into_iter().chain(other_parts())), 1..=3);
    check(4_000, (parts, separator()), |(parts, separator)| {
        let Composite { keys, parts, .. } = composite(&parts, separator);
        for (key, parts) in keys.iter().zip(&parts) {
            prop_assert!(!key.contains(forbidden), "{key:?}");
            let mut rest = key.as_str();
            for (part, delimiter) in &parts[..parts.len() - 1] {
                let (found, after) = rest.split_once(*delimiter).unwrap();
                prop_assert_eq!(found, part);
                rest = after;
            }
            prop_assert_eq!(rest, &parts[parts.len() - 1].0);
        }
        prop_assert_eq!(keys[0] == keys[1], parts[0] == parts[1]);
        Ok(())
    });
}

#[test]
fn separated_passes_its_separator_to_the_encoding() {
    check(1_000, (text(), any::<bool>()), |(text, last)| {
        let (without, with) = (Escape { last, separator: None }, Escape { last, separator: Some(b';') });
        prop_assert_eq!(write::<_, Separated<Plain, ';'>>(&text, without), escaped(&text, with));
        let key = escaped(&text, with);
        prop_assert_eq!(read::<String, Separated<Plain, ';'>>(&key, without), Ok(text));
        Ok(())
    });
    assert_eq!(<Separated<Plain, ';'> as Encode<kind::Text>>::DELIMITER, b';');
    assert_eq!(<Separated<Plain, ';'> as Encode<kind::Bool>>::DELIMITER, b';');
}
