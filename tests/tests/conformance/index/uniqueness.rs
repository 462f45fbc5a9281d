//! Unique indexes: the second entity with a value is refused and leaves no row.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use anyhow::Result;
use table_runtime::{Error, Stored, TableEntity, row::Row};
use tests::stores::Store;

use super::fixtures::{Account, Person, TABLES, check_indexes, insert_people, person};
use crate::fixtures::{findings, violation};

crate::conformance! {
    a_violation_names_the_index_and_the_value_and_holds_the_owner
    a_violation_shows_the_value_as_text
    a_refused_write_leaves_no_row
    a_failed_update_can_be_tried_again
    a_unique_value_can_move_between_entities
    a_value_is_unique_in_its_scope
    an_existing_key_is_reported_before_a_taken_value
    index_keys_that_are_too_long_are_refused_before_sending
}

/// Returns every row with its table.
async fn all_rows(store: &Store) -> Result<Vec<(String, Row)>> {
    let mut rows = Vec::new();
    for table in TABLES {
        rows.extend(store.rows(table).await?.into_iter().map(|row| (table.to_owned(), row)));
    }
    Ok(rows)
}

fn keys(rows: &[(String, Row)]) -> Vec<(&str, &str, &str, String)> {
    let properties =
        |row: &Row| format!("{:?}", row.properties.iter().filter(|(name, _)| *name != "WriteId").collect::<Vec<_>>());
    rows.iter()
        .map(|(table, row)| (table.as_str(), row.partition_key.as_str(), row.row_key.as_str(), properties(row)))
        .collect()
}

/// Returns, for each unique index, a person who shares only that index's value with Alice.
fn persons_with_a_value_of_alice() -> Vec<(&'static str, &'static str, Person)> {
    let new = || Person::new(9, "Nina", "Bonn");
    vec![
        ("name", "alice", Person { name: "ALICE".into(), ..new() }),
        ("email", "alice@x.org", Person { email: Some("alice@X.ORG".into()), ..new() }),
        ("badge", "0000000101", Person { badge: Some(101), ..new() }),
    ]
}

async fn a_violation_names_the_index_and_the_value_and_holds_the_owner(store: &Store) -> Result<()> {
    let tables = &store.tables;
    insert_people(store).await?;
    let own = ["name-alice", "", "badge-"];
    let of_table = ["People", "PeopleByEmail", "People"];
    for ((index, value, clash), (row_key, table)) in
        persons_with_a_value_of_alice().into_iter().zip(own.into_iter().zip(of_table))
    {
        let taken = match tables.insert(&clash).await {
            Err(error) => violation(error),
            Ok(_) => panic!("{index}"),
        };
        // A badge is in two unique indexes, and the error may name either.
        let is_locker = taken.index == "locker" && index == "badge";
        assert!(taken.index == index || is_locker, "{taken}");
        assert_eq!(taken.value, value);
        let owner = &taken.owner;
        assert_eq!(
            (owner.table.as_str(), owner.partition_key.as_str(), owner.row_key.as_str()),
            ("People", "Sales", "id-0000000001")
        );
        if !is_locker {
            assert_eq!((taken.row.table.as_str(), taken.row.row_key.as_str()), (table, row_key));
        }
        let text = taken.to_string();
        assert!(text.contains(taken.index) && text.contains(value) && text.contains(&taken.row.table), "{text}");
        // The text may be shown to a client, so it does not name the other entity.
        assert!(!text.contains("id-0000000001") && !text.contains("Sales"), "{text}");
    }
    Ok(())
}

/// Place whose unique indexes have keys of several parts.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Places")]
#[index(named, partition(name(hash = 8, lowercase)), row(name(lowercase)), unique)]
#[index(spot, partition(town(first = 2)), row(town, number), unique)]
struct Place {
    #[partition_key]
    region: String,
    #[row_key]
    id: u32,
    name: String,
    town: String,
    number: u16,
}

/// Part with a separator of its own.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parts", separator = "_")]
#[index(label, partition(kit), row(label, number), unique)]
struct Part {
    #[partition_key]
    kit: String,
    #[row_key]
    id: u32,
    label: String,
    number: u16,
}

async fn a_violation_shows_the_value_as_text(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Place>().await?;
    let place = |id, name: &str, town: &str| Place {
        region: "West".into(),
        id,
        name: name.into(),
        town: town.into(),
        number: 7,
    };
    tables.insert(&place(1, "North Hall/1", "Bad Ems!")).await?;
    for (index, value, second) in [
        ("named", "north hall/1", place(2, "North Hall/1", "Ulm")),
        ("spot", "Bad Ems! 00007", place(2, "South Hall", "Bad Ems!")),
    ] {
        let taken = violation(tables.insert(&second).await.unwrap_err());
        assert_eq!((taken.index, taken.value.as_str()), (index, value));
    }

    tables.create::<Part>().await?;
    let part = |id| Part { kit: "a_b".into(), id, label: "c_d e".into(), number: 7 };
    tables.insert(&part(1)).await?;
    let taken = violation(tables.insert(&part(2)).await.unwrap_err());
    assert_eq!(taken.value, "a_b c_d e 00007");
    Ok(())
}

