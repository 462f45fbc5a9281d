//! Random programs: the operations of each task and their outcomes.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use anyhow::ensure;
use futures_util::{StreamExt as _, stream};
use table_runtime::{Error, Result, Stored, Tables, bulk::BulkProgress, jobs::Finding};

use crate::{
    history::State,
    random::Random,
    subjects::{Fields, INDEXED_VALUES, Key, MOMENTS, Part, Subject, VALUES},
};

/// Number of groups.
pub const GROUPS: u8 = 2;
/// Number of ids in a group.
pub const IDS: u8 = 3;

/// Operation of a task.
#[derive(Clone, Debug)]
pub enum Act {
    /// Inserts an entity.
    Insert(Fields),
    /// Upserts an entity.
    Upsert(Fields),
    /// Merges an entity.
    Merge(Fields),
    /// Reads an entity and keeps it, so that a later operation uses it.
    Read(Key),
    /// Updates the entity that the task keeps, or reads it first.
    Update(Key, Change, Held),
    /// Changes an entity.
    Modify(Key, Change),
    /// Changes an entity, or inserts this one.
    ModifyOrInsert(Fields, Change),
    /// Inserts an entity, unless there is one with its key.
    GetOrInsert(Fields),
    /// Sets the likes.
    Patch(Key, u32),
    /// Sets the likes of the version that the task keeps, or that it reads first.
    PatchIf(Key, u32),
    /// Sets a property that the entity does not know, as another program does.
    Extra(Key, u32),
    /// Deletes the entity that the task keeps, or reads it first.
    Delete(Key, Held),
    /// Removes an entity.
    Remove(Key),
    /// Writes some of these in one transaction.
    Transaction(Vec<Act>),
    /// Inserts many entities.
    InsertAll(Vec<Fields>),
    /// Upserts many entities.
    UpsertAll(Vec<Fields>),
    /// Removes many entities.
    RemoveAll(Vec<Key>),
    /// Removes many entities that the task keeps, or reads first.
    RemoveRead(Vec<Key>),
    /// Puts an entity into the bin.
    SoftDelete(Key),
    /// Takes an entity out of the bin.
    Restore(Key),
    /// Removes the entities that have expired.
    Sweep,
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

/// Change of the fields whose bits are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// New values.
    pub to: Fields,
    /// One bit for each field.
    pub bits: u64,
}

/// Way in which an update or a delete gives the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// With the `Stored` that was read.
    Stored,
    /// With a new `Stored` from the entity and its ETag.
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
        if bits & 2 == 2 {
            new.until = self.to.until;
        }
        new
    }
}

/// Generator of operations.
#[derive(Debug)]
pub struct Writer<'a> {
    /// Source of random choices.
    pub random: &'a mut Random,
    /// Last stamp. Each write has its own, so that a row identifies its write.
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
        // Half of them never expire.
        let until = if S::EXPIRES { self.random.byte(2 * MOMENTS) } else { 0 };
        let until = if until > MOMENTS { 0 } else { until };
        let (likes, extra, in_bin) = (stamp, 0, false);
        Fields { group, id, mail, badge, seat, tag, age, city, note, rate, until, in_bin, stamp, likes, extra }
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

    fn change<S: Subject>(&mut self, key: Key) -> Change {
        Change { to: self.fields::<S>(key), bits: self.random.bits() & self.random.bits() }
    }

    /// Returns a write of one entity.
    fn write<S: Subject>(&mut self, key: Key) -> Act {
        match self.random.below(25) {
            0..5 => Act::Insert(self.fields::<S>(key)),
            5..9 => Act::Upsert(self.fields::<S>(key)),
            9..15 => Act::Update(key, self.change::<S>(key), self.held()),
            21..23 => Act::Merge(self.fields::<S>(key)),
            23..25 => Act::Extra(key, self.stamp()),
            15 => Act::Patch(key, self.stamp()),
            16 => Act::PatchIf(key, self.stamp()),
            17..19 => Act::Delete(key, self.held()),
            _ => Act::Remove(key),
        }
    }

    /// Returns an operation.
    pub fn act<S: Subject>(&mut self) -> Act {
        let key = self.key();
        if S::EXPIRES && self.random.chance(20) {
            return self.random.pick(&[Act::SoftDelete(key), Act::Restore(key), Act::Sweep]).clone();
        }
        match self.random.below(100) {
            0..45 => self.write::<S>(key),
            45..49 => Act::Modify(key, self.change::<S>(key)),
            49..52 => Act::ModifyOrInsert(self.fields::<S>(key), self.change::<S>(key)),
            52..55 => Act::GetOrInsert(self.fields::<S>(key)),
            55..60 => Act::Read(key),
            60..72 if self.random.chance(60) => self.transaction::<S>(key.0),
            60..64 => {
                let keys = self.many();
                Act::InsertAll(keys.into_iter().map(|key| self.fields::<S>(key)).collect())
            }
            64..69 => {
                let keys = self.many();
                Act::UpsertAll(keys.into_iter().map(|key| self.fields::<S>(key)).collect())
            }
            69..71 => Act::RemoveAll(self.many()),
            71 => Act::RemoveRead(self.many()),
            72..77 => Act::Repair,
            77..80 => Act::Verify,
            80..92 => Act::Find(self.random.below(S::INDEXES.len()), key.0, self.random.byte(INDEXED_VALUES)),
            92..96 => Act::Pages(key.0, 1 + self.random.below(2)),
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
            // A deleted entity can be inserted again in the same transaction.
            if goes && self.random.chance(40) {
                writes.push(Act::Insert(self.fields::<S>(key)));
            }
        }
        Act::Transaction(writes)
    }
}

