//! Typed columns: filters and patches.

use std::{cmp, fmt, iter, marker::PhantomData, ops};

use table_store::{Condition, Operator, Value, error::PropertyProblem, unstable::limits};

use crate::{
    codec::EntityReader,
    entity::TableEntity,
    layout::{Parts, PropertyInfo, Spot, Within, joined},
    property::{
        ByEquality, ByOrder, ColumnLoad, IntoArg, Native, OneProperty, PartReader, Partial, Passed, Shape, Store,
        shape::{At, Fresh, Place, Root, Step},
    },
    sealed::{Sealed, sealed},
};

/// A property of the entity `E` with the field type `T`. Filters compare it and patches set it.
///
/// The derive creates one for each stored field and for each key field. The column of a key field exists so that
/// compiler errors explain how keys are queried.
///
/// The column of a struct or an enum derefs to the columns of its fields: `c.address.city` is the column of the city.
///
/// `I` is the number of the field among those of the entity, or of the struct in the field.
// It has no bounds: with one, the compiler would report a type that is no property in more places.
pub struct Column<E, T, const I: usize, M = Free, S = Native, P = Root> {
    name: &'static str,
    load: ColumnLoad<T>,
    within: Option<&'static Within>,
    types: PhantomData<fn() -> (E, T, M, S, P)>,
}

impl<E, T, const I: usize, M, S, P> Clone for Column<E, T, I, M, S, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, const I: usize, M, S, P> Copy for Column<E, T, I, M, S, P> {}

impl<E: TableEntity, const I: usize> Place for At<E, Root, I> {
    const NAME: &'static str = E::INFO.layout.fields[I].name;
    const PARTS: Parts = E::INFO.layout.fields[I].parts;
    const SPOT: Spot = Spot::root(&E::INFO.layout.fields[I]);
    const WITHIN: Option<&'static Within> = None;
}

type PartsOf<E, T, M, S, P> = <<S as Store<T>>::Shape as Shape>::Columns<E, <M as Mode>::OfParts, P>;

impl<E: 'static, T, const I: usize, M: Mode, S: Store<T>, P> ops::Deref for Column<E, T, I, M, S, P>
where
    At<E, P, I>: Place,
{
    type Target = PartsOf<E, T, M, S, At<E, P, I>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        Self::Target::NEW
    }
}

impl<E, T, const I: usize, M, S, P> Fresh for Column<E, T, I, M, S, P>
where
    Self: 'static,
    S: Store<T>,
    At<E, P, I>: Place,
{
    const NEW: &'static Self = &part_column();
}

/// The column of a part on which an index depends, of the field at the place `P`. It derefs to it, and has no bounds, so that a
/// misspelt path is reported where it is written, and not wherever the columns are used.
#[doc(hidden)]
///
/// `M` is the mode: [`Indexed`], or [`Partial`] if a row may lack what is around the part.
pub struct IndexedPart<E, T, const STEP: u64, P, M>(PhantomData<fn() -> (E, T, P, M)>);

impl<E, T, const STEP: u64, P, M> Clone for IndexedPart<E, T, STEP, P, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, const STEP: u64, P, M> Copy for IndexedPart<E, T, STEP, P, M> {}

impl<E: 'static, T: 'static, const STEP: u64, P: 'static, M: 'static> Fresh for IndexedPart<E, T, STEP, P, M> {
    const NEW: &'static Self = &Self(PhantomData);
}

impl<E: 'static, T: Step<STEP>, const STEP: u64, P: Place, M: 'static> ops::Deref for IndexedPart<E, T, STEP, P, M> {
    type Target = T::Column<E, M, P>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        Self::Target::NEW
    }
}

