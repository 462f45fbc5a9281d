use std::time::SystemTime;

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(slice = week(at))]
struct Weekly {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(slice = month(att))]
struct Misspelt {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(slice = "month")]
struct Text {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(slice = month(at))]
struct NoKey {
    #[partition_key]
    machine: String,
    #[row_key]
    number: u32,
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(slice = day(at))]
struct Hashed {
    #[partition_key(hash = 4)]
    at: SystemTime,
    #[row_key]
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "Log20", slice = month(at))]
struct Digits {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

#[derive(TableEntity)]
#[table(slice = month(at))]
struct Indexed {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
    #[index(level, same_partition)]
    level: u32,
}

fn main() {}
