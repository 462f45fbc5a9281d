//! Writes that meet entities which have expired, or which are in the bin, with a fault at every request. Each leaves what
//! its answer says. After it, every index agrees with the entities, and a sweep leaves no row of one that has expired.

use anyhow::{Context, Result, ensure};
use table_runtime::{Tables, backend::Reach, testing::Clocked};
use tests::{
    faulty::{Run, for_each_fault},
    history::{History, State},
    plain::Plain,
    programs::{Act, Change, Held, Kept, Outcome, agrees, prepare, state},
    subjects::{self, Fields, Subject, moment},
};

/// The moment of the writes.
const NOW: u8 = 2;

const fn fields(group: u8, id: u8, values: [u8; 3], until: u8) -> Fields {
    let [mail, badge, seat] = values;
    let (tag, age, city, note, rate, in_bin, likes, extra) = (badge, 1, seat, 0, 0, false, 0, 0);
    let stamp = group as u32 * 10 + id as u32;
    Fields { group, id, mail: Some(mail), badge, seat, tag, age, city, note, rate, until, in_bin, stamp, likes, extra }
}

/// Entities of the beginning: one that has expired, one that readers see, and one that is in the bin.
const EXPIRED: Fields = fields(0, 0, [0, 0, 0], 1);
const VISIBLE: Fields = fields(0, 1, [1, 1, 1], 4);
const IN_BIN: Fields = Fields { in_bin: true, ..fields(0, 2, [2, 2, 2], 0) };

/// Returns other fields of a write.
const fn written(group: u8, id: u8, values: [u8; 3]) -> Fields {
    Fields { stamp: 100, likes: 1, ..fields(group, id, values, 4) }
}

/// Returns the writes. Those of the group 1 want values of entities in the group 0.
fn acts() -> Vec<Act> {
    let (again, moved) = (written(0, 0, [0, 0, 0]), Fields { tag: 2, note: 1, ..written(0, 0, [0, 0, 0]) });
    let change = |to: Fields| Change { to, bits: u64::MAX };
    vec![
        // The key of the expired entity.
        Act::Insert(again),
        Act::Insert(moved),
        Act::Upsert(moved),
        Act::Merge(moved),
        Act::ModifyOrInsert(moved, change(again)),
        Act::GetOrInsert(again),
        Act::GetOrInsert(moved),
        Act::Modify((0, 0), change(moved)),
        Act::Patch((0, 0), 7),
        Act::Remove((0, 0)),
        Act::SoftDelete((0, 0)),
        Act::Restore((0, 0)),
        Act::InsertAll(vec![moved, written(1, 1, [0, 0, 0])]),
        // Its values: all of them, or some that another one has.
        Act::Insert(written(1, 0, [0, 0, 0])),
        Act::Insert(written(0, 3, [0, 0, 0])),
        Act::GetOrInsert(written(0, 3, [0, 0, 0])),
        Act::GetOrInsert(written(1, 0, [0, 2, 0])),
        // A visible one is returned, also if another one has the values.
        Act::GetOrInsert(written(0, 1, [2, 2, 2])),
        Act::Insert(written(1, 0, [0, 1, 0])),
        Act::Insert(written(1, 0, [0, 2, 0])),
        Act::Upsert(written(1, 0, [0, 0, 0])),
        Act::UpsertAll(vec![written(1, 0, [0, 0, 0])]),
        Act::Update((0, 1), change(Fields { until: 0, ..written(0, 1, [0, 0, 0]) }), Held::Stored),
        Act::Modify((0, 1), change(written(0, 1, [0, 0, 0]))),
        // The bin.
        Act::Insert(written(0, 2, [2, 2, 2])),
        Act::GetOrInsert(written(0, 2, [2, 2, 2])),
        Act::Upsert(written(0, 2, [2, 2, 2])),
        Act::SoftDelete((0, 1)),
        Act::Restore((0, 2)),
        Act::Restore((0, 1)),
        Act::Remove((0, 2)),
        // Jobs.
        Act::Sweep,
        Act::Repair,
    ]
}

/// Returns a store with the entities of the beginning.
async fn start<S: Subject>(reach: Reach) -> Result<Plain> {
    let store = Plain::default().with_reach(reach);
    let tables = Tables::new(Clocked::new(store.clone(), moment(0)).0);
    tables.create::<S>().await?;
    for fields in [EXPIRED, VISIBLE, IN_BIN] {
        tables.insert(&S::new(&Fields { in_bin: false, ..fields })).await?;
    }
    ensure!(S::soft_delete(&tables, IN_BIN.key()).await?, "it was visible");
    Ok(store)
}

