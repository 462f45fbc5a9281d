//! The leases under which a commit is sent, and what becomes of it if one ends before the answer.

use std::pin::pin;

use futures_util::future::{Either, select};
use table_model::LayoutInfo;
use table_store::{
    ETag, Error, Result, RowId,
    backend::{Action, BackendExt, FailedGroup, Group, Reach},
    error::{LayoutChangedError, MissingIndexError, OutcomeUnknownError},
    unstable::{RowKeys, client::Client},
};

use super::change::Planned;
use crate::client::tables::{EVENTS_REQUIRED, LayoutId, Lease, MarkLease};

/// The leases under which the entities of a transaction may be written.
pub(super) struct HeldLeases {
    /// Those of the primary keys. There are none for entities for which the handle did not call `create`.
    layouts: Vec<(LayoutId, Lease)>,
    /// Those of the marks, if the transaction records events, and does not write the marks itself.
    marks: Vec<(RowKeys, MarkLease)>,
}

impl HeldLeases {
    /// Returns the leases of these entities.
    ///
    /// # Errors
    /// Returns an error if a migration has moved an entity, or if its struct lacks an index that another program builds
    /// or has built.
    pub(super) async fn of(planned: &[Planned<'_>]) -> Result<Self> {
        let mut held = Self::of_layouts(planned).await?;
        for entity in planned.iter().filter(|entity| entity.write.reach == Reach::Partition) {
            let mark = entity.events.as_deref().map(|events| &events.mark);
            if let Some(mark) = mark.filter(|mark| held.marks.iter().all(|(held, _)| held != *mark)) {
                held.marks.push((mark.clone(), entity.write.tables.mark(mark).await?));
            }
        }
        Ok(held)
    }

    /// Returns the leases of the primary keys alone.
    ///
    /// # Errors
    /// Returns those of [`of`](Self::of) about the primary keys.
    pub(super) async fn of_layouts(planned: &[Planned<'_>]) -> Result<Self> {
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
                    || name.starts_with(EVENTS_REQUIRED) && schema.events.is_some()
            };
            if let Some(lacking) = lease.lacks(is_known) {
                let (table, entity, lacking) =
                    (schema.table().to_owned(), schema.entity.to_owned(), lacking.to_owned());
                return Err(if lacking == EVENTS_REQUIRED {
                    events_required(table, entity)
                } else if lacking.contains(" = ") {
                    lifecycle_changed(table, entity, &lacking)
                } else {
                    Box::new(MissingIndexError::new(table, entity, lacking)).into()
                });
            }
            if is_new {
                leases.push((id, lease));
            }
        }
        Ok(Self { layouts: leases, marks: Vec::new() })
    }

    /// Writes the marks again, after an answer was lost: the commit may still be carried out. A mark that cannot be written
    /// is left to the time for which relays wait.
    pub(super) async fn mark_again(&mut self, first: &Planned<'_>) {
        let tables = &first.write.tables;
        let now = tables.backend().clock();
        for (mark, lease) in &mut self.marks {
            if let Ok(written) = tables.mark_after(mark, Some(now)).await {
                *lease = written;
            }
        }
    }

