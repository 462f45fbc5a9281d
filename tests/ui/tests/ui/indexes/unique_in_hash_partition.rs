use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Member {
    #[partition_key(hash = 16)]
    id: u32,
    #[row_key]
    number: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
}

fn main() {}
