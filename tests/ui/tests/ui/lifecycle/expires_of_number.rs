use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(expires = until)]
struct Seconds {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: u64,
}

fn main() {}
