use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Users", row = "name-of-user")]
struct Name {
    #[partition_key]
    user: String,
    #[index(name, same_partition)]
    name: String,
}

fn main() {}
