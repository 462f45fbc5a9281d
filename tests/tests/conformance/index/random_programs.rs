//! Random programs of writes, whose results are compared with a map.

use std::{collections::BTreeMap, fmt::Debug, future::Future};

use anyhow::{Context as _, Result, ensure};
use proptest::{collection::vec, prelude::*, sample::select};
use table_runtime::{
    Copied, Error, Stored, Tables,
    backend::{Action, BackendExt, IfMatch},
    row::{Properties, ValueRef},
};
use tests::{
    depth::check,
    stores::{Kind, Store},
};
use tokio::{runtime::Handle, task::block_in_place};

use super::fixtures::{Account, Person};

crate::conformance! {
    every_index_agrees_with_a_map
    every_patch_agrees_with_a_map
}

/// Write of a program.
#[derive(Clone, Debug)]
enum Write<E> {
    Insert(E),
    Upsert(E),
    Merge(E),
    /// Another program sets a property that the struct does not know.
    Foreign(E, i32),
    /// Reads the entity of this key and replaces it with this one.
    Update(E),
    /// Reads the entity, writes it again, and then tries to update or delete the version first read.
    Stale(E, bool),
    Delete(E),
    Remove(E),
    Patch(E),
}

/// Entity that a program writes.
trait Subject: table_runtime::TableEntity + Clone + Debug + PartialEq {
    type Key: Ord + Clone + Debug + Send;
    fn key(&self) -> Self::Key;
    fn point(&self) -> table_runtime::Point<Self>;
    /// Returns the value of each unique index, with the scope in which it is unique.
    /// Returns the keys of the entity's row.
    fn row_keys(&self) -> (String, String);
    fn unique_values(&self) -> Vec<(&'static str, String)>;
    /// Sets a property that is in no index.
    fn patch(&self, tables: &Tables) -> impl Future<Output = table_runtime::Result<table_runtime::ETag>> + Send;
    fn patched(&self, old: &Self) -> Self;
    fn compare(tables: &Tables, map: &BTreeMap<Self::Key, Self>) -> impl Future<Output = Result<()>>;
    fn any() -> BoxedStrategy<Self>;
}

/// Outcome of a write.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Exists,
    NotFound,
    Changed,
    /// Violation of one of these indexes.
    Violation(Vec<&'static str>),
    Removed(bool),
}

impl Outcome {
    fn of<T>(result: table_runtime::Result<T>) -> table_runtime::Result<Self> {
        match result {
            Ok(_) => Ok(Self::Done),
            Err(Error::AlreadyExists(_)) => Ok(Self::Exists),
            Err(Error::NotFound(_)) => Ok(Self::NotFound),
            Err(Error::ConditionNotMet(_)) => Ok(Self::Changed),
            Err(Error::UniqueViolation(violation)) => Ok(Self::Violation(vec![violation.index])),
            Err(error) => Err(error),
        }
    }

    /// Checks whether this is the outcome that the map gives.
    fn agrees(&self, expected: &Self) -> bool {
        match (self, expected) {
            (Self::Violation(found), Self::Violation(of)) => found.iter().all(|index| of.contains(index)),
            _ => self == expected,
        }
    }
}

/// Returns the unique indexes in which another entity has the value of this one.
fn taken<E: Subject>(map: &BTreeMap<E::Key, E>, new: &E) -> Vec<&'static str> {
    let others = map.values().filter(|other| other.key() != new.key()).flat_map(Subject::unique_values);
    let unique_values = new.unique_values();
    others.filter(|value| unique_values.contains(value)).map(|(index, _)| index).collect()
}

fn put<E: Subject>(map: &mut BTreeMap<E::Key, E>, new: &E) -> Outcome {
    let taken = taken(map, new);
    if !taken.is_empty() {
        return Outcome::Violation(taken);
    }
    map.insert(new.key(), new.clone());
    Outcome::Done
}

