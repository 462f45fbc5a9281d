//! Articles by the beginning of their titles, regardless of case.
//!
//! One field makes both keys: the partition key is the title's first letter, the row key the whole title, both in
//! capitals. A prefix thus determines its partition and a range of rows in it, without an index or a scan. The property
//! `Title` keeps the original case.
//!
//! | `PartitionKey` | `RowKey` | Title | Words |
//! |---|---|---|---|
//! | `M` | `METABOLISE` | `Metabolise` | 120 |
//! | `M` | `METABOLISM` | `Metabolism` | 4200 |

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables};

#[derive(TableEntity, Debug)]
#[table(name = "Articles")]
struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    title: String,
    words: u32,
}

const ARTICLES: [(&str, u32); 9] = [
    ("Metabolise", 120),
    ("Metabolism", 4200),
    ("metabolite", 950),
    ("Metabolomics", 2100),
    ("METABOLON", 310),
    ("Metal", 5100),
    ("Meteor", 3900),
    ("Zebra", 2800),
    ("Straße", 640),
];

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Article>().await?;
    for (title, words) in ARTICLES {
        tables.insert(&Article { title: title.to_owned(), words }).await?;
    }

    // The case of the prefix does not matter.
    let metabolis = Article::by_key().starts_with("metaboliS");
    println!("{}", metabolis.explain());
    let found = metabolis.all(&tables).await?;
    for article in &found {
        println!("  {} ({} words)", article.title, article.words);
    }
    assert_eq!(found.iter().map(|article| &*article.title).collect::<Vec<_>>(), ["Metabolise", "Metabolism"]);

    // In capitals, `Straße` and `STRASSE` are equal.
    assert!(Article::key("STRASSE").exists(&tables).await?);

    // Page by page: a cursor is text, so it can be part of a link. It continues after the last row.
    let mut cursor = None;
    let mut pages = Vec::new();
    loop {
        let page = Article::by_key().starts_with("Metabol").page(&tables, 2, cursor.as_deref()).await?;
        let titles: Vec<String> = page.entities.iter().map(|article| article.title.clone()).collect();
        println!("page {}: {}", pages.len() + 1, titles.join(", "));
        pages.push(titles);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages.concat(), ["Metabolise", "Metabolism", "metabolite", "Metabolomics", "METABOLON"]);

    // A cursor belongs to its query.
    let first = Article::by_key().starts_with("Met").page(&tables, 1, None).await?;
    let other = Article::by_key().starts_with("Metal").page(&tables, 1, first.next.as_deref()).await;
    assert!(matches!(other, Err(Error::Cursor(_))));

    // The empty prefix determines no partition, so the query is refused before anything is read.
    match Article::by_key().starts_with("").all(&tables).await {
        Err(Error::Query(error)) => println!("refused: {}", error.problem),
        other => anyhow::bail!("expected a refusal, got {other:?}"),
    }
    Ok(())
}
