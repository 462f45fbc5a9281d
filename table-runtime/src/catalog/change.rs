//! Changes of the catalog.

use std::collections::BTreeSet;

use crate::{
    ETag, Error, Result, Stored, TableEntity, Tables,
    backend::BoxFuture,
    pacing,
    tables::{CatalogPage, FORMAT, Head, Record},
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

    /// Returns the tables whose records change.
    fn tables(&self) -> BTreeSet<&str> {
        let stored = self.updated.iter().chain(&self.removed).map(|record| record.table.as_str());
        self.inserted.iter().map(|record| record.table.as_str()).chain(stored).collect()
    }
}

impl Tables {
    /// Creates the table of the catalog. Returns true if it was missing.
    pub(crate) async fn create_catalog(&self) -> Result<bool> {
        self.backend().create_table(Record::LAYOUTS[0].table).await
    }

    /// Reads the records of the layouts in these tables, whose names are in lower case.
    ///
    /// # Errors
    /// Returns [`Error::NewerCatalog`] if a newer version of this crate has written them.
    pub(crate) async fn catalog_pages(&self, tables: &[String]) -> Result<Vec<CatalogPage>> {
        let mut reads: Vec<BoxFuture<'_, Result<CatalogPage>>> = Vec::with_capacity(tables.len());
        for table in tables {
            reads.push(Box::pin(self.catalog_page(table)));
        }
        let pages = pacing::concurrently(reads).await?;
        match pages.iter().filter_map(|page| page.head.as_ref()).find(|head| head.format > FORMAT) {
            Some(head) => Err(Error::NewerCatalog { found: head.format, known: FORMAT }),
            None => Ok(pages),
        }
    }

    /// Writes a change in one transaction, on the condition that no record of its tables has changed since `pages` was
    /// read. Returns the versions of the records that it inserted and then of those that it updated; `None` if the condition was not met, or the answer was lost: the caller reads the records again.
    pub(crate) async fn change_catalog(
        &self,
        pages: &[CatalogPage],
        mut change: CatalogChange,
    ) -> Result<Option<Vec<Option<ETag>>>> {
        let (mut new_heads, mut heads) = (Vec::new(), Vec::new());
        for table in change.tables() {
            match pages.iter().find(|page| page.table == table).and_then(|page| page.head.clone()) {
                Some(mut head) => {
                    head.changes += 1;
                    heads.push(head);
                }
                None => new_heads.push(Head { table: table.to_owned(), format: FORMAT, changes: 1 }),
            }
        }
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
        for head in &new_heads {
            transaction = transaction.insert(head);
        }
        for head in &mut heads {
            transaction = transaction.update(head);
        }
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

    /// Waits before the records of a table are read again, because another program has changed them first.
    ///
    /// # Errors
    /// Returns an error if no attempt is left.
    pub(crate) async fn pause_catalog(&self, table: &str, delays: &mut pacing::Delays) -> Result<()> {
        let lost = Error::ConditionNotMet(Box::new(Record::head_row(table)));
        pacing::wait(&**self.backend(), delays, lost).await
    }

    /// Waits until no other handle holds a lease that was read before now.
    pub(crate) async fn wait_for_leases(&self) {
        self.backend().sleep(self.leases().wait()).await;
    }
}
