//! The stored rows that the pages of the guide show: as a table in the page, and as a picture beside it.
//!
//! The program of a page ends with a hidden call of [`shows`]. It compares the rows of the program's store with the
//! table between `<!-- rows: begin -->` and `<!-- rows: end -->` in `table-runtime/src/guide/{page}.md`, and with the
//! picture `table-runtime/src/guide/{page}.svg`. `TABLE_GUIDE=overwrite cargo test --doc` writes both again.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::PathBuf};

use table_runtime::{
    Tables,
    inventory::{IdentifiedRow, Inventory},
    layout::Holds,
    row::ValueRef,
    transfer::{ReadPart, RowReader, Selection},
};

use crate::{documented, picture};

/// The table of the catalog, whose rows no page shows.
const CATALOG: &str = "TableLayouts";

/// A table of a store.
pub(crate) struct ShownTable {
    pub(crate) name: String,
    /// The rows, in key order.
    pub(crate) rows: Vec<ShownRow>,
}

/// A stored row.
pub(crate) struct ShownRow {
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
    /// Names and values of the properties, in the order of the row.
    pub(crate) properties: Vec<(String, String)>,
    /// The values in the keys, such as `author=Marcus id=7`.
    pub(crate) values: String,
    /// The entity to which the row belongs.
    pub(crate) entity: String,
    /// The index to which the row belongs; `None` for the row of an entity.
    pub(crate) index: Option<String>,
    /// The entities that the row of an index leads to: the positions of their table and row.
    pub(crate) leads_to: Vec<(usize, usize)>,
    key: EntityKey,
}

/// Identifies the entity of a row.
enum EntityKey {
    /// Whole values of the fields of its key.
    Fields(BTreeMap<String, String>),
    /// Row keys in the row's own partition.
    RowKeys(Vec<String>),
}

/// Checks that the page shows the rows of the store.
///
/// # Panics
/// Panics if the store cannot be read, or if the page shows other rows and `TABLE_GUIDE` is not `overwrite`.
pub async fn shows(page: &str, tables: &Tables) {
    let shown = read(tables).await;
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../table-runtime/src/guide"));
    compare(&folder.join(format!("{page}.svg")), &picture::draw(&shown));
    has(page, "rows", &table(&shown));
}

/// Checks that the page has this text between the comments `<!-- name: begin -->` and `<!-- name: end -->`.
///
/// # Panics
/// Panics if the page has another text, and `TABLE_GUIDE` is not `overwrite`.
pub fn has(page: &str, name: &str, shown: &str) {
    documented::shows(&format!("table-runtime/src/guide/{page}.md"), name, "TABLE_GUIDE", shown).unwrap();
}

/// Compares a file with its right content, or writes it.
fn compare(path: &PathBuf, right: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    if env::var("TABLE_GUIDE").is_ok_and(|value| value == "overwrite") {
        fs::write(path, right).unwrap();
    } else {
        let path = path.display();
        assert!(
            found == right,
            "{path} does not show the stored rows; TABLE_GUIDE=overwrite writes it again:\n{right}"
        );
    }
}

/// Returns the rows as a table of Markdown.
fn table(tables: &[ShownTable]) -> String {
    let mut text = "| row | PartitionKey | RowKey | other properties |\n|---|---|---|---|\n".to_owned();
    let code = |text: &str| match text {
        "" => "(empty)".to_owned(),
        text => format!("`{}`", text.replace('|', "\\|")),
    };
    for (table, row) in tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))) {
        let (partition, key) = (code(&row.partition_key), code(&row.row_key));
        let properties = row.properties.iter().map(|(name, value)| format!("{name} {}", code(value)));
        let properties = properties.collect::<Vec<_>>().join(", ");
        let of = match &row.index {
            Some(index) => format!("index `{index}`"),
            None => format!("`{}`", row.entity),
        };
        writeln!(text, "| {of} in `{}` | {partition} | {key} | {properties} |", table.name).unwrap();
    }
    text
}

