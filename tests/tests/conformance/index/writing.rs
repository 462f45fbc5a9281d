//! Every write of entities with every kind of index in every scope.

use anyhow::Result;
use table_runtime::{
    ETag, Error, Stored, TableEntity, Value,
    backend::{Action, IfMatch},
    row::{Row, ValueRef},
};
use tests::stores::Store;

use super::fixtures::{Account, Person, TABLES, check_indexes, insert_people, person};
use crate::fixtures::{findings, violation};

crate::conformance! {
    inserts_are_found_by_every_index
    an_upsert_adds_moves_and_keeps_index_rows
    an_update_moves_the_changed_index_rows
    an_optional_value_can_be_set_and_cleared
    a_condition_adds_and_removes_the_index_row
    a_patch_leaves_the_indexes_correct
    deleted_entities_leave_no_row
    index_rows_without_a_change_are_not_written
    an_included_property_is_written_when_it_changes
    an_update_of_a_changed_and_then_wrapped_entity_leaves_no_stale_row
    a_transaction_with_wrapped_entities_leaves_no_stale_row
    a_wrapped_entity_of_another_version_is_refused
    a_missing_index_row_prevents_no_write
    empty_values_are_indexed
    a_text_with_quotes_and_commas_is_written_or_refused
}

async fn inserts_are_found_by_every_index(store: &Store) -> Result<()> {
    let mut all = insert_people(store).await?;
    check_indexes(store, &all).await?;
    // A city has the name of the team: one partition holds rows of two layouts.
    all.push(Person { last_name: "BOBSON".into(), ..Person::new(4, "Alison", "Sales") });
    store.tables.insert(&all[3]).await?;
    check_indexes(store, &all).await
}

async fn an_upsert_adds_moves_and_keeps_index_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    tables.upsert(&all[0]).await?;
    check_indexes(store, &all).await?;

    all[1] = Person { status: "away".into(), badge: None, age: 5, ..Person::new(2, "Bill", "Bonn") };
    tables.upsert(&all[1]).await?;
    check_indexes(store, &all).await?;

    all.push(Person::new(4, "Dora", "Bonn"));
    let etag = tables.upsert(&all[3]).await?;
    assert_eq!(*Stored::etag(&person(tables, 4).await?), etag);
    check_indexes(store, &all).await?;
    // The old value is free.
    all.push(Person { badge: Some(102), ..Person::new(5, "Bob", "Köln") });
    tables.upsert(&all[4]).await?;
    check_indexes(store, &all).await
}

async fn an_update_moves_the_changed_index_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    let mut stored = person(tables, 1).await?;
    let changes: [fn(&mut Person); 9] = [
        |person| person.name = "Alicia".into(),
        |person| person.email = Some("other@x.org".into()),
        |person| person.badge = Some(7),
        |person| person.last_name = "Bobson".into(),
        |person| person.city = "Ulm".into(),
        |person| person.age = 31,
        |person| person.status = "away".into(),
        // The unique index folds the case, so this is the same value.
        |person| person.name = "ALICIA".into(),
        |person| *person = Person { team: "Sales".into(), ..Person::new(1, "Zoë", "Essen") },
    ];
    for change in changes {
        change(&mut stored);
        let etag = tables.update(&mut stored).await?;
        assert_eq!(*Stored::etag(&stored), etag);
        all[0] = Stored::into_inner(stored.clone());
        assert_eq!(*person(tables, 1).await?, all[0]);
        check_indexes(store, &all).await?;
    }
    assert_eq!(Person::by_name("Sales").eq("alice").get(tables).await?, None);
    assert_eq!(Person::by_email("alice@x.org").get(tables).await?, None);
    assert_eq!(Person::by_badge(7).get(tables).await?, None);
    assert_eq!(Person::by_locker(7).get(tables).await?, None);
    assert!(Person::by_city("Ulm").all(tables).await?.is_empty());
    assert_eq!(Person::by_city_copy("Ulm").count(tables).await?, 0);
    assert_eq!(Person::by_status("away").count(tables).await?, 0);
    Ok(())
}

async fn an_optional_value_can_be_set_and_cleared(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    let mut carol = person(tables, 3).await?;
    (carol.email, carol.badge) = (Some("carol@x.org".into()), Some(103));
    tables.update(&mut carol).await?;
    all[2] = Stored::into_inner(carol.clone());
    check_indexes(store, &all).await?;

    (carol.email, carol.badge) = (None, None);
    tables.update(&mut carol).await?;
    all[2] = Stored::into_inner(carol.clone());
    check_indexes(store, &all).await?;
    assert_eq!(Person::by_email("carol@x.org").get(tables).await?, None);
    assert_eq!(Person::by_badge(103).get(tables).await?, None);
    // Another person can have the value.
    all[0].email = Some("Carol@X.org".into());
    tables.upsert(&all[0]).await?;
    check_indexes(store, &all).await
}

