//! The form of a struct of `table-runtime` as rows: its fields are written as keys and properties and read from them, and its
//! layouts are described, compared and checked. No store and no request is known here.
//!
//! Programs use the crate `table-runtime`, which exports what is public here under its own name.

#![allow(unreachable_pub, reason = "items of private folders are `pub`: what is exported is in this file")]

mod codec;
mod column;
pub mod cost;
mod entity;
mod event;
mod foreign;
#[doc(hidden)]
pub mod hints;
mod indexable;
pub mod key;
mod layout;
mod lifecycle;
mod message;
pub mod property;
mod sealed;
mod valid;

pub use column::{
    Certain, Column, EachOf, Filter, Filterable, Free, HasEquality, HasOrder, InKey, InTuple, Indexed, IntoFilter,
    Nameable, Set, Sets, Settable, Unfiltered,
};
pub use entity::{AllowScan, EntitySet, FromOlder, Shared, TableEntity};
pub use event::{EventChange, HasEvents};
pub use indexable::{Each, Indexable};
pub use key::KeyPart;
pub use layout::{
    EventContent, Holds, IndexInfo, Layout, LayoutInfo, Lifecycle, PartInfo, PropertyInfo, Scope, Slice, SliceInfo,
    SliceUnit, StoredField, WhenField, WhenInfo,
};
pub use lifecycle::{HasBin, SoftDelete, Sweepable};
pub use property::Property;

/// Items that `table-runtime` and the generated code use, and users do not. They may change in every release.
#[doc(hidden)]
pub mod unstable {
    pub use crate::{
        functions, hints, names,
        sealed::SealedSink,
        valid::{Valid, exists},
    };

    pub mod codec {
        pub use crate::codec::{
            ElementKeys, EntityReader, OwnerReader, PropertyWriter, check_lossy_parts, index_value, is_unreadable,
            misfit, point, seek, unwritable,
        };
    }

    pub mod column {
        pub use crate::column::{
            FilterProblem, IndexedPart, assignment, condition, key_column, load, part_column, property_column, within,
        };
    }

    pub mod entity {
        pub use crate::entity::{
            Carried, EVENT_AT, EntityInfo, KIND, LoadedRow, LoadedRows, PENDING, ReadEntity, StoredRow, Unknown,
            VERSION, VisitEntities, WRITE_ID, WriteEntity, attempt, check_keys, check_older, check_unread,
            check_version, element_keys, event_pointer, index_properties, is_kind, is_known, is_own, is_pending, keys,
            keys_in, loaded_rows, newer_version, owner_part, properties, read_older, version_value,
        };
    }

    pub mod event {
        pub use crate::event::{
            ATTEMPTS, BUCKETS, CHANGE, Delivery, EVENT_KIND, EventKey, EventPlace, MARKS, check_mark, is_copied,
            is_event, is_stored_event, last_event, may_be_key,
        };
    }

    pub mod key {
        pub use crate::key::{
            encoding::escape,
            hash::bucket,
            reader::{KeyReader, RowContext},
            text::is_decided_by,
            time::tick_of,
            writer::{KeyWriter, check_length, write_part},
        };
    }

    pub mod layout {
        pub use crate::layout::{
            Aspect, Baseline, ComparedFields, Encoding, KeyPattern, LayoutChange, LayoutExt, Leaf, Member, PartType,
            ReadLayout, RecordedWhole, RowShape, Seen, SliceBy, TimePart, TypeEffect, Within, absence_name,
            changed_aspects, check_member, defaults, diff, fields_of_properties, has_property, includes,
            is_always_there, is_in_key, is_lossy, is_table_of, joined, leaves, lossy_layouts, part_name, recorded,
            recorded_wholes, segments, slice, stored, table, told_apart, with_properties,
        };
    }

    pub mod lifecycle {
        pub use crate::lifecycle::{SetTime, Standing, Sweepings, check_times, is_optional_time, is_time};
    }

    pub mod property {
        pub use crate::property::{
            problem::{misfit, name_from_value},
            skipped,
        };
    }
}
