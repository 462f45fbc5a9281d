use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(name, partition(name), row(tenant, id), unique)]
struct User {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    name: String,
}

fn main() {}
