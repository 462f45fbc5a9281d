//! Exact form of stored rows. It must not change: users have stored data in it, and other programs read them.

#![allow(clippy::struct_field_names, reason = "named as in the pattern")]
#![allow(clippy::items_after_statements, reason = "an entity is declared where it is used")]

use std::time::{Duration, SystemTime};

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use table_runtime::{Guid, KeyPart, Point, Property, TableEntity};
use tests::stores::{Kind, Store};
use time::{Month, OffsetDateTime, UtcOffset};
use uuid::Uuid;

/// 2010-05-28T00:00 UTC.
const MAY_28: i64 = 1_275_004_800;
const DAY: i64 = 86_400;

fn moment(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(seconds).unwrap()
}

fn keys<E, V>(point: &Point<E, V>) -> (String, String) {
    let explain = point.explain();
    assert_eq!(explain.problem(), None);
    (explain.partition_key().unwrap().to_owned(), explain.row_key().unwrap().to_owned())
}

/// Returns the row key of an entity whose partition key is `p`.
fn row<E, V>(point: &Point<E, V>) -> String {
    let (partition, row) = keys(point);
    assert_eq!(partition, "p");
    row
}

fn pair(partition: &str, row: &str) -> (String, String) {
    (partition.to_owned(), row.to_owned())
}

fn store() -> Store {
    Kind::Memory.open().unwrap()
}

/// Returns the properties of a stored row as text.
async fn stored(store: &Store, table: &str, keys: (&str, &str)) -> Option<String> {
    use table_runtime::backend::BackendExt;

    let row = store.backend.get(table, keys.0, keys.1, None).await.unwrap()?;
    let properties = row.properties.as_ref();
    Some(properties.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
}

/// Declares an entity `$name` in the partition `p` with one row key field.
macro_rules! row_key {
    ($name:ident: $type:ty $(, $($encoding:tt)+)?) => {
        #[derive(TableEntity)]
        struct $name {
            #[partition_key]
            p: String,
            #[row_key $(($($encoding)+))?]
            value: $type,
        }
    };
}

/// The same for an encoding that is no whole row key.
macro_rules! partition_key {
    ($name:ident: $type:ty, $($encoding:tt)+) => {
        #[derive(TableEntity)]
        struct $name {
            #[partition_key($($encoding)+)]
            value: $type,
            #[row_key]
            r: String,
        }
    };
}

// Rows of the patterns in the README.

#[derive(TableEntity)]
struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    title: String,
}

#[tokio::test]
async fn keys_of_the_starts_with_pattern() {
    let store = store();
    store.tables.create::<Article>().await.unwrap();
    store.tables.insert(&Article { title: "Metabolise".to_owned() }).await.unwrap();
    assert_eq!(keys(&Article::key("Metabolise")), pair("M", "METABOLISE"));
    assert_eq!(stored(&store, "Article", ("M", "METABOLISE")).await.as_deref(), Some("Title='Metabolise'"));

    let found = Article::by_key().starts_with("metab").all(&store.tables).await.unwrap();
    assert_eq!(found.iter().map(|article| &*article.title).collect::<Vec<_>>(), ["Metabolise"]);
}

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: OffsetDateTime,
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Versioned", kind, write_id, version = 12)]
struct Versioned {
    #[partition_key]
    p: String,
    #[row_key]
    id: String,
    text: String,
}

#[tokio::test]
async fn properties_of_an_entity_with_a_version() {
    let store = store();
    store.tables.create::<Versioned>().await.unwrap();
    let entity = Versioned { p: "p".to_owned(), id: "x".to_owned(), text: "y".to_owned() };
    store.tables.insert(&entity).await.unwrap();
    let row = stored(&store, "Versioned", ("p", "x")).await.unwrap();
    let (properties, id) = row.split_once(" WriteId=").unwrap();
    assert_eq!((properties, id.is_empty()), ("EntityVersion=12 Text='y' EntityType='Versioned'", false));
}

#[derive(TableEntity)]
#[table(name = "Diary")]
struct Entry {
    #[partition_key]
    author: String,
    #[row_key(time)]
    written: OffsetDateTime,
}

