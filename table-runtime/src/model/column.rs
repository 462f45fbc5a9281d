//! Typed columns: filters and patches.

use std::{cmp, fmt, iter, marker::PhantomData, ops};

use table_store::{Condition, Operator, Value, error::PropertyProblem, unstable::limits};

use crate::model::{
    codec::RowReader,
    entity::TableEntity,
    hints::{Absent, Assign, Compare, TableStorage, TextSearch, missing},
    property::{ByEquality, ByOrder, Load, Native, ReadPart, Store},
    sealed::{Sealed, sealed},
};

/// A property of the entity `E` with the field type `T`. Filters compare it and patches set it.
///
/// The derive creates one for each stored field and for each key field. The column of a key field exists so that
/// compiler errors explain how keys are queried.
pub struct Column<E, T, M = Free, S = Native> {
    name: &'static str,
    load: Load<T>,
    types: PhantomData<fn() -> (E, T, M, S)>,
}

impl<E, T, M, S> Clone for Column<E, T, M, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, M, S> Copy for Column<E, T, M, S> {}

/// A column that a patch may set.
pub enum Free {}
/// A stored column that rows depend on: a patch may not set it.
pub enum Indexed {}
/// A column that is stored only in the key.
pub enum InKey {}

sealed!([] Free Indexed InKey;);

/// A column that a filter may name.
#[diagnostic::on_unimplemented(
    message = "a field that is only in the key has no filter",
    label = "part of the key, not a property",
    note = "narrow the query with `eq`, `starts_with` or `range` before the filter, or put `#[property]` on the field \
            to store it as a property too"
)]
pub trait Filterable: Sealed {}

#[diagnostic::do_not_recommend]
impl Filterable for Free {}

#[diagnostic::do_not_recommend]
impl Filterable for Indexed {}

/// A column that a patch may set.
#[diagnostic::on_unimplemented(
    message = "`patch` cannot set a field that keys or indexes depend on",
    label = "a row would be left behind with the old value",
    note = "read the entity, change the field and call `update(&mut stored)`; where it is the primary key itself, \
            delete the one and insert the other"
)]
pub trait Settable: Sealed {}

#[diagnostic::do_not_recommend]
impl Settable for Free {}

/// A column whose values have an order that filters can use.
#[diagnostic::on_unimplemented(
    message = "this property has no `lt`, `le`, `gt` and `ge`",
    label = "compared by `eq` and `ne` only, if at all",
    note = "text of `#[property(text)]`, names, bools, bytes, IP addresses, and decimals without `scale` have no order that the service knows"
)]
pub trait HasOrder: Sealed {}

#[diagnostic::do_not_recommend]
impl HasOrder for ByOrder {}

/// A column whose values can be compared.
#[diagnostic::on_unimplemented(
    message = "this property cannot be compared",
    label = "stored as JSON",
    note = "store what you filter by as a property of its own"
)]
pub trait HasEquality: Sealed {}

#[diagnostic::do_not_recommend]
impl HasEquality for ByOrder {}

#[diagnostic::do_not_recommend]
impl HasEquality for ByEquality {}

