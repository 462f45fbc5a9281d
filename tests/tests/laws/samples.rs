//! Samples of a verification: which rows they draw, that they are repeatable, and that they find what a verification does.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use proptest::prelude::*;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::Reach,
    jobs::{Finding, Verified, VerifiedSample},
};
use tests::{far::Far, stores::Store};

use crate::side_by_side::{Damage, Parcel, Thing, damaged, parcels, thing};

fn texts(findings: &[Finding]) -> BTreeSet<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn every_entity_can_be_drawn() -> Result<()> {
    let (count, ranges) = (1_000_u32, 400);
    for in_partition in [1, 40, 250, count] {
        // No entity has its row in the index, so each one that is drawn is a finding.
        let (_store, far) = parcels(count, in_partition).await?;
        let tables = Tables::new(far.clone());
        far.requests();
        let verified = tables.verify::<Parcel>().sample(ranges).seed(1).side_by_side(16).await?;
        let requests = far.requests();
        let sample = verified.sample.expect("a sample");
        assert_eq!((sample.ranges, sample.damaged, sample.seed), (ranges, ranges, 1), "{sample:?}");
        assert_eq!(sample.requests, requests as u64);
        assert_eq!(verified.index_rows, 0);
        ensure!(verified.entities > ranges * 10, "{} entities", verified.entities);
        let drawn = texts(&verified.findings);
        assert_eq!(drawn.len(), verified.findings.len(), "each is returned once");
        let all = texts(&tables.verify::<Parcel>().await?.findings);
        let missed: Vec<_> = all.difference(&drawn).collect();
        ensure!(missed.is_empty(), "{} of {count} in partitions of {in_partition}: {missed:#?}", missed.len());
    }
    Ok(())
}

/// Entity whose keys are any texts.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Words")]
struct Word {
    #[partition_key]
    language: String,
    #[row_key]
    text: String,
    #[index(length)]
    length: u32,
}

/// The entity before it had the index.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Words", entity = "Word")]
struct PlainWord {
    #[partition_key]
    language: String,
    #[row_key]
    text: String,
    length: u32,
}

#[tokio::test(start_paused = true)]
async fn entities_with_any_keys_can_be_drawn_by_few_requests() -> Result<()> {
    let capital = |number: u32| char::from_u32(0x410 + number % 32).expect("a letter");
    let japanese = |number: u32| char::from_u32(0x4E00 + 97 * (number % 60)).expect("a character");
    let of: [(&str, &(dyn Fn(u32) -> (String, String) + Sync)); 6] = [
        ("names", &|number| ("ru".to_owned(), format!("{}имя {number:04}", capital(number)))),
        ("partitions", &|number| (format!("{}本", japanese(number)), format!("{number:04}"))),
        ("nines", &|number| ("same".to_owned(), format!("9999999999{number:04}"))),
        ("long", &|number| ("x".repeat(100), format!("{}{number:04}", "~".repeat(60)))),
        ("addresses", &|number| {
            (format!("https://example.org/a/{}", number % 7), format!("/{}/{number}", number % 90))
        }),
        ("times", &|number| {
            ("times".to_owned(), format!("2026-11-{:02}T{:02}:00:00Z{number}", number % 30, number % 24))
        }),
    ];
    for (name, key) in of {
        let store = Store::plain(Reach::Partition);
        store.tables.create::<PlainWord>().await?;
        let words = (0..2_000).map(|number| {
            let (language, text) = key(number);
            PlainWord { language, text, length: 0 }
        });
        store.tables.insert_all(words).await?;
        store.tables.create::<Word>().await?;
        let ranges = 300;
        let verified = store.tables.verify::<Word>().sample(ranges).seed(3).await?;
        let requests = verified.sample.expect("a sample").requests;
        let draws = usize::try_from(requests)? - verified.entities;
        ensure!(verified.findings.len() > 1_500, "{name}: {} of 2000 drawn", verified.findings.len());
        ensure!(draws < 150 * ranges, "{name}: {draws} requests to draw {ranges} ranges");
    }
    Ok(())
}