async fn a_condition_adds_and_removes_the_index_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    for age in [17, 18, 19, 3] {
        let mut carol = person(tables, 3).await?;
        carol.age = age;
        tables.update(&mut carol).await?;
        all[2].age = age;
        check_indexes(store, &all).await?;
        assert_eq!(Person::by_grown_up(age).count(tables).await?, usize::from(age >= 18), "{age}");
    }
    Ok(())
}

async fn a_patch_leaves_the_indexes_correct(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Account>().await?;
    tables.insert(&Account::new("u", 1, "Alice")).await?;
    tables.patch(Account::key("u", 1), |account| [account.note.set("new")]).await?;
    let expected = Account { note: "new".into(), ..Account::new("u", 1, "Alice") };
    assert_eq!(Account::by_name("u").eq("alice").get(tables).await?.as_deref(), Some(&expected));
    assert_eq!(Account::by_everywhere("alice").get(tables).await?.as_deref(), Some(&expected));
    assert_eq!(*Account::by_names("u").eq("Alice").all(tables).await?[0], expected);
    assert_eq!(*Account::by_plan("free").all(tables).await?[0], expected);
    assert_eq!(findings::<Account>(store).await?, []);
    Ok(())
}

/// Returns the ETags of all rows except the entity's own.
async fn versions(store: &Store, tables: &[&str], own: &str) -> Result<Vec<(String, String, ETag)>> {
    let mut versions = Vec::new();
    for table in tables {
        let rows = store.rows(table).await?.into_iter().filter(|row| row.row_key != own);
        versions.extend(rows.map(|row| (row.partition_key, row.row_key, row.etag)));
    }
    Ok(versions)
}

async fn deleted_entities_leave_no_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let all = insert_people(store).await?;
    let mut alice = person(tables, 1).await?;
    // `delete` uses the values that were read, not those changed in memory.
    alice.name = "Other".into();
    tables.delete(&alice).await?;
    check_indexes(store, &all[1..]).await?;
    assert!(tables.remove(Person::key("Sales", 2)).await?);
    assert!(!tables.remove(Person::key("Sales", 2)).await?);
    check_indexes(store, &all[2..]).await?;
    tables.remove(Person::key("Sales", 3)).await?;
    for table in TABLES {
        assert_eq!(store.rows(table).await?, [], "{table}");
    }
    Ok(())
}

async fn index_rows_without_a_change_are_not_written(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Account>().await?;
    tables.insert(&Account::new("u", 1, "Alice")).await?;
    let of_account = ["Accounts", "AccountsByEverywhere", "AccountsByPlan"];
    let before = versions(store, &of_account, "id-0000000001").await?;
    assert_eq!(before.len(), 4);
    store.probe.requests();

    tables.patch(Account::key("u", 1), |account| [account.note.set("patched")]).await?;
    assert_eq!(store.probe.requests(), 1);
    let mut account = Account::key("u", 1).get(tables).await?.expect("it was inserted");
    account.note = "updated".into();
    store.probe.requests();
    tables.update(&mut account).await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(versions(store, &of_account, "id-0000000001").await?, before);
    assert_eq!(findings::<Account>(store).await?, []);
    Ok(())
}

/// Desk whose index rows include a property, in every scope.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Desks")]
struct Desk {
    #[partition_key]
    floor: String,
    #[row_key]
    number: u32,
    #[index(owner, same_partition, include(phone))]
    #[index(user, include(phone))]
    #[index(holder, unique, include(phone))]
    owner: String,
    phone: i64,
    note: String,
}

