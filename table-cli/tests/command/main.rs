//! The command `tables`, run as users run it.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::Arc,
    time::{Duration, SystemTime},
};

use table_runtime::{
    Guid, TableEntity, Tables, Ticks, Value,
    backend::{
        Action, Backend as _, BackendExt as _, EmbeddedBackend, Group, IfMatch, KeyRange, Operation, Partitions, Scan,
        StoreView,
    },
    row::{Properties, ValueRef},
    transfer::{Line, RowWriter, TableRow},
};
use tests::azurite;

mod derived;
mod dumps;
mod entities;
mod events;
mod files;
mod options;
mod signature;

#[derive(TableEntity, Clone)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(pad = 4)]
    id: u32,
    #[index(title, lowercase)]
    title: String,
    likes: Option<i64>,
}

/// A store's file in a folder of its own.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

/// Runs the command without a store in its environment.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
    command.args(arguments).env_remove("AZURE_TABLES_CONNECTION_STRING").output().unwrap()
}

/// Runs the command, which succeeds, and returns what it prints.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command, which fails, and returns its code and its one line.
#[track_caller]
fn failed(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
    (output.status.code().unwrap(), errors.trim().to_owned())
}

/// Writes a store with an entity, its index, a row of each type, and an empty table.
async fn fill(path: &str) {
    let tables = Tables::open(path).unwrap();
    tables.create::<Post>().await.unwrap();
    let post = |id, title: &str, likes| Post { author: "Marcus".into(), id, title: title.into(), likes };
    tables.insert_all([post(1, "Hello", Some(5)), post(2, "On Tables", None)]).await.unwrap();
    let mut writer = RowWriter::new(&tables);
    for row in odd_rows() {
        writer.write(row).await.unwrap();
    }
    writer.create_table("Empty").await.unwrap();
    writer.flush().await.unwrap();
}

/// Returns rows with values of each type that are easily lost.
fn odd_rows() -> Vec<TableRow> {
    let row = |row_key: &str, properties: Properties| TableRow {
        table: "Odd".into(),
        partition_key: "p, \"é\"".into(),
        row_key: row_key.into(),
        properties,
    };
    let time = |text: &str| Value::DateTime(text.parse().unwrap());
    let all: Properties = [
        ("Text", Value::String("a, \"b\"\r\n\\n\u{1}é𝄞".into())),
        ("Empty", Value::String(String::new())),
        ("Slash", Value::String("\\".into())),
        ("Bytes", Value::Binary(vec![0, 255, 10])),
        ("NoBytes", Value::Binary(Vec::new())),
        ("Yes", Value::Boolean(true)),
        ("Small", Value::Int32(i32::MIN)),
        ("Large", Value::Int64(i64::MAX)),
        ("Whole", Value::Double(5.0)),
        ("Zero", Value::Double(-0.0)),
        ("Least", Value::Double(5e-324)),
        ("Nan", Value::Double(f64::NAN)),
        ("Inf", Value::Double(f64::NEG_INFINITY)),
        ("Guid", Value::Guid(Guid::from_bytes([0xAB; 16]))),
        ("Time", time("2010-05-28T00:00:00.1234567Z")),
        ("First", Value::DateTime(Ticks::FIRST_PROPERTY)),
        ("table", Value::String("lower".into())),
    ]
    .into_iter()
    .collect();
    // The same name with another type.
    let other = [("Text", Value::Int32(1)), ("Large", Value::String("9".into()))].into_iter().collect();
    vec![row("1", all), row("2", other), row("3", Properties::default())]
}

/// Returns the lines of a dump of a store.
async fn dump(tables: &Tables) -> String {
    let mut lines = Vec::new();
    tables.dump(&mut lines).await.unwrap();
    String::from_utf8(lines).unwrap()
}

/// Returns the keys of the rows of a dump, and their properties in the order of the names.
fn sorted_rows(dump: &str) -> Vec<(String, String, Vec<String>)> {
    let row = |line: &str| match line.parse().unwrap() {
        Line::Row(row) => {
            let mut values: Vec<_> = row.properties.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
            values.sort_unstable();
            Some((row.partition_key, row.row_key, values))
        }
        _ => None,
    };
    dump.lines().filter_map(row).collect()
}

async fn dump_of(path: &str) -> String {
    dump(&Tables::open_read_only(path).unwrap()).await
}

