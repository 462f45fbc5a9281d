//! From the rows of an index to their entities: points, side by side, in the order of the index.

use std::collections::VecDeque;

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, FuturesOrdered},
};

use super::{
    found::{FoundRow, IndexRowRef},
    list,
    plan::EntityFns,
    visible::Visible,
};
use crate::{
    Condition, Error, Holds, LayoutInfo, Result, Row, RowRef, Tables, backend::BoxFuture, codec::misfit, key::order,
    pacing::CONCURRENCY, property::PropertyProblem, row::RowKeys,
};

/// The entities that rows of an index lead to, each read when it is asked for, and a few ahead.
pub(crate) struct Lookups {
    tables: Tables,
    layout: &'static LayoutInfo,
    entity_fns: EntityFns,
    entities: Visible,
    /// What an entity has to fulfil: no row of the index can tell.
    filter: Option<Condition>,
    /// Rows that were read and not yet followed.
    rows: VecDeque<IndexRow>,
    /// Entities that are being read.
    reads: FuturesOrdered<BoxFuture<'static, Result<(Pointer, Option<Row>)>>>,
    /// The row of a list that a cursor ended in, and the last entity given out of it.
    resumed: Option<(RowKeys, String)>,
}

enum IndexRow {
    Pointer(Pointer),
    List(Row),
}

/// The way from a row of an index to an entity.
struct Pointer {
    from: RowKeys,
    to: RowKeys,
    is_list: bool,
}

impl Lookups {
    pub(crate) fn new(
        tables: Tables,
        layout: &'static LayoutInfo,
        entity_fns: EntityFns,
        entities: Visible,
        filter: Option<Condition>,
    ) -> Self {
        let (rows, reads) = (VecDeque::new(), FuturesOrdered::new());
        Self { tables, layout, entity_fns, entities, filter, rows, reads, resumed: None }
    }

    /// Goes on after this entity of a list.
    pub(crate) fn resume(&mut self, list: RowKeys, entity: String) {
        self.resumed = Some((list, entity));
    }

    pub(crate) fn filter(&self) -> Option<&Condition> {
        self.filter.as_ref()
    }

    /// Takes note of a row of the index.
    pub(crate) fn push(&mut self, row: RowRef<'_>) -> Result<()> {
        self.rows.push_back(if self.is_list() {
            IndexRow::List(row.to_row())
        } else {
            let from = (row.partition_key.to_owned(), row.row_key.to_owned());
            IndexRow::Pointer(Pointer { from, to: self.entity_fns.owner(row)?, is_list: false })
        });
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.reads.is_empty()
    }

    /// Begins to read entities, so many side by side at most.
    pub(crate) async fn begin(&mut self, most: usize) -> Result<()> {
        while self.reads.len() < most.min(CONCURRENCY) {
            match self.rows.pop_front() {
                Some(IndexRow::Pointer(pointer)) => {
                    let (tables, table) = (self.tables.clone(), self.entities.table);
                    self.reads.push_back(Box::pin(async move {
                        let row = tables.backend().get(table, &pointer.to.0, &pointer.to.1, None).await?;
                        Ok((pointer, row))
                    }));
                }
                Some(IndexRow::List(row)) => self.expand(row).await?,
                None => break,
            }
        }
        Ok(())
    }

    /// Lends the next entity to `read`, and says whether it was a match; `None` once all that were begun are read.
    pub(crate) async fn next(
        &mut self,
        read: &mut (dyn FnMut(FoundRow<'_>) -> Result<bool> + Send),
    ) -> Result<Option<bool>> {
        let Some(next) = self.reads.next().await else { return Ok(None) };
        let (Pointer { from, is_list, .. }, row) = next?;
        let Some(row) = row.as_ref().map(Row::as_ref) else { return Ok(Some(false)) };
        let filter = self.filter.as_ref();
        if !self.entities.is_visible(row)? || filter.is_some_and(|filter| !filter.holds(row.properties)) {
            return Ok(Some(false));
        }
        let (partition_key, row_key) = (from.0.as_str(), from.1.as_str());
        let pointer = Some(IndexRowRef { layout: self.entity_fns.layout, partition_key, row_key, is_list });
        read(FoundRow { layout: 0, table: self.entities.table, row, pointer }).map(Some)
    }

    /// How many entities a list holds.
    pub(crate) async fn count(&mut self, list: Row) -> Result<usize> {
        listed(&self.tables, self.layout, list).await.map(|entities| entities.len())
    }

    /// Puts the pointers of a list in the place of its row.
    async fn expand(&mut self, row: Row) -> Result<()> {
        let from = (row.partition_key.clone(), row.row_key.clone());
        let mut entities = listed(&self.tables, self.layout, row).await?;
        if let Some((list, last)) = &self.resumed
            && *list == from
        {
            entities.retain(|entity| order::compare(entity, last).is_gt());
        }
        for entity in entities.into_iter().rev() {
            let to = (from.0.clone(), entity);
            self.rows.push_front(IndexRow::Pointer(Pointer { from: from.clone(), to, is_list: true }));
        }
        Ok(())
    }

    /// Whether a row of the index leads to several entities.
    pub(crate) fn is_list(&self) -> bool {
        self.layout.index.as_ref().is_some_and(|index| index.holds == Holds::List)
    }
}

/// The row keys of the entities that a list holds, of which this is the first row.
async fn listed(tables: &Tables, layout: &'static LayoutInfo, mut first: Row) -> Result<Vec<String>> {
    loop {
        let list::List { mut entities, rows } = list::read(layout.table, first.as_ref())?;
        if rows == 1 {
            return Ok(entities);
        }
        let further = (2..=rows).map(|n| {
            let key = list::nth_key(&first.row_key, n);
            let partition_key = first.partition_key.as_str();
            async move { tables.backend().get(layout.table, partition_key, &key, None).await }
        });
        let further: Vec<_> = stream::iter(further).buffered(CONCURRENCY).try_collect().await?;
        let again = tables.backend().get(layout.table, &first.partition_key, &first.row_key, None).await?;
        // The list is gone.
        let Some(again) = again else { return Ok(Vec::new()) };
        if again.etag == first.etag {
            for row in further {
                let row = row.ok_or_else(|| incomplete(layout, &first, rows))?;
                entities.extend(list::read(layout.table, row.as_ref())?.entities);
            }
            list::sort(&mut entities);
            return Ok(entities);
        }
        // It was written meanwhile: rows of two states may lack an entity that moved from one row to the other.
        first = again;
    }
}

#[cold]
fn incomplete(layout: &LayoutInfo, first: &Row, rows: usize) -> Error {
    let problem = PropertyProblem { expected: "as many rows of the list".into(), found: rows.to_string() };
    misfit(first.as_ref().id(layout.table), list::ROWS, problem)
}
