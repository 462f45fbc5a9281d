//! Names that users of other libraries type in their first week: for what the store does not do, or for what has another name
//! here. None of them can be called: they exist for the compiler's messages.
//!
//! A message is a trait that nothing implements, one for each reason, whatever the type. There are two ways to have it:
//!
//! - `names!`: functions of an `impl` whose condition does not hold. They take any arguments, anything with the same name
//!   that can be called comes first, and the compiler proposes none of them to who types a similar name. The compiler prints
//!   the message only if the receiver has the type itself, and if no trait in scope has a function of the name.
//! - `functions!`: the condition is the function's. They take `&mut self`, which the compiler tries last. [`Tables`] needs
//!   them, because a program mostly has a reference to it, and [`Transaction`], because it has a lifetime; so do the names of
//!   `Iterator`, `Ord` and `ToString`.

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
};

// Exported here, so that messages name them by a path of `table_runtime`.
pub use table_model::hints::{Absent, Compare, Compute, NotAValue, Order, TextSearch, Unset};
use table_model::unstable::{functions, hints, names};

use crate::{BoxedRows, Point, Result, Rows, Stored, Tables, Transaction, jobs::Create, types::OwnedView};

/// The type that implements none of the traits of hints.
#[derive(Debug)]
pub enum TableStorage {}

