use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Hashed {
    #[partition_key(hash = 16)]
    #[row_key(lowercase)]
    name: String,
}

fn main() {}
