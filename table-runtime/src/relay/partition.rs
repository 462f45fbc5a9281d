//! The delivery of the events of one partition.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
    pin::pin,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::{Either, select};
use table_model::unstable::event::{ATTEMPTS, Delivery, EventKey};
use table_store::{
    ETag, Error, Properties, Result, Row, RowRef, Ticks, ValueRef,
    backend::{Action, Group, IfMatch, KeyRange, Operation, Reach, Scan},
    unstable::{RowKeys, ScanProgress, limits},
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};
use tracing::{Span, debug_span, field::Empty};

use super::{
    event::StoredEvent,
    failed,
    leases::BucketLeases,
    options::RelayOptions,
    source::{EventSource, existing},
};
use crate::{
    client::tables::{Tables, lock},
    write::index::Schema,
};

/// An error of a consumer.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Time after which delivered events are deleted, although more could be deleted with them.
const DELETED_AFTER: Duration = Duration::from_secs(1);

/// An event that the consumer is to get, and the place for its answer.
pub struct DeliveryJob {
    pub event: StoredEvent,
    pub answer: oneshot::Sender<HandledEvent>,
    pub span: Span,
}

/// An event that comes back from the consumer, with the consumer's answer.
pub type HandledEvent = (StoredEvent, Result<(), BoxError>);

/// What the deliveries of all partitions of a relay share.
pub struct Consumer {
    pub source: EventSource,
    pub schema: Schema,
    pub options: RelayOptions,
    pub leases: BucketLeases,
    pub jobs: UnboundedSender<DeliveryJob>,
    pub is_stopped: AtomicBool,
    /// The buckets from which something is delivered.
    pub busy: Mutex<HashMap<usize, usize>>,
}

/// A partition that may have events.
#[derive(Clone, Debug)]
pub struct MarkedPartition {
    pub bucket: usize,
    pub mark: RowKeys,
    pub version: ETag,
    /// The time from which on a read that finds no event shows that no commit relies on the mark.
    pub old_at: Duration,
    /// The entities that wait because the last delivery of an event has failed, by their row keys.
    pub waiting: HashMap<String, WaitingEntity>,
    /// True if the relay before this one has not given the bucket back: its last delivery may have ended the process.
    pub was_left: bool,
}

/// An entity of which an event waits for another attempt.
#[derive(Clone, Copy, Debug)]
pub struct WaitingEntity {
    pub until: Duration,
    /// Number of failed attempts. A row at its limits has no room for it.
    attempts: u32,
}

/// What the delivery of a partition has done.
#[derive(Debug, Default)]
pub struct Pass {
    /// The time at which the read of the events began.
    pub began: Duration,
    pub delivered: usize,
    /// Number of events that have failed too often.
    pub failed: usize,
    /// Number of events that are left.
    pub left: usize,
    /// The time of the oldest event that is left.
    pub oldest: Option<Ticks>,
    /// True if the mark was deleted.
    pub is_unmarked: bool,
    /// True if another relay or a writer was faster, or the relay is to stop.
    pub is_disturbed: bool,
    /// True if all events were read.
    pub is_whole: bool,
}

impl Pass {
    /// Returns the number of events that are not there any more.
    pub const fn handled(&self) -> usize {
        self.delivered + self.failed
    }

    /// Checks whether the partition had an event.
    pub const fn has_found(&self) -> bool {
        self.handled() + self.left > 0
    }
}

/// The delivery of a partition.
struct Delivering<'a> {
    consumer: &'a Consumer,
    partition: &'a mut MarkedPartition,
    table: String,
    partition_key: String,
    /// Row keys of events that are delivered and not yet deleted.
    delivered: Vec<String>,
    deleted_at: Duration,
    /// True if each event is deleted before the next one is delivered.
    is_careful: bool,
    /// Entities of which an event is left, so that later ones wait.
    held: HashSet<String>,
    pass: Pass,
}

impl Consumer {
    pub async fn new(
        tables: Tables,
        schema: Schema,
        options: RelayOptions,
        jobs: UnboundedSender<DeliveryJob>,
        shares: bool,
    ) -> Result<Self> {
        let source = EventSource::of(tables, schema).await?;
        let leases = BucketLeases::new(&source, shares)?;
        Ok(Self { source, schema, options, leases, jobs, is_stopped: AtomicBool::new(false), busy: Mutex::default() })
    }

