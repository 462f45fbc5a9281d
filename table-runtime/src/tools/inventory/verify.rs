//! Comparison of entities with the rows of their indexes, by the recorded layouts.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    sync::Arc,
};

use table_store::{Error, PropertiesRef, Result, RowId, RowRef, backend::Scan, unstable::client::Client};

use super::{IdentifiedRow, Inventory, LayoutState, RecordedEntity, RecordedLayout, expected};
use crate::{
    client::tables::Tables,
    model::{
        entity::{PENDING, attempt},
        layout::Holds,
        row_hash::RowHasher,
    },
    read::list,
};

/// A problem that [`Inventory::verify`] has found. `Display` describes it in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordedFinding {
    /// A row whose keys fit no recorded layout, or whose `EntityType` no entity of these keys.
    Unrecognized {
        /// The row.
        row: RowId,
    },
    /// An insert that is not committed: its writer is slow or dead.
    Pending {
        /// The entity's row.
        entity: RowId,
    },
    /// An entity without its row in an index that is recorded as ready.
    MissingRow {
        /// The index.
        index: String,
        /// The missing row.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// A row of an index whose entity is missing, or has other values.
    StaleRow {
        /// The index.
        index: String,
        /// The row.
        row: RowId,
        /// The entity that the row leads to.
        entity: RowId,
    },
    /// A row of an index with properties that are not those of its entity.
    StaleCopy {
        /// The index.
        index: String,
        /// The row.
        row: RowId,
        /// The entity.
        entity: RowId,
    },
    /// A value of a unique index that several entities have.
    TwoOwners {
        /// The index.
        index: String,
        /// The row of the value.
        row: RowId,
        /// An entity that has the value, besides another one.
        entity: RowId,
    },
    /// A row of an index from which its entity's keys cannot be read.
    Unreadable {
        /// The index.
        index: String,
        /// The row.
        row: RowId,
    },
}

impl fmt::Display for RecordedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unrecognized { row } => write!(f, "{row} fits no recorded layout"),
            Self::Pending { entity } => write!(f, "{entity} is not committed"),
            Self::MissingRow { index, row, entity } => write!(f, "index `{index}`: {entity} has no row {row}"),
            Self::StaleRow { index, row, entity } => {
                write!(f, "index `{index}`: {row} points to {entity}, which is missing or has another value")
            }
            Self::StaleCopy { index, row, entity } => write!(f, "index `{index}`: {row} differs from {entity}"),
            Self::TwoOwners { index, row, entity } => {
                write!(f, "index `{index}`: {entity} and another entity both have the value of {row}")
            }
            Self::Unreadable { index, row } => write!(f, "index `{index}`: {row} leads to no entity"),
        }
    }
}

/// The result of [`Inventory::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedRows {
    /// Number of entities.
    pub entities: u64,
    /// Number of rows of ready indexes; each member of a list counts.
    pub index_rows: u64,
    /// Indexes, as `Post.title`, that were not compared completely. Those that are not ready were not compared at all.
    /// Missing rows are not reported of those with a predicate, which is not recorded, or with fields whose stored form is
    /// a program's own.
    pub partly: BTreeSet<String>,
}

/// Identity of a row that an entity should have in an index: the hash of the index, of its keys and of the entity's.
type Identity = u128;

/// A verification of some entities.
struct Verification<'i, F> {
    inventory: &'i Inventory,
    entities: Vec<&'i RecordedEntity>,
    backend: Arc<Client>,
    on_finding: F,
    hasher: RowHasher,
    /// The rows that entities should have and that were not found yet, with the hashes of their properties.
    expected: HashMap<Identity, u128>,
    /// The indexes of entities for which an entity's keys could not be computed.
    unknown: HashSet<(String, String)>,
    /// Hashes of the keys of unique indexes that an entity should have.
    unique: HashSet<u128>,
    /// Hashes of the entities whose insert is not committed. Some of their index rows exist already.
    pending: HashSet<u128>,
    done: VerifiedRows,
}

