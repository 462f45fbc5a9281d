//! Property types: how fields are stored, and how rows of other programs are read.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use table_runtime::{
    Error, Value,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
    row::Properties,
};
use tests::stores::Store;
use time::macros::datetime;

use crate::fixtures::{Boxed, Email, Everything, Paper, Post, Settings, Standing, UserId, at, everything};

crate::conformance! {
    every_type_round_trips
    extremes_round_trip
    nan_and_infinities_round_trip
    generic_entities_round_trip
    properties_have_the_documented_types
    rows_of_other_programs_are_read
    the_error_names_the_row_that_does_not_fit
    a_property_added_later_has_its_default
    json_reads_back_as_it_was_written
    json_that_would_read_back_differently_is_refused
    the_error_shows_the_time_that_the_field_cannot_hold
}

fn user() -> UserId {
    UserId(uuid::Uuid::from_u128(1))
}

async fn round_trip(store: &Store, row: &Everything) -> Result<()> {
    store.tables.upsert(row).await?;
    let found = Everything::key(row.user, row.standing).get(&store.tables).await?.expect("it was written");
    assert_eq!(*found, *row);
    let listed = Everything::by_key(row.user).all(&store.tables).await?;
    assert!(listed.iter().any(|found| **found == *row));
    Ok(())
}

async fn every_type_round_trips(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    round_trip(store, &everything(user(), Standing::Active)).await?;
    let other = Everything {
        flag: false,
        text: String::new(),
        bytes: Vec::new(),
        maybe: None,
        maybe_time: Some(at(1)),
        maybe_settings: Some(Settings::default()),
        maybe_huge: None,
        email: Email(String::new()),
        ..everything(user(), Standing::LockedOut)
    };
    round_trip(store, &other).await?;
    let forgetful = Everything { forgotten: 9, ..everything(user(), Standing::Active) };
    store.tables.upsert(&forgetful).await?;
    let found = Everything::key(user(), Standing::Active).get(&store.tables).await?.expect("it was written");
    assert_eq!(found.forgotten, 0, "what is skipped is not stored");
    Ok(())
}

async fn extremes_round_trip(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    let template = everything(user(), Standing::Active);
    let least = Everything {
        tiny: i8::MIN,
        small: i16::MIN,
        int: i32::MIN,
        long: i64::MIN,
        byte: 0,
        word: 0,
        dword: 0,
        single: f32::MIN,
        double: f64::MIN,
        time: datetime!(1601-01-01 00:00 UTC),
        huge: 0,
        bytes: vec![7; 64 * 1024],
        ..template.clone()
    };
    let greatest = Everything {
        tiny: i8::MAX,
        small: i16::MAX,
        int: i32::MAX,
        long: i64::MAX,
        byte: u8::MAX,
        word: u16::MAX,
        dword: u32::MAX,
        single: f32::MIN_POSITIVE,
        double: f64::MIN_POSITIVE,
        time: datetime!(9999-12-31 23:59:59.999_999_9 UTC),
        text: "😀".repeat(16 * 1024),
        ..template.clone()
    };
    let round = Everything { long: 0, double: -0.0, single: 1e20, maybe: Some(i64::MAX), ..template };
    for row in [least, greatest, round] {
        round_trip(store, &row).await?;
    }
    Ok(())
}

async fn nan_and_infinities_round_trip(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    for double in [f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300, 123_456_789_012_345_680.0, 0.1] {
        round_trip(store, &Everything { double, ..everything(user(), Standing::Active) }).await?;
    }
    store
        .tables
        .upsert(&Everything { double: f64::NAN, single: f32::NAN, ..everything(user(), Standing::Active) })
        .await?;
    let found = Everything::key(user(), Standing::Active).get(&store.tables).await?.expect("it was written");
    assert!(found.double.is_nan() && found.single.is_nan());
    Ok(())
}

async fn generic_entities_round_trip(store: &Store) -> Result<()> {
    store.tables.create::<Boxed<String>>().await?;
    let text = Boxed { shelf: 1, number: 1, content: "text".to_owned() };
    let number = Boxed { shelf: 2, number: 1, content: Some(7_i64) };
    store.tables.insert(&text).await?;
    store.tables.insert(&number).await?;
    assert_eq!(Boxed::<String>::key(1, 1).get(&store.tables).await?.as_deref(), Some(&text));
    assert_eq!(Boxed::<Option<i64>>::key(2, 1).get(&store.tables).await?.as_deref(), Some(&number));
    Ok(())
}

