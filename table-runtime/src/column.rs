//! Typed columns: filters and patches.

use std::{fmt, iter, marker::PhantomData, ops};

use crate::{
    Condition, Operator, Value,
    codec::RowReader,
    limits,
    property::{Always, ByEquality, ByOrder, Maybe, Native, PropertyProblem, Store},
};

/// A property of the entity `E`, of the field type `T`: what a filter compares and a patch sets.
///
/// The derive makes one for each stored field, and one for each key field, which teaches in the compiler's words how
/// keys are queried.
pub struct Column<E, T, M = Free, S = Native> {
    name: &'static str,
    load: Load<T>,
    types: PhantomData<fn() -> (E, T, M, S)>,
}

/// Reads a column from a row, by its name.
type Load<T> = fn(&'static str, &mut RowReader<'_>) -> crate::Result<T>;

impl<E, T, M, S> Clone for Column<E, T, M, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, M, S> Copy for Column<E, T, M, S> {}

/// A filter with a `!` over properties that a row may be without: no query takes it.
pub enum Unclear {}
/// A column that a patch may set.
pub enum Free {}
/// A stored column that rows depend on: a patch may not set it.
pub enum Indexed {}
/// A column that stands in the key alone.
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
    /// A column, and how its field is read; one that the key alone holds has no name.
    #[doc(hidden)]
    pub const fn new(name: &'static str, load: Load<T>) -> Self {
        Self { name, load, types: PhantomData }
    }

    #[inline]
    pub(crate) fn load(self, row: &mut RowReader<'_>) -> crate::Result<T> {
        (self.load)(self.name, row)
    }

    /// The property's name.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

type Arg<'a, T, S> = <S as Store<T>>::Arg<'a>;

impl<E, T, M, S: Store<T>> Column<E, T, M, S> {
    fn compare(self, operator: Operator, value: Arg<'_, T, S>) -> Filter<E, S::Presence> {
        let condition = S::arg_value(value).and_then(some).and_then(finite).map(|value| Condition::Compare {
            property: self.name,
            operator,
            value,
        });
        Filter::new(condition.map_err(|problem| Problem::Value(self.name, problem)), 1)
    }

