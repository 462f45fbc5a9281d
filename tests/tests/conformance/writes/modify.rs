//! Read, change and write, with repetitions if another writer interferes, and patches of one version.

use anyhow::Result;
use table_runtime::{Error, Stored, TableEntity, Tables, error::RowNow};
use tests::stores::Store;
use time::{OffsetDateTime, macros::datetime};
use tokio::{runtime::Handle, task::block_in_place};

use crate::fixtures::{Counter, Member, Note, Post, Standing, UserId, at, everything, findings, member, violation};

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
