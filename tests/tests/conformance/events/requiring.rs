//! What the catalog records of events, and which programs it refuses.

use std::time::Duration;

use anyhow::Result;
use table_runtime::{Error, TableEntity};
use tests::stores::Store;

use super::fixtures::Reading;

crate::conformance! {
    programs_without_events_are_refused_once_they_are_required
    the_first_events_make_the_format_newer
    no_entity_of_the_table_may_have_the_keys_of_events
}

/// `Reading` in a program without events.
#[derive(TableEntity, Clone)]
#[table(name = "Readings", entity = "Reading")]
struct Plain {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: String,
    value: i32,
}

/// An entity whose table others share.
#[derive(TableEntity)]
#[table(name = "Shared", kind, events)]
struct Shared {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: u32,
}

/// An entity of the same table with raw keys.
#[derive(TableEntity)]
#[table(name = "Shared", kind)]
struct RawNote {
    #[partition_key]
    sensor: String,
    #[row_key(raw)]
    note: String,
}

/// An entity of the same table whose keys have a separator.
#[derive(TableEntity)]
#[table(name = "Shared", kind, separator = "_")]
struct Foreign {
    #[partition_key]
    sensor: String,
    #[row_key]
    first: String,
    #[row_key]
    second: String,
}

async fn programs_without_events_are_refused_once_they_are_required(store: &Store) -> Result<()> {
    let [old, new] = [0, 1].map(|_| store.again().with_lease(Duration::from_millis(50)));
    old.create::<Plain>().await?;
    new.create::<Reading>().await?;
    let plain = |number: u32| Plain { sensor: "a".into(), number: number.to_string(), value: 0 };
    old.insert(&plain(1)).await?;
    old.create::<Plain>().await?;
    new.require_events::<Reading>().await?;
    new.require_events::<Reading>().await?;
    let is_refused = |error: &Error| matches!(error, Error::LayoutChanged(changed) if changed.to_string().contains("#[table(events)]"));
    let error = old.insert(&plain(2)).await.expect_err("its write would record no event");
    assert!(is_refused(&error), "{error}");
    let error = store.again().create::<Plain>().await.expect_err("it is required");
    assert!(is_refused(&error), "{error}");
    new.insert(&Reading::new(3)).await?;
    store.again().create::<Reading>().await?;
    Ok(())
}

async fn the_first_events_make_the_format_newer(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let format = async || -> Result<String> {
        let rows = store.rows("TableLayouts").await?;
        let head = rows.iter().find(|row| row.row_key == "!").expect("the head");
        Ok(head.properties.get("Format").expect("the format").to_string())
    };
    tables.create::<Plain>().await?;
    assert_eq!(format().await?, "1");
    tables.create::<Reading>().await?;
    assert_eq!(format().await?, "2");
    tables.create::<crate::fixtures::Post>().await?;
    assert_eq!(format().await?, "2");
    Ok(())
}

async fn no_entity_of_the_table_may_have_the_keys_of_events(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Shared>().await?;
    for refused in [tables.create::<RawNote>().await, tables.create::<Foreign>().await] {
        let error = refused.expect_err("its keys may be those of events");
        assert!(matches!(&error, Error::RowsCollide(collide) if collide.other_layout == "events"), "{error}");
    }
    let other = store.again().with_prefix("other1");
    other.create::<RawNote>().await?;
    let error = other.create::<Shared>().await.expect_err("they are recorded");
    assert!(matches!(&error, Error::RowsCollide(collide) if collide.layout == "events"), "{error}");
    Ok(())
}
