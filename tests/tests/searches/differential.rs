//! Random programs that have to give the same answers and the same rows on the plain store and on every other store.
//!
//! A seed determines the program: `TABLE_TESTS_SEED=7` runs it again. ETags, time stamps and write ids differ from store
//! to store and are left out. So are the differences that are known of Azurite: see [`tests::anything`].

mod error_text;
mod properties;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use futures_util::FutureExt;
use table_runtime::{
    Tables,
    backend::{Backend, BackendExt, Reach},
    testing::Clocked,
};
use tests::{
    programs::{Act, GROUPS, Kept, Outcome, Writer, prepare},
    random::{Random, seeds},
    stores::{Kind, Store},
    subjects::{self, Subject, moment},
};

/// Answers of a store, one line each.
type Answers = Vec<String>;

/// Program that can be run on any store.
trait Program {
    /// Makes the program of a seed.
    fn new(random: &mut Random) -> Self;

    /// Returns its steps, for the message of a failure.
    fn steps(&self) -> Vec<String>;

    /// Runs the program and returns one answer for each step.
    async fn run(&self, store: &Store) -> Result<Answers>;
}

/// Program of operations on an entity with indexes.
struct Indexed<S> {
    /// The operations, and whether time passes before each of them, so that entities expire.
    acts: Vec<(bool, Act)>,
    subject: std::marker::PhantomData<S>,
}

impl<S: Subject> Program for Indexed<S> {
    fn new(random: &mut Random) -> Self {
        let mut writer = Writer { random, stamp: 0 };
        let mut act = || loop {
            let act = writer.act::<S>();
            let is_bulk = matches!(act, Act::InsertAll(_) | Act::UpsertAll(_) | Act::RemoveAll(_) | Act::RemoveRead(_));
            // Entities with cross-partition indexes are written side by side, so their order is not determined.
            if !is_bulk || S::INDEXES.iter().all(|index| index.here) {
                return act;
            }
        };
        let acts: Vec<_> = (0..40).map(|_| act()).collect();
        let acts = acts.into_iter().map(|act| (S::EXPIRES && random.chance(10), act)).collect();
        Self { acts, subject: std::marker::PhantomData }
    }

    fn steps(&self) -> Vec<String> {
        self.acts.iter().map(|(passes, act)| format!("{}{act:?}", if *passes { "later, " } else { "" })).collect()
    }

    async fn run(&self, store: &Store) -> Result<Answers> {
        let (backend, time) = Clocked::new(store.backend.clone(), moment(0));
        let (tables, mut now) = (Tables::new(backend), 0);
        tables.create::<S>().await?;
        let (mut answers, mut kept) = (Answers::new(), Kept::<S>::new());
        for (passes, act) in &self.acts {
            now += u8::from(*passes);
            time.set(moment(now));
            answers.push(step(&tables, &mut kept, act).await?);
        }
        if S::EXPIRES {
            // A write that fails in steps may have deleted an entity that has expired.
            S::sweep(&tables).await?;
        }
        Ok(answers)
    }
}

/// Runs an operation. Returns its outcome, and what there is after it.
async fn step<S: Subject>(tables: &Tables, kept: &mut Kept<S>, act: &Act) -> Result<String> {
    let answer = match prepare(tables, kept, act).await? {
        None => "nothing to do".to_owned(),
        Some(mut ready) => {
            let outcome = ready.run(tables).await;
            ready.keep(kept);
            outcome_text(&outcome)
        }
    };
    let mut all = Vec::new();
    for group in 0..GROUPS {
        all.extend(if S::EXPIRES { S::all(tables, group).await? } else { S::with_extra(tables, group).await? });
        all.extend(S::in_bin(tables, group).await?);
    }
    Ok(format!("{answer}, and there are {all:?}"))
}

/// Programs of two tenants side by side. Each has to get the answers that it gets alone.
struct Tenants<S> {
    prefixes: [String; 2],
    acts: Vec<(usize, Act)>,
    subject: std::marker::PhantomData<S>,
}

/// Returns a part of a prefix.
fn prefix(random: &mut Random) -> String {
    let mut text = String::new();
    for characters in ["ab", "12"] {
        for _ in 0..=random.below(2) {
            text.push(char::from(*random.pick(characters.as_bytes())));
        }
    }
    text
}

