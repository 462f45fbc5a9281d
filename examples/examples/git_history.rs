//! The commit log of a git repository, stored in tables and queried by author and time, by hash, and by subject.
//!
//! ```text
//! cargo run --release -p examples --example git_history -- ~/src/linux --authors 3 --since 2024-01-01
//! cargo run --release -p examples --example git_history -- ~/src/linux --commit 1da177e --subject "linux-2.6.12"
//! cargo run --release -p examples --example git_history -- ~/src/linux --chart
//! ```
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | `Commits` | the author's e-mail address, lower case | `{committed, newest first}_{hash}` | `Email`, `Name`, `Subject`, `Parents`, `Hour` |
//! | `CommitsByHash` | the hash's first two characters | the hash | `IndexedEntityEmail`, `IndexedEntityCommitted` |
//! | `CommitsBySubject` | the subject's first letter, lower case | `{subject, lower case} {the keys of the commit}` | |
//! | `Authors` | `all` | the e-mail address, lower case | `Email`, `Name`, `Commits` |
//! | `Heads` | the repository's folder | the hash of a commit that was read with all of its ancestors | |
//!
//! The newest commits of an author, or those of a time range, are thus one range of one partition. An author without an
//! address is identified by name. The two indexes find a commit of any author by the beginning of its hash or of its
//! subject: the first characters determine the partition, all of them the range. A hash is unique, so a commit that
//! comes again with another address, because a mailmap has changed, is not stored twice.
//!
//! A second run asks git only for commits that the known heads do not reach. Heads are written last, and a commit
//! determines its keys, so an interrupted run is simply repeated. After a rewritten history, commits are read back to
//! the first one that a known head reaches, or to the beginning; the old commits stay in the store. The heads of a
//! shallow clone are not stored, because their ancestors may be fetched later.
//!
//! Each repository has its own store, a file in `target/git_history/`. `--store` gives another file, which may hold
//! several repositories.

use std::{
    collections::{BTreeMap, HashMap},
    env, fmt, fs,
    io::{self, Write as _},
    ops::Bound,
    path::{Path, PathBuf},
    pin::pin,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use console::Term;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use indicatif::{DecimalBytes, HumanCount, ProgressBar, ProgressStyle};
use table_runtime::{Error, Explain, Projection, Stored, TableEntity, Tables};
use time::{Date, OffsetDateTime, UtcDateTime, UtcOffset, macros::format_description};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    task::JoinHandle,
};
use uuid::Uuid;

/// Stores the commit log of a git repository in tables and shows fast queries
#[derive(Parser)]
struct Options {
    /// Repository, or a folder in it
    #[arg(default_value = ".")]
    path: PathBuf,
    /// File of the store; by default one for each repository, in `target/git_history/`
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Number of the busiest authors to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    authors: usize,
    /// First day (UTC) of the time window, such as 2010-05-28
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    since: Option<Date>,
    /// Last day of the time window; without both, the window is the 30 days up to the newest commit shown
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    until: Option<Date>,
    /// Beginning of a commit's hash, at least two characters; by default that of the newest commit
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Beginning of subject lines, in any case; by default the first word of the newest commit
    #[arg(long, value_name = "WORDS")]
    subject: Option<String>,
    /// Draw the commits of all authors by month
    #[arg(long)]
    chart: bool,
}

fn parse_date(text: &str) -> Result<Date, String> {
    Date::parse(text, format_description!("[year]-[month]-[day]")).map_err(|_| "write it as 2010-05-28".to_owned())
}

// Both indexes are queried across authors, so their rows are in other partitions than the commit. The embedded store
// writes a commit and its two index rows in one transaction. The service takes three steps: the commit, invisible to
// readers; its index rows, side by side; the commit again, now visible. The index rows are pointers, which are written
// before the commit becomes visible. A copy would be written afterwards, and an interrupted run could leave it out.
#[derive(TableEntity)]
#[table(name = "Commits", allow_scan)] // for the chart, which needs every commit
#[index(hash, partition(hash(first = 2)), row(hash), unique)]
#[index(subject, partition(subject(first = 1, lowercase)), row(subject(lowercase)))]
struct Commit {
    #[partition_key(lowercase)]
    email: String,
    #[row_key(reverse_time)]
    committed: OffsetDateTime,
    #[row_key]
    hash: String,
    name: String,
    subject: String,
    parents: u16,
    /// Hour of the day in the author's own time zone.
    hour: u8,
}