hints! {
    // What the store does not do.
    LastRow: "rows are read in one direction", "not a way to run a query",
        "put `reverse` on the key part, or `reverse_time` on a time, and write `.first(&tables).await?`",
        "of a short range: the last of the `Vec` that `.all(&tables).await?` returns";
    Skip: "a query cannot skip a number of rows", "the service has no offset",
        "`page(&tables, size, cursor)` continues after the last row of the page before",
        "`range(value..)` begins at a value";
    OneOf: "a query has one value or one range for each part of a key", "not a method of queries",
        "run a query for each value, and combine the `Vec`s: `posts.extend(query.all(&tables).await?)`",
        "full keys: `tables.get_many(keys)`, with `Post::key(…)` or of a unique index `User::by_email(…)`",
        "several partitions: `T::by_partitions(..)` reads all of them, or those of a range",
        "the service answers an `or` over keys with a scan of the table";
    Join: "the service cannot join rows", "not a method of queries",
        "read the entities of both types, and combine them",
        "entities that are read together can share a partition: `#[derive(EntityGroup)]`";
    Aggregate: "the service cannot group or aggregate rows", "not a method of queries",
        "read the rows with `for_each` or `all`, and compute the result from them";
    Changes: "the service reports no changes", "not a verb of `Tables`",
        "ask again from time to time: with a key by time, `Post::by_key(…).range(since..)` finds what is new";
    UpdateRows: "each entity is updated by itself: the service has no `UPDATE … WHERE`", "no such verb",
        "for each of the entities that `.all(&tables).await?` returns: `tables.patch(Stored::key(&stored), |post| \
         [post.likes.set(1)])`, or change it and write `tables.update(&mut stored)`",
        "`tables.upsert_all(&entities)` writes many, whatever their rows are now",
        "a group: `query.modify(&tables, |rows| …)`";
    ReadFirst: "a transaction does not read", "not a verb of a transaction",
        "read the entity before: `let Some(mut post) = Post::key(…).get(&tables).await? else {{ … }};`; change it, and add `.update(&mut \
         post)`";
    // Queries that are not run yet.
    Iterate: "a query is not an iterator", "nothing was read yet",
        "write `.all(&tables).await?` for a `Vec`, or `.stream(&tables)` for a stream",
        "conditions on properties are `filter(|post| post.likes.ge(1))`, and single fields are `select::<Projection>()`",
        "what a query finds is deleted by `.delete_all(&tables)`";
    OneRow: "this query finds many rows, and `get` reads one", "parts of the key are still open",
        "to read all of them, also those of a group, use `all(&tables)`; to read the first row, `first(&tables)`",
        "give every part of the key: `T::key(…)`, or `.eq(…)` for each open part",
        "with `same_partition`, the argument of `by_NAME` is the partition, and the value comes after it: \
         `User::by_email(team).eq(\"…\")`",
        "an index whose values belong to one entity each has `unique`";
    OneKey: "a full key is one row: `get` reads it", "write `.get(&tables).await?`, which returns an `Option`",
        "a condition on the entity: look at what `.get(&tables).await?` returns",
        "`exists` checks whether there is the row; `.boxed()` makes a query of at most one row",
        "`T::by_key(…)` opens a partition, of which there can be many rows";
    Exists: "`exists` checks one row, by its full key", "no such check",
        "of a query of many rows: write `.first(&tables).await?.is_some()`",
        "of one row: `T::key(…).exists(&tables).await?`",
        "with `same_partition`, the argument of `by_NAME` is the partition, and the value comes after it: \
         `User::by_email(team).eq(\"…\")`";
    // Other names of what there is on queries.
    Limit: "the number of rows is limited with `take`", "write `.take(10)`";
    AtCursor: "a query continues at the cursor of a page", "not a method of queries",
        "write `.page(&tables, 20, cursor)`, with `None` for the first page and `page.next.as_deref()` of the page before for the next";
    Narrow: "a key is narrowed with `eq`, `starts_with` and `range`", "not a method of queries",
        "write `.range(a..b)`, `.range(a..=b)`, `.range(a..)` or `.range(..b)`",
        "a condition on a property is `.filter(|post| post.likes.ge(1))`";
    Where: "conditions on properties are given to `filter`", "write `.filter(|post| post.likes.ge(1))`",
        "the rows are chosen by `eq`, `starts_with` and `range`, and then filtered",
        "in the closure: `post.likes.ge(5).or(post.title.eq(\"Keys\"))`; a second `.filter(…)` is one more condition",
        "of two queries, run each, and combine the `Vec`s: `posts.extend(query.all(&tables).await?)`";
    SingleFields: "single fields are those of a projection", "not a method of queries",
        "write `.select::<Title>()`, with `#[derive(Projection)] #[projection(of = Post)]` on a struct of the fields",
        "of whole entities: `posts.into_iter().map(|post| post.likes)`, of the `Vec` that `.all(&tables).await?` returns";
    RunQuery: "a query is run with `all`, `first`, `count`, `stream`, `for_each` or `page`", "this does not run it",
        "write `.all(&tables).await?` for a `Vec`, `.first(&tables).await?` for an `Option`";
    Len: "the rows of a query are counted with `count`", "write `.count(&tables).await?`",
        "every row is read for it: the service cannot count";
    Explained: "a query is shown by `explain`", "write `query.explain()`",
        "it names the tables, the ranges of keys and the cost";
    Delete: "what a query finds is deleted with `delete_all`, and one entity with `remove`", "no such verb",
        "of a query, write `.delete_all(&tables).await?`; by its key, `tables.remove(T::key(…)).await?`",
        "what was read: `tables.delete(stored)`, unless another writer changed it";
    // Verbs.
    WriteVerb: "an entity is written by the verbs of `Tables`: `insert`, `upsert`, `merge` or `update`", "no such verb here",
        "`tables.insert(&post)` refuses a row that is there, which is `Error::AlreadyExists`; `tables.upsert(&post)` replaces it, \
         and `tables.merge(&post)` keeps its unknown properties",
        "what a query returned: `tables.update(&mut stored).await?` and `tables.delete(stored).await?`",
        "to insert or change: `tables.modify_or_insert(&first, |visits| visits.count += 1)`, which returns the entity",
        "in a transaction, `.insert(&post)`, `.upsert(&post)`, `.merge(&post)` and `.update(&mut stored)` are verbs too";
    WriteMany: "many entities are written with `insert_all` and `upsert_all`", "no such verb",
        "write `tables.insert_all(&posts).await?`, whatever their partitions are";
    ChangeByKey: "by its key, an entity is changed with `modify` or `patch`", "no such verb",
        "write `tables.modify(T::key(…), |post| post.likes += 1).await?`, which reads, changes and writes, and returns the entity",
        "without a read: `tables.patch(T::key(…), |post| [post.likes.set(1)])`";
    ReadByQuery: "entities are read by the queries of their type", "not a verb of `Tables`",
        "one entity: `Post::key(…).get(&tables).await?`; those of several keys: `tables.get_many(keys).await?`",
        "a partition: `Post::by_key(…).all(&tables).await?`; the whole table: `Post::scan()`, with `#[table(allow_scan)]`";
    CreateTable: "tables are created with `create::<T>()`, with the indexes that are declared by attributes", "no such verb",
        "write `tables.create::<Post>().await?`; it creates what is missing, and is called whenever a program begins",
        "an index that is added to a table with rows is built by `tables.backfill::<Post>(\"title\")`";
    DropTable: "no verb deletes a table", "not a verb of `Tables`",
        "the entities of a type: `tables.delete_all(Post::scan())`, which needs `#[table(allow_scan)]`, or \
         `Post::by_key(…).delete_all(&tables)` for a partition",
        "old slices of a table by time: `tables.drop_slices::<Line>(..time)`",
        "a whole table is deleted by the backend: `use table_runtime::backend::BackendExt;`, \
         `backend.delete_table(\"Posts\").await?`";
    Begin: "a transaction begins with `transaction`", "not a verb of `Tables`",
        "write `tables.transaction().insert(&post).remove(key).commit().await?`";
    Commit: "a transaction is sent with `commit`", "nothing was sent yet", "write `.commit().await?` after the last verb",
        "a transaction begins without a request, so without `.await` and `?`: `let transaction = tables.transaction();`";
    Rollback: "a transaction that is not committed writes nothing", "nothing was sent yet",
        "drop it; after `commit`, it was applied as a whole or not at all";
    Connect: "tables are opened with `connect`, `open` or `in_memory`", "no such constructor",
        "Azure and Azurite: `Tables::connect(connection_string)`, such as `UseDevelopmentStorage=true` for Azurite",
        "the embedded store: `Tables::open(path)`, or `Tables::in_memory()` for tests";
    Feature: "`connect` needs the feature `azure` of `table-runtime`, and the embedded store the feature `embedded`",
        "this feature is not enabled",
        "in `Cargo.toml`, add it to the features of `table-runtime`: `features = [\"azure\"]`",
        "`embedded` is a default feature: remove `default-features = false`, or add it too";
}