#[tokio::test]
async fn keys_of_the_newest_first_pattern() {
    let store = store();
    store.tables.create::<Post>().await.unwrap();
    for (title, posted) in [("Diving", MAY_28 - DAY), ("Sums", MAY_28), ("Names", MAY_28 - 402 * DAY)] {
        let post = Post { author: "Marcus".to_owned(), posted: moment(posted), title: title.to_owned() };
        store.tables.insert(&post).await.unwrap();
    }
    // 2010-05-28, 2010-05-27 and 2009-04-21.
    assert_eq!(stored(&store, "Posts", ("Marcus", "2521272959999999999")).await.as_deref(), Some("Title='Sums'"));
    assert_eq!(stored(&store, "Posts", ("Marcus", "2521273823999999999")).await.as_deref(), Some("Title='Diving'"));
    assert_eq!(stored(&store, "Posts", ("Marcus", "2521620287999999999")).await.as_deref(), Some("Title='Names'"));

    let found = Post::by_key("Marcus").all(&store.tables).await.unwrap();
    assert_eq!(found.iter().map(|post| &*post.title).collect::<Vec<_>>(), ["Sums", "Diving", "Names"]);
}

#[test]
fn keys_of_the_oldest_first_pattern() {
    assert_eq!(keys(&Entry::key("Marcus", moment(MAY_28))), pair("Marcus", "0634106016000000000"));
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key]
    id: Uuid,
}

#[derive(TableEntity)]
#[table(name = "Expenses")]
struct ExpenseItem {
    #[partition_key]
    user: String,
    #[row_key]
    expense_id: Uuid,
    #[row_key]
    id: Uuid,
    amount: i32,
}

#[tokio::test]
async fn keys_of_the_composition_pattern() {
    let (one, other) = (Uuid::from_u128(0x1F8B_2C4E_ABCD_4EF0_9ABC_DEF0_1234_5678), Uuid::from_u128(1));
    let both = "1f8b2c4e-abcd-4ef0-9abc-def012345678_00000000-0000-0000-0000-000000000001";
    assert_eq!(keys(&Expense::key("mary", one)), pair("mary", "1f8b2c4e-abcd-4ef0-9abc-def012345678"));
    assert_eq!(keys(&ExpenseItem::key("mary", one, other)), pair("mary", both));

    let store = store();
    store.tables.create::<ExpenseItem>().await.unwrap();
    let item = ExpenseItem { user: "mary".to_owned(), expense_id: one, id: other, amount: 7 };
    store.tables.insert(&item).await.unwrap();
    assert_eq!(stored(&store, "Expenses", ("mary", both)).await.as_deref(), Some("Amount=7"));
}

#[derive(TableEntity)]
#[table(name = "Employees")]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    employee_id: u32,
    last_name: String,
}

/// Row with a key like that of an index: a value, then the key of the entity.
#[derive(TableEntity)]
#[table(name = "Employees")]
struct ByLastName {
    #[partition_key]
    department: String,
    #[row_key(prefix = "last_name-")]
    last_name: String,
    #[row_key(pad = 8)]
    employee_id: u32,
}

#[tokio::test]
async fn keys_with_a_number() {
    let store = store();
    store.tables.create::<Employee>().await.unwrap();
    let jones = Employee { department: "Sales".to_owned(), employee_id: 123, last_name: "Jones".to_owned() };
    store.tables.insert(&jones).await.unwrap();
    assert_eq!(stored(&store, "Employees", ("Sales", "00000123")).await.as_deref(), Some("LastName='Jones'"));
    assert_eq!(Employee::key("Sales", 99_999_999).explain().row_key(), Some("99999999"));
}

#[tokio::test]
async fn keys_with_a_text_before_a_number() {
    assert_eq!(keys(&ByLastName::key("Sales", "Smith", 45)), pair("Sales", "last_name-Smith 00000045"));
    assert_eq!(keys(&ByLastName::key("Sales", "Smith Jr", 45)), pair("Sales", "last_name-Smith!20Jr 00000045"));
    assert_eq!(keys(&ByLastName::key("Sales", "Hey!", 45)), pair("Sales", "last_name-Hey!21 00000045"));
    assert_eq!(keys(&ByLastName::key("Sales", "", 45)), pair("Sales", "last_name- 00000045"));

    let store = store();
    store.tables.create::<ByLastName>().await.unwrap();
    let names = [("Smith-Jones", 1), ("Smith", 3), ("Smithe", 1), ("Smith Jr", 1), ("Smith", 2)];
    for (last_name, employee_id) in names {
        let row = ByLastName { department: "Sales".to_owned(), last_name: last_name.to_owned(), employee_id };
        store.tables.insert(&row).await.unwrap();
    }
    let found = ByLastName::by_key("Sales").range("Smith".."Smithe").all(&store.tables).await.unwrap();
    let found: Vec<_> = found.iter().map(|row| (&*row.last_name, row.employee_id)).collect();
    assert_eq!(found, [("Smith", 2), ("Smith", 3), ("Smith Jr", 1), ("Smith-Jones", 1)]);
}

