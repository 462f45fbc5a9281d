//! What readers saw of a store, state after state, and whether it agrees with what the operations were told.
//!
//! A state is what readers see between two requests. Since each change of it is due to one request, it is known which
//! operation made it, so the rules are exact:
//!
//! - an operation changes what it is meant to write, each part once, and nothing else;
//! - one that succeeded has made all of its changes, a transaction all of them at once;
//! - one that failed has made none, and its error was true at some moment while it ran;
//! - a reader is given what was there at some moment while it ran, and all that was there all the time.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use table_runtime::{Error, Finding, UniqueViolationError};

use crate::{
    programs::{Act, Outcome, Wish},
    subjects::{Fields, Index, Key, key_of},
};

/// What readers see.
pub type State = BTreeMap<Key, Fields>;

/// The states of a store, and its operations.
#[derive(Debug)]
pub struct History {
    indexes: &'static [Index],
    states: Vec<State>,
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Operation {
    act: Act,
    wishes: Vec<Wish>,
    /// The state in which each wish came true.
    made: Vec<Option<usize>>,
    /// The state in which it began.
    begun: usize,
    /// The state in which it ended.
    ended: Option<usize>,
}

impl History {
    /// Begins with this state.
    pub fn new(indexes: &'static [Index], state: State) -> Self {
        Self { indexes, states: vec![state], operations: Vec::new() }
    }

    /// Returns the last state.
    pub fn state(&self) -> &State {
        self.states.last().unwrap_or_else(|| unreachable!("there is a first state"))
    }

    /// Returns how many operations there were.
    pub const fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Notes that an operation begins, and returns its number.
    pub fn begin(&mut self, act: Act, wishes: Vec<Wish>) -> usize {
        let (begun, made) = (self.states.len() - 1, vec![None; wishes.len()]);
        self.operations.push(Operation { act, wishes, made, begun, ended: None });
        self.operations.len() - 1
    }

