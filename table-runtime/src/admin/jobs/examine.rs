//! The examination of rows that may be wrong, by reads of their own.

use table_model::{Holds, unstable::codec::is_unreadable};
use table_store::{
    ETag, Error, Result, Row, RowId,
    backend::{BackendExt, BoxFuture},
    unstable::RowKeys,
};

use super::{
    compare::Suspect,
    described::{Described, RowPlace},
    finding::Finding,
};
use crate::{
    client::pacing,
    write::{
        RowHasher,
        index::{EncodedRow, FoundEntity, ListStore},
    },
};

/// A finding, with the version of the row in which it was found.
pub struct LocatedFinding {
    pub finding: Finding,
    pub layout: usize,
    /// The entity that the finding is about.
    pub entity: RowKeys,
    /// The index row or the pending entity that has to be deleted or replaced.
    pub row: Option<(RowKeys, ETag)>,
}

/// Examines the suspects of a page and returns the findings.
pub async fn examine(of: &dyn Described, table: &str, suspects: Vec<Suspect>) -> Result<Vec<LocatedFinding>> {
    let mut checks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(suspects.len());
    for suspect in suspects {
        checks.push(Box::pin(Examination(of).suspect(table, suspect)));
    }
    Ok(pacing::concurrently(checks).await?.into_iter().flatten().collect())
}

/// Reads that examine a row.
#[derive(Clone, Copy)]
struct Examination<'a>(&'a dyn Described);

impl<'a> Examination<'a> {
    async fn suspect(self, table: &str, suspect: Suspect) -> Result<Vec<LocatedFinding>> {
        let findings = match suspect {
            Suspect::Foreign { layout, keys, problem } => {
                let (index, row) = (self.0.place(layout).index, RowId::of(table, &keys));
                let problem = match problem {
                    Error::Query(error) => error.problem,
                    error => error.to_string(),
                };
                let finding = Finding::Foreign { index, row, problem };
                Ok(vec![LocatedFinding { finding, layout, entity: keys, row: None }])
            }
            Suspect::Pending { keys, etag } => Ok(vec![pending(table, keys, etag)]),
            Suspect::Entity { found, layouts } => self.entity(table, *found, &layouts).await,
            Suspect::IndexRow { layout, row } => self.index_row(layout, row).await.map(Vec::from_iter),
            Suspect::List { layout, keys, members } => self.list(layout, &keys, members).await,
        };
        without_unreadable(findings)
    }

    /// Checks the rows of an entity in these indexes.
    async fn entity(self, of_page: &str, mut found: FoundEntity, layouts: &[usize]) -> Result<Vec<LocatedFinding>> {
        let keys = found.row.as_ref().keys();
        // A writer may be active. An entity that it changes meanwhile is checked again.
        let mut delays = pacing::delays();
        loop {
            if found.pending.is_some() {
                // The page may be one of an index.
                let table = layouts.first().map(|layout| self.0.entity_id(*layout, &keys).table);
                return Ok(vec![pending(table.as_deref().unwrap_or(of_page), keys, found.row.etag)]);
            }
            let mut findings = Vec::new();
            for layout in layouts.iter().filter(|layout| self.0.is_complete(**layout)) {
                findings.extend(without_unreadable(self.missing_rows(&found, *layout).await)?);
            }
            if findings.is_empty() {
                return Ok(findings);
            }
            match self.0.entity(layouts[0], &keys).await? {
                Some(now) if now.row.etag == found.row.etag => return Ok(findings),
                Some(now) => found = now,
                None => return Ok(Vec::new()),
            }
            if !delays.wait(self.0.client()).await {
                return Ok(Vec::new());
            }
        }
    }

    /// Returns a finding for each of the entity's rows in the index that is missing or wrong.
    async fn missing_rows(self, found: &FoundEntity, layout: usize) -> Result<Vec<LocatedFinding>> {
        let mut checks: Vec<BoxFuture<'_, _>> = Vec::new();
        for row in found.encoded.rows_in(layout) {
            checks.push(Box::pin(self.row_of(layout, &found.encoded.primary.keys, row)));
        }
        Ok(pacing::concurrently(checks).await?.into_iter().flatten().collect())
    }

