//! A commit whose answer was lost: the proof, in the rows, that it was applied.

use table_model::unstable::entity::WRITE_ID;
use table_store::{
    ETag, Error, Properties, Result, Row, ValueRef,
    backend::{Action, BoxFuture, Group},
    error::{OutcomeUnknownError, RowNow},
};

use super::{change::Planned, leased::HeldLeases, schema::pending};
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
    let found = first.write.row_now(first.keys).await;
    let others = planned.get(1..).unwrap_or_default();
    let mut reads: Vec<BoxFuture<'_, Result<WriteProof>>> = Vec::with_capacity(others.len());
    for other in others {
        reads.push(Box::pin(async move {
            let found = if other.leaves_id() { Some(other.write.row_now(other.keys).await) } else { None };
            Ok(found.as_ref().map_or(WriteProof::None, |found| other.proof(present(found))))
        }));
    }
    let mut proofs = vec![first.proof(present(&found))];
    proofs.extend(pacing::concurrently(reads).await?);
    if proofs.iter().all(|proof| matches!(proof, WriteProof::None)) {
        lost.now = found;
        return Err(unknown(first, planned, groups, lost));
    }
    if let Err(reason) = leases.renewed(first).await {
        (lost.now, lost.reason) = (found, format!("it was applied, and {reason}"));
        return Err(unknown(first, planned, groups, lost));
    }
    Ok(proofs.into_iter().map(WriteProof::version).collect())
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
    /// Checks whether the row has the write id afterwards.
    fn leaves_id(&self) -> bool {
        self.write.schema.write_id && !matches!(self.action, Action::Delete(_))
    }

    /// Returns what the row, as it was read, proves about this write.
    pub(super) fn proof(&self, found: Option<&Row>) -> WriteProof {
        let Some(row) = found else { return WriteProof::None };
        let id = Some(ValueRef::Guid(self.write.id));
        let is_own = self.leaves_id() && row.properties.get(WRITE_ID) == id && pending(row).is_none();
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
