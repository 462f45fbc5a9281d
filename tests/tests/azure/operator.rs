//! Functions for operators: health, metrics, shared access signatures.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use metrics_util::{
    MetricKind,
    debugging::{DebugValue, DebuggingRecorder},
};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{AccessToken, AzureBackend, AzureBuilder, BackendExt, Sas, SasPermissions},
};
use tests::{
    azurite,
    scripted::{Answer, Scripted, Step},
};

use crate::protocol::{KEY, ROW, builder, busy, error, insert, scan, written};

const HEAD: &str = r#"{"PartitionKey":"layouts","RowKey":"!","Timestamp":"2024-03-01T10:11:12.1234567Z","Format":1,"Changes@odata.type":"Edm.Int64","Changes":"3"}"#;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    tenant: String,
    #[row_key]
    number: u32,
}

/// An entity whose writes are transactions, which Azurite refuses with a signature for a table.
#[derive(TableEntity)]
struct Titled {
    #[partition_key]
    tenant: String,
    #[row_key]
    number: u32,
    #[index(title, same_partition)]
    title: String,
}

/// Returns the time that the header `Date` has.
fn date(at: SystemTime) -> String {
    httpdate::fmt_http_date(at)
}

#[tokio::test]
async fn a_healthy_store_answers_with_its_catalog_and_its_clock() -> Result<()> {
    let server = Scripted::start().await?;
    let secondary = Scripted::start().await?;
    let backend = builder(&server).secondary_endpoint(secondary.endpoint()).build()?;
    let tables = Tables::new(backend);
    let ahead = SystemTime::now() + Duration::from_mins(10);
    let dated = |request| Answer::new(200).header("x-ms-request-id", request).header("Date", &date(ahead));
    server.then(dated("1").json(HEAD));
    let last_sync = date(ahead - Duration::from_secs(90));
    let statistics = format!(
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication><Status>live</Status>\
         <LastSyncTime>{last_sync}</LastSyncTime></GeoReplication></StorageServiceStats>"
    );
    secondary.then(dated("2").header("Content-Type", "application/xml").body(statistics));

    let health = tables.health().await;
    assert!(health.is_healthy() && health.reachable, "{health:?}");
    assert_eq!((health.authorized, health.catalog), (Some(true), Some(1)));
    let difference = health.clock_difference.context("a difference")?;
    assert!((598_000..=601_000).contains(&difference), "{difference} ms");
    let replication = health.secondary.context("a secondary region")??;
    assert_eq!(replication.status, "live");
    let lag = replication.lag.context("a lag")?;
    assert!((88..=92).contains(&lag.as_secs()), "{lag:?}");

    assert_eq!(server.requests()[0].target, "/acc/TableLayouts(PartitionKey='layouts',RowKey='%21')");
    let request = &secondary.requests()[0];
    assert_eq!(request.target, "/acc/?restype=service&comp=stats");
    assert!(request.header("Authorization").is_some_and(|value| value.starts_with("SharedKey acc:")));
    Ok(())
}

#[tokio::test]
async fn health_reports_what_is_wrong_with_a_store() -> Result<()> {
    let server = Scripted::start().await?;
    let backend = builder(&server).max_attempts(1).timeout(Duration::from_secs(30)).build()?;
    let tables = Tables::new(backend);
    let healthy = async |step: Step| {
        server.clear();
        // The default address of the secondary region of this account is on the same server.
        server.then(step).then(Answer::new(404));
        tables.health().await
    };

    // A store without a catalog, or of which nothing was created yet.
    for answer in [error(404, "TableNotFound"), error(404, "ResourceNotFound")] {
        let health = healthy(answer.into()).await;
        assert!(health.is_healthy() && health.reachable, "{health:?}");
        assert_eq!((health.authorized, health.catalog), (Some(true), None));
        assert!(matches!(health.secondary, Some(Err(Error::Service(_)))), "{health:?}");
    }
    for (status, code) in [(403, "AuthenticationFailed"), (401, "NoAuthenticationInformation")] {
        let health = healthy(error(status, code).into()).await;
        assert!(!health.is_healthy() && health.reachable, "{health:?}");
        assert_eq!(health.authorized, Some(false));
    }
    // The clock of a host that is wrong is the reason of a refusal.
    let ahead = date(SystemTime::now() + Duration::from_hours(1));
    let refused = error(403, "AuthenticationFailed").header("x-ms-request-id", "17").header("Date", &ahead);
    let health = healthy(refused.into()).await;
    assert!(health.clock_difference.is_some_and(|difference| difference > 3_590_000), "{health:?}");
    let health = healthy(busy().into()).await;
    assert!(!health.is_healthy() && health.reachable && health.authorized.is_none(), "{health:?}");
    let health = Tables::new(builder(&server).build()?).with_prefix("_x").health().await;
    assert!(!health.is_healthy() && !health.reachable && health.authorized.is_none(), "{health:?}");
    let health = healthy(Step::ReadAndClose).await;
    assert!(!health.is_healthy() && !health.reachable && health.authorized.is_none(), "{health:?}");
    let newer = HEAD.replace("\"Format\":1", "\"Format\":99");
    let health = healthy(Answer::new(200).json(newer).into()).await;
    assert!(matches!(health.problem, Some(Error::NewerCatalog { found: 99, .. })), "{health:?}");
    assert!(health.reachable && health.authorized == Some(true) && health.catalog.is_none(), "{health:?}");
    Ok(())
}

