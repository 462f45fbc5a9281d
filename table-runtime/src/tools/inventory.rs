//! Looking inside a store without the entities' types: which tables there are, what the catalog records about them, and
//! which entity or index a stored row belongs to.
//!
//! ```
//! use table_runtime::{TableEntity, Tables, inventory::LayoutState};
//!
//! #[derive(TableEntity)]
//! #[table(name = "Posts")]
//! struct Post {
//!     #[partition_key]
//!     author: String,
//!     #[row_key(pad = 4)]
//!     id: u32,
//!     #[index(title, lowercase)]
//!     title: String,
//! }
//!
//! # futures::executor::block_on(async {
//! let tables = Tables::in_memory()?;
//! tables.create::<Post>().await?;
//! tables.insert(&Post { author: "Marcus".into(), id: 7, title: "Hello".into() }).await?;
//!
//! let inventory = tables.inventory().await?;
//! assert_eq!(inventory.tables, ["Posts", "PostsByTitle", "TableLayouts"]);
//! let post = &inventory.entities[0];
//! assert_eq!((post.name.as_str(), post.layouts.len()), ("Post", 2));
//! assert_eq!((&*post.layouts[1].name, post.state("title")), ("title", LayoutState::Ready));
//!
//! let key = inventory.identify_keys("Posts", "Marcus", "0007").expect("a row of posts");
//! assert_eq!(key.to_string(), "author=Marcus id=7");
//! # Ok::<(), table_runtime::Error>(())
//! # }).unwrap();
//! ```

mod events;
mod expected;
mod identify;
mod recorded;
mod rows;
mod sweep;
mod verify;

use std::collections::BTreeSet;

use table_model::{LayoutInfo, TableEntity, unstable::event::MARKS};
use table_store::{Result, backend::BackendExt};

pub use events::{EntityEvents, FailedEvent};
pub use identify::{IdentifiedRow, KeyValue};
pub use recorded::{LayoutState, RecordedEntity};

use crate::client::tables::{Record, Tables};

/// The tables of a store, and the entities that its catalog records.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Inventory {
    /// Names of the tables, in order.
    pub tables: Vec<String>,
    /// The recorded entities, in the order of their tables and names.
    pub entities: Vec<RecordedEntity>,
}

impl Tables {
    /// Lists the tables of the store, and reads the catalog: a request for each page of either. Entities for which no
    /// program has called [`create`](Self::create) are not recorded.
    ///
    /// # Errors
    /// Returns [`Error::NewerCatalog`](crate::Error::NewerCatalog) if a newer version of this crate wrote the catalog, and the errors of the store.
    pub async fn inventory(&self) -> Result<Inventory> {
        let mut tables = self.backend().list_tables("").await?;
        tables.sort_by_cached_key(|table| table.to_ascii_lowercase());
        let records = self.catalog().await?.records;
        let entities = recorded::entities(&records);
        Ok(Inventory { tables, entities })
    }
}

impl Inventory {
    /// Returns the tables that belong to no recorded entity, besides the catalog itself and the marks of events.
    pub fn unrecorded(&self) -> impl Iterator<Item = &str> {
        let is_recorded = |table: &str| {
            [&*Record::INFO.layouts[0].table, MARKS].iter().any(|own| table.eq_ignore_ascii_case(own))
                || self.entities.iter().flat_map(|entity| &entity.layouts).any(|layout| layout.has_table(table))
        };
        self.tables.iter().map(String::as_str).filter(move |table| !is_recorded(table))
    }

    /// Returns the layouts whose rows can be in the table, with their entities.
    pub fn layouts_in<'i>(&'i self, table: &str) -> Vec<(&'i RecordedEntity, &'i LayoutInfo)> {
        let mut found = Vec::new();
        for entity in &self.entities {
            found.extend(entity.layouts.iter().filter(|layout| layout.has_table(table)).map(|layout| (entity, layout)));
        }
        found
    }

    /// Returns the existing tables of a layout: one, or one for each slice.
    pub fn tables_of<'i>(&'i self, layout: &LayoutInfo) -> Vec<&'i str> {
        self.tables.iter().map(String::as_str).filter(|table| layout.has_table(table)).collect()
    }
}

/// Names in order, each once.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().collect()
}
