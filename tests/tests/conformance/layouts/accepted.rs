//! What `create`, `backfill`, `migrate` and `drop_moved` accept, when a struct, a table or its rows have changed.

use std::{
    future::IntoFuture,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::join;
use table_runtime::{
    Error, KeyPart, Projection, Property, TableEntity, Tables,
    backend::{Action, BackendExt, IfMatch},
    row::{Properties, ValueRef},
};
use tests::stores::{Kind, Store};

use crate::fixtures::findings;

crate::conformance! {
    an_index_in_another_table_or_scope_is_refused
    slices_that_are_added_or_removed_are_refused
    an_entity_that_is_recorded_in_another_table_is_refused
    a_changed_kind_of_a_struct_is_refused
    a_key_field_that_was_a_property_is_refused
    a_required_property_that_the_first_row_lacks_is_refused
    a_property_that_a_program_leaves_out_may_be_absent
    a_backfill_deletes_rows_that_no_entity_has
    a_copy_without_a_property_is_compared_as_it_is_read
    a_migration_refuses_a_place_that_is_not_empty
    a_table_with_rows_of_others_is_not_dropped
    an_index_whose_table_was_deleted_has_to_be_built
    an_index_whose_table_is_older_than_all_records_has_to_be_built
    a_property_of_a_key_field_is_accepted
    a_backfill_of_new_times_waits_for_programs_without_them
    a_deleted_table_is_noticed_for_each_entity_and_by_a_refused_program
    entities_can_be_moved_back_and_to_another_key_of_their_table
    a_changed_default_of_an_indexed_property_is_refused
    a_program_without_a_built_index_is_refused_when_its_lease_is_renewed
    a_record_that_cannot_be_read_frees_no_place
    an_index_of_a_newer_version_keeps_its_place
    slices_of_a_newer_version_keep_their_place
    a_part_of_a_newer_version_is_refused_and_keeps_its_partition
    the_partition_of_a_newer_version_is_no_part_of_others
}

/// A number whose default is another one.
macro_rules! number {
    ($($name:ident $default:literal)*) => {$(
        #[derive(Property, KeyPart, Clone, Copy, Debug, PartialEq)]
        struct $name(u32);

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }
    )*};
}

number! { Five 5 Seven 7 }

