//! The work of a relay: it reads marks, and delivers the events of their partitions.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::{Future, pending, poll_fn},
    pin::pin,
    sync::atomic::Ordering,
    task::Poll,
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use table_model::unstable::event::{BUCKETS, MARKS};
use table_store::{
    Result, Row, Ticks,
    backend::{Backend, BoxFuture, Commits, Partitions, Reach},
    unstable::RowKeys,
};

use super::partition::{Consumer, MarkedPartition, Pass};
use crate::client::{pacing, tables::lock};

/// Pause before events are read again that another relay or an unknown answer has left.
const SOON: Duration = Duration::from_secs(1);

/// Longest pause after an error of the store, and between reads of a partition without events, in polls.
const LONGEST: u32 = 32;

/// What a relay has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered {
    /// Number of events that the consumer has handled.
    pub delivered: usize,
    /// Number of events whose delivery has failed too often: see [`Relay::failed`](super::Relay::failed).
    pub failed: usize,
    /// Number of events that are left, as far as the relay has read them: they wait for another attempt, or another relay
    /// delivers them.
    pub waiting: usize,
}

/// The end of a relay.
pub type Stop<'s> = dyn Future<Output = ()> + Send + Unpin + 's;

/// What a relay has waited for.
enum Happened {
    /// Something is due, or the relay is to stop.
    Nothing,
    /// A commit that may have written a mark.
    Commit,
    Delivery(Box<(MarkedPartition, (Pass, Result<()>))>),
    Maintenance(Result<Option<ReadMarks>>),
}

/// The work of one relay.
pub struct RelayWork<'c> {
    consumer: &'c Consumer,
    /// True if the relay reads the marks once, and ends when their events are delivered.
    is_once: bool,
    /// The partitions with marks, by the keys of the mark.
    partitions: BTreeMap<RowKeys, KnownPartition>,
    /// The partitions that are due, in the order of their times.
    due: BTreeSet<(Duration, RowKeys)>,
    running: FuturesUnordered<BoxFuture<'c, (MarkedPartition, (Pass, Result<()>))>>,
    /// A renewal of the leases, and a read of the marks, if one is under way.
    maintenance: Option<BoxFuture<'c, Result<Option<ReadMarks>>>>,
    /// The commits that write marks, on a store that no other process has open.
    commits: Option<Commits>,
    done: Delivered,
    /// Number of errors one after another; `None` before the marks were read for the first time.
    errors: Option<u32>,
}

/// A partition with a mark, as far as the relay knows it.
struct KnownPartition {
    /// `None` while its events are delivered.
    idle: Option<MarkedPartition>,
    /// The mark, if it was read with another version meanwhile.
    newer: Option<Row>,
    /// The time of the next read of the events; `None` if it waits for another version of the mark, or is not idle.
    due: Option<Duration>,
    pause: Duration,
    /// The time until which a commit in time may rely on the mark without a new version.
    quiet_at: Duration,
    /// Number of its events that are left; `None` before they were read.
    left: Option<usize>,
    oldest: Option<Ticks>,
}

impl<'c> RelayWork<'c> {
    pub fn new(consumer: &'c Consumer, is_once: bool) -> Self {
        let backend = consumer.source.backend();
        let shared = backend.describe().in_process.filter(|_| backend.reach() == Reach::Store);
        // It subscribes before it reads.
        let commits = shared.and_then(|shared| Some(shared.commits(&backend.table_name(MARKS).ok()?)));
        let (partitions, running, done) = (BTreeMap::new(), FuturesUnordered::new(), Delivered::default());
        Self {
            consumer,
            is_once,
            partitions,
            due: BTreeSet::new(),
            running,
            maintenance: None,
            commits,
            done,
            errors: None,
        }
    }

    fn now(&self) -> Duration {
        self.consumer.source.backend().clock()
    }

    fn is_stopped(&self) -> bool {
        self.consumer.is_stopped.load(Ordering::SeqCst)
    }

    /// Delivers events until the relay is stopped, or once.
    pub async fn run(mut self, stop: &mut Stop<'_>) -> Result<Delivered> {
        let source = &self.consumer.source;
        let begun = {
            let leases = pin!(self.consumer.leases.begin(source));
            match select(leases, &mut *stop).await {
                Either::Left((begun, _)) => begun,
                Either::Right(_) => {
                    self.consumer.is_stopped.store(true, Ordering::SeqCst);
                    Ok(())
                }
            }
        };
        let worked = match begun {
            Ok(()) if !self.is_stopped() => self.work(stop).await,
            begun => begun,
        };
        // A delivery may wait for what the maintenance holds.
        self.maintenance = None;
        self.consumer.is_stopped.store(true, Ordering::SeqCst);
        let mut failed = worked.err();
        while let Some(delivery) = self.running.next().await {
            if let Err(error) = self.note(delivery) {
                failed.get_or_insert(error);
            }
        }
        if self.is_once && failed.is_none() {
            failed = self.count_rest().await.err();
        }
        let given_back = self.consumer.leases.give_back(source).await;
        if let Some(error) = failed {
            return Err(error);
        }
        given_back?;
        self.done.waiting += self.partitions.values().filter_map(|partition| partition.left).sum::<usize>();
        Ok(self.done)
    }