/// Intended effect of an operation on one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// All fields of the entity are written, in place of the row.
    Put(Fields),
    /// The entity is changed.
    Changed(Key, Change),
    /// The entity is changed, or all fields of this one are written.
    ChangedOrPut(Fields, Change),
    /// All fields of the entity are written, if there is none.
    PutIfAbsent(Fields),
    /// All fields of the entity are written, and what the entity does not know is kept.
    Over(Fields),
    /// The likes of the entity are set.
    Likes(Key, u32),
    /// The property of the other program is set.
    Extra(Key, u32),
    /// The entity is put into the bin, or taken out of it.
    InBin(Key, bool),
    /// The entity is deleted.
    Deleted(Key),
}

impl Effect {
    /// Returns the entity's key.
    pub const fn key(&self) -> Key {
        match self {
            Self::Put(fields) | Self::Over(fields) | Self::ChangedOrPut(fields, _) | Self::PutIfAbsent(fields) => {
                fields.key()
            }
            Self::Changed(key, _)
            | Self::Likes(key, _)
            | Self::Extra(key, _)
            | Self::InBin(key, _)
            | Self::Deleted(key) => *key,
        }
    }

    /// Returns the fields that it writes if this is the present entity; `None` if it writes some of the fields or none.
    pub fn written(&self, old: Option<&Fields>) -> Option<Fields> {
        match (self, old) {
            (Self::Put(fields) | Self::Over(fields), _)
            | (Self::ChangedOrPut(fields, _) | Self::PutIfAbsent(fields), None) => Some(*fields),
            (Self::Changed(_, change) | Self::ChangedOrPut(_, change), Some(old)) => Some(change.of(old)),
            (Self::Changed(..), None)
            | (Self::PutIfAbsent(_), Some(_))
            | (Self::Likes(..) | Self::Extra(..) | Self::InBin(..) | Self::Deleted(_), _) => None,
        }
    }
}

/// Outcome of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// All effects happened.
    Done,
    /// `remove`, `soft_delete` or `restore` returned whether there was a row.
    Removed(bool),
    /// A sweep removed so many entities.
    Swept(usize),
    /// `modify` returned the stored entity, or that there is none.
    Modified(Option<Fields>),
    /// `get_or_insert` returned the stored entity, and whether it is the new one.
    Got(Fields, bool),
    /// No effect happened.
    Failed(Error),
    /// Failures by position in the input, and the number of missing entities.
    Bulk(Vec<(usize, Arc<Error>)>, usize),
    /// Entities that a reader returned, and whether it read them at once.
    Seen(Vec<Fields>, bool),
    /// Findings of a repair or a verification.
    Found(Vec<Finding>),
    /// The operation had nothing to do.
    Nothing,
}

