//! Stored form of index rows.

#![allow(clippy::duplicated_attributes, reason = "indexes may be over the same fields")]
#![allow(clippy::struct_field_names, reason = "entities are named as in the documentation")]

use anyhow::Result;
use table_runtime::{Error, TableEntity, Value, row::ValueRef};
use tests::stores::Store;
use time::{Date, OffsetDateTime, macros::datetime};
use uuid::Uuid;

use crate::fixtures::{Standing, at};

crate::conformance! {
    index_rows_in_the_entitys_partition
    index_rows_in_other_partitions
    index_rows_with_properties
    index_rows_of_lists
    index_rows_with_explicit_keys
    pointers_hold_every_kind_of_key
    properties_of_a_pointer_can_be_renamed
    a_pointer_cannot_hold_a_time_before_1601
    fields_without_a_property_type_are_indexed_as_text
    index_rows_have_the_declared_prefixes
}

/// Returns the keys and sorted properties of a table's rows, without write ids, which are random.
async fn rows(store: &Store, table: &str) -> Result<Vec<(String, String, String)>> {
    let rows = store.rows(table).await?.into_iter().map(|row| {
        let mut properties: Vec<_> = row.properties.iter().filter(|(name, _)| *name != "WriteId").collect();
        properties.sort_by_key(|(name, _)| *name);
        let properties: Vec<_> = properties.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        (row.partition_key, row.row_key, properties.join(" "))
    });
    Ok(rows.collect())
}

async fn check_rows(store: &Store, table: &str, expected: &[(&str, &str, &str)]) -> Result<()> {
    let found = rows(store, table).await?;
    let found: Vec<_> = found.iter().map(|(partition, row, rest)| (&**partition, &**row, &**rest)).collect();
    assert_eq!(found, expected, "{table}");
    Ok(())
}

/// Entity with pointers in its own partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Employees")]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[index(last_name, same_partition)]
    last_name: String,
    #[index(desk, reverse, same_partition, unique)]
    desk: Option<i16>,
}

async fn index_rows_in_the_entitys_partition(store: &Store) -> Result<()> {
    store.tables.create::<Employee>().await?;
    let employee = |id, name: &str, last_name: &str, desk| Employee {
        department: "Sales".into(),
        id,
        name: name.into(),
        last_name: last_name.into(),
        desk,
    };
    store.tables.insert(&employee(45, "Ann/1", "Smith", Some(7))).await?;
    store.tables.insert(&employee(46, "Bo", "Smith Jr", None)).await?;
    let (ann, bo) = ("Desk=7 LastName='Smith' Name='Ann/1'", "LastName='Smith Jr' Name='Bo'");
    let rows = [
        ("Sales", "desk--99992", "IndexedEntityId=45L"),
        ("Sales", "id-00000045", ann),
        ("Sales", "id-00000046", bo),
        ("Sales", "last_name-Smith 00000045", ""),
        ("Sales", "last_name-Smith!20Jr 00000046", ""),
        ("Sales", "name-ann~2F1", "IndexedEntityId=45L"),
        ("Sales", "name-bo", "IndexedEntityId=46L"),
    ];
    check_rows(store, "Employees", &rows).await
}

/// Entity with pointers in other partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, table = "Logins", unique)]
    #[index(domain, same_table)]
    email: String,
    #[index(city, table = "UsersByTown")]
    #[index(country, first = 1)]
    city: String,
    #[index(badge, same_table, unique)]
    badge: u8,
}

async fn index_rows_in_other_partitions(store: &Store) -> Result<()> {
    store.tables.create::<User>().await?;
    let user = User { group: "a b".into(), id: 5, email: "A@x".into(), city: "New York".into(), badge: 9 };
    store.tables.insert(&user).await?;
    let pointer = "IndexedEntityGroup='a b' IndexedEntityId=5L";
    let own = "Badge=9 City='New York' Email='A@x'";
    let rows = [("009", "badge-", pointer), ("A@x", "domain-a!20b 0000000005", ""), ("a b", "id-0000000005", own)];
    check_rows(store, "Users", &rows).await?;
    check_rows(store, "Logins", &[("a@x", "", pointer)]).await?;
    check_rows(store, "UsersByTown", &[("New York", "a!20b 0000000005", "")]).await?;
    check_rows(store, "UsersByCountry", &[("N", "a!20b 0000000005", "")]).await
}

