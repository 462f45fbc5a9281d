//! The leases by which relays share the buckets of an entity's marks.
//!
//! A bucket has at most one relay. Its lease is a row, to which the relay gives another version in each third of a lease. If a
//! version stays the same for longer than a lease, by the clock of the one that looks, its relay is gone. A relay that ends
//! deletes its rows. Each relay also has a row of its own, so that the others count it and leave it its share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use table_model::unstable::event::{BUCKETS, MARKS};
use table_store::{
    ETag, Error, Guid, Properties, Result, Row, ValueRef,
    backend::{Action, Backend, BackendExt, Group, IfMatch, KeyRange, OnlyOne, Operation, Partitions, Reach, Scan},
};
use tokio::sync::Mutex as Lock;

use super::source::EventSource;
use crate::client::{pacing, tables::lock};

/// Property of a lease: the id of the relay that holds it.
const RELAY: &str = "Relay";

/// The leases of one relay.
#[derive(Debug)]
pub struct BucketLeases {
    id: Guid,
    /// True if the relay shares the buckets with others. One that ends soon takes what is free.
    shares: bool,
    length: Duration,
    known: Lock<KnownLeases>,
    held: Mutex<HeldBuckets>,
}

/// What the relay has read and written of the rows.
#[derive(Debug, Default)]
struct KnownLeases {
    /// The versions of the rows of other relays, and the times at which they were read first.
    seen: BTreeMap<String, (ETag, Duration)>,
    /// The versions of the relay's own rows.
    own: BTreeMap<String, ETag>,
    /// True while a write of them is not answered.
    is_asked: bool,
    /// The buckets that nobody held when the relay last tried to take them.
    free: BTreeSet<usize>,
    /// The right to deliver the events of a store that no other process has open.
    only_one: Option<OnlyOne>,
}

/// The buckets that the relay holds.
#[derive(Debug, Default)]
struct HeldBuckets {
    until: Option<Duration>,
    renew_at: Duration,
    buckets: BTreeSet<usize>,
    /// Buckets whose relay before this one has not given them back.
    taken_over: BTreeSet<usize>,
    /// Buckets that are given back once nothing is delivered from them.
    leaving: BTreeSet<usize>,
}

impl BucketLeases {
    pub fn new(source: &EventSource, shares: bool) -> Result<Self> {
        let length = source.tables.mark_length();
        Ok(Self { id: Guid::random()?, shares, length, known: Lock::default(), held: Mutex::default() })
    }

    /// Returns the buckets of which the relay has leases, valid or not.
    pub fn held(&self) -> BTreeSet<usize> {
        lock(&self.held).buckets.clone()
    }

    /// Checks whether the relay may begin a delivery from this bucket.
    pub fn holds(&self, bucket: usize, now: Duration) -> bool {
        let held = lock(&self.held);
        held.buckets.contains(&bucket) && !held.leaving.contains(&bucket) && held.until.is_none_or(|until| now < until)
    }

    /// Returns the buckets from which the relay may deliver.
    pub fn buckets(&self, now: Duration) -> Vec<usize> {
        (0..BUCKETS).filter(|bucket| self.holds(*bucket, now)).collect()
    }

    /// Returns those of the buckets whose last relay has not given them back, once.
    pub fn taken_over(&self, buckets: &[usize]) -> BTreeSet<usize> {
        lock(&self.held).taken_over.extract_if(.., |bucket| buckets.contains(bucket)).collect()
    }

    /// Returns the time from which on the leases are to be renewed; `None` if they do not end.
    pub fn renew_at(&self) -> Option<Duration> {
        let held = lock(&self.held);
        held.until.map(|_| held.renew_at)
    }

    /// Renews the leases if it is time, and takes or gives back buckets. `is_busy` says whether something is delivered from
    /// a bucket.
    ///
    /// # Errors
    /// The errors of the store. The leases that the relay holds stay valid until they end.
    pub async fn renew(&self, source: &EventSource, is_busy: &(dyn Fn(usize) -> bool + Sync)) -> Result<()> {
        let is_due = || self.renew_at().is_some_and(|at| at <= source.backend().clock());
        if !is_due() {
            return Ok(());
        }
        // If it fails, or if another task renews them, the next attempt is not made at once.
        lock(&self.held).renew_at = source.backend().clock() + self.length / 12;
        // If another task does, this one goes on: the leases are still valid, or it does not begin a delivery.
        let Ok(mut known) = self.known.try_lock() else { return Ok(()) };
        self.take(source, &mut known, is_busy).await
    }

