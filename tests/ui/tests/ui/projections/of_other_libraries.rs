use table_runtime::{EntityGroup, Projection, Property, Result, TableEntity, Tables};

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

#[derive(Projection)]
#[projection(of = Post)]
struct Label {
    #[projection(path = address.city)]
    city: String,
}

#[derive(Projection, TableEntity)]
#[table(name = "Posts")]
#[projection(of = Post)]
struct Headline {
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Reports")]
struct Report {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Reports")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    report: u32,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
#[table(name = "Reports")]
enum Group {
    Report(Report),
    Item(Item),
}

struct Other {
    title: String,
}

async fn run(tables: &Tables) -> Result<()> {
    for post in Post::by_key("Marcus").select::<Other>().take(3).all(tables).await? {
        println!("{}", post.title);
    }
    let one = Post::key("Marcus", 1).select::<Other>().get(tables).await?.unwrap();
    println!("{}", one.title);
    Ok(())
}

fn main() {}
