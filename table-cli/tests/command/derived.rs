//! `tables derive`: each struct that it prints is compiled here.

use std::{env, fs};

use table_runtime::{
    Error, Guid, Tables, Ticks, Value,
    transfer::{RowWriter, TableRow},
};

use super::{Folder, Post, failed, printed};

/// The printed structs, in files that this test compares with what the command prints, and writes again with
/// `TABLE_DERIVED=overwrite`.
#[allow(dead_code, unreachable_pub, clippy::pedantic, reason = "as a user would paste them")]
pub(crate) mod structs {
    pub mod measurements {
        include!("../derived/measurements.rs");
    }
    pub mod orders {
        include!("../derived/orders.rs");
    }
    pub mod visits {
        include!("../derived/visits.rs");
    }
    pub mod mixed {
        include!("../derived/mixed.rs");
    }
    pub mod posts {
        include!("../derived/posts.rs");
    }
    pub mod tasks {
        include!("../derived/tasks.rs");
    }
    pub mod orders_recorded {
        include!("../derived/recorded_orders.rs");
    }
    pub mod entry {
        include!("../derived/recorded_entry.rs");
    }
    pub mod expenses {
        include!("../derived/recorded_expenses.rs");
    }
    pub mod employee {
        include!("../derived/recorded_employee.rs");
    }
    pub mod odds {
        include!("../derived/recorded_odds.rs");
    }
    pub mod words {
        include!("../derived/recorded_words.rs");
    }
    pub mod parcels {
        include!("../derived/recorded_parcels.rs");
    }
    pub mod session {
        include!("../derived/recorded_session.rs");
    }
    pub mod names {
        include!("../derived/names.rs");
    }
    pub mod tables {
        include!("../derived/tables.rs");
    }
}

/// Compares what the command prints with a file.
#[track_caller]
pub(crate) fn assert_printed(found: &str, file: &str) {
    let path = format!("{}/tests/derived/{file}.rs", env!("CARGO_MANIFEST_DIR"));
    if env::var("TABLE_DERIVED").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, found).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == found,
        "{path} has another struct than this; TABLE_DERIVED=overwrite writes it again:\n{found}"
    );
}

/// Names of tables whose struct would hide a type that the derive, or the printed text, uses.
const TABLES: [&str; 67] = [
    "Options",
    "Strings",
    "Vecs",
    "Guids",
    "TableEntities",
    "TableEntity",
    "SystemTimes",
    "Results",
    "Boxes",
    "Somes",
    "Nones",
    "Oks",
    "Errs",
    "Clones",
    "Debugs",
    "Copies",
    "Defaults",
    "Sends",
    "Syncs",
    "Sizeds",
    "Drops",
    "Fns",
    "Iterators",
    "Froms",
    "Intos",
    "AsRefs",
    "ToStrings",
    "PartialEqs",
    "Eqs",
    "Ords",
    "Hashes",
    "Strs",
    "Cows",
    "Arcs",
    "Futures",
    "Streams",
    "Ticks",
    "Values",
    "Properties",
    "ETags",
    "Stored",
    "Rows",
    "Points",
    "Keys",
    "Columns",
    "Queries",
    "Filters",
    "Errors",
    "Infos",
    "Layouts",
    "Selfs",
    "Self",
    "Types",
    "Matches",
    "Statics",
    "Crates",
    "Supers",
    "Traits",
    "Statuses",
    "News",
    "Data",
    "Category",
    "Categories",
    "a1b",
    "UPPER",
    "lower",
    "Log202611",
];