async fn an_included_property_is_written_when_it_changes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Desk>().await?;
    let desk = Desk { floor: "1".into(), number: 7, owner: "Ann".into(), phone: 10, note: String::new() };
    tables.insert(&desk).await?;
    let of_desk = ["Desks", "DesksByUser", "DesksByHolder"];
    let own = "number-0000000007";
    let before = versions(store, &of_desk, own).await?;
    assert_eq!(before.len(), 3);

    let mut stored = Desk::key("1", 7).get(tables).await?.expect("it was inserted");
    store.probe.requests();
    stored.note = "by the window".into();
    // Changing a value and back is no change.
    stored.phone = 11;
    stored.phone = 10;
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(versions(store, &of_desk, own).await?, before);

    // A crashed write may have left outdated cross-partition rows. The next write of the entity fixes them.
    for table in &of_desk[1..] {
        let rows = store.rows(table).await?;
        let stale = Action::Merge([("Phone", Value::Int64(9))].into_iter().collect(), IfMatch::Any);
        store.write(table, (&rows[0].partition_key, &rows[0].row_key), stale).await?;
    }
    assert_eq!(findings::<Desk>(store).await?.len(), 2);
    let of_desks = versions(store, &of_desk[..1], own).await?;
    tables.upsert(&Desk { note: "by the door".into(), ..desk.clone() }).await?;
    assert_eq!(findings::<Desk>(store).await?, []);
    assert_eq!(
        versions(store, &of_desk[..1], own).await?,
        of_desks,
        "a row in the entity's partition is never outdated"
    );
    let before = versions(store, &of_desk, own).await?;

    let mut stored = Desk::key("1", 7).get(tables).await?.expect("it was inserted");
    stored.phone = 11;
    tables.update(&mut stored).await?;
    let included = |row: &Row| (row.properties.get("Phone").map(ValueRef::to_value), row.etag.clone());
    for (table, (_, _, before)) in of_desk.into_iter().zip(before) {
        let rows = store.rows(table).await?;
        let (phone, etag) = rows.iter().find(|row| row.row_key != own).map(included).expect("the index's row");
        assert_eq!(phone, Some(Value::Int64(11)), "{table}");
        assert_ne!(etag, before, "{table}");
    }
    assert_eq!(findings::<Desk>(store).await?, []);
    Ok(())
}

async fn an_update_of_a_changed_and_then_wrapped_entity_leaves_no_stale_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let mut all = insert_people(store).await?;
    all[0] = Person { status: "away".into(), badge: Some(7), age: 5, ..Person::new(1, "Zoë", "Ulm") };
    let etag = Stored::etag(&person(tables, 1).await?).clone();
    let mut alice = Stored::new(all[0].clone(), etag);
    tables.update(&mut alice).await?;
    check_indexes(store, &all).await?;
    assert_eq!(Person::by_email("alice@x.org").get(tables).await?, None);

    // From here on the stored values are known, so no read is needed.
    alice.status = "back".into();
    store.probe.requests();
    tables.update(&mut alice).await?;
    let known = store.probe.requests();
    all[0].status = "there".into();
    let mut made = Stored::new(all[0].clone(), Stored::etag(&alice).clone());
    tables.update(&mut made).await?;
    assert_eq!(store.probe.requests(), known + 1);
    check_indexes(store, &all).await?;

    // `delete` reads the stored values too.
    let bob = Person { badge: None, email: None, ..Person::new(2, "Other", "Essen") };
    tables.delete(Stored::new(bob, Stored::etag(&person(tables, 2).await?).clone())).await?;
    all.remove(1);
    check_indexes(store, &all).await
}

/// Seat with indexes in its own partition only.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Seats")]
struct Seat {
    #[partition_key]
    hall: String,
    #[row_key]
    number: u32,
    #[index(guest, same_partition, unique)]
    #[index(guests, same_partition, list)]
    guest: String,
}

fn seat(number: u32, guest: &str) -> Seat {
    Seat { hall: "h".into(), number, guest: guest.into() }
}

async fn a_transaction_with_wrapped_entities_leaves_no_stale_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Seat>().await?;
    let first = tables.insert(&seat(1, "Ann")).await?;
    let second = tables.insert(&seat(2, "Bo")).await?;
    let (mut changed, deleted) = (Stored::new(seat(1, "Cy"), first), Stored::new(seat(2, "Dan"), second));
    tables.transaction().update(&mut changed).delete(&deleted).commit().await?;
    assert_eq!(findings::<Seat>(store).await?, []);
    let keys: Vec<_> = store.rows("Seats").await?.into_iter().map(|row| row.row_key).collect();
    assert_eq!(keys, ["guest-Cy", "guests-Cy", "number-0000000001"]);
    Ok(())
}

