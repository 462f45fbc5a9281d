//! Keeping lists: rows that hold the ways to all entities of a value.
//!
//! A list is read with its version, changed, and written in the entity's own transaction under that version, so that
//! writers who meet at one list go one after the other: whoever was slower reads it again, after a pause.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::{
    commit::Planned,
    finding::Finding,
    upkeep::Upkeep,
    verify::{Fault, is_of_row},
};
use crate::{
    ETag, LimitError, Result, Row, RowId,
    backend::{Action, IfMatch, Operation},
    layout::Holds,
    limits, pacing,
    read::list,
    row::RowKeys,
};

/// A list as it stands: the entities of each of its rows, and the version of the first, which is the lock of the
/// others.
struct Stored {
    version: Option<ETag>,
    rows: Vec<Vec<String>>,
    /// Which of the rows there are: one that others have deleted is written again with the next change.
    there: Vec<bool>,
}

/// Lists, each with the entities that are put into it, `true`, or taken out.
type Changes<'a> = BTreeMap<&'a RowKeys, (&'a Upkeep, Vec<(&'a RowKeys, bool)>)>;

/// The operations on the lists that the changes take entities from, and add them to: each list is read once.
pub(super) async fn operations(planned: &[Planned<'_>]) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for (list, (upkeep, changes)) in changes(planned) {
        operations.extend(upkeep.put(list, &changes).await?);
    }
    Ok(operations)
}

