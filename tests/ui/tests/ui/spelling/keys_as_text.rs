use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(newest, partition("title"), row("posted"))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[property]
    title: String,
}

fn main() {}
