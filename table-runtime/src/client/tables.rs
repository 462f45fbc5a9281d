//! Handle to the tables of one store.

mod lease;
mod marking;
mod marks;
mod record;
mod states;
mod turns;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use table_model::key::{KeyPart, kind};
use table_store::{
    ETag,
    backend::Backend,
    unstable::{
        RowKeys,
        client::Client,
        observe::{self, ObservedOperation, OperationObserver, Running},
    },
};

use self::{lease::Leases, marks::Marks, turns::Turns};
pub use self::{
    lease::{Lease, lock},
    marks::MarkLease,
    record::{EVENTS_REQUIRED, EVENTS_SETTLED, EntityPlace, FORMAT, FORMAT_WITHOUT_EVENTS, Facts, KEY, LayoutId},
    states::Catalog,
    turns::{InLine, Outcome, PassedRow, RoundAnswer, Shares, Turn},
};
pub(crate) use self::{
    record::{Head, Record, State, Wholes},
    states::ReadRecord,
};

/// The tables of one store: an account of Azure Table storage, or an embedded store.
///
/// A clone is cheap, and one handle is enough for a program.
///
/// | verb | writes |
/// |---|---|
/// | [`insert(&post)`](Self::insert) | a new row; an existing one is an error |
/// | [`get_or_insert(&post)`](Self::get_or_insert) | a new row; an existing one is returned as it is |
/// | [`upsert(&post)`](Self::upsert) | the row, new or in place of the old one, with everything in it |
/// | [`merge(&post)`](Self::merge) | the row, new or over the old one, whose properties that the struct does not know are kept |
/// | [`update(&mut stored)`](Self::update) | the whole row, if nobody changed it in the meantime; properties that the struct does not know are kept |
/// | [`modify(key, \|post\| …)`](Self::modify), [`modify_or_insert(&post, \|post\| …)`](Self::modify_or_insert) | the row as it was read and changed, and again if another writer was faster |
/// | [`patch(key, \|post\| [post.title.set("x")])`](Self::patch) | some properties, without reading; never creates a row, never removes a property |
/// | [`patch_if(key, &etag, \|post\| […])`](Self::patch_if) | the same, if the row has this version |
/// | [`delete(&stored)`](Self::delete) | deletes the row, if nobody changed it |
/// | [`remove(key)`](Self::remove) | deletes the row, and returns whether there was one |
/// | [`transaction()`](Self::transaction) | any of these but `modify`, for entities of one partition and table, all or nothing |
/// | [`insert_all`](Self::insert_all), [`upsert_all`](Self::upsert_all), [`remove_all`](Self::remove_all) | any number of entities, in concurrent transactions |
/// | [`Post::by_key("x").delete_all(&tables)`](crate::Rows::delete_all), [`delete_all((a, b))`](Self::delete_all) | deletes what a query, or several, find, with the index rows |
/// | [`Job::by_due(1).lease(&tables, 32, \|job\| …)`](crate::Rows::lease) | entities that a query finds, for one of several workers |
/// | [`soft_delete(key)`](Self::soft_delete), [`restore(key)`](Self::restore) | puts an entity into its bin, and takes it out |
/// | [`sweep::<Session>()`](Self::sweep) | deletes what has expired |
///
/// A `key` is `Post::key(…)`. Each write of one entity is one request if the entity has no indexes; the module
/// [`index`](mod@crate::index) has the requests with indexes. `modify` and `merge` read the row first, which is one more. A
/// write to a missing slice creates the slice, with two more.
///
/// ```
/// use table_runtime::{TableEntity, Tables};
///
/// #[derive(TableEntity, Debug, PartialEq)]
/// struct Greeting {
///     #[partition_key]
///     language: String,
///     #[row_key]
///     number: u32,
///     text: String,
/// }
///
/// # futures::executor::block_on(async {
/// let tables = Tables::in_memory()?;
/// tables.create::<Greeting>().await?;
/// let greeting = Greeting { language: "de".into(), number: 1, text: "Guten Tag".into() };
/// tables.insert(&greeting).await?;
///
/// let stored = Greeting::key("de", 1).get(&tables).await?;
/// assert_eq!(stored.as_deref(), Some(&greeting));
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Tables(Arc<Handle>);

