//! Random writes and queries of an entity with a property of every type.

use std::{borrow::Cow, ops::Bound};

use table_runtime::{
    Guid, Projection, TableEntity, Ticks,
    filter::{Filter, Set},
};

use crate::random::Random;

/// Entity with a property of every type.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Anything", allow_scan)]
#[allow(missing_docs, reason = "they are named after their types")]
pub struct Anything {
    #[partition_key]
    pub area: String,
    #[row_key]
    pub name: String,
    pub flag: bool,
    pub int: i32,
    pub text: String,
    pub byte: Option<u8>,
    pub dword: Option<u32>,
    pub long: Option<i64>,
    pub single: Option<f32>,
    pub double: Option<f64>,
    pub words: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub guid: Option<Guid>,
    pub time: Option<Ticks>,
}

/// Projection of some of its fields.
#[derive(Projection, Debug)]
#[projection(of = Anything)]
#[allow(missing_docs, reason = "they are those of the entity")]
pub struct Part {
    pub name: String,
    pub int: i32,
    pub double: Option<f64>,
}

/// Projection of some of its fields, which borrow from a row.
#[derive(Projection, Debug)]
#[projection(of = Anything)]
#[allow(missing_docs, reason = "they are those of the entity")]
pub struct Lent<'a> {
    pub text: &'a str,
    pub name: Cow<'a, str>,
    pub words: Option<&'a str>,
    pub int: i32,
    pub bytes: Option<&'a [u8]>,
}

/// Area and name of an entity.
pub type Key = (String, String);

/// Property with a value.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named after the fields")]
pub enum Literal {
    Flag(bool),
    Int(i32),
    Text(String),
    Byte(u8),
    Dword(u32),
    Long(i64),
    Single(f32),
    Double(f64),
    Words(String),
    Bytes(Vec<u8>),
    Guid(Guid),
    Time(Ticks),
}

/// Condition of a filter.
#[derive(Clone, Debug)]
pub enum Where {
    /// Comparison, with the number of its operator.
    Compare(Literal, usize),
    /// Conjunction or disjunction.
    Join(Box<Where>, bool, Box<Where>),
    /// Negation.
    Not(Box<Where>),
}

/// Rows of a query.
#[derive(Clone, Debug)]
pub enum Narrow {
    /// All rows of the table.
    Scan,
    /// Rows of the area.
    All,
    /// Rows whose names begin with this.
    Prefix(String),
    /// Rows whose names are between these.
    Range(Bound<String>, Bound<String>),
}

/// Query of entities.
#[derive(Clone, Debug)]
pub struct Query {
    /// Queried area.
    pub area: String,
    /// Queried rows of the area.
    pub narrow: Narrow,
    /// Condition.
    pub filter: Option<Where>,
    /// Maximal number of rows.
    pub take: Option<usize>,
}

type Columns = <Anything as TableEntity>::Columns;

macro_rules! ordered {
    ($column:expr, $operator:expr, $value:expr) => {
        match $operator % 6 {
            0 => $column.eq($value),
            1 => $column.ne($value),
            2 => $column.lt($value),
            3 => $column.le($value),
            4 => $column.gt($value),
            _ => $column.ge($value),
        }
    };
}

macro_rules! equal {
    ($column:expr, $operator:expr, $value:expr) => {
        if $operator % 2 == 0 { $column.eq($value) } else { $column.ne($value) }
    };
}

impl Where {
    /// Returns the condition as a filter.
    pub fn filter(&self, columns: Columns) -> Filter<Anything> {
        match self {
            Self::Compare(literal, operator) => match literal {
                Literal::Flag(value) => equal!(columns.flag, operator, *value),
                Literal::Text(value) => ordered!(columns.text, operator, value),
                Literal::Int(value) => ordered!(columns.int, operator, *value),
                Literal::Byte(value) => ordered!(columns.byte, operator, *value),
                Literal::Dword(value) => ordered!(columns.dword, operator, *value),
                Literal::Long(value) => ordered!(columns.long, operator, *value),
                Literal::Single(value) => ordered!(columns.single, operator, *value),
                Literal::Double(value) => ordered!(columns.double, operator, *value),
                Literal::Words(value) => ordered!(columns.words, operator, value),
                Literal::Bytes(value) => equal!(columns.bytes, operator, value),
                Literal::Guid(value) => ordered!(columns.guid, operator, *value),
                Literal::Time(value) => ordered!(columns.time, operator, *value),
            },
            Self::Join(left, true, right) => left.filter(columns).and(right.filter(columns)),
            Self::Join(left, false, right) => left.filter(columns).or(right.filter(columns)),
            Self::Not(condition) => !condition.filter(columns),
        }
    }
}

