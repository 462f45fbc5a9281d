//! Migrations: moving entities to another place.

use std::{
    collections::BTreeSet,
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use futures_util::poll;
use table_runtime::{
    Error, Guid, Stored, TableEntity, Tables,
    backend::{Action, BackendExt},
    row::{Row, ValueRef},
    testing::{Request, Scheduled},
};
use tests::{depth::Depth, stores::Store};
use time::OffsetDateTime;

crate::conformance! {
    a_migration_moves_every_entity_with_its_index_rows
    a_migration_to_other_slices_keys_and_buckets
    changes_during_the_copy_are_caught_up_with
    a_closed_place_takes_no_write
    the_new_place_is_closed_until_the_switch
    a_migration_can_be_repeated_and_resumed
    a_migration_of_two_entities_to_one_key_is_refused
    an_entity_that_takes_the_key_of_a_deleted_one_is_caught_up_with
    a_value_that_is_not_unique_leaves_the_old_place_in_use
    entities_can_move_within_one_table
    a_migration_to_the_same_place_is_refused
    a_migration_to_the_place_of_another_key_is_refused
    only_moved_entities_are_dropped
    swapped_unique_values_are_caught_up_with
    a_repeated_migration_deletes_what_a_stopped_run_has_left
    a_run_that_was_overtaken_writes_nothing
}

fn program(store: &Store) -> Tables {
    store.again().with_lease(Duration::from_millis(100))
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
struct Old {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    email: Option<String>,
    joined: OffsetDateTime,
}

#[derive(TableEntity, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[table(name = "People")]
struct New {
    #[partition_key(hash = 4)]
    #[row_key]
    id: u32,
    #[index(team, same_partition)]
    team: String,
    #[index(email, lowercase, unique)]
    email: Option<String>,
    joined: OffsetDateTime,
}

impl From<Old> for New {
    fn from(Old { team, id, email, joined }: Old) -> Self {
        Self { id, team, email, joined }
    }
}

fn old(id: u32) -> Old {
    let email = (!id.is_multiple_of(3)).then(|| format!("Member{id}@x.org"));
    Old { team: format!("team {}", id % 7), id, email, joined: OffsetDateTime::UNIX_EPOCH }
}

async fn begin(store: &Store, count: u32) -> Result<Tables> {
    let tables = program(store);
    tables.create::<Old>().await?;
    let all: Vec<_> = (0..count).map(old).collect();
    tables.insert_all(&all).await?;
    Ok(tables)
}

/// Checks that the new place has the entities of the old one, and that its indexes are complete.
async fn check_moved(tables: &Tables) -> Result<usize> {
    tables.create::<New>().await?;
    let mut expected = BTreeSet::new();
    for team in 0..7 {
        let olds = Old::by_key(&format!("team {team}")).all(tables).await?;
        expected.extend(olds.into_iter().map(|old| New::from(Stored::into_inner(old))));
    }
    let moved: BTreeSet<_> = New::by_key().all(tables).await?.into_iter().map(Stored::into_inner).collect();
    ensure!(moved == expected, "{} entities instead of {}", moved.len(), expected.len());
    for new in &moved {
        if let Some(email) = &new.email {
            let found = New::by_email(email).get(tables).await?;
            ensure!(found.as_deref() == Some(new), "{found:?} instead of {new:?}");
        }
    }
    let findings = tables.verify::<New>().all().await?;
    ensure!(findings.is_empty(), "{findings:?}");
    Ok(moved.len())
}

async fn a_migration_moves_every_entity_with_its_index_rows(store: &Store) -> Result<()> {
    let tables = begin(store, 250).await?;
    let mut reports = Vec::new();
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let moved = program(store)
        .migrate::<Old, New>()
        .progress(move |progress| {
            // The receiver lives until the end.
            let _ = sender.send(progress.entities);
        })
        .await?;
    while let Some(report) = received.recv().await {
        reports.push(report);
    }
    assert_eq!((moved.entities, moved.caught_up, moved.removed, moved.switched), (250, 0, 0, true));
    ensure!(reports.contains(&250), "{reports:?}");
    assert_eq!(check_moved(&program(store)).await?, 250);

    // A program with the old struct is refused, also after the old rows are gone.
    for dropped in [false, true] {
        if dropped {
            let dropped = program(store).drop_moved::<Old>().await?;
            assert_eq!(dropped.tables, ["Members"]);
            ensure!(!store.backend.list_tables("").await?.contains(&"Members".to_owned()));
        }
        let Err(Error::EntityMoved { table, entity, to }) = program(store).create::<Old>().await else {
            panic!("it was moved")
        };
        assert_eq!((&*table, &*entity, &*to), ("Members", "Old", "New in people"));
        ensure!(dropped != store.backend.list_tables("").await?.contains(&"Members".to_owned()));
    }
    let refused = tables.insert(&old(1000)).await;
    assert!(refused.is_err(), "{refused:?}");
    Ok(())
}

async fn a_migration_to_other_slices_keys_and_buckets(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Log", slice = year(at))]
    struct Log {
        #[partition_key]
        source: String,
        #[row_key(time)]
        at: OffsetDateTime,
        #[row_key]
        number: u32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Events", slice = month(at), separator = "+")]
    struct Event {
        #[partition_key(hash = 2)]
        #[row_key]
        source: String,
        #[row_key(reverse_time)]
        at: OffsetDateTime,
        #[row_key]
        number: u32,
    }

    let tables = program(store);
    tables.create::<Log>().await?;
    let at = |day: u32| OffsetDateTime::UNIX_EPOCH + time::Duration::days(i64::from(day));
    for number in 0..40 {
        tables.insert(&Log { source: format!("s{}", number % 3), at: at(number * 20), number }).await?;
    }
    let convert = |log: Log| Event { source: log.source, at: log.at, number: log.number };
    let moved = tables.migrate_with::<Log, Event>(convert).await?;
    assert_eq!((moved.entities, moved.switched), (40, true));
    let tables = program(store);
    tables.create::<Event>().await?;
    assert_eq!(Event::by_key().count(&tables).await?, 40);
    assert!(Event::key("s1", at(20), 1).exists(&tables).await?);
    let dropped = tables.drop_moved::<Log>().await?;
    assert_eq!(dropped.tables, ["Log1970", "Log1971", "Log1972"]);
    assert_eq!(Event::by_key().count(&tables).await?, 40);
    Ok(())
}

async fn changes_during_the_copy_are_caught_up_with(store: &Store) -> Result<()> {
    let tables = begin(store, 60).await?;
    let copied = program(store).migrate::<Old, New>().copy_only().await?;
    assert_eq!((copied.entities, copied.switched), (60, false));
    // Old entities are inserted, changed and deleted.
    tables.insert(&old(1001)).await?;
    let mut changed = Old::key("team 1", 1).get(&tables).await?.context("it was inserted")?;
    changed.email = Some("other@x.org".into());
    tables.update(&mut changed).await?;
    assert!(tables.remove(Old::key("team 2", 2)).await?);
    let moved = program(store).migrate::<Old, New>().await?;
    assert_eq!((moved.entities, moved.caught_up, moved.removed, moved.switched), (60, 1, 1, true));
    assert_eq!(check_moved(&program(store)).await?, 60);
    Ok(())
}

async fn a_closed_place_takes_no_write(store: &Store) -> Result<()> {
    let tables = begin(store, 20).await?;
    let mut read = Old::key("team 1", 1).get(&tables).await?.context("it was inserted")?;
    program(store).migrate::<Old, New>().await?;
    let moved = |result: Result<(), Error>| assert!(matches!(result, Err(Error::EntityMoved { .. })), "{result:?}");
    moved(tables.insert(&old(1000)).await.map(drop));
    moved(tables.upsert(&old(1)).await.map(drop));
    moved(tables.update(&mut read).await.map(drop));
    moved(tables.delete(&read).await);
    moved(tables.remove(Old::key("team 1", 1)).await.map(drop));
    moved(tables.patch(Old::key("team 1", 1), |old| [old.email.set("x")]).await.map(drop));
    moved(tables.transaction().insert(&old(1000)).commit().await.map(drop));
    let Err(Error::Bulk(error)) = tables.insert_all(&[old(1000)]).await else { panic!("it was moved") };
    assert!(matches!(*error.failures[0].error, Error::EntityMoved { .. }), "{error}");
    assert!(!Old::key("team 6", 1000).exists(&tables).await?);
    Ok(())
}

async fn the_new_place_is_closed_until_the_switch(store: &Store) -> Result<()> {
    begin(store, 20).await?;
    program(store).migrate::<Old, New>().copy_only().await?;
    let refused = program(store).create::<New>().await;
    assert!(matches!(&refused, Err(Error::EntityMigrating { table, .. }) if table == "People"), "{refused:?}");
    program(store).create::<Old>().await?;
    Ok(())
}

async fn a_migration_can_be_repeated_and_resumed(store: &Store) -> Result<()> {
    // More than two pages; in a quick search on Azurite, which is slow, more than one.
    let is_short = store.kind.is_azurite() && !Depth::Deep.is_reached();
    let count = if is_short { 1_100 } else { 2_300 };
    begin(store, count).await?;
    let (sender, mut cursors) = tokio::sync::mpsc::unbounded_channel();
    let stopped = program(store).migrate::<Old, New>().progress(move |progress| {
        // The receiver may be gone.
        let _ = sender.send(progress.cursor.clone());
    });
    let stopped = stopped.into_future();
    let cursor = tokio::select! {
        moved = stopped => panic!("it reports its first page: {moved:?}"),
        cursor = cursors.recv() => cursor.flatten().context("a cursor")?,
    };
    assert!(program(store).repair::<Old>().resume_from(&cursor).is_err(), "it is a cursor of another job");
    let moved = program(store).migrate::<Old, New>().resume_from(&cursor)?.await?;
    assert_eq!((moved.entities, moved.switched), (count as usize, true));
    // Again, it has nothing to do.
    let moved = program(store).migrate::<Old, New>().await?;
    assert_eq!((moved.entities, moved.switched), (0, true));
    assert_eq!(check_moved(&program(store)).await?, count as usize);
    Ok(())
}

async fn an_entity_that_takes_the_key_of_a_deleted_one_is_caught_up_with(store: &Store) -> Result<()> {
    // A request over the network needs the thread of the conversion.
    if store.kind.is_service() {
        return Ok(());
    }
    // The one that takes its place is on the second page.
    let tables = begin(store, 1100).await?;
    let first = Old { team: "a".into(), id: 2000, email: None, joined: OffsetDateTime::UNIX_EPOCH };
    tables.insert(&first).await?;
    let (writer, conversions) = (program(store), Arc::new(AtomicUsize::new(0)));
    let convert = move |old: Old| {
        // The copy converts it first, and then the comparison.
        if old.team == "a" && conversions.fetch_add(1, Ordering::Relaxed) == 1 {
            let replace = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
                runtime.block_on(async {
                    writer.remove(Old::key(&old.team, old.id)).await?;
                    writer.insert(&Old { team: "z".into(), ..old.clone() }).await.map(drop)
                })
            };
            let replaced = thread::scope(|scope| scope.spawn(replace).join().expect("no panic"));
            replaced.expect("nobody else writes");
        }
        New::from(old)
    };
    let moved = program(store).migrate_with::<Old, New>(convert).await?;
    assert_eq!((moved.entities, moved.switched), (1101, true));
    let tables = program(store);
    tables.create::<New>().await?;
    let taken = New::key(2000).get(&tables).await?.context("it was moved")?;
    assert_eq!(taken.team, "z");
    Ok(())
}

async fn a_migration_of_two_entities_to_one_key_is_refused(store: &Store) -> Result<()> {
    let tables = begin(store, 20).await?;
    let merged = |old: Old| New { id: old.id / 2, ..New::from(old) };
    let refused = program(store).migrate_with::<Old, New>(merged).await;
    let Err(Error::Query(error)) = refused else { panic!("two entities get one key: {refused:?}") };
    ensure!(error.problem.contains("two old entities get the new key"), "{error}");
    // Also if nothing distinguishes them.
    let alike = |old: Old| New { id: 7, team: "t".into(), email: None, joined: old.joined };
    let refused = program(store).migrate_with::<Old, New>(alike).await;
    let Err(Error::Query(error)) = refused else { panic!("all entities get one key: {refused:?}") };
    ensure!(error.problem.contains("two old entities get the new key"), "{error}");
    tables.insert(&old(1000)).await?;
    let moved = program(store).migrate::<Old, New>().await?;
    assert_eq!(moved.entities, 21);
    assert_eq!(check_moved(&program(store)).await?, 21);
    Ok(())
}

async fn a_value_that_is_not_unique_leaves_the_old_place_in_use(store: &Store) -> Result<()> {
    let tables = begin(store, 20).await?;
    let mut same = Old::key("team 1", 1).get(&tables).await?.context("it was inserted")?;
    same.email = Some("MEMBER2@x.org".into());
    tables.update(&mut same).await?;
    let refused = program(store).migrate::<Old, New>().await;
    let Err(Error::Bulk(error)) = refused else { panic!("two entities have one email: {refused:?}") };
    ensure!(error.failures.iter().all(|failure| matches!(*failure.error, Error::UniqueViolation(_))), "{error}");
    same.email = None;
    tables.update(&mut same).await?;
    program(store).migrate::<Old, New>().await?;
    assert_eq!(check_moved(&program(store)).await?, 20);
    Ok(())
}

async fn entities_can_move_within_one_table(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Parts")]
    struct Bolt {
        #[partition_key]
        shelf: String,
        #[row_key(prefix = "bolt-")]
        id: u32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Parts")]
    struct Screw {
        #[partition_key]
        shelf: String,
        #[row_key(prefix = "screw-", reverse)]
        id: u32,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Parts")]
    struct Nut {
        #[partition_key]
        shelf: String,
        #[row_key(prefix = "nut-")]
        id: u32,
    }

    let tables = program(store);
    tables.create::<Bolt>().await?;
    tables.create::<Nut>().await?;
    for id in 0..150 {
        tables.insert(&Bolt { shelf: "a".into(), id }).await?;
    }
    tables.insert(&Nut { shelf: "a".into(), id: 1 }).await?;
    let moved = tables.migrate_with::<Bolt, Screw>(|Bolt { shelf, id }| Screw { shelf, id }).await?;
    assert_eq!(moved.entities, 150);
    tables.create::<Screw>().await?;
    let dropped = tables.drop_moved::<Bolt>().await?;
    assert_eq!((dropped.rows, dropped.tables.len()), (150, 0));
    assert_eq!(Screw::by_key("a").count(&tables).await?, 150);
    assert_eq!(Nut::by_key("a").count(&tables).await?, 1);
    assert_eq!(store.rows("Parts").await?.len(), 151);
    Ok(())
}

async fn a_migration_to_the_same_place_is_refused(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Members", entity = "Old")]
    struct Reversed {
        #[partition_key]
        team: String,
        #[row_key(reverse)]
        id: u32,
    }

    begin(store, 1).await?;
    let refused = program(store).migrate_with::<Old, Reversed>(|Old { team, id, .. }| Reversed { team, id }).await;
    let Err(Error::Query(error)) = refused else { panic!("it is the same place: {refused:?}") };
    ensure!(error.problem.contains("another table"), "{error}");
    // A place that programs use already is no target.
    program(store).create::<New>().await?;
    let refused = program(store).migrate::<Old, New>().await;
    let Err(Error::Query(error)) = refused else { panic!("the place is in use: {refused:?}") };
    ensure!(error.problem.contains("use the new place already"), "{error}");
    Ok(())
}

async fn a_migration_to_the_place_of_another_key_is_refused(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "People", entity = "New")]
    struct Reversed {
        #[partition_key]
        team: String,
        #[row_key(reverse)]
        id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Others")]
    struct Other {
        #[partition_key]
        team: String,
        #[row_key]
        id: u32,
    }

    begin(store, 3).await?;
    program(store).create::<Other>().await?;
    let reversed = |Old { team, id, .. }| Reversed { team, id };
    program(store).migrate::<Old, New>().copy_only().await?;
    // The first migration is under way.
    let refused = program(store).migrate_with::<Old, Reversed>(reversed).await;
    ensure!(matches!(refused, Err(Error::LayoutChanged(_))), "{refused:?}");
    let refused = program(store).migrate_with::<Other, Reversed>(|Other { team, id }| Reversed { team, id }).await;
    ensure!(matches!(refused, Err(Error::LayoutChanged(_))), "{refused:?}");
    // It has ended.
    program(store).migrate::<Old, New>().await?;
    let refused = program(store).migrate_with::<Old, Reversed>(reversed).await;
    let Err(Error::Query(error)) = refused else { panic!("the place has another key: {refused:?}") };
    ensure!(error.problem.contains("with another key"), "{error}");
    let refused = program(store).migrate_with::<Other, Reversed>(|Other { team, id }| Reversed { team, id }).await;
    ensure!(matches!(refused, Err(Error::LayoutChanged(_))), "{refused:?}");
    assert_eq!(check_moved(&program(store)).await?, 3);
    Ok(())
}

async fn only_moved_entities_are_dropped(store: &Store) -> Result<()> {
    let tables = begin(store, 3).await?;
    let Err(Error::Query(error)) = tables.drop_moved::<Old>().await else { panic!("it was not moved") };
    ensure!(error.problem.contains("was not moved"), "{error}");
    assert_eq!(Old::by_key("team 1").count(&tables).await?, 1);
    Ok(())
}

async fn swapped_unique_values_are_caught_up_with(store: &Store) -> Result<()> {
    let tables = begin(store, 9).await?;
    program(store).migrate::<Old, New>().copy_only().await?;
    let mut one = Old::key("team 1", 1).get(&tables).await?.context("it was inserted")?;
    let mut other = Old::key("team 2", 2).get(&tables).await?.context("it was inserted")?;
    std::mem::swap(&mut one.email, &mut other.email);
    tables.update(&mut one).await?;
    tables.update(&mut other).await?;
    let moved = program(store).migrate::<Old, New>().await?;
    assert_eq!((moved.entities, moved.caught_up), (9, 2));
    assert_eq!(check_moved(&program(store)).await?, 9);
    Ok(())
}

async fn a_repeated_migration_deletes_what_a_stopped_run_has_left(store: &Store) -> Result<()> {
    let tables = begin(store, 5).await?;
    tables.migrate::<Old, New>().copy_only().await?;
    // A run has ended in the middle of an insert, and a program has deleted the old entity since.
    let is_fourth = |row: &Row| {
        let team = row.properties.get("Team");
        row.properties.get("Joined").is_some() && team == Some(ValueRef::String("team 4"))
    };
    let row = store.rows("People").await?.into_iter().find(is_fourth).context("it was copied")?;
    let (keys, mut pending) = ((&*row.partition_key, &*row.row_key), row.properties.clone());
    pending.push("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
    store.write("People", keys, Action::Upsert(pending)).await?;
    assert!(tables.remove(Old::key("team 4", 4)).await?);

    let moved = tables.migrate::<Old, New>().await?;
    assert_eq!((moved.entities, moved.switched), (4, true));
    assert_eq!(check_moved(&program(store)).await?, 4);
    let kept = store.rows("People").await?;
    ensure!(kept.iter().all(|row| row.properties.get("IndexPending").is_none()), "{kept:?}");
    assert_eq!(store.rows("PeopleByEmail").await?.len(), 2, "the claims of the entities 1 and 2");
    Ok(())
}

async fn a_run_that_was_overtaken_writes_nothing(store: &Store) -> Result<()> {
    let tables = begin(store, 5).await?;
    let (backend, schedule) = Scheduled::new(store.backend.clone());
    let overtaken = Tables::new(backend).with_lease(Duration::from_millis(100));
    let mut overtaken = overtaken.migrate::<Old, New>().into_future();
    // The run stops where it is about to write. Where a write takes steps, its first step is under way.
    let is_paused = |request: &Request| match request {
        Request::Execute(groups) => groups.iter().any(|group| group.table == "People"),
        Request::Query { scan, .. } => store.spans_partitions() && scan.table == "Members",
        _ => false,
    };
    while !schedule.waiting().iter().any(|waiting| is_paused(&waiting.request)) {
        ensure!(poll!(&mut overtaken).is_pending(), "it is stopped before it ends");
        if schedule.waiting().iter().all(|waiting| !is_paused(&waiting.request)) {
            schedule.grant(0);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(tables.remove(Old::key("team 4", 4)).await?);
    assert!(tables.migrate::<Old, New>().await?.switched);
    let before = store.rows("People").await?;

    let result = loop {
        if let std::task::Poll::Ready(result) = poll!(&mut overtaken) {
            break result;
        }
        schedule.grant(0);
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    ensure!(matches!(&result, Err(Error::Query(_) | Error::Bulk(_) | Error::EntityMoved { .. })), "{result:?}");
    assert_eq!(store.rows("People").await?, before);
    assert_eq!(check_moved(&program(store)).await?, 4);
    Ok(())
}
