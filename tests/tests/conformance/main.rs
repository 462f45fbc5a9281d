//! The conformance suite: checks on every backend what the documentation promises.
//!
//! Each case is written once. It runs in memory, on disk, on Azurite, on the live account of
//! `AZURE_TABLES_CONNECTION_STRING` if that is set, and on the plain store of the tests. A case whose backend is
//! switched off counts as ignored, never as passed.

mod backend;
mod events {
    pub(crate) mod fixtures;
    mod maintaining;
    mod reading;
    mod recording;
    mod relaying;
    mod requiring;
}
mod fixtures;
mod groups;
mod index {
    mod building;
    mod elements;
    mod fixtures;
    mod job_progress;
    mod lists;
    mod other_programs;
    mod planted;
    mod races;
    mod random_programs;
    mod reading;
    mod repairing;
    mod sequences;
    mod stored_rows;
    mod uniqueness;
    mod writing;
}
mod keys {
    mod characters;
    mod composition;
    mod decimals;
    mod lossy;
    mod refused;
    mod shapes;
}
mod layouts {
    mod accepted;
    mod changes;
    mod entities;
    mod index_states;
    mod migrations;
    mod sets;
    mod shared_tables;
}
mod large;
mod lifecycle {
    mod bin;
    mod expiry;
    pub(crate) mod fixtures;
    mod sweep;

    pub(crate) use fixtures::{at, clocked, start};
}
mod operations;
mod prefixes;
mod properties;
mod queries {
    mod boxed;
    mod filters;
    mod for_each;
    mod hash_partitions;
    mod older_rows;
    mod pages;
    mod partitions;
    mod points;
    mod projections;
    mod ranges;
    mod unreadable;
}
mod requests;
mod shapes;
mod texts;
mod slices {
    mod fixtures;
    mod maintenance;
    mod queries;
    mod writes;
}
mod transfer;
mod versions;
mod web;
mod wholes;
mod writes {
    mod bulk;
    mod deleting;
    mod elsewhere;
    mod groups;
    mod leases;
    mod modify;
    mod rounds;
    mod single;
    mod transactions;
    mod unknown_properties;
}

use std::{num::NonZero, pin::Pin, process::ExitCode, thread::available_parallelism};

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};
use tests::{
    azurite,
    depth::Depth,
    stores::{Kind, Store},
};

/// Least number of cases that run side by side.
const THREADS: usize = 4;

/// A documented behaviour and the function that tests it.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    run: for<'a> fn(&'a Store) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>,
}

inventory::collect!(Case);

/// Adds the named functions of a module to the suite. A new file needs nothing but its `mod` line above.
macro_rules! conformance {
    ($($case:ident)*) => {$(
        inventory::submit! {
            crate::Case {
                name: concat!(module_path!(), "::", stringify!($case)),
                run: |store| Box::pin($case(store)),
            }
        }
    )*};
}

pub(crate) use conformance;

fn main() -> ExitCode {
    let kinds = Kind::ALL;
    for kind in kinds {
        if let Some(reason) = kind.off() {
            eprintln!("not tested: {reason}");
        }
    }
    let mut cases: Vec<_> = inventory::iter::<Case>().copied().collect();
    cases.sort_unstable_by_key(|case| case.name);
    let trial = |case: Case, kind: Kind| {
        let name = case.name.trim_start_matches("conformance::");
        Trial::test(format!("{name}::{kind:?}").to_lowercase(), move || {
            run(case, kind).map_err(|error| format!("{error:#}").into())
        })
        .with_ignored_flag(kind.off().is_some())
    };
    // What differs with the transport of the SDK is the contract of the backend, which is always tested.
    let of_cases = kinds.into_iter().filter(|kind| *kind != Kind::Sdk || Depth::Deep.is_reached());
    let of_cases: Vec<_> = of_cases.collect();
    let trials = cases.iter().flat_map(|case| of_cases.iter().map(|kind| trial(*case, *kind)));
    let trials = trials.chain(backend::trials(&kinds));
    let mut arguments = Arguments::from_args();
    // A case that waits for Azurite leaves its processor to others.
    arguments.test_threads.get_or_insert_with(|| available_parallelism().map_or(1, NonZero::get).max(THREADS));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
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
