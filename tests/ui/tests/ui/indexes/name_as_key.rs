use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key]
    pub number: u32,
    #[index(name = "by_title", lowercase)]
    pub title: String,
    pub likes: u32,
}

fn main() {}
