use table_runtime::TableEntity;

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition, when(name, left, is_shown))]
    name: String,
    left: bool,
    #[index(city, when(city, left, is_shown))]
    city: u32,
}

fn is_shown(_: &str) -> bool {
    true
}

fn main() {}
