//! Exact form of stored index rows. It must not change: users have stored data in it, and other programs read them.

#![allow(clippy::items_after_statements, reason = "an entity is declared where it is used")]
#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]
#![allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option, reason = "predicates borrow")]

use std::ops::RangeInclusive;

use table_runtime::{
    TableEntity, Value,
    backend::{BackendExt as _, KeyRange, Partitions, Scan},
    row::ValueRef,
};
use tests::stores::{Kind, Store};
use time::OffsetDateTime;
use uuid::Uuid;

async fn store<E: TableEntity>(entities: &[E]) -> Store {
    let store = Kind::Memory.open().unwrap();
    store.tables.create::<E>().await.unwrap();
    for entity in entities {
        store.tables.insert(entity).await.unwrap();
    }
    store
}

/// Returns the keys of a table's rows.
async fn rows(store: &Store, table: &'static str) -> Vec<(String, String)> {
    let (partitions, rows) = (Partitions::ALL, KeyRange::ALL);
    let scan = Scan { table: table.into(), partitions, rows, filter: None, select: None, page: 1000 };
    let found = store.backend.query(&scan, None).await.unwrap();
    found.rows.iter().map(|row| (row.partition_key.to_owned(), row.row_key.to_owned())).collect()
}

fn pairs<const N: usize>(rows: [(&str, &str); N]) -> Vec<(String, String)> {
    rows.map(|(partition, row)| (partition.to_owned(), row.to_owned())).to_vec()
}

/// Returns a property of a row.
async fn property(store: &Store, table: &str, keys: (&str, &str), name: &str) -> Option<Value> {
    let row = store.backend.get(table, keys.0, keys.1, None).await.unwrap().expect("the row");
    row.properties.get(name).map(ValueRef::to_value)
}

#[derive(TableEntity)]
#[table(name = "Accounts")]
struct Account {
    #[partition_key]
    user: String,
    #[row_key]
    id: Uuid,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
}

#[tokio::test]
async fn rows_of_unique_indexes_in_the_same_partition() {
    let id = "1f8b2c4e-0000-4000-8000-000000000000";
    let account = Account { user: "Al".to_owned(), id: id.parse().unwrap(), name: "Ready Money".to_owned() };
    let store = store(&[account]).await;
    let (own, index) = (format!("id-{id}"), "name-ready money");
    assert_eq!(rows(&store, "Accounts").await, pairs([("Al", &own), ("Al", index)]));
    let pointer = property(&store, "Accounts", ("Al", index), "IndexedEntityId").await;
    assert_eq!(pointer, Some(Value::Guid(id.parse().unwrap())));

    let explain = Account::by_name("Al").eq("READY Money").explain();
    assert_eq!((explain.partition_key(), explain.row_key()), (Some("Al"), Some(index)));
    assert_eq!(explain.tables().next(), Some("Accounts"));
}

#[derive(TableEntity)]
#[table(name = "Employees")]
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
    #[index(city, table = "EmployeesByCity")]
    #[index(town, uppercase, same_table, prefix = "in-", include(last_name))]
    city: String,
    #[index(newest, reverse_time, same_partition, copy)]
    joined: OffsetDateTime,
}

fn employee(id: u32, last_name: &str, email: Option<&str>) -> Employee {
    Employee {
        department: "Sales".to_owned(),
        id,
        last_name: last_name.to_owned(),
        email: email.map(str::to_owned),
        city: "Bad Elster".to_owned(),
        // 2010-05-28.
        joined: OffsetDateTime::from_unix_timestamp(1_275_004_800).unwrap(),
    }
}

#[tokio::test]
async fn rows_of_every_scope_and_content() {
    let store = store(&[employee(45, "Smith", Some("John@X.org")), employee(7, "Smith Jr", None)]).await;
    assert_eq!(
        rows(&store, "Employees").await,
        pairs([
            ("BAD ELSTER", "in-Sales 00000007"),
            ("BAD ELSTER", "in-Sales 00000045"),
            ("Sales", "id-00000007"),
            ("Sales", "id-00000045"),
            ("Sales", "last_name-Smith 00000045"),
            ("Sales", "last_name-Smith!20Jr 00000007"),
            ("Sales", "namesakes-smith"),
            ("Sales", "namesakes-smith jr"),
            ("Sales", "newest-2521272959999999999_00000007"),
            ("Sales", "newest-2521272959999999999_00000045"),
        ])
    );
    // An employee without an address has no row.
    assert_eq!(rows(&store, "Logins").await, pairs([("john@x.org", "")]));
    let login = ("john@x.org", "");
    let department = property(&store, "Logins", login, "IndexedEntityDepartment").await;
    assert_eq!(department, Some(Value::String("Sales".to_owned())));
    let id = property(&store, "Logins", login, "IndexedEntityId").await;
    assert_eq!(id, Some(Value::Int64(45)));
    let city = pairs([("Bad Elster", "Sales 00000007"), ("Bad Elster", "Sales 00000045")]);
    assert_eq!(rows(&store, "EmployeesByCity").await, city);

    // The keys of these rows contain the entity's keys, so the rows have no pointer, only the included properties.
    let included = ("BAD ELSTER", "in-Sales 00000045");
    assert_eq!(property(&store, "Employees", included, "IndexedEntityId").await, None);
    let name = Some(Value::String("Smith".to_owned()));
    assert_eq!(property(&store, "Employees", included, "LastName").await, name);
    let copy = ("Sales", "newest-2521272959999999999_00000045");
    for (property_name, value) in [("LastName", "Smith"), ("Email", "John@X.org"), ("City", "Bad Elster")] {
        let value = Some(Value::String(value.to_owned()));
        assert_eq!(property(&store, "Employees", copy, property_name).await, value);
    }
    let pointer = ("Sales", "last_name-Smith 00000045");
    assert_eq!(property(&store, "Employees", pointer, "City").await, None);
}

