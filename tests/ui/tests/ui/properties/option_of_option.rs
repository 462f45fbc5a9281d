use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Score(Option<f64>);

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
    url: Option<Option<String>>,
    score: Option<Score>,
    #[property(default)]
    rank: Option<Option<u8>>,
}

#[derive(Property)]
struct Twice(Option<Option<u8>>);

fn main() {}
