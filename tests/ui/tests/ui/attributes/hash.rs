use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Sensor {
    #[partition_key(hash = 16)]
    id: u32,
    #[partition_key]
    site: String,
    #[row_key(hash = 4)]
    kind: String,
}

fn main() {}
