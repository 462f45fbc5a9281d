//! Writes of a single entity.

use std::{
    borrow::Cow,
    pin::pin,
    task::Poll,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use futures_util::poll;
use table_runtime::{
    ETag, Error, Property, Stored, TableEntity, Tables,
    error::RowNow,
    filter::Set,
    key::ToTick as _,
    testing::{Fault, Faulty, Scheduled},
};
use tests::stores::Store;
use time::OffsetDateTime;

use crate::fixtures::{Counter, Everything, Note, Post, Standing, UserId, Word, at, everything};

crate::conformance! {
    an_insert_never_overwrites
    an_upsert_inserts_or_replaces
    an_update_needs_the_row_as_it_was_read
    an_inserted_entity_is_updated_without_a_read
    a_text_that_is_no_etag_is_refused
    an_update_cannot_move_the_row
    an_update_removes_properties_that_are_none
    a_patch_keeps_what_it_does_not_set
    a_patch_sets_what_is_there
    a_patch_takes_what_the_program_has
    plain_entities_are_what_is_stored
    a_patch_never_creates_a_row
    a_delete_needs_the_row_as_it_was_read
    remove_returns_whether_there_was_a_row
    concurrent_updates_lose_nothing
    the_outcome_of_a_lost_answer_is_never_guessed
    a_write_id_proves_that_the_write_succeeded
    a_write_id_proves_no_version_that_another_program_wrote
    two_kinds_may_share_a_table
    values_beyond_the_limits_are_refused_before_sending
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parcels", row = "parcel")]
struct Parcel {
    #[partition_key]
    id: u32,
    name: String,
    code: Vec<u8>,
    weight: u32,
    #[property(json)]
    tags: Vec<String>,
    old: Old,
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Old(String);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labelled")]
struct Labelled {
    #[partition_key]
    shelf: u32,
    #[row_key]
    id: u32,
    #[index(label, copy)]
    label: String,
}

fn is_about(error: &Error, post: &Post) {
    let text = error.to_string();
    let explain = Post::key(&post.author, post.posted, post.id).explain();
    assert!(text.contains("Posts(") && text.contains(explain.row_key().expect("a point")), "{text}");
}

async fn an_insert_never_overwrites(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let post = Post::numbered("Marcus", 1);
    store.tables.insert(&post).await?;
    let error = store.tables.insert(&Post { likes: 99, ..post.clone() }).await.expect_err("it exists");
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    is_about(&error, &post);
    assert_eq!(Post::key("Marcus", at(1), 1).get(&store.tables).await?.as_deref(), Some(&post));
    Ok(())
}

async fn an_upsert_inserts_or_replaces(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let mut post = Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) };
    let first = store.tables.upsert(&post).await?;
    post.likes = 2;
    post.url = None;
    let second = store.tables.upsert(&post).await?;
    assert_ne!(first, second);
    let found = Post::key("Marcus", at(1), 1).get(&store.tables).await?.expect("the row");
    assert_eq!((&*found, Stored::etag(&found)), (&post, &second));
    Ok(())
}

async fn an_update_needs_the_row_as_it_was_read(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let read = || async { Post::key("Marcus", at(1), 1).get(&store.tables).await.transpose().expect("the row") };
    let (mut ours, mut theirs) = (read().await?, read().await?);

    theirs.title = "theirs".into();
    let etag = store.tables.update(&mut theirs).await?;
    assert_eq!(*Stored::etag(&theirs), etag);
    theirs.likes += 1;
    store.tables.update(&mut theirs).await?;

    ours.title = "ours".into();
    let error = store.tables.update(&mut ours).await.expect_err("it has changed");
    assert!(matches!(error, Error::ConditionNotMet(_)), "{error}");
    is_about(&error, &ours);
    assert_eq!(*read().await?, *theirs);

    store.tables.remove(Post::key("Marcus", at(1), 1)).await?;
    let error = store.tables.update(&mut theirs).await.expect_err("the row was deleted");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    is_about(&error, &ours);
    assert!(!Post::key("Marcus", at(1), 1).exists(&store.tables).await?);
    Ok(())
}

async fn an_inserted_entity_is_updated_without_a_read(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let post = Post::numbered("Marcus", 1);
    let etag = store.tables.insert(&post).await?;
    // A client may send the ETag back in a header.
    let mut stored = Stored::new(post, etag.to_string().parse()?);
    stored.likes = 9;
    let etag = store.tables.update(&mut stored).await?;
    let found = Post::by_key("Marcus").first(&store.tables).await?.expect("it was inserted");
    assert_eq!((&found, Stored::etag(&found)), (&stored, &etag));

    let mut stale = Stored::new(Post::numbered("Marcus", 1), "W/\"another\"".parse()?);
    stale.likes = 1;
    let error = store.tables.update(&mut stale).await.expect_err("it is another version");
    assert!(matches!(error, Error::ConditionNotMet(_)), "{error}");
    store.tables.delete(&stored).await?;
    Ok(())
}

async fn a_text_that_is_no_etag_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let post = Post::numbered("Marcus", 1);
    store.tables.insert(&post).await?;
    for text in ["*", "", " ", "W/", "W/*", "none", "\"\"", "\"a\",*", "W/\"a\", W/\"b\"", "W/\"a\nb\"", "w/\"a\""] {
        // A web service parses a client's `If-Match` like this.
        let Ok(etag) = text.parse::<ETag>() else { continue };
        let mut stale = Stored::new(Post { likes: 99, ..post.clone() }, etag);
        let written = store.tables.update(&mut stale).await;
        panic!("{text:?} is an ETag, with which an update gives {written:?}");
    }
    assert_eq!(Post::by_key("Marcus").first(&store.tables).await?.as_deref(), Some(&post));
    Ok(())
}