    /// Delivers the events that a partition has, each once, and deletes what was delivered.
    ///
    /// Returns also the error of the store that has ended it. What was delivered may then be delivered again.
    pub async fn deliver(&self, partition: &mut MarkedPartition) -> (Pass, Result<()>) {
        let (table, partition_key) = self.source.place.partition(&partition.mark.row_key);
        let began = self.source.backend().clock();
        let mut delivering = Delivering {
            consumer: self,
            partition,
            table,
            partition_key,
            delivered: Vec::new(),
            deleted_at: began,
            is_careful: false,
            held: HashSet::new(),
            pass: Pass { began, ..Pass::default() },
        };
        let mut done = delivering.all().await;
        // What was delivered before an error is deleted all the same.
        let deleted = delivering.delete(done.is_ok()).await;
        done = done.and(deleted);
        if done.is_ok() {
            done = delivering.unmark().await;
        }
        let Delivering { held, partition, pass, .. } = delivering;
        if pass.is_whole {
            // An event for which an entity waited may be gone.
            partition.waiting.retain(|entity, _| held.contains(entity));
            // The relay before this one has delivered none that is left.
            partition.was_left &= pass.has_found();
        }
        (pass, done)
    }

    /// Renews the leases if it is time. An error is reported to the crate `tracing`, and the next attempt is made later.
    async fn try_renew(&self) {
        if let Err(error) = self.renew().await {
            tracing::warn!(target: "table_runtime::relay", %error, "the leases of a relay were not renewed");
            self.source.backend().sleep(DELETED_AFTER).await;
        }
    }

    /// Renews the leases if it is time.
    pub async fn renew(&self) -> Result<()> {
        let is_busy = |bucket: usize| lock(&self.busy).get(&bucket).is_some_and(|count| *count > 0);
        self.leases.renew(&self.source, &is_busy).await
    }

    /// Lets the consumer handle an event. Renews the leases meanwhile.
    async fn handle(&self, event: StoredEvent) -> Option<HandledEvent> {
        let span = debug_span!(
            target: "table_runtime::relay",
            "event delivery",
            otel.kind = "consumer",
            otel.status_code = Empty,
            messaging.operation.type = "process",
            messaging.message.id = %event.key.id,
            db.collection.name = &*self.source.place.table,
            table.entity = &*self.source.place.entity,
            table.attempts = event.attempts(),
        );
        let (answer, answered) = oneshot::channel();
        self.jobs.send(DeliveryJob { event, answer, span }).ok()?;
        let mut answered = pin!(answered);
        loop {
            let Some(renew_at) = self.leases.renew_at() else { return answered.await.ok() };
            let left = renew_at.saturating_sub(self.source.backend().clock());
            match select(answered, pin!(self.source.backend().sleep(left))).await {
                Either::Left((answer, _)) => return answer.ok(),
                Either::Right(((), waiting)) => answered = waiting,
            }
            self.try_renew().await;
        }
    }
}

