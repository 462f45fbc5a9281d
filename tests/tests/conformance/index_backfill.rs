//! Indexes that are added to rows that were written without them.

use anyhow::Result;
use table_runtime::{Error, Finding, TableEntity};
use tests::stores::Store;

crate::conformance! {
    a_backfill_tells_of_a_value_with_two_owners
    a_repair_leaves_a_value_with_two_owners
    an_index_is_refused_once_it_is_recorded_as_building
}

/// As it was written before there was an index.
#[derive(TableEntity)]
#[table(name = "Members")]
struct Before {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    email: Option<String>,
}

#[derive(TableEntity, Debug, PartialEq)]
#[table(name = "Members")]
struct Member {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: Option<String>,
}

async fn insert_before(store: &Store, members: &[(&str, u32, &str)]) -> Result<()> {
    for (team, id, email) in members {
        let email = Some((*email).to_owned());
        store.tables.insert(&Before { team: (*team).to_owned(), id: *id, email }).await?;
    }
    Ok(())
}

/// The row keys of the entities that share a value with another one.
fn losers(findings: &[Finding]) -> Vec<&str> {
    let two_owners = findings.iter().filter(|finding| matches!(finding, Finding::TwoOwners { index: "email", .. }));
    two_owners.filter_map(Finding::entity).map(|entity| entity.row_key.as_str()).collect()
}

async fn a_backfill_tells_of_a_value_with_two_owners(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Before>().await?;
    // In one page and partition, and in another one.
    insert_before(store, &[("A", 1, "ada@x.org"), ("A", 2, "Ada@x.org"), ("A", 3, "c@x.org"), ("B", 4, "ADA@x.org")])
        .await?;
    tables.create::<Member>().await?;
    let filled = tables.backfill::<Member>("email").await?;
    assert_eq!((filled.entities, filled.written, losers(&filled.conflicts).len()), (4, 2, 2), "{filled:?}");
    let refused = Member::by_email("c@x.org").get(tables).await;
    assert!(matches!(&refused, Err(Error::IndexBuilding { index, .. }) if index == "email"), "{refused:?}");

    for entity in filled.conflicts.iter().filter_map(Finding::entity) {
        let team = &entity.partition_key;
        let id: u32 = entity.row_key.parse()?;
        let mut member = Member::key(team, id).get(tables).await?.expect("it is there");
        member.email = Some(format!("{id}@x.org"));
        tables.update(&mut member).await?;
    }
    let filled = tables.backfill::<Member>("email").await?;
    assert_eq!((filled.entities, filled.conflicts), (4, Vec::new()));
    assert!(Member::by_email("ada@x.org").exists(tables).await?);
    assert_eq!(tables.verify::<Member>().all().await?, []);
    Ok(())
}

async fn a_repair_leaves_a_value_with_two_owners(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    insert_before(store, &[("A", 1, "ada@x.org"), ("A", 2, "ADA@x.org")]).await?;
    let repaired = tables.repair::<Member>().await?;
    assert_eq!((repaired.fixed.len(), losers(&repaired.left).len()), (1, 1), "{repaired:?}");
    assert_eq!(tables.verify::<Member>().all().await?, repaired.left);
    Ok(())
}

async fn an_index_is_refused_once_it_is_recorded_as_building(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Before>().await?;
    insert_before(store, &[("A", 1, "ada@x.org")]).await?;
    // Nothing is recorded yet, so that nobody knows of the rows that are missing.
    let unknown = Member::by_email("ada@x.org").get(tables).await.expect_err("it is not recorded");
    assert!(matches!(&unknown, Error::IndexNotRecorded { table, index } if table == "Members" && index == "email"));
    assert!(unknown.to_string().contains("`create`"), "{unknown}");
    tables.create::<Member>().await?;
    assert!(matches!(Member::by_email("ada@x.org").get(tables).await, Err(Error::IndexBuilding { .. })));
    tables.backfill::<Member>("email").await?;
    assert!(Member::by_email("ada@x.org").exists(tables).await?);
    Ok(())
}
