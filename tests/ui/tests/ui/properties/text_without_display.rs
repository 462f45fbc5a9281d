use table_runtime::TableEntity;

struct Tags(Vec<String>);

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(text)]
    tags: Tags,
}

fn main() {}
