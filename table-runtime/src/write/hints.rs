//! Verbs that users of other libraries expect on [`Tables`], [`Transaction`] and [`Bulk`]: see [`hints`](crate::hints).

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
};

use table_store::{ETag, Result, error::BulkProgress};

use crate::{
    client::tables::Tables,
    model::entity::Stored,
    model::hints::{
        Begin, BulkSize, Close, Commit, CreateIndex, CreateTable, DeleteByKey, DeleteEach, DeleteMany, DropTable,
        EmptyBin, FindOrInsert, InsertEach, InsertMany, OfBackend, OnConflict, Put, Read, ReadFirst, Restore, Rollback,
        SendBulk, SideBySide, TableStorage, Tracked, TryInsertMany, UpdateIf, UpdateMany, missing,
    },
    query::{Point, Rows},
    write::{bulk::Bulk, transaction::Transaction},
};

impl Tables {
    missing! {
        Put:
            save<E>(E) -> Ready<Result<ETag>>,
            put<E>(E) -> Ready<Result<ETag>>,
            add_entity<E>(E) -> Ready<Result<ETag>>,
            upsert_entity<E>(E) -> Ready<Result<ETag>>,
            update_entity<E>(E) -> Ready<Result<ETag>>,
            insert_one<E>(E) -> Ready<Result<ETag>>,
            insert_entity<E>(E) -> Ready<Result<ETag>>,
            insert_or_replace<E>(E) -> Ready<Result<ETag>>,
            insert_or_merge<E>(E) -> Ready<Result<ETag>>,
            insert_or_update<E>(E) -> Ready<Result<ETag>>,
            replace<E>(E) -> Ready<Result<ETag>>,
    }
    missing! {
        Tracked:
            save_changes() -> Ready<Result<()>>,
            flush_changes() -> Ready<Result<()>>,
    }
    missing! {
        InsertMany:
            insert_many<E>(E) -> Ready<Result<BulkProgress>>,
            save_all<E>(E) -> Ready<Result<BulkProgress>>,
    }
    missing! {
        TryInsertMany:
            try_insert_all<E>(E) -> Ready<Result<BulkProgress>>,
            try_upsert_all<E>(E) -> Ready<Result<BulkProgress>>,
            try_remove_all<E>(E) -> Ready<Result<BulkProgress>>,
    }
    missing! {
        UpdateMany:
            update_all<E>(E) -> Ready<Result<BulkProgress>>,
            patch_all<E, S>(E, S) -> Ready<Result<()>>,
            modify_all<E, S>(E, S) -> Ready<Result<()>>,
            merge_all<E>(E) -> Ready<Result<BulkProgress>>,
    }
    missing! {
        FindOrInsert:
            get_or_insert<E>(E) -> Ready<Result<Stored<E>>>,
            get_or_create<E>(E) -> Ready<Result<Stored<E>>>,
            find_or_create<E>(E) -> Ready<Result<Stored<E>>>,
            insert_or_ignore<E>(E) -> Ready<Result<ETag>>,
            insert_if_absent<E>(E) -> Ready<Result<ETag>>,
            insert_if_not_exists<E>(E) -> Ready<Result<ETag>>,
            try_insert<E>(E) -> Ready<Result<ETag>>,
    }
    missing! {
        Read:
            get<T>(impl Sized) -> Ready<Result<Option<Stored<T>>>>,
            find<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            // With the partition key and the row key.
            get_entity<T>(impl Sized, impl Sized) -> Ready<Result<T>>,
            query_entities<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            all<T>() -> Ready<Result<Vec<T>>>,
            scan<T>() -> Rows<T>,
            query<T>() -> Rows<T>,
            count<T>() -> Ready<Result<usize>>,
    }
    missing! {
        DeleteByKey:
            delete_entity(impl Sized, impl Sized) -> Ready<Result<()>>,
    }
    missing! {
        DeleteMany:
            delete_many<Q>(Q) -> Ready<Result<BulkProgress>>,
            delete_where<Q>(Q) -> Ready<Result<BulkProgress>>,
    }
    missing! {
        CreateTable:
            create_table<T>(T) -> Ready<Result<()>>,
            create_if_not_exists<T>() -> Ready<Result<()>>,
            create_table_if_not_exists<T>(T) -> Ready<Result<()>>,
            create_all<T>() -> Ready<Result<()>>,
            ensure_table<T>() -> Ready<Result<()>>,
    }
    missing! {
        UpdateIf:
            update_if<E, T>(E, T) -> Ready<Result<ETag>>,
            upsert_if<E, T>(E, T) -> Ready<Result<ETag>>,
            replace_if<E, T>(E, T) -> Ready<Result<ETag>>,
            remove_if<E, T>(E, T) -> Ready<Result<()>>,
            delete_if<E, T>(E, T) -> Ready<Result<()>>,
    }
    missing! {
        DeleteEach:
            soft_delete_all<Q>(Q) -> Ready<Result<BulkProgress>>,
            restore_all<Q>(Q) -> Ready<Result<BulkProgress>>,
    }
    missing! {
        Restore:
            undelete<K>(K) -> Ready<Result<bool>>,
            undo_delete<K>(K) -> Ready<Result<bool>>,
            recover<K>(K) -> Ready<Result<bool>>,
    }
    missing! {
        EmptyBin:
            empty_bin<E>() -> Ready<Result<()>>,
            purge<E>() -> Ready<Result<()>>,
    }
    missing! {
        CreateIndex:
            create_index<E>(impl Sized) -> Ready<Result<()>>,
            ensure_index<E>(impl Sized) -> Ready<Result<()>>,
            add_index<E>(impl Sized) -> Ready<Result<()>>,
    }
    missing! {
        DropTable:
            // Without an argument, because a call of each names its type.
            drop_table<T>() -> Ready<Result<()>>,
            delete_table<T>() -> Ready<Result<()>>,
            truncate<T>() -> Ready<Result<()>>,
            clear<T>() -> Ready<Result<()>>,
    }
    missing! {
        OfBackend:
            with_retries<N>(N) -> Self,
            with_max_attempts<N>(N) -> Self,
            with_max_retries<N>(N) -> Self,
            with_retry_policy<P>(P) -> Self,
            with_retry<P>(P) -> Self,
            with_timeout<D>(D) -> Self,
            with_request_timeout<D>(D) -> Self,
    }
    missing! {
        Close:
            close() -> Ready<Result<()>>,
            shutdown() -> Ready<Result<()>>,
            disconnect() -> Ready<Result<()>>,
            flush() -> Ready<Result<()>>,
    }
    missing! {
        Begin:
            begin() -> Ready<Result<Transaction<'static>>>,
            batch() -> Transaction<'static>,
            begin_transaction() -> Ready<Result<Transaction<'static>>>,
            submit_transaction<T>(T) -> Ready<Result<()>>,
    }
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
    missing! {
        Rollback:
            rollback() -> Ready<Result<()>>,
            abort() -> Ready<Result<()>>,
    }
    missing! {
        Commit:
            execute(&Tables) -> Ready<Result<()>>,
            send() -> Ready<Result<()>>,
            submit() -> Ready<Result<()>>,
            run() -> Ready<Result<()>>,
    }
    missing! {
        Put:
            put<E>(E) -> Self,
            save<E>(E) -> Self,
            add<E>(E) -> Self,
            replace<E>(E) -> Self,
    }
    missing! {
        ReadFirst:
            modify<K, C>(K, C) -> Self,
            get<V, W>(Point<V, W>) -> Ready<Result<Option<Stored<V>>>>,
    }
    missing! {
        InsertEach:
            insert_all<E>(E) -> Self,
            extend<E>(E) -> Self,
            upsert_all<E>(E) -> Self,
            remove_all<E>(E) -> Self,
            delete_all<E>(E) -> Self,
    }
}

impl Bulk<'_> {
    missing! {
        BulkSize:
            batch_size<N>(N) -> Self,
            chunk_size<N>(N) -> Self,
    }
    missing! {
        SideBySide:
            concurrency<N>(N) -> Self,
            parallel<N>(N) -> Self,
    }
    missing! {
        OnConflict:
            on_conflict<C>(C) -> Self,
            on_conflict_do_nothing() -> Self,
            ignore_duplicates() -> Self,
            skip_duplicates() -> Self,
            ignore_existing() -> Self,
            skip_existing() -> Self,
    }
    missing! {
        SendBulk:
            commit() -> Self,
            execute() -> Self,
    }
}
