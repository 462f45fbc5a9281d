use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    #[index(likes, same_partition, when(likes, is_power_of_two))]
    likes: u32,
}

fn main() {}
