//! How far a scan has been read.

use std::{collections::HashSet, hash::BuildHasher};

use crate::backend::Continuation;

/// Position of a scan: the continuation of its next page.
///
/// A scan that continued at a token which it has sent before would never end. So the position remembers the tokens: a hash of
/// each, which is 8 bytes for each page.
#[derive(Clone, Debug, Default)]
pub struct ScanProgress {
    next: Option<Continuation>,
    has_ended: bool,
    sent: HashSet<u64>,
}

impl ScanProgress {
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
        self.follow(None);
    }

    /// Moves to the continuation that the page at this position had; the scan has ended if there is none. Returns false, and
    /// stays at this position, if the scan has sent the continuation before.
    pub fn advance(&mut self, next: Option<Continuation>) -> bool {
        let before = std::mem::replace(&mut self.next, next);
        self.has_ended = self.next.is_none();
        let is_new = self.note();
        if !is_new {
            self.next = before;
        }
        is_new
    }

    /// Moves in the same way to any continuation, of a store that cannot go round in a circle.
    pub fn follow(&mut self, next: Option<Continuation>) {
        (self.has_ended, self.next) = (next.is_none(), next);
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

    fn token(partition_key: &str, row_key: Option<&str>) -> Continuation {
        Continuation { partition_key: partition_key.to_owned(), row_key: row_key.map(str::to_owned) }
    }

    #[test]
    fn a_token_that_was_sent_before_is_an_error() {
        let mut progress = ScanProgress::default();
        assert!(progress.next().is_none() && !progress.has_ended());
        for next in [token("a", None), token("a", Some("")), token("b", None), token("", Some("b"))] {
            assert!(progress.advance(Some(next.clone())));
            assert_eq!(progress.next(), Some(&next));
        }
        for before in [token("a", None), token("", Some("b"))] {
            assert!(!progress.advance(Some(before)) && !progress.has_ended());
            assert_eq!(progress.next(), Some(&token("", Some("b"))));
        }
        assert!(progress.advance(None) && progress.has_ended());
        let mut resumed = ScanProgress::at(Some(token("a", None)));
        assert!(!resumed.advance(Some(token("a", None))));
        resumed.follow(Some(token("a", None)));
        assert_eq!(resumed.next(), Some(&token("a", None)));
    }
}