/// Declares versions of a struct.
macro_rules! versions {
    ($($name:ident: $item:ident [$($table:tt)*] $(#[$attribute:meta])* { $($(#[$meta:meta])* $field:ident: $type:ty),* })*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table($($table)*)]
            $(#[$attribute])*
            pub(super) struct $item {
                $($(#[$meta])* pub(super) $field: $type,)*
            }
        }
    )*};
}

versions! {
    user: User [name = "Users"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    keyed: User [name = "Users"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] #[property] id: u32, name: String
    }
    lasting: Badge [name = "Badges"] #[index(name, same_partition)] {
        #[partition_key] team: String, #[row_key] id: u32, name: String, until: Option<SystemTime>
    }
    expiring: Badge [name = "Badges", expires = until] #[index(name, same_partition)] {
        #[partition_key] team: String, #[row_key] id: u32, name: String, until: Option<SystemTime>
    }
    note: Note [name = "Users"] { #[partition_key] team: String, #[row_key(prefix = "note-")] number: u32 }
    unique: User [name = "Users"] #[index(name, unique)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    unique_logins: User [name = "Users"] #[index(name, unique, table = "Logins")] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    unique_here: User [name = "Users"] #[index(name, unique, same_table)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    unique_beside: User [name = "Users"] #[index(name, unique, same_partition)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    copied: User [name = "Users"] #[index(name, copy)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    copied_beside: User [name = "Users"] #[index(name, copy, same_partition)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    copied_with_default: User [name = "Users"] #[index(name, copy)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String, #[property(default)] rank: Five
    }
    in_people: User [name = "People"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    another_in_people: User [name = "People", entity = "Person"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    lower_case: User [name = "users"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String
    }
    of_kind: User [name = "Kinds", kind] { #[partition_key] team: String, #[row_key] id: u32, name: String }
    of_other_kind: User [name = "Kinds", kind = "Person"] {
        #[partition_key] team: String, #[row_key] id: u32, name: String
    }
    beside_kind: Person [name = "Kinds", kind] { #[partition_key] team: String, #[row_key] id: u32, name: String }
    by_login: User [name = "Users"] {
        #[partition_key] login: String, #[row_key(prefix = "id-")] id: u32, team: String, name: String
    }
    ranked: User [name = "Users"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String, rank: u32
    }
    maybe_ranked: User [name = "Users"] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String, rank: Option<u32>
    }
    five: User [name = "Users"] #[index(rank)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String, #[property(default)] rank: Five
    }
    seven: User [name = "Users"] #[index(rank)] {
        #[partition_key] team: String, #[row_key(prefix = "id-")] id: u32, name: String, #[property(default)] rank: Seven
    }
    sliced: Line [name = "Lines", slice = month(at)] {
        #[partition_key] source: String, #[row_key(time)] at: time::OffsetDateTime
    }
    unsliced: Line [name = "Lines"] { #[partition_key] source: String, #[row_key(time)] at: time::OffsetDateTime }
    reversed: User [name = "Users"] {
        #[partition_key] team: String, #[row_key(reverse)] id: u32, #[index(name, unique, table = "Names")] name: String
    }
    shop: Shop [name = "Shops"] #[index(name, unique, table = "Names", prefix = "shop-")] {
        #[partition_key] #[row_key] id: u32, name: String
    }
    brand: Brand [name = "Brands"] #[index(name, unique, table = "Names", prefix = "brand-")] {
        #[partition_key] #[row_key] id: u32, name: String
    }
    kiosk: Kiosk [name = "Kiosks"] #[index(name, unique, table = "Names", prefix = "shop-")] {
        #[partition_key] #[row_key] id: u32, name: String
    }
    board: Board [name = "Users", partition = "board"] { #[row_key(prefix = "id-")] id: u32, name: String }
    shop_without: Shop [name = "Shops"] { #[partition_key] #[row_key] id: u32, name: String }
    meanwhile: User [name = "Meanwhile"] { #[partition_key] #[row_key] id: u32, team: String, name: String }
}

fn user(id: u32) -> user::User {
    user::User { team: "a".into(), id, name: format!("name {id}") }
}

/// A program whose leases are short.
fn program(store: &Store) -> Tables {
    store.again().with_lease(Duration::from_millis(100))
}

/// Checks that a program with the entity is refused, with these words in the error, and that nothing was recorded.
async fn is_refused<E: TableEntity>(store: &Store, layout: &str, words: &[&str]) -> Result<()> {
    let before = store.rows("TableLayouts").await?;
    let name = std::any::type_name::<E>();
    let Err(Error::LayoutChanged(error)) = store.again().create::<E>().await else { panic!("{name} is accepted") };
    let text = error.to_string();
    assert_eq!(error.layout, layout, "{name}: {text}");
    for words in words {
        ensure!(text.contains(words), "{name}: no `{words}` in: {text}");
    }
    assert_eq!(store.rows("TableLayouts").await?, before, "{name}");
    Ok(())
}

async fn an_index_in_another_table_or_scope_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<unique::User>().await?;
    let ada = unique::User { team: "a".into(), id: 1, name: "Ada".into() };
    store.tables.insert(&ada).await?;
    is_refused::<unique_logins::User>(store, "name", &["Logins", "another name"]).await?;
    is_refused::<unique_here::User>(store, "name", &["the table", "Users"]).await?;
    is_refused::<unique_beside::User>(store, "name", &["the entity's partition"]).await?;
    let taken = store.tables.insert(&unique::User { id: 2, ..ada }).await;
    ensure!(matches!(taken, Err(Error::UniqueViolation(_))), "{taken:?}");
    Ok(())
}

async fn slices_that_are_added_or_removed_are_refused(store: &Store) -> Result<()> {
    let at = time::OffsetDateTime::UNIX_EPOCH;
    store.tables.create::<sliced::Line>().await?;
    store.tables.insert(&sliced::Line { source: "a".into(), at }).await?;
    is_refused::<unsliced::Line>(store, "key", &["slice", "migrate"]).await?;
    for table in store.backend.list_tables("Lines").await? {
        store.backend.delete_table(&table).await?;
    }
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    // No row is left.
    store.again().create::<unsliced::Line>().await?;
    store.again().insert(&unsliced::Line { source: "a".into(), at }).await?;
    is_refused::<sliced::Line>(store, "key", &["slice", "migrate"]).await
}

async fn an_entity_that_is_recorded_in_another_table_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<user::User>().await?;
    store.tables.insert(&user(1)).await?;
    is_refused::<in_people::User>(store, "key", &["users", "People", "migrate", "entity = "]).await?;
    store.again().create::<another_in_people::User>().await?;
    // The service ignores the case of the names of tables.
    let lower = store.again();
    lower.create::<lower_case::User>().await?;
    // Azurite creates no second table, and reads only the first name.
    if !store.kind.is_azurite() {
        ensure!(lower_case::User::key("a", 1).exists(&lower).await?);
    }
    if store.kind != Kind::Live {
        // Where the rows are gone, the entity may begin elsewhere.
        store.backend.delete_table("Users").await?;
        store.backend.delete_table("People").await?;
        store.again().create::<in_people::User>().await?;
    }
    Ok(())
}

async fn a_changed_kind_of_a_struct_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<of_kind::User>().await?;
    store.tables.insert(&of_kind::User { team: "a".into(), id: 1, name: "Ada".into() }).await?;
    is_refused::<of_other_kind::User>(store, "key", &["User", "Person", "migrate", "another name"]).await?;
    store.again().create::<beside_kind::Person>().await?;
    Ok(())
}

