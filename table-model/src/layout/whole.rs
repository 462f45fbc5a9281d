//! What a row without a property means: the rule that reading, filters, projections, updates, verifications and the catalog
//! share.
//!
//! A *whole* is a value of several properties that a row may lack: an `Option` of a struct or an enum, such a field with
//! `#[property(default)]`, and a variant. A row has a variant if the enum's tag names it. It has another whole if it has one
//! of the properties that every row with the value has. Of a whole that the row lacks, no property counts: an `Option` is
//! `None`, and a default takes the place of the properties. In a whole that the row has, each field decides what it is
//! without its property: nothing, a default, or an error.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use table_store::{
    Condition, Guid, Operator, Properties, PropertiesRef, PropertyType, Ticks, Value, ValueRef,
    unstable::{PropertyName, limits},
};

use super::{
    info::PropertyInfo,
    stored::{Parts, count_of_parts, decisive, part_name},
};

/// A field of an entity, or of a struct or a variant inside of one.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The field of the entity.
    root: &'static PropertyInfo,
    /// The properties of the field among those of the entity's field.
    parts: Parts,
    /// The field, with the names that it has in its struct.
    info: &'static PropertyInfo,
    /// The tag of the enum, if the field is a variant.
    tag: Option<PropertyName<'static>>,
}

impl Spot {
    /// Returns the place of a field of an entity.
    pub const fn root(field: &'static PropertyInfo) -> Self {
        Self { root: field, parts: field.parts, info: field, tag: None }
    }

    /// Returns the place of a field of this one, given the positions between which its properties are among those of this one.
    pub const fn inner(&self, info: &'static PropertyInfo, from: usize, to: usize) -> Self {
        let tag = if info.variant.is_some() { Some(part_name(self.root.name, self.parts)) } else { None };
        Self { root: self.root, parts: self.parts.split_at(to).0.split_at(from).1, info, tag }
    }

    /// Returns the only value of a variant that has one without a name.
    pub const fn only_value(&self) -> Option<Self> {
        match (self.info.variant, self.info.fields) {
            (Some(_), [value]) if value.name.is_empty() => Some(self.inner(value, 0, self.parts.len())),
            _ => None,
        }
    }

    /// Returns the fields of the struct, the enum or the variant that the field is. The first one of an enum is its tag.
    fn fields(self) -> impl Iterator<Item = Self> {
        let mut from = 0;
        self.info.fields.iter().map(move |info| {
            let to = from + count_of_parts(info);
            let inner = self.inner(info, from, to);
            from = to;
            inner
        })
    }

    /// Returns the names of the field's properties.
    fn names(self) -> impl Iterator<Item = PropertyName<'static>> {
        let single = self.parts.is_empty().then(|| self.root.name.into());
        let name = move |part: &'static PropertyInfo| PropertyName { outer: self.root.name, inner: part.name };
        single.into_iter().chain(self.parts.iter().map(name))
    }

    /// Checks whether the field is a whole.
    pub const fn is_whole(&self) -> bool {
        self.info.is_optional && !self.info.fields.is_empty()
    }

    /// Checks whether the field is an enum with data. Its tag is its first property.
    fn is_enum(self) -> bool {
        self.info.fields.iter().any(|field| field.variant.is_some())
    }

    /// Checks whether the field is a whole with a default.
    const fn has_default(&self) -> bool {
        self.is_whole() && self.info.is_default
    }

    /// Checks whether a row that has what is around the field has the field's value.
    fn is_in(self, row: PropertiesRef<'_>) -> bool {
        match (self.info.variant, self.tag) {
            _ if !self.is_whole() => true,
            (Some(variant), Some(tag)) => row.get_named(tag) == Some(ValueRef::String(variant)),
            _ => self.always().any(|name| row.get_named(name).is_some()),
        }
    }

    /// Returns the properties that every row with the value has.
    fn always(self) -> impl Iterator<Item = PropertyName<'static>> {
        decisive(self.parts, self.info.parts).map(move |part| PropertyName { outer: self.root.name, inner: part.name })
    }

    /// Returns the properties that take the place of those of a row without the whole.
    fn default(self) -> Properties {
        let (read, mut properties) = (self.info.as_read.absent().unwrap_or_default(), Properties::default());
        for (name, part) in self.names().zip(self.info.parts) {
            if let Some(value) = read.get(part.name) {
                properties.push_named(name, value);
            }
        }
        properties
    }
}

/// The struct, the enum or the variant in which a field is.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// The struct, the enum or the variant around it, if there is one.
    pub outer: Option<&'static Self>,
    /// The field that it is.
    pub spot: Spot,
}

