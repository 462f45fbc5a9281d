//! Functions that users of other libraries expect on queries: see [`hints`](crate::hints).

use std::{
    future::Ready,
    iter,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use table_store::{Result, error::BulkProgress};

use super::{BoxedRows, OneEntity, OwnedView, Point, Rows, rows::Columns};
use crate::{
    client::tables::Tables,
    model::hints::{
        After, Aggregate, AllOfPoint, Await, AwaitPoint, BeforeBoxed, Combine, DeleteEach, DeleteRows, Deleted, Exists,
        Iterate, Join, Last, Len, Limit, Narrow, OneOf, OneRow, OrFilter, Order, RowsOfPoint, Run, Skip, SliceOf,
        TableStorage, TextSearch, UseIndex, Where, WithExpired, WritePoint, WriteRows, missing,
    },
};

/// Defines the functions of a query without the columns of an entity.
macro_rules! missing_of_rows {
    ($item:ty) => {
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
            After:
                after<C>(C) -> Self,
                start_after<C>(C) -> Self,
                cursor<C>(C) -> Self,
                page_size<N>(N) -> Self,
                paginate<N>(N) -> Self,
        }
        missing! {
            Order:
                rev() -> Self,
                reverse() -> Self,
                desc() -> Self,
                descending() -> Self,
                newest_first() -> Self,
                sort() -> Self,
        }
        missing! {
            Narrow:
                gt<T>(T) -> Self,
                ge<T>(T) -> Self,
                lt<T>(T) -> Self,
                le<T>(T) -> Self,
                between<T, U>(T, U) -> Self,
                begins_with<T>(T) -> Self,
                prefix<T>(T) -> Self,
                gte<T>(T) -> Self,
                lte<T>(T) -> Self,
                since<T>(T) -> Self,
        }
        missing! {
            OneOf:
                one_of<T>(T) -> Self,
                is_in<T>(T) -> Self,
                any_of<T>(T) -> Self,
        }
        missing! {
            OrFilter:
                or<T>(T) -> Self,
        }
        missing! {
            Combine:
                chain<Q>(Q) -> Self,
                union<Q>(Q) -> Self,
                concat<Q>(Q) -> Self,
                merge<Q>(Q) -> Self,
                union_all<Q>(Q) -> Self,
                zip<Q>(Q) -> Self,
        }
        missing! {
            UseIndex:
                index_name<N>(N) -> Self,
                use_index<N>(N) -> Self,
                index<N>(N) -> Self,
        }
        missing! {
            WithExpired:
                with_expired() -> Self,
                include_expired() -> Self,
        }
        missing! {
            Deleted:
                deleted() -> Self,
                trashed() -> Self,
                include_deleted() -> Self,
        }
        missing! {
            SliceOf:
                slice<T>(T) -> Self,
                month<T>(T) -> Self,
        }
        missing! {
            TextSearch:
                contains<T>(T) -> Self,
                ends_with<T>(T) -> Self,
                like<T>(T) -> Self,
        }
        missing! {
            Iterate:
                map<R>(impl FnMut($item) -> R) -> vec::IntoIter<R>,
                filter_map<R>(impl FnMut($item) -> Option<R>) -> vec::IntoIter<R>,
                iter() -> vec::IntoIter<$item>,
                collect<C>() -> C,
                enumerate() -> iter::Enumerate<vec::IntoIter<$item>>,
                flat_map<R>(impl FnMut($item) -> R) -> vec::IntoIter<R>,
                fold<I>(I, impl FnMut(I, $item) -> I) -> I,
                reduce(impl FnMut($item, $item) -> $item) -> Option<$item>,
                inspect<R>(impl FnMut(&$item) -> R) -> vec::IntoIter<$item>,
                position(impl FnMut($item) -> bool) -> Option<usize>,
                take_while(impl FnMut(&$item) -> bool) -> vec::IntoIter<$item>,
                skip_while(impl FnMut(&$item) -> bool) -> vec::IntoIter<$item>,
                nth(usize) -> Option<$item>,
                peekable() -> iter::Peekable<vec::IntoIter<$item>>,
                partition<C>(impl FnMut(&$item) -> bool) -> (C, C),
        }
        missing! {
                Aggregate:
                distinct() -> Self,
        }
        missing! {
        Join:
                join<T>() -> Self,
        }
        missing! {
            OneRow:
                get(&Tables) -> Ready<Result<Option<$item>>>,
                one(&Tables) -> Ready<Result<$item>>,
                single(&Tables) -> Ready<Result<$item>>,
                fetch_one(&Tables) -> Ready<Result<$item>>,
        }
        missing! {
            Exists:
                exists(&Tables) -> Ready<Result<bool>>,
                any(&Tables) -> Ready<Result<bool>>,
                is_empty(&Tables) -> Ready<Result<bool>>,
        }
        missing! {
            Run:
                execute(&Tables) -> Ready<Result<Vec<$item>>>,
                fetch_all(&Tables) -> Ready<Result<Vec<$item>>>,
                fetch(&Tables) -> Ready<Result<Vec<$item>>>,
                load(&Tables) -> Ready<Result<Vec<$item>>>,
                run(&Tables) -> Ready<Result<Vec<$item>>>,
                exec(&Tables) -> Ready<Result<Vec<$item>>>,
                to_vec(&Tables) -> Ready<Result<Vec<$item>>>,
                to_list(&Tables) -> Ready<Result<Vec<$item>>>,
                fetch_optional(&Tables) -> Ready<Result<Option<$item>>>,
        }
        missing! {
            Last:
                last(&Tables) -> Ready<Result<Option<$item>>>,
                latest(&Tables) -> Ready<Result<Option<$item>>>,
                newest(&Tables) -> Ready<Result<Option<$item>>>,
        }
        missing! {
            DeleteRows:
                delete(&Tables) -> Ready<Result<BulkProgress>>,
                delete_many(&Tables) -> Ready<Result<BulkProgress>>,
                remove(&Tables) -> Ready<Result<()>>,
                remove_all(&Tables) -> Ready<Result<BulkProgress>>,
        }
        missing! {
            DeleteEach:
                soft_delete(&Tables) -> Ready<Result<BulkProgress>>,
                soft_delete_all(&Tables) -> Ready<Result<BulkProgress>>,
                restore_all(&Tables) -> Ready<Result<BulkProgress>>,
                restore(&Tables) -> Ready<Result<()>>,
        }
        missing! {
            Len:
                len(&Tables) -> Ready<Result<usize>>,
        }
    };
}

