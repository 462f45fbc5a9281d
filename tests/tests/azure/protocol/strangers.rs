//! Answers that do not come from the service, and forms that it rarely sends.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use table_runtime::{
    Error, Stored, TableEntity, Tables, Value,
    backend::{Action, AzureBackend, BackendExt, IfMatch},
    transfer::{Line, RowReader, Selection, TableRow, TransferError},
};
use tests::{
    documented,
    scripted::{Answer, Request, Scripted, Step},
};

use super::{
    ETAG, ROW, batch, builder, busy, error, etag, fixture, group, insert, number, query, scan, scripted, transaction,
    written,
};

const LOGIN: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><code>403</code></body></html>";
const FAILED: &str = r#""odata.error":{"code":"OperationTimedOut","message":{"lang":"en-US","value":"Too slow."}}"#;

/// Returns an answer of the service with this identifier, whose clock is so many seconds ahead.
fn dated(answer: Answer, request: &str, seconds: i64) -> Answer {
    answer.header("x-ms-request-id", request).header("Date", &date(seconds))
}

/// Returns the time in so many seconds, as a header has it.
fn date(seconds: i64) -> String {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    httpdate::fmt_http_date(if seconds < 0 { now - distance } else { now + distance })
}

/// Returns by how many minutes the clock of a handle is ahead.
fn minutes_ahead(tables: &Tables) -> i64 {
    let (now, host) = (tables.now(), SystemTime::now());
    let ahead = now.duration_since(host).map(|ahead| ahead.as_secs().cast_signed());
    (ahead.unwrap_or_else(|behind| -behind.duration().as_secs().cast_signed()) + 30).div_euclid(60)
}

/// A kind of request, and what its caller is told.
const COLUMNS: [&str; 7] =
    ["get", "query", "write", "deletion", "transaction", "creation of a table", "deletion of a table"];

/// Sends a request of this kind, and returns what the caller is told.
async fn told(service: &AzureBackend, column: &str) -> Result<&'static str> {
    let delete = group([("r", Action::Delete(IfMatch::Any))]);
    let result = match column {
        "get" => service.get("Posts", "p", "r", None).await.map(|row| if row.is_some() { "the row" } else { "absent" }),
        "query" => {
            service.query(&scan(), None).await.map(|page| if page.rows.is_empty() { "no rows" } else { "the rows" })
        }
        "write" => service.execute_group(&insert()).await.map(|_| "done"),
        "transaction" => service.execute_group(&transaction()).await.map(|_| "done"),
        "deletion" => service.execute_group(&delete).await.map(|_| "done"),
        "creation of a table" => {
            service.create_table("Posts").await.map(|is_new| if is_new { "done" } else { "exists" })
        }
        "deletion of a table" => {
            service.delete_table("Posts").await.map(|is_old| if is_old { "done" } else { "absent" })
        }
        other => anyhow::bail!("no such column: {other}"),
    };
    Ok(match result {
        Ok(told) => told,
        Err(Error::OutcomeUnknown(_)) => "unknown",
        Err(Error::AlreadyExists(_)) => "`AlreadyExists`",
        Err(Error::NotFound(_)) => "`NotFound`",
        Err(Error::ConditionNotMet(_)) => "`ConditionNotMet`",
        Err(Error::TableNotFound(_)) => "`TableNotFound`",
        Err(Error::Service(_) | Error::NoAnswer { .. }) => "refused",
        Err(other) => return Err(other.into()),
    })
}

