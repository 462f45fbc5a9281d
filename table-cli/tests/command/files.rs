//! `tables import`: files of other programs, which are imported, exported and imported again.

use std::fs;

use super::{Folder, dump_of, failed, fill, printed, run, sorted_rows};

fn file(name: &str) -> String {
    format!("{}/tests/files/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file, the arguments of its import, and the members of the rows.
type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

const DEVICES: &[&str] = &["--table", "Devices"];

/// In the order of the table in the guide.
const CASES: [Case<'_>; 9] = [
    ("devices.ndjson", &[], &[r#""Text":"a""#]),
    // Storage Explorer: types with and without `Edm.`, an empty text, an absent one, and a type without a value.
    (
        "Devices.typed.csv",
        &[],
        &[
            r#""Path":"\\\\server\\share","Note":"","Count@odata.type":"Edm.Int64","Count":"9007199254740993","Seen@odata.type":"Edm.DateTime","Seen":"2010-05-28T00:00:00.1234567Z","Id@odata.type":"Edm.Guid","Id":"c9da6455-213d-42c9-9a79-3e9149a57833","Raw@odata.type":"Edm.Binary","Raw":"/wo=","Ok":true,"Celsius@odata.type":"Edm.Double","Celsius":5.0"#,
            r#""Path":"a \"b\", c","Count":7,"Ok":false"#,
        ],
    ),
    // Without types: every backslash stays.
    ("Devices.csv", &[], &[r#""Path":"\\\\server\\share","Note":"\\""#, r#""Path":"a \"b\", c""#]),
    ("sheet.csv", DEVICES, &[r#""Path":"\\\\server\\share","Note":"Grüße, \"alle\"""#]),
    // `az storage entity query -o json` keeps the types of Int64 alone.
    (
        "az.json",
        DEVICES,
        &[
            r#""Big@odata.type":"Edm.Int64","Big":"9007199254740993","Bytes":"/wo=","Empty":"","Guid":"c9da6455-213d-42c9-9a79-3e9149a57833","Half@odata.type":"Edm.Double","Half":1.5,"Small":5,"Text":"\\\\server\\share","Time":"2010-05-28T00:00:00.123456+00:00","Whole@odata.type":"Edm.Double","Whole":5.0,"Yes":true"#,
            r#""Text":"Grüße""#,
        ],
    ),
    (
        "answer.json",
        DEVICES,
        &[
            r#""Count@odata.type":"Edm.Int64","Count":"9007199254740993","Celsius@odata.type":"Edm.Double","Celsius":71.5,"Text":"half""#,
        ],
    ),
    (
        "list.json",
        DEVICES,
        &[
            r#""Count":7,"Large@odata.type":"Edm.Double","Large":1e22"#,
            r#""Count@odata.type":"Edm.Double","Count":5000000000.0"#,
        ],
    ),
    (
        "lines.ndjson",
        DEVICES,
        &[r#""Text":"a""#, r#""Id@odata.type":"Edm.Guid","Id":"c9da6455-213d-42c9-9a79-3e9149a57833""#],
    ),
    ("rows.json", DEVICES, &[r#""Text":"a""#, ""]),
];

#[tokio::test]
async fn files_of_other_programs_are_read_and_exported_again() {
    for (name, arguments, rows) in CASES {
        let folder = Folder::new();
        let store = folder.path("a.tables");
        let imported = printed(&[&["--store", &store, "import", &file(name)], arguments].concat());
        assert_eq!(imported, "", "{name}");
        let row = |(at, members): (usize, &&str)| {
            let comma = if members.is_empty() { "" } else { "," };
            format!(r#"{{"@table":"Devices","PartitionKey":"boiler","RowKey":"{}"{comma}{members}}}"#, at + 1)
        };
        let expected: Vec<_> = rows.iter().enumerate().map(row).collect();
        let exported = printed(&["--store", &store, "export", "Devices"]);
        let found: Vec<_> = exported.lines().filter(|line| line.contains("RowKey")).collect();
        assert_eq!(found, expected, "{name}");

        let dumped = sorted_rows(&dump_of(&store).await);
        for format in ["ndjson", "csv"] {
            // The columns of CSV have the order in which the properties were found.
            let (lines, copy) = (folder.path(&format!("Devices.{format}")), folder.path(&format!("{format}.tables")));
            printed(&["--store", &store, "export", "Devices", "--output", &lines]);
            printed(&["--store", &copy, "import", &lines]);
            assert_eq!(sorted_rows(&dump_of(&copy).await), dumped, "{name} as {format}");
        }
    }
}

#[test]
fn the_guide_says_what_to_type_for_each_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../table-runtime/src/guide/command.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once("<!-- files: begin -->").unwrap();
    let (table, _) = rest.split_once("<!-- files: end -->").unwrap();
    let typed = |row: &str| Some(row.rsplit_once("`tables import ")?.1.trim_end_matches(['`', ' ', '|']).to_owned());
    let found: Vec<_> = table.lines().filter_map(typed).collect();
    let expected = CASES.map(|(name, arguments, _)| [&[name], arguments].concat().join(" "));
    assert_eq!(found, expected);
}

#[test]
fn the_format_is_recognized_by_the_content() {
    let folder = Folder::new();
    for (name, of) in [("rows.txt", "Devices.csv"), ("rows", "Devices.typed.csv"), ("rows.data", "list.json")] {
        let (path, store) = (folder.path(name), folder.path(&format!("{name}.tables")));
        fs::copy(file(of), &path).unwrap();
        printed(&["--store", &store, "import", &path, "--table", "Devices"]);
        assert_eq!(printed(&["--store", &store, "count", "Devices"]), "2\n", "{name}");
    }
}

#[test]
fn what_is_not_read_says_what_it_is_and_what_to_do() {
    let folder = Folder::new();
    let (store, path) = (folder.path("a.tables"), folder.path("Rows.csv"));
    let row = r#"{"PartitionKey":"a","RowKey":"b""#;
    let cases: [(&[u8], &[&str], &str); 34] = [
        (
            b"redb\x1A\x0A\xA9\x0D\x0A",
            &[],
            "the file of an embedded store, which is not read; copy it with `tables copy",
        ),
        (b"\x1F\x8B\x08", &[], "compressed by gzip"),
        (b"PK\x03\x04", &[], "a ZIP archive or a workbook"),
        (b"\xFF\xFE[\0]\0", &[], "text in UTF-16, which is not read; save it as UTF-8"),
        (b"\xEF\xBB\xBF <?xml version=\"1.0\"?>", &["--format", "json"], "XML, which is not read; request"),
        (b"Title,Likes\na,b\n", &[], "has no column `PartitionKey`"),
        (b"PartitionKey,Title\na,b\n", &[], "has no column `RowKey`"),
        (b"PartitionKey,RowKey,PartitionKey\na,b,c\n", &[], "has two columns `PartitionKey`"),
        (b"PartitionKey,RowKey,A,A\na,b,c,d\n", &[], "has two columns `A`"),
        (b"PartitionKey,RowKey,A,A@type\na,b,1,Edm.Int32\na,c,1,\n", &[], "line 3: `A` has a value and no type; fill"),
        (b"PartitionKey,RowKey,A,A@type\na,b,1,Edm.GeographyPoint\n", &[], "unknown type Edm.GeographyPoint"),
        (b"PartitionKey,RowKey,A:Point\na,b,1\n", &[], "the column `A` has the unknown type Point"),
        (b"PartitionKey,RowKey,A\na,b,gr\xFC\xDFe\n", &[], "save the file as UTF-8"),
        (b"{\"PartitionKey\":\"a\",\"RowKey\":\"gr\xFC\xDFe\"}\n", &["--format", "json", "--table", "A12"], "UTF-8"),
        (b"some text\n", &["--format", "json"], "line 1: it is neither JSON nor CSV with a column `PartitionKey`"),
        (
            b"[{\"PartitionKey\":\"a\",\"RowKey\":\"b\"}]",
            &["--format", "json"],
            "line 1: the row has no table; give it with --table",
        ),
        (b"{\"items\":[],\"nextMarker\":{\"nextpartitionkey\":\"x\"}}", JSON, "only the first rows of the table"),
        (b"{\"value\":[],\"odata.nextLink\":\"Devices?NextPartitionKey=x\"}", JSON, "only the first rows of the table"),
        (
            b"[\n{\"PartitionKey\":\"a\",\"RowKey\":\"b\"},\n{\"PartitionKey\":\"a\"}]",
            JSON,
            "line 3: there is no `RowKey`",
        ),
        (b"[\n{\"PartitionKey\":\"a\",\"RowKey\":\"b\"},\n{", JSON, "line 3: EOF"),
        (
            &[row.as_bytes(), b",\"N\":9007199254740993}"].concat(),
            JSON,
            "`N` is a whole number that no Edm.Double holds",
        ),
        (&[row.as_bytes(), b",\"N\":18446744073709551615}"].concat(), JSON, "whole number that no Edm.Double holds"),
        (&[row.as_bytes(), b",\"N\":-18446744073709551617}"].concat(), JSON, "whole number that no Edm.Double holds"),
        (&[row.as_bytes(), b",\"N\":1,\"etag\":\"x\",\"N\":2}"].concat(), JSON, "line 1: `N` occurs twice"),
        (b"redbull,PartitionKey\na,b\n", &[], "has no column `RowKey`"),
        (b"{\"@table\":\"a-b\"}\n", &["--format", "json"], "line 1: a-b: the table's name is"),
        (b"", &["--format", "json"], "the lines end after 0 rows"),
        (b"PartitionKey,RowKey,A\na,b,\"x\"\"y\"\na,c,\"x\na,d,y\n", &[], "the last cell has no closing quote"),
        (b"PartitionKey, RowKey\na,b\n", &[], "the first line has ` RowKey`: remove the spaces"),
        (b"PartitionKey,RowKey,A@type\na,b,c\n", &[], "has a column `A@type`, and none with the values"),
        (b"{\"odata.error\":{\"code\":\"ResourceNotFound\"}}", JSON, "an error that the service answered: {\"code\""),
        (&[row.as_bytes(), b",\"\\u001b[31mX\":[]}"].concat(), JSON, "line 1: `\u{FFFD}[31mX` is a list"),
        (&[row.as_bytes(), b",\"@rows\":1}"].concat(), JSON, "line 1: `@rows` is not the only member"),
        (&[row.as_bytes(), b",\n\"@table\":\"A12\"}"].concat(), JSON, "the lines end after 1 rows"),
    ];
    for (content, arguments, expected) in cases {
        fs::write(&path, content).unwrap();
        let (code, line) = failed(&[&["--store", &store, "import", &path], arguments].concat());
        assert!(code == 2 && line.contains(expected), "{}: {code} {line}", String::from_utf8_lossy(content));
    }
    let copied = folder.path("Rows (1).csv");
    fs::write(&copied, "PartitionKey,RowKey\na,b\n").unwrap();
    let (code, line) = failed(&["--store", &store, "import", &copied]);
    assert!(code == 2 && line.ends_with("; give the table with --table"), "{code} {line}");
    // Numbers that a Double holds, however long they are, and what ends an answer.
    let numbers = [row.as_bytes(), b",\"A\":1152921504606846976,\"B\":18446744073709551616,\"C\":1234567890123456800}"];
    for (content, rows) in [
        (numbers.concat(), 1),
        (Vec::new(), 0),
        (br#"{"items":[],"nextMarker":null}"#.to_vec(), 0),
        (br#"{"items":[],"nextMarker":""}"#.to_vec(), 0),
        // A text is no member, and a quote within a cell opens nothing.
        (br#"{"PartitionKey":"@table","RowKey":"b","A":"@rows","@odata.type":"x"}"#.to_vec(), 1),
        (br#"[{"PartitionKey":"@table","RowKey":"b","A":"@rows"}]"#.to_vec(), 1),
    ] {
        let store = folder.path("numbers.tables");
        fs::write(&path, &content).unwrap();
        let output = run(&[&["--store", &store, "import", &path], JSON].concat());
        let imported = String::from_utf8(output.stderr).unwrap();
        let plural = if rows == 1 { "" } else { "s" };
        assert_eq!(imported, format!("{rows} row{plural} imported\n"), "{}", String::from_utf8_lossy(&content));
    }
    // A part of a table that is wanted.
    fs::write(&path, br#"{"items":[{"PartitionKey":"a","RowKey":"b"}],"nextMarker":{"nextpartitionkey":"x"}}"#)
        .unwrap();
    printed(&[&["--store", &store, "import", &path, "--partial"], JSON].concat());
    assert_eq!(printed(&["--store", &store, "count", "A12", "--partition", "a"]), "1\n");
}

#[tokio::test]
async fn an_export_is_read_in_any_layout_of_its_json() {
    let folder = Folder::new();
    let (file, lines) = (folder.path("a.tables"), folder.path("a.json"));
    fill(&file).await;
    let dumped = dump_of(&file).await;
    let members = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let pretty =
        dumped.lines().map(|line| serde_json::to_string_pretty(&members(line)).unwrap() + "\n").collect::<String>();
    let without_table =
        |line: &str| line.replacen("\"@table\":\"Odd\",", "", 1).replacen('}', ",\"@table\":\"Odd\"}", 1);
    let last: String = printed(&["--store", &file, "export", "Odd"])
        .lines()
        .skip(3)
        .take(1)
        .map(|l| without_table(l) + "\n")
        .collect();
    assert!(last.starts_with("{\"PartitionKey\"") && last.contains("\"@table\":\"Odd\"}"), "{last}");
    for (name, text) in [("pretty", &pretty), ("mark", &format!("\u{FEFF}{dumped}"))] {
        let copy = folder.path(&format!("{name}.tables"));
        fs::write(&lines, text).unwrap();
        printed(&["--store", &copy, "import", &lines]);
        assert_eq!(sorted_rows(&dump_of(&copy).await), sorted_rows(&dumped), "{name}");
        // Without its end it is not complete.
        let end = text.rfind("\"@rows\"").and_then(|at| text[..at].rfind('{')).unwrap();
        fs::write(&lines, &text[..end]).unwrap();
        let (code, line) = failed(&["--store", &copy, "import", &lines]);
        assert!(code == 2 && line.contains("the file was cut"), "{name}: {line}");
    }
    let copy = folder.path("last.tables");
    fs::write(&lines, last).unwrap();
    printed(&["--store", &copy, "import", &lines, "--partial"]);
    assert_eq!(printed(&["--store", &copy, "count", "Odd"]), "1\n");
}

const JSON: &[&str] = &["--format", "json", "--table", "A12"];

#[tokio::test]
async fn what_an_import_leaves_out_or_cannot_continue_is_said() {
    let folder = Folder::new();
    let (file, lines, cursor) = (folder.path("a.tables"), folder.path("Rows.csv"), folder.path("cursor"));
    fill(&file).await;
    let dump = folder.path("a.ndjson");
    printed(&["--store", &file, "export", "Odd", "--output", &dump]);
    let output = run(&["--store", &folder.path("b.tables"), "import", &dump, "--table", "New"]);
    let expected = "0 rows imported\n3 rows of other tables or partitions left out\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    // The standard output can be named.
    let exported = printed(&["--store", &file, "export", "Odd", "--output", "-"]);
    assert_eq!(exported, fs::read_to_string(&dump).unwrap());
    assert_eq!(failed(&["--store", &file, "export", "--output", "-", "--cursor", &cursor]).0, 2);
    // A quote within a cell, and one that is doubled.
    fs::write(&lines, "PartitionKey,RowKey,A\na,b,5\" pipe\n\"a\",\"c\",\"\"\"x\"\"\"\n").unwrap();
    let store = folder.path("d.tables");
    printed(&["--store", &store, "import", &lines]);
    let rows = printed(&["--store", &store, "export", "Rows"]);
    assert!(rows.contains(r#""A":"5\" pipe""#) && rows.contains(r#""A":"\"x\"""#), "{rows}");

    // The rows before the cursor are in a store that was deleted.
    let rows: String = (0..6_000).map(|row| ["a,", &row.to_string(), ",x\n"].concat()).collect();
    fs::write(&lines, format!("PartitionKey,RowKey,A:Int32\n{}a,b,y\n", rows.replace('x', "1"))).unwrap();
    let import = ["--store", &store, "import", &lines, "--cursor", &cursor];
    assert_eq!(failed(&import).0, 2);
    fs::remove_file(&store).unwrap();
    let (code, line) = failed(&import);
    assert!(code == 2 && line.contains("the store of the cursor does not exist any more"), "{code} {line}");
}

#[test]
fn rows_that_break_a_limit_are_skipped_on_request_and_reported() {
    let folder = Folder::new();
    let (store, path, cursor) = (folder.path("a.tables"), folder.path("Rows.csv"), folder.path("cursor"));
    let text = "x".repeat(32_769);
    fs::write(&path, format!("PartitionKey,RowKey,A\na,1,x\na/b,2,x\na,3,{text}\na,4,x\n")).unwrap();
    let import = ["--store", &store, "import", &path, "--cursor", &cursor];
    let (code, line) = failed(&import);
    assert!(code == 2 && line.contains("line 3: Rows: the PartitionKey \"a/b\" has '/'"), "{code} {line}");
    let output = run(&[&import[..], &["--skip"]].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    let lines: Vec<_> = errors.lines().collect();
    assert_eq!(lines.len(), 4, "{errors}");
    assert_eq!((lines[0], lines[3]), ("2 rows imported", "2 rows skipped"));
    assert!(lines[1].starts_with("skipped: line 3: Rows: the PartitionKey"), "{errors}");
    assert!(lines[2].starts_with("skipped: line 4: Rows(PartitionKey='a',RowKey='3'): the property `A`"), "{errors}");
    assert_eq!(printed(&["--store", &store, "count", "Rows"]), "2\n");

    // What an earlier run has skipped is reported at the end too.
    let row = |row: u32| format!("a,{row},{}\n", if row == 7 { &text } else { "x" });
    let rows = (0..6_000).map(row).collect::<Vec<_>>().concat();
    fs::write(&path, format!("PartitionKey,RowKey,A:String\n{rows}a,b/c,x\na,d")).unwrap();
    let (code, line) = failed(&[&import[..], &["--skip"]].concat());
    assert!(code == 2 && line.contains("CSV"), "{code} {line}");
    fs::write(&path, format!("PartitionKey,RowKey,A:String\n{rows}a,b/c,x\na,d,x\n")).unwrap();
    let errors = String::from_utf8(run(&[&import[..], &["--skip"]].concat()).stderr).unwrap();
    assert!(errors.contains("skipped: line 9: ") && errors.contains("skipped: line 6002: "), "{errors}");
    assert!(errors.ends_with("2 rows skipped\n"), "{errors}");
    assert_eq!(printed(&["--store", &store, "count", "Rows"]), "6000\n");
}
