use table_runtime::TableEntity;

/// As in axum.
struct Query<T>(T);

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

fn list(query: impl Query<Entity = Post>) {}

fn main() {}
