//! Verbs that users of other libraries expect on [`Tables`] and [`Transaction`]: see [`hints`](crate::hints).

use std::{
    future::Ready,
    pin::Pin,
    task::{Context, Poll},
};

use table_store::{ETag, Result};

use crate::{
    client::tables::Tables,
    model::hints::{
        Begin, Commit, CreateTable, DeleteByKey, InsertEach, InsertMany, Put, Read, ReadFirst, Rollback, TableStorage,
        UpdateMany, missing,
    },
    write::transaction::Transaction,
};

impl Tables {
    missing! {
        Put:
            save<E>(E) -> Ready<Result<ETag>>,
            put<E>(E) -> Ready<Result<ETag>>,
            add_entity<E>(E) -> Ready<Result<ETag>>,
            upsert_entity<E>(E) -> Ready<Result<ETag>>,
            update_entity<E>(E) -> Ready<Result<ETag>>,
    }
    missing! {
        InsertMany:
            insert_many<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        UpdateMany:
            update_all<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        Read:
            get<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            find<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            query<T>(impl Sized) -> Ready<Result<Vec<T>>>,
            // With the partition key and the row key.
            get_entity<T>(impl Sized, impl Sized) -> Ready<Result<T>>,
    }
    missing! {
        DeleteByKey:
            delete_entity(impl Sized, impl Sized) -> Ready<Result<()>>,
    }
    missing! {
        CreateTable:
            create_table<T>(T) -> Ready<Result<()>>,
            create_if_not_exists<T>() -> Ready<Result<()>>,
            ensure_table<T>() -> Ready<Result<()>>,
    }
    missing! {
        Begin:
            begin() -> Ready<Result<Transaction<'static>>>,
            batch() -> Transaction<'static>,
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
    }
    missing! {
        ReadFirst:
            modify<K, C>(K, C) -> Self,
    }
    missing! {
        InsertEach:
            insert_all<E>(E) -> Self,
            extend<E>(E) -> Self,
            upsert_all<E>(E) -> Self,
    }
}
