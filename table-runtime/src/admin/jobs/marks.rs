//! Events without a mark: no relay finds them.

use std::ops::ControlFlow;

use table_model::unstable::event::{Delivery, MARKS};
use table_store::{
    Result, RowId, RowRef,
    backend::{BoxFuture, Scan},
    unstable::{RowKeys, order::prefixed},
};

use super::finding::Finding;
use crate::{
    admin::scan::{ScannedPage, Section, SideBySide},
    client::pacing,
    relay::EventSource,
};

/// The events of an entity, and the tables that may have some.
pub struct EventTables {
    pub source: EventSource,
    pub tables: Vec<String>,
}

impl EventTables {
    /// Returns the keys of all events: those that wait, and those that were put aside.
    fn sections(&self, first: usize) -> impl Iterator<Item = Section> {
        let states = Delivery::ALL.into_iter().enumerate();
        states.flat_map(move |(number, state)| {
            let rows = prefixed(&state.prefix(&self.source.place.entity));
            self.tables.iter().map(move |table| {
                let (rows, select) = (rows.clone(), Some([].as_slice().into()));
                let scan = Scan { rows, select, ..Scan::all(table.clone()) };
                Section { layout: first + number, scan, is_slice: true }
            })
        })
    }
}

/// A partition whose events have no mark.
pub struct Unmarked {
    pub mark: RowKeys,
    pub finding: Finding,
}

/// Returns the keys of the events of several entities, as layouts from this one.
pub fn event_sections(events: &[EventTables], first: usize) -> Vec<Section> {
    let states = Delivery::ALL.len();
    events.iter().enumerate().flat_map(|(number, events)| events.sections(first + number * states)).collect()
}

/// Reads these events, and the mark of each of their partitions. Returns the marks that are missing. The scan is that of the
/// [sections](event_sections).
pub async fn find_unmarked(events: &[EventTables], mut scan: SideBySide) -> Result<Vec<Unmarked>> {
    let states = Delivery::ALL.len();
    let work = |page: ScannedPage| -> BoxFuture<'_, _> {
        Box::pin(async move {
            let (source, state) = (&events[page.layout / states].source, Delivery::ALL[page.layout % states]);
            let mut first: Vec<RowKeys> = page.rows().map(RowRef::keys).collect();
            first.dedup_by(|later, first| later.partition_key == first.partition_key);
            let mut checks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(first.len());
            for event in first {
                checks.push(Box::pin(check(source, state, &page.table, event)));
            }
            pacing::concurrently(checks).await
        })
    };
    let mut found = Vec::new();
    scan.each(&work, |_, checked| {
        found.extend(checked.into_iter().flatten());
        ControlFlow::Continue(())
    })
    .await?;
    Ok(found)
}

/// Checks whether the partition of an event has no mark. An event that is there before the mark is read and after it was there
/// meanwhile.
async fn check(source: &EventSource, state: Delivery, table: &str, mut event: RowKeys) -> Result<Option<Unmarked>> {
    let mark = source.place.mark(state, table, &event.partition_key);
    let mut delays = pacing::delays();
    loop {
        if source.has_mark(&mark).await? {
            return Ok(None);
        }
        match source.first(state, table, &event.partition_key).await? {
            None => return Ok(None),
            Some(now) if now == event => {
                let finding = Finding::UnmarkedEvent { event: RowId::of(table, &event), mark: RowId::of(MARKS, &mark) };
                return Ok(Some(Unmarked { mark, finding }));
            }
            // A relay delivers events.
            Some(now) => event = now,
        }
        if !delays.wait(source.backend()).await {
            return Ok(None);
        }
    }
}
