//! The HTTP client: the single place where requests are sent and answers are received, for every transport.

use std::{
    error::Error as _,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use reqwest::header;
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
use table_store::{Error, Result};
use tracing::warn;

use super::{
    clock::{Dated, ServiceClock},
    failure::{BODY, Problem, RequestFailure},
    headers,
    http::{HttpAnswer, HttpRequest},
};

/// Maximum number of bytes that are read of an error. The rest is ignored.
const ERROR_BODY: usize = 64 * 1024;

/// A pooled HTTP client with a timeout for each request.
///
/// It reads each answer completely, so that it can distinguish a truncated answer from an error.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    timeout: Duration,
    /// The clock that the answers correct, refusals too: the service refuses a request that a host signs with a wrong time.
    clock: Arc<ServiceClock>,
}

impl HttpClient {
    pub(super) fn new(client: reqwest::Client, timeout: Duration, clock: Arc<ServiceClock>) -> Self {
        Self { client, timeout, clock }
    }

    /// Sends a signed request once, and reads its answer.
    pub(super) async fn exchange(&self, request: HttpRequest) -> Result<HttpAnswer, RequestFailure> {
        let client_id = request.headers.get(headers::CLIENT_REQUEST_ID).map(headers::text).unwrap_or_default();
        let HttpRequest { method, url, headers: mut signed, body } = request;
        let mut is_timed = false;
        if let Some(signature) = signed.get_mut(header::AUTHORIZATION) {
            signature.set_sensitive(true);
            // Only the signature with a key contains the time.
            is_timed = signature.as_bytes().starts_with(b"SharedKey");
        }
        let signed_at = signed.get(headers::MS_DATE).filter(|_| is_timed).cloned();
        let mut sent = reqwest::Request::new(method, url);
        *sent.timeout_mut() = Some(self.timeout);
        *sent.headers_mut() = signed;
        if !body.is_empty() {
            *sent.body_mut() = Some(body.into());
        }
        let failed = |problem: Problem, answer: Option<&header::HeaderMap>| RequestFailure {
            problem,
            request: Some(headers::request_ids(&client_id, answer)),
        };
        let begin = SystemTime::now();
        let mut answer = self.client.execute(sent).await.map_err(|error| {
            let problem = if error.is_connect() {
                Problem::Unsent { reason: format!("no connection: {}", reason(error)), passing: true }
            } else {
                Problem::Lost(reason(error))
            };
            failed(problem, None)
        })?;
        let status = answer.status().as_u16();
        let received = std::mem::take(answer.headers_mut());
        let dated = Dated::of(&received);
        if let Some(dated) = &dated {
            self.clock.note(dated, begin, SystemTime::now());
        }
        let body = if (200..300).contains(&status) {
            whole(&mut answer, status).await.map_err(|problem| failed(problem, Some(&received)))?
        } else {
            // If the body is lost, the status alone is enough.
            beginning(&mut answer, ERROR_BODY).await.freeze()
        };
        HttpAnswer::of(&client_id, status, received, body).map_err(|failure| match (dated, signed_at) {
            (Some(dated), Some(signed)) if status == 403 && self.clock.note_refusal(&dated, &signed) => {
                failure.mistimed(&headers::text(&signed), &dated.text)
            }
            _ => failure,
        })
    }

    /// Returns the time at which a request is signed.
    pub(super) fn signing_time(&self) -> String {
        httpdate::fmt_http_date(self.clock.signing_time())
    }
}

/// Reads the body to its end.
async fn whole(answer: &mut reqwest::Response, status: u16) -> Result<Bytes, Problem> {
    let expected = answer.content_length().and_then(|length| usize::try_from(length).ok());
    if expected.is_some_and(|length| length > BODY) {
        return Err(too_large(status));
    }
    let lost = |error| Problem::Lost(reason(error));
    // Most answers arrive in one piece, which is returned without a copy.
    let Some(first) = answer.chunk().await.map_err(lost)? else { return Ok(Bytes::new()) };
    let Some(mut next) = answer.chunk().await.map_err(lost)? else { return bounded(first, status) };
    let mut body = BytesMut::with_capacity(expected.unwrap_or_default().max(first.len() + next.len()));
    body.extend_from_slice(&first);
    loop {
        if body.len() + next.len() > BODY {
            return Err(too_large(status));
        }
        body.extend_from_slice(&next);
        next = match answer.chunk().await.map_err(lost)? {
            Some(next) => next,
            None => return Ok(body.freeze()),
        };
    }
}

fn bounded(body: Bytes, status: u16) -> Result<Bytes, Problem> {
    if body.len() > BODY { Err(too_large(status)) } else { Ok(body) }
}

fn too_large(status: u16) -> Problem {
    Problem::Unusable { status, reason: format!("the answer cannot be read: it has more than {BODY} bytes") }
}

/// Reads up to `most` bytes of the body, or fewer if the connection is lost.
async fn beginning(answer: &mut reqwest::Response, most: usize) -> BytesMut {
    let mut body = BytesMut::new();
    while let Ok(Some(next)) = answer.chunk().await {
        body.extend_from_slice(&next);
        if body.len() >= most {
            body.truncate(most);
            break;
        }
    }
    body
}

/// Describes an error without the address, which may contain a signature.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Builds an HTTP client.
pub(super) fn build(connect_timeout: Duration) -> Result<reqwest::Client> {
    builder()?.connect_timeout(connect_timeout).build().map_err(|error| failed(&error))
}

#[cold]
fn failed(error: &dyn fmt::Display) -> Error {
    Error::Configuration(format!("no HTTP client: {error}"))
}

/// Returns a builder of HTTP clients that keep their connections open.
pub(super) fn builder() -> Result<reqwest::ClientBuilder> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls().map_err(|error| failed(&error))?)
        .pool_max_idle_per_host(usize::MAX)
        // Shorter than the service's idle timeout, so that a write seldom uses a connection that the service is just
        // closing.
        .pool_idle_timeout(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        // A write must not be sent twice.
        .retry(reqwest::retry::never());
    Ok(builder)
}

/// Returns the configuration of TLS, with `ring`. A program that has chosen another provider of cryptography for itself is
/// not affected.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let of_system = rustls_native_certs::load_native_certs();
    if !of_system.errors.is_empty() {
        let errors = of_system.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let certificates = of_system.certs.len();
        warn!(
            target: "table_runtime::backend::azure::client",
            errors,
            certificates,
            "root certificates of the system could not be read"
        );
    }
    let roots = roots(of_system.certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns the root certificates that are trusted: those of the system, or those of Mozilla if the system has none.
fn roots(of_system: Vec<CertificateDer<'_>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(of_system);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_certificates_trusts_those_of_mozilla() {
        assert_eq!(roots(Vec::new()).len(), webpki_roots::TLS_SERVER_ROOTS.len());
        // A certificate that cannot be read counts as none.
        assert_eq!(roots(vec![CertificateDer::from(vec![1, 2, 3])]).len(), webpki_roots::TLS_SERVER_ROOTS.len());
    }
}
