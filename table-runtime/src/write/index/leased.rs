//! The leases under which a commit is sent, and what becomes of it if one ends before the answer.

use std::pin::pin;

use futures_util::future::{Either, select};
use table_model::LayoutInfo;
use table_store::{
    ETag, Error, Result, RowId,
    backend::{Action, BackendExt, FailedGroup, Group},
    error::{LayoutChangedError, MissingIndexError, OutcomeUnknownError},
    unstable::client::Client,
};

use super::change::Planned;
use crate::client::tables::{LayoutId, Lease};

/// The leases under which the entities of a transaction may be written. There are none for entities for which the handle
/// did not call `create`.
pub(super) struct HeldLeases(Vec<(LayoutId, Lease)>);

impl HeldLeases {
    /// Returns the leases of these entities.
    ///
    /// # Errors
    /// Returns an error if a migration has moved an entity, or if its struct lacks an index that another program builds
    /// or has built.
    pub(super) async fn of(planned: &[Planned<'_>]) -> Result<Self> {
        let mut leases: Vec<(LayoutId, Lease)> = Vec::new();
        for (at, entity) in planned.iter().enumerate() {
            let schema = &entity.write.schema;
            // Most transactions have entities of one type.
            if planned[..at].last().is_some_and(|before| std::ptr::eq(before.write.schema.layouts, schema.layouts)) {
                continue;
            }
            let id = schema.own_id();
            let held = leases.iter().find(|(held, _)| *held == id).map(|(_, lease)| lease.clone());
            let is_new = held.is_none();
            let lease = match held {
                None => entity.write.tables.write_lease(&id).await?,
                held => held,
            };
            let Some(lease) = lease else { continue };
            let is_known = |name: &str| {
                schema.layouts.iter().any(|layout| layout.name == name)
                    || schema.lifecycle.options().any(|option| option == name)
            };
            if let Some(lacking) = lease.lacks(is_known) {
                let (table, entity, lacking) =
                    (schema.table().to_owned(), schema.entity.to_owned(), lacking.to_owned());
                return Err(if lacking.contains(" = ") {
                    lifecycle_changed(table, entity, &lacking)
                } else {
                    Box::new(MissingIndexError::new(table, entity, lacking)).into()
                });
            }
            if is_new {
                leases.push((id, lease));
            }
        }
        Ok(Self(leases))
    }

    /// Executes the groups as one transaction. Leases that end meanwhile are renewed; if one cannot be, the answer is
    /// lost.
    ///
    /// # Errors
    /// Returns [`Error::OutcomeUnknown`] if the transaction was applied and it is not known
    /// whether the entities were still in their place: a migration may have read them before.
    pub(super) async fn execute(
        &mut self,
        first: &Planned<'_>,
        groups: &[Group],
    ) -> Result<Vec<Option<ETag>>, FailedGroup> {
        let backend = first.write.backend();
        let mut executed = pin!(async {
            match groups {
                [group] => execute_in_slice(backend, &first.write.schema.layouts[0], group)
                    .await
                    .map_err(|error| FailedGroup { group: 0, error }),
                groups => backend.execute_all(groups).await,
            }
        });
        let lost = |reason| {
            let error = OutcomeUnknownError::new("transaction", first.row_id(), reason);
            FailedGroup { group: 0, error: Box::new(error).into() }
        };
        loop {
            let now = backend.clock();
            let Some(left) = self.0.iter().map(|(_, lease)| lease.left(now)).min() else { return executed.await };
            let outcome = {
                // A deadline is not begun for a store that answers at once.
                let renewed = pin!(async {
                    backend.deadline(left).await;
                    self.renewed(first).await
                });
                match select(executed.as_mut(), renewed).await {
                    Either::Left((answer, _)) => Either::Left(answer),
                    Either::Right((renewed, _)) => Either::Right(renewed),
                }
            };
            match outcome {
                Either::Left(answer) => {
                    let answer = answer?;
                    self.renewed(first).await.map_err(|reason| lost(format!("it was applied, and {reason}")))?;
                    return Ok(answer);
                }
                Either::Right(Ok(Some(renewed))) => *self = renewed,
                Either::Right(Ok(None)) => {}
                Either::Right(Err(reason)) => return Err(lost(format!("it was not answered in time, and {reason}"))),
            }
        }
    }

    /// Renews the leases that have ended. Returns `None` if all are valid.
    ///
    /// # Errors
    /// Returns the reason why one cannot be renewed.
    pub(super) async fn renewed(&self, first: &Planned<'_>) -> Result<Option<Self>, String> {
        let tables = &first.write.tables;
        let now = tables.backend().clock();
        if self.0.iter().all(|(_, lease)| lease.is_valid(now)) {
            return Ok(None);
        }
        let mut renewed = Vec::with_capacity(self.0.len());
        for (id, lease) in &self.0 {
            renewed.extend(tables.renewed(id, lease).await?.map(|lease| (*id, lease)));
        }
        Ok(Some(Self(renewed)))
    }
}

/// Executes a write of entities of this layout. If their slice is missing and all of them may be new, creates the
/// slice.
async fn execute_in_slice(backend: &Client, layout: &LayoutInfo, group: &Group) -> Result<Vec<Option<ETag>>> {
    let executed = backend.execute(group).await;
    if layout.slice.is_none() || !matches!(executed, Err(Error::TableNotFound(_))) {
        return executed;
    }
    let is_new = |action: &Action| matches!(action, Action::Insert(_) | Action::Upsert(_));
    if let Some(operation) = group.operations.iter().find(|operation| !is_new(&operation.action)) {
        let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
        return Err(Error::NotFound(RowId { table, partition_key, row_key: operation.row_key.clone() }.into()));
    }
    backend.create_table(&group.table).await?;
    backend.execute(group).await
}

/// Returns the error of a program without a recorded option of the entity's lifecycle.
pub fn lifecycle_changed(table: String, entity: String, option: &str) -> Error {
    let changes = format!(
        "`#[table({option})]` is recorded, by the name of the property, and this program's struct does not have it"
    );
    let advice =
        "write the option on the struct; or, to roll back to this program, end those that have the option, and take \
                  back the record with `forget_lifecycle` on `create`"
            .to_owned();
    Box::new(LayoutChangedError::new(table, entity, "lifecycle", changes, advice)).into()
}
