//! The backends that the conformance suite runs on.

use std::sync::Arc;

use anyhow::{Context, Result};
use table_runtime::{
    Tables, Ticks,
    backend::{
        Action, AzureBackend, Backend, BackendExt, EmbeddedBackend, Group, InMemoryBackend, KeyRange, Operation,
        Partitions, Reach, Scan,
    },
    row::{Row, RowRef},
};

use crate::{azurite, isolated::Isolated, plain::Plain, probed::Probe};

/// A kind of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Kind {
    Plain,
    Memory,
    Disk,
    Azurite,
    /// Azurite, through a pipeline of the Azure SDK.
    Sdk,
    Live,
}

/// Returns all rows of a table, as they are stored.
///
/// # Errors
/// The errors of the store.
pub async fn rows(backend: &impl Backend, table: &str) -> table_runtime::Result<Vec<Row>> {
    let (partitions, rows) = (Partitions::ALL, KeyRange::ALL);
    let scan = Scan { table: table.to_owned().into(), partitions, rows, filter: None, select: None, page: 1000 };
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let page = backend.query(&scan, from.as_ref()).await?;
        found.extend(page.rows.iter().map(RowRef::to_row));
        from = page.next;
        if from.is_none() {
            return Ok(found);
        }
    }
}

/// A store for one test, with tables of its own.
#[derive(Debug)]
pub struct Store {
    /// The kind.
    pub kind: Kind,
    /// The store, as users have it.
    pub tables: Tables,
    /// The same store without types, for rows that another program wrote.
    pub backend: Isolated,
    /// The same store with the tables of other tests.
    pub shared: Arc<dyn Backend>,
    /// The counts and faults of the requests of `tables`.
    pub probe: Probe,
    /// The folder of the file, which is deleted with the store.
    _folder: Option<tempfile::TempDir>,
}

impl Kind {
    /// All kinds of stores.
    pub const ALL: [Self; 6] = [Self::Plain, Self::Memory, Self::Disk, Self::Azurite, Self::Sdk, Self::Live];

    /// Checks whether the store is Azurite.
    pub fn is_azurite(self) -> bool {
        matches!(self, Self::Azurite | Self::Sdk)
    }

    /// Checks whether requests go over the network.
    pub fn is_service(self) -> bool {
        self.is_azurite() || self == Self::Live
    }

    /// Returns the reason why this kind is not tested here, if it is not.
    pub fn off(self) -> Option<&'static str> {
        match self {
            Self::Azurite if azurite::is_off() => Some("behaviour on Azurite, since TABLE_TESTS_AZURITE=off"),
            Self::Sdk if azurite::is_off() => Some("the Azure SDK's transport, since TABLE_TESTS_AZURITE=off"),
            Self::Live if azurite::live().is_none() => {
                Some("behaviour on a live account, since AZURE_TABLES_CONNECTION_STRING is not set")
            }
            _ => None,
        }
    }

    /// Opens a store of this kind.
    ///
    /// # Errors
    /// The kind is [`off`](Self::off), or the store cannot be started, for instance without Node for Azurite.
    pub fn open(self) -> Result<Store> {
        Ok(match self {
            Self::Plain => Store::plain(Reach::Partition),
            Self::Memory => Store::new(self, InMemoryBackend::new()?, None),
            Self::Disk => {
                let folder = tempfile::tempdir()?;
                Store::new(self, EmbeddedBackend::open(folder.path().join("test.tables"))?, Some(folder))
            }
            Self::Azurite => Store::on_azurite(&azurite::shared()?.context("Azurite is off")?)?,
            Self::Sdk => {
                let connection_string = azurite::shared()?.context("Azurite is off")?;
                Store::new(self, azurite::through_sdk(&connection_string)?, None)
            }
            Self::Live => {
                let connection_string = azurite::live().context("AZURE_TABLES_CONNECTION_STRING is not set")?;
                let live = AzureBackend::connect(&connection_string).context("AZURE_TABLES_CONNECTION_STRING")?;
                Store::new(self, live, None)
            }
        })
    }
}

impl Store {
    /// Returns a plain store whose transactions have this reach.
    pub fn plain(reach: Reach) -> Self {
        Self::new(Kind::Plain, Plain::since(Ticks::now()).with_reach(reach), None)
    }

    /// Returns a store on this Azurite, which other programs of the test use too.
    ///
    /// # Errors
    /// The connection string is wrong.
    pub fn on_azurite(connection_string: &str) -> Result<Self> {
        Ok(Self::new(Kind::Azurite, AzureBackend::connect(connection_string)?, None))
    }

    fn new(kind: Kind, backend: impl Backend, folder: Option<tempfile::TempDir>) -> Self {
        let shared: Arc<dyn Backend> = Arc::new(backend);
        let backend = Isolated::new(Arc::clone(&shared));
        let (probed, probe) = Probe::new(backend.clone());
        Self { kind, tables: Tables::new(probed), backend, shared, probe, _folder: folder }
    }

    /// Checks whether an entity and its index rows in other partitions are written in one transaction.
    pub fn spans_partitions(&self) -> bool {
        self.backend.describe().reach == Reach::Store
    }

    /// Returns the store as another program has it, which has read nothing yet.
    pub fn again(&self) -> Tables {
        Tables::new(self.backend.clone())
    }

    /// Returns all rows of a table, as they are stored.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn rows(&self, table: &str) -> table_runtime::Result<Vec<Row>> {
        rows(&self.backend, table).await
    }

    /// Writes a row without types.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn write(&self, table: &str, keys: (&str, &str), action: Action) -> table_runtime::Result<()> {
        let operations = vec![Operation { row_key: keys.1.to_owned(), action }];
        let group = Group { table: table.to_owned().into(), partition_key: keys.0.to_owned(), operations };
        self.backend.execute_group(&group).await.map(drop)
    }

    /// Deletes the test's tables, so that a live account is left as it was.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn clean(&self) -> table_runtime::Result<()> {
        for table in self.backend.list_tables("").await? {
            self.backend.delete_table(&table).await?;
        }
        Ok(())
    }
}
