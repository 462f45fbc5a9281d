//! Requests, answers and rows in a readable form, which is compared without the values of versions and random ids.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use table_runtime::{
    Guid,
    row::{Properties, PropertiesRef, RowRef, ValueRef},
};
use twox_hash::XxHash3_128;

/// The properties that hold random ids of writes.
const RANDOM: [&str; 3] = ["WriteId", "IndexPending", "Relay"];

/// A request, an answer or a row, in pieces.
#[derive(Clone, Debug, Default)]
pub struct Form(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Word(&'static str),
    Text(String),
    Properties(Properties),
    Version(u64),
    Id(&'static str, Guid),
}

impl Form {
    /// Adds a fixed text.
    pub fn word(&mut self, word: &'static str) -> &mut Self {
        self.0.push(Piece::Word(word));
        self
    }

    /// Adds a text. The random id in the key of an event, or of a relay, becomes a piece of its own.
    pub fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        let text = text.to_string();
        let mut rest = &*text;
        while let Some((before, id, after)) = split_id(rest) {
            self.0.extend([Piece::Text(before.to_owned()), Piece::Id("id", id)]);
            rest = after;
        }
        if !rest.is_empty() || text.is_empty() {
            self.0.push(Piece::Text(rest.to_owned()));
        }
        self
    }

    /// Adds the version of a row: the number of the write that left it.
    pub fn version(&mut self, version: u64) -> &mut Self {
        self.0.push(Piece::Version(version));
        self
    }

    /// Adds properties. The random ids among them become pieces of their own.
    pub fn properties(&mut self, properties: PropertiesRef<'_>) -> &mut Self {
        let ids = RANDOM.map(|name| match properties.get(name) {
            Some(ValueRef::Guid(id)) => Some(Piece::Id(name, id)),
            _ => None,
        });
        let mut others = Properties::default();
        if ids.iter().all(Option::is_none) {
            others = properties.to_properties();
        } else {
            let is_id = |name: &str, value| RANDOM.contains(&name) && matches!(value, ValueRef::Guid(_));
            for (name, value) in properties.filter(|(name, value)| !is_id(name, *value)) {
                others.push(name, value);
            }
        }
        self.0.push(Piece::Properties(others));
        self.0.extend(ids.into_iter().flatten());
        self
    }
}

/// Text with which the keys of events begin.
const EVENT: &str = "~~event-";

/// Text with which the row key of a relay begins.
const RELAY: &str = "relay ";

/// Number of characters of an id.
const ID: usize = 36;

/// Returns the first id in a text, with what is before and after it; `None` if there is none.
fn split_id(text: &str) -> Option<(&str, Guid, &str)> {
    let id_at = |at: usize| Some((&text[..at], text.get(at..at + ID)?.parse().ok()?, &text[at + ID..]));
    let of_event = text.find(EVENT).and_then(|begin| id_at(begin + text[begin..].find('_')? + 1));
    of_event.or_else(|| text.find(RELAY).and_then(|begin| id_at(begin + RELAY.len())))
}

/// The pieces, with a space between them.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, piece) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(" ")?;
            }
            match piece {
                Piece::Word(word) => f.write_str(word)?,
                Piece::Text(text) => f.write_str(text)?,
                Piece::Properties(properties) => write!(f, "{properties:?}")?,
                Piece::Version(version) => write!(f, "v{version}")?,
                Piece::Id(name, id) => write!(f, "{name}={}", &id.to_string()[..8])?,
            }
        }
        Ok(())
    }
}

/// The hash of a form without its versions and ids, with a list of these.
#[derive(Clone, Debug)]
pub struct Seal {
    hash: u64,
    names: Vec<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Name {
    Version(u64),
    Id(Guid),
}

impl Seal {
    /// Returns the seal of a row of `table` in a version. Most rows hold no random id, and are sealed as they are.
    pub fn of_row(table: &str, row: RowRef<'_>, version: u64) -> Self {
        if row.row_key.starts_with(EVENT)
            || row.row_key.starts_with(RELAY)
            || RANDOM.iter().any(|name| row.properties.get(name).is_some())
        {
            let mut form = Form::default();
            form.text(table).text(row.partition_key).text(row.row_key).version(version).properties(row.properties);
            return form.seal();
        }
        let mut hasher = DefaultHasher::new();
        (table, row.partition_key, row.row_key, row.properties.as_bytes()).hash(&mut hasher);
        Self { hash: hasher.finish(), names: vec![Name::Version(version)] }
    }
}

impl Seal {
    /// Returns the hash of the form without its versions and ids.
    pub const fn without_names(&self) -> u64 {
        self.hash
    }
}

impl Form {
    /// Returns the seal of the form.
    pub fn seal(&self) -> Seal {
        let (mut hasher, mut names) = (DefaultHasher::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Word(word) => (0, word).hash(&mut hasher),
                Piece::Text(text) => (1, text).hash(&mut hasher),
                Piece::Properties(properties) => (2, properties.as_bytes()).hash(&mut hasher),
                Piece::Version(version) => {
                    3.hash(&mut hasher);
                    names.push(Name::Version(*version));
                }
                Piece::Id(name, id) => {
                    (4, name).hash(&mut hasher);
                    names.push(Name::Id(*id));
                }
            }
        }
        Seal { hash: hasher.finish(), names }
    }
}

/// A sequence of seals, with versions and ids numbered in the order in which they appear.
///
/// Two programs that did the same have the same numbers, for any random ids and any order of their writes.
#[derive(Debug, Default)]
pub struct Alike {
    numbers: Vec<u8>,
    names: Vec<Name>,
}

impl Alike {
    /// Adds a seal.
    pub fn seal(&mut self, seal: &Seal) {
        self.put(seal.hash);
        for name in &seal.names {
            let place = place(&mut self.names, *name);
            self.number(place);
        }
    }

    /// Adds a number.
    pub fn number(&mut self, number: usize) {
        self.put(u64::try_from(number).unwrap_or(u64::MAX));
    }

    /// Adds a time.
    pub fn time(&mut self, time: Duration) {
        self.put(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    fn put(&mut self, number: u64) {
        self.numbers.extend(number.to_le_bytes());
    }

    /// Returns a hash of all seals and numbers.
    pub fn hash(&self) -> u128 {
        XxHash3_128::oneshot(&self.numbers)
    }
}

/// Returns the position of `name` among the names so far. A new name is added at the end.
fn place<N: PartialEq>(names: &mut Vec<N>, name: N) -> usize {
    names.iter().position(|other| *other == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}
