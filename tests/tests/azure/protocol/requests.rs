//! Requests as the service expects them: addresses, headers, bodies.

use std::borrow::Cow;

use anyhow::{Context, Result};
use table_runtime::{
    Error, Tables, Value,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
    row::{Properties, ValueRef},
    transfer::{ReadPart, RowReader, RowWriter, Selection, TableRow, TransferError},
};
use tests::scripted::Answer;

use super::{ETAG, ROW, batch, busy, error, etag, fixture, group, number, only, scripted, written};

#[tokio::test]
async fn quotes_are_doubled_in_addresses_and_not_in_bodies() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(written());
    service.execute_group(&group([("a'b 50%+é", Action::Upsert(number()))])).await?;
    let request = only(&server);
    assert_eq!(request.target, "/acc/Posts(PartitionKey='p',RowKey='a%27%27b%2050%25%2B%C3%A9')");
    let body: serde_json::Value = serde_json::from_str(&request.body)?;
    assert_eq!(body["RowKey"], "a'b 50%+é");
    server.then(batch(fixture!("transaction_done.http")));
    let two = [("a'b", Action::Upsert(number())), ("c'd", Action::Delete(IfMatch::Any))];
    service.execute_group(&group(two)).await?;
    let body = &server.requests()[1].body;
    assert!(body.contains("/acc/Posts(PartitionKey='p',RowKey='a%27%27b') HTTP/1.1"), "{body}");
    assert!(body.contains("/acc/Posts(PartitionKey='p',RowKey='c%27%27d') HTTP/1.1"), "{body}");
    assert!(body.contains(r#""RowKey":"a'b""#), "{body}");
    Ok(())
}

#[tokio::test]
async fn a_tab_in_a_key_is_not_dropped() -> Result<()> {
    // Limits are checked before the backend. A control character that reaches it must not change the key.
    let (server, service) = scripted().await?;
    server.then(error(400, "OutOfRangeInput"));
    service.execute_group(&group([("a\tb\nc", Action::Upsert(number()))])).await.unwrap_err();
    assert_eq!(only(&server).target, "/acc/Posts(PartitionKey='p',RowKey='a%09b%0Ac')");
    Ok(())
}

#[tokio::test]
async fn each_write_sends_the_documented_request() -> Result<()> {
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
        let etags = service.execute_group(&group([("r", action.clone())])).await?;
        assert_eq!(etags, [action.properties().map(|_| etag())]);
        let request = server.requests().pop().context("a request")?;
        assert_eq!((request.method.as_str(), request.target.as_str()), (method, target));
        assert_eq!(request.header("If-Match"), condition, "{action:?}");
        // Without this header, most errors come as XML, and an insert returns the complete row.
        assert!(request.header("Accept").is_some_and(|accept| accept.starts_with("application/json")), "{action:?}");
        assert_eq!(request.header("Prefer").is_some(), method == "POST");
        assert!(request.header("Authorization").is_some_and(|value| value.starts_with("SharedKey acc:")));
    }
    Ok(())
}

#[tokio::test]
async fn a_transaction_has_the_format_that_the_service_reads() -> Result<()> {
    let (server, service) = scripted().await?;
    let five = group([
        ("r1", Action::Insert(number())),
        ("r2", Action::Upsert(number())),
        ("r3", Action::Replace(number(), IfMatch::Any)),
        ("r4", Action::Merge(number(), IfMatch::ETag(etag()))),
        ("r5", Action::Delete(IfMatch::Any)),
    ]);
    server.then(error(400, "InvalidInput"));
    service.execute_group(&five).await.unwrap_err();
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
        // Without a condition, an update or a merge in a transaction would be an upsert.
        assert_eq!(found, condition.is_some(), "{part}");
        if let Some(condition) = condition {
            assert!(part.contains(&format!(": {condition}\r\n")), "{part}");
        }
    }
    assert!(parts[0].contains("prefer: return-no-content"), "{}", parts[0]);
    Ok(())
}

