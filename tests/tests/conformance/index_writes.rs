//! Indexes that writes keep true.

use anyhow::Result;
use table_runtime::{Copied, Error, Finding, Stored, TableEntity, UniqueViolationError};
use tests::stores::Store;

crate::conformance! {
    a_unique_name_in_a_partition
    every_kind_follows_its_entity
}

/// One index of every sort.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "People")]
pub(crate) struct Person {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[index(last_name, same_partition)]
    #[index(namesakes, lowercase, same_partition, list)]
    last_name: String,
    #[index(email, lowercase, unique)]
    email: Option<String>,
    #[index(city, table = "PeopleInCities")]
    #[index(city_copy, copy)]
    #[index(town, same_table)]
    city: String,
    #[index(age, same_partition, copy)]
    age: u8,
    #[index(status, include(name))]
    status: String,
}

pub(crate) fn person(id: u32, name: &str, city: &str) -> Person {
    Person {
        team: "Sales".into(),
        id,
        name: name.into(),
        last_name: format!("{name}son"),
        email: (id != 3).then(|| format!("{name}@x.org")),
        city: city.into(),
        age: 30,
        status: "active".into(),
    }
}

async fn findings<E: TableEntity>(store: &Store) -> Result<Vec<Finding>> {
    Ok(store.tables.verify::<E>().all().await?)
}

fn violation(error: Error) -> Box<UniqueViolationError> {
    match error {
        Error::UniqueViolation(violation) => violation,
        other => panic!("{other}"),
    }
}

async fn a_unique_name_in_a_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Person>().await?;
    let (alice, bob) = (person(1, "Alice", "Bonn"), person(2, "Bob", "Bonn"));
    tables.insert(&alice).await?;
    tables.insert(&bob).await?;
    let found = Person::by_name("Sales").eq("ALICE").get(tables).await?;
    assert_eq!(found.as_deref(), Some(&alice));
    let taken = violation(tables.insert(&Person { id: 4, email: None, ..alice.clone() }).await.unwrap_err());
    assert_eq!((taken.index, taken.value.as_str()), ("name", "alice"));
    assert_eq!((taken.owner.partition_key.as_str(), taken.owner.row_key.as_str()), ("Sales", "id-0000000001"));
    assert_eq!(Person::key("Sales", 4).get(tables).await?, None);

    let mut stored = Person::key("Sales", 2).get(tables).await?.expect("Bob");
    stored.name = "aLICE".into();
    violation(tables.update(&mut stored).await.unwrap_err());
    stored.name = "Bert".into();
    tables.update(&mut stored).await?;
    assert_eq!(Person::by_name("Sales").eq("bob").get(tables).await?, None);
    assert_eq!(Person::by_name("Sales").eq("bert").get(tables).await?.as_ref(), Some(&stored));

    let taken = violation(tables.insert(&Person { id: 5, name: "New".into(), ..alice.clone() }).await.unwrap_err());
    assert_eq!((taken.index, taken.value.as_str()), ("email", "alice@x.org"));
    assert_eq!(findings::<Person>(store).await?, []);
    Ok(())
}

async fn everything(store: &Store, all: &[Person]) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(findings::<Person>(store).await?, []);
    for person in all {
        let Person { name, last_name, email, city, age, status, .. } = person;
        assert_eq!(Person::by_name("Sales").eq(name).get(tables).await?.as_deref(), Some(person));
        if let Some(email) = email {
            assert_eq!(Person::by_email(email).get(tables).await?.as_deref(), Some(person));
        }
        let has = |found: Vec<Stored<Person>>| found.iter().any(|found| **found == *person);
        assert!(has(Person::by_last_name("Sales").eq(last_name).all(tables).await?));
        assert!(has(Person::by_namesakes("Sales").eq(last_name).all(tables).await?));
        assert!(has(Person::by_city(city).all(tables).await?));
        assert!(has(Person::by_town(city).all(tables).await?));
        assert!(has(Person::by_status(status).all(tables).await?));
        let copied = |found: Vec<Copied<Person>>| found.iter().any(|found| **found == *person);
        assert!(copied(Person::by_city_copy(city).all(tables).await?));
        assert!(copied(Person::by_age("Sales").eq(*age).all(tables).await?));
    }
    assert_eq!(Person::by_age("Sales").count(tables).await?, all.len());
    assert_eq!(Person::by_namesakes("Sales").count(tables).await?, all.len());
    Ok(())
}

async fn every_kind_follows_its_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Person>().await?;
    let mut all = vec![person(1, "Alice", "Bonn"), person(2, "Bob", "Köln"), person(3, "Carol", "Bonn")];
    for person in &all {
        tables.insert(person).await?;
    }
    everything(store, &all).await?;

    let mut stored = Person::key("Sales", 1).get(tables).await?.expect("Alice");
    stored.city = "Ulm".into();
    stored.email = None;
    stored.last_name = "Bobson".into();
    stored.age = 31;
    tables.update(&mut stored).await?;
    all[0] = Stored::into_inner(stored.clone());
    everything(store, &all).await?;
    assert_eq!(Person::by_email("alice@x.org").get(tables).await?, None);
    assert_eq!(Person::by_city("Bonn").count(tables).await?, 1);
    assert_eq!(Person::by_namesakes("Sales").eq("bobson").count(tables).await?, 2);

    all[1] = Person { status: "gone".into(), ..person(2, "Bill", "Bonn") };
    tables.upsert(&all[1]).await?;
    everything(store, &all).await?;

    tables.delete(&stored).await?;
    assert!(tables.remove(Person::key("Sales", 2)).await?);
    assert!(!tables.remove(Person::key("Sales", 2)).await?);
    everything(store, &all[2..]).await?;
    tables.remove(Person::key("Sales", 3)).await?;
    for table in ["People", "PeopleInCities", "PeopleByEmail", "PeopleByCityCopy", "PeopleByStatus"] {
        let scan = crate::index_writes::all_of(table);
        let left = table_runtime::backend::Backend::query(&store.backend, &scan, None).await?;
        assert!(left.rows.is_empty(), "{table}: {left:?}");
    }
    Ok(())
}

pub(crate) fn all_of(table: &'static str) -> table_runtime::backend::Scan {
    use table_runtime::backend::{KeyRange, Partitions, Scan};
    Scan {
        table: table.into(),
        partitions: Partitions::All,
        rows: KeyRange::ALL,
        filter: None,
        select: None,
        page: 1000,
    }
}
