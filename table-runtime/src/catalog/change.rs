//! Changes of the catalog.

use crate::{
    ETag, Error, Result, RowId, Stored, TableEntity, Tables,
    backend::BackendExt,
    pacing,
    tables::{Catalog, FORMAT, Head, Record},
};

/// Changes of records, which one transaction writes.
#[derive(Debug, Default)]
pub(crate) struct CatalogChange {
    pub(crate) inserted: Vec<Record>,
    pub(crate) updated: Vec<Stored<Record>>,
    pub(crate) removed: Vec<Stored<Record>>,
}

impl CatalogChange {
    pub(crate) fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.updated.is_empty() && self.removed.is_empty()
    }
}

impl Tables {
    /// Creates the table of the catalog. Returns true if it was missing.
    pub(crate) async fn create_catalog(&self) -> Result<bool> {
        self.backend().create_table(Record::LAYOUTS[0].table).await
    }

    /// Writes a change in one transaction, on the condition that the catalog has not changed since it was read. Returns the
    /// versions of the records that it inserted and then of those that it updated; `None` if the condition was not met, or
    /// the answer was lost: the caller reads the catalog again.
    pub(crate) async fn change_catalog(
        &self,
        catalog: &Catalog,
        mut change: CatalogChange,
    ) -> Result<Option<Vec<Option<ETag>>>> {
        let mut head = catalog.head.clone();
        let new_head = Head { format: FORMAT, changes: 1 };
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
                head.changes += 1;
                transaction.update(head)
            }
            None => transaction.insert(&new_head),
        };
        match transaction.commit().await {
            Ok(mut versions) => {
                versions.truncate(written);
                Ok(Some(versions))
            }
            Err(
                Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits before the catalog is read again, because another program has changed it first.
    ///
    /// # Errors
    /// Returns an error if no attempt is left.
    pub(crate) async fn pause_catalog(&self, delays: &mut pacing::Delays) -> Result<()> {
        let (table, keys) = (Head::LAYOUTS[0].table, Head::keys_of());
        let lost = Error::ConditionNotMet(Box::new(RowId::of(table, &keys)));
        pacing::wait(self.backend(), delays, lost).await
    }

    /// Waits until no other handle holds a lease that was read before now.
    pub(crate) async fn wait_for_leases(&self) {
        self.backend().sleep(self.leases().wait()).await;
    }
}