/// Time of a commit, for the chart.
#[derive(Projection)]
#[projection(of = Commit)]
struct Committed {
    committed: OffsetDateTime,
}

#[derive(TableEntity)]
#[table(name = "Authors", partition = "all")]
struct Author {
    #[row_key(lowercase)]
    email: String,
    name: String,
    commits: u32,
}

#[derive(TableEntity)]
#[table(name = "Heads")]
struct Head {
    #[partition_key]
    repository: String,
    #[row_key]
    hash: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    match run(&Options::parse()).await {
        // The reader has closed the pipe, as in `git_history | head`.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe) => {
            Ok(())
        }
        done => done,
    }
}

async fn run(options: &Options) -> Result<()> {
    if let (Some(since), Some(until)) = (options.since, options.until) {
        ensure!(since <= until, "--since {since} is after --until {until}");
    }
    let repository = Repository::find(&options.path).await?;
    let file = options.store.clone().map_or_else(|| repository.default_store(), Ok)?;
    let mut out = io::stdout();
    writeln!(out, "repository  {}", clean(&repository.folder))?;
    writeln!(out, "store       {}", file.display())?;

    let tables = Tables::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
    tables.create::<Commit>().await?;
    tables.create::<Author>().await?;
    tables.create::<Head>().await?;
    build_new_indexes(&tables).await?;

    let began = Instant::now();
    let new = read_new_commits(&repository, &tables).await?;
    writeln!(out, "new         {} in {:.1?}", counted(new, "commit"), began.elapsed())?;
    if repository.is_shallow {
        writeln!(out, "            (a shallow clone: older ones are read once they are fetched)")?;
    }
    report(&tables, options, &mut out).await?;
    writeln!(out, "\nThe store's file has {}.", DecimalBytes(fs::metadata(&file)?.len()))?;
    Ok(())
}

// Storing

/// Number of concurrent writes. The store commits waiting writes together.
const SIDE_BY_SIDE: usize = 256;

