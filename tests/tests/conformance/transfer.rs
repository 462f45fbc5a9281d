//! Dumps, loads, copies, and what the catalog says of a store.

use std::{
    io,
    sync::{Arc, Mutex},
};

use anyhow::{Result, anyhow};
use futures_util::TryStreamExt;
use table_runtime::{
    Guid, TableEntity, Tables, Value,
    backend::{Backend, StoreView},
    inventory::LayoutState,
    row::{Properties, ValueRef},
    transfer::{ReadPart, RowReader, RowWriter, Selection, TableRow, TransferError},
};
use tests::stores::Store;

crate::conformance! {
    a_loaded_dump_is_equal_and_its_indexes_are_ready
    dumps_side_by_side_and_in_parts_have_the_same_rows
    a_dump_continues_at_any_cursor
    a_load_continues_at_its_cursor
    a_copy_is_equal_and_continues_at_its_cursor
    dry_runs_of_transfers_write_nothing
    a_reader_continues_at_its_cursor
    a_selection_limits_the_rows
    jobs_of_selected_rows_have_no_others
    a_dump_reads_one_moment_or_ends_if_the_catalog_changes
    a_catalog_is_not_replaced_by_another_one
    a_table_with_the_name_of_a_catalog_is_read_as_any_other
    damaged_lines_are_refused
    the_inventory_has_what_create_recorded
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", kind = "note")]
struct Note {
    #[partition_key]
    owner: String,
    #[row_key(prefix = "note-")]
    id: u32,
    #[index(title, lowercase, unique)]
    title: String,
    #[index(tag, same_partition, list)]
    tag: String,
}

fn note(id: u32) -> Note {
    Note { owner: "Al/ice".to_owned(), id, title: format!("Title {id}"), tag: "same".to_owned() }
}

async fn fill(tables: &Tables) -> Result<()> {
    tables.create::<Note>().await?;
    for id in 1..=3 {
        tables.insert(&note(id)).await?;
    }
    Ok(())
}

async fn dump(tables: &Tables) -> Result<String> {
    let mut lines = Vec::new();
    tables.dump(&mut lines).side_by_side(1).await?;
    Ok(String::from_utf8(lines)?)
}

async fn a_loaded_dump_is_equal_and_its_indexes_are_ready(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    let lines = dump(tables).await?;
    let streamed: Vec<Vec<u8>> = tables.dump_stream().try_collect().await?;
    assert_eq!(String::from_utf8(streamed.concat())?, lines);

    let copy = tables.with_prefix("copy1");
    let mut counts = Vec::new();
    let loaded = copy.load(lines.as_bytes()).progress(|progress| counts.push(progress.rows as u64)).await?;
    assert_eq!(counts.last(), Some(&loaded.rows));
    assert_eq!(dump(&copy).await?, lines);
    // To load the lines again changes nothing.
    copy.load(lines.as_bytes()).await?;
    assert_eq!(dump(&copy).await?, lines);

    assert_eq!(Note::by_title("title 2").get(&copy).await?.as_deref(), Some(&note(2)));
    assert_eq!(Note::by_tag("Al/ice").eq("same").count(&copy).await?, 3);
    assert_eq!(copy.verify::<Note>().all().await?, []);
    copy.create::<Note>().await?;

    // An empty store has only the last line.
    let empty = tables.with_prefix("empty1");
    assert_eq!(dump(&empty).await?, "{\"@rows\":0}\n");
    Ok(())
}

/// A store whose dump has several pages: 25 partitions of 100 rows, notes, and a table without rows.
async fn of_many_rows(store: &Store) -> Result<Tables> {
    let tables = store.tables.with_prefix("many1");
    fill(&tables).await?;
    let mut writer = RowWriter::new(&tables);
    writer.create_table("Empty").await?;
    for number in 0..2500 {
        let (table, partition_key) = ("Many".to_owned(), format!("p{:02}", number / 100));
        let properties = [("Number", Value::Int32(number))].into_iter().collect();
        writer.write(TableRow { table, partition_key, row_key: format!("{number:04}"), properties }).await?;
    }
    writer.flush().await?;
    Ok(tables)
}

/// Returns the lines of rows, in order.
fn rows_of(lines: &str) -> Vec<&str> {
    let mut rows: Vec<_> = lines.lines().filter(|line| line.contains("PartitionKey")).collect();
    rows.sort_unstable();
    rows
}

/// A file that can be looked at while a dump writes it.
#[derive(Clone, Default)]
struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl SharedFile {
    fn text(&self) -> String {
        let bytes = self.0.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl io::Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::Error::other("poisoned"))?.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn dumps_side_by_side_and_in_parts_have_the_same_rows(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let whole = dump(tables).await?;
    let mut lines = Vec::new();
    let mut counts = Vec::new();
    let rows = tables.dump(&mut lines).side_by_side(8).progress(|progress| counts.push(progress.rows as u64)).await?;
    assert_eq!(counts.last(), Some(&rows));
    let lines = String::from_utf8(lines)?;
    let sorted = |lines: &str| {
        let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&lines), sorted(&whole));
    assert!(lines.ends_with(&format!("{{\"@rows\":{rows}}}\n")), "the number of rows is the last line");
    let mut begun = "";
    for line in lines.lines() {
        match line.strip_prefix("{\"@table\":\"").and_then(|line| line.split_once('"')) {
            Some((table, "}")) => begun = table,
            Some((table, _)) => assert!(table <= begun, "{table} after the line of {begun}"),
            None => {}
        }
    }
    let copy = store.tables.with_prefix("copy1");
    copy.load(lines.as_bytes()).await?;
    assert_eq!(dump(&copy).await?, whole);

    let of_part = async |from: &str, to: &str| {
        let mut lines = Vec::new();
        let rows = tables.dump(&mut lines).partitions(from..to).side_by_side(4).await?;
        anyhow::Ok((rows, String::from_utf8(lines)?))
    };
    let (rows, part) = of_part("p05", "p07").await?;
    assert_eq!((rows, rows_of(&part).len()), (200, 200));
    let is_in_part = |line: &&str| line.contains("\"p05\"") || line.contains("\"p06\"");
    assert_eq!(rows_of(&part), rows_of(&whole).into_iter().filter(is_in_part).collect::<Vec<_>>());
    let mut shards = String::new();
    for number in 0..3 {
        let mut lines = Vec::new();
        assert!(tables.dump(&mut lines).shard(number, 3).side_by_side(2).await? > 0);
        shards += &String::from_utf8(lines)?;
    }
    assert_eq!(rows_of(&shards), rows_of(&whole));
    Ok(())
}

async fn a_dump_continues_at_any_cursor(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let whole = dump(tables).await?;
    let is_of_catalog = |line: &str| line.contains("\"TableLayouts\"");
    for side_by_side in [1, 4] {
        let (file, mut cursors) = (SharedFile::default(), Vec::new());
        let job = tables.dump(file.clone()).side_by_side(side_by_side);
        job.progress(|progress| cursors.push((progress.cursor.clone(), progress.rows, file.text()))).await?;
        assert!(cursors.len() > 3, "{}", cursors.len());
        for (cursor, rows, mut before) in cursors {
            assert_eq!(rows_of(&before).len(), rows);
            before = before.split_inclusive('\n').filter(|line| !is_of_catalog(line)).collect();
            let mut rest = Vec::new();
            let job = tables.dump(&mut rest).resume_from(&cursor.unwrap_or_default())?;
            let left = job.side_by_side(5 - side_by_side).await?;
            let rest = String::from_utf8(rest)?;
            assert_eq!(rows_of(&rest).len() as u64, left);
            assert_eq!(rows_of(&(before + &rest)), rows_of(&whole));
        }
    }
    // The positions of the tables have changed.
    let mut cursor = None;
    tables.dump(io::sink()).progress(|progress| cursor.clone_from(&progress.cursor)).await?;
    RowWriter::new(tables).create_table("Another").await?;
    let error = tables.dump(io::sink()).resume_from(&cursor.unwrap_or_default())?.await.err();
    assert!(matches!(error, Some(TransferError::Store(table_runtime::Error::Cursor(_)))), "{error:?}");
    Ok(())
}

async fn a_load_continues_at_its_cursor(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let lines = dump(tables).await?;
    let cut: String = lines.split_inclusive('\n').take(1500).collect();
    let (copy, mut reports) = (store.tables.with_prefix("copy1"), Vec::new());
    let cut = copy.load(cut.as_bytes()).side_by_side(4).progress(|progress| reports.push(progress.clone())).await;
    assert!(matches!(cut, Err(TransferError::Incomplete { .. })), "{cut:?}");
    for report in reports {
        let loaded = copy.load(lines.as_bytes()).resume_from(&report.cursor.unwrap_or_default())?.await?;
        assert_eq!(loaded.rows + report.rows as u64, rows_of(&lines).len() as u64);
        assert_eq!(dump(&copy).await?, lines);
    }
    Ok(())
}

async fn a_copy_is_equal_and_continues_at_its_cursor(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let lines = dump(tables).await?;
    let rows = rows_of(&lines).len() as u64;
    let (copy, mut reports) = (store.tables.with_prefix("copy1"), Vec::new());
    let copied = tables.copy_to(&copy).side_by_side(4).progress(|progress| reports.push(progress.clone())).await?;
    assert_eq!(copied.rows, rows);
    assert_eq!(dump(&copy).await?, lines);
    assert_eq!(Note::by_title("title 2").get(&copy).await?.as_deref(), Some(&note(2)));

    let first = reports.into_iter().next().ok_or_else(|| anyhow!("no page was reported"))?;
    let other = store.tables.with_prefix("other1");
    let rest = tables.copy_to(&other).resume_from(&first.cursor.unwrap_or_default())?.await?;
    assert_eq!(rest.rows + first.rows as u64, rows);
    assert_eq!(rows_of(&dump(&other).await?).len() as u64, rest.rows);
    for number in 0..2 {
        tables.copy_to(&other).shard(number, 2).await?;
    }
    assert_eq!(dump(&other).await?, lines);
    assert_eq!(tables.copy_to(&store.tables.with_prefix("part1")).partitions("p05".."p07").await?.rows, 200);
    Ok(())
}

async fn dry_runs_of_transfers_write_nothing(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let lines = dump(tables).await?;
    let rows = rows_of(&lines).len() as u64;
    let copy = store.tables.with_prefix("copy1");
    assert_eq!(copy.load(lines.as_bytes()).dry_run().await?.rows, rows);
    assert_eq!(tables.copy_to(&copy).dry_run().await?.rows, rows);
    assert_eq!(copy.inventory().await?.tables, [""; 0]);
    let error = copy.load(format!("{lines}x").as_bytes()).dry_run().await.err();
    assert!(matches!(error, Some(TransferError::Line { .. })), "{error:?}");
    let long = lines.replace("\"p07\"", &format!("\"{}\"", "p".repeat(2000)));
    let error = copy.load(long.as_bytes()).dry_run().await.err();
    assert!(matches!(error, Some(TransferError::Store(table_runtime::Error::Limit(_)))), "{error:?}");
    Ok(())
}

/// Returns the row keys that a reader reads.
async fn row_keys(reader: &mut RowReader) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    while let Some(part) = reader.next().await? {
        if let ReadPart::Rows { rows, .. } = part {
            keys.extend(rows.iter().map(|row| row.row_key.to_owned()));
        }
    }
    Ok(keys)
}

