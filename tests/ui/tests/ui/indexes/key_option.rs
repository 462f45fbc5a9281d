use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Player {
    #[partition_key]
    team: String,
    #[row_key]
    id: Option<u32>,
    #[index(name, same_partition)]
    name: Option<String>,
}

fn main() {}
