//! The bin: entities that readers do not see, and that can be restored.

use table_model::{
    SoftDelete, TableEntity,
    unstable::{codec, entity},
};
use table_store::{Error, Result, Value, ValueRef, backend::BoxFuture, error::PropertyProblem};

use super::modify::modify_present;
use crate::{
    client::{pacing, stored::Stored, tables::Tables},
    query::{OwnKey, Point, Primary},
    read::{Bin, Plan},
    write::index::Schema,
};

/// An entity that [`soft_delete`](Tables::soft_delete) puts into the bin: its key, or `&mut stored`.
#[diagnostic::on_unimplemented(
    message = "`soft_delete` takes the full key of an entity, or `&mut` of one that was read",
    label = "neither a full key nor `&mut Stored`",
    note = "write `T::key(…)`, with every field of the key, or `&mut stored`"
)]
pub trait ToBin: Sized {
    /// The entity's type.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn put(self, tables: &Tables) -> impl Future<Output = Result<bool>> + Send
    where
        Self::Entity: SoftDelete;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> ToBin for Point<E, Primary> {
    type Entity = E;

    async fn put(self, tables: &Tables) -> Result<bool>
    where
        E: SoftDelete,
    {
        Ok(move_to::<E>(tables, OwnKey::plan(&self), Bin::Hidden, true).await?.is_some())
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> ToBin for &mut Stored<E> {
    type Entity = E;

    async fn put(self, tables: &Tables) -> Result<bool>
    where
        E: SoftDelete,
    {
        let now = ValueRef::DateTime(tables.backend().now());
        let before = self.set_deleted(Some(now)).map_err(|problem| unwritable::<E>(self, problem))?;
        let updated = tables.update(self).await;
        if updated.is_err() {
            // The caller has not set the field, so it does not change without the row.
            let before = before.as_ref().map(Value::as_ref);
            self.set_deleted(before).map_err(|problem| unwritable::<E>(self, problem))?;
        }
        updated.map(|_| true)
    }
}

impl Tables {
    /// Puts an entity into its bin: sets the field that `#[table(soft_delete = field)]` names to the time of the store's
    /// clock. From then on no read finds the entity, except through
    /// [`with_deleted`](crate::Rows::with_deleted) and [`only_deleted`](crate::Rows::only_deleted). Its key and its unique
    /// values stay taken, so that [`restore`](Self::restore) cannot fail on them. Returns true if a visible entity had the
    /// key.
    ///
    /// With `&mut stored`, the row must not have changed since it was read, and the result is always true. The field of
    /// `stored` is set too, unless the call fails.
    ///
    /// Takes the requests of [`modify`](Self::modify); with `&mut stored`, those of [`update`](Self::update).
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// #[table(soft_delete = deleted)]
    /// struct Note {
    ///     #[partition_key]
    ///     user: String,
    ///     #[row_key]
    ///     id: u32,
    ///     deleted: Option<SystemTime>,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Note>().await?;
    /// tables.insert(&Note { user: "ada".into(), id: 1, deleted: None }).await?;
    ///
    /// assert!(tables.soft_delete(Note::key("ada", 1)).await?);
    /// assert!(Note::key("ada", 1).get(&tables).await?.is_none());
    /// assert!(!tables.soft_delete(Note::key("ada", 1)).await?, "it is in the bin already");
    ///
    /// let restored = tables.restore(Note::key("ada", 1)).await?;
    /// assert_eq!(restored.expect("it was in the bin").deleted, None);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`modify`](Self::modify); with `&mut stored`, those of [`update`](Self::update).
    pub fn soft_delete<'a, K>(&'a self, entity: K) -> BoxFuture<'a, Result<bool>>
    where
        K: ToBin<Entity: SoftDelete> + Send + 'a,
    {
        Box::pin(self.observed(Schema::of::<K::Entity>(), "soft_delete", entity.put(self)))
    }

    /// Takes an entity out of the bin: clears the field that `#[table(soft_delete = field)]` names. Returns the entity as it
    /// was stored; `None` if no entity in the bin has the key. An entity that has expired is not restored.
    ///
    /// Takes the requests of [`modify`](Self::modify). See [`soft_delete`](Self::soft_delete) for an example.
    ///
    /// # Errors
    /// Returns the errors of [`modify`](Self::modify).
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn restore<K>(&self, key: K) -> BoxFuture<'static, Result<Option<Stored<K::Entity>>>>
    where
        K: OwnKey<Entity: SoftDelete>,
    {
        let (tables, plan) = (self.clone(), key.plan().clone());
        Box::pin(self.observed(Schema::of::<K::Entity>(), "restore", async move {
            move_to(&tables, &plan, Bin::Only, false).await
        }))
    }
}

/// Puts an entity into the bin, or takes it out. Returns the entity; `None` if it is not found in this part of its table.
async fn move_to<E: SoftDelete>(tables: &Tables, plan: &Plan, from: Bin, deleted: bool) -> Result<Option<Stored<E>>> {
    let keys = plan.row_keys()?;
    let mut place = tables.in_line(Schema::of::<E>().table(), &keys, None);
    let mut plan = plan.clone();
    plan.show(from);
    let mut change = |entity: &mut E| {
        let at = deleted.then(|| ValueRef::DateTime(tables.backend().now()));
        entity.set_deleted(at).map(drop).map_err(|problem| unwritable(entity, problem))
    };
    modify_present(tables, &Point::new(plan), &mut change, &mut place, &mut pacing::delays()).await
}

fn unwritable<E: SoftDelete>(entity: &E, problem: PropertyProblem) -> Error {
    let name = E::INFO.layout.lifecycle.soft_delete.unwrap_or_default();
    match entity::keys(entity) {
        Ok(keys) => codec::unwritable(&E::INFO.layouts[0].table, &keys, name, problem),
        Err(error) => error.into(),
    }
}