#[tokio::test]
async fn a_sample_has_no_cursor() -> Result<()> {
    let (store, _) = parcels(10, 10).await?;
    let mut cursors = Vec::new();
    let verify = || store.tables.verify::<Parcel>();
    drop(verify().progress(|progress| cursors.extend(progress.cursor.clone())).await?);
    let count = cursors.len();
    drop(verify().sample(3).progress(|progress| cursors.extend(progress.cursor.clone())).await?);
    assert_eq!(cursors.len(), count);
    let resumed = verify().sample(3).resume_from(&cursors[0])?.await;
    ensure!(matches!(resumed, Err(Error::Cursor(_))), "{resumed:?}");
    Ok(())
}

#[test]
fn the_bound_is_that_of_clopper_and_pearson() {
    let bound = |damaged, ranges| {
        let mut sample = VerifiedSample::default();
        (sample.damaged, sample.ranges) = (damaged, ranges);
        sample.at_most()
    };
    // Sums of the binomial distribution, computed with exact binomial coefficients.
    for (damaged, ranges, expected) in [
        (0, 1, 0.95),
        (0, 59, 0.049_507_609_888),
        (0, 100, 0.029_513_049_607),
        (5, 100, 0.102_253_377_643),
        (99, 100, 0.999_487_198_587),
        (3, 7, 0.774_678_415_967),
        (7, 7, 1.0),
        (0, 0, 1.0),
    ] {
        let found = bound(damaged, ranges);
        assert!((found - expected).abs() < 1e-9, "{damaged} of {ranges}: {found} instead of {expected}");
    }
    // A bound of many ranges, of which single terms are too small for a double.
    assert!((bound(5_000, 100_000) - 0.05).abs() < 0.002);
}

/// Compares samples with a verification of all rows.
async fn check_samples(things: Vec<(Thing, Damage)>, page: u32, seed: u64, from: String) -> Result<()> {
    let store = damaged(&things).await?;
    let all = store.tables.verify::<Thing>().await?.findings;
    // Each section has fewer rows than a range.
    let sampled = store.tables.verify::<Thing>().sample(3).seed(seed).await?;
    ensure!(texts(&sampled.findings) == texts(&all), "{:#?} instead of {all:#?}", sampled.findings);
    let part = store.tables.verify::<Thing>().partitions(from.as_str()..).await?.findings;
    let sampled = store.tables.verify::<Thing>().partitions(from.as_str()..).sample(3).await?;
    ensure!(texts(&sampled.findings) == texts(&part), "from {from:?}: {:#?} instead of {part:#?}", sampled.findings);
    // With short pages, the ranges are some of the rows.
    let tables = Tables::new(Far::new(store.backend.clone()).with_pages(page));
    let some = tables.verify::<Thing>().sample(12).seed(seed).side_by_side(5).await?;
    let (found, all) = (texts(&some.findings), texts(&all));
    ensure!(found.is_subset(&all), "{found:#?} are not all of {all:#?}");
    let again = tables.verify::<Thing>().sample(12).seed(seed).side_by_side(1).await?;
    ensure!(texts(&again.findings) == found, "{again:#?} instead of {found:#?}");
    let ranges = |verified: Verified| verified.sample.map(|sample| (sample.ranges, sample.damaged, sample.seed));
    ensure!((again.entities, again.index_rows) == (some.entities, some.index_rows), "{again:?} instead of {some:?}");
    ensure!(ranges(again) == ranges(some), "other ranges");
    Ok(())
}

tests::depth::laws! {
    48;

    fn a_sample_finds_what_a_verification_of_its_rows_does(
        things in prop::collection::vec(thing(), 1..60),
        page in 1_u32..8,
        seed in any::<u64>(),
        from in "[0-9a-z]{0,2}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let checked = runtime.block_on(check_samples(things, page, seed, from));
        prop_assert!(checked.is_ok(), "{:?}", checked);
    }
}
