use table_runtime::TableEntity;

/// A row of the table `Mixed`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Mixed", kind = "invoice")]
pub struct Invoice {
    #[partition_key]
    pub partition: String,
    #[row_key(pad = 6)]
    pub row: u32,
    // `Total` is not read: it has values of Edm.Double, Edm.String. `update` keeps it.
}

/// A row of the table `Mixed`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Mixed", kind = "line item")]
pub struct LineItem {
    #[partition_key]
    pub partition: String,
    #[row_key(pad = 6)]
    pub row_1: u32,
    #[row_key(pad = 2)]
    pub row_2: u32,
    pub name: Option<String>,
}
