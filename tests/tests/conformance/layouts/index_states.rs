//! States of indexes: programs without an index, rollbacks, and dropped indexes.

use std::time::Duration;

use anyhow::{Result, ensure};
use table_runtime::{Error, TableEntity, Tables, backend::BackendExt};
use tests::stores::Store;

crate::conformance! {
    a_program_that_lacks_a_ready_index_is_refused
    a_program_that_lacks_an_index_that_is_built_is_accepted
    a_rollback_takes_the_index_back_to_building
    a_running_program_does_not_rely_on_an_index_that_was_taken_back
    a_program_without_the_index_ends_a_backfill
    a_dropped_index_leaves_no_row
    a_dropped_index_leaves_other_rows_of_its_table
    a_dropped_index_can_come_back_with_another_layout
    an_index_that_the_struct_has_is_not_dropped
    an_unknown_index_is_not_dropped
    a_stopped_drop_is_continued
    the_state_of_a_ready_index_costs_no_request
}

/// Length of leases: long enough that a test does not renew one by chance, short enough to wait for.
const LEASE: Duration = Duration::from_millis(300);

/// Version 1, without indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", entity = "Member")]
struct Plain {
    #[partition_key]
    team: String,
    #[row_key(prefix = "id-")]
    id: u32,
    email: String,
    city: String,
}

/// Version 2, with indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", entity = "Member")]
struct Member {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    #[index(city, same_partition)]
    city: String,
}

/// Version 3, with another index in place of `email`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", entity = "Member")]
struct Upper {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(email, uppercase, unique)]
    email: String,
    #[index(city, same_partition)]
    city: String,
}

/// Version 4, without `email`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", entity = "Member")]
struct WithCity {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    email: String,
    #[index(city, same_partition)]
    city: String,
}

fn program(store: &Store) -> Tables {
    store.again().with_lease(LEASE)
}

fn member(id: u32, email: &str) -> Member {
    Member { team: "a".into(), id, email: email.into(), city: "Bonn".into() }
}

fn plain(id: u32, email: &str) -> Plain {
    Plain { team: "a".into(), id, email: email.into(), city: "Bonn".into() }
}

async fn a_program_that_lacks_a_ready_index_is_refused(store: &Store) -> Result<()> {
    program(store).create::<Member>().await?;
    let Err(Error::IndexMissing(error)) = program(store).create::<Plain>().await else { panic!("it is refused") };
    assert_eq!((&*error.table, &*error.entity, &*error.index), ("Members", "Member", "city"));
    let text = error.to_string();
    ensure!(text.contains("drop_index(\"city\")") && text.contains("demote_missing_indexes"), "{text}");
    let Err(Error::IndexMissing(error)) = program(store).create::<WithCity>().await else { panic!("it is refused") };
    assert_eq!(&*error.index, "email");
    Ok(())
}

async fn a_program_that_lacks_an_index_that_is_built_is_accepted(store: &Store) -> Result<()> {
    let (older, newer) = (program(store), program(store));
    older.create::<Plain>().await?;
    newer.create::<Member>().await?;
    for _ in 0..2 {
        program(store).create::<Plain>().await?;
    }
    older.insert(&plain(1, "a@x.org")).await?;
    newer.insert(&member(2, "b@x.org")).await?;
    for index in ["email", "city"] {
        ensure!(newer.backfill::<Member>(index).await?.ready, "{index}");
    }
    assert_eq!(Member::by_city("a").eq("Bonn").count(&newer).await?, 2);
    assert!(Member::by_email("a@x.org").exists(&newer).await?);
    Ok(())
}

async fn a_rollback_takes_the_index_back_to_building(store: &Store) -> Result<()> {
    let newer = program(store);
    newer.create::<Member>().await?;
    newer.insert(&member(1, "a@x.org")).await?;
    let older = program(store);
    older.create::<Plain>().demote_missing_indexes().await?;
    // It does not know the index, so it can give the same value to another entity.
    older.insert(&plain(2, "A@x.org")).await?;
    let again = program(store);
    again.create::<Member>().await?;
    for tables in [&newer, &again] {
        let refused = Member::by_email("a@x.org").get(tables).await;
        assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
        let refused = Member::by_city("a").eq("Bonn").all(tables).await;
        assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
    }
    ensure!(again.backfill::<Member>("city").await?.ready);
    let filled = again.backfill::<Member>("email").await?;
    ensure!(!filled.ready && filled.conflicts.len() == 1, "{filled:?}");
    again.remove(Member::key("a", 2)).await?;
    ensure!(again.backfill::<Member>("email").await?.ready);
    assert_eq!(Member::by_email("a@x.org").get(&again).await?.map(|member| member.id), Some(1));
    assert_eq!(again.verify::<Member>().all().await?, []);
    Ok(())
}

async fn a_running_program_does_not_rely_on_an_index_that_was_taken_back(store: &Store) -> Result<()> {
    let newer = program(store);
    newer.create::<Member>().await?;
    newer.insert(&member(1, "a@x.org")).await?;
    assert!(Member::by_email("a@x.org").exists(&newer).await?);
    let older = program(store);
    older.create::<Plain>().demote_missing_indexes().await?;
    let mut changed = Plain::key("a", 1).get(&older).await?.expect("the member");
    changed.email = "b@x.org".into();
    older.update(&mut changed).await?;
    // The handle read the state as ready, longer than a lease ago.
    let refused = Member::by_email("b@x.org").get(&newer).await;
    assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
    Ok(())
}

