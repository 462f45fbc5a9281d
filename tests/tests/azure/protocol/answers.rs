//! Answers: rows of other programs, pages, values in other forms, and answers that do not end.

use std::borrow::Cow;

use anyhow::{Context, Result};
use table_runtime::{
    Error, Guid, TableEntity, Tables, Ticks, Value,
    backend::{BackendExt, Continuation, Partitions, Scan},
    property::Always,
    row::{Properties, ValueRef},
};
use tests::scripted::{Answer, Scripted, Step};

use super::{ROW, builder, fixture, insert, only, query, scan, scripted, transaction};

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
    // Without metadata, the ETag is computed from the time stamp.
    let row = page.rows.get(1).context("a row")?;
    assert_eq!(row.etag.to_string(), "W/\"datetime'2013-08-22T01%3A12%3A06.2608595Z'\"");
    assert_eq!(row.properties.to_properties(), Properties::from_iter([("Balance", Value::Double(5.0))]));
    // Without metadata, the types would be unknown.
    assert_eq!(only(&server).header("Accept"), Some("application/json;odata=minimalmetadata"));
    Ok(())
}

#[tokio::test]
async fn an_empty_page_may_have_a_continuation_with_or_without_a_row_key() -> Result<()> {
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
        // `$top` is the size of a page, not a limit of the query, so each page asks for it again.
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
async fn a_scan_of_a_whole_table_has_no_filter() -> Result<()> {
    let (server, service) = scripted().await?;
    server.then(Answer::new(200).json(r#"{"value":[]}"#));
    service.query(&Scan { partitions: Partitions::ALL, ..scan() }, None).await?;
    assert_eq!(query(&only(&server)), [("$top".to_owned(), "7".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn tables_are_listed_to_the_last_page() -> Result<()> {
    let (server, service) = scripted().await?;
    let page = |name| Answer::new(200).json(format!(r#"{{"value":[{{"TableName":"{name}"}}]}}"#));
    server.then(page("Log201007").header("x-ms-continuation-NextTableName", "1!12!TG9n"));
    server.then(Answer::new(200).json(r#"{"value":[]}"#).header("x-ms-continuation-NextTableName", "1!12!TG9o"));
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

/// Returns a page of two rows; the second has also these members.
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
async fn an_unreadable_value_fails_only_reads_of_its_field() -> Result<()> {
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
    // A surrogate pair is valid, and an escaped backslash may precede the letters of an escape.
    server.then(page_with(r#""A":"\ud834\udd1e \\ud800 \"\ud834\udd1e", "B":"\ud800""#));
    let rows = Whole::<String>::by_key("p").all(&tables).await?;
    assert_eq!(rows[1].a.as_deref(), Some("\u{1D11E} \\ud800 \"\u{1D11E}"));
    Ok(())
}

#[tokio::test]
async fn the_error_names_an_unreadable_row() -> Result<()> {
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

#[tokio::test]
async fn a_continuation_that_does_not_advance_is_an_error() -> Result<()> {
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
    // The request is not repeated, since the answer would be as large again. Its length may be known in advance or not.
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
    let error = service.execute_group(&transaction()).await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn only_the_beginning_of_an_errors_body_is_read() -> Result<()> {
    let (server, service) = scripted().await?;
    let mut answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 565000000\r\n\r\n".to_vec();
    answer.extend(b"<error><code>InvalidInput</code><message>too long: ");
    // The cut may split a character.
    answer.extend("\u{20AC}".repeat(1024 * 1024).into_bytes());
    server.then(Step::ReadAndSend(answer));
    let error = service.execute_group(&insert()).await.unwrap_err();
    let Error::Service(answer) = &error else { panic!("{error:?}") };
    assert_eq!((answer.status, answer.code.as_str()), (400, "InvalidInput"));
    assert!(answer.message.len() <= 64 * 1024, "{} bytes", answer.message.len());
    Ok(())
}
