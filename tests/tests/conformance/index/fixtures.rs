//! Entities with an index of every scope and content, and helpers of the cases about indexes.

use anyhow::Result;
use table_runtime::{Copied, Stored, TableEntity, Tables, row::RowId};
use tests::stores::Store;

use crate::fixtures::findings;

/// Entity with every kind of index in every scope.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "People")]
pub(crate) struct Person {
    #[partition_key]
    pub(crate) team: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    #[index(nickname, first = 3, same_partition, include(status))]
    pub(crate) name: String,
    #[index(email, lowercase, unique)]
    pub(crate) email: Option<String>,
    #[index(badge, same_table, unique, include(name))]
    #[index(locker, table = "Lockers", unique)]
    pub(crate) badge: Option<u32>,
    #[index(last_name, same_partition)]
    #[index(namesakes, lowercase, same_partition, list)]
    pub(crate) last_name: String,
    #[index(city, table = "PeopleInCities")]
    #[index(city_copy, copy)]
    #[index(town, same_table)]
    #[index(town_copy, same_table, copy)]
    pub(crate) city: String,
    #[index(age, same_partition, copy)]
    #[index(adult, same_partition, when(age, is_adult))]
    #[index(grown_up, reverse, table = "GrownUps", when(age, is_adult))]
    pub(crate) age: u8,
    #[index(status, include(name))]
    pub(crate) status: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a condition takes its fields by reference")]
fn is_adult(age: &u8) -> bool {
    *age >= 18
}

impl Person {
    /// Returns a person with this number, name and city.
    pub(crate) fn new(id: u32, name: &str, city: &str) -> Self {
        Self {
            team: "Sales".into(),
            id,
            name: name.into(),
            email: Some(format!("{name}@x.org")),
            badge: Some(100 + id),
            last_name: format!("{name}son"),
            city: city.into(),
            age: 30,
            status: "active".into(),
        }
    }
}

/// Entity with a property that is in no index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts")]
pub(crate) struct Account {
    #[partition_key]
    pub(crate) user: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    #[index(names, same_partition, list)]
    #[index(everywhere, lowercase, unique)]
    pub(crate) name: Option<String>,
    #[index(plan, include(limit))]
    pub(crate) plan: String,
    pub(crate) limit: i64,
    pub(crate) note: String,
}

impl Account {
    pub(crate) fn new(user: &str, id: u32, name: &str) -> Self {
        let name = Some(name.into());
        Self { user: user.into(), id, name, plan: "free".into(), limit: 10, note: String::new() }
    }
}

pub(crate) async fn person(tables: &Tables, id: u32) -> Result<Stored<Person>> {
    Ok(Person::key("Sales", id).get(tables).await?.expect("the person"))
}

/// Returns the numbers of these people.
fn ids<P>(found: &[P], id: impl Fn(&P) -> u32) -> Vec<u32> {
    found.iter().map(id).collect()
}

/// Checks that every index leads to exactly these people.
pub(crate) async fn check_indexes(store: &Store, all: &[Person]) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(findings::<Person>(store).await?, []);
    assert_eq!(Person::by_key("Sales").count(tables).await?, all.len());
    let like = |is: &dyn Fn(&Person) -> bool| {
        ids(&all.iter().filter(|person| is(person)).collect::<Vec<_>>(), |person| person.id)
    };
    let stored = |found: Vec<Stored<Person>>| {
        assert!(found.iter().all(|found| all.contains(found)), "{found:?}");
        ids(&found, |found| found.id)
    };
    let copied = |found: Vec<Copied<Person>>| {
        assert!(found.iter().all(|found| all.contains(found)), "{found:?}");
        ids(&found, |found| found.id)
    };
    for person in all {
        let Person { name, email, badge, last_name, city, age, status, .. } = person;
        assert_eq!(Person::by_name("Sales").eq(&name.to_uppercase()).get(tables).await?.as_deref(), Some(person));
        let start = |name: &str| name.chars().take(3).collect::<String>();
        let found = Person::by_nickname("Sales").eq(&start(name)).all(tables).await?;
        assert_eq!(stored(found), like(&|other| start(&other.name) == start(name)));
        if let Some(email) = email {
            assert_eq!(Person::by_email(email).get(tables).await?.as_deref(), Some(person));
        }
        if let Some(badge) = *badge {
            assert_eq!(Person::by_badge(badge).get(tables).await?.as_deref(), Some(person));
            assert_eq!(Person::by_locker(badge).get(tables).await?.as_deref(), Some(person));
        }
        let found = Person::by_last_name("Sales").eq(last_name).all(tables).await?;
        assert_eq!(stored(found), like(&|other| other.last_name == *last_name));
        let found = Person::by_namesakes("Sales").eq(last_name).all(tables).await?;
        assert_eq!(stored(found), like(&|other| other.last_name.to_lowercase() == last_name.to_lowercase()));
        let of_city = like(&|other| other.city == *city);
        assert_eq!(stored(Person::by_city(city).all(tables).await?), of_city);
        assert_eq!(stored(Person::by_town(city).all(tables).await?), of_city);
        assert_eq!(copied(Person::by_city_copy(city).all(tables).await?), of_city);
        assert_eq!(copied(Person::by_town_copy(city).all(tables).await?), of_city);
        assert_eq!(copied(Person::by_age("Sales").eq(*age).all(tables).await?), like(&|other| other.age == *age));
        let adults = like(&|other| other.age == *age && other.age >= 18);
        assert_eq!(stored(Person::by_adult("Sales").eq(*age).all(tables).await?), adults);
        assert_eq!(stored(Person::by_grown_up(*age).all(tables).await?), adults);
        let found = Person::by_status(status).all(tables).await?;
        assert_eq!(stored(found), like(&|other| other.status == *status));
    }
    assert_eq!(Person::by_name("Sales").count(tables).await?, all.len());
    assert_eq!(Person::by_last_name("Sales").count_unchecked(tables).await?, all.len());
    assert_eq!(Person::by_namesakes("Sales").count(tables).await?, all.len());
    assert_eq!(Person::by_age("Sales").count(tables).await?, all.len());
    assert_eq!(Person::by_adult("Sales").count_unchecked(tables).await?, like(&|person| person.age >= 18).len());
    Ok(())
}

