//! Changes of the catalog.

use table_model::TableEntity;
use table_store::{ETag, Error, Result, RowId, backend::BackendExt};

use crate::client::{
    pacing,
    stored::Stored,
    tables::{Catalog, FORMAT, FORMAT_WITHOUT_EVENTS, Head, Record, Tables},
};

/// Changes of records, which one transaction writes.
#[derive(Debug, Default)]
pub struct CatalogChange {
    pub inserted: Vec<Record>,
    pub updated: Vec<Stored<Record>>,
    pub removed: Vec<Stored<Record>>,
    /// `Some(true)` to announce that this program looks for missing tables.
    ///
    /// A program concludes from a missing table that its rows are gone. Another program may be about to make this table
    /// anew. So a program looks for missing tables only under a head that announces a look, and writes what it concludes
    /// on the condition that the head is still this one. Whoever makes a recorded table anew has replaced that head before,
    /// and begins only if nobody has changed the catalog since. Whoever begins under a head that announces a look replaces
    /// it too. So what a program concludes is written only if no program has begun that made the table after the look.
    pub looking: Option<bool>,
}

/// The versions that a change has given.
#[derive(Debug)]
pub struct Changed {
    /// Those of the records that it inserted, and then of those that it updated.
    pub records: Vec<Option<ETag>>,
    pub head: Option<ETag>,
}

impl CatalogChange {
    /// Checks whether no record changes.
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.updated.is_empty() && self.removed.is_empty()
    }
}

impl Tables {
    /// Creates the table of the catalog. Returns true if it was missing.
    pub(crate) async fn create_catalog(&self) -> Result<bool> {
        self.backend().create_table(&Record::INFO.layouts[0].table).await
    }

    /// Writes a change in one transaction, on the condition that the catalog has not changed since it was read. If the
    /// condition is not met, or the answer is lost, waits and returns `None`: the caller reads the catalog again.
    ///
    /// # Errors
    /// Returns an error if no attempt is left.
    pub(crate) async fn change_catalog(
        &self,
        catalog: &Catalog,
        mut change: CatalogChange,
        delays: &mut pacing::Delays,
    ) -> Result<Option<Changed>> {
        let mut head = catalog.head.clone();
        let written_records = change.inserted.iter().chain(change.updated.iter().map(|record| &**record));
        let has_events = written_records.into_iter().any(|record| record.facts().events.is_some());
        let format = if has_events { FORMAT } else { FORMAT_WITHOUT_EVENTS };
        let new_head = Head { format, changes: 1, looking: change.looking };
        let written = change.inserted.len() + change.updated.len();
        let mut transaction = self.transaction();
        for record in &change.inserted {
            transaction = transaction.insert(record);
        }
        for record in &mut change.updated {
            transaction = transaction.update(record);
        }
        for record in &change.removed {
            transaction = transaction.delete(record);
        }
        transaction = match &mut head {
            Some(head) => {
                (head.changes, head.looking) = (head.changes.saturating_add(1), change.looking);
                head.format = head.format.max(format);
                transaction.update(head)
            }
            None => transaction.insert(&new_head),
        };
        match transaction.commit().await {
            Ok(mut records) => {
                let head = records.pop().flatten();
                records.truncate(written);
                Ok(Some(Changed { records, head }))
            }
            Err(
                Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_),
            ) => self.pause_catalog(delays).await.map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// Waits before the catalog is read again, because another program has changed it first.
    ///
    /// # Errors
    /// Returns an error if no attempt is left.
    pub(crate) async fn pause_catalog(&self, delays: &mut pacing::Delays) -> Result<()> {
        let (table, keys) = (&*Head::INFO.layouts[0].table, Head::keys_of());
        let lost = Error::ConditionNotMet(RowId::of(table, &keys).into());
        pacing::wait(self.backend(), delays, lost).await
    }

    /// Waits until no other handle holds a lease that was read before now.
    pub(crate) async fn wait_for_leases(&self) {
        self.backend().sleep(self.leases().wait()).await;
    }
}
