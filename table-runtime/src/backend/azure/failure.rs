//! Failures of requests, and what each of them proves about a write.

use std::{
    error, fmt,
    time::{Duration, SystemTime},
};

use azure_core::{
    date::parse_rfc1123,
    headers::{self, HeaderName, Headers},
};
use serde::Deserialize;

use crate::{Error, OutcomeUnknownError, Result, RowId, ServiceError};

/// Reason why a request has no usable answer. The SDK's pipeline carries it inside its own error.
#[derive(Clone, Debug)]
pub(super) enum RequestFailure {
    /// No connection, or no token: nothing was sent.
    Unsent {
        reason: String,
        /// True if another attempt may succeed soon.
        passing: bool,
    },
    /// The request was sent, perhaps only in part, and no complete answer came back.
    Lost(String),
    /// The service answered with an error.
    Refused(Refusal),
    /// The service answered with success, but the SDK could not read the answer.
    Unread,
    /// The service answered with success and this status, but the answer is larger than the limit.
    TooLarge(u16),
}

/// An answer of the service that is an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// Empty if the answer has no code.
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads the answer. The code is in its header, or else in the body, which is JSON, XML or empty.
    pub(super) fn read(status: u16, headers: &Headers, body: &[u8]) -> Self {
        let (code, message) = json(body).or_else(|| xml(body)).unwrap_or_default();
        let code = headers.get_optional_string(&headers::ERROR_CODE).unwrap_or(code);
        let message = message.trim().to_owned();
        Self { status, code, message, retry_after: retry_after(headers) }
    }

    /// Removes the failed operation's index from a transaction's message, such as `2:The specified entity …`, and
    /// returns the index.
    pub(super) fn split_index(&mut self) -> Option<usize> {
        let (index, message) = self.message.split_once(':')?;
        let index = index.parse().ok()?;
        self.message = message.to_owned();
        Some(index)
    }
}

#[derive(Deserialize)]
struct JsonError {
    #[serde(alias = "odata.error")]
    error: JsonErrorBody,
}

#[derive(Deserialize)]
struct JsonErrorBody {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: JsonMessage,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonMessage {
    Text(String),
    Localised { value: String },
}

impl Default for JsonMessage {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Reads the code and the message of `{"odata.error":{"code":"…","message":{"lang":"en-us","value":"…"}}}`.
fn json(body: &[u8]) -> Option<(String, String)> {
    let JsonErrorBody { code, message } = serde_json::from_slice::<JsonError>(body).ok()?.error;
    let (JsonMessage::Text(message) | JsonMessage::Localised { value: message }) = message;
    Some((code, message))
}

/// Reads the code and the message of `<m:error><m:code>…</m:code><m:message xml:lang="en-US">…</m:message></m:error>`,
/// or of `<Error><Code>…`, which the front end of Azure Storage writes.
fn xml(body: &[u8]) -> Option<(String, String)> {
    // The end of the body may be cut off in the middle of a character.
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&body[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if !text.starts_with('<') {
        return None;
    }
    Some((element(text, "code").unwrap_or_default(), element(text, "message").unwrap_or_default()))
}

/// Returns the text of the first element of this name, in any case and with any prefix. Errors need no more of XML than
/// this.
fn element(xml: &str, name: &str) -> Option<String> {
    let mut rest = xml;
    loop {
        let (_, after) = rest.split_once('<')?;
        let (tag, content) = after.split_once('>')?;
        let full = tag.split_ascii_whitespace().next().unwrap_or_default();
        let local = full.rsplit(':').next().unwrap_or_default();
        if local.eq_ignore_ascii_case(name) {
            let text = content.split('<').next()?;
            let unescaped =
                text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
            return Some(unescaped.replace("&amp;", "&"));
        }
        rest = content;
    }
}

/// Returns how long the service asks to wait: whole seconds or a time, or milliseconds in Azure's own headers.
fn retry_after(headers: &Headers) -> Option<Duration> {
    let text = |name: HeaderName| headers.get_optional_str(&name).map(str::trim);
    let number = |name: HeaderName| text(name)?.parse().ok();
    let until = |time: &str| {
        let time = SystemTime::from(parse_rfc1123(time).ok()?);
        Some(time.duration_since(SystemTime::now()).unwrap_or_default())
    };
    number(headers::RETRY_AFTER_MS)
        .or_else(|| number(headers::X_MS_RETRY_AFTER_MS))
        .map(Duration::from_millis)
        .or_else(|| number(headers::RETRY_AFTER).map(Duration::from_secs))
        .or_else(|| text(headers::RETRY_AFTER).and_then(until))
}

impl RequestFailure {
    /// Extracts the failure from an error of the SDK's pipeline.
    pub(super) fn of(error: azure_core::Error) -> Self {
        let error = match error.into_downcast::<Self>() {
            Ok(failure) => return failure,
            Err(error) => error,
        };
        match error.kind() {
            // The request could not be signed.
            azure_core::error::ErrorKind::Credential => Self::Unsent { reason: error.to_string(), passing: false },
            // Every error of the transport contains a `RequestFailure`. Any other error was raised after a successful answer.
            _ => Self::Unread,
        }
    }

    /// Returns true if a repeated read may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unsent { passing, .. } => *passing,
            Self::Lost(_) => true,
            // The next answer would be just as unreadable or as large.
            Self::Unread | Self::TooLarge(_) => false,
            Self::Refused(Refusal { status, .. }) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
        }
    }

