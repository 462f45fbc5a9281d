//! Versions of a program that start, write and stop in every order that a rolling deployment and a rollback can take.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use futures_util::future::BoxFuture;
use table_runtime::{Tables, backend::BackendExt, row::ValueRef};
use tests::{
    azurite,
    deployed::{Rows, Version},
    stores::{Kind, Store},
};

/// A step of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Start,
    Write,
    Backfill,
    Stop,
}

/// The steps of each version, in their order.
fn steps(version: Version) -> &'static [Step] {
    match version {
        Version::One | Version::Three => &[Step::Start, Step::Write, Step::Stop],
        Version::Two => &[Step::Start, Step::Backfill, Step::Write, Step::Stop],
    }
}

/// Returns every order of the steps of these versions.
fn orders(versions: &[Version]) -> Vec<Vec<(Version, Step)>> {
    fn extend(
        left: &mut [(Version, &[Step])],
        order: &mut Vec<(Version, Step)>,
        orders: &mut Vec<Vec<(Version, Step)>>,
    ) {
        if left.iter().all(|(_, steps)| steps.is_empty()) {
            orders.push(order.clone());
        }
        for at in 0..left.len() {
            let (version, steps) = left[at];
            if let Some((step, rest)) = steps.split_first() {
                left[at].1 = rest;
                order.push((version, *step));
                extend(left, order, orders);
                order.pop();
                left[at].1 = steps;
            }
        }
    }
    let (mut left, mut orders) =
        (versions.iter().map(|version| (*version, steps(*version))).collect::<Vec<_>>(), Vec::new());
    extend(&mut left, &mut Vec::new(), &mut orders);
    orders
}

/// The programs of a deployment.
trait Programs {
    /// Carries out a step of a version.
    fn step<'a>(&'a mut self, version: Version, step: Step, n: u32) -> BoxFuture<'a, Result<()>>;

    /// Checks what a running version finds. Returns whether the index is ready, if the version has it.
    fn check<'a>(&'a mut self, version: Version, writes: &'a [(Version, u32)]) -> BoxFuture<'a, Result<Option<bool>>>;

    /// Returns the rows of the members' own keys, with their properties.
    fn stored(&self) -> BoxFuture<'_, Result<Rows>>;
}

/// Carries out the steps in this order, and checks after each that no row and no property is lost and that every running
/// program finds each row. Returns in how many of the states the index was ready.
async fn run(programs: &mut dyn Programs, order: &[(Version, Step)]) -> Result<usize> {
    let (mut running, mut writes, mut rows) = (Vec::new(), Vec::new(), Rows::new());
    let mut ready = 0;
    for (at, (version, step)) in order.iter().copied().enumerate() {
        let n = u32::try_from(at)?;
        match step {
            // A backfill begins when every running program knows the index.
            Step::Backfill if running.contains(&Version::One) => continue,
            Step::Start => running.push(version),
            Step::Stop => running.retain(|other| *other != version),
            Step::Backfill | Step::Write => {}
        }
        programs.step(version, step, n).await?;
        if step == Step::Write {
            version.note_write(&mut rows, n);
            writes.push((version, n));
        }
        if writes.is_empty() {
            continue;
        }
        let stored = programs.stored().await?;
        ensure!(stored == rows, "after {version:?} {step:?}: {stored:?} instead of {rows:?}");
        for version in &running {
            ready += usize::from(programs.check(*version, &writes).await? == Some(true));
        }
    }
    Ok(ready)
}

/// Reads the members' own rows, with the properties of all versions.
async fn stored(store: &Store, tables: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    if store.shared.list_tables(tables).await?.is_empty() {
        return Ok(rows);
    }
    let scan = table_runtime::backend::Scan {
        table: tables.to_owned().into(),
        partitions: table_runtime::backend::Partitions::ALL,
        rows: table_runtime::backend::KeyRange::ALL,
        filter: None,
        select: None,
        page: 1000,
    };
    for row in store.shared.query(&scan, None).await?.rows.iter() {
        let known = ["Email", "Note", "Nick", "City"];
        let properties = known.into_iter().filter_map(|name| match row.properties.get(name) {
            Some(ValueRef::String(text)) => Some((name, text.to_owned())),
            _ => None,
        });
        rows.insert(row.row_key.parse().context("a number")?, properties.collect());
    }
    Ok(rows)
}

/// Programs as handles of one process.
struct Handles {
    store: Store,
    tables: String,
    running: Vec<(Version, Tables)>,
}

