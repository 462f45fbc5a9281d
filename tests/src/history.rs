//! History of a store: its states and its operations, whose outcomes have to agree.
//!
//! A state is what readers see between two requests. One request causes each change, so the operation that made a
//! change is known, and the rules are exact:
//!
//! - An operation has only its intended effects, each once.
//! - A successful operation had all of its effects, a transaction all of them at once.
//! - A failed operation had no effect, and its error was true at some moment while it ran.
//! - An entity that has expired may be deleted by any operation. Nothing else deletes an entity without being asked to.
//! - A reader returns entities that existed at some moment while it ran, and all that existed during the whole time.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use table_runtime::{Error, error::UniqueViolationError, jobs::Finding};

use crate::{
    programs::{Act, Effect, Outcome},
    subjects::{Fields, Index, Key, key_of},
};

/// Entities that are stored, those included that a time hides.
pub type State = BTreeMap<Key, Fields>;

/// State at a moment.
#[derive(Clone, Copy)]
struct Moment<'a> {
    state: &'a State,
    now: u8,
}

impl<'a> Moment<'a> {
    /// Returns the entity, unless it has expired.
    fn present(self, key: Key) -> Option<&'a Fields> {
        self.state.get(&key).filter(|fields| !fields.has_expired(self.now))
    }

    /// Returns the entity, if readers see it.
    fn visible(self, key: Key) -> Option<&'a Fields> {
        self.state.get(&key).filter(|fields| fields.is_visible(self.now))
    }
}

/// States and operations of a store.
#[derive(Debug)]
pub struct History {
    indexes: &'static [Index],
    states: Vec<State>,
    /// The moment of each state.
    moments: Vec<u8>,
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Operation {
    act: Act,
    effects: Vec<Effect>,
    /// Number of the state in which each effect appeared.
    made: Vec<Option<usize>>,
    /// Number of the state in which it began.
    begun: usize,
    /// Number of the state in which it ended.
    ended: Option<usize>,
    /// True if one of its requests failed.
    is_disturbed: bool,
}

fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::OutcomeUnknown(_))
}

impl History {
    /// Returns a history that begins with this state.
    pub fn new(indexes: &'static [Index], state: State) -> Self {
        Self { indexes, states: vec![state], moments: vec![0], operations: Vec::new() }
    }

    /// Returns the last state.
    pub fn state(&self) -> &State {
        self.states.last().unwrap_or_else(|| unreachable!("there is a first state"))
    }

    /// Returns the present moment.
    pub fn now(&self) -> u8 {
        self.moments.last().copied().unwrap_or_default()
    }

    /// Records that time passes until this moment.
    pub fn pass(&mut self, now: u8) {
        self.states.push(self.state().clone());
        self.moments.push(now);
    }

    /// Returns the number of operations.
    pub const fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Records that an operation begins and returns its number.
    pub fn begin(&mut self, act: Act, effects: Vec<Effect>) -> usize {
        let (begun, made) = (self.states.len() - 1, vec![None; effects.len()]);
        self.operations.push(Operation { act, effects, made, begun, ended: None, is_disturbed: false });
        self.operations.len() - 1
    }

    /// Records that a request of this operation fails.
    pub fn disturb(&mut self, operation: usize) {
        self.operations[operation].is_disturbed = true;
    }