names! {
    [V, P, A] Rows<V, P, A> {
        Order: order_by, order_by_desc, sort, sort_by, sort_by_key, reverse, desc;
        Skip: offset;
        OneOf: any_of, one_of;
        Join: join, include;
        Aggregate: group_by, distinct, avg;
        TextSearch: contains, ends_with, like;
        UpdateRows: update, update_all, update_many, patch, set;
        Iterate: iter;
        OneRow: get, one, single, fetch_one, find_one;
        Exists: exists;
        Limit: limit;
        AtCursor: paginate;
        Narrow: between, begins_with, scan_prefix;
        Where: r#where, where_, filter_by, and, or;
        SingleFields: columns, fields;
        RunQuery: execute, fetch, fetch_all, find_all, first_or_default;
        Len: len;
        Explained: to_sql;
        Delete: delete, delete_many, remove;
    }
}

names! {
    [V, W] Point<V, W> {
        OneKey: fetch, fetch_one, first, limit, one, order_by, single;
        ChangeByKey: modify, patch, update;
        Delete: delete, remove;
    }
}

// A `Stored` derefs to the entity, whose own functions come first.
names! {
    [T] Stored<T> {
        WriteVerb: delete, insert, remove, save, update;
    }
}

names! {
    [] Tables {
        Connect: builder, emulator, from_connection_string;
        // A feature adds the function itself, which then comes first.
        Feature: connect, in_memory, open, open_read_only;
    }
}

