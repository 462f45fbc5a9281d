//! The progress on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::failure::printable;

/// A line with the number of rows, which is shown only on a terminal.
pub(crate) struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Shows what is done, such as `exported`.
    pub(crate) fn new(done: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {human_pos} rows {prefix}, {per_sec} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(done);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Shows the number of rows and the table.
    pub(crate) fn rows(&self, rows: u64, table: &str) {
        self.0.set_position(rows);
        if self.0.message() != table {
            self.0.set_message(table.to_owned());
        }
    }
}

/// Reports the end of a transfer.
pub(crate) fn report(rows: u64, done: &str) {
    eprintln!("{rows} row{} {done}", if rows == 1 { "" } else { "s" });
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Number of skipped rows that are reported, each with its problem.
const REPORTED: usize = 1000;

/// The rows that a transfer has left out, because they exceed a limit.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Skipped {
    rows: u64,
    first: Vec<String>,
}

impl Skipped {
    /// Notes a row by its problem.
    pub(crate) fn add(&mut self, problem: String) {
        self.rows += 1;
        if self.first.len() < REPORTED {
            self.first.push(problem);
        }
    }

    /// Reports the rows, if there are any.
    pub(crate) fn report(&self) {
        for problem in &self.first {
            eprintln!("skipped: {}", printable(problem));
        }
        if self.rows > 0 {
            report(self.rows, "skipped");
        }
    }
}
