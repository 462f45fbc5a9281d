//! What a request does that got no answer and is carried out later: the table in `docs/index-protocol.md`, run through every
//! entrance. `LATE=overwrite` rewrites the table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Tables,
    backend::{Action, Group, IfMatch, Operation, Reach},
    bulk::BulkProgress,
    jobs::Finding,
    testing::{Fault, Faulty, Request, Scheduled},
};
use tests::{
    documented,
    driven::{Next, drive},
    items::{self, Fields, ItemKind, Write, fixed, old_store, promised, store},
    plain::Plain,
};

/// A write, through one of the entrances.
#[derive(Clone, Copy, Debug)]
enum Act {
    Insert(Fields),
    Upsert(Fields),
    Merge(Fields),
    Update(Fields),
    Modify(Fields),
    ModifyOrInsert(Fields),
    GetOrInsert(Fields),
    Patch(u32),
    Delete(u32),
    Remove(u32),
    InsertAll(Fields, Fields),
    UpsertAll(Fields, Fields),
    RemoveAll(u32, u32),
    RemoveRead(u32, u32),
    Transact(Write, Write),
    Repair,
    Backfill,
}

const START: [Fields; 2] = [Fields::new(1, 1, 4), Fields::new(2, 2, 2)];

/// The value 3 is free, or belongs to what a crashed writer has left behind.
const ACTS: [Act; 25] = [
    Act::Insert(Fields::new(3, 3, 3)),
    Act::Insert(Fields::new(4, 3, 3)),
    // It violates the second unique index after it has taken the first value.
    Act::Insert(Fields::new(3, 3, 2)),
    Act::Upsert(Fields::new(3, 3, 3)),
    Act::Upsert(Fields::new(1, 3, 3)),
    Act::Merge(Fields::new(1, 3, 3)),
    Act::Update(Fields::new(1, 3, 3)),
    Act::Update(Fields::new(1, 3, 2)),
    Act::Update(Fields { note: 7, ..START[0] }),
    Act::Modify(Fields::new(1, 3, 3)),
    Act::ModifyOrInsert(Fields::new(3, 3, 3)),
    Act::GetOrInsert(Fields::new(3, 3, 3)),
    Act::GetOrInsert(Fields::new(3, 3, 2)),
    Act::Patch(1),
    Act::Delete(1),
    Act::Remove(1),
    Act::InsertAll(Fields::new(3, 3, 3), Fields::new(4, 4, 1)),
    Act::UpsertAll(Fields::new(1, 3, 3), Fields::new(3, 4, 1)),
    Act::RemoveAll(1, 2),
    Act::RemoveRead(1, 2),
    Act::Transact(Write::Insert(Fields::new(3, 3, 3)), Write::Insert(Fields::new(4, 4, 1))),
    Act::Transact(Write::Insert(Fields::new(3, 3, 3)), Write::Note(1, 7)),
    Act::Transact(Write::Update(1, 3, 3), Write::Delete(2)),
    Act::Repair,
    Act::Backfill,
];

/// What happens between the end of the write and the moment at which the request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    /// Each entity gets other values.
    Changed,
    /// Each entity keeps its values, and gets another note.
    Noted,
    Deleted,
    /// Each entity is deleted, and inserted with the values that it had before the write, or as the write left it.
    Restored,
    /// Each entity is deleted, and others get its values, those before the write and those that the write left.
    Taken,
}

