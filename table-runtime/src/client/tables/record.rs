//! Rows of the catalog: the table `TableLayouts`.
//!
//! `docs/catalog.md` describes the format. All rows are in one partition, so that one transaction can record all
//! layouts of an entity, whatever their tables.
//!
//! Messages of the compiler list all types that implement a trait and are `pub`. So these are `pub(crate)`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use table_derive::{Property, TableEntity};
use table_model::{
    EventContent, LayoutInfo, Lifecycle, TableEntity,
    key::{PartSink, Plain, kind},
    unstable::{
        entity::EntityInfo,
        key::KeyWriter,
        layout::{ReadLayout, RecordedWhole},
    },
};
use table_store::{Result, unstable::RowKeys};

/// Newest version of the format of the catalog's rows.
pub const FORMAT: i32 = 2;
/// Version of the format of a catalog in which no entity has events. Programs that know only this version take events for
/// entities.
pub const FORMAT_WITHOUT_EVENTS: i32 = 1;
/// What is [required](Facts::required) of each program if every write of the entity records an event. No index has such a
/// name.
pub const EVENTS_REQUIRED: &str = "events()";
/// Is required besides once no program relies on a record without [`EVENTS_REQUIRED`] any more.
pub const EVENTS_SETTLED: &str = "events() settled";

/// Name of a primary key among the layouts of an entity.
pub const KEY: &str = "key";

/// State of a layout.
#[derive(Property, Clone, Copy, Debug, PartialEq, Eq)]
#[table(crate = crate)]
pub(crate) enum State {
    /// An index in which entities may have no row; a primary key to which a migration still moves entities. No handle
    /// holds a lease of it.
    Building,
    /// An index in which every entity has its row; a primary key that programs may use.
    Ready,
    /// An index or a primary key that was ready. Handles may still hold leases of it.
    Leaving,
    /// An index that is being dropped; a primary key whose entities were moved. No handle holds a lease of it.
    Gone,
}

/// Identity of a layout, by which its record and its lease are found. It has the facts and not the type of an entity: the
/// structs of one entity share their leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutId {
    pub table: &'static str,
    pub entity_table: &'static str,
    pub entity: &'static str,
    /// The entity's earlier name.
    pub was: Option<&'static str>,
    pub name: &'static str,
}

impl LayoutId {
    /// Returns the identity of a layout of the entity.
    pub fn of(entity: &EntityInfo, layout: &'static LayoutInfo) -> Self {
        let (entity_table, was) = (&entity.layouts[0].table, entity.was);
        Self { table: &layout.table, entity_table, entity: entity.entity, was, name: &layout.name }
    }

    /// Returns the keys of the record of this layout of an entity that is recorded under this name.
    pub fn record_keys(&self, entity: &str) -> Result<RowKeys> {
        let [table, entity_table] = [self.table, self.entity_table].map(str::to_ascii_lowercase);
        let layout = &Record::INFO.layouts[0];
        let mut keys = KeyWriter::new(layout);
        let pushed = keys
            .push_row::<kind::Text, Plain>(&table, false)
            .and_then(|()| keys.push_row::<kind::Text, Plain>(&entity_table, false))
            .and_then(|()| keys.push_row::<kind::Text, Plain>(entity, false))
            .and_then(|()| keys.push_row::<kind::Text, Plain>(self.name, true));
        Ok(keys.finish(pushed.map(|()| true))?.next().unwrap_or_default())
    }
}

/// Record of a layout. The names of tables are in lower case, since the service compares them without case.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableLayouts", partition = "layouts", crate = crate)]
pub(crate) struct Record {
    /// The table that holds the layout's rows.
    #[row_key]
    pub table: String,
    #[row_key]
    pub entity_table: String,
    /// The first of the entity's [names](Facts::names).
    #[row_key]
    pub entity: String,
    /// Name of the index, or `key`.
    #[row_key]
    pub name: String,
    /// The layout as JSON.
    pub layout: String,
    pub state: State,
    /// How often a program that does not have the index began while it was building; how often a migration to the
    /// primary key began. Each of them changes the version of the record.
    #[property(default)]
    pub starts: i32,
    /// Facts about the entity as JSON; only in the record of the primary key. They name each property several times.
    #[property(large)]
    pub facts: Option<String>,
}

impl Record {
    pub fn is_primary(&self) -> bool {
        self.name == KEY
    }

