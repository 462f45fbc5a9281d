//! The traps of the service and of `azure_data_tables`, one by one, on a scripted server: each test fails if the
//! backend falls into its trap.

use std::{
    borrow::Cow,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use azure_core::auth::{AccessToken, TokenCredential};
use table_runtime::{
    ETag, Error, Guid, Properties, RowNow, TableEntity, Tables, Ticks, Value, ValueRef,
    backend::{
        Action, AzureBackend, AzureBuilder, Backend, Continuation, Group, IfMatch, KeyRange, Operation, Partitions,
        Scan,
    },
    property::Always,
};
use tests::scripted::{Answer, Request, Scripted, Step};

const KEY: &str = "c2VjcmV0";
const ETAG: &str = "W/\"datetime'2024-03-01T10%3A11%3A12.1234567Z'\"";
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-03-01T10:11:12.1234567Z"}"#;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../table-runtime/src/backend/azure/fixtures/", $name))
    };
}

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

fn written() -> Answer {
    Answer::new(204).header("ETag", ETAG)
}

fn busy() -> Answer {
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

/// Every kind of write, and what it is called.
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

/// An answer to a transaction, as the service sends it.
fn batch(body: &str) -> Answer {
    let content_type = "multipart/mixed; boundary=batchresponse_4c637ba4-b2f8-40f8-8856-c2d10d163a83";
    Answer::new(202).header("Content-Type", content_type).body(body.replace('\n', "\r\n"))
}

fn only(server: &Scripted) -> Request {
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:#?}");
    requests[0].clone()
}

// Keys in addresses.

#[tokio::test]
async fn quotes_are_doubled_in_addresses_and_not_in_bodies() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(written());
    service.execute(&group([("a'b 50%+é", Action::Upsert(number()))])).await?;
    let request = only(&server);
    assert_eq!(request.target, "/acc/Posts(PartitionKey='p',RowKey='a%27%27b%2050%25%2B%C3%A9')");
    let body: serde_json::Value = serde_json::from_str(&request.body)?;
    assert_eq!(body["RowKey"], "a'b 50%+é");
    server.then(batch(fixture!("transaction_done.http")));
    let two = [("a'b", Action::Upsert(number())), ("c'd", Action::Delete(IfMatch::Any))];
    service.execute(&group(two)).await?;
    let body = &server.requests()[1].body;
    assert!(body.contains("/acc/Posts(PartitionKey='p',RowKey='a%27%27b') HTTP/1.1"), "{body}");
    assert!(body.contains("/acc/Posts(PartitionKey='p',RowKey='c%27%27d') HTTP/1.1"), "{body}");
    assert!(body.contains(r#""RowKey":"a'b""#), "{body}");
    Ok(())
}

#[tokio::test]
async fn a_tab_in_a_key_is_not_dropped() -> Result<()> {
    // Limits are checked above the backend. Should one come through, it must not become another row's key.
    let (server, service) = scripted().await?;
    server.then(error(400, "OutOfRangeInput"));
    service.execute(&group([("a\tb\nc", Action::Upsert(number()))])).await.unwrap_err();
    assert_eq!(only(&server).target, "/acc/Posts(PartitionKey='p',RowKey='a%09b%0Ac')");
    Ok(())
}

// Requests.

#[tokio::test]
async fn each_write_is_the_services_request_for_it() -> Result<()> {
    let (server, service) = scripted().await?;
    let row = "/acc/Posts(PartitionKey='p',RowKey='r')";
    let version = || IfMatch::ETag(etag());
    for (action, method, target, condition) in [
        (Action::Insert(number()), "POST", "/acc/Posts", None),
        (Action::Upsert(number()), "PUT", row, None),
        (Action::Replace(number(), IfMatch::Any), "PUT", row, Some("*")),
        (Action::Replace(number(), version()), "PUT", row, Some(ETAG)),
        (Action::Merge(number(), IfMatch::Any), "MERGE", row, Some("*")),
        (Action::Merge(number(), version()), "MERGE", row, Some(ETAG)),
        (Action::Delete(IfMatch::Any), "DELETE", row, Some("*")),
        (Action::Delete(version()), "DELETE", row, Some(ETAG)),
    ] {
        server.then(written());
        let etags = service.execute(&group([("r", action.clone())])).await?;
        assert_eq!(etags, [action.properties().map(|_| etag())]);
        let request = server.requests().pop().context("a request")?;
        assert_eq!((request.method.as_str(), request.target.as_str()), (method, target));
        assert_eq!(request.header("If-Match"), condition, "{action:?}");
        // Without it, errors of most of these come as XML, or an insert sends the whole row back.
        assert!(request.header("Accept").is_some_and(|accept| accept.starts_with("application/json")), "{action:?}");
        assert_eq!(request.header("Prefer").is_some(), method == "POST");
        assert!(request.header("Authorization").is_some_and(|value| value.starts_with("SharedKey acc:")));
    }
    Ok(())
}

#[tokio::test]
async fn a_transaction_is_written_as_the_service_reads_it() -> Result<()> {
    let (server, service) = scripted().await?;
    let five = group([
        ("r1", Action::Insert(number())),
        ("r2", Action::Upsert(number())),
        ("r3", Action::Replace(number(), IfMatch::Any)),
        ("r4", Action::Merge(number(), IfMatch::ETag(etag()))),
        ("r5", Action::Delete(IfMatch::Any)),
    ]);
    server.then(error(400, "InvalidInput"));
    service.execute(&five).await.unwrap_err();
    let request = only(&server);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/acc/$batch"));
    assert!(request.body.split("\r\n").all(|line| !line.contains(['\r', '\n'])), "line ends: {:?}", request.body);
    let boundary = request.header("Content-Type").and_then(|value| value.strip_prefix("multipart/mixed; boundary="));
    let boundary = boundary.context("a boundary")?;
    assert!(request.body.starts_with(&format!("--{boundary}\r\n")));
    assert!(request.body.ends_with(&format!("--\r\n--{boundary}--\r\n")), "the closing boundary");
    let changeset = request.body.split("boundary=").nth(1).and_then(|rest| rest.split("\r\n").next());
    let changeset = format!("--{}", changeset.context("a changeset")?);
    let parts: Vec<_> = request.body.split(&format!("{changeset}\r\n")).skip(1).collect();
    assert_eq!(parts.len(), 5);
    let conditions = [None, None, Some("*"), Some(ETAG), Some("*")];
    let methods = ["POST", "PUT", "PUT", "MERGE", "DELETE"];
    for ((part, condition), method) in parts.iter().zip(conditions).zip(methods) {
        assert!(part.contains("Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"), "{part}");
        assert!(part.contains(&format!("\r\n\r\n{method} http://")), "{part}");
        let found = part.to_ascii_lowercase().contains("if-match:");
        // Without a condition, an update or a merge would be an upsert here.
        assert_eq!(found, condition.is_some(), "{part}");
        if let Some(condition) = condition {
            assert!(part.contains(&format!(": {condition}\r\n")), "{part}");
        }
    }
    assert!(parts[0].contains("prefer: return-no-content"), "{}", parts[0]);
    Ok(())
}

#[tokio::test]
async fn values_say_their_types() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(written());
    let mut values = Properties::from_iter([("Whole", Value::Double(5.0)), ("Large", Value::Int64(i64::MAX))]);
    values.push("NotANumber", ValueRef::Double(f64::NAN));
    service.execute(&group([("r", Action::Insert(values))])).await?;
    let body: serde_json::Value = serde_json::from_str(&only(&server).body)?;
    assert_eq!(
        (&body["Whole@odata.type"], &body["NotANumber@odata.type"]),
        (&"Edm.Double".into(), &"Edm.Double".into())
    );
    assert_eq!((&body["Large@odata.type"], &body["Large"]), (&"Edm.Int64".into(), &"9223372036854775807".into()));
    assert_eq!(body["NotANumber"], "NaN");
    Ok(())
}

#[tokio::test]
async fn a_transaction_of_too_many_bytes_is_not_sent() -> Result<()> {
    let (server, service) = scripted().await?;
    let text = Properties::from_iter([("Text", Value::String("x".repeat(32 * 1024)))]);
    let large = |count: usize| Group {
        table: Cow::Borrowed("Posts"),
        partition_key: "p".to_owned(),
        operations: (0..count)
            .map(|n| {
                let mut four = Properties::default();
                for name in ["A", "B", "C", "D"] {
                    text.get("Text").into_iter().for_each(|value| four.push(name, value));
                }
                Operation { row_key: format!("{n}"), action: Action::Insert(four) }
            })
            .collect(),
    };
    let error = service.execute(&large(32)).await.unwrap_err();
    assert!(matches!(&error, Error::Limit(limit) if limit.limit == "4194304 bytes"), "{error:?}");
    assert_eq!(server.connections(), 0);
    server.then(busy()).then(busy()).then(busy());
    let error = service.execute(&large(31)).await.unwrap_err();
    assert!(matches!(error, Error::Service(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn an_answer_whose_etag_is_malformed_proves_nothing() -> Result<()> {
    let (server, service) = scripted().await?;
    let write = group([("r", Action::Upsert(number()))]);
    for malformed in ["*", "none", "W/*", "\"a\", \"b\""] {
        server.then(Answer::new(204).header("ETag", malformed));
        let error = service.execute(&write).await.unwrap_err();
        assert!(matches!(&error, Error::OutcomeUnknown(_)) && error.to_string().contains("ETag"), "{error:?}");

        let escaped = malformed.replace('"', "\\\"");
        let row = ROW.replacen('{', &format!("{{\"odata.etag\":\"{escaped}\","), 1);
        server.then(Answer::new(200).json(row));
        let error = service.get("T", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(_)) && error.to_string().contains("ETag"), "{error:?}");
    }
    Ok(())
}

// Errors.

#[tokio::test]
async fn a_failed_transaction_is_an_error_that_names_its_row() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(batch(fixture!("transaction_failed.http")));
    let error = service.execute(&transaction()).await.unwrap_err();
    assert!(matches!(&error, Error::AlreadyExists(row) if row.row_key == "r2"), "{error:?}");
    only(&server);
    // Of another code, the message is kept, without the index.
    server.then(batch(&fixture!("transaction_failed.http").replace("EntityAlreadyExists", "InvalidInput")));
    let error = service.execute(&transaction()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (409, "InvalidInput"));
    assert!(answer.message.starts_with("The specified entity already exists."), "{}", answer.message);
    Ok(())
}

#[tokio::test]
async fn a_transaction_gives_the_new_etags() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(batch(fixture!("transaction_done.http")));
    assert_eq!(service.execute(&transaction()).await?, [Some(etag()), None]);
    only(&server);
    Ok(())
}

#[tokio::test]
async fn errors_are_told_by_their_bodies() -> Result<()> {
    let (server, service) = scripted().await?;
    let xml = |status, body: &str| Answer::new(status).header("Content-Type", "application/xml").body(body);

    server.then(Answer::new(409).json(fixture!("already_exists.json")));
    let error = service.execute(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::AlreadyExists(row) if row.row_key == "r"), "{error:?}");

    let delete = group([("r", Action::Delete(IfMatch::Any))]);
    for answer in [
        xml(404, fixture!("not_found.xml")),
        Answer::new(404).json(fixture!("cosmos_not_found.json")),
        Answer::new(404).header("x-ms-error-code", "ResourceNotFound"),
        self::error(404, "EntityNotFound"),
    ] {
        server.then(answer.clone()).then(answer);
        let error = service.execute(&delete).await.unwrap_err();
        assert!(matches!(&error, Error::NotFound(row) if row.row_key == "r"), "{error:?}");
        assert_eq!(service.get("Posts", "p", "r", None).await?, None);
    }

    for answer in [xml(412, fixture!("condition_not_satisfied.xml")), Answer::new(412)] {
        server.then(answer);
        let error = service.execute(&delete).await.unwrap_err();
        assert!(matches!(&error, Error::ConditionNotMet(row) if row.row_key == "r"), "{error:?}");
    }

    server.then(xml(403, fixture!("authentication_failed.xml")));
    let error = service.execute(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (403, "AuthenticationFailed"));
    assert!(answer.message.starts_with("Server failed to authenticate the request."), "{}", answer.message);

    for answer in [self::error(404, "TableNotFound"), xml(404, "<e><code>TableNotFound</code></e>")] {
        server.then(answer.clone()).then(answer.clone()).then(answer);
        assert!(matches!(service.execute(&insert()).await, Err(Error::TableNotFound(_))));
        assert!(matches!(service.get("Posts", "p", "r", None).await, Err(Error::TableNotFound(_))));
        assert!(matches!(service.query(&scan(), None).await, Err(Error::TableNotFound(_))));
    }

    server.then(self::error(409, "TableBeingDeleted"));
    assert!(matches!(service.create_table("Posts").await, Err(Error::TableBeingDeleted(table)) if table == "Posts"));

    // An address that is not the service's: nobody said that there is no such row.
    for answer in [Answer::new(404), Answer::new(404).body("<html>no code</html>")] {
        server.then(answer);
        let error = service.get("Posts", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(answer) if answer.status == 404), "{error:?}");
    }
    assert_eq!(server.left(), 0);
    Ok(())
}

