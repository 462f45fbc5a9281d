//! Description of the requests that a query will send.

use std::{borrow::Cow, fmt};

use table_model::{
    cost::{self, Cost as _},
    unstable::layout::LayoutExt,
};
use table_store::{Ticks, ValueRef, backend::Scan};

use crate::read::{Plan, ReachedPartitions, Slices};

/// Description of the requests that a query will send to the store. `Display` writes it in one or two lines, and says
/// whether entities are read through index rows, and whether rows are read that a filter drops.
///
/// A query knows one entity type, or one group. If the entity has a [kind](derive@crate::TableEntity), rows of other kinds
/// may lie between its rows, and the store reads them: the text and
/// [`reads_more_than_it_returns`](Self::reads_more_than_it_returns) say so. An entity without a kind does not know whether
/// others share its table, as the items of a master do; their rows are read and skipped too. A group reads all kinds at
/// once; an index of the masters alone reads no items.
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
#[allow(clippy::struct_excessive_bools, reason = "each of them is a fact about the query")]
pub struct Explain {
    pub(super) cost: Cow<'static, str>,
    pub(super) tables: Vec<Cow<'static, str>>,
    pub(super) filter: String,
    pub(super) entity_filter: String,
    pub(super) requests: usize,
    pub(super) looks_up: bool,
    pub(super) filters: bool,
    pub(super) other_kinds: bool,
    /// True if a time can hide an entity that is read.
    pub(super) hides: bool,
    pub(super) elements: Option<&'static str>,
    pub(super) partitions: Option<usize>,
    pub(super) take: Option<usize>,
    pub(super) keys: Option<(String, String)>,
    pub(super) problem: Option<String>,
}

impl Explain {
    /// Describes a query of rows.
    pub(super) fn of_rows(cost: Cow<'static, str>, plan: &Plan, reached: ReachedPartitions) -> Self {
        let cost = match cost {
            // The index rows hold all that the query needs, so no entity is looked up.
            lookups if lookups == cost::Lookups::name() && plan.is_covered() => cost::Range::name(),
            cost => cost,
        };
        let problem = plan.checked_scans(reached).err().map(|error| error.to_string());
        let (scan, take) = (plan.explained_scan(reached), plan.take);
        let each = if let ReachedPartitions::Buckets(count) = reached { count } else { 1 };
        let slices = Slices::new(plan, reached, &scan.rows).map(|slices| slices.explained(each, take));
        let (tables, least) = match slices {
            Some((tables, least)) => (tables.into_iter().map(Cow::from).collect(), least),
            None => (tables(plan), each),
        };
        Self {
            cost,
            tables,
            filter: filter(&scan, plan),
            entity_filter: plan.entity_filter().map(ToString::to_string).unwrap_or_default(),
            // The entities behind pointers do not count: there may be no row, and then no entity is read.
            requests: if take == Some(0) || plan.is_nothing() { 0 } else { least },
            looks_up: plan.is_lookup(),
            filters: plan.filters(),
            other_kinds: plan.reads_other_kinds(),
            hides: plan.visible().hides(),
            elements: plan.layout().each().filter(|_| plan.repeats()),
            partitions: match reached {
                ReachedPartitions::One => Some(1),
                ReachedPartitions::Buckets(count) => Some(count),
                ReachedPartitions::Range | ReachedPartitions::All => None,
            },
            take,
            keys: None,
            problem,
        }
    }

    /// Describes a point.
    pub(super) fn of_point(plan: &Plan) -> Self {
        let problem = plan.checked_keys().err().map(|error| error.to_string());
        let (partition, row) = plan.keys();
        let (partition_literal, row_literal) = (ValueRef::String(partition), ValueRef::String(row));
        Self {
            cost: cost::Point::name(),
            tables: match plan.row_table() {
                Ok(table) if plan.layout().slice.is_some() => vec![table],
                _ => tables(plan),
            },
            filter: format!("PartitionKey eq {partition_literal} and RowKey eq {row_literal}"),
            entity_filter: String::new(),
            requests: if plan.is_lookup() { 2 } else { 1 },
            looks_up: false,
            filters: false,
            other_kinds: false,
            hides: false,
            elements: None,
            partitions: Some(1),
            take: None,
            keys: Some((partition.to_owned(), row.to_owned())),
            problem,
        }
    }

    /// Returns the cost class, such as `range`.
    pub fn cost(&self) -> &str {
        &self.cost
    }