/// Names of properties that are words of Rust, of filters, of the service and of the generated functions, or no names in
/// Rust.
const PROPERTIES: [&str; 101] = [
    "etag",
    "ETag",
    "Etag",
    "timestamp",
    "TimeStamp",
    "key",
    "Key",
    "ByKey",
    "by_key",
    "Scan",
    "Get",
    "Id",
    "ID",
    "id_",
    "type",
    "Type",
    "self",
    "Self",
    "crate",
    "super",
    "async",
    "gen",
    "union",
    "dyn",
    "raw",
    "auto",
    "default",
    "abstract",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "do",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "static",
    "struct",
    "trait",
    "true",
    "try",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "and",
    "or",
    "not",
    "eq",
    "Eq",
    "lt",
    "Partition",
    "Row",
    "partition",
    "row",
    "_x",
    "__",
    "_",
    "a__b",
    "A_",
    "Straße",
    "日本",
    "URL",
    "HTTPStatus",
    "IndexedEntityId",
    "Value_2",
    "Value_Parts",
    "clone",
    "Fmt",
    "Layout",
    "Len",
    "new",
    "set",
    "Deref",
    "Entity",
    "Table",
];

#[tokio::test]
async fn what_is_printed_compiles_for_every_name() {
    let folder = Folder::new();
    let file = folder.path("names.tables");
    let tables = Tables::open(&file).unwrap();
    let mut writer = RowWriter::new(&tables);
    let row = |table: &str, properties| TableRow {
        table: table.into(),
        partition_key: "a".into(),
        row_key: "b".into(),
        properties,
    };
    let every_type = [
        ("Text", Value::String("a".into())),
        ("Bytes", Value::Binary(vec![1])),
        ("Id", Value::Guid(Guid::default())),
        ("At", Value::DateTime("2010-05-28T00:00:00Z".parse().unwrap())),
    ];
    for table in TABLES {
        writer.write(row(table, every_type.iter().cloned().collect())).await.unwrap();
        // Some of the properties are absent.
        writer.write(TableRow { row_key: "c".into(), ..row(table, [].into_iter().collect()) }).await.unwrap();
    }
    let properties = PROPERTIES.iter().map(|name| (*name, Value::String((*name).into()))).collect();
    writer.write(row("Names", properties)).await.unwrap();
    writer.flush().await.unwrap();
    drop((writer, tables));

    assert_printed(&printed(&["--store", &file, "derive", "Names"]), "names");
    let mut modules = String::new();
    for table in TABLES {
        let text = printed(&["--store", &file, "derive", table]);
        modules.extend(["pub mod of_", &table.to_lowercase(), " {\n", &text, "}\n"]);
    }
    assert_printed(&modules, "tables");

    // The struct reads the row, and each property.
    let tables = Tables::open_read_only(&file).unwrap();
    let found = structs::names::Name::key("a", "b").get(&tables).await.unwrap().unwrap();
    let text = format!("{:?}", *found);
    for name in PROPERTIES {
        assert!(text.contains(&format!(": {name:?}")), "{name}: {text}");
    }
}

