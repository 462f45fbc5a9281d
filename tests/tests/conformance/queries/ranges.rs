//! Queries that narrow a partition by its row keys.

use std::ops::Bound;

use anyhow::Result;
use table_runtime::{Error, Stored};
use tests::stores::Store;

use crate::fixtures::{Article, Counter, Legacy, Name, Post, Word, at};

crate::conformance! {
    rows_come_newest_first
    times_are_narrowed_in_their_own_order
    adjacent_ranges_do_not_overlap
    descending_integers_are_narrowed_in_their_own_order
    text_is_narrowed_by_prefix_and_range
    text_before_another_part_keeps_its_order
    a_prefix_determines_the_partition
    eq_matches_the_complete_value
    rows_are_ordered_by_utf16_code_units
    keys_with_a_separator_are_narrowed
    a_prefix_may_be_as_long_as_a_key
    a_bound_outside_the_range_of_keys_is_unbounded
}

fn ids(posts: &[Stored<Post>]) -> Vec<u32> {
    posts.iter().map(|post| post.id).collect()
}

async fn posts(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in [3, 1, 5, 2, 4] {
        store.tables.insert(&Post::numbered("Marcus", number)).await?;
    }
    // Similar partition keys that no query of Marcus may read.
    for author in ["Marcu", "Marcus ", "Marcus2", "marcus"] {
        store.tables.insert(&Post::numbered(author, 3)).await?;
    }
    Ok(())
}

async fn rows_come_newest_first(store: &Store) -> Result<()> {
    posts(store).await?;
    assert_eq!(ids(&Post::by_key("Marcus").all(&store.tables).await?), [5, 4, 3, 2, 1]);
    assert_eq!(ids(&Post::by_key("Marcus").take(2).all(&store.tables).await?), [5, 4]);
    assert_eq!(Post::by_key("Marcus").first(&store.tables).await?.map(|post| post.id), Some(5));
    assert_eq!(Post::by_key("Marcus").count(&store.tables).await?, 5);
    assert_eq!(Post::by_key("nobody").first(&store.tables).await?.map(|post| post.id), None);
    assert_eq!(Post::by_key("Marcus").take(0).count(&store.tables).await?, 0);
    Ok(())
}

async fn times_are_narrowed_in_their_own_order(store: &Store) -> Result<()> {
    posts(store).await?;
    let query = || Post::by_key("Marcus");
    assert_eq!(ids(&query().range(at(2)..at(4)).all(&store.tables).await?), [3, 2]);
    assert_eq!(ids(&query().range(at(2)..=at(4)).all(&store.tables).await?), [4, 3, 2]);
    assert_eq!(ids(&query().range(at(4)..).all(&store.tables).await?), [5, 4]);
    assert_eq!(ids(&query().range(..at(2)).all(&store.tables).await?), [1]);
    assert_eq!(ids(&query().range(..=at(2)).all(&store.tables).await?), [2, 1]);
    assert_eq!(ids(&query().range(..).all(&store.tables).await?), [5, 4, 3, 2, 1]);
    let after = (Bound::Excluded(at(2)), Bound::Included(at(4)));
    assert_eq!(ids(&query().range(after).all(&store.tables).await?), [4, 3]);
    assert_eq!(ids(&query().range(at(4)..at(2)).all(&store.tables).await?), [0; 0]);
    assert_eq!(ids(&query().range(at(3)..at(3)).all(&store.tables).await?), [0; 0]);
    assert_eq!(ids(&query().eq(at(3)).all(&store.tables).await?), [3]);
    assert_eq!(query().eq(at(3)).eq(3).get(&store.tables).await?.map(|post| post.id), Some(3));
    Ok(())
}