#[tokio::test]
async fn a_table_that_may_not_be_listed_or_made_is_read_and_written_by_its_name() -> Result<()> {
    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    let forbidden = || error(403, "AuthorizationPermissionMismatch");
    let time = r#""Timestamp":"2025-09-22T09:45:35.2743359Z""#;
    let page = || Answer::new(200).json(format!(r#"{{"value":[{{"PartitionKey":"p","RowKey":"r",{time},"N.a":1}}]}}"#));
    // The service lists its own tables for nobody.
    let metrics = "$MetricsHourPrimaryTransactionsBlob";
    server.then(page());
    let mut reader = RowReader::new(&tables, Selection::table(metrics)).await?.as_stored();
    let Some(ReadPart::Table(name)) = reader.next().await? else { anyhow::bail!("the table") };
    let Some(ReadPart::Rows { rows, .. }) = reader.next().await? else { anyhow::bail!("its row") };
    let row = TableRow::of(&name, rows.get(0).context("a row")?);
    assert_eq!((name.as_str(), row.row_key.as_str()), (metrics, "r"));
    assert!(only(&server).target.starts_with("/acc/$MetricsHourPrimaryTransactionsBlob()"), "{}", only(&server).target);
    // A row that cannot be written is found, and refused by a reader that is not asked for it.
    assert!(matches!(row.check(), Err(Error::Limit(_))));
    server.then(page());
    let mut reader = RowReader::new(&tables, Selection::table(metrics)).await?;
    reader.next().await?;
    assert!(matches!(reader.next().await, Err(TransferError::Unreadable { .. })));

    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    server.then(forbidden()).then(error(404, "TableNotFound"));
    let mut reader = RowReader::new(&tables, Selection::table("Posts")).await?;
    reader.next().await?;
    assert!(matches!(reader.next().await, Err(TransferError::Store(Error::TableNotFound(_)))), "no empty table");

    let (server, service) = scripted().await?;
    let tables = Tables::new(service);
    server.then(forbidden()).then(written());
    let mut writer = RowWriter::new(&tables);
    let properties = number();
    let (table, partition_key, row_key) = ("Posts".to_owned(), "p".to_owned(), "r".to_owned());
    writer.write(TableRow { table, partition_key, row_key, properties }).await?;
    writer.flush().await?;
    assert_eq!(server.requests()[1].method, "PUT");
    Ok(())
}

#[tokio::test]
async fn values_are_sent_with_their_types() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(written());
    let mut values = Properties::from_iter([("Whole", Value::Double(5.0)), ("Large", Value::Int64(i64::MAX))]);
    values.push("NotANumber", ValueRef::Double(f64::NAN));
    service.execute_group(&group([("r", Action::Insert(values))])).await?;
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
    let error = service.execute_group(&large(32)).await.unwrap_err();
    assert!(matches!(&error, Error::Limit(limit) if limit.limit == "4194304 bytes"), "{error:?}");
    assert_eq!(server.connections(), 0);
    server.then(busy()).then(busy()).then(busy());
    let error = service.execute_group(&large(31)).await.unwrap_err();
    assert!(matches!(error, Error::Service(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn an_answer_with_a_malformed_etag_is_an_error() -> Result<()> {
    let (server, service) = scripted().await?;
    let write = group([("r", Action::Upsert(number()))]);
    for malformed in ["*", "none", "W/*", "\"a\", \"b\""] {
        server.then(Answer::new(204).header("ETag", malformed));
        let error = service.execute_group(&write).await.unwrap_err();
        assert!(matches!(&error, Error::OutcomeUnknown(_)) && error.to_string().contains("ETag"), "{error:?}");

        let escaped = malformed.replace('"', "\\\"");
        let row = ROW.replacen('{', &format!("{{\"odata.etag\":\"{escaped}\","), 1);
        server.then(Answer::new(200).json(row));
        let error = service.get("T", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(_)) && error.to_string().contains("ETag"), "{error:?}");
    }
    Ok(())
}
