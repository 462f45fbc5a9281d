//! The Azure backend, compared with plain `reqwest` and a manual signature, and with Python's `azure-data-tables`.
//!
//! `cargo bench -p benches --bench azure`. All three do the same work on one Azurite in turns, so that every slowdown
//! affects all of them. A measured time is that of a whole round trip, most of which Azurite itself takes.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use futures_util::future::try_join_all;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::Sha256;
use table_runtime::{Stored, TableEntity, Tables, backend::AzureBuilder};
use tests::azurite::Azurite;

const ROUNDS: usize = 40;
/// Number of rows that a query returns.
const PAGE: u64 = 100;
/// Author whose partition is read.
const READER: &str = "reader";
const JSON: &str = "application/json";
const PYTHON_PACKAGE: &str = "azure-data-tables==12.7.0";
/// Installed packages. The second one is needed for concurrent requests.
const PYTHON_PACKAGES: [&str; 2] = [PYTHON_PACKAGE, "aiohttp==3.14.5"];

#[derive(TableEntity, Deserialize, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
#[serde(rename_all = "PascalCase")]
struct Post {
    #[partition_key]
    #[serde(rename = "PartitionKey")]
    author: String,
    #[row_key]
    #[serde(rename = "RowKey", deserialize_with = "number")]
    id: u64,
    title: String,
    url: Option<String>,
    likes: i32,
    #[serde(deserialize_with = "number")]
    views: i64,
    score: f64,
    draft: bool,
}

/// Reads a number from a text.
fn number<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(text: D) -> Result<T, D::Error> {
    let text: &str = Deserialize::deserialize(text)?;
    text.parse().map_err(serde::de::Error::custom)
}

impl Post {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the numbers are small")]
    fn new(author: &str, id: u64) -> Self {
        Self {
            author: author.to_owned(),
            id,
            title: format!("What I learned in my {id}th week"),
            url: id.is_multiple_of(2).then(|| format!("https://blog.example/{author}/{id}")),
            likes: (id % 1000) as i32,
            views: id.cast_signed() * 7,
            score: id as f64 / 2.0 + 0.25,
            draft: id.is_multiple_of(3),
        }
    }
}

#[derive(Clone, Copy)]
enum Work {
    Get,
    Insert,
    Query,
}

impl Work {
    /// Returns the name that is sent to Python.
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Insert => "insert",
            Self::Query => "query",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Get => "get a point",
            Self::Insert => "insert",
            Self::Query => "query of 100 rows",
        }
    }
}

/// Client of the service.
trait Client {
    const NAME: &str;

    async fn get(&self, author: &str, id: u64) -> Result<Option<Post>>;
    async fn insert(&self, post: &Post) -> Result<()>;
    async fn query(&self, author: &str) -> Result<Vec<Post>>;
}

struct Ours(Tables);

impl Client for Ours {
    const NAME: &str = "table-runtime";

    async fn get(&self, author: &str, id: u64) -> Result<Option<Post>> {
        Ok(Post::key(author, id).get(&self.0).await?.map(Stored::into_inner))
    }

    async fn insert(&self, post: &Post) -> Result<()> {
        self.0.insert(post).await?;
        Ok(())
    }

    async fn query(&self, author: &str) -> Result<Vec<Post>> {
        let posts = Post::by_key(author).take(100).all(&self.0).await?;
        Ok(posts.into_iter().map(Stored::into_inner).collect())
    }
}

/// Client for this struct only: without retries, quoting of keys and distinct errors.
///
/// It requests the same metadata, which contains the ETags, and signs with the same scheme, so that Azurite does the same
/// work.
struct Plain {
    client: reqwest::Client,
    account: String,
    key: Vec<u8>,
    endpoint: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NewPost<'a> {
    partition_key: &'a str,
    row_key: String,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    likes: i32,
    #[serde(rename = "Views@odata.type")]
    views_type: &'static str,
    views: String,
    #[serde(rename = "Score@odata.type")]
    score_type: &'static str,
    score: f64,
    draft: bool,
}

