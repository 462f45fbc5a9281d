//! Migration: moving the entities of one struct to the place of another.
//!
//! A migration copies all entities, compares both places and repeats what has changed meanwhile, and then switches. The
//! catalog shows its state:
//!
//! | step | old primary key | new primary key | writers of the old struct | programs with the new struct |
//! |---|---|---|---|---|
//! | copy and catch up | `Ready` | `Building` | write as ever | are refused by `create` |
//! | switch | `Leaving` | `Building` | get [`Error::EntityMoved`](crate::Error::EntityMoved) | are refused |
//! | done | `Gone` | `Ready` | get the same, also from `create` | begin |
//!
//! Only a migration writes to the new place before it is ready. A run of it is bound to the version of the new primary
//! key's record: a later run changes that version, and waits until no earlier run relies on it any more.

mod compare;
mod copy;
mod drop_moved;
mod switch;

use std::{fmt, sync::Arc};

use table_model::{TableEntity, unstable::entity};
use table_store::{Result, RowRef, unstable::observe::Running};

use crate::{
    admin::jobs::{Comparing, Job, JobKind, JobOptions, Progress, Resumable, hash_job},
    client::{
        stored::{self, Stored},
        tables::Tables,
    },
    write::index::{Encoded, Schema},
};
use copy::Copier;
use switch::Switch;

pub use drop_moved::{DropMoved, DroppedEntity};

/// A migration: see [`Tables::migrate`].
pub struct Migrate {
    migration: Migration,
    copy_only: bool,
}

/// The two places of a migration, and the conversion of an entity.
#[derive(Clone)]
pub struct Migration {
    pub tables: Tables,
    pub old: Schema,
    pub new: Schema,
    /// Converts a row of the old place, which is located in this table, to the rows of the new place.
    pub convert: Convert,
}

type Convert = Arc<dyn Fn(&str, RowRef<'_>) -> Result<Encoded> + Send + Sync>;

/// The result of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// Number of entities in the new place, each of which was compared with its old entity by a hash of its keys and
    /// properties.
    pub entities: usize,
    /// Number of entities that were written again, because they had changed since they were copied.
    pub caught_up: usize,
    /// Number of entities that were removed from the new place, because the old ones were deleted.
    pub removed: usize,
    /// True if the old place is now closed and the new one is open: false only after [`copy_only`](Job::copy_only).
    pub switched: bool,
}

impl Resumable for Migrate {
    fn hash(&self) -> u64 {
        let Migration { old, new, .. } = &self.migration;
        hash_job(&format!("migrate to {} {}", new.entity, new.table()), old.layouts)
    }
}

impl Comparing for Migrate {}

impl JobKind for Migrate {
    type Done = Migrated;
    type Error = table_store::Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.migration.tables.begin_operation(|| self.migration.old.operation("migrate"))
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<Migrated> {
        let migrate = self;
        let job = migrate.hash();
        let Migrate { migration, copy_only } = migrate;
        let Some(switch) = Switch::begin(&migration).await? else {
            // An earlier run has completed the migration.
            return Ok(Migrated { switched: true, ..Migrated::default() });
        };
        let mut migrated = Migrated::default();
        let mut copier = Copier::new(&switch);
        copier.copy(&mut options, job).await?;
        let (mut refused, mut is_unclean) = (None, switch.is_repeated);
        for _ in 0..CATCH_UPS {
            let found = copier.catch_up(&mut migrated, &mut options).await?;
            is_unclean |= found.has_pending;
            refused = found.refused;
            if found.differences < MANY && refused.is_none() {
                break;
            }
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        if is_unclean {
            copier.repair().await?;
        }
        if copy_only {
            return Ok(migrated);
        }
        switch.close().await?;
        match finish(&mut copier, &mut migrated, &mut options).await {
            Ok(()) => Ok(migrated),
            Err(error) => {
                switch.reopen().await;
                Err(error)
            }
        }
    }
}

impl Job<'_, Migrate> {
    /// Copies and catches up, and does not switch: the old place stays in use. A later migration has less to do.
    pub fn copy_only(self) -> Self {
        self.with(|migrate, _| migrate.copy_only = true)
    }
}

impl fmt::Debug for Migrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrate").field("copy_only", &self.copy_only).finish_non_exhaustive()
    }
}

/// Number of comparisons before the switch, while writers write. Each takes less time than the one before, because less
/// has changed since.
const CATCH_UPS: usize = 3;
/// Number of changed entities from which another comparison before the switch is worth its time.
const MANY: usize = 1000;
/// Number of comparisons after the switch. No writer writes any more, so that the second one finds no difference unless a
/// write was still under way.
const VERIFICATIONS: usize = 10;

/// Compares both places until there is no difference, and opens the new one.
async fn finish(
    copier: &mut Copier<'_>,
    migrated: &mut Migrated,
    options: &mut JobOptions<'_, Progress>,
) -> Result<()> {
    for _ in 0..VERIFICATIONS {
        let found = copier.catch_up(migrated, options).await?;
        if let Some(refused) = found.refused {
            return Err(refused);
        }
        if found.differences == 0 {
            copier.switch.open().await?;
            migrated.switched = true;
            return Ok(());
        }
    }
    Err(copier.switch.unfinished())
}

