use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase)]
    author: String,
    #[row_key]
    #[property]
    id: u32,
}

async fn posts(tables: &Tables) {
    let _ = tables.patch(Post::key("Marcus", 7), |post| [post.author.set("Maria"), post.id.set(8)]).await;
}

fn main() {}
