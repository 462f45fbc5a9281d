//! What the events of an entity say of it, compared with the entities that there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use anyhow::{Context as _, Result, bail, ensure};
use table_runtime::{
    events::EventChange,
    row::{PropertiesRef, Row, ValueRef},
};

use crate::{
    history::State,
    stores::Store,
    subjects::{Fields, Key, Subject},
};

/// An entity, as far as the events of a program distinguish its states: the numbers of its last writes, and whether it is in
/// the bin.
type Version = (u32, u32, bool);

/// The entities of which events have told, by their keys.
#[derive(Clone, Debug)]
pub struct Replay<K, V>(pub BTreeMap<K, V>);

impl<K, V> Default for Replay<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V: PartialEq + fmt::Debug> Replay<K, V> {
    /// Returns the entity before the event.
    ///
    /// # Errors
    /// The event does not fit the entity before it.
    pub fn apply(&mut self, key: K, change: EventChange, now: V) -> Result<Option<V>> {
        use EventChange::{Deleted, Expired, Inserted, Updated};
        let before = self.0.remove(&key);
        match (change, &before) {
            (Inserted, None) | (Updated, Some(_)) => drop(self.0.insert(key, now)),
            // It is the entity as it was.
            (Deleted | Expired, Some(before)) if *before == now => {}
            (change, before) => bail!("{change:?} of {before:?}, with {now:?}"),
        }
        Ok(before)
    }
}

/// The entities that the events of a store have told of, in the order in which they were committed.
#[derive(Debug, Default)]
pub struct Told {
    seen: BTreeSet<(String, String)>,
    entities: Replay<Key, Version>,
    /// The key of the last event of each entity that is there.
    last: BTreeMap<Key, String>,
    is_on: bool,
}

/// Checks whether a table has no entities and no index rows.
pub fn is_kept(table: &str) -> bool {
    ["TableLayouts", "TableEvents"].contains(&table)
}

/// Checks whether a row is an event.
pub fn is_event(row: &Row) -> bool {
    row.row_key.starts_with("~~event-")
}

fn number(properties: PropertiesRef<'_>, name: &str) -> Option<u32> {
    match properties.get(name) {
        Some(ValueRef::Int64(number)) => u32::try_from(number).ok(),
        Some(ValueRef::Int32(number)) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// Returns the key of the entity of a stored event, and what happened to it.
///
/// # Errors
/// The row is no event of a [`Subject`].
pub fn event_of(partition_key: &str, properties: PropertiesRef<'_>) -> Result<(Key, EventChange)> {
    let id = number(properties, "IndexedEntityId").context("the id")?;
    let change = match properties.get("EventChange") {
        Some(ValueRef::String(name)) => EventChange::named(name),
        _ => None,
    };
    Ok(((partition_key.parse()?, id.try_into()?), change.context("the change")?))
}

impl Told {
    /// Reads the events that were added since the last look, which the store must not have deleted.
    ///
    /// # Errors
    /// An event does not fit the entities before it, or its partition has no mark.
    pub async fn look<S: Subject>(&mut self, store: &Store) -> Result<()> {
        let layout = S::layout();
        self.is_on = layout.events.is_some();
        if !self.is_on {
            return Ok(());
        }
        let rows = store.rows(&layout.layouts[0].table).await?;
        let new: Vec<_> = rows.into_iter().filter(is_event).filter(|row| self.is_new(row)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let marks: BTreeSet<_> = store.rows("TableEvents").await?.into_iter().map(|row| row.row_key).collect();
        for row in new {
            ensure!(marks.contains(&row.partition_key), "the partition of {row:?} has no mark");
            self.apply(&row).with_context(|| format!("{row:?}"))?;
        }
        Ok(())
    }

    fn is_new(&mut self, row: &Row) -> bool {
        self.seen.insert((row.partition_key.clone(), row.row_key.clone()))
    }

    fn apply(&mut self, row: &Row) -> Result<()> {
        let number = |name: &str| number(row.properties.as_ref(), name);
        let (key, change) = event_of(&row.partition_key, row.properties.as_ref())?;
        let now = (
            number("Stamp").context("the stamp")?,
            number("Likes").context("the likes")?,
            row.properties.get("Deleted").is_some(),
        );
        let before = self.entities.apply(key, change, now)?;
        // Only an insert after a deletion may have an earlier time.
        let last = self.last.insert(key, row.row_key.clone()).filter(|_| before.is_some());
        ensure!(last.is_none_or(|last| last < row.row_key), "it is not later than the event before it");
        Ok(())
    }

    /// Checks that the events tell of these entities.
    ///
    /// # Errors
    /// They tell of others.
    pub fn check(&self, state: &State) -> Result<()> {
        let version = |fields: &Fields| (fields.stamp, fields.likes, fields.in_bin);
        let entities: BTreeMap<_, _> = state.iter().map(|(key, fields)| (*key, version(fields))).collect();
        ensure!(
            !self.is_on || entities == self.entities.0,
            "they tell of {:?}, and there are {entities:?}",
            self.entities.0
        );
        Ok(())
    }
}
