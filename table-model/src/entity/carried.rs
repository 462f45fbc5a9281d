//! Properties that an update writes back although the entity does not have them.

use std::collections::BTreeSet;

use table_store::{Properties, PropertiesRef};

use super::{EntityInfo, WriteEntity, is_known, is_own, properties};
use crate::layout::{RecordedWhole, WholeSwitch, switches};

/// Properties of a row that are not those of the entity; `None` if there are none, so that a row without them costs only the
/// pointer.
pub type Unknown = Option<Box<Carried>>;

/// Properties of a row that the struct does not know, or that are in an `Option` or a variant that the entity does not have. An
/// update writes them back, unless it changes that `Option`, or the enum: then what is recorded as a part of it is part of the
/// value before.
#[derive(Clone, Debug)]
pub struct Carried {
    properties: Properties,
    /// The position of each `Option` and enum of the entity, as it was stored.
    positions: Vec<Option<String>>,
}

impl Carried {
    /// Returns the properties of a row beside its entity, of which the row has these properties.
    pub fn new(properties: Properties, info: &EntityInfo, entity: PropertiesRef<'_>) -> Unknown {
        let positions = || switches(info.fields).iter().map(|switch| switch.position(entity)).collect();
        (!properties.is_empty()).then(|| Box::new(Self { positions: positions(), properties }))
    }

    /// Returns the properties.
    pub const fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns what the entity's struct, into which it was converted from an older one, does not know either.
    #[cold]
    pub fn beside(&self, entity: &dyn WriteEntity) -> Unknown {
        let info = entity.info();
        let mut rest = Properties::default();
        for (name, value) in self.properties.iter().filter(|(name, value)| !is_own(info, name, *value)) {
            rest.push(name, value);
        }
        // A value that no property can hold is unknown here; writing it reports the error.
        let entity = super::keys(entity).ok().and_then(|keys| properties(entity, &keys).ok()).unwrap_or_default();
        Self::new(rest, info, entity.as_ref())
    }

    /// Returns the `Option`s and enums that an update changes, given the entity's new properties.
    pub fn changed(&self, info: &EntityInfo, new: PropertiesRef<'_>) -> Vec<WholeSwitch> {
        let switches = switches(info.fields).into_iter().zip(&self.positions);
        switches.filter(|(switch, was)| switch.position(new) != **was).map(|(switch, _)| switch).collect()
    }

    /// Returns what an update writes back that changes these `Option`s and enums, of which the catalog records these parts.
    pub fn without<'a>(
        &self,
        changed: &[WholeSwitch],
        recorded: impl Iterator<Item = &'a RecordedWhole>,
        info: &EntityInfo,
        new: PropertiesRef<'_>,
    ) -> Unknown {
        let is_known = |name: &str| is_known(info, name);
        let mut parts: BTreeSet<String> = changed.iter().flat_map(WholeSwitch::properties).collect();
        for whole in recorded.filter(|whole| changed.iter().any(|switch| switch.is_of(whole, is_known))) {
            parts.extend(whole.properties().cloned());
        }
        let mut rest = Properties::default();
        for (name, value) in self.properties.iter().filter(|(name, _)| !parts.contains(*name)) {
            rest.push(name, value);
        }
        Self::new(rest, info, new)
    }
}