/// Stores the commits that are not in the tables yet and returns their number.
async fn read_new_commits(repository: &Repository, tables: &Tables) -> Result<usize> {
    let heads = repository.heads().await?;
    let known = Head::by_key(&repository.folder).all(tables).await?;
    let known: Vec<&str> = known.iter().map(|head| &*head.hash).collect();
    if heads.iter().all(|head| known.contains(&&**head)) {
        return Ok(0);
    }
    let range = heads.iter().map(|head| format!("{head}\n")).chain(known.iter().map(|head| format!("^{head}\n")));
    let range: String = range.collect();

    let progress = progress_bar(repository.count(&range).await?);
    let (mut new, mut authors) = (0, HashMap::new());
    {
        let inserts = repository.log(&range).await?.map_ok(|commit| {
            // The newest commits come first, so the first name of an author is the current one.
            let author = authors.entry(commit.email.to_lowercase());
            author.or_insert_with(|| (commit.email.clone(), commit.name.clone()));
            insert_missing(tables, commit)
        });
        let mut inserts = pin!(inserts.try_buffer_unordered(SIDE_BY_SIDE));
        while let Some(inserted) = inserts.try_next().await? {
            new += usize::from(inserted);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();

    // The commits are counted, not added up, because an interrupted run may have stored some of them.
    let counts = authors.into_values().map(|(email, name)| count_commits(tables, email, name));
    stream::iter(counts).buffer_unordered(SIDE_BY_SIDE).try_collect::<()>().await?;

    // Heads are written last, because the ancestors of a known head are never read again.
    if !repository.is_shallow {
        for hash in &heads {
            tables.upsert(&Head { repository: repository.folder.clone(), hash: hash.clone() }).await?;
        }
        for hash in known.iter().filter(|hash| !heads.iter().any(|head| head == *hash)) {
            tables.remove(Head::key(&repository.folder, hash)).await?;
        }
    }
    Ok(new)
}

const DELETE: &str = "the store does not fit any more; delete it, and the next run creates a new one";

/// Builds indexes that are new to a store of an older version.
async fn build_new_indexes(tables: &Tables) -> Result<()> {
    let hash = Commit::by_hash().starts_with("00").first(tables).await;
    let subject = Commit::by_subject().starts_with("a").first(tables).await;
    for found in [hash, subject] {
        match found {
            Err(Error::IndexBuilding { index, .. }) => {
                let filled = tables.backfill::<Commit>(&index).await.context(DELETE)?;
                if let Some(conflict) = filled.conflicts.first() {
                    bail!("{DELETE}: {conflict}");
                }
            }
            found => drop(found?),
        }
    }
    Ok(())
}

/// Stores a commit and returns whether it was missing.
async fn insert_missing(tables: &Tables, commit: Commit) -> Result<bool> {
    match tables.insert(&commit).await {
        Ok(_) => Ok(true),
        Err(Error::AlreadyExists(_) | Error::UniqueViolation(_)) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot store the commit {}", commit.hash)),
    }
}

async fn count_commits(tables: &Tables, email: String, name: String) -> Result<()> {
    let commits = Commit::by_key(&email).count(tables).await?.try_into()?;
    tables.upsert(&Author { email, name, commits }).await?;
    Ok(())
}

/// Returns a progress bar, which is hidden if standard error is no terminal.
fn progress_bar(commits: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("reading     {wide_bar} {human_pos} of {human_len}, {eta} left");
    ProgressBar::new(commits).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

// Querying

async fn report(tables: &Tables, options: &Options, out: &mut impl io::Write) -> Result<()> {
    let mut costs = Costs::default();
    let query = Author::by_key();
    let mut authors = costs.of("all authors", query.explain(), query.all(tables), Vec::len).await?;
    let total: u64 = authors.iter().map(|author| u64::from(author.commits)).sum();
    writeln!(out, "in all      {} by {}", counted(total, "commit"), counted(authors.len(), "author"))?;
    if authors.is_empty() {
        writeln!(out, "\nNothing has been committed here yet; try another repository: git_history PATH")?;
        return Ok(());
    }

    if options.chart {
        let mut months = Months::default();
        let query = Commit::scan().select::<Committed>();
        let explain = query.explain();
        let read = query.for_each(tables, |commit| months.add(commit.committed));
        costs.of("the month of every commit", explain, read, |()| total.try_into().unwrap_or(usize::MAX)).await?;
        let width = Term::stdout().size_checked().map_or(80, |(_, columns)| columns.into());
        write!(out, "{}", Chart::new(&months, width))?;
    }

    authors.sort_by(|one, other| other.commits.cmp(&one.commits).then_with(|| one.email.cmp(&other.email)));
    authors.truncate(options.authors);
    writeln!(out, "\nThe busiest authors, and the newest of their commits")?;
    let mut newest = None;
    for author in &authors {
        let query = Commit::by_key(&author.email).take(3);
        let found = costs.of("the newest of an author", query.explain(), query.all(tables), Vec::len).await?;
        writeln!(out, "\n  {} <{}>, {}", clean(&author.name), clean(&author.email), counted(author.commits, "commit"))?;
        for commit in &found {
            writeln!(out, "    {}", OneLine(commit))?;
        }
        newest = newest.into_iter().chain(found).max_by_key(|commit| commit.committed);
    }
    let Some(newest) = newest else { return Ok(()) };

    let window = Window::new(options, newest.committed.date());
    writeln!(out, "\nTheir commits {window}\n\n    commits  merges  at night")?;
    for author in &authors {
        let all = Commit::by_key(&author.email).range(window.bounds());
        let merges = all.clone().filter(|commit| commit.parents.ge(2));
        let night = all.clone().filter(|commit| commit.hour.ge(22).or(commit.hour.lt(6)));
        let count = |count: &usize| *count;
        let all = costs.of("a time window", all.explain(), all.count(tables), count).await?;
        let merges = costs.of("the merges in a window", merges.explain(), merges.count(tables), count).await?;
        let night = costs.of("the night's commits in it", night.explain(), night.count(tables), count).await?;
        writeln!(out, "    {all:>7}  {merges:>6}  {night:>8}  {}", clean(&author.name))?;
    }

    let hash = options.commit.clone().unwrap_or_else(|| newest.hash.chars().take(7).collect());
    let query = Commit::by_hash().starts_with(&hash.to_lowercase()).take(5);
    let found = costs.of("a prefix of a hash", query.explain(), query.all(tables), Vec::len).await?;
    writeln!(out, "\nThe commits whose hash begins with {}\n{}", clean(&hash), OfAll(&found))?;

    let words = options.subject.as_deref().or_else(|| newest.subject.split_whitespace().next());
    if let Some(words) = words {
        let query = Commit::by_subject().starts_with(words).take(5);
        let found = costs.of("a prefix of a subject", query.explain(), query.all(tables), Vec::len).await?;
        writeln!(out, "\nThe first commits whose subject begins with {}\n{}", clean(words), OfAll(&found))?;
    }

    let query = Commit::key(&newest.email, newest.committed, &newest.hash);
    costs.of("one commit", query.explain(), query.get(tables), |found| usize::from(found.is_some())).await?;
    writeln!(out, "\nCosts of the queries\n{costs}")?;
    Ok(())
}

/// Numbers of commits by month. A month is counted from January of the year 0.
#[derive(Default)]
struct Months(BTreeMap<i32, u64>);

impl Months {
    fn add(&mut self, time: OffsetDateTime) {
        let time = time.to_offset(UtcOffset::UTC);
        *self.0.entry(time.year() * 12 + i32::from(u8::from(time.month())) - 1).or_default() += 1;
    }
}

/// Bars of the numbers of commits, from the first month to the last one.
struct Chart {
    /// First month.
    first: i32,
    /// Number of months that a bar counts, so that all bars fit the terminal.
    months_of_bar: i32,
    bars: Vec<u64>,
}

impl Chart {
    /// Height of the highest bar, in lines.
    const HEIGHT: u64 = 8;
    /// Width of the numbers and of the axis before the bars.
    const MARGIN: usize = 12;

    fn new(months: &Months, width: usize) -> Self {
        let most = i32::try_from(width.saturating_sub(Self::MARGIN)).unwrap_or(i32::MAX).max(12);
        let first = months.0.keys().next().copied().unwrap_or_default();
        let last = months.0.keys().next_back().copied().unwrap_or_default();
        let months_of_bar = (last - first) / most + 1;
        let bars = (first..=last).step_by(usize::try_from(months_of_bar).unwrap_or(1));
        let bars = bars.map(|from| months.0.range(from..from + months_of_bar).map(|(_, count)| count).sum());
        Self { first, months_of_bar, bars: bars.collect() }
    }

    /// Returns the line with the years below the first bars that count their months.
    fn years(&self) -> String {
        let mut line = String::new();
        let mut from = self.first;
        for at in 0..self.bars.len() {
            let january = (from + 11).div_euclid(12) * 12;
            // A year needs its digits and a space after the year before it.
            if (from..from + self.months_of_bar).contains(&january) && line.len() <= at {
                line.extend(std::iter::repeat_n(' ', at - line.len()));
                let year = format!("{:04} ", january / 12);
                line.push_str(&year);
            }
            from += self.months_of_bar;
        }
        line
    }
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let months =
            if self.months_of_bar == 1 { "month".to_owned() } else { format!("{} months", self.months_of_bar) };
        writeln!(f, "\nCommits by {months}\n")?;
        let highest = self.bars.iter().copied().max().unwrap_or_default().max(1);
        for line in (0..Self::HEIGHT).rev() {
            let number = if line + 1 == Self::HEIGHT { HumanCount(highest).to_string() } else { String::new() };
            let bars: String = self.bars.iter().map(|count| block(*count, highest, line)).collect();
            writeln!(f, "{number:>9} │ {}", bars.trim_end())?;
        }
        writeln!(f, "{:>9} ┴─{}", 0, "─".repeat(self.bars.len()))?;
        writeln!(f, "{:12}{}", "", self.years().trim_end())
    }
}

/// Returns the part of a bar in a line of the chart, in eighths of the line. A bar of one commit is visible.
fn block(count: u64, highest: u64, line: u64) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = (u128::from(count) * u128::from(Chart::HEIGHT * 8)).div_ceil(u128::from(highest));
    let in_line = eighths.saturating_sub(u128::from(line * 8)).min(8);
    usize::try_from(in_line).ok().and_then(|at| BLOCKS.get(at)).copied().unwrap_or(' ')
}

/// Costs of the queries by their purpose.
#[derive(Default)]
struct Costs(Vec<Cost>);

struct Cost {
    purpose: &'static str,
    /// Explanation of the first query.
    explain: Explain,
    queries: u32,
    rows: usize,
    took: Duration,
}

impl Costs {
    async fn of<T>(
        &mut self,
        purpose: &'static str,
        explain: Explain,
        answer: impl Future<Output = table_runtime::Result<T>>,
        rows: impl FnOnce(&T) -> usize,
    ) -> Result<T> {
        let began = Instant::now();
        let answer = answer.await?;
        let took = began.elapsed();
        let at = self.0.iter().position(|cost| cost.purpose == purpose).unwrap_or_else(|| {
            self.0.push(Cost { purpose, explain, queries: 0, rows: 0, took: Duration::ZERO });
            self.0.len() - 1
        });
        let cost = &mut self.0[at];
        cost.queries += 1;
        cost.rows += rows(&answer);
        cost.took += took;
        Ok(answer)
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Cost { purpose, explain, queries, rows, took } in &self.0 {
            let (each, rows) = (*took / *queries, counted(*rows, "row"));
            write!(f, "\n  {purpose}: {queries} × {each:.1?}, {rows}\n    {}", clean(&explain.to_string()))?;
        }
        Ok(())
    }
}

/// Range of days, including the last one.
struct Window {
    since: Option<Date>,
    until: Option<Date>,
}

impl Window {
    fn new(options: &Options, newest: Date) -> Self {
        let (since, until) = match (options.since, options.until) {
            (None, None) => (newest.checked_sub(time::Duration::days(30)), Some(newest)),
            given => given,
        };
        // Keys hold times in the years 1 to 9999.
        Self { since: since.filter(|since| since.year() > 0), until: until.filter(|until| until.year() > 0) }
    }

    fn bounds(&self) -> (Bound<OffsetDateTime>, Bound<OffsetDateTime>) {
        let midnight = |date: Date| date.midnight().assume_utc();
        let since = self.since.map(midnight).map_or(Bound::Unbounded, Bound::Included);
        let until = self.until.and_then(Date::next_day).map(midnight).map_or(Bound::Unbounded, Bound::Excluded);
        (since, until)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.since, self.until) {
            (Some(since), Some(until)) => write!(f, "from {since} to {until}"),
            (Some(since), None) => write!(f, "since {since}"),
            (None, Some(until)) => write!(f, "until {until}"),
            (None, None) => f.write_str("of all times"),
        }
    }
}

