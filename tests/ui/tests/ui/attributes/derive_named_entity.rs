use table_runtime::TableEntity;

#[derive(Entity)]
struct Post {
    title: String,
}

#[derive(TableEntity)]
struct Comment {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
