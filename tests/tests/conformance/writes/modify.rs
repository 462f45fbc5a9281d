//! Read, change and write, with repetitions if another writer interferes, and patches of one version.

use std::{pin::pin, task::Poll, time::Duration};

use anyhow::Result;
use futures_util::poll;
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{Action, IfMatch},
    error::RowNow,
    row::{Properties, ValueRef},
    testing::{Clocked, Fault, Faulty, Request, Scheduled},
};
use tests::{
    driven::{Next, drive},
    stores::Store,
};
use time::{OffsetDateTime, macros::datetime};
use tokio::{runtime::Handle, task::block_in_place};

use crate::{
    fixtures::{Counter, Member, Note, Post, Standing, UserId, at, everything, findings, member, violation},
    lifecycle::{at as after_start, clocked, fixtures::Session, start},
};

crate::conformance! {
    modify_writes_the_change_and_returns_it
    modify_finds_no_missing_row_and_no_other_kind
    modify_repeats_if_another_writer_interferes
    modify_returns_none_if_the_row_disappears
    modify_cannot_change_the_key
    modify_maintains_indexes
    modify_does_not_guess_after_a_lost_answer
    concurrent_modifications_lose_nothing
    modify_or_insert_inserts_the_first_entity
    modify_or_insert_repeats_if_another_writer_interferes
    modify_or_insert_does_not_replace_another_kind
    modify_or_insert_creates_a_slice
    modify_or_insert_refuses_what_an_insert_refuses
    get_or_insert_inserts_what_is_missing
    get_or_insert_returns_a_present_entity_as_it_is
    get_or_insert_takes_the_place_of_an_expired_entity
    get_or_insert_refuses_what_readers_do_not_see
    get_or_insert_names_the_owner_of_a_unique_value
    get_or_insert_does_not_repeat_what_stays_refused
    get_or_insert_is_repeated_with_its_unique_values
    get_or_insert_creates_a_slice
    get_or_insert_begins_again_if_the_row_disappears
    get_or_insert_does_not_guess_after_a_lost_answer
    one_of_many_get_or_inserts_inserts
    a_conditional_patch_needs_the_version
    a_conditional_patch_in_a_transaction_needs_the_version
}

/// Runs a write of another program while `modify` runs.
fn meanwhile<T>(write: impl Future<Output = table_runtime::Result<T>>) {
    let written = block_in_place(|| Handle::current().block_on(write));
    assert!(written.is_ok(), "the other write failed");
}

fn counter(count: i64) -> Counter {
    Counter { name: "hits".into(), number: 1, count }
}

async fn modify_writes_the_change_and_returns_it(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().await?;
    tables.insert(&Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) }).await?;
    store.probe.requests();
    let changed = tables
        .modify(Post::key("Marcus", at(1), 1), |post| {
            post.likes += 1;
            post.url = None;
        })
        .await?;
    assert_eq!(store.probe.requests(), 2, "a read and an update");
    let mut changed = changed.expect("it was inserted");
    assert_eq!(*changed, Post { likes: 2, ..Post::numbered("Marcus", 1) });
    let found = Post::key("Marcus", at(1), 1).get(tables).await?.expect("the row");
    assert_eq!(changed, found);
    assert_eq!(Stored::timestamp(&changed), Stored::timestamp(&found));
    // The result can be updated.
    changed.likes = 7;
    tables.update(&mut changed).await?;

    // An entity that is left as it is gets a new version.
    let same = tables.modify(Post::key("Marcus", at(1), 1), |_| {}).await?.expect("the row");
    assert_eq!(*same, *changed);
    assert_ne!(Stored::etag(&same), Stored::etag(&changed));
    Ok(())
}

async fn modify_finds_no_missing_row_and_no_other_kind(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().await?;
    store.probe.requests();
    let missing = tables.modify(Post::key("Marcus", at(1), 1), |_| panic!("there is no row")).await?;
    assert_eq!((missing, store.probe.requests()), (None, 1));

    tables.create::<Shape>().await?;
    tables.insert(&Shape { id: 1, kind_of: "circle".into() }).await?;
    assert_eq!(tables.modify(Line::key(1), |_| panic!("it is another kind")).await?, None);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Drawings", kind, row = "drawing")]
struct Shape {
    #[partition_key]
    id: u32,
    kind_of: String,
}

/// Entity with the keys of a [`Shape`].
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Drawings", kind, row = "drawing")]
struct Line {
    #[partition_key]
    id: u32,
}

async fn modify_repeats_if_another_writer_interferes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.insert(&counter(1)).await?;
    let (mut seen, other) = (Vec::new(), store.again());
    store.probe.requests();
    let changed = tables
        .modify(Counter::key("hits", 1), |counter| {
            if seen.len() < 2 {
                meanwhile(other.upsert(&self::counter(counter.count * 10)));
            }
            seen.push(counter.count);
            counter.count += 1;
        })
        .await?;
    assert_eq!(changed.expect("the row").count, 101);
    assert_eq!(seen, [1, 10, 100]);
    assert_eq!(store.probe.requests(), 6, "three reads and three updates");
    assert_eq!(Counter::key("hits", 1).get(tables).await?.expect("the row").count, 101);
    Ok(())
}

