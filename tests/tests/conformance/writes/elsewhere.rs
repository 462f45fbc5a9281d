//! Transactions of entities that have index rows in other partitions.

use anyhow::Result;
use table_runtime::{
    EntityGroup, Error, Guid, Stored, TableEntity, Tables, Transaction,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
    error::UniqueViolationError,
    row::ValueRef,
};
use tests::stores::Store;

use crate::fixtures::findings;

crate::conformance! {
    every_verb_is_committed_at_once
    a_failed_commit_leaves_nothing_in_other_partitions
    a_stored_entity_is_current_after_a_failed_commit
    a_unique_value_does_not_pass_between_members
    the_value_of_an_outdated_member_is_no_violation
    a_deleted_entity_is_replaced_by_one_of_its_type
    a_claim_that_was_left_with_a_member_is_taken_over
    limits_are_checked_before_index_rows_are_written
    a_transaction_makes_way_for_itself
    a_group_changes_with_its_index_rows
    a_group_is_deleted_with_its_index_rows
    an_entity_of_another_type_takes_the_place_of_one_with_copies
    a_row_in_the_way_of_a_new_member_ends_the_change
}

/// A user of a site, whose e-mail address is unique on all sites.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", kind)]
struct User {
    #[partition_key]
    site: u32,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    city: String,
    logins: u32,
}

/// A token of a user, found by its code alone.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", kind)]
struct Token {
    #[partition_key]
    site: u32,
    #[row_key]
    user: u32,
    #[row_key]
    number: u32,
    #[index(code, unique)]
    code: String,
    #[index(purpose, copy)]
    purpose: String,
}

/// An entity under the keys of tokens, without an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", kind)]
struct Used {
    #[partition_key]
    site: u32,
    #[row_key]
    user: u32,
    #[row_key]
    number: u32,
}

/// A note about a user, without an index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", kind)]
struct Remark {
    #[partition_key]
    site: u32,
    #[row_key(prefix = "remark-")]
    id: u32,
    text: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Account {
    User(User),
    Token(Stored<Token>),
    Used(Used),
}

fn user(id: u32) -> User {
    User { site: 1, id, email: format!("U{id}@x.org"), city: "Ulm".into(), logins: 0 }
}

fn token(user: u32, number: u32) -> Token {
    Token { site: 1, user, number, code: format!("c{user}{number}"), purpose: "activate".into() }
}

fn remark(id: u32) -> Remark {
    Remark { site: 1, id, text: "new".into() }
}

async fn create(store: &Store) -> Result<&Tables> {
    store.tables.create::<User>().and::<Token>().and::<Remark>().await?;
    Ok(&store.tables)
}

async fn stored_user(tables: &Tables, id: u32) -> Result<Stored<User>> {
    Ok(User::key(1, id).get(tables).await?.expect("it was inserted"))
}

async fn is_sound(store: &Store) -> Result<()> {
    assert_eq!(findings::<User>(store).await?, []);
    assert_eq!(findings::<Token>(store).await?, []);
    Ok(())
}

fn violation<T: std::fmt::Debug>(result: table_runtime::Result<T>) -> UniqueViolationError {
    match result {
        Err(Error::UniqueViolation(violation)) => *violation,
        other => panic!("{other:?}"),
    }
}

async fn every_verb_is_committed_at_once(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    let (first, second, code, note) = (user(1), user(2), token(1, 1), remark(1));
    let etags = tables.transaction().insert(&first).insert(&code).insert(&second).insert(&note).commit().await?;
    assert!(etags.iter().all(Option::is_some), "{etags:?}");
    assert_eq!(User::by_email("u1@x.org").get(tables).await?.as_deref(), Some(&first));
    assert_eq!(Token::by_code("c11").get(tables).await?.as_deref(), Some(&code));
    assert_eq!(Token::by_purpose("activate").all(tables).await?.len(), 1);
    is_sound(store).await?;

    let (mut first, stored_code) = (stored_user(tables, 1).await?, Token::key(1, 1, 1).get(tables).await?);
    first.email = "other@x.org".into();
    let (third, merged, upserted) = (user(3), User { email: "merged@x.org".into(), ..user(2) }, token(3, 1));
    let etags = tables
        .transaction()
        .update(&mut first)
        .delete(stored_code.expect("it was inserted"))
        .merge(&merged)
        .upsert(&third)
        .upsert(&upserted)
        .patch(Remark::key(1, 1), |remark| remark.text.set("patched"))
        .commit()
        .await?;
    assert_eq!(etags.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true, true, true, true]);
    assert_eq!(Some(Stored::etag(&first)), etags[0].as_ref());
    for (email, id) in [("other@x.org", Some(1)), ("merged@x.org", Some(2)), ("u3@x.org", Some(3)), ("u1@x.org", None)]
    {
        assert_eq!(User::by_email(email).get(tables).await?.map(|user| user.id), id, "{email}");
    }
    assert!(!Token::by_code("c11").exists(tables).await?);
    assert_eq!(Remark::key(1, 1).get(tables).await?.map(|remark| remark.text.clone()).as_deref(), Some("patched"));
    is_sound(store).await?;

