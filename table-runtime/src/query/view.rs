//! Results that a query makes of the rows that it finds.

use crate::{Result, Stored, TableEntity, read::FoundRow};

/// A type that defines the results of a query: an entity, which is returned as [`Stored`], or a type that is made from
/// its row, such as [`Copied`](crate::Copied).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "add `#[derive(TableEntity)]` to the struct"
)]
pub trait View: Sized + 'static {
    /// Entity whose rows are read; for a group of entities, the group itself.
    type Entity;
    /// Result that the query returns for each row.
    type Item: Send + 'static;

    /// Reads a row; `None` if it is no match: its entity does not have the value by which it was found.
    #[doc(hidden)]
    fn read(found: FoundRow<'_>) -> Result<Option<Self::Item>>;
}

impl FoundRow<'_> {
    /// Checks whether the row is a match. A row that was not found through a pointer is one, because its keys match.
    pub(super) fn is_match<V: View>(self) -> Result<bool> {
        match self.pointer {
            Some(_) => V::read(self).map(|item| item.is_some()),
            None => Ok(true),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> View for E {
    type Entity = E;
    type Item = Stored<E>;

    fn read(found: FoundRow<'_>) -> Result<Option<Stored<E>>> {
        found.entity()
    }
}