impl Programs for Handles {
    fn step<'a>(&'a mut self, version: Version, step: Step, n: u32) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if step == Step::Start {
                let tables = Tables::new(self.store.shared.clone()).with_lease(Duration::from_millis(1));
                version.start(&tables).await?;
                self.running.push((version, tables));
            }
            let (_, tables) = self.running.iter().find(|(other, _)| *other == version).context("it runs")?;
            match step {
                Step::Start => {}
                Step::Write => version.write(tables, n).await?,
                Step::Backfill => version.backfill(tables).await?,
                Step::Stop => self.running.retain(|(other, _)| *other != version),
            }
            Ok(())
        })
    }

    fn check<'a>(&'a mut self, version: Version, writes: &'a [(Version, u32)]) -> BoxFuture<'a, Result<Option<bool>>> {
        Box::pin(async move {
            let mut rows = Rows::new();
            for (version, n) in writes {
                version.note_write(&mut rows, *n);
            }
            let (_, tables) = self.running.iter().find(|(other, _)| *other == version).context("it runs")?;
            version.check(tables, &rows).await
        })
    }

    fn stored(&self) -> BoxFuture<'_, Result<Rows>> {
        Box::pin(stored(&self.store, &self.tables))
    }
}

#[tokio::test]
async fn three_versions_run_in_every_order() -> Result<()> {
    let orders = orders(&Version::ALL);
    assert_eq!(orders.len(), 4200);
    let mut ready = 0;
    for order in orders {
        let mut programs = Handles { store: Kind::Plain.open()?, tables: "Members".to_owned(), running: Vec::new() };
        ready += run(&mut programs, &order).await.with_context(|| format!("{order:?}"))?;
    }
    ensure!(ready > 1000, "the index was ready in {ready} states only");
    Ok(())
}

/// A running process of a version.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn new(connection_string: &str, prefix: &str, version: Version) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
        command.args(["deployed", connection_string, prefix, &(version as u32).to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("it cannot be started")?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { child, input, output })
    }

    /// Sends a command and returns what the program found.
    fn ask(&mut self, command: &str) -> Result<String> {
        writeln!(self.input, "{command}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(answer.trim().strip_prefix("ok").with_context(|| format!("{command}: {answer}"))?.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Programs as processes on one Azurite.
struct Processes {
    store: Store,
    connection_string: String,
    prefix: String,
    running: Vec<(Version, Process)>,
}

impl Programs for Processes {
    fn step<'a>(&'a mut self, version: Version, step: Step, n: u32) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if step == Step::Start {
                self.running.push((version, Process::new(&self.connection_string, &self.prefix, version)?));
            }
            let (_, process) = self.running.iter_mut().find(|(other, _)| *other == version).context("it runs")?;
            match step {
                Step::Start => drop(process.ask("start")?),
                Step::Write => drop(process.ask(&format!("write {n}"))?),
                Step::Backfill => drop(process.ask("backfill")?),
                Step::Stop => self.running.retain(|(other, _)| *other != version),
            }
            Ok(())
        })
    }

    fn check<'a>(&'a mut self, version: Version, writes: &'a [(Version, u32)]) -> BoxFuture<'a, Result<Option<bool>>> {
        Box::pin(async move {
            let (_, process) = self.running.iter_mut().find(|(other, _)| *other == version).context("it runs")?;
            let writes: Vec<_> = writes.iter().map(|(version, n)| format!("{}:{n}", *version as u32)).collect();
            Ok(match process.ask(&format!("check {}", writes.join(",")))?.as_str() {
                "None" => None,
                found => Some(found == "Some(true)"),
            })
        })
    }

    fn stored(&self) -> BoxFuture<'_, Result<Rows>> {
        Box::pin(async move { stored(&self.store, &format!("{}Members", self.prefix)).await })
    }
}

#[tokio::test]
async fn processes_of_three_versions_run_side_by_side_on_azurite() -> Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);

    if let Some(reason) = Kind::Azurite.off() {
        println!("not tested: {reason}");
        return Ok(());
    }
    let connection_string = azurite::shared()?.context("Azurite is off")?;
    let mut ready = 0;
    // Every two hundredth order: the test above has all of them.
    for order in orders(&Version::ALL).into_iter().step_by(200) {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("roll{}x{number:04}", std::process::id());
        let (store, connection_string) = (Store::on_azurite(&connection_string)?, connection_string.clone());
        let mut programs = Processes { store, connection_string, prefix, running: Vec::new() };
        ready += run(&mut programs, &order).await.with_context(|| format!("{order:?}"))?;
        for table in programs.store.shared.list_tables(&programs.prefix).await? {
            programs.store.shared.delete_table(&table).await?;
        }
    }
    ensure!(ready > 5, "the index was ready in {ready} states only");
    Ok(())
}
