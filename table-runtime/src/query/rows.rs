//! Queries of rows of one layout, in key order.

use std::{fmt, marker::PhantomData};

use table_model::{
    HasBin, IntoFilter, TableEntity,
    cost::{self, Cost},
    key::{Encode, KeyPart, Ordered, Prefixed, Textual},
    unstable::column,
};
use table_store::{
    Error, Result,
    backend::BoxFuture,
    unstable::{
        RowKeys,
        observe::{Running, observed},
    },
};

use super::{
    Access, AnyAccess, Bounds, BoxedRows, Complete, Done, Entities, Explain, HasEntity, HasPart, HashPartitioned,
    Opened, OwnedView, PageOf, Part, PrefixAccess, Query, Rest, Selectable, SkipUnreadable, Sorted, View,
    view::{RowAlone, is_match},
};
use crate::{
    client::{sealed::Sealed, tables::Tables},
    query::ReturnsNothingOfRow,
    read::{Bin, FoundRow, OnUnreadable, Plan, SelectedProperties, Source},
};

/// Query of rows of one layout, in the order of their keys.
///
/// - `V`: the result, a [`View`]: an entity, as [`Stored`](crate::Stored), or a copy of it in an index, as
///   [`Copied`](crate::Copied).
/// - `P`: the key parts that are still open; `eq`, `starts_with` and `range` narrow the next one.
/// - `A`: the access to the partitions, which determines most of the cost of a query.
///
/// | query | reads |
/// |---|---|
/// | `Post::key("Marcus", posted, id)` | a [`Point`](crate::Point): `get`, `exists`; `tables.get_many(keys)` reads many of them concurrently |
/// | `Post::by_key("Marcus")` | a partition, in key order |
/// | `Account::by_name("Al")` | the rows of an index: those of its partition, in the order of its values |
/// | `.eq(value)` | narrows the next key part; with every part given it is a point, of a unique index too |
/// | `.starts_with("Metabolis")` | narrows the next part, a text |
/// | `.range(monday..friday)` | narrows the next part, in the order of its values, also if they are stored descending |
/// | `.take(10)` | at most this number of rows |
/// | `.select::<Headline>()` | some of the fields; only these are requested |
/// | `.filter(\|post\| post.title.eq("x").and(post.likes.ge(10)))` | drops rows after they were read |
/// | `Log::by_partitions("2026-01".."2026-02")` | all rows of the partitions whose first part is in a range |
/// | `Post::scan()` | the table; compiles only with `#[table(allow_scan)]` |
///
/// Run the query with `all`, `first`, `count`, `stream` (lazy, one page at a time), `for_each` (with a closure, which keeps
/// no row) or `page` (with a cursor). [`explain`](Self::explain) describes what it will request, and
/// [`boxed`](Self::boxed) makes a type of it that names only the results.
///
/// With hash partitions, the query reads them concurrently and merges them in the order of their row keys. It requests no
/// more rows of each than `take` allows. If a table has slices, a range over the time reads the slices that it needs, in
/// order. Without both bounds, or over many slices, the query first asks which slices exist. A missing slice is empty.
///
/// Over an index whose rows point to their entities, a query reads a page of the index, and then each entity with a
/// point read, several concurrently and a few ahead of the caller. The entities come in the order of the index. An
/// entity that is gone, or no longer has the value, is skipped, and does not count for `take` and `page`.
#[must_use = "a query does nothing until it is run, with `all`, `first`, `stream`, `page` or `count`"]
pub struct Rows<V, P = Done, A = cost::Range> {
    pub(super) plan: Plan,
    types: PhantomData<fn() -> (V, P, A)>,
}

impl<V, P, A> Sealed for Rows<V, P, A> {}

impl<V, P, A> Clone for Rows<V, P, A> {
    fn clone(&self) -> Self {
        Self::new(self.plan.clone())
    }
}

