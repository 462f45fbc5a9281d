//! `tables list`.

use std::{collections::BTreeMap, io::Write};

use comfy_table::{Table, presets};
use table_runtime::{inventory::Inventory, layout::LayoutInfo, transfer::ReadPart};

use crate::{
    failure::Failure,
    rows::{CATALOG, Choice, Rows, is_forbidden},
    show,
    store::Store,
};

/// Lists tables, entities and indexes.
pub(crate) async fn list(store: &Store, rows: bool, out: &mut impl Write) -> Result<(), Failure> {
    let (inventory, is_part) = match (store.tables.inventory().await, &store.signed_table) {
        // A signature for one table shows no other table and no catalog. If it is not valid, this is read.
        (Err(error), Some(table)) if is_forbidden(&error) => {
            let choice = Choice { name: Some(table), limit: Some(1), keys_only: true, ..Choice::default() };
            let mut reader = Rows::open(store, choice).await?;
            while let Some(ReadPart::Table(_)) = reader.next().await? {}
            let mut inventory = Inventory::default();
            inventory.tables.push(table.clone());
            (inventory, true)
        }
        (inventory, _) => (inventory?, false),
    };
    let mut counts = BTreeMap::new();
    if rows || store.is_file {
        for table in &inventory.tables {
            counts.insert(
                table.as_str(),
                show::count_rows(store, Choice { name: Some(table), ..Choice::default() }).await?,
            );
        }
    }
    let mut printed = table(["table", "rows", "entity", "layout", "state", "partition key", "row key"]);
    for name in &inventory.tables {
        let count = counts.get(name.as_str()).map(u64::to_string).unwrap_or_default();
        let layouts = inventory.layouts_in(name);
        if layouts.is_empty() {
            let what = match name.as_str() {
                CATALOG => "(the catalog)",
                "TableEvents" => "(the marks of events)",
                _ if is_part => "(the signature shows no catalog)",
                _ => "(not recorded)",
            };
            printed.add_row([name.as_str(), &count, what, "", "", "", ""]);
        }
        for (at, (entity, layout)) in layouts.into_iter().enumerate() {
            let (first, count) = if at == 0 { (name.as_str(), count.as_str()) } else { ("", "") };
            let moved = entity.moved.as_ref().map(|place| format!(", moved to {place}")).unwrap_or_default();
            let [partition, row] = key_texts(layout);
            let state = format!("{}{moved}", entity.state(&layout.name));
            printed.add_row([first, count, &entity.name, &layout_text(layout), &state, &partition, &row]);
        }
    }
    // Layouts whose tables do not exist, because nothing was written to them yet or they were deleted.
    for entity in &inventory.entities {
        for layout in entity.layouts.iter().filter(|layout| inventory.tables_of(layout).is_empty()) {
            let [partition, row] = key_texts(layout);
            let name = format!("{} (missing)", layout.table);
            let state = entity.state(&layout.name).to_string();
            printed.add_row([name.as_str(), "", &entity.name, &layout_text(layout), &state, &partition, &row]);
        }
    }
    print(&printed, out)
}

/// Creates a table without lines, whose columns have these names.
pub(crate) fn table<'a>(names: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(names);
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table
}

/// Prints a table, without the spaces at the ends of its lines.
pub(crate) fn print(table: &Table, out: &mut impl Write) -> Result<(), Failure> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn layout_text(layout: &LayoutInfo) -> String {
    let Some(index) = &layout.index else { return layout.name.to_string() };
    let unique = if index.unique { ", unique" } else { "" };
    let when = index.when.as_ref().map(|when| format!(", when {}", when.path)).unwrap_or_default();
    format!("{}{unique}{when}", layout.name)
}

/// Returns the keys as `id-{id: pad = 4}`.
fn key_texts(layout: &LayoutInfo) -> [String; 2] {
    let separator = layout.separator.unwrap_or(' ').to_string();
    layout.keys().map(|(prefix, parts)| {
        let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
        format!("{prefix}{}", parts.join(&separator))
    })
}