    /// Executes the groups as one transaction. Leases of primary keys that end meanwhile are renewed, and those of marks
    /// before they end. If one cannot be, the answer is lost.
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
        // The caller may have been paused since it got the leases.
        for (mark, lease) in &mut self.marks {
            if lease.left(backend.clock()).is_zero() {
                let renewed = first.write.tables.mark(mark).await;
                *lease = renewed.map_err(|error| FailedGroup { group: 0, error })?;
            }
        }
        let mut executed = pin!(execute_in_slice(backend, &first.write.schema.layouts[0], groups));
        let lost = |reason| {
            let error = OutcomeUnknownError::new("transaction", first.row_id(), reason);
            FailedGroup { group: 0, error: Box::new(error).into() }
        };
        loop {
            let now = backend.clock();
            let until_half = |lease: MarkLease| lease.until_half(now).unwrap_or(lease.left(now));
            let layouts = self.layouts.iter().map(|(_, lease)| lease.left(now));
            let Some(left) = layouts.chain(self.marks.iter().map(|(_, lease)| until_half(*lease))).min() else {
                return executed.await;
            };
            let outcome = {
                // A deadline is not begun for a store that answers at once.
                let renewed = pin!(async {
                    backend.deadline(left).await;
                    let marks = self.renewed_marks(first).await?;
                    let now = backend.clock();
                    let Some(left) = marks.iter().map(|(_, lease)| lease.left(now)).min() else {
                        return self.renewed(first).await.map(|layouts| (layouts, marks));
                    };
                    match select(pin!(self.renewed(first)), pin!(backend.deadline(left))).await {
                        Either::Left((layouts, _)) => layouts.map(|layouts| (layouts, marks)),
                        Either::Right(_) => Err("the mark of its events was not renewed".to_owned()),
                    }
                });
                match select(executed.as_mut(), renewed).await {
                    Either::Left((answer, _)) => Either::Left(answer),
                    Either::Right((renewed, _)) => Either::Right(renewed),
                }
            };
            match outcome {
                Either::Left(answer) => {
                    let answer = answer?;
                    if self.marks.iter().any(|(_, lease)| lease.left(backend.clock()).is_zero()) {
                        // A relay may have deleted the mark before the commit.
                        self.mark_again(first).await;
                    }
                    self.renewed(first).await.map_err(|reason| lost(format!("it was applied, and {reason}")))?;
                    return Ok(answer);
                }
                Either::Right(Ok((layouts, marks))) => {
                    self.layouts = layouts.unwrap_or_else(|| std::mem::take(&mut self.layouts));
                    self.marks = marks;
                }
                Either::Right(Err(reason)) => return Err(lost(format!("it was not answered in time, and {reason}"))),
            }
        }
    }

    /// Renews the leases that have ended. Returns `None` if all are valid.
    ///
    /// # Errors
    /// Returns the reason why one cannot be renewed.
    pub(super) async fn renewed(&self, first: &Planned<'_>) -> Result<Option<Vec<(LayoutId, Lease)>>, String> {
        let tables = &first.write.tables;
        let now = tables.backend().clock();
        if self.layouts.iter().all(|(_, lease)| lease.is_valid(now)) {
            return Ok(None);
        }
        let mut renewed = Vec::with_capacity(self.layouts.len());
        for (id, lease) in &self.layouts {
            renewed.extend(tables.renewed(id, lease).await?.map(|lease| (*id, lease)));
        }
        Ok(Some(renewed))
    }

    /// Renews the leases of marks whose second half has begun.
    ///
    /// # Errors
    /// Returns the reason if one has ended before it was renewed: a relay may have deleted its mark.
    async fn renewed_marks(&self, first: &Planned<'_>) -> Result<Vec<(RowKeys, MarkLease)>, String> {
        let (tables, backend) = (&first.write.tables, first.write.backend());
        let mut renewed = Vec::with_capacity(self.marks.len());
        for (mark, lease) in &self.marks {
            let ended = pin!(backend.deadline(lease.left(backend.clock())));
            let newer = match select(pin!(tables.mark(mark)), ended).await {
                Either::Left((Ok(newer), _)) => newer,
                Either::Left((Err(_), _)) | Either::Right(_) => *lease,
            };
            // What was answered after the end does not count: the mark may have been missing meanwhile.
            if lease.left(backend.clock()).is_zero() {
                return Err("the mark of its events was not renewed".to_owned());
            }
            renewed.push((mark.clone(), newer));
        }
        Ok(renewed)
    }
}

/// Executes a write of entities of this layout, whose partition is that of the first group. If their slice is missing and all
/// of them may be new, creates the slice.
async fn execute_in_slice(
    backend: &Client,
    layout: &LayoutInfo,
    groups: &[Group],
) -> Result<Vec<Option<ETag>>, FailedGroup> {
    let execute = async || match groups {
        [group] => backend.execute(group).await.map_err(|error| FailedGroup { group: 0, error }),
        groups => backend.execute_all(groups).await,
    };
    let executed = execute().await;
    let is_missing = matches!(&executed, Err(FailedGroup { group: 0, error: Error::TableNotFound(_) }));
    let Some(group) = groups.first().filter(|_| layout.slice.is_some() && is_missing) else { return executed };
    let is_new = |action: &Action| matches!(action, Action::Insert(_) | Action::Upsert(_));
    let in_slice = |error| FailedGroup { group: 0, error };
    if let Some(operation) = group.operations.iter().find(|operation| !is_new(&operation.action)) {
        let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
        let row = RowId { table, partition_key, row_key: operation.row_key.clone() };
        return Err(in_slice(Error::NotFound(row.into())));
    }
    backend.create_table(&group.table).await.map_err(in_slice)?;
    execute().await
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

/// Returns the error of a program whose writes would record no event, though each has to.
pub fn events_required(table: String, entity: String) -> Error {
    let changes =
        "every write of the entity records an event, and this program's struct has no `#[table(events)]`".to_owned();
    let advice = "write `#[table(events)]` on the struct; the requirement cannot be taken back".to_owned();
    Box::new(LayoutChangedError::new(table, entity, "events", changes, advice)).into()
}
