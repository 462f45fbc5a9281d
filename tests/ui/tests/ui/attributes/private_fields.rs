use table_runtime::{Result, Tables};

mod blog {
    use table_runtime::TableEntity;

    #[derive(TableEntity)]
    pub struct Post {
        #[partition_key]
        pub author: String,
        #[row_key]
        pub id: u32,
        title: String,
    }
}

async fn run(tables: &Tables) -> Result<()> {
    blog::Post::by_key("Marcus").filter(|post| post.title.eq("Keys")).all(tables).await?;
    Ok(())
}

fn main() {}