async fn a_refused_write_leaves_no_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let all = insert_people(store).await?;
    let before = all_rows(store).await?;
    for (index, _, clash) in persons_with_a_value_of_alice() {
        violation(tables.insert(&clash).await.unwrap_err());
        assert_eq!(keys(&all_rows(store).await?), keys(&before), "insert, {index}");
        violation(tables.upsert(&clash).await.unwrap_err());
        assert_eq!(keys(&all_rows(store).await?), keys(&before), "upsert, {index}");
        violation(tables.upsert(&Person { id: 2, ..clash.clone() }).await.unwrap_err());
        assert_eq!(keys(&all_rows(store).await?), keys(&before), "upsert of another, {index}");
        let mut bob = person(tables, 2).await?;
        *bob = Person { id: 2, ..clash };
        violation(tables.update(&mut bob).await.unwrap_err());
        assert_eq!(keys(&all_rows(store).await?), keys(&before), "update, {index}");
        check_indexes(store, &all).await?;
    }
    Ok(())
}

async fn a_failed_update_can_be_tried_again(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    let mut bob = person(tables, 2).await?;
    for (index, _, clash) in persons_with_a_value_of_alice() {
        *bob = Person { id: 2, ..clash };
        violation(tables.update(&mut bob).await.unwrap_err());
        // A second attempt gives the same error.
        violation(tables.update(&mut bob).await.unwrap_err());
        *bob = Person { city: index.into(), ..Person::new(2, &format!("Bob {index}"), "Ulm") };
        tables.update(&mut bob).await?;
        all[1] = Stored::into_inner(bob.clone());
        check_indexes(store, &all).await?;
    }
    tables.delete(&bob).await?;
    all.remove(1);
    check_indexes(store, &all).await
}

async fn a_unique_value_can_move_between_entities(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    // Values move between people by update, upsert and remove.
    for round in 0..3 {
        let mut first = person(tables, 1).await?;
        let was = Stored::into_inner(first.clone());
        *first = Person { id: 1, ..Person::new(50 + round, &format!("Nobody{round}"), "Bonn") };
        tables.update(&mut first).await?;
        all[0] = Stored::into_inner(first);
        all[1] = Person { id: 2, ..was };
        tables.upsert(&all[1]).await?;
        check_indexes(store, &all).await?;
        tables.remove(Person::key("Sales", 2)).await?;
        all[0] = Person { id: 1, ..all[1].clone() };
        tables.upsert(&all[0]).await?;
        tables.insert(&Person { badge: None, ..Person::new(2, &format!("Bob{round}"), "Köln") }).await?;
        all[1] = Person { badge: None, ..Person::new(2, &format!("Bob{round}"), "Köln") };
        check_indexes(store, &all).await?;
    }
    Ok(())
}

async fn a_value_is_unique_in_its_scope(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Account>().await?;
    let alice = Account::new("a", 1, "Alice");
    tables.insert(&alice).await?;
    // In another partition the name is free, but the cross-partition index refuses it.
    let taken = violation(tables.insert(&Account { user: "b".into(), ..alice.clone() }).await.unwrap_err());
    assert_eq!((taken.index, taken.value.as_str()), ("everywhere", "alice"));
    assert_eq!((taken.row.table.as_str(), taken.row.partition_key.as_str()), ("AccountsByEverywhere", "alice"));
    assert_eq!(Account::by_key("b").count(tables).await?, 0);
    // In its own partition both indexes refuse it.
    let taken = violation(tables.insert(&Account { id: 2, ..alice.clone() }).await.unwrap_err());
    assert!(["name", "everywhere"].contains(&taken.index), "{taken}");
    // Any number of entities may have no name.
    for id in 3..6 {
        tables.insert(&Account { id, name: None, ..alice.clone() }).await?;
    }
    assert_eq!(findings::<Account>(store).await?, []);
    Ok(())
}

async fn an_existing_key_is_reported_before_a_taken_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let all = insert_people(store).await?;
    let error = tables.insert(&all[0]).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    let error = tables.insert(&Person { id: 1, ..all[1].clone() }).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    check_indexes(store, &all).await
}

async fn index_keys_that_are_too_long_are_refused_before_sending(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    let before = all_rows(store).await?;
    let long = "x".repeat(500);
    let team = "t".repeat(300);
    // Some keys are legal each by itself, but too long together in the key of an index row.
    let cases = [
        ("name", Person { name: "x".repeat(508), ..Person::new(8, "H", "Bonn") }),
        ("last_name", Person { last_name: long.clone(), ..Person::new(8, "H", "Bonn") }),
        ("email", Person { email: Some("x".repeat(513)), ..Person::new(8, "H", "Bonn") }),
        ("city", Person { city: "x".repeat(513), ..Person::new(8, "H", "Bonn") }),
        ("town", Person { team: "t".repeat(500), ..Person::new(8, "H", "Bonn") }),
    ];
    store.probe.requests();
    for (index, person) in cases {
        let errors = [tables.insert(&person).await.unwrap_err(), tables.upsert(&person).await.unwrap_err()];
        for error in errors {
            assert!(error.to_string().contains(&format!("`{index}`")), "{index}: {error}");
        }
    }
    assert_eq!(store.probe.requests(), 0);
    let mut stored = person(tables, 1).await?;
    stored.last_name = long;
    store.probe.requests();
    let error = tables.update(&mut stored).await.unwrap_err();
    assert!(error.to_string().contains("`last_name`"), "{error}");
    assert_eq!(store.probe.requests(), 0);
    assert_eq!(all_rows(store).await?.len(), before.len());
    check_indexes(store, &all).await?;
    // The longest value is accepted.
    stored.last_name = "x".repeat(512 - "last_name- 0000000001".len());
    tables.update(&mut stored).await?;
    all[0] = Stored::into_inner(stored);
    check_indexes(store, &all).await?;
    tables.insert(&Person { team, badge: None, ..Person::new(8, "H", "Bonn") }).await?;
    Ok(())
}