async fn properties_have_the_documented_types(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    store.tables.insert(&everything(user(), Standing::LockedOut)).await?;
    let row = store.backend.get("Everything", "00000000-0000-0000-0000-000000000001", "locked-out", None).await?;
    let row = row.expect("it was inserted");
    let mut types: Vec<_> = row.properties.iter().map(|(name, value)| (name, value.edm_type())).collect();
    types.sort_unstable();
    let expected = [
        ("AddedLater", "Edm.Int64"),
        ("Byte", "Edm.Int32"),
        ("Bytes", "Edm.Binary"),
        ("Chrono", "Edm.DateTime"),
        ("Double", "Edm.Double"),
        ("Dword", "Edm.Int64"),
        ("Email", "Edm.String"),
        ("EntityType", "Edm.String"),
        ("Flag", "Edm.Boolean"),
        ("Guid", "Edm.Guid"),
        ("Huge", "Edm.String"),
        ("Int", "Edm.Int32"),
        ("Jiff", "Edm.DateTime"),
        ("Long", "Edm.Int64"),
        ("Maybe", "Edm.Int64"),
        ("MaybeHuge", "Edm.String"),
        ("Other", "Edm.String"),
        ("Settings", "Edm.String"),
        ("Single", "Edm.Double"),
        ("Small", "Edm.Int32"),
        ("System", "Edm.DateTime"),
        ("Text", "Edm.String"),
        ("Time", "Edm.DateTime"),
        ("Tiny", "Edm.Int32"),
        ("Uuid", "Edm.Guid"),
        ("Word", "Edm.Int32"),
        ("class", "Edm.String"),
    ];
    assert_eq!(types, expected);
    assert_eq!(
        row.properties.get("EntityType").map(table_runtime::row::ValueRef::to_value),
        Some(Value::String("Everything".into()))
    );
    Ok(())
}

