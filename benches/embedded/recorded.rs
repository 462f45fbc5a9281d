//! The table of `docs/performance.md`, with which a run is compared.

use std::{collections::HashMap, fs, io};

use crate::report::Line;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/performance.md");
/// The begin of the table's first line.
const TABLE: &str = "| | table-runtime | bare redb |";
/// A ratio that falls below this part of the recorded one is printed.
const LEAST: f64 = 0.9;

/// Returns the text before the table, the table, and the text after it.
fn split(text: &str) -> io::Result<(&str, &str, &str)> {
    let missing = || io::Error::other(format!("{FILE} has no table that begins with {TABLE:?}"));
    let begin = text.find(TABLE).ok_or_else(missing)?;
    let end = text[begin..].find("\n\n").map_or(text.len(), |length| begin + length + 1);
    Ok((&text[..begin], &text[begin..end], &text[end..]))
}

/// Replaces the table of the document.
pub(crate) fn record(table: &str) -> io::Result<()> {
    let text = fs::read_to_string(FILE)?;
    let (before, _, after) = split(&text)?;
    fs::write(FILE, format!("{before}{table}{after}"))
}

/// Prints which ratios are worse than those of the document by more than a tenth, and which lines it lacks.
pub(crate) fn compare(titles: &[&str], lines: &[Line]) -> io::Result<()> {
    let text = fs::read_to_string(FILE)?;
    let (_, table, _) = split(&text)?;
    let recorded: HashMap<_, Vec<_>> = table
        .lines()
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            (cells.next().unwrap_or_default(), cells.map(ratio).collect())
        })
        .collect();
    println!("\nRatios that are below {LEAST} of the recorded ones:\n");
    let mut found = false;
    for line in lines {
        let Some(recorded) = recorded.get(line.title()) else {
            found = true;
            println!("- {}: not recorded", line.title());
            continue;
        };
        for (column, title) in titles.iter().enumerate() {
            let (Some(now), Some(&Some(recorded))) = (line.ratio(column), recorded.get(column)) else { continue };
            if now < recorded * LEAST {
                found = true;
                println!("- {}: {title} takes {now:.2}× our time, {recorded:.2}× when recorded", line.title());
            }
        }
    }
    if !found {
        println!("None.");
    }
    Ok(())
}

/// Returns the ratio of a cell, such as `1.09 µs (0.76×) [1.000]`.
fn ratio(cell: &str) -> Option<f64> {
    cell.split_once('(')?.1.split_once('×')?.0.parse().ok()
}
