//! Answers and headers of a web service on `axum`, with the feature `axum`.
//!
//! A handler returns an [`Error`](crate::Error) as it is, sends a version as the header `ETag`, and takes the version that its
//! client has seen from the header `If-Match`:
//!
//! ```
//! use axum::{Json, Router, extract::State, response::IntoResponse, routing::put};
//! use serde::{Deserialize, Serialize};
//! use table_runtime::{Result, Stored, TableEntity, Tables, axum::IfMatch};
//!
//! #[derive(TableEntity, Serialize, Deserialize)]
//! struct Note {
//!     #[partition_key]
//!     #[row_key]
//!     id: u32,
//!     text: String,
//! }
//!
//! /// 200 with the note and its new version; 412 if it has changed; 404; 428 without `If-Match`.
//! async fn change(tables: State<Tables>, IfMatch(seen): IfMatch, Json(note): Json<Note>) -> Result<Stored<Note>> {
//!     let mut note = Stored::new(note, seen);
//!     tables.update(&mut note).await?;
//!     Ok(note)
//! }
//!
//! /// 201 with the version in the header `ETag`; 409 if there is such a note.
//! async fn add(tables: State<Tables>, Json(note): Json<Note>) -> Result<impl IntoResponse> {
//!     let etag = tables.insert(&note).await?;
//!     Ok((axum::http::StatusCode::CREATED, etag, Json(note)))
//! }
//!
//! let service: Router<Tables> = Router::new().route("/notes", put(change).post(add));
//! ```
//!
//! A handler with answers of its own has the result [`axum::response::Result`], to which `?` converts errors and answers alike:
//! `Note::key(id).get(&tables).await?.ok_or(StatusCode::NOT_FOUND)?`.
//!
//! [`axum::response::Result`]: https://docs.rs/axum/0.8/axum/response/type.Result.html

use axum_core::response::{IntoResponse, Response};
use serde::Serialize;
#[doc(inline)]
pub use table_store::axum::{IfMatch, IfMatchError};
use table_store::unstable::json_answer;

use crate::{PageOf, Stored};

/// The entity as JSON, with its version in the header `ETag`.
impl<T: Serialize> IntoResponse for Stored<T> {
    fn into_response(self) -> Response {
        let json = json_answer(&self);
        (Self::etag(&self).clone(), json).into_response()
    }
}

/// The page as JSON: `{"entities":[…],"next":"…"}`, where `next` is the cursor of the next page, or `null`. With the version of
/// each entity: `page.with_etags().into_response()`.
impl<T: Serialize> IntoResponse for PageOf<T> {
    fn into_response(self) -> Response {
        json_answer(&self)
    }
}