impl<V, P, A> fmt::Debug for Rows<V, P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<V, T, N, R: Rest, A> Rows<V, (Part<T, N>, R), A> {
    /// Sets the value of the next key part. Once no part is open, the query is a [`Point`](crate::Point).
    pub fn eq(mut self, value: T::Arg<'_>) -> R::Query<V, A::AfterValue>
    where
        T: KeyPart,
        N: Encode<T::Kind>,
        A: Access<T::Kind> + AnyAccess<AfterValue: Complete>,
    {
        let value = T::arg_value(value);
        A::open(value, &mut self.plan);
        self.plan.push_row::<T::Kind, N>(value, R::LAST);
        R::next(self.plan)
    }

    /// Narrows the next key part, a text, to the values that begin with `prefix`. The prefix is folded as the key is.
    pub fn starts_with(mut self, prefix: &str) -> Rows<V, Done, A::AfterPrefix>
    where
        T: KeyPart<Kind: Textual>,
        N: Prefixed,
        A: AnyAccess + PrefixAccess,
    {
        A::open_prefix(prefix, &mut self.plan);
        self.plan.push_prefix::<N>(prefix, R::LAST);
        Rows::new(self.plan)
    }

    /// Narrows the next key part to the values between two bounds, in the order of the values: the lesser bound comes
    /// first, also for a descending part.
    ///
    /// Text is compared as the key holds it: folded, escaped, by UTF-16 unit. Times are rounded down to a tick, bounds
    /// as well as values, so adjacent time windows do not overlap. A bound outside of all values that a key can hold,
    /// such as a time after the year 9999 or a number of more digits than `pad`, is ignored if every key satisfies it;
    /// if no key does, the query finds nothing. A range that ends before it begins is empty, as those of Rust are.
    pub fn range<'a>(mut self, bounds: impl Bounds<T::Arg<'a>>) -> Rows<V, Done, A>
    where
        T: KeyPart,
        (Part<T, N>, R): Sorted<Encoding: Ordered<T::Kind>>,
    {
        let (from, to) = bounds.bounds();
        let bounds = (from.map(T::arg_value), to.map(T::arg_value));
        self.plan.push_range::<T::Kind, EncodingOf<T, N, R>>(bounds, R::LAST, EncodingOf::<T, N, R>::DESCENDING);
        Rows::new(self.plan)
    }
}

/// An entity whose properties a query can name.
#[diagnostic::on_unimplemented(
    message = "a query of a group has no `filter` and no `select`",
    label = "a group of entities",
    note = "its entities have different properties: query one of them, or look at what is read"
)]
pub trait OneEntity {
    /// Columns of the entity.
    type Columns;

    #[doc(hidden)]
    const COLUMNS: Self::Columns;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> OneEntity for E {
    type Columns = E::Columns;

    const COLUMNS: E::Columns = E::COLUMNS;
}

/// Columns of a view's entity.
pub(super) type Columns<V> = <<V as View>::Entity as OneEntity>::Columns;

type EncodingOf<T, N, R> = <(Part<T, N>, R) as Sorted>::Encoding;

/// Methods that narrow a key, for a query with no part left. They exist for the error message of [`HasPart`]. They
/// return any type, so that the compiler reports no further error.
#[doc(hidden)]
impl<V, A> Rows<V, Done, A> {
    pub fn eq<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<V>: HasPart>,
    {
        A::complete::<V>(self.plan).narrowed()
    }

    pub fn starts_with<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<V>: HasPart>,
    {
        A::complete::<V>(self.plan).narrowed()
    }

    pub fn range<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<V>: HasPart>,
    {
        A::complete::<V>(self.plan).narrowed()
    }
}

impl<V, P, A> Rows<V, P, A> {
    pub(super) const fn new(plan: Plan) -> Self {
        Self { plan, types: PhantomData }
    }

    /// Finds entities in the bin as well: those that [`soft_delete`](Tables::soft_delete) has hidden.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// #[table(soft_delete = deleted)]
    /// struct Note {
    ///     #[partition_key]
    ///     user: String,
    ///     #[row_key]
    ///     id: u32,
    ///     deleted: Option<SystemTime>,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Note>().await?;
    /// tables.insert(&Note { user: "ada".into(), id: 1, deleted: None }).await?;
    /// tables.soft_delete(Note::key("ada", 1)).await?;
    ///
    /// assert_eq!(Note::by_key("ada").count(&tables).await?, 0);
    /// assert_eq!(Note::by_key("ada").with_deleted().count(&tables).await?, 1);
    /// assert!(Note::key("ada", 1).with_deleted().get(&tables).await?.is_some());
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn with_deleted(mut self) -> Self
    where
        V: View<Entity: HasBin>,
    {
        self.plan.show(Bin::Shown);
        self
    }