async fn modify_returns_none_if_the_row_disappears(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.create::<Member>().await?;
    tables.insert(&counter(1)).await?;
    tables.insert(&member(1, "Ada")).await?;
    let other = store.again();
    let remove = |_: &mut Counter| meanwhile(other.remove(Counter::key("hits", 1)));
    assert_eq!(tables.modify(Counter::key("hits", 1), remove).await?, None);
    let remove = |member: &mut Member| {
        member.name = "Grace".into();
        meanwhile(other.remove(Member::key("chess", 1)));
    };
    assert_eq!(tables.modify(Member::key("chess", 1), remove).await?, None);
    assert_eq!(store.rows("Members").await?, []);
    Ok(())
}

async fn modify_cannot_change_the_key(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.insert(&counter(1)).await?;
    let error = tables.modify(Counter::key("hits", 1), |counter| counter.number = 2).await.expect_err("another key");
    assert!(matches!(error, Error::KeyChanged(_)), "{error}");
    assert_eq!(Counter::key("hits", 1).get(tables).await?.as_deref(), Some(&counter(1)));
    Ok(())
}

/// Entity with a unique cross-partition index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Guests", row = "guest")]
struct Guest {
    #[partition_key]
    number: u32,
    #[index(name, lowercase, unique)]
    name: String,
    visits: u32,
}

fn guest(number: u32, name: &str) -> Guest {
    Guest { number, name: name.into(), visits: 0 }
}

async fn modify_maintains_indexes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    tables.create::<Guest>().await?;
    for (id, name) in [(1, "Ada"), (2, "Grace")] {
        tables.insert(&member(id, name)).await?;
        tables.insert(&guest(id, name)).await?;
    }
    store.probe.requests();
    let moved = tables.modify(Guest::key(1), |guest| guest.name = "Lovelace".into()).await?;
    let update = if store.spans_partitions() { 1 } else { 1 + 3 };
    assert_eq!(store.probe.requests(), 1 + update, "a read, and an update that moves one index row");
    assert_eq!(Guest::by_name("lovelace").get(tables).await?, moved);
    assert_eq!(Guest::by_name("ada").get(tables).await?, None);
    store.probe.requests();
    tables.modify(Guest::key(1), |guest| guest.visits += 1).await?;
    assert_eq!(store.probe.requests(), 2, "no index row moves");

    let moved = tables
        .modify(Member::key("chess", 1), |member| {
            member.name = "Lovelace".into();
            member.town = "Bonn".into();
            member.joined += 1;
        })
        .await?;
    assert_eq!(Member::by_name("chess").eq("lovelace").get(tables).await?, moved);
    assert_eq!(Member::by_town("chess").eq("Bonn").count(tables).await?, 1);
    assert_eq!(Member::by_town("chess").eq("Ulm").count(tables).await?, 1);

    // A value that another entity has is refused, and nothing is changed.
    let taken = tables.modify(Guest::key(1), |guest| guest.name = "GRACE".into()).await.expect_err("it is taken");
    assert_eq!(violation(taken).index, "name");
    let taken = tables.modify(Member::key("chess", 1), |member| member.name = "GRACE".into()).await;
    assert_eq!(violation(taken.expect_err("it is taken")).index, "name");
    assert_eq!(Guest::key(1).get(tables).await?.expect("the guest").name, "Lovelace");
    assert_eq!(findings::<Guest>(store).await?, []);
    assert_eq!(findings::<Member>(store).await?, []);
    Ok(())
}

async fn modify_does_not_guess_after_a_lost_answer(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().await?;
    tables.create::<Counter>().await?;
    tables.insert(&Post::numbered("Marcus", 1)).await?;
    let mut runs = 0;
    let mut like = async |lose: fn(&Store)| {
        let change = |post: &mut Post| {
            runs += 1;
            post.likes += 1;
            lose(store);
        };
        tables.modify(Post::key("Marcus", at(1), 1), change).await
    };
    let error = like(|store| store.probe.lose()).await.expect_err("its answer is lost");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    let error = like(|store| store.probe.apply_and_lose()).await.expect_err("its answer is lost");
    let Error::OutcomeUnknown(error) = error else { panic!("{error}") };
    assert!(matches!(error.now, RowNow::Present(_)), "{error}");
    assert_eq!(runs, 2, "each ran once");
    assert_eq!(Post::key("Marcus", at(1), 1).get(tables).await?.expect("the row").likes, 2);

    // A write id proves that the change was applied.
    store.probe.apply_and_lose();
    let first = tables.modify_or_insert(&counter(1), |_| {}).await?;
    assert_eq!(Counter::key("hits", 1).get(tables).await?.as_ref(), Some(&first));
    store.probe.apply_and_lose();
    let changed = tables.modify(Counter::key("hits", 1), |counter| counter.count += 1).await?;
    assert_eq!(Counter::key("hits", 1).get(tables).await?, changed);
    assert_eq!(changed.expect("the row").count, 2);
    Ok(())
}