async fn adjacent_ranges_do_not_overlap(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    let tick = time::Duration::nanoseconds(100);
    for (number, posted) in [(1, at(1) - tick), (2, at(1)), (3, at(1) + tick)] {
        store.tables.insert(&Post { posted, ..Post::numbered("Marcus", number) }).await?;
    }
    // A bound inside a tick is rounded down to the tick, as a value is.
    for edge in [at(1), at(1) + time::Duration::nanoseconds(99)] {
        assert_eq!(ids(&Post::by_key("Marcus").range(..edge).all(&store.tables).await?), [1]);
        assert_eq!(ids(&Post::by_key("Marcus").range(edge..).all(&store.tables).await?), [3, 2]);
    }
    Ok(())
}

async fn descending_integers_are_narrowed_in_their_own_order(store: &Store) -> Result<()> {
    store.tables.create::<Counter>().await?;
    for number in [0, 1, 9, 10, 65_535] {
        store.tables.insert(&Counter { name: "n".into(), number, count: 0 }).await?;
    }
    let numbers = |counters: Vec<Stored<Counter>>| counters.iter().map(|counter| counter.number).collect::<Vec<_>>();
    assert_eq!(numbers(Counter::by_key("n").all(&store.tables).await?), [65_535, 10, 9, 1, 0]);
    assert_eq!(numbers(Counter::by_key("n").range(1..10).all(&store.tables).await?), [9, 1]);
    assert_eq!(numbers(Counter::by_key("n").range(..=1).all(&store.tables).await?), [1, 0]);
    assert_eq!(numbers(Counter::by_key("n").range(10..).all(&store.tables).await?), [65_535, 10]);
    Ok(())
}

async fn text_is_narrowed_by_prefix_and_range(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    for text in ["", "a", "ab", "abc", "ab~", "ab\u{FFFF}", "ab\u{10FFFF}", "ac", "b", "B", "a/b", "a%", "a'b"] {
        store.tables.insert(&Word { language: "x".into(), text: text.into() }).await?;
    }
    let texts =
        |words: Vec<Stored<Word>>| words.into_iter().map(|word| Stored::into_inner(word).text).collect::<Vec<_>>();
    let query = || Word::by_key("x");
    assert_eq!(
        texts(query().starts_with("ab").all(&store.tables).await?),
        ["ab", "abc", "ab~", "ab\u{10FFFF}", "ab\u{FFFF}"]
    );
    assert_eq!(texts(query().starts_with("a/").all(&store.tables).await?), ["a/b"]);
    assert_eq!(texts(query().starts_with("a'").all(&store.tables).await?), ["a'b"]);
    assert_eq!(query().starts_with("").count(&store.tables).await?, 13);
    assert_eq!(texts(query().range("ab".."ac").all(&store.tables).await?).len(), 5);
    assert_eq!(texts(query().range("abc"..="ac").all(&store.tables).await?)[..1], ["abc"]);
    assert_eq!(texts(query().range("b"..).all(&store.tables).await?), ["b"]);
    assert_eq!(texts(query().range(.."a").all(&store.tables).await?), ["", "B"]);
    assert_eq!(query().eq("").get(&store.tables).await?.map(|word| word.text.len()), Some(0));
    Ok(())
}

async fn text_before_another_part_keeps_its_order(store: &Store) -> Result<()> {
    store.tables.create::<Name>().await?;
    let names = ["Smith", "Smith Jr", "Smith!", "Smith-Jones", "Smith_", "Smithson"];
    for name in names.iter().rev() {
        for number in [i32::MIN, -1, 0, 7, i32::MAX] {
            store.tables.insert(&Name { country: "x".into(), last: (*name).into(), number }).await?;
        }
    }
    let query = || Name::by_key("x");
    let all = query().all(&store.tables).await?;
    let found: Vec<_> = all.iter().map(|row| (row.last.as_str(), row.number)).collect();
    let expected: Vec<_> =
        names.iter().flat_map(|name| [i32::MIN, -1, 0, 7, i32::MAX].map(|number| (*name, number))).collect();
    assert_eq!(found, expected);

    assert_eq!(query().eq("Smith").count(&store.tables).await?, 5);
    assert_eq!(query().eq("Smith").range(-1..7).count(&store.tables).await?, 2);
    assert_eq!(query().eq("Smith").range(..0).count(&store.tables).await?, 2);
    assert_eq!(query().starts_with("Smith").count(&store.tables).await?, 30);
    assert_eq!(query().starts_with("Smith ").count(&store.tables).await?, 5);
    assert_eq!(query().range("Smith".."Smith-Jones").count(&store.tables).await?, 15);
    assert_eq!(query().range("Smith"..="Smith-Jones").count(&store.tables).await?, 20);
    let between = (Bound::Excluded("Smith"), Bound::Excluded("Smith_"));
    assert_eq!(query().range(between).count(&store.tables).await?, 15);
    assert!(query().eq("Smith Jr").eq(-1).exists(&store.tables).await?);
    Ok(())
}