impl<E, T, M, S> Column<E, T, M, S> {
    #[inline]
    pub(crate) fn load(self, row: &mut RowReader<'_>) -> table_store::Result<T>
    where
        E: TableEntity,
    {
        match self.load {
            Load::Property(load) => load(self.name, row),
            Load::Key(part, read) => load_from_key::<E, T>(part, read, row),
        }
    }

    /// Returns the property's name.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// Reads a field from a part of the primary key, counted over both keys. It is apart from
/// [`load`](Column::load), which is small enough to be inlined.
fn load_from_key<E: TableEntity, T>(part: usize, read: ReadPart<T>, row: &mut RowReader<'_>) -> table_store::Result<T> {
    let layout = &E::INFO.layouts[0];
    let (mut key, at, count) = match part.checked_sub(layout.partition.len()) {
        None => (row.partition_key(layout)?, part, layout.partition.len()),
        Some(at) => (row.row_key(layout)?, at, layout.row.len()),
    };
    if at > 0 {
        key.skip_to(at, E::INFO.separator)?;
    }
    read(&mut key, at + 1 == count)
}

// These are no associated functions, because the compiler finds a function by its path faster than in a type.

/// Returns the column of a property. `load` is [`Store::LOAD`]: the compiler then has the same message for a type that
/// cannot be stored as in the other places that use it.
pub const fn property_column<E, T, M, S>(name: &'static str, load: Load<T>) -> Column<E, T, M, S> {
    Column { name, load, types: PhantomData }
}

/// Returns the column of a field that is stored only in a part of the primary key, counted over both keys. It has no name.
pub const fn key_column<E, T>(part: usize, read: ReadPart<T>) -> Column<E, T, InKey> {
    Column { name: "", load: Load::Key(part, read), types: PhantomData }
}

type ArgOf<'a, T, S> = <S as Store<T>>::Arg<'a>;

impl<E, T, M, S: Store<T>> Column<E, T, M, S> {
    fn compare(self, operator: Operator, value: ArgOf<'_, T, S>) -> Filter<E> {
        let condition = S::arg_value(value).and_then(some).and_then(finite).map(|value| Condition::Compare {
            property: self.name,
            operator,
            value,
        });
        Filter::new(condition.map_err(|problem| Problem::Value(self.name, problem)), 1)
    }

    /// Matches rows that have the property, with this value.
    pub fn eq(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Eq, value)
    }

    /// Matches rows that have the property, with another value.
    pub fn ne(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Ne, value)
    }

    /// Matches rows that have the property, with a lesser value. Text is compared by UTF-16 unit.
    pub fn lt(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Lt, value)
    }

    /// Matches rows that have the property, with this value or a lesser one.
    pub fn le(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Le, value)
    }

    /// Matches rows that have the property, with a greater value.
    pub fn gt(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Gt, value)
    }

    /// Matches rows that have the property, with this value or a greater one.
    pub fn ge(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Ge, value)
    }

    /// Sets the property in a [`patch`](crate::Tables::patch). A merge cannot remove a property, so an `Option` can
    /// only be set to a value; [`update`](crate::Tables::update) can remove it.
    pub fn set(self, value: ArgOf<'_, T, S>) -> Set<E>
    where
        M: Settable,
    {
        Set { name: self.name, value: S::arg_value(value).and_then(some), entity: PhantomData }
    }
}

/// Functions that users of other libraries expect: see [`hints`](crate::hints).
impl<E, T, M, S: Store<T>> Column<E, T, M, S> {
    missing! {
        TextSearch:
            contains<V>(V) -> Filter<E>,
            starts_with<V>(V) -> Filter<E>,
    }
    missing! {
        Absent:
            is_none() -> Filter<E>,
    }
    missing! {
        Compare:
            gte<V>(V) -> Filter<E>,
            between<V, W>(V, W) -> Filter<E>,
            is_in<V>(V) -> Filter<E>,
    }
    missing! {
        Assign:
            increment<V>(V) -> Set<E>,
    }
}

/// Stops the build of a program that uses an operator. The condition depends on the type, so that nothing else is stopped.
const fn refuse_operator<V>() -> bool {
    assert!(
        size_of::<V>() == usize::MAX,
        "columns are compared by methods, not by operators: write `post.likes.ge(1)` for `post.likes >= 1`, and \
         `post.published.eq(false)` for `!post.published`"
    );
    false
}

/// Columns have no operators: with this implementation, the compiler reports that a filter is no `bool`, and how columns
/// are compared. No program that uses the operator can be built.
#[doc(hidden)]
impl<E, T, M, S, V> PartialEq<V> for Column<E, T, M, S> {
    fn eq(&self, _: &V) -> bool {
        const { refuse_operator::<V>() }
    }
}

