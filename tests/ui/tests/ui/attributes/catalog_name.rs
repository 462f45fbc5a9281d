use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(entity = "")]
struct Empty {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