/// Entity that the closure of [`migrate_with`](Tables::migrate_with) returns.
#[diagnostic::on_unimplemented(
    message = "the closure of `migrate_with` returns the new entity, and not `{Self}`",
    note = "it cannot fail: find the entities that no new one can hold by a query before, or give the new struct an `Option`",
    note = "a struct is an entity with `#[derive(TableEntity)]`"
)]
pub trait NewStruct: TableEntity {}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> NewStruct for E {}

impl Tables {
    /// Moves the entities of a struct to the place of another one: to another primary key, encoding, number of hash
    /// partitions, slices, separator or table. Index rows of the new struct are written with the entities. Await it.
    ///
    /// Properties of the old rows that neither struct knows are kept.
    ///
    /// `Old` is the struct as it was, and `New` has another table or another [name](derive@crate::TableEntity). In one
    /// table, their rows must be distinguishable. The place of `New` must have no row. A place from which entities were
    /// moved is free after [`drop_moved`](Self::drop_moved); so entities can be moved back, or to another key under the
    /// same names by way of a third place. Programs with `Old` read and write as ever while the entities are copied;
    /// `create::<New>()` is refused until the migration has ended. What is written meanwhile is found by comparing both
    /// places, and written again.
    ///
    /// **Only the switch at the end needs the writers to stop.** It records in the catalog that `Old` has moved, waits
    /// for the length of a [lease](Self::with_lease) and a tenth of it (66 seconds by default), compares once more until
    /// there is no difference, and opens the new place. From its beginning, each write of a program that has called
    /// `create::<Old>()` returns [`Error::EntityMoved`](crate::Error::EntityMoved). So deploy the programs with `New` now;
    /// until then, nobody writes these entities. A program that does not call `create` is not noticed: stop it before.
    ///
    /// A migration can be stopped at any time and run again: it is [resumed](Job::resume_from), or compares what is
    /// there. If it returns an error after the switch began, the old place is in use again; if its process ended, run it
    /// again. The old rows stay until
    /// [`drop_moved`](Self::drop_moved) deletes them.
    ///
    /// The copy takes a request for each 1000 old entities, and the requests of [`insert_all`](Self::insert_all). Each
    /// comparison reads both places once, and the old one again if there are differences. It holds 16 bytes for each entity,
    /// up to the [`memory`](Job::memory), and takes several passes otherwise. There are at least two.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// mod before {
    ///     # use table_runtime::TableEntity;
    ///     #[derive(TableEntity)]
    ///     #[table(name = "Posts")]
    ///     pub struct Post {
    ///         #[partition_key]
    ///         pub author: String,
    ///         #[row_key]
    ///         pub number: u32,
    ///         pub title: String,
    ///     }
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "PostsByNewest")]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key(reverse)]
    ///     number: u32,
    ///     #[index(title, same_partition)]
    ///     title: String,
    /// }
    ///
    /// impl From<before::Post> for Post {
    ///     fn from(before::Post { author, number, title }: before::Post) -> Self {
    ///         Self { author, number, title }
    ///     }
    /// }
    ///
    /// # async fn example(tables: Tables) -> Result<()> {
    /// let moved = tables.migrate::<before::Post, Post>().progress(|progress| println!("{}", progress.entities)).await?;
    /// println!("{} posts were moved", moved.entities);
    /// tables.drop_moved::<before::Post>().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Query`](crate::Error::Query) if both structs have one table and one name, if programs use the new
    /// place already, or if it has rows, if another run of this migration has begun, or if two entities get one key;
    /// [`Error::Bulk`](crate::Error::Bulk) if entities cannot be written to the new place, for example because of a unique
    /// value; the errors of [`create`](Self::create); errors for rows that do not fit `Old`; and the errors of the store.
    pub fn migrate<'a, Old: TableEntity, New: TableEntity + From<Old>>(&self) -> Job<'a, Migrate> {
        self.migrate_with(New::from)
    }

    /// Moves entities as [`migrate`](Self::migrate) does, and converts them with a closure. It may be called several times
    /// for an entity, and must then return the same.
    pub fn migrate_with<'a, Old: TableEntity, New: NewStruct>(
        &self,
        convert: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Job<'a, Migrate> {
        let (old, new) = (Schema::of::<Old>(), Schema::of::<New>());
        let convert: Convert = Arc::new(move |table, row| {
            let stored = stored::read::<Old>(table, row)?;
            let unknown = if New::INFO.deny_unknown { None } else { stored.unknown().clone() };
            let mut converted = Encoded::of(&convert(Stored::into_inner(stored)))?;
            converted.keep(&unknown, |name, value| entity::is_own(New::INFO, name, value));
            Ok(converted)
        });
        let migration = Migration { tables: self.clone(), old, new, convert };
        Job::new(Migrate { migration, copy_only: false })
    }
}
