//! The entities of one transaction, as far as one of them may be in the way of another.
//!
//! No member of a transaction is evicted for another one. So a unique value of another partition cannot pass between
//! members, and a claim that a crash has left with a member is taken over under that member's own version.

use std::collections::HashMap;

use futures_util::lock::Mutex;
use table_model::unstable::lifecycle::Standing;
use table_store::{
    ETag, Error, Guid, Properties, Result,
    backend::{Action, IfMatch},
    unstable::RowKeys,
};

use super::{
    change::{Change, Planned},
    commit,
    schema::FoundEntity,
    write::WriteAnswer,
};
use crate::client::pacing;

/// An entity of a transaction that is written in steps.
pub struct TransactionMember<'p> {
    pub planned: Planned<'p>,
    /// Several rows of other members may need a fence of this one at the same time.
    pub condition: Mutex<CommitCondition>,
}

/// What must be stored so that the entity may still be committed.
pub enum CommitCondition {
    /// Nothing.
    None,
    /// The pending insert of this attempt in this version, with these properties if they were read again.
    Pending { attempt: Guid, etag: ETag, read: Option<Properties> },
    /// The entity in this version.
    Version(ETag),
}

impl<'p> TransactionMember<'p> {
    pub fn new(planned: Planned<'p>) -> Self {
        let condition = planned.version().cloned().map_or(CommitCondition::None, CommitCondition::Version);
        Self { planned, condition: Mutex::new(condition) }
    }

    /// Returns the attempt of the member's pending insert, if it has one.
    pub fn attempt(&mut self) -> Option<Guid> {
        if let CommitCondition::Pending { attempt, .. } = self.condition.get_mut() { Some(*attempt) } else { None }
    }

    /// Returns the operation that makes the entity visible, or changes it, under its condition.
    pub fn committing(&mut self) -> Planned<'p> {
        let action = match (self.condition.get_mut(), self.planned.action.clone()) {
            (CommitCondition::Pending { etag, read, .. }, Action::Insert(properties)) => {
                Action::Replace(read.clone().unwrap_or(properties), IfMatch::ETag(etag.clone()))
            }
            (CommitCondition::Version(etag), Action::Replace(properties, _)) => {
                Action::Replace(properties, IfMatch::ETag(etag.clone()))
            }
            (CommitCondition::Version(etag), Action::Merge(properties, _)) => {
                Action::Merge(properties, IfMatch::ETag(etag.clone()))
            }
            (CommitCondition::Version(etag), Action::Delete(_)) => Action::Delete(IfMatch::ETag(etag.clone())),
            (_, action) => action,
        };
        Planned { action, ..self.planned.clone() }
    }

    /// Returns the properties of the pending insert that were read again.
    pub fn take_read(&mut self) -> Option<Properties> {
        if let CommitCondition::Pending { read, .. } = self.condition.get_mut() { read.take() } else { None }
    }

    /// Returns the error of a member that lost a race. It names the entity that the caller writes, never an index row.
    pub async fn lost_race(&self) -> Error {
        self.condition.lock().await.lost_race(&self.planned)
    }

    /// Checks that the entity may still be committed.
    pub async fn check(&self) -> Result<()> {
        let condition = self.condition.lock().await;
        let found = self.planned.write.entity(self.planned.keys).await?;
        let is_kept = found.is_some_and(|found| condition.holds(&found));
        if is_kept { Ok(()) } else { Err(condition.lost_race(&self.planned)) }
    }

    /// Makes sure that no other writer that has read this member can commit it. Another member calls it that wants a value
    /// which this one does not have, and whose claim was left with it. Returns false if the transaction does not depend on
    /// the row of this member.
    ///
    /// # Errors
    /// The member cannot be committed any more.
    pub async fn fence(&self) -> Result<bool> {
        let mut condition = self.condition.lock().await;
        let (write, mut delays) = (self.planned.write, pacing::delays());
        if matches!(*condition, CommitCondition::None) {
            return Ok(false);
        }
        while let Some(found) = write.entity(self.planned.keys).await?.filter(|found| condition.holds(found)) {
            // Whoever read the row before this write inserted it cannot commit it.
            let CommitCondition::Version(version) = &mut *condition else { return Ok(true) };
            match write.fence(&found).await? {
                WriteAnswer::Done(Some(fenced)) => {
                    *version = fenced;
                    return Ok(true);
                }
                WriteAnswer::Done(None) | WriteAnswer::LostRace(_) => break,
                // If it was carried out, the row has another version.
                WriteAnswer::Lost(error) => write.pause(&mut delays, write.no_answer(*error)).await?,
            }
        }
        Err(condition.lost_race(&self.planned))
    }
}

