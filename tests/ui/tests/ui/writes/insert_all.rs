use table_runtime::{Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
}

struct Draft {
    title: String,
}

fn write(tables: &Tables, posts: Vec<Post>, stored: Vec<Stored<Post>>, drafts: Vec<Draft>) {
    let _ = tables.insert_all(&posts);
    let _ = tables.upsert_all(posts.iter());
    let _ = tables.insert_all(stored.iter().map(|stored| &**stored));
    let _ = tables.insert_all(posts);

    let _ = tables.insert_all(&drafts);
    let _ = tables.insert_all(drafts);
    let _ = tables.upsert_all(&stored);
    let _ = tables.upsert_all(stored);
    let _ = tables.upsert_all(Post { author: String::new(), number: 1 });
}

fn main() {}
