use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(events(copies))]
struct Concert {
    #[partition_key]
    hall: String,
    #[row_key]
    number: u32,
}

fn main() {}
