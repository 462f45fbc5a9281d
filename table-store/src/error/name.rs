//! Names of errors, for traces.

use crate::Error;

impl Error {
    /// Returns the name of the variant.
    #[doc(hidden)]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Key(_) => "Key",
            Self::Property(_) => "Property",
            Self::UnknownProperties(_) => "UnknownProperties",
            Self::Version(_) => "Version",
            Self::Limit(_) => "Limit",
            Self::Query(_) => "Query",
            Self::Cursor(_) => "Cursor",
            Self::Source(_) => "Source",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::NotFound(_) => "NotFound",
            Self::ConditionNotMet(_) => "ConditionNotMet",
            Self::UniqueViolation(_) => "UniqueViolation",
            Self::Aborted(_) => "Aborted",
            Self::Bulk(_) => "Bulk",
            Self::IndexBuilding { .. } => "IndexBuilding",
            Self::IndexNotRecorded { .. } => "IndexNotRecorded",
            Self::IndexDropped { .. } => "IndexDropped",
            Self::IndexMissing(_) => "IndexMissing",
            Self::EntityMoved { .. } => "EntityMoved",
            Self::EntityMigrating { .. } => "EntityMigrating",
            Self::NewerCatalog { .. } => "NewerCatalog",
            Self::LayoutChanged(_) => "LayoutChanged",
            Self::RowsCollide(_) => "RowsCollide",
            Self::KeyChanged(_) => "KeyChanged",
            Self::OutcomeUnknown(_) => "OutcomeUnknown",
            Self::TableNotFound(_) => "TableNotFound",
            Self::TableBeingDeleted(_) => "TableBeingDeleted",
            Self::Service(_) => "Service",
            Self::NoAnswer { .. } => "NoAnswer",
            Self::Configuration(_) => "Configuration",
            Self::InUse(_) => "InUse",
            Self::Store(_) => "Store",
            Self::Damaged { .. } => "Damaged",
            Self::Random(_) => "Random",
        }
    }
}