#[tokio::test]
async fn azurite_is_healthy() -> Result<()> {
    let Some(connection_string) = azurite::shared()? else { return Ok(()) };
    let tables = Tables::connect(&connection_string)?.with_prefix("health1");
    assert_eq!(tables.health().await.catalog, None);
    tables.create::<Post>().await?;
    let health = tables.health().await;
    assert!(health.is_healthy(), "{health:?}");
    assert_eq!((health.authorized, health.catalog, health.clock_difference), (Some(true), Some(1), Some(0)));
    let wrong_key = connection_string.replace("AccountKey=", "AccountKey=AAAA");
    let health = Tables::connect(&wrong_key)?.health().await;
    assert_eq!((health.reachable, health.authorized), (true, Some(false)), "{health:?}");
    Ok(())
}

/// Returns the sums of the counters, and the number of values of the histograms, by name and labels.
fn recorded(recorder: &DebuggingRecorder) -> Vec<(String, u64)> {
    let metrics = recorder.snapshotter().snapshot().into_vec();
    let mut all: Vec<_> = metrics
        .into_iter()
        .map(|(key, unit, description, value)| {
            assert!(unit.is_some() && description.is_some(), "{key:?} is not described");
            let labels: Vec<_> = key.key().labels().map(|label| label.value().to_owned()).collect();
            let count = match value {
                DebugValue::Counter(count) => count,
                DebugValue::Histogram(values) => values.len() as u64,
                DebugValue::Gauge(_) => 0,
            };
            assert_eq!(key.kind() == MetricKind::Histogram, key.key().name().ends_with("seconds"));
            (format!("{} {}", key.key().name(), labels.join(" ")), count)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn metrics_count_requests_retries_throttling_and_bytes() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let recorder = DebuggingRecorder::new();
    let sent = metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let server = Scripted::start().await?;
            let service = builder(&server).build()?;
            server.then(busy()).then(written()).then(Step::ReadAndClose).then(Answer::new(200).json(ROW));
            service.execute_group(&insert()).await?;
            service.get("Posts", "p", "r", None).await?;
            server.then(Answer::new(200).json(r#"{"value":[]}"#));
            service.query(&scan(), None).await?;
            anyhow::Ok(server.requests()[0].body.len())
        })
    })?;
    let expected = [
        ("azure_tables_received_bytes_total get".to_owned(), ROW.len() as u64),
        ("azure_tables_received_bytes_total insert".to_owned(), 0),
        ("azure_tables_received_bytes_total query".to_owned(), 12),
        ("azure_tables_request_duration_seconds get".to_owned(), 2),
        ("azure_tables_request_duration_seconds insert".to_owned(), 2),
        ("azure_tables_request_duration_seconds query".to_owned(), 1),
        ("azure_tables_requests_total get 200".to_owned(), 1),
        ("azure_tables_requests_total get none".to_owned(), 1),
        ("azure_tables_requests_total insert 204".to_owned(), 1),
        ("azure_tables_requests_total insert 503".to_owned(), 1),
        ("azure_tables_requests_total query 200".to_owned(), 1),
        ("azure_tables_retries_total get".to_owned(), 1),
        ("azure_tables_retries_total insert".to_owned(), 1),
        ("azure_tables_sent_bytes_total get".to_owned(), 0),
        ("azure_tables_sent_bytes_total insert".to_owned(), 2 * sent as u64),
        ("azure_tables_sent_bytes_total query".to_owned(), 0),
        ("azure_tables_throttled_total insert".to_owned(), 1),
    ];
    assert_eq!(recorded(&recorder), expected);
    Ok(())
}

/// Returns a handle that has a signature alone.
fn with_sas(connection_string: &str, sas: &Sas) -> Result<AzureBuilder> {
    let endpoint = connection_string.split(';').find_map(|setting| setting.strip_prefix("TableEndpoint="));
    Ok(AzureBackend::builder("").endpoint(endpoint.context("an endpoint")?).sas(sas.token()))
}

