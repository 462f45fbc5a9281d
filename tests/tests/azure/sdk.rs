//! The transport of the Azure SDK, with a program's own policies.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::Result;
use async_trait::async_trait;
use table_runtime::{
    Error,
    backend::{
        AzureBackend, BackendExt,
        sdk::{
            azure_core::{
                BytesStream, ClientOptions, Context, Error as SdkError, Policy, PolicyResult, Request, Response,
                RetryOptions, StatusCode, auth::Secret, error::ErrorKind, headers::Headers,
            },
            azure_storage::{StorageCredentials, clients::ServiceType},
        },
    },
};
use tests::scripted::{Answer, Scripted};

use crate::protocol::{KEY, ROW, busy, error, insert, only, query, written};

/// A policy that counts requests and adds a header.
#[derive(Clone, Debug, Default)]
struct Own {
    requests: Arc<AtomicUsize>,
    does: Does,
}

/// What a policy does besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Does {
    #[default]
    Nothing,
    FailsBefore,
    FailsAfter,
    /// Puts an error of the next policy into one of its own.
    AddsContext,
    AnswersItself,
    SendsTwice,
    ReplacesTheContext,
    /// Adds a header that no answer can have.
    DamagesTheAnswer,
}

#[async_trait]
impl Policy for Own {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        self.requests.fetch_add(1, Ordering::Relaxed);
        request.insert_header("x-own", "yes");
        let failed = || SdkError::new(ErrorKind::Other, "the policy does not like it");
        let answer = match self.does {
            Does::FailsBefore => return Err(failed()),
            Does::AnswersItself => {
                let body = Box::pin(BytesStream::new(Vec::new()));
                return Ok(Response::new(StatusCode::ServiceUnavailable, Headers::new(), body));
            }
            Does::ReplacesTheContext => return next[0].send(&replaced(), request, &next[1..]).await,
            Does::SendsTwice => {
                let _ = next[0].send(context, request, &next[1..]).await;
                next[0].send(context, request, &next[1..]).await
            }
            _ => next[0].send(context, request, &next[1..]).await,
        };
        match self.does {
            Does::FailsAfter => Err(failed()),
            Does::AddsContext => answer.map_err(|error| error.context("in the policy")),
            Does::DamagesTheAnswer => {
                let (status, mut headers, body) = answer?.deconstruct();
                headers.insert("x-own", "two\nlines");
                let body = body.collect().await?;
                Ok(Response::new(status, headers, Box::pin(BytesStream::new(body))))
            }
            _ => answer,
        }
    }
}

fn replaced() -> Context {
    let mut context = Context::new();
    context.insert(ServiceType::Table);
    context
}

fn backend(server: &Scripted, policy: &Own) -> Result<AzureBackend> {
    // The retries of the SDK would repeat inserts, so they are not used.
    let options = ClientOptions::default().retry(RetryOptions::default());
    let policies: Vec<Arc<dyn Policy>> = vec![Arc::new(policy.clone())];
    let options = options.per_call_policies(policies);
    let credentials = StorageCredentials::access_key("acc", KEY.to_owned());
    Ok(AzureBackend::builder("acc").endpoint(server.endpoint()).sdk(credentials, options).max_attempts(2).build()?)
}

#[tokio::test]
async fn requests_pass_through_a_programs_own_policies() -> Result<()> {
    let (server, policy) = (Scripted::start().await?, Own::default());
    let service = backend(&server, &policy)?;
    server.then(busy()).then(written()).then(Answer::new(201)).then(Answer::new(200).json(ROW));
    service.execute_group(&insert()).await?;
    service.create_table("Posts").await?;
    service.get("Posts", "p", "r", None).await?;
    assert_eq!(policy.requests.load(Ordering::Relaxed), 4);
    for request in server.requests() {
        assert_eq!(request.header("x-own"), Some("yes"));
        assert!(request.header("Authorization").is_some_and(|value| value.starts_with("SharedKey acc:")));
    }
    Ok(())
}

