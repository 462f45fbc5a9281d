//! What the service answers seldom, and Azurite never, as a user of the crate meets it.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Result;
use futures_util::TryStreamExt;
use table_runtime::{Error, RowNow, TableEntity, Tables, backend::AzureBackend};
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

/// A page of rows, and whether there is another.
fn page(texts: &[&str], more: bool) -> Answer {
    // Each page ends at another place, as on the service; a token that does not advance is an error.
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    let rows: Vec<_> = texts.iter().map(|text| row(text)).collect();
    let answer = Answer::new(200).json(format!(r#"{{"value":[{}]}}"#, rows.join(",")));
    if !more {
        return answer;
    }
    let row_key = format!("1!8!{}", PLACE.fetch_add(1, Ordering::Relaxed));
    answer.header("x-ms-continuation-NextPartitionKey", "1!4!ZGU-").header("x-ms-continuation-NextRowKey", &row_key)
}

/// Pages as the service may cut them: empty, short, empty again. Gives the requests so far.
fn cut(server: &Scripted) -> usize {
    server.clear();
    for (texts, more) in [(&[][..], true), (&["a"], true), (&[], true), (&[], true), (&["b", "c"], true), (&[], false)]
    {
        server.then(page(texts, more));
    }
    server.requests().len()
}

#[tokio::test]
async fn empty_pages_are_no_end() -> Result<()> {
    let (server, tables) = scripted().await?;
    let texts =
        |words: Vec<table_runtime::Stored<Word>>| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();

    cut(&server);
    assert_eq!(texts(Word::by_key("de").all(&tables).await?), ["a", "b", "c"]);
    assert_eq!((server.requests().len(), server.left()), (6, 0));

    cut(&server);
    assert_eq!(texts(Word::by_key("de").stream(&tables).try_collect().await?), ["a", "b", "c"]);
    cut(&server);
    assert_eq!(Word::by_key("de").count(&tables).await?, 3);

    // No more is read than is needed.
    let before = cut(&server);
    assert_eq!(Word::by_key("de").first(&tables).await?.map(|word| word.text.clone()).as_deref(), Some("a"));
    assert_eq!(server.requests().len() - before, 2);
    let before = cut(&server);
    assert_eq!(texts(Word::by_key("de").take(2).all(&tables).await?), ["a", "b"]);
    assert_eq!(server.requests().len() - before, 5);

    // A page of the caller's is filled from as many of the service's as it takes.
    cut(&server);
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
async fn an_error_ends_a_stream() -> Result<()> {
    let (server, tables) = scripted().await?;
    server.then(page(&["a"], true)).then(Answer::new(403));
    let mut stream = Word::by_key("de").stream(&tables);
    assert_eq!(stream.try_next().await?.map(|word| word.text.clone()).as_deref(), Some("a"));
    assert!(matches!(stream.try_next().await, Err(Error::Service(_))));
    assert_eq!(stream.try_next().await?.map(|word| word.text.clone()), None);
    Ok(())
}

#[tokio::test]
async fn a_busy_service_is_waited_for() -> Result<()> {
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
async fn a_lost_answer_comes_with_the_row() -> Result<()> {
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
    let gone = r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"None."}}}"#;
    server.then(Step::ReadAndClose).then(Answer::new(404).json(gone));
    let error = unknown(tables.upsert(&word).await.expect_err("its answer is lost"));
    assert_eq!(error.now, RowNow::Absent);

    server.clear();
    server.then(Step::ReadAndClose).then(Answer::new(403));
    let error = unknown(tables.remove(Word::key("de", "a")).await.expect_err("its answer is lost"));
    assert!(matches!(error.now, RowNow::Unread(_)), "{error}");
    Ok(())
}
