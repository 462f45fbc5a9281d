//! `tables derive`: a Rust struct that reads the rows of a table, as the catalog records it, or inferred from the rows.

mod keys;
mod names;
mod properties;
mod recorded;

use std::{collections::BTreeMap, fmt::Write as _, io::Write};

use table_runtime::{
    inventory::{Inventory, RecordedEntity},
    layout::LayoutInfo,
    row::ValueRef,
    transfer::{ReadPart, TableRow},
};

use crate::{
    arguments::Derive,
    failure::Failure,
    rows::{Choice, Rows},
    store::Store,
};
use keys::{Key, Keys};
use names::Names;
use properties::Column;

/// Prints a struct for each entity that the catalog records in the table, and for each kind of other rows.
pub(crate) async fn derive(store: &Store, derive: &Derive, out: &mut impl Write) -> Result<(), Failure> {
    if let Some(name) = derive.name.as_deref().filter(|name| !names::is_type_name(name)) {
        return Err(Failure::input(format!("`{name}` is no name of a struct, or one that the printed text uses")));
    }
    let read = store.inventory().await?;
    let is_catalog_read = read.is_some();
    let inventory = read.unwrap_or_default();
    let Sample { table, recorded, others, is_part } = Sample::read(store, &inventory, derive).await?;
    let mut found: Vec<_> = recorded.into_values().collect();
    found.retain(|(entity, _)| entity.primary().is_some());
    let mut kinds: BTreeMap<Option<String>, Vec<TableRow>> = BTreeMap::new();
    for row in others {
        let kind = match row.properties.get("EntityType") {
            Some(ValueRef::String(kind)) => Some(kind.to_owned()),
            _ => None,
        };
        kinds.entry(kind).or_default().push(row);
    }
    let several = found.len() + kinds.len() > 1;
    let mut names = Names::default();
    let name = |own: Option<&str>, names: &mut Names| {
        let own = own.filter(|_| several || derive.name.is_none()).map(names::type_name);
        let name = own.or_else(|| derive.name.clone()).unwrap_or_else(|| names::singular(&table));
        // Rows without a kind and several kinds may have the same name.
        names.unused_type(&name)
    };
    let mut structs = Vec::new();
    for (entity, rows) in &found {
        let name = name(Some(&entity.name), &mut names);
        structs.extend(recorded::printed(&inventory, entity, &name, rows, is_part, &mut names));
    }
    structs.extend(
        kinds
            .iter()
            .map(|(kind, rows)| printed(&table, &name(kind.as_deref(), &mut names), kind.as_deref(), rows, is_part)),
    );
    if structs.is_empty() {
        let index = inventory.layouts_in(&table).into_iter().find(|(_, layout)| layout.index.is_some());
        let why = match index {
            Some((entity, layout)) => format!("has the rows of the index `{}`; derive {}", layout.name, entity.name),
            None => "has no rows of entities from which a struct could be inferred".to_owned(),
        };
        return Err(Failure::missing(format!("{table} {why}")));
    }
    let has = |word: &str| structs.iter().any(|text| text.contains(word));
    let mut text = String::new();
    if !is_catalog_read {
        text.push_str("// The credential may not read the catalog, so index rows are treated as entities.\n");
    }
    if has(": SystemTime") || has("<SystemTime>") {
        text.push_str("use std::time::SystemTime;\n\n");
    }
    let guid = has(": Guid") || has("<Guid>");
    let used = [(guid, "Guid"), (has("derive(KeyPart"), "KeyPart, Property"), (true, "TableEntity")];
    let used: Vec<_> = used.into_iter().filter(|(is_used, _)| *is_used).map(|(_, path)| path).collect();
    let used = if let [only] = used.as_slice() { (*only).to_owned() } else { format!("{{{}}}", used.join(", ")) };
    let _ = writeln!(text, "use table_runtime::{used};\n");
    text.push_str(&structs.join("\n"));
    Ok(out.write_all(text.as_bytes())?)
}

/// Rows of a table or an entity.
struct Sample<'i> {
    table: String,
    /// The recorded entities with their rows, by their positions.
    recorded: BTreeMap<usize, (&'i RecordedEntity, Vec<TableRow>)>,
    /// Rows of entities that are not recorded.
    others: Vec<TableRow>,
    /// True if there are more rows.
    is_part: bool,
}

impl<'i> Sample<'i> {
    async fn read(store: &Store, inventory: &'i Inventory, derive: &Derive) -> Result<Self, Failure> {
        let choice = Choice { name: Some(&derive.table), as_stored: true, without_events: true, ..Choice::default() };
        let mut reader = Rows::open(store, choice).await?;
        let mut sample =
            Self { table: derive.table.clone(), recorded: BTreeMap::new(), others: Vec::new(), is_part: false };
        let only = reader.entity();
        for (at, entity) in inventory.entities.iter().enumerate() {
            let is_in_table = |layout: &LayoutInfo| layout.has_table(&derive.table);
            if only.map_or_else(|| entity.primary().is_some_and(is_in_table), |only| only == at) {
                sample.recorded.insert(at, (entity, Vec::new()));
            }
        }
        let mut left = derive.limit;
        while let Some(part) = reader.next().await? {
            let (table, rows) = match part {
                ReadPart::Table(table) => {
                    sample.table = table;
                    continue;
                }
                ReadPart::Rows { table, rows } => (table, rows),
                _ => continue,
            };
            for row in rows.iter().filter(|row| inventory.is_entity(&table, *row)) {
                if left == 0 {
                    sample.is_part = true;
                    return Ok(sample);
                }
                left -= 1;
                let entity = inventory.identify(&table, row).map(|found| found.entity);
                let mut known = sample.recorded.values_mut();
                let rows = match known.find(|(known, _)| entity.is_some_and(|entity| std::ptr::eq(entity, *known))) {
                    Some((_, rows)) => rows,
                    None => &mut sample.others,
                };
                rows.push(TableRow::of(&table, row));
            }
        }
        Ok(sample)
    }
}

/// Returns the struct of these rows. What is the same in a part of the rows may differ in the others, and a constant would
/// hide them.
fn printed(table: &str, name: &str, kind: Option<&str>, rows: &[TableRow], is_part: bool) -> String {
    let keys = Keys::infer(rows, is_part);
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
    let plural = if count == 1 { "" } else { "s" };
    let which = if is_part { format!("the first {count} row{plural} only") } else { format!("{count} row{plural}") };
    let mut text = format!("/// A row of the table `{table}`, inferred from {which}.\n");
    if is_part {
        text.push_str("// The other rows may lack a property, or have another type: see `--limit`.\n");
    }
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
