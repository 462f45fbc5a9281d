//! The laws of keys, of every encoding alone, in composites and in the ranges of a store. What is expected is said
//! here once more, from the description of stored rows, and not taken from the encoders.

use std::{
    cmp::Ordering,
    fmt,
    ops::{Bound, RangeBounds},
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::try_join_all;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::Union,
    test_runner::{Config, TestRunner},
};
use table_runtime::{
    Guid, KeyPart, TableEntity, Tables, Ticks,
    key::{
        Decode, Encode, Escape, First, Hash, KeyBuffer, KeyProblem, Kind, Lowercase, Ordered, Pad, Plain, Prefixed,
        Ranged, Raw, Reverse, ReverseTime, Separated, Time, Uppercase, kind,
    },
};
use time::OffsetDateTime;
use uuid::Uuid;

// What the laws say of.

/// Where escapes, joints, foldings and the two orders of Unicode have their corners.
const CORNERS: &[char] = &[
    ' ',
    '!',
    '"',
    '~',
    '%',
    '/',
    '\\',
    '#',
    '?',
    '_',
    '-',
    '\'',
    '|',
    '0',
    '2',
    'F',
    'A',
    'a',
    'S',
    'z',
    '\0',
    '\t',
    '\n',
    '\x1F',
    '\x7F',
    '\u{80}',
    '\u{9F}',
    '\u{A0}',
    'ς',
    'Σ',
    'σ',
    'İ',
    'ı',
    'ß',
    'ẞ',
    'ŉ',
    'ﬁ',
    'Ǆ',
    'ΐ',
    '\u{212A}',
    '\u{D7FF}',
    '\u{E000}',
    '\u{FFFF}',
    '\u{10000}',
    '\u{10400}',
    '\u{10FFFF}',
];

/// Every separator that an entity can have.
const SEPARATORS: &[u8] = b"!\"$&()*+,.:;<=>@[]^_`{|}";

fn character() -> impl Strategy<Value = char> {
    prop_oneof![6 => select(CORNERS), 1 => any::<char>()]
}

fn text() -> impl Strategy<Value = String> {
    vec(character(), 0..6).prop_map(String::from_iter)
}

/// Text that `raw` takes wherever it stands.
fn raw() -> impl Strategy<Value = String> {
    let joint = |other| other == ' ' || SEPARATORS.iter().any(|separator| char::from(*separator) == other);
    let refused = move |other: &char| forbidden(*other) || joint(*other);
    text().prop_map(move |text| text.chars().filter(|character| !refused(character)).collect())
}

fn instant() -> impl Strategy<Value = Ticks> {
    let max = Ticks::MAX.get();
    let edges = select(vec![0, 1, 9, 10, Ticks::UNIX_EPOCH.get() - 1, Ticks::UNIX_EPOCH.get(), max - 1, max]);
    prop_oneof![edges, 0..=max].prop_map(|ticks| Ticks::new(ticks).unwrap())
}

/// Nanoseconds of Unix time in the years 1 to 9999; of jiff, which ends a day earlier.
fn nanoseconds() -> impl Strategy<Value = i128> {
    (instant(), 0..100_i128).prop_map(|(ticks, rest)| {
        let (seconds, nanoseconds) = ticks.to_unix();
        (i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds) + rest).min(253_402_207_200_999_999_999)
    })
}

fn of_time(nanoseconds: i128) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap()
}

fn of_chrono(nanoseconds: i128) -> chrono::DateTime<chrono::Utc> {
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap();
    let rest = u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap();
    chrono::DateTime::from_timestamp(seconds, rest).unwrap()
}

fn of_jiff(nanoseconds: i128) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(nanoseconds).unwrap()
}

fn of_system(nanoseconds: i128) -> SystemTime {
    let distance = nanoseconds.unsigned_abs();
    let seconds = Duration::from_secs(u64::try_from(distance / 1_000_000_000).unwrap());
    let distance = seconds + Duration::from_nanos(u64::try_from(distance % 1_000_000_000).unwrap());
    if nanoseconds < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
}

