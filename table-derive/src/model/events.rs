//! The events that writes of an entity record: `#[table(events)]`.

use proc_macro2::Span;

use super::index::{Base, Index};
use crate::text::Text;

/// The option `events`, and the rows of the events.
pub(crate) struct Events {
    pub(crate) span: Span,
    /// True if an event has the entity as it was written: `events(copy)`.
    pub(crate) copy: bool,
    /// The rows, which lead to the entity as those of an index do. No query reads them.
    pub(crate) rows: Index,
}

impl Events {
    pub(super) fn new(base: Base<'_>, span: Span, copy: bool) -> Self {
        let [name, prefix] = ["events", "~~event-"].map(|value| Text { value: value.to_owned(), span });
        Self { span, copy, rows: Index::of_prefix(base, &name, prefix) }
    }
}
