//! Azure Table storage, Azurite and Cosmos DB's Table API, on the Azure SDK: `azure_data_tables`, `azure_storage` and
//! `azure_core`.
//!
//! This backend writes the requests on rows itself and sends them through the SDK's pipeline, which signs them. It
//! creates and deletes tables with the SDK's client. Each of these files works around defects of the SDK:
//!
//! - [`transport`]: its HTTP client has no timeout and keeps no idle connections, it drops the messages of errors, it
//!   requires headers that Cosmos DB does not always send, and it logs secrets.
//! - [`token`]: its credentials are those of a version that is not maintained, and it requests a token for each
//!   request.
//! - [`retry`]: it repeats inserts.
//! - [`batch`]: it reports success for a failed transaction.
//! - [`operation`]: its updates in a transaction are upserts.
//! - [`endpoint`]: it does not quote keys.
//! - [`entity`]: its values lose their types.
//! - [`connection_string`]: it has no credentials for the emulator.
//!
//! Two files work around defects of Azurite. It damages characters outside ASCII ([`entity`]) and applies some
//! transactions to other rows ([`azurite`]).

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use azure_core::{
    AppendToUrlQuery, Body, CollectedResponse, Context, Method, Pipeline, Url,
    headers::{self, HeaderName, HeaderValue, Headers},
};
use azure_data_tables::{Filter, Select, Top, clients::TableServiceClient};
use azure_storage::clients::{ServiceType, finalize_request};
use bytes::Bytes;
use serde::Deserialize;
use tracing::{Instrument, Span, debug, debug_span, field, field::Empty, warn};

use self::{
    batch::Batch,
    credential::Credential,
    endpoint::Endpoint,
    failure::{RequestFailure, absent, unreadable},
    operation::Address,
    retry::{Repeat, Retry},
    secondary::{Region, Secondary},
};
use super::{
    Backend, BoxFuture, Continuation, Description, Group, Operation, Page, ReadRequest, ReadTarget, Reader, Scan,
    StoreView, TableRequest, Written,
};
use crate::{ETag, Result, Row, ValueRef, key::order, observe};

mod azurite;
mod batch;
mod builder;
mod connection_string;
mod credential;
mod endpoint;
mod entity;
mod failure;
mod operation;
mod retry;
mod secondary;
mod token;
mod transport;

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
/// merges, upserts or deletes such a row with [`Error::Limit`](crate::Error::Limit), before anything is sent. The
/// affected keys are a row key that begins with `,` or contains `',`, a partition key that contains `RowKey='`, and, in
/// a delete, a key that contains a line separator (U+2028 or U+2029). Entities with a `same_partition` index are
/// written in transactions, so the indexed text `Rock 'n', roll` is refused on Azurite. Inserts and writes of a single
/// row are not affected.
///
/// # Retries
/// A read is repeated after every failure that may be temporary: no connection, a lost answer, or one of the statuses
/// 408, 429, 500, 502, 503 and 504. A write is repeated only if it was certainly not applied: no connection, 429, or
/// 503 `ServerBusy`. A write whose answer was lost is [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). The
/// creation of a table is repeated like a read. If the answer of the attempt that created the table is lost, the next
/// attempt finds the table, and `create_table` returns `false`.
///
/// The delays begin at 100 ms, and double up to 10 seconds. If the answer has a `Retry-After`, in seconds or as
/// a time, or an `x-ms-retry-after-ms`, the delay is at least as long. A request is not repeated after
/// [`max_retry_time`](AzureBuilder::max_retry_time): if the service asks for a longer delay, the error is returned at
/// once. Bulk writes also have [fewer transactions in flight](crate::Bulk::side_by_side) on an overloaded service.
///
/// # Answers
/// A value in a form that the service itself does not write is read if its meaning is clear, such as a time with an
/// offset. Any other such value, for example a text with half a character, is an
/// [`Error::Property`](crate::Error::Property) if a field reads it, and is ignored otherwise. An answer of more than 64
/// MiB is an error; a read returns [`Error::Service`](crate::Error::Service). The service's own pages are smaller. With
/// Azurite, `take` and `page` can request fewer rows.
///
/// # Traces
/// Each attempt is a `tracing` event at `debug` level with the table, the operation, the attempt, the status and the
/// duration. The event never contains a value, a key, an address or a secret. At the same level, `azure_core` logs
/// whole requests, with the `Authorization` header or the signature in their address. Requests of this backend do not
/// pass through the policy that logs them. If your program uses other clients of the Azure SDK, keep the level of the
/// target `azure_core` above `debug`, for example with `RUST_LOG=debug,azure_core=info`.
#[derive(Clone)]
pub struct AzureBackend {
    endpoint: Endpoint,
    /// The secondary region, if its address is known.
    secondary: Option<Arc<Secondary>>,
    /// The secondary region, if reads may be sent to it.
    fallback: Option<Arc<Secondary>>,
    credential: Credential,
    pipeline: Pipeline,
    tables: TableServiceClient,
    retry: Retry,
    /// Time after which an answer is slow.
    slow_after: Duration,
    /// Number of answers that showed an overload. Clones share it.
    overloads: Arc<AtomicU64>,
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

const CONTINUATION_PARTITION: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
const CONTINUATION_ROW: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
const CONTINUATION_TABLE: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

/// A request that may be sent several times.
struct Call<'a> {
    table: &'a str,
    operation: &'static str,
    method: Method,
    url: Url,
    headers: Headers,
    body: Bytes,
}

