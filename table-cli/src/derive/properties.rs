//! The properties of rows, and the types of fields that read them.

use std::collections::BTreeSet;

use table_runtime::{row::ValueRef, transfer::TableRow};

/// Properties that the attributes of the struct write, and that of a pending insert, which no struct can have, and their
/// types. With another type, they are another program's.
pub(super) const OWN: [(&str, &str); 5] = [
    ("EntityType", "Edm.String"),
    ("EntityVersion", "Edm.Int32"),
    ("WriteId", "Edm.Guid"),
    ("IndexPending", "Edm.Guid"),
    ("EventAt", "Edm.Int64"),
];

/// A property of some rows.
pub(super) struct Column {
    pub(super) name: String,
    /// The service's names of the types of its values.
    pub(super) types: BTreeSet<&'static str>,
    /// Number of rows that have it.
    pub(super) count: usize,
}

/// Returns the properties of the rows, in the order in which they are found.
pub(super) fn columns(rows: &[TableRow]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let is_other = |(name, value): &(&str, ValueRef<'_>)| !OWN.contains(&(name, value.edm_type()));
    for (name, value) in rows.iter().flat_map(|row| &row.properties).filter(is_other) {
        let at = columns.iter().position(|column| column.name == name).unwrap_or(columns.len());
        if at == columns.len() {
            columns.push(Column { name: name.to_owned(), types: BTreeSet::new(), count: 0 });
        }
        columns[at].types.insert(value.edm_type());
        columns[at].count += 1;
    }
    columns
}

impl Column {
    /// Returns the type that reads each value exactly; `None` if there is none.
    pub(super) fn rust_type(&self) -> Option<&'static str> {
        if OWN.iter().any(|(name, _)| self.name == *name) {
            return None;
        }
        let types: Vec<_> = self.types.iter().copied().collect();
        Some(match types.as_slice() {
            ["Edm.String"] => "String",
            ["Edm.Binary"] => "Vec<u8>",
            ["Edm.Boolean"] => "bool",
            ["Edm.Int32"] => "i32",
            ["Edm.Int32", "Edm.Int64"] | ["Edm.Int64"] => "i64",
            // A double holds every `Edm.Int32`.
            ["Edm.Double", "Edm.Int32"] | ["Edm.Double"] => "f64",
            ["Edm.Guid"] => "Guid",
            ["Edm.DateTime"] => "SystemTime",
            _ => return None,
        })
    }
}
