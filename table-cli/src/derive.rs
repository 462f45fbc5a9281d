//! `tables derive`: a Rust struct that reads the rows of a table, inferred from these rows.

mod keys;
mod names;
mod properties;

use std::{collections::BTreeMap, fmt::Write as _, io::Write};

use table_runtime::{
    inventory::Inventory,
    row::{RowRef, ValueRef},
    transfer::{ReadPart, RowReader, Selection, TableRow},
};

use crate::{arguments::Derive, failure::Failure, store::Store};
use keys::{Key, Keys};
use names::Names;
use properties::Column;

/// Prints a struct for the rows of each kind of entity in the table.
pub(crate) async fn derive(store: &Store, derive: &Derive, out: &mut impl Write) -> Result<(), Failure> {
    let inventory = store.tables.inventory().await?;
    let mut reader = RowReader::new(&store.tables, Selection::table(&derive.table)).await?;
    let mut rows = Vec::new();
    let mut name = derive.table.clone();
    while (rows.len() as u64) < derive.take
        && let Some(part) = reader.next().await?
    {
        match part {
            ReadPart::Table(table) => name = table,
            ReadPart::Rows { table, rows: page } => {
                let left = usize::try_from(derive.take).unwrap_or(usize::MAX) - rows.len();
                let own = page.iter().filter(|row| is_entity(&inventory, &table, *row));
                rows.extend(own.take(left).map(|row| TableRow::of(&table, row)));
            }
            _ => {}
        }
    }
    if rows.is_empty() {
        return Err(Failure::missing(format!("{name} has no rows of entities from which a struct could be inferred")));
    }
    let mut kinds: BTreeMap<Option<String>, Vec<TableRow>> = BTreeMap::new();
    for row in rows {
        let kind = match row.properties.get("EntityType") {
            Some(ValueRef::String(kind)) => Some(kind.to_owned()),
            _ => None,
        };
        kinds.entry(kind).or_default().push(row);
    }
    let several = kinds.len() > 1;
    let mut text = String::new();
    let mut names = Names::default();
    let structs: Vec<_> = kinds
        .iter()
        .map(|(kind, rows)| {
            let own = kind.as_deref().filter(|_| several || derive.name.is_none()).map(names::type_name);
            let struct_name = own.or_else(|| derive.name.clone()).unwrap_or_else(|| names::singular(&name));
            // Rows without a kind and several kinds may have the same name.
            printed(&name, &names.unused_type(&struct_name), kind.as_deref(), rows)
        })
        .collect();
    let uses = |path: &str| structs.iter().any(|text| text.contains(path));
    if uses(": SystemTime") || uses("<SystemTime>") {
        text.push_str("use std::time::SystemTime;\n\n");
    }
    let guid = if uses(": Guid") || uses("<Guid>") { "{Guid, TableEntity}" } else { "TableEntity" };
    let _ = writeln!(text, "use table_runtime::{guid};\n");
    text.push_str(&structs.join("\n"));
    Ok(out.write_all(text.as_bytes())?)
}

/// Checks whether a row is neither an index's nor that of an insert that is not committed.
fn is_entity(inventory: &Inventory, table: &str, row: RowRef<'_>) -> bool {
    let is_index_row = inventory.identify(table, row).is_some_and(|found| found.layout.index.is_some());
    !is_index_row && !matches!(row.properties.get("IndexPending"), Some(ValueRef::Guid(_)))
}

/// Returns the struct of these rows.
fn printed(table: &str, name: &str, kind: Option<&str>, rows: &[TableRow]) -> String {
    let keys = Keys::infer(rows);
    let columns = properties::columns(rows);
    let mut names = Names::default();
    let mut options = vec![format!("name = {table:?}")];
    if let Some(kind) = kind {
        options.push(format!("kind = {kind:?}"));
    }
    if rows.iter().any(|row| row.properties.get("WriteId").is_some()) {
        options.push("write_id".to_owned());
    }
    let versions: Vec<_> = rows.iter().map(version).collect();
    let newest = versions.iter().copied().max().unwrap_or(1);
    if newest > 1 {
        options.push(format!("version = {newest}"));
    }
    for (name, key) in [("partition", &keys.partition), ("row", &keys.row)] {
        if let Key::Constant(text) = key {
            options.push(format!("{name} = {text:?}"));
        }
    }
    if let Some(separator) = keys.separator {
        options.push(format!("separator = {:?}", separator.to_string()));
    }
    let count = rows.len();
    let mut text =
        format!("/// A row of the table `{table}`, inferred from {count} row{}.\n", if count == 1 { "" } else { "s" });
    if versions.iter().any(|version| *version < newest) {
        text.push_str("// Some rows have an older version: see `from` in the documentation of `TableEntity`.\n");
    }
    let _ =
        write!(text, "#[derive(TableEntity, Clone, Debug)]\n#[table({})]\npub struct {name} {{\n", options.join(", "));
    for (attribute, name, key) in [("partition_key", "partition", &keys.partition), ("row_key", "row", &keys.row)] {
        let Key::Parts { prefix, parts } = key else { continue };
        for (at, part) in parts.iter().enumerate() {
            let mut options = part.options();
            if at == 0 && !prefix.is_empty() {
                options.push(format!("prefix = {prefix:?}"));
            }
            let options = if options.is_empty() { String::new() } else { format!("({})", options.join(", ")) };
            let name = if parts.len() == 1 { name.to_owned() } else { format!("{name}_{}", at + 1) };
            let _ =
                writeln!(text, "    #[{attribute}{options}]\n    pub {}: {},", names.unused(&name), part.rust_type());
        }
    }
    for column in &columns {
        column.print(&mut names, count, &mut text);
    }
    text.push_str("}\n");
    text
}

/// Returns the version of the struct that wrote a row.
fn version(row: &TableRow) -> i32 {
    match row.properties.get("EntityVersion") {
        Some(ValueRef::Int32(version)) => version,
        _ => 1,
    }
}

impl Column {
    /// Appends the field, or a comment if no field can read the property.
    fn print(&self, names: &mut Names, rows: usize, text: &mut String) {
        let Some(rust_type) = self.rust_type() else {
            let types = self.types.iter().copied().collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "    // `{}` is not read: it has values of {types}. `update` keeps it.", self.name);
            return;
        };
        let (field, is_default) = names.field(&self.name);
        if !is_default {
            let _ = writeln!(text, "    #[property(rename = {:?})]", self.name);
        }
        let rust_type = if self.count < rows { format!("Option<{rust_type}>") } else { rust_type.to_owned() };
        let _ = writeln!(text, "    pub {field}: {rust_type},");
    }
}