/// Commit, displayed in one line.
struct OneLine<'a>(&'a Commit);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Commit { committed, hash, subject, .. } = self.0;
        let (date, hour, minute) = (committed.date(), committed.hour(), committed.minute());
        let short: String = hash.chars().take(10).collect();
        let subject: String = clean(subject).chars().take(72).collect();
        write!(f, "{date} {hour:02}:{minute:02}  {short}  {subject}")
    }
}

/// Commits of several authors, displayed in a line each.
struct OfAll<'a>(&'a [Stored<Commit>]);

impl fmt::Display for OfAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for commit in self.0 {
            write!(f, "\n    {}, {}", OneLine(commit), clean(&commit.name))?;
        }
        if self.0.is_empty() { f.write_str("\n    none") } else { Ok(()) }
    }
}

/// Returns text of other programs without characters that would move a terminal's cursor.
fn clean(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {what}{}", HumanCount(count), if count == 1 { "" } else { "s" })
}

// Git

/// Git repository.
struct Repository {
    /// Given folder, whose checkout and mailmap are used.
    path: PathBuf,
    /// Folder of its objects, which identifies the repository.
    folder: String,
    is_shallow: bool,
}

impl Repository {
    /// Returns the repository that this folder belongs to.
    async fn find(path: &Path) -> Result<Self> {
        let arguments = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--is-shallow-repository"];
        let found = run_git(path, &arguments, "").await?;
        let mut lines = found.lines();
        let folder = lines.next().context("git did not print the repository's folder")?.to_owned();
        Ok(Self { path: path.to_owned(), folder, is_shallow: lines.next() == Some("true") })
    }

