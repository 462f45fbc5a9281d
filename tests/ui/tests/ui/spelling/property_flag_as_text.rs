use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[property("json")]
    title: String,
}

fn main() {}