    /// Records the state after a request of this operation.
    ///
    /// # Errors
    /// The change is no intended effect of the operation, or two entities share a unique value.
    pub fn after(&mut self, operation: Option<usize>, state: State) -> Result<()> {
        let changed = || {
            let keys = self.state().keys().chain(state.keys().filter(|key| !self.state().contains_key(*key)));
            keys.copied().filter(|key| self.state().get(key) != state.get(key))
        };
        let changed: Vec<_> = changed().collect();
        if changed.is_empty() {
            return Ok(());
        }
        let (old, now) = (self.state().clone(), self.now());
        self.states.push(state);
        self.moments.push(now);
        let number = self.states.len() - 1;
        for key in changed {
            let (old, new) = (old.get(&key), self.states[number].get(&key).copied());
            let described = format!("{key:?} changed from {old:?} to {new:?}");
            let operation = operation.and_then(|operation| self.operations.get_mut(operation));
            let operation = operation.with_context(|| format!("{described}, without an operation"))?;
            let has_expired = old.is_some_and(|old| old.has_expired(now));
            // Whoever removes what has expired does not wait for a lost answer. The removal may arrive later.
            let may_be_late = operation.is_disturbed && new.is_none() && has_expired;
            ensure!(may_be_late || operation.ended.is_none(), "{described}, by {:?}, which had ended", operation.act);
            let is_due = |effect: &Effect| match (effect, new) {
                // A patch may have changed the insert while it was pending.
                (Effect::Put(put) | Effect::Over(put), Some(new)) => {
                    let extra = match (old, effect) {
                        (None, _) => new.extra,
                        // Nothing is kept of an entity that has expired.
                        (Some(_), Effect::Over(_)) if has_expired && new.extra == 0 => 0,
                        (Some(old), Effect::Over(_)) => old.extra,
                        (Some(_), _) => 0,
                    };
                    Fields { likes: new.likes, extra, ..*put } == new
                }
                (Effect::ChangedOrPut(put, change), Some(new)) if old.is_none() || has_expired => {
                    let changed = old.map(|old| change.of(old));
                    Fields { likes: new.likes, extra: new.extra, ..*put } == new || changed == Some(new)
                }
                (Effect::PutIfAbsent(put), Some(new)) if old.is_none() || has_expired => {
                    // Nothing is kept of an entity that has expired.
                    let extra = if old.is_none() { new.extra } else { 0 };
                    Fields { likes: new.likes, extra, ..*put } == new
                }
                // No change of another writer is lost.
                (Effect::Changed(..) | Effect::ChangedOrPut(..), Some(new)) => {
                    effect.key() == key && effect.written(old) == Some(new)
                }
                (Effect::Likes(_, likes), Some(new)) => {
                    old.is_some_and(|old| Fields { likes: *likes, ..*old } == new) && new.key() == effect.key()
                }
                (Effect::Extra(_, extra), Some(new)) => {
                    old.is_some_and(|old| Fields { extra: *extra, ..*old } == new) && new.key() == effect.key()
                }
                (Effect::InBin(_, in_bin), Some(new)) => {
                    old.is_some_and(|old| Fields { in_bin: *in_bin, ..*old } == new) && new.key() == effect.key()
                }
                (Effect::Deleted(deleted), None) => *deleted == key,
                _ => false,
            };
            let at = operation.effects.iter().position(is_due);
            if at.is_none() && new.is_none() && has_expired {
                continue;
            }
            let at = at.with_context(|| format!("{described}, by {:?}", operation.act))?;
            ensure!(operation.made[at].is_none(), "{described}, by {:?}, a second time", operation.act);
            operation.made[at] = Some(number);
        }
        self.is_unique()
    }

    /// Checks that no two entities share a unique value.
    fn is_unique(&self) -> Result<()> {
        for index in self.indexes {
            for one in self.state().values() {
                for other in self.state().values() {
                    ensure!(!index.clashes(one, other), "`{index:?}`: {one:?} and {other:?} share a value");
                }
            }
        }
        Ok(())
    }

