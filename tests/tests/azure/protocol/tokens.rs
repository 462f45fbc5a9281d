//! Tokens of Microsoft Entra ID: when they are requested, refreshed and replaced.

use std::{
    error::Error as StdError,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result};
use azure_core_1::credentials::{self, TokenCredential, TokenRequestOptions};
use futures_util::future::join_all;
use table_runtime::{
    Error,
    backend::{AccessToken, AzureBackend, BackendExt},
};
use tests::scripted::{Answer, Scripted};
use tokio::sync::watch;

use crate::protocol::{ROW, batch, error, fixture, insert, only, scripted, transaction, writes, written};

const HOUR: Duration = Duration::from_hours(1);
/// A bound on the time until something happens that has to happen.
const BOUND: Duration = Duration::from_mins(1);

type Requested = Result<AccessToken, Box<dyn StdError + Send + Sync>>;

/// A source that returns the tokens `t0k3n-1`, `t0k3n-2` and so on, and counts its calls.
#[derive(Clone, Default)]
struct Source(Arc<AtomicUsize>);

impl Source {
    fn calls(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns a function whose `n`th call returns `answer(n)`.
    fn answers<F, Fut>(&self, answer: F) -> impl Fn() -> Fut + use<F, Fut>
    where
        F: Fn(usize) -> Fut,
        Fut: Future<Output = Requested>,
    {
        let calls = self.clone();
        move || answer(calls.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

fn token(n: usize, valid: Duration) -> AccessToken {
    AccessToken::new(format!("t0k3n-{n}"), SystemTime::now() + valid)
}

fn service<Fut>(server: &Scripted, source: impl Fn() -> Fut + Send + Sync + 'static) -> Result<AzureBackend>
where
    Fut: Future<Output = Requested> + Send + 'static,
{
    let builder = AzureBackend::builder("acc").endpoint(server.endpoint()).token_source(source);
    Ok(builder.timeout(Duration::from_secs(5)).build()?)
}

fn row() -> Answer {
    Answer::new(200).json(ROW)
}

fn refused() -> Answer {
    error(401, "InvalidAuthenticationInfo")
}

/// Reads a row, and returns the token that was sent.
async fn sent(server: &Scripted, service: &AzureBackend) -> Result<String> {
    server.then(row());
    service.get("Posts", "p", "r", None).await?;
    authorizations(server).pop().context("a request")
}

fn authorizations(server: &Scripted) -> Vec<String> {
    let requests = server.requests();
    requests.iter().map(|request| request.header("Authorization").unwrap_or_default().to_owned()).collect()
}

/// Lets an hour pass by the clock of refreshes. The time of day, by which tokens expire, goes on as before.
async fn an_hour_passes() {
    tokio::time::pause();
    tokio::time::advance(HOUR).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_token_is_requested_once_and_sent_with_every_request() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let service = service(&server, source.answers(async |n| Ok(token(n, HOUR))))?;
    assert_eq!(source.calls(), 0, "nothing is requested before the first request");
    for write in writes() {
        let answer = if write.operations.len() > 1 { batch(fixture!("transaction_done.http")) } else { written() };
        server.then(answer);
        service.execute_group(&write).await?;
    }
    server.then(row()).then(Answer::new(201).json("{}")).then(Answer::new(204));
    service.get("Posts", "p", "r", None).await?;
    service.create_table("Posts").await?;
    service.delete_table("Posts").await?;
    assert_eq!(authorizations(&server), vec!["Bearer t0k3n-1"; 9]);
    assert_eq!(source.calls(), 1);
    Ok(())
}

#[tokio::test]
async fn an_expired_token_is_never_sent() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let short = Duration::from_millis(100);
    let service =
        service(&server, source.answers(move |n| async move { Ok(token(n, if n == 1 { short } else { HOUR })) }))?;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1");
    tokio::time::sleep(2 * short).await;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-2");
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-2");
    assert_eq!(source.calls(), 2);
    Ok(())
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_expires_while_requests_use_the_old_one() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let (release, released) = watch::channel(false);
    let answer = move |n| {
        let mut released = released.clone();
        async move {
            if n > 1 {
                released.wait_for(|released| *released).await?;
                return Ok(token(n, HOUR));
            }
            Ok(token(n, HOUR))
        }
    };
    let service = service(&server, source.answers(answer))?;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1");
    assert_eq!(source.calls(), 1, "the token is valid for long");
    an_hour_passes().await;
    for _ in 0..3 {
        assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1", "no request waits for the refresh");
    }
    assert_eq!(source.calls(), 2, "one refresh is under way");
    release.send(true)?;
    let begin = Instant::now();
    while sent(&server, &service).await? != "Bearer t0k3n-2" {
        assert!(begin.elapsed() < BOUND);
    }
    assert_eq!(source.calls(), 2);
    Ok(())
}

#[tokio::test]
async fn a_source_that_fails_while_the_token_is_valid_fails_no_request() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let answer = |n| async move {
        match n {
            2 => Err("the metadata service is busy".into()),
            3 => panic!("a defect of the source"),
            _ => Ok(token(n, HOUR)),
        }
    };
    let service = service(&server, source.answers(answer))?;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1");
    for calls in 2..=4 {
        // The source is asked again some time after it failed.
        an_hour_passes().await;
        assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1", "no request waits for the refresh");
        let begin = Instant::now();
        while source.calls() < calls {
            assert!(begin.elapsed() < BOUND);
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-4");
    Ok(())
}

#[tokio::test]
async fn callers_that_need_a_token_at_once_share_one_refresh() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let (release, released) = watch::channel(false);
    let answer = move |n| {
        let mut released = released.clone();
        async move {
            released.wait_for(|released| *released).await?;
            Ok(token(n, HOUR))
        }
    };
    let service = service(&server, source.answers(answer))?;
    for _ in 0..20 {
        server.then(row());
    }
    // The caller that began the refresh ends before the token arrives, and the others still get it.
    let first = tokio::time::timeout(Duration::from_millis(10), service.get("Posts", "p", "r", None)).await;
    assert!(first.is_err(), "{first:?}");
    let reads = join_all((0..20).map(|_| service.get("Posts", "p", "r", None)));
    let (reads, sent) = tokio::join!(reads, async { release.send(true) });
    sent?;
    for read in reads {
        assert!(read?.is_some());
    }
    assert_eq!(authorizations(&server), vec!["Bearer t0k3n-1"; 20]);
    assert_eq!(source.calls(), 1);
    Ok(())
}

#[tokio::test]
async fn a_source_that_fails_is_an_error_and_nothing_is_sent() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let answer = |n| async move {
        match n {
            1 => Err(anyhow::anyhow!("run `az login` first").context("no login").into()),
            2 => panic!("a defect of the source"),
            3 => Ok(AccessToken::new("t0k3n\n", SystemTime::now() + HOUR)),
            _ => std::future::pending().await,
        }
    };
    let builder = AzureBackend::builder("acc").endpoint(server.endpoint()).token_source(source.answers(answer));
    let service = builder.timeout(Duration::from_millis(50)).build()?;
    for expected in [
        "the token source failed: no login: run `az login` first",
        "the token source panicked: a defect of the source",
        "no token: a token has visible ASCII characters",
        "the token source gave no token within 50ms",
        // The call that takes so long is ended, and the next request begins another one.
        "the token source gave no token within 50ms",
    ] {
        let error = service.execute_group(&insert()).await.unwrap_err();
        let Error::NoAnswer { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.contains(expected), "{reason}");
        assert!(!format!("{error:?}").contains("t0k3n"), "{error:?}");
    }
    assert_eq!((server.connections(), source.calls()), (0, 5));
    Ok(())
}

#[tokio::test]
async fn a_request_whose_token_is_refused_is_sent_once_more_with_another_one() -> Result<()> {
    let done = || batch(fixture!("transaction_done.http"));
    for write in writes() {
        let (server, source) = (Scripted::start().await?, Source::default());
        let service = service(&server, source.answers(async |n| Ok(token(n, HOUR))))?;
        server.then(refused()).then(if write.operations.len() > 1 { done() } else { written() });
        service.execute_group(&write).await?;
        assert_eq!(authorizations(&server), ["Bearer t0k3n-1", "Bearer t0k3n-2"], "{}", write.name());
        let bodies: Vec<_> = server.requests().into_iter().map(|request| (request.target, request.body)).collect();
        assert_eq!(bodies[0], bodies[1]);
        let ids =
            server.requests().into_iter().map(|request| request.header("x-ms-client-request-id").map(str::to_owned));
        let ids: Vec<_> = ids.collect();
        assert!(ids[0].is_some() && ids[1].is_some() && ids[0] != ids[1], "{ids:?}");
        assert_eq!((source.calls(), server.left()), (2, 0));
    }
    let (server, source) = (Scripted::start().await?, Source::default());
    let service = service(&server, source.answers(async |n| Ok(token(n, HOUR))))?;
    server.then(refused()).then(Answer::new(201).json("{}")).then(refused()).then(row());
    assert!(service.create_table("Posts").await?);
    assert!(service.get("Posts", "p", "r", None).await?.is_some());
    assert_eq!(authorizations(&server), [1, 2, 2, 3].map(|n| format!("Bearer t0k3n-{n}")));
    Ok(())
}

#[tokio::test]
async fn callers_whose_token_is_refused_share_one_refresh() -> Result<()> {
    let (server, source) = (Scripted::start().await?, Source::default());
    let service = service(&server, source.answers(async |n| Ok(token(n, HOUR))))?;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1");
    // Each of the requests is refused before any is sent again.
    for _ in 0..10 {
        server.then(refused().once_arrived(11));
    }
    for _ in 0..10 {
        server.then(row());
    }
    for read in join_all((0..10).map(|_| service.get("Posts", "p", "r", None))).await {
        assert!(read?.is_some());
    }
    assert_eq!(source.calls(), 2);
    let expected = [vec!["Bearer t0k3n-1"; 11], vec!["Bearer t0k3n-2"; 10]].concat();
    assert_eq!(authorizations(&server), expected);
    Ok(())
}

#[tokio::test]
async fn a_second_401_is_an_error() -> Result<()> {
    let status = |error: &Error| match error {
        Error::Service(answer) => (answer.status, answer.code.clone()),
        other => panic!("{other:?}"),
    };
    let expected = (401, "InvalidAuthenticationInfo".to_owned());

    let (server, source) = (Scripted::start().await?, Source::default());
    let twice = service(&server, source.answers(async |n| Ok(token(n, HOUR))))?;
    server.then(refused()).then(refused()).then(batch(fixture!("transaction_done.http")));
    let error = twice.execute_group(&transaction()).await.unwrap_err();
    assert_eq!((status(&error), server.left()), (expected.clone(), 1));

    // The source has no other token.
    let (server, source) = (Scripted::start().await?, Source::default());
    let same = service(&server, source.answers(async |_| Ok(token(1, HOUR))))?;
    server.then(refused()).then(written());
    let error = same.execute_group(&insert()).await.unwrap_err();
    assert_eq!((status(&error), server.left(), source.calls()), (expected.clone(), 1, 2));

    // The source fails. The error has the service's answer and the reason.
    let (server, source) = (Scripted::start().await?, Source::default());
    let answer = |n| async move { if n == 1 { Ok(token(n, HOUR)) } else { Err("the login has expired".into()) } };
    let failing = service(&server, source.answers(answer))?;
    server.then(refused()).then(written());
    let error = failing.execute_group(&insert()).await.unwrap_err();
    assert_eq!((status(&error), server.left()), (expected, 1));
    assert!(error.to_string().contains("no other token: the token source failed: the login has expired"), "{error}");
    assert!(!format!("{error:?}").contains("t0k3n"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn other_credentials_are_not_tried_again_after_a_401() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(refused()).then(written());
    let error = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.status == 401), "{error:?}");
    only(&server);
    Ok(())
}

#[test]
fn a_refresh_whose_runtime_ended_is_begun_again() -> Result<()> {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let servers = runtime()?;
    let server = servers.block_on(Scripted::start())?;
    server.then(row());
    let source = Source::default();
    let answer = |n| async move { if n == 1 { std::future::pending().await } else { Ok(token(n, HOUR)) } };
    let service = service(&server, source.answers(answer))?;
    let read = async || tokio::time::timeout(Duration::from_millis(50), service.get("Posts", "p", "r", None)).await;
    assert!(runtime()?.block_on(read()).is_err(), "the source does not answer");
    servers.block_on(async { service.get("Posts", "p", "r", None).await })?;
    assert_eq!(authorizations(&server), ["Bearer t0k3n-2"]);
    Ok(())
}

#[derive(Debug, Default)]
struct Credential(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl TokenCredential for Credential {
    async fn get_token(
        &self,
        scopes: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core_1::Result<credentials::AccessToken> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.extend(scopes.iter().map(|&scope| scope.to_owned()));
        if asked.len() > 1 {
            let cause = std::io::Error::other("AADSTS700082: The refresh token has expired");
            let kind = azure_core_1::error::ErrorKind::Credential;
            return Err(azure_core_1::Error::with_error(kind, cause, "AzureCliCredential failed"));
        }
        Ok(credentials::AccessToken::new("t0k3n-1", (SystemTime::now() + HOUR).into()))
    }
}

#[tokio::test]
async fn a_credential_of_azure_core_1_is_asked_for_tokens_of_storage() -> Result<()> {
    let (server, credential) = (Scripted::start().await?, Arc::new(Credential::default()));
    let builder = AzureBackend::builder("acc").endpoint(server.endpoint());
    let service = builder.token_credential(Arc::<Credential>::clone(&credential)).build()?;
    assert_eq!(sent(&server, &service).await?, "Bearer t0k3n-1");
    server.then(refused());
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    let expected = "the token source failed: AzureCliCredential failed: AADSTS700082: The refresh token has expired";
    assert!(error.to_string().contains(expected), "{error}");
    let asked = credential.0.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*asked, ["https://storage.azure.com/.default"; 2]);
    Ok(())
}
