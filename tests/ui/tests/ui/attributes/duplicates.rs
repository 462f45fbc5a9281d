use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", kind)]
#[table(name = "Articles")]
struct Post {
    #[partition_key]
    #[partition_key(lowercase)]
    author: String,
    #[row_key(pad = 8, pad = 9)]
    id: u32,
}

fn main() {}