/// Writes tables of other programs, each with other shapes of keys.
async fn fill_foreign(path: &str) {
    let tables = Tables::open(path).unwrap();
    let mut writer = RowWriter::new(&tables);
    let mut write = async |table: &str, keys: (&str, &str), properties: &[(&'static str, Value)]| {
        let properties = properties.iter().cloned().collect();
        let (partition_key, row_key) = (keys.0.to_owned(), keys.1.to_owned());
        writer.write(TableRow { table: table.to_owned(), partition_key, row_key, properties }).await.unwrap();
    };
    let text = |text: &str| Value::String(text.to_owned());
    let device = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let time = Value::DateTime("2010-05-28T00:00:00Z".parse().unwrap());
    let all = [
        ("Value", Value::Double(0.5)),
        ("Unit", text("V")),
        ("Type", text("x")),
        ("ID", Value::Int64(5)),
        ("rawData", Value::Binary(vec![1])),
        ("Probe", Value::Guid(Guid::default())),
        ("Checked", time),
        ("Ok", Value::Boolean(true)),
    ];
    write("Measurements", (device, "2521272959999999999"), &all).await;
    let few = [("Value", Value::Int32(7)), ("Type", text("y")), ("ID", Value::Int32(6))];
    write("Measurements", ("7c9e6679-7425-40de-944b-e07fc1f90ae7", "2521272959999999998"), &few).await;
    for row_key in ["order-000017_0003", "order-000018_0001", "order-000018_0002"] {
        // A property of another program, and no mark of an insert.
        write("Orders", ("all", row_key), &[("Cents", Value::Int64(1)), ("IndexPending", text("later"))]).await;
    }
    for (partition_key, row_key) in [("100%", "eu|0000000005|x y"), ("50 %", "us|0000000006|z")] {
        write("Visits", (partition_key, row_key), &[]).await;
    }
    let kind = |kind: &str| ("EntityType", text(kind));
    write("Mixed", ("a", "000001"), &[kind("invoice"), ("Total", Value::Double(1.5))]).await;
    write("Mixed", ("b", "000002"), &[kind("invoice"), ("Total", text("unknown"))]).await;
    write("Mixed", ("a", "000001_07"), &[kind("line item"), ("Name", text("Pen"))]).await;
    write("Mixed", ("b", "000001_08"), &[kind("line item")]).await;
    // A kind with the name of the table in the singular, and rows without one.
    write("Tasks", ("a", "000001"), &[kind("task"), ("Name", text("Ring"))]).await;
    write("Tasks", ("b", "000002"), &[("Done", Value::Boolean(true))]).await;
    writer.flush().await.unwrap();
    tables.create::<Post>().await.unwrap();
    let post = |author: &str, id| Post { author: author.into(), id, title: "Hello".into(), likes: Some(1) };
    tables.insert_all([post("Marcus", 1), post("Livia", 2)]).await.unwrap();
}

#[tokio::test]
async fn a_derived_struct_compiles_and_reads_the_rows() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill_foreign(&file).await;
    for table in ["Measurements", "Orders", "Visits", "Mixed", "Posts", "Tasks"] {
        assert_printed(&printed(&["--store", &file, "derive", table]), &table.to_lowercase());
    }
    let (code, line) = failed(&["--store", &file, "derive", "Nothing"]);
    assert_eq!((code, line.contains("does not exist")), (3, true), "{line}");

    let tables = Tables::open_read_only(&file).unwrap();
    let device: Guid = "0f8fad5b-d9cb-469f-a165-70867728950e".parse().unwrap();
    let measured = structs::measurements::Measurement::by_key(device).all(&tables).await.unwrap();
    assert_eq!(measured.len(), 1);
    assert_eq!(Ticks::from_system(measured[0].row).unwrap().to_string(), "2010-05-28T00:00:00.0000000Z");
    assert_eq!(
        (measured[0].value.to_bits(), measured[0].unit.as_deref(), measured[0].id),
        (0.5_f64.to_bits(), Some("V"), 5)
    );

    let orders = structs::orders::Order::by_key().all(&tables).await.unwrap();
    assert_eq!(orders.iter().map(|order| (order.row_1, order.row_2)).collect::<Vec<_>>(), [(17, 3), (18, 1), (18, 2)]);

    let visits = structs::visits::Visit::by_key("100%").all(&tables).await.unwrap();
    assert_eq!((visits[0].row_1.as_str(), visits[0].row_2, visits[0].row_3.as_str()), ("eu", 5, "x y"));

    let invoices = structs::mixed::Invoice::by_key("a").all(&tables).await.unwrap();
    let lines = structs::mixed::LineItem::by_key("a").all(&tables).await.unwrap();
    assert_eq!((invoices[0].row, lines[0].row_2, lines[0].name.as_deref()), (1, 7, Some("Pen")));
    assert_eq!((invoices.len(), lines.len()), (1, 1));

    let posts = structs::posts::Post::by_key("Livia").all(&tables).await.unwrap();
    assert_eq!((posts[0].id, posts[0].title.as_str(), posts[0].likes), (2, "Hello", Some(1)));
    let titled = structs::posts::Post::by_title("hello").all(&tables).await.unwrap();
    assert_eq!(titled.len(), 2);
}

