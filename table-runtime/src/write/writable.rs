//! Arguments of the verbs that write entities.

use crate::model::{
    entity::{Stored, TableEntity},
    sealed::Sealed,
};

/// An entity or a reference to one, which [`insert`](crate::Tables::insert), [`upsert`](crate::Tables::upsert) and
/// [`merge`](crate::Tables::merge) write, and of which [`insert_all`](crate::Tables::insert_all) and
/// [`upsert_all`](crate::Tables::upsert_all) write many.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not an entity",
    note = "a struct is an entity with `#[derive(TableEntity)]`; of a group, write each of its entities",
    note = "what was read as `stored` is written back with `tables.update(&mut stored)`; the entity alone is `&*stored`, and \
            in an iterator `.map(|stored| &**stored)`",
    note = "`insert`, `upsert` and `merge` write one entity; `tables.insert_all(&entities)` and `tables.upsert_all(&entities)` \
            write many",
    note = "results: `try_insert_all_from`, `try_upsert_all_from` and `try_remove_all_from` take a stream of them, such as \
            `futures_util::stream::iter(results)`"
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
            stored)`",
    note = "`tables.upsert(&entity)` writes an entity whatever its row is now; `tables.modify(T::key(…), |entity| …)` reads, \
            changes and writes",
    note = "a copy in an index: `copied.fetch(&tables)` reads its entity; in a group, a variant can be `Item(Stored<Item>)`"
)]
pub trait Updatable: Sealed {
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

/// An entity that [`delete`](crate::Tables::delete) deletes: [`Stored`], or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`delete` takes an entity as a query returned it, a `Stored` or a reference to one, and not `{Self}`",
    label = "not a `Stored` entity",
    note = "inside of an `Option`: `if let Some(stored) = …`; inside of a `Box` or an `Arc`, it is `&*stored`",
    note = "with its key, whatever its row is now: `tables.remove(T::key(…))`",
    note = "many: `tables.remove_all(keys)`, or `query.delete_all(&tables)`"
)]
pub trait Deletable: Sealed {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn to_delete(&self) -> &Stored<Self::Entity>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Deletable for Stored<E> {
    type Entity = E;

    #[inline]
    fn to_delete(&self) -> &Self {
        self
    }
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

/// The type that a closure returns which changes an entity: nothing.
#[diagnostic::on_unimplemented(
    message = "the closure of `modify` changes the entity and returns nothing",
    label = "the closure must return `()`",
    note = "it is not `async`, has no `.await` and cannot fail, because it may run several times: write \
            `tables.modify(T::key(…), |post| post.likes += 1)`, and end a block with a semicolon",
    note = "a change that may fail or waits: `let mut stored = T::key(…).get(&tables).await?`, then change it, and \
            `tables.update(&mut stored).await?`"
)]
pub trait ReturnsNothing {}

#[diagnostic::do_not_recommend]
impl ReturnsNothing for () {}

/// For a closure that only panics.
#[diagnostic::do_not_recommend]
impl ReturnsNothing for Never {}

/// The type `!`, which stable Rust names only as what a function returns.
type Never = <fn() -> ! as Returns>::Returned;

/// A function with what it returns.
pub trait Returns {
    /// The type that it returns.
    type Returned;
}

impl<T> Returns for fn() -> T {
    type Returned = T;
}
