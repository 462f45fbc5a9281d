use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name, allow_scan = true, crate = "table_runtime")]
struct Post {
    #[partition_key(first = 0)]
    author: String,
    #[row_key(pad = "8")]
    id: u32,
    #[property(rename)]
    title: String,
    #[property()]
    body: String,
    #[property = "Url"]
    url: String,
}

#[derive(TableEntity)]
struct Sensor {
    #[partition_key(hash = 1)]
    #[row_key(pad = 40)]
    id: u32,
}

fn main() {}