#[tokio::test]
async fn a_table_that_is_there_or_gone_already_is_no_error() -> Result<()> {
    let (server, service) = scripted().await?;
    server
        .then(error(409, "TableAlreadyExists"))
        .then(error(404, "ResourceNotFound"))
        .then(error(404, "TableNotFound"));
    assert!(!service.create_table("Posts").await?);
    assert!(!service.delete_table("Posts").await?);
    assert!(!service.delete_table("Posts").await?);
    Ok(())
}

// Retries.

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_neither_repeated_nor_guessed() -> Result<()> {
    let cut =
        b"HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\nContent-Length: 900\r\n\r\n--b\r\n";
    let slow = || written().after(Duration::from_secs(2));
    let lost: [(&str, Step); 10] = [
        ("no answer", Step::ReadAndClose),
        ("a reset", Step::Close),
        ("half a head", Step::ReadAndSend(b"HTTP/1.1 204 No Con".to_vec())),
        ("half a body", Step::ReadAndSend(cut.to_vec())),
        ("a timeout", slow().into()),
        ("500 with a code", error(500, "OperationTimedOut").into()),
        ("500", Answer::new(500).into()),
        ("502", Answer::new(502).into()),
        ("503 of a proxy", Answer::new(503).into()),
        ("504", Answer::new(504).into()),
    ];
    for write in writes() {
        for (what, step) in &lost {
            let (server, service) = scripted().await?;
            // Were it repeated, this would be a good answer.
            server.then(step.clone()).then(written());
            let error = service.execute(&write).await.unwrap_err();
            let Error::OutcomeUnknown(unknown) = &error else { panic!("{what}, {}: {error:?}", write.name()) };
            assert_eq!(unknown.operation, write.name(), "{what}");
            assert_eq!(unknown.row.row_key, write.operations[0].row_key);
            assert!(matches!(unknown.now, RowNow::Unread(_)));
            assert_eq!(server.left(), 1, "{what}, {}: it was sent again", write.name());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_transactions_answer_that_cannot_be_read_proves_nothing() -> Result<()> {
    let done = fixture!("transaction_done.http");
    let failed = fixture!("transaction_failed.http");
    let (first, _) = done.split_once("DataServiceVersion: 1.0;").context("two parts")?;
    for (what, answer) in [
        ("nothing", batch("")),
        ("cut in the second part", batch(first)),
        ("no closing boundary", batch(done.rsplit_once("--batchresponse").context("a boundary")?.0)),
        ("no ETag", batch(&done.replace("ETag:", "Nothing:"))),
        ("one part of two", batch(&done.replace("HTTP/1.1 204 No Content\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;", "DataServiceVersion: 1.0;"))),
        ("another content type", Answer::new(202).json("{}")),
        ("a time-out within", batch(&failed.replace("409 Conflict", "500 Internal Server Error"))),
    ] {
        let (server, service) = scripted().await?;
        server.then(answer).then(batch(done));
        let error = service.execute(&transaction()).await.unwrap_err();
        assert!(matches!(&error, Error::OutcomeUnknown(_)), "{what}: {error:?}");
        assert_eq!(server.left(), 1, "{what}: it was sent again");
    }
    // A whole answer for fewer operations than were asked for.
    let (server, service) = scripted().await?;
    server.then(batch(done));
    let three =
        group([("a", Action::Upsert(number())), ("b", Action::Delete(IfMatch::Any)), ("c", Action::Upsert(number()))]);
    let error = service.execute(&three).await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_write_that_was_refused_unread_is_repeated() -> Result<()> {
    let inner = fixture!("transaction_failed.http");
    let inner = inner.replace("409 Conflict", "503 Busy").replace("EntityAlreadyExists", "ServerBusy");
    for write in writes() {
        let (server, service) = scripted().await?;
        server.then(busy()).then(Answer::new(429));
        if write.operations.len() > 1 {
            let service = builder(&server).max_attempts(4).build()?;
            server.then(batch(&inner)).then(batch(fixture!("transaction_done.http")));
            service.execute(&write).await?;
            assert_eq!(server.requests().len(), 4);
        } else {
            server.then(written());
            service.execute(&write).await?;
            assert_eq!(server.requests().len(), 3, "{}", write.name());
        }
    }
    Ok(())
}

#[tokio::test]
async fn attempts_are_bounded() -> Result<()> {
    let (server, service) = scripted().await?;
    for _ in 0..4 {
        server.then(busy());
    }
    let error = service.execute(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!(
        (answer.status, answer.code.as_str(), answer.message.as_str()),
        (503, "ServerBusy", "The server is busy.")
    );
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn the_service_says_how_long_to_wait() -> Result<()> {
    let (server, service) = scripted().await?;
    let begin = Instant::now();
    server.then(busy().header("Retry-After", "1")).then(written());
    service.execute(&insert()).await?;
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());

    let begin = Instant::now();
    server.then(Answer::new(429).header("x-ms-retry-after-ms", "700")).then(written());
    service.execute(&insert()).await?;
    assert!(begin.elapsed() >= Duration::from_millis(700), "{:?}", begin.elapsed());

    // Longer than it may take: no wait, and no attempt that is too early.
    let begin = Instant::now();
    server.then(busy().header("Retry-After", "3600")).then(written());
    let error = service.execute(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.code == "ServerBusy"), "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn reads_are_repeated_after_whatever_may_pass() -> Result<()> {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"value\":[";
    let mut passing: Vec<Step> = vec![
        Step::ReadAndClose,
        Step::Close,
        Step::ReadAndSend(cut.to_vec()),
        Answer::new(200).json(ROW).after(Duration::from_secs(2)).into(),
    ];
    passing.extend([408, 429, 500, 502, 503, 504].map(|status| Step::from(Answer::new(status))));
    for step in passing {
        let (server, service) = scripted().await?;
        server.then(step.clone()).then(Answer::new(200).json(ROW));
        assert!(service.get("Posts", "p", "r", None).await?.is_some(), "{step:?}");
        server.then(step.clone()).then(Answer::new(200).json(r#"{"value":[]}"#));
        assert!(service.query(&scan(), None).await?.rows.is_empty(), "{step:?}");
        server.then(step.clone()).then(Answer::new(200).json(r#"{"value":[{"TableName":"Posts"}]}"#));
        assert_eq!(service.list_tables("").await?, ["Posts"], "{step:?}");
        assert_eq!(server.left(), 0);
    }
    // And nothing else is.
    let (server, service) = scripted().await?;
    server.then(Answer::new(400)).then(Answer::new(200).json(ROW));
    service.get("Posts", "p", "r", None).await.unwrap_err();
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn a_read_without_an_answer_says_so() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Step::ReadAndClose).then(Step::ReadAndClose).then(Step::ReadAndClose);
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(&error, Error::NoAnswer { operation: "get", .. }), "{error:?}");
    Ok(())
}

/// An address where nobody listens, for now.
fn nobody() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

#[tokio::test]
async fn a_write_that_found_no_connection_is_repeated() -> Result<()> {
    let address = nobody()?;
    let service = AzureBackend::builder("acc").access_key(KEY).endpoint(format!("http://{address}/acc")).build()?;
    let later = async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let server = Scripted::start_on(address).await?;
        server.then(written());
        anyhow::Ok(server)
    };
    let group = insert();
    let (etags, server) = tokio::join!(service.execute(&group), later);
    assert_eq!(etags?, [Some(etag())]);
    only(&server?);
    Ok(())
}

#[tokio::test]
async fn a_write_that_found_no_connection_wrote_nothing() -> Result<()> {
    let endpoint = format!("http://{}/acc", nobody()?);
    let service = AzureBackend::builder("acc").access_key(KEY).endpoint(endpoint).max_attempts(2).build()?;
    for write in writes() {
        let error = service.execute(&write).await.unwrap_err();
        let Error::NoAnswer { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.starts_with("no connection"), "{reason}");
    }
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_about_tables() -> Result<()> {
    // Making a table twice makes one.
    let (server, service) = scripted().await?;
    server.then(Step::ReadAndClose).then(error(409, "TableAlreadyExists"));
    assert!(!service.create_table("Posts").await?);
    // Dropping it twice could drop one that was made in between.
    server.then(Step::ReadAndClose).then(Answer::new(204));
    let error = service.delete_table("Posts").await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(server.left(), 1);
    Ok(())
}

// Reads.

#[tokio::test]
async fn rows_are_read_as_other_programs_wrote_them() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Answer::new(200).json(fixture!("page.json")));
    let page = service.query(&scan(), None).await?;
    assert_eq!((page.rows.len(), page.next), (2, None));
    let row = page.rows.get(0).context("a row")?;
    assert_eq!((row.partition_key, row.row_key), ("Customer", "Name"));
    assert_eq!(row.etag.to_string(), "W/\"0x5B168C7B6E589D2\"");
    assert_eq!(row.timestamp.to_string(), "2013-08-22T01:12:06.2608595Z");
    let expected = Properties::from_iter([
        ("Address", Value::String("Mountain View".to_owned())),
        ("Age", Value::Int32(23)),
        ("AmountDue", Value::Double(200.23)),
        ("Balance", Value::Double(5.0)),
        ("CustomerCode", Value::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse()?)),
        ("CustomerSince", Value::DateTime("2008-07-10T00:00:00Z".parse()?)),
        ("IsActive", Value::Boolean(true)),
        ("NumberOfOrders", Value::Int64(255)),
    ]);
    assert_eq!(row.properties.to_properties(), expected);
    // Without metadata, the ETag follows from the time stamp.
    let row = page.rows.get(1).context("a row")?;
    assert_eq!(row.etag.to_string(), "W/\"datetime'2013-08-22T01%3A12%3A06.2608595Z'\"");
    assert_eq!(row.properties.to_properties(), Properties::from_iter([("Balance", Value::Double(5.0))]));
    // No metadata would not tell the types.
    assert_eq!(only(&server).header("Accept"), Some("application/json;odata=minimalmetadata"));
    Ok(())
}

/// The pairs of a request's query, decoded.
fn query(request: &Request) -> Vec<(String, String)> {
    let url = azure_core::Url::parse(&format!("http://a{}", request.target));
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}

#[tokio::test]
async fn an_empty_page_may_go_on_and_a_row_key_may_be_absent() -> Result<()> {
    let (server, service) = scripted().await?;
    let empty = || Answer::new(200).json(r#"{"value":[]}"#);
    server.then(
        empty()
            .header("x-ms-continuation-NextPartitionKey", "1!8!cA--")
            .header("x-ms-continuation-NextRowKey", "1!4!a+b&c"),
    );
    server.then(empty().header("x-ms-continuation-NextPartitionKey", "1!8!cQ--"));
    server.then(empty());
    let mut scan = scan();
    scan.rows.from = std::ops::Bound::Included("it's a+b & 50%".to_owned());
    scan.select = Some(Cow::Borrowed(&["Title", "Url"]));
    let page = service.query(&scan, None).await?;
    let first = Continuation { partition_key: "1!8!cA--".to_owned(), row_key: Some("1!4!a+b&c".to_owned()) };
    assert_eq!((page.rows.len(), page.next.as_ref()), (0, Some(&first)));
    let page = service.query(&scan, page.next.as_ref()).await?;
    let second = Continuation { partition_key: "1!8!cQ--".to_owned(), row_key: None };
    assert_eq!(page.next.as_ref(), Some(&second));
    assert_eq!(service.query(&scan, page.next.as_ref()).await?.next, None);

    let asked = [
        ("$filter", "PartitionKey eq 'p' and RowKey ge 'it''s a+b & 50%'"),
        ("$select", "PartitionKey,RowKey,Timestamp,Title,Url"),
        // It is the size of a page, not a limit: nothing is dropped beyond it, and each page asks for it again.
        ("$top", "7"),
    ];
    let next: [&[(&str, &str)]; 3] =
        [&[], &[("NextPartitionKey", "1!8!cA--"), ("NextRowKey", "1!4!a+b&c")], &[("NextPartitionKey", "1!8!cQ--")]];
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for (request, next) in requests.iter().zip(next) {
        let expected: Vec<_> = asked.iter().chain(next).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(query(request), expected);
        assert!(request.target.starts_with("/acc/Posts()?"), "{}", request.target);
    }
    Ok(())
}

#[tokio::test]
async fn a_scan_of_everything_has_no_filter() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Answer::new(200).json(r#"{"value":[]}"#));
    service.query(&Scan { partitions: Partitions::All, ..scan() }, None).await?;
    assert_eq!(query(&only(&server)), [("$top".to_owned(), "7".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn tables_are_listed_to_the_last_page() -> Result<()> {
    let (server, service) = scripted().await?;
    let page = |name| Answer::new(200).json(format!(r#"{{"value":[{{"TableName":"{name}"}}]}}"#));
    server.then(page("Log201007").header("x-ms-continuation-NextTableName", "1!12!TG9n"));
    server.then(Answer::new(200).json("{}").header("x-ms-continuation-NextTableName", "1!12!TG9o"));
    server.then(page("Log201006"));
    assert_eq!(service.list_tables("Log").await?, ["Log201006", "Log201007"]);
    let filter = ("$filter".to_owned(), "TableName ge 'Log' and TableName lt 'Loh'".to_owned());
    let next = |token: &str| ("NextTableName".to_owned(), token.to_owned());
    let queries: Vec<_> = server.requests().iter().map(query).collect();
    assert_eq!(
        queries,
        [vec![filter.clone()], vec![filter.clone(), next("1!12!TG9n")], vec![filter, next("1!12!TG9o")]]
    );
    Ok(())
}

#[tokio::test]
async fn an_answer_that_is_no_row_is_an_error() -> Result<()> {
    let (server, service) = scripted().await?;
    for body in ["", "<html>", "{}", r#"{"PartitionKey":"p","RowKey":"r"}"#] {
        server.then(Answer::new(200).json(body));
        let error = service.get("Posts", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(answer) if answer.status == 200), "{body}: {error:?}");
    }
    Ok(())
}

// Connections.

#[tokio::test]
async fn connections_are_kept() -> Result<()> {
    let (server, service) = scripted().await?;
    for _ in 0..20 {
        server.then(Answer::new(200).json(ROW)).then(written()).then(error(404, "ResourceNotFound"));
        service.get("Posts", "p", "r", None).await?;
        service.execute(&insert()).await?;
        service.get("Posts", "p", "r", None).await?;
    }
    assert_eq!((server.requests().len(), server.connections()), (60, 1));
    Ok(())
}

#[tokio::test]
async fn requests_do_not_wait_for_ever() -> Result<()> {
    let server = Scripted::start().await?;
    let service = builder(&server).timeout(Duration::from_millis(100)).max_attempts(1).build()?;
    server.then(Answer::new(200).after(Duration::from_secs(60)));
    let begin = Instant::now();
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    Ok(())
}

#[tokio::test]
async fn a_client_of_ones_own_has_the_timeout_too() -> Result<()> {
    let server = Scripted::start().await?;
    let mut secret = reqwest::header::HeaderMap::new();
    secret.insert("x-proxy-key", reqwest::header::HeaderValue::from_static("s3cr3t"));
    let client = reqwest::Client::builder().default_headers(secret).build()?;
    assert!(format!("{client:?}").contains("s3cr3t"), "it needs no care any more");
    let shown = format!("{:?}", builder(&server).http_client(client.clone()));
    assert!(!shown.contains("s3cr3t"), "{shown}");
    let service = builder(&server).http_client(client).timeout(Duration::from_millis(100)).max_attempts(1).build()?;
    server.then(written().after(Duration::from_secs(60)));
    let error = service.execute(&insert()).await.unwrap_err();
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

// Cosmos DB.

#[tokio::test]
async fn cosmos_answers_without_the_headers_that_the_crate_demands() -> Result<()> {
    let (server, service) = scripted().await?;
    // Neither `x-ms-version`, nor a request's id that is a UUID, nor `odata.id` and its like.
    server.then(Answer::new(201).header("x-ms-request-id", "17").json(r#"{"TableName":"Posts"}"#));
    assert!(service.create_table("Posts").await?);
    server.then(Answer::new(204).header("x-ms-request-id", "17"));
    assert!(service.delete_table("Posts").await?);
    Ok(())
}

// Credentials.

#[tokio::test]
async fn the_emulators_connection_string_signs() -> Result<()> {
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
async fn a_shared_access_signature_goes_along() -> Result<()> {
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

#[derive(Debug)]
struct Tokens(Result<&'static str, ()>);

#[async_trait::async_trait]
impl TokenCredential for Tokens {
    async fn get_token(&self, scopes: &[&str]) -> azure_core::Result<AccessToken> {
        assert_eq!(scopes, ["https://storage.azure.com/.default"]);
        let refused = |()| azure_core::Error::message(azure_core::error::ErrorKind::Credential, "run `az login` first");
        let token = self.0.map_err(refused)?;
        Ok(AccessToken::new(token, time::OffsetDateTime::now_utc() + time::Duration::HOUR))
    }

    async fn clear_cache(&self) -> azure_core::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_goes_along_and_its_lack_is_told() -> Result<()> {
    let server = Scripted::start().await?;
    let service = |tokens| {
        AzureBackend::builder("acc").endpoint(server.endpoint()).token_credential(Arc::new(Tokens(tokens))).build()
    };
    server.then(Answer::new(200).json(ROW));
    service(Ok("t0k3n"))?.get("Posts", "p", "r", None).await?;
    assert_eq!(only(&server).header("Authorization"), Some("Bearer t0k3n"));
    let error = service(Err(()))?.execute(&insert()).await.unwrap_err();
    let Error::NoAnswer { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("run `az login` first"), "{reason}");
    only(&server);
    Ok(())
}

#[test]
fn what_cannot_work_is_told_when_it_is_built() {
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
        (builder().max_attempts(0), "max_attempts"),
        (builder().timeout(Duration::ZERO), "timeout of 0"),
        (
            AzureBackend::builder("acc").token_credential(Arc::new(Tokens(Ok("s3cr3t")))).endpoint("http://a.b"),
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

// Values in other forms.

/// A page of two rows, of which the second has these members too.
fn page_with(members: &str) -> Answer {
    let row = |row_key: &str, members: &str| {
        let time = r#""Timestamp":"2024-03-01T10:11:12.1234567Z""#;
        format!(r#"{{"PartitionKey":"p","RowKey":"{row_key}",{time},"Title":"T"{members}}}"#)
    };
    let (first, second) = (row("0000000001", ""), row("0000000002", &format!(",{members}")));
    Answer::new(200).json(format!(r#"{{"value":[{first},{second}]}}"#))
}

#[tokio::test]
async fn values_in_other_forms_are_read() -> Result<()> {
    let (server, service) = scripted().await?;
    let time = |text: &str| text.parse::<Ticks>().map(Value::DateTime);
    let guid = || "c9da6455-213d-42c9-9a79-3e9149a57833".parse::<Guid>().map(Value::Guid);
    for (members, expected) in [
        (r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00:00+02:00""#, time("2019-12-31T22:00:00Z")?),
        (r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00:00.5-00:30""#, time("2020-01-01T00:30:00.5Z")?),
        (r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00:00""#, time("2020-01-01T00:00:00Z")?),
        (r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00Z""#, time("2020-01-01T00:00:00Z")?),
        (r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00:00Z""#, time("2020-01-01T00:00:00Z")?),
        (
            r#""A@odata.type":"Edm.DateTime","A":"2020-01-01T00:00:00.123456789Z""#,
            time("2020-01-01T00:00:00.1234567Z")?,
        ),
        (r#""A@odata.type":"Edm.Guid","A":"c9da6455213d42c99a793e9149a57833""#, guid()?),
        (r#""A@odata.type":"Edm.Guid","A":"{C9DA6455-213D-42C9-9A79-3E9149A57833}""#, guid()?),
        (r#""A@odata.type":"Edm.Guid","A":"(c9da6455-213d-42c9-9a79-3e9149a57833)""#, guid()?),
        (r#""A@odata.type":"Edm.Int32","A":5.0"#, Value::Int32(5)),
        (r#""A@odata.type":"Edm.Int32","A":5e0"#, Value::Int32(5)),
        (r#""A@odata.type":"Edm.Int32","A":"5""#, Value::Int32(5)),
        (r#""A@odata.type":"Edm.Int64","A":5.0"#, Value::Int64(5)),
        (r#""A@odata.type":"Edm.Int64","A":"+5""#, Value::Int64(5)),
        (r#""A@odata.type":"Edm.Double","A":"5""#, Value::Double(5.0)),
        (r#""A@odata.type":"Edm.Boolean","A":"True""#, Value::Boolean(true)),
        (r#""A@odata.type":"Edm.Binary","A":"/w""#, Value::Binary(vec![255])),
    ] {
        server.then(page_with(members));
        let page = service.query(&scan(), None).await.with_context(|| members.to_owned())?;
        let found = page.rows.get(1).and_then(|row| row.properties.get("A").map(ValueRef::to_value));
        assert_eq!(found, Some(expected), "{members}");
    }
    Ok(())
}

#[tokio::test]
async fn a_value_that_cannot_be_read_matters_to_its_field_alone() -> Result<()> {
    /// The rows without the property.
    #[derive(TableEntity, Debug)]
    #[table(name = "Posts")]
    struct Titled {
        #[partition_key]
        author: String,
        #[row_key]
        number: u32,
        title: String,
    }

    /// The same rows, with the property.
    #[derive(TableEntity, Debug)]
    #[table(name = "Posts")]
    struct Whole<T: table_runtime::Property<Presence = Always> + Send + Sync + 'static> {
        #[partition_key]
        author: String,
        #[row_key]
        number: u32,
        title: String,
        a: Option<T>,
    }

    async fn field<T>(tables: &Tables) -> Result<(), Error>
    where
        T: table_runtime::Property<Presence = Always> + Send + Sync + 'static,
    {
        Whole::<T>::by_key("p").all(tables).await.map(drop)
    }

    let server = Scripted::start().await?;
    let tables = Tables::new(builder(&server).build()?);
    for member in [
        r#""A@odata.type":"Edm.DateTime","A":"2020-13-01T00:00:00Z""#,
        r#""A@odata.type":"Edm.DateTime","A":"0001-01-01T00:00:00+02:00""#,
        r#""A@odata.type":"Edm.DateTime","A":5"#,
        r#""A@odata.type":"Edm.Guid","A":"c9da6455""#,
        r#""A@odata.type":"Edm.Guid","A":"{c9da6455-213d-42c9-9a79-3e9149a57833)""#,
        r#""A@odata.type":"Edm.Int32","A":5.5"#,
        r#""A@odata.type":"Edm.Int32","A":2147483648"#,
        r#""A@odata.type":"Edm.Int64","A":"9223372036854775808""#,
        r#""A@odata.type":"Edm.Int64","A":9007199254740993.0"#,
        r#""A@odata.type":"Edm.Double","A":"1e999""#,
        r#""A":1e999"#,
        r#""A@odata.type":"Edm.Binary","A":"!""#,
        r#""A@odata.type":"Edm.New","A":"x""#,
        r#""A":["x"]"#,
        r#""A":{"x":"\ud800"}"#,
        r#""A":"before \ud800 after""#,
        r#""A":"\uDC00\ud800\u0041""#,
        r#""A@odata.type":"Edm.String","A":"\\\ud800""#,
        r#""A":"x","A":"y""#,
        r#""A":5,"A":5"#,
        r#""A@odata.type":5,"A":"x""#,
    ] {
        let answer = page_with(member);
        server.then(answer.clone());
        let titles = Titled::by_key("p").all(&tables).await.with_context(|| member.to_owned())?;
        assert_eq!(titles.iter().map(|row| row.title.as_str()).collect::<Vec<_>>(), ["T", "T"], "{member}");
        for result in [
            (server.then(answer.clone()), field::<String>(&tables).await).1,
            (server.then(answer.clone()), field::<i32>(&tables).await).1,
            (server.then(answer.clone()), field::<f64>(&tables).await).1,
            (server.then(answer.clone()), field::<Guid>(&tables).await).1,
            (server.then(answer.clone()), field::<std::time::SystemTime>(&tables).await).1,
            (server.then(answer.clone()), field::<Vec<u8>>(&tables).await).1,
        ] {
            let error = result.err().with_context(|| format!("{member} was read"))?;
            let Error::Property(problem) = &error else { panic!("{member}: {error:?}") };
            assert_eq!(problem.row.to_string(), "Posts(PartitionKey='p',RowKey='0000000002')", "{member}");
            assert_eq!(problem.property, "A", "{member}");
        }
    }
    // Characters that are two units are whole, and a backslash may stand before the letters of an escape.
    server.then(page_with(r#""A":"\ud834\udd1e \\ud800 \"\ud834\udd1e", "B":"\ud800""#));
    let rows = Whole::<String>::by_key("p").all(&tables).await?;
    assert_eq!(rows[1].a.as_deref(), Some("\u{1D11E} \\ud800 \"\u{1D11E}"));
    Ok(())
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named() -> Result<()> {
    let (server, service) = scripted().await?;
    let time = r#""Timestamp":"2024-03-01T10:11:12.1234567Z""#;
    for (row, named) in [
        (
            format!(r#"{{"PartitionKey":"p","RowKey":"\ud800x",{time}}}"#),
            "the row (PartitionKey='p',RowKey='\u{FFFD}x'",
        ),
        (format!(r#"{{"PartitionKey":"p","RowKey":5,{time}}}"#), "PartitionKey='p'"),
        (
            format!(r#"{{"PartitionKey":"p","RowKey":"r","RowKey":"s",{time}}}"#),
            "the row (PartitionKey='p',RowKey='r')",
        ),
        (r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"now"}"#.to_owned(), "the row (PartitionKey='p',RowKey='r')"),
        (r#"{"PartitionKey":"p","RowKey":"r"}"#.to_owned(), "the row (PartitionKey='p',RowKey='r')"),
    ] {
        server.then(Answer::new(200).json(format!(r#"{{"value":[{ROW},{row}]}}"#)));
        let error = service.query(&scan(), None).await.unwrap_err().to_string();
        assert!(error.contains(" of Posts") && error.contains(named), "{row}: {error}");
        server.then(Answer::new(200).json(row.clone()));
        let error = service.get("Posts", "p", "r", None).await.unwrap_err().to_string();
        assert!(error.contains(" of Posts") && error.contains(named), "{row}: {error}");
    }
    Ok(())
}

// Endless answers.

#[tokio::test]
async fn a_continuation_that_stands_still_is_an_error() -> Result<()> {
    let (server, service) = scripted().await?;
    let page = || {
        Answer::new(200)
            .json(r#"{"value":[]}"#)
            .header("x-ms-continuation-NextPartitionKey", "1!4!cA--")
            .header("x-ms-continuation-NextRowKey", "1!4!cg--")
    };
    server.then(page()).then(page());
    let first = service.query(&scan(), None).await?;
    let error = service.query(&scan(), first.next.as_ref()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert!(answer.table == "Posts" && answer.message.contains("continuation"), "{error}");
    let tables = || Answer::new(200).json(r#"{"value":[]}"#).header("x-ms-continuation-NextTableName", "1!4!cA--");
    server.then(tables()).then(tables());
    let error = service.list_tables("").await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert!(answer.message.contains("continuation"), "{error}");
    assert_eq!(server.left(), 0);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error() -> Result<()> {
    const BODY: usize = 64 * 1024 * 1024;
    let server = Scripted::start().await?;
    let service = builder(&server).build()?;
    let page = |bytes: usize| {
        let mut body = br#"{"value":[]"#.to_vec();
        body.resize(bytes - 1, b' ');
        body.push(b'}');
        body
    };
    server.then(Answer::new(200).json(page(BODY)));
    assert!(service.query(&scan(), None).await?.rows.is_empty());
    // Once, since it would be as large again. Its length may be known before, or not.
    let chunked = |body: Vec<u8>| {
        let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        answer.extend(format!("{:x}\r\n", body.len()).into_bytes());
        answer.extend(body);
        answer.extend(b"\r\n0\r\n\r\n");
        Step::ReadAndSend(answer)
    };
    for step in [Answer::new(200).json(page(BODY + 1)).into(), chunked(page(BODY + 1))] {
        server.then(step);
        let error = service.query(&scan(), None).await.unwrap_err();
        let Error::Service(answer) = &error else { panic!("{error:?}") };
        assert_eq!((answer.table.as_str(), answer.status), ("Posts", 200));
        assert!(answer.message.contains("67108864 bytes"), "{error}");
        assert_eq!(server.left(), 0);
    }
    // A write may have been applied.
    server.then(Answer::new(202).header("Content-Type", "multipart/mixed; boundary=b").body(vec![b' '; BODY + 1]));
    let error = service.execute(&transaction()).await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn only_the_beginning_of_an_errors_body_is_read() -> Result<()> {
    let (server, service) = scripted().await?;
    let mut answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 565000000\r\n\r\n".to_vec();
    answer.extend(b"<error><code>InvalidInput</code><message>too long: ");
    // Where the rest is cut, there may be half a character.
    answer.extend("\u{20AC}".repeat(1024 * 1024).into_bytes());
    server.then(Step::ReadAndSend(answer));
    let error = service.execute(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (400, "InvalidInput"));
    assert!(answer.message.len() <= 64 * 1024, "{} bytes", answer.message.len());
    Ok(())
}