    /// Returns `target/git_history/NAME-HASH.tables` next to the build of this program, or a path in the temporary
    /// folder.
    fn default_store(&self) -> Result<PathBuf> {
        let folder = Path::new(&self.folder);
        let folder = if folder.ends_with(".git") { folder.parent().unwrap_or(folder) } else { folder };
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, self.folder.as_bytes());

        // target/release/examples/git_history
        let program = env::current_exe()?;
        let built = program.parent().is_some_and(|folder| folder.ends_with("examples"));
        let target = program.ancestors().nth(3).filter(|_| built).map_or_else(env::temp_dir, Path::to_owned);
        let stores = target.join("git_history");
        fs::create_dir_all(&stores).with_context(|| format!("cannot create the folder {}", stores.display()))?;
        Ok(stores.join(format!("{name}-{}.tables", id.simple())))
    }

    /// Returns the commits from which all others are reachable: branches, tags and the checked-out commit.
    async fn heads(&self) -> Result<Vec<String>> {
        let mut arguments = vec!["rev-list", "--no-walk=unsorted", "--branches", "--remotes", "--tags"];
        if self.git(&["rev-parse", "--verify", "HEAD^{commit}"], "").await.is_ok() {
            arguments.push("HEAD");
        }
        let mut heads: Vec<String> = self.git(&arguments, "").await?.lines().map(ToOwned::to_owned).collect();
        heads.sort_unstable();
        heads.dedup();
        Ok(heads)
    }

    /// Returns the number of commits in a range.
    async fn count(&self, range: &str) -> Result<u64> {
        let count = self.git(&["rev-list", "--count", "--ignore-missing", "--stdin"], range).await?;
        count.trim().parse().with_context(|| format!("git counted {count:?} commits"))
    }

    /// Returns the commits of a range, newest first, as git writes them.
    async fn log(&self, range: &str) -> Result<impl Stream<Item = Result<Commit>> + use<>> {
        // Every field ends with a NUL, which no field can contain. After a rewritten history, a known head may be
        // missing.
        let arguments = [
            "-c",
            "log.showSignature=false",
            "log",
            "-z",
            "--format=tformat:%H%x00%P%x00%aE%x00%aN%x00%ad%x00%cd%x00%s",
            "--date=raw",
            "--encoding=UTF-8",
            "--no-color",
            "--no-notes",
            "--ignore-missing",
            "--stdin",
        ];
        let log = Log::start(git(&self.path, &arguments), range).await?;
        Ok(stream::try_unfold(log, |mut log| async move { Ok(log.next().await?.map(|commit| (commit, log))) }))
    }

    async fn git(&self, arguments: &[&str], input: &str) -> Result<String> {
        run_git(&self.path, arguments, input).await
    }
}

