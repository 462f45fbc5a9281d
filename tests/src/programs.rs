//! Random programs: what each task does, and what came of it.

use std::{collections::BTreeMap, sync::Arc};

use table_runtime::{BulkProgress, Error, Finding, Result, Stored, Tables};

use crate::{
    random::Random,
    subjects::{Fields, Key, Part, Subject, VALUES},
};

/// How many groups there are.
pub const GROUPS: u8 = 2;
/// The ids of a group are below this.
pub const IDS: u8 = 3;

/// An operation of a task.
#[derive(Clone, Debug)]
pub enum Act {
    /// Inserts an entity.
    Insert(Fields),
    /// Upserts an entity.
    Upsert(Fields),
    /// Reads an entity and keeps it, so that a later operation uses it.
    Read(Key),
    /// Updates the entity that the task keeps, or reads it first.
    Update(Key, Change, Held),
    /// Sets the likes.
    Patch(Key, u32),
    /// Deletes the entity that the task keeps, or reads it first.
    Delete(Key, Held),
    /// Removes an entity.
    Remove(Key),
    /// Some of these writes, in one transaction.
    Transaction(Vec<Act>),
    /// Inserts many entities.
    InsertAll(Vec<Fields>),
    /// Upserts many entities.
    UpsertAll(Vec<Fields>),
    /// Removes many entities.
    RemoveAll(Vec<Key>),
    /// Repairs the indexes.
    Repair,
    /// Verifies the indexes.
    Verify,
    /// Reads through the index of this number.
    Find(usize, u8, u8),
    /// Reads a group, page by page.
    Pages(u8, usize),
    /// Reads a group.
    All(u8),
}

/// The fields that an update changes: those whose bits are set.
#[derive(Clone, Debug)]
pub struct Change {
    /// The new values.
    pub to: Fields,
    /// One bit for each field.
    pub bits: u64,
}

/// How an update or a delete names the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It uses the `Stored` that was read.
    Stored,
    /// It makes a `Stored` from the entity and its ETag.
    New,
}

impl Change {
    /// Returns the changed entity.
    pub fn of(&self, old: &Fields) -> Fields {
        let mut new = Fields { stamp: self.to.stamp, likes: self.to.likes, ..*old };
        let mut bits = self.bits;
        let mut put = |field: &mut u8, to| {
            if bits & 1 == 1 {
                *field = to;
            }
            bits >>= 1;
        };
        put(&mut new.badge, self.to.badge);
        put(&mut new.seat, self.to.seat);
        put(&mut new.tag, self.to.tag);
        put(&mut new.age, self.to.age);
        put(&mut new.city, self.to.city);
        put(&mut new.note, self.to.note);
        put(&mut new.rate, self.to.rate);
        if bits & 1 == 1 {
            new.mail = self.to.mail;
        }
        new
    }
}

/// Makes programs.
#[derive(Debug)]
pub struct Writer<'a> {
    /// The choices.
    pub random: &'a mut Random,
    /// The last stamp. Each write has its own, so that a row shows who wrote it.
    pub stamp: u32,
}