impl Between {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Nothing, "nothing"),
        (Self::Changed, "the entity got other values"),
        (Self::Noted, "another property was changed"),
        (Self::Deleted, "it was deleted"),
        (Self::Restored, "it was deleted and inserted again"),
        (Self::Taken, "it was deleted and its values taken"),
    ];

    async fn run(self, kind: &dyn ItemKind, tables: &Tables) -> Result<()> {
        let all = kind.all(tables).await?;
        for fields in &all {
            match self {
                Self::Nothing => {}
                Self::Changed => {
                    let change = Fields::change_to(fields.value + 10, fields.other + 10);
                    kind.modify(tables, fields.id, change).await?;
                }
                Self::Noted => {
                    let change = |fields| Fields { note: 8, ..fields };
                    kind.modify(tables, fields.id, Box::new(change)).await?;
                }
                Self::Deleted | Self::Restored | Self::Taken => {
                    kind.remove(tables, fields.id).await?;
                }
            }
        }
        let had = all.iter().filter(|fields| START.iter().all(|first| first.id != fields.id));
        for (at, fields) in (10..).zip(START.iter().chain(had)) {
            match self {
                Self::Nothing | Self::Changed | Self::Noted | Self::Deleted => {}
                Self::Restored => drop(kind.insert(tables, *fields).await),
                Self::Taken => drop(kind.insert(tables, Fields { id: at, ..*fields }).await),
            }
        }
        for fields in all.iter().filter(|_| self == Self::Taken) {
            // Some values are taken by now.
            drop(kind.insert(tables, Fields { id: fields.id + 20, ..*fields }).await);
        }
        Ok(())
    }
}

async fn run(kind: &dyn ItemKind, tables: &Tables, act: Act) -> table_runtime::Result<()> {
    let read = async |id| kind.get(tables, id).await;
    match act {
        Act::Insert(fields) => kind.insert(tables, fields).await,
        Act::Upsert(fields) => kind.upsert(tables, fields).await,
        Act::Merge(fields) => kind.merge(tables, fields).await,
        Act::Update(fields) => match read(fields.id).await? {
            Some(item) => item.update(tables, fields).await,
            None => Ok(()),
        },
        Act::Modify(fields) => {
            kind.modify(tables, fields.id, Fields::change_to(fields.value, fields.other)).await.map(drop)
        }
        Act::ModifyOrInsert(fields) => {
            kind.modify_or_insert(tables, fields, Fields::change_to(fields.value, fields.other)).await
        }
        Act::GetOrInsert(fields) => kind.get_or_insert(tables, fields).await.map(drop),
        Act::Patch(id) => kind.patch(tables, id, 4).await,
        Act::Delete(id) => match read(id).await? {
            Some(item) => item.delete(tables).await,
            None => Ok(()),
        },
        Act::Remove(id) => kind.remove(tables, id).await.map(drop),
        Act::InsertAll(one, other) => in_bulk(kind.insert_all(tables, [one, other]).await),
        Act::UpsertAll(one, other) => in_bulk(kind.upsert_all(tables, [one, other]).await),
        Act::RemoveAll(one, other) => kind.remove_all(tables, [one, other]).await,
        Act::RemoveRead(one, other) => kind.remove_read(tables, [one, other]).await,
        Act::Transact(one, other) => kind.transact(tables, [one, other]).await.map(drop),
        Act::Repair => kind.repair(tables).await.map(drop),
        Act::Backfill => {
            for layout in &kind.layouts()[1..] {
                kind.backfill(tables, &layout.name, 1).await?;
            }
            Ok(())
        }
    }
}

