//! Names and values of headers.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use table_store::error::RequestIds;

pub(super) const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
pub(super) const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
pub(super) const ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
pub(super) const MS_DATE: HeaderName = HeaderName::from_static("x-ms-date");
pub(super) const MS_VERSION: HeaderName = HeaderName::from_static("x-ms-version");
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");

/// Returns the value of a header as text. A continuation token with characters outside ASCII must be kept: without it, the scan
/// would end early.
pub(super) fn text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
    }
}

/// Returns the identifiers of a request: its own, and that of the answer's headers if there was an answer.
pub(super) fn request_ids(client: &str, answer: Option<&HeaderMap>) -> RequestIds {
    let service = answer.and_then(|headers| headers.get(REQUEST_ID)).map(text);
    RequestIds::new(client, service.filter(|id| !id.is_empty()))
}
