use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    title: String,
    words: u32,
}

async fn articles(tables: &Tables) {
    let _ = Article::by_key().filter(|article| article.words.gt(100)).all(tables).await;
}

fn main() {}
