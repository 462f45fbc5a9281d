//! The conformance suite: checks on every backend what the documentation promises.
//!
//! Each case is written once. It runs in memory, on disk, on Azurite, on the live account of
//! `AZURE_TABLES_CONNECTION_STRING` if that is set, and on the plain store of the tests. A case whose backend is
//! switched off counts as ignored, never as passed.

mod backend; // the contract of `Backend`: the cases of the public test kit, on each kind of store
mod events {
    pub(crate) mod fixtures; // entities with events, and the events as they are stored
    mod maintaining; // jobs over tables with events: what they check, keep, leave out and delete
    mod reading; // readers and jobs skip events
    mod recording; // what writes record, and in which rows
    mod relaying; // the delivery of events by relays
    mod requiring; // what the catalog records of events, and which programs it refuses
}
mod fixtures; // entities and helpers that several files of the suite share
mod groups; // groups: a master and its items, read by one query
mod index {
    mod building; // backfill: indexes that are added to an entity that already has rows
    mod elements; // indexes with `each`: a row for each element of a field, in every scope and with every content
    mod fixtures; // entities with an index of every scope and content, and helpers of the cases about indexes
    mod job_progress; // progress and cursors of `verify`, `repair` and `backfill`
    mod lists; // indexes whose rows hold lists of ids
    mod other_programs; // other programs in an entity's tables
    mod planted; // employees with an index of every scope and content, and rows that no completed write leaves
    mod races; // races: many writers that want one value
    mod random_programs; // random programs of writes, whose results are compared with a map
    mod reading; // reading through indexes of every scope and content
    mod repairing; // `verify` and `repair`: each kind of wrong row is found and fixed
    mod sequences; // sequences of writes without crashes and races, after each of which every index agrees with its entities
    mod stored_rows; // stored form of index rows
    mod uniqueness; // unique indexes: the second entity with a value is refused and leaves no row
    mod writing; // every write of entities with every kind of index in every scope
}
mod keys {
    mod characters; // characters and lengths of keys that services and URLs have trouble with
    mod composition; // composite row keys: a parent's key followed by the child's
    mod decimals; // decimal numbers in keys
    mod lossy; // rows whose folded, cut or hashed key is not that of their fields
    mod refused; // values that no key can hold: they are refused before anything is sent
    mod shapes; // entities that share a table without kinds: the number of key parts distinguishes them
}
mod layouts {
    mod accepted; // changes of a struct that `create` accepts
    mod changes; // recorded layouts: a program that would not find the stored rows is refused
    mod entities; // identity of entities in the catalog: renamed structs, entities that share a table, types of properties
    mod index_states; // states of indexes: programs without an index, rollbacks, and dropped indexes
    mod migrations; // migrations: moving entities to another place
    mod sets; // sets of entities: setup and jobs of all of them by one call
    mod shared_tables; // entities that share a table: `create` refuses an entity whose rows could have the keys of another's
}
mod large; // `#[property(large)]`: text and bytes that are stored as several properties if one does not hold them
mod lifecycle {
    mod bin; // the bin: `#[table(soft_delete = field)]`
    mod expiry; // entities that expire: `#[table(expires = field)]`
    pub(crate) mod fixtures; // entities that expire and entities with a bin, with an index of every scope and content
    mod sweep; // the job that removes what has expired

    pub(crate) use fixtures::{at, clocked, start};
}
mod operations; // operations as `tracing` sees them: one span and one event for each, on every backend
mod prefixes; // handles with a prefix before the names of all tables
mod properties; // property types: how fields are stored, and how rows of other programs are read
mod queries {
    mod boxed; // boxed queries, and functions that take any query of a cost class
    mod filters; // conditions on properties
    mod for_each; // `for_each`: rows are passed by reference, and the fields of a projection borrow from them
    mod hash_partitions; // hash partitions: read side by side and merged in the order of row keys
    mod older_rows; // filters, projections and patches of rows of older versions: what every version stores in the same way
    mod pages; // many rows: pages, cursors and streams
    mod partitions; // queries of several partitions, by the order of their keys
    mod points; // reading one row
    mod projections; // projections: some of an entity's fields, read by every kind of query
    mod ranges; // queries that narrow a partition by its row keys
    mod unreadable; // rows that cannot be read: lists go on after them, if their reader wants that
}
mod requests; // numbers of requests that the operations of an entity without indexes take
mod shapes; // structs and enums with data as fields: the properties that are stored, and typed paths to them
mod texts; // values that are stored as texts, because the service has no type for them
mod slices {
    mod fixtures; // a log in slices, and helpers of the cases about slices
    mod maintenance; // slices as tables: they are listed, dropped and verified, and one may be in deletion
    mod queries; // queries over slices
    mod writes; // writes to slices: an entity is stored in the table of its year, month or day
}
mod transfer; // dumps, loads, copies, and what the catalog says of a store
mod versions; // versions of an entity: rows of older structs are converted, rows of newer ones are an error or skipped
mod web; // answers and headers of a web service on `axum`
mod wholes; // what a row without a property means, inside of `Option`s, variants and defaults: every reader has the same answer
mod writes {
    mod bulk; // bulk writes: many entities at once
    mod deleting; // deletion of what a query finds, and of entities that were read
    mod elsewhere; // transactions of entities that have index rows in other partitions
    mod groups; // writes of groups: a master with its items is deleted, or changed
    mod leases; // leases of entities that a query finds
    mod modify; // read, change and write, with repetitions if another writer interferes, and patches of one version
    mod rounds; // tasks that modify one row at the same time: they share a read and a commit
    mod single; // writes of a single entity
    mod transactions; // entity group transactions
    mod unknown_properties; // properties that the struct does not know
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
