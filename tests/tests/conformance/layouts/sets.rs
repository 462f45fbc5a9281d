//! Sets of entities: setup and jobs of all of them by one call.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables, backend::Action, testing::Clocked};
use tests::stores::Store;

crate::conformance! {
    a_set_is_created_verified_and_repaired
    a_set_is_swept_where_entities_expire
    the_first_entity_that_is_refused_ends_a_creation
}

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    #[row_key]
    id: u32,
    #[index(name)]
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Logins", expires = until)]
struct Login {
    #[partition_key]
    user: u32,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity)]
#[table(name = "Memos", entity = "Note", soft_delete = deleted)]
struct Memo {
    #[partition_key]
    user: u32,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

/// Sets can be parts of sets.
type All = (User, (Login, Memo));

async fn a_set_is_created_verified_and_repaired(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create_all::<All>().await?;
    let user = |id| User { id, name: format!("name{id}") };
    tables.insert_all((0..3).map(user)).await?;
    tables.insert(&Memo { user: 1, id: 1, deleted: None }).await?;
    // A row of an index whose entity is gone.
    let rows = store.rows("UsersByName").await?;
    let stale = rows.first().expect("an index row");
    store.write("UsersByName", ("nobody", &stale.row_key), Action::Insert(stale.properties.clone())).await?;

    let verified = tables.verify_all::<All>().await?;
    let shown: Vec<_> = verified.iter().map(|(name, it)| (*name, it.entities, it.findings.len())).collect();
    assert_eq!(shown, [("User", 3, 1), ("Login", 0, 0), ("Note", 1, 0)]);
    let repaired = tables.repair_all::<All>().await?;
    assert_eq!(
        repaired.iter().map(|(name, it)| (*name, it.fixed.len())).collect::<Vec<_>>(),
        [("User", 1), ("Login", 0), ("Note", 0)]
    );
    assert!(tables.verify_all::<All>().await?.iter().all(|(_, it)| it.findings.is_empty()));
    // One entity is a set, too.
    assert_eq!(tables.verify_all::<Memo>().await?[0].1.entities, 1);
    Ok(())
}

async fn a_set_is_swept_where_entities_expire(store: &Store) -> Result<()> {
    let start = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let (backend, time) = Clocked::new(store.backend.clone(), start);
    let tables = Tables::new(backend);
    tables.create_all::<All>().await?;
    tables.insert(&Login { user: 1, id: 1, until: start + Duration::from_secs(1) }).await?;
    tables.insert(&Login { user: 1, id: 2, until: start + Duration::from_secs(9) }).await?;
    tables.insert(&Memo { user: 1, id: 1, deleted: None }).await?;
    tables.soft_delete(Memo::key(1, 1)).await?;
    time.advance(Duration::from_secs(5));
    let swept = tables.sweep_all::<All>().await?;
    assert_eq!(swept.iter().map(|(name, it)| (*name, it.removed)).collect::<Vec<_>>(), [("Login", 1)]);
    assert!(tables.restore(Memo::key(1, 1)).await?.is_some(), "the bin stays as it is");
    Ok(())
}

async fn the_first_entity_that_is_refused_ends_a_creation(store: &Store) -> Result<()> {
    mod other {
        use table_runtime::TableEntity;

        #[derive(TableEntity)]
        #[table(name = "Logins")]
        pub(super) struct Login {
            #[partition_key(lowercase)]
            pub(super) user: String,
            #[row_key]
            pub(super) id: u32,
        }
    }
    let tables = &store.tables;
    tables.create_all::<(Login,)>().await?;
    let error = tables.create_all::<(User, other::Login, Memo)>().await.expect_err("it is stored otherwise");
    assert!(matches!(error, Error::LayoutChanged(_)), "{error}");
    tables.insert(&User { id: 1, name: "Ada".into() }).await?;
    let memo = Memo { user: 1, id: 1, deleted: None };
    assert!(matches!(tables.insert(&memo).await, Err(Error::TableNotFound(_))), "it comes after the error");
    Ok(())
}