/// Entity whose index rows hold more than the pointer.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Books", kind)]
struct Book {
    #[partition_key]
    shelf: u8,
    #[row_key]
    number: u8,
    #[index(title, same_partition, copy)]
    #[index(titles, same_table, copy)]
    title: String,
    #[index(author, same_partition, include(title, year))]
    #[index(writer, unique, include(year))]
    author: Option<String>,
    #[index(year, copy)]
    year: Option<i32>,
}

async fn index_rows_with_properties(store: &Store) -> Result<()> {
    store.tables.create::<Book>().await?;
    store.tables.insert(&Book { shelf: 1, number: 2, title: "T".into(), author: Some("A".into()), year: None }).await?;
    let whole = "Author='A' EntityType='Book' Title='T'";
    let copy = "Author='A' Title='T'";
    let rows = [
        ("001", "author-A 002", "Title='T'"),
        ("001", "number-002", whole),
        ("001", "title-T 002", copy),
        ("T", "titles-001_002", copy),
    ];
    check_rows(store, "Books", &rows).await?;
    let pointer = "IndexedEntityNumber=2 IndexedEntityShelf=1";
    check_rows(store, "BooksByWriter", &[("A", "", pointer)]).await?;
    check_rows(store, "BooksByYear", &[]).await?;

    let mut stored = Book::key(1, 2).get(&store.tables).await?.expect("it was inserted");
    stored.year = Some(2000);
    store.tables.update(&mut stored).await?;
    let copy = "Author='A' Title='T' Year=2000";
    check_rows(store, "BooksByWriter", &[("A", "", &format!("{pointer} Year=2000"))]).await?;
    check_rows(store, "BooksByYear", &[("0000002000", "001_002", copy)]).await
}

/// Entity with a list.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tags")]
struct Tag {
    #[partition_key]
    blog: String,
    #[row_key]
    post: String,
    #[index(tag, lowercase, same_partition, list)]
    tag: String,
}