/// Returns Alice, Bob and Carol. Carol alone is a child, without an e-mail address and a badge.
pub(crate) fn people() -> Vec<Person> {
    let carol = Person { email: None, badge: None, age: 9, ..Person::new(3, "Carol", "Bonn") };
    vec![Person::new(1, "Alice", "Bonn"), Person::new(2, "Bob", "Köln"), carol]
}

pub(crate) async fn insert_people(store: &Store) -> Result<Vec<Person>> {
    store.tables.create::<Person>().await?;
    let people = people();
    for person in &people {
        store.tables.insert(person).await?;
    }
    Ok(people)
}

/// Tables with rows of people or of their indexes.
pub(crate) const TABLES: [&str; 7] =
    ["People", "PeopleByEmail", "Lockers", "PeopleInCities", "PeopleByCityCopy", "GrownUps", "PeopleByStatus"];

/// Entity with a unique index in its own partition and a cross-partition one.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Chairs")]
pub(crate) struct Chair {
    #[partition_key]
    pub(crate) hall: String,
    #[row_key]
    pub(crate) number: u32,
    #[index(name, lowercase, same_partition, unique)]
    pub(crate) name: String,
    #[index(owner, unique)]
    pub(crate) owner: Option<String>,
}

pub(crate) fn chair(number: u32, name: &str, owner: Option<&str>) -> Chair {
    Chair { hall: "Sales".into(), number, name: name.into(), owner: owner.map(str::to_owned) }
}

pub(crate) fn entity(table: &str, id: &str) -> RowId {
    RowId { table: table.into(), partition_key: "Sales".into(), row_key: id.into() }
}
