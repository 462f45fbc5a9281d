//! The one transaction that a reader sees: entities, and their index rows in the same partition.
//!
//! It is planned by encoded row: what several changes make of one row is one operation, so that two entities can swap
//! the values of a unique index, and one can be deleted and inserted again. An index row that turns out to be missing,
//! or to belong to no entity, is planned again as what it is.

use std::collections::{HashMap, HashSet};

use super::{
    transaction::{Change, Seen, SeenRows},
    upkeep::Upkeep,
};
use crate::{
    ETag, Error, LimitError, OutcomeUnknownError, Result, RowId, RowNow, ValueRef,
    backend::{Action, BoxFuture, Group, IfMatch, Operation},
    entity, limits, pacing,
    row::RowKeys,
    slice_tables,
};

/// What a transaction does to one entity.
pub(crate) struct Planned<'a> {
    pub(crate) upkeep: &'a Upkeep,
    pub(crate) change: Change<'a>,
    pub(crate) keys: &'a RowKeys,
    /// The operation on its own row.
    pub(crate) action: Action,
}

/// The operations of a transaction, one for each row.
#[derive(Default)]
struct Operations {
    operations: Vec<Operation>,
    /// Where each row's operation is.
    places: HashMap<String, usize>,
}

impl Operations {
    /// Adds an operation. If there is one on its row that cannot be made one with it, gives it back.
    fn add(&mut self, row_key: String, action: Action) -> Result<usize, Action> {
        if let Some(&at) = self.places.get(&row_key) {
            let before = &mut self.operations[at].action;
            *before = match (before.clone(), action) {
                // Entities that share a row delete it once.
                (Action::Delete(left), Action::Delete(right)) if left == right => Action::Delete(left),
                (Action::Delete(condition), Action::Insert(properties))
                | (Action::Insert(properties), Action::Delete(condition)) => Action::Replace(properties, condition),
                (Action::Delete(_), Action::Upsert(properties)) | (Action::Upsert(properties), Action::Delete(_)) => {
                    Action::Upsert(properties)
                }
                (_, action) => return Err(action),
            };
            return Ok(at);
        }
        let at = self.operations.len();
        self.places.insert(row_key.clone(), at);
        self.operations.push(Operation { row_key, action });
        Ok(at)
    }
}

/// Carries out what is planned for entities of one partition, all or nothing, and gives the ETag of each, `None` where
/// it was deleted.
pub(crate) async fn commit(planned: &[Planned<'_>]) -> Result<Vec<Option<ETag>>> {
    let Some(first) = planned.first() else { return Ok(Vec::new()) };
    let (schema, table, partition_key) = (&first.upkeep.schema, first.upkeep.table_of(first.keys)?, &first.keys.0);
    let mut seen = SeenRows::new();
    let mut delays = pacing::delays();
    loop {
        look(planned, &mut seen).await?;
        let (operations, places) = operations(planned, &seen).await?;
        let group = Group { table: table.clone(), partition_key: partition_key.clone(), operations };
        group.check()?;
        let error = match slice_tables::execute(first.upkeep.backend(), &schema.layouts[0], &group).await {
            Ok(etags) => {
                let left = |(planned, at): (&Planned<'_>, &usize)| {
                    // A row that is deleted and inserted again is one operation, whose ETag is the new entity's.
                    let is_deleted = matches!(planned.action, Action::Delete(_));
                    etags.get(*at).filter(|_| !is_deleted).cloned().flatten()
                };
                return Ok(planned.iter().zip(&places).map(left).collect());
            }
            Err(Error::OutcomeUnknown(error)) => return proven(planned, &group, error.reason).await,
            Err(error) => error,
        };
        let own = |row: &RowId| planned.iter().any(|planned| planned.keys.1 == row.row_key);
        match error {
            Error::NotFound(row) if !own(&row) && !matches!(seen.get(&row.row_key), Some(Seen::Missing)) => {
                seen.insert(row.row_key, Seen::Missing);
            }
            Error::AlreadyExists(row) if !own(&row) && writer(planned, &row).is_some() => {
                if let Some((planned, layout)) = writer(planned, &row)
                    && let Some(etag) = planned.stale(layout, &row).await?
                {
                    seen.insert(row.row_key, Seen::Stale(etag));
                }
            }
            // Another writer was faster at a list, or at a stale row.
            error @ (Error::ConditionNotMet(_) | Error::AlreadyExists(_) | Error::NotFound(_)) => {
                if let Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row) = &error {
                    if own(row) {
                        return Err(error);
                    }
                    seen.remove(&row.row_key);
                }
                pacing::wait(first.upkeep.backend(), &mut delays, error).await?;
            }
            error => return Err(error),
        }
    }
}

