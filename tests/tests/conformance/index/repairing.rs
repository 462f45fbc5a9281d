//! `verify` and `repair`: each kind of wrong row is found and fixed.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Guid, Stored, TableEntity, Tables,
    backend::{Action, IfMatch},
    jobs::Finding,
    row::{Properties, Row, RowId, ValueRef},
};
use tests::stores::{Kind, Store};
use tokio::{sync::watch, task::JoinSet};

use super::fixtures::{Chair, Person, TABLES, chair, check_indexes, entity, insert_people, people, person};
use crate::fixtures::findings;

crate::conformance! {
    a_pending_entity_is_found_and_deleted
    a_missing_index_row_is_found_and_written
    an_index_row_of_a_missing_entity_is_found_and_deleted
    an_index_row_of_an_old_value_is_found_and_deleted
    an_outdated_copy_is_found_and_rewritten
    two_owners_of_a_value_are_reported_and_left
    a_repair_writes_the_index_row_of_one_of_two_owners
    repairs_during_writes_do_no_harm
    nan_in_an_index_row_is_no_finding
}

/// Returns the table and keys of a row.
fn id(table: &str, row: &Row) -> RowId {
    RowId { table: table.into(), partition_key: row.partition_key.clone(), row_key: row.row_key.clone() }
}

/// Returns every row of people with its table.
async fn all_rows(store: &Store) -> Result<Vec<(&'static str, Row)>> {
    let mut rows = Vec::new();
    for table in TABLES {
        rows.extend(store.rows(table).await?.into_iter().map(|row| (table, row)));
    }
    Ok(rows)
}