async fn a_key_field_that_was_a_property_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<by_login::User>().await?;
    let (login, team, name) = ("ada".into(), "a".into(), "Ada".into());
    store.tables.insert(&by_login::User { login, id: 1, team, name }).await?;
    is_refused::<user::User>(store, "key", &["login", "team"]).await
}

async fn a_required_property_that_the_first_row_lacks_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<user::User>().await?;
    // There is no row that cannot be read.
    let ranked = store.again();
    ranked.create::<ranked::User>().await?;
    store.tables.insert(&user(1)).await?;
    is_refused::<ranked::User>(store, "properties", &["`Rank`", "id-0000000001", "Option", "default", "rename"])
        .await?;
    store.again().create::<maybe_ranked::User>().await?;
    store.again().create::<user::User>().await?;
    store.tables.remove(user::User::key("a", 1)).await?;
    store.again().create::<ranked::User>().await?;
    Ok(())
}

async fn a_property_that_a_program_leaves_out_may_be_absent(store: &Store) -> Result<()> {
    let ranked = |id| ranked::User { team: "a".into(), id, name: "Ada".into(), rank: 1 };
    store.tables.create::<ranked::User>().await?;
    store.tables.insert(&ranked(2)).await?;
    // A program that begins again reads no row: all programs write the property.
    store.tables.create::<ranked::User>().await?;
    let before = store.probe.requests();
    store.tables.create::<ranked::User>().await?;
    ensure!(before > 0 && store.probe.requests() == 3);
    let without = store.again();
    without.create::<user::User>().await?;
    store.again().create::<ranked::User>().await?;
    without.insert(&user(1)).await?;
    is_refused::<ranked::User>(store, "properties", &["`Rank`", "id-0000000001"]).await
}