#[tokio::test]
async fn a_store_is_listed_and_shown_without_changing_it() {
    let folder = Folder::new();
    let file = folder.path("blog.tables");
    fill(&file).await;
    let before = fs::read(&file).unwrap();

    let expected = [
        "table         rows  entity          layout  state  partition key       row key",
        "Empty         0     (not recorded)",
        "Odd           3     (not recorded)",
        "Posts         2     Post            key     ready  {author}            {id: pad = 4}",
        "PostsByTitle  2     Post            title   ready  {title: lowercase}  {author} {id: pad = 4}",
        "TableLayouts  3     (the catalog)",
    ];
    assert_eq!(printed(&["--store", &file, "list"]).lines().collect::<Vec<_>>(), expected);

    let expected = [
        "of    key               PartitionKey  RowKey  Title      Likes",
        "Post  author=Marcus id=1  Marcus        0001    Hello      5",
        "Post  author=Marcus id=2  Marcus        0002    On Tables",
    ];
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown = printed(&["--store", &file, "show", "Posts"]);
    assert_eq!(shown.lines().map(words).collect::<Vec<_>>(), expected.map(words));
    let shown = printed(&["--store", &file, "show", "PostsByTitle", "--partition", "on tables"]);
    assert!(shown.contains("Post by title  title~on tables author=Marcus id=2"), "{shown}");
    let shown = printed(&["--store", &file, "show", "Posts", "--partition", "Marcus", "--from", "0002", "--take", "1"]);
    assert_eq!((shown.lines().count(), shown.contains("On Tables")), (2, true), "{shown}");

    let got = printed(&["--store", &file, "get", "posts", "Marcus", "0001"]);
    let expected = r#"{"@table":"Posts","PartitionKey":"Marcus","RowKey":"0001","Title":"Hello","Likes@odata.type":"Edm.Int64","Likes":"5"}"#;
    assert_eq!(got.trim(), expected);
    assert_eq!(printed(&["--store", &file, "count", "Odd"]), "3\n");
    assert_eq!(printed(&["--store", &file, "count", "Posts", "--partition", "Marcus", "--to", "0001"]), "1\n");
    assert!(fs::read(&file).unwrap() == before, "the file is unchanged");
}

#[tokio::test]
async fn an_import_of_an_export_is_equal_and_can_be_used_at_once() {
    let folder = Folder::new();
    let (file, lines, copy) = (folder.path("a.tables"), folder.path("a.ndjson"), folder.path("b.tables"));
    fill(&file).await;
    printed(&["--store", &file, "export", "--output", &lines]);
    let expected = dump_of(&file).await;
    assert_eq!(fs::read_to_string(&lines).unwrap(), expected);
    assert_eq!(printed(&["--store", &file, "export"]), expected);
    printed(&["--store", &copy, "import", &lines]);
    assert_eq!(dump_of(&copy).await, expected);
    // Again, which changes nothing.
    printed(&["--store", &copy, "import", &lines]);
    assert_eq!(dump_of(&copy).await, expected);

    let tables = Tables::open(&copy).unwrap();
    let found = Post::by_title("on tables").all(&tables).await.unwrap();
    assert_eq!(found.iter().map(|post| post.id).collect::<Vec<_>>(), [2]);
    assert!(tables.verify::<Post>().all().await.unwrap().is_empty());
    drop(tables);

    // One table, one partition.
    let one = folder.path("one.tables");
    printed(&["--store", &one, "import", &lines, "--table", "Posts", "--partition", "Marcus"]);
    assert_eq!(printed(&["--store", &one, "count", "Posts"]), "2\n");
    let exported = printed(&["--store", &file, "export", "Odd", "--partition", "p, \"é\""]);
    assert_eq!(exported.lines().count(), 5, "{exported}");
}

#[tokio::test]
async fn csv_holds_every_value_and_tells_absent_from_empty() {
    let folder = Folder::new();
    let (file, csv, copy) = (folder.path("a.tables"), folder.path("Odd.csv"), folder.path("b.tables"));
    fill(&file).await;
    printed(&["--store", &file, "export", "Odd", "--output", &csv]);
    let text = fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("PartitionKey,RowKey,Text:String,Empty:String,"), "{text}");
    printed(&["--store", &copy, "import", &csv]);
    let [expected, found] = [&file, &copy].map(|store| printed(&["--store", store, "export", "Odd"]));
    assert_eq!(sorted_rows(&found), sorted_rows(&expected));
    assert_eq!(sorted_rows(&found).len(), 3);
}

