//! The progress of a maintenance job.

use super::scan::ScannedPage;

/// The progress of a verification, a repair or a backfill. It is reported after each page of up to 1000 rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of index rows that were read. A backfill reads none.
    pub index_rows: usize,
    /// Number of problems that were found: findings of a verification or a repair, entities without a row in the index
    /// of a backfill.
    pub findings: usize,
    /// Number of those problems that were fixed: 0 for a verification and a dry run.
    pub fixed: usize,
    /// The cursor from which the job continues if it is stopped now. Everything before it is done.
    pub cursor: Option<String>,
}

impl Progress {
    /// Adds the rows of a page.
    pub(super) fn add(&mut self, page: &ScannedPage) {
        *(if page.layout == 0 { &mut self.entities } else { &mut self.index_rows }) += page.rows.len();
    }
}

/// The function that receives the progress of a job.
pub(crate) type ProgressCallback = Option<Box<dyn FnMut(&Progress) + Send>>;
