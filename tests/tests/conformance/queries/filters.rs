//! Conditions on properties.

use anyhow::Result;
use table_runtime::{
    Error, Guid, Property, TableEntity, Value,
    backend::{Action, IfMatch},
    filter::Filter,
};
use tests::stores::Store;

use crate::fixtures::{Everything, Post, Standing, UserId, at, everything};

crate::conformance! {
    every_type_is_compared
    conditions_are_combined
    a_missing_property_never_matches
    a_condition_chooses_the_filter
    filters_apply_within_ranges
    quotes_in_values_are_escaped
    too_many_comparisons_are_refused
    a_filter_of_a_long_list_is_refused
    a_filter_may_have_many_negations
    numbers_of_other_types_are_compared_by_value
    a_property_with_the_name_of_a_word_is_read_and_not_compared
}

fn user() -> UserId {
    UserId(uuid::Uuid::from_u128(1))
}

/// Checks whether the only row matches.
async fn matches(
    store: &Store,
    filter: impl FnOnce(<Everything as table_runtime::TableEntity>::Columns) -> Filter<Everything>,
) -> bool {
    let query = Everything::by_key(user()).filter(filter);
    let text = query.explain().to_string();
    match query.count(&store.tables).await {
        Ok(count) => count == 1,
        Err(error) => panic!("{text}: {error}"),
    }
}

