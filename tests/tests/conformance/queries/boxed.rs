//! Boxed queries, and functions that take any query of a cost class.

use anyhow::Result;
use table_runtime::{
    BoxedRows, Error, Query, Stored, TableEntity, Tables,
    cost::{AtMost, Range},
    error::ParseCursorError,
};
use tests::stores::Store;

crate::conformance! {
    boxed_queries_return_what_the_queries_return
    the_branches_of_a_match_may_be_different_queries
    a_boxed_point_is_a_query_of_at_most_one_row
    a_function_runs_any_query_of_a_cost_class
    cursors_of_a_boxed_query_are_those_of_the_query
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Songs")]
#[index(newest, partition(artist), row(year(reverse)), copy)]
struct Song {
    #[partition_key]
    artist: String,
    #[row_key]
    number: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    #[index(isrc, unique)]
    isrc: Option<String>,
    year: u16,
    plays: u32,
    mood: Option<String>,
}

fn song(number: u32) -> Song {
    Song {
        artist: "Nina".into(),
        number,
        title: format!("{}", 9 - number),
        isrc: Some(format!("US-{number}")),
        year: if number < 6 { 1960 } else { 1970 },
        plays: number % 3,
        mood: number.is_multiple_of(2).then(|| "blue".to_owned()),
    }
}

async fn filled(store: &Store) -> Result<&Tables> {
    let tables = &store.tables;
    tables.create::<Song>().await?;
    tables.insert_all((0..7).map(song)).await?;
    Ok(tables)
}

fn numbers(songs: &[Stored<Song>]) -> Vec<u32> {
    songs.iter().map(|song| song.number).collect()
}

async fn boxed_queries_return_what_the_queries_return(store: &Store) -> Result<()> {
    let tables = filled(store).await?;
    macro_rules! is_same {
        ($query:expr) => {{
            let boxed = $query.boxed();
            assert_eq!(boxed.explain(), $query.explain());
            let all = $query.all(tables).await?;
            assert!(!all.is_empty());
            assert_eq!(boxed.clone().all(tables).await?, all);
            assert_eq!(boxed.clone().first(tables).await?, $query.first(tables).await?);
            assert_eq!(boxed.clone().count(tables).await?, all.len());
            assert_eq!(boxed.clone().take(2).all(tables).await?, all[..2.min(all.len())]);
            assert_eq!(boxed.clone().stream(tables).try_collect::<Vec<_>>().await?, all);
            let mut each = Vec::new();
            boxed.for_each(tables, |row| each.push(row)).await?;
            assert_eq!(each, all);
        }};
    }
    is_same!(Song::by_key("Nina"));
    is_same!(Song::by_key("Nina").range(2..5));
    is_same!(Song::by_title("Nina"));
    is_same!(Song::by_newest("Nina"));
    is_same!(Song::by_key("Nina").filter(|song| song.plays.ge(1)));
    is_same!(Song::by_title("Nina").filter(|song| song.mood.eq("blue")));
    Ok(())
}

/// Returns a query whose type does not depend on the arguments.
fn songs(order: &str, least: Option<u32>, mood: Option<&str>) -> BoxedRows<Stored<Song>> {
    match (order, least, mood) {
        ("title", None, None) => Song::by_title("Nina").boxed(),
        // Filters of columns that each row has, and of columns that a row may be without.
        (_, Some(least), None) => Song::by_key("Nina").filter(|song| song.plays.ge(least)).boxed(),
        (_, None, Some(mood)) => Song::by_key("Nina").filter(|song| song.mood.eq(mood)).boxed(),
        (_, Some(least), Some(mood)) => {
            Song::by_title("Nina").filter(|song| song.mood.eq(mood).and(song.plays.ge(least))).boxed()
        }
        ("code", None, None) => Song::by_isrc("US-4").boxed(),
        _ => Song::by_key("Nina").boxed(),
    }
}

async fn the_branches_of_a_match_may_be_different_queries(store: &Store) -> Result<()> {
    let tables = filled(store).await?;
    for (query, expected) in [
        (songs("", None, None), vec![0, 1, 2, 3, 4, 5, 6]),
        (songs("title", None, None), vec![6, 5, 4, 3, 2, 1, 0]),
        (songs("", Some(2), None), vec![2, 5]),
        (songs("", None, Some("blue")), vec![0, 2, 4, 6]),
        (songs("title", Some(1), Some("blue")), vec![4, 2]),
        (songs("code", None, None), vec![4]),
    ] {
        assert_eq!(numbers(&query.clone().all(tables).await?), expected, "{}", query.explain());
        assert_eq!(query.count(tables).await?, expected.len());
    }
    Ok(())
}

async fn a_boxed_point_is_a_query_of_at_most_one_row(store: &Store) -> Result<()> {
    let tables = filled(store).await?;
    for (point, expected) in [
        (Song::key("Nina", 3).boxed(), Some(3)),
        (Song::key("Nina", 33).boxed(), None),
        (Song::by_isrc("US-5").boxed(), Some(5)),
        (Song::by_isrc("US-55").boxed(), None),
    ] {
        let found = Vec::from_iter(expected);
        assert_eq!(numbers(&point.clone().all(tables).await?), found);
        assert_eq!(point.clone().first(tables).await?.map(|song| song.number), expected);
        assert_eq!(point.clone().count(tables).await?, found.len());
        assert_eq!(point.clone().take(0).count(tables).await?, 0);
        assert!(point.clone().take(0).all(tables).await?.is_empty());
        assert_eq!(numbers(&point.clone().stream(tables).try_collect::<Vec<_>>().await?), found);
        let page = point.clone().page(tables, 1, None).await?;
        assert_eq!((numbers(&page.entities), page.next), (found, None));
        let cursor = Song::by_key("Nina").page(tables, 1, None).await?.next;
        let error = point.clone().page(tables, 1, cursor.as_deref()).await.expect_err("a cursor of another query");
        assert!(matches!(error, Error::Cursor(ParseCursorError::OtherQuery)), "{error}");
        assert!(matches!(point.page(tables, 0, None).await, Err(Error::Query(_))));
    }
    Ok(())
}

/// Runs a query that costs at most a range.
async fn cheap<Q>(tables: &Tables, query: Q) -> Result<(Vec<Q::Item>, usize)>
where
    Q: Query<Entity = Song, Cost: AtMost<Range>> + Clone,
{
    Ok((query.clone().all(tables).await?, query.count(tables).await?))
}

async fn a_function_runs_any_query_of_a_cost_class(store: &Store) -> Result<()> {
    let tables = filled(store).await?;
    let (songs, count) = cheap(tables, Song::by_key("Nina").range(..3)).await?;
    assert_eq!((numbers(&songs), count), (vec![0, 1, 2], 3));
    let (songs, count) = cheap(tables, Song::key("Nina", 6)).await?;
    assert_eq!((numbers(&songs), count), (vec![6], 1));
    let (copies, _) = cheap(tables, Song::by_newest("Nina").take(1)).await?;
    assert_eq!(copies[0].number, 6);
    Ok(())
}

async fn cursors_of_a_boxed_query_are_those_of_the_query(store: &Store) -> Result<()> {
    let tables = filled(store).await?;
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = Song::by_title("Nina").boxed().page(tables, 3, cursor.as_deref()).await?;
        found.extend(numbers(&page.entities));
        let Some(next) = page.next else { break };
        assert_eq!(
            Song::by_title("Nina").page(tables, 3, Some(&next)).await?.entities,
            Song::by_title("Nina").boxed().page(tables, 3, Some(&next)).await?.entities,
        );
        cursor = Some(next);
    }
    assert_eq!(found, [6, 5, 4, 3, 2, 1, 0]);
    Ok(())
}
