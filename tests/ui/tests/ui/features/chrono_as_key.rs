use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: chrono::DateTime<chrono::Utc>,
    likes: u32,
}

fn main() {}
