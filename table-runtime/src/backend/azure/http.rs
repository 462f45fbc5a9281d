//! Requests and answers, as every transport sends and receives them.

use std::fmt;

use bytes::Bytes;
use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::failure::{Problem, RequestFailure};
use crate::{Guid, backend::BoxFuture, error::RequestIds};

pub(super) const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
pub(super) const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(super) const ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
pub(super) const MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(super) const MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");

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
    /// Returns the failure of a request whose answer has this problem.
    pub(super) fn failed(self, problem: Problem) -> RequestFailure {
        RequestFailure { problem, request: Some(self.request) }
    }

    /// Returns a header as text; `None` if the answer does not have it.
    pub(super) fn header(&self, name: &HeaderName) -> Option<String> {
        self.headers.get(name).map(text)
    }
}

/// The part of the client that signs requests and sends them.
pub(super) trait Transport: fmt::Debug + Send + Sync {
    /// Signs a request, sends it once, and reads its answer. An answer whose status is no success is a
    /// [`Problem::Refused`].
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, RequestFailure>>;
}

/// Returns the value of a header. A continuation token with characters outside ASCII must be kept: without it, the scan
/// would end early.
pub(super) fn text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
    }
}

/// Returns the value of a header.
pub(super) fn value(text: &str) -> Result<HeaderValue, RequestFailure> {
    HeaderValue::from_str(text).map_err(|_| RequestFailure::unsent("a header is invalid"))
}

/// Returns the identifiers of a request: its own, and that of the answer's headers if there was an answer.
pub(super) fn request_ids(client: &str, answer: Option<&HeaderMap>) -> RequestIds {
    let service = answer.and_then(|headers| headers.get(REQUEST_ID)).map(text);
    RequestIds::new(client, service.filter(|id| !id.is_empty()))
}
