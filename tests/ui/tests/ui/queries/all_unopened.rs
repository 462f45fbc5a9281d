use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    title: String,
}

async fn articles(tables: &Tables) {
    let _ = Article::by_key().all(tables).await;
}

fn main() {}
