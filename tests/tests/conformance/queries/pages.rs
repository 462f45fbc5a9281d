//! Many rows: pages, cursors and streams.

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt};
use table_runtime::{EntityGroup, Error, Projection, TableEntity, error::ParseCursorError};
use tests::stores::Store;
use time::OffsetDateTime;

use crate::fixtures::{Article, Name, Post, Word, at};

crate::conformance! {
    pages_hold_every_row_once
    a_cursor_resumes_after_its_row
    a_cursor_of_another_query_is_refused
    a_cursor_holds_how_many_rows_take_allows
    a_damaged_cursor_is_refused
    a_scan_resumes_across_partitions
    a_stream_reads_a_page_at_a_time
    all_reads_more_than_one_page
    a_page_has_no_cursor_if_no_further_row_matches
}

async fn posts(store: &Store, count: u32) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in 0..count {
        store.tables.insert(&Post::numbered("Marcus", number)).await?;
    }
    Ok(())
}

async fn pages_hold_every_row_once(store: &Store) -> Result<()> {
    posts(store, 10).await?;
    for size in [1, 3, 5, 9, 10, 11] {
        let (mut ids, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = Post::by_key("Marcus").page(&store.tables, size, cursor.as_deref()).await?;
            assert!(page.len() <= size && page.is_empty() == page.entities.is_empty());
            assert!((0..page.len()).all(|at| page[at] == page.entities[at]));
            for post in &page {
                ids.push(post.id);
            }
            pages += 1;
            cursor = page.next;
            let Some(cursor) = &cursor else { break };
            assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{cursor}");
        }
        assert_eq!(ids, (0..10).rev().collect::<Vec<_>>());
        assert!(pages <= 10_usize.div_ceil(size) + 1, "{pages} pages of {size}");
    }
    let page = Post::by_key("nobody").page(&store.tables, 5, None).await?;
    assert!(page.entities.is_empty() && page.next.is_none());
    let error = Post::by_key("Marcus").page(&store.tables, 0, None).await.expect_err("a page of no rows has no end");
    assert!(matches!(error, Error::Query(_)), "{error}");
    Ok(())
}

async fn a_cursor_resumes_after_its_row(store: &Store) -> Result<()> {
    posts(store, 10).await?;
    let query = || Post::by_key("Marcus").range(at(2)..);
    let page = query().page(&store.tables, 3, None).await?;
    let next = page.next.clone();
    assert_eq!(page.into_iter().map(|post| post.id).collect::<Vec<_>>(), [9, 8, 7]);
    // The cursor's own row and rows around it are deleted, others are inserted before and after it.
    for id in [7, 6, 8] {
        store.tables.remove(Post::key("Marcus", at(id), id)).await?;
    }
    store.tables.insert(&Post::numbered("Marcus", 20)).await?;
    store.tables.insert(&Post { id: 100, ..Post::numbered("Marcus", 4) }).await?;
    let page = query().page(&store.tables, 10, next.as_deref()).await?;
    assert_eq!(page.entities.iter().map(|post| post.id).collect::<Vec<_>>(), [5, 4, 100, 3, 2]);
    assert_eq!(page.next, None);
    Ok(())
}

#[derive(Projection, Debug)]
#[projection(of = Post)]
struct Titled {
    #[allow(dead_code)]
    title: String,
}

/// Projection with the same properties and a field of the key.
#[derive(Projection, Debug)]
#[projection(of = Post)]
struct TitledBy {
    #[allow(dead_code)]
    author: String,
    #[allow(dead_code)]
    title: String,
}

#[derive(TableEntity, Debug)]
#[table(name = "Posts")]
struct Comment {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: OffsetDateTime,
    #[row_key]
    id: u32,
    #[row_key]
    number: u32,
}

/// Posts and their comments.
#[derive(EntityGroup, Debug)]
enum Posts {
    #[allow(dead_code)]
    Post(Post),
    #[allow(dead_code)]
    Comment(Comment),
}

