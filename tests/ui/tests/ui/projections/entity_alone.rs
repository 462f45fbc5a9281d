use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
    likes: u32,
    text: String,
}

#[derive(Projection)]
#[projection(Post)]
struct Headline {
    number: u32,
    title: String,
}

async fn run(tables: Tables) -> Result<()> {
    tables.create::<Post>().await?;
    let headlines = Post::by_key("Marcus").select::<Headline>().all(&tables).await?;
    for headline in &headlines {
        println!("{} {}", headline.number, headline.title);
    }
    Ok(())
}

fn main() {}