async fn a_reader_continues_at_its_cursor(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    let selection = || Selection::all().page(1);
    let expected = row_keys(&mut RowReader::new(tables, selection()).await?).await?;
    let mut reader = RowReader::new(tables, selection()).await?;
    let mut found = Vec::new();
    loop {
        // Each part is read by another reader.
        let part = reader.next().await?;
        let rows = reader.rows();
        reader = RowReader::resume(tables, &reader.cursor())?;
        assert_eq!(reader.rows(), rows);
        match part {
            Some(ReadPart::Rows { rows, .. }) => found.extend(rows.iter().map(|row| row.row_key.to_owned())),
            Some(_) => {}
            None => break,
        }
    }
    assert_eq!(found, expected);
    assert!(matches!(RowReader::resume(tables, "{}"), Err(TransferError::Cursor)));
    Ok(())
}

async fn a_selection_limits_the_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    fill(tables).await?;
    let keys = async |selection| row_keys(&mut RowReader::new(tables, selection).await?).await;
    let of_partition = || Selection::partition("notes", "Al~2Fice");
    let key = |id: u32| Some(format!("note-{id:010}"));
    let ids = |keys: Vec<String>| keys.into_iter().filter(|key| key.starts_with("note-")).collect::<Vec<_>>();
    assert_eq!(ids(keys(of_partition()).await?).len(), 3);
    assert_eq!(keys(of_partition().row_keys(key(2), None)).await?.first(), key(2).as_ref());
    assert_eq!(ids(keys(of_partition().row_keys(key(2), key(2))).await?), [key(2).unwrap_or_default()]);
    assert_eq!(keys(Selection::partition("Notes", "Bob")).await?, [""; 0]);
    assert_eq!(keys(Selection::table("NotesByTitle").keys_only()).await?, ["", "", ""]);
    let several = Selection::tables(["NotesByTitle", "notes"]).in_partition("Al~2Fice").row_keys(key(2), None);
    assert_eq!(ids(keys(several).await?), [key(2), key(3)].map(Option::unwrap_or_default));
    // The keys are enough to tell entities from other rows: those of indexes, and inserts that are not committed.
    let mut writer = RowWriter::new(tables);
    let pending = Value::Guid(Guid::from_bytes([7; 16]));
    let marks = [("EntityType", Value::String("note".to_owned())), ("IndexPending", pending)];
    let (table, partition_key, row_key) = ("Notes".to_owned(), "Al~2Fice".to_owned(), "note-0000000009".to_owned());
    writer.write(TableRow { table, partition_key, row_key, properties: marks.into_iter().collect() }).await?;
    writer.flush().await?;
    let inventory = tables.inventory().await?;
    let mut entities = 0;
    for table in ["Notes", "NotesByTitle"] {
        let mut reader = RowReader::new(tables, Selection::table(table).keys_only()).await?;
        while let Some(part) = reader.next().await? {
            if let ReadPart::Rows { rows, .. } = part {
                assert!(rows.iter().all(|row| row.properties.get("Title").is_none()));
                entities += rows.iter().filter(|row| inventory.is_entity(table, *row)).count();
            }
        }
    }
    assert_eq!(entities, 3);
    let missing = RowReader::new(tables, Selection::table("Nothing")).await;
    assert!(matches!(missing, Err(TransferError::Store(table_runtime::Error::TableNotFound(_)))), "{missing:?}");
    Ok(())
}

