use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(open, same_partition, when(open, is_open))]
    open: bool,
}

fn is_open(post: &Post) -> bool {
    post.open
}

fn main() {}
