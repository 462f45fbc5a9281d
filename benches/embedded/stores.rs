//! The embedded store and its references: the same works on each of them.

use std::{
    hint::black_box,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use futures_util::FutureExt;
use native_db::ToInput;
use redb::{ReadableDatabase, TableDefinition};
use serde::Serialize;
use table_runtime::{
    Stored, TableEntity, Tables,
    backend::{Backend, EmbeddedBackend},
    testing::{Counting, PartitionReach, Requests},
};

use crate::{
    entities::{Customer, Headline, Numbered, Plain, Post, TwoIndexes, post_key},
    report::{Sample, timed},
};

/// Number of tasks that write at the same time, and number of the writes of each.
pub(crate) const TASKS: u32 = 16;
pub(crate) const WRITES: u32 = 10;

/// Returns the runtime of the writes.
pub(crate) fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    &RUNTIME
}

/// Returns the answer of a read, which the embedded store completes at the first poll.
pub(crate) fn answer<T>(read: impl Future<Output = T>) -> T {
    read.now_or_never().expect("reads are inline")
}

/// The embedded store with typed entities, as an application uses it.
pub(crate) struct Ours {
    pub(crate) tables: Tables,
    /// `None` if requests are not counted.
    requests: Option<Requests>,
}

impl Ours {
    /// Returns a new store on disk that counts requests, with the table of an entity.
    pub(crate) fn new<E: TableEntity>(file: &Path) -> Self {
        Self::on::<E>(EmbeddedBackend::open(file).unwrap())
    }

    /// Returns a new store whose transactions span one partition, as those of the service do.
    pub(crate) fn in_steps<E: TableEntity>(file: &Path) -> Self {
        Self::on::<E>(PartitionReach(EmbeddedBackend::open(file).unwrap()))
    }

    fn on<E: TableEntity>(backend: impl Backend) -> Self {
        let (backend, requests) = Counting::new(backend);
        let tables = Tables::new(backend);
        runtime().block_on(tables.create::<E>()).unwrap();
        Self { tables, requests: Some(requests) }
    }

    /// Returns a store with the posts of this number of authors. It does not count requests.
    pub(crate) fn of_authors(file: &Path, authors: u64) -> Self {
        let tables = Tables::open(file).unwrap();
        runtime().block_on(async {
            tables.create::<Post>().await.unwrap();
            tables.insert_all(Post::of_authors(authors)).await.unwrap();
        });
        Self { tables, requests: None }
    }

    /// Returns the time of a work, and the number of its requests if they are counted.
    pub(crate) fn measured<T>(&self, work: impl FnOnce() -> T) -> Sample {
        let take = || self.requests.as_ref().map(|requests| requests.take().total());
        take();
        let sample = timed(work);
        Sample { requests: take(), ..sample }
    }

    pub(crate) fn get(&self, author: &str, id: u64) -> Option<Stored<Post>> {
        answer(Post::key(author, id).get(&self.tables)).unwrap()
    }

    pub(crate) fn range(&self, author: &str, from: u64) -> Vec<Stored<Post>> {
        answer(Post::by_key(author).range(from..).take(100).all(&self.tables)).unwrap()
    }

