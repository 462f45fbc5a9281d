//! Engine of queries, independent of entity types: which rows a query reads, and in which order.

pub(crate) mod cursor;
mod found;
pub(crate) mod list;
mod lookups;
mod merge;
mod page;
mod plan;
mod point;
mod ready;
mod selection;
pub(crate) mod several;
mod slices;
mod source;
mod stages;
mod visible;

pub use found::FoundRow;
pub(crate) use page::OnePage;
pub(crate) use plan::{Plan, Reached};
pub(crate) use point::find;
pub(crate) use selection::{SelectedProperties, values, wants_keys};
pub(crate) use slices::{Slices, existing_slices};
pub(crate) use source::{OnRow, Source};
pub(crate) use visible::Visible;