impl<V: OwnedView, P, A> Rows<V, P, A> {
    missing_of_rows! { V::Item }
}

impl<Item> BoxedRows<Item> {
    missing_of_rows! { Item }
}

/// With a closure over the columns of an entity, whose type the compiler then knows.
impl<V: OwnedView<Entity: OneEntity>, P, A> Rows<V, P, A> {
    missing! {
        Order:
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by_desc<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sort_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sort_by_key<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        Where:
            r#where<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            where_<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            find<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        OrFilter:
            or_filter<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            and_filter<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            or_where<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            and<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        Aggregate:
            group_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            sum<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            max<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            max_by<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            min_by<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            max_by_key<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            min<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            min_by_key<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
            avg<R, T>(impl FnOnce(Columns<V>) -> R) -> Ready<Result<T>>,
    }
    missing! {
        WriteRows:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            update_all<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            update_many<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            patch_all<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            modify_all<R>(&Tables, impl FnOnce(&mut V::Item) -> R) -> Ready<Result<()>>,
            patch<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            set<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
}

impl<T> BoxedRows<T> {
    missing! {
        BeforeBoxed:
            filter<C>(C) -> Self,
            select<P>() -> Self,
            eq<V>(V) -> Self,
            starts_with<V>(V) -> Self,
            range<V>(V) -> Self,
            with_deleted() -> Self,
            only_deleted() -> Self,
            delete_all(&Tables) -> Ready<Result<BulkProgress>>,
    }
}

impl<V: OwnedView, W> Point<V, W> {
    missing! {
        AllOfPoint:
            all(&Tables) -> Ready<Result<Vec<V::Item>>>,
            first(&Tables) -> Ready<Result<Option<V::Item>>>,
            single(&Tables) -> Ready<Result<V::Item>>,
            one(&Tables) -> Ready<Result<V::Item>>,
            fetch(&Tables) -> Ready<Result<Option<V::Item>>>,
            fetch_one(&Tables) -> Ready<Result<V::Item>>,
            fetch_optional(&Tables) -> Ready<Result<Option<V::Item>>>,
            load(&Tables) -> Ready<Result<Option<V::Item>>>,
            read(&Tables) -> Ready<Result<Option<V::Item>>>,
    }
    missing! {
        OneOf:
            or<T>(T) -> Self,
    }
    missing! {
        WritePoint:
            delete(&Tables) -> Ready<Result<BulkProgress>>,
            remove(&Tables) -> Ready<Result<()>>,
            delete_all(&Tables) -> Ready<Result<BulkProgress>>,
    }
}

impl<V: OwnedView<Entity: OneEntity>, W> Point<V, W> {
    missing! {
        RowsOfPoint:
            take<N>(N) -> Self,
            limit<N>(N) -> Self,
            skip<N>(N) -> Self,
            filter<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            order_by<R>(impl FnOnce(Columns<V>) -> R) -> Self,
            r#where<R>(impl FnOnce(Columns<V>) -> R) -> Self,
    }
    missing! {
        WritePoint:
            update<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            patch<R>(&Tables, impl FnOnce(Columns<V>) -> R) -> Ready<Result<()>>,
            modify<R>(&Tables, impl FnOnce(&mut V::Item) -> R) -> Ready<Result<()>>,
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
    Rows<V: OwnedView, P, A>: V::Item, Await, Iterate;
    BoxedRows<T>: T, Await, Iterate;
    Point<V: OwnedView, W>: V::Item, AwaitPoint, AwaitPoint;
}
