//! A write in the form that the service expects: method, address and headers. They are the same for a single request
//! and in a transaction.

use std::sync::LazyLock;

use reqwest::{
    Method,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, IF_MATCH},
};
use table_store::backend::{Action, IfMatch};

use super::headers::{DATA_SERVICE_VERSION, PREFER};

pub(super) const VERSION_3: HeaderValue = HeaderValue::from_static("3.0");
/// Format that answers should have. Without an `Accept` that asks for JSON, errors of some requests come as XML.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json;odata=nometadata");

/// Kind of address that a write goes to.
pub(super) enum Address {
    Table,
    Row,
}

pub(super) const fn address(action: &Action) -> Address {
    if matches!(action, Action::Insert(_)) { Address::Table } else { Address::Row }
}

pub(super) fn method(action: &Action) -> Method {
    match action {
        Action::Insert(_) => Method::POST,
        Action::Upsert(_) | Action::Replace(..) => Method::PUT,
        Action::Merge(..) => merge(),
        Action::Delete(_) => Method::DELETE,
    }
}

/// Returns the service's own method for a write that keeps the row's other properties.
fn merge() -> Method {
    static MERGE: LazyLock<Method> = LazyLock::new(|| Method::from_bytes(b"MERGE").unwrap_or(Method::PATCH));
    MERGE.clone()
}

/// Returns the headers of a write. An update, a patch and a delete always have a condition: without one, an update or a
/// patch would be an upsert.
pub(super) fn headers(action: &Action) -> HeaderMap {
    let mut all = HeaderMap::with_capacity(8);
    all.insert(ACCEPT, JSON);
    all.insert(DATA_SERVICE_VERSION, VERSION_3);
    if action.properties().is_some() {
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if matches!(action, Action::Insert(_)) {
        all.insert(PREFER, HeaderValue::from_static("return-no-content"));
    }
    if let Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) = action {
        let condition = match condition {
            IfMatch::Any => HeaderValue::from_static("*"),
            // An ETag consists of visible ASCII characters. Any other text would match no row.
            IfMatch::ETag(etag) => HeaderValue::from_str(&etag.to_string()).unwrap_or(HeaderValue::from_static("\"\"")),
        };
        all.insert(IF_MATCH, condition);
    }
    all
}
