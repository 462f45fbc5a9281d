use table_runtime::{Property, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    address: Option<Address>,
}

#[derive(Property)]
struct Address {
    city: String,
}

struct Other {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    for post in Post::by_key("Marcus").select::<Other>().take(3).all(tables).await? {
        println!("{}", post.title);
    }
    Ok(())
}

fn main() {}