    /// Rows that have the property, with this value.
    pub fn eq(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Eq, value)
    }

    /// Rows that have the property, with another value.
    pub fn ne(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasEquality,
    {
        self.compare(Operator::Ne, value)
    }

    /// Rows that have the property, with a lesser value. Text is compared by UTF-16 unit.
    pub fn lt(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Lt, value)
    }

    /// Rows that have the property, with this value or a lesser one.
    pub fn le(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Le, value)
    }

    /// Rows that have the property, with a greater value.
    pub fn gt(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Gt, value)
    }

    /// Rows that have the property, with this value or a greater one.
    pub fn ge(self, value: Arg<'_, T, S>) -> Filter<E, S::Presence>
    where
        M: Filterable,
        S::Order: HasOrder,
    {
        self.compare(Operator::Ge, value)
    }

    /// Sets the property, in a [`patch`](crate::Tables::patch). A merge cannot remove a property, so an `Option` is set
    /// to a value; [`update`](crate::Tables::update) removes.
    pub fn set(self, value: Arg<'_, T, S>) -> Set<E>
    where
        M: Settable,
    {
        Set { name: self.name, value: S::arg_value(value).and_then(some), entity: PhantomData }
    }
}

/// A newtype of an `Option` may hold nothing, which no comparison finds and no merge writes.
fn some(value: Option<Value>) -> Result<Value, PropertyProblem> {
    value.ok_or_else(|| PropertyProblem { expected: "a value".into(), found: "nothing".to_owned() })
}

/// Filters have no word for infinities and NaN, which a property may hold all the same.
fn finite(value: Value) -> Result<Value, PropertyProblem> {
    match value {
        Value::Double(double) if !double.is_finite() => {
            Err(PropertyProblem { expected: "a finite number to compare with".into(), found: double.to_string() })
        }
        value => Ok(value),
    }
}

/// Why a filter is no condition.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// It compares a property with a value that no property holds.
    Value(&'static str, PropertyProblem),
    /// It has more comparisons than the service takes.
    TooMany,
}

/// A condition on the properties of `E`.
///
/// Built from columns: `post.title.eq("x").and(post.likes.ge(10))`. A row without a compared property does not match,
/// whatever the operator; so a query takes a [`not`](ops::Not) only over properties that every row has (`P` =
/// [`Always`]), where it says what it seems to say.
///
/// A filter has at most 15 comparisons, those of the query's keys included, which is the service's limit. One with more
/// can be built, of a list of any length; the query that takes it gives [`Error::Limit`](crate::Error::Limit). Read
/// many keys with [`get_many`](crate::Tables::get_many).
///
/// Numbers that other programs wrote as `Edm.Int32`, `Edm.Int64` or `Edm.Double` are read by any numeric field that holds
/// them exactly. The embedded store compares them by value, whatever their types. The service compares by the type of
/// the field, and does not find a number of another type; Azurite answers some such comparisons with status 500.
/// Write such rows once with this program where a filter has to find them.
#[must_use = "a filter does nothing until a query has it"]
pub struct Filter<E, P = Always> {
    pub(crate) condition: Result<Condition, Problem>,
    /// Number of comparisons, also of a condition that was dropped since it had too many.
    pub(crate) comparisons: usize,
    types: PhantomData<fn() -> (E, P)>,
}

/// What a `!` makes of what is known of the presence of a filter's properties.
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

/// What is known of the presence of a filter's properties, `P` in [`Filter<E, P>`](Filter), where it says what it seems
/// to say: the bound of functions that take any filter.
#[diagnostic::on_unimplemented(
    message = "`!` over a property that a row may be without",
    label = "this filter has a `!` that does not mean what it says",
    note = "a comparison with a missing property is false, `ne` too, so a `!` around it takes the rows without the \
            property along",
    note = "write the opposite comparison: `post.url.ne(\"x\")` instead of `!post.url.eq(\"x\")`"
)]
pub trait Decided {}

#[diagnostic::do_not_recommend]
impl Decided for Always {}

#[diagnostic::do_not_recommend]
impl Decided for Maybe {}

/// What is known of the presence of the properties in two filters.
pub trait Join<Other> {
    /// [`Always`] if both are; [`Unclear`] if one is.
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
            // A condition that no query takes is not kept: it would be as deep as the list that it is made of.
            (Ok(left), Ok(right)) if comparisons <= limits::COMPARISONS => Ok(with(left.into(), right.into())),
            _ => Err(Problem::TooMany),
        };
        Filter::new(both, comparisons)
    }

    /// Rows for which both hold.
    pub fn and<Q>(self, other: Filter<E, Q>) -> Filter<E, P::Joined>
    where
        P: Join<Q>,
    {
        self.join(other, Condition::And)
    }

    /// Rows for which it does not hold: the same as `!`.
    #[allow(clippy::should_implement_trait, reason = "it is implemented, and this spares its import")]
    pub fn not(self) -> Filter<E, P::Negated>
    where
        P: Negate,
    {
        !self
    }

    /// Rows for which one holds, or both.
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

/// The condition in OData's words.
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

/// What a query's [`filter`](crate::Rows::filter) takes: a filter, or an `Option` of one, of which `None` drops
/// nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "not a filter of this entity",
    note = "compare columns and combine them: `|post| post.title.eq(\"x\").and(post.likes.ge(10))`"
)]
pub trait IntoFilter<E> {
    /// What is known of the presence of its properties.
    type Presence;

    /// The filter, if there is one.
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

/// A property's new value, in a [`patch`](crate::Tables::patch) of `E`.
#[must_use = "a value is set by a `patch`"]
pub struct Set<E> {
    pub(crate) name: &'static str,
    pub(crate) value: Result<Value, PropertyProblem>,
    entity: PhantomData<fn() -> E>,
}

/// A patch of one property needs no array.
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