/// Writes entities, takes the index back, deletes one and changes another without it, and builds it again.
macro_rules! rebuilt {
    ($store:ident, $version:ident) => {{
        let tables = program($store);
        tables.create::<$version::User>().await?;
        for id in 1..=3 {
            let user::User { team, id, name } = user(id);
            tables.insert(&$version::User { team, id, name }).await?;
        }
        let old = program($store);
        old.create::<user::User>().demote_missing_indexes().await?;
        old.remove(user::User::key("a", 1)).await?;
        old.modify(user::User::key("a", 2), |user| user.name = "changed".into()).await?;
        let again = program($store);
        again.create::<$version::User>().await?;
        assert!(again.backfill::<$version::User>("name").await?.ready);
        assert_eq!(findings::<$version::User>($store).await?, []);
        again
    }};
}

async fn a_backfill_deletes_rows_that_no_entity_has(store: &Store) -> Result<()> {
    let tables = rebuilt!(store, copied);
    for (name, id) in [("name 1", None), ("name 2", None), ("changed", Some(2)), ("name 3", Some(3))] {
        let found = copied::User::by_name(name).all(&tables).await?;
        assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), Vec::from_iter(id), "{name}");
    }
    for name in ["UsersByName", "Users", "TableLayouts"] {
        store.backend.delete_table(name).await?;
    }
    if store.kind == Kind::Live {
        return Ok(());
    }
    let tables = rebuilt!(store, copied_beside);
    for (name, id) in [("name 1", None), ("name 2", None), ("changed", Some(2)), ("name 3", Some(3))] {
        let found = copied_beside::User::by_name("a").eq(name).all(&tables).await?;
        assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), Vec::from_iter(id), "{name}");
    }
    Ok(())
}

async fn a_copy_without_a_property_is_compared_as_it_is_read(store: &Store) -> Result<()> {
    store.tables.create::<copied::User>().await?;
    let user::User { team, id, name } = user(1);
    store.tables.insert(&copied::User { team, id, name }).await?;
    store.again().create::<copied_with_default::User>().await?;
    let rows = (store.rows("Users").await?, store.rows("UsersByName").await?);
    assert_eq!(findings::<copied_with_default::User>(store).await?, []);
    assert_eq!(store.again().repair::<copied_with_default::User>().await?.fixed, []);
    assert_eq!((store.rows("Users").await?, store.rows("UsersByName").await?), rows);
    // Another content is still found.
    let mut changed = Properties::default();
    changed.push("Rank", ValueRef::Int64(9));
    let [copy] = &store.rows("UsersByName").await?[..] else { panic!("one copy") };
    store.write("UsersByName", (&copy.partition_key, &copy.row_key), Action::Merge(changed, IfMatch::Any)).await?;
    assert_eq!(findings::<copied_with_default::User>(store).await?.len(), 1);
    Ok(())
}

async fn a_migration_refuses_a_place_that_is_not_empty(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<user::User>().await?;
    tables.insert(&user(1)).await?;
    // A program without records has rows there.
    store.backend.create_table("Meanwhile").await?;
    store.write("Meanwhile", ("0000000009", "0000000009"), Action::Insert(Properties::default())).await?;
    let convert = |user: user::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    let Err(Error::Query(error)) = tables.migrate_with(convert).await else { panic!("the place has a row") };
    ensure!(error.problem.contains("not empty") && error.problem.contains("0000000009"), "{error}");
    assert_eq!(store.rows("Meanwhile").await?.len(), 1);
    // The old place is in use as before.
    tables.insert(&user(2)).await?;
    let delete = Action::Delete(IfMatch::Any);
    store.write("Meanwhile", ("0000000009", "0000000009"), delete).await?;
    assert_eq!(tables.migrate_with(convert).await?.entities, 2);
    Ok(())
}

