//! The progress of a maintenance job.

use super::compare::IndexComparison;

/// The progress of a verification, a repair or a backfill. It is reported after each page of up to 1000 rows.
///
/// A job that reads rows more than once counts each once: see [`verify`](crate::Tables::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of index rows that were read; 0 for a backfill.
    pub index_rows: usize,
    /// Number of problems that were found: findings of a verification or a repair, entities without a row in the index
    /// of a backfill.
    pub findings: usize,
    /// Number of those problems that were fixed: 0 for a verification and a dry run.
    pub fixed: usize,
    /// Number of the pass, from 1; 0 for a migration.
    pub pass: usize,
    /// Number of passes, as far as it is known: 1 if the hashes of all index rows fit into the memory, 0 for a
    /// migration.
    pub passes: usize,
    /// The cursor from which the job continues if it is stopped now. Everything before it is done.
    pub cursor: Option<String>,
}

impl Progress {
    /// Adds the rows of a page that was compared.
    pub(super) fn add(&mut self, layout: usize, rows: usize, comparison: &IndexComparison) {
        *(if layout == 0 { &mut self.entities } else { &mut self.index_rows }) += rows;
        (self.pass, self.passes) = comparison.passes();
        self.cursor = comparison.cursor().map(str::to_owned);
    }
}

/// The function that receives the progress of a job.
pub type ProgressCallback<'a> = Option<Box<dyn FnMut(&Progress) + Send + 'a>>;