impl Literal {
    /// Returns the patch of its property.
    pub fn set(&self, columns: Columns) -> Set<Anything> {
        match self {
            Self::Flag(value) => columns.flag.set(*value),
            Self::Int(value) => columns.int.set(*value),
            Self::Text(value) => columns.text.set(value),
            Self::Byte(value) => columns.byte.set(*value),
            Self::Dword(value) => columns.dword.set(*value),
            Self::Long(value) => columns.long.set(*value),
            Self::Single(value) => columns.single.set(*value),
            Self::Double(value) => columns.double.set(*value),
            Self::Words(value) => columns.words.set(value),
            Self::Bytes(value) => columns.bytes.set(value),
            Self::Guid(value) => columns.guid.set(*value),
            Self::Time(value) => columns.time.set(*value),
        }
    }
}

/// Texts for keys and values. Azurite's parser of transactions misreads `',` in a row key and `,` at its beginning, so
/// no text has them.
const TEXTS: [&str; 30] = [
    "",
    "a",
    "A",
    "aa",
    "ab",
    "b",
    "é",
    "ß",
    "İ",
    "a b",
    " a",
    "a ",
    "'",
    "''",
    "a'b",
    "it''s",
    "\"",
    "a,b",
    "%",
    "%25",
    "+",
    "&=$",
    "~",
    "-",
    "_",
    "\u{D7FF}",
    "\u{E000}",
    "\u{FFFD}",
    "\u{10000}",
    "\u{10FFFF}",
];
/// Characters that the encoding of keys escapes. As values they are written unchanged to every store.
const ESCAPED: [&str; 6] = ["a/b", "\\", "#", "?", "a\tb\n", "\u{7F}\u{9F}"];
const INTS: [i32; 7] = [i32::MIN, -1, 0, 1, 2, 10, i32::MAX];
const LONGS: [i64; 8] = [i64::MIN, -(1 << 53) - 1, -1, 0, 1, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
/// Doubles without the negative zero, which Azurite's JSON cannot represent.
const DOUBLES: [f64; 11] =
    [f64::MIN, -1.5, 0.0, 5e-324, f64::MIN_POSITIVE, 0.1, 1.0, 1e21, 123_456_789_012_345_680.0, 1e300, f64::MAX];
const NO_NUMBERS: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const SINGLES: [f32; 6] = [f32::MIN, -0.1, 0.0, 1e-45, 16_777_217.0, f32::MAX];
/// Number of ticks in a millisecond.
const MILLISECOND: u64 = 10_000;

/// Generator of entities and queries.
#[derive(Debug)]
pub struct Source<'a> {
    /// Source of random choices.
    pub random: &'a mut Random,
    /// Texts of this program. There are few, so that keys and values are sometimes equal.
    texts: Vec<&'static str>,
    /// True if filters compare GUIDs by order.
    orders_guids: bool,
}

impl<'a> Source<'a> {
    /// Chooses the texts.
    pub fn new(random: &'a mut Random, orders_guids: bool) -> Self {
        let mut text = || *if random.chance(15) { random.pick(&ESCAPED) } else { random.pick(&TEXTS) };
        let texts = (0..6).map(|_| text()).collect();
        Self { random, texts, orders_guids }
    }

    /// Returns a text.
    pub fn text(&mut self) -> String {
        (*self.random.pick(&self.texts)).to_owned()
    }

    /// Returns a text as a key.
    pub fn key_text(&mut self) -> String {
        match self.random.below(60) {
            // The key has the maximal length, or one more.
            0 => "k".repeat(self.random.below(3) + 511),
            1 => "\u{10000}".repeat(256),
            2 => self.text() + "x",
            _ => self.text(),
        }
    }

    /// Returns a key. There are few areas, so that names collide.
    pub fn key(&mut self) -> Key {
        let area = match self.random.below(40) {
            0 => self.key_text(),
            1..4 => "it's".to_owned(),
            4..8 => String::new(),
            _ => "a".to_owned(),
        };
        (area, self.key_text())
    }

    fn time(&mut self, stored: bool) -> Ticks {
        let (first, epoch) = (Ticks::FIRST_PROPERTY.get(), Ticks::UNIX_EPOCH.get());
        let whole = [first, first + MILLISECOND, epoch - MILLISECOND, epoch, epoch + MILLISECOND];
        // Azurite compares times by the millisecond. Filters have whole milliseconds, to which no stored time is
        // rounded.
        let parts = [epoch + 5 * MILLISECOND + 1, epoch + 5 * MILLISECOND + 9_999, first - 1, Ticks::MAX.get()];
        let ticks =
            if stored && self.random.chance(40) { *self.random.pick(&parts) } else { *self.random.pick(&whole) };
        Ticks::new(ticks).unwrap_or(Ticks::MAX)
    }

