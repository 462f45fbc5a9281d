use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(full, partition(name), row(email), same_partition)]
#[index(rows, row(email))]
#[index(folded, lowercase, partition(name))]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, partition(name), row(email))]
    name: String,
    email: String,
}

#[derive(TableEntity)]
#[index(spread, partition(name(hash = 4), email))]
struct Spread {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    name: String,
    #[index(email, hash = 4)]
    email: String,
}

fn main() {}
