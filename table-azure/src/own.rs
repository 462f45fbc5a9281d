//! The client's own transport: signs requests and sends them.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{
    Url,
    header::{self, HeaderValue},
};
use sha2::Sha256;
use table_store::{Error, Result, backend::BoxFuture};
use tracing::debug;

use super::{
    client::HttpClient,
    failure::RequestFailure,
    headers::{self, MS_DATE, MS_VERSION},
    http::{self, HttpAnswer, HttpRequest, Transport, VERSION},
    token::{TokenSource, Tokens},
};

/// Signs requests with a credential, and sends them.
pub(super) struct OwnTransport {
    client: HttpClient,
    signer: Signer,
}

/// What authorizes a request.
pub(super) enum Signer {
    Key(SharedKey),
    /// The parameters of a shared access signature.
    Sas(Vec<(String, String)>),
    Tokens(Arc<Tokens>),
}

/// The key of an account.
#[derive(Clone)]
pub(super) struct SharedKey {
    account: String,
    /// A signature to which nothing was added yet.
    hmac: Hmac<Sha256>,
    scheme: Scheme,
}

/// The scheme of a signature with an account's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Signs the method, the type of the content, the date and the address.
    #[default]
    SharedKey,
    /// Signs the date and the address.
    SharedKeyLite,
}

impl OwnTransport {
    pub(super) fn new(client: HttpClient, signer: Signer) -> Self {
        Self { client, signer }
    }

    /// Sends a request with a token. If the service refuses the token, sends the request once more with another one: a
    /// request that is answered with 401 was not carried out.
    async fn send_with_token(
        &self,
        tokens: &Arc<Tokens>,
        mut request: HttpRequest,
    ) -> Result<HttpAnswer, RequestFailure> {
        let token = tokens.current().await.map_err(RequestFailure::unsent)?;
        authorize(&mut request, &token.header())?;
        let mut refused = match self.client.exchange(request.clone()).await {
            Err(failure) if failure.status() == Some(401) => failure,
            answer => return answer,
        };
        debug!(target: "table_runtime::backend::azure::own", failure = %refused, "the service refused the token");
        match tokens.instead_of(&token).await {
            Ok(Some(other)) => {
                request.identify()?;
                authorize(&mut request, &other.header())?;
                self.client.exchange(request).await
            }
            Ok(None) => Err(refused),
            Err(reason) => {
                refused.add(&format!("no other token: {reason}"));
                Err(refused)
            }
        }
    }
}

impl Transport for OwnTransport {
    fn send(&self, mut request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, RequestFailure>> {
        Box::pin(async move {
            request.headers.insert(MS_VERSION, HeaderValue::from_static(VERSION));
            request.headers.insert(MS_DATE, http::value(&self.client.signing_time())?);
            match &self.signer {
                Signer::Key(key) => {
                    let signature = key.signature(&request);
                    authorize(&mut request, &signature)?;
                }
                Signer::Sas(parameters) => {
                    request.url.query_pairs_mut().extend_pairs(parameters);
                }
                Signer::Tokens(tokens) => return self.send_with_token(tokens, request).await,
            }
            self.client.exchange(request).await
        })
    }
}

impl fmt::Debug for OwnTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

impl Signer {
    /// Returns what signs with a shared access signature, `sv=…&sig=…`.
    pub(super) fn sas(token: &str) -> Result<Self> {
        let token = token.trim_start_matches('?');
        // Parsed as the query of an address, as the service reads it.
        let url = Url::parse(&format!("https://sas/?{token}"));
        let parameters: Vec<(String, String)> =
            url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default();
        if !parameters.iter().any(|(name, value)| name == "sig" && !value.is_empty()) {
            let reason = "the shared access signature (SharedAccessSignature) has no `sig=`";
            return Err(Error::Configuration(reason.to_owned()));
        }
        Ok(Self::Sas(parameters))
    }

    pub(super) fn tokens(source: TokenSource, timeout: Duration) -> Self {
        Self::Tokens(Tokens::new(source, timeout))
    }
}

impl SharedKey {
    /// Returns the key of an account, given in base64. Errors do not quote it.
    pub(super) fn new(account: &str, key: &str, scheme: Scheme) -> Result<Self> {
        let wrong = |what: &str| Error::Configuration(what.to_owned());
        if account.is_empty() {
            return Err(wrong("an account key needs the account's name"));
        }
        let key = STANDARD.decode(key).ok().filter(|key| !key.is_empty());
        let hmac = key.and_then(|key| Hmac::new_from_slice(&key).ok());
        let hmac = hmac.ok_or_else(|| wrong("the account key (AccountKey) is not base64"))?;
        Ok(Self { account: account.to_owned(), hmac, scheme })
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// Returns the signature of a text, in base64.
    pub(super) fn sign(&self, text: &str) -> String {
        let mut hmac = self.hmac.clone();
        hmac.update(text.as_bytes());
        STANDARD.encode(hmac.finalize().into_bytes())
    }

    /// Returns the value of the header `Authorization` for a request that has its date.
    fn signature(&self, request: &HttpRequest) -> String {
        let HttpRequest { method, url, headers: all, .. } = request;
        let header = |name: &str| all.get(name).map(headers::text).unwrap_or_default();
        // The account comes twice before a path of Azurite, which begins with it.
        let mut address = format!("/{}{}", self.account, url.path());
        if let Some((_, component)) = url.query_pairs().find(|(name, _)| name == "comp") {
            address.push_str("?comp=");
            address.push_str(&component);
        }
        let (date, account) = (header(MS_DATE.as_str()), &self.account);
        match self.scheme {
            Scheme::SharedKey => {
                let (md5, content_type) = (header("content-md5"), header(header::CONTENT_TYPE.as_str()));
                let signed = self.sign(&format!("{method}\n{md5}\n{content_type}\n{date}\n{address}"));
                format!("SharedKey {account}:{signed}")
            }
            Scheme::SharedKeyLite => format!("SharedKeyLite {account}:{}", self.sign(&format!("{date}\n{address}"))),
        }
    }
}

/// Formats the account alone.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKey").field("account", &self.account).finish_non_exhaustive()
    }
}