/// Years, months and days, of every month's first 28.
fn civil() -> impl Strategy<Value = (i16, u8, u8)> {
    let year = prop_oneof![select(vec![1, 2, 999, 1000, 1999, 2000, 9998, 9999]), 1..=9999_i16];
    (year, 1..=12_u8, 1..=28_u8)
}

fn time_date((year, month, day): (i16, u8, u8)) -> time::Date {
    time::Date::from_calendar_date(year.into(), month.try_into().unwrap(), day).unwrap()
}

fn chrono_date((year, month, day): (i16, u8, u8)) -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(year.into(), month.into(), day.into()).unwrap()
}

fn jiff_date((year, month, day): (i16, u8, u8)) -> jiff::civil::Date {
    jiff::civil::Date::new(year, month.cast_signed(), day.cast_signed()).unwrap()
}

fn uuid() -> impl Strategy<Value = Uuid> {
    let edges = select(vec![0, 1, 0x10, 0x9, 0xA, u128::MAX, u128::MAX - 1, 1 << 64, 1 << 127, (1 << 96) - 1]);
    prop_oneof![edges, any::<u128>()].prop_map(Uuid::from_u128)
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        fn $type() -> impl Strategy<Value = $type> {
            let (min, max) = ($type::MIN, $type::MAX);
            let edges = vec![min, min + 1, 0, 1, 9, 10, 99, 100, max / 2, max - 1, max];
            prop_oneof![select(edges), any::<$type>()]
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

// What is expected.

fn forbidden(character: char) -> bool {
    matches!(character, '/' | '\\' | '#' | '?' | '\0'..='\x1F' | '\x7F'..='\u{9F}')
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// The text as a key holds it.
fn escaped(text: &str, Escape { last, separator }: Escape) -> String {
    let one = |character: char| {
        let code = u32::from(character);
        match character {
            ' ' | '!' if !last && separator.is_none() => format!("!{code:02X}"),
            '%' | '~' => format!("~{code:02X}"),
            _ if forbidden(character) || separator.map(char::from) == Some(character) => format!("~{code:02X}"),
            _ => character.to_string(),
        }
    };
    text.chars().map(one).collect()
}

fn by_key(left: &str, right: &str) -> Ordering {
    units(&escaped(left, LAST)).cmp(&units(&escaped(right, LAST)))
}

const LAST: Escape = Escape { last: true, separator: None };

/// The text folded, character by character and by the crate's own tables.
fn folded<N: Encode<kind::Text>>(text: &str) -> String {
    let mut folded = String::new();
    for character in text.chars() {
        let key = write::<String, N>(&character.to_string(), LAST);
        folded += &<Plain as Decode<kind::Text>>::read(&key, LAST).unwrap();
    }
    folded
}

// How laws are tried.

fn write<T: KeyPart, N: Encode<T::Kind>>(value: &T, escape: Escape) -> String {
    try_write::<T, N>(value, escape).unwrap()
}

fn try_write<T: KeyPart, N: Encode<T::Kind>>(value: &T, escape: Escape) -> Result<String, KeyProblem> {
    let mut key = KeyBuffer::new();
    N::write(value.to_value(), escape, &mut key)?;
    Ok(key.into_string())
}

fn read<T: KeyPart, N: Decode<T::Kind>>(key: &str, escape: Escape) -> Result<T, KeyProblem> {
    N::read(key, escape).and_then(T::from_key)
}

/// What stands after a part.
fn joint<K: Kind, N: Encode<K>>(separator: Option<u8>) -> char {
    separator.unwrap_or(N::JOINT).into()
}

fn escape() -> impl Strategy<Value = Escape> {
    (any::<bool>(), separator()).prop_map(|(last, separator)| Escape { last, separator })
}

fn separator() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![Just(None), select(SEPARATORS).prop_map(Some)]
}

fn check<S: Strategy>(cases: u32, strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    if let Err(error) = TestRunner::new(config).run(&strategy, law) {
        panic!("{error}");
    }
}

/// What is written reads back, is legal, and holds no joint; nothing else is read.
fn reads_back<T: KeyPart + PartialEq + fmt::Debug, N: Decode<T::Kind>>(values: impl Strategy<Value = T>) {
    check(400, (values, escape(), any::<Index>(), 0..3_u8, character()), |(value, escape, at, edit, other)| {
        let key = write::<T, N>(&value, escape);
        prop_assert_eq!(&read::<T, N>(&key, escape).unwrap(), &value);
        prop_assert!(!key.contains(forbidden), "{:?}", key);
        prop_assert!(escape.last || !key.contains(joint::<T::Kind, N>(escape.separator)), "{:?}", key);

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

// Laws of one encoding.

#[test]
fn lossless_encodings_read_back() {
    reads_back::<String, Plain>(text());
    reads_back::<Box<str>, Plain>(text().prop_map(Box::from));
    reads_back::<char, Plain>(character());
    reads_back::<bool, Plain>(any::<bool>());
    reads_back::<Uuid, Plain>(uuid());
    reads_back::<Guid, Plain>(uuid().prop_map(Guid::from));
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
            // As wide as the widest, and one more.
            reads_back::<$type, Pad<39>>($type());
            reads_back::<$type, Pad<40>>($type());
            reads_back::<$type, Reverse<Pad<39>>>($type());
            reads_back::<$type, Pad<2>>($type().prop_map(|value| value % 100));
            reads_back::<$type, Reverse<Pad<2>>>($type().prop_map(|value| value % 100));
        )*};
    }
    each!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
}

/// A time reads back as the tick that holds it.
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

/// By no context, for all of Unicode: a run of characters folds to the run of what each folds to.
#[test]
fn folding_sees_one_character() {
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

/// The tables are those of Unicode 17.0, which this compiler may have as well.
#[test]
fn folding_is_that_of_unicode() {
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
fn raw_is_the_text_or_an_error() {
    check(4_000, (text(), escape()), |(text, escape)| {
        let ends = |character| !escape.last && character == joint::<kind::Text, Raw>(escape.separator);
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

/// The bucket is of the plain encoding, wherever in a key the part stands.
#[test]
fn hashes_are_buckets() {
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

// Laws of composites.

/// Two values of one part, and what is said of them.
struct Pair {
    encoding: &'static str,
    keys: Keys,
    /// How they stand to each other in keys, where their encoding keeps an order.
    order: Option<Ordering>,
    /// Whether it does so under a separator, too, with others behind it.
    fixed: bool,
    joint: u8,
}

/// What is written of the left or the right value.
type Keys = Arc<dyn Fn(bool, Escape) -> String>;

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?} {:?}", self.encoding, (self.keys)(false, LAST), (self.keys)(true, LAST), self.order)
    }
}

/// Two values, often the same one.
fn twice<T: Clone + fmt::Debug + 'static>(values: impl Strategy<Value = T> + 'static) -> BoxedStrategy<(T, T)> {
    let values = Arc::new(values);
    (values.clone(), values, any::<bool>())
        .prop_map(|(left, right, same)| (left.clone(), if same { left } else { right }))
        .boxed()
}

/// Two texts, often the same one, or one the beginning of the other.
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

/// A part whose rows stand in order, whatever follows.
fn ranged<T: KeyPart + fmt::Debug + 'static, N: Ranged<T::Kind>>(
    values: BoxedStrategy<(T, T)>,
    compare: fn(&T, &T) -> Ordering,
) -> BoxedStrategy<Pair> {
    let descending = <N as Ordered<T::Kind>>::DESCENDING;
    let turn = move |order: Ordering| if descending { order.reverse() } else { order };
    pair::<T, N>(values, move |left, right| Some(turn(compare(left, right))), false)
}

/// A part whose rows stand in order also under any separator.
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
        joint: N::JOINT,
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
        fixed::<Uuid, Plain>(uuid()),
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
            (part.keys.as_ref()(right, Escape { last, separator }), separator.unwrap_or(part.joint).into())
        });
        written.collect::<Vec<(String, char)>>()
    });
    let key = |side: &Vec<(String, char)>| {
        let mut key: String = side.iter().flat_map(|(part, joint)| part.chars().chain([*joint])).collect();
        key.pop();
        key
    };
    // A separator inside a text is escaped, and sorts where its escape does.
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
fn keys_stand_in_the_order_of_their_values() {
    let parts = vec(Union::new(ordered_parts()), 1..=3);
    check(6_000, (parts, prop_oneof![3 => Just(None), 1 => separator()]), |(parts, separator)| {
        let Composite { keys: [left, right], order, .. } = composite(&parts, separator);
        if separator.is_none() {
            prop_assert!(order.is_some());
        }
        // Under a separator a text before others has no order; a raw one is not escaped, so its own is another.
        if let Some(order) = order {
            prop_assert_eq!(units(&left).cmp(&units(&right)), order, "{:?} {:?}", left, right);
        }
        Ok(())
    });
}