/// Writes a row with the backend, past the checks of the types.
async fn write(store: &Store, id: u32, properties: impl IntoIterator<Item = (&'static str, Value)>) -> Result<()> {
    let explain = Post::key("Marcus", at(id), id).explain();
    let row_key = explain.row_key().expect("a point").to_owned();
    let action = Action::Upsert(properties.into_iter().collect());
    let operations = vec![Operation { row_key, action }];
    store.backend.execute_group(&Group { table: "Posts".into(), partition_key: "Marcus".into(), operations }).await?;
    Ok(())
}

fn fitting(likes: Value) -> [(&'static str, Value); 3] {
    [
        ("Posted", Value::DateTime("2010-05-28T00:00:01Z".parse().expect("a time"))),
        ("Title", Value::String("t".into())),
        ("Likes", likes),
    ]
}

async fn rows_of_other_programs_are_read(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    // Numbers have another numeric type, properties another order, and some are unknown.
    let mut properties = fitting(Value::Int32(5)).to_vec();
    properties.reverse();
    properties.push(("Unknown", Value::Binary(vec![1])));
    write(store, 1, properties).await?;
    let found = Post::key("Marcus", at(1), 1).get(&store.tables).await?.expect("it was written");
    assert_eq!((found.likes, found.title.as_str(), &found.url), (5, "t", &None));
    write(store, 1, fitting(Value::Double(7.0))).await?;
    assert_eq!(Post::key("Marcus", at(1), 1).get(&store.tables).await?.map(|post| post.likes), Some(7));
    Ok(())
}

async fn the_error_names_the_row_that_does_not_fit(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let unfit = |result: table_runtime::Result<()>, words: &[&str]| {
        let error = result.expect_err("it does not fit");
        let text = error.to_string();
        assert!(matches!(error, Error::Property(_) | Error::Key(_)), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    let point = || async { Post::key("Marcus", at(1), 1).get(&store.tables).await.map(drop) };
    let list = || async { Post::by_key("Marcus").all(&store.tables).await.map(drop) };
    let key = "PartitionKey='Marcus',RowKey='2521272959989999999_0000000001'";

    write(store, 1, fitting(Value::String("5".into()))).await?;
    unfit(point().await, &["Posts", key, "`Likes`", "expected Edm.Int64", "found Edm.String"]);
    unfit(list().await, &["Posts", key, "`Likes`", "expected Edm.Int64", "found Edm.String"]);
    write(store, 1, fitting(Value::Int64(-1))).await?;
    unfit(point().await, &["`Likes`", "0..=4294967295", "found Edm.Int64 -1"]);
    write(store, 1, fitting(Value::Double(7.5))).await?;
    unfit(point().await, &["`Likes`", "expected Edm.Int64", "found Edm.Double 7.5"]);
    write(store, 1, fitting(Value::Int64(1 << 32))).await?;
    unfit(point().await, &["`Likes`", "0..=4294967295", "found Edm.Int64 4294967296"]);
    write(store, 1, fitting(Value::Int64(1)).into_iter().take(2)).await?;
    unfit(point().await, &["`Likes`", "found nothing"]);

    let stray = Operation { row_key: "stray".into(), action: Action::Upsert(Properties::default()) };
    let group = Group { table: "Posts".into(), partition_key: "Marcus".into(), operations: vec![stray] };
    store.backend.execute_group(&group).await?;
    store.tables.remove(Post::key("Marcus", at(1), 1)).await?;
    unfit(list().await, &["Posts(PartitionKey='Marcus',RowKey='stray')", "`posted`", "stray"]);
    Ok(())
}

async fn a_property_added_later_has_its_default(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    store.tables.insert(&everything(user(), Standing::LockedOut)).await?;
    let (partition_key, row_key) = ("00000000-0000-0000-0000-000000000001", "locked-out");
    let row = store.backend.get("Everything", partition_key, row_key, None).await?.expect("it was inserted");
    let old: Vec<_> = row.properties.iter().filter(|(name, _)| *name != "AddedLater").collect();
    let old: Properties = old.into_iter().map(|(name, value)| (name, value.to_value())).collect();
    let operations = vec![Operation { row_key: row_key.into(), action: Action::Upsert(old) }];
    let group = Group { table: "Everything".into(), partition_key: partition_key.into(), operations };
    store.backend.execute_group(&group).await?;
    let found = Everything::key(user(), Standing::LockedOut).get(&store.tables).await?.expect("the row");
    assert_eq!(found.added_later, 0);
    Ok(())
}

/// Writes the content as JSON and reads it back.
async fn through_json<T>(store: &Store, content: T) -> table_runtime::Result<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
{
    let paper = Paper { shelf: 1, number: 1, content };
    store.tables.upsert(&paper).await?;
    let found = Paper::<T>::key(1, 1).get(&store.tables).await?.expect("it was written");
    Ok(found.content.clone())
}

async fn json_reads_back_as_it_was_written(store: &Store) -> Result<()> {
    store.tables.create::<Paper<bool>>().await?;
    macro_rules! same {
        ($($value:expr;)*) => {$({
            let value = $value;
            assert_eq!(through_json(store, value.clone()).await?, value);
        })*};
    }
    let mut deep = serde_json::json!("the bottom");
    for _ in 0..100 {
        deep = serde_json::json!([deep]);
    }
    same! {
        deep;
        serde_json::Value::Null;
        serde_json::json!({ "none": null, "text": "null", "numbers": [1, -1, 1.0, -0.0, 1e300, u64::MAX, i64::MIN] });
        (0..1000).map(|number| (number.to_string(), number)).collect::<HashMap<_, _>>();
        (0..1000).collect::<HashSet<i32>>();
        vec![Some(1.5_f32), None, Some(0.1), Some(f32::MIN_POSITIVE)];
        BTreeMap::from([("a".to_owned(), Some(f64::MAX)), ("b".to_owned(), None)]);
        None::<f64>;
        Some(Some(1));
        None::<Option<i32>>;
        ();
        (1_u8, 'c', "text".to_owned(), [1.5_f64; 3], Some(()).is_some());
        (u128::MAX, i128::MIN);
        Some("null".to_owned());
    }
    Ok(())
}

async fn json_that_would_read_back_differently_is_refused(store: &Store) -> Result<()> {
    async fn refused<T>(store: &Store, content: T, word: &str)
    where
        T: serde::Serialize + serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
    {
        store.probe.requests();
        let type_name = std::any::type_name::<T>();
        let error = through_json(store, content).await.err().expect(type_name);
        let text = error.to_string();
        assert!(matches!(error, Error::Property(_)) && text.contains("`Content`"), "{type_name}: {text}");
        assert!(text.contains(word), "{type_name}: {text}");
        assert_eq!(store.probe.requests(), 0, "{type_name}");
    }
    store.tables.create::<Paper<bool>>().await?;
    for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(store, vec![1.5, double], &double.to_string()).await;
        refused(store, double, &double.to_string()).await;
        refused(store, Some(double), &double.to_string()).await;
    }
    refused(store, BTreeMap::from([("rate".to_owned(), Some(f32::INFINITY))]), "inf").await;
    for depth in [128, 1_000] {
        let mut deep = serde_json::json!("the bottom");
        for _ in 0..depth {
            deep = serde_json::json!([deep]);
        }
        refused(store, deep, "deep").await;
    }
    // JSON has one word, `null`, both for an absent value and for a present value that is empty.
    refused(store, Some(None::<i32>), "read back").await;
    refused(store, vec![Some(None::<i32>)], "read back").await;
    refused(store, Some(serde_json::Value::Null), "read back").await;
    refused(store, Some(()), "read back").await;
    // A patch applies the same check as an insert.
    store.tables.insert(&Paper { shelf: 1, number: 1, content: vec![1.5] }).await?;
    let patch = store.tables.patch(Paper::<Vec<f64>>::key(1, 1), |paper| paper.content.set(vec![f64::NAN]));
    let error = patch.await.expect_err("JSON has no NaN");
    assert!(matches!(error, Error::Property(_)), "{error}");
    Ok(())
}

async fn the_error_shows_the_time_that_the_field_cannot_hold(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    store.tables.insert(&everything(user(), Standing::LockedOut)).await?;
    let last = Value::DateTime("9999-12-31T23:59:59.9999999Z".parse()?);
    let action = Action::Merge([("Jiff", last)].into_iter().collect(), IfMatch::Any);
    store.write("Everything", ("00000000-0000-0000-0000-000000000001", "locked-out"), action).await?;
    // The last day of `jiff` is a day earlier.
    let error = Everything::by_key(user()).all(&store.tables).await.expect_err("jiff has no such time");
    let text = error.to_string();
    assert!(matches!(error, Error::Property(_)) && text.contains("`Jiff`"), "{text}");
    assert!(text.contains("found Edm.DateTime 9999-12-31T23:59:59.9999999Z"), "{text}");
    assert!(text.contains("jiff::Timestamp"), "{text}");
    Ok(())
}
