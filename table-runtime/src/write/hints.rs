//! Verbs that users of other libraries expect on [`Tables`], [`Transaction`] and [`Bulk`]: see [`hints`](table_store::unstable::hints).

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
};

use table_store::Result;

use crate::{
    client::tables::Tables,
    model::entity::Stored,
    model::hints::{
        Begin, BulkSize, Close, Commit, CreateIndex, CreateTable, DeleteByKey, DeleteEach, DeleteMany, DropTable,
        EmptyBin, FindOrInsert, InsertEach, InsertMany, OfBackend, OnConflict, Put, Read, ReadFirst, Restore, Rollback,
        SendBulk, SideBySide, TableStorage, Tracked, TryInsertMany, UpdateIf, UpdateMany, missing,
    },
    query::Rows,
    write::{bulk::Bulk, transaction::Transaction},
};

impl Tables {
    missing! {
        Put:
            save(_), put(_), add_entity(_), upsert_entity(_), update_entity(_), insert_one(_), insert_entity(_),
            insert_or_replace(_), insert_or_merge(_), insert_or_update(_), replace(_)
    }
    missing! { Tracked: save_changes(), flush_changes() }
    missing! { InsertMany: insert_many(_), save_all(_) }
    missing! { TryInsertMany: try_insert_all(_), try_upsert_all(_), try_remove_all(_) }
    missing! { UpdateMany: update_all(_), patch_all(_, _), modify_all(_, _), merge_all(_) }
    missing! {
        FindOrInsert:
            get_or_insert(_), get_or_create(_), find_or_create(_), insert_or_ignore(_), insert_if_absent(_),
            insert_if_not_exists(_), try_insert(_)
    }
    missing! {
        generic Read:
            get<T>(_) -> Ready<Result<Option<Stored<T>>>>,
            find<T>(_) -> Ready<Result<Vec<T>>>,
            get_entity<T>(_, _) -> Ready<Result<T>>,
            query_entities<T>(_) -> Ready<Result<Vec<T>>>,
            all<T>() -> Ready<Result<Vec<T>>>,
            scan<T>() -> Rows<T>,
            query<T>() -> Rows<T>,
            count<T>() -> Ready<Result<usize>>,
    }
    missing! { DeleteByKey: delete_entity(_, _) }
    missing! { DeleteMany: delete_many(_), delete_where(_) }
    missing! { CreateTable: create_table(_), create_table_if_not_exists(_) }
    missing! {
        generic CreateTable:
            create_if_not_exists<T>() -> Ready<Result<()>>,
            create_all<T>() -> Ready<Result<()>>,
            ensure_table<T>() -> Ready<Result<()>>,
    }
    missing! { UpdateIf: update_if(_, _), upsert_if(_, _), replace_if(_, _), remove_if(_, _), delete_if(_, _) }
    missing! { DeleteEach: soft_delete_all(_), restore_all(_) }
    missing! { Restore: undelete(_), undo_delete(_), recover(_) }
    missing! {
        generic EmptyBin:
            empty_bin<E>() -> Ready<Result<()>>,
            purge<E>() -> Ready<Result<()>>,
    }
    missing! {
        generic CreateIndex:
            create_index<E>(_) -> Ready<Result<()>>,
            ensure_index<E>(_) -> Ready<Result<()>>,
            add_index<E>(_) -> Ready<Result<()>>,
    }
    missing! {
        generic DropTable:
            drop_table<T>() -> Ready<Result<()>>,
            delete_table<T>() -> Ready<Result<()>>,
            truncate<T>() -> Ready<Result<()>>,
            clear<T>() -> Ready<Result<()>>,
    }
    missing! {
        OfBackend:
            with_retries(_), with_max_attempts(_), with_max_retries(_), with_retry_policy(_), with_retry(_),
            with_timeout(_), with_request_timeout(_)
    }
    missing! { Close: close(), shutdown(), disconnect(), flush() }
    missing! { Begin: begin(), batch(), begin_transaction(), submit_transaction(_) }
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

impl Transaction<'_> {
    missing! { Rollback: rollback(), abort() }
    missing! { Commit: execute(_), send(), submit(), run() }
    missing! { Put: put(_), save(_), add(_), replace(_) }
    missing! { ReadFirst: modify(_, _), get(_) }
    missing! { InsertEach: insert_all(_), extend(_), upsert_all(_), remove_all(_), delete_all(_) }
}

impl Bulk<'_> {
    missing! { BulkSize: batch_size(_), chunk_size(_) }
    missing! { SideBySide: concurrency(_), parallel(_) }
    missing! {
        OnConflict:
            on_conflict(_), on_conflict_do_nothing(), ignore_duplicates(), skip_duplicates(), ignore_existing(),
            skip_existing()
    }
    missing! { SendBulk: commit(), execute() }
}