async fn concurrent_modifications_lose_nothing(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    tables.create::<Guest>().await?;
    // The tasks insert the first entity too.
    let modify = |tables: Tables| async move {
        for _ in 0..5 {
            tables.modify_or_insert(&counter(1), |counter| counter.count += 1).await?;
            tables.modify_or_insert(&Guest { visits: 1, ..guest(1, "Ada") }, |guest| guest.visits += 1).await?;
        }
        Ok::<_, Error>(())
    };
    for task in (0..8).map(|_| tokio::spawn(modify(tables.clone()))).collect::<Vec<_>>() {
        task.await??;
    }
    assert_eq!(Counter::key("hits", 1).get(tables).await?.map(|counter| counter.count), Some(40));
    assert_eq!(Guest::by_name("ada").get(tables).await?.map(|guest| guest.visits), Some(40));
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

async fn modify_or_insert_inserts_the_first_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    let ada = member(1, "Ada");
    store.probe.requests();
    let mut first = tables.modify_or_insert(&ada, |_| panic!("there is no row")).await?;
    let with_list = 1 + 2;
    assert_eq!(store.probe.requests(), with_list, "a read and an insert");
    assert_eq!(*first, ada);
    let found = Member::key("chess", 1).get(tables).await?.expect("it was inserted");
    assert_eq!((&first, Stored::timestamp(&first)), (&found, Stored::timestamp(&found)));
    // Its rows are known, so the next update needs no read.
    first.name = "Lovelace".into();
    store.probe.requests();
    tables.update(&mut first).await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(findings::<Member>(store).await?, []);

    // If there is a row, the given entity is not written.
    let second = tables.modify_or_insert(&member(1, "Grace"), |member| member.joined += 1).await?;
    assert_eq!(*second, Member { joined: 2011, name: "Lovelace".into(), ..ada });
    assert!(!Member::by_name("chess").eq("grace").exists(tables).await?);

    // Values are returned as the row holds them: this field is not stored.
    tables.create::<Note>().await?;
    let user = UserId(uuid::Uuid::from_u128(7));
    let all = crate::fixtures::Everything { forgotten: 5, ..everything(user, Standing::Active) };
    let stored = tables.modify_or_insert(&all, |_| panic!("there is no row")).await?;
    assert_eq!(*stored, everything(user, Standing::Active));
    Ok(())
}

async fn modify_or_insert_repeats_if_another_writer_interferes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    tables.insert(&guest(1, "Ada")).await?;
    let (mut runs, other) = (0, store.again());
    // The row disappears between the read and the update, so the entity is inserted.
    let first = Guest { visits: 1, ..guest(1, "Grace") };
    let stored = tables
        .modify_or_insert(&first, |guest| {
            runs += 1;
            guest.name = "Lovelace".into();
            meanwhile(other.remove(Guest::key(1)));
        })
        .await?;
    assert_eq!((&*stored, runs), (&first, 1));
    assert_eq!(findings::<Guest>(store).await?, []);
    assert_eq!(store.rows("GuestsByName").await?.len(), 1);
    // The row changes, so the change is repeated.
    let mut runs = 0;
    let stored = tables
        .modify_or_insert(&first, |guest| {
            runs += 1;
            if runs == 1 {
                meanwhile(other.patch(Guest::key(1), |guest| [guest.visits.set(10)]));
            }
            guest.visits += 1;
        })
        .await?;
    assert_eq!((stored.visits, runs), (11, 2));
    Ok(())
}

