//! The tables of one store.

mod ready;
mod record;

use std::{fmt, sync::Arc};

use self::ready::ReadyIndexes;
pub(crate) use self::{
    ready::{LayoutId, State},
    record::Record,
};
use crate::{Result, backend::Backend};

/// The tables of one store: an account of Azure Table storage, or an embedded store.
///
/// It is cheap to clone, and one is enough for a program.
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
    /// The indexes that are known to be ready.
    ready: Arc<ReadyIndexes>,
}

impl Tables {
    /// The tables of this backend.
    pub fn new(backend: impl Backend) -> Self {
        Self { backend: Arc::new(backend), ready: Arc::default() }
    }

    /// The embedded store in this file, which is made if it is missing.
    ///
    /// Dropping the last clone waits until what is queued is written and the file is closed.
    ///
    /// # Errors
    /// [`Error::InUse`](crate::Error::InUse) if another process, or this one, has it open;
    /// [`Error::Store`](crate::Error::Store) if it cannot be opened or is no store.
    ///
    /// After an I/O error, as on a full disk, every write is [`Error::Store`](crate::Error::Store) until the store is
    /// opened again: drop every clone, make room, and open it. So it is after the engine below panicked at a damaged file,
    /// for reads too.
    #[cfg(feature = "embedded")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        crate::backend::EmbeddedBackend::open(path).map(Self::new)
    }

    /// An embedded store in memory, gone with its last clone.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) if its thread cannot be started.
    #[cfg(feature = "embedded")]
    pub fn in_memory() -> Result<Self> {
        crate::backend::InMemoryBackend::new().map(Self::new)
    }

    /// The account of a connection string: with an account key or a shared access signature, of Azure Table storage,
    /// Cosmos DB's Table API or Azurite (`UseDevelopmentStorage=true`).
    ///
    /// Cosmos DB does not keep rows in the order of their keys: there, points, counts and whole partitions are what they
    /// are, but `take`, `first`, `page` and streams give rows in no order, and a cursor may repeat or pass over rows.
    ///
    /// Nothing is sent yet. For a token credential, and for timeouts and retries, see
    /// [`AzureBackend::builder`](crate::backend::AzureBackend::builder).
    ///
    /// # Errors
    /// [`Error::Configuration`](crate::Error::Configuration), which names what is missing and quotes no secret.
    #[cfg(feature = "azure")]
    pub fn connect(connection_string: &str) -> Result<Self> {
        crate::backend::AzureBackend::connect(connection_string).map(Self::new)
    }

    /// The backend beneath.
    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The indexes that are known to be ready.
    pub(crate) fn ready(&self) -> &ReadyIndexes {
        &self.ready
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tables").field(&self.backend).finish()
    }
}
