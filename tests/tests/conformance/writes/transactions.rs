//! Entity group transactions.

use anyhow::Result;
use table_runtime::{
    Error, Stored, TableEntity,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
};
use tests::stores::Store;

use crate::fixtures::{Member, findings, member};

crate::conformance! {
    every_verb_in_one_request
    every_verb_takes_many_entities
    a_failed_transaction_writes_nothing
    entities_swap_unique_values
    a_deleted_entity_can_be_inserted_in_the_same_transaction
    two_entities_with_one_unique_value_are_refused
    several_entities_can_enter_one_list
    a_transaction_succeeds_despite_a_missing_index_row
    upserts_and_removals_move_index_rows
    an_invalid_transaction_is_not_sent
    a_transaction_has_at_most_a_hundred_operations
    limits_are_checked_before_entities_are_read
    a_write_id_proves_that_the_transaction_succeeded
    a_transaction_has_at_most_four_mebibytes
    an_entity_of_another_kind_is_not_overwritten
    remove_in_a_transaction_deletes_only_the_version_that_was_read
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes")]
struct Note {
    #[partition_key]
    book: String,
    #[row_key]
    row: String,
    count: u32,
}

fn note(book: &str, row: &str, count: u32) -> Note {
    Note { book: book.into(), row: row.into(), count }
}

async fn members(store: &Store, names: &[&str]) -> Result<Vec<Stored<Member>>> {
    store.tables.create::<Member>().await?;
    let mut members = Vec::new();
    for (id, name) in (1..).zip(names) {
        let member = member(id, name);
        let etag = store.tables.insert(&member).await?;
        members.push(Stored::new(member, etag));
    }
    Ok(members)
}

async fn check_indexes(store: &Store) -> Result<()> {
    assert_eq!(findings::<Member>(store).await?, []);
    Ok(())
}

async fn every_verb_in_one_request(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    for row in ["changed", "patched", "deleted", "removed", "replaced"] {
        tables.insert(&note("p", row, 1)).await?;
    }
    let mut changed = Note::key("p", "changed").get(tables).await?.expect("it was inserted");
    let deleted = Note::key("p", "deleted").get(tables).await?.expect("it was inserted");
    changed.count = 2;
    store.probe.requests();
    let etags = tables
        .transaction()
        .insert(&note("p", "inserted", 2))
        .upsert(&note("p", "replaced", 2))
        .update(&mut changed)
        .patch(Note::key("p", "patched"), |note| note.count.set(2))
        .delete(&deleted)
        .remove(Note::key("p", "removed"))
        .commit()
        .await?;
    assert_eq!(store.probe.requests(), 1);
    let written: Vec<_> = etags.iter().map(Option::is_some).collect();
    assert_eq!(written, [true, true, true, true, false, false]);
    assert_eq!(Some(Stored::etag(&changed)), etags[2].as_ref());
    let all = Note::by_key("p").all(tables).await?;
    let rows: Vec<_> = all.iter().map(|note| (note.row.as_str(), note.count)).collect();
    assert_eq!(rows, [("changed", 2), ("inserted", 2), ("patched", 2), ("replaced", 2)]);
    for (note, etag) in [(&all[1], &etags[0]), (&all[3], &etags[1]), (&all[2], &etags[3])] {
        assert_eq!(Some(Stored::etag(note)), etag.as_ref());
    }
    // The next update needs the new ETag.
    changed.count = 3;
    tables.update(&mut changed).await?;
    Ok(())
}

async fn every_verb_takes_many_entities(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    let notes = |rows: &[&str], count| rows.iter().map(|row| note("p", row, count)).collect::<Vec<_>>();
    tables.insert_all(notes(&["a", "b", "c", "d", "e"], 1)).await?;
    let mut read = Note::by_key("p").all(tables).await?;
    let (changed, others) = read.split_at_mut(2);
    for note in changed.iter_mut() {
        note.count = 2;
    }
    let new = notes(&["f", "g"], 3);
    store.probe.requests();
    let etags = tables
        .transaction()
        .update_all(&mut *changed)
        .insert_all(&new)
        .upsert_all(notes(&["c", "h"], 4))
        .remove_all([Note::key("p", "d")])
        .remove_all(&others[2..])
        .commit()
        .await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(etags.iter().map(Option::is_some).collect::<Vec<_>>(), [[true; 6].as_slice(), &[false; 2]].concat());
    assert_eq!(changed.iter().map(|note| Some(Stored::etag(note).clone())).collect::<Vec<_>>(), etags[..2]);
    let found = Note::by_key("p").all(tables).await?.into_iter().map(|note| (note.row.clone(), note.count));
    let expected = [("a", 2), ("b", 2), ("c", 4), ("f", 3), ("g", 3), ("h", 4)];
    assert!(found.eq(expected.map(|(row, count)| (row.to_owned(), count))));

    // All or nothing: one of them is there.
    let failed = tables.transaction().insert_all(notes(&["x", "a", "y"], 5)).commit().await;
    assert!(matches!(failed, Err(Error::AlreadyExists(row)) if row.row_key == "a"));
    assert!(tables.transaction().insert_all::<Note>(Vec::<Note>::new()).commit().await.is_err(), "no writes");
    assert_eq!(Note::by_key("p").count(tables).await?, 6);
    Ok(())
}

async fn a_failed_transaction_writes_nothing(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    tables.insert(&note("p", "there", 1)).await?;
    let mut stale = Note::key("p", "there").get(tables).await?.expect("it was inserted");
    tables.upsert(&note("p", "there", 2)).await?;

    // To await a transaction is to commit it.
    let failed = tables.transaction().insert(&note("p", "new", 1)).insert(&note("p", "there", 1)).commit().await;
    assert!(matches!(&failed, Err(Error::AlreadyExists(row)) if row.row_key == "there"), "{failed:?}");
    let before = Stored::etag(&stale).clone();
    stale.count = 5;
    let failed = tables.transaction().insert(&note("p", "new", 1)).update(&mut stale).commit().await;
    assert!(matches!(&failed, Err(Error::ConditionNotMet(row)) if row.row_key == "there"), "{failed:?}");
    assert_eq!(*Stored::etag(&stale), before);
    let missing = tables.transaction().insert(&note("p", "new", 1)).remove(Note::key("p", "missing")).commit().await;
    assert!(matches!(&missing, Err(Error::NotFound(row)) if row.row_key == "missing"), "{missing:?}");
    let rows = Note::by_key("p").all(tables).await?;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].count, 2);
    Ok(())
}