    // The new ETag is that of the commit.
    first.logins = 1;
    tables.update(&mut first).await?;
    tables.transaction().remove(User::key(1, 3)).remove(Token::key(1, 3, 1)).remove(Remark::key(1, 1)).commit().await?;
    assert_eq!(User::by_key(1).count(tables).await?, 2);
    is_sound(store).await
}

async fn a_failed_commit_leaves_nothing_in_other_partitions(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.insert(&user(1)).await?;
    let before = store.rows("Accounts").await?;
    let taken = User { email: "U1@X.org".into(), ..user(2) };
    let violation =
        violation(tables.transaction().insert(&token(2, 1)).insert(&taken).insert(&remark(1)).commit().await);
    assert_eq!((violation.index, violation.value.as_str()), ("email", "u1@x.org"));
    assert_eq!((violation.entity.row_key.as_str(), violation.owner.row_key.as_str()), ("0000000002", "0000000001"));

    let exists = tables.transaction().insert(&token(2, 1)).insert(&user(1)).commit().await;
    assert!(matches!(&exists, Err(Error::AlreadyExists(row)) if row.row_key == "0000000001"), "{exists:?}");
    let missing = tables.transaction().insert(&user(2)).remove(Remark::key(1, 7)).commit().await;
    assert!(matches!(&missing, Err(Error::NotFound(row)) if row.row_key == "remark-0000000007"), "{missing:?}");
    tables.insert(&remark(1)).await?;
    let exists = tables.transaction().insert(&user(2)).insert(&remark(1)).commit().await;
    assert!(matches!(&exists, Err(Error::AlreadyExists(row)) if row.row_key == "remark-0000000001"), "{exists:?}");
    tables.remove(Remark::key(1, 1)).await?;

    assert_eq!(store.rows("Accounts").await?, before);
    assert_eq!(store.rows("AccountsByCode").await?, []);
    is_sound(store).await
}

async fn a_stored_entity_is_current_after_a_failed_commit(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    for id in 1..=3 {
        tables.insert(&user(id)).await?;
    }
    let (mut first, mut second) = (stored_user(tables, 1).await?, stored_user(tables, 2).await?);
    (first.email, second.email) = ("free@x.org".into(), "u3@x.org".into());
    violation(tables.transaction().update(&mut first).update(&mut second).commit().await);
    assert_eq!(*stored_user(tables, 1).await?, user(1));
    // A fence of the roll back gave the row another version, which the caller has.
    second.email = "too@x.org".into();
    tables.transaction().update(&mut first).update(&mut second).commit().await?;
    assert!(User::by_email("free@x.org").exists(tables).await? && User::by_email("too@x.org").exists(tables).await?);

    // Another writer was faster at one of them.
    tables.modify(User::key(1, 2), |user| user.logins = 7).await?;
    (first.email, second.email) = ("third@x.org".into(), "fourth@x.org".into());
    let lost = tables.transaction().update(&mut first).update(&mut second).insert(&token(1, 1)).commit().await;
    assert!(matches!(&lost, Err(Error::ConditionNotMet(row)) if row.row_key == "0000000002"), "{lost:?}");
    tables.update(&mut first).await?;
    is_sound(store).await
}