/// Applies a write to the map.
fn model<E: Subject>(map: &mut BTreeMap<E::Key, E>, write: &Write<E>) -> Outcome {
    match write {
        Write::Insert(new) if map.contains_key(&new.key()) => Outcome::Exists,
        Write::Insert(new) | Write::Upsert(new) | Write::Merge(new) => put(map, new),
        Write::Foreign(new, _) if map.contains_key(&new.key()) => Outcome::Done,
        Write::Update(new) if map.contains_key(&new.key()) => put(map, new),
        Write::Stale(new, _) if map.contains_key(&new.key()) => Outcome::Changed,
        Write::Delete(key) if map.remove(&key.key()).is_some() => Outcome::Done,
        Write::Update(_) | Write::Stale(..) | Write::Delete(_) | Write::Foreign(..) => Outcome::NotFound,
        Write::Remove(key) => Outcome::Removed(map.remove(&key.key()).is_some()),
        Write::Patch(new) => match map.get_mut(&new.key()) {
            Some(old) => {
                *old = new.patched(old);
                Outcome::Done
            }
            None => Outcome::NotFound,
        },
    }
}

/// Applies a write that was done to the properties that the struct does not know.
fn model_foreign<E: Subject>(foreign: &mut BTreeMap<E::Key, i32>, write: &Write<E>) {
    match write {
        Write::Foreign(entity, value) => drop(foreign.insert(entity.key(), *value)),
        Write::Insert(entity) | Write::Upsert(entity) | Write::Delete(entity) | Write::Remove(entity) => {
            foreign.remove(&entity.key());
        }
        // The entity was not changed, or the property was kept.
        Write::Merge(_) | Write::Update(_) | Write::Stale(..) | Write::Patch(_) => {}
    }
}

async fn run<E: Subject>(store: &Store, write: &Write<E>) -> Result<Outcome> {
    let tables = &store.tables;
    let (Write::Insert(entity)
    | Write::Upsert(entity)
    | Write::Merge(entity)
    | Write::Foreign(entity, _)
    | Write::Update(entity)
    | Write::Stale(entity, _)
    | Write::Delete(entity)
    | Write::Remove(entity)
    | Write::Patch(entity)) = write;
    let read = async || entity.point().get(tables).await;
    Ok(match write {
        Write::Insert(new) => Outcome::of(tables.insert(new).await)?,
        Write::Upsert(new) => Outcome::of(tables.upsert(new).await)?,
        Write::Merge(new) => Outcome::of(tables.merge(new).await)?,
        Write::Foreign(new, value) => {
            let mut properties = Properties::default();
            properties.push("Foreign", ValueRef::Int32(*value));
            let (partition_key, row_key) = new.row_keys();
            let merge = Action::Merge(properties, IfMatch::Any);
            Outcome::of(store.write(&E::INFO.layouts[0].table, (&partition_key, &row_key), merge).await)?
        }
        Write::Remove(_) => Outcome::Removed(tables.remove(entity.point()).await?),
        Write::Patch(new) => Outcome::of(new.patch(tables).await)?,
        Write::Update(new) => match read().await? {
            Some(mut stored) => {
                *stored = new.clone();
                let updated = tables.update(&mut stored).await;
                if updated.is_ok() {
                    let now = read().await?;
                    ensure!(now.as_ref().map(Stored::etag) == Some(Stored::etag(&stored)), "another version");
                }
                Outcome::of(updated)?
            }
            None => Outcome::NotFound,
        },
        Write::Stale(new, delete) => match read().await? {
            Some(mut stored) => {
                let mut again = stored.clone();
                tables.update(&mut again).await?;
                *stored = new.clone();
                if *delete {
                    Outcome::of(tables.delete(&stored).await)?
                } else {
                    match Outcome::of(tables.update(&mut stored).await)? {
                        // The index row of a value is checked before the entity's version.
                        Outcome::Violation(_) => Outcome::Changed,
                        other => other,
                    }
                }
            }
            None => Outcome::NotFound,
        },
        Write::Delete(_) => match read().await? {
            Some(stored) => Outcome::of(tables.delete(&stored).await)?,
            None => Outcome::NotFound,
        },
    })
}

