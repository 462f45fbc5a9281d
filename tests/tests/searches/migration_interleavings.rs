//! Every interleaving of a migration with a writer of the old struct, and with a second run of the migration.

use std::{
    future::{IntoFuture, poll_fn},
    task::Poll,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use table_runtime::{Error, TableEntity, row::ValueRef, testing::Request};
use tests::{
    depth::Depth,
    explore::{Explorer, Op, Progress, Seen, Stage, staged},
    plain::Plain,
};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Before", entity = "Member")]
struct Old {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    value: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "After", entity = "Member")]
struct New {
    #[partition_key]
    team: String,
    #[row_key(reverse)]
    id: u32,
    value: u32,
}

impl From<Old> for New {
    fn from(Old { team, id, value }: Old) -> Self {
        Self { team, id, value }
    }
}

fn old(id: u32, value: u32) -> Old {
    Old { team: "a".to_owned(), id, value }
}

/// The entities when the operations begin.
const ENTITIES: [(u32, u32); 2] = [(1, 1), (2, 2)];

/// Lengths of a lease, and of half of it.
const LEASE: Duration = Duration::from_mins(1);
const HALF: Duration = Duration::from_secs(30);

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// A program with the old struct, which was started before, inserts, upserts, updates or removes.
    Insert(u32, u32),
    Update(u32, u32),
    Patch(u32, u32),
    Remove(u32),
    /// A run of the migration.
    Migrate,
    /// A run of the migration whose process ends after so many waits for the store, and then another run.
    Again(usize),
    /// Half of a lease passes.
    Half,
    /// Half of a lease passes, and then a whole one.
    Time,
}

use Act::{Again, Half, Insert, Migrate, Patch, Remove, Time, Update};

impl Act {
    /// Returns the entity that it writes, with its value afterwards.
    const fn written(self) -> Option<(u32, Option<u32>)> {
        match self {
            Insert(id, value) | Update(id, value) | Patch(id, value) => Some((id, Some(value))),
            Remove(id) => Some((id, None)),
            Migrate | Again(_) | Half | Time => None,
        }
    }
}

