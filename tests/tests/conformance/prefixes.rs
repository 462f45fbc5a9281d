//! Handles with a prefix before the names of all tables.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use table_runtime::{
    Error, Stored, TableEntity, Tables, backend::BackendExt, error::RowNow, jobs::Progress, slices::Sliced,
};
use tests::stores::Store;
use time::{OffsetDateTime, macros::datetime};

use crate::fixtures::{Counter, violation};

crate::conformance! {
    tenants_do_not_see_each_other
    every_table_begins_with_the_prefix
    pages_and_jobs_resume_under_a_prefix
    an_index_is_built_for_each_tenant
    drop_slices_deletes_slices_of_the_tenant
    a_name_that_no_table_can_have_is_refused_before_sending
    a_prefix_cannot_complete_the_name_of_the_records
    a_table_that_a_longer_prefix_could_have_is_refused
    no_job_of_a_tenant_touches_the_tables_of_another_one
    prefixes_of_prefixes_are_joined
    lost_answers_are_examined_under_a_prefix
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Staff")]
struct Staff {
    #[partition_key]
    team: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    #[index(name, same_partition)]
    name: String,
    #[index(city, same_table)]
    city: String,
}

/// The same entity before it had indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Staff", kind = "Staff")]
struct KindOfStaff {
    #[partition_key]
    team: String,
    #[row_key(prefix = "id-")]
    id: u32,
    email: String,
}

/// The same entity after it had an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Staff", kind = "Staff")]
struct IndexedStaff {
    #[partition_key]
    team: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(email, unique)]
    email: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Log", slice = month(at))]
struct Line {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: OffsetDateTime,
    text: String,
}

const MAY: OffsetDateTime = datetime!(2010-05-03 00:00 UTC);
const JUNE: OffsetDateTime = datetime!(2010-06-01 00:00 UTC);

fn staff(id: u32) -> Staff {
    let (email, name) = (format!("Staff{id}@x.org"), format!("Name {id}"));
    Staff { team: "a".into(), id, email, name, city: "Ulm".into() }
}

fn line(at: OffsetDateTime, text: &str) -> Line {
    Line { machine: "a".into(), at, text: text.into() }
}

async fn slices<E: Sliced>(tables: &Tables) -> Result<Vec<String>> {
    Ok(tables.slices::<E>().await?.into_iter().map(|slice| slice.table).collect())
}

/// Returns the whole names of all tables.
async fn names(store: &Store) -> Result<Vec<String>> {
    let mut names = store.backend.list_tables("").await?;
    names.sort_unstable();
    Ok(names)
}

async fn tenants_do_not_see_each_other(store: &Store) -> Result<()> {
    let (one, other) = (store.tables.with_prefix("one1"), store.tables.with_prefix("two2"));
    for tables in [&one, &other] {
        tables.create::<Staff>().await?;
        // Each tenant has the unique values once.
        tables.insert(&staff(1)).await?;
        let taken = tables.insert(&Staff { id: 9, ..staff(1) }).await.expect_err("the address is taken");
        assert_eq!(violation(taken).index, "email");
    }
    one.insert_all([staff(2), staff(3)]).await?;
    let mut first = Staff::key("a", 1).get(&one).await?.expect("it was inserted");
    first.email = "new@x.org".into();
    first.name = "New".into();
    first.city = "Bonn".into();
    one.update(&mut first).await?;

    assert_eq!(Staff::key("a", 1).get(&other).await?.as_deref(), Some(&staff(1)));
    assert_eq!(Staff::by_key("a").count(&one).await?, 3);
    assert_eq!(Staff::by_key("a").count(&other).await?, 1);
    assert_eq!(Staff::by_email("new@x.org").get(&one).await?.as_deref(), Some(&*first));
    assert_eq!(Staff::by_email("new@x.org").get(&other).await?, None);
    assert_eq!(Staff::by_email("staff1@x.org").get(&one).await?, None);
    assert!(Staff::by_email("staff1@x.org").exists(&other).await?);
    assert_eq!(Staff::by_name("a").eq("New").count(&one).await?, 1);
    assert_eq!(Staff::by_name("a").eq("New").count(&other).await?, 0);
    assert_eq!(Staff::by_city("Ulm").count(&one).await?, 2);
    assert_eq!(Staff::by_city("Ulm").count(&other).await?, 1);
    for tables in [&one, &other] {
        assert_eq!(tables.verify::<Staff>().all().await?, []);
        let repaired = tables.repair::<Staff>().await?;
        assert_eq!((repaired.fixed, repaired.left), (Vec::new(), Vec::new()));
    }

    assert!(one.remove(Staff::key("a", 1)).await?);
    one.remove_all([Staff::key("a", 2), Staff::key("a", 3)]).await?;
    assert_eq!(Staff::by_key("a").count(&one).await?, 0);
    assert_eq!(Staff::by_email("staff1@x.org").get(&other).await?.as_deref(), Some(&staff(1)));
    // The names without a prefix are free.
    let missing = Staff::key("a", 1).get(&store.tables).await.expect_err("the table was not created");
    assert!(matches!(missing, Error::TableNotFound(_)), "{missing}");
    Ok(())
}

async fn every_table_begins_with_the_prefix(store: &Store) -> Result<()> {
    let tables = store.tables.with_prefix("t7");
    tables.create::<Staff>().await?;
    tables.create::<Line>().await?;
    tables.insert(&staff(1)).await?;
    tables.insert(&line(MAY, "started")).await?;
    assert_eq!(names(store).await?, ["t7Log201005", "t7Staff", "t7StaffByEmail", "t7TableLayouts"]);
    // A program that was started again finds the records.
    let again = store.again().with_prefix("t7");
    again.create::<Staff>().await?;
    again.create::<Line>().await?;
    assert_eq!(names(store).await?.len(), 4);

    // An error of the store has the whole name, an error in a value the name of the struct.
    let exists = tables.insert(&staff(1)).await.expect_err("it was inserted");
    assert!(exists.to_string().contains("t7Staff("), "{exists}");
    let long = tables.insert(&Staff { name: "n".repeat(600), ..staff(2) }).await.expect_err("it is too long");
    assert!(long.to_string().starts_with("Staff"), "{long}");
    Ok(())
}

async fn pages_and_jobs_resume_under_a_prefix(store: &Store) -> Result<()> {
    let tables = store.tables.with_prefix("t7");
    tables.create::<Staff>().await?;
    for id in 0..5 {
        tables.insert(&staff(id)).await?;
    }
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = Staff::by_name("a").page(&tables, 2, cursor.as_deref()).await?;
        ids.extend(page.entities.iter().map(|staff| staff.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, [0, 1, 2, 3, 4]);

    let cursors = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&cursors);
    let note = move |progress: &Progress| noted.lock().unwrap().extend(progress.cursor.clone());
    tables.repair::<Staff>().progress(note).await?;
    let cursors = cursors.lock().unwrap().clone();
    assert_ne!(cursors, [""; 0], "the repair has a position after each layout");
    for cursor in cursors {
        let repaired = tables.repair::<Staff>().resume_from(&cursor)?.await?;
        assert_eq!((repaired.fixed, repaired.left), (Vec::new(), Vec::new()));
    }
    Ok(())
}

async fn an_index_is_built_for_each_tenant(store: &Store) -> Result<()> {
    let (one, other) = (store.tables.with_prefix("one1"), store.tables.with_prefix("two2"));
    for tables in [&one, &other] {
        tables.create::<KindOfStaff>().await?;
        for id in 1..=3 {
            tables.insert(&KindOfStaff { team: "a".into(), id, email: format!("{id}@x.org") }).await?;
        }
        tables.create::<IndexedStaff>().await?;
    }
    let building = IndexedStaff::by_email("2@x.org").get(&one).await.expect_err("it is not built");
    assert!(matches!(building, Error::IndexBuilding { .. }), "{building}");
    let filled = one.backfill::<IndexedStaff>("email").await?;
    assert!(filled.ready, "{filled:?}");
    assert_eq!(IndexedStaff::by_email("2@x.org").get(&one).await?.map(|staff| staff.id), Some(2));
    assert_eq!(one.verify::<IndexedStaff>().all().await?, []);
    // A handle that was made before and one that is made now find the state of their own tenant.
    for tables in [&other, &store.tables.with_prefix("two2")] {
        let building = IndexedStaff::by_email("2@x.org").get(tables).await.expect_err("it is not built");
        assert!(matches!(building, Error::IndexBuilding { .. }), "{building}");
    }
    assert!(IndexedStaff::by_email("2@x.org").exists(&store.tables.with_prefix("one1")).await?);
    Ok(())
}

async fn drop_slices_deletes_slices_of_the_tenant(store: &Store) -> Result<()> {
    let (one, other) = (store.tables.with_prefix("one1"), store.tables.with_prefix("two2"));
    for tables in [&one, &other, &store.tables] {
        tables.create::<Line>().await?;
        for at in [MAY, JUNE] {
            tables.insert(&line(at, "started")).await?;
        }
        assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201006"]);
    }
    let dropped = one.drop_slices::<Line>(..JUNE).await?;
    assert_eq!(dropped.into_iter().map(|slice| slice.table).collect::<Vec<_>>(), ["Log201005"]);
    assert_eq!(slices::<Line>(&one).await?, ["Log201006"]);
    assert_eq!(Line::by_key("a").count(&one).await?, 1);
    for tables in [&other, &store.tables] {
        assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201006"]);
        assert_eq!(Line::by_key("a").count(tables).await?, 2);
    }
    Ok(())
}

async fn a_name_that_no_table_can_have_is_refused_before_sending(store: &Store) -> Result<()> {
    // The entity's table could have such a name, but not that of the index, or that of the records.
    let (long, longest) = (format!("{}1", "x".repeat(51)), format!("{}1", "x".repeat(54)));
    // These are no prefixes: `a` with `bPosts` would be `ab` with `Posts`.
    for prefix in [long.as_str(), &longest, "", "a", "7", "7a", "a7b", "a-7", "ä7", " ", "a1 "] {
        let tables = store.tables.with_prefix(prefix);
        store.probe.requests();
        let error = tables.create::<Staff>().await.expect_err("no table can have the name");
        let Error::Limit(limit) = &error else { panic!("{prefix}: {error}") };
        assert!(limit.table.starts_with(prefix) && limit.found.contains(prefix), "{error}");
        let created = tables.create::<Line>().await;
        assert!(matches!(created, Err(Error::Limit(_))), "{prefix}: {created:?}");
        assert!(tables.inventory().await.is_err() || prefix.len() > 50, "{prefix}");
        assert_eq!(store.probe.requests(), usize::from(prefix.len() > 50), "{prefix}");
        // A longer prefix does not make it one.
        let created = tables.with_prefix("b2").create::<Staff>().await;
        assert!(matches!(created, Err(Error::Limit(_))), "{prefix}: {created:?}");
    }
    store.probe.requests();
    // Other requests do not reach the store either.
    let tables = store.tables.with_prefix("7");
    let results = [
        tables.insert(&staff(1)).await.map(drop),
        tables.remove(Staff::key("a", 1)).await.map(drop),
        Staff::key("a", 1).get(&tables).await.map(drop),
        Staff::by_key("a").all(&tables).await.map(drop),
        tables.insert(&line(MAY, "started")).await.map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::Limit(_))), "{result:?}");
    }
    assert_eq!(store.probe.requests(), 0);
    assert_eq!(names(store).await?, [""; 0]);
    Ok(())
}

