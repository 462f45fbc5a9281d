//! Identifiers of requests, in the requests and in errors. `azure_secrets` finds them in traces.

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables, backend::BackendExt};
use tests::scripted::{Answer, Step};

use super::{batch, busy, error, fixture, insert, scan, scripted, transaction, written};

const SERVICE_ID: &str = "1b2c3d4e-5002-0011-8a7b-0123456789ab";

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
}

/// Checks that an error has the identifier of the last request, and that of the answer if there was one.
fn check(error: &Error, last: Option<&str>, service: Option<&str>) {
    assert!(last.is_some_and(|id| id.parse::<table_runtime::Guid>().is_ok()), "{last:?}");
    assert_eq!((error.client_request_id(), error.request_id()), (last, service), "{error:?}");
    // Equal errors have equal messages.
    assert!(!error.to_string().contains(last.unwrap_or_default()), "{error}");
}

#[tokio::test]
async fn each_attempt_has_an_identifier_of_its_own() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(busy()).then(busy()).then(written());
    service.execute_group(&insert()).await?;
    let ids: Vec<_> = server
        .requests()
        .iter()
        .filter_map(|request| request.header("x-ms-client-request-id").map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    Ok(())
}

#[tokio::test]
async fn every_error_has_the_identifiers_of_its_request() -> Result<()> {
    let (server, service) = scripted().await?;
    let last =
        || server.requests().pop().and_then(|request| request.header("x-ms-client-request-id").map(str::to_owned));
    let with_id = |answer: Answer| answer.header("x-ms-request-id", SERVICE_ID);

    for answer in [
        error(409, "EntityAlreadyExists"),
        error(404, "ResourceNotFound"),
        error(412, "UpdateConditionNotSatisfied"),
        error(404, "TableNotFound"),
        error(409, "TableBeingDeleted"),
        error(403, "AuthenticationFailed"),
        // The write may have been applied.
        error(500, "OperationTimedOut"),
        Answer::new(204).header("ETag", "none"),
    ] {
        server.then(with_id(answer));
        let error = service.execute_group(&insert()).await.unwrap_err();
        check(&error, last().as_deref(), Some(SERVICE_ID));
    }

    server.then(with_id(batch(fixture!("transaction_failed.http"))));
    let error = service.execute_group(&transaction()).await.unwrap_err();
    check(&error, last().as_deref(), Some(SERVICE_ID));
    server.then(with_id(batch("--cut off")));
    let error = service.execute_group(&transaction()).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    check(&error, last().as_deref(), Some(SERVICE_ID));

    server.then(with_id(Answer::new(200).json("no row")));
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    check(&error, last().as_deref(), Some(SERVICE_ID));
    server.then(with_id(Answer::new(200).json("no page")));
    let error = service.query(&scan(), None).await.unwrap_err();
    check(&error, last().as_deref(), Some(SERVICE_ID));
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_has_the_identifier_of_the_client() -> Result<()> {
    let (server, service) = scripted().await?;
    let id_of = |at: usize| {
        server.requests().get(at).and_then(|request| request.header("x-ms-client-request-id").map(str::to_owned))
    };

    server.then(Step::ReadAndClose);
    let error = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    check(&error, id_of(0).as_deref(), None);

    // The answer began, and its headers arrived.
    let begin = format!("HTTP/1.1 202 Scripted\r\nx-ms-request-id: {SERVICE_ID}\r\nContent-Length: 100\r\n\r\n--cut");
    server.then(Step::ReadAndSend(begin.into_bytes()));
    let error = service.execute_group(&transaction()).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    check(&error, id_of(1).as_deref(), Some(SERVICE_ID));

    // A read is repeated. Its error has the identifier of the last attempt.
    for _ in 0..3 {
        server.then(Step::ReadAndClose);
    }
    let error = service.get("Posts", "p", "r", None).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    check(&error, id_of(4).as_deref(), None);
    Ok(())
}

#[tokio::test]
async fn the_error_of_a_verb_has_the_identifiers_of_the_write_and_not_of_the_read_after_it() -> Result<()> {
    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    let post = Post { author: "Marcus".to_owned(), number: 1 };
    let write_id = || {
        let requests = server.requests();
        let write = requests.iter().rfind(|request| request.method != "GET")?;
        write.header("x-ms-client-request-id").map(str::to_owned)
    };

    // The lease of the primary key is read first, and the row after the lost answer.
    let read =
        Answer::new(404).json(r#"{"odata.error":{"code":"ResourceNotFound"}}"#).header("x-ms-request-id", "read");
    server.then(Step::ReadAndClose).then(read);
    let error = tables.insert(&post).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    check(&error, write_id().as_deref(), None);

    server.clear();
    server.then(Step::ReadAndClose);
    let error = tables.insert_all([&post]).await.unwrap_err();
    assert!(matches!(error, Error::Bulk(_)), "{error:?}");
    check(&error, write_id().as_deref(), None);

    server.clear();
    server.then(self::error(412, "UpdateConditionNotSatisfied").header("x-ms-request-id", SERVICE_ID));
    let etag = super::etag();
    let error = tables.delete(table_runtime::Stored::new(post, etag)).await.unwrap_err();
    assert!(matches!(error, Error::ConditionNotMet(_)), "{error:?}");
    check(&error, write_id().as_deref(), Some(SERVICE_ID));
    Ok(())
}
