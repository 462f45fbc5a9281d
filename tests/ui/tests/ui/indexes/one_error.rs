use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Prefixed {
    #[partition_key]
    user: String,
    #[row_key(prefix = "")]
    id: u32,
    #[index(name, same_partition)]
    name: String,
}

#[derive(TableEntity)]
struct Twice {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    #[index(name, lowercase, same_partition)]
    name: String,
}

fn main() {}
