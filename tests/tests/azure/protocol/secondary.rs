//! Reads from the secondary region, after the primary region failed.

use std::{net::TcpListener, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{AzureBackend, AzureBuilder, Backend, BackendExt, StoreView},
};
use tests::scripted::{Answer, Request, Scripted, Step};

use super::{ETAG, KEY, ROW, builder, busy, error, scan, writes, written};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words")]
struct Word {
    #[partition_key]
    language: String,
    #[row_key]
    text: String,
    #[index(kind, same_partition)]
    kind: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Numbers")]
struct Number {
    #[partition_key]
    set: String,
    #[row_key]
    name: String,
    square: i64,
}

/// Returns a row of the primary or the secondary region, whose versions differ.
fn number(square: i64) -> String {
    let etag = ETAG.replace('"', "\\\"");
    let keys = r#""PartitionKey":"a","RowKey":"three","Timestamp":"2024-03-01T10:11:12Z""#;
    format!(r#"{{"odata.etag":"{etag}",{keys},"Square@odata.type":"Edm.Int64","Square":"{square}"}}"#)
}

/// The two regions of an account.
struct Regions {
    primary: Scripted,
    secondary: Scripted,
}

impl Regions {
    async fn start() -> Result<Self> {
        Ok(Self { primary: Scripted::start().await?, secondary: Scripted::start().await? })
    }

    fn builder(&self) -> AzureBuilder {
        let builder = builder(&self.primary).secondary_endpoint(self.secondary.endpoint());
        builder.timeout(Duration::from_secs(30)).max_attempts(1)
    }

    fn reader(&self) -> Result<Arc<dyn Backend>> {
        self.builder().build()?.view(StoreView::SecondaryReads)?.context("the address of the secondary region")
    }

    fn tables(&self) -> Result<Tables> {
        Ok(Tables::new(self.builder().build()?).with_secondary_reads())
    }

    /// Returns the numbers of requests that the primary and the secondary region got.
    fn requests(&self) -> (usize, usize) {
        (self.primary.requests().len(), self.secondary.requests().len())
    }
}

fn row() -> Answer {
    Answer::new(200).json(ROW)
}

fn last(server: &Scripted) -> Result<Request> {
    server.requests().pop().context("a request")
}

#[tokio::test]
async fn reads_are_answered_by_the_secondary_region_after_the_primary_failed() -> Result<()> {
    let mut outages: Vec<Step> =
        vec![Step::ReadAndClose, Step::Close, row().after(Duration::from_secs(2)).into(), busy().into()];
    outages.extend([500, 502, 503, 504].map(|status| Step::from(Answer::new(status))));
    for outage in outages {
        let regions = Regions::start().await?;
        let builder = regions.builder();
        // Only a late answer needs a limit that is soon over.
        let builder = if outage.is_late() { builder.timeout(Duration::from_millis(500)) } else { builder };
        let reader =
            builder.build()?.view(StoreView::SecondaryReads)?.context("the address of the secondary region")?;
        regions.primary.then(outage.clone()).then(outage.clone()).then(outage.clone());
        regions.secondary.then(row()).then(Answer::new(200).json(format!(r#"{{"value":[{ROW}]}}"#)));
        regions.secondary.then(Answer::new(200).json(r#"{"value":[{"TableName":"Posts"}]}"#));
        assert!(reader.get("Posts", "p", "r", None).await?.is_some(), "{outage:?}");
        assert_eq!(reader.query(&scan(), None).await?.rows.len(), 1, "{outage:?}");
        assert_eq!(reader.list_tables("").await?, ["Posts"], "{outage:?}");
        assert_eq!((regions.primary.left(), regions.secondary.left()), (0, 0));
        // The requests of both regions are the same.
        let targets = |server: &Scripted| server.requests().into_iter().map(|it| it.target).collect::<Vec<_>>();
        if matches!(outage, Step::Answer(_) | Step::ReadAndClose) {
            assert_eq!(targets(&regions.primary), targets(&regions.secondary));
        }
    }
    Ok(())
}

#[tokio::test]
async fn without_a_connection_the_secondary_region_is_read() -> Result<()> {
    let secondary = Scripted::start().await?;
    let unused = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let builder = AzureBackend::builder("acc").access_key(KEY).endpoint(format!("http://{unused}/acc"));
    let reader =
        builder.secondary_endpoint(secondary.endpoint()).max_attempts(1).build()?.view(StoreView::SecondaryReads)?;
    secondary.then(row());
    assert!(reader.context("an address")?.get("Posts", "p", "r", None).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn answers_of_the_kind_4xx_come_from_the_primary_region() -> Result<()> {
    let regions = Regions::start().await?;
    let reader = regions.reader()?;
    for status in [400, 401, 403, 404, 408, 409, 412, 429] {
        regions.primary.then(Answer::new(status));
        let error = reader.get("Posts", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(answer) if answer.status == status), "{error:?}");
    }
    regions.primary.then(error(404, "ResourceNotFound")).then(error(404, "TableNotFound"));
    assert!(reader.get("Posts", "p", "r", None).await?.is_none());
    assert!(matches!(reader.query(&scan(), None).await, Err(Error::TableNotFound(_))));
    assert_eq!(regions.requests(), (10, 0));
    Ok(())
}

#[tokio::test]
async fn writes_and_other_handles_never_use_the_secondary_region() -> Result<()> {
    let regions = Regions::start().await?;
    let (service, reader) = (regions.builder().build()?, regions.reader()?);
    for write in writes() {
        regions.primary.then(busy());
        reader.execute_group(&write).await.unwrap_err();
    }
    regions.primary.then(busy()).then(busy()).then(busy()).then(busy());
    reader.create_table("Posts").await.unwrap_err();
    reader.delete_table("Posts").await.unwrap_err();
    service.get("Posts", "p", "r", None).await.unwrap_err();
    service.query(&scan(), None).await.unwrap_err();
    assert_eq!(regions.secondary.connections(), 0);
    Ok(())
}

#[tokio::test]
async fn the_primary_region_is_tried_again_with_retries_only_if_it_did_not_fail_shortly_before() -> Result<()> {
    let regions = Regions::start().await?;
    let reader = regions.builder().max_attempts(3).build()?.view(StoreView::SecondaryReads)?.context("an address")?;
    let read = async || reader.get("Posts", "p", "r", None).await;
    regions.primary.then(busy()).then(busy()).then(busy()).then(busy());
    regions.secondary.then(row()).then(row());
    read().await?;
    assert_eq!(regions.requests(), (3, 1));
    read().await?;
    assert_eq!(regions.requests(), (4, 2), "one attempt");
    regions.primary.then(row()).then(busy()).then(row());
    read().await?;
    read().await?;
    assert_eq!(regions.requests(), (7, 2), "the primary region is well again");
    Ok(())
}

#[tokio::test]
async fn if_both_regions_fail_the_error_is_that_of_the_primary_region() -> Result<()> {
    let regions = Regions::start().await?;
    let reader = regions.reader()?;
    for other in [Answer::new(403), busy(), Answer::new(400)] {
        regions.primary.then(error(500, "InternalError"));
        regions.secondary.then(other);
        let error = reader.get("Posts", "p", "r", None).await.unwrap_err();
        assert!(matches!(&error, Error::Service(answer) if answer.code == "InternalError"), "{error:?}");
    }
    assert_eq!(regions.requests(), (3, 3));
    Ok(())
}

#[tokio::test]
async fn the_pages_of_a_scan_come_from_one_region() -> Result<()> {
    let page = |more: &str| {
        let answer = Answer::new(200).json(format!(r#"{{"value":[{ROW}]}}"#));
        let next = answer.clone().header("x-ms-continuation-NextPartitionKey", more);
        if more.is_empty() { answer } else { next.header("x-ms-continuation-NextRowKey", "r") }
    };
    let regions = Regions::start().await?;
    let reader = regions.reader()?;
    regions.primary.then(busy());
    regions.secondary.then(page("1!8!Zmlyc3Q-")).then(page("1!8!c2Vjb25k")).then(page(""));
    let first = reader.query(&scan(), None).await?.next.context("more")?;
    let second = reader.query(&scan(), Some(&first)).await?.next.context("more")?;
    assert_ne!(first, second);
    assert!(reader.query(&scan(), Some(&second)).await?.next.is_none());
    assert_eq!(regions.requests(), (1, 3));
    let target = last(&regions.secondary)?.target;
    assert!(target.ends_with("&NextPartitionKey=1%218%21c2Vjb25k&NextRowKey=r"), "{target}");

    regions.primary.then(page("1!8!Zmlyc3Q-")).then(busy());
    let first = reader.query(&scan(), None).await?.next.context("more")?;
    let error = reader.query(&scan(), Some(&first)).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.status == 503), "{error:?}");
    assert_eq!(regions.requests(), (3, 3));
    Ok(())
}

#[tokio::test]
async fn an_old_entity_of_the_secondary_region_cannot_overwrite_a_newer_one() -> Result<()> {
    let regions = Regions::start().await?;
    let tables = regions.tables()?;
    let read = async || -> Result<Stored<Number>> {
        regions.primary.then(busy());
        regions.secondary.then(Answer::new(200).json(number(8)));
        Number::key("a", "three").get(&tables).await?.context("the row")
    };
    let mut old = read().await?;
    assert_eq!((old.square, Stored::etag(&old).to_string().as_str()), (8, ETAG));

    // The primary region has a newer version.
    regions.primary.then(error(412, "UpdateConditionNotSatisfied"));
    old.square = 9;
    assert!(matches!(tables.update(&mut old).await, Err(Error::ConditionNotMet(_))));
    assert_eq!(last(&regions.primary)?.header("If-Match"), Some(ETAG));
    regions.primary.then(error(412, "UpdateConditionNotSatisfied"));
    assert!(matches!(tables.delete(&old).await, Err(Error::ConditionNotMet(_))));
    assert_eq!(last(&regions.primary)?.header("If-Match"), Some(ETAG));

    // If it is the same version there, the write succeeds.
    let mut same = read().await?;
    regions.primary.then(written());
    same.square = 9;
    tables.update(&mut same).await?;
    assert_eq!((last(&regions.primary)?.method, regions.secondary.requests().len()), ("PUT".to_owned(), 2));
    Ok(())
}

#[tokio::test]
async fn a_read_that_a_write_relies_on_uses_the_primary_region_alone() -> Result<()> {
    let regions = Regions::start().await?;
    let tables = regions.tables()?;
    for _ in 0..4 {
        regions.primary.then(busy());
    }
    tables.modify(Number::key("a", "three"), |number| number.square = 9).await.unwrap_err();
    // `merge` reads the row first, and `upsert` does so for an entity with an index.
    tables.merge(&Number { set: "a".into(), name: "three".into(), square: 9 }).await.unwrap_err();
    tables.upsert(&Word { language: "de".into(), text: "Haus".into(), kind: "noun".into() }).await.unwrap_err();
    Number::by_key("a").delete_all(&tables).await.unwrap_err();
    let methods: Vec<_> = regions.primary.requests().into_iter().map(|request| request.method).collect();
    assert_eq!((methods, regions.secondary.connections()), (vec!["GET".to_owned(); 4], 0));
    Ok(())
}

#[tokio::test]
async fn the_state_of_an_index_is_read_in_the_primary_region_alone() -> Result<()> {
    let regions = Regions::start().await?;
    let tables = regions.tables()?;
    regions.primary.then(busy());
    let error = Word::by_kind("de").eq("noun").all(&tables).await.unwrap_err();
    assert!(matches!(&error, Error::Service(answer) if answer.status == 503), "{error:?}");
    assert!(last(&regions.primary)?.target.contains("TableLayouts"));
    assert_eq!(regions.requests(), (1, 0));
    Ok(())
}

#[tokio::test]
async fn an_index_of_the_secondary_region_returns_no_entity_without_the_value() -> Result<()> {
    let row = |row_key: &str, rest: &str| {
        let etag = ETAG.replace('"', "\\\"");
        let keys = format!(r#""PartitionKey":"de","RowKey":"{row_key}","Timestamp":"2024-03-01T10:11:12Z""#);
        Answer::new(200).json(format!(r#"{{"odata.etag":"{etag}",{keys}{rest}}}"#))
    };
    let page = || {
        let row = r#"{"PartitionKey":"de","RowKey":"kind-noun Haus","Timestamp":"2024-03-01T10:11:12Z"}"#;
        Answer::new(200).json(format!(r#"{{"value":[{row}]}}"#))
    };
    let regions = Regions::start().await?;
    let tables = regions.tables()?;
    // The state of the index, for which the handle then holds a lease.
    let record = r#"{"PartitionKey":"layouts","RowKey":"words words Word kind","Timestamp":"2024-03-01T10:11:12Z","Layout":"{}","State":"Ready"}"#;
    regions.primary.then(Answer::new(200).json(record));
    for (entity, expected) in [
        (row("text-Haus", r#","Kind":"noun""#), 1),
        // The entity is newer than the row of the index, or older, or not there yet.
        (row("text-Haus", r#","Kind":"verb""#), 0),
        (error(404, "ResourceNotFound"), 0),
    ] {
        regions.primary.then(busy()).then(busy());
        regions.secondary.then(page()).then(entity);
        let found = Word::by_kind("de").eq("noun").all(&tables).await?;
        assert_eq!(found.iter().filter(|word| word.kind == "noun").count(), expected);
        assert_eq!(found.len(), expected);
    }
    assert_eq!(regions.requests(), (7, 6));
    Ok(())
}

#[tokio::test]
async fn what_was_just_made_is_missing_in_the_secondary_region() -> Result<()> {
    let regions = Regions::start().await?;
    let tables = regions.tables()?;
    regions.primary.then(busy()).then(busy());
    regions.secondary.then(error(404, "ResourceNotFound")).then(error(404, "TableNotFound"));
    assert_eq!(Number::key("a", "three").get(&tables).await?, None);
    let missing = Number::by_key("a").all(&tables).await;
    assert!(matches!(&missing, Err(Error::TableNotFound(table)) if table == "Numbers"), "{missing:?}");
    Ok(())
}

#[tokio::test]
async fn a_prefix_is_kept() -> Result<()> {
    let regions = Regions::start().await?;
    let tables = Tables::new(regions.builder().build()?);
    let handles = [tables.with_secondary_reads().with_prefix("t7"), tables.with_prefix("t7").with_secondary_reads()];
    for handle in handles {
        regions.primary.then(busy());
        regions.secondary.then(Answer::new(200).json(number(9)));
        assert!(Number::key("a", "three").exists(&handle).await?);
        assert!(last(&regions.secondary)?.target.starts_with("/acc/t7Numbers("));
    }
    Ok(())
}
