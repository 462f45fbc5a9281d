//! The measurement of works, and the table of their times.

use std::{
    fmt::Write as _,
    hint::black_box,
    time::{Duration, Instant},
};

/// Number of passes over all lines, so that a moment in which the machine is busy concerns every line a little.
const PASSES: u32 = 5;

/// A work that is repeated, with the preparation of its input, which is not measured.
type Work = Box<dyn FnMut() -> Sample>;

/// The cost of a work once.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) time: Duration,
    /// Number of requests, if they are counted.
    pub(crate) requests: Option<usize>,
}

/// Returns the time that a work takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> Sample {
    let begun = Instant::now();
    black_box(work());
    Sample { time: begun.elapsed(), requests: None }
}

/// A line of the table: the same work in each column.
pub(crate) struct Line {
    title: String,
    /// Number of items of one sample, such as rows.
    items: u32,
    /// Number of samples of each column in a pass.
    samples: u32,
    columns: Vec<Column>,
}

#[derive(Default)]
struct Column {
    /// `None` if the column is empty.
    work: Option<Work>,
    samples: Vec<Sample>,
}

impl Line {
    pub(crate) fn new(title: impl Into<String>, items: u32, samples: u32) -> Self {
        Self { title: title.into(), items, samples, columns: Vec::new() }
    }

    /// Adds the next column.
    pub(crate) fn column(mut self, work: impl FnMut() -> Sample + 'static) -> Self {
        self.columns.push(Column { work: Some(Box::new(work)), samples: Vec::new() });
        self
    }

    /// Leaves the next column empty.
    pub(crate) fn skip(mut self) -> Self {
        self.columns.push(Column::default());
        self
    }

    /// Takes the samples of one pass. Each column goes first equally often.
    fn measure(&mut self) {
        for sample in 0..self.samples as usize {
            for n in 0..self.columns.len() {
                let column = (sample + n) % self.columns.len();
                let Column { work, samples } = &mut self.columns[column];
                samples.extend(work.as_mut().map(|work| work()));
            }
        }
    }

    /// Runs each work once, which fills caches, and is not counted.
    fn warm_up(&mut self) {
        for work in self.columns.iter_mut().filter_map(|column| column.work.as_mut()) {
            work();
        }
    }

    /// Returns the median time of an item in seconds, or `None` if the column is empty.
    pub(crate) fn median(&self, column: usize) -> Option<f64> {
        let mut times: Vec<_> = self.columns.get(column)?.samples.iter().map(|sample| sample.time).collect();
        times.sort_unstable();
        Some(times.get(times.len() / 2)?.as_secs_f64() / f64::from(self.items))
    }

    /// Returns the mean number of requests of an item, or `None` if they are not counted.
    fn requests(&self, column: usize) -> Option<f64> {
        let samples = &self.columns.get(column)?.samples;
        let requests = samples.iter().map(|sample| sample.requests).sum::<Option<usize>>()?;
        let items = u64::from(self.items) * u64::try_from(samples.len()).ok()?;
        #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
        (items > 0).then(|| requests as f64 / items as f64)
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Returns the ratio of a column's median time to that of the first column; `None` for that one, and for an empty
    /// column.
    pub(crate) fn ratio(&self, column: usize) -> Option<f64> {
        Some(self.median(column).filter(|_| column > 0)? / self.median(0)?)
    }

    /// Returns the cell: the time of an item, its ratio to the first column, and the requests of an item.
    fn cell(&self, column: usize) -> String {
        let Some(time) = self.median(column) else { return String::new() };
        let ratio = self.ratio(column).map(|ratio| format!(" ({ratio:.2}×)"));
        let requests = self.requests(column).map(|requests| format!(" [{requests:.3}]"));
        [Some(unit(time)), ratio, requests].into_iter().flatten().collect()
    }
}

fn unit(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        ..1e-3 => format!("{:.2} µs", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}

/// Measures the lines, and prints them as a table in Markdown. Returns the table.
pub(crate) fn print(titles: &[&str], lines: &mut [Line]) -> String {
    lines.iter_mut().for_each(Line::warm_up);
    for _ in 0..PASSES {
        lines.iter_mut().for_each(Line::measure);
    }
    let mut table = format!("| | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for line in lines {
        let cells: Vec<_> = (0..titles.len()).map(|column| line.cell(column)).collect();
        let _ = writeln!(table, "| {} | {} |", line.title, cells.join(" | "));
    }
    print!("{table}");
    table
}