async fn modify_or_insert_does_not_replace_another_kind(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Shape>().await?;
    let shape = Shape { id: 1, kind_of: "circle".into() };
    tables.insert(&shape).await?;
    store.probe.requests();
    let error = tables.modify_or_insert(&Line { id: 1 }, |_| panic!("it is another kind")).await;
    let error = error.expect_err("there is a shape");
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    assert!(store.probe.requests() <= 4, "it is not repeated");
    assert_eq!(Shape::key(1).get(tables).await?.as_deref(), Some(&shape));
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Log", slice = month(at), kind)]
struct Entry {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: OffsetDateTime,
    count: u32,
}

async fn modify_or_insert_creates_a_slice(store: &Store) -> Result<()> {
    const MAY: OffsetDateTime = datetime!(2010-05-03 00:00 UTC);
    let tables = &store.tables;
    tables.create::<Entry>().await?;
    let entry = Entry { machine: "a".into(), at: MAY, count: 1 };
    assert_eq!(tables.modify(Entry::key("a", MAY), |_| panic!("there is no slice")).await?, None);
    for count in 1..=2 {
        let stored = tables.modify_or_insert(&entry, |entry| entry.count += 1).await?;
        assert_eq!(stored.count, count);
    }
    assert_eq!(Entry::key("a", MAY).get(tables).await?.map(|entry| entry.count), Some(2));
    assert_eq!(tables.slices::<Entry>().await?.len(), 1);
    Ok(())
}

async fn modify_or_insert_refuses_what_an_insert_refuses(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    tables.insert(&guest(1, "Ada")).await?;
    let taken = tables.modify_or_insert(&guest(2, "ADA"), |_| {}).await.expect_err("it is taken");
    let taken = violation(taken);
    assert_eq!((taken.index, taken.owner.partition_key.as_str()), ("name", "0000000001"));
    store.probe.requests();
    let long = tables.modify_or_insert(&guest(2, &"n".repeat(600)), |_| {}).await.expect_err("it is too long");
    assert!(matches!(long, Error::Key(_)), "{long}");
    assert_eq!(store.probe.requests(), 0);
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

/// Requests of a `get_or_insert` that finds an entity without a list: the insert, and the read of the row in its way.
const PRESENT: usize = 3;

async fn get_or_insert_inserts_what_is_missing(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().and::<Member>().and::<Guest>().and::<Counter>().await?;
    let post = Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) };
    store.probe.requests();
    let (mut stored, is_new) = tables.get_or_insert(&post).await?;
    assert_eq!((is_new, store.probe.requests()), (true, 1), "an insert");
    let found = Post::key("Marcus", at(1), 1).get(tables).await?.expect("it was inserted");
    assert_eq!((&stored, Stored::timestamp(&stored)), (&found, Stored::timestamp(&found)));
    assert_eq!(*stored, post);
    // The result can be updated, in one request if no index row moves to another partition.
    stored.likes = 7;
    store.probe.requests();
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), 1);

    let (mut stored, is_new) = tables.get_or_insert(&member(1, "Ada")).await?;
    assert_eq!((is_new, store.probe.requests()), (true, 2), "an insert with a list");
    stored.name = "Lovelace".into();
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(Member::by_name("chess").eq("lovelace").get(tables).await?.as_ref(), Some(&stored));

    store.probe.requests();
    let (mut stored, is_new) = tables.get_or_insert(&guest(1, "Ada")).await?;
    let in_steps = if store.spans_partitions() { 1 } else { 3 };
    assert_eq!((is_new, store.probe.requests()), (true, in_steps));
    assert_eq!(Guest::key(1).get(tables).await?.as_ref(), Some(&stored));
    stored.name = "Grace".into();
    tables.update(&mut stored).await?;
    assert_eq!(Guest::by_name("grace").get(tables).await?.as_ref(), Some(&stored));

    let (mut stored, is_new) = tables.get_or_insert(&counter(1)).await?;
    assert!(is_new);
    stored.count = 2;
    tables.update(&mut stored).await?;
    tables.delete(&stored).await?;
    assert!(tables.get_or_insert(&counter(3)).await?.1, "it was deleted");

    // Values are returned as the row holds them: this field is not stored.
    tables.create::<Note>().await?;
    let user = UserId(uuid::Uuid::from_u128(7));
    let all = crate::fixtures::Everything { forgotten: 5, ..everything(user, Standing::Active) };
    let (stored, is_new) = tables.get_or_insert(&all).await?;
    assert_eq!((&*stored, is_new), (&everything(user, Standing::Active), true));
    let (again, is_new) = tables.get_or_insert(&all).await?;
    assert_eq!((&again, is_new), (&stored, false));
    assert_eq!(findings::<Member>(store).await?, []);
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

async fn get_or_insert_returns_a_present_entity_as_it_is(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().and::<Member>().and::<Guest>().await?;
    let first = Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) };
    let etag = tables.insert(&first).await?;
    // Another program has added a property.
    let mut more = Properties::default();
    more.push("More", ValueRef::Int32(1));
    let keys = store.rows("Posts").await?.remove(0);
    let keys = (&*keys.partition_key, &*keys.row_key);
    store.write("Posts", keys, Action::Merge(more, IfMatch::Any)).await?;
    let present = Post::key("Marcus", at(1), 1).get(tables).await?.expect("it was inserted");
    assert_ne!(Stored::etag(&present), &etag);
    let rows = store.rows("Posts").await?;
    store.probe.requests();
    let (mut stored, is_new) =
        tables.get_or_insert(&Post { title: "other".into(), ..Post::numbered("Marcus", 1) }).await?;
    assert_eq!((is_new, store.probe.requests()), (false, PRESENT));
    assert_eq!((&stored, &*stored), (&present, &first));
    assert_eq!(Stored::timestamp(&stored), Stored::timestamp(&present));
    assert_eq!(store.rows("Posts").await?, rows);
    // It was read, so an update keeps the property of the other program and needs no further read.
    stored.likes = 7;
    store.probe.requests();
    tables.update(&mut stored).await?;
    assert_eq!(store.probe.requests(), 1);
    assert_eq!(store.rows("Posts").await?[0].properties.get("More"), Some(ValueRef::Int32(1)));

    let member_etag = tables.insert(&member(1, "Ada")).await?;
    let guest_etag = tables.insert(&guest(1, "Ada")).await?;
    let (members, guests) = (store.rows("Members").await?, store.rows("Guests").await?);
    let names = store.rows("GuestsByName").await?;
    store.probe.requests();
    let (mut stored, is_new) = tables.get_or_insert(&Member { town: "Bonn".into(), ..member(1, "Grace") }).await?;
    assert_eq!((is_new, store.probe.requests()), (false, PRESENT + 1), "it reads the list");
    assert_eq!((&*stored, Stored::etag(&stored)), (&member(1, "Ada"), &member_etag));
    let (mut stored_guest, is_new) = tables.get_or_insert(&guest(1, "Grace")).await?;
    assert_eq!((is_new, store.probe.requests()), (false, PRESENT));
    assert_eq!((&*stored_guest, Stored::etag(&stored_guest)), (&guest(1, "Ada"), &guest_etag));
    assert_eq!((store.rows("Members").await?, store.rows("Guests").await?), (members, guests));
    assert_eq!(store.rows("GuestsByName").await?, names);
    stored.name = "Lovelace".into();
    tables.update(&mut stored).await?;
    stored_guest.name = "Lovelace".into();
    tables.update(&mut stored_guest).await?;
    assert_eq!(Guest::by_name("lovelace").get(tables).await?, Some(stored_guest));
    assert_eq!(findings::<Member>(store).await?, []);
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

