//! The rows of recorded entities: those that an entity should have follow from the recorded layouts and the stored
//! properties.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex},
};

use table_model::{
    Holds,
    unstable::{
        entity::{PENDING, attempt},
        layout::LayoutExt,
    },
};
use table_store::{
    Error, Properties, PropertiesRef, Result, Row, RowId, RowRef,
    backend::{BackendExt, BoxFuture, Scan},
    error::QueryError,
    unstable::{RowKeys, client::Client},
};

use super::{
    IdentifiedRow, Inventory, LayoutInfo, LayoutState, RecordedEntity, expected,
    identify::{first_of_list, identified},
};
use crate::{
    admin::{
        jobs::{Described, EventTables, Phase, RowPlace},
        scan::Section,
    },
    client::tables::{Tables, lock},
    write::{
        RowHasher,
        index::{Encoded, EncodedRow, FoundEntity},
    },
};

/// The rows of recorded entities. A layout has its number among those of all entities.
pub(super) struct RecordedRows {
    pub(super) inventory: Arc<Inventory>,
    pub(super) tables: Tables,
    client: Arc<Client>,
    /// The entities whose rows are meant, by their places in the inventory.
    chosen: Vec<usize>,
    /// The states of the indexes whose rows an entity is expected to have.
    states: &'static [LayoutState],
    /// Indexes that are not compared completely.
    partly: Mutex<BTreeSet<String>>,
    /// Indexes for which the keys of some entity could not be computed.
    unknown: Mutex<HashSet<usize>>,
}

impl RecordedRows {
    /// Returns the rows of these entities, and of their indexes in these states.
    pub(super) fn new(
        inventory: &Inventory,
        tables: &Tables,
        client: Arc<Client>,
        is_chosen: impl Fn(&RecordedEntity) -> bool,
        states: &'static [LayoutState],
    ) -> Self {
        let chosen = (0..inventory.entities.len()).filter(|at| is_chosen(&inventory.entities[*at])).collect();
        let (inventory, tables) = (Arc::new(inventory.clone()), tables.clone());
        Self { inventory, tables, client, chosen, states, partly: Mutex::default(), unknown: Mutex::default() }
    }

    fn layouts(&self) -> impl Iterator<Item = (&RecordedEntity, &LayoutInfo)> {
        self.inventory.entities.iter().flat_map(|entity| entity.layouts.iter().map(move |layout| (entity, layout)))
    }

    /// Returns the entity and the layout with a number.
    pub(super) fn layout_at(&self, number: usize) -> Option<(&RecordedEntity, &LayoutInfo)> {
        self.layouts().nth(number)
    }

    fn number(&self, layout: &LayoutInfo) -> usize {
        self.layouts().position(|(_, own)| std::ptr::eq(own, layout)).unwrap_or_default()
    }

    fn is_chosen(&self, entity: &RecordedEntity) -> bool {
        self.chosen.iter().any(|at| std::ptr::eq(&raw const self.inventory.entities[*at], entity))
    }

    /// Notes that an index is not compared completely.
    fn note_partly(&self, entity: &RecordedEntity, index: &LayoutInfo) {
        lock(&self.partly).insert(index_name(entity, index));
    }

    /// Returns the entity in a row that is identified as one, with the rows that it should have.
    pub(super) fn found(&self, row: Row, identified: &IdentifiedRow<'_>) -> FoundEntity {
        let (entity, pending) = (identified.entity, row.properties.get(PENDING).and_then(attempt));
        let mut index_rows = Vec::new();
        for index in entity.layouts.iter().filter(|layout| layout.index.is_some()) {
            if !self.states.contains(&entity.state(&index.name)) {
                self.note_partly(entity, index);
                continue;
            }
            let (number, keys) = (self.number(index), expected::keys(index, row.as_ref(), identified));
            if keys.is_none() {
                lock(&self.unknown).insert(number);
            }
            if keys.is_none() || !expected::is_complete(entity, index) {
                self.note_partly(entity, index);
            }
            let properties = content(entity, index, row.properties.as_ref()).shared();
            for (partition_key, row_key) in keys.unwrap_or_default() {
                let keys = RowKeys { partition_key, row_key };
                index_rows.push(EncodedRow { layout: number, keys, properties: properties.clone() });
            }
        }
        let keys = row.as_ref().keys();
        let primary = EncodedRow { layout: self.number(identified.layout), keys, properties: Properties::default() };
        FoundEntity {
            row,
            encoded: Encoded { primary, index_rows, is_checked: false, event_pointer: None },
            unknown: None,
            pending,
        }
    }

