//! The bin: `#[table(soft_delete = field)]`.

use std::time::Duration;

use anyhow::Result;
use table_runtime::{Error, Stored};
use tests::stores::Store;

use super::fixtures::{Id, Session, at, check_found, clocked};
use crate::fixtures::findings;

crate::conformance! {
    no_read_finds_an_entity_in_the_bin
    queries_show_the_bin_if_they_ask_for_it
    keys_and_unique_values_in_the_bin_stay_taken
    a_stored_entity_is_put_into_the_bin_in_its_version
    an_entity_that_has_expired_is_in_no_bin
    delete_and_remove_empty_the_bin
    cursors_belong_to_one_view_of_the_bin
}

async fn no_read_finds_an_entity_in_the_bin(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all((1..5).map(|id| Session::new(id, None))).await?;
    time.set(at(5));
    assert!(tables.soft_delete(Session::key("t", 2)).await?);
    assert!(tables.soft_delete(Session::key("t", 3)).await?);
    check_found(&tables, 1..5, &[1, 4]).await?;
    assert!(!tables.soft_delete(Session::key("t", 2)).await?, "it is in the bin");
    assert!(!tables.soft_delete(Session::key("t", 9)).await?, "there is none");
    assert!(tables.modify(Session::key("t", 2), |session| session.note.clear()).await?.is_none());
    let restored = tables.restore(Session::key("t", 3)).await?.expect("it was in the bin");
    assert_eq!(*restored, Session::new(3, None));
    assert!(tables.restore(Session::key("t", 3)).await?.is_none(), "it is not in the bin");
    check_found(&tables, 1..5, &[1, 3, 4]).await?;
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn queries_show_the_bin_if_they_ask_for_it(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all((1..5).map(|id| Session::new(id, None))).await?;
    time.set(at(5));
    tables.soft_delete(Session::key("t", 2)).await?;
    let ids = |found: Vec<Stored<Session>>| found.iter().map(|session| session.id).collect::<Vec<_>>();
    assert_eq!(ids(Session::by_key("t").with_deleted().all(&tables).await?), [1, 2, 3, 4]);
    let binned = Session::by_key("t").only_deleted().all(&tables).await?;
    assert_eq!(binned[0].deleted, Some(at(5)));
    assert_eq!(ids(binned), [2]);
    assert_eq!(ids(Session::by_tag("t").eq("all").only_deleted().all(&tables).await?), [2]);
    assert_eq!(Session::by_tag("t").eq("all").select::<Id>().only_deleted().all(&tables).await?, [Id { id: 2 }]);
    assert_eq!(ids(Session::by_tagged("all").only_deleted().all(&tables).await?), [2]);
    assert_eq!(ids(Session::by_elsewhere("Name2").with_deleted().all(&tables).await?), [2]);
    assert_eq!(Session::by_elsewhere("Name2").select_unchecked::<Id>().only_deleted().all(&tables).await?.len(), 1);
    assert_eq!(Session::by_elsewhere("Name3").select_unchecked::<Id>().only_deleted().all(&tables).await?.len(), 0);
    assert_eq!(ids(Session::by_named("t").eq("Name2").only_deleted().all(&tables).await?), [2]);
    assert_eq!(Session::by_copied("t").eq("Name2").with_deleted().count(&tables).await?, 1);
    assert!(Session::by_name("t").eq("name2").with_deleted().get(&tables).await?.is_some());
    assert!(Session::by_email("mail2@x.org").only_deleted().exists(&tables).await?);
    assert!(!Session::by_email("mail3@x.org").only_deleted().exists(&tables).await?);
    // An entity in the bin can be changed there.
    let changed = tables.modify(Session::key("t", 2).with_deleted(), |session| session.note = "new".into()).await?;
    assert_eq!(changed.expect("it was found").note, "new");
    let explain = Session::by_key("t").only_deleted().explain();
    assert!(explain.filter().ends_with("(Deleted ge datetime'1601-01-01T00:00:00.0000000Z')"), "{explain}");
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn keys_and_unique_values_in_the_bin_stay_taken(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, None)).await?;
    tables.soft_delete(Session::key("t", 1)).await?;
    let error = tables.insert(&Session::new(1, None)).await.expect_err("its key is taken");
    assert!(matches!(&error, Error::AlreadyExists(row) if row.is_in_bin()), "{error:?}");
    assert!(error.to_string().ends_with("already exists, in the bin"), "{error}");
    let error = tables.modify_or_insert(&Session::new(1, None), |_| {}).await.expect_err("its key is taken");
    assert!(matches!(&error, Error::AlreadyExists(row) if row.is_in_bin()), "{error:?}");
    let Err(Error::Bulk(failed)) = tables.insert_all([Session::new(1, None)]).await else { panic!("its key is taken") };
    assert!(matches!(&*failed.failures[0].error, Error::AlreadyExists(row) if row.is_in_bin()), "{failed:?}");
    let name = Session { name: "NAME1".into(), ..Session::new(2, None) };
    let email = Session { email: Some("MAIL1@x.org".into()), ..Session::new(2, None) };
    for other in [name, email] {
        let error = tables.insert(&other).await.expect_err("its value is taken");
        assert!(matches!(&error, Error::UniqueViolation(violation) if violation.in_bin), "{error:?}");
        assert!(error.to_string().ends_with("already, for an entity in the bin"), "{error}");
    }
    // An upsert asks for no entity, so it replaces the one in the bin.
    tables.upsert(&Session::new(1, None)).await?;
    check_found(&tables, 1..2, &[1]).await?;
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn a_stored_entity_is_put_into_the_bin_in_its_version(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, None)).await?;
    let mut stored = Session::key("t", 1).get(&tables).await?.expect("visible");
    let mut outdated = stored.clone();
    time.set(at(7));
    assert!(tables.soft_delete(&mut stored).await?);
    assert_eq!(stored.deleted, Some(at(7)));
    assert!(matches!(tables.soft_delete(&mut outdated).await, Err(Error::ConditionNotMet(_))));
    assert_eq!(outdated.deleted, None, "the field changes with the row alone");
    // The entity that is in the bin is written back as any other.
    stored.deleted = None;
    tables.update(&mut stored).await?;
    check_found(&tables, 1..2, &[1]).await
}

