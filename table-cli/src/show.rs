//! `tables show`, `get` and `count`.

use std::io::Write;

use table_runtime::{
    inventory::Inventory,
    row::RowRef,
    transfer::{Line, ReadPart, RowReader, Selection, TableRow},
};

use crate::{
    arguments::{Rows, Show},
    export::selection,
    failure::Failure,
    list,
    store::Store,
};

/// Number of characters after which a value is cut.
const CHARACTERS: usize = 40;

impl Rows {
    fn selection(&self) -> Selection {
        selection(Some(&self.table), self.partition.as_deref()).row_keys(self.from.clone(), self.to.clone())
    }
}

/// Shows rows as a table, with a column for each property that one of them has.
pub(crate) async fn show(store: &Store, show: &Show, out: &mut impl Write) -> Result<(), Failure> {
    let inventory = store.tables.inventory().await?;
    let page = u32::try_from(show.take.clamp(1, 1000)).unwrap_or(1000);
    let mut reader = RowReader::new(&store.tables, show.rows.selection().page(page)).await?;
    let mut shown: Vec<TableRow> = Vec::new();
    while (shown.len() as u64) < show.take
        && let Some(part) = reader.next().await?
    {
        if let ReadPart::Rows { table, rows } = part {
            let left = usize::try_from(show.take).unwrap_or(usize::MAX) - shown.len();
            shown.extend(rows.iter().take(left).map(|row| TableRow::of(&table, row)));
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in shown.iter().flat_map(|row| &row.properties) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let cut = |text: &str| if show.whole { one_line(text) } else { shortened(&one_line(text)) };
    let mut printed = list::table(["of", "key", "PartitionKey", "RowKey"].into_iter().chain(names.iter().copied()));
    for row in &shown {
        let (of, key) = identified(&inventory, row);
        let mut cells = vec![of, cut(&key), cut(&row.partition_key), cut(&row.row_key)];
        for name in &names {
            cells.push(row.properties.get(name).map(|value| cut(&value.to_text())).unwrap_or_default());
        }
        printed.add_row(cells);
    }
    list::print(&printed, out)
}

/// Returns the entity or the index that a row belongs to, and its decoded key.
fn identified(inventory: &Inventory, row: &TableRow) -> (String, String) {
    let etag = table_runtime::ETag::from(table_runtime::Ticks::UNIX_EPOCH);
    let (partition_key, row_key, properties) = (&*row.partition_key, &*row.row_key, row.properties.as_ref());
    let timestamp = table_runtime::Ticks::UNIX_EPOCH;
    let stored = RowRef { partition_key, row_key, properties, etag: &etag, timestamp };
    match inventory.identify(&row.table, stored) {
        None => ("?".to_owned(), String::new()),
        Some(found) if found.layout.index.is_some() => {
            (format!("{} by {}", found.entity.name, found.layout.name), found.to_string())
        }
        Some(found) => (found.entity.name.clone(), found.to_string()),
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{FFFD}' } else { character }).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Prints a row.
pub(crate) async fn get(
    store: &Store,
    table: &str,
    partition: &str,
    row: &str,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let selection = Selection::partition(table, partition).row_keys(Some(row.to_owned()), Some(row.to_owned()));
    let mut reader = RowReader::new(&store.tables, selection).await?;
    while let Some(part) = reader.next().await? {
        if let ReadPart::Rows { table, rows } = part
            && let Some(row) = rows.get(0)
        {
            let mut line = Vec::new();
            Line::Row(TableRow::of(&table, row)).write(&mut line);
            return Ok(out.write_all(&line)?);
        }
    }
    Err(Failure::missing(format!("{table} has no row with the keys {partition:?} and {row:?}")))
}

/// Prints the number of rows.
pub(crate) async fn count(store: &Store, rows: &Rows, out: &mut impl Write) -> Result<(), Failure> {
    Ok(writeln!(out, "{}", count_rows(store, rows.selection()).await?)?)
}

/// Returns the number of rows.
pub(crate) async fn count_rows(store: &Store, selection: Selection) -> Result<u64, Failure> {
    let mut reader = RowReader::new(&store.tables, selection.keys_only()).await?;
    while reader.next().await?.is_some() {}
    Ok(reader.rows())
}
