//! Leases: the states of layouts that a handle has read from the catalog, each valid for a limited time.
//!
//! A lease is valid for the length of a lease from the moment at which the handle began to read the state, by the
//! handle's own clock. Whoever takes the state [`Ready`](State::Ready) away from a layout writes the new state first,
//! and then waits until every lease that was read before has expired. No clock is compared with another one.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use table_store::ETag;
use twox_hash::XxHash3_64;

use super::record::{Facts, KEY, LayoutId, Record, Wholes};
use crate::client::stored::Stored;

/// Default length of a lease.
pub const LENGTH: Duration = Duration::from_mins(1);

/// The state `Ready` of a layout, as it was read from the catalog.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Version of the layout's record. Each change of the state changes it.
    pub version: ETag,
    /// Hash of the recorded layout, and of how often others have left the place.
    layout: u64,
    /// Indexes that a writer of the entity has to know, if the layout is its primary key.
    required: Arc<BTreeSet<String>>,
    /// What is recorded of the entity's `Option`s and enums.
    wholes: Arc<Wholes>,
    /// Time at which the lease was begun, by the backend's clock.
    began: Duration,
    /// Time at which the lease expires.
    until: Duration,
}

impl Lease {
    pub fn is_valid(&self, now: Duration) -> bool {
        now < self.until
    }

    /// Returns an index that a writer of the entity has to know, and that is not among these.
    pub fn lacks<'a>(&'a self, is_known: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.required.iter().map(String::as_str).find(|index| !is_known(index))
    }

    /// Returns the time until the lease expires; zero if it has expired.
    pub fn left(&self, now: Duration) -> Duration {
        self.until.saturating_sub(now)
    }

    /// Checks whether half of the lease is over, so that somebody should renew it.
    pub fn is_aging(&self, now: Duration) -> bool {
        self.left(now) <= self.length() / 2
    }

    /// Checks whether three quarters of the lease are over, so that nobody waits for another's renewal any more.
    fn is_ending(&self, now: Duration) -> bool {
        self.left(now) <= self.length() / 4
    }

    fn length(&self) -> Duration {
        self.until.saturating_sub(self.began)
    }
}

/// What a handle holds of a layout.
pub enum Held<'a> {
    /// A valid lease.
    Valid(Lease),
    /// A valid lease that the caller should renew.
    Aging(Lease, Renewal<'a>),
    /// No lease, or one that has expired.
    Nothing,
}

/// The turn to renew a lease. While one operation has it, the others use the lease as it is. Dropping it, also with the
/// operation, hands it on.
pub struct Renewal<'a> {
    leases: &'a Leases,
    id: LayoutId,
}

impl Drop for Renewal<'_> {
    fn drop(&mut self) {
        if let Some(held) = lock(&self.leases.held).get_mut(&self.id) {
            held.is_renewed = false;
        }
    }
}

/// The leases that a handle holds.
#[derive(Debug)]
pub struct Leases {
    length: Duration,
    held: Mutex<HashMap<LayoutId, HeldLease>>,
    /// Names under which entities are recorded, by the table and the present name of the entity.
    names: Mutex<HashMap<(&'static str, &'static str), String>>,
    /// Entities that have indexes in the catalog, by the table and the present name of the entity.
    indexed: Mutex<HashSet<(&'static str, &'static str)>>,
    /// The primary key to which a migration moves entities, and the version of its record in which this handle may write
    /// to it.
    target: Option<(LayoutId, ETag)>,
}

#[derive(Debug)]
struct HeldLease {
    lease: Lease,
    /// True while one operation renews the lease.
    is_renewed: bool,
}

impl Default for Leases {
    fn default() -> Self {
        Self::new(LENGTH)
    }
}

impl Leases {
    pub fn new(length: Duration) -> Self {
        let (held, names, indexed) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { length, held, names, indexed, target: None }
    }

    /// Returns the length of a lease.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// Checks whether the handle is that of a migration's run, whose writes change no entity.
    pub const fn is_of_migration(&self) -> bool {
        self.target.is_some()
    }

    /// Returns an empty set of leases of the same length.
    pub fn empty(&self) -> Self {
        Self::new(self.length)
    }

    /// Returns an empty set of leases of the same length, for a run of a migration.
    pub fn for_target(&self, id: LayoutId, version: ETag) -> Self {
        Self { target: Some((id, version)), ..self.empty() }
    }

    /// Returns, for the handle of a migration's run, whether it has written this version of the new place's record. `None`
    /// if the layout is not that place.
    pub fn is_target(&self, id: &LayoutId, version: &ETag) -> Option<bool> {
        let (target, written) = self.target.as_ref()?;
        (target == id).then(|| written == version)
    }

    /// Returns the time after which no other handle holds a lease that was read before now. It includes a tenth for
    /// clocks that run at different rates.
    pub fn wait(&self) -> Duration {
        self.length + self.length / 10
    }