/// Descriptions are compared by what is stored.
impl PartialEq for Within {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Within {}

/// Where the properties of a field are.
pub enum Seen<'r> {
    /// In the row.
    InRow(PropertiesRef<'r>),
    /// In the default of what is around the field.
    OfDefault(Properties),
}

impl Seen<'_> {
    fn as_ref(&self) -> PropertiesRef<'_> {
        match self {
            Self::InRow(row) => *row,
            Self::OfDefault(properties) => properties.as_ref(),
        }
    }
}

impl Within {
    /// Returns where a row has the properties of the fields; `None` if it lacks an `Option` or a variant around them.
    pub fn seen<'r>(&self, row: PropertiesRef<'r>) -> Option<Seen<'r>> {
        let seen = self.outer.map_or(Some(Seen::InRow(row)), |outer| outer.seen(row))?;
        if self.spot.is_in(seen.as_ref()) {
            return Some(seen);
        }
        self.spot.has_default().then(|| Seen::OfDefault(self.spot.default()))
    }

    /// Checks whether a default may take the place of the row's properties.
    pub const fn has_default(&self) -> bool {
        self.spot.has_default()
            || match self.outer {
                Some(outer) => outer.has_default(),
                None => false,
            }
    }

    /// Returns what is around the field, the innermost first.
    fn around(&self) -> impl Iterator<Item = Spot> {
        std::iter::successors(Some(self), |within| within.outer).map(|within| within.spot).filter(Spot::is_whole)
    }

    /// Returns the properties by which a row has what is around the fields.
    pub fn decisive(&self) -> impl Iterator<Item = PropertyName<'static>> {
        self.around().flat_map(|whole| {
            let always = whole.always().filter(move |_| whole.tag.is_none());
            whole.tag.into_iter().chain(always)
        })
    }

    /// Returns the conditions that a row has what is around a property. A row that has the property itself may show it.
    pub fn conditions(&self, property: &str) -> Vec<Condition> {
        let (mut conditions, mut compared) = (Vec::new(), vec![property.to_owned()]);
        for whole in self.around() {
            if let Some((tag, variant)) = whole.tag.zip(whole.info.variant) {
                let (property, value) = (tag.to_string(), Value::String(variant.to_owned()));
                compared.push(property.clone());
                conditions.push(Condition::Compare { property: property.into(), operator: Operator::Eq, value });
            } else if !whole.always().any(|name| compared.contains(&name.to_string())) {
                let always = whole.names().zip(whole.info.parts).filter(|(_, part)| part.is_always);
                let exists = always.map(|(name, part)| (name, exists(name, part.edm)));
                let cost = |name: &PropertyName<'_>, exists: &Condition| {
                    (limits::is_filter_word(&name.to_string()), exists.comparisons())
                };
                let Some((name, exists)) = exists.min_by_key(|(name, exists)| cost(name, exists)) else { continue };
                compared.push(name.to_string());
                conditions.push(exists);
            }
        }
        conditions
    }
}

/// Returns the condition that a row has a property of a type. OData has no operator for it.
fn exists(name: PropertyName<'_>, ty: Option<PropertyType>) -> Condition {
    let compare = |operator, value| Condition::Compare { property: name.to_string().into(), operator, value };
    let (value, is_least) = match ty {
        // The literals of the least integers are not accepted everywhere.
        Some(PropertyType::Int32 { min, .. }) if min > i32::MIN => (Value::Int32(min), true),
        Some(PropertyType::Int64 { min, .. }) if min > i64::MIN => (Value::Int64(min), true),
        Some(ty) => match ty.edm() {
            "Edm.Int32" => (Value::Int32(0), false),
            "Edm.Int64" => (Value::Int64(0), false),
            "Edm.Double" => (Value::Double(0.0), false),
            "Edm.Boolean" => (Value::Boolean(false), false),
            "Edm.Guid" => (Value::Guid(Guid::default()), false),
            "Edm.DateTime" => (Value::DateTime(Ticks::UNIX_EPOCH), false),
            "Edm.Binary" => (Value::Binary(Vec::new()), false),
            _ => (Value::String(String::new()), true),
        },
        None => (Value::String(String::new()), true),
    };
    if is_least {
        return compare(Operator::Ge, value);
    }
    Condition::Or(compare(Operator::Eq, value.clone()).into(), compare(Operator::Ne, value).into())
}

/// A property of an entity, and the wholes around it.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The property, with its whole name and path.
    pub property: PropertyInfo,
    /// The wholes, the outermost first.
    pub wholes: Vec<Whole>,
}

/// A whole of an entity.
#[derive(Clone, Debug)]
pub struct Whole {
    pub path: String,
    spot: Spot,
}

