//! `assert_layout!`: a struct beside the layout that was written down.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, ensure};
use table_runtime::{TableEntity, assert_layout};

mod first {
    use table_runtime::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Posts")]
    pub(crate) struct Post {
        #[partition_key]
        pub author: String,
        #[row_key]
        pub number: u32,
        #[index(title, lowercase)]
        pub title: String,
        pub likes: i64,
        #[index(mood)]
        pub mood: String,
    }
}

mod renamed {
    use table_runtime::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Posts")]
    pub(crate) struct Article {
        #[partition_key]
        pub writer: String,
        #[row_key]
        pub n: u32,
        #[index(title, lowercase)]
        #[property(rename = "Title")]
        pub headline: String,
        pub likes: i64,
        #[index(mood)]
        pub mood: String,
    }
}

mod changed {
    use table_runtime::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Posts", write_id)]
    pub(crate) struct Post {
        #[partition_key(lowercase)]
        pub author: String,
        #[row_key]
        pub number: u32,
        #[index(title, uppercase)]
        pub title: String,
        #[index(score)]
        pub score: Option<i64>,
        pub mood: String,
    }
}

/// What the assertion says; nothing if it holds.
fn said<E: TableEntity>(path: &Path) -> Option<String> {
    let asserted = catch_unwind(AssertUnwindSafe(|| assert_layout!(E, path)));
    asserted.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn a_file_that_is_missing_is_written_and_said() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("layouts/post.json");
    let text = said::<first::Post>(&path).context("there was no file")?;
    ensure!(text.contains("post.json") && text.contains("commit"), "{text}");
    assert_eq!(said::<first::Post>(&path), None);
    // It is what `layout` serialises to.
    let stored: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    assert_eq!(stored, serde_json::to_value(first::Post::layout())?);
    Ok(())
}

#[test]
fn names_of_structs_and_fields_are_free() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    fs::write(&path, serde_json::to_string(&first::Post::layout())?)?;
    assert_eq!(said::<renamed::Article>(&path), None);
    Ok(())
}

#[test]
fn every_change_is_said_with_what_to_do() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    let before = serde_json::to_string(&first::Post::layout())?;
    fs::write(&path, &before)?;
    let text = said::<changed::Post>(&path).context("it is another layout")?;
    let changes: Vec<_> = text.lines().filter(|line| line.starts_with("- ")).collect();
    for expected in [
        &["the primary key has changed", "plain", "lowercase", "not found"][..],
        &["the index `title` has changed", "lowercase", "uppercase", "another name", "backfill"],
        &["the index `score` is new", "`tables.backfill::<Post>(\"score\")`"],
        &["the index `mood` is gone"],
        // It is stored now, since its key part does not hold it whole.
        &["the property `Author` is new"],
        &["the property `Score` is new", "Option"],
        &["the property `Likes` is gone"],
        &["the property `WriteId` is new"],
    ] {
        let is_said = changes.iter().any(|line| expected.iter().all(|word| line.contains(word)));
        ensure!(is_said, "no {expected:?} in:\n{text}");
    }
    assert_eq!(changes.len(), 8, "{text}");
    ensure!(text.contains("TABLE_LAYOUTS=overwrite"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, before, "only who asks for it has it written");
    Ok(())
}

#[test]
fn a_file_that_is_no_layout_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for content in ["", "{", "{}", "[1]"] {
        let path = folder.path().join("other.json");
        fs::write(&path, content)?;
        let text = said::<first::Post>(&path).context("it is no layout")?;
        ensure!(text.contains("other.json") && text.contains("no layout"), "{text}");
        assert_eq!(fs::read_to_string(&path)?, content);
    }
    Ok(())
}

/// Where the child process finds its file.
const FILE: &str = "TESTS_LAYOUT_FILE";

#[test]
fn a_change_is_accepted_when_that_is_asked_for() -> Result<()> {
    if let Some(path) = env::var_os(FILE) {
        assert_layout!(changed::Post, &path);
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    fs::write(&path, serde_json::to_string(&first::Post::layout())?)?;
    let run = || {
        let mut this = Command::new(env::current_exe()?);
        this.args(["--exact", "a_change_is_accepted_when_that_is_asked_for"]).env(FILE, &path);
        anyhow::Ok(this)
    };
    ensure!(!run()?.env_remove("TABLE_LAYOUTS").output()?.status.success(), "it is another layout");
    ensure!(!run()?.env("TABLE_LAYOUTS", "1").output()?.status.success(), "nobody asked for it");
    ensure!(run()?.env("TABLE_LAYOUTS", "overwrite").output()?.status.success(), "it is accepted");
    assert_eq!(said::<changed::Post>(&path), None);
    Ok(())
}
