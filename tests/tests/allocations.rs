//! Allocations of reads: the embedded store allocates nothing for a row that a closure gets by reference.

use std::borrow::Cow;

use allocation_counter::measure;
use anyhow::Result;
use futures_util::FutureExt as _;
use table_runtime::{Projection, TableEntity, Tables, backend::EmbeddedBackend};

#[derive(TableEntity, Clone)]
#[table(name = "Posts", allow_scan)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    #[row_key]
    slug: String,
    title: String,
    url: Option<String>,
    likes: u32,
    image: Vec<u8>,
    #[index(tag, copy)]
    tag: String,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline<'a> {
    author: Cow<'a, str>,
    number: u32,
    slug: Cow<'a, str>,
    title: &'a str,
    url: Option<&'a str>,
    image: &'a [u8],
}

/// Number of posts, and of rows that a long read returns.
const LONG: usize = 1000;
/// Number of rows that a short read returns.
const SHORT: usize = 100;

/// Returns the number of allocations of a read that the store completes at the first poll.
fn allocations<T>(read: impl Future<Output = table_runtime::Result<T>>) -> u64 {
    measure(|| drop(read.now_or_never().expect("reads are inline").expect("a result"))).count_total
}

/// Returns the allocations of a long read and of a short one.
fn long_and_short(allocations: impl Fn(usize) -> u64) -> (u64, u64) {
    // The first read opens the table.
    allocations(1);
    (allocations(LONG), allocations(SHORT))
}

async fn check(tables: &Tables) -> Result<()> {
    tables.create::<Post>().await?;
    let posts = (0..u32::try_from(LONG)?).map(|number| Post {
        author: "Marcus".to_owned(),
        number,
        slug: format!("post-{number}"),
        title: format!("What I learned in my {number}th week"),
        url: number.is_multiple_of(2).then(|| format!("https://blog.example/{number}")),
        likes: number,
        image: vec![0; 5],
        tag: "week".to_owned(),
    });
    tables.upsert_all(posts).await?;
    let each = |headline: Headline<'_>| {
        assert!(matches!((&headline.author, &headline.slug), (Cow::Borrowed(_), Cow::Borrowed(_))));
        assert!(headline.number < 1000 && headline.title.len() + headline.url.map_or(0, str::len) > 20);
        assert_eq!(headline.image, [0; 5]);
    };
    // The short read also returns the position at which it ended.
    let range = long_and_short(|take| {
        allocations(Post::by_key("Marcus").take(take).select::<Headline<'_>>().for_each(tables, each))
    });
    assert!(range.0 <= range.1, "{range:?} allocations of a range");
    let filtered = long_and_short(|take| {
        let query = Post::by_key("Marcus").filter(|post| post.title.ge("What")).take(take);
        allocations(query.select::<Headline<'_>>().for_each(tables, each))
    });
    assert!(filtered.0 <= filtered.1, "{filtered:?} allocations of a filtered range");
    let scan =
        long_and_short(|take| allocations(Post::scan().take(take).select::<Headline<'_>>().for_each(tables, each)));
    assert!(scan.0 <= scan.1, "{scan:?} allocations of a scan");
    // Entities own their texts, so this shows that allocations are counted.
    let owned = long_and_short(|take| allocations(Post::by_key("Marcus").take(take).for_each(tables, drop)));
    assert!(owned.0 > 5 * u64::try_from(LONG)?, "{owned:?} allocations of entities");
    Ok(())
}

#[tokio::test]
async fn a_borrowed_projection_allocates_nothing_for_a_row_in_memory() -> Result<()> {
    check(&Tables::in_memory()?).await
}

#[tokio::test]
async fn a_borrowed_projection_allocates_nothing_for_a_row_on_disk() -> Result<()> {
    let folder = tempfile::tempdir()?;
    check(&Tables::new(EmbeddedBackend::open(folder.path().join("posts.tables"))?)).await
}