    /// Returns the number of rows, and a sum over their fields.
    pub(crate) fn borrowed_range(&self, author: &str, from: u64) -> (usize, usize) {
        let (mut rows, mut sum) = (0, 0);
        let each = |Headline { title, url, likes }: Headline<'_>| {
            rows += 1;
            sum += title.len() + url.map_or(0, str::len) + usize::try_from(likes).unwrap();
        };
        let headlines = Post::by_key(author).range(from..).take(100).select::<Headline<'_>>();
        answer(headlines.for_each(&self.tables, each)).unwrap();
        (rows, sum)
    }

    pub(crate) fn insert<C: Numbered>(&self, customers: &[C]) -> Sample {
        self.measured(|| {
            runtime().block_on(async {
                match customers {
                    [customer] => {
                        self.tables.insert(customer).await.unwrap();
                    }
                    customers => {
                        self.tables.insert_all(customers).await.unwrap();
                    }
                }
            });
        })
    }

    /// Inserts [`WRITES`] customers in each of [`TASKS`] tasks, one after another.
    pub(crate) fn insert_in_tasks(&self, next: &Arc<AtomicU32>) {
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (tables, next) = (self.tables.clone(), Arc::clone(next));
                runtime().spawn(async move {
                    for _ in 0..WRITES {
                        tables.insert(&Plain::new(next.fetch_add(1, Ordering::Relaxed))).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            runtime().block_on(task).unwrap();
        }
    }
}

/// Bare `redb`, with code for these entities only.
pub(crate) struct Bare {
    database: redb::Database,
    rows: Option<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("Rows");
const EMAILS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("Emails");
const CITIES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("Cities");

impl Bare {
    pub(crate) fn new(file: &Path) -> Self {
        Self { database: redb::Database::create(file).unwrap(), rows: None }
    }

    pub(crate) fn of_authors(file: &Path, authors: u64) -> Self {
        let mut store = Self::new(file);
        let transaction = store.database.begin_write().unwrap();
        append(&transaction, Post::of_authors(authors).map(|post| (post.stored_key(), post)));
        transaction.commit().unwrap();
        store.rows = Some(store.database.begin_read().unwrap().open_table(ROWS).unwrap());
        store
    }

    pub(crate) fn get(&self, author: &str, id: u64) -> Option<Post> {
        let value = self.rows.as_ref().unwrap().get(post_key(author, id).as_bytes()).unwrap()?;
        Some(postcard::from_bytes(value.value()).unwrap())
    }

    pub(crate) fn range(&self, author: &str, from: u64) -> Vec<Post> {
        let (from, to) = (post_key(author, from), format!("{author}\u{1}"));
        let rows = self.rows.as_ref().unwrap().range(from.as_bytes()..to.as_bytes()).unwrap();
        let mut posts = Vec::with_capacity(100);
        posts.extend(rows.take(100).map(|row| postcard::from_bytes::<Post>(row.unwrap().1.value()).unwrap()));
        posts
    }

    /// Inserts customers in one transaction.
    pub(crate) fn insert(&self, customers: &[Plain]) -> Sample {
        timed(|| {
            let transaction = self.database.begin_write().unwrap();
            append(&transaction, customers.iter().map(|customer| (customer.stored_key(), customer)));
            transaction.commit().unwrap();
        })
    }

    /// Inserts customers and the rows of two indexes in one transaction.
    pub(crate) fn insert_indexed(&self, customers: &[TwoIndexes]) -> Sample {
        timed(|| {
            let transaction = self.database.begin_write().unwrap();
            append(&transaction, customers.iter().map(|customer| (customer.stored_key(), customer)));
            index(&transaction, customers);
            transaction.commit().unwrap();
        })
    }

    /// Reads the customers and the rows of their two indexes. Returns the number of rows.
    pub(crate) fn count_indexed(&self) -> usize {
        let transaction = self.database.begin_read().unwrap();
        let rows = [ROWS, EMAILS].map(|table| {
            let rows = transaction.open_table(table).unwrap();
            rows.range::<&[u8]>(..)
                .unwrap()
                .filter(|row| !black_box(row.as_ref().unwrap().1.value()).is_empty())
                .count()
        });
        let cities = transaction.open_table(CITIES).unwrap();
        rows.iter().sum::<usize>() + cities.range::<&[u8]>(..).unwrap().map(Result::unwrap).count()
    }
}

/// Writes the index rows of new customers.
fn index(transaction: &redb::WriteTransaction, customers: &[TwoIndexes]) {
    let mut emails = transaction.open_table(EMAILS).unwrap();
    let mut cities = transaction.open_table(CITIES).unwrap();
    for customer in customers {
        let key = customer.stored_key();
        let owner = emails.insert(customer.email_key().as_bytes(), key.as_bytes()).unwrap();
        assert!(owner.is_none(), "the address is unique");
        cities.insert(format!("{}\0{key}", customer.city_key()).as_bytes(), ()).unwrap();
    }
}

/// Writes new rows at one place of the table, which is faster than to look for the place of each.
fn append(transaction: &redb::WriteTransaction, rows: impl Iterator<Item = (String, impl Serialize)>) {
    let mut rows = rows.peekable();
    let mut table = transaction.open_table(ROWS).unwrap();
    let first = rows.peek().map(|(key, _)| key.clone()).unwrap();
    let mut gap = table.lower_bound_mut(std::ops::Bound::Included(first.as_bytes())).unwrap();
    for (key, row) in rows {
        gap.insert_before(key.as_bytes(), postcard::to_allocvec(&row).unwrap().as_slice()).unwrap();
    }
    gap.close().unwrap();
}

pub(crate) struct NativeDb(native_db::Database<'static>);

static MODELS: LazyLock<native_db::Models> = LazyLock::new(|| {
    let mut models = native_db::Models::new();
    models.define::<Post>().unwrap();
    models.define::<Plain>().unwrap();
    models.define::<TwoIndexes>().unwrap();
    models
});

impl NativeDb {
    pub(crate) fn new(file: &Path) -> Self {
        Self(native_db::Builder::new().create(&MODELS, file).unwrap())
    }

    pub(crate) fn of_authors(file: &Path, authors: u64) -> Self {
        let store = Self::new(file);
        store.insert_each(Post::of_authors(authors));
        store
    }

    pub(crate) fn get(&self, author: &str, id: u64) -> Option<Post> {
        self.0.r_transaction().unwrap().get().primary(post_key(author, id)).unwrap()
    }

    pub(crate) fn range(&self, author: &str, from: u64) -> Vec<Post> {
        let transaction = self.0.r_transaction().unwrap();
        let scan = transaction.scan().primary().unwrap();
        let rows = scan.range(post_key(author, from)..format!("{author}\u{1}")).unwrap();
        let mut posts = Vec::with_capacity(100);
        posts.extend(rows.take(100).map(Result::unwrap));
        posts
    }

    /// Inserts entities in one transaction.
    pub(crate) fn insert<E: ToInput + Clone>(&self, entities: &[E]) -> Sample {
        timed(|| self.insert_each(entities.iter().cloned()))
    }

    fn insert_each<E: ToInput>(&self, entities: impl Iterator<Item = E>) {
        let transaction = self.0.rw_transaction().unwrap();
        for entity in entities {
            transaction.insert(entity).unwrap();
        }
        transaction.commit().unwrap();
    }
}

/// Runs [`TASKS`] threads, each of which inserts [`WRITES`] customers, one after another.
pub(crate) fn insert_in_threads(next: &AtomicU32, insert: impl Fn(&[Plain]) -> Sample + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..TASKS {
            scope.spawn(|| {
                for _ in 0..WRITES {
                    insert(&[Plain::new(next.fetch_add(1, Ordering::Relaxed))]);
                }
            });
        }
    });
}
