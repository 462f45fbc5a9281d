//! The model of a struct with `#[derive(TableEntity)]`: the attributes, resolved to fields, keys and indexes.
//!
//! The checks and the expansion read the model alone. No file of the model uses one that is listed above it:
//!
//! | file | content |
//! |---|---|
//! | `entity` | the struct |
//! | `layout` | the primary key or an index, as one table with two keys |
//! | `events` | `#[table(events)]` |
//! | `index` | `#[index(…)]` |
//! | `lifecycle` | `#[table(expires = …, soft_delete = …)]` |
//! | `slice` | `#[table(slice = …)]` |
//! | `field` | a field and its `#[property(…)]` |
//! | `functions` | the names of the generated functions |
//! | `nested` | structs and enums that are stored as several properties |
//! | `refused` | the types of fields that can be no property |
//! | `key` | `#[partition_key(…)]` and `#[row_key(…)]` |

mod entity;
mod events;
mod field;
mod functions;
mod index;
mod key;
mod layout;
mod lifecycle;
mod nested;
mod refused;
mod slice;

pub(crate) use entity::{Entity, Mode, Source};
pub(crate) use field::{Field, FieldPath, FieldRef, Property, Storage, Strategy, hash, is_option};
pub(crate) use index::{Content, Index, Scope, When};
pub(crate) use key::{Key, Part};
pub(crate) use layout::{Access, Layout};
pub(crate) use nested::{Content as NestedContent, Nested, Variant, VariantData, column_ident};
pub(crate) use slice::Slice;
