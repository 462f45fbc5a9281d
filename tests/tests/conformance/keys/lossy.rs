//! Rows whose folded, cut or hashed key is not that of their fields, as another program writes them: `STRAßE`, as .NET
//! folds `Straße`. Such a row is an error, and never another entity.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Projection, TableEntity, Tables,
    backend::{Action, BackendExt},
    jobs::Finding,
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use crate::fixtures::findings;

crate::conformance! {
    a_row_under_the_key_of_another_lowercase_name_touches_nobody
    a_row_under_the_key_of_another_uppercase_name_touches_nobody
    a_row_under_the_first_letters_of_another_name_touches_nobody
    a_row_in_the_partition_of_another_bucket_touches_nobody
    a_row_that_another_program_folded_otherwise_deletes_no_other_entity
    a_copy_under_the_key_of_another_value_is_an_error
    an_index_row_that_includes_another_value_than_its_key_is_an_error
    keys_of_fields_with_escapes_are_those_of_their_fields
}

/// Checks that the error is that of a row whose key is not that of its fields.
fn is_misplaced<T>(result: table_runtime::Result<T>) -> bool {
    let is_it = |error: &Error| matches!(error, Error::Key(key) if key.row.is_some());
    match result {
        Err(Error::Bulk(bulk)) => bulk.failures.iter().any(|failure| is_it(&failure.error)),
        Err(error) => is_it(&error),
        Ok(_) => false,
    }
}

fn properties(name: &str, code: i64) -> Properties {
    let mut properties = Properties::default();
    properties.push("Name", ValueRef::String(name));
    properties.push("Code", ValueRef::Int64(code));
    properties.push("Length", ValueRef::Int64(100));
    properties
}

macro_rules! misplaced {
    ($($test:ident $module:ident { $($key:tt)* } $(, { $($length:tt)* })? $point:expr, $all:expr, at $at:expr;)+) => {$(
        mod $module {
            use super::*;

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Streets", allow_scan)]
            struct Street {
                #[partition_key]
                town: String,
                $($key)*
                name: String,
                #[index(code, unique)]
                code: u32,
                $($($length)*)?
                length: u32,
            }

            #[derive(Projection, Debug, PartialEq)]
            #[projection(of = Street)]
            struct Measured {
                name: String,
                length: u32,
            }

            fn street(name: &str, code: u32) -> Street {
                Street { town: "Ulm".into(), name: name.into(), code, length: 100 }
            }

            /// Checks that the other entity has its row and its index row.
            async fn untouched(tables: &Tables, operation: &str) -> Result<()> {
                let other = street("Haupt", 7);
                let found = $point("Haupt").get(tables).await?;
                ensure!(found.as_deref() == Some(&other), "{operation}: {found:?}");
                let found = Street::by_code(7).get(tables).await?;
                ensure!(found.as_deref() == Some(&other), "{operation}: by its code {found:?}");
                Ok(())
            }

            pub(super) async fn run(store: &Store) -> Result<()> {
                let tables = &store.tables;
                tables.create::<Street>().await?;
                tables.insert(&street("Haupt", 7)).await?;
                // The row of `Haupt`, under the key of `Anger`.
                let (partition_key, row_key) = $at;
                let mut planted = properties("Haupt", 7);
                // Of the hashed entity, the town is no key.
                if partition_key != "Ulm" {
                    planted.push("Town", ValueRef::String("Ulm"));
                }
                store.write("Streets", (partition_key, row_key), Action::Insert(planted)).await?;
                let anger = || $point("Anger");
                let explained = anger().explain();
                ensure!((explained.partition_key(), explained.row_key()) == (Some(partition_key), Some(row_key)));

                ensure!(is_misplaced(anger().get(tables).await), "get");
                ensure!(is_misplaced(anger().select::<Measured>().get(tables).await), "select");
                ensure!(is_misplaced($all.all(tables).await), "all");
                ensure!(is_misplaced(tables.remove(anger()).await), "remove");
                untouched(tables, "remove").await?;
                ensure!(is_misplaced(tables.remove_all([anger()]).await), "remove_all");
                untouched(tables, "remove_all").await?;
                ensure!(is_misplaced(tables.upsert(&street("Anger", 8)).await), "upsert");
                untouched(tables, "upsert").await?;
                ensure!(is_misplaced(tables.upsert_all([street("Anger", 8)]).await), "upsert_all");
                untouched(tables, "upsert_all").await?;
                // The others of a bulk write are not concerned.
                let beside = tables.upsert_all([street("Anger", 8), street("Zoo", 9)]).await;
                let Err(Error::Bulk(bulk)) = beside else { panic!("{beside:?}") };
                ensure!((bulk.failures.len(), bulk.failures[0].position) == (1, 0), "upsert_all beside another: {bulk}");
                ensure!(tables.remove($point("Zoo")).await?, "the other was written");
                ensure!(is_misplaced(tables.merge(&street("Anger", 8)).await), "merge");
                ensure!(is_misplaced(tables.modify(anger(), |street| street.code = 9).await), "modify");
                ensure!(tables.insert(&street("Anger", 8)).await.is_err(), "insert");
                untouched(tables, "insert").await?;

                let found = findings::<Street>(store).await?;
                let is_it = |finding: &Finding| {
                    matches!(finding, Finding::Foreign { index: None, row, .. }
                        if (&*row.partition_key, &*row.row_key) == (partition_key, row_key))
                };
                ensure!(matches!(&found[..], [finding] if is_it(finding)), "{found:?}");
                let repaired = tables.repair::<Street>().await?;
                ensure!(repaired.fixed.is_empty() && matches!(&repaired.left[..], [left] if is_it(left)), "{repaired:?}");
                untouched(tables, "repair").await?;
                let row = store.backend.get("Streets", partition_key, row_key, None).await?;
                ensure!(row.is_some(), "a person decides about the row");
                Ok(())
            }
        }

        async fn $test(store: &Store) -> Result<()> {
            $module::run(store).await.context(stringify!($module))
        }
    )+};
}

