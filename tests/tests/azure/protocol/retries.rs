//! Retries: what is sent again, and what is not.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, AzureBackend, Backend, BackendExt, IfMatch},
    error::RowNow,
};
use tests::{
    scripted::{Answer, Scripted, Step},
    traced::with_subscriber,
};
use tokio::net::TcpSocket;
use tracing::Level;

use super::{
    KEY, ROW, batch, builder, busy, error, etag, fixture, group, insert, number, only, scan, scripted, scripted_for,
    transaction, writes, written,
};

#[tokio::test]
async fn a_write_with_a_lost_answer_is_not_repeated_and_its_outcome_is_unknown() -> Result<()> {
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
            let (server, service) = scripted_for(step).await?;
            // A repeated request would get this valid answer.
            server.then(step.clone()).then(written());
            let error = service.execute_group(&write).await.unwrap_err();
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
async fn the_outcome_of_a_transaction_with_an_unreadable_answer_is_unknown() -> Result<()> {
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
        let error = service.execute_group(&transaction()).await.unwrap_err();
        assert!(matches!(&error, Error::OutcomeUnknown(_)), "{what}: {error:?}");
        assert_eq!(server.left(), 1, "{what}: it was sent again");
    }
    // The answer is complete, but has fewer operations than the request.
    let (server, service) = scripted().await?;
    server.then(batch(done));
    let three =
        group([("a", Action::Upsert(number())), ("b", Action::Delete(IfMatch::Any)), ("c", Action::Upsert(number()))]);
    let error = service.execute_group(&three).await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_write_that_was_refused_before_it_was_read_is_repeated() -> Result<()> {
    let inner = fixture!("transaction_failed.http");
    let inner = inner.replace("409 Conflict", "503 Busy").replace("EntityAlreadyExists", "ServerBusy");
    for write in writes() {
        let (server, service) = scripted().await?;
        server.then(busy()).then(Answer::new(429));
        if write.operations.len() > 1 {
            let service = builder(&server).max_attempts(4).build()?;
            server.then(batch(&inner)).then(batch(fixture!("transaction_done.http")));
            service.execute_group(&write).await?;
            assert_eq!(server.requests().len(), 4);
        } else {
            server.then(written());
            service.execute_group(&write).await?;
            assert_eq!(server.requests().len(), 3, "{}", write.name());
        }
    }
    Ok(())
}

/// A writer of traces that keeps them.
#[derive(Clone, Default)]
struct Traces(Arc<Mutex<Vec<u8>>>);

impl io::Write for Traces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_operation_whose_request_was_repeated_is_traced_at_the_level_info() -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Posts")]
    struct Post {
        #[partition_key]
        author: String,
        #[row_key]
        number: u32,
    }
    let (server, service) = scripted().await?;
    server.then(busy()).then(written()).then(written());
    let (tables, traces) = (Tables::new(service), Traces::default());
    let kept = traces.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_max_level(Level::INFO).with_writer(move || kept.clone());
    let inserts = async {
        for number in 1..=2 {
            tables.insert(&Post { author: "Marcus".into(), number }).await?;
        }
        Ok::<_, Error>(())
    };
    with_subscriber(inserts, log.finish()).await?;
    let text = String::from_utf8(traces.0.lock().expect("no panic").clone())?;
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in ["insert Posts", "azure.tables", "table.requests=1", "table.retries=1", "table.outcome=\"ok\""] {
        assert!(text.contains(part), "{part} in {text}");
    }
    Ok(())
}

