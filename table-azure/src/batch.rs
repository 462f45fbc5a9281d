//! Entity group transactions: a `multipart/mixed` request that contains a changeset, and its answer.

use std::{fmt, io::Write};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use table_store::{ETag, Error, Guid, Result, backend::Group, error::LimitError, unstable::limits};

use super::{
    azurite,
    endpoint::Endpoint,
    entity,
    failure::{Problem, Refusal},
    headers,
    operation::{self, Address},
};

/// The request of a transaction.
pub(super) struct Batch {
    pub(super) content_type: HeaderValue,
    pub(super) body: Vec<u8>,
}

impl Batch {
    /// Writes the request. Returns an error, so that nothing is sent, if the request has too many bytes (the service
    /// counts all of them, including the lines of the envelope), or if Azurite would write another row.
    pub(super) fn write(endpoint: &Endpoint, group: &Group) -> Result<Self> {
        if endpoint.is_azurite() {
            azurite::check_batch(group)?;
        }
        let batch = format!("batch_{}", Guid::random()?);
        let changeset = format!("changeset_{}", Guid::random()?);
        let texts = endpoint.texts();
        let mut body = Vec::with_capacity(512 * group.operations.len());
        line(&mut body, format_args!("--{batch}\r\nContent-Type: multipart/mixed; boundary={changeset}\r\n"));
        for one in &group.operations {
            line(&mut body, format_args!("--{changeset}\r\nContent-Type: application/http"));
            line(&mut body, format_args!("Content-Transfer-Encoding: binary\r\n"));
            let address = match operation::address(&one.action) {
                Address::Table => endpoint.table(&group.table),
                Address::Row => endpoint.row(&group.table, &group.partition_key, &one.row_key),
            };
            line(&mut body, format_args!("{} {address} HTTP/1.1", operation::method(&one.action)));
            for (name, value) in &operation::headers(&one.action) {
                line(&mut body, format_args!("{name}: {}", headers::text(value)));
            }
            line(&mut body, format_args!(""));
            if let Some(properties) = one.action.properties() {
                entity::write(&mut body, texts, &group.partition_key, &one.row_key, properties);
            }
            line(&mut body, format_args!(""));
        }
        line(&mut body, format_args!("--{changeset}--\r\n--{batch}--"));
        if body.len() > limits::TRANSACTION_BYTES {
            return Err(Box::new(LimitError::new(
                group.table.to_string(),
                None,
                "the transaction's request has".to_owned(),
                format!("{} bytes", body.len()),
                "4194304 bytes",
            ))
            .into());
        }
        let content_type = HeaderValue::from_str(&format!("multipart/mixed; boundary={batch}"));
        Ok(Self { content_type: content_type.map_err(|error| Error::Configuration(error.to_string()))?, body })
    }
}

/// Appends a line with the line ending that the service requires.
fn line(body: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // Writing to a `Vec` never fails.
    let _ = write!(body, "{text}\r\n");
}

/// Reads the answer, whose outer status is 202: the new `ETag`s, or the failure of the whole transaction.
///
/// Reads strictly, because an answer that is truncated, or that describes other operations than were requested, proves
/// nothing.
pub(super) fn read(content_type: &str, body: &[u8], group: &Group) -> Result<Vec<Option<ETag>>, Problem> {
    let lost = |what: &str| Problem::Lost(format!("the transaction's answer cannot be read: {what}"));
    let text = std::str::from_utf8(body).map_err(|_| lost("it is not UTF-8"))?;
    let outer = boundary(content_type).ok_or_else(|| lost("no boundary"))?;
    let outer = parts(text, outer).ok_or_else(|| lost("its end is missing"))?;
    let [whole] = outer.as_slice() else { return Err(lost("not one changeset")) };
    let (head, changes) = head(whole.trim_start_matches(['\r', '\n']));
    let answers = match header(head, "content-type").and_then(boundary) {
        Some(inner) => parts(changes, inner).ok_or_else(|| lost("its changeset's end is missing"))?,
        // An error answer may come without a changeset.
        None => vec![*whole],
    };
    let answers = answers.into_iter().map(|answer| answer_of(answer).ok_or_else(|| lost("an answer without a status")));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    if let Some(BatchAnswer { status, head, body }) = answers.iter().find(|answer| answer.status >= 400) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields(head) {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        return Err(Problem::Refused(Refusal::read(*status, &headers, body.trim().as_bytes())));
    }
    if answers.len() != group.operations.len() {
        return Err(lost("it describes more or fewer operations than were requested"));
    }
    if answers.iter().any(|answer| !matches!(answer.status, 201 | 204)) {
        return Err(lost("the status of an operation is neither a success nor an error"));
    }
    let etags = answers.iter().zip(&group.operations).map(|(answer, one)| match header(answer.head, "etag") {
        _ if one.action.properties().is_none() => Ok(None),
        Some(etag) => etag.parse().map(Some).map_err(|_| lost("an ETag is malformed")),
        None => Err(lost("an ETag is missing")),
    });
    etags.collect()
}

/// The answer to one operation.
struct BatchAnswer<'a> {
    status: u16,
    head: &'a str,
    body: &'a str,
}

/// Parses an `application/http` part: the part's headers, a status line, the answer's headers, and its body.
fn answer_of(part: &str) -> Option<BatchAnswer<'_>> {
    let part = part.trim_start_matches(['\r', '\n']);
    let http = if part.starts_with("HTTP/") { part } else { head(part).1.trim_start_matches(['\r', '\n']) };
    let (status_line, rest) = http.split_once('\n')?;
    let mut words = status_line.split_ascii_whitespace();
    let status = words.next().filter(|version| version.starts_with("HTTP/")).and(words.next())?.parse().ok()?;
    let (head, body) = head(rest);
    Some(BatchAnswer { status, head, body })
}

/// Returns the value of `boundary` in a content type.
fn boundary(content_type: &str) -> Option<&str> {
    let (media, parameters) = content_type.split_once(';')?;
    if !media.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let mut parameters = parameters.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    let (_, boundary) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    Some(boundary.trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

/// Returns the parts between the boundary lines; `None` if the closing boundary is missing.
fn parts<'a>(text: &'a str, boundary: &str) -> Option<Vec<&'a str>> {
    let mut parts = Vec::new();
    let mut begin = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(rest) = line.strip_prefix("--").and_then(|line| line.strip_prefix(boundary)) {
            let closing = rest.trim_end() == "--";
            if closing || rest.trim_end().is_empty() {
                if let Some(begin) = begin.replace(end) {
                    parts.push(text.get(begin..at)?);
                }
                if closing {
                    return Some(parts);
                }
            }
        }
        at = end;
    }
    None
}

/// Splits a text into its headers and the text after the empty line that ends them. Both kinds of line ending occur.
fn head(text: &str) -> (&str, &str) {
    if let Some(body) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')) {
        return ("", body);
    }
    let end = |separator: &str| text.find(separator).map(|at| (at, at + separator.len()));
    match [end("\r\n\r\n"), end("\n\n")].into_iter().flatten().min() {
        Some((end, begin)) => (&text[..end], &text[begin..]),
        None => (text, ""),
    }
}

fn fields(head: &str) -> impl Iterator<Item = (&str, &str)> {
    head.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim()))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    fields(head).find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Returns the content type of an answer.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
