#[derive(TableEntity)]
struct Texts {
    #[partition_key]
    plain: String,
    #[partition_key(first = 2, uppercase)]
    upper: Box<str>,
    #[row_key(lowercase)]
    lower: std::sync::Arc<str>,
    #[row_key]
    letter: char,
    #[row_key]
    last: std::borrow::Cow<'static, str>,
}

#[derive(TableEntity)]
struct Unsigned {
    #[partition_key]
    a: u8,
    #[partition_key]
    b: u16,
    #[partition_key]
    c: u32,
    #[row_key]
    d: u64,
    #[row_key]
    e: u128,
    #[row_key(pad = 4)]
    f: u32,
}

#[derive(TableEntity)]
struct Signed {
    #[partition_key]
    a: i8,
    #[partition_key]
    b: i16,
    #[partition_key]
    c: i32,
    #[row_key]
    d: i64,
    #[row_key]
    e: i128,
    #[row_key(pad = 6)]
    f: i64,
}

#[derive(TableEntity)]
struct Decimals {
    #[partition_key(scale = 2)]
    a: rust_decimal::Decimal,
    #[partition_key(scale = 0, pad = 5)]
    b: rust_decimal::Decimal,
    #[row_key(scale = 2, reverse)]
    c: rust_decimal::Decimal,
    #[row_key(scale = 2, reverse, pad = 5)]
    d: rust_decimal::Decimal,
}

#[derive(TableEntity)]
struct Reversed {
    #[partition_key(reverse)]
    a: u8,
    #[partition_key(reverse)]
    b: u64,
    #[partition_key(reverse, pad = 5)]
    c: u64,
    #[row_key(reverse)]
    d: i32,
    #[row_key(reverse, pad = 5)]
    e: i32,
    #[row_key(reverse)]
    f: i128,
    #[row_key(reverse)]
    g: uuid::Uuid,
}

#[derive(TableEntity)]
struct Others {
    #[partition_key]
    is_public: bool,
    #[partition_key]
    id: uuid::Uuid,
    #[partition_key]
    day: chrono::NaiveDate,
    #[row_key(reverse)]
    date: time::Date,
    #[row_key(time)]
    at: std::time::SystemTime,
    #[row_key(reverse_time)]
    posted: time::OffsetDateTime,
}

#[derive(TableEntity)]
#[table(separator = "_", row = "details")]
struct Joined {
    #[partition_key]
    tenant: String,
    #[partition_key(reverse_time)]
    posted: chrono::DateTime<chrono::Utc>,
    #[partition_key]
    number: u16,
}

#[derive(TableEntity)]
#[index(newest, same_partition, row(session(reverse)))]
struct Indexed {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: Option<String>,
    #[index(title, first = 1, same_partition)]
    title: String,
    session: uuid::Uuid,
}