#[test]
fn queries_request_the_keys_that_are_written() {
    let filter = |explain: table_runtime::Explain| explain.filter().to_owned();
    assert_eq!(
        filter(Employee::by_last_name("Sales").starts_with("Sm").explain()),
        "PartitionKey eq 'Sales' and RowKey ge 'last_name-Sm' and RowKey lt 'last_name-Sn'"
    );
    assert_eq!(
        filter(Employee::by_last_name("Sales").eq("Smith").explain()),
        "PartitionKey eq 'Sales' and RowKey ge 'last_name-Smith ' and RowKey lt 'last_name-Smith!'"
    );
    assert_eq!(
        filter(Employee::by_namesakes("Sales").eq("Smith Jr").explain()),
        "PartitionKey eq 'Sales' and RowKey eq 'namesakes-smith jr'"
    );
    assert_eq!(
        filter(Employee::by_town("Bad Elster").eq("Sales").explain()),
        "PartitionKey eq 'BAD ELSTER' and RowKey ge 'in-Sales ' and RowKey lt 'in-Sales!'"
    );
    assert_eq!(
        filter(Employee::by_newest("Sales").explain()),
        "PartitionKey eq 'Sales' and RowKey ge 'newest-' and RowKey lt 'newest.'"
    );
    let logins = Employee::by_email("John@X.ORG").explain();
    assert_eq!((logins.partition_key(), logins.row_key()), (Some("john@x.org"), Some("")));
    assert_eq!(logins.tables().next(), Some("Logins"));
}

/// Index with explicit keys, a predicate, a renamed pointer, and a table named after the index.
#[tokio::test]
async fn rows_with_explicit_keys() {
    #[derive(TableEntity)]
    #[table(name = "Parcels")]
    #[index(shelf, partition(hall(uppercase), aisle), row(weight(reverse)), when(aisle, weight, is_stored))]
    #[index(label, row(hall, aisle(pad = 2)), same_partition, unique, rename(id = "ParcelId"))]
    #[index(found, partition(hall(first = 1)), row(hall), prefix = "p-")]
    struct Parcel {
        #[partition_key]
        owner: String,
        #[row_key(prefix = "parcel-")]
        id: u8,
        hall: String,
        aisle: Option<u8>,
        weight: u16,
    }

    fn is_stored(aisle: &Option<u8>, weight: &u16) -> bool {
        aisle.is_some() && *weight > 0
    }

    let parcel = |id: u8, aisle: Option<u8>, weight: u16| Parcel {
        owner: "Al".to_owned(),
        id,
        hall: "north east".to_owned(),
        aisle,
        weight,
    };
    let store = store(&[parcel(1, Some(7), 500), parcel(2, Some(8), 0), parcel(3, None, 2)]).await;
    // 65535 − 500.
    assert_eq!(rows(&store, "ParcelsByShelf").await, pairs([("NORTH!20EAST 007", "65035_Al 001")]));
    assert_eq!(
        rows(&store, "Parcels").await,
        pairs([
            ("Al", "label-north!20east 07"),
            ("Al", "label-north!20east 08"),
            ("Al", "parcel-001"),
            ("Al", "parcel-002"),
            ("Al", "parcel-003"),
        ])
    );
    let pointer = property(&store, "Parcels", ("Al", "label-north!20east 08"), "ParcelId").await;
    assert_eq!(pointer, Some(Value::Int32(2)));
    let found = [("n", "p-north!20east Al 001"), ("n", "p-north!20east Al 002"), ("n", "p-north!20east Al 003")];
    assert_eq!(rows(&store, "ParcelsByFound").await, pairs(found));
    assert_eq!(
        Parcel::by_found().eq("north east").eq("Al").explain().filter(),
        "PartitionKey eq 'n' and RowKey ge 'p-north!20east Al ' and RowKey lt 'p-north!20east Al!'"
    );
}