impl Writer<'_> {
    /// Returns a key.
    pub const fn key(&mut self) -> Key {
        let group = if self.random.chance(75) { 0 } else { self.random.byte(GROUPS) };
        (group, self.random.byte(IDS))
    }

    /// Returns a stamp that no other write has.
    pub const fn stamp(&mut self) -> u32 {
        self.stamp += 1;
        self.stamp
    }

    /// Returns an entity of this key.
    pub fn fields<S: Subject>(&mut self, (group, id): Key) -> Fields {
        let stamp = self.stamp();
        let mut value = || self.random.byte(VALUES);
        let mail = Some(value()).filter(|mail| *mail > 0 || value() > 0);
        let (badge, seat, tag, age) = (value(), value(), value(), value());
        let (city, note, rate) = (value(), value(), value());
        Fields { group, id, mail, badge, seat, tag, age, city, note, rate, stamp, likes: stamp }
    }

    fn keys(&mut self, group: Option<u8>, count: usize) -> Vec<Key> {
        let groups = group.map_or(0..GROUPS, |group| group..group + 1);
        let mut keys: Vec<_> = groups.flat_map(|group| (0..IDS).map(move |id| (group, id))).collect();
        self.random.shuffle(&mut keys);
        keys.truncate(count);
        keys
    }

    fn held(&mut self) -> Held {
        if self.random.chance(25) { Held::New } else { Held::Stored }
    }

    /// Returns a write of one entity.
    fn write<S: Subject>(&mut self, key: Key) -> Act {
        match self.random.below(20) {
            0..5 => Act::Insert(self.fields::<S>(key)),
            5..9 => Act::Upsert(self.fields::<S>(key)),
            9..15 => {
                let (to, bits) = (self.fields::<S>(key), self.random.bits() & self.random.bits());
                Act::Update(key, Change { to, bits }, self.held())
            }
            15 => Act::Patch(key, self.stamp()),
            16..18 => Act::Delete(key, self.held()),
            _ => Act::Remove(key),
        }
    }

    /// Returns an operation.
    pub fn act<S: Subject>(&mut self) -> Act {
        let key = self.key();
        match self.random.below(100) {
            0..52 => self.write::<S>(key),
            52..60 => Act::Read(key),
            60..72 if S::TRANSACTS => self.transaction::<S>(key.0),
            60..64 => {
                let keys = self.many();
                Act::InsertAll(keys.into_iter().map(|key| self.fields::<S>(key)).collect())
            }
            64..69 => {
                let keys = self.many();
                Act::UpsertAll(keys.into_iter().map(|key| self.fields::<S>(key)).collect())
            }
            69..72 => Act::RemoveAll(self.many()),
            72..77 => Act::Repair,
            77..80 => Act::Verify,
            80..92 => Act::Find(self.random.below(S::INDEXES.len()), key.0, self.random.byte(VALUES)),
            92..96 => Act::Pages(key.0, 1 + self.random.below(2)),
            _ if S::TRANSACTS => Act::UpsertAll(self.many().into_iter().map(|key| self.fields::<S>(key)).collect()),
            _ => Act::All(key.0),
        }
    }

    fn many(&mut self) -> Vec<Key> {
        let (group, count) = (self.random.chance(70).then_some(0), 2 + self.random.below(4));
        self.keys(group, count)
    }

    fn transaction<S: Subject>(&mut self, group: u8) -> Act {
        let count = 2 + self.random.below(3);
        let mut writes = Vec::new();
        for key in self.keys(Some(group), count) {
            let write = self.write::<S>(key);
            let goes = matches!(write, Act::Delete(..) | Act::Remove(_));
            writes.push(write);
            // What goes can come again in the same transaction.
            if goes && self.random.chance(40) {
                writes.push(Act::Insert(self.fields::<S>(key)));
            }
        }
        Act::Transaction(writes)
    }
}

/// What an operation is meant to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The entity, whole.
    Put(Fields),
    /// The likes of an entity.
    Likes(Key, u32),
    /// No entity of this key.
    Gone(Key),
}

impl Wish {
    /// Returns the key that is written.
    pub const fn key(&self) -> Key {
        match self {
            Self::Put(fields) => fields.key(),
            Self::Likes(key, _) | Self::Gone(key) => *key,
        }
    }
}

/// What an operation gave.
#[derive(Debug)]
pub enum Outcome {
    /// All of it is done.
    Done,
    /// It is known whether there was something to remove.
    Removed(bool),
    /// Nothing of it is done.
    Failed(Error),
    /// Those at these places of the input failed, and so many were missing.
    Bulk(Vec<(usize, Arc<Error>)>, usize),
    /// A reader saw these, all at once if so it says.
    Seen(Vec<Fields>, bool),
    /// A repair or a verification found these.
    Found(Vec<Finding>),
    /// There was nothing to do.
    Nothing,
}

/// An operation that knows all that it needs.
#[derive(Debug)]
pub enum Ready<S> {
    /// A write of one entity.
    One(Part<S>),
    /// A transaction.
    Transaction(Vec<Part<S>>),
    /// Another one.
    Other(Act),
}

/// The entities that a task keeps.
pub type Kept<S> = BTreeMap<Key, Stored<S>>;

/// Reads what the operation needs and the task does not keep; `None` if there is nothing to do.
///
/// # Errors
/// Those of the reads.
pub async fn prepare<S: Subject>(tables: &Tables, kept: &mut Kept<S>, act: &Act) -> Result<Option<Ready<S>>> {
    let act = match act {
        Act::Transaction(acts) => {
            let mut parts = Vec::new();
            for act in acts {
                parts.extend(part(tables, kept, act).await?);
            }
            return Ok((!parts.is_empty()).then_some(Ready::Transaction(parts)));
        }
        Act::Insert(_) | Act::Upsert(_) | Act::Update(..) | Act::Patch(..) | Act::Delete(..) | Act::Remove(_) => {
            return Ok(part(tables, kept, act).await?.map(Ready::One));
        }
        other => other.clone(),
    };
    Ok(Some(Ready::Other(act)))
}

