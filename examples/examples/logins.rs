//! Sign-in by e-mail address: an index made by hand, of two entities, and the same by one attribute.
//!
//! No transaction spans two partitions, so what leads from an address to its user is written apart from the user, and
//! a program can stop between the two. By hand, everything hangs on the order:
//!
//! | | first | then | a crash between them leaves |
//! |---|---|---|---|
//! | sign up | the user | the login | a user whom nobody reaches; the address is free |
//! | close | the logins | the user | the same |
//! | the other way round | | | a login of nobody: the address is taken for good |
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | `Users` | the id | `user` | `Email`, `Name` |
//! | `Logins` | the address, lower case | `Password`, `Passkey` | `Email`, `EntityId` |
//! | `Members` | the id | `member` | `Email`, `Name` |
//! | `MemberLogins` | the address, lower case | | `EntityId`, `WriteId` |
//!
//! The pair can hold what no index does: several logins for one address, with properties of their own. Where there is
//! nothing to hold, the attribute spares the order of the writes, the way back, the change of an address, and the
//! clean-up job with its period of grace.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use futures_util::TryStreamExt as _;
use table_runtime::{Error, Finding, KeyPart, Property, Stored, TableEntity, Tables};
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users", row = "user", allow_scan)]
struct User {
    #[partition_key]
    id: Uuid,
    email: String,
    name: String,
}

/// By what somebody signs in.
#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
enum Kind {
    Password,
    Passkey,
}

/// One of the ways in: of one address and one kind there is one.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logins", allow_scan)]
struct Login {
    #[partition_key(lowercase)]
    email: String,
    #[row_key]
    kind: Kind,
    entity_id: Uuid,
}

/// The same uniqueness, written by the attribute.
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

    // The address leads to its logins, and each to the user.
    let logins = Login::by_key("ada@EXAMPLE.com").all(tables).await?;
    assert_eq!(logins.iter().map(|login| login.kind).collect::<Vec<_>>(), [Kind::Passkey, Kind::Password]);
    let user = User::key(logins[0].entity_id).get(tables).await?;
    assert_eq!(user.as_deref(), Some(&ada));

    // Taken: the user that was written for it is taken back.
    assert_eq!(sign_up(tables, "ADA@example.com", "Another", Kind::Password).await?, None);
    assert_eq!(User::scan().count(tables).await?, 1);

    // A sign-up that stopped after its first step, and a login that somebody made in the wrong order.
    tables.insert(&User { id: Uuid::new_v4(), email: "alan@example.com".into(), name: "Alan".into() }).await?;
    let (email, entity_id) = ("grace@example.com".into(), Uuid::new_v4());
    tables.insert(&Login { email, kind: Kind::Password, entity_id }).await?;

    // The user may be one that is just signing up: such a young one is left alone.
    assert_eq!(clean_up(tables, Duration::from_secs(3600)).await?, CleanedUp { users: 0, logins: 1 });
    let cleaned = clean_up(tables, Duration::ZERO).await?;
    println!("by hand: {cleaned:?}");
    assert_eq!(cleaned, CleanedUp { users: 1, logins: 0 });

    let ada = User::key(ada.id).get(tables).await?.context("Ada")?;
    close(tables, &ada).await?;
    assert_eq!((User::scan().count(tables).await?, Login::scan().count(tables).await?), (0, 0));
    Ok(())
}

/// Makes a user, unless the address has a login of this kind.
async fn sign_up(tables: &Tables, email: &str, name: &str, kind: Kind) -> Result<Option<User>> {
    let user = User { id: Uuid::new_v4(), email: email.to_owned(), name: name.to_owned() };
    let etag = tables.insert(&user).await?;
    if add_login(tables, &user, kind).await? {
        return Ok(Some(user));
    }
    tables.delete(&Stored::new(user, etag)).await?;
    Ok(None)
}

/// Adds a way in, unless the address has one of this kind. The insert decides it: to look first would tell nothing.
async fn add_login(tables: &Tables, user: &User, kind: Kind) -> Result<bool> {
    match tables.insert(&Login { email: user.email.clone(), kind, entity_id: user.id }).await {
        Ok(_) => Ok(true),
        Err(Error::AlreadyExists(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Deletes a user: the logins first.
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

/// Deletes users without a login, which are older than this, and logins without a user. It scans both tables, a point
/// or a range for every row: a job for the night.
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
    // A user is there before any login is, so one without was left behind, however young it is; also by the loop
    // above, where a sign-up took longer than the grace.
    let mut logins = Login::scan().stream(tables);
    while let Some(login) = logins.try_next().await? {
        if !User::key(login.entity_id).exists(tables).await? {
            cleaned.logins += usize::from(deleted(tables.delete(&login).await)?);
        }
    }
    Ok(cleaned)
}

/// Whether it was deleted: what changed since it was read is somebody else's.
fn deleted(result: table_runtime::Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A program that does not know of the index, and so does not keep it.
mod ignorant {
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

    // Each takes three steps: the member, whom nobody sees yet; the address; the member again, to be seen.
    tables.insert(&ada).await?;
    tables.insert(&alan).await?;
    let by_email = Member::by_email("ada@EXAMPLE.com");
    println!("{}", by_email.explain());
    assert_eq!(by_email.get(tables).await?.as_deref(), Some(&ada));
    match tables.insert(&member("ADA@example.com", "Another")).await {
        Err(Error::UniqueViolation(violation)) => println!("refused: {violation}"),
        other => bail!("expected a violation, got {other:?}"),
    }

    // Another address: the new one is taken before the member changes, and the old one given up after it.
    let mut stored = Member::key(ada.id).get(tables).await?.context("Ada")?;
    stored.email = "ada@example.org".into();
    tables.update(&mut stored).await?;
    assert!(!Member::by_email("ada@example.com").exists(tables).await?);

    // What a crash leaves, or a program that does not know the index, no reader sees: the address is free again.
    tables.remove(ignorant::Member::key(alan.id)).await?;
    assert_eq!(Member::by_email("alan@example.com").get(tables).await?, None);
    let findings = tables.verify::<Member>().all().await?;
    for finding in &findings {
        println!("found: {finding}");
    }
    assert!(matches!(findings[..], [Finding::StaleRow { index: "email", .. }]), "{findings:?}");

    // This is the whole clean-up job; it may run at any time, without a period of grace.
    let repaired = tables.repair::<Member>().await?;
    println!("by attribute: {} fixed of {}", repaired.fixed.len(), repaired.entities);
    assert_eq!((repaired.fixed, repaired.left), (findings, Vec::new()));
    assert_eq!(tables.verify::<Member>().all().await?, []);
    Ok(())
}
