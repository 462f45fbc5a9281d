//! `tables show`, `get` and `count`.

use std::io::Write;

use table_runtime::{
    inventory::Inventory,
    row::RowRef,
    transfer::{Line, ReadPart, TableRow},
};

use crate::{
    arguments::{self, Show},
    failure::{Failure, printable},
    list,
    rows::{Choice, Of, Rows},
    store::Store,
};

/// Number of characters after which a value is cut.
const CHARACTERS: usize = 40;

impl arguments::RowArguments {
    fn choice(&self) -> Choice<'_> {
        let (name, partition) = (Some(&*self.table), self.partition.as_deref());
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        Choice { name, of: Of::entities(self.entities), partition, from, to, ..Choice::default() }
    }
}

/// Shows rows as a table, with a column for each property that one of them has.
pub(crate) async fn show(store: &Store, show: &Show, out: &mut impl Write) -> Result<(), Failure> {
    let inventory = store.inventory().await?.unwrap_or_default();
    let choice = Choice { limit: Some(show.limit), as_stored: true, ..show.rows.choice() };
    let mut reader = Rows::open(store, choice).await?;
    let mut shown: Vec<TableRow> = Vec::new();
    while (shown.len() as u64) < show.limit
        && let Some(part) = reader.next().await?
    {
        if let ReadPart::Rows { table, rows } = part {
            let left = usize::try_from(show.limit).unwrap_or(usize::MAX) - shown.len();
            shown.extend(rows.iter().take(left).map(|row| TableRow::of(&table, row)));
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in shown.iter().flat_map(|row| &row.properties) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let cut = |text: &str| if show.whole { printable(text) } else { shortened(&printable(text)) };
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
        None if inventory.is_event(&row.table, row_key) => ("event".to_owned(), String::new()),
        None => ("?".to_owned(), String::new()),
        Some(found) if found.layout.index.is_some() => {
            (format!("{} by {}", found.entity.name, found.layout.name), found.to_string())
        }
        Some(found) => (found.entity.name.clone(), found.to_string()),
    }
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
    let (from, to) = (Some(row), Some(row));
    let choice = Choice { name: Some(table), partition: Some(partition), from, to, ..Choice::default() };
    let mut reader = Rows::open(store, choice).await?;
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
pub(crate) async fn count(store: &Store, rows: &arguments::RowArguments, out: &mut impl Write) -> Result<(), Failure> {
    Ok(writeln!(out, "{}", count_rows(store, rows.choice()).await?)?)
}

/// Returns the number of rows.
pub(crate) async fn count_rows(store: &Store, choice: Choice<'_>) -> Result<u64, Failure> {
    Rows::open(store, Choice { keys_only: true, ..choice }).await?.count().await
}
