//! Azure Table storage, Azurite and Cosmos DB's Table API.
//!
//! Programs use the crate `table-runtime`, which exports what is public here in its module `backend`.
//!
//! This backend writes the requests on rows and tables, and reads the answers. A `Transport` signs and sends them: the
//! client's own one (`own`), or that of the Azure SDK (`sdk`, with the feature `azure_data_tables`). Both send through
//! one HTTP client (`client`).
//!
//! Two files work around defects of Azurite. It damages characters outside ASCII (`entity`), applies some transactions to
//! other rows, and measures the JSON of a row (`azurite`).

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use reqwest::{
    Method, Url,
    header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue},
};
use table_store::{
    ETag, Result, Row, RowId, ValueRef,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, Grant, Group, IfMatch, Operation, Page, ReadRequest,
        ReadTarget, Reader, RemoteService, Replication, Sas, Scan, StoreView, TableRequest, Written,
    },
    unstable::{ScanProgress, client::TOKEN_REPEATED, observe, order},
};
use tracing::{Instrument, Span, debug, debug_span, field, field::Empty, warn};

use self::{
    batch::Batch,
    clock::ServiceClock,
    credential::Credential,
    endpoint::Endpoint,
    failure::{Found, Problem, RequestFailure, absent},
    headers::DATA_SERVICE_VERSION,
    http::{HttpAnswer, HttpRequest, Transport},
    operation::Address,
    retry::{Repeat, Retry},
    secondary::{Region, Secondary},
};

mod azurite;
mod batch;
mod builder;
mod client;
mod clock;
mod connection_string;
mod credential;
mod endpoint;
mod entity;
mod failure;
mod headers;
mod http;
#[cfg(feature = "metrics")]
mod metrics;
mod operation;
mod own;
mod retry;
mod sas;
#[cfg(feature = "azure_data_tables")]
pub mod sdk;
mod secondary;
mod token;

pub use builder::AzureBuilder;
pub use token::AccessToken;

