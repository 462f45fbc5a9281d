use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(version = 2, from = Parcel)]
struct Parcel {
    #[partition_key]
    depot: String,
    #[row_key]
    id: u32,
}

fn main() {}
