//! The rows that a command reads: those of a store, of a table, or of entities.

use table_runtime::{
    Error,
    inventory::Inventory,
    row::RowSet,
    transfer::{ReadPart, RowReader, Selection, TransferError},
};

use crate::{failure::Failure, store::Store};

/// What a command reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// A table, or else a recorded entity; the whole store if it is missing.
    pub(crate) name: Option<&'a str>,
    pub(crate) of: Of,
    pub(crate) partition: Option<&'a str>,
    pub(crate) from: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    /// Largest number of rows that are wanted.
    pub(crate) limit: Option<u64>,
    pub(crate) keys_only: bool,
    /// Reads also rows that cannot be copied.
    pub(crate) as_stored: bool,
    /// Leaves out events.
    pub(crate) without_events: bool,
}

/// Which rows of a name are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Of {
    /// All rows of the table, or else the entities of this name.
    #[default]
    TableOrEntity,
    /// The entities of the table: no rows of indexes, no inserts that are not committed, and no catalog.
    Entities,
}

impl Of {
    /// Returns the rows that `--entities` chooses, or those without it.
    pub(crate) const fn entities(only: bool) -> Self {
        if only { Self::Entities } else { Self::TableOrEntity }
    }
}

impl Choice<'_> {
    /// Restricts the rows of the tables.
    fn within(&self, tables: Selection) -> Selection {
        let mut selection = tables.row_keys(self.from.map(str::to_owned), self.to.map(str::to_owned));
        if let Some(partition) = self.partition {
            selection = selection.in_partition(partition);
        }
        if let Some(limit) = self.limit {
            selection = selection.page(u32::try_from(limit).unwrap_or(u32::MAX));
        }
        if !self.without_events {
            selection = selection.with_events();
        }
        if self.keys_only { selection.keys_only() } else { selection }
    }

    /// Begins to read rows of the tables.
    async fn begin(&self, store: &Store, tables: Selection) -> Result<RowReader, TransferError> {
        let reader = RowReader::new(&store.tables, self.within(tables)).await?;
        Ok(if self.as_stored { reader.as_stored() } else { reader })
    }
}

/// Which rows of the tables are those of entities.
struct Entities {
    inventory: Inventory,
    /// Position of the only entity; `None` for all of them.
    only: Option<usize>,
}

/// A reader of the chosen rows.
pub(crate) struct Rows {
    reader: RowReader,
    entities: Option<Entities>,
    /// True if the rows are those of one table, as CSV requires.
    pub(crate) is_one_table: bool,
}

impl Rows {
    /// Begins to read.
    pub(crate) async fn open(store: &Store, choice: Choice<'_>) -> Result<Self, Failure> {
        let begin = |tables| choice.begin(store, tables);
        if choice.of == Of::Entities {
            return Self::entities(store, choice).await;
        }
        let whole = |reader, is_one_table| Self { reader, entities: None, is_one_table };
        let Some(name) = choice.name else {
            return match (begin(Selection::all()).await, &store.signed_table) {
                (Err(TransferError::Store(error)), Some(table)) if is_forbidden(&error) => {
                    Ok(whole(begin(Selection::table(table)).await?, true))
                }
                (reader, _) => Ok(whole(reader?, false)),
            };
        };
        match begin(Selection::table(name)).await {
            Err(TransferError::Store(Error::TableNotFound(_))) => Self::entities(store, choice).await,
            reader => Ok(whole(reader?, true)),
        }
    }

    /// Begins to read the rows of entities.
    async fn entities(store: &Store, choice: Choice<'_>) -> Result<Self, Failure> {
        let Some(inventory) = store.inventory().await? else {
            return Err(Failure::input("entities are found by the catalog, which the credential may not read"));
        };
        let is_of_entities = |table: &&String| {
            let layouts = inventory.layouts_in(table);
            *table != CATALOG && (layouts.is_empty() || layouts.iter().any(|(_, layout)| layout.index.is_none()))
        };
        let is_named = |table: &&String| choice.name.is_none_or(|name| name.eq_ignore_ascii_case(table));
        let mut tables: Vec<_> = inventory.tables.iter().filter(is_of_entities).filter(is_named).cloned().collect();
        let mut only = None;
        if let (true, Some(name)) = (tables.is_empty(), choice.name) {
            only = inventory.entities.iter().position(|entity| entity.names.iter().any(|known| known == name));
            let Some(primary) = only.and_then(|at| inventory.entities[at].layouts.first()) else {
                let is_there = inventory.tables.iter().any(|table| is_named(&table));
                return Err(Failure::missing(if is_there {
                    format!("the table {name} has no entities, but the rows of indexes or the catalog")
                } else {
                    format!("the table {name} does not exist, and the catalog has no entity of this name")
                }));
            };
            tables = inventory.tables_of(primary).into_iter().map(str::to_owned).collect();
        }
        let is_one_table = tables.len() <= 1;
        // A page may have few rows of entities.
        let choice = Choice { limit: None, ..choice };
        let reader = choice.begin(store, Selection::tables(tables)).await?;
        Ok(Self { reader, entities: Some(Entities { inventory, only }), is_one_table })
    }

    /// Continues at the cursor of an earlier reader of the same rows.
    pub(crate) fn resume(&mut self, store: &Store, cursor: &str) -> Result<(), Failure> {
        self.reader = RowReader::resume(&store.tables, cursor)?;
        Ok(())
    }

    /// Returns the position after the last part that was read.
    pub(crate) fn cursor(&self) -> String {
        self.reader.cursor()
    }

    /// Returns the position, in the inventory, of the only entity whose rows are read.
    pub(crate) fn entity(&self) -> Option<usize> {
        self.entities.as_ref()?.only
    }

    /// Reads the next part; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<ReadPart>, Failure> {
        loop {
            let part = self.reader.next().await?;
            let (Some(entities), Some(ReadPart::Rows { table, rows })) = (&self.entities, &part) else {
                return Ok(part);
            };
            let mut kept = RowSet::default();
            rows.iter().filter(|row| entities.has(table, *row)).for_each(|row| kept.push(row));
            if !kept.is_empty() {
                return Ok(Some(ReadPart::Rows { table: table.clone(), rows: kept }));
            }
        }
    }

    /// Reads the rest, and returns the number of rows.
    pub(crate) async fn count(mut self) -> Result<u64, Failure> {
        let mut count = 0;
        while let Some(part) = self.next().await? {
            if let ReadPart::Rows { rows, .. } = part {
                count += rows.len() as u64;
            }
        }
        Ok(count)
    }
}

impl Entities {
    fn has(&self, table: &str, row: table_runtime::row::RowRef<'_>) -> bool {
        let is_only = |at: usize| {
            let found = self.inventory.identify(table, row);
            found.is_some_and(|found| std::ptr::eq(found.entity, &raw const self.inventory.entities[at]))
        };
        self.inventory.is_entity(table, row) && self.only.is_none_or(is_only)
    }
}

/// Returns the rows of a table, or of the whole store, as far as the store's signature allows.
pub(crate) fn selection(store: &Store, table: Option<&str>, partition: Option<&str>, events: bool) -> Selection {
    let table = table.or(store.signed_table.as_deref());
    let selection = table.map_or_else(Selection::all, Selection::table);
    let selection = if events { selection.with_events() } else { selection };
    match partition {
        None => selection,
        Some(partition) => selection.in_partition(partition),
    }
}

/// The table in which `create` records layouts.
pub(crate) const CATALOG: &str = "TableLayouts";

/// Checks whether the credential may not send a request.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::Service(error) if error.status == 403)
}
