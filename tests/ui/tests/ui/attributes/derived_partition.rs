use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Hashed {
    #[partition_key(hash = 16)]
    #[row_key(lowercase)]
    name: String,
}

#[derive(TableEntity)]
struct StartsWith {
    #[partition_key(first = 1)]
    #[row_key(uppercase)]
    title: String,
}

#[derive(TableEntity)]
struct Longer {
    #[partition_key]
    shelf: u8,
    #[partition_key(first = 3)]
    #[row_key(first = 2)]
    title: String,
    #[row_key]
    id: u32,
}

fn main() {}