/// Checks what a write has left: its answer is true, and no guarantee is broken.
async fn check<S: Subject>(before: &State, act: &Act, run: &Run<Clocked<Plain>, Option<Ran>>) -> Result<()> {
    let tables = &run.tables;
    let after = state::<S>(tables).await?;
    let mut history = History::new(S::INDEXES, before.clone());
    history.pass(NOW);
    if let Some(Ran { outcome, effects }) = &run.result {
        let operation = history.begin(act.clone(), effects.clone());
        if run.fault.is_some() {
            history.disturb(operation);
        }
        history.after(Some(operation), after.clone())?;
        history.end(operation, outcome).with_context(|| format!("{outcome:?}"))?;
    } else {
        ensure!(after == *before, "without an operation, there is {after:?}");
    }
    agrees::<S>(tables, &after, NOW).await?;
    clean::<S>(tables, &after).await
}

/// Checks that a repair and a sweep leave the entities that have not expired, and no other row.
async fn clean<S: Subject>(tables: &Tables, stored: &State) -> Result<()> {
    let repaired = tables.repair::<S>().await?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    S::sweep(tables).await?;
    let findings = tables.verify::<S>().all().await?;
    ensure!(findings.is_empty(), "after the sweep: {findings:?}");
    let left: State =
        stored.iter().filter(|(_, fields)| !fields.has_expired(NOW)).map(|(key, fields)| (*key, *fields)).collect();
    let after = state::<S>(tables).await?;
    ensure!(after == left, "the sweep left {after:?}");
    agrees::<S>(tables, &left, NOW).await.context("after the sweep")
}

/// A write that ran.
struct Ran {
    outcome: Outcome,
    effects: Vec<tests::programs::Effect>,
}

/// Runs a write; `None` if it has nothing to do, or if a read before it failed.
async fn run<S: Subject>(tables: &Tables, act: &Act) -> Option<Ran> {
    let mut ready = prepare(tables, &mut Kept::<S>::new(), act).await.ok()??;
    let effects = ready.effects();
    Some(Ran { outcome: ready.run(tables).await, effects })
}

async fn every_write_survives_every_fault<S: Subject>(reach: Reach) -> Result<()> {
    let start = start::<S>(reach).await?;
    let before = state::<S>(&start.tables()).await?;
    ensure!(before.len() == 3, "{before:?}");
    let mut failed = 0;
    for act in acts() {
        let store = async || Ok(Clocked::new(start.copy(), moment(NOW)).0);
        let program = async |tables: Tables| run::<S>(&tables, &act).await;
        failed += for_each_fault(store, program, async |run| check::<S>(&before, &act, &run).await)
            .await
            .with_context(|| format!("{act:?}"))?;
    }
    println!("{failed} faults");
    Ok(())
}

/// A sweep by the recorded layouts that ends at any request leaves what another one removes.
async fn every_recorded_sweep_survives_every_fault<S: Subject>(reach: Reach) -> Result<()> {
    let start = start::<S>(reach).await?;
    let before = state::<S>(&start.tables()).await?;
    let program = async |tables: Tables| {
        let inventory = tables.inventory().await?;
        let swept = inventory.sweep(&tables, &inventory.entities[0]).await?;
        Ok::<_, table_runtime::Error>((swept.found, swept.removed))
    };
    let store = async || Ok(Clocked::new(start.copy(), moment(NOW)).0);
    let failed = for_each_fault(store, program, async |run| {
        let after = state::<S>(&run.tables).await?;
        let is_swept = !after.contains_key(&EXPIRED.key());
        ensure!(after.len() == before.len() - usize::from(is_swept), "{after:?}");
        if run.fault.is_none() {
            ensure!(matches!(run.result, Ok((1, 1))) && is_swept, "{:?}", run.result);
            ensure!(run.tables.verify::<S>().all().await?.is_empty(), "a finding");
        }
        agrees::<S>(&run.tables, &after, NOW).await?;
        clean::<S>(&run.tables, &after).await
    });
    println!("{} faults", failed.await?);
    Ok(())
}

macro_rules! each {
    ($($name:ident $subject:ident $reach:ident;)+) => {$(
        mod $name {
            use super::{Reach, Result, subjects::$subject::Entity};

            #[tokio::test]
            async fn every_write_survives_every_fault() -> Result<()> {
                super::every_write_survives_every_fault::<Entity>(Reach::$reach).await
            }

            #[tokio::test]
            async fn every_recorded_sweep_survives_every_fault() -> Result<()> {
                super::every_recorded_sweep_survives_every_fault::<Entity>(Reach::$reach).await
            }
        }
    )+};
}

each! {
    in_steps fleeting Partition;
    in_one_transaction fleeting Store;
    in_one_partition brief Partition;
}
