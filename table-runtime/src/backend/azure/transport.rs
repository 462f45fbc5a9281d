//! The single place where requests are sent and answers are received.

use std::{error::Error as _, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use azure_core::{
    Body, BytesStream, Context, HttpClient, Policy, PolicyResult, Request, Response, StatusCode,
    error::ErrorKind,
    headers::{self, HeaderName, HeaderValue, Headers},
};
use bytes::{Bytes, BytesMut};
use reqwest::header;
use tracing::debug;

use super::{
    failure::{Refusal, RequestFailure},
    token::Tokens,
};

/// Maximum number of bytes that are read of a successful answer. A page of the service has up to 4 MiB of values, and
/// JSON's escapes and annotations make it larger.
pub(super) const BODY: usize = 64 * 1024 * 1024;
/// Maximum number of bytes that are read of an error. The rest is ignored.
const ERROR_BODY: usize = 64 * 1024;

/// A pooled HTTP client that replaces the SDK's client, which keeps no idle connections and has no timeout.
///
/// The transport reads each answer completely, so that it can distinguish a truncated answer from an error. It also
/// reads answers that are errors, because the SDK drops their message, and their code if only the body contains it.
///
/// It is also the last policy of the pipeline. The SDK's own last policy logs each request at `debug` level, with the
/// `Authorization` header or the signature in the address, so this pipeline never calls it.
pub(super) struct Transport {
    client: reqwest::Client,
    timeout: Duration,
}

impl Transport {
    pub(super) fn new(client: reqwest::Client, timeout: Duration) -> Arc<Self> {
        Arc::new(Self { client, timeout })
    }

    async fn exchange(&self, request: &Request) -> Result<Response, RequestFailure> {
        let unsent = |reason: String| RequestFailure::Unsent { reason, passing: false };
        let method = reqwest::Method::from_bytes(request.method().as_ref().as_bytes());
        let method = method.map_err(|_| unsent("the HTTP method is invalid".to_owned()))?;
        let mut sent = reqwest::Request::new(method, request.url().clone());
        *sent.timeout_mut() = Some(self.timeout);
        // The SDK returns headers in a different order each time. Parsers that expect the previous order, such as the
        // one of Node.js, are slower then.
        let mut headers: Vec<_> = request.headers().iter().collect();
        headers.sort_unstable_by_key(|(name, _)| name.as_str());
        sent.headers_mut().reserve(headers.len());
        for (name, value) in headers {
            let name = header::HeaderName::from_bytes(name.as_str().as_bytes());
            let value = header::HeaderValue::from_str(value.as_str());
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(unsent("a header is invalid".to_owned()));
            };
            value.set_sensitive(name == header::AUTHORIZATION);
            sent.headers_mut().insert(name, value);
        }
        let Body::Bytes(body) = request.body() else {
            return Err(unsent("the request's body is a stream".to_owned()));
        };
        if !body.is_empty() {
            *sent.body_mut() = Some(body.clone().into());
        }
        let mut answer = self.client.execute(sent).await.map_err(|error| {
            if error.is_connect() {
                RequestFailure::Unsent { reason: format!("no connection: {}", reason(error)), passing: true }
            } else {
                RequestFailure::Lost(reason(error))
            }
        })?;
        let status = answer.status().as_u16();
        let headers = read_headers(answer.headers());
        if !(200..300).contains(&status) {
            // If the body is lost, the status alone is enough.
            let body = beginning(&mut answer, ERROR_BODY).await;
            return Err(RequestFailure::Refused(Refusal::read(status, &headers, &body)));
        }
        let body = whole(&mut answer, status).await?;
        let status = StatusCode::try_from(status).unwrap_or(StatusCode::Ok);
        Ok(Response::new(status, headers, Box::pin(BytesStream::new(body))))
    }
}

/// Reads the body to its end.
async fn whole(answer: &mut reqwest::Response, status: u16) -> Result<Bytes, RequestFailure> {
    let expected = answer.content_length().and_then(|length| usize::try_from(length).ok());
    if expected.is_some_and(|length| length > BODY) {
        return Err(RequestFailure::TooLarge(status));
    }
    let lost = |error| RequestFailure::Lost(reason(error));
    // Most answers arrive in one piece, which is returned without a copy.
    let Some(first) = answer.chunk().await.map_err(lost)? else { return Ok(Bytes::new()) };
    let Some(mut next) = answer.chunk().await.map_err(lost)? else { return bounded(first, status) };
    let mut body = BytesMut::with_capacity(expected.unwrap_or_default().max(first.len() + next.len()));
    body.extend_from_slice(&first);
    loop {
        if body.len() + next.len() > BODY {
            return Err(RequestFailure::TooLarge(status));
        }
        body.extend_from_slice(&next);
        next = match answer.chunk().await.map_err(lost)? {
            Some(next) => next,
            None => return Ok(body.freeze()),
        };
    }
}

