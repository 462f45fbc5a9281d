use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn spawn<F: Future + Send + 'static>(_: F) {}

async fn run(tables: Tables, mut posts: Vec<Stored<Post>>) {
    for post in posts {
        spawn(tables.remove(Stored::key(&post)));
    }
}

async fn updated(tables: Tables, mut post: Stored<Post>) {
    spawn(tables.update(&mut post));
}

fn main() {}