fn in_bulk(result: table_runtime::Result<BulkProgress>) -> table_runtime::Result<()> {
    match result {
        // Its failures are those of single writes.
        Ok(_) | Err(Error::Bulk(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the name of a write in the table; `None` for a write of the catalog.
fn name(kind: &dyn ItemKind, store: &Plain, request: &Request) -> Option<&'static str> {
    let Request::Execute(groups) = request else { return None };
    let key = &kind.layouts()[0];
    let is_entity = |group: &Group, operation: &Operation| {
        group.table == key.table
            && group.partition_key.starts_with(&*key.partition_prefix)
            && operation.row_key.starts_with(&*key.row_prefix)
            && kind.layouts()[1..].iter().all(|layout| {
                layout.table != key.table
                    || layout.row_prefix.is_empty()
                    || !operation.row_key.starts_with(&*layout.row_prefix)
            })
    };
    let operations: Vec<_> =
        groups.iter().flat_map(|group| group.operations.iter().map(move |operation| (group, operation))).collect();
    if let Some((group, operation)) = operations.iter().find(|(group, operation)| is_entity(group, operation)) {
        let is_pending = || {
            store.rows().iter().any(|(table, row)| {
                *table == *group.table
                    && row.row_key == operation.row_key
                    && row.properties.get("IndexPending").is_some()
            })
        };
        return Some(match &operation.action {
            Action::Insert(properties) if properties.get("IndexPending").is_some() => "pending insert",
            Action::Merge(properties, _) if properties.is_empty() => "fence of an entity",
            Action::Delete(_) if is_pending() => "deletion of a pending insert",
            Action::Insert(_) => "insert in one transaction",
            Action::Merge(_, IfMatch::Any) => "patch",
            _ => "commit",
        });
    }
    let (group, operation) = operations.first()?;
    let layout = kind.layouts()[1..].iter().find(|layout| layout.table == group.table)?;
    let index = layout.index.as_ref()?;
    Some(match (&operation.action, index.holds) {
        (Action::Delete(_), table_runtime::layout::Holds::Copy) => "deletion of a copy",
        (_, table_runtime::layout::Holds::Copy) => "copy",
        (Action::Insert(_), _) => "claim of a free value",
        (Action::Replace(..), _) => "claim that is rewritten or taken over",
        (Action::Delete(_), _) => "release or roll back",
        (Action::Merge(..), _) => "fence of an index row",
        _ => "index row",
    })
}

fn found(findings: &[Finding]) -> BTreeSet<&'static str> {
    let name = |finding: &Finding| match finding {
        Finding::Pending { .. } => "a pending insert",
        Finding::MissingRow { .. } => "a missing copy",
        Finding::StaleRow { .. } => "a stale row",
        Finding::StaleCopy { .. } => "an old copy",
        other => panic!("{other:?}"),
    };
    findings.iter().map(name).collect()
}

/// The effects of each request in each column.
type Effects = BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>>;

/// Runs a write whose `n`th request for rows gets no answer. Returns the name of that request and its effect; `None` if there are
/// fewer.
async fn late(
    kind: &dyn ItemKind,
    start: &Plain,
    act: Act,
    n: usize,
    between: Between,
) -> Result<Option<(Option<&'static str>, BTreeSet<&'static str>)>> {
    let store = start.copy();
    let (backend, schedule) = Scheduled::new(store.clone());
    let tables = Tables::new(backend);
    let (mut writes, mut request) = (0, None);
    let told = drive(&schedule, run(kind, &tables, act), async |waiting| {
        if !waiting.is_write() {
            return Next::Grant;
        }
        writes += 1;
        if writes != n + 1 {
            return Next::Grant;
        }
        request = Some(name(kind, &store, waiting));
        Next::Lose
    })
    .await?;
    let Some(name) = request else { return Ok(None) };
    let direct = store.tables();
    between.run(kind, &direct).await.with_context(|| format!("after {told:?}"))?;
    let (seen, before) = (promised(kind, &direct).await?, kind.verify(&direct).await?);
    let rows = store.rows();
    let at = schedule.waiting().iter().position(|waiting| waiting.is_dropped).context("it was forgotten")?;
    schedule.grant(at).context("the request")?.send(&store, &()).await;
    let (now, after) = (promised(kind, &direct).await?, kind.verify(&direct).await?);
    let more: Vec<_> = after.iter().filter(|finding| !before.contains(finding)).cloned().collect();
    let mut effects = found(&more);
    if now != seen {
        effects.insert("the write");
    } else if store.rows() == rows {
        effects.insert("refused");
    } else if effects.is_empty() {
        effects.insert(if after.len() < before.len() { "a row less that was left" } else { "nothing to see" });
    }
    fixed(kind, &direct, &now).await.with_context(|| format!("{told:?}\n{store}"))?;
    Ok(Some((name, effects)))
}

/// Returns stores on which the writes begin: with all rows, and with what crashed writers have left.
async fn starts(kind: &dyn ItemKind, reach: Reach) -> Result<Vec<Plain>> {
    let mut starts = vec![store(kind, reach, &START).await?];
    for act in [Act::Insert(Fields::new(3, 3, 3)), Act::Update(Fields::new(2, 3, 3))] {
        for n in 1..3 {
            let store = store(kind, reach, &START).await?;
            let (backend, faults) = Faulty::new(store.clone());
            faults.arm_write(Fault::StopsBefore, n);
            // It fails.
            let _ = run(kind, &Tables::new(backend), act).await;
            if faults.hit().is_some() {
                starts.push(store);
            }
        }
    }
    Ok(starts)
}

async fn collect(kind: &dyn ItemKind, reach: Reach, effects: &mut Effects) -> Result<()> {
    // Before a backfill, items may share a value.
    let old = (old_store(kind, reach, &START).await?, &[Act::Backfill][..]);
    let starts = starts(kind, reach).await?.into_iter().map(|start| (start, &ACTS[..]));
    for (start, acts) in starts.chain([old]) {
        for act in acts.iter().copied() {
            for (between, column) in Between::ALL {
                for n in 0.. {
                    let case = || format!("{act:?}, write {n}, then {between:?}, {reach:?}\n{start}");
                    let Some((name, found)) = late(kind, &start, act, n, between).await.with_context(case)? else {
                        break;
                    };
                    if let Some(name) = name {
                        effects.entry((name, column)).or_default().extend(found);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The rows of the table.
const REQUESTS: [&str; 13] = [
    "pending insert",
    "claim of a free value",
    "claim that is rewritten or taken over",
    "index row",
    "fence of an index row",
    "fence of an entity",
    "deletion of a pending insert",
    "commit",
    "insert in one transaction",
    "patch",
    "release or roll back",
    "copy",
    "deletion of a copy",
];

#[tokio::test]
async fn a_late_request_does_what_the_table_says() -> Result<()> {
    let in_steps = [
        items::two_elsewhere::KIND,
        items::mixed_one::KIND,
        items::mixed_two::KIND,
        items::include_elsewhere::KIND,
        items::unique_include_elsewhere::KIND,
        items::list_in_partition::KIND,
    ];
    let in_one_transaction = [items::mixed_one::KIND, items::list_in_partition::KIND];
    let in_steps = in_steps.into_iter().map(|kind| (kind, Reach::Partition));
    let mut effects = Effects::new();
    for (kind, reach) in in_steps.chain(in_one_transaction.map(|kind| (kind, Reach::Store))) {
        let names = || format!("{:?}", kind.layouts()[1..].iter().map(|layout| &*layout.name).collect::<Vec<_>>());
        collect(kind, reach, &mut effects).await.with_context(names)?;
    }
    ensure!(effects.keys().all(|(name, _)| REQUESTS.contains(name)), "{effects:?}");
    let mut table = String::from("| request | ");
    table.push_str(&Between::ALL.map(|(_, column)| column).join(" | "));
    table.push_str(" |\n|---|---|---|---|---|---|---|\n");
    for request in REQUESTS {
        let cell = |column| {
            let found = effects.get(&(request, column)).with_context(|| format!("{request}, {column}"))?;
            Ok(found.iter().copied().collect::<Vec<_>>().join(", "))
        };
        let cells: Vec<_> = Between::ALL.iter().map(|(_, column)| cell(column)).collect::<Result<_>>()?;
        writeln!(table, "| {request} | {} |", cells.join(" | "))?;
    }
    documented::shows("docs/index-protocol.md", "late", "LATE", &table)
}