/// Azure Table storage, its emulator Azurite, or Cosmos DB's Table API. Requires a tokio runtime.
///
/// # Cosmos DB
/// Cosmos DB does not keep rows in the order of their keys. There, `take`, `first`, `page` and streams return rows in
/// no particular order, and a cursor may repeat or skip rows. Cosmos DB accepts row keys of up to 255 bytes and
/// transactions of up to 2 MB, and refuses larger ones.
///
/// # Azurite
/// An endpoint with the account in its path is treated as Azurite. The parser of transactions in Azurite misreads some
/// keys: it would write another row and report success. This backend therefore refuses a transaction that updates,
/// merges, upserts or deletes such a row with [`Error::Limit`](table_store::Error::Limit), before anything is sent. The
/// affected keys are a row key that begins with `,` or contains `',`, a partition key that contains `RowKey='`, and, in
/// a delete, a key that contains a line separator (U+2028 or U+2029). Entities with a `same_partition` index are
/// written in transactions, so the indexed text `Rock 'n', roll` is refused on Azurite. Inserts and writes of a single
/// row are not affected.
///
/// # Retries
/// A read is repeated after every failure that may be temporary: no connection, a lost answer, or one of the statuses
/// 408, 429, 500, 502, 503 and 504. A write is repeated only if it was certainly not applied: no connection, 429, or
/// 503 `ServerBusy`. A write whose answer was lost is [`Error::OutcomeUnknown`](table_store::Error::OutcomeUnknown). The
/// creation of a table is repeated like a read. If the answer of the attempt that created the table is lost, the next
/// attempt finds the table, and `create_table` returns `false`.
///
/// A request that the service has refused with 403 because of the time at which it was signed is sent again, signed by the
/// service's clock, which its answers show.
///
/// The delays begin at 100 ms, and double up to 10 seconds. If the answer has a `Retry-After`, in seconds or as
/// a time, or an `x-ms-retry-after-ms`, the delay is at least as long. A request is not repeated after
/// [`max_retry_time`](AzureBuilder::max_retry_time): if the service asks for a longer delay, the error is returned at
/// once. Bulk writes also have fewer transactions in flight on an overloaded service (`Bulk::side_by_side`).
///
/// # Answers
/// Gateways, caches and the login pages of networks may answer in place of the service.
/// `docs/service-answers.md` has a table of what becomes of each answer. One with a status below 400 that the service does not
/// give to the request is an [`Error::Service`](table_store::Error::Service) of a read, and
/// [`Error::OutcomeUnknown`](table_store::Error::OutcomeUnknown) of a write.
///
/// A value in a form that the service itself does not write is read if its meaning is clear, such as a time with an
/// offset. Any other such value, for example a text with half a character, is an
/// [`Error::Property`](table_store::Error::Property) if a field reads it, and is ignored otherwise. An answer of more
/// than 64 MiB is an error; a read returns [`Error::Service`](table_store::Error::Service). The service's own pages are
/// smaller. With Azurite, `take` and `page` can request fewer rows.
///
/// # Connections
/// Requests go over HTTP/1.1 and TLS 1.2 or 1.3, with `rustls` and `ring`. The root certificates are those of the
/// operating system, as `rustls-native-certs` finds them: on Linux the files that OpenSSL uses, or those that
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name. If there are none, as in a container without the package `ca-certificates`,
/// they are Mozilla's, which are compiled in. If certificates were to be found and could not be read, an event at the level
/// `warn` says so. Other certificates are settings of your own [`http_client`](AzureBuilder::http_client).
///
/// # Proxies
/// Requests go through the proxy that the environment names, as with most programs: `HTTPS_PROXY` for `https` endpoints,
/// `HTTP_PROXY` for `http` ones, `ALL_PROXY` for both, also in lower case. `NO_PROXY` lists the hosts that need none, with commas
/// between them: names, addresses such as `127.0.0.1`, and networks such as `10.0.0.0/8`. An Azurite on the same machine needs `NO_PROXY=127.0.0.1` where `HTTP_PROXY` is set. An
/// `http_client` of your own can have another proxy, or none.
///
/// # Identifiers of requests
/// Each request has an `x-ms-client-request-id` of its own, also if it repeats another one. Errors have it, and the
/// `x-ms-request-id` of the answer: [`Error::client_request_id`](table_store::Error::client_request_id),
/// [`Error::request_id`](table_store::Error::request_id).
///
/// # Traces
/// Each attempt is a `tracing` event at `debug` level with the table, the operation, the attempt, the status, the
/// identifiers and the duration. The span `table request` around the attempts has the identifiers of the last one. An
/// event never contains a value, a key, an address or a secret.
///
/// # Metrics
/// With the feature `metrics`, each attempt is recorded with the crate [`metrics`](https://docs.rs/metrics), for whatever
/// recorder the program installs. A request that is sent again with another token, after a 401, belongs to the same attempt.
/// All metrics have the label `operation`, such as `get`, `query`, `insert` or `transaction`:
///
/// | metric | content |
/// |---|---|
/// | `azure_tables_requests_total` | attempts; also with the label `status`: the HTTP status, or `none` without an answer |
/// | `azure_tables_retries_total` | attempts after the first one of a request |
/// | `azure_tables_throttled_total` | answers that showed an overload: 429, 503, or a timeout of the service |
/// | `azure_tables_sent_bytes_total` | bytes of the bodies of requests |
/// | `azure_tables_received_bytes_total` | bytes of the bodies of successful answers |
/// | `azure_tables_request_duration_seconds` | histogram of the duration of an attempt |
#[derive(Clone)]
pub struct AzureBackend {
    endpoint: Endpoint,
    /// The secondary region, if its address is known.
    secondary: Option<Arc<Secondary>>,
    /// The secondary region, if reads may be sent to it.
    fallback: Option<Arc<Secondary>>,
    credential: Credential,
    transport: Arc<dyn Transport>,
    retry: Retry,
    /// Time after which an answer is slow.
    slow_after: Duration,
    /// Number of answers that showed an overload. Clones share it.
    overloads: Arc<AtomicU64>,
    /// Clock of the service. Clones share it.
    clock: Arc<ServiceClock>,
}

/// Formats the address, the kind of credential and the limits of retries, without secrets.
impl fmt::Debug for AzureBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureBackend")
            .field("endpoint", &self.endpoint)
            .field("fallback", &self.fallback.as_ref().map(|secondary| &secondary.endpoint))
            .field("credential", &self.credential)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Target of spans and events. It begins with the name of the crate that programs use and filter for.
const TARGET: &str = "table_runtime::backend::azure";

const CONTINUATION_PARTITION: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
const CONTINUATION_ROW: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
const CONTINUATION_TABLE: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

