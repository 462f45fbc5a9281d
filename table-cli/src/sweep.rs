//! `tables sweep`.

use std::io::Write;

use table_runtime::{inventory::RecordedEntity, jobs::Swept, row::RowId};

use crate::{arguments::Sweep, failure::Failure, store::Store, verify::entity_called};

/// Number of entities that a dry run prints.
const PRINTED: usize = 1000;

/// Removes the entities that have expired.
pub(crate) async fn sweep(store: &Store, sweep: &Sweep, out: &mut impl Write) -> Result<(), Failure> {
    let mut swept = Swept::default();
    loop {
        // The sweep ends early if a program has changed the layouts.
        let inventory = store.tables.inventory().await?;
        let entity = entity_called(&inventory, &sweep.entity)?;
        check(entity, sweep)?;
        let mut found = Vec::new();
        let mut job = inventory.sweep(&store.tables, entity);
        if let Some(age) = sweep.deleted_before {
            job = job.deleted_before(age);
        }
        if sweep.dry_run {
            let print = |row: &RowId| found.extend((found.len() < PRINTED).then(|| row.to_string()));
            job = job.dry_run().found(print);
        }
        let more = job.await?;
        for row in found {
            writeln!(out, "{row}")?;
        }
        let is_outdated = more.is_outdated;
        // What is still there is found again.
        let removed = swept.removed;
        swept = more;
        (swept.found, swept.removed) = (removed + swept.found, removed + swept.removed);
        if !is_outdated {
            break;
        }
    }
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
