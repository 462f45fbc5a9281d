//! `tables sweep`.

use std::io::Write;

use table_runtime::inventory::{RecordedEntity, SweepOptions, SweptRows};

use crate::{arguments::Sweep, failure::Failure, store::Store, verify::entity_called};

/// Number of entities that a dry run prints.
const PRINTED: u64 = 1000;

/// Removes the entities that have expired.
pub(crate) async fn sweep(store: &Store, sweep: &Sweep, out: &mut impl Write) -> Result<(), Failure> {
    let options = SweepOptions { deleted_before: sweep.deleted_before, dry_run: sweep.dry_run };
    let mut swept = SweptRows::default();
    let mut failed = None;
    loop {
        // The sweep ends early if a program has changed the layouts.
        let inventory = store.tables.inventory().await?;
        let entity = entity_called(&inventory, &sweep.entity)?;
        check(entity, sweep)?;
        let mut printed = 0;
        let more = inventory
            .sweep(&store.tables, entity, options, |row| {
                printed += 1;
                if options.dry_run
                    && printed <= PRINTED
                    && let Err(error) = writeln!(out, "{row}")
                {
                    failed.get_or_insert(error);
                }
            })
            .await?;
        let is_outdated = more.is_outdated;
        // What is still there is found again.
        let removed = swept.removed;
        swept = more;
        (swept.found, swept.removed) = (removed + swept.found, removed + swept.removed);
        if !is_outdated {
            break;
        }
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let entities = if swept.found == 1 { "entity" } else { "entities" };
    writeln!(out, "{} {entities} found, {} removed", swept.found, swept.removed)?;
    if swept.unreadable > 0 {
        writeln!(out, "{} rows could not be read; see `tables verify`", swept.unreadable)?;
    }
    if swept.left.is_empty() {
        return Ok(());
    }
    let left: Vec<_> = swept.left.iter().map(|(index, entities)| format!("{entities} of {index}")).collect();
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
