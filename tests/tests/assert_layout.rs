//! `assert_layout!`: it compares a struct with the layout in a file. One test runs this program again with another
//! environment.

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

/// Returns the message of the failed assertion; `None` if it holds.
fn message<E: TableEntity>(path: &Path) -> Option<String> {
    let asserted = catch_unwind(AssertUnwindSafe(|| assert_layout!(E, path)));
    asserted.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn a_missing_file_is_written_and_reported() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("layouts/post.json");
    let text = message::<first::Post>(&path).context("there was no file")?;
    ensure!(text.contains("post.json") && text.contains("commit"), "{text}");
    assert_eq!(message::<first::Post>(&path), None);
    // The file has the serialised layout.
    let stored: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    assert_eq!(stored, serde_json::to_value(first::Post::layout())?);
    Ok(())
}

#[test]
fn renaming_structs_and_fields_changes_no_layout() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    fs::write(&path, serde_json::to_string(&first::Post::layout())?)?;
    assert_eq!(message::<renamed::Article>(&path), None);
    Ok(())
}

#[test]
fn every_change_is_reported_with_what_to_do() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    let before = serde_json::to_string(&first::Post::layout())?;
    fs::write(&path, &before)?;
    let text = message::<changed::Post>(&path).context("the layout differs")?;
    let changes: Vec<_> = text.lines().filter(|line| line.starts_with("- ")).collect();
    for expected in [
        &["the primary key has changed", "plain", "lowercase", "not found"][..],
        &["the index `title` has changed", "lowercase", "uppercase", "another name", "backfill"],
        &["the index `score` is new", "`tables.backfill::<Post>(\"score\")`"],
        &["the index `mood` is gone"],
        // The folded key part does not hold the value any more, so it is stored as a property.
        &["the property `Author` is new"],
        &["the property `Score` is new", "Option"],
        &["the property `Likes` is gone"],
        &["the property `WriteId` is new"],
    ] {
        let is_listed = changes.iter().any(|line| expected.iter().all(|word| line.contains(word)));
        ensure!(is_listed, "no {expected:?} in:\n{text}");
    }
    assert_eq!(changes.len(), 8, "{text}");
    ensure!(text.contains("TABLE_LAYOUTS=overwrite"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, before, "the file is written on request only");
    Ok(())
}

#[test]
fn the_error_names_a_file_without_a_layout() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for content in ["", "{", "{}", "[1]"] {
        let path = folder.path().join("other.json");
        fs::write(&path, content)?;
        let text = message::<first::Post>(&path).context("the file has no layout")?;
        ensure!(text.contains("other.json") && text.contains("no layout"), "{text}");
        assert_eq!(fs::read_to_string(&path)?, content);
    }
    Ok(())
}

/// Variable with the path of the child process's file.
const FILE: &str = "TESTS_LAYOUT_FILE";

#[test]
fn a_change_is_accepted_on_request() -> Result<()> {
    if let Some(path) = env::var_os(FILE) {
        assert_layout!(changed::Post, &path);
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("post.json");
    fs::write(&path, serde_json::to_string(&first::Post::layout())?)?;
    let run = || {
        let mut this = Command::new(env::current_exe()?);
        this.args(["--exact", "a_change_is_accepted_on_request"]).env(FILE, &path);
        anyhow::Ok(this)
    };
    ensure!(!run()?.env_remove("TABLE_LAYOUTS").output()?.status.success(), "the layout differs");
    ensure!(!run()?.env("TABLE_LAYOUTS", "1").output()?.status.success(), "the value is not `overwrite`");
    ensure!(run()?.env("TABLE_LAYOUTS", "overwrite").output()?.status.success(), "the change is accepted");
    assert_eq!(message::<changed::Post>(&path), None);
    Ok(())
}
