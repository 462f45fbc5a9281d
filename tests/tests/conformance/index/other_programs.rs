//! Other programs in an entity's tables: entities of another kind, rows that cannot be read, and programs that do not
//! know the index.

use std::time::Duration;

use anyhow::{Result, ensure};
use table_runtime::{
    Error, Guid, KeyPart, Projection, TableEntity, Tables,
    backend::{Action, BackendExt, IfMatch},
    jobs::Finding,
    row::{Properties, RowId, ValueRef},
    testing::{Fault, Faulty},
};
use tests::stores::Store;

use crate::fixtures::{failed, findings};

crate::conformance! {
    an_entity_of_another_kind_with_the_same_key_inherits_no_index_rows
    a_pending_insert_of_another_kind_makes_way
    an_unreadable_index_row_fails_only_writes_of_its_value
    verify_reports_an_entity_that_does_not_fit_the_struct
    a_table_of_an_index_that_was_deleted_has_no_rows_for_the_catalog
    rows_of_an_index_whose_keys_are_not_all_known_are_compared
    a_program_without_the_index_sees_no_pending_insert
    every_verb_of_a_program_without_the_index_passes_a_pending_insert
    a_look_at_a_pending_insert_that_fails_finds_no_entity
}

/// Another kind in the table, whose keys may equal those of a citizen.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parties", kind)]
struct Company {
    #[partition_key]
    district: String,
    #[row_key(prefix = "id-")]
    id: u32,
}

/// The same with an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parties", kind)]
struct Club {
    #[partition_key]
    district: String,
    #[row_key]
    id: u32,
    #[index(motto, same_partition)]
    motto: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parties", kind)]
struct Citizen {
    #[partition_key]
    district: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    #[index(alias, same_partition, unique)]
    alias: String,
    #[index(tag, same_partition)]
    #[index(tags, same_partition, list)]
    tag: String,
}

fn citizen(id: u32, email: &str, alias: &str) -> Citizen {
    Citizen { district: "d".into(), id, email: email.into(), alias: alias.into(), tag: "t".into() }
}

fn id(table: &str, partition_key: &str, row_key: &str) -> RowId {
    RowId { table: table.into(), partition_key: partition_key.into(), row_key: row_key.into() }
}

/// Returns the foreign rows of these findings, which have to be foreign rows only.
fn foreign(findings: &[Finding]) -> Vec<(Option<&str>, RowId)> {
    let foreign = findings.iter().map(|finding| match finding {
        Finding::Foreign { row, problem, .. } => {
            assert!(finding.to_string().contains(problem.as_str()) && finding.entity().is_none(), "{finding}");
            (finding.index(), row.clone())
        }
        other => panic!("{other}"),
    });
    foreign.collect()
}

async fn an_entity_of_another_kind_with_the_same_key_inherits_no_index_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Citizen>().await?;
    tables.create::<Company>().await?;
    for id in 1..=2 {
        tables.insert(&citizen(id, &format!("{id}@x.org"), &format!("Al {id}"))).await?;
    }
    // A deletion crashed after its commit and left its index rows. Another kind then used the entity's key.
    for id in 1..=2 {
        store.write("Parties", ("d", &format!("id-000000000{id}")), Action::Delete(IfMatch::Any)).await?;
        tables.insert(&Company { district: "d".into(), id }).await?;
    }
    // The values are free.
    tables.insert(&citizen(3, "1@x.org", "Al 1")).await?;
    assert_eq!(Citizen::by_email("1@x.org").get(tables).await?.as_deref(), Some(&citizen(3, "1@x.org", "Al 1")));
    // A repair leaves nothing.
    assert!(tables.repair::<Citizen>().await?.left.is_empty());
    assert_eq!(findings::<Citizen>(store).await?, []);
    assert!(store.backend.get("PartiesByEmail", "2@x.org", "", None).await?.is_none());
    assert_eq!(Company::by_key("d").count(tables).await?, 2);
    Ok(())
}

