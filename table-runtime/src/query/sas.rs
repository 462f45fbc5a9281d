//! Shared access signatures for what a query reads.

use std::time::Duration;

use table_store::{
    Error, Result, Ticks,
    backend::{Backend as _, Grant, Sas, SasPermissions},
};

use super::{Opened, Rows};
use crate::client::tables::Tables;

impl<V, P, A: Opened> Rows<V, P, A> {
    /// Signs a shared access signature for the partition or the table that the query reads, without sending a request. Whoever
    /// has the signature can use these rows until it ends, without the account's key.
    ///
    /// The query is a whole partition, such as `Post::by_key("acme")`, or a whole table, such as `Post::scan()`. Everything
    /// in it can be used: rows of other entities, index rows, which writes need, and rows that readers do not see, because their
    /// entities have expired or are in the bin. The service includes the last row key of
    /// a range, so that a range cannot express a prefix; therefore only whole partitions and tables are signed.
    ///
    /// The catalog, `TableLayouts`, is not in it, nor are rows of indexes in other partitions. A program that has only the
    /// signature does not call [`create`](Tables::create), reads by the primary key, and writes entities that have no such
    /// index; [`health`](Tables::health) reports that the catalog is refused.
    ///
    /// The signature ends `lifetime` from now, rounded up to a second, by the clock of the service as far as its answers have
    /// shown it. Only a new account key revokes it before: give it a short life. It is for `https` alone, except on Azurite.
    ///
    /// ```
    /// # #[cfg(feature = "azure")]
    /// # fn main() -> table_runtime::Result<()> {
    /// use std::time::Duration;
    ///
    /// use table_runtime::{
    ///     TableEntity, Tables,
    ///     backend::{AzureBackend, SasPermissions},
    /// };
    ///
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key]
    ///     number: u32,
    /// }
    ///
    /// let tables = Tables::connect("AccountName=myaccount;AccountKey=c2VjcmV0")?;
    /// let sas = Post::by_key("acme").sas(&tables, SasPermissions::READ, Duration::from_mins(15))?;
    ///
    /// // In the program of the tenant:
    /// let backend = AzureBackend::builder("myaccount").sas(sas.token()).build()?;
    /// let posts = Post::by_key("acme").stream(&Tables::new(backend));
    /// # Ok(()) }
    /// # #[cfg(not(feature = "azure"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Query`] for a query that is not a whole partition or table, such as one of an index or of several
    /// partitions, and [`Error::Configuration`] if the store has no signatures, or the handle has a credential that cannot
    /// sign: a token of Microsoft Entra ID or another signature.
    pub fn sas(&self, tables: &Tables, permissions: SasPermissions, lifetime: Duration) -> Result<Sas> {
        let partition_key = self.plan.granted(A::REACHED)?;
        let store = tables.backend().describe();
        let Some(service) = store.service else {
            return Err(Error::Configuration("this store has no shared access signatures".to_owned()));
        };
        let table = tables.backend().table_name(self.plan.table())?;
        let ticks = u64::try_from(lifetime.as_nanos().div_ceil(100)).unwrap_or(u64::MAX);
        let expires = Ticks::new(store.clock.wall().get().saturating_add(ticks));
        let Some(expires) = expires.filter(|_| !lifetime.is_zero()) else {
            return Err(Error::Configuration(
                "a signature's life must be longer than 0 and end before 10000".to_owned(),
            ));
        };
        service.sign(&Grant { table: &table, partition_key, permissions, expires })
    }
}
