use table_runtime::{Stored, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

/// Shows the entity.
fn show(post: Post) -> String {
    post.title
}

fn titles(posts: Vec<Stored<Post>>) -> Vec<String> {
    posts.into_iter().map(|post| show(post)).collect()
}

fn main() {}
