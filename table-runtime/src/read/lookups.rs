//! Reads the entities that index rows point to: point reads, several concurrently, in the order of the index.

use std::{collections::VecDeque, future};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, FuturesOrdered},
};
use table_model::{
    Holds, LayoutInfo,
    unstable::codec::{is_unreadable, misfit},
};
use table_store::{
    Condition, Error, Result, Row, RowRef,
    backend::{BackendExt, BoxFuture},
    error::PropertyProblem,
    unstable::{RowKeys, order},
};

use super::{
    cursor::Position,
    found::{FoundRow, IndexRowRef, Visit},
    list,
    once::Once,
    plan::{IndexedEntity, Plan},
    visible::Visible,
};
use crate::client::{pacing::CONCURRENCY, tables::Tables};

/// Entities that index rows point to. Each is read when the caller asks for it, or a few entities ahead.
pub struct PointerReader {
    tables: Tables,
    indexed_entity: IndexedEntity,
    entities: Visible,
    /// Condition on the entities, which cannot be evaluated on index rows.
    filter: Option<Condition>,
    /// Index rows that were read, and whose entities are not being read yet.
    rows: VecDeque<IndexRow>,
    /// Entities that are being read.
    reads: FuturesOrdered<BoxFuture<'static, Result<LookupRead>>>,
    /// List row at which a cursor ended, and the row key of the last entity that was returned from it.
    resumed: Option<(RowKeys, String)>,
}

enum IndexRow {
    Pointer(Pointer),
    List(Row),
    Unreadable(RowKeys, Error),
}

/// What was read through an index row.
enum LookupRead {
    Entity(Pointer, Option<Row>),
    /// The index row with these keys cannot be read.
    Unreadable(RowKeys, Error),
}

/// Pointer from an index row to an entity.
struct Pointer {
    from: RowKeys,
    to: RowKeys,
}

impl PointerReader {
    pub fn new(tables: Tables, indexed_entity: IndexedEntity, plan: &Plan) -> Self {
        let (entities, filter) = (plan.visible(), plan.entity_filter().cloned());
        let (rows, reads) = (VecDeque::new(), FuturesOrdered::new());
        Self { tables, indexed_entity, entities, filter, rows, reads, resumed: None }
    }

    /// Continues after this entity of a list.
    pub fn resume(&mut self, list: RowKeys, entity: String) {
        self.resumed = Some((list, entity));
    }

    pub fn filter(&self) -> Option<&Condition> {
        self.filter.as_ref()
    }

    /// Adds an index row whose entities are to be read.
    pub fn push(&mut self, row: RowRef<'_>) {
        self.rows.push_back(if self.is_list() {
            IndexRow::List(row.to_row())
        } else {
            match self.indexed_entity.owner(row) {
                Ok(to) => IndexRow::Pointer(Pointer { from: row.keys(), to }),
                Err(error) => IndexRow::Unreadable(row.keys(), error),
            }
        });
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.reads.is_empty()
    }

