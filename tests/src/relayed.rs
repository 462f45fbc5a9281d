//! Entities whose events a process delivers until it is killed, for the program `relayer` and for its tests.

use std::{collections::BTreeMap, fmt, fs::File, io::Write as _, str::FromStr};

use anyhow::{Context as _, Result};
use table_runtime::{
    Guid, TableEntity, Tables, Ticks,
    events::{Delivered, Event, EventChange},
};

use crate::random::Random;

/// Entity of a task, which nobody else writes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Relayed", events(copy))]
pub struct Relayed {
    /// Task that writes the entity.
    #[partition_key]
    pub task: u32,
    /// Number among the entities of the task.
    #[row_key]
    pub number: u32,
    /// The number once more, so that a write has several rows.
    #[index(seat, same_partition, unique)]
    pub seat: u32,
    /// Number of the write, which no other write has.
    pub stamp: i64,
}

/// What a write did: with the stamp that it has written, or of a deletion, with that of the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "as of `Relayed`")]
pub struct Write {
    pub task: u32,
    pub number: u32,
    pub stamp: i64,
    /// Name of the change.
    pub change: &'static str,
}

/// A delivered event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Id of the event.
    pub id: Guid,
    /// Time of the event.
    pub at: Ticks,
    /// What it says.
    pub write: Write,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, number, stamp, change } = self;
        write!(f, "{task} {number} {stamp} {change}")
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.id, self.at.get(), self.write)
    }
}

impl FromStr for Write {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<_> = text.split(' ').collect();
        let [task, number, stamp, change] = parts.as_slice() else { anyhow::bail!("`{text}` is no write") };
        let change = EventChange::named(change).context("a change")?.name();
        Ok(Self { task: task.parse()?, number: number.parse()?, stamp: stamp.parse()?, change })
    }
}

impl FromStr for Noted {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(3, ' ');
        let mut next = || parts.next().context("three parts");
        let (id, at) = (next()?.parse()?, Ticks::new(next()?.parse()?).context("a time")?);
        Ok(Self { id, at, write: next()?.parse()? })
    }
}

/// Appends an event to a file.
///
/// # Errors
/// The event has no copy, or the file cannot be written.
pub fn note(event: &Event<Relayed>, mut file: &File) -> Result<()> {
    let Relayed { task, number, stamp, .. } = *event.entity().context("a copy")?;
    let write = Write { task, number, stamp, change: event.change().name() };
    // A file that one call has written is not lost with its process.
    Ok(file.write_all(format!("{}\n", Noted { id: event.id(), at: event.ticks(), write }).as_bytes())?)
}

/// Delivers the events into a file, once or for ever.
///
/// # Errors
/// The errors of the relay.
pub async fn deliver(tables: &Tables, file: &File, is_once: bool) -> table_runtime::Result<Delivered> {
    // Each kill counts a failed attempt.
    let relay = tables.relay::<Relayed>().attempts(u32::MAX);
    let consumer = async |event: Event<Relayed>| note(&event, file);
    if is_once { relay.deliver_once(consumer).await } else { relay.deliver(consumer).await }
}

/// Number of tasks that write side by side.
pub const TASKS: u32 = 3;
/// Number of entities of a task.
const ENTITIES: u8 = 4;

/// Writes the entities of a task again and again, and reports what each write did.
///
/// # Errors
/// A write failed.
pub async fn write(
    tables: Tables,
    task: u32,
    seed: u32,
    mut report: impl FnMut(&[Write]),
) -> table_runtime::Result<()> {
    let mut random = Random::new(u64::from(seed) << 8 | u64::from(task));
    let all = Relayed::by_key(task).all(&tables).await?;
    let mut stored: BTreeMap<u32, i64> = all.iter().map(|entity| (entity.number, entity.stamp)).collect();
    let first = (i64::from(seed) << 8 | i64::from(task)) << 24;
    for stamp in (first..).step_by(2) {
        let number = u32::from(random.byte(ENTITIES));
        let other = (number + 1) % u32::from(ENTITIES);
        let entity = |number, stamp| Relayed { task, number, seat: number, stamp };
        let key = || Relayed::key(task, number);
        let (new, second) = (entity(number, stamp), entity(other, stamp + 1));
        let of = |number, stamp, change: EventChange| Write { task, number, stamp, change: change.name() };
        let put = |entity: &Relayed, before: Option<&i64>| {
            let change = if before.is_some() { EventChange::Updated } else { EventChange::Inserted };
            of(entity.number, entity.stamp, change)
        };
        let before = (stored.get(&number), stored.get(&other));
        let written = match (before, random.below(6)) {
            ((Some(_), _), 0) => {
                tables.modify(key(), |entity| entity.stamp = stamp).await?;
                vec![put(&new, before.0)]
            }
            ((Some(_), _), 1) => {
                tables.patch(key(), |row| [row.stamp.set(stamp)]).await?;
                vec![put(&new, before.0)]
            }
            ((Some(old), _), 2) => {
                tables.remove(key()).await?;
                vec![of(number, *old, EventChange::Deleted)]
            }
            ((Some(_), _), 3) => {
                // The deletion and the insert of one key are a change.
                tables.transaction().remove(key()).insert(&new).upsert(&second).commit().await?;
                vec![put(&new, before.0), put(&second, before.1)]
            }
            ((None, None), 0) => {
                tables.insert_all([&new, &second]).await?;
                vec![put(&new, None), put(&second, None)]
            }
            ((None, _), 1) => {
                tables.insert(&new).await?;
                vec![put(&new, None)]
            }
            (_, 4) => {
                tables.transaction().upsert(&new).upsert(&second).commit().await?;
                vec![put(&new, before.0), put(&second, before.1)]
            }
            _ => {
                tables.upsert(&new).await?;
                vec![put(&new, before.0)]
            }
        };
        report(&written);
        for Write { number, stamp, change, .. } in written {
            if change == EventChange::Deleted.name() {
                stored.remove(&number);
            } else {
                stored.insert(number, stamp);
            }
        }
    }
    Ok(())
}
