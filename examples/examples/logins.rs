//! Sign-in by e-mail address: an index written by hand as a second entity, and the same index by an attribute.
//!
//! No transaction spans two partitions, so the row that leads from an address to its user is written separately from
//! the user, and a program can crash between the two writes. In code written by hand, the order of the writes is
//! critical:
//!
//! | | first | then | a crash between them leaves |
//! |---|---|---|---|
//! | sign up | the user | the login | a user without a login; the address is free |
//! | close | the logins | the user | the same |
//! | the opposite order | | | a login without a user: the address is taken forever |
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | `Users` | the id | `user` | `Email`, `Name` |
//! | `Logins` | the address, lower case | `Password`, `Passkey` | `Email`, `EntityId` |
//! | `Members` | the id | `member` | `Email`, `Name` |
//! | `MemberLogins` | the address, lower case | | `EntityId`, `WriteId` |
//!
//! The second entity can do more than an index: it allows several logins for one address, with their own properties. If
//! that is not needed, the attribute saves the ordering of writes, the rollback, the code for changed addresses, and
//! the clean-up job with its grace period.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use table_runtime::{Error, KeyPart, Property, Stored, TableEntity, Tables, jobs::Finding};
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users", row = "user", allow_scan)]
struct User {
    #[partition_key]
    id: Uuid,
    email: String,
    name: String,
}

/// Way to sign in.
#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
enum Kind {
    Password,
    Passkey,
}

/// Login. An address has at most one of each kind.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logins", allow_scan)]
struct Login {
    #[partition_key(lowercase)]
    email: String,
    #[row_key]
    kind: Kind,
    entity_id: Uuid,
}

/// User whose address is unique by an attribute.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", row = "member")]
struct Member {
    #[partition_key]
    id: Uuid,
    #[index(email, lowercase, table = "MemberLogins", unique, rename(id = "EntityId"))]
    email: String,
    name: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    by_hand(&tables).await?;
    by_attribute(&tables).await
}

async fn by_hand(tables: &Tables) -> Result<()> {
    tables.create::<User>().await?;
    tables.create::<Login>().await?;
    let ada = sign_up(tables, "Ada@example.com", "Ada", Kind::Password).await?.context("the address is free")?;
    add_login(tables, &ada, Kind::Passkey).await?;

    // The address finds its logins, and each login its user.
    let logins = Login::by_key("ada@EXAMPLE.com").all(tables).await?;
    assert_eq!(logins.iter().map(|login| login.kind).collect::<Vec<_>>(), [Kind::Passkey, Kind::Password]);
    let user = User::key(logins[0].entity_id).get(tables).await?;
    assert_eq!(user.as_deref(), Some(&ada));

    // The address is taken, so the new user is rolled back.
    assert_eq!(sign_up(tables, "ADA@example.com", "Another", Kind::Password).await?, None);
    assert_eq!(User::scan().count(tables).await?, 1);

    // A sign-up crashed after its first step, and a login was written in the wrong order.
    tables.insert(&User { id: Uuid::new_v4(), email: "alan@example.com".into(), name: "Alan".into() }).await?;
    let (email, entity_id) = ("grace@example.com".into(), Uuid::new_v4());
    tables.insert(&Login { email, kind: Kind::Password, entity_id }).await?;

    // The user may be signing up at the moment, so a new one is left alone.
    assert_eq!(clean_up(tables, Duration::from_hours(1)).await?, CleanedUp { users: 0, logins: 1 });
    let cleaned = clean_up(tables, Duration::ZERO).await?;
    println!("by hand: {cleaned:?}");
    assert_eq!(cleaned, CleanedUp { users: 1, logins: 0 });

    let ada = User::key(ada.id).get(tables).await?.context("Ada")?;
    close(tables, &ada).await?;
    assert_eq!((User::scan().count(tables).await?, Login::scan().count(tables).await?), (0, 0));
    Ok(())
}

/// Creates a user, unless the address has a login of this kind.
async fn sign_up(tables: &Tables, email: &str, name: &str, kind: Kind) -> Result<Option<User>> {
    let user = User { id: Uuid::new_v4(), email: email.to_owned(), name: name.to_owned() };
    let etag = tables.insert(&user).await?;
    if add_login(tables, &user, kind).await? {
        return Ok(Some(user));
    }
    tables.delete(Stored::new(user, etag)).await?;
    Ok(None)
}

