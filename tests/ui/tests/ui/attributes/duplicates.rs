use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", kind)]
#[table(name = "Articles")]
struct Post {
    #[partition_key]
    author: String,
    id: u32,
}

fn main() {}
