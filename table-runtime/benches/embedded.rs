//! Benchmarks of the embedded store, compared with bare `redb` with the same keys, and with `native_db` with the same
//! entities.
//!
//! Run with `cargo bench -p table-runtime --bench embedded`. The files are in the target folder. The time of a durable
//! write depends mostly on the disk of that folder.

#![allow(clippy::wildcard_imports, reason = "the modules only group the benchmarks")]

use std::{
    path::PathBuf,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use divan::{Bencher, black_box, counter::ItemsCount};
use futures_util::FutureExt;
use native_db::{ToKey, native_db};
use native_model::{Model, native_model};
use redb::ReadableDatabase;
use serde::{Deserialize, Serialize};
use table_runtime::{
    Projection, Properties, Stored, TableEntity, Tables, Ticks, ValueRef,
    backend::{Action, Backend, EmbeddedBackend, Group, Operation},
};

fn main() {
    divan::main();
}

/// A realistic entity: two key fields, a text, a text that may be missing, a number and a time.
#[native_model(id = 1, version = 1)]
#[native_db(primary_key(stored_key -> String))]
#[derive(TableEntity, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u64,
    title: String,
    url: Option<String>,
    likes: u32,
    posted: SystemTime,
}

/// Three fields of a post, which borrow from its row.
#[derive(Projection)]
#[projection(of = Post)]
struct Headline<'a> {
    title: &'a str,
    url: Option<&'a str>,
    likes: u32,
}

impl Post {
    fn new(author: u64, id: u64) -> Self {
        Self {
            author: format!("author{author:04}"),
            id,
            title: format!("What I learned in my {id}th week"),
            url: id.is_multiple_of(2).then(|| format!("https://blog.example/{author}/{id}")),
            likes: u32::try_from(id % 1000).unwrap(),
            posted: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123 + id * 7_001),
        }
    }

    /// Returns the single key of `native_db`, a text. The other stores use the same bytes.
    fn stored_key(&self) -> String {
        stored_key(&self.author, self.id)
    }

    fn operation(&self) -> Operation {
        let mut properties = Properties::with_capacity(128);
        properties.push("Title", ValueRef::String(&self.title));
        if let Some(url) = &self.url {
            properties.push("Url", ValueRef::String(url));
        }
        properties.push("Likes", ValueRef::Int64(self.likes.into()));
        properties.push("Posted", ValueRef::DateTime(Ticks::from_system(self.posted).unwrap()));
        Operation { row_key: format!("{:020}", self.id), action: Action::Insert(properties) }
    }
}

fn stored_key(author: &str, id: u64) -> String {
    let (mut digits, mut rest) = ([0; 20], id);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap();
        rest /= 10;
    }
    let mut key = String::with_capacity(author.len() + 21);
    key.push_str(author);
    key.push('\0');
    key.push_str(std::str::from_utf8(&digits).unwrap());
    key
}

const AUTHORS: u64 = 100;
const POSTS: u64 = 1000;

/// Returns the path of a file for one benchmark, without a file from an earlier run.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// Passes every post to `insert`, in groups of 100.
fn fill(insert: impl Fn(&[Post])) {
    for author in 0..AUTHORS {
        let posts: Vec<_> = (0..POSTS).map(|id| Post::new(author, id)).collect();
        posts.chunks(100).for_each(&insert);
    }
}

/// Returns a generator of keys in pseudo-random order.
fn some_key() -> impl FnMut() -> (String, u64) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (format!("author{:04}", state % AUTHORS), (state >> 32) % (POSTS - 100))
    }
}

/// Returns the answer of a read, which the embedded store completes at the first poll.
fn answer<T>(read: impl Future<Output = T>) -> T {
    read.now_or_never().expect("reads are inline")
}

/// The embedded store with typed entities, as an application uses it.
struct Ours(Tables);

impl Ours {
    fn new(name: &str) -> Self {
        let tables = Tables::open(file(name)).unwrap();
        runtime().block_on(tables.create::<Post>()).unwrap();
        Self(tables)
    }

    fn full(name: &str) -> Self {
        let groups = OursInGroups::new(name);
        fill(|posts| groups.insert(posts));
        let OursInGroups { store, path } = groups;
        drop(store);
        Self(Tables::open(path).unwrap())
    }

    fn get(&self, author: &str, id: u64) -> Option<Stored<Post>> {
        answer(Post::key(author, id).get(&self.0)).unwrap()
    }

    fn range(&self, author: &str, from: u64) -> Vec<Stored<Post>> {
        answer(Post::by_key(author).range(from..).take(100).all(&self.0)).unwrap()
    }