#[tokio::test]
async fn a_copy_to_an_account_and_back_is_equal() {
    let Some(account) = azurite::shared().unwrap() else { return };
    let folder = Folder::new();
    let (file, copy) = (folder.path("a.tables"), folder.path("b.tables"));
    fill(&file).await;
    let prefix = format!("command{}", std::process::id());
    // Azurite, a program in JavaScript, reads the double -0.0 as 0.
    let original = dump_of(&file).await;
    let expected = original.replace(r#""Zero":-0.0"#, r#""Zero":0.0"#);
    assert_ne!(expected, original);
    let lines = folder.path("a.ndjson");
    printed(&["--store", &file, "export", "--output", &lines]);
    let on_account = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
        command.args(["--store", "env:THE_ACCOUNT", "--prefix", &prefix]).args(arguments).env("THE_ACCOUNT", &account);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    on_account(&["import", &lines]);
    assert_eq!(on_account(&["export"]), expected);
    let tables = Tables::connect(&account).unwrap().with_prefix(&prefix);
    assert_eq!(Post::by_title("hello").all(&tables).await.unwrap().len(), 1);
    // `list` counts the rows of an account only if it is asked to.
    assert!(!on_account(&["list"]).contains("  2  "));
    assert!(on_account(&["list", "--rows"]).contains("Posts         2"));

    // Without a prefix, the names have it.
    let table = format!("{prefix}Odd");
    printed(&["copy", &account, &copy, "--table", &table]);
    printed(&["copy", &copy, &account, "--table", &table]);
    assert_eq!(printed(&["--store", &copy, "count", &table]), "3\n");
    assert_eq!(on_account(&["export"]), expected);

    let other = folder.path("c.tables");
    printed(&["copy", &file, &other]);
    assert_eq!(dump_of(&other).await, original);
}

/// Writes a store of which a transfer has many pages.
async fn fill_pages(path: &str) {
    let tables = Tables::open(path).unwrap();
    tables.create::<Post>().await.unwrap();
    let post = |id| Post { author: "Marcus".into(), id, title: "same".into(), likes: None };
    tables.upsert_all((0..6_000).map(post)).await.unwrap();
}

/// Checks that commands refuse a cursor of another transfer, and keep it.
#[track_caller]
fn refuse_the_cursor(cursor: &str, commands: &[&[&str]]) {
    let before = fs::read(cursor).unwrap();
    for arguments in commands {
        let (code, line) = failed(&[arguments, ["--cursor", cursor].as_slice()].concat());
        assert!(code == 2 && line.contains("of a transfer with other arguments"), "{arguments:?}: {code} {line}");
        assert_eq!(fs::read(cursor).unwrap(), before, "{arguments:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_export_continues_at_its_own_cursor() {
    let folder = Folder::new();
    let (file, lines, cursor) = (folder.path("a.tables"), folder.path("a.ndjson"), folder.path("cursor"));
    fill_pages(&file).await;
    let expected = dump_of(&file).await;
    let other = folder.path("b.tables");
    fs::copy(&file, &other).unwrap();

    // The system ends the process when its output has 400 blocks, which is in the midst of a page.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c 0; ulimit -f 400; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tables")]);
    shell.args(["--store", &file, "export", "--output", &lines, "--cursor", &cursor]);
    assert!(!shell.output().unwrap().status.success());
    let begun = fs::read_to_string(&lines).unwrap();
    assert!(!begun.is_empty() && begun.len() < expected.len() && expected.starts_with(&begun));

    let new = folder.path("new.ndjson");
    refuse_the_cursor(
        &cursor,
        &[
            &["--store", &file, "export", "Posts", "--output", &lines],
            &["--store", &file, "export", "Posts", "--partition", "Marcus", "--output", &lines],
            &["--store", &file, "export", "Posts", "--format", "csv", "--output", &lines],
            &["--store", &file, "export", "--output", &new],
            &["--store", &file, "--prefix", "a1", "export", "--output", &lines],
            &["--store", &other, "export", "--output", &lines],
        ],
    );
    assert_eq!(fs::read_to_string(&lines).unwrap(), begun);

    printed(&["--store", &file, "export", "--output", &lines, "--cursor", &cursor]);
    assert_eq!(fs::read_to_string(&lines).unwrap(), expected);
    assert!(!Path::new(&cursor).exists(), "the cursor of a complete export is removed");

    // The entities alone, of which the cursor has the number too.
    let (whole, lines) = (folder.path("whole.ndjson"), folder.path("entities.ndjson"));
    printed(&["--store", &file, "export", "--entities", "--output", &whole]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c 0; ulimit -f 400; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tables")]);
    shell.args(["--store", &file, "export", "--entities", "--output", &lines, "--cursor", &cursor]);
    assert!(!shell.output().unwrap().status.success());
    refuse_the_cursor(&cursor, &[&["--store", &file, "export", "--output", &lines]]);
    printed(&["--store", &file, "export", "--entities", "--output", &lines, "--cursor", &cursor]);
    let found = fs::read_to_string(&lines).unwrap();
    assert_eq!(found, fs::read_to_string(&whole).unwrap());
    assert!(found.ends_with("{\"@rows\":6000}\n"));
}

#[tokio::test]
async fn an_import_and_a_copy_continue_at_their_own_cursors() {
    let folder = Folder::new();
    let (file, lines, copy) = (folder.path("a.tables"), folder.path("a.ndjson"), folder.path("b.tables"));
    let (cursor, other) = (folder.path("cursor"), folder.path("c.tables"));
    fill_pages(&file).await;
    let expected = dump_of(&file).await;

    // An import that ends at a damaged line continues after it was mended, and does not begin anew.
    let damaged = expected.replacen("0000005999", "\u{0}", 1).replacen("\"5999\"", "5999,", 1);
    assert_ne!(damaged, expected);
    fs::write(&lines, &damaged).unwrap();
    let (code, line) = failed(&["--store", &copy, "import", &lines, "--cursor", &cursor]);
    assert_eq!(code, 2, "{line}");
    let saved: serde_json::Value = serde_json::from_slice(&fs::read(&cursor).unwrap()).unwrap();
    assert_eq!(saved["position"]["lines"], 5_000);
    let another = folder.path("another.ndjson");
    fs::write(&another, &damaged).unwrap();
    refuse_the_cursor(
        &cursor,
        &[
            &["--store", &copy, "import", &another],
            &["--store", &other, "import", &lines],
            &["--store", &copy, "import", &lines, "--table", "Posts"],
            &["--store", &copy, "import", &lines, "--partition", "Marcus"],
            &["--store", &copy, "import", &lines, "--format", "csv"],
        ],
    );
    // Another file of the same name.
    fs::write(&lines, damaged.replacen("Marcus", "Livia!", 1)).unwrap();
    refuse_the_cursor(&cursor, &[&["--store", &copy, "import", &lines]]);
    // What was read before the cursor is not read again, except the begin, by which the file is recognized.
    let mut begin = String::new();
    for line in damaged.split_inclusive('\n').take(5_000) {
        begin += &if begin.len() < 4096 { line.to_owned() } else { "x".repeat(line.len() - 1) + "\n" };
    }
    fs::write(&lines, begin.clone() + &expected[begin.len()..]).unwrap();
    printed(&["--store", &copy, "import", &lines, "--cursor", &cursor]);
    assert_eq!(dump_of(&copy).await, expected);

    // A copy.
    fs::write(&cursor, "no cursor").unwrap();
    let (code, line) = failed(&["copy", &file, &other, "--cursor", &cursor]);
    assert_eq!((code, line.contains("is no cursor")), (2, true), "{line}");
    fs::remove_file(&cursor).unwrap();
    fs::remove_file(&other).unwrap();
    // Its last part is refused, because the target has recorded something else.
    let tables = Tables::open(&other).unwrap();
    let record = TableRow {
        table: "TableLayouts".into(),
        partition_key: "layouts".into(),
        row_key: "!".into(),
        properties: [("Format", Value::Int32(1)), ("Changes", Value::Int64(99))].into_iter().collect(),
    };
    let mut writer = RowWriter::new(&tables);
    writer.write(record).await.unwrap();
    writer.flush().await.unwrap();
    drop((writer, tables));
    let (code, line) = failed(&["copy", &file, &other, "--cursor", &cursor]);
    assert_eq!((code, line.contains("other records than these")), (2, true), "{line}");
    let new = folder.path("d.tables");
    refuse_the_cursor(
        &cursor,
        &[
            &["copy", &copy, &other],
            &["copy", &file, &new],
            &["copy", &file, &other, "--table", "Posts"],
            &["copy", &file, &other, "--prefix", "a1"],
        ],
    );
    assert!(!Path::new(&new).exists());
    let backend = EmbeddedBackend::open(&other).unwrap();
    let operations = vec![Operation { row_key: "!".into(), action: Action::Delete(IfMatch::Any) }];
    let group = Group { table: "TableLayouts".into(), partition_key: "layouts".into(), operations };
    backend.execute_group(&group).await.unwrap();
    drop(backend);
    printed(&["copy", &file, &other, "--cursor", &cursor]);
    assert_eq!(dump_of(&other).await, expected);
    assert!(!Path::new(&cursor).exists());
}

#[tokio::test]
async fn bad_input_gets_one_line_and_a_code() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill(&file).await;
    let missing = folder.path("missing.tables");
    let notes = folder.path("notes.ndjson");
    fs::write(&notes, "some notes\n").unwrap();
    let cut = folder.path("cut.ndjson");
    fs::write(&cut, "{\"@table\":\"Cut\",\"PartitionKey\":\"a\",\"RowKey\":\"b\"}\n").unwrap();
    let csv = folder.path("Bad.csv");
    fs::write(&csv, "PartitionKey,RowKey,N:Int32\na,1,5\na,2,x\n").unwrap();
    let copy = folder.path("copy.tables");
    let cases: [(&[&str], i32, &str); 16] = [
        (&["list"], 2, "no store: give --store, or set AZURE_TABLES_CONNECTION_STRING"),
        (&["--store", &missing, "list"], 3, "there is no file"),
        (&["--store", &notes, "list"], 1, "notes.ndjson"),
        (&["--store", "env:NOT_SET_HERE", "list"], 2, "NOT_SET_HERE is not set"),
        (&["--store", &file, "show", "Nothing"], 3, "the table Nothing does not exist"),
        (&["--store", &file, "get", "Posts", "Marcus", "9"], 3, "Posts has no row with the keys \"Marcus\" and \"9\""),
        (&["--store", &file, "count"], 2, "<TABLE>"),
        (&["--store", &file, "show", "Posts", "--from", "1"], 2, "--partition"),
        (&["--store", &file, "fly"], 2, "unrecognized subcommand 'fly'"),
        (&["--store", &file, "export", "--format", "csv"], 2, "CSV has the rows of one table"),
        (&["--store", &file, "export", "--output", &notes], 2, "exists"),
        (&["--store", &copy, "import", &missing], 3, "there is no file"),
        (&["--store", &copy, "import", &notes], 2, "line 1: "),
        (&["--store", &copy, "import", &cut], 2, "the file was cut or changed"),
        (&["--store", &copy, "import", &csv], 2, "line 3: `N` is no Edm.Int32"),
        (&["copy", &file, &file], 2, "are the same store"),
    ];
    for (arguments, code, text) in cases {
        let (found, line) = failed(arguments);
        assert!(found == code && line.contains(text), "{arguments:?}: {found} {line}");
    }
    printed(&["--store", &copy, "import", &cut, "--partial"]);
    // A store that is open elsewhere.
    let open = Tables::open(&file).unwrap();
    let (code, line) = failed(&["--store", &file, "list"]);
    assert_eq!((code, line.contains("is in use")), (1, true), "{line}");
    drop(open);
}

#[test]
fn no_secret_is_printed() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    drop(Tables::open(&file).unwrap());
    let secret = "c2VjcmV0LWtleQ==";
    for store in [
        format!("AccountName=acc;AccountKey={secret};TableEndpoint=http://127.0.0.1:1/acc"),
        format!("AccountKey={secret}"),
        format!("AccountName=acc;AccountKey={secret};AccountKey={secret}"),
        format!("DefaultEndpointsProtocol=x;AccountName=acc;AccountKey={secret}"),
    ] {
        for arguments in [
            ["--store", store.as_str(), "list"].as_slice(),
            &["--store", &store, "fly"],
            &["copy", &store, "x", "--table"],
            // In the place of something else, which the error quotes.
            &[&store, "list"],
            &["list", &store],
            &["copy", "a", "b", &store],
            &["--store", "a", "list", &format!("--rows={store}")],
            &["--store", &file, "show", &store],
        ] {
            let output = run(arguments);
            assert!(!output.status.success());
            let text = [output.stdout, output.stderr].concat();
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{}", String::from_utf8_lossy(&text));
        }
    }
    // The key alone, in the place of the connection string, and a text that is neither.
    let key = format!("{}==", "q/+7".repeat(22).trim_end_matches("+7"));
    for store in [key.as_str(), "some-password"] {
        for arguments in [["--store", store, "list"].as_slice(), &["--store", store, "compact"], &["copy", store, "x"]]
        {
            let (code, line) = failed(arguments);
            assert!((2..4).contains(&code) && !line.contains(store), "{code} {line}");
        }
    }
    let (_, line) = failed(&["--store", &key, "import", &file]);
    assert!(line.contains("neither a file nor a connection string") && !line.contains(&key), "{line}");
}

#[derive(TableEntity, Clone)]
#[table(name = "Employees")]
#[index(
    number,
    partition(number(hash = 4)),
    row(number),
    table = "EmployeesByNumber",
    when(number, Employee::is_numbered)
)]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    id: u32,
    #[index(last_name, same_partition)]
    #[index(namesakes, lowercase, same_partition, list)]
    last_name: String,
    #[index(email, lowercase, table = "Logins", unique)]
    email: Option<String>,
    #[index(town, uppercase, same_table, prefix = "in-", include(last_name))]
    city: String,
    #[index(newest, reverse_time, same_partition, copy)]
    joined: SystemTime,
    number: i64,
}