/// Operation with everything that it needs.
#[derive(Debug)]
pub enum Ready<S> {
    /// Write of one entity.
    One(Part<S>),
    /// Transaction.
    Transaction(Vec<Part<S>>),
    /// Removal of entities that were read.
    Removal(Vec<Stored<S>>),
    /// Any other operation.
    Other(Act),
}

/// Entities that a task keeps.
pub type Kept<S> = BTreeMap<Key, Stored<S>>;

/// Reads the entities that the operation needs and the task does not keep; `None` if there is nothing to do.
///
/// # Errors
/// A read failed.
pub async fn prepare<S: Subject>(tables: &Tables, kept: &mut Kept<S>, act: &Act) -> Result<Option<Ready<S>>> {
    let act = match act {
        Act::Transaction(acts) => {
            let mut parts = Vec::new();
            for act in acts {
                parts.extend(part(tables, kept, act).await?);
            }
            return Ok((!parts.is_empty()).then_some(Ready::Transaction(parts)));
        }
        Act::RemoveRead(keys) => {
            let mut read = Vec::new();
            for key in keys {
                read.extend(stored(tables, kept, *key).await?);
            }
            return Ok((!read.is_empty()).then_some(Ready::Removal(read)));
        }
        Act::Insert(_)
        | Act::Upsert(_)
        | Act::Update(..)
        | Act::Patch(..)
        | Act::PatchIf(..)
        | Act::Merge(_)
        | Act::Extra(..)
        | Act::Delete(..)
        | Act::Remove(_) => {
            return Ok(part(tables, kept, act).await?.map(Ready::One));
        }
        other => other.clone(),
    };
    Ok(Some(Ready::Other(act)))
}

/// Returns the entity that the task keeps, or reads it.
async fn stored<S: Subject>(tables: &Tables, kept: &mut Kept<S>, key: Key) -> Result<Option<Stored<S>>> {
    match kept.remove(&key) {
        Some(stored) => Ok(Some(stored)),
        None => S::point(key).get(tables).await,
    }
}

async fn part<S: Subject>(tables: &Tables, kept: &mut Kept<S>, act: &Act) -> Result<Option<Part<S>>> {
    let with = |stored: &mut Stored<S>, entity: S, held| match held {
        Held::Stored => **stored = entity,
        Held::New => *stored = Stored::new(entity, Stored::etag(stored).clone()),
    };
    Ok(match act {
        Act::Insert(fields) => Some(Part::Insert(S::new(fields))),
        Act::Upsert(fields) => Some(Part::Upsert(S::new(fields))),
        Act::Merge(fields) => Some(Part::Merge(S::new(fields))),
        Act::Update(key, change, held) => stored(tables, kept, *key).await?.map(|mut stored| {
            let new = S::new(&change.of(&stored.fields()));
            with(&mut stored, new, *held);
            Part::Update(stored)
        }),
        Act::Delete(key, held) => stored(tables, kept, *key).await?.map(|mut stored| {
            let same = S::clone(&stored);
            with(&mut stored, same, *held);
            Part::Delete(stored)
        }),
        Act::Patch(key, likes) => Some(Part::Patch(*key, *likes)),
        Act::PatchIf(key, likes) => {
            stored(tables, kept, *key).await?.map(|stored| Part::PatchIf(*key, Stored::etag(&stored).clone(), *likes))
        }
        Act::Extra(key, extra) => Some(Part::Extra(*key, *extra)),
        Act::Remove(key) => Some(Part::Remove(*key)),
        _ => None,
    })
}