#[derive(TableEntity)]
#[table(name = "Users", row = "details")]
struct Details {
    #[partition_key]
    user: Uuid,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Settings", partition = "all")]
struct Setting {
    #[row_key(prefix = "setting-")]
    name: String,
}

#[tokio::test]
async fn constant_keys() {
    let id = "00000000-0000-0000-0000-00000000000a";
    let store = store();
    store.tables.create::<Details>().await.unwrap();
    store.tables.insert(&Details { user: Uuid::from_u128(10), name: "Al".to_owned() }).await.unwrap();
    assert_eq!(stored(&store, "Users", (id, "details")).await.as_deref(), Some("Name='Al'"));
    assert_eq!(keys(&Details::key(Uuid::from_u128(10))), pair(id, "details"));
    assert_eq!(keys(&Setting::key("colour")), pair("all", "setting-colour"));
}

#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
enum LoginKind {
    Email,
    #[property(rename = "Mobile phone")]
    Phone,
}

#[derive(TableEntity)]
#[table(name = "Logins")]
struct Login {
    #[partition_key(lowercase)]
    email: String,
    #[row_key]
    kind: LoginKind,
    entity_id: Uuid,
}

#[tokio::test]
async fn keys_of_an_entity_that_is_itself_an_index() {
    let store = store();
    store.tables.create::<Login>().await.unwrap();
    let login = Login { email: "Al@B.c".to_owned(), kind: LoginKind::Email, entity_id: Uuid::nil() };
    store.tables.insert(&login).await.unwrap();
    let properties = "Email='Al@B.c' EntityId=guid'00000000-0000-0000-0000-000000000000'";
    assert_eq!(stored(&store, "Logins", ("al@b.c", "Email")).await.as_deref(), Some(properties));
    assert_eq!(keys(&Login::key("AL@B.C", LoginKind::Phone)), pair("al@b.c", "Mobile phone"));
    let found = Login::key("al@B.C", LoginKind::Email).get(&store.tables).await.unwrap().unwrap();
    assert_eq!((&*found.email, &found.kind), ("Al@B.c", &LoginKind::Email));
}

/// The expected buckets are those of XXH3-64 with seed 0, computed by Python's `xxhash`:
/// `xxhash.xxh3_64_intdigest(plain.encode()) % n`, where `plain` is the plain encoding.
#[test]
fn hash_partitions() {
    macro_rules! bucket {
        ($type:ty, $value:expr, $($hash:tt)+) => {{
            #[derive(TableEntity)]
            struct Hashed {
                #[partition_key($($hash)+)]
                #[row_key]
                value: $type,
            }
            let _ = |hashed: Hashed| hashed.value;
            keys(&Hashed::key($value)).0
        }};
    }
    assert_eq!(bucket!(String, "", hash = 16), "02");
    assert_eq!(bucket!(String, "a", hash = 16), "15");
    assert_eq!(bucket!(String, "Marcus", hash = 16), "03");
    assert_eq!(bucket!(String, "Straße", hash = 16), "01");
    assert_eq!(bucket!(String, "ΟΔΟΣ", hash = 1000), "363");
    assert_eq!(bucket!(String, &"x".repeat(300), hash = 1000), "492");
    // The width is that of the greatest bucket.
    assert_eq!(bucket!(String, "a", hash = 2), "1");
    assert_eq!(bucket!(String, "Marcus", hash = 10), "1");
    assert_eq!(bucket!(String, "Straße", hash = 100), "89");
    assert_eq!(bucket!(String, "Straße", hash = 1000), "089");
    // The buckets of `a~2Fb`, `0000000007` and a hyphenated GUID.
    assert_eq!(bucket!(String, "a/b", hash = 1000), "260");
    assert_eq!(bucket!(u32, 7, hash = 1000), "504");
    // The bucket of the integer that the row key holds.
    #[derive(TableEntity)]
    struct Price {
        #[partition_key(hash = 1000, scale = 2)]
        #[row_key(scale = 2)]
        amount: Decimal,
    }
    let _ = |price: Price| price.amount;
    let (bucket, cents) = keys(&Price::key(Decimal::new(15, 1)));
    assert_eq!(bucket, bucket!(String, &cents, hash = 1000));
    assert_eq!(bucket, keys(&Price::key(Decimal::new(1500, 3))).0);
    let id = Uuid::from_u128(0x1F8B_2C4E_0000_4000_8000_0000_0000_0000);
    assert_eq!(bucket!(Uuid, id, hash = 16), "05");
    // The bucket of `οδοσ`.
    assert_eq!(bucket!(String, "ΟΔΟΣ", hash = 1000, lowercase), bucket!(String, "οδοσ", hash = 1000));
}

// Encodings.

/// Checks the row keys of values of a type, with an encoding.
macro_rules! rows {
    ($($type:ty $([$($encoding:tt)+])?: $($value:expr => $row:literal),+;)*) => {$({
        row_key!(Number: $type $(, $($encoding)+)?);
        $(assert_eq!(row(&Number::key("p", $value)), $row);)+
    })*};
}

#[test]
fn integers() {
    rows! {
        u8: 0 => "000", 255 => "255";
        u16: 0 => "00000", 65_535 => "65535";
        u32: 0 => "0000000000", 7 => "0000000007", u32::MAX => "4294967295";
        u64: 0 => "00000000000000000000", 7 => "00000000000000000007", u64::MAX => "18446744073709551615";
        u128: 7 => "000000000000000000000000000000000000007", u128::MAX => "340282366920938463463374607431768211455",
            10_u128.pow(18) => "000000000000000000001000000000000000000",
            u64::MAX.into() => "000000000000000000018446744073709551615";
        i8: -128 => "-872", -1 => "-999", 0 => "000", 127 => "127";
        i16: i16::MIN => "-67232", -1 => "-99999", 0 => "00000", i16::MAX => "32767";
        i32: i32::MIN => "-7852516352", -2 => "-9999999998", -1 => "-9999999999", 0 => "0000000000",
            i32::MAX => "2147483647";
        i64: i64::MIN => "-0776627963145224192", -1 => "-9999999999999999999", i64::MAX => "9223372036854775807";
        i128: i128::MIN => "-829858816539530768268312696284115894272", -1 => "-999999999999999999999999999999999999999",
            i128::MAX => "170141183460469231731687303715884105727";
        u32 [pad = 8]: 123 => "00000123", 99_999_999 => "99999999";
        u8 [pad = 1]: 9 => "9";
        i32 [pad = 4]: -1 => "-9999", -10_000 => "-0000", 9999 => "9999";
        u32 [reverse]: 0 => "4294967295", 7 => "4294967288", u32::MAX => "0000000000";
        u64 [reverse]: 0 => "18446744073709551615", u64::MAX => "00000000000000000000";
        i32 [reverse]: i32::MIN => "2147483647", -1 => "0000000000", 0 => "-9999999999", 7 => "-9999999992",
            i32::MAX => "-7852516352";
        u32 [reverse, pad = 8]: 0 => "99999999", 123 => "99999876", 99_999_999 => "00000000";
        u32 [reverse, pad = 12]: 7 => "004294967288";
        i32 [reverse, pad = 4]: -1 => "0000", 0 => "-9999", 9999 => "-0000";
    }
}

#[test]
fn decimals() {
    let number = |text| Decimal::from_str_exact(text).unwrap();
    rows! {
        Decimal [scale = 2]: number("0") => "00000000000000000000000000000", number("1.5") => "00000000000000000000000000150",
            number("1.500") => "00000000000000000000000000150", number("-0.01") => "-99999999999999999999999999999",
            number("-1.5") => "-99999999999999999999999999850",
            number("792281625142643375935439503.35") => "79228162514264337593543950335";
        Decimal [scale = 0]: Decimal::MAX => "79228162514264337593543950335";
        Decimal [scale = 28]: number("0.0000000000000000000000000001") => "00000000000000000000000000001",
            number("7") => "70000000000000000000000000000";
        Decimal [scale = 2, pad = 5]: number("999.99") => "99999", number("-1000") => "-00000", number("-0.01") => "-99999";
        Decimal [scale = 2, reverse]: number("1.5") => "-99999999999999999999999999849",
            number("-1.5") => "00000000000000000000000000149";
        Decimal [scale = 2, reverse, pad = 5]: number("0") => "-99999", number("-0.01") => "00000",
            number("999.99") => "-00000";
        Decimal [scale = 9, pad = 39]: number("79228162514264337593543950335") => "079228162514264337593543950335000000000";
    }
}

#[test]
fn times_of_every_crate() {
    row_key!(ByTime: OffsetDateTime);
    row_key!(ByChrono: DateTime<Utc>, reverse_time);
    row_key!(ByJiff: jiff::Timestamp, time);
    row_key!(BySystem: SystemTime, reverse_time);
    let chrono = |seconds, nanoseconds| DateTime::from_timestamp(seconds, nanoseconds).unwrap();
    assert_eq!(row(&ByTime::key("p", moment(MAY_28))), "0634106016000000000");
    assert_eq!(
        row(&ByTime::key("p", moment(MAY_28).to_offset(UtcOffset::from_hms(9, 30, 0).unwrap()))),
        "0634106016000000000"
    );
    assert_eq!(row(&ByChrono::key("p", chrono(MAY_28, 0))), "2521272959999999999");
    assert_eq!(row(&ByChrono::key("p", chrono(MAY_28 - DAY, 0))), "2521273823999999999");
    assert_eq!(row(&ByChrono::key("p", chrono(MAY_28 - 402 * DAY, 0))), "2521620287999999999");
    assert_eq!(row(&ByJiff::key("p", jiff::Timestamp::from_second(MAY_28).unwrap())), "0634106016000000000");
    assert_eq!(row(&BySystem::key("p", SystemTime::UNIX_EPOCH)), "2534023007999999999");

    // Times are exact to the tick, before 1970 too.
    assert_eq!(row(&ByJiff::key("p", jiff::Timestamp::from_nanosecond(-1).unwrap())), "0621355967999999999");
    assert_eq!(row(&ByTime::key("p", moment(0) + Duration::from_nanos(199))), "0621355968000000001");
    assert_eq!(row(&ByChrono::key("p", chrono(0, 199))), "2534023007999999998");
    let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(101);
    assert_eq!(row(&BySystem::key("p", before)), "2534023008000000001");

    // The first and the last time.
    assert_eq!(row(&ByTime::key("p", moment(-62_135_596_800))), "0000000000000000000");
    assert_eq!(row(&ByChrono::key("p", chrono(-62_135_596_800, 0))), "3155378975999999999");
    assert_eq!(row(&ByChrono::key("p", chrono(253_402_300_799, 999_999_999))), "0000000000000000000");
}

#[test]
fn dates_of_every_crate() {
    row_key!(ByTime: time::Date);
    row_key!(ByChrono: NaiveDate, reverse);
    row_key!(ByJiff: jiff::civil::Date);
    let date = |year| time::Date::from_calendar_date(year, Month::May, 28).unwrap();
    assert_eq!(row(&ByTime::key("p", date(2010))), "2010-05-28");
    assert_eq!(row(&ByTime::key("p", date(1))), "0001-05-28");
    assert_eq!(row(&ByChrono::key("p", NaiveDate::from_ymd_opt(2010, 5, 28).unwrap())), "7989-94-71");
    assert_eq!(row(&ByChrono::key("p", NaiveDate::from_ymd_opt(9999, 12, 31).unwrap())), "0000-87-68");
    assert_eq!(row(&ByJiff::key("p", jiff::civil::date(9999, 12, 31))), "9999-12-31");
}

#[derive(TableEntity)]
struct Letter {
    #[partition_key]
    p: String,
    #[row_key(lowercase)]
    #[property(text)]
    letter: char,
}

#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
struct Customer(String);

#[derive(KeyPart, Clone, Copy, Debug, PartialEq)]
struct Number(i16);

#[derive(KeyPart, Clone, Copy, Debug, PartialEq)]
#[table(rename_all = "kebab-case")]
enum Size {
    ExtraLarge,
    #[property(rename = "S/M")]
    Medium,
}

#[test]
fn small_types() {
    row_key!(ByBool: bool);
    row_key!(ByChar: char);
    row_key!(BySize: Size);
    row_key!(ByCustomer: Customer, lowercase);
    row_key!(ByNumber: Number, reverse);
    row_key!(ByUuid: Uuid);
    assert_eq!(row(&ByBool::key("p", false)), "0");
    assert_eq!(row(&ByBool::key("p", true)), "1");
    assert_eq!(row(&ByChar::key("p", 'ß')), "ß");
    assert_eq!(row(&ByChar::key("p", '?')), "~3F");
    assert_eq!(row(&Letter::key("p", 'İ')), "i\u{307}");
    assert_eq!(row(&BySize::key("p", Size::ExtraLarge)), "extra-large");
    assert_eq!(row(&BySize::key("p", Size::Medium)), "S~2FM");
    assert_eq!(row(&ByCustomer::key("p", &Customer("Müller".to_owned()))), "müller");
    assert_eq!(row(&ByNumber::key("p", Number(-1))), "00000");
    let id = Uuid::from_u128(0xABCD_EF01_2345_6789_ABCD_EF01_2345_6789);
    assert_eq!(row(&ByUuid::key("p", id)), "abcdef01-2345-6789-abcd-ef0123456789");
}

#[test]
fn guids_in_reverse() {
    row_key!(ByUuid: Uuid, reverse);
    row_key!(ByGuid: Guid, reverse);
    for (id, key) in [
        ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"),
        ("00112233-4455-6677-8899-aabbccddeeff", "ffeeddcc-bbaa-9988-7766-554433221100"),
        ("0128de23-ae80-7000-8000-000000000001", "fed721dc-517f-8fff-7fff-fffffffffffe"),
    ] {
        assert_eq!(row(&ByUuid::key("p", id.parse().unwrap())), key);
        assert_eq!(row(&ByGuid::key("p", id.parse().unwrap())), key);
    }
}

#[test]
fn text() {
    row_key!(Plain: String);
    row_key!(Lower: String, lowercase);
    row_key!(Upper: String, uppercase);
    partition_key!(First: String, first = 3);
    partition_key!(FirstUpper: String, first = 3, uppercase);
    row_key!(Raw: String, raw);
    for (text, key) in [
        ("", ""),
        ("Smith 00000045", "Smith 00000045"),
        ("Smith, J. (jr)!", "Smith, J. (jr)!"),
        ("a/b\\c#d?e%f~g", "a~2Fb~5Cc~23d~3Fe~25f~7Eg"),
        ("\0\t\n\x1F\x7F\u{80}\u{9F}\u{A0}", "~00~09~0A~1F~7F~80~9F\u{A0}"),
        ("~2F", "~7E2F"),
        ("it's", "it's"),
        ("\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}", "\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}"),
    ] {
        assert_eq!(row(&Plain::key("p", text)), key);
    }
    assert_eq!(row(&Lower::key("p", "ΟΔΟΣ ΟΔΟς")), "οδοσ οδος");
    assert_eq!(row(&Lower::key("p", "Straße ẞ İ K")), "straße ß i\u{307} k");
    assert_eq!(row(&Lower::key("p", "A/B")), "a~2Fb");
    assert_eq!(row(&Upper::key("p", "Straße")), "STRASSE");
    assert_eq!(row(&Upper::key("p", "ŉ ﬁ ς ı")), "ʼN FI Σ I");
    assert_eq!(keys(&First::key("Metabolise", "p")).0, "Met");
    assert_eq!(keys(&First::key("M", "p")).0, "M");
    assert_eq!(keys(&First::key("a/b/c", "p")).0, "a~2Fb");
    assert_eq!(keys(&FirstUpper::key("Weiß", "p")).0, "WEI");
    assert_eq!(keys(&FirstUpper::key("daß", "p")).0, "DAS");
    assert_eq!(keys(&FirstUpper::key("aß", "p")).0, "ASS");
    assert_eq!(keys(&FirstUpper::key("ﬃx", "p")).0, "FFI");
    assert_eq!(row(&Raw::key("p", "100%~2F a_b")), "100%~2F a_b");
}

#[derive(TableEntity)]
#[table(separator = "_")]
struct Separated {
    #[partition_key]
    a: String,
    #[partition_key(raw)]
    b: String,
    #[row_key]
    c: String,
    #[row_key(raw)]
    d: String,
    #[row_key(reverse)]
    e: i8,
    #[row_key(raw)]
    f: String,
}

#[tokio::test]
async fn separators() {
    let point = Separated::key("a_b", "c_d", "e_f !", "g h", 1, "i_j");
    assert_eq!(keys(&point), pair("a~5Fb_c_d", "e~5Ff !_g h_-998_i_j"));

    let store = store();
    store.tables.create::<Separated>().await.unwrap();
    let text = str::to_owned;
    let row = Separated { a: text("a_b"), b: text("c_d"), c: text("e_f !"), d: text("g h"), e: 1, f: text("i_j") };
    store.tables.insert(&row).await.unwrap();
    let found = point.get(&store.tables).await.unwrap().unwrap();
    assert_eq!((&*found.a, &*found.b, &*found.c), ("a_b", "c_d", "e_f !"));
    assert_eq!((&*found.d, found.e, &*found.f), ("g h", 1, "i_j"));
}
