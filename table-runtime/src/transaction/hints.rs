//! Verbs that users of other libraries expect on [`Tables`] and [`Transaction`]: see [`hints`](crate::hints).

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    ETag, Result, Tables, Transaction,
    hints::{
        Begin, Commit, CreateTable, DeleteByKey, DeleteMany, InsertEach, InsertMany, Put, Read, ReadFirst, Rollback,
        TableStorage, UpdateMany, missing,
    },
};

impl Tables {
    missing! {
        Put:
            save<E>(E) -> Ready<Result<ETag>>,
            save_changes() -> Ready<Result<()>>,
            create_entity<E>(E) -> Ready<Result<ETag>>,
            add_entity<E>(E) -> Ready<Result<ETag>>,
            upsert_entity<E>(E) -> Ready<Result<ETag>>,
            merge_entity<E>(E) -> Ready<Result<ETag>>,
            replace_entity<E>(E) -> Ready<Result<ETag>>,
            upsert_merge<E>(E) -> Ready<Result<ETag>>,
            upsert_replace<E>(E) -> Ready<Result<ETag>>,
            update_merge<E>(E) -> Ready<Result<ETag>>,
            update_entity<E>(E) -> Ready<Result<ETag>>,
            insert_one<E>(E) -> Ready<Result<ETag>>,
            add<E>(E) -> Ready<Result<ETag>>,
            put<E>(E) -> Ready<Result<ETag>>,
            put_item<E>(E) -> Ready<Result<ETag>>,
            set<E>(E) -> Ready<Result<ETag>>,
            replace<E>(E) -> Ready<Result<ETag>>,
            insert_or_replace<E>(E) -> Ready<Result<ETag>>,
            insert_or_update<E>(E) -> Ready<Result<ETag>>,
            insert_or_merge<E>(E) -> Ready<Result<ETag>>,
    }
    missing! {
        InsertMany:
            insert_many<E>(E) -> Ready<Result<()>>,
            insert_batch<E>(E) -> Ready<Result<()>>,
            upsert_many<E>(E) -> Ready<Result<()>>,
            add_range<E>(E) -> Ready<Result<()>>,
            batch_write<E>(E) -> Ready<Result<()>>,
            add_all<E>(E) -> Ready<Result<()>>,
            save_all<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        UpdateMany:
            update_all<E>(E) -> Ready<Result<()>>,
            update_many<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        DeleteMany:
            delete_all<E>(E) -> Ready<Result<()>>,
            delete_many<E>(E) -> Ready<Result<()>>,
            remove_range<E>(E) -> Ready<Result<()>>,
            remove_many<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        Read:
            get<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            get_item<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            find_one<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            find<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            query<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            select<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            list<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            all<T>() -> Ready<Result<Vec<T>>>,
    }
    missing! {
        DeleteByKey:
            delete_entity(impl Sized, impl Sized) -> Ready<Result<()>>,
            delete_one(impl Sized, impl Sized) -> Ready<Result<()>>,
            delete_item(impl Sized) -> Ready<Result<()>>,
    }
    missing! {
        // With the type, and with the partition key and the row key.
        Read:
            get_entity<T>(impl Sized, impl Sized) -> Ready<Result<T>>,
            query_entities<T>(impl Sized) -> Ready<Result<Vec<T>>>,
    }
    missing! {
        CreateTable:
            create_table<T>(T) -> Ready<Result<()>>,
            create_table_if_not_exists<T>(T) -> Ready<Result<()>>,
            create_if_not_exists<T>() -> Ready<Result<()>>,
            migrate_schema<T>() -> Ready<Result<()>>,
    }
    missing! {
        Begin:
            begin() -> Ready<Result<Transaction<'static>>>,
            begin_transaction() -> Ready<Result<Transaction<'static>>>,
            batch() -> Transaction<'static>,
            submit_transaction<T>(T) -> Ready<Result<()>>,
            transact_write_items<T>(T) -> Ready<Result<()>>,
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
        Put:
            add<E>(E) -> Self,
            push<E>(E) -> Self,
            put<E>(E) -> Self,
            save<E>(E) -> Self,
            create<E>(E) -> Self,
    }
    missing! {
        Rollback:
            rollback() -> Ready<Result<()>>,
            abort() -> Ready<Result<()>>,
            cancel() -> Ready<Result<()>>,
    }
    missing! {
        ReadFirst:
            modify<K, C>(K, C) -> Self,
            modify_or_insert<K, C>(K, C) -> Self,
            get<K>(K) -> Self,
    }
    missing! {
        InsertEach:
            insert_all<E>(E) -> Self,
            upsert_all<E>(E) -> Self,
            remove_all<E>(E) -> Self,
    }
}