async fn a_prefix_determines_the_partition(store: &Store) -> Result<()> {
    store.tables.create::<Article>().await?;
    let titles = ["Metabolise", "metabolism", "Metabolist", "METAL", "Nebula", "straße", "Strassen", "ﬁne", ""];
    for title in titles {
        store.tables.insert(&Article { title: title.into(), words: 1 }).await?;
    }
    let found = |prefix: &'static str| async move {
        let articles = Article::by_key().starts_with(prefix).all(&store.tables).await?;
        Ok::<_, Error>(articles.into_iter().map(|article| Stored::into_inner(article).title).collect::<Vec<_>>())
    };
    assert_eq!(found("METABOLIS").await?, ["Metabolise", "metabolism", "Metabolist"]);
    assert_eq!(found("m").await?.len(), 4);
    assert_eq!(found("STRASSE").await?, ["straße", "Strassen"]);
    assert_eq!(found("straß").await?, ["straße", "Strassen"]);
    assert_eq!(found("fi").await?, ["ﬁne"]);
    assert_eq!(Article::by_key().starts_with("Metabolis").take(2).all(&store.tables).await?.len(), 2);

    store.probe.requests();
    let error = found("").await.expect_err("the empty prefix has no first character");
    let text = error.to_string();
    assert!(matches!(error, Error::Query(_)) && text.contains("Articles") && text.contains("too short"), "{text}");
    assert_eq!(store.probe.requests(), 0);
    assert!(Article::by_key().eq("").exists(&store.tables).await?, "a whole value is never too short");
    Ok(())
}

async fn eq_matches_the_complete_value(store: &Store) -> Result<()> {
    store.tables.create::<Name>().await?;
    for name in ["a", "a ", "a 0000000001", "a!20", "a_0000000001"] {
        store.tables.insert(&Name { country: "x".into(), last: name.into(), number: 1 }).await?;
    }
    for name in ["a", "a ", "a 0000000001", "a!20", "a_0000000001"] {
        let found = Name::by_key("x").eq(name).all(&store.tables).await?;
        assert_eq!(found.iter().map(|row| row.last.as_str()).collect::<Vec<_>>(), [name]);
    }
    Ok(())
}

async fn rows_are_ordered_by_utf16_code_units(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    let mut texts =
        ["\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "z", "zz", "\u{A0}", "a", "A", ""];
    for text in texts {
        store.tables.insert(&Word { language: "x".into(), text: text.into() }).await?;
        store.tables.insert(&Word { language: format!("y{text}"), text: String::new() }).await?;
    }
    texts.sort_by_key(|text| text.encode_utf16().collect::<Vec<_>>());
    let found = Word::by_key("x").all(&store.tables).await?;
    assert_eq!(found.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), texts);
    let found = Word::scan().all(&store.tables).await?;
    let partitions: Vec<_> = found.iter().filter_map(|word| word.language.strip_prefix('y')).collect();
    assert_eq!(partitions, texts);
    Ok(())
}