/// Entity whose table would be that of the records with the prefix `Table`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Layouts")]
struct Drawing {
    #[partition_key]
    #[row_key]
    id: u32,
}

/// Entity whose table under the prefix `a1` would be that of [`Staff`] under `a1b2`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "b2Staff")]
struct Nested {
    #[partition_key]
    #[row_key]
    id: u32,
}

async fn a_prefix_cannot_complete_the_name_of_the_records(store: &Store) -> Result<()> {
    // The records are in `Table1TableLayouts`, since a prefix ends with a digit.
    let tables = store.tables.with_prefix("Table1");
    tables.create::<Drawing>().await?;
    tables.insert(&Drawing { id: 1 }).await?;
    assert_eq!(names(store).await?, ["Table1Layouts", "Table1TableLayouts"]);
    Ok(())
}

async fn a_table_that_a_longer_prefix_could_have_is_refused(store: &Store) -> Result<()> {
    let (outer, inner) = (store.tables.with_prefix("a1"), store.tables.with_prefix("a1b2"));
    inner.create::<Staff>().await?;
    inner.insert(&staff(1)).await?;
    store.probe.requests();
    for result in [outer.create::<Nested>().await, outer.insert(&Nested { id: 1 }).await.map(drop)] {
        let error = result.expect_err("it is the table of the longer prefix");
        assert!(matches!(&error, Error::Limit(limit) if limit.found == "`b2Staff`"), "{error}");
    }
    assert_eq!(store.probe.requests(), 0);
    // Without a prefix there is no such rule.
    store.tables.create::<Nested>().await?;
    Ok(())
}