/// Returns the column of a part of a field.
pub const fn part_column<E, T, const I: usize, M, S: Store<T>, P>() -> Column<E, T, I, M, S, P>
where
    At<E, P, I>: Place,
{
    let load = ColumnLoad::Property(S::load_in, <At<E, P, I> as Place>::PARTS);
    let (name, within) = (<At<E, P, I> as Place>::NAME, <At<E, P, I> as Place>::WITHIN);
    Column { name, load, within, types: PhantomData }
}

/// A column that a patch may set.
pub enum Free {}
/// A stored column that rows depend on: a patch may not set it.
pub enum Indexed {}
/// A column that is stored only in the key.
pub enum InKey {}
/// A column with the mode `M` that no filter may name: its property has the name of a word of OData's filters, such as `and`.
pub struct Unfiltered<M>(PhantomData<M>);

sealed!([] Free Indexed InKey; [M] Unfiltered<M>;);

/// The mode of a column.
pub trait Mode: Sealed + 'static {
    /// The mode of the columns of its parts. Their properties have longer names, of which none is a word.
    type OfParts: 'static;
}

macro_rules! modes {
    ($($mode:ident)*) => {$(
        impl Mode for $mode {
            type OfParts = Self;
        }
    )*};
}

modes! { Free Indexed InKey Partial }

impl<M: Mode> Mode for Unfiltered<M> {
    type OfParts = M;
}

/// A column that a filter may name.
#[diagnostic::on_unimplemented(
    message = "a field that is only in the key has no filter",
    label = "part of the key, not a property",
    note = "narrow the query with `eq`, `starts_with` or `range` before the filter, or put `#[property]` on the field \
            to store it as a property too"
)]
pub trait Filterable: Sealed {}

#[diagnostic::do_not_recommend]
impl<M: Filterable> Filterable for Unfiltered<M> {}

/// A column whose property the service can name in a filter.
#[diagnostic::on_unimplemented(
    message = "the service cannot compare this property",
    label = "stored under a word of its filters, such as `and`, `not` or `true`",
    note = "read the entities without this filter, and filter what was read; a field of your own can have another name"
)]
pub trait Nameable: Sealed {}

/// A column that a patch may set.
#[diagnostic::on_unimplemented(
    message = "`patch` cannot set a field on which a key, an index, `expires` or `soft_delete` depends",
    label = "a row would be left behind with the old value",
    note = "read the entity, change the field and call `update(&mut stored)`; where it is the primary key itself, \
            delete the one and insert the other"
)]
pub trait Settable: Sealed {}

/// A column that every row has, or may get without another one.
#[diagnostic::on_unimplemented(
    message = "`patch` cannot set a field of an `Option` or of an enum",
    label = "a row may be without the other fields, and could not be read then",
    note = "call `tables.modify(T::key(…), |entity| …)`; or read the entity, change the field and call `update(&mut stored)`"
)]
pub trait Certain: Sealed {}

#[diagnostic::do_not_recommend]
impl<M: Certain> Certain for Unfiltered<M> {}

/// A column whose values have an order that filters can use.
#[diagnostic::on_unimplemented(
    message = "this property has no `lt`, `le`, `gt` and `ge`",
    label = "compared by `eq` and `ne` only, if at all",
    note = "text of `#[property(text)]`, names, bools, bytes, IP addresses, and decimals without `scale` have no order that the service knows"
)]
pub trait HasOrder: Sealed {}

/// A column whose values can be compared.
#[diagnostic::on_unimplemented(
    message = "this property cannot be compared",
    label = "stored as JSON, with `large`, or as several properties",
    note = "compare a field of a struct: `c.address.city.eq(\"x\")`; ask an enum for its variant: `c.payment.is_card()`",
    note = "an element of a list: `#[index(tag, each)]` on the field, and `Post::by_tag(…).eq(\"…\")`",
    note = "store what you filter by as a property of its own, not in JSON"
)]
pub trait HasEquality: Sealed {}

// The other columns and orders of these traits.
macro_rules! marks {
    ($($mark:ident: $($marked:ty)+;)+) => {$($(
        #[diagnostic::do_not_recommend]
        impl $mark for $marked {}
    )+)+};
}