impl Leaf {
    /// Checks whether a row cannot be read without the property: every row must have it.
    pub fn is_required(&self) -> bool {
        self.wholes.is_empty() && self.property.as_read.is_refused()
    }

    /// Checks whether a row has all wholes around the property.
    pub fn is_around(&self, row: PropertiesRef<'_>) -> bool {
        self.wholes.iter().all(|whole| whole.spot.is_in(row))
    }

    /// Returns the innermost whole, if a row that has it cannot be read without the property.
    pub fn required_in(&self) -> Option<&Whole> {
        self.wholes.last().filter(|_| self.property.as_read.is_refused())
    }

    /// Returns all values as which rows without the property are read: that of the field itself, in a row that has the wholes,
    /// and those of defaults of wholes that a row may lack. A value that is none is left out.
    pub fn absences(&self) -> Vec<Absence<'_>> {
        let own = self.property.as_read.absent().map(|read| Absence { whole: None, value: value_of(&read, "") });
        let defaults = self.wholes.iter().filter(|whole| whole.spot.has_default());
        let defaults = defaults
            .map(|whole| Absence { whole: Some(whole), value: value_of(&whole.spot.default(), self.property.name) });
        own.into_iter().chain(defaults).collect()
    }
}

/// The value as which a row without a property is read.
pub struct Absence<'a> {
    /// The whole that the row lacks; `None` if the row has all that are around the property.
    pub whole: Option<&'a Whole>,
    /// `None` if it is read as nothing.
    pub value: Option<Value>,
}

fn value_of(properties: &Properties, name: &str) -> Option<Value> {
    properties.get(name).map(ValueRef::to_value)
}

impl Whole {
    /// Returns what is recorded of it.
    pub fn recorded(&self) -> RecordedWhole {
        RecordedWhole::of(self.spot)
    }
}

/// What the catalog records of a whole, and of a struct that every row has, which another program may have as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedWhole {
    /// The tag and the name of a variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<(String, String)>,
    /// True if every row that has what is around the struct has it, whichever program wrote the row.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
    /// The properties that every row with the value has, whichever program wrote it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub always: BTreeSet<String>,
    /// Its other properties.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub others: BTreeSet<String>,
}

impl RecordedWhole {
    fn of(spot: Spot) -> Self {
        let always: BTreeSet<_> = spot.always().map(|name| name.to_string()).collect();
        let others = spot.names().map(|name| name.to_string()).filter(|name| !always.contains(name)).collect();
        let variant = spot.tag.zip(spot.info.variant);
        let variant = variant.map(|(tag, variant)| (tag.to_string(), variant.to_owned()));
        Self { variant, everywhere: !spot.is_whole(), always, others }
    }

    /// Returns the properties that programs store of it.
    pub fn properties(&self) -> impl Iterator<Item = &String> {
        self.always.iter().chain(&self.others)
    }

    /// Checks whether a row has the whole.
    pub fn is_in(&self, row: PropertiesRef<'_>) -> bool {
        if self.everywhere {
            return true;
        }
        match &self.variant {
            Some((tag, variant)) => row.get(tag) == Some(ValueRef::String(variant)),
            None => self.always.iter().any(|name| row.get(name).is_some()),
        }
    }

    /// Returns which of the records is that of this whole, at this path. In another program, the field may have another name.
    pub fn find<'r>(&self, path: &str, recorded: &'r BTreeMap<String, Self>) -> Vec<&'r Self> {
        if let Some(was) = recorded.get(path) {
            return vec![was];
        }
        let same: Vec<_> = recorded.iter().filter(|(_, was)| self.is_same(was)).collect();
        let is_inside = |path: &str| {
            same.iter().any(|(other, _)| path.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('.')))
        };
        same.iter().filter(|(path, _)| !is_inside(path)).map(|(_, was)| *was).collect()
    }

    /// Checks whether both are the same `Option` or variant, although the fields may have other names.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.variant, &other.variant) {
            (None, None) => !self.always.is_disjoint(&other.always),
            (own, other) => own == other,
        }
    }

    /// Adds what another program stores of it.
    pub fn join(&mut self, other: &Self) {
        let all: BTreeSet<_> = self.properties().chain(other.properties()).cloned().collect();
        self.everywhere &= other.everywhere;
        self.always.retain(|name| other.always.contains(name));
        self.others = all.into_iter().filter(|name| !self.always.contains(name)).collect();
    }
}

/// An `Option` of a struct or an enum, an enum with data, or a struct or an enum with a default: an update may change which
/// properties it has.
#[derive(Clone, Debug)]
pub struct WholeSwitch {
    spot: Spot,
    /// What is around it.
    wholes: Vec<Whole>,
}

