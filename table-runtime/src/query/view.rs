//! What a query gives out of the rows that it finds.

use crate::{Result, Stored, TableEntity, read::FoundRow};

/// What a query gives out: an entity, as [`Stored`], or what is made of its row, such as [`Copied`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "add `#[derive(TableEntity)]` to the struct"
)]
pub trait View: Sized + 'static {
    /// The entity whose rows are read; a group of entities itself.
    type Entity;
    /// What is given out of each.
    type Item: Send + 'static;

    /// Reads a row; `None` if it is no match: its entity does not have the value by which it was found.
    #[doc(hidden)]
    fn read(found: FoundRow<'_>) -> Result<Option<Self::Item>>;
}

impl FoundRow<'_> {
    /// Whether it is a match: of a row that no index led to, its keys have told so.
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