async fn a_table_with_rows_of_others_is_not_dropped(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<user::User>().await?;
    tables.insert(&user(1)).await?;
    let convert = |user: user::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    tables.migrate_with(convert).await?;
    // A program without records has a row in the old table.
    store.write("Users", ("a", "note"), Action::Insert(Properties::default())).await?;
    let dropped = tables.drop_moved::<user::User>().await?;
    assert_eq!((dropped.rows, dropped.tables.len()), (1, 0));
    let left = store.rows("Users").await?;
    assert_eq!(left.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["note"]);
    // Others may use the place now, and a second call deletes nothing of them.
    store.write("Users", ("a", "id-0000000007"), Action::Insert(Properties::default())).await?;
    assert_eq!(tables.drop_moved::<user::User>().await?, table_runtime::migrate::DroppedEntity::default());
    assert_eq!(store.rows("Users").await?.len(), 2);
    Ok(())
}

async fn an_index_whose_table_was_deleted_has_to_be_built(store: &Store) -> Result<()> {
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    let copied = |id| copied::User { team: "a".into(), id, name: format!("name {id}") };
    store.tables.create::<copied::User>().await?;
    store.tables.insert_all([copied(1), copied(2)]).await?;
    for (deleted, left) in [("UsersByName", vec![1, 2]), ("Users", vec![])] {
        store.backend.delete_table(deleted).await?;
        let tables = program(store);
        tables.create::<copied::User>().await?;
        let refused = copied::User::by_name("name 1").all(&tables).await;
        ensure!(matches!(refused, Err(Error::IndexBuilding { .. })), "{deleted}: {refused:?}");
        assert!(tables.backfill::<copied::User>("name").await?.ready);
        for id in [1, 2] {
            let found = copied::User::by_name(&format!("name {id}")).all(&tables).await?;
            assert_eq!(found.len(), usize::from(left.contains(&id)), "{deleted}");
        }
        assert_eq!(findings::<copied::User>(store).await?, []);
    }
    // Without entities, there is nothing to build.
    store.backend.delete_table("UsersByName").await?;
    let tables = program(store);
    tables.create::<copied::User>().await?;
    assert_eq!(copied::User::by_name("name 1").all(&tables).await?.len(), 0);
    Ok(())
}

/// A restore that has left out some tables.
async fn an_index_whose_table_is_older_than_all_records_has_to_be_built(store: &Store) -> Result<()> {
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    for lost in [&["Users", "TableLayouts"][..], &["TableLayouts"]] {
        let tables = program(store);
        tables.create::<copied::User>().await?;
        tables.insert(&copied::User { team: "a".into(), id: 1, name: "Ada".into() }).await?;
        for table in lost {
            store.backend.delete_table(table).await?;
        }
        let tables = program(store);
        tables.create::<copied::User>().await?;
        let refused = copied::User::by_name("Ada").all(&tables).await;
        ensure!(matches!(refused, Err(Error::IndexBuilding { .. })), "{lost:?}: {refused:?}");
        assert!(tables.backfill::<copied::User>("name").await?.ready);
        let left = usize::from(lost.len() == 1);
        assert_eq!(copied::User::by_name("Ada").all(&tables).await?.len(), left, "{lost:?}");
        assert_eq!(findings::<copied::User>(store).await?, []);
        store.clean().await?;
    }
    // Another program has made the tables, and not recorded the entity yet.
    for table in ["Users", "UsersByName"] {
        store.backend.create_table(table).await?;
    }
    let tables = program(store);
    tables.create::<copied::User>().await?;
    assert_eq!(copied::User::by_name("Ada").all(&tables).await?.len(), 0);
    Ok(())
}

async fn a_property_of_a_key_field_is_accepted(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<user::User>().await?;
    let user = user::User { team: "a".into(), id: 1, name: "Ada".into() };
    tables.insert(&user).await?;
    let tables = program(store);
    tables.create::<keyed::User>().await?;
    let mut stored = keyed::User::key("a", 1).get(&tables).await?.context("it was inserted")?;
    assert_eq!((stored.id, &*stored.name), (1, "Ada"));
    // A filter compares the property, which a row gets with its next write.
    let filtered = || keyed::User::by_key("a").filter(|user| user.id.eq(1)).count(&tables);
    assert_eq!(filtered().await?, 0);
    stored.name = "Alan".into();
    tables.update(&mut stored).await?;
    assert_eq!(filtered().await?, 1);
    assert_eq!(keyed::User::by_key("a").count(&program(store)).await?, 1);
    Ok(())
}

