//! The embedded store, beside bare `redb` with the same keys, and beside `native_db` with the same entities.
//!
//! `cargo bench -p table-runtime --bench embedded`. The files are in the target folder, on the disk that is there:
//! what a durable write takes is mostly the disk's doing.

#![allow(clippy::wildcard_imports, reason = "the modules only group the benchmarks")]

use std::{
    path::PathBuf,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use divan::{Bencher, black_box, counter::ItemsCount};
use futures_util::FutureExt;
use native_db::{ToKey, native_db};
use native_model::{Model, native_model};
use redb::ReadableDatabase;
use serde::{Deserialize, Serialize};
use table_runtime::{
    Properties, PropertiesRef, ValueRef,
    backend::{Action, Backend, EmbeddedBackend, Group, KeyRange, Operation, Partitions, Scan},
};

fn main() {
    divan::main();
}

#[native_model(id = 1, version = 1)]
#[native_db(primary_key(stored_key -> String))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Post {
    author: String,
    id: u64,
    title: String,
    url: Option<String>,
    likes: i32,
    views: i64,
}

impl Post {
    fn new(author: u64, id: u64) -> Self {
        Self {
            author: format!("author{author:04}"),
            id,
            title: format!("What I learned in my {id}th week"),
            url: id.is_multiple_of(2).then(|| format!("https://blog.example/{author}/{id}")),
            likes: i32::try_from(id % 1000).unwrap(),
            views: i64::try_from(id).unwrap() * 7,
        }
    }

    fn stored_key(&self) -> String {
        format!("{}\0{}", self.author, self.row_key())
    }

    fn row_key(&self) -> String {
        format!("{:020}", self.id)
    }

    fn operation(&self) -> Operation {
        let mut properties = Properties::with_capacity(128);
        properties.push("Title", ValueRef::String(&self.title));
        if let Some(url) = &self.url {
            properties.push("Url", ValueRef::String(url));
        }
        properties.push("Likes", ValueRef::Int32(self.likes));
        properties.push("Views", ValueRef::Int64(self.views));
        Operation { row_key: self.row_key(), action: Action::Insert(properties) }
    }

    fn read(author: &str, id: &str, properties: PropertiesRef<'_>) -> Self {
        let mut post = Self { author: author.to_owned(), id: id.parse().unwrap(), ..Self::default() };
        for (name, value) in properties {
            match (name, value) {
                ("Title", ValueRef::String(title)) => post.title = String::from(title),
                ("Url", ValueRef::String(url)) => post.url = Some(url.to_owned()),
                ("Likes", ValueRef::Int32(likes)) => post.likes = likes,
                ("Views", ValueRef::Int64(views)) => post.views = views,
                _ => {}
            }
        }
        post
    }
}

const AUTHORS: u64 = 100;
const POSTS: u64 = 1000;

/// A file of its own for each benchmark, new at each run.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// Every post, by author.
fn posts() -> impl Iterator<Item = Vec<Post>> {
    (0..AUTHORS).map(|author| (0..POSTS).map(|id| Post::new(author, id)).collect())
}

/// Keys to ask for, in no order.
fn some_key() -> impl FnMut() -> (u64, u64) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % AUTHORS, (state >> 32) % (POSTS - 100))
    }
}

struct Ours(EmbeddedBackend);

impl Ours {
    fn new(name: &str) -> Self {
        let store = EmbeddedBackend::open(file(name)).unwrap();
        runtime().block_on(store.create_table("Posts")).unwrap();
        Self(store)
    }

    fn full(name: &str) -> Self {
        let store = Self::new(name);
        for posts in posts() {
            for posts in posts.chunks(100) {
                runtime().block_on(store.insert(posts));
            }
        }
        store
    }

    async fn insert(&self, posts: &[Post]) {
        let group = Group {
            table: "Posts".into(),
            partition_key: posts[0].author.clone(),
            operations: posts.iter().map(Post::operation).collect(),
        };
        let backend: &dyn Backend = &self.0;
        backend.execute(&group).await.unwrap();
    }

    fn get(&self, author: &str, id: &str) -> Option<Post> {
        let backend: &dyn Backend = &self.0;
        let row = backend.get("Posts", author, id, None).now_or_never().unwrap().unwrap()?;
        Some(Post::read(&row.partition_key, &row.row_key, row.properties.as_ref()))
    }