    async fn row_of(self, layout: usize, entity: &RowKeys, row: &EncodedRow) -> Result<Option<LocatedFinding>> {
        let RowPlace { index, table, holds, .. } = self.0.place(layout);
        let index = index.unwrap_or_default();
        let ids = || (RowId::of(&table, &row.keys), self.0.entity_id(layout, entity));
        let located = |finding, row| Some(LocatedFinding { finding, layout, entity: entity.clone(), row });
        let missing = |at| {
            let (row, entity) = ids();
            located(Finding::MissingRow { index: index.clone(), row, entity }, at)
        };
        if holds == Holds::List {
            let is_listed = self.is_listed(&table, &row.keys, entity).await?;
            return Ok(if is_listed { None } else { missing(None) });
        }
        let Some(stored) = self.get(&table, &row.keys).await? else { return Ok(missing(None)) };
        let at = Some((row.keys.clone(), stored.etag.clone()));
        let owner = self.0.owner(layout, stored.as_ref())?;
        if owner != *entity {
            if !self.is_taken(layout, &row.keys, &owner).await? {
                return Ok(missing(at));
            }
            let ((row, entity), owner) = (ids(), self.0.entity_id(layout, &owner));
            return Ok(located(Finding::TwoOwners { index: index.clone(), row, entity, owner }, at));
        }
        let mut hasher = RowHasher::default();
        let stored = self.0.hash_stored(&mut hasher, layout, stored.as_ref(), &owner);
        if stored != self.0.hash_expected(&mut hasher, row, entity) {
            let (row, entity) = ids();
            return Ok(located(Finding::StaleCopy { index: index.clone(), row, entity }, at));
        }
        Ok(None)
    }

    /// Reads a row. A table that does not exist has none.
    async fn get(self, table: &str, keys: &RowKeys) -> Result<Option<Row>> {
        match self.0.client().get(table, &keys.partition_key, &keys.row_key, None).await {
            Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) => Ok(None),
            row => row,
        }
    }

    /// Checks whether a committed entity has this row in the index.
    async fn is_taken(self, layout: usize, at: &RowKeys, owner: &RowKeys) -> Result<bool> {
        let found = self.0.entity(layout, owner).await?;
        Ok(found.is_some_and(|found| found.pending.is_none() && found.encoded.has(layout, at)))
    }

    async fn is_listed(self, table: &str, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(ListStore { backend: self.0.client(), table }.members(keys).await?.contains(&entity.row_key))
    }

    /// Checks whether an index row points to an entity that has it.
    async fn index_row(self, layout: usize, row: Row) -> Result<Option<LocatedFinding>> {
        let RowPlace { index, table, .. } = self.0.place(layout);
        let keys = row.as_ref().keys();
        let owner = self.0.owner(layout, row.as_ref())?;
        if self.points_to_any_entity(layout, &keys, &owner).await? {
            return Ok(None);
        }
        // If a writer was active, it has changed the row or the entity by now.
        let now = self.get(&table, &keys).await?;
        let Some(now) = now.filter(|now| now.etag == row.etag) else { return Ok(None) };
        if self.points_to_any_entity(layout, &keys, &owner).await? {
            return Ok(None);
        }
        let (row, entity) = (RowId::of(&table, &keys), self.0.entity_id(layout, &owner));
        let finding = Finding::StaleRow { index: index.unwrap_or_default(), row, entity };
        Ok(Some(LocatedFinding { finding, layout, entity: owner, row: Some((keys, now.etag)) }))
    }

    /// Checks whether an index row points to an entity that has it, committed or pending. A pending entity is a finding
    /// of its own.
    async fn points_to_any_entity(self, layout: usize, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(self.0.entity(layout, entity).await?.is_some_and(|found| found.encoded.has(layout, keys)))
    }

    /// Returns a finding for each of these entities in a list that is missing or has another value.
    async fn list(self, layout: usize, keys: &RowKeys, members: Vec<RowKeys>) -> Result<Vec<LocatedFinding>> {
        let RowPlace { index, table, .. } = self.0.place(layout);
        let mut findings = Vec::new();
        for entity in members {
            match self.is_listed_correctly((layout, &table), keys, &entity).await {
                Ok(true) => continue,
                // The scan of the entities reports the entity itself.
                Err(error) if is_unreadable(&error) => continue,
                checked => checked?,
            };
            let (row, id) = (RowId::of(&table, keys), self.0.entity_id(layout, &entity));
            let finding = Finding::StaleRow { index: index.clone().unwrap_or_default(), row, entity: id };
            findings.push(LocatedFinding { finding, layout, entity, row: None });
        }
        Ok(findings)
    }

    async fn is_listed_correctly(
        self,
        (layout, table): (usize, &str),
        list: &RowKeys,
        entity: &RowKeys,
    ) -> Result<bool> {
        Ok(self.points_to_any_entity(layout, list, entity).await?
            // If a writer was active, it has changed the list or the entity by now.
            || !self.is_listed(table, list, entity).await?
            || self.is_taken(layout, list, entity).await?)
    }
}

/// Returns the finding for an entity whose insert is not committed.
fn pending(table: &str, keys: RowKeys, etag: ETag) -> LocatedFinding {
    let finding = Finding::Pending { entity: RowId::of(table, &keys) };
    LocatedFinding { finding, layout: 0, row: Some((keys.clone(), etag)), entity: keys }
}

/// Drops the findings about a row that points to an unreadable one, which the scan reports by itself.
fn without_unreadable(findings: Result<Vec<LocatedFinding>>) -> Result<Vec<LocatedFinding>> {
    match findings {
        Err(error) if is_unreadable(&error) => Ok(Vec::new()),
        findings => findings,
    }
}
