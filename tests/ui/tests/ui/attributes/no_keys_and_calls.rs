use table_runtime::{Result, TableEntity, Tables};
use time::{Duration, OffsetDateTime, macros::datetime};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
pub struct Post {
    pub partition_key: String,
    pub row_key: OffsetDateTime,
    pub id: u32, // a tie-break: two posts may share a tick
    pub title: String,
    pub likes: u32,
}

async fn run(tables: Tables) -> Result<()> {
    tables.create::<Post>().await?;

    let monday = datetime!(2010-05-24 09:00 UTC);
    for id in 0..5 {
        let posted = monday + Duration::days(id.into());
        let post = Post { partition_key: "Marcus".into(), row_key: posted, id, title: format!("Part {id}"), likes: 0 };
        tables.insert(&post).await?;
    }

    // One row by its key: read, changed and written back, and again if another writer was faster.
    tables.modify(Post::key("Marcus", monday, 0), |post| post.likes += 1).await?;
    let post = Post::key("Marcus", monday, 0).get(&tables).await?.expect("it was inserted");
    assert_eq!(post.likes, 1);

    // A partition, newest first: its head, a window, a filter.
    let newest = Post::by_key("Marcus").take(2).all(&tables).await?;
    assert_eq!(newest[0].title, "Part 4");
    let window = Post::by_key("Marcus").range(monday..monday + Duration::days(3));
    println!("{}", window.explain());
    assert_eq!(window.count(&tables).await?, 3);
    let liked = Post::by_key("Marcus").filter(|post| post.likes.ge(1)).first(&tables).await?;
    assert_eq!(liked.expect("one is").id, 0);

    // Without reading it first.
    tables.patch(Post::key("Marcus", monday, 0), |post| [post.title.set("The first part")]).await?;
    tables.remove(Post::key("Marcus", monday, 0)).await?;
    Ok(())
}

fn main() {}