async fn a_pending_insert_of_another_kind_makes_way(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Citizen>().await?;
    tables.create::<Club>().await?;
    // An insert of a citizen crashed. Readers see none.
    let pending = async || {
        let mut properties = Properties::default();
        properties.push("EntityType", ValueRef::String("Citizen"));
        properties.push("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
        store.write("Parties", ("d", "id-0000000001"), Action::Upsert(properties)).await
    };
    let club = || Club { district: "d".into(), id: 1, motto: "m".into() };
    for verb in ["upsert", "merge", "insert", "transaction"] {
        pending().await?;
        let written = match verb {
            "upsert" => tables.upsert(&club()).await.map(drop),
            "merge" => tables.merge(&club()).await.map(drop),
            "insert" => tables.insert(&club()).await.map(drop),
            _ => tables.transaction().upsert(&club()).commit().await.map(drop),
        };
        ensure!(written.is_ok(), "{verb}: {written:?}");
        assert_eq!(Club::by_key("d").count(tables).await?, 1, "{verb}");
        assert_eq!(Club::by_motto("d").count(tables).await?, 1, "{verb}");
    }
    Ok(())
}

async fn an_unreadable_index_row_fails_only_writes_of_its_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Citizen>().await?;
    tables.insert(&citizen(1, "a@x.org", "Al")).await?;
    // Another program deletes an index row and writes others that hold no pointer.
    store.write("Parties", ("d", "tag-t 0000000001"), Action::Delete(IfMatch::Any)).await?;
    let nonsense = [
        (Some("email"), id("PartiesByEmail", "z@x.org", "")),
        (Some("alias"), id("Parties", "d", "alias-Zoe")),
        (Some("tag"), id("Parties", "d", "tag-t")),
        (Some("tags"), id("Parties", "d", "tags-z")),
    ];
    for (_, row) in &nonsense {
        let mut properties = Properties::default();
        properties.push("Nonsense", ValueRef::Boolean(true));
        store.write(&row.table, (&row.partition_key, &row.row_key), Action::Insert(properties)).await?;
    }
    let found = findings::<Citizen>(store).await?;
    // The rows that exist are compared first.
    let (missing, rest) = found.split_last().expect("there are findings");
    assert!(matches!(missing, Finding::MissingRow { index, .. } if index == "tag"), "{missing}");
    assert_eq!(foreign(rest), nonsense);
    let repaired = tables.repair::<Citizen>().side_by_side(1).await?;
    assert_eq!((repaired.fixed.as_slice(), repaired.left.as_slice()), (std::slice::from_ref(missing), rest));
    assert_eq!(findings::<Citizen>(store).await?, rest);

    // A write that needs the key of such a row gets an error that names it. Other writes succeed.
    let (_, row) = &nonsense[0];
    let error = tables.insert(&citizen(2, "z@x.org", "Bo")).await.unwrap_err();
    assert!(matches!(&error, Error::Property(error) if error.row == *row), "{error}");
    tables.insert(&citizen(2, "b@x.org", "Bo")).await?;
    assert_eq!(Citizen::by_email("b@x.org").get(tables).await?.as_deref(), Some(&citizen(2, "b@x.org", "Bo")));
    Ok(())
}

