use table_runtime::{TableEntity, types::OnePartition};

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    name: String,
}

#[derive(TableEntity)]
struct Login {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(email, unique)]
    email: String,
}

fn together<T: OnePartition>() {}

fn main() {
    together::<User>();
    together::<Login>();
}