async fn entities_swap_unique_values(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let [mut alice, mut bob] = members(store, &["Alice", "Bob"]).await?.try_into().expect("two");
    alice.name = "bob".into();
    bob.name = "ALICE".into();
    tables.transaction().update(&mut alice).update(&mut bob).commit().await?;
    for (name, id) in [("alice", 2), ("bob", 1)] {
        let found = Member::by_name("chess").eq(name).get(tables).await?;
        assert_eq!(found.map(|member| member.id), Some(id));
    }
    check_indexes(store).await
}

async fn a_deleted_entity_can_be_inserted_in_the_same_transaction(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let [alice, bob] = members(store, &["Alice", "Bob"]).await?.try_into().expect("two");
    let again = Member { town: "Bonn".into(), ..member(1, "Alice") };
    // The name of a removed member goes to another one.
    let heir = member(3, "Bob");
    tables
        .transaction()
        .delete(&alice)
        .insert(&again)
        .remove(Member::key("chess", bob.id))
        .insert(&heir)
        .commit()
        .await?;
    assert_eq!(Member::by_name("chess").eq("alice").get(tables).await?.as_deref(), Some(&again));
    assert_eq!(Member::by_name("chess").eq("bob").get(tables).await?.as_deref(), Some(&heir));
    assert_eq!(Member::by_town("chess").eq("Ulm").count(tables).await?, 1);
    check_indexes(store).await
}

