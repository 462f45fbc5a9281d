//! The crates of the Azure SDK 0.21 whose types [`AzureBuilder::sdk`](super::AzureBuilder::sdk) takes, for the feature
//! `azure_data_tables`.
//!
//! They are not maintained any more, and bring these advisories, which a program has to accept. None of them concerns code
//! that this crate calls.
//!
//! | advisory | crate | needed by | why it does not apply |
//! |---|---|---|---|
//! | RUSTSEC-2026-0194, RUSTSEC-2026-0195 | `quick-xml` 0.31 | `azure_core`, for `azure_storage` | no request on tables reads XML with it |
//! | RUSTSEC-2026-0174 | `http-types` 2 | `azure_core` | only its status codes and names of headers are used |
//! | RUSTSEC-2026-0097 | `rand` 0.7 | `http-types` | no logger calls it |
//! | RUSTSEC-2024-0436 (not maintained) | `paste` | `azure_core` | a macro, which is run when compiling |
//! | RUSTSEC-2024-0384 (not maintained) | `instant` | `http-types` | compiled for WebAssembly only, which this backend does not support |
//!
//! At `debug` level, the SDK's own clients log whole requests, with the header `Authorization` or the signature in the
//! address. Requests of this crate do not pass through the policy that logs them. If your program uses other clients of the
//! SDK, keep the level of the target `azure_core` above `debug`, for example with `RUST_LOG=debug,azure_core=info`.

// This module is also the transport of the feature: a pipeline of the SDK signs requests, and passes them through a
// program's own policies. The pipeline differs from the SDK's in two policies. It does not retry, because the SDK's retries
// repeat inserts. Its last policy sends requests with this crate's client. The SDK's last policy logs each request at
// `debug` level, with the header `Authorization` or the signature in the address; its client keeps no idle connections and
// has no timeout, and the messages of errors are lost.

