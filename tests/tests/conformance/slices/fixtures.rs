//! A log in slices, and helpers of the cases about slices.

use anyhow::Result;
use table_runtime::{Stored, TableEntity, Tables, slices::Sliced};
use time::{OffsetDateTime, macros::datetime};

pub(crate) const MAY: OffsetDateTime = datetime!(2010-05-31 23:59:59.9999999 UTC);
pub(crate) const JUNE: OffsetDateTime = datetime!(2010-06-01 00:00 UTC);
pub(crate) const AUGUST: OffsetDateTime = datetime!(2010-08-15 12:00 UTC);
pub(crate) const JANUARY: OffsetDateTime = datetime!(2011-01-01 00:00 UTC);

/// Log line, newest first, with a table for each month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Log", slice = month(at), allow_scan)]
pub(crate) struct Line {
    #[partition_key]
    pub(crate) machine: String,
    #[row_key(reverse_time)]
    pub(crate) at: OffsetDateTime,
    #[row_key]
    pub(crate) number: u32,
    pub(crate) text: String,
}

pub(crate) fn line(at: OffsetDateTime, number: u32) -> Line {
    Line { machine: "a".to_owned(), at, number, text: format!("line {number}") }
}

pub(crate) fn numbers(lines: &[Stored<Line>]) -> Vec<u32> {
    lines.iter().map(|line| line.number).collect()
}

/// Returns the table names of the slices.
pub(crate) async fn slices<E: Sliced>(tables: &Tables) -> Result<Vec<String>> {
    Ok(tables.slices::<E>().await?.into_iter().map(|slice| slice.table).collect())
}

/// Inserts two lines in each of four months.
pub(crate) async fn lines(tables: &Tables) -> Result<()> {
    tables.create::<Line>().await?;
    for (at, number) in [JANUARY, AUGUST, JUNE, MAY].into_iter().zip([0, 2, 4, 6]) {
        tables.insert(&line(at, number)).await?;
        tables.insert(&line(at, number + 1)).await?;
    }
    Ok(())
}