    fn words(&mut self, stored: bool) -> String {
        match self.random.below(240) {
            0 if stored => "\u{20AC}".repeat(32_767 + self.random.below(3)),
            1 if stored => "w".repeat(32_767 + self.random.below(3)),
            _ => self.text(),
        }
    }

    fn bytes(&mut self, stored: bool) -> Vec<u8> {
        match self.random.below(240) {
            0 if stored => vec![7; 65_535 + self.random.below(3)],
            1..80 => Vec::new(),
            80..160 => vec![0, 255],
            _ => vec![self.random.byte(3)],
        }
    }

    fn double(&mut self, stored: bool) -> f64 {
        // A filter cannot have such a literal.
        if stored && self.random.chance(20) { *self.random.pick(&NO_NUMBERS) } else { *self.random.pick(&DOUBLES) }
    }

    fn guid(&mut self) -> Guid {
        let mut bytes = [0; 16];
        if self.random.chance(40) {
            // All bytes and all values: upper and lower digits, and each group.
            for byte in &mut bytes {
                *byte = self.random.byte(u8::MAX);
            }
        } else {
            // These are equal more often. Stores might order the first and the last group differently.
            for at in [0, 3, 8, 15] {
                bytes[at] = *self.random.pick(&[0, 0x0A, 0xFF]);
            }
        }
        Guid::from_bytes(bytes)
    }

    /// Returns an entity.
    pub fn entity(&mut self, (area, name): Key) -> Anything {
        let mut there = || self.random.chance(75);
        let there: [bool; 9] = std::array::from_fn(|_| there());
        Anything {
            area,
            name,
            flag: self.random.chance(50),
            int: *self.random.pick(&INTS),
            text: self.text(),
            byte: there[0].then(|| self.random.byte(255)),
            dword: there[1].then(|| *self.random.pick(&[0, 1, u32::MAX])),
            long: there[2].then(|| *self.random.pick(&LONGS)),
            single: there[3].then(|| *self.random.pick(&SINGLES)),
            double: there[4].then(|| self.double(true)),
            words: there[5].then(|| self.words(true)),
            bytes: there[6].then(|| self.bytes(true)),
            guid: there[7].then(|| self.guid()),
            time: there[8].then(|| self.time(true)),
        }
    }

    /// Returns a value for a row if it is `stored`, otherwise one for a filter.
    pub fn literal(&mut self, is_required: bool, stored: bool) -> Literal {
        if is_required {
            return match self.random.below(3) {
                0 => Literal::Flag(self.random.chance(50)),
                1 => Literal::Int(*self.random.pick(&INTS)),
                _ => Literal::Text(self.text()),
            };
        }
        match self.random.below(9) {
            0 => Literal::Byte(self.random.byte(255)),
            1 => Literal::Dword(*self.random.pick(&[0, 1, u32::MAX])),
            2 => Literal::Long(*self.random.pick(&LONGS)),
            3 => Literal::Single(*self.random.pick(&SINGLES)),
            4 => Literal::Double(self.double(stored)),
            5 => Literal::Words(self.words(stored)),
            6 => Literal::Bytes(self.bytes(stored)),
            7 => Literal::Guid(self.guid()),
            _ => Literal::Time(self.time(stored)),
        }
    }

    fn condition(&mut self, depth: usize) -> Where {
        match self.random.below(10) {
            0..3 if depth > 0 => {
                let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
                Where::Join(left.into(), self.random.chance(50), right.into())
            }
            3 => Where::Not(self.condition(depth.saturating_sub(1)).into()),
            _ => {
                // Properties that every row has match more often.
                let is_required = self.random.chance(40);
                let literal = self.literal(is_required, false);
                let is_ordered = self.orders_guids || !matches!(literal, Literal::Guid(_));
                Where::Compare(literal, self.random.below(if is_ordered { 6 } else { 2 }))
            }
        }
    }

    /// Returns a query.
    pub fn query(&mut self) -> Query {
        let mut bound = || match self.random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.text()),
            _ => Bound::Excluded(self.text()),
        };
        let bounds = (bound(), bound());
        let narrow = match self.random.below(8) {
            0 => Narrow::Scan,
            1..4 => Narrow::All,
            4..6 => Narrow::Prefix(self.text()),
            _ => Narrow::Range(bounds.0, bounds.1),
        };
        let filter = self.random.chance(60).then(|| self.condition(2));
        Query { area: self.key().0, narrow, filter, take: self.random.chance(30).then(|| self.random.below(5)) }
    }
}
