//! The state of a store, for the health check of a program.

use std::time::{Duration, Instant};

use table_model::TableEntity;
use table_store::{
    Error, Result,
    backend::{Backend as _, BackendExt as _, RemoteService, Replication},
    unstable::observe::{ObservedOperation, observed},
};

use crate::client::{
    stored,
    tables::{FORMAT, Head, Tables},
};

/// The state of a store, as [`Tables::health`] found it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Health {
    /// True if the store answered. A token source that fails counts as a store that did not answer.
    pub reachable: bool,
    /// True if the store accepted the credential for a read of the catalog; `None` if the answer does not show it, such as
    /// that of an overloaded service. A shared access signature that does not include `TableLayouts` is not accepted.
    pub authorized: Option<bool>,
    /// Time that the read took, with its repetitions.
    pub round_trip: Duration,
    /// Version of the format of the catalog, `TableLayouts`; `None` if there is no catalog, or it could not be read.
    pub catalog: Option<i32>,
    /// Number of milliseconds by which the clock of the service is ahead of this host's, as far as the `Date` of its answers
    /// shows, which has whole seconds; 0 as long as the two may be equal, negative if it is behind. `None` for an embedded
    /// store, and before the first answer. The service refuses
    /// requests that a host signs with an account key if its clock is wrong by more than 15 minutes.
    pub clock_difference: Option<i64>,
    /// State of the secondary region; `None` if the store has none, or its address is not known. It is an error if the
    /// secondary region did not answer, for instance because the account has none that can be read.
    pub secondary: Option<Result<Replication>>,
    /// The error of the read of the catalog.
    pub problem: Option<Error>,
}

impl Health {
    /// Returns true if the store can be used: it answers, accepts the credential, and no newer version of this crate has
    /// written the catalog. The clock and the secondary region do not count.
    pub fn is_healthy(&self) -> bool {
        self.problem.is_none()
    }
}

impl Tables {
    /// Checks whether the store answers and accepts the credential, with a read of one row of the catalog. If the store has a
    /// secondary region, asks that one how far it has copied the primary one, with one more request. Takes as long as a
    /// read that is repeated, if the store does not answer: see `AzureBuilder::max_retry_time`.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use table_runtime::Tables;
    ///
    /// let health = Tables::in_memory()?.health().await;
    /// assert!(health.is_healthy() && health.reachable);
    /// assert_eq!(health.catalog, None); // nothing was created yet
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn health(&self) -> Health {
        let operation =
            || ObservedOperation { verb: "health", entity: "", table: &Head::INFO.layouts[0].table, cost: None };
        let began = Instant::now();
        let read = observed(self.begin_operation(operation), self.catalog_format()).await;
        let round_trip = began.elapsed();
        let service = self.backend().describe().service;
        let secondary = match service {
            Some(service) => service.replication().await.transpose(),
            None => None,
        };
        let (catalog, problem) = match read {
            Ok(format) => (format, None),
            Err(error) => (None, Some(error)),
        };
        // Any other error is that of an answer.
        let reachable = !matches!(
            problem,
            Some(Error::NoAnswer { .. } | Error::Store(_) | Error::Limit(_) | Error::Configuration(_))
        );
        let authorized = match &problem {
            Some(Error::Service(error)) => matches!(error.status, 401 | 403).then_some(false),
            _ => reachable.then_some(true),
        };
        Health {
            reachable,
            authorized,
            round_trip,
            catalog,
            clock_difference: service.and_then(RemoteService::clock_difference),
            secondary,
            problem,
        }
    }

    /// Reads the version of the catalog's format; `None` if there is no catalog.
    async fn catalog_format(&self) -> Result<Option<i32>> {
        let (table, keys) = (&*Head::INFO.layouts[0].table, Head::keys_of());
        let head = match self.backend().get(table, &keys.partition_key, &keys.row_key, None).await {
            Err(Error::TableNotFound(_)) | Ok(None) => return Ok(None),
            head => head?,
        };
        let Some(head) = head else { return Ok(None) };
        let found = stored::read::<Head>(table, head.as_ref())?.format;
        if found > FORMAT { Err(Error::NewerCatalog { found, known: FORMAT }) } else { Ok(Some(found)) }
    }
}
