use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(name, partition(name), row(tenant, id), unique)]
struct User {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(row = "account")]
struct Account {
    #[partition_key]
    id: u32,
    #[index(email, lowercase, unique, same_partition)]
    email: String,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[index(author, same_partition)]
    author: String,
    #[row_key]
    id: u32,
}

fn main() {}
