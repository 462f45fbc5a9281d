//! Functions that users of other libraries expect on queries: see [`hints`](table_store::unstable::hints).

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use table_store::Result;

use super::{BoxedRows, OwnedView, Point, Rows};
use crate::model::hints::{
    After, Aggregate, AllOfPoint, Await, AwaitPoint, BeforeBoxed, Combine, DeleteEach, DeleteRows, Deleted, Exists,
    Fields, GrantPartition, Iterate, Join, Last, Len, Limit, Narrow, OfBackend, OneOf, OneRow, OrFilter, Order,
    RowsOfPoint, Run, Shown, Skip, SkipOne, SliceOf, TableStorage, TextSearch, UseIndex, Where, WithExpired,
    WritePoint, WriteRows, missing,
};

/// Defines the functions of a query of rows.
macro_rules! missing_of_rows {
    () => {
        missing! { Limit: limit(_), top(_), max_results(_), head(_), first_n(_) }
        missing! { Skip: skip(_), offset(_) }
        missing! {
            After:
                after(_), start_after(_), cursor(_), page_size(_), per_page(_), paginate(_), pages(_), from_cursor(_),
                continue_from(_), resume(_), continuation_token(_)
        }
        missing! { Order: rev(), reverse(), desc(), descending(), newest_first(), sort() }
        missing! {
            Order:
                order_by(_), order_by_desc(_), order_by_asc(_), order(_), sort_by(_), sort_by_key(_), sorted_by(_),
                ascending(), asc(), sorted(), reversed()
        }
        missing! {
            Where:
                r#where(_), where_(_), find(_), filter_by(_), and_where(_), having(_), with_filter(_), matching(_),
                where_eq(_, _), retain(_)
        }
        missing! {
            Narrow:
                gt(_), ge(_), lt(_), le(_), between(_, _), begins_with(_), prefix(_), gte(_), lte(_), since(_)
        }
        missing! { OneOf: one_of(_), is_in(_), any_of(_) }
        missing! { OrFilter: or(_), or_filter(_), and_filter(_), or_where(_), and(_) }
        missing! { Combine: chain(_), union(_), concat(_), merge(_), union_all(_), zip(_) }
        missing! { UseIndex: index_name(_), use_index(_), index(_) }
        missing! { WithExpired: with_expired(), include_expired() }
        missing! { Deleted: deleted(), trashed(), include_deleted() }
        missing! { SliceOf: slice(_), month(_) }
        missing! { TextSearch: contains(_), ends_with(_), like(_) }
        missing! {
            Iterate:
                map(_), filter_map(_), iter(), enumerate(), flat_map(_), fold(_, _), reduce(_), inspect(_), position(_),
                take_while(_), skip_while(_), nth(_), peekable(), partition(_), collect()
        }
        missing! { Fields: columns(_), fields(_), project(_), pluck(_), select_only(), column(_), only(_), returning(_) }
        missing! {
            Aggregate:
                distinct(), group_by(_), sum(_), max(_), max_by(_), min_by(_), max_by_key(_), min(_), min_by_key(_),
                avg(_)
        }
        missing! { generic Join: join<T>() -> Self }
        missing! {
            OneRow:
                get(_), one(_), single(_), fetch_one(_), find_one(_), get_one(_), get_first(_), first_or_default(_),
                single_or_default(_), get_result(_)
        }
        missing! { Exists: exists(_), any(_), is_empty(_), exists_any(_), has_any(_) }
        missing! {
            Run:
                execute(_), fetch_all(_), fetch(_), load(_), run(_), exec(_), to_vec(_), to_list(_), fetch_optional(_),
                find_all(_), get_all(_), get_results(_), list(_), query(_), send(_), try_collect()
        }
        missing! { Last: last(_), latest(_), newest(_) }
        missing! { DeleteRows: delete(_), delete_many(_), remove(_), remove_all(_) }
        missing! { DeleteEach: soft_delete(_), soft_delete_all(_), restore_all(_), restore(_) }
        missing! { Len: len(_), size(_), total(_) }
        missing! { Shown: to_sql(), sql(), to_string(), debug_query(), plan(), query_plan() }
        missing! {
            Join:
                include(_), with(_), inner_join(_), left_join(_), right_join(_), populate(_), preload(_), find_related(_),
                find_also_related(_), find_with_related(_)
        }
        missing! { OfBackend: timeout(_), with_timeout(_), retry(_), retries(_), with_retries(_), consistent_read(_) }
        missing! {
            WriteRows:
                update(_, _), update_all(_, _), update_many(_, _), patch_all(_, _), modify_all(_, _), patch(_, _), set(_)
        }
    };
}

impl<V, P, A> Rows<V, P, A> {
    missing_of_rows! {}
}

impl<Item> BoxedRows<Item> {
    missing_of_rows! {}
}

impl<T> BoxedRows<T> {
    missing! {
        BeforeBoxed:
            filter(_), eq(_), starts_with(_), range(_), with_deleted(), only_deleted(), delete_all(_)
    }
    missing! { generic BeforeBoxed: select<P>() -> Self }
}

impl<V, W> Point<V, W> {
    missing! {
        AllOfPoint:
            all(_), first(_), single(_), one(_), fetch(_), fetch_one(_), fetch_optional(_), load(_), read(_)
    }
    missing! { OneOf: or(_) }
    missing! { GrantPartition: sas(_, _, _) }
    missing! { SkipOne: skip_unreadable(_) }
    missing! { Shown: to_sql(), to_string() }
    missing! { WritePoint: delete(_), remove(_), delete_all(_), update(_, _), patch(_, _), modify(_, _) }
    missing! { RowsOfPoint: take(_), limit(_), skip(_), filter(_), order_by(_), r#where(_) }
}

/// For a query that is awaited, one that is printed, and one that follows `in`.
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
        impl<$($parameter$(: $bound)?),+> fmt::Display for $query<$($parameter),+>
        where
            for<'never> TableStorage: Shown,
        {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
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
