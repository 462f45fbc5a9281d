//! Functions that users expect of jobs: see [`hints`](table_store::unstable::hints).

use super::{
    create::Create,
    jobs::{Backfill, Repair, Sweep, Verify},
    migrate::Migrate,
};
use crate::model::hints::{DryRun, OneEntityJob, RunJob, SweepAge, missing};

/// Defines the functions of every job.
macro_rules! missing_of_jobs {
    ($($job:ty$(, $of:ident)?;)+) => {$(
        impl$(<$of>)? $job {
            missing! { RunJob: run(), execute(), start(), send(), go() }
        }
    )+};
}

missing_of_jobs! {
    Create;
    Backfill;
    Repair;
    Sweep<E>, E;
    Verify;
    Migrate;
}

impl<E> Sweep<E> {
    missing! { SweepAge: older_than(_), before(_) }
}

impl Backfill {
    missing! { generic OneEntityJob: and<E>() -> Self }
}

impl Repair {
    missing! { generic OneEntityJob: and<E>() -> Self }
    missing! { DryRun: dry_run() }
}

impl Verify {
    missing! { generic OneEntityJob: and<E>() -> Self }
}