async fn jobs_of_selected_rows_have_no_others(store: &Store) -> Result<()> {
    let tables = &of_many_rows(store).await?;
    let whole = dump(tables).await?;
    let many = || Selection::table("many");
    for (selection, expected) in [
        (many(), whole.lines().filter(|line| line.contains("\"Many\"") && line.contains("RowKey")).collect()),
        // Whole rows, whatever the selection is for.
        (
            many().in_partition("p05").keys_only(),
            whole.lines().filter(|line| line.contains("\"p05\"")).collect::<Vec<_>>(),
        ),
    ] {
        let mut lines = Vec::new();
        let rows = tables.dump(&mut lines).rows(selection.clone()).side_by_side(4).await?;
        assert_eq!(rows, expected.len() as u64);
        assert_eq!(rows_of(&String::from_utf8(lines)?), rows_of(&expected.join("\n")));
        let copy = store.tables.with_prefix(&format!("copy{rows}"));
        assert_eq!(tables.copy_to(&copy).rows(selection).await?.rows, rows);
        assert_eq!(rows_of(&dump(&copy).await?), rows_of(&expected.join("\n")));
        assert_eq!(copy.inventory().await?.tables, ["Many"]);
    }
    // The positions of other rows.
    let mut cursor = None;
    let job = tables.dump(io::sink()).rows(many().in_partition("p05"));
    job.progress(|progress| cursor.clone_from(&progress.cursor)).await?;
    let cursor = cursor.unwrap_or_default();
    let error = tables.dump(io::sink()).rows(many().in_partition("p06")).resume_from(&cursor)?.await.err();
    assert!(matches!(error, Some(TransferError::Store(table_runtime::Error::Cursor(_)))), "{error:?}");
    assert_eq!(tables.dump(io::sink()).rows(many().in_partition("p05")).resume_from(&cursor)?.await?, 0);
    let error = tables.dump(io::sink()).rows(Selection::table("Missing")).await.err();
    assert!(matches!(error, Some(TransferError::Store(table_runtime::Error::TableNotFound(_)))), "{error:?}");
    Ok(())
}