async fn program<E: Subject>(store: &Store, writes: &[Write<E>]) -> Result<()> {
    let tables = &store.tables;
    tables.create::<E>().await?;
    let (mut map, mut foreign) = (BTreeMap::new(), BTreeMap::new());
    for (at, write) in writes.iter().enumerate() {
        let expected = model(&mut map, write);
        let found = run(store, write).await?;
        ensure!(found.agrees(&expected), "write {at}: {found:?} instead of {expected:?}");
        if matches!(found, Outcome::Done | Outcome::Removed(true)) {
            model_foreign(&mut foreign, write);
        }
    }
    for (key, entity) in &map {
        let (partition_key, row_key) = entity.row_keys();
        let row = store.backend.get(&E::INFO.layouts[0].table, &partition_key, &row_key, None).await?;
        let row = row.with_context(|| format!("no row of {key:?}"))?;
        let (found, expected) = (row.properties.get("Foreign"), foreign.get(key).copied().map(ValueRef::Int32));
        ensure!(found == expected, "{key:?}: {found:?} instead of {expected:?}");
    }
    for verify in [tables.verify::<E>(), tables.verify::<E>().sample(8)] {
        let findings = verify.all().await?;
        ensure!(findings.is_empty(), "{findings:?}");
    }
    E::compare(tables, &map).await?;
    // A removed entity leaves no row.
    for entity in map.values() {
        tables.remove(entity.point()).await?;
    }
    for table in store.backend.list_tables("").await?.into_iter().filter(|table| table != "TableLayouts") {
        let rows = store.rows(&table).await?;
        ensure!(rows.is_empty(), "left in {table}: {rows:?}");
    }
    Ok(())
}

fn writes<E: Subject>() -> impl Strategy<Value = Vec<Write<E>>> {
    let write = (0..18_u8, E::any(), 0..9_i32).prop_map(|(verb, entity, value)| match verb {
        0..4 => Write::Insert(entity),
        4..6 => Write::Upsert(entity),
        6..9 => Write::Update(entity),
        9 => Write::Stale(entity, false),
        10 => Write::Stale(entity, true),
        11 => Write::Delete(entity),
        12 => Write::Remove(entity),
        14..16 => Write::Merge(entity),
        16..18 => Write::Foreign(entity, value),
        _ => Write::Patch(entity),
    });
    vec(write, 1..24)
}

fn programs<E: Subject>(kind: Kind) {
    let cases = match kind {
        Kind::Memory => 256,
        Kind::Plain => 64,
        Kind::Disk => 16,
        Kind::Azurite | Kind::Sdk | Kind::Live => 6,
    };
    check(cases, writes::<E>(), |writes| {
        // Each program has its own tables.
        let ran = block_in_place(|| {
            Handle::current().block_on(async {
                let store = kind.open()?;
                let ran = program(&store, &writes).await;
                store.clean().await?;
                ran
            })
        });
        ran.map_err(|error| TestCaseError::fail(format!("{error:#}")))
    });
}

async fn every_index_agrees_with_a_map(store: &Store) -> Result<()> {
    programs::<Person>(store.kind);
    Ok(())
}

async fn every_patch_agrees_with_a_map(store: &Store) -> Result<()> {
    programs::<Account>(store.kind);
    Ok(())
}

const NAMES: [&str; 5] = ["a", "A", "b", "", "a b"];

/// Checks that these entities were found, in this order.
fn same<E: Clone + Debug + PartialEq, F: std::ops::Deref<Target = E>>(
    what: &str,
    found: &[F],
    expected: &[E],
) -> Result<()> {
    let found: Vec<E> = found.iter().map(|found| (**found).clone()).collect();
    ensure!(found == expected, "{what}: {found:?} instead of {expected:?}");
    Ok(())
}

/// Returns the entities for which `of` gives a value, in the order of that value and then of their keys.
fn by<E: Subject, T: Ord>(map: &BTreeMap<E::Key, E>, of: impl Fn(&E) -> Option<T>) -> Vec<E> {
    let mut found: Vec<_> = map.values().filter_map(|entity| Some((of(entity)?, entity))).collect();
    // The map is in key order, and the stable sort keeps it.
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found.into_iter().map(|(_, entity)| entity.clone()).collect()
}

impl Subject for Person {
    type Key = (String, u32);

    fn key(&self) -> Self::Key {
        (self.team.clone(), self.id)
    }

    fn point(&self) -> table_runtime::Point<Self> {
        Self::key(&self.team, self.id)
    }

    fn row_keys(&self) -> (String, String) {
        (self.team.clone(), format!("id-{:010}", self.id))
    }

    fn unique_values(&self) -> Vec<(&'static str, String)> {
        let mut unique_values = vec![("name", format!("{}/{}", self.team, self.name.to_lowercase()))];
        unique_values.extend(self.email.iter().map(|email| ("email", email.to_lowercase())));
        if let Some(badge) = self.badge {
            unique_values.extend([("badge", badge.to_string()), ("locker", badge.to_string())]);
        }
        unique_values
    }

