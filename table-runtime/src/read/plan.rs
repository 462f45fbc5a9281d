//! State of a query, without its types.

use std::{borrow::Cow, cell::OnceCell, cmp::Ordering, mem, ops::Bound};

use table_model::{
    Holds, LayoutInfo, PartInfo, PropertyInfo, TableEntity,
    key::{Encode, Escape, KeyBuffer, Kind, Ordered, kind},
    unstable::{
        column,
        entity::{EntityInfo, VERSION},
        key::{bucket, check_length, write_part},
        layout::{LayoutExt, slice, stored},
    },
};
use table_store::{
    Condition, Error, Result, RowRef,
    backend::{KeyRange, Partitions, Scan},
    error::{KeyError, KeyProblem, LimitError, PropertyProblem, QueryError},
    unstable::{
        RowKeys, limits,
        observe::{ObservedOperation, Running},
        order,
    },
};

use super::{
    selection::SelectedProperties,
    visible::{Bin, Rules, Visible},
};
use crate::client::tables::{LayoutId, Tables};

/// Partitions that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedPartitions {
    /// The partition that the plan names.
    One,
    /// So many hash partitions, whose keys begin with the partition key in the plan.
    Buckets(usize),
    /// The partitions in the plan's range of partition keys.
    Range,
    /// All partitions of the table.
    All,
}

/// A query without its types: a layout, the keys so far, and the filter, selection and limit of its rows.
#[derive(Clone, Debug)]
pub struct Plan {
    entity: &'static EntityInfo,
    layout_number: usize,
    /// Condition under which rows of the entity's own layout are visible.
    visible: Visible,
    partition: KeyBuffer,
    /// Beginning of the row keys, with all parts that have a value.
    row: KeyBuffer,
    partition_parts: usize,
    row_parts: usize,
    /// True if the last part of `row` has no value, but a range or a prefix.
    is_row_open: bool,
    /// True if `row` is a full key, as a constant key is: a longer key that begins with it belongs to another row.
    is_full_key: bool,
    /// Delimiter after the master's row key, if the query reads a group. The rows of a value are then the row with that
    /// key and all rows whose keys continue with this delimiter.
    group_delimiter: Option<char>,
    /// Range of the row keys, if it is not all keys that begin with `row`.
    range: Option<Box<KeyRange>>,
    /// Range of the partition keys, if the query reads the partitions in it.
    partitions: Option<Box<KeyRange>>,
    /// True if no key is in the range, so that nothing has to be read.
    is_nothing: bool,
    filter: Option<Box<Condition>>,
    /// Selected properties, if the query does not ask for whole rows.
    select: Option<SelectedProperties>,
    pub take: Option<usize>,
    /// First problem of the query, which is returned when the query is run.
    problem: Option<PlanProblem>,
}

#[derive(Clone, Debug)]
enum PlanProblem {
    Key(Box<KeyError>),
    Query(Box<QueryError>),
    Limit(Box<LimitError>),
}

impl From<PlanProblem> for Error {
    fn from(problem: PlanProblem) -> Self {
        match problem {
            PlanProblem::Key(error) => error.into(),
            PlanProblem::Query(error) => error.into(),
            PlanProblem::Limit(error) => error.into(),
        }
    }
}

/// The entity of a query over an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexedEntity {
    entity: &'static EntityInfo,
    pub layout_number: usize,
}

impl IndexedEntity {
    /// Returns the keys of the entity to which an index row belongs.
    pub fn owner(&self, row: RowRef<'_>) -> Result<RowKeys> {
        self.entity.owner(self.layout_number, row)
    }

    /// Returns the layout of the index.
    pub fn layout(&self) -> &'static LayoutInfo {
        &self.entity.layouts[self.layout_number]
    }

    /// Returns the identity of the index in the catalog.
    pub fn id(&self) -> LayoutId {
        LayoutId::of(self.entity, self.layout())
    }
}

impl Plan {
    pub fn new<E: TableEntity>(layout_number: usize) -> Self {
        Self::of_layout(E::INFO, layout_number, Visible::new(const { &Rules::of(E::INFO) }))
    }