/// A request that may be sent several times.
struct Call<'a> {
    table: &'a str,
    operation: &'static str,
    request: HttpRequest,
    /// The statuses with which the service answers that it has done what was requested.
    success: &'static [u16],
}

impl AzureBackend {
    /// Creates a backend from a connection string, as the portal shows it. Sends nothing yet.
    ///
    /// The string needs `AccountName` and `AccountKey`, or `SharedAccessSignature` and `TableEndpoint`, or
    /// `UseDevelopmentStorage=true` for Azurite on this machine. The default address is
    /// `https://{account}.table.core.windows.net`; `TableEndpoint`, or `DefaultEndpointsProtocol` and `EndpointSuffix`,
    /// set another one. The string, and each value, may be in quotes or apostrophes.
    pub fn connect(connection_string: &str) -> Result<Self> {
        AzureBuilder::from_connection_string(connection_string)?.build()
    }

    /// Returns a builder of a backend for this account.
    pub fn builder(account: impl Into<String>) -> AzureBuilder {
        AzureBuilder::new(account.into())
    }

    /// Sends a request, repeats it as `repeat` allows, and reads its answer with `read`.
    async fn send<T>(
        &self,
        repeat: Repeat,
        call: &Call<'_>,
        read: impl Fn(HttpAnswer) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        self.send_with(self.retry, repeat, call, read).await
    }

