//! What the catalog records about entities, as values.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use table_model::{
    EventContent, LayoutInfo, Lifecycle,
    unstable::{
        entity::VERSION,
        event::EventPlace,
        layout::{RecordedWhole, absence_name},
    },
};
use table_store::{PropertiesRef, RowRef, Value, ValueRef};

use super::distinct;
use crate::{
    client::tables::{EVENTS_REQUIRED, Facts, ReadRecord, State, Tables, Wholes},
    relay::EventSource,
};

/// An entity that the catalog records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedEntity {
    /// The name under which the entity is recorded: its kind, or the name of its struct.
    pub name: String,
    /// All names that the entity has had.
    pub names: Vec<String>,
    /// Value of the property `EntityType` of its rows, if they have one.
    pub kind: Option<String>,
    /// The primary key, which is missing if its record is damaged, and then the indexes in the order of their names.
    pub layouts: Vec<LayoutInfo>,
    /// The states of the layouts, by their names.
    pub(super) states: BTreeMap<String, LayoutState>,
    /// Types of the properties by the version of the rows and the name of the property, such as `Edm.Int32 in 0..=255`.
    pub properties: BTreeMap<u32, BTreeMap<String, String>>,
    /// The property with the time from which on the entity is absent.
    pub expires: Option<String>,
    /// The property with the time at which the entity was put into the bin.
    pub soft_delete: Option<String>,
    /// What the events of the entity hold, if a program records events.
    pub events: Option<EventContent>,
    /// True if every write has to record an event: [`Tables::require_events`](crate::Tables::require_events).
    pub requires_events: bool,
    /// Values as which rows without a property are read, by the index that depends on it and the name of the property.
    pub(super) defaults: BTreeMap<String, BTreeMap<String, String>>,
    /// Properties that rows may lack, by the version of the rows.
    pub(super) optional: BTreeMap<u32, BTreeSet<String>>,
    /// Fields that are stored as properties alone, and not in the primary key.
    pub fields: BTreeSet<String>,
    pub(super) wholes: Wholes,
    /// The place to which a migration has moved the entity.
    pub moved: Option<String>,
}

/// The value that an entity has for a property.
pub(super) enum EntityValue<'r> {
    Stored(ValueRef<'r>),
    /// The value as which a row without the property is read.
    Default(Value),
    Nothing,
    /// A value that the catalog does not record.
    Unknown,
}

