//! The builder of an [`AzureBackend`].

use std::{fmt, sync::Arc, time::Duration};

use azure_core::{
    ClientOptions, RetryOptions, TransportOptions,
    auth::{Secret, TokenCredential},
};
use azure_data_tables::clients::TableServiceClientBuilder;
use azure_storage::{CloudLocation, clients::new_pipeline_from_options};

use super::{
    AzureBackend,
    connection_string::ConnectionString,
    credential::Credential,
    endpoint::Endpoint,
    retry::Retry,
    transport::{Last, Transport},
};
use crate::{Error, Result};

/// Builds an [`AzureBackend`].
///
/// ```
/// use std::time::Duration;
/// use table_runtime::backend::AzureBackend;
///
/// let backend = AzureBackend::builder("myaccount")
///     .access_key("c2VjcmV0") // or `.sas(…)`, or `.token_credential(…)`
///     .timeout(Duration::from_secs(10))
///     .build()?;
/// assert!(!format!("{backend:?}").contains("c2VjcmV0"));
/// # Ok::<(), table_runtime::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct AzureBuilder {
    account: String,
    credential: Option<Credential>,
    endpoint: Option<String>,
    connect_timeout: Duration,
    timeout: Duration,
    retry: Retry,
    client: Option<reqwest::Client>,
}

/// Formats the kind of credential and the limits. Omits the endpoint, which is not checked yet, and a custom HTTP
/// client, since both may contain secrets.
impl fmt::Debug for AzureBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureBuilder")
            .field("credential", &self.credential)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl AzureBuilder {
    pub(super) fn new(account: String) -> Self {
        Self {
            account,
            credential: None,
            endpoint: None,
            connect_timeout: Duration::from_secs(5),
            // The service itself cancels a request after 30 seconds.
            timeout: Duration::from_secs(40),
            retry: Retry::default(),
            client: None,
        }
    }

    /// Takes the account, the credential and the endpoint from a connection string; see [`AzureBackend::connect`].
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let read = ConnectionString::parse(connection_string)?;
        let mut builder = Self::new(read.account.unwrap_or_default().to_owned());
        builder.endpoint = read.endpoint;
        Ok(match (read.key, read.sas) {
            (Some(key), _) => builder.access_key(key),
            (None, Some(sas)) => builder.sas(sas),
            (None, None) => builder,
        })
    }

    /// Signs requests with the account's key, in base64.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.credential = Some(Credential::Key(Secret::new(key.into())));
        self
    }

    /// Authorizes requests with a shared access signature, `sv=…&sig=…`.
    pub fn sas(mut self, token: impl Into<String>) -> Self {
        self.credential = Some(Credential::Sas(Secret::new(token.into())));
        self
    }

    /// Authorizes requests with tokens of Microsoft Entra ID, for example from `azure_identity`.
    pub fn token_credential(mut self, credential: Arc<dyn TokenCredential>) -> Self {
        self.credential = Some(Credential::Token(credential));
        self
    }

    /// Sets the address of the tables; `https://{account}.table.core.windows.net` by default. Ignores a slash at its
    /// end.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets how long to wait for a connection; 5 seconds by default. Has no effect on a custom
    /// [`http_client`](Self::http_client), which has its own limit.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long one attempt may take, including the time to read its answer; 40 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how often a request is sent at most; 5 times by default.
    pub fn max_attempts(mut self, attempts: usize) -> Self {
        self.retry.attempts = attempts;
        self
    }

    /// Sets how long after the first attempt another one may begin; 60 seconds by default.
    pub fn max_retry_time(mut self, time: Duration) -> Self {
        self.retry.total = time;
        self
    }

    /// Uses this HTTP client, for example for a proxy, certificates, or other limits of its connection pool.
    ///
    /// The client should keep idle connections and must not follow redirects.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Checks the settings and builds the backend. Sends nothing.
    pub fn build(self) -> Result<AzureBackend> {
        let wrong = |what: String| Err(Error::Configuration(what));
        let Some(credential) = self.credential else {
            return wrong(
                "no credential: give an `access_key`, a shared access signature (`sas`) or a `token_credential`"
                    .to_owned(),
            );
        };
        // The name becomes a part of an address and of a header.
        if !self.account.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return wrong(
                "the account's name (AccountName) has characters other than letters, digits and `-`".to_owned(),
            );
        }
        let endpoint = match self.endpoint {
            Some(endpoint) => endpoint,
            None if self.account.is_empty() => {
                return wrong("neither the account's name nor an endpoint is given".to_owned());
            }
            None => format!("https://{}.table.core.windows.net", self.account),
        };
        let endpoint = Endpoint::parse(&endpoint)?;
        if matches!(credential, Credential::Token(_)) && endpoint.exposed() {
            return wrong(
                "a token must not go over plain `http` to another machine; give an `https` endpoint".to_owned(),
            );
        }
        if self.retry.attempts == 0 {
            return wrong("`max_attempts` is 0, which would send nothing".to_owned());
        }
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return wrong("a timeout of 0 leaves no time for any request".to_owned());
        }
        let credentials = credential.of(&self.account)?;
        let client = match self.client {
            Some(client) => client,
            // The connect timeout must not be longer than the timeout of the attempt. Otherwise a write that was never
            // sent could not be distinguished from a write whose answer was lost.
            None => client(self.connect_timeout.min(self.timeout))?,
        };
        let transport = Transport::new(client, self.timeout);
        let options = ClientOptions::new(TransportOptions::new(Arc::clone(&transport) as _))
            // The SDK's own retries repeat inserts.
            .retry(RetryOptions::none())
            .per_retry_policies(vec![Arc::new(Last(transport)) as _]);
        let location = CloudLocation::Custom { account: self.account, uri: endpoint.as_str().to_owned() };
        let tables = TableServiceClientBuilder::with_location(location, credentials.clone())
            .client_options(options.clone())
            .build();
        let pipeline = new_pipeline_from_options(options, credentials);
        Ok(AzureBackend { endpoint, credential, pipeline, tables, retry: self.retry })
    }
}

/// Builds an HTTP client that keeps its connections open.
fn client(connect_timeout: Duration) -> Result<reqwest::Client> {
    reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .pool_max_idle_per_host(usize::MAX)
        // Shorter than the service's idle timeout, so that a write seldom uses a connection that the service is just
        // closing.
        .pool_idle_timeout(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .build()
        .map_err(|error| Error::Configuration(format!("no HTTP client: {error}")))
}