impl AzureBackend {
    /// Creates a backend from a connection string, as the portal shows it. Sends nothing yet.
    ///
    /// The string needs `AccountName` and `AccountKey`, or `SharedAccessSignature` and `TableEndpoint`, or
    /// `UseDevelopmentStorage=true` for Azurite on this machine. The default address is
    /// `https://{account}.table.core.windows.net`; `TableEndpoint`, or `DefaultEndpointsProtocol` and `EndpointSuffix`,
    /// set another one.
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
        read: impl Fn(CollectedResponse) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        self.send_with(self.retry, repeat, call, read).await
    }

    /// Sends a read to the primary region and, if it fails there and reads may be sent to the secondary region, to that
    /// one. Returns the answer with its region. A read that continues another one is sent to the region of that one.
    async fn answer<'a>(
        &self,
        from: Option<Region>,
        call: impl Fn(&Endpoint) -> Result<Call<'a>, RequestFailure>,
    ) -> Result<(CollectedResponse, Region), RequestFailure> {
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
                    warn!(table, operation, reason, "the primary region failed, so the secondary region is read");
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
            Err(RequestFailure::Refused(refusal)) if refusal.status == 404 => Err(RequestFailure::Refused(refusal)),
            // The account may have no secondary region that can be read.
            Err(other) => Err(failure.unwrap_or(other)),
        }
    }

    /// Sends a request with these retries.
    async fn send_with<T>(
        &self,
        retry: Retry,
        repeat: Repeat,
        call: &Call<'_>,
        read: impl Fn(CollectedResponse) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let read = &read;
        self.attempts(retry, repeat, call.table, call.operation, || async move {
            let body = (!call.body.is_empty()).then(|| Body::from(call.body.clone()));
            let request = finalize_request(call.url.clone(), call.method, call.headers.clone(), body);
            let unsent =
                |_| RequestFailure::Unsent { reason: "the request cannot be written".to_owned(), passing: false };
            let mut request = request.map_err(unsent)?;
            let mut context = Context::new();
            let answer = self.pipeline.send(context.insert(ServiceType::Table), &mut request).await;
            let answer = CollectedResponse::from_response(answer.map_err(RequestFailure::of)?)
                .await
                .map_err(RequestFailure::of)?;
            let status = u16::from(*answer.status());
            Ok((status, read(answer)?))
        })
        .await
    }

    /// Calls `send` until it succeeds or no retry is allowed, and traces each attempt. An attempt returns its status
    /// and its answer.
    async fn attempts<T, F: Future<Output = Result<(u16, T), RequestFailure>>>(
        &self,
        retry: Retry,
        repeat: Repeat,
        table: &str,
        operation: &'static str,
        send: impl Fn() -> F,
    ) -> Result<T, RequestFailure> {
        let send = &send;
        let attempts = retry.run(repeat, |attempt| async move {
            if attempt > 1 {
                observe::retry();
            }
            let begin = Instant::now();
            let answer = send().await;
            let is_slow = !MAY_TAKE_LONG.contains(&operation) && begin.elapsed() >= self.slow_after;
            if is_slow || answer.as_ref().is_err_and(RequestFailure::is_overload) {
                self.overloads.fetch_add(1, Ordering::Relaxed);
            }
            let status = answer.as_ref().map_or_else(RequestFailure::status, |(status, _)| Some(*status));
            let failure = answer.as_ref().err().map(tracing::field::display);
            debug!(table, operation, attempt, status, failure, duration = ?begin.elapsed());
            Span::current().record("status", status);
            answer.map(|(_, answer)| answer)
        });
        attempts.instrument(debug_span!("table request", table, operation, status = Empty)).await
    }

    async fn create(&self, table: &str) -> Result<bool> {
        let operation = "create table";
        let client = &self.tables.table_client(table);
        let answer = self.attempts(self.retry, Repeat::Harmless, table, operation, || async move {
            match client.create().await.map_err(RequestFailure::of) {
                // The SDK requires members in the body that not every service sends. If it cannot read the answer, the
                // table was created nevertheless.
                Ok(_) | Err(RequestFailure::Unread) => Ok((201, true)),
                Err(RequestFailure::Refused(refusal)) if refusal.code == "TableAlreadyExists" => {
                    Ok((refusal.status, false))
                }
                Err(failure) => Err(failure),
            }
        });
        answer.await.map_err(|failure| failure.into_error(table, operation))
    }

    async fn delete(&self, table: &str) -> Result<bool> {
        let operation = "delete table";
        let client = &self.tables.table_client(table);
        // If a delete were repeated after a lost answer, it could delete a table that someone has created in the
        // meantime.
        let answer = self.attempts(self.retry, Repeat::Harmful, table, operation, || async move {
            match client.delete().await.map_err(RequestFailure::of) {
                Ok(_) => Ok((204, true)),
                Err(RequestFailure::Refused(refusal))
                    if refusal.status == 404
                        && matches!(refusal.code.as_str(), "TableNotFound" | "ResourceNotFound") =>
                {
                    Ok((refusal.status, false))
                }
                Err(failure) => Err(failure),
            }
        });
        answer.await.map_err(|failure| failure.into_write_error(table, operation, |_| None, ""))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        struct Tables {
            #[serde(default)]
            value: Vec<Table>,
        }

        #[derive(Deserialize)]
        struct Table {
            #[serde(rename = "TableName")]
            name: String,
        }

        let (table, operation) = ("Tables", "list tables");
        let address = |endpoint: &Endpoint, next: Option<&str>| {
            let mut url = parse(&endpoint.tables())?;
            if !prefix.is_empty() {
                let from = format!("TableName ge {}", ValueRef::String(prefix));
                let to = order::successor(prefix).map(|to| format!(" and TableName lt {}", ValueRef::String(&to)));
                Filter::new(from + &to.unwrap_or_default()).append_to_url_query(&mut url);
            }
            if let Some(next) = next {
                url.query_pairs_mut().append_pair("NextTableName", next);
            }
            Ok(url)
        };
        let mut names = Vec::new();
        let (mut next, mut region): (Option<String>, _) = (None, None);
        loop {
            let call = |endpoint: &Endpoint| {
                let headers = reading("application/json;odata=nometadata");
                let url = address(endpoint, next.as_deref())?;
                Ok(Call { table, operation, method: Method::Get, url, headers, body: Bytes::new() })
            };
            let answer = self.answer(region, call).await;
            let (answer, read_in) = answer.map_err(|failure| failure.into_error(table, operation))?;
            region = Some(read_in);
            let read: Tables = serde_json::from_slice(answer.body())
                .map_err(|problem| unreadable(table, operation, u16::from(*answer.status()), problem))?;
            let token = answer.headers().get_optional_string(&CONTINUATION_TABLE);
            if token.is_some() && token == next {
                return Err(unreadable(table, operation, u16::from(*answer.status()), TOKEN_REPEATED));
            }
            names.extend(read.value.into_iter().map(|table| table.name).filter(|name| name.starts_with(prefix)));
            next = token;
            if next.is_none() {
                names.sort_unstable();
                return Ok(names);
            }
        }
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
            select.map(selection).append_to_url_query(&mut url);
            Ok(Call { table, operation, method: Method::Get, url, headers: reading(MINIMAL), body: Bytes::new() })
        };
        let answer = absent(self.answer(None, call).await);
        let Some((answer, _)) = answer.map_err(|failure| failure.into_error(table, operation))? else {
            return Ok(None);
        };
        entity::read(answer.body())
            .map(Some)
            .map_err(|problem| unreadable(table, operation, u16::from(*answer.status()), problem))
    }

    async fn read_page(&self, scan: &Scan, from: Option<&Continuation>) -> Result<Page> {
        let (table, operation) = (&*scan.table, "query");
        let continued = from.map(Region::of);
        let call = |endpoint: &Endpoint| {
            let mut url = parse(&endpoint.rows(table))?;
            let filter = scan.odata();
            if !filter.is_empty() {
                Filter::new(filter).append_to_url_query(&mut url);
            }
            scan.select.as_deref().map(selection).append_to_url_query(&mut url);
            Top::new(scan.page).append_to_url_query(&mut url);
            if let Some((_, token)) = continued {
                url.query_pairs_mut().append_pair("NextPartitionKey", token);
            }
            if let Some(row_key) = from.and_then(|from| from.row_key.as_deref()) {
                url.query_pairs_mut().append_pair("NextRowKey", row_key);
            }
            Ok(Call { table, operation, method: Method::Get, url, headers: reading(MINIMAL), body: Bytes::new() })
        };
        let answer = self.answer(continued.map(|(region, _)| region), call).await;
        let (answer, region) = answer.map_err(|failure| failure.into_error(table, operation))?;
        let rows = entity::read_page(answer.body())
            .map_err(|problem| unreadable(table, operation, u16::from(*answer.status()), problem))?;
        let header = |name| answer.headers().get_optional_string(&name);
        let next = header(CONTINUATION_PARTITION)
            .map(|token| Continuation { partition_key: region.mark(token), row_key: header(CONTINUATION_ROW) });
        if next.is_some() && next.as_ref() == from {
            return Err(unreadable(table, operation, u16::from(*answer.status()), TOKEN_REPEATED));
        }
        Ok(Page { rows, next })
    }

    async fn write(&self, group: &Group) -> Result<Vec<Option<ETag>>> {
        let answer = match group.operations.as_slice() {
            [] => return Ok(Vec::new()),
            [operation] => self.write_single(group, operation).await,
            _ => self.write_batch(group, Batch::write(&self.endpoint, group)?).await,
        };
        answer.map_err(|failure| {
            let row = |n: usize| group.operations.get(n).map(|operation| operation.row_key.as_str());
            failure.into_write_error(&group.table, group.name(), row, &group.partition_key)
        })
    }

    async fn write_single(&self, group: &Group, operation: &Operation) -> Result<Vec<Option<ETag>>, RequestFailure> {
        let texts = self.endpoint.texts();
        let mut body = Vec::new();
        if let Some(properties) = operation.action.properties() {
            entity::write(&mut body, texts, &group.partition_key, &operation.row_key, properties);
        }
        let call = Call {
            table: &group.table,
            operation: group.name(),
            method: operation::method(&operation.action),
            url: parse(&match operation::address(&operation.action) {
                Address::Table => self.endpoint.table(&group.table),
                Address::Row => self.endpoint.row(&group.table, &group.partition_key, &operation.row_key),
            })?,
            headers: operation::headers(&operation.action),
            body: body.into(),
        };
        let deleted = operation.action.properties().is_none();
        self.send(Repeat::Harmful, &call, |answer| match answer.headers().get_optional_str(&headers::ETAG) {
            _ if deleted => Ok(vec![None]),
            Some(etag) => match etag.parse() {
                Ok(etag) => Ok(vec![Some(etag)]),
                Err(_) => Err(RequestFailure::Lost("the answer's ETag is malformed".to_owned())),
            },
            None => Err(RequestFailure::Lost("the answer has no ETag".to_owned())),
        })
        .await
    }

    async fn write_batch(&self, group: &Group, batch: Batch) -> Result<Vec<Option<ETag>>, RequestFailure> {
        let mut headers = reading("application/json");
        headers.insert(headers::CONTENT_TYPE, HeaderValue::from(batch.content_type));
        let call = Call {
            table: &group.table,
            operation: group.name(),
            method: Method::Post,
            url: parse(&self.endpoint.batch())?,
            headers,
            body: batch.body.into(),
        };
        let read = |answer: CollectedResponse| batch::read(batch::content_type(answer.headers()), answer.body(), group);
        self.send(Repeat::Harmful, &call, read).await
    }
}