async fn a_unique_value_does_not_pass_between_members(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    for id in [1, 2] {
        tables.insert(&user(id)).await?;
    }
    let (mut first, mut second) = (stored_user(tables, 1).await?, stored_user(tables, 2).await?);
    let (etags, rows) = ([&first, &second].map(|user| Stored::etag(user).clone()), store.rows("Accounts").await?);
    first.email = "free@x.org".into();
    let heir = User { email: "U1@x.org".into(), ..user(3) };
    let mut named = Vec::new();
    let mut note = |violation: UniqueViolationError| named.push((violation.entity.row_key, violation.owner.row_key));
    // Two want it; it passes to one that is inserted, or is updated; its owner is deleted; two swap.
    let twins = [User { email: "new@x.org".into(), ..user(4) }, User { email: "NEW@x.org".into(), ..user(5) }];
    note(violation(tables.transaction().insert(&twins[0]).insert(&twins[1]).commit().await));
    note(violation(tables.transaction().update(&mut first).insert(&heir).commit().await));
    note(violation(tables.transaction().insert(&heir).update(&mut first).commit().await));
    note(violation(tables.transaction().remove(User::key(1, 1)).insert(&heir).commit().await));
    (first.email, second.email) = ("u2@x.org".into(), "u1@x.org".into());
    note(violation(tables.transaction().update(&mut first).update(&mut second).commit().await));
    let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(|id| format!("{id:010}"));
    assert_eq!(
        named,
        [(&five, &four), (&three, &one), (&three, &one), (&three, &one), (&one, &two)]
            .map(|(a, b)| (a.clone(), b.clone()))
    );
    // Nothing was written.
    assert_eq!([&first, &second].map(|user| Stored::etag(user).clone()), etags);
    assert_eq!(store.rows("Accounts").await?, rows);
    is_sound(store).await
}

async fn the_value_of_an_outdated_member_is_no_violation(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.insert(&user(1)).await?;
    let mut outdated = stored_user(tables, 1).await?;
    tables.modify(User::key(1, 1), |user| user.email = "moved@x.org".into()).await?;
    outdated.email = "free@x.org".into();
    // It has not had the value any more.
    let heir = User { email: "u1@x.org".into(), ..user(2) };
    let lost = tables.transaction().update(&mut outdated).insert(&heir).commit().await;
    assert!(matches!(&lost, Err(Error::ConditionNotMet(row)) if row.row_key == "0000000001"), "{lost:?}");
    tables
        .transaction()
        .patch(Remark::key(1, 1), |remark| remark.text.set("x"))
        .insert(&heir)
        .commit()
        .await
        .expect_err("no remark");
    tables.transaction().insert(&heir).insert(&token(2, 1)).commit().await?;
    is_sound(store).await
}

async fn a_deleted_entity_is_replaced_by_one_of_its_type(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).commit().await?;
    let stored = stored_user(tables, 1).await?;
    // It keeps its own value, or gets another one.
    let again = User { city: "Bonn".into(), ..user(1) };
    let other_code = Token { code: "new".into(), ..token(1, 1) };
    let etags = tables
        .transaction()
        .delete(&stored)
        .insert(&again)
        .remove(Token::key(1, 1, 1))
        .insert(&other_code)
        .commit()
        .await?;
    assert_eq!(etags.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(User::by_email("u1@x.org").get(tables).await?.as_deref(), Some(&again));
    assert_eq!(Token::by_code("new").get(tables).await?.as_deref(), Some(&other_code));
    assert!(!Token::by_code("c11").exists(tables).await?);
    assert_eq!(etags[1].as_ref(), Some(Stored::etag(&stored_user(tables, 1).await?)));
    is_sound(store).await?;

    // An entity of another type has a claim that no reader of this type knows.
    let namesake = Alias { site: 1, id: 1, name: "one".into() };
    tables.create::<Alias>().await?;
    let refused = tables.transaction().remove(User::key(1, 1)).insert(&namesake).commit().await;
    let Err(Error::Limit(limit)) = &refused else { panic!("{refused:?}") };
    assert_eq!(
        (limit.found.as_str(), limit.row.as_ref().map(|row| row.row_key.as_str())),
        ("more than one operation on this row", Some("0000000001"))
    );
    assert_eq!(*stored_user(tables, 1).await?, again);
    Ok(())
}

