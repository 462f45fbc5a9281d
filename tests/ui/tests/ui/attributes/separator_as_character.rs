use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", separator = '#')]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key]
    pub number: u32,
    pub title: String,
    pub likes: u32,
}

fn main() {}