async fn no_job_of_a_tenant_touches_the_tables_of_another_one(store: &Store) -> Result<()> {
    // Each begins with the one before.
    let prefixes = ["a1", "a12", "a1b2", "A1B2c3"];
    let tenants = prefixes.map(|prefix| store.tables.with_prefix(prefix));
    for (number, tables) in (1..).zip(&tenants) {
        tables.create::<Staff>().await?;
        tables.create::<Line>().await?;
        tables.insert(&staff(number)).await?;
        tables.insert(&line(MAY, &number.to_string())).await?;
    }
    let own = ["Log201005", "Staff", "StaffByEmail", "TableLayouts"];
    for (number, tables) in (1..).zip(&tenants) {
        assert_eq!(tables.inventory().await?.tables, own);
        let (mut dumped, copy) = (Vec::new(), Tables::in_memory()?);
        tables.dump(&mut dumped).await?;
        copy.load(dumped.as_slice()).await?;
        assert_eq!(Staff::by_key("a").all(&copy).await?.iter().map(|staff| staff.id).collect::<Vec<_>>(), [number]);
        assert_eq!(slices::<Line>(&copy).await?, ["Log201005"]);
        assert_eq!(tables.verify::<Staff>().all().await?, []);
        assert!(tables.repair::<Staff>().await?.fixed.is_empty());
    }
    // Neither does the deletion of what it has.
    tenants[0].drop_slices::<Line>(..JUNE).await?;
    tenants[0].remove(Staff::key("a", 1)).await?;
    for (number, tables) in (2..).zip(&tenants[1..]) {
        let email = format!("staff{number}@x.org");
        assert_eq!(Staff::by_email(&email).get(tables).await?.as_deref(), Some(&staff(number)));
        assert_eq!(Line::by_key("a").count(tables).await?, 1);
    }
    Ok(())
}

