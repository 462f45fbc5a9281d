//! The options of jobs.

use super::*;

/// Writes three posts of each of 26 authors.
async fn fill_authors(path: &str) {
    let tables = Tables::open(path).unwrap();
    tables.create::<Post>().await.unwrap();
    let post = |number: u32| {
        let author = char::from_u32(u32::from('a') + number % 26).unwrap();
        Post { author: author.into(), id: number, title: format!("post {number}"), likes: None }
    };
    tables.insert_all((0..78).map(post)).await.unwrap();
}

fn count(store: &str) -> u32 {
    printed(&["--store", store, "count", "Posts"]).trim().parse().unwrap()
}

#[tokio::test]
async fn a_verification_of_a_sample_says_what_it_proves() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill_authors(&file).await;
    let sample = ["--store", &file, "verify", "--sample", "9", "--seed", "5"];
    let printed = printed(&sample);
    // Each table has fewer rows than a range.
    let line = printed.lines().find(|line| line.starts_with("0 of 9 ranges have problems, ")).expect(&printed);
    assert!(line.ends_with("seed 5: with a confidence of 95 %, at most 28.31 % of such ranges have any"), "{line}");
    assert_eq!(run(&sample).stdout, printed.as_bytes(), "the same seed");
}

#[tokio::test]
async fn a_copy_is_of_some_partitions_or_a_share() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill_authors(&file).await;
    let expected = dump_of(&file).await;
    for (number, (range, posts)) in [("b..d", 6), ("..b", 3), ("y..", 6), ("..", 78)].into_iter().enumerate() {
        let (copy, files) = (folder.path(&format!("{number}.tables")), folder.path(&format!("dump {number}")));
        printed(&["copy", &file, &copy, "--table", "Posts", "--partitions", range]);
        assert_eq!(count(&copy), posts, "{range}");
        printed(&["--store", &file, "dump", &files, "--table", "Posts", "--partitions", range]);
        let loaded = folder.path(&format!("loaded {number}.tables"));
        printed(&["--store", &loaded, "load", &files]);
        assert_eq!(count(&loaded), posts, "{range}");
    }
    // Two shares are the whole, once.
    let (copy, cursor) = (folder.path("both.tables"), folder.path("cursor"));
    let copy_share = |share| printed(&["copy", &file, &copy, "--shard", share, "--cursor", &cursor]);
    copy_share("0/2");
    let first = count(&copy);
    assert!(first > 0 && first < 78, "{first}");
    copy_share("1/2");
    assert_eq!(dump_of(&copy).await, expected);
    for (share, posts) in [("0/2", first), ("1/2", 78 - first)] {
        let files = folder.path(&share.replace('/', " of "));
        let output = run(&["--store", &file, "dump", &files, "--table", "Posts", "--shard", share]);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("{posts} rows dumped\n"));
    }

    let (copy, dry) = (folder.path("whole.tables"), folder.path("dry.tables"));
    printed(&["copy", &file, &copy, "--side-by-side", "4"]);
    assert_eq!(dump_of(&copy).await, expected);
    let output = run(&["copy", &file, &dry, "--dry-run"]);
    let rows = sorted_rows(&expected).len();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("{rows} rows can be copied\n"));
    assert!(output.status.success() && !Path::new(&dry).exists(), "a dry run writes nothing");
    let before = fs::read(&copy).unwrap();
    printed(&["copy", &file, &copy, "--dry-run"]);
    assert!(fs::read(&copy).unwrap() == before);
}

