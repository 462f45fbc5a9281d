//! Answers and headers of a web service on `axum`: for errors and versions.

mod if_match;

use std::{convert::Infallible, sync::Arc};

use axum_core::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use http::{
    StatusCode,
    header::{CONTENT_TYPE, ETAG, HeaderValue},
};
use serde::Serialize;

use crate::{ETag, Error};
pub use if_match::{IfMatch, IfMatchError};

/// An answer with the [status](Error::status) of the error and, as JSON, its [message for
/// anybody](Error::public_message): `{"error":"it has changed meanwhile"}`.
///
/// The answer has the error itself as an extension, an `Arc<Error>`, for a layer that counts or logs errors. An error with a status
/// of 500 or more is logged here: an event of the level `error` with its whole message, which names rows.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::error!(target: "table_runtime::axum", error = %self, "a request failed");
        }
        let mut response = refusal(status, &self.public_message());
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Sets the header `ETag` of an answer: `(etag, Json(note))`.
impl IntoResponseParts for ETag {
    type Error = Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Infallible> {
        // Every ETag is one; a service that sends another one has none here.
        if let Ok(value) = HeaderValue::try_from(self.to_string()) {
            response.headers_mut().insert(ETAG, value);
        }
        Ok(response)
    }
}

/// An answer without content that has the header `ETag`: `(StatusCode::NO_CONTENT, etag)`.
impl IntoResponse for ETag {
    fn into_response(self) -> Response {
        (self, ()).into_response()
    }
}

fn refusal(status: StatusCode, message: &str) -> Response {
    (status, json(&serde_json::json!({ "error": message }))).into_response()
}

/// Returns an answer of JSON. A value that is no JSON is an answer of the status 500.
pub fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response(),
        Err(error) => {
            tracing::error!(target: "table_runtime::axum", %error, "an answer cannot be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