    /// Counts the events that the relay has not read: those of other relays, and those after the end of its leases.
    async fn count_rest(&mut self) -> Result<()> {
        let (source, held) = (&self.consumer.source, self.consumer.leases.held());
        let is_lost =
            |known: &KnownPartition| known.idle.as_ref().is_some_and(|partition| !held.contains(&partition.bucket));
        self.partitions.values_mut().filter(|known| is_lost(known)).for_each(|known| known.left = None);
        let mut marks = Vec::new();
        for bucket in (0..BUCKETS).filter(|bucket| !held.contains(bucket)) {
            marks.extend(source.marks(Partitions::One(source.place.bucket(bucket))).await?);
        }
        let unread = self.partitions.iter().filter(|(_, known)| known.left.is_none());
        let unread =
            unread.map(|(keys, _)| keys.row_key.clone()).filter(|key| marks.iter().all(|mark| mark.row_key != *key));
        let partitions: Vec<_> = marks.iter().map(|mark| mark.row_key.clone()).chain(unread).collect();
        for count in pacing::in_waves(partitions.iter().map(|mark| source.count(mark))).await {
            self.done.waiting += count?;
        }
        Ok(())
    }

    async fn work(&mut self, stop: &mut Stop<'_>) -> Result<()> {
        // Nothing of this loop waits alone: a delivery may wait for the leases, and the leases for a delivery.
        let mut next_poll = Some(self.now());
        while !self.is_stopped() {
            if self.maintenance.is_none() {
                let (now, consumer) = (self.now(), self.consumer);
                let reads = next_poll.is_some_and(|at| at <= now);
                if reads || consumer.leases.renew_at().is_some_and(|at| at <= now) {
                    next_poll = next_poll.filter(|_| !reads);
                    self.maintenance = Some(Box::pin(async move {
                        consumer.renew().await?;
                        if reads { Ok(Some(ReadMarks::read(consumer).await?)) } else { Ok(None) }
                    }));
                }
            }
            self.begin_due();
            let is_idle = self.maintenance.is_none() && self.running.is_empty() && self.next_due().is_none();
            if self.is_once && is_idle {
                return Ok(());
            }
            let done = match self.wait(next_poll, stop).await {
                Happened::Nothing => Ok(()),
                Happened::Commit => {
                    next_poll = Some(self.now());
                    Ok(())
                }
                Happened::Delivery(delivery) => self.note(*delivery),
                Happened::Maintenance(done) => {
                    let done = done.map(|read| {
                        if let Some(read) = read {
                            self.learn_all(read);
                            self.errors = Some(0);
                        }
                    });
                    let next = (!self.is_once).then(|| self.now() + self.poll());
                    // A commit may have been made while the marks were read.
                    next_poll = next_poll.or(next);
                    done
                }
            };
            self.or_later(done)?;
        }
        Ok(())
    }

    /// Returns the error of a relay that ends; one that goes on reports it, and tries again later.
    fn or_later(&mut self, done: Result<()>) -> Result<()> {
        let Err(error) = done else { return Ok(()) };
        // A relay that has never read a mark has probably the wrong credentials.
        let Some(errors) = self.errors.filter(|_| !self.is_once) else { return Err(error) };
        self.errors = Some(errors.saturating_add(1));
        let table = &self.consumer.source.place.table;
        tracing::warn!(target: "table_runtime::relay", table, %error, "a relay failed, and tries again");
        Ok(())
    }

    /// Returns the time between two reads of the marks. Errors make it longer.
    fn poll(&self) -> Duration {
        let poll = self.consumer.options.poll;
        poll.saturating_mul(1 << self.errors.unwrap_or_default().min(5))
    }