    /// Returns the number of rows, and a sum over their fields.
    fn borrowed_range(&self, author: &str, from: u64) -> (usize, usize) {
        let (mut rows, mut sum) = (0, 0);
        let each = |Headline { title, url, likes }: Headline<'_>| {
            rows += 1;
            sum += title.len() + url.map_or(0, str::len) + usize::try_from(likes).unwrap();
        };
        answer(Post::by_key(author).range(from..).take(100).select::<Headline<'_>>().for_each(&self.0, each)).unwrap();
        (rows, sum)
    }
}

/// The embedded store without typed entities.
struct OursInGroups {
    store: EmbeddedBackend,
    path: PathBuf,
}

impl OursInGroups {
    fn new(name: &str) -> Self {
        let path = file(name);
        let store = EmbeddedBackend::open(&path).unwrap();
        runtime().block_on(store.create_table("Posts")).unwrap();
        Self { store, path }
    }

    fn insert(&self, posts: &[Post]) {
        let group = Group {
            table: "Posts".into(),
            partition_key: posts[0].author.clone(),
            operations: posts.iter().map(Post::operation).collect(),
        };
        runtime().block_on(self.store.execute(&group)).unwrap();
    }
}

/// Bare `redb`, tuned for these entities only.
struct Bare {
    database: redb::Database,
    rows: Option<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

const POSTS_TABLE: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("Posts");

impl Bare {
    fn new(name: &str) -> Self {
        let database = redb::Database::create(file(name)).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(POSTS_TABLE).unwrap();
        transaction.commit().unwrap();
        Self { database, rows: None }
    }

    fn full(name: &str) -> Self {
        let mut store = Self::new(name);
        fill(|posts| store.insert(posts));
        store.rows = Some(store.database.begin_read().unwrap().open_table(POSTS_TABLE).unwrap());
        store
    }

    fn insert(&self, posts: &[Post]) {
        let transaction = self.database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(POSTS_TABLE).unwrap();
            let first = posts[0].stored_key();
            let mut gap = table.lower_bound_mut(std::ops::Bound::Included(first.as_bytes())).unwrap();
            for post in posts {
                let value = postcard::to_allocvec(post).unwrap();
                gap.insert_before(post.stored_key().as_bytes(), value.as_slice()).unwrap();
            }
            gap.close().unwrap();
        }
        transaction.commit().unwrap();
    }

    fn get(&self, author: &str, id: u64) -> Option<Post> {
        let value = self.rows.as_ref().unwrap().get(stored_key(author, id).as_bytes()).unwrap()?;
        Some(postcard::from_bytes(value.value()).unwrap())
    }

    fn range(&self, author: &str, from: u64) -> Vec<Post> {
        let (from, to) = (stored_key(author, from), format!("{author}\u{1}"));
        let rows = self.rows.as_ref().unwrap().range(from.as_bytes()..to.as_bytes()).unwrap();
        let mut posts = Vec::with_capacity(100);
        posts.extend(rows.take(100).map(|row| postcard::from_bytes::<Post>(row.unwrap().1.value()).unwrap()));
        posts
    }
}