/// Returns the keys and properties of the rows, without ETags and write ids.
fn contents(rows: &[(&'static str, Row)]) -> BTreeMap<(String, String, String), Vec<String>> {
    let properties = |row: &Row| {
        let properties = row.properties.iter().filter(|(name, _)| *name != "WriteId");
        let mut texts: Vec<_> = properties.map(|(name, value)| format!("{name}={value}")).collect();
        texts.sort();
        texts
    };
    let keys = |table: &str, row: &Row| (table.to_owned(), row.partition_key.clone(), row.row_key.clone());
    rows.iter().map(|(table, row)| (keys(table, row), properties(row))).collect()
}

async fn insert(store: &Store, table: &str, row: &Row) -> Result<()> {
    Ok(store.write(table, (&row.partition_key, &row.row_key), Action::Insert(row.properties.clone())).await?)
}

/// Returns the name of the index that the row belongs to.
fn index_of(table: &str, row: &Row) -> &'static str {
    let prefixes = ["name", "nickname", "badge", "last_name", "namesakes", "town_copy", "town", "age", "adult"];
    match table {
        "PeopleByEmail" => "email",
        "Lockers" => "locker",
        "PeopleInCities" => "city",
        "PeopleByCityCopy" => "city_copy",
        "GrownUps" => "grown_up",
        "PeopleByStatus" => "status",
        _ => prefixes.into_iter().find(|index| row.row_key.starts_with(&format!("{index}-"))).expect("an index's row"),
    }
}

/// Checks that `verify` finds this alone, that `repair` fixes it, and that these rows are left.
async fn check_repair(store: &Store, finding: &Finding, rows: &[(&'static str, Row)]) -> Result<()> {
    let found = findings::<Person>(store).await?;
    assert_eq!(found, std::slice::from_ref(finding));
    let repaired = store.tables.repair::<Person>().await?;
    assert_eq!((repaired.fixed, repaired.left), (found, vec![]));
    assert_eq!(findings::<Person>(store).await?, []);
    assert_eq!(contents(&all_rows(store).await?), contents(rows), "{finding}");
    Ok(())
}

/// Inserts Dora and returns her rows.
async fn insert_dora(store: &Store) -> Result<Vec<(&'static str, Row)>> {
    let before = all_rows(store).await?;
    store.tables.insert(&Person::new(4, "Dora", "Essen")).await?;
    let mut rows = all_rows(store).await?;
    let keys = contents(&before);
    rows.retain(|(table, row)| {
        !keys.contains_key(&((*table).to_owned(), row.partition_key.clone(), row.row_key.clone()))
    });
    Ok(rows)
}

async fn a_pending_entity_is_found_and_deleted(store: &Store) -> Result<()> {
    let all = insert_people(store).await?;
    let before = all_rows(store).await?;
    let mut rows = insert_dora(store).await?;
    store.tables.remove(Person::key("Sales", 4)).await?;
    let at = rows.iter().position(|(_, row)| row.row_key == "id-0000000004").context("her own row")?;
    let (table, mut own) = rows.swap_remove(at);
    own.properties.push("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
    insert(store, table, &own).await?;
    // No read returns her.
    check_pending_is_invisible(store, &all).await?;
    check_repair(store, &Finding::Pending { entity: id(table, &own) }, &before).await?;
    // A pending insert that had written index rows loses them too.
    insert(store, table, &own).await?;
    for (table, row) in &rows {
        if *table != "People" {
            insert(store, table, row).await?;
        }
    }
    let repaired = store.tables.repair::<Person>().await?;
    assert_eq!(repaired.fixed[0], Finding::Pending { entity: id(table, &own) });
    assert_eq!(repaired.left, []);
    assert_eq!(findings::<Person>(store).await?, []);
    assert_eq!(contents(&all_rows(store).await?), contents(&before));
    check_indexes(store, &all).await
}

async fn check_pending_is_invisible(store: &Store, all: &[Person]) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(Person::key("Sales", 4).get(tables).await?, None);
    assert_eq!(Person::by_key("Sales").count(tables).await?, all.len());
    assert_eq!(Person::by_key("Sales").all(tables).await?.len(), all.len());
    assert_eq!(tables.get_many([Person::key("Sales", 4)]).await?, [None]);
    Ok(())
}

async fn a_missing_index_row_is_found_and_written(store: &Store) -> Result<()> {
    insert_people(store).await?;
    insert_dora(store).await?;
    store.tables.remove(Person::key("Sales", 4)).await?;
    let dora = insert_dora(store).await?;
    let rows = all_rows(store).await?;
    let mut seen = 0;
    for (table, row) in dora.iter().filter(|(_, row)| row.row_key != "id-0000000004") {
        store.write(table, (&row.partition_key, &row.row_key), Action::Delete(IfMatch::Any)).await?;
        let (index, entity) = (index_of(table, row), entity("People", "id-0000000004"));
        check_repair(store, &Finding::MissingRow { index: index.into(), row: id(table, row), entity }, &rows).await?;
        seen += 1;
    }
    assert_eq!(seen, Person::layout().layouts.len() - 1);
    check_people_and_dora(store).await
}

async fn check_people_and_dora(store: &Store) -> Result<()> {
    let mut all = people();
    all.push(Person::new(4, "Dora", "Essen"));
    check_indexes(store, &all).await
}

async fn an_index_row_of_a_missing_entity_is_found_and_deleted(store: &Store) -> Result<()> {
    let all = insert_people(store).await?;
    let before = all_rows(store).await?;
    let dora = insert_dora(store).await?;
    store.tables.remove(Person::key("Sales", 4)).await?;
    for (table, row) in dora.iter().filter(|(_, row)| row.row_key != "id-0000000004") {
        insert(store, table, row).await?;
        // Readers skip the row, unless it is a copy.
        let copies = ["city_copy", "town_copy", "age"];
        let (index, entity) = (index_of(table, row), entity("People", "id-0000000004"));
        if !copies.contains(&index) {
            check_dora_is_not_found(store).await.with_context(|| index)?;
        }
        check_repair(store, &Finding::StaleRow { index: index.into(), row: id(table, row), entity }, &before).await?;
    }
    check_indexes(store, &all).await
}

/// Checks that no index leads to Dora.
async fn check_dora_is_not_found(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let points = [
        Person::by_name("Sales").eq("Dora").exists(tables).await?,
        Person::by_email("Dora@x.org").exists(tables).await?,
        Person::by_badge(104).exists(tables).await?,
        Person::by_locker(104).exists(tables).await?,
    ];
    let counts = [
        Person::by_nickname("Sales").eq("Dor").count(tables).await?,
        Person::by_last_name("Sales").eq("Dorason").count(tables).await?,
        Person::by_namesakes("Sales").eq("Dorason").count(tables).await?,
        Person::by_city("Essen").count(tables).await?,
        Person::by_town("Essen").count(tables).await?,
    ];
    ensure!(points == [false; 4] && counts == [0; 5], "{points:?}, {counts:?}");
    let found = Person::by_adult("Sales").all(tables).await?.len() + Person::by_grown_up(30).all(tables).await?.len();
    ensure!(found == 4 && Person::by_status("active").all(tables).await?.len() == 3, "{found}");
    Ok(())
}

async fn an_index_row_of_an_old_value_is_found_and_deleted(store: &Store) -> Result<()> {
    insert_people(store).await?;
    let old = insert_dora(store).await?;
    let mut dora = person(&store.tables, 4).await?;
    *dora = Person { age: 50, status: "away".into(), badge: Some(7), ..Person::new(4, "Hera", "Ulm") };
    store.tables.update(&mut dora).await?;
    let before = all_rows(store).await?;
    for (table, row) in old.iter().filter(|(_, row)| row.row_key != "id-0000000004") {
        insert(store, table, row).await?;
        let (index, entity) = (index_of(table, row), entity("People", "id-0000000004"));
        check_repair(store, &Finding::StaleRow { index: index.into(), row: id(table, row), entity }, &before).await?;
    }
    // A write that needs one of the values succeeds before the repair.
    for (table, row) in old.iter().filter(|(_, row)| row.row_key != "id-0000000004") {
        insert(store, table, row).await?;
    }
    let mut all = people();
    all.push(Stored::into_inner(person(&store.tables, 4).await?));
    all.push(Person { badge: Some(104), ..Person::new(5, "Dora", "Essen") });
    store.tables.insert(&all[4]).await?;
    assert_eq!(Person::by_name("Sales").eq("dora").get(&store.tables).await?.as_deref(), Some(&all[4]));
    assert_eq!(Person::by_email("dora@x.org").get(&store.tables).await?.as_deref(), Some(&all[4]));
    assert_eq!(Person::by_badge(104).get(&store.tables).await?.as_deref(), Some(&all[4]));
    store.tables.repair::<Person>().await?;
    check_indexes(store, &all).await
}

async fn an_outdated_copy_is_found_and_rewritten(store: &Store) -> Result<()> {
    insert_people(store).await?;
    let dora = insert_dora(store).await?;
    let rows = all_rows(store).await?;
    let mut seen = Vec::new();
    for (table, row) in &dora {
        let name = match row.properties.iter().find(|(name, _)| matches!(*name, "Status" | "Name")) {
            Some((name, _)) if row.row_key != "id-0000000004" => name,
            _ => continue,
        };
        let mut changed = Properties::default();
        changed.push(name, ValueRef::String("outdated"));
        store.write(table, (&row.partition_key, &row.row_key), Action::Merge(changed, IfMatch::Any)).await?;
        let (index, entity) = (index_of(table, row), entity("People", "id-0000000004"));
        check_repair(store, &Finding::StaleCopy { index: index.into(), row: id(table, row), entity }, &rows).await?;
        seen.push(index);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["age", "badge", "city_copy", "nickname", "status", "town_copy"]);
    check_people_and_dora(store).await
}

async fn two_owners_of_a_value_are_reported_and_left(store: &Store) -> Result<()> {
    let tables = &store.tables;
    for index in ["name", "owner"] {
        tables.create::<Chair>().await?;
        tables.insert(&chair(1, "a", Some("x"))).await?;
        tables.insert(&chair(2, "b", None)).await?;
        // Another program gives the second chair a value of the first.
        let (property, value) = if index == "name" { ("Name", "A") } else { ("Owner", "x") };
        let mut changed = Properties::default();
        changed.push(property, ValueRef::String(value));
        store.write("Chairs", ("Sales", "number-0000000002"), Action::Merge(changed, IfMatch::Any)).await?;
        if index == "name" {
            store.write("Chairs", ("Sales", "name-b"), Action::Delete(IfMatch::Any)).await?;
        }
        let row = match index {
            "name" => entity("Chairs", "name-a"),
            _ => RowId { table: "ChairsByOwner".into(), partition_key: "x".into(), row_key: String::new() },
        };
        let (second, owner) = (entity("Chairs", "number-0000000002"), entity("Chairs", "number-0000000001"));
        let two = Finding::TwoOwners { index: index.into(), row, entity: second, owner };
        assert_eq!(findings::<Chair>(store).await?, std::slice::from_ref(&two));
        let repaired = tables.repair::<Chair>().await?;
        assert_eq!((repaired.entities, repaired.fixed, repaired.left), (2, vec![], vec![two.clone()]));
        assert_eq!(findings::<Chair>(store).await?, [two]);

        // The user decides by changing one of them. The repair fixes the rest.
        tables.upsert(&chair(2, "c", Some("z"))).await?;
        tables.repair::<Chair>().await?;
        assert_eq!(findings::<Chair>(store).await?, []);
        assert_eq!(Chair::by_name("Sales").eq("a").get(tables).await?.as_deref(), Some(&chair(1, "a", Some("x"))));
        assert_eq!(Chair::by_owner("z").get(tables).await?.as_deref(), Some(&chair(2, "c", Some("z"))));
        tables.remove(Chair::key("Sales", 1)).await?;
        tables.remove(Chair::key("Sales", 2)).await?;
    }
    Ok(())
}

async fn a_repair_writes_the_index_row_of_one_of_two_owners(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Chair>().await?;
    // Another program wrote both entities, without index rows.
    for number in [1, 2] {
        let mut properties = Properties::default();
        properties.push("Name", ValueRef::String("a"));
        properties.push("Owner", ValueRef::String("x"));
        let own = format!("number-{number:010}");
        store.write("Chairs", ("Sales", &own), Action::Insert(properties)).await?;
    }
    let repaired = tables.repair::<Chair>().await?;
    for findings in [&repaired.fixed, &repaired.left] {
        let both: Vec<_> = findings.iter().map(Finding::index).collect();
        assert_eq!(both, [Some("name"), Some("owner")]);
    }
    let found = findings::<Chair>(store).await?;
    assert!(found.iter().all(|finding| matches!(finding, Finding::TwoOwners { .. })) && found.len() == 2, "{found:?}");
    Ok(())
}

/// Writes entities with ids of this writer and returns what was acknowledged.
async fn write(tables: Tables, writer: u32, times: u32) -> Result<BTreeMap<u32, Person>> {
    let mut own = BTreeMap::new();
    for n in 0..times {
        let id = writer * 100 + n % 4;
        let city = ["Bonn", "Ulm", "Köln"][(n % 3) as usize];
        // All writers want some of the names.
        let name = if n % 5 == 0 { format!("shared {}", n % 2) } else { format!("own {writer} {n}") };
        let badge = (n % 2 == 0).then_some(id);
        let age = if n % 7 < 3 { 12 } else { 40 };
        let new = Person { badge, age, email: Some(format!("{id}@x")), ..Person::new(id, &name, city) };
        let written = match n % 6 {
            5 => {
                tables.remove(Person::key("Sales", id)).await?;
                own.remove(&id);
                continue;
            }
            0 | 3 => tables.upsert(&new).await,
            1 => tables.insert(&new).await,
            _ => match Person::key("Sales", id).get(&tables).await? {
                Some(mut stored) => {
                    *stored = new.clone();
                    tables.update(&mut stored).await
                }
                None => continue,
            },
        };
        match written {
            Ok(_) => drop(own.insert(id, new)),
            // Errors that concurrent writers have to expect.
            Err(
                Error::UniqueViolation(_) | Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::Aborted(_),
            ) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(own)
}

async fn repairs_during_writes_do_no_harm(store: &Store) -> Result<()> {
    store.tables.create::<Person>().await?;
    let (writers, times) = match store.kind {
        Kind::Memory | Kind::Plain => (8, 150),
        Kind::Disk => (4, 30),
        Kind::Azurite | Kind::Sdk | Kind::Live => (3, 12),
    };
    let (stop, mut stopped) = watch::channel(false);
    let repairs = tokio::spawn({
        let tables = store.tables.clone();
        async move {
            while !*stopped.borrow_and_update() {
                let repaired = tables.repair::<Person>().await?;
                assert_eq!(repaired.left, []);
                tables.verify::<Person>().all().await?;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, Error>(())
        }
    });
    let begun = (0..writers).map(|writer| write(store.tables.clone(), writer, times));
    let mut all = BTreeMap::new();
    for own in begun.collect::<JoinSet<_>>().join_all().await {
        all.extend(own?);
    }
    stop.send(true)?;
    repairs.await??;
    let all: Vec<_> = all.into_values().collect();
    check_indexes(store, &all).await
}

/// Measurement whose index rows hold a floating-point number.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Measurements")]
struct Measurement {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: u32,
    #[index(here, same_partition, include(value))]
    #[index(apart, include(value))]
    #[index(copied, copy)]
    unit: String,
    value: f64,
    other: f32,
}

async fn nan_in_an_index_row_is_no_finding(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Measurement>().await?;
    for (number, value) in [(1, f64::NAN), (2, -f64::NAN), (3, f64::INFINITY), (4, -0.0), (5, 0.1)] {
        #[allow(clippy::cast_possible_truncation, reason = "any value does")]
        let other = value as f32;
        let measurement = Measurement { sensor: "s".into(), number, unit: "m".into(), value, other };
        tables.insert(&measurement).await?;
    }
    assert_eq!(findings::<Measurement>(store).await?, []);
    let repaired = tables.repair::<Measurement>().await?;
    assert_eq!((repaired.fixed, repaired.left), (vec![], vec![]));
    Ok(())
}