async fn get_or_insert_takes_the_place_of_an_expired_entity(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    let first = Session::new(1, Some(10));
    assert!(tables.get_or_insert(&first).await?.1);
    let other = Session { name: "other".into(), email: Some("other@x.org".into()), ..Session::new(1, Some(60)) };
    time.set(after_start(9));
    let (stored, is_new) = tables.get_or_insert(&other).await?;
    assert_eq!((&*stored, is_new), (&first, false));
    time.set(after_start(10));
    let (mut stored, is_new) = tables.get_or_insert(&other).await?;
    assert_eq!((&*stored, is_new), (&other, true));
    assert_eq!(Session::key("t", 1).get(&tables).await?.as_ref(), Some(&stored));
    // Its time is known.
    stored.note = "new".into();
    tables.update(&mut stored).await?;
    assert_eq!(Session::by_name("t").eq("other").get(&tables).await?.as_ref(), Some(&stored));
    // It has left its values.
    let taker = Session { id: 2, ..first };
    assert!(tables.get_or_insert(&taker).await?.1);
    // Those of one that has expired are free as well.
    time.set(after_start(60));
    let taker = Session { id: 3, ..other };
    let (stored, is_new) = tables.get_or_insert(&Session { until: None, ..taker }).await?;
    assert!(is_new);
    assert_eq!(Session::by_email("other@x.org").get(&tables).await?.as_ref(), Some(&stored));
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn get_or_insert_refuses_what_readers_do_not_see(store: &Store) -> Result<()> {
    let (tables, ..) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, None)).await?;
    assert!(tables.soft_delete(Session::key("t", 1)).await?);
    let rows = store.rows("Sessions").await?;
    let error = tables.get_or_insert(&Session::new(1, None)).await.expect_err("it is in the bin");
    assert!(matches!(&error, Error::AlreadyExists(row) if row.is_in_bin()), "{error:?}");
    // So are its values, in its partition and elsewhere.
    let name = Session { email: None, ..Session { id: 2, ..Session::new(1, None) } };
    let email = Session { email: Session::new(1, None).email, ..Session::new(2, None) };
    for (other, index) in [(name, "name"), (email, "email")] {
        let taken = violation(tables.get_or_insert(&other).await.expect_err("its value is taken"));
        assert_eq!((taken.index, taken.in_bin), (index, true));
    }
    assert_eq!(store.rows("Sessions").await?, rows);
    // It comes into the bin after the insert was refused.
    tables.restore(Session::key("t", 1)).await?;
    let (backend, schedule) = Scheduled::new(store.backend.clone());
    let late = Tables::new(Clocked::new(backend, start()).0);
    let (session, mut requests) = (Session::new(1, None), 0);
    for n in 0.. {
        let got = drive(&schedule, late.get_or_insert(&session), async |_| {
            if requests == n {
                assert!(tables.soft_delete(Session::key("t", 1)).await.expect("the store answers"));
            }
            requests += 1;
            Next::Grant
        });
        match got.await? {
            Ok((stored, is_new)) => assert!(*stored == session && !is_new),
            Err(Error::AlreadyExists(row)) => assert!(row.is_in_bin(), "request {n}"),
            Err(error) => panic!("{error}"),
        }
        if requests <= n {
            break;
        }
        (requests, _) = (0, tables.restore(Session::key("t", 1)).await?);
    }
    let (stored, is_new) = tables.get_or_insert(&Session { note: "other".into(), ..Session::new(1, None) }).await?;
    assert_eq!((&*stored, is_new), (&Session::new(1, None), false));
    assert_eq!(findings::<Session>(store).await?, []);

    let tables = &store.tables;
    tables.create::<Shape>().await?;
    let shape = Shape { id: 1, kind_of: "circle".into() };
    tables.insert(&shape).await?;
    store.probe.requests();
    let error = tables.get_or_insert(&Line { id: 1 }).await.expect_err("there is a shape");
    assert!(matches!(&error, Error::AlreadyExists(row) if !row.is_in_bin()), "{error}");
    assert_eq!(store.probe.requests(), PRESENT, "it is not repeated");
    assert_eq!(Shape::key(1).get(tables).await?.as_deref(), Some(&shape));
    let long = tables.get_or_insert(&member(1, &"n".repeat(600))).await.expect_err("it is too long");
    assert!(matches!(long, Error::Key(_)), "{long}");
    assert_eq!(store.probe.requests(), 1, "the read of the shape");
    Ok(())
}