    /// Finds only entities in the bin. An entity that has expired is not found, whether it is in the bin or not.
    pub fn only_deleted(mut self) -> Self
    where
        V: View<Entity: HasBin>,
    {
        self.plan.show(Bin::Only);
        self
    }

    /// Reads only one of the hash partitions, given its number from 0: each of several workers has its own. Name it before the
    /// key is narrowed, or after.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// #[index(due, partition(id(hash = 16)), row(due))]
    /// struct Job {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key]
    ///     id: u32,
    ///     due: SystemTime,
    /// }
    ///
    /// # async fn example(tables: Tables) -> Result<()> {
    /// // One of 16 workers.
    /// let jobs = Job::by_due().hash_partition(3).range(..tables.now()).take(32).all(&tables).await?;
    /// # assert!(jobs.is_empty());
    /// # Ok(()) }
    /// # let tables = Tables::in_memory()?;
    /// # futures::executor::block_on(async { tables.create::<Job>().await?; example(tables).await })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    ///
    /// If there are fewer partitions, the query returns [`Error::Query`] when it runs.
    pub fn hash_partition(mut self, number: usize) -> Rows<V, P, A::OnePartition>
    where
        A: AnyAccess + HashPartitioned,
    {
        self.plan.open_hash_partition(number, A::COUNT);
        Rows::new(self.plan)
    }

    /// Limits the query to `count` rows in all.
    pub fn take(mut self, count: usize) -> Self {
        self.plan.take = Some(self.plan.take.map_or(count, |before| before.min(count)));
        self
    }

    /// Returns the entities themselves, without their versions: `Vec<Post>` in place of `Vec<Stored<Post>>`.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity, Debug, PartialEq)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32 }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// let posts: Vec<Post> = Post::by_key("Marcus").plain().all(&tables).await?;
    /// let post: Option<Post> = Post::key("Marcus", 1).plain().get(&tables).await?;
    /// # assert_eq!(post, posts.into_iter().next());
    /// # Ok(()) }
    /// # let tables = Tables::in_memory()?;
    /// # futures::executor::block_on(async { tables.create::<Post>().await?; example(tables).await })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    pub fn plain<I>(self) -> Rows<I::Plain, P, A>
    where
        V: OwnedView<Item = I>,
        I: HasEntity,
    {
        Rows::new(self.plan)
    }

    /// Drops the rows for which the condition does not hold. The store still reads them, so the cost is at least that
    /// of a partition scan. If there are several filters, all of them have to hold.
    ///
    /// The closure may also return an `Option` of a filter: `filter(|post| least.map(|least| post.likes.ge(least)))`.
    ///
    /// With rows of older versions, which `#[table(from = …)]` reads, the condition may compare what every version stores in
    /// the same way; otherwise the query is an [`Error::Query`] when it runs. This holds for [`select`](Self::select) too.
    pub fn filter<F>(mut self, filter: impl FnOnce(Columns<V>) -> F) -> Rows<V, Done, A::Filtered>
    where
        V: View<Entity: OneEntity>,
        A: AnyAccess + Opened,
        F: IntoFilter<V::Entity>,
    {
        if let Some(filter) = filter(V::Entity::COLUMNS).into_filter() {
            let (condition, comparisons) = column::condition(filter);
            self.plan.filter(condition, comparisons);
        }
        Rows::new(self.plan)
    }

