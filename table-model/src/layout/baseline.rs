//! What is recorded of an entity, to be compared with a struct.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    default::defaults,
    info::{Layout, LayoutInfo},
    recorded::{fields_of_properties, recorded},
    whole::{RecordedWhole, leaves, recorded_wholes},
};

/// What is recorded of an entity: by the catalog, or in a file of `assert_layout!`.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The layouts by their names; `None` for one that is damaged, or that has something which this version of the crate
    /// does not know.
    pub layouts: Vec<(String, Option<LayoutInfo>)>,
    /// Fields that are stored as properties alone, and not in the primary key.
    pub fields: BTreeSet<String>,
    /// The types of the properties in rows of the program's version; `None` if no program with this version is recorded.
    pub types: Option<BTreeMap<String, String>>,
    /// Properties that rows of this version may lack.
    pub optional: BTreeSet<String>,
    /// `Option`s, variants and structs with a default in rows of this version, by their paths.
    pub wholes: BTreeMap<String, RecordedWhole>,
    /// Values as which rows without a property are read, by the index and the name of the property.
    pub defaults: BTreeMap<String, BTreeMap<String, String>>,
    /// Options of the lifecycle, such as `expires = At`.
    pub options: Vec<String>,
    /// Whether there is a property `WriteId`; `None` if that is not recorded.
    pub write_id: Option<bool>,
}

impl Baseline {
    /// Returns what a program with this entity records.
    pub fn of(program: &Layout) -> Self {
        let indexes = program.layouts.iter().skip(1);
        let leaves = leaves(program.fields);
        let types =
            leaves.iter().filter_map(|leaf| Some((leaf.property.name.to_owned(), leaf.property.edm?.to_string())));
        let optional = leaves.iter().filter(|leaf| !leaf.is_required());
        let layout = |layout: &LayoutInfo| (layout.name.to_string(), Some(recorded(program, layout)));
        Self {
            layouts: program.layouts.iter().map(layout).collect(),
            fields: fields_of_properties(program),
            types: Some(types.collect()),
            optional: optional.map(|leaf| leaf.property.name.to_owned()).collect(),
            wholes: recorded_wholes(program.fields),
            defaults: indexes.map(|index| (index.name.to_string(), defaults(program, index))).collect(),
            options: program.lifecycle.options().collect(),
            write_id: Some(program.write_id),
        }
    }
}