impl WholeSwitch {
    /// Returns the name of the variant that a row has, or an empty text for another value; `None` if it has none.
    pub fn position(&self, row: PropertiesRef<'_>) -> Option<String> {
        if !self.wholes.iter().all(|whole| whole.spot.is_in(row)) {
            return None;
        }
        match self.tag() {
            Some(tag) => Some(row.get_named(tag)?.to_text()),
            None => self.spot.is_in(row).then(String::new),
        }
    }

    fn tag(&self) -> Option<PropertyName<'static>> {
        self.spot.is_enum().then(|| part_name(self.spot.root.name, self.spot.parts))
    }

    /// Returns the names of all properties that the struct stores of it.
    pub fn properties(&self) -> impl Iterator<Item = String> {
        self.spot.names().map(|name| name.to_string())
    }

    /// Checks whether it is recorded as this whole, or whether that is one of its variants. A whole with other properties that
    /// the struct knows is around it.
    pub fn is_of(&self, recorded: &RecordedWhole, is_known: impl Fn(&str) -> bool) -> bool {
        if let Some((tag, _)) = &recorded.variant {
            return self.tag().is_some_and(|own| own.to_string() == *tag);
        }
        let own: BTreeSet<_> = self.properties().collect();
        let is_same = self.spot.always().any(|name| recorded.always.contains(&name.to_string()));
        is_same && recorded.properties().all(|name| own.contains(name) || !is_known(name))
    }
}

/// Returns what in fields an update may change so that it has other properties.
pub fn switches(fields: &'static [PropertyInfo]) -> Vec<WholeSwitch> {
    let is_switch = |spot: Spot| spot.is_whole() && spot.tag.is_none() || spot.is_enum();
    let places = places(fields).into_iter().filter(|place| is_switch(place.spot));
    places.map(|Placed { spot, wholes, .. }| WholeSwitch { spot, wholes }).collect()
}

/// Returns the names of the properties that count nowhere in a row: those of the wholes that it lacks.
pub fn left_over(fields: &'static [PropertyInfo], row: PropertiesRef<'_>) -> BTreeSet<String> {
    let lacking = places(fields).into_iter().map(|place| place.spot).filter(|spot| !spot.is_in(row));
    lacking.flat_map(Spot::names).map(|name| name.to_string()).collect()
}

/// Returns the name under which the default of a property is recorded. A default of the field itself, in rows that have what is
/// around it, has the property's name. That of a whole has the path of the whole too.
pub fn absence_name(property: &str, whole: Option<&str>) -> String {
    whole.map_or_else(|| property.to_owned(), |path| format!("{property} of {path}"))
}

/// Returns what is recorded of the wholes and the structs of fields, by their paths. Of an enum that every row has, its variants
/// are recorded.
pub fn recorded_wholes(fields: &'static [PropertyInfo]) -> BTreeMap<String, RecordedWhole> {
    let is_recorded = |spot: Spot| spot.is_whole() || !spot.info.fields.is_empty() && !spot.is_enum();
    let places = places(fields).into_iter().filter(|place| is_recorded(place.spot));
    places.map(|place| (place.path, RecordedWhole::of(place.spot))).collect()
}

/// Returns the stored properties of fields, in order, without those in which a value continues.
pub fn leaves(fields: &'static [PropertyInfo]) -> Vec<Leaf> {
    let is_leaf = |place: &Placed| place.spot.info.fields.is_empty();
    let leaf = |Placed { spot, wholes, .. }| {
        let property = spot.parts.first().map_or(*spot.root, |part| spot.root.with_part(part));
        // The first part of a long value is not all of it.
        Leaf { property: PropertyInfo { as_read: spot.info.as_read, ..property }, wholes }
    };
    places(fields).into_iter().filter(is_leaf).map(leaf).collect()
}

/// A field with what is around it.
struct Placed {
    spot: Spot,
    path: String,
    wholes: Vec<Whole>,
}

/// Returns all fields, also those inside of others, in order.
fn places(fields: &'static [PropertyInfo]) -> Vec<Placed> {
    fn add(spot: Spot, path: &str, around: &[Whole], places: &mut Vec<Placed>) {
        let mut wholes = around.to_vec();
        places.push(Placed { spot, path: path.to_owned(), wholes: around.to_vec() });
        if spot.is_whole() {
            wholes.push(Whole { path: path.to_owned(), spot });
        }
        for field in spot.fields() {
            // The only value of a variant has no name.
            let name = if field.info.field.is_empty() { "0" } else { field.info.field };
            add(field, &format!("{path}.{name}"), &wholes, places);
        }
    }

    let mut places = Vec::new();
    for field in fields {
        add(Spot::root(field), field.field, &[], &mut places);
    }
    places
}
