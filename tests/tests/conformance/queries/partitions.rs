//! Queries of several partitions, by the order of their keys.

use std::{
    collections::BTreeSet,
    ops::Bound::{self, Excluded, Included, Unbounded},
};

use anyhow::Result;
use futures_util::TryStreamExt;
use table_runtime::{Error, TableEntity, Tables};
use tests::stores::Store;

use crate::fixtures::Word;

crate::conformance! {
    a_range_of_partitions_holds_their_rows_and_no_others
    a_range_of_the_first_of_several_parts_holds_all_their_partitions
    partitions_of_descending_numbers_are_narrowed_in_their_own_order
    a_filter_and_a_cursor_work_in_a_range_of_partitions
    a_cursor_does_not_leave_the_range_of_its_partitions
    partitions_are_listed_with_a_request_for_each
    only_partitions_with_an_entity_are_listed
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logs", kind)]
struct Log {
    #[partition_key]
    day: String,
    #[row_key]
    line: u32,
    level: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logs", kind)]
struct Note {
    #[partition_key]
    day: String,
    #[row_key(prefix = "note-")]
    number: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Visit {
    #[partition_key]
    site: String,
    #[partition_key(reverse)]
    year: u16,
    #[row_key]
    number: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Round {
    #[partition_key(reverse)]
    season: u16,
    #[row_key]
    number: u32,
}

async fn logs(store: &Store) -> Result<&Tables> {
    let tables = &store.tables;
    tables.create::<Log>().and::<Note>().await?;
    for day in ["2025-12-31", "2026-01-01", "2026-01-02", "2026-01-31", "2026-02-01", "2026-02-02"] {
        tables.insert_all((0..3).map(|line| Log { day: day.into(), line, level: line })).await?;
        tables.insert(&Note { day: day.into(), number: 1 }).await?;
    }
    Ok(tables)
}

async fn a_range_of_partitions_holds_their_rows_and_no_others(store: &Store) -> Result<()> {
    let tables = logs(store).await?;
    store.probe.requests();
    let january = Log::by_partitions("2026-01".."2026-02").all(tables).await?;
    assert_eq!(store.probe.requests(), 1);
    let days: Vec<_> = january.iter().map(|log| (&*log.day, log.line)).collect();
    let expected = ["2026-01-01", "2026-01-02", "2026-01-31"].map(|day| [(day, 0), (day, 1), (day, 2)]);
    assert_eq!(days, expected.concat());
    for (count, expected) in [
        (Log::by_partitions(..="2026-01-01").count(tables).await?, 6),
        (Log::by_partitions("2026-02-01"..).count(tables).await?, 6),
        (Log::by_partitions("2026-01-31"..="2026-02-01").count(tables).await?, 6),
        (Log::by_partitions(..).count(tables).await?, 18),
        (Log::by_partitions("2026-02".."2026-01").count(tables).await?, 0),
        (Note::by_partitions("2026-01".."2026-02").count(tables).await?, 3),
    ] {
        assert_eq!(count, expected);
    }
    let explain = Log::by_partitions("2026-01".."2026-02").explain();
    assert_eq!(
        explain.to_string(),
        "partition range of Logs, 1 request at least, also for rows of other kinds between them: PartitionKey ge \
         '2026-01' and PartitionKey lt '2026-02' and (EntityType eq 'Log')"
    );
    assert_eq!(explain.partitions(), None);
    Ok(())
}

fn visit(site: &str, year: u16, number: u32) -> Visit {
    Visit { site: site.into(), year, number }
}

async fn a_range_of_the_first_of_several_parts_holds_all_their_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Visit>().await?;
    for site in ["a", "a b", "ab", "b", "b c", "c"] {
        for year in [2010, 2011] {
            tables.insert(&visit(site, year, 1)).await?;
        }
    }
    let sites = async |range: (Bound<&str>, Bound<&str>)| -> Result<Vec<String>> {
        let visits = Visit::by_partitions(range).all(tables).await?;
        let sites: BTreeSet<_> = visits.iter().map(|visit| visit.site.clone()).collect();
        assert_eq!(visits.len(), 2 * sites.len());
        Ok(sites.into_iter().collect())
    };
    assert_eq!(sites((Included("a"), Excluded("b"))).await?, ["a", "a b", "ab"]);
    assert_eq!(sites((Included("a"), Included("b"))).await?, ["a", "a b", "ab", "b"]);
    assert_eq!(sites((Excluded("a"), Included("b"))).await?, ["a b", "ab", "b"]);
    assert_eq!(sites((Excluded("b"), Unbounded)).await?, ["b c", "c"]);
    Ok(())
}

async fn partitions_of_descending_numbers_are_narrowed_in_their_own_order(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Round>().await?;
    tables.insert_all((2000..2010).map(|season| Round { season, number: 1 })).await?;
    let seasons = Round::by_partitions(2003..2006).all(tables).await?;
    assert_eq!(seasons.iter().map(|round| round.season).collect::<Vec<_>>(), [2005, 2004, 2003]);
    let newest = Round::by_partitions(2003..).first(tables).await?;
    assert_eq!(newest.map(|round| round.season), Some(2009));
    Ok(())
}

async fn a_filter_and_a_cursor_work_in_a_range_of_partitions(store: &Store) -> Result<()> {
    let tables = logs(store).await?;
    let query = || Log::by_partitions("2026-01-02".."2026-02-02").filter(|log| log.level.ge(1));
    assert_eq!(query().explain().cost(), "partition range");
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = query().page(tables, 4, cursor.as_deref()).await?;
        found.extend(page.entities.into_iter().map(|log| (log.day.clone(), log.line)));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expected = ["2026-01-02", "2026-01-31", "2026-02-01"].map(|day| [(day.to_owned(), 1), (day.to_owned(), 2)]);
    assert_eq!(found, expected.concat());
    Ok(())
}

async fn a_cursor_does_not_leave_the_range_of_its_partitions(store: &Store) -> Result<()> {
    let tables = logs(store).await?;
    let query = |to| Log::by_partitions("2026-01-02"..to);
    let next = query("2026-02").page(tables, 2, None).await?.next.expect("there are more");
    let rest = query("2026-02").page(tables, 100, Some(&next)).await?;
    assert_eq!(rest.entities.iter().map(|log| log.line).collect::<Vec<_>>(), [2, 0, 1, 2]);
    assert!(matches!(query("2026-03").page(tables, 2, Some(&next)).await, Err(Error::Cursor(_))));
    Ok(())
}

async fn partitions_are_listed_with_a_request_for_each(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Word>().await?;
    for language in ["de", "en", "\u{10000}", "\u{E000}"] {
        let words = (0..30).map(|number| Word { language: language.into(), text: format!("{number:02}") });
        tables.insert_all(words).await?;
    }
    store.probe.requests();
    let first: Vec<_> = tables.partitions::<Word>().map_ok(|word| word.language.clone()).try_collect().await?;
    // By UTF-16 unit.
    assert_eq!(first, ["de", "en", "\u{10000}", "\u{E000}"]);
    assert_eq!(store.probe.requests(), 5);
    Ok(())
}

async fn only_partitions_with_an_entity_are_listed(store: &Store) -> Result<()> {
    let tables = logs(store).await?;
    Log::by_partitions("2026-01".."2026-02").delete_all(tables).await?;
    let days: Vec<_> = tables.partitions::<Log>().map_ok(|log| log.day.clone()).try_collect().await?;
    assert_eq!(days, ["2025-12-31", "2026-02-01", "2026-02-02"]);
    let days: Vec<_> = tables.partitions::<Note>().map_ok(|note| note.day.clone()).try_collect().await?;
    assert_eq!(days.len(), 6);
    Ok(())
}