impl Inventory {
    /// Compares recorded entities with the rows of their indexes, without their types: this one, or all of them.
    /// `on_finding` receives each problem. Reads a [snapshot](crate::backend::StoreView::Snapshot) if the store has them;
    /// on the service, a row that a program writes meanwhile can be reported wrongly, so run it again.
    ///
    /// It computes the keys that an entity should have in each index from the recorded parts and the stored properties.
    /// It cannot evaluate the predicate of an index with `when`: such an index is searched for rows that are wrong, and
    /// not for those that are missing. [`Tables::verify`] does both. Indexes that are not recorded as ready are left out:
    /// programs may not have written or deleted all of their rows yet.
    ///
    /// It reads the tables of entities twice and those of indexes once, and needs some 50 bytes of memory for each row of
    /// an index.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn verify(
        &self,
        tables: &Tables,
        entity: Option<&RecordedEntity>,
        on_finding: impl FnMut(RecordedFinding),
    ) -> Result<VerifiedRows> {
        let backend = tables.backend().snapshot()?.unwrap_or_else(|| Arc::clone(tables.backend()));
        // The rows of an entity that was moved are those of its new place.
        let is_used = |entity: &&RecordedEntity| entity.moved.is_none();
        let entities = match entity {
            None => self.entities.iter().filter(is_used).collect(),
            Some(entity) => self.entities.iter().filter(|own| *own == entity).collect(),
        };
        let verification = Verification {
            inventory: self,
            entities,
            backend,
            on_finding,
            hasher: RowHasher::default(),
            expected: HashMap::new(),
            unknown: HashSet::new(),
            unique: HashSet::new(),
            pending: HashSet::new(),
            done: VerifiedRows::default(),
        };
        verification.run().await
    }
}

/// A scan of the verification.
#[derive(Clone, Copy, PartialEq)]
enum VerificationPhase {
    Entities,
    IndexRows,
    Missing,
}

