//! What an index depends on of rows that lack a property.

use std::collections::BTreeMap;

use crate::model::layout::{Holds, Layout, LayoutInfo, PropertyInfo};

/// Returns what a row without a property is read as, for each property that rows of the index depend on or hold: the type
/// and the text of the value, or an empty text for nothing. Properties that every row has are left out.
pub(super) fn defaults(entity: &Layout, layout: &LayoutInfo) -> BTreeMap<String, String> {
    let Some(index) = &layout.index else { return BTreeMap::new() };
    let is_held = |property: &PropertyInfo| index.holds == Holds::Copy || index.includes(property.name);
    let of_index = |property: &PropertyInfo| is_held(property) || depends_on(entity, layout, property.name);
    let optional = entity.properties().filter(|property| !property.absent.is_refused());
    let constant = |property: PropertyInfo| {
        let value = value_of_absent(&property);
        // A default such as the present time is another one each time, and no struct has changed.
        (value == value_of_absent(&property)).then(|| (property.name.to_owned(), value))
    };
    optional.filter(of_index).filter_map(constant).collect()
}

/// Returns the type and the text of the value as which a row without the property is read; an empty text for nothing.
fn value_of_absent(property: &PropertyInfo) -> String {
    let value = property.absent.value();
    value.map(|value| format!("{} {}", value.as_ref().edm_type(), value.as_ref().to_text())).unwrap_or_default()
}

/// Checks whether the keys of the index's rows, or whether there is a row, depend on a property.
pub(super) fn depends_on(entity: &Layout, layout: &LayoutInfo, property: &str) -> bool {
    let when = layout.index.as_ref().and_then(|index| index.when.as_ref());
    let parts = layout.partition.iter().chain(layout.row).map(|part| part.field);
    let mut fields = parts.chain(when.into_iter().flat_map(|when| when.fields.iter().copied()));
    let found = entity.properties().find(|info| info.name == property);
    // A whole struct is a field of a predicate too.
    let is_of =
        |field: &str, path: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    found.is_some_and(|info| fields.any(|field| is_of(field, info.field)))
}
