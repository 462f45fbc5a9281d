//! A plain store in memory, for tests that read all of it again and again: no threads, a simulated clock, cheap to copy.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt,
    ops::RangeBounds,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use table_runtime::{
    ETag, Error, Result, Tables, Ticks,
    backend::{
        Action, Backend, BoxFuture, Clock, Continuation, Description, FailedGroup, Group, IfMatch, Operation, Page,
        Partitions, Reach, ReadRequest, ReadTarget, Reader, Scan, Sleep, StoreView, TableRequest, Written,
    },
    limits,
    row::{Properties, PropertiesRef, Row, RowId, RowRef},
};

use crate::form::Seal;

/// A store with the semantics of the service. Each request is answered when it is polled first.
///
/// The writes are numbered. The time stamp and the ETag of a row are as many ticks after the epoch of the store as the
/// number of the write. Clones share the store; a [`copy`](Self::copy) is another store.
///
/// Its clock starts at 0 and is part of its state. Only a [sleep](Clock::sleep) advances it, and takes no real time.
#[derive(Clone)]
pub struct Plain(Arc<Mutex<State>>);

/// Copies share tables and rows, because most of the stores of a search differ in one row.
#[derive(Clone)]
struct State {
    /// The tables by their names in lower case, since the service ignores case.
    tables: BTreeMap<String, Arc<Table>>,
    epoch: Ticks,
    /// The number of the last write.
    version: u64,
    /// The time that sleeps have simulated.
    clock: Duration,
    reach: Reach,
    /// Largest number of rows of a page.
    page: usize,
}

#[derive(Clone)]
struct Table {
    name: String,
    rows: BTreeMap<Arc<Keys>, Arc<Stored>>,
}

/// A partition key and a row key.
type Keys = (Key, Key);

/// A key, in the order of UTF-16 units.
#[derive(Clone, PartialEq, Eq)]
struct Key(String);

#[derive(Debug)]
struct Stored {
    properties: Properties,
    written: Ticks,
    version: u64,
    /// The row's seal, once it was asked for.
    seal: OnceLock<Seal>,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self(key.to_owned())
    }
}

impl Plain {
    /// Returns a store without tables. Its first write is one tick after `epoch`. A transaction spans one partition.
    pub fn since(epoch: Ticks) -> Self {
        let (tables, clock, reach) = (BTreeMap::new(), Duration::ZERO, Reach::Partition);
        Self(Arc::new(Mutex::new(State { tables, epoch, version: 0, clock, reach, page: 1000 })))
    }

    /// Lets each transaction of the store span these rows.
    #[must_use]
    pub fn with_reach(self, reach: Reach) -> Self {
        self.lock().reach = reach;
        self
    }

    /// Limits the rows of a page.
    #[must_use]
    pub fn with_pages(self, rows: usize) -> Self {
        self.lock().page = rows;
        self
    }

    /// Returns the tables of the store.
    pub fn tables(&self) -> Tables {
        Tables::new(self.clone())
    }

    /// Returns another store with the same rows, versions and time.
    pub fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Returns the time from which the store counts.
    pub fn epoch(&self) -> Ticks {
        self.lock().epoch
    }

    /// Returns the names of the tables, in order.
    pub fn names(&self) -> Vec<String> {
        self.lock().list_tables("")
    }