impl Employee {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "predicates borrow")]
    fn is_numbered(number: &i64) -> bool {
        *number > 0
    }
}

/// Returns a scan of a whole table.
fn scan_of(table: &'static str) -> Scan {
    let (partitions, rows) = (Partitions::ALL, KeyRange::ALL);
    Scan { table: table.into(), partitions, rows, filter: None, select: None, page: 1000 }
}

#[tokio::test]
async fn index_rows_are_verified_without_the_entity() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    let backend = Arc::new(EmbeddedBackend::open(&file).unwrap());
    let tables = Tables::new(Arc::clone(&backend));
    tables.create::<Employee>().await.unwrap();
    let employee = |id, name: &str, email: Option<&str>| Employee {
        department: "Sales".into(),
        id,
        last_name: name.into(),
        email: email.map(str::to_owned),
        city: "Bad Elster".into(),
        joined: SystemTime::UNIX_EPOCH + Duration::from_secs(id.into()),
        number: i64::from(id % 3) - 1,
    };
    let employees = (1..40).map(|id| employee(id, if id % 2 == 0 { "Smith Jr" } else { "Müller" }, None));
    tables.insert_all(employees).await.unwrap();
    tables.insert(&employee(45, "Smith", Some("John@X.org"))).await.unwrap();
    tables.insert(&employee(46, "Smith", Some("Jim@X.org"))).await.unwrap();
    let verify = |tables: Tables| async move {
        let inventory = tables.inventory().await.unwrap();
        let verified = inventory.verify(&tables, None).await.unwrap();
        let mut found: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
        found.sort();
        (verified, found)
    };
    let (verified, found) = verify(tables.clone()).await;
    assert_eq!(found, [""; 0]);
    // Three rows for each employee, three lists of namesakes, two addresses, and 13 numbers above zero.
    assert_eq!((verified.entities, verified.index_rows), (41, 41 * 3 + 3 + 2 + 13));
    assert_eq!(verified.partly.into_iter().collect::<Vec<_>>(), ["Employee.number"]);

    // What crashes and other programs leave.
    let execute = async |table: &'static str, partition: &str, row_key: &str, action: Action| {
        let operations = vec![Operation { row_key: row_key.into(), action }];
        backend
            .execute_group(&Group { table: table.into(), partition_key: partition.into(), operations })
            .await
            .unwrap();
    };
    let set = |name: &'static str, value: Value| -> Properties { [(name, value)].into_iter().collect() };
    let text = |name: &'static str, text: &str| set(name, Value::String(text.to_owned()));
    let any = || IfMatch::Any;
    execute("Employees", "BAD ELSTER", "in-Sales 00000001", Action::Delete(any())).await;
    execute("Employees", "BAD ELSTER", "in-Sales 00000002", Action::Merge(text("LastName", "x"), any())).await;
    execute("Employees", "BAD ELSTER", "in-Sales 00000099", Action::Insert(text("LastName", "x"))).await;
    execute("Employees", "Sales", "newest-2", Action::Insert(Properties::default())).await;
    execute("Employees", "Sales", "id-00000045", Action::Merge(text("Email", "jim@x.ORG"), any())).await;
    let pending = [("IndexPending", Value::Guid(Guid::default())), ("City", Value::String("Bad Elster".into()))];
    let pending: Properties = pending.into_iter().collect();
    execute("Employees", "Sales", "id-00000047", Action::Insert(pending)).await;
    // Index rows that a writer has written before the commit are not stale.
    execute("Employees", "BAD ELSTER", "in-Sales 00000047", Action::Insert(text("LastName", "x"))).await;
    execute("Employees", "Sales", "namesakes-smith", Action::Merge(text("IndexedEntities", "[]x"), any())).await;
    let (_, found) = verify(tables.clone()).await;
    let sales = |row_key: &str| format!("Employees(PartitionKey='Sales',RowKey='{row_key}')");
    let town = |row_key: &str| format!("Employees(PartitionKey='BAD ELSTER',RowKey='in-{row_key}')");
    let login = |email: &str| format!("Logins(PartitionKey='{email}',RowKey='')");
    let stale = "which is missing or has another value";
    let newest = sales("newest-2534023007549999999_00000045");
    let (john, jim) = (sales("id-00000045"), sales("id-00000046"));
    let expected = [
        format!("{} is not committed", sales("id-00000047")),
        format!("{} is no entity: the keys fit no recorded layout", sales("newest-2")),
        format!("index `email`: {john} and {jim} both have the value of {}", login("jim@x.org")),
        format!("index `email`: {} points to {john}, {stale}", login("john@x.org")),
        format!(
            "index `namesakes`: {0} is not one of its rows: {0}, property `IndexedEntities`: expected a JSON array of row keys, \
             found trailing characters at line 1 column 3",
            sales("namesakes-smith")
        ),
        format!("index `newest`: {newest} differs from {john}"),
        format!("index `town`: {} differs from {}", town("Sales 00000002"), sales("id-00000002")),
        format!("index `town`: {} points to {}, {stale}", town("Sales 00000099"), sales("id-00000099")),
        format!("index `town`: {} has no row {}", sales("id-00000001"), town("Sales 00000001")),
    ];
    let mut expected: Vec<_> = expected.into_iter().collect();
    expected.sort();
    assert_eq!(found, expected);
    // An index that is not ready is not compared, so nothing is wrong with its rows.
    let catalog = backend.query(&scan_of("TableLayouts"), None).await.unwrap().rows;
    let town = catalog.iter().find(|row| row.row_key.ends_with(" town")).unwrap().row_key;
    for state in ["Building", "Leaving", "Gone"] {
        execute("TableLayouts", "layouts", town, Action::Merge(text("State", state), any())).await;
        let (verified, found) = verify(tables.clone()).await;
        let is_other = |finding: &&String| !finding.starts_with("index `town`");
        assert_eq!(found, expected.iter().filter(is_other).cloned().collect::<Vec<_>>(), "{state}");
        assert_eq!(verified.partly.into_iter().collect::<Vec<_>>(), ["Employee.number", "Employee.town"]);
    }
    execute("TableLayouts", "layouts", town, Action::Merge(text("State", "Ready"), any())).await;
    drop((tables, backend));

    // The second layout of a table begins with two empty cells.
    let listed = printed(&["--store", &file, "list"]);
    let column = listed.lines().next().and_then(|header| header.find("layout")).unwrap();
    for index in ["last_name", "namesakes", "newest", "town"] {
        let is_index = |line: &str| line.get(column..).is_some_and(|rest| rest.starts_with(index));
        assert!(listed.lines().any(is_index), "{index}:\n{listed}");
    }

    let output = run(&["--store", &file, "verify"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(expected.iter().all(|finding| lines.lines().any(|line| line == finding)), "{lines}");
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "tables: 9 problems were found\n");
    let (code, line) = failed(&["--store", &file, "verify", "Nobody"]);
    assert_eq!((code, line.as_str()), (3, "tables: the catalog has no entity Nobody"));
}