marks! {
    Filterable: Free Indexed Partial;
    Nameable: Free Indexed InKey Partial;
    Settable: Free Partial Unfiltered<Free>;
    Certain: Free Indexed InKey;
    HasOrder: ByOrder;
    HasEquality: ByOrder ByEquality;
}

impl<E, T, const I: usize, M, S, P> Column<E, T, I, M, S, P> {
    /// Returns the property's name. A struct or an enum has several properties: of these, the name that the entity's field
    /// gives them all.
    pub fn name(self) -> &'static str {
        match self.parts() {
            [part, others @ ..] if others.iter().all(|part| part.continues) => joined(self.name, '_', part.name),
            _ => self.name,
        }
    }

    /// Returns the column itself, also of a type that derefs to it.
    #[doc(hidden)]
    pub const fn column(self) -> Self {
        self
    }

    const fn parts(self) -> Parts {
        match self.load {
            ColumnLoad::Property(_, parts) => parts,
            ColumnLoad::Key(..) => &[],
        }
    }

    /// Returns the properties that have to be read for the column. A field that only the key holds has no name.
    #[doc(hidden)]
    pub const fn selected(self) -> PropertyInfo {
        PropertyInfo { parts: self.parts(), within: self.within, ..PropertyInfo::named("", self.name) }
    }
}

/// Reads the value of a column from a row of its entity.
///
/// # Errors
/// The row does not have the value, or another one than the field can hold.
#[inline]
pub fn load<E: TableEntity, T, const I: usize, M, S, P>(
    column: Column<E, T, I, M, S, P>,
    row: &mut EntityReader<'_>,
) -> table_store::Result<T> {
    match column.load {
        ColumnLoad::Property(load, parts) => load(column.name, parts, row),
        ColumnLoad::Key(part, read) => load_from_key::<E, T>(part, read, row),
    }
}

/// Returns what is around the field of a column.
pub const fn within<E, T, const I: usize, M, S, P>(column: Column<E, T, I, M, S, P>) -> Option<&'static Within> {
    column.within
}

/// Reads a field from a part of the primary key, counted over both keys. It is apart from [`load`], which is small enough to
/// be inlined.
fn load_from_key<E: TableEntity, T>(
    part: usize,
    read: PartReader<T>,
    row: &mut EntityReader<'_>,
) -> table_store::Result<T> {
    let layout = &E::INFO.layouts[0];
    let (mut key, at, count) = match part.checked_sub(layout.partition.len()) {
        None => (row.partition_key(layout)?, part, layout.partition.len()),
        Some(at) => (row.row_key(layout)?, at, layout.row.len()),
    };
    if at > 0 {
        key.skip_to(at)?;
    }
    read(&mut key, at + 1 == count)
}

// These are no associated functions, because the compiler finds a function by its path faster than in a type.

/// Returns the column of a property. `load` is [`Store::LOAD`]: the compiler then has the same message for a type that
/// cannot be stored as in the other places that use it.
pub const fn property_column<E, T, const I: usize, M, S>(
    name: &'static str,
    load: ColumnLoad<T>,
) -> Column<E, T, I, M, S> {
    Column { name, load, within: None, types: PhantomData }
}

/// Returns the column of a field that is stored only in a part of the primary key, counted over both keys. It has no name.
pub const fn key_column<E, T, const I: usize>(part: usize, read: PartReader<T>) -> Column<E, T, I, InKey> {
    Column { name: "", load: ColumnLoad::Key(part, read), within: None, types: PhantomData }
}

type ArgOf<'a, T, S> = Passed<'a, <S as Store<T>>::Arg>;

