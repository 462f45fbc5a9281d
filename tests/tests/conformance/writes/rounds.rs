//! Tasks that modify one row at the same time: they share a read and a commit.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    pin::pin,
    task::Poll,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use futures_util::{FutureExt, future::join_all, poll};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Action, BackendExt, BoxFuture, Group, IfMatch, Operation},
    row::{Properties, Row, ValueRef},
    testing::{Request, Scheduled},
};
use tests::stores::Store;

use crate::{
    events::fixtures::{Reading, events},
    fixtures::{Counter, findings},
    lifecycle::fixtures::Session,
};

crate::conformance! {
    tasks_that_wait_share_one_read_and_one_commit
    a_change_that_fails_leaves_the_others_as_if_it_had_not_been
    a_task_after_one_that_hides_the_entity_finds_none
    tasks_that_share_a_commit_record_one_event
    the_first_of_several_tasks_inserts_the_entity
    tasks_that_share_a_commit_keep_unknown_properties
}

type Modified<E> = table_runtime::Result<Option<Stored<E>>>;

/// Runs the tasks. No request is carried out before each of them has begun. Returns their results, or what they panicked with,
/// and the requests to the tables of entities.
async fn together<E: TableEntity>(
    store: &Store,
    tasks: impl FnOnce(&Tables) -> Vec<BoxFuture<'static, Modified<E>>>,
) -> (Vec<Result<Modified<E>, Box<dyn Any + Send>>>, Vec<&'static str>) {
    let (backend, schedule) = Scheduled::new(store.backend.clone());
    let tasks = tasks(&Tables::new(backend)).into_iter().map(|task| AssertUnwindSafe(task).catch_unwind());
    let (mut running, mut requests) = (pin!(join_all(tasks)), Vec::new());
    loop {
        if let Poll::Ready(results) = poll!(&mut running) {
            return (results, requests);
        }
        for (at, waiting) in schedule.waiting().iter().enumerate().filter(|(_, waiting)| !waiting.is_granted) {
            requests.extend(match &*waiting.request {
                Request::Sleep(_) => continue,
                Request::Get { table, .. } if !table.ends_with("TableLayouts") => Some("get"),
                Request::Execute(groups) if groups.iter().all(|group| !group.table.starts_with("Table")) => {
                    Some("commit")
                }
                _ => None,
            });
            schedule.grant(at);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Returns what the tasks returned, each an entity.
fn entities<E>(results: Vec<Result<Modified<E>, Box<dyn Any + Send>>>) -> Result<Vec<Stored<E>>> {
    let entity = |result: Result<Modified<E>, _>| result.ok().context("no panic")??.context("an entity");
    results.into_iter().map(entity).collect()
}

fn counter(count: i64) -> Counter {
    Counter { name: "hits".into(), number: 1, count }
}

async fn tasks_that_wait_share_one_read_and_one_commit(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.insert(&counter(0)).await?;
    let add = |tables: &Tables| tables.modify(Counter::key("hits", 1), |counter| counter.count += 1);
    let (results, requests) = together(store, |tables| (0..8).map(|_| add(tables)).collect()).await;
    assert_eq!(requests, ["get", "commit"]);
    let mut counters = entities(results)?;
    // The tasks take their turns in the order in which they began.
    assert!(counters.iter().map(|counter| counter.count).eq(1..=8));
    let now = Counter::key("hits", 1).get(tables).await?.context("the counter")?;
    let mut last = counters.pop().context("the last")?;
    assert_eq!(last, now, "it has the version too");
    for mut earlier in counters {
        assert!(matches!(tables.update(&mut earlier).await, Err(Error::ConditionNotMet(_))), "{earlier:?}");
    }
    last.count = 100;
    tables.update(&mut last).await?;
    assert_eq!(Counter::key("hits", 1).get(tables).await?, Some(last));
    Ok(())
}

async fn a_change_that_fails_leaves_the_others_as_if_it_had_not_been(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, None), Session::new(2, None)]).await?;
    let changes: [fn(&mut Session); 6] = [
        |session| session.note = "a".into(),
        |session| session.name = "NAME2".into(),
        |session| session.id = 3,
        |_| panic!("the test wants it"),
        |session| session.email = Some("mail2@x.org".into()),
        |session| session.note += "b",
    ];
    let modify = |tables: &Tables| {
        changes.map(|change| {
            tables.modify(Session::key("t", 1), move |session| {
                session.note += "!";
                change(session);
            })
        })
    };
    let (results, _) = together(store, |tables| modify(tables).into()).await;
    let [a, name, id, panicked, email, b] = <[_; 6]>::try_from(results).ok().context("six results")?;
    assert_eq!(entities(vec![a])?[0].note, "a");
    assert!(matches!(name, Ok(Err(Error::UniqueViolation(violation))) if violation.index == "name"));
    assert!(matches!(id, Ok(Err(Error::KeyChanged(_)))));
    assert!(panicked.is_err());
    assert!(matches!(email, Ok(Err(Error::UniqueViolation(violation))) if violation.index == "email"));
    let b = entities(vec![b])?;
    assert_eq!(b[0].note, "a!b");
    assert_eq!(Session::by_elsewhere("Name1").all(tables).await?, b);
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn a_task_after_one_that_hides_the_entity_finds_none(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Session>().await?;
    let hide: [fn(&mut Session); 2] = [
        |session| session.deleted = Some(SystemTime::UNIX_EPOCH + Duration::from_hours(1)),
        |session| session.until = Some(SystemTime::UNIX_EPOCH + Duration::from_hours(1)),
    ];
    for (id, hide) in (1..).zip(hide) {
        tables.insert(&Session::new(id, None)).await?;
        let note = |text: &'static str| move |session: &mut Session| text.clone_into(&mut session.note);
        let (results, _) = together(store, |tables| {
            let key = || Session::key("t", id);
            vec![
                tables.modify(key(), note("before")),
                tables.modify(key(), hide),
                tables.modify(key(), note("after")),
                tables.modify(key().with_deleted(), note("in the bin")),
            ]
        })
        .await;
        let results = results.into_iter().map(|result| result.ok().context("no panic")?.map_err(Into::into));
        let results: Vec<Option<Stored<Session>>> = results.collect::<Result<_>>()?;
        let notes: Vec<_> = results.iter().map(|found| found.as_ref().map(|session| &*session.note)).collect();
        let in_bin = (id == 1).then_some("in the bin");
        assert_eq!(notes, [Some("before"), Some("before"), None, in_bin]);
        assert_eq!(Session::key("t", id).get(tables).await?, None);
    }
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn tasks_that_share_a_commit_record_one_event(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert(&Reading::new(1)).await?;
    let add = |tables: &Tables| tables.modify(Reading::key("a", "1"), |reading| reading.value += 1);
    let (results, _) = together(store, |tables| (0..5).map(|_| add(tables)).collect()).await;
    assert!(entities(results)?.iter().map(|reading| reading.value).eq(1..=5));
    assert_eq!(events(store, "Readings").await?.len(), 2, "of the insert, and of the commit");
    Ok(())
}

async fn the_first_of_several_tasks_inserts_the_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    let add = |tables: &Tables| {
        let added = tables.modify_or_insert(&counter(1), |counter| counter.count += 1);
        Box::pin(async move { Ok(Some(added.await?)) }) as BoxFuture<'static, Modified<Counter>>
    };
    let (results, requests) = together(store, |tables| (0..6).map(|_| add(tables)).collect()).await;
    assert!(entities(results)?.iter().map(|counter| counter.count).eq(1..=6));
    assert_eq!(requests, ["get", "commit", "get", "commit"]);
    Ok(())
}

async fn tasks_that_share_a_commit_keep_unknown_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.insert(&counter(0)).await?;
    let mut unknown = Properties::default();
    unknown.push("Extra", ValueRef::String("kept"));
    let Row { partition_key, row_key, .. } = store.rows("Counters").await?.pop().context("the row")?;
    let operations = vec![Operation { row_key, action: Action::Merge(unknown, IfMatch::Any) }];
    store.backend.execute_group(&Group { table: "Counters".into(), partition_key, operations }).await?;
    let add = |tables: &Tables| tables.modify(Counter::key("hits", 1), |counter| counter.count += 1);
    let (results, _) = together(store, |tables| (0..3).map(|_| add(tables)).collect()).await;
    let mut last = entities(results)?.pop().context("the last")?;
    last.count += 1;
    tables.update(&mut last).await?;
    let row = store.rows("Counters").await?.pop().context("the row")?;
    assert_eq!(row.properties.get("Extra"), Some(ValueRef::String("kept")));
    assert_eq!(row.properties.get("Count"), Some(ValueRef::Int64(4)));
    Ok(())
}