use std::{
    error, fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub use azure_core;
pub use azure_data_tables;
pub use azure_storage;

use async_trait::async_trait;
use azure_core::{
    Body, BytesStream, ClientOptions, CollectedResponse, Context, Method, Pipeline, Policy, PolicyResult, Request,
    Response, RetryOptions, StatusCode,
    error::ErrorKind,
    headers::{HeaderName, HeaderValue, Headers},
};
use azure_storage::{
    StorageCredentials, StorageCredentialsInner,
    clients::{ServiceType, finalize_request, new_pipeline_from_options},
};
use reqwest::header::{self, HeaderMap};
use table_store::backend::BoxFuture;

use super::{
    client::HttpClient,
    failure::{Problem, RequestFailure},
    headers,
    http::{HttpAnswer, HttpRequest, Transport},
    token::chain,
};

/// The credentials and the options of the Azure SDK, as [`AzureBuilder::sdk`](super::AzureBuilder::sdk) takes them.
#[derive(Clone)]
pub(super) struct Sdk {
    pub(super) credentials: StorageCredentials,
    pub(super) options: ClientOptions,
}

/// Signs and sends requests with a pipeline of the Azure SDK.
pub(super) struct SdkTransport {
    pipeline: Pipeline,
    client: HttpClient,
}

impl Sdk {
    /// Returns true if the credentials send a token, which whoever reads the request can use.
    pub(super) fn has_token(&self) -> bool {
        let credentials = self.credentials.0.try_read();
        credentials.is_none_or(|credentials| {
            use StorageCredentialsInner::{BearerToken, TokenCredential};
            matches!(*credentials, BearerToken(_) | TokenCredential(_))
        })
    }
}

impl SdkTransport {
    pub(super) fn new(client: HttpClient, Sdk { credentials, options }: Sdk) -> Self {
        let mut pipeline = new_pipeline_from_options(options.retry(RetryOptions::none()), credentials);
        let last = pipeline.policies().len() - 1;
        pipeline.replace_policy(Arc::new(Last(client.clone())), last);
        Self { pipeline, client }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpAnswer, RequestFailure> {
        let HttpRequest { method, url, headers: own, body } = request;
        let method = method_of(&method).ok_or_else(|| RequestFailure::unsent("the SDK has no such HTTP method"))?;
        let body = (!body.is_empty()).then(|| Body::from(body));
        let request = finalize_request(url, method, to_sdk(&own), body);
        let mut request = request.map_err(|_| RequestFailure::unsent("the request cannot be written"))?;
        // The SDK signs the time that the request has.
        request.insert_header(header_name(&headers::MS_DATE), self.client.signing_time());
        let (mut context, sent) = (Context::new(), Sent::default());
        context.insert(ServiceType::Table).insert(sent.clone());
        let answer = match self.pipeline.send(&context, &mut request).await {
            Ok(answer) => CollectedResponse::from_response(answer).await,
            Err(error) => Err(error),
        };
        let client_id = request.headers().get_optional_string(&header_name(&headers::CLIENT_REQUEST_ID));
        let client_id = client_id.unwrap_or_default();
        let failed =
            |problem: Problem| RequestFailure { problem, request: Some(headers::request_ids(&client_id, None)) };
        let answer = answer.map_err(|error| match sent_failure(&error) {
            Some(failure) => failure.clone(),
            None if sent.is_sent() => failed(Problem::Lost(foreign(&error))),
            None => RequestFailure::unsent(foreign(&error)),
        })?;
        let status = u16::from(*answer.status());
        if !sent.is_sent() {
            return Err(RequestFailure::unsent(format!("a policy answered {status} and did not send the request")));
        }
        match from_sdk(answer.headers()) {
            Ok(received) => HttpAnswer::of(&client_id, status, received, answer.body().clone()),
            Err(_) => Err(failed(Problem::Lost("a policy has damaged the answer".to_owned()))),
        }
    }
}

impl Transport for SdkTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, RequestFailure>> {
        Box::pin(self.exchange(request))
    }
}

impl fmt::Debug for SdkTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

/// The last policy of the pipeline. It sends the request, and never calls another policy.
struct Last(HttpClient);

#[async_trait]
impl Policy for Last {
    async fn send(&self, context: &Context, request: &mut Request, _: &[Arc<dyn Policy>]) -> PolicyResult {
        let sent = match context.get::<Sent>() {
            None => Err(RequestFailure::unsent("a policy has replaced the context")),
            // What became of the request the first time is not known here, and a write must not be sent twice.
            Some(sent) if sent.0.swap(true, Ordering::Relaxed) => {
                let problem = Problem::Lost("a policy sent the request a second time, which was refused".to_owned());
                Err(RequestFailure { problem, request: None })
            }
            Some(_) => send(&self.0, request).await,
        };
        sent.map_err(|failure| azure_core::Error::new(ErrorKind::Io, failure))
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

async fn send(client: &HttpClient, request: &Request) -> Result<Response, RequestFailure> {
    let method = reqwest::Method::from_bytes(request.method().as_ref().as_bytes());
    let method = method.map_err(|_| RequestFailure::unsent("the HTTP method is invalid"))?;
    let Body::Bytes(body) = request.body() else {
        return Err(RequestFailure::unsent("the request's body is a stream"));
    };
    let (mut headers, url, body) = (from_sdk(request.headers())?, request.url().clone(), body.clone());
    // The client writes it.
    headers.remove(header::CONTENT_LENGTH);
    let answer = client.exchange(HttpRequest { method, url, headers, body }).await?;
    let status = StatusCode::try_from(answer.status).unwrap_or(StatusCode::Ok);
    Ok(Response::new(status, to_sdk(&answer.headers), Box::pin(BytesStream::new(answer.body))))
}

/// True if a request has reached the last policy.
#[derive(Clone, Default)]
struct Sent(Arc<AtomicBool>);

impl Sent {
    fn is_sent(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the failure that the last policy has returned. Another policy may have put it into an error of its own.
fn sent_failure(error: &azure_core::Error) -> Option<&RequestFailure> {
    let mut next: Option<&(dyn error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(failure) = error.downcast_ref() {
            return Some(failure);
        }
        next = error.source();
    }
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// Describes an error of another policy than the last one, or of the signature.
fn foreign(error: &azure_core::Error) -> String {
    format!("the SDK's pipeline failed: {}", chain(error))
}

fn method_of(method: &reqwest::Method) -> Option<Method> {
    Some(match method.as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "MERGE" => Method::Merge,
        _ => return None,
    })
}

fn header_name(name: &header::HeaderName) -> HeaderName {
    HeaderName::from(name.as_str().to_owned())
}

fn to_sdk(headers: &HeaderMap) -> Headers {
    let mut all = Headers::new();
    for (name, value) in headers {
        all.insert(header_name(name), HeaderValue::from(headers::text(value)));
    }
    all
}

/// Returns the headers in the order of their names. The SDK returns them in a different order each time, and parsers that
/// expect the previous order, such as the one of Node.js, are slower then.
fn from_sdk(headers: &Headers) -> Result<HeaderMap, RequestFailure> {
    let mut sorted: Vec<_> = headers.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| name.as_str());
    let mut all = HeaderMap::with_capacity(sorted.len());
    for (name, value) in sorted {
        let name = header::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = header::HeaderValue::from_bytes(value.as_str().as_bytes());
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(RequestFailure::unsent("a header is invalid"));
        };
        all.insert(name, value);
    }
    Ok(all)
}