#[tokio::test]
async fn a_verification_is_of_some_partitions_and_continues() {
    let folder = Folder::new();
    let (file, cursor) = (folder.path("a.tables"), folder.path("cursor"));
    fill_authors(&file).await;
    let verified = printed(&["--store", &file, "verify", "Post", "--partitions", "b..d"]);
    assert!(verified.starts_with("6 entities and "), "{verified}");
    // With an entity of the partitions and one of others without their index rows.
    let backend = EmbeddedBackend::open(&file).unwrap();
    for (author, title) in [("b", "post 1"), ("x", "post 23")] {
        let row_key = format!("{author} {}", &format!("0000{}", &title[5..])[title.len() - 5..]);
        let operations = vec![Operation { row_key, action: Action::Delete(IfMatch::Any) }];
        let group = Group { table: "PostsByTitle".into(), partition_key: title.into(), operations };
        backend.execute_group(&group).await.unwrap();
    }
    drop(backend);
    for (arguments, problems) in
        [(&["--partitions", "b..d"][..], 1), (&["--side-by-side", "4"], 2), (&["--sample", "9"], 2), (&[], 2)]
    {
        let output = run(&[&["--store", &file, "verify"], arguments].concat());
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
        assert_eq!(
            found.lines().filter(|line| line.contains("has no row")).count(),
            problems,
            "{arguments:?}: {found}"
        );
    }

    let pages = folder.path("pages.tables");
    fill_pages(&pages).await;
    let backend = EmbeddedBackend::open(&pages).unwrap();
    let operations = vec![Operation { row_key: "Marcus 5000".into(), action: Action::Delete(IfMatch::Any) }];
    let group = Group { table: "PostsByTitle".into(), partition_key: "same".into(), operations };
    backend.execute_group(&group).await.unwrap();
    drop(backend);
    // Small memory, which takes several passes, finds the same.
    let expected = "6000 entities and 5999 index rows compared";
    for memory in ["16KiB", "1GiB"] {
        let output = run(&["--store", &pages, "verify", "--memory", memory]);
        let found = String::from_utf8(output.stdout).unwrap();
        assert!(found.contains("'Marcus 5000'") && found.contains(expected), "{memory}: {found}");
        assert_eq!(output.status.code(), Some(4), "{memory}");
    }
    // Nobody reads the output, so the verification ends with the problem that it has found, after the first pages.
    let interrupted = |arguments: &[&str]| -> serde_json::Value {
        let _ = fs::remove_file(&cursor);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
        command.args(["--store", &pages, "verify", "--cursor", &cursor]).args(arguments);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        child.wait().unwrap();
        let mut saved: serde_json::Value = serde_json::from_slice(&fs::read(&cursor).unwrap()).unwrap();
        assert!(saved["position"]["entities"] == 6000 && saved["position"]["problems"] == 0, "{saved}");
        saved["position"]["cursor"].take()
    };
    assert_ne!(interrupted(&["--memory", "16KiB"]), interrupted(&["--memory", "1GiB"]), "another range of hashes");
    assert_eq!(interrupted(&["--memory", "64MiB"]), interrupted(&[]));
    refuse_the_cursor(
        &cursor,
        &[
            &["--store", &pages, "verify", "Post"],
            &["--store", &pages, "verify", "--partitions", "a.."],
            &["--store", &file, "verify"],
        ],
    );
    let output = run(&["--store", &pages, "verify", "--cursor", &cursor]);
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(found.contains("'Marcus 5000'") && found.contains(expected), "{found}");
    assert!(output.status.code() == Some(4) && !Path::new(&cursor).exists());
}

#[tokio::test]
async fn a_copy_continues_after_the_rows_before_its_cursor() {
    let folder = Folder::new();
    let (file, copy, cursor) = (folder.path("a.tables"), folder.path("b.tables"), folder.path("cursor"));
    fill_pages(&file).await;
    let rows = sorted_rows(&dump_of(&file).await).len();
    // The catalog, which is last, is refused, because the target has recorded something else.
    let record = [("Format", Value::Int32(1)), ("Changes", Value::Int64(99))].into_iter().collect();
    dumps::execute(&copy, "TableLayouts", "layouts", "!", Action::Insert(record)).await;
    let (code, line) = failed(&["copy", &file, &copy, "--cursor", &cursor]);
    assert!(code == 2 && line.contains("other records than these"), "{code} {line}");
    refuse_the_cursor(
        &cursor,
        &[&["copy", &file, &copy, "--partitions", "a.."], &["copy", &file, &copy, "--shard", "0/2"]],
    );
    dumps::execute(&copy, "TableLayouts", "layouts", "!", Action::Delete(IfMatch::Any)).await;
    dumps::execute(&copy, "Posts", "Marcus", "0000", Action::Delete(IfMatch::Any)).await;
    let output = run(&["copy", &file, &copy, "--cursor", &cursor]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("{rows} rows copied\n"));
    assert_eq!(count(&copy), 5999, "a row before the cursor is not written again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_is_of_some_partitions_or_a_share() {
    let folder = Folder::new();
    let (file, cursor) = (folder.path("a.tables"), folder.path("cursor"));
    let tables = fill_sessions(&file).await;
    let until = SystemTime::now() - Duration::from_hours(1);
    for user in ["bob", "eve"] {
        let session = Session { user: user.into(), id: 1, token: format!("t-{user}"), until, deleted: None };
        tables.insert(&session).await.unwrap();
    }
    drop(tables);
    let sweep = |arguments: &[&str]| printed(&[&["--store", &file, "sweep", "Session"], arguments].concat());
    assert!(sweep(&["--dry-run", "--partitions", "b.."]).ends_with("2 entities found, 0 removed\n"));
    let shares = ["0/2", "1/2"].map(|share| sweep(&["--dry-run", "--shard", share]));
    assert_eq!(shares.iter().map(|found| found.matches("PartitionKey").count()).sum::<usize>(), 4);
    assert_ne!(shares[0].lines().count(), 5, "a share is not the whole");
    assert_eq!(sweep(&["--partitions", "bob..eve", "--side-by-side", "2"]), "1 entity found, 1 removed\n");

    assert_eq!(sweep(&["--cursor", &cursor]), "3 entities found, 3 removed\n");
    assert!(!Path::new(&cursor).exists(), "the cursor of a complete sweep is removed");
}

#[tokio::test]
async fn a_sweep_continues_at_its_own_cursor() {
    let folder = Folder::new();
    let (file, cursor) = (folder.path("a.tables"), folder.path("cursor"));
    let tables = Tables::open(&file).unwrap();
    tables.create::<Session>().await.unwrap();
    let until = SystemTime::now() - Duration::from_hours(1);
    let session = |id| Session { user: "ada".into(), id, token: format!("t{id}"), until, deleted: None };
    tables.insert_all((0..1200).map(session)).await.unwrap();
    drop(tables);
    // It is killed after its first pages.
    let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
    command.args(["--store", &file, "sweep", "Session", "--cursor", &cursor]).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    while !Path::new(&cursor).exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&fs::read(&cursor).unwrap()).unwrap();
    let removed = saved["position"]["removed"].as_u64().unwrap();
    assert!(removed > 0 && removed < 1200, "{saved}");
    refuse_the_cursor(
        &cursor,
        &[
            &["--store", &file, "sweep", "Session", "--deleted-before", "1h"],
            &["--store", &file, "sweep", "Session", "--partitions", "a.."],
            &["--store", &file, "sweep", "Post"],
        ],
    );
    printed(&["open", &file]);
    let left: u64 = printed(&["--store", &file, "count", "Session"]).trim().parse().unwrap();
    let all = removed + left;
    let swept = printed(&["--store", &file, "sweep", "Session", "--cursor", &cursor]);
    assert_eq!(swept, format!("{all} entities found, {all} removed\n"));
    assert!(!Path::new(&cursor).exists());
}

