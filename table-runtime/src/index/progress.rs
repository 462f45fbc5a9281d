//! How far a sweep over an entity's rows is.

use super::sweep::Swept;

/// How far a verification, a repair or a backfill is, told after each page of up to 1000 rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The entities that were looked at.
    pub entities: usize,
    /// The index rows that were looked at beside them.
    pub rows: usize,
    /// What was written or deleted for them, or would be, in a dry run; of a verification, what it found.
    pub fixed: usize,
    /// Where to go on, if this is the last that is heard: everything before it is done.
    pub cursor: Option<String>,
}

impl Progress {
    /// Takes note of a page.
    pub(super) fn add(&mut self, page: &Swept) {
        *(if page.layout == 0 { &mut self.entities } else { &mut self.rows }) += page.rows.len();
    }
}

/// What is told how far it is.
pub(super) type Told = Option<Box<dyn FnMut(&Progress) + Send>>;