impl<E, T, const I: usize, M, S: Store<T>, P> Column<E, T, I, M, S, P> {
    fn compare(self, operator: Operator, value: ArgOf<'_, T, S>) -> Filter<E> {
        let property = self.name();
        let value = S::arg_value(value).and_then(some).and_then(finite);
        match value {
            Ok(value) => Filter::compare(property, operator, value, self.within),
            Err(problem) => Filter::refused(FilterProblem::Value(property, problem), 1),
        }
    }

    /// Matches rows that have the property, with this value.
    pub fn eq(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasEquality,
        M: Nameable,
    {
        self.compare(Operator::Eq, value)
    }

    /// Matches rows that have the property, with another value. Rows without it, such as those of an `Option` that is `None`,
    /// match neither `eq` nor `ne`.
    pub fn ne(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasEquality,
        M: Nameable,
    {
        self.compare(Operator::Ne, value)
    }

    /// Matches rows that have the property, with a lesser value. Text is compared by UTF-16 unit.
    pub fn lt(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
        M: Nameable,
    {
        self.compare(Operator::Lt, value)
    }

    /// Matches rows that have the property, with this value or a lesser one.
    pub fn le(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
        M: Nameable,
    {
        self.compare(Operator::Le, value)
    }

    /// Matches rows that have the property, with a greater value.
    pub fn gt(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
        M: Nameable,
    {
        self.compare(Operator::Gt, value)
    }

    /// Matches rows that have the property, with this value or a greater one.
    pub fn ge(self, value: ArgOf<'_, T, S>) -> Filter<E>
    where
        M: Filterable,
        S::Order: HasOrder,
        M: Nameable,
    {
        self.compare(Operator::Ge, value)
    }

    /// Sets the property in `Tables::patch`. A merge cannot remove a property, so an `Option` can only be set to a value;
    /// `Tables::update` can remove it.
    ///
    /// Takes text and bytes borrowed or owned: see [`IntoArg`].
    pub fn set(self, value: impl IntoArg<S::Arg>) -> Set<E>
    where
        M: Settable + Certain,
        S::Shape: OneProperty,
    {
        let is_large = matches!(self.parts(), [_, next, ..] if next.continues);
        let value = value.pass(S::arg_value).and_then(some);
        Set { name: self.name(), value, is_large, entity: PhantomData }
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
impl<E, T, const I: usize, M, S, P, V> PartialEq<V> for Column<E, T, I, M, S, P> {
    fn eq(&self, _: &V) -> bool {
        const { refuse_operator::<V>() }
    }
}

/// Columns have no operators, as above.
#[doc(hidden)]
impl<E, T, const I: usize, M, S, P, V> PartialOrd<V> for Column<E, T, I, M, S, P> {
    fn partial_cmp(&self, _: &V) -> Option<cmp::Ordering> {
        const { refuse_operator::<V>() };
        None
    }
}

/// Columns have no operators, as above: `!post.published` is no filter.
#[doc(hidden)]
impl<E, T, const I: usize, M, S, P> ops::Not for Column<E, T, I, M, S, P> {
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
pub enum FilterProblem {
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
/// from a list of any length, but the query that takes it returns [`Error::Limit`](table_store::Error::Limit). To read many
/// keys, use `Tables::get_many`.
///
/// Any numeric field reads numbers that other programs wrote as `Edm.Int32`, `Edm.Int64` or `Edm.Double`, if the field
/// holds them exactly. The embedded store compares such numbers by value, whatever their types. The service compares by
/// the type of the field and does not find a number of another type; Azurite answers some such comparisons with status
/// 500. If a filter has to find such rows, write them once with this program.
#[must_use = "a filter does nothing until a query has it"]
pub struct Filter<E> {
    condition: Result<Condition, FilterProblem>,
    /// The condition of the opposite comparisons, which `!` takes. A row without a compared property has neither of the two.
    opposite: Condition,
    /// Number of comparisons, including those of a condition that was dropped because it had too many.
    comparisons: usize,
    types: PhantomData<fn() -> E>,
}

impl<E> Sealed<E> for Filter<E> {}

impl<E> Filter<E> {
    /// Compares a property. A row that lacks what is around it matches neither the comparison nor its opposite.
    fn compare(property: &'static str, operator: Operator, value: Value, within: Option<&Within>) -> Self {
        let compare = |operator, value| Condition::Compare { property: property.into(), operator, value };
        let opposite = compare(operator.opposite(), value.clone());
        let comparison = Self::made(compare(operator, value), opposite);
        let around = within.map(|within| within.conditions(property)).into_iter().flatten();
        around.fold(comparison, |filter, condition| {
            filter.join(Self::made(condition.clone(), condition), [Condition::And, Condition::And])
        })
    }

    fn made(condition: Condition, opposite: Condition) -> Self {
        Self { comparisons: condition.comparisons(), condition: Ok(condition), opposite, types: PhantomData }
    }

    fn refused(problem: FilterProblem, comparisons: usize) -> Self {
        Self { condition: Err(problem), opposite: Condition::NOTHING, comparisons, types: PhantomData }
    }

    /// Joins the conditions and the opposite ones of two filters.
    fn join(self, other: Self, joins: [fn(Box<Condition>, Box<Condition>) -> Condition; 2]) -> Self {
        let comparisons = self.comparisons.saturating_add(other.comparisons);
        match (self.condition, other.condition) {
            (Err(problem @ FilterProblem::Value(..)), _) | (_, Err(problem @ FilterProblem::Value(..))) => {
                Self::refused(problem, comparisons)
            }
            // A condition that no query accepts is dropped: otherwise it would be nested as deeply as the list it was
            // built from is long.
            (Ok(left), Ok(right)) if comparisons <= limits::COMPARISONS => {
                let [with, opposite] = joins;
                let opposite = opposite(self.opposite.into(), other.opposite.into());
                Self { condition: Ok(with(left.into(), right.into())), opposite, comparisons, types: PhantomData }
            }
            _ => Self::refused(FilterProblem::TooMany, comparisons),
        }
    }

    /// Matches rows whose enum at the place `P` is the variant with this name.
    #[doc(hidden)]
    pub fn of_variant<P: Place>(variant: &str) -> Self {
        let property = joined(P::NAME, '_', P::PARTS[0].name);
        Self::compare(property, Operator::Eq, Value::String(variant.to_owned()), P::WITHIN)
    }

    /// Matches rows that match both filters.
    pub fn and(self, other: Self) -> Self {
        self.join(other, [Condition::And, Condition::Or])
    }

    /// Matches rows for which the opposite comparisons hold: the same as `!`. A row without a compared property does not
    /// match: `post.url.eq("x").not()` is `post.url.ne("x")`.
    #[allow(clippy::should_implement_trait, reason = "`ops::Not` is implemented too; this method needs no import")]
    pub fn not(self) -> Self {
        !self
    }

    /// Matches rows that match at least one of the filters.
    pub fn or(self, other: Self) -> Self {
        self.join(other, [Condition::Or, Condition::And])
    }
}

/// Returns the condition of a filter, and the number of its comparisons, which it also has if there are too many for a
/// condition.
pub fn condition<E>(filter: Filter<E>) -> (Result<Condition, FilterProblem>, usize) {
    (filter.condition, filter.comparisons)
}

impl<E> ops::Not for Filter<E> {
    type Output = Self;

    fn not(self) -> Self {
        match self.condition {
            Ok(condition) => Self { condition: Ok(self.opposite), opposite: condition, ..self },
            Err(_) => self,
        }
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
            Err(FilterProblem::Value(name, problem)) => write!(f, "Filter({name}: {problem:?})"),
            Err(FilterProblem::TooMany) => write!(f, "Filter({} comparisons)", self.comparisons),
        }
    }
}

impl<E> Clone for Filter<E> {
    fn clone(&self) -> Self {
        let (condition, opposite) = (self.condition.clone(), self.opposite.clone());
        Self { condition, opposite, comparisons: self.comparisons, types: PhantomData }
    }
}

/// Argument of `Rows::filter`: a filter, or an `Option` of one. `None` matches every row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "the closure returns no filter of this entity",
    note = "columns are compared by methods: `post.likes.ge(1)` for `>= 1`, `post.title.eq(\"x\")` for `==`, \
            `post.published.eq(true)` for a `bool`, `eq(false)` for its opposite",
    note = "filters are combined with `and`, `or` and `!`, not with `&&` and `||`: \
            `post.title.eq(\"x\").and(post.likes.ge(1))`",
    note = "variants of an enum with `#[derive(Property)]`: `order.payment.is_card()`, or `order.status.eq(Status::Open)` of one \
            without data"
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

/// New value of a property, in `Tables::patch` of `E`.
#[must_use = "a `patch` sets what its closure returns: `|post| [post.title.set(\"x\"), post.likes.set(1)]`"]
pub struct Set<E> {
    name: &'static str,
    value: Result<Value, PropertyProblem>,
    /// True if the value may continue in other properties.
    is_large: bool,
    entity: PhantomData<fn() -> E>,
}

/// Returns the name of the property that a patch sets, its value, and true if the value may continue in other properties.
pub fn assignment<E>(set: Set<E>) -> (&'static str, Result<Value, PropertyProblem>, bool) {
    (set.name, set.value, set.is_large)
}

/// What `Tables::patch` of `E` sets: a [`Set`], an `Option` of one, or an array, a `Vec`, an iterator or a tuple of these.
///
/// `By` tells tuples from the others. The compiler finds it.
#[diagnostic::on_unimplemented(
    message = "the closure of a patch returns what it sets, not `{Self}`",
    label = "the closure must return an array of what it sets",
    note = "a patch sets what its closure returns, in one array: `|post| [post.title.set(\"x\"), post.likes.set(1)]`, without \
            statements before it and without a semicolon",
    note = "sets that may be absent are `Option`s, in a tuple if others are there: \
            `(post.title.set(\"x\"), likes.map(|likes| post.likes.set(likes)))`",
    note = "to change the entity as a value, use `tables.modify(T::key(…), |post| post.likes += 1)`"
)]
pub trait Sets<E, By = EachOf> {
    #[doc(hidden)]
    fn into_sets(self) -> impl Iterator<Item = Set<E>>;
}

/// Sets one after the other: a set, an `Option`, an array or an iterator.
pub enum EachOf {}
/// The sets in a tuple.
pub enum InTuple {}

#[diagnostic::do_not_recommend]
impl<E, I: IntoIterator<Item: IntoIterator<Item = Set<E>>>> Sets<E> for I {
    fn into_sets(self) -> impl Iterator<Item = Set<E>> {
        self.into_iter().flatten()
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

macro_rules! tuples {
    ($first:ident $($next:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<SetOf, $first: Sets<SetOf>, $($next: Sets<SetOf>),*> Sets<SetOf, InTuple> for ($first, $($next,)*) {
            #[allow(non_snake_case, reason = "the names of the types")]
            fn into_sets(self) -> impl Iterator<Item = Set<SetOf>> {
                let ($first, $($next,)*) = self;
                $first.into_sets()$(.chain($next.into_sets()))*
            }
        }

        tuples! { $($next)* }
    };
    () => {};
}

tuples! { A B C D E F G H I J K L }

impl<E> Clone for Set<E> {
    fn clone(&self) -> Self {
        Self { name: self.name, value: self.value.clone(), is_large: self.is_large, entity: PhantomData }
    }
}

#[allow(clippy::missing_fields_in_debug, reason = "the column says the rest")]
impl<E> fmt::Debug for Set<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set").field("name", &self.name).field("value", &self.value).finish()
    }
}

impl<E, T, const I: usize, M, S, P> fmt::Debug for Column<E, T, I, M, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.name()).finish()
    }
}
