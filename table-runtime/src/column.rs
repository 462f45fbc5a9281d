//! Typed columns: filters and patches.

use std::{fmt, iter, marker::PhantomData, ops};

use crate::{
    Condition, Operator, Value,
    codec::RowReader,
    limits,
    property::{Always, ByEquality, ByOrder, Maybe, Native, PropertyProblem, Store},
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

/// Function that reads a column from a row, by its name.
type Load<T> = fn(&'static str, &mut RowReader<'_>) -> crate::Result<T>;

impl<E, T, M, S> Clone for Column<E, T, M, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, M, S> Copy for Column<E, T, M, S> {}

/// A filter with a `!` over properties that a row may be without. No query accepts it.
pub enum Unclear {}
/// A column that a patch may set.
pub enum Free {}
/// A stored column that rows depend on: a patch may not set it.
pub enum Indexed {}
/// A column that is stored only in the key.
pub enum InKey {}

/// A column that a filter may name.
#[diagnostic::on_unimplemented(
    message = "a field that is only in the key has no filter",
    label = "part of the key, not a property",
    note = "narrow the query with `eq`, `starts_with` or `range` before the filter, or put `#[property]` on the field \
            to store it as a property too"
)]
pub trait Filterable {}

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
pub trait Settable {}

#[diagnostic::do_not_recommend]
impl Settable for Free {}

/// A column whose values have an order that filters can use.
#[diagnostic::on_unimplemented(
    message = "this property has no `lt`, `le`, `gt` and `ge`",
    label = "compared by `eq` and `ne` only, if at all",
    note = "text of `#[property(text)]`, names, bools and bytes have no order that the service knows"
)]
pub trait HasOrder {}

#[diagnostic::do_not_recommend]
impl HasOrder for ByOrder {}

/// A column whose values can be compared.
#[diagnostic::on_unimplemented(
    message = "this property cannot be compared",
    label = "stored as JSON",
    note = "store what you filter by as a property of its own"
)]
pub trait HasEquality {}

#[diagnostic::do_not_recommend]
impl HasEquality for ByOrder {}

#[diagnostic::do_not_recommend]
impl HasEquality for ByEquality {}

impl<E, T, M, S> Column<E, T, M, S> {
    /// Creates a column from its name and the function that reads its field. A column that is stored only in the key
    /// has no name.
    #[doc(hidden)]
    pub const fn new(name: &'static str, load: Load<T>) -> Self {
        Self { name, load, types: PhantomData }
    }

    #[inline]
    pub(crate) fn load(self, row: &mut RowReader<'_>) -> crate::Result<T> {
        (self.load)(self.name, row)
    }

    /// Returns the property's name.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

type ArgOf<'a, T, S> = <S as Store<T>>::Arg<'a>;

impl<E, T, M, S: Store<T>> Column<E, T, M, S> {
    fn compare(self, operator: Operator, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence> {
        let condition = S::arg_value(value).and_then(some).and_then(finite).map(|value| Condition::Compare {
            property: self.name,
            operator,
            value,
        });
        Filter::new(condition.map_err(|problem| Problem::Value(self.name, problem)), 1)
    }

    /// Matches rows that have the property, with this value.
    pub fn eq(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Eq, value)
    }

    /// Matches rows that have the property, with another value.
    pub fn ne(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Ne, value)
    }

    /// Matches rows that have the property, with a lesser value. Text is compared by UTF-16 unit.
    pub fn lt(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Lt, value)
    }

    /// Matches rows that have the property, with this value or a lesser one.
    pub fn le(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Le, value)
    }

    /// Matches rows that have the property, with a greater value.
    pub fn gt(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Gt, value)
    }

    /// Matches rows that have the property, with this value or a greater one.
    pub fn ge(self, value: ArgOf<'_, T, S>) -> Filter<E, S::Presence>
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
pub(crate) enum Problem {
    /// The filter compares a property with a value that no property can hold.
    Value(&'static str, PropertyProblem),
    /// The filter has more comparisons than the service accepts.
    TooMany,
}

/// A condition on the properties of `E`.
///
/// Filters are built from columns: `post.title.eq("x").and(post.likes.ge(10))`. A row without a compared property does
/// not match, whatever the operator. Therefore a query accepts a [`not`](ops::Not) only over properties that every row
/// has (`P` = [`Always`]), where its result is what the expression suggests.
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
pub struct Filter<E, P = Always> {
    pub(crate) condition: Result<Condition, Problem>,
    /// Number of comparisons, including those of a condition that was dropped because it had too many.
    pub(crate) comparisons: usize,
    types: PhantomData<fn() -> (E, P)>,
}

/// Effect of a `!` on the known presence of a filter's properties.
pub trait Negate {
    /// [`Always`], or [`Unclear`].
    type Negated;
}

impl Negate for Always {
    type Negated = Self;
}

impl Negate for Maybe {
    type Negated = Unclear;
}

impl Negate for Unclear {
    type Negated = Self;
}

/// Known presence of a filter's properties, `P` in [`Filter<E, P>`](Filter), if the filter has no ambiguous `!`. Use it
/// as the bound of functions that accept any filter.
#[diagnostic::on_unimplemented(
    message = "`!` over a property that a row may be without",
    label = "this `!` also matches rows without the property",
    note = "a comparison with a missing property is false, even `ne`, so a `!` around it matches rows without the \
            property",
    note = "write the opposite comparison: `post.url.ne(\"x\")` instead of `!post.url.eq(\"x\")`"
)]
pub trait Decided {}

