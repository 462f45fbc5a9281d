use table_runtime::Tables;

struct Post {
    title: String,
}

async fn posts(tables: &Tables, post: Post) {
    let _ = tables.insert(&post).await;
}

fn main() {}