async fn an_update_cannot_move_the_row(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let mut stored = Post::by_key("Marcus").first(&store.tables).await?.expect("it was inserted");
    stored.id = 2;
    store.probe.requests();
    let error = store.tables.update(&mut stored).await.expect_err("another key");
    let Error::KeyChanged(error) = error else { panic!("{error}") };
    assert!(error.was.row_key.ends_with("_0000000001") && error.row_key.ends_with("_0000000002"), "{error}");
    assert_eq!(store.probe.requests(), 0);
    stored.id = 1;
    stored.likes = 3;
    store.tables.update(&mut stored).await?;
    assert_eq!(Post::by_key("Marcus").all(&store.tables).await?.len(), 1);
    Ok(())
}

async fn an_update_removes_properties_that_are_none(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post { url: Some("u".into()), ..Post::numbered("Marcus", 1) }).await?;
    let mut stored = Post::by_key("Marcus").first(&store.tables).await?.expect("it was inserted");
    stored.url = None;
    store.tables.update(&mut stored).await?;
    let found = Post::by_key("Marcus").first(&store.tables).await?.expect("the row");
    assert_eq!(found.url, None);
    Ok(())
}

async fn a_patch_keeps_what_it_does_not_set(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let before = store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let etag = store
        .tables
        .patch(Post::key("Marcus", at(1), 1), |post| [post.title.set("it's new"), post.url.set("u")])
        .await?;
    assert_ne!(before, etag);
    let found = Post::by_key("Marcus").first(&store.tables).await?.expect("it was inserted");
    let expected = Post { title: "it's new".into(), url: Some("u".into()), ..Post::numbered("Marcus", 1) };
    assert_eq!((&*found, Stored::etag(&found)), (&expected, &etag));
    Ok(())
}