#[diagnostic::do_not_recommend]
impl Decided for Always {}

#[diagnostic::do_not_recommend]
impl Decided for Maybe {}

/// Known presence of the properties in a combination of two filters.
pub trait Join<Other> {
    /// [`Always`] if both are `Always`; [`Unclear`] if one is `Unclear`; otherwise [`Maybe`].
    type Joined;
}

impl Join<Always> for Always {
    type Joined = Always;
}

impl Join<Maybe> for Always {
    type Joined = Maybe;
}

impl Join<Always> for Maybe {
    type Joined = Maybe;
}

impl Join<Maybe> for Maybe {
    type Joined = Maybe;
}

impl Join<Unclear> for Always {
    type Joined = Unclear;
}

impl Join<Unclear> for Maybe {
    type Joined = Unclear;
}

impl<P> Join<P> for Unclear {
    type Joined = Unclear;
}

impl<E, P> Filter<E, P> {
    const fn new(condition: Result<Condition, Problem>, comparisons: usize) -> Self {
        Self { condition, comparisons, types: PhantomData }
    }

    fn join<Q>(self, other: Filter<E, Q>, with: fn(Box<Condition>, Box<Condition>) -> Condition) -> Filter<E, P::Joined>
    where
        P: Join<Q>,
    {
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
    pub fn and<Q>(self, other: Filter<E, Q>) -> Filter<E, P::Joined>
    where
        P: Join<Q>,
    {
        self.join(other, Condition::And)
    }

    /// Matches rows that do not match this filter: the same as `!`.
    #[allow(clippy::should_implement_trait, reason = "`ops::Not` is implemented too; this method needs no import")]
    pub fn not(self) -> Filter<E, P::Negated>
    where
        P: Negate,
    {
        !self
    }

    /// Matches rows that match at least one of the filters.
    pub fn or<Q>(self, other: Filter<E, Q>) -> Filter<E, P::Joined>
    where
        P: Join<Q>,
    {
        self.join(other, Condition::Or)
    }
}

impl<E, P: Negate> ops::Not for Filter<E, P> {
    type Output = Filter<E, P::Negated>;

    fn not(self) -> Filter<E, P::Negated> {
        Filter::new(self.condition.map(Condition::negated), self.comparisons)
    }
}

/// Shows the condition as OData.
impl<E, P> fmt::Debug for Filter<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.condition {
            Ok(condition) => write!(f, "Filter({condition})"),
            Err(Problem::Value(name, problem)) => write!(f, "Filter({name}: {problem:?})"),
            Err(Problem::TooMany) => write!(f, "Filter({} comparisons)", self.comparisons),
        }
    }
}

impl<E, P> Clone for Filter<E, P> {
    fn clone(&self) -> Self {
        Self::new(self.condition.clone(), self.comparisons)
    }
}

/// Argument of a query's [`filter`](crate::Rows::filter): a filter, or an `Option` of one. `None` matches every row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "not a filter of this entity",
    note = "compare columns and combine them: `|post| post.title.eq(\"x\").and(post.likes.ge(10))`"
)]
pub trait IntoFilter<E> {
    /// Known presence of the filter's properties.
    type Presence;

    /// Returns the filter, if there is one.
    fn into_filter(self) -> Option<Filter<E, Self::Presence>>;
}

#[diagnostic::do_not_recommend]
impl<E, P> IntoFilter<E> for Filter<E, P> {
    type Presence = P;

    fn into_filter(self) -> Option<Self> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E, P> IntoFilter<E> for Option<Filter<E, P>> {
    type Presence = P;

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
