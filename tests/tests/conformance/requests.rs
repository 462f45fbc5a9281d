//! Numbers of requests that the operations of an entity without indexes take.

use anyhow::Result;
use table_runtime::Stored;
use tests::stores::Store;

use crate::fixtures::{Post, at};

crate::conformance! { each_operation_takes_one_request }

async fn each_operation_takes_one_request(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().await?;
    let key = || Post::key("Marcus", at(1), 1);
    let expect = |what: &str, requests: usize| assert_eq!(store.probe.requests(), requests, "{what}");
    expect("create: the table, that of layouts, and a record", 3);
    tables.create::<Post>().await?;
    expect("create again: the record is read", 3);
    tables.insert(&Post::numbered("Marcus", 1)).await?;
    expect("insert", 1);
    tables.upsert(&Post::numbered("Marcus", 1)).await?;
    expect("upsert", 1);
    let mut stored = key().get(tables).await?.expect("it was inserted");
    expect("get", 1);
    assert!(key().exists(tables).await?);
    expect("exists", 1);
    stored.likes += 1;
    tables.update(&mut stored).await?;
    expect("update", 1);
    let mut made = Stored::new(Stored::into_inner(stored.clone()), Stored::etag(&stored).clone());
    tables.update(&mut made).await?;
    expect("the first update of an entity that was not read: the row is read", 2);
    tables.update(&mut made).await?;
    expect("the next update", 1);
    tables.merge(&Post::numbered("Marcus", 1)).await?;
    expect("merge: the row is read", 2);
    tables.merge(&Post::numbered("Marcus", 2)).await?;
    expect("merge of a new entity", 2);
    let etag = tables.insert(&Post::numbered("Marcus", 3)).await?;
    expect("insert", 1);
    tables.delete(Stored::new(Post::numbered("Marcus", 3), etag)).await?;
    expect("delete of an entity that was not read", 1);
    tables.transaction().merge(&Post::numbered("Marcus", 2)).update(&mut made.clone()).commit().await.unwrap_err();
    expect("a transaction with a merge that is outdated", 2);
    tables.transaction().merge(&Post::numbered("Marcus", 2)).commit().await?;
    expect("a transaction with a merge", 2);
    tables.remove(Post::key("Marcus", at(2), 2)).await?;
    expect("remove", 1);
    tables.patch(key(), |post| [post.likes.set(1)]).await?;
    expect("patch", 1);
    tables.get_many([key(), key(), key()]).await?;
    expect("get_many of three", 3);
    Post::by_key("Marcus").all(tables).await?;
    expect("all", 1);
    Post::by_key("Marcus").first(tables).await?;
    expect("first", 1);
    Post::by_key("Marcus").count(tables).await?;
    expect("count", 1);
    Post::by_key("Marcus").range(at(0)..).page(tables, 10, None).await?;
    expect("page", 1);
    let stored = key().get(tables).await?.expect("the row");
    expect("get", 1);
    tables.delete(&stored).await?;
    expect("delete", 1);
    tables.remove(key()).await?;
    expect("remove", 1);
    Ok(())
}