    /// Notes the state after a request of this operation.
    ///
    /// # Errors
    /// The operation must not make this change, or the state breaks a promise.
    pub fn after(&mut self, operation: Option<usize>, state: State) -> Result<()> {
        let changed = || {
            let keys = self.state().keys().chain(state.keys().filter(|key| !self.state().contains_key(*key)));
            keys.copied().filter(|key| self.state().get(key) != state.get(key))
        };
        let changed: Vec<_> = changed().collect();
        if changed.is_empty() {
            return Ok(());
        }
        let old = self.state().clone();
        self.states.push(state);
        let number = self.states.len() - 1;
        for key in changed {
            let (old, new) = (old.get(&key), self.states[number].get(&key).copied());
            let described = format!("{key:?} changed from {old:?} to {new:?}");
            let operation = operation.and_then(|operation| self.operations.get_mut(operation));
            let operation = operation.with_context(|| format!("{described}, by nobody"))?;
            ensure!(operation.ended.is_none(), "{described}, by {:?}, which had ended", operation.act);
            let is_due = |wish: &Wish| match (wish, new) {
                // A patch of a pending insert may stay.
                (Wish::Put(put), Some(new)) => Fields { likes: new.likes, ..*put } == new,
                (Wish::Likes(_, likes), Some(new)) => {
                    old.is_some_and(|old| Fields { likes: *likes, ..*old } == new) && new.key() == wish.key()
                }
                (Wish::Gone(gone), None) => *gone == key,
                _ => false,
            };
            let at = operation.wishes.iter().position(is_due);
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

    /// Notes that an operation ends, and checks what it was told.
    ///
    /// # Errors
    /// It was told something wrong.
    pub fn end(&mut self, number: usize, outcome: &Outcome) -> Result<()> {
        let last = self.states.len() - 1;
        self.operations[number].ended = Some(last);
        let this = &self.operations[number];
        let all = || 0..this.wishes.len();
        match outcome {
            Outcome::Done => {
                let (done, mut made) = (self.done(this), this.made.iter().flatten());
                for at in all() {
                    ensure!(done.contains(&at), "{:?} of {:?} is not done", this.wishes[at], this.act);
                }
                let first = made.next();
                let is_one = !matches!(this.act, Act::Transaction(_)) || made.all(|made| Some(made) == first);
                ensure!(is_one, "{:?} was not done at once: {:?}", this.act, this.made);
            }
            Outcome::Removed(removed) => {
                ensure!(*removed == this.made[0].is_some(), "{:?} gave {removed}", this.act);
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
            Outcome::Nothing => {}
        }
        Ok(())
    }

    /// Returns which wishes came true, or did not have to.
    fn done(&self, operation: &Operation) -> Vec<usize> {
        let is_done = |at: &usize| {
            let wish = &operation.wishes[*at];
            let is_hidden = match wish {
                // The patch of an insert that is not committed yet.
                Wish::Likes(key, _) => self.moments(operation).any(|state| !state.contains_key(key)),
                // The transaction writes the row again, so that no reader sees it gone.
                Wish::Gone(key) => operation.wishes[at + 1..].iter().any(|later| later.key() == *key),
                Wish::Put(_) => false,
            };
            operation.made[*at].is_some() || is_hidden
        };
        (0..operation.wishes.len()).filter(is_done).collect()
    }

    /// The states while the operation ran.
    fn moments(&self, operation: &Operation) -> impl Iterator<Item = &State> {
        self.states[operation.begun..].iter()
    }

    /// Checks that a failure of the operation's wishes at these places is true.
    fn failed(&self, operation: &Operation, error: &Error, at: &[usize]) -> Result<()> {
        let told = format!("{:?} was told: {error}", operation.act);
        for at in at {
            let made = operation.made[*at];
            ensure!(made.is_none(), "{told}, and {:?} was done all the same", operation.wishes[*at]);
        }
        let mut moments = self.moments(operation);
        let is_true = match error {
            Error::AlreadyExists(row) => {
                let key = key_of(row).context("a key")?;
                moments.any(|state| state.contains_key(&key))
            }
            Error::NotFound(row) => {
                let key = key_of(row).context("a key")?;
                moments.any(|state| !state.contains_key(&key))
            }
            // A fence, or the commit of another writer, may change a version at any time.
            Error::ConditionNotMet(_) | Error::Aborted(_) => true,
            Error::UniqueViolation(violation) => self.is_violated(operation, violation, at)?,
            _ => false,
        };
        ensure!(is_true, "{told}, which was never true");
        Ok(())
    }

    /// Returns whether another entity had the value, or is to have it by the same operation, at some moment in which
    /// one of those that failed did not have it.
    fn is_violated(&self, operation: &Operation, violation: &UniqueViolationError, at: &[usize]) -> Result<bool> {
        let index = self.indexes.iter().find(|index| index.name == violation.index).context("an unknown index")?;
        let owner = key_of(&violation.owner).context("an owner without a key")?;
        let value = violation.value.parse().ok();
        let wanted = |at: usize| match &operation.wishes[at] {
            Wish::Put(fields) => Some(fields),
            _ => None,
        };
        let has = |fields: &Fields| fields.key() == owner && (index.value)(fields) == value;
        // A bulk write tells who has the value once that one is written.
        let is_whole = matches!(operation.act, Act::Transaction(..));
        let is_planned = is_whole && (0..operation.wishes.len()).filter_map(wanted).any(has);
        let goes = |key| operation.wishes.contains(&Wish::Gone(key));
        let is_wronged = |new: &Fields| {
            (index.value)(new) == value
                && self.moments(operation).any(|state| {
                    let own = state.get(&new.key());
                    let is_free = own.is_none_or(|own| (index.value)(own) != value) || goes(new.key());
                    let is_taken = state.get(&owner).is_some_and(|other| has(other) && index.clashes(new, other));
                    owner != new.key() && (is_free && is_taken || is_planned)
                })
        };
        Ok(at.iter().filter_map(|at| wanted(*at)).any(is_wronged))
    }

    /// Checks what a reader was given.
    fn seen(&self, operation: &Operation, seen: &[Fields], at_once: bool) -> Result<()> {
        let finds = |fields: &Fields| match &operation.act {
            Act::Find(index, group, value) => self.indexes[*index].finds(fields, *group, *value),
            Act::Pages(group, _) | Act::All(group) => fields.group == *group,
            _ => false,
        };
        for fields in seen {
            ensure!(finds(fields), "{:?} gave {fields:?}", operation.act);
            let was_there = self.moments(operation).any(|state| state.get(&fields.key()) == Some(fields));
            ensure!(was_there, "{:?} gave {fields:?}, which was never there", operation.act);
        }
        for fields in self.state().values().filter(|fields| finds(fields)) {
            let stayed = self.moments(operation).all(|state| state.get(&fields.key()) == Some(fields));
            ensure!(!stayed || seen.contains(fields), "{:?} gave {seen:?}, without {fields:?}", operation.act);
        }
        let is_state = |state: &State| state.values().filter(|fields| finds(fields)).eq(seen);
        ensure!(!at_once || self.moments(operation).any(is_state), "{:?} gave {seen:?} at once", operation.act);
        Ok(())
    }
}
