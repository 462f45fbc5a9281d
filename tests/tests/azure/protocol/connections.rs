//! Connections, timeouts and credentials.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use table_runtime::{
    Error,
    backend::{AzureBackend, AzureBuilder, BackendExt},
};
use tests::scripted::{Answer, Scripted};

use super::{KEY, ROW, builder, error, insert, only, query, scan, scripted, written};

#[tokio::test]
async fn connections_are_reused() -> Result<()> {
    let (server, service) = scripted().await?;
    for _ in 0..20 {
        server.then(Answer::new(200).json(ROW)).then(written()).then(error(404, "ResourceNotFound"));
        service.get("Posts", "p", "r", None).await?;
        service.execute_group(&insert()).await?;
        service.get("Posts", "p", "r", None).await?;
    }
    assert_eq!((server.requests().len(), server.connections()), (60, 1));
    Ok(())
}

#[tokio::test]
async fn a_request_ends_after_the_timeout() -> Result<()> {
    let server = Scripted::start().await?;
    let service = builder(&server).timeout(Duration::from_millis(100)).max_attempts(1).build()?;
    server.then(Answer::new(200).after(Duration::from_mins(1)));
    let begin = Instant::now();
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(30));
    Ok(())
}

#[tokio::test]
async fn the_timeout_applies_to_a_given_client() -> Result<()> {
    let server = Scripted::start().await?;
    let mut secret = reqwest::header::HeaderMap::new();
    secret.insert("x-proxy-key", reqwest::header::HeaderValue::from_static("s3cr3t"));
    let client = AzureBuilder::http_client_builder()?.default_headers(secret).build()?;
    assert!(format!("{client:?}").contains("s3cr3t"), "the client does not print its headers any more");
    let shown = format!("{:?}", builder(&server).http_client(client.clone()));
    assert!(!shown.contains("s3cr3t"), "{shown}");
    let service = builder(&server).http_client(client).timeout(Duration::from_millis(100)).max_attempts(1).build()?;
    server.then(written().after(Duration::from_mins(1)));
    let error = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    assert!(!format!("{service:?} {error:?}").contains("s3cr3t"));
    Ok(())
}

#[tokio::test]
async fn redirects_are_not_followed() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Answer::new(307).header("Location", "/elsewhere")).then(Answer::new(200).json(ROW));
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.status == 307), "{error:?}");
    only(&server);
    Ok(())
}

#[tokio::test]
async fn answers_of_cosmos_lack_headers_that_the_crate_demands() -> Result<()> {
    let (server, service) = scripted().await?;
    // The answers have neither `x-ms-version` nor `odata.id`, and their request id is no UUID.
    server.then(Answer::new(201).header("x-ms-request-id", "17").json(r#"{"TableName":"Posts"}"#));
    assert!(service.create_table("Posts").await?);
    server.then(Answer::new(204).header("x-ms-request-id", "17"));
    assert!(service.delete_table("Posts").await?);
    Ok(())
}

#[tokio::test]
async fn the_connection_string_of_the_emulator_signs_requests() -> Result<()> {
    let server = Scripted::start().await?;
    let emulator = AzureBuilder::from_connection_string("UseDevelopmentStorage=true")?;
    let service = emulator.endpoint(server.endpoint()).build()?;
    server.then(Answer::new(200).json(ROW));
    service.get("Posts", "p", "r", None).await?;
    let request = only(&server);
    let signature = request.header("Authorization").context("a signature")?;
    assert!(signature.starts_with("SharedKey devstoreaccount1:"), "{signature}");
    Ok(())
}

#[tokio::test]
async fn a_slash_at_the_endpoints_end_is_not_doubled() -> Result<()> {
    let server = Scripted::start().await?;
    let connect = format!("AccountName=acc;AccountKey={KEY};TableEndpoint={}/", server.endpoint());
    let service = AzureBackend::connect(&connect)?;
    server.then(Answer::new(201).json("{}")).then(Answer::new(200).json(ROW)).then(Answer::new(204));
    service.create_table("Posts").await?;
    service.get("Posts", "p", "r", None).await?;
    service.delete_table("Posts").await?;
    let targets: Vec<_> = server.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(targets, ["/acc/Tables", "/acc/Posts(PartitionKey='p',RowKey='r')", "/acc/Tables('Posts')"]);
    Ok(())
}

#[tokio::test]
async fn a_shared_access_signature_is_sent() -> Result<()> {
    let server = Scripted::start().await?;
    let connect =
        format!("TableEndpoint={};SharedAccessSignature=?sv=2019-02-02&sp=raud&sig=a%2Bb%3D", server.endpoint());
    let service = AzureBackend::connect(&connect)?;
    server.then(Answer::new(200).json(ROW)).then(Answer::new(200).json(r#"{"value":[]}"#));
    service.get("Posts", "p", "r", None).await?;
    service.query(&scan(), None).await?;
    for request in server.requests() {
        assert_eq!(request.header("Authorization"), None);
        let query = query(&request);
        for (name, value) in [("sv", "2019-02-02"), ("sp", "raud"), ("sig", "a+b=")] {
            assert!(query.contains(&(name.to_owned(), value.to_owned())), "{query:?}");
        }
    }
    Ok(())
}

#[test]
fn an_invalid_configuration_is_refused_by_build() {
    let builder = || AzureBackend::builder("acc").access_key(KEY);
    for (builder, expected) in [
        (AzureBackend::builder("acc"), "no credential"),
        (AzureBackend::builder("").access_key(KEY), "neither the account's name nor an endpoint"),
        (AzureBackend::builder("").access_key(KEY).endpoint("https://a"), "needs the account's name"),
        (AzureBackend::builder("a.b/c").access_key(KEY), "AccountName"),
        (AzureBackend::builder("acc").access_key("s3cr3t key!"), "AccountKey"),
        (AzureBackend::builder("acc").sas("sv=1&s1g=s3cr3t"), "no `sig=`"),
        (builder().endpoint("https://s3cr3t@a"), "must not hold a user"),
        (builder().endpoint("https://a/?sig=s3cr3t"), "must not hold a query"),
        (builder().secondary_endpoint("https://s3cr3t@a"), "in the secondary region, the table endpoint must not hold"),
        (builder().endpoint("https://acc.table.core.windows.net/Posts"), "ends with `/Posts`"),
        (
            builder().secondary_endpoint("https://acc-secondary.table.core.windows.net/Posts"),
            "in the secondary region, the table endpoint ends with `/Posts`",
        ),
        (builder().max_attempts(0), "max_attempts"),
        (builder().timeout(Duration::ZERO), "timeout of 0"),
        (
            AzureBackend::builder("acc").token_source(async || Err("s3cr3t".into())).endpoint("http://a.b"),
            "plain `http`",
        ),
        (
            AzureBackend::builder("acc").token_source(async || Err("s3cr3t".into())).secondary_endpoint("http://a.b"),
            "plain `http`",
        ),
    ] {
        let shown = format!("{builder:?}");
        let error = builder.build().unwrap_err();
        assert!(matches!(&error, Error::Configuration(text) if text.contains(expected)), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("s3cr3t"), "{error:?}");
        assert!(!shown.contains(KEY) && !shown.contains("s3cr3t"), "{shown}");
    }
}
