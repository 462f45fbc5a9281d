use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(full, partition(name), row(email), same_partition)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    name: String,
    email: String,
}

fn main() {}