async fn a_cursor_of_another_query_is_refused(store: &Store) -> Result<()> {
    posts(store, 5).await?;
    store.tables.create::<Name>().await?;
    store.tables.create::<Article>().await?;
    let query = || Post::by_key("Marcus").range(at(0)..at(9));
    let next = query().page(&store.tables, 2, None).await?.next;
    let refused = |result: table_runtime::Result<usize>| match result {
        Err(Error::Cursor(ParseCursorError::OtherQuery)) => {}
        other => panic!("{other:?}"),
    };
    let (tables, cursor) = (&store.tables, next.as_deref());
    store.probe.requests();
    refused(Post::by_key("marcus").range(at(0)..at(9)).page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(Post::by_key("Marcus").range(at(1)..at(9)).page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(Post::by_key("Marcus").range(at(0)..=at(9)).page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(Post::by_key("Marcus").page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(query().filter(|post| post.likes.ge(1)).page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(Name::by_key("Marcus").page(tables, 2, cursor).await.map(|page| page.entities.len()));
    refused(Article::scan().page(tables, 2, cursor).await.map(|page| page.entities.len()));
    assert_eq!(store.probe.requests(), 0);
    let whole = Post::by_key("Marcus").page(tables, 2, None).await?.next;
    let with_comments = Posts::by_key("Marcus").page(tables, 2, whole.as_deref());
    refused(with_comments.await.map(|page| page.entities.len()));
    // What is read of each row makes no difference: a program may add a field to its projection.
    let whole = query().page(tables, 2, cursor).await?;
    let titles = query().select::<Titled>().page(tables, 2, cursor).await?;
    let with_authors = query().select::<TitledBy>().page(tables, 2, cursor).await?;
    assert_eq!((titles.entities.len(), &titles.next), (2, &whole.next));
    assert_eq!((with_authors.entities.len(), &with_authors.next), (2, &whole.next));
    // The size of a page may change.
    assert_eq!(query().page(tables, 3, cursor).await?.entities.len(), 3);
    Ok(())
}

async fn a_cursor_holds_how_many_rows_take_allows(store: &Store) -> Result<()> {
    posts(store, 10).await?;
    let query = || Post::by_key("Marcus").take(5);
    let first = query().page(&store.tables, 3, None).await?;
    assert_eq!(first.entities.len(), 3);
    let second = query().page(&store.tables, 3, first.next.as_deref()).await?;
    assert_eq!(second.entities.iter().map(|post| post.id).collect::<Vec<_>>(), [6, 5]);
    assert_eq!(second.next, None);
    for query in [Post::by_key("Marcus"), Post::by_key("Marcus").take(4)] {
        let error = query.page(&store.tables, 3, first.next.as_deref()).await.expect_err("it may take other rows");
        assert!(matches!(error, Error::Cursor(ParseCursorError::OtherQuery)), "{error}");
    }
    Ok(())
}

async fn a_damaged_cursor_is_refused(store: &Store) -> Result<()> {
    posts(store, 5).await?;
    let cursor = Post::by_key("Marcus").page(&store.tables, 2, None).await?.next.expect("there are more");
    store.probe.requests();
    let mut damaged = vec![String::new(), "x".into(), "?".into(), cursor.replace(&cursor[..1], "")];
    for at in 0..cursor.len() {
        let other = if &cursor[at..=at] == "A" { "B" } else { "A" };
        damaged.push(format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]));
        damaged.push(cursor[..at].to_owned());
    }
    for text in damaged {
        let error = Post::by_key("Marcus").page(&store.tables, 2, Some(&text)).await.expect_err(&text);
        assert!(matches!(error, Error::Cursor(ParseCursorError::Damaged)), "{text}: {error}");
    }
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

async fn a_scan_resumes_across_partitions(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    let mut expected = Vec::new();
    for language in ["", "de", "en", "en-GB", "\u{10000}", "\u{FFFF}"] {
        for text in ["", "a", "b"] {
            store.tables.insert(&Word { language: language.into(), text: text.into() }).await?;
            expected.push((language, text));
        }
    }
    for size in 1..=7 {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Word::scan().page(&store.tables, size, cursor.as_deref()).await?;
            found.extend(page.entities.iter().map(|word| (word.language.clone(), word.text.clone())));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let found: Vec<_> = found.iter().map(|(language, text)| (language.as_str(), text.as_str())).collect();
        assert_eq!(found, expected, "pages of {size}");
    }
    Ok(())
}

async fn a_stream_reads_a_page_at_a_time(store: &Store) -> Result<()> {
    posts(store, 6).await?;
    store.probe.requests();
    let mut stream = Post::by_key("Marcus").stream(&store.tables);
    assert_eq!(store.probe.requests(), 0, "nothing is read before it is asked for");
    let first = stream.next().await.transpose()?.expect("there are posts");
    assert_eq!((first.id, store.probe.requests()), (5, 1));
    let rest: Vec<_> = stream.map_ok(|post| post.id).try_collect().await?;
    assert_eq!((rest.as_slice(), store.probe.requests()), ([4, 3, 2, 1, 0].as_slice(), 0));
    Ok(())
}

/// Number of rows: more than two pages of the service.
const ROWS: usize = 2_050;

async fn all_reads_more_than_one_page(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    let inserts = (0..ROWS).map(|number| {
        let tables = store.tables.clone();
        async move { tables.insert(&Word { language: "n".into(), text: format!("{number:06}") }).await }
    });
    futures_util::stream::iter(inserts).buffer_unordered(64).try_collect::<Vec<_>>().await?;
    store.probe.requests();

    let all = Word::by_key("n").all(&store.tables).await?;
    assert_eq!((all.len(), store.probe.requests()), (ROWS, 3));
    assert!(all.is_sorted_by(|left, right| left.text < right.text));
    assert_eq!((Word::by_key("n").count(&store.tables).await?, store.probe.requests()), (ROWS, 3));
    let streamed: Vec<_> = Word::by_key("n").stream(&store.tables).try_collect().await?;
    assert_eq!((streamed.len(), store.probe.requests()), (ROWS, 3));
    assert_eq!((Word::by_key("n").take(1_000).all(&store.tables).await?.len(), store.probe.requests()), (1_000, 1));
    assert_eq!((Word::by_key("n").take(1_001).all(&store.tables).await?.len(), store.probe.requests()), (1_001, 2));
    let mut stream = Word::by_key("n").take(10).stream(&store.tables);
    while stream.try_next().await?.is_some() {}
    assert_eq!(store.probe.requests(), 1);
    let page = Word::by_key("n").page(&store.tables, 1_500, None).await?;
    assert_eq!((page.entities.len(), store.probe.requests()), (1_500, 2));
    let page = Word::by_key("n").page(&store.tables, 1_500, page.next.as_deref()).await?;
    assert_eq!((page.entities.len(), page.next, store.probe.requests()), (550, None, 1));
    Ok(())
}

/// Entity in a table where rows of another kind are between its own.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Animals", kind)]
struct Cat {
    #[partition_key]
    house: String,
    #[row_key]
    id: u32,
    age: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Animals", kind)]
struct Dog {
    #[partition_key]
    house: String,
    #[row_key]
    id: u32,
}

async fn a_page_has_no_cursor_if_no_further_row_matches(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Cat>().await?;
    tables.create::<Dog>().await?;
    let cat = |id: u32| Cat { house: "h".into(), id, age: id };
    let dogs = |ids: std::ops::Range<u32>| ids.map(|id| Dog { house: "h".into(), id });
    tables.insert_all([1, 2, 5, 6].map(cat)).await?;
    tables.insert_all(dogs(3..5).chain(dogs(7..30))).await?;
    tables.insert(&Cat { house: "i".into(), ..cat(1) }).await?;

    for size in [1, 2, 3, 4, 5] {
        let (mut ids, mut pages, mut cursor) = (Vec::new(), 0, None);
        loop {
            let page = Cat::by_key("h").page(tables, size, cursor.as_deref()).await?;
            ids.extend(page.entities.iter().map(|cat| cat.id));
            pages += 1;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((ids.as_slice(), pages), ([1, 2, 5, 6].as_slice(), 4_usize.div_ceil(size)), "pages of {size}");
    }
    // With a filter and in a range, no further row matches.
    let young = || Cat::by_key("h").filter(|cat| cat.age.le(2));
    assert_eq!(young().page(tables, 2, None).await?.next, None);
    let first = young().page(tables, 1, None).await?;
    let second = young().page(tables, 1, first.next.as_deref()).await?;
    assert_eq!((second.entities.len(), second.next), (1, None));
    assert_eq!(Cat::by_key("h").range(1..=5).page(tables, 3, None).await?.next, None);
    assert!(Cat::by_key("h").range(1..=6).page(tables, 3, None).await?.next.is_some());
    Ok(())
}
