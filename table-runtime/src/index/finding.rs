//! What is wrong with an index.

use std::fmt;

use crate::{RowId, UniqueViolationError};

/// Something that a crash left, or that others did to the rows: what [`verify`](crate::Tables::verify) finds, and
/// [`repair`](crate::Tables::repair) mends unless it says otherwise. `Display` says it in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// An insert that was not committed: its writer is slow, or dead. No reader sees it; a repair deletes it.
    Pending {
        /// The entity's row.
        entity: RowId,
    },
    /// An entity that the index does not lead to. A repair writes the row.
    MissingRow {
        /// The index.
        index: &'static str,
        /// The row that there should be.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// A row that leads to an entity which is gone, or has another value. Readers pass over it; a repair deletes it.
    StaleRow {
        /// The index.
        index: &'static str,
        /// The row; of a list, the row that names the entity.
        row: RowId,
        /// The entity that it leads to.
        entity: RowId,
    },
    /// A copy that is behind its entity. A repair writes it anew.
    StaleCopy {
        /// The index.
        index: &'static str,
        /// The copy.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// Two entities with one value of a unique index, which only others can have written. It is not fixed, since it
    /// takes somebody to say which of the two is right.
    TwoOwners {
        /// The index.
        index: &'static str,
        /// The index's row.
        row: RowId,
        /// An entity that the row does not lead to.
        entity: RowId,
        /// The entity that the row leads to.
        owner: RowId,
    },
    /// A row among those of the entity, or of an index, that is none of them: it is damaged, or another program wrote
    /// it. A repair leaves it, since it takes somebody to say whose it is; an entity that needs a unique row in its place cannot be written as long as it stands there.
    Foreign {
        /// The index; `None` for a row among the entities.
        index: Option<&'static str>,
        /// The row.
        row: RowId,
        /// What is wrong with it.
        problem: String,
    },
}

impl Finding {
    /// Of an entity whose row in a unique index cannot be written.
    pub(super) fn two_owners(violation: UniqueViolationError) -> Self {
        let UniqueViolationError { index, row, entity, owner, .. } = violation;
        Self::TwoOwners { index, row, entity, owner }
    }

    /// The index; `None` for what is wrong with an entity's own row.
    pub const fn index(&self) -> Option<&'static str> {
        match self {
            Self::Pending { .. } => None,
            Self::Foreign { index, .. } => *index,
            Self::MissingRow { index, .. }
            | Self::StaleRow { index, .. }
            | Self::StaleCopy { index, .. }
            | Self::TwoOwners { index, .. } => Some(index),
        }
    }

    /// The entity's row; `None` for a foreign row, which is no entity's.
    pub const fn entity(&self) -> Option<&RowId> {
        match self {
            Self::Foreign { .. } => None,
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
                write!(f, "index `{index}`: {row} leads to {entity}, which is gone or has another value")
            }
            Self::StaleCopy { index, row, entity } => write!(f, "index `{index}`: {row} is behind {entity}"),
            Self::TwoOwners { index, row, entity, owner } => {
                write!(f, "index `{index}`: {entity} and {owner} both have the value of {row}")
            }
            Self::Foreign { index: Some(index), row, problem } => {
                write!(f, "index `{index}`: {row} is none of its rows: {problem}")
            }
            Self::Foreign { index: None, row, problem } => write!(f, "{row} is no entity: {problem}"),
        }
    }
}