impl<S: Subject> Tenants<S> {
    /// Runs the operations of one tenant, or of both.
    async fn answers(&self, tenants: [Option<Tables>; 2]) -> Result<[Answers; 2]> {
        let (mut answers, mut kept) = ([Answers::new(), Answers::new()], [Kept::<S>::new(), Kept::<S>::new()]);
        for tables in tenants.iter().flatten() {
            tables.create::<S>().await?;
        }
        for (tenant, act) in &self.acts {
            let Some(tables) = &tenants[*tenant] else { continue };
            let answer = step(tables, &mut kept[*tenant], act).await?;
            answers[*tenant].push(answer);
        }
        for (tables, answers) in tenants.iter().zip(&mut answers) {
            let Some(tables) = tables else { continue };
            let names = tables.inventory().await?.tables;
            answers.push(format!("{names:?}, {:?}", tables.verify::<S>().all().await?));
        }
        Ok(answers)
    }
}

impl<S: Subject> Program for Tenants<S> {
    fn new(random: &mut Random) -> Self {
        let first = prefix(random);
        let second = loop {
            let second = match random.below(3) {
                0 => format!("{first}{}", random.below(3)),
                1 => format!("{first}{}", prefix(random)),
                _ => prefix(random),
            };
            if second != first {
                break second;
            }
        };
        let acts = Indexed::<S>::new(random).acts.into_iter().map(|(_, act)| (random.below(2), act)).collect();
        Self { prefixes: [first, second], acts, subject: std::marker::PhantomData }
    }

    fn steps(&self) -> Vec<String> {
        self.acts.iter().map(|(tenant, act)| format!("{}: {act:?}", self.prefixes[*tenant])).collect()
    }

    async fn run(&self, store: &Store) -> Result<Answers> {
        let [first, second] = &self.prefixes;
        let tenant = |prefix: &str| Some(store.tables.with_prefix(prefix));
        let together = self.answers([tenant(first), tenant(second)]).await?;
        let [alone, _] = self.answers([tenant("z1"), None]).await?;
        let [_, other_alone] = self.answers([None, tenant("z2")]).await?;
        for (prefix, together, alone) in [(first, &together[0], &alone), (second, &together[1], &other_alone)] {
            ensure!(together == alone, "{prefix}: {together:#?}, and alone {alone:#?}");
        }
        Ok(together.concat())
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(error) => error_text::describe(error),
        Outcome::Bulk(failures, missing) => {
            let failures: BTreeMap<_, _> =
                failures.iter().map(|(at, error)| (at, error_text::describe(error))).collect();
            format!("missing {missing}, failed {failures:?}")
        }
        other => format!("{other:?}"),
    }
}

