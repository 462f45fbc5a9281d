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
                ClientOptions, Context, Error as SdkError, Policy, PolicyResult, Request, RetryOptions, auth::Secret,
                error::ErrorKind,
            },
            azure_storage::StorageCredentials,
        },
    },
};
use tests::scripted::{Answer, Scripted};

use crate::protocol::{KEY, ROW, busy, insert, only, query, written};

/// A policy that counts requests, adds a header, and fails before or after it sends one.
#[derive(Clone, Debug, Default)]
struct Own {
    requests: Arc<AtomicUsize>,
    fails_before: bool,
    fails_after: bool,
}

#[async_trait]
impl Policy for Own {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        self.requests.fetch_add(1, Ordering::Relaxed);
        request.insert_header("x-own", "yes");
        let failed = || SdkError::new(ErrorKind::Other, "the policy does not like it");
        if self.fails_before {
            return Err(failed());
        }
        let answer = next[0].send(context, request, &next[1..]).await?;
        if self.fails_after { Err(failed()) } else { Ok(answer) }
    }
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
async fn a_policy_that_fails_before_a_request_is_sent_writes_nothing() -> Result<()> {
    let (server, policy) = (Scripted::start().await?, Own { fails_before: true, ..Own::default() });
    let error = backend(&server, &policy)?.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::NoAnswer { reason, .. } if reason.contains("does not like it")), "{error:?}");
    assert_eq!(server.connections(), 0);
    Ok(())
}

#[tokio::test]
async fn a_write_whose_policy_fails_afterwards_has_an_unknown_outcome() -> Result<()> {
    let (server, policy) = (Scripted::start().await?, Own { fails_after: true, ..Own::default() });
    server.then(written());
    let error = backend(&server, &policy)?.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(lost) if lost.reason.contains("does not like it")), "{error:?}");
    only(&server);
    Ok(())
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