async fn verify_reports_an_entity_that_does_not_fit_the_struct(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Citizen>().await?;
    for (number, alias) in [(1, "Al"), (2, "Bo")] {
        tables.insert(&citizen(number, &format!("{alias}@x.org"), alias)).await?;
    }
    let mut damage = Properties::default();
    damage.push("Email", ValueRef::Boolean(true));
    store.write("Parties", ("d", "id-0000000001"), Action::Merge(damage, IfMatch::Any)).await?;
    store.write("PartiesByEmail", ("bo@x.org", ""), Action::Delete(IfMatch::Any)).await?;

    // The index rows of the damaged entity are not reported: nothing proves that they are wrong.
    let found = findings::<Citizen>(store).await?;
    assert_eq!(foreign(&found[..1]), [(None, id("Parties", "d", "id-0000000001"))]);
    assert!(matches!(&found[1..], [Finding::MissingRow { index, .. }] if index == "email"), "{found:?}");
    let before = store.rows("Parties").await?.len();
    let repaired = tables.repair::<Citizen>().side_by_side(1).await?;
    assert_eq!((repaired.fixed.as_slice(), repaired.left.as_slice()), (&found[1..], &found[..1]));
    assert_eq!(store.rows("Parties").await?.len(), before);
    assert_eq!(store.rows("PartiesByEmail").await?.len(), 2);
    Ok(())
}

/// User with a unique address.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    note: String,
}

/// The same user as declared by a program that does not know the index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users", entity = "User")]
struct PlainUser {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
    email: String,
    note: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = PlainUser)]
struct Address {
    email: String,
}

/// Writes the pending insert that a crash of a program with the index leaves.
async fn leave_pending(store: &Store, id: u32) -> Result<()> {
    let mut properties = Properties::default();
    properties.push("Email", ValueRef::String("a@x.org"));
    properties.push("Note", ValueRef::String(""));
    properties.push("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
    Ok(store.write("Users", ("a", &format!("{id:010}")), Action::Insert(properties)).await?)
}

async fn a_table_of_an_index_that_was_deleted_has_no_rows_for_the_catalog(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Citizen>().await?;
    tables.insert(&citizen(1, "a@x.org", "Ada")).await?;
    store.backend.delete_table("PartiesByEmail").await?;
    let found = tables.inventory().await?.verify(tables, None).await?.findings;
    let [Finding::MissingRow { index, row, .. }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&**index, &*row.table), ("email", "PartiesByEmail"));
    Ok(())
}

/// Serde writes its variants by names of their own.
#[derive(KeyPart, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Rank {
    #[serde(rename = "c")]
    Captain,
}

/// Entity with an index whose keys follow from the catalog only without ranks.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sailors")]
struct Sailor {
    #[partition_key]
    ship: String,
    #[row_key]
    id: u32,
    #[index(rank, each, same_partition)]
    #[property(json)]
    ranks: Vec<Rank>,
}

async fn rows_of_an_index_whose_keys_are_not_all_known_are_compared(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Sailor>().await?;
    let sailor = |id, ranks| Sailor { ship: "s".into(), id, ranks };
    tables.insert_all([sailor(1, vec![Rank::Captain]), sailor(2, vec![])]).await?;
    let verified = tables.inventory().await?.verify(tables, None).await?;
    // Its row is read, and may be right.
    assert_eq!((verified.entities, verified.index_rows), (2, 1));
    assert!(verified.findings.is_empty() && verified.partly.contains("Sailor.rank"), "{verified:?}");
    // A sample may read the row before any entity.
    for seed in 0..4 {
        let verified = tables.inventory().await?.verify(tables, None).sample(1).seed(seed).await?;
        assert!(verified.findings.is_empty(), "{verified:?}");
    }
    Ok(())
}

async fn a_program_without_the_index_sees_no_pending_insert(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<User>().await?;
    leave_pending(store, 1).await?;

    let key = || PlainUser::key("a", 1);
    assert_eq!(key().get(tables).await?, None);
    assert!(!key().exists(tables).await?);
    assert_eq!(key().select::<Address>().get(tables).await?, None);
    assert!(PlainUser::by_key("a").all(tables).await?.is_empty());
    assert_eq!(PlainUser::by_key("a").select::<Address>().all(tables).await?, []);
    assert_eq!(PlainUser::by_key("a").count(tables).await?, 0);
    assert_eq!(PlainUser::by_key("a").filter(|user| user.note.eq("")).count(tables).await?, 0);
    // The pending row does not prevent an insert.
    let user = PlainUser { group: "a".into(), id: 1, email: "b@x.org".into(), note: "new".into() };
    tables.insert(&user).await?;
    assert_eq!(key().get(tables).await?.as_deref(), Some(&user));
    assert!(matches!(tables.insert(&user).await, Err(Error::AlreadyExists(_))));
    Ok(())
}

