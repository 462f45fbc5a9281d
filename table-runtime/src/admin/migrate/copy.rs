//! Copying of entities to the new place, and catching up with what has changed meanwhile.

use futures_util::{future::join, stream};
use table_store::{
    Error, Result,
    error::{BulkError, BulkFailure},
    unstable::RowKeys,
};

use super::{
    Migrated, Migration,
    compare::{Differences, Expected},
    switch::{Places, Switch},
};
use crate::{
    admin::jobs::{LayoutScan, Progress, ProgressCallback, ScannedPage},
    client::{pacing, tables::Tables},
    model::entity,
    write::index::{Encoded, EntityWrite, Schema, Verb},
};

/// The writer of the new place.
pub(super) struct Copier<'a> {
    migration: &'a Migration,
    places: Places,
    progress: Progress,
}

/// Differences that a comparison found.
pub(super) struct CaughtUp {
    /// Number of the entities that were missing, different or superfluous.
    pub(super) differences: usize,
    /// Failures of writes because of a unique value. While writers write, the entity that has the value may have changed
    /// after it was read.
    pub(super) refused: Option<Box<BulkError>>,
    /// True if the new place has pending inserts, of a run that was stopped.
    pub(super) has_pending: bool,
}

impl<'a> Copier<'a> {
    pub(super) fn new(migration: &'a Migration, places: Places) -> Self {
        Self { migration, places, progress: Progress::default() }
    }

    /// Copies the entities that the scan finds and that are not in the new place.
    pub(super) async fn copy(
        &mut self,
        mut scan: LayoutScan,
        switch: &mut Switch<'_>,
        on_progress: &mut ProgressCallback<'_>,
    ) -> Result<()> {
        let mut page = scan.next().await?;
        while let Some(read) = page.take() {
            switch.confirm().await?;
            let cursor = scan.cursor();
            let items = self.inserts(&read, |_| true)?;
            self.progress.entities += items.len();
            // The next page is read while this one is written.
            let (written, next) = join(self.write(&switch.writer(), items), scan.next()).await;
            self.progress.fixed += written?.0;
            self.progress.cursor = cursor;
            report(on_progress, &self.progress);
            page = next?;
            pacing::yield_now().await;
        }
        Ok(())
    }

    /// Compares both places. Removes the entities of the new place that differ, and then inserts those that are missing:
    /// so entities can have swapped unique values.
    pub(super) async fn catch_up(
        &mut self,
        switch: &mut Switch<'_>,
        migrated: &mut Migrated,
        on_progress: &mut ProgressCallback<'_>,
    ) -> Result<CaughtUp> {
        let mut expected = Expected::default();
        let mut scan = self.scan(self.migration.old);
        while let Some(page) = scan.next().await? {
            self.each(&page, |converted| expected.add(&self.migration.new, &converted.primary))?;
            pacing::yield_now().await;
        }
        let mut differences = Differences::new(expected);
        let mut scan = self.scan(self.migration.new);
        while let Some(page) = scan.next().await? {
            let removals = differences.compare(&self.places.new, &page)?;
            if !removals.is_empty() {
                switch.confirm().await?;
                self.write(&switch.writer(), removals.into_iter().map(EntityWrite::remove).collect()).await?;
            }
            pacing::yield_now().await;
        }
        let (differences_found, has_pending) = (differences.count(), differences.has_pending());
        let mut found = CaughtUp { differences: differences_found, refused: None, has_pending };
        migrated.removed += differences.superfluous();
        if differences.has_missing() {
            let mut scan = self.scan(self.migration.old);
            while let Some(page) = scan.next().await? {
                let items = self.inserts(&page, |keys| differences.is_missing(keys))?;
                if !items.is_empty() {
                    switch.confirm().await?;
                    let (written, refused) = self.write(&switch.writer(), items).await?;
                    migrated.caught_up += written;
                    found.refused = found.refused.or(refused);
                }
                pacing::yield_now().await;
            }
        }
        migrated.entities = differences.entities();
        self.progress.findings = found.differences;
        report(on_progress, &self.progress);
        Ok(found)
    }

    /// Deletes what runs that were stopped have left: pending inserts, and index rows without their entities.
    pub(super) async fn repair(&self, switch: &mut Switch<'_>) -> Result<()> {
        switch.confirm().await?;
        switch.writer().repair_schema(self.migration.new).await.map(drop)
    }

    fn scan(&self, schema: Schema) -> LayoutScan {
        LayoutScan::new(self.migration.tables.backend().clone(), schema, "migrate", [0])
    }

    /// Calls the function for each entity of a page of the old place, converted.
    fn each(&self, page: &ScannedPage, mut read: impl FnMut(Encoded) -> Result<()>) -> Result<()> {
        for row in page.rows.iter().filter(|row| self.places.old.has(*row)) {
            // The writer of a pending insert has not committed it.
            if !entity::is_pending(&page.table, row)? {
                read((self.migration.convert)(&page.table, row)?)?;
            }
        }
        Ok(())
    }

    /// Returns the inserts of the converted entities of a page whose new keys are wanted.
    fn inserts(&self, page: &ScannedPage, is_wanted: impl Fn(&RowKeys) -> bool) -> Result<Vec<EntityWrite>> {
        let mut items = Vec::with_capacity(page.rows.len());
        self.each(page, |converted| {
            if is_wanted(&converted.primary.keys) {
                items.push(EntityWrite::put_encoded(Verb::Insert, converted));
            }
            Ok(())
        })?;
        Ok(items)
    }

    /// Writes to the new place. Returns the number of entities that were written, and the failures because of unique
    /// values. Entities that are already there are left to the comparison.
    async fn write(&self, writer: &Tables, items: Vec<EntityWrite>) -> Result<(usize, Option<Box<BulkError>>)> {
        let items = stream::iter(items.into_iter().map(Ok));
        let mut error = match writer.write_all(self.migration.new, "migrate", items).await {
            Ok(done) => return Ok((done.written, None)),
            Err(Error::Bulk(error)) => error,
            Err(error) => return Err(error),
        };
        error.failures.retain(|failure| !matches!(*failure.error, Error::AlreadyExists(_)));
        let is_refused = |failure: &BulkFailure| matches!(*failure.error, Error::UniqueViolation(_));
        let written = error.progress.written;
        if error.ended_early || !error.failures.iter().all(is_refused) {
            return Err(error.into());
        }
        Ok((written, Some(error).filter(|error| !error.failures.is_empty())))
    }
}

fn report(on_progress: &mut ProgressCallback<'_>, progress: &Progress) {
    if let Some(report) = on_progress {
        report(progress);
    }
}
