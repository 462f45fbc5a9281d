//! Problems of an index.

use std::{borrow::Cow, fmt};

use table_store::{RowId, error::UniqueViolationError};

/// A problem that a crash or another program left. [`verify`](crate::Tables::verify) finds it, and
/// [`repair`](crate::Tables::repair) fixes it unless its documentation says otherwise. `Display` describes it in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A pending insert: its writer is slow or dead. No reader returns the entity. A repair deletes it.
    Pending {
        /// The entity's row.
        entity: RowId,
    },
    /// An entity without its row in the index. A repair writes the row.
    MissingRow {
        /// The index.
        index: Cow<'static, str>,
        /// The missing row.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// A row that points to an entity which is missing or has another value. Readers skip it. A repair deletes it.
    StaleRow {
        /// The index.
        index: Cow<'static, str>,
        /// The row; of a list, the row that names the entity.
        row: RowId,
        /// The entity that the row points to.
        entity: RowId,
    },
    /// A copy, or a row with included properties, that differs from its entity. A repair writes it again.
    StaleCopy {
        /// The index.
        index: Cow<'static, str>,
        /// The row.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// Two entities with one value of a unique index, which only another program can have written. A repair leaves them:
    /// a person has to decide which of the two is right.
    TwoOwners {
        /// The index.
        index: Cow<'static, str>,
        /// The row of the value.
        row: RowId,
        /// The entity that the row does not point to.
        entity: RowId,
        /// The entity that the row points to.
        owner: RowId,
    },
    /// A row among those of the entity, or of an index, that belongs to neither: it is damaged, or another program wrote
    /// it. A repair leaves it: a person has to decide whose row it is. While it exists, an entity that needs a unique row
    /// with these keys cannot be written.
    Foreign {
        /// The index; `None` for a row among the entities.
        index: Option<Cow<'static, str>>,
        /// The row.
        row: RowId,
        /// The reason why the row cannot be read.
        problem: String,
    },
    /// An [event](crate::guide::events) in a partition without a mark: no relay finds it before another one of the partition. A
    /// repair writes the mark.
    UnmarkedEvent {
        /// The first event of the partition.
        event: RowId,
        /// The missing mark.
        mark: RowId,
    },
}

impl Finding {
    /// Returns the finding for an entity whose row in a unique index cannot be written.
    pub(super) fn two_owners(violation: UniqueViolationError) -> Self {
        let UniqueViolationError { index, row, entity, owner, .. } = violation;
        Self::TwoOwners { index: index.into(), row, entity, owner }
    }

    /// Returns the index; `None` for a problem of an entity's own row.
    pub fn index(&self) -> Option<&str> {
        match self {
            Self::Pending { .. } | Self::UnmarkedEvent { .. } => None,
            Self::Foreign { index, .. } => index.as_deref(),
            Self::MissingRow { index, .. }
            | Self::StaleRow { index, .. }
            | Self::StaleCopy { index, .. }
            | Self::TwoOwners { index, .. } => Some(index),
        }
    }

    /// Returns the entity's row; `None` for a foreign row, which belongs to no entity, and for an event.
    pub const fn entity(&self) -> Option<&RowId> {
        match self {
            Self::Foreign { .. } | Self::UnmarkedEvent { .. } => None,
            Self::Pending { entity }
            | Self::MissingRow { entity, .. }
            | Self::StaleRow { entity, .. }
            | Self::StaleCopy { entity, .. }
            | Self::TwoOwners { entity, .. } => Some(entity),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending { entity } => write!(f, "{entity} is not committed"),
            Self::MissingRow { index, row, entity } => write!(f, "index `{index}`: {entity} has no row {row}"),
            Self::StaleRow { index, row, entity } => {
                write!(f, "index `{index}`: {row} points to {entity}, which is missing or has another value")
            }
            Self::StaleCopy { index, row, entity } => write!(f, "index `{index}`: {row} differs from {entity}"),
            Self::TwoOwners { index, row, entity, owner } => {
                write!(f, "index `{index}`: {entity} and {owner} both have the value of {row}")
            }
            Self::Foreign { index: Some(index), row, problem } => {
                write!(f, "index `{index}`: {row} is not one of its rows: {problem}")
            }
            Self::Foreign { index: None, row, problem } => write!(f, "{row} is no entity: {problem}"),
            Self::UnmarkedEvent { event, mark } => {
                write!(f, "the event {event} has no mark {mark}, so no relay finds it")
            }
        }
    }
}
