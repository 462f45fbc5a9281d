use std::time::SystemTime;

use table_runtime::TableEntity;

/// The entity `Entry` of the table `Log`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Log", slice = month(at), write_id)]
pub struct Entry {
    #[partition_key(hash = 8)]
    #[row_key]
    pub source: String,
    #[row_key(reverse_time)]
    pub at: SystemTime,
    pub text: String,
}
