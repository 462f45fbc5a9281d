use table_runtime::TableEntity;

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition, same_table)]
    name: String,
}

fn main() {}