impl<S: Subject> Ready<S> {
    /// Returns its intended effects.
    pub fn effects(&self) -> Vec<Effect> {
        match self {
            Self::One(part) => vec![effect(part)],
            Self::Transaction(parts) => parts.iter().map(effect).collect(),
            Self::Removal(read) => read.iter().map(|stored| Effect::Deleted(stored.fields().key())).collect(),
            Self::Other(Act::InsertAll(all) | Act::UpsertAll(all)) => all.iter().copied().map(Effect::Put).collect(),
            Self::Other(Act::Modify(key, change)) => vec![Effect::Changed(*key, change.clone())],
            Self::Other(Act::ModifyOrInsert(fields, change)) => vec![Effect::ChangedOrPut(*fields, change.clone())],
            Self::Other(Act::GetOrInsert(fields)) => vec![Effect::PutIfAbsent(*fields)],
            Self::Other(Act::SoftDelete(key)) => vec![Effect::InBin(*key, true)],
            Self::Other(Act::Restore(key)) => vec![Effect::InBin(*key, false)],
            Self::Other(Act::RemoveAll(keys)) => keys.iter().copied().map(Effect::Deleted).collect(),
            Self::Other(_) => Vec::new(),
        }
    }

    /// Runs the operation.
    pub async fn run(&mut self, tables: &Tables) -> Outcome {
        match self {
            Self::One(part) => one(tables, part).await,
            Self::Transaction(parts) => {
                S::transact(tables, parts).await.map_or_else(Outcome::Failed, |_| Outcome::Done)
            }
            Self::Removal(read) => bulk(tables.remove_all(&*read).await).unwrap_or_else(Outcome::Failed),
            Self::Other(act) => other::<S>(tables, act).await.unwrap_or_else(Outcome::Failed),
        }
    }

    /// Returns the updated entities to the task, whether or not the update succeeded.
    pub fn keep(self, kept: &mut Kept<S>) {
        let parts = match self {
            Self::One(part) => vec![part],
            Self::Transaction(parts) => parts,
            Self::Removal(_) | Self::Other(_) => Vec::new(),
        };
        for part in parts {
            if let Part::Update(stored) | Part::Delete(stored) = part {
                kept.insert(stored.fields().key(), stored);
            }
        }
    }
}

fn effect<S: Subject>(part: &Part<S>) -> Effect {
    match part {
        Part::Insert(entity) | Part::Upsert(entity) => Effect::Put(entity.fields()),
        Part::Merge(entity) => Effect::Over(entity.fields()),
        Part::Update(stored) => Effect::Over(stored.fields()),
        Part::Patch(key, likes) | Part::PatchIf(key, _, likes) => Effect::Likes(*key, *likes),
        Part::Extra(key, extra) => Effect::Extra(*key, *extra),
        Part::Delete(stored) => Effect::Deleted(stored.fields().key()),
        Part::Remove(key) => Effect::Deleted(*key),
    }
}

async fn one<S: Subject>(tables: &Tables, part: &mut Part<S>) -> Outcome {
    let done = match part {
        Part::Insert(entity) => tables.insert(entity).await.map(drop),
        Part::Upsert(entity) => tables.upsert(entity).await.map(drop),
        Part::Merge(entity) => tables.merge(entity).await.map(drop),
        Part::Update(stored) => tables.update(stored).await.map(drop),
        Part::Patch(key, likes) => S::patch(tables, *key, *likes).await.map(drop),
        Part::PatchIf(key, etag, likes) => S::patch_if(tables, *key, etag, *likes).await.map(drop),
        Part::Extra(key, extra) => S::set_extra(tables, *key, *extra).await.map(drop),
        Part::Delete(stored) => tables.delete(stored).await,
        Part::Remove(key) => {
            return tables.remove(S::point(*key)).await.map_or_else(Outcome::Failed, Outcome::Removed);
        }
    };
    done.map_or_else(Outcome::Failed, |()| Outcome::Done)
}

fn bulk(result: Result<BulkProgress>) -> Result<Outcome> {
    match result {
        Ok(progress) => Ok(Outcome::Bulk(Vec::new(), progress.missing)),
        Err(Error::Bulk(error)) if !error.ended_early => {
            let failures = error.failures.iter().map(|failure| (failure.position, failure.error.clone()));
            Ok(Outcome::Bulk(failures.collect(), error.progress.missing))
        }
        Err(error) => Err(error),
    }
}