/// The body of a request often has some of the properties.
async fn a_patch_sets_what_is_there(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let mut expected = Post::numbered("Marcus", 1);
    store.tables.insert(&expected).await?;
    for (title, likes) in [(Some("new"), None), (None, Some(7)), (None, None), (Some("newer"), Some(8))] {
        store
            .tables
            .patch(Post::key("Marcus", at(1), 1), |post| {
                [title.map(|title| post.title.set(title)), likes.map(|likes| post.likes.set(likes))]
            })
            .await?;
        expected.title = title.unwrap_or(&expected.title).to_owned();
        expected.likes = likes.unwrap_or(expected.likes);
        assert_eq!(Post::by_key("Marcus").first(&store.tables).await?.as_deref(), Some(&expected));
    }
    Ok(())
}

/// A patch takes text and bytes in whatever form the program has them, and its sets in every form.
async fn a_patch_takes_what_the_program_has(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Parcel>().await?;
    let parcel = |name: &str, code: &[u8]| Parcel {
        id: 1,
        name: name.into(),
        code: code.into(),
        weight: 1,
        tags: vec![],
        old: Old("new".into()),
    };
    tables.insert(&parcel("", b"")).await?;
    let key = || Parcel::key(1);
    let (owned, bytes, rest) = ("owned".to_owned(), vec![1, 2], Some(7));
    let is = async |expected: Parcel| {
        assert_eq!(key().plain().get(tables).await?, Some(expected));
        anyhow::Ok(())
    };
    tables.patch(key(), |parcel| parcel.name.set(&owned)).await?;
    tables.patch(key(), |parcel| Some(parcel.code.set(bytes))).await?;
    is(parcel("owned", &[1, 2])).await?;
    tables.patch(key(), |parcel| vec![parcel.name.set(owned), parcel.code.set([3])]).await?;
    is(parcel("owned", &[3])).await?;
    tables.patch(key(), |parcel| (parcel.name.set(Cow::from("cow")), parcel.code.set([4]))).await?;
    is(parcel("cow", &[4])).await?;
    tables
        .patch(key(), |parcel| {
            let both = [parcel.name.set("tuple"), parcel.code.set(b"5")];
            (both, rest.map(|weight| parcel.weight.set(weight)), parcel.tags.set(vec!["a".into()]))
        })
        .await?;
    let expected = Parcel { weight: 7, tags: vec!["a".into()], ..parcel("tuple", b"5") };
    is(Parcel { ..expected.clone() }).await?;
    let old = Old("older".into());
    let etag = tables.patch(key(), |parcel| parcel.old.set(&old)).await?;
    tables.patch_if(key(), &etag, |parcel| (parcel.name.set("if"), None::<Set<_>>)).await?;
    tables.transaction().patch(key(), |parcel| (parcel.weight.set(8), parcel.old.set(old))).commit().await?;
    is(Parcel { name: "if".into(), weight: 8, old: Old("older".into()), ..expected }).await
}

/// A query of entities without their versions reads what the same query with them reads.
async fn plain_entities_are_what_is_stored(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Labelled>().await?;
    let at: OffsetDateTime = tables.now_as();
    assert_eq!(at.to_tick(), at);
    assert!(SystemTime::from(at) <= tables.now());
    let labelled: Vec<_> = (0..3).map(|id| Labelled { shelf: 1, id, label: format!("p{id}") }).collect();
    tables.insert_all(&labelled).await?;
    let query = || Labelled::by_key(1);
    assert_eq!(query().plain().all(tables).await?, labelled);
    assert_eq!(query().filter(|it| it.label.ne("p0")).plain().first(tables).await?.as_ref(), labelled.get(1));
    assert_eq!(query().plain().take(2).page(tables, 1, None).await?.into_iter().collect::<Vec<_>>(), labelled[..1]);
    assert_eq!(query().plain().boxed().all(tables).await?, labelled);
    assert_eq!(Labelled::by_label("p1").plain().all(tables).await?, labelled[1..2]); // a copy
    assert_eq!(Labelled::key(1, 1).plain().get(tables).await?.as_ref(), labelled.get(1));
    assert_eq!(Labelled::key(1, 7).plain().get(tables).await?, None);
    Ok(())
}

