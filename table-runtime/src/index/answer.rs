//! The answers to the requests of a write: what each of them means is decided here.

use crate::{ETag, Error, OutcomeUnknownError, Result};

/// The answer to a request that writes rows.
pub(crate) enum WriteAnswer {
    /// The request was carried out, and gave its first row this version.
    Done(Option<ETag>),
    /// The condition of the request does not hold: another writer was faster. Nothing was written.
    LostRace(Error),
    /// The answer was lost. The request may have been carried out, or may still be.
    Lost(Box<OutcomeUnknownError>),
}

impl WriteAnswer {
    /// Returns the answer in the result of a request.
    ///
    /// # Errors
    /// Returns any other error of the request. Nothing was written.
    pub(crate) fn of(result: Result<Vec<Option<ETag>>>) -> Result<Self> {
        match result {
            Ok(etags) => Ok(Self::Done(etags.into_iter().next().flatten())),
            Err(error @ (Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_))) => {
                Ok(Self::LostRace(error))
            }
            Err(Error::OutcomeUnknown(error)) => Ok(Self::Lost(error)),
            Err(error) => Err(error),
        }
    }

    /// Checks whether a row that was to be fenced or deleted cannot be written any more under the version that was read:
    /// the request was carried out, or the row is gone.
    pub(crate) const fn is_settled(&self) -> bool {
        matches!(self, Self::Done(_) | Self::LostRace(Error::NotFound(_)))
    }

    /// Returns the reason why the answer was lost, if it was.
    pub(crate) fn lost(self) -> Option<String> {
        if let Self::Lost(error) = self { Some(error.reason) } else { None }
    }
}