#[tokio::test]
async fn whoever_has_a_signature_can_use_its_partition() -> Result<()> {
    let Some(connection_string) = azurite::shared()? else { return Ok(()) };
    let owner = Tables::connect(&connection_string)?.with_prefix("signed1");
    owner.create::<Post>().and::<Titled>().await?;
    for tenant in ["it's ü+ %", "plain"] {
        let post = |number| Post { tenant: tenant.to_owned(), number };
        owner.insert(&post(1)).await?;
        owner.insert(&Titled { tenant: tenant.to_owned(), number: 1, title: "Sums".to_owned() }).await?;
        let lifetime = Duration::from_mins(5);

        let sas = Post::by_key(tenant).sas(&owner, SasPermissions::READ, lifetime)?;
        let reader = Tables::new(with_sas(&connection_string, &sas)?.build()?).with_prefix("signed1");
        assert_eq!(Post::by_key(tenant).all(&reader).await?.len(), 1);
        let refused = reader.insert(&post(2)).await;
        assert!(matches!(&refused, Err(Error::Service(error)) if error.status == 403), "{refused:?}");
        // The catalog, which a query of an index needs, is in another table.
        let sas = Titled::by_key(tenant).sas(&owner, SasPermissions::READ, lifetime)?;
        let titled = Tables::new(with_sas(&connection_string, &sas)?.build()?).with_prefix("signed1");
        assert_eq!(Titled::by_key(tenant).all(&titled).await?.len(), 1);
        let refused = Titled::by_title(tenant).eq("Sums").count(&titled).await;
        assert!(matches!(&refused, Err(Error::Service(error)) if error.status == 403), "{refused:?}");
        // A signature signs no other one, and neither does a token.
        let again = Post::by_key(tenant).sas(&reader, SasPermissions::READ, lifetime);
        assert!(matches!(&again, Err(Error::Configuration(text)) if text.contains("cannot sign")), "{again:?}");

        let sas = Post::by_key(tenant).sas(&owner, SasPermissions::ALL, lifetime)?;
        let writer = Tables::new(with_sas(&connection_string, &sas)?.build()?).with_prefix("signed1");
        writer.insert(&post(3)).await?;
        assert!(Post::key(tenant, 3).exists(&owner).await?);

        let left = sas.expires().to_system().context("a time")?.duration_since(SystemTime::now())?;
        ensure!((270..=301).contains(&left.as_secs()), "{left:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_signs_nothing() -> Result<()> {
    let source = async || Ok(AccessToken::new("abc", SystemTime::now() + Duration::from_hours(1)));
    let tables = Tables::new(AzureBackend::builder("acc").token_source(source).build()?);
    let signed = Post::by_key("a").sas(&tables, SasPermissions::READ, Duration::from_mins(1));
    assert!(matches!(&signed, Err(Error::Configuration(text)) if text.contains("Entra ID")), "{signed:?}");
    let tables = Tables::new(AzureBackend::builder("acc").access_key(KEY).build()?);
    for lifetime in [Duration::ZERO, Duration::MAX] {
        let signed = Post::by_key("a").sas(&tables, SasPermissions::READ, lifetime);
        assert!(matches!(&signed, Err(Error::Configuration(_))), "{signed:?}");
    }
    let sas = Post::by_key("a").sas(&tables, SasPermissions::READ, Duration::from_mins(1))?;
    assert!(sas.token().contains("spr=https&"), "{}", sas.token());
    assert!(!sas.token().contains("http%2C") && !sas.token().contains("%2Chttp&"), "{}", sas.token());
    Ok(())
}

#[test]
fn only_a_whole_partition_or_table_can_be_signed() -> Result<()> {
    #[derive(TableEntity)]
    #[table(allow_scan)]
    struct Page {
        #[partition_key]
        site: String,
        #[row_key]
        path: String,
        #[index(title, same_partition)]
        title: String,
        likes: u32,
    }

    #[derive(TableEntity)]
    struct Visit {
        #[partition_key(hash = 16)]
        #[row_key]
        id: u32,
    }

    #[derive(TableEntity)]
    #[table(slice = month(at))]
    struct Line {
        #[partition_key]
        shop: String,
        #[row_key(time)]
        at: SystemTime,
    }

    let tables = Tables::new(AzureBackend::builder("acc").access_key(KEY).build()?);
    let (read, minute) = (SasPermissions::READ, Duration::from_mins(1));
    for (signed, expected) in [
        (Page::by_title("a").sas(&tables, read, minute), "a query of an index"),
        (Page::by_key("a").starts_with("b").sas(&tables, read, minute), "whole partitions"),
        (Page::by_key("a").range("b".."c").sas(&tables, read, minute), "whole partitions"),
        (Page::by_key("a").take(1).sas(&tables, read, minute), "without a filter"),
        (Page::by_key("a").filter(|page| page.likes.ge(1)).sas(&tables, read, minute), "without a filter"),
        (Page::by_partitions("a".."b").sas(&tables, read, minute), "several partitions"),
        (Visit::by_key().sas(&tables, read, minute), "several partitions"),
        (Line::by_key("a").sas(&tables, read, minute), "a table of its own"),
    ] {
        assert!(matches!(&signed, Err(Error::Query(error)) if error.problem.contains(expected)), "{signed:?}");
    }
    let partition = Page::by_key("a").sas(&tables, read, minute)?;
    assert!(partition.token().contains("&spk=a&epk=a&"), "{}", partition.token());
    let table = Page::scan().sas(&tables, read, minute)?;
    assert!(table.token().contains("tn=Page&") && !table.token().contains("pk="), "{}", table.token());

    let embedded = Page::by_key("a").sas(&Tables::in_memory()?, read, minute);
    assert!(matches!(&embedded, Err(Error::Configuration(text)) if text.contains("this store")), "{embedded:?}");
    Ok(())
}