struct NativeDb(native_db::Database<'static>);

static MODELS: LazyLock<native_db::Models> = LazyLock::new(|| {
    let mut models = native_db::Models::new();
    models.define::<Post>().unwrap();
    models
});

impl NativeDb {
    fn new(name: &str) -> Self {
        Self(native_db::Builder::new().create(&MODELS, file(name)).unwrap())
    }

    fn full(name: &str) -> Self {
        let store = Self::new(name);
        fill(|posts| store.insert(posts));
        store
    }

    fn insert(&self, posts: &[Post]) {
        let transaction = self.0.rw_transaction().unwrap();
        for post in posts {
            transaction.insert(post.clone()).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn get(&self, author: &str, id: u64) -> Option<Post> {
        self.0.r_transaction().unwrap().get().primary(stored_key(author, id)).unwrap()
    }

    fn range(&self, author: &str, from: u64) -> Vec<Post> {
        let transaction = self.0.r_transaction().unwrap();
        let scan = transaction.scan().primary().unwrap();
        let rows = scan.range(stored_key(author, from)..format!("{author}\u{1}")).unwrap();
        let mut posts = Vec::with_capacity(100);
        posts.extend(rows.take(100).map(Result::unwrap));
        posts
    }
}

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    &RUNTIME
}

static OURS: LazyLock<Ours> = LazyLock::new(|| Ours::full("read-ours"));
static BARE: LazyLock<Bare> = LazyLock::new(|| Bare::full("read-bare"));
static NATIVE_DB: LazyLock<NativeDb> = LazyLock::new(|| NativeDb::full("read-native-db"));

fn read<T>(bencher: Bencher<'_, '_>, items: u64, read: impl Fn(&str, u64) -> T + Sync) {
    bencher
        .counter(ItemsCount::new(items))
        .with_inputs(some_key())
        .bench_local_refs(|(author, id)| read(black_box(author), black_box(*id)));
}

#[divan::bench_group(sample_count = 2000, sample_size = 50)]
mod get {
    use super::*;

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        read(bencher, 1, |author, id| OURS.get(author, id).unwrap());
    }

    #[divan::bench]
    fn bare_redb(bencher: Bencher<'_, '_>) {
        read(bencher, 1, |author, id| BARE.get(author, id).unwrap());
    }

    #[divan::bench]
    fn native_db(bencher: Bencher<'_, '_>) {
        read(bencher, 1, |author, id| NATIVE_DB.get(author, id).unwrap());
    }
}

#[divan::bench_group(sample_count = 1000, sample_size = 10)]
mod range_of_100 {
    use super::*;

    fn checked<T>(posts: Vec<T>) -> Vec<T> {
        assert_eq!(posts.len(), 100);
        posts
    }

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        read(bencher, 100, |author, id| checked(OURS.range(author, id)));
    }

    #[divan::bench]
    fn ours_borrowed(bencher: Bencher<'_, '_>) {
        read(bencher, 100, |author, id| {
            let (rows, sum) = OURS.borrowed_range(author, id);
            assert_eq!(rows, 100);
            sum
        });
    }

    #[divan::bench]
    fn bare_redb(bencher: Bencher<'_, '_>) {
        read(bencher, 100, |author, id| checked(BARE.range(author, id)));
    }

    #[divan::bench]
    fn native_db(bencher: Bencher<'_, '_>) {
        read(bencher, 100, |author, id| checked(NATIVE_DB.range(author, id)));
    }
}

/// Measures `insert` with groups of 100 posts: the next posts of one author after another.
fn groups(bencher: Bencher<'_, '_>, insert: impl Fn(&[Post]) + Sync) {
    let mut turn = 0;
    bencher
        .counter(ItemsCount::new(100_u64))
        .with_inputs(|| {
            let (author, first) = (turn % AUTHORS, turn / AUTHORS * 100);
            turn += 1;
            (first..first + 100).map(|id| Post::new(author, id)).collect::<Vec<_>>()
        })
        .bench_local_refs(|posts| insert(posts));
}

#[divan::bench_group(sample_count = 1500, sample_size = 1)]
mod durable_group_of_100 {
    use super::*;

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        let store = OursInGroups::new("groups-ours");
        groups(bencher, |posts| store.insert(posts));
    }

    #[divan::bench]
    fn bare_redb(bencher: Bencher<'_, '_>) {
        let store = Bare::new("groups-bare");
        groups(bencher, |posts| store.insert(posts));
    }

    #[divan::bench]
    fn native_db(bencher: Bencher<'_, '_>) {
        let store = NativeDb::new("groups-native-db");
        groups(bencher, |posts| store.insert(posts));
    }
}

const TASKS: u64 = 16;
const WRITES: u64 = 10;

static NEXT: AtomicU64 = AtomicU64::new(0);

fn next_post(task: u64) -> Post {
    Post::new(task, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// 16 tasks with 10 writes each. Every write of a task is durable before its next one.
#[divan::bench_group(sample_count = 50, sample_size = 1, counters = [ItemsCount::new(TASKS * WRITES)])]
mod single_writes_of_16_tasks {
    use super::*;

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        let store = Arc::new(Ours::new("tasks-ours"));
        bencher.bench_local(|| {
            let tasks: Vec<_> = (0..TASKS)
                .map(|task| {
                    let store = Arc::clone(&store);
                    runtime().spawn(async move {
                        for _ in 0..WRITES {
                            store.0.insert(&next_post(task)).await.unwrap();
                        }
                    })
                })
                .collect();
            for task in tasks {
                runtime().block_on(task).unwrap();
            }
        });
    }

    fn threads(bencher: Bencher<'_, '_>, insert: impl Fn(&[Post]) + Sync) {
        bencher.bench_local(|| {
            std::thread::scope(|scope| {
                for task in 0..TASKS {
                    let insert = &insert;
                    scope.spawn(move || (0..WRITES).for_each(|_| insert(&[next_post(task)])));
                }
            });
        });
    }

    #[divan::bench]
    fn bare_redb(bencher: Bencher<'_, '_>) {
        let store = Bare::new("tasks-bare");
        threads(bencher, |posts| store.insert(posts));
    }

    #[divan::bench]
    fn native_db(bencher: Bencher<'_, '_>) {
        let store = NativeDb::new("tasks-native-db");
        threads(bencher, |posts| store.insert(posts));
    }
}
