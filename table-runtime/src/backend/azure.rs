//! Azure Table storage, Azurite and Cosmos DB's Table API, on the Azure SDK: `azure_data_tables`, `azure_storage` and
//! `azure_core`.
//!
//! This backend writes the requests on rows itself and sends them through the SDK's pipeline, which signs them. It
//! creates and deletes tables with the SDK's client. Each of these files works around defects of the SDK:
//!
//! - [`transport`]: its HTTP client has no timeout and keeps no idle connections, it drops the messages of errors, it
//!   requires headers that Cosmos DB does not always send, and it logs secrets.
//! - [`retry`]: it repeats inserts.
//! - [`batch`]: it reports success for a failed transaction.
//! - [`operation`]: its updates in a transaction are upserts.
//! - [`endpoint`]: it does not quote keys.
//! - [`entity`]: its values lose their types.
//! - [`connection_string`]: it has no credentials for the emulator.
//!
//! Two files work around defects of Azurite. It damages characters outside ASCII ([`entity`]) and applies some
//! transactions to other rows ([`azurite`]).

use std::{fmt, future::Future, time::Instant};

use azure_core::{
    AppendToUrlQuery, Body, CollectedResponse, Context, Method, Pipeline, Url,
    headers::{self, HeaderName, HeaderValue, Headers},
};
use azure_data_tables::{Filter, Select, Top, clients::TableServiceClient};
use azure_storage::clients::{ServiceType, finalize_request};
use bytes::Bytes;
use serde::Deserialize;
use tracing::{Instrument, Span, debug, debug_span, field::Empty};

use self::{
    batch::Batch,
    credential::Credential,
    endpoint::Endpoint,
    failure::{RequestFailure, absent, unreadable},
    operation::Address,
    retry::{Repeat, Retry},
};
use super::{Backend, BoxFuture, Continuation, Group, Operation, Page, Scan};
use crate::{ETag, Result, Row, ValueRef, key::order};

mod azurite;
mod batch;
mod builder;
mod connection_string;
mod credential;
mod endpoint;
mod entity;
mod failure;
mod forms;
mod operation;
mod retry;
mod transport;
mod unrepresentable;

pub use builder::AzureBuilder;

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
    credential: Credential,
    pipeline: Pipeline,
    tables: TableServiceClient,
    retry: Retry,
}