/// Columns have no operators, as above.
#[doc(hidden)]
impl<E, T, M, S, V> PartialOrd<V> for Column<E, T, M, S> {
    fn partial_cmp(&self, _: &V) -> Option<cmp::Ordering> {
        const { refuse_operator::<V>() };
        None
    }
}

/// Columns have no operators, as above: `!post.published` is no filter.
#[doc(hidden)]
impl<E, T, M, S> ops::Not for Column<E, T, M, S> {
    type Output = bool;

    fn not(self) -> bool {
        const { refuse_operator::<E>() }
    }
}

/// Returns the value, or an error if there is none: a newtype of an `Option` may be empty, and neither comparisons nor
/// merges support that.
fn some(value: Option<Value>) -> Result<Value, PropertyProblem> {
    value.ok_or_else(|| PropertyProblem { expected: "a value".into(), found: "nothing".to_owned() })
}

/// Returns an error for infinities and NaN. A property may hold them, but filters have no syntax for them.
fn finite(value: Value) -> Result<Value, PropertyProblem> {
    match value {
        Value::Double(double) if !double.is_finite() => {
            Err(PropertyProblem { expected: "a finite number to compare with".into(), found: double.to_string() })
        }
        value => Ok(value),
    }
}

/// Reason why a filter is not a valid condition.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The filter compares a property with a value that no property can hold.
    Value(&'static str, PropertyProblem),
    /// The filter has more comparisons than the service accepts.
    TooMany,
}

/// A condition on the properties of `E`.
///
/// Filters are built from columns: `post.title.eq("x").and(post.likes.ge(10))`, or with operators,
/// `post.title.eq("x") & !post.likes.lt(10)`. A row without a compared property does not match, whatever the operator, nor
/// does a row with a value of another type. A `!` is a filter of the opposite comparisons, so such rows do not match it
/// either: `!post.url.eq("x")` is `post.url.ne("x")`, and matches no post without a URL.
///
/// The service accepts at most 15 comparisons, including those of the query's keys. A filter with more can be built,
/// from a list of any length, but the query that takes it returns [`Error::Limit`](crate::Error::Limit). To read many
/// keys, use [`get_many`](crate::Tables::get_many).
///
/// Any numeric field reads numbers that other programs wrote as `Edm.Int32`, `Edm.Int64` or `Edm.Double`, if the field
/// holds them exactly. The embedded store compares such numbers by value, whatever their types. The service compares by
/// the type of the field and does not find a number of another type; Azurite answers some such comparisons with status
/// 500. If a filter has to find such rows, write them once with this program.
#[must_use = "a filter does nothing until a query has it"]
pub struct Filter<E> {
    pub(crate) condition: Result<Condition, Problem>,
    /// Number of comparisons, including those of a condition that was dropped because it had too many.
    pub(crate) comparisons: usize,
    types: PhantomData<fn() -> E>,
}

impl<E> Sealed<E> for Filter<E> {}

impl<E> Filter<E> {
    const fn new(condition: Result<Condition, Problem>, comparisons: usize) -> Self {
        Self { condition, comparisons, types: PhantomData }
    }

    fn join(self, other: Self, with: fn(Box<Condition>, Box<Condition>) -> Condition) -> Self {
        let comparisons = self.comparisons.saturating_add(other.comparisons);
        let both = match (self.condition, other.condition) {
            (Err(problem @ Problem::Value(..)), _) | (_, Err(problem @ Problem::Value(..))) => Err(problem),
            // A condition that no query accepts is dropped: otherwise it would be nested as deeply as the list it was
            // built from is long.
            (Ok(left), Ok(right)) if comparisons <= limits::COMPARISONS => Ok(with(left.into(), right.into())),
            _ => Err(Problem::TooMany),
        };
        Filter::new(both, comparisons)
    }

    /// Matches rows that match both filters.
    pub fn and(self, other: Self) -> Self {
        self.join(other, Condition::And)
    }