#[tokio::test]
async fn wrong_values_get_one_line_and_a_code() {
    let folder = Folder::new();
    let (file, new) = (folder.path("a.tables"), folder.path("new.tables"));
    drop(Tables::open(&file).unwrap());
    let (copy, dump) = (["copy", &file, &new], ["--store", &file, "dump", &new]);
    let (load, verify) = (["--store", &new, "load", &file], ["--store", &file, "verify"]);
    let sweep = ["--store", &file, "sweep", "Session"];
    let cases: [(&[&str], &[&str], &str); 22] = [
        (&copy, &["--shard", "3/3"], "shards are counted from 0: I must be below 3"),
        (&copy, &["--shard", "1"], "write I/N, such as 0/3"),
        (&sweep, &["--shard=-1/3"], "write I/N"),
        (&dump, &["--shard", "a/3"], "write I/N"),
        (&copy, &["--partitions", "d..b"], "FROM must be before TO"),
        (&sweep, &["--partitions", "b..b"], "FROM must be before TO"),
        // In UTF-16, the first of these is after the second.
        (&verify, &["--partitions", "\u{FFFF}..\u{10000}"], "FROM must be before TO"),
        (&dump, &["--partitions", "b"], "write FROM..TO"),
        (&copy, &["--side-by-side", "0"], "--side-by-side"),
        (&dump, &["--file-size", "much"], "write a number of bytes, such as 256MiB"),
        (&verify, &["--memory", "much"], "write a number of bytes, such as 256MiB"),
        (&copy, &["--dry-run", "--cursor", &new], "cannot be used with"),
        // Options that the job does not have.
        (&verify, &["--shard", "0/2"], "unexpected argument '--shard'"),
        (&verify, &["--dry-run"], "unexpected argument '--dry-run'"),
        (&copy, &["--table", "Posts", "--partition", "a", "--shard", "0/2"], "cannot be used with"),
        (&verify, &["--sample", "0"], "number would be zero"),
        (&verify, &["--seed", "1"], "--sample <RANGES>"),
        (&verify, &["--sample", "1", "--memory", "1MiB"], "cannot be used with"),
        (&dump, &["--cursor", &new], "unexpected argument '--cursor'"),
        (&load, &["--partitions", "a.."], "unexpected argument '--partitions'"),
        (&load, &["--shard", "0/2"], "unexpected argument '--shard'"),
        (&copy, &["--memory", "1MiB"], "unexpected argument '--memory'"),
    ];
    for (command, arguments, expected) in cases {
        let (code, line) = failed(&[command, arguments].concat());
        assert!(code == 2 && line.contains(expected), "{command:?} {arguments:?}: {code} {line}");
        assert!(!Path::new(&new).exists(), "{command:?} {arguments:?}");
    }
}
