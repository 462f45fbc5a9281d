use table_runtime::TableEntity;

#[derive(TableEntity)]
#[indexes(title, likes)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    #[reverse_time]
    posted: std::time::SystemTime,
    #[unique]
    title: String,
    #[json]
    labels: Vec<String>,
    #[rename = "Count"]
    likes: u32,
    #[expires]
    until: std::time::SystemTime,
    #[soft_delete]
    deleted: Option<std::time::SystemTime>,
    #[version]
    version: u32,
    #[timestamp]
    written: std::time::SystemTime,
}

fn main() {}
