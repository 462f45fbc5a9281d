use table_runtime::{Property, Result, TableEntity, Tables};

#[derive(Property)]
enum State {
    Open,
    Closed,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    state: State,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").filter(|post| post.state.is_open()).all(tables).await?;
    Ok(())
}

fn main() {}