async fn a_dump_reads_one_moment_or_ends_if_the_catalog_changes(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Others")]
    struct Other {
        #[partition_key]
        name: String,
        #[row_key]
        id: u32,
    }

    let tables = &store.tables;
    fill(tables).await?;
    let new_reader = async || {
        let mut reader = RowReader::new(tables, Selection::all()).await?;
        reader.next().await?;
        anyhow::Ok(reader)
    };
    let before = row_keys(&mut new_reader().await?).await?;
    let mut reader = new_reader().await?;
    tables.create::<Other>().await?;
    let ended = row_keys(&mut reader).await;
    if store.backend.view(StoreView::Snapshot)?.is_some() {
        assert_eq!(ended?, before);
        assert_ne!(row_keys(&mut new_reader().await?).await?, before, "the catalog has other rows");
        return Ok(());
    }
    let error = ended.err().ok_or_else(|| anyhow!("the catalog was changed"))?.downcast::<TransferError>()?;
    assert!(matches!(&error, TransferError::CatalogChanged(table) if table == "TableLayouts"), "{error}");
    Ok(())
}

async fn a_catalog_is_not_replaced_by_another_one(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Notes", kind = "note")]
    struct Note {
        #[partition_key]
        owner: String,
        #[row_key(prefix = "note-")]
        number: u64,
    }

    fill(&store.tables).await?;
    let lines = dump(&store.tables).await?;
    let other = store.tables.with_prefix("other1");
    other.create::<Note>().await?;
    let before = RowReader::new(&other, Selection::table("TableLayouts")).await?.rows();
    let error = other.load(lines.as_bytes()).await.err();
    assert!(matches!(error, Some(TransferError::CatalogDiffers { .. })), "{error:?}");
    assert_eq!(RowReader::new(&other, Selection::table("TableLayouts")).await?.rows(), before);
    Ok(())
}

