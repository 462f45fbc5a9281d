//! Articles with tags, and users with several addresses: an index row for each element of a list.
//!
//! | `PartitionKey` | `RowKey` | `Title` | `Tags` |
//! |---|---|---|---|
//! | `acme` | `id-0000000001` | `Keys` | `["Rust","azure"]` |
//! | `acme` | `tag-azure 0000000001` | `Keys` | `["Rust","azure"]` |
//! | `acme` | `tag-rust 0000000001` | `Keys` | `["Rust","azure"]` |
//!
//! The rows of the index include the title, for lists of titles, and with it the tags. In `UsersByAddress`, each address
//! is the partition key of a row, and no two users have one in common.

use std::collections::BTreeSet;

use anyhow::Result;
use table_runtime::{Error, Projection, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Articles")]
struct Article {
    #[partition_key]
    site: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(tag, each, lowercase, same_partition, include(title))]
    #[property(json)]
    tags: Vec<String>,
}

/// The line of a list, which the rows of the index hold.
#[derive(Projection)]
#[projection(of = Article)]
struct Line {
    id: u32,
    title: String,
}

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    #[row_key]
    name: String,
    #[index(address, each, lowercase, unique)]
    #[property(json)]
    addresses: BTreeSet<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Article>().and::<User>().await?;
    articles(&tables).await?;
    users(&tables).await
}

async fn articles(tables: &Tables) -> Result<()> {
    let article = |id, title: &str, tags: &[&str]| Article {
        site: "acme".to_owned(),
        id,
        title: title.to_owned(),
        tags: tags.iter().map(ToString::to_string).collect(),
    };
    tables.insert(&article(1, "Keys", &["Rust", "azure"])).await?;
    tables.insert(&article(2, "Leases", &["ruby", "rust", "locks"])).await?;
    tables.insert(&article(3, "Drafts", &[])).await?;

    // Every article with a tag that begins with `ru`, once, from the rows of the index alone.
    let lines = Article::by_tag("acme").starts_with("ru").select::<Line>();
    println!("{}", lines.explain());
    for Line { id, title } in lines.all(tables).await? {
        println!("{id}: {title}");
    }

    // A changed list writes and deletes the rows of the tags that came and went.
    tables.modify(Article::key("acme", 2), |article| article.tags.retain(|tag| tag != "ruby")).await?;
    let ruby = Article::by_tag("acme").eq("ruby").count(tables).await?;
    println!("{ruby} articles about Ruby");

    // Rows are not entities: both articles have the tag `rust`, and four rows are left.
    let all = Article::by_tag("acme");
    println!("{} articles with tags, {} rows", all.clone().count(tables).await?, all.count_unchecked(tables).await?);
    Ok(())
}

async fn users(tables: &Tables) -> Result<()> {
    let user = |name: &str, addresses: &[&str]| User {
        name: name.to_owned(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
    };
    tables.insert(&user("Ada", &["ada@example.com", "Countess@example.com"])).await?;
    let found = User::by_address("countess@example.com").get(tables).await?;
    println!("signed in: {}", found.map_or_else(String::new, |user| user.name.clone()));
    match tables.insert(&user("Eve", &["eve@example.com", "ADA@example.com"])).await {
        Err(Error::UniqueViolation(taken)) => println!("refused: {} belongs to another user", taken.value),
        other => println!("{other:?}"),
    }
    // Nothing of the refused user is left.
    println!("eve@example.com is free: {}", !User::by_address("eve@example.com").exists(tables).await?);
    Ok(())
}