async fn part<S: Subject>(tables: &Tables, kept: &mut Kept<S>, act: &Act) -> Result<Option<Part<S>>> {
    let stored = async |kept: &mut Kept<S>, key| match kept.remove(&key) {
        Some(stored) => Ok(Some(stored)),
        None => S::point(key).get(tables).await,
    };
    let with = |stored: &mut Stored<S>, entity: S, held| match held {
        Held::Stored => **stored = entity,
        Held::New => *stored = Stored::new(entity, Stored::etag(stored).clone()),
    };
    Ok(match act {
        Act::Insert(fields) => Some(Part::Insert(S::new(fields))),
        Act::Upsert(fields) => Some(Part::Upsert(S::new(fields))),
        Act::Update(key, change, held) => stored(kept, *key).await?.map(|mut stored| {
            let new = S::new(&change.of(&stored.fields()));
            with(&mut stored, new, *held);
            Part::Update(stored)
        }),
        Act::Delete(key, held) => stored(kept, *key).await?.map(|mut stored| {
            let same = S::clone(&stored);
            with(&mut stored, same, *held);
            Part::Delete(stored)
        }),
        Act::Patch(key, likes) => Some(Part::Patch(*key, *likes)),
        Act::Remove(key) => Some(Part::Remove(*key)),
        _ => None,
    })
}

impl<S: Subject> Ready<S> {
    /// Returns what it is meant to write.
    pub fn wishes(&self) -> Vec<Wish> {
        match self {
            Self::One(part) => vec![wish(part)],
            Self::Transaction(parts) => parts.iter().map(wish).collect(),
            Self::Other(Act::InsertAll(all) | Act::UpsertAll(all)) => all.iter().copied().map(Wish::Put).collect(),
            Self::Other(Act::RemoveAll(keys)) => keys.iter().copied().map(Wish::Gone).collect(),
            Self::Other(_) => Vec::new(),
        }
    }

    /// Carries it out.
    pub async fn run(&mut self, tables: &Tables) -> Outcome {
        match self {
            Self::One(part) => one(tables, part).await,
            Self::Transaction(parts) => {
                S::transact(tables, parts).await.map_or_else(Outcome::Failed, |_| Outcome::Done)
            }
            Self::Other(act) => other::<S>(tables, act).await.unwrap_or_else(Outcome::Failed),
        }
    }

    /// Gives back the entities that were updated, whether or not that succeeded.
    pub fn keep(self, kept: &mut Kept<S>) {
        let parts = match self {
            Self::One(part) => vec![part],
            Self::Transaction(parts) => parts,
            Self::Other(_) => Vec::new(),
        };
        for part in parts {
            if let Part::Update(stored) | Part::Delete(stored) = part {
                kept.insert(stored.fields().key(), stored);
            }
        }
    }
}

fn wish<S: Subject>(part: &Part<S>) -> Wish {
    match part {
        Part::Insert(entity) | Part::Upsert(entity) => Wish::Put(entity.fields()),
        Part::Update(stored) => Wish::Put(stored.fields()),
        Part::Patch(key, likes) => Wish::Likes(*key, *likes),
        Part::Delete(stored) => Wish::Gone(stored.fields().key()),
        Part::Remove(key) => Wish::Gone(*key),
    }
}

async fn one<S: Subject>(tables: &Tables, part: &mut Part<S>) -> Outcome {
    let done = match part {
        Part::Insert(entity) => tables.insert(entity).await.map(drop),
        Part::Upsert(entity) => tables.upsert(entity).await.map(drop),
        Part::Update(stored) => tables.update(stored).await.map(drop),
        Part::Patch(key, likes) => S::patch(tables, *key, *likes).await.map(drop),
        Part::Delete(stored) => tables.delete(stored).await,
        Part::Remove(key) => {
            return tables.remove(S::point(*key)).await.map_or_else(Outcome::Failed, Outcome::Removed);
        }
    };
    done.map_or_else(Outcome::Failed, |()| Outcome::Done)
}

async fn other<S: Subject>(tables: &Tables, act: &Act) -> Result<Outcome> {
    let bulk = |result: Result<BulkProgress>| match result {
        Ok(progress) => Ok(Outcome::Bulk(Vec::new(), progress.missing)),
        Err(Error::Bulk(error)) if !error.ended_early => {
            let failures = error.failures.iter().map(|failure| (failure.position, failure.error.clone()));
            Ok(Outcome::Bulk(failures.collect(), error.progress.missing))
        }
        Err(error) => Err(error),
    };
    let entities = |all: &[Fields]| all.iter().map(S::new).collect::<Vec<_>>();
    Ok(match act {
        Act::InsertAll(all) => bulk(tables.insert_all(entities(all)).await)?,
        Act::UpsertAll(all) => bulk(tables.upsert_all(entities(all)).await)?,
        Act::RemoveAll(keys) => bulk(tables.remove_all(keys.iter().copied().map(S::point)).await)?,
        Act::Repair => {
            let repaired = tables.repair::<S>().await?;
            Outcome::Found(repaired.fixed.into_iter().chain(repaired.left).collect())
        }
        Act::Verify => Outcome::Found(tables.verify::<S>().all().await?),
        Act::Find(index, group, value) => Outcome::Seen(S::find(tables, *index, *group, *value).await?, false),
        Act::Pages(group, size) => Outcome::Seen(S::pages(tables, *group, *size).await?, false),
        Act::All(group) => Outcome::Seen(S::all(tables, *group).await?, true),
        _ => Outcome::Nothing,
    })
}