async fn prefixes_of_prefixes_are_joined(store: &Store) -> Result<()> {
    let tables = store.tables.with_prefix("t7").with_prefix("u8");
    tables.create::<Counter>().await?;
    tables.insert(&Counter { name: "hits".into(), number: 1, count: 5 }).await?;
    let same = store.tables.with_prefix("t7u8");
    assert_eq!(Counter::key("hits", 1).get(&same).await?.map(|counter| counter.count), Some(5));
    assert_eq!(names(store).await?, ["t7u8Counters", "t7u8TableLayouts"]);
    Ok(())
}

async fn lost_answers_are_examined_under_a_prefix(store: &Store) -> Result<()> {
    let tables = store.tables.with_prefix("t7");
    tables.create::<Counter>().await?;
    store.probe.apply_and_lose();
    tables.insert(&Counter { name: "hits".into(), number: 1, count: 0 }).await?;
    store.probe.apply_and_lose();
    let patched = tables.patch(Counter::key("hits", 1), |counter| [counter.count.set(3)]).await?;
    let found = Counter::key("hits", 1).get(&tables).await?.expect("it was inserted");
    assert_eq!((found.count, Stored::etag(&found)), (3, &patched));
    // A deleted row has no write id.
    store.probe.apply_and_lose();
    let unknown = tables.remove(Counter::key("hits", 1)).await.expect_err("its answer is lost");
    let Error::OutcomeUnknown(unknown) = unknown else { panic!("{unknown}") };
    assert_eq!(unknown.now, RowNow::Absent);
    Ok(())
}
