use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[index(place, same_partition, row(city, street))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    city: String,
    street: String,
}

#[derive(Projection)]
#[projection(of = Post)]
struct City {
    city: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_place("ada").eq("Bonn", "Markt").all(tables).await?;
    Post::by_place("ada").filter(|post| post.id.ge(1)).select_unchecked::<City>().all(tables).await?;
    Ok(())
}

fn main() {}