/// The parts of a handle: in one place, so that a clone takes one count.
#[derive(Clone)]
struct Handle {
    backend: Arc<Client>,
    /// The client of queries, if they may read a copy of the store.
    reader: Option<Arc<Client>>,
    /// States of layouts that were read from the catalog.
    leases: Arc<Leases>,
    /// Marks of partitions with events.
    marks: Arc<Marks>,
    /// Rows that tasks read and change, also through handles with other prefixes.
    turns: Arc<Turns>,
    /// Time after which an operation is slow.
    slow: Duration,
}

impl Tables {
    /// Creates a handle to the tables of this backend.
    pub fn new(backend: impl Backend) -> Self {
        let backend = Arc::new(Client::new(Arc::new(backend)));
        let (leases, marks, turns, slow) = (Arc::default(), Arc::default(), Arc::default(), observe::SLOW);
        Self(Arc::new(Handle { backend, reader: None, leases, marks, turns, slow }))
    }

    /// Returns a handle that differs in this.
    fn with(&self, change: impl FnOnce(&mut Handle)) -> Self {
        let mut handle = (*self.0).clone();
        change(&mut handle);
        Self(Arc::new(handle))
    }

    /// Returns a handle whose tables all have names that begin with `prefix`: the tables of entities, of indexes and of
    /// slices, and the table `TableLayouts`, in which [`create`](Self::create) keeps its records. The structs, the
    /// queries and the guarantees are the same.
    ///
    /// If each tenant has a prefix, no tenant sees the rows of another one, whatever the prefixes are:
    ///
    /// - A prefix consists of ASCII letters and then digits, such as `tenant7`, and the name of a table begins with a letter.
    ///   So `a1` and `a12` cannot have one table, and `a` is no prefix.
    /// - The prefixes of a handle with a prefix are joined: `with_prefix("a1").with_prefix("b2")` is
    ///   `with_prefix("a1b2")`, a tenant of its own. Therefore `a1` cannot have a table `b2Posts`: under a prefix, the name
    ///   of a table must not begin with letters, digits and again a letter.
    /// - Upper and lower case do not distinguish prefixes, because the service ignores the case of table names.
    /// - A whole name has at most 63 characters, so a prefix has at most 51.
    ///
    /// A handle without a prefix is no tenant: it reads all tables, by their whole names.
    ///
    /// This function sends no request and checks nothing: [`create`](Self::create) returns
    /// [`Error::Limit`](crate::Error::Limit) for such a prefix or name, and so does each request to such a table. Keep the handle, and clone it: it does not share the states of indexes that it knows with the handle that
    /// it was made from. Each use of an index whose state is not known yet costs a request, until `create` was called.
    /// The store stays open while a handle to it exists, with any prefix.
    ///
    /// Errors that the store returns have the whole name of the table. Errors that are found without the store, in a
    /// value or in a row that was read, have the name without the prefix. Cursors do not depend on the prefix.
    ///
    /// Tests can share an account in this way. Each test has a prefix of its own, and deletes its tables at the end:
    ///
    /// ```
    /// # use table_runtime::TableEntity;
    /// use std::sync::Arc;
    ///
    /// use table_runtime::{
    ///     Tables,
    ///     backend::{BackendExt, InMemoryBackend},
    /// };
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] id: u32 }
    ///
    /// # futures::executor::block_on(async {
    /// let account = Arc::new(InMemoryBackend::new()?); // AzureBackend::connect(…)?
    /// // The process and the number of the test. All numbers have one length, so that `list_tables` finds no others.
    /// let prefix = format!("p{}t{:04}", std::process::id(), 1);
    /// let tables = Tables::new(Arc::clone(&account)).with_prefix(&prefix);
    /// tables.create::<Post>().await?;
    /// tables.insert(&Post { author: "Marcus".into(), id: 1 }).await?;
    /// assert!(Post::key("Marcus", 1).exists(&tables).await?);
    ///
    /// for table in account.list_tables(&prefix).await? {
    ///     account.delete_table(&table).await?;
    /// }
    /// # assert_eq!(account.list_tables("").await?, [""; 0]);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use = "it returns another handle, and leaves this one as it is: write `let tables = tables.with_prefix(…)`"]
    pub fn with_prefix(&self, prefix: &str) -> Self {
        let prefixed = |client: &Arc<Client>| Arc::new(client.with_prefix(prefix));
        let tables = self.with(|handle| {
            handle.backend = prefixed(&handle.backend);
            handle.reader = handle.reader.as_ref().map(prefixed);
        });
        tables.with_leases(self.leases().empty())
    }

    /// Returns the time of the store's clock: the clock by which entities expire. On the service, that is the clock of
    /// this host, corrected by the `Date` of the service's answers. Take the times of `#[table(expires = …)]` from it, so that
    /// a test with a [`Clocked`](crate::testing::Clocked) backend moves both. This function sends no request.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// let tables = table_runtime::Tables::in_memory()?;
    /// let until = tables.now() + Duration::from_secs(1800);
    /// assert!(until > SystemTime::now());
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    pub fn now(&self) -> SystemTime {
        self.0.backend.now().to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns [`now`](Self::now) as the type of a field, rounded down to the tick of 100 ns, in which times are stored. So an
    /// entity with it equals the entity that is read afterwards. The type is `SystemTime`, that of a crate for times, or a newtype
    /// with `#[derive(KeyPart)]`.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use table_runtime::{TableEntity, Tables};
    /// #[derive(TableEntity, Debug, PartialEq)]
    /// struct Order {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key(reverse_time)]
    ///     placed: SystemTime,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Order>().await?;
    /// let order = Order { tenant: "acme".into(), placed: tables.now_as() };
    /// tables.insert(&order).await?;
    /// assert_eq!(Order::by_key("acme").plain().first(&tables).await?, Some(order));
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Panics
    /// The type cannot represent the present time.
    pub fn now_as<T: KeyPart<Kind = kind::Instant>>(&self) -> T {
        T::from_key(self.0.backend.now()).expect("the type has the present time")
    }

    /// Returns a handle whose queries read the secondary region of the account if the primary region fails. The account
    /// must have read access to its secondary region (RA-GRS or RA-GZRS). The handle of a store without such a copy,
    /// such as the embedded one, reads as before. This function sends no request.
    ///
    /// A query is first sent to the primary region. If it fails there after its retries, because there is no connection
    /// or no answer, or the answers are server errors (500, 502, 503 or 504), it is sent to the secondary region. An
    /// answer of the kind 4xx is never a reason. For 30 seconds after such a failure, queries are sent to the primary
    /// region once, without retries. Queries wait for the primary region as long as `AzureBuilder::timeout` and
    /// `AzureBuilder::max_attempts` allow, so set these to less for a handle that has to answer soon. If the secondary
    /// region fails too, the query returns the error of the primary region.
    ///
    /// Only queries are affected: points, ranges, scans and lookups, and the slices that they ask for. Writes, jobs,
    /// the catalog, and every read that these rely on, use the primary region alone. So during an outage a query of an
    /// index works only while the handle holds a lease of the index's state (see [`with_lease`](Self::with_lease)), and
    /// then returns the error of the primary region. Queries by the primary key always work.
    ///
    /// # What the secondary region returns
    /// The service copies each write to the secondary region later, usually within 15 minutes, without a promise.
    /// There:
    ///
    /// - An entity can be older than its last write. A new entity is missing, and a new table is
    ///   [`Error::TableNotFound`](crate::Error::TableNotFound), or has no such row. A deleted entity can still exist.
    /// - A [`Stored`](crate::Stored) has the ETag of the version that was read. `update` and `delete` are sent to the
    ///   primary region with that ETag. If the entity has changed there, they return
    ///   [`Error::ConditionNotMet`](crate::Error::ConditionNotMet) and write nothing. So an old entity never overwrites
    ///   a newer one. Verbs without an ETag, such as `upsert` and `patch`, do not depend on what was read.
    /// - The rows of an index and its entities can be of different times. An index still returns no entity that does
    ///   not have the value as it was read, but it can miss entities, and `Copied` can be as old as any other row.
    ///   `count_unchecked` and `select_unchecked` return the rows of the index as they are.
    /// - The pages of one scan come from one region. If the primary region fails after the first page, the query
    ///   returns the error. A cursor can continue in the other region.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] id: u32 }
    ///
    /// # async fn example(tables: Tables) -> Result<()> {
    /// // The page shows what there is, also if it is not up to date.
    /// let posts = Post::by_key("Marcus").take(10).all(&tables.with_secondary_reads()).await?;
    /// # assert!(posts.is_empty());
    /// # Ok(()) }
    /// # let tables = Tables::in_memory()?;
    /// # futures::executor::block_on(async { tables.create::<Post>().await?; example(tables).await })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    #[must_use = "it returns another handle, and leaves this one as it is: write `let tables = tables.with_secondary_reads()`"]
    pub fn with_secondary_reads(&self) -> Self {
        self.with(|handle| handle.reader = handle.backend.secondary_reads())
    }

    /// Opens the embedded store in this file, and creates the file if it is missing.
    ///
    /// Dropping the last clone waits until all queued writes are done and the file is closed.
    ///
    /// # Errors
    /// Returns [`Error::InUse`](crate::Error::InUse) if this or another process has the file open, and
    /// [`Error::Store`](crate::Error::Store) if the file cannot be opened or is not a store.
    ///
    /// After an I/O error, such as a full disk, every write returns [`Error::Store`](crate::Error::Store) until the
    /// store is opened again, and so does every read of what is not in memory: drop every clone, free disk space, and open
    /// the store. If the storage engine panicked because of a damaged file, all reads return this error.
    #[cfg(feature = "embedded")]
    pub fn open(path: impl AsRef<std::path::Path>) -> table_store::Result<Self> {
        table_embedded::EmbeddedBackend::open(path).map(Self::new)
    }

    /// Opens the embedded store in this file for reading, without changing the file. Any number of processes can do so
    /// at the same time, but none of them while a process has the file open with [`open`](Self::open).
    ///
    /// [`create`](Self::create), which writes to the catalog, is an error like any other write. Indexes that are
    /// recorded as ready can be queried.
    ///
    /// ```
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key]
    ///     id: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("blog.tables");
    /// let post = Post { author: "Marcus".into(), id: 1 };
    /// let tables = Tables::open(&path)?;
    /// tables.create::<Post>().await?;
    /// tables.insert(&post).await?;
    /// drop(tables);
    ///
    /// let tables = Tables::open_read_only(&path)?;
    /// assert!(Post::key("Marcus", 1).exists(&tables).await?);
    /// assert!(tables.upsert(&post).await.is_err());
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::InUse`](crate::Error::InUse) if this or another process has the file open for writing. Returns
    /// [`Error::Store`](crate::Error::Store) if the file does not exist, is not a store, or was not closed because its
    /// process was killed: [`open`](Self::open) it once, which repairs it. Every write returns
    /// [`Error::Store`](crate::Error::Store), and nothing is written.
    #[cfg(feature = "embedded")]
    pub fn open_read_only(path: impl AsRef<std::path::Path>) -> table_store::Result<Self> {
        table_embedded::EmbeddedBackend::open_read_only(path).map(Self::new)
    }

    /// Compacts the file of an embedded store. Returns by how many bytes it became smaller.
    ///
    /// The file grows while the store is written, to about three times its content under load, and keeps the space of
    /// deleted rows for later ones. Compaction gives the space back. Nobody may have the file open: an open store keeps a
    /// snapshot for its readers, which holds the space. It takes about as long as a copy of the file. If the process is
    /// killed meanwhile, the rows stay as they are.
    ///
    /// ```
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// struct Note {
    ///     #[partition_key]
    ///     #[row_key]
    ///     id: u32,
    ///     text: String,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("notes.tables");
    /// let tables = Tables::open(&path)?;
    /// tables.create::<Note>().await?;
    /// tables.upsert_all((0..1000).map(|id| Note { id, text: "x".repeat(1000) })).await?;
    /// tables.remove_all((1..1000).map(Note::key)).await?;
    /// drop(tables);
    ///
    /// let freed = Tables::compact(&path)?;
    /// println!("the file is {freed} bytes smaller");
    /// # // The store may have given back a part of it before.
    /// # assert!(std::fs::metadata(&path).unwrap().len() < 500_000);
    /// # assert!(Note::key(0).exists(&Tables::open(&path)?).await?);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::InUse`](crate::Error::InUse) if this or another process has the file open, and
    /// [`Error::Store`](crate::Error::Store) if it does not exist, cannot be read, or is not a store.
    #[cfg(feature = "embedded")]
    pub fn compact(path: impl AsRef<std::path::Path>) -> table_store::Result<u64> {
        table_embedded::EmbeddedBackend::compact(path)
    }

    /// Creates an embedded store in memory, which is deleted with its last clone.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if its thread cannot be started.
    #[cfg(feature = "embedded")]
    pub fn in_memory() -> table_store::Result<Self> {
        table_embedded::InMemoryBackend::new().map(Self::new)
    }

    /// Creates a handle to the account of a connection string with an account key or a shared access signature. The
    /// account may belong to Azure Table storage, Cosmos DB's Table API or Azurite (`UseDevelopmentStorage=true`).
    ///
    /// Cosmos DB does not keep rows in the order of their keys. Points, counts and whole partitions work as usual
    /// there, but `take`, `first`, `page` and streams return rows in no order, and a cursor may repeat or skip rows.
    ///
    /// This function sends no request. For tokens of Microsoft Entra ID, and for timeouts and retries, see
    /// [`AzureBackend::builder`](crate::backend::AzureBackend::builder).
    ///
    /// # Errors
    /// Returns [`Error::Configuration`](crate::Error::Configuration), which names what is missing and quotes no secret.
    #[cfg(feature = "azure")]
    pub fn connect(connection_string: &str) -> table_store::Result<Self> {
        table_azure::AzureBackend::connect(connection_string).map(Self::new)
    }

    /// Returns a handle whose leases have this length. The default is 60 seconds.
    ///
    /// A handle reads from the catalog whether an index is ready, and relies on that for the length of a lease. Before an
    /// index is dropped, or is taken back to a state in which it has to be built, and before a migration ends, the
    /// program that does it therefore waits for the length of a lease and a tenth of it. All programs of one store must
    /// have the same length. A shorter one makes tests and tools wait less, and costs a request more often.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use table_runtime::Tables;
    ///
    /// let tables = Tables::in_memory()?.with_lease(Duration::from_millis(100));
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    #[must_use = "it returns another handle, and leaves this one as it is: write `let tables = tables.with_lease(…)`"]
    pub fn with_lease(&self, length: Duration) -> Self {
        self.with_leases(Leases::new(length))
    }

    /// Returns a handle whose operations are slow after this time. The default is a second.
    ///
    /// Each function that a user calls on a handle or a query, such as an insert, a query or a job, is an operation. The
    /// crate `tracing` gets a span and, at its end, an event for each, whatever the store. An operation that is slow, or in
    /// which something had to be tried again, is an event at the level `info`. All others, and the spans, are at the level
    /// `debug`. Without a subscriber for `info`, nothing is measured. The fields have the names of OpenTelemetry's
    /// conventions for databases, or begin with `table.`:
    ///
    /// | field | content |
    /// |---|---|
    /// | `otel.name` | `insert Posts`; of the span only, as `otel.kind` (`client`) and `otel.status_code` (`ERROR`) |
    /// | `db.system.name` | `azure.tables`, or `redb` for the embedded store |
    /// | `db.operation.name` | the function, such as `insert`, `all` or `repair` |
    /// | `db.collection.name` | the table, without the handle's prefix; empty for a function of several entities |
    /// | `db.response.returned_rows` | number of rows that a query returned |
    /// | `error.type` | name of the [`Error`](crate::Error), such as `ConditionNotMet` |
    /// | `table.entity` | name of the entity in the catalog |
    /// | `table.cost` | cost class of a query, such as `partition scan` |
    /// | `table.requests` | number of requests to the store, without repetitions |
    /// | `table.rows_read` | number of rows that the store returned, of indexes and of the catalog too |
    /// | `table.rows_unreadable` | number of unreadable rows that a query skipped or returned as errors: see [`skip_unreadable`](crate::Rows::skip_unreadable) |
    /// | `table.retries` | number of requests that were sent again, and of steps that lost a race to another writer |
    /// | `table.outcome` | `ok`, `error`, or `cancelled` if the future was dropped |
    /// | `duration` | of the event only |
    ///
    /// [`dump`](Self::dump), [`load`](Self::load), [`inventory`](Self::inventory) and
    /// [`Inventory::verify`](crate::inventory::Inventory::verify) are no operations, nor are the readers and writers of
    /// [`transfer`](crate::transfer).
    ///
    /// No field holds a key, a value or a secret. What runs inside of an operation, such as the reads of a `modify` or
    /// the query of a [`delete_all`](crate::Rows::delete_all), belongs to that operation and is none of its own. A request of a
    /// [round](crate::guide::counters#rounds) counts for the operation that has sent it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use table_runtime::Tables;
    ///
    /// let tables = Tables::in_memory()?.with_slow_after(Duration::from_millis(100));
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    #[must_use = "it returns another handle, and leaves this one as it is: write `let tables = tables.with_slow_after(…)`"]
    pub fn with_slow_after(&self, time: Duration) -> Self {
        self.with(|handle| handle.slow = time)
    }

    /// Begins an operation of a user; `None` if nobody observes it, or if it is a part of another one.
    pub(crate) fn begin_operation(&self, operation: impl FnOnce() -> ObservedOperation) -> Option<Box<Running>> {
        let begin =
            || OperationObserver { system: self.0.backend.describe().system, slow: self.0.slow }.begin(operation());
        observe::is_observed().then(begin)
    }

    /// Returns the client of the store.
    pub(crate) fn backend(&self) -> &Arc<Client> {
        &self.0.backend
    }

    /// Returns the client of queries. Nothing else may read with it, because what it returns may be out of date.
    pub(crate) fn reader(&self) -> &Arc<Client> {
        self.0.reader.as_ref().unwrap_or(&self.0.backend)
    }

    /// Returns a handle to the same tables whose queries read the store itself, for writes that rely on them.
    pub(crate) fn of_primary(&self) -> Self {
        self.with(|handle| handle.reader = None)
    }

    /// Returns a handle to the same tables that sends its requests to this backend, which sends them through the client.
    pub(crate) fn with_backend(&self, backend: Arc<dyn Backend>) -> Self {
        self.with(|handle| handle.backend = Arc::new(Client::uncounted(backend)))
    }

    /// Returns a handle that holds these leases, and none of marks.
    fn with_leases(&self, leases: Leases) -> Self {
        self.with(|handle| (handle.leases, handle.marks) = (Arc::new(leases), Arc::default()))
    }

    /// Returns the leases that the handle holds.
    pub(crate) fn leases(&self) -> &Leases {
        &self.0.leases
    }

    /// Returns a handle for a run of a migration: it may write to a place that is not open yet, as long as the record of
    /// its primary key has this version.
    pub(crate) fn for_target(&self, id: LayoutId, version: ETag) -> Self {
        self.with_leases(self.leases().for_target(id, version))
    }

    /// Waits for the turn of a task to read and change a row. The turn ends when what this returns is dropped.
    pub(crate) async fn turn(&self, table: &str, keys: &RowKeys) -> InLine<'_> {
        let mut place = self.in_line(table, keys, None);
        place.turn().await;
        place
    }

    /// Returns a place in the line of the tasks that read and change a row. `shares` are the tasks with which this one shares
    /// rounds; `None` if it takes its turns alone.
    pub(crate) fn in_line(&self, table: &str, keys: &RowKeys, shares: Option<Shares>) -> InLine<'_> {
        let whole = self.0.backend.table_name(table).unwrap_or_else(|_| table.to_owned());
        self.0.turns.enter(&self.0.backend, (whole, keys.clone()), shares)
    }

    /// Checks that a table of this name, with the prefix of this handle before it, can exist.
    pub(crate) fn check_table_name(&self, table: &str) -> table_store::Result<()> {
        self.0.backend.table_name(table).map(drop)
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tables").field(&self.0.backend).finish()
    }
}