    /// Checks whether the entity's table has this name. The service ignores case in the names of tables.
    pub fn is_of_table(&self, entity_table: &str) -> bool {
        self.entity_table.eq_ignore_ascii_case(entity_table)
    }

    /// Checks whether both are records of one entity.
    pub fn is_of_entity(&self, other: &Self) -> bool {
        self.entity_table == other.entity_table && self.entity == other.entity
    }

    /// Returns the recorded layout; `None` if it is damaged.
    pub fn layout(&self) -> Option<ReadLayout> {
        ReadLayout::of(&serde_json::from_str(&self.layout).ok()?)
    }

    pub fn facts(&self) -> Facts {
        Facts::of(self.facts.as_deref())
    }

    pub fn set_facts(&mut self, facts: &Facts) {
        // Cannot fail: the facts are texts and numbers.
        self.facts = serde_json::to_string(facts).ok();
    }
}

/// What is recorded of an entity's `Option`s of structs, variants and structs with a default: by the version of the rows and
/// by their paths.
pub type Wholes = BTreeMap<u32, BTreeMap<String, RecordedWhole>>;

/// Facts about an entity that its primary key's record holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Names that the entity has had: its kind, or the names of its structs.
    pub names: Vec<String>,
    /// Names of the structs of an entity with a kind.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub structs: BTreeSet<String>,
    /// Tables of its recorded indexes, by their names.
    pub indexes: BTreeMap<String, String>,
    /// Indexes that every writer has to know, because a backfill builds them or has built them. Also the options of a
    /// [`Lifecycle`](crate::layout::Lifecycle) whose times a backfill writes into index rows, and [`EVENTS_REQUIRED`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub required: BTreeSet<String>,
    /// The property with the time from which on the entity is absent for readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The property with the time at which the entity was put into the bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_delete: Option<String>,
    /// What the events of the entity hold, if a program records events. Other programs may record less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<EventContent>,
    /// Values as which rows without a property are read, by the index that depends on it and the name of the property.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub defaults: BTreeMap<String, BTreeMap<String, String>>,
    /// Types of the properties, by the version of the rows and the name of the property.
    pub properties: BTreeMap<u32, BTreeMap<String, String>>,
    /// Properties that rows may lack, by the version of the rows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub optional: BTreeMap<u32, BTreeSet<String>>,
    /// Values of several properties that rows may lack, by the version of the rows and by their paths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub wholes: Wholes,
    /// Fields that are stored as properties alone, and not in the primary key.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub fields: BTreeSet<String>,
    /// Place to which the entities were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<EntityPlace>,
    /// How often entities were moved to this place after others had left it.
    #[serde(skip_serializing_if = "is_zero")]
    pub came: u32,
    /// Tables that held only moved entities and are being deleted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub dropping: BTreeSet<String>,
    /// True if the rows of moved entities are deleted.
    pub dropped: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Facts {
    /// Returns the facts of this text; none if it is damaged.
    pub fn of(text: Option<&str>) -> Self {
        text.and_then(|facts| serde_json::from_str(facts).ok()).unwrap_or_default()
    }

    /// Returns the properties with the times that hide the entity.
    pub fn lifecycle(&self) -> Lifecycle<'_> {
        Lifecycle { expires: self.expires.as_deref(), soft_delete: self.soft_delete.as_deref() }
    }
}

/// Place of an entity: its table and its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityPlace {
    pub table: String,
    pub entity: String,
}

impl fmt::Display for EntityPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, entity } = self;
        write!(f, "{entity} in {table}")
    }
}

/// Head of the records. Every change of records also changes the head, under its version. So of two programs that record
/// layouts at the same time, one reads what the other has recorded. Its row key comes before those of the records, which
/// begin with the name of a table, so that it is read before them.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableLayouts", partition = "layouts", row = "!", crate = crate)]
pub(crate) struct Head {
    pub format: i32,
    /// Number of changes.
    pub changes: i64,
    /// `Some(true)` if the last change recorded nothing: a program looks for missing tables. See
    /// `CatalogChange::looking` in `admin/catalog/change.rs`.
    pub looking: Option<bool>,
}

impl Head {
    /// Returns the keys of the one row.
    pub fn keys_of() -> RowKeys {
        let LayoutInfo { partition_prefix, row_prefix, .. } = &Self::INFO.layouts[0];
        RowKeys { partition_key: partition_prefix.to_string(), row_key: row_prefix.to_string() }
    }
}