#[tokio::test]
async fn a_write_that_no_policy_has_sent_is_not_written() -> Result<()> {
    for (does, expected) in [
        (Does::FailsBefore, "does not like it"),
        (Does::AnswersItself, "a policy answered 503 and did not send the request"),
        (Does::ReplacesTheContext, "replaced the context"),
    ] {
        let (server, policy) = (Scripted::start().await?, Own { does, ..Own::default() });
        let error = backend(&server, &policy)?.execute_group(&insert()).await.unwrap_err();
        assert!(matches!(&error, Error::NoAnswer { reason, .. } if reason.contains(expected)), "{does:?}: {error:?}");
        assert_eq!((server.connections(), error.client_request_id()), (0, None));
    }
    Ok(())
}

#[tokio::test]
async fn a_write_whose_policy_fails_afterwards_has_an_unknown_outcome() -> Result<()> {
    for (does, expected) in [
        (Does::FailsAfter, "does not like it"),
        (Does::SendsTwice, "a second time"),
        (Does::DamagesTheAnswer, "damaged the answer"),
    ] {
        let (server, policy) = (Scripted::start().await?, Own { does, ..Own::default() });
        server.then(written()).then(written());
        let error = backend(&server, &policy)?.execute_group(&insert()).await.unwrap_err();
        assert!(matches!(&error, Error::OutcomeUnknown(lost) if lost.reason.contains(expected)), "{does:?}: {error:?}");
        let request = only(&server);
        if does != Does::SendsTwice {
            assert_eq!(error.client_request_id(), request.header("x-ms-client-request-id"), "{does:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_refusal_inside_of_an_error_of_a_policy_is_found() -> Result<()> {
    let (server, policy) = (Scripted::start().await?, Own { does: Does::AddsContext, ..Own::default() });
    let service = backend(&server, &policy)?;
    server.then(error(409, "EntityAlreadyExists")).then(error(404, "ResourceNotFound"));
    let refused = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(refused, Error::AlreadyExists(_)), "{refused:?}");
    assert_eq!(refused.client_request_id(), server.requests()[0].header("x-ms-client-request-id"));
    assert_eq!(service.get("Posts", "p", "r", None).await?, None);
    Ok(())
}

#[test]
fn a_token_of_the_sdk_does_not_go_over_plain_http() {
    let token = || StorageCredentials::bearer_token(Secret::new("s3cr3t"));
    let build =
        |endpoint: &str| AzureBackend::builder("acc").sdk(token(), ClientOptions::default()).endpoint(endpoint).build();
    let refused = build("http://acc.table.core.windows.net");
    assert!(matches!(&refused, Err(Error::Configuration(text)) if text.contains("plain `http`")), "{refused:?}");
    assert!(build("https://acc.table.core.windows.net").is_ok());
}

#[tokio::test]
async fn every_credential_of_the_sdk_authorizes_requests() -> Result<()> {
    let sas = StorageCredentials::sas_token("sv=2019-02-02&sp=raud&sig=a%2Bb%3D")?;
    let token = StorageCredentials::bearer_token(Secret::new("s3cr3t"));
    for (credentials, authorization, has_signature) in
        [(sas, None, true), (token, Some("Bearer s3cr3t"), false), (StorageCredentials::anonymous(), None, false)]
    {
        let server = Scripted::start().await?;
        let builder = AzureBackend::builder("acc").endpoint(server.endpoint());
        let service = builder.sdk(credentials, ClientOptions::default()).build()?;
        server.then(Answer::new(200).json(ROW));
        service.get("Posts", "p", "r", None).await?;
        let request = only(&server);
        assert_eq!(request.header("Authorization"), authorization);
        let is_signed = query(&request).contains(&("sig".to_owned(), "a+b=".to_owned()));
        assert_eq!(is_signed, has_signature, "{}", request.target);
        assert!(!format!("{service:?}").contains("s3cr3t"));
    }
    Ok(())
}
