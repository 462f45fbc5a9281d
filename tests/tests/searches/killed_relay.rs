//! The events of the embedded store after its process was killed, while it wrote entities and a relay delivered their events.
//!
//! After each kill, the events that were delivered and those that are stored are those of all writes that were reported, and lead to
//! the entities that are stored. At the end, the delivered events alone do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use table_runtime::{
    Error, Tables, Ticks,
    backend::EmbeddedBackend,
    events::EventChange,
    row::{Row, ValueRef},
};
use tests::{
    depth::Depth,
    random::Random,
    relayed::{self, Noted, Relayed, TASKS, Write},
    stores::rows,
    told::Replay,
};

/// Largest number of kills of one file.
const KILLS: usize = 12;

/// Running `relayer`, killed when it is dropped.
struct Relayer(Child);

impl Relayer {
    fn start(case: &Case, seed: u32) -> Result<Self> {
        let child = Command::new(env!("CARGO_BIN_EXE_program"))
            .arg("relayer")
            .args([&case.store, &case.log])
            .arg(seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the relayer cannot be started")?;
        Ok(Self(child))
    }

    /// Kills the process after this time, by `SIGKILL` on Unix. Returns the writes that it has reported.
    fn kill(mut self, after_first: bool, time: Duration) -> Result<Vec<Write>> {
        let mut output = BufReader::new(self.0.stdout.take().context("no output")?);
        let mut text = String::new();
        if after_first {
            output.read_line(&mut text)?;
        }
        std::thread::sleep(time);
        ensure!(self.0.try_wait()?.is_none(), "it has ended by itself");
        self.0.kill()?;
        self.0.wait()?;
        output.read_to_string(&mut text)?;
        // The last line may be incomplete.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete.lines().map(str::parse).collect()
    }
}

impl Drop for Relayer {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file that is used by one process after another.
struct Case {
    store: PathBuf,
    log: PathBuf,
    reported: BTreeSet<Write>,
}

impl Case {
    fn new(folder: &Path) -> Self {
        let (store, log) = (folder.join("relayed.tables"), folder.join("events"));
        Self { store, log, reported: BTreeSet::new() }
    }

    /// Returns the delivered events in the order of their first delivery.
    fn delivered(&self) -> Result<Vec<Noted>> {
        let text = if self.log.exists() { fs::read_to_string(&self.log)? } else { String::new() };
        ensure!(text.is_empty() || text.ends_with('\n'), "the last event is incomplete: {text}");
        let mut ids = BTreeMap::new();
        let mut delivered = Vec::new();
        for line in text.lines() {
            let noted: Noted = line.parse()?;
            match ids.insert(noted.id, noted) {
                None => delivered.push(noted),
                Some(before) => ensure!(before == noted, "{noted:?} was {before:?} before"),
            }
        }
        Ok(delivered)
    }

    /// Checks the file after a kill. `is_delivered` says whether no event may be left. Returns the number of events.
    async fn check(&self, is_delivered: bool) -> Result<usize> {
        let backend = Arc::new(EmbeddedBackend::open(&self.store)?);
        let tables = Tables::new(Arc::clone(&backend));
        tables.create::<Relayed>().await?;
        if is_delivered {
            let file = OpenOptions::new().create(true).append(true).open(&self.log)?;
            let done = relayed::deliver(&tables, &file, true).await?;
            ensure!((done.failed, done.waiting) == (0, 0), "the last relay: {done:?}");
        }
        let stored = rows(&backend, "Relayed").await?;
        let mut stored: Vec<_> = stored.iter().filter_map(read).collect::<Result<_>>()?;
        ensure!(!is_delivered || stored.is_empty(), "events are left: {stored:?}");
        stored.sort_by_key(|noted| noted.at);
        let marks = match rows(&backend, "TableEvents").await {
            Err(Error::TableNotFound(_)) => Vec::new(),
            marks => marks?,
        };
        for Noted { write: Write { task, .. }, .. } in &stored {
            let has_mark = marks.iter().any(|mark| mark.row_key.parse() == Ok(*task));
            ensure!(has_mark, "the partition {task} has no mark among {marks:?}");
        }
        let mut events = self.delivered()?;
        let ids: BTreeSet<_> = events.iter().map(|noted| noted.id).collect();
        events.extend(stored.into_iter().filter(|noted| !ids.contains(&noted.id)));
        let writes: BTreeSet<_> = events.iter().map(|noted| noted.write).collect();
        let missing: Vec<_> = self.reported.difference(&writes).collect();
        ensure!(missing.is_empty(), "reported writes have no event: {missing:?}");
        let count = events.len();
        let mut replay = Replay::default();
        let mut last = BTreeMap::<_, Ticks>::new();
        for event in events {
            let Write { task, number, stamp, change } = event.write;
            let change = EventChange::named(change).context("a change")?;
            let before = last.insert((task, number), event.at);
            ensure!(before.is_none_or(|before| before < event.at), "{event:?} comes after one of {before:?}");
            replay.apply((task, number), change, stamp).with_context(|| format!("{event:?}"))?;
        }
        let mut entities = BTreeMap::new();
        for task in 0..TASKS {
            let all = Relayed::by_key(task).all(&tables).await?;
            entities.extend(all.iter().map(|entity| ((entity.task, entity.number), entity.stamp)));
        }
        ensure!(replay.0 == entities, "the events lead to {:?}, and there are {entities:?}", replay.0);
        Ok(count)
    }
}

/// Returns the event in a row, if it is one.
fn read(row: &Row) -> Option<Result<Noted>> {
    let key = row.row_key.strip_prefix("~~")?;
    let number = |name: &str| match row.properties.get(name) {
        Some(ValueRef::Int64(number)) => Ok(number),
        other => anyhow::bail!("{name} is {other:?}"),
    };
    let noted = || {
        let (at, id) = key.rsplit(' ').next().and_then(|key| key.split_once('_')).context("the key of an event")?;
        let Some(ValueRef::String(change)) = row.properties.get("EventChange") else { anyhow::bail!("no change") };
        let change = EventChange::named(change).context("a change")?.name();
        let (task, stamp) = (row.partition_key.parse()?, number("Stamp")?);
        let write = Write { task, number: number("IndexedEntityNumber")?.try_into()?, stamp, change };
        Ok(Noted { id: id.parse()?, at: Ticks::new(at.parse()?).context("a time")?, write })
    };
    Some(noted().with_context(|| format!("{row:?}")))
}

#[tokio::test]
async fn each_reported_write_is_delivered_after_kills() -> Result<()> {
    let (begun, kills) = (Instant::now(), Depth::choose(15, 100, 1000));
    let (mut killed, mut files, mut events, mut writes) = (0, 0, 0, 0);
    let mut random = Random::new(0);
    while killed < kills {
        let folder = tempfile::tempdir()?;
        let mut case = Case::new(folder.path());
        files += 1;
        for _ in 0..=random.below(KILLS.min(kills - killed)) {
            killed += 1;
            let relayer = Relayer::start(&case, killed.try_into()?)?;
            let after_first = random.chance(60);
            let time = Duration::from_micros(random.below(if after_first { 8_000 } else { 20_000 }) as u64);
            case.reported.extend(relayer.kill(after_first, time).with_context(|| format!("kill {killed}"))?);
            case.check(false).await.with_context(|| format!("after kill {killed}, of file {files}"))?;
        }
        events += case.check(true).await.with_context(|| format!("the last relay of file {files}"))?;
        writes += case.reported.len();
    }
    println!("{killed} kills of {files} files, {writes} reported writes, {events} events in {:?}", begun.elapsed());
    Ok(())
}
