//! A commit whose answer was lost: the proof, in the rows, that it was applied.

use table_model::unstable::entity::WRITE_ID;
use table_store::{
    ETag, Error, Properties, Result, Row, ValueRef,
    backend::{Action, BoxFuture, Group},
    error::{OutcomeUnknownError, RowNow},
    unstable::RowKeys,
};

use super::{
    change::Planned,
    leased::HeldLeases,
    schema::pending,
    write::{WriteAnswer, fence, single},
};
use crate::client::pacing;

/// Resolves a lost answer. The write ids of the rows are the only proof that the transaction was applied, and one of them
/// proves it of all.
///
/// The ETag of a row is `None` if the row has no write id or that of another write, or if it has this write's id and not
/// what this write wrote: a program without the write id has patched it since. The caller then knows the content of an
/// earlier version.
pub(super) async fn resolve(
    first: &Planned<'_>,
    planned: &[Planned<'_>],
    groups: &[Group],
    leases: &HeldLeases,
    mut lost: OutcomeUnknownError,
) -> Result<Vec<Option<ETag>>> {
    // A commit that is carried out between the two reads leaves the row that it wrote.
    let has_event = has_event(planned).await;
    let found = first.write.row_now(first.keys).await;
    let others = planned.get(1..).unwrap_or_default();
    let mut reads: Vec<BoxFuture<'_, Result<WriteProof>>> = Vec::with_capacity(others.len());
    for other in others {
        reads.push(Box::pin(async move {
            let is_read = other.leaves_id() || has_event && other.leaves_row();
            let found = if is_read { Some(other.write.row_now(other.keys).await) } else { None };
            Ok(found.as_ref().map_or(WriteProof::None, |found| other.proof(present(found), has_event)))
        }));
    }
    let mut proofs = vec![first.proof(present(&found), has_event)];
    proofs.extend(pacing::concurrently(reads).await?);
    if !has_event && proofs.iter().all(|proof| matches!(proof, WriteProof::None)) {
        lost.now = found;
        return Err(unknown(first, planned, groups, lost));
    }
    if let Err(reason) = leases.renewed(first).await {
        (lost.now, lost.reason) = (found, format!("it was applied, and {reason}"));
        return Err(unknown(first, planned, groups, lost));
    }
    Ok(proofs.into_iter().map(WriteProof::version).collect())
}

/// Checks whether the transaction has left one of its events, which proves it. A relay may have deleted the event since, so that
/// there is none proves nothing.
pub(super) async fn has_event(planned: &[Planned<'_>]) -> bool {
    let of_event = |entity: &Planned<'_>| {
        let row_key = entity.events.as_deref()?.rows.first()?.row_key.clone();
        Some(RowKeys { partition_key: entity.keys.partition_key.clone(), row_key })
    };
    let Some((entity, keys)) = planned.iter().find_map(|entity| Some((entity, of_event(entity)?))) else {
        return false;
    };
    let Ok(table) = entity.write.table_of(entity.keys) else { return false };
    matches!(entity.write.get(&table, &keys).await, Ok(Some(_)))
}

/// Fences the first entity that still has the version that its commit requires, or the one of these that an earlier fence
/// gave it: a commit that records events must not be carried out when a relay may have deleted the mark. Returns the position of
/// that entity, and its new version. What cannot be fenced is left to the time for which relays wait.
pub(super) async fn fence_unchanged(planned: &[Planned<'_>], fenced: &[(usize, ETag)]) -> Option<(usize, ETag)> {
    for (at, entity) in planned.iter().enumerate().filter(|(_, entity)| entity.events.is_some()) {
        let fenced = fenced.iter().find(|(other, _)| *other == at).map(|(_, version)| version);
        let Some(version) = fenced.or(entity.version()) else { continue };
        let group = single(entity.write.table_of(entity.keys).ok()?, entity.keys, fence(version)).ok()?;
        match entity.write.send(&group).await.ok()? {
            WriteAnswer::Done(fenced) => return Some((at, fenced?)),
            WriteAnswer::LostRace(_) => {}
            // The others would wait as long.
            WriteAnswer::Lost(_) => return None,
        }
    }
    None
}

fn present(found: &RowNow) -> Option<&Row> {
    if let RowNow::Present(row) = found { Some(row) } else { None }
}

/// Returns the error of a transaction that may have been applied.
#[cold]
fn unknown(first: &Planned<'_>, planned: &[Planned<'_>], groups: &[Group], mut lost: OutcomeUnknownError) -> Error {
    lost.row = first.row_id();
    lost.operation = match (planned, groups) {
        ([_], _) => first.action.name(),
        (_, [group]) => group.name(),
        _ => "transaction",
    };
    Box::new(lost).into()
}

/// What a row proves about a write whose answer was lost.
pub(super) enum WriteProof {
    None,
    /// The write was applied, and the row was changed since.
    Applied,
    /// The write was applied, and gave the row this version.
    Version(ETag),
}

impl WriteProof {
    /// Returns the version that the write gave the row, if the row still has it.
    pub(super) fn version(self) -> Option<ETag> {
        if let Self::Version(etag) = self { Some(etag) } else { None }
    }
}

impl Planned<'_> {
    /// Checks whether the entity has a row afterwards.
    const fn leaves_row(&self) -> bool {
        !matches!(self.action, Action::Delete(_))
    }

    /// Checks whether the row has the write id afterwards.
    fn leaves_id(&self) -> bool {
        self.write.schema.write_id && self.leaves_row()
    }

    /// Returns what the row, as it was read, proves about this write.
    ///
    /// `has_event` is true if an event of the transaction proves it.
    pub(super) fn proof(&self, found: Option<&Row>, has_event: bool) -> WriteProof {
        let Some(row) = found else { return WriteProof::None };
        let id = Some(ValueRef::Guid(self.write.id));
        let has_id = self.leaves_id() && row.properties.get(WRITE_ID) == id;
        let is_own = (has_id || has_event && self.events.is_some()) && pending(row).is_none();
        let is_as_written = match &self.action {
            Action::Insert(written) | Action::Upsert(written) | Action::Replace(written, _) => {
                is_same(&row.properties, written)
            }
            // A merge does not know the other properties.
            Action::Merge(written, _) => has_all(&row.properties, written),
            Action::Delete(_) => false,
        };
        match (is_own, is_as_written) {
            (false, _) => WriteProof::None,
            (true, false) => WriteProof::Applied,
            (true, true) => WriteProof::Version(row.etag.clone()),
        }
    }
}

/// Checks whether a row has these properties and no others, in any order.
fn is_same(stored: &Properties, written: &Properties) -> bool {
    has_all(stored, written) && stored.iter().count() == written.iter().count()
}

fn has_all(stored: &Properties, written: &Properties) -> bool {
    // NaN is not equal to itself, and a store may lose the sign of a zero.
    let is_same = |found: ValueRef<'_>, value: ValueRef<'_>| found == value || found.is_same(value);
    written.iter().all(|(name, value)| stored.get(name).is_some_and(|found| is_same(found, value)))
}
