use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(version = 2)]
struct Named {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    entity_version: u32,
}

fn main() {}
