//! Layouts: the tables and keys of an entity's rows.

mod apart;
mod change;
mod collision;
mod const_str;
mod encoding;
mod group;
mod info;
mod lineage;
mod property_type;
mod recorded;
pub(crate) mod segments;
mod shape;
mod slice;
mod time_part;

pub(crate) use apart::told_apart;
pub(crate) use change::{Fields, recorded, written};
pub(crate) use collision::KeyPattern;
pub(crate) use encoding::{Encoding, lossy_layouts};
pub use group::{Collision, Member, Message, Misfit, member_misfit};
pub(crate) use info::ReadAbsent;
pub use info::{Absent, Example, Holds, IndexInfo, Layout, LayoutInfo, PartInfo, PropertyInfo, Scope, WhenInfo};
pub(crate) use lineage::{has_property, same_kind, same_primary_key, same_separator, same_table};
pub use property_type::PropertyType;
pub(crate) use property_type::{Reads, reads};
pub(crate) use recorded::EntityDescription;
pub use recorded::{LayoutState, RecordedIndex, RecordedKey, RecordedLayout, RecordedPart};
pub(crate) use shape::Shape;
pub(crate) use slice::is_table_of;
pub use slice::{Slice, SliceBy, SliceInfo, SliceUnit};
pub(crate) use time_part::TimePart;
