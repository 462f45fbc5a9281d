use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: ids::Id,
    likes: u32,
}

mod ids {
    pub struct Id(u32);
}

fn main() {}
