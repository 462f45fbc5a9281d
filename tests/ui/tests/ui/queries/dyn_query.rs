use table_runtime::{Query, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

fn chosen() -> Box<dyn Query<Entity = Post>> {
    Box::new(Post::by_key("Marcus"))
}

fn main() {}
