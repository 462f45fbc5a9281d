//! Functions that users expect of jobs: see [`hints`](table_store::unstable::hints).

use super::{
    catalog::DropIndex,
    create::Create,
    jobs::{Backfill, Repair, Sweep, Verified, Verify},
    migrate::{DropMoved, Migrate},
};
use crate::model::hints::{
    AndEntity, AwaitJob, DryRun, IsEmpty, OfVerify, OneEntityJob, RunAgain, RunJob, SweepAge, missing,
};

/// Defines the functions of every job.
macro_rules! missing_of_jobs {
    ($($job:ty$(, $of:ident)?;)+) => {$(
        impl$(<$of>)? $job {
            missing! { RunJob: run(), execute(), start(), send(), go() }
            missing! { AwaitJob: unwrap(), expect(_), is_ok(), is_err(), map_err(_), ok(), context(_) }
            missing! { RunAgain: every(_), schedule(_), interval(_), repeat(_) }
        }
    )+};
}

missing_of_jobs! {
    Create;
    Backfill<'_>;
    Repair<'_>;
    Sweep<'_, E>, E;
    Verify<'_>;
    Migrate<'_>;
    DropMoved<'_>;
    DropIndex<'_>;
}

impl<E> Sweep<'_, E> {
    missing! { SweepAge: older_than(_), before(_) }
}

impl Backfill<'_> {
    missing! { generic OneEntityJob: and<E>() -> Self }
}

impl Repair<'_> {
    missing! { generic OneEntityJob: and<E>() -> Self }
    missing! { DryRun: dry_run() }
}

impl Create {
    missing! { generic AndEntity: create<E>() -> Self, with<E>() -> Self, then<E>() -> Self }
}

impl Verified {
    missing! { IsEmpty: is_ok(), is_empty(), is_err(), is_clean(), len() }
}

impl Verify<'_> {
    missing! { OfVerify: dry_run() }
    missing! { generic OneEntityJob: and<E>() -> Self }
}
