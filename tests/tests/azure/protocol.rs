//! Protocol details that the service makes easy to get wrong, tested one by one on a scripted
//! server.
//!
//! The tests run twice: through the client's own transport, and through that of the Azure SDK.

#[path = "protocol/answers.rs"]
mod answers;
#[path = "protocol/connections.rs"]
mod connections;
#[path = "protocol/errors.rs"]
mod errors;
#[path = "protocol/request_ids.rs"]
mod request_ids;
#[path = "protocol/requests.rs"]
mod requests;
#[path = "protocol/retries.rs"]
mod retries;
#[path = "protocol/secondary.rs"]
mod secondary;
#[path = "protocol/strangers.rs"]
mod strangers;

use std::{borrow::Cow, time::Duration};

use anyhow::Result;
use table_runtime::{
    ETag, Value,
    backend::{
        Action, AzureBackend, AzureBuilder, Group, IfMatch, KeyRange, Operation, Partitions, Scan,
        sdk::{azure_core::ClientOptions, azure_storage::StorageCredentials},
    },
    row::Properties,
};
use tests::scripted::{Answer, Request, Scripted, Step};

pub(crate) const KEY: &str = "c2VjcmV0";
pub(crate) const ETAG: &str = "W/\"datetime'2024-03-01T10%3A11%3A12.1234567Z'\"";
pub(crate) const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-03-01T10:11:12.1234567Z"}"#;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/azure/fixtures/", $name))
    };
}

pub(crate) use fixture;

pub(crate) fn etag() -> ETag {
    ETAG.parse().expect("an ETag")
}

/// True in the run through the transport of the Azure SDK.
fn is_sdk() -> bool {
    module_path!().ends_with("sdk")
}

pub(crate) fn builder(server: &Scripted) -> AzureBuilder {
    let builder = AzureBackend::builder("acc").endpoint(server.endpoint()).max_attempts(3);
    if is_sdk() {
        builder.sdk(StorageCredentials::access_key("acc", KEY.to_owned()), ClientOptions::default())
    } else {
        builder.access_key(KEY)
    }
}

pub(crate) async fn scripted() -> Result<(Scripted, AzureBackend)> {
    scripted_with(Duration::from_secs(30)).await
}

/// Returns a server and a service, whose requests end soon if the step comes too late.
pub(crate) async fn scripted_for(step: &Step) -> Result<(Scripted, AzureBackend)> {
    scripted_with(if step.is_late() { Duration::from_millis(500) } else { Duration::from_secs(30) }).await
}

async fn scripted_with(timeout: Duration) -> Result<(Scripted, AzureBackend)> {
    let server = Scripted::start().await?;
    let service = builder(&server).timeout(timeout).build()?;
    Ok((server, service))
}

pub(crate) fn written() -> Answer {
    Answer::new(204).header("ETag", ETAG)
}

pub(crate) fn busy() -> Answer {
    let body = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}"#;
    Answer::new(503).json(body)
}

pub(crate) fn error(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"Says {code}."}}}}}}"#);
    Answer::new(status).json(body)
}

pub(crate) fn number() -> Properties {
    Properties::from_iter([("Number", Value::Int32(1))])
}

pub(crate) fn group<const N: usize>(operations: [(&str, Action); N]) -> Group {
    let operations = operations.map(|(row_key, action)| Operation { row_key: row_key.to_owned(), action });
    Group { table: Cow::Borrowed("Posts"), partition_key: "p".to_owned(), operations: operations.to_vec() }
}

pub(crate) fn insert() -> Group {
    group([("r", Action::Insert(number()))])
}

pub(crate) fn transaction() -> Group {
    group([("r1", Action::Insert(number())), ("r2", Action::Delete(IfMatch::Any))])
}

/// Returns every kind of write.
pub(crate) fn writes() -> Vec<Group> {
    let mut writes: Vec<_> = [
        Action::Insert(number()),
        Action::Upsert(number()),
        Action::Replace(number(), IfMatch::Any),
        Action::Merge(number(), IfMatch::Any),
        Action::Delete(IfMatch::Any),
    ]
    .map(|action| group([("r", action)]))
    .to_vec();
    writes.push(transaction());
    writes
}

pub(crate) fn scan() -> Scan {
    Scan {
        table: Cow::Borrowed("Posts"),
        partitions: Partitions::One("p".to_owned()),
        rows: KeyRange::ALL,
        filter: None,
        select: None,
        page: 7,
    }
}

/// Returns an answer to a transaction in the service's form.
pub(crate) fn batch(body: &str) -> Answer {
    let content_type = "multipart/mixed; boundary=batchresponse_4c637ba4-b2f8-40f8-8856-c2d10d163a83";
    Answer::new(202).header("Content-Type", content_type).body(body.replace('\n', "\r\n"))
}

pub(crate) fn only(server: &Scripted) -> Request {
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:#?}");
    requests[0].clone()
}

/// Returns the decoded pairs of a request's query.
pub(crate) fn query(request: &Request) -> Vec<(String, String)> {
    let url = reqwest::Url::parse(&format!("http://a{}", request.target));
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}