#[tokio::test]
async fn the_number_of_attempts_is_limited() -> Result<()> {
    let (server, service) = scripted().await?;
    for _ in 0..4 {
        server.then(busy());
    }
    let error = service.execute_group(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!(
        (answer.status, answer.code.as_str(), answer.message.as_str()),
        (503, "ServerBusy", "The server is busy.")
    );
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn the_wait_is_as_long_as_the_service_asks() -> Result<()> {
    let (server, service) = scripted().await?;
    let begin = Instant::now();
    server.then(busy().header("Retry-After", "1")).then(written());
    service.execute_group(&insert()).await?;
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());

    let begin = Instant::now();
    server.then(Answer::new(429).header("x-ms-retry-after-ms", "700")).then(written());
    service.execute_group(&insert()).await?;
    assert!(begin.elapsed() >= Duration::from_millis(700), "{:?}", begin.elapsed());

    // The header may also hold a time, in whole seconds, at which the request may be sent again.
    let begin = Instant::now();
    let at = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2));
    server.then(busy().header("Retry-After", &at)).then(written());
    service.execute_group(&insert()).await?;
    assert!(begin.elapsed() >= Duration::from_millis(900), "{at}: {:?}", begin.elapsed());
    for past_or_unclear in ["Sun, 06 Nov 1994 08:49:37 GMT", "soon"] {
        server.then(busy().header("Retry-After", past_or_unclear)).then(written());
        service.execute_group(&insert()).await?;
    }

    // The time is longer than allowed, so there is neither a wait nor an early attempt.
    let begin = Instant::now();
    server.then(busy().header("Retry-After", "3600")).then(written());
    let error = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.code == "ServerBusy"), "{error:?}");
    assert!(begin.elapsed() < Duration::from_mins(1));
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn reads_are_repeated_after_transient_errors() -> Result<()> {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"value\":[";
    let mut passing: Vec<Step> = vec![
        Step::ReadAndClose,
        Step::Close,
        Step::ReadAndSend(cut.to_vec()),
        Answer::new(200).json(ROW).after(Duration::from_secs(2)).into(),
    ];
    passing.extend([408, 429, 500, 502, 503, 504].map(|status| Step::from(Answer::new(status))));
    for step in passing {
        let (server, service) = scripted_for(&step).await?;
        server.then(step.clone()).then(Answer::new(200).json(ROW));
        assert!(service.get("Posts", "p", "r", None).await?.is_some(), "{step:?}");
        server.then(step.clone()).then(Answer::new(200).json(r#"{"value":[]}"#));
        assert!(service.query(&scan(), None).await?.rows.is_empty(), "{step:?}");
        server.then(step.clone()).then(Answer::new(200).json(r#"{"value":[{"TableName":"Posts"}]}"#));
        assert_eq!(service.list_tables("").await?, ["Posts"], "{step:?}");
        assert_eq!(server.left(), 0);
    }
    // Other errors are not repeated.
    let (server, service) = scripted().await?;
    server.then(Answer::new(400)).then(Answer::new(200).json(ROW));
    service.get("Posts", "p", "r", None).await.unwrap_err();
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn a_read_without_an_answer_gives_that_error() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Step::ReadAndClose).then(Step::ReadAndClose).then(Step::ReadAndClose);
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(&error, Error::NoAnswer { operation: "get", .. }), "{error:?}");
    Ok(())
}

/// Returns an address on which no server listens yet.
fn unused_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

#[tokio::test]
async fn a_write_without_a_connection_is_repeated() -> Result<()> {
    let address = unused_address()?;
    let service = AzureBackend::builder("acc").access_key(KEY).endpoint(format!("http://{address}/acc")).build()?;
    let later = async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let server = Scripted::start_on(address).await?;
        server.then(written());
        anyhow::Ok(server)
    };
    let group = insert();
    let (etags, server) = tokio::join!(service.execute_group(&group), later);
    assert_eq!(etags?, [Some(etag())]);
    only(&server?);
    Ok(())
}

#[tokio::test]
async fn a_write_that_never_got_a_connection_wrote_nothing() -> Result<()> {
    // The socket keeps the port from the servers of other tests. It does not listen, so nobody can connect.
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let endpoint = format!("http://{}/acc", socket.local_addr()?);
    let service = AzureBackend::builder("acc").access_key(KEY).endpoint(endpoint).max_attempts(2).build()?;
    for write in writes() {
        let error = service.execute_group(&write).await.unwrap_err();
        let Error::NoAnswer { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.starts_with("no connection"), "{reason}");
    }
    Ok(())
}

#[tokio::test]
async fn creating_a_table_is_repeated_after_a_lost_answer_and_deleting_is_not() -> Result<()> {
    // Creating a table twice is harmless.
    let (server, service) = scripted().await?;
    server.then(Step::ReadAndClose).then(error(409, "TableAlreadyExists"));
    assert!(!service.create_table("Posts").await?);
    // Deleting a table twice could delete one that was created in between.
    server.then(Step::ReadAndClose).then(Answer::new(204));
    let error = service.delete_table("Posts").await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(server.left(), 1);
    Ok(())
}

#[tokio::test]
async fn a_transaction_that_is_refused_inside_of_its_answer_counts_as_an_overload() -> Result<()> {
    let (server, service) = scripted().await?;
    let busy = fixture!("transaction_failed.http")
        .replace("409 Conflict", "503 Service Unavailable")
        .replace("EntityAlreadyExists", "ServerBusy");
    server.then(batch(&busy)).then(batch(fixture!("transaction_done.http")));
    service.execute_group(&transaction()).await?;
    assert_eq!((server.requests().len(), service.describe().overloads), (2, 1));
    Ok(())
}