    fn of_layout(entity: &'static EntityInfo, layout_number: usize, visible: Visible) -> Self {
        let layout = &entity.layouts[layout_number];
        let mut plan = Self {
            entity,
            layout_number,
            visible,
            partition: KeyBuffer::new(),
            row: KeyBuffer::new(),
            partition_parts: 0,
            row_parts: 0,
            is_row_open: false,
            is_full_key: layout.row.is_empty(),
            group_delimiter: None,
            range: None,
            partitions: None,
            is_nothing: false,
            filter: None,
            select: None,
            take: None,
            problem: None,
        };
        plan.partition.push_str(&layout.partition_prefix);
        plan.row.push_str(&layout.row_prefix);
        plan
    }

    /// Returns the plan for the rows of a group of which `E` is the master.
    pub fn of_group<E: TableEntity>(visible: Visible) -> Self {
        let mut plan = Self { visible, group_delimiter: Some(E::INFO.separator().unwrap_or('_')), ..Self::new::<E>(0) };
        if plan.is_full_key {
            // The items' row keys do not begin with a constant key of the master.
            plan.is_full_key = false;
            plan.row.clear();
        }
        plan
    }

    /// Returns the plan for the row of an entity with these keys.
    pub fn of_keys<E: TableEntity>(partition_key: &str, row_key: &str) -> Self {
        let mut plan = Self::new::<E>(0);
        for (buffer, key) in [(&mut plan.partition, partition_key), (&mut plan.row, row_key)] {
            buffer.clear();
            buffer.push_str(key);
        }
        plan
    }

    /// Returns the plan for the row of an entity with these keys; a plan that fails if the entity has no keys.
    pub fn of_stored<E: TableEntity>(keys: Result<RowKeys, Box<KeyError>>) -> Self {
        match keys {
            Ok(RowKeys { partition_key, row_key }) => Self::of_keys::<E>(&partition_key, &row_key),
            Err(error) => Self { problem: Some(PlanProblem::Key(error)), ..Self::new::<E>(0) },
        }
    }

    /// Begins a user's operation that runs the query; `None` if nobody observes it. A query that is a method of a generic type
    /// calls this function, which is compiled once.
    pub fn begin(&self, tables: &Tables, verb: &'static str, cost: fn() -> Cow<'static, str>) -> Option<Box<Running>> {
        tables.begin_operation(|| self.operation(verb, cost()))
    }

    /// Returns a user's operation that runs the query.
    pub fn operation(&self, verb: &'static str, cost: Cow<'static, str>) -> ObservedOperation {
        ObservedOperation { verb, entity: self.entity.entity, table: self.table(), cost: Some(cost) }
    }

    /// Checks whether an entity that was found may be changed so that it is not found any more.
    pub fn finds_by_value(&self) -> bool {
        self.filter.is_some() || self.layout().index.is_some() || self.visible().finds_by_bin()
    }

