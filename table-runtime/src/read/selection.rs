//! Properties that a query asks for.

use table_model::{
    Holds, LayoutInfo, PropertyInfo, Scope,
    unstable::layout::{LayoutExt, Within, includes, joined, stored},
};
use table_store::Condition;

/// Returns the properties that an index's keys hold and its rows do not, each with the number of its key part.
pub fn values(layout: &'static LayoutInfo) -> impl Iterator<Item = (usize, &'static str)> {
    let index = layout.index.as_ref().filter(|index| index.holds != Holds::Copy);
    let included = move |name: &str| index.is_some_and(|index| includes(index, name));
    index.map_or([].as_slice(), |index| index.values).iter().copied().filter(move |(_, name)| !included(name))
}

pub fn wants_keys(wanted: &[PropertyInfo]) -> bool {
    wanted.iter().any(|field| field.name.is_empty() && field.parts.is_empty())
}

/// Properties that a query asks for, if it does not ask for whole rows.
#[derive(Clone, Copy, Debug)]
pub struct SelectedProperties {
    /// Properties as in [`Projection::PROPERTIES`](crate::Projection::PROPERTIES).
    properties: &'static [PropertyInfo],
    /// True if index rows are used without a check against their entities.
    unchecked: bool,
}

impl SelectedProperties {
    pub const fn new(properties: &'static [PropertyInfo], unchecked: bool) -> Self {
        Self { properties, unchecked }
    }

    /// Returns the names of the properties, and of those that show whether a row has what is around them. A field that the
    /// keys of the index hold needs none.
    pub fn names(self, index: Option<&LayoutInfo>) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::with_capacity(self.properties.len());
        for field in self.properties {
            let within = field.within.filter(|_| !index.is_some_and(|index| index.gives(field)));
            let decisive =
                within.into_iter().flat_map(Within::decisive).map(|name| joined(name.outer, '_', name.inner));
            for name in field.stored().map(|property| property.name).chain(decisive) {
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Checks whether index rows are used without a check against their entities.
    pub const fn is_unchecked(self) -> bool {
        self.unchecked
    }

    /// Returns the properties to ask for in rows of the layout.
    pub fn of(self, layout: &'static LayoutInfo) -> Vec<&'static str> {
        let in_key = |name: &str| values(layout).any(|(_, other)| other == name);
        let own = self.names(Some(layout)).into_iter().filter(|name| !in_key(name));
        let pointer = layout.index.as_ref().filter(|_| wants_keys(self.properties));
        own.chain(pointer.iter().flat_map(|index| &*index.pointer).map(|property| &*property.name)).collect()
    }

    /// Checks whether the rows of an index hold all selected properties, those that the filter compares, and `elements`, by
    /// which the query returns an entity once, so that no entity has to be read.
    ///
    /// In the entity's own partition, index rows change with the entity, in one transaction. Cross-partition index rows
    /// are written in steps: the entity of such a row may have another value by now, or may not exist.
    pub fn is_covered(
        self,
        layout: &'static LayoutInfo,
        filter: Option<&Condition>,
        elements: &'static [PropertyInfo],
    ) -> bool {
        let Some(index) = &layout.index else { return false };
        let included = |name: &str| includes(index, name);
        let held = |name: &str| included(name) || values(layout).any(|(_, other)| other == name);
        matches!(index.holds, Holds::Pointer | Holds::Include)
            && (index.scope == Scope::SamePartition || self.unchecked)
            && self.names(Some(layout)).into_iter().all(held)
            && stored(elements).all(|property| included(property.name))
            && filter.is_none_or(|filter| filter.compares_only(&included))
    }
}
