use table_runtime::{Error, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables, post: Post) -> Result<()> {
    match tables.insert(&post).await {
        Err(Error::Conflict(_)) => {}
        Err(Error::PreconditionFailed(_)) => {}
        Err(Error::Duplicate(_)) => {}
        Err(Error::ETagMismatch(_)) => {}
        other => drop(other?),
    }
    for finding in tables.verify::<Post>().await? {
        println!("{finding}");
    }
    let verified = tables.verify::<Post>().await?;
    for finding in &verified {
        println!("{finding}");
    }
    Ok(())
}

fn found(post: Option<Post>) -> Result<Post> {
    post.ok_or_else(|| Error::NotFound(format!("no such post")))
}

async fn compared(tables: &Tables, post: Post) {
    assert!(tables.insert(&post).await == Err(Error::AlreadyExists));
}

/// As that of the crate `axum`.
trait IntoResponse {}

impl IntoResponse for () {}

impl<T: IntoResponse, E: IntoResponse> IntoResponse for std::result::Result<T, E> {}

/// As that of the crate `axum`.
trait Handler<T, S> {}

impl<F: Fn() -> A, A: Future<Output: IntoResponse>> Handler<(), ()> for F {}

impl<F: Fn(T) -> A, A: Future<Output: IntoResponse>, T> Handler<(T,), ()> for F {}

fn route<T, S>(_: impl Handler<T, S>) {}

async fn show(tables: Tables) -> Result<()> {
    Ok(())
}

fn routes() {
    route(show);
}

fn main() {}
