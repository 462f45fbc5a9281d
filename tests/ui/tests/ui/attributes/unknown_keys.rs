use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(nam = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

fn main() {}
