//! The promise that every write of an entity records an event.

use table_model::{
    HasEvents,
    unstable::event::{EventPlace, MARKS},
};
use table_store::{
    Result,
    backend::{BackendExt, BoxFuture, Reach},
    unstable::observe::observed,
};

use crate::{
    admin::catalog::CatalogChange,
    client::{
        pacing,
        tables::{EVENTS_REQUIRED, EVENTS_SETTLED, ReadRecord, State, Tables},
    },
    relay::EventSource,
    write::index::Schema,
};

impl Tables {
    /// Requires an event of each committed write of the entity from now on. Programs without `#[table(events)]` on its struct
    /// are refused: [`create`](Self::create) and writes return [`Error::LayoutChanged`](crate::Error::LayoutChanged). Until
    /// then they go on, and what they write has no event.
    ///
    /// Call it once all programs have the attribute. The command takes it back: `tables events optional`. It calls `create` if the entity is not recorded, then
    /// waits until no running program relies on what was recorded before: the length of a [lease](Self::with_lease) and a tenth of
    /// it, 66 seconds by default. To call it again does no harm, and waits only if no earlier call has ended.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(events)]
    /// struct Order {
    ///     #[partition_key]
    ///     shop: String,
    ///     #[row_key]
    ///     number: u32,
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?.with_lease(Duration::from_millis(10));
    /// tables.create::<Order>().await?;
    /// tables.require_events::<Order>().await?;
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the errors of `create`.
    pub fn require_events<E: HasEvents>(&self) -> BoxFuture<'_, Result<()>> {
        let running = self.begin_operation(|| Schema::of::<E>().operation("require_events"));
        Box::pin(observed(running, self.require(Schema::of::<E>())))
    }

    async fn require(&self, schema: Schema) -> Result<()> {
        let (mut delays, mut has_waited) = (pacing::delays(), false);
        loop {
            let catalog = self.catalog().await?;
            let primary = catalog.primary(&schema.own_id());
            let primary = primary.filter(|primary| primary.facts.events.is_some() && primary.state == State::Ready);
            let Some(mut primary) = primary.map(ReadRecord::to_stored) else {
                self.create_schemas(vec![schema]).await?;
                continue;
            };
            let mut facts = primary.facts();
            if facts.required.contains(EVENTS_SETTLED) {
                return Ok(());
            }
            // Another call may still wait, or may have ended before it had waited.
            let is_settled = !facts.required.insert(EVENTS_REQUIRED.to_owned()) && has_waited;
            if is_settled {
                facts.required.insert(EVENTS_SETTLED.to_owned());
            }
            primary.set_facts(&facts);
            let change = CatalogChange { updated: vec![primary], ..CatalogChange::default() };
            if self.change_catalog(&catalog, change, &mut delays).await?.is_none() {
                continue;
            }
            if is_settled {
                return Ok(());
            }
            self.wait_for_leases().await;
            has_waited = true;
        }
    }

    /// Records that writes of an entity need not record events any more. Returns false if they did not have to.
    pub(crate) async fn make_events_optional(&self, place: &EventPlace) -> Result<bool> {
        let mut delays = pacing::delays();
        loop {
            let catalog = self.catalog().await?;
            let is_own =
                |record: &&ReadRecord| EventSource::recorded(self, record).is_some_and(|own| own.place == *place);
            let Some(mut primary) = catalog.records.iter().find(is_own).map(ReadRecord::to_stored) else {
                return Ok(false);
            };
            let mut facts = primary.facts();
            let before = facts.required.len();
            facts.required.retain(|required| required != EVENTS_REQUIRED && required != EVENTS_SETTLED);
            if facts.required.len() == before {
                return Ok(false);
            }
            primary.set_facts(&facts);
            let change = CatalogChange { updated: vec![primary], ..CatalogChange::default() };
            if self.change_catalog(&catalog, change, &mut delays).await?.is_some() {
                return Ok(true);
            }
        }
    }

    /// Creates the table of the marks, before an entity with events is recorded. Writers create it too, if they write marks in
    /// requests of their own.
    pub(crate) async fn create_marks(&self, schema: Schema, recorded: Option<&ReadRecord>) -> Result<()> {
        let is_known = recorded.is_some_and(|recorded| recorded.facts.events.is_some());
        if schema.events.is_some() && (!is_known || self.backend().reach() == Reach::Store) {
            self.backend().create_table(MARKS).await?;
        }
        Ok(())
    }
}