    /// Sends a read to the primary region and, if it fails there and reads may be sent to the secondary region, to that
    /// one. Returns the answer with its region. A read that continues another one is sent to the region of that one.
    async fn answer<'a>(
        &self,
        from: Option<Region>,
        call: impl Fn(&Endpoint) -> Result<Call<'a>, RequestFailure>,
    ) -> Result<(HttpAnswer, Region), RequestFailure> {
        let Some(secondary) = &self.fallback else {
            return self
                .send(Repeat::Harmless, &call(&self.endpoint)?, Ok)
                .await
                .map(|answer| (answer, Region::Primary));
        };
        let failure = if from == Some(Region::Secondary) {
            None
        } else {
            let retry = if from.is_none() { secondary.retry(self.retry) } else { self.retry };
            let call = call(&self.endpoint)?;
            match self.send_with(retry, Repeat::Harmless, &call, Ok).await {
                Err(failure) if failure.is_outage() && from.is_none() => {
                    let (table, operation, reason) = (call.table, call.operation, field::display(&failure));
                    warn!(
                        target: TARGET,
                        table,
                        operation,
                        reason,
                        "the primary region failed, so the secondary region is read"
                    );
                    secondary.note(true);
                    Some(failure)
                }
                answer => {
                    secondary.note(answer.as_ref().is_err_and(RequestFailure::is_outage));
                    return answer.map(|answer| (answer, Region::Primary));
                }
            }
        };
        match self.send(Repeat::Harmless, &call(&secondary.endpoint)?, Ok).await {
            Ok(answer) => Ok((answer, Region::Secondary)),
            // The row or the table is missing in the secondary region, which is an answer.
            Err(failure) if failure.status() == Some(404) => Err(failure),
            // The account may have no secondary region that can be read.
            Err(other) => Err(failure.unwrap_or(other)),
        }
    }

    /// Sends a request with these retries, and traces each attempt.
    async fn send_with<T>(
        &self,
        retry: Retry,
        repeat: Repeat,
        call: &Call<'_>,
        read: impl Fn(HttpAnswer) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let (table, operation, read) = (call.table, call.operation, &read);
        let attempts = retry.run(repeat, |number| async move {
            if number > 1 {
                observe::retry();
            }
            let begin = Instant::now();
            let sent = self.transport.send(call.attempt()?).await;
            let duration = begin.elapsed();
            #[cfg(feature = "metrics")]
            let received = sent.as_ref().map_or(0, |answer| answer.body.len());
            // The answer to a transaction may be a refusal although its status is a success.
            let (answer, request) = match sent {
                Ok(answer) => {
                    let (status, request) = (answer.status, answer.request.clone());
                    (call.checked(answer).and_then(read).map(|answer| (status, answer)), Some(request))
                }
                Err(failure) => (Err(failure), None),
            };
            let is_slow = !MAY_TAKE_LONG.contains(&operation) && duration >= self.slow_after;
            let is_throttled = answer.as_ref().is_err_and(RequestFailure::is_overload);
            if is_slow || is_throttled {
                self.overloads.fetch_add(1, Ordering::Relaxed);
            }
            let (status, request) = match &answer {
                Ok((status, _)) => (Some(*status), request.as_ref()),
                Err(failure) => (failure.status(), failure.request.as_ref()),
            };
            #[cfg(feature = "metrics")]
            metrics::Attempt {
                operation,
                status,
                number,
                is_throttled,
                sent: call.request.body.len(),
                received,
                duration,
            }
            .record();
            let failure = answer.as_ref().err().map(field::display);
            let request_id = request.and_then(|request| request.service.as_deref());
            let client_request_id = request.map(|request| request.client.as_str());
            debug!(
                target: TARGET,
                table,
                operation,
                attempt = number,
                status,
                failure,
                request_id,
                client_request_id,
                ?duration
            );
            let span = Span::current();
            span.record("status", status);
            span.record("request_id", request_id);
            span.record("client_request_id", client_request_id);
            answer.map(|(_, answer)| answer)
        });
        let span = debug_span!(
            target: TARGET,
            "table request",
            table,
            operation,
            status = Empty,
            request_id = Empty,
            client_request_id = Empty
        );
        attempts.instrument(span).await
    }

    async fn create(&self, table: &str) -> Result<bool> {
        let operation = "create table";
        let sent = async {
            let mut headers = reading(operation::JSON);
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(headers::PREFER, HeaderValue::from_static("return-no-content"));
            let (url, body) = (parse(&self.endpoint.tables())?, serde_json::json!({ "TableName": table }).to_string());
            let request = HttpRequest { method: Method::POST, url, headers, body: body.into() };
            // Cosmos DB sends the table all the same.
            let call = Call { table, operation, request, success: &[201, 204] };
            self.send(Repeat::Harmless, &call, |_| Ok(true)).await
        };
        match sent.await {
            Err(failure) if failure.is_refused(409, &["TableAlreadyExists"]) => Ok(false),
            Err(failure) if failure.is_unusable() => Err(failure.into_write_error(operation, table_id(table))),
            created => created.map_err(|failure| failure.into_error(table, operation)),
        }
    }

    async fn delete(&self, table: &str) -> Result<bool> {
        let operation = "delete table";
        let sent = async {
            let (headers, url) = (reading(operation::JSON), parse(&self.endpoint.named_table(table))?);
            let request = HttpRequest { method: Method::DELETE, url, headers, body: Bytes::new() };
            // If a delete were repeated after a lost answer, it could delete a table that someone has created in the
            // meantime.
            self.send(Repeat::Harmful, &Call { table, operation, request, success: &[204] }, |_| Ok(true)).await
        };
        match sent.await {
            Err(failure) if failure.is_refused(404, &["TableNotFound", "ResourceNotFound"]) => Ok(false),
            deleted => deleted.map_err(|failure| failure.into_write_error(operation, table_id(table))),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let (table, operation) = ("Tables", "list tables");
        let address = |endpoint: &Endpoint, next: Option<&str>| {
            let mut url = parse(&endpoint.tables())?;
            if !prefix.is_empty() {
                let from = format!("TableName ge {}", ValueRef::String(prefix));
                let to = order::successor(prefix).map(|to| format!(" and TableName lt {}", ValueRef::String(&to)));
                url.query_pairs_mut().append_pair("$filter", &(from + &to.unwrap_or_default()));
            }
            if let Some(next) = next {
                url.query_pairs_mut().append_pair("NextTableName", next);
            }
            Ok::<_, RequestFailure>(url)
        };
        let (mut names, mut region) = (Vec::new(), None);
        let mut progress = ScanProgress::default();
        while !progress.has_ended() {
            let next = progress.next().map(|next| &*next.partition_key);
            let call = |endpoint: &Endpoint| Ok(Call::get(table, operation, address(endpoint, next)?, operation::JSON));
            let answer = self.answer(region, call).await;
            let (answer, read_in) = answer.map_err(|failure| failure.into_error(table, operation))?;
            region = Some(read_in);
            let token = answer.token(&CONTINUATION_TABLE);
            if !progress.advance(token.map(|partition_key| Continuation { partition_key, row_key: None })) {
                return Err(answer.unreadable(table, operation, TOKEN_REPEATED));
            }
            match entity::read_tables(&answer.body) {
                Ok(read) => names.extend(read.into_iter().filter(|name| name.starts_with(prefix))),
                Err(problem) => return Err(answer.unreadable(table, operation, problem)),
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    async fn read_row(
        &self,
        table: &str,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&'static str]>,
    ) -> Result<Option<Row>> {
        let operation = "get";
        let call = |endpoint: &Endpoint| {
            let mut url = parse(&endpoint.row(table, partition_key, row_key))?;
            append_selection(&mut url, select);
            Ok(Call::get(table, operation, url, MINIMAL))
        };
        let answer = absent(self.answer(None, call).await);
        let Some((answer, _)) = answer.map_err(|failure| failure.into_error(table, operation))? else {
            return Ok(None);
        };
        match entity::read(&answer.body) {
            Ok(row) if row.partition_key == partition_key && row.row_key == row_key => Ok(Some(row)),
            Ok(_) => Err(answer.unreadable(table, operation, "it has another row than was requested")),
            Err(problem) => Err(answer.unreadable(table, operation, problem)),
        }
    }

    async fn read_page(&self, scan: &Scan, from: Option<&Continuation>) -> Result<Page> {
        let (table, operation) = (&*scan.table, "query");
        let continued = from.map(Region::of);
        let call = |endpoint: &Endpoint| {
            let mut url = parse(&endpoint.rows(table))?;
            let filter = scan.odata();
            if !filter.is_empty() {
                url.query_pairs_mut().append_pair("$filter", &filter);
            }
            append_selection(&mut url, scan.select.as_deref());
            url.query_pairs_mut().append_pair("$top", &scan.page.to_string());
            if let Some((_, token)) = continued.filter(|(_, token)| !token.is_empty()) {
                url.query_pairs_mut().append_pair("NextPartitionKey", token);
            }
            if let Some(row_key) = from.and_then(|from| from.row_key.as_deref()) {
                url.query_pairs_mut().append_pair("NextRowKey", row_key);
            }
            Ok(Call::get(table, operation, url, MINIMAL))
        };
        let answer = self.answer(continued.map(|(region, _)| region), call).await;
        let (answer, region) = answer.map_err(|failure| failure.into_error(table, operation))?;
        let rows = match entity::read_page(&answer.body) {
            Ok(rows) => rows,
            Err(problem) => return Err(answer.unreadable(table, operation, problem)),
        };
        // One of the two is enough: a scan that ended there would lack rows.
        let (partition_key, row_key) = (answer.token(&CONTINUATION_PARTITION), answer.token(&CONTINUATION_ROW));
        let next = (partition_key.is_some() || row_key.is_some())
            .then(|| Continuation { partition_key: region.mark(partition_key.unwrap_or_default()), row_key });
        if next.is_some() && next.as_ref() == from {
            return Err(answer.unreadable(table, operation, TOKEN_REPEATED));
        }
        Ok(Page { rows, next })
    }

    async fn write(&self, group: &Group) -> Result<Vec<Option<ETag>>> {
        if self.endpoint.is_azurite() {
            azurite::check_rows(group)?;
        }
        let mut attempt = 1;
        loop {
            let answer = match group.operations.as_slice() {
                [] => return Ok(Vec::new()),
                [operation] => self.write_single(group, operation).await,
                _ => self.write_batch(group, Batch::write(&self.endpoint, group)?).await,
            };
            let mut failure = match answer {
                Ok(etags) => return Ok(etags),
                Err(failure) => failure,
            };
            let unknown = match self.refused_operation(group, &mut failure).await {
                Ok(Some(at)) => {
                    let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
                    let row_key = group.operations[at].row_key.clone();
                    return Err(failure.into_write_error(group.name(), RowId { table, partition_key, row_key }));
                }
                // Another writer has removed what was in the way. A refused write can be sent again.
                Ok(None) if attempt < self.retry.attempts => {
                    attempt += 1;
                    continue;
                }
                Ok(None) => "no row shows it".to_owned(),
                Err(unread) => format!("the rows cannot be read: {unread}"),
            };
            failure.add(&format!("nothing was written; the answer does not say which row was refused, and {unknown}"));
            return Err(failure.into_error(&group.table, group.name()));
        }
    }

    /// Returns the position of the operation that was refused; the first one if the failure is not about a row. The service's
    /// message begins with it. If it does not, the rows are read. Returns `None` if they do not show it either.
    #[cold]
    async fn refused_operation(&self, group: &Group, failure: &mut RequestFailure) -> Result<Option<usize>> {
        let count = group.operations.len();
        let index = if count > 1 { failure.split_index().filter(|index| *index < count) } else { Some(0) };
        match (index, failure.found()) {
            (None, Some(found)) => self.first_with(group, found).await,
            (index, _) => Ok(index.or(Some(0))),
        }
    }

    /// Returns the first operation of a refused transaction whose row is in the state for which it was refused.
    async fn first_with(&self, group: &Group, found: Found) -> Result<Option<usize>> {
        for (at, Operation { row_key, action }) in group.operations.iter().enumerate() {
            let version = match action {
                Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) => {
                    Some(condition)
                }
                Action::Insert(_) | Action::Upsert(_) => None,
            };
            let may_be = match found {
                Found::Row => matches!(action, Action::Insert(_)),
                Found::NoRow => version.is_some(),
                Found::OtherVersion => matches!(version, Some(IfMatch::ETag(_))),
            };
            if !may_be {
                continue;
            }
            let row = self.read_row(&group.table, &group.partition_key, row_key, Some(&[])).await?;
            let is_it = match found {
                Found::Row => row.is_some(),
                Found::NoRow => row.is_none(),
                Found::OtherVersion => row.is_none_or(|row| version != Some(&IfMatch::ETag(row.etag))),
            };
            if is_it {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    async fn write_single(&self, group: &Group, operation: &Operation) -> Result<Vec<Option<ETag>>, RequestFailure> {
        let texts = self.endpoint.texts();
        let mut body = Vec::new();
        if let Some(properties) = operation.action.properties() {
            entity::write(&mut body, texts, &group.partition_key, &operation.row_key, properties);
        }
        let request = HttpRequest {
            method: operation::method(&operation.action),
            url: parse(&match operation::address(&operation.action) {
                Address::Table => self.endpoint.table(&group.table),
                Address::Row => self.endpoint.row(&group.table, &group.partition_key, &operation.row_key),
            })?,
            headers: operation::headers(&operation.action),
            body: body.into(),
        };
        let call = Call { table: &group.table, operation: group.name(), request, success: &[204] };
        let deleted = operation.action.properties().is_none();
        self.send(Repeat::Harmful, &call, |answer| {
            let problem = match answer.headers.get(ETAG).map(|etag| headers::text(etag).parse()) {
                _ if deleted => return Ok(vec![None]),
                Some(Ok(etag)) => return Ok(vec![Some(etag)]),
                Some(Err(_)) => "the answer's ETag is malformed",
                None => "the answer has no ETag",
            };
            Err(answer.failed(Problem::Lost(problem.to_owned())))
        })
        .await
    }

    async fn write_batch(&self, group: &Group, batch: Batch) -> Result<Vec<Option<ETag>>, RequestFailure> {
        let mut headers = reading(HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, batch.content_type);
        let url = parse(&self.endpoint.batch())?;
        let request = HttpRequest { method: Method::POST, url, headers, body: batch.body.into() };
        let call = Call { table: &group.table, operation: group.name(), request, success: &[202] };
        let read = |answer: HttpAnswer| {
            let read = batch::read(batch::content_type(&answer.headers), &answer.body, group);
            read.map_err(|problem| answer.failed(problem))
        };
        self.send(Repeat::Harmful, &call, read).await
    }

    /// Asks the secondary region for the state of its copy.
    async fn statistics(&self) -> Result<Option<Replication>> {
        let (table, operation) = ("", "read of the statistics");
        let Some(secondary) = &self.secondary else { return Ok(None) };
        let sent = async {
            let call = Call::get(table, operation, parse(&secondary.endpoint.statistics())?, MINIMAL);
            self.send_with(Retry { attempts: 1, ..self.retry }, Repeat::Harmless, &call, Ok).await
        };
        let answer = sent.await.map_err(|failure| failure.into_error(table, operation))?;
        let Some(status) = failure::element_of(&answer.body, "Status") else {
            return Err(answer.unreadable(table, operation, "it has no `Status`"));
        };
        let last_sync = failure::element_of(&answer.body, "LastSyncTime");
        let last_sync = last_sync.and_then(|time| httpdate::parse_http_date(&time).ok());
        let now = table_store::backend::Clock::wall(&*self.clock).to_system();
        let lag = now.zip(last_sync).map(|(now, then)| now.duration_since(then).unwrap_or_default());
        Ok(Some(Replication::new(status, last_sync, lag)))
    }
}

impl<'a> Call<'a> {
    fn get(table: &'a str, operation: &'static str, url: Url, accept: HeaderValue) -> Self {
        let request = HttpRequest { method: Method::GET, url, headers: reading(accept), body: Bytes::new() };
        Self { table, operation, request, success: &[200] }
    }

    /// Checks that the answer has a status with which the service answers this request. A page of a proxy has another one,
    /// such as 200 for a deletion.
    fn checked(&self, answer: HttpAnswer) -> Result<HttpAnswer, RequestFailure> {
        let status = answer.status;
        if self.success.contains(&status) {
            return Ok(answer);
        }
        let expected = self.success.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ");
        let reason = format!("the answer has the status {status}, and not {expected}");
        Err(answer.failed(Problem::Unusable { status, reason }))
    }

    /// Returns the request of an attempt, with an identifier of its own.
    fn attempt(&self) -> Result<HttpRequest, RequestFailure> {
        let mut request = self.request.clone();
        request.identify()?;
        Ok(request)
    }
}

/// Operations that may take long although the service is not overloaded. A query, for instance, takes up to 5 seconds
/// if it has to look at many rows.
const MAY_TAKE_LONG: [&str; 4] = ["query", "list tables", "create table", "delete table"];

const MINIMAL: HeaderValue = HeaderValue::from_static("application/json;odata=minimalmetadata");

/// Returns the headers of a request for JSON of this kind.
fn reading(accept: HeaderValue) -> HeaderMap {
    let mut all = HeaderMap::with_capacity(8);
    all.insert(ACCEPT, accept);
    all.insert(DATA_SERVICE_VERSION, operation::VERSION_3);
    all
}

/// Asks for these properties, plus the keys and the time stamp, which every row needs; for all of them if there is no
/// selection.
fn append_selection(url: &mut Url, selection: Option<&[&'static str]>) {
    if let Some(properties) = selection {
        let all = [&["PartitionKey", "RowKey", "Timestamp"], properties].concat().join(",");
        url.query_pairs_mut().append_pair("$select", &all);
    }
}

/// Returns the row of an error about a table.
fn table_id(table: &str) -> RowId {
    RowId { table: table.to_owned(), partition_key: String::new(), row_key: String::new() }
}

fn parse(url: &str) -> Result<Url, RequestFailure> {
    Url::parse(url).map_err(|problem| RequestFailure::unsent(format!("not an address: {problem}")))
}

impl Backend for AzureBackend {
    fn describe(&self) -> Description<'_> {
        let (overloads, clock) = (self.overloads.load(Ordering::Relaxed), &*self.clock);
        Description { overloads, clock, service: Some(self), ..Description::new("azure.tables") }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let (table, is_changed) = match request {
                TableRequest::Create(table) => (table, self.create(table).await?),
                TableRequest::Delete(table) => (table, self.delete(table).await?),
                TableRequest::List(prefix) => return self.list(prefix).await,
            };
            Ok(if is_changed { vec![table.to_owned()] } else { Vec::new() })
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            match request.target {
                ReadTarget::Row { table, partition_key, row_key, select } => {
                    let row = self.read_row(table, partition_key, row_key, select).await?;
                    row.iter().try_for_each(|row| reader(row.as_ref()))?;
                    Ok(None)
                }
                ReadTarget::Page { scan, from } => {
                    let Page { rows, next } = self.read_page(scan, from).await?;
                    rows.iter().try_for_each(reader)?;
                    Ok(next)
                }
            }
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move { Ok(self.write(Group::only(groups)?).await?) })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(match (view, &self.secondary) {
            (StoreView::SecondaryReads, Some(fallback)) => {
                Some(Arc::new(Self { fallback: Some(Arc::clone(fallback)), ..self.clone() }))
            }
            (StoreView::SecondaryReads, None) | (StoreView::Snapshot, _) => None,
        })
    }
}

impl RemoteService for AzureBackend {
    fn clock_difference(&self) -> Option<i64> {
        self.clock.difference()
    }

    fn replication(&self) -> BoxFuture<'_, Result<Option<Replication>>> {
        Box::pin(self.statistics())
    }

    fn sign(&self, grant: &Grant<'_>) -> Result<Sas> {
        sas::sign(self.credential.signing_key()?, self.endpoint.protocols(), grant)
    }
}
