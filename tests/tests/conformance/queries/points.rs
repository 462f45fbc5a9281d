//! Reading one row.

use anyhow::Result;
use table_runtime::{Error, Point, Stored, backend::BackendExt};
use tests::stores::Store;

use crate::fixtures::{Article, Detail, Flag, Post, Sensor, Word, at};

crate::conformance! {
    a_row_is_found_by_its_key
    many_keys_are_read_in_their_order
    a_constant_key_is_a_point
    a_hashed_row_is_found_in_its_bucket
    one_field_may_make_both_keys
    the_error_names_a_missing_table
    creating_a_table_again_keeps_its_rows
}

async fn a_row_is_found_by_its_key(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let post = Post::numbered("Marcus", 7);
    let etag = store.tables.insert(&post).await?;

    let found = Post::key("Marcus", at(7), 7).get(&store.tables).await?.expect("it was inserted");
    assert_eq!(*found, post);
    assert_eq!(*Stored::etag(&found), etag);
    let age = std::time::SystemTime::now().duration_since(Stored::timestamp(&found)).unwrap_or_default();
    assert!(age < std::time::Duration::from_hours(1), "{age:?}");
    assert!(Post::key("Marcus", at(7), 7).exists(&store.tables).await?);

    for (author, seconds, id) in [("marcus", 7, 7), ("Marcus", 8, 7), ("Marcus", 7, 8), ("", 7, 7)] {
        assert_eq!(Post::key(author, at(seconds), id).get(&store.tables).await?.as_deref(), None);
        assert!(!Post::key(author, at(seconds), id).exists(&store.tables).await?);
    }
    Ok(())
}

async fn many_keys_are_read_in_their_order(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in (0..40).step_by(2) {
        store.tables.insert(&Post::numbered("Marcus", number)).await?;
    }
    let keys = (0..40).rev().map(|number| Post::key("Marcus", at(number), number));
    let found = store.tables.get_many(keys).await?;
    let numbers: Vec<_> = found.iter().map(|post| post.as_ref().map(|post| post.id)).collect();
    let expected: Vec<_> = (0..40).rev().map(|number| (number % 2 == 0).then_some(number)).collect();
    assert_eq!(numbers, expected);
    assert_eq!(store.tables.get_many(std::iter::empty::<Point<Post>>()).await?.len(), 0);
    Ok(())
}

async fn a_constant_key_is_a_point(store: &Store) -> Result<()> {
    store.tables.create::<Detail>().await?;
    store.tables.create::<Flag>().await?;
    let detail = Detail { user: "u".into(), full_name: "Una".into() };
    store.tables.insert(&detail).await?;
    assert_eq!(Detail::key("u").get(&store.tables).await?.as_deref(), Some(&detail));
    assert_eq!(Detail::by_key("u").get(&store.tables).await?.as_deref(), Some(&detail));

    // A constant is the complete key. A key that only begins with it belongs to another row.
    let neighbour = table_runtime::backend::Operation {
        row_key: "details2".into(),
        action: table_runtime::backend::Action::Insert(table_runtime::row::Properties::default()),
    };
    let group = table_runtime::backend::Group {
        table: "Details".into(),
        partition_key: "u".into(),
        operations: vec![neighbour],
    };
    store.backend.execute_group(&group).await?;
    assert_eq!(Detail::scan().all(&store.tables).await?.len(), 1);

    let flag = Flag { name: "Beta".into(), on: true };
    store.tables.insert(&flag).await?;
    assert_eq!(Flag::key("BETA").get(&store.tables).await?.as_deref(), Some(&flag));
    assert_eq!(Flag::by_key().starts_with("b").count(&store.tables).await?, 1);
    Ok(())
}

async fn a_hashed_row_is_found_in_its_bucket(store: &Store) -> Result<()> {
    store.tables.create::<Sensor>().await?;
    for n in 0..32_u128 {
        let sensor = Sensor { id: uuid::Uuid::from_u128(n), value: 0.5 };
        store.tables.insert(&sensor).await?;
        assert_eq!(Sensor::by_key().eq(sensor.id).get(&store.tables).await?.as_deref(), Some(&sensor));
        assert!(Sensor::key(sensor.id).exists(&store.tables).await?);
    }
    Ok(())
}

async fn one_field_may_make_both_keys(store: &Store) -> Result<()> {
    store.tables.create::<Article>().await?;
    let article = Article { title: "Metabolise".into(), words: 900 };
    store.tables.insert(&article).await?;
    for title in ["Metabolise", "METABOLISE", "metaboliSE"] {
        assert_eq!(Article::key(title).get(&store.tables).await?.as_deref(), Some(&article));
        assert_eq!(Article::by_key().eq(title).get(&store.tables).await?.as_deref(), Some(&article));
    }
    Ok(())
}

async fn the_error_names_a_missing_table(store: &Store) -> Result<()> {
    let missing = |error: Error| match error {
        Error::TableNotFound(table) => assert!(table.ends_with("Words"), "{table}"),
        other => panic!("{other}"),
    };
    let word = Word { language: "de".into(), text: "Wort".into() };
    missing(Word::by_key("de").all(&store.tables).await.expect_err("no table"));
    missing(store.tables.insert(&word).await.expect_err("no table"));
    missing(store.tables.upsert(&word).await.expect_err("no table"));
    missing(Word::key("de", "Wort").get(&store.tables).await.expect_err("no table"));
    missing(store.tables.remove(Word::key("de", "Wort")).await.expect_err("no table"));
    Ok(())
}

async fn creating_a_table_again_keeps_its_rows(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    let word = Word { language: "de".into(), text: "Wort".into() };
    store.tables.insert(&word).await?;
    store.tables.create::<Word>().await?;
    assert_eq!(Word::key("de", "Wort").get(&store.tables).await?.as_deref(), Some(&word));
    Ok(())
}