fn authorize(request: &mut HttpRequest, authorization: &str) -> Result<(), RequestFailure> {
    request.headers.insert(header::AUTHORIZATION, http::value(authorization)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use reqwest::{Method, header::HeaderMap};

    use super::*;

    /// 64 bytes, 0 to 63.
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

    /// Signatures that the Python package `azure-data-tables` 12.7.0 computes for these requests.
    const GOLDEN: [(&str, &str, &str, &str, &str, &str); 7] = [
        (
            "acc",
            "GET",
            "https://acc.table.core.windows.net/Tables",
            "",
            "/DFC+FCuFQCksSNCMNrHKFXwLOSNNckj/QMy/MXxH6s=",
            "fXnoNtddCkhyXH2rIJKh8peYx3oMJ2OcOywQvomt79U=",
        ),
        (
            "acc",
            "POST",
            "https://acc.table.core.windows.net/Posts",
            "application/json",
            "dmNXtilHk5BKe86YEWRxoh5rwa1LuyXAuBSRvHsInWA=",
            "KFQCARmOT6Mk1MzfCDlOW99MDISx0L3UXzlfrd/0DnU=",
        ),
        (
            "acc",
            "GET",
            "https://acc.table.core.windows.net/Posts(PartitionKey='a%27%27b%20c',RowKey='50%25%2B%26%C3%A9~-._')?$select=Title",
            "",
            "815l4vZZ1daG51PTpkwUfCnC729kzbI95e3CPqviTv4=",
            "ymsuS2els/OBCYBELwfuHjzy6CMT2q6zRsc7xecc8Og=",
        ),
        (
            "acc",
            "POST",
            "https://acc.table.core.windows.net/$batch",
            "multipart/mixed; boundary=batch_1",
            "L0Nqk1tStEr1w8mIOzpVWe3EprSXZR8sZ4jR6hEQY30=",
            "sQHaoTOn9Wig3asp1NtPCSm4O9I4zzHcD8IYmGwOUEM=",
        ),
        (
            "devstoreaccount1",
            "POST",
            "http://127.0.0.1:10002/devstoreaccount1/$batch",
            "multipart/mixed; boundary=batch_1",
            "QmWgMOhj/G6omIn2JJPo4aAQ/UCK0HhHhTy8NMSj5HQ=",
            "xDuLvSykc8jmNMRglY+lXwNwIRS/DDYbWuDYh9jbXy8=",
        ),
        (
            "devstoreaccount1",
            "DELETE",
            "http://127.0.0.1:10002/devstoreaccount1/Posts(PartitionKey='p',RowKey='r')",
            "",
            "b0zRT7mib7F0iHbliLCHD/iYid92Zms2Ukdn4kwnymU=",
            "BpHSYZh0cArqCHQ0B/WkAbBHUaLR4pjsk5TRJoAtESE=",
        ),
        (
            "acc",
            "GET",
            "https://acc-secondary.table.core.windows.net/?restype=service&comp=stats",
            "",
            "PRLS78QMK9MYIYBRnf9qk1e0rOIGoDcV5qkkfeVMukA=",
            "2EydXdPeUeaKtCUa+aNsto1A6n7ISRxZ4bm1IFQEMMA=",
        ),
    ];

    #[test]
    fn signatures_are_those_of_microsofts_client() -> Result<(), Box<dyn std::error::Error>> {
        for (account, method, url, content_type, shared_key, lite) in GOLDEN {
            let mut headers = HeaderMap::new();
            headers.insert(MS_DATE, HeaderValue::from_static("Thu, 28 May 2026 09:30:00 GMT"));
            if !content_type.is_empty() {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(content_type)?);
            }
            let (method, body) = (Method::from_bytes(method.as_bytes())?, bytes::Bytes::new());
            let request = HttpRequest { method, url: Url::parse(url)?, headers, body };
            for (scheme, name, expected) in
                [(Scheme::SharedKey, "SharedKey", shared_key), (Scheme::SharedKeyLite, "SharedKeyLite", lite)]
            {
                let signature = SharedKey::new(account, KEY, scheme)?.signature(&request);
                assert_eq!(signature, format!("{name} {account}:{expected}"), "{url}");
            }
        }
        Ok(())
    }
}
