//! Requests, answers and rows in a form that people read, and of which two are known to be alike but for the names of
//! versions and random ids.

use std::fmt;

use table_runtime::{Guid, Properties, PropertiesRef, ValueRef};

/// The properties that hold random ids of writes.
const RANDOM: [&str; 2] = ["WriteId", "IndexPending"];

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

    /// Adds a text.
    pub fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        self.0.push(Piece::Text(text.to_string()));
        self
    }

    /// Adds the version of a row: the number of the write that made it.
    pub fn version(&mut self, version: u64) -> &mut Self {
        self.0.push(Piece::Version(version));
        self
    }

    /// Adds properties, the random ids among them by themselves.
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

/// As people read it.
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

/// Forms written one after the other, with versions and ids numbered as they appear: of two programs that did alike,
/// the bytes are the same, whatever ids they drew and in whichever order they wrote.
#[derive(Debug, Default)]
pub struct Alike {
    bytes: Vec<u8>,
    versions: Vec<u64>,
    ids: Vec<Guid>,
}

impl Alike {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a form.
    pub fn form(&mut self, form: &Form) {
        self.number(form.0.len());
        for piece in &form.0 {
            match piece {
                Piece::Word(word) => self.tagged(0, word.as_bytes()),
                Piece::Text(text) => self.tagged(1, text.as_bytes()),
                Piece::Properties(properties) => self.tagged(2, properties.as_bytes()),
                Piece::Version(version) => {
                    self.bytes.push(3);
                    let at = place(&mut self.versions, *version);
                    self.number(at);
                }
                Piece::Id(name, id) => {
                    self.tagged(4, name.as_bytes());
                    let at = place(&mut self.ids, *id);
                    self.number(at);
                }
            }
        }
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.tagged(5, text.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, number: usize) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.number(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }
}

/// Where `name` stands among those that appeared, at the end if it is new.
fn place<N: PartialEq>(names: &mut Vec<N>, name: N) -> usize {
    names.iter().position(|other| *other == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}
