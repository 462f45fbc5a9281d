use table_runtime::TableEntity;

/// The entity `Post` of the table `Posts`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key(pad = 4)]
    pub id: u32,
    pub likes: Option<i64>,
    #[index(title, lowercase)]
    pub title: String,
}
