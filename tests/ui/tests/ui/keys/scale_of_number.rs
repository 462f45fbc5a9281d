use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Price {
    #[partition_key]
    article: String,
    #[row_key(scale = 2, pad = 8)]
    cents: i64,
}

fn main() {}
