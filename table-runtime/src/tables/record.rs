//! Records of layouts in the table `TableLayouts`, including the states of indexes.

use super::{
    Tables,
    ready::{LayoutId, State},
};
use crate::{
    Error, KeyWriter, Layout, LayoutInfo, Property, Result, TableEntity,
    codec::RowReader,
    entity::PENDING,
    key::{PartSink, Plain, kind},
    row::RowKeys,
};

/// A recorded layout.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableLayouts", crate = crate)]
pub(crate) struct Record {
    #[partition_key]
    pub(crate) table: String,
    #[row_key]
    pub(crate) entity_table: String,
    #[row_key]
    pub(crate) entity: String,
    #[row_key]
    pub(crate) name: String,
    pub(crate) layout: String,
    pub(crate) state: State,
}

impl LayoutId {
    /// Returns the keys of the record of this layout. Names of tables are recorded in lower case, since the service
    /// compares them without case.
    fn record_keys(self) -> Result<RowKeys> {
        let [table, entity_table] = [self.table, self.entity_table].map(str::to_ascii_lowercase);
        let mut keys = KeyWriter::new(&Record::LAYOUTS[0]);
        let pushed = keys
            .push_partition::<kind::Text, Plain, true>(&table)
            .and_then(|()| keys.push_row::<kind::Text, Plain, false>(&entity_table))
            .and_then(|()| keys.push_row::<kind::Text, Plain, false>(self.entity))
            .and_then(|()| keys.push_row::<kind::Text, Plain, true>(self.name));
        Ok(keys.finish(pushed.map(|()| true))?.unwrap_or_default())
    }
}

impl Tables {
    /// Checks whether the index of this layout may be read, which requires that every entity has its row in it. The
    /// check costs a request if `create` was not called, and while the index is being built.
    ///
    /// # Errors
    /// Returns an error if the index is being built, or is not recorded.
    pub(crate) async fn index_is_ready<E: TableEntity>(&self, layout: usize) -> Result<()> {
        let id = LayoutId::of(&E::layout(), &E::LAYOUTS[layout]);
        let (table, index) = (id.entity_table.to_owned(), id.name.to_owned());
        match self.index_state(id).await? {
            Some(State::Ready) => Ok(()),
            Some(State::Building) => Err(Error::IndexBuilding { table, index }),
            // The table may have had rows before the index was added.
            None => Err(Error::IndexNotRecorded { table, index }),
        }
    }

    /// Checks whether the index is recorded as ready. The check costs a request unless this handle already knows that
    /// it is.
    pub(crate) async fn has_ready_index(&self, entity: &Layout, layout: &'static LayoutInfo) -> Result<bool> {
        Ok(self.index_state(LayoutId::of(entity, layout)).await? == Some(State::Ready))
    }

    /// Returns the recorded state of an index; `None` if nothing is recorded.
    async fn index_state(&self, id: LayoutId) -> Result<Option<State>> {
        if self.ready().has(id) {
            return Ok(Some(State::Ready));
        }
        let (table, RowKeys { partition_key, row_key }) = (Record::LAYOUTS[0].table, id.record_keys()?);
        let row = match self.backend().get(table, &partition_key, &row_key, None).await {
            Err(Error::TableNotFound(_)) => None,
            row => row?,
        };
        let Some(row) = row.filter(|row| row.properties.get(PENDING).is_none()) else { return Ok(None) };
        let state = RowReader::new(&Record::LAYOUTS[0], table, row.as_ref()).property("State", State::from_value)?;
        if state == State::Ready {
            self.ready().remember(id, state);
        }
        Ok(Some(state))
    }
}
