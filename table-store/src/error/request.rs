//! The request that an error belongs to.

use std::{fmt, ops::Deref};

use crate::{Error, RowId};

/// Identifiers of a request to the service, by which its logs and Microsoft's support find the request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestIds {
    /// The identifier that the client has given the request, in `x-ms-client-request-id`. Each attempt has its own.
    pub client: String,
    /// The identifier that the service has given it, in the `x-ms-request-id` of its answer; `None` if there was no
    /// answer.
    pub service: Option<String>,
}

impl RequestIds {
    /// Returns the identifiers of a request, for the error of a backend.
    pub fn new(client: impl Into<String>, service: Option<String>) -> Self {
        Self { client: client.into(), service }
    }
}

/// A row or a table that a store has refused to read or to write, with the [identifiers](RequestIds) of the request. It
/// derefs to the [`RowId`] or the table's name.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused<T>(Box<RefusedOf<T>>);

#[derive(Clone, PartialEq, Eq)]
struct RefusedOf<T> {
    subject: T,
    request: Option<RequestIds>,
    in_bin: bool,
}

impl<T> Refused<T> {
    /// Returns the subject of a request that the service has refused.
    pub fn new(subject: T, request: impl Into<Option<RequestIds>>) -> Self {
        Self(Box::new(RefusedOf { subject, request: request.into(), in_bin: false }))
    }

    /// Returns the row, or the table's name, by value.
    pub fn into_inner(self) -> T {
        self.0.subject
    }

    /// Returns the identifiers of the request; `None` if no request to the service was refused.
    pub fn request(&self) -> Option<&RequestIds> {
        self.0.request.as_ref()
    }

    /// Checks whether the row that an insert found is that of an entity in the bin: `#[table(soft_delete = …)]`. Readers do
    /// not see it; `restore` or `remove` it.
    pub fn is_in_bin(&self) -> bool {
        self.0.in_bin
    }

    /// Says whether the row is that of an entity in the bin.
    #[doc(hidden)]
    #[must_use]
    pub fn in_bin(mut self, in_bin: bool) -> Self {
        self.0.in_bin = in_bin;
        self
    }
}

impl<T> Deref for Refused<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.subject
    }
}

impl<T: fmt::Display> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.subject.fmt(f)
    }
}

/// Formats the subject, and the identifiers if there are any.
impl<T: fmt::Debug> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            RefusedOf { subject, request: None, in_bin: false } => subject.fmt(f),
            RefusedOf { subject, request, in_bin } => f
                .debug_struct("Refused")
                .field("subject", subject)
                .field("request", request)
                .field("in_bin", in_bin)
                .finish(),
        }
    }
}

impl From<RowId> for Refused<RowId> {
    fn from(row: RowId) -> Self {
        Self::new(row, None)
    }
}

impl From<String> for Refused<String> {
    fn from(table: String) -> Self {
        Self::new(table, None)
    }
}

impl From<&str> for Refused<String> {
    fn from(table: &str) -> Self {
        table.to_owned().into()
    }
}

impl PartialEq<str> for Refused<String> {
    fn eq(&self, table: &str) -> bool {
        **self == *table
    }
}

impl PartialEq<&str> for Refused<String> {
    fn eq(&self, table: &&str) -> bool {
        **self == **table
    }
}

impl PartialEq<String> for Refused<String> {
    fn eq(&self, table: &String) -> bool {
        **self == *table
    }
}

impl Error {
    /// Returns the identifier that the service has given the request, in `x-ms-request-id`. Microsoft's support asks for
    /// it. `None` if the service did not answer, and for errors that are not those of one request to the service.
    ///
    /// Of [`Error::Bulk`], it is that of the first failure. Messages do not contain it, so that equal errors have equal
    /// messages: log it beside them.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32 }
    /// async fn save(tables: &Tables, post: &Post) -> Result<()> {
    ///     tables.upsert(post).await.map(drop).inspect_err(|error| {
    ///         let (service, client) = (error.request_id(), error.client_request_id());
    ///         eprintln!("{error} (request {service:?}, {client:?})");
    ///     })
    /// }
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        self.request()?.service.as_deref()
    }

    /// Returns the identifier that the client has given the request, in `x-ms-client-request-id`. The service's logs have
    /// it, also if its answer was lost. Each attempt has its own; an error has that of the last one. `None` as for
    /// [`request_id`](Self::request_id).
    pub fn client_request_id(&self) -> Option<&str> {
        self.request().map(|request| request.client.as_str())
    }

    fn request(&self) -> Option<&RequestIds> {
        match self {
            Self::AlreadyExists(row) | Self::NotFound(row) | Self::ConditionNotMet(row) => row.request(),
            Self::TableNotFound(table) | Self::TableBeingDeleted(table) => table.request(),
            Self::OutcomeUnknown(error) => error.request.as_ref(),
            Self::Service(error) => error.request.as_ref(),
            Self::NoAnswer { request, .. } => request.as_deref(),
            Self::Bulk(error) => error.first().request(),
            _ => None,
        }
    }
}