/// Checks what is known of a transaction before anything is read for it: that it is not too much, and has one write for
/// each row. What is read only adds to it.
pub(crate) fn check(planned: &[Planned<'_>]) -> Result<()> {
    let Some(first) = planned.first() else { return Ok(()) };
    // Which of two entities had a value that both want is known once they are read.
    let (Operations { operations, .. }, _, _) = known(planned, &SeenRows::new())?;
    let (table, partition_key) = (first.upkeep.table_of(first.keys)?, first.keys.0.clone());
    Group { table, partition_key, operations }.check()
}

/// The operations, and where each entity's own one is among them.
async fn operations(planned: &[Planned<'_>], seen: &SeenRows) -> Result<(Vec<Operation>, Vec<usize>)> {
    let (mut operations, places, clash) = known(planned, seen)?;
    if let Some(clash) = clash {
        return Err(outdated(planned).await?.unwrap_or(clash));
    }
    for Operation { row_key, action } in super::list_upkeep::operations(planned).await? {
        let _ = operations.add(row_key, action);
    }
    check_count(planned, operations.operations.len())?;
    Ok((operations.operations, places))
}

/// Returns the error of the first entity that is not in the version in which it was read. Two entities that were read
/// at different times can both have had a value that only one of them has.
#[cold]
async fn outdated(planned: &[Planned<'_>]) -> Result<Option<Error>> {
    for one in planned {
        let (Action::Replace(_, IfMatch::ETag(etag)) | Action::Delete(IfMatch::ETag(etag))) = &one.action else {
            continue;
        };
        let row = one.row_id();
        match one.upkeep.get(&row.table, one.keys).await? {
            None => return Ok(Some(Error::NotFound(Box::new(row)))),
            Some(found) if found.etag != *etag => return Ok(Some(Error::ConditionNotMet(Box::new(row)))),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// The operations but for those on lists, which have to be read. Also returns the error of two entities that want one
/// row, if there are any.
fn known(planned: &[Planned<'_>], seen: &SeenRows) -> Result<(Operations, Vec<usize>, Option<Error>)> {
    let (mut operations, mut places) = (Operations::default(), Vec::with_capacity(planned.len()));
    let mut clash = None;
    for planned in planned {
        let before = operations.places.get(&planned.keys.1).map(|at| &operations.operations[*at].action);
        if !matches!((before, &planned.action), (None, _) | (Some(Action::Delete(_)), Action::Insert(_))) {
            return Err(planned.twice());
        }
        let place = operations.add(planned.keys.1.clone(), planned.action.clone());
        places.push(place.map_err(|_| planned.twice())?);
    }
    for one in planned {
        for Operation { row_key, action } in one.change.operations(&one.upkeep.schema, &one.keys.1, seen) {
            if operations.add(row_key.clone(), action).is_err() {
                clash.get_or_insert_with(|| one.clash(planned, &row_key));
            }
        }
    }
    check_count(planned, operations.operations.len() + super::list_upkeep::least(planned))?;
    Ok((operations, places, clash))
}

fn check_count(planned: &[Planned<'_>], operations: usize) -> Result<()> {
    if operations <= limits::OPERATIONS {
        return Ok(());
    }
    let entities = planned.iter().map(|planned| planned.keys).collect::<HashSet<_>>().len();
    let of = if entities == 1 { "entity" } else { "entities" };
    let table = planned.first().map_or_else(String::new, |first| first.row_id().table);
    let (what, found) = ("the transaction has".to_owned(), format!("{operations} operations of {entities} {of}"));
    let limit = "100 operations, those on index rows included";
    Err(Box::new(LimitError { table, row: None, what, found, limit }).into())
}

/// Returns the entity that comes to have this row, and the unique index. An entity that keeps the row is not its
/// writer: whoever else wants the row violates the index.
fn writer<'p, 'a>(planned: &'p [Planned<'a>], row: &RowId) -> Option<(&'p Planned<'a>, usize)> {
    planned.iter().find_map(|planned| {
        let layout = planned.unique_layout(&row.row_key)?;
        planned.change.moves(layout).then_some((planned, layout))
    })
}

/// Reads the rows of unique indexes that the transaction deletes or writes over, unless their indexes are ready. While
/// an index is built, such a row may be missing, or belong to another entity of the same value.
async fn look(planned: &[Planned<'_>], seen: &mut SeenRows) -> Result<()> {
    for one in planned {
        let schema = &one.upkeep.schema;
        for (layout, keys) in one.change.unique_rows(schema) {
            if seen.contains_key(&keys.1) || one.upkeep.is_ready(layout).await? {
                continue;
            }
            let row = one.upkeep.get(schema.table(), keys).await?;
            let found = match row {
                None => Seen::Missing,
                Some(row) => Seen::Owned(row.etag.clone(), schema.owner(layout, &row)?.1),
            };
            seen.insert(keys.1.clone(), found);
        }
    }
    Ok(())
}

impl Planned<'_> {
    /// Returns the unique index in which the entity has this row after the transaction.
    fn unique_layout(&self, row_key: &str) -> Option<usize> {
        let (schema, new) = (&self.upkeep.schema, self.change.new?);
        let mut unique = schema.same_partition().filter(|layout| schema.is_unique(*layout));
        unique.find(|layout| new.keys(*layout).is_some_and(|(_, key)| key == row_key))
    }

    /// The version of a row in the way, if it belongs to no other entity; `None` if it is gone.
    async fn stale(&self, layout: usize, row: &RowId) -> Result<Option<ETag>> {
        let upkeep = self.upkeep;
        let at = (row.partition_key.clone(), row.row_key.clone());
        let Some(found) = upkeep.get(upkeep.schema.table(), &at).await? else { return Ok(None) };
        let owner = upkeep.schema.owner(layout, &found)?;
        if owner != *self.keys && upkeep.is_taken(layout, &at, &owner).await? {
            return Err(upkeep.violation(layout, &at, self.keys, &owner));
        }
        Ok(Some(found.etag))
    }

    /// Two operations on the entity's row.
    #[cold]
    fn twice(&self) -> Error {
        let row = self.row_id();
        Box::new(LimitError {
            table: row.table.clone(),
            row: Some(row),
            what: "the transaction has".to_owned(),
            found: "more than one operation on this row".to_owned(),
            limit: "one, or a deletion and then an insertion",
        })
        .into()
    }

    /// Returns the error of two entities with one row in an index. The one that has the value already keeps it; of two
    /// that come to have it, the first does.
    #[cold]
    fn clash(&self, planned: &[Planned<'_>], row_key: &str) -> Error {
        let others = planned.iter().filter(|other| other.keys != self.keys);
        let other = others.into_iter().find(|other| other.unique_layout(row_key).is_some());
        match (self.unique_layout(row_key), other) {
            (Some(layout), Some(other)) => {
                let at = (self.keys.0.clone(), row_key.to_owned());
                let (entity, owner) = if self.change.moves(layout) { (self, other) } else { (other, self) };
                self.upkeep.violation(layout, &at, entity.keys, owner.keys)
            }
            _ => self.twice(),
        }
    }
}

/// After a lost answer: the writes' own ids are the only proof that they were applied, and one of them proves it of all.
///
/// What has no id of its own, or another's by now, may have been written again since, so its ETag is not told.
async fn proven(planned: &[Planned<'_>], group: &Group, reason: String) -> Result<Vec<Option<ETag>>> {
    let Some((first, others)) = planned.split_first() else { return Ok(Vec::new()) };
    let now = first.now().await;
    let mut looks: Vec<BoxFuture<'_, Result<Option<ETag>>>> = Vec::with_capacity(others.len());
    for other in others {
        looks.push(Box::pin(async move {
            let now = if other.leaves_id() { Some(other.now().await) } else { None };
            Ok(now.and_then(|now| other.own_version(&now)))
        }));
    }
    let mut etags = vec![first.own_version(&now)];
    etags.extend(pacing::concurrently(looks).await?);
    if etags.iter().any(Option::is_some) {
        return Ok(etags);
    }
    let (operation, row) = (group.name(), first.row_id());
    let operation = if planned.len() == 1 { first.action.name() } else { operation };
    Err(Box::new(OutcomeUnknownError { operation, row, reason, now }).into())
}

impl Planned<'_> {
    /// The entity's row.
    fn row_id(&self) -> RowId {
        let table = self.upkeep.table_of(self.keys).unwrap_or_else(|_| self.upkeep.table().into());
        RowId::of(&table, self.keys)
    }

    async fn now(&self) -> RowNow {
        match self.upkeep.get(&self.row_id().table, self.keys).await {
            Ok(Some(row)) => RowNow::Present(Box::new(row)),
            Ok(None) => RowNow::Absent,
            Err(error) => RowNow::Unread(error.to_string()),
        }
    }

    /// Whether the row that it writes has its id.
    fn leaves_id(&self) -> bool {
        self.upkeep.schema.write_id && !matches!(self.action, Action::Delete(_))
    }

    /// The row's version, if it is as this very write left it.
    fn own_version(&self, now: &RowNow) -> Option<ETag> {
        let RowNow::Present(row) = now else { return None };
        let id = Some(ValueRef::Guid(self.upkeep.id));
        let is_own =
            self.leaves_id() && row.properties.get(entity::WRITE_ID) == id && super::schema::pending(row).is_none();
        is_own.then(|| row.etag.clone())
    }
}
