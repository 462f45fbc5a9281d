//! Verbs that users of other libraries expect on [`Tables`]: see [`hints`](crate::hints).

use std::future::Ready;

use crate::{
    ETag, Result, Tables, Transaction,
    hints::{Begin, CreateTable, DeleteMany, InsertMany, Put, Read, TableStorage, UpdateMany, missing},
};

impl Tables {
    missing! {
        Put:
            save<E>(E) -> Ready<Result<ETag>>,
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
            remove_many<E>(E) -> Ready<Result<()>>,
    }
    missing! {
        Read:
            get<K>(K) -> Ready<Result<()>>,
            get_item<K>(K) -> Ready<Result<()>>,
            find<K>(K) -> Ready<Result<()>>,
            query<K>(K) -> Ready<Result<()>>,
            select<K>(K) -> Ready<Result<()>>,
            list<K>(K) -> Ready<Result<()>>,
            all<K>(K) -> Ready<Result<()>>,
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
            begin() -> Transaction<'static>,
            batch() -> Transaction<'static>,
            begin_transaction() -> Transaction<'static>,
    }
}