async fn other<S: Subject>(tables: &Tables, act: &Act) -> Result<Outcome> {
    let entities = |all: &[Fields]| all.iter().map(S::new).collect::<Vec<_>>();
    let changed = |change: &Change| {
        let change = change.clone();
        move |entity: &mut S| *entity = S::new(&change.of(&entity.fields()))
    };
    Ok(match act {
        Act::Modify(key, change) => {
            let modified = tables.modify(S::point(*key), changed(change)).await?;
            Outcome::Modified(modified.map(|stored| stored.fields()))
        }
        Act::ModifyOrInsert(fields, change) => {
            let modified = tables.modify_or_insert(&S::new(fields), changed(change)).await?;
            Outcome::Modified(Some(modified.fields()))
        }
        Act::GetOrInsert(fields) => {
            let (stored, is_new) = tables.get_or_insert(&S::new(fields)).await?;
            Outcome::Got(stored.fields(), is_new)
        }
        Act::InsertAll(all) => bulk(tables.insert_all(entities(all)).await)?,
        // Also the verbs that take results.
        Act::UpsertAll(all) => {
            bulk(tables.try_upsert_all_from(stream::iter(entities(all)).map(Ok::<_, Infallible>)).await)?
        }
        Act::RemoveAll(keys) => {
            let keys = keys.iter().copied().map(S::point);
            bulk(tables.try_remove_all_from(stream::iter(keys).map(Ok::<_, Infallible>)).await)?
        }
        Act::SoftDelete(key) => Outcome::Removed(S::soft_delete(tables, *key).await?),
        Act::Restore(key) => Outcome::Removed(S::restore(tables, *key).await?),
        Act::Sweep => Outcome::Swept(S::sweep(tables).await?),
        Act::Repair => {
            // Several passes beside the other tasks.
            let repaired = tables.repair::<S>().memory(64 * size_of::<u128>()).await?;
            Outcome::Found(repaired.fixed.into_iter().chain(repaired.left).collect())
        }
        Act::Verify => Outcome::Found(tables.verify::<S>().all().await?),
        Act::Find(index, group, value) => Outcome::Seen(S::find(tables, *index, *group, *value).await?, false),
        Act::Pages(group, size) => Outcome::Seen(S::pages(tables, *group, *size).await?, false),
        Act::All(group) => Outcome::Seen(S::all(tables, *group).await?, true),
        _ => Outcome::Nothing,
    })
}

/// Returns what is stored, apart from pending inserts.
///
/// # Errors
/// A read failed.
pub async fn state<S: Subject>(tables: &Tables) -> anyhow::Result<State> {
    let mut state = State::new();
    for group in 0..GROUPS {
        state.extend(S::with_extra(tables, group).await?.into_iter().map(|fields| (fields.key(), fields)));
    }
    Ok(state)
}

/// Checks that each index finds exactly the visible entities with the value.
///
/// # Errors
/// A read failed, or an index finds something else.
pub async fn agrees<S: Subject>(tables: &Tables, state: &State, now: u8) -> anyhow::Result<()> {
    for (number, index) in S::INDEXES.iter().enumerate() {
        for group in 0..if index.here { GROUPS } else { 1 } {
            for value in 0..INDEXED_VALUES {
                let mut found = S::find(tables, number, group, value).await?;
                found.sort_unstable_by_key(|fields| (fields.key(), *fields));
                let is_found = |fields: &&Fields| fields.is_visible(now) && index.finds(fields, group, value);
                let expected = state.values().filter(is_found);
                let expected: Vec<_> = expected.map(|fields| fields.known()).collect();
                ensure!(found == expected, "by `{index:?}` of {value} in {group}: {found:?} instead of {expected:?}");
            }
        }
    }
    for group in 0..GROUPS {
        let mut covered = S::covered(tables, group).await?;
        covered.sort_unstable();
        let of_group = || state.values().filter(|fields| fields.group == group && !fields.has_expired(now));
        let visible = of_group().filter(|fields| !fields.in_bin);
        let expected: Vec<_> = visible.map(|fields| (fields.id, fields.note)).collect();
        ensure!(covered == expected, "a covering index has {covered:?} instead of {expected:?}");
        let in_bin = S::in_bin(tables, group).await?;
        let expected: Vec<_> = of_group().filter(|fields| fields.in_bin).map(|fields| fields.known()).collect();
        ensure!(in_bin == expected, "the bin has {in_bin:?} instead of {expected:?}");
    }
    Ok(())
}