async fn every_verb_of_a_program_without_the_index_passes_a_pending_insert(store: &Store) -> Result<()> {
    // All programs of a store have one length of leases, and this one does not wait long.
    let lease = Duration::from_millis(50);
    store.again().with_lease(lease).create::<User>().await?;
    // The catalog tells the handle that another program has an index.
    let tables = &store.again().with_lease(lease);
    tables.create::<PlainUser>().demote_missing_indexes().await?;
    let user = |id| PlainUser { group: "a".into(), id, email: "b@x.org".into(), note: "new".into() };
    let is_stored = async |id| Ok::<_, Error>(PlainUser::key("a", id).get(tables).await?.as_deref() == Some(&user(id)));

    leave_pending(store, 1).await?;
    tables.transaction().insert(&user(1)).commit().await?;
    assert!(is_stored(1).await?);
    let again = tables.transaction().insert(&user(1)).commit().await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");

    // One alone, and one among entities that exist and that do not.
    leave_pending(store, 2).await?;
    tables.insert_all([user(2)]).await?;
    leave_pending(store, 3).await?;
    let error = failed(tables.insert_all((1..5).map(user)).await);
    assert_eq!(error.failures.iter().map(|failure| failure.position).collect::<Vec<_>>(), [0, 1], "{error}");
    for id in 1..5 {
        assert!(is_stored(id).await?, "{id}");
    }

    // Nobody sees such a row, so a removal finds none.
    leave_pending(store, 5).await?;
    assert!(!tables.remove(PlainUser::key("a", 5)).await?);
    assert!(tables.remove(PlainUser::key("a", 4)).await?);
    let removed = tables.remove_all([3, 5].map(|id| PlainUser::key("a", id))).await?;
    assert_eq!((removed.written, removed.missing), (1, 1));
    let missing = tables.transaction().remove(PlainUser::key("a", 5)).commit().await;
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
    // The same for a program that knows the index.
    let missing = store.again().remove(User::key("a", 5)).await?;
    assert!(!missing);
    tables.upsert(&user(5)).await?;
    assert!(is_stored(5).await?);
    Ok(())
}

/// Each request of a bulk insert fails once while pending inserts are in its way. No entity exists, so nobody is told so, and
/// a failure concerns its own row alone.
async fn a_look_at_a_pending_insert_that_fails_finds_no_entity(store: &Store) -> Result<()> {
    store.tables.create::<PlainUser>().await?;
    let (backend, faults) = Faulty::new(store.backend.clone());
    let tables = Tables::new(backend);
    let ids = [1, 2, 3];
    for n in 0.. {
        for id in ids {
            store.tables.remove(PlainUser::key("a", id)).await?;
            leave_pending(store, id).await?;
        }
        let user = |id| PlainUser { group: "a".into(), id, email: "b@x.org".into(), note: "new".into() };
        faults.arm(Fault::Refused, n);
        let written = tables.insert_all(ids.map(user)).await;
        let hit = faults.hit();
        faults.disarm();
        match written {
            Ok(written) => ensure!(written.written == ids.len(), "{written:?}"),
            Err(Error::Bulk(error)) => {
                let is_refused = |error: &Error| matches!(error, Error::NoAnswer { .. });
                ensure!(error.failures.iter().all(|failure| is_refused(&failure.error)), "{n}, {hit:?}: {error:?}");
            }
            Err(error) => return Err(error.into()),
        }
        if hit.is_none() {
            ensure!(n > 4, "it looks at the rows");
            break;
        }
    }
    Ok(())
}