/// Text in index rows is escaped even if the primary key is raw, and index rows have the separator of the primary key.
#[tokio::test]
async fn rows_of_entities_with_raw_and_separated_keys() {
    #[derive(TableEntity)]
    #[table(name = "Files", separator = "_")]
    struct File {
        #[partition_key(raw)]
        owner: String,
        #[row_key(raw)]
        name: String,
        #[index(kind, same_partition)]
        kind: String,
        #[index(digest, unique)]
        digest: String,
        #[index(size, same_table)]
        size: u8,
    }

    let file = File {
        owner: "al~1".to_owned(),
        name: "a%b".to_owned(),
        kind: "text_plain".to_owned(),
        digest: "d/1".to_owned(),
        size: 9,
    };
    let store = store(&[file]).await;
    assert_eq!(
        rows(&store, "Files").await,
        pairs([("009", "size-al~7E1_a~25b"), ("al~1", "kind-text~5Fplain_a~25b"), ("al~1", "name-a%b")])
    );
    assert_eq!(rows(&store, "FilesByDigest").await, pairs([("d~2F1", "")]));
    let found = File::by_size(9).all(&store.tables).await.unwrap();
    assert_eq!(found.iter().map(|file| (&*file.owner, &*file.name)).collect::<Vec<_>>(), [("al~1", "a%b")]);
    let found = File::by_kind("al~1").eq("text_plain").all(&store.tables).await.unwrap();
    assert_eq!(found.len(), 1);
    let found = File::by_digest("d/1").get(&store.tables).await.unwrap();
    assert_eq!(found.map(|file| file.name.clone()).as_deref(), Some("a%b"));
}

/// Index with hash partitions, and an entity with constant keys.
#[tokio::test]
async fn rows_of_entities_with_hashes_and_constants() {
    #[derive(TableEntity)]
    #[table(name = "Settings", partition = "all", row = "one")]
    #[index(spread, partition(number(hash = 1000)), row(number), unique)]
    #[index(named, partition(name), same_table)]
    struct Setting {
        number: u32,
        name: String,
    }

    let store = store(&[Setting { number: 7, name: "dark".to_owned() }]).await;
    // The bucket of `0000000007`.
    assert_eq!(rows(&store, "SettingsBySpread").await, pairs([("504", "0000000007")]));
    assert_eq!(rows(&store, "Settings").await, pairs([("all", "one"), ("dark", "named-")]));
    let explain = Setting::by_spread().eq(7).explain();
    assert_eq!((explain.partition_key(), explain.row_key()), (Some("504"), Some("0000000007")));
    assert_eq!(Setting::by_named("dark").all(&store.tables).await.unwrap().len(), 1);
}

/// The pointer holds the complete field once if the entity's keys are lossy.
#[tokio::test]
async fn rows_of_entities_with_lossy_keys() {
    #[derive(TableEntity)]
    #[table(name = "Articles")]
    struct Article {
        #[partition_key(first = 1, uppercase)]
        #[row_key(uppercase)]
        title: String,
        #[row_key(reverse_time)]
        posted: OffsetDateTime,
        #[index(slug, same_partition, unique)]
        #[index(link, unique)]
        slug: String,
        #[index(mood, same_table)]
        #[index(latest, same_partition)]
        mood: String,
    }

    let posted = OffsetDateTime::from_unix_timestamp(1_275_004_800).unwrap();
    let title = "Metabolise".to_owned();
    let store = store(&[Article { title, posted, slug: "sums".to_owned(), mood: "calm".to_owned() }]).await;
    let primary = "METABOLISE 2521272959999999999";
    let (own, mood) = (format!("title-{primary}"), format!("mood-M {primary}"));
    let latest = format!("latest-calm {primary}");
    assert_eq!(
        rows(&store, "Articles").await,
        pairs([("M", &*latest), ("M", "slug-sums"), ("M", &*own), ("calm", &*mood)])
    );
    for (table, keys) in [("Articles", ("M", "slug-sums")), ("ArticlesByLink", ("sums", ""))] {
        let title = property(&store, table, keys, "IndexedEntityTitle").await;
        assert_eq!(title, Some(Value::String("Metabolise".to_owned())));
    }
    let tables = &store.tables;
    let found = [
        Article::by_slug("Met").eq("sums").get(tables).await.unwrap(),
        Article::by_link("sums").get(tables).await.unwrap(),
        Article::by_mood("calm").first(tables).await.unwrap(),
    ];
    assert!(found.iter().all(|found| found.as_ref().is_some_and(|found| found.title == "Metabolise")));
}

/// Rows of an index are ordered by its values, then by the entities' keys.
#[tokio::test]
async fn rows_are_in_the_order_of_their_values() {
    let names = ["Smith-Jones", "Smith Jr", "Smith", "Smit"];
    let employees: Vec<_> = names.iter().zip(1..).map(|(name, id)| employee(id, name, None)).collect();
    let store = store(&employees).await;
    let range = |names: RangeInclusive<&'static str>| Employee::by_last_name("Sales").range(names);
    let found = range("Smit"..="Smith-Jones").all(&store.tables).await.unwrap();
    let found: Vec<_> = found.iter().map(|employee| employee.last_name.as_str()).collect();
    assert_eq!(found, ["Smit", "Smith", "Smith Jr", "Smith-Jones"]);
}
