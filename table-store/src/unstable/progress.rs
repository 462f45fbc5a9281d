//! How far a scan has been read.

use std::{collections::HashSet, hash::BuildHasher};

use crate::{Result, backend::Continuation, error::ServiceError};

/// Position of a scan: the continuation of its next page.
///
/// A scan that continued at a token which it has sent before would never end. So the position remembers the tokens: a hash of
/// each, which is 8 bytes for each page.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    next: Option<Continuation>,
    has_ended: bool,
    sent: HashSet<u64>,
}

impl Progress {
    /// Returns the position of a scan that continues here; `None` for the begin of a scan.
    pub fn at(next: Option<Continuation>) -> Self {
        let mut begun = Self { next, ..Self::default() };
        begun.note();
        begun
    }

    /// Returns the continuation of the next page; `None` for the first page.
    pub fn next(&self) -> Option<&Continuation> {
        self.next.as_ref()
    }

    /// Returns true once the last page was read.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Ends the scan, such as that of a table which does not exist any more.
    pub fn end(&mut self) {
        (self.next, self.has_ended) = (None, true);
    }

    /// Moves to the continuation that the page at this position had. The scan of the table has ended if there is none.
    ///
    /// # Errors
    /// Returns [`Error::Service`](crate::Error::Service) if the scan has sent the continuation before. The position stays.
    pub fn advance(&mut self, table: &str, operation: &'static str, next: Option<Continuation>) -> Result<()> {
        let before = std::mem::replace(&mut self.next, next);
        if self.next.is_none() {
            self.has_ended = true;
        } else if !self.note() {
            self.next = before;
            let message =
                "the answer cannot be read: its continuation token was sent before, so the scan would never end";
            let (code, message) = (String::new(), message.to_owned());
            return Err(Box::new(ServiceError::new(table.to_owned(), operation, 200, code, message, None)).into());
        }
        Ok(())
    }

    /// Notes that the next request sends the continuation. Returns false if it was sent before.
    fn note(&mut self) -> bool {
        let next = self.next.as_ref().map(|next| self.sent.hasher().hash_one(next));
        next.is_none_or(|hash| self.sent.insert(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn token(partition_key: &str, row_key: Option<&str>) -> Option<Continuation> {
        Some(Continuation { partition_key: partition_key.to_owned(), row_key: row_key.map(str::to_owned) })
    }

    #[test]
    fn a_token_that_was_sent_before_is_an_error() {
        let mut progress = Progress::default();
        assert!(progress.next().is_none() && !progress.has_ended());
        for next in [token("a", None), token("a", Some("")), token("b", None), token("", Some("b"))] {
            assert!(progress.advance("Posts", "query", next.clone()).is_ok());
            assert_eq!(progress.next(), next.as_ref());
        }
        for before in [token("a", None), token("", Some("b"))] {
            let error = progress.advance("Posts", "query", before).expect_err("it was sent");
            assert!(matches!(&error, Error::Service(error) if error.table == "Posts"), "{error}");
        }
        assert!(progress.advance("Posts", "query", None).is_ok() && progress.has_ended());
        let mut resumed = Progress::at(token("a", None));
        assert!(resumed.advance("Posts", "query", token("a", None)).is_err());
    }
}
