//! Answers that the service gives rarely and Azurite never, tested through the public API.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables, backend::AzureBackend, error::RowNow};
use tests::scripted::{Answer, Scripted, Step};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words")]
struct Word {
    #[partition_key]
    language: String,
    #[row_key]
    text: String,
    length: i32,
}

const ETAG: &str = "W/\"datetime'2026-11-20T12%3A00%3A00.0000000Z'\"";

async fn scripted() -> Result<(Scripted, Tables)> {
    let server = Scripted::start().await?;
    let connection_string = format!("AccountName=acc;AccountKey=a2V5;TableEndpoint={}", server.endpoint());
    let backend = AzureBackend::connect(&connection_string)?;
    Ok((server, Tables::new(backend)))
}

fn row(text: &str) -> String {
    let etag = ETAG.replace('"', "\\\"");
    format!(
        r#"{{"odata.etag":"{etag}","PartitionKey":"de","RowKey":"{text}","Timestamp":"2026-11-20T12:00:00Z","Length":{}}}"#,
        text.len()
    )
}

/// Returns a page of rows, with a continuation token if there are more.
fn page(texts: &[&str], more: bool) -> Answer {
    // Each page ends at another row, as on the service. A token that does not advance is an error.
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    let rows: Vec<_> = texts.iter().map(|text| row(text)).collect();
    let answer = Answer::new(200).json(format!(r#"{{"value":[{}]}}"#, rows.join(",")));
    if !more {
        return answer;
    }
    let row_key = format!("1!8!{}", PLACE.fetch_add(1, Ordering::Relaxed));
    answer.header("x-ms-continuation-NextPartitionKey", "1!4!ZGU-").header("x-ms-continuation-NextRowKey", &row_key)
}

/// Prepares pages as the service may cut them: empty, short, empty again. Returns the number of requests so far.
fn prepare_pages(server: &Scripted) -> usize {
    server.clear();
    for (texts, more) in [(&[][..], true), (&["a"], true), (&[], true), (&[], true), (&["b", "c"], true), (&[], false)]
    {
        server.then(page(texts, more));
    }
    server.requests().len()
}

#[tokio::test]
async fn reading_continues_after_an_empty_page() -> Result<()> {
    let (server, tables) = scripted().await?;
    let texts =
        |words: Vec<table_runtime::Stored<Word>>| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();

    prepare_pages(&server);
    assert_eq!(texts(Word::by_key("de").all(&tables).await?), ["a", "b", "c"]);
    assert_eq!((server.requests().len(), server.left()), (6, 0));

    prepare_pages(&server);
    assert_eq!(texts(Word::by_key("de").stream(&tables).try_collect().await?), ["a", "b", "c"]);
    prepare_pages(&server);
    assert_eq!(Word::by_key("de").count(&tables).await?, 3);

    // `first` and `take` read no more pages than they need.
    let before = prepare_pages(&server);
    assert_eq!(Word::by_key("de").first(&tables).await?.map(|word| word.text.clone()).as_deref(), Some("a"));
    assert_eq!(server.requests().len() - before, 2);
    let before = prepare_pages(&server);
    assert_eq!(texts(Word::by_key("de").take(2).all(&tables).await?), ["a", "b"]);
    assert_eq!(server.requests().len() - before, 5);

    // A page for the caller is filled from several pages of the service.
    prepare_pages(&server);
    let first = Word::by_key("de").page(&tables, 2, None).await?;
    assert_eq!(texts(first.entities), ["a", "b"]);
    server.clear();
    server.then(page(&[], true)).then(page(&["c"], false));
    let second = Word::by_key("de").page(&tables, 2, first.next.as_deref()).await?;
    assert_eq!((texts(second.entities), second.next), (vec!["c".to_owned()], None));
    let requests = server.requests();
    let target = &requests[requests.len() - 2].target;
    assert!(target.contains("RowKey+gt+%27b%27"), "{target}");
    Ok(())
}

#[tokio::test]
async fn an_error_ends_the_stream() -> Result<()> {
    let (server, tables) = scripted().await?;
    server.then(page(&["a"], true)).then(Answer::new(403));
    let mut stream = Word::by_key("de").stream(&tables);
    assert_eq!(stream.try_next().await?.map(|word| word.text.clone()).as_deref(), Some("a"));
    assert!(matches!(stream.try_next().await, Err(Error::Service(_))));
    assert_eq!(stream.try_next().await?.map(|word| word.text.clone()), None);
    Ok(())
}

#[tokio::test]
async fn a_request_to_a_busy_service_is_repeated_after_the_given_time() -> Result<()> {
    let (server, tables) = scripted().await?;
    let body = r#"{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}"#;
    server.then(Answer::new(503).json(body).header("Retry-After", "1")).then(Answer::new(204).header("ETag", ETAG));
    let begin = std::time::Instant::now();
    let etag = tables.insert(&Word { language: "de".into(), text: "a".into(), length: 1 }).await?;
    assert_eq!(etag.to_string(), ETAG);
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.requests().len(), 2);
    Ok(())
}

#[tokio::test]
async fn the_error_of_a_lost_answer_has_the_current_row() -> Result<()> {
    let (server, tables) = scripted().await?;
    let word = Word { language: "de".into(), text: "a".into(), length: 1 };
    let unknown = |error: Error| match error {
        Error::OutcomeUnknown(error) => error,
        other => panic!("{other}"),
    };

    server.then(Step::ReadAndClose).then(Answer::new(200).json(row("a")));
    let error = unknown(tables.insert(&word).await.expect_err("its answer is lost"));
    let RowNow::Present(now) = &error.now else { panic!("{error}") };
    assert_eq!((error.operation, now.etag.to_string().as_str()), ("insert", ETAG));
    let methods: Vec<_> = server.requests().iter().map(|request| request.method.clone()).collect();
    assert_eq!(methods, ["POST", "GET"], "a write is not sent twice");

    server.clear();
    let not_found = r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"None."}}}"#;
    server.then(Step::ReadAndClose).then(Answer::new(404).json(not_found));
    let error = unknown(tables.upsert(&word).await.expect_err("its answer is lost"));
    assert_eq!(error.now, RowNow::Absent);

    server.clear();
    server.then(Step::ReadAndClose).then(Answer::new(403));
    let error = unknown(tables.remove(Word::key("de", "a")).await.expect_err("its answer is lost"));
    assert!(matches!(error.now, RowNow::Unread(_)), "{error}");
    Ok(())
}
