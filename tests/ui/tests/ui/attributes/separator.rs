use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(separator = "-")]
struct Dash {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