async fn two_entities_with_one_unique_value_are_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    members(store, &["Alice"]).await?;
    store.probe.requests();
    let twice = tables.transaction().insert(&member(2, "Bob")).insert(&member(3, "BOB")).commit().await;
    let Err(Error::UniqueViolation(violation)) = twice else { panic!("{twice:?}") };
    assert_eq!((violation.index, violation.value.as_str()), ("name", "bob"));
    assert_eq!(violation.owner.row_key, "id-0000000002");
    let taken = tables.transaction().insert(&member(2, "Bob")).insert(&member(3, "alice")).commit().await;
    let Err(Error::UniqueViolation(violation)) = taken else { panic!("{taken:?}") };
    assert_eq!(violation.owner.row_key, "id-0000000001");
    assert_eq!(Member::by_key("chess").count(tables).await?, 1);
    check_indexes(store).await
}

async fn several_entities_can_enter_one_list(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let [alice, mut bob] = members(store, &["Alice", "Bob"]).await?.try_into().expect("two");
    bob.town = "Bonn".into();
    tables
        .transaction()
        .insert(&member(3, "Carol"))
        .insert(&member(4, "Dan"))
        .delete(&alice)
        .update(&mut bob)
        .commit()
        .await?;
    let in_ulm = Member::by_town("chess").eq("Ulm").all(tables).await?;
    assert_eq!(in_ulm.iter().map(|member| member.id).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(Member::by_town("chess").eq("Bonn").count(tables).await?, 1);
    assert_eq!(Member::by_joined("chess").eq(2010).count(tables).await?, 3);
    check_indexes(store).await
}

async fn a_transaction_succeeds_despite_a_missing_index_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let [mut alice, mut bob] = members(store, &["Alice", "Bob"]).await?.try_into().expect("two");
    let action = Action::Delete(IfMatch::Any);
    let operations = vec![Operation { row_key: "name-alice".into(), action }];
    store.backend.execute_group(&Group { table: "Members".into(), partition_key: "chess".into(), operations }).await?;
    alice.name = "Bob".into();
    bob.name = "Alice".into();
    tables.transaction().update(&mut alice).update(&mut bob).commit().await?;
    check_indexes(store).await
}

async fn upserts_and_removals_move_index_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    members(store, &["Alice", "Bob"]).await?;
    let (alan, eve) = (member(1, "Alan"), member(5, "Alice"));
    tables.transaction().upsert(&alan).upsert(&eve).remove(Member::key("chess", 2)).commit().await?;
    let all = Member::by_name("chess").all(tables).await?;
    assert_eq!(all.iter().map(|member| member.id).collect::<Vec<_>>(), [1, 5]);
    let refused = tables.transaction().remove(Member::key("chess", 2)).commit().await;
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    check_indexes(store).await
}

