use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[default]
    likes: u32,
}

fn main() {}