async fn a_wrapped_entity_of_another_version_is_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Seat>().await?;
    let first = tables.insert(&seat(1, "Ann")).await?;
    tables.upsert(&seat(1, "Bo")).await?;
    let mut stale = Stored::new(seat(1, "Cy"), first.clone());
    let mut missing = Stored::new(seat(2, "Cy"), first);
    assert!(matches!(tables.update(&mut stale).await, Err(Error::ConditionNotMet(_))));
    assert!(matches!(tables.delete(&stale).await, Err(Error::ConditionNotMet(_))));
    assert!(matches!(tables.update(&mut missing).await, Err(Error::NotFound(_))));
    let both = tables.transaction().update(&mut stale).commit().await;
    assert!(matches!(both, Err(Error::ConditionNotMet(_))), "{both:?}");
    assert_eq!(*Seat::by_guest("h").eq("Bo").get(tables).await?.expect("the seat"), seat(1, "Bo"));
    assert_eq!(findings::<Seat>(store).await?, []);
    Ok(())
}

async fn a_missing_index_row_prevents_no_write(store: &Store) -> Result<()> {
    let tables = &store.tables;
    insert_people(store).await?;
    let mut lost = 0;
    for table in TABLES {
        for row in store.rows(table).await? {
            if !(row.row_key.starts_with("id-")) {
                store.write(table, (&row.partition_key, &row.row_key), Action::Delete(IfMatch::Any)).await?;
                lost += 1;
            }
        }
    }
    assert!(lost > 30, "{lost}");
    tables.delete(person(tables, 1).await?).await?;
    let mut bob = person(tables, 2).await?;
    *bob = Person { badge: Some(9), ..Person::new(2, "Robert", "Ulm") };
    (bob.age, bob.status) = (40, "away".into());
    tables.update(&mut bob).await?;
    assert!(tables.remove(Person::key("Sales", 3)).await?);
    check_indexes(store, &[Stored::into_inner(bob)]).await
}

async fn empty_values_are_indexed(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Person>().await?;
    let empty = Person {
        name: String::new(),
        email: Some(String::new()),
        badge: Some(0),
        last_name: String::new(),
        city: String::new(),
        age: 0,
        status: String::new(),
        ..Person::new(1, "", "")
    };
    let mut all =
        vec![empty.clone(), Person { last_name: String::new(), city: String::new(), ..Person::new(2, "B", "") }];
    for person in &all {
        tables.insert(person).await?;
    }
    check_indexes(store, &all).await?;
    let same_name = tables.insert(&Person { email: None, badge: None, id: 3, ..empty.clone() }).await;
    let taken = violation(same_name.unwrap_err());
    assert_eq!((taken.index, taken.value.as_str()), ("name", ""));
    let same_email = tables.insert(&Person { name: "C".into(), badge: None, id: 3, ..empty }).await;
    let taken = violation(same_email.unwrap_err());
    assert_eq!((taken.index, taken.value.as_str()), ("email", ""));

    let mut stored = person(tables, 1).await?;
    stored.email = None;
    stored.name = "A".into();
    tables.update(&mut stored).await?;
    all[0] = Stored::into_inner(stored);
    check_indexes(store, &all).await
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Songs")]
struct Song {
    #[partition_key]
    genre: String,
    #[row_key]
    id: u32,
    #[index(title, same_partition)]
    title: String,
}

/// Azurite would read another key from the address of such an index row, so the write is refused there.
async fn a_text_with_quotes_and_commas_is_written_or_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Song>().await?;
    let odd = Song { genre: "70s".into(), id: 1, title: "Rock 'n', roll".into() };
    let plain = Song { title: "Rock and roll".into(), ..odd.clone() };
    let is_azurite = store.kind.is_azurite();
    let refused = |result: table_runtime::Result<()>| match result {
        Err(Error::Limit(limit)) if is_azurite => {
            assert!(limit.row.as_ref().is_some_and(|row| row.row_key.contains("',")), "{limit}");
            assert!(limit.to_string().contains("Azurite"), "{limit}");
        }
        result => assert!(result.is_ok() && !is_azurite, "{result:?}"),
    };
    let holds = async |song: &Song| {
        assert_eq!(findings::<Song>(store).await?, []);
        assert_eq!(Song::by_title("70s").eq(&song.title).all(tables).await?, std::slice::from_ref(song));
        anyhow::Ok(())
    };
    refused(tables.insert(&odd).await.map(drop));
    tables.upsert(&plain).await?;
    holds(&plain).await?;
    let mut stored = Song::key("70s", 1).get(tables).await?.expect("the song");
    stored.title.clone_from(&odd.title);
    refused(tables.update(&mut stored).await.map(drop));
    holds(if is_azurite { &plain } else { &odd }).await?;
    tables.upsert(&plain).await?;
    refused(tables.upsert(&odd).await.map(drop));
    holds(if is_azurite { &plain } else { &odd }).await?;
    tables.remove(Song::key("70s", 1)).await?;
    assert_eq!(findings::<Song>(store).await?, []);
    Ok(())
}
