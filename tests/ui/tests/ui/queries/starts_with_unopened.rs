use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Article {
    #[partition_key(lowercase)]
    #[row_key]
    title: String,
}

async fn articles(tables: &Tables) {
    let _ = Article::by_key().starts_with("Met").all(tables).await;
}

fn main() {}