    fn range(&self, author: &str, from: &str) -> Vec<Post> {
        let scan = Scan {
            table: "Posts".into(),
            partitions: Partitions::One(author.to_owned()),
            rows: KeyRange { from: std::ops::Bound::Included(from.to_owned()), to: std::ops::Bound::Unbounded },
            filter: None,
            select: None,
            page: 100,
        };
        let backend: &dyn Backend = &self.0;
        let page = backend.query(&scan, None).now_or_never().unwrap().unwrap();
        page.rows.iter().map(|row| Post::read(row.partition_key, row.row_key, row.properties)).collect()
    }
}

/// `redb` as one would tune it for these entities and no others.
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
        for posts in posts() {
            for posts in posts.chunks(100) {
                store.insert(posts);
            }
        }
        store.rows = Some(store.database.begin_read().unwrap().open_table(POSTS_TABLE).unwrap());
        store
    }

    fn key(author: &str, id: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(author.len() + 1 + id.len());
        key.extend_from_slice(author.as_bytes());
        key.push(0);
        key.extend_from_slice(id.as_bytes());
        key
    }

    fn insert(&self, posts: &[Post]) {
        let transaction = self.database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(POSTS_TABLE).unwrap();
            let first = Self::key(&posts[0].author, &posts[0].row_key());
            let mut gap = table.lower_bound_mut(std::ops::Bound::Included(first.as_slice())).unwrap();
            for post in posts {
                let value = postcard::to_allocvec(post).unwrap();
                gap.insert_before(Self::key(&post.author, &post.row_key()).as_slice(), value.as_slice()).unwrap();
            }
            gap.close().unwrap();
        }
        transaction.commit().unwrap();
    }

    fn get(&self, author: &str, id: &str) -> Option<Post> {
        let value = self.rows.as_ref().unwrap().get(Self::key(author, id).as_slice()).unwrap()?;
        Some(postcard::from_bytes(value.value()).unwrap())
    }

    fn range(&self, author: &str, from: &str) -> Vec<Post> {
        let (from, mut to) = (Self::key(author, from), Self::key(author, ""));
        *to.last_mut().unwrap() = 1;
        let rows = self.rows.as_ref().unwrap().range(from.as_slice()..to.as_slice()).unwrap();
        rows.take(100).map(|row| postcard::from_bytes(row.unwrap().1.value()).unwrap()).collect()
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
        for posts in posts() {
            for posts in posts.chunks(100) {
                store.insert(posts);
            }
        }
        store
    }

    fn insert(&self, posts: &[Post]) {
        let transaction = self.0.rw_transaction().unwrap();
        for post in posts {
            transaction.insert(post.clone()).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn get(&self, author: &str, id: &str) -> Option<Post> {
        self.0.r_transaction().unwrap().get().primary(format!("{author}\0{id}")).unwrap()
    }

    fn range(&self, author: &str, from: &str) -> Vec<Post> {
        let transaction = self.0.r_transaction().unwrap();
        let scan = transaction.scan().primary().unwrap();
        let rows = scan.range(format!("{author}\0{from}")..format!("{author}\u{1}")).unwrap();
        rows.take(100).map(Result::unwrap).collect()
    }
}

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    &RUNTIME
}

static OURS: LazyLock<Ours> = LazyLock::new(|| Ours::full("read-ours"));
static BARE: LazyLock<Bare> = LazyLock::new(|| Bare::full("read-bare"));
static NATIVE_DB: LazyLock<NativeDb> = LazyLock::new(|| NativeDb::full("read-native-db"));

fn read<T>(bencher: Bencher<'_, '_>, items: u64, read: impl Fn(&str, &str) -> T + Sync) {
    let mut key = some_key();
    bencher
        .counter(ItemsCount::new(items))
        .with_inputs(|| {
            let (author, id) = key();
            (format!("author{author:04}"), format!("{id:020}"))
        })
        .bench_local_refs(|(author, id)| read(black_box(author), black_box(id)));
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

    fn checked(posts: Vec<Post>) -> Vec<Post> {
        assert_eq!(posts.len(), 100);
        posts
    }

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        read(bencher, 100, |author, id| checked(OURS.range(author, id)));
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

/// Groups of an author's next 100 posts, the authors in turn.
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
        let store = Ours::new("groups-ours");
        groups(bencher, |posts| runtime().block_on(store.insert(posts)));
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

/// 16 tasks of 10 writes each, every one durable before the next one.
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
                            store.insert(&[next_post(task)]).await;
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
