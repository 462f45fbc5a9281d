use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, copy)]
    title: String,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_title("Sums").delete_all(tables).await?;
    Post::by_key("Marcus").select::<Headline>().delete_all(tables).await?;
    tables.delete_all((Post::by_key("Marcus"), Post::by_title("Sums"))).await?;
    Ok(())
}

fn main() {}
