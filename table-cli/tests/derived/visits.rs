use table_runtime::TableEntity;

/// A row of the table `Visits`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Visits", separator = "|")]
pub struct Visit {
    #[partition_key(raw)]
    pub partition: String,
    #[row_key]
    pub row_1: String,
    #[row_key]
    pub row_2: u32,
    #[row_key]
    pub row_3: String,
}