    /// Starts to read entities, at most so many concurrently.
    pub async fn begin(&mut self, limit: usize) -> Result<()> {
        while self.reads.len() < limit.min(CONCURRENCY) {
            match self.rows.pop_front() {
                Some(IndexRow::Pointer(pointer)) => {
                    let (tables, table) = (self.tables.clone(), self.entities.table);
                    self.reads.push_back(Box::pin(async move {
                        let row =
                            tables.reader().get(table, &pointer.to.partition_key, &pointer.to.row_key, None).await?;
                        Ok(LookupRead::Entity(pointer, row))
                    }));
                }
                Some(IndexRow::List(row)) => self.expand(row).await?,
                Some(IndexRow::Unreadable(keys, error)) => {
                    self.reads.push_back(Box::pin(future::ready(Ok(LookupRead::Unreadable(keys, error)))));
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Visits the next entity and returns whether it was a match; `None` once every started read is done.
    pub async fn next(&mut self, once: Option<&Once>, visit: &mut dyn Visit) -> Result<Option<bool>> {
        let Some(next) = self.reads.next().await else { return Ok(None) };
        let at = |RowKeys { partition_key, row_key }: RowKeys, listed| Position {
            partition_key,
            row_key,
            listed,
            slice: None,
        };
        let (position, error) = match next? {
            LookupRead::Unreadable(keys, error) => (at(keys, None), error),
            LookupRead::Entity(_, None) => return Ok(Some(false)),
            LookupRead::Entity(pointer, Some(row)) => match self.visit(&pointer, row.as_ref(), once, visit) {
                Err(error) if is_unreadable(&error) => {
                    let Pointer { from, to } = pointer;
                    (at(from, self.is_list().then_some(to.row_key)), error)
                }
                is_match => return is_match.map(Some),
            },
        };
        visit.unreadable(error, position).map(|()| Some(false))
    }

    /// Visits an entity, and returns whether it was a match.
    fn visit(&self, pointer: &Pointer, row: RowRef<'_>, once: Option<&Once>, visit: &mut dyn Visit) -> Result<bool> {
        let filter = self.filter.as_ref();
        let client = self.tables.reader();
        if !self.entities.is_visible(&row)?
            || !self.entities.shows(&row, || client.earliest())?
            || filter.is_some_and(|filter| !filter.holds(row.properties))
        {
            return Ok(false);
        }
        let RowKeys { partition_key, row_key } = &pointer.from;
        let (layout, is_list) = (self.indexed_entity.layout_number, self.is_list());
        let pointer = Some(IndexRowRef { layout, partition_key, row_key, is_list });
        let table = self.entities.table;
        visit.found(&FoundRow { layout: 0, table, row: &row, pointer, once })
    }

    /// Returns the number of entities in a list.
    pub async fn count(&mut self, list: Row) -> Result<usize> {
        listed(&self.tables, self.indexed_entity.layout(), list).await.map(|entities| entities.len())
    }

    /// Replaces the row of a list by its pointers: they are read next, in order.
    async fn expand(&mut self, row: Row) -> Result<()> {
        let from = row.as_ref().keys();
        let mut entities = match listed(&self.tables, self.indexed_entity.layout(), row).await {
            Err(error) if is_unreadable(&error) => {
                self.rows.push_front(IndexRow::Unreadable(from, error));
                return Ok(());
            }
            entities => entities?,
        };
        if let Some((list, last)) = &self.resumed
            && *list == from
        {
            entities.retain(|entity| order::compare(entity, last).is_gt());
        }
        for entity in entities.into_iter().rev() {
            let to = RowKeys { partition_key: from.partition_key.clone(), row_key: entity };
            self.rows.push_front(IndexRow::Pointer(Pointer { from: from.clone(), to }));
        }
        Ok(())
    }

    /// Checks whether a row of the index can point to several entities.
    pub fn is_list(&self) -> bool {
        self.indexed_entity.layout().index.as_ref().is_some_and(|index| index.holds == Holds::List)
    }
}

/// Returns the row keys of the entities in a list, given its first row.
async fn listed(tables: &Tables, layout: &'static LayoutInfo, mut first: Row) -> Result<Vec<String>> {
    loop {
        let list::List { mut entities, rows } = list::read(&layout.table, first.as_ref())?;
        if rows == 1 {
            return Ok(entities);
        }
        let further = (2..=rows).map(|n| {
            let key = list::nth_key(&first.row_key, n);
            let partition_key = first.partition_key.as_str();
            async move { tables.reader().get(&layout.table, partition_key, &key, None).await }
        });
        let further: Vec<_> = stream::iter(further).buffered(CONCURRENCY).try_collect().await?;
        let reread = tables.reader().get(&layout.table, &first.partition_key, &first.row_key, None).await?;
        // The list was deleted meanwhile.
        let Some(reread) = reread else { return Ok(Vec::new()) };
        if reread.etag == first.etag {
            for row in further {
                let row = row.ok_or_else(|| incomplete(layout, &first, rows))?;
                entities.extend(list::read(&layout.table, row.as_ref())?.entities);
            }
            list::sort(&mut entities);
            return Ok(entities);
        }
        // The list was written meanwhile. The rows may be of two states, and then an entity that moved from one row to
        // another may be missing from both.
        first = reread;
    }
}

#[cold]
fn incomplete(layout: &LayoutInfo, first: &Row, rows: usize) -> Error {
    let problem = PropertyProblem { expected: "as many rows of the list".into(), found: rows.to_string() };
    misfit(first.as_ref().id(&layout.table), list::ROWS, problem)
}
