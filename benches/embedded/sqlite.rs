//! `SQLite`, with a table and two indexes for these entities.

use std::{
    path::Path,
    sync::Mutex,
    time::{Duration, SystemTime},
};

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use crate::{
    entities::{Customer, Post},
    report::{Sample, timed},
};

/// A database in a file with a write-ahead log, whose commits are on the disk before they return. Threads share its
/// connection.
pub(crate) struct Sqlite(Mutex<Connection>);

const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;";
const POSTS: &str = "CREATE TABLE posts (author TEXT, id INTEGER, title TEXT, url TEXT, likes INTEGER, posted INTEGER,
    PRIMARY KEY (author, id)) WITHOUT ROWID;";
const CUSTOMERS: &str = "CREATE TABLE customers (shop INTEGER, id INTEGER, email TEXT, city TEXT, name TEXT,
    cents INTEGER, PRIMARY KEY (shop, id)) WITHOUT ROWID;";
const INDEXES: &str = "CREATE UNIQUE INDEX emails ON customers (email COLLATE NOCASE);
    CREATE INDEX cities ON customers (city);";

impl Sqlite {
    fn open(file: &Path, schema: &str) -> Self {
        for suffix in ["-wal", "-shm"] {
            let mut name = file.as_os_str().to_owned();
            name.push(suffix);
            let _ = std::fs::remove_file(name);
        }
        let database = Connection::open(file).unwrap();
        database.execute_batch(SETTINGS).unwrap();
        database.execute_batch(schema).unwrap();
        Self(Mutex::new(database))
    }

    /// Returns a new database of customers without indexes.
    pub(crate) fn new(file: &Path) -> Self {
        Self::open(file, CUSTOMERS)
    }

    /// Returns a new database of customers with two indexes.
    pub(crate) fn indexed(file: &Path) -> Self {
        Self::open(file, &format!("{CUSTOMERS} {INDEXES}"))
    }

    pub(crate) fn of_authors(file: &Path, authors: u64) -> Self {
        let Self(database) = Self::open(file, POSTS);
        let mut database = database.into_inner().unwrap();
        let transaction = database.transaction().unwrap();
        for Post { author, id, title, url, likes, posted } in Post::of_authors(authors) {
            let id = i64::try_from(id).unwrap();
            prepared(&transaction, "INSERT INTO posts VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
                .execute(params![author, id, title, url, likes, milliseconds(posted)])
                .unwrap();
        }
        transaction.commit().unwrap();
        Self(Mutex::new(database))
    }

    pub(crate) fn get(&self, author: &str, id: u64) -> Option<Post> {
        let database = self.0.lock().unwrap();
        let mut found = prepared(&database, "SELECT * FROM posts WHERE author = ?1 AND id = ?2");
        found.query_row(params![author, i64::try_from(id).unwrap()], post).optional().unwrap()
    }

    pub(crate) fn range(&self, author: &str, from: u64) -> Vec<Post> {
        let database = self.0.lock().unwrap();
        let mut found = prepared(&database, "SELECT * FROM posts WHERE author = ?1 AND id >= ?2 ORDER BY id LIMIT 100");
        let rows = found.query_map(params![author, i64::try_from(from).unwrap()], post).unwrap();
        let mut posts = Vec::with_capacity(100);
        posts.extend(rows.map(Result::unwrap));
        posts
    }

    /// Inserts customers in one transaction.
    pub(crate) fn insert<C: Customer>(&self, customers: &[C]) -> Sample {
        timed(|| {
            let mut database = self.0.lock().unwrap();
            let transaction = database.transaction().unwrap();
            for customer in customers {
                prepared(&transaction, "INSERT INTO customers VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
                    .execute(customer.columns())
                    .unwrap();
            }
            transaction.commit().unwrap();
        })
    }
}

fn prepared<'d>(database: &'d Connection, statement: &str) -> CachedStatement<'d> {
    database.prepare_cached(statement).unwrap()
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn post(row: &Row<'_>) -> rusqlite::Result<Post> {
    let milliseconds = u64::try_from(row.get::<_, i64>(5)?).unwrap();
    Ok(Post {
        author: row.get(0)?,
        id: u64::try_from(row.get::<_, i64>(1)?).unwrap(),
        title: row.get(2)?,
        url: row.get(3)?,
        likes: row.get(4)?,
        posted: SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds),
    })
}