    async fn patch(&self, tables: &Tables) -> table_runtime::Result<table_runtime::ETag> {
        // Every property of a person is in a copy, so none can be patched.
        tables.patch(self.point(), |_| Vec::<table_runtime::filter::Set<Self>>::new()).await
    }

    fn patched(&self, old: &Self) -> Self {
        old.clone()
    }

    #[allow(clippy::too_many_lines, reason = "one index after the other")]
    async fn compare(tables: &Tables, map: &BTreeMap<Self::Key, Self>) -> Result<()> {
        for team in ["t", "u"] {
            let of = |person: &Self| (person.team == team).then_some(());
            let all = by(map, |person| of(person).map(|()| person.id));
            same("by_key", &Self::by_key(team).all(tables).await?, &all)?;
            for name in NAMES {
                let found: Vec<_> = Self::by_name(team).eq(name).get(tables).await?.into_iter().collect();
                let is = |person: &Self| person.name.to_lowercase() == name.to_lowercase();
                same("by_name", &found, &by(map, |person| of(person).filter(|()| is(person))))?;
                let found = Self::by_last_name(team).eq(name).all(tables).await?;
                same("by_last_name", &found, &by(map, |person| of(person).filter(|()| person.last_name == name)))?;
                let found = Self::by_namesakes(team).eq(name).all(tables).await?;
                let is = |person: &Self| person.last_name.to_lowercase() == name.to_lowercase();
                same("by_namesakes", &found, &by(map, |person| of(person).filter(|()| is(person))))?;
            }
            let names = by(map, |person| of(person).map(|()| person.name.to_lowercase().replace(' ', "!20")));
            same("by_name, all", &Self::by_name(team).all(tables).await?, &names)?;
            let start = |person: &Self| person.name.chars().take(3).collect::<String>();
            let nicknames = by(map, |person| of(person).map(|()| start(person)));
            same("by_nickname", &Self::by_nickname(team).all(tables).await?, &nicknames)?;
            let last_names = by(map, |person| of(person).map(|()| person.last_name.clone()));
            same("by_last_name, all", &Self::by_last_name(team).all(tables).await?, &last_names)?;
            let found = Self::by_last_name(team).range("a"..).all(tables).await?;
            let from = by(map, |person| of(person).and((*person.last_name >= *"a").then(|| person.last_name.clone())));
            same("by_last_name, range", &found, &from)?;
            let namesakes = by(map, |person| of(person).map(|()| person.last_name.to_lowercase()));
            same("by_namesakes, all", &Self::by_namesakes(team).all(tables).await?, &namesakes)?;
            let ages = by(map, |person| of(person).map(|()| person.age));
            let copied: Vec<Copied<Self>> = Self::by_age(team).all(tables).await?;
            same("by_age", &copied, &ages)?;
            let range = by(map, |person| of(person).and((10..=18).contains(&person.age).then_some(person.age)));
            same("by_age, range", &Self::by_age(team).range(10..=18).all(tables).await?, &range)?;
            let adults = by(map, |person| of(person).and((person.age >= 18).then_some(person.age)));
            same("by_adult", &Self::by_adult(team).all(tables).await?, &adults)?;
            let counts = [
                Self::by_name(team).count(tables).await?,
                Self::by_last_name(team).count_unchecked(tables).await?,
                Self::by_namesakes(team).count(tables).await?,
                Self::by_age(team).count(tables).await?,
            ];
            ensure!(counts == [all.len(); 4], "{counts:?} instead of {}", all.len());
        }
        for name in NAMES {
            let found: Vec<_> = Self::by_email(name).get(tables).await?.into_iter().collect();
            let has = |email: &String| email.to_lowercase() == name.to_lowercase();
            same("by_email", &found, &by(map, |person| person.email.as_ref().filter(|email| has(email)).cloned()))?;
            let in_city = by(map, |person| (person.city == name).then_some(()));
            same("by_city", &Self::by_city(name).all(tables).await?, &in_city)?;
            same("by_town", &Self::by_town(name).all(tables).await?, &in_city)?;
            same("by_city_copy", &Self::by_city_copy(name).all(tables).await?, &in_city)?;
            same("by_town_copy", &Self::by_town_copy(name).all(tables).await?, &in_city)?;
            ensure!(Self::by_city(name).count(tables).await? == in_city.len(), "the count of {name}");
            ensure!(Self::by_town(name).count_unchecked(tables).await? == in_city.len(), "the count of {name}");
            let found = Self::by_status(name).all(tables).await?;
            same("by_status", &found, &by(map, |person| (person.status == name).then_some(())))?;
        }
        for badge in 0..3 {
            let expected = by(map, |person| person.badge.filter(|has| *has == badge));
            let found: Vec<_> = Self::by_badge(badge).get(tables).await?.into_iter().collect();
            same("by_badge", &found, &expected)?;
            let found: Vec<_> = Self::by_locker(badge).get(tables).await?.into_iter().collect();
            same("by_locker", &found, &expected)?;
        }
        for age in [17, 18, 40] {
            let expected = by(map, |person| (person.age == age && age >= 18).then_some(()));
            same("by_grown_up", &Self::by_grown_up(age).all(tables).await?, &expected)?;
        }
        Ok(())
    }

