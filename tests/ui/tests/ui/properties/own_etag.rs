use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Line {
    #[partition_key]
    order: String,
    #[row_key]
    number: u32,
    etag: Option<String>,
}

fn main() {}