async fn a_table_with_the_name_of_a_catalog_is_read_as_any_other(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let row = |value: i32| TableRow {
        table: "MyTableLayouts".to_owned(),
        partition_key: "layouts".to_owned(),
        row_key: "a".to_owned(),
        properties: [("Width", Value::Int32(value))].into_iter().collect::<Properties>(),
    };
    let mut writer = RowWriter::new(tables);
    writer.write(row(1)).await?;
    writer.create_table("Zones").await?;
    writer.flush().await?;
    fill(&tables.with_prefix("a1")).await?;
    let mut reader = RowReader::new(tables, Selection::all().keys_only()).await?;
    let mut names = Vec::new();
    while let Some(part) = reader.next().await? {
        // It may change, and its rows may be replaced.
        if names.is_empty() {
            writer.write(row(2)).await?;
            writer.flush().await?;
        }
        if let ReadPart::Table(name) = part {
            names.push(name);
        }
    }
    // The catalog of a prefix is the last, as that of the handle would be.
    assert_eq!(names, ["a1Notes", "a1NotesByTitle", "MyTableLayouts", "Zones", "a1TableLayouts"]);
    Ok(())
}

async fn damaged_lines_are_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let row = r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b"}"#;
    for (line, problem) in [
        ("notes", "expected"),
        ("[]", "an object with the members of a row"),
        ("{}", "there is no `@table`"),
        (r#"{"@table":5}"#, "`@table` is not a text"),
        (r#"{"@table":"Lines","PartitionKey":"a"}"#, "there is no `RowKey`"),
        (r#"{"@table":"Lines","A":1}"#, "there is no `PartitionKey`"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","A":1,"A":2}"#, "`A` occurs twice"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","A":[1]}"#, "`A` is a list"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","A@odata.type":"Edm.Guid","A":"x"}"#, "`A` is Edm.Guid"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","A@odata.type":"Edm.Guid"}"#, "`A` has a type"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","@new":1}"#, "`@new` is not known"),
        (r#"{"@table":"Lines","PartitionKey":"a","RowKey":"b","A":"\ud800"}"#, "half a character"),
        (r#"{"@table":"Lines","PartitionKey":"x\udc00","RowKey":"b"}"#, "half a character: \"x\u{FFFD}\""),
        (r#"{"@rows":-1}"#, "`@rows` is not the only member, or not a number of rows"),
        (r#"{"@rows":1,"A":1}"#, "`@rows` is not the only member"),
    ] {
        match tables.load(format!("{row}\n\n{line}\n").as_bytes()).await {
            Err(TransferError::Line { number: 3, problem: found }) if found.contains(problem) => {}
            other => return Err(anyhow!("{line}: {other:?}")),
        }
    }
    for (lines, rows) in [(format!("{row}\n"), 1), (format!("{row}\n{{\"@rows\":2}}\n"), 1), (String::new(), 0)] {
        let error = tables.load(lines.as_bytes()).await.err();
        assert!(matches!(error, Some(TransferError::Incomplete { found }) if found == rows), "{error:?}");
    }
    let error = tables.load(format!("{{\"@rows\":0}}\n{row}\n").as_bytes()).await.err();
    assert!(matches!(error, Some(TransferError::Line { number: 2, .. })), "{error:?}");

    // A row that breaks a limit of the service, and a row that is given twice.
    let mut writer = RowWriter::new(tables);
    let of = |row_key: &str, value: i32| TableRow {
        table: "Lines".to_owned(),
        partition_key: "a".to_owned(),
        row_key: row_key.to_owned(),
        properties: [("A", Value::Int32(value))].into_iter().collect::<Properties>(),
    };
    writer.write(of("c", 1)).await?;
    writer.write(of("c", 2)).await?;
    writer.flush().await?;
    let row = store.rows("Lines").await?.into_iter().find(|row| row.row_key == "c");
    assert_eq!(row.and_then(|row| row.properties.get("A").map(ValueRef::to_value)), Some(Value::Int32(2)));
    assert!(of("d", 1).check().is_ok());
    let error = of("d/e", 1).check().err();
    assert!(matches!(error, Some(table_runtime::Error::Limit(_))), "{error:?}");
    writer.write(of("d/e", 1)).await?;
    let error = writer.flush().await.err();
    assert!(matches!(error, Some(TransferError::Store(table_runtime::Error::Limit(_)))), "{error:?}");
    Ok(())
}

async fn the_inventory_has_what_create_recorded(store: &Store) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(tables.inventory().await?.entities, []);
    fill(tables).await?;
    let inventory = tables.inventory().await?;
    assert_eq!(inventory.tables, ["Notes", "NotesByTitle", "TableLayouts"]);
    assert_eq!(inventory.unrecorded().next(), None);
    let [entity] = inventory.entities.as_slice() else { return Err(anyhow!("{:?}", inventory.entities)) };
    assert_eq!((entity.name.as_str(), entity.kind.as_deref()), ("note", Some("note")));
    let names: Vec<_> = entity.layouts.iter().map(|layout| (&*layout.name, entity.state(&layout.name))).collect();
    assert_eq!(names, [("key", LayoutState::Ready), ("tag", LayoutState::Ready), ("title", LayoutState::Ready)]);
    let mut found = Vec::new();
    for table in ["Notes", "NotesByTitle"] {
        for row in store.rows(table).await? {
            let row = inventory.identify(table, row.as_ref()).ok_or_else(|| anyhow!("{row:?}"))?;
            found.push(format!("{}: {row}", row.layout.name));
        }
    }
    let expected = [
        "key: owner=Al/ice id=1",
        "key: owner=Al/ice id=2",
        "key: owner=Al/ice id=3",
        "tag: owner=Al/ice tag=same",
        "title: title~title 1",
        "title: title~title 2",
        "title: title~title 3",
    ];
    assert_eq!(found, expected);
    assert!(inventory.identify_keys("Notes", "a", "note-1").is_none(), "ten digits are expected");
    let verified = inventory.verify(tables, Some(entity)).await?;
    assert_eq!((verified.entities, verified.index_rows, verified.findings), (3, 4, vec![]));
    Ok(())
}
