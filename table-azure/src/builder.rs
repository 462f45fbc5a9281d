//! The builder of an [`AzureBackend`].

use std::{error, fmt, future::Future, sync::Arc, time::Duration};

use azure_core_1::credentials::TokenCredential;
use table_store::{Error, Result};

#[cfg(feature = "azure_data_tables")]
use super::sdk::Sdk;
use super::{
    AzureBackend,
    client::{self, HttpClient},
    clock::ServiceClock,
    connection_string::ConnectionString,
    credential::Given,
    endpoint::Endpoint,
    own::Scheme,
    retry::Retry,
    secondary::Secondary,
    token::{AccessToken, SCOPE, TokenSource},
};

/// Builds an [`AzureBackend`].
///
/// ```
/// use std::time::Duration;
/// use table_runtime::backend::AzureBackend;
///
/// let backend = AzureBackend::builder("myaccount")
///     .access_key("c2VjcmV0") // or `.sas(…)`, `.token_credential(…)` or `.token_source(…)`
///     .timeout(Duration::from_secs(10))
///     .build()?;
/// assert!(!format!("{backend:?}").contains("c2VjcmV0"));
/// # Ok::<(), table_runtime::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct AzureBuilder {
    account: String,
    credential: Option<Given>,
    scheme: Scheme,
    endpoint: Option<String>,
    secondary_endpoint: Option<String>,
    connect_timeout: Duration,
    timeout: Duration,
    retry: Retry,
    slow_after: Duration,
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
            .field("slow_after", &self.slow_after)
            .finish_non_exhaustive()
    }
}

impl AzureBuilder {
    pub(super) fn new(account: String) -> Self {
        Self {
            account,
            credential: None,
            scheme: Scheme::SharedKey,
            endpoint: None,
            secondary_endpoint: None,
            connect_timeout: Duration::from_secs(5),
            // The service itself cancels a request after 30 seconds.
            timeout: Duration::from_secs(40),
            retry: Retry::default(),
            slow_after: Duration::from_secs(3),
            client: None,
        }
    }

