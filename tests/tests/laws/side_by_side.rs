//! Jobs that read several pages at the same time: how much faster they are on a store that is far away, and that they find
//! the same.

use std::{
    collections::BTreeSet,
    future::IntoFuture,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use futures_util::{FutureExt, TryStreamExt};
use proptest::prelude::*;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, IfMatch, Reach},
    jobs::Finding,
    row::{Properties, ValueRef},
};
use tests::{depth::Depth, far::Far, stores::Store};
use tokio::time::Instant;

/// Entity with partitions of ten.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Parcels", expires = until)]
pub(crate) struct Parcel {
    #[partition_key]
    customer: u32,
    #[row_key]
    number: u32,
    #[index(name)]
    name: String,
    until: SystemTime,
}

/// The entity before it had the index.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Parcels", entity = "Parcel", expires = until)]
struct PlainParcel {
    #[partition_key]
    customer: u32,
    #[row_key]
    number: u32,
    name: String,
    until: SystemTime,
}

/// Returns a store with so many entities, which have no row in the index, and the same store far away.
pub(crate) async fn parcels(count: u32, in_partition: u32) -> Result<(Store, Far)> {
    let store = Store::plain(Reach::Partition);
    store.tables.create::<PlainParcel>().await?;
    let until = SystemTime::now() - Duration::from_hours(1);
    let plain =
        |number| PlainParcel { customer: number / in_partition, number, name: format!("name {number:06}"), until };
    store.tables.insert_all((0..count).map(plain)).await?;
    store.tables.create::<Parcel>().await?;
    let far = Far::new(store.backend.clone());
    Ok((store, far))
}

/// Runs a job, and returns the time that it takes.
async fn timed<T>(job: impl IntoFuture<Output = table_runtime::Result<T>>) -> Result<(T, f64)> {
    let begun = Instant::now();
    Ok((job.await?, begun.elapsed().as_secs_f64()))
}