async fn a_patch_never_creates_a_row(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let error = store.tables.patch(Post::key("Marcus", at(1), 1), |post| [post.likes.set(1)]).await;
    let error = error.expect_err("there is none");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    is_about(&error, &Post::numbered("Marcus", 1));
    assert_eq!(Post::by_key("Marcus").count(&store.tables).await?, 0);
    Ok(())
}

async fn a_delete_needs_the_row_as_it_was_read(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let stale = Post::by_key("Marcus").first(&store.tables).await?.expect("it was inserted");
    store.tables.patch(Post::key("Marcus", at(1), 1), |post| [post.likes.set(5)]).await?;
    let error = store.tables.delete(&stale).await.expect_err("it has changed");
    assert!(matches!(error, Error::ConditionNotMet(_)), "{error}");

    // `delete` deletes the row that was read, even if the entity was changed in memory.
    let mut fresh = Post::by_key("Marcus").first(&store.tables).await?.expect("the row");
    fresh.id = 77;
    store.tables.delete(&fresh).await?;
    assert_eq!(Post::by_key("Marcus").count(&store.tables).await?, 0);
    let error = store.tables.delete(&fresh).await.expect_err("the row was deleted");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    Ok(())
}

async fn remove_returns_whether_there_was_a_row(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    store.tables.insert(&Word { language: "de".into(), text: "Wort".into() }).await?;
    assert!(!store.tables.remove(Word::key("de", "wort")).await?);
    assert!(store.tables.remove(Word::key("de", "Wort")).await?);
    assert!(!store.tables.remove(Word::key("de", "Wort")).await?);
    Ok(())
}