/// A program that knows the index, and not that entities expire, writes until its lease ends.
async fn a_backfill_of_new_times_waits_for_programs_without_them(store: &Store) -> Result<()> {
    #[derive(Projection, Debug, PartialEq)]
    #[projection(of = expiring::Badge)]
    struct Id {
        id: u32,
    }

    let lease = if store.kind.is_service() { Duration::from_secs(4) } else { Duration::from_secs(1) };
    let older = store.again().with_lease(lease);
    older.create::<lasting::Badge>().await?;
    older.insert(&lasting::Badge { team: "a".into(), id: 1, name: "Ada".into(), until: None }).await?;
    let mut badge = lasting::Badge::key("a", 1).get(&older).await?.context("it was inserted")?;
    let newer = store.again().with_lease(lease);
    newer.create::<expiring::Badge>().await?;
    let begun = Instant::now();
    let write = async {
        tokio::time::sleep(lease / 10).await;
        badge.until = Some(SystemTime::UNIX_EPOCH);
        older.update(&mut badge).await
    };
    let (filled, written) = join(newer.backfill::<expiring::Badge>("name").into_future(), write).await;
    ensure!(filled?.ready, "nothing is in its way");
    written.context("its lease has not ended")?;
    ensure!(begun.elapsed() >= lease, "it waits for the older program");
    let found = expiring::Badge::by_name("a").eq("Ada").select::<Id>().all(&newer).await?;
    assert_eq!(found, [], "it has expired");
    assert_eq!(newer.verify::<expiring::Badge>().all().await?, []);
    // Again, there is nobody to wait for.
    let begun = Instant::now();
    ensure!(newer.backfill::<expiring::Badge>("name").await?.ready, "it was ready before");
    ensure!(begun.elapsed() < lease, "{:?}", begun.elapsed());
    Ok(())
}

async fn a_deleted_table_is_noticed_for_each_entity_and_by_a_refused_program(store: &Store) -> Result<()> {
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    let tables = program(store);
    tables.create::<shop::Shop>().and::<brand::Brand>().await?;
    tables.insert(&shop::Shop { id: 1, name: "Ada".into() }).await?;
    tables.insert(&brand::Brand { id: 1, name: "Ada".into() }).await?;
    store.backend.delete_table("Names").await?;
    let tables = program(store);
    tables.create::<shop::Shop>().and::<brand::Brand>().await?;
    let (shop, brand) =
        (shop::Shop::by_name("Ada").get(&tables).await, brand::Brand::by_name("Ada").get(&tables).await);
    ensure!(matches!(shop, Err(Error::IndexBuilding { .. })), "{shop:?}");
    ensure!(matches!(brand, Err(Error::IndexBuilding { .. })), "{brand:?}");
    assert!(tables.backfill::<shop::Shop>("name").await?.ready);
    assert!(tables.backfill::<brand::Brand>("name").await?.ready);
    assert_eq!(brand::Brand::by_name("Ada").get(&tables).await?.map(|brand| brand.id), Some(1));

    // A program that is refused has made the entities' table anew.
    store.backend.delete_table("Shops").await?;
    let refused = store.again().create::<shop_without::Shop>().await;
    ensure!(matches!(refused, Err(Error::IndexMissing(_))), "{refused:?}");
    let tables = program(store);
    tables.create::<shop::Shop>().await?;
    let shop = shop::Shop::by_name("Ada").get(&tables).await;
    ensure!(matches!(shop, Err(Error::IndexBuilding { .. })), "{shop:?}");
    Ok(())
}