impl EntityValue<'_> {
    /// Returns the value, if there is one and it is known.
    pub(super) fn value(&self) -> Option<ValueRef<'_>> {
        match self {
            Self::Stored(value) => Some(*value),
            Self::Default(value) => Some(value.as_ref()),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

impl RecordedEntity {
    /// Returns the primary key; `None` if its record is damaged.
    pub fn primary(&self) -> Option<&LayoutInfo> {
        self.layouts.first().filter(|layout| layout.index.is_none())
    }

    /// Returns the state of the layout with this name.
    pub fn state(&self, layout: &str) -> LayoutState {
        self.states.get(layout).copied().unwrap_or_default()
    }

    /// Returns the value that an entity has for a property on which rows of an index depend.
    pub(super) fn value<'r>(&self, index: &str, property: &str, row: PropertiesRef<'r>) -> EntityValue<'r> {
        let default = |whole| {
            let default = self.defaults.get(index)?.get(&absence_name(property, whole))?;
            let Some((edm_type, text)) = default.split_once(' ') else { return Some(EntityValue::Nothing) };
            Value::from_text(edm_type, text).map(EntityValue::Default)
        };
        let version = self.newest_version();
        let wholes = self.wholes.get(&version).into_iter().flatten();
        let mut around: Vec<_> = wholes.filter(|(_, whole)| whole.properties().any(|name| name == property)).collect();
        // An outer one has the properties of those inside.
        around.sort_by_key(|(_, whole)| Reverse(whole.properties().count()));
        if let Some((path, _)) = around.into_iter().find(|(_, whole)| !whole.is_in(row)) {
            return default(Some(path)).unwrap_or(EntityValue::Nothing);
        }
        if let Some(value) = row.get(property) {
            return EntityValue::Stored(value);
        }
        // A default that is not always the same is not recorded.
        let is_optional = self.optional.get(&version).is_some_and(|optional| optional.contains(property));
        default(None).unwrap_or(if is_optional { EntityValue::Unknown } else { EntityValue::Nothing })
    }

    /// Returns the newest recorded version of the rows.
    pub fn newest_version(&self) -> u32 {
        self.properties.keys().next_back().copied().unwrap_or(1)
    }

    /// Checks whether the rows that an entity has in an index follow from its properties as they are stored: a row of an older
    /// version is converted first.
    pub(super) fn knows_rows_of(&self, row: RowRef<'_>) -> bool {
        let version = match row.properties.get(VERSION) {
            None => Some(1),
            Some(ValueRef::Int32(version)) => u32::try_from(version).ok(),
            Some(_) => None,
        };
        version == Some(self.newest_version())
    }

    /// Returns the properties that a row of the newest version may be without: those of an `Option`, and of a value with
    /// several properties that is absent or another variant.
    pub fn optional_properties(&self) -> BTreeSet<&str> {
        let version = self.newest_version();
        let wholes = self.wholes.get(&version).into_iter().flat_map(BTreeMap::values);
        let in_wholes = wholes.filter(|whole| !whole.everywhere).flat_map(RecordedWhole::properties);
        let optional = self.optional.get(&version).into_iter().flatten();
        optional.chain(in_wholes).map(String::as_str).collect()
    }

    /// Returns the events of the entity, if it records some.
    pub(super) fn event_source(&self, tables: &Tables) -> Option<EventSource> {
        let primary = self.primary().filter(|_| self.events.is_some())?;
        Some(EventSource { tables: tables.clone(), place: EventPlace::of(primary, self.name.clone()) })
    }

    /// Returns the properties with the times that hide an entity.
    pub(super) fn lifecycle(&self) -> Lifecycle<'_> {
        Lifecycle { expires: self.expires.as_deref(), soft_delete: self.soft_delete.as_deref() }
    }
}

/// State of a layout, as the catalog records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "`docs/catalog.md` describes them")]
pub enum LayoutState {
    Building,
    #[default]
    Ready,
    Leaving,
    Gone,
}

impl fmt::Display for LayoutState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Building => "building",
            Self::Ready => "ready",
            Self::Leaving => "leaving",
            Self::Gone => "gone",
        })
    }
}

impl From<State> for LayoutState {
    fn from(state: State) -> Self {
        match state {
            State::Building => Self::Building,
            State::Ready => Self::Ready,
            State::Leaving => Self::Leaving,
            State::Gone => Self::Gone,
        }
    }
}

/// Returns the entities of these records.
pub(super) fn entities(records: &[ReadRecord]) -> Vec<RecordedEntity> {
    let mut by_entity: BTreeMap<_, Vec<&ReadRecord>> = BTreeMap::new();
    for record in records {
        by_entity.entry((&record.entity_table, &record.entity)).or_default().push(record);
    }
    let entity = |((_, name), records): ((&String, &String), Vec<&ReadRecord>)| {
        let facts = records.iter().find(|record| record.is_primary()).map(|record| record.facts.clone());
        let facts = facts.unwrap_or_default();
        let requires_events = facts.required.contains(EVENTS_REQUIRED);
        let Facts {
            names, properties, optional, wholes, expires, soft_delete, events, defaults, moved, fields, ..
        } = facts;
        // Other records are left out.
        let readable = || records.iter().filter(|record| record.is_readable);
        let mut layouts: Vec<_> = readable().map(|record| record.layout.clone()).collect();
        layouts.sort_by_key(|layout| (layout.index.is_some(), layout.name.clone()));
        let states = readable().map(|record| (record.layout.name.to_string(), record.state.into())).collect();
        let kind = layouts.first().and_then(|primary| primary.kind.as_deref().map(str::to_owned));
        let names = distinct(names.into_iter().chain([name.clone()]));
        let moved = moved.map(|place| place.to_string());
        let name = name.clone();
        RecordedEntity {
            name,
            names,
            kind,
            layouts,
            states,
            properties,
            expires,
            soft_delete,
            events,
            requires_events,
            defaults,
            optional,
            fields,
            wholes,
            moved,
        }
    };
    by_entity.into_iter().map(entity).collect()
}
