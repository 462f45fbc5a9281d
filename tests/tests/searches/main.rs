//! Searches for an order of requests, a fault, a random program, a killed process or a damaged file that breaks a
//! guarantee; and the tests of the tools that they use.
//!
//! `TABLE_TESTS_DEPTH=deep` and `full` search more. The searches of every order of requests are the package `explorer`, because it is
//! optimised.

/// Writes the tests of random programs: for each subject and kind of store, with the number of programs of a quick search.
macro_rules! kinds {
    ($($subject:ident { $($name:ident $kind:ident $quick:literal;)+ })+) => {$(
        mod $subject {
            use super::{Kind, Result, programs, subjects::$subject::Entity};

            $(#[tokio::test]
            async fn $name() -> Result<()> {
                programs::<Entity>(Kind::$kind, $quick).await
            })+
        }
    )+};
}

mod broken_backends; // backends that break one rule each: the contract of the test kit reports the rule by the name of its case
mod bulk_faults; // every bulk write of every kind of index, with a fault at each request
mod changes; // pairs of versions of a struct: the first has written rows, and the second begins beside it
mod damaged_files; // damaged files of the embedded store
mod deployments; // programs of up to three versions on one store, with leases and rollbacks
mod differential; // random programs that give the same answers and rows on the plain store and on every other one
mod explorer; // the search of interleavings: it finds errors, and it neither omits nor repeats a state
mod fan_out_model; // merging of hash partitions: the rows are compared with a sorted model, and the requested pages are counted
mod faulty_backend; // the backend that fails at one request
mod group_faults; // writes of a group with a fault at every request
mod index_faults; // every write of every kind of index, with a fault at every request
mod killed_backfill; // a backfill whose process is killed
mod killed_jobs; // jobs that are killed at a request
mod killed_migration; // a migration whose process is killed
mod killed_process; // the embedded store after its process was killed
mod killed_relay; // the events of the embedded store after its process was killed
mod lifecycle_faults; // writes that meet entities which have expired, or which are in the bin, with a fault at every request
mod mark_leases; // the lease of a mark while a commit that records events is under way, request by request
mod migration_interleavings; // every order of the requests of a migration, of writers and of a second run
mod modify_rounds; // random programs of tasks that modify one row
mod modify_turns; // turns and rounds of the tasks that modify one row: what ends them, and what does not wait for them
mod nested_changes; // pairs of versions of a struct that is a field
mod own_relays; // relays on a store that no other process has open: a commit wakes them, and there are no leases to wait for
mod plain_store; // the plain store of the tests
mod random_programs; // random programs of several tasks on one store
mod relay_leases; // leases of buckets that several relays share
mod relayed_programs; // random programs beside relays
mod rolling_deployments; // versions of a program that start, write and stop in every order
mod scheduled; // the backend whose requests wait: nothing arrives before its grant, and a dropped write may arrive after it
mod simultaneous_starts; // every interleaving of programs that begin at once
mod slices_model; // table slices: random programs of reads and writes, compared with a sorted model
mod work_queues; // random programs of workers that share a queue: the program of the guide's page on work queues