/// Writes the store of the guide's page about the command.
async fn fill_guide(path: &str) {
    let tables = Tables::open(path).unwrap();
    tables.create::<Post>().await.unwrap();
    let post = |id, title: &str, likes| Post { author: "Marcus".into(), id, title: title.into(), likes };
    tables.insert_all([post(1, "Hello", Some(5)), post(2, "On Tables", None)]).await.unwrap();
    let mut writer = RowWriter::new(&tables);
    for (partition_key, row_key, celsius, note) in [
        ("boiler", "2521272959999999999", 71.5, None),
        ("boiler", "2521272995999999999", 70.0, Some("cleaned")),
        ("pump", "2521272959999999999", 21.25, None),
    ] {
        let mut properties = Properties::default();
        properties.push("Celsius", ValueRef::Double(celsius));
        if let Some(note) = note {
            properties.push("Note", ValueRef::String(note));
        }
        let (table, partition_key, row_key) = ("Readings".into(), partition_key.into(), row_key.into());
        writer.write(TableRow { table, partition_key, row_key, properties }).await.unwrap();
    }
    writer.flush().await.unwrap();
}

#[tokio::test]
async fn the_guide_shows_what_the_commands_print() {
    let folder = Folder::new();
    fill_guide(&folder.path("blog.tables")).await;
    drop(fill_sessions(&folder.path("sessions.tables")).await);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../table-runtime/src/guide/command.md");
    let page = fs::read_to_string(path).unwrap();
    let (mut found, mut commands) = (String::new(), 0);
    let mut blocks = page.split("```console\n");
    found.push_str(blocks.next().unwrap());
    for block in blocks {
        let (block, rest) = block.split_once("```").unwrap();
        let mut printed = Vec::new();
        for line in block.lines().filter_map(|line| line.strip_prefix("$ tables ")) {
            commands += 1;
            let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
            let output = command.args(line.split(' ')).current_dir(folder.0.path()).output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            printed.push(format!("$ tables {line}\n{text}"));
        }
        found.extend(["```console\n", &printed.join("\n"), "```", rest]);
    }
    if std::env::var("TABLE_GUIDE").is_ok_and(|value| value == "overwrite") {
        fs::write(path, &found).unwrap();
    }
    assert!(commands > 5);
    assert!(found == page, "{path} shows another output; TABLE_GUIDE=overwrite writes it again");
}

