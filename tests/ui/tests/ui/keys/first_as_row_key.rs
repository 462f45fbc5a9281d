use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Visit {
    #[partition_key]
    user: u32,
    #[row_key(first = 3)]
    page: String,
}

fn main() {}
