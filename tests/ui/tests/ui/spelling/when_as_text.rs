use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[index(title, same_partition, when("title", "is_shown"))]
    title: String,
}

fn is_shown(title: &str) -> bool {
    !title.is_empty()
}

fn main() {}