/// Running `git log`.
struct Log {
    git: Child,
    output: BufReader<ChildStdout>,
    errors: JoinHandle<Vec<u8>>,
    field: Vec<u8>,
}

impl Log {
    async fn start(mut git: Command, range: &str) -> Result<Self> {
        let mut git = spawn(&mut git)?;
        write_input(&mut git, range).await?;
        let (output, errors) = (git.stdout.take(), git.stderr.take());
        let output = BufReader::new(output.context("git has no output")?);
        // Errors are read concurrently with the output, so that git never blocks.
        let errors = tokio::spawn(async move {
            let mut text = Vec::new();
            if let Some(mut errors) = errors {
                errors.read_to_end(&mut text).await.ok();
            }
            text
        });
        Ok(Self { git, output, errors, field: Vec::new() })
    }

    async fn next(&mut self) -> Result<Option<Commit>> {
        let Some(hash) = self.field().await? else {
            let status = self.git.wait().await?;
            ensure!(status.success(), "git log failed: {}", error_text(&(&mut self.errors).await?));
            return Ok(None);
        };
        let mut rest = [const { String::new() }; 6];
        for field in &mut rest {
            *field = self.field().await?.context("the output of git log was cut off")?;
        }
        let [parents, email, name, authored, committed, subject] = rest;
        let ((authored, offset), (committed, _)) = (moment(&authored), moment(&committed));
        let email = cut(if email.is_empty() { &name } else { &email }, 100);
        Ok(Some(Commit {
            subject: cut_for_key(&subject, KEY_UNITS - email.chars().map(key_units).sum::<usize>()),
            email,
            committed: OffsetDateTime::from_unix_timestamp(committed.clamp(FIRST, LAST))?,
            hash,
            name: cut(&name, 200),
            parents: parents.split_whitespace().count().try_into().unwrap_or(u16::MAX),
            hour: u8::try_from(authored.saturating_add(offset).div_euclid(3600).rem_euclid(24))?,
        }))
    }

