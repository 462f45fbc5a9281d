//! Slices: tables that each hold the rows of one year, month or day.

use std::ops::RangeTo;

use table_model::{
    LayoutInfo, Slice, TableEntity,
    key::{KeyPart, kind},
    unstable::{key::tick_of, layout::LayoutExt},
};
use table_store::{
    Error, Result, Ticks,
    backend::{BackendExt, BoxFuture},
    error::KeyProblem,
    unstable::observe::observed,
};

use crate::{client::tables::Tables, read::existing_slices, write::index::Schema};

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
    /// slice is deleted as a whole table, with all its contents.
    ///
    /// If an entity is written later, its slice is created anew; the service may refuse that for up to a minute.
    ///
    /// # Errors
    /// Returns [`Error::Key`] if the year of the time is outside 0001 to 9999, and the errors of the store. If a slice
    /// cannot be deleted, the later slices remain.
    #[allow(clippy::needless_pass_by_value, reason = "ranges are passed by value")]
    pub fn drop_slices<E: Sliced>(&self, before: impl SlicesBefore) -> BoxFuture<'_, Result<Vec<Slice>>> {
        let layout = &E::INFO.layouts[0];
        let field = layout.slice.as_ref().map_or("", |slice| &slice.field);
        let before = before.ticks().map_err(|problem| layout.key_error(field, problem));
        let running = self.begin_operation(|| Schema::of::<E>().operation("drop_slices"));
        Box::pin(observed(running, async move { self.drop_slices_of(layout, before?).await }))
    }

    async fn drop_slices_of(&self, layout: &'static LayoutInfo, before: Ticks) -> Result<Vec<Slice>> {
        let mut dropped = Vec::new();
        for slice in self.slices_of(layout).await? {
            if slice.end.is_none_or(|end| end > before) {
                break;
            }
            match self.backend().delete_table(&slice.table).await {
                Ok(true) => dropped.push(slice),
                // Another caller deleted the slice, or is deleting it.
                Ok(false) | Err(Error::TableBeingDeleted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dropped)
    }
}
