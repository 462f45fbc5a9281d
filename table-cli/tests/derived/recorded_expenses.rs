use table_runtime::TableEntity;

/// The entity `expense` of the table `Expenses`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Expenses", kind = "expense", separator = "|", version = 2)]
pub struct Expense {
    #[partition_key]
    pub user: String,
    #[row_key(prefix = "e-")]
    pub id: u32,
    #[row_key(reverse)]
    pub part: i16,
    pub cents: i64,
}

/// The entity `report` of the table `Expenses`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Expenses", kind = "report", row = "report", separator = "|")]
pub struct Report {
    #[partition_key]
    pub user: String,
    pub type_: Option<bool>,
    // Not recorded; inferred from 1 row.
    pub extra: Option<i32>,
}
