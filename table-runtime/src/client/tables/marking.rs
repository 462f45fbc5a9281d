//! The writing of marks. Tasks that need marks of one bucket at the same time write them together.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, select};
use table_model::unstable::event::MARKS;
use table_store::{
    Error, Properties, Result,
    backend::{Action, BackendExt, Group, Operation},
    unstable::RowKeys,
};

use super::{Tables, marks::MarkLease};

/// Number of times that the write of a mark is repeated if it is not answered. Each takes as long as the backend waits.
const ATTEMPTS: usize = 2;

/// Least length of the lease of a mark.
const LEAST: Duration = Duration::from_secs(10);

impl Tables {
    /// Notes that a mark will be needed, if the handle holds no lease of it.
    pub(crate) fn announce_mark(&self, mark: RowKeys) {
        if self.0.marks.held(&mark, self.half_ago()).is_none() {
            self.0.marks.announce(mark);
        }
    }

    /// Returns a lease of a mark. Writes the mark if the handle holds no lease of it, or one in its second half.
    ///
    /// # Errors
    /// Returns an error if the mark cannot be written, and there is no lease.
    pub(crate) async fn mark(&self, mark: &RowKeys) -> Result<MarkLease> {
        let now = self.backend().clock();
        let held = self.0.marks.held(mark, None).filter(|lease| !lease.left(now).is_zero());
        let written = pin!(self.mark_after(mark, self.half_ago()));
        let Some(held) = held else { return written.await };
        // The lease is valid all the same. The next caller tries again.
        let enough = pin!(self.backend().deadline(held.left(now) / 2));
        match select(written, enough).await {
            Either::Left((Ok(lease), _)) => Ok(lease),
            Either::Left((Err(_), _)) | Either::Right(_) => Ok(held),
        }
    }

    /// Returns the length of the lease of a mark. One that is shorter than a request would end each commit.
    pub(crate) fn mark_length(&self) -> Duration {
        self.leases().length().max(LEAST)
    }

    /// Returns the time at which a lease was begun of which half is over now; `None` if the clock began later.
    fn half_ago(&self) -> Option<Duration> {
        self.backend().clock().checked_sub(self.mark_length() / 2)
    }

    /// Returns a lease of a mark that was begun after this time, by the backend's clock, or at any time.
    ///
    /// # Errors
    /// Returns an error if the mark cannot be written.
    pub(crate) async fn mark_after(&self, mark: &RowKeys, after: Option<Duration>) -> Result<MarkLease> {
        let marks = &self.0.marks;
        if let Some(lease) = marks.held(mark, after) {
            return Ok(lease);
        }
        marks.announce(mark.clone());
        let bucket = RowKeys { partition_key: mark.partition_key.clone(), row_key: String::new() };
        let _turn = self.turn(MARKS, &bucket).await;
        if let Some(lease) = marks.held(mark, after) {
            marks.written_by_another(mark);
            return Ok(lease);
        }
        let taken = marks.take(mark);
        let operations = taken.iter().map(|RowKeys { row_key, .. }| Operation {
            row_key: row_key.clone(),
            // Nothing is stored in a mark: a write of it would lose what another program has stored.
            action: Action::Upsert(Properties::default()),
        });
        let group =
            Group { table: MARKS.into(), partition_key: bucket.partition_key, operations: operations.collect() };
        let mut attempts = 0..ATTEMPTS;
        let lease = loop {
            let began = self.backend().clock();
            match self.backend().execute_group(&group).await {
                Ok(_) => break MarkLease { began, length: self.mark_length() },
                Err(Error::TableNotFound(_)) => drop(self.backend().create_table(MARKS).await?),
                // A second write of a mark does no harm.
                Err(Error::OutcomeUnknown(_)) if attempts.next().is_some() => {}
                // No entity was written.
                Err(Error::OutcomeUnknown(lost)) => {
                    let (table, operation) = (MARKS.to_owned(), "write of a mark");
                    let request = lost.request.map(Box::new);
                    return Err(Error::NoAnswer { table, operation, reason: lost.reason, request });
                }
                Err(error) => return Err(error),
            }
        };
        marks.keep(taken, lease);
        Ok(lease)
    }
}
