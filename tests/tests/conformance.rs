//! The conformance suite: what the documentation promises, on every backend.
//!
//! Each case is written once and run in memory, on disk, on Azurite, on the live account of
//! `AZURE_TABLES_CONNECTION_STRING` where it is set, and on the plain store of the tests. What is off is counted as
//! ignored, never as passed.

#[path = "conformance/backend.rs"]
mod backend;
#[path = "conformance/bulk.rs"]
mod bulk;
#[path = "conformance/entities.rs"]
mod entities;
#[path = "conformance/filters.rs"]
mod filters;
#[path = "conformance/groups.rs"]
mod groups;
#[path = "conformance/hash_partitions.rs"]
mod hash_partitions;
#[path = "conformance/index_backfill.rs"]
mod index_backfill;
#[path = "conformance/index_building.rs"]
mod index_building;
#[path = "conformance/index_mending.rs"]
mod index_mending;
#[path = "conformance/index_others.rs"]
mod index_others;
#[path = "conformance/index_programs.rs"]
mod index_programs;
#[path = "conformance/index_races.rs"]
mod index_races;
#[path = "conformance/index_reads.rs"]
mod index_reads;
#[path = "conformance/index_rows.rs"]
mod index_rows;
#[path = "conformance/index_unique.rs"]
mod index_unique;
#[path = "conformance/index_writes.rs"]
mod index_writes;
#[path = "conformance/keys.rs"]
mod keys;
#[path = "conformance/layouts.rs"]
mod layouts;
#[path = "conformance/pages.rs"]
mod pages;
#[path = "conformance/points.rs"]
mod points;
#[path = "conformance/projections.rs"]
mod projections;
#[path = "conformance/properties.rs"]
mod properties;
#[path = "conformance/ranges.rs"]
mod ranges;
#[path = "conformance/requests.rs"]
mod requests;
#[path = "conformance/sequences.rs"]
mod sequences;
#[path = "conformance/shapes.rs"]
mod shapes;
#[path = "conformance/sharing.rs"]
mod sharing;
#[path = "conformance/slices.rs"]
mod slices;
#[path = "conformance/transactions.rs"]
mod transactions;
#[path = "conformance/writes.rs"]
mod writes;

use std::{pin::Pin, process::ExitCode};

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};
use tests::{
    azurite,
    stores::{Kind, Store},
};

/// A promise, and how it is tested.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    run: for<'a> fn(&'a Store) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>,
}

/// Lists the cases of a module.
macro_rules! conformance {
    ($($case:ident)*) => {
        pub(crate) const CASES: &[crate::Case] = &[$(crate::Case {
            name: concat!(module_path!(), "::", stringify!($case)),
            run: |store| Box::pin($case(store)),
        }),*];
    };
}

pub(crate) use conformance;

const MODULES: &[&[Case]] = &[
    bulk::CASES,
    filters::CASES,
    groups::CASES,
    hash_partitions::CASES,
    index_backfill::CASES,
    index_reads::CASES,
    index_building::CASES,
    index_mending::CASES,
    index_others::CASES,
    index_programs::CASES,
    index_races::CASES,
    index_rows::CASES,
    index_unique::CASES,
    index_writes::CASES,
    keys::CASES,
    layouts::CASES,
    pages::CASES,
    points::CASES,
    projections::CASES,
    properties::CASES,
    ranges::CASES,
    requests::CASES,
    sequences::CASES,
    shapes::CASES,
    sharing::CASES,
    slices::CASES,
    transactions::CASES,
    writes::CASES,
];

fn main() -> ExitCode {
    let kinds = [Kind::Plain, Kind::Memory, Kind::Disk, Kind::Azurite, Kind::Live];
    for kind in kinds {
        if let Some(reason) = kind.off() {
            eprintln!("not tested: {reason}");
        }
    }
    let trial = |case: Case, kind: Kind| {
        let name = case.name.trim_start_matches("conformance::");
        Trial::test(format!("{name}::{kind:?}").to_lowercase(), move || {
            run(case, kind).map_err(|error| format!("{error:#}").into())
        })
        .with_ignored_flag(kind.off().is_some())
    };
    let trials = MODULES.iter().flat_map(|cases| cases.iter()).flat_map(|case| kinds.map(|kind| trial(*case, kind)));
    let trials = trials.chain(backend::trials(&kinds));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    azurite::stop_shared();
    conclusion.exit_code()
}

#[tokio::main]
async fn run(case: Case, kind: Kind) -> Result<()> {
    let store = kind.open()?;
    let result = (case.run)(&store).await;
    store.clean().await?;
    result
}
