use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(soft_delete = is_deleted)]
struct Flag {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    is_deleted: bool,
}

fn main() {}