/// Reads all rows but those of the catalog.
async fn read(tables: &Tables) -> Vec<ShownTable> {
    let inventory = tables.inventory().await.unwrap();
    let mut reader = RowReader::new(tables, Selection::all()).await.unwrap();
    let mut shown: Vec<ShownTable> = Vec::new();
    while let Some(part) = reader.next().await.unwrap() {
        match part {
            ReadPart::Table(name) => shown.push(ShownTable { name, rows: Vec::new() }),
            ReadPart::Rows { table, rows } if table != CATALOG => {
                let rows = rows.iter().map(|row| {
                    let properties = row.properties.map(|(name, value)| (name.to_owned(), text_of(value)));
                    let properties: Vec<_> = properties.filter(|(name, _)| name != "WriteId").collect();
                    let identified = inventory.identify(&table, row).expect("a page shows rows of entities");
                    shown_row(row.partition_key, row.row_key, properties, &identified)
                });
                shown.last_mut().unwrap().rows.extend(rows);
            }
            _ => {}
        }
    }
    shown.retain(|table| table.name != CATALOG);
    // Tables of entities come before those of their indexes.
    shown.sort_by_key(|table| table.rows.iter().all(|row| row.index.is_some()) && is_of_index(&inventory, &table.name));
    link(&mut shown);
    shown
}

fn is_of_index(inventory: &Inventory, table: &str) -> bool {
    inventory.layouts_in(table).iter().all(|(_, layout)| layout.index.is_some())
}

fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::DateTime(time) => time.to_string().replace(".0000000Z", "Z"),
        value => value.to_text(),
    }
}

fn shown_row(
    partition_key: &str,
    row_key: &str,
    properties: Vec<(String, String)>,
    identified: &IdentifiedRow<'_>,
) -> ShownRow {
    let index = identified.layout.index.as_ref();
    let whole = identified.partition.iter().chain(&identified.row).filter(|part| part.is_whole);
    let mut fields: BTreeMap<String, String> = whole.map(|part| (part.field.clone(), part.value.clone())).collect();
    let property = |name: &str| properties.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
    for pointer in index.iter().flat_map(|index| &*index.pointer) {
        fields.extend(property(&pointer.name).map(|value| (pointer.field.to_string(), value)));
    }
    let key = if index.is_some_and(|index| index.holds == Holds::List) {
        let ids = property("IndexedEntities").unwrap_or_default();
        let ids = ids.trim_matches(['[', ']']).split(',').map(|id| id.trim_matches('"').to_owned());
        EntityKey::RowKeys(ids.collect())
    } else {
        EntityKey::Fields(fields)
    };
    ShownRow {
        partition_key: partition_key.to_owned(),
        row_key: row_key.to_owned(),
        properties,
        values: identified.to_string(),
        entity: identified.entity.name.clone(),
        index: index.map(|_| identified.layout.name.to_string()),
        leads_to: Vec::new(),
        key,
    }
}

/// Sets the entities that the rows of indexes lead to.
fn link(tables: &mut [ShownTable]) {
    let mut links = Vec::new();
    for (at_table, table) in tables.iter().enumerate() {
        for (at_row, row) in table.rows.iter().enumerate().filter(|(_, row)| row.index.is_some()) {
            let found = tables.iter().enumerate().flat_map(|(to_table, table)| {
                let rows = table.rows.iter().enumerate().filter(|(_, other)| is_entity_of(row, other));
                rows.map(move |(to_row, _)| (to_table, to_row))
            });
            links.push((at_table, at_row, found.collect::<Vec<_>>()));
        }
    }
    for (table, row, leads_to) in links {
        assert!(!leads_to.is_empty(), "{} leads to no entity", tables[table].rows[row].row_key);
        tables[table].rows[row].leads_to = leads_to;
    }
}

fn is_entity_of(row: &ShownRow, other: &ShownRow) -> bool {
    if other.index.is_some() || other.entity != row.entity {
        return false;
    }
    match (&row.key, &other.key) {
        (EntityKey::RowKeys(keys), _) => row.partition_key == other.partition_key && keys.contains(&other.row_key),
        (EntityKey::Fields(fields), EntityKey::Fields(entity)) => {
            let mut both = entity.iter().filter_map(|(field, value)| Some((fields.get(field)?, value))).peekable();
            both.peek().is_some() && both.all(|(one, other)| one == other)
        }
        (EntityKey::Fields(_), EntityKey::RowKeys(_)) => false,
    }
}