#[test]
fn a_shared_access_signature_is_never_printed() {
    let url = "https://acc.table.core.windows.net/?sv=2019-02-02&sig=TOPSECRETSIGNATURE";
    for arguments in [
        &["-s", url, "list"][..],
        &["--store", "?sv=2019-02-02&sig=TOPSECRETSIGNATURE", "list"],
        &["-s", url, "compact"],
        &["-s", url, "import", "rows.ndjson"],
        &["--store", "no.tables", "show", url],
        &["copy", url, "other.tables"],
        &["copy", "no.tables", url],
        &["--unknown", url],
        &[url],
    ] {
        let (code, error) = failed(arguments);
        assert!(code != 0 && !error.contains("TOPSECRET"), "{arguments:?}: {error}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_tables"))
        .args(["--store", "env:THE_STORE", "list"])
        .env("THE_STORE", url)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && !error.contains("TOPSECRET"), "{error}");
    assert!(error.contains("SharedAccessSignature="), "it says what to write: {error}");
}

/// Writes a store with a thousand posts, three times, and returns it.
async fn large(file: &str) -> Arc<EmbeddedBackend> {
    let store = Arc::new(EmbeddedBackend::open(file).unwrap());
    let tables = Tables::new(Arc::clone(&store));
    tables.create::<Post>().await.unwrap();
    let title = "x".repeat(400);
    let post = |id| Post { author: "Marcus".into(), id, title: format!("{id} {title}"), likes: None };
    for _ in 0..3 {
        tables.upsert_all((0..1000).map(post)).await.unwrap();
    }
    store
}

