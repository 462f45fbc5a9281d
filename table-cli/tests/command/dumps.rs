//! `tables dump` and `tables load`.

use std::fs;

use super::*;

/// Extension of the files.
const EXTENSION: &str = if cfg!(feature = "zstd") { "ndjson.zst" } else { "ndjson" };

fn name(number: usize) -> String {
    format!("{number:05}.{EXTENSION}")
}

fn manifest(folder: &str) -> serde_json::Value {
    serde_json::from_slice(&fs::read(format!("{folder}/manifest.json")).unwrap()).unwrap()
}

/// Changes the list of a dump.
fn change_manifest(folder: &str, change: impl FnOnce(&mut serde_json::Value)) {
    let mut manifest = manifest(folder);
    change(&mut manifest);
    fs::write(format!("{folder}/manifest.json"), manifest.to_string()).unwrap();
}

/// Returns the names of the files that a dump lists.
fn listed(folder: &str) -> Vec<String> {
    let manifest = manifest(folder);
    let files = manifest["files"].as_array().unwrap();
    files.iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs a command that succeeds, and returns its report.
#[track_caller]
fn reported(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    errors
}

pub(super) async fn execute(file: &str, table: &'static str, partition: &str, row_key: &str, action: Action) {
    let backend = EmbeddedBackend::open(file).unwrap();
    backend.create_table(table).await.unwrap();
    let operations = vec![Operation { row_key: row_key.into(), action }];
    backend.execute_group(&Group { table: table.into(), partition_key: partition.into(), operations }).await.unwrap();
}

#[tokio::test]
async fn a_dump_of_several_files_is_loaded() {
    let folder = Folder::new();
    let (file, files, copy) = (folder.path("a.tables"), folder.path("dump"), folder.path("b.tables"));
    fill_pages(&file).await;
    let expected = dump_of(&file).await;
    let rows = sorted_rows(&expected).len();
    let before = fs::read(&file).unwrap();
    let report = reported(&["--store", &file, "dump", &files, "--file-size", "4KiB"]);
    assert_eq!(report, format!("{rows} rows dumped\n"));
    assert!(fs::read(&file).unwrap() == before, "the file is unchanged");

    let manifest = manifest(&files);
    assert_eq!((&manifest["is_complete"], &manifest["rows"]), (&true.into(), &rows.into()));
    let listed = listed(&files);
    assert!(listed.len() > 3, "{manifest}");
    let mut all = Vec::new();
    for (number, listed) in listed.iter().enumerate() {
        assert_eq!(*listed, name(number));
        let bytes = fs::read(format!("{files}/{listed}")).unwrap();
        assert!(bytes.len() >= 4096 || number + 1 == manifest["files"].as_array().unwrap().len());
        let of_file = &manifest["files"][number];
        assert_eq!(of_file["bytes"], bytes.len());
        assert_eq!(of_file["checksum"], format!("{:032x}", twox_hash::XxHash3_128::oneshot(&bytes)));
        all.extend(bytes);
    }
    // The files are those of other programs too, one after the other.
    #[cfg(feature = "zstd")]
    let all = zstd::decode_all(&*all).unwrap();
    assert!(all == expected.as_bytes());

    let report = reported(&["--store", &copy, "load", &files, "--dry-run"]);
    assert_eq!(report, format!("{rows} rows can be loaded\n"));
    assert!(!fs::exists(&copy).unwrap(), "a dry run writes nothing");
    let report = reported(&["--store", &copy, "load", &files, "--side-by-side", "4"]);
    assert_eq!(report, format!("{rows} rows loaded\n"));
    assert_eq!(dump_of(&copy).await, expected);
    assert_eq!(printed(&["--store", &copy, "verify"]), "6000 entities and 6000 index rows compared\n");

    // One table, in one file, read side by side. Nothing is left of a dump whose table does not exist.
    let (posts, of_posts) = (folder.path("posts"), folder.path("c.tables"));
    assert_eq!(failed(&["--store", &file, "dump", &posts, "--table", "psots"]).0, 3);
    printed(&["--store", &file, "dump", &posts, "--table", "posts", "--side-by-side", "4"]);
    assert_eq!(self::listed(&posts), [name(0)]);
    printed(&["--store", &of_posts, "load", &posts]);
    assert_eq!(printed(&["--store", &of_posts, "count", "Posts"]), "6000\n");
    assert_eq!(failed(&["--store", &of_posts, "count", "PostsByTitle"]).0, 3);

    // A folder with something else.
    let (code, line) = failed(&["--store", &file, "dump", &posts, "--table", "posts"]);
    assert!(code == 2 && line.contains("the folder has a complete dump"), "{code} {line}");
    let other = folder.path("");
    let (code, line) = failed(&["--store", &file, "dump", &other]);
    assert!(code == 2 && line.contains("the folder is not empty"), "{code} {line}");
}

#[tokio::test]
async fn a_damaged_dump_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    let (file, files, copy) = (folder.path("a.tables"), folder.path("dump"), folder.path("b.tables"));
    fill_pages(&file).await;
    printed(&["--store", &file, "dump", &files, "--file-size", "4KiB"]);
    let other = folder.path("other");
    printed(&["--store", &file, "dump", &other, "--file-size", "4KiB", "--table", "PostsByTitle"]);
    let last = listed(&files).len() - 1;
    let refuse = |file: &str, expected: &str| {
        let (code, line) = failed(&["--store", &copy, "load", &files]);
        assert!(code == 2 && line.contains(file) && line.contains(expected), "{file}: {code} {line}");
        assert!(!fs::exists(&copy).unwrap(), "{file}: nothing is written");
    };
    let path = |number| format!("{files}/{}", name(number));
    for number in [0, last] {
        let bytes = fs::read(path(number)).unwrap();
        let mut damaged = bytes.clone();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(path(number), &damaged).unwrap();
        refuse(&name(number), "it has another checksum");
        fs::write(path(number), &bytes[1..]).unwrap();
        refuse(&name(number), "the file is damaged: it has");
        fs::write(path(number), [&*bytes, &bytes].concat()).unwrap();
        refuse(&name(number), "the file is damaged: it has");
        fs::remove_file(path(number)).unwrap();
        refuse(&name(number), "is missing");
        fs::write(path(number), &bytes).unwrap();
    }
    let bytes = fs::read(path(1)).unwrap();
    fs::copy(format!("{other}/{}", name(1)), path(1)).unwrap();
    refuse(&name(1), "damaged");
    fs::write(path(1), bytes).unwrap();

    // A link to a device or a pipe would be read for ever.
    #[cfg(unix)]
    {
        let moved = folder.path("moved");
        fs::rename(path(1), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, path(1)).unwrap();
        refuse(&name(1), "it is no file");
        fs::rename(&moved, path(1)).unwrap();
    }

    let unchanged = fs::read(format!("{files}/manifest.json")).unwrap();
    change_manifest(&files, |manifest| manifest["is_complete"] = false.into());
    refuse(&files, "the dump is not complete");
    change_manifest(&files, |manifest| manifest["format"] = 2.into());
    refuse("manifest.json", "later format");
    fs::write(format!("{files}/manifest.json"), &unchanged).unwrap();
    fs::copy(path(0), folder.path("outside")).unwrap();
    change_manifest(&files, |manifest| manifest["files"][0]["name"] = "../outside".into());
    refuse("outside", "not a name of a file");
    fs::write(format!("{files}/manifest.json"), b"{").unwrap();
    refuse("manifest.json", "no list of a dump");
    fs::remove_file(format!("{files}/manifest.json")).unwrap();
    refuse(&files, "the folder has no dump");
    fs::write(format!("{files}/manifest.json"), &unchanged).unwrap();
    printed(&["--store", &copy, "load", &files]);
}