    /// Takes the account, the credential and the endpoint from a connection string; see [`AzureBackend::connect`].
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let read = ConnectionString::parse(connection_string)?;
        let mut builder = Self::new(read.account.unwrap_or_default().to_owned());
        builder.endpoint = read.endpoint;
        builder.secondary_endpoint = read.secondary_endpoint.map(str::to_owned);
        Ok(match (read.key, read.sas) {
            (Some(key), _) => builder.access_key(key),
            (None, Some(sas)) => builder.sas(sas),
            (None, None) => builder,
        })
    }

    /// Signs requests with the account's key, in base64.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.credential = Some(Given::Key(key.into()));
        self
    }

    /// Signs requests with the scheme `SharedKeyLite` instead of `SharedKey`, for a gateway that demands it. It signs less of
    /// a request: neither the method nor the type of the content. Has no effect without an
    /// [`access_key`](Self::access_key).
    pub fn shared_key_lite(mut self) -> Self {
        self.scheme = Scheme::SharedKeyLite;
        self
    }

    /// Authorizes requests with a shared access signature, `sv=…&sig=…`.
    pub fn sas(mut self, token: impl Into<String>) -> Self {
        self.credential = Some(Given::Sas(token.into()));
        self
    }

    /// Authorizes requests with tokens of Microsoft Entra ID that this function requests, for the scope
    /// `https://storage.azure.com/.default`. [`token_credential`](Self::token_credential) takes the credentials of the crate
    /// `azure_identity`.
    ///
    /// The backend keeps the token, and calls the function again before it expires: 5 minutes before, or after half of
    /// its validity if that is shorter than 10 minutes. Requests use the old token meanwhile. There is one such call at
    /// a time, however many requests need a token, and a call that takes longer than the [`timeout`](Self::timeout) of
    /// an attempt has failed. If it fails while the old token is valid, the failure is a `tracing` event at `warn`
    /// level, and the function is called again after at most 30 seconds. Without a valid token, a request waits for the
    /// function. If the service refuses a token with status 401, the request, which was not carried out, is sent once
    /// more with another token, if the function returns one.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use table_runtime::backend::{AccessToken, AzureBackend};
    ///
    /// # async fn run(_: &[&str]) -> std::io::Result<String> { Ok("eyJ0eXAi\n".to_owned()) }
    /// let backend = AzureBackend::builder("myaccount")
    ///     .token_source(async || {
    ///         let text = run(&["az", "account", "get-access-token"]).await?;
    ///         Ok(AccessToken::new(text.trim(), SystemTime::now() + Duration::from_secs(3600)))
    ///     })
    ///     .build()?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no valid token and the function fails, or takes too long, nothing is sent, and every request returns
    /// [`Error::NoAnswer`] with the text of the function's error and of its causes. That text must therefore contain no
    /// secret. After a second 401, or if there is no other token, a request returns [`Error::Service`].
    pub fn token_source<F, Fut>(mut self, source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<AccessToken, Box<dyn error::Error + Send + Sync>>> + Send + 'static,
    {
        self.credential = Some(Given::Token(TokenSource::new(source)));
        self
    }

    /// Authorizes requests with tokens of a credential of `azure_core` 1.x, such as those of the crate `azure_identity`
    /// 1.x.
    ///
    /// - `ManagedIdentityCredential::new(None)?` is the identity that Azure gives to a virtual machine, an app service
    ///   or a function.
    /// - `WorkloadIdentityCredential::new(None)?` is that of a pod in Kubernetes. It reads its token file again
    ///   when the file changes, so a process can run for any length of time.
    /// - `DeveloperToolsCredential::new(None)?` is the login of a developer: `az login` or `azd auth login`.
    ///
    /// Each of them is an `Arc`, which this function takes as it is. The identity needs a role for the data of tables,
    /// such as *Storage Table Data Contributor*; the role *Contributor* of the account is not enough. Tokens are kept
    /// and refreshed, and failures are reported, as [`token_source`](Self::token_source) describes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use azure_core_1::credentials::TokenCredential; // in a program, `azure_core::credentials::TokenCredential`
    /// use table_runtime::{Result, Tables, backend::AzureBackend};
    ///
    /// fn connect(account: &str, credential: Arc<dyn TokenCredential>) -> Result<Tables> {
    ///     Ok(Tables::new(AzureBackend::builder(account).token_credential(credential).build()?))
    /// }
    /// ```
    pub fn token_credential(self, credential: Arc<dyn TokenCredential>) -> Self {
        self.token_source(move || {
            let credential = Arc::clone(&credential);
            async move {
                let token = credential.get_token(&[SCOPE], None).await?;
                Ok(AccessToken::new(token.token.secret(), token.expires_on.into()))
            }
        })
    }

    /// Signs and sends requests through a pipeline of the Azure SDK 0.21, with these credentials, and with the policies and
    /// the telemetry of these options. Requires the feature `azure_data_tables`. The crates are re-exported in
    /// [`backend::sdk`](crate::sdk).
    ///
    /// Choose it for a program that has policies or credentials of the SDK already. Everything else works without it, and it
    /// brings the SDK's packages and advisories, which `backend::sdk` lists.
    ///
    /// The pipeline does not retry, because the SDK's retries repeat inserts, and sends with this crate's HTTP client:
    /// the options' retries and transport are ignored. A policy must pass the context on, and send a request once: a second
    /// time is refused. If a policy fails after it has sent a write, the outcome of the write is unknown. The SDK does not
    /// sign the parameters of an address, so with its account keys `health` cannot read the state
    /// of the secondary region.
    ///
    /// ```
    /// use table_runtime::{
    ///     Tables,
    ///     backend::{
    ///         AzureBackend,
    ///         sdk::{azure_core::ClientOptions, azure_storage::StorageCredentials},
    ///     },
    /// };
    ///
    /// let credentials = StorageCredentials::access_key("myaccount", "c2VjcmV0".to_owned());
    /// let backend = AzureBackend::builder("myaccount").sdk(credentials, ClientOptions::default()).build()?;
    /// let tables = Tables::new(backend);
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    #[cfg(feature = "azure_data_tables")]
    pub fn sdk(mut self, credentials: azure_storage::StorageCredentials, options: azure_core::ClientOptions) -> Self {
        self.credential = Some(Given::Sdk(Sdk { credentials, options }));
        self
    }

    /// Sets the address of the tables; `https://{account}.table.core.windows.net` by default. Ignores a slash at its
    /// end. The address of a single table, as the portal shows it, is an error of [`build`](Self::build).
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets the address of the tables in the secondary region of the account, which handles read that were made by
    /// `Tables::with_secondary_reads`. The default is derived from the address
    /// of the tables: `https://{account}-secondary.table.core.windows.net`, or on Azurite
    /// `http://127.0.0.1:10002/{account}-secondary`. Cosmos DB and addresses of another form have no default.
    pub fn secondary_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.secondary_endpoint = Some(endpoint.into());
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

    /// Sets from when on the answer to a write or a point read is slow; 3 seconds by default. A slow answer is a sign
    /// of an overloaded service, like one of 429 or 503, so that bulk writes have fewer transactions in
    /// flight (`Bulk::side_by_side`). The duration is that of one attempt.
    pub fn slow_after(mut self, time: Duration) -> Self {
        self.slow_after = time;
        self
    }

    /// Uses this HTTP client of `reqwest` 0.13, for example for a proxy or other limits of its connection pool. Begin with
    /// [`http_client_builder`](Self::http_client_builder).
    ///
    /// The client should keep idle connections, and must neither follow redirects nor repeat requests.
    ///
    /// ```
    /// use table_runtime::backend::{AzureBackend, AzureBuilder};
    ///
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let proxy = reqwest::Proxy::https("http://proxy.example.com:3128")?;
    /// let client = AzureBuilder::http_client_builder()?.proxy(proxy).build()?;
    /// let backend = AzureBackend::builder("myaccount").access_key("c2VjcmV0").http_client(client).build()?;
    /// # Ok(()) }
    /// # example().unwrap();
    /// ```
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Returns a builder of HTTP clients with the settings of the backend's own client: idle connections are kept, redirects
    /// are not followed, answers are not compressed, and TLS works as [`AzureBackend`] describes.
    ///
    /// This crate compiles `reqwest` with TLS and without a provider of cryptography. `reqwest::Client::new` of a program
    /// that has neither `reqwest`'s feature `rustls` nor installed a provider for `rustls` therefore panics; a client of
    /// this builder needs none.
    ///
    /// # Errors
    /// Returns [`Error::Configuration`] if TLS cannot be set up.
    pub fn http_client_builder() -> Result<reqwest::ClientBuilder> {
        client::builder()
    }

    /// Checks the settings and builds the backend. Sends nothing.
    pub fn build(mut self) -> Result<AzureBackend> {
        let Some(credential) = self.credential.take() else {
            return wrong(
                "no credential: give an `access_key`, a shared access signature (`sas`), a `token_credential` or a \
                 `token_source`",
            );
        };
        let (endpoint, secondary) = self.endpoints()?;
        let is_exposed = endpoint.exposed() || secondary.as_ref().is_some_and(Endpoint::exposed);
        if credential.has_token() && is_exposed {
            return wrong("a token must not go over plain `http` to another machine; give an `https` endpoint");
        }
        if self.retry.attempts == 0 {
            return wrong("`max_attempts` is 0, which would send nothing");
        }
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return wrong("a timeout of 0 leaves no time for any request");
        }
        let client = match self.client {
            Some(client) => client,
            // The connect timeout must not be longer than the timeout of the attempt. Otherwise a write that was never
            // sent could not be distinguished from a write whose answer was lost.
            None => client::build(self.connect_timeout.min(self.timeout))?,
        };
        let clock = Arc::<ServiceClock>::default();
        let client = HttpClient::new(client, self.timeout, Arc::clone(&clock));
        let (credential, transport) = credential.transport(&self.account, self.scheme, client, self.timeout)?;
        #[cfg(feature = "metrics")]
        super::metrics::describe();
        Ok(AzureBackend {
            endpoint,
            secondary: secondary.map(|endpoint| Arc::new(Secondary::new(endpoint))),
            fallback: None,
            credential,
            transport,
            retry: self.retry,
            slow_after: self.slow_after,
            overloads: Arc::default(),
            clock,
        })
    }

    fn endpoint_of(&self, address: &str) -> Result<Endpoint> {
        let endpoint = Endpoint::parse(address)?;
        endpoint.check_account(&self.account).map(|()| endpoint)
    }

    /// Returns the endpoints of the primary region and of the secondary one, if the account has one.
    fn endpoints(&self) -> Result<(Endpoint, Option<Endpoint>)> {
        // The name becomes a part of an address and of a header.
        if !self.account.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return wrong("the account's name (AccountName) has characters other than letters, digits and `-`");
        }
        let endpoint = match &self.endpoint {
            Some(endpoint) => self.endpoint_of(endpoint)?,
            None if self.account.is_empty() => return wrong("neither the account's name nor an endpoint is given"),
            None => Endpoint::parse(&format!("https://{}.table.core.windows.net", self.account))?,
        };
        let secondary = match &self.secondary_endpoint {
            Some(secondary) => Some(self.endpoint_of(secondary).map_err(|error| match error {
                Error::Configuration(reason) => Error::Configuration(format!("in the secondary region, {reason}")),
                other => other,
            })?),
            None => endpoint.secondary(),
        };
        Ok((endpoint, secondary))
    }
}

/// Returns the error of a wrong setting.
fn wrong<T>(what: &str) -> Result<T> {
    Err(Error::Configuration(what.to_owned()))
}