#[tokio::test]
async fn a_part_of_the_rows_has_no_constants() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    let tables = Tables::open(&file).unwrap();
    let mut writer = RowWriter::new(&tables);
    // All of the first rows have one partition key and one beginning.
    for (partition, row_key) in [("all", "id-0001"), ("all", "id-0002"), ("all", "name-a"), ("other", "id-0003")] {
        let properties = [("A", Value::Int32(1))].into_iter().collect();
        let (partition_key, row_key) = (partition.into(), row_key.into());
        writer.write(TableRow { table: "Twins".into(), partition_key, row_key, properties }).await.unwrap();
    }
    // A time is no sequence of parts, and a mark of another type is another program's.
    for minute in 10..14 {
        let (partition_key, row_key) = ("a".into(), format!("2024-01-02T03:{minute}:00Z"));
        let properties = [("EntityType", Value::Int32(minute))].into_iter().collect();
        writer.write(TableRow { table: "Times".into(), partition_key, row_key, properties }).await.unwrap();
    }
    writer.flush().await.unwrap();
    drop((writer, tables));
    let times = printed(&["--store", &file, "derive", "Times"]);
    assert!(times.contains("    #[row_key]\n    pub row: String,\n    // `EntityType` is not read"), "{times}");
    let part = printed(&["--store", &file, "derive", "Twins", "--limit", "2"]);
    assert!(part.contains("inferred from the first 2 rows only.\n// The other rows may lack a property"), "{part}");
    assert!(part.contains("#[table(name = \"Twins\")]") && !part.contains("id-"), "{part}");
    for name in ["fn", "a b", "Self", "Option", ""] {
        assert_eq!(failed(&["--store", &file, "derive", "Twins", "--name", name]).0, 2, "{name}");
    }
    let whole = printed(&["--store", &file, "derive", "Twins", "--limit", "4"]);
    assert!(whole.contains("inferred from 4 rows.\n#[derive"), "{whole}");
}

#[tokio::test]
async fn the_recorded_struct_is_printed_with_its_indexes_and_options() {
    use structs::orders_recorded::{Purchase, Status};

    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill_recorded(&file).await;
    for name in ["Orders", "Entry", "Expenses", "Employee", "Session", "Odds", "Parcels", "Words"] {
        assert_printed(&printed(&["--store", &file, "derive", name]), &format!("recorded_{}", name.to_lowercase()));
    }
    // `create` accepts each struct with the recorded layouts, whose indexes stay ready.
    let tables = Tables::open(&file).unwrap();
    let layouts = async || {
        let entities = tables.inventory().await.unwrap().entities;
        entities.into_iter().map(|entity| (entity.name, entity.layouts)).collect::<Vec<_>>()
    };
    let before = layouts().await;
    tables.create::<Purchase>().await.unwrap();
    tables.create::<structs::entry::Entry>().await.unwrap();
    tables.create::<structs::session::Session>().await.unwrap();
    tables.create::<structs::expenses::Report>().await.unwrap();
    tables.create::<structs::expenses::Expense>().await.unwrap();
    tables.create::<structs::odds::Odd>().await.unwrap();
    tables.create::<structs::parcels::Parcel>().await.unwrap();
    tables.create::<structs::words::Word>().await.unwrap();
    // The function of an index with `when` is not recorded, so the index is a comment.
    let missing = tables.create::<structs::employee::Employee>().await;
    assert!(matches!(&missing, Err(Error::IndexMissing(missing)) if missing.index == "number"), "{missing:?}");
    assert!(layouts().await == before);
    let found = Purchase::by_tag("RED").all(&tables).await.unwrap();
    assert_eq!((found.len(), found[0].number, found[0].note.len(), found[0].tags.len()), (1, 7, 40_000, 2));
    let found = Purchase::by_state(Status::Open).all(&tables).await.unwrap();
    assert_eq!(found[0].billing_city.as_deref(), Some("Bern"));
    assert!(Purchase::by_token(Guid::default()).exists(&tables).await.unwrap());
    assert_eq!(Purchase::by_address_city("ada").eq("BERN").count(&tables).await.unwrap(), 1);
    assert!(tables.verify::<Purchase>().all().await.unwrap().is_empty());
    let entries = structs::entry::Entry::by_key().eq("web").all(&tables).await.unwrap();
    assert_eq!(entries[0].text, "start");
    let report = structs::expenses::Report::key("bob").get(&tables).await.unwrap().unwrap();
    assert_eq!(report.extra, Some(1));
}

