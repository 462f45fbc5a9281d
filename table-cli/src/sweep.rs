//! `tables sweep`.

use std::{collections::BTreeMap, io::Write};

use serde::{Deserialize, Serialize};
use table_runtime::{inventory::RecordedEntity, jobs::Swept, row::RowId};

use crate::{
    arguments::Sweep,
    cursor::{CursorFile, Transfer, resumed},
    failure::Failure,
    progress::ProgressLine,
    store::Store,
    verify::entity_called,
};

/// Number of entities that a dry run prints.
const PRINTED: usize = 1000;

/// The position of a sweep, and what was found before.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SweepPosition {
    cursor: Option<String>,
    found: usize,
    removed: usize,
    unreadable: usize,
    left: usize,
    unknown: BTreeMap<String, usize>,
}

impl SweepPosition {
    /// Adds what a job has found after the position.
    fn plus(&self, swept: &Swept) -> Self {
        let mut unknown = self.unknown.clone();
        for (index, entities) in &swept.unknown {
            *unknown.entry(index.clone()).or_default() += entities;
        }
        Self {
            cursor: swept.cursor.clone(),
            found: self.found + swept.found,
            removed: self.removed + swept.removed,
            unreadable: self.unreadable + swept.unreadable,
            left: self.left + swept.left,
            unknown,
        }
    }
}

/// Removes the entities that have expired.
pub(crate) async fn sweep(store: &Store, sweep: &Sweep, out: &mut impl Write) -> Result<(), Failure> {
    let (age, read) = (format!("{:?}", sweep.deleted_before), sweep.shared.described());
    let arguments = ["sweep", &store.identity, &sweep.entity, &age, &read].map(|text| Some(text.as_bytes()));
    let cursor = CursorFile::new(sweep.writing.resuming.cursor.as_deref(), Transfer::of(&arguments));
    let mut begun: SweepPosition = cursor.read()?.unwrap_or_default();
    let line = ProgressLine::new("entities found");
    let swept = loop {
        // The sweep ends early if a program has changed the layouts.
        let inventory = store.tables.inventory().await?;
        let entity = entity_called(&inventory, &sweep.entity)?;
        check(entity, sweep)?;
        let mut found = Vec::new();
        let mut job = sweep.shared.apply(inventory.sweep(&store.tables, entity));
        if let Some(age) = sweep.deleted_before {
            job = job.deleted_before(age);
        }
        if sweep.writing.dry_run {
            job = job.found(|row: &RowId| found.extend((found.len() < PRINTED).then(|| row.to_string())));
        }
        let job = resumed(sweep.writing.apply(job), begun.cursor.as_deref())?;
        let job = line.follow(job, |swept| cursor.save(&begun.plus(swept)));
        let swept = line.watch(job).await??;
        for row in found {
            line.suspend(|| writeln!(out, "{row}"))?;
        }
        let all = begun.plus(&swept);
        if !swept.is_outdated {
            break all;
        }
        // What is still there is found again.
        begun = SweepPosition { found: all.removed, removed: all.removed, ..SweepPosition::default() };
    };
    drop(line);
    cursor.remove()?;
    let entities = if swept.found == 1 { "entity" } else { "entities" };
    writeln!(out, "{} {entities} found, {} removed", swept.found, swept.removed)?;
    if swept.unreadable > 0 {
        writeln!(out, "{} rows could not be read; see `tables verify`", swept.unreadable)?;
    }
    if swept.left == 0 {
        return Ok(());
    }
    let left: Vec<_> = swept.unknown.iter().map(|(index, entities)| format!("{entities} of {index}")).collect();
    Err(Failure::found(format!(
        "not removed, because their rows in an index cannot be computed: {}; run `tables.sweep` in a program that has the \
         entity's type",
        left.join(", ")
    )))
}

/// Checks that the entity has what the sweep is asked for.
fn check(entity: &RecordedEntity, sweep: &Sweep) -> Result<(), Failure> {
    let name = &sweep.entity;
    if let Some(place) = &entity.moved {
        return Err(Failure::input(format!("{name} was moved to {place}; sweep the entity there")));
    }
    if entity.events.is_some() {
        let hint = "run `tables.sweep` in a program that has the entity's type";
        return Err(Failure::input(format!("{name} records events, which this command cannot; {hint}")));
    }
    if sweep.deleted_before.is_some() && entity.soft_delete.is_none() {
        return Err(Failure::input(format!("{name} is recorded without `soft_delete`, so it has no bin")));
    }
    if entity.expires.is_none() && sweep.deleted_before.is_none() {
        let hint = match entity.soft_delete {
            Some(_) => "give --deleted-before to empty its bin",
            None => "put `#[table(expires = …)]` on its struct",
        };
        return Err(Failure::input(format!("{name} is recorded without `expires`; {hint}")));
    }
    Ok(())
}
