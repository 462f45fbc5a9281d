use table_runtime::TableEntity;

/// A row of the table `Tasks`, inferred from 1 row.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Tasks")]
pub struct Task {
    #[partition_key]
    pub partition: String,
    #[row_key(pad = 6)]
    pub row: u32,
    pub done: bool,
}

/// A row of the table `Tasks`, inferred from 1 row.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Tasks", kind = "task")]
pub struct Task2 {
    #[partition_key]
    pub partition: String,
    #[row_key(pad = 6)]
    pub row: u32,
    pub name: String,
}