    /// Waits until something has happened or is due.
    async fn wait(&mut self, next_poll: Option<Duration>, stop: &mut Stop<'_>) -> Happened {
        let (now, is_full) = (self.now(), self.running.len() >= self.consumer.options.side_by_side);
        // A relay that is woken by commits polls only after an error.
        let poll = next_poll.filter(|at| self.commits.is_none() || self.errors > Some(0) || *at <= now);
        // While events are delivered once, those who deliver renew the leases, and there is nothing to poll for.
        let is_busy = self.is_once && !self.running.is_empty();
        let renew = self.consumer.leases.renew_at().filter(|_| !is_busy);
        let poll = poll.filter(|_| !is_busy);
        let at = [poll, renew].into_iter().flatten().min().filter(|_| self.maintenance.is_none());
        let due = self.next_due().filter(|_| !is_full);
        let at = at.into_iter().chain(due).min();
        let backend = self.consumer.source.backend();
        let sleep = async {
            match at {
                Some(at) => backend.sleep(at.saturating_sub(now)).await,
                None => pending().await,
            }
        };
        let Self { commits, running, maintenance, is_once, consumer, .. } = self;
        let commit = async {
            match commits.as_mut().filter(|_| !*is_once) {
                Some(commits) => commits.next().await,
                None => pending().await,
            }
        };
        let (mut sleep, mut commit) = (pin!(sleep), pin!(commit));
        poll_fn(|context| {
            if stop.poll_unpin(context).is_ready() {
                consumer.is_stopped.store(true, Ordering::SeqCst);
                return Poll::Ready(Happened::Nothing);
            }
            if let Poll::Ready(Some(delivery)) = running.poll_next_unpin(context) {
                return Poll::Ready(Happened::Delivery(Box::new(delivery)));
            }
            if let Some(Poll::Ready(done)) = maintenance.as_mut().map(|maintenance| maintenance.poll_unpin(context)) {
                *maintenance = None;
                return Poll::Ready(Happened::Maintenance(done));
            }
            if commit.as_mut().poll(context).is_ready() {
                return Poll::Ready(Happened::Commit);
            }
            sleep.as_mut().poll(context).map(|()| Happened::Nothing)
        })
        .await
    }

    /// Returns the time at which the next partition is due.
    fn next_due(&self) -> Option<Duration> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Sets the time at which an idle partition is due.
    fn set_due(&mut self, keys: &RowKeys, due: Option<Duration>) {
        let Some(known) = self.partitions.get_mut(keys) else { return };
        if let Some(before) = std::mem::replace(&mut known.due, due) {
            self.due.remove(&(before, keys.clone()));
        }
        self.due.extend(due.map(|due| (due, keys.clone())));
    }

    /// Begins to deliver the partitions that are due, as many as there may be at the same time.
    fn begin_due(&mut self) {
        let (now, consumer) = (self.now(), self.consumer);
        while self.running.len() < consumer.options.side_by_side
            && let Some((due, keys)) = self.due.first().cloned()
            && due <= now
        {
            self.set_due(&keys, None);
            let Some(known) = self.partitions.get_mut(&keys) else { continue };
            let Some(mut partition) = known.idle.take() else { continue };
            let bucket = partition.bucket;
            if !consumer.leases.holds(bucket, now) {
                known.idle = Some(partition);
                // The lease may be renewed.
                let is_lost = self.is_once && !consumer.leases.held().contains(&bucket);
                self.set_due(&keys, (!is_lost).then(|| now + SOON));
                continue;
            }
            *lock(&consumer.busy).entry(bucket).or_default() += 1;
            self.running.push(Box::pin(async move {
                let pass = consumer.deliver(&mut partition).await;
                if let Some(count) = lock(&consumer.busy).get_mut(&bucket) {
                    *count -= 1;
                }
                (partition, pass)
            }));
        }
    }

    /// Notes what the delivery of a partition has done, and when its events are read next.
    fn note(&mut self, (partition, (pass, done)): (MarkedPartition, (Pass, Result<()>))) -> Result<()> {
        let (now, is_store) = (self.now(), self.consumer.source.backend().reach() == Reach::Store);
        let (keys, old_at) = (partition.mark.clone(), partition.old_at);
        let waits_until = partition.waiting.values().map(|waiting| waiting.until).min();
        let poll = self.consumer.options.poll;
        self.done.delivered += pass.delivered;
        self.done.failed += pass.failed;
        let Some(known) = self.partitions.get_mut(&keys) else { return done };
        known.idle = Some(partition);
        let newer = known.newer.take();
        // What a pass has not read is counted at the end.
        known.left = Some(pass.left).filter(|_| pass.is_whole || !self.is_once);
        known.oldest = pass.oldest;
        let is_undisturbed = done.is_ok() && pass.handled() > 0;
        known.pause =
            if is_undisturbed { poll } else { known.pause.saturating_mul(2).min(poll.saturating_mul(LONGEST)) };
        let (later, soon) = (now + known.pause, now + known.pause.min(SOON));
        let due = match pass {
            _ if done.is_err() => Some(later),
            Pass { is_unmarked: true, .. } => None,
            Pass { is_disturbed: true, left: 1.., .. } => Some(soon),
            // New events of other entities may come without another version of the mark.
            Pass { left: 1.., .. } if !self.is_once && !is_store => waits_until.into_iter().chain([later]).min(),
            Pass { left: 1.., .. } => waits_until,
            // It waits for another version of the mark.
            _ if self.is_once || is_store => None,
            Pass { is_disturbed: true, .. } => Some(soon),
            _ if pass.began < known.quiet_at => Some(later.min(known.quiet_at).max(now)),
            _ => Some(old_at.max(now)),
        };
        if pass.is_unmarked {
            self.partitions.remove(&keys);
        }
        self.set_due(&keys, due);
        #[cfg(feature = "metrics")]
        self.measure(pass.delivered, pass.failed);
        if let Some(newer) = newer {
            self.learn(newer, now, false);
        }
        done
    }

