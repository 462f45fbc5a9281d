use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Price {
    #[partition_key]
    article: String,
    #[row_key(scale = 2)]
    amount: String,
}

fn main() {}