#[tokio::test(start_paused = true)]
async fn sixteen_pages_at_a_time_are_faster() -> Result<()> {
    let (count, at_least) = Depth::choose((20_000, 2.0), (60_000, 4.0), (300_000, 10.0));
    let all = count as usize;
    let mut times = Vec::new();
    for pages in [1, 16] {
        let (store, far) = parcels(count, 10).await?;
        let tables = Tables::new(far.clone());
        let (filled, of_backfill) = timed(tables.backfill::<Parcel>("name").side_by_side(pages)).await?;
        ensure!(filled.ready && filled.written == all, "{filled:?}");
        far.requests();
        let (verified, of_verification) = timed(tables.verify::<Parcel>().side_by_side(pages)).await?;
        ensure!(verified.findings.is_empty() && (verified.entities, verified.index_rows) == (all, all), "{verified:?}");
        let requests = far.requests();
        let (swept, of_sweep) = timed(tables.sweep::<Parcel>().side_by_side(pages)).await?;
        ensure!((swept.found, swept.removed) == (all, all), "{swept:?}");
        ensure!(
            store.rows("Parcels").await?.is_empty() && store.rows("ParcelsByName").await?.is_empty(),
            "rows are left"
        );
        times.push((of_verification, of_backfill, of_sweep, requests));
    }
    let [one, sixteen] = [times[0], times[1]];
    // A page of each table for each thousand rows.
    ensure!(one.3 == 2 * all.div_ceil(1000), "{} requests", one.3);
    ensure!(sixteen.3 < 10 * one.3, "{} requests instead of {}", sixteen.3, one.3);
    ensure!(one.0 > at_least * sixteen.0, "verify: {} s, {} s", one.0, sixteen.0);
    for (name, one, sixteen) in [("backfill", one.1, sixteen.1), ("sweep", one.2, sixteen.2)] {
        ensure!(one > at_least.min(4.0) * sixteen, "{name}: {one} s, {sixteen} s");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn partitions_of_every_size_are_divided() -> Result<()> {
    let count = 20_000;
    for in_partition in [1, 1_000, 5_000, count] {
        let (store, far) = parcels(count, in_partition).await?;
        store.tables.backfill::<Parcel>("name").await?;
        let tables = Tables::new(far);
        let (_, one) = timed(tables.verify::<Parcel>().side_by_side(1)).await?;
        let (verified, sixteen) = timed(tables.verify::<Parcel>().side_by_side(16)).await?;
        assert_eq!((verified.entities, verified.findings), (count as usize, vec![]));
        ensure!(one > 1.8 * sixteen, "partitions of {in_partition}: {one} s, {sixteen} s");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_rows_that_are_left_are_estimated() -> Result<()> {
    let count = 20_000;
    let all = 2 * count as usize;
    for in_partition in [10, count] {
        let (store, far) = parcels(count, in_partition).await?;
        store.tables.backfill::<Parcel>("name").await?;
        let tables = Tables::new(far);
        let (mut estimates, mut of_index) = (Vec::new(), Vec::new());
        let verify = tables.verify::<Parcel>().side_by_side(16).progress(|progress| {
            let left = all - progress.entities - progress.index_rows;
            let list = if progress.index_rows == 0 { &mut estimates } else { &mut of_index };
            list.push((left, progress.rows_left));
        });
        drop(verify.await?);
        let difference = |(left, estimate): &(usize, Option<usize>)| estimate.map(|estimate| estimate.abs_diff(*left));
        let differences: Vec<_> = estimates.iter().skip(estimates.len() / 2).filter_map(difference).collect();
        ensure!(3 * differences.len() > estimates.len(), "{estimates:?}");
        ensure!(differences.iter().all(|difference| *difference < all / 2), "in {in_partition}: {estimates:?}");
        // The entities have shown how many there are.
        ensure!(of_index.iter().all(|report| difference(report) == Some(0)), "in {in_partition}: {of_index:?}");
        // Index rows of entities in other partitions do not count.
        let mut of_part = Vec::new();
        let part = tables.verify::<Parcel>().side_by_side(16).partitions("0000001000"..).progress(|progress| {
            of_part.extend((progress.index_rows > 0).then_some(progress.rows_left).flatten());
        });
        let own = part.await?.entities;
        ensure!(of_part.first().is_none_or(|left| *left + 1000 >= own), "{own} rows: {of_part:?}");
        ensure!(of_part.last().is_none_or(|left| *left == 0), "{own} rows: {of_part:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_table_of_one_page_is_read_by_one_request() -> Result<()> {
    let (_store, far) = parcels(1000, 10).await?;
    let tables = Tables::new(far.clone());
    tables.backfill::<Parcel>("name").await?;
    far.requests();
    assert_eq!(tables.verify::<Parcel>().side_by_side(16).await?.entities, 1000);
    assert_eq!(far.requests(), 2);
    Ok(())
}

/// Entity whose keys are any texts.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Things")]
pub(crate) struct Thing {
    #[partition_key]
    group: String,
    #[row_key]
    id: String,
    #[index(name)]
    name: String,
    #[index(color, same_partition, list)]
    color: String,
}

/// What another program did to the rows of an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Damage {
    None,
    /// It deleted the row of the name.
    Missing,
    /// It gave the entity another name.
    Stale,
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9]{8}", "0000[0-9]{2}", "[0-9a-f]{12}", "[a-c]{0,3}", "same", "[a-z~\u{e9}\u{FFFF}\u{10000}]{1,4}",]
}

pub(crate) fn thing() -> impl Strategy<Value = (Thing, Damage)> {
    let damage = prop_oneof![8 => Just(Damage::None), 1 => Just(Damage::Missing), 1 => Just(Damage::Stale)];
    let color = prop::sample::select(vec!["red".to_owned(), "blue".to_owned()]);
    (key(), key(), key(), color, damage)
        .prop_map(|(group, id, name, color, damage)| (Thing { group, id, name, color }, damage))
}

/// Verifies with so many pages at a time, and with a stop at some page, from which the verification goes on with another number.
async fn findings(far: &Far, (pages, then): (usize, usize), memory: usize, stop: usize) -> Result<BTreeSet<String>> {
    let tables = Tables::new(far.clone());
    let (mut found, mut cursor) = (BTreeSet::new(), None);
    let mut verify = tables.verify::<Thing>().side_by_side(pages).memory(memory);
    let mut since = Vec::new();
    let text = |finding: Finding| finding.to_string();
    while let Some(finding) = verify.try_next().await? {
        if verify.cursor() != cursor.as_deref() {
            cursor = verify.cursor().map(str::to_owned);
            found.extend(since.drain(..));
        }
        since.push(text(finding));
        if found.len() >= stop {
            break;
        }
    }
    drop(verify);
    let mut rest = tables.verify::<Thing>().side_by_side(then).memory(memory);
    if let Some(cursor) = &cursor {
        rest = rest.resume_from(cursor)?;
    }
    found.extend(rest.all().await?.into_iter().map(text));
    Ok(found)
}

/// Returns a store with these entities and damages.
pub(crate) async fn damaged(things: &[(Thing, Damage)]) -> Result<Store> {
    let store = Store::plain(Reach::Partition);
    let tables = &store.tables;
    tables.create::<Thing>().await?;
    for (thing, damage) in things {
        match tables.insert(thing).await {
            Err(Error::AlreadyExists(_)) => continue,
            inserted => drop(inserted?),
        }
        match damage {
            Damage::None => {}
            Damage::Missing => {
                let rows = store.rows("ThingsByName").await?;
                let row = rows.last().expect("the insert wrote one");
                store.write("ThingsByName", (&row.partition_key, &row.row_key), Action::Delete(IfMatch::Any)).await?;
            }
            Damage::Stale => {
                let rows = store.rows("Things").await?;
                let row = rows.iter().find(|row| row.properties.get("Name").is_some()).expect("an entity");
                let mut name = Properties::default();
                name.push("Name", ValueRef::String("another"));
                store.write("Things", (&row.partition_key, &row.row_key), Action::Merge(name, IfMatch::Any)).await?;
            }
        }
    }
    Ok(store)
}

async fn check_findings(things: Vec<(Thing, Damage)>, pages: (usize, usize), page: u32, memory: usize) -> Result<()> {
    let store = damaged(&things).await?;
    let tables = &store.tables;
    let far = Far::new(store.backend.clone()).with_pages(page);
    let all: BTreeSet<_> =
        tables.verify::<Thing>().side_by_side(1).await?.findings.iter().map(ToString::to_string).collect();
    for stop in [usize::MAX, 1, all.len() / 2] {
        let found = findings(&far, pages, memory, stop).await?;
        ensure!(found == all, "stop {stop}: {found:#?} instead of {all:#?}");
    }
    // Of some partitions, those of their entities are found, and a repair fixes no others.
    let from = things[things.len() / 2].0.group.as_str();
    let is_own = |finding: &&Finding| {
        let entity = finding.entity().expect("each is about an entity");
        order(&entity.partition_key) >= order(from)
    };
    let found = tables.verify::<Thing>().side_by_side(1).await?.findings;
    let (own, others): (Vec<_>, Vec<_>) = found.iter().partition(is_own);
    let text = |findings: &[Finding]| findings.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let far = Tables::new(far);
    let part = far.verify::<Thing>().side_by_side(pages.0).memory(memory).partitions(from..).await?.findings;
    let own = own.into_iter().map(ToString::to_string).collect();
    ensure!(text(&part) == own, "from {from:?}: {part:#?} instead of {own:#?}");
    let repaired = far.repair::<Thing>().side_by_side(pages.1).memory(memory).partitions(from..).await?;
    ensure!(text(&repaired.fixed) == own && repaired.left.is_empty(), "from {from:?}: {repaired:#?}");
    let left = tables.verify::<Thing>().await?.findings;
    let others = others.into_iter().map(ToString::to_string).collect();
    ensure!(text(&left) == others, "from {from:?}: {left:#?} are left instead of {others:#?}");
    Ok(())
}

/// Returns what keys are compared by.
fn order(key: &str) -> Vec<u16> {
    key.encode_utf16().collect()
}

/// Entity whose values have one row for all entities of a partition.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Lamps", expires = until)]
struct Lamp {
    #[partition_key]
    house: u32,
    #[row_key]
    id: u32,
    #[index(color, same_partition, list)]
    color: String,
    until: SystemTime,
}

/// Returns a store with entities of one partition that have expired.
async fn lamps(count: u32) -> Result<Store> {
    let store = Store::plain(Reach::Partition);
    store.tables.create::<Lamp>().await?;
    store.tables.insert_all((0..count).map(|id| lamp(1, id, true))).await?;
    Ok(store)
}

fn lamp(house: u32, id: u32, has_expired: bool) -> Lamp {
    let until = if has_expired { SystemTime::UNIX_EPOCH } else { SystemTime::now() + Duration::from_hours(1) };
    Lamp { house, id, color: "red".to_owned(), until }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_of_pages_of_which_most_are_empty_removes_what_has_expired() -> Result<()> {
    let mut costs = Vec::new();
    for pages in [1, 2, 5, 16] {
        let store = Store::plain(Reach::Partition);
        store.tables.create::<Lamp>().await?;
        let lamps = (0..2400).map(|number| lamp(number / 40, number % 40, number % 50 == 0));
        store.tables.insert_all(lamps).await?;
        let far = Far::new(store.backend.clone()).with_pages(4);
        let (swept, time) = timed(Tables::new(far.clone()).sweep::<Lamp>().side_by_side(pages)).await?;
        assert_eq!((swept.found, swept.removed), (48, 48), "{pages} pages");
        costs.push((time, far.requests()));
    }
    // Few pages are read again because their scan was divided behind a position that nobody knew.
    let [(time, requests), .., (of_sixteen, requests_of_sixteen)] = costs[..] else { unreachable!("there are four") };
    ensure!(time > 4.0 * of_sixteen && requests_of_sixteen < 2 * requests, "{costs:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_recorded_sweep_of_several_pages_removes_entities_that_share_a_list() -> Result<()> {
    for pages in 2..9 {
        let store = lamps(100).await?;
        let tables = Tables::new(Far::new(store.backend.clone()).with_pages(4));
        let inventory = tables.inventory().await?;
        let swept = inventory.sweep(&tables, &inventory.entities[0]).side_by_side(pages).await?;
        assert_eq!((swept.found, swept.removed, swept.left), (100, 100, 0), "{pages} pages");
        assert!(store.rows("Lamps").await?.is_empty());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_ended_because_a_record_changed_goes_on_from_its_cursor() -> Result<()> {
    for (changed_at, pages) in (1..40).flat_map(|found| [2, 4, 9].map(|pages| (found, pages))) {
        sweep_of_a_changed_record(changed_at, pages)
            .await
            .with_context(|| format!("{changed_at} found, {pages} pages"))?;
    }
    Ok(())
}

/// Sweeps while the record of the index changes when so many entities were found. Other pages are being worked on then, whose
/// entities are still removed.
async fn sweep_of_a_changed_record(changed_at: usize, pages: usize) -> Result<()> {
    let store = lamps(40).await?;
    let tables = Tables::new(Far::new(store.backend.clone()).with_pages(4));
    let inventory = tables.inventory().await?;
    let records = store.rows("TableLayouts").await?;
    let record = records.iter().find(|row| row.row_key.ends_with(" color")).context("the record of the index")?;
    let set = |state: &str| {
        let mut properties = Properties::default();
        properties.push("State", ValueRef::String(state));
        let action = Action::Merge(properties, IfMatch::Any);
        let written = store.write("TableLayouts", (&record.partition_key, &record.row_key), action);
        written.now_or_never().expect("a plain store does not wait")
    };
    let mut found = 0;
    let sweep = inventory.sweep(&tables, &inventory.entities[0]).side_by_side(pages).found(|_| {
        found += 1;
        if found == changed_at {
            set("Building").expect("the record is there");
        }
    });
    let swept = sweep.await?;
    set("Ready")?;
    let mut again = inventory.sweep(&tables, &inventory.entities[0]).side_by_side(3);
    if let Some(cursor) = &swept.cursor {
        again = again.resume_from(cursor)?;
    }
    let rest = again.await?;
    ensure!(!rest.is_outdated && swept.removed + rest.removed == 40, "{swept:?}, {rest:?}");
    ensure!(store.rows("Lamps").await?.is_empty(), "rows are left");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_inventory_without_the_entity_is_outdated() -> Result<()> {
    let store = Store::plain(Reach::Partition);
    let before = store.tables.inventory().await?;
    let after = lamps(3).await?;
    let entity = after.tables.inventory().await?.entities.remove(0);
    let swept = before.sweep(&after.tables, &entity).await?;
    assert_eq!((swept.is_outdated, swept.removed), (true, 0));
    Ok(())
}

tests::depth::laws! {
    48;

    fn the_findings_are_those_of_one_page_at_a_time(
        things in prop::collection::vec(thing(), 1..60),
        pages in (1_usize..9, 1_usize..9),
        page in 1_u32..8,
        memory in prop_oneof![Just(64 << 20), 64_usize..400],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let checked = runtime.block_on(check_findings(things, pages, page, memory));
        prop_assert!(checked.is_ok(), "{:?}", checked);
    }
}
