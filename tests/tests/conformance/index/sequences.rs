//! Sequences of writes without crashes and races, after each of which every index agrees with its entities.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use anyhow::{Context, Result};
use table_runtime::{Error, Stored, TableEntity, Tables};
use tests::stores::Store;

use crate::fixtures::{failed, findings};

crate::conformance! {
    a_transaction_cannot_take_a_value_that_its_owner_keeps
    a_bulk_write_fails_the_entity_that_wants_a_taken_value
    writes_keep_the_index_row_of_another_entity_while_an_index_is_built
    two_owners_of_one_index_row_can_be_removed_together
}

/// Member with a unique index of each content.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
struct Member {
    #[partition_key]
    club: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[index(mail, same_partition, unique, include(note))]
    mail: String,
    #[index(badge, same_partition, unique, copy)]
    badge: u32,
    note: String,
}

/// The same member as declared before it had indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", entity = "Member")]
struct OldMember {
    #[partition_key]
    club: String,
    #[row_key(prefix = "id-")]
    id: u32,
    name: String,
    mail: String,
    badge: u32,
    note: String,
}

fn member(id: u32) -> Member {
    let (name, mail, note) = (format!("Name {id}"), format!("{id}@x.org"), "old".to_owned());
    Member { club: "chess".into(), id, name, mail, badge: 100 + id, note }
}

fn noted(member: &Member) -> Member {
    Member { note: "new".into(), ..member.clone() }
}

/// Returns member 2 with the value of member 1 in each index in turn.
fn rivals() -> [(&'static str, Member); 3] {
    let (one, two) = (member(1), member(2));
    [
        ("name", Member { name: one.name.to_uppercase(), ..two.clone() }),
        ("mail", Member { mail: one.mail, ..two.clone() }),
        ("badge", Member { badge: one.badge, ..two }),
    ]
}

async fn read(tables: &Tables, id: u32) -> Result<Stored<Member>> {
    Member::key("chess", id).get(tables).await?.with_context(|| format!("there is no member {id}"))
}

/// Checks that each index leads to exactly these members.
async fn check_indexes(store: &Store, members: &[Member]) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(findings::<Member>(store).await?, []);
    let all = Member::by_key("chess").all(tables).await?;
    assert_eq!(all.iter().map(|member| &**member).collect::<Vec<_>>(), members.iter().collect::<Vec<_>>());
    for member in members {
        let found = Member::by_name("chess").eq(&member.name).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
        let found = Member::by_mail("chess").eq(&member.mail).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
        let found = Member::by_badge("chess").eq(member.badge).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
    }
    Ok(())
}

/// Checks that member 2 could not get the value of member 1.
fn check_violation(error: &Error, index: &str) {
    let Error::UniqueViolation(violation) = error else { panic!("{index}: {error}") };
    assert_eq!((violation.index, violation.entity.row_key.as_str()), (index, "id-0000000002"));
    assert_eq!(violation.owner.row_key, "id-0000000001");
}

async fn a_transaction_cannot_take_a_value_that_its_owner_keeps(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    tables.insert(&member(1)).await?;
    for (index, rival) in rivals() {
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        let refused = tables.transaction().update(&mut one).insert(&rival).commit().await;
        check_violation(&refused.expect_err(index), index);
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        let refused = tables.transaction().insert(&rival).update(&mut one).commit().await;
        check_violation(&refused.expect_err(index), index);
        let refused = tables.transaction().upsert(&noted(&member(1))).upsert(&rival).commit().await;
        check_violation(&refused.expect_err(index), index);
        check_indexes(store, &[member(1)]).await?;
    }
    tables.insert(&member(2)).await?;
    for (index, rival) in rivals() {
        let (mut one, mut two) = (read(tables, 1).await?, read(tables, 2).await?);
        (one.note, *two) = ("new".into(), rival);
        let refused = tables.transaction().update(&mut one).update(&mut two).commit().await;
        check_violation(&refused.expect_err(index), index);
        check_indexes(store, &[member(1), member(2)]).await?;
    }
    Ok(())
}

async fn a_bulk_write_fails_the_entity_that_wants_a_taken_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    for (index, rival) in rivals() {
        for is_first in [true, false] {
            tables.upsert(&member(1)).await?;
            let changed = noted(&member(1));
            let input = if is_first { [changed.clone(), rival.clone()] } else { [rival.clone(), changed.clone()] };
            let error = failed(tables.upsert_all(input).await);
            let [failure] = &*error.failures else { panic!("{index}: {error:?}") };
            assert_eq!(failure.position, usize::from(is_first));
            check_violation(&failure.error, index);
            check_indexes(store, &[changed]).await?;
        }
    }
    Ok(())
}

/// Inserts member 1 without index rows, and then member 2 with one of its values.
async fn insert_two_owners(store: &Store, rival: &Member) -> Result<()> {
    store.tables.create::<OldMember>().await?;
    let Member { club, id, name, mail, badge, note } = member(1);
    store.tables.insert(&OldMember { club, id, name, mail, badge, note }).await?;
    store.tables.create::<Member>().await?;
    store.tables.insert(rival).await?;
    Ok(())
}

/// Builds the indexes, checks them, and deletes all tables.
async fn check_built_indexes(store: &Store, members: &[Member]) -> Result<()> {
    for index in ["name", "mail", "badge"] {
        let filled = store.tables.backfill::<Member>(index).await?;
        assert!(filled.ready && filled.conflicts.is_empty(), "{index}: {filled:?}");
    }
    check_indexes(store, members).await?;
    store.clean().await?;
    Ok(())
}

async fn writes_keep_the_index_row_of_another_entity_while_an_index_is_built(store: &Store) -> Result<()> {
    let tables = &store.again();
    let renamed = Member { id: 1, ..member(7) };
    for (_, rival) in rivals() {
        insert_two_owners(store, &rival).await?;
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        tables.update(&mut one).await?;
        *one = renamed.clone();
        tables.update(&mut one).await?;
        check_built_indexes(store, &[renamed.clone(), rival.clone()]).await?;

        insert_two_owners(store, &rival).await?;
        tables.upsert(&noted(&member(1))).await?;
        tables.upsert(&renamed).await?;
        check_built_indexes(store, &[renamed.clone(), rival.clone()]).await?;

        insert_two_owners(store, &rival).await?;
        tables.upsert_all([noted(&member(1)), noted(&rival)]).await?;
        tables.transaction().upsert(&renamed).upsert(&noted(&rival)).commit().await?;
        check_built_indexes(store, &[renamed.clone(), noted(&rival)]).await?;

        insert_two_owners(store, &rival).await?;
        tables.delete(read(tables, 1).await?).await?;
        check_built_indexes(store, std::slice::from_ref(&rival)).await?;

        insert_two_owners(store, &rival).await?;
        let two = read(tables, 2).await?;
        tables.transaction().remove(Member::key("chess", 1)).delete(&two).insert(&noted(&rival)).commit().await?;
        check_built_indexes(store, &[noted(&rival)]).await?;
    }
    Ok(())
}

async fn two_owners_of_one_index_row_can_be_removed_together(store: &Store) -> Result<()> {
    for (index, rival) in rivals() {
        insert_two_owners(store, &rival).await?;
        let filled = store.tables.backfill::<Member>(index).await?;
        assert!(!filled.ready && filled.conflicts.len() == 1, "{filled:?}");
        let removed = store.tables.remove_all([1, 2].map(|id| Member::key("chess", id))).await?;
        assert_eq!(removed.written, 2);
        check_built_indexes(store, &[]).await?;
    }
    Ok(())
}