    /// Returns true if another attempt may succeed, and a write was certainly not applied and will not be.
    pub(super) fn harmless(&self) -> bool {
        match self {
            Self::Unsent { passing, .. } => *passing,
            Self::Lost(_) | Self::Unread | Self::TooLarge(_) => false,
            Self::Refused(refusal) => refusal.status == 429 || refusal.busy(),
        }
    }

    /// Returns true if the region may be down: it does not answer, or answers with a server error.
    pub(super) fn is_outage(&self) -> bool {
        match self {
            Self::Unsent { passing, .. } => *passing,
            Self::Lost(_) => true,
            Self::Unread | Self::TooLarge(_) => false,
            Self::Refused(Refusal { status, .. }) => matches!(status, 500 | 502 | 503 | 504),
        }
    }

    /// Returns true if the service answered that it is overloaded.
    pub(super) fn is_overload(&self) -> bool {
        match self {
            Self::Refused(Refusal { status, code, .. }) => {
                matches!(status, 429 | 503) || *status == 500 && code == "OperationTimedOut"
            }
            _ => false,
        }
    }

    /// Returns true if a write may have been applied.
    fn may_have_been_applied(&self) -> bool {
        match self {
            Self::Unsent { .. } => false,
            Self::Lost(_) | Self::Unread | Self::TooLarge(_) => true,
            // 501 means that the service does not implement such a request.
            Self::Refused(refusal) => {
                (refusal.status == 408 || refusal.status >= 500) && refusal.status != 501 && !refusal.busy()
            }
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// Returns the answer's status, if there was an answer.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            Self::TooLarge(status) => Some(*status),
            _ => None,
        }
    }

    /// Converts the failure of a read, or of a write that was not applied, into an error.
    pub(super) fn into_error(self, table: &str, operation: &'static str) -> Error {
        match self {
            Self::Unsent { .. } | Self::Lost(_) | Self::Unread => {
                Error::NoAnswer { table: table.to_owned(), operation, reason: self.to_string() }
            }
            Self::TooLarge(status) => {
                let message = self.to_string();
                Box::new(ServiceError { table: table.to_owned(), operation, status, code: String::new(), message })
                    .into()
            }
            Self::Refused(refusal) => match refusal.code.as_str() {
                "TableNotFound" => Error::TableNotFound(table.to_owned()),
                "TableBeingDeleted" => Error::TableBeingDeleted(table.to_owned()),
                _ => {
                    let Refusal { status, code, message, .. } = refusal;
                    Box::new(ServiceError { table: table.to_owned(), operation, status, code, message }).into()
                }
            },
        }
    }

    /// Converts the failure of a write into an error. `row` returns the row key of the `n`th operation: a single write
    /// has one, a transaction has several.
    pub(super) fn into_write_error<'a>(
        mut self,
        table: &str,
        operation: &'static str,
        row: impl Fn(usize) -> Option<&'a str>,
        partition_key: &str,
    ) -> Error {
        let id = |n: usize| {
            let row_key = row(n).or_else(|| row(0)).unwrap_or_default().to_owned();
            Box::new(RowId { table: table.to_owned(), partition_key: partition_key.to_owned(), row_key })
        };
        if self.may_have_been_applied() {
            let reason = self.to_string();
            return Box::new(OutcomeUnknownError::new(operation, *id(0), reason)).into();
        }
        let Self::Refused(refusal) = &mut self else { return self.into_error(table, operation) };
        let index = if operation == "transaction" { refusal.split_index() } else { None };
        let id = id(index.unwrap_or(0));
        match (refusal.status, refusal.code.as_str()) {
            (409, "EntityAlreadyExists") => Error::AlreadyExists(id),
            (404, "ResourceNotFound" | "EntityNotFound") => Error::NotFound(id),
            (412, _) => Error::ConditionNotMet(id),
            _ => self.into_error(table, operation),
        }
    }
}

impl Refusal {
    /// Returns true if the service refused the request without processing it, because it was too busy.
    fn busy(&self) -> bool {
        self.status == 503 && self.code == "ServerBusy"
    }
}

/// Describes the failure, without addresses or credentials.
impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsent { reason, .. } | Self::Lost(reason) => f.write_str(reason),
            Self::Unread => f.write_str("the answer cannot be read"),
            Self::TooLarge(_) => {
                write!(f, "the answer cannot be read: it has more than {} bytes", super::transport::BODY)
            }
            Self::Refused(Refusal { status, code, .. }) if code.is_empty() => {
                write!(f, "the service answered {status}")
            }
            Self::Refused(Refusal { status, code, .. }) => write!(f, "the service answered {status} {code}"),
        }
    }
}

impl error::Error for RequestFailure {}

/// Returns the error for a successful answer with unexpected content.
pub(super) fn unreadable(table: &str, operation: &'static str, status: u16, problem: impl fmt::Display) -> Error {
    let message = format!("the answer cannot be read: {problem}");
    Box::new(ServiceError { table: table.to_owned(), operation, status, code: String::new(), message }).into()
}

/// Converts the answer that there is no such row into `Ok(None)`.
pub(super) fn absent<T>(result: Result<T, RequestFailure>) -> Result<Option<T>, RequestFailure> {
    match result {
        Err(RequestFailure::Refused(refusal))
            if refusal.status == 404 && matches!(refusal.code.as_str(), "ResourceNotFound" | "EntityNotFound") =>
        {
            Ok(None)
        }
        result => result.map(Some),
    }
}