/// An entity under the keys of users.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", kind)]
struct Alias {
    #[partition_key]
    site: u32,
    #[row_key]
    id: u32,
    #[index(name, unique)]
    name: String,
}

async fn a_claim_that_was_left_with_a_member_is_taken_over(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    for id in [1, 2] {
        tables.insert(&user(id)).await?;
    }
    // A writer crashed after it had claimed the value for the first user.
    let claims = store.rows("AccountsByEmail").await?;
    let claim = claims.iter().find(|row| row.partition_key == "u1@x.org").expect("a claim");
    let plant = |email: &str| Group {
        table: "AccountsByEmail".into(),
        partition_key: email.to_owned(),
        operations: vec![Operation {
            row_key: claim.row_key.clone(),
            action: Action::Upsert(claim.properties.clone()),
        }],
    };
    for verb in 0..3 {
        let email = format!("left{verb}@x.org");
        store.backend.execute_group(&plant(&email)).await?;
        let (mut first, heir) = (stored_user(tables, 1).await?, User { email: email.clone(), ..user(10 + verb) });
        let transaction = tables.transaction().insert(&heir);
        match verb {
            0 => {
                first.logins = 5;
                transaction.update(&mut first).commit().await?;
                tables.update(&mut first).await?
            }
            1 => {
                first.email = "moved@x.org".into();
                let etags = transaction.update(&mut first).commit().await?;
                etags[1].clone().expect("an update")
            }
            _ => {
                transaction.delete(&first).commit().await?;
                Stored::etag(&first).clone()
            }
        };
        assert_eq!(User::by_email(&email).get(tables).await?.as_deref(), Some(&heir), "{verb}");
        is_sound(store).await?;
    }
    assert!(!User::by_email("u1@x.org").exists(tables).await?);
    Ok(())
}

async fn limits_are_checked_before_index_rows_are_written(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    let users: Vec<_> = (0..101).map(user).collect();
    store.probe.requests();
    let error = users.iter().fold(tables.transaction(), Transaction::insert).commit().await;
    let Err(Error::Limit(limit)) = error else { panic!("{error:?}") };
    assert_eq!(limit.found, "101 operations of 101 entities");
    let twice = tables.transaction().insert(&user(1)).insert(&token(1, 1)).upsert(&user(1)).commit().await;
    assert!(matches!(twice, Err(Error::Limit(_))), "{twice:?}");
    let long = Token { code: "c".repeat(600), ..token(1, 1) };
    let long = tables.transaction().insert(&user(1)).insert(&long).commit().await;
    assert!(matches!(long, Err(Error::Key(_))), "{long:?}");
    assert_eq!(store.probe.requests(), 0);

    let etags = users[..100].iter().fold(tables.transaction(), Transaction::insert).commit().await?;
    assert_eq!((etags.len(), User::by_key(1).count(tables).await?), (100, 100));
    is_sound(store).await
}

async fn a_transaction_makes_way_for_itself(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).commit().await?;
    // What a writer leaves that crashed after its first request: both entities, as pending inserts.
    for row in store.rows("Accounts").await? {
        let is_entity = row.properties.get("EntityType").is_some();
        let mut pending = row.properties.clone();
        pending.set("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
        let actions = [Some(Action::Delete(IfMatch::Any)), is_entity.then(|| Action::Insert(pending.clone()))];
        for action in actions.into_iter().flatten() {
            let operations = vec![Operation { row_key: row.row_key.clone(), action }];
            let (table, partition_key) = ("Accounts".into(), row.partition_key.clone());
            store.backend.execute_group(&Group { table, partition_key, operations }).await?;
        }
    }
    assert_eq!(User::by_key(1).count(tables).await?, 0);
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).insert(&user(2)).commit().await?;
    assert_eq!(User::by_key(1).count(tables).await?, 2);
    is_sound(store).await
}

