//! The lease under which a query reads an index.

use table_store::Result;

use crate::client::tables::{LayoutId, Lease, Tables};

/// The index that a query reads, and the lease that shows it as ready.
///
/// Each request for rows of the index is sent under a lease, and the lease is confirmed once its rows have arrived. Then
/// the index was ready all the time between, and every entity that had the value all the time was found. A query of
/// several pages is as sound as one query for each page.
pub(super) struct ReadyIndex {
    tables: Tables,
    id: LayoutId,
    lease: Lease,
}

impl ReadyIndex {
    /// Returns the index with a lease.
    ///
    /// # Errors
    /// Returns an error if the index is not ready.
    pub(super) async fn new(tables: &Tables, id: LayoutId) -> Result<Self> {
        let lease = tables.lease(&id).await?;
        Ok(Self { tables: tables.clone(), id, lease })
    }

    /// Renews the lease if it has expired. Call it before each request.
    pub(super) async fn renew(&mut self) -> Result<()> {
        if !self.lease.is_valid(self.tables.backend().clock()) {
            self.lease = self.tables.lease(&self.id).await?;
        }
        Ok(())
    }

    /// Checks that the index was ready since the lease was read. Call it after each request.
    pub(super) async fn confirm(&self) -> Result<()> {
        self.tables.confirm(&self.id, &self.lease).await
    }
}