async fn index_rows_of_lists(store: &Store) -> Result<()> {
    store.tables.create::<Tag>().await?;
    let tag = |post: &str, tag: &str| Tag { blog: "b".into(), post: post.into(), tag: tag.into() };
    for (post, name) in [("2", "Rust"), ("1", "rust"), ("3", "Azure")] {
        store.tables.insert(&tag(post, name)).await?;
    }
    let own = [("b", "post-1", "Tag='rust'"), ("b", "post-2", "Tag='Rust'"), ("b", "post-3", "Tag='Azure'")];
    let lists = [
        ("b", "tag-azure", r#"IndexedEntities='["post-3"]'"#),
        ("b", "tag-rust", r#"IndexedEntities='["post-1","post-2"]'"#),
    ];
    check_rows(store, "Tags", &[own.as_slice(), &lists].concat()).await?;
    // A list without ids is deleted.
    store.tables.remove(Tag::key("b", "1")).await?;
    store.tables.upsert(&tag("3", "RUST")).await?;
    let own = [("b", "post-2", "Tag='Rust'"), ("b", "post-3", "Tag='RUST'")];
    let lists = [("b", "tag-rust", r#"IndexedEntities='["post-2","post-3"]'"#)];
    check_rows(store, "Tags", &[own.as_slice(), &lists].concat()).await
}

/// Entity with index keys of several fields.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Desks")]
#[index(place, partition(office, floor(pad = 2)), row(desk), table = "Places")]
#[index(seat, partition(office), row(floor, desk), unique)]
#[index(name, row(last(lowercase), first), same_partition)]
struct Desk {
    #[partition_key]
    team: String,
    #[row_key]
    id: u8,
    office: String,
    floor: u8,
    desk: u8,
    first: String,
    last: String,
}

async fn index_rows_with_explicit_keys(store: &Store) -> Result<()> {
    store.tables.create::<Desk>().await?;
    let (office, first, last) = ("Köln".into(), "Ann Lee".into(), "O'Neil".into());
    store.tables.insert(&Desk { team: "t".into(), id: 1, office, floor: 3, desk: 4, first, last }).await?;
    check_rows(store, "Places", &[("Köln 03", "004_t 001", "")]).await?;
    check_rows(store, "DesksBySeat", &[("Köln", "003_004", "IndexedEntityId=1 IndexedEntityTeam='t'")]).await?;
    let own = "Desk=4 First='Ann Lee' Floor=3 Last='O''Neil' Office='Köln'";
    check_rows(store, "Desks", &[("t", "id-001", own), ("t", "name-o'neil Ann!20Lee 001", "")]).await
}

/// Entity whose primary key has a part of every kind.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Keys")]
struct Keys {
    #[partition_key]
    text: String,
    #[partition_key]
    id: Uuid,
    #[row_key(reverse_time)]
    time: OffsetDateTime,
    #[row_key]
    date: Date,
    #[row_key]
    flag: bool,
    #[row_key]
    tiny: i8,
    #[row_key]
    int: i32,
    #[row_key]
    dword: u32,
    #[row_key]
    long: i64,
    #[row_key]
    huge: u64,
    #[row_key]
    letter: char,
    #[row_key]
    standing: Standing,
    #[index(value, unique)]
    #[index(values)]
    value: String,
}

async fn pointers_hold_every_kind_of_key(store: &Store) -> Result<()> {
    store.tables.create::<Keys>().await?;
    let keys = Keys {
        text: "a b/c".into(),
        id: Uuid::from_u128(7),
        time: at(5),
        date: time::macros::date!(2010 - 05 - 28),
        flag: true,
        tiny: -1,
        int: i32::MIN,
        dword: u32::MAX,
        long: i64::MIN,
        huge: u64::MAX,
        letter: '/',
        standing: Standing::LockedOut,
        value: "v".into(),
    };
    store.tables.insert(&keys).await?;
    let row = store.rows("KeysByValue").await?.remove(0);
    let text = |text: &str| Value::String(text.into());
    let expected = [
        ("IndexedEntityText", text("a b/c")),
        ("IndexedEntityFlag", Value::Boolean(true)),
        ("IndexedEntityTiny", Value::Int32(-1)),
        ("IndexedEntityInt", Value::Int32(i32::MIN)),
        ("IndexedEntityDword", Value::Int64(u32::MAX.into())),
        ("IndexedEntityLong", Value::Int64(i64::MIN)),
        ("IndexedEntityHuge", text("18446744073709551615")),
        ("IndexedEntityLetter", text("/")),
        ("IndexedEntityStanding", text("locked-out")),
        ("IndexedEntityDate", text("2010-05-28")),
    ];
    for (name, value) in expected {
        assert_eq!(row.properties.get(name).map(ValueRef::to_value), Some(value), "{name}");
    }
    for (name, edm) in [("IndexedEntityId", "Edm.Guid"), ("IndexedEntityTime", "Edm.DateTime")] {
        assert_eq!(row.properties.get(name).map(ValueRef::edm_type), Some(edm), "{name}");
    }
    assert_eq!(row.properties.iter().count(), 13, "{row:?}");
    assert_eq!(Keys::by_value("v").get(&store.tables).await?.as_deref(), Some(&keys));
    assert_eq!(*Keys::by_values("v").all(&store.tables).await?[0], keys);
    Ok(())
}

/// Entity whose index rows have the property names of another program.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Renamed")]
struct Renamed {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: Uuid,
    #[index(email, lowercase, unique, rename(id = "EntityId", tenant = "Tenant"))]
    email: String,
}

async fn properties_of_a_pointer_can_be_renamed(store: &Store) -> Result<()> {
    store.tables.create::<Renamed>().await?;
    let renamed = Renamed { tenant: "t".into(), id: Uuid::from_u128(1), email: "A".into() };
    store.tables.insert(&renamed).await?;
    let pointer = "EntityId=guid'00000000-0000-0000-0000-000000000001' Tenant='t'";
    check_rows(store, "RenamedByEmail", &[("a", "", pointer)]).await?;
    assert_eq!(Renamed::by_email("a").get(&store.tables).await?.as_deref(), Some(&renamed));
    Ok(())
}

/// Entity with explicit prefixes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Prefixed")]
struct Prefixed {
    #[partition_key]
    user: String,
    #[row_key(prefix = "u:")]
    id: u8,
    #[index(name, same_partition, unique, prefix = "n:")]
    name: String,
    #[index(city, prefix = "c:")]
    city: String,
}

async fn index_rows_have_the_declared_prefixes(store: &Store) -> Result<()> {
    store.tables.create::<Prefixed>().await?;
    let prefixed = Prefixed { user: "u".into(), id: 1, name: "N".into(), city: "C".into() };
    store.tables.insert(&prefixed).await?;
    let own = ("u", "u:001", "City='C' Name='N'");
    check_rows(store, "Prefixed", &[("u", "n:N", "IndexedEntityId=1"), own]).await?;
    check_rows(store, "PrefixedByCity", &[("C", "c:u 001", "")]).await?;
    assert_eq!(*Prefixed::by_city("C").all(&store.tables).await?[0], prefixed);
    assert_eq!(store.tables.verify::<Prefixed>().all().await?, []);
    Ok(())
}

/// Entity with a time in its key and a cross-partition index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Charters")]
struct Charter {
    #[partition_key]
    town: String,
    #[row_key(time)]
    sealed: OffsetDateTime,
    #[index(seal, unique)]
    seal: Option<String>,
}

async fn a_pointer_cannot_hold_a_time_before_1601(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Charter>().await?;
    let charter = |sealed, seal: Option<&str>| Charter { town: "Ulm".into(), sealed, seal: seal.map(Into::into) };
    let (early, first) = (datetime!(1600-12-31 23:59:59 UTC), datetime!(1601-01-01 00:00 UTC));
    tables.insert(&charter(first, Some("lion"))).await?;
    let found = Charter::by_seal("lion").get(tables).await?;
    assert_eq!(found.as_deref(), Some(&charter(first, Some("lion"))));

    let error = tables.insert(&charter(early, Some("bear"))).await.expect_err("a property cannot hold the time");
    assert!(matches!(&error, Error::Limit(limit) if limit.limit.contains("1601-01-01")), "{error}");
    // The row is checked before the first step.
    assert!(error.to_string().contains("in the index `seal`"), "{error}");
    // Without an index row, the time is only part of a key and may be earlier.
    tables.insert(&charter(early, None)).await?;
    assert_eq!(Charter::by_key("Ulm").count(tables).await?, 2);
    Ok(())
}

/// Entity with indexed fields whose types are no properties.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Exams")]
struct Exam {
    #[partition_key]
    course: String,
    #[row_key]
    id: u32,
    #[index(grade, same_partition)]
    #[property(text)]
    grade: char,
    #[index(day)]
    #[property(text)]
    day: chrono::NaiveDate,
    #[index(ticket, unique)]
    #[property(text)]
    ticket: u64,
}

async fn fields_without_a_property_type_are_indexed_as_text(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Exam>().await?;
    let day = chrono::NaiveDate::from_ymd_opt(2010, 5, 28).expect("a day");
    let exam = Exam { course: "Sums".into(), id: 1, grade: 'A', day, ticket: u64::MAX };
    tables.insert(&exam).await?;
    let properties = "Day='2010-05-28' Grade='A' Ticket='18446744073709551615'";
    let rows = [("Sums", "grade-A 0000000001", ""), ("Sums", "id-0000000001", properties)];
    check_rows(store, "Exams", &rows).await?;
    assert_eq!(*Exam::by_grade("Sums").eq('A').first(tables).await?.expect("the exam"), exam);
    assert_eq!(*Exam::by_day(day).first(tables).await?.expect("the exam"), exam);
    assert_eq!(Exam::by_ticket(u64::MAX).get(tables).await?.as_deref(), Some(&exam));
    Ok(())
}
