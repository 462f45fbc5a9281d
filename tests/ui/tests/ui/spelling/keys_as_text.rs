use table_runtime::{Property, TableEntity};

#[derive(TableEntity)]
#[index(newest, partition("title"), row("posted"))]
#[index(town, same_partition, row("home.town"))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(reverse_time)]
    posted: std::time::SystemTime,
    #[property]
    title: String,
    home: Home,
}

#[derive(Property)]
struct Home {
    town: String,
}

fn main() {}