async fn a_program_without_the_index_ends_a_backfill(store: &Store) -> Result<()> {
    let (older, newer) = (program(store), program(store));
    older.create::<Plain>().await?;
    let members: Vec<_> = (0..1500).map(|id| plain(id, &format!("{id}@x.org"))).collect();
    older.insert_all(&members).await?;
    newer.create::<Member>().await?;
    let (sender, mut cursors) = tokio::sync::mpsc::unbounded_channel();
    let stopped = newer.backfill::<Member>("city").progress(move |progress| {
        // The receiver may be gone.
        let _ = sender.send(progress.cursor.clone());
    });
    let cursor = tokio::select! {
        filled = stopped => panic!("it reports its first page: {filled:?}"),
        cursor = cursors.recv() => cursor.flatten().expect("a cursor"),
    };
    program(store).create::<Plain>().await?;
    let refused = newer.backfill::<Member>("city").resume_from(&cursor)?.await;
    assert!(matches!(refused, Err(Error::Cursor(_))), "{refused:?}");
    ensure!(newer.backfill::<Member>("city").await?.ready);
    Ok(())
}

async fn a_dropped_index_leaves_no_row(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    let members: Vec<_> = (0..120).map(|id| member(id, &format!("{id}@x.org"))).collect();
    tables.insert_all(&members).await?;
    let (mut reported, tables) = (0, program(store));
    let dropped = tables.drop_index::<WithCity>("email").side_by_side(1).progress(move |progress| {
        assert!(progress.index_rows > reported);
        reported = progress.index_rows;
    });
    assert_eq!(dropped.await?.rows, 120);
    assert_eq!(store.rows("MembersByEmail").await?.len(), 0);
    let records = store.rows("TableLayouts").await?;
    ensure!(records.iter().all(|row| !row.row_key.ends_with(" email")), "{records:?}");
    tables.create::<WithCity>().await?;
    assert_eq!(WithCity::by_city("a").eq("Bonn").count(&tables).await?, 120);
    assert_eq!(tables.verify::<WithCity>().all().await?, []);
    Ok(())
}

async fn a_dropped_index_leaves_other_rows_of_its_table(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    for id in 0..30 {
        tables.insert(&member(id, &format!("{id}@x.org"))).await?;
    }
    assert_eq!(tables.drop_index::<Plain>("city").await?.rows, 30);
    assert_eq!(Plain::by_key("a").count(&tables).await?, 30);
    assert!(Member::by_email("3@x.org").exists(&tables).await?);
    Ok(())
}

async fn a_dropped_index_can_come_back_with_another_layout(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    tables.insert(&member(1, "a@x.org")).await?;
    assert!(matches!(program(store).create::<Upper>().await, Err(Error::LayoutChanged(_))));
    tables.drop_index::<WithCity>("email").await?;
    let tables = program(store);
    tables.create::<Upper>().await?;
    let refused = Upper::by_email("a@x.org").get(&tables).await;
    assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
    ensure!(tables.backfill::<Upper>("email").await?.ready);
    assert!(Upper::by_email("A@X.org").exists(&tables).await?);
    assert_eq!(tables.verify::<Upper>().all().await?, []);
    Ok(())
}

async fn an_index_that_the_struct_has_is_not_dropped(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    let Err(Error::Query(error)) = tables.drop_index::<Member>("email").await else { panic!("the struct has it") };
    ensure!(error.problem.contains("`email`") && error.problem.contains("remove it"), "{error}");
    assert_eq!(Member::by_email("a@x.org").get(&tables).await?, None);
    Ok(())
}

async fn an_unknown_index_is_not_dropped(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    let Err(Error::Query(error)) = tables.drop_index::<Plain>("mail").await else { panic!("there is none") };
    ensure!(error.problem.contains("`mail`") && error.problem.contains("`email`"), "{error}");
    Ok(())
}

async fn a_stopped_drop_is_continued(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<Member>().await?;
    let members: Vec<_> = (0..1100).map(|id| member(id, &format!("{id}@x.org"))).collect();
    tables.insert_all(&members).await?;
    let (sender, mut pages) = tokio::sync::mpsc::unbounded_channel();
    let dropped = tables.drop_index::<WithCity>("email").side_by_side(1).progress(move |progress| {
        // The receiver may be gone.
        let _ = sender.send(progress.index_rows);
    });
    tokio::select! {
        // The report stops it before it is polled again.
        biased;
        page = pages.recv() => ensure!(page.is_some(), "a page"),
        dropped = dropped => panic!("it reports its first page: {dropped:?}"),
    }
    // Until it has ended, no program can have the index.
    let refused = program(store).create::<Member>().await;
    assert!(matches!(refused, Err(Error::IndexDropped { .. })), "{refused:?}");
    let refused = Member::by_email("1@x.org").get(&program(store)).await;
    assert!(matches!(refused, Err(Error::IndexDropped { .. })), "{refused:?}");
    program(store).create::<WithCity>().await?;
    tables.drop_index::<WithCity>("email").await?;
    assert_eq!(store.rows("MembersByEmail").await?.len(), 0);
    program(store).create::<Member>().await?;
    Ok(())
}

async fn the_state_of_a_ready_index_costs_no_request(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    tables.insert(&member(1, "a@x.org")).await?;
    store.probe.requests();
    for _ in 0..10 {
        assert!(Member::by_email("a@x.org").exists(tables).await?);
    }
    assert_eq!(store.probe.requests(), 20, "a pointer and its entity");
    // A handle that did not call `create` reads the state once.
    let (probed, probe) = tests::probed::Probe::new(store.backend.clone());
    let tables = Tables::new(probed);
    for _ in 0..10 {
        assert!(Member::by_email("a@x.org").exists(&tables).await?);
    }
    assert_eq!(probe.requests(), 21);
    assert_eq!(store.backend.list_tables("TableLayouts").await?, ["TableLayouts"]);
    Ok(())
}