#[tokio::test]
async fn a_closed_output_ends_the_command_quietly() {
    let folder = Folder::new();
    let file = folder.path("blog.tables");
    drop(large(&file).await);
    for arguments in [&["export"][..], &["show", "Posts"], &["export", "Posts", "--format", "csv"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tables"))
            .args(["--store", &file])
            .args(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The reader takes nothing, as `head -0`.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {:?} {errors}", output.status);
    }
}

#[tokio::test]
async fn a_file_is_compacted_as_a_whole_when_nobody_has_it_open() {
    let folder = Folder::new();
    let file = folder.path("blog.tables");
    let store = large(&file).await;
    // The snapshot has the rows that are removed meanwhile. Without it, the file may shrink by itself.
    let snapshot = store.view(StoreView::Snapshot).unwrap();
    let tables = Tables::new(Arc::clone(&store));
    tables.remove_all((10..1000).map(|id| Post::key("Marcus", id))).await.unwrap();
    let (code, error) = failed(&["--store", &file, "compact"]);
    assert_eq!(code, 1, "{error}");
    drop((tables, store, snapshot));

    let (dumped, before) = (dump_of(&file).await, fs::metadata(&file).unwrap().len());
    let printed = printed(&["--store", &file, "compact"]);
    let after = fs::metadata(&file).unwrap().len();
    assert_eq!(printed, format!("{before} bytes, {after} now\n"));
    assert!(after < before / 2, "{before} {after}");
    assert_eq!(dump_of(&file).await, dumped);

    assert_eq!(failed(&["--store", &folder.path("none.tables"), "compact"]).0, 3);
    assert_eq!(failed(&["--store", &file, "--prefix", "a1", "compact"]).0, 2);
    assert!(matches!(Tables::compact(folder.path("none.tables")), Err(table_runtime::Error::Store(_))));
    assert!(!Path::new(&folder.path("none.tables")).exists());
    let open = Tables::open(&file).unwrap();
    assert!(matches!(Tables::compact(&file), Err(table_runtime::Error::InUse(_))));
    drop(open);
}

#[derive(TableEntity, Clone)]
#[table(name = "Sessions", expires = until, soft_delete = deleted)]
struct Session {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(token, unique)]
    token: String,
    until: SystemTime,
    deleted: Option<SystemTime>,
}

/// Writes sessions: two that have expired, one in the bin, and one that is visible.
async fn fill_sessions(path: &str) -> Tables {
    let tables = Tables::open(path).unwrap();
    tables.create::<Session>().and::<Post>().await.unwrap();
    let (now, day) = (SystemTime::now(), Duration::from_hours(24));
    for (id, until) in [(1, now - day), (2, now - day), (3, now + day), (4, now + day)] {
        let session = Session { user: "ada".into(), id, token: format!("t{id}"), until, deleted: None };
        tables.insert(&session).await.unwrap();
    }
    assert!(tables.soft_delete(Session::key("ada", 3)).await.unwrap());
    tables
}

#[tokio::test(flavor = "multi_thread")]
async fn sweep_removes_what_has_expired() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    drop(fill_sessions(&file).await);
    let row = |id: u32| format!("Sessions(PartitionKey='ada',RowKey='000000000{id}')\n");
    let dry = printed(&["--store", &file, "sweep", "Session", "--dry-run"]);
    assert_eq!(dry, format!("{}{}2 entities found, 0 removed\n", row(1), row(2)));
    assert_eq!(printed(&["--store", &file, "sweep", "Session"]), "2 entities found, 2 removed\n");
    assert_eq!(printed(&["--store", &file, "sweep", "Session"]), "0 entities found, 0 removed\n");
    assert_eq!(
        printed(&["--store", &file, "sweep", "Session", "--deleted-before", "1h"]),
        "0 entities found, 0 removed\n"
    );
    assert_eq!(
        printed(&["--store", &file, "sweep", "Session", "--deleted-before", "0s"]),
        "1 entity found, 1 removed\n"
    );
    assert_eq!(failed(&["--store", &file, "sweep", "Nobody"]).0, 3);
    let (code, line) = failed(&["--store", &file, "sweep", "Post"]);
    let expected = "tables: Post is recorded without `expires`; put `#[table(expires = …)]` on its struct";
    assert_eq!((code, line.as_str()), (2, expected));
    let (code, line) = failed(&["--store", &file, "sweep", "Post", "--deleted-before", "1d"]);
    assert_eq!((code, line.as_str()), (2, "tables: Post is recorded without `soft_delete`, so it has no bin"));
    let tables = Tables::open(&file).unwrap();
    assert_eq!(Session::by_key("ada").with_deleted().count(&tables).await.unwrap(), 1);
    assert!(tables.verify::<Session>().all().await.unwrap().is_empty());
}