async fn get_or_insert_names_the_owner_of_a_unique_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().and::<Member>().await?;
    tables.insert(&guest(1, "Ada")).await?;
    tables.insert(&member(1, "Ada")).await?;
    let taken = violation(tables.get_or_insert(&guest(2, "ADA")).await.expect_err("it is taken"));
    assert_eq!((taken.index, &*taken.value), ("name", "ada"));
    assert_eq!((taken.owner.partition_key.as_str(), taken.entity.partition_key.as_str()), ("0000000001", "0000000002"));
    let taken = violation(tables.get_or_insert(&member(2, "ADA")).await.expect_err("it is taken"));
    assert_eq!((taken.index, &*taken.value), ("name", "ada"));
    assert_eq!((taken.owner.row_key.as_str(), taken.entity.row_key.as_str()), ("id-0000000001", "id-0000000002"));
    assert_eq!((store.rows("Guests").await?.len(), store.rows("GuestsByName").await?.len()), (1, 1));

    // An entity that is there is returned, also if its place has a value of another one.
    tables.insert(&guest(2, "Grace")).await?;
    tables.insert(&member(2, "Grace")).await?;
    let (stored, is_new) = tables.get_or_insert(&guest(2, "Ada")).await?;
    assert_eq!((&*stored, is_new), (&guest(2, "Grace"), false));
    let (stored, is_new) = tables.get_or_insert(&member(2, "Ada")).await?;
    assert_eq!((&*stored, is_new), (&member(2, "Grace"), false));
    assert_eq!(findings::<Guest>(store).await?, []);
    assert_eq!(findings::<Member>(store).await?, []);
    Ok(())
}