    pub fn table(&self) -> &'static str {
        &self.layout().table
    }

    #[cold]
    fn fail(&mut self, problem: PlanProblem) {
        self.problem.get_or_insert(problem);
    }

    #[cold]
    fn fail_key(&mut self, field: &'static str, problem: KeyProblem) {
        self.fail(PlanProblem::Key(self.layout().key_error(field, problem)));
    }

    /// Records why the query cannot be run.
    #[cold]
    pub fn refuse(&mut self, problem: String) {
        let (table, layout) = (self.layout().table.to_string(), &self.layout().name);
        self.fail(PlanProblem::Query(Box::new(QueryError::new(table, layout, problem))));
    }

    /// Adds the next part of the partition key.
    #[inline]
    pub fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) {
        if let Err(problem) = write_part::<K, N>(value, last, "PartitionKey", &mut self.partition) {
            self.fail_key(self.layout().partition.get(self.partition_parts).map_or("", |part| &part.field), problem);
        }
        self.partition_parts += 1;
    }

    /// Adds one of `count` hash partitions as the last part of the partition key.
    pub fn open_hash_partition(&mut self, number: usize, count: usize) {
        if number < count {
            self.partition.push_str(&bucket(number, count));
            self.partition_parts += 1;
        } else {
            self.refuse(format!("there is no hash partition {number}: they are numbered from 0 to {}", count - 1));
        }
    }

    /// Adds the next part of the row key.
    #[inline]
    pub fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) {
        if let Err(problem) = write_part::<K, N>(value, last, "RowKey", &mut self.row) {
            self.fail_key(self.row_field(), problem);
        }
        self.row_parts += 1;
        self.is_full_key = last;
    }

    fn row_field(&self) -> &'static str {
        self.layout().row.get(self.row_parts).map_or("", |part| &part.field)
    }

    /// Adds the beginning of the next part of the row key.
    pub fn push_prefix<N: Encode<kind::Text>>(&mut self, prefix: &str, last: bool) {
        let written = N::write(prefix, Escape::part(last), &mut self.row);
        if let Err(problem) = written.and_then(|()| check_length("RowKey", &self.row)) {
            self.fail_key(self.row_field(), problem);
        }
        self.row_parts += 1;
        self.is_row_open = true;
    }

    /// Narrows the next part of the row key to the values between two bounds. A bound that no key can hold is ignored
    /// if every key satisfies it; if no key does, the query finds nothing.
    pub fn push_range<K: Kind, N: Ordered<K>>(
        &mut self,
        bounds: (Bound<K::Value<'_>>, Bound<K::Value<'_>>),
        last: bool,
        descending: bool,
    ) {
        let delimiter = self.group_delimiter.filter(|_| last);
        let range = key_range::<K, N>(&self.row, "RowKey", bounds, KeyEnd { last, delimiter }, descending);
        let (key, field) = (self.row.as_str().to_owned(), self.row_field());
        self.range = Some(Box::new(self.range_or_nothing(key, field, range)));
        self.row_parts += 1;
        self.is_row_open = true;
    }

    /// Narrows the next part of the partition key to the values between two bounds, as [`push_range`](Self::push_range)
    /// does for the row key.
    pub fn push_partition_range<K: Kind, N: Ordered<K>>(
        &mut self,
        bounds: (Bound<K::Value<'_>>, Bound<K::Value<'_>>),
        last: bool,
        descending: bool,
    ) {
        let end = KeyEnd { last, delimiter: None };
        let range = key_range::<K, N>(&self.partition, "PartitionKey", bounds, end, descending);
        let field = self.layout().partition.get(self.partition_parts).map_or("", |part| &part.field);
        let key = self.partition.as_str().to_owned();
        self.partitions = Some(Box::new(self.range_or_nothing(key, field, range)));
        self.partition_parts += 1;
    }

    /// Returns the range of the keys that begin with `key`. If there is none, records the problem, or that the query finds
    /// nothing.
    fn range_or_nothing(
        &mut self,
        key: String,
        field: &'static str,
        range: Result<Option<KeyRange>, KeyProblem>,
    ) -> KeyRange {
        match range {
            Ok(Some(range)) => return range,
            Ok(None) => self.is_nothing = true,
            Err(problem) => self.fail_key(field, problem),
        }
        KeyRange { from: Bound::Included(key.clone()), to: Bound::Excluded(key) }
    }

    /// Adds a filter condition with this number of comparisons.
    pub fn filter(&mut self, condition: Result<Condition, column::FilterProblem>, comparisons: usize) {
        let all = self.filter.as_deref().map_or(0, Condition::comparisons).saturating_add(comparisons);
        match condition {
            Ok(condition) if all <= limits::COMPARISONS => {
                let problem = OnceCell::new();
                condition.compares_only(&|name| {
                    let checked = match self.entity.check_versions(name) {
                        _ if limits::is_filter_word(name) => Err(format!(
                            "the filter compares the property `{name}`, and the service reads this name as a word of its \
                             filters: read the entities, and filter what was read"
                        )),
                        Err(differs) => Err(format!(
                            "{differs}: read the entities, which converts them, and filter what was read"
                        )),
                        Ok(()) => Ok(()),
                    };
                    checked.map_err(|found| problem.set(found)).is_ok()
                });
                if let Some(problem) = problem.into_inner() {
                    self.refuse(problem);
                }
                let filter = self.filter.take().map(|filter| *filter);
                self.filter = Some(Box::new(both(filter, condition)));
            }
            Ok(_) | Err(column::FilterProblem::TooMany) => {
                self.fail(PlanProblem::Limit(limits::too_many_comparisons(&self.layout().table, all)));
            }
            Err(column::FilterProblem::Value(name, problem)) => {
                let PropertyProblem { expected, found } = problem;
                self.refuse(format!("the filter compares the property `{name}` with {found}; expected {expected}"));
            }
        }
    }

    /// Returns the partition; for hash partitions, the one of this `bucket`, which otherwise is empty.
    fn partition(&self, bucket: &str) -> Partitions {
        Partitions::One([self.partition.as_str(), bucket].concat())
    }

    /// Returns the range of the partition keys.
    fn partition_range(&self) -> KeyRange {
        match self.partitions.as_deref() {
            Some(range) => range.clone(),
            // Without parts, the prefix is the whole key.
            None if self.layout().partition.is_empty() => {
                let key = Bound::Included(self.partition.as_str().to_owned());
                KeyRange { from: key.clone(), to: key }
            }
            None => order::prefixed(self.partition.as_str()),
        }
    }

    /// Limits the query to the partitions after this one.
    pub fn after_partition(&mut self, partition_key: String) {
        let KeyRange { to, .. } = self.partition_range();
        self.partitions = Some(Box::new(KeyRange { from: Bound::Excluded(partition_key), to }));
    }

    /// Checks whether the query can find no row, whatever is stored.
    pub fn is_nothing(&self) -> bool {
        self.is_nothing
    }

    pub fn problem(&self) -> Option<Error> {
        self.problem.clone().map(Error::from)
    }

    /// Returns the scans, unchecked: one, or one for each hash partition.
    fn scans(&self, reached: ReachedPartitions) -> Vec<Scan> {
        match reached {
            ReachedPartitions::One => vec![self.scan(self.partition(""))],
            ReachedPartitions::Range => vec![self.scan(Partitions::Range(self.partition_range()))],
            ReachedPartitions::All => vec![self.scan(Partitions::ALL)],
            ReachedPartitions::Buckets(count) => {
                let scan = |number| self.scan(self.partition(&bucket(number, count)));
                (0..count).map(scan).collect()
            }
        }
    }

    /// Returns the scan that `explain` shows. The scans of hash partitions differ only in the bucket, so one scan with
    /// a range of buckets represents them all.
    pub fn explained_scan(&self, reached: ReachedPartitions) -> Scan {
        match reached {
            ReachedPartitions::One => self.scan(self.partition("")),
            ReachedPartitions::Range => self.scan(Partitions::Range(self.partition_range())),
            ReachedPartitions::All => self.scan(Partitions::ALL),
            ReachedPartitions::Buckets(count) => {
                let (first, last) = (bucket(0, count), bucket(count - 1, count));
                self.scan(self.partition(&format!("{{{first}..{last}}}")))
            }
        }
    }

    fn scan(&self, partitions: Partitions) -> Scan {
        // The rows of an index have no kind.
        let is_kind = self.visible.is_kind().filter(|_| self.layout().index.is_none());
        let filter = self.filter.as_deref().filter(|_| !self.is_lookup()).cloned();
        let filter = match (is_kind, filter) {
            (Some(is_kind), Some(filter)) => Some(both(Some(is_kind), filter)),
            (is_kind, filter) => is_kind.or(filter),
        };
        let rows = match (&partitions, &self.range) {
            (Partitions::One(_), Some(range)) => KeyRange::clone(range),
            _ if self.is_full_key => {
                let key = self.row.as_str().to_owned();
                let to = match self.group_delimiter {
                    Some(delimiter) => before_next(order::successor(&format!("{key}{delimiter}"))),
                    None => Bound::Included(key.clone()),
                };
                KeyRange { from: Bound::Included(key), to }
            }
            // In every partition, the row keys of an entity begin with the same constant prefix, if it has one.
            (_, _) => order::prefixed(self.row.as_str()),
        };
        let select = self.selected(&self.visible.properties_after_filter()).map(Into::into);
        // The pattern is as long as the names of the slices, so the length of the request can be checked.
        let table = match &self.layout().slice {
            Some(slice) => slice::pattern(slice, &self.layout().table).into(),
            None => self.layout().table.clone(),
        };
        Scan { table, partitions, rows, filter, select, page: limits::PAGE }
    }

    /// Returns the scans after checking them.
    pub fn checked_scans(&self, reached: ReachedPartitions) -> Result<Vec<Scan>> {
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let scans = self.scans(reached);
        // The keys of hash partitions have the same length and the same characters, so one check is enough.
        scans.first().map(Scan::check).transpose()?;
        Ok(scans)
    }

    /// Returns the two keys of a point.
    pub fn keys(&self) -> (&str, &str) {
        (self.partition.as_str(), self.row.as_str())
    }

    /// Returns the partition that the query reads as a whole; `None` if it reads the whole table.
    ///
    /// # Errors
    /// Returns [`Error::Query`] for any other query, with the reason why a shared access signature cannot allow it.
    pub fn granted(&self, reached: ReachedPartitions) -> Result<Option<&str>> {
        let reason = if self.layout().index.is_some() {
            "a query of an index also reads entities by their own keys: sign the partition of the entities, `by_key`"
        } else if self.layout().slice.is_some() {
            "each slice is a table of its own"
        } else if self.row_parts > 0 || self.range.is_some() {
            "a signature covers whole partitions, because the end of its range of row keys is part of the range"
        } else if self.filter.is_some() || self.take.is_some() || self.select.is_some() {
            "a signature covers whole rows of a whole partition, without a filter, a limit or a projection"
        } else {
            match (self.problem(), reached) {
                (Some(error), _) => return Err(error),
                (None, ReachedPartitions::One) => return Ok(Some(self.partition.as_str())),
                (None, ReachedPartitions::All) => return Ok(None),
                (None, ReachedPartitions::Buckets(_) | ReachedPartitions::Range) => {
                    "a signature covers one partition or the whole table, and the query reads several partitions"
                }
            }
        };
        let (table, layout) = (self.layout().table.to_string(), &self.layout().name);
        Err(Box::new(QueryError::new(table, layout, format!("no shared access signature: {reason}"))).into())
    }

    /// Returns the layout. It is part of a cursor's hash: the same query over a changed layout is another query.
    pub fn layout(&self) -> &'static LayoutInfo {
        &self.entity.layouts[self.layout_number]
    }

    pub fn layout_number(&self) -> usize {
        self.layout_number
    }

    /// Returns the properties that decide whether a row of the layout is visible.
    pub fn seen_by(&self) -> Cow<'static, [&'static str]> {
        if self.layout().index.is_none() {
            self.visible.properties()
        } else {
            self.visible.properties_in(self.layout())
        }
    }

    pub fn visible(&self) -> Visible {
        self.visible
    }

    /// Sets the part that the bin has in the query.
    pub fn show(&mut self, bin: Bin) {
        self.visible.bin = bin;
    }

    /// Returns the entity, if the layout is that of an index.
    pub fn indexed_entity(&self) -> Option<IndexedEntity> {
        let Self { entity, layout_number, .. } = *self;
        self.layout().index.is_some().then_some(IndexedEntity { entity, layout_number })
    }

    /// Limits the query to the properties of a projection; `None` asks for whole rows.
    pub fn select(&mut self, selection: Option<SelectedProperties>) {
        let differs = selection.and_then(|selection| {
            selection.names(None).into_iter().find_map(|name| self.entity.check_versions(name).err())
        });
        if let Some(differs) = differs {
            self.refuse(format!("{differs}: read whole entities, which converts them"));
        }
        self.select = selection;
    }

    /// Checks that a patch can set the property in rows of any version.
    ///
    /// # Errors
    /// Returns [`Error::Query`] with the version that differs.
    pub fn check_set(&self, name: &str) -> Result<()> {
        self.entity.check_versions(name).map_err(|differs| {
            let problem = format!("{differs}: write `modify`, which reads the entity and converts it");
            Box::new(QueryError::new(self.layout().table.to_string(), &self.layout().name, problem)).into()
        })
    }

    /// Returns the properties to ask for in the layout's rows; `None` for all of them. For the entities' own rows they
    /// include `seen_by`, the properties that decide whether a row is visible. Rows of entities and copies have a
    /// version.
    pub fn selected(&self, seen_by: &[&'static str]) -> Option<Vec<&'static str>> {
        if self.is_lookup() {
            // Included properties are needed only by queries that do not read the entities.
            let pointer = self.layout().index.as_ref().filter(|index| index.holds == Holds::Include);
            return pointer.map(|index| index.pointer.iter().map(|property| &*property.name).collect());
        }
        let mut selected = self.select?.of(self.layout());
        if self.layout().holds_elements() {
            let elements = stored(self.elements()).map(|property| property.name);
            selected.extend(elements.filter(|name| !selected.contains(name)).collect::<Vec<_>>());
        }
        if self.layout().index.is_none() {
            selected.extend(seen_by);
        } else {
            let times: Vec<_> = self.visible.times_in(self.layout()).filter(|time| !selected.contains(time)).collect();
            selected.extend(times);
        }
        let holds = self.layout().index.as_ref().map(|index| index.holds);
        if matches!(holds, None | Some(Holds::Copy)) && !selected.contains(&VERSION) {
            selected.push(VERSION);
        }
        Some(selected)
    }

    /// Checks whether the rows of the layout point to entities, which are read after them.
    pub fn is_lookup(&self) -> bool {
        self.layout().is_lookup() && !self.is_covered()
    }

    /// Checks whether index rows that point to entities hold all properties that the query needs.
    pub fn is_covered(&self) -> bool {
        let elements = if self.repeats() { self.elements() } else { &[] };
        // A reader that asks for entities in the bin has to know which they are, also without other checks.
        let is_decided = |selection: &SelectedProperties| {
            selection.is_unchecked() && self.visible.bin == Bin::Hidden || self.visible.is_decided_by(self.layout())
        };
        let selection = self.select.filter(is_decided);
        selection.is_some_and(|selection| selection.is_covered(self.layout(), self.filter.as_deref(), elements))
    }

    /// Checks whether the query can read several rows of one entity: those of the elements of a field, for which it has no
    /// value.
    pub fn repeats(&self) -> bool {
        let is_open = |parts: &[PartInfo], with_value: usize| parts.iter().skip(with_value).any(|part| part.each);
        let LayoutInfo { partition, row, .. } = self.layout();
        is_open(partition, self.partition_parts) || is_open(row, self.row_parts - usize::from(self.is_row_open))
    }

    /// Returns the description of the field whose elements have rows, or of the field in which they are.
    fn elements(&self) -> &'static [PropertyInfo] {
        let field = self.layout().each().map_or("", |path| path.split_once('.').map_or(path, |(field, _)| field));
        let fields = self.entity.layout.fields;
        let at = fields.iter().position(|info| info.field == field);
        at.map_or(&[], |at| &fields[at..=at])
    }

    /// Checks whether the store may read rows of other kinds between those that the query returns.
    pub fn reads_other_kinds(&self) -> bool {
        self.layout().index.is_none() && self.visible.is_one_of_several()
    }

    /// Checks whether a filter drops rows or entities that were read.
    pub fn filters(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns the filter if it has to be evaluated on the entities that index rows point to.
    pub fn entity_filter(&self) -> Option<&Condition> {
        self.filter.as_deref().filter(|_| self.is_lookup())
    }
}

impl Plan {
    /// Returns the two keys of a point. Fails if the query has a problem, such as a key that the service refuses.
    pub fn checked_keys(&self) -> Result<(&str, &str)> {
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let (partition, row) = self.keys();
        Ok((partition, row))
    }

    /// Returns the keys of the row of a point.
    pub fn row_keys(&self) -> Result<RowKeys> {
        let (partition_key, row_key) = self.checked_keys()?;
        Ok(RowKeys { partition_key: partition_key.to_owned(), row_key: row_key.to_owned() })
    }

    /// Returns the table of a point whose keys were checked.
    pub fn row_table(&self) -> Result<Cow<'static, str>> {
        let (partition, row) = self.keys();
        self.layout().table_of(partition, row)
    }
}