    /// Learns the marks that were read.
    fn learn_all(&mut self, ReadMarks { held, at, marks }: ReadMarks) {
        let left = self.consumer.leases.taken_over(&held);
        let seen: BTreeSet<RowKeys> = marks.iter().map(|mark| mark.as_ref().keys()).collect();
        // What another relay has deleted is no partition any more.
        let due = &mut self.due;
        self.partitions.retain(|keys, known| {
            let is_kept =
                known.idle.as_ref().is_none_or(|partition| seen.contains(keys) && held.contains(&partition.bucket));
            if let Some(at) = known.due.filter(|_| !is_kept) {
                due.remove(&(at, keys.clone()));
            }
            is_kept
        });
        for mark in marks {
            let was_left = bucket_of(&mark).is_some_and(|bucket| left.contains(&bucket));
            self.learn(mark, at, was_left);
        }
    }

    /// Learns a mark that was read at this time.
    fn learn(&mut self, mark: Row, now: Duration, was_left: bool) {
        let source = &self.consumer.source;
        let Some(bucket) = bucket_of(&mark) else { return };
        let age = source.age(&mark);
        let after = |wait: Duration| now + wait.saturating_sub(age);
        let (old_at, quiet_at) = (after(source.mark_wait()), after(source.quiet_after()));
        let partition = || MarkedPartition {
            bucket,
            mark: mark.as_ref().keys(),
            version: mark.etag.clone(),
            old_at,
            waiting: HashMap::new(),
            was_left,
        };
        let (keys, pause) = (mark.as_ref().keys(), self.consumer.options.poll);
        match self.partitions.get_mut(&keys) {
            None => {
                let (newer, due, idle) = (None, None, Some(partition()));
                let known = KnownPartition { idle, newer, due, pause, quiet_at, left: None, oldest: None };
                self.partitions.insert(keys.clone(), known);
            }
            Some(known) => {
                let Some(idle) = &mut known.idle else {
                    known.newer = Some(mark);
                    return;
                };
                idle.was_left |= was_left;
                if idle.version == mark.etag {
                    return;
                }
                (idle.version, idle.old_at) = (mark.etag.clone(), old_at);
                (known.quiet_at, known.pause) = (quiet_at, pause);
            }
        }
        self.set_due(&keys, Some(now));
    }

    /// Reports what the delivery of a partition has done to the crate `metrics`.
    #[cfg(feature = "metrics")]
    fn measure(&self, delivered: usize, failed: usize) {
        let source = &self.consumer.source;
        let oldest = self.partitions.values().filter_map(|known| known.oldest).min();
        let ticks = oldest.map_or(0, |oldest| source.backend().now().get().saturating_sub(oldest.get()));
        let age = Duration::from_nanos(ticks.saturating_mul(100));
        super::metrics::record(&source.place.entity, (delivered, failed), age);
    }
}

/// The marks of the buckets that the relay held when it began to read them.
struct ReadMarks {
    held: Vec<usize>,
    /// The time after the read.
    at: Duration,
    marks: Vec<Row>,
}

impl ReadMarks {
    async fn read(consumer: &Consumer) -> Result<Self> {
        let source = &consumer.source;
        let held = consumer.leases.buckets(source.backend().clock());
        let mut read = Vec::new();
        for run in held.chunk_by(|one, next| one + 1 == *next) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            read.push(source.marks(source.buckets(*first, *last)));
        }
        let mut marks = Vec::new();
        for read in pacing::in_waves(read.into_iter()).await {
            marks.extend(read?);
        }
        let at = source.backend().clock();
        Ok(Self { held, at, marks })
    }
}

/// Returns the bucket of a mark.
fn bucket_of(mark: &Row) -> Option<usize> {
    mark.partition_key.rsplit(' ').next()?.parse().ok()
}