/// Its own expired entity makes way, but the value of another entity stays taken, however often the insert begins anew.
async fn get_or_insert_does_not_repeat_what_stays_refused(store: &Store) -> Result<()> {
    let (tables, time, requests) = clocked(store);
    tables.create::<Session>().await?;
    let email = |id: u32, until| Session { email: Some("ada@x.org".into()), ..Session::new(id, Some(until)) };
    tables.insert(&Session::new(1, Some(10))).await?;
    tables.insert(&email(2, 90)).await?;
    time.set(after_start(10));
    for attempt in 0..2 {
        requests.take();
        let refused = match attempt {
            0 => tables.get_or_insert(&email(1, 60)).await.map(drop),
            _ => tables.modify_or_insert(&email(1, 60), |_| {}).await.map(drop),
        };
        assert_eq!(violation(refused.expect_err("it is taken")).index, "email");
        assert!(requests.take().executes < 20, "it is repeated");
    }
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn get_or_insert_is_repeated_with_its_unique_values(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().and::<Member>().await?;
    let (first_guest, _) = tables.get_or_insert(&guest(1, "Ada")).await?;
    let (first_member, _) = tables.get_or_insert(&member(1, "Ada")).await?;
    // Also by a program that has read nothing yet.
    for tables in [tables, &store.again()] {
        for name in ["Ada", "ADA"] {
            let (stored, is_new) = tables.get_or_insert(&guest(1, name)).await?;
            assert_eq!((&stored, is_new), (&first_guest, false));
            let (stored, is_new) = tables.get_or_insert(&member(1, name)).await?;
            assert_eq!((&stored, is_new), (&first_member, false));
        }
    }
    // A writer has crashed and left an insert that was not committed.
    if !store.spans_partitions() {
        let (backend, faults) = Faulty::new(store.backend.clone());
        faults.arm_write(Fault::StopsBefore, 2);
        let crashed = Tables::new(backend).get_or_insert(&guest(3, "Grace")).await;
        assert!(crashed.is_err(), "before its commit");
        assert_eq!(store.rows("GuestsByName").await?.len(), 2);
        let (stored, is_new) = tables.get_or_insert(&guest(3, "Grace")).await?;
        assert!(is_new);
        assert_eq!(Guest::by_name("grace").get(tables).await?, Some(stored));
    }
    assert_eq!(findings::<Guest>(store).await?, []);
    assert_eq!(findings::<Member>(store).await?, []);
    Ok(())
}

async fn get_or_insert_creates_a_slice(store: &Store) -> Result<()> {
    const MAY: OffsetDateTime = datetime!(2010-05-03 00:00 UTC);
    let tables = &store.tables;
    tables.create::<Entry>().await?;
    for count in 1..=2 {
        let (stored, is_new) = tables.get_or_insert(&Entry { machine: "a".into(), at: MAY, count }).await?;
        assert_eq!((stored.count, is_new), (1, count == 1));
        assert_eq!(Entry::key("a", MAY).get(tables).await?, Some(stored));
    }
    assert_eq!(tables.slices::<Entry>().await?.len(), 1);
    Ok(())
}

async fn get_or_insert_begins_again_if_the_row_disappears(store: &Store) -> Result<()> {
    // Another program deletes the row between the insert that was refused and the read.
    let (backend, schedule) = Scheduled::new(store.backend.clone());
    let (tables, other) = (Tables::new(backend), &store.tables);
    other.create::<Post>().and::<Guest>().await?;
    other.insert(&Post::numbered("Marcus", 1)).await?;
    other.insert(&guest(1, "Ada")).await?;
    let (new_post, new_guest) = (Post { likes: 9, ..Post::numbered("Marcus", 1) }, guest(1, "Grace"));
    let (mut posted, mut visited) = (None, None);
    let both = async {
        let post = tables.get_or_insert(&new_post).await;
        (post, tables.get_or_insert(&new_guest).await)
    };
    let mut both = pin!(both);
    let mut refused = 0;
    let (post, guest) = loop {
        if let Poll::Ready(both) = poll!(&mut both) {
            break both;
        }
        let Some(waiting) = schedule.waiting().into_iter().find(|waiting| !waiting.is_granted) else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        match &*waiting.request {
            // The last read before it decides.
            Request::Get { table, .. } if table.ends_with("Posts") && posted.is_none() => {
                refused += 1;
                if refused == PRESENT - 1 {
                    posted = Some(other.remove(Post::key("Marcus", at(1), 1)).await?);
                }
            }
            Request::Get { table, .. } if table.ends_with("Guests") && visited.is_none() => {
                visited = Some(other.remove(Guest::key(1)).await?);
            }
            _ => {}
        }
        schedule.grant(0);
    };
    let ((post, post_is_new), (guest, guest_is_new)) = (post?, guest?);
    assert_eq!((posted, visited), (Some(true), Some(true)));
    assert!(post_is_new && guest_is_new);
    assert_eq!((&*post, &*guest), (&new_post, &new_guest));
    assert_eq!(Post::key("Marcus", at(1), 1).get(other).await?, Some(post));
    assert_eq!(Guest::by_name("grace").get(other).await?, Some(guest));
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

async fn get_or_insert_does_not_guess_after_a_lost_answer(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().and::<Counter>().and::<Guest>().and::<Member>().await?;
    // Nothing shows whether this one was inserted.
    let post = Post::numbered("Marcus", 1);
    store.probe.apply_and_lose();
    let error = tables.get_or_insert(&post).await.expect_err("its answer is lost");
    let Error::OutcomeUnknown(error) = error else { panic!("{error}") };
    assert!(matches!(error.now, RowNow::Present(_)), "{error}");
    let (stored, is_new) = tables.get_or_insert(&Post { title: "other".into(), ..post.clone() }).await?;
    assert_eq!((&*stored, is_new), (&post, false));
    let post = Post::numbered("Marcus", 2);
    store.probe.lose();
    let error = tables.get_or_insert(&post).await.expect_err("its answer is lost");
    let Error::OutcomeUnknown(error) = error else { panic!("{error}") };
    assert!(matches!(error.now, RowNow::Absent), "{error}");
    assert!(tables.get_or_insert(&post).await?.1);
    store.probe.apply_and_lose();
    let error = tables.get_or_insert(&member(1, "Ada")).await.expect_err("its answer is lost");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    let (stored, is_new) = tables.get_or_insert(&member(1, "Ada")).await?;
    assert_eq!((&*stored, is_new), (&member(1, "Ada"), false));

    // A write id does, and so do the rows of the steps.
    store.probe.apply_and_lose();
    let (mut stored, is_new) = tables.get_or_insert(&counter(1)).await?;
    assert_eq!((Counter::key("hits", 1).get(tables).await?.as_ref(), is_new), (Some(&stored), true));
    stored.count = 2;
    tables.update(&mut stored).await?;
    if store.spans_partitions() {
        return Ok(());
    }
    for write in 0..3 {
        let (number, name) = (10 + u32::try_from(write)?, format!("Ada {write}"));
        for fault in [Fault::AnswerLost, Fault::RequestLost] {
            let (backend, faults) = Faulty::new(store.backend.clone());
            faults.arm_write(fault, write);
            let got = Tables::new(backend).get_or_insert(&guest(number, &name)).await;
            assert!(faults.hit().is_some());
            match got {
                Ok((mut stored, is_new)) => {
                    assert!(is_new);
                    assert_eq!(Guest::by_name(&name).get(tables).await?.as_ref(), Some(&stored));
                    stored.visits = 1;
                    tables.update(&mut stored).await?;
                    tables.delete(&stored).await?;
                }
                // Without a write id, a row without the mark may be that of another writer.
                Err(Error::OutcomeUnknown(_)) => {
                    assert!(write == 2 && fault == Fault::AnswerLost, "{write}, {fault:?}");
                    let (stored, is_new) = tables.get_or_insert(&guest(number, &name)).await?;
                    assert_eq!((&*stored, is_new), (&guest(number, &name), false));
                    tables.delete(&stored).await?;
                }
                Err(error) => panic!("{write}, {fault:?}: {error}"),
            }
        }
    }
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}

async fn one_of_many_get_or_inserts_inserts(store: &Store) -> Result<()> {
    const TASKS: u32 = 8;
    let tables = &store.tables;
    tables.create::<Post>().and::<Guest>().and::<Member>().await?;
    // Half of them are other programs.
    let of = |task| if task % 2 == 0 { tables.clone() } else { store.again() };
    let tasks = (0..TASKS).map(|task| {
        let tables = of(task);
        tokio::spawn(async move {
            // Each task has its own text, and some want another value.
            let post = tables.get_or_insert(&Post { likes: task, ..Post::numbered("Marcus", 1) }).await?;
            let guest = tables.get_or_insert(&Guest { visits: task, ..guest(1, "Ada") }).await?;
            let other = tables.get_or_insert(&guest_of(task)).await?;
            let member = tables.get_or_insert(&Member { town: task.to_string(), ..member(1, "Ada") }).await?;
            Ok::<_, Error>((post, guest, other, member))
        })
    });
    let (mut posts, mut guests, mut others, mut members) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for task in tasks.collect::<Vec<_>>() {
        let (post, guest, other, member) = task.await??;
        posts.push(post);
        guests.push(guest);
        others.push(other);
        members.push(member);
    }
    is_one_new(&posts, Post::key("Marcus", at(1), 1).get(tables).await?.as_ref());
    is_one_new(&guests, Guest::key(1).get(tables).await?.as_ref());
    is_one_new(&guests, Guest::by_name("ada").get(tables).await?.as_ref());
    is_one_new(&others, Guest::key(2).get(tables).await?.as_ref());
    is_one_new(&members, Member::key("chess", 1).get(tables).await?.as_ref());
    is_one_new(&members, Member::by_name("chess").eq("ada").get(tables).await?.as_ref());
    assert_eq!(store.rows("GuestsByName").await?.len(), 2);
    assert_eq!(findings::<Guest>(store).await?, []);
    assert_eq!(findings::<Member>(store).await?, []);
    Ok(())
}

/// Returns a guest with another name for each task.
fn guest_of(task: u32) -> Guest {
    guest(2, &format!("Grace {task}"))
}

/// Checks that one of these calls inserted the entity that is there, and that all of them returned it.
fn is_one_new<E: std::fmt::Debug + PartialEq>(got: &[(Stored<E>, bool)], present: Option<&Stored<E>>) {
    assert_eq!(got.iter().filter(|(_, is_new)| *is_new).count(), 1, "{got:?}");
    for (stored, _) in got {
        assert_eq!(Some(stored), present);
    }
}

async fn a_conditional_patch_needs_the_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Post>().await?;
    let key = || Post::key("Marcus", at(1), 1);
    let first = tables.insert(&Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) }).await?;
    store.probe.requests();
    let second = tables.patch_if(key(), &first, |post| [post.title.set("new")]).await?;
    assert_eq!(store.probe.requests(), 1);
    let found = key().get(tables).await?.expect("the row");
    let expected = Post { title: "new".into(), url: Some("u".into()), ..Post::numbered("Marcus", 1) };
    assert_eq!((&*found, Stored::etag(&found)), (&expected, &second));

    let error = tables.patch_if(key(), &first, |post| [post.title.set("old")]).await.expect_err("it has changed");
    let Error::ConditionNotMet(row) = &error else { panic!("{error}") };
    assert_eq!(row.partition_key, "Marcus");
    assert_eq!(key().get(tables).await?.as_deref(), Some(&expected));

    store.probe.apply_and_lose();
    let lost = tables.patch_if(key(), &second, |post| [post.likes.set(9)]).await.expect_err("its answer is lost");
    assert!(matches!(&lost, Error::OutcomeUnknown(error) if error.operation == "patch"), "{lost}");
    tables.remove(key()).await?;
    let error = tables.patch_if(key(), &second, |post| [post.title.set("old")]).await.expect_err("it was removed");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert!(!key().exists(tables).await?);
    Ok(())
}

async fn a_conditional_patch_in_a_transaction_needs_the_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Counter>().await?;
    let second = Counter { number: 2, ..counter(0) };
    let first = tables.insert(&counter(0)).await?;
    let commit = async |etag, count| {
        let transaction = tables.transaction().upsert(&Counter { count, ..second.clone() });
        transaction.patch_if(Counter::key("hits", 1), etag, |counter| [counter.count.set(count)]).commit().await
    };
    let counts = async || {
        let counters = Counter::by_key("hits").all(tables).await?;
        Ok::<_, Error>(counters.iter().map(|counter| counter.count).collect::<Vec<_>>())
    };
    let etags = commit(&first, 5).await?;
    assert_eq!(etags.len(), 2);
    assert_eq!(counts().await?, [5, 5]);
    let error = commit(&first, 6).await.expect_err("it has changed");
    assert!(matches!(&error, Error::ConditionNotMet(row) if row.table.ends_with("Counters")), "{error}");
    assert_eq!(counts().await?, [5, 5]);
    commit(etags[1].as_ref().expect("the new version"), 7).await?;
    assert_eq!(counts().await?, [7, 7]);
    Ok(())
}
