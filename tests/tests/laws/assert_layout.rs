//! `assert_layout!`: it compares a struct with the layout in a file. One test runs this program again with another
//! environment.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
    time::SystemTime,
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
fn one_run_shows_the_problems_of_all_entities() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let [first, missing, changed] = ["a.json", "b.json", "c.json"].map(|name| folder.path().join(name));
    let layout = serde_json::to_string(&first::Post::layout())?;
    fs::write(&first, &layout)?;
    fs::write(&changed, &layout)?;
    let assert = || assert_layout!(first::Post, &first, renamed::Article, &missing, changed::Post, &changed,);
    let panic = catch_unwind(AssertUnwindSafe(assert)).err().context("two of them differ")?;
    let text = panic.downcast_ref::<String>().context("a message")?;
    ensure!(!text.contains("a.json") && text.contains("b.json") && text.contains("c.json"), "{text}");
    ensure!(text.contains("there was no") && text.contains("the primary key has changed"), "{text}");
    ensure!(missing.exists(), "it is written in the same run");
    Ok(())
}

#[test]
fn a_set_has_a_file_for_each_entity() -> Result<()> {
    mod more {
        use table_runtime::TableEntity;

        #[derive(TableEntity)]
        #[table(name = "Authors", entity = "Writer")]
        pub(super) struct Author {
            #[partition_key]
            #[row_key]
            pub name: String,
        }
    }
    type Blog = (first::Post, (more::Author,));
    let folder = tempfile::tempdir()?;
    let assert = || catch_unwind(AssertUnwindSafe(|| table_runtime::assert_layouts!(Blog, folder.path())));
    let panic = assert().err().context("there were no files")?;
    let text = panic.downcast_ref::<String>().context("a message")?;
    ensure!(text.contains("Post.json") && text.contains("Writer.json"), "{text}");
    ensure!(assert().is_ok(), "they were written");
    fs::write(folder.path().join("Post.json"), serde_json::to_string(&changed::Post::layout())?)?;
    let panic = assert().err().context("one of them differs")?;
    let text = panic.downcast_ref::<String>().context("a message")?;
    ensure!(text.contains("`Post` is not stored as") && !text.contains("Writer.json"), "{text}");
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
        &["the primary key has changed", "plain", "lowercase", "not found", "`tables.migrate::<Old, Post>()`"][..],
        &["the index `title` has changed", "lowercase", "uppercase", "another name", "backfill", "drop_index"],
        &["the index `score` is new", "`tables.backfill::<Post>(\"score\")`"],
        &["the index `mood` is gone", "`tables.drop_index::<Post>(\"mood\")`"],
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

/// Declares an entity of one table several times.
macro_rules! versions {
    ($($version:ident [$($table:tt)*] { $($fields:tt)* })*) => {$(
        mod $version {
            #[allow(unused_imports)]
            use table_runtime::{Property, TableEntity};

            #[derive(TableEntity)]
            #[table(name = "Cases", $($table)*)]
            pub(crate) struct Case {
                #[partition_key]
                pub id: u32,
                #[row_key]
                pub number: u32,
                $($fields)*
            }

            #[allow(dead_code)]
            impl Case {
                pub(crate) fn is_open(closed: &bool) -> bool {
                    !closed
                }

                pub(crate) fn is_urgent(closed: &bool) -> bool {
                    !closed
                }
            }
        }
    )*};
}

versions! {
    narrow [] { pub value: u8, pub note: Option<String> }
    wide [] { pub value: i64, pub note: Option<String> }
    floating [] { pub value: f64, pub note: Option<String> }
    rounded [] { pub value: f32, pub note: Option<String> }
    of_64_bits [] { pub value: u64, pub note: Option<String> }
    any_text [] { pub value: String, pub note: Option<String> }
    json [] { #[property(json)] pub value: Vec<u8>, pub note: Option<String> }
    date [] { pub value: time::Date, pub note: Option<String> }
    flag [] { pub value: bool, pub note: Option<String> }
    optional [] { pub value: Option<u8>, #[property(default)] pub note: Option<String> }
    open [] { pub closed: bool, #[index(owner, when(closed, Self::is_open))] pub owner: Option<String> }
    urgent [] { pub closed: bool, #[index(owner, when(closed, Self::is_urgent))] pub owner: Option<String> }
    always [] { pub closed: bool, #[index(owner)] pub owner: Option<String> }
    other_condition [] {
        pub closed: bool,
        pub solved: bool,
        #[index(owner, when(solved, Self::is_open))]
        pub owner: Option<String>,
    }
    renamed_condition [] {
        #[property(rename = "Closed")]
        pub is_closed: bool,
        #[index(owner, when(is_closed, Self::is_open))]
        pub owner: Option<String>,
    }
    renamed_owner [] {
        pub closed: bool,
        #[index(owner, when(closed, Self::is_open))]
        #[property(rename = "Keeper")]
        pub owner: Option<String>,
    }
    same_owner [] {
        pub closed: bool,
        #[index(owner, when(closed, Self::is_open))]
        #[property(rename = "Owner")]
        pub keeper: Option<String>,
    }
    pinned [entity = "Ticket", was = "Case"] { pub value: u8 }
}

/// Returns the changes from `Was` to `Now`.
fn changes<Was: TableEntity, Now: TableEntity>() -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("case.json");
    fs::write(&path, serde_json::to_string(&Was::layout())?)?;
    let text = message::<Now>(&path).unwrap_or_default();
    Ok(text.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect())
}

/// Asserts that there is one change, with these words.
#[track_caller]
fn is_change<Was: TableEntity, Now: TableEntity>(words: &[&str]) -> Result<()> {
    let changes = changes::<Was, Now>()?;
    assert_eq!(changes.len(), 1, "{changes:?}");
    for word in words {
        ensure!(changes[0].contains(word), "no {word} in {changes:?}");
    }
    Ok(())
}

#[test]
fn a_change_of_type_is_reported_with_what_is_read() -> Result<()> {
    is_change::<narrow::Case, wide::Case>(&["`Value`", "was `Edm.Int32 in 0..=255`", "is `Edm.Int64`", "as before"])?;
    is_change::<wide::Case, narrow::Case>(&["`Edm.Int32 in 0..=255` does not hold are not read:", "version"])?;
    is_change::<floating::Case, wide::Case>(&["`Edm.Int64` does not hold are not read:"])?;
    is_change::<wide::Case, floating::Case>(&["`Edm.Double` does not hold are not read:"])?;
    is_change::<narrow::Case, floating::Case>(&["as before"])?;
    is_change::<floating::Case, rounded::Case>(&["not read, or are read rounded"])?;
    is_change::<rounded::Case, floating::Case>(&["as before"])?;
    is_change::<narrow::Case, flag::Case>(&[
        "was `Edm.Int32 in 0..=255`",
        "`Edm.Boolean`: no row",
        "version",
        "rename",
    ])?;
    // A program of the old struct would not read the new texts, and `create` refuses.
    let refused = ["programs with the old type cannot read rows that this one writes", "`create` refuses", "version"];
    is_change::<narrow::Case, of_64_bits::Case>(&refused)?;
    is_change::<json::Case, date::Case>(&refused)?;
    is_change::<json::Case, any_text::Case>(&refused)?;
    is_change::<any_text::Case, date::Case>(&["is `Edm.String of a date`", "does not hold are not read:"])?;
    is_change::<date::Case, any_text::Case>(&["as before"])?;
    // Earlier releases recorded JSON as any text.
    assert_eq!(changes::<any_text::Case, json::Case>()?, [""; 0]);
    // An `Option` and a default have the type of the value.
    assert_eq!(changes::<narrow::Case, optional::Case>()?, [""; 0]);
    Ok(())
}

#[test]
fn a_damaged_file_is_another_layout() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("case.json");
    let file = serde_json::to_value(open::Case::layout())?;
    fs::write(&path, file.to_string())?;
    assert_eq!(message::<open::Case>(&path), None);
    for damage in [serde_json::json!(1), serde_json::json!([1, "a"]), serde_json::json!({ "when": [1] })] {
        for place in ["/layouts/1/partition", "/layouts/1/index", "/layouts/1", "/properties", "/layouts/0/row"] {
            let mut damaged = file.clone();
            *damaged.pointer_mut(place).context("a place of a layout")? = damage.clone();
            fs::write(&path, damaged.to_string())?;
            let text = message::<open::Case>(&path).context("the layout is damaged")?;
            ensure!(text.starts_with("`Case` is not stored as"), "{place} {damage}: {text}");
        }
    }
    Ok(())
}

#[test]
fn another_predicate_of_an_index_is_reported() -> Result<()> {
    let index = "the index `owner` has changed";
    is_change::<open::Case, urgent::Case>(&[index, "the predicate was `Self::is_open` and is `Self::is_urgent`"])?;
    is_change::<open::Case, always::Case>(&[index, "the predicate was `Self::is_open` and is gone"])?;
    is_change::<always::Case, open::Case>(&[index, "the predicate is new: `Self::is_open`"])?;
    let changes = changes::<open::Case, other_condition::Case>()?;
    assert_eq!(changes.len(), 2, "{changes:?}");
    let text = "the property of the predicate's first field was `Closed` and is `Solved`";
    ensure!(changes[0].contains(index) && changes[0].contains(text), "{changes:?}");
    ensure!(changes[1].contains("the property `Solved` is new"), "{changes:?}");
    Ok(())
}

#[test]
fn a_renamed_property_of_an_indexed_field_is_reported() -> Result<()> {
    let changes_of_owner = changes::<open::Case, renamed_owner::Case>()?;
    let words = [
        "the index `owner` has changed: the property of the partition key's first part was `Owner` and is `Keeper`",
        "the property `Keeper` is new",
        "the property `Owner` is gone",
    ];
    assert_eq!(changes_of_owner.len(), words.len(), "{changes_of_owner:?}");
    for (change, words) in changes_of_owner.iter().zip(words) {
        ensure!(change.contains(words), "no {words} in {change}");
    }
    // A field with another name and the same property is the same.
    assert_eq!(changes::<open::Case, same_owner::Case>()?, [""; 0]);
    assert_eq!(changes::<open::Case, renamed_condition::Case>()?, [""; 0]);
    Ok(())
}

#[test]
fn a_layout_holds_types_predicates_and_the_name_of_the_entity() -> Result<()> {
    let layout = serde_json::to_value(open::Case::layout())?;
    assert_eq!(
        layout["properties"],
        serde_json::json!([
            { "field": "closed", "name": "Closed", "edm": "Edm.Boolean" },
            { "field": "owner", "name": "Owner", "edm": "Edm.String" },
        ])
    );
    let index = &layout["layouts"][1]["index"];
    assert_eq!(index["when"], serde_json::json!({ "fields": ["closed"], "path": "Self::is_open" }));
    assert_eq!(index["pointer"], serde_json::json!([]));
    assert_eq!(serde_json::to_value(always::Case::layout())?["layouts"][1]["index"]["when"], serde_json::Value::Null);
    assert_eq!((open::Case::layout().entity, pinned::Case::layout().entity), ("Case", "Ticket"));
    assert_eq!((<open::Case as TableEntity>::INFO.was, <pinned::Case as TableEntity>::INFO.was), (None, Some("Case")));
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
        this.args(["--exact", "assert_layout::a_change_is_accepted_on_request"]).env(FILE, &path);
        anyhow::Ok(this)
    };
    ensure!(!run()?.env_remove("TABLE_LAYOUTS").output()?.status.success(), "the layout differs");
    ensure!(!run()?.env("TABLE_LAYOUTS", "1").output()?.status.success(), "the value is not `overwrite`");
    ensure!(run()?.env("TABLE_LAYOUTS", "overwrite").output()?.status.success(), "the change is accepted");
    assert_eq!(message::<changed::Post>(&path), None);
    Ok(())
}

#[test]
fn a_layout_shows_where_the_rows_of_each_index_are_and_what_they_hold() {
    #[derive(TableEntity)]
    struct Staff {
        #[partition_key]
        department: String,
        #[row_key(prefix = "id-")]
        number: u32,
        #[index(name, lowercase, same_partition, unique)]
        name: String,
        #[index(email, lowercase, unique)]
        email: Option<String>,
        #[index(city, table = "StaffByCity", include(name))]
        city: String,
        #[index(joined, reverse_time, same_partition, copy)]
        joined: SystemTime,
    }
    let shown = Staff::layout().to_string();
    let lines: Vec<_> = shown.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "Staff",
            "key: PartitionKey {department} RowKey id-{number}",
            "such as PartitionKey='Ada' RowKey='id-0000000007'",
            "name: PartitionKey {department} RowKey name-{name: lowercase}",
            "unique, in the entity's partition: pointers",
            "such as PartitionKey='Ada' RowKey='name-ada'",
            "email: PartitionKey {email: lowercase} RowKey",
            "unique, in other partitions, of StaffByEmail: pointers",
            "such as PartitionKey='ada' RowKey=''",
            "city: PartitionKey {city} RowKey {department} {number}",
            "in other partitions, of StaffByCity: pointers, with Name",
            "such as PartitionKey='Ada' RowKey='Ada 0000000007'",
            "joined: PartitionKey {department} RowKey joined-{joined: reverse_time} {number}",
            "in the entity's partition: copies",
            "such as PartitionKey='Ada' RowKey='joined-2521272527999999999_0000000007'",
            "properties: Name, Email, City, Joined",
        ]
    );
}