fn bounded(body: Bytes, status: u16) -> Result<Bytes, RequestFailure> {
    if body.len() > BODY { Err(RequestFailure::TooLarge(status)) } else { Ok(body) }
}

/// Reads up to `most` bytes of the body, or fewer if the connection is lost.
async fn beginning(answer: &mut reqwest::Response, most: usize) -> BytesMut {
    let mut body = BytesMut::new();
    while let Ok(Some(next)) = answer.chunk().await {
        body.extend_from_slice(&next);
        if body.len() >= most {
            body.truncate(most);
            break;
        }
    }
    body
}

/// Describes an error without the address, which may contain a signature.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn read_headers(read: &header::HeaderMap) -> Headers {
    let mut all = Headers::new();
    for (name, value) in read {
        // A continuation token with characters outside ASCII must be kept: without it, the scan would end early.
        let value = value.to_str().map_or_else(
            |_| match std::str::from_utf8(value.as_bytes()) {
                Ok(text) => text.to_owned(),
                Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
            },
            str::to_owned,
        );
        all.insert(HeaderName::from(name.as_str().to_owned()), HeaderValue::from(value));
    }
    // Cosmos DB does not send all of these headers. Without them, the SDK reports an applied write as failed.
    let mut fill = |name: HeaderName, usable: bool, value: &'static str| {
        if !usable {
            all.insert(name, HeaderValue::from_static(value));
        }
    };
    let has = |name: &HeaderName| read.contains_key(name.as_str());
    let uuid = |text: &str| text.trim_matches(['{', '}']).parse::<crate::Guid>().is_ok();
    let request_id = read.get(headers::REQUEST_ID.as_str()).and_then(|id| id.to_str().ok());
    fill(headers::VERSION, has(&headers::VERSION), "2019-02-02");
    fill(headers::REQUEST_ID, request_id.is_some_and(uuid), "00000000-0000-0000-0000-000000000000");
    fill(headers::DATE, has(&headers::DATE), "Thu, 01 Jan 1970 00:00:00 GMT");
    fill(headers::SERVER, has(&headers::SERVER), "unknown");
    all
}

#[async_trait]
impl HttpClient for Transport {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<Response> {
        self.exchange(request).await.map_err(|failure| azure_core::Error::new(ErrorKind::Io, failure))
    }
}

/// The last policy of the pipeline, right after the policy that signs.
pub(super) struct Last {
    pub(super) transport: Arc<Transport>,
    /// The tokens that authorize requests, if nothing else does.
    pub(super) tokens: Option<Arc<Tokens>>,
}

impl Last {
    /// Sends a request, with a token if there are tokens. If the service refuses the token, sends the request once more
    /// with another one: a request that is answered with 401 was not carried out.
    async fn exchange(&self, request: &mut Request) -> Result<Response, RequestFailure> {
        let Some(tokens) = &self.tokens else { return self.transport.exchange(request).await };
        let token = tokens.current().await;
        let token = token.map_err(|reason| RequestFailure::Unsent { reason, passing: false })?;
        request.insert_header(headers::AUTHORIZATION, token.header());
        let mut refusal = match self.transport.exchange(request).await {
            Err(RequestFailure::Refused(refusal)) if refusal.status == 401 => refusal,
            answer => return answer,
        };
        debug!(code = refusal.code, "the service refused the token");
        match tokens.instead_of(&token).await {
            Ok(Some(other)) => {
                request.insert_header(headers::AUTHORIZATION, other.header());
                self.transport.exchange(request).await
            }
            Ok(None) => Err(RequestFailure::Refused(refusal)),
            Err(reason) => {
                let separator = if refusal.message.is_empty() { "" } else { " " };
                refusal.message = format!("{}{separator}(and no other token: {reason})", refusal.message);
                Err(RequestFailure::Refused(refusal))
            }
        }
    }
}

#[async_trait]
impl Policy for Last {
    async fn send(&self, _: &Context, request: &mut Request, _: &[Arc<dyn Policy>]) -> PolicyResult {
        self.exchange(request).await.map_err(|failure| azure_core::Error::new(ErrorKind::Io, failure))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transport.fmt(f)
    }
}
