use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key(0)]
    pub number: u32,
    pub title: String,
    pub likes: u32,
}

fn main() {}