    /// Returns the error of a row that fits no layout.
    fn unrecognized(table: &str) -> Error {
        Box::new(QueryError::new(table.to_owned(), "key", "the keys fit no recorded layout".to_owned())).into()
    }
}

/// Returns the name of an index among those of all entities.
pub(super) fn index_name(entity: &RecordedEntity, index: &LayoutInfo) -> String {
    format!("{}.{}", entity.name, index.name)
}

/// Returns the properties that a row of the index and its entity have in common.
fn content(entity: &RecordedEntity, index: &LayoutInfo, properties: PropertiesRef<'_>) -> Properties {
    let included = index.index.iter().flat_map(|index| &*index.included).map(|field| &*field.name);
    let all = entity.properties.values().next_back().into_iter().flatten().map(|(name, _)| name.as_str());
    let names: Vec<_> = match index.index.as_ref().map(|index| index.holds) {
        None | Some(Holds::Pointer | Holds::List) => Vec::new(),
        Some(Holds::Include) => included.collect(),
        Some(Holds::Copy) => all.collect(),
    };
    let mut content = Properties::default();
    for name in names {
        if let Some(value) = entity.value(&index.name, name, properties).value() {
            content.push(name, value);
        }
    }
    content
}

impl Described for RecordedRows {
    fn client(&self) -> &Arc<Client> {
        &self.client
    }

    fn has_indexes(&self) -> bool {
        self.layouts().any(|(entity, layout)| layout.index.is_some() && self.is_chosen(entity))
    }

    fn has_lists(&self) -> bool {
        self.layouts().any(|(entity, layout)| layout.is_list() && self.is_chosen(entity))
    }

