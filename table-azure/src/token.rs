//! Tokens of Microsoft Entra ID: their source, and a cache that refreshes them in time.

use std::{
    any::Any,
    error, fmt,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, future::Shared};
use table_store::backend::BoxFuture;
use tokio::{
    task::AbortHandle,
    time::{Instant, timeout},
};
use tracing::{debug, warn};

/// Scope of the tokens that Azure Table storage accepts.
pub(super) const SCOPE: &str = "https://storage.azure.com/.default";

/// Time before the expiry of a token at which a new one is requested. If the token was valid for less than twice this
/// time when it was received, a new one is requested after half of that.
const AHEAD: Duration = Duration::from_mins(5);
/// Maximum time after which a new token is requested again, if the source failed while the old one was valid.
const AGAIN: Duration = Duration::from_secs(30);
/// Maximum number of refreshes that one request waits for. A refresh ends without an answer if the runtime that runs it
/// is shut down.
const REFRESHES: usize = 3;

/// A token of Microsoft Entra ID, which [`AzureBuilder::token_source`](crate::AzureBuilder::token_source)
/// takes from its source.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use table_runtime::backend::AccessToken;
///
/// let token = AccessToken::new("eyJ0eXAi", SystemTime::now() + Duration::from_secs(3600));
/// assert!(!format!("{token:?}").contains("eyJ0eXAi"));
/// ```
#[derive(Clone)]
pub struct AccessToken {
    secret: Arc<str>,
    expires: SystemTime,
}

impl AccessToken {
    /// Creates a token with this text, without `Bearer`, and this expiry.
    pub fn new(secret: impl Into<String>, expires: SystemTime) -> Self {
        Self { secret: secret.into().into(), expires }
    }

    /// Returns the time at which the token expires.
    pub fn expires(&self) -> SystemTime {
        self.expires
    }

    /// Returns the value of the header `Authorization`.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// Returns the time for which the token is still valid; `None` if it has expired.
    fn left(&self) -> Option<Duration> {
        self.expires.duration_since(SystemTime::now()).ok().filter(|left| !left.is_zero())
    }
}

/// Formats the expiry and omits the token.
impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// Error of a source of tokens.
pub(super) type SourceError = Box<dyn error::Error + Send + Sync>;

/// A function that requests a token.
#[derive(Clone)]
pub(super) struct TokenSource(
    Arc<dyn Fn() -> BoxFuture<'static, Result<AccessToken, SourceError>> + Send + Sync + 'static>,
);

impl TokenSource {
    pub(super) fn new<F, Fut>(source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<AccessToken, SourceError>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(source())))
    }

    /// Requests a token. A panic of the source is an error.
    async fn request(&self) -> Result<AccessToken, String> {
        let requested = AssertUnwindSafe(async { (self.0)().await }).catch_unwind().await;
        let token = match requested {
            Ok(token) => token.map_err(|error| format!("the token source failed: {}", chain(&*error)))?,
            Err(panic) => return Err(format!("the token source panicked{}", message(&*panic))),
        };
        // Any other text is damaged, and a header cannot hold it.
        if token.secret.is_empty() || !token.secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the token source gave a text that is no token: a token has visible ASCII characters and no \
                        spaces or line ends"
                .to_owned());
        }
        Ok(token)
    }
}

/// Describes an error and its causes. It is the text of the source's own error, which must not contain a secret.
pub(super) fn chain(error: &(dyn error::Error + 'static)) -> String {
    let mut lines = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        let line = error.to_string();
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        next = error.source();
    }
    lines.join(": ")
}

/// Returns the message of a panic, if it is a text.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(String::new, |text| format!(": {text}"))
}

/// The token that is sent with requests.
///
/// At most one refresh is under way. It runs as a task of its own, so that the caller that began it can be dropped
/// without harm to the others. While the token is valid, requests do not wait for a refresh.
pub(super) struct Tokens {
    source: TokenSource,
    /// Maximum duration of a call of the source.
    timeout: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<AccessToken>,
    /// Time at which the token is refreshed.
    refresh_at: Option<Instant>,
    refresh: Option<Refresh>,
}