impl<V, P, A> Rows<V, P, A> {
    functions! {
        [pub] [{ unreachable!() }]
        [Order] rev();
        [LastRow] last(_);
        [Skip] skip(_);
        [OneOf] chain(_);
        [Aggregate] sum(_), max(_), min(_);
        [Iterate] map(_), filter_map(_), collect(), next(), reduce(_);
        [Exists] any(_);
        [Narrow] gt(_), ge(_), lt(_), le(_);
        [Where] find(_);
        [Explained] to_string();
    }
}

impl<V, W> Point<V, W> {
    functions! {
        [pub] [{ unreachable!() }]
        [OneKey] all(_), count(_), filter(_), take(_);
    }
}

impl Transaction<'_> {
    functions! {
        [pub] [{ unreachable!() }]
        [Commit] execute(_), save_changes(), send(), submit();
        [Rollback] rollback(), abort();
        [WriteVerb] add(_), put(_), replace(_), save(_);
        [ReadFirst] get(_), modify(_, _);
    }
}

impl Tables {
    functions! {
        [pub] [{ unreachable!() }]
        [WriteVerb]
            save(_), put(_), add(_), replace(_), insert_one(_), replace_one(_), put_item(), insert_or_replace(_),
            insert_or_merge(_), insert_or_update(_), insert_or_ignore(_),
            add_entity(_), create_entity(_), insert_entity(_), upsert_entity(_), update_entity(_), merge_entity(_);
        [WriteMany] insert_many(_), save_all(_);
        [UpdateRows] update_many(_), update_all(_);
        [ChangeByKey] increment(_, _), incr(_, _), update_one(_, _);
        [Delete] delete_one(_), delete_many(_), delete_entity(_, _);
        [Exists] exists(_), contains(_);
        [ReadByQuery]
            fetch_one(_), fetch_all(_), find_one(_), get_item(),
            get<T>(_) -> Ready<Result<Option<Stored<T>>>>,
            find<T>(_) -> Ready<Result<Option<Stored<T>>>>,
            get_entity<T>(_, _) -> Ready<Result<T>>,
            query_entities<T>(_) -> Ready<Result<Vec<T>>>,
            list_entities<T>() -> Ready<Result<Vec<T>>>,
            list<T>() -> Ready<Result<Vec<T>>>,
            all<T>() -> Ready<Result<Vec<T>>>,
            query<T>() -> Rows<T>,
            scan<T>() -> Rows<T>,
            select<T>() -> Rows<T>;
        [CreateTable]
            create_table(_),
            create_if_not_exists<T>() -> Create,
            create_table_if_not_exists<T>() -> Create;
        [DropTable]
            drop_table<T>() -> Ready<Result<()>>,
            truncate<T>() -> Ready<Result<()>>,
            clear<T>() -> Ready<Result<()>>;
        [Begin] begin(), batch(), begin_transaction(), start_transaction();
        [Changes] watch(_);
    }
}

/// For a query that is awaited, and one that follows `in`.
macro_rules! not_run {
    ($($query:ident<$($parameter:ident$(: $bound:ident)?),+>: $item:ty, $awaited:ident, $iterated:ident;)+) => {$(
        #[doc(hidden)]
        impl<$($parameter$(: $bound)?),+> Future for $query<$($parameter),+>
        where
            for<'never> TableStorage: $awaited,
        {
            type Output = Result<Vec<$item>>;

            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
                unreachable!("no type implements the hint")
            }
        }

        #[doc(hidden)]
        impl<$($parameter$(: $bound)?),+> Iterator for $query<$($parameter),+>
        where
            for<'never> TableStorage: $iterated,
        {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                unreachable!("no type implements the hint")
            }
        }
    )+};
}

not_run! {
    Rows<V: OwnedView, P, A>: V::Item, RunQuery, Iterate;
    BoxedRows<T>: T, RunQuery, Iterate;
    Point<V: OwnedView, W>: V::Item, OneKey, OneKey;
}

/// For a transaction that is awaited.
#[doc(hidden)]
impl Future for Transaction<'_>
where
    for<'never> TableStorage: Commit,
{
    type Output = Result<Self>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        unreachable!("no type implements the hint")
    }
}
