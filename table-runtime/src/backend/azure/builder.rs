//! The builder of an [`AzureBackend`].

use std::{error, fmt, future::Future, sync::Arc, time::Duration};

use azure_core::{ClientOptions, RetryOptions, TransportOptions, auth::Secret};
use azure_data_tables::clients::TableServiceClientBuilder;
use azure_storage::{CloudLocation, clients::new_pipeline_from_options};

use super::{
    AzureBackend,
    connection_string::ConnectionString,
    credential::Credential,
    endpoint::Endpoint,
    retry::Retry,
    secondary::Secondary,
    token::{AccessToken, TokenSource, Tokens},
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
///     .access_key("c2VjcmV0") // or `.sas(…)`, `.token_source(…)` or, with the feature `entra`, `.token_credential(…)`
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
        self.credential = Some(Credential::Key(Secret::new(key.into())));
        self
    }

    /// Authorizes requests with a shared access signature, `sv=…&sig=…`.
    pub fn sas(mut self, token: impl Into<String>) -> Self {
        self.credential = Some(Credential::Sas(Secret::new(token.into())));
        self
    }

    /// Authorizes requests with tokens of Microsoft Entra ID that this function requests, for the scope
    /// `https://storage.azure.com/.default`. With the feature `entra`, `token_credential` takes the credentials of the
    /// crate `azure_identity`.
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
        self.credential = Some(Credential::Token(TokenSource::new(source)));
        self
    }

    /// Authorizes requests with tokens of a credential of `azure_core` 1.x, such as those of the crate `azure_identity`
    /// 1.x. Requires the feature `entra`.
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
    #[cfg(feature = "entra")]
    pub fn token_credential(self, credential: Arc<dyn azure_core_1::credentials::TokenCredential>) -> Self {
        self.token_source(move || {
            let credential = Arc::clone(&credential);
            async move {
                let token = credential.get_token(&[super::token::SCOPE], None).await?;
                Ok(AccessToken::new(token.token.secret(), token.expires_on.into()))
            }
        })
    }

    /// The message about the feature that is not enabled.
    #[cfg(not(feature = "entra"))]
    #[doc(hidden)]
    pub fn token_credential<C>(self, _: C) -> Self
    where
        for<'never> crate::hints::TableStorage: crate::hints::FeatureEntra,
    {
        unreachable!("no type implements the hint")
    }

    /// Sets the address of the tables; `https://{account}.table.core.windows.net` by default. Ignores a slash at its
    /// end.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets the address of the tables in the secondary region of the account, which handles read that were made by
    /// [`Tables::with_secondary_reads`](crate::Tables::with_secondary_reads). The default is derived from the address
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
    /// of an overloaded service, like one of 429 or 503, so that bulk writes have [fewer transactions in
    /// flight](crate::Bulk::side_by_side). The duration is that of one attempt.
    pub fn slow_after(mut self, time: Duration) -> Self {
        self.slow_after = time;
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
    pub fn build(mut self) -> Result<AzureBackend> {
        let Some(credential) = self.credential.take() else {
            return wrong(
                "no credential: give an `access_key`, a shared access signature (`sas`), or a `token_source` or \
                 `token_credential`",
            );
        };
        let (endpoint, secondary) = self.endpoints()?;
        let is_exposed = endpoint.exposed() || secondary.as_ref().is_some_and(Endpoint::exposed);
        if matches!(credential, Credential::Token(_)) && is_exposed {
            return wrong("a token must not go over plain `http` to another machine; give an `https` endpoint");
        }
        if self.retry.attempts == 0 {
            return wrong("`max_attempts` is 0, which would send nothing");
        }
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return wrong("a timeout of 0 leaves no time for any request");
        }
        let credentials = credential.of(&self.account)?;
        let tokens = match &credential {
            Credential::Token(source) => Some(Tokens::new(source.clone(), self.timeout)),
            _ => None,
        };
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
            .per_retry_policies(vec![Arc::new(Last { transport, tokens }) as _]);
        let location = CloudLocation::Custom { account: self.account, uri: endpoint.as_str().to_owned() };
        let tables = TableServiceClientBuilder::with_location(location, credentials.clone())
            .client_options(options.clone())
            .build();
        let pipeline = new_pipeline_from_options(options, credentials);
        let (retry, slow_after, overloads) = (self.retry, self.slow_after, Arc::default());
        let (secondary, fallback) = (secondary.map(|endpoint| Arc::new(Secondary::new(endpoint))), None);
        Ok(AzureBackend { endpoint, secondary, fallback, credential, pipeline, tables, retry, slow_after, overloads })
    }

    /// Returns the endpoints of the primary region and of the secondary one, if the account has one.
    fn endpoints(&self) -> Result<(Endpoint, Option<Endpoint>)> {
        // The name becomes a part of an address and of a header.
        if !self.account.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return wrong("the account's name (AccountName) has characters other than letters, digits and `-`");
        }
        let endpoint = match &self.endpoint {
            Some(endpoint) => Endpoint::parse(endpoint)?,
            None if self.account.is_empty() => return wrong("neither the account's name nor an endpoint is given"),
            None => Endpoint::parse(&format!("https://{}.table.core.windows.net", self.account))?,
        };
        let secondary = match &self.secondary_endpoint {
            Some(secondary) => Some(Endpoint::parse(secondary).map_err(|error| match error {
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
