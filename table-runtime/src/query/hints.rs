//! Functions that users of other libraries expect on queries: see [`hints`](crate::hints).

use std::{
    future::Ready,
    iter::Enumerate,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use super::{BoxedRows, Entities, OneEntity, OwnedView, Point, Rows, rows::Columns};
use crate::{
    Result, Tables,
    hints::{
        Aggregate, AllOfPoint, Await, AwaitPoint, DeleteRows, Exists, Iterate, IterateStream, Last, Len, Limit, Narrow,
        OneRow, Order, RowsOfPoint, Run, Skip, TableStorage, TextSearch, Where, WritePoint, WriteRows, missing,
    },
};

/// Without the columns of an entity.
impl<V: OwnedView, P, A> Rows<V, P, A> {
    missing! {
        Limit:
            limit<N>(N) -> Self,
            top<N>(N) -> Self,
    }
    missing! {
        Skip:
            skip<N>(N) -> Self,
            offset<N>(N) -> Self,
    }
    missing! {
        Order:
            order<T>(T) -> Self,
            sort<T>(T) -> Self,
            rev() -> Self,
            reverse() -> Self,
            reversed() -> Self,
            desc() -> Self,
            descending() -> Self,
    }
    missing! {
        Where:
            and<T>(T) -> Self,
    }
    missing! {
        Narrow:
            gt<T>(T) -> Self,
            ge<T>(T) -> Self,
            lt<T>(T) -> Self,
            le<T>(T) -> Self,
            ne<T>(T) -> Self,
            between<T, U>(T, U) -> Self,
            since<T>(T) -> Self,
            until<T>(T) -> Self,
            after<T>(T) -> Self,
            before<T>(T) -> Self,
            begins_with<T>(T) -> Self,
            prefix<T>(T) -> Self,
    }
    missing! {
        TextSearch:
            contains<T>(T) -> Self,
            ends_with<T>(T) -> Self,
            like<T>(T) -> Self,
            matches<T>(T) -> Self,
            search<T>(T) -> Self,
    }
    missing! {
        Iterate:
            map<R>(impl FnMut(V::Item) -> R) -> vec::IntoIter<R>,
            filter_map<R>(impl FnMut(V::Item) -> Option<R>) -> vec::IntoIter<R>,
            fold<B>(B, impl FnMut(B, V::Item) -> B) -> B,
            enumerate() -> Enumerate<vec::IntoIter<V::Item>>,
            iter() -> vec::IntoIter<V::Item>,
            into_iter() -> vec::IntoIter<V::Item>,
            collect<C>() -> C,
            next() -> Ready<Option<V::Item>>,
    }
    missing! {
        Aggregate:
            join<T, U>(T, U) -> Self,
            distinct() -> Self,
    }
    missing! {
        OneRow:
            get(&Tables) -> Ready<Result<Option<V::Item>>>,
            get_one(&Tables) -> Ready<Result<Option<V::Item>>>,
            one(&Tables) -> Ready<Result<Option<V::Item>>>,
            single(&Tables) -> Ready<Result<V::Item>>,
            single_or_default(&Tables) -> Ready<Result<Option<V::Item>>>,
    }
    missing! {
        Exists:
            exists(&Tables) -> Ready<Result<bool>>,
            any(&Tables) -> Ready<Result<bool>>,
            is_empty(&Tables) -> Ready<Result<bool>>,
    }
    missing! {
        Run:
            run(&Tables) -> Ready<Result<Vec<V::Item>>>,
            execute(&Tables) -> Ready<Result<Vec<V::Item>>>,
            fetch(&Tables) -> Ready<Result<Vec<V::Item>>>,
            fetch_all(&Tables) -> Ready<Result<Vec<V::Item>>>,
            load(&Tables) -> Ready<Result<Vec<V::Item>>>,
            exec(&Tables) -> Ready<Result<Vec<V::Item>>>,
            send(&Tables) -> Ready<Result<Vec<V::Item>>>,
            query(&Tables) -> Ready<Result<Vec<V::Item>>>,
            to_list(&Tables) -> Ready<Result<Vec<V::Item>>>,
            to_vec(&Tables) -> Ready<Result<Vec<V::Item>>>,
            to_array(&Tables) -> Ready<Result<Vec<V::Item>>>,
            get_results(&Tables) -> Ready<Result<Vec<V::Item>>>,
            fetch_one(&Tables) -> Ready<Result<Option<V::Item>>>,
            fetch_optional(&Tables) -> Ready<Result<Option<V::Item>>>,
            find_one(&Tables) -> Ready<Result<Option<V::Item>>>,
            first_or_default(&Tables) -> Ready<Result<Option<V::Item>>>,
            get_result(&Tables) -> Ready<Result<V::Item>>,
    }
    missing! {
        Last:
            last(&Tables) -> Ready<Result<Option<V::Item>>>,
            last_or_default(&Tables) -> Ready<Result<Option<V::Item>>>,
    }
    missing! {
        WriteRows:
            set<T>(T) -> Self,
    }
    missing! {
        DeleteRows:
            delete(&Tables) -> Ready<Result<()>>,
            remove(&Tables) -> Ready<Result<()>>,
            remove_all(&Tables) -> Ready<Result<()>>,
            delete_many(&Tables) -> Ready<Result<()>>,
    }
    missing! {
        Len:
            len(&Tables) -> Ready<Result<usize>>,
            count_documents(&Tables) -> Ready<Result<usize>>,
            size(&Tables) -> Ready<Result<usize>>,
    }
}

/// With a closure over the columns of an entity, whose type the compiler then knows.
impl<V: OwnedView<Entity: OneEntity>, P, A> Rows<V, P, A> {
    missing! {
        Order:
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by_desc<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by_descending<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sort_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sort_by_key<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            then_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        Where:
            r#where<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            where_<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            find<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        Aggregate:
            group_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sum<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            average<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            max<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            min<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        WriteRows:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            patch<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
    }
}

impl<V: OwnedView, W> Point<V, W> {
    missing! {
        AllOfPoint:
            all(&Tables) -> Ready<Result<Vec<V::Item>>>,
            first(&Tables) -> Ready<Result<Option<V::Item>>>,
            one(&Tables) -> Ready<Result<Option<V::Item>>>,
            single(&Tables) -> Ready<Result<V::Item>>,
            single_or_default(&Tables) -> Ready<Result<Option<V::Item>>>,
            first_or_default(&Tables) -> Ready<Result<Option<V::Item>>>,
            fetch(&Tables) -> Ready<Result<Option<V::Item>>>,
            fetch_one(&Tables) -> Ready<Result<V::Item>>,
            fetch_optional(&Tables) -> Ready<Result<Option<V::Item>>>,
            load(&Tables) -> Ready<Result<Option<V::Item>>>,
            find(&Tables) -> Ready<Result<Option<V::Item>>>,
            run(&Tables) -> Ready<Result<Option<V::Item>>>,
            count(&Tables) -> Ready<Result<usize>>,
    }
    missing! {
        RowsOfPoint:
            take<N>(N) -> Self,
            limit<N>(N) -> Self,
            skip<N>(N) -> Self,
            rev() -> Self,
            page(&Tables, usize, Option<&str>) -> Ready<Result<()>>,
    }
    missing! {
        WritePoint:
            delete(&Tables) -> Ready<Result<()>>,
            delete_all(&Tables) -> Ready<Result<()>>,
            remove(&Tables) -> Ready<Result<()>>,
            set<T>(T) -> Self,
    }
}

impl<V: OwnedView<Entity: OneEntity>, W> Point<V, W> {
    missing! {
        RowsOfPoint:
            filter<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            r#where<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        WritePoint:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            patch<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
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

#[doc(hidden)]
impl<T> Iterator for Entities<T>
where
    for<'never> TableStorage: IterateStream,
{
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        unreachable!("no type implements the hint")
    }
}

not_run! {
    Rows<V: OwnedView, P, A>: V::Item, Await, Iterate;
    BoxedRows<T>: T, Await, Iterate;
    Point<V: OwnedView, W>: V::Item, AwaitPoint, AwaitPoint;
}
