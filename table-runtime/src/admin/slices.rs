//! Slices: tables that each hold the rows of one year, month or day.

use std::ops::RangeTo;

use table_model::{
    LayoutInfo, Slice, TableEntity,
    key::{KeyPart, kind},
    unstable::{key::tick_of, layout::LayoutExt},
};
use table_store::{
    Error, Result, RowId, Ticks,
    backend::{BackendExt, BoxFuture},
    error::KeyProblem,
    unstable::observe::{Running, observed},
};

use crate::{
    admin::jobs::{Discarding, Job, JobKind, JobOptions},
    client::tables::Tables,
    read::existing_slices,
    relay::EventSource,
    write::index::Schema,
};

/// An entity whose rows are stored in slices: `#[table(slice = month(field))]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no slices",
    label = "its rows are stored in one table",
    note = "put `#[table(slice = month(field))]` on `{Self}`, with a time that is a part of its key"
)]
pub trait Sliced: TableEntity {}

/// A time type by which tables can be sliced.
pub trait SliceTime: KeyPart<Kind = kind::Instant> {}

#[diagnostic::do_not_recommend]
impl<T: KeyPart<Kind = kind::Instant>> SliceTime for T {}

/// A time before which slices end: `..time`.
#[diagnostic::on_unimplemented(
    message = "`drop_slices` takes the time before which slices end, not `{Self}`",
    label = "not a range to a time",
    note = "write `tables.drop_slices::<Log>(..time)`, with a time of the type of the field; of an age, \
            `..OffsetDateTime::now_utc() - age`"
)]
pub trait SlicesBefore {
    #[doc(hidden)]
    fn ticks(&self) -> Result<Ticks, KeyProblem>;
}

#[diagnostic::do_not_recommend]
impl<T: SliceTime> SlicesBefore for RangeTo<T> {
    fn ticks(&self) -> Result<Ticks, KeyProblem> {
        tick_of(self.end.to_value())
    }
}

impl Tables {
    /// Returns the existing slices of an entity, oldest first.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(slice = month(at))]
    /// struct Log {
    ///     #[partition_key]
    ///     machine: String,
    ///     #[row_key(reverse_time)]
    ///     at: SystemTime,
    ///     text: String,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number);
    /// for at in [day(0), day(40)] {
    ///     tables.insert(&Log { machine: "a".into(), at, text: "started".into() }).await?;
    /// }
    /// let names: Vec<_> = tables.slices::<Log>().await?.into_iter().map(|slice| slice.table).collect();
    /// assert_eq!(names, ["Log197001", "Log197002"]);
    ///
    /// tables.drop_slices::<Log>(..day(35)).await?;
    /// assert_eq!(Log::by_key("a").count(&tables).await?, 1);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn slices<E: Sliced>(&self) -> BoxFuture<'_, Result<Vec<Slice>>> {
        let running = self.begin_operation(|| Schema::of::<E>().operation("slices"));
        Box::pin(observed(running, self.slices_of(&E::INFO.layouts[0])))
    }

    async fn slices_of(&self, layout: &'static LayoutInfo) -> Result<Vec<Slice>> {
        match &layout.slice {
            Some(slice) => existing_slices(slice, self.backend(), &layout.table).await,
            None => Ok(Vec::new()),
        }
    }

    /// Deletes the slices of an entity that end at or before a time, oldest first, and returns the deleted slices. Each
    /// slice is deleted as a whole table, with all its contents. Await it.
    ///
    /// A slice with [events](crate::guide::events) that no relay has delivered, or that were put aside, is refused:
    /// [`discarding_events`](Job::discarding_events). If an entity is written later, its slice is created anew; the service may
    /// refuse that for up to a minute.
    ///
    /// # Errors
    /// Returns [`Error::Key`] if the year of the time is outside 0001 to 9999; [`Error::Query`] for a slice with events; and the
    /// errors of the store. The slices after the one with the error remain.
    #[allow(clippy::needless_pass_by_value, reason = "ranges are passed by value")]
    pub fn drop_slices<'a, E: Sliced>(&self, before: impl SlicesBefore) -> Job<'a, DropSlices> {
        let schema = Schema::of::<E>();
        let layout = &schema.layouts[0];
        let field = layout.slice.as_ref().map_or("", |slice| &slice.field);
        let before = before.ticks().map_err(|problem| layout.key_error(field, problem).into());
        Job::new(DropSlices { tables: self.clone(), schema, before, discards_events: false })
    }
}

/// The deletion of slices: see [`Tables::drop_slices`].
#[derive(Debug)]
pub struct DropSlices {
    tables: Tables,
    schema: Schema,
    before: Result<Ticks>,
    discards_events: bool,
}

impl Discarding for DropSlices {
    fn discard_events(&mut self) {
        self.discards_events = true;
    }
}

impl JobKind for DropSlices {
    type Done = Vec<Slice>;
    type Error = Error;
    type Progress = Slice;

    fn begin(&self) -> Option<Box<Running>> {
        self.tables.begin_operation(|| self.schema.operation("drop_slices"))
    }

    async fn run(self, mut options: JobOptions<'_, Slice>) -> Result<Vec<Slice>> {
        let Self { tables, schema, before, discards_events } = self;
        let (mut dropped, before) = (Vec::new(), before?);
        let catalog = tables.catalog().await?;
        for slice in tables.slices_of(&schema.layouts[0]).await? {
            if slice.end.is_none_or(|end| end > before) {
                break;
            }
            let recorded = catalog.records.iter().filter(|record| record.layout.has_table(&slice.table));
            for source in recorded.filter_map(|primary| EventSource::recorded(&tables, primary)) {
                if !discards_events && let Some(event) = source.find(&slice.table).await? {
                    return Err(schema.refused(has_event(&event)));
                }
            }
            match tables.backend().delete_table(&slice.table).await {
                Ok(true) => {
                    options.report(|| slice.clone());
                    dropped.push(slice);
                }
                // Another caller deleted the slice, or is deleting it.
                Ok(false) | Err(Error::TableBeingDeleted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dropped)
    }
}

/// Returns why a table is not deleted.
pub fn has_event(event: &RowId) -> String {
    format!("{event} is an event that no relay has delivered; let a relay deliver it, or call `.discarding_events()`")
}