async fn an_entity_that_has_expired_is_in_no_bin(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, Some(10))).await?;
    tables.soft_delete(Session::key("t", 1)).await?;
    assert_eq!(Session::by_key("t").only_deleted().count(&tables).await?, 1);
    time.set(at(10));
    assert_eq!(Session::by_key("t").only_deleted().count(&tables).await?, 0);
    assert_eq!(Session::by_key("t").with_deleted().count(&tables).await?, 0);
    assert!(tables.restore(Session::key("t", 1)).await?.is_none());
    tables.insert(&Session::new(1, None)).await?;
    check_found(&tables, 1..2, &[1]).await
}

async fn delete_and_remove_empty_the_bin(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all((1..7).map(|id| Session::new(id, None))).await?;
    for id in 1..6 {
        time.set(at(10 * u64::from(id)));
        tables.soft_delete(Session::key("t", id)).await?;
    }
    let stored = Session::key("t", 1).with_deleted().get(&tables).await?.expect("in the bin");
    tables.delete(&stored).await?;
    assert!(tables.remove(Session::key("t", 2)).await?);
    assert_eq!(tables.sweep::<Session>().await?.removed, 0, "nothing has expired");
    let age = Duration::from_secs(20);
    let found = tables.sweep::<Session>().deleted_before(age).dry_run().await?;
    assert_eq!((found.found, found.removed), (1, 0));
    assert_eq!(tables.sweep::<Session>().deleted_before(age).await?.removed, 1, "the third, of 30 seconds");
    assert_eq!(Session::by_key("t").only_deleted().delete_all(&tables).await?.written, 2);
    assert_eq!(Session::by_key("t").with_deleted().count(&tables).await?, 1);
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn cursors_belong_to_one_view_of_the_bin(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all((1..4).map(|id| Session::new(id, None))).await?;
    let page = Session::by_key("t").page(&tables, 1, None).await?;
    let cursor = page.next.as_deref();
    assert!(Session::by_key("t").with_deleted().page(&tables, 1, cursor).await.is_err());
    assert_eq!(Session::by_key("t").page(&tables, 1, cursor).await?.entities[0].id, 2);
    Ok(())
}