/// Formats the address, the kind of credential and the limits of retries, without secrets.
impl fmt::Debug for AzureBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureBackend")
            .field("endpoint", &self.endpoint)
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
        let read = &read;
        self.attempts(repeat, call.table, call.operation, || async move {
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
        repeat: Repeat,
        table: &str,
        operation: &'static str,
        send: impl Fn() -> F,
    ) -> Result<T, RequestFailure> {
        let send = &send;
        let attempts = self.retry.run(repeat, |attempt| async move {
            let begin = Instant::now();
            let answer = send().await;
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
        let answer = self.attempts(Repeat::Harmless, table, operation, || async move {
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
        let answer = self.attempts(Repeat::Harmful, table, operation, || async move {
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
        let mut url = parse(&self.endpoint.tables()).map_err(|failure| failure.into_error(table, operation))?;
        if !prefix.is_empty() {
            let from = format!("TableName ge {}", ValueRef::String(prefix));
            let to = order::successor(prefix).map(|to| format!(" and TableName lt {}", ValueRef::String(&to)));
            Filter::new(from + &to.unwrap_or_default()).append_to_url_query(&mut url);
        }
        let mut names = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut page = url.clone();
            if let Some(next) = &next {
                page.query_pairs_mut().append_pair("NextTableName", next);
            }
            let call = Call {
                table,
                operation,
                method: Method::Get,
                url: page,
                headers: reading("application/json;odata=nometadata"),
                body: Bytes::new(),
            };
            let answer = self.send(Repeat::Harmless, &call, Ok).await;
            let answer = answer.map_err(|failure| failure.into_error(table, operation))?;
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
        let mut url = parse(&self.endpoint.row(table, partition_key, row_key))
            .map_err(|failure| failure.into_error(table, operation))?;
        select.map(selection).append_to_url_query(&mut url);
        let call = Call { table, operation, method: Method::Get, url, headers: reading(MINIMAL), body: Bytes::new() };
        let answer = absent(self.send(Repeat::Harmless, &call, Ok).await);
        let Some(answer) = answer.map_err(|failure| failure.into_error(table, operation))? else { return Ok(None) };
        entity::read(answer.body())
            .map(Some)
            .map_err(|problem| unreadable(table, operation, u16::from(*answer.status()), problem))
    }

    async fn read_page(&self, scan: &Scan, from: Option<&Continuation>) -> Result<Page> {
        let (table, operation) = (&*scan.table, "query");
        let mut url = parse(&self.endpoint.rows(table)).map_err(|failure| failure.into_error(table, operation))?;
        let filter = scan.odata();
        if !filter.is_empty() {
            Filter::new(filter).append_to_url_query(&mut url);
        }
        scan.select.as_deref().map(selection).append_to_url_query(&mut url);
        Top::new(scan.page).append_to_url_query(&mut url);
        if let Some(Continuation { partition_key, row_key }) = from {
            let mut query = url.query_pairs_mut();
            query.append_pair("NextPartitionKey", partition_key);
            if let Some(row_key) = row_key {
                query.append_pair("NextRowKey", row_key);
            }
        }
        let call = Call { table, operation, method: Method::Get, url, headers: reading(MINIMAL), body: Bytes::new() };
        let answer = self.send(Repeat::Harmless, &call, Ok).await;
        let answer = answer.map_err(|failure| failure.into_error(table, operation))?;
        let rows = entity::read_page(answer.body())
            .map_err(|problem| unreadable(table, operation, u16::from(*answer.status()), problem))?;
        let header = |name| answer.headers().get_optional_string(&name);
        let next = header(CONTINUATION_PARTITION)
            .map(|partition_key| Continuation { partition_key, row_key: header(CONTINUATION_ROW) });
        if next.is_some() && next.as_ref() == from {
            return Err(unreadable(table, operation, u16::from(*answer.status()), TOKEN_REPEATED));
        }
        Ok(Page { rows, next })
    }

    async fn write(&self, group: &Group) -> Result<Vec<Option<ETag>>> {
        let answer = match group.operations.as_slice() {
            [] => return Ok(Vec::new()),
            [one] => self.write_one(group, one).await,
            _ => self.write_batch(group, Batch::write(&self.endpoint, group)?).await,
        };
        answer.map_err(|failure| {
            let row = |n: usize| group.operations.get(n).map(|one| one.row_key.as_str());
            failure.into_write_error(&group.table, group.name(), row, &group.partition_key)
        })
    }

    async fn write_one(&self, group: &Group, one: &Operation) -> Result<Vec<Option<ETag>>, RequestFailure> {
        let texts = self.endpoint.texts();
        let mut body = Vec::new();
        if let Some(properties) = one.action.properties() {
            entity::write(&mut body, texts, &group.partition_key, &one.row_key, properties);
        }
        let call = Call {
            table: &group.table,
            operation: group.name(),
            method: operation::method(&one.action),
            url: parse(&match operation::address(&one.action) {
                Address::Table => self.endpoint.table(&group.table),
                Address::Row => self.endpoint.row(&group.table, &group.partition_key, &one.row_key),
            })?,
            headers: operation::headers(&one.action),
            body: body.into(),
        };
        let deleted = one.action.properties().is_none();
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
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.create(table))
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.delete(table))
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(self.list(prefix))
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        Box::pin(self.read_row(table, partition_key, row_key, select))
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(self.read_page(scan, from))
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(self.write(group))
    }
}
