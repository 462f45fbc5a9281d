use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
    published: bool,
    url: Option<String>,
}

fn newest() -> table_runtime::Rows<Post> {
    Post::by_key("Marcus").take(10)
}

fn main() {}
