use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(slice = month(number))]
struct Line {
    #[partition_key]
    machine: String,
    #[row_key]
    number: u64,
}

fn main() {}