impl Plain {
    fn new(connection_string: &str) -> Result<Self> {
        let part = |name: &str| {
            let mut parts = connection_string.split(';').filter_map(|part| part.split_once('='));
            parts.find(|(other, _)| *other == name).map(|(_, value)| value.to_owned()).context(name.to_owned())
        };
        Ok(Self {
            client: AzureBuilder::http_client_builder()?.build()?,
            account: part("AccountName")?,
            key: STANDARD.decode(part("AccountKey")?)?,
            endpoint: part("TableEndpoint")?,
        })
    }

    fn request(
        &self,
        method: reqwest::Method,
        path: &str,
        query: &str,
        content_type: &str,
    ) -> Result<reqwest::RequestBuilder> {
        let date = DateTime::<Utc>::from(SystemTime::now()).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let account = &self.account;
        let mut signature = Hmac::<Sha256>::new_from_slice(&self.key)?;
        // On Azurite, the path contains the account too.
        signature.update(format!("{method}\n\n{content_type}\n{date}\n/{account}/{account}/{path}").as_bytes());
        let signature = STANDARD.encode(signature.finalize().into_bytes());
        Ok(self
            .client
            .request(method, format!("{}/{path}{query}", self.endpoint))
            .header("x-ms-date", date)
            .header("x-ms-version", "2019-02-02")
            .header("DataServiceVersion", "3.0")
            .header(ACCEPT, "application/json;odata=minimalmetadata")
            .header(AUTHORIZATION, format!("SharedKey {account}:{signature}")))
    }
}

impl Client for Plain {
    const NAME: &str = "reqwest";

    async fn get(&self, author: &str, id: u64) -> Result<Option<Post>> {
        let path = format!("Posts(PartitionKey='{author}',RowKey='{id:020}')");
        let answer = self.request(reqwest::Method::GET, &path, "", "")?.send().await?;
        if answer.status() == reqwest::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&answer.error_for_status()?.bytes().await?)?))
    }

    async fn insert(&self, post: &Post) -> Result<()> {
        let body = serde_json::to_vec(&NewPost {
            partition_key: &post.author,
            row_key: format!("{:020}", post.id),
            title: &post.title,
            url: post.url.as_deref(),
            likes: post.likes,
            views_type: "Edm.Int64",
            views: post.views.to_string(),
            score_type: "Edm.Double",
            score: post.score,
            draft: post.draft,
        })?;
        let request = self.request(reqwest::Method::POST, "Posts", "", JSON)?.header("Prefer", "return-no-content");
        let answer = request.header(CONTENT_TYPE, JSON).body(body).send().await?.error_for_status()?;
        answer.headers().get(ETAG).context("no ETag")?;
        answer.bytes().await?;
        Ok(())
    }

    async fn query(&self, author: &str) -> Result<Vec<Post>> {
        #[derive(Deserialize)]
        struct Answer {
            value: Vec<Post>,
        }

        let query = format!("?$filter=PartitionKey%20eq%20%27{author}%27&$top={PAGE}");
        let answer = self.request(reqwest::Method::GET, "Posts()", &query, "")?.send().await?.error_for_status()?;
        let answer: Answer = serde_json::from_slice(&answer.bytes().await?)?;
        Ok(answer.value)
    }
}

/// Line of the output: the work, how often it is done in a round, and how many requests run side by side.
struct Line {
    work: Work,
    count: usize,
    side_by_side: usize,
}

const LINES: [Line; 6] = [
    Line { work: Work::Get, count: 10, side_by_side: 1 },
    Line { work: Work::Insert, count: 10, side_by_side: 1 },
    Line { work: Work::Query, count: 5, side_by_side: 1 },
    Line { work: Work::Get, count: 3, side_by_side: 16 },
    Line { work: Work::Insert, count: 3, side_by_side: 16 },
    Line { work: Work::Query, count: 1, side_by_side: 16 },
];

async fn one<W: Client>(client: &W, work: Work) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    match work {
        Work::Get => ensure!(client.get(READER, id % PAGE).await?.is_some(), "no row"),
        Work::Insert => client.insert(&Post::new(W::NAME, id)).await?,
        Work::Query => ensure!(client.query(READER).await?.len() as u64 == PAGE, "not all rows"),
    }
    Ok(())
}

/// Returns the milliseconds that each repetition took.
async fn measure<W: Client>(client: &W, line: &Line) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..line.count {
        let begin = Instant::now();
        if line.side_by_side == 1 {
            one(client, line.work).await?;
        } else {
            try_join_all((0..line.side_by_side).map(|_| one(client, line.work))).await?;
        }
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}

