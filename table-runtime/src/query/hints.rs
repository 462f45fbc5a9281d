//! Functions that users of other libraries expect on queries: see [`hints`](crate::hints).

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use table_store::Result;

use super::{BoxedRows, Entities, OneEntity, OwnedView, Point, Rows, rows::Columns};
use crate::{
    client::tables::Tables,
    model::hints::{
        Aggregate, AllOfPoint, Await, AwaitPoint, DeleteRows, Exists, Iterate, IterateStream, Join, Last, Len, Limit,
        Narrow, OneOf, OneRow, Order, RowsOfPoint, Run, Skip, SliceOf, TableStorage, TextSearch, Where, WritePoint,
        WriteRows, missing,
    },
};

/// Without the columns of an entity.
impl<V: OwnedView, P, A> Rows<V, P, A> {
    missing! {
        Limit:
            limit<N>(N) -> Self,
    }
    missing! {
        Skip:
            skip<N>(N) -> Self,
            offset<N>(N) -> Self,
    }
    missing! {
        Order:
            rev() -> Self,
    }
    missing! {
        Narrow:
            gt<T>(T) -> Self,
            ge<T>(T) -> Self,
            lt<T>(T) -> Self,
            le<T>(T) -> Self,
            between<T, U>(T, U) -> Self,
            begins_with<T>(T) -> Self,
    }
    missing! {
        OneOf:
            one_of<T>(T) -> Self,
            is_in<T>(T) -> Self,
            any_of<T>(T) -> Self,
            or<T>(T) -> Self,
    }
    missing! {
        SliceOf:
            slice<T>(T) -> Self,
            month<T>(T) -> Self,
    }
    missing! {
        TextSearch:
            contains<T>(T) -> Self,
    }
    missing! {
        Iterate:
            map<R>(impl FnMut(V::Item) -> R) -> vec::IntoIter<R>,
            filter_map<R>(impl FnMut(V::Item) -> Option<R>) -> vec::IntoIter<R>,
            iter() -> vec::IntoIter<V::Item>,
            collect<C>() -> C,
    }
    missing! {
        Join:
            join<T>() -> Self,
    }
    missing! {
        OneRow:
            get(&Tables) -> Ready<Result<Option<V::Item>>>,
    }
    missing! {
        Exists:
            exists(&Tables) -> Ready<Result<bool>>,
    }
    missing! {
        Run:
            execute(&Tables) -> Ready<Result<Vec<V::Item>>>,
            fetch_all(&Tables) -> Ready<Result<Vec<V::Item>>>,
    }
    missing! {
        Last:
            last(&Tables) -> Ready<Result<Option<V::Item>>>,
    }
    missing! {
        DeleteRows:
            delete(&Tables) -> Ready<Result<()>>,
    }
    missing! {
        Len:
            len(&Tables) -> Ready<Result<usize>>,
    }
}

/// With a closure over the columns of an entity, whose type the compiler then knows.
impl<V: OwnedView<Entity: OneEntity>, P, A> Rows<V, P, A> {
    missing! {
        Order:
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by_desc<R>(impl FnOnce(Columns<V>) -> R) -> Self,
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
    }
    missing! {
        WriteRows:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
    }
}

impl<V: OwnedView, W> Point<V, W> {
    missing! {
        AllOfPoint:
            all(&Tables) -> Ready<Result<Vec<V::Item>>>,
            first(&Tables) -> Ready<Result<Option<V::Item>>>,
            single(&Tables) -> Ready<Result<V::Item>>,
    }
    missing! {
        WritePoint:
            delete(&Tables) -> Ready<Result<()>>,
    }
}

impl<V: OwnedView<Entity: OneEntity>, W> Point<V, W> {
    missing! {
        RowsOfPoint:
            filter<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        WritePoint:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
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
