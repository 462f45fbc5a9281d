use std::time::SystemTime;

use table_runtime::TableEntity;

/// The entity `Session` of the table `Sessions`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Sessions", expires = until, soft_delete = deleted)]
pub struct Session {
    #[partition_key]
    pub user: String,
    #[row_key]
    pub id: u32,
    pub deleted: Option<SystemTime>,
    #[index(token, unique)]
    pub token: String,
    pub until: SystemTime,
}