misplaced! {
    a_row_under_the_key_of_another_lowercase_name_touches_nobody lowercase { #[row_key(lowercase)] }
        |name: &str| Street::key("Ulm", name), Street::by_key("Ulm"), at ("Ulm", "anger");
    a_row_under_the_key_of_another_uppercase_name_touches_nobody uppercase { #[row_key(uppercase)] }
        |name: &str| Street::key("Ulm", name), Street::by_key("Ulm"), at ("Ulm", "ANGER");
    a_row_under_the_first_letters_of_another_name_touches_nobody first { #[row_key(first = 2, lowercase)] },
        { #[row_key] #[property] }
        |name: &str| Street::key("Ulm", name, 100), Street::by_key("Ulm"), at ("Ulm", "an 0000000100");
}

/// Street in one of four partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Hashed", allow_scan)]
struct Hashed {
    #[partition_key(hash = 4)]
    #[row_key]
    name: String,
    #[index(code, unique)]
    code: u32,
    length: u32,
}

async fn a_row_in_the_partition_of_another_bucket_touches_nobody(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Hashed>().await?;
    let haupt = Hashed { name: "Haupt".into(), code: 7, length: 100 };
    tables.insert(&haupt).await?;
    let own = Hashed::key("Haupt").explain().partition_key().expect("a point").to_owned();
    let wrong = if own == "0" { "1" } else { "0" };
    let mut planted = properties("Haupt", 7);
    planted =
        planted.iter().filter(|(name, _)| *name != "Name").fold(Properties::default(), |mut kept, (name, value)| {
            kept.push(name, value);
            kept
        });
    store.write("Hashed", (wrong, "Haupt"), Action::Insert(planted)).await?;
    ensure!(is_misplaced(Hashed::scan().all(tables).await), "scan");
    ensure!(is_misplaced(Hashed::scan().delete_all(tables).side_by_side(1).await), "delete_all");
    // The entity itself was found by the scan too, before or after.
    tables.upsert(&haupt).await?;
    ensure!(Hashed::by_code(7).get(tables).await?.as_deref() == Some(&haupt));
    let found = findings::<Hashed>(store).await?;
    ensure!(
        matches!(&found[..], [Finding::Foreign { index: None, row, .. }] if row.partition_key == wrong),
        "{found:?}"
    );
    let repaired = tables.repair::<Hashed>().await?;
    ensure!((repaired.fixed.len(), repaired.left.len()) == (0, 1), "{repaired:?}");
    Ok(())
}

/// Street by its name in upper case.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Roads")]
struct Road {
    #[partition_key]
    town: String,
    #[row_key(uppercase)]
    name: String,
    #[index(code, unique)]
    code: u32,
    length: u32,
}

async fn a_row_that_another_program_folded_otherwise_deletes_no_other_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Road>().await?;
    let road = |name: &str, code| Road { town: "Ulm".into(), name: name.into(), code, length: 100 };
    tables.insert(&road("Strasse", 7)).await?;
    // `Straße` is folded to `STRASSE`, which is the key of `Strasse`.
    let dotnet = "STRA\u{df}E";
    store.write("Roads", ("Ulm", dotnet), Action::Insert(properties("Stra\u{df}e", 7))).await?;
    ensure!(is_misplaced(Road::by_key("Ulm").all(tables).await), "all");
    // The range contains the row of the other program alone.
    ensure!(is_misplaced(Road::by_key("Ulm").range("Strat"..).delete_all(tables).await), "delete_all");
    ensure!(Road::by_code(7).get(tables).await?.as_deref() == Some(&road("Strasse", 7)), "by its code");
    let taken = tables.insert(&road("Anger", 7)).await;
    ensure!(matches!(taken, Err(Error::UniqueViolation(_))), "{taken:?}");
    Ok(())
}

/// Street with a copy for each town, and rows that include what their keys fold.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Lanes")]
struct Lane {
    #[partition_key]
    #[row_key]
    id: u32,
    #[index(town, copy)]
    town: String,
    #[index(name, lowercase, include(name, length))]
    name: String,
    length: u32,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Lane)]
struct Named {
    name: String,
    length: u32,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Lane)]
struct Placed {
    town: String,
    length: u32,
}

fn lane(id: u32) -> Lane {
    Lane { id, town: "Ulm".into(), name: "Haupt".into(), length: 100 }
}

/// Moves the rows of an index to another partition.
async fn move_rows(store: &Store, table: &str, partition_key: &str) -> Result<()> {
    for row in store.rows(table).await? {
        store.write(table, (partition_key, &row.row_key), Action::Insert(row.properties)).await?;
    }
    Ok(())
}

async fn a_copy_under_the_key_of_another_value_is_an_error(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Lane>().await?;
    tables.insert(&lane(1)).await?;
    move_rows(store, "LanesByTown", "Bonn").await?;
    ensure!(Lane::by_town("Ulm").all(tables).await?.len() == 1);
    ensure!(is_misplaced(Lane::by_town("Bonn").all(tables).await), "a copy in Ulm, in the partition of Bonn");
    ensure!(is_misplaced(Lane::by_town("Bonn").select::<Placed>().all(tables).await), "the same, projected");
    ensure!(Lane::by_town("Ulm").select::<Placed>().all(tables).await?.len() == 1);
    let repaired = tables.repair::<Lane>().await?;
    ensure!(repaired.left.is_empty(), "{repaired:?}");
    ensure!(Lane::by_town("Bonn").all(tables).await?.is_empty());
    Ok(())
}

async fn an_index_row_that_includes_another_value_than_its_key_is_an_error(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Lane>().await?;
    tables.insert(&lane(1)).await?;
    move_rows(store, "LanesByName", "anger").await?;
    ensure!(Lane::by_name("HAUPT").select_unchecked::<Named>().all(tables).await?.len() == 1);
    ensure!(is_misplaced(Lane::by_name("Anger").select_unchecked::<Named>().all(tables).await), "`Haupt` at `anger`");
    // A query that reads the entity skips the row.
    ensure!(Lane::by_name("Anger").all(tables).await?.is_empty());
    let repaired = tables.repair::<Lane>().await?;
    ensure!(repaired.left.is_empty(), "{repaired:?}");
    Ok(())
}

/// Entity with a key of folded parts, which other parts and escapes surround.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Escaped")]
#[index(both, row(second(lowercase), third(first = 2, uppercase)), include(second, third), same_partition)]
struct Escaped {
    #[partition_key(hash = 8, lowercase)]
    #[row_key(lowercase)]
    first: String,
    #[row_key(uppercase)]
    second: String,
    #[row_key(first = 3)]
    third: String,
    #[row_key]
    id: u32,
    note: u32,
}

async fn keys_of_fields_with_escapes_are_those_of_their_fields(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Escaped>().await?;
    let texts =
        ["", "a", "A b", "Stra\u{df}e", "\u{130}x", "\u{3a3}\u{3c3}\u{3c2}", "a/b~%", "!x y!", "\u{1f600}Z\u{1f600}"];
    let texts = texts.iter().enumerate();
    let all: Vec<_> = texts
        .clone()
        .flat_map(|(at, one)| texts.clone().map(move |(other_at, other)| (at * 9 + other_at, one, other)))
        .map(|(id, one, other)| Escaped {
            first: (*one).to_owned(),
            second: (*other).to_owned(),
            third: [*other, *one].concat(),
            id: u32::try_from(id).expect("it is small"),
            note: 1,
        })
        .collect();
    tables.insert_all(&all).await?;
    for one in &all {
        let found = Escaped::key(&one.first, &one.second, &one.third, one.id).get(tables).await?;
        ensure!(found.as_deref() == Some(one), "{one:?}");
    }
    ensure!(tables.verify::<Escaped>().all().await?.is_empty());
    Ok(())
}
