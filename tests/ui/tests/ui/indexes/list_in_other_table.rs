use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, table = "Names", list)]
    name: String,
}

fn main() {}
