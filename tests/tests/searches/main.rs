//! Searches for an order of requests, a fault, a random program, a killed process or a damaged file that breaks a
//! guarantee; and the tests of the tools that they use.
//!
//! `TABLE_TESTS_DEPTH=deep` and `full` search more. `index_interleavings` is a package of its own, because it is optimised.

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

mod broken_backends;
mod bulk_faults;
mod changes;
mod damaged_files;
mod deployments;
mod differential;
mod explorer;
mod fan_out_model;
mod faulty_backend;
mod group_faults;
mod index_faults;
mod killed_backfill;
mod killed_jobs;
mod killed_migration;
mod killed_process;
mod killed_relay;
mod lifecycle_faults;
mod mark_leases;
mod migration_interleavings;
mod modify_rounds;
mod modify_turns;
mod nested_changes;
mod own_relays;
mod plain_store;
mod random_programs;
mod relay_leases;
mod relayed_programs;
mod rolling_deployments;
mod scheduled;
mod simultaneous_starts;
mod slices_model;
mod work_queues;
