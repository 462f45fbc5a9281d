use table_runtime::TableEntity;

#[derive(TableEntity)]
struct One {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "City")]
    city: String,
}

fn main() {}
