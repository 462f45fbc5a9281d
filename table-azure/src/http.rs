//! Requests and answers, as every transport sends and receives them.

use std::fmt;

use bytes::Bytes;
use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use table_store::{Error, Guid, backend::BoxFuture, error::RequestIds};

use super::{
    failure::{Problem, Refusal, RequestFailure},
    headers::{self, CLIENT_REQUEST_ID},
};

/// Version of the service's interface that requests ask for. It is the oldest one that accepts tokens of Entra ID.
pub(super) const VERSION: &str = "2020-12-06";

/// A request before it is signed. A transport adds what its signature needs.
#[derive(Clone)]
pub(super) struct HttpRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl HttpRequest {
    /// Gives the request a new identifier. It has one for each time that it is sent.
    pub(super) fn identify(&mut self) -> Result<(), RequestFailure> {
        let id = Guid::random().map_err(|error| RequestFailure::unsent(format!("no random bytes: {error}")))?;
        self.headers.insert(CLIENT_REQUEST_ID, value(&id.to_string())?);
        Ok(())
    }
}

/// The answer to a request whose status is a success, read completely.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) request: RequestIds,
}

impl HttpAnswer {
    /// Returns the answer to the request with this identifier, or the failure if its status is no success. No request asks for
    /// an answer below 200, or from 300 to 399, so such an answer says nothing about the request.
    pub(super) fn of(client_id: &str, status: u16, headers: HeaderMap, body: Bytes) -> Result<Self, RequestFailure> {
        let request = headers::request_ids(client_id, Some(&headers));
        let problem = match status {
            200..300 => return Ok(Self { status, headers, body, request }),
            400.. => Problem::Refused(Refusal::read(status, &headers, &body)),
            _ => Problem::Unusable { status, reason: format!("the answer has the status {status}") },
        };
        Err(RequestFailure { problem, request: Some(request) })
    }

    /// Returns the failure of a request whose answer has this problem.
    pub(super) fn failed(self, problem: Problem) -> RequestFailure {
        RequestFailure { problem, request: Some(self.request) }
    }

    /// Returns the error of an answer with unexpected content.
    pub(super) fn unreadable(self, table: &str, operation: &'static str, problem: impl fmt::Display) -> Error {
        let (status, reason) = (self.status, format!("the answer cannot be read: {problem}"));
        self.failed(Problem::Unusable { status, reason }).into_error(table, operation)
    }

    /// Returns a continuation token; `None` if the answer does not have it, or has an empty one.
    pub(super) fn token(&self, name: &HeaderName) -> Option<String> {
        self.headers.get(name).map(headers::text).filter(|token| !token.is_empty())
    }
}

/// The part of the client that signs requests and sends them.
pub(super) trait Transport: fmt::Debug + Send + Sync {
    /// Signs a request, sends it once, and reads its answer. An answer whose status is no success is a
    /// failure: see [`HttpAnswer::of`].
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, RequestFailure>>;
}

/// Returns the value of a header.
pub(super) fn value(text: &str) -> Result<HeaderValue, RequestFailure> {
    HeaderValue::from_str(text).map_err(|_| RequestFailure::unsent("a header is invalid"))
}
