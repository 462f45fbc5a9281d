//! Handle to the tables of one store.

mod lease;
mod record;
mod states;

use std::{fmt, sync::Arc, time::Duration};

use self::lease::Leases;
pub(crate) use self::{
    lease::Lease,
    record::{FORMAT, Facts, Head, KEY, LayoutId, Place, Record, State},
    states::CatalogPage,
};
use crate::backend::Backend;

/// The tables of one store: an account of Azure Table storage, or an embedded store.
///
/// A clone is cheap, and one handle is enough for a program.
///
/// ```
/// use table_runtime::{TableEntity, Tables};
///
/// #[derive(TableEntity, Debug, PartialEq)]
/// struct Greeting {
///     #[partition_key]
///     language: String,
///     #[row_key]
///     number: u32,
///     text: String,
/// }
///
/// # futures::executor::block_on(async {
/// let tables = Tables::in_memory()?;
/// tables.create::<Greeting>().await?;
/// let greeting = Greeting { language: "de".into(), number: 1, text: "Guten Tag".into() };
/// tables.insert(&greeting).await?;
///
/// let stored = Greeting::key("de", 1).get(&tables).await?;
/// assert_eq!(stored.as_deref(), Some(&greeting));
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Tables {
    backend: Arc<dyn Backend>,
    /// States of layouts that were read from the catalog.
    leases: Arc<Leases>,
}

impl Tables {
    /// Creates a handle to the tables of this backend.
    pub fn new(backend: impl Backend) -> Self {
        Self { backend: Arc::new(backend), leases: Arc::default() }
    }

    /// Opens the embedded store in this file, and creates the file if it is missing.
    ///
    /// Dropping the last clone waits until all queued writes are done and the file is closed.
    ///
    /// # Errors
    /// Returns [`Error::InUse`](crate::Error::InUse) if this or another process has the file open, and
    /// [`Error::Store`](crate::Error::Store) if the file cannot be opened or is not a store.
    ///
    /// After an I/O error, such as a full disk, every write returns [`Error::Store`](crate::Error::Store) until the
    /// store is opened again: drop every clone, free disk space, and open the store. If the storage engine panicked
    /// because of a damaged file, reads return this error too.
    #[cfg(feature = "embedded")]
    pub fn open(path: impl AsRef<std::path::Path>) -> crate::Result<Self> {
        crate::backend::EmbeddedBackend::open(path).map(Self::new)
    }

    /// Creates an embedded store in memory, which is deleted with its last clone.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if its thread cannot be started.
    #[cfg(feature = "embedded")]
    pub fn in_memory() -> crate::Result<Self> {
        crate::backend::InMemoryBackend::new().map(Self::new)
    }

    /// Creates a handle to the account of a connection string with an account key or a shared access signature. The
    /// account may belong to Azure Table storage, Cosmos DB's Table API or Azurite (`UseDevelopmentStorage=true`).
    ///
    /// Cosmos DB does not keep rows in the order of their keys. Points, counts and whole partitions work as usual
    /// there, but `take`, `first`, `page` and streams return rows in no order, and a cursor may repeat or skip rows.
    ///
    /// This function sends no request. For a token credential, and for timeouts and retries, see
    /// [`AzureBackend::builder`](crate::backend::AzureBackend::builder).
    ///
    /// # Errors
    /// Returns [`Error::Configuration`](crate::Error::Configuration), which names what is missing and quotes no secret.
    #[cfg(feature = "azure")]
    pub fn connect(connection_string: &str) -> crate::Result<Self> {
        crate::backend::AzureBackend::connect(connection_string).map(Self::new)
    }

    /// Returns a handle whose leases have this length. The default is 60 seconds.
    ///
    /// A handle reads from the catalog whether an index is ready, and relies on that for the length of a lease. Before an
    /// index is dropped, or is taken back to a state in which it has to be built, and before a migration ends, the
    /// program that does it therefore waits for the length of a lease and a tenth of it. All programs of one store must
    /// have the same length. A shorter one makes tests and tools wait less, and costs a request more often.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use table_runtime::Tables;
    ///
    /// let tables = Tables::in_memory()?.with_lease(Duration::from_millis(100));
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    #[must_use]
    pub fn with_lease(self, length: Duration) -> Self {
        Self { backend: self.backend, leases: Arc::new(Leases::new(length)) }
    }

    /// Returns the backend.
    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Returns the leases that the handle holds.
    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tables").field(&self.backend).finish()
    }
}