/// A refresh that is under way.
struct Refresh {
    task: AbortHandle,
    answer: Shared<BoxFuture<'static, Answer>>,
}

/// The answer of a refresh; `None` if it was cancelled together with its runtime.
type Answer = Option<Result<AccessToken, Arc<str>>>;

impl Tokens {
    pub(super) fn new(source: TokenSource, timeout: Duration) -> Arc<Self> {
        Arc::new(Self { source, timeout, state: Mutex::default() })
    }

    /// Returns a token that has not expired, and refreshes it in the background if it will expire soon. Waits only if
    /// there is none.
    pub(super) async fn current(self: &Arc<Self>) -> Result<AccessToken, String> {
        if let Some(token) = self.valid() {
            return Ok(token);
        }
        self.requested().await
    }

    /// Returns another token than this one, which the service has refused; `None` if the source gives the same again.
    pub(super) async fn instead_of(self: &Arc<Self>, refused: &AccessToken) -> Result<Option<AccessToken>, String> {
        let is_other = |token: &AccessToken| token.secret != refused.secret;
        // Another request may have refreshed the token in the meantime.
        let known = self.lock().token.clone().filter(|token| is_other(token) && token.left().is_some());
        let token = match known {
            Some(token) => token,
            None => self.requested().await?,
        };
        Ok(Some(token).filter(is_other))
    }

    fn valid(self: &Arc<Self>) -> Option<AccessToken> {
        let mut state = self.lock();
        let token = state.token.clone()?;
        token.left()?;
        if state.refresh_at.is_some_and(|at| at <= Instant::now()) {
            drop(self.refresh(&mut state));
        }
        Some(token)
    }

    /// Waits for the refresh that is under way, or for a new one.
    async fn requested(self: &Arc<Self>) -> Result<AccessToken, String> {
        for _ in 0..REFRESHES {
            let answer = self.refresh(&mut self.lock());
            if let Some(answer) = answer.await {
                return answer.map_err(|reason| reason.to_string());
            }
        }
        Err("the runtime that requests the token is shut down".to_owned())
    }

    /// Begins a refresh, unless one is under way, and returns its answer.
    fn refresh(self: &Arc<Self>, state: &mut State) -> Shared<BoxFuture<'static, Answer>> {
        // A refresh that is finished and still here was cancelled.
        if let Some(refresh) = state.refresh.as_ref().filter(|refresh| !refresh.task.is_finished()) {
            return refresh.answer.clone();
        }
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            // A source that never answers must not prevent later requests.
            let answer = timeout(this.timeout, this.source.request()).await;
            let late = |_| Err(format!("the token source gave no token within {:?}", this.timeout));
            this.note(answer.unwrap_or_else(late))
        });
        let handle = task.abort_handle();
        let answer = (Box::pin(task.map(Result::ok)) as BoxFuture<'static, Answer>).shared();
        state.refresh = Some(Refresh { task: handle, answer: answer.clone() });
        answer
    }

    /// Keeps the answer of a refresh.
    fn note(&self, answer: Result<AccessToken, String>) -> Result<AccessToken, Arc<str>> {
        let mut state = self.lock();
        state.refresh = None;
        match answer {
            Ok(token) => {
                let left = token.left().unwrap_or_default();
                debug!(target: "table_runtime::backend::azure::token", valid_for = ?left, "a token was received");
                state.refresh_at = Instant::now().checked_add(left.saturating_sub(AHEAD).max(left / 2));
                state.token = Some(token.clone());
                Ok(token)
            }
            Err(reason) => {
                let left = state.token.as_ref().and_then(AccessToken::left).unwrap_or_default();
                warn!(target: "table_runtime::backend::azure::token", reason, old_valid_for = ?left, "no token was received");
                state.refresh_at = Some(Instant::now() + AGAIN.min(left / 2));
                Err(reason.into())
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
