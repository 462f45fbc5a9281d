//! The header `If-Match` of a request.

use axum_core::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::{IntoResponse, Response},
};
use http::{StatusCode, header::IF_MATCH, request::Parts};

use super::refusal;
use crate::{ETag, ParseETagError};

/// The version that a client has seen, from the header `If-Match` of its request. As `Option<IfMatch>`, it may be missing.
///
/// It is one version: the answer to `If-Match: *`, or to a list of versions, is 400, because no write becomes unconditional by
/// accident. The answer to a request without the header is 428.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IfMatch(pub ETag);

/// Why a request has no [`IfMatch`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IfMatchError {
    /// The header is missing: status 428.
    #[error("If-Match is missing")]
    Missing,
    /// The header is not one ETag: status 400.
    #[error("If-Match is not an ETag")]
    Malformed(#[from] ParseETagError),
}

impl IntoResponse for IfMatchError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Missing => StatusCode::PRECONDITION_REQUIRED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
        };
        refusal(status, &self.to_string())
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for IfMatch {
    type Rejection = IfMatchError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, IfMatchError> {
        let mut headers = parts.headers.get_all(IF_MATCH).iter();
        match (headers.next(), headers.next()) {
            (None, _) => Ok(None),
            (Some(header), None) => {
                let text = header.to_str().map_err(|_| ParseETagError)?;
                Ok(Some(Self(text.trim().parse()?)))
            }
            (Some(_), Some(_)) => Err(ParseETagError.into()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = IfMatchError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, IfMatchError> {
        let found = <Self as OptionalFromRequestParts<S>>::from_request_parts(parts, state).await?;
        found.ok_or(IfMatchError::Missing)
    }
}
