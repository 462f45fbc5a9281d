//! A blog with the newest posts first.
//!
//! Rows are stored in key order, so the key counts down: it has the ticks that are left until the end of the year 9999.
//! The newest posts of an author are thus the first rows of a partition. Two posts may share a tick; the id
//! distinguishes them.
//!
//! | `PartitionKey` | `RowKey` | Title | Likes |
//! |---|---|---|---|
//! | `Marcus` | `2521272959999999999_0198a2c4-…` | `Friday` | 1 |

use anyhow::{Context as _, Result};
use table_runtime::{Error, Stored, TableEntity, Tables};
use time::{Duration, OffsetDateTime, macros::datetime};
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: OffsetDateTime,
    #[row_key]
    id: Uuid,
    title: String,
    likes: u32,
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Post>().await?;
    let monday = datetime!(2010-05-24 00:00 UTC);
    for (day, title) in (0..).zip(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]) {
        let (author, posted) = ("Marcus".to_owned(), monday + Duration::days(day));
        tables.insert(&Post { author, posted, id: Uuid::new_v4(), title: title.to_owned(), likes: 0 }).await?;
    }

    // The newest posts are the first rows: one request reads two rows, however many there are.
    let newest = Post::by_key("Marcus").take(2);
    println!("{}", newest.explain());
    let newest = newest.all(&tables).await?;
    assert_eq!(titles(&newest), ["Friday", "Thursday"]);

    // A range is written with the earlier time first, and its rows come newest first.
    let window = Post::by_key("Marcus").range(monday..monday + Duration::days(3));
    println!("{}", window.explain());
    assert_eq!(titles(&window.all(&tables).await?), ["Wednesday", "Tuesday", "Monday"]);

    // Two programs read the same version of a post.
    let mut mine = Post::by_key("Marcus").first(&tables).await?.context("a post")?;
    let mut theirs = mine.clone();
    theirs.likes += 1;
    tables.update(&mut theirs).await?;

    // The second one to write gets an error, instead of overwriting the change of the first.
    mine.likes += 1;
    match tables.update(&mut mine).await {
        Err(Error::ConditionNotMet(row)) => println!("conflict: {row} has changed; reading it again"),
        other => anyhow::bail!("expected a conflict, got {other:?}"),
    }
    let mut again = Post::key(&mine.author, mine.posted, mine.id).get(&tables).await?.context("the post")?;
    again.likes += 1;
    tables.update(&mut again).await?;

    let post = Post::key(&again.author, again.posted, again.id).get(&tables).await?.context("the post")?;
    assert_eq!((&*post.title, post.likes), ("Friday", 2));
    println!("{} has {} likes", post.title, post.likes);
    Ok(())
}

fn titles(posts: &[Stored<Post>]) -> Vec<&str> {
    posts.iter().map(|post| &*post.title).collect()
}