/// Adds a login, unless the address has one of this kind. The insert itself decides, because another program could add
/// the login between a check and the insert.
async fn add_login(tables: &Tables, user: &User, kind: Kind) -> Result<bool> {
    match tables.insert(&Login { email: user.email.clone(), kind, entity_id: user.id }).await {
        Ok(_) => Ok(true),
        Err(Error::AlreadyExists(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Deletes a user, after the user's logins.
async fn close(tables: &Tables, user: &Stored<User>) -> Result<()> {
    for login in Login::by_key(&user.email).all(tables).await? {
        if login.entity_id == user.id {
            tables.delete(&login).await?;
        }
    }
    Ok(tables.delete(user).await?)
}

#[derive(Debug, Default, PartialEq)]
struct CleanedUp {
    users: usize,
    logins: usize,
}

/// Deletes users without a login that are older than `grace`, and logins without a user. The job scans both tables and
/// sends a query for every row, so it should run at night.
async fn clean_up(tables: &Tables, grace: Duration) -> Result<CleanedUp> {
    let mut cleaned = CleanedUp::default();
    let now = SystemTime::now();
    let mut users = User::scan().stream(tables);
    while let Some(user) = users.try_next().await? {
        let mut logins = Login::by_key(&user.email).all(tables).await?.into_iter();
        let age = now.duration_since(Stored::timestamp(&user)).unwrap_or_default();
        if age >= grace && !logins.any(|login| login.entity_id == user.id) {
            cleaned.users += usize::from(deleted(tables.delete(&user).await)?);
        }
    }
    // A user is written before its logins, so a login without a user is always left over. The loop above leaves one
    // too, if a sign-up takes longer than the grace period.
    let mut logins = Login::scan().stream(tables);
    while let Some(login) = logins.try_next().await? {
        if !User::key(login.entity_id).exists(tables).await? {
            cleaned.logins += usize::from(deleted(tables.delete(&login).await)?);
        }
    }
    Ok(cleaned)
}

/// Returns whether the row was deleted. A row that has changed since it was read is kept.
fn deleted(result: table_runtime::Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Program that does not know the index and therefore does not maintain it.
mod without_index {
    use super::{TableEntity, Uuid};

    #[derive(TableEntity)]
    #[table(name = "Members", row = "member")]
    pub(crate) struct Member {
        #[partition_key]
        id: Uuid,
    }
}

async fn by_attribute(tables: &Tables) -> Result<()> {
    tables.create::<Member>().await?;
    let member = |email: &str, name: &str| Member { id: Uuid::new_v4(), email: email.into(), name: name.into() };
    let (ada, alan) = (member("Ada@example.com", "Ada"), member("alan@example.com", "Alan"));

    // Each insert has three steps: the member, invisible to readers; the index row; the member again, now visible.
    tables.insert(&ada).await?;
    tables.insert(&alan).await?;
    let by_email = Member::by_email("ada@EXAMPLE.com");
    println!("{}", by_email.explain());
    assert_eq!(by_email.get(tables).await?.as_deref(), Some(&ada));
    match tables.insert(&member("ADA@example.com", "Another")).await {
        Err(Error::UniqueViolation(violation)) => println!("refused: {violation}"),
        other => bail!("expected a violation, got {other:?}"),
    }

    // A change of the address claims the new one before the member changes, and releases the old one afterwards.
    let mut stored = Member::key(ada.id).get(tables).await?.context("Ada")?;
    stored.email = "ada@example.org".into();
    tables.update(&mut stored).await?;
    assert!(!Member::by_email("ada@example.com").exists(tables).await?);

    // Readers ignore an index row that a crash or a program without the index has left. The address is free again.
    tables.remove(without_index::Member::key(alan.id)).await?;
    assert_eq!(Member::by_email("alan@example.com").get(tables).await?, None);
    let findings = tables.verify::<Member>().all().await?;
    for finding in &findings {
        println!("found: {finding}");
    }
    assert!(matches!(&findings[..], [Finding::StaleRow { index, .. }] if index == "email"), "{findings:?}");

    // The repair is the complete clean-up job. It may run at any time, without a grace period.
    let repaired = tables.repair::<Member>().await?;
    println!("by attribute: {} fixed of {}", repaired.fixed.len(), repaired.entities);
    assert_eq!((repaired.fixed, repaired.left), (findings, Vec::new()));
    assert_eq!(tables.verify::<Member>().all().await?, []);
    Ok(())
}