/// Returns the answers, with the first cell of their rows.
fn answers() -> Vec<(&'static str, Step)> {
    let json = |body: &str| Answer::new(200).json(body);
    // The message of a transaction begins with the number of the operation.
    let error = |status, code: &str| {
        let message = format!(r#"{{"lang":"en-US","value":"0:Says {code}."}}"#);
        Answer::new(status).json(format!(r#"{{"odata.error":{{"code":"{code}","message":{message}}}}}"#))
    };
    let answers = [
        ("200, the row", json(ROW)),
        ("200, another row", json(&ROW.replace("\"r\"", "\"s\""))),
        ("200, `{\"value\":[…]}`", json(&format!(r#"{{"value":[{ROW}]}}"#))),
        ("200, `{\"value\":[]}`", json(r#"{"value":[]}"#)),
        ("200, `{}`", json("{}")),
        ("200, `[]`", json("[]")),
        ("200, `{\"Value\":[…]}`", json(&format!(r#"{{"Value":[{ROW}]}}"#))),
        ("200, `{\"value\":null}`", json(r#"{"value":null}"#)),
        ("200, `{\"odata.error\":…}`", json(&format!("{{{FAILED}}}"))),
        ("200, `{\"value\":[…],\"odata.error\":…}`", json(&format!(r#"{{"value":[{ROW}],{FAILED}}}"#))),
        ("200, `{\"value\":[],\"error\":…}`", json(r#"{"value":[],"error":{"code":"X"}}"#)),
        ("200, a page of HTML", Answer::new(200).header("Content-Type", "text/html").body(LOGIN)),
        ("200, no body", Answer::new(200)),
        ("201", Answer::new(201).header("ETag", ETAG).json(ROW)),
        ("202", Answer::new(202).header("ETag", ETAG)),
        ("202, a transaction that is done", batch(fixture!("transaction_done.http"))),
        ("202, a transaction that is refused", batch(fixture!("transaction_failed.http"))),
        ("200, a transaction that is done", batch(fixture!("transaction_done.http")).with_status(200)),
        ("203, as a proxy changes it", Answer::new(203).header("ETag", ETAG).json(ROW)),
        ("204", written()),
        ("204 without an ETag", Answer::new(204)),
        ("206", Answer::new(206).header("ETag", ETAG).json(ROW)),
        ("302 to a login page", Answer::new(302).header("Location", "/login").body(LOGIN)),
        ("304", Answer::new(304)),
        ("400 with a code", error(400, "InvalidInput")),
        ("401 of a proxy", Answer::new(401).body(LOGIN)),
        ("403 of a proxy", Answer::new(403).body(LOGIN)),
        ("407 of a proxy", Answer::new(407).body(LOGIN)),
        ("404 `ResourceNotFound`", error(404, "ResourceNotFound")),
        ("404 `TableNotFound`", error(404, "TableNotFound")),
        ("404 of a proxy", Answer::new(404).body(LOGIN)),
        ("409 `EntityAlreadyExists`", error(409, "EntityAlreadyExists")),
        ("409 `TableAlreadyExists`", error(409, "TableAlreadyExists")),
        ("409 of a proxy", Answer::new(409).body(LOGIN)),
        ("412 with a code", error(412, "UpdateConditionNotSatisfied")),
        ("412 of a proxy", Answer::new(412).body(LOGIN)),
        ("429", Answer::new(429)),
        ("500", error(500, "InternalError")),
        ("501", error(501, "NotImplemented")),
        ("502 of a proxy", Answer::new(502).body(LOGIN)),
        ("503 `ServerBusy`", busy()),
        ("503 of a proxy", Answer::new(503).body(LOGIN)),
        ("504 of a proxy", Answer::new(504).body(LOGIN)),
    ];
    let steps = answers.map(|(title, answer)| (title, Step::Answer(answer)));
    steps.into_iter().chain([("no answer", Step::ReadAndClose)]).collect()
}

#[tokio::test]
async fn each_caller_is_told_what_the_table_says() -> Result<()> {
    let cells = answers().into_iter().map(async |(title, step)| {
        let cells = COLUMNS.map(async |column| {
            let (server, service) = scripted().await?;
            server.then_all([&step; 3].map(Step::clone));
            let told = told(&service, column).await?;
            let sent = server.requests().len();
            Ok::<_, anyhow::Error>(if sent == 1 { told.to_owned() } else { format!("{told} ×{sent}") })
        });
        Ok::<_, anyhow::Error>((title, try_join_all(cells).await?))
    });
    let mut table = format!("| answer | {} |\n|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len() + 1));
    for (title, cells) in try_join_all(cells).await? {
        writeln!(table, "| {title} | {} |", cells.join(" | "))?;
    }
    documented::shows("docs/service-answers.md", "statuses", "STATUSES", &table)
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_no_empty_list_of_tables() -> Result<()> {
    let named = r#"{"TableName":"Posts"}"#;
    for (body, expected) in [
        (format!(r#"{{"value":[{named}]}}"#), Ok(1)),
        (r#"{"odata.metadata":"x","value":[]}"#.to_owned(), Ok(0)),
        ("{}".to_owned(), Err("no list `value`")),
        ("[]".to_owned(), Err("expected an object with the list `value`")),
        (format!("[{named}]"), Err("expected an object with the list `value`")),
        (format!(r#"{{"Value":[{named}]}}"#), Err("no list `value`")),
        (format!(r#"{{"value":[{named}],{FAILED}}}"#), Err("an error, `odata.error`")),
        (format!(r#"{{"value":[{named}],"value":[]}}"#), Err("duplicate field `value`")),
        (r#"{"value":[["Posts"]]}"#.to_owned(), Err("expected a map")),
        (r#"{"value":[{"Name":"Posts"}]}"#.to_owned(), Err("no `TableName`")),
        (LOGIN.to_owned(), Err("does not come from the service")),
    ] {
        let (server, service) = scripted().await?;
        server.then(Answer::new(200).body(body.clone()));
        let listed = service.list_tables("").await;
        match (&listed, expected) {
            (Ok(found), Ok(count)) => assert_eq!(found.len(), count, "{body}"),
            (Err(error @ Error::Service(_)), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{body}: {error}");
            }
            _ => panic!("{body}: {listed:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn pages_of_others_say_that_they_do_not_come_from_the_service() -> Result<()> {
    let note = "the answer has no request id: it does not come from the service";
    let pages = [Answer::new(302), Answer::new(403), Answer::new(502), Answer::new(200)];
    for page in pages.map(|page| page.body(LOGIN)) {
        for (answer, is_foreign) in [(page.clone(), true), (page.header("x-ms-request-id", "17"), false)] {
            let server = Scripted::start().await?;
            let service = builder(&server).max_attempts(1).build()?;
            server.then(answer.clone()).then(answer);
            for error in
                [service.get("Posts", "p", "r", None).await.err(), service.execute_group(&insert()).await.err()]
            {
                let error = error.context("a failure")?.to_string();
                assert_eq!(error.contains(note), is_foreign, "{error}");
            }
        }
    }
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sessions", expires = until)]
struct Session {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

/// Returns the row of a session that ends in an hour.
fn live_session() -> String {
    let until = humantime(SystemTime::now() + Duration::from_hours(1));
    format!(
        r#"{{"PartitionKey":"ann","RowKey":"0000000001","Timestamp":"2024-03-01T10:11:12.1234567Z","Until@odata.type":"Edm.DateTime","Until":"{until}"}}"#
    )
}

/// Returns a time as the service writes it.
fn humantime(time: SystemTime) -> String {
    time::OffsetDateTime::from(time).format(&time::format_description::well_known::Rfc3339).expect("a time")
}

#[tokio::test]
async fn only_the_service_sets_the_clock() -> Result<()> {
    const DAYS: i64 = 10 * 24 * 60;
    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    let read = async |answer: Answer| {
        server.clear();
        server.then(answer).then_all([400, 400].map(Answer::new));
        let _ = Session::key("ann", 1).get(&tables).await;
        minutes_ahead(&tables)
    };
    // The pages of a gateway, and a copy of an old answer.
    for status in [200, 302, 403, 407, 502] {
        let page = Answer::new(status).header("Date", &date(DAYS * 60)).body(LOGIN);
        assert_eq!(read(page.clone()).await, 0, "{status}");
        assert_eq!(read(dated(page, "1", 0).header("Age", "5")).await, 0, "{status}");
    }
    assert_eq!(read(dated(Answer::new(400), "1", 120)).await, 2, "the service's clock, at once");

    // One answer of the service is not enough for a jump, nor is the same one again.
    assert_eq!(read(dated(Answer::new(400), "2", DAYS * 60)).await, 2);
    assert_eq!(read(dated(Answer::new(400), "2", DAYS * 60)).await, 2);
    // Nothing expires meanwhile: neither a query nor an insert believes it.
    server.clear();
    server.then(Answer::new(200).json(format!(r#"{{"value":[{}]}}"#, live_session())));
    assert_eq!(Session::by_key("ann").all(&tables).await?.len(), 1);
    let requests = server.requests();
    let filter = query(requests.last().context("a query")?).into_iter().find(|(name, _)| name == "$filter");
    let (_, filter) = filter.context("a filter")?;
    let year = humantime(SystemTime::now() + Duration::from_mins(2));
    assert!(filter.contains(&year[..13]), "{filter} does not hide what expires after {year}");
    server.then(error(409, "EntityAlreadyExists")).then(Answer::new(200).json(live_session()));
    let session = Session { user: "ann".into(), id: 1, until: SystemTime::now() + Duration::from_hours(2) };
    let refused = tables.insert(&session).await.map(drop);
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(server.left(), 0, "and nothing was deleted");

    assert_eq!(read(dated(Answer::new(400), "3", DAYS * 60)).await, DAYS, "two answers agree");
    assert_eq!(read(dated(Answer::new(400), "4", 0)).await, DAYS);
    assert_eq!(read(dated(Answer::new(400), "5", DAYS * 60)).await, DAYS, "the other one was wrong");
    Ok(())
}

/// A sweep removes what has expired by the service's clock, and nothing because of one answer with another date.
#[tokio::test]
async fn a_sweep_does_not_believe_one_answer_about_the_time() -> Result<()> {
    const DAY: i64 = 24 * 60 * 60;
    let page = || Answer::new(200).json(format!(r#"{{"value":[{}]}}"#, live_session()));
    for seconds in [0, 10 * DAY, -10 * DAY] {
        let (server, service) = scripted().await?;
        let tables = Tables::new(service);
        server.then(dated(page(), "1", seconds));
        assert_eq!(Session::by_key("ann").all(&tables).await?.len(), 1);
        server.clear();
        server.then(page());
        let swept = tables.sweep::<Session>().await;
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.method == "GET"), "{seconds}: {requests:#?}");
        assert!(swept.as_ref().is_ok_and(|swept| swept.removed == 0), "{seconds}: {swept:?}");
    }
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", soft_delete = deleted)]
struct Note {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

/// The time at which a row was put into the bin decides when it is deleted for good.
#[tokio::test]
async fn a_time_that_is_stored_does_not_believe_one_answer() -> Result<()> {
    let row = r#"{"PartitionKey":"ann","RowKey":"0000000001","Timestamp":"2024-03-01T10:11:12.1234567Z"}"#;
    for seconds in [-864_000, 864_000] {
        let (server, service) = scripted().await?;
        let tables = Tables::new(service);
        server.then(dated(Answer::new(200).json(row), "1", seconds)).then(written());
        tables.soft_delete(Note::key("ann", 1)).await?;
        let requests = server.requests();
        let stored = &requests.last().context("a write")?.body;
        let now = humantime(SystemTime::now());
        assert!(stored.contains(&format!(r#""Deleted":"{}"#, &now[..13])), "{seconds}: {stored} at {now}");
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_was_signed_at_a_wrong_time_is_signed_again() -> Result<()> {
    let distance = |request: &Request| -> Result<u64> {
        let signed = httpdate::parse_http_date(request.header("x-ms-date").context("a date")?)?;
        let now = SystemTime::now();
        let distance = signed.duration_since(now).or_else(|_| now.duration_since(signed))?;
        Ok(distance.as_secs())
    };
    let refused = |seconds| dated(error(403, "AuthenticationFailed"), "1", seconds);
    for seconds in [3_600, -3_600] {
        for write in super::writes() {
            let (server, service) = scripted().await?;
            let done = if write.operations.len() > 1 { batch(fixture!("transaction_done.http")) } else { written() };
            server.then(refused(seconds)).then(done.clone()).then(done);
            service.execute_group(&write).await?;
            service.execute_group(&write).await?;
            let requests = server.requests();
            let distances = requests.iter().map(distance).collect::<Result<Vec<_>>>()?;
            assert!(
                distances[0] < 10 && distances[1].abs_diff(3_600) < 10 && distances[2].abs_diff(3_600) < 10,
                "{distances:?}"
            );
            assert_ne!(requests[0].header("Authorization"), requests[1].header("Authorization"));
        }
    }
    // The error has both times. A page of a gateway explains nothing.
    let server = Scripted::start().await?;
    for (answer, is_explained) in [
        (refused(3_600), true),
        (dated(error(403, "AuthorizationFailure"), "1", 60), false),
        (error(403, "AuthenticationFailed").header("Date", &date(3_600)), false),
    ] {
        server.then(answer);
        let service = builder(&server).max_attempts(1).build()?;
        let error = service.get("Posts", "p", "r", None).await.expect_err("a refusal").to_string();
        let requests = server.requests();
        let signed = requests.last().and_then(|request| request.header("x-ms-date")).context("a date")?;
        let explanation = format!("the request was signed at {signed}, but the service's clock shows ");
        assert_eq!(error.contains(&explanation), is_explained, "{error}");
        assert_eq!(error.contains(&date(3_600)[..22]), is_explained, "{error}");
    }
    Ok(())
}

/// Returns a page with one row, whose answer has these headers of a continuation.
fn page(partition_key: Option<&str>, row_key: Option<&str>) -> Answer {
    let names = ["x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey"];
    let page = Answer::new(200).json(format!(r#"{{"value":[{ROW}]}}"#));
    let headers = names.into_iter().zip([partition_key, row_key]);
    headers.fold(page, |page, (name, value)| value.iter().fold(page, |page, value| page.header(name, value)))
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: String,
}

#[tokio::test]
async fn either_header_of_a_continuation_goes_on_and_an_empty_one_is_absent() -> Result<()> {
    for (headers, sent) in [
        ((Some("1!a"), Some("1!b")), Some((Some("1!a"), Some("1!b")))),
        ((Some("1!a"), None), Some((Some("1!a"), None))),
        ((Some("1!a"), Some("")), Some((Some("1!a"), None))),
        ((None, Some("1!b")), Some((None, Some("1!b")))),
        ((Some(""), Some("1!b")), Some((None, Some("1!b")))),
        ((Some(""), Some("")), None),
        ((Some(""), None), None),
        ((None, None), None),
    ] {
        let (server, service) = scripted().await?;
        server.then(page(headers.0, headers.1)).then(page(None, None));
        let found = Post::by_key("p").all(&Tables::new(service)).await?;
        let requests = server.requests();
        assert_eq!((found.len(), requests.len()), if sent.is_some() { (2, 2) } else { (1, 1) }, "{headers:?}");
        let Some((partition_key, row_key)) = sent else { continue };
        let query = query(&requests[1]);
        let value = |name: &str| query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        assert_eq!((value("NextPartitionKey"), value("NextRowKey")), (partition_key, row_key), "{headers:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_that_the_scan_has_sent_before_is_an_error_and_new_ones_go_on() -> Result<()> {
    let at = |token: &str| page(Some(token), None);
    // The circle is found by each of the loops over pages.
    for all_tables in [false, true] {
        let (server, service) = scripted().await?;
        let tables = Tables::new(service);
        if all_tables {
            server.then(Answer::new(200).json(r#"{"value":[{"TableName":"Post"}]}"#));
        }
        server.then(at("a")).then(at("b")).then(at("a"));
        let error = if all_tables {
            let mut reader = RowReader::new(&tables, Selection::table("Post")).await?;
            loop {
                match reader.next().await {
                    Ok(part) => assert!(part.is_some(), "the scan has ended"),
                    Err(TransferError::Store(error)) => break error,
                    Err(other) => return Err(other.into()),
                }
            }
        } else {
            Post::by_key("p").all(&tables).await.map(drop).expect_err("a circle")
        };
        assert!(error.to_string().contains("continuation token was sent before"), "{error}");
        assert_eq!(server.left(), 0);
    }
    let (server, service) = scripted().await?;
    let named = |token| Answer::new(200).json(r#"{"value":[]}"#).header("x-ms-continuation-NextTableName", token);
    server.then(named("a")).then(named("b")).then(named("a"));
    let error = service.list_tables("").await.expect_err("a circle");
    assert!(matches!(error, Error::Service(_)) && server.left() == 0, "{error}");
    // An empty header is none.
    server.then(named("a")).then(named(""));
    assert_eq!(service.list_tables("").await?, [""; 0]);

    // A filter that few rows match.
    let empty = |number: usize| {
        Answer::new(200).json(r#"{"value":[]}"#).header("x-ms-continuation-NextPartitionKey", &number.to_string())
    };
    server.then_all((0..1_000).map(empty)).then(page(None, None));
    assert_eq!(Post::by_key("p").all(&Tables::new(service)).await?.len(), 1);
    Ok(())
}

/// Returns the row key of an error of a kind.
type RowOf = fn(&Error) -> Option<&str>;

/// Returns the answer to a transaction that was refused without the index of the operation.
fn refused_without_index(status: &str, code: &str) -> Answer {
    let answer = fixture!("transaction_failed.http").replace("409 Conflict", status);
    let (before, message) = answer.split_once("\"value\":\"").expect("a message");
    let (_, message) = message.split_once(':').expect("an index");
    batch(&format!("{before}\"value\":\"{message}").replace("EntityAlreadyExists", code))
}

#[tokio::test]
async fn the_refused_row_of_a_transaction_is_found_if_the_answer_does_not_name_it() -> Result<()> {
    let row = |row_key: &str| Answer::new(200).json(ROW.replace("\"r\"", &format!("\"{row_key}\"")));
    let absent = || error(404, "ResourceNotFound");
    let other: table_runtime::ETag = ETAG.replace("2024", "2023").parse()?;
    let versions = || {
        group([
            ("r1", Action::Insert(number())),
            ("r2", Action::Merge(number(), IfMatch::ETag(etag()))),
            ("r3", Action::Delete(IfMatch::ETag(other.clone()))),
        ])
    };
    let twice = || {
        group([("r1", Action::Insert(number())), ("r2", Action::Upsert(number())), ("r3", Action::Insert(number()))])
    };
    let exists: RowOf = |error| if let Error::AlreadyExists(row) = error { Some(&row.row_key) } else { None };
    let missing: RowOf = |error| if let Error::NotFound(row) = error { Some(&row.row_key) } else { None };
    let changed: RowOf = |error| if let Error::ConditionNotMet(row) = error { Some(&row.row_key) } else { None };
    for (answer, write, reads, found, expected) in [
        (
            refused_without_index("409 Conflict", "EntityAlreadyExists"),
            twice(),
            vec![absent(), row("r3")],
            exists,
            "r3",
        ),
        (
            refused_without_index("404 Not Found", "ResourceNotFound"),
            versions(),
            vec![row("r2"), absent()],
            missing,
            "r3",
        ),
        (
            refused_without_index("412 Failed", "UpdateConditionNotSatisfied"),
            versions(),
            vec![row("r2"), row("r3")],
            changed,
            "r3",
        ),
        // The whole request was refused.
        (error(409, "EntityAlreadyExists"), transaction(), vec![row("r1")], exists, "r1"),
    ] {
        let (server, service) = scripted().await?;
        let count = reads.len();
        server.then(answer).then_all(reads);
        let error = service.execute_group(&write).await.expect_err("a refusal");
        assert_eq!(found(&error), Some(expected), "{error:?}");
        assert_eq!(server.requests().len(), 1 + count);
    }
    // Another writer has removed the row meanwhile: the transaction is sent again.
    let refused = || refused_without_index("409 Conflict", "EntityAlreadyExists");
    let (server, service) = scripted().await?;
    let two = transaction();
    server.then_all([refused(), absent(), batch(fixture!("transaction_done.http"))]);
    assert_eq!(service.execute_group(&two).await?, [Some(etag()), None]);
    // It is not known.
    server.then_all([refused(), absent(), refused(), absent(), refused(), absent()]);
    let unknown = service.execute_group(&two).await.expect_err("a refusal");
    assert!(matches!(&unknown, Error::Service(error) if error.message.contains("no row shows it")), "{unknown:?}");
    server.then(refused()).then(error(400, "InvalidInput"));
    let unread = service.execute_group(&two).await.expect_err("a refusal");
    assert!(
        matches!(&unread, Error::Service(error) if error.message.contains("cannot be read: get of Posts")),
        "{unread:?}"
    );
    assert_eq!(server.left(), 0);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts")]
struct Account {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    #[index(email, unique, same_partition)]
    email: String,
}

/// A taken value is reported as such, with few requests.
#[tokio::test]
async fn a_taken_value_is_found_if_the_answer_does_not_name_its_row() -> Result<()> {
    let account = |id| Account { tenant: "t".into(), id, email: "ann@example.com".into() };
    let store = Tables::in_memory()?;
    store.create::<Account>().await?;
    store.insert(&account(1)).await?;
    let mut dumped = Vec::new();
    store.dump(&mut dumped).await?;
    let lines = String::from_utf8(dumped)?;
    let row = |line: &str| if let Ok(Line::Row(row)) = line.parse() { Some(row) } else { None };
    let rows: Vec<TableRow> = lines.lines().filter_map(row).collect();
    ensure!(rows.len() >= 4, "an entity, its index row, and the catalog: {rows:?}");
    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    let (mut script, mut error) = (Vec::<Answer>::new(), None);
    // Each attempt shows the next request, whose answer is then in the script.
    while error.is_none() {
        server.clear();
        let before = server.requests().len();
        server.then_all(script.iter().cloned());
        let inserted = tables.insert(&account(2)).await;
        match server.requests()[before..].get(script.len()) {
            Some(request) => script.push(stored_answer(request, &rows)?),
            None => error = Some(inserted.map(drop).expect_err("the value is taken")),
        }
        ensure!(script.len() < 20, "too many requests: {:#?}", server.requests());
    }
    let Some(Error::UniqueViolation(violation)) = &error else { panic!("{error:?}") };
    assert!(violation.to_string().contains("email"), "{violation}");
    Ok(())
}

/// Returns what a store with these rows answers, which refuses every transaction and does not say why.
fn stored_answer(request: &Request, rows: &[TableRow]) -> Result<Answer> {
    if request.target.contains("$batch") {
        return Ok(refused_without_index("409 Conflict", "EntityAlreadyExists"));
    }
    let target = reqwest::Url::parse(&format!("http://a/?target={}", request.target))?;
    let (_, target) = target.query_pairs().next().context("a target")?;
    let (table, keys) = target.trim_start_matches("/acc/").split_once('(').context("a row or rows")?;
    let of_table = rows.iter().filter(|row| row.table == table);
    let json = |row: &TableRow| {
        let mut line = Vec::new();
        Line::Row(row.clone()).write(&mut line);
        let line = String::from_utf8_lossy(&line);
        line.trim().replace(&format!("\"@table\":\"{table}\""), "\"Timestamp\":\"2024-03-01T10:11:12.1234567Z\"")
    };
    if keys.starts_with(')') {
        let all: Vec<_> = of_table.map(json).collect();
        return Ok(Answer::new(200).json(format!(r#"{{"value":[{}]}}"#, all.join(","))));
    }
    let named = |row: &&TableRow| {
        let (partition_key, row_key) = (row.partition_key.replace('\'', "''"), row.row_key.replace('\'', "''"));
        keys.starts_with(&format!("PartitionKey='{partition_key}',RowKey='{row_key}')"))
    };
    Ok(of_table
        .clone()
        .find(named)
        .map_or_else(|| error(404, "ResourceNotFound"), |row| Answer::new(200).json(json(row))))
}

#[tokio::test]
async fn properties_that_cannot_be_carried_are_errors_of_their_row() -> Result<()> {
    for (member, property) in [
        (r#""a@b":1"#, "a@b"),
        (r#""odata.kind":"x""#, "odata.kind"),
        (r#""a@b@odata.type":"Edm.Int64","a@b":"1""#, "a@b"),
    ] {
        let (server, service) = scripted().await?;
        let tables = Tables::new(service);
        let row = ROW.replace('}', &format!(",{member}}}"));
        let page = || Answer::new(200).json(format!(r#"{{"value":[{row}]}}"#));
        // Programs read the row as before. An update would lose the property, and is refused before it is sent.
        server.then(page());
        let mut read: Vec<Stored<Post>> = Post::by_key("p").all(&tables).await?;
        assert_eq!(read.len(), 1, "{member}");
        let refused = tables.update(&mut read[0]).await;
        assert!(matches!(&refused, Err(Error::Limit(limit)) if limit.found.contains(property)), "{refused:?}");
        assert_eq!(server.requests().len(), 1);
        for dumps in [true, false] {
            let listed = Answer::new(200).json(r#"{"value":[{"TableName":"Post"}]}"#);
            server.then(listed).then(page());
            let failed = if dumps {
                tables.dump(Vec::new()).await.map(drop)
            } else {
                let mut reader = RowReader::new(&tables, Selection::table("Post")).await?;
                loop {
                    match reader.next().await {
                        Ok(Some(_)) => {}
                        other => break other.map(drop),
                    }
                }
            };
            let Err(TransferError::Unreadable { row, property: found, .. }) = failed else { panic!("{failed:?}") };
            assert_eq!((row.row_key.as_str(), found.as_str()), ("r", property));
        }
    }
    Ok(())
}

#[tokio::test]
async fn dumped_names_are_escaped() -> Result<()> {
    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    let row = ROW.replace('}', r#","a\"b":1,"c\\d@odata.type":"Edm.Int64","c\\d":"2","e-f":"x"}"#);
    server.then(Answer::new(200).json(r#"{"value":[{"TableName":"Post"}]}"#));
    server.then(Answer::new(200).json(format!(r#"{{"value":[{row}]}}"#)));
    let mut dumped = Vec::new();
    tables.dump(&mut dumped).await?;
    let lines = String::from_utf8(dumped)?;
    let Ok(Line::Row(row)) = lines.lines().nth(1).context("the row")?.parse() else { panic!("{lines}") };
    let properties: Vec<_> = row.properties.iter().map(|(name, value)| (name, value.to_value())).collect();
    let (one, two, text) = (Value::Int32(1), Value::Int64(2), Value::String("x".into()));
    assert_eq!(properties, [("a\"b", one), ("c\\d", two), ("e-f", text)], "{lines}");
    Ok(())
}