    /// Returns the next field. Bytes that are no UTF-8 become replacement characters.
    async fn field(&mut self) -> Result<Option<String>> {
        self.field.clear();
        self.output.read_until(0, &mut self.field).await?;
        Ok(self.field.strip_suffix(&[0]).map(|field| String::from_utf8_lossy(field).into_owned()))
    }
}

/// First and last second of Unix time that a key can hold: the years 1 to 9999.
const FIRST: i64 = UtcDateTime::new(time::macros::date!(0001 - 01 - 01), time::Time::MIDNIGHT).unix_timestamp();
const LAST: i64 = UtcDateTime::new(time::macros::date!(9999 - 12 - 31), time::macros::time!(23:59:59)).unix_timestamp();

/// Parses `1275004800 +0200` into Unix time and the seconds to add for the author's time zone. Invalid numbers become
/// 0.
fn moment(text: &str) -> (i64, i64) {
    let (seconds, offset) = text.split_once(' ').unwrap_or((text, ""));
    let offset = offset.parse().map_or(0, |offset: i64| offset / 100 * 3600 + offset % 100 * 60);
    (seconds.parse().unwrap_or(0), offset)
}

/// Returns the first characters of a text, since the length of keys and properties is limited.
fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// Units for subject and address, out of a key's 512: the rest is for the time, the hash and the delimiters.
const KEY_UNITS: usize = 420;

/// Returns the beginning of a text that takes at most this many units of a key.
fn cut_for_key(text: &str, mut units: usize) -> String {
    let fits = |character: &char| {
        let left = units.checked_sub(key_units(*character));
        units = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).collect()
}

/// Returns the maximal number of units of a character in a key, where it may be escaped or folded to two characters.
fn key_units(character: char) -> usize {
    if character.is_ascii_alphanumeric() { 1 } else { 3 }
}

/// Runs git to its end and returns its output.
async fn run_git(folder: &Path, arguments: &[&str], input: &str) -> Result<String> {
    let mut git = spawn(&mut git(folder, arguments))?;
    write_input(&mut git, input).await?;
    let output = git.wait_with_output().await?;
    if !output.status.success() {
        bail!("cannot read a git repository in {}: {}", folder.display(), error_text(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["--no-pager", "--no-replace-objects"]).args(arguments);
    git.env("LC_ALL", "C").kill_on_drop(true);
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    git
}

fn spawn(git: &mut Command) -> Result<Child> {
    git.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("git was not found: install it, or put its folder on the PATH"),
        _ => anyhow::Error::new(error).context("cannot run git"),
    })
}

/// Writes all input and closes it.
async fn write_input(git: &mut Child, input: &str) -> Result<()> {
    match git.stdin.take().context("git has no input")?.write_all(input.as_bytes()).await {
        // Git ended early; its status gives the reason.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns git's error messages in one line.
fn error_text(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let lines: Vec<String> = errors.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() { "git gave no reason".to_owned() } else { lines.join(" ") }
}