    /// Calls `read` for each row with the name of its table, in the order of tables and keys.
    pub fn for_each_row(&self, mut read: impl FnMut(&str, RowRef<'_>)) {
        for table in self.lock().tables.values() {
            for (keys, stored) in &table.rows {
                let (partition_key, row_key) = (&*keys.0.0, &*keys.1.0);
                let (properties, etag) = (stored.properties.as_ref(), &ETag::from(stored.written));
                let timestamp = stored.written;
                read(&table.name, RowRef { partition_key, row_key, properties, etag, timestamp });
            }
        }
    }

    /// Calls `read` with the seal of each row, in the order of tables and keys.
    pub fn for_each_seal(&self, mut read: impl FnMut(&Seal)) {
        for table in self.lock().tables.values() {
            for (keys, stored) in &table.rows {
                read(
                    stored
                        .seal
                        .get_or_init(|| Seal::of_row(&table.name, stored.row(keys, None).as_ref(), stored.version)),
                );
            }
        }
    }

    /// Returns each row with the name of its table, in the order of tables and keys.
    pub fn rows(&self) -> Vec<(String, Row)> {
        let mut rows = Vec::new();
        self.for_each_row(|table, row| rows.push((table.to_owned(), row.to_row())));
        rows
    }

    /// Returns the number of the write that made this version; `None` if no write of this store did.
    pub fn version(&self, etag: &ETag) -> Option<u64> {
        // Mostly it is one of the last writes. A comparison of texts would take longer.
        let state = self.lock();
        (1..=state.version).rev().find(|version| ETag::from(state.ticks(*version)) == *etag)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store without tables that counts from 1970, so that all runs are the same.
impl Default for Plain {
    fn default() -> Self {
        Self::since(Ticks::UNIX_EPOCH)
    }
}

/// Each row on a line, with the number of its version.
impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in self.lock().tables.values() {
            for (keys, stored) in &table.rows {
                let (partition_key, row_key) = &**keys;
                let Stored { properties, version, .. } = &**stored;
                writeln!(f, "{}('{}','{}') v{version} {properties:?}", table.name, partition_key.0, row_key.0)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("version", &self.lock().version).finish_non_exhaustive()
    }
}

impl State {
    fn ticks(&self, version: u64) -> Ticks {
        Ticks::new(self.epoch.get() + version).unwrap_or(Ticks::MAX)
    }

    fn table(&self, table: &str) -> Result<&Table> {
        self.tables
            .get(&table.to_ascii_lowercase())
            .map(|table| &**table)
            .ok_or_else(|| Error::TableNotFound(table.to_owned().into()))
    }

    fn create_table(&mut self, table: &str) -> bool {
        let mut new = false;
        self.tables.entry(table.to_ascii_lowercase()).or_insert_with(|| {
            new = true;
            Arc::new(Table { name: table.to_owned(), rows: BTreeMap::new() })
        });
        new
    }

    fn list_tables(&self, prefix: &str) -> Vec<String> {
        let prefix = prefix.to_ascii_lowercase();
        let tables = self.tables.iter().filter(|(name, _)| name.starts_with(&prefix));
        tables.map(|(_, table)| table.name.clone()).collect()
    }

    fn query(&self, scan: &Scan, from: Option<&Continuation>) -> Result<Page> {
        let after =
            from.map(|from| (Key::from(&*from.partition_key), Key::from(from.row_key.as_deref().unwrap_or(""))));
        let range =
            (scan.rows.from.as_ref().map(|key| Key::from(&**key)), scan.rows.to.as_ref().map(|key| Key::from(&**key)));
        let mut rows = self.table(&scan.table)?.rows.iter().filter(|(keys, stored)| {
            let in_partitions = match &scan.partitions {
                Partitions::One(key) => keys.0.0 == *key,
                Partitions::Range(range) => range.contains(&keys.0.0),
            };
            let holds = || scan.filter.as_ref().is_none_or(|filter| filter.holds(stored.properties.as_ref()));
            in_partitions && range.contains(&keys.1) && after.as_ref().is_none_or(|after| ***keys > *after) && holds()
        });
        let mut page = Page::default();
        let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).min(self.page);
        while let Some((keys, stored)) = rows.next() {
            page.rows.push(stored.row(keys, scan.select.as_deref()).as_ref());
            if page.rows.len() == limit {
                let (partition_key, row_key) = (keys.0.0.clone(), Some(keys.1.0.clone()));
                page.next = rows.next().map(|_| Continuation { partition_key, row_key });
                break;
            }
        }
        Ok(page)
    }

    fn execute(&mut self, groups: &[Group]) -> Result<Vec<Option<ETag>>, FailedGroup> {
        let version = self.version + 1;
        let written = self.ticks(version);
        let (mut left, mut etags) = (Vec::new(), Vec::new());
        for (position, group) in groups.iter().enumerate() {
            let failed = |error| FailedGroup { group: position, error };
            let table = self.table(&group.table).map_err(failed)?;
            for operation in &group.operations {
                let keys = (Key::from(&*group.partition_key), Key::from(&*operation.row_key));
                let row = table.rows.get(&keys);
                let properties = leave(group, operation, row.map(|row| &**row)).map_err(failed)?;
                let stored = properties
                    .map(|properties| Arc::new(Stored { properties, written, version, seal: OnceLock::new() }));
                left.push((group.table.to_ascii_lowercase(), keys, stored));
                etags.push((!matches!(operation.action, Action::Delete(_))).then(|| ETag::from(written)));
            }
        }
        // No operation has failed.
        self.version = version;
        for (table, keys, row) in left {
            let Some(table) = self.tables.get_mut(&table) else { continue };
            let rows = &mut Arc::make_mut(table).rows;
            match row {
                Some(row) => drop(rows.insert(Arc::new(keys), row)),
                None => drop(rows.remove(&keys)),
            }
        }
        Ok(etags)
    }
}

/// Returns the properties that an operation leaves in its row; `None` if it deletes the row.
fn leave(group: &Group, operation: &Operation, row: Option<&Stored>) -> Result<Option<Properties>> {
    let id = || {
        let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
        RowId { table, partition_key, row_key: operation.row_key.clone() }.into()
    };
    let existing = |condition: &IfMatch| match (row, condition) {
        (None, _) => Err(Error::NotFound(id())),
        (Some(row), IfMatch::ETag(etag)) if *etag != ETag::from(row.written) => Err(Error::ConditionNotMet(id())),
        (Some(row), _) => Ok(row),
    };
    match &operation.action {
        Action::Insert(_) if row.is_some() => Err(Error::AlreadyExists(id())),
        Action::Insert(properties) | Action::Upsert(properties) => Ok(Some(properties.clone())),
        Action::Replace(properties, condition) => existing(condition).map(|_| Some(properties.clone())),
        Action::Merge(changes, condition) => {
            let merged = existing(condition)?.properties.as_ref().merge(changes.as_ref());
            limits::check_row(&group.table, &group.partition_key, &operation.row_key, merged.as_ref())?;
            Ok(Some(merged))
        }
        Action::Delete(condition) => existing(condition).map(|_| None),
    }
}

impl Stored {
    fn row(&self, keys: &Keys, select: Option<&[&'static str]>) -> Row {
        let properties = self.properties.as_ref();
        Row {
            partition_key: keys.0.0.clone(),
            row_key: keys.1.0.clone(),
            properties: select.map_or_else(|| properties.to_properties(), |select| selected(properties, select)),
            etag: self.written.into(),
            timestamp: self.written,
        }
    }
}

fn selected(properties: PropertiesRef<'_>, select: &[&'static str]) -> Properties {
    let mut selected = Properties::default();
    for (name, value) in properties.filter(|(name, _)| select.contains(name)) {
        selected.push(name, value);
    }
    selected
}

impl Backend for Plain {
    fn describe(&self) -> Description<'_> {
        Description { reach: self.lock().reach, clock: self, ..Description::new("plain") }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let mut state = self.lock();
            let (table, is_changed) = match request {
                TableRequest::Create(table) => (table, state.create_table(table)),
                TableRequest::Delete(table) => (table, state.tables.remove(&table.to_ascii_lowercase()).is_some()),
                TableRequest::List(prefix) => return Ok(state.list_tables(prefix)),
            };
            Ok(if is_changed { vec![table.to_owned()] } else { Vec::new() })
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            match request.target {
                ReadTarget::Row { table, partition_key, row_key, select } => {
                    let keys = (Key::from(partition_key), Key::from(row_key));
                    let row = self.lock().table(table)?.rows.get(&keys).map(|stored| stored.row(&keys, select));
                    row.iter().try_for_each(|row| reader(row.as_ref()))?;
                    Ok(None)
                }
                ReadTarget::Page { scan, from } => {
                    let Page { rows, next } = self.lock().query(scan, from)?;
                    rows.iter().try_for_each(reader)?;
                    Ok(next)
                }
            }
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move { self.lock().execute(groups) })
    }

    fn view(&self, _: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

impl Clock for Plain {
    fn monotonic(&self) -> Duration {
        self.lock().clock
    }

    /// Returns the epoch of the store and the time that sleeps have simulated.
    fn wall(&self) -> Ticks {
        let state = self.lock();
        // A tick is 100 ns.
        let ticks = u64::try_from(state.clock.as_nanos() / 100).unwrap_or(u64::MAX);
        Ticks::new(state.epoch.get().saturating_add(ticks)).unwrap_or(Ticks::MAX)
    }

    fn sleep(&self, time: Duration, _: Sleep) -> BoxFuture<'_, ()> {
        let until = self.monotonic().saturating_add(time);
        Box::pin(async move {
            let clock = &mut self.lock().clock;
            *clock = until.max(*clock);
        })
    }
}
