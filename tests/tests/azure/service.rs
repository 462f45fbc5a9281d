//! The Azure backend on Azurite and, if one is configured, on a live account.

use std::{
    borrow::Cow,
    ops::Bound,
    sync::atomic::{AtomicUsize, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    ETag, Error, Guid, Ticks, Value,
    backend::{
        Action, AzureBackend, AzureBuilder, Backend, BackendExt, Group, IfMatch, KeyRange, Operation, Partitions, Scan,
        StoreView,
    },
    filter::{Condition, Operator},
    row::{Properties, RowId, ValueRef},
};
use tests::azurite;

/// Returns the name of a table that no other test uses.
fn table_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("t{now}x{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Runs the test on every available service, each time with a new table.
async fn on_services(test: impl AsyncFn(&AzureBackend, &str) -> Result<()>) -> Result<()> {
    for (name, service) in azurite::services()? {
        let table = table_name();
        service.create_table(&table).await?;
        let result = test(&service, &table).await;
        service.delete_table(&table).await?;
        result.with_context(|| format!("on {name}"))?;
    }
    Ok(())
}

fn group(table: &str, operations: Vec<(&str, Action)>) -> Group {
    let operations =
        operations.into_iter().map(|(row_key, action)| Operation { row_key: row_key.to_owned(), action }).collect();
    Group { table: table.to_owned().into(), partition_key: "p".to_owned(), operations }
}

fn number(value: i32) -> Properties {
    let mut properties = Properties::default();
    properties.push("Number", ValueRef::Int32(value));
    properties
}

async fn one(service: &AzureBackend, table: &str, row_key: &str, action: Action) -> Result<Option<ETag>, Error> {
    let mut etags = service.execute_group(&group(table, vec![(row_key, action)])).await?;
    assert_eq!(etags.len(), 1);
    Ok(etags.remove(0))
}

/// Returns the number in a row; `None` if there is no row.
async fn read(service: &AzureBackend, table: &str, row_key: &str) -> Result<Option<i32>> {
    let Some(row) = service.get(table, "p", row_key, None).await? else { return Ok(None) };
    let Some(ValueRef::Int32(number)) = row.properties.get("Number") else { anyhow::bail!("no number in {row:?}") };
    Ok(Some(number))
}

fn everything(table: &str) -> Scan {
    Scan {
        table: Cow::Owned(table.to_owned()),
        partitions: Partitions::ALL,
        rows: KeyRange::ALL,
        filter: None,
        select: None,
        page: 1000,
    }
}

async fn row_keys(service: &AzureBackend, scan: &Scan) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    let mut from = None;
    loop {
        let page = service.query(scan, from.as_ref()).await?;
        ensure!(page.rows.len() <= scan.page as usize, "a page of {} rows", page.rows.len());
        keys.extend(page.rows.iter().map(|row| row.row_key.to_owned()));
        match page.next {
            Some(next) => from = Some(next),
            None => return Ok(keys),
        }
    }
}

fn id(error: &Error) -> Option<&RowId> {
    match error {
        Error::AlreadyExists(row) | Error::NotFound(row) | Error::ConditionNotMet(row) => Some(row),
        _ => None,
    }
}

#[tokio::test]
async fn the_secondary_region_is_read_with_the_same_credential() -> Result<()> {
    let Some(connection_string) = azurite::shared()? else { return Ok(()) };
    let (service, table) = (AzureBackend::connect(&connection_string)?, table_name());
    service.create_table(&table).await?;
    let etag = one(&service, &table, "r'1 %", Action::Insert(number(1))).await?.context("an ETag")?;
    let endpoint = connection_string.split(';').find_map(|setting| setting.strip_prefix("TableEndpoint="));
    let secondary = format!("{}-secondary", endpoint.context("an endpoint")?);
    // Nobody listens at the address of the primary region.
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let builder = AzureBuilder::from_connection_string(&connection_string)?.endpoint(format!("http://{unused}/acc"));
    let reader = builder
        .secondary_endpoint(secondary)
        .max_attempts(1)
        .build()?
        .view(StoreView::SecondaryReads)?
        .context("a reader")?;
    let row = reader.get(&table, "p", "r'1 %", None).await?.context("the row")?;
    assert_eq!((row.properties, row.etag), (number(1), etag));
    assert_eq!(reader.query(&everything(&table), None).await?.rows.len(), 1);
    assert_eq!(reader.list_tables(&table).await?, [&*table]);
    service.delete_table(&table).await?;
    Ok(())
}

#[tokio::test]
async fn an_insert_writes_a_new_row_only() -> Result<()> {
    on_services(async |service, table| {
        let etag = one(service, table, "r", Action::Insert(number(1))).await?.context("an ETag")?;
        let row = service.get(table, "p", "r", None).await?.context("the row")?;
        assert_eq!((row.partition_key.as_str(), row.row_key.as_str(), &row.etag), ("p", "r", &etag));
        assert_eq!(row.properties, number(1));
        assert!(row.timestamp > Ticks::UNIX_EPOCH);
        let error = one(service, table, "r", Action::Insert(number(2))).await.unwrap_err();
        assert!(matches!(&error, Error::AlreadyExists(row) if row.row_key == "r"), "{error:?}");
        assert_eq!(read(service, table, "r").await?, Some(1));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_upsert_replaces_an_existing_row() -> Result<()> {
    on_services(async |service, table| {
        let first = one(service, table, "r", Action::Upsert(number(1))).await?.context("an ETag")?;
        let mut other = Properties::default();
        other.push("Other", ValueRef::Boolean(true));
        let second = one(service, table, "r", Action::Upsert(other.clone())).await?.context("an ETag")?;
        assert_ne!(first, second);
        let row = service.get(table, "p", "r", None).await?.context("the row")?;
        assert_eq!((row.properties, row.etag), (other, second));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn writes_to_missing_rows_fail_and_write_nothing() -> Result<()> {
    on_services(async |service, table| {
        let other = ETag::from(Ticks::UNIX_EPOCH);
        for condition in [IfMatch::Any, IfMatch::ETag(other)] {
            for action in [
                Action::Replace(number(1), condition.clone()),
                Action::Merge(number(1), condition.clone()),
                Action::Delete(condition.clone()),
            ] {
                let error = one(service, table, "r", action.clone()).await.unwrap_err();
                assert!(matches!(&error, Error::NotFound(row) if row.row_key == "r"), "{action:?}: {error:?}");
                // In a transaction, the service would treat an update without a condition as an upsert.
                let group = group(table, vec![("other", Action::Upsert(number(1))), ("r", action.clone())]);
                let error = service.execute_group(&group).await.unwrap_err();
                assert!(matches!(&error, Error::NotFound(row) if row.row_key == "r"), "{action:?}: {error:?}");
                assert_eq!(row_keys(service, &everything(table)).await?, [""; 0], "{action:?}");
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn conditional_writes_need_the_current_etag() -> Result<()> {
    on_services(async |service, table| {
        let old = one(service, table, "r", Action::Insert(number(1))).await?.context("an ETag")?;
        let new = one(service, table, "r", Action::Replace(number(2), IfMatch::ETag(old.clone()))).await?;
        let new = new.context("an ETag")?;
        assert_ne!(old, new);
        for action in [
            Action::Replace(number(3), IfMatch::ETag(old.clone())),
            Action::Merge(number(3), IfMatch::ETag(old.clone())),
            Action::Delete(IfMatch::ETag(old.clone())),
        ] {
            let error = one(service, table, "r", action.clone()).await.unwrap_err();
            assert!(matches!(&error, Error::ConditionNotMet(row) if row.row_key == "r"), "{action:?}: {error:?}");
            let group = group(table, vec![("other", Action::Upsert(number(3))), ("r", action.clone())]);
            let error = service.execute_group(&group).await.unwrap_err();
            assert!(matches!(&error, Error::ConditionNotMet(row) if row.row_key == "r"), "{action:?}: {error:?}");
        }
        assert_eq!(read(service, table, "r").await?, Some(2));
        assert_eq!(read(service, table, "other").await?, None);
        // A scan returns the same ETag.
        let page = service.query(&everything(table), None).await?;
        assert_eq!(page.rows.get(0).context("a row")?.etag, &new);
        assert_eq!(one(service, table, "r", Action::Delete(IfMatch::ETag(new))).await?, None);
        assert_eq!(read(service, table, "r").await?, None);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_merge_keeps_the_other_properties_and_a_replace_does_not() -> Result<()> {
    on_services(async |service, table| {
        let mut both = number(1);
        both.push("Text", ValueRef::String("kept"));
        one(service, table, "r", Action::Insert(both)).await?;
        let etag = one(service, table, "r", Action::Merge(number(2), IfMatch::Any)).await?.context("an ETag")?;
        let row = service.get(table, "p", "r", None).await?.context("the row")?;
        assert_eq!(row.properties.get("Text"), Some(ValueRef::String("kept")));
        assert_eq!(row.properties.get("Number"), Some(ValueRef::Int32(2)));
        assert_eq!(row.etag, etag);
        one(service, table, "r", Action::Replace(number(3), IfMatch::Any)).await?;
        let row = service.get(table, "p", "r", None).await?.context("the row")?;
        assert_eq!(row.properties, number(3));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_transaction_writes_all_rows_and_returns_the_new_etags() -> Result<()> {
    on_services(async |service, table| {
        for row_key in ["replaced", "merged", "deleted", "any"] {
            one(service, table, row_key, Action::Insert(number(1))).await?;
        }
        let version = service.get(table, "p", "deleted", None).await?.context("the row")?.etag;
        let etags = service
            .execute_group(&group(
                table,
                vec![
                    ("inserted", Action::Insert(number(2))),
                    ("upserted", Action::Upsert(number(2))),
                    ("replaced", Action::Replace(number(2), IfMatch::Any)),
                    ("merged", Action::Merge(number(2), IfMatch::Any)),
                    ("deleted", Action::Delete(IfMatch::ETag(version))),
                    ("any", Action::Delete(IfMatch::Any)),
                ],
            ))
            .await?;
        for (row_key, etag) in ["inserted", "upserted", "replaced", "merged"].into_iter().zip(&etags) {
            let row = service.get(table, "p", row_key, None).await?.context("the row")?;
            assert_eq!((row.properties, Some(&row.etag)), (number(2), etag.as_ref()), "{row_key}");
        }
        assert_eq!(etags[4..], [None, None]);
        assert_eq!(row_keys(service, &everything(table)).await?, ["inserted", "merged", "replaced", "upserted"]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_failed_transaction_names_the_row_and_writes_nothing() -> Result<()> {
    on_services(async |service, table| {
        one(service, table, "taken", Action::Insert(number(1))).await?;
        for at in [0, 2, 9] {
            let names: Vec<_> = (0..10).map(|n| format!("r{n}")).collect();
            let mut operations: Vec<_> = names.iter().map(|name| (name.as_str(), Action::Insert(number(2)))).collect();
            operations[at].0 = "taken";
            let error = service.execute_group(&group(table, operations)).await.unwrap_err();
            assert!(matches!(&error, Error::AlreadyExists(_)), "{error:?}");
            assert_eq!(id(&error).map(|row| row.row_key.as_str()), Some("taken"), "{at}");
            assert_eq!(row_keys(service, &everything(table)).await?, ["taken"]);
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_transaction_may_have_a_hundred_operations() -> Result<()> {
    on_services(async |service, table| {
        let names: Vec<_> = (0..100).map(|n| format!("r{n:03}")).collect();
        let operations = names.iter().map(|name| (name.as_str(), Action::Insert(number(1)))).collect();
        let etags = service.execute_group(&group(table, operations)).await?;
        assert_eq!(etags.iter().filter(|etag| etag.is_some()).count(), 100);
        assert_eq!(row_keys(service, &everything(table)).await?, names);
        Ok(())
    })
    .await
}

/// Keys that have to be quoted or encoded in an address.
const KEYS: [&str; 14] =
    ["a'b", "''", "50%", "%41", "%2541", "a+b", "a b", "a&b=c", "ä€𝄞", "(x),y;z:@!$*", "~-._", "\"<>`{|}^[]", "..", ""];

#[tokio::test]
async fn keys_with_special_characters_are_found() -> Result<()> {
    on_services(async |service, table| {
        for (n, key) in (0..).zip(KEYS) {
            let write = |action| Group {
                table: table.to_owned().into(),
                partition_key: key.to_owned(),
                operations: vec![Operation { row_key: key.to_owned(), action }],
            };
            let get = async || service.get(table, key, key, None).await;
            service.execute_group(&write(Action::Upsert(number(n)))).await.with_context(|| key)?;
            let row = get().await?.with_context(|| format!("the row {key:?}"))?;
            assert_eq!((row.partition_key.as_str(), row.row_key.as_str()), (key, key));
            assert_eq!(row.properties, number(n));
            service
                .execute_group(&write(Action::Merge(number(-n), IfMatch::ETag(row.etag))))
                .await
                .with_context(|| key)?;
            assert_eq!(get().await?.map(|row| row.properties), Some(number(-n)), "{key:?}");
            let scan = Scan {
                partitions: Partitions::One(key.to_owned()),
                rows: KeyRange { from: Bound::Included(key.to_owned()), to: Bound::Included(key.to_owned()) },
                ..everything(table)
            };
            assert_eq!(row_keys(service, &scan).await?, [key]);
            service.execute_group(&write(Action::Delete(IfMatch::Any))).await.with_context(|| key)?;
            assert_eq!(get().await?, None, "{key:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn keys_with_special_characters_are_written_in_one_transaction() -> Result<()> {
    on_services(async |service, table| {
        let all = |action: &dyn Fn() -> Action| Group {
            table: table.to_owned().into(),
            partition_key: "it's 50%+ä".to_owned(),
            operations: KEYS.map(|key| Operation { row_key: key.to_owned(), action: action() }).to_vec(),
        };
        service.execute_group(&all(&|| Action::Insert(number(1)))).await?;
        service.execute_group(&all(&|| Action::Merge(number(2), IfMatch::Any))).await?;
        for key in KEYS {
            let row = service.get(table, "it's 50%+ä", key, None).await?.with_context(|| format!("the row {key:?}"))?;
            assert_eq!(row.properties, number(2), "{key:?}");
        }
        service.execute_group(&all(&|| Action::Upsert(number(3)))).await?;
        service.execute_group(&all(&|| Action::Delete(IfMatch::Any))).await?;
        assert_eq!(row_keys(service, &everything(table)).await?, [""; 0]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn values_of_all_types_are_read_back() -> Result<()> {
    let ticks = |text: &str| text.parse::<Ticks>();
    // The text is long, and some network packets end within a character. Azurite must not damage it.
    let long = "x".to_owned() + &"ä".repeat(32 * 1024 - 1);
    let longer = "ä".repeat(32 * 1024);
    let values = [
        ("Text", Value::String("it's \"50%\"\r\n\t\\ ä€𝄞".to_owned())),
        ("TextEmpty", Value::String(String::new())),
        ("TextLong", Value::String(long)),
        ("TextLonger", Value::String(longer)),
        ("TextLikeANumber", Value::String("5".to_owned())),
        ("TextLikeATime", Value::String("2010-05-28T00:00:00Z".to_owned())),
        ("Binary", Value::Binary((0..=255).collect())),
        ("BinaryEmpty", Value::Binary(Vec::new())),
        ("Yes", Value::Boolean(true)),
        ("No", Value::Boolean(false)),
        ("Int32", Value::Int32(5)),
        ("Int32Min", Value::Int32(i32::MIN)),
        ("Int32Max", Value::Int32(i32::MAX)),
        ("Int64", Value::Int64(5)),
        ("Int64Min", Value::Int64(i64::MIN)),
        ("Int64Max", Value::Int64(i64::MAX)),
        ("Double", Value::Double(0.1 + 0.2)),
        ("DoubleWhole", Value::Double(5.0)),
        ("DoubleZero", Value::Double(0.0)),
        ("DoubleLarge", Value::Double(1e300)),
        ("DoubleTwo53", Value::Double(9_007_199_254_740_993.0)),
        ("DoubleMax", Value::Double(f64::MAX)),
        ("DoubleTiny", Value::Double(f64::MIN_POSITIVE)),
        ("DoubleSubnormal", Value::Double(5e-324)),
        ("Infinity", Value::Double(f64::INFINITY)),
        ("MinusInfinity", Value::Double(f64::NEG_INFINITY)),
        ("Guid", Value::Guid("00112233-4455-6677-8899-aabbccddeeff".parse::<Guid>()?)),
        ("Time", Value::DateTime(ticks("2010-05-28T01:02:03.1234567Z")?)),
        ("TimeFirst", Value::DateTime(Ticks::FIRST_PROPERTY)),
        ("TimeLast", Value::DateTime(Ticks::MAX)),
    ];
    let mut written: Properties = values.iter().cloned().collect();
    written.push("NotANumber", ValueRef::Double(f64::NAN));
    on_services(async |service, table| {
        let whole = group(table, vec![("alone", Action::Insert(written.clone()))]);
        service.execute_group(&whole).await?;
        let actions = ["in", "a", "transaction"].map(|row_key| (row_key, Action::Upsert(written.clone())));
        service.execute_group(&group(table, actions.to_vec())).await?;
        let page = service.query(&everything(table), None).await?;
        assert_eq!(page.rows.len(), 4);
        let alone = service.get(table, "p", "alone", None).await?.context("the row")?;
        for row in page.rows.iter().chain([alone.as_ref()]) {
            for (name, value) in &values {
                let found = row.properties.get(name).map(ValueRef::to_value);
                assert_eq!(found.as_ref(), Some(value), "{name} of {}", row.row_key);
            }
            let nan = row.properties.get("NotANumber");
            assert!(matches!(nan, Some(ValueRef::Double(value)) if value.is_nan()), "{nan:?}");
            assert_eq!(row.properties.count(), values.len() + 1);
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn only_selected_properties_are_returned() -> Result<()> {
    on_services(async |service, table| {
        let mut all = number(1);
        all.push("Double", ValueRef::Double(5.0));
        all.push("Text", ValueRef::String("x"));
        let etag = one(service, table, "r", Action::Insert(all)).await?.context("an ETag")?;
        let select: &[&'static str] = &["Double", "Missing"];
        let row = service.get(table, "p", "r", Some(select)).await?.context("the row")?;
        let scan = Scan { select: Some(select.into()), ..everything(table) };
        let page = service.query(&scan, None).await?;
        let scanned = page.rows.get(0).context("a row")?.to_row();
        for row in [row, scanned] {
            assert_eq!((row.partition_key.as_str(), row.row_key.as_str(), &row.etag), ("p", "r", &etag));
            assert_eq!(row.properties, Properties::from_iter([("Double", Value::Double(5.0))]));
            assert!(row.timestamp > Ticks::UNIX_EPOCH);
        }
        let nothing = service.get(table, "p", "r", Some(&[])).await?.context("the row")?;
        assert!(nothing.properties.is_empty());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn scans_return_pages_in_key_order() -> Result<()> {
    on_services(async |service, table| {
        // In UTF-16 order, U+1D11E comes before U+FF41.
        let mut names: Vec<_> = (0..25).map(|n| format!("r{n:02} '%+ä")).collect();
        names.extend(["z\u{1D11E}".to_owned(), "z\u{FF41}".to_owned()]);
        let operations = names.iter().rev().map(|name| (name.as_str(), Action::Insert(number(1)))).collect();
        service.execute_group(&group(table, operations)).await?;
        for page in [1, 4, 27, 1000] {
            assert_eq!(row_keys(service, &Scan { page, ..everything(table) }).await?, names, "pages of {page}");
        }
        let rows = KeyRange { from: Bound::Excluded(names[2].clone()), to: Bound::Excluded(names[6].clone()) };
        let some = Scan { partitions: Partitions::One("p".to_owned()), rows, page: 2, ..everything(table) };
        assert_eq!(row_keys(service, &some).await?, names[3..6]);
        let after = Scan { partitions: Partitions::after("p".to_owned()), ..everything(table) };
        assert_eq!(row_keys(service, &after).await?, [""; 0]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn filters_are_applied_by_the_service() -> Result<()> {
    on_services(async |service, table| {
        let mut text = number(1);
        text.push("Text", ValueRef::String("it's 100% a+b & c #1"));
        let operations = vec![("one", Action::Insert(text)), ("two", Action::Insert(number(2)))];
        service.execute_group(&group(table, operations)).await?;
        let compare =
            |property: &'static str, operator, value| Condition::Compare { property: property.into(), operator, value };
        for (condition, expected) in [
            (compare("Number", Operator::Gt, Value::Int32(1)), vec!["two"]),
            (compare("Text", Operator::Eq, Value::String("it's 100% a+b & c #1".to_owned())), vec!["one"]),
            (compare("Text", Operator::Eq, Value::String("it's 100% a b & c #1".to_owned())), vec![]),
        ] {
            let scan = Scan { filter: Some(condition.clone()), ..everything(table) };
            assert_eq!(row_keys(service, &scan).await?, expected, "{condition}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tables_are_created_listed_and_deleted() -> Result<()> {
    for (_, service) in azurite::services()? {
        let base = table_name();
        let names: Vec<_> = ["201006", "201007", "z"].iter().map(|end| format!("{base}{end}")).collect();
        for name in names.iter().rev() {
            assert!(service.create_table(name).await?);
            assert!(!service.create_table(name).await?, "it was there before");
        }
        assert_eq!(service.list_tables(&base).await?, names);
        assert_eq!(service.list_tables(&format!("{base}2010")).await?, names[..2]);
        let all = service.list_tables("").await?;
        assert!(names.iter().all(|name| all.contains(name)));
        assert!(all.is_sorted());
        for name in &names {
            assert!(service.delete_table(name).await?);
        }
        assert_eq!(service.list_tables(&base).await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_missing_table_and_a_missing_row_give_different_errors() -> Result<()> {
    on_services(async |service, table| {
        assert_eq!(service.get(table, "p", "r", None).await?, None);
        let none = table_name();
        let missing = |error: Error| assert!(matches!(&error, Error::TableNotFound(t) if *t == none), "{error:?}");
        missing(service.get(&none, "p", "r", None).await.unwrap_err());
        missing(service.query(&everything(&none), None).await.unwrap_err());
        for action in [Action::Insert(number(1)), Action::Upsert(number(1)), Action::Merge(number(1), IfMatch::Any)] {
            missing(one(service, &none, "r", action.clone()).await.unwrap_err());
            let both = vec![("other", Action::Insert(number(1))), ("r", action)];
            missing(service.execute_group(&group(&none, both)).await.unwrap_err());
        }
        assert!(!service.delete_table(&none).await?, "there was nothing to drop");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_error_of_a_wrong_account_key_does_not_show_it() -> Result<()> {
    let Some(azurite) = azurite::shared()? else { return Ok(()) };
    let wrong = azurite.replacen("AccountKey=Eby8", "AccountKey=AAAA", 1);
    let error = AzureBackend::connect(&wrong)?.list_tables("").await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.status == 403), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6"));
    Ok(())
}

#[tokio::test]
async fn the_endpoint_may_end_with_a_slash() -> Result<()> {
    let Some(azurite) = azurite::shared()? else { return Ok(()) };
    let slash = azurite.replace("/devstoreaccount1;", "/devstoreaccount1/;");
    assert_ne!(slash, azurite);
    let service = AzureBackend::connect(&slash)?;
    let table = table_name();
    assert!(service.create_table(&table).await?);
    assert!(one(&service, &table, "r", Action::Insert(number(1))).await?.is_some());
    assert_eq!(read(&service, &table, "r").await?, Some(1));
    assert!(service.delete_table(&table).await?);
    Ok(())
}

/// Writes a row in a transaction and checks that only this row was written, or none. Returns whether the row was
/// refused.
async fn write_in_transaction(
    service: &AzureBackend,
    table: &str,
    (partition_key, row_key): (&str, &str),
    action: &Action,
) -> Result<bool> {
    let execute = async |operations: &[(&str, Action)]| {
        let operations = operations.iter().cloned();
        let operations =
            operations.map(|(row_key, action)| Operation { row_key: row_key.to_owned(), action }).collect();
        let (table, partition_key) = (table.to_owned().into(), partition_key.to_owned());
        service.execute_group(&Group { table, partition_key, operations }).await
    };
    let zero = || Action::Upsert(number(0));
    // A single write is not sent as a `$batch`.
    execute(&[(row_key, zero())]).await?;
    let result = execute(&[("other", Action::Insert(number(0))), (row_key, action.clone())]).await;
    let found = service.get(table, partition_key, row_key, None).await?;
    let found = found.and_then(|row| row.properties.get("Number").map(ValueRef::to_value));
    let (refused, expected) = match result {
        Ok(_) => (false, action.properties().and_then(|it| it.get("Number")).map(ValueRef::to_value)),
        Err(Error::Limit(limit)) => {
            let row = limit.row.as_ref().map(|row| (&*row.table, &*row.partition_key, &*row.row_key));
            ensure!(row == Some((table, partition_key, row_key)), "the error names another row: {limit}");
            ensure!(limit.to_string().contains("Azurite"), "{limit}");
            (true, Some(Value::Int32(0)))
        }
        Err(error) => return Err(error.into()),
    };
    let rows = row_keys(service, &everything(table)).await?;
    let count = usize::from(!refused) + usize::from(expected.is_some());
    ensure!(found == expected && rows.len() == count, "found {found:?} among the rows {rows:?}");
    for row in rows {
        execute(&[(&row, Action::Delete(IfMatch::Any))]).await?;
    }
    // An insert sends its keys in the body.
    execute(&[("other", Action::Insert(number(0))), (row_key, Action::Insert(number(0)))]).await?;
    ensure!(service.get(table, partition_key, row_key, None).await?.is_some(), "the inserted row");
    for row in [row_key, "other"] {
        execute(&[(row, Action::Delete(IfMatch::Any))]).await?;
    }
    Ok(refused)
}

/// Azurite's `$batch` parser reads other keys from some addresses, writes that row and answers with success.
#[tokio::test]
async fn a_transaction_writes_its_own_row_or_is_refused() -> Result<()> {
    let misread = [
        ("p", "Rock 'n', roll"),
        ("p", ",a"),
        ("p", "a',b"),
        ("p", "a'',b"),
        ("p", ","),
        ("p,RowKey='q", "a"),
        ("prOWkEY='", "a"),
        ("RowKey=''", "a"),
    ];
    // A delete alone has no body with the keys, which the parser would use instead.
    let misread_in_deletes = [("p", "a\u{2028}b"), ("p", "a\u{2029}b"), ("p\u{2028}q", "a")];
    let read = [
        ("p", "a,b"),
        ("p", "a'b"),
        ("p", "a'"),
        ("p", "'"),
        ("p", "a,"),
        ("p", "a')"),
        ("p", "RowKey='a"),
        ("p", "PartitionKey='a"),
        ("p", "a%27,b"),
        ("p", ""),
        ("p',", "a"),
        (",p", "a"),
        ("p','q',", "a"),
        ("PartitionKey='p", "a"),
        ("RowKey=p", "a"),
        ("p)", "a)"),
        ("'", "'"),
    ];
    on_services(async |service, _| {
        let is_azurite = format!("{service:?}").contains("devstoreaccount1");
        let mut wrong = Vec::new();
        let cases = misread.map(|keys| (keys, [is_azurite; 4])).into_iter();
        let cases = cases.chain(misread_in_deletes.map(|keys| (keys, [false, false, false, is_azurite])));
        for (keys, refusals) in cases.chain(read.map(|keys| (keys, [false; 4]))) {
            let actions = [
                Action::Upsert(number(1)),
                Action::Replace(number(2), IfMatch::Any),
                Action::Merge(number(3), IfMatch::Any),
                Action::Delete(IfMatch::Any),
            ];
            for (action, refusal) in actions.into_iter().zip(refusals) {
                let table = table_name();
                service.create_table(&table).await?;
                match write_in_transaction(service, &table, keys, &action).await {
                    Ok(refused) if refused == refusal => {}
                    Ok(refused) => wrong.push(format!("{} of {keys:?}: refused: {refused}", action.name())),
                    Err(error) => wrong.push(format!("{} of {keys:?}: {error}", action.name())),
                }
                service.delete_table(&table).await?;
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await
}