    /// Whole tables, so that rows of none of their layouts are found.
    fn sections(&self, phase: Phase) -> BoxFuture<'_, Result<Vec<Section>>> {
        let is_of_phase = |layout: &LayoutInfo| layout.index.is_some() == (phase == Phase::IndexRows);
        let layouts = self.layouts().filter(|(entity, layout)| self.is_chosen(entity) && is_of_phase(layout));
        let tables: BTreeSet<_> = layouts.flat_map(|(_, layout)| self.inventory.tables_of(layout)).collect();
        let section = |table: &str| Section { layout: 0, scan: Scan::all(table.to_owned()), is_slice: true };
        let sections = tables.into_iter().map(section).collect();
        Box::pin(async { Ok(sections) })
    }

    fn read(&self, table: &str, row: Row) -> Result<Option<FoundEntity>> {
        let Some(identified) = self.inventory.identify(table, row.as_ref()) else {
            let is_event = self.inventory.is_event(table, &row.row_key);
            return if is_event { Ok(None) } else { Err(Self::unrecognized(table)) };
        };
        if identified.layout.index.is_some() || !self.is_chosen(identified.entity) {
            return Ok(None);
        }
        let found = self.found(row.clone(), &identified);
        Ok(Some(found))
    }

    fn expected<'e>(&self, encoded: &'e Encoded) -> &'e [EncodedRow] {
        &encoded.index_rows
    }

    fn layout(&self, _section: usize, table: &str, row: RowRef<'_>) -> Result<Option<usize>> {
        let Some(IdentifiedRow { entity, layout, .. }) = self.inventory.identify(table, row) else {
            // The scan of the entities reports a row of their tables.
            let is_of_entities = self.inventory.layouts_in(table).iter().any(|(_, layout)| layout.index.is_none());
            return if is_of_entities { Ok(None) } else { Err(Self::unrecognized(table)) };
        };
        // The further rows of a list are read with its first.
        let is_further = layout.is_list() && first_of_list(row.row_key) != row.row_key;
        if layout.index.is_none() || !self.is_chosen(entity) || is_further {
            return Ok(None);
        }
        if !self.states.contains(&entity.state(&layout.name)) {
            self.note_partly(entity, layout);
            return Ok(None);
        }
        Ok(Some(self.number(layout)))
    }

    fn owner(&self, layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
        let (entity, layout) = self.layout_at(layout).ok_or_else(|| Self::unrecognized(""))?;
        let found = identified(entity, layout, row.partition_key, row.row_key, None);
        let owner = found.and_then(|found| expected::owner(row, &found));
        let (partition_key, row_key) = owner.ok_or_else(|| {
            let problem = "it leads to no entity".to_owned();
            Error::from(Box::new(QueryError::new(layout.table.to_string(), "key", problem)))
        })?;
        Ok(RowKeys { partition_key, row_key })
    }

    fn hash_expected(&self, hasher: &mut RowHasher, row: &EncodedRow, entity: &RowKeys) -> u128 {
        let RowKeys { partition_key, row_key } = &row.keys;
        hasher.index_row(row.layout, (partition_key, row_key), entity).properties(row.properties.iter()).finish()
    }

    fn hash_stored(&self, hasher: &mut RowHasher, layout: usize, row: RowRef<'_>, owner: &RowKeys) -> u128 {
        let content = self.layout_at(layout).map(|(entity, layout)| content(entity, layout, row.properties));
        let properties = content.unwrap_or_default();
        hasher.index_row(layout, (row.partition_key, row.row_key), owner).properties(properties.iter()).finish()
    }

    fn entity<'k>(&'k self, layout: usize, keys: &'k RowKeys) -> BoxFuture<'k, Result<Option<FoundEntity>>> {
        Box::pin(async move {
            let Some((entity, _)) = self.layout_at(layout) else { return Ok(None) };
            for table in entity.primary().into_iter().flat_map(|primary| self.inventory.tables_of(primary)) {
                let row = self.client.get(table, &keys.partition_key, &keys.row_key, None).await?;
                let found = row.and_then(|row| self.read(table, row).ok().flatten());
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        })
    }

    fn place(&self, layout: usize) -> RowPlace {
        let (table, index) = self.layout_at(layout).map_or_else(Default::default, |(_, layout)| {
            (layout.table.to_string(), layout.index.as_ref().map(|index| (layout.name.clone(), index.holds)))
        });
        let holds = index.as_ref().map_or(Holds::Pointer, |(_, holds)| *holds);
        RowPlace { index: index.map(|(name, _)| name), table: table.into(), holds, is_same_partition: false }
    }

    fn entity_id(&self, layout: usize, keys: &RowKeys) -> RowId {
        let primary = self.layout_at(layout).and_then(|(entity, _)| entity.primary());
        RowId::of(primary.map_or("", |primary| &primary.table), keys)
    }

    fn is_complete(&self, layout: usize) -> bool {
        self.layout_at(layout).is_some_and(|(entity, layout)| expected::is_complete(entity, layout))
    }

    fn is_known(&self, layout: usize) -> bool {
        !lock(&self.unknown).contains(&layout)
    }

    fn events(&self) -> BoxFuture<'_, Result<Vec<EventTables>>> {
        let entities = self.inventory.entities.iter().filter(|entity| self.is_chosen(entity));
        let events = entities.filter_map(|entity| {
            let tables = self.inventory.tables_of(entity.primary()?).into_iter().map(str::to_owned).collect();
            Some(EventTables { source: entity.event_source(&self.tables)?, tables })
        });
        let events = events.collect();
        Box::pin(async { Ok(events) })
    }

    fn partly(&self) -> BTreeSet<String> {
        lock(&self.partly).clone()
    }
}