    /// Matches rows for which the opposite comparisons hold: the same as `!`. A row without a compared property does not
    /// match: `post.url.eq("x").not()` is `post.url.ne("x")`.
    #[allow(clippy::should_implement_trait, reason = "`ops::Not` is implemented too; this method needs no import")]
    pub fn not(self) -> Self {
        !self
    }

    /// Matches rows that match at least one of the filters.
    pub fn or(self, other: Self) -> Self {
        self.join(other, Condition::Or)
    }
}

impl<E> ops::Not for Filter<E> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(self.condition.map(Condition::negated), self.comparisons)
    }
}

/// The same as [`and`](Filter::and).
impl<E> ops::BitAnd for Filter<E> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

/// The same as [`or`](Filter::or).
impl<E> ops::BitOr for Filter<E> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// Shows the condition as OData.
impl<E> fmt::Debug for Filter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.condition {
            Ok(condition) => write!(f, "Filter({condition})"),
            Err(Problem::Value(name, problem)) => write!(f, "Filter({name}: {problem:?})"),
            Err(Problem::TooMany) => write!(f, "Filter({} comparisons)", self.comparisons),
        }
    }
}

impl<E> Clone for Filter<E> {
    fn clone(&self) -> Self {
        Self::new(self.condition.clone(), self.comparisons)
    }
}

/// Argument of a query's [`filter`](crate::Rows::filter): a filter, or an `Option` of one. `None` matches every row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "the closure returns no filter of this entity",
    note = "columns are compared by methods: `post.likes.ge(1)` for `>= 1`, `post.title.eq(\"x\")` for `==`, \
            `post.published.eq(true)` for a `bool`, `eq(false)` for its opposite",
    note = "filters are combined with `and`, `or` and `!`, not with `&&` and `||`: \
            `post.title.eq(\"x\").and(post.likes.ge(1))`"
)]
pub trait IntoFilter<E>: Sealed<E> {
    /// Returns the filter, if there is one.
    fn into_filter(self) -> Option<Filter<E>>;
}

#[diagnostic::do_not_recommend]
impl<E> IntoFilter<E> for Filter<E> {
    fn into_filter(self) -> Option<Self> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E> IntoFilter<E> for Option<Filter<E>> {
    fn into_filter(self) -> Self {
        self
    }
}

/// New value of a property, in a [`patch`](crate::Tables::patch) of `E`.
#[must_use = "a value is set by a `patch`"]
pub struct Set<E> {
    pub(crate) name: &'static str,
    pub(crate) value: Result<Value, PropertyProblem>,
    entity: PhantomData<fn() -> E>,
}

/// What a [`patch`](crate::Tables::patch) of `E` sets: a [`Set`], or an array, a `Vec` or an iterator of them.
#[diagnostic::on_unimplemented(
    message = "the closure of a patch returns what it sets, not `{Self}`",
    label = "the closure must return an array",
    note = "write `|post| [post.title.set(\"x\"), post.likes.set(1)]`, without a semicolon at the end",
    note = "to change the entity as a value, use `tables.modify(T::key(…), |post| post.likes += 1)`"
)]
pub trait Sets<E> {
    #[doc(hidden)]
    fn into_sets(self) -> impl Iterator<Item = Set<E>>;
}

#[diagnostic::do_not_recommend]
impl<E, I: IntoIterator<Item = Set<E>>> Sets<E> for I {
    fn into_sets(self) -> impl Iterator<Item = Set<E>> {
        self.into_iter()
    }
}

/// A patch of a single property needs no array.
impl<E> IntoIterator for Set<E> {
    type Item = Self;
    type IntoIter = iter::Once<Self>;

    fn into_iter(self) -> iter::Once<Self> {
        iter::once(self)
    }
}

impl<E> Clone for Set<E> {
    fn clone(&self) -> Self {
        Self { name: self.name, value: self.value.clone(), entity: PhantomData }
    }
}

impl<E> fmt::Debug for Set<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set").field("name", &self.name).field("value", &self.value).finish()
    }
}

impl<E, T, M, S> fmt::Debug for Column<E, T, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.name).finish()
    }
}
