//! What a comparison has to know of an entity: the rows that it should have in its indexes, and to which entity a row of an
//! index leads.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use table_model::{Holds, unstable::layout::LayoutExt};
use table_store::{
    Result, Row, RowId, RowRef,
    backend::BoxFuture,
    unstable::{RowKeys, client::Client, observe::Running},
};

use super::{marks::EventTables, position::Phase};
use crate::{
    admin::scan::{Section, sections},
    relay::EventSource,
    write::{
        RowHasher,
        index::{Encoded, EncodedRow, FoundEntity, Write},
    },
};

/// Entities and the rows of their indexes.
pub trait Described: Send + Sync {
    fn client(&self) -> &Arc<Client>;

    fn has_indexes(&self) -> bool;

    /// Checks whether an index that is compared has lists.
    fn has_lists(&self) -> bool;

    /// Returns the rows that a phase reads.
    fn sections(&self, phase: Phase) -> BoxFuture<'_, Result<Vec<Section>>>;

    /// Reads the entity in a row, committed or pending; `None` if the row is none of these entities.
    fn read(&self, table: &str, row: Row) -> Result<Option<FoundEntity>>;

    /// Returns the rows that the entity should have in the indexes that are compared.
    fn expected<'e>(&self, encoded: &'e Encoded) -> &'e [EncodedRow];

    /// Returns the layout of a row that was read among index rows; `None` if it is not compared.
    fn layout(&self, section: usize, table: &str, row: RowRef<'_>) -> Result<Option<usize>>;

    /// Returns the keys of the entity to which a row of an index leads.
    fn owner(&self, layout: usize, row: RowRef<'_>) -> Result<RowKeys>;

    /// Returns the hash of a row that an entity should have. It equals the hash of the [stored row](Self::hash_stored) if
    /// that row leads to the entity and holds what it should.
    fn hash_expected(&self, hasher: &mut RowHasher, row: &EncodedRow, entity: &RowKeys) -> u128;

    fn hash_stored(&self, hasher: &mut RowHasher, layout: usize, row: RowRef<'_>, owner: &RowKeys) -> u128;

    /// Reads the entity with these keys, to which a row of the layout leads.
    fn entity<'k>(&'k self, layout: usize, keys: &'k RowKeys) -> BoxFuture<'k, Result<Option<FoundEntity>>>;

    fn place(&self, layout: usize) -> RowPlace;

    /// Returns the location of an entity's row.
    fn entity_id(&self, layout: usize, keys: &RowKeys) -> RowId;

    /// Checks whether every entity has the rows that it is expected to have in the index. Otherwise a row that is missing is no
    /// problem.
    fn is_complete(&self, _layout: usize) -> bool {
        true
    }

    /// Checks whether the rows are known that entities should have in the index. Otherwise a row that none was found to have
    /// may be right.
    fn is_known(&self, _layout: usize) -> bool {
        true
    }

    /// Returns the indexes that are not compared completely.
    fn partly(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Returns the events of the entities.
    fn events(&self) -> BoxFuture<'_, Result<Vec<EventTables>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    fn begin(&self, _verb: &'static str) -> Option<Box<Running>> {
        None
    }
}

/// Where the rows of a layout are, and what they hold.
pub struct RowPlace {
    /// The index; `None` for the primary key.
    pub index: Option<Cow<'static, str>>,
    pub table: Cow<'static, str>,
    pub holds: Holds,
    pub is_same_partition: bool,
}

/// The entities of one type.
pub(super) struct Typed {
    pub(super) write: Arc<Write>,
    /// The only index that is compared; `None` for all of them.
    only: Option<usize>,
}

impl Typed {
    pub(super) const fn new(write: Arc<Write>, only: Option<usize>) -> Self {
        Self { write, only }
    }
}

impl Described for Typed {
    fn client(&self) -> &Arc<Client> {
        self.write.tables.backend()
    }

    fn has_indexes(&self) -> bool {
        self.write.schema.has_indexes()
    }

    fn has_lists(&self) -> bool {
        self.write.schema.lists().next().is_some()
    }

    fn sections(&self, phase: Phase) -> BoxFuture<'_, Result<Vec<Section>>> {
        let layouts = self.write.schema.layouts;
        let which = match (phase, self.only) {
            (Phase::Entities | Phase::Missing, _) => 0..1,
            (Phase::IndexRows, Some(only)) => only..only + 1,
            (Phase::IndexRows, None) => 1..layouts.len(),
        };
        Box::pin(sections(self.client(), layouts, which))
    }

    fn read(&self, _table: &str, row: Row) -> Result<Option<FoundEntity>> {
        self.write.schema.read(row)
    }

    fn expected<'e>(&self, encoded: &'e Encoded) -> &'e [EncodedRow] {
        self.only.map_or(&encoded.index_rows, |only| encoded.rows_in(only))
    }

    fn layout(&self, section: usize, _table: &str, _row: RowRef<'_>) -> Result<Option<usize>> {
        Ok(Some(section))
    }

    fn owner(&self, layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
        self.write.schema.owner(layout, row)
    }

    fn hash_expected(&self, hasher: &mut RowHasher, row: &EncodedRow, entity: &RowKeys) -> u128 {
        self.write.schema.hash_expected(hasher, row, entity)
    }

    fn hash_stored(&self, hasher: &mut RowHasher, layout: usize, row: RowRef<'_>, owner: &RowKeys) -> u128 {
        self.write.schema.hash_stored(hasher, layout, row, owner)
    }

    fn entity<'k>(&'k self, _layout: usize, keys: &'k RowKeys) -> BoxFuture<'k, Result<Option<FoundEntity>>> {
        Box::pin(self.write.entity(keys))
    }

    fn place(&self, layout: usize) -> RowPlace {
        let info = &self.write.schema.layouts[layout];
        RowPlace {
            index: info.index.as_ref().map(|_| info.name.clone()),
            table: info.table.clone(),
            holds: self.write.schema.holds(layout),
            is_same_partition: info.is_same_partition(),
        }
    }

    fn entity_id(&self, _layout: usize, keys: &RowKeys) -> RowId {
        self.write.row_id(keys)
    }

    fn events(&self) -> BoxFuture<'_, Result<Vec<EventTables>>> {
        Box::pin(async {
            let Write { tables, schema, .. } = &*self.write;
            if schema.events.is_none() {
                return Ok(Vec::new());
            }
            let source = EventSource::of(tables.clone(), *schema).await?;
            let sections = self.sections(Phase::Entities).await?;
            let tables = sections.into_iter().map(|section| section.scan.table.into_owned()).collect();
            Ok(vec![EventTables { source, tables }])
        })
    }

    fn begin(&self, verb: &'static str) -> Option<Box<Running>> {
        self.write.begin(verb)
    }
}