    /// Keeps the lease of a layout whose record was read as ready in a request that began at this time.
    pub fn keep(&self, id: LayoutId, record: &Stored<Record>, began: Duration) -> Lease {
        let (version, facts) = (Stored::etag(record).clone(), record.facts());
        if id.name == KEY {
            self.remember_indexes(&id, !facts.indexes.is_empty());
        }
        let layout = hash(&record.layout, &facts);
        let (required, wholes) = (Arc::new(facts.required), Arc::new(facts.wholes));
        let lease = Lease { version, layout, required, wholes, began, until: began + self.length };
        lock(&self.held).insert(id, HeldLease { lease: lease.clone(), is_renewed: false });
        lease
    }

    /// Checks whether the recorded layout is another one than that on which the handle has relied: entities were moved
    /// away and others moved here, or the index was dropped and made anew.
    pub fn is_replaced(&self, id: &LayoutId, record: &Record) -> bool {
        lock(&self.held).get(id).is_some_and(|held| held.lease.layout != hash(&record.layout, &record.facts()))
    }

    /// Returns what was recorded of the `Option`s and enums of the entity with this primary key, when the handle began to hold
    /// the lease. A handle that has held none knows nothing.
    pub fn wholes(&self, id: &LayoutId) -> Arc<Wholes> {
        lock(&self.held).get(id).map(|held| Arc::clone(&held.lease.wholes)).unwrap_or_default()
    }

    /// Gives up the lease of a layout.
    pub fn forget(&self, id: &LayoutId) {
        lock(&self.held).remove(id);
    }

    /// Checks whether the handle has held a lease of the layout, valid or not.
    pub fn has_held(&self, id: &LayoutId) -> bool {
        lock(&self.held).contains_key(id)
    }

    /// Returns the lease of a layout. One caller in its second half is to renew it for all, and each caller in its last
    /// quarter.
    pub fn held(&self, id: &LayoutId, now: Duration) -> Held<'_> {
        let mut all = lock(&self.held);
        let Some(held) = all.get_mut(id).filter(|held| held.lease.is_valid(now)) else { return Held::Nothing };
        let lease = held.lease.clone();
        if lease.is_aging(now) && (!held.is_renewed || lease.is_ending(now)) {
            held.is_renewed = true;
            return Held::Aging(lease, Renewal { leases: self, id: *id });
        }
        Held::Valid(lease)
    }

    /// Remembers whether any program has indexes of the entity.
    fn remember_indexes(&self, id: &LayoutId, has_indexes: bool) {
        let (mut indexed, entity) = (lock(&self.indexed), (id.entity_table, id.entity));
        if has_indexes {
            indexed.insert(entity);
        } else {
            indexed.remove(&entity);
        }
    }

    /// Checks whether any program has indexes of the entity, as far as the handle has read.
    pub fn has_indexes(&self, id: &LayoutId) -> bool {
        lock(&self.indexed).contains(&(id.entity_table, id.entity))
    }

    /// Returns the name under which the entity is recorded, if the handle knows it.
    pub fn name(&self, id: &LayoutId) -> Option<String> {
        lock(&self.names).get(&(id.entity_table, id.entity)).cloned()
    }

    /// Checks whether the handle has read the record of any entity.
    pub fn has_names(&self) -> bool {
        !lock(&self.names).is_empty()
    }

    /// Remembers the name under which an entity is recorded.
    pub fn remember_name(&self, id: &LayoutId, name: &str) {
        lock(&self.names).insert((id.entity_table, id.entity), name.to_owned());
    }
}

fn hash(layout: &str, facts: &Facts) -> u64 {
    XxHash3_64::oneshot_with_seed(facts.came.into(), layout.as_bytes())
}

/// Locks a value that no thread leaves half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use table_store::Ticks;

    use super::*;
    use crate::client::tables::State;

    #[test]
    fn the_turn_to_renew_is_handed_on_when_it_is_dropped() {
        let leases = Leases::new(Duration::from_mins(1));
        let id = LayoutId { table: "Posts", entity_table: "Posts", entity: "Post", was: None, name: "key" };
        let [table, entity_table, entity, name, layout] = ["posts", "posts", "Post", "key", "{}"].map(str::to_owned);
        let record = Record { table, entity_table, entity, name, layout, state: State::Ready, starts: 0, facts: None };
        leases.keep(id, &Stored::new(record, Ticks::UNIX_EPOCH.into()), Duration::ZERO);
        let half = Duration::from_secs(30);
        assert!(matches!(leases.held(&id, Duration::from_secs(29)), Held::Valid(_)));
        let first = leases.held(&id, half);
        assert!(matches!(first, Held::Aging(..)));
        assert!(matches!(leases.held(&id, half), Held::Valid(_)), "one renews it for all");
        drop(first);
        assert!(matches!(leases.held(&id, half), Held::Aging(..)), "the first has given it up");
        let _second = leases.held(&id, half);
        assert!(matches!(leases.held(&id, Duration::from_secs(45)), Held::Aging(..)), "nobody waits for the second");
        assert!(matches!(leases.held(&id, Duration::from_mins(1)), Held::Nothing));
    }
}
