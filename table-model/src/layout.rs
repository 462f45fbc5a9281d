//! Layouts: the tables and keys of an entity's rows.

mod apart;
mod baseline;
mod change;
mod collision;
mod const_str;
mod default;
mod encoding;
mod ext;
mod group;
mod info;
mod lifecycle;
mod recorded;
mod required;
mod same;
pub mod segments;
mod shape;
pub mod slice;
mod stored;
mod time_part;
mod whole;

pub use apart::told_apart;
pub use baseline::Baseline;
pub use change::{Aspect, ComparedFields, LayoutChange, TypeEffect, changed_aspects, diff};
pub use collision::KeyPattern;
pub use const_str::{items, same_names, text};
pub use default::defaults;
pub use encoding::{Encoding, is_lossy, lossy_layouts};
pub use ext::{LayoutExt, includes, of_row};
pub use group::{Member, check_member};
pub use info::{
    AsRead, EventContent, Example, Holds, IndexInfo, Layout, LayoutInfo, PartInfo, PartType, PropertyInfo, Scope,
    StoredField, TypeName, WhenField, WhenInfo, table,
};
pub use lifecycle::{Lifecycle, is_always_there, is_optional_time, is_time};
pub use recorded::{ReadLayout, fields_of_properties, is_in_key, recorded, with_properties};
pub use same::{same_kind, same_primary_key, same_table};
pub use shape::RowShape;
pub use slice::{Slice, SliceBy, SliceInfo, SliceUnit, is_table_of};
pub use stored::{Parts, count_of_parts, decisive, field_at, has_property, is_always, joined, part_name, stored};
pub use table_store::PropertyType;
pub use time_part::TimePart;
pub use whole::{
    Leaf, RecordedWhole, Seen, Spot, WholeSwitch, Within, absence_name, leaves, left_over, recorded_wholes, switches,
};