/// Runs an operation. Returns whether it succeeded.
async fn run(stage: Stage, act: Act) -> bool {
    let Stage { tables, .. } = &stage;
    if !matches!(act, Half | Time) {
        stage.wait(Duration::ZERO).await;
    }
    let written = match act {
        Insert(id, value) => tables.insert(&old(id, value)).await.map(drop),
        Update(id, value) => match Old::key("a", id).get(tables).await {
            Ok(Some(mut stored)) => {
                stored.value = value;
                tables.update(&mut stored).await.map(drop)
            }
            found => panic!("{found:?}"),
        },
        Patch(id, value) => tables.patch(Old::key("a", id), |old| [old.value.set(value)]).await.map(drop),
        Remove(id) => tables.remove(Old::key("a", id)).await.map(drop),
        Migrate | Again(_) => {
            if let Again(waits) = act {
                let mut run = tables.migrate::<Old, New>().into_future();
                let mut waited = 0;
                poll_fn(|context| match run.as_mut().poll(context) {
                    Poll::Pending if waited < waits => {
                        waited += 1;
                        Poll::Pending
                    }
                    _ => Poll::Ready(()),
                })
                .await;
            }
            return match tables.migrate::<Old, New>().await {
                Ok(migrated) => {
                    assert!(migrated.switched, "{migrated:?}");
                    true
                }
                // Another run has begun, or writes to the place of this one.
                Err(Error::Query(_) | Error::Bulk(_)) => false,
                Err(error) => panic!("{error}"),
            };
        }
        Half | Time => {
            stage.wait(HALF).await;
            if act == Time {
                stage.wait(LEASE).await;
            }
            return true;
        }
    };
    match written {
        Ok(()) => true,
        // The second is the answer of a writer whose lease ended before the store answered.
        Err(Error::EntityMoved { .. } | Error::OutcomeUnknown(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Returns whether the old and the new place are recorded as ready.
fn ready(store: &Plain) -> (bool, bool) {
    let mut ready = (false, false);
    store.for_each_row(|table, row| {
        let is_ready = || matches!(row.properties.get("State"), Some(ValueRef::String(state)) if state == "Ready");
        if table == "TableLayouts" && row.row_key.starts_with("before ") {
            ready.0 = is_ready();
        }
        if table == "TableLayouts" && row.row_key.starts_with("after ") {
            ready.1 = is_ready();
        }
    });
    ready
}

/// Checks every state.
async fn check(acts: &[Act], seen: &Seen<'_, bool>) -> Result<()> {
    let (is_old_ready, is_new_ready) = ready(&seen.store);
    ensure!(!is_old_ready || !is_new_ready, "both places are ready");
    for (act, progress) in acts.iter().zip(&seen.ops) {
        ensure!(
            !matches!(act, Migrate | Again(_)) || is_new_ready || *progress != Progress::Ended(&true),
            "a migration ended, and the new place is closed"
        );
    }
    if !is_new_ready {
        return Ok(());
    }
    let found: Vec<_> = New::by_key("a").all(&seen.tables).await?.iter().map(|new| (new.id, new.value)).collect();
    for id in 1..5 {
        let now = found.iter().find(|(found, _)| *found == id).map(|(_, value)| *value);
        let before = ENTITIES.iter().find(|(known, _)| *known == id).map(|(_, value)| *value);
        let mut possible = vec![before];
        for (act, progress) in acts.iter().zip(&seen.ops) {
            let Some((_, after)) = act.written().filter(|(written, _)| *written == id) else { continue };
            match progress {
                Progress::Ended(true) => possible = vec![after],
                _ => possible.push(after),
            }
        }
        ensure!(
            possible.contains(&now),
            "entity {id} has the value {now:?} in the new place, and not one of {possible:?}"
        );
    }
    ensure!(found.iter().all(|(id, _)| (1..5).contains(id)), "{found:?}");
    Ok(())
}

/// Explores operations on a store with the old entities.
fn explore(options: Explorer, acts: &[Act]) -> Result<()> {
    let began = Instant::now();
    let store = Plain::default();
    let fill = async {
        let tables = store.tables();
        tables.create::<Old>().await?;
        for (id, value) in ENTITIES {
            tables.insert(&old(id, value)).await?;
        }
        Ok::<_, Error>(())
    };
    fill.now_or_never().context("a plain store does not wait")??;
    let operation = |act: &Act| -> Op<bool> {
        let act = *act;
        let op = staged(format!("{act:?}"), move |stage| run(stage, act));
        if act.written().is_none() {
            return op;
        }
        op.prepared(|stage| async move { stage.tables.create::<Old>().await.expect("it fits") })
    };
    let ops: Vec<_> = acts.iter().map(operation).collect();
    let explored = options.explore(&store, &ops, async |seen| check(acts, seen).await);
    let explored = explored.with_context(|| format!("{acts:?}"))?;
    if Depth::Full.is_reached() {
        println!("{acts:?} {explored:?} {:?}", began.elapsed());
    }
    Ok(())
}

/// Checks whether a request writes to the new place.
fn is_copy(request: &Request) -> bool {
    matches!(request, Request::Execute(groups) if groups.iter().any(|group| group.table == "After"))
}

/// Options of a search in which the writes of a migration arrive before time passes: a run checks before each write that
/// no later run has begun, and cannot check it afterwards.
fn prompt() -> Explorer {
    Explorer { is_prompt: is_copy, late_writes: false, ..Explorer::default() }
}

#[test]
fn a_migration_beside_a_writer() -> Result<()> {
    for act in [Insert(3, 3), Update(1, 4), Patch(1, 4), Remove(1)] {
        explore(Explorer::default(), &[Migrate, act])?;
    }
    Ok(())
}

#[test]
fn a_migration_beside_a_writer_while_time_passes() -> Result<()> {
    for act in [Insert(3, 3), Remove(1)] {
        explore(Explorer::default(), &[Migrate, act, Half])?;
        if Depth::Full.is_reached() {
            explore(Explorer::default(), &[Migrate, act, Time])?;
        }
    }
    Ok(())
}

#[test]
fn a_migration_beside_two_writers() -> Result<()> {
    explore(Explorer::default(), &[Migrate, Insert(3, 3), Remove(1)])
}

#[test]
fn a_second_run_after_a_crash_beside_a_writer() -> Result<()> {
    let (acts, step) = if Depth::Full.is_reached() {
        (&[Insert(3, 3), Update(1, 4), Remove(1)][..], 1)
    } else {
        (&[Remove(1)][..], 9)
    };
    for act in acts {
        for waits in (0..WAITS).step_by(step) {
            explore(prompt(), &[Again(waits), *act])?;
        }
    }
    Ok(())
}

#[test]
fn two_runs() -> Result<()> {
    if Depth::Full.is_reached() {
        return explore(prompt(), &[Migrate, Migrate]);
    }
    // The first run has crashed when the second one begins.
    for waits in (0..WAITS).step_by(3) {
        explore(prompt(), &[Again(waits)])?;
    }
    Ok(())
}

/// Number of times that a run waits for the store, or more.
const WAITS: usize = 36;
