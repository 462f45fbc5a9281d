//! Backfill: indexes that are added to an entity that already has rows.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Stored, TableEntity,
    backend::{Action, BackendExt, IfMatch},
    jobs::{Finding, Progress},
    row::Row,
};
use tests::{
    depth::Depth,
    stores::{Kind, Store},
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::fixtures::findings;

crate::conformance! {
    a_new_table_is_ready_at_once
    a_new_index_is_ready_if_the_table_has_rows_of_other_kinds_only
    an_entity_after_rows_of_another_kind_is_noticed
    an_index_is_refused_until_it_is_built
    a_dry_run_counts_and_writes_nothing
    a_backfill_reports_entities_that_share_a_unique_value
    a_conflict_on_an_earlier_page_keeps_a_resumed_backfill_from_being_ready
    a_backfill_resumes_from_its_cursor
    a_backfill_can_be_repeated
    a_repeated_backfill_only_gives_new_versions_to_rows_that_writers_release
    a_backfill_in_several_passes_writes_the_missing_rows
    a_backfill_during_writes_misses_no_entity
    a_backfill_writes_rows_again_whose_answer_was_lost
    an_index_with_another_layout_is_refused
    an_unknown_index_name_is_refused_with_a_suggestion
    a_backfill_with_conflicts_is_not_ready
    a_repair_leaves_two_owners_of_a_value_to_the_caller
    an_unrecorded_index_is_refused_until_create_and_backfill
}

/// Room as declared before it had indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms", entity = "Room")]
struct Plain {
    #[partition_key]
    house: String,
    #[row_key(prefix = "number-")]
    number: u32,
    name: String,
    owner: Option<String>,
    colour: String,
}

/// Room with an index of every kind.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms")]
struct Room {
    #[partition_key]
    house: String,
    #[row_key]
    number: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[index(owner, unique)]
    #[index(owned, same_table)]
    owner: Option<String>,
    #[index(colour, same_partition)]
    #[index(colours, same_partition, list)]
    #[index(painted, include(name))]
    #[index(copied, copy)]
    #[index(here, same_partition, copy)]
    colour: String,
}

const INDEXES: [&str; 8] = ["name", "owner", "owned", "colour", "colours", "painted", "copied", "here"];

/// Room whose index has an existing name and another layout.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms", entity = "Room")]
struct Changed {
    #[partition_key]
    house: String,
    #[row_key]
    number: u32,
    #[index(name, uppercase, same_partition, unique)]
    name: String,
    owner: Option<String>,
    colour: String,
}

fn room(number: u32) -> Room {
    let (house, colour) =
        (["a", "b"][(number % 2) as usize].to_owned(), ["red", "blue", "green"][(number % 3) as usize]);
    let owner = (!number.is_multiple_of(4)).then(|| format!("owner {number}"));
    Room { house, number, name: format!("Room {number}"), owner, colour: colour.into() }
}

async fn insert_plain(store: &Store, rooms: impl IntoIterator<Item = Room>) -> Result<()> {
    store.tables.create::<Plain>().await?;
    for Room { house, number, name, owner, colour } in rooms {
        store.tables.insert(&Plain { house, number, name, owner, colour }).await?;
    }
    Ok(())
}

fn is_building<T>(result: table_runtime::Result<T>, expected: &str) {
    match result {
        Err(error @ Error::IndexBuilding { .. }) => {
            let text = error.to_string();
            assert!(text.contains(&format!("`{expected}`")) && text.contains("Rooms"), "{text}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("`{expected}` is not built"),
    }
}

/// Checks that every index leads to exactly these rooms.
async fn check_indexes(store: &Store, rooms: &[Room]) -> Result<()> {
    let tables = &store.tables;
    let found = findings::<Room>(store).await?;
    ensure!(found.is_empty(), "{found:?}");
    for room in rooms {
        let Room { house, name, owner, colour, .. } = room;
        assert_eq!(Room::by_name(house).eq(name).get(tables).await?.as_deref(), Some(room));
        if let Some(owner) = owner {
            assert_eq!(Room::by_owner(owner).get(tables).await?.as_deref(), Some(room));
            assert_eq!(*Room::by_owned(owner).all(tables).await?[0], *room);
        }
        let of = |here: bool| {
            rooms.iter().filter(|other| other.colour == *colour && (!here || other.house == *house)).count()
        };
        let counts = [
            Room::by_colour(house).eq(colour).count_unchecked(tables).await?,
            Room::by_colours(house).eq(colour).count(tables).await?,
            Room::by_here(house).eq(colour).count(tables).await?,
            Room::by_painted(colour).count_unchecked(tables).await?,
            Room::by_copied(colour).count(tables).await?,
        ];
        assert_eq!(counts, [of(true), of(true), of(true), of(false), of(false)]);
    }
    Ok(())
}

async fn a_new_table_is_ready_at_once(store: &Store) -> Result<()> {
    store.tables.create::<Room>().await?;
    let rooms: Vec<_> = (0..5).map(room).collect();
    for room in &rooms {
        store.tables.insert(room).await?;
    }
    check_indexes(store, &rooms).await?;
    // `create` changes nothing when it is called again, here or by a program that starts later.
    store.tables.create::<Room>().await?;
    store.again().create::<Room>().await?;
    assert_eq!(Room::by_name("a").count(&store.again()).await?, 3);
    Ok(())
}

/// One of several kinds in a table.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Things", kind)]
struct Lamp {
    #[partition_key]
    hall: String,
    #[row_key(prefix = "number-")]
    number: u32,
}

/// Another kind, as declared before it had an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Things", kind = "Bulb")]
struct PlainBulb {
    #[partition_key]
    hall: String,
    #[row_key(prefix = "number-")]
    number: u32,
    name: String,
}

/// The same kind with an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Things", kind = "Bulb")]
struct Bulb {
    #[partition_key]
    hall: String,
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
}

async fn a_new_index_is_ready_if_the_table_has_rows_of_other_kinds_only(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Lamp>().await?;
    for number in 0..3 {
        tables.insert(&Lamp { hall: "a".into(), number }).await?;
    }
    tables.create::<Bulb>().await?;
    tables.insert(&Bulb { hall: "a".into(), number: 3, name: "x".into() }).await?;
    assert_eq!(Bulb::by_name("a").eq("x").count(tables).await?, 1);
    assert_eq!(Bulb::by_name("a").eq("x").count(&store.again()).await?, 1);
    Ok(())
}

async fn an_entity_after_rows_of_another_kind_is_noticed(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Lamp>().await?;
    for number in 0..3 {
        tables.insert(&Lamp { hall: "a".into(), number }).await?;
    }
    tables.insert(&PlainBulb { hall: "b".into(), number: 3, name: "x".into() }).await?;
    tables.create::<Bulb>().await?;
    assert!(matches!(Bulb::by_name("b").count(tables).await, Err(Error::IndexBuilding { .. })));
    Ok(())
}

async fn an_index_is_refused_until_it_is_built(store: &Store) -> Result<()> {
    let mut rooms: Vec<_> = (0..7).map(room).collect();
    insert_plain(store, rooms.clone()).await?;
    let tables = &store.tables;
    tables.create::<Room>().await?;
    is_building(Room::by_name("a").eq("Room 0").get(tables).await, "name");
    is_building(Room::by_owner("owner 1").get(tables).await, "owner");
    is_building(Room::by_owned("owner 1").all(tables).await, "owned");
    is_building(Room::by_colour("a").count(tables).await, "colour");
    is_building(Room::by_colours("a").first(tables).await, "colours");
    is_building(Room::by_painted("red").page(tables, 5, None).await, "painted");
    is_building(Room::by_copied("red").all(tables).await, "copied");
    is_building(Room::by_here("a").count(tables).await, "here");
    // A program that does not call `create` is refused as well.
    is_building(Room::by_name("a").eq("Room 0").exists(&store.again()).await, "name");
    // The primary key can be read, and writes maintain the index from here on.
    rooms.push(room(7));
    tables.insert(&rooms[7]).await?;
    let mut first = Room::key("a", 0).get(tables).await?.context("it was inserted")?;
    first.name = "Hall".into();
    tables.update(&mut first).await?;
    rooms[0] = Stored::into_inner(first);

    let mut written = 0;
    for index in INDEXES {
        let filled = tables.backfill::<Room>(index).await?;
        assert_eq!((filled.entities, filled.conflicts), (8, vec![]), "{index}");
        written += filled.written;
    }
    // Only two of the rooms had index rows before.
    ensure!(written >= 6 * 6, "{written}");
    check_indexes(store, &rooms).await?;
    assert_eq!(Room::by_name("a").eq("hall").get(&store.again()).await?.as_deref(), Some(&rooms[0]));
    Ok(())
}

async fn a_dry_run_counts_and_writes_nothing(store: &Store) -> Result<()> {
    insert_plain(store, (0..9).map(room)).await?;
    store.tables.create::<Room>().await?;
    store.tables.insert(&room(9)).await?;
    let mut before = Vec::new();
    for table in store.backend.list_tables("").await? {
        before.extend(store.rows(&table).await?);
    }
    for index in INDEXES {
        // Every fourth room has no owner.
        let missing = if index.starts_with("own") { 6 } else { 9 };
        let filled = store.tables.backfill::<Room>(index).dry_run().await?;
        assert_eq!((filled.entities, filled.written, filled.conflicts), (10, missing, vec![]), "{index}");
    }
    let mut after = Vec::new();
    for table in store.backend.list_tables("").await? {
        after.extend(store.rows(&table).await?);
    }
    assert_eq!(before, after);
    is_building(Room::by_name("a").eq("Room 0").get(&store.tables).await, "name");
    Ok(())
}

async fn a_backfill_reports_entities_that_share_a_unique_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let twin = Room { name: "ROOM 1".into(), owner: Some("owner 1".into()), ..room(3) };
    insert_plain(store, [room(1), twin.clone(), room(5)]).await?;
    tables.create::<Room>().await?;
    for (index, row_key) in [("name", "name-room 1"), ("owner", "")] {
        let filled = tables.backfill::<Room>(index).await?;
        assert_eq!((filled.entities, filled.written, filled.ready), (3, 2, false), "{index}");
        let [Finding::TwoOwners { index: named, row, entity, owner }] = filled.conflicts.as_slice() else {
            panic!("{filled:?}")
        };
        assert_eq!((&**named, row.row_key.as_str()), (index, row_key));
        let mut both = [entity.row_key.as_str(), owner.row_key.as_str()];
        both.sort_unstable();
        assert_eq!(both, ["number-0000000001", "number-0000000003"]);
        is_building(Room::by_name("b").eq("Room 1").get(tables).await, "name");
    }
    is_building(Room::by_owner("owner 1").get(tables).await, "owner");
    tables.upsert(&room(3)).await?;
    for index in INDEXES {
        assert_eq!(tables.backfill::<Room>(index).await?.conflicts, []);
    }
    check_indexes(store, &[room(1), room(3), room(5)]).await
}

/// Number of rooms for which a backfill takes several pages.
const MANY: u32 = 1300;

async fn load(store: &Store) -> Result<()> {
    store.tables.create::<Plain>().await?;
    let tasks = (0..13).map(|task| {
        let tables = store.tables.clone();
        async move {
            for number in task * 100..(task + 1) * 100 {
                let Room { house, number, name, owner, colour } = room(number);
                tables.insert(&Plain { house, number, name, owner, colour }).await?;
            }
            Ok::<_, Error>(())
        }
    });
    for loaded in tasks.collect::<JoinSet<_>>().join_all().await {
        loaded?;
    }
    Ok(())
}

async fn a_conflict_on_an_earlier_page_keeps_a_resumed_backfill_from_being_ready(store: &Store) -> Result<()> {
    if store.kind != Kind::Memory {
        return Ok(());
    }
    load(store).await?;
    let tables = &store.tables;
    // Both rooms are on the first page.
    let twin = Room { name: "Room 2".into(), ..room(4) };
    let Room { house, number, name, owner, colour } = twin;
    tables.upsert(&Plain { house, number, name, owner, colour }).await?;
    tables.create::<Room>().await?;
    let cursor = stopped(store, "name").await?;
    let filled = tables.backfill::<Room>("name").resume_from(&cursor)?.await?;
    assert!(!filled.ready && filled.conflicts.is_empty(), "{filled:?}");
    is_building(Room::by_name("a").eq("Room 2").get(tables).await, "name");
    tables.upsert(&room(4)).await?;
    let filled = tables.backfill::<Room>("name").await?;
    assert!(filled.ready, "{filled:?}");
    assert_eq!(Room::by_name("a").eq("Room 2").get(tables).await?.as_deref(), Some(&room(2)));
    Ok(())
}

/// Returns the cursor of a backfill that is stopped after its first page.
async fn stopped(store: &Store, index: &str) -> Result<String> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let backfill = store.tables.backfill::<Room>(index).progress(move |progress| drop(sender.send(progress.clone())));
    let progress = tokio::select! {
        // The first report stops it before it is polled again.
        biased;
        progress = receiver.recv() => progress.context("a report")?,
        filled = backfill => anyhow::bail!("it was not stopped: {filled:?}"),
    };
    ensure!(progress.entities == 1000, "{progress:?}");
    progress.cursor.context("a report has a cursor")
}

async fn a_backfill_resumes_from_its_cursor(store: &Store) -> Result<()> {
    load(store).await?;
    store.tables.create::<Room>().await?;
    let indexes: &[&str] = match store.kind {
        Kind::Memory => &["name", "owner", "owned", "colours"],
        // A page of index rows takes Azurite seconds.
        Kind::Azurite | Kind::Sdk if !Depth::Deep.is_reached() => &["name"],
        _ => &["name", "owned"],
    };
    for index in indexes {
        let cursor = stopped(store, index).await?;
        let filled = store.tables.backfill::<Room>(index).resume_from(&cursor)?.await?;
        assert_eq!((filled.entities, filled.conflicts), (MANY as usize - 1000, vec![]), "{index}");
        let found = findings::<Room>(store).await?;
        ensure!(!found.iter().any(|finding| finding.index() == Some(index)), "{index}");
    }
    assert_eq!(Room::by_name("a").count_unchecked(&store.tables).await?, MANY as usize / 2);
    Ok(())
}

async fn a_backfill_can_be_repeated(store: &Store) -> Result<()> {
    let rooms: Vec<_> = (0..12).map(room).collect();
    insert_plain(store, rooms.clone()).await?;
    store.tables.create::<Room>().await?;
    for index in INDEXES {
        store.tables.backfill::<Room>(index).await?;
        let again = store.tables.backfill::<Room>(index).await?;
        assert_eq!((again.entities, again.conflicts), (12, vec![]), "{index}");
    }
    check_indexes(store, &rooms).await
}

/// Returns the rows of all tables but the catalog.
async fn all_rows(store: &Store) -> Result<Vec<(String, Row)>> {
    let mut rows = Vec::new();
    for table in store.backend.list_tables("").await?.into_iter().filter(|table| table != "TableLayouts") {
        rows.extend(store.rows(&table).await?.into_iter().map(|row| (table.clone(), row)));
    }
    Ok(rows)
}

async fn a_repeated_backfill_only_gives_new_versions_to_rows_that_writers_release(store: &Store) -> Result<()> {
    insert_plain(store, (0..12).map(room)).await?;
    store.tables.create::<Room>().await?;
    for index in INDEXES {
        store.tables.backfill::<Room>(index).await?;
    }
    for index in INDEXES {
        let before = all_rows(store).await?;
        let again = store.tables.backfill::<Room>(index).await?;
        assert_eq!((again.entities, again.written, again.ready), (12, 0, true), "{index}");
        let mut renewed = 0;
        for ((table, before), (_, after)) in before.iter().zip(&all_rows(store).await?) {
            assert_eq!((&before.row_key, &before.properties), (&after.row_key, &after.properties));
            renewed += usize::from(before.etag != after.etag);
            // A writer may still be about to delete the row in the version that it read. In the meantime, a program
            // without the index may have given the entity its value back.
            let delete = Action::Delete(IfMatch::ETag(before.etag.clone()));
            if before.etag != after.etag {
                let released = store.write(table, (&before.partition_key, &before.row_key), delete).await;
                ensure!(matches!(released, Err(Error::ConditionNotMet(_))), "{released:?}");
            }
        }
        let expected = match index {
            // Every fourth room has no owner.
            "owner" | "owned" => 9,
            "painted" => 12,
            // Rows in the entity's partition change with the entity. A writer of a copy reads the entity after it.
            _ => 0,
        };
        assert_eq!(renewed, expected, "{index}");
    }
    check_indexes(store, &(0..12).map(room).collect::<Vec<_>>()).await
}

async fn a_backfill_in_several_passes_writes_the_missing_rows(store: &Store) -> Result<()> {
    const FEW_HASHES: usize = 64;
    let rooms: Vec<_> = (0..12).map(room).collect();
    insert_plain(store, rooms.clone()).await?;
    let tables = &store.tables;
    tables.create::<Room>().await?;
    for index in INDEXES {
        tables.backfill::<Room>(index).await?;
    }
    for number in [2_u32, 3, 7] {
        let (house, name) = (["a", "b"][(number % 2) as usize], format!("name-room {number}"));
        store.write("Rooms", (house, &name), Action::Delete(IfMatch::Any)).await?;
        store.write("RoomsByOwner", (&format!("owner {number}"), ""), Action::Delete(IfMatch::Any)).await?;
    }
    for index in ["name", "owner"] {
        let dry = tables.backfill::<Room>(index).memory(FEW_HASHES).dry_run().await?;
        assert_eq!((dry.entities, dry.written), (12, 3), "{index}");
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let report = move |progress: &Progress| drop(sender.send(progress.clone()));
        let filled = tables.backfill::<Room>(index).memory(FEW_HASHES).progress(report).await?;
        assert_eq!((filled.entities, filled.written, filled.ready), (12, 3, true), "{index}");
        let mut passes = 0;
        while let Some(progress) = receiver.recv().await {
            assert!(progress.pass > passes && progress.pass <= progress.passes, "{progress:?}");
            passes = progress.pass;
            // A service needs a hundred requests for each job that is resumed.
            if store.kind.is_service() && (passes - 1) % Depth::choose(8, 1, 1) != 0 {
                continue;
            }
            // A job that is stopped here does the rest.
            let cursor = progress.cursor.context("a report has a cursor")?;
            let rest = tables.backfill::<Room>(index).memory(FEW_HASHES).resume_from(&cursor)?.await?;
            assert_eq!((rest.entities, rest.written, rest.ready), (0, 0, true), "{index}");
        }
        assert!(passes > 1, "{index}");
    }
    check_indexes(store, &rooms).await
}

async fn a_backfill_during_writes_misses_no_entity(store: &Store) -> Result<()> {
    let (count, times) = if store.kind == Kind::Memory { (200, 60) } else { (24, 6) };
    insert_plain(store, (0..count).map(room)).await?;
    store.tables.create::<Room>().await?;
    let writer = |writer: u32| {
        let tables = store.tables.clone();
        async move {
            let mut own: Vec<_> = (0..count).filter(|number| number % 4 == writer).map(room).collect();
            for n in 0..times {
                let at = (n * 7) as usize % own.len();
                let number = own[at].number;
                let changed = Room {
                    owner: Some(format!("{number} of {n}")),
                    name: format!("Changed {number} {n}"),
                    ..room(number + n * 2)
                };
                let changed = Room { number, house: own[at].house.clone(), ..changed };
                let written = match n % 3 {
                    0 => tables.upsert(&changed).await.map(drop),
                    1 => match Room::key(&changed.house, number).get(&tables).await? {
                        Some(mut stored) => {
                            *stored = changed.clone();
                            tables.update(&mut stored).await.map(drop)
                        }
                        None => continue,
                    },
                    _ => {
                        let new = Room { number: 10_000 + writer * 1000 + n, ..changed.clone() };
                        tables.insert(&new).await?;
                        own.push(new);
                        continue;
                    }
                };
                match written {
                    Ok(()) => own[at] = changed,
                    // The backfill may have given the entity a new version.
                    Err(Error::ConditionNotMet(_)) => {}
                    Err(error) => return Err(error),
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            Ok(own)
        }
    };
    let writers = (0..4).map(writer).collect::<JoinSet<_>>();
    for index in INDEXES {
        let filled = store.tables.backfill::<Room>(index).await?;
        ensure!(filled.conflicts.is_empty(), "{index}: {filled:?}");
    }
    let mut rooms = Vec::new();
    for own in writers.join_all().await {
        rooms.extend(own?);
    }
    check_indexes(store, &rooms).await
}

async fn a_backfill_writes_rows_again_whose_answer_was_lost(store: &Store) -> Result<()> {
    let rooms: Vec<_> = (0..6).map(room).collect();
    insert_plain(store, rooms.clone()).await?;
    store.tables.create::<Room>().await?;
    for (n, index) in INDEXES.into_iter().enumerate() {
        // The answer to the first write of each backfill is lost.
        if n % 2 == 0 {
            store.probe.lose();
        } else {
            store.probe.apply_and_lose();
        }
        let filled = store.tables.backfill::<Room>(index).await?;
        assert!(filled.ready && filled.conflicts.is_empty(), "{index}: {filled:?}");
    }
    check_indexes(store, &rooms).await
}

async fn an_index_with_another_layout_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<Room>().await?;
    store.tables.insert(&room(1)).await?;
    for tables in [store.tables.clone(), store.again()] {
        let Err(Error::LayoutChanged(error)) = tables.create::<Changed>().await else { panic!("it does not fit") };
        assert_eq!((error.table.as_str(), error.layout), ("Rooms", "name"));
        assert!(error.changes.contains("lowercase") && error.changes.contains("uppercase"), "{error}");
    }
    let refused = store.tables.backfill::<Changed>("name").await;
    assert!(matches!(refused, Err(Error::LayoutChanged(_))), "{refused:?}");
    // A program with the recorded layout still works.
    store.tables.create::<Room>().await?;
    assert!(Room::by_name("b").eq("ROOM 1").exists(&store.tables).await?);
    Ok(())
}

async fn an_unknown_index_name_is_refused_with_a_suggestion(store: &Store) -> Result<()> {
    store.probe.requests();
    let Err(Error::Query(error)) = store.tables.backfill::<Room>("nmae").await else { panic!("there is none") };
    assert!(error.problem.contains("`nmae`") && error.problem.contains("`name`"), "{error}");
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

/// Member as declared before it had an index.
#[derive(TableEntity)]
#[table(name = "Members", entity = "Member")]
struct Before {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    email: Option<String>,
}

#[derive(TableEntity, Debug, PartialEq)]
#[table(name = "Members")]
struct Member {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: Option<String>,
}

async fn insert_before(store: &Store, members: &[(&str, u32, &str)]) -> Result<()> {
    for (team, id, email) in members {
        let email = Some((*email).to_owned());
        store.tables.insert(&Before { team: (*team).to_owned(), id: *id, email }).await?;
    }
    Ok(())
}

/// Returns the row keys of the entities whose value already has another owner.
fn losers(findings: &[Finding]) -> Vec<&str> {
    let two_owners =
        findings.iter().filter(|finding| matches!(finding, Finding::TwoOwners { index, .. } if index == "email"));
    two_owners.filter_map(Finding::entity).map(|entity| entity.row_key.as_str()).collect()
}

async fn a_backfill_with_conflicts_is_not_ready(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Before>().await?;
    // The owners share a page and a partition, or are in different ones.
    insert_before(store, &[("A", 1, "ada@x.org"), ("A", 2, "Ada@x.org"), ("A", 3, "c@x.org"), ("B", 4, "ADA@x.org")])
        .await?;
    tables.create::<Member>().await?;
    let filled = tables.backfill::<Member>("email").await?;
    assert_eq!((filled.entities, filled.written, losers(&filled.conflicts).len()), (4, 2, 2), "{filled:?}");
    let refused = Member::by_email("c@x.org").get(tables).await;
    assert!(matches!(&refused, Err(Error::IndexBuilding { index, .. }) if index == "email"), "{refused:?}");

    for entity in filled.conflicts.iter().filter_map(Finding::entity) {
        let team = &entity.partition_key;
        let id: u32 = entity.row_key.parse()?;
        let mut member = Member::key(team, id).get(tables).await?.expect("the member");
        member.email = Some(format!("{id}@x.org"));
        tables.update(&mut member).await?;
    }
    let filled = tables.backfill::<Member>("email").await?;
    assert_eq!((filled.entities, filled.conflicts), (4, Vec::new()));
    assert!(Member::by_email("ada@x.org").exists(tables).await?);
    assert_eq!(tables.verify::<Member>().all().await?, []);
    Ok(())
}

async fn a_repair_leaves_two_owners_of_a_value_to_the_caller(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    insert_before(store, &[("A", 1, "ada@x.org"), ("A", 2, "ADA@x.org")]).await?;
    let repaired = tables.repair::<Member>().await?;
    assert_eq!((repaired.fixed.len(), losers(&repaired.left).len()), (1, 1), "{repaired:?}");
    assert_eq!(tables.verify::<Member>().all().await?, repaired.left);
    Ok(())
}

async fn an_unrecorded_index_is_refused_until_create_and_backfill(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Before>().await?;
    insert_before(store, &[("A", 1, "ada@x.org")]).await?;
    // Nothing is recorded yet, so it is unknown whether rows are missing.
    let unknown = Member::by_email("ada@x.org").get(tables).await.expect_err("it is not recorded");
    assert!(matches!(&unknown, Error::IndexNotRecorded { table, index } if table == "Members" && index == "email"));
    assert!(unknown.to_string().contains("`create`"), "{unknown}");
    tables.create::<Member>().await?;
    assert!(matches!(Member::by_email("ada@x.org").get(tables).await, Err(Error::IndexBuilding { .. })));
    tables.backfill::<Member>("email").await?;
    assert!(Member::by_email("ada@x.org").exists(tables).await?);
    Ok(())
}