#[test]
fn no_part_forges_a_joint() {
    let parts = vec(Union::new(ordered_parts().into_iter().chain(other_parts())), 1..=3);
    check(4_000, (parts, separator()), |(parts, separator)| {
        let Composite { keys, parts, .. } = composite(&parts, separator);
        for (key, parts) in keys.iter().zip(&parts) {
            prop_assert!(!key.contains(forbidden), "{key:?}");
            let mut rest = key.as_str();
            for (part, joint) in &parts[..parts.len() - 1] {
                let (found, after) = rest.split_once(*joint).unwrap();
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
fn separated_passes_the_separator_on() {
    check(1_000, (text(), any::<bool>()), |(text, last)| {
        let (without, with) = (Escape { last, separator: None }, Escape { last, separator: Some(b';') });
        prop_assert_eq!(write::<_, Separated<Plain, ';'>>(&text, without), escaped(&text, with));
        let key = escaped(&text, with);
        prop_assert_eq!(read::<String, Separated<Plain, ';'>>(&key, without), Ok(text));
        Ok(())
    });
    assert_eq!(<Separated<Plain, ';'> as Encode<kind::Text>>::JOINT, b';');
    assert_eq!(<Separated<Plain, ';'> as Encode<kind::Bool>>::JOINT, b';');
}

// Laws of queries, on a store.

/// The ways to write a range.
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

/// The range of that form from `$a` to `$b`.
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

/// The values of a case, of which the first two are the bounds, and how many of these two are stored as well.
fn pool<T: fmt::Debug>(values: impl Strategy<Value = T>) -> impl Strategy<Value = (Vec<T>, usize, Form)> {
    (vec(values, 2..9), 0..=2_usize, form())
}

/// What stands before and after a part: beginnings of each other, joints, and both ends of Unicode.
const NEIGHBOURS: &[&str] = &["", " ", "!", "a", "a ", "a!", "a\"", "a-", "a_", "aa", "a~", "a\u{E000}", "a\u{10000}"];

fn store() -> (tokio::runtime::Runtime, Tables) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    (runtime, Tables::in_memory().unwrap())
}

/// Texts that meet often.
fn few() -> impl Strategy<Value = String> {
    let character = select(vec![' ', '!', '-', '/', '~', '_', 'a', 'A', 'ß', 'S', '\u{E000}', '\u{10000}']);
    vec(character, 0..3).prop_map(String::from_iter)
}

/// For each: the type, its attribute, values, how a query takes one, and its place in the order of rows.
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

            /// In the order of rows, each once.
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

/// Times that meet often, with what a tick does not hold.
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
    range_bool: bool, [], any::<bool>(), |value| *value, |value| *value, false;
    range_char: char, [], character(), |value| *value, |value| units(&escaped(&value.to_string(), LAST)), false;
    range_uuid: Uuid, [], uuid(), |value| *value, |value| *value, false;
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

/// For each: the type, its attribute, the values that keys hold, those that bounds may have, and its place in the order
/// of rows.
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

/// Times of chrono, most of which no key holds.
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

/// Nanoseconds of Unix time.
fn since_epoch(time: SystemTime) -> i128 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map(|after| after.as_nanos().cast_signed());
    since.unwrap_or_else(|before| -before.duration().as_nanos().cast_signed())
}

mod separated {
    use super::*;

    /// With a separator, text has ranges where it is last, and everything but text wherever it stands.
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

/// For each: an entity's attribute, the encoding of its text and the parts after it.
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
                    // Under a separator, a text before others stands where the separator puts it.
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