    /// Records that an operation ends and checks its outcome.
    ///
    /// # Errors
    /// The outcome is wrong.
    pub fn end(&mut self, number: usize, outcome: &Outcome) -> Result<()> {
        // Nobody knows when the requests of an operation whose outcome is unknown arrive.
        let is_unknown = match outcome {
            Outcome::Failed(Error::Bulk(bulk)) => bulk.failures.iter().any(|failure| is_unknown(&failure.error)),
            Outcome::Failed(error) => is_unknown(error),
            Outcome::Bulk(failures, _) => failures.iter().any(|(_, error)| is_unknown(error)),
            _ => false,
        };
        if !is_unknown {
            self.operations[number].ended = Some(self.states.len() - 1);
        }
        let this = &self.operations[number];
        let all = || 0..this.effects.len();
        match outcome {
            Outcome::Done => {
                let (done, mut made) = (self.done(this), this.made.iter().flatten());
                for at in all() {
                    ensure!(done.contains(&at), "{:?} of {:?} is not done", this.effects[at], this.act);
                }
                let first = made.next();
                let is_one = !matches!(this.act, Act::Transaction(_)) || made.all(|made| Some(made) == first);
                ensure!(is_one, "{:?} was not done at once: {:?}", this.act, this.made);
            }
            Outcome::Removed(removed) => {
                ensure!(*removed == this.made[0].is_some(), "{:?} gave {removed}", this.act);
                let key = this.effects[0].key();
                let was_missing = |moment: Moment<'_>| match this.act {
                    Act::SoftDelete(_) => moment.visible(key).is_none(),
                    Act::Restore(_) => moment.present(key).is_none_or(|fields| !fields.in_bin),
                    _ => !moment.state.contains_key(&key),
                };
                let is_true = *removed || self.moments(this).any(was_missing);
                ensure!(is_true, "{:?} gave {removed}, which was never true", this.act);
            }
            Outcome::Modified(modified) => {
                let stored = |made: usize| self.states[made].get(&this.effects[0].key());
                // The entity does not know the property of the other program.
                let made = this.made[0].map(|made| stored(made).map(|fields| Fields { extra: 0, ..*fields }));
                let gave = format!("{:?} gave {modified:?}", this.act);
                ensure!(made.is_none_or(|made| made == *modified), "{gave}, and stored {made:?}");
                let was_missing = || self.moments(this).any(|moment| moment.visible(this.effects[0].key()).is_none());
                ensure!(made.is_some() || modified.is_none() && was_missing(), "{gave}, which was never true");
            }
            Outcome::Got(got, is_new) => {
                let gave = format!("{:?} gave {got:?}, {is_new}", this.act);
                let stored = this.made[0].map(|made| self.states[made].get(&got.key()).map(|fields| fields.known()));
                ensure!(*is_new == stored.is_some(), "{gave}, and stored {stored:?}");
                let is_same = |fields: Option<&Fields>| fields.is_some_and(|fields| fields.known() == *got);
                let was_there = || self.moments(this).any(|moment| is_same(moment.visible(this.effects[0].key())));
                ensure!(stored.map_or_else(was_there, |stored| stored == Some(*got)), "{gave}, which was never true");
            }
            // The entities that it could not remove are none of its effects.
            Outcome::Failed(Error::Bulk(bulk)) if matches!(this.act, Act::Sweep) => {
                for failure in &bulk.failures {
                    self.failed(this, &failure.error, &[])?;
                }
            }
            // The rest of the input was not tried.
            Outcome::Failed(Error::Bulk(bulk)) => {
                for failure in &bulk.failures {
                    self.failed(this, &failure.error, &[failure.position])?;
                }
            }
            Outcome::Failed(error) => {
                self.failed(this, error, &all().collect::<Vec<_>>())?;
            }
            Outcome::Bulk(failures, missing) => {
                let done = self.done(this);
                let mut left = 0;
                for at in all() {
                    let failure = failures.iter().find(|(position, _)| *position == at);
                    match failure {
                        Some((_, error)) => self.failed(this, error, &[at])?,
                        None => left += usize::from(!done.contains(&at)),
                    }
                }
                ensure!(left == *missing, "{:?}: {left} are not done, and {missing} were missing", this.act);
            }
            Outcome::Seen(seen, at_once) => self.seen(this, seen, *at_once)?,
            Outcome::Found(findings) => {
                let wrong = |finding: &&Finding| matches!(finding, Finding::TwoOwners { .. } | Finding::Foreign { .. });
                if let Some(finding) = findings.iter().find(wrong) {
                    bail!("{:?} found: {finding}", this.act);
                }
            }
            Outcome::Swept(_) | Outcome::Nothing => {}
        }
        Ok(())
    }

    /// Returns the effects that happened or that readers cannot see.
    fn done(&self, operation: &Operation) -> Vec<usize> {
        let is_done = |at: &usize| {
            let effect = &operation.effects[*at];
            let is_hidden = match effect {
                // A patch of a pending insert is not visible.
                Effect::Likes(key, _) | Effect::Extra(key, _) => {
                    self.moments(operation).any(|moment| !moment.state.contains_key(key))
                }
                // The transaction writes the row again, so no reader misses it.
                Effect::Deleted(key) => operation.effects[at + 1..].iter().any(|later| later.key() == *key),
                Effect::Put(_)
                | Effect::Over(_)
                | Effect::Changed(..)
                | Effect::ChangedOrPut(..)
                | Effect::PutIfAbsent(_)
                | Effect::InBin(..) => false,
            };
            operation.made[*at].is_some() || is_hidden
        };
        (0..operation.effects.len()).filter(is_done).collect()
    }

    /// Returns the states while the operation ran.
    fn moments(&self, operation: &Operation) -> impl Iterator<Item = Moment<'_>> {
        let states = self.states.iter().zip(&self.moments).skip(operation.begun);
        states.map(|(state, now)| Moment { state, now: *now })
    }

    /// Checks that the failure of the effects at these positions is true.
    fn failed(&self, operation: &Operation, error: &Error, at: &[usize]) -> Result<()> {
        if is_unknown(error) {
            return Ok(());
        }
        let failure = format!("{:?} failed: {error}", operation.act);
        for at in at {
            let made = operation.made[*at];
            ensure!(made.is_none(), "{failure}, and {:?} happened all the same", operation.effects[*at]);
        }
        let mut moments = self.moments(operation);
        let gets = matches!(operation.act, Act::GetOrInsert(_));
        let is_true = match error {
            // It returns an entity that readers see, and requires no version.
            Error::AlreadyExists(row) if gets && !row.is_in_bin() => false,
            Error::ConditionNotMet(_) | Error::NotFound(_) if gets => false,
            Error::AlreadyExists(row) => {
                let key = key_of(row).context("a key")?;
                moments.any(|moment| moment.present(key).is_some_and(|fields| fields.in_bin == row.is_in_bin()))
            }
            Error::NotFound(row) => {
                let key = key_of(row).context("a key")?;
                // An entity that was read counts with the time that was read, also if it was renewed since.
                let now = self.now();
                let had_expired = |state: &State| state.get(&key).is_some_and(|fields| fields.has_expired(now));
                moments.any(|moment| moment.visible(key).is_none()) || self.states.iter().any(had_expired)
            }
            // Another writer that aborts or commits an insert may change a version at any time.
            Error::ConditionNotMet(_) => true,
            Error::UniqueViolation(violation) => self.is_violated(operation, violation, at)?,
            Error::NoAnswer { .. } => operation.is_disturbed,
            _ => false,
        };
        ensure!(is_true, "{failure}, which was never true");
        Ok(())
    }

    /// Checks whether, at some moment, another entity had the value or was to get it by the same operation, while one
    /// of the failed entities did not have it.
    fn is_violated(&self, operation: &Operation, violation: &UniqueViolationError, at: &[usize]) -> Result<bool> {
        let index = self.indexes.iter().find(|index| index.name == violation.index).context("an unknown index")?;
        let owner = key_of(&violation.owner).context("an owner without a key")?;
        let value = violation.value.parse().context("a value that is no number")?;
        let has_value = |fields: &Fields| (index.values)(fields).contains(value);
        let wanted = |at: usize| {
            let effect = &operation.effects[at];
            // It may see an entity that has expired since.
            let written = |moment: Moment<'_>| {
                let key = effect.key();
                [moment.state.get(&key), moment.present(key)].map(|old| effect.written(old))
            };
            self.moments(operation).flat_map(written).flatten()
        };
        let has = |fields: &Fields| fields.key() == owner && has_value(fields);
        // A bulk write names the owner of a value once that is written; a transaction names an owner among its own
        // entities.
        let is_whole = matches!(operation.act, Act::Transaction(..));
        let is_planned = is_whole && (0..operation.effects.len()).flat_map(wanted).any(|fields| has(&fields));
        let is_deleted = |key| operation.effects.contains(&Effect::Deleted(key));
        let is_wronged = |new: &Fields| {
            has_value(new)
                && self.moments(operation).any(|moment| {
                    let own = moment.state.get(&new.key());
                    let is_free = own.is_none_or(|own| !has_value(own)) || is_deleted(new.key());
                    // No member of a transaction makes way for another one, also if no reader sees it.
                    let is_member = is_whole && operation.effects.iter().any(|effect| effect.key() == owner);
                    let is_owner = |other: &Fields| {
                        has(other) && index.clashes(new, other) && (is_member || other.in_bin == violation.in_bin)
                    };
                    let had = if is_member { moment.state.get(&owner) } else { moment.present(owner) };
                    let is_taken = had.is_some_and(is_owner);
                    owner != new.key() && (is_free && is_taken || is_planned)
                })
        };
        Ok(at.iter().flat_map(|at| wanted(*at)).any(|fields| is_wronged(&fields)))
    }

    /// Checks the result of a reader.
    fn seen(&self, operation: &Operation, seen: &[Fields], at_once: bool) -> Result<()> {
        let finds = |fields: &Fields| match &operation.act {
            Act::Find(index, group, value) => self.indexes[*index].finds(fields, *group, *value),
            Act::Pages(group, _) | Act::All(group) => fields.group == *group,
            _ => false,
        };
        let keys: BTreeSet<_> = seen.iter().map(Fields::key).collect();
        ensure!(keys.len() == seen.len(), "{:?} gave an entity twice: {seen:?}", operation.act);
        for fields in seen {
            ensure!(finds(fields), "{:?} gave {fields:?}", operation.act);
            let is_same =
                |moment: Moment<'_>| moment.visible(fields.key()).is_some_and(|there| there.known() == *fields);
            let was_there = self.moments(operation).any(is_same);
            ensure!(was_there, "{:?} gave {fields:?}, which never existed", operation.act);
        }
        for fields in self.state().values().filter(|fields| finds(fields)) {
            let stayed = self.moments(operation).all(|moment| moment.visible(fields.key()) == Some(fields));
            ensure!(!stayed || seen.contains(&fields.known()), "{:?} gave {seen:?}, without {fields:?}", operation.act);
        }
        let is_state = |Moment { state, now }: Moment<'_>| {
            let there =
                state.values().filter(|fields| finds(fields) && fields.is_visible(now)).map(|fields| fields.known());
            there.eq(seen.iter().copied())
        };
        ensure!(!at_once || self.moments(operation).any(is_state), "{:?} gave {seen:?} at once", operation.act);
        Ok(())
    }
}