impl Delivering<'_> {
    /// Delivers the events in the order of their keys.
    ///
    /// An event may be committed while a page is handled, with a key before the next page, and with a later event of its entity
    /// on that page. So after a page from which something was delivered, the next read begins anew; and before a later page is
    /// handled, what is before it is read again.
    async fn all(&mut self) -> Result<()> {
        let source = &self.consumer.source;
        let scan = source.events(Delivery::Waiting, &self.table, &self.partition_key);
        loop {
            let (mut progress, before) = (ScanProgress::default(), self.pass.handled());
            while !progress.has_ended() && self.pass.handled() == before {
                let is_first = progress.next().is_none();
                let page = source.backend().next_page(&scan, &mut progress).await;
                let Some(rows) = existing(page)? else {
                    self.pass.is_whole = true;
                    return Ok(());
                };
                let events: Vec<_> = rows.iter().filter_map(|row| self.event(row.to_row())).collect();
                let is_held = |event: &StoredEvent| self.held.contains(&event.owner.row_key);
                if let Some(first) = events.first().filter(|_| !is_first && !events.iter().all(is_held)) {
                    self.hold_before(&scan, &first.row.row_key).await?;
                }
                for event in events {
                    if !self.one(event).await? {
                        return Ok(());
                    }
                }
            }
            if progress.has_ended() {
                self.pass.is_whole = true;
                return Ok(());
            }
            self.delete(false).await?;
            self.held.clear();
            (self.pass.left, self.pass.oldest) = (0, None);
        }
    }

    /// Holds the entities that have an event before this one.
    async fn hold_before(&mut self, scan: &Scan, row_key: &str) -> Result<()> {
        let rows = KeyRange { to: Bound::Excluded(row_key.to_owned()), ..scan.rows.clone() };
        let read = Scan { rows, ..scan.clone() };
        let mut earlier = HashSet::new();
        let entity = |row: RowRef<'_>| earlier.extend(self.event(row.to_row()).map(|event| event.owner.row_key));
        self.consumer.source.read(&read, entity).await?;
        self.held.extend(earlier);
        Ok(())
    }

    /// Returns the event in a row; `None` if the row is none.
    fn event(&self, row: Row) -> Option<StoredEvent> {
        let key = EventKey::read(Delivery::Waiting, &self.consumer.source.place.entity, &row.row_key)?;
        Some(StoredEvent::new(&self.consumer.schema, key, row))
    }

    /// Delivers an event, unless it has to wait. Returns false if the relay must not go on.
    async fn one(&mut self, mut event: StoredEvent) -> Result<bool> {
        let consumer = self.consumer;
        // A consumer may be faster than its lease for a long time.
        consumer.try_renew().await;
        let now = consumer.source.backend().clock();
        let (key, entity) = (event.key, event.owner.row_key.clone());
        if self.held.contains(&entity) || self.partition.waiting.get(&entity).is_some_and(|waiting| now < waiting.until)
        {
            self.leave(key, entity);
            return Ok(true);
        }
        if consumer.is_stopped.load(Ordering::SeqCst) || !consumer.leases.holds(self.partition.bucket, now) {
            self.pass.is_disturbed = true;
            self.leave(key, entity);
            return Ok(false);
        }
        if self.partition.was_left {
            // The event may have ended the process of the relay before this one.
            let counted = self.count(&event, event.attempts() + 1).await?;
            self.partition.was_left = false;
            // Nor can it be known which of the next ones does.
            self.is_careful = true;
            match counted {
                Some(Counted::Again(row)) => event.row = row,
                Some(Counted::Failed) => return Ok(true),
                None => {
                    self.pass.is_disturbed = true;
                    self.leave(key, entity);
                    return Ok(true);
                }
            }
        }
        let Some((event, answer)) = consumer.handle(event).await else {
            self.pass.is_disturbed = true;
            self.leave(key, entity);
            return Ok(false);
        };
        match answer {
            Ok(()) => {
                self.partition.waiting.remove(&entity);
                self.pass.delivered += 1;
                self.delivered.push(event.row.row_key);
                let is_late = consumer.source.backend().clock().saturating_sub(self.deleted_at) > DELETED_AFTER;
                if self.is_careful || is_late || self.delivered.len() == limits::OPERATIONS {
                    self.delete(false).await?;
                }
            }
            Err(error) => {
                let before = self.partition.waiting.get(&entity).map_or(0, |waiting| waiting.attempts);
                let (attempts, id, table) = (event.attempts().max(before) + 1, key.id, &self.table);
                tracing::warn!(target: "table_runtime::relay", table, event = %id, attempts, error, "an event was not delivered");
                let counted = self.count(&event, attempts).await?;
                if matches!(counted, Some(Counted::Failed)) {
                    self.partition.waiting.remove(&entity);
                    return Ok(true);
                }
                self.pass.is_disturbed |= counted.is_none();
                let until = consumer.source.backend().clock() + RelayOptions::pause(attempts);
                self.partition.waiting.insert(entity.clone(), WaitingEntity { until, attempts });
                self.leave(key, entity);
            }
        }
        Ok(true)
    }

    fn leave(&mut self, key: EventKey, entity: String) {
        self.pass.left += 1;
        self.pass.oldest = self.pass.oldest.min(Some(key.at)).or(Some(key.at));
        self.held.insert(entity);
    }

    /// Notes so many failed attempts to deliver an event. `None` if another relay has changed the event.
    async fn count(&mut self, event: &StoredEvent, attempts: u32) -> Result<Option<Counted>> {
        let mut counted = Properties::default();
        counted.push(ATTEMPTS, ValueRef::Int32(i32::try_from(attempts).unwrap_or(i32::MAX)));
        if attempts >= self.consumer.options.attempts {
            let place = (&*self.table, &*self.partition_key);
            let is_moved = failed::put_aside(&self.consumer.source, place, event, counted).await?;
            self.pass.failed += usize::from(is_moved);
            return Ok(is_moved.then_some(Counted::Failed));
        }
        let condition = IfMatch::ETag(event.row.etag.clone());
        let operation =
            Operation { row_key: event.row.row_key.clone(), action: Action::Merge(counted.clone(), condition) };
        match existing(self.consumer.source.backend().execute(&self.group(vec![operation])).await) {
            Ok(Some(etags)) => {
                let mut row = event.row.clone();
                row.properties = row.properties.as_ref().merge(counted.as_ref());
                if let Some(Some(etag)) = etags.into_iter().next() {
                    row.etag = etag;
                }
                Ok(Some(Counted::Again(row)))
            }
            Ok(None) | Err(Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_)) => Ok(None),
            Err(error) if failed::is_full(&error) => Ok(Some(Counted::Again(event.row.clone()))),
            Err(error) => Err(error),
        }
    }

    fn group(&self, operations: Vec<Operation>) -> Group {
        Group { table: self.table.clone().into(), partition_key: self.partition_key.clone(), operations }
    }

    /// Deletes the events that were delivered; with the last ones, the mark of a store whose transactions span partitions.
    async fn delete(&mut self, is_complete: bool) -> Result<()> {
        let backend = self.consumer.source.backend();
        self.deleted_at = backend.clock();
        let keys = std::mem::take(&mut self.delivered);
        let delete = |row_key: &String| Operation { row_key: row_key.clone(), action: Action::Delete(IfMatch::Any) };
        let mut groups = Vec::new();
        if !keys.is_empty() {
            groups.push(self.group(keys.iter().map(delete).collect()));
        }
        let is_last = is_complete && self.pass.left == 0 && backend.reach() == Reach::Store;
        if is_last {
            groups.push(EventSource::deletion_of(&self.partition.mark, &self.partition.version));
        }
        if groups.is_empty() {
            return Ok(());
        }
        let mut done = existing(backend.execute_all(&groups).await.map_err(Error::from));
        if matches!(done, Ok(None)) && is_last {
            // The slice was dropped, and its mark is left.
            let mark = groups.split_off(groups.len() - 1);
            done = existing(backend.execute_all(&mark).await.map_err(Error::from));
        }
        match done {
            Ok(done) => {
                self.pass.is_unmarked = is_last && done.is_some();
                return Ok(());
            }
            // One of the events is gone, or the mark has another version.
            Err(Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => {}
            Err(error) => {
                // They are deleted before the next delivery, or at the end.
                self.delivered = keys;
                return Err(error);
            }
        }
        self.pass.is_disturbed = true;
        for row_key in &keys {
            match backend.execute(&self.group(vec![delete(row_key)])).await {
                Ok(_) | Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Delivering<'_> {
    /// Deletes the mark if no event was found, and no commit relies on it any more.
    async fn unmark(&mut self) -> Result<()> {
        let Pass { began, is_unmarked, is_disturbed, .. } = self.pass;
        if self.pass.has_found() || is_unmarked || is_disturbed || began < self.partition.old_at {
            return Ok(());
        }
        self.pass.is_unmarked = self.consumer.source.delete_mark(&self.partition.mark, &self.partition.version).await?;
        self.pass.is_disturbed = !self.pass.is_unmarked;
        Ok(())
    }
}

/// What became of an event whose failed delivery was counted.
enum Counted {
    /// It is delivered again; with its row as it is now.
    Again(Row),
    /// It has failed too often, and is among the failed events.
    Failed,
}
