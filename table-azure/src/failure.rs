//! Failures of requests, and what each of them proves about a write.

use std::{
    error, fmt,
    time::{Duration, SystemTime},
};

use reqwest::header::{self, HeaderMap};
use serde::Deserialize;
use table_store::{
    Error, Result, RowId,
    error::{OutcomeUnknownError, Refused, RequestIds, ServiceError},
};

use super::headers;

/// Maximum number of bytes that are read of a successful answer. A page of the service has up to 4 MiB of values, and
/// JSON's escapes and annotations make it larger.
pub(super) const BODY: usize = 64 * 1024 * 1024;

/// A request that has no usable answer.
#[derive(Clone, Debug)]
pub(super) struct RequestFailure {
    pub(super) problem: Problem,
    /// Identifiers of the request; `None` if none was sent.
    pub(super) request: Option<RequestIds>,
}

/// Reason why a request has no usable answer.
#[derive(Clone, Debug)]
pub(super) enum Problem {
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
    /// The answer has this status, which is no error, but it is not the answer to the request.
    Unusable { status: u16, reason: String },
}

/// An answer of the service that is an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// Empty if the answer has no code.
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
    /// True if the request was signed at a time that the service does not accept. The next attempt is signed by the
    /// service's clock.
    pub(super) is_mistimed: bool,
}

impl Refusal {
    /// Reads the answer. The code is in its header, or else in the body, which is JSON, XML or empty.
    pub(super) fn read(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let (code, message) = json(body).or_else(|| xml(body)).unwrap_or_default();
        let code = headers.get(headers::ERROR_CODE).map_or(code, headers::text);
        let message = message.trim().to_owned();
        Self { status, code, message, retry_after: retry_after(headers), is_mistimed: false }
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
/// or of `<Error><Code>…`, which the front end of Azure Storage writes. A page of HTML has none.
fn xml(body: &[u8]) -> Option<(String, String)> {
    let text = xml_text(body)?;
    let root = text.split('<').map(local_name).find(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()));
    root.filter(|root| !root.eq_ignore_ascii_case("html"))?;
    Some((element(text, "code").unwrap_or_default(), element(text, "message").unwrap_or_default()))
}

/// Returns the text of the first element of this name in a body of XML.
pub(super) fn element_of(body: &[u8], name: &str) -> Option<String> {
    element(xml_text(body)?, name)
}

fn xml_text(body: &[u8]) -> Option<&str> {
    // The end of the body may be cut off in the middle of a character.
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&body[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    text.starts_with('<').then_some(text)
}

/// Returns the text of the first element of this name, in any case and with any prefix. Answers in XML need no more of it
/// than this.
fn element(xml: &str, name: &str) -> Option<String> {
    let mut rest = xml;
    loop {
        let (_, after) = rest.split_once('<')?;
        let (tag, content) = after.split_once('>')?;
        if local_name(tag).eq_ignore_ascii_case(name) {
            let text = content.split('<').next()?;
            let unescaped =
                text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
            return Some(unescaped.replace("&amp;", "&"));
        }
        rest = content;
    }
}

/// Returns the name of an element without its prefix.
fn local_name(tag: &str) -> &str {
    let full = tag.split(|end: char| end.is_ascii_whitespace() || end == '>').next().unwrap_or_default();
    full.rsplit(':').next().unwrap_or_default()
}

/// Returns how long the service asks to wait: whole seconds or a time, or milliseconds in Azure's own headers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse().ok();
    let retry_after = header::RETRY_AFTER.as_str();
    let until = |time: &str| {
        let time = httpdate::parse_http_date(time).ok()?;
        Some(time.duration_since(SystemTime::now()).unwrap_or_default())
    };
    number("retry-after-ms")
        .or_else(|| number("x-ms-retry-after-ms"))
        .map(Duration::from_millis)
        .or_else(|| number(retry_after).map(Duration::from_secs))
        .or_else(|| text(retry_after).and_then(until))
}

impl RequestFailure {
    /// Returns the failure of a request that was not sent, and would not be in another attempt.
    #[cold]
    pub(super) fn unsent(reason: impl Into<String>) -> Self {
        Self { problem: Problem::Unsent { reason: reason.into(), passing: false }, request: None }
    }

