use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(newest, partition(title), row(posted("reverse_time")))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[property]
    title: String,
}

fn main() {}
