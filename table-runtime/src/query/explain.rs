//! What a query will ask of the store.

use std::{borrow::Cow, fmt};

use crate::{ValueRef, backend::Scan};

/// What a query will ask of the store. `Display` says it in a line or two.
///
/// ```
/// use table_runtime::TableEntity;
///
/// #[derive(TableEntity)]
/// struct Page {
///     #[partition_key]
///     site: String,
///     #[row_key]
///     path: String,
/// }
/// let explain = Page::by_key("blog").starts_with("2010-").explain();
/// assert_eq!(explain.filter(), "PartitionKey eq 'blog' and RowKey ge '2010-' and RowKey lt '2010.'");
/// assert_eq!(explain.to_string(), format!("range of Page, 1 request at least: {}", explain.filter()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    pub(super) cost: Cow<'static, str>,
    pub(super) tables: Vec<Cow<'static, str>>,
    pub(super) filter: String,
    pub(super) take: Option<usize>,
    pub(super) keys: Option<(String, String)>,
    pub(super) problem: Option<String>,
}

impl Explain {
    pub(super) fn scan(cost: Cow<'static, str>, scan: &Scan, take: Option<usize>, problem: Option<String>) -> Self {
        Self { cost, tables: vec![scan.table.clone()], filter: scan.odata(), take, keys: None, problem }
    }

    pub(super) fn point(
        cost: Cow<'static, str>,
        table: &'static str,
        (partition, row): (&str, &str),
        problem: Option<String>,
    ) -> Self {
        let (partition_literal, row_literal) = (ValueRef::String(partition), ValueRef::String(row));
        Self {
            cost,
            tables: vec![table.into()],
            filter: format!("PartitionKey eq {partition_literal} and RowKey eq {row_literal}"),
            take: None,
            keys: Some((partition.to_owned(), row.to_owned())),
            problem,
        }
    }

    /// The cost class, such as `range`.
    pub fn cost(&self) -> &str {
        &self.cost
    }

    /// The tables it reads.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| &**table)
    }

    /// The condition on the rows, in OData; empty for all rows.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The requests that it takes at least: one, but none for no rows. A point takes no more; of rows there may be
    /// more pages than the first.
    pub fn requests(&self) -> usize {
        usize::from(self.take != Some(0))
    }

    /// How many rows it reads at most, if that was said.
    pub fn take(&self) -> Option<usize> {
        self.take
    }

    /// The partition key of a point.
    pub fn partition_key(&self) -> Option<&str> {
        self.keys.as_ref().map(|(partition, _)| partition.as_str())
    }

    /// The row key of a point.
    pub fn row_key(&self) -> Option<&str> {
        self.keys.as_ref().map(|(_, row)| row.as_str())
    }

    /// Why running it will fail, if it will.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, filter, .. } = self;
        let (tables, requests) = (self.tables.join(", "), self.requests());
        write!(f, "{cost} of {tables}, ")?;
        match (&self.keys, self.take) {
            (Some(_), _) => write!(f, "{requests} request")?,
            (None, None) => write!(f, "{requests} request at least")?,
            (None, Some(take)) => {
                write!(f, "first {take}, {requests} request{} at least", if requests == 1 { "" } else { "s" })?;
            }
        }
        if !filter.is_empty() {
            write!(f, ": {filter}")?;
        }
        self.problem.as_ref().map_or(Ok(()), |problem| write!(f, "; it will fail: {problem}"))
    }
}
