use table_runtime::TableEntity;

/// A row of the table `Posts`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub partition: String,
    #[row_key(pad = 4)]
    pub row: u32,
    pub title: String,
    pub likes: i64,
}
