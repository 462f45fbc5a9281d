use table_runtime::TableEntity;

/// A row of the table `Orders`, inferred from 3 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Orders", partition = "all")]
pub struct Order {
    #[row_key(pad = 6, prefix = "order-")]
    pub row_1: u32,
    #[row_key(pad = 4)]
    pub row_2: u32,
    pub cents: i64,
    // `IndexPending` is not read: it has values of Edm.String. `update` keeps it.
}