impl<F: FnMut(RecordedFinding)> Verification<'_, F> {
    async fn run(mut self) -> Result<VerifiedRows> {
        for phase in [VerificationPhase::Entities, VerificationPhase::IndexRows, VerificationPhase::Missing] {
            if phase == VerificationPhase::Missing && self.expected.is_empty() {
                break;
            }
            let mut tables = BTreeSet::new();
            for layout in self.entities.iter().flat_map(|entity| &entity.layouts) {
                if layout.index.is_none() != (phase == VerificationPhase::IndexRows) {
                    tables.extend(self.inventory.tables_of(layout));
                }
            }
            for table in tables {
                self.scan(table, phase).await?;
            }
        }
        Ok(self.done)
    }

    async fn scan(&mut self, table: &str, phase: VerificationPhase) -> Result<()> {
        let backend = Arc::clone(&self.backend);
        backend.read_all(&Scan::all(table.to_owned()), |row| self.visit(table, row, phase)).await
    }

    fn visit(&mut self, table: &str, row: RowRef<'_>, phase: VerificationPhase) -> Result<()> {
        let Some(found) = self.inventory.identify(table, row) else {
            // A table of entities and of indexes is scanned in several phases.
            let is_of_entities = self.inventory.layouts_in(table).iter().any(|(_, layout)| layout.index.is_none());
            if phase == VerificationPhase::Entities || phase == VerificationPhase::IndexRows && !is_of_entities {
                (self.on_finding)(RecordedFinding::Unrecognized { row: row.id(table) });
            }
            return Ok(());
        };
        if !self.entities.iter().any(|entity| std::ptr::eq(*entity, found.entity)) {
            return Ok(());
        }
        match (phase, found.layout.index.is_some()) {
            (VerificationPhase::Entities, false) => self.entity(table, row, &found),
            (VerificationPhase::IndexRows, true) => self.index_row(table, row, &found)?,
            (VerificationPhase::Missing, false) => self.missing(table, row, &found),
            _ => {}
        }
        Ok(())
    }

    /// Collects the rows that an entity should have.
    fn entity(&mut self, table: &str, row: RowRef<'_>, found: &IdentifiedRow<'_>) {
        if row.properties.get(PENDING).and_then(attempt).is_some() {
            let owner = self.owner(found.entity, (row.partition_key, row.row_key));
            self.pending.insert(owner);
            return (self.on_finding)(RecordedFinding::Pending { entity: row.id(table) });
        }
        self.done.entities += 1;
        for index in found.entity.layouts.iter().filter(|layout| layout.index.is_some()) {
            if index.state != LayoutState::Ready {
                self.done.partly.insert(format!("{}.{}", found.entity.name, index.name));
                continue;
            }
            let expected = expected::keys(index, row, found);
            if expected.is_none() {
                self.unknown.insert((found.entity.name.clone(), index.name.clone()));
            }
            if !expected::is_complete(index) || expected.is_none() {
                self.done.partly.insert(format!("{}.{}", found.entity.name, index.name));
            }
            let content = self.content(found.entity, index, row.properties);
            for keys in expected.unwrap_or_default() {
                let identity = self.identity(index, (&keys.0, &keys.1), (row.partition_key, row.row_key));
                self.expected.insert(identity, content);
                if index.index.as_ref().is_some_and(|index| index.unique) {
                    let value = self.identity(index, (&keys.0, &keys.1), ("", ""));
                    if !self.unique.insert(value) {
                        let (index, row_id) = (index.name.clone(), location(index, &keys));
                        (self.on_finding)(RecordedFinding::TwoOwners { index, row: row_id, entity: row.id(table) });
                    }
                }
            }
        }
    }

    /// Compares a row of an index with the rows that entities should have.
    fn index_row(&mut self, table: &str, row: RowRef<'_>, found: &IdentifiedRow<'_>) -> Result<()> {
        let index = found.layout;
        if index.state != LayoutState::Ready {
            self.done.partly.insert(format!("{}.{}", found.entity.name, index.name));
            return Ok(());
        }
        let owners = if index.is_list() {
            match list::read(table, row) {
                Ok(list) => list.entities.into_iter().map(|member| (row.partition_key.to_owned(), member)).collect(),
                Err(Error::Property(_)) => Vec::new(),
                Err(error) => return Err(error),
            }
        } else {
            Vec::from_iter(expected::owner(row, found))
        };
        if owners.is_empty() {
            (self.on_finding)(RecordedFinding::Unreadable { index: index.name.clone(), row: row.id(table) });
        }
        let is_unknown = self.unknown.contains(&(found.entity.name.clone(), index.name.clone()));
        let own = (
            row.partition_key,
            if index.is_list() { super::identify::first_of_list(row.row_key) } else { row.row_key },
        );
        for owner in owners {
            self.done.index_rows += 1;
            let identity = self.identity(index, own, (&owner.0, &owner.1));
            let content = self.content(found.entity, index, row.properties);
            let entity_table = found.entity.layouts.first().map_or("", |primary| primary.table.as_str());
            let entity = RowId { table: entity_table.to_owned(), partition_key: owner.0, row_key: owner.1 };
            let (index, row) = (index.name.clone(), row.id(table));
            let owner = self.owner(found.entity, (&entity.partition_key, &entity.row_key));
            match self.expected.remove(&identity) {
                None if is_unknown || self.pending.contains(&owner) => {}
                None => (self.on_finding)(RecordedFinding::StaleRow { index, row, entity }),
                Some(expected) if expected != content => {
                    (self.on_finding)(RecordedFinding::StaleCopy { index, row, entity });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Reports the rows of an entity that were not found.
    fn missing(&mut self, table: &str, row: RowRef<'_>, found: &IdentifiedRow<'_>) {
        for index in found.entity.layouts.iter().filter(|layout| layout.index.is_some()) {
            for keys in expected::keys(index, row, found).unwrap_or_default() {
                let identity = self.identity(index, (&keys.0, &keys.1), (row.partition_key, row.row_key));
                if self.expected.remove(&identity).is_some() && expected::is_complete(index) {
                    let (index, row_id) = (index.name.clone(), location(index, &keys));
                    (self.on_finding)(RecordedFinding::MissingRow { index, row: row_id, entity: row.id(table) });
                }
            }
        }
    }

    fn identity(&mut self, index: &RecordedLayout, keys: (&str, &str), owner: (&str, &str)) -> Identity {
        let hasher = self.hasher.text(&index.table.to_ascii_lowercase()).text(&index.name).text(keys.0).text(keys.1);
        hasher.text(owner.0).text(owner.1).finish()
    }

    /// Returns the hash of an entity's identity.
    fn owner(&mut self, entity: &RecordedEntity, keys: (&str, &str)) -> u128 {
        let table = entity.layouts.first().map_or("", |primary| primary.table.as_str());
        self.hasher.text(&table.to_ascii_lowercase()).text(&entity.name).text(keys.0).text(keys.1).finish()
    }

    /// Returns the hash of the properties that a row of the index and its entity have in common.
    fn content(&mut self, entity: &RecordedEntity, index: &RecordedLayout, properties: PropertiesRef<'_>) -> u128 {
        let included = index.index.iter().flat_map(|index| index.included.values()).map(String::as_str);
        let all = entity.properties.values().next_back().into_iter().flatten().map(|(name, _)| name.as_str());
        let names: Vec<_> = match index.index.as_ref().map(|index| index.holds) {
            None | Some(Holds::Pointer | Holds::List) => return 0,
            Some(Holds::Include) => included.collect(),
            Some(Holds::Copy) => all.collect(),
        };
        let values: Vec<_> =
            names.into_iter().map(|name| (name, entity.value(&index.name, name, properties))).collect();
        let values = values.iter().filter_map(|(name, value)| Some((*name, value.value()?)));
        self.hasher.properties(values).finish()
    }
}

fn location(index: &RecordedLayout, keys: &(String, String)) -> RowId {
    RowId { table: index.table.clone(), partition_key: keys.0.clone(), row_key: keys.1.clone() }
}
