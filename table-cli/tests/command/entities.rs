//! Entities without the rows of their indexes, and what a file of an embedded store needs.

use std::{fs, sync::Arc, time::SystemTime};

use table_runtime::{
    TableEntity, Tables, Value,
    backend::{Action, BackendExt as _, EmbeddedBackend, Group, Operation},
};

use super::{Employee, Folder, Post, Session, dump_of, failed, fill, fill_sessions, printed, run};

#[tokio::test(flavor = "multi_thread")]
async fn entities_are_counted_shown_and_exported_without_the_rows_of_their_indexes() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill(&file).await;
    let tables = Tables::open(&file).unwrap();
    tables.create::<Employee>().await.unwrap();
    let employee = |id| Employee {
        department: "Sales".into(),
        id,
        last_name: "Smith".into(),
        email: None,
        city: "Bad Elster".into(),
        joined: std::time::SystemTime::UNIX_EPOCH,
        number: 0,
    };
    tables.insert_all((1..=3).map(employee)).await.unwrap();
    drop(tables);
    let with = |arguments: &[&str]| printed(&[&["--store", &file], arguments].concat());

    // Each employee has four rows in the table, and one row is the list of all of them.
    assert_eq!(with(&["count", "Employees"]), "13\n");
    assert_eq!(with(&["count", "Employees", "--entities"]), "3\n");
    assert_eq!(with(&["count", "Employee"]), "3\n");
    assert_eq!(with(&["count", "Employee", "--partition", "Sales", "--from", "id-00000002"]), "2\n");
    let shown = with(&["show", "Employee", "--limit", "2"]);
    let rows: Vec<_> = shown.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows, ["Employee", "Employee"], "{shown}");
    // Another program's table has entities alone.
    assert_eq!((with(&["count", "Odd", "--entities"]), with(&["count", "Odd"])), ("3\n".into(), "3\n".into()));

    let csv = with(&["export", "Employee", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let lines = folder.path("entities.ndjson");
    let output = run(&["--store", &file, "export", "--entities", "--output", &lines, "--cursor", &folder.path("c")]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "8 rows exported\n");
    let exported = fs::read_to_string(&lines).unwrap();
    assert!(exported.ends_with("{\"@rows\":8}\n"), "{exported}");
    let begun: Vec<_> = exported.lines().filter(|line| !line.contains("PartitionKey")).collect();
    let expected = ["Employees", "Empty", "Odd", "Posts"].map(|table| format!("{{\"@table\":\"{table}\"}}"));
    assert_eq!(begun[..4], expected, "neither the tables of indexes nor the catalog");

    // The entities alone are a store, after `repair`.
    let copy = folder.path("copy.tables");
    printed(&["--store", &copy, "import", &lines]);
    let tables = Tables::open(&copy).unwrap();
    tables.create::<Post>().await.unwrap();
    tables.repair::<Post>().await.unwrap();
    assert_eq!(Post::by_key("Marcus").count(&tables).await.unwrap(), 2);

    let (code, line) = failed(&["--store", &file, "count", "PostsByTitle", "--entities"]);
    assert!(code == 3 && line.contains("has no entities, but the rows of indexes"), "{code} {line}");
    // A copy is one of a table.
    let (code, line) = failed(&["copy", &file, &folder.path("d.tables"), "--table", "Employee"]);
    assert!(code == 3 && line.contains("the table Employee does not exist"), "{code} {line}");
    for command in ["show", "derive"] {
        assert_eq!(failed(&["--store", &file, command, "Posts", "--limit", "0"]).0, 2);
    }
    let (code, line) = failed(&["--store", &file, "count", "Nobody"]);
    let expected = "tables: the table Nobody does not exist, and the catalog has no entity of this name";
    assert_eq!((code, line.as_str()), (3, expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_an_index_are_named_by_derive() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    drop(fill_sessions(&file).await);
    let (code, line) = failed(&["--store", &file, "derive", "SessionsByToken"]);
    assert_eq!(code, 3);
    assert_eq!(line, "tables: SessionsByToken has the rows of the index `token`; derive Session");
    let renamed = printed(&["--store", &file, "derive", "Sessions", "--name", "Login"]);
    assert!(renamed.contains("entity = \"Session\"") && renamed.contains("pub struct Login {"), "{renamed}");
    let part = printed(&["--store", &file, "derive", "Session", "--limit", "2"]);
    assert!(part.contains("// Only the first 2 rows were read for what is not recorded"), "{part}");
    // The bin and what has expired count as entities.
    assert_eq!(printed(&["--store", &file, "count", "Session"]), "4\n");
    let tables = Tables::open_read_only(&file).unwrap();
    assert_eq!(Session::by_key("ada").count(&tables).await.unwrap(), 1);
}

#[tokio::test]
async fn open_repairs_a_file_whose_process_was_killed() {
    let folder = Folder::new();
    let (file, killed) = (folder.path("a.tables"), folder.path("killed.tables"));
    fill(&file).await;
    let open = Tables::open(&file).unwrap();
    fs::copy(&file, &killed).unwrap();
    drop(open);
    let (code, line) = failed(&["--store", &killed, "list"]);
    assert!(code == 1 && line.contains("open it once for writing, as `tables open` does"), "{code} {line}");
    assert_eq!(printed(&["open", &killed]), "");
    assert_eq!(dump_of(&killed).await, dump_of(&file).await);
    assert_eq!(printed(&["--store", &killed, "open"]), "");
    let missing = folder.path("missing.tables");
    assert_eq!(failed(&["open", &missing]).0, 3);
    assert!(!fs::exists(&missing).unwrap(), "no file is made");
    assert_eq!(failed(&["open", "UseDevelopmentStorage=true"]).0, 2);
}

#[tokio::test]
async fn a_copy_skips_rows_that_cannot_be_written() {
    let folder = Folder::new();
    let (file, copy, other) = (folder.path("a.tables"), folder.path("b.tables"), folder.path("c.tables"));
    fill(&file).await;
    // The backend itself checks no limit.
    let backend = Arc::new(EmbeddedBackend::open(&file).unwrap());
    let long = Value::String("x".repeat(40_000));
    for (row_key, name, value) in [("8", "Long", long), ("9", "odata.kind", Value::Int32(1))] {
        let action = Action::Insert([(name, value)].into_iter().collect());
        let operations = vec![Operation { row_key: row_key.into(), action }];
        let group = Group { table: "Odd".into(), partition_key: "p".into(), operations };
        backend.execute_group(&group).await.unwrap();
    }
    drop(backend);
    let shown = printed(&["--store", &file, "show", "Odd", "--partition", "p"]);
    assert!(shown.contains("odata.kind"), "it is shown: {shown}");
    let cursor = folder.path("cursor");
    for _ in 0..2 {
        assert_eq!(failed(&["copy", &file, &copy, "--cursor", &cursor]).0, 1);
    }
    printed(&["copy", &file, &copy, "--cursor", &cursor, "--skip"]);
    assert_eq!(printed(&["--store", &copy, "count", "Odd"]), "3\n");
    let output = run(&["copy", &file, &other, "--skip"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = errors.lines().collect();
    assert!(output.status.success() && lines.len() == 4, "{errors}");
    assert!(
        lines[1].contains("Odd(PartitionKey='p',RowKey='8'): the property `Long` has 40000 UTF-16 units"),
        "{errors}"
    );
    assert!(lines[2].contains("a property's name is `odata.kind`"), "{errors}");
    assert_eq!(lines[3], "2 rows skipped");
    assert_eq!(printed(&["--store", &other, "count", "Odd"]), "3\n");
}

/// An entity whose writes record events.
#[derive(TableEntity)]
#[table(name = "Invites", kind, events(copy), expires = until)]
struct Invite {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_no_entities() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    let tables = Tables::open(&file).unwrap();
    tables.create::<Invite>().await.unwrap();
    let invite = |id| Invite { team: "a".into(), id, until: SystemTime::UNIX_EPOCH };
    tables.insert_all((0..2).map(invite)).await.unwrap();
    drop(tables);
    let with = |arguments: &[&str]| printed(&[&["--store", &file], arguments].concat());
    assert_eq!(with(&["count", "Invites"]), "4\n");
    assert_eq!(with(&["count", "Invites", "--entities"]), "2\n");
    assert_eq!(with(&["count", "TableEvents", "--entities"]), "0\n");
    let shown = with(&["show", "Invites"]);
    let rows: Vec<_> = shown.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows, ["Invite", "Invite", "event", "event"], "{shown}");
    let derived = with(&["derive", "Invites"]);
    assert!(derived.contains("expires = until, events(copy))]"), "{derived}");
    assert!(!derived.contains("event_at"), "{derived}");
    let (code, line) = failed(&["--store", &file, "sweep", "Invite"]);
    assert!(code == 2 && line.contains("records events"), "{line}");
}
