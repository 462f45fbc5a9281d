//! What an index depends on of rows that lack a property.

use std::collections::BTreeMap;

use table_store::Value;

use super::{
    ext::includes,
    info::{Holds, Layout, LayoutInfo},
    whole::{absence_name, leaves},
};

/// Returns what a row without a property is read as, for each property that rows of the index depend on or hold: the type
/// and the text of the value, or an empty text for nothing. Properties that every row has are left out.
pub fn defaults(entity: &Layout, layout: &LayoutInfo) -> BTreeMap<String, String> {
    let Some(index) = &layout.index else { return BTreeMap::new() };
    let of_index = |property: &str| {
        index.holds == Holds::Copy || includes(index, property) || depends_on(entity, layout, property)
    };
    let mut defaults = BTreeMap::new();
    for leaf in leaves(entity.fields).into_iter().filter(|leaf| of_index(leaf.property.name)) {
        let text = |value: &Option<Value>| {
            value.as_ref().map(|value| format!("{} {}", value.as_ref().edm_type(), value.as_ref().to_text()))
        };
        for (absence, again) in leaf.absences().iter().zip(leaf.absences()) {
            // A default such as the present time is another one each time, and no struct has changed.
            if absence.value == again.value {
                let name = absence_name(leaf.property.name, absence.whole.map(|whole| &*whole.path));
                defaults.insert(name, text(&absence.value).unwrap_or_default());
            }
        }
    }
    defaults
}

/// Checks whether the keys of the index's rows, or whether there is a row, depend on a property.
pub fn depends_on(entity: &Layout, layout: &LayoutInfo, property: &str) -> bool {
    let when = layout.index.as_ref().and_then(|index| index.when.as_ref());
    let parts = layout.parts().map(|part| &*part.field);
    let mut fields = parts.chain(when.into_iter().flat_map(|when| when.fields.iter().map(|field| &*field.field)));
    let found = entity.properties().find(|info| info.name == property);
    // A whole struct is a field of a predicate too.
    let is_of =
        |field: &str, path: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    found.is_some_and(|info| fields.any(|field| is_of(field, info.field)))
}