async fn entities_can_be_moved_back_and_to_another_key_of_their_table(store: &Store) -> Result<()> {
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    let tables = program(store);
    tables.create::<user::User>().await?;
    tables.insert_all([user(1), user(2)]).await?;
    let stopped = program(store);
    stopped.create::<user::User>().await?;
    let away = |user: user::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    let back = |user: meanwhile::User| reversed::User { id: user.id, team: user.team, name: user.name };
    tables.migrate_with(away).await?;
    let Err(Error::Query(error)) = tables.migrate_with(back).await else { panic!("the old rows are there") };
    ensure!(error.problem.contains("drop_moved"), "{error}");
    tables.drop_moved::<user::User>().await?;
    assert_eq!(tables.migrate_with(back).await?.entities, 2);
    tables.drop_moved::<meanwhile::User>().await?;
    let moved = store.again();
    moved.create::<reversed::User>().await?;
    assert_eq!(reversed::User::by_name("name 2").get(&moved).await?.map(|user| user.id), Some(2));
    assert_eq!(findings::<reversed::User>(store).await?, []);
    // The programs of the former keys stay refused.
    tokio::time::sleep(Duration::from_millis(110)).await;
    let late = stopped.insert(&user(3)).await;
    ensure!(matches!(late, Err(Error::EntityMoved { .. })), "{late:?}");
    is_refused::<user::User>(store, "key", &["reverse"]).await?;
    // And once more to where they were.
    let return_to = |user: reversed::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    assert_eq!(tables.migrate_with(return_to).await?.entities, 2);
    Ok(())
}

async fn a_changed_default_of_an_indexed_property_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<user::User>().await?;
    store.tables.insert(&user(1)).await?;
    let tables = program(store);
    tables.create::<five::User>().await?;
    assert!(tables.backfill::<five::User>("rank").await?.ready);
    assert_eq!(five::User::by_rank(Five(5)).all(&tables).await?.len(), 1);
    is_refused::<seven::User>(store, "rank", &["`Rank`", "5", "7", "drop_index"]).await?;
    // The next step that the message names.
    tables.drop_index::<user::User>("rank").await?;
    let tables = program(store);
    tables.create::<seven::User>().await?;
    assert!(tables.backfill::<seven::User>("rank").await?.ready);
    assert_eq!(seven::User::by_rank(Seven(7)).all(&tables).await?.len(), 1);
    assert_eq!(findings::<seven::User>(store).await?, []);
    Ok(())
}

async fn a_program_without_a_built_index_is_refused_when_its_lease_is_renewed(store: &Store) -> Result<()> {
    let old = program(store);
    old.create::<user::User>().await?;
    old.insert(&user(1)).await?;
    let mut read = user::User::key("a", 1).get(&old).await?.expect("the user");
    let new = program(store);
    new.create::<unique::User>().await?;
    // Until the index is built, both write.
    old.insert(&user(2)).await?;
    assert!(new.backfill::<unique::User>("name").await?.ready);
    tokio::time::sleep(Duration::from_millis(110)).await;
    for refused in [
        old.insert(&user(3)).await.map(drop),
        old.update(&mut read).await.map(drop),
        old.upsert(&user(2)).await.map(drop),
        old.remove(user::User::key("a", 1)).await.map(drop),
        old.transaction().insert(&user(3)).commit().await.map(drop),
    ] {
        ensure!(matches!(&refused, Err(Error::IndexMissing(error)) if error.index == "name"), "{refused:?}");
    }
    let bulk = old.insert_all([user(3)]).await;
    ensure!(
        matches!(&bulk, Err(Error::Bulk(error)) if error.failures.iter().all(|failure| matches!(*failure.error, Error::IndexMissing(_)))),
        "{bulk:?}"
    );
    assert_eq!(findings::<unique::User>(store).await?, []);
    // An emergency rollback begins again, and takes the index back.
    let old = program(store);
    old.create::<user::User>().demote_missing_indexes().await?;
    old.insert(&user(3)).await?;
    Ok(())
}