/// Operations that may take long although the service is not overloaded. A query, for instance, takes up to 5 seconds
/// if it has to look at many rows.
const MAY_TAKE_LONG: [&str; 4] = ["query", "list tables", "create table", "delete table"];

/// Problem of an answer whose continuation token does not advance. A scan that continued there would never end.
const TOKEN_REPEATED: &str = "its continuation token is the one that was sent, so the scan does not advance";

const MINIMAL: &str = "application/json;odata=minimalmetadata";

/// Returns the headers of a request for JSON of this kind.
fn reading(accept: &'static str) -> Headers {
    let mut all = Headers::new();
    all.insert(headers::ACCEPT, HeaderValue::from_static(accept));
    all.insert(operation::DATA_SERVICE_VERSION, operation::VERSION_3);
    all
}

/// Returns the selection of these properties, plus the keys and the time stamp, which every row needs.
fn selection(properties: &[&'static str]) -> Select {
    let mut select = "PartitionKey,RowKey,Timestamp".to_owned();
    for property in properties {
        select.push(',');
        select.push_str(property);
    }
    Select::new(select)
}

fn parse(url: &str) -> Result<Url, RequestFailure> {
    Url::parse(url)
        .map_err(|problem| RequestFailure::Unsent { reason: format!("not an address: {problem}"), passing: false })
}

impl Backend for AzureBackend {
    fn describe(&self) -> Description<'_> {
        Description { overloads: self.overloads.load(Ordering::Relaxed), ..Description::new("azure.tables") }
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
