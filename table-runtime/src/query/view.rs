//! Results that a query makes of the rows that it finds.

use std::marker::PhantomData;

use table_model::TableEntity;
use table_store::Result;

use super::Copied;
use crate::{
    client::{sealed::Sealed, stored::Stored},
    read::FoundRow,
};

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

/// That there is a row, of an entity or of an index.
pub struct RowAlone<E>(PhantomData<E>);

#[diagnostic::do_not_recommend]
impl<E: TableEntity> View for RowAlone<E> {
    type Entity = E;
    type Row<'r> = ();
    type Item = ();

    fn read<F: FnOnce(())>(found: &FoundRow<'_>, give: F) -> Result<bool> {
        let is_match = if found.layout > 0 { found.is_first_of_elements::<E>()? } else { found.is_committed()? };
        if is_match {
            give(());
        }
        Ok(is_match)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> OwnedView for RowAlone<E> {
    fn own((): ()) {}
}

/// What [`Rows::plain`](crate::Rows::plain) reads: entities without their versions.
pub struct WithoutETag<V>(PhantomData<V>);

/// A result that is an entity and something about its row: [`Stored`] or [`Copied`].
#[diagnostic::on_unimplemented(
    message = "`plain` is for queries of entities: `{Self}` is none with a version",
    label = "a projection has no version, and a group has what its variants hold",
    note = "remove `plain`; a variant of a group that holds the entity itself, and not a `Stored`, is without a version"
)]
pub trait HasEntity: Sealed {
    /// The entity.
    type Entity: Send + 'static;
    /// The view of the entity without its version.
    type Plain: View;

    #[doc(hidden)]
    fn into_entity(self) -> Self::Entity;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> HasEntity for Stored<E> {
    type Entity = E;
    type Plain = WithoutETag<E>;

    fn into_entity(self) -> E {
        Self::into_inner(self)
    }
}

impl<E> Sealed for Copied<E> {}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> HasEntity for Copied<E> {
    type Entity = E;
    type Plain = WithoutETag<Self>;

    fn into_entity(self) -> E {
        Self::into_inner(self)
    }
}

#[diagnostic::do_not_recommend]
impl<V: OwnedView<Item: HasEntity>> View for WithoutETag<V> {
    type Entity = V::Entity;
    type Row<'r> = Self::Item;
    type Item = <V::Item as HasEntity>::Entity;

    fn read<F: FnOnce(Self::Item)>(found: &FoundRow<'_>, give: F) -> Result<bool> {
        V::read(found, |row| give(V::own(row).into_entity()))
    }
}

#[diagnostic::do_not_recommend]
impl<V: OwnedView<Item: HasEntity>> OwnedView for WithoutETag<V> {
    fn own(row: Self::Item) -> Self::Item {
        row
    }
}