async fn an_invalid_transaction_is_not_sent(store: &Store) -> Result<()> {
    let tables = &store.tables;
    members(store, &["Alice"]).await?;
    tables.create::<Note>().await?;
    store.probe.requests();
    let (one, other) = (note("p", "1", 1), note("q", "1", 1));
    let member = member(7, "Zoe");
    let too_long = note("p", &"x".repeat(513), 1);
    for (transaction, expected) in [
        (tables.transaction(), "the transaction has no writes; the limit is 1 to 100"),
        (tables.transaction().insert(&one).insert(&other), "one partition of one table"),
        (tables.transaction().insert(&one).insert(&member), "one partition of one table"),
        (tables.transaction().insert(&one).upsert(&one), "more than one operation on this row"),
        (tables.transaction().insert(&one).remove(Note::key("p", "1")), "more than one operation on this row"),
        (tables.transaction().insert(&one).insert(&too_long), "513 UTF-16 units"),
    ] {
        let error = transaction.commit().await.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_transaction_has_at_most_a_hundred_operations(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    let insert = |count: u32| {
        (0..count).fold(tables.transaction(), |transaction, n| transaction.insert(&note("p", &n.to_string(), 1)))
    };
    store.probe.requests();
    let error = insert(101).commit().await.expect_err("too many").to_string();
    assert_eq!(
        error,
        "Notes: the transaction has 101 operations of 101 entities; the limit is 100 operations, those on index rows \
         included"
    );
    assert_eq!(store.probe.requests(), 0);
    insert(100).commit().await?;
    assert_eq!(Note::by_key("p").count(tables).await?, 100);
    Ok(())
}

async fn limits_are_checked_before_entities_are_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let [alice] = members(store, &["Alice"]).await?.try_into().expect("one");
    store.probe.requests();
    let each = |count: u32| (0..count).map(|id| member(id, &format!("N{id}")));
    let too_much = |write: table_runtime::Result<_>, operations: &str| {
        let Err(Error::Limit(limit)) = write else { panic!("{write:?}") };
        assert_eq!(limit.found, operations);
    };
    // An upsert writes at least the entity and the copy. An insert writes every row, but a shared list only once.
    let upserts = each(51).fold(tables.transaction(), |all, member| all.upsert(&member));
    too_much(upserts.commit().await, "102 operations of 51 entities");
    let inserts = each(34).fold(tables.transaction(), |all, member| all.insert(&member));
    too_much(inserts.commit().await, "103 operations of 34 entities");
    let removals = (0..101).fold(tables.transaction(), |all, id| all.remove(Member::key("chess", id)));
    too_much(removals.commit().await, "101 operations of 101 entities");

    let (new, key) = (member(1, "Alan"), || Member::key("chess", 1));
    for twice in [
        tables.transaction().upsert(&new).upsert(&new),
        tables.transaction().insert(&new).remove(key()),
        tables.transaction().upsert(&new).remove(key()),
        tables.transaction().remove(key()).remove(key()),
        tables.transaction().remove(key()).upsert(&new),
        tables.transaction().remove(key()).insert(&new).remove(key()),
        tables.transaction().delete(&alice).remove(key()),
        tables.transaction().upsert(&member(7, "Zoe")).insert(&new).delete(&alice),
    ] {
        let Err(Error::Limit(limit)) = twice.commit().await else { panic!("it has two writes of one row") };
        assert_eq!(limit.found, "more than one operation on this row");
        assert_eq!(limit.row.as_ref().map(|row| row.row_key.as_str()), Some("id-0000000001"));
    }
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

/// Note with a write id.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", write_id)]
struct SignedNote {
    #[partition_key]
    book: String,
    #[row_key]
    row: String,
    count: u32,
}

async fn a_write_id_proves_that_the_transaction_succeeded(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    tables.insert(&note("p", "changed", 1)).await?;
    let mut changed = Note::key("p", "changed").get(tables).await?.expect("it was inserted");
    let before = Stored::etag(&changed).clone();
    changed.count = 2;
    let signed = |row: &str| SignedNote { book: "p".into(), row: row.into(), count: 1 };
    store.probe.apply_and_lose();
    let (new, last) = (note("p", "new", 1), signed("last"));
    let etags = tables.transaction().insert(&new).update(&mut changed).insert(&last).commit().await?;
    let last = SignedNote::key("p", "last").get(tables).await?.expect("it was written");
    // The other rows may have been written again since, so their ETags are unknown.
    assert_eq!(etags, [None, None, Some(Stored::etag(&last).clone())]);
    assert_eq!((Stored::etag(&changed), Note::by_key("p").count(tables).await?), (&before, 3));

    store.probe.lose();
    let unknown = tables.transaction().insert(&signed("lost")).insert(&note("p", "lost, too", 1)).commit().await;
    assert!(matches!(unknown, Err(Error::OutcomeUnknown(_))), "{unknown:?}");
    Ok(())
}

/// One of two kinds that may have the same key.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parties", kind)]
struct Person {
    #[partition_key]
    country: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parties", kind)]
struct Company {
    #[partition_key]
    country: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
}

async fn an_entity_of_another_kind_is_not_overwritten(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Person>().await?;
    tables.create::<Company>().await?;
    let (country, id) = ("de".to_owned(), 1);
    let company = Company { country: country.clone(), id, name: "ACME".into() };
    let person = Person { country: country.clone(), id, email: "a@b.c".into() };
    tables.insert(&company).await?;
    let exists = |result: table_runtime::Result<()>| {
        assert!(matches!(&result, Err(Error::AlreadyExists(row)) if row.row_key == "id-0000000001"), "{result:?}");
    };
    exists(tables.insert(&person).await.map(drop));
    exists(tables.upsert(&person).await.map(drop));
    assert_eq!(Person::by_email("a@b.c").get(tables).await?, None);
    assert_eq!(Company::key("de", 1).get(tables).await?.as_deref(), Some(&company));

    tables.remove(Company::key("de", 1)).await?;
    tables.insert(&person).await?;
    exists(tables.upsert(&company).await.map(drop));
    exists(tables.transaction().upsert(&company).commit().await.map(drop));
    let Err(Error::Bulk(error)) = tables.upsert_all([company.clone(), Company { id: 2, ..company }]).await else {
        panic!("one of them cannot be written")
    };
    assert_eq!((error.progress.written, error.failures[0].position), (1, 0));
    assert_eq!(Person::by_email("a@b.c").get(tables).await?.as_deref(), Some(&person));
    Ok(())
}

async fn remove_in_a_transaction_deletes_only_the_version_that_was_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    members(store, &[]).await?;
    store.probe.requests();
    let refused = tables.transaction().remove(Member::key("chess", 1)).insert(&member(2, "Bob")).commit().await;
    assert!(matches!(&refused, Err(Error::NotFound(row)) if row.row_key == "id-0000000001"), "{refused:?}");
    // The entity was read, and no write was sent that could change an entity inserted since.
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(Member::by_key("chess").count(tables).await?, 0);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Pages")]
struct Page {
    #[partition_key]
    book: String,
    #[row_key]
    number: u32,
    left: String,
    right: String,
}

/// Writes a hundred pages in a transaction; the last page has `more` bytes of text on its right side.
async fn print(store: &Store, more: usize) -> table_runtime::Result<()> {
    let page = |number: u32| {
        let right = if number == 99 { more } else { 20_840 };
        Page { book: "b".into(), number, left: "l".repeat(20_840), right: "r".repeat(right) }
    };
    let print = (0..100).fold(store.tables.transaction(), |print, number| print.upsert(&page(number)));
    print.commit().await.map(drop)
}

/// Returns by how many bytes the transaction was too large.
fn too_many(printed: table_runtime::Result<()>) -> usize {
    let Err(Error::Limit(limit)) = printed else { panic!("{printed:?}") };
    assert_eq!((limit.what.as_str(), limit.limit), ("the transaction's request has", "4194304 bytes"));
    let bytes = limit.found.trim_start_matches("at least ").trim_end_matches(" bytes");
    bytes.parse::<usize>().expect("a number") - 4_194_304
}

async fn a_transaction_has_at_most_four_mebibytes(store: &Store) -> Result<()> {
    store.tables.create::<Page>().await?;
    let mut fits = 32_000;
    while let Err(error) = print(store, fits).await {
        // The first check knows only a lower bound of the size.
        fits -= too_many(Err(error));
    }
    assert_eq!(Page::by_key("b").count(&store.tables).await?, 100);
    assert!(fits < 32_000);
    assert_eq!(too_many(print(store, fits + 1).await), 1);
    store.probe.requests();
    too_many(print(store, 32_700).await);
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}