/// `azure-data-tables` in its own process, which measures its own times.
struct Python {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Python {
    fn start(connection_string: &str) -> Result<Self> {
        let python = Self::install()?;
        let mut process = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("azure_data_tables.py"))
            .args([connection_string, "Posts", READER, &PAGE.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = process.stdin.take().context("no standard input")?;
        let from = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, to, from })
    }

    /// Installs the package in its own environment and returns that environment's Python.
    fn install() -> Result<PathBuf> {
        let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/azure-data-tables");
        let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        let run = |command: &mut Command| -> Result<()> {
            let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
            ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
            Ok(())
        };
        if !python.exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        }
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PYTHON_PACKAGES))?;
        Ok(python)
    }

    fn measure(&mut self, line: &Line) -> Result<Vec<f64>> {
        let Line { work, count, side_by_side } = line;
        writeln!(self.to, "{} {count} {side_by_side}", work.name())?;
        let mut times = String::new();
        self.from.read_line(&mut times)?;
        ensure!(!times.is_empty(), "Python has failed");
        times.split_whitespace().map(|time| Ok(time.parse()?)).collect()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // A failure of either call cannot be handled. Closing the input stops the process too.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Checks before the measurement that both Rust clients do the same work.
async fn check(ours: &Ours, plain: &Plain) -> Result<()> {
    let posts: Vec<_> = (0..PAGE).map(|id| Post::new(READER, id)).collect();
    for (n, post) in posts.iter().enumerate() {
        if n % 2 == 0 { ours.insert(post).await? } else { plain.insert(post).await? }
    }
    for post in &posts {
        ensure!(ours.get(READER, post.id).await?.as_ref() == Some(post), "{post:?} by {}", Ours::NAME);
        ensure!(plain.get(READER, post.id).await?.as_ref() == Some(post), "{post:?} by {}", Plain::NAME);
    }
    ensure!(ours.query(READER).await? == posts, "the posts by {}", Ours::NAME);
    ensure!(plain.query(READER).await? == posts, "the posts by {}", Plain::NAME);
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

#[tokio::main]
async fn main() -> Result<()> {
    let azurite = Azurite::start()?;
    let connection_string = azurite.connection_string();
    let ours = Ours(Tables::connect(&connection_string)?);
    let plain = Plain::new(&connection_string)?;
    let mut python = match Python::start(&connection_string) {
        Ok(python) => Some(python),
        Err(error) => {
            println!("not measured: {PYTHON_PACKAGE}, since {error:#}");
            None
        }
    };
    ours.0.create::<Post>().await?;
    check(&ours, &plain).await?;

    let mut times: [[Vec<f64>; 3]; LINES.len()] = Default::default();
    for round in 0..=ROUNDS {
        for (line, times) in LINES.iter().zip(&mut times) {
            // Each client goes first equally often.
            for n in 0..3 {
                let client = (round + n) % 3;
                let took = match client {
                    0 => measure(&ours, line).await?,
                    1 => measure(&plain, line).await?,
                    _ => python.as_mut().map_or(Ok(Vec::new()), |python| python.measure(line))?,
                };
                // The first round opens the connections and is not counted.
                if round > 0 {
                    times[client].extend(took);
                }
            }
        }
    }

    println!("median ms, the ratio to {}", Ours::NAME);
    println!("{:<28} {:>13} {:>16} {:>26}", "", Ours::NAME, Plain::NAME, PYTHON_PACKAGE);
    for (line, [ours, plain, python]) in LINES.iter().zip(&mut times) {
        let ours = median(ours);
        let against = |other: &mut Vec<f64>| {
            let other = (!other.is_empty()).then(|| median(other))?;
            Some(format!("{other:.2} ({:.2}×)", other / ours))
        };
        let many = if line.side_by_side == 1 { String::new() } else { format!(", {} side by side", line.side_by_side) };
        let (plain, python) = (against(plain).unwrap_or_default(), against(python).unwrap_or_default());
        println!("{:<28} {ours:>13.2} {plain:>16} {python:>26}", format!("{}{many}", line.work.title()));
    }
    Ok(())
}
