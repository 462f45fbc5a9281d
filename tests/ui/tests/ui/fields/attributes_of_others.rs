use table_runtime::TableEntity;

#[derive(TableEntity)]
#[indexes(title, likes)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    #[reverse_time]
    posted: std::time::SystemTime,
    title: String,
    #[default]
    likes: u32,
    #[version]
    version: u32,
}

fn main() {}
