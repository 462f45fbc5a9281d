//! What the verbs that write one entity take.

use crate::{Stored, TableEntity};

/// An entity that [`insert`](crate::Tables::insert), [`upsert`](crate::Tables::upsert) and
/// [`merge`](crate::Tables::merge) write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "`insert`, `upsert` and `merge` write one entity",
    note = "a struct is an entity with `#[derive(TableEntity)]`; of a group, write each of its entities",
    note = "what was read as `stored` is written back with `tables.update(&mut stored)`; the entity alone is `&*stored`",
    note = "many entities: `tables.insert_all(&entities)` or `tables.upsert_all(&entities)`; `try_insert_all_from` takes \
            results"
)]
pub trait Writable {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn as_entity(&self) -> &Self::Entity;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Writable for E {
    type Entity = E;

    #[inline]
    fn as_entity(&self) -> &Self::Entity {
        self
    }
}

/// An entity that [`update`](crate::Tables::update) writes back: [`Stored`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity that was read, which `update` writes back",
    label = "not a `Stored` entity",
    note = "read it first: `let Some(mut stored) = T::key(…).get(&tables).await?`, then change it and write `update(&mut \
            stored)`",
    note = "`tables.upsert(&entity)` writes an entity whatever its row is now; `tables.modify(T::key(…), |entity| …)` reads, \
            changes and writes",
    note = "a copy in an index: `copied.fetch(&tables)` reads its entity; in a group, a variant can be `Item(Stored<Item>)`"
)]
pub trait Updatable {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn to_update(&mut self) -> &mut Stored<Self::Entity>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Updatable for Stored<E> {
    type Entity = E;

    #[inline]
    fn to_update(&mut self) -> &mut Stored<Self::Entity> {
        self
    }
}

/// An entity that [`delete`](crate::Tables::delete) deletes: `&Stored<E>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity that was read, which `delete` deletes",
    label = "not a reference to a `Stored` entity",
    note = "inside of a `Box` or an `Arc`, it is `&*stored`",
    note = "with its key, whatever its row is now: `tables.remove(T::key(…))`",
    note = "many: `tables.remove_all(keys)`, or `query.delete_all(&tables)`"
)]
pub trait Deletable {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn to_delete(&self) -> &Stored<Self::Entity>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for &Stored<E> {
    type Entity = E;

    #[inline]
    fn to_delete(&self) -> &Stored<E> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for &mut Stored<E> {
    type Entity = E;

    #[inline]
    fn to_delete(&self) -> &Stored<E> {
        self
    }
}
