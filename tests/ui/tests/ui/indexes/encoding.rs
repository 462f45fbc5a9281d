use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(full, partition(age(time)), row(name(pad = 3)))]
struct Player {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(age, lowercase, same_partition)]
    age: u32,
    #[index(name, reverse, same_table)]
    name: Option<String>,
}

fn main() {}
