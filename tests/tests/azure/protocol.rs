//! Protocol details that the service or `azure_data_tables` make easy to get wrong, tested one by one on a scripted
//! server.

mod answers;
mod connections;
mod errors;
mod requests;
mod retries;
mod secondary;
mod tokens;

use std::{borrow::Cow, time::Duration};

use anyhow::Result;
use table_runtime::{
    ETag, Properties, Value,
    backend::{Action, AzureBackend, AzureBuilder, Group, IfMatch, KeyRange, Operation, Partitions, Scan},
};
use tests::scripted::{Answer, Request, Scripted};

const KEY: &str = "c2VjcmV0";
const ETAG: &str = "W/\"datetime'2024-03-01T10%3A11%3A12.1234567Z'\"";
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-03-01T10:11:12.1234567Z"}"#;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../table-runtime/src/backend/azure/fixtures/", $name))
    };
}

pub(crate) use fixture;

fn etag() -> ETag {
    ETAG.parse().expect("an ETag")
}

fn builder(server: &Scripted) -> AzureBuilder {
    AzureBackend::builder("acc").access_key(KEY).endpoint(server.endpoint()).max_attempts(3)
}

async fn scripted() -> Result<(Scripted, AzureBackend)> {
    let server = Scripted::start().await?;
    let service = builder(&server).timeout(Duration::from_millis(500)).build()?;
    Ok((server, service))
}

pub(crate) fn written() -> Answer {
    Answer::new(204).header("ETag", ETAG)
}

pub(crate) fn busy() -> Answer {
    let body = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}"#;
    Answer::new(503).json(body)
}

fn error(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"Says {code}."}}}}}}"#);
    Answer::new(status).json(body)
}

fn number() -> Properties {
    Properties::from_iter([("Number", Value::Int32(1))])
}

fn group<const N: usize>(operations: [(&str, Action); N]) -> Group {
    let operations = operations.map(|(row_key, action)| Operation { row_key: row_key.to_owned(), action });
    Group { table: Cow::Borrowed("Posts"), partition_key: "p".to_owned(), operations: operations.to_vec() }
}

fn insert() -> Group {
    group([("r", Action::Insert(number()))])
}

fn transaction() -> Group {
    group([("r1", Action::Insert(number())), ("r2", Action::Delete(IfMatch::Any))])
}

/// Returns every kind of write.
fn writes() -> Vec<Group> {
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

fn scan() -> Scan {
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
fn batch(body: &str) -> Answer {
    let content_type = "multipart/mixed; boundary=batchresponse_4c637ba4-b2f8-40f8-8856-c2d10d163a83";
    Answer::new(202).header("Content-Type", content_type).body(body.replace('\n', "\r\n"))
}

fn only(server: &Scripted) -> Request {
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:#?}");
    requests[0].clone()
}

/// Returns the decoded pairs of a request's query.
fn query(request: &Request) -> Vec<(String, String)> {
    let url = azure_core::Url::parse(&format!("http://a{}", request.target));
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}
