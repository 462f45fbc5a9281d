//! Results that a query makes of the rows that it finds.

use table_model::TableEntity;
use table_store::Result;

use crate::{client::stored::Stored, read::FoundRow};

/// A type that defines the results of a query: an entity, which is returned as [`Stored`], or a type that is made from
/// its row, such as [`Copied`](crate::Copied) or a [`Projection`](crate::Projection).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "add `#[derive(TableEntity)]` to the struct"
)]
pub trait View: Sized {
    /// Entity whose rows are read; for a group of entities, the group itself.
    type Entity;
    /// Result for one row, which may borrow from the row: [`Rows::for_each`](crate::Rows::for_each) passes it to its
    /// closure.
    type Row<'r>;
    /// Result that a query returns for each row: the type of [`Row`](Self::Row), without a lifetime. A projection with a
    /// lifetime has no such result.
    type Item: Send + 'static;

    /// Reads a row, and calls `give` with the result. Returns false without a call if the row is no match: its insert is
    /// not committed, or its entity does not have the value by which it was found.
    #[doc(hidden)]
    fn read<F: FnOnce(Self::Row<'_>)>(found: &FoundRow<'_>, give: F) -> Result<bool>;
}

/// A [`View`] whose results own their data, so that a query can return them. Every view is one, except a projection with
/// a lifetime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` borrows from the rows that a query reads, so the query cannot return it",
    label = "borrows from rows",
    note = "run the query with `for_each(&tables, |row| …)`, whose closure is called with each row while it is there",
    note = "or write a projection that owns its fields: `String` instead of `&str`, and no lifetime",
    note = "a function of any projection has the bound `P: Projection<Post, Item = P> + table_runtime::types::OwnedView`"
)]
pub trait OwnedView: View + 'static {
    #[doc(hidden)]
    fn own(row: Self::Row<'_>) -> Self::Item;
}

/// The result of a view that borrows from the rows: a query cannot return one.
#[derive(Debug)]
pub enum BorrowsFromRows {}

/// Checks whether a found row is a match. A row that was not found through a pointer is one if it is committed, because
/// its keys match; of several rows of one entity, only one is.
pub(super) fn is_match<V: View>(found: &FoundRow<'_>) -> Result<bool> {
    if found.pointer.is_some() || found.once.is_some() { V::read(found, |_| ()) } else { found.is_committed() }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> View for E {
    type Entity = E;
    type Row<'r> = Stored<E>;
    type Item = Stored<E>;

    #[inline]
    fn read<F: FnOnce(Stored<E>)>(found: &FoundRow<'_>, give: F) -> Result<bool> {
        found.entity(give)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> OwnedView for E {
    #[inline]
    fn own(row: Stored<E>) -> Stored<E> {
        row
    }
}