    /// Returns true if a repeated read may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match &self.problem {
            Problem::Unsent { passing, .. } => *passing,
            Problem::Lost(_) => true,
            // The next answer would be just the same.
            Problem::Unusable { .. } => false,
            Problem::Refused(Refusal { status, is_mistimed, .. }) => {
                *is_mistimed || matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
            }
        }
    }

    /// Returns true if another attempt may succeed, and a write was certainly not applied and will not be.
    pub(super) fn harmless(&self) -> bool {
        match &self.problem {
            Problem::Unsent { passing, .. } => *passing,
            Problem::Lost(_) | Problem::Unusable { .. } => false,
            Problem::Refused(refusal) => refusal.is_mistimed || refusal.status == 429 || refusal.busy(),
        }
    }

    /// Returns true if the region may be down: it does not answer, or answers with a server error.
    pub(super) fn is_outage(&self) -> bool {
        match &self.problem {
            Problem::Unsent { passing, .. } => *passing,
            Problem::Lost(_) => true,
            Problem::Unusable { .. } => false,
            Problem::Refused(Refusal { status, .. }) => matches!(status, 500 | 502 | 503 | 504),
        }
    }

    /// Returns true if the service answered that it is overloaded.
    pub(super) fn is_overload(&self) -> bool {
        match &self.problem {
            Problem::Refused(Refusal { status, code, .. }) => {
                matches!(status, 429 | 503) || *status == 500 && code == "OperationTimedOut"
            }
            _ => false,
        }
    }

    /// Returns true if the service answered with this status and one of these codes.
    pub(super) fn is_refused(&self, refused_with: u16, codes: &[&str]) -> bool {
        matches!(&self.problem, Problem::Refused(Refusal { status, code, .. })
            if *status == refused_with && codes.contains(&code.as_str()))
    }

    /// Returns true if a write may have been applied.
    fn may_have_been_applied(&self) -> bool {
        match &self.problem {
            Problem::Unsent { .. } => false,
            Problem::Lost(_) | Problem::Unusable { .. } => true,
            // 501 means that the service does not implement such a request.
            Problem::Refused(refusal) => {
                (refusal.status == 408 || refusal.status >= 500) && refusal.status != 501 && !refusal.busy()
            }
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match &self.problem {
            Problem::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// Returns the answer's status, if there was an answer.
    pub(super) fn status(&self) -> Option<u16> {
        match &self.problem {
            Problem::Refused(refusal) => Some(refusal.status),
            Problem::Unusable { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns true if the answer is no error, and not the answer to the request.
    pub(super) fn is_unusable(&self) -> bool {
        matches!(self.problem, Problem::Unusable { .. })
    }

    /// Returns a note on an answer that does not come from the service, which gives each request an identifier, and each
    /// error a code.
    fn note(&self) -> Option<&'static str> {
        let is_answer = match &self.problem {
            Problem::Unusable { .. } => true,
            Problem::Refused(refusal) => refusal.code.is_empty(),
            Problem::Unsent { .. } | Problem::Lost(_) => false,
        };
        let is_foreign = is_answer && self.request.as_ref().is_some_and(|request| request.service.is_none());
        is_foreign.then_some("the answer has no request id: it does not come from the service")
    }

    /// Converts the failure of a read, or of a write that was not applied, into an error.
    pub(super) fn into_error(mut self, table: &str, operation: &'static str) -> Error {
        let text = self.to_string();
        if let Some(note) = self.note() {
            self.add(note);
        }
        let (table, Self { problem, request }) = (table.to_owned(), self);
        let (status, code, message) = match problem {
            Problem::Unsent { reason, .. } | Problem::Lost(reason) => {
                return Error::NoAnswer { table, operation, reason, request: request.map(Box::new) };
            }
            Problem::Unusable { status, .. } => (status, String::new(), text),
            Problem::Refused(Refusal { status, code, message, .. }) => match code.as_str() {
                "TableNotFound" => return Error::TableNotFound(Refused::new(table, request)),
                "TableBeingDeleted" => return Error::TableBeingDeleted(Refused::new(table, request)),
                _ => (status, code, message),
            },
        };
        Box::new(ServiceError::new(table, operation, status, code, message, request)).into()
    }

    /// Explains the refusal of a request that was signed at `host`, while the service's clock showed `service`.
    #[cold]
    pub(super) fn mistimed(mut self, host: &str, service: &str) -> Self {
        if let Problem::Refused(refusal) = &mut self.problem {
            refusal.is_mistimed = true;
            self.add(&format!("the request was signed at {host}, but the service's clock shows {service}"));
        }
        self
    }

    /// Adds to the message of a refusal.
    pub(super) fn add(&mut self, text: &str) {
        if let Problem::Refused(Refusal { message, .. }) = &mut self.problem {
            *message = if message.is_empty() { text.to_owned() } else { format!("{message} ({text})") };
        }
    }

    /// Removes the failed operation's index from the message of a transaction's refusal, such as
    /// `2:The specified entity …`, and returns the index.
    pub(super) fn split_index(&mut self) -> Option<usize> {
        let Problem::Refused(Refusal { message, .. }) = &mut self.problem else { return None };
        let (index, rest) = message.split_once(':')?;
        let index = index.parse().ok()?;
        *message = rest.to_owned();
        Some(index)
    }

    /// Returns what a refused write has found in a row; `None` if it was refused for another reason, or not at all.
    pub(super) fn found(&self) -> Option<Found> {
        let Problem::Refused(Refusal { status, code, .. }) = &self.problem else { return None };
        match (status, code.as_str()) {
            (409, "EntityAlreadyExists") => Some(Found::Row),
            (404, "ResourceNotFound" | "EntityNotFound") => Some(Found::NoRow),
            (412, _) => Some(Found::OtherVersion),
            _ => None,
        }
    }

    /// Converts the failure of a write into an error. `row` is the row that was refused; of a transaction whose outcome is
    /// unknown, the first one.
    pub(super) fn into_write_error(self, operation: &'static str, row: RowId) -> Error {
        if self.may_have_been_applied() {
            let mut error = OutcomeUnknownError::new(operation, row, self.to_string());
            error.request = self.request;
            return Box::new(error).into();
        }
        match self.found() {
            Some(Found::Row) => Error::AlreadyExists(Refused::new(row, self.request)),
            Some(Found::NoRow) => Error::NotFound(Refused::new(row, self.request)),
            Some(Found::OtherVersion) => Error::ConditionNotMet(Refused::new(row, self.request)),
            None => self.into_error(&row.table, operation),
        }
    }
}

/// What a refused write has found in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Row,
    NoRow,
    OtherVersion,
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
        match &self.problem {
            Problem::Unsent { reason, .. } | Problem::Lost(reason) | Problem::Unusable { reason, .. } => {
                f.write_str(reason)
            }
            Problem::Refused(Refusal { status, code, .. }) if code.is_empty() => {
                write!(f, "the service answered {status}")
            }
            Problem::Refused(Refusal { status, code, .. }) => write!(f, "the service answered {status} {code}"),
        }?;
        self.note().map_or(Ok(()), |note| write!(f, " ({note})"))
    }
}

impl error::Error for RequestFailure {}

/// Converts the answer that there is no such row into `Ok(None)`.
pub(super) fn absent<T>(result: Result<T, RequestFailure>) -> Result<Option<T>, RequestFailure> {
    match result {
        Err(failure) if failure.is_refused(404, &["ResourceNotFound", "EntityNotFound"]) => Ok(None),
        result => result.map(Some),
    }
}
