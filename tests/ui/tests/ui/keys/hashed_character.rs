use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Visit {
    #[partition_key(hash = 16)]
    letter: char,
    #[row_key]
    id: u32,
}

fn main() {}