    /// Returns the tables that the query reads. For an index whose rows point to entities: the index's table, then that
    /// of the entities. For slices: those that it may need, or `LogYYYYMM` if it first lists the existing ones.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| &**table)
    }

    /// Returns the condition on the rows, in OData; empty for all rows. Each hash partition has its own request, with
    /// the partition's number in place of `{00..15}`. `{now}` is the present time, by which expired entities are left out;
    /// the query leaves it away if it would be the 16th comparison, and checks each entity that it reads in any case.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the condition on the entities that index rows point to; empty for all of them. The store does not
    /// evaluate it: the query does, after it has read the entities.
    pub fn entity_filter(&self) -> &str {
        &self.entity_filter
    }

    /// Returns the least number of requests that the query takes: one, or one for each hash partition, or none if it
    /// can return no row. A point takes just one, or two through a pointer. Other queries take one more request for
    /// each further page, and one for the entity of each pointer, as
    /// [`looks_up_entities`](Self::looks_up_entities) says.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Checks whether the query takes one more request for each entity that the rows of an index point to. A point through
    /// a pointer counts that request among its [`requests`](Self::requests).
    pub fn looks_up_entities(&self) -> bool {
        self.looks_up
    }

    /// Returns the field of which the query may read a row for each element that an entity has in the range, with
    /// `#[index(…, each)]`. It returns the entity once; if the rows point to entities, the entity is read for each of these
    /// rows. `None` if the query reads one row of an entity.
    pub fn rows_for_each(&self) -> Option<&str> {
        self.elements
    }

    /// Checks whether the query also reads rows, or entities, that its filter drops, rows of other kinds that may lie
    /// between its rows, several rows of one entity, or entities that have expired or are in the bin.
    pub fn reads_more_than_it_returns(&self) -> bool {
        self.filters || self.other_kinds || self.hides || self.elements.is_some()
    }

    /// Returns the number of partitions that the query reads: one, or that of the hash partitions; `None` if the number
    /// depends on what is stored.
    pub fn partitions(&self) -> Option<usize> {
        self.partitions
    }

    /// Returns the limit on the number of rows, if the query has one.
    pub fn take(&self) -> Option<usize> {
        self.take
    }

    /// Returns the partition key of a point.
    pub fn partition_key(&self) -> Option<&str> {
        self.keys.as_ref().map(|(partition, _)| partition.as_str())
    }

    /// Returns the row key of a point.
    pub fn row_key(&self) -> Option<&str> {
        self.keys.as_ref().map(|(_, row)| row.as_str())
    }

    /// Returns the reason why the query will fail, if it will.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, filter, entity_filter, requests, looks_up, filters, other_kinds, hides, .. } = self;
        let (tables, s) = (self.tables.join(", "), if *requests == 1 { "" } else { "s" });
        write!(f, "{cost} of {tables}, ")?;
        match (&self.keys, self.take) {
            (Some(_), _) => write!(f, "{requests} request{s}")?,
            (None, None) => write!(f, "{requests} request{s} at least")?,
            (None, Some(take)) => write!(f, "first {take}, {requests} request{s} at least")?,
        }
        if *looks_up {
            f.write_str(", and one for each entity")?;
        }
        if *filters {
            let read = if *looks_up { "entities" } else { "rows" };
            write!(f, ", also for {read} that the filter drops")?;
        }
        if let Some(field) = self.elements {
            write!(f, ", a row for each element of `{field}` that an entity has in the range")?;
        }
        if *hides {
            f.write_str(", also for entities that a time hides")?;
        }
        if *other_kinds {
            f.write_str(", also for rows of other kinds between them")?;
        }
        if !filter.is_empty() {
            write!(f, ": {filter}")?;
        }
        if !entity_filter.is_empty() {
            write!(f, "; of the entities: {entity_filter}")?;
        }
        self.problem.as_ref().map_or(Ok(()), |problem| write!(f, "; it will fail: {problem}"))
    }
}

fn tables(plan: &Plan) -> Vec<Cow<'static, str>> {
    let entities = plan.visible().table;
    let entities = (plan.is_lookup() && entities != plan.table()).then_some(entities);
    [plan.table()].into_iter().chain(entities).map(Cow::from).collect()
}

/// Returns the filter of a scan, with the comparisons of times.
fn filter(scan: &Scan, plan: &Plan) -> String {
    let (filter, visible) = (scan.odata(), plan.visible());
    // Every moment has a text of the same length.
    if plan.is_lookup() || visible.narrowed(scan, plan.layout(), Ticks::UNIX_EPOCH).is_none() {
        return filter;
    }
    let times = visible.explained_condition(plan.layout());
    if filter.is_empty() { times } else { format!("{filter} and ({times})") }
}
