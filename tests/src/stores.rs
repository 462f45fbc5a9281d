//! The backends that the conformance suite runs on.

use anyhow::{Context, Result};
use table_runtime::{
    Tables, Ticks,
    backend::{AzureBackend, Backend, EmbeddedBackend, InMemoryBackend},
};

use crate::{
    azurite,
    isolated::Isolated,
    plain::Plain,
    probed::{Probe, Probed},
};

/// A kind of backend.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "they say themselves")]
pub enum Kind {
    Plain,
    Memory,
    Disk,
    Azurite,
    Live,
}

/// A store for one test, with tables of its own.
#[derive(Debug)]
pub struct Store {
    /// The store, as users have it.
    pub tables: Tables,
    /// The same store, below its types: for rows that others wrote.
    pub backend: Isolated,
    /// What is known of its requests.
    pub probe: Probe,
    /// The file's folder, which goes with it.
    _folder: Option<tempfile::TempDir>,
}

impl Kind {
    /// Why this kind is not tested here, if it is not.
    pub fn off(self) -> Option<&'static str> {
        match self {
            Self::Azurite if azurite::is_off() => Some("behaviour on Azurite, since TABLE_TESTS_AZURITE=off"),
            Self::Live if azurite::live().is_none() => {
                Some("behaviour on a live account, since AZURE_TABLES_CONNECTION_STRING is not set")
            }
            _ => None,
        }
    }

    /// A store of this kind.
    ///
    /// # Errors
    /// It is [`off`](Self::off), or cannot be started, for instance since there is no Node for Azurite.
    pub fn open(self) -> Result<Store> {
        Ok(match self {
            Self::Plain => Store::new(Plain::since(Ticks::now()), None),
            Self::Memory => Store::new(InMemoryBackend::new()?, None),
            Self::Disk => {
                let folder = tempfile::tempdir()?;
                Store::new(EmbeddedBackend::open(folder.path().join("test.tables"))?, Some(folder))
            }
            Self::Azurite => {
                let connection_string = azurite::shared()?.context("Azurite is off")?;
                Store::new(AzureBackend::connect(&connection_string)?, None)
            }
            Self::Live => {
                let connection_string = azurite::live().context("AZURE_TABLES_CONNECTION_STRING is not set")?;
                let live = AzureBackend::connect(&connection_string).context("AZURE_TABLES_CONNECTION_STRING")?;
                Store::new(live, None)
            }
        })
    }
}

impl Store {
    fn new(backend: impl Backend, folder: Option<tempfile::TempDir>) -> Self {
        let backend = Isolated::new(backend);
        let (probed, probe) = Probed::new(backend.clone());
        Self { tables: Tables::new(probed), backend, probe, _folder: folder }
    }

    /// Deletes the test's tables, so that a live account is left as it was.
    ///
    /// # Errors
    /// What the store says.
    pub async fn clean(&self) -> table_runtime::Result<()> {
        for table in self.backend.list_tables("").await? {
            self.backend.delete_table(&table).await?;
        }
        Ok(())
    }
}