    fn any() -> BoxedStrategy<Self> {
        let name = || select(NAMES.to_vec()).prop_map(str::to_owned);
        let keys = (select(vec!["t", "u"]), 0..3_u32);
        let unique = (name(), proptest::option::of(name()), proptest::option::of(0..3_u32));
        let others = (name(), name(), select(vec![3_u8, 17, 18, 40]), name());
        (keys, unique, others)
            .prop_map(|((team, id), (name, email, badge), (last_name, city, age, status))| Self {
                team: team.to_owned(),
                id,
                name,
                email,
                badge,
                last_name,
                city,
                age,
                status,
            })
            .boxed()
    }
}

impl Subject for Account {
    type Key = (String, u32);

    fn key(&self) -> Self::Key {
        (self.user.clone(), self.id)
    }

    fn point(&self) -> table_runtime::Point<Self> {
        Self::key(&self.user, self.id)
    }

    fn row_keys(&self) -> (String, String) {
        (self.user.clone(), format!("id-{:010}", self.id))
    }

    fn unique_values(&self) -> Vec<(&'static str, String)> {
        let name = self.name.as_ref().map(|name| name.to_lowercase());
        let here = name.as_ref().map(|name| ("name", format!("{}/{name}", self.user)));
        here.into_iter().chain(name.map(|name| ("everywhere", name))).collect()
    }

    async fn patch(&self, tables: &Tables) -> table_runtime::Result<table_runtime::ETag> {
        tables.patch(self.point(), |account| [account.note.set(&*self.note)]).await
    }

    fn patched(&self, old: &Self) -> Self {
        Self { note: self.note.clone(), ..old.clone() }
    }

    async fn compare(tables: &Tables, map: &BTreeMap<Self::Key, Self>) -> Result<()> {
        for user in ["t", "u"] {
            let of = |account: &Self| (account.user == user).then_some(());
            same("by_key", &Self::by_key(user).all(tables).await?, &by(map, of))?;
            let names = by(map, |account| of(account).and(account.name.clone()));
            same("by_names", &Self::by_names(user).all(tables).await?, &names)?;
            for name in NAMES {
                let is =
                    |account: &Self| account.name.as_ref().is_some_and(|own| own.to_lowercase() == name.to_lowercase());
                let found: Vec<_> = Self::by_name(user).eq(name).get(tables).await?.into_iter().collect();
                same("by_name", &found, &by(map, |account| of(account).filter(|()| is(account))))?;
                let found: Vec<_> = Self::by_everywhere(name).get(tables).await?.into_iter().collect();
                same("by_everywhere", &found, &by(map, |account| is(account).then_some(())))?;
            }
        }
        for plan in NAMES {
            let found = Self::by_plan(plan).all(tables).await?;
            same("by_plan", &found, &by(map, |account| (account.plan == plan).then_some(())))?;
        }
        Ok(())
    }

    fn any() -> BoxedStrategy<Self> {
        let name = || select(NAMES.to_vec()).prop_map(str::to_owned);
        let keys = (select(vec!["t", "u"]), 0..3_u32);
        (keys, proptest::option::of(name()), name(), 0..3_i64, name())
            .prop_map(|((user, id), name, plan, limit, note)| Self {
                user: user.to_owned(),
                id,
                name,
                plan,
                limit,
                note,
            })
            .boxed()
    }
}