#[tokio::test]
async fn an_interrupted_dump_continues() {
    let folder = Folder::new();
    let (file, files, copy) = (folder.path("a.tables"), folder.path("dump"), folder.path("b.tables"));
    fill_pages(&file).await;
    let rows = sorted_rows(&dump_of(&file).await).len();
    let other = folder.path("c.tables");
    fs::copy(&file, &other).unwrap();
    // A row of the last table that cannot be copied.
    let action = Action::Insert([("odata.kind", Value::Int32(1))].into_iter().collect());
    execute(&file, "Zebras", "p", "r", action).await;
    let dump = ["--store", &file, "dump", &files, "--file-size", "1KiB"];
    assert_eq!(failed(&dump).0, 1);
    let begun = listed(&files);
    assert!(begun.len() > 3 && manifest(&files)["is_complete"] == false);
    let (code, line) = failed(&["--store", &copy, "load", &files]);
    assert!(code == 2 && line.contains("the dump is not complete"), "{code} {line}");
    // A row that is in the files, and one that cannot be copied, are removed.
    execute(&file, "Posts", "Marcus", "0000", Action::Delete(IfMatch::Any)).await;
    execute(&file, "Zebras", "p", "r", Action::Delete(IfMatch::Any)).await;

    for arguments in [
        &["--store", &file, "dump", &files, "--table", "Posts"][..],
        &["--store", &file, "dump", &files, "--shard", "0/2"],
        &["--store", &file, "dump", &files, "--partitions", "a.."],
        &["--store", &file, "--prefix", "a1", "dump", &files],
        &["--store", &other, "dump", &files],
    ] {
        let (code, line) = failed(arguments);
        assert!(code == 2 && line.contains("an unfinished dump with other arguments"), "{arguments:?}: {code} {line}");
    }
    let first = format!("{files}/{}", name(0));
    fs::rename(&first, folder.path("first")).unwrap();
    let (code, line) = failed(&dump);
    assert!(code == 2 && line.contains(&name(0)), "{code} {line}");
    fs::rename(folder.path("first"), &first).unwrap();
    assert_eq!(listed(&files), begun);

    // What it has left behind, and a file that is not its own.
    let strays = [begun.len(), begun.len() + 50].map(|number| format!("{files}/{}", name(number)));
    for stray in &strays {
        fs::write(stray, "a part").unwrap();
    }
    fs::write(format!("{files}/notes.txt"), "mine").unwrap();
    let report = reported(&dump);
    assert_eq!(report, format!("{rows} rows dumped\n"));
    let complete = listed(&files);
    assert!(complete.len() > begun.len() && complete.starts_with(&begun), "{complete:?}");
    assert!(!fs::exists(&strays[1]).unwrap() && fs::exists(format!("{files}/notes.txt")).unwrap());

    let report = reported(&["--store", &copy, "load", &files]);
    assert_eq!(report, format!("{rows} rows loaded\n"));
    assert_eq!(printed(&["--store", &copy, "count", "Posts"]), "6000\n", "the files of the first run are used");
    assert_eq!(printed(&["--store", &copy, "count", "Zebras"]), "0\n");
    assert_eq!(printed(&["--store", &copy, "verify"]), "6000 entities and 6000 index rows compared\n");
}