/// The end of a range of keys.
#[derive(Clone, Copy)]
struct KeyEnd {
    /// True if the part of the range is the last one of the key.
    last: bool,
    /// Delimiter after the master's row key, if the query reads a group, and `last` is true.
    delimiter: Option<char>,
}

/// Returns the range of the keys that begin with `key` and whose next part is between two bounds; `None` if no key is.
fn key_range<K: Kind, N: Ordered<K>>(
    key: &KeyBuffer,
    name: &'static str,
    (from, to): (Bound<K::Value<'_>>, Bound<K::Value<'_>>),
    KeyEnd { last, delimiter }: KeyEnd,
    descending: bool,
) -> Result<Option<KeyRange>, KeyProblem> {
    let from = allowed_bound::<K, N>(from, Ordering::Less);
    let to = allowed_bound::<K, N>(to, Ordering::Greater);
    let (Some(from), Some(to)) = (from, to) else { return Ok(None) };
    let bound = |bound: Bound<K::Value<'_>>| {
        let with_part = |value| {
            let mut key = key.clone();
            write_part::<K, N>(value, last, name, &mut key)?;
            Ok(key.into_string())
        };
        Ok(match bound {
            Bound::Included(value) => Bound::Included(with_part(value)?),
            Bound::Excluded(value) => Bound::Excluded(with_part(value)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    };
    let (mut from, mut to) = (bound(from)?, bound(to)?);
    if descending {
        mem::swap(&mut from, &mut to);
    }
    if !last || delimiter.is_some() {
        // The rows of one value are those whose keys begin with the value and its delimiter; in a group, also the
        // row whose key is the value alone.
        let after = |mut key: String| {
            key.extend(delimiter);
            order::successor(&key).map_or(Bound::Unbounded, Bound::Included)
        };
        from = match from {
            Bound::Excluded(key) => after(key),
            other => other,
        };
        to = match to {
            Bound::Included(key) => match after(key) {
                Bound::Included(key) => Bound::Excluded(key),
                other => other,
            },
            other => other,
        };
    }
    let prefix = order::prefixed(key.as_str());
    let or = |bound, prefix| if bound == Bound::Unbounded { prefix } else { bound };
    Ok(Some(KeyRange { from: or(from, prefix.from), to: or(to, prefix.to) }))
}

/// Returns a bound that keys can hold. A value outside of all keys gives an unbounded end if it is on the `open` side,
/// where every key satisfies it, and `None` if it is on the other side, where no key does.
fn allowed_bound<K: Kind, N: Ordered<K>>(bound: Bound<K::Value<'_>>, open: Ordering) -> Option<Bound<K::Value<'_>>> {
    let (Bound::Included(value) | Bound::Excluded(value)) = bound else { return Some(bound) };
    match N::outside(value) {
        None => Some(bound),
        Some(side) => (side == open).then_some(Bound::Unbounded),
    }
}

/// Returns the upper bound that excludes this key; unbounded if there is no key.
fn before_next(key: Option<String>) -> Bound<String> {
    key.map_or(Bound::Unbounded, Bound::Excluded)
}

fn both(left: Option<Condition>, right: Condition) -> Condition {
    match left {
        Some(left) => Condition::And(left.into(), right.into()),
        None => right,
    }
}