/// How many operations these are at least: the first row of a list is written whenever an entity is put into it.
pub(super) fn least(planned: &[Planned<'_>]) -> usize {
    changes(planned).values().filter(|(_, changes)| changes.iter().any(|(_, present)| *present)).count()
}

fn changes<'a>(planned: &'a [Planned<'_>]) -> Changes<'a> {
    let mut lists = Changes::new();
    for Planned { upkeep, change, keys, .. } in planned {
        for layout in upkeep.lists().filter(|layout| change.moves(*layout)) {
            let old = change.old_keys(layout).map(|list| (list, false));
            let new = change.new.and_then(|new| new.keys(layout)).map(|list| (list, true));
            for (list, present) in old.into_iter().chain(new) {
                lists.entry(list).or_insert_with(|| (upkeep, Vec::new())).1.push((keys, present));
            }
        }
    }
    lists
}

impl Upkeep {
    fn lists(&self) -> impl Iterator<Item = usize> {
        self.schema.same_partition().filter(|layout| self.schema.holds(*layout) == Holds::List)
    }

    /// The operations that change a list: the entities that are put into it, and taken out.
    async fn put(&self, keys: &RowKeys, changes: &[(&RowKeys, bool)]) -> Result<Vec<Operation>> {
        let stored = self.read_list(keys).await?;
        let mut rows = stored.rows.clone();
        let mut writes = false;
        for (entity, present) in changes {
            let differs = list::put(&mut rows, &entity.1, *present, limits::STRING_UNITS);
            // An entity that is listed already is listed anew, so that nobody can be about to take it out.
            writes |= differs || *present;
        }
        if !writes {
            return Ok(Vec::new());
        }
        if rows.len() > limits::OPERATIONS {
            let row = RowId::of(self.schema.table(), keys);
            let found = format!("{} rows", rows.len());
            let (table, what) = (row.table.clone(), "a list has".to_owned());
            return Err(Box::new(LimitError { table, row: Some(row), what, found, limit: "100 rows" }).into());
        }
        let properties = |at: usize| list::properties(&rows[at], if at == 0 { rows.len() } else { 1 });
        let mut operations = Vec::new();
        for at in 0..rows.len().max(stored.rows.len()) {
            let action = match (at, rows.get(at), &stored.version) {
                (0, Some(_), None) => Action::Insert(properties(at)),
                (0, Some(_), Some(version)) => Action::Replace(properties(at), IfMatch::ETag(version.clone())),
                (0, None, Some(version)) => Action::Delete(IfMatch::ETag(version.clone())),
                (0, None, None) => continue,
                // The first row is their lock.
                (_, Some(row), _) if stored.there.get(at) == Some(&true) && stored.rows.get(at) == Some(row) => {
                    continue;
                }
                (_, Some(_), _) => Action::Upsert(properties(at)),
                (_, None, _) if stored.there.get(at) == Some(&true) => Action::Delete(IfMatch::Any),
                (_, None, _) => continue,
            };
            operations.push(Operation { row_key: list::nth_key(&keys.1, at + 1), action });
        }
        Ok(operations)
    }

    async fn read_list(&self, (partition_key, row_key): &RowKeys) -> Result<Stored> {
        let table = self.schema.table();
        let Some(first) = self.backend().get(table, partition_key, row_key, None).await? else {
            return Ok(Stored { version: None, rows: Vec::new(), there: Vec::new() });
        };
        let begun = list::read(table, first.as_ref())?;
        let others = (2..=begun.rows).map(|n| async move {
            let key = list::nth_key(row_key, n);
            match self.backend().get(table, partition_key, &key, None).await? {
                Some(row) => Ok((list::read(table, row.as_ref())?.entities, true)),
                None => Ok((Vec::new(), false)),
            }
        });
        let others: Result<Vec<_>> = join_all(others).await.into_iter().collect();
        let (rows, there) = [(begun.entities, true)].into_iter().chain(others?).unzip();
        Ok(Stored { version: Some(first.etag), rows, there })
    }

    /// Whether the list of these keys names the entity.
    pub(super) async fn is_listed(&self, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        let stored = self.read_list(keys).await?;
        Ok(stored.rows.iter().flatten().any(|listed| *listed == entity.1))
    }

    /// The entities in a row of a list that are gone, or have another value.
    pub(super) async fn faults_of_list(&self, layout: usize, row: Row) -> Result<Vec<Fault>> {
        let info = &self.schema.layouts[layout];
        let keys = (row.partition_key.clone(), row.row_key.clone());
        let stored = match self.read_list(&keys).await {
            // Of a list with several rows, the others are met here alone.
            Err(problem) if is_of_row(&problem) => {
                return Ok(vec![self.foreign(layout, info.table, &keys, problem.to_string())]);
            }
            stored => stored?,
        };
        let mut faults = Vec::new();
        for listed in stored.rows.into_iter().flatten() {
            let entity = (keys.0.clone(), listed);
            match self.is_rightly_listed(layout, &keys, &entity).await {
                Ok(true) => continue,
                // The sweep comes to it by itself.
                Err(error) if is_of_row(&error) => continue,
                checked => checked?,
            };
            let (row, id) = (RowId::of(info.table, &keys), RowId::of(self.schema.table(), &entity));
            let finding = Finding::StaleRow { index: info.name, row, entity: id };
            faults.push(Fault { finding, layout, entity, seen: None });
        }
        Ok(faults)
    }

    async fn is_rightly_listed(&self, layout: usize, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(self.leads(layout, keys, entity).await?
            // A writer may have been under way.
            || !self.is_listed(keys, entity).await?
            || self.is_taken(layout, keys, entity).await?)
    }

    /// Takes an entity out of a list that it does not belong to.
    pub(super) async fn unlist(&self, layout: usize, entity: &RowKeys, row: &RowId) -> Result<()> {
        let keys = (row.partition_key.clone(), row.row_key.clone());
        let mut delays = pacing::delays();
        loop {
            let operations = self.put(&keys, &[(entity, false)]).await?;
            // Whoever gives the entity the value after this writes the list anew.
            if operations.is_empty() || self.is_taken(layout, &keys, entity).await? {
                return Ok(());
            }
            match self.backend().execute(&self.transaction(&keys.0, operations)?).await {
                Ok(_) => return Ok(()),
                Err(error) if is_passing(&error) => self.pause(&mut delays, error).await?,
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_passing(error: &crate::Error) -> bool {
    use crate::Error::{AlreadyExists, ConditionNotMet, NotFound, OutcomeUnknown};
    matches!(error, AlreadyExists(_) | ConditionNotMet(_) | NotFound(_) | OutcomeUnknown(_))
}
