use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(version = 2, from = "PostV1")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[property]
    title: String,
}

fn main() {}
