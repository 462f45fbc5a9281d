//! The progress on standard error.

use std::{
    fmt,
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::{Deserialize, Serialize};
use table_runtime::jobs::{Job, JobKind, Progress, Swept};

use crate::failure::{Failure, printable};

/// The line if the number of rows is known.
const BAR: &str = "{bar:30} {human_pos} {prefix}, {rate}, {eta} left";

/// A line with the number of rows, which is shown only on a terminal.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    /// The failure of what a page of a job has called.
    failure: Mutex<Option<Failure>>,
}

/// The progress of a job, as the line shows it.
pub(crate) trait Shown {
    /// Returns the number of rows, and an estimate of the number that is left.
    fn shown(&self) -> (usize, Option<usize>);
}

impl Shown for Progress {
    fn shown(&self) -> (usize, Option<usize>) {
        // A transfer counts rows, and any other job entities and index rows.
        (self.rows + self.entities + self.index_rows, self.rows_left)
    }
}

impl Shown for Swept {
    fn shown(&self) -> (usize, Option<usize>) {
        (self.found, None)
    }
}

impl ProgressLine {
    /// Shows what is done, such as `rows exported`.
    pub(crate) fn new(done: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        set_template(&bar, "{spinner} {human_pos} {prefix}, {rate} {msg}");
        bar.set_prefix(done);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, failure: Mutex::default() }
    }

    /// Shows the part that is done of so many rows, and the time left.
    pub(crate) fn of(self, rows: u64) -> Self {
        set_template(&self.bar, BAR);
        self.bar.set_length(rows);
        self
    }

    /// Shows the number of rows and the table.
    pub(crate) fn rows(&self, rows: u64, table: &str) {
        self.bar.set_position(rows);
        if self.bar.message() != table {
            self.bar.set_message(table.to_owned());
        }
    }

    /// Shows the number of rows, and the time left if the number of rows that are left is known.
    fn show(&self, (rows, left): (usize, Option<usize>)) {
        self.bar.set_position(rows as u64);
        if let Some(left) = left {
            if self.bar.length().is_none() {
                set_template(&self.bar, BAR);
            }
            self.bar.set_length((rows + left) as u64);
        }
    }

    /// Checks whether there is a terminal that shows the line.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Prints while the line is not shown.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Makes the job show its progress, and call the function after each page. [`watch`](Self::watch) returns the
    /// function's failure.
    pub(crate) fn follow<'a, K: JobKind<Progress: Shown>>(
        &'a self,
        job: Job<'a, K>,
        mut on_page: impl FnMut(&K::Progress) -> Result<(), Failure> + Send + 'a,
    ) -> Job<'a, K> {
        job.progress(move |progress| {
            self.show(progress.shown());
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            // The job may do more before it is stopped. Its position is not saved any more.
            if failure.is_none() {
                *failure = on_page(progress).err();
            }
        })
    }

    /// Waits for a job that the line [follows](Self::follow), or for a part of it. Stops it after a failure of the
    /// function that its pages call.
    pub(crate) async fn watch<F: IntoFuture>(&self, future: F) -> Result<F::Output, Failure> {
        let mut future = pin!(future.into_future());
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(failure) => Poll::Ready(Err(failure)),
                None => polled.map(Ok),
            }
        })
        .await
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A text takes everything.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        };
        bar.set_style(style.with_key("rate", rate));
    }
}

/// Reports the end of a transfer.
pub(crate) fn report(rows: u64, done: &str) {
    eprintln!("{rows} row{} {done}", if rows == 1 { "" } else { "s" });
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
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

    /// Returns the number of rows that were noted since then.
    pub(crate) fn since(&self, before: &Self) -> u64 {
        self.rows - before.rows
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
