//! The times that hide an entity from readers.

use table_store::PropertyType;

use super::{
    const_str::same,
    info::{Layout, PropertyInfo},
};

/// The properties with the times that hide an entity, of a struct or from the catalog:
/// `#[table(expires = …, soft_delete = …)]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lifecycle<'a> {
    /// The property with the time from which on the entity is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<&'a str>,
    /// The property with the time at which the entity was put into the bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_delete: Option<&'a str>,
}

impl<'a> Lifecycle<'a> {
    /// The lifecycle of an entity that is visible until it is deleted.
    pub const NONE: Self = Self { expires: None, soft_delete: None };

    /// Checks whether no time hides the entity.
    pub const fn is_none(&self) -> bool {
        self.expires.is_none() && self.soft_delete.is_none()
    }

    /// Returns each option as a text, such as `expires = At`. No index has such a name.
    pub fn options(self) -> impl Iterator<Item = String> + use<'a> {
        let option = |(name, property): (&str, Option<&str>)| Some(format!("{name} = {}", property?));
        [("expires", self.expires), ("soft_delete", self.soft_delete)].into_iter().filter_map(option)
    }

    /// Returns the properties.
    pub fn properties(self) -> impl Iterator<Item = &'a str> {
        self.expires.into_iter().chain(self.soft_delete)
    }
}

/// Checks whether the property is one time.
pub const fn is_time(layout: &Layout, name: &str) -> bool {
    match property(layout.fields, name) {
        Some(PropertyInfo { edm: Some(edm), .. }) => matches!(edm, PropertyType::DateTime),
        _ => false,
    }
}

/// Checks whether the property is one time, which a row may be without.
pub const fn is_optional_time(layout: &Layout, name: &str) -> bool {
    is_time(layout, name) && !is_always_there(layout, name)
}

/// Checks whether every row has the property.
pub const fn is_always_there(layout: &Layout, name: &str) -> bool {
    matches!(property(layout.fields, name), Some(property) if property.is_always)
}

const fn property(fields: &'static [PropertyInfo], name: &str) -> Option<&'static PropertyInfo> {
    let mut at = 0;
    while at < fields.len() {
        if fields[at].parts.is_empty() && same(fields[at].name, name) {
            return Some(&fields[at]);
        }
        at += 1;
    }
    None
}