    /// Returns only the fields of a projection, and asks the store for no others.
    ///
    /// Over an index of copies, the fields are read from the copies. Over another index in the entities' own partition,
    /// no entity is read if the index rows hold all fields, in their keys or by `include(…)`, and by `include(…)` those
    /// that the filter compares. A range over the elements of a field, with `each`, also needs the field itself in the rows,
    /// which `include(…)` adds. Otherwise the whole entities are read, because an index row is valid only if its
    /// entity has the value: [`select_unchecked`](Self::select_unchecked) avoids these reads.
    pub fn select<S>(mut self /* no closure: `.select::<Title>()` */) -> Rows<S::Selected, P, A>
    where
        V: View<Entity: OneEntity>,
        S: Selectable<V::Entity>,
    {
        self.plan.select(Some(SelectedProperties::new(S::PROPERTIES, false)));
        Rows::new(self.plan)
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a value that no key can hold, [`Error::Query`](crate::Error::Query) for a
    /// prefix that is too short, [`Error::Property`](crate::Error::Property) for a row that does not fit the struct,
    /// and the errors of the store.
    pub fn all<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Vec<V::Item>>>
    where
        V: OwnedView,
        A: Opened,
    {
        self.boxed().all(tables)
    }

    /// Reads the first row; `None` if there is none.
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all).
    pub fn first<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Option<V::Item>>>
    where
        V: OwnedView,
        A: Opened,
    {
        self.boxed().first(tables)
    }

    /// Returns a stream of the rows. It reads pages of up to 1000 rows, each only when the caller needs it.
    ///
    /// The stream's errors are those of [`all`](Self::all). After the error of a row that cannot be read it goes on with the
    /// next row; it ends after every other error.
    pub fn stream(self, tables: &Tables) -> Entities<V::Item>
    where
        V: OwnedView,
        A: Opened,
    {
        self.boxed().stream(tables)
    }

    /// Returns a stream of what `give` makes of the rows, for an operation that has a name of its own.
    pub(crate) fn part_stream<T, G>(&self, tables: &Tables, give: G) -> Entities<T>
    where
        T: Send + 'static,
        G: Fn(&FoundRow<'_>, &mut Vec<T>) -> Result<bool> + Copy + Send + Sync + 'static,
        A: Opened,
    {
        Entities::new(self.plan.table(), None, self.source(tables), give, None)
    }

    /// Reads the next `size` rows: the first ones, or those after the cursor of the page before.
    ///
    /// Rows may be inserted or deleted between two pages: a cursor resumes right after the last row that was returned.
    ///
    /// A page ends before a row that cannot be read, even if it is shorter than `size` then. The page that begins with the
    /// row is its error, which has the [cursor](crate::Error::cursor) of the page after the row.
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all), and with [`Error::Cursor`](crate::Error::Cursor) for a cursor that
    /// is damaged or belongs to another query. A cursor is bound to what determines the rows and their order: the layout,
    /// the partitions, the bounds, the filter and the limit. So a query with another projection accepts it.
    pub fn page<'t>(
        self,
        tables: &'t Tables,
        size: usize,
        cursor: Option<&str>,
    ) -> BoxFuture<'t, Result<PageOf<V::Item>>>
    where
        V: OwnedView,
        A: Opened,
    {
        self.boxed().page(tables, size, cursor)
    }