    /// Takes the leases for the first time. A relay that ends soon waits for those that are not renewed.
    pub async fn begin(&self, source: &EventSource) -> Result<()> {
        let mut known = self.known.lock().await;
        if let (Some(shared), Reach::Store) = (source.backend().describe().in_process, source.backend().reach()) {
            let work = format!("{} {}", source.backend().table_name(MARKS)?, source.place.relays());
            known.only_one = if self.shares { Some(shared.only_one(&work).await) } else { shared.try_only_one(&work) };
            if known.only_one.is_none() {
                return Ok(());
            }
        }
        self.take(source, &mut known, &|_| false).await?;
        // A relay that lives renews its leases three times as often as they end.
        let began = source.backend().clock();
        while !self.shares && known.seen.values().any(|(_, since)| *since <= began) {
            source.backend().sleep(self.expiry() / 3).await;
            self.take(source, &mut known, &|_| false).await?;
        }
        Ok(())
    }

    /// Returns the time after which a version that has not changed is that of a relay that is gone.
    fn expiry(&self) -> Duration {
        self.length + self.length / 10
    }

    async fn take(
        &self,
        source: &EventSource,
        known: &mut KnownLeases,
        is_busy: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<()> {
        let mut delays = pacing::delays();
        loop {
            let rows = self.read(source).await?;
            let began = source.backend().clock();
            let (change, operations) = self.change(known, rows, began, is_busy);
            if operations.is_empty() {
                return Ok(());
            }
            known.is_asked = true;
            let error = match source.backend().execute_group(&Self::group(source, operations.clone())).await {
                Ok(etags) => {
                    (known.is_asked, known.free) = (false, BTreeSet::new());
                    for (Operation { row_key, .. }, etag) in operations.into_iter().zip(etags) {
                        known.seen.remove(&row_key);
                        match etag {
                            Some(etag) => drop(known.own.insert(row_key, etag)),
                            None => drop(known.own.remove(&row_key)),
                        }
                    }
                    self.hold(known, change, began);
                    return Ok(());
                }
                // If it was carried out, the rows have this relay's id.
                Err(error) if is_lost_race(&error) || matches!(error, Error::OutcomeUnknown(_)) => error,
                Err(error) => return Err(error),
            };
            pacing::wait(source.backend(), &mut delays, error).await?;
        }
    }

    fn hold(&self, known: &KnownLeases, (buckets, taken_over): (BTreeSet<usize>, BTreeSet<usize>), began: Duration) {
        let mut held = lock(&self.held);
        held.leaving.retain(|bucket| buckets.contains(bucket));
        held.taken_over.extend(taken_over);
        held.buckets = buckets;
        if known.only_one.is_none() {
            (held.until, held.renew_at) = (Some(began + self.length), began + self.length / 3);
        }
    }

    /// Returns the buckets that the relay will hold, those among them that were not given back, and the operations.
    fn change(
        &self,
        known: &mut KnownLeases,
        rows: Vec<Row>,
        now: Duration,
        is_busy: &(dyn Fn(usize) -> bool + Sync),
    ) -> ((BTreeSet<usize>, BTreeSet<usize>), Vec<Operation>) {
        let (mut own, mut alive, mut gone, mut others) =
            (BTreeSet::new(), BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        let mut seen = BTreeMap::new();
        known.own.clear();
        for row in rows {
            let holder = holder(&row);
            let Row { row_key, etag, .. } = row;
            if holder == Some(self.id) {
                own.extend(bucket(&row_key));
                known.own.insert(row_key, etag);
                continue;
            }
            let since =
                known.seen.get(&row_key).filter(|(version, _)| *version == etag).map_or(now, |(_, since)| *since);
            seen.insert(row_key.clone(), (etag.clone(), since));
            if known.only_one.is_some() || now.saturating_sub(since) >= self.expiry() {
                gone.insert(row_key, etag);
            } else {
                others.extend(holder);
                alive.insert(row_key);
            }
        }
        known.seen = seen;
        let mut operations = Vec::new();
        let lease = || {
            let mut properties = Properties::default();
            properties.push(RELAY, ValueRef::Guid(self.id));
            properties
        };
        let share = if self.shares { BUCKETS.div_ceil(others.len() + 1) } else { BUCKETS };
        // Those that the relay holds beyond its share are given back once nothing is delivered from them.
        let mut held = BTreeSet::new();
        let mut taken_over = BTreeSet::new();
        let mut own_state = lock(&self.held);
        for (at, bucket) in own.into_iter().enumerate() {
            // The answer to the request that took it was lost.
            if !own_state.buckets.contains(&bucket) && !known.free.contains(&bucket) {
                taken_over.insert(bucket);
            }
            if at >= share {
                // From now on, no delivery from it begins.
                own_state.leaving.insert(bucket);
            }
            let (row_key, is_left) = (name(bucket), own_state.leaving.contains(&bucket));
            let condition = known.own.get(&row_key).cloned().map_or(IfMatch::Any, IfMatch::ETag);
            if is_left && !is_busy(bucket) {
                operations.push(Operation { row_key, action: Action::Delete(condition) });
                continue;
            }
            operations.push(Operation { row_key, action: Action::Replace(lease(), condition) });
            held.insert(bucket);
        }
        drop(own_state);
        for bucket in 0..BUCKETS {
            let row_key = name(bucket);
            let is_free = !held.contains(&bucket) && !alive.contains(&row_key);
            let was_left = operations.iter().any(|operation| operation.row_key == row_key);
            if held.len() >= share || !is_free || was_left {
                continue;
            }
            let action = if let Some(etag) = gone.remove(&row_key) {
                taken_over.insert(bucket);
                Action::Replace(lease(), IfMatch::ETag(etag))
            } else {
                known.free.insert(bucket);
                Action::Insert(lease())
            };
            operations.push(Operation { row_key, action });
            held.insert(bucket);
        }
        if self.shares && known.only_one.is_none() {
            operations.push(Operation { row_key: format!("relay {}", self.id), action: Action::Upsert(lease()) });
        }
        let relays = gone.into_iter().filter(|(row_key, _)| bucket(row_key).is_none());
        operations.extend(
            relays
                .take(BUCKETS)
                .map(|(row_key, etag)| Operation { row_key, action: Action::Delete(IfMatch::ETag(etag)) }),
        );
        ((held, taken_over), operations)
    }

    /// Gives all buckets back.
    ///
    /// # Errors
    /// The errors of the store. Other relays then wait until the leases have ended.
    pub async fn give_back(&self, source: &EventSource) -> Result<()> {
        let mut known = self.known.lock().await;
        lock(&self.held).buckets.clear();
        let mut own = std::mem::take(&mut known.own);
        let mut delays = pacing::delays();
        loop {
            // A renewal was dropped before its answer came, or another relay has taken a bucket.
            if std::mem::take(&mut known.is_asked) {
                let is_own = |row: &Row| holder(row) == Some(self.id);
                let rows = self.read(source).await?.into_iter().filter(is_own);
                own = rows.map(|row| (row.row_key, row.etag)).collect();
            }
            if own.is_empty() {
                return Ok(());
            }
            let delete = |(row_key, etag)| Operation { row_key, action: Action::Delete(IfMatch::ETag(etag)) };
            let operations = std::mem::take(&mut own).into_iter().map(delete).collect();
            match source.backend().execute_group(&Self::group(source, operations)).await {
                Err(error) if is_lost_race(&error) => pacing::wait(source.backend(), &mut delays, error).await?,
                done => return done.map(drop),
            }
            known.is_asked = true;
        }
    }

    async fn read(&self, source: &EventSource) -> Result<Vec<Row>> {
        let partitions = Partitions::One(source.place.relays());
        let scan = Scan { partitions, rows: KeyRange::ALL, ..Scan::all(MARKS) };
        let mut rows = Vec::new();
        let read = source.backend().read_all(&scan, |row| {
            rows.push(row.to_row());
            Ok(())
        });
        match read.await {
            // Nobody has recorded an event.
            Err(Error::TableNotFound(_)) => drop(source.backend().create_table(MARKS).await?),
            read => read?,
        }
        Ok(rows)
    }

    fn group(source: &EventSource, operations: Vec<Operation>) -> Group {
        Group { table: MARKS.into(), partition_key: source.place.relays(), operations }
    }
}

/// Returns the relay that has written a row.
fn holder(row: &Row) -> Option<Guid> {
    match row.properties.get(RELAY) {
        Some(ValueRef::Guid(holder)) => Some(holder),
        _ => None,
    }
}

/// Checks whether another relay has changed a row first.
fn is_lost_race(error: &Error) -> bool {
    matches!(error, Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_))
}

/// Returns the row key of a bucket's lease.
fn name(bucket: usize) -> String {
    format!("{bucket:02}")
}

/// Returns the bucket of a lease; `None` for the row of a relay.
fn bucket(row_key: &str) -> Option<usize> {
    row_key.parse().ok().filter(|bucket| *bucket < BUCKETS)
}