/// Writes a row of each entity.
async fn fill_recorded(path: &str) {
    use recorded::{Address, Entry, Expense, Odd, Order, Parcel, Report, Status, Word};

    let tables = Tables::open(path).unwrap();
    tables.create::<Order>().and::<Entry>().and::<Expense>().and::<Report>().await.unwrap();
    let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(24 * 365);
    tables.create::<Odd>().and::<Parcel>().and::<Word>().await.unwrap();
    tables.insert(&Word { text: "Éa".into(), rank: -5, day: at }).await.unwrap();
    let tags = vec!["a".to_owned()];
    tables.insert(&Odd { stage: Status::Closed, id: 7, tags, r#type: "t".into(), size: 1 }).await.unwrap();
    tables
        .insert(&Parcel { zone: "a/b".replace('/', "%"), code: "x y".into(), name: "Ann".into(), size: 1 })
        .await
        .unwrap();
    tables.create::<super::Employee>().and::<super::Session>().await.unwrap();
    let address = || Address { city: "Bern".into(), street: None };
    let order = Order {
        customer: "Ada".into(),
        number: 7,
        placed: at,
        kind: 3,
        tags: ["Red".to_owned(), "new".to_owned()].into(),
        token: Some(Guid::default()),
        status: Status::Open,
        address: address(),
        billing: Some(address()),
        note: "x".repeat(40_000),
        size: Some(9),
        length: std::time::Duration::from_secs(1),
        weight: 0.5,
        until: None,
        deleted: None,
    };
    tables.insert(&order).await.unwrap();
    tables.insert(&Entry { source: "web".into(), at, text: "start".into() }).await.unwrap();
    tables.insert(&Expense { user: "ada".into(), id: 1, part: -2, cents: 5 }).await.unwrap();
    tables.insert(&Report { user: "ada".into(), r#type: Some(true) }).await.unwrap();
    // Another program's property.
    let mut writer = RowWriter::new(&tables);
    let properties = [("EntityType", Value::String("report".into())), ("Extra", Value::Int32(1))].into_iter().collect();
    let row = TableRow { table: "Expenses".into(), partition_key: "bob".into(), row_key: "report".into(), properties };
    writer.write(row).await.unwrap();
    writer.flush().await.unwrap();
}

/// Entities with every option that the catalog records.
mod recorded {
    use std::{
        collections::BTreeSet,
        time::{Duration, SystemTime},
    };

    use table_runtime::{Guid, KeyPart, Property, TableEntity};

    #[derive(KeyPart, Property, Clone, Copy)]
    pub(crate) enum Status {
        Open,
        Closed,
    }

    #[derive(Property, Clone)]
    pub(crate) struct Address {
        pub(crate) city: String,
        pub(crate) street: Option<String>,
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Orders", soft_delete = deleted, expires = until, entity = "Purchase", rename_all = "camelCase")]
    #[index(address_city, row(address.city(lowercase)), same_partition)]
    #[index(day, partition(number(hash = 4)), row(placed(time), kind), table = "OrdersOfDays", include(length, size))]
    pub(crate) struct Order {
        #[partition_key(first = 2, lowercase)]
        #[row_key(lowercase, prefix = "order-")]
        pub(crate) customer: String,
        #[row_key(pad = 12)]
        #[property]
        pub(crate) number: u64,
        #[index(placed, reverse_time, same_table, copy)]
        pub(crate) placed: SystemTime,
        #[index(kind, same_partition, list)]
        pub(crate) kind: u8,
        #[index(tag, each, lowercase)]
        #[property(json)]
        pub(crate) tags: BTreeSet<String>,
        #[index(token, unique, rename(customer = "Owner"))]
        pub(crate) token: Option<Guid>,
        #[index(state, table = "OrdersByStatus")]
        pub(crate) status: Status,
        pub(crate) address: Address,
        pub(crate) billing: Option<Address>,
        #[property(large)]
        pub(crate) note: String,
        #[property(rename = "sizeInBytes")]
        pub(crate) size: Option<u64>,
        pub(crate) length: Duration,
        pub(crate) weight: f32,
        pub(crate) until: Option<SystemTime>,
        pub(crate) deleted: Option<SystemTime>,
    }

    /// A partition key of a later part of the row key, a key field with a property of another name, an enum in a key.
    #[derive(TableEntity, Clone)]
    #[table(name = "Odds")]
    pub(crate) struct Odd {
        #[row_key(prefix = "e-")]
        pub(crate) stage: Status,
        #[partition_key(hash = 16)]
        #[row_key]
        #[property(rename = "Identifier")]
        pub(crate) id: u32,
        #[index(tag, each, same_table, include(tags))]
        #[property(json)]
        pub(crate) tags: Vec<String>,
        #[index(r#type, uppercase)]
        pub(crate) r#type: String,
        pub(crate) size: i32,
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Parcels", separator = "_")]
    pub(crate) struct Parcel {
        #[partition_key(raw)]
        pub(crate) zone: String,
        #[row_key(raw, prefix = "p-")]
        pub(crate) code: String,
        #[index(name, first = 3, lowercase, same_partition)]
        pub(crate) name: String,
        #[property(rename = "bytes")]
        pub(crate) size: i32,
    }

    /// Keys that are properties too: a folded one by itself, and one by its attribute.
    #[derive(TableEntity, Clone)]
    #[table(name = "Words")]
    #[index(letter, partition(text(first = 1, lowercase)), row(day(time)), prefix = "l-")]
    pub(crate) struct Word {
        #[partition_key(first = 2, lowercase)]
        #[row_key(lowercase)]
        pub(crate) text: String,
        #[row_key(reverse)]
        #[property]
        pub(crate) rank: i16,
        pub(crate) day: SystemTime,
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Log", slice = month(at), write_id)]
    pub(crate) struct Entry {
        #[partition_key(hash = 8)]
        #[row_key]
        pub(crate) source: String,
        #[row_key(reverse_time)]
        pub(crate) at: SystemTime,
        pub(crate) text: String,
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Expenses", kind = "expense", separator = "|", version = 2, from = ExpenseV1)]
    pub(crate) struct Expense {
        #[partition_key]
        pub(crate) user: String,
        #[row_key(prefix = "e-")]
        pub(crate) id: u32,
        #[row_key(reverse)]
        pub(crate) part: i16,
        pub(crate) cents: i64,
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Expenses", kind = "expense", separator = "|")]
    pub(crate) struct ExpenseV1 {
        #[partition_key]
        pub(crate) user: String,
        #[row_key(prefix = "e-")]
        pub(crate) id: u32,
        #[row_key(reverse)]
        pub(crate) part: i16,
        pub(crate) total: i32,
    }

    impl From<ExpenseV1> for Expense {
        fn from(ExpenseV1 { user, id, part, total }: ExpenseV1) -> Self {
            Self { user, id, part, cents: total.into() }
        }
    }

    #[derive(TableEntity, Clone)]
    #[table(name = "Expenses", kind = "report", row = "report", separator = "|")]
    pub(crate) struct Report {
        #[partition_key]
        pub(crate) user: String,
        pub(crate) r#type: Option<bool>,
    }
}