/// Changes the text of a recorded layout.
async fn record(store: &Store, row_key: &str, change: impl Fn(&str) -> String) -> Result<()> {
    let rows = store.rows("TableLayouts").await?;
    let row = rows.iter().find(|row| row.row_key == row_key).context("the record")?;
    let Some(ValueRef::String(layout)) = row.properties.get("Layout") else { bail!("{row:?}") };
    let changed = change(layout);
    let mut properties = Properties::default();
    properties.push("Layout", ValueRef::String(&changed));
    Ok(store.write("TableLayouts", ("layouts", row_key), Action::Merge(properties, IfMatch::Any)).await?)
}

async fn a_record_that_cannot_be_read_frees_no_place(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<user::User>().await?;
    tables.insert(&user(1)).await?;
    // An entity that shares the table has no row.
    tables.create::<note::Note>().await?;
    record(store, "users users User key", |layout| format!("{layout}}}")).await?;
    is_refused::<user::User>(store, "key", &[]).await?;
    record(store, "users users User key", |layout| layout.trim_end_matches('}').to_owned() + "}").await?;

    record(store, "users users Note key", |_| "{".to_owned()).await?;
    let convert = |user: user::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    assert_eq!(program(store).migrate_with(convert).await?.entities, 1);
    let dropped = program(store).drop_moved::<user::User>().await?;
    assert_eq!((dropped.rows, dropped.tables.len()), (1, 0), "the notes are in this table");
    Ok(())
}

async fn an_index_of_a_newer_version_keeps_its_place(store: &Store) -> Result<()> {
    store.tables.create::<shop::Shop>().await?;
    record(store, "names shops Shop name", |layout| layout.replace("Pointer", "Elements")).await?;
    let refused = store.again().create::<kiosk::Kiosk>().await;
    ensure!(matches!(&refused, Err(Error::RowsCollide(error)) if error.entity == "Shop"), "{refused:?}");
    store.again().create::<brand::Brand>().await?;
    Ok(())
}

async fn slices_of_a_newer_version_keep_their_place(store: &Store) -> Result<()> {
    store.tables.create::<sliced::Line>().await?;
    store.tables.insert(&sliced::Line { source: "a".into(), at: time::OffsetDateTime::UNIX_EPOCH }).await?;
    record(store, "lines lines Line key", |layout| layout.replace("\"month\"", "\"hour\"")).await?;
    is_refused::<sliced::Line>(store, "key", &["newer version"]).await?;
    record(store, "lines lines Line key", |_| "{".to_owned()).await?;
    is_refused::<sliced::Line>(store, "key", &["damaged"]).await
}

async fn a_part_of_a_newer_version_is_refused_and_keeps_its_partition(store: &Store) -> Result<()> {
    store.tables.create::<user::User>().await?;
    record(store, "users users User key", |layout| layout.replace("\"kind\"", "\"collation\":\"de\",\"kind\"")).await?;
    is_refused::<user::User>(store, "key", &["newer version"]).await?;
    let inventory = store.again().inventory().await?;
    ensure!(inventory.entities[0].primary().is_some(), "{inventory:?}");
    Ok(())
}

async fn the_partition_of_a_newer_version_is_no_part_of_others(store: &Store) -> Result<()> {
    let tables = program(store);
    tables.create::<user::User>().and::<board::Board>().await?;
    tables.insert(&user(1)).await?;
    tables.insert(&board::Board { id: 2, name: "notes".into() }).await?;
    record(store, "users users Board key", |layout| layout.replace("\"kind\"", "\"collation\":\"de\",\"kind\""))
        .await?;
    let convert = |user: user::User| meanwhile::User { id: user.id, team: user.team, name: user.name };
    assert_eq!(program(store).migrate_with(convert).await?.entities, 1, "the board has keys of the same shape");
    assert_eq!(program(store).drop_moved::<user::User>().await?.rows, 1);
    let left = store.rows("Users").await?;
    assert_eq!(left.iter().map(|row| &*row.partition_key).collect::<Vec<_>>(), ["board"]);
    Ok(())
}