async fn concurrent_updates_lose_nothing(store: &Store) -> Result<()> {
    store.tables.create::<Counter>().await?;
    store.tables.insert(&Counter { name: "hits".into(), number: 1, count: 0 }).await?;
    let tasks = (0..8).map(|_| {
        let tables = store.tables.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                loop {
                    let mut counter = Counter::key("hits", 1).get(&tables).await?.expect("it was inserted");
                    counter.count += 1;
                    match tables.update(&mut counter).await {
                        Ok(_) => break,
                        Err(Error::ConditionNotMet(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    let counter = Counter::key("hits", 1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!(counter.count, 40);
    Ok(())
}

async fn the_outcome_of_a_lost_answer_is_never_guessed(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let unknown = |error: Error| match error {
        Error::OutcomeUnknown(error) => error,
        other => panic!("{other}"),
    };
    let post = Post::numbered("Marcus", 1);

    store.probe.lose();
    let error = unknown(store.tables.insert(&post).await.expect_err("its answer is lost"));
    assert_eq!((error.operation, &error.now), ("insert", &RowNow::Absent));

    store.probe.apply_and_lose();
    let error = unknown(store.tables.insert(&post).await.expect_err("its answer is lost"));
    let RowNow::Present(row) = &error.now else { panic!("{error}") };
    let stored = Post::key("Marcus", at(1), 1).get(&store.tables).await?.expect("it was applied");
    assert_eq!(&row.etag, Stored::etag(&stored));

    let mut changed = stored.clone();
    changed.likes = 9;
    store.probe.apply_and_lose();
    let error = unknown(store.tables.update(&mut changed).await.expect_err("its answer is lost"));
    assert_eq!(error.operation, "update");
    assert_eq!(
        Stored::etag(&changed),
        Stored::etag(&stored),
        "the entity keeps its old ETag if the outcome is unknown"
    );

    let patch = |likes| store.tables.patch(Post::key("Marcus", at(1), 1), move |post| [post.likes.set(likes)]);
    store.probe.lose();
    unknown(patch(1).await.expect_err("its answer is lost"));
    store.probe.apply_and_lose();
    assert_eq!(unknown(patch(2).await.expect_err("its answer is lost")).operation, "patch");
    assert_eq!(Post::by_key("Marcus").first(&store.tables).await?.expect("the row").likes, 2);

    store.probe.apply_and_lose();
    let error = unknown(store.tables.remove(Post::key("Marcus", at(1), 1)).await.expect_err("its answer is lost"));
    assert_eq!((error.operation, &error.now), ("delete", &RowNow::Absent));
    Ok(())
}

async fn a_write_id_proves_that_the_write_succeeded(store: &Store) -> Result<()> {
    store.tables.create::<Counter>().await?;
    let counter = Counter { name: "hits".into(), number: 1, count: 0 };
    let key = || Counter::key("hits", 1);

    store.probe.apply_and_lose();
    let etag = store.tables.insert(&counter).await?;
    let mut stored = key().get(&store.tables).await?.expect("it was applied");
    assert_eq!(*Stored::etag(&stored), etag);

    stored.count = 1;
    store.probe.apply_and_lose();
    store.tables.update(&mut stored).await?;
    stored.count = 2;
    store.tables.update(&mut stored).await?;
    store.probe.apply_and_lose();
    store.tables.patch(key(), |counter| [counter.count.set(3)]).await?;
    store.probe.apply_and_lose();
    store.tables.upsert(&Counter { count: 4, ..counter.clone() }).await?;
    assert_eq!(key().get(&store.tables).await?.expect("the row").count, 4);

    // Equal data proves nothing: another write may have stored it.
    store.probe.lose();
    let error = store.tables.upsert(&Counter { count: 4, ..counter }).await.expect_err("it was not applied");
    let Error::OutcomeUnknown(error) = error else { panic!("{error}") };
    assert!(matches!(error.now, RowNow::Present(_)), "{error}");
    Ok(())
}

/// A counter as declared by a program that does not know the write id.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Counters")]
struct Unsigned {
    #[partition_key]
    name: String,
    #[row_key(reverse)]
    number: u16,
    count: i64,
}

/// Runs a write whose answer is lost. Before it reads what became of it, another program patches the row.
async fn patched_meanwhile<T>(
    store: &Store,
    write: impl AsyncFnOnce(Tables) -> table_runtime::Result<T>,
) -> Result<table_runtime::Result<T>> {
    let (scheduled, schedule) = Scheduled::new(store.backend.clone());
    let (backend, faults) = Faulty::new(scheduled);
    faults.arm_write(Fault::AnswerLost, 0);
    let mut writing = pin!(write(Tables::new(backend)));
    let mut is_patched = false;
    loop {
        if let Poll::Ready(written) = poll!(&mut writing) {
            assert!(is_patched);
            return Ok(written);
        }
        let is_answered = schedule.waiting().iter().all(|waiting| !waiting.request.is_write());
        if faults.hit().is_some() && is_answered && !schedule.waiting().is_empty() && !is_patched {
            let patch = store.again().patch(Unsigned::key("hits", 1), |counter| [counter.count.set(100)]);
            patch.await?;
            is_patched = true;
        }
        schedule.grant(0);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn a_write_id_proves_no_version_that_another_program_wrote(store: &Store) -> Result<()> {
    store.tables.create::<Counter>().await?;
    let counter = Counter { name: "hits".into(), number: 1, count: 0 };
    // The caller must not get the version of the patch with the content of its own.
    let new = counter.clone();
    let inserted = patched_meanwhile(store, async move |tables| tables.insert(&new).await).await?;
    assert!(matches!(inserted, Err(Error::OutcomeUnknown(_))), "{inserted:?}");
    let new = counter.clone();
    let upserted = patched_meanwhile(store, async move |tables| tables.upsert(&new).await).await?;
    assert!(matches!(upserted, Err(Error::OutcomeUnknown(_))), "{upserted:?}");
    let key = || Counter::key("hits", 1);
    let mut stored = key().get(&store.tables).await?.expect("it was inserted");
    assert_eq!(stored.count, 100);
    stored.count = 1;
    let updating = async |tables: Tables| tables.update(&mut stored).await;
    let updated = patched_meanwhile(store, updating).await?;
    assert!(matches!(updated, Err(Error::OutcomeUnknown(_))), "{updated:?}");
    // The entity that was updated has an old version, so it overwrites nothing.
    let again = store.tables.update(&mut stored).await;
    assert!(matches!(again, Err(Error::ConditionNotMet(_))), "{again:?}");
    // A transaction was applied, and leaves this ETag out.
    let committing = async |tables: Tables| tables.transaction().upsert(&counter).commit().await;
    let committed = patched_meanwhile(store, committing).await?;
    assert_eq!(committed?, [None]);
    assert_eq!(key().get(&store.tables).await?.map(|counter| counter.count), Some(100));
    Ok(())
}

fn user() -> UserId {
    UserId(uuid::Uuid::from_u128(7))
}

async fn two_kinds_may_share_a_table(store: &Store) -> Result<()> {
    store.tables.create::<Note>().await?;
    let note = Note { user: user(), number: 1, text: "n".into() };
    store.tables.insert(&note).await?;
    store.tables.insert(&everything(user(), Standing::Active)).await?;

    assert_eq!(Note::by_key(user()).all(&store.tables).await?.len(), 1);
    assert_eq!(Note::by_key(user()).count(&store.tables).await?, 1);
    assert_eq!(Everything::by_key(user()).all(&store.tables).await?.len(), 1);
    assert_eq!(Everything::layout().kind(), Some("Everything"));
    assert_eq!(Note::key(user(), 1).get(&store.tables).await?.as_deref(), Some(&note));
    Ok(())
}

async fn values_beyond_the_limits_are_refused_before_sending(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let post = Post::numbered("Marcus", 1);
    let refused = |error: Error, words: &[&str]| {
        let text = error.to_string();
        assert!(matches!(error, Error::Limit(_) | Error::Key(_) | Error::Property(_)), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    store.probe.requests();

    let long = "x".repeat(32 * 1024);
    let error = store.tables.insert(&Post { title: format!("{long}x"), ..post.clone() }).await.expect_err("too long");
    refused(error, &["Posts(PartitionKey='Marcus'", "Title", "32769 UTF-16 units"]);
    let error = store.tables.patch(Post::key("Marcus", at(1), 1), |post| [post.title.set(format!("{long}x"))]).await;
    refused(error.expect_err("too long"), &["Posts", "Title", "32769 UTF-16 units"]);

    let astral = "😀".repeat(257);
    let error = store.tables.insert(&Post { author: astral.clone(), ..post.clone() }).await.expect_err("too long");
    refused(error, &["Posts", "author", "PartitionKey 514 UTF-16 units", "512"]);
    let error = Post::by_key(&astral).all(&store.tables).await.expect_err("too long");
    refused(error, &["Posts", "514 UTF-16 units", "512"]);
    let error = Post::key(&astral, at(1), 1).get(&store.tables).await.expect_err("too long");
    refused(error, &["Posts", "514 UTF-16 units", "512"]);

    let early = Post { posted: time::macros::datetime!(1500-01-01 00:00 UTC), ..post.clone() };
    let error = store.tables.insert(&early).await.expect_err("too early for a property");
    refused(error, &["Posts", "Posted", "1500-01-01", "1601-01-01"]);
    assert_eq!(store.probe.requests(), 0);

    // The largest legal values are accepted.
    store.tables.insert(&Post { author: "😀".repeat(256), title: long.clone(), ..post.clone() }).await?;
    let found = Post::by_key(&"😀".repeat(256)).first(&store.tables).await?.expect("it was inserted");
    assert_eq!(found.title.len(), long.len());
    Ok(())
}
