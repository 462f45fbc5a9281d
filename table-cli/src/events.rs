//! `tables events`.

use std::io::Write;

use table_runtime::{inventory::EntityEvents, row::ValueRef};

use crate::{
    arguments::{Events, OneEvent},
    failure::{Failure, printable},
    list,
    store::Store,
    verify::entity_called,
};

/// Lists events, or changes what becomes of them.
pub(crate) async fn events(store: &Store, events: &Events, out: &mut impl Write) -> Result<(), Failure> {
    match events {
        Events::List { entity } => list_events(&events_of(store, entity).await?, out).await,
        Events::Retry(OneEvent { entity, id }) => {
            let is_found = events_of(store, entity).await?.retry(*id).await?;
            done(is_found, entity, &format!("relays deliver the event {id} again"), out)
        }
        Events::Discard(OneEvent { entity, id }) => {
            let is_found = events_of(store, entity).await?.discard(*id).await?;
            done(is_found, entity, &format!("the event {id} was deleted"), out)
        }
        Events::Optional { entity } => {
            let was_required = events_of(store, entity).await?.make_optional().await?;
            let what = if was_required { "not required any more" } else { "not required" };
            Ok(writeln!(out, "events of {entity} are {what}")?)
        }
    }
}

async fn events_of(store: &Store, entity: &str) -> Result<EntityEvents, Failure> {
    let inventory = store.tables.inventory().await?;
    let events = entity_called(&inventory, entity)?.events_in(&store.tables);
    events.ok_or_else(|| Failure::input(format!("no program records events of {entity}")))
}

fn done(is_found: bool, entity: &str, what: &str, out: &mut impl Write) -> Result<(), Failure> {
    if is_found {
        return Ok(writeln!(out, "{what}")?);
    }
    Err(Failure::missing(format!("{entity} has no such event that was put aside; see `tables events list {entity}`")))
}

async fn list_events(events: &EntityEvents, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "waiting for a relay: {}", events.waiting().await?)?;
    let failed = events.failed().await?;
    writeln!(out, "put aside: {}", failed.len())?;
    if failed.is_empty() {
        return Ok(());
    }
    let mut printed = list::table(["id", "at", "change", "attempts", "partition key", "properties"]);
    for event in failed {
        let is_own = |name: &str| name.starts_with("Event");
        let properties = event.row.properties.iter().filter(|(name, _)| !is_own(name));
        let properties: Vec<_> =
            properties.map(|(name, value)| format!("{name}={}", printable(&value.to_text()))).collect();
        let change = event.change.map_or("?", |change| change.name());
        printed.add_row([
            event.id.to_string(),
            ValueRef::DateTime(event.at).to_text(),
            change.to_owned(),
            event.attempts.to_string(),
            printable(&event.row.partition_key),
            properties.join(" "),
        ]);
    }
    list::print(&printed, out)
}