async fn keys_with_a_separator_are_narrowed(store: &Store) -> Result<()> {
    store.tables.create::<Legacy>().await?;
    for (name, number, note) in [("a", 1, "x"), ("a", 2, "y_z"), ("a_0001", 1, "x"), ("ab", 1, "")] {
        let row = Legacy { area: "old area!".into(), name: name.into(), number, note: note.into() };
        store.tables.insert(&row).await?;
        assert_eq!(Legacy::key("old area!", name, number, note).get(&store.tables).await?.as_deref(), Some(&row));
    }
    let query = || Legacy::by_key("old area!");
    assert_eq!(query().eq("a").count(&store.tables).await?, 2);
    assert_eq!(query().eq("a").range(2..).count(&store.tables).await?, 1);
    assert_eq!(query().starts_with("a").count(&store.tables).await?, 4);
    assert_eq!(query().eq("a").eq(2).range("y"..).count(&store.tables).await?, 1);
    Ok(())
}

async fn a_prefix_may_be_as_long_as_a_key(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    let begin = "a".repeat(510);
    let texts = ["\u{D7FF}", "\u{D7FF}\u{D7FF}", "\u{D7FF}\u{E000}", "\u{10000}", "\u{E000}"];
    let texts = texts.map(|end| format!("{begin}{end}"));
    for text in &texts {
        store.tables.insert(&Word { language: "x".into(), text: text.clone() }).await?;
    }
    for prefix in &texts {
        let found = Word::by_key("x").starts_with(prefix).all(&store.tables).await?;
        let found: Vec<_> = found.iter().map(|word| word.text.as_str()).collect();
        let expected: Vec<_> = texts.iter().filter(|text| text.starts_with(prefix)).collect();
        assert_eq!(found, expected);
    }
    Ok(())
}

async fn a_bound_outside_the_range_of_keys_is_unbounded(store: &Store) -> Result<()> {
    use chrono::{DateTime, Utc};

    #[derive(table_runtime::TableEntity, Debug)]
    struct Visit {
        #[partition_key]
        site: String,
        #[row_key(reverse_time)]
        at: DateTime<Utc>,
    }

    #[derive(table_runtime::TableEntity, Debug)]
    struct Badge {
        #[partition_key]
        team: String,
        #[row_key(pad = 3)]
        number: u32,
    }

    store.tables.create::<Visit>().await?;
    store.tables.create::<Badge>().await?;
    let now = DateTime::from_timestamp(1_275_004_800, 0).expect("a time");
    store.tables.insert(&Visit { site: "x".into(), at: now }).await?;
    let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    let visits = || Visit::by_key("x");
    assert_eq!(visits().range(now..last).count(&store.tables).await?, 1);
    assert_eq!(visits().range(first..=last).count(&store.tables).await?, 1);
    assert_eq!(visits().range(first..now).count(&store.tables).await?, 0);
    assert_eq!(visits().range(last..).count(&store.tables).await?, 0);
    assert_eq!(visits().range(..first).count(&store.tables).await?, 0);
    assert_eq!(visits().range(last..first).count(&store.tables).await?, 0);
    let page = visits().range(last..).page(&store.tables, 1, None).await?;
    assert_eq!((page.entities.len(), page.next), (0, None));
    // `eq` and `insert` need a key that can be stored.
    let error = visits().eq(last).get(&store.tables).await.expect_err("no key holds it");
    assert!(matches!(error, Error::Key(_)), "{error}");
    let error = store.tables.insert(&Visit { site: "x".into(), at: last }).await.expect_err("no key holds it");
    assert!(matches!(error, Error::Key(_)), "{error}");

    store.tables.insert(&Badge { team: "a".into(), number: 999 }).await?;
    let badges = || Badge::by_key("a");
    assert_eq!(badges().range(5..u32::MAX).count(&store.tables).await?, 1);
    assert_eq!(badges().range(5..=1000).count(&store.tables).await?, 1);
    assert_eq!(badges().range(1000..).count(&store.tables).await?, 0);
    assert_eq!(badges().range((Bound::Excluded(1000), Bound::Unbounded)).count(&store.tables).await?, 0);
    Ok(())
}
