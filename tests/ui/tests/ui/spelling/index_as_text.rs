use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[index("title", same_partition)]
    title: String,
}

fn main() {
    let _ = Post::by_title("Marcus");
}