/// Returns all rows as text, without the properties that differ from store to store.
async fn rows(store: &Store) -> Result<Answers> {
    let mut rows = Answers::new();
    let mut tables = store.backend.list_tables("").await?;
    // In steps, a mark is written beside the reads of a write that then has nothing to do.
    tables.retain(|table| !table.ends_with("TableLayouts") && !table.ends_with("TableEvents"));
    // Stores order upper and lower case differently.
    tables.sort_unstable();
    for table in tables {
        for row in store.rows(&table).await? {
            let properties: BTreeMap<_, _> =
                row.properties.iter().filter(|(name, _)| !matches!(*name, "WriteId" | "IndexPending")).collect();
            // The key of an event ends with a random id.
            let is_event = row.row_key.starts_with("~~event-");
            let row_key = row.row_key.split_once('_').filter(|_| is_event).map_or(&*row.row_key, |(key, _)| key);
            rows.push(format!("{table} ({:?}, {row_key:?}) {properties:?}", row.partition_key));
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

async fn run<P: Program>(program: &P, store: Store) -> Result<[Answers; 2]> {
    let kind = store.kind;
    let ran = AssertUnwindSafe(async { Ok([program.run(&store).await?, rows(&store).await?]) });
    let ran = ran.catch_unwind().await.unwrap_or_else(|_| Err(anyhow!("a panic on {kind:?}")));
    store.clean().await?;
    ran
}

/// Returns the part of a text in which it begins to differ.
fn part(text: &str, other: &str) -> String {
    let same = text.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    text.chars().skip(same.saturating_sub(200)).take(600).collect()
}

async fn compare<P: Program>(kind: Kind, seed: u64) -> Result<usize> {
    let program = P::new(&mut Random::new(seed));
    let store = kind.open()?;
    let reach = store.backend.describe().reach;
    let [answers, rows] = run(&program, Store::plain(reach)).await?;
    let [other_answers, other_rows] = run(&program, store).await?;
    if reach == Reach::Store {
        // If a write violates two indexes, the reach determines which of them its error names.
        let [answers_in_steps, in_steps] = run(&program, Store::plain(Reach::Partition)).await?;
        // In steps, a write that violates a unique index fences the entity, and may have deleted another one that had
        // expired. An entity that was read before then has an earlier version, or is gone for a patch that does not read
        // it. So a later write of it is refused, and the rows differ.
        let is_refused = |(in_steps, whole): (&String, &String)| {
            ["ConditionNotMet", "NotFound"].iter().any(|error| in_steps.starts_with(error) && !whole.starts_with(error))
        };
        let mut after_violation =
            answers_in_steps.iter().zip(&answers).skip_while(|(in_steps, _)| !in_steps.starts_with("UniqueViolation"));
        let is_fenced = after_violation.any(is_refused);
        let differ = || {
            let [of_steps, of_one] = [(&in_steps, &rows), (&rows, &in_steps)]
                .map(|(these, those)| these.iter().filter(|row| !those.contains(row)).cloned().collect::<Vec<_>>());
            format!("the steps of writes leave {of_steps:#?}, and one transaction leaves {of_one:#?}")
        };
        ensure!(is_fenced || in_steps == rows, "{}\nthe program:\n{}", differ(), program.steps().join("\n"));
    }
    let steps = program.steps();
    for (at, (plain, other)) in answers.iter().zip(&other_answers).enumerate() {
        let differ = || {
            let steps: Vec<_> = steps[..=at].iter().map(|step| part(step, "")).collect();
            let (plain, other) = (part(plain, other), part(other, plain));
            format!("step {at}\n    on Plain: {plain}\n    on {kind:?}: {other}\nthe steps:\n{}", steps.join("\n"))
        };
        ensure!(plain == other, "{}", differ());
    }
    for (plain, other) in rows.iter().zip(&other_rows) {
        ensure!(plain == other, "a row\n    on Plain: {}\n    on {kind:?}: {}", part(plain, other), part(other, plain));
    }
    ensure!(rows.len() == other_rows.len(), "{} rows on Plain, {} on {kind:?}", rows.len(), other_rows.len());
    Ok(answers.len())
}

async fn programs<P: Program>(kind: Kind, quick: u64) -> Result<()> {
    if let Some(off) = kind.off() {
        // Writing directly bypasses the test harness, which would capture the message.
        let _ = writeln!(io::stderr(), "not tested: {off}");
        return Ok(());
    }
    let begun = Instant::now();
    let (mut ran, mut steps) = (0, 0);
    for seed in seeds(quick) {
        let run = tokio::time::timeout(Duration::from_mins(5), compare::<P>(kind, seed)).await?;
        steps += run.map_err(|error| anyhow!("seed {seed}: {error:#}\nTABLE_TESTS_SEED={seed} runs it again"))?;
        ran += 1;
    }
    println!("{kind:?}: {ran} programs, {steps} steps in {:?}", begun.elapsed());
    Ok(())
}

macro_rules! programs {
    ($($name:ident $program:ty { $($kind:ident $as:ident $quick:literal;)+ })+) => {$(
        mod $name {
            use super::{Kind, Result, programs};
            #[allow(unused_imports, reason = "each of the programs needs some of them")]
            use super::{Indexed, Tenants, properties::Properties, subjects};

            $(#[tokio::test]
            async fn $as() -> Result<()> {
                programs::<$program>(Kind::$kind, $quick).await
            })+
        }
    )+};
}

programs! {
    any_property Properties<false> { Memory memory 25; Disk disk 3; }
    any_property_on_azurite Properties<true> { Azurite azurite 4; }
    mixed_indexes Indexed<subjects::mixed::Entity> { Memory memory 15; Disk disk 2; Azurite azurite 2; }
    tenants Tenants<subjects::local::Entity> { Memory memory 10; Disk disk 1; Azurite azurite 1; }
    local_indexes Indexed<subjects::local::Entity> { Memory memory 20; Disk disk 2; Azurite azurite 2; }
    fleeting_entities Indexed<subjects::fleeting::Entity> { Memory memory 15; Disk disk 1; Azurite azurite 1; }
    brief_entities Indexed<subjects::brief::Entity> { Memory memory 15; Disk disk 1; Azurite azurite 1; }
    recorded_entities Indexed<subjects::logged::Entity> { Memory memory 10; Disk disk 1; Azurite azurite 1; }
    recorded_brief_entities Indexed<subjects::told::Entity> { Memory memory 10; Disk disk 1; Azurite azurite 1; }
}
