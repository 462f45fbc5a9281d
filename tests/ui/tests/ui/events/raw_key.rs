use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(events)]
struct Note {
    #[partition_key]
    author: String,
    #[row_key(raw)]
    id: String,
}

fn main() {}
