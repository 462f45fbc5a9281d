//! The stored properties of fields: a field of a nested struct has several.

use std::{collections::BTreeSet, sync::Mutex};

use table_store::unstable::PropertyName;

use super::{
    const_str::{same, same_names},
    info::PropertyInfo,
};

/// Properties of a type, with names relative to the field that has it: empty if the type is a single property.
pub type Parts = &'static [PropertyInfo];

impl PropertyInfo {
    /// Returns the stored properties of the field, with whole names.
    pub fn stored(&'static self) -> impl Iterator<Item = Self> + Clone {
        let single = self.parts.is_empty().then_some(*self);
        single.into_iter().chain(self.parts.iter().map(|part| self.with_part(part)))
    }

    /// Returns a part of the field, with its whole name.
    pub fn with_part(&self, part: &Self) -> Self {
        Self {
            field: joined(self.field, '.', part.field),
            name: joined(self.name, '_', part.name),
            is_always: part.is_always && !self.is_optional,
            ..*part
        }
    }
}

/// Checks whether one of the properties of a field, which begin with `outer`, has the name.
pub const fn has_property_in(outer: &str, parts: &[PropertyInfo], name: &str) -> bool {
    if parts.is_empty() {
        return same(outer, name);
    }
    let mut part = 0;
    while part < parts.len() {
        if same_names(PropertyName { outer, inner: parts[part].name }, PropertyName { outer: name, inner: "" }) {
            return true;
        }
        part += 1;
    }
    false
}

/// Returns the stored properties of fields, in order.
pub fn stored(fields: &'static [PropertyInfo]) -> impl Iterator<Item = PropertyInfo> + Clone {
    fields.iter().flat_map(PropertyInfo::stored)
}

/// Returns the stored properties of fields without those in which a value continues, in order.
pub fn shown(fields: &'static [PropertyInfo]) -> impl Iterator<Item = PropertyInfo> + Clone {
    stored(fields).filter(|property| !property.continues)
}

/// Returns the field that is stored as one property, by its path, such as `address.city`, with the property's name.
pub fn field_at(fields: &'static [PropertyInfo], path: &str) -> Option<(PropertyName<'static>, &'static PropertyInfo)> {
    fields.iter().find_map(|field| {
        if field.parts.is_empty() {
            return (field.field == path).then_some((field.name.into(), field));
        }
        let rest = path.strip_prefix(field.field)?.strip_prefix('.')?;
        let part = field.parts.iter().find(|part| part.field == rest)?;
        Some((PropertyName { outer: field.name, inner: part.name }, part))
    })
}

/// Checks whether one of the stored properties has the name.
pub const fn has_property(fields: &[PropertyInfo], name: &str) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if has_property_in(fields[at].name, fields[at].parts, name) {
            return true;
        }
        at += 1;
    }
    false
}

/// Returns the number of stored properties of a field.
pub const fn count_of_parts(field: &PropertyInfo) -> usize {
    if field.parts.is_empty() { 1 } else { field.parts.len() }
}

/// Returns the name of the first property of a field.
pub const fn part_name(name: &'static str, parts: Parts) -> PropertyName<'static> {
    PropertyName { outer: name, inner: if parts.is_empty() { "" } else { parts[0].name } }
}

/// Checks whether one of the parts is always there.
pub const fn is_always(parts: Parts) -> bool {
    let mut at = 0;
    while at < parts.len() {
        if parts[at].is_always {
            return true;
        }
        at += 1;
    }
    false
}

/// Returns the properties by which a row has a value: those that every row with the value has, and all of a long value. `parts`
/// are those of the type, `own`, with the names that they have in the entity.
pub fn decisive(parts: Parts, own: Parts) -> impl Iterator<Item = &'static PropertyInfo> {
    let is_long = matches!(own, [_, next, ..] if next.continues);
    parts.iter().zip(own).filter(move |(_, own)| own.is_always || is_long).map(|(part, _)| part)
}

/// Returns the two pieces with `between` in the middle, unless one is empty. The text is kept for the rest of the program,
/// as often as there are different names.
pub fn joined(outer: &'static str, between: char, inner: &'static str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if outer.is_empty() || inner.is_empty() {
        return if outer.is_empty() { inner } else { outer };
    }
    let text = format!("{outer}{between}{inner}");
    // A set stays whole if a thread panics.
    let mut texts = TEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = texts.get(&*text) {
        return known;
    }
    let text: &'static str = Box::leak(text.into_boxed_str());
    texts.insert(text);
    text
}