#[tokio::test]
async fn a_load_continues_at_its_own_cursor() {
    let folder = Folder::new();
    let (file, files, copy) = (folder.path("a.tables"), folder.path("dump"), folder.path("b.tables"));
    let (cursor, other) = (folder.path("cursor"), folder.path("other"));
    fill_pages(&file).await;
    let rows = sorted_rows(&dump_of(&file).await).len();
    printed(&["--store", &file, "dump", &files, "--file-size", "4KiB"]);
    printed(&["--store", &file, "dump", &other]);
    // The catalog, which is last, is refused, because the target has recorded something else.
    let record = [("Format", Value::Int32(1)), ("Changes", Value::Int64(99))].into_iter().collect();
    execute(&copy, "TableLayouts", "layouts", "!", Action::Insert(record)).await;
    let load = ["--store", &copy, "load", &files, "--cursor", &cursor];
    let (code, line) = failed(&load);
    assert!(code == 2 && line.contains("other records than these"), "{code} {line}");
    let another = folder.path("c.tables");
    refuse_the_cursor(&cursor, &[&["--store", &another, "load", &files], &["--store", &copy, "load", &other]]);
    execute(&copy, "TableLayouts", "layouts", "!", Action::Delete(IfMatch::Any)).await;
    // A row before the cursor is not written again.
    execute(&copy, "Posts", "Marcus", "0000", Action::Delete(IfMatch::Any)).await;
    assert_eq!(reported(&load), format!("{rows} rows loaded\n"));
    assert_eq!(printed(&["--store", &copy, "count", "Posts"]), "5999\n");
    assert!(!fs::exists(&cursor).unwrap());
}
