//! Arguments of the verbs that write entities.

use table_model::TableEntity;
use table_store::Result;

use super::index::EntityWrite;
use crate::{
    client::{sealed::Sealed, stored::Stored},
    query::{OwnKey, Point, Primary},
};

/// An entity or a reference to one, which [`insert`](crate::Tables::insert), [`upsert`](crate::Tables::upsert) and
/// [`merge`](crate::Tables::merge) write, and of which [`insert_all`](crate::Tables::insert_all) and
/// [`upsert_all`](crate::Tables::upsert_all) write many.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not an entity",
    note = "what was read as `stored` is written back with `tables.update(&mut stored)`; the entity alone is `&*stored`, \
            also inside of an `Arc` or a `Box`, and of a `Vec`, `stored.into_iter().map(Stored::into_inner)`",
    note = "`insert`, `upsert` and `merge` write one entity; `tables.insert_all(&entities)` and \
            `tables.upsert_all(&entities)` write many of one type; `try_insert_all_from`, `try_upsert_all_from` and \
            `try_remove_all_from` take a stream of results, such as `futures_util::stream::iter(results)`",
    note = "a struct is an entity with `#[derive(TableEntity)]`, and its key is in its fields: `tables.insert(&post)`; a \
            type parameter is one with the bound `T: TableEntity`, and an entity with parameters with `where Event<T>: \
            TableEntity`; not with `AsEntity`",
    note = "a projection is only read, and `tables.patch(T::key(…), |post| [post.likes.set(1)])` writes some of the fields; \
            of a group, write the entity in it: of a `Report::Item(item)`, `tables.insert(&item)`"
)]
pub trait AsEntity<E: TableEntity> {
    /// Returns the entity.
    fn as_entity(&self) -> &E;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> AsEntity<E> for E {
    #[inline]
    fn as_entity(&self) -> &E {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> AsEntity<E> for &E {
    #[inline]
    fn as_entity(&self) -> &E {
        self
    }
}

/// An entity that [`update`](crate::Tables::update) writes back: [`Stored`].
#[diagnostic::on_unimplemented(
    message = "`update` takes an entity as a query returned it, a `&mut Stored`, and not `{Self}`",
    label = "not a `Stored` entity",
    note = "read it first: `let Some(mut stored) = T::key(…).get(&tables).await?`, then change it and write `update(&mut \
            stored)`; a type parameter needs the bound `T: TableEntity`",
    note = "`tables.upsert(&entity)` writes an entity whatever its row is now; `tables.modify(T::key(…), |entity| …)` \
            reads, changes and writes",
    note = "what is a `&mut Stored` already is given without another `&mut`: `for stored in &mut posts`, and in the loop \
            `tables.update(stored).await?`; of a group: `if let Report::Item(item) = &mut row`, and `update(item)`",
    note = "`insert` and `upsert` return an `ETag`, with which an entity becomes one: `Stored::new(entity, etag)`; a copy \
            in an index: `copied.fetch(&tables)` reads its entity"
)]
pub trait Updatable: Sealed {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn as_read_mut(&mut self) -> &mut Stored<Self::Entity>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Updatable for Stored<E> {
    type Entity = E;

    #[inline]
    fn as_read_mut(&mut self) -> &mut Stored<Self::Entity> {
        self
    }
}

/// An entity that [`delete`](crate::Tables::delete) deletes: [`Stored`], or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`delete` takes an entity as a query returned it, a `Stored` or a reference to one, and not `{Self}`",
    label = "not a `Stored` entity",
    note = "with its key, whatever its row is now: `remove(T::key(…))`, of `tables` and of a transaction",
    note = "inside of an `Option`: `if let Some(stored) = …`; inside of a `Box` or an `Arc`, it is `&*stored`",
    note = "many: `tables.remove_all(keys)`, or `query.delete_all(&tables)`"
)]
pub trait Deletable: Sealed {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn as_read(&self) -> &Stored<Self::Entity>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for Stored<E> {
    type Entity = E;

    #[inline]
    fn as_read(&self) -> &Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for &Stored<E> {
    type Entity = E;

    #[inline]
    fn as_read(&self) -> &Stored<E> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for &mut Stored<E> {
    type Entity = E;

    #[inline]
    fn as_read(&self) -> &Stored<E> {
        self
    }
}

/// The entity that [`modify_or_insert`](crate::Tables::modify_or_insert) or [`get_or_insert`](crate::Tables::get_or_insert) inserts
/// if there is none: a reference to it.
#[diagnostic::on_unimplemented(
    message = "`modify_or_insert` and `get_or_insert` take a reference to the entity that they insert if there is none, not `{Self}`",
    label = "not a reference to an entity",
    note = "its key says which entity it is: `tables.modify_or_insert(&first, |visits| visits.count += 1)`",
    note = "to change one that is there: `tables.modify(T::key(…), |entity| …)`"
)]
pub trait NewEntity {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn new_entity(&self) -> &Self::Entity;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> NewEntity for &E {
    type Entity = E;

    fn new_entity(&self) -> &E {
        self
    }
}

/// A key, or an entity as it was read, which [`Tables::remove_all`](crate::Tables::remove_all) and
/// [`Transaction::remove_all`](crate::Transaction::remove_all) accept: a [`Point`] of `T::key(…)`, a [`Stored`], or a reference to
/// one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither the key of an entity nor an entity as it was read",
    note = "write `T::key(…)`, with every field of the key, or give what a query returned",
    note = "a stream of a query has results: delete what it finds with `query.delete_all(&tables)`, or write \
            `tables.try_remove_all_from(stream)`"
)]
pub trait AsKey<E: TableEntity>: Sealed<E> {
    #[doc(hidden)]
    fn removal(&self) -> Removal;
}

/// The removal of one entity, for a bulk write or a transaction.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "no user has one")]
pub struct Removal(pub(super) Result<EntityWrite>);

impl<E: TableEntity> AsKey<E> for Point<E, Primary> {
    fn removal(&self) -> Removal {
        Removal(OwnKey::plan(self).row_keys().map(EntityWrite::remove))
    }
}

impl<E: TableEntity> AsKey<E> for Stored<E> {
    fn removal(&self) -> Removal {
        let (entity, state) = self.parts();
        Removal(EntityWrite::remove_read(entity, state))
    }
}

impl<E: TableEntity, K: AsKey<E>> AsKey<E> for &K {
    fn removal(&self) -> Removal {
        (**self).removal()
    }
}
