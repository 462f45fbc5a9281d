//! All attributes that can be combined, and all methods that narrow a query.

#![allow(dead_code)]

use std::{collections::BTreeMap, net::IpAddr, time::SystemTime};

use table_runtime::{Guid, Query, TableEntity, Tables, cost};

#[derive(TableEntity)]
#[table(name = "Posts", kind = "Article", write_id, allow_scan, rename_all = "camelCase")]
pub struct Post {
    #[partition_key(uppercase)]
    pub author: String,
    #[row_key(prefix = "post-", reverse_time)]
    #[property]
    pub posted: SystemTime,
    #[row_key]
    pub id: Guid,
    /// The title of the post.
    pub title: String,
    url: Option<String>,
    #[property(json, default)]
    tags: BTreeMap<String, u64>,
    #[property(text, rename = "Host")]
    address: Option<IpAddr>,
    #[property(skip)]
    cached: Option<fn(&str) -> bool>,
}

#[derive(TableEntity)]
struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    title: String,
}

#[derive(TableEntity)]
struct Sensor {
    #[partition_key(hash = 16)]
    #[row_key]
    id: Guid,
}

#[derive(TableEntity)]
struct Event {
    #[partition_key]
    site: String,
    #[partition_key(hash = 16, lowercase)]
    name: String,
    #[row_key(time)]
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(row = "details")]
struct Details {
    #[partition_key]
    user: Guid,
    name: String,
}

#[derive(TableEntity)]
#[table(partition = "all", row = "")]
struct Settings {
    dark: bool,
}

#[derive(TableEntity)]
#[table(separator = "_")]
struct Legacy {
    #[partition_key(raw)]
    owner: String,
    #[row_key(raw)]
    folder: String,
    #[row_key(pad = 8, reverse)]
    number: u32,
}

/// Requires a cost class.
fn cheap<Q: Query<Cost: cost::AtMost<cost::Range>>>(query: Q) -> Q {
    query
}

#[allow(dead_code)]
async fn queries(tables: &Tables, post: &Post) -> table_runtime::Result<()> {
    let name = String::from("Marcus");
    Post::key("Marcus", post.posted, post.id).get(tables).await?;
    Post::by_key(&name).eq(post.posted).eq(post.id).get(tables).await?;
    cheap(Post::by_key("Marcus").range(..post.posted)).take(10).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.title.eq("x").and(post.url.ne("y"))).all(tables).await?;
    Post::by_key("Marcus").filter(|post| !post.posted.gt(SystemTime::UNIX_EPOCH)).all(tables).await?;
    Post::scan().all(tables).await?;
    Article::key("Metabolise").get(tables).await?;
    Article::by_key().starts_with("Metabolis").take(2).all(tables).await?;
    Article::by_key().eq("Metabolise").get(tables).await?;
    Sensor::by_key().eq(post.id).get(tables).await?;
    let _ = Event::by_key("here").range(SystemTime::UNIX_EPOCH..);
    Event::key("here", "start", SystemTime::UNIX_EPOCH).get(tables).await?;
    Details::by_key(post.id).get(tables).await?;
    Details::key(post.id).get(tables).await?;
    if let Some(settings) = Settings::key().get(tables).await? {
        tables.insert(&*settings).await?;
        tables.delete(settings).await?;
    }
    tables.patch(Settings::by_key(), |settings| [settings.dark.set(true)]).await?;
    Legacy::by_key("Maria").eq("inbox").range(1..=5).all(tables).await?;
    Legacy::by_key("Maria").starts_with("in").all(tables).await?;
    for post in [post].iter() {
        tables.upsert(post).await?;
        tables.transaction().insert(post).merge(*post).commit().await?;
    }
    Ok(())
}

pub(crate) fn main() {
    assert_eq!(Post::INFO.layouts[0].table, "Posts");
    assert_eq!(Post::COLUMNS.title.name(), "title");
}