impl CommitCondition {
    fn holds(&self, found: &FoundEntity) -> bool {
        match self {
            Self::None => true,
            Self::Pending { attempt, .. } => found.pending == Some(*attempt),
            Self::Version(etag) => found.row.etag == *etag,
        }
    }

    fn lost_race(&self, planned: &Planned<'_>) -> Error {
        let row = planned.row_id().into();
        match self {
            Self::Pending { .. } => Error::Aborted(row),
            Self::None | Self::Version(_) => Error::ConditionNotMet(row),
        }
    }
}

/// Checks that no member depends on another one: that no unique value of another partition is wanted by two of them or
/// passes from one to another, and that no entity with such a value takes the place of one of another type.
///
/// It is the same on every store, although one transaction of some stores could write them.
pub async fn check(planned: &[Planned<'_>]) -> Result<()> {
    let reserves = |planned: &Planned<'_>| planned.write.schema.before_commit().next().is_some();
    if planned.len() == 1 || !planned.iter().any(reserves) {
        return Ok(());
    }
    for (inserted, deleted) in replaced(planned) {
        let rows = planned[inserted].write.schema.before_commit();
        if !is_same_type(&planned[inserted], &planned[deleted])
            && rows.into_iter().any(|layout| planned[inserted].change.added(layout).next().is_some())
        {
            return Err(planned[inserted].twice("one, or a deletion and then an insertion of the same type"));
        }
    }
    // The members that have or get each value, and whether they get it.
    let mut owners: HashMap<(&str, &RowKeys), (&Planned<'_>, bool)> = HashMap::new();
    for entity in planned {
        let Planned { write, change, .. } = entity;
        for layout in write.schema.before_commit().filter(|layout| write.schema.is_unique(*layout)) {
            for keys in change.keys(layout) {
                let wants = change.adds(layout, keys);
                let row = (&*write.schema.layouts[layout].table, keys);
                let (other, other_wants) = *owners.entry(row).or_insert((entity, wants));
                if other.keys == entity.keys || !(wants || other_wants) {
                    continue;
                }
                let (refused, owner) = if wants { (entity, other) } else { (other, entity) };
                let violation = write.violation(layout, keys, refused.keys, (owner.keys, Standing::Visible));
                return Err(commit::outdated(planned).await?.unwrap_or(violation));
            }
        }
    }
    Ok(())
}

/// Joins the deletion and the insert of one entity to one write over its row, which keeps nothing of it. Returns the
/// position of each write's entity in the result.
pub fn folded<'p>(planned: &[Planned<'p>]) -> (Vec<Planned<'p>>, Vec<usize>) {
    let (mut folded, mut positions): (Vec<Planned<'p>>, Vec<_>) = (Vec::with_capacity(planned.len()), Vec::new());
    let replaced: HashMap<usize, usize> = replaced(planned).collect();
    for (at, entity) in planned.iter().enumerate() {
        let position = match (replaced.get(&at), &entity.action) {
            (Some(deleted), Action::Insert(properties)) if is_same_type(entity, &planned[*deleted]) => {
                let position = positions[*deleted];
                let condition = planned[*deleted].version().cloned().map_or(IfMatch::Any, IfMatch::ETag);
                let change = Change { old: planned[*deleted].change.old, new: entity.change.new };
                let action = Action::Replace(properties.clone(), condition);
                let mut events = entity.events.clone();
                if let (Some(events), Some(before)) = (&mut events, &planned[*deleted].events) {
                    events.rows.splice(..0, before.rows.iter().cloned());
                }
                folded[position] = Planned { change, action, events, ..entity.clone() };
                position
            }
            _ => {
                folded.push(entity.clone());
                folded.len() - 1
            }
        };
        positions.push(position);
    }
    (folded, positions)
}

/// Returns the positions of the inserts under the keys of deletions before them, and those of the deletions.
fn replaced(planned: &[Planned<'_>]) -> impl Iterator<Item = (usize, usize)> {
    let mut deleted = HashMap::new();
    planned.iter().enumerate().filter_map(move |(at, entity)| match entity.action {
        Action::Delete(_) => {
            deleted.insert(entity.keys, at);
            None
        }
        Action::Insert(_) => Some((at, deleted.remove(entity.keys)?)),
        _ => None,
    })
}

/// Checks whether two writes are of one type. The descriptions of a type may have several addresses.
pub fn is_same_type(entity: &Planned<'_>, other: &Planned<'_>) -> bool {
    let [one, other] = [entity, other].map(|planned| &planned.write.schema);
    one.layouts.iter().map(|layout| one.id(layout)).eq(other.layouts.iter().map(|layout| other.id(layout)))
}
