//! Readers and jobs skip events.

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables, layout::EventContent};
use tests::stores::Store;

use super::fixtures::{Entry, Order, Reading, Stop, Tour, Visit, events};

crate::conformance! {
    queries_count_and_return_entities_alone
    a_page_ends_at_an_entity
    a_group_has_no_events
    slices_have_no_events
    the_inventory_takes_no_event_for_an_entity
    a_program_that_denies_unknown_properties_reads_on
}

async fn filled(tables: &Tables) -> Result<()> {
    tables.create::<Reading>().and::<Order>().await?;
    for number in 0..7 {
        tables.insert(&Reading::new(number)).await?;
        tables.patch(Reading::key("a", &number.to_string()), |reading| [reading.value.set(1)]).await?;
    }
    tables.insert_all((0..7).map(Order::new)).await?;
    Ok(())
}

async fn queries_count_and_return_entities_alone(store: &Store) -> Result<()> {
    let tables = &store.tables;
    filled(tables).await?;
    assert_eq!(events(store, "Readings").await?.len(), 14);
    let all = || Reading::by_key("a");
    assert_eq!(all().count(tables).await?, 7);
    assert_eq!(all().all(tables).await?.len(), 7);
    assert_eq!(all().take(20).all(tables).await?.len(), 7);
    assert_eq!(all().starts_with("").all(tables).await?.len(), 7);
    assert_eq!(all().stream(tables).try_collect::<Vec<_>>().await?.len(), 7);
    assert!(all().filter(|reading| reading.value.eq(0)).first(tables).await?.is_none());
    assert!(all().range("7"..).first(tables).await?.is_none(), "the events come after all entities");
    let mut seen = 0;
    all().for_each(tables, |_| seen += 1).await?;
    assert_eq!(seen, 7);
    assert_eq!(Order::by_key("shop").all(tables).await?.len(), 7);
    assert_eq!(Order::by_customer("shop").count(tables).await?, 7);
    Ok(())
}

async fn a_page_ends_at_an_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    filled(tables).await?;
    let (mut cursor, mut pages) = (None, Vec::new());
    loop {
        let page = Reading::by_key("a").page(tables, 3, cursor.as_deref()).await?;
        pages.push(page.entities.len());
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages.iter().sum::<usize>(), 7);
    assert_eq!(pages[..2], [3, 3]);
    Ok(())
}

async fn a_group_has_no_events(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Visit>().and::<Stop>().await?;
    tables.insert(&Visit { user: 1, id: 1, note: "a".into() }).await?;
    tables.insert_all((0..3).map(|step| Stop { user: 1, id: 1, step, note: "b".into() })).await?;
    assert_eq!(events(store, "Visits").await?.len(), 4);
    let tour = Tour::by_key(1).all(tables).await?;
    assert_eq!(tour.len(), 4);
    assert_eq!(Tour::by_key(1).count(tables).await?, 4);
    tables.delete_all(Tour::by_key(1)).await?;
    assert_eq!(events(store, "Visits").await?.len(), 8);
    assert_eq!(Tour::by_key(1).count(tables).await?, 0);
    Ok(())
}

async fn slices_have_no_events(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Entry>().await?;
    for seconds in 0..5 {
        let at = crate::lifecycle::at(seconds * 3_000_000);
        tables.insert(&Entry { service: "web".into(), at, text: "x".into() }).await?;
    }
    assert_eq!(Entry::by_key("web").all(tables).await?.len(), 5);
    assert_eq!(Entry::by_key("web").count(tables).await?, 5);
    Ok(())
}

async fn the_inventory_takes_no_event_for_an_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    filled(tables).await?;
    let inventory = tables.inventory().await?;
    let verified = inventory.verify(tables, None).await?;
    assert_eq!((verified.entities, &*verified.findings), (14, &[][..]));
    let order = inventory.entities.iter().find(|entity| entity.name == "Order").expect("it is recorded");
    assert_eq!((order.events, order.requires_events), (Some(EventContent::Copy), false));
    for row in store.rows("Orders").await? {
        let is_event = row.row_key.starts_with("~~");
        assert_eq!(inventory.is_event("Orders", &row.row_key), is_event);
        let is_entity = row.row_key.starts_with("number-");
        assert_eq!(inventory.is_entity("Orders", row.as_ref()), is_entity, "{row:?}");
    }
    let refused = inventory.sweep(tables, order).await;
    assert!(matches!(refused, Err(Error::Query(_))), "it would record no events: {refused:?}");
    Ok(())
}

/// `Reading` in a program without events.
#[derive(TableEntity)]
#[table(name = "Readings", entity = "Reading", deny_unknown)]
struct Strict {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: String,
    value: i32,
}

async fn a_program_that_denies_unknown_properties_reads_on(store: &Store) -> Result<()> {
    let tables = &store.tables;
    filled(tables).await?;
    let strict = Strict::by_key("a").all(tables).await?;
    assert_eq!(strict.iter().map(|strict| strict.value).sum::<i32>(), 7);
    assert_eq!((&*strict[0].sensor, &*strict[0].number), ("a", "0"));
    Ok(())
}