async fn every_type_is_compared(store: &Store) -> Result<()> {
    store.tables.create::<Everything>().await?;
    let row = everything(user(), Standing::LockedOut);
    store.tables.insert(&row).await?;

    macro_rules! ordered {
        ($($column:ident: $less:expr, $same:expr, $more:expr;)*) => {$(
            assert!(matches(store, |row| row.$column.eq($same)).await, "{} eq", stringify!($column));
            assert!(!matches(store, |row| row.$column.eq($less)).await, "{} eq", stringify!($column));
            assert!(matches(store, |row| row.$column.ne($less)).await, "{} ne", stringify!($column));
            assert!(!matches(store, |row| row.$column.ne($same)).await, "{} ne", stringify!($column));
            assert!(matches(store, |row| row.$column.gt($less)).await, "{} gt", stringify!($column));
            assert!(!matches(store, |row| row.$column.gt($same)).await, "{} gt", stringify!($column));
            assert!(matches(store, |row| row.$column.ge($same)).await, "{} ge", stringify!($column));
            assert!(!matches(store, |row| row.$column.ge($more)).await, "{} ge", stringify!($column));
            assert!(matches(store, |row| row.$column.lt($more)).await, "{} lt", stringify!($column));
            assert!(!matches(store, |row| row.$column.lt($same)).await, "{} lt", stringify!($column));
            assert!(matches(store, |row| row.$column.le($same)).await, "{} le", stringify!($column));
            assert!(!matches(store, |row| row.$column.le($less)).await, "{} le", stringify!($column));
        )*};
    }
    let millisecond = time::Duration::milliseconds(1);
    let guid = |n: u8| Guid::from_bytes([n; 16]);
    ordered! {
        tiny: i8::MIN, row.tiny, i8::MAX;
        small: i16::MIN, row.small, i16::MAX;
        int: row.int - 1, row.int, row.int + 1;
        long: row.long - 1, row.long, row.long + 1;
        byte: 0, row.byte, 255;
        word: 0, row.word, u16::MAX;
        dword: row.dword - 1, row.dword, u32::MAX;
        single: 0.25, row.single, 1e30;
        double: -1e300, row.double, 5.000_000_1;
        text: "", row.text.as_str(), "\u{FFFF}";
        guid: guid(1), row.guid, guid(0xFF);
        time: row.time - millisecond, row.time, row.time + millisecond;
        maybe: 0, 5_000_000_000, i64::MAX;
    }
    let error = Everything::by_key(user()).filter(|row| row.double.lt(f64::INFINITY)).count(&store.tables).await;
    let error = error.expect_err("filters have no infinity");
    assert!(matches!(error, Error::Query(_)) && error.to_string().contains("`Double`"), "{error}");
    assert!(matches(store, |row| row.flag.eq(true)).await);
    assert!(matches(store, |row| row.flag.ne(false)).await);
    assert!(matches(store, |this| this.bytes.eq(&row.bytes)).await);
    assert!(!matches(store, |row| row.bytes.eq(b"other")).await);
    assert!(matches(store, |this| this.email.eq(&row.email)).await);
    assert!(matches(store, |this| this.uuid.eq(row.uuid)).await);
    assert!(matches(store, |row| row.other.eq(Standing::LockedOut)).await);
    assert!(!matches(store, |row| row.other.eq(Standing::Active)).await);
    assert!(matches(store, |this| this.huge.eq(row.huge)).await);
    assert!(
        matches(store, |this| this.system.eq(row.system).and(this.jiff.eq(row.jiff)).and(this.chrono.eq(row.chrono)))
            .await
    );
    assert!(matches(store, |this| this.r#type.eq("it's 100 % /\\?#&+ ünïcode 😀")).await);
    Ok(())
}

async fn conditions_are_combined(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in 0..8 {
        let url = (number % 2 == 0).then(|| "even".to_owned());
        store.tables.insert(&Post { url, ..Post::numbered("Marcus", number) }).await?;
    }
    let ids = |posts: Vec<table_runtime::Stored<Post>>| posts.iter().map(|post| post.likes).collect::<Vec<_>>();
    let tables = &store.tables;
    let query = || Post::by_key("Marcus");
    let between = query().filter(|post| post.likes.ge(2).and(post.likes.lt(5)));
    assert_eq!(ids(between.all(tables).await?), [4, 3, 2]);
    let inverse = query().filter(|post| post.likes.ge(2).and(post.likes.lt(5)).not());
    assert_eq!(ids(inverse.all(tables).await?), [7, 6, 5, 1, 0]);
    let either = query().filter(|post| post.likes.lt(1).or(post.likes.gt(6)));
    assert_eq!(ids(either.all(tables).await?), [7, 0]);
    let not = query().filter(|post| !post.likes.ge(2).and(post.likes.lt(5)));
    assert_eq!(ids(not.all(tables).await?), [7, 6, 5, 1, 0]);
    // `or` keeps the grouping of the method calls.
    let grouped = query().filter(|post| post.likes.eq(1).or(post.likes.eq(2)).and(post.url.eq("even")));
    assert_eq!(ids(grouped.all(tables).await?), [2]);
    let grouped = query().filter(|post| post.likes.eq(1).or(post.likes.eq(2).and(post.url.eq("even"))));
    assert_eq!(ids(grouped.all(tables).await?), [2, 1]);
    let twice = query().filter(|post| post.likes.ge(2)).filter(|post| post.likes.le(3));
    assert_eq!(ids(twice.all(tables).await?), [3, 2]);
    assert_eq!(ids(query().filter(|post| post.likes.ge(2)).take(3).all(tables).await?), [7, 6, 5]);
    assert_eq!(query().filter(|post| post.likes.eq(3)).first(tables).await?.map(|post| post.id), Some(3));
    let least = |least: Option<u32>| query().filter(move |post| least.map(|least| post.likes.ge(least)));
    assert_eq!(ids(least(Some(6)).all(tables).await?), [7, 6]);
    assert_eq!(least(None).count(tables).await?, 8);
    let page = query().filter(|post| post.url.eq("even")).page(tables, 3, None).await?;
    let rest = query().filter(|post| post.url.eq("even")).page(tables, 3, page.next.as_deref()).await?;
    assert_eq!((ids(page.entities), ids(rest.entities)), (vec![6, 4, 2], vec![0]));
    Ok(())
}

async fn a_missing_property_never_matches(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let query = || Post::by_key("Marcus");
    assert_eq!(query().filter(|post| post.url.eq("u")).count(&store.tables).await?, 0);
    assert_eq!(query().filter(|post| post.url.ne("u")).count(&store.tables).await?, 0);
    assert_eq!(query().filter(|post| post.url.lt("u")).count(&store.tables).await?, 0);
    assert_eq!(query().filter(|post| post.url.eq("u").or(post.likes.eq(1))).count(&store.tables).await?, 1);
    // A `!` is the opposite comparison.
    assert_eq!(query().filter(|post| !post.url.eq("u")).count(&store.tables).await?, 0);
    assert_eq!(query().filter(|post| !(post.url.ne("u") & post.likes.eq(2))).count(&store.tables).await?, 1);
    assert_eq!(query().filter(|post| !(post.url.ge("u") | post.likes.eq(2))).count(&store.tables).await?, 0);
    Ok(())
}

async fn a_condition_chooses_the_filter(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post { url: Some("u".to_owned()), ..Post::numbered("Marcus", 1) }).await?;
    for (by_url, found) in [(true, 1), (false, 0)] {
        let posts = Post::by_key("Marcus").filter(|post| if by_url { post.url.eq("u") } else { post.likes.eq(2) });
        assert_eq!(posts.count(&store.tables).await?, found);
    }
    Ok(())
}

async fn filters_apply_within_ranges(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in 0..6 {
        store.tables.insert(&Post::numbered("Marcus", number)).await?;
    }
    let query = Post::by_key("Marcus").range(at(1)..at(4)).filter(|post| post.posted.ge(at(2)));
    assert_eq!(query.explain().cost(), "partition scan");
    let found = query.all(&store.tables).await?;
    assert_eq!(found.iter().map(|post| post.id).collect::<Vec<_>>(), [3, 2]);
    Ok(())
}

async fn quotes_in_values_are_escaped(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let evil = "x' or Likes ge 0 or Title eq '";
    for (number, title) in [(1, evil), (2, "x"), (3, "''")] {
        store.tables.insert(&Post { title: title.into(), ..Post::numbered("O'Brien", number) }).await?;
    }
    for (number, title) in [(1, evil), (2, "x"), (3, "''")] {
        let found = Post::by_key("O'Brien").filter(|post| post.title.eq(title)).all(&store.tables).await?;
        assert_eq!(found.iter().map(|post| post.id).collect::<Vec<_>>(), [number]);
    }
    assert_eq!(Post::by_key("' or '' eq '").count(&store.tables).await?, 0);
    Ok(())
}

async fn too_many_comparisons_are_refused(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let with = |comparisons: u32| {
        let filter = |post: <Post as table_runtime::TableEntity>::Columns| {
            (1..comparisons).fold(post.likes.eq(1), |filter, number| filter.or(post.likes.eq(number)))
        };
        Post::by_key("Marcus").filter(filter)
    };
    assert_eq!(with(14).count(&store.tables).await?, 1);
    // The second page would need one more comparison, so the first is refused too.
    let error = with(14).page(&store.tables, 1, None).await.expect_err("the cursor is a comparison");
    assert!(matches!(error, Error::Limit(_)) && error.to_string().contains("16 comparisons"), "{error}");
    assert_eq!(with(13).page(&store.tables, 1, None).await?.entities.len(), 1);
    store.probe.requests();
    let error = with(15).count(&store.tables).await.expect_err("with the partition key they are 16");
    assert!(matches!(error, Error::Limit(_)) && error.to_string().contains("16 comparisons"), "{error}");
    let long = "é".repeat(2_000);
    let error = Post::by_key("Marcus").filter(|post| post.title.eq(&long)).count(&store.tables).await;
    let error = error.expect_err("the address would be too long");
    assert!(matches!(error, Error::Limit(_)) && error.to_string().contains("8192 bytes"), "{error}");
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_filter_of_a_long_list_is_refused(store: &Store) -> Result<()> {
    const COUNT: u32 = 50_000;
    type Columns = <Post as table_runtime::TableEntity>::Columns;
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    let any = |post: Columns| (0..COUNT).map(|likes| post.likes.eq(likes)).reduce(Filter::or);
    let all = |post: Columns| (0..COUNT).map(|likes| post.likes.ne(likes)).reduce(Filter::and);
    store.probe.requests();
    for query in [Post::by_key("Marcus").filter(any), Post::by_key("Marcus").filter(all)] {
        let error = query.clone().count(&store.tables).await.expect_err("the service takes 15 comparisons");
        let text = error.to_string();
        assert!(matches!(error, Error::Limit(_)), "{text}");
        assert!(text.contains("Posts") && text.contains("50000 comparisons") && text.contains("15"), "{text}");
        assert!(format!("{} {query:?}", query.explain()).contains("50000 comparisons"));
    }
    // The query itself combines the filters.
    let query = (0..COUNT).fold(Post::by_key("Marcus").filter(|post| post.likes.eq(1)), |query, likes| {
        query.filter(|post| post.likes.ne(likes))
    });
    let error = query.count(&store.tables).await.expect_err("the service takes 15 comparisons");
    assert!(matches!(error, Error::Limit(_)), "{error}");
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_filter_may_have_many_negations(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    store.tables.insert(&Post::numbered("Marcus", 1)).await?;
    for (negations, count) in [(50_000, 1), (50_001, 0)] {
        let query = Post::by_key("Marcus").filter(|post| (0..negations).fold(post.likes.eq(1), |filter, _| !filter));
        assert_eq!(query.count(&store.tables).await?, count, "{negations}");
    }
    Ok(())
}

async fn numbers_of_other_types_are_compared_by_value(store: &Store) -> Result<()> {
    // The service compares by the type of the literal. Azurite answers such a filter with status 500.
    if store.kind.is_service() {
        return Ok(());
    }
    store.tables.create::<Everything>().await?;
    let key = ("00000000-0000-0000-0000-000000000001", "locked-out");
    let others = [("Int", Value::Int64(-32)), ("Long", Value::Int32(7)), ("Double", Value::Int64(1 << 53))];
    let others = others.into_iter().chain([("Dword", Value::Double(4.0)), ("Single", Value::Int32(3))]);
    store.tables.insert(&everything(user(), Standing::LockedOut)).await?;
    store.write("Everything", key, Action::Merge(others.collect(), IfMatch::Any)).await?;
    let row = Everything::key(user(), Standing::LockedOut).get(&store.tables).await?.expect("it was written");
    assert_eq!((row.int, row.long, row.dword), (-32, 7, 4));

    assert!(matches(store, |row| row.int.eq(-32)).await);
    assert!(matches(store, |row| row.int.lt(-31)).await);
    assert!(!matches(store, |row| row.int.ne(-32)).await);
    assert!(matches(store, |row| row.long.eq(7)).await);
    assert!(matches(store, |row| row.long.le(7)).await);
    assert!(!matches(store, |row| row.long.gt(7)).await);
    assert!(matches(store, |row| row.dword.eq(4)).await);
    assert!(matches(store, |row| row.dword.ge(4)).await);
    assert!(!matches(store, |row| row.dword.lt(4)).await);
    assert!(matches(store, |row| row.double.eq(9_007_199_254_740_992.0)).await);
    assert!(matches(store, |row| row.single.eq(3.0)).await);
    // A text never equals a number.
    store
        .write(
            "Everything",
            key,
            Action::Merge([("Int", Value::String("-32".into()))].into_iter().collect(), IfMatch::Any),
        )
        .await?;
    assert!(!matches(store, |row| row.int.eq(-32)).await);
    assert!(!matches(store, |row| row.int.ne(-32)).await);
    Ok(())
}

/// Properties whose names are words of the service's filters, as another program has stored them.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words")]
struct Word {
    #[partition_key]
    language: String,
    #[row_key]
    id: u32,
    #[property(rename = "and")]
    and: String,
    #[property(rename = "true")]
    is_true: Option<i32>,
    #[property(prefix = "")]
    rest: Rest,
    #[property(rename = "or")]
    other: Rest,
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Rest {
    #[property(rename = "not")]
    not: String,
    plain: String,
}

async fn a_property_with_the_name_of_a_word_is_read_and_not_compared(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.tables.create::<Word>().await?;
    let rest = Rest { not: "b".into(), plain: "c".into() };
    let other = Rest { not: "d".into(), plain: "e".into() };
    let mut word = Word { language: "de".into(), id: 1, and: "a".into(), is_true: Some(1), rest, other };
    tables.insert(&word).await?;
    tables.patch(Word::key("de", 1), |word| [word.and.set("x"), word.is_true.set(2)]).await?;
    (word.and, word.is_true) = ("x".into(), Some(2));
    // The properties `Plain`, `or_Plain` and `or_not` are no words.
    let compared = Word::by_key("de")
        .filter(|word| word.rest.plain.eq("c").and(word.other.plain.eq("e")).and(word.other.not.eq("d")));
    let found = compared.all(tables).await?;
    assert_eq!(found.iter().map(|found| &**found).collect::<Vec<_>>(), [&word]);
    assert_eq!(found[0].and, "x");
    for compared in [
        Word::by_key("de").filter(|word| word.rest.not.eq("b")),
        Word::by_key("de").filter(|word| word.rest.plain.eq("c").and(!word.rest.not.ne("b"))),
    ] {
        let error = compared.all(tables).await.expect_err("a word").to_string();
        assert!(error.contains("the filter compares the property `not`"), "{error}");
    }
    Ok(())
}
