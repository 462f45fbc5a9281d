use table_runtime::{EntityGroup, Query, Result, Stored, TableEntity, Tables, cost};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
}

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
struct Comment {
    #[partition_key]
    author: String,
    #[row_key(prefix = "id-")]
    post: u32,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Report {
    Post(Post),
    Comment(Comment),
}

async fn run(tables: &Tables) -> Result<()> {
    Post::query().all(tables).await?;
    Post::select::<Post>().by_key("Marcus").all(tables).await?;
    Post::create_table(tables).await?;
    Report::by_title("Marcus").all(tables).await?;
    Ok(())
}

fn equal(_: impl Query<Entity = Post, Cost = cost::Range, Item = Stored<Post>>) {}

fn calls() {
    equal(Post::by_title("Marcus").eq("a"));
}

fn main() {}
