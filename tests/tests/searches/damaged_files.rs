//! Damaged files of the embedded store: a read of a damaged row, or a write next to it, gives an error, never a wrong row
//! or a panic.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use redb::ReadableTable;
use table_runtime::{Error, TableEntity, Tables};
use tests::random::{Random, seeds};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
    url: Option<String>,
}

/// The same rows without the last property.
#[derive(TableEntity, Debug)]
#[table(name = "Posts")]
struct Heading {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
}

/// Cuts the last byte off the row's value.
fn damage(file: &Path, key: &[u8]) -> Result<()> {
    const POSTS: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("Posts");
    let database = redb::Database::open(file)?;
    let transaction = database.begin_write()?;
    {
        let mut rows = transaction.open_table(POSTS)?;
        let mut value = rows.get(key)?.context("the row")?.value().to_vec();
        value.pop();
        rows.insert(key, value.as_slice())?;
    }
    transaction.commit()?;
    Ok(())
}

#[track_caller]
fn is_damaged<T: std::fmt::Debug>(read: Result<T, Error>) {
    let error = read.expect_err("the row is damaged");
    assert!(matches!(&error, Error::Damaged { row, .. } if row.row_key == "0000000002"), "{error}");
}

#[tokio::test]
async fn every_read_of_a_damaged_row_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("blog.tables");
    let tables = Tables::open(&file)?;
    tables.create::<Post>().await?;
    for number in 1..=3 {
        let (title, url) = (format!("Part {number}"), Some("https://blog.example".to_owned()));
        tables.insert(&Post { author: "Marcus".to_owned(), number, title, url }).await?;
    }
    drop(tables);
    damage(&file, b"Marcus\x000000000002")?;

    let tables = Tables::open(&file)?;
    is_damaged(Post::key("Marcus", 2).get(&tables).await);
    is_damaged(Heading::key("Marcus", 2).get(&tables).await);
    is_damaged(Post::by_key("Marcus").all(&tables).await);
    is_damaged(Heading::by_key("Marcus").all(&tables).await);
    is_damaged(Post::by_key("Marcus").page(&tables, 2, None).await);
    is_damaged(Post::by_key("Marcus").filter(|post| post.url.eq("https://blog.example")).all(&tables).await);
    is_damaged(Post::by_key("Marcus").count(&tables).await);
    is_damaged(Post::key("Marcus", 2).exists(&tables).await);

    // The rows before it are returned first.
    let mut posts = Post::by_key("Marcus").stream(&tables);
    assert_eq!(posts.try_next().await?.context("the first row")?.number, 1);
    is_damaged(posts.try_next().await);
    assert!(posts.try_next().await?.is_none(), "an error ends the stream");
    assert!(Post::key("Marcus", 3).get(&tables).await?.is_some());

    // A new row next to it might not be found again.
    tables.remove(Post::key("Marcus", 1)).await?;
    let first = Post { author: "Marcus".to_owned(), number: 1, title: "Part 1".to_owned(), url: None };
    is_damaged(tables.insert(&first).await);
    Ok(())
}

/// Writes a store's file and returns its contents.
async fn written(file: &Path) -> Result<BTreeMap<(String, u32), Post>> {
    let tables = Tables::open(file)?;
    tables.create::<Post>().await?;
    let mut posts = Vec::new();
    for author in ["Ada", "Marcus", "Zoe"] {
        for number in 0..150_u32 {
            let url = number.is_multiple_of(3).then(|| format!("https://blog.example/{author}/{number}"));
            posts.push(Post { author: author.to_owned(), number, title: format!("Part {number} of {author}"), url });
        }
    }
    tables.insert_all(&posts).await?;
    Ok(posts.into_iter().map(|post| ((post.author.clone(), post.number), post)).collect())
}

/// Reads a file in every way. Returns the number of failed reads, or an error if a read gave wrong rows.
async fn read_all(file: &Path, posts: &BTreeMap<(String, u32), Post>) -> Result<usize> {
    let mut failed = 0;
    let Ok(tables) = Tables::open(file) else { return Ok(1) };
    for author in ["Ada", "Marcus", "Zoe"] {
        match Post::by_key(author).all(&tables).await {
            Ok(found) => {
                let expected = posts.iter().filter(|((of, _), _)| of == author).map(|(_, post)| post);
                anyhow::ensure!(found.iter().eq(expected), "{author}: {} other rows", found.len());
            }
            Err(_) => failed += 1,
        }
    }
    for ((author, number), post) in posts {
        match Post::key(author, *number).get(&tables).await {
            Ok(found) => anyhow::ensure!(found.as_deref() == Some(post), "{author} {number}: {found:?}"),
            Err(_) => failed += 1,
        }
    }
    let new = Post { author: "Marcus".to_owned(), number: 1_000, title: "New".to_owned(), url: None };
    if tables.insert(&new).await.is_ok() {
        match Post::key("Marcus", 1_000).get(&tables).await {
            Ok(found) => anyhow::ensure!(found.as_deref() == Some(&new), "the new row: {found:?}"),
            Err(_) => failed += 1,
        }
    }
    Ok(failed)
}

#[test]
fn no_read_returns_wrong_rows_of_a_damaged_file() -> Result<()> {
    const FLIPPED: usize = 64;
    let seeds = seeds(60);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sound.tables");
    let posts = runtime.block_on(written(&file))?;
    let sound = fs::read(&file)?;
    let damaged = folder.path().join("damaged.tables");
    let (mut wrong, mut found) = (Vec::new(), 0);
    for &seed in &seeds {
        let mut random = Random::new(seed);
        let mut bytes = sound.clone();
        // The bytes are spread over the whole file, or close together as in a lost sector.
        let (begin, length) =
            if seed.is_multiple_of(2) { (0, bytes.len()) } else { (random.below(bytes.len() - 4096), 4096) };
        for _ in 0..FLIPPED {
            bytes[begin + random.below(length)] ^= u8::try_from(1 + random.below(255))?;
        }
        fs::write(&damaged, &bytes)?;
        let read =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(read_all(&damaged, &posts))));
        match read {
            Ok(Ok(failed)) => found += usize::from(failed > 0),
            Ok(Err(other)) => wrong.push(format!("seed {seed}: {other}")),
            Err(_) => wrong.push(format!("seed {seed}: a panic")),
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{} of these files were read wrongly:\n{}", wrong.len(), wrong.join("\n"));
    // The test proves nothing unless most of the file is in use.
    let files = seeds.len();
    anyhow::ensure!(found > files / 2 || files == 1, "damage was found in {found} of {files} files");
    Ok(())
}
