//! Errors, whatever form their bodies have.

use anyhow::Result;
use table_runtime::{
    Error,
    backend::{Action, BackendExt, IfMatch},
};
use tests::scripted::Answer;

use super::{batch, error, etag, fixture, group, insert, only, scan, scripted, transaction};

#[tokio::test]
async fn a_failed_transaction_is_an_error_that_names_its_row() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(batch(fixture!("transaction_failed.http")));
    let error = service.execute_group(&transaction()).await.unwrap_err();
    assert!(matches!(&error, Error::AlreadyExists(row) if row.row_key == "r2"), "{error:?}");
    only(&server);
    // With another code, the message is kept, without the index of the operation.
    server.then(batch(&fixture!("transaction_failed.http").replace("EntityAlreadyExists", "InvalidInput")));
    let error = service.execute_group(&transaction()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (409, "InvalidInput"));
    assert!(answer.message.starts_with("The specified entity already exists."), "{}", answer.message);
    Ok(())
}

#[tokio::test]
async fn a_transaction_returns_the_new_etags() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(batch(fixture!("transaction_done.http")));
    assert_eq!(service.execute_group(&transaction()).await?, [Some(etag()), None]);
    only(&server);
    Ok(())
}

#[tokio::test]
async fn errors_are_recognised_by_their_bodies() -> Result<()> {
    let (server, service) = scripted().await?;
    let xml = |status, body: &str| Answer::new(status).header("Content-Type", "application/xml").body(body);

    server.then(Answer::new(409).json(fixture!("already_exists.json")));
    let error = service.execute_group(&insert()).await.unwrap_err();
    assert!(matches!(&error, Error::AlreadyExists(row) if row.row_key == "r"), "{error:?}");

    let delete = group([("r", Action::Delete(IfMatch::Any))]);
    for answer in [
        xml(404, fixture!("not_found.xml")),
        Answer::new(404).json(fixture!("cosmos_not_found.json")),
        Answer::new(404).header("x-ms-error-code", "ResourceNotFound"),
        self::error(404, "EntityNotFound"),
    ] {
        server.then(answer.clone()).then(answer);
        let error = service.execute_group(&delete).await.unwrap_err();
        assert!(matches!(&error, Error::NotFound(row) if row.row_key == "r"), "{error:?}");
        assert_eq!(service.get("Posts", "p", "r", None).await?, None);
    }

    for answer in [xml(412, fixture!("condition_not_satisfied.xml")), Answer::new(412)] {
        server.then(answer);
        let error = service.execute_group(&delete).await.unwrap_err();
        assert!(matches!(&error, Error::ConditionNotMet(row) if row.row_key == "r"), "{error:?}");
    }

    server.then(xml(403, fixture!("authentication_failed.xml")));
    let error = service.execute_group(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (403, "AuthenticationFailed"));
    assert!(answer.message.starts_with("Server failed to authenticate the request."), "{}", answer.message);

    for answer in [self::error(404, "TableNotFound"), xml(404, "<e><code>TableNotFound</code></e>")] {
        server.then(answer.clone()).then(answer.clone()).then(answer);
        assert!(matches!(service.execute_group(&insert()).await, Err(Error::TableNotFound(_))));
        assert!(matches!(service.get("Posts", "p", "r", None).await, Err(Error::TableNotFound(_))));
        assert!(matches!(service.query(&scan(), None).await, Err(Error::TableNotFound(_))));
    }

    server.then(self::error(409, "TableBeingDeleted"));
    assert!(matches!(service.create_table("Posts").await, Err(Error::TableBeingDeleted(table)) if table == "Posts"));

    // A 404 without a code does not come from the service and does not prove that the row is missing.
    for answer in [Answer::new(404), Answer::new(404).body("<html>no code</html>")] {
        server.then(answer);
        let error = service.get("Posts", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(answer) if answer.status == 404), "{error:?}");
    }
    assert_eq!(server.left(), 0);
    Ok(())
}

#[tokio::test]
async fn creating_an_existing_table_or_deleting_a_missing_one_is_no_error() -> Result<()> {
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
