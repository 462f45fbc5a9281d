//! The position of a job, as the text of its cursors.

use serde::{Deserialize, Serialize};
use table_model::LayoutInfo;
use table_store::error::ParseCursorError;
use twox_hash::XxHash3_64;

use super::hashes::HashRange;
use crate::{
    admin::scan::RowRange,
    read::cursor::{seal, unseal},
};

/// Maximum length of a cursor in bytes. It fits a property of the service.
const TEXT: usize = 64 * 1024;

/// What a job has not done yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobPosition {
    /// The hash of the job and its layouts.
    pub job: u64,
    /// The partitions that it was asked for.
    pub asked: String,
    /// Number of the pass, from 1.
    pub pass: usize,
    /// The hashes of the pass.
    pub hashes: HashRange,
    pub phase: Phase,
    /// The rows of the phase that are not done, in order.
    pub left: Vec<RowRange>,
    /// Whether the job has left a conflict.
    pub has_conflicts: bool,
    /// The version of the catalog's record to which the job is bound, if it is.
    pub version: Option<String>,
    /// Number of the lines that a load has read; 0 for other jobs.
    pub lines: u64,
}

/// The scans of a pass, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// All entities: the rows that they should have.
    Entities,
    /// All index rows.
    IndexRows,
    /// Entities again, until all of those are found whose rows are missing.
    Missing,
}

impl JobPosition {
    /// Returns the position of a job with one pass that has rows left.
    pub fn of(job: u64, asked: String, left: Vec<RowRange>) -> Self {
        let (pass, hashes, phase) = (1, HashRange::ALL, Phase::Entities);
        Self { job, asked, pass, hashes, phase, left, has_conflicts: false, version: None, lines: 0 }
    }

    /// Reads a position, which comes from outside of the program. Its ranges cannot lead out of the job's sections.
    pub fn parse(cursor: &str, job: u64) -> Result<Self, ParseCursorError> {
        let position: Self = unseal(cursor)?;
        let is_ordered =
            position.left.windows(2).all(|pair| pair[1].from.as_ref().is_some_and(|from| *from >= pair[0].to))
                && position.left.iter().all(|range| range.from.as_ref().is_none_or(|from| *from < range.to));
        if position.job != job || position.pass == 0 || !position.hashes.is_valid() || !is_ordered {
            return Err(ParseCursorError::OtherQuery);
        }
        Ok(position)
    }

    /// Returns the position as text. If it has so many parts that the text would be too long, some of what is done is done
    /// again.
    pub fn text(mut self) -> Option<String> {
        loop {
            let text = seal(&self)?;
            if text.len() <= TEXT || self.left.len() < 2 {
                return Some(text);
            }
            let merged =
                |pair: &[RowRange]| RowRange { from: pair[0].from.clone(), to: pair[pair.len() - 1].to.clone() };
            self.left = self.left.chunks(2).map(merged).collect();
        }
    }
}

/// Returns the hash that binds cursors to a job over these layouts.
pub fn hash_job<'a>(job: &str, layouts: impl IntoIterator<Item = &'a LayoutInfo>) -> u64 {
    // Everything that is recorded of a layout, its content and prefixes included.
    let layouts: Vec<_> = layouts.into_iter().filter_map(|layout| serde_json::to_string(layout).ok()).collect();
    hash_described(job, &layouts.join("\n"))
}

/// Returns the hash that binds cursors to a job over what this text describes.
pub fn hash_described(job: &str, described: &str) -> u64 {
    XxHash3_64::oneshot(format!("{job}\n{described}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::scan::{Point, ScanPlace, includes};

    fn place(number: usize) -> ScanPlace {
        let (partition_key, row_key) = (format!("{number:0>500}"), Some("k".repeat(500)));
        ScanPlace { layout: 0, table: "T".to_owned(), point: Some(Point { partition_key, row_key }) }
    }

    #[test]
    fn a_position_with_many_parts_fits_and_leaves_no_row_out() -> Result<(), ParseCursorError> {
        let left: Vec<_> =
            (0..300).map(|number| RowRange { from: Some(place(2 * number)), to: place(2 * number + 1) }).collect();
        let text = JobPosition::of(7, String::new(), left).text().expect("it can be written");
        assert!(text.len() <= TEXT, "{} bytes", text.len());
        let read = JobPosition::parse(&text, 7)?;
        for number in 0..300 {
            let key = format!("{:0>500}", 2 * number + 1);
            assert!(includes(&read.left, 0, "T", (&key, "a")), "{number}");
        }
        Ok(())
    }

    #[test]
    fn a_position_of_another_job_or_out_of_order_is_refused() {
        let ordered = RowRange { from: Some(place(1)), to: place(2) };
        let reversed = RowRange { from: Some(place(2)), to: place(1) };
        for (job, left, is_read) in [
            (7, vec![ordered.clone()], true),
            (8, vec![ordered.clone()], false),
            (7, vec![reversed], false),
            (7, vec![ordered.clone(), ordered], false),
        ] {
            let text = JobPosition::of(job, String::new(), left.clone()).text().expect("it can be written");
            assert_eq!(JobPosition::parse(&text, 7).is_ok(), is_read, "{left:?}");
        }
    }
}