async fn a_group_changes_with_its_index_rows(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).insert(&token(1, 2)).commit().await?;
    let change = |members: &mut Vec<Account>| {
        members.retain(|member| !matches!(member, Account::Token(token) if token.number == 1));
        for member in members {
            match member {
                Account::User(user) => user.email = "active@x.org".into(),
                Account::Token(token) => token.code = "used".into(),
                Account::Used(_) => {}
            }
        }
    };
    let members = Account::by_key(1).eq(1).modify(tables, change).await?;
    let [Account::User(changed), Account::Token(second)] = &members[..] else { panic!("{members:?}") };
    assert_eq!(User::by_email("active@x.org").get(tables).await?.as_deref(), Some(changed));
    assert_eq!(Token::by_code("used").get(tables).await?.as_ref().map(Stored::etag), Some(Stored::etag(second)));
    assert!(!Token::by_code("c11").exists(tables).await? && !Token::by_code("c12").exists(tables).await?);
    is_sound(store).await?;

    // A violation changes no member.
    tables.insert(&user(2)).await?;
    let take = |members: &mut Vec<Account>| {
        for member in members {
            match member {
                Account::User(user) => user.email = "u2@x.org".into(),
                Account::Token(token) => token.code = "again".into(),
                Account::Used(_) => {}
            }
        }
    };
    violation(Account::by_key(1).eq(1).modify(tables, take).await);
    assert!(Token::by_code("used").exists(tables).await? && !Token::by_code("again").exists(tables).await?);
    is_sound(store).await
}

async fn a_group_is_deleted_with_its_index_rows(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).insert(&token(1, 2)).insert(&user(2)).commit().await?;
    let deleted = Account::by_key(1).eq(1).delete_all(tables).await?;
    assert_eq!((deleted.written, deleted.missing), (3, 0));
    assert_eq!(Token::by_key(1).count(tables).await?, 0);
    assert_eq!(store.rows("AccountsByCode").await?, []);
    assert_eq!(User::by_key(1).count(tables).await?, 1);
    is_sound(store).await
}

/// Maximum number of requests of an operation that does not begin again and again.
const FEW: usize = 40;

async fn an_entity_of_another_type_takes_the_place_of_one_with_copies(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.create::<Used>().await?;
    tables.insert(&token(1, 1)).await?;
    store.probe.requests();
    let used = Used { site: 1, user: 1, number: 1 };
    tables.transaction().remove(Token::key(1, 1, 1)).insert(&used).commit().await?;
    let requests = store.probe.requests();
    assert!(requests < FEW, "{requests} requests");
    assert_eq!(Used::key(1, 1, 1).get(tables).await?.as_deref(), Some(&used));
    assert!(!Token::by_code("c11").exists(tables).await?);
    assert_eq!(Token::by_purpose("activate").count(tables).await?, 0);
    is_sound(store).await
}

async fn a_row_in_the_way_of_a_new_member_ends_the_change(store: &Store) -> Result<()> {
    let tables = create(store).await?;
    tables.create::<Used>().await?;
    tables.transaction().insert(&user(1)).insert(&token(1, 1)).commit().await?;
    // The query of the group does not find it, because it is that of another user.
    let other = Used { site: 1, user: 9, number: 2 };
    tables.insert(&other).await?;
    store.probe.requests();
    let mut calls = 0;
    let change = |members: &mut Vec<Account>| {
        calls += 1;
        if let Some(Account::User(user)) = members.first_mut() {
            user.email = "moved@x.org".into();
        }
        members.push(Account::Used(other.clone()));
    };
    let refused = Account::by_key(1).eq(1).modify(tables, change).await;
    assert!(matches!(&refused, Err(Error::AlreadyExists(row)) if row.row_key.ends_with("0000000002")), "{refused:?}");
    let requests = store.probe.requests();
    assert!(calls < 3 && requests < FEW, "{calls} calls, {requests} requests");
    assert_eq!(*stored_user(tables, 1).await?, user(1));
    is_sound(store).await
}