    /// Calls `each` with every row, in key order. Reads pages of up to 1000 rows, and keeps none of them.
    ///
    /// With [`select`](Self::select) of a [`Projection`](crate::Projection) that has a lifetime, the fields borrow from the
    /// rows, so that nothing is allocated for a row on the embedded store: for sums, searches and exports of many rows.
    /// Without `select`, each row is an entity or copy of its own, as in [`all`](Self::all).
    ///
    /// The closure returns nothing. To keep an error of its own, let it capture an `Option` and do nothing once that is
    /// set; to end early, use [`take`](Self::take) or [`stream`](Self::stream).
    ///
    /// ```
    /// use table_runtime::{Projection, Result, TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key]
    ///     number: u32,
    ///     title: String,
    ///     text: String,
    /// }
    ///
    /// #[derive(Projection)]
    /// #[projection(of = Post)]
    /// struct Headline<'a> {
    ///     number: u32,
    ///     title: &'a str,
    /// }
    ///
    /// /// Returns the number of the post with the longest title.
    /// async fn longest(tables: &Tables, author: &str) -> Result<Option<u32>> {
    ///     let mut longest = (0, None);
    ///     let headlines = Post::by_key(author).select::<Headline<'_>>();
    ///     let each = |Headline { number, title }: Headline<'_>| {
    ///         if title.len() >= longest.0 {
    ///             longest = (title.len(), Some(number));
    ///         }
    ///     };
    ///     headlines.for_each(tables, each).await?;
    ///     Ok(longest.1)
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # for (number, title) in [(1, "Keys"), (2, "Indexes"), (3, "Costs")] {
    /// #     let (author, text) = ("Marcus".to_owned(), String::new());
    /// #     tables.insert(&Post { author, number, title: title.to_owned(), text }).await?;
    /// # }
    /// # assert_eq!(longest(&tables, "Marcus").await?, Some(2));
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all). Rows before the one that failed were passed to the closure.
    pub fn for_each<'t, F, R>(self, tables: &'t Tables, each: F) -> BoxFuture<'t, Result<()>>
    where
        V: View,
        A: Opened,
        F: FnMut(V::Row<'_>) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        self.visit(tables, each, None)
    }

    /// Calls `each` with every row that can be read, in key order, and `skip` with the error of each other row: the
    /// [`skip_unreadable`](Self::skip_unreadable) of a projection with a lifetime, which only [`for_each`](Self::for_each) reads.
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all) that are not those of one row.
    pub fn for_each_readable<'t, F, R>(
        self,
        tables: &'t Tables,
        each: F,
        skip: impl FnMut(Error) + Send + 't,
    ) -> BoxFuture<'t, Result<()>>
    where
        V: View,
        A: Opened,
        F: FnMut(V::Row<'_>) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        self.visit(tables, each, Some(Box::new(skip)))
    }

    fn visit<'t, F, R>(
        self,
        tables: &'t Tables,
        mut each: F,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<()>>
    where
        V: View,
        A: Opened,
        F: FnMut(V::Row<'_>) -> R + Send + 't,
    {
        let running = self.begin(tables, "for_each");
        let source = self.source(tables);
        let mut read = move |found: &FoundRow<'_>| {
            V::read(found, |row| {
                each(row);
            })
        };
        Box::pin(observed(running, async move { source?.read_all(&mut read, skip).await }))
    }

    /// Counts the rows, without reading the properties of their fields. The store cannot count: every row is read.
    ///
    /// Over an index whose rows point to their entities, each whole entity is read too, with a request of its own, and
    /// counts only if it has the value: [`count_unchecked`](Self::count_unchecked) avoids these reads.
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all).
    pub fn count<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>>
    where
        V: View,
        A: Opened,
    {
        let running = self.begin(tables, "count");
        let source = self.source(tables);
        Box::pin(observed(running, async move { source?.count(is_match::<V>, None).await }))
    }

    /// Returns the query of its rows alone, for their positions: over most indexes, it reads no entities.
    pub(crate) fn positions(&self) -> Rows<RowAlone<V>, P, A> {
        let mut plan = self.plan.clone();
        plan.select(Some(SelectedProperties::new(&[], true)));
        Rows::new(plan)
    }

    /// Returns the keys with which those of the rows begin.
    pub(crate) fn beginning(&self) -> RowKeys {
        let (partition_key, row_key) = self.plan.keys();
        RowKeys { partition_key: partition_key.to_owned(), row_key: row_key.to_owned() }
    }

    /// Checks whether an entity that was found may be changed so that it is not found any more.
    pub(crate) fn finds_by_value(&self) -> bool {
        self.plan.finds_by_value()
    }

    /// Goes on after a row that cannot be read: passes its error to `skip`, and leaves the row out. Call it last, right before
    /// the function that runs the query.
    ///
    /// A row cannot be read if another program wrote it, or if a type has changed: a property has another type than the
    /// field, a JSON text names a variant that the enum no longer has, the key is not one of this entity, or the version is
    /// unknown. An entity in an index with `each` has an error for each of its rows. Other errors, such as those of the store,
    /// end the query as before. The span of the query counts the rows in
    /// `table.rows_unreadable`.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// enum Status { Open, Closed }
    ///
    /// #[derive(TableEntity)]
    /// struct Issue {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key]
    ///     id: u32,
    ///     #[property(json)]
    ///     status: Status,
    /// }
    ///
    /// /// Returns the issues that this program can read, and the number of the others.
    /// async fn issues(tables: &Tables, tenant: &str) -> Result<(Vec<u32>, usize)> {
    ///     let mut unreadable = 0;
    ///     let skip = |error| {
    ///         eprintln!("{error}");
    ///         unreadable += 1;
    ///     };
    ///     let issues = Issue::by_key(tenant).skip_unreadable(skip).all(tables).await?;
    ///     Ok((issues.iter().map(|issue| issue.id).collect(), unreadable))
    /// }
    /// # mod before {
    /// #     #[derive(serde::Serialize, serde::Deserialize)]
    /// #     pub enum Status { Open, Waiting }
    /// #     #[derive(table_runtime::TableEntity)]
    /// #     #[table(name = "Issue")]
    /// #     pub struct Issue {
    /// #         #[partition_key] pub tenant: String,
    /// #         #[row_key] pub id: u32,
    /// #         #[property(json)] pub status: Status,
    /// #     }
    /// # }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Issue>().await?;
    /// # let (tenant, status) = ("a".to_owned(), before::Status::Waiting);
    /// # tables.insert(&before::Issue { tenant, id: 1, status }).await?;
    /// # tables.insert(&Issue { tenant: "a".to_owned(), id: 2, status: Status::Open }).await?;
    /// # assert_eq!(issues(&tables, "a").await?, (vec![2], 1));
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn skip_unreadable<'f>(self, skip: impl FnMut(Error) + Send + 'f) -> SkipUnreadable<'f, V::Item>
    where
        V: OwnedView,
        A: Opened,
    {
        self.boxed().skip_unreadable(skip)
    }

    /// Describes the requests that the query will send to the store.
    pub fn explain(&self) -> Explain
    where
        A: Opened,
    {
        Explain::of_rows(A::Cost::name(), &self.plan, A::REACHED)
    }

    /// Returns the query without the types of its keys and of its cost: see [`BoxedRows`].
    pub fn boxed(self) -> BoxedRows<V::Item>
    where
        V: OwnedView,
        A: Opened,
    {
        BoxedRows::of_rows::<V>(self.plan, A::REACHED, A::Cost::name)
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    fn begin(&self, tables: &Tables, verb: &'static str) -> Option<Box<Running>>
    where
        A: Opened,
    {
        self.plan.begin(tables, verb, A::Cost::name)
    }

    fn source(&self, tables: &Tables) -> Result<Source>
    where
        A: Opened,
    {
        Source::new(&self.plan, tables, A::REACHED)
    }
}

impl<V: View, P> Rows<V, P, cost::Lookups> {
    /// Returns only the fields of a projection, as [`select`](Self::select) does, but also uses the rows of a
    /// cross-partition index without a check: if they hold all fields that are needed, no entity is read.
    ///
    /// Such rows are written in steps before and after the entity, so they may lag behind it. A write in progress, or
    /// one that a crash ended, may have left rows whose entity does not have the value, or does not exist.
    pub fn select_unchecked<S>(mut self) -> Rows<S::Selected, P, cost::Lookups>
    where
        V: View<Entity: OneEntity>,
        S: Selectable<V::Entity>,
    {
        self.plan.select(Some(SelectedProperties::new(S::PROPERTIES, true)));
        Rows::new(self.plan)
    }
}

impl<V, P> Rows<V, P, cost::Lookups> {
    /// Counts the rows of the index without reading entities, with one request for each page of rows.
    ///
    /// A write in progress, or one that a crash ended, may have left rows whose entity does not have the value. They
    /// count here, but not in [`count`](Self::count).
    ///
    /// # Errors
    /// Fails with the errors of [`all`](Self::all).
    pub fn count_unchecked<'t>(mut self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>> {
        let running = self.begin(tables, "count_unchecked");
        self.plan.select(None);
        let source = self.source(tables);
        Box::pin(observed(running, async move { source?.count_pointers().await }))
    }
}

impl<V: OwnedView, P, A: Opened> Query for Rows<V, P, A> {
    type Entity = V::Entity;
    type Item = V::Item;
    type Cost = A::Cost;

    fn explain(&self) -> Explain {
        self.explain()
    }

    fn boxed(self) -> BoxedRows<V::Item> {
        self.boxed()
    }
}
