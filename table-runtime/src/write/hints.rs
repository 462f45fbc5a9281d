//! Verbs that users of other libraries expect on [`Tables`], [`Transaction`] and [`Bulk`]: see
//! [`hints`](table_store::unstable::hints).

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
        DumpAll, EmptyBin, FindOrInsert, Healthy, InsertEach, InsertMany, Layered, ListTables, LoadAll, Measured,
        ModifyOne, NoHandle, OfBackend, OnConflict, Put, Read, ReadExists, ReadFirst, ReadMany, Restore, Rollback,
        SendBulk, SideBySide, SweepExpired, TableStorage, Tracked, TryInsertMany, UpdateIf, UpdateMany, Watch, missing,
    },
    query::Rows,
    write::{bulk::Bulk, transaction::Transaction},
};

impl Tables {
    missing! {
        Put:
            save(_), put(_), add_entity(_), upsert_entity(_), update_entity(_), insert_one(_), insert_entity(_),
            insert_or_replace(_), insert_or_merge(_), insert_or_update(_), replace(_), add(_), create_entity(_), save_entity(_),
            put_entity(_), merge_entity(_), replace_one(_), upsert_one(_), put_item(), store(_), write(_), persist(_)
    }
    missing! {
        ModifyOne:
            find_one_and_update(_, _), find_one_and_replace(_, _), find_and_modify(_, _), get_and_update(_, _),
            update_one(_, _), update_with(_, _), update_by_key(_, _), update_item(), increment(_, _), incr(_, _),
            decrement(_, _), decr(_, _), edit(_, _), mutate(_, _)
    }
    missing! { generic NoHandle: collection<T>(_) -> Self, table<T>() -> Self, repository<T>() -> Self, entity<T>() -> Self }
    missing! { NoHandle: table_client(_), get_table_client(_), container(_) }
    missing! { ReadMany: get_all(_), batch_get(_), multi_get(_), mget(_), get_items(_), find_many(_) }
    missing! { Tracked: save_changes(), flush_changes() }
    missing! {
        InsertMany:
            insert_many(_), save_all(_), create_many(_), put_all(_), bulk_insert(_), bulk_write(_), batch_write(_)
    }
    missing! { TryInsertMany: try_insert_all(_), try_upsert_all(_), try_remove_all(_) }
    missing! { UpdateMany: update_all(_), update_many(_), patch_all(_, _), modify_all(_, _), merge_all(_), replace_all(_) }
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
            list<T>() -> Ready<Result<Vec<T>>>,
            find_all<T>() -> Ready<Result<Vec<T>>>,
            select<T>() -> Rows<T>,
            all<T>() -> Ready<Result<Vec<T>>>,
            scan<T>() -> Rows<T>,
            query<T>() -> Rows<T>,
            count<T>() -> Ready<Result<usize>>,
    }
    missing! {
        Read:
            find_one(_), find_by_id(_), find_by_key(_), get_by_key(_), get_one(_), get_item(), fetch(_), fetch_one(_),
            read(_)
    }
    missing! { ReadExists: exists(_), contains(_), contains_key(_) }
    missing! {
        DeleteByKey:
            delete_entity(_, _), delete_by_key(_), delete_by_id(_), delete_one(_), delete_item(), delete_key(_), del(_)
    }
    missing! { DeleteMany: delete_many(_), delete_where(_) }
    missing! { CreateTable: create_table(_), create_table_if_not_exists(_), create_tables() }
    missing! {
        generic CreateTable:
            create_if_not_exists<T>() -> Ready<Result<()>>,
            create_all<T>() -> Ready<Result<()>>,
            ensure_table<T>() -> Ready<Result<()>>,
            ensure_created<T>() -> Ready<Result<()>>,
            ensure_exists<T>() -> Ready<Result<()>>,
            init<T>() -> Ready<Result<()>>,
    }
    missing! {
        UpdateIf:
            update_if(_, _), upsert_if(_, _), replace_if(_, _), remove_if(_, _), delete_if(_, _), update_if_match(_, _),
            delete_if_match(_, _), replace_if_match(_, _), update_with_etag(_, _), delete_with_etag(_, _),
            update_if_unchanged(_, _)
    }
    missing! { DeleteEach: soft_delete_all(_), restore_all(_) }
    missing! { Restore: undelete(_), undo_delete(_), recover(_) }
    missing! {
        generic EmptyBin:
            empty_bin<E>() -> Ready<Result<()>>,
            purge<E>() -> Ready<Result<()>>,
            purge_deleted<E>() -> Ready<Result<()>>,
    }
    missing! {
        generic SweepExpired:
            purge_expired<E>() -> Ready<Result<()>>,
            delete_expired<E>() -> Ready<Result<()>>,
            remove_expired<E>() -> Ready<Result<()>>,
            sweep_expired<E>() -> Ready<Result<()>>,
            clean_up<E>() -> Ready<Result<()>>,
            cleanup<E>() -> Ready<Result<()>>,
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
            truncate<T>() -> Ready<Result<()>>,
            clear<T>() -> Ready<Result<()>>,
    }
    missing! {
        OfBackend:
            with_retries(_), with_max_attempts(_), with_max_retries(_), with_retry_policy(_), with_retry(_),
            with_timeout(_), with_request_timeout(_), timeout(_), connect_timeout(_), max_attempts(_), access_key(_), retry(_)
    }
    missing! { DropTable: delete_table(_), remove_table(_) }
    missing! { Layered: layer(_), with_layer(_), wrap(_), with_policy(_), with_middleware(_), middleware(_) }
    missing! { Measured: metrics(), stats(), requests() }
    missing! { ListTables: list_tables(), tables(), table_exists(_), has_table(_) }
    missing! { Healthy: ping(), health_check(), is_healthy(), is_alive(), healthcheck() }
    missing! { DumpAll: backup(_), export(_), export_to(_), snapshot(_), copy_to(_) }
    missing! { generic DumpAll: copy<T>(_) -> Ready<Result<()>> }
    missing! { LoadAll: import(_), import_from(_), restore_from(_) }
    missing! { Watch: watch(_), subscribe(_), changes(), change_feed(), listen(_) }
    missing! { Close: close(), shutdown(), disconnect(), flush() }
    missing! {
        Begin:
            begin(), batch(), begin_transaction(), start_transaction(), submit_transaction(_), pipeline(), pipe(), bulk()
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
    missing! { Rollback: rollback(), abort() }
    missing! { Commit: execute(_), send(), submit(), run(), save_changes(), finish() }
    missing! { Put: put(_), save(_), add(_), replace(_), create(_), insert_or_replace(_) }
    missing! { ReadFirst: modify(_, _), get(_), read(_), check(_), condition_check(_) }
    missing! { InsertEach: insert_all(_), insert_many(_), extend(_), upsert_all(_), remove_all(_), delete_all(_) }
}

impl Bulk<'_> {
    missing! { BulkSize: batch_size(_), chunk_size(_), chunks(_) }
    missing! {
        SideBySide:
            concurrency(_), parallel(_), parallelism(_), max_concurrency(_), with_concurrency(_), concurrent(_)
    }
    missing! {
        OnConflict:
            on_conflict(_), on_conflict_do_nothing(), ignore_duplicates(), skip_duplicates(), ignore_existing(),
            skip_existing()
    }
    missing! { SendBulk: commit(), execute(), send(), collect() }
}
