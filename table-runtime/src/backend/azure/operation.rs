//! A write in the form that the service expects: method, address and headers. They are the same for a single request
//! and in a transaction.

use azure_core::{
    Header, Method,
    headers::{self, HeaderName, HeaderValue, Headers},
};
use azure_data_tables::{IfMatchCondition, ReturnEntity};

use crate::backend::{Action, IfMatch};

pub(super) const DATA_SERVICE_VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
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

pub(super) const fn method(action: &Action) -> Method {
    match action {
        Action::Insert(_) => Method::Post,
        Action::Upsert(_) | Action::Replace(..) => Method::Put,
        Action::Merge(..) => Method::Merge,
        Action::Delete(_) => Method::Delete,
    }
}

/// Returns the headers of a write. An update, a patch and a delete always have a condition: without one, an update or a
/// patch would be an upsert.
pub(super) fn headers(action: &Action) -> Headers {
    let mut all = Headers::new();
    all.insert(headers::ACCEPT, JSON);
    all.insert(DATA_SERVICE_VERSION, VERSION_3);
    if action.properties().is_some() {
        all.insert(headers::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if matches!(action, Action::Insert(_)) {
        all.add(ReturnEntity::from(false));
    }
    if let Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) = action {
        let condition = match condition {
            IfMatch::Any => IfMatchCondition::Any,
            IfMatch::ETag(etag) => IfMatchCondition::Etag(etag.to_string().into()),
        };
        all.insert(condition.name(), condition.value());
    }
    all
}
